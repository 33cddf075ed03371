/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The twins: the same launches by the driver's calls. One twin uses cuLaunchKernel, as most
 * programs do; the other an executable graph that is kept and whose nodes are each set to the new
 * arguments, as an expert would. The caller has made the context current.
 */
#ifndef BENCH_RAW_H
#define BENCH_RAW_H

#include "mix.h"

CUstream raw_stream(const bench *b);

void raw_launch(const mix *m, CUstream stream, CUfunction function, mix_args *args);
/* The launches 0 .. count-1 of a ticket. */
void raw_chain(const mix *m, CUstream stream, int y, uint32_t ticket, int count);

/* An executable graph of `chains` chains of `length` launches each, side by side. */
typedef struct raw_exec {
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode *nodes;
    CUfunction function;
    int chains, length;
} raw_exec;

raw_exec raw_exec_make(const mix *m, int chains, int length);
/* Chain `chain` to a ticket's launches on y: one call for each node. */
void raw_exec_set(const mix *m, const raw_exec *e, int chain, int y, uint32_t ticket);
void raw_exec_launch(const mix *m, const raw_exec *e, CUstream stream);
void raw_exec_destroy(const mix *m, raw_exec *e);

#endif
