/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Waiting: a thread that waits looks for itself, first without pause, then when it pays (flight.h),
 * and sleeps in between until anything completes.
 */
#include "base/callback.h"
#include "base/clock.h"
#include "base/done.h"
#include "base/error.h"
#include "base/options.h"
#include "device/loader.h"
#include "engine/completion/complete.h"
#include "engine/flight/flight.h"
#include "engine/host/host.h"
#include "engine/order/order.h"
#include "engine/report/record.h"

#include <acuda/explain.h>
#include <sys/prctl.h>

/* Looks between two readings of the clock: that takes 25 ns, and reading a flag next to nothing. */
enum { LOOKS = 64 };

/* How long to look without pause for work of unknown length. */
static _Atomic(uint64_t) spin = ACUI_SPIN_MOST; /* relaxed: a guess */

static void note_spin(uint64_t waited, bool blocked)
{
    uint64_t now = atomic_load_explicit(&spin, memory_order_relaxed);
    uint64_t then = acui_spin_after(now, waited, blocked);
    if (then != now)
        atomic_store_explicit(&spin, then, memory_order_relaxed);
}

/* Timers may wake a thread 50 us late, unless it asks for better. */
static void sleep_until(uint32_t seen, uint64_t time, bool sharply)
{
    int slack = sharply ? prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0) : 0;
    if (slack > 1000)
        prctl(PR_SET_TIMERSLACK, 1000UL, 0, 0, 0);
    acui_done_sleep(seen, time);
    uint64_t now = acui_now();
    if (sharply && time <= now)
        acui_flight_woke(now - time);
    if (slack > 1000)
        prctl(PR_SET_TIMERSLACK, (unsigned long)slack, 0, 0, 0);
}

/* Whether this thread is about to sleep, from now on. */
static bool say_about(bool before, bool about)
{
    if (about && !before)
        acui_done_begin();
    if (before && !about)
        acui_done_end();
    return about;
}

static acu_status wait_long(acui_look_fn look, acui_next_fn next, void *context, uint64_t timeout)
{
    uint64_t start = acui_now(), now = start, deadline = acui_deadline_from(start, timeout);
    uint64_t most = atomic_load_explicit(&spin, memory_order_relaxed), ask = ACUI_ASK_AFTER;
    acu_status status;
    bool slept = false, blocked = false;
    bool about = false; /* to sleep, if the look is in vain */
    for (;;) {
        uint32_t seen = about ? acui_done_count() : 0;
        status = look(context, now);
        if (status != ACU_NOT_READY)
            break;
        now = acui_now();
        uint64_t waited = now - start;
        if (now >= deadline) {
            status = ACU_TIMEOUT;
            break;
        }
        if (waited < ask)
            continue;
        uint64_t then = next(context, now, waited < most ? ACU_FOREVER : 0, &start);
        if (then != ACUI_BLOCK && then < now + ACUI_PAUSE) {
            ask = now - start + ACUI_ASK_GAP;
            about = say_about(about, false);
            continue;
        }
        if (then != ACUI_BLOCK && !about) {
            about = say_about(about, true);
            continue;
        }
        ask = ACUI_ASK_AFTER;
        slept = true;
        blocked = then >= ACUI_BLOCK;
        if (then != ACUI_BLOCK)
            sleep_until(seen, then < deadline ? then : deadline, then < deadline);
        about = say_about(about, false);
        now = acui_now();
    }
    say_about(about, false);
    if (status != ACU_TIMEOUT && (blocked || !slept)) /* else its length was known */
        note_spin(now - start, blocked);
    return status;
}

acu_status acui_wait_until(acui_look_fn look, acui_next_fn next, void *context, uint64_t timeout)
{
    acu_status first = look(context, 0); /* often it is over already: that needs no clock */
    if (first != ACU_NOT_READY)
        return first;
    acui_streak_end();
    uint64_t from = acui_trace_from();
    acu_status status = wait_long(look, next, context, timeout);
    if (from)
        acui_trace_span("wait", NULL, from, acui_now());
    return status;
}

