/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * sort and argsort: one launch for short rows; for longer ones a chain of launches over a
 * workspace, four for each byte of an element.
 */
#include "ops/ops.h"

#include "ops/sort/params.h"

#include <acuda/sort.h>

#include <inttypes.h>
#include <stdio.h>

typedef struct request {
    int dimension;
    acu_sort_order order;
    bool places;
} request;

typedef struct plan {
    acu_planning *p;
    const char *name;
    acui_sort params;
    int key; /* bytes */
} plan;

static const char *name_of(const request *r)
{
    return r->places ? "argsort" : "sort";
}

/* ---- launches -------------------------------------------------------------------------------- */

/* A launch on the workspace alone. Consumes it, and yields it. */
static acu_op *step(const plan *s, acu_op *work, const char *what, int key, int64_t blocks)
{
    char kernel[24];
    snprintf(kernel, sizeof kernel, key ? "sort_%s_%d" : "sort_%s", what, key);
    const acu_arg args[] = {acu_arg_op(work, ACU_UPDATE),
                            acu_arg_struct(&s->params, sizeof s->params)};
    return acui_run(s->p, s->name, "acuda.sort", kernel, blocks, args, 2);
}

static int64_t aligned(int64_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

/* Places everything in the workspace; returns its size. */
static int64_t lay_out(plan *s)
{
    acui_sort *p = &s->params;
    int64_t all = p->rows.rows * p->rows.count, at = 0;
    p->tiles = acui_parts(p->rows.count, ACUI_SORT_TILE);
    p->counters = p->rows.rows * p->tiles * ACUI_SORT_DIGITS;
    for (int i = 0; i < 2; i++) {
        p->key[i] = at;
        at += aligned(all * s->key);
        p->place[i] = at;
        at += aligned(all * 4);
    }
    p->counts = at;
    at += aligned(p->counters * 4);
    p->sums = at;
    return at + aligned(acui_parts(p->counters, ACUI_SORT_TILE) * 4);
}

static acu_op *sort_long(plan *s, acu_op *out)
{
    acui_sort *p = &s->params;
    acu_planning *of = s->p;
    char kernel[24];
    acu_op *work = acu_op_empty(ACU_U8, ACU_SHAPE(lay_out(s)), of->site);
    int64_t all = p->rows.rows * p->rows.count, tiles = p->rows.rows * p->tiles;
    int64_t chunks = acui_parts(p->counters, ACUI_SORT_TILE);
    snprintf(kernel, sizeof kernel, "sort_load_%d", s->key);
    const acu_arg load[] = {acu_arg_op(acu_op_named(work, s->name), ACU_WRITE),
                            acu_arg_op(acu_op_take(&of->values[0], of->site), ACU_READ),
                            acu_arg_struct(p, sizeof *p)};
    acu_op *loaded =
        acui_launch(of, s->name, "acuda.sort", kernel, acui_blocks(all, ACUI_BLOCK), load, 3);
    acu_op *parts[3]; /* the workspace stays one that can be written */
    acu_op_unzip(loaded, parts, 3, of->site);
    acu_op_release(parts[2]);
    work = parts[0];
    for (p->pass = 0; p->pass < p->bytes; p->pass++) {
        work = step(s, work, "count", s->key, tiles);
        work = step(s, work, "sums", 0, chunks);
        work = step(s, work, "bases", 0, chunks);
        work = step(s, work, "move", s->key, tiles);
    }
    const acu_arg store[] = {acu_arg_op(out, ACU_WRITE), acu_arg_op(parts[1], ACU_READ),
                             acu_arg_op(work, ACU_READ), acu_arg_struct(p, sizeof *p)};
    return acui_run(of, s->name, "acuda.sort", "sort_store", acui_blocks(all, ACUI_BLOCK), store,
                    4);
}

static acu_op *sort_short(plan *s, acu_op *out)
{
    acui_sort *p = &s->params;
    char kernel[24];
    int64_t length = 1;
    while (length < p->rows.count)
        length *= 2;
    const acu_arg args[] = {acu_arg_op(out, ACU_WRITE),
                            acu_arg_op(acu_op_take(&s->p->values[0], s->p->site), ACU_READ),
                            acu_arg_struct(p, sizeof *p)};
    snprintf(kernel, sizeof kernel, "sort_short_%d", s->key);
    return acui_run(s->p, s->name, "acuda.sort", kernel,
                    acui_blocks(p->rows.rows, ACUI_SORT_SHORT / length), args, 3);
}

/* ---- planning -------------------------------------------------------------------------------- */

static acu_op *plan_sort(acu_planning *p)
{
    const request *r = p->data;
    char words[ACUI_OPS_WORDS];
    acu_op *failed = NULL;
    plan s = {.p = p, .name = name_of(r)};
    const acu_tensor *x = acui_number_operand(p, s.name, 0, &failed);
    if (!x)
        return failed;
    acu_dtype dtype = acu_tensor_dtype(x);
    acu_shape shape = acu_tensor_shape(x);
    int dimension = acui_dimension(r->dimension, shape.rank);
    if (dimension < 0)
        return acui_no_dimension(p, s.name, r->dimension);
    if (acu_shape_elements(shape) > INT32_MAX)
        return acu_op_fail(ACU_ERR_LIMIT, s.name, p->site,
                           "%s of %s: at most 2^31 - 1 elements can "
                           "be sorted",
                           s.name, acui_value_words(&p->values[0], words));
    s.params = (acui_sort){.dtype = (int)dtype,
                           .bytes = (int)acu_dtype_bytes(dtype),
                           .descending = r->order == ACU_DESCENDING,
                           .places = r->places};
    s.key = s.params.bytes == 8 ? 8 : 4;
    acui_lines_init(&s.params.rows, shape, dimension, (const acu_tensor *[]){p->out.tensor, x}, 2);
    acu_op *out = acui_result_apart(p, s.name, r->places ? ACU_I64 : dtype, shape);
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    if (acu_shape_elements(shape) == 0)
        return out;
    return s.params.rows.count <= ACUI_SORT_SHORT ? sort_short(&s, out) : sort_long(&s, out);
}

static acu_op *make(acu_op *x, const request *r, acu_site site)
{
    acu_custom custom = {.name = name_of(r), .fn = plan_sort, .data = r, .bytes = sizeof *r};
    if (r->order != ACU_ASCENDING && r->order != ACU_DESCENDING) {
        acu_op_release(x);
        return acu_op_fail(ACU_ERR_INVALID, name_of(r), site,
                           "%d is no order: ACU_ASCENDING and "
                           "ACU_DESCENDING are",
                           (int)r->order);
    }
    return acu_op_custom(custom, &x, 1, site);
}

acu_op *acu_op_sort(acu_op *x, int dimension, acu_sort_order order, acu_site site)
{
    return make(x, &(request){dimension, order, false}, site);
}

acu_op *acu_op_argsort(acu_op *x, int dimension, acu_sort_order order, acu_site site)
{
    return make(x, &(request){dimension, order, true}, site);
}
