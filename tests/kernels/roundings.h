/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * CUDA's functions with a named rounding: one list for the kernels that call them
 * (test_roundings.cu) and the test that computes the same on the host (test_roundings.c).
 */
#ifndef ACUDA_TESTS_KERNELS_ROUNDINGS_H
#define ACUDA_TESTS_KERNELS_ROUNDINGS_H

/* X(name, arguments, type of the arguments, type of the result): f float, d double, i and u 32
 * bits, l and w 64 bits, u and w without sign */
#define ROUNDED(X)                                                                                 \
    X(fadd, 2, f, f) X(fsub, 2, f, f) X(fmul, 2, f, f) X(fdiv, 2, f, f) X(fmaf, 3, f, f)           \
    X(frcp, 1, f, f) X(fsqrt, 1, f, f)                                                             \
    X(dadd, 2, d, d) X(dsub, 2, d, d) X(dmul, 2, d, d) X(ddiv, 2, d, d) X(fma, 3, d, d)            \
    X(drcp, 1, d, d) X(dsqrt, 1, d, d)                                                             \
    X(float2int, 1, f, i) X(float2uint, 1, f, u) X(float2ll, 1, f, l) X(float2ull, 1, f, w)        \
    X(double2int, 1, d, i) X(double2uint, 1, d, u) X(double2ll, 1, d, l) X(double2ull, 1, d, w)    \
    X(double2float, 1, d, f)                                                                       \
    X(int2float, 1, i, f) X(uint2float, 1, u, f) X(ll2float, 1, l, f) X(ull2float, 1, w, f)        \
    X(ll2double, 1, l, d) X(ull2double, 1, w, d)

/* Each value is an argument of every type: a number for f and d, bits for the integers. Next to
 * halves, to ends of the integers' ranges, to numbers that do not fit a float. */
#define ROUNDED_NUMBERS                                                                            \
    1.0, 1e-20, 3.0, -2.5, 0.5, 3e9, -1.0, 1e30, -1e30, 0x1.000002p0, -0x1.fffffep30, 16777219.0,  \
        0x1.00000100000001p0, 0x1.fffffffffffffp62, 1.5e19, -0.75, 2147483647.5, 4294967295.5,     \
        1e-300, __builtin_inf(), -__builtin_inf(), __builtin_nan("")
#define ROUNDED_BITS                                                                               \
    1ull, 0ull, 16777217ull, 16777219ull, 0xffffffffull, 0x7fffffffull, 0x80000000ull,             \
        0xffffffffffffffffull, 0x7fffffffffffffffull, 0x8000000000000000ull, 0x8000000000000401ull,\
        0x20000000000001ull, 0x40000000000003ull, 0x100000080000001ull, 0xfeffff7f12345678ull,     \
        0xfffffffffeffffffull, 5ull, 0x7fffff81ull, 0xffffff7full, 0x7fffffbfffffffffull,          \
        0xffffff8000000000ull, 0x1000001ull
#define ROUNDED_COUNT 22

#endif
