/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Flight: many submissions at once. How many a second, with 64 in flight on 64 tensors, each its
 * own submission and completion, from one thread and from four; whether a completion costs the same
 * with 100,000 others pending; what a look at 64 busy streams costs; and what a submission takes
 * from the heap.
 */
#include "harness/crew.h"
#include "harness/heap.h"
#include "harness/mix.h"
#include "harness/pending.h"
#include "harness/raw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WINDOW = 64, STREAMS = 4, OPS = 1024, THREADS = 4, PENDING = 100000, BUSY = 64 };

/* One thread's part: a window of tensors, from `first` on. */
typedef struct lane {
    int first, window, ops, streams;
    uint32_t ticket; /* of its next operation */
    acu_future *future[WINDOW];
    CUstream stream[STREAMS];
    raw_exec exec[STREAMS];
    CUevent event[WINDOW]; /* of the operations in flight, by their number */
    int issued[STREAMS], over[STREAMS];
} lane;

typedef struct subject {
    bench *b;
    mix *m;
    crew crew;
    acu_queue *queue;
    lane lanes[THREADS];
} subject;

__attribute__((format(printf, 2, 0)))
static void number(const subject *s, const char *format, int count, const char *unit, double value,
                   double goal)
{
    char what[100];
    snprintf(what, sizeof what, format, count);
    bench_at_most(s->b, what, unit, value, goal);
}

static int y_of(const lane *l, int op)
{
    return l->first + op % l->window;
}

static void expect_ops(subject *s, lane *l)
{
    for (int i = 0; i < l->ops; i++)
        mix_expect(s->m, y_of(l, i), l->ticket + (uint32_t)i, 1);
    l->ticket += (uint32_t)l->ops;
}

/* ---- four ways to keep a window full ---- */

static void fly_acuda(void *user, int thread)
{
    subject *s = user;
    lane *l = &s->lanes[thread];
    for (int i = 0; i < l->ops + l->window; i++) {
        acu_future **slot = &l->future[i % l->window];
        if (i >= l->window) {
            MUST(acu_future_wait(*slot, ACU_FOREVER));
            acu_future_release(*slot);
        }
        if (i < l->ops)
            MUST(acu_submit(s->b->device, mix_launch(s->m, y_of(l, i), l->ticket + (uint32_t)i, 0),
                            NULL, slot));
    }
    expect_ops(s, l);
}

static void submit_queued(const subject *s, const lane *l, int op, int y)
{
    acu_submit_options options = {.size = sizeof options, .queue = s->queue, .tag = (uint64_t)y};
    MUST(acu_submit(s->b->device, mix_launch(s->m, y, l->ticket + (uint32_t)op, 0), &options,
                    NULL));
}

/* Whatever comes from the queue makes room for another operation on the same tensor. */
static void fly_queue(subject *s, lane *l)
{
    acu_completion done[WINDOW];
    int used[OPS], issued = 0;
    size_t over = 0, count;
    for (; issued < l->window; issued++)
        submit_queued(s, l, issued, used[issued] = y_of(l, issued));
    for (; over < (size_t)l->ops; over += count) {
        MUST(acu_queue_take(s->queue, done, WINDOW, &count));
        for (size_t i = 0; i < count; i++) {
            acu_future_release(done[i].future);
            if (issued < l->ops) {
                used[issued] = (int)done[i].tag;
                submit_queued(s, l, issued, used[issued]);
                issued++;
            }
        }
    }
    for (int i = 0; i < l->ops; i++)
        mix_expect(s->m, used[i], l->ticket + (uint32_t)i, 1);
    l->ticket += (uint32_t)l->ops;
}

static void fly_launches(void *user, int thread)
{
    subject *s = user;
    lane *l = &s->lanes[thread];
    for (int i = 0; i < l->ops; i++) {
        raw_chain(s->m, l->stream[0], y_of(l, i), l->ticket + (uint32_t)i, 1);
        if ((i + 1) % l->window == 0)
            MUST_CU(s->b->cu->StreamSynchronize(l->stream[0]));
    }
    MUST_CU(s->b->cu->StreamSynchronize(l->stream[0]));
    expect_ops(s, l);
}

