/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Explicit graphs (acu_graph_load): the op is planned and laid out like that of a submission, which
 * is then never entered: it only holds what the graph is made of. A replay is a node of its own in
 * the plan of another submission, with the accesses of all of the graph's nodes taken together, so
 * it is ordered and issued like any other work.
 */
#include <acuda/debug.h>
#include <acuda/graph.h>

#include "base/alloc.h"
#include "base/callback.h"
#include "base/error.h"
#include "base/options.h"
#include "engine/completion/complete.h"
#include "engine/flight/flight.h"
#include "engine/issue/graphs.h"
#include "engine/issue/issue.h"
#include "engine/report/report.h"
#include "engine/submit/submit.h"
#include "memory/memory.h"
#include "memory/pool.h"
#include "op/after.h"
#include "op/call.h"
#include "op/child.h"
#include "op/instead.h"
#include "op/op.h"

#include <string.h>

/* What the graph does to a piece of a buffer, all its nodes taken together. */
typedef struct piece {
    acu_buffer *buffer; /* held by the plan */
    acui_extent extent;
    acu_access access;
} piece;

struct acu_graph {
    acui_object object;
    acu_device *device;     /* retained */
    acui_submission *plan;  /* never entered */
    acui_task *task;        /* its only one */
    acui_values values;
    acui_exec *exec;
    acu_stream *stream; /* of the device's own, for replays; NULL: the program has others */
    acui_node *looks; /* out of the plan's list: they are done again behind each replay */
    piece *pieces;
    size_t piece_count;
    bool passes_on; /* some value is in none of the pieces: see op/await.h */
    pthread_mutex_t launch; /* held for a launch: the driver's graph objects are not thread-safe */
};

/* ---- what goes in ---- */

/* A small upload comes from memory that stays: pinned, and copied from at each replay. */
static acu_status keep_upload(acui_plan *plan, acui_node *node)
{
    acu_tensor *host;
    size_t bytes = node->u.upload.bytes;
    ACUI_TRY(acu_tensor_alloc_pinned(node->device, ACU_U8, ACU_SHAPE((int64_t)bytes), &host));
    memcpy(acu_tensor_host(host), node->u.upload.data, bytes);
    acui_node_access *accesses = ACUI_ARENA_ARRAY(&plan->arena, acui_node_access, 2);
    acu_status status = accesses ? ACU_OK : acui_fail(ACU_ERR_NO_MEMORY, "no memory for a graph");
    if (status == ACU_OK) {
        accesses[0] = node->accesses[0];
        node->accesses = accesses;
        status = acui_node_add_access(plan, node, host, ACU_READ);
    }
    if (status == ACU_OK) {
        acu_buffer *dst = node->u.upload.buffer;
        size_t offset = node->u.upload.offset;
        acui_free((void *)(uintptr_t)node->u.upload.data);
        node->kind = ACUI_NODE_COPY;
        node->u.copy.dst = dst;
        node->u.copy.dst_offset = offset;
        node->u.copy.src = host->buffer;
        node->u.copy.src_offset = 0;
        node->u.copy.bytes = bytes;
        node->u.copy.box = NULL;
        node->u.copy.way = 0; /* within a graph */
    }
    acu_tensor_release(host); /* the plan holds its buffer */
    return status;
}

static acu_status refuse_node(const acui_node *node, const char *why)
{
    return acui_fail_at(ACU_ERR_NOT_SUPPORTED, node->site, node->name,
                        node->device->info.ordinal, "a graph can not hold %s: %s", node->name, why);
}

/* The or_else whose first op the child is, for its line; NULL: finally has no node of its own. */
static const acui_node *decision_on(const acui_plan *plan, const acui_child *child)
{
    for (const acui_node *node = plan->first; node; node = node->next)
        if (node->kind == ACUI_NODE_DECIDE && node->frame->child->tried == child)
            return node;
    return NULL;
}

/* The child's nodes are not to blame, but what made it. */
static acu_status refuse_child(const acui_plan *plan, const acui_node *node)
{
    const acui_child *child = node->frame->child;
    while (!acui_child_is_plain(child->parent))
        child = child->parent;
    const acui_node *decision = decision_on(plan, child);
    const char *name = child->kind == ACUI_CHILD_FINALLY ? "finally" : "or_else";
    return acui_fail_at(ACU_ERR_NOT_SUPPORTED, decision ? decision->site : (acu_site){0}, name,
                        node->device->info.ordinal, "a graph can not hold acu_%s: a replay "
                        "succeeds or fails as a whole; put acu_%s around the replay", name, name);
}

