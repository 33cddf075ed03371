/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* bincount and histograms: whole counts, so it does not matter who adds first. */
#include "ops/ops.h"

#include "ops/select/params.h"

#include <acuda/select.h>

#include <inttypes.h>
#include <math.h>

typedef struct request {
    int64_t count;
    double low, high;
    bool even;
} request;

/* Counts begin at 0. Sets their stride. */
static acu_op *zeros(acu_planning *p, const char *name, int64_t count, long long *stride)
{
    *stride = p->out.tensor ? acu_tensor_strides(p->out.tensor)[0] : 1;
    acu_op *out = acui_result_apart(p, name, ACU_I64, ACU_SHAPE(count));
    return acu_op_status(out, NULL) == ACU_OK ? acu_op_fill(out, acu_i64(0), p->site) : out;
}

/* Into `out`, of zeros. `edges` is NULL for a bincount; it is of the type of computation. `scale`:
 * bins to a unit, if they are even. */
static acu_op *launch(acu_planning *p, const char *name, const acu_tensor *x, acu_op *out,
                      acu_op *edges, acui_histogram params)
{
    acu_dtype dtype = acu_tensor_dtype(x);
    bool real = acu_dtype_kind_of(dtype) == ACU_KIND_FLOAT;
    params.elements = acu_tensor_elements(x);
    params.dtype = (int)dtype;
    acui_layout(&params.index, &params.x, acu_tensor_shape(x), (const acu_tensor *[]){x}, 1);
    params.linear = acui_is_linear(&params.index, &params.x, 1);
    const acu_arg args[] = {
        acu_arg_op(out, ACU_UPDATE), acu_arg_op(acu_op_take(&p->values[0], p->site), ACU_READ),
        edges ? acu_arg_op(edges, ACU_READ) : acu_u64(0), acu_arg_struct(&params, sizeof params)};
    int64_t blocks = acui_parts(params.elements, 16 * ACUI_BLOCK);
    return acui_run(p, name, "acuda.select", real ? "histogram_d" : "histogram_l",
                    blocks < 2048 ? blocks : 2048, args, 4);
}

static acu_op *plan_bincount(acu_planning *p)
{
    const request *r = p->data;
    char words[ACUI_OPS_WORDS];
    acu_op *failed = NULL;
    const acu_tensor *x = acui_number_operand(p, "bincount", 0, &failed);
    if (!x)
        return failed;
    if (acu_dtype_kind_of(acu_tensor_dtype(x)) == ACU_KIND_FLOAT)
        return acu_op_fail(ACU_ERR_DTYPE, "bincount", p->site, "bincount takes integers, not %s",
                           acui_value_words(&p->values[0], words));
    acui_histogram params = {.count = r->count};
    acu_op *out = zeros(p, "bincount", r->count, &params.stride);
    return acu_op_status(out, NULL) == ACU_OK ? launch(p, "bincount", x, out, NULL, params) : out;
}

static acu_op *plan_histogram(acu_planning *p)
{
    const request *r = p->data;
    char a[ACUI_OPS_WORDS], b[ACUI_OPS_WORDS];
    acu_op *failed = NULL, *edges;
    const acu_tensor *x = acui_number_operand(p, "histogram", 0, &failed), *given = NULL;
    if (!x)
        return failed;
    acu_dtype dtype = acu_tensor_dtype(x);
    bool real = acu_dtype_kind_of(dtype) == ACU_KIND_FLOAT;
    if (r->even && !real)
        return acu_op_fail(ACU_ERR_DTYPE, "histogram", p->site,
                           "even bins are of floating point, not "
                           "%s: acu_histogram_by takes edges",
                           acui_value_words(&p->values[0], a));
    int64_t count = r->count;
    if (!r->even) {
        given = acui_number_operand(p, "histogram", 1, &failed);
        if (!given)
            return failed;
        acu_shape shape = acu_tensor_shape(given);
        if (acu_tensor_dtype(given) != dtype || shape.rank != 1 || shape.dim[0] < 2)
            return acu_op_fail(ACU_ERR_SHAPE, "histogram", p->site,
                               "histogram of %s by edges %s: these "
                               "are two or more in one dimension, of the same dtype",
                               acui_value_words(&p->values[0], a),
                               acui_value_words(&p->values[1], b));
        count = shape.dim[0] - 1;
    }
    acui_histogram params = {.count = count};
    acu_op *out = zeros(p, "histogram", count, &params.stride); /* before operands are taken */
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    edges = r->even ? acu_op_linspace(dtype, r->low, r->high, r->count + 1, p->site)
                    : acu_op_take(&p->values[1], p->site);
    double scale = r->even ? (double)count / (r->high - r->low) : 0;
    params.scale = isfinite(scale) ? scale : 0;
    edges = acu_op_convert(edges, real ? ACU_F64 : ACU_I64, p->site);
    return launch(p, "histogram", x, out, edges, params);
}

acu_op *acu_op_bincount(acu_op *x, int64_t count, acu_site site)
{
    request r = {.count = count};
    acu_custom custom = {.name = "bincount", .fn = plan_bincount, .data = &r, .bytes = sizeof r};
    if (count < 1) {
        acu_op_release(x);
        return acu_op_fail(ACU_ERR_SHAPE, "bincount", site,
                           "bincount of %" PRId64 " numbers: it takes "
                           "one or more",
                           count);
    }
    return acu_op_custom(custom, &x, 1, site);
}

acu_op *acu_op_histogram_by(acu_op *x, acu_op *edges, acu_site site)
{
    request r = {.even = false};
    acu_custom custom = {.name = "histogram", .fn = plan_histogram, .data = &r, .bytes = sizeof r};
    return acu_op_custom(custom, (acu_op *const[]){x, edges}, 2, site);
}

acu_op *acu_op_histogram_even(acu_op *x, int64_t bins, double low, double high, acu_site site)
{
    request r = {.count = bins, .low = low, .high = high, .even = true};
    acu_custom custom = {.name = "histogram", .fn = plan_histogram, .data = &r, .bytes = sizeof r};
    if (bins < 1 || bins == INT64_MAX || !(low < high) || !isfinite(low) || !isfinite(high)) {
        acu_op_release(x);
        return acu_op_fail(ACU_ERR_INVALID, "histogram", site,
                           "histogram of %" PRId64 " bins from %g "
                           "to %g: one bin or more, and low below high",
                           bins, low, high);
    }
    return acu_op_custom(custom, &x, 1, site);
}