static bool is_over(const subject *s, const lane *l, int stream, int number)
{
    int op = number * l->streams + stream;
    unsigned result = s->b->cu->EventQuery(l->event[op % l->window]);
    if (result != 0 && result != ACU_CUDA_ERROR_NOT_READY)
        MUST_CU(result);
    return result == 0;
}

/* By prefix: whatever comes before a finished operation on a stream is finished. */
static void harvest(const subject *s, lane *l)
{
    for (int i = 0; i < l->streams; i++) {
        if (l->over[i] == l->issued[i] || !is_over(s, l, i, l->over[i]))
            continue;
        l->over[i]++;
        for (int step = 1; l->over[i] + step <= l->issued[i]; step *= 2) {
            if (!is_over(s, l, i, l->over[i] + step - 1))
                break;
            l->over[i] += step;
        }
    }
}

static void fly_execs(void *user, int thread)
{
    subject *s = user;
    lane *l = &s->lanes[thread];
    for (int i = 0; i < l->streams; i++)
        l->issued[i] = l->over[i] = 0;
    for (int i = 0; i < l->ops + l->window; i++) {
        int stream = i % l->streams;
        while (i >= l->window && l->over[stream] <= (i - l->window) / l->streams)
            harvest(s, l);
        if (i >= l->ops)
            continue;
        raw_exec_set(s->m, &l->exec[stream], 0, y_of(l, i), l->ticket + (uint32_t)i);
        raw_exec_launch(s->m, &l->exec[stream], l->stream[stream]);
        MUST_CU(s->b->cu->EventRecord(l->event[i % l->window], l->stream[stream]));
        l->issued[stream]++;
    }
    expect_ops(s, l);
}

/* ---- from one thread, and from four ---- */

static double one_acuda(void *user)
{
    const subject *s = user;
    double start = bench_now_us();
    fly_acuda(user, 0);
    return (bench_now_us() - start) / s->lanes[0].ops;
}

static double one_queue(void *user)
{
    subject *s = user;
    double start = bench_now_us();
    fly_queue(s, &s->lanes[0]);
    return (bench_now_us() - start) / s->lanes[0].ops;
}

static double one_launches(void *user)
{
    const subject *s = user;
    double start = bench_now_us();
    fly_launches(user, 0);
    return (bench_now_us() - start) / s->lanes[0].ops;
}

static double one_execs(void *user)
{
    const subject *s = user;
    double start = bench_now_us();
    fly_execs(user, 0);
    return (bench_now_us() - start) / s->lanes[0].ops;
}

static double many(subject *s, crew_fn fn, bool raw)
{
    return crew_run(&s->crew, fn, s, raw) / (THREADS * s->lanes[0].ops);
}

static double many_acuda(void *user)
{
    return many(user, fly_acuda, false);
}

static double many_launches(void *user)
{
    return many(user, fly_launches, true);
}

static double many_execs(void *user)
{
    return many(user, fly_execs, true);
}

static void open_lane(subject *s, lane *l, int first, int window, int streams)
{
    *l = (lane){.first = first, .window = window, .streams = streams,
                .ops = bench_count(s->b, OPS, 4 * window), .ticket = (uint32_t)first * 1000};
    bench_enter(s->b);
    for (int i = 0; i < streams; i++) {
        l->stream[i] = raw_stream(s->b);
        l->exec[i] = raw_exec_make(s->m, 1, 1);
    }
    for (int i = 0; i < window; i++)
        MUST_CU(s->b->cu->EventCreate(&l->event[i], ACU_CU_EVENT_DISABLE_TIMING));
    bench_leave(s->b);
}