static bool comes_after_others(const acui_node *node)
{
    for (const acui_after *after = node->frame->after; after; after = after->outer)
        if (after->child || after->point_count)
            return true;
    return false;
}

static acu_status check_node(acui_plan *plan, acui_node *node)
{
    if (!acui_child_is_plain(node->frame->child))
        return refuse_child(plan, node);
    if (comes_after_others(node))
        return refuse_node(node, "it comes after work of other submissions; have the replay come "
                           "after that (acu_after, acu_after_future)");
    if (node->device != plan->first->device)
        return refuse_node(node, "it runs on another device than what comes before");
    if (node->kind == ACUI_NODE_ALLOC || acui_is_look(node))
        return ACU_OK;
    if (node->kind == ACUI_NODE_UPLOAD)
        return keep_upload(plan, node);
    if (node->kind == ACUI_NODE_STAGE)
        return refuse_node(node, "it copies pageable memory, or between devices without access to "
                           "each other, which helper threads do");
    if (node->kind == ACUI_NODE_HOST || node->kind == ACUI_NODE_REPLAY)
        return refuse_node(node, "only kernels, copies, fills and calls can be replayed");
    if (node->kind == ACUI_NODE_FOREIGN && !acui_fits_graph(node) && node->u.call.op->u.call.own)
        return refuse_node(node, "its library is not known to allow that (it may wait for the "
                           "device in the call)");
    if (node->kind == ACUI_NODE_FOREIGN && !acui_fits_graph(node))
        return refuse_node(node, "whether it may be captured is not known; if so, say it with "
                           "acu_capturable");
    if (node->kind == ACUI_NODE_LAUNCH && !acui_fits_graph(node))
        return refuse_node(node, acui_launch_config(node).programmatic
                                     ? "a programmatic launch is only issued directly"
                                     : "a cooperative launch, or one in clusters, is only issued "
                                       "directly by this driver");
    if (!acui_fits_graph(node))
        return refuse_node(node, "it copies between devices");
    return ACU_OK;
}

static acu_status check_plan(acui_plan *plan)
{
    if (!plan->first)
        return acui_fail(ACU_ERR_INVALID, "acu_graph_load: the op has nothing to run");
    for (acui_node *node = plan->first; node; node = node->next)
        ACUI_TRY(check_node(plan, node));
    return ACU_OK;
}

static void set_looks_aside(acu_graph *graph)
{
    acui_plan *plan = &graph->plan->plan;
    acui_node **link = &plan->first, **end = &graph->looks, *last = NULL;
    while (*link) {
        acui_node *node = *link;
        if (!acui_is_look(node)) {
            last = node;
            link = &node->next;
            continue;
        }
        *link = node->next;
        node->next = NULL;
        *end = node;
        end = &node->next;
    }
    plan->last = last;
}

/* So that the plan releases what they hold. */
static void put_looks_back(acu_graph *graph)
{
    acui_plan *plan = &graph->plan->plan;
    while (graph->looks) {
        acui_node *node = graph->looks;
        graph->looks = node->next;
        node->next = plan->first;
        plan->first = node;
    }
}

/* ---- what it touches, all in all ---- */

static piece *find_piece(acu_graph *graph, const acui_node_access *access)
{
    for (size_t i = 0; i < graph->piece_count; i++) {
        piece *p = &graph->pieces[i];
        if (p->buffer == access->use->buffer && acui_extent_covers(&p->extent, &access->extent) &&
            acui_extent_covers(&access->extent, &p->extent))
            return p;
    }
    return NULL;
}

/* For the same bytes: read first and written later counts as both; written first, as written. */
static void add_access(acu_graph *graph, const acui_node_access *access)
{
    piece *p = find_piece(graph, access);
    if (!p) {
        p = &graph->pieces[graph->piece_count++];
        *p = (piece){
            .buffer = access->use->buffer, .extent = access->extent, .access = access->mode};
    } else if (p->access == ACU_READ && access->mode != ACU_READ) {
        p->access = ACU_UPDATE;
    }
}

