/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The first elements of long rows without sorting these: the key of the last of them is found byte
 * by byte, by counting; then all elements before it, and some of that key, are collected in order.
 */
#include "ops/sort/sort.h"

typedef struct request {
    acu_sort_order order;
    int64_t count;
} request;

static int64_t lay_out(acui_sort *p)
{
    enum { STEP = 8 * ACUI_BLOCK };
    const int64_t rows = p->rows.rows;
    const int64_t parts = acui_parts(ACUI_SORT_BUSY, rows);
    const int64_t most = acui_parts(p->rows.count, STEP);
    int64_t at = 0;
    p->part = acui_parts(most, parts < most ? parts : most) * STEP;
    p->parts = acui_parts(p->rows.count, p->part);
    p->starts = at;
    at += rows * ACUI_SORT_DIGITS * 4;
    p->cleared = at;
    p->found = at;
    at += rows * 16;
    p->counted = at;
    return at + acui_sorting_aligned(rows * p->parts * 2 * 4);
}

static acu_op *plan_first(acu_planning *p)
{
    const request *r = p->data;
    const acu_tensor *x = p->values[0].tensor;
    acu_shape shape = acu_tensor_shape(x), to = shape;
    acui_sorting s = {.p = p, .name = "topk"};
    acui_sort *params = &s.params;
    to.dim[shape.rank - 1] = r->count;
    acui_sorting_init(&s, acu_tensor_dtype(x), r->order);
    acui_lines_init(&params->rows, shape, shape.rank - 1, (const acu_tensor *[]){NULL, x}, 2);
    params->first = r->count;
    acu_op *work = acu_op_empty(ACU_U8, ACU_SHAPE(lay_out(params)), p->site);
    acu_op *out = acu_op_named(acu_op_empty(ACU_I64, to, p->site), s.name);
    acu_op *from = acu_op_take(&p->values[0], p->site);
    const int64_t rows = params->rows.rows, blocks = rows * params->parts;
    work = acui_sorting_step(&s, "sort_clear", 0, acui_blocks(params->cleared / 16, ACUI_BLOCK),
                             ACUI_BLOCK, acu_op_named(work, s.name), NULL, NULL);
    for (params->pass = params->bytes - 1; params->pass >= 0; params->pass--) {
        work = acui_sorting_step(&s, "first_count", s.key, blocks, ACUI_BLOCK, work, &from, NULL);
        work = acui_sorting_step(&s, "first_pick", 0, acui_blocks(rows, 1), ACUI_BLOCK, work, NULL,
                                 NULL);
    }
    work = acui_sorting_step(&s, "first_parts", s.key, blocks, ACUI_BLOCK, work, &from, NULL);
    work = acui_sorting_step(&s, "first_take", s.key, blocks, ACUI_BLOCK, work, &from, &out);
    acu_op_release(work);
    acu_op_release(from);
    return out;
}

acu_op *acui_first_places(acu_op *x, int64_t count, acu_sort_order order, acu_site site)
{
    request r = {order, count};
    acu_custom custom = {.name = "topk", .fn = plan_first, .data = &r, .bytes = sizeof r};
    return acu_op_custom(custom, &x, 1, site);
}
