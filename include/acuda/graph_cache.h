/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The cache of executable graphs.
 *
 * A submission, or each part of it that a CUDA graph can hold (launches except programmatic ones,
 * fills, copies of one run of bytes on one device or to and from the host, and calls of libraries
 * whose headers say so, such as blas.h), has a signature: its kernels with their launch attributes,
 * the kinds of its copies, all that its libraries' calls depend on except addresses, and what comes
 * before what. A signature that comes again is launched as one executable
 * graph (cuGraphLaunch), after updating the parameters that differ from the last time
 * (cuGraphExecKernelNodeSetParams and the like): new tensors, scalars, grids, blocks and lengths do
 * not make a new signature. On an H100 that takes less time than launching kernels, even for a
 * single kernel, and less than half for ten.
 *
 * Results, errors and order are the same as without it, and programs need not do anything. This
 * header is for looking at the cache, bounding it, or switching it off.
 *
 * What a library's call enqueues is captured (cuStreamBeginCapture, on a stream of acuda's own),
 * and captured again where its addresses are other ones than the last time
 * (cuGraphExecChildGraphNodeSetParams); with the same ones the library is not called. A call alone
 * is captured anew once other addresses have come twice. Such graphs keep the library's plans and
 * temporary memory, of which a device's cache takes at most 256 MiB; what can not be captured, or
 * gets no memory, is called.
 *
 * A signature seen for the first time is issued directly. When it comes again, one of acuda's
 * threads makes an executable graph for it (cuGraphInstantiateWithFlags), while submissions
 * continue to be issued directly; then they use the graph. An executable graph can run only once at
 * a time, so a signature whose submissions overlap on several streams gets one for each. If the
 * driver refuses to make a graph, the signature continues to be issued directly; if it refused for
 * lack of memory, it is asked again later.
 *
 * A device's runtime thread (acu_open_options, runtime_thread) issues small submissions of one
 * signature as one graph, up to 32, while more are handed over to it: when many kernels are in
 * flight, that costs the driver less than half for each. If several threads submit to a device all
 * the time, or one does so on and on without having to wait, one of acuda's threads does the same
 * for them, provided that the process has three cores or more; it sleeps when they stop. Each
 * submission keeps its own future and its own failures found on the host, but all of one graph are
 * reported complete together. So only as many go together as are expected, from earlier ones, to be
 * complete within 100 us, and only submissions that wait for nothing on the device and whose
 * options choose no stream, policy or priority. For a thread that submits on and on, this thread
 * issues larger submissions too, each by itself: planning then runs in parallel with the driver's
 * calls.
 */
#ifndef ACUDA_GRAPH_CACHE_H
#define ACUDA_GRAPH_CACHE_H

#include <acuda/device.h>

ACU_BEGIN

#define ACU_GRAPH_CACHE_DEFAULT 512 /* the most executable graphs that a device's cache holds, by
                                * default */

/* The first three are current values; the others count from the device's opening. */
typedef struct acu_graph_cache_statistics {
    size_t size;        /* sizeof(acu_graph_cache_statistics), set by the caller */
    uint32_t limit;     /* the most executable graphs allowed */
    uint32_t signatures; /* known signatures */
    uint32_t execs;     /* executable graphs, including those being made */
    uint64_t hits;      /* parts of submissions that a graph served */
    uint64_t misses;    /* parts that a graph could have served, but that were issued directly */
    uint64_t built;
    uint64_t evicted;   /* graphs destroyed to make room: those unused for longest */
    uint64_t set;       /* nodes whose parameters were updated */
    uint64_t skipped;   /* nodes whose parameters were right already */
    uint64_t together;  /* submissions issued together with others, as one graph */
} acu_graph_cache_statistics;

/* Any thread, does not block, no driver calls. All 0 if the cache is off or not supported. */
ACU_API acu_status acu_graph_cache_stats(acu_device *device, acu_graph_cache_statistics *stats);

/*
 * Set the number of executable graphs that the device's cache may hold; 0 switches it off. Surplus
 * graphs are destroyed (cuGraphExecDestroy, cuGraphDestroy): those not in use now, the others when
 * their work ends. Any thread. Errors: NOT_SUPPORTED (the driver lacks a call for it: CUDA before
 * 11.4), except for 0.
 */
ACU_API acu_status acu_graph_cache_limit(acu_device *device, uint32_t execs);

/*
 * Wait until every executable graph that was found worth making is made. Blocks for that long;
 * IN_CALLBACK in a callback. To warm the cache up, submit the expected work with `warm` in its
 * options, which has graphs made at the first sight of a signature, then wait here: the next
 * submissions are served by them.
 */
ACU_API acu_status acu_graph_cache_wait(acu_device *device);

ACU_END
#endif
