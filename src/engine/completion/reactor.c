/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The reactor: a thread that looks at streams with work in flight while nobody else does, so that
 * followers start, memory goes back and completion callbacks run. Threads that wait look for
 * themselves and do not depend on it.
 *
 * It never blocks in the driver. It looks at a stream when due.c says that it pays: soon if
 * somebody wants to be told, now and then if not. It sleeps until the next stream is due; if
 * nothing has been in flight for a while, until it is woken.
 */
#include "base/alloc.h"
#include "base/callback.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/handover.h"
#include "base/nap.h"
#include "base/park.h"
#include "base/threads.h"
#include "device/loader.h"
#include "engine/completion/complete.h"
#include "engine/completion/queue.h"
#include "engine/flight/flight.h"
#include "engine/host/host.h"
#include "engine/issue/dispatch.h"
#include "engine/issue/graphs.h"
#include "engine/issue/issue.h"
#include "engine/order/order.h"
#include "engine/report/record.h"
#include "engine/report/report.h"

#include <sched.h>
#include <sys/prctl.h>

#define BATCH 64 /* streams looked at between two takings of the lock */

static struct {
    acui_lock lock; /* a leaf, taken with a device's flight lock held; of all but `one_core` */
    bool running, stop;
    bool one_core; /* it may use one core only, where spinning keeps others from work; the
                    * reactor's */
    pthread_t thread;
    acui_notice *notices, **notices_end;
    /* How many notices it ever got. Stored with release, under the lock; loaded with acquire,
     * without it, by threads that wait until those notices were called (acui_reactor_settle). */
    _Atomic(uint64_t) given;
} reactor = {.notices_end = &reactor.notices};

static acui_passage called; /* how many of them were called and released */

/* It runs, and was not told to stop: threads that submit find out without the lock. seq_cst,
 * against the last close, which clears it and, once the threads have ended, looks whether anything
 * is left (is_busy). */
static _Atomic(bool) started;

/* ---- the thread ---- */

static void call_notices(acui_notice *notice)
{
    while (notice) {
        acui_notice *next = notice->next;
        uint64_t from = acui_trace_from();
        acui_callback_enter();
        notice->fn(notice->user.data, notice->future, notice->future->status);
        acui_callback_leave();
        if (from)
            acui_trace_span("callback", notice->future, from, acui_now());
        acui_notice_free(notice);
        acui_passage_set(&called, atomic_load_explicit(&called.count, memory_order_relaxed) + 1);
        notice = next;
    }
}

