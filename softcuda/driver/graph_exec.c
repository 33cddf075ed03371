/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Executable graphs. A launch clones each node's work onto the node's lane. Where an edge leads to
 * another lane, the later work waits for a mark on the earlier lane. The launching stream comes
 * before all roots and after all lanes, so launches of one graph follow one another.
 */
#include "driver/graph_exec.h"

#include "driver/capture.h"
#include "driver/errors.h"
#include "driver/event.h"
#include "driver/launch.h"

#include <stdlib.h>

static void destroy(sd_object *object)
{
    sd_exec *e = (sd_exec *)object;
    for (size_t i = 0; i < e->count; i++) {
        sd_step_end(&e->items[i].step);
        free(e->items[i].after);
    }
    for (unsigned i = 0; i < e->lane_count; i++) {
        sd_context_release(&e->lanes[i]->object);
        sd_object_put(&e->lanes[i]->object);
    }
    sd_mark_drop(&e->previous);
    sd_mark_drop(&e->upload);
    pthread_mutex_destroy(&e->lock);
    free(e->items);
    free(e->marks);
    sd_object_put(&e->context->object);
    free(e);
}

/* ---- instantiating: a flat copy ---- */

static unsigned add_item(sd_exec *e, sd_step *step, void *node, size_t *index)
{
    if (e->count == e->room) {
        size_t room = e->room ? e->room * 2 : 16;
        sd_item *items = realloc(e->items, room * sizeof *items);
        if (!items) {
            sd_step_end(step);
            return ACU_CUDA_ERROR_OUT_OF_MEMORY;
        }
        e->items = items;
        e->room = room;
    }
    e->items[e->count] = (sd_item){.step = *step, .node = node};
    *index = e->count++;
    return ACU_CUDA_SUCCESS;
}

static unsigned add_edge(sd_item *to, size_t from)
{
    size_t *after = realloc(to->after, (to->after_count + 1) * sizeof *after);
    if (!after)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    after[to->after_count++] = from;
    to->after = after;
    return ACU_CUDA_SUCCESS;
}

static unsigned flatten(sd_exec *e, const sd_graph *graph, size_t entry);

/* A child graph becomes its items, between two empty ones. *end is the second of these. */
static unsigned flatten_child(sd_exec *e, const sd_node *node, size_t entry, size_t *end)
{
    size_t first = e->count;
    unsigned result = flatten(e, node->step.child, entry);
    size_t behind = e->count;
    sd_step step = {.type = ACU_CU_GRAPH_NODE_TYPE_EMPTY};
    if (!result)
        result = add_item(e, &step, NULL, end);
    if (!result)
        result = add_edge(&e->items[*end], entry);
    for (size_t i = first; i < behind && !result; i++)
        result = add_edge(&e->items[*end], i);
    return result;
}

/* Makes a node's item, behind those of the nodes before it; `place` has the items of earlier
 * nodes. */
static unsigned flatten_node(sd_exec *e, const sd_node *node, size_t entry, size_t *place)
{
    sd_step step = {.type = ACU_CU_GRAPH_NODE_TYPE_EMPTY};
    const bool top = entry == SIZE_MAX; /* only these can be changed */
    size_t at;
    unsigned result = sd_launch_fits(node->step.work) ? ACU_CUDA_SUCCESS
                                                      : ACU_CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    if (!result && !node->step.child)
        result = sd_step_clone(&node->step, &step);
    if (!result)
        result = add_item(e, &step, top ? node->object.handle : NULL, &at);
    if (!result && !node->after_count && entry != SIZE_MAX)
        result = add_edge(&e->items[at], entry);
    for (size_t k = 0; k < node->after_count && !result; k++)
        result = add_edge(&e->items[at], place[node->after[k]->index]);
    if (!result)
        place[node->index] = at;
    if (!result && node->step.child)
        result = flatten_child(e, node, at, &place[node->index]);
    if (!result && node->step.child)
        e->items[at].inside = place[node->index] - at - 1;
    return result;
}

static unsigned flatten(sd_exec *e, const sd_graph *graph, size_t entry)
{
    size_t *order;
    unsigned result = sd_graph_order(graph, &order);
    if (result)
        return result;
    size_t *place = calloc(graph->count ? graph->count : 1, sizeof *place);
    result = place ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < graph->count && !result; i++)
        result = flatten_node(e, graph->nodes[order[i]], entry, place);
    free(place);
    free(order);
    return result;
}

/* ---- instantiating: lanes ---- */

static unsigned new_lane(sd_exec *e, sd_context *context, unsigned *lane)
{
    sd_stream *stream;
    unsigned result = sd_stream_create(context, ACU_CU_STREAM_NON_BLOCKING, 0, &stream);
    if (result)
        return result;
    sd_object_hold(&stream->object);
    *lane = e->lane_count;
    e->lanes[e->lane_count++] = stream;
    return ACU_CUDA_SUCCESS;
}

