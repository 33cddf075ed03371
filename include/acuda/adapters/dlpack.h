/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * DLPack, in both directions: tensors of PyTorch, CuPy, NumPy and others as acuda's, and acuda's as
 * theirs, without a copy. Unlike the other adapters it is compiled into the library.
 *
 * The structs are DLPack's own; a program that looks into them includes <dlpack/dlpack.h>, before
 * or after this header. In Python they travel in capsules: "dltensor_versioned", and "dltensor" for
 * the older struct without a version. examples/python shows both.
 *
 * Kinds of memory as DLPack device types:
 *   host memory          exported as kDLCPU, pinned or not; imported: kDLCPU is wrapped as pageable
 *                        memory (for copies), kDLCUDAHost as page-locked host memory
 *   a GPU's memory       kDLCUDA, with the device's ordinal; kDLCUDAManaged can be imported too
 *   a software device's  kDLExtDev: only acuda can read it, and others refuse it. For them, copy to
 *                        the host first (acu_to_host)
 *
 * Streams are given as in Python's __dlpack__(stream): 1 is the legacy default stream, 2 the
 * calling thread's default stream, ACU_DLPACK_NO_STREAM none, anything else a CUDA stream handle. 0
 * is refused, because it could mean any of these; but the export of a host tensor, which has no
 * stream, does not look at this number.
 *
 * After an exchange both sides see the same memory. acuda orders its own work, and the other side's
 * up to the exchange. What the other side does later is ordered with acu_use_begin and acu_use_end
 * (use.h), or by waiting for its stream. The same memory imported twice is two different memories
 * to acuda, whose work is not ordered with each other (memory.h): import it once, and take views.
 */
#ifndef ACUDA_ADAPTERS_DLPACK_H
#define ACUDA_ADAPTERS_DLPACK_H

#include <acuda/tensor.h>

ACU_BEGIN

struct DLManagedTensor;          /* DLPack's struct before version 1 */
struct DLManagedTensorVersioned; /* the struct since version 1 */

#define ACU_DLPACK_NO_STREAM ((intptr_t)-1)

typedef enum acu_dlpack_flags {
    ACU_DLPACK_READ_ONLY = 1, /* the other side must not write; set in any case if acuda must not
                               * write the tensor */
    ACU_DLPACK_STREAM_LIVES = 2 /* the stream will not be destroyed before the deleter is called */
} acu_dlpack_flags;

/*
 * Export the tensor, with its strides, as DLPack's struct, which keeps the tensor until its deleter
 * is called (on any thread; the deleter never blocks). Work put on `stream` later comes after
 * everything that acuda was given on the tensor so far, which usually is still in flight: nothing
 * waits for it here. With ACU_DLPACK_NO_STREAM this order is the other side's concern. Host memory
 * has no streams: it is exported once acuda is done with it.
 *
 * When the deleter is called, work of the other side may still be on the stream. acuda's next work
 * on the tensor, and whoever gets its memory, comes after that work in three cases:
 *   - the stream is the legacy default one (1);
 *   - it is the thread's default stream (2), and the same thread calls the deleter;
 *   - it lives (ACU_DLPACK_STREAM_LIVES; PyTorch's streams do, which are pooled).
 * In all other cases, and in a foreign call or while the stream is captured, the other side must be
 * done with the tensor before it calls the deleter.
 *
 * acu_dlpack_export never blocks. It returns ACU_NOT_READY while something that comes before is not
 * on the device yet, or, for host memory, not complete. acu_dlpack_export_wait blocks until then,
 * at most `timeout` nanoseconds (TIMEOUT; IN_CALLBACK in a callback).
 * Driver: cuStreamWaitEvent, cuEventRecord; the deleter makes the same calls. Errors: INVALID (no
 * number of a stream, or unknown flags), DRIVER (a handle that the driver does not know), DEVICE (a
 * stream of another device), DEPENDENCY (the tensor's contents were not computed), CAPTURE (the
 * stream is being captured), IN_CALLBACK (in a foreign call), NO_MEMORY, DEVICE_LOST, STALE.
 */
ACU_API acu_status acu_dlpack_export(acu_tensor *tensor, intptr_t stream, unsigned flags,
                                     struct DLManagedTensorVersioned **managed);
ACU_API acu_status acu_dlpack_export_wait(acu_tensor *tensor, intptr_t stream, unsigned flags,
                                          uint64_t timeout,
                                          struct DLManagedTensorVersioned **managed);
/* DLPack's device type and id, as __dlpack_device__ returns them. */
ACU_API acu_status acu_dlpack_device(const acu_tensor *tensor, int *type, int *id);

/*
 * Import: a tensor over the other side's memory, for work on `device`, to which the memory belongs.
 * Its contents are valid once `stream` has done what is on it now, and acuda's work comes after
 * that; with ACU_DLPACK_NO_STREAM they are valid already. A read-only tensor can not be written in
 * acuda either. Of an empty tensor only the shape is taken.
 *
 * On success acuda owns `managed` and calls its deleter once, after the last use in acuda. It does
 * so only inside the next import, export or acu_dlpack_drain, because a deleter may need an
 * interpreter's lock. On failure `managed` still belongs to the caller.
 * Errors: DTYPE, SHAPE (negative strides, more than 6 dimensions), DEVICE (memory or a
 * stream of another device), NOT_SUPPORTED (another major version, another kind of device), INVALID
 * (not aligned, no number of a stream), DRIVER (a handle that the driver does not know), BUSY
 * (acu_buffer_wrap_host), CAPTURE (the stream is being captured), IN_CALLBACK (in a foreign call),
 * NO_MEMORY, DEVICE_LOST, STALE.
 */
ACU_API acu_status acu_dlpack_import(acu_device *device, struct DLManagedTensorVersioned *managed,
                                     intptr_t stream, acu_tensor **tensor);
/* Calls, on this thread, the deleters of imports that acuda is done with; returns how many. A
 * program that imports seldom should call it now and then, and after the last acu_close. */
ACU_API size_t acu_dlpack_drain(void);

/* Convert one struct into the other, which takes over its contents; on failure both stay as they
 * were. The older struct has no flags, so a read-only tensor can not be converted to it (SHARED),
 * nor one of elements below a byte that are padded to bytes (DTYPE); NOT_SUPPORTED: another major
 * version. */
ACU_API acu_status acu_dlpack_to_old(struct DLManagedTensorVersioned *managed,
                                     struct DLManagedTensor **old);
ACU_API acu_status acu_dlpack_from_old(struct DLManagedTensor *old,
                                       struct DLManagedTensorVersioned **managed);
/* Calls the deleter, for a struct that nobody took. NULL is fine. */
ACU_API void acu_dlpack_release(struct DLManagedTensorVersioned *managed);
ACU_API void acu_dlpack_release_old(struct DLManagedTensor *old);

ACU_END
#endif
