/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Own: what acuda itself takes, without a GPU. The driver is a clockwork (clockwork/clockwork.h):
 * it answers at once, and its device takes as long as it is told to. So this shows, on any machine,
 * what a change costs or saves: for submitting, with warm and cold caches; with many submissions
 * pending; and in how late the end of work of some length is reported, and for how much processor
 * time. A real driver's time comes on top: see bench/submit and bench/wait.
 */
#if ACUDA_WITH_SOFTCUDA

#include "clockwork/clockwork.h"
#include "harness/mix.h"
#include "harness/pending.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { YS = 64, PENDING = 100000, LATE_US = 140, WAYS = 3, ROWS = 4 };

typedef struct subject {
    bench *b;
    mix m;
    acu_queue *queue;
    mix_forms forms; /* what is known of a length goes with these */
    int form;
    uint32_t ticket;
    char *junk; /* that caches are emptied with */
} subject;

/* ---- submitting ---- */

enum { JUNK = 24 << 20 };

static void empty_caches(subject *s)
{
    for (size_t i = 0; i < JUNK; i += 64)
        s->junk[i]++;
}

typedef acu_op *(*compose_fn)(const mix *m, int y, uint32_t ticket, int count);

static double sync_us(subject *s, compose_fn compose, int kernels)
{
    uint32_t ticket = s->ticket++;
    double start = bench_now_us();
    MUST(acu_sync(s->b->device, compose(&s->m, (int)(ticket % YS), ticket, kernels), NULL));
    return bench_now_us() - start;
}

static void submit_row(subject *s, const char *what, compose_fn compose, int kernels, bool cold)
{
    enum { MOST = 5000 };
    static double us[MOST];
    int count = bench_count(s->b, cold ? 500 : MOST, 5);
    for (int i = 0; i < 20; i++)
        sync_us(s, compose, kernels);
    MUST(acu_graph_cache_wait(s->b->device));
    for (int i = 0; i < count; i++) {
        if (cold)
            empty_caches(s);
        us[i] = sync_us(s, compose, kernels);
    }
    bench_at_most(s->b, what, "us", bench_percentile(us, count, 50), NAN);
}

static void submit_rows(subject *s)
{
    bench_title(s->b, "submitted and waited for, the device taking no time");
    submit_row(s, "1 kernel", mix_chain, 1, false);
    submit_row(s, "10 kernels, zipped", mix_chain, 10, false);
    submit_row(s, "10 kernels, each on the result before", mix_nested, 10, false);
    submit_row(s, "100 kernels, zipped", mix_chain, 100, false);
    submit_row(s, "1 kernel, caches emptied", mix_chain, 1, true);
    submit_row(s, "10 kernels, zipped, caches emptied", mix_chain, 10, true);
}

/* ---- many pending ---- */

static void pending_row(subject *s, pending *g, acu_future **futures, int few, int most)
{
    const char *where = futures ? "" : " on a queue";
    double of_few[9], of_most[3];
    char what[100];
    for (int i = 0; i < 9; i++)
        of_few[i] = futures ? pending_drain(g, futures, few)
                            : pending_drain_queue(g, s->queue, few);
    for (int i = 0; i < 3; i++)
        of_most[i] = futures ? pending_drain(g, futures, most)
                             : pending_drain_queue(g, s->queue, most);
    snprintf(what, sizeof what, "%d pending%s, each", few, where);
    bench_at_most(s->b, what, "us", bench_percentile(of_few, 9, 50), NAN);
    snprintf(what, sizeof what, "%d pending%s, each", most, where);
    bench_at_most(s->b, what, "us", bench_percentile(of_most, 3, 50), NAN);
}

static void pending_rows(subject *s)
{
    int most = bench_count(s->b, PENDING, 500), few = most / 100;
    acu_future **futures = calloc((size_t)most, sizeof(acu_future *));
    pending g;
    if (!futures)
        bench_die("no memory");
    bench_title(s->b, "pending, until nothing holds them any more");
    pending_make(&g, &s->m);
    pending_drain(&g, futures, most); /* for caches */
    pending_row(s, &g, futures, few, most);
    pending_row(s, &g, NULL, few, most);
    pending_drop(&g);
    free(futures);
}

/* ---- waiting ---- */

typedef enum way { SYNC, FUTURE, QUEUE } way;

