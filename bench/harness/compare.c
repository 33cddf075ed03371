/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rows of a table: samples of each side, taken in blocks that alternate between the sides. */
#include "harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 20, SAMPLES = 2000, WARM = 100 };

static double samples[BENCH_SIDES][BENCH_MOST_SAMPLES];

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_percentile(double *values, int count, double percent)
{
    qsort(values, (size_t)count, sizeof *values, ascending);
    int at = (int)((double)count * percent / 100.0);
    return values[at < count ? at : count - 1];
}

/* The first side runs as a program does that has acuda alone; the others need a context. */
static void run_block(const bench *b, const bench_row *row, int side, int count, double *out)
{
    const bench_side *s = &row->sides[side];
    if (side > 0)
        bench_enter(b);
    for (int i = 0; i < count; i++) {
        double us = s->sample(s->user);
        if (out)
            out[i] = us;
    }
    if (side > 0)
        bench_leave(b);
    else
        bench_settle(b);
}

static int count_sides(const bench_row *row)
{
    int n = 0;
    while (n < BENCH_SIDES && row->sides[n].name)
        n++;
    return n;
}

/* Twice, so that what acuda prepares meanwhile for forms that come again is ready and used. */
static void warm_up(const bench *b, const bench_row *row, int sides)
{
    int count = row->warm < 0 ? 0 : b->quick ? 2 : (row->warm ? row->warm : WARM) / 2;
    for (int turn = 0; turn < 2 && count > 0; turn++) {
        for (int side = 0; side < sides; side++)
            run_block(b, row, side, count, NULL);
        MUST(acu_graph_cache_wait(b->device));
    }
}

static int measure(const bench *b, const bench_row *row, int sides)
{
    int blocks = bench_count(b, BLOCKS, 2), count = 0;
    int each = bench_count(b, (row->samples ? row->samples : SAMPLES) / BLOCKS, 2);
    if (each < 1)
        each = 1;
    if (each > BENCH_MOST_SAMPLES / BLOCKS)
        bench_die("%s: too many samples", row->what);
    for (int block = 0; block < blocks; block++, count += each)
        for (int i = 0; i < sides; i++) {
            int side = (i + block) % sides; /* none always runs after the same other one */
            run_block(b, row, side, each, samples[side] + count);
        }
    return count;
}

void bench_compare(bench *b, const bench_row *row)
{
    int sides = count_sides(row);
    warm_up(b, row, sides);
    int count = measure(b, row, sides);
    bench_record *record = bench_record_new(b, row->what);
    record->unit = row->rate ? "k/s" : "us";
    record->rate = record->at_least = row->rate;
    record->samples = count;
    record->sides = sides;
    for (int i = 0; i < sides; i++) {
        const bench_side *s = &row->sides[i];
        bench_figures *f = &record->side[i];
        *f = (bench_figures){.name = s->name, .p50_goal = s->p50_goal, .p99_goal = s->p99_goal};
        f->p50 = bench_percentile(samples[i], count, 50);
        f->p99 = bench_percentile(samples[i], count, 99);
        if (row->rate) {
            f->p50 = 1e3 / f->p50;
            f->p99 = 1e3 / f->p99;
        }
        f->p50_ratio = record->side[0].p50 / f->p50;
        f->p99_ratio = record->side[0].p99 / f->p99;
    }
    bench_report(b, record);
}

static void one_number(bench *b, const char *what, const char *unit, double value, double goal,
                       bool at_least)
{
    bench_record *record = bench_record_new(b, what);
    record->unit = unit;
    record->value = value;
    record->goal = goal;
    record->at_least = at_least;
    bench_report(b, record);
}

void bench_at_most(bench *b, const char *what, const char *unit, double value, double goal)
{
    one_number(b, what, unit, value, goal, false);
}

void bench_at_least(bench *b, const char *what, const char *unit, double value, double goal)
{
    one_number(b, what, unit, value, goal, true);
}
