/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What scale.c and its kernels share. */
#ifndef BENCH_SCALE_H
#define BENCH_SCALE_H

/* c [m, n] = a [m, k] b [k, n]; strides in elements. m is the grid's. */
typedef struct scale_shape {
    unsigned n, k, a_row, a_column, b_row, b_column;
} scale_shape;

#endif
