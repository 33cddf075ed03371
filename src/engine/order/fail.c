/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a failure means: for the children of a submission (op/child.h), for tasks that are still to
 * start, and for what the device has already; tasks that are passed over; and lists of tasks that
 * are ready. */
#include "base/error.h"
#include "engine/order/order.h"

#include <stdio.h>
#include <string.h>

/* ---- records ---- */

void acui_add_context(acu_error *error, const acui_node *node)
{
    error->context[0] = '\0';
    for (const acui_context *c = node->frame->context; c; c = c->outer)
        acui_error_prefix(error, c->text);
}

acui_fault *acui_fault_of_node(const acui_node *node)
{
    /* For a loss, whoever learns of it, the record is the device's own: it names what is to blame.
     * */
    if (acui_error()->status == ACU_ERR_DEVICE_LOST)
        acui_device_check(node->device);
    acu_error error = *acui_error();
    acui_add_context(&error, node);
    if (!error.file) {
        error.file = node->site.file;
        error.line = node->site.line;
    }
    if (!error.op[0])
        snprintf(error.op, sizeof error.op, "%s", node->name);
    if (error.device < 0)
        error.device = node->device->info.ordinal;
    return acui_fault_new(&error);
}

/* ---- children ---- */

void acui_children_note(acui_submission *s, acui_child *child, acui_fault *fault)
{
    s->plan.fails |= child != NULL;
    if (!acui_child_fail(child, fault) || s->order.fault)
        return;
    s->order.fault = acui_fault_retain(fault);
    acui_children_unwanted(&s->plan);
}

void acui_turn_comes(const acui_task *task)
{
    acui_order_lock(task->homes);
    atomic_store_explicit(&task->child->turn, ACUI_TURN_COME, memory_order_relaxed);
    acui_order_unlock(task->homes);
}

/* Whether a finally runs it whatever fails outside. What is in an op with other users, inside of
 * that finally, runs as it is wanted. */
static bool is_for_last(const acui_child *child)
{
    const acui_child *last = child ? child->last : NULL;
    return last && (!child->shared || child->shared->depth < last->depth);
}

/* Why nothing more of it is to start; NULL: nothing has failed outside of children, and nobody gave
 * it up. */
static acui_fault *end_of(const acui_submission *s)
{
    return s->order.fault ? s->order.fault : acui_gave_up(s);
}

static bool is_stopped(const acui_task *task, acui_fault **why)
{
    const acui_submission *s = task->submission;
    bool wanted = acui_child_is_wanted(task->child);
    *why = NULL;
    const acui_child *child = s->plan.fails ? task->child : NULL; /* they may nest deeply */
    for (; child; child = child->kind == ACUI_CHILD_FINALLY ? NULL : child->outer)
        if (child->fault && !(wanted && child->kind == ACUI_CHILD_SHARED)) {
            *why = child->fault;
            return true;
        }
    if (!end_of(s) || wanted || is_for_last(task->child))
        return false;
    *why = end_of(s);
    return true;
}

/* The innermost `try` around it was stopped, before anything in it failed. */
static void note_stopped(acui_child *child)
{
    while (child && !child->fault && child->kind != ACUI_CHILD_TRY)
        child = child->parent;
    if (child && !child->fault)
        child->stopped = true;
}

bool acui_task_is_stopped(acui_task *task, acui_fault **why)
{
    const acui_child *tried = task->first->kind == ACUI_NODE_DECIDE ? task->child->tried : NULL;
    bool stopped = is_stopped(task, why);
    if (!stopped && tried && tried->stopped) {
        stopped = true; /* others want what the alternative writes; it does not run: that stays */
        while (tried && !tried->fault)
            tried = tried->parent;
        *why = tried ? tried->fault : end_of(task->submission);
    }
    if (stopped)
        note_stopped(task->child);
    return stopped;
}

/* ---- tasks that are still to start ---- */

