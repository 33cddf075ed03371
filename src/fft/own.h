/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fourier transforms by acuda's own kernels. */
#ifndef ACUI_FFT_OWN_H
#define ACUI_FFT_OWN_H

#include "ops/ops.h"

#include "fft/params.h"

/* A transform of the last `rank` dimensions of n, dense on both sides; of which forms the last
 * dimension is. */
typedef struct acui_fft_own {
    const char *name;
    acu_dtype dtype;
    acu_shape n; /* without the dimension of pairs */
    int rank, from, to;
    bool inverse;
} acui_fft_own;

/* The op that puts the transform of x into out, and yields that. Consumes both. */
acu_op *acui_fft_by_own(acu_planning *p, const acui_fft_own *t, acu_op *x, acu_op *out);

#endif
