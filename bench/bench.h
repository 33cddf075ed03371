/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the benches share: time, percentiles, tables with a goal beside each ratio, JSON, and checks
 * that end the program. Every figure of acuda's stands beside raw driver calls of the same run; the
 * two take turns, and acuda is idle while the other runs.
 *
 *   bench/NAME [--quick] [FILE.json]      --quick: a few rounds, to see that it works
 */
#ifndef BENCH_H
#define BENCH_H

#include <acuda/acuda.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct bench {
    bool quick;
    FILE *json;
    int rows;
} bench;

static inline void must(acu_status status)
{
    char text[1024];
    if (status == ACU_OK)
        return;
    acu_error_describe(acu_last_error(), text, sizeof text);
    fprintf(stderr, "%s: %s\n", acu_status_name(status), text);
    exit(2);
}

static inline void must_raw(unsigned result)
{
    if (result == 0)
        return;
    fprintf(stderr, "the driver answered %u\n", result);
    exit(2);
}

static inline void must_be(bool right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "wrong: %s\n", what);
    exit(1);
}

static inline double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static inline double cpu_us(void) /* of the whole process */
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static inline int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct spread {
    double p50, p99;
} spread;

static inline spread spread_of(double *samples, int n)
{
    qsort(samples, (size_t)n, sizeof *samples, ascending);
    return (spread){samples[n / 2], samples[n * 99 / 100]};
}

static inline bench bench_begin(int argc, char **argv, const char *name, acu_device *device)
{
    bench b = {0};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            b.quick = true;
        else if (!(b.json = fopen(argv[i], "w")))
            must_be(false, argv[i]);
    }
    printf("%s on %s\n", name, acu_device_info_of(device)->name);
    if (b.json)
        fprintf(b.json, "{\"bench\": \"%s\", \"device\": \"%s\", \"rows\": [", name,
                acu_device_info_of(device)->name);
    return b;
}

static inline void bench_head(const char *title, const char *unit)
{
    printf("\n%s, %s\n%-34s %18s %18s   ratio p50 / p99   goal\n", title, unit, "", "acuda p50 / p99",
           "raw p50 / p99");
}

/* One figure beside its twin; goal 0: none. */
static inline void bench_row(bench *b, const char *what, spread ours, spread raw, double goal)
{
    char limit[16] = "";
    if (goal > 0)
        snprintf(limit, sizeof limit, "%.2f", goal);
    printf("%-34s %8.2f %9.2f %8.2f %9.2f   %7.3f %7.3f   %s%s\n", what, ours.p50, ours.p99, raw.p50,
           raw.p99, ours.p50 / raw.p50, ours.p99 / raw.p99, limit,
           goal > 0 && ours.p50 / raw.p50 > goal ? "  not reached" : "");
    if (b->json)
        fprintf(b->json, "%s\n  {\"what\": \"%s\", \"acuda\": [%.3f, %.3f], \"raw\": [%.3f, %.3f], "
                "\"goal\": %.3f}", b->rows ? "," : "", what, ours.p50, ours.p99, raw.p50, raw.p99,
                goal);
    b->rows++;
}

/* A figure that has no twin. */
static inline void bench_value(bench *b, const char *what, double value, const char *unit, double goal)
{
    printf("%-34s %10.3f %s   goal %.3f%s\n", what, value, unit, goal,
           value > goal ? "  not reached" : "");
    if (b->json)
        fprintf(b->json, "%s\n  {\"what\": \"%s\", \"value\": %.4f, \"unit\": \"%s\", \"goal\": %.4f}",
                b->rows ? "," : "", what, value, unit, goal);
    b->rows++;
}

static inline void bench_end(bench *b)
{
    if (!b->json)
        return;
    fprintf(b->json, "\n]}\n");
    fclose(b->json);
}

#endif
