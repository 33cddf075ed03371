/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tensors and values in words, for messages. */
#include "ops/ops.h"

#include <inttypes.h>
#include <stdio.h>

const char *acui_words(acu_dtype dtype, acu_shape shape, char *text)
{
    int at = snprintf(text, ACUI_OPS_WORDS, "%s [", acu_dtype_name(dtype));
    for (int d = 0; d < shape.rank && at < ACUI_OPS_WORDS - 1; d++)
        at += snprintf(text + at, (size_t)(ACUI_OPS_WORDS - at), "%s%" PRId64, d ? ", " : "",
                       shape.dim[d]);
    if (at < ACUI_OPS_WORDS - 1)
        snprintf(text + at, (size_t)(ACUI_OPS_WORDS - at), "]");
    return text;
}

const char *acui_value_words(const acu_val *value, char *text)
{
    if (value->kind == ACU_SCALAR)
        snprintf(text, ACUI_OPS_WORDS, "a scalar of %s", acu_dtype_name(value->dtype));
    else if (value->kind == ACU_TENSOR)
        return acui_words(acu_tensor_dtype(value->tensor), acu_tensor_shape(value->tensor), text);
    else
        snprintf(text, ACUI_OPS_WORDS, value->kind == ACU_PARTITION ? "a partition" : "nothing");
    return text;
}
