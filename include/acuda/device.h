/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Devices: one GPU, or one software device, with its context, streams, memory
 * pools (pool.h) and modules.
 */
#ifndef ACUDA_DEVICE_H
#define ACUDA_DEVICE_H

#include <acuda/base.h>
#include <acuda/driver.h>
#include <acuda/status.h>

ACU_BEGIN

/*
 * After fork() the child of a process that had opened a driver can use nothing of acuda's: every
 * call fails with FORKED, releasing does nothing. It is made before the first open, or ends in
 * exec. A process may end at any time, with devices open and work in flight.
 */
typedef struct acu_device acu_device;

/* Zero-initialise, set `size`, change what you need. */
typedef struct acu_open_options {
    size_t size;         /* sizeof(acu_open_options) */
    int ordinal;         /* which device, counted from 0 as the driver counts them */
    bool allow_software; /* without a GPU, use the software device instead of failing */
    unsigned streams;    /* streams of the device's round-robin pool; 0: four; at most 64 */
    unsigned max_in_flight; /* submissions on the device at a time; 0: no such bound: below */
    bool one_by_one; /* for finding faults: below */
    bool runtime_thread; /* submitting hands over to a thread, and never enters the driver: below */
    acu_driver_options driver; /* which driver; looked at by the first open of the process only */
} acu_open_options;

/*
 * `max_in_flight`: what is more waits on the host, the most urgent stream first, else in order, and
 * goes to the device when something completes; nobody blocks. (Those for which room is made at the
 * same time may be issued by several threads, so in any order. A submission that is cut by host
 * work or devices into pieces counts as these.) One that is submitted with `refuse_when_full` is
 * refused instead, with WOULD_BLOCK, while that many are in flight, those that wait included (with
 * a runtime thread, the one that is being planned may count twice); future.h says how to try again.
 * Without this bound too, acuda holds work back before the driver's own queue for a stream is full,
 * which would block who submits.
 */

/*
 * `one_by_one`: after a fault CUDA does not say what caused it, and the records of failed futures
 * name the first operation that was not finished, which is a suspect. A device that is opened with
 * this waits after each operation, one at a time for all threads, and names the one that did it.
 * For finding a fault only: submitting blocks, and all is slow.
 */

/*
 * `runtime_thread`: for programs whose threads must not spend microseconds in the driver.
 * Submitting to the device, or to none where it is the default device, then only puts the op into a
 * ring (no lock, no driver call; a system call if the thread sleeps) and returns. A thread of the
 * device's, started by the first submission, takes them out in order, plans and issues them. So:
 *   - The order of submissions, of one thread and among threads, is the order in which they were
 *     handed over, whichever devices they are for; devices without a runtime thread included.
 *   - What acu_submit would refuse (a wrong launch, a bad op, ...) completes the future with that
 *     error; where there is no future, nobody is told. Checks that look at other handles (sole
 *     ownership) see them as they are when the thread gets there.
 *   - `then`, `map` and `inspect` run on that thread, and so may the release of user data; what a
 *     `then` submits has its place there and then, before all that is not planned yet.
 *   - The values of a future are known once it is planned (acu_future_planned).
 *   - Small submissions of one form go to the device together while more are handed over (graphs.h
 *     says which): for rates of hundreds of thousands a second this is the mode to use.
 *   - At most 1024 submissions of a device wait to be planned: one more is refused (WOULD_BLOCK),
 *     and can be tried again as with refuse_when_full.
 *   - Looking whether something is done (poll, wait) asks the driver, as ever: a loop that is to
 *     stay out of it uses callbacks or queues. What is placed on streams by hand does not wait for
 *     what is handed over; acu_stream_settle does (stream.h), and all that looks at a stream.
 * Opening a device again keeps its mode; asking for a runtime thread where it has none is BUSY.
 */

/*
 * Open device `options->ordinal` (NULL: device 0 of a GPU driver) and give its handle. The first
 * open of a process chooses the driver (driver.h says how) and the process's default device, which
 * ops use that name no device. Opening an ordinal that is open already gives another reference to
 * the same device; its options must not contradict.
 *
 * Blocks: while the driver starts (a fifth of a second on a GPU) and retains the primary context.
 * Driver: cuInit, cuDeviceGet*, cuDeviceTotalMem, cuDevicePrimaryCtxRetain,
 * cuCtxGetStreamPriorityRange, cuMemPoolCreate, cuMemPoolSetAttribute, cuStreamCreateWithPriority;
 * none if it is open already.
 * Errors: NO_DRIVER (with what was looked for), NOT_FOUND (no such ordinal), INVALID, BUSY (it is
 * open with other options, or another driver is in use), DRIVER, NO_MEMORY, DEVICE_LOST (it is
 * open, and lost); WOULD_WAIT in a callback, while another thread opens, closes or resets a device.
 */
ACU_API acu_status acu_open(const acu_open_options *options, acu_device **device);

/* How many devices the chosen driver has; chooses it first, as acu_open does. Blocks likewise. */
ACU_API acu_status acu_device_count_load(const acu_open_options *options, int *count);

/*
 * Give the handle back, after waiting as acu_device_wait does. The last close of the process also
 * ends acuda's threads, after all that their callbacks have submitted. Objects of the device that
 * are still held stay valid; the device's context goes when the last of them is released.
 *
 * Blocks: until the device's work in flight is complete. Errors: WOULD_WAIT inside a callback
 * (nothing is given back then), INVALID (it was closed as often as opened), DEVICE_LOST if that
 * work failed with the device (closed all the same).
 */