static bool has_one_core(void)
{
    cpu_set_t cores;
    return sched_getaffinity(0, sizeof cores, &cores) == 0 && CPU_COUNT(&cores) == 1;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Stay awake until `time`, or something comes into flight: then there were more than `seen`
 * changes. */
static void stay_awake(uint64_t time, uint64_t seen)
{
    while (acui_flight_changes() == seen && !acui_flight_is_written() && acui_now() < time)
        acui_spin_pause();
}

/* Until `next`, when a stream is due, as that was after so many changes. */
static void rest(uint64_t next, uint64_t changes)
{
    uint64_t now = acui_now(), expected = acui_flight_expected();
    next = sooner(next, acui_deadlines_next());
    if (expected > now)
        stay_awake(sooner(next, expected), changes);
    else if (!reactor.one_core && next < now + ACUI_PAUSE)
        stay_awake(next, changes);
    else {
        if (next == ACU_FOREVER) { /* the process may have been pinned since */
            reactor.one_core = has_one_core();
            acui_flight_one_core(reactor.one_core);
        }
        acui_flight_sleep(next);
    }
}

static acui_notice *take_notices(void)
{
    acui_lock_take(&reactor.lock);
    acui_notice *notices = reactor.notices;
    reactor.notices = NULL;
    reactor.notices_end = &reactor.notices;
    acui_lock_give(&reactor.lock);
    return notices;
}

/* Whether there is nothing to do but to look at streams. Whoever changes that wakes the reactor
 * afterwards. */
static bool may_rest(void)
{
    acui_lock_take(&reactor.lock);
    bool may = !reactor.notices && !reactor.stop;
    acui_lock_give(&reactor.lock);
    return may;
}

/* One turn: callbacks, then streams, then rest. */
static void turn(void)
{
    acu_stream *streams[BATCH];
    uint64_t next, changes = acui_flight_changes();
    size_t n = acui_flight_due(streams, BATCH, acui_now(), &next);
    acui_notice *notices = take_notices();
    call_notices(notices);
    acui_deadlines_pass();
    for (size_t i = 0; i < n; i++)
        acui_harvest(streams[i], 0);
    acui_flight_let_go(streams, n);
    if (n == 0 && !notices && may_rest())
        rest(next, changes);
}

static bool is_to_go_on(void)
{
    acui_lock_take(&reactor.lock);
    bool on = !reactor.stop || reactor.notices;
    acui_lock_give(&reactor.lock);
    return on;
}

static void *run(void *unused)
{
    (void)unused;
    prctl(PR_SET_TIMERSLACK, 1000UL); /* ns, of this thread: the usual 50 us are far too late
                                       * here */
    reactor.one_core = has_one_core();
    acui_flight_one_core(reactor.one_core);
    while (is_to_go_on())
        turn();
    return NULL;
}

/* Start it, unless it runs. The lock held. */
static void call_reactor(void)
{
    if (!reactor.running)
        reactor.running = acui_thread_start(&reactor.thread, "acuda-reactor", run);
    /* Relaxed: stored under the lock. A thread that stops the reactor looks again after that. */
    if (reactor.running && !reactor.stop &&
        !atomic_load_explicit(&started, memory_order_relaxed))
        atomic_store_explicit(&started, true, memory_order_seq_cst);
}

void acui_reactor_notify(acui_notice *notices)
{
    if (!notices)
        return;
    acui_lock_take(&reactor.lock);
    uint64_t given = atomic_load_explicit(&reactor.given, memory_order_relaxed);
    *reactor.notices_end = notices;
    for (; *reactor.notices_end; given++)
        reactor.notices_end = &(*reactor.notices_end)->next;
    atomic_store_explicit(&reactor.given, given, memory_order_release);
    call_reactor();
    acui_lock_give(&reactor.lock);
    acui_flight_wake();
}

bool acui_reactor_settle(uint64_t deadline)
{
    uint64_t given = atomic_load_explicit(&reactor.given, memory_order_acquire);
    if (acui_passage_reached(&called, given))
        return true;
    acui_lock_take(&reactor.lock);
    call_reactor();
    bool comes = reactor.running;
    acui_lock_give(&reactor.lock);
    return !comes || acui_passage_await(&called, given, deadline);
}

/* ---- starting and ending ---- */

/*
 * The end of acuda's threads, in the last close. Meanwhile callbacks of the last turns may submit
 * again, and threads of the program may cancel, release, or submit for a device that they hold.
 * What holds:
 *
 *   - Each thread has a list of what it is to do, with a lock: a ring, host work, copies, jobs,
 *     notices, streams in flight. Whoever puts something there starts the thread, unless it runs;
 *     it counts as running until it was joined, which is written under that lock.
 *   - What is there when the thread is told to stop, it does. What comes after it has left its loop
 *     is done by the thread that joins it (runtime threads, the worker, staging, the loader), or is
 *     found (is_busy). So nothing stays in a list that nobody goes through, and no thread is
 *     started twice.
 *   - What one thread does may give others something to do, in a circle. So the end is tried again
 *     until, after all were joined, none was started and nothing is there. Only the thread that
 *     closes joins, under the lock of opening: a thread that ran when it began to look still counts
 *     as running.
 *   - A thread that is about to tell of an end is waited for: what it completes counts as in flight
 *     on its device until then, and giving up counts by itself (acui_completing).
 *   - What comes later than all that begins anew, like a first submission, and the next last close
 *     ends what that starts. `started` is a hint that may be old by the time that the submission is
 *     in flight: so streams and notices are put in their lists together with acui_reactor_call.
 */

static acu_status drain(acu_device *device)
{
    /* Against acu_device_reset: what was entered before this is counted. */
    acui_order_lock(acui_home_of(device));
    acui_order_unlock(acui_home_of(device));
    acu_status status = acui_wait_idle(device, ACU_FOREVER);
    acui_build_drain(device);
    return status;
}

/* False: it did not run. Else this thread stands in its place until reactor_ended. */
static bool end_reactor(void)
{
    acui_lock_take(&reactor.lock);
    bool running = reactor.running;
    reactor.stop = running; /* else somebody may start it, and it stays */
    atomic_store_explicit(&started, false, memory_order_seq_cst);
    acui_lock_give(&reactor.lock);
    acui_flight_wake();
    if (running)
        pthread_join(reactor.thread, NULL);
    return running;
}

static void reactor_ended(void)
{
    acui_lock_take(&reactor.lock);
    reactor.running = reactor.stop = false;
    acui_lock_give(&reactor.lock);
}

static void end_threads(void)
{
    acui_runtime_stop();
    acui_dispatch_stop();
    acui_loader_stop();
    acui_worker_stop();
    acui_aside_stop();
    acui_stage_stop();
    acui_build_stop();
    bool ended = end_reactor();
    acui_blocked_stop();
    acui_look_everywhere();
    acui_flight_drop_idle();
    acui_deadlines_end();
    if (ended)
        reactor_ended();
}

static bool is_busy(void)
{
    bool busy = acui_completing(); /* first: what such threads have told is seen below */
    busy |= acui_flight_is_any();
    acui_lock_take(&reactor.lock);
    busy |= reactor.notices || reactor.running;
    acui_lock_give(&reactor.lock);
    return busy || acui_runtime_busy() || acui_dispatch_busy() || acui_loader_busy() ||
           acui_worker_busy() || acui_aside_busy() || acui_stage_busy() || acui_build_busy() ||
           acui_blocked_busy();
}

/* The system has no thread left for the reactor: this one does what is there now. */
static void stand_in(void)
{
    acui_lock_take(&reactor.lock);
    bool free = !reactor.running;
    if (free)
        reactor.running = reactor.stop = true;
    acui_lock_give(&reactor.lock);
    if (!free)
        return;
    turn();
    reactor_ended();
}

/* The last callbacks may have submitted again: what came of that is finished first. */
static void stop(void)
{
    bool was = acui_error_aside();
    acui_nap nap = acui_nap_start(ACU_FOREVER);
    end_threads();
    while (is_busy()) {
        if (acui_reactor_start() != ACU_OK)
            stand_in();
        acui_nap_again(&nap);
        end_threads();
    }
    acui_error_back(was);
}

/* What waits for a module goes on, whatever became of the load. */
static acui_task *loaded(acui_point *point)
{
    return acui_free_followers(point, true);
}

void acui_reactor_call(void)
{
    acui_lock_take(&reactor.lock);
    call_reactor();
    acui_lock_give(&reactor.lock);
}

acu_status acui_reactor_start(void)
{
    static const acui_load_hooks load_hooks = {.followers = loaded, .run = acui_run_tasks};
    static const acui_close_hooks hooks = {.drain = drain,
                                           .stop = stop,
                                           .wait = acui_wait_passed,
                                           .settle = acui_backlog_settle};
    static bool prepared; /* the lock */
    if (atomic_load_explicit(&started, memory_order_seq_cst))
        return ACU_OK;
    acui_set_load_hooks(&load_hooks);
    acui_lock_take(&reactor.lock);
    if (!prepared) {
        acui_set_close_hooks(&hooks);
        acui_set_blame(acui_blame);
        prepared = true;
    }
    call_reactor();
    bool running = reactor.running;
    acui_lock_give(&reactor.lock);
    if (!running)
        return acui_fail(ACU_ERR_NO_MEMORY, "acuda's thread could not be started: %s",
                         acui_thread_words((char[ACUI_THREAD_WORDS]){0}));
    return ACU_OK;
}
