/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What all benchmarks share: options, a device, timing in alternating blocks, percentiles, a table
 * and JSON.
 *
 *   bench/<name> [--quick] [result.json]
 *
 * --quick runs everything a few times and claims nothing about time: for tests, and the only way on
 * the software device. Wrong results end the program with status 3, failed calls with 2. A goal
 * that is missed is marked in the table and in the JSON, and is not a failure.
 *
 * Figures are ratios. Each row times acuda and one or more twins, the same work by raw driver
 * calls, in one run: blocks of samples of each side in turn, with acuda idle while a twin runs, and
 * no context current on the thread while acuda runs, as in a program that uses acuda alone.
 */
#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

#include <acuda/acuda.h>

#include <stddef.h>
#include <stdint.h>

typedef struct bench_record bench_record; /* what is kept of a row */

typedef struct bench {
    const char *name;
    acu_device *device;
    const acu_driver_table *cu;
    bool quick;
    const char *json; /* where to write, or NULL */
    bench_record *records, **last_record;
    char title[160]; /* of the rows that come */
    bool in_table; /* the columns of a row's sides have their heads */
    int missed;
} bench;

/* Reads the options and opens the device; `options` NULL: the defaults. Ends the program where
 * there is no GPU and --quick was not said. */
bench bench_open(const char *name, int argc, char **argv, const acu_open_options *options);
/* The same for what is timed on the host alone: also on the software device. */
bench bench_open_host(const char *name, int argc, char **argv);
/* Closes the device, of which nothing may be left, and opens it with others. */
void bench_reopen(bench *b, const acu_open_options *options);
/* Writes the JSON, closes the device. The program's exit status. */
int bench_close(bench *b);

/* A kernel of the PTX; its module goes with it. */
acu_kernel *bench_kernel(const bench *b, const char *ptx, const char *name);

/* One or the other: how often something is done. */
static inline int bench_count(const bench *b, int timed, int quick)
{
    return b->quick ? quick : timed;
}

/* ---- giving up, with words ---- */

void bench_must(acu_status status, const char *what, const char *file, int line);
void bench_must_cu(unsigned result, const char *what, const char *file, int line);
_Noreturn void bench_wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Ends the bench unless a call of a vendor's library has answered 0. */
void bench_call(int status, const char *what);
/* The vendor's library that acuda uses, for calling it by hand; NULL: it is not there
 * (acu_last_error says why). */
void *bench_library(const bench *b, acu_vendor vendor);
/* A function of it, or of what dlopen gave: *field is a pointer to it. Ends the bench where there
 * is none. */
void bench_find(void *library, const char *symbol, void *field);
#define MUST(call) bench_must((call), #call, __FILE__, __LINE__)
#define MUST_CU(call) bench_must_cu((call), #call, __FILE__, __LINE__)

/* ---- time ---- */

double bench_now_us(void); /* CLOCK_MONOTONIC */
double bench_cpu_us(void); /* that all threads of the process have used */
void bench_nap_us(double us);
/* Nothing of acuda's is in flight, and its threads had the time to fall asleep. */
void bench_settle(const bench *b);
/* Make the device's context current on this thread, or none. */
void bench_enter(const bench *b);
void bench_leave(const bench *b);

/* ---- comparing ---- */

enum { BENCH_SIDES = 6, BENCH_MOST_SAMPLES = 8192 };

typedef double (*bench_sample_fn)(void *user); /* does it once; microseconds */

/* Goals are what acuda's figure over this side's may be at most; in a row of rates, at least. */
typedef struct bench_side {
    const char *name;
    bench_sample_fn sample;
    void *user;
    double p50_goal, p99_goal; /* 0: none; the first side, acuda, has none */
} bench_side;

typedef struct bench_row {
    const char *what;
    bool rate;         /* shown as operations a second; the ratios are of rates */
    int samples;       /* of each side, in 20 blocks; 0: 2000 */
    int warm;          /* samples before; 0: 100; negative: none */
    bench_side sides[BENCH_SIDES]; /* the first one is acuda; the rest are raw */
} bench_row;

void bench_compare(bench *b, const bench_row *row);

/* One number, with what it may be at most (or at least); NAN: no goal. */
void bench_at_most(bench *b, const char *what, const char *unit, double value, double goal);
void bench_at_least(bench *b, const char *what, const char *unit, double value, double goal);
/* A headline for the rows that follow. */
void bench_title(bench *b, const char *text);

/* Percentile of values, which are sorted. */
double bench_percentile(double *values, int count, double percent);

/* ---- report.c ---- */

typedef struct bench_figures {
    const char *name;
    double p50, p99, p50_goal, p99_goal, p50_ratio, p99_ratio;
} bench_figures;

struct bench_record {
    struct bench_record *next;
    char title[160], what[120]; /* together they name a row in the results (bench/results) */
    const char *unit;
    bool rate, at_least;
    int samples, sides; /* sides 0: a single number */
    bench_figures side[BENCH_SIDES];
    double value, goal;
};

bench_record *bench_record_new(bench *b, const char *what);
void bench_report(bench *b, bench_record *record); /* prints the row, counts missed goals */
void bench_write_json(const bench *b);

#endif
