/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Products of matrices by cuBLAS, where it can express them. */
#ifndef ACUI_OPS_GEMM_H
#define ACUI_OPS_GEMM_H

#include "ops/cublas.h"
#include "ops/params.h"

#include <acuda/op.h>

/* The product as cuBLAS sees it, with all matrices by columns: c, of m rows and n columns, is a
 * times b. */
typedef struct acui_gemm {
    bool turned; /* its a is the product's b, and its b the product's a */
    int m, n, k, batches;
    int op_a, op_b;
    int lda, ldb, ldc; /* distance of columns in memory, in elements */
    long long a_stride, b_stride, c_stride;
} acui_gemm;

/* Express the product in cuBLAS's terms; false: that is impossible. */
bool acui_gemm_of(const acui_matmul *product, acui_gemm *gemm);

/* Compute two small products with a new handle, in memory of their own: what the library
 * prepares for the first call of a kind in a process takes long. The caller has entered the
 * device. Blocks. */
void acui_gemm_warm_up(acu_device *device, acui_cublas_handle handle);

/* Make `launch`, which does the product on the device, ask cuBLAS first if cuBLAS can express it.
 * Starts loading cuBLAS the first time; if that fails, returns a failed op. */
acu_op *acui_gemm_ask(acu_device *device, const acui_matmul *product, acu_op *launch);

#endif
