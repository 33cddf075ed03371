/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The reactor: a thread that looks at streams with work in flight while nobody else does, so that
 * followers start, memory goes back and completion callbacks run. Those who wait look for
 * themselves and do not depend on it.
 *
 * It never blocks in the driver. Between two looks it sleeps for a fraction of the time that the
 * youngest work has been running, at most NAP_MOST while somebody wants to be told and NAP_IDLE
 * while nobody does. When nothing has been in flight for a few such naps it sleeps until woken:
 * submissions that follow one another do not pay for waking it each time.
 */
#include "base/callback.h"
#include "base/clock.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/nap.h"
#include "engine/graphs.h"
#include "engine/queue.h"
#include "engine/runtime.h"
#include "engine/threads.h"

#include <sched.h>
#include <string.h>
#include <sys/prctl.h>

#define SPIN ACU_US(100) /* while work is younger, and somebody wants to be told, it does not sleep */
#define NAP_LEAST ACU_US(20)
#define NAP_MOST ACU_MS(1)
#define NAP_IDLE ACU_MS(5)
#define IDLE_NAPS 4 /* without anything in flight, before it sleeps for good */
#define BATCH 64 /* streams looked at between two takings of the lock */

static struct {
    pthread_mutex_t lock; /* the flight lock */
    pthread_cond_t wake;
    bool running, stop, hasten;
    bool lazy;   /* in a nap that nobody's wish to be told has shortened */
    bool asleep; /* until woken */
    unsigned idle_naps;
    bool alone;  /* the process has one core: who spins keeps others from working */
    pthread_t thread;
    acu_stream *active; /* streams with tasks; each retained */
    uint64_t sequence;  /* tasks watched so far */
    acui_notice *notices, **notices_end;
} reactor = {.lock = PTHREAD_MUTEX_INITIALIZER, .notices_end = &reactor.notices};

static _Atomic(bool) started; /* it runs, and was not told to stop */

/* ---- tasks on streams ---- */

void acui_reactor_watch(acu_stream *stream, acui_task *task)
{
    pthread_mutex_lock(&reactor.lock);
    if (stream->last_task)
        stream->last_task->next_on_stream = task;
    else
        stream->first_task = task;
    stream->last_task = task;
    task->sequence = ++reactor.sequence;
    if (!stream->active) {
        stream->active = true;
        acu_stream_retain(stream);
        acu_device_retain(stream->device); /* a pooled stream does not hold it */
        stream->next_active = reactor.active;
        reactor.active = stream;
        if (reactor.asleep)
            pthread_cond_signal(&reactor.wake);
    }
    pthread_mutex_unlock(&reactor.lock);
}

acui_task *acui_reactor_passed(acu_stream *stream, bool all)
{
    pthread_mutex_lock(&reactor.lock);
    acui_task *first = stream->first_task, **end = &stream->first_task;
    while (*end && (all || acui_stream_passed(stream, (*end)->number)))
        end = &(*end)->next_on_stream;
    if (end == &stream->first_task)
        first = NULL;
    acui_task *rest = *end;
    *end = NULL; /* cuts the list that is given away */
    stream->first_task = rest;
    if (!rest)
        stream->last_task = NULL;
    pthread_mutex_unlock(&reactor.lock);
    return first;
}

void acui_reactor_heads(const acu_device *device, void (*look)(const acui_task *, void *),
                        void *context)
{
    pthread_mutex_lock(&reactor.lock);
    for (acu_stream *stream = reactor.active; stream; stream = stream->next_active) {
        const acui_task *task = stream->device == device ? stream->first_task : NULL;
        while (task && acui_stream_passed(stream, task->number))
            task = task->next_on_stream;
        if (task)
            look(task, context);
    }
    pthread_mutex_unlock(&reactor.lock);
}

/* Up to BATCH active streams from `*from` on, retained; flight lock held. Idle ones are dropped
 * from the list into `idle` instead. */
