/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What fake_cublas.c is told to do, and writes down, by the symbol fake_cublas_of. */
#ifndef ACUDA_TESTS_FAKE_CUBLAS_H
#define ACUDA_TESTS_FAKE_CUBLAS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fake_cublas {
    /* Set by the test: the driver's way to run something on a stream, where an address is on the
     * host, and whether it may be touched. */
    unsigned (*launch)(void *stream, void (*fn)(void *), void *user);
    char *(*host)(uint64_t address);
    bool (*valid)(uint64_t address, uint64_t bytes);
    bool (*captured)(void *stream);
    _Atomic(int) fail_create, fail_gemm; /* the status to be answered; 0: none */
    pthread_mutex_t gate;                /* held by the test: creations wait */
    _Atomic(bool) slow;                  /* calls give way to others while they use the handle */

    _Atomic(int) created, destroyed, calls, batched_calls, done;
    _Atomic(int) overlaps;  /* a handle in use by two threads */
    _Atomic(int) trampled;  /* a workspace in use by two products */
    _Atomic(int) refused;   /* wrong arguments, or memory that is not there */
    /* Of the last call: */
    _Atomic(int) compute, batches, math, type;
    _Atomic(uint64_t) workspace, workspace_bytes;
} fake_cublas;

/* For fake_blas.c: what the handle was set to. */
void *fake_cublas_stream(const void *handle);
int fake_cublas_pointers(const void *handle);
size_t fake_cublas_workspace(const void *handle); /* bytes; 0: none was set */

#endif