/* `nap`: how long to sleep while nothing is on a stream. */
static uint64_t next_of_all(uint64_t now, uint64_t spin_for, uint64_t nap)
{
    uint64_t next = acui_flight_wait_for_any(now, spin_for, true);
    return next ? next : spin_for ? now : now + nap;
}

uint64_t acui_next_of_any(void *context, uint64_t now, uint64_t spin_for, uint64_t *start)
{
    (void)context, (void)start;
    return next_of_all(now, spin_for, ACUI_NAP_MOST);
}

uint64_t acui_next_of_futures(void *context, uint64_t now, uint64_t spin_for, uint64_t *start)
{
    (void)context, (void)start;
    return next_of_all(now, spin_for, ACUI_HELD_MOST);
}

/* ---- one future ---- */

typedef struct single {
    acu_future *future;
    bool asked;     /* it was asked whether the device can write flags */
    bool flags;     /* it writes one when the future's work is over */
    uint64_t again; /* when to ask the driver anyway, for bad news; 0: not fixed yet */
    uint64_t since, nap; /* while it is on no stream: when that was first seen; the last nap */
    bool may_block;      /* nobody else can end it: so this thread may wait in the driver */
    acui_own_work *own; /* what this thread itself does of it; NULL: nothing */
} single;

static int state_of(const acu_future *future)
{
    return atomic_load_explicit(&future->state, memory_order_acquire);
}

/* Have the device say when it is over. `fresh`: only if it was issued just now; then a question to
 * the driver would be in vain, and the device would be told later. */
static void ask_for_flags(single *s, bool fresh)
{
    acui_end end = {.number = 0};
    if (s->asked || state_of(s->future) != ACUI_FUTURE_RUNNING)
        return;
    if (atomic_load_explicit(&s->future->flagged, memory_order_acquire)) {
        s->asked = s->flags = true;
        return;
    }
    acu_stream *stream = acui_flight_end_of(s->future->submission, &end);
    if (fresh && (!stream || !end.last || acui_now() > end.issued_at + ACUI_FRESH))
        return;
    s->asked = true;
    s->flags = stream && acui_stream_prompt(stream, end.number);
}

/* Look for a moment whether the device, or a thread that looked, says that there is news. */
static bool is_written(const single *s)
{
    const acu_stream *stream = s->future->submission->lanes[0].stream;
    for (int i = 0; i < LOOKS; i++)
        if (acui_stream_flag_passed(stream) || state_of(s->future) == ACUI_FUTURE_DONE)
            return true;
    return false;
}

static acu_status look_one(void *context, uint64_t now)
{
    single *s = context;
    if (s->own)
        acui_own_work_look(s->own);
    ask_for_flags(s, true);
    if (s->flags && !is_written(s)) {
        if (s->again == 0 && now)
            s->again = now + ACUI_ASK;
        if (now)
            acui_looked(s->future->submission->lanes[0].stream, now);
        if (now == 0 || now < s->again)
            return ACU_NOT_READY;
    }
    acu_status status = acui_future_look(s->future, now);
    s->again = 0;
    if (status == ACU_NOT_READY)
        ask_for_flags(s, false);
    return status;
}

/* Have it announced when it is planned. False: it is, or it is over. */
static bool ask_for_call(acu_future *future)
{
    /* seq_cst, against acui_submission_started: one of the two sees the other. */
    atomic_store(&future->called, true);
    int state = atomic_load(&future->state);
    return state != ACUI_FUTURE_RUNNING && state != ACUI_FUTURE_DONE;
}

/* It is not on a stream yet. Another thread sees to that, mostly at once. `planned`: it will be
 * announced. */