ACU_API acu_status acu_close(acu_device *device);

ACU_API acu_device *acu_device_retain(acu_device *device);
ACU_API void acu_device_release(acu_device *device); /* never blocks, unlike acu_close */

/* The process's default device: borrowed, NULL while none is open. */
ACU_API acu_device *acu_device_default(void);

typedef struct acu_device_info {
    int ordinal;
    char name[96];
    bool software;               /* the software device */
    int compute_major, compute_minor;
    int multiprocessors;
    size_t memory_bytes;
    unsigned max_threads;        /* threads in a block */
    unsigned max_block[3], max_grid[3];
    size_t max_shared;           /* bytes of shared memory of a block without opting in */
    size_t max_shared_optin;     /* the same after opting in, which launches do where needed */
    bool memory_pools;           /* stream-ordered allocation; else memory is
                                  * allocated by waiting calls */
    bool managed_memory;         /* which the host may touch while the device works */
    int least_priority, greatest_priority; /* of streams; lower numbers are more urgent */
} acu_device_info;

/* Facts read at open; no driver call. */
ACU_API const acu_device_info *acu_device_info_of(const acu_device *device);

/* Free and total bytes of device memory now. Driver: cuMemGetInfo. */
ACU_API acu_status acu_device_memory(acu_device *device, size_t *free_bytes, size_t *total_bytes);

/*
 * ACU_OK while the device works, DEVICE_LOST after a fault (illegal address, trap, ...), STALE
 * after acu_device_reset.
 * The first fault's record is in *error (may be NULL); its `op`, `file` and `line` are those of the
 * suspect: the oldest operation that was not finished (`one_by_one`: the one that did it). A lost
 * device refuses every submission.
 */
ACU_API acu_status acu_device_status(const acu_device *device, acu_error *error);

/* Zero-initialise, set `size`, say it. */
typedef struct acu_reset_options {
    size_t size; /* sizeof(acu_reset_options) */
    /* The promise without which resetting is refused: no other library of the process (the CUDA
     * runtime included) and no code of the program's own has anything in the device's primary
     * context, but through acuda; nor does work of other devices use its memory. */
    bool nothing_else_in_this_process_uses_the_device;
} acu_reset_options;

/*
 * Destroy the device's context and make it anew, with new streams and pools: the way to use a
 * device again that was lost to a fault, where the driver allows it, or to give back all that was
 * ever made on it. What is in flight is waited for; what is not issued yet fails with STALE. On
 * success *fresh is the device from then on, opened once, with the modes of the old one, and the
 * default device if the old one was; acu_open gives it too.
 *
 * `device` and all that was made on it (buffers, tensors, modules, kernels, streams, events,
 * policies, graphs) are of an older generation then: using them fails with STALE, and none of them
 * reaches the driver again. Releasing them and closing `device`, which is still due for each of its
 * opens, is fine. Pointers that the program took out of them are not: the memory, pinned host
 * memory included, is gone. Wrapped host memory is the program's, and is released as ever.
 *
 * Which faults are healed is the driver's doing (docs/failures.md has what was measured), so the
 * new context is tried out. If it does not work, the status is NOT_HEALED,
 * and the device stays lost.
 *
 * Blocks: until the device's work in flight is complete and no thread is in a driver call about it,
 * and for as long as the driver takes (a third of a second). Driver: cuDevicePrimaryCtxReset,
 * Release, Retain, and what acu_open calls; cuMemAlloc, cuMemsetD8Async, cuStreamSynchronize,
 * cuMemcpyDtoH and cuMemFree to try it out. Errors: SHARED (without the promise), NOT_HEALED, STALE
 * (it was reset before), INVALID (it is not open), WOULD_WAIT inside a callback, NO_MEMORY (it can
 * be tried again).
 */
ACU_API acu_status acu_device_reset(acu_device *device, const acu_reset_options *options,
                                    acu_device **fresh);

/*
 * Wait until nothing submitted to the device so far is in flight, at most `timeout` nanoseconds.
 * Then its futures are complete, what it used is released, queues have their completions, and
 * callbacks (acu_future_on_complete) have returned: so this is not for who holds a lock that a
 * callback takes. What callbacks have submitted may be in flight.
 * Blocks. Errors: TIMEOUT, WOULD_WAIT inside a callback. Outcomes of submissions are on their
 * futures, not here.
 */
ACU_API acu_status acu_device_wait(acu_device *device, uint64_t timeout);

/* The driver's own handles, for other libraries: the device keeps owning them. */
ACU_API CUdevice acu_device_raw(const acu_device *device);
ACU_API CUcontext acu_device_context(const acu_device *device);

/*
 * Let `device` use `peer`'s memory directly, for kernels and fast copies: granted once, for memory
 * of all pools, and tried out with a small copy. Copies between devices work without it, slower:
 * the driver finds a way; after this call has failed with NOT_SUPPORTED, helper threads do, through
 * pinned host memory (staging.h). Driver: cuDeviceCanAccessPeer, cuCtxEnablePeerAccess,
 * cuMemPoolSetAccess, and the first time cuMemAlloc, cuMemcpyHtoDAsync, cuMemcpyPeerAsync,
 * cuMemcpyDtoHAsync, cuStreamSynchronize, cuMemFree. Blocks for some 10 ms the first time.
 * NOT_SUPPORTED where the machine cannot, or the copy arrives wrong.
 */
ACU_API acu_status acu_device_open_peer(acu_device *device, acu_device *peer);

ACU_END
#endif
