/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Graphs: nodes, each with a work that is cloned at a launch, and with the nodes that it comes
 * after. An executable graph is a flat copy, in an order that the edges allow, laid on lanes:
 * streams of its own, so that branches run side by side.
 *
 * As with CUDA, a graph is not for several threads at a time; handles are safe nevertheless.
 */
#ifndef SOFTCUDA_DRIVER_GRAPH_H
#define SOFTCUDA_DRIVER_GRAPH_H

#include "driver/stream.h"

struct sd_event;
struct sd_graph;

/* What a node does: a work, an event or a child graph, or nothing. */
typedef struct sd_step {
    unsigned type;          /* ACU_CU_GRAPH_NODE_TYPE_x */
    sd_work *work;          /* owned, never issued: kernels, copies, fills, host functions */
    struct sd_event *event; /* held: recorded or awaited */
    struct sd_graph *child; /* owned */
    sd_context *context;    /* the context in which it runs, held; NULL: any */
} sd_step;

typedef struct sd_node {
    sd_object object;
    struct sd_graph *graph; /* held */
    sd_step step;
    struct sd_node **after; /* nodes of the same graph, borrowed */
    size_t after_count;
    size_t index; /* in the graph */
} sd_node;

typedef struct sd_graph {
    sd_object object;
    pthread_mutex_t lock;
    sd_node **nodes;
    size_t count, room;
} sd_graph;

/* ---- graphs (graph.c) ---- */

unsigned sd_graph_create(sd_graph **graph);
/* End the handles of the graph and of its nodes. False: somebody else did. */
bool sd_graph_release(sd_graph *graph);
unsigned sd_graph_clone(sd_graph *original, sd_graph **clone);
/* Copy a step: what it holds is held again, what it owns is cloned. */
unsigned sd_step_clone(const sd_step *step, sd_step *clone);
void sd_step_end(sd_step *step);

/* Add a node behind `after`; takes over the step, on failure too. */
unsigned sd_graph_add(sd_graph *graph, sd_step *step, const CUgraphNode *after, size_t count,
                      sd_node **node);

/* Whether any node comes directly after the handle's node. */
bool sd_graph_is_followed(sd_graph *graph, CUgraphNode node);

/* An order in which the nodes can run: indices, in memory that the caller frees. */
unsigned sd_graph_order(const sd_graph *graph, size_t **order);

/* ---- steps from the structs of the API ---- */

unsigned sd_fill_make(const acu_CUDA_MEMSET_NODE_PARAMS *params, sd_work **work);
unsigned sd_host_make(const acu_CUDA_HOST_NODE_PARAMS *params, sd_work **work);
unsigned sd_step_kernel(const acu_CUDA_KERNEL_NODE_PARAMS_v2 *params, sd_step *step);
unsigned sd_step_copy(const acu_CUDA_MEMCPY3D *params, CUcontext context, sd_step *step);
unsigned sd_step_fill(const acu_CUDA_MEMSET_NODE_PARAMS *params, CUcontext context, sd_step *step);
unsigned sd_step_host(const acu_CUDA_HOST_NODE_PARAMS *params, sd_step *step);

/* Converts the kernel node parameters from before CUDA 12.0 to those since. */
static inline acu_CUDA_KERNEL_NODE_PARAMS_v2
sd_kernel_params(const acu_CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    return (acu_CUDA_KERNEL_NODE_PARAMS_v2){
        p->func,      p->gridDimX,       p->gridDimY,     p->gridDimZ, p->blockDimX, p->blockDimY,
        p->blockDimZ, p->sharedMemBytes, p->kernelParams, p->extra,    NULL,         NULL};
}

static inline void sd_graph_leave(sd_graph **graph)
{
    if (*graph)
        sd_object_put(&(*graph)->object);
}
static inline void sd_node_leave(sd_node **node)
{
    if (*node)
        sd_object_put(&(*node)->object);
}

/* Declare `name`, the graph or node of `handle`. */
#define SD_GRAPH(name, handle) \
    SD_ENTER(); \
    __attribute__((cleanup(sd_graph_leave))) sd_graph *name = \
        sd_object_get(SD_KIND_GRAPH, handle); \
    if (!name) \
    return ACU_CUDA_ERROR_INVALID_VALUE

#define SD_NODE(name, handle) \
    SD_ENTER(); \
    __attribute__((cleanup(sd_node_leave))) sd_node *name = sd_object_get(SD_KIND_NODE, handle); \
    if (!name) \
    return ACU_CUDA_ERROR_INVALID_VALUE

#endif