static size_t take_active(acu_stream ***from, acu_stream **batch, acu_stream **idle, size_t *idles)
{
    size_t n = 0;
    *idles = 0;
    while (**from && n + *idles < BATCH) {
        acu_stream *stream = **from;
        if (!stream->first_task) {
            **from = stream->next_active;
            stream->active = false;
            idle[(*idles)++] = stream; /* takes the list's references */
            continue;
        }
        acu_device_retain(stream->device);
        batch[n++] = acu_stream_retain(stream);
        *from = &stream->next_active;
    }
    return n;
}

static void release_streams(acu_stream **streams, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        acu_device *device = streams[i]->device;
        acu_stream_release(streams[i]);
        acu_device_release(device);
    }
}

/* Look at every active stream; the time that the youngest of the oldest marks has been running, or
 * ACU_FOREVER if nothing is in flight. */
static uint64_t look(void)
{
    uint64_t youngest = ACU_FOREVER, now = acui_now();
    acu_stream *batch[BATCH], *idle[BATCH];
    size_t skip = 0;
    bool more = true;
    while (more) {
        pthread_mutex_lock(&reactor.lock);
        acu_stream **from = &reactor.active;
        for (size_t i = 0; i < skip && *from; i++)
            from = &(*from)->next_active;
        size_t idles, n = take_active(&from, batch, idle, &idles);
        more = *from != NULL;
        pthread_mutex_unlock(&reactor.lock);
        skip += n;
        for (size_t i = 0; i < n; i++) {
            size_t left = 0;
            uint64_t oldest = now;
            acui_harvest(batch[i], &left, &oldest);
            uint64_t age = oldest < now ? now - oldest : 0;
            if (left && age < youngest)
                youngest = age;
        }
        release_streams(batch, n);
        release_streams(idle, idles);
    }
    return youngest;
}

void acui_look_everywhere(void)
{
    look();
}

/* ---- the thread ---- */

static void call_notices(acui_notice *notice)
{
    while (notice) {
        acui_notice *next = notice->next;
        acui_callback_enter();
        notice->fn(notice->user.data, notice->future, notice->future->status);
        acui_callback_leave();
        acui_notice_free(notice);
        notice = next;
    }
}

static uint64_t nap_after(uint64_t age)
{
    uint64_t nap = age / 8, most = reactor.hasten ? NAP_MOST : NAP_IDLE;
    return nap < NAP_LEAST ? NAP_LEAST : nap > most ? most : nap;
}

/* At most until `time` (of acui_now), or the next deadline. Flight lock held, given up meanwhile. */
static void sleep_until(uint64_t time)
{
    uint64_t next = acui_deadlines_next();
    acui_cond_wait_until(&reactor.wake, &reactor.lock, next < time ? next : time);
}

/* Waking up takes longer than much of what is waited for. */
static bool spins(uint64_t age)
{
    return reactor.hasten && age < SPIN && !reactor.alone;
}

static bool has_one_core(void)
{
    cpu_set_t cores;
    return sched_getaffinity(0, sizeof cores, &cores) == 0 && CPU_COUNT(&cores) == 1;
}

/* Flight lock held, given up meanwhile. */
static void nap(uint64_t time)
{
    if (time == 0)
        return;
    reactor.idle_naps = 0;
    reactor.lazy = !reactor.hasten;
    sleep_until(acui_deadline(time));
    reactor.lazy = false;
}

/* Nothing is in flight. */
static void rest(void)
{
    reactor.hasten = false;
    if (reactor.idle_naps++ < IDLE_NAPS) {
        reactor.lazy = true;
        sleep_until(acui_deadline(NAP_IDLE));
        reactor.lazy = false;
        return;
    }
    reactor.alone = has_one_core(); /* it may have been pinned since */
    reactor.asleep = true;
    sleep_until(ACU_FOREVER);
    reactor.asleep = false;
    reactor.idle_naps = 0;
}

/* One turn: callbacks, then streams, then sleep. Flight lock held, given up meanwhile. */
static void turn(void)
{
    acui_notice *notices = reactor.notices;
    reactor.notices = NULL;
    reactor.notices_end = &reactor.notices;
    bool any = reactor.active != NULL;
    pthread_mutex_unlock(&reactor.lock);
    call_notices(notices);
    acui_deadlines_pass();
    uint64_t age = any ? look() : ACU_FOREVER;
    pthread_mutex_lock(&reactor.lock);
    if (reactor.notices || reactor.stop)
        return;
    if (age == ACU_FOREVER && !reactor.active)
        rest();
    else if (age != ACU_FOREVER)
        nap(spins(age) ? 0 : nap_after(age));
}