void acui_task_note(acui_task *task, acui_fault *fault)
{
    if (!task->order.fault)
        task->order.fault = fault ? acui_fault_retain(fault) : acui_fault_no_memory();
    if (task->first->kind == ACUI_NODE_DECIDE)
        atomic_store_explicit(&task->child->turn, ACUI_TURN_DECLINED, memory_order_relaxed);
    acui_children_note(task->submission, task->child, fault ? fault : task->order.fault);
}

void acui_task_fail(acui_task *task, acui_fault *fault)
{
    acui_order_lock(task->homes);
    acui_task_note(task, fault);
    acui_order_unlock(task->homes);
    acui_fault_release(fault);
}

acui_fault *acui_dependency_fault(const acui_task *task, const acui_fault *cause)
{
    char first[ACU_ERROR_MESSAGE];
    acu_error_describe(&cause->error, first, sizeof first);
    const acui_node *node = acui_task_subject(task);
    acui_fail_at(ACU_ERR_DEPENDENCY, node->site, node->name, task->device->info.ordinal,
                 "what it reads was not computed: %s", first);
    acui_add_context(acui_error(), node);
    return acui_fault_new(acui_error());
}

/* How an op failed that the task stands for. What the program says around the op is the user's, not
 * that of the submission which planned it. */
static acui_fault *outcome_fault(const acui_imported *b, acui_fault *cause)
{
    size_t around = b ? b->child->around : 0;
    if (!b || (!around && !b->context))
        return acui_fault_retain(cause);
    acu_error error = cause->error;
    size_t length = strlen(error.context), other = around < length ? around : length;
    memmove(error.context, error.context + other, length - other + 1);
    for (const acui_context *c = b->context; c; c = c->outer)
        acui_error_prefix(&error, c->text);
    return acui_fault_new(&error);
}

/* The accesses of a launch are dropped by now; but its list of late addresses has the buffers that
 * had no memory. */
static bool lacks_memory(const acui_node *node)
{
    if (node->kind == ACUI_NODE_LAUNCH) {
        const acui_late *late = node->u.launch.late;
        while (late && !acui_buffer_is_bare(late->buffer))
            late = late->next;
        return late;
    }
    for (uint32_t i = 0; i < node->access_count; i++)
        if (acui_buffer_is_bare(node->accesses[i].use->buffer))
            return true;
    return false;
}

/* The failure of a task that needs memory which was not made, because of `cause`. */
static acui_fault *memory_fault(const acui_task *task, const acui_fault *cause)
{
    const acui_node *node = task->first;
    for (size_t i = task->count; i-- > 0;)
        if (lacks_memory(task->nodes[i]))
            node = task->nodes[i];
    acui_error_restore(&cause->error);
    return acui_fault_of_node(node);
}

bool acui_task_fails_already(acui_task *task)
{
    if (task->sound)
        return false;
    acui_fault *why;
    acui_order_lock(task->homes);
    const acui_child *refused = acui_child_refused(&task->submission->plan, task->child);
    bool failed = acui_task_is_stopped(task, &why) || task->order.fault || refused;
    if (!why)
        why = refused ? refused->fault : task->order.fault;
    const acui_dependency *bad = acui_behind_failure(task);
    bool memory = bad && bad->point->growth, same = bad && bad->of_outcome;
    const acui_imported *op = bad ? bad->imported : NULL;
    acui_fault *cause = bad ? acui_fault_retain(bad->point->fault) : NULL;
    acui_fault *own = acui_fault_retain(why);
    acui_order_unlock(task->homes);
    if (bad && !failed) {
        acui_fault_release(own);
        own = memory ? memory_fault(task, cause)
              : same ? outcome_fault(op, cause)
                     : acui_dependency_fault(task, cause);
    }
    acui_fault_release(cause);
    if (failed || bad)
        acui_task_fail(task, own);
    else
        acui_fault_release(own);
    return failed || bad;
}

