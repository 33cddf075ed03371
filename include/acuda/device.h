/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Devices. A device is one GPU, or one software device, with its context, streams, memory pools
 * (pool.h) and modules.
 */
#ifndef ACUDA_DEVICE_H
#define ACUDA_DEVICE_H

#include <acuda/base.h>
#include <acuda/driver.h>
#include <acuda/status.h>

ACU_BEGIN

/*
 * fork: once a process has opened a driver, a child that it forks can not use acuda. There, every
 * call fails with FORKED, and releasing does nothing. Fork before the first open, or call exec in
 * the child. A process may end at any time, with devices open and work in flight.
 */
typedef struct acu_device acu_device;

/* Zero-initialise, set `size`, change what you need. */
typedef struct acu_open_options {
    size_t size;         /* sizeof(acu_open_options) */
    int ordinal;         /* which device, counted from 0 in the driver's order */
    bool allow_software; /* if there is no GPU, use the software device instead of failing */
    unsigned streams;    /* streams of the device's round-robin pool; 0: four; at most 64 */
    unsigned max_in_flight; /* bound on submissions in flight on the device; 0: none: below */
    bool one_by_one; /* for finding faults: below */
    bool runtime_thread; /* hand submissions over to a thread instead of entering the driver:
                          * below */
    const acu_driver_options *driver; /* which driver; NULL: as driver.h says. Only the first open
                                       * of the process looks at it */
} acu_open_options;

/*
 * `max_in_flight`: submissions beyond this bound wait on the host and are issued when something
 * completes. The most urgent stream goes first; within one priority they go in order. (Submissions
 * for which room appears at the same moment may be issued by several threads, so in any order.)
 * Nobody blocks. If host work, or work for several devices, cuts a submission into pieces, each
 * piece counts.
 *
 * A submission with `refuse_when_full` does not wait: it is refused with FULL while that many are
 * in flight, including those that wait on the host. (With a runtime thread, the submission
 * that is being planned may count twice.) future.h shows how to try again.
 *
 * Even without this bound, acuda holds work back before the driver's own queue for a stream is
 * full, because a full queue would block the submitting thread.
 */

/*
 * `one_by_one`: CUDA does not say what caused a fault, so the records of failed futures normally
 * name a suspect, the first operation that was not finished. A device opened with this option waits
 * after each operation, one at a time across all threads, and names the operation that did it. Use
 * it only to find a fault: submitting blocks, and everything is slow.
 */

/*
 * `runtime_thread`: for programs whose threads must not spend microseconds in the driver.
 * Submitting to the device (or to NULL, if it is the default device) then only puts the op into a
 * ring and returns: no lock, no driver call, and a system call only if that thread sleeps. The
 * device's runtime thread, started by the first submission, takes ops out in order, plans them and
 * issues them. The differences are:
 *   - Submissions are ordered as they were handed over, within a thread and across threads,
 *     whichever devices they are for; devices without a runtime thread are included.
 *   - An error that acu_submit would return (a wrong launch, a bad op, ...) completes the future
 *     instead; without a future, nobody learns of it. Checks that look at other handles (sole
 *     ownership) see them as they are when the thread gets there.
 *   - `then`, `map` and `inspect` run on the runtime thread, and so may the release of user data.
 *     What a `then` submits takes its place in the order at that moment, ahead of everything that
 *     is not planned yet.
 *   - The values of a future are known once it is planned (acu_future_planned).
 *   - Small submissions of the same form are issued together while more are being handed over (see
 *     graph_cache.h): this is the mode for rates of hundreds of thousands a second.
 *   - At most 1024 submissions of a device wait to be planned. One more is refused (FULL),
 *     and can be tried again as with refuse_when_full.
 *   - Asking whether something is complete (poll, wait) still asks the driver: a loop that must
 *     stay out of it uses callbacks or queues. Work placed on streams by hand does not wait for
 *     submissions that were handed over but not issued; acu_stream_settle does (stream.h), and so
 *     does everything that looks at a stream.
 * Opening a device again keeps its mode; asking for a runtime thread on a device opened without one
 * is BUSY.
 */