static acu_status add_accesses(acu_graph *graph)
{
    const acui_task *task = graph->task;
    size_t most = 0;
    for (uint32_t i = 0; i < task->body_count; i++)
        most += task->body[i]->access_count;
    graph->pieces = ACUI_NEW_ARRAY(piece, most + 1);
    if (!graph->pieces)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a graph");
    for (uint32_t i = 0; i < task->body_count; i++)
        for (uint32_t k = 0; k < task->body[i]->access_count; k++)
            add_access(graph, &task->body[i]->accesses[k]);
    return ACU_OK;
}

/* Whether some value is touched by none of the nodes, as far as that shows at once. */
static bool passes_on(const acu_graph *graph)
{
    for (size_t i = 0; i < graph->values.count; i++) {
        const acu_tensor *tensor = graph->values.list[i].tensor;
        if (!tensor)
            continue;
        acui_extent extent = acui_tensor_extent(tensor);
        size_t k = 0;
        while (k < graph->piece_count && (graph->pieces[k].buffer != tensor->buffer ||
                                          !acui_extent_covers(&graph->pieces[k].extent, &extent)))
            k++;
        if (k == graph->piece_count)
            return true;
    }
    return false;
}

/* ---- making ---- */

/* Whether what was submitted before makes the memory, and is not on the device yet. */
static bool is_to_come(const acu_buffer *buffer)
{
    bool pending = false;
    if (buffer->host || atomic_load_explicit(&buffer->address, memory_order_acquire))
        return false;
    acui_homes homes = acui_accesses_lock(&buffer->accesses);
    for (size_t i = 0; i < buffer->accesses.count && !pending; i++)
        pending = buffer->accesses.list[i].point->state == ACUI_POINT_PENDING;
    acui_order_unlock(homes);
    return pending;
}

static acu_status look_for_memory(void *plan, uint64_t now)
{
    (void)now;
    for (const acui_use *use = ((acui_plan *)plan)->uses; use; use = use->next)
        if (is_to_come(use->buffer)) {
            acui_look_everywhere();
            return ACU_NOT_READY;
        }
    return ACU_OK;
}

/* The memory of a buffer, and of those that have it before; only this one is to be found behind
 * its allocation, but a replay touches all of them. */
static acu_status allocate_one(const acui_node *node)
{
    acu_buffer *buffer = node->u.alloc.buffer;
    ACUI_TRY(acui_buffer_allocate_now(buffer, node->u.alloc.bytes));
    while ((node = node->u.alloc.from))
        acui_buffer_commit_before(node->u.alloc.buffer, buffer);
    return ACU_OK;
}

static acu_status allocate(acui_task *task)
{
    acui_plan *plan = &task->submission->plan;
    ACUI_TRY(acui_wait_until(look_for_memory, acui_next_of_any, plan, ACU_FOREVER));
    for (size_t i = 0; i < task->count; i++)
        if (task->nodes[i]->kind == ACUI_NODE_ALLOC && !task->nodes[i]->u.alloc.passed_on)
            ACUI_TRY(allocate_one(task->nodes[i]));
    for (acui_use *use = plan->uses; use; use = use->next)
        ACUI_TRY(acui_growth_await(use->buffer));
    for (uint32_t i = 0; i < task->body_count; i++)
        ACUI_TRY(acui_resolve_addresses(task->body[i]));
    return ACU_OK;
}

/* Bind kernels that were being loaded when the op was planned, and wait for libraries. */
static acu_status bind_kernels(acui_task *task)
{
    for (uint32_t i = 0; i < task->body_count; i++) {
        acui_node *node = task->body[i];
        if (node->kind == ACUI_NODE_LAUNCH && acui_launch_instead(node))
            acui_launch_instead(node)->wait(node->device);
        if (node->kind == ACUI_NODE_FOREIGN && node->u.call.behind)
            node->u.call.op->u.call.own->wait(node->u.call.op->user.data);
        if (!acui_launch_is_late(node))
            continue;
        acu_status status = acu_kernel_wait(node->u.launch.kernel, ACU_FOREVER);
        ACUI_TRY(status != ACU_OK ? status : acui_launch_bind(node));
    }
    return ACU_OK;
}

