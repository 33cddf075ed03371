/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the host passes to kernels/index.cu. Include ops/params.h first. */
#ifndef ACUI_OPS_INDEX_PARAMS_H
#define ACUI_OPS_INDEX_PARAMS_H

/* Units of the result, of 1 to 16 bytes; where each comes from is the sum of its place in the other
 * dimensions and an index times `along`. Strides and `along` of data are in bytes, those of the
 * index in elements. */
typedef struct acui_gather {
    long long units;
    acui_index index;
    long long to[ACUI_RANK], from[ACUI_RANK], at[ACUI_RANK];
    long long along, extent; /* extent: of x along the dimension; larger indices are out of range */
    int index_bytes;         /* 4 or 8 */
} acui_gather;

/* Where values belong in sorted ones. */
typedef struct acui_searching {
    long long elements;
    acui_index index;
    acui_operand at[2];      /* the result, the values */
    long long count, stride; /* of what is sorted */
    int dtype, right;
} acui_searching;

#endif
