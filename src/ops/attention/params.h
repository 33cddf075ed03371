/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the host passes to kernels/attention.cu and attention_mma.cu. Include ops/params.h first. */
#ifndef ACUI_OPS_ATTENTION_PARAMS_H
#define ACUI_OPS_ATTENTION_PARAMS_H

#define ACUI_ATTENTION_ROWS 32      /* queries of a block of the plain kernel, and keys of a turn */
#define ACUI_ATTENTION_WIDTH 256    /* its greatest width */
#define ACUI_ATTENTION_MMA_ROWS 64  /* the same of those with tensor cores */
#define ACUI_ATTENTION_MMA_BLOCK 128

typedef struct acui_attention {
    long long batches, heads, share; /* share: heads that have the same keys */
    long long queries, keys;
    long long out[4], q[4], k[4], v[4]; /* strides */
    int width, causal, dtype;
    int even; /* rows are neighbours and begin at multiples of 16 bytes, as far as strides tell */
    float scale;
} acui_attention;

#endif
