/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The cache of executable graphs.
 *
 * A submission, or each part of it that a CUDA graph can hold (launches but programmatic ones,
 * copies of one run of bytes on one device or from and to the host, fills), has a form: its kernels
 * with their launch attributes, kinds of copies and what comes before what.
 * A form that comes again is launched as one executable graph (cuGraphLaunch), after the parameters
 * that differ from the last time were set (cuGraphExecKernelNodeSetParams and the like): new
 * tensors, scalars, grids, blocks and lengths are no new form. On an H100 that takes less time than
 * launching kernels even for one kernel, and less than half for ten.
 *
 * Results, errors and order are the same as without. Nothing is to be done for it; this page is for
 * those who want to look at the cache, bound it, or switch it off.
 *
 * A form seen for the first time goes to its stream directly. When it is seen again, a thread of
 * acuda's makes an executable graph for it (cuGraphInstantiateWithFlags) while submissions go on
 * directly; then they use it. An executable graph runs once at a time, so a form whose submissions
 * overlap on several streams gets one for each. A form whose graph the driver refuses goes on
 * directly; where it had no memory for it, it is asked again later.
 *
 * A device's runtime thread (acu_open_options, runtime_thread) issues small submissions of one form
 * as one graph, up to 16, while more are handed over to it: for each of many kernels in flight that
 * costs the driver less than half. Where several threads submit to a device all the time, or one
 * does so on and on without having to wait, a thread of acuda's does so for them,
 * if the process has three cores or more: it sleeps when they stop. Each keeps its own future, and
 * its own failures found on the host; but they are told to be over together. So this is done only
 * with such as were over within 100 us before, that wait for nothing on the device, and whose
 * options choose no stream, policy or priority. Of one that submits on and on, that thread issues
 * larger submissions too, each by itself: planning and the driver's calls go on side by side.
 */
#ifndef ACUDA_GRAPHS_H
#define ACUDA_GRAPHS_H

#include <acuda/device.h>

ACU_BEGIN

#define ACU_GRAPHS_DEFAULT 512 /* executable graphs that a device's cache holds at most */

/* Since the device was opened, but for the first three. */
typedef struct acu_graph_counts {
    uint32_t limit;     /* executable graphs, at most */
    uint32_t forms;     /* known now */
    uint32_t execs;     /* executable graphs now, those being made included */
    uint64_t hits;      /* parts of submissions that one served */
    uint64_t misses;    /* parts that could have been served, and were issued directly */
    uint64_t built;
    uint64_t evicted;   /* to make room: the ones that were not used for the longest time */
    uint64_t set;       /* nodes whose parameters were set */
    uint64_t skipped;   /* nodes that had the right ones already */
    uint64_t together;  /* submissions that were issued with others, as one graph */
} acu_graph_counts;

/* Any thread, does not block, no driver calls. All 0 where the cache is off or not supported. */
ACU_API acu_status acu_graphs_counts(acu_device *device, acu_graph_counts *counts);

/*
 * How many executable graphs the device's cache may hold from now on; 0 switches it off. Those that
 * are too many and not in use are destroyed now (cuGraphExecDestroy, cuGraphDestroy), the others as
 * they end. Any thread. NOT_SUPPORTED where the driver lacks a call for it (CUDA before 11.4), but
 * for 0.
 */
ACU_API acu_status acu_graphs_limit(acu_device *device, uint32_t execs);

/*
 * Until every executable graph that was found worth making is made. Blocks for that long;
 * WOULD_WAIT in a callback. To warm the cache up, submit what is to come with `warm` in the
 * options, which has graphs made at the first sight of a form, then wait here: the next submissions
 * are served.
 */
ACU_API acu_status acu_graphs_wait(acu_device *device);

ACU_END
#endif
