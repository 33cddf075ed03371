/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Conversion between dtypes, by the kernels of kernels/formats.cuh. Here each pair of dtypes is
 * routed to the class of kernels that converts it; f4e2m1fnx2, two numbers in a byte, has kernels
 * of its own.
 */
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

/* Which class of kernels/formats.cuh converts, and the dtypes that the kernel is told: some stand
 * for others. */
static char route(acu_dtype from, acu_dtype to, int *kernel_from, int *kernel_to)
{
    static const acu_dtype bits[] = {[1] = ACU_U8, [2] = ACU_U16, [4] = ACU_U32, [8] = ACU_I64};
    *kernel_from = (int)from;
    *kernel_to = (int)to;
    if (from == to && to != ACU_BOOL) { /* the bits are copied */
        *kernel_from = *kernel_to = (int)bits[acu_dtype_bytes(from)];
        return 'l';
    }
    if (!is_real(from) && !is_real(to))
        return 'l';
    if (to == ACU_F64 && is_wide(from)) { /* one rounding, to the nearest */
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
    acu_shape shape = acu_tensor_shape(x->tensor);
    acu_dtype from = acu_tensor_dtype(x->tensor);
    if (acui_is_complex(from) && !acui_is_complex(to))
        return acu_op_fail(ACU_ERR_DTYPE, "convert", p->site, "%s can not be converted to %s: say "
                           "what of it (acu_real, acu_imag, acu_abs, acu_angle, acu_ne(x, 0))",
                           acui_value_words(x, words), acu_dtype_name(to));
    if (from == ACU_F4E2M1FNX2 && to != from && acu_shape_elements(shape) > INT64_MAX / 2)
        return acu_op_fail(ACU_ERR_SHAPE, "convert", p->site, "%s can not be converted to %s: it "
                           "has more numbers than 64 bits count", acui_value_words(x, words),
                           acu_dtype_name(to));
    if ((from == ACU_F4E2M1FNX2 || to == ACU_F4E2M1FNX2) && from != to && shape.rank == 0)
        return acu_op_fail(ACU_ERR_SHAPE, "convert", p->site, "%s can not be converted to %s: "
                           "pairs of numbers lie along the last dimension, and there is none",
                           acui_value_words(x, words), acu_dtype_name(to));
    if (to == ACU_F4E2M1FNX2 && from != to && shape.dim[shape.rank - 1] % 2)
        return acu_op_fail(ACU_ERR_SHAPE, "convert", p->site, "%s can not be converted to "
                           "f4e2m1fnx2, whose elements are pairs of numbers along the last "
                           "dimension: that must be even", acui_value_words(x, words));
    return NULL;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static void launch_name(char class, char family[16], char kernel[16], const char *what)
{
    snprintf(family, 16, "acuda.convert_%c", class);
    snprintf(kernel, 16, "%s_%c", what, class);
}

/* Strides from pair to pair, of the packed tensor and of the other one; a NULL tensor is dense.
 * Neighbouring dimensions are merged where both tensors allow it. */
static void lay_out_pairs(acui_pairs *params, acu_shape pairs, const acu_tensor *packed,
                          const acu_tensor *wide, bool unpack)
{
    acui_operand *p = &params->at[unpack], *w = &params->at[!unpack];
    int64_t dims[ACUI_RANK], packed_dense[ACUI_RANK], wide_dense[ACUI_RANK], p_next = 1, w_next = 1;
    int rank = 0, last = pairs.rank - 1;
    for (int d = last; d >= 0; d--) {
        packed_dense[d] = p_next;
        wide_dense[d] = w_next;
        p_next *= pairs.dim[d];
        w_next *= pairs.dim[d] * (d == last ? 2 : 1);
    }
    const int64_t *p_strides = packed ? acu_tensor_strides(packed) : packed_dense;
    const int64_t *w_strides = wide ? acu_tensor_strides(wide) : wide_dense;
    for (int d = 0; d <= last; d++) {
        int64_t of_p = p_strides[d], of_w = w_strides[d] * (d == last ? 2 : 1),
                extent = pairs.dim[d];
        bool joins = rank > 0 && p->stride[rank - 1] == of_p * extent &&
                     w->stride[rank - 1] == of_w * extent;
        if (!joins)
            dims[rank++] = 1;
        dims[rank - 1] *= extent;
        p->stride[rank - 1] = of_p;
        w->stride[rank - 1] = of_w;
    }
    params->pairs = p_next;
    params->step = w_strides[last];
    acui_index_make(&params->index, rank, dims);
}

/* One side is f4e2m1fnx2: its last dimension is half the other's. */
static acu_op *plan_pairs(acu_planning *p, acu_dtype to)
{
    acu_tensor *x = p->values[0].tensor, *into = p->out.tensor;
    bool unpack = to != ACU_F4E2M1FNX2;
    acu_shape pairs = acu_tensor_shape(x), shape = pairs;
    int last = shape.rank - 1, of_x, of_result;
    if (unpack)
        shape.dim[last] *= 2;
    else
        shape.dim[last] = pairs.dim[last] /= 2;
    acui_pairs params = {.pairs = 0};
    char class = route(acu_tensor_dtype(x), to, &of_x, &of_result), family[16], kernel[16];
    params.dtype = unpack ? of_result : of_x;
    acu_op *out = acui_result(p, "convert", to, shape); /* takes the tensor that acu_into named */
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    lay_out_pairs(&params, pairs, unpack ? x : into, unpack ? into : x, unpack);
    const acu_arg args[] = {acu_arg_op(out, ACU_WRITE),
                            acu_arg_op(acu_op_take(&p->values[0], p->site), ACU_READ),
                            acu_arg_struct(&params, sizeof params)};
    launch_name(class, family, kernel, unpack ? "unpack" : "pack");
    return acui_run(p, "convert", family, kernel, acui_blocks(params.pairs, ACUI_BLOCK), args, 3);
}

/* ---- planning -------------------------------------------------------------------------------- */

/* One launch, by a kernel that reads and writes `vector` elements at once. */
static acu_op *launch(acu_planning *p, acu_dtype to, int of_x, int of_result, const char *family,
                      const char *kernel, int64_t vector)
{
    acu_tensor *x = p->values[0].tensor;
    acu_shape shape = acu_tensor_shape(x);
    acui_elementwise params = {.elements = acu_shape_elements(shape), .op = ACU_OP_COPY};
    params.at[0].dtype = of_result;
    params.at[1].dtype = of_x;
    acui_layout(&params.index, params.at, shape, (const acu_tensor *[]){p->out.tensor, x}, 2);
    params.linear = acui_is_linear(&params.index, params.at, 2);
    acu_op *out = acui_result(p, "convert", to, shape);
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    const acu_arg args[] = {acu_arg_op(out, ACU_WRITE),
                            acu_arg_op(acu_op_take(&p->values[0], p->site), ACU_READ),
                            acu_arg_struct(&params, sizeof params)};
    int64_t each = vector * ACUI_UNROLL * ACUI_BLOCK;
    return acui_run(p, "convert", family, kernel, acui_blocks(params.elements, each), args, 3);
}

/* To c64 or c128. The kernel reads f32, f64 and both of these; others become the parts' dtype
 * first. */
static acu_op *plan_complex(acu_planning *p, acu_dtype from, acu_dtype to)
{
    if (acui_is_complex(from) || from == ACU_F32 || from == ACU_F64)
        return launch(p, to, (int)from, (int)to, "acuda.elementwise_z", "unary_z", 1);
    acu_op *x = acu_op_take(&p->values[0], p->site);
    x = acu_op_convert(x, acui_part_of(to), p->site);
    return acui_into(p, acu_op_convert(x, to, p->site));
}

static acu_op *plan_convert(acu_planning *p)
{
    acu_dtype to = *(const acu_dtype *)p->data;
    acu_op *failed = check(p, to);
    if (failed)
        return failed;
    acu_tensor *x = p->values[0].tensor;
    acu_dtype from = acu_tensor_dtype(x);
    if (acui_is_complex(to))
        return plan_complex(p, from, to);
    if (from != to && (from == ACU_F4E2M1FNX2 || to == ACU_F4E2M1FNX2))
        return plan_pairs(p, to);
    int of_x, of_result;
    char class = route(from, to, &of_x, &of_result), family[16], kernel[16];
    launch_name(class == 'f' ? 'f' : 'd', family, kernel, "convert");
    kernel[8] = class; /* what goes by 64-bit integers is in the family of double */
    return launch(p, to, of_x, of_result, family, kernel, class == 'f' ? 4 : 2);
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
