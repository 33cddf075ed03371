/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Threads: how many small submissions a second several devices take, and several threads for each.
 * Every thread keeps 64 in flight on tensors of its own, one kernel each, and waits for the oldest
 * before it submits the next. The twin makes the same launches with an event behind each, and waits
 * for that event. Both run in turn, a few times, in one process; the figures are medians.
 *
 *   bench/threads [--instant] [--quick] [result.json]
 *
 * --instant: no GPU is needed. The devices are four of a driver that answers at once, and does
 * nothing (bench/clockwork), so what is measured is acuda itself, and where its threads wait for
 * each other.
 */
#if ACUDA_WITH_SOFTCUDA
#include "clockwork/clockwork.h"
#endif
#include "harness/crew.h"
#include "harness/mix.h"
#include "harness/raw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES = 4, THREADS = 8, WINDOW = 64, TENSORS = 32, STREAMS = 4, ROUNDS = 7 };

/* What one thread has. */
typedef struct lane {
    mix *m;
    int first;       /* of its tensors */
    uint32_t ticket; /* of its next submission */
    acu_future *future[WINDOW];
    CUstream stream[STREAMS];
    CUevent event[WINDOW];
} lane;

typedef struct subject {
    bench *b;
    bool instant;
    int devices, ops; /* ops: of a thread, in a round */
    bench bench[DEVICES]; /* one for each device */
    mix m[DEVICES];
    lane lanes[DEVICES * THREADS];
    crew crew;
} subject;

static int tensor_of(const lane *l, int op)
{
    return l->first + op % TENSORS;
}

/* A driver that does nothing computes nothing. */
static void expect(const subject *s, lane *l)
{
    for (int i = 0; i < s->ops && !s->instant; i++)
        mix_expect(l->m, tensor_of(l, i), l->ticket + (uint32_t)i, 1);
    l->ticket += (uint32_t)s->ops;
}

static void submit_all(void *user, int thread)
{
    subject *s = user;
    lane *l = &s->lanes[thread];
    for (int i = 0; i < s->ops + WINDOW; i++) {
        acu_future **slot = &l->future[i % WINDOW];
        if (i >= WINDOW) {
            MUST(acu_future_wait(*slot, ACU_FOREVER));
            acu_future_release(*slot);
        }
        if (i < s->ops)
            MUST(acu_submit(l->m->b->device,
                            mix_launch(l->m, tensor_of(l, i), l->ticket + (uint32_t)i, 0), NULL,
                            slot));
    }
}

/* A tensor has one stream, so the order is that of the launches. */
static void launch_all(void *user, int thread)
{
    subject *s = user;
    lane *l = &s->lanes[thread];
    const acu_driver_table *cu = s->b->cu;
    bench_enter(l->m->b);
    for (int i = 0; i < s->ops + WINDOW; i++) {
        CUstream stream = l->stream[i % TENSORS % STREAMS];
        if (i >= WINDOW)
            MUST_CU(cu->EventSynchronize(l->event[i % WINDOW]));
        if (i >= s->ops)
            continue;
        raw_chain(l->m, stream, tensor_of(l, i), l->ticket + (uint32_t)i, 1);
        MUST_CU(cu->EventRecord(l->event[i % WINDOW], stream));
    }
    bench_leave(l->m->b);
}

/* ---- one row ---- */

typedef struct figures {
    double rate[ROUNDS], cpu[ROUNDS]; /* thousands a second; us of processor time for each */
} figures;

static void measure(subject *s, int lanes, crew_fn fn, figures *f, int round)
{
    bench_settle(s->b);
    double cpu = bench_cpu_us();
    double us = crew_run(&s->crew, fn, s, false);
    cpu = bench_cpu_us() - cpu;
    f->rate[round] = 1000 * (double)s->ops * lanes / us;
    f->cpu[round] = cpu / ((double)s->ops * lanes);
    for (int i = 0; i < lanes; i++)
        expect(s, &s->lanes[i]);
}

static void open_lane(subject *s, lane *l, int device, int thread)
{
    *l = (lane){.m = &s->m[device], .first = thread * TENSORS, .ticket = (uint32_t)thread << 24};
    bench_enter(l->m->b);
    for (int i = 0; i < STREAMS; i++)
        l->stream[i] = raw_stream(l->m->b);
    for (int i = 0; i < WINDOW; i++)
        MUST_CU(s->b->cu->EventCreate(&l->event[i], ACU_CU_EVENT_DISABLE_TIMING));
    bench_leave(l->m->b);
}

static void close_lane(subject *s, lane *l)
{
    bench_enter(l->m->b);
    for (int i = 0; i < STREAMS; i++)
        MUST_CU(s->b->cu->StreamDestroy(l->stream[i]));
    for (int i = 0; i < WINDOW; i++)
        MUST_CU(s->b->cu->EventDestroy(l->event[i]));
    bench_leave(l->m->b);
}