static void close_lane(subject *s, lane *l)
{
    bench_enter(s->b);
    for (int i = 0; i < l->streams; i++) {
        MUST_CU(s->b->cu->StreamDestroy(l->stream[i]));
        raw_exec_destroy(s->m, &l->exec[i]);
    }
    for (int i = 0; i < l->window; i++)
        MUST_CU(s->b->cu->EventDestroy(l->event[i]));
    bench_leave(s->b);
}

static double together(const subject *s)
{
    acu_graph_cache_statistics counts = {.size = sizeof counts};
    MUST(acu_graph_cache_stats(s->b->device, &counts));
    return (double)counts.together;
}

static void rate_rows(subject *s, const char *how)
{
    char title[100];
    double before = together(s);
    snprintf(title, sizeof title,
             "64 kernels in flight on 64 tensors, each its own submission and completion%s", how);
    bench_title(s->b, title);
    open_lane(s, &s->lanes[0], 0, WINDOW, STREAMS);
    static const struct { const char *what; bench_sample_fn fn; } ways[] = {
        {"one thread, waits for the oldest", one_acuda}, {"one thread, by a queue", one_queue}};
    for (int i = 0; i < 2; i++) {
        bench_row one = {.what = ways[i].what,
                         .rate = true,
                         .samples = 400,
                         .sides = {{"acuda", ways[i].fn, s, 0, 0},
                                   {"launches, sync per round", one_launches, s, 1.3, 0},
                                   {"hand-set execs, events", one_execs, s, 0.8, 0}}};
        bench_compare(s->b, &one);
    }
    close_lane(s, &s->lanes[0]);
    for (int i = 0; i < THREADS; i++)
        open_lane(s, &s->lanes[i], i * WINDOW / THREADS, WINDOW / THREADS, 1);
    crew_hire(&s->crew, s->b, THREADS);
    bench_row four = {.what = "four threads, 16 in flight in each",
                      .rate = true,
                      .samples = 200,
                      .sides = {{"acuda", many_acuda, s, 0, 0},
                                {"launches, sync per round", many_launches, s, 0.85, 0},
                                {"hand-set execs, events", many_execs, s, 0.85, 0}}};
    bench_compare(s->b, &four);
    crew_dismiss(&s->crew);
    for (int i = 0; i < THREADS; i++)
        close_lane(s, &s->lanes[i]);
    mix_verify(s->m);
    bench_at_most(s->b, "submissions that were issued with others, as one graph", "",
                  together(s) - before, NAN);
}

/* ---- many pending ---- */

/* `count` pending submissions of `kernels` launches each are over: sets the expected results. */
static void expect_pending(subject *s, int count, int kernels)
{
    for (int i = 0; i < count; i++)
        for (int k = 0; k < kernels; k++)
            for (int p = 0; p < MIX_PROBES; p++)
                s->m->expected[pending_y(s->m, i)][p] *= 1664525u;
}

static double drain(subject *s, pending *g, acu_future **futures, int count)
{
    double us = pending_drain(g, futures, count);
    expect_pending(s, count, 1);
    return us;
}

static double drain_queue(subject *s, pending *g, acu_queue *queue, int count)
{
    double us = pending_drain_queue(g, queue, count);
    expect_pending(s, count, 1);
    return us;
}

static void queue_rows(subject *s, pending *g, int few, int most, int turns)
{
    double of_few[15], of_most[3];
    acu_queue *queue;
    MUST(acu_queue_create(NULL, &queue));
    for (int i = 0; i < turns; i++)
        of_few[i] = drain_queue(s, g, queue, few);
    for (int i = 0; i < 3; i++)
        of_most[i] = drain_queue(s, g, queue, most);
    acu_queue_release(queue);
    double each_few = bench_percentile(of_few, turns, 50),
           each_most = bench_percentile(of_most, 3, 50);
    number(s, "%d pending on a queue, issued, completed and taken, each", few, "us", each_few, NAN);
    number(s, "%d pending on a queue, issued, completed and taken, each", most, "us", each_most,
           NAN);
    number(s, "  over that of %d on a queue", few, "", each_most / each_few, 1.2);
}

