/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Runtime threads: a ring for each device (handover.h), and a thread that plans, enters and issues
 * what is in it, in order of places. A ring has at most one taker at a time; what was handed over
 * is always dealt with, also if the thread is being stopped meanwhile (give, stop_one;
 * tests/models/life.pml). */
#include "engine/submit/runtime.h"

#include <acuda/pool.h>

#include "base/alloc.h"
#include "base/callback.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/local.h"
#include "base/park.h"
#include "base/text.h"
#include "base/threads.h"
#include "engine/completion/complete.h"
#include "engine/flight/flight.h"
#include "engine/issue/issue.h"
#include "engine/order/order.h"
#include "engine/submit/submit.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#define SPIN ACU_US(20) /* how long a thread looks before it sleeps: about what waking it costs */
#define SPIN_MOST ACU_US(100) /* the same while work comes so soon that sleep does not pay */

/* How far another ring was when a submission was handed over: the last place claimed there. */
typedef struct after {
    acui_runtime *runtime;
    uint64_t place;
} after;

/* What most submissions do not need. */
typedef struct acui_handed_more {
    acu_submit_options options; /* policy, stream and pool are retained; its name is: */
    char name[ACUI_OP_NAME];
    acu_stream *scheduled; /* the one that acu_schedule chose; retained */
    size_t after_count;
    after after[];
} more;

typedef enum life { STOPPED, RUNNING, STOPPING } life;

struct acui_runtime {
    acui_handover queue;
    acui_passage entered, passed; /* how far its thread is with entering; with issuing too */
    _Atomic(life) life; /* STOPPED to RUNNING and to STOPPING under start_lock; seq_cst, against the
                         * ring's `given`: see give */
    pthread_t thread;
    bool one_core; /* it may use one core only: spinning would keep others from working */
};

/* Rings are never freed: a thread may submit while another one closes the last device. */
static acui_runtime runtimes[ACUI_MAX_DEVICES];
static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(uint64_t) used; /* a bit for each device whose ring was ever used */

static ACUI_LOCAL acui_runtime *mine; /* the ring whose thread this is; NULL: none */

/* ---- starting ---- */

static void *run(void *runtime);

static void name_of(const acui_runtime *runtime, char name[16])
{
    snprintf(name, 16, "acuda-run-%u", (unsigned)(runtime - runtimes) % 1000);
}

/* Start the thread, unless it runs or is being stopped: whoever stops it looks into the ring after
 * that. */
static acu_status start(acui_runtime *runtime)
{
    char name[16];
    name_of(runtime, name);
    ACUI_TRY(acui_reactor_start()); /* so that the last close ends this thread */
    pthread_mutex_lock(&start_lock);
    bool stopped = atomic_load_explicit(&runtime->life, memory_order_seq_cst) == STOPPED;
    bool started = false;
    if (stopped) {
        acui_handover_begin(&runtime->queue);
        started = acui_thread_start_with(&runtime->thread, name, run, runtime);
        if (started)
            atomic_store_explicit(&runtime->life, RUNNING, memory_order_seq_cst);
        atomic_fetch_or_explicit(&used, UINT64_C(1) << (runtime - runtimes), memory_order_release);
    }
    pthread_mutex_unlock(&start_lock);
    if (stopped && !started)
        return acui_fail(ACU_ERR_NO_MEMORY, "the thread %s could not be started: %s", name,
                         acui_thread_words((char[ACUI_THREAD_WORDS]){0}));
    return ACU_OK;
}

static bool is_stopped(acui_runtime *runtime)
{
    return atomic_load_explicit(&runtime->life, memory_order_seq_cst) == STOPPED;
}

/* ---- handing over ---- */

static bool behind(acui_runtime *runtime)
{
    return !acui_passage_reached(&runtime->entered, acui_handover_given(&runtime->queue));
}

/* The next ring that was ever used, from index `*index` on; NULL after the last. */
static acui_runtime *next_used(unsigned *index)
{
    uint64_t bits = atomic_load_explicit(&used, memory_order_acquire);
    while (*index < ACUI_MAX_DEVICES) {
        unsigned i = (*index)++;
        if (bits >> i & 1)
            return &runtimes[i];
    }
    return NULL;
}

