/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Submitting: an op is planned (op/plan_op.c) and entered (acui_enter_nodes), on the thread that
 * calls or on a runtime thread. A submission's memory stays while `refs` counts somebody; its plan
 * and its tasks stay while `open` does: until it is planned and all tasks are over. */
#include "engine/submit/submit.h"
#include "base/alloc.h"
#include "base/callback.h"
#include "base/error.h"
#include "base/log.h"
#include "base/options.h"
#include "base/stack.h"
#include "base/text.h"
#include "driver/nvtx.h"
#include "engine/completion/complete.h"
#include "engine/completion/queue.h"
#include "engine/flight/flight.h"
#include "engine/issue/issue.h"
#include "engine/issue/memory.h"
#include "engine/order/order.h"
#include "engine/report/record.h"
#include "engine/report/report.h"
#include "engine/submit/runtime.h"
#include "memory/pool.h"
#include "op/await.h"

#include <string.h>

/* Bytes of a submission's arena that come with it: enough for a launch or two. Together they fill
 * one of the blocks that memory comes in (base/cache.c). */
#define SMALL (1632 - sizeof(acui_submission))

/* Bytes of transient memory on the stack of the call: enough for a few launches. */
enum { TRANSIENT = 1280 };

/* The submission's own reference to its future; a waited one is held by the thread that waits. */
static void keep(acu_future *future)
{
    if (!future->how.waited && acui_future_is_private(future))
        acui_refs_add_sole(&future->object.refs, 1);
    else if (!future->how.waited)
        acui_future_keep(future);
}

acui_submission *acui_submission_new(const acu_submit_options *options, acu_stream *stream,
                                     acu_future *future)
{
    acui_submission *s = acui_alloc(sizeof *s + SMALL);
    if (!s) {
        acui_fail(ACU_ERR_NO_MEMORY, "no memory for a submission");
        return NULL;
    }
    if (acui_record_wanted(options) && !(s->record = acui_record_new(options)) &&
        options->explain) {
        acui_free(s);
        return NULL;
    }
    char *behind = (char *)(s + 1);
    s->asked.name = "";
    if (options->name) {
        s->asked.name = behind;
        acui_text_copy(behind, ACUI_OP_NAME, options->name);
    }
    acui_arena_begin(&s->plan.arena, options->name ? behind + ACUI_OP_NAME : behind,
                     options->name ? SMALL - ACUI_OP_NAME : SMALL);
    atomic_store_explicit(&s->refs, future && !future->how.waited ? 2 : 1, memory_order_relaxed);
    atomic_store_explicit(&s->open, 1, memory_order_relaxed);
    s->plan.flush = acui_enter_nodes;
    s->plan.thread = pthread_self();
    s->asked.policy = acu_policy_retain(options->policy);
    s->asked.priority = options->priority;
    s->asked.stream = acu_stream_retain(stream ? stream : options->stream);
    s->asked.warm = options->warm;
    if (options->pool)
        *(options->pool->kind == ACU_MEMORY_DEVICE ? &s->plan.pool : &s->plan.pinned_pool) =
            options->pool;
    if (future) {
        future->submission = s;
        s->future = future;
        s->planning.serial = future->scheduled.serial;
        keep(future);
        if (!future->how.waited)
            acui_refs_list(&s->open);
    }
    return s;
}

void acui_flush_planning(void)
{
    acui_submission *s = acui_planned_now;
    if (!s || s->planning.out_of_order || acui_enter_nodes(&s->plan) == ACU_OK)
        return;
    s->planning.out_of_order = acui_fault_new(acui_error());
}

static acu_status check_order(const acui_submission *s)
{
    const acui_fault *fault = s->planning.out_of_order;
    return fault ? acui_error_restore(&fault->error) : ACU_OK;
}

/* What a `then` of the outer submission has planned comes before what it submits now. */
static void begin_planning(acui_submission *s)
{
    acui_flush_planning();
    s->planning.outer = acui_planned_now;
    acui_planned_now = s;
    if (s->asked.name[0])
        acui_nvtx_push(s->asked.name);
}

static void end_planning(acui_submission *s)
{
    acui_planned_now = s->planning.outer;
    if (s->asked.name[0])
        acui_nvtx_pop();
}

/* Planning failed: of its plan nothing will run that is not on its way already. */
static void abandon(acui_submission *s, acui_values *values, acui_results *results)
{
    acui_fault *fault = acui_fault_new(acui_error());
    acui_plan_publish(&s->plan, fault);
    acui_fault_release(fault);
    acui_values_clear(values);
    acui_results_clear(results);
    s->planning.stage = ACUI_ABANDONED;
    if (s->future) { /* s->future stays: tasks that are on their way may be looking at it */
        s->future->submission = NULL;
        if (s->future->how.waited)
            acui_future_keep(s->future); /* nobody waits for it any more: the submission holds it */
        else
            acui_submission_put(s);
    }
}

