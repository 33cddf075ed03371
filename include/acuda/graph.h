/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Explicit graphs: an operation, instantiated once as a CUDA graph, for replay.
 *
 *   acu_graph *step;
 *   acu_graph_load(device, op, NULL, &step);           plans the op, runs nothing
 *   acu_sync(device, acu_replay(step), NULL);          as often as wanted, from any stream
 *
 * Most programs need none: submissions that come again are served by cached graphs (graphs.h), with
 * new arguments each time. An explicit graph is fixed, and so there is nothing left to look at: a
 * replay is one cuGraphLaunch, of any number of nodes.
 *
 * What the op reads and writes is fixed with it. To give a replay other inputs, write the tensors
 * that it reads by any op: acu_zip(acu_copy(x, fresh), acu_replay(step)) copies, then replays,
 * because both touch x. Tensors that the op makes itself (acu_zeros, acu_const, ...) exist once,
 * with the graph; each replay fills them anew.
 */
#ifndef ACUDA_GRAPH_H
#define ACUDA_GRAPH_H

#include <acuda/future.h>

ACU_BEGIN

typedef struct acu_graph acu_graph;

typedef struct acu_graph_options {
    size_t size;        /* sizeof(acu_graph_options) */
    acu_policy *policy; /* one of one stream: nodes run one behind the other; else branches stay
                         * branches. NULL: the device's own */
} acu_graph_options;

/*
 * Plan `op` (consumed) as acu_submit does, checks and host callbacks (`then`, `map`) included, and
 * instantiate it. Nothing runs. The graph keeps the kernels and buffers of the op alive. What is
 * planned here is the graph's alone: submitting an op that was kept of it (acu_op_retain) fails
 * with INVALID. Of an op that was submitted before, the graph reads the values.
 *
 * Blocks while the driver instantiates: some microseconds a node on one chain, more with branches;
 * and until there is memory for tensors of submissions that are not on the device yet.
 * Driver: cuGraphCreate, cuGraphAdd*Node, cuGraphKernelNodeSetAttribute for launches with
 * attributes, cuGraphInstantiateWithFlags, cuGraphUpload; cuMemAllocFromPoolAsync for tensors that
 * the op makes.
 *
 * It can hold launches, cooperative and in clusters too, fills, and copies of any layout on the
 * device or between it and pinned memory. Errors: those of planning; INVALID (there is nothing to
 * run); NOT_SUPPORTED, naming the part, for what it can not hold: host and foreign calls,
 * programmatic launches, copies of pageable memory or between devices, several devices, a driver
 * that lacks a call; WOULD_WAIT in a callback.
 */
ACU_API acu_status acu_graph_load(acu_device *device, acu_op *op, const acu_graph_options *options,
                                  acu_graph **graph);

/* An op that runs the graph once, in order with everything that touches the same data; replays of
 * one graph run one after the other. Yields what the graph's op yields, borrowed. A graph of a
 * device that was lost fails with DEVICE_LOST. Driver: cuGraphLaunch. */
#define acu_replay(graph) acu_op_replay((graph), ACU_SITE)
ACU_API acu_op *acu_op_replay(acu_graph *graph, acu_site site);

/* What the op yields: valid contents after a replay. acu_graph_tensor lends value `index` as long
 * as the graph lives, NULL if it is none or no tensor; acu_graph_values says how many there are. */
ACU_API size_t acu_graph_values(const acu_graph *graph);
ACU_API acu_tensor *acu_graph_tensor(const acu_graph *graph, size_t index);
/* How many nodes it has. */
ACU_API size_t acu_graph_nodes(const acu_graph *graph);

ACU_API acu_graph *acu_graph_retain(acu_graph *graph);
/* At any time, replays in flight or not. Never blocks; NULL is fine. */
ACU_API void acu_graph_release(acu_graph *graph);

ACU_END
#endif
