/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is made of sorted elements, by other operations: sort_by, topk, quantile. */
#include "ops/sort/sort.h"

#include <acuda/arrange.h>
#include <acuda/index.h>

#include <inttypes.h>
#include <math.h>

typedef struct request {
    int dimension;
    acu_sort_order order;
    int64_t count;
    double q;
} request;

/* Places start .. end - 1 of a dimension. */
static acu_op *part(acu_op *x, acu_shape shape, int dimension, int64_t start, int64_t end,
                    acu_site site)
{
    acu_shape first = {.rank = shape.rank}, last = shape;
    first.dim[dimension] = start;
    last.dim[dimension] = end;
    return acu_op_slice(x, first, last, ACU_NO_STEP, site);
}

static acu_op *two(acu_elementwise kind, acu_op *a, acu_op *b, acu_site site)
{
    return acu_op_elementwise(kind, (acu_op *const[]){a, b}, 2, site);
}

/* ---- by key ---------------------------------------------------------------------------------- */

static acu_op *plan_by(acu_planning *p)
{
    const request *r = p->data;
    char a[ACUI_OPS_WORDS], b[ACUI_OPS_WORDS];
    acu_op *failed = NULL;
    const acu_tensor *values = NULL, *keys = acui_number_operand(p, "sort_by", 0, &failed);
    if (keys)
        values = acui_tensor_operand(p, "sort_by", 1, &failed);
    if (!values)
        return failed;
    if (!acu_shape_equal(acu_tensor_shape(keys), acu_tensor_shape(values)))
        return acu_op_fail(ACU_ERR_SHAPE, "sort_by", p->site,
                           "sort_by keys %s of %s: both must have "
                           "one shape",
                           acui_value_words(&p->values[0], a), acui_value_words(&p->values[1], b));
    acu_op *places =
        acu_op_argsort(acu_op_take(&p->values[0], p->site), r->dimension, r->order, p->site);
    acu_op *taken = acu_op_take(&p->values[1], p->site);
    return acui_into(p, acu_op_gather(taken, r->dimension, places, p->site));
}

acu_op *acu_op_sort_by(acu_op *keys, acu_op *values, int dimension, acu_sort_order order,
                       acu_site site)
{
    request r = {.dimension = dimension, .order = order};
    acu_custom custom = {.name = "sort_by", .fn = plan_by, .data = &r, .bytes = sizeof r};
    return acu_op_custom(custom, (acu_op *const[]){keys, values}, 2, site);
}

/* ---- the first of them ----------------------------------------------------------------------- */

/* Whether the first are far fewer than the whole of a last dimension that takes many launches to
 * sort. */
static bool are_few(acu_shape shape, int d, int64_t count)
{
    return count > 0 && d == shape.rank - 1 && shape.dim[d] > 2 * ACUI_SORT_SHORT &&
           count <= shape.dim[d] / 4 && acu_shape_elements(shape) <= INT32_MAX;
}

/* Values and places of the first, sorted: equal ones are in order already. */
static acu_op *first_sorted(acu_op *x, int64_t count, acu_sort_order order, acu_site site)
{
    acu_op *places = acui_first_places(acu_op_retain(x), count, order, site);
    acu_op *values = acu_op_gather(x, -1, acu_op_retain(places), site);
    acu_op *sorted = acu_op_argsort(acu_op_retain(values), -1, order, site);
    values = acu_op_gather(values, -1, acu_op_retain(sorted), site);
    places = acu_op_gather(places, -1, sorted, site);
    return acu_op_zip((acu_op *const[]){values, places}, 2, site);
}

static acu_op *plan_topk(acu_planning *p)
{
    const request *r = p->data;
    char words[ACUI_OPS_WORDS];
    acu_op *failed = NULL;
    const acu_tensor *x = acui_number_operand(p, "topk", 0, &failed);
    if (!x)
        return failed;
    acu_shape shape = acu_tensor_shape(x);
    int d = acui_dimension(r->dimension, shape.rank);
    if (d < 0)
        return acui_no_dimension(p, "topk", r->dimension);
    if (r->count < 0 || r->count > shape.dim[d])
        return acu_op_fail(ACU_ERR_SHAPE, "topk", p->site,
                           "the first %" PRId64 " of dimension %d of "
                           "%s: 0 to %" PRId64 " can be asked for",
                           r->count, r->dimension, acui_value_words(&p->values[0], words),
                           shape.dim[d]);
    acu_op *taken = acu_op_take(&p->values[0], p->site);
    if (are_few(shape, d, r->count))
        return first_sorted(taken, r->count, r->order, p->site);
    acu_op *sorted = acu_op_argsort(acu_op_retain(taken), d, r->order, p->site);
    acu_op *few = part(sorted, shape, d, 0, r->count, p->site);
    acu_op *places = acu_op_elementwise(ACU_OP_COPY, &few, 1, p->site); /* not the whole's memory */
    acu_op *values = acu_op_gather(taken, d, acu_op_retain(places), p->site);
    return acu_op_zip((acu_op *const[]){values, places}, 2, p->site);
}