/* The ring that takes the submission; NULL: it goes the direct way. */
static acui_runtime *choose(acu_device *device, const acu_submit_options *options,
                            acu_stream *stream)
{
    if (mine || !acui_any_runtime_thread())
        return NULL;
    device = acui_submit_device(device, options, stream);
    if (!device)
        device = acu_device_default();
    if (device && device->runtime_thread)
        return &runtimes[device->info.ordinal];
    acui_runtime *other;
    for (unsigned i = 0; (other = next_used(&i));)
        if (behind(other))
            return other;
    return NULL;
}

static size_t count_behind(const acui_runtime *own)
{
    size_t n = 0;
    acui_runtime *other;
    for (unsigned i = 0; (other = next_used(&i));)
        n += other != own && behind(other);
    return n;
}

bool acui_runtime_any_behind(void)
{
    return count_behind(mine) > 0;
}

/* To be called before this submission claims its place: then no two can wait for each other. */
static size_t note_behind(const acui_runtime *own, after *list, size_t room)
{
    size_t n = 0;
    acui_runtime *other;
    for (unsigned i = 0; (other = next_used(&i)) && n < room;)
        if (other != own && behind(other))
            list[n++] = (after){other, acui_handover_given(&other->queue)};
    return n;
}

/* Count the submission in the backlog of each stream that it names, or that its policy may choose;
 * or, once it is planned, no longer. That releases: a thread that sees the lower count
 * (acui_stream_is_held) sees the tasks that were counted instead. */
static void count_handed(const more *m, bool planned)
{
    const acu_policy *policy = m->options.policy;
    acu_stream *one = m->scheduled ? m->scheduled : m->options.stream;
    acu_stream *const *streams = one ? &one : policy ? policy->streams : NULL;
    size_t count = one ? 1 : policy ? policy->count : 0;
    for (size_t i = 0; i < count; i++)
        if (planned)
            atomic_fetch_sub_explicit(&streams[i]->engine.backlog.handed, 1, memory_order_release);
        else
            atomic_fetch_add_explicit(&streams[i]->engine.backlog.handed, 1, memory_order_relaxed);
}

static void free_more(more *m)
{
    if (!m)
        return;
    count_handed(m, true);
    acu_policy_release(m->options.policy);
    acu_pool_release(m->options.pool);
    acu_stream_release(m->options.stream);
    acu_stream_release(m->scheduled);
    acui_free(m);
}

/* What this submission has and most do not; NULL in *out: nothing. */
static acu_status make_more(const acui_runtime *own, const acu_submit_options *options,
                            acu_stream *stream, more **out)
{
    const acu_submit_options none = {.size = options->size};
    size_t room = count_behind(own);
    *out = NULL;
    if (!room && !stream && memcmp(options, &none, sizeof none) == 0)
        return ACU_OK;
    more *m = acui_alloc(sizeof *m + room * sizeof *m->after);
    if (!m)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a submission");
    m->options = *options;
    acu_policy_retain(options->policy);
    acu_pool_retain(options->pool);
    acu_stream_retain(options->stream);
    m->scheduled = acu_stream_retain(stream);
    if (options->name) {
        acui_text_copy(m->name, sizeof m->name, options->name);
        m->options.name = m->name;
    }
    count_handed(m, false);
    m->after_count = note_behind(own, m->after, room);
    *out = m;
    return ACU_OK;
}

/* Put it into the ring, which takes what is in `what` on success. */
static acu_status give(acui_runtime *runtime, const acui_handed *what)
{
    uint64_t place = acui_handover_claim(&runtime->queue);
    if (!place)
        return acui_fail(ACU_ERR_FULL, "%d submissions are handed over and not issued yet",
                         ACUI_HANDOVER_PLACES);
    if (what->future && !what->future->how.early) /* else other threads know it already */
        what->future->how.early = true;
    if (what->future) {
        what->future->handed.position = place;
        /* Release: other threads may know the future, and acquire this to read its place. */
        atomic_store_explicit(&what->future->handed.runtime, runtime, memory_order_release);
    }
    acui_handover_open(&runtime->queue, place, what);
    /* The thread may have been stopped meanwhile. seq_cst: this thread claimed its place and now
     * loads `life`; stop_one stores STOPPED, and its caller then loads `given`. So either that one
     * finds the place, or this one finds the thread stopped. */
    if (is_stopped(runtime))
        start(runtime);
    return ACU_OK;
}