static void wait_for(subject *s, way how, acu_op *op)
{
    acu_submit_options options = {.size = sizeof options, .queue = s->queue};
    acu_future *future;
    acu_completion done;
    size_t count;
    if (how == SYNC) {
        MUST(acu_sync(s->b->device, op, NULL));
    } else if (how == FUTURE) {
        MUST(acu_submit(s->b->device, op, NULL, &future));
        MUST(acu_future_wait(future, ACU_FOREVER));
        acu_future_release(future);
    } else {
        MUST(acu_submit(s->b->device, op, &options, NULL));
        MUST(acu_queue_wait(s->queue, &done, 1, &count, ACU_FOREVER));
        acu_future_release(done.future);
    }
}

/* How late it is told, us. */
static double wait_us(subject *s, way how, double length)
{
    uint32_t ticket = s->ticket++;
    mix *m = &s->m;
    clockwork_next((uint64_t)(length * 1000));
    wait_for(s, how,
             acu_launch(s->forms.kernels[s->form], acu_for_num_elems(MIX_N),
                        acu_inout(m->y[ticket % YS]), acu_in(m->x[ticket % MIX_X]), acu_u32(ticket),
                        acu_u32(MIX_N)));
    return bench_now_us() - (double)clockwork_over_at() / 1000;
}

/* Lengths of `us`, or up to that share of it more or less. */
static void wait_row(subject *s, const char *what, way how, double us, double varies)
{
    enum { MOST = 400, STEPS = 9 };
    static const char *const names[] = {"acu_sync", "acu_future_wait", "acu_queue_wait"};
    static double late[MOST];
    int count = bench_count(s->b, MOST, 10), known = bench_count(s->b, 60, 0);
    double cpu = 0, wall = 0;
    char text[100];
    for (int i = -known; i < count; i++) {
        uint32_t h = (uint32_t)(i + 100) * 0x9e3779b9u;
        double part = (double)((h ^ h >> 15) >> 8) / (1 << 24);
        if (i == 0) {
            cpu = bench_cpu_us() - clockwork_cpu_us();
            wall = bench_now_us();
        }
        double us_late = wait_us(s, how, us * (1 - varies + 2 * varies * part));
        if (i >= 0)
            late[i] = us_late;
    }
    cpu = bench_cpu_us() - clockwork_cpu_us() - cpu;
    wall = bench_now_us() - wall;
    s->form++;
    snprintf(text, sizeof text, "%s, %s: late, p50", what, names[how]);
    bench_at_most(s->b, text, "us", bench_percentile(late, count, 50), NAN);
    snprintf(text, sizeof text, "%s, %s: of one core", what, names[how]);
    bench_at_most(s->b, text, "%", 100 * cpu / wall, NAN);
}

static void wait_rows(subject *s)
{
    char text[100];
    double us = bench_count(s->b, 5000, 300);
    snprintf(text, sizeof text, "waited for; who sleeps in the driver wakes up %d us late",
             LATE_US);
    bench_title(s->b, text);
    s->forms = mix_forms_load(&s->m, WAYS * ROWS);
    for (int how = SYNC; how < WAYS; how++) {
        wait_row(s, "5 ms, repeated", (way)how, us, 0);
        wait_row(s, "5 ms, 10 % more or less", (way)how, us, 0.1);
        wait_row(s, "1 ms, 10 % more or less", (way)how, us / 5, 0.1);
        wait_row(s, "100 us, repeated", (way)how, us / 50, 0);
    }
    mix_forms_release(&s->forms);
}

int main(int argc, char **argv)
{
    if (!clockwork_choose())
        bench_die("where the driver is can not be told");
    bench b = bench_open("own", argc, argv, NULL);
    subject s = {.b = &b, .m = mix_open(&b, YS), .junk = calloc(1, JUNK)};
    if (!s.junk)
        bench_die("no memory");
    MUST(acu_queue_create(NULL, &s.queue));
    clockwork_start(LATE_US * 1000);
    submit_rows(&s);
    pending_rows(&s);
    wait_rows(&s);
    bench_settle(&b);
    clockwork_stop();
    acu_queue_release(s.queue);
    mix_close(&s.m); /* nothing was computed */
    free(s.junk);
    return bench_close(&b);
}

#else

#include <stdio.h>

int main(void)
{
    fputs("own: its driver is made of the software device, which is not in this build\n", stderr);
    return 77;
}

#endif
