/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Softmax along one dimension, and its logarithm. Rows that fit into registers are read once; few
 * long ones are split, in two launches. How the work is cut follows from shape, layout and dtype
 * alone.
 */
#include "ops/ops.h"

#include <acuda/layers.h>

typedef struct request {
    int dimension;
    bool log;
} request;

static const char *name_of(const request *r)
{
    return r->log ? "log_softmax" : "softmax";
}

/* All dimensions but one are kept; the kept dimensions keep their order, so neighbouring threads
 * work on neighbours in memory. */
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
}

/* Sets the threads of a group, each with four elements or more, and the splits of each kept element
 * where the kept elements alone would not fill a device. */
static void set_group(acui_softmax *p)
{
    const int64_t enough = 1024, least = 8192; /* blocks; elements of a split */
    bool across = p->x_stride != 1 && p->kept_count >= 4096;
    p->group = 1;
    while (!across && p->group < ACUI_BLOCK && (int64_t)p->group * 4 < p->count)
        p->group *= 2;
    int64_t splits = p->group < ACUI_BLOCK ? 1 : enough / p->kept_count;
    if (splits > p->count / least)
        splits = p->count / least;
    if (splits > ACUI_BLOCK)
        splits = ACUI_BLOCK;
    p->chunk = splits > 1 ? (p->count + splits - 1) / splits : p->count;
    p->splits = (int)((p->count + p->chunk - 1) / p->chunk);
}

/* Whether rows consist of whole vectors, as far as their layout tells, and fit into registers. Then
 * sets the group: at least the threads that hold a row, and more where there are few rows. */
static bool set_held(acui_softmax *p, char class)
{
    const int64_t vector = 4, held = ACUI_SOFTMAX_HELD / (int64_t)sizeof(float);
    const int64_t few = 1 << 17; /* threads */
    if (class != 'f' || p->x_stride != 1 || p->out_stride != 1 || p->count % vector != 0 ||
        p->count > ACUI_SOFTMAX_BLOCK * held)
        return false;
    for (int d = 0; d < p->kept.rank; d++)
        if (p->kept.dim[d] > 1 && (p->at[0].stride[d] % vector || p->at[1].stride[d] % vector))
            return false;
    p->group = 8;
    while (p->group * held < p->count)
        p->group *= 2;
    while (p->group < ACUI_SOFTMAX_BLOCK && p->group * vector < p->count &&
           p->kept_count * p->group < few)
        p->group *= 2;
    p->chunk = p->count;
    p->splits = 1;
    return true;
}

/* Two launches: the first finds the maximum and sum of each split, the second the results. */
static acu_op *launch_splits(acu_planning *p, const char *name, const acui_softmax *params,
                             char class, acu_op *out)
{
    const int64_t units = params->kept_count * params->splits, blocks = acui_blocks(units, 1);
    acu_op *x = acu_op_take(&p->values[0], p->site);
    acu_op *partial = acu_op_named(acu_op_empty(ACU_F64, ACU_SHAPE(2 * units), p->site), name);
    const acu_arg look[] = {acu_arg_op(partial, ACU_WRITE), acu_arg_op(x, ACU_READ),
                            acu_arg_struct(params, sizeof *params)};
    acu_op *first = acui_launch(p, name, "acuda.softmax",
                                class == 'd' ? "softmax_part_d" : "softmax_part_f", blocks, look,
                                3);
    x = acu_op_nth(acu_op_retain(first), 1, p->site);
    partial = acu_op_nth(first, 0, p->site);
    const acu_arg args[] = {acu_arg_op(out, ACU_WRITE), acu_arg_op(x, ACU_READ),
                            acu_arg_op(partial, ACU_READ), acu_arg_struct(params, sizeof *params)};
    return acui_run(p, name, "acuda.softmax", class == 'd' ? "softmax_whole_d" : "softmax_whole_f",
                    blocks, args, 4);
}

static acu_op *launch(acu_planning *p, const char *name, acui_softmax *params, char class,
                      acu_op *out)
{
    bool held = set_held(params, class);
    if (!held)
        set_group(params);
    if (params->splits > 1)
        return launch_splits(p, name, params, class, out);
    const bool two = acu_dtype_bytes((acu_dtype)params->dtype) == 2; /* where it can be held */
    const char *kernel = held           ? (two ? "softmax_rows_h" : "softmax_rows_s")
                         : class == 'd' ? "softmax_d"
                                        : "softmax_f";
    const int threads = params->group > ACUI_BLOCK ? ACUI_SOFTMAX_BLOCK : ACUI_BLOCK;
    const acu_arg args[] = {acu_arg_op(out, ACU_WRITE),
                            acu_arg_op(acu_op_take(&p->values[0], p->site), ACU_READ),
                            acu_arg_struct(params, sizeof *params)};
    acu_op *op = acui_launch_of(p, name, "acuda.softmax", kernel,
                                acui_blocks(params->kept_count, threads / params->group), threads,
                                args, 3);
    return acu_op_nth(op, 0, p->site);
}