/* How many are handed over, and not yet planned and issued. */
static uint64_t waiting_in(acui_runtime *runtime)
{
    uint64_t passed = atomic_load_explicit(&runtime->passed.count, memory_order_relaxed);
    uint64_t given = acui_handover_given(&runtime->queue);
    return given > passed ? given - passed : 0;
}

static acu_status hand_over(acui_runtime *runtime, acu_device *device, acu_op *op,
                            const acu_submit_options *options, acu_stream *stream,
                            acu_future *future)
{
    if (device)
        ACUI_TRY(acui_device_check(device));
    if (options->refuse_when_full)
        ACUI_TRY(acui_check_room(acui_submit_device(device, options, stream), waiting_in(runtime),
                                 false));
    if (is_stopped(runtime))
        ACUI_TRY(start(runtime));
    acui_handed what = {.op = op};
    acu_submit_options rest = *options;
    rest.refuse_when_full = false; /* that is settled; and the future has the rest already: */
    rest.queue = NULL;
    rest.tag = rest.timeout = 0;
    ACUI_TRY(make_more(runtime, &rest, stream, &what.more));
    if (future && !future->how.early) /* else it was noted before other threads could know it */
        acui_future_note(future, op, options->name);
    what.device = acu_device_retain(device);
    what.future = acui_future_keep(future);
    acu_status status = give(runtime, &what);
    if (status != ACU_OK) {
        free_more(what.more);
        acui_future_put(future);
        acu_device_release(device);
    }
    return status;
}

bool acui_runtime_submit(acu_device *device, acu_op *op, const acu_submit_options *options,
                         acu_stream *stream, acu_future *future, acu_status *status)
{
    acui_runtime *runtime = choose(device, options, stream);
    if (!runtime)
        return false;
    *status = hand_over(runtime, device, op, options, stream, future);
    if (*status != ACU_OK && *status != ACU_ERR_FULL)
        acui_op_put(op);
    return true;
}

/* ---- the threads ---- */

/* The device whose context stays current on the thread while it has work, so that each entry of the
 * device inside finds it current already. */
typedef struct current {
    acu_device *device; /* retained; NULL: none */
    acui_entered entered;
} current;

static void current_end(current *c)
{
    if (!c->device)
        return;
    acui_leave(&c->entered);
    acu_device_release(c->device);
    c->device = NULL;
}

static void current_enter(current *c, acu_device *device)
{
    if (!device || (device == c->device && !acui_device_lost(device)))
        return; /* leave a lost device: its reset waits for that */
    current_end(c);
    if (acui_enter(device, &c->entered) != ACU_OK)
        return;
    c->device = acu_device_retain(device);
}

static void wait_turn(const more *m)
{
    for (size_t i = 0; m && i < m->after_count; i++) {
        acui_passage *entered = &m->after[i].runtime->entered;
        for (int spins = 0; spins < 1000 && !acui_passage_reached(entered, m->after[i].place);
             spins++)
            acui_spin_pause(); /* mostly it comes at once: planning is short */
        acui_passage_await(entered, m->after[i].place, ACU_FOREVER);
    }
}

static acu_status submit_now(const acui_handed *h)
{
    static const acu_submit_options none = {.size = sizeof none};
    const more *m = h->more;
    return acui_submit_here(h->device, h->op, m ? &m->options : &none, m ? m->scheduled : NULL,
                            h->future);
}

static void deal_with(acui_runtime *runtime, acui_handed *h)
{
    if (h->more)
        wait_turn(h->more);
    acu_status status = submit_now(h);
    if (h->future && status != ACU_OK) {
        acui_future_sign(h->future, acui_error());
        acui_fault *fault = acui_fault_new(acui_error());
        acui_resolve(h->future, status, fault);
        acui_fault_release(fault);
    }
    acui_passage_set(&runtime->entered, runtime->queue.taken);
    free_more(h->more);
    acui_future_put(h->future);
    acu_device_release(h->device);
    acui_passage_set(&runtime->passed, runtime->queue.taken);
}

void acui_runtime_entered(void)
{
    if (mine)
        acui_passage_set(&mine->entered, mine->queue.taken);
}

