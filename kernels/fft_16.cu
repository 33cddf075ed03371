/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fourier transforms of powers of two. */
#include "fft_held.cuh"

ACUI_FFT_HELD(f, float, 16, 768, 1)
ACUI_FFT_HELD(d, double, 16, ACUI_FFT_16_D, 2)
