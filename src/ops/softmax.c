/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Softmax along one dimension, and its logarithm. */
#include "ops/ops.h"

typedef struct request {
    int dimension;
    bool log;
} request;

static const char *name_of(const request *r)
{
    return r->log ? "log_softmax" : "softmax";
}

/* Everything but the dimension is kept; neighbours in memory go to neighbouring threads. */
static void lay_out(acui_softmax *p, const acu_tensor *x, const acu_tensor *out, int dimension)
{
    acu_shape shape = acu_tensor_shape(x);
    int64_t dims[ACUI_RANK] = {1}, dense = 1;
    int rank = shape.rank > 1 ? shape.rank - 1 : 1;
    p->kept_count = 1;
    for (int d = shape.rank - 1; d >= 0; d--) {
        int64_t x_stride = acu_tensor_strides(x)[d];
        int64_t out_stride = out ? acu_tensor_strides(out)[d] : dense;
        dense *= shape.dim[d];
        if (d == dimension) {
            p->count = shape.dim[d];
            p->x_stride = x_stride;
            p->out_stride = out_stride;
            continue;
        }
        int place = d < dimension ? d : d - 1;
        dims[place] = shape.dim[d];
        p->at[0].stride[place] = out_stride;
        p->at[1].stride[place] = x_stride;
        p->kept_count *= shape.dim[d];
    }
    acui_index_make(&p->kept, rank, dims);
    p->group = 1;
    bool across = p->x_stride != 1 && p->kept_count >= 4096;
    while (!across && p->group < ACUI_BLOCK && (int64_t)p->group * 4 < p->count)
        p->group *= 2;
}

static acu_op *plan_softmax(acu_planning *p)
{
    const request *r = p->data;
    char words[ACUI_OPS_WORDS];
    const acu_val *x = &p->values[0];
    acui_value_words(x, words);
    if (x->kind != ACU_TENSOR)
        return acu_op_fail(ACU_ERR_INVALID, name_of(r), p->site, "%s takes a tensor, not %s",
                           name_of(r), words);
    acu_dtype dtype = acu_tensor_dtype(x->tensor);
    acu_shape shape = acu_tensor_shape(x->tensor);
    char class = acui_class_of(dtype), kernel[] = "softmax_?";
    if (class != 'f' && class != 'd')
        return acu_op_fail(ACU_ERR_DTYPE, name_of(r), p->site, "%s takes floating point (f16, bf16, "
                           "f32, f64), not %s", name_of(r), words);
    int dimension = r->dimension < 0 ? r->dimension + shape.rank : r->dimension;
    if (dimension < 0 || dimension >= shape.rank)
        return acu_op_fail(ACU_ERR_SHAPE, name_of(r), p->site, "%s along dimension %d of %s: there is "
                           "none", name_of(r), r->dimension, words);
    kernel[8] = class;
    acui_softmax params = {.dtype = (int)dtype, .log = r->log};
    lay_out(&params, x->tensor, p->out.tensor, dimension);
    acu_op *out = acui_result(p, name_of(r), dtype, shape);
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    const acu_arg args[] = {acu_arg_op(out, ACU_WRITE),
                            acu_arg_op(acu_op_take(&p->values[0], p->site), ACU_READ),
                            acu_arg_struct(&params, sizeof params)};
    return acui_run(p, name_of(r), "acuda.softmax", kernel,
                    acui_blocks(params.kept_count, ACUI_BLOCK / params.group), args, 3);
}

acu_op *acu_op_softmax(acu_op *x, int dimension, bool log, acu_site site)
{
    request r = {.dimension = dimension, .log = log};
    acu_custom custom = {.name = name_of(&r), .fn = plan_softmax, .data = &r, .bytes = sizeof r};
    return acu_op_custom(custom, &x, 1, site);
}