static uint64_t next_of_held(single *one, uint64_t now, bool planned)
{
    if (!one->since)
        one->since = now;
    if (now - one->since < ACUI_SPIN_MOST || (!planned && !ask_for_call(one->future)))
        return now;
    one->nap = one->nap == 0 ? ACUI_NAP_LEAST : 2 * one->nap;
    one->nap = one->nap < ACUI_HELD_MOST ? one->nap : ACUI_HELD_MOST;
    return now + one->nap;
}

/* Once all of it is on the device, nothing else can end it: so this thread itself waits in the
 * driver. False: not now; or it could not, and need not try again. */
static bool block(single *one)
{
    const acui_submission *s = one->future->submission;
    acui_end end;
    acui_homes homes = acui_order_lock_all_of(&s->plan.homes);
    bool there = homes && s->order.sealed && !s->order.hosts && s->order.to_issue == 0;
    acui_order_unlock(homes);
    acu_stream *stream = there ? acui_flight_end_of(s, &end) : NULL;
    if (stream)
        one->may_block = acui_blocked_wait(stream, end.number);
    return stream && one->may_block;
}

/* Whatever ends first on one of its streams. How long the device takes counts from when it has the
 * work. */
static uint64_t next_one(void *context, uint64_t now, uint64_t spin_for, uint64_t *start)
{
    single *one = context;
    const acu_future *future = one->future;
    uint64_t first = 0;
    bool planned = state_of(future) == ACUI_FUTURE_RUNNING;
    if (planned) {
        /* Only when it is RUNNING: until then its submission is the planning thread's. */
        const acui_submission *s = future->submission;
        for (size_t i = 0; i < s->lane_count; i++) {
            acu_stream *stream = s->lanes[i].stream;
            uint64_t next = acui_flight_wait_for(stream, now, spin_for, one->may_block);
            if (next == ACUI_BLOCK)
                next = block(one) ? next : acui_flight_wait_for(stream, now, spin_for, false);
            first = first == 0 || (next && next < first) ? next : first;
        }
    }
    if (first == 0) {
        *start = now;
        return next_of_held(one, now, planned);
    }
    one->since = one->nap = 0;
    return first;
}

acu_status acu_future_wait(acu_future *future, uint64_t timeout)
{
    ACUI_CHECK(future, FUTURE);
    ACUI_TRY(acui_refuse_wait(__func__));
    single s = {.future = acui_future_keep(future)}; /* another thread may release it meanwhile */
    acu_status status = acui_wait_until(look_one, next_one, &s, timeout);
    acui_future_put(future);
    return status;
}

acu_status acui_wait_blocking(acu_future *future, acui_own_work *own)
{
    single s = {.future = future, .may_block = true, .own = own};
    acui_future_await(future);
    acu_status status = acui_wait_until(look_one, next_one, &s, ACU_FOREVER);
    acui_future_await(NULL);
    return status;
}

/* ---- several ---- */

typedef struct several {
    acu_future *const *list;
    size_t count, found; /* `found`, for all: those before it are over */
    acu_future *failed;  /* the first that failed; NULL: none */
} several;

static acu_status check_several(const several *futures, const char *function)
{
    if (!futures->list || futures->count == 0)
        return acui_fail(ACU_ERR_INVALID, "%s: no futures to wait for", function);
    for (size_t i = 0; i < futures->count; i++)
        ACUI_TRY(acui_object_check(futures->list[i], ACU_OBJECT_FUTURE, function));
    ACUI_TRY(acui_refuse_wait(function));
    for (size_t i = 0; i < futures->count; i++)
        ACUI_TRY(acui_future_begin(futures->list[i]));
    return ACU_OK;
}

/* Other threads may release some of them meanwhile. */
static acu_status wait_for_several(several *futures, acui_look_fn look, uint64_t timeout)
{
    for (size_t i = 0; i < futures->count; i++)
        acui_future_keep(futures->list[i]);
    acu_status status = acui_wait_until(look, acui_next_of_futures, futures, timeout);
    for (size_t i = 0; i < futures->count; i++)
        acui_future_put(futures->list[i]);
    return status;
}

