/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * acuda: asynchronous CUDA in C. This header includes the whole library.
 *
 * In five lines: open a device; describe work as operations, which cost nothing and do nothing;
 * submit an operation, which orders it behind whatever touched the same data and hands it to the
 * GPU without blocking; go on; look at, wait for or be called by the future.
 *
 * Rules that hold everywhere, said once:
 *
 * Blocking    Nothing blocks but functions whose name says so: wait, sync, open, close, load,
 *             compile; and acu_device_reset. In functions of the program's that acuda calls
 *             (then, host work, completion callbacks, releases) those that wait for work or for
 *             threads of acuda's are refused with WOULD_WAIT. Those that only take the time of the
 *             driver or a compiler are not: acu_open, acu_device_open_peer, acu_compile,
 *             acu_module_load and its like. They hold up what that thread has to do, which in a
 *             completion callback is to tell of all ends; acu_module_load_async does not.
 * Ownership   create/open/submit give the caller one reference; `release` gives it back, from any
 *             thread, at any time, never blocking; `retain` makes another. Devices, streams,
 *             buffers, tensors, modules and kernels are borrowed by a call, and retained inside
 *             for as long as work in flight needs them. The caller's own reference must last until
 *             the call returns: also a release of user data, which may run on any thread and inside
 *             of any call that looks at the device, must not drop what a call may be using. (Only a
 *             queue may go inside of its own take: queue.h.) Operations are the exception: whoever
 *             takes an op consumes it, on failure too (see op.h).
 * Errors      acu_status everywhere but in op constructors, which carry their failure to submit.
 *             Results come through the last parameter, set on success only. The thread's record
 *             (acu_last_error) or the future's (acu_future_error) says in words what was wrong.
 * Threads     Every function may be called from any thread at any time, unless it says otherwise.
 *             No device is ever "current": each call leaves the thread's CUDA context as it was.
 * Units       Bytes, elements and nanoseconds; names say which where it is not obvious.
 * Languages   C17 and C++17: the same headers, macros and all. Macros are thin covers of functions
 *             without variable arguments, for other languages to call. In coroutines of C++20 an op
 *             that is composed by macros stands before the co_await, not inside of it: gcc 11 and
 *             12 do not compile lists there ("array used as initializer").
 * Options     Structs begin with their size; zero means default; NULL means all defaults.
 *
 * Each header is the manual of its part. In an order to read them in:
 *
 * status.h, device.h          what calls return; devices, and what becomes of them after a fault
 * tensor.h, memory.h          dtypes, shapes and views; buffers: where host memory comes in
 * kernel.h, compile.h         modules and kernels; CUDA C++ compiled at run time
 * op.h, ops.h                 operations and how they are composed; the built-in ones
 * future.h, queue.h, group.h  submitting, and learning of the end: of one, of many, of all together
 * pool.h, staging.h,          where memory comes from; copies of pageable memory; memory that host
 * managed.h, external.h       and device share; memory of other APIs and processes
 * stream.h, use.h             streams, events and policies; work that is placed by hand
 * graphs.h, graph.h           the cache of executable graphs; an op as a graph to replay
 * explain.h                   what became of a submission, and why
 * driver.h, debug.h           the driver's own calls; failures on request, for tests
 *
 * Not included here: device.cuh and tile.h, for kernels, and adapters/: event loops, and DLPack.
 */
#ifndef ACUDA_ACUDA_H
#define ACUDA_ACUDA_H

#include <acuda/compile.h>
#include <acuda/debug.h>
#include <acuda/device.h>
#include <acuda/driver.h>
#include <acuda/explain.h>
#include <acuda/external.h>
#include <acuda/future.h>
#include <acuda/graph.h>
#include <acuda/graphs.h>
#include <acuda/group.h>
#include <acuda/kernel.h>
#include <acuda/managed.h>
#include <acuda/memory.h>
#include <acuda/op.h>
#include <acuda/ops.h>
#include <acuda/pool.h>
#include <acuda/queue.h>
#include <acuda/staging.h>
#include <acuda/status.h>
#include <acuda/stream.h>
#include <acuda/tensor.h>
#include <acuda/use.h>

#endif
