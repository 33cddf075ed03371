/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Reductions: the shape of the result, how the work is cut, and one or two launches.
 *
 * How the work is cut follows from shape, layout and dtype alone, not from the device, and so do
 * results.
 */
#include "ops/ops.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum of { FLOAT_C, ANY, ANY_C };
enum result { SAME, PART, WIDE, BOOL, INDEX };

static const struct {
    const char *name;
    enum of of;
    enum result result;
} kinds[] = {
#define ACU_X(id, name, of, result) {name, of, result},
    ACU_REDUCTIONS(ACU_X)
#undef ACU_X
};

const char *acu_reduction_name(acu_reduction kind)
{
    return (unsigned)kind < ACU_REDUCTION_COUNT ? kinds[kind].name : "?";
}

typedef struct request {
    acu_reduction kind;
    acu_dims dims;
} request;

typedef struct plan {
    acu_planning *p;
    request what;
    const char *name;
    const acu_tensor *x;
    acu_shape shape, result; /* of x, and of the result */
    bool reduced[ACU_MAX_RANK];
    acu_dtype to;
    acui_reduction params;
    bool columns, arg;
} plan;

/* ---- what it is of --------------------------------------------------------------------------- */

static acu_op *read_dims(plan *r)
{
    const acu_dims *dims = &r->what.dims;
    for (int d = 0; d < r->shape.rank; d++)
        r->reduced[d] = dims->count == 0;
    for (int i = 0; i < dims->count && i < ACU_MAX_RANK; i++) {
        int d = dims->dim[i] < 0 ? dims->dim[i] + r->shape.rank : dims->dim[i];
        char words[ACUI_OPS_WORDS];
        if (d < 0 || d >= r->shape.rank || r->reduced[d])
            return acu_op_fail(ACU_ERR_SHAPE, r->name, r->p->site, "%s over dimension %d of %s: %s",
                               r->name, dims->dim[i], acui_value_words(&r->p->values[0], words),
                               d >= 0 && d < r->shape.rank ? "named twice" : "there is none");
        r->reduced[d] = true;
    }
    for (int d = 0; d < r->shape.rank; d++)
        if (!r->reduced[d] || dims->keep)
            r->result.dim[r->result.rank++] = r->reduced[d] ? 1 : r->shape.dim[d];
    if (r->result.rank == 0)
        r->result = ACU_SHAPE(1);
    return NULL;
}

/* 'z': complex (kernels/complex_sums.cu). */
static char class_of(acu_dtype dtype)
{
    char class = acui_is_complex(dtype) ? 'z' : acui_class_of(dtype);
    return class == 'i' ? 'l' : class;
}

/* What the reduction takes, if it does not take the dtype. */
static const char *wanted(const plan *r, acu_dtype dtype)
{
    char class = class_of(dtype);
    bool real = class == 'f' || class == 'd';
    switch (kinds[r->what.kind].of) {
    case FLOAT_C:
        return real || class == 'z' ? NULL : "floating point and complex numbers";
    case ANY_C:
        return class ? NULL : "numbers and bool";
    default:
        return class == 'z' ? "numbers that have an order, and bool"
               : class      ? NULL
                            : "numbers and bool";
    }
}

static acu_dtype result_of(const plan *r, acu_dtype dtype)
{
    switch (kinds[r->what.kind].result) {
    case BOOL:
        return ACU_BOOL;
    case INDEX:
        return ACU_I64;
    case PART:
        return acui_part_of(dtype);
    case WIDE:
        if (class_of(dtype) == 'l')
            return acu_dtype_kind_of(dtype) == ACU_KIND_UNSIGNED ? ACU_U64 : ACU_I64;
        return dtype;
    default:
        return dtype;
    }
}