acu_device *acui_submit_device(acu_device *device, const acu_submit_options *options,
                               acu_stream *stream)
{
    if (device)
        return device;
    if (options->policy)
        return acu_policy_device(options->policy);
    stream = stream ? stream : options->stream;
    return stream ? acu_stream_device(stream) : NULL;
}

/* The submission is planned; its own count of `open` ends. */
static void close_planned(acui_submission *s, const acu_device *fallback)
{
    struct acui_holder *kept = acui_submission_makes(s) ? acui_memory_planned(s) : NULL;
    acu_device *device = kept ? s->memory.device : NULL; /* else its issuer may be writing it */
    bool retained = kept && device != fallback;          /* `fallback` is held by the caller */
    if (retained)
        acu_device_retain(device);
    acui_submission_close(s);
    if (kept)
        acui_run_tasks(acui_memory_let_go(device, kept));
    if (retained)
        acu_device_release(device);
}

/* It was cancelled, or was too late, before its turn came: none of it is issued. It takes its place
 * in the order all the same, since whoever reads what it was to write must learn of that. */
static void give_up_early(acui_submission *s)
{
    acu_future *future = s->future;
    if (future && future->how.early && acui_future_state_of(future) == ACUI_FUTURE_DONE)
        acui_give_up(s, future->fault);
}

acu_status acui_submit_here(acu_device *device, acu_op *op, const acu_submit_options *options,
                            acu_stream *stream, acu_future *future)
{
    acu_device *fallback = acui_submit_device(device, options, stream);
    acu_status status = acui_reactor_start();
    /* Before planning: an op that the program keeps is planned only once, whatever becomes of
     * it. */
    if (status == ACU_OK && options->refuse_when_full)
        status = acui_check_room(fallback, 0, true);
    if (status == ACU_ERR_FULL)
        return status;
    if (status == ACU_OK && (stream || options->stream))
        status = acui_stream_check_capture(stream ? stream : options->stream);
    acui_submission *s = status == ACU_OK ? acui_submission_new(options, stream, future) : NULL;
    if (!s) {
        acui_op_put(op);
        return status == ACU_OK ? ACU_ERR_NO_MEMORY : status;
    }
    give_up_early(s);
    alignas(max_align_t) char transient[TRANSIENT] = {0};
    acui_arena_begin(&s->plan.transient, transient, sizeof transient);
    acu_val few[ACUI_FEW_RESULTS];
    acui_values values = {
        .list = few, .room = ACUI_FEW_RESULTS, .unwanted = !future || future->how.unwanted,
        .lent = true};
    acui_results results = {.count = 0};
    const acui_op_class *class = op->class; /* the op may be gone once it is planned */
    acu_site site = op->site;
    acui_memory_plan(s);
    begin_planning(s);
    status = acui_plan_op(&s->plan, op, fallback, &values);
    s->planning.stage = ACUI_PLANNED;
    if (status == ACU_OK)
        status = check_order(s);
    if (status == ACU_OK && future && s->plan.passes_on)
        status = acui_plan_await(&s->plan, &(acu_op){.class = class, .site = site}, fallback,
                                 &values);
    if (status == ACU_OK && !values.unwanted)
        status = acui_results_make(&values, &results);
    if (status == ACU_OK)
        status = acui_enter_nodes(&s->plan);
    end_planning(s);
    acui_plan_drop_transient(&s->plan);
    if (status == ACU_OK) {
        acui_count_submitted();
        s->planning.stage = ACUI_SUBMITTED;
        acui_record_planned(s);
        acui_values_clear(&values);
        if (future)
            acui_future_give_results(future, &results);
    } else {
        acu_error record = *acui_error(); /* releasing must not change what the caller sees */
        if (record.status == ACU_ERR_FULL) /* of a load, say: a FULL submit keeps the op */
            record.status = ACU_ERR_LIMIT;
        abandon(s, &values, &results);
        close_planned(s, fallback);
        return acui_error_restore(&record);
    }
    close_planned(s, fallback);
    return ACU_OK;
}

acu_status acui_submit(acu_device *device, acu_op *op, const acu_submit_options *options,
                       acu_stream *stream, acu_future *future)
{
    acu_status status;
    if (acui_policy_asking()) {
        acui_op_put(op);
        return acui_fail(ACU_ERR_IN_CALLBACK,
                         "a policy's function may not submit: it is asked while "
                         "a submission is planned");
    }
    if (acui_planned_now && acui_stack_is_short()) { /* a `then` that submits, and so on */
        acui_op_put(op);
        return acui_fail(ACU_ERR_LIMIT, ACUI_NO_STACK);
    }
    if (!acui_planned_now && acui_runtime_submit(device, op, options, stream, future, &status))
        return status;
    return acui_submit_here(device, op, options, stream, future);
}

