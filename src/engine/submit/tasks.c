/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tasks: the nodes of a plan are cut into pieces that are ordered and issued as one. A task is a
 * run of consecutive nodes for one device, of one child; or one node of host work, or one call that
 * has a stream of its own. Called by acui_enter_nodes (enter.c), and by standalone.c for graphs, on
 * the thread that plans. */
#include "base/alloc.h"
#include "base/error.h"
#include "engine/issue/dispatch.h"
#include "engine/report/record.h"
#include "engine/submit/submit.h"
#include "op/call.h"

/* The policy that chooses the submission's stream on the device; NULL: the program has chosen
 * it. */
static acu_status policy_of(const acui_submission *s, acu_device *device, acu_policy **policy)
{
    *policy = device->policy;
    if (s->asked.priority)
        ACUI_TRY(acui_policy_of_priority(device, s->asked.priority, policy));
    if (s->asked.stream && s->asked.stream->device == device)
        *policy = NULL;
    else if (s->asked.policy && s->asked.policy->device == device)
        *policy = s->asked.policy;
    return ACU_OK;
}

/* Room for one lane more. */
static acu_status grow_lanes(acui_submission *s)
{
    if (s->lane_count == ACUI_MAX_LANES)
        return acui_fail(ACU_ERR_LIMIT, "one submission on more than %d devices", ACUI_MAX_LANES);
    if (s->lane_count == 0)
        s->lanes = &s->first_lane;
    /* Or there is room already: an earlier try to make a lane got no stream. */
    if (s->lane_count != 1 || s->lanes != &s->first_lane)
        return ACU_OK;
    s->lanes = ACUI_NEW_ARRAY(acui_lane, ACUI_MAX_LANES);
    if (!s->lanes) {
        s->lanes = &s->first_lane;
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a submission on several devices");
    }
    s->lanes[0] = s->first_lane;
    return ACU_OK;
}

/* Give the task, which is laid out, the stream that the submission uses on its device, chosen
 * once; or that of its call. */
static acu_status choose_stream(acui_submission *s, acui_task *task)
{
    acu_policy *policy;
    ACUI_TRY(policy_of(s, task->device, &policy));
    bool free = policy == task->device->policy && policy->count > 1;
    acu_stream *own = free ? acui_own_stream(task->first) : NULL;
    for (size_t i = 0; i < s->lane_count; i++)
        if (own ? s->lanes[i].stream == own
                : s->lanes[i].device == task->device && !s->lanes[i].own) {
            task->stream = s->lanes[i].stream;
            return ACU_OK;
        }
    ACUI_TRY(grow_lanes(s));
    if (own) {
        task->stream = own;
        s->lanes[s->lane_count++] = (acui_lane){task->device, acu_stream_retain(own), true};
        return ACU_OK;
    }
    if (policy != task->device->policy) /* the program may look at its streams */
        acui_dispatch_drain(task->device, ACU_FOREVER);
    acu_stream *chosen = policy ? acui_dispatch_prepare(task) : s->asked.stream;
    if (!chosen && policy == task->device->policy && s->plan.stream &&
        s->plan.stream->device == task->device)
        chosen = s->plan.stream;
    if (!chosen)
        chosen = acui_policy_pick(policy);
    if (!chosen)
        return acui_error()->status;
    /* The stream may be the program's. Nothing is put there for a graph that is only made. */
    if (policy && policy != task->device->policy && !s->plan.for_replay)
        ACUI_TRY(acui_stream_check_capture(chosen));
    task->stream = chosen;
    s->lanes[s->lane_count++] =
        (acui_lane){.device = task->device, .stream = acu_stream_retain(chosen)};
    return ACU_OK;
}

/* On a lost device, what an or_else tries has failed; anything else can not be submitted. */
static bool may_run(acui_submission *s, const acui_node *node)
{
    if (node->kind == ACUI_NODE_DECIDE || node->kind == ACUI_NODE_AWAIT ||
        acui_device_check(node->device) == ACU_OK)
        return true;
    acui_child *child = node->frame->child;
    while (child && child->kind != ACUI_CHILD_TRY)
        child = child->parent;
    if (child)
        acui_child_refuse(&s->plan, child);
    return child != NULL;
}