static acu_op *check(plan *r)
{
    char words[ACUI_OPS_WORDS];
    const acu_val *value = &r->p->values[0];
    if (value->kind != ACU_TENSOR)
        return acu_op_fail(ACU_ERR_INVALID, r->name, r->p->site, "%s takes a tensor, not %s",
                           r->name, acui_value_words(value, words));
    r->x = value->tensor;
    r->shape = acu_tensor_shape(r->x);
    acu_dtype dtype = acu_tensor_dtype(r->x);
    if (wanted(r, dtype))
        return acu_op_fail(ACU_ERR_DTYPE, r->name, r->p->site, "%s takes %s, not %s", r->name,
                           wanted(r, dtype), acui_value_words(value, words));
    r->to = result_of(r, dtype);
    return read_dims(r);
}

/* ---- layouts --------------------------------------------------------------------------------- */

/* Lays out the dimensions that are (not) reduced, merged where the strides of x and of `with` allow
 * it. */
static void fold(const plan *r, bool reduced, acui_index *index, acui_operand *at,
                 acui_operand *with)
{
    int64_t dims[ACUI_RANK];
    int rank = 0, place = 0;
    const acu_tensor *out = r->p->out.tensor;
    int64_t dense = acu_shape_elements(r->result);
    for (int d = 0; d < r->shape.rank; d++) {
        bool in_result = !r->reduced[d] || r->what.dims.keep;
        int64_t own = acu_tensor_strides(r->x)[d], extent = r->shape.dim[d], other = 0;
        if (in_result && !r->reduced[d] && extent)
            dense /= extent;
        if (in_result)
            other = out ? acu_tensor_strides(out)[place++] : dense;
        if (r->reduced[d] != reduced || extent == 1)
            continue;
        other = reduced ? 0 : other;
        if (rank == 0 || at->stride[rank - 1] != own * extent ||
            (with && with->stride[rank - 1] != other * extent))
            dims[rank++] = 1;
        dims[rank - 1] *= extent;
        at->stride[rank - 1] = own;
        if (with)
            with->stride[rank - 1] = other;
    }
    if (rank == 0) {
        dims[rank++] = 1;
        at->stride[0] = 1;
        if (with)
            with->stride[0] = 1;
    }
    acui_index_make(index, rank, dims);
}

static int64_t count_of(const acui_index *index)
{
    int64_t count = 1;
    for (int d = 0; d < index->rank; d++)
        count *= index->dim[d];
    return count;
}

static int power_above(int64_t n, int most)
{
    int power = 1;
    while (power < n && power < most)
        power *= 2;
    return power;
}

/* Cuts the reduced elements into splits, so that a large reduction to few elements has enough
 * blocks, but not more than `most`. A split has at least 16 Ki elements, counting `together` of
 * them for each reduced place. */
static void cut(plan *r, int64_t units, int64_t together, int64_t most)
{
    const int64_t least = 16384 / together;
    acui_reduction *p = &r->params;
    int64_t splits = acui_parts(p->reduced_count, least);
    if (splits > most / units)
        splits = most / units > 0 ? most / units : 1;
    int64_t chunk = acui_parts(p->reduced_count, splits);
    int64_t whole = together > 1 ? 64 : 8192; /* a multiple of a block's turn, for every dtype */
    p->chunk = splits == 1 ? chunk : (chunk + whole - 1) / whole * whole;
    p->splits = (int)acui_parts(p->reduced_count, p->chunk);
    p->partial = p->splits > 1;
}

