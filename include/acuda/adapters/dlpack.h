/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * DLPack, both ways: tensors of PyTorch, CuPy, NumPy and others as acuda's, and the other way
 * round, without a copy. Unlike the other adapters it is compiled into the library.
 *
 * The structs are DLPack's own; a program that looks into them includes <dlpack/dlpack.h>, which
 * may come before or after this. In Python they travel in capsules: "dltensor_versioned", and
 * "dltensor" for the older struct without a version. examples/python shows both.
 *
 * Which memory is which, in DLPack's device types:
 *   host memory             exported as kDLCPU, pinned or not; imported: kDLCPU is wrapped pageable
 *                           (for copies), kDLCUDAHost as page-locked host memory
 *   a GPU's memory          kDLCUDA, with the device's ordinal;
 *                           kDLCUDAManaged is imported as such too
 *   a software device's     kDLExtDev: nobody but acuda can read it, and others refuse it. For
 *                           them, copy to the host first (acu_to_host)
 *
 * Streams are given as in Python's __dlpack__(stream): 1 is the legacy default stream, 2 the
 * calling thread's, ACU_DLPACK_NO_STREAM none, anything else a CUDA stream's handle. 0 is refused,
 * for it could be any of these.
 *
 * After an exchange both sides see the same memory. acuda orders its own work, and the other's up
 * to the exchange; what the other side does later is ordered by acu_use_begin and acu_use_end
 * (use.h), or by its stream being waited for. The same memory imported twice is two memories to
 * acuda, whose work is not ordered with each other (memory.h): import it once, and take views.
 */
#ifndef ACUDA_ADAPTERS_DLPACK_H
#define ACUDA_ADAPTERS_DLPACK_H

#include <acuda/tensor.h>

ACU_BEGIN

struct DLManagedTensor;          /* DLPack's before version 1 */
struct DLManagedTensorVersioned; /* and since then */

#define ACU_DLPACK_NO_STREAM ((intptr_t)-1)

typedef enum acu_dlpack_flags {
    ACU_DLPACK_READ_ONLY = 1, /* the other side must not write; a tensor that acuda must not write
                               * is exported so in any case */
    ACU_DLPACK_STREAM_LIVES = 2 /* the stream is not destroyed before the deleter is called */
} acu_dlpack_flags;

/*
 * Export: the tensor, with its strides, as DLPack's struct, which keeps it until its deleter is
 * called (on any thread; it never blocks). Work that is on `stream` later comes behind all that
 * acuda was given on the tensor so far, which is in flight mostly: nothing waits for it. For
 * ACU_DLPACK_NO_STREAM the other side sees to that. When the deleter is called, the other side's
 * work may still be on the stream. If that is the legacy default one, or the thread's (2) and its
 * thread calls the deleter, or lives (ACU_DLPACK_STREAM_LIVES; PyTorch's do, which are pooled),
 * what acuda is given on the tensor next, and whoever gets its memory, comes behind what is on it
 * then; else, and in a foreign call or while the stream is captured, the other side has to be done
 * with the tensor before. Host memory has no streams: it is exported when acuda is done
 * with it.
 *
 * acu_dlpack_export never blocks: ACU_NOT_READY while something that comes before is not on the
 * device yet, or, for host memory, not complete. acu_dlpack_export_wait blocks until then, at most
 * `timeout` nanoseconds (TIMEOUT; WOULD_WAIT in a callback).
 * Driver: cuStreamWaitEvent, cuEventRecord; the deleter the same. Errors: INVALID (a stream that is
 * none, or flags), DEPENDENCY (its contents were not computed), CAPTURE (the stream is being
 * captured), WOULD_WAIT (in a foreign call), NO_MEMORY, DEVICE_LOST, STALE.
 */
ACU_API acu_status acu_dlpack_export(acu_tensor *tensor, intptr_t stream, unsigned flags,
                                     struct DLManagedTensorVersioned **managed);
ACU_API acu_status acu_dlpack_export_wait(acu_tensor *tensor, intptr_t stream, unsigned flags,
                                          uint64_t timeout,
                                          struct DLManagedTensorVersioned **managed);
/* DLPack's device type and id, what __dlpack_device__ returns. */
ACU_API acu_status acu_dlpack_device(const acu_tensor *tensor, int *type, int *id);

/*
 * Import: a tensor over the other side's memory, for work on `device`, whose memory that is. Its
 * contents are there once `stream` has done what is on it now, and acuda's work comes behind that;
 * ACU_DLPACK_NO_STREAM: they are there. A read-only tensor can not be written in acuda either. One
 * without dimensions, a single number, becomes one of one element.
 *
 * With success `managed` is acuda's, and its deleter is called once after the last use in acuda:
 * not where that happens to be, for a deleter may want an interpreter's lock, but in the next
 * import, export or acu_dlpack_drain. On failure it is still the caller's.
 * Errors: DTYPE, SHAPE (negative strides, more than 6 dimensions, no elements), DEVICE (of another
 * device), NOT_SUPPORTED (another major version, another kind of device), INVALID (not aligned, a
 * stream that is none), BUSY (acu_buffer_wrap_host), CAPTURE (the stream is being captured),
 * WOULD_WAIT (in a foreign call), NO_MEMORY, DEVICE_LOST, STALE.
 */
ACU_API acu_status acu_dlpack_import(acu_device *device, struct DLManagedTensorVersioned *managed,
                                     intptr_t stream, acu_tensor **tensor);
/* Calls the deleters of imports that acuda is done with, on this thread; how many. A program that
 * imports seldom calls it now and then, and after the last acu_close. */
ACU_API size_t acu_dlpack_drain(void);

/* One struct as the other, which takes it along; on failure both stay as they were. The older one
 * has no flags: what is read-only can not be made one (SHARED). */
ACU_API acu_status acu_dlpack_to_old(struct DLManagedTensorVersioned *managed,
                                     struct DLManagedTensor **old);
ACU_API acu_status acu_dlpack_from_old(struct DLManagedTensor *old,
                                       struct DLManagedTensorVersioned **managed);
/* Calls the deleter: for one that nobody took. NULL is fine. */
ACU_API void acu_dlpack_release(struct DLManagedTensorVersioned *managed);
ACU_API void acu_dlpack_release_old(struct DLManagedTensor *old);

ACU_END
#endif
