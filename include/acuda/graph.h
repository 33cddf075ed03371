/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Explicit graphs: an operation, instantiated once as a CUDA graph, to be replayed.
 *
 *   acu_graph *step;
 *   acu_graph_load(device, op, NULL, &step);           plans the op, runs nothing
 *   acu_sync(device, acu_replay(step), NULL);          as often as wanted, from any stream
 *
 * Most programs need none: submissions that come again are served by cached graphs
 * (graph_cache.h), with new arguments each time. An explicit graph is fixed, so nothing needs to be
 * compared or updated: a replay is one cuGraphLaunch, of any number of nodes.
 *
 * The tensors that the op reads and writes are fixed too. To give a replay other inputs, write the
 * tensors that it reads with any op: acu_zip(acu_copy(x, fresh), acu_replay(step)) copies first and
 * then replays, because both touch x. Tensors that the op itself makes (acu_zeros, acu_const, ...)
 * exist once, with the graph; each replay fills them anew. That is so for the host memory of an
 * acu_to_host inside, too: the futures of all replays show the newest numbers, and a replay in
 * flight may be writing them. Around a replay, acu_to_host(acu_first(acu_replay(step))), each
 * submission has memory of its own.
 */
#ifndef ACUDA_GRAPH_H
#define ACUDA_GRAPH_H

#include <acuda/future.h>

ACU_BEGIN

typedef struct acu_graph acu_graph;

typedef struct acu_graph_options {
    size_t size;        /* sizeof(acu_graph_options) */
    acu_policy *policy; /* a policy of one stream makes nodes run one after the other; with others,
                         * branches stay branches. NULL: the device's own policy */
} acu_graph_options;

/*
 * Plan `op` (consumed) as acu_submit does, including checks and host callbacks (`then`, `map`), and
 * instantiate it. Nothing runs. The graph keeps the kernels and buffers of the op alive. What is
 * planned here belongs to the graph alone: submitting an op that was kept of it (acu_op_retain)
 * fails with INVALID. An op that was submitted before is not planned again: the graph reads its
 * values.
 *
 * A graph can hold launches, cooperative and cluster launches included, fills, copies of any layout
 * on the device or between it and pinned memory, acuda's operations that call a library, and calls
 * of acu_foreign that acu_capturable says may be captured. What a batch of solver.h says of
 * its matrix is looked at behind each replay, which fails then. It can not hold other foreign
 * calls, host calls, acu_or_else, acu_finally, acu_replay, acu_after of what is not in it,
 * acu_after_future, programmatic launches, copies of pageable memory or between devices, or work on
 * several devices; most of these can be put around a replay. Some drivers can not have cooperative
 * or cluster launches in graphs.
 *
 * Blocks: until libraries that it calls are loaded; while the driver instantiates it, some
 * microseconds per node on one chain, more with branches; and until tensors of submissions that are
 * not on the device yet have memory. Driver: cuGraphCreate, cuGraphAdd*Node,
 * cuGraphKernelNodeSetAttribute for launches with attributes, cuGraphInstantiateWithFlags;
 * cuMemAllocFromPoolAsync for tensors that the op makes; for calls, cuStreamCreate,
 * cuStreamBeginCapture, what the call itself uses, cuStreamEndCapture, cuGraphAddChildGraphNode and
 * cuStreamDestroy. Errors: those of planning; INVALID (there is nothing to run, as with nothing but
 * empty tensors); NOT_SUPPORTED, naming the part, for what a graph can not hold, and for a driver
 * that lacks a call; CAPTURE, naming the op, for a call that enqueues what CUDA can not capture;
 * CALLBACK, and a library's errors; IN_CALLBACK in a callback.
 */
ACU_API acu_status acu_graph_load(acu_device *device, acu_op *op, const acu_graph_options *options,
                                  acu_graph **graph);

/* An op that runs the graph once, in order with everything that touches the same data. Replays of
 * one graph run one after the other, on one stream where submissions do not say which. Yields what
 * the graph's op yields, borrowed. If the device was lost, it fails with DEVICE_LOST. Driver:
 * cuGraphLaunch, before the first one cuGraphUpload. */
#define acu_replay(graph) acu_op_replay((graph), ACU_SITE)
ACU_API acu_op *acu_op_replay(acu_graph *graph, acu_site site);

/* The values that the op yields, whose contents are valid after a replay. acu_graph_values gives
 * their number. acu_graph_tensor lends value `index` as long as the graph lives; NULL if there is
 * no such value, or it is not a tensor. */
ACU_API size_t acu_graph_values(const acu_graph *graph);
ACU_API acu_tensor *acu_graph_tensor(const acu_graph *graph, size_t index);
/* The number of nodes in the graph. */
ACU_API size_t acu_graph_nodes(const acu_graph *graph);

ACU_API acu_graph *acu_graph_retain(acu_graph *graph);
/* May be called at any time, whether replays are in flight or not. Never blocks; NULL is fine. */
ACU_API void acu_graph_release(acu_graph *graph);

ACU_END
#endif
