/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * scatter and index_put: indices become keys, the keys are sorted, and runs of equal keys are
 * joined in order.
 */
#include "ops/ops.h"

#include "ops/select/params.h"

#include <acuda/index.h>
#include <acuda/sort.h>

typedef struct request {
    acu_scatter_kind kind;
    int dimension;
    bool whole; /* index_put */
} request;

typedef struct plan {
    acu_planning *p;
    const request *r;
    const char *name;
    const acu_tensor *x, *index, *source;
    int dimension;
    acu_shape shape; /* x's */
    acui_scatter params;
} plan;

static const char *name_of(const request *r)
{
    return r->whole ? "index_put" : "scatter";
}

/* ---- what it is of --------------------------------------------------------------------------- */

static acu_op *refuse(const plan *s, acu_status status, const char *why)
{
    char x[ACUI_OPS_WORDS], index[ACUI_OPS_WORDS], source[ACUI_OPS_WORDS];
    return acu_op_fail(status, s->name, s->p->site, "%s into %s by %s of %s: %s", s->name,
                       acui_value_words(&s->p->values[0], x),
                       acui_value_words(&s->p->values[1], index),
                       acui_value_words(&s->p->values[2], source), why);
}

static acu_op *check_operands(plan *s)
{
    acu_op *failed = NULL;
    s->x = acui_tensor_operand(s->p, s->name, 0, &failed);
    if (s->x)
        s->index = acui_tensor_operand(s->p, s->name, 1, &failed);
    if (s->index)
        s->source = acui_tensor_operand(s->p, s->name, 2, &failed);
    if (failed)
        return failed;
    acu_dtype of_index = acu_tensor_dtype(s->index), dtype = acu_tensor_dtype(s->x);
    if (of_index != ACU_I32 && of_index != ACU_I64)
        return refuse(s, ACU_ERR_DTYPE, "an index is i32 or i64");
    if (acu_tensor_dtype(s->source) != dtype)
        return refuse(s, ACU_ERR_DTYPE, "both must have one dtype");
    if (acui_is_complex(dtype) && s->r->kind > ACU_SCATTER_ADD)
        return refuse(s, ACU_ERR_DTYPE, "complex numbers have no order");
    if (s->r->kind != ACU_SCATTER_SET && !acui_class_of(dtype) && !acui_is_complex(dtype))
        return refuse(s, ACU_ERR_DTYPE, "only numbers and bool can be joined");
    s->shape = acu_tensor_shape(s->x);
    s->dimension = acui_dimension(s->r->dimension, s->shape.rank);
    return s->dimension < 0 ? acui_no_dimension(s->p, s->name, s->r->dimension) : NULL;
}

/* Whether `own`, of the same rank, broadcasts to `shape`. */
static bool spreads(acu_shape own, acu_shape shape)
{
    acu_shape both = shape;
    return own.rank == shape.rank && acui_broadcast(&both, own) && acu_shape_equal(both, shape);
}

/* *domain: one place for each element that is put. */
static acu_op *check_shapes(plan *s, acu_shape *domain)
{
    acu_shape index = acu_tensor_shape(s->index);
    *domain = s->shape;
    if (s->r->whole) {
        if (index.rank != 1)
            return refuse(s, ACU_ERR_SHAPE, "the index has one dimension");
        domain->dim[s->dimension] = index.dim[0];
    } else {
        if (index.rank != s->shape.rank)
            return refuse(s, ACU_ERR_SHAPE, "both have equally many dimensions");
        domain->dim[s->dimension] = index.dim[s->dimension];
        if (!spreads(index, *domain))
            return refuse(s, ACU_ERR_SHAPE, "the index does not broadcast to the other dimensions");
    }
    if (!spreads(acu_tensor_shape(s->source), *domain))
        return refuse(s, ACU_ERR_SHAPE, "the source does not broadcast to what the index selects");
    return NULL;
}