static double free_ride(subject *s)
{
    double us[400];
    int count = bench_count(s->b, 400, 4);
    for (int i = 0; i < count; i++) {
        uint32_t ticket = (uint32_t)i;
        double start = bench_now_us();
        MUST(acu_sync(s->b->device, mix_launch(s->m, 0, ticket, 0), NULL));
        us[i] = bench_now_us() - start;
        mix_expect(s->m, 0, ticket, 1);
    }
    return bench_percentile(us, count, 50);
}

static void pending_rows(subject *s)
{
    int most = bench_count(s->b, PENDING, 500), few = most / 100, turns = bench_count(s->b, 15, 2);
    acu_future **futures = calloc((size_t)most, sizeof(acu_future *));
    double of_few[15], of_most[3];
    pending g;
    if (!futures)
        bench_die("no memory");
    pending_make(&g, s->m);
    drain(s, &g, futures, most); /* for caches */
    for (int i = 0; i < turns; i++)
        of_few[i] = drain(s, &g, futures, few);
    for (int i = 0; i < 3; i++)
        of_most[i] = drain(s, &g, futures, most);
    double each_few = bench_percentile(of_few, turns, 50),
           each_most = bench_percentile(of_most, 3, 50);
    queue_rows(s, &g, few, most, turns);
    double ride = free_ride(s);
    pending_close(&g);
    pending_submit(&g, futures, most, 1);
    expect_pending(s, most, 1);
    double crowded = free_ride(s);
    pending_open(&g);
    MUST(acu_wait_all(futures, (size_t)most, ACU_FOREVER));
    for (int i = 0; i < most; i++)
        acu_future_release(futures[i]);
    free(futures);
    pending_drop(&g);
    mix_verify(s->m);
    number(s, "%d pending, issued and completed, each", few, "us", each_few, NAN);
    number(s, "%d pending, issued and completed, each", most, "us", each_most, NAN);
    number(s, "  over that of %d", few, "", each_most / each_few, 1.2);
    number(s, "another kernel, submit to waited, %d pending", 0, "us", ride, NAN);
    number(s, "another kernel, submit to waited, %d pending", most, "us", crowded, NAN);
    number(s, "  over that with %d pending", 0, "", crowded / ride, 1.2);
}

/* ---- a look at busy streams ---- */

/* Looks at BUSY kernels of `length` us, each on its stream, until one is over; how many looks. */
static int look_at_busy(subject *s, const acu_submit_options *options, double length, double *us,
                        int most)
{
    acu_completion done[BUSY];
    int looks = 0;
    size_t over = 0, count = 0;
    mix_calibrate(s->m, length);
    for (int i = 0; i < BUSY; i++) {
        MUST(acu_submit(s->b->device, mix_launch(s->m, i, 1, 0), options, NULL));
        mix_expect(s->m, i, 1, 1);
    }
    while (looks < most && count == 0) {
        double start = bench_now_us();
        MUST(acu_queue_take(s->queue, done, BUSY, &count));
        us[looks++] = bench_now_us() - start;
        bench_nap_us(50);
    }
    for (;; MUST(acu_queue_wait(s->queue, done, BUSY, &count, ACU_FOREVER))) {
        for (size_t i = 0; i < count; i++, over++) {
            MUST(done[i].status);
            acu_future_release(done[i].future);
        }
        if (over == BUSY)
            return looks;
    }
}

static void busy_row(subject *s)
{
    acu_policy *policy;
    double us[200], length = 30000;
    int looks, most = bench_count(s->b, 200, 4);
    MUST(acu_policy_round_robin(s->b->device, BUSY, &policy));
    acu_submit_options options = {.size = sizeof options, .policy = policy, .queue = s->queue};
    uint32_t was = s->m->ticks;
    /* If the host stalled while submitting, the first look finds them over: again, longer. */
    while ((looks = look_at_busy(s, &options, length, us, most)) < most && length < 1e6)
        length *= 3;
    acu_policy_release(policy);
    s->m->ticks = was;
    mix_verify(s->m);
    bench_at_most(s->b, "looks at 64 busy streams before one was done", "", looks, NAN);
    bench_at_most(s->b, "one look at 64 busy streams", "us", bench_percentile(us, looks, 50), 5);
}

