/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The entry points that build graphs and inspect them. */
#include "driver/graph.h"

#include "driver/copy.h"
#include "driver/event.h"
#include "driver/launch.h"

#include <stdlib.h>
#include <string.h>

/* ---- steps ---- */

unsigned sd_step_kernel(const acu_CUDA_KERNEL_NODE_PARAMS_v2 *p, sd_step *step)
{
    SD_CURRENT(context);
    __attribute__((cleanup(sd_function_leave))) sd_function *function = NULL;
    CUfunction handle = p->func ? p->func : (CUfunction)(void *)p->kern;
    unsigned result = sd_function_find(context, handle, &function);
    if (result)
        return result;
    sd_request r = {{p->gridDimX, p->gridDimY, p->gridDimZ},
                    {p->blockDimX, p->blockDimY, p->blockDimZ},
                    p->sharedMemBytes,
                    false,
                    p->kernelParams,
                    p->extra};
    *step = (sd_step){.type = ACU_CU_GRAPH_NODE_TYPE_KERNEL};
    result = sd_launch_make(function, &r, &step->work);
    if (result)
        return result;
    step->context = function->object.context;
    sd_object_hold(&step->context->object);
    return ACU_CUDA_SUCCESS;
}

/* The context of a handle, for a step; with a reference. */
static unsigned set_context(CUcontext handle, sd_step *step)
{
    step->context = sd_object_get(SD_KIND_CONTEXT, handle);
    return step->context ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_INVALID_CONTEXT;
}

unsigned sd_step_copy(const acu_CUDA_MEMCPY3D *p, CUcontext context, sd_step *step)
{
    sd_box box;
    sd_claim dst, src;
    *step = (sd_step){.type = ACU_CU_GRAPH_NODE_TYPE_MEMCPY};
    unsigned result = sd_copy_read_3d(p, &box, &dst, &src);
    if (!result)
        result = set_context(context, step);
    if (!result)
        result = sd_copy_make(&box, dst, src, &step->work);
    if (result)
        sd_step_end(step);
    return result;
}

unsigned sd_step_fill(const acu_CUDA_MEMSET_NODE_PARAMS *p, CUcontext context, sd_step *step)
{
    *step = (sd_step){.type = ACU_CU_GRAPH_NODE_TYPE_MEMSET};
    unsigned result = set_context(context, step);
    if (!result)
        result = sd_fill_make(p, &step->work);
    if (result)
        sd_step_end(step);
    return result;
}

unsigned sd_step_host(const acu_CUDA_HOST_NODE_PARAMS *p, sd_step *step)
{
    *step = (sd_step){.type = ACU_CU_GRAPH_NODE_TYPE_HOST};
    return sd_host_make(p, &step->work);
}

static unsigned event_step(CUevent handle, unsigned type, sd_step *step)
{
    *step = (sd_step){.type = type};
    step->event = sd_object_get(SD_KIND_EVENT, handle);
    if (!step->event)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    step->context = step->event->object.context;
    sd_object_hold(&step->context->object);
    return ACU_CUDA_SUCCESS;
}

/* ---- graphs ---- */

unsigned sd_cuGraphCreate(CUgraph *handle, unsigned flags)
{
    SD_ENTER();
    if (!handle || flags)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    sd_graph *graph;
    unsigned result = sd_graph_create(&graph);
    if (!result)
        *handle = graph->object.handle;
    return result;
}

unsigned sd_cuGraphDestroy(CUgraph handle)
{
    SD_GRAPH(graph, handle);
    return sd_graph_release(graph) ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_INVALID_VALUE;
}

unsigned sd_cuGraphClone(CUgraph *handle, CUgraph original)
{
    SD_GRAPH(graph, original);
    if (!handle)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    sd_graph *clone;
    unsigned result = sd_graph_clone(graph, &clone);
    if (!result)
        *handle = clone->object.handle;
    return result;
}

/* ---- adding nodes ---- */

/* Adds the step if making it succeeded, and returns the new node's handle. */
static unsigned add(unsigned made, CUgraphNode *handle, sd_graph *graph, const CUgraphNode *after,
                    size_t count, sd_step *step)
{
    if (made)
        return made;
    sd_node *node;
    unsigned result = sd_graph_add(graph, step, after, count, &node);
    if (!result)
        *handle = node->object.handle;
    return result;
}

unsigned sd_cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph handle, const CUgraphNode *after,
                                    size_t count, const acu_CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
    SD_GRAPH(graph, handle);
    sd_step step;
    if (!node || !params)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    return add(sd_step_kernel(params, &step), node, graph, after, count, &step);
}

unsigned sd_cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
                                 size_t count, const acu_CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    if (!params)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    acu_CUDA_KERNEL_NODE_PARAMS_v2 since = sd_kernel_params(params);
    return sd_cuGraphAddKernelNode_v2(node, graph, after, count, &since);
}