static acu_status look_all(void *context, uint64_t now)
{
    (void)now;
    several *all = context;
    acui_look_everywhere();
    for (; all->found < all->count; all->found++) {
        acu_status status = acui_future_outcome(all->list[all->found]);
        if (status == ACU_NOT_READY)
            return status;
        if (!all->failed && status != ACU_OK)
            all->failed = all->list[all->found];
    }
    return all->failed ? acui_future_outcome(all->failed) : ACU_OK; /* with its record */
}

acu_status acu_wait_all(acu_future *const *futures, size_t count, uint64_t timeout)
{
    several all = {.list = futures, .count = count};
    ACUI_TRY(check_several(&all, __func__));
    return wait_for_several(&all, look_all, timeout);
}

static acu_status look_any(void *context, uint64_t now)
{
    (void)now;
    several *any = context;
    acui_look_everywhere();
    for (size_t i = 0; i < any->count; i++) {
        acu_status status = acui_future_outcome(any->list[i]);
        if (status != ACU_NOT_READY) {
            any->found = i;
            return status;
        }
    }
    return ACU_NOT_READY;
}

acu_status acu_wait_any(acu_future *const *futures, size_t count, uint64_t timeout, size_t *index)
{
    several any = {.list = futures, .count = count, .found = count};
    ACUI_TRY(check_several(&any, __func__));
    acu_status status = wait_for_several(&any, look_any, timeout);
    if (index && any.found < count)
        *index = any.found;
    return status;
}

/* ---- a device ---- */

typedef struct idling {
    acu_device *device;
    uint64_t target; /* of the device's epochs; 0: until there is nothing */
} idling;

static bool is_empty(const void *of, unsigned epoch)
{
    const acu_device *device = of;
    /* Acquire: what its tasks held is released. */
    uint64_t ended = atomic_load_explicit(&device->work.ended[epoch], memory_order_acquire);
    return (uint32_t)ended == device->engine->entered[epoch];
}

static bool has_passed(acu_device *device, uint64_t target)
{
    acui_order_lock(acui_home_of(device));
    bool passed = acui_epochs_reach(&device->engine->epochs, target, is_empty, device);
    acui_order_unlock(acui_home_of(device));
    return passed;
}

static uint64_t target_now(acu_device *device)
{
    acui_order_lock(acui_home_of(device));
    uint64_t target = acui_epochs_target(&device->engine->epochs);
    acui_order_unlock(acui_home_of(device));
    return target;
}

static acu_status look_idle(void *context, uint64_t now)
{
    (void)now;
    const idling *i = context;
    acui_look_everywhere();
    bool busy = i->target ? !has_passed(i->device, i->target) : acui_in_flight(i->device) > 0;
    return busy || acui_completing() ? ACU_NOT_READY : ACU_OK;
}

static acu_status wait_until_idle(acu_device *device, uint64_t timeout, bool passed)
{
    uint64_t deadline = acui_deadline(timeout);
    if (acui_runtime_settle(timeout) != ACU_OK || !acui_loader_await(device, deadline))
        return ACU_TIMEOUT;
    uint64_t now = acui_now();
    if (timeout != ACU_FOREVER)
        timeout = deadline > now ? deadline - now : 0;
    idling i = {.device = device, .target = passed ? target_now(device) : 0};
    acu_status status = acui_wait_until(look_idle, acui_next_of_any, &i, timeout);
    return status == ACU_OK && !acui_reactor_settle(deadline) ? ACU_TIMEOUT : status;
}

acu_status acui_wait_idle(acu_device *device, uint64_t timeout)
{
    return wait_until_idle(device, timeout, false);
}

acu_status acui_wait_passed(acu_device *device, uint64_t timeout)
{
    return wait_until_idle(device, timeout, true);
}
