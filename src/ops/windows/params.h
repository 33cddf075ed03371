/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the host passes to kernels/conv.cu and kernels/pool.cu. Include ops/params.h first. One
 * dimension is two, of which the first has one element. */
#ifndef ACUI_OPS_WINDOWS_PARAMS_H
#define ACUI_OPS_WINDOWS_PARAMS_H

/* Where a window lies over dimensions of `n` elements. */
typedef struct acui_window {
    long long n[2], out[2], window[2], stride[2], padding[2], dilation[2];
} acui_window;

#define ACUI_CONV_TILE 64

typedef struct acui_conv {
    acui_window at;
    long long groups, filters, channels; /* filters and channels of a group */
    long long depth, places;             /* elements of a filter; batch times places */
    acui_index place, tap;               /* batch, height, width; channel, height, width */
    acui_index all;                      /* batch, filter, height, width: the result */
    long long out[4], x[4], w[4];        /* strides */
    long long bias;                      /* stride */
    unsigned long long bias_bits;        /* where there is no tensor */
    int dtype;
} acui_conv;

/* The kinds that a kernel asks for; those of convolution.h. */
#define ACUI_POOL_MAX 0
#define ACUI_POOL_MEAN 1
#define ACUI_INTERPOLATE_LINEAR 1

typedef struct acui_pool {
    acui_window at;
    long long elements;
    acui_index all; /* of the result */
    long long out[4], x[4];
    int dtype, kind;
} acui_pool;

#endif
