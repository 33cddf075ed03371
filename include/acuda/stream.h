/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * CUDA's streams and events, for programs that place work by hand, and policies. Programs that only
 * submit ops need nothing of this header.
 *
 * Work submitted to a stream (acu_submit_options, policies) may be held back on the host. This can
 * happen in any program, without its doing: the first use of a built-in op waits for its kernels to
 * be loaded, and other submissions wait for host work before them, for room (max_in_flight), or for
 * a runtime thread. CUDA does not know of such work. The functions below do: poll and wait include
 * it, functions that mark the end of a stream refuse (BUSY) while work is still to come, and
 * acu_stream_settle waits until all of it is on the stream. The program's own calls on
 * acu_stream_raw do not see it.
 *
 * Driver calls besides those named below: cuStreamIsCapturing whenever work is put on, or a
 * question asked of, a stream whose raw handle the program has; cuEventCreate for acuda's events,
 * which are reused.
 */
#ifndef ACUDA_STREAM_H
#define ACUDA_STREAM_H

#include <acuda/device.h>

ACU_BEGIN

typedef struct acu_stream acu_stream;
typedef struct acu_event acu_event;
typedef struct acu_policy acu_policy;

/*
 * A new stream, non-blocking (it does not wait for CUDA's legacy default stream). `priority` lies
 * between the device's greatest_priority and least_priority (acu_device_info); 0 is the default.
 * Driver: cuStreamCreateWithPriority. Errors: INVALID (priority), DRIVER.
 */
ACU_API acu_status acu_stream_create(acu_device *device, int priority, acu_stream **stream);

/*
 * Use a stream that another library made. acuda never destroys it, and it must outlive the last
 * reference. Its priority and device are the driver's business. NULL is CUDA's legacy default
 * stream, for which acu_stream_raw gives CU_STREAM_LEGACY. CUDA's per-thread default stream is a
 * different stream in each thread: what is wrapped is that of the calling thread. That thread can
 * order it, wait for it and declare uses on it (use.h); acuda's own work can not be put there, and
 * other threads are refused (INVALID).
 */
ACU_API acu_status acu_stream_wrap(acu_device *device, CUstream raw, acu_stream **stream);

/* A new stream whose work starts after everything that `stream` holds now (fork), with the same
 * priority. BUSY: something that was submitted to `stream` is not on it yet. */
ACU_API acu_status acu_stream_fork(acu_stream *stream, acu_stream **forked);

/* Work put on `stream` from now on starts after everything that `other` holds now, also across
 * devices. Does not block. Driver: cuEventRecord on `other`, cuStreamWaitEvent on `stream`. Errors:
 * BUSY (something that was submitted to `other` is not on it yet); CAPTURE, as for all
 * functions here that put something on a stream: the program is capturing it. */
ACU_API acu_status acu_stream_order_after(acu_stream *stream, acu_stream *other);

/* Whether the stream is idle: nothing in flight, and nothing submitted that is not on it yet.
 * Returns ACU_OK, ACU_NOT_READY, CAPTURE, or the device's error. Driver: cuStreamQuery. */
ACU_API acu_status acu_stream_poll(acu_stream *stream);
/* Block until everything that was submitted to the stream so far, and everything on it by then, is
 * complete, at most `timeout` nanoseconds. Work submitted behind a use that was begun (use.h) gets
 * onto the stream only when that use ends. Errors: TIMEOUT, IN_CALLBACK in a callback, CAPTURE, the
 * device's. Driver: cuEventRecord, cuEventQuery. */
ACU_API acu_status acu_stream_wait(acu_stream *stream, uint64_t timeout);
/* Block until everything that was submitted to the stream so far is on it, or over: then its end
 * can be marked, and work placed behind it by hand. At most `timeout` nanoseconds; work that other
 * threads submit meanwhile is not waited for. Errors: TIMEOUT, IN_CALLBACK in a callback, the
 * device's. */
ACU_API acu_status acu_stream_settle(acu_stream *stream, uint64_t timeout);

/* The driver's handle; NULL: not a stream. Driver: the first time, cuEventRecord for acuda's work
 * on the stream that has no event. */
ACU_API CUstream acu_stream_raw(const acu_stream *stream);
ACU_API acu_device *acu_stream_device(const acu_stream *stream); /* borrowed */
ACU_API int acu_stream_priority(const acu_stream *stream);
ACU_API acu_stream *acu_stream_retain(acu_stream *stream);
/* Never blocks. Work in flight on the stream is finished first; then the stream is destroyed. */
ACU_API void acu_stream_release(acu_stream *stream);