/* The task is passed over: what it was to write stays as the points before it have left it, bad
 * where these failed. If there is no memory to say which bytes are bad, all count as bad. Order
 * locks held. */
static void leave_as_it_is(acui_task *task)
{
    const acui_point *bad = NULL;
    bool told = !task->order.fault; /* else it was not entered as a whole */
    for (size_t i = 0; i < task->dependency_count; i++)
        if (task->dependencies[i].vague && task->dependencies[i].point->fault) {
            bad = task->dependencies[i].point;
            told = false;
        }
    for (const acui_piece *p = task->pieces; p; p = p->next)
        if (p->through && acui_point_spoils(p->point, p->buffer, &p->extent)) {
            bad = p->point;
            told = told && acui_point_spoil(task->point, bad, p);
        }
    if (!told)
        acui_point_spoil_all(task->point);
    if (bad && !task->order.fault)
        task->order.fault = acui_fault_retain(bad->fault);
}

bool acui_task_is_spared(acui_task *task)
{
    if (!task->point->conditional)
        return false;
    acui_order_lock(task->homes);
    bool spared = acui_child_is_spared(task->child, task->first->kind == ACUI_NODE_DECIDE);
    if (spared)
        leave_as_it_is(task);
    acui_order_unlock(task->homes);
    return spared;
}

acui_task *acui_retire(acui_task *task)
{
    acui_order_lock(task->homes);
    task->order.course = ACUI_COURSE_RETIRED;
    /* Its point stays pending until then, so what comes after it is behind its predecessors too. */
    atomic_store_explicit(&task->order.pending, 1, memory_order_relaxed);
    acui_link_before(task, true);
    bool over = acui_refs_drop(&task->order.pending);
    acui_order_unlock(task->homes);
    return over ? acui_task_over(task) : NULL;
}

/*
 * ---- what the device has already ----
 *
 * A library whose call was enqueued says later that it came to nothing. Nothing behind it has begun
 * on the device, but may have been issued; so whatever reads the result fails then, and not only
 * what is still to be issued.
 */

/* Whether there ever was one: else nobody needs to look. Relaxed: changed and read under order
 * locks that both sides hold, where it matters. */
static _Atomic(bool) any;

void acui_fail_late(acui_task *task, acui_fault *fault)
{
    atomic_store_explicit(&any, true, memory_order_relaxed);
    acui_task_note(task, fault);
    if (!task->point->fault)
        task->point->fault = acui_fault_retain(fault);
}

static void fail_with(acui_task *task, const acui_dependency *bad)
{
    bool was = acui_error_aside();
    acui_fault *fault = acui_dependency_fault(task, bad->point->fault);
    acui_error_back(was);
    acui_fail_late(task, fault);
    acui_fault_release(fault);
}

bool acui_note_late(acui_task *task)
{
    if (task->order.fault || !atomic_load_explicit(&any, memory_order_relaxed))
        return false;
    const acui_dependency *bad = acui_behind_failure(task);
    if (bad)
        fail_with(task, bad);
    return bad;
}

/* ---- lists of ready tasks ---- */

acui_task *acui_join_tasks(acui_task *first, acui_task *then)
{
    acui_task **end = &first;
    while (*end)
        end = &(*end)->next_listed;
    *end = then;
    return first;
}

acui_task *acui_free_followers(acui_point *point, bool over)
{
    acui_task *freed = NULL;
    acui_dependency **link = (acui_dependency **)&point->followers;
    while (*link) {
        acui_dependency *before = *link;
        if (before->over && !over) {
            link = &before->next;
            continue;
        }
        *link = before->next;
        acui_task *task = before->task;
        /* Others of its predecessors may have other homes: whoever is the last sees what they
         * did. */
        if (acui_refs_drop(&task->order.pending)) {
            if (acui_submission_makes(task->submission) && task != task->submission->first_task)
                acui_memory_expect(task);
            task->next_listed = freed;
            freed = task;
        }
    }
    return freed;
}
