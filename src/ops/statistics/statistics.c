/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Statistics that are made of other operations, and numbers for the host. */
#include "ops/ops.h"

#include "base/callback.h"
#include "base/error.h"

#include <acuda/future.h>
#include <acuda/statistics.h>

typedef struct request {
    acu_dims dims;
    double correction;
    bool root;
} request;

static acu_op *one(acu_elementwise kind, acu_op *a, acu_site site)
{
    return acu_op_elementwise(kind, &a, 1, site);
}

static acu_op *two(acu_elementwise kind, acu_op *a, acu_op *b, acu_site site)
{
    return acu_op_elementwise(kind, (acu_op *const[]){a, b}, 2, site);
}

/* The operand, of floating point. */
static const acu_tensor *real_operand(acu_planning *p, const char *name, acu_op **failed)
{
    char words[ACUI_OPS_WORDS];
    const acu_tensor *x = acui_number_operand(p, name, 0, failed);
    if (!x || acu_dtype_kind_of(acu_tensor_dtype(x)) == ACU_KIND_FLOAT)
        return x;
    *failed = acu_op_fail(ACU_ERR_DTYPE, name, p->site, "%s takes floating point, not %s", name,
                          acui_value_words(&p->values[0], words));
    return NULL;
}

/* How many elements are reduced; dimensions that do not exist are refused by the reduction. */
static int64_t reduced(const acu_dims *dims, acu_shape shape)
{
    int64_t n = dims->count == 0 ? acu_shape_elements(shape) : 1;
    for (int i = 0; i < dims->count && i < ACU_MAX_RANK; i++) {
        int d = acui_dimension(dims->dim[i], shape.rank);
        n *= d < 0 ? 1 : shape.dim[d];
    }
    return n;
}

/* f16 and bf16 are computed with in f32, since squares overflow. */
static acu_op *widened(acu_op *x, acu_dtype dtype, acu_site site)
{
    return dtype == ACU_F16 || dtype == ACU_BF16 ? acu_op_convert(x, ACU_F32, site) : x;
}

/* The result in the operand's dtype, where acu_into wants it. */
static acu_op *finish(acu_planning *p, acu_op *x, acu_dtype dtype)
{
    bool narrow = dtype == ACU_F16 || dtype == ACU_BF16;
    return acui_into(p, narrow ? acu_op_convert(x, dtype, p->site) : x);
}

/* ---- variance -------------------------------------------------------------------------------- */

/* The mean is rounded, so what is left of it in the deviations is taken out of their squares. */
static acu_op *plan_var(acu_planning *p)
{
    const request *r = p->data;
    const char *name = r->root ? "std" : "var";
    acu_op *failed = NULL;
    const acu_tensor *t = real_operand(p, name, &failed);
    if (!t)
        return failed;
    acu_dtype dtype = acu_tensor_dtype(t);
    double n = (double)reduced(&r->dims, acu_tensor_shape(t));
    acu_dims kept = r->dims;
    kept.keep = true;
    acu_op *x = acu_op_retain(widened(acu_op_take(&p->values[0], p->site), dtype, p->site));
    acu_op *mean = acu_op_reduce(ACU_REDUCE_MEAN, x, kept, p->site);
    acu_op *off = acu_op_retain(two(ACU_OP_SUB, x, mean, p->site));
    acu_op *left = acu_op_reduce(ACU_REDUCE_MEAN, off, r->dims, p->site);
    acu_op *norm = acu_op_reduce(ACU_REDUCE_NORM, off, r->dims, p->site);
    acu_op *squares = two(ACU_OP_MUL, one(ACU_OP_SQUARE, norm, p->site),
                          acu_op_number_f64(1 / (n - r->correction), p->site), p->site);
    acu_op *rest = two(ACU_OP_MUL, one(ACU_OP_SQUARE, left, p->site),
                       acu_op_number_f64(n / (n - r->correction), p->site), p->site);
    acu_op *var = two(ACU_OP_SUB, squares, rest, p->site);
    return finish(p, r->root ? one(ACU_OP_SQRT, var, p->site) : var, dtype);
}

acu_op *acu_op_var(acu_op *x, acu_dims dims, double correction, bool root, acu_site site)
{
    request r = {.dims = dims, .correction = correction, .root = root};
    acu_custom custom = {
        .name = root ? "std" : "var", .fn = plan_var, .data = &r, .bytes = sizeof r};
    return acu_op_custom(custom, &x, 1, site);
}

