/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Reductions by key: of few keys in tables, two launches; of many by sorting (acu_index_put's
 * scatter). And by segments, whose numbers are the keys.
 */
#include "ops/ops.h"

#include "ops/select/params.h"

#include <acuda/sort.h>
#include <acuda/statistics.h>

#include <inttypes.h>

typedef struct by_key {
    acu_scatter_kind kind;
    int64_t count;
} by_key;

/* What stays where there is no value, as its bits. */
static uint64_t none_of(acu_dtype dtype, acu_scatter_kind kind)
{
    bool least = kind == ACU_SCATTER_MIN;
    int bits = 8 * (int)acu_dtype_bytes(dtype);
    uint64_t all = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1, infinite;
    if (kind == ACU_SCATTER_ADD)
        return 0;
    if (dtype == ACU_BOOL)
        return least;
    if (acu_dtype_kind_of(dtype) == ACU_KIND_UNSIGNED)
        return least ? all : 0;
    if (acu_dtype_kind_of(dtype) != ACU_KIND_FLOAT)
        return least ? all >> 1 : (all >> 1) + 1;
    infinite = dtype == ACU_F16    ? 0x7c00
               : dtype == ACU_BF16 ? 0x7f80
               : dtype == ACU_F64  ? 0x7ffull << 52
                                   : 0x7f800000;
    return least ? infinite : infinite | (uint64_t)1 << (bits - 1);
}

static acu_op *refuse(acu_planning *p, const char *name, acu_status status, const char *why)
{
    char a[ACUI_OPS_WORDS], b[ACUI_OPS_WORDS];
    return acu_op_fail(status, name, p->site, "%s of %s by %s: %s", name,
                       acui_value_words(&p->values[0], a), acui_value_words(&p->values[1], b), why);
}

/* Without values. */
static acu_op *nothing(acu_planning *p, const char *name, acu_dtype dtype, int64_t count,
                       uint64_t none)
{
    acu_op *out = acui_result_apart(p, name, dtype, ACU_SHAPE(count));
    return acu_op_status(out, NULL) == ACU_OK
               ? acu_op_fill(out, acu_arg_scalar(dtype, none), p->site)
               : out;
}

/* How the values are cut: by their number alone. A table for each part has to be joined too, so
 * there are no more places in tables than a quarter of the values. */
static void cut(acui_by_key *p)
{
    const int64_t least = 4096, most = 4096;
    int64_t parts = p->elements / (p->count * 4 > least ? p->count * 4 : least);
    parts = parts < 1 ? 1 : parts < most ? parts : most;
    p->chunk = acui_parts(acui_parts(p->elements, parts), 32) * 32;
    p->parts = acui_parts(p->elements, p->chunk);
}

static acu_op *launch(acu_planning *p, const acui_by_key *params, acu_op *out)
{
    const char *name = "reduce_by_key";
    const bool real = acu_dtype_kind_of((acu_dtype)params->dtype) == ACU_KIND_FLOAT;
    int warps = 8;
    while (warps > 1 && warps * params->count > ACUI_BY_KEY_MOST)
        warps /= 2;
    acu_op *partial = acu_op_empty(ACU_F64, ACU_SHAPE(params->parts * params->count), p->site);
    const acu_arg args[] = {acu_arg_op(acu_op_named(partial, name), ACU_WRITE),
                            acu_arg_op(acu_op_take(&p->values[0], p->site), ACU_READ),
                            acu_arg_op(acu_op_take(&p->values[1], p->site), ACU_READ),
                            acu_arg_struct(params, sizeof *params)};
    const char *part = real ? "by_key_part_d" : "by_key_part_l";
    acu_op *first = acui_launch_of(p, name, "acuda.select", part, acui_parts(params->parts, warps),
                                   32 * warps, args, 4);
    const acu_arg join[] = {acu_arg_op(out, ACU_WRITE),
                            acu_arg_op(acu_op_nth(first, 0, p->site), ACU_READ),
                            acu_arg_struct(params, sizeof *params)};
    return acu_op_nth(
        acui_launch_of(p, name, "acuda.select", real ? "by_key_whole_d" : "by_key_whole_l",
                       acui_parts(params->count, 32), 32 * ACUI_BY_KEY_WARPS, join, 3),
        0, p->site);
}

/* An operand in one dimension, which may take a copy. */
static acu_op *flat(acu_planning *p, size_t i)
{
    const bool dense = acu_tensor_dense(p->values[i].tensor);
    acu_op *x = acu_op_take(&p->values[i], p->site); /* after which the tensor may be gone */
    if (!dense)
        x = acu_op_elementwise(ACU_OP_COPY, &x, 1, p->site);
    return acu_op_flatten(x, p->site);
}