static void lay_out(plan *r)
{
    acui_reduction *p = &r->params;
    p->op = (int)r->what.kind;
    p->dtype = (int)acu_tensor_dtype(r->x);
    p->out_dtype = (int)r->to;
    p->unsigned_order = acu_tensor_dtype(r->x) == ACU_U64;
    fold(r, false, &p->kept, &p->x, &p->out);
    fold(r, true, &p->reduced, &p->along, NULL);
    p->kept_count = count_of(&p->kept);
    p->reduced_count = count_of(&p->reduced);
    p->contiguous = p->reduced.rank == 1 && p->along.stride[0] == 1;
    r->arg = kinds[r->what.kind].result == INDEX;
    int64_t across = p->kept.dim[p->kept.rank - 1];
    r->columns = p->x.stride[p->kept.rank - 1] == 1 && across >= 32 && !p->contiguous;
    p->group = power_above(acui_parts(p->reduced_count, 16), ACUI_BLOCK);
    int least = power_above(p->reduced_count, 8);
    p->group = p->group > least ? p->group : least;
    if (r->columns && class_of(acu_tensor_dtype(r->x)) == 'z') {
        r->columns = false; /* but a thread for each */
        p->group = 1;
    }
    if (!r->columns) {
        cut(r, acui_parts(p->kept_count, ACUI_BLOCK / p->group), 1, 4096);
    } else { /* a block takes eight rows at a time, and is faster with more of them */
        int64_t tile = acui_class_of(acu_tensor_dtype(r->x)) == 'f' ? 128 : 64;
        cut(r, p->kept_count / across * ((across + tile - 1) / tile), 64, 2048);
    }
}

/* ---- launches -------------------------------------------------------------------------------- */

static int64_t blocks_of(const plan *r)
{
    const acui_reduction *p = &r->params;
    int64_t units = p->kept_count * p->splits;
    return acui_blocks(units, r->columns ? 1 : ACUI_BLOCK / p->group);
}

/* The second launch, which combines the partial results and consumes them. */
static acu_op *finish(plan *r, acu_op *out, acu_op *partial, const char *family, char class)
{
    char kernel[32];
    acui_reduction params = r->params;
    params.partial = 0;
    params.group = power_above(params.splits, ACUI_BLOCK);
    snprintf(kernel, sizeof kernel, r->arg ? "end_args_%c" : "end_%c", class);
    const acu_arg args[] = {acu_arg_op(out, ACU_WRITE), acu_arg_op(partial, ACU_READ),
                            acu_arg_struct(&params, sizeof params)};
    return acui_run(r->p, r->name, family, kernel,
                    acui_blocks(params.kept_count, ACUI_BLOCK / params.group), args, 3);
}

static acu_op *launch(plan *r, acu_op *out)
{
    char class = class_of(acu_tensor_dtype(r->x)), family[32], kernel[32];
    snprintf(family, sizeof family, class == 'z' ? "acuda.complex_sums" : "acuda.reduce_%c", class);
    snprintf(kernel, sizeof kernel, "%s%s%c", r->columns ? "columns_" : r->arg ? "" : "rows_",
             r->arg ? "args_" : "", class);
    acu_op *x = acu_op_take(&r->p->values[0], r->p->site);
    int64_t blocks = blocks_of(r);
    if (!r->params.partial) {
        const acu_arg args[] = {acu_arg_op(out, ACU_WRITE), acu_arg_op(x, ACU_READ), acu_u64(0),
                                acu_arg_struct(&r->params, sizeof r->params)};
        return acui_run(r->p, r->name, family, kernel, blocks, args, 4);
    }
    int64_t values = r->params.kept_count * r->params.splits *
                     (r->arg || class == 'z' ? 2 : 1);
    const acu_arg args[] = {
        acu_u64(0), acu_arg_op(x, ACU_READ),
        acu_arg_op(acu_op_named(acu_op_empty(ACU_F64, ACU_SHAPE(values), r->p->site), r->name),
                   ACU_WRITE),
        acu_arg_struct(&r->params, sizeof r->params)};
    acu_op *first = acui_launch(r->p, r->name, family, kernel, blocks, args, 4);
    return finish(r, out, acu_op_nth(first, 2, r->p->site), family, class);
}