static void *run(void *unused)
{
    (void)unused;
    prctl(PR_SET_TIMERSLACK, 1000UL); /* nanoseconds; of this thread: 50 us is far too late here */
    pthread_mutex_lock(&reactor.lock);
    reactor.alone = has_one_core();
    while (!reactor.stop || reactor.notices)
        turn();
    pthread_mutex_unlock(&reactor.lock);
    return NULL;
}

void acui_reactor_notify(acui_notice *notices)
{
    if (!notices)
        return;
    pthread_mutex_lock(&reactor.lock);
    *reactor.notices_end = notices;
    while (*reactor.notices_end)
        reactor.notices_end = &(*reactor.notices_end)->next;
    pthread_cond_signal(&reactor.wake);
    pthread_mutex_unlock(&reactor.lock);
}

void acui_reactor_wake(void)
{
    pthread_mutex_lock(&reactor.lock);
    pthread_cond_signal(&reactor.wake);
    pthread_mutex_unlock(&reactor.lock);
}

void acui_reactor_hasten(void)
{
    pthread_mutex_lock(&reactor.lock);
    bool wake = !reactor.hasten || reactor.lazy || reactor.asleep;
    reactor.hasten = true;
    if (wake)
        pthread_cond_signal(&reactor.wake);
    pthread_mutex_unlock(&reactor.lock);
}

/* ---- starting and ending ---- */

static acu_status drain(acu_device *device)
{
    acu_status status = acui_wait_idle(device, ACU_FOREVER);
    acui_build_drain(device);
    return status;
}

static void end_threads(void)
{
    acui_runtime_stop();
    acui_worker_stop();
    acui_build_stop();
    pthread_mutex_lock(&reactor.lock);
    bool running = reactor.running;
    reactor.stop = true;
    atomic_store_explicit(&started, false, memory_order_release);
    pthread_cond_signal(&reactor.wake);
    pthread_mutex_unlock(&reactor.lock);
    if (running)
        pthread_join(reactor.thread, NULL);
    look(); /* lets go of streams that became idle */
    acui_deadlines_end();
    pthread_mutex_lock(&reactor.lock);
    reactor.running = reactor.stop = false;
    pthread_mutex_unlock(&reactor.lock);
}

static bool is_busy(void)
{
    pthread_mutex_lock(&reactor.lock);
    bool busy = reactor.active || reactor.notices;
    pthread_mutex_unlock(&reactor.lock);
    return busy || acui_runtime_busy();
}

/* The last callbacks may have submitted again: what came of it is finished first. */
static void stop(void)
{
    end_threads();
    while (is_busy() && acui_reactor_start() == ACU_OK) {
        acui_nap nap = acui_nap_start(ACU_FOREVER);
        acui_nap_again(&nap);
        end_threads();
    }
}

acu_status acui_reactor_start(void)
{
    static const acui_close_hooks hooks = {.drain = drain,
                                           .stop = stop,
                                           .wait = acui_wait_idle,
                                           .settle = acui_runtime_settle};
    static bool prepared; /* flight lock */
    if (atomic_load_explicit(&started, memory_order_acquire))
        return ACU_OK;
    pthread_mutex_lock(&reactor.lock);
    if (!prepared) {
        acui_cond_init(&reactor.wake);
        acui_set_close_hooks(&hooks);
        acui_set_suspect(acui_suspect);
        prepared = true;
    }
    if (!reactor.running)
        reactor.running = acui_thread_start(&reactor.thread, "acuda-reactor", run);
    bool running = reactor.running;
    atomic_store_explicit(&started, running, memory_order_release);
    pthread_mutex_unlock(&reactor.lock);
    if (!running)
        return acui_fail(ACU_ERR_NO_MEMORY, "acuda's thread could not be started");
    return ACU_OK;
}
