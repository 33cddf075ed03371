/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Handing over: how much of the caller's time acu_submit takes on a device with a runtime thread,
 * in bursts, and one by one with the thread asleep. Beside it: what it costs just to wake a
 * sleeping thread by a futex, as the caller must do then; and the whole way, from submit to the end
 * of a wait.
 */
#include "harness/mix.h"

#include <linux/futex.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BURST = 200, MOST = 8000, YS = 8 };

static double samples[MOST];
static int sampled;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void report(bench *b, const char *what, double p50_goal)
{
    char text[100];
    qsort(samples, (size_t)sampled, sizeof *samples, by_value);
    bench_at_most(b, what, "us", bench_percentile(samples, sampled, 50), p50_goal);
    snprintf(text, sizeof text, "%s, p99", what);
    bench_at_most(b, text, "us", bench_percentile(samples, sampled, 99), NAN);
    sampled = 0;
}

/* ---- acuda ---- */

static uint32_t ticket;

/* Build, then submit; only the latter is timed. */
static acu_future *submit_one(bench *b, mix *m)
{
    acu_future *future;
    int y = (int)(ticket % YS);
    acu_op *op = mix_launch(m, y, ticket, 0);
    mix_expect(m, y, ticket++, 1);
    double start = bench_now_us();
    MUST(acu_submit(b->device, op, NULL, &future));
    samples[sampled++] = bench_now_us() - start;
    return future;
}

static void bursts(bench *b, mix *m, int rounds, bool recorded)
{
    acu_future *futures[BURST];
    for (int r = 0; r < rounds; r++) {
        for (int i = 0; i < BURST; i++)
            futures[i] = submit_one(b, m);
        MUST(acu_wait_all(futures, BURST, ACU_FOREVER));
        for (int i = 0; i < BURST; i++)
            acu_future_release(futures[i]);
    }
    if (recorded)
        report(b, "acu_submit in bursts of 200, caller's time", 0.5);
    sampled = 0;
}

static void asleep(bench *b, mix *m, int rounds)
{
    for (int r = 0; r < rounds; r++) {
        bench_nap_us(300); /* it looks for some 20 us before it sleeps */
        acu_future *future = submit_one(b, m);
        MUST(acu_future_wait(future, ACU_FOREVER));
        acu_future_release(future);
    }
    report(b, "acu_submit with the thread asleep, caller's time", 3.0);
}

static void waited(bench *b, mix *m, int rounds)
{
    for (int r = 0; r < rounds; r++) {
        int y = (int)(ticket % YS);
        double start = bench_now_us();
        MUST(acu_sync(b->device, mix_launch(m, y, ticket, 0), NULL));
        samples[sampled++] = bench_now_us() - start;
        mix_expect(m, y, ticket++, 1);
    }
    report(b, "one kernel, handed over, submit to waited", NAN);
}

/* ---- waking alone ---- */

static _Atomic(uint32_t) word;
static _Atomic(bool) over;

static void *sleeper(void *unused)
{
    (void)unused;
    while (!atomic_load(&over)) {
        atomic_store(&word, 1);
        while (atomic_load(&word))
            syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
    }
    return NULL;
}

static void waking(bench *b, int rounds)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, sleeper, NULL))
        bench_die("no thread");
    for (int r = 0; r < rounds; r++) {
        bench_nap_us(300);
        if (r + 1 == rounds)
            atomic_store(&over, true);
        double start = bench_now_us();
        atomic_store(&word, 0);
        syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1);
        samples[sampled++] = bench_now_us() - start;
    }
    pthread_join(thread, NULL);
    report(b, "a futex's wake of a sleeping thread, alone", NAN);
}

int main(int argc, char **argv)
{
    acu_open_options options = {.size = sizeof options, .runtime_thread = true};
    bench b = bench_open("handover", argc, argv, &options);
    mix m = mix_open(&b, YS);
    bench_title(&b, "submission without the driver");
    bursts(&b, &m, bench_count(&b, 20, 1), false);
    bursts(&b, &m, bench_count(&b, MOST / BURST, 2), true);
    asleep(&b, &m, bench_count(&b, 1000, 10));
    waking(&b, bench_count(&b, 1000, 10));
    waited(&b, &m, bench_count(&b, 2000, 10));
    mix_close(&m);
    return bench_close(&b);
}
