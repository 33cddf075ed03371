/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * acuda: asynchronous CUDA in C. This header includes the whole library.
 *
 * In five steps: open a device; describe work as operations (ops), which cost nothing and do
 * nothing by themselves; submit an op, which orders it after everything submitted earlier that
 * touches the same data and hands it to the GPU without blocking; carry on; poll the future, wait
 * for it, or have it call you back.
 *
 * A submission goes through three stages: it is planned (checked, and turned into a list of GPU
 * operations), issued (enqueued on CUDA streams, once everything that it must follow has been), and
 * complete. The headers use these three words in this sense.
 *
 * Rules that hold everywhere, stated once:
 *
 * Blocking    Functions do not block unless their names say so (wait, sync, open, close, load,
 *             compile). The exceptions are acu_device_reset, acu_stream_settle, acu_group_drain,
 *             and what a comment states for a special case. A callback is any function of the
 *             program that acuda calls: `then`, host work, completion callbacks, releases. Inside a
 *             callback, calls that wait for work or for acuda's threads fail with IN_CALLBACK.
 *             Calls that merely take time in the driver or a compiler are allowed: acu_open,
 *             acu_device_open_peer, acu_compile, acu_module_load. They hold up the
 *             thread that runs the callback; for a completion callback that is the thread that
 *             reports all completions. acu_module_load_async does not hold it up.
 * Ownership   create/open/submit give the caller one reference. `release` gives it back, from any
 *             thread, at any time, without blocking; `retain` makes another. A device that was
 *             opened is closed instead: only acu_close gives back an acu_open, only
 *             acu_device_release an acu_device_retain. Releasing NULL does nothing, nor does
 *             releasing a handle that is not alive any more, as long as it is recognised (acuda
 *             keeps the last few that a thread released). Devices, streams, buffers, tensors,
 *             modules and kernels are borrowed by a call, and retained internally for as long as
 *             work in flight needs them. The caller's own reference must last until the call
 *             returns. This applies to the release function of user data too, which may run on any
 *             thread, inside any call that looks at the device: it must not drop what another call
 *             may be using. (Only a queue may be released inside its own take: queue.h.) Operations
 *             are the exception: a function that takes an op consumes it, even if it fails, unless
 *             it fails with FULL (see op.h).
 * Errors      Every function that can fail returns acu_status, except op constructors, which carry
 *             the failure to the submit. Results come back through the last parameter, which is set
 *             on success only. The thread's error record (acu_last_error) or the future's
 *             (acu_future_error) says in words what was wrong.
 * Threads     Every function may be called from any thread at any time, unless its comment says
 *             otherwise. No device is ever "current": each call leaves the thread's CUDA context as
 *             it was.
 * Units       Bytes, elements and nanoseconds; names say which where it is not obvious.
 * Languages   C17 and C++17 share these headers, macros included. Macros are thin covers of
 *             functions without variable arguments, which other languages can call. In a C++20
 *             coroutine, build an op with macros before the co_await, not inside it: gcc 11 and 12
 *             do not compile lists there ("array used as initializer").
 * Options     Option structs begin with their size. A zero field means its default; NULL instead of
 *             a struct means all defaults. So a struct may grow from one version to the next: the
 *             fields that an older program's struct does not have count as zero, and a newer
 *             program is refused (NOT_SUPPORTED) if it sets one that the library does not know.
 * Version     ACU_VERSION_MAJOR, _MINOR and _PATCH, and ACU_VERSION for comparing, are those of the
 *             headers; acu_version gives that of the library (base.h).
 *
 * Each header is the manual of its part. A suggested reading order:
 *
 * status.h, device.h          what calls return; devices, and what happens to them after a fault
 * tensor.h, memory.h          dtypes, shapes and views; buffers, and how host memory comes in
 * kernel.h, compile.h         modules and kernels; CUDA C++ compiled at run time
 * op.h, ops.h                 operations and how they are composed; the built-in ones
 * select.h, statistics.h,     selections, histograms, variances; norms and losses of networks;
 * layers.h, distributions.h,  random numbers of other distributions; products over named
 * einsum.h                    dimensions
 * arrange.h, index.h,         more of the built-in ones: joining, padding, reordering; elements by
 * sort.h, scan.h              index; sorting; running sums
 * image.h, image_filters.h,   operations on images, and on boxes that detectors find in them
 * boxes.h
 * blas.h, fft.h, sparse.h,    operations by NVIDIA's libraries; which of these were found
 * vendor.h
 * future.h, queue.h, group.h  submitting, and learning of completion: of one, of many, of a group
 * pool.h, staging.h,          where memory comes from; copies of pageable memory; memory shared by
 * managed.h, external.h       host and device; memory of other APIs and processes
 * stream.h, use.h             streams, events and policies; work that is placed on streams by hand
 * graph_cache.h, graph.h           the cache of executable graphs; an op as a graph to replay
 * explain.h                   what became of a submission, and why
 * driver.h, debug.h           the driver's own calls; failures on request, for tests
 *
 * Not included here: device.cuh and tile.h, which are for kernels, and adapters/, for event loops
 * and DLPack.
 */
#ifndef ACUDA_ACUDA_H
#define ACUDA_ACUDA_H

#include <acuda/arrange.h>
#include <acuda/blas.h>
#include <acuda/boxes.h>
#include <acuda/compile.h>
#include <acuda/debug.h>
#include <acuda/device.h>
#include <acuda/driver.h>
#include <acuda/explain.h>
#include <acuda/external.h>
#include <acuda/fft.h>
#include <acuda/future.h>
#include <acuda/graph.h>
#include <acuda/graph_cache.h>
#include <acuda/group.h>
#include <acuda/image.h>
#include <acuda/index.h>
#include <acuda/image_filters.h>
#include <acuda/kernel.h>
#include <acuda/managed.h>
#include <acuda/memory.h>
#include <acuda/op.h>
#include <acuda/ops.h>
#include <acuda/distributions.h>
#include <acuda/einsum.h>
#include <acuda/layers.h>
#include <acuda/select.h>
#include <acuda/statistics.h>
#include <acuda/pool.h>
#include <acuda/queue.h>
#include <acuda/scan.h>
#include <acuda/small_floats.h>
#include <acuda/sort.h>
#include <acuda/sparse.h>
#include <acuda/staging.h>
#include <acuda/status.h>
#include <acuda/stream.h>
#include <acuda/tensor.h>
#include <acuda/use.h>
#include <acuda/vendor.h>

#endif