/*
 * Open device `options->ordinal` (`options` NULL: device 0 of a GPU driver). The first open of a
 * process chooses the driver (see driver.h) and the process's default device, which ops use if they
 * name no device. Opening an ordinal that is open already gives another reference to the same
 * device; its options must not contradict those of the first open.
 *
 * Blocks: while the driver starts (a fifth of a second on a GPU) and retains the primary context.
 * Driver: cuInit, cuDeviceGet*, cuDeviceTotalMem, cuDevicePrimaryCtxRetain,
 * cuCtxGetStreamPriorityRange, cuMemPoolCreate, cuMemPoolSetAttribute, cuStreamCreateWithPriority;
 * none if the device is open already.
 * Errors: NO_DRIVER (with what was looked for), NOT_FOUND (no such ordinal), INVALID, BUSY (the
 * device is open with other options, or another driver is in use), DRIVER, NO_MEMORY, DEVICE_LOST
 * (the device is open, and lost); IN_CALLBACK in a callback, while another thread opens, closes or
 * resets a device.
 */
ACU_API acu_status acu_open(const acu_open_options *options, acu_device **device);

/* The number of devices of the chosen driver. Chooses the driver first if needed, as acu_open does,
 * and blocks likewise. */
ACU_API acu_status acu_device_count_load(const acu_open_options *options, int *count);

/*
 * Give the handle back, after waiting as acu_device_wait does, but until nothing at all is in
 * flight on the device. The last close of the process also ends acuda's threads, after everything
 * that their callbacks have submitted. Objects of the device that are still held stay valid; the
 * device's context is released with the last of them.
 *
 * Blocks: until the device's work in flight is complete. Errors: IN_CALLBACK inside a callback
 * (nothing is given back then), INVALID (closed as often as it was opened already), DEVICE_LOST if
 * that work failed with the device (it is closed all the same).
 */
ACU_API acu_status acu_close(acu_device *device);

/* Another reference, which keeps the device but does not count as an open. Only acu_device_release
 * gives it back, as only acu_close gives back an acu_open. Unlike that, these two never block. */
ACU_API acu_device *acu_device_retain(acu_device *device);
ACU_API void acu_device_release(acu_device *device);

/* The process's default device: borrowed, NULL while none is open. If it is closed, the open device
 * with the lowest ordinal takes its place. */
ACU_API acu_device *acu_device_default(void);

typedef struct acu_device_info {
    size_t size;                 /* of this struct, in the library */
    int ordinal;
    char name[96];
    bool software;               /* the software device */
    int compute_major, compute_minor;
    int multiprocessors;
    size_t memory_bytes;
    unsigned max_threads;        /* threads in a block */
    unsigned max_block[3], max_grid[3];
    size_t max_shared;           /* bytes of shared memory per block without opting in */
    size_t max_shared_optin;     /* the same after opting in, which launches do where needed */
    bool memory_pools;           /* stream-ordered allocation is available; if not, memory is
                                  * allocated by calls that wait */
    bool managed_memory;         /* managed memory that the host may touch while the device works */
    int least_priority, greatest_priority; /* of streams; lower numbers are more urgent */
} acu_device_info;

/* Facts read at open. Makes no driver call. */
ACU_API const acu_device_info *acu_device_info_of(const acu_device *device);

/* The free and total bytes of device memory now. Driver: cuMemGetInfo. */
ACU_API acu_status acu_device_memory(acu_device *device, size_t *free_bytes, size_t *total_bytes);

/*
 * ACU_OK while the device works; DEVICE_LOST after a fault (illegal address, trap, ...); STALE
 * after acu_device_reset. For these, *error (`error` may be NULL) receives the record of the first
 * fault. Its `op`, `file` and `line` name the suspect: the oldest operation that was not finished
 * (with `one_by_one`: the operation that did it). A lost device refuses every submission.
 */
