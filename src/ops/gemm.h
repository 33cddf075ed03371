/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Products of matrices by cuBLAS, where it can express them. */
#ifndef ACUI_OPS_GEMM_H
#define ACUI_OPS_GEMM_H

#include "ops/cublas.h"
#include "ops/params.h"

#include <acuda/op.h>

/* The product as cuBLAS has it, all matrices by columns: c, of m rows and
 * n columns, is a times b. */
typedef struct acui_gemm {
    bool turned; /* its a is the product's b */
    int m, n, k, batches;
    int op_a, op_b;
    int lda, ldb, ldc; /* elements from column to column, as they lie in memory */
    long long a_stride, b_stride, c_stride;
} acui_gemm;

/* False: it has no words for it. */
bool acui_gemm_of(const acui_matmul *product, acui_gemm *gemm);

/* A product or two with a new handle, of memory of their own: what the library prepares for its
 * first call of a kind in a process takes long, and is then there. The
 * device is entered. Blocks. */
void acui_gemm_warm_up(acu_device *device, acui_cublas_handle handle);

/* The launch that does the product on the device, for which cuBLAS is asked first, if it can do it.
 * Begins to load cuBLAS the first time; a failed op where that fails. */
acu_op *acui_gemm_ask(acu_device *device, const acui_matmul *product, acu_op *launch);

#endif