static bool comes_behind(const acui_node *node, const acui_node *before)
{
    for (uint32_t i = 0; i < node->before_count; i++)
        if (acui_node_before(node)[i] == before)
            return true;
    return false;
}

/* Calls of a chain take turns in their temporary memory. */
static bool is_chain(const acui_task *task)
{
    for (uint32_t i = 1; i < task->body_count; i++)
        if (!comes_behind(task->body[i], task->body[i - 1]))
            return false;
    return true;
}

static acu_status make_exec(acu_graph *graph)
{
    acui_run all = {.nodes = graph->task->body,
                    .count = graph->task->body_count,
                    .wide = !is_chain(graph->task)};
    if (all.count == 0)
        return acui_fail(ACU_ERR_INVALID, "acu_graph_load: the op only makes memory");
    if (!acui_graphs_of(graph->device))
        return acui_fail(ACU_ERR_NOT_SUPPORTED,
                         "acu_graph_load: the driver of device %d lacks calls "
                         "for graphs",
                         graph->device->info.ordinal);
    graph->exec = acui_exec_new(&all, graph->device);
    if (!graph->exec)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a graph");
    acui_entered entered;
    ACUI_TRY(acui_enter(graph->device, &entered));
    acu_status status = acui_exec_capture(graph->exec, &all);
    if (status == ACU_OK)
        status = acui_exec_make(graph->exec);
    acui_leave(&entered);
    return status;
}

static acu_status make(acu_graph *graph, acu_device *device, acu_op *op,
                       const acu_graph_options *options)
{
    acu_submit_options submit = {.size = sizeof submit, .policy = options->policy};
    ACUI_TRY(acui_standalone_plan(device, op, &submit, &graph->plan, &graph->values));
    ACUI_TRY(check_plan(&graph->plan->plan));
    set_looks_aside(graph);
    ACUI_TRY(acui_standalone_lay_out(graph->plan, &graph->task));
    graph->device = acu_device_retain(graph->task->device);
    graph->stream = options->policy ? NULL : graph->task->stream;
    ACUI_TRY(bind_kernels(graph->task));
    ACUI_TRY(allocate(graph->task));
    ACUI_TRY(add_accesses(graph));
    graph->passes_on = passes_on(graph);
    acui_plan_drop_transient(&graph->plan->plan);
    return make_exec(graph);
}

acu_status acu_graph_load(acu_device *device, acu_op *op, const acu_graph_options *options,
                          acu_graph **graph)
{
    static const acui_op_class taker = {.name = "acu_graph_load"};
    ACUI_REFUSE_FORK();
    acu_graph_options known;
    acu_op *taken = acui_op_take(op, &taker, (acu_site){0});
    acu_status status = acui_options_read(&known, sizeof known, options, __func__);
    if (status == ACU_OK && device)
        status = acui_object_check(device, ACU_OBJECT_DEVICE, __func__);
    if (status == ACU_OK && known.policy)
        status = acui_object_check(known.policy, ACU_OBJECT_POLICY, __func__);
    if (status == ACU_OK && !graph)
        status = acui_fail(ACU_ERR_INVALID, "acu_graph_load: nowhere to put the graph");
    if (status == ACU_OK)
        status = acui_refuse_wait(__func__);
    acu_graph *g = status == ACU_OK ? acui_object_new(ACU_OBJECT_GRAPH, sizeof *g) : NULL;
    if (!g) {
        acui_op_put(taken);
        return status != ACU_OK ? status : acui_fail(ACU_ERR_NO_MEMORY, "no memory for a graph");
    }
    pthread_mutex_init(&g->launch, NULL);
    status = make(g, device, taken, &known);
    if (status == ACU_OK) {
        *graph = g;
        return ACU_OK;
    }
    acu_error record = *acui_error(); /* releasing must not change what the caller sees */
    acu_graph_release(g);
    return acui_error_restore(&record);
}

/* ---- life ---- */

acu_graph *acu_graph_retain(acu_graph *graph)
{
    if (acui_object_is(graph, ACU_OBJECT_GRAPH))
        acui_object_retain(graph);
    return graph;
}

