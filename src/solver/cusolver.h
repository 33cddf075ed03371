/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Calls of cuSOLVER, and of cuBLAS for batches, on matrices that lie by columns (calls.c). */
#ifndef ACUI_SOLVER_CUSOLVER_H
#define ACUI_SOLVER_CUSOLVER_H

#include "vendor/call.h"

typedef struct acui_solver {
    int64_t rows, columns, others; /* of the matrix; columns of the right-hand side */
    int64_t batches;
    int type, fill; /* cuSOLVER's: of the elements; which half is read */
} acui_solver;

/* The values, in this order; `info` is an i32 for each matrix. */
acu_status acui_potrf(acui_vendor_work *work); /* a, info */
acu_status acui_potrs(acui_vendor_work *work); /* a, info, b: factor and solve */
acu_status acui_getrf(acui_vendor_work *work); /* a, info, pivots (i64) */
acu_status acui_getrs(acui_vendor_work *work); /* a', info, b: factor and solve */
acu_status acui_geqrf(acui_vendor_work *work); /* a, tau */
acu_status acui_orgqr(acui_vendor_work *work); /* a, tau; `others` columns */
acu_status acui_gesvd(acui_vendor_work *work); /* a, info, s, u, v'; no more columns than rows */
acu_status acui_syevd(acui_vendor_work *work); /* a, info, w */
/* In batches; cuBLAS's, but for the first. */
acu_status acui_potrf_batched(acui_vendor_work *work); /* a, info */
acu_status acui_getrf_batched(acui_vendor_work *work); /* a, info, pivots (i32) */
acu_status acui_getrs_batched(acui_vendor_work *work); /* a', info, b: factor and solve */

#endif
