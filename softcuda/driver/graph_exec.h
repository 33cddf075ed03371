/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Executable graphs: items in an order that the edges allow, and the lanes that they run on. */
#ifndef SOFTCUDA_DRIVER_GRAPH_EXEC_H
#define SOFTCUDA_DRIVER_GRAPH_EXEC_H

#include "driver/graph.h"

#define SD_LANES 32 /* as many as one device runs at a time */

typedef struct sd_item {
    sd_step step;
    void *node;    /* handle of the node that it was made from; NULL: it is from a child graph */
    size_t inside; /* of a node that is a child graph: how many items of that follow */
    size_t *after; /* indices of the items before it */
    size_t after_count;
    unsigned lane;
    bool disabled;
    bool last; /* last on its lane: no later item there waits behind it */
} sd_item;

typedef struct sd_exec {
    sd_object object;
    sd_context *context;  /* held; where nodes run that may run anywhere */
    bool by_priority;     /* the nodes' priorities count */
    pthread_mutex_t lock; /* guards what follows */
    sd_item *items;       /* in an order that the edges allow */
    size_t count, room;
    sd_stream *lanes[SD_LANES]; /* held; their handles are ours */
    unsigned lane_count;
    sd_mark *marks;   /* of a launch: the end of each item */
    sd_mark previous; /* the end of the launch before */
    sd_mark upload;   /* the end of the last upload, if no launch came behind it */
} sd_exec;

unsigned sd_graph_instantiate(sd_context *context, bool by_priority, CUgraphExec *handle,
                              CUgraph graph);

/* Whether the graph's edges form a cycle; false if there is no such graph. */
bool sd_graph_has_circle(CUgraph graph);

static inline void sd_exec_leave(sd_exec **e)
{
    if (*e)
        sd_object_put(&(*e)->object);
}

/* Declare `name`, the executable graph of `handle`. */
#define SD_EXEC(name, handle) \
    SD_ENTER(); \
    __attribute__((cleanup(sd_exec_leave))) sd_exec *name = sd_object_get(SD_KIND_EXEC, handle); \
    if (!name) \
    return ACU_CUDA_ERROR_INVALID_VALUE

#endif