/* An event. `timing` makes it usable for acu_event_elapsed_ms, and recording it six times
 * dearer. */
ACU_API acu_status acu_event_create(acu_device *device, bool timing, acu_event **event);
/* Mark the end of what `stream` holds now. Both must be of the same device. BUSY: something
 * that was submitted to the stream is not on it yet. Driver: cuEventRecord. */
ACU_API acu_status acu_event_record(acu_event *event, acu_stream *stream);
/* ACU_OK if the work marked by the last record is complete (or nothing was recorded), else
 * ACU_NOT_READY. Driver: cuEventQuery. */
ACU_API acu_status acu_event_poll(acu_event *event);
/* Block until then, at most `timeout` nanoseconds. Errors: TIMEOUT, IN_CALLBACK in a callback. */
ACU_API acu_status acu_event_wait(acu_event *event, uint64_t timeout);
/* Work put on `stream` from now on starts after the event's last record. If nothing was recorded:
 * INVALID, where CUDA itself would silently not wait. Driver: cuStreamWaitEvent. */
ACU_API acu_status acu_stream_order_after_event(acu_stream *stream, acu_event *event);
/* Milliseconds of device time between two recorded, complete events with timing, of one device. On
 * the software device these are milliseconds of the host. Returns NOT_READY while one is not
 * complete. Errors: INVALID, DEVICE. Driver: cuEventElapsedTime. */
ACU_API acu_status acu_event_elapsed_ms(acu_event *start, acu_event *end, float *ms);
ACU_API CUevent acu_event_raw(const acu_event *event);
ACU_API acu_event *acu_event_retain(acu_event *event);
ACU_API void acu_event_release(acu_event *event);

/*
 * Policies choose the stream of a submission. Every device has its own policy, round robin over its
 * pool (four streams unless acu_open was told otherwise). The order between submissions follows
 * from the data they touch, whichever streams a policy picks.
 */
ACU_API acu_status acu_policy_round_robin(acu_device *device, unsigned streams,
                                          acu_policy **policy);
/* Everything on one stream: submissions run one after the other. `stream` NULL: a new one. */
ACU_API acu_status acu_policy_single(acu_device *device, acu_stream *stream, acu_policy **policy);

/* A stream that a policy may choose. */
typedef struct acu_policy_stream {
    acu_stream *stream; /* borrowed */
    uint32_t load;      /* work on it, or waiting for room there: roughly the number of driver calls
                         * in flight, as far as acuda has looked. 0: idle, except for work placed
                         * there by hand */
    uint32_t reserved[5]; /* 0 */
} acu_policy_stream;

/*
 * The program's own policy: returns the index of a stream in the list. Called once per submission
 * and device, when it is planned: on the thread that submits (or schedules), or on the device's
 * runtime thread, and possibly by several threads at the same time. It must be quick, and may
 * neither wait nor submit. An index out of range fails the submission with CALLBACK.
 */
typedef size_t (*acu_policy_fn)(void *user, const acu_policy_stream *streams, size_t count);

typedef enum acu_policy_order {
    ACU_ROUND_ROBIN,
    ACU_LEAST_LOADED /* the one with the least load; among equals, in turn */
} acu_policy_order;

typedef struct acu_policy_options {
    size_t size;            /* sizeof(acu_policy_options) */
    acu_policy_order order; /* how a stream is chosen, if `choose` is NULL */
    acu_policy_fn choose;   /* the program's own choice, or NULL */
    acu_user user;          /* for `choose`; released with the policy */
    unsigned streams;       /* number of new streams to choose from; 0: four; at most 64 */
    int priority;           /* their priority, as in acu_stream_create; 0: the default one */
    acu_stream *const *given; /* or: the program's own streams, all of the device */
    size_t given_count;       /* their number */
} acu_policy_options;

/*
 * A policy over streams of one device; the work that a submission has for other devices goes to
 * streams that those devices choose themselves. NULL options: as acu_policy_round_robin. A policy
 * with a single stream also keeps the branches of each submission from running side by side; any
 * other choice changes speed, never results.
 * Driver: cuStreamCreateWithPriority. Errors: INVALID (number, priority), DEVICE (a given stream is
 * of another device), DRIVER, NO_MEMORY. On an error user.release has been called (except if `size`
 * is not set: then nothing in the options is looked at).
 */
ACU_API acu_status acu_policy_create(acu_device *device, const acu_policy_options *options,
                                     acu_policy **policy);

ACU_API acu_device *acu_policy_device(const acu_policy *policy); /* borrowed */
ACU_API acu_policy *acu_policy_retain(acu_policy *policy);
ACU_API void acu_policy_release(acu_policy *policy);

ACU_END
#endif
