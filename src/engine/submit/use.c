/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Declared uses: a submission of one task whose work the program puts on the stream itself. Begin
 * plans and enters the task, and makes the stream wait for what comes before; end puts the signal
 * there. In between the task's point is pending, so that what comes behind it waits.
 */
#include <acuda/debug.h>
#include <acuda/use.h>

#include "base/callback.h"
#include "base/error.h"
#include "engine/completion/complete.h"
#include "engine/flight/flight.h"
#include "engine/issue/issue.h"
#include "engine/order/order.h"
#include "engine/report/report.h"
#include "engine/submit/runtime.h"
#include "engine/submit/submit.h"
#include "op/arg.h"

struct acu_use {
    acui_object object;
    acui_submission *submission; /* held open until the end */
    acui_task *task;             /* its only one */
};

static const acui_op_class use_class = {.name = "use"};

/* ---- beginning ---- */

static acu_status check_args(const acu_arg *args, size_t count, const char *function)
{
    if (count && !args)
        return acui_fail(ACU_ERR_INVALID, "%s: the list of %zu tensors is NULL", function, count);
    acu_status status = count ? ACU_OK
                              : acui_fail(ACU_ERR_INVALID, "%s: nothing to use", function);
    for (size_t i = 0; i < count; i++) {
        if (args[i].kind == ACU_ARG_OP)
            acu_op_release(args[i].u.op); /* consumed in any case */
        if (status == ACU_OK && args[i].kind != ACU_ARG_TENSOR)
            status = acui_fail(ACU_ERR_INVALID, "%s: argument %zu is not a tensor", function, i);
        if (status == ACU_OK && !acui_arg_has_access(&args[i]))
            status = acui_arg_refuse_access(&args[i], i);
        if (status == ACU_OK)
            status = acui_object_check(args[i].u.tensor, ACU_OBJECT_TENSOR, function);
    }
    return status;
}

static acu_status check(acu_stream *stream, const acu_arg *args, size_t count, acu_use **use,
                        const char *function)
{
    ACUI_TRY(check_args(args, count, function));
    ACUI_TRY(acui_object_check(stream, ACU_OBJECT_STREAM, function));
    ACUI_TRY(acui_stream_check_thread(stream, function));
    if (!use)
        return acui_fail(ACU_ERR_INVALID, "%s: nowhere to put the use", function);
    if (acui_issuing() || acui_policy_asking())
        return acui_fail(ACU_ERR_IN_CALLBACK,
                         "%s is called in a foreign call or a policy's function, which may not "
                         "declare uses: call it before, or once that has returned",
                         function);
    return acui_device_check(stream->device);
}

static acu_status plan(acui_submission *s, acu_device *device, const acu_arg *args, size_t count,
                       acu_site site)
{
    acu_op like = {.class = &use_class, .site = site};
    acui_node *node = acui_plan_node(&s->plan, ACUI_NODE_USE, &like, device, count);
    if (!node)
        return ACU_ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        ACUI_TRY(
            acui_node_add_access(&s->plan, node, args[i].u.tensor, acui_arg_access_of(&args[i])));
    return ACU_OK;
}

static acu_status put_waits(acui_task *task)
{
    acu_status status = acui_resolve_addresses(task->first);
    if (status == ACU_OK)
        status = acui_issue_waits(task);
    if (status == ACU_OK)
        return ACU_OK;
    acu_error record = *acui_error();
    acui_task_fail(task, acui_fault_of_node(task->first));
    acui_run_tasks(acui_retire(task));
    return acui_error_restore(&record);
}

static acu_status begin(acui_submission *s, acu_device *device, const acu_arg *args, size_t count,
                        acu_site site, acui_task **task)
{
    *task = NULL;
    acui_flush_planning();
    if (acui_runtime_any_behind())
        return ACU_NOT_READY;
    ACUI_TRY(plan(s, device, args, count, site));
    ACUI_TRY(acui_enter_ready(s, task));
    acui_plan_drop_transient(&s->plan);
    acui_count_submitted();
    s->planning.stage = ACUI_SUBMITTED;
    return put_waits(*task);
}

static acu_status try_begin(acu_stream *stream, const acu_arg *args, size_t count, acu_site site,
                            acu_use **use)
{
    ACUI_TRY(acui_reactor_start());
    acu_submit_options options = {.size = sizeof options, .stream = stream};
    acu_use *u = acui_object_new(ACU_OBJECT_USE, sizeof *u);
    if (!u)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a use");
    u->submission = acui_submission_new(&options, NULL, NULL);
    acu_status status = u->submission ? begin(u->submission, stream->device, args, count, site,
                                              &u->task)
                                      : ACU_ERR_NO_MEMORY;
    if (status == ACU_OK) {
        *use = u;
        return ACU_OK;
    }
    acu_error record = *acui_error(); /* releasing must not change what the caller sees */
    if (u->submission)
        acui_submission_close(u->submission);
    acui_object_free(u);
    acui_error_restore(&record);
    return status;
}

acu_status acui_use_begin(acu_stream *stream, const acu_arg *args, size_t count, acu_site site,
                          const char *function, acu_use **use)
{
    ACUI_TRY(check(stream, args, count, use, function));
    return acui_capture_in(try_begin(stream, args, count, site, use), function);
}

