/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Conversion between dtypes. */
#include "ops/ops.h"

#include <stdio.h>

static bool is_real(acu_dtype dtype)
{
    return acu_dtype_kind_of(dtype) == ACU_KIND_FLOAT;
}

static bool is_wide(acu_dtype dtype)
{
    return acu_dtype_bytes(dtype) == 8;
}

/* Which class of kernels/formats.cuh; dtypes that stand for others in kernels. */
static char route(acu_dtype from, acu_dtype to, int *kernel_from, int *kernel_to)
{
    static const acu_dtype bits[] = {[1] = ACU_U8, [2] = ACU_U16, [4] = ACU_U32, [8] = ACU_I64};
    *kernel_from = (int)from;
    *kernel_to = (int)to;
    if (from == to) { /* a copy of the bits */
        *kernel_from = *kernel_to = (int)bits[acu_dtype_bytes(from)];
        return 'l';
    }
    if (!is_real(from) && !is_real(to))
        return 'l';
    if (to == ACU_F64 && is_wide(from)) { /* rounded to the nearest at once */
        *kernel_to = from == ACU_U64 ? ACUI_F64_OF_U64 : (int)to;
        return 'l';
    }
    bool exact = is_real(from) ? from != ACU_F64 : acu_dtype_bytes(from) <= 2;
    return exact && !is_wide(to) ? 'f' : 'd';
}

static acu_op *check(const acu_planning *p, acu_dtype to)
{
    char words[ACUI_OPS_WORDS];
    const acu_val *x = &p->values[0];
    if (x->kind != ACU_TENSOR)
        return acu_op_fail(ACU_ERR_INVALID, "convert", p->site, "convert takes a tensor, not %s",
                           acui_value_words(x, words));
    acu_dtype from = acu_tensor_dtype(x->tensor);
    if (from != to && (from == ACU_F4E2M1FNX2 || to == ACU_F4E2M1FNX2))
        return acu_op_fail(ACU_ERR_DTYPE, "convert", p->site, "%s can not be converted to %s: "
                           "elements of f4e2m1fnx2 are pairs of numbers",
                           acui_value_words(x, words), acu_dtype_name(to));
    return NULL;
}

static acu_op *plan_convert(acu_planning *p)
{
    acu_dtype to = *(const acu_dtype *)p->data;
    acu_op *failed = check(p, to);
    if (failed)
        return failed;
    acu_tensor *x = p->values[0].tensor;
    acu_shape shape = acu_tensor_shape(x);
    acui_elementwise params = {.elements = acu_shape_elements(shape)};
    char class = route(acu_tensor_dtype(x), to, &params.at[1].dtype, &params.at[0].dtype);
    acui_layout(&params.index, params.at, shape, (const acu_tensor *[]){p->out.tensor, x}, 2);
    params.linear = acui_is_linear(&params.index, params.at, 2);
    acu_op *out = acui_result(p, "convert", to, shape);
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    const acu_arg args[] = {acu_arg_op(out, ACU_WRITE),
                            acu_arg_op(acu_op_take(&p->values[0], p->site), ACU_READ),
                            acu_arg_struct(&params, sizeof params)};
    char kernel[] = "convert_?";
    kernel[8] = class;
    int64_t each = (class == 'f' ? 4 : 2) * ACUI_UNROLL * ACUI_BLOCK;
    return acui_run(p, "convert", class == 'f' ? "acuda.convert_f" : "acuda.convert_d", kernel,
                    acui_blocks(params.elements, each), args, 3);
}

acu_op *acu_op_convert(acu_op *x, acu_dtype dtype, acu_site site)
{
    if (acu_dtype_bytes(dtype) == 0) {
        acu_op_release(x);
        return acu_op_fail(ACU_ERR_DTYPE, "convert", site, "%d is no element type", (int)dtype);
    }
    acu_custom custom = {
        .name = "convert", .fn = plan_convert, .data = &dtype, .bytes = sizeof dtype};
    return acu_op_custom(custom, &x, 1, site);
}
