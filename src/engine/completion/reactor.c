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
#include "base/nap.h"
#include "base/park.h"
#include "base/threads.h"
#include "engine/completion/complete.h"
#include "engine/completion/flight.h"
#include "engine/completion/queue.h"
#include "engine/host/host.h"
#include "engine/issue/batch.h"
#include "engine/issue/graphs.h"
#include "engine/issue/issue.h"
#include "engine/order/order.h"
#include "engine/report/report.h"
#include "engine/report/story.h"
#include "engine/submit/runtime.h"
#include "device/loader.h"

#include <sched.h>
#include <sys/prctl.h>

#define BATCH 64 /* streams looked at between two takings of the lock */

static struct { /* under the flight lock */
    bool running, stop;
    bool alone; /* it may use one core only: spinning would keep others from working */
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
            acui_trace_span("callback", notice->future, from);
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

/* Stay awake until `time`, or something comes into flight. Flight lock held, given up meanwhile. */
static void stay_awake(uint64_t time)
{
    uint64_t seen = acui_flight_changes();
    acui_flight_unlock();
    while (acui_flight_changes() == seen && !acui_flight_is_written() && acui_now() < time)
        acui_spin_pause();
    acui_flight_lock();
}

/* Until `next`, when a stream is due. Flight lock held, given up meanwhile. */
static void rest(uint64_t next)
{
    uint64_t now = acui_now(), expected = acui_flight_expected();
    next = sooner(next, acui_deadlines_next());
    if (expected > now)
        stay_awake(sooner(next, expected));
    else if (!reactor.alone && next < now + ACUI_PAUSE)
        stay_awake(next);
    else {
        if (next == ACU_FOREVER) { /* the process may have been pinned since */
            reactor.alone = has_one_core();
            acui_flight_one_core(reactor.alone);
        }
        acui_flight_sleep(next);
    }
}

/* One turn: callbacks, then streams, then rest. Flight lock held, given up meanwhile. */
static void turn(void)
{
    acu_stream *streams[BATCH];
    uint64_t next;
    acui_notice *notices = reactor.notices;
    reactor.notices = NULL;
    reactor.notices_end = &reactor.notices;
    size_t n = acui_flight_due(streams, BATCH, acui_now(), &next);
    acui_flight_unlock();
    call_notices(notices);
    acui_deadlines_pass();
    for (size_t i = 0; i < n; i++)
        acui_harvest(streams[i], 0);
    acui_flight_let_go(streams, n);
    acui_flight_lock();
    if (n == 0 && !notices && !reactor.notices && !reactor.stop)
        rest(next);
}

static void *run(void *unused)
{
    (void)unused;
    prctl(PR_SET_TIMERSLACK, 1000UL); /* ns, of this thread: the usual 50 us are far too late
                                       * here */
    acui_flight_lock();
    reactor.alone = has_one_core();
    acui_flight_one_core(reactor.alone);
    while (!reactor.stop || reactor.notices)
        turn();
    acui_flight_unlock();
    return NULL;
}

void acui_reactor_notify(acui_notice *notices)
{
    if (!notices)
        return;
    acui_flight_lock();
    uint64_t given = atomic_load_explicit(&reactor.given, memory_order_relaxed);
    *reactor.notices_end = notices;
    for (; *reactor.notices_end; given++)
        reactor.notices_end = &(*reactor.notices_end)->next;
    atomic_store_explicit(&reactor.given, given, memory_order_release);
    acui_reactor_call();
    acui_flight_unlock();
    acui_flight_wake();
}

bool acui_reactor_settle(uint64_t deadline)
{
    uint64_t given = atomic_load_explicit(&reactor.given, memory_order_acquire);
    if (acui_passage_reached(&called, given))
        return true;
    acui_flight_lock();
    acui_reactor_call();
    bool comes = reactor.running;
    acui_flight_unlock();
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
 *     on its device until then, and giving up counts by itself (acui_beside).
 *   - What comes later than all that begins anew, like a first submission, and the next last close
 *     ends what that starts. `started` is a hint that may be old by the time that the submission is
 *     in flight: so streams and notices are put in their lists together with acui_reactor_call.
 */

static acu_status drain(acu_device *device)
{
    acui_order_lock(); /* against acu_device_reset: what was entered before this is counted */
    acui_order_unlock();
    acu_status status = acui_wait_idle(device, ACU_FOREVER);
    acui_build_drain(device);
    return status;
}

/* False: it did not run. Else this thread stands in its place until reactor_ended. */
static bool end_reactor(void)
{
    acui_flight_lock();
    bool running = reactor.running;
    reactor.stop = running; /* else somebody may start it, and it stays */
    atomic_store_explicit(&started, false, memory_order_seq_cst);
    acui_flight_unlock();
    acui_flight_wake();
    if (running)
        pthread_join(reactor.thread, NULL);
    return running;
}

static void reactor_ended(void)
{
    acui_flight_lock();
    reactor.running = reactor.stop = false;
    acui_flight_unlock();
}

static void end_threads(void)
{
    acui_runtime_stop();
    acui_issuer_stop();
    acui_loader_stop();
    acui_worker_stop();
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
    bool busy = acui_beside(); /* first: what such threads have told is seen below */
    acui_flight_lock();
    busy |= acui_flight_first() || reactor.notices || reactor.running;
    acui_flight_unlock();
    return busy || acui_runtime_busy() || acui_issuer_busy() || acui_loader_busy() ||
           acui_worker_busy() || acui_stage_busy() || acui_build_busy() || acui_blocked_busy();
}

/* The system has no thread left for the reactor: this one does what is there now. */
static void stand_in(void)
{
    acui_flight_lock();
    bool free = !reactor.running;
    if (free) {
        reactor.running = reactor.stop = true;
        turn();
        reactor.running = reactor.stop = false;
    }
    acui_flight_unlock();
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
    acui_trace_rest();
    acui_error_back(was);
}

/* What waits for a module goes on, whatever became of the load. */
static acui_task *loaded(acui_point *point)
{
    return acui_free_followers(point, true);
}

void acui_reactor_call(void)
{
    if (!reactor.running)
        reactor.running = acui_thread_start(&reactor.thread, "acuda-reactor", run);
    /* Relaxed: stored under the lock. A thread that stops the reactor looks again after that. */
    if (reactor.running && !reactor.stop &&
        !atomic_load_explicit(&started, memory_order_relaxed))
        atomic_store_explicit(&started, true, memory_order_seq_cst);
}

acu_status acui_reactor_start(void)
{
    static const acui_load_hooks load_hooks = {.followers = loaded, .run = acui_run_tasks};
    static const acui_close_hooks hooks = {.drain = drain,
                                           .stop = stop,
                                           .wait = acui_wait_passed,
                                           .settle = acui_backlog_settle};
    static bool prepared; /* flight lock */
    if (atomic_load_explicit(&started, memory_order_seq_cst))
        return ACU_OK;
    acui_set_load_hooks(&load_hooks);
    acui_flight_lock();
    if (!prepared) {
        acui_set_close_hooks(&hooks);
        acui_set_suspect(acui_suspect);
        prepared = true;
    }
    acui_reactor_call();
    bool running = reactor.running;
    acui_flight_unlock();
    if (!running)
        return acui_fail(ACU_ERR_NO_MEMORY, "acuda's thread could not be started: %s",
                         acui_thread_words((char[ACUI_THREAD_WORDS]){0}));
    return ACU_OK;
}
