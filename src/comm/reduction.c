/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What reductions compute, whichever backend moves the numbers. */
#include "comm/comm.h"

#include "memory/dtype.h"

#include <acuda/ops.h>

const char *acui_reduction_name(acu_reduction reduction)
{
    static const char *const names[ACU_REDUCTION_COUNT] = {
        [ACU_REDUCE_SUM] = "sum", [ACU_REDUCE_PROD] = "prod", [ACU_REDUCE_MIN] = "min",
        [ACU_REDUCE_MAX] = "max", [ACU_REDUCE_MEAN] = "mean",
    };
    return (unsigned)reduction < ACU_REDUCTION_COUNT ? names[reduction] : NULL;
}

bool acui_reduces(const acui_collective *c)
{
    return c->what.kind == ACU_ALL_REDUCE || c->what.kind == ACU_REDUCE ||
           c->what.kind == ACU_REDUCE_SCATTER;
}

acu_dtype acui_reduced_as(const acui_collective *c)
{
    acu_dtype dtype = c->dtype;
    if (!acui_reduces(c))
        return dtype;
    return dtype == ACU_F8E4M3FN || dtype == ACU_F8E5M2 ? ACU_F32 : dtype;
}

acu_dtype acui_numbers_of(acu_dtype dtype)
{
    return dtype == ACU_TF32 ? ACU_F32 : acui_part_of(dtype);
}

acu_elementwise acui_reduction_op(acu_reduction reduction)
{
    return reduction == ACU_REDUCE_PROD  ? ACU_OP_MUL
           : reduction == ACU_REDUCE_MIN ? ACU_OP_MIN
           : reduction == ACU_REDUCE_MAX ? ACU_OP_MAX
                                         : ACU_OP_ADD;
}

acu_op *acui_reduction_end(const acui_collective *c, int ranks, acu_op *x, acu_site site)
{
    if (c->what.reduction != ACU_REDUCE_MEAN || ranks == 1)
        return x;
    acu_op *by[] = {x, acu_op_number_f64(ranks, site)};
    return acu_op_elementwise(ACU_OP_DIV, by, 2, site);
}
