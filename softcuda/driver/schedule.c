/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Seeded runs (schedule.h): which work is next. All state is under one lock. Whoever has the turn
 * starts a work and waits until it ends, or until it is adrift.
 */
#include "driver/schedule.h"

#include "driver/asleep.h"
#include "driver/stream.h"
#include "driver/trace.h"

#include <stdlib.h>
#include <time.h>

#define MOMENT 2000000L /* ns; after this long without a change, check whether all threads sleep */
/* How long nothing must change before the run goes on without checking the threads, in ns of the
 * process's processor time, since on a busy machine it may get none for long ... */
#define PATIENCE_WORK 1000000000u /* ... while a work runs */
#define PATIENCE_PROGRAM 100000000u /* ... while the program makes no call */
#define PATIENCE_MOMENTS 5000 /* ... or this many moments, whatever processor time it had */

/* The style of a seed's runs; each seed has its own mixture. Times are in calls. */
typedef struct style {
    uint64_t rest;  /* works run in one of this many calls, */
    uint64_t burst; /* ... and then at most this many */
    unsigned stick; /* 2^stick works of a stream have the same rank */
    uint64_t held;  /* one in this many works is held back, */
    uint64_t hold;  /* ... at most for this long */
    uint64_t lag;   /* the longest time between a work's end and its being seen */
} style;

static struct {
    bool on;
    uint64_t seed;
    style style;
    pthread_mutex_t lock; /* guards what follows; may be taken while others are held; only streams'
                           * locks are taken under it */
    pthread_cond_t changed;
    bool taken;      /* somebody has the turn, and alone starts works */
    uint64_t turn;   /* number of the last start */
    uint64_t running; /* the turn whose work has not ended; 0: none */
    uint64_t clock;  /* time: calls so far, and leaps */
    uint64_t calls;  /* calls, for the thread that watches for silence */
    sd_stream *ready; /* linked by queue_next */
    sd_work *unseen, *unseen_last; /* works that are over, in that order: `after` is where they
                                    * were, `hidden` until when they are not seen */
} s;

bool sd_seeded(void)
{
    return s.on;
}

/* ---- numbers ---- */

