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
 * Languages   C17 and C++17 share these headers, macros included; acuda.hpp adds owners, exceptions
 *             and co_await. Macros are thin covers of functions without variable arguments, which
 *             other languages can call. What a macro gets may have commas in braces only inside
 *             parentheses: (&(acu_crop){...}). In a C++20 coroutine, build an op with macros before
 *             the co_await, not inside it: gcc 11 and 12 do not compile lists there ("array used as
 *             initializer").
 * Options     Option structs begin with their size. A zero field means its default; NULL instead of
 *             a struct means all defaults. So a struct may grow from one version to the next: the
 *             fields that an older program's struct does not have count as zero, and a newer
 *             program is refused (NOT_SUPPORTED) if it sets one that the library does not know.
 *             Structs that the library fills (statistics) begin with a size that the caller sets:
 *             no more than that is written. Structs in arrays have room for more (`reserved`,
 *             zero), or the program says how far they are apart (a stride). acu_arg, acu_shape,
 *             acu_dims, acu_user and acu_site are passed by value, and never change.
 * Statistics  acu_X_stats(x, &stats) reads what an X counts into an acu_X_statistics: pools
 *             (pool.h), the cache of graphs (graph_cache.h), the compiler (compile.h), the process
 *             (future.h).
 * Version     ACU_VERSION_MAJOR, _MINOR and _PATCH, and ACU_VERSION for comparing, are those of the
 *             headers; acu_version gives that of the library (base.h).
 *
 * Each header is the manual of its part. In a suggested reading order:
 *
 *  1  status.h: What calls return: statuses, how much an error breaks, and the record that says in
 *     words what was wrong.
 *  2  device.h: Opening a device, its modes (a bound on work in flight, a runtime thread, one
 *     operation at a time), and what to do after a fault.
 *  3  tensor.h, memory.h: A tensor is a dtype, a shape and strides over a buffer. How host memory,
 *     and that of other libraries, comes in and goes out. small_floats.h: numbers of 16 and 8 bits
 *     on the host. file.h: files, as operations among others.
 *  4  kernel.h, compile.h: Modules and the kernels in them, how a launch is configured; CUDA C++
 *     compiled at run time.
 *  5  op.h: Operations: what they are, who owns them, and the ways to compose them, from launching
 *     and copying to alternatives for what fails. The longest, and the heart.
 *  6  ops.h: The built-in operations: elementwise functions, reductions, matrix products, random
 *     numbers, conversions. More of them are in arrange.h (joining, padding, reordering), index.h
 *     (elements by index), sort.h, scan.h (running sums), select.h, statistics.h (histograms,
 *     variances), layers.h (norms and losses of networks), convolution.h (with pooling and
 *     interpolation), attention.h, distributions.h (random numbers), einsum.h (products over named
 *     dimensions),
 *     image.h, image_filters.h, boxes.h (images, and boxes that detectors find in them). blas.h,
 *     product.h (products with what comes before and after them), solver.h (equations,
 *     eigenvalues), fft.h, sparse.h, npp.h and dnn.h (layers, forward and backward) are by
 *     NVIDIA's libraries, infer.h (whole networks) is by onnxruntime, jpeg.h (files of pictures)
 *     by nvJPEG or TurboJPEG, and vendor.h says which of these were found.
 *  7  future.h: Submitting an operation, waiting for it, cancelling it, taking its values.
 *  8  queue.h, group.h: Learning of many completions: in batches on a thread of the program's, with
 *     a descriptor for its event loop; submissions that stand or fall together.
 *
 * These suffice for most programs. The others are for those that need more:
 *
 *  9  pool.h, staging.h, managed.h, external.h: Where memory comes from, and how to bound it; how
 *     pageable memory is copied; memory that host and devices share; memory of other APIs and
 *     processes.
 * 10  stream.h, use.h: CUDA's streams and events, policies that choose streams, and work that is
 *     placed on streams by hand in order with acuda's.
 * 11  graph_cache.h, graph.h: The cache of executable graphs that submissions use by themselves,
 *     and an operation as a graph of its own, to be replayed.
 * 12  explain.h: What became of a submission: its parts, what each of them waited for, how long it
 *     took on the device. trace.h: the same of a whole program, to be looked at in a browser.
 *     metrics.h: all counters as text, for Prometheus. log.h: lines for the program's log.
 * 13  comm.h: Collectives among several devices, of one process or of many.
 * 14  driver.h: Which driver was chosen and why, and its entry points.
 *
 * base.h has what all of them need: the version, time spans, user data of callbacks.
 *
 * Not included here: device.cuh and tile.h, which are for kernels; adapters/, for event loops and
 * DLPack; and debug.h, for tests: failures on request, and counts of what lives.
 */
#ifndef ACUDA_ACUDA_H
#define ACUDA_ACUDA_H

#include <acuda/arrange.h>
#include <acuda/attention.h>
#include <acuda/blas.h>
#include <acuda/comm.h>
#include <acuda/boxes.h>
#include <acuda/compile.h>
#include <acuda/convolution.h>
#include <acuda/device.h>
#include <acuda/dnn.h>
#include <acuda/driver.h>
#include <acuda/explain.h>
#include <acuda/external.h>
#include <acuda/fft.h>
#include <acuda/file.h>
#include <acuda/future.h>
#include <acuda/graph.h>
#include <acuda/graph_cache.h>
#include <acuda/group.h>
#include <acuda/image.h>
#include <acuda/index.h>
#include <acuda/infer.h>
#include <acuda/image_filters.h>
#include <acuda/jpeg.h>
#include <acuda/kernel.h>
#include <acuda/log.h>
#include <acuda/managed.h>
#include <acuda/memory.h>
#include <acuda/metrics.h>
#include <acuda/op.h>
#include <acuda/npp.h>
#include <acuda/ops.h>
#include <acuda/distributions.h>
#include <acuda/einsum.h>
#include <acuda/layers.h>
#include <acuda/select.h>
#include <acuda/statistics.h>
#include <acuda/pool.h>
#include <acuda/product.h>
#include <acuda/queue.h>
#include <acuda/scan.h>
#include <acuda/small_floats.h>
#include <acuda/solver.h>
#include <acuda/sort.h>
#include <acuda/sparse.h>
#include <acuda/staging.h>
#include <acuda/status.h>
#include <acuda/stream.h>
#include <acuda/tensor.h>
#include <acuda/trace.h>
#include <acuda/use.h>
#include <acuda/vendor.h>

#endif
