/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* searchsorted: a binary search for each value. */
#include "ops/ops.h"

#include "ops/index/params.h"

#include <acuda/sort.h>

static const char name[] = "searchsorted";

static acu_op *plan_search(acu_planning *p)
{
    char a[ACUI_OPS_WORDS], b[ACUI_OPS_WORDS];
    acu_op *failed = NULL;
    const acu_tensor *values = NULL, *sorted = acui_number_operand(p, name, 0, &failed);
    if (sorted)
        values = acui_number_operand(p, name, 1, &failed);
    if (!values)
        return failed;
    acu_dtype dtype = acu_tensor_dtype(sorted);
    if (acu_tensor_dtype(values) != dtype)
        return acu_op_fail(ACU_ERR_DTYPE, name, p->site, "%s of %s in %s: both must have one dtype",
                           name, acui_value_words(&p->values[1], b),
                           acui_value_words(&p->values[0], a));
    if (acu_tensor_shape(sorted).rank != 1)
        return acu_op_fail(ACU_ERR_SHAPE, name, p->site,
                           "%s in %s: what is sorted has one dimension", name,
                           acui_value_words(&p->values[0], a));
    acu_shape shape = acu_tensor_shape(values);
    acui_searching params = {.elements = acu_shape_elements(shape),
                             .count = acu_tensor_elements(sorted),
                             .stride = acu_tensor_strides(sorted)[0],
                             .dtype = (int)dtype,
                             .right = *(const bool *)p->data};
    acui_layout(&params.index, params.at, shape, (const acu_tensor *[]){p->out.tensor, values}, 2);
    acu_op *out = acui_result_apart(p, name, ACU_I64, shape);
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    const acu_arg args[] = {acu_arg_op(out, ACU_WRITE),
                            acu_arg_op(acu_op_take(&p->values[0], p->site), ACU_READ),
                            acu_arg_op(acu_op_take(&p->values[1], p->site), ACU_READ),
                            acu_arg_struct(&params, sizeof params)};
    bool real = acu_dtype_kind_of(dtype) == ACU_KIND_FLOAT;
    return acui_run(p, name, "acuda.index", real ? "search_d" : "search_l",
                    acui_blocks(params.elements, ACUI_BLOCK), args, 4);
}

acu_op *acu_op_searchsorted(acu_op *sorted, acu_op *values, bool right, acu_site site)
{
    acu_custom custom = {.name = name, .fn = plan_search, .data = &right, .bytes = sizeof right};
    return acu_op_custom(custom, (acu_op *const[]){sorted, values}, 2, site);
}