static uint64_t scramble(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* A number for one choice; `what` tells kinds of choices apart. */
static uint64_t draw(unsigned what, uint64_t a, uint64_t b)
{
    return scramble(scramble(scramble(s.seed + what) + a) + b);
}

enum { DRAW_STYLE, DRAW_REST, DRAW_BURST, DRAW_RANK, DRAW_HELD, DRAW_HOLD, DRAW_LAG };

static style make_style(void)
{
    static const uint64_t rests[] = {1, 2, 4, 8}, bursts[] = {1, 2, 8, 32}, helds[] = {2, 6, 20};
    static const uint64_t holds[] = {3, 12, 60}, lags[] = {0, 2, 10, 40};
    return (style){.rest = rests[draw(DRAW_STYLE, 0, 0) % 4],
                   .burst = bursts[draw(DRAW_STYLE, 1, 0) % 4],
                   .stick = (unsigned)(draw(DRAW_STYLE, 2, 0) % 6),
                   .held = helds[draw(DRAW_STYLE, 3, 0) % 3],
                   .hold = holds[draw(DRAW_STYLE, 4, 0) % 3],
                   .lag = lags[draw(DRAW_STYLE, 5, 0) % 4]};
}

/* ---- choosing; with the lock ---- */

static sd_work *head_of(sd_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    sd_work *work = stream->head;
    pthread_mutex_unlock(&stream->lock);
    return work;
}

static bool can_run(sd_stream *stream)
{
    const sd_work *work = head_of(stream);
    return !work->kind->ready || work->kind->ready(work) ||
           sd_context_state(stream->object.context);
}

static uint64_t rank(sd_stream *stream)
{
    return draw(DRAW_RANK, stream->number, head_of(stream)->at >> s.style.stick);
}

/* The stream of highest rank among those that may run now; with `leap` time passes until one
 * may. */
static sd_stream **choose(bool leap)
{
    sd_stream **best = NULL;
    uint64_t best_rank = 0, soonest = UINT64_MAX;
    for (sd_stream **at = &s.ready; *at; at = &(*at)->queue_next) {
        uint64_t ripe = (*at)->ripe < s.clock ? s.clock : (*at)->ripe;
        if ((ripe > s.clock && !leap) || ripe > soonest || !can_run(*at))
            continue;
        uint64_t own = rank(*at);
        if (best && ripe == soonest && own < best_rank)
            continue;
        best = at;
        best_rank = own;
        soonest = ripe;
    }
    if (best)
        s.clock = soonest;
    return best;
}

/* ---- time ---- */

/* Waits for a change, but not longer than this. False: the time is over. */
static bool wait_for_change(long nanoseconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += nanoseconds;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    return pthread_cond_timedwait(&s.changed, &s.lock, &until) == 0;
}

typedef struct patience {
    uint64_t begin; /* the process's time when it began */
    unsigned moments;
} patience;

static uint64_t time_had(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static patience patience_new(void)
{
    return (patience){.begin = time_had()};
}

static bool patience_left(const patience *p, uint64_t most)
{
    return p->moments < PATIENCE_MOMENTS && time_had() - p->begin < most;
}

/* Whether all other threads sleep. Releases the lock meanwhile, because some may wait for it. */
static bool all_sleep(void)
{
    pthread_mutex_unlock(&s.lock);
    bool sleep = sd_threads_sleep();
    pthread_mutex_lock(&s.lock);
    return sleep;
}

/* Waits for the work of that turn. False: it does not end. */
static bool wait_for_end(uint64_t turn)
{
    for (patience p = patience_new(); s.running == turn;) {
        if (wait_for_change(MOMENT))
            continue;
        p.moments++;
        if (!patience_left(&p, PATIENCE_WORK) || (all_sleep() && s.running == turn))
            return false;
    }
    return true;
}

/* ---- steps; with the lock and the turn ---- */

/* Runs one work to its end. False: none can run. */
static bool step(bool leap)
{
    sd_stream **at = choose(leap);
    if (!at)
        return false;
    sd_stream *stream = *at;
    *at = stream->queue_next;
    stream->queue_next = NULL;
    const sd_work *work = head_of(stream);
    unsigned long long number = stream->number, place = work->at;
    sd_trace_step(stream, work);
    uint64_t turn = ++s.turn;
    stream->turn = s.running = turn;
    pthread_mutex_unlock(&s.lock);
    sd_workers_hand(&stream->object.context->device->workers, stream); /* not ours any more */
    pthread_mutex_lock(&s.lock);
    if (!wait_for_end(turn)) {
        s.running = 0;
        sd_trace("adrift: stream %llu #%llu takes long; others go on", number, place);
    }
    return true;
}

static void see(sd_stream *stream, uint64_t at)
{
    if (atomic_load_explicit(&stream->seen, memory_order_relaxed) < at)
        atomic_store_explicit(&stream->seen, at, memory_order_release);
}

/* Takes out the works that are seen to be over from now on, at least up to `mark`. */
static sd_work *take_seen(const sd_mark *mark)
{
    sd_work *seen = s.unseen, **end = &seen;
    while (*end) {
        sd_stream *stream = (*end)->after.stream;
        bool asked = mark && atomic_load_explicit(&mark->stream->seen, memory_order_relaxed) <
                                 mark->at;
        if ((*end)->hidden > s.clock && !asked)
            break;
        see(stream, (*end)->at);
        end = &(*end)->next;
    }
    s.unseen = *end;
    *end = NULL;
    if (!s.unseen)
        s.unseen_last = NULL;
    if (mark) /* a work adrift may not be among them yet */
        see(mark->stream, mark->at);
    return seen;
}

static void drop_seen(sd_work *seen)
{
    while (seen) {
        sd_work *next = seen->next;
        sd_mark_drop(&seen->after);
        free(seen);
        seen = next;
    }
}

static void take_turn(void)
{
    while (s.taken)
        pthread_cond_wait(&s.changed, &s.lock);
    s.taken = true;
    s.calls++;
    s.clock++;
}

static void end_turn(void)
{
    s.taken = false;
    pthread_cond_broadcast(&s.changed);
}

/* ---- the program's side ---- */

void sd_schedule_call(const char *name)
{
    pthread_mutex_lock(&s.lock);
    take_turn();
    sd_trace("call %s", name);
    uint64_t works = 0;
    if (draw(DRAW_REST, s.clock, 0) % s.style.rest == 0)
        works = 1 + draw(DRAW_BURST, s.clock, 0) % s.style.burst;
    while (works > 0 && step(false))
        works--;
    sd_work *seen = take_seen(NULL);
    end_turn();
    pthread_mutex_unlock(&s.lock);
    drop_seen(seen);
}

void sd_schedule_pass(void)
{
    pthread_mutex_lock(&s.lock);
    take_turn();
    bool ran = step(true);
    end_turn();
    if (!ran)
        wait_for_change(MOMENT);
    pthread_mutex_unlock(&s.lock);
}

void sd_schedule_wait(const sd_mark *mark)
{
    while (!sd_mark_done(mark))
        sd_schedule_pass();
    pthread_mutex_lock(&s.lock);
    sd_work *seen = take_seen(mark);
    pthread_mutex_unlock(&s.lock);
    drop_seen(seen);
}

/* ---- the streams' side ---- */

/* Parks the stream at what its head waits for, unless that is reached. */
static bool held_up(sd_stream *stream)
{
    const sd_mark *after = &head_of(stream)->after;
    return after->stream && !sd_mark_done(after) && sd_stream_park(stream, after);
}

void sd_schedule_add(sd_stream *stream)
{
    if (held_up(stream))
        return;
    uint64_t place = head_of(stream)->at;
    pthread_mutex_lock(&s.lock);
    stream->ripe = 0;
    if (draw(DRAW_HELD, stream->number, place) % s.style.held == 0)
        stream->ripe = s.clock + draw(DRAW_HOLD, stream->number, place) % s.style.hold;
    stream->queue_next = s.ready;
    s.ready = stream;
    pthread_cond_broadcast(&s.changed);
    pthread_mutex_unlock(&s.lock);
}

void sd_schedule_ended(sd_work *work, uint64_t turn)
{
    uint64_t number = work->after.stream->number;
    uint64_t lag = s.style.lag ? draw(DRAW_LAG, number, work->at) % s.style.lag : 0;
    work->next = NULL;
    pthread_mutex_lock(&s.lock);
    work->hidden = s.clock + lag;
    if (s.unseen_last)
        s.unseen_last->next = work;
    else
        s.unseen = work;
    s.unseen_last = work;
    if (s.running == turn)
        s.running = 0;
    pthread_cond_broadcast(&s.changed);
    pthread_mutex_unlock(&s.lock);
}

/* ---- while the program is silent ---- */

static bool has_news(void)
{
    return s.ready || s.unseen;
}

/* Waits until there is something to do and the program has made no call for a while. With the
 * lock. */
static void wait_for_silence(void)
{
    uint64_t calls = s.calls;
    for (patience p = patience_new(); !has_news() || patience_left(&p, PATIENCE_PROGRAM);) {
        if (!has_news() && !s.taken)
            pthread_cond_wait(&s.changed, &s.lock);
        bool changed = wait_for_change(MOMENT);
        if (s.taken || s.calls != calls) {
            calls = s.calls;
            p = patience_new();
        } else if (!changed) {
            p.moments++;
            if (has_news() && all_sleep() && s.calls == calls)
                return;
        }
    }
}

/* The thread that makes steps while the program is silent. A program that queries now and then,
 * with growing naps, must not need one query per step: so there is a step for each silence, and if
 * there is none to make, what is over becomes seen. */
static void *watch(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "softcuda"); /* not the name of the thread that started it */
    pthread_mutex_lock(&s.lock);
    for (;;) {
        wait_for_silence();
        take_turn();
        if (!step(true) && s.unseen_last && s.unseen_last->hidden > s.clock)
            s.clock = s.unseen_last->hidden;
        sd_work *seen = take_seen(NULL);
        end_turn();
        pthread_mutex_unlock(&s.lock);
        drop_seen(seen);
        pthread_mutex_lock(&s.lock);
    }
    return NULL;
}

bool sd_schedule_init(uint64_t seed)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes))
        return false;
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    bool made = pthread_mutex_init(&s.lock, NULL) == 0 &&
                pthread_cond_init(&s.changed, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    s.seed = seed;
    s.style = make_style();
    s.on = made && sd_thread_start(watch, NULL);
    return s.on;
}
