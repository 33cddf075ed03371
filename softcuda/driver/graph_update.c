/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Changing executable graphs. A change holds for later launches: earlier ones have clones of what
 * was there.
 */
#include "driver/graph_exec.h"

#include "driver/launch.h"

#include <string.h>

/* Whether `with` can take the place of `step`. */
static bool fits(const sd_step *step, const sd_step *with)
{
    if (step->type != with->type || step->context != with->context)
        return false;
    const sd_work *work = step->work;
    return sd_launch_fits(with->work) &&
           (!work || !work->kind->replaceable || work->kind->replaceable(work, with->work));
}

static bool is_same(const sd_step *step, const sd_step *as)
{
    const sd_work *work = step->work;
    return step->context == as->context && work && work->kind->same &&
           work->kind->same(work, as->work);
}

/* Replaces the step of the item that was made from the node, by one of the same kind and
 * context. */
static unsigned replace(sd_exec *e, const void *node, sd_step *step)
{
    sd_item *found = NULL;
    pthread_mutex_lock(&e->lock);
    for (size_t i = 0; i < e->count && !found; i++)
        if (e->items[i].node == node)
            found = &e->items[i];
    if (found) /* only parameters are set; attributes stay */
        sd_launch_keep_attributes(step->work, found->step.work);
    bool good = found && fits(&found->step, step);
    sd_step before = *step;
    if (good) {
        before = found->step;
        found->step = *step;
    }
    pthread_mutex_unlock(&e->lock);
    sd_step_end(&before); /* the old step, or the new one if it does not fit */
    return good ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_INVALID_VALUE;
}

/* Whether the node is a kernel; checked before the parameters are. */
static bool has_kernel(sd_exec *e, const void *node)
{
    bool found = false;
    pthread_mutex_lock(&e->lock);
    for (size_t i = 0; i < e->count && !found; i++)
        found = e->items[i].node == node && e->items[i].step.type == ACU_CU_GRAPH_NODE_TYPE_KERNEL;
    pthread_mutex_unlock(&e->lock);
    return found;
}

unsigned sd_cuGraphExecKernelNodeSetParams_v2(CUgraphExec handle, CUgraphNode node,
                                              const acu_CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
    SD_EXEC(e, handle);
    sd_step step;
    if (!params || !has_kernel(e, node))
        return ACU_CUDA_ERROR_INVALID_VALUE;
    unsigned result = sd_step_kernel(params, &step);
    return result ? result : replace(e, node, &step);
}

unsigned sd_cuGraphExecKernelNodeSetParams(CUgraphExec exec_handle, CUgraphNode node,
                                           const acu_CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    if (!params)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    acu_CUDA_KERNEL_NODE_PARAMS_v2 since = sd_kernel_params(params);
    return sd_cuGraphExecKernelNodeSetParams_v2(exec_handle, node, &since);
}

unsigned sd_cuGraphExecMemcpyNodeSetParams(CUgraphExec handle, CUgraphNode node,
                                           const acu_CUDA_MEMCPY3D *params, CUcontext context)
{
    SD_EXEC(e, handle);
    sd_step step;
    unsigned result = params ? sd_step_copy(params, context, &step) : ACU_CUDA_ERROR_INVALID_VALUE;
    return result ? result : replace(e, node, &step);
}

unsigned sd_cuGraphExecMemsetNodeSetParams(CUgraphExec handle, CUgraphNode node,
                                           const acu_CUDA_MEMSET_NODE_PARAMS *params,
                                           CUcontext context)
{
    SD_EXEC(e, handle);
    sd_step step;
    unsigned result = params ? sd_step_fill(params, context, &step) : ACU_CUDA_ERROR_INVALID_VALUE;
    return result ? result : replace(e, node, &step);
}

unsigned sd_cuGraphExecHostNodeSetParams(CUgraphExec handle, CUgraphNode node,
                                         const acu_CUDA_HOST_NODE_PARAMS *params)
{
    SD_EXEC(e, handle);
    sd_step step;
    unsigned result = params ? sd_step_host(params, &step) : ACU_CUDA_ERROR_INVALID_VALUE;
    return result ? result : replace(e, node, &step);
}

unsigned sd_cuGraphNodeSetEnabled(CUgraphExec handle, CUgraphNode node, unsigned enabled)
{
    SD_EXEC(e, handle);
    unsigned result = ACU_CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&e->lock);
    for (size_t i = 0; i < e->count; i++) {
        unsigned type = e->items[i].step.type;
        if (e->items[i].node == (void *)node && type <= ACU_CU_GRAPH_NODE_TYPE_MEMSET) {
            e->items[i].disabled = !enabled;
            result = ACU_CUDA_SUCCESS;
        }
    }
    pthread_mutex_unlock(&e->lock);
    return result;
}