/* ---- the heap ---- */

static int64_t own_calls(void)
{
    return heap_calls(HEAP_ACUDA) + heap_calls(HEAP_OTHER);
}

static void warm_heap_row(subject *s, int kernels)
{
    int warm = bench_count(s->b, 2000, 20), count = bench_count(s->b, 2000, 20);
    int64_t before = 0;
    for (int i = 0; i < warm + count; i++) {
        uint32_t ticket = (uint32_t)i;
        acu_future *future;
        int y = i % 8;
        if (i == warm) {
            MUST(acu_graph_cache_wait(s->b->device));
            before = own_calls();
        }
        MUST(acu_submit(s->b->device, mix_chain(s->m, y, ticket, kernels), NULL, &future));
        MUST(acu_future_wait(future, ACU_FOREVER));
        acu_future_release(future);
        mix_expect(s->m, y, ticket, kernels);
    }
    int64_t calls = own_calls() - before;
    number(s, "heap allocations of a warm submit and wait, %d kernels", kernels, "",
           (double)calls / count, 0);
}

/* The difference between twice as many and once as many, neither of which was ever in flight
 * before: nothing of it comes from blocks that are kept for reuse. */
static void flight_heap_row(subject *s)
{
    int count = bench_count(s->b, 2000, 20), more = 2 * count;
    acu_future **futures = calloc((size_t)(count + more), sizeof(acu_future *));
    pending g;
    if (!futures)
        bench_die("no memory");
    pending_make(&g, s->m);
    pending_close(&g);
    pending_submit(&g, futures, count, 10);
    expect_pending(s, count, 10);
    int64_t before = heap_bytes(HEAP_ACUDA) + heap_bytes(HEAP_OTHER);
    pending_submit(&g, futures + count, more, 10);
    expect_pending(s, more, 10);
    int64_t bytes = heap_bytes(HEAP_ACUDA) + heap_bytes(HEAP_OTHER) - before;
    pending_open(&g);
    MUST(acu_wait_all(futures, (size_t)(count + more), ACU_FOREVER));
    for (int i = 0; i < count + more; i++)
        acu_future_release(futures[i]);
    free(futures);
    pending_drop(&g);
    bench_at_most(s->b, "memory of a submission of ten kernels in flight", "bytes",
                  (double)bytes / more, 4096);
}

static void heap_rows(subject *s)
{
    bench_title(s->b, "the heap");
    if (!heap_watch()) {
        printf("not in this build\n");
        return;
    }
    flight_heap_row(s);
    warm_heap_row(s, 1);
    warm_heap_row(s, 10);
    warm_heap_row(s, 100);
    mix_verify(s->m);
}

/* The same on a device with a runtime thread, which issues what is handed over to it together. */
static void handed_rows(subject *s)
{
    acu_open_options options = {.size = sizeof options, .runtime_thread = true};
    bench_reopen(s->b, &options);
    *s->m = mix_open(s->b, MIX_MOST_Y);
    rate_rows(s, ", handed over");
}

int main(int argc, char **argv)
{
    bench b = bench_open("flight", argc, argv, NULL);
    mix m = mix_open(&b, MIX_MOST_Y);
    subject s = {.b = &b, .m = &m};
    MUST(acu_queue_create(NULL, &s.queue));
    heap_rows(&s); /* first, before blocks for 100,000 are kept for reuse */
    rate_rows(&s, "");
    bench_title(&b, "many pending");
    pending_rows(&s);
    busy_row(&s);
    mix_close(&m);
    handed_rows(&s);
    acu_queue_release(s.queue);
    mix_close(&m);
    return bench_close(&b);
}