/* Acuda's rate, in thousands a second. */
static double row(subject *s, int devices, int threads)
{
    char title[80];
    figures own, hand;
    int lanes = devices * threads, rounds = bench_count(s->b, ROUNDS, 1);
    for (int i = 0; i < lanes; i++)
        open_lane(s, &s->lanes[i], i / threads, i % threads);
    crew_hire(&s->crew, s->b, lanes);
    crew_run(&s->crew, submit_all, s, false); /* for caches */
    for (int i = 0; i < lanes; i++)
        expect(s, &s->lanes[i]);
    for (int i = 0; i < rounds; i++) {
        measure(s, lanes, submit_all, &own, i);
        measure(s, lanes, launch_all, &hand, i);
    }
    crew_dismiss(&s->crew);
    for (int i = 0; i < lanes; i++)
        close_lane(s, &s->lanes[i]);
    double rate = bench_percentile(own.rate, rounds, 50);
    double cpu = bench_percentile(own.cpu, rounds, 50);
    double by_hand = bench_percentile(hand.rate, rounds, 50);
    double cpu_by_hand = bench_percentile(hand.cpu, rounds, 50);
    bool few = threads == 1 || s->instant; /* where launches by hand are not the measure */
    snprintf(title, sizeof title, "%d x %d: devices, threads for each", devices, threads);
    bench_title(s->b, title);
    bench_at_least(s->b, "submissions", "1000/s", rate, NAN);
    bench_at_least(s->b, "  launches and events by hand", "1000/s", by_hand, NAN);
    bench_at_least(s->b, "  submissions over those by hand", "", rate / by_hand, few ? NAN : 1);
    bench_at_most(s->b, "processor time for each", "us", cpu, NAN);
    bench_at_most(s->b, "  by hand", "us", cpu_by_hand, NAN);
    bench_at_most(s->b, "  processor time over that by hand", "", cpu / cpu_by_hand,
                  s->instant ? NAN : 1.2);
    return rate;
}

static void rows(subject *s)
{
    static const struct { int devices, threads; } shapes[] = {{1, 1}, {1, 8}, {2, 1}, {2, 8},
                                                              {4, 1}, {4, 4}, {4, 8}};
    double one = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        int devices = shapes[i].devices, threads = shapes[i].threads;
        if (devices > s->devices) {
            printf("%d x %d: there are %d devices\n", devices, threads, s->devices);
            continue;
        }
        double rate = row(s, devices, threads);
        one = i == 0 ? rate : one;
        if (threads == 1 && devices > 1)
            bench_at_least(s->b, "submissions, over those of one device and one thread", "",
                           rate / one, s->instant ? NAN : 0.875 * devices);
    }
}

/* ---- devices ---- */

static void open_all(subject *s)
{
    int count;
    acu_open_options options = {.size = sizeof options, .allow_software = true};
    MUST(acu_device_count_load(&options, &count));
    s->devices = count < DEVICES ? count : DEVICES;
    for (int i = 0; i < s->devices; i++) {
        s->bench[i] = *s->b;
        options.ordinal = i;
        if (i > 0)
            MUST(acu_open(&options, &s->bench[i].device));
        s->m[i] = mix_open(&s->bench[i], THREADS * TENSORS);
    }
}

static void close_all(subject *s)
{
    for (int i = 0; i < s->devices; i++) {
        mix_close(&s->m[i]);
        if (i > 0)
            MUST(acu_close(s->bench[i].device));
    }
}

/* True: the driver is to be one that answers at once. */
static bool take_instant(int *argc, char **argv)
{
    if (*argc < 2 || strcmp(argv[1], "--instant") != 0)
        return false;
#if ACUDA_WITH_SOFTCUDA
    setenv("SOFTCUDA_DEVICES", "4", 1);
    if (!clockwork_choose())
        bench_die("where the driver is can not be told");
#else
    bench_die("threads: --instant needs the software device, which is not in this build");
#endif
    memmove(&argv[1], &argv[2], (size_t)(*argc - 1) * sizeof *argv);
    --*argc;
    return true;
}

int main(int argc, char **argv)
{
    subject *s = calloc(1, sizeof *s);
    if (!s)
        bench_die("no memory");
    s->instant = take_instant(&argc, argv);
    bench b = bench_open("threads", argc, argv, NULL);
    s->b = &b;
    s->ops = bench_count(&b, 8192, 2 * WINDOW);
    open_all(s);
#if ACUDA_WITH_SOFTCUDA
    if (s->instant)
        clockwork_start(0);
#endif
    rows(s);
    bench_settle(&b);
#if ACUDA_WITH_SOFTCUDA
    if (s->instant)
        clockwork_stop();
#endif
    close_all(s);
    free(s);
    return bench_close(&b);
}