acu_status(acu_use_begin)(acu_stream *stream, const acu_arg *args, size_t count, acu_site site,
                          acu_use **use)
{
    return acui_use_begin(stream, args, count, site, "acu_use_begin", use);
}

typedef struct beginning {
    acu_stream *stream;
    const acu_arg *args;
    size_t count;
    acu_site site;
    acu_use **use;
} beginning;

static acu_status look(void *context, uint64_t now)
{
    (void)now;
    const beginning *b = context;
    acu_status status = try_begin(b->stream, b->args, b->count, b->site, b->use);
    if (status == ACU_NOT_READY)
        acui_look_everywhere();
    return status;
}

/* Nothing has to complete for this; something has to be issued, mostly soon after host work. */
static uint64_t next_look(void *context, uint64_t now, uint64_t spin, uint64_t *start)
{
    (void)context, (void)start;
    return spin ? now : now + ACU_US(100);
}

acu_status acui_use_begin_wait(acu_stream *stream, const acu_arg *args, size_t count,
                               acu_site site, uint64_t timeout, const char *function,
                               acu_use **use)
{
    ACUI_TRY(check(stream, args, count, use, function));
    ACUI_TRY(acui_refuse_wait(function));
    beginning b = {.stream = stream, .args = args, .count = count, .site = site, .use = use};
    return acui_capture_in(acui_wait_until(look, next_look, &b, timeout), function);
}

acu_status(acu_use_begin_wait)(acu_stream *stream, const acu_arg *args, size_t count, acu_site site,
                               uint64_t timeout, acu_use **use)
{
    return acui_use_begin_wait(stream, args, count, site, timeout, "acu_use_begin_wait", use);
}

/* ---- work that is on the stream already ---- */

static acu_status place(acui_submission *s, acu_stream *stream, const acu_arg *arg, acu_site site)
{
    acui_task *task;
    ACUI_TRY(plan(s, stream->device, arg, 1, site));
    ACUI_TRY(acui_enter_on_stream(s, &task));
    acui_plan_drop_transient(&s->plan);
    acui_count_submitted();
    s->planning.stage = ACUI_SUBMITTED;
    acui_run_tasks(acui_issue_end(task));
    return ACU_OK;
}

acu_status acui_stream_used(acu_stream *stream, const acu_arg *arg, acu_site site,
                            const char *function)
{
    ACUI_TRY(acui_stream_check_thread(stream, function));
    if (acui_issuing() || acui_policy_asking())
        return acui_fail(ACU_ERR_IN_CALLBACK,
                         "%s is called in a foreign call or a policy's function, which may not "
                         "declare uses: call it before, or once that has returned",
                         function);
    ACUI_TRY(acui_device_check(stream->device));
    ACUI_TRY(acui_capture_in(acui_stream_check_capture(stream), function));
    ACUI_TRY(acui_reactor_start());
    acu_submit_options options = {.size = sizeof options, .stream = stream};
    acui_submission *s = acui_submission_new(&options, NULL, NULL);
    if (!s)
        return ACU_ERR_NO_MEMORY;
    acu_status status = place(s, stream, arg, site);
    acu_error record = *acui_error(); /* releasing must not change what the caller sees */
    acui_submission_close(s);
    return status == ACU_OK ? ACU_OK : acui_error_restore(&record);
}

/* ---- ending ---- */

/* Its work is as good as on its way: the future is RUNNING. */
static acu_status give_future(acui_submission *s, acu_future **future)
{
    acu_future *f;
    ACUI_TRY(acui_future_new(&f));
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    acui_refs_list(&s->open); /* nobody else closes it: its only task is not over */
    f->submission = s;
    s->future = acui_future_keep(f);
    acui_submission_started(s, f);
    *future = f;
    return ACU_OK;
}

static void note_outcome(acui_task *task, acu_status outcome)
{
    if (outcome == ACU_OK)
        return;
    char words[ACUI_OUTCOME];
    acui_fail(ACU_ERR_CALLBACK, "the program says that its work on the stream ended with %s",
              acui_outcome_words(outcome, words));
    acui_error()->cause = outcome;
    acui_task_fail(task, acui_fault_of_node(task->first));
}

acu_status acu_use_end(acu_use *use, acu_status outcome, acu_future **future)
{
    ACUI_CHECK(use, USE);
    ACUI_TRY(acui_stream_check_thread(use->task->stream, __func__));
    acui_submission *s = use->submission;
    if (acui_issuing() || acui_policy_asking())
        return acui_fail(ACU_ERR_IN_CALLBACK,
                         "acu_use_end is called in a foreign call or a policy's function, which "
                         "may not declare uses: call it once that has returned");
    ACUI_TRY(acui_capture_in(acui_stream_check_capture(use->task->stream), __func__));
    acu_future *f = NULL;
    acu_status status = future ? give_future(s, &f) : ACU_OK;
    acu_error record = *acui_error();
    note_outcome(use->task, outcome);
    acui_run_tasks(acui_issue_end(use->task));
    acui_submission_close(s);
    acui_object_drop(use);
    acui_object_free(use);
    if (status != ACU_OK)
        return acui_error_restore(&record);
    if (future)
        *future = f;
    return ACU_OK;
}
