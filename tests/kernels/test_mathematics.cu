/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Kernels that run the functions of kernels/math_more.cuh, for test_mathematics.c to check. */
#include "mathematics.h"

#define FORM_1(type, kernel, function) \
    extern "C" __global__ void kernel(type *out, const type *in, unsigned n) \
    { \
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x; \
        if (i < n) \
            out[i] = function(in[i]); \
    }
#define KERNELS_1(name, ...) \
    FORM_1(double, run_##name, name) \
    FORM_1(float, run_##name##f, name##f)
MATHEMATICS_1(KERNELS_1)

#define FORM_2(type, kernel, function) \
    extern "C" __global__ void kernel(type *out, const type *x, const type *y, unsigned n) \
    { \
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x; \
        if (i < n) \
            out[i] = function(x[i], y[i]); \
    }
#define KERNELS_2(name, ...) \
    FORM_2(double, run_##name, name) \
    FORM_2(float, run_##name##f, name##f)
MATHEMATICS_2(KERNELS_2)

/* What takes a number apart, and puts it together: 12 results for each */
extern "C" __global__ void parts_of_numbers(double *out, const double *in, unsigned n)
{
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) {
        double *o = out + 12 * i, x = in[i], whole;
        float single = (float)x, part;
        int exponent, quotient;
        o[0] = frexp(x, &exponent);
        o[1] = exponent;
        o[2] = modf(x, &whole);
        o[3] = whole;
        o[4] = ldexp(x, (int)(i % 2200) - 1100);
        o[5] = (double)ldexpf(single, (int)(i % 300) - 150);
        o[6] = remquo(x, 3.0, &quotient);
        o[7] = quotient & 7;
        o[8] = ilogb(x);
        o[9] = (double)frexpf(single, &exponent) + exponent;
        o[10] = (double)modff(single, &part) + 2 * part;
        o[11] = (double)llrint(x) + 3 * (double)lround(x) + 5 * signbit(x);
    }
}
extern "C" __global__ void lengths(double *out, const double *in)
{
    float f[4] = {(float)in[0], (float)in[1], (float)in[2], (float)in[3]};
    out[0] = norm3d(in[0], in[1], in[2]);
    out[1] = norm4d(in[0], in[1], in[2], in[3]);
    out[2] = rnorm3d(in[0], in[1], in[2]);
    out[3] = rnorm4d(in[0], in[1], in[2], in[3]);
    out[4] = norm(4, in);
    out[5] = rnorm(4, in);
    out[6] = norm3df(f[0], f[1], f[2]);
    out[7] = norm4df(f[0], f[1], f[2], f[3]);
    out[8] = rnorm3df(f[0], f[1], f[2]);
    out[9] = rnorm4df(f[0], f[1], f[2], f[3]);
    out[10] = normf(4, f);
    out[11] = rnormf(4, f);
}
/* For each order and argument: jn, yn, and both of float */
extern "C" __global__ void orders(double *out, const int *n, const double *x, unsigned orders,
                                  unsigned count)
{
    for (unsigned i = 0; i < orders * count; i++) {
        double *o = out + 4 * i, v = x[i % count];
        o[0] = jn(n[i / count], v);
        o[1] = yn(n[i / count], v);
        o[2] = (float)o[0];
        o[3] = (float)o[1];
        if (v == (double)(float)v) {
            o[2] = jnf(n[i / count], (float)v);
            o[3] = ynf(n[i / count], (float)v);
        }
    }
}
/* For each argument: __tanhf, and whether both names of a rounded fma mean the same */
extern "C" __global__ void short_forms(float *out, const float *x, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        out[2 * i] = __tanhf(x[i]);
        out[2 * i + 1] = __fmaf_ieee_ru(x[i], 0.1f, x[i]) == __fmaf_ru(x[i], 0.1f, x[i]) &&
                         __fmaf_ieee_ru(x[i], 0.1f, x[i]) >= __fmaf_ieee_rd(x[i], 0.1f, x[i]);
    }
}
