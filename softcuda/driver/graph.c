/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Graphs as objects: nodes, edges, copies, and an order in which the nodes can run. */
#include "driver/graph.h"

#include "driver/event.h"

#include <stdlib.h>
#include <string.h>

/* ---- steps ---- */

void sd_step_end(sd_step *step)
{
    sd_work_discard(step->work);
    if (step->event)
        sd_object_put(&step->event->object);
    if (step->child)
        sd_graph_release(step->child);
    if (step->context)
        sd_object_put(&step->context->object);
    *step = (sd_step){0};
}

unsigned sd_step_clone(const sd_step *step, sd_step *clone)
{
    *clone = (sd_step){.type = step->type, .event = step->event, .context = step->context};
    if (clone->event)
        sd_object_hold(&clone->event->object);
    if (clone->context)
        sd_object_hold(&clone->context->object);
    unsigned result = ACU_CUDA_SUCCESS;
    if (step->work && !(clone->work = step->work->kind->clone(step->work)))
        result = ACU_CUDA_ERROR_OUT_OF_MEMORY;
    if (!result && step->child)
        result = sd_graph_clone(step->child, &clone->child);
    if (result)
        sd_step_end(clone);
    return result;
}

/* ---- life ---- */

static void destroy_node(sd_object *object)
{
    sd_node *node = (sd_node *)object;
    sd_graph *graph = node->graph;
    sd_step_end(&node->step);
    free(node->after);
    free(node);
    sd_object_put(&graph->object);
}

static void destroy_graph(sd_object *object)
{
    sd_graph *graph = (sd_graph *)object;
    pthread_mutex_destroy(&graph->lock);
    free(graph->nodes);
    free(graph);
}

unsigned sd_graph_create(sd_graph **made)
{
    sd_graph *graph = calloc(1, sizeof *graph);
    if (!graph)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_init(&graph->lock, NULL);
    if (!sd_object_publish(&graph->object, SD_KIND_GRAPH, destroy_graph)) {
        pthread_mutex_destroy(&graph->lock);
        free(graph);
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    }
    *made = graph;
    return ACU_CUDA_SUCCESS;
}

bool sd_graph_release(sd_graph *graph)
{
    if (!sd_object_retire(&graph->object))
        return false;
    pthread_mutex_lock(&graph->lock);
    for (size_t i = 0; i < graph->count; i++)
        if (sd_object_retire(&graph->nodes[i]->object))
            sd_object_put(&graph->nodes[i]->object);
    graph->count = 0;
    pthread_mutex_unlock(&graph->lock);
    sd_object_put(&graph->object);
    return true;
}

/* ---- nodes ---- */

static bool make_room(sd_graph *graph)
{
    if (graph->count < graph->room)
        return true;
    size_t room = graph->room ? graph->room * 2 : 16;
    sd_node **nodes = realloc(graph->nodes, room * sizeof *nodes);
    if (!nodes)
        return false;
    graph->nodes = nodes;
    graph->room = room;
    return true;
}

/* Finds the nodes of handles, which must be of this graph. With the graph's lock. */
static unsigned find_nodes(const sd_graph *graph, const CUgraphNode *handles, size_t count,
                           sd_node **nodes)
{
    for (size_t i = 0; i < count; i++) {
        sd_node *node = sd_object_get(SD_KIND_NODE, handles[i]);
        bool ours = node && node->graph == graph;
        for (size_t k = 0; k < i; k++)
            ours &= nodes[k] != node; /* no node twice */
        nodes[i] = node;
        if (node)
            sd_object_put(&node->object); /* the graph's list keeps the node */
        if (!ours)
            return ACU_CUDA_ERROR_INVALID_VALUE;
    }
    return ACU_CUDA_SUCCESS;
}

