/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * CUDA's functions of two numbers of 16 bits, or four of 8, in a word: one list for the kernel that
 * calls them (test_language.cu) and the test that computes them (test_language.c).
 *
 *     X(name, whether the numbers are signed, the result of a and b, of which the low bits count)
 */
#ifndef ACUDA_TESTS_KERNELS_SIMD_H
#define ACUDA_TESTS_KERNELS_SIMD_H

#define SIMD_2(X)                                                                                  \
    X(add, 1, a + b) X(addss, 1, clip(a + b)) X(addus, 0, clip(a + b)) X(sub, 0, a - b)            \
    X(subss, 1, clip(a - b)) X(subus, 0, clip(a - b)) X(absdiffs, 1, a < b ? b - a : a - b)        \
    X(absdiffu, 0, a < b ? b - a : a - b) X(avgs, 1, half(a + b)) X(avgu, 0, half(a + b))          \
    X(haddu, 0, (a + b) / 2) X(maxs, 1, a < b ? b : a) X(maxu, 0, a < b ? b : a)                   \
    X(mins, 1, a < b ? a : b) X(minu, 0, a < b ? a : b)                                            \
    X(cmpeq, 0, -(a == b)) X(cmpne, 0, -(a != b)) X(cmpges, 1, -(a >= b)) X(cmpgeu, 0, -(a >= b))  \
    X(cmpgts, 1, -(a > b)) X(cmpgtu, 0, -(a > b)) X(cmples, 1, -(a <= b)) X(cmpleu, 0, -(a <= b))  \
    X(cmplts, 1, -(a < b)) X(cmpltu, 0, -(a < b)) X(seteq, 0, a == b) X(setne, 0, a != b)          \
    X(setges, 1, a >= b) X(setgeu, 0, a >= b) X(setgts, 1, a > b) X(setgtu, 0, a > b)              \
    X(setles, 1, a <= b) X(setleu, 0, a <= b) X(setlts, 1, a < b) X(setltu, 0, a < b)
#define SIMD_1(X)                                                                                  \
    X(abs, 1, a < 0 ? -a : a) X(absss, 1, clip(a < 0 ? -a : a)) X(neg, 1, -a) X(negss, 1, clip(-a))

#endif
