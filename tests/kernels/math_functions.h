/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The math functions of kernels/math.cuh with one argument: one list for the kernels that run them
 * (test_prelude.cu) and the test that checks them (test_prelude.c).
 *
 *     X(name, reference of higher precision, largest error in ulp, hash of the results' bits)
 *
 * The hash makes the promise testable that all devices give the same bits; see check_function.
 */
#ifndef ACUDA_TESTS_KERNELS_MATH_FUNCTIONS_H
#define ACUDA_TESTS_KERNELS_MATH_FUNCTIONS_H

#define MATH_FLOAT_FUNCTIONS(X) \
    X(expf, exp, 1.3, 0) \
    X(exp2f, exp2, 1.0, 0) \
    X(expm1f, expm1, 1.6, 0) \
    X(logf, log, 1.0, 0) \
    X(log2f, log2, 1.6, 0) \
    X(log10f, log10, 1.6, 0) \
    X(log1pf, log1p, 1.6, 0) \
    X(tanhf, tanh, 1.6, 0) \
    X(erff, erf, 1.3, 0) \
    X(sinf, sin, 1.6, 0) \
    X(cosf, cos, 1.6, 0) \
    X(tanf, tan, 3.5, 0) \
    X(sqrtf, sqrt, 0.5001, 0) \
    X(fabsf, fabs, 0.0, 0) \
    X(floorf, floor, 0.0, 0) \
    X(ceilf, ceil, 0.0, 0) \
    X(truncf, trunc, 0.0, 0) \
    X(rintf, rint, 0.0, 0) \
    X(roundf, round, 0.0, 0)

/* The references are long double's. */
#define MATH_DOUBLE_FUNCTIONS(X) \
    X(exp, expl, 1.0, 0) \
    X(log, logl, 1.0, 0) \
    X(sqrt, sqrtl, 0.5001, 0) \
    X(fabs, fabsl, 0.0, 0) \
    X(floor, floorl, 0.0, 0) \
    X(ceil, ceill, 0.0, 0) \
    X(trunc, truncl, 0.0, 0) \
    X(rint, rintl, 0.0, 0) \
    X(round, roundl, 0.0, 0)

#endif
