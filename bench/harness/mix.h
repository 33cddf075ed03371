/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The work that is measured: launches of mix (mix.cu) on tensors of 1,024 elements, with 4 blocks
 * and 4 arguments. A ticket, drawn for each chain, decides the scalars and the tensors to read, all
 * of which differ from one ticket to the next. The results depend on every launch and are checked
 * at the end.
 *
 * The tensors y are numbered; only one thread at a time may use a y and its expectations.
 */
#ifndef BENCH_MIX_H
#define BENCH_MIX_H

#include "harness.h"

enum { MIX_N = 1024, MIX_X = 8, MIX_MOST_Y = 256, MIX_PROBES = 4, MIX_BLOCK = 256 };

typedef struct mix {
    const bench *b;
    acu_kernel *fast, *slow;
    uint32_t ticks; /* of the multiprocessor's clock that a launch takes; 0: the fast kernel */
    int ys;
    acu_tensor *x[MIX_X], *y[MIX_MOST_Y];
    CUdeviceptr x_address[MIX_X], y_address[MIX_MOST_Y];
    uint32_t expected[MIX_MOST_Y][MIX_PROBES];
} mix;

/* The arguments of one launch, as the driver takes them. Points into itself: never copied. */
typedef struct mix_args {
    CUdeviceptr y, x;
    uint32_t a, n, ticks;
    int x_index;
    void *params[5];
} mix_args;

mix mix_open(const bench *b, int ys);
void mix_close(mix *m); /* checks the results first */
void mix_verify(const mix *m);

/* Launch `i` of the chain that has this ticket. */
void mix_fill(const mix *m, mix_args *args, int y, uint32_t ticket, int i);
/* The launches 0 .. count-1 of that chain were made: what the results are to be. Untimed. */
void mix_expect(mix *m, int y, uint32_t ticket, int count);

/* One launch as an op. */
acu_op *mix_launch(const mix *m, int y, uint32_t ticket, int i);
/* A chain, composed with zip or by giving each launch the first value of the one before. */
enum { MIX_MOST_CHAIN = 128 };
acu_op *mix_chain(const mix *m, int y, uint32_t ticket, int count);
acu_op *mix_nested(const mix *m, int y, uint32_t ticket, int count);

/* Sets `ticks` so that a launch takes that long on the device. In quick runs and on the software
 * device: some few ticks. */
void mix_calibrate(mix *m, double us);

/* `count` more kernels that do what mix does: entries of their own in one module. */
typedef struct mix_forms {
    acu_module *module;
    acu_kernel **kernels;
    int count;
} mix_forms;
mix_forms mix_forms_load(const mix *m, int count);
void mix_forms_release(mix_forms *forms);

#endif
