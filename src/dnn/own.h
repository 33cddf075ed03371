/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Convolutions by acuda's own kernels. */
#ifndef ACUI_DNN_OWN_H
#define ACUI_DNN_OWN_H

#include "dnn/cudnn.h"

#include <acuda/ops.h>

typedef struct acui_conv_own {
    acu_shape at[3]; /* of x, weight, y */
    int64_t stride[3], padding[3], dilation[3], groups;
} acui_conv_own;

bool acui_conv_has_own(const acui_conv_own *c, acui_dnn_kind kind, acu_dtype dtype);

/* The ops are consumed. Yield y, dx and dweight, which is a view. */
acu_op *acui_conv_own_forward(const acui_conv_own *c, acu_op *x, acu_op *w, acu_op *bias,
                              int activation, acu_site site);
acu_op *acui_conv_own_data(const acui_conv_own *c, acu_op *dy, acu_op *w, acu_site site);
acu_op *acui_conv_own_weight(const acui_conv_own *c, acu_op *x, acu_op *dy, acu_site site);

#endif