static acu_op *plan_softmax(acu_planning *p)
{
    const request *r = p->data;
    char words[ACUI_OPS_WORDS];
    const acu_val *x = &p->values[0];
    if (x->kind != ACU_TENSOR)
        return acu_op_fail(ACU_ERR_INVALID, name_of(r), p->site, "%s takes a tensor, not %s",
                           name_of(r), acui_value_words(x, words));
    acu_dtype dtype = acu_tensor_dtype(x->tensor);
    acu_shape shape = acu_tensor_shape(x->tensor);
    char class = acui_class_of(dtype);
    if (class != 'f' && class != 'd')
        return acu_op_fail(ACU_ERR_DTYPE, name_of(r), p->site,
                           "%s takes floating point (f16, bf16, "
                           "f32, f64), not %s",
                           name_of(r), acui_value_words(x, words));
    int dimension = r->dimension < 0 ? r->dimension + shape.rank : r->dimension;
    if (dimension < 0 || dimension >= shape.rank)
        return acu_op_fail(ACU_ERR_SHAPE, name_of(r), p->site,
                           "%s along dimension %d of %s: there is "
                           "none",
                           name_of(r), r->dimension, acui_value_words(x, words));
    if (acu_shape_elements(shape) == 0)
        return acui_result(p, name_of(r), dtype, shape);
    acui_softmax params = {.dtype = (int)dtype, .log = r->log};
    lay_out(&params, x->tensor, p->out.tensor, dimension);
    acu_op *out = acui_result(p, name_of(r), dtype, shape);
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    return launch(p, name_of(r), &params, class, out);
}

acu_op *acu_op_softmax(acu_op *x, int dimension, bool log, acu_site site)
{
    request r = {.dimension = dimension, .log = log};
    acu_custom custom = {.name = name_of(&r), .fn = plan_softmax, .data = &r, .bytes = sizeof r};
    return acu_op_custom(custom, &x, 1, site);
}

/* ---- cross entropy --------------------------------------------------------------------------- */

static acu_op *refuse_loss(acu_planning *p, acu_status status, const char *why)
{
    char x[ACUI_OPS_WORDS], targets[ACUI_OPS_WORDS];
    return acu_op_fail(status, "cross_entropy", p->site, "cross_entropy of %s and %s: %s",
                       acui_value_words(&p->values[0], x), acui_value_words(&p->values[1], targets),
                       why);
}

static acu_op *launch_loss(acu_planning *p, acui_softmax *params, const acu_tensor *targets,
                           char class, int64_t out_stride, acu_op *out)
{
    params->at[0].stride[0] = 0; /* not of the result, whose rows are single elements */
    params->out_stride = 1;
    params->held = set_held(params, class);
    if (!params->held)
        set_group(params);
    params->chunk = params->count;
    params->splits = 1;
    params->at[0].stride[0] = out_stride;
    params->at[2].stride[0] = acu_tensor_strides(targets)[0];
    params->target_bytes = (int)acu_dtype_bytes(acu_tensor_dtype(targets));
    const int threads = params->group > ACUI_BLOCK ? ACUI_SOFTMAX_BLOCK : ACUI_BLOCK;
    const acu_arg args[] = {acu_arg_op(out, ACU_WRITE),
                            acu_arg_op(acu_op_take(&p->values[0], p->site), ACU_READ),
                            acu_arg_op(acu_op_take(&p->values[1], p->site), ACU_READ),
                            acu_arg_struct(params, sizeof *params)};
    const char *kernel = class == 'd'                                            ? "loss_d"
                         : acu_dtype_bytes((acu_dtype)params->dtype) == 4 ? "loss_s"
                                                                          : "loss_h";
    acu_op *op = acui_launch_of(
        p, "cross_entropy", "acuda.softmax", kernel,
        acui_blocks(params->kept_count, threads / params->group), threads, args, 4);
    return acu_op_nth(op, 0, p->site);
}

static acu_op *plan_cross_entropy(acu_planning *p)
{
    acu_op *failed = NULL;
    const acu_tensor *targets = NULL, *x = acui_number_operand(p, "cross_entropy", 0, &failed);
    if (x)
        targets = acui_tensor_operand(p, "cross_entropy", 1, &failed);
    if (!targets)
        return failed;
    acu_dtype dtype = acu_tensor_dtype(x), of = acu_tensor_dtype(targets);
    acu_shape shape = acu_tensor_shape(x), rows = acu_tensor_shape(targets);
    char class = acui_class_of(dtype);
    if (class != 'f' && class != 'd')
        return refuse_loss(p, ACU_ERR_DTYPE, "logits are of floating point (f16, bf16, f32, f64)");
    if (of != ACU_I32 && of != ACU_I64)
        return refuse_loss(p, ACU_ERR_DTYPE, "targets are i32 or i64");
    if (shape.rank != 2 || rows.rank != 1 || rows.dim[0] != shape.dim[0])
        return refuse_loss(p, ACU_ERR_SHAPE, "logits are [batch, classes], and targets [batch]");
    if (rows.dim[0] == 0)
        return acui_result_apart(p, "cross_entropy", dtype, rows);
    if (shape.dim[1] == 0)
        return refuse_loss(p, ACU_ERR_SHAPE, "there are no classes");
    acui_softmax params = {.dtype = (int)dtype, .log = true};
    lay_out(&params, x, NULL, 1);
    const int64_t out_stride = p->out.tensor ? acu_tensor_strides(p->out.tensor)[0] : 1;
    acu_op *out = acui_result_apart(p, "cross_entropy", dtype, rows);
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    return launch_loss(p, &params, targets, class, out_stride, out);
}

acu_op *acu_op_cross_entropy(acu_op *logits, acu_op *targets, acu_site site)
{
    acu_custom custom = {.name = "cross_entropy", .fn = plan_cross_entropy};
    return acu_op_custom(custom, (acu_op *const[]){logits, targets}, 2, site);
}