static acui_task *new_task(acui_submission *s, acui_node *node)
{
    acui_task *task = ACUI_ARENA_NEW(&s->plan.arena, acui_task);
    if (!task) {
        acui_fail(ACU_ERR_NO_MEMORY, "no memory for a task");
        return NULL;
    }
    if (!may_run(s, node))
        return NULL;
    acu_policy *policy = NULL;
    if (!acui_is_on_host(node) && policy_of(s, node->device, &policy) != ACU_OK)
        return NULL;
    /* A policy with one stream means that nothing of the submission runs side by side. */
    s->planning.serial |= policy && policy->count == 1;
    task->point = acui_point_new(node->device);
    if (!task->point) {
        acui_fail(ACU_ERR_NO_MEMORY, "no memory for a task");
        return NULL;
    }
    task->point->file = node->site.file;
    task->point->line = node->site.line;
    task->submission = s;
    task->device = node->device;
    task->child = acui_child_of(node);
    task->point->conditional = acui_child_other(task->child) != NULL;
    s->planning.shares |= task->child != NULL;
    task->first = node;
    return task;
}

/* Whether the node goes into the task; `frame`: of the task's last node. */
static bool continues(const acui_task *task, const acui_frame *frame, const acui_node *node)
{
    return task && !acui_is_on_host(task->first) && !acui_is_on_host(node) &&
           !acui_own_stream(task->first) && !acui_own_stream(node) &&
           task->device == node->device &&
           (node->frame == frame || task->child == acui_child_of(node));
}

static void take_in(acui_task *task, acui_node *node)
{
    task->count++;
    task->binds |= acui_launch_is_late(node);
    node->entered = true;
}

void acui_drop_tasks(acui_task *task)
{
    for (; task; task = task->next)
        acui_point_release(task->point);
}

/* Cut the nodes that are not entered yet into tasks: a list, not yet part of the submission. */
static acu_status cut_tasks(acui_submission *s, acui_task **tasks)
{
    acui_node *node = s->planning.entered ? s->planning.entered->next : s->plan.first;
    acui_task *last = NULL, **end = tasks;
    for (const acui_frame *frame = NULL; node; frame = node->frame, node = node->next) {
        if (!continues(last, frame, node)) {
            last = *end = new_task(s, node);
            if (!last)
                return acui_error()->status;
            end = &last->next;
        }
        take_in(last, node);
    }
    return ACU_OK;
}

/* List the task's nodes, and find their order. */
static bool lay_out(acui_task *task)
{
    acui_arena *arena = &task->submission->plan.arena;
    task->nodes = task->body = ACUI_ARENA_ARRAY(arena, acui_node *, task->count);
    if (!task->nodes)
        return false;
    acui_node *node = task->first;
    bool makes = false;
    for (size_t i = 0; i < task->count; i++, node = node->next) {
        task->nodes[i] = node;
        makes |= acui_is_prologue(node);
    }
    if (acui_is_on_host(task->first) || acui_child_refused(&task->submission->plan, task->child))
        return true; /* a refused part is half planned, and never runs */
    if (makes)
        task->body = ACUI_ARENA_ARRAY(arena, acui_node *, task->count);
    return task->body && acui_find_edges(task) && acui_reuse_memory(task) && acui_cut_runs(task);
}

acu_status acui_make_tasks(acui_submission *s, acui_task **tasks)
{
    acu_status status = cut_tasks(s, tasks);
    for (acui_task *task = *tasks; task && status == ACU_OK; task = task->next)
        if (!lay_out(task))
            status = acui_fail(ACU_ERR_NO_MEMORY, "no memory to order the work of a submission");
        else if (!acui_is_on_host(task->first))
            status = choose_stream(s, task);
    if (status != ACU_OK)
        acui_drop_tasks(*tasks);
    else
        acui_record_tasks(s, *tasks);
    return status;
}
