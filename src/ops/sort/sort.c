/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * sort and argsort: one launch for short rows; for longer ones a chain of launches over a
 * workspace, one for each byte of an element and a few more.
 */
#include "ops/sort/sort.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct request {
    int dimension;
    acu_sort_order order;
    bool places;
} request;

static const char *name_of(const request *r)
{
    return r->places ? "argsort" : "sort";
}

/* ---- launches -------------------------------------------------------------------------------- */

/* Whether rows lie one behind the other in tensor k. */
static bool dense(const acui_lines *rows, int k)
{
    int64_t step = rows->count;
    for (int d = rows->kept.rank - 1; d >= 0; d--) {
        if (rows->kept.dim[d] > 1 && rows->at[k].stride[d] != step)
            return false;
        step *= rows->kept.dim[d];
    }
    return rows->stride[k] == 1;
}

void acui_sorting_init(acui_sorting *s, acu_dtype dtype, acu_sort_order order)
{
    static const uint64_t infinite[] = {[ACU_F16] = 0x7c00,
                                        [ACU_BF16] = 0x7f80,
                                        [ACU_F32] = 0x7f800000,
                                        [ACU_TF32] = 0x7f800000,
                                        [ACU_F64] = 0x7ffull << 52};
    acui_sort *p = &s->params;
    p->dtype = (int)dtype;
    p->bytes = (int)acu_dtype_bytes(dtype);
    s->key = p->bytes == 8 ? 8 : 4;
    const int bits = 8 * p->bytes;
    p->descending = order == ACU_DESCENDING;
    p->all = dtype == ACU_BOOL ? 1 : UINT64_MAX >> (64 - bits);
    p->sign = (uint64_t)1 << (bits - 1);
    p->real = acu_dtype_kind_of(dtype) == ACU_KIND_FLOAT;
    p->infinite = p->real ? infinite[dtype] : 0;
    p->turn = acu_dtype_kind_of(dtype) == ACU_KIND_SIGNED ? p->sign : 0;
    p->turn ^= p->descending ? p->all : 0;
}

/* Places everything in the workspace; returns its size. */
static int64_t lay_out(acui_sorting *s)
{
    acui_sort *p = &s->params;
    const int64_t rows = p->rows.rows, all = rows * p->rows.count;
    int64_t at = 0;
    p->pairs = p->places && s->key == 4;
    const int64_t moved = p->pairs ? 8 : s->key; /* bytes */
    const int64_t tile = p->pairs ? ACUI_SORT_PAIRS_BYTES : ACUI_SORT_TILE_BYTES;
    p->tiles = acui_parts(p->rows.count, tile / moved);
    p->parts = acui_parts(ACUI_SORT_BUSY, rows);
    p->parts = p->parts < p->tiles ? p->parts : p->tiles;
    p->from_x = p->bytes == s->key && dense(&p->rows, 1);
    p->to_out = (p->places || p->bytes == s->key) && dense(&p->rows, 0);
    p->starts = at;
    at += acui_sorting_aligned(rows * p->bytes * ACUI_SORT_DIGITS * 4);
    p->turns = at;
    at += acui_sorting_aligned(8 * 4);
    for (int i = 0; i < 2; i++) {
        p->shown[i] = at;
        at += rows * p->tiles * ACUI_SORT_DIGITS * 4;
        p->cleared = i == 0 ? at : p->cleared;
    }
    for (int i = 0; i < 2; i++) {
        p->key[i] = at;
        at += acui_sorting_aligned(all * moved);
        p->place[i] = at;
        at += p->places && !p->pairs ? acui_sorting_aligned(all * 4) : 0;
    }
    return at;
}

acu_op *acui_sorting_step(const acui_sorting *s, const char *what, int key, int64_t blocks,
                          int threads, acu_op *work, acu_op **x, acu_op **out)
{
    char kernel[24];
    acu_op *parts[4];
    const acu_arg none = acu_u64(0);
    snprintf(kernel, sizeof kernel, key ? "%s_%d" : "%s", what, key);
    const acu_arg args[] = {acu_arg_op(work, ACU_UPDATE), x ? acu_arg_op(*x, ACU_READ) : none,
                            out ? acu_arg_op(*out, ACU_WRITE) : none,
                            acu_arg_struct(&s->params, sizeof s->params)};
    acu_op *op = acui_launch_of(s->p, s->name, "acuda.sort", kernel, blocks, threads, args, 4);
    acu_op_unzip(op, parts, 4, s->p->site);
    for (int i = 1; i < 4; i++)
        if ((i == 1 && x) || (i == 2 && out))
            *(i == 1 ? x : out) = parts[i];
        else
            acu_op_release(parts[i]);
    return parts[0];
}

/* Passes over elements that are in the workspace or, of the first, still in x. */
static acu_op *move(acui_sorting *s, acu_op *work, acu_op **x, acu_op **out)
{
    acui_sort *p = &s->params;
    const char *what = p->pairs ? "sort_pairs" : p->places ? "sort_places" : "sort_move";
    const int key = p->pairs ? 0 : s->key;
    const int64_t tiles = p->rows.rows * p->tiles;
    for (p->pass = 0; p->pass < p->bytes; p->pass++) {
        acu_op **from = p->pass == 0 && p->from_x ? x : NULL;
        acu_op **to = p->pass == p->bytes - 1 && p->to_out ? out : NULL;
        work = acui_sorting_step(s, what, key, tiles, ACUI_SORT_THREADS, work, from, to);
    }
    return work;
}

/* A launch of what needs no more than ACUI_BLOCK threads in each of so many blocks. */
static acu_op *step(const acui_sorting *s, const char *what, int key, int64_t blocks, acu_op *work,
                    acu_op **x, acu_op **out)
{
    return acui_sorting_step(s, what, key, blocks, ACUI_BLOCK, work, x, out);
}

static acu_op *sort_long(acui_sorting *s, acu_op *out)
{
    acui_sort *p = &s->params;
    acu_op *work = acu_op_named(acu_op_empty(ACU_U8, ACU_SHAPE(lay_out(s)), s->p->site), s->name);
    acu_op *x = acu_op_take(&s->p->values[0], s->p->site);
    const int64_t all = acui_blocks(p->rows.rows * p->rows.count, ACUI_BLOCK);
    const int64_t cleared = acui_blocks(p->cleared / 16, ACUI_BLOCK);
    work = step(s, "sort_clear", 0, cleared, work, NULL, NULL);
    if (!p->from_x)
        work = step(s, "sort_load", s->key, all, work, &x, NULL);
    work = step(s, "sort_count", s->key, p->rows.rows * p->parts, work, &x, NULL);
    work = step(s, "sort_starts", 0, acui_blocks(p->rows.rows * p->bytes, 1), work, NULL, NULL);
    work = move(s, work, &x, &out);
    if (!p->to_out)
        work = step(s, "sort_store", s->key, all, work, NULL, &out);
    acu_op_release(x);
    acu_op_release(work);
    return out;
}

static acu_op *sort_short(acui_sorting *s, acu_op *out)
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
    acui_sorting s = {.p = p, .name = name_of(r)};
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
    acui_sorting_init(&s, dtype, r->order);
    s.params.places = r->places;
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