static acu_op *plan_by_key(acu_planning *p)
{
    const by_key *r = p->data;
    const char *name = "reduce_by_key";
    acu_op *failed = NULL;
    const acu_tensor *keys = NULL, *values = acui_number_operand(p, name, 0, &failed);
    if (values)
        keys = acui_tensor_operand(p, name, 1, &failed);
    if (!keys)
        return failed;
    acu_dtype dtype = acu_tensor_dtype(values), of_keys = acu_tensor_dtype(keys);
    if (of_keys != ACU_I32 && of_keys != ACU_I64)
        return refuse(p, name, ACU_ERR_DTYPE, "keys are i32 or i64");
    if (!acu_shape_equal(acu_tensor_shape(values), acu_tensor_shape(keys)))
        return refuse(p, name, ACU_ERR_SHAPE, "there is a key for each value");
    const uint64_t none = none_of(dtype, r->kind);
    if (acu_tensor_elements(values) == 0)
        return nothing(p, name, dtype, r->count, none);
    if (r->count > ACUI_BY_KEY_MOST) {
        acu_op *begin = acu_op_full(ACU_SHAPE(r->count), acu_arg_scalar(dtype, none), p->site);
        acu_op *source = flat(p, 0), *places = flat(p, 1);
        return acui_into(p, acu_op_scatter(r->kind, begin, 0, places, source, p->site));
    }
    acui_by_key params = {.elements = acu_tensor_elements(values),
                          .count = r->count,
                          .kind = (int)r->kind,
                          .dtype = (int)dtype,
                          .none = none,
                          .key_bytes = (int)acu_dtype_bytes(of_keys)};
    params.stride = p->out.tensor ? acu_tensor_strides(p->out.tensor)[0] : 1;
    acui_layout(&params.index, params.at, acu_tensor_shape(values),
                (const acu_tensor *[]){values, keys}, 2);
    cut(&params);
    acu_op *out = acui_result_apart(p, name, dtype, ACU_SHAPE(r->count));
    return acu_op_status(out, NULL) == ACU_OK ? launch(p, &params, out) : out;
}

acu_op *acu_op_reduce_by_key(acu_scatter_kind kind, acu_op *values, acu_op *keys, int64_t count,
                             acu_site site)
{
    by_key r = {kind, count};
    acu_custom custom = {.name = "reduce_by_key", .fn = plan_by_key, .data = &r, .bytes = sizeof r};
    if (kind >= ACU_SCATTER_ADD && kind <= ACU_SCATTER_MAX && count > 0)
        return acu_op_custom(custom, (acu_op *const[]){values, keys}, 2, site);
    acu_op_release(values);
    acu_op_release(keys);
    return acu_op_fail(ACU_ERR_INVALID, "reduce_by_key", site,
                       "reduce_by_key to %" PRId64 " by kind %d: "
                       "one or more, by ACU_SCATTER_ADD, _MIN or _MAX",
                       count, (int)kind);
}

/* ---- by segments ----------------------------------------------------------------------------- */

static acu_op *plan_segments(acu_planning *p)
{
    const by_key *r = p->data;
    const char *name = "reduce_segments";
    acu_op *failed = NULL;
    const acu_tensor *offsets = NULL, *values = acui_number_operand(p, name, 0, &failed);
    if (values)
        offsets = acui_tensor_operand(p, name, 1, &failed);
    if (!offsets)
        return failed;
    acu_dtype dtype = acu_tensor_dtype(offsets);
    acu_shape shape = acu_tensor_shape(offsets);
    if (dtype != ACU_I32 && dtype != ACU_I64)
        return refuse(p, name, ACU_ERR_DTYPE, "offsets are i32 or i64");
    if (acu_tensor_shape(values).rank != 1 || shape.rank != 1 || shape.dim[0] < 1)
        return refuse(p, name, ACU_ERR_SHAPE,
                      "both have one dimension, and there is an offset or more");
    /* A value's key is the number of offsets up to it: 0 before the first segment. */
    const double count = (double)acu_tensor_elements(values);
    acu_op *places = acu_op_arange(dtype, 0, count, 1, p->site);
    acu_op *keys =
        acu_op_searchsorted(acu_op_take(&p->values[1], p->site), places, true, p->site);
    acu_op *all = acu_op_reduce_by_key(r->kind, acu_op_take(&p->values[0], p->site), keys,
                                       shape.dim[0], p->site);
    return acui_view_into(p, acu_op_slice(all, ACU_SHAPE(1), shape, ACU_NO_STEP, p->site));
}

acu_op *acu_op_reduce_segments(acu_scatter_kind kind, acu_op *values, acu_op *offsets,
                               acu_site site)
{
    by_key r = {kind, 1};
    acu_custom custom = {
        .name = "reduce_segments", .fn = plan_segments, .data = &r, .bytes = sizeof r};
    if (kind >= ACU_SCATTER_ADD && kind <= ACU_SCATTER_MAX)
        return acu_op_custom(custom, (acu_op *const[]){values, offsets}, 2, site);
    acu_op_release(values);
    acu_op_release(offsets);
    return acu_op_fail(ACU_ERR_INVALID, "reduce_segments", site,
                       "reduce_segments by kind %d: ACU_SCATTER_ADD, _MIN or _MAX", (int)kind);
}
