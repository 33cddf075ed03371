/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What becomes of `info`, which the device wrote: a failure of the operation, in words. */
#include "solver/info.h"

#include "base/error.h"
#include "op/call.h"

#include <stdio.h>

static acu_status fail(const acui_info_words *k, size_t count, size_t batch, int info)
{
    char what[120], where[40] = "";
    if (info > 0)
        snprintf(what, sizeof what, "%s%d%s", k->before, info, k->after);
    else
        snprintf(what, sizeof what, "the library did not take its argument %d", -info);
    if (count > 1)
        snprintf(where, sizeof where, "matrix %zu: ", batch);
    acui_fail(ACU_ERR_NUMERIC, "%s: %s%s (info %d)", k->name, where, what, info);
    acui_error()->cause = (acu_status)info;
    return ACU_ERR_NUMERIC;
}

static acu_status look(void *user, const acu_val *values, size_t count)
{
    (void)count;
    const int32_t *info = acu_tensor_host(values[0].tensor);
    size_t batches = (size_t)acu_shape_elements(acu_tensor_shape(values[0].tensor));
    for (size_t i = 0; i < batches; i++)
        if (info[i] != 0)
            return fail(user, batches, i, info[i]);
    return ACU_OK;
}

acu_op *acui_info_look(const acui_info_words *words, acu_op *info, acu_site site)
{
    acu_arg arg = acu_arg_op(acu_op_to_host(info, site), ACU_READ);
    acu_user user = {(void *)(uintptr_t)words, NULL};
    return acu_op_named(acui_op_looks(acu_op_host(look, user, &arg, 1, site)), words->name);
}
