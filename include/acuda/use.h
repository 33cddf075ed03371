/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Declared use: work that the program, or another library, places on a stream by hand takes part in
 * the order of things, by saying what it reads and writes.
 *
 *   acu_use *use;
 *   acu_use_begin(stream, &use, acu_in(x), acu_out(y));
 *   ... any calls that enqueue work on acu_stream_raw(stream) and touch x and y so ...
 *   acu_use_end(use, ACU_OK, NULL);
 *
 * Begin puts waits on the stream, so that what comes there next is behind all that was submitted on
 * the same data; what is submitted from then on on that data is behind the use, and waits on the
 * host until its end. Work that can be enqueued from a function is simpler as an op: acu_foreign.
 *
 * The tensors are kept alive until the device is done with what was on the stream at the end.
 * Between begin and end the device counts as busy: acu_device_wait and acu_close wait for the end.
 */
#ifndef ACUDA_USE_H
#define ACUDA_USE_H

#include <acuda/future.h>

ACU_BEGIN

typedef struct acu_use acu_use;

/*
 * The arguments are tensors (acu_in, acu_out, acu_inout), as many as wanted. Streams of the
 * program's own, wrapped ones included, and any thread; one stream may have several uses begun.
 *
 * Never blocks. ACU_NOT_READY, and no use is begun, while something that comes before is not on the
 * device yet (it waits for host work, is held back, or was only handed over): try again, or use
 * acu_use_begin_wait. Driver: cuStreamWaitEvent, at most one for each other stream;
 * cuStreamIsCapturing.
 * Errors: DEPENDENCY (what it would read was not computed), CAPTURE (the stream is being captured),
 * INVALID (an op or a scalar among the arguments, or none), WOULD_WAIT (in a foreign call or a
 * policy's function), DEVICE_LOST, NO_MEMORY.
 */
#define acu_use_begin(stream, use, ...)                                                            \
    acu_stream_use((stream), ACU_ARGS(__VA_ARGS__), ACU_SITE, (use))
ACU_API acu_status acu_stream_use(acu_stream *stream, const acu_arg *args, size_t count,
                                  acu_site site, acu_use **use);

/* The same, but blocks until all that comes before is on the device, at most `timeout` nanoseconds
 * (TIMEOUT). WOULD_WAIT in a callback. */
#define acu_use_begin_wait(stream, timeout, use, ...)                                              \
    acu_stream_use_wait((stream), ACU_ARGS(__VA_ARGS__), ACU_SITE, (timeout), (use))
ACU_API acu_status acu_stream_use_wait(acu_stream *stream, const acu_arg *args, size_t count,
                                       acu_site site, uint64_t timeout, acu_use **use);

/*
 * All of the work is on the stream: its end there is the end of the use, which is gone with this.
 * With an error as `outcome` the work could not be enqueued: who reads what it was to write fails
 * with DEPENDENCY, until that is overwritten. `future`, if not NULL, gets a future that is complete
 * with the work, and fails with CALLBACK for such an outcome.
 *
 * Any thread (of a per-thread default stream its own); not in a foreign call. Never blocks, but on
 * a per-thread default stream for which the driver has no event: there it waits for the work.
 * Driver: cuEventRecord, cuStreamIsCapturing; in that case cuStreamSynchronize.
 * Errors: CAPTURE (the stream is being captured: nothing was ended, try again after that),
 * WOULD_WAIT; NO_MEMORY for the future, and the use is ended all the same; a
 * lost device is on the future.
 */
ACU_API acu_status acu_use_end(acu_use *use, acu_status outcome, acu_future **future);

ACU_END

#ifdef __cplusplus /* for the macros above: a list is one argument */
static inline acu_status acu_stream_use(acu_stream *stream, acui_list<acu_arg> args, acu_site site,
                                        acu_use **use)
{
    return acu_stream_use(stream, args.items, args.count, site, use);
}
static inline acu_status acu_stream_use_wait(acu_stream *stream, acui_list<acu_arg> args,
                                             acu_site site, uint64_t timeout, acu_use **use)
{
    return acu_stream_use_wait(stream, args.items, args.count, site, timeout, use);
}
#endif
#endif
