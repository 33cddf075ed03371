/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is known of a call of cuBLAS when it is planned (blas.c), for making it (calls.c). */
#ifndef ACUI_BLAS_BLAS_H
#define ACUI_BLAS_BLAS_H

#include "vendor/call.h"

#include <acuda/blas.h>

/* A vector, or a matrix that is dense along one dimension. */
typedef struct acui_array {
    int rows, columns; /* a vector has rows only */
    int step;          /* of a vector; of a matrix, from a row (`by_rows`) or column to the next */
    int by_rows;       /* 0 or 1 */
} acui_array;

/* Compared as bytes, and so without padding. */
typedef struct acui_blas {
    double alpha, beta;
    acu_dtype dtype;
    acu_side side;
    acu_uplo uplo;
    int unit;         /* 0 or 1 */
    acui_array at[3]; /* the operands, as they are in memory */
} acui_blas;
_Static_assert(sizeof(acui_blas) == 2 * sizeof(double) + 16 * sizeof(int), "no padding");

/* Products, of which each has three operands: first are all that are written, then the left
 * factors, then the right ones. */
enum { ACUI_BLAS_GROUP = ACU_BLAS_GROUP_MAX };
typedef struct acui_blas_group {
    double alpha, beta;
    acu_dtype dtype;
    int count;
    acui_array at[3 * ACUI_BLAS_GROUP];
} acui_blas_group;

/* Its layout; false: it has gaps in both directions, or is too large. */
bool acui_blas_matrix(const acu_tensor *tensor, acui_array *x);

acu_status acui_blas_grouped(acui_vendor_work *work);
acu_status acui_blas_axpy(acui_vendor_work *work);
acu_status acui_blas_scal(acui_vendor_work *work);
acu_status acui_blas_dot(acui_vendor_work *work);
acu_status acui_blas_dotc(acui_vendor_work *work);
acu_status acui_blas_nrm2(acui_vendor_work *work);
acu_status acui_blas_asum(acui_vendor_work *work);
acu_status acui_blas_gemv(acui_vendor_work *work);
acu_status acui_blas_symv(acui_vendor_work *work);
acu_status acui_blas_trmv(acui_vendor_work *work);
acu_status acui_blas_trsv(acui_vendor_work *work);
acu_status acui_blas_ger(acui_vendor_work *work);
acu_status acui_blas_syr(acui_vendor_work *work);
acu_status acui_blas_gemm(acui_vendor_work *work);
acu_status acui_blas_syrk(acui_vendor_work *work);
acu_status acui_blas_herk(acui_vendor_work *work);
acu_status acui_blas_syr2k(acui_vendor_work *work);
acu_status acui_blas_symm(acui_vendor_work *work);
acu_status acui_blas_trmm(acui_vendor_work *work);
acu_status acui_blas_trsm(acui_vendor_work *work);

#endif