ACU_API acu_status acu_device_status(const acu_device *device, acu_error *error);

/* Zero-initialise, set `size`, make the promise. */
typedef struct acu_reset_options {
    size_t size; /* sizeof(acu_reset_options) */
    /* The promise without which a reset is refused: apart from what goes through acuda, neither
     * another library of this process (including the CUDA runtime) nor the program's own code has
     * anything in the device's primary context, and no work of other devices uses its memory. */
    bool nothing_else_in_this_process_uses_the_device;
} acu_reset_options;

/*
 * Destroy the device's context and make a new one, with new streams and pools. This is the way to
 * use a device again after a fault, where the driver allows it, or to give back everything that was
 * ever made on it. Waits for work in flight; work that is not issued yet fails with STALE. On
 * success *fresh is the new device, opened once, with the modes of the old one; it is the default
 * device if the old one was, and acu_open returns it too.
 *
 * From then on `device` and everything made on it (buffers, tensors, modules, kernels, streams,
 * events, policies, graphs) belong to an older generation: using them fails with STALE, and none of
 * them reaches the driver again. Releasing them is fine, and so is closing `device`, which is still
 * due once for each of its opens. Pointers that the program took out of them are dangling: the
 * memory is gone, pinned host memory included. Wrapped host memory belongs to the program, and is
 * released as usual.
 *
 * Whether a fault can be healed is up to the driver (docs/failures.md has what was measured), so
 * the new context is tried out. If it does not work, the status is NOT_HEALED and the device stays
 * lost.
 *
 * Blocks: until the device's work in flight is complete and no thread is in a driver call for it,
 * and for as long as the driver takes (a third of a second). Driver: cuDevicePrimaryCtxReset,
 * Release, Retain, and the calls of acu_open; to try the context out, cuMemAlloc, cuMemsetD8Async,
 * cuStreamSynchronize, cuMemcpyDtoH and cuMemFree. Errors: SHARED (without the promise),
 * NOT_HEALED, STALE (it was reset before), INVALID (it is not open), IN_CALLBACK inside a callback,
 * NO_MEMORY (it can be tried again).
 */
ACU_API acu_status acu_device_reset(acu_device *device, const acu_reset_options *options,
                                    acu_device **fresh);

/*
 * Wait until nothing that was submitted to the device so far is in flight, at most `timeout`
 * nanoseconds. By then its futures are complete, the resources it used are released, queues hold
 * its completions, and its callbacks (acu_future_when_complete) have returned: so do not call this
 * with a lock held that a callback takes. Work that callbacks submitted may still be in flight.
 * What is handed over to the runtime thread of any device is planned first, since only then it is
 * known which devices it is for.
 * Blocks. Errors: TIMEOUT, IN_CALLBACK inside a callback. Outcomes of submissions are reported on
 * their futures, not here.
 */
ACU_API acu_status acu_device_wait(acu_device *device, uint64_t timeout);

/* The driver's own handles, for other libraries. The device keeps owning them. */
ACU_API CUdevice acu_device_raw(const acu_device *device);
ACU_API CUcontext acu_device_context(const acu_device *device);

/*
 * Let `device` access `peer`'s memory directly, from kernels and for fast copies. Access is granted
 * once, for the memory of all pools, and tried out with a small copy. Copies between devices work
 * without it, but slower: the driver finds a way; after this call has failed with NOT_SUPPORTED,
 * acuda's helper threads copy through pinned host memory (staging.h).
 * Blocks for some 10 ms the first time. Driver: cuDeviceCanAccessPeer, cuCtxEnablePeerAccess,
 * cuMemPoolSetAccess, and the first time cuMemAlloc, cuMemcpyHtoDAsync, cuMemcpyPeerAsync,
 * cuMemcpyDtoHAsync, cuStreamSynchronize, cuMemFree. Errors: NOT_SUPPORTED (the machine can not do
 * it, or the copy arrives wrong).
 */
ACU_API acu_status acu_device_open_peer(acu_device *device, acu_device *peer);

ACU_END
#endif
