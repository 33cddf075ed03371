/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fourier transforms of powers of ten, their halves and their fifths. */
#include "fft_held.cuh"

ACUI_FFT_HELD(f, float, 10, ACUI_FFT_10_F, 1)
ACUI_FFT_HELD(d, double, 10, ACUI_FFT_10_D, 1)