acu_op *acu_op_topk(acu_op *x, int64_t count, int dimension, acu_sort_order order, acu_site site)
{
    request r = {.dimension = dimension, .order = order, .count = count};
    acu_custom custom = {.name = "topk", .fn = plan_topk, .data = &r, .bytes = sizeof r};
    return acu_op_custom(custom, &x, 1, site);
}

/* ---- quantiles ------------------------------------------------------------------------------- */

/*
 * a (1 - fraction) + b fraction, for 0 < fraction < 1. The smaller share is a multiple of 2^-24
 * (f64: 2^-53), so that the other one is exact, too, and of two equal numbers comes that number; of
 * infinite ones, no difference is formed.
 */
static acu_op *mixed(acu_op *a, acu_op *b, double fraction, bool is_double, acu_site site)
{
    const bool far = fraction > 0.5;
    const double unit = ldexp(1, is_double ? 53 : 24);
    const double small = rint((far ? 1 - fraction : fraction) * unit) / unit;
    if (small == 0) {
        acu_op_release(far ? a : b);
        return far ? b : a;
    }
    acu_op *share = two(ACU_OP_MUL, far ? a : b, acu_op_number_f64(small, site), site);
    acu_op *const terms[] = {far ? b : a, acu_op_number_f64(1 - small, site), share};
    return acu_op_elementwise(ACU_OP_FMA, terms, 3, site);
}

/* What is `fraction` of the way from a to b; where the last element is NaN, that. */
static acu_op *between(acu_op *sorted, acu_shape shape, int d, double q, acu_dtype dtype,
                       acu_site site)
{
    double place = q * (double)(shape.dim[d] - 1);
    int64_t n = shape.dim[d], low = (int64_t)place;
    const double fraction = place - (double)low;
    const bool halves = acu_dtype_bytes(dtype) == 2;
    acu_op *value = part(acu_op_retain(sorted), shape, d, low, low + 1, site);
    if (fraction > 0) { /* else exactly at an element */
        acu_op *b = part(acu_op_retain(sorted), shape, d, low + 1, low + 2, site);
        value = halves ? acu_op_convert(value, ACU_F32, site) : value;
        b = halves ? acu_op_convert(b, ACU_F32, site) : b;
        value = mixed(value, b, fraction, dtype == ACU_F64, site);
        value = halves ? acu_op_convert(value, dtype, site) : value;
    }
    acu_op *last = acu_op_retain(part(sorted, shape, d, n - 1, n, site));
    acu_op *is_nan = acu_op_elementwise(ACU_OP_IS_NAN, &last, 1, site);
    return acu_op_elementwise(ACU_OP_WHERE, (acu_op *const[]){is_nan, last, value}, 3, site);
}

static acu_op *plan_quantile(acu_planning *p)
{
    const request *r = p->data;
    char words[ACUI_OPS_WORDS];
    acu_op *failed = NULL;
    const acu_tensor *x = acui_number_operand(p, "quantile", 0, &failed);
    if (!x)
        return failed;
    acu_shape shape = acu_tensor_shape(x);
    if (acu_dtype_kind_of(acu_tensor_dtype(x)) != ACU_KIND_FLOAT)
        return acu_op_fail(ACU_ERR_DTYPE, "quantile", p->site,
                           "quantile takes floating point, not "
                           "%s",
                           acui_value_words(&p->values[0], words));
    int d = acui_dimension(r->dimension, shape.rank);
    if (d < 0)
        return acui_no_dimension(p, "quantile", r->dimension);
    if (shape.dim[d] == 0)
        return acu_op_fail(ACU_ERR_SHAPE, "quantile", p->site,
                           "quantile along dimension %d of %s: there is none among no elements",
                           r->dimension, acui_value_words(&p->values[0], words));
    acu_op *taken = acu_op_take(&p->values[0], p->site);
    acu_op *sorted = acu_op_sort(taken, d, ACU_ASCENDING, p->site);
    return acui_into(p, between(sorted, shape, d, r->q, acu_tensor_dtype(x), p->site));
}

acu_op *acu_op_quantile(acu_op *x, double q, int dimension, acu_site site)
{
    request r = {.dimension = dimension, .q = q};
    acu_custom custom = {.name = "quantile", .fn = plan_quantile, .data = &r, .bytes = sizeof r};
    if (!(q >= 0 && q <= 1)) {
        acu_op_release(x);
        return acu_op_fail(ACU_ERR_INVALID, "quantile", site,
                           "there is no quantile of %g: it is from "
                           "0 to 1",
                           q);
    }
    return acu_op_custom(custom, &x, 1, site);
}