/* ---- log-sum-exp ----------------------------------------------------------------------------- */

/* Minus infinity, and infinity, less themselves would be NaN; so nothing infinite is taken off. */
static acu_op *plan_logsumexp(acu_planning *p)
{
    const request *r = p->data;
    acu_op *failed = NULL;
    const acu_tensor *t = real_operand(p, "logsumexp", &failed);
    if (!t)
        return failed;
    acu_dtype dtype = acu_tensor_dtype(t);
    if (acu_tensor_elements(t) == 0) { /* there is no greatest; minus infinity where none add up */
        acu_op *sum = acu_op_take(&p->values[0], p->site);
        sum = acu_op_reduce(ACU_REDUCE_SUM, sum, r->dims, p->site);
        return acui_into(p, one(ACU_OP_LOG, sum, p->site));
    }
    acu_dims kept = r->dims;
    kept.keep = true;
    acu_op *x = acu_op_retain(widened(acu_op_take(&p->values[0], p->site), dtype, p->site));
    acu_op *most = acu_op_retain(acu_op_reduce(ACU_REDUCE_MAX, x, kept, p->site));
    acu_op *finite = one(ACU_OP_IS_FINITE, most, p->site);
    acu_op *operands[] = {finite, most, acu_op_number_f64(0, p->site)};
    acu_op *base = acu_op_retain(acu_op_elementwise(ACU_OP_WHERE, operands, 3, p->site));
    acu_op *sum =
        acu_op_reduce(ACU_REDUCE_SUM, one(ACU_OP_EXP, two(ACU_OP_SUB, x, base, p->site), p->site),
                      r->dims, p->site);
    if (!r->dims.keep) /* the base without these dimensions: of one element each */
        base = acu_op_reduce(ACU_REDUCE_MAX, base, r->dims, p->site);
    return finish(p, two(ACU_OP_ADD, one(ACU_OP_LOG, sum, p->site), base, p->site), dtype);
}

acu_op *acu_op_logsumexp(acu_op *x, acu_dims dims, acu_site site)
{
    request r = {.dims = dims};
    acu_custom custom = {.name = "logsumexp", .fn = plan_logsumexp, .data = &r, .bytes = sizeof r};
    return acu_op_custom(custom, &x, 1, site);
}

/* ---- numbers for the host -------------------------------------------------------------------- */

static acu_op *plan_number(acu_planning *p)
{
    char words[ACUI_OPS_WORDS];
    acu_op *failed = NULL;
    const acu_tensor *x = acui_tensor_operand(p, "read", 0, &failed);
    if (!x)
        return failed;
    if (acu_tensor_elements(x) != 1)
        return acu_op_fail(ACU_ERR_SHAPE, "read", p->site,
                           "one number is read of one element, not of "
                           "%s",
                           acui_value_words(&p->values[0], words));
    return acu_op_convert(acu_op_take(&p->values[0], p->site), *(const acu_dtype *)p->data,
                          p->site);
}

static acu_status read_number(acu_device *device, acu_op *x, acu_dtype dtype, void *number,
                              acu_site site, const char *function)
{
    acu_status status = acui_refuse_wait(function);
    if (status != ACU_OK) {
        acu_op_release(x);
        return status;
    }
    acu_custom custom = {.name = "read", .fn = plan_number, .data = &dtype, .bytes = sizeof dtype};
    acu_op *first = acu_op_nth(x, 0, site);
    acu_tensor *result = NULL;
    acu_op *op = acu_op_custom(custom, &first, 1, site);
    status = acu_sync(device, op, &result);
    if (status == ACU_ERR_FULL)
        acu_op_release(op);
    if (status == ACU_OK)
        status = acu_read_sync(result, number, 8);
    acu_tensor_release(result);
    return status;
}

acu_status acu_op_read_f64_wait(acu_device *device, acu_op *x, double *number, acu_site site)
{
    return read_number(device, x, ACU_F64, number, site, __func__);
}

acu_status acu_op_read_i64_wait(acu_device *device, acu_op *x, int64_t *number, acu_site site)
{
    return read_number(device, x, ACU_I64, number, site, __func__);
}