/* Look for a short while. Whether there is something to do again. */
static bool spin(acui_runtime *runtime, uint64_t patience)
{
    acui_streak_end();
    uint64_t end = acui_now() + (runtime->one_core ? 0 : patience);
    do {
        for (int i = 0; i < 32; i++) {
            if (acui_handover_ready(&runtime->queue))
                return true;
            acui_spin_pause();
        }
    } while (acui_now() < end && !acui_handover_ended(&runtime->queue));
    return false;
}

/* Sleep until there is something; returns how long to look without sleep from then on. */
static uint64_t rest(acui_runtime *runtime)
{
    uint64_t start = acui_now();
    acui_handover_sleep(&runtime->queue);
    return acui_now() - start < SPIN_MOST ? SPIN_MOST : SPIN;
}

static bool on_one_core(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) == 1;
}

/* Until acui_handover_end, and until nothing is left. */
static void work(acui_runtime *runtime)
{
    acui_handed what;
    current c = {.device = NULL};
    uint64_t patience = SPIN;
    mine = runtime;
    for (;;) {
        if (acui_handover_take(&runtime->queue, &what)) {
            current_enter(&c, what.device);
            deal_with(runtime, &what);
        } else if (!spin(runtime, patience)) {
            current_end(&c);
            if (acui_handover_ended(&runtime->queue) && !acui_handover_ready(&runtime->queue))
                break;
            patience = rest(runtime);
        }
    }
    mine = NULL;
}

static void *run(void *runtime)
{
    ((acui_runtime *)runtime)->one_core = on_one_core();
    work(runtime);
    return NULL;
}

/* ---- waiting ---- */

bool acui_runtime_has_entered(acu_future *future)
{
    acui_runtime *runtime = atomic_load_explicit(&future->handed.runtime, memory_order_acquire);
    return runtime && acui_passage_reached(&runtime->entered, future->handed.position);
}

acu_status acui_runtime_planned(acu_future *future)
{
    acui_runtime *runtime = atomic_load_explicit(&future->handed.runtime, memory_order_acquire);
    if (!runtime || acui_passage_reached(&runtime->passed, future->handed.position))
        return ACU_OK;
    if (acui_future_state_of(future) >= ACUI_FUTURE_RUNNING)
        return ACU_OK;
    ACUI_TRY(acui_refuse_wait("Asking for a value of a submission that is not planned yet"));
    acui_passage_await(&runtime->passed, future->handed.position, ACU_FOREVER);
    return ACU_OK;
}

/* Wait until everything that is in the ring now is dealt with. */
static bool await(acui_runtime *runtime, uint64_t deadline)
{
    return acui_passage_await(&runtime->passed, acui_handover_given(&runtime->queue), deadline);
}

acu_status acui_runtime_settle(uint64_t timeout)
{
    uint64_t deadline = acui_deadline(timeout);
    acui_runtime *runtime;
    for (unsigned i = 0; (runtime = next_used(&i));)
        if (!await(runtime, deadline))
            return ACU_TIMEOUT;
    return ACU_OK;
}

static bool is_busy(acui_runtime *runtime)
{
    return !acui_passage_reached(&runtime->passed, acui_handover_given(&runtime->queue));
}

bool acui_runtime_busy(void)
{
    for (unsigned i = 0; i < ACUI_MAX_DEVICES; i++)
        if (is_busy(&runtimes[i]) || !is_stopped(&runtimes[i]))
            return true;
    return false;
}

static void stop_one(acui_runtime *runtime)
{
    pthread_mutex_lock(&start_lock);
    life was = atomic_exchange_explicit(&runtime->life, STOPPING, memory_order_seq_cst);
    pthread_mutex_unlock(&start_lock);
    acui_handover_end(&runtime->queue);
    if (was == RUNNING)
        pthread_join(runtime->thread, NULL);
    else
        work(runtime); /* no thread could be started for what is left: this one does it */
    atomic_store_explicit(&runtime->life, STOPPED, memory_order_seq_cst);
}

void acui_runtime_stop(void)
{
    for (unsigned i = 0; i < ACUI_MAX_DEVICES; i++)
        while (is_busy(&runtimes[i]) || !is_stopped(&runtimes[i]))
            stop_one(&runtimes[i]);
}
