/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cuSPARSE: handles, and its calls. */
#ifndef ACUI_SPARSE_CUSPARSE_H
#define ACUI_SPARSE_CUSPARSE_H

#include "vendor/call.h"

typedef struct acui_sparse {
    int64_t rows, cols, count, width; /* width: of x, if it is a matrix; of a, for SDDMM */
    bool matrix, coo;
    acu_dtype dtype;
    bool wide_indices; /* i64 */
} acui_sparse;

/* Value 0 = the matrix of values 1, 2 and 3 (offsets or rows, columns, values) times value 4. */
acu_status acui_sparse_multiply(acui_vendor_work *work);
/* Value 0 = value 3 times value 4, at the places of the matrix of values 1 and 2. */
acu_status acui_sparse_sddmm(acui_vendor_work *work);
/* Value 0 = the matrix of values 1, 2 and 3. */
acu_status acui_sparse_to_dense(acui_vendor_work *work);

#endif
