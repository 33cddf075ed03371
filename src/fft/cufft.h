/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cuFFT: one plan for each shape, made on a thread of acuda's; and its execution. */
#ifndef ACUI_FFT_CUFFT_H
#define ACUI_FFT_CUFFT_H

#include "vendor/call.h"

/* CUDA's numbers for the types. */
enum { ACUI_R_32F = 0, ACUI_R_64F = 1, ACUI_C_32F = 4, ACUI_C_64F = 5 };

/* What a plan is for. Zeroed before it is filled in: plans are found by its bytes. */
typedef struct acui_fft_key {
    int64_t n[3], batch;
    int rank, from, to; /* types */
} acui_fft_key;

typedef struct acui_fft {
    acui_fft_key key; /* first */
    int sign;
} acui_fft;

/* Transform value 1 into value 0. */
acu_status acui_fft_run(acui_vendor_work *work);

#endif
