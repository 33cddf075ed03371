/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Declared use: work that the program, or another library, places on a stream by hand takes part in
 * acuda's order by declaring what it reads and writes.
 *
 *   acu_use *use;
 *   acu_use_begin(stream, &use, acu_in(x), acu_out(y));
 *   ... any calls that enqueue work on acu_stream_raw(stream) and touch x and y so ...
 *   acu_use_end(use, ACU_OK, NULL);
 *
 * Begin puts waits on the stream, so that work placed there next runs after everything submitted on
 * the same data before. Work submitted on that data from then on is ordered after the use, and
 * waits on the host until the use ends. If the work can be enqueued from a function, an op is
 * simpler: acu_foreign.
 *
 * The tensors are kept alive until the device has finished everything that was on the stream at the
 * end of the use. Between begin and end the device counts as busy: acu_device_wait and acu_close
 * wait for the end.
 */
#ifndef ACUDA_USE_H
#define ACUDA_USE_H

#include <acuda/future.h>

ACU_BEGIN

typedef struct acu_use acu_use;

/*
 * The arguments are tensors (acu_in, acu_out, acu_inout), any number of them. `stream` is one of
 * the program's own, wrapped ones included. Any thread may call this; several uses may be begun on
 * one stream.
 *
 * Never blocks. Returns ACU_NOT_READY, and begins no use, while something that comes before is not
 * on the device yet (it waits for host work, is held back, or was only handed over): try again, or
 * use acu_use_begin_wait. Driver: cuStreamWaitEvent, at most one for each other stream;
 * cuStreamIsCapturing.
 * Errors: DEPENDENCY (data that it would read was not computed), CAPTURE (the stream is being
 * captured), INVALID (an op or a scalar among the arguments, or no arguments), IN_CALLBACK (in a
 * foreign call or a policy's function), DEVICE_LOST, NO_MEMORY.
 */
ACU_API acu_status acu_use_begin(acu_stream *stream, const acu_arg *args, size_t count,
                                 acu_site site, acu_use **use);

/* The same, but blocks until everything that comes before is on the device, at most `timeout`
 * nanoseconds (TIMEOUT). IN_CALLBACK in a callback. */
ACU_API acu_status acu_use_begin_wait(acu_stream *stream, const acu_arg *args, size_t count,
                                      acu_site site, uint64_t timeout, acu_use **use);

/*
 * End the use: all of its work is on the stream, and the use ends when the stream gets there. `use`
 * is invalid afterwards. An error as `outcome` says that the work could not be enqueued: whatever
 * reads the data that it was to write fails with DEPENDENCY, until that data is overwritten.
 * `future`, if not NULL, receives a future that is complete when the work is, and that fails with
 * CALLBACK for such an outcome.
 *
 * Any thread may call this, but for a per-thread default stream only the stream's own; not in a
 * foreign call. Never blocks, except on a per-thread default stream for which the driver has no
 * event: there it waits for the work. Driver: cuEventRecord, cuStreamIsCapturing; in that exception
 * cuStreamSynchronize.
 * Errors: CAPTURE (the stream is being captured: the use was not ended, try again after the
 * capture), IN_CALLBACK; NO_MEMORY for the future, but the use is ended all the same; a lost device
 * is reported on the future.
 */
ACU_API acu_status acu_use_end(acu_use *use, acu_status outcome, acu_future **future);

ACU_END

/*
 * In C and C++ both are called with the arguments as a list, through macros of the same names:
 *   acu_use_begin(stream, &use, acu_in(x), acu_out(y))
 *   acu_use_begin_wait(stream, timeout, &use, acu_in(x), acu_out(y))
 * A name in parentheses is the function: (acu_use_begin)(stream, args, count, ACU_SITE, &use).
 */
#ifdef __cplusplus /* there a list is one argument */
static inline acu_status acu_use_begin(acu_stream *stream, acui_list<acu_arg> args, acu_site site,
                                       acu_use **use)
{
    return acu_use_begin(stream, args.items, args.count, site, use);
}
static inline acu_status acu_use_begin_wait(acu_stream *stream, acui_list<acu_arg> args,
                                            acu_site site, uint64_t timeout, acu_use **use)
{
    return acu_use_begin_wait(stream, args.items, args.count, site, timeout, use);
}
#endif
#define acu_use_begin(stream, use, ...)                                                            \
    acu_use_begin((stream), ACU_ARGS(__VA_ARGS__), ACU_SITE, (use))
#define acu_use_begin_wait(stream, timeout, use, ...)                                              \
    acu_use_begin_wait((stream), ACU_ARGS(__VA_ARGS__), ACU_SITE, (timeout), (use))

#endif
