/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cuSPARSE: handles, and products of a matrix in CSR. */
#ifndef ACUI_SPARSE_CUSPARSE_H
#define ACUI_SPARSE_CUSPARSE_H

#include "vendor/call.h"

typedef struct acui_csr {
    int64_t rows, cols, count, width; /* width: of x, if it is a matrix */
    bool matrix;
    acu_dtype dtype;
    bool wide_indices; /* i64 */
} acui_csr;

/* Value 0 = the matrix of values 1, 2 and 3 (offsets, columns, values) times value 4. */
acu_status acui_csr_multiply(acui_vendor_work *work);

#endif
