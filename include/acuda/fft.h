/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Fourier transforms: by cuFFT where it is found, else by acuda's own kernels.
 *
 *   acu_op *spectrum = acu_rfft(signal, 1);          f32 [100, 1024] becomes c64 [100, 513]
 *   acu_op *image = acu_fft(pixels, 2, ACU_FORWARD);  c64 [8, 512, 512] stays so
 *
 * The last `rank` dimensions (1 to 3) are transformed; those before are batches. Real numbers are
 * f32 or f64, complex ones c64 or c128. (Pairs of f32 along the last dimension are c64 by
 * acu_reinterpret, without a copy.) Nothing is scaled: forward and then inverse gives each element
 * times the number of elements of a transform.
 *
 * Operands and results may have any strides; what is not dense costs a dense copy. The result is
 * new, or goes where acu_into says. acu_fft can be put into its operand.
 *
 * Own kernels, on the software device, where cuFFT is switched off (vendor.h) and where there is
 * none, take any length. Powers of two and of ten (and twice and five times these) are what they
 * are made for: up to 8,192 elements (f64: 4,096) are one launch for each dimension, longer ones
 * are two or three, with temporary memory as large as the operand; on an H100 they take 0.8 to 1.4
 * times as long as cuFFT (acu_rfft 1.1 to 1.7, acu_irfft 2). Other lengths whose factors are 2, 3,
 * 5 and 7 are one launch up to 4,096 elements (f64: 2,048), and take two to four times as long as
 * cuFFT. Any other length is a convolution (Bluestein) by powers of two, with some five times as
 * much memory (65,537: 1.6 times as long). Errors grow with the logarithm of the length, as in
 * NumPy: the same bits on every device, but not those of cuFFT.
 *
 * cuFFT is looked for by the first of these operations in a process, when it is submitted, which
 * takes as long as to open a library. A plan is made for each shape, on one of acuda's
 * threads, which takes some milliseconds: the first operations of a shape wait for it on the host,
 * but submitting does not. A device keeps the last 64 plans that were used, each as often as
 * threads use it at a time. Temporary memory comes from the device's pool. In graphs, cached
 * and explicit, the calls are captured.
 *
 * Errors: SHAPE, DTYPE, INVALID (a rank, a direction), DEVICE, SHARED, those of launches; of the
 * future: DRIVER, NOT_SUPPORTED, DEVICE_MEMORY, with cuFFT's name for the status. None blocks but
 * for that. Driver: what cuFFT calls.
 */
#ifndef ACUDA_FFT_H
#define ACUDA_FFT_H

#include <acuda/op.h>
#include <acuda/vendor.h>

ACU_BEGIN

/* The sign of the exponent: -1, and 1. */
typedef enum acu_direction { ACU_FORWARD, ACU_INVERSE } acu_direction;

/* Complex to complex: [..., n] stays so. */
#define acu_fft(x, rank, direction) acu_op_fft(ACU_OPERAND(x), (rank), (direction), ACU_SITE)
ACU_API acu_op *acu_op_fft(acu_op *x, int rank, acu_direction direction, acu_site site);
/* Real to complex, forward: [..., n] becomes [..., n / 2 + 1]. The other half of the last
 * dimension follows from this one. */
#define acu_rfft(x, rank) acu_op_rfft(ACU_OPERAND(x), (rank), ACU_SITE)
ACU_API acu_op *acu_op_rfft(acu_op *x, int rank, acu_site site);
/* Complex to real, inverse: [..., n / 2 + 1] becomes [..., n]; n says whether it was even. cuFFT
 * overwrites what it reads here, so it gets a copy of x. */
#define acu_irfft(x, rank, n) acu_op_irfft(ACU_OPERAND(x), (rank), (n), ACU_SITE)
ACU_API acu_op *acu_op_irfft(acu_op *x, int rank, int64_t n, acu_site site);

ACU_END
#endif