unsigned sd_cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph handle, const CUgraphNode *after,
                                 size_t count, const acu_CUDA_MEMCPY3D *params, CUcontext context)
{
    SD_GRAPH(graph, handle);
    sd_step step;
    if (!node || !params)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    return add(sd_step_copy(params, context, &step), node, graph, after, count, &step);
}

unsigned sd_cuGraphAddMemsetNode(CUgraphNode *node, CUgraph handle, const CUgraphNode *after,
                                 size_t count, const acu_CUDA_MEMSET_NODE_PARAMS *params,
                                 CUcontext context)
{
    SD_GRAPH(graph, handle);
    sd_step step;
    if (!node || !params)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    return add(sd_step_fill(params, context, &step), node, graph, after, count, &step);
}

unsigned sd_cuGraphAddHostNode(CUgraphNode *node, CUgraph handle, const CUgraphNode *after,
                               size_t count, const acu_CUDA_HOST_NODE_PARAMS *params)
{
    SD_GRAPH(graph, handle);
    sd_step step;
    if (!node || !params)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    return add(sd_step_host(params, &step), node, graph, after, count, &step);
}

unsigned sd_cuGraphAddEmptyNode(CUgraphNode *node, CUgraph handle, const CUgraphNode *after,
                                size_t count)
{
    SD_GRAPH(graph, handle);
    sd_step step = {.type = ACU_CU_GRAPH_NODE_TYPE_EMPTY};
    return node ? add(0, node, graph, after, count, &step) : ACU_CUDA_ERROR_INVALID_VALUE;
}

unsigned sd_cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph handle, const CUgraphNode *after,
                                     size_t count, CUgraph child)
{
    SD_GRAPH(graph, handle);
    __attribute__((cleanup(sd_graph_leave))) sd_graph *original =
        sd_object_get(SD_KIND_GRAPH, child);
    sd_step step = {.type = ACU_CU_GRAPH_NODE_TYPE_GRAPH};
    if (!node || !original || original == graph)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    return add(sd_graph_clone(original, &step.child), node, graph, after, count, &step);
}

unsigned sd_cuGraphAddEventRecordNode(CUgraphNode *node, CUgraph handle, const CUgraphNode *after,
                                      size_t count, CUevent event)
{
    SD_GRAPH(graph, handle);
    sd_step step;
    if (!node)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    return add(event_step(event, ACU_CU_GRAPH_NODE_TYPE_EVENT_RECORD, &step), node, graph, after,
               count, &step);
}

unsigned sd_cuGraphAddEventWaitNode(CUgraphNode *node, CUgraph handle, const CUgraphNode *after,
                                    size_t count, CUevent event)
{
    SD_GRAPH(graph, handle);
    sd_step step;
    if (!node)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    return add(event_step(event, ACU_CU_GRAPH_NODE_TYPE_WAIT_EVENT, &step), node, graph, after,
               count, &step);
}

/* Adds an edge; with the graph's lock. */
static unsigned add_edge(const sd_graph *graph, CUgraphNode from, CUgraphNode to)
{
    __attribute__((cleanup(sd_node_leave))) sd_node *first = sd_object_get(SD_KIND_NODE, from);
    __attribute__((cleanup(sd_node_leave))) sd_node *second = sd_object_get(SD_KIND_NODE, to);
    if (!first || !second || first->graph != graph || second->graph != graph || first == second)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    for (size_t k = 0; k < second->after_count; k++)
        if (second->after[k] == first)
            return ACU_CUDA_ERROR_INVALID_VALUE;
    sd_node **after = realloc(second->after, (second->after_count + 1) * sizeof(sd_node *));
    if (!after)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    after[second->after_count++] = first;
    second->after = after;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuGraphAddDependencies(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to,
                                   size_t count)
{
    SD_GRAPH(graph, handle);
    if (count && (!from || !to))
        return ACU_CUDA_ERROR_INVALID_VALUE;
    unsigned result = ACU_CUDA_SUCCESS;
    pthread_mutex_lock(&graph->lock);
    for (size_t i = 0; i < count && !result; i++)
        result = add_edge(graph, from[i], to[i]);
    pthread_mutex_unlock(&graph->lock);
    return result;
}

/* ---- changing and looking ---- */

unsigned sd_cuGraphKernelNodeSetParams_v2(CUgraphNode handle,
                                          const acu_CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
    SD_NODE(node, handle);
    if (!params || node->step.type != ACU_CU_GRAPH_NODE_TYPE_KERNEL)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    sd_step step;
    unsigned result = sd_step_kernel(params, &step);
    if (result)
        return result;
    pthread_mutex_lock(&node->graph->lock);
    sd_step before = node->step;
    sd_launch_keep_attributes(step.work, before.work);
    node->step = step;
    pthread_mutex_unlock(&node->graph->lock);
    sd_step_end(&before);
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuGraphKernelNodeSetParams(CUgraphNode node,
                                       const acu_CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    if (!params)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    acu_CUDA_KERNEL_NODE_PARAMS_v2 since = sd_kernel_params(params);
    return sd_cuGraphKernelNodeSetParams_v2(node, &since);
}

unsigned sd_cuGraphKernelNodeSetAttribute(CUgraphNode handle, unsigned attribute,
                                          const acu_CUlaunchAttributeValue *value)
{
    SD_NODE(node, handle);
    if (!value || node->step.type != ACU_CU_GRAPH_NODE_TYPE_KERNEL)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&node->graph->lock);
    unsigned result = sd_launch_set_attribute(node->step.work, attribute, value);
    pthread_mutex_unlock(&node->graph->lock);
    return result;
}

unsigned sd_cuGraphKernelNodeGetAttribute(CUgraphNode handle, unsigned attribute,
                                          acu_CUlaunchAttributeValue *value)
{
    SD_NODE(node, handle);
    if (!value || node->step.type != ACU_CU_GRAPH_NODE_TYPE_KERNEL)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&node->graph->lock);
    unsigned result = sd_launch_get_attribute(node->step.work, attribute, value);
    pthread_mutex_unlock(&node->graph->lock);
    return result;
}

