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
    X(expf, exp, 1.3, 0x770e17cc) \
    X(exp2f, exp2, 1.0, 0x591faad5) \
    X(expm1f, expm1, 1.6, 0x36a1df1e) \
    X(logf, log, 1.0, 0x2ef250f9) \
    X(log2f, log2, 1.6, 0x3aaf0f66) \
    X(log10f, log10, 1.6, 0x29edf46c) \
    X(log1pf, log1p, 1.6, 0xe8c1874b) \
    X(tanhf, tanh, 1.6, 0x1cc21612) \
    X(erff, erf, 1.3, 0x8dd80b99) \
    X(sinf, sin, 1.6, 0x46a7b57a) \
    X(cosf, cos, 1.6, 0x33ca4d77) \
    X(tanf, tan, 3.5, 0xae45777e) \
    X(sqrtf, sqrt, 0.5001, 0x88e7a029) \
    X(fabsf, fabs, 0.0, 0x5f4d3814) \
    X(floorf, floor, 0.0, 0x18a5dbcb) \
    X(ceilf, ceil, 0.0, 0x226dd504) \
    X(truncf, trunc, 0.0, 0xb9be2571) \
    X(rintf, rint, 0.0, 0xa2ff3583) \
    X(roundf, round, 0.0, 0x7acd2b89)

/* The references are long double's. */
#define MATH_DOUBLE_FUNCTIONS(X) \
    X(exp, expl, 1.0, 0x202eca48) \
    X(log, logl, 1.0, 0xf55ba46e) \
    X(sin, sinl, 1.0, 0x405384eb) \
    X(cos, cosl, 1.0, 0x3475d341) \
    X(tanh, tanhl, 2.2, 0xbd2788af) \
    X(erf, erfl, 1.5, 0x1d4c669e) \
    X(sqrt, sqrtl, 0.5001, 0xe1f0dea6) \
    X(fabs, fabsl, 0.0, 0x6bc1faa5) \
    X(floor, floorl, 0.0, 0x405ed0ed) \
    X(ceil, ceill, 0.0, 0xbd8f3b49) \
    X(trunc, truncl, 0.0, 0xdafb9315) \
    X(rint, rintl, 0.0, 0x618cf615) \
    X(round, roundl, 0.0, 0xda1421f7)

#endif