/* Whether `with` has the same form as `e`: the same kinds of steps behind the same others. */
static unsigned compare(const sd_exec *e, const sd_exec *with, size_t *where)
{
    *where = 0;
    if (e->count != with->count)
        return ACU_CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    for (size_t i = 0; i < e->count; i++) {
        const sd_item *a = &e->items[i], *b = &with->items[i];
        *where = i;
        if (a->step.type != b->step.type)
            return ACU_CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
        if (a->after_count != b->after_count ||
            (a->after_count && memcmp(a->after, b->after, a->after_count * sizeof *a->after) != 0))
            return ACU_CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        if (!fits(&a->step, &b->step) && !is_same(&a->step, &b->step))
            return ACU_CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
        if (!sd_launch_is_alike(a->step.work, b->step.work, e->by_priority))
            return ACU_CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED;
    }
    return ACU_CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

/* Swaps the steps of `with` and those of `e` from `first` on. */
static void swap_steps(sd_exec *e, size_t first, sd_exec *with)
{
    for (size_t i = 0; i < with->count; i++) {
        sd_step step = e->items[first + i].step;
        e->items[first + i].step = with->items[i].step;
        with->items[i].step = step;
    }
}

static unsigned update(CUgraphExec handle, CUgraph graph, acu_CUgraphExecUpdateResultInfo *info)
{
    SD_EXEC(e, handle);
    CUgraphExec other = NULL;
    unsigned result = sd_graph_instantiate(e->context, false, &other, graph);
    if (result == ACU_CUDA_ERROR_INVALID_VALUE && sd_graph_has_circle(graph)) {
        *info = (acu_CUgraphExecUpdateResultInfo){
            .result = ACU_CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED};
        return ACU_CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
    if (result)
        return result;
    sd_exec *with = sd_object_get(SD_KIND_EXEC, other);
    size_t where = 0;
    pthread_mutex_lock(&e->lock);
    info->result = compare(e, with, &where);
    info->errorFromNode = NULL;
    info->errorNode = NULL;
    if (info->result)
        info->errorNode = where < with->count ? with->items[where].node : NULL;
    else
        swap_steps(e, 0, with);
    pthread_mutex_unlock(&e->lock);
    if (sd_object_retire(&with->object))
        sd_object_put(&with->object);
    sd_object_put(&with->object);
    return info->result ? ACU_CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE : ACU_CUDA_SUCCESS;
}

unsigned sd_cuGraphExecUpdate_v2(CUgraphExec handle, CUgraph graph,
                                 acu_CUgraphExecUpdateResultInfo *info)
{
    return info ? update(handle, graph, info) : ACU_CUDA_ERROR_INVALID_VALUE;
}

unsigned sd_cuGraphExecUpdate(CUgraphExec handle, CUgraph graph, CUgraphNode *error_node,
                              unsigned *result_out)
{
    acu_CUgraphExecUpdateResultInfo info = {0};
    if (!result_out)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    unsigned result = update(handle, graph, &info);
    *result_out = info.result;
    if (error_node)
        *error_node = info.errorNode;
    return result;
}

/* ---- a child graph --------------------------------------------------------------------------- */

/* Whether the item of the child graph, which begins behind item `entry`, has the same form as item
 * i of `with`: what comes first there comes behind the entry here. */
static bool is_alike(const sd_exec *e, size_t entry, const sd_exec *with, size_t i)
{
    const sd_item *a = &e->items[entry + 1 + i], *b = &with->items[i];
    if (a->step.type != b->step.type || (!fits(&a->step, &b->step) && !is_same(&a->step, &b->step)))
        return false;
    if (b->after_count == 0)
        return a->after_count == 1 && a->after[0] == entry;
    bool same = a->after_count == b->after_count;
    for (size_t k = 0; same && k < b->after_count; k++)
        same = a->after[k] == b->after[k] + entry + 1;
    return same;
}

static unsigned replace_child(sd_exec *e, const void *node, sd_exec *with)
{
    size_t at = 0;
    while (at < e->count && e->items[at].node != node)
        at++;
    bool good = at < e->count && e->items[at].inside > 0 && e->items[at].inside == with->count;
    for (size_t i = 0; good && i < with->count; i++)
        good = is_alike(e, at, with, i);
    if (good)
        swap_steps(e, at + 1, with);
    return good ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

unsigned sd_cuGraphExecChildGraphNodeSetParams(CUgraphExec handle, CUgraphNode node, CUgraph child)
{
    SD_EXEC(e, handle);
    CUgraphExec other = NULL;
    unsigned result = sd_graph_instantiate(e->context, e->by_priority, &other, child);
    if (result)
        return result;
    sd_exec *with = sd_object_get(SD_KIND_EXEC, other);
    pthread_mutex_lock(&e->lock);
    result = replace_child(e, node, with);
    pthread_mutex_unlock(&e->lock);
    if (sd_object_retire(&with->object))
        sd_object_put(&with->object);
    sd_object_put(&with->object);
    return result;
}