unsigned sd_cuGraphNodeGetType(CUgraphNode handle, unsigned *type)
{
    SD_NODE(node, handle);
    if (!type)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    *type = node->step.type;
    return ACU_CUDA_SUCCESS;
}

/* Sets *count to how many there are or, with room given, how many found room; the rest of the room
 * becomes NULL. */
static void obtained(size_t found, CUgraphNode *one, CUgraphNode *other, size_t *count)
{
    if (one && found > *count)
        found = *count;
    for (size_t i = found; one && i < *count; i++) {
        one[i] = NULL;
        if (other)
            other[i] = NULL;
    }
    *count = found;
}

/* The handles of all nodes, or only of those that come after no other; as many as there is room
 * for. */
static unsigned list(sd_graph *graph, bool roots, CUgraphNode *handles, size_t *count)
{
    size_t found = 0;
    if (!count)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&graph->lock);
    for (size_t i = 0; i < graph->count; i++) {
        const sd_node *node = graph->nodes[i];
        if (roots && node->after_count)
            continue;
        if (handles && found < *count)
            handles[found] = node->object.handle;
        found++;
    }
    pthread_mutex_unlock(&graph->lock);
    obtained(found, handles, NULL, count);
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *count)
{
    SD_GRAPH(graph, handle);
    return list(graph, false, nodes, count);
}

unsigned sd_cuGraphGetRootNodes(CUgraph handle, CUgraphNode *nodes, size_t *count)
{
    SD_GRAPH(graph, handle);
    return list(graph, true, nodes, count);
}

unsigned sd_cuGraphGetEdges(CUgraph handle, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
    SD_GRAPH(graph, handle);
    size_t found = 0;
    if (!count || !from != !to)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&graph->lock);
    for (size_t i = 0; i < graph->count; i++)
        for (size_t k = 0; k < graph->nodes[i]->after_count; k++, found++)
            if (from && found < *count) {
                from[found] = graph->nodes[i]->after[k]->object.handle;
                to[found] = graph->nodes[i]->object.handle;
            }
    pthread_mutex_unlock(&graph->lock);
    obtained(found, from, to, count);
    return ACU_CUDA_SUCCESS;
}

/* ---- with data on edges, of which there is none here ---- */

unsigned sd_cuGraphGetEdges_v2(CUgraph handle, CUgraphNode *from, CUgraphNode *to,
                               sd_edge_data *edges, size_t *count)
{
    const size_t room = count ? *count : 0;
    if (edges && (!from || !to))
        return ACU_CUDA_ERROR_INVALID_VALUE;
    unsigned result = sd_cuGraphGetEdges(handle, from, to, count);
    if (!result && edges)
        memset(edges, 0, (room < *count ? room : *count) * sizeof *edges);
    return result;
}

unsigned sd_cuGraphAddDependencies_v2(CUgraph handle, const CUgraphNode *from,
                                      const CUgraphNode *to, const sd_edge_data *edges,
                                      size_t count)
{
    static const sd_edge_data plain;
    for (size_t i = 0; edges && i < count; i++)
        if (memcmp(&edges[i], &plain, sizeof plain) != 0)
            return ACU_CUDA_ERROR_NOT_SUPPORTED;
    return sd_cuGraphAddDependencies(handle, from, to, count);
}