/* ---- the public functions ---- */

/* What was made before a reset: a submission to the new device would pass over it in silence. A
 * device that is only lost is left to the work on it. */
static acu_status check_age(const acu_device *device)
{
    bool stale = device && atomic_load_explicit(&device->stale, memory_order_acquire);
    return stale ? acui_device_check(device) : ACU_OK;
}

static acu_status check_options(acu_device *device, const acu_submit_options *given,
                                acu_submit_options *options, const char *function)
{
    ACUI_TRY(acui_options_read(options, sizeof *options, given, function));
    if (device)
        ACUI_TRY(acui_object_check(device, ACU_OBJECT_DEVICE, function));
    if (options->policy)
        ACUI_TRY(acui_object_check(options->policy, ACU_OBJECT_POLICY, function));
    if (options->stream) {
        ACUI_TRY(acui_object_check(options->stream, ACU_OBJECT_STREAM, function));
        ACUI_TRY(acui_stream_check_any(options->stream, function));
    }
    if (options->queue)
        ACUI_TRY(acui_object_check(options->queue, ACU_OBJECT_QUEUE, function));
    if (options->pool)
        ACUI_TRY(acui_object_check(options->pool, ACU_OBJECT_POOL, function));
    if (options->pool && options->pool->kind == ACU_MEMORY_MANAGED)
        return acui_fail(ACU_ERR_INVALID, "%s: no op allocates managed memory", function);
    if (options->policy && options->stream)
        return acui_fail(ACU_ERR_INVALID, "%s: a policy and a stream were given; choose one",
                         function);
    ACUI_TRY(check_age(acu_policy_device(options->policy)));
    ACUI_TRY(check_age(acu_stream_device(options->stream)));
    return check_age(options->pool ? options->pool->device : NULL);
}

acu_status acui_submit_public(acu_device *device, acu_op *op, const acu_submit_options *given,
                              unsigned how, const char *function, acu_future **future)
{
    const acui_op_class taker = {.name = function};
    if (acui_forked())
        return acui_refuse_fork(function);
    acu_submit_options options;
    acu_op *taken = acui_op_take(op, &taker, (acu_site){0});
    acu_future *f = NULL;
    acu_status status = check_options(device, given, &options, function);
    if (status == ACU_OK && acui_issuing())
        status = acui_fail(ACU_ERR_IN_CALLBACK,
                           "%s: a foreign call may not submit: the stream that "
                           "it enqueues on is taken until it returns",
                           function);
    if (status == ACU_OK && (future || options.timeout || options.queue))
        status = acui_future_new(&f);
    if (f) { /* all before the deadline is set, which may pass at once: see `early` */
        f->how.given = future != NULL;
        f->how.unwanted = how & ACUI_UNWANTED && !options.queue; /* who takes may ask, too */
        f->how.waited = how & ACUI_WAITED;
        f->how.early = options.timeout != 0;
    }
    if (status == ACU_OK && options.queue)
        status = acui_queue_prepare(f, options.queue, options.tag);
    if (status == ACU_OK && options.timeout) {
        acui_future_note(f, taken, options.name);
        status = acui_deadline_set(f, options.timeout);
    }
    if (status != ACU_OK) {
        acui_op_put(taken);
        if (f && options.queue)
            acui_queue_forget(f);
        acu_future_release(f);
        return status;
    }
    if (options.queue)
        /* The reactor wakes up while the work goes to the device. */
        acui_flight_expect(acui_submit_device(device, &options, NULL));
    status = acui_submit(device, taken, &options, NULL, f);
    bool full = status == ACU_ERR_FULL;
    if (status != ACU_OK) {
        if (!acui_error()->file && !acui_error()->op[0]) /* it is about no op, but about the call */
            acui_error_by(status, function);
        acui_log_record(ACU_LOG_DEBUG, "submit", acui_error());
        acui_deadline_drop(f);
        /* The queue has already told that the deadline passed: one outcome is enough. */
        if (options.queue && !acui_queue_forget(f))
            status = ACU_OK;
    }
    if (full && status == ACU_OK)
        acui_op_put(taken);
    else if (full)
        acui_op_give_back(op, taken);
    if (status == ACU_OK && future)
        *future = f;
    else
        acu_future_release(f);
    return status;
}

acu_status acu_submit(acu_device *device, acu_op *op, const acu_submit_options *given,
                      acu_future **future)
{
    return acui_submit_public(device, op, given, 0, __func__, future);
}
