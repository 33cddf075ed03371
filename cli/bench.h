/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* `acuda bench`: what it measures, and how that is shown. */
#ifndef ACUDA_CLI_BENCH_H
#define ACUDA_CLI_BENCH_H

#include "cli.h"

#include <json-c/json.h>

enum { BENCH_MOST = 4000 }; /* samples of one side of a row */

typedef struct bench { /* what samples need; bench_rows.c makes it */
    acu_device *device;
    const acu_driver_table *cu;
    CUstream stream;
    CUevent event; /* a wait for it is asleep */
    acu_kernel *kernel;
    acu_tensor *counter; /* u32 [2]: kernels add 1 to the first */
    uint32_t expected;   /* what it must be */
    unsigned rounds;     /* of a kernel that takes some time */
    acu_graph *graph;    /* ten kernels */
    CUgraph raw_graph;
    CUgraphExec raw_exec;
    acu_queue *queue;
    acu_tensor *x, *y, *pinned, *small, *small_pinned;
    char *memory; /* of the program, not page-locked */
    size_t bytes; /* of x, y, pinned and memory */
} bench;

typedef struct bench_row {
    const char *name, *what; /* `what`: what both sides do, and by which calls */
    bool rate;               /* samples are GB/s, of which more is better; else microseconds */
    bool (*acuda)(bench *b, double *sample); /* false: it failed */
    bool (*by_hand)(bench *b, double *sample);
} bench_row;

typedef struct bench_figures { /* of one side */
    double p50, p99; /* of a rate: what all but one of a hundred samples reach */
    int count;
} bench_figures;

typedef struct bench_result {
    const bench_row *row;
    bench_figures acuda, by_hand;
    double times; /* acuda's p50 is so many times the floor; of a rate: the other way round */
} bench_result;

extern const bench_row bench_rows[];
extern const int bench_row_count;

bool bench_open(bench *b, const char *driver, int ordinal); /* false: an error was printed */
void bench_close(bench *b);
bool bench_right(bench *b); /* all kernels have run; false: an error was printed */

/* In bench_page.c: a picture, and a page with it. The caller looks whether the file has errors. */
void bench_svg(FILE *to, const bench_result *results, int count, const char *title);
void bench_html(FILE *to, const bench_result *results, int count, struct json_object *report);

#endif