/* Of no elements: what adding, multiplying, ... nothing gives; the mean is NaN. */
static acu_op *of_none(plan *r)
{
    char words[ACUI_OPS_WORDS];
    acu_reduction kind = r->what.kind;
    uint64_t bits[2] = {0, 0};
    bool one = kind == ACU_REDUCE_PROD || kind == ACU_REDUCE_ALL;
    if (kind != ACU_REDUCE_SUM && kind != ACU_REDUCE_NORM && kind != ACU_REDUCE_ANY &&
        kind != ACU_REDUCE_MEAN && !one)
        return acu_op_fail(ACU_ERR_SHAPE, r->name, r->p->site, "%s of %s: there is none among no "
                           "elements", r->name, acui_value_words(&r->p->values[0], words));
    acu_val of = {.kind = ACU_SCALAR, .dtype = acui_is_complex(r->to) ? ACU_C128 : ACU_F64};
    const double number = kind == ACU_REDUCE_MEAN ? NAN : one;
    memcpy(&of.bits, &number, sizeof number);
    if (kind == ACU_REDUCE_MEAN && of.dtype == ACU_C128)
        of.imaginary = of.bits;
    if (acu_dtype_kind_of(r->to) >= ACU_KIND_FLOAT)
        acui_stored_bits(&of, r->to, bits, words);
    else
        bits[0] = one;
    acu_op *out = acui_result(r->p, r->name, r->to, r->result);
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    acu_arg number_of = r->to == ACU_C128 ? acu_c128(bits) : acu_arg_scalar(r->to, bits[0]);
    return acu_op_fill(out, number_of, r->p->site);
}

/* How many elements make one of the result. */
static double reduced_count(const plan *r)
{
    double count = 1;
    for (int d = 0; d < r->shape.rank; d++)
        count *= r->reduced[d] ? (double)r->shape.dim[d] : 1;
    return count;
}

/* Of integers: their sum, in 64 bits, by their number. The sum of 64-bit integers might not fit, so
 * these become doubles first. */
static acu_op *mean_of_integers(plan *r, char class)
{
    acu_site site = r->p->site;
    acu_op *x = acu_op_take(&r->p->values[0], site);
    if (class == 'l') {
        x = acu_op_convert(x, ACU_F64, site);
        return acui_into(r->p, acu_op_reduce(ACU_REDUCE_MEAN, x, r->what.dims, site));
    }
    acu_op *sum = acu_op_reduce(ACU_REDUCE_SUM, x, r->what.dims, site);
    acu_op *by[] = {acu_op_convert(sum, ACU_F64, site), acu_op_number_f64(reduced_count(r), site)};
    return acui_into(r->p, acu_op_elementwise(ACU_OP_DIV, by, 2, site));
}

static acu_op *plan_reduce(acu_planning *p)
{
    plan r = {.p = p, .what = *(const request *)p->data};
    r.name = kinds[r.what.kind].name;
    acu_op *failed = check(&r);
    if (failed)
        return failed;
    char class = acui_class_of(acu_tensor_dtype(r.x));
    if (r.what.kind == ACU_REDUCE_MEAN && (class == 'i' || class == 'l'))
        return mean_of_integers(&r, class);
    if (reduced_count(&r) == 0) /* refused where there is none, if the result is empty, too */
        return of_none(&r);
    if (acu_shape_elements(r.result) == 0)
        return acui_result(p, r.name, r.to, r.result);
    lay_out(&r);
    acu_op *out = acui_result(p, r.name, r.to, r.result);
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    return launch(&r, out);
}

acu_op *acu_op_reduce(acu_reduction kind, acu_op *x, acu_dims dims, acu_site site)
{
    if ((unsigned)kind >= ACU_REDUCTION_COUNT || dims.count < 0 || dims.count > ACU_MAX_RANK) {
        acu_op_release(x);
        return acu_op_fail(ACU_ERR_INVALID, "reduce", site, "there is no reduction %d over %d "
                           "dimensions", (int)kind, dims.count);
    }
    request what = {.kind = kind, .dims = dims};
    acu_custom custom = {
        .name = kinds[kind].name, .fn = plan_reduce, .data = &what, .bytes = sizeof what};
    return acu_op_custom(custom, &x, 1, site);
}