/* ---- layout ---------------------------------------------------------------------------------- */

static int64_t stride_of(const acu_tensor *tensor, int d)
{
    return acu_tensor_shape(tensor).dim[d] == 1 ? 0 : acu_tensor_strides(tensor)[d];
}

/* Complex numbers are added up part by part. */
static bool is_by_parts(const plan *s)
{
    return acui_is_complex(acu_tensor_dtype(s->x)) && s->r->kind == ACU_SCATTER_ADD;
}

/* Dimensions go to the indices' places or, if whole rows are put, to the others. */
static void lay_out(plan *s, acu_shape domain)
{
    acui_scatter *p = &s->params;
    const acu_tensor *out = s->p->out.tensor;
    int64_t dims[ACUI_RANK] = {1}, others[ACUI_RANK] = {1}, dense = 1, span = 0;
    int rank = 0, other_rank = 0;
    p->count = p->others = 1;
    for (int d = domain.rank - 1; d >= 0; d--, dense *= s->shape.dim[d + 1])
        p->at[0].stride[d] =
            out ? acu_tensor_strides(out)[d] : dense; /* for a moment, all of them */
    const acui_operand all = p->at[0];
    for (int d = 0; d < domain.rank; d++) {
        bool along = d == s->dimension;
        int64_t to = along ? 0 : all.stride[d], from = stride_of(s->source, d);
        span += (s->shape.dim[d] - 1) * all.stride[d];
        if (s->r->whole && !along) {
            others[other_rank] = domain.dim[d];
            p->other_at[0].stride[other_rank] = to;
            p->other_at[1].stride[other_rank++] = from;
            p->others *= domain.dim[d];
            continue;
        }
        dims[rank] = domain.dim[d];
        p->at[0].stride[rank] = to;
        p->at[1].stride[rank] = from;
        p->at[2].stride[rank++] =
            s->r->whole ? acu_tensor_strides(s->index)[0] : stride_of(s->index, d);
        p->count *= domain.dim[d];
    }
    p->extent = s->shape.dim[s->dimension];
    p->along = all.stride[s->dimension];
    p->key_bytes = span < UINT32_MAX / (is_by_parts(s) ? 2 : 1) ? 4 : 8;
    p->index_bytes = (int)acu_dtype_bytes(acu_tensor_dtype(s->index));
    acui_index_make(&p->index, rank, dims);
    acui_index_make(&p->other, other_rank ? other_rank : 1, others);
}

/* Places count parts, two of them for each index. */
static void take_apart(acui_scatter *p)
{
    int64_t others[ACUI_RANK];
    int rank = p->others == 1 ? 0 : p->other.rank;
    for (int i = 0; i < 2; i++) {
        for (int d = 0; d < p->index.rank; d++)
            p->at[i].stride[d] *= 2;
        for (int d = 0; d < rank; d++)
            p->other_at[i].stride[d] *= 2;
        p->other_at[i].stride[rank] = 1;
    }
    for (int d = 0; d < rank; d++)
        others[d] = p->other.dim[d];
    others[rank] = 2;
    acui_index_make(&p->other, rank + 1, others);
    p->others *= 2;
    p->along *= 2;
    p->dtype = (int)acui_part_of((acu_dtype)p->dtype);
}

/* ---- launches -------------------------------------------------------------------------------- */

/* x as it is to be changed: itself, if the result goes there, or else a copy of it. */
static acu_op *begin(plan *s)
{
    acu_planning *p = s->p;
    const acu_tensor *out = p->out.tensor;
    for (size_t i = 1; out && i < 3; i++)
        if (acu_tensor_buffer(p->values[i].tensor) == acu_tensor_buffer(out) &&
            acui_same_place(p->values[i].tensor, out))
            return refuse(s, ACU_ERR_SHARED, "the result can go over the first operand only");
    bool itself =
        out && acu_tensor_buffer(out) == acu_tensor_buffer(s->x) && acui_same_place(out, s->x);
    acu_op *result = acui_result(p, s->name, acu_tensor_dtype(s->x), s->shape);
    if (itself || acu_op_status(result, NULL) != ACU_OK)
        return result;
    acu_op *copy = acu_op_copy(result, acu_op_take(&p->values[0], p->site), p->site);
    return acu_op_nth(copy, 0, p->site);
}