static unsigned add(sd_graph *graph, sd_node *node, const CUgraphNode *after, size_t count)
{
    if (!make_room(graph))
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    node->after = calloc(count ? count : 1, sizeof(sd_node *));
    if (!node->after)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    unsigned result = find_nodes(graph, after, count, node->after);
    if (result)
        return result;
    node->after_count = count;
    if (!sd_object_publish(&node->object, SD_KIND_NODE, destroy_node))
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    sd_object_hold(&graph->object);
    node->graph = graph;
    node->index = graph->count;
    graph->nodes[graph->count++] = node;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_graph_add(sd_graph *graph, sd_step *step, const CUgraphNode *after, size_t count,
                      sd_node **made)
{
    unsigned result = count && !after ? ACU_CUDA_ERROR_INVALID_VALUE : ACU_CUDA_SUCCESS;
    sd_node *node = result ? NULL : calloc(1, sizeof *node);
    if (!result && !node)
        result = ACU_CUDA_ERROR_OUT_OF_MEMORY;
    if (!result) {
        pthread_mutex_lock(&graph->lock);
        result = add(graph, node, after, count);
        pthread_mutex_unlock(&graph->lock);
    }
    if (result) {
        if (node)
            free(node->after);
        free(node);
        sd_step_end(step);
        return result;
    }
    node->step = *step;
    *made = node;
    return ACU_CUDA_SUCCESS;
}

/* Gives each node of the clone the edges of its original. */
static unsigned clone_edges(const sd_graph *original, sd_graph *clone)
{
    for (size_t i = 0; i < original->count; i++) {
        const sd_node *from = original->nodes[i];
        sd_node *to = clone->nodes[i];
        sd_node **after = calloc(from->after_count ? from->after_count : 1, sizeof *after);
        if (!after)
            return ACU_CUDA_ERROR_OUT_OF_MEMORY;
        for (size_t k = 0; k < from->after_count; k++)
            after[k] = clone->nodes[from->after[k]->index];
        free(to->after);
        to->after = after;
        to->after_count = from->after_count;
    }
    return ACU_CUDA_SUCCESS;
}

unsigned sd_graph_clone(sd_graph *original, sd_graph **made)
{
    sd_graph *clone;
    unsigned result = sd_graph_create(&clone);
    if (result)
        return result;
    pthread_mutex_lock(&original->lock);
    for (size_t i = 0; i < original->count && !result; i++) {
        sd_step step;
        sd_node *node;
        result = sd_step_clone(&original->nodes[i]->step, &step);
        if (!result)
            result = sd_graph_add(clone, &step, NULL, 0, &node);
    }
    if (!result)
        result = clone_edges(original, clone);
    pthread_mutex_unlock(&original->lock);
    if (result)
        sd_graph_release(clone);
    else
        *made = clone;
    return result;
}

bool sd_graph_is_followed(sd_graph *graph, CUgraphNode handle)
{
    bool followed = false;
    pthread_mutex_lock(&graph->lock);
    for (size_t i = 0; i < graph->count && !followed; i++)
        for (size_t k = 0; k < graph->nodes[i]->after_count && !followed; k++)
            followed = graph->nodes[i]->after[k]->object.handle == (void *)handle;
    pthread_mutex_unlock(&graph->lock);
    return followed;
}

/* ---- order ---- */

/* Whether everything that the node comes after has its place. */
static bool is_free(const sd_node *node, const bool *placed)
{
    for (size_t k = 0; k < node->after_count; k++)
        if (!placed[node->after[k]->index])
            return false;
    return true;
}

unsigned sd_graph_order(const sd_graph *graph, size_t **made)
{
    size_t *order = calloc(graph->count ? graph->count : 1, sizeof *order);
    bool *placed = calloc(graph->count ? graph->count : 1, sizeof *placed);
    size_t count = 0, before = SIZE_MAX;
    /* Edges mostly lead from older nodes to newer ones, so that one round nearly always
     * suffices. */
    while (order && placed && count != before) {
        before = count;
        for (size_t i = 0; i < graph->count; i++)
            if (!placed[i] && is_free(graph->nodes[i], placed)) {
                order[count++] = i;
                placed[i] = true;
            }
    }
    bool memory = order && placed;
    free(placed);
    if (memory && count == graph->count) {
        *made = order;
        return ACU_CUDA_SUCCESS;
    }
    free(order);
    return memory ? ACU_CUDA_ERROR_INVALID_VALUE : ACU_CUDA_ERROR_OUT_OF_MEMORY;
}
