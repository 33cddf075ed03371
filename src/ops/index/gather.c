/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gather and index_select: shapes, strides, the size of units, and the launch. */
#include "ops/ops.h"

#include "ops/index/params.h"

#include <acuda/index.h>

#include <stdio.h>

typedef struct request {
    int dimension;
    bool whole; /* index_select */
} request;

typedef struct plan {
    acu_planning *p;
    const char *name;
    const acu_tensor *x, *index;
    int dimension;
    acu_shape shape; /* of the result */
    acui_gather params;
    int64_t unit; /* bytes */
} plan;

static acu_op *refuse(const plan *g, acu_status status, const char *why)
{
    char x[ACUI_OPS_WORDS], index[ACUI_OPS_WORDS];
    return acu_op_fail(status, g->name, g->p->site, "%s of %s by %s: %s", g->name,
                       acui_value_words(&g->p->values[0], x),
                       acui_value_words(&g->p->values[1], index), why);
}

/* ---- what it is of --------------------------------------------------------------------------- */

static acu_op *find_shape(plan *g, bool whole)
{
    acu_shape index = acu_tensor_shape(g->index);
    g->shape = acu_tensor_shape(g->x);
    if (whole) {
        if (index.rank != 1)
            return refuse(g, ACU_ERR_SHAPE, "the index has one dimension");
        g->shape.dim[g->dimension] = index.dim[0];
        return NULL;
    }
    if (index.rank != g->shape.rank)
        return refuse(g, ACU_ERR_SHAPE, "both have equally many dimensions");
    acu_shape others = index;
    g->shape.dim[g->dimension] = others.dim[g->dimension] = 1;
    if (!acui_broadcast(&g->shape, others))
        return refuse(g, ACU_ERR_SHAPE,
                      "the dimensions beside the one of the index do not broadcast");
    g->shape.dim[g->dimension] = index.dim[g->dimension];
    return NULL;
}

static acu_op *check(plan *g, const request *r)
{
    acu_op *failed = NULL;
    g->x = acui_tensor_operand(g->p, g->name, 0, &failed);
    if (g->x)
        g->index = acui_tensor_operand(g->p, g->name, 1, &failed);
    if (failed)
        return failed;
    acu_dtype dtype = acu_tensor_dtype(g->index);
    if (dtype != ACU_I32 && dtype != ACU_I64)
        return refuse(g, ACU_ERR_DTYPE, "an index is i32 or i64");
    g->dimension = acui_dimension(r->dimension, acu_tensor_shape(g->x).rank);
    return g->dimension < 0 ? acui_no_dimension(g->p, g->name, r->dimension)
                            : find_shape(g, r->whole);
}

/* ---- layout ---------------------------------------------------------------------------------- */

static bool divides(int64_t unit, int64_t n)
{
    return n % unit == 0;
}

/* Neighbours move together, up to 16 bytes, if one index serves them all. */
static int64_t unit_of(const plan *g, int rank, const int64_t *dims, int64_t element)
{
    const acui_gather *p = &g->params;
    const acu_tensor *out = g->p->out.tensor;
    int last = rank - 1;
    int64_t unit = 16, bits = p->along | (int64_t)acu_tensor_offset(g->x);
    if (p->at[last] != 0 || p->to[last] != element || p->from[last] != element)
        return element;
    bits |= dims[last] * element | (out ? (int64_t)acu_tensor_offset(out) : 0);
    for (int d = 0; d < last; d++)
        bits |= p->to[d] | p->from[d];
    while (unit > element && !divides(unit, bits))
        unit /= 2;
    return unit;
}

static int64_t stride_of(const acu_tensor *tensor, int d)
{
    return acu_tensor_shape(tensor).dim[d] == 1 ? 0 : acu_tensor_strides(tensor)[d];
}

/* Dimensions are merged where all three go on evenly. */
static void lay_out(plan *g, bool whole)
{
    acui_gather *p = &g->params;
    const acu_tensor *out = g->p->out.tensor;
    int64_t element = (int64_t)acu_dtype_bytes(acu_tensor_dtype(g->x)), dims[ACUI_RANK];
    int64_t dense = acu_shape_elements(g->shape);
    int rank = 0;
    for (int d = 0; d < g->shape.rank; d++) {
        bool along = d == g->dimension;
        int64_t extent = g->shape.dim[d];
        dense /= extent;
        int64_t to = (out ? acu_tensor_strides(out)[d] : dense) * element;
        int64_t from = along ? 0 : stride_of(g->x, d) * element;
        int64_t at = whole ? (along ? acu_tensor_strides(g->index)[0] : 0) : stride_of(g->index, d);
        if (extent == 1)
            continue;
        bool joins = rank > 0 && p->to[rank - 1] == to * extent &&
                     p->from[rank - 1] == from * extent && p->at[rank - 1] == at * extent;
        if (!joins)
            dims[rank++] = 1;
        dims[rank - 1] *= extent;
        p->to[rank - 1] = to;
        p->from[rank - 1] = from;
        p->at[rank - 1] = at;
    }
    if (rank == 0)
        dims[rank++] = 1;
    p->along = acu_tensor_strides(g->x)[g->dimension] * element;
    p->extent = acu_tensor_shape(g->x).dim[g->dimension];
    p->index_bytes = (int)acu_dtype_bytes(acu_tensor_dtype(g->index));
    g->unit = unit_of(g, rank, dims, element);
    dims[rank - 1] /= g->unit / element;
    p->to[rank - 1] *= g->unit / element;
    p->from[rank - 1] *= g->unit / element;
    p->units = acu_shape_elements(g->shape) / (g->unit / element);
    acui_index_make(&p->index, rank, dims);
}

static acu_op *plan_gather(acu_planning *p)
{
    const request *r = p->data;
    plan g = {.p = p, .name = r->whole ? "index_select" : "gather"};
    acu_op *failed = check(&g, r);
    if (failed)
        return failed;
    acu_dtype dtype = acu_tensor_dtype(g.x);
    if (acu_shape_elements(g.shape) <= 0)
        return acui_result(p, g.name, dtype, g.shape); /* which says if there are too many */
    lay_out(&g, r->whole);
    acu_op *out = acui_result_apart(p, g.name, dtype, g.shape);
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    char kernel[16];
    const acu_arg args[] = {acu_arg_op(out, ACU_WRITE),
                            acu_arg_op(acu_op_take(&p->values[0], p->site), ACU_READ),
                            acu_arg_op(acu_op_take(&p->values[1], p->site), ACU_READ),
                            acu_arg_struct(&g.params, sizeof g.params)};
    snprintf(kernel, sizeof kernel, "gather_%d", (int)g.unit);
    return acui_run(p, g.name, "acuda.index", kernel,
                    acui_blocks(g.params.units, ACUI_UNROLL * ACUI_BLOCK), args, 4);
}

static acu_op *make(acu_op *x, acu_op *index, const request *r, acu_site site)
{
    acu_custom custom = {.name = r->whole ? "index_select" : "gather",
                         .fn = plan_gather,
                         .data = r,
                         .bytes = sizeof *r};
    return acu_op_custom(custom, (acu_op *const[]){x, index}, 2, site);
}

acu_op *acu_op_gather(acu_op *x, int dimension, acu_op *index, acu_site site)
{
    return make(x, index, &(request){dimension, false}, site);
}

acu_op *acu_op_index_select(acu_op *x, int dimension, acu_op *index, acu_site site)
{
    return make(x, index, &(request){dimension, true}, site);
}
