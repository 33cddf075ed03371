/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the host passes to kernels/norm.cu. Include ops/params.h first. */
#ifndef ACUI_OPS_LAYERS_PARAMS_H
#define ACUI_OPS_LAYERS_PARAMS_H

#define ACUI_NORM_HELD 8 /* vectors of a row that each of its threads keeps, if they are aligned */

typedef struct acui_norm {
    acui_lines rows;        /* 0: the result, 1: x */
    long long weight, bias; /* strides; 0: the same for all */
    double epsilon, inverse; /* inverse: 1 / count */
    int dtype, rms;
    int group; /* threads of a row: 32 or ACUI_BLOCK */
    int even;  /* rows are whole vectors of neighbours, as far as strides tell */
} acui_norm;

#endif
