/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What many operations ask of their operands, and rows of them along a dimension. */
#include "ops/ops.h"

const acu_tensor *acui_tensor_operand(acu_planning *p, const char *name, size_t i, acu_op **failed)
{
    char words[ACUI_OPS_WORDS];
    if (p->values[i].kind == ACU_TENSOR)
        return p->values[i].tensor;
    *failed = acu_op_fail(ACU_ERR_INVALID, name, p->site,
                          "%s takes a tensor as operand %zu, not "
                          "%s",
                          name, i, acui_value_words(&p->values[i], words));
    return NULL;
}

const acu_tensor *acui_number_operand(acu_planning *p, const char *name, size_t i, acu_op **failed)
{
    char words[ACUI_OPS_WORDS];
    const acu_tensor *x = acui_tensor_operand(p, name, i, failed);
    if (!x || acui_class_of(acu_tensor_dtype(x)))
        return x;
    *failed = acu_op_fail(ACU_ERR_DTYPE, name, p->site, "%s takes numbers and bool, not %s", name,
                          acui_value_words(&p->values[i], words));
    return NULL;
}

acu_op *acui_refuse_empty(acu_planning *p, const char *name)
{
    char words[ACUI_OPS_WORDS];
    for (size_t i = 0; i < p->count; i++)
        if (p->values[i].tensor && acu_tensor_elements(p->values[i].tensor) == 0)
            return acu_op_fail(ACU_ERR_SHAPE, name, p->site, "%s: operand %zu, %s, has no elements",
                               name, i, acui_value_words(&p->values[i], words));
    return NULL;
}

int acui_dimension(int dimension, int rank)
{
    int d = dimension < 0 ? dimension + rank : dimension;
    return d >= 0 && d < rank ? d : -1;
}

acu_op *acui_no_dimension(acu_planning *p, const char *name, int dimension)
{
    char words[ACUI_OPS_WORDS];
    return acu_op_fail(ACU_ERR_SHAPE, name, p->site, "%s along dimension %d of %s: there is none",
                       name, dimension, acui_value_words(&p->values[0], words));
}

acu_op *acui_result_apart(acu_planning *p, const char *name, acu_dtype dtype, acu_shape shape)
{
    const acu_tensor *out = p->out.tensor;
    for (size_t i = 0; out && i < p->count; i++) {
        const acu_tensor *in = p->values[i].tensor;
        if (in && acu_tensor_buffer(in) == acu_tensor_buffer(out) && acui_same_place(in, out))
            return acu_op_fail(ACU_ERR_SHARED, name, p->site,
                               "%s can not overwrite its operand "
                               "%zu: it reads other places than those it writes",
                               name, i);
    }
    return acui_result(p, name, dtype, shape);
}

void acui_lines_init(acui_lines *rows, acu_shape shape, int dimension,
                     const acu_tensor *const *tensors, int count)
{
    int64_t dims[ACUI_RANK] = {1}, dense = 1;
    int rank = shape.rank > 1 ? shape.rank - 1 : 1;
    rows->rows = 1;
    rows->count = shape.dim[dimension];
    for (int d = shape.rank - 1; d >= 0; d--) {
        int place = d < dimension ? d : d - 1;
        for (int k = 0; k < count; k++) {
            int64_t stride = tensors[k] ? acu_tensor_strides(tensors[k])[d] : dense;
            if (d == dimension)
                rows->stride[k] = stride;
            else
                rows->at[k].stride[place] = stride;
        }
        dense *= shape.dim[d];
        if (d == dimension)
            continue;
        dims[place] = shape.dim[d];
        rows->rows *= shape.dim[d];
    }
    acui_index_make(&rows->kept, rank, dims);
}

acu_op *acui_into(acu_planning *p, acu_op *x)
{
    return p->out.kind == ACU_NONE ? x : acu_op_into(acu_op_take(&p->out, p->site), x, p->site);
}

acu_op *acui_view_into(acu_planning *p, acu_op *view)
{
    if (p->out.kind != ACU_NONE)
        view = acu_op_elementwise(ACU_OP_COPY, &view, 1, p->site);
    return acui_into(p, view);
}