/* The lane of a predecessor that no item has continued yet; else a new lane; else any. */
static unsigned choose_lane(sd_exec *e, size_t index, sd_context *context)
{
    sd_item *it = &e->items[index];
    for (size_t k = 0; k < it->after_count; k++) {
        sd_item *before = &e->items[it->after[k]];
        if (before->last && e->lanes[before->lane]->object.context == context) {
            before->last = false;
            it->lane = before->lane;
            return ACU_CUDA_SUCCESS;
        }
    }
    if (e->lane_count < SD_LANES)
        return new_lane(e, context, &it->lane);
    for (unsigned i = 0; i < SD_LANES; i++) {
        unsigned lane = (unsigned)(index + i) % SD_LANES;
        if (e->lanes[lane]->object.context == context) {
            it->lane = lane;
            return ACU_CUDA_SUCCESS;
        }
    }
    return ACU_CUDA_ERROR_NOT_SUPPORTED;
}

static unsigned lay_out(sd_exec *e)
{
    unsigned result = ACU_CUDA_SUCCESS;
    for (size_t i = 0; i < e->count && !result; i++) {
        sd_context *context = e->items[i].step.context;
        result = choose_lane(e, i, context ? context : e->context);
        e->items[i].last = true;
    }
    if (result)
        return result;
    e->marks = calloc(e->count ? e->count : 1, sizeof *e->marks);
    return e->marks ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_OUT_OF_MEMORY;
}

unsigned sd_graph_instantiate(sd_context *context, bool by_priority, CUgraphExec *handle,
                              CUgraph from)
{
    SD_GRAPH(graph, from);
    if (!handle)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    sd_exec *e = calloc(1, sizeof *e);
    if (!e)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    e->context = context;
    e->by_priority = by_priority;
    pthread_mutex_init(&e->lock, NULL);
    if (!sd_object_publish(&e->object, SD_KIND_EXEC, destroy)) {
        pthread_mutex_destroy(&e->lock);
        free(e);
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    }
    sd_object_hold(&context->object);
    pthread_mutex_lock(&graph->lock);
    unsigned result = flatten(e, graph, SIZE_MAX);
    pthread_mutex_unlock(&graph->lock);
    if (!result)
        result = lay_out(e);
    if (result) {
        sd_object_retire(&e->object);
        sd_object_put(&e->object);
        return result;
    }
    *handle = e->object.handle;
    return ACU_CUDA_SUCCESS;
}

static bool has_circle(sd_graph *graph)
{
    size_t *order = NULL;
    pthread_mutex_lock(&graph->lock);
    bool found = sd_graph_order(graph, &order) == ACU_CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < graph->count && !found; i++)
        found = graph->nodes[i]->step.child && has_circle(graph->nodes[i]->step.child);
    pthread_mutex_unlock(&graph->lock);
    free(order);
    return found;
}

bool sd_graph_has_circle(CUgraph handle)
{
    sd_graph *graph = sd_object_get(SD_KIND_GRAPH, handle);
    bool found = graph && has_circle(graph);
    sd_graph_leave(&graph);
    return found;
}

