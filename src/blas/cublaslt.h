/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is known of a product when it is planned (product.c), for calling cuBLASLt (cublaslt.c). */
#ifndef ACUI_BLAS_CUBLASLT_H
#define ACUI_BLAS_CUBLASLT_H

#include "vendor/call.h"

enum { ACUI_LT_A, ACUI_LT_B, ACUI_LT_C, ACUI_LT_D, ACUI_LT_MATRICES };
enum {
    ACUI_LT_BIAS = ACUI_LT_MATRICES, /* is read, or, for gradients, written */
    ACUI_LT_KEPT,
    ACUI_LT_SCALE_A,
    ACUI_LT_SCALE_B,
    ACUI_LT_SCALE_D,
    ACUI_LT_PLACES
};

/* cuBLASLt's epilogues, and their parts. */
enum {
    ACUI_LT_NONE = 1,
    ACUI_LT_RELU = 2,
    ACUI_LT_WITH_BIAS = 4,
    ACUI_LT_GELU = 32,
    ACUI_LT_KEEP = 128,
    ACUI_LT_RELU_GRADIENT = 8 | 128,
    ACUI_LT_GELU_GRADIENT = 64 | 128,
    ACUI_LT_WITH_SUMS = 16,
    ACUI_LT_SUMS_OF_A = 256
};

/* A matrix by columns, as cuBLASLt sees it. */
typedef struct acui_lt_matrix {
    int64_t rows, columns, ld, stride; /* stride: along the batch */
    int type, align;                   /* in bytes, a power of two */
} acui_lt_matrix;

/* What the choice of an algorithm depends on. Its padding is zeroed. */
typedef struct acui_lt_key {
    acui_lt_matrix at[ACUI_LT_MATRICES];
    int64_t batches, kept_ld, kept_stride;
    int turned_a, turned_b; /* read the other way round */
    int compute, scale, epilogue, bias_type;
    int bias_align, kept_align; /* 0: there is none */
    bool scaled, fast, deterministic, invariant;
} acui_lt_key;

typedef struct acui_lt {
    acui_lt_key key; /* the first member */
    double alpha, beta;
    int8_t place[ACUI_LT_PLACES]; /* which value it is; -1: none */
} acui_lt;

acu_status acui_lt_run(acui_vendor_work *work);

/* ---- kept.c: what was chosen, on disk. False: it is not there. ---- */
bool acui_lt_kept(const acu_device *device, const acui_lt_key *key, void *choice, size_t bytes);
void acui_lt_keep(const acu_device *device, const acui_lt_key *key, const void *choice,
                  size_t bytes);

#endif