static void free_exec(acu_graph *graph)
{
    acui_entered entered;
    acui_enter_to_free(graph->device, &entered);
    acui_exec_free(graph->exec);
    acui_leave(&entered);
}

void acu_graph_release(acu_graph *graph)
{
    if (!acui_object_is(graph, ACU_OBJECT_GRAPH) || !acui_object_drop(graph))
        return;
    if (graph->exec)
        free_exec(graph);
    acui_values_clear(&graph->values);
    acui_free(graph->pieces);
    if (graph->plan) {
        put_looks_back(graph);
        acui_submission_close(graph->plan);
    }
    acu_device *device = graph->device;
    pthread_mutex_destroy(&graph->launch);
    acui_object_free(graph);
    acu_device_release(device);
}

/* ---- replaying ---- */

/* For finding a fault, on a device that was opened for that. */
static acu_status launch_one_by_one(acu_graph *graph, acu_stream *stream)
{
    for (uint32_t i = 0; i < graph->task->body_count; i++)
        ACUI_TRY(acui_enqueue_serially(graph->task->body[i], stream));
    return ACU_OK;
}

static acu_status launch(acu_graph *graph, acu_stream *stream)
{
    if (graph->device->one_by_one)
        return launch_one_by_one(graph, stream);
    pthread_mutex_lock(&graph->launch);
    acu_status status = acui_exec_launch_as_is(graph->exec, stream);
    pthread_mutex_unlock(&graph->launch);
    return status;
}

static acu_status add_pieces(acui_plan *plan, acui_node *node, const acu_graph *graph)
{
    for (size_t i = 0; i < graph->piece_count; i++) {
        const piece *p = &graph->pieces[i];
        ACUI_TRY(acui_node_add_bytes(plan, node, p->buffer, p->extent, p->access));
    }
    return ACU_OK;
}

static acu_status plan_replay(acui_plan *plan, acu_op *op, acu_device *fallback,
                              acui_values *values)
{
    (void)fallback;
    acu_graph *graph = op->u.graph;
    acui_node *node =
        acui_plan_node(plan, ACUI_NODE_REPLAY, op, graph->device, graph->piece_count);
    if (!node)
        return ACU_ERR_NO_MEMORY;
    node->u.replay.graph = acu_graph_retain(graph);
    node->u.replay.launch = launch;
    node->u.replay.release = acu_graph_release;
    node->u.replay.nodes = graph->task->body_count;
    if (!plan->stream) /* replays of one graph do not run side by side: no event need order them */
        plan->stream = graph->stream;
    ACUI_TRY(add_pieces(plan, node, graph));
    for (const acui_node *look = graph->looks; look; look = look->next)
        ACUI_TRY(acui_plan_look(plan, look));
    plan->passes_on |= graph->passes_on;
    for (size_t i = 0; i < graph->values.count && !values->unwanted; i++) {
        acu_val value = graph->values.list[i];
        value.form = ACU_BORROWED;
        acui_object_retain(value.tensor);
        ACUI_TRY(acui_values_push(values, value));
    }
    return ACU_OK;
}

static void destroy_replay(acu_op *op)
{
    acu_graph_release(op->u.graph);
}

const acui_op_class acui_class_REPLAY = {
    .name = "replay", .plan = plan_replay, .destroy = destroy_replay};

acu_op *acu_op_replay(acu_graph *graph, acu_site site)
{
    if (acui_object_check(graph, ACU_OBJECT_GRAPH, "acu_replay") != ACU_OK)
        return acui_op_failed(&acui_class_REPLAY, site);
    acu_op *op = acui_op_new(&acui_class_REPLAY, 0, site);
    if (!acui_op_is_oom(op))
        op->u.graph = acu_graph_retain(graph);
    return op;
}

/* ---- facts ---- */

size_t acu_graph_values(const acu_graph *graph)
{
    return acui_object_is(graph, ACU_OBJECT_GRAPH) ? graph->values.count : 0;
}

acu_tensor *acu_graph_tensor(const acu_graph *graph, size_t index)
{
    return index < acu_graph_values(graph) ? graph->values.list[index].tensor : NULL;
}

size_t acu_graph_nodes(const acu_graph *graph)
{
    return acui_object_is(graph, ACU_OBJECT_GRAPH) ? graph->task->body_count : 0;
}