static acu_op *launch(plan *s, acu_op *out)
{
    acu_planning *p = s->p;
    const acui_scatter *params = &s->params;
    acu_op *keys =
        acu_op_empty(params->key_bytes == 4 ? ACU_U32 : ACU_U64, ACU_SHAPE(params->count), p->site);
    const acu_arg find[] = {acu_arg_op(acu_op_named(keys, s->name), ACU_WRITE),
                            acu_arg_op(acu_op_take(&p->values[1], p->site), ACU_READ),
                            acu_arg_struct(params, sizeof *params)};
    keys = acui_run(p, s->name, "acuda.select", "scatter_keys",
                    acui_blocks(params->count, ACUI_BLOCK), find, 3);
    acu_op *places = acu_op_argsort(acu_op_retain(keys), 0, ACU_ASCENDING, p->site);
    const acu_arg args[] = {acu_arg_op(out, ACU_UPDATE),
                            acu_arg_op(acu_op_take(&p->values[2], p->site), ACU_READ),
                            acu_arg_op(keys, ACU_READ), acu_arg_op(places, ACU_READ),
                            acu_arg_struct(params, sizeof *params)};
    bool real = acu_dtype_kind_of((acu_dtype)params->dtype) == ACU_KIND_FLOAT;
    return acui_run(p, s->name, "acuda.select", real ? "scatter_d" : "scatter_l",
                    acui_blocks(params->count * params->others, ACUI_BLOCK), args, 5);
}

static acu_op *plan_scatter(acu_planning *p)
{
    const request *r = p->data;
    plan s = {.p = p, .r = r, .name = name_of(r)};
    acu_shape domain;
    acu_op *failed = check_operands(&s);
    if (!failed)
        failed = check_shapes(&s, &domain);
    if (failed)
        return failed;
    if (acu_shape_elements(domain) < 0)
        return refuse(&s, ACU_ERR_SHAPE, "there are more elements than 64 bits count");
    acu_dtype dtype = acu_tensor_dtype(s.x);
    s.params = (acui_scatter){
        .kind = (int)r->kind, .dtype = (int)dtype, .bytes = (int)acu_dtype_bytes(dtype)};
    lay_out(&s, domain);
    if (is_by_parts(&s))
        take_apart(&s.params);
    acu_op *out = begin(&s);
    return acu_op_status(out, NULL) == ACU_OK ? launch(&s, out) : out;
}

static acu_op *make(const request *r, acu_op *const *operands, acu_site site)
{
    acu_custom custom = {.name = name_of(r), .fn = plan_scatter, .data = r, .bytes = sizeof *r};
    if ((unsigned)r->kind > ACU_SCATTER_MAX) {
        for (int i = 0; i < 3; i++)
            acu_op_release(operands[i]);
        return acu_op_fail(ACU_ERR_INVALID, name_of(r), site, "%d is no way to join elements",
                           (int)r->kind);
    }
    return acu_op_custom(custom, operands, 3, site);
}

acu_op *acu_op_scatter(acu_scatter_kind kind, acu_op *x, int dimension, acu_op *index,
                       acu_op *source, acu_site site)
{
    return make(&(request){kind, dimension, false}, (acu_op *const[]){x, index, source}, site);
}

acu_op *acu_op_index_put(acu_scatter_kind kind, acu_op *x, int dimension, acu_op *index,
                         acu_op *source, acu_site site)
{
    return make(&(request){kind, dimension, true}, (acu_op *const[]){x, index, source}, site);
}