/* If something is wrong with the flags, the graph is not looked at. */
static unsigned instantiate(CUgraphExec *handle, CUgraph graph, unsigned long long flags,
                            bool *circle)
{
    SD_ENTER();
    unsigned long long known = ACU_CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                               ACU_CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    if (flags & ACU_CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
        return ACU_CUDA_ERROR_NOT_SUPPORTED;
    if (flags & ~known)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    SD_CURRENT(context);
    SD_SAFE();
    bool by_priority = flags & ACU_CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    unsigned result = sd_graph_instantiate(context, by_priority, handle, graph);
    *circle = result == ACU_CUDA_ERROR_INVALID_VALUE && sd_graph_has_circle(graph);
    return result;
}

unsigned sd_cuGraphInstantiateWithFlags(CUgraphExec *handle, CUgraph graph,
                                        unsigned long long flags)
{
    bool circle = false;
    return instantiate(handle, graph, flags, &circle);
}

unsigned sd_cuGraphInstantiateWithParams(CUgraphExec *handle, CUgraph graph,
                                         acu_CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
    bool circle = false;
    if (!params)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    unsigned long long flags =
        params->flags & ~(uint64_t)ACU_CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD; /* there is nothing to
                                                                            * upload to */
    unsigned result = instantiate(handle, graph, flags, &circle);
    params->hErrNode_out = NULL;
    params->result_out = !result  ? ACU_CUDA_GRAPH_INSTANTIATE_SUCCESS
                         : circle ? ACU_CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
                                  : ACU_CUDA_GRAPH_INSTANTIATE_ERROR;
    return result;
}

unsigned sd_cuGraphExecDestroy(CUgraphExec handle)
{
    SD_EXEC(e, handle);
    SD_SAFE();
    if (!sd_object_retire(&e->object))
        return ACU_CUDA_ERROR_INVALID_VALUE;
    sd_object_put(&e->object);
    return ACU_CUDA_SUCCESS;
}

/* ---- launching; with the exec's lock ---- */

/* The lane's next work waits for the mark, which stays the caller's. */
static unsigned wait_on(sd_stream *lane, const sd_mark *mark)
{
    if (mark->stream == lane || sd_mark_done(mark))
        return ACU_CUDA_SUCCESS;
    sd_object_hold(&mark->stream->object);
    return sd_stream_push_wait(lane, *mark);
}

static unsigned run_step(const sd_item *it, sd_stream *lane)
{
    if (it->disabled)
        return ACU_CUDA_SUCCESS;
    if (it->step.event)
        return it->step.type == ACU_CU_GRAPH_NODE_TYPE_EVENT_RECORD
                   ? sd_event_record(it->step.event, lane)
                   : sd_event_wait_node(it->step.event, lane);
    if (!it->step.work)
        return ACU_CUDA_SUCCESS;
    sd_work *work = it->step.work->kind->clone(it->step.work);
    return work ? sd_stream_push(lane, work) : ACU_CUDA_ERROR_OUT_OF_MEMORY;
}

static unsigned launch_items(sd_exec *e, const sd_mark *start)
{
    unsigned result = ACU_CUDA_SUCCESS;
    for (size_t i = 0; i < e->count && !result; i++) {
        const sd_item *it = &e->items[i];
        sd_stream *lane = e->lanes[it->lane];
        if (!it->after_count)
            result = wait_on(lane, start);
        for (size_t k = 0; k < it->after_count && !result; k++)
            result = wait_on(lane, &e->marks[it->after[k]]);
        if (!result)
            result = run_step(it, lane);
        e->marks[i] = sd_stream_mark(lane);
    }
    return result;
}

/* A launch begins with this. On the legacy stream it waits for the blocking streams. */
typedef struct start_work {
    sd_work work;
    sd_mark upload; /* the last one before it; may be none */
} start_work;

/* A GPU does not have the graph before its upload is over, and only what the program orders makes a
 * launch on another stream wait for that: some of these never end. */
static unsigned run_start(sd_stream *stream, sd_work *work)
{
    const sd_mark *upload = &((const start_work *)work)->upload;
    if (!upload->stream || sd_mark_done(upload))
        return ACU_CUDA_SUCCESS;
    sd_error_say("a graph is launched on stream %llu, and its upload on stream %llu is not over: "
                 "nothing makes the launch wait for that",
                 (unsigned long long)stream->number, (unsigned long long)upload->stream->number);
    return ACU_CUDA_ERROR_LAUNCH_FAILED;
}

static void drop_start(sd_work *work)
{
    sd_mark_drop(&((start_work *)work)->upload);
}

static const sd_work_kind start_kind = {
    .name = "graph", .run = run_start, .drop = drop_start, .always = true};

/* Takes the upload's mark: what comes later waits for this launch. */
static unsigned push_start(sd_exec *e, sd_stream *stream, sd_mark *start)
{
    start_work *first = calloc(1, sizeof *first);
    if (!first)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    first->work.kind = &start_kind;
    first->upload = e->upload;
    e->upload = (sd_mark){0};
    return sd_stream_push_at(stream, &first->work, start);
}

static unsigned launch(sd_exec *e, sd_stream *stream)
{
    unsigned result = ACU_CUDA_SUCCESS;
    if (e->previous.stream)
        result = wait_on(stream, &e->previous);
    sd_mark start = {0};
    if (!result)
        result = push_start(e, stream, &start);
    if (!result)
        result = launch_items(e, &start);
    for (unsigned i = 0; i < e->lane_count; i++) {
        sd_mark end = sd_stream_mark(e->lanes[i]);
        unsigned joined = wait_on(stream, &end);
        result = result ? result : joined;
        sd_mark_drop(&end);
    }
    for (size_t i = 0; i < e->count; i++)
        sd_mark_drop(&e->marks[i]);
    sd_mark_drop(&start);
    sd_mark_drop(&e->previous);
    e->previous = sd_stream_mark(stream);
    return result;
}

unsigned sd_cuGraphLaunch(CUgraphExec handle, CUstream on)
{
    SD_STREAM_FOR(SD_STREAM_FREE, stream, on);
    SD_EXEC(e, handle);
    pthread_mutex_lock(&e->lock);
    unsigned result = launch(e, stream);
    pthread_mutex_unlock(&e->lock);
    return result;
}

static const sd_work_kind upload_kind = {.name = "graph upload", .always = true};

/* There is nothing to bring anywhere, but it takes its time. */
static unsigned upload(sd_exec *e, sd_stream *stream)
{
    unsigned result = ACU_CUDA_SUCCESS;
    if (e->previous.stream)
        result = wait_on(stream, &e->previous);
    if (!result && e->upload.stream)
        result = wait_on(stream, &e->upload);
    if (result)
        return result;
    sd_work *work = calloc(1, sizeof *work);
    if (!work)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    work->kind = &upload_kind;
    sd_mark_drop(&e->upload);
    return sd_stream_push_at(stream, work, &e->upload);
}

unsigned sd_cuGraphUpload(CUgraphExec handle, CUstream on)
{
    SD_STREAM_FOR(SD_STREAM_FREE, stream, on);
    SD_EXEC(e, handle);
    pthread_mutex_lock(&e->lock);
    unsigned result = upload(e, stream);
    pthread_mutex_unlock(&e->lock);
    return result;
}
