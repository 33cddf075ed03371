/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* masked_select, nonzero and unique: two launches that count and write; and waiting for the length
 * of such a result. */
#include "ops/ops.h"

#include "base/callback.h"
#include "base/error.h"
#include "ops/select/params.h"

#include <acuda/future.h>
#include <acuda/select.h>
#include <acuda/sort.h>

enum what { MASKED, NONZERO, UNIQUE };
static const char *const names[] = {"masked_select", "nonzero", "unique"};

typedef struct plan {
    acu_planning *p;
    const char *name;
    acui_select params;
    acu_dtype dtype; /* of the first result */
    acu_shape shape;
} plan;

static void cut(acui_select *p)
{
    const int64_t most = 1024; /* chunks: each block looks at the counts of all */
    p->chunk = acui_parts(acui_parts(p->elements, most), ACUI_SELECT_TILE) * ACUI_SELECT_TILE;
    p->chunks = acui_parts(p->elements, p->chunk);
}

/* Nothing is selected from nothing. */
static acu_op *of_none(plan *s, acu_op *decides, acu_op *written)
{
    acu_op *out = acu_op_named(acu_op_empty(s->dtype, s->shape, s->p->site), s->name);
    acu_op *number = acu_op_full(ACU_SHAPE(1), acu_i64(0), s->p->site);
    acu_op_release(decides);
    acu_op_release(written);
    return acu_op_zip((acu_op *const[]){out, acu_op_named(number, s->name)}, 2, s->p->site);
}

static void find_neighbours(acui_select *p)
{
    const bool line = p->index.rank == 1;
    p->linear = (line && p->at[0].stride[0] == 1) | (line && p->at[1].stride[0] == 1) << 1;
}

/* Consumes what decides and, unless it is that too, what is written. */
static acu_op *launch(plan *s, acu_op *decides, acu_op *written)
{
    acu_planning *p = s->p;
    if (s->params.elements == 0)
        return of_none(s, decides, written);
    cut(&s->params);
    acu_op *counts =
        acu_op_named(acu_op_empty(ACU_I64, ACU_SHAPE(s->params.chunks), p->site), s->name);
    const acu_arg count[] = {acu_arg_op(counts, ACU_WRITE), acu_arg_op(decides, ACU_READ),
                             acu_arg_struct(&s->params, sizeof s->params)};
    acu_op *counted =
        acui_launch(p, s->name, "acuda.select", "select_count", s->params.chunks, count, 3);
    acu_op *parts[3];
    acu_op_unzip(counted, parts, 3, p->site);
    acu_op_release(parts[2]);
    if (!written)
        written = acu_op_retain(parts[1]);
    acu_op *out = acu_op_named(acu_op_empty(s->dtype, s->shape, p->site), s->name);
    acu_op *number = acu_op_named(acu_op_empty(ACU_I64, ACU_SHAPE(1), p->site), s->name);
    const acu_arg write[] = {
        acu_arg_op(out, ACU_WRITE),     acu_arg_op(number, ACU_WRITE),
        acu_arg_op(parts[0], ACU_READ), acu_arg_op(parts[1], ACU_READ),
        acu_arg_op(written, ACU_READ),  acu_arg_struct(&s->params, sizeof s->params)};
    acu_op *results[6];
    acu_op_unzip(
        acui_launch(p, s->name, "acuda.select", "select_write", s->params.chunks, write, 6),
        results, 6, p->site);
    for (int i = 2; i < 6; i++)
        acu_op_release(results[i]);
    return acu_op_zip(results, 2, p->site);
}

static acu_op *plan_masked(plan *s)
{
    acu_planning *p = s->p;
    char a[ACUI_OPS_WORDS], b[ACUI_OPS_WORDS];
    acu_op *failed = NULL;
    const acu_tensor *mask = NULL, *x = acui_tensor_operand(p, s->name, 0, &failed);
    if (x)
        mask = acui_tensor_operand(p, s->name, 1, &failed);
    if (!mask)
        return failed;
    if (acu_tensor_dtype(mask) != ACU_BOOL)
        return acu_op_fail(ACU_ERR_DTYPE, s->name, p->site, "the mask is bool, not %s",
                           acui_value_words(&p->values[1], b));
    acu_shape shape = acu_tensor_shape(x);
    if (!acui_broadcast(&shape, acu_tensor_shape(mask)))
        return acu_op_fail(ACU_ERR_SHAPE, s->name, p->site, "%s and the mask %s do not broadcast",
                           acui_value_words(&p->values[0], a), acui_value_words(&p->values[1], b));
    s->dtype = acu_tensor_dtype(x);
    s->params.elements = acu_shape_elements(shape);
    if (s->params.elements < 0)
        return acui_result(p, s->name, s->dtype, shape); /* which says that there are too many */
    s->params.dtype = ACU_BOOL;
    s->params.bytes = (int)acu_dtype_bytes(s->dtype);
    acui_layout(&s->params.index, s->params.at, shape, (const acu_tensor *[]){mask, x}, 2);
    find_neighbours(&s->params);
    s->shape = ACU_SHAPE(s->params.elements);
    return launch(s, acu_op_take(&p->values[1], p->site), acu_op_take(&p->values[0], p->site));
}

static acu_op *plan_nonzero(plan *s, const acu_tensor *x)
{
    acu_shape shape = acu_tensor_shape(x);
    s->params.dtype = (int)acu_tensor_dtype(x);
    s->params.rank = shape.rank;
    acui_index_make(&s->params.shape, shape.rank, shape.dim);
    acui_layout(&s->params.index, s->params.at, shape, (const acu_tensor *[]){x, x}, 2);
    find_neighbours(&s->params);
    s->dtype = ACU_I64;
    s->shape = ACU_SHAPE(s->params.elements, shape.rank);
    return launch(s, acu_op_take(&s->p->values[0], s->p->site), NULL);
}

static acu_op *plan_unique(plan *s, const acu_tensor *x)
{
    acu_planning *p = s->p;
    s->dtype = acu_tensor_dtype(x);
    s->params.what = ACUI_SELECT_HEADS;
    s->params.dtype = (int)s->dtype;
    s->params.bytes = (int)acu_dtype_bytes(s->dtype);
    acui_index_make(&s->params.index, 1, (const int64_t[]){s->params.elements});
    bool dense = acu_tensor_dense(x);
    acu_op *own = acu_op_take(&p->values[0], p->site);
    if (!dense)
        own = acu_op_elementwise(ACU_OP_COPY, &own, 1, p->site);
    acu_op *flat = acu_op_flatten(own, p->site);
    s->shape = ACU_SHAPE(s->params.elements);
    return launch(s, acu_op_sort(flat, 0, ACU_ASCENDING, p->site), NULL);
}

static acu_op *plan_select(acu_planning *p)
{
    enum what what = *(const enum what *)p->data;
    plan s = {.p = p, .name = names[what]};
    if (what == MASKED)
        return plan_masked(&s);
    acu_op *failed = NULL;
    const acu_tensor *x = acui_number_operand(p, s.name, 0, &failed);
    if (!x)
        return failed;
    s.params.elements = acu_tensor_elements(x);
    return what == NONZERO ? plan_nonzero(&s, x) : plan_unique(&s, x);
}

static acu_op *make(enum what what, acu_op *const *operands, size_t count, acu_site site)
{
    acu_custom custom = {
        .name = names[what], .fn = plan_select, .data = &what, .bytes = sizeof what};
    return acu_op_custom(custom, operands, count, site);
}

acu_op *acu_op_masked_select(acu_op *x, acu_op *mask, acu_site site)
{
    return make(MASKED, (acu_op *const[]){x, mask}, 2, site);
}

acu_op *acu_op_nonzero(acu_op *x, acu_site site)
{
    return make(NONZERO, &x, 1, site);
}

acu_op *acu_op_unique(acu_op *x, acu_site site)
{
    return make(UNIQUE, &x, 1, site);
}

/* ---- waiting for the length ------------------------------------------------------------------ */

/* A view of the first `count` along the first dimension. */
static acu_status first_of(acu_tensor *tensor, int64_t count, acu_tensor **view)
{
    acu_shape end = acu_tensor_shape(tensor);
    const int64_t start[ACU_MAX_RANK] = {0};
    end.dim[0] = count;
    return acu_tensor_slice(tensor, start, end.dim, view);
}

static acu_status read_counted(acu_future *future, acu_tensor **tensor, int64_t *count)
{
    acu_tensor *all = acu_future_tensor(future, 0), *number = acu_future_tensor(future, 1);
    int64_t found = 0;
    if (!all || !number || acu_tensor_dtype(number) != ACU_I64 || acu_tensor_elements(number) != 1)
        return acui_fail(ACU_ERR_ARGUMENTS,
                         "acu_counted_wait takes an op that yields a tensor and a "
                         "count, such as acu_nonzero");
    acu_status status = acu_read_sync(number, &found, sizeof found);
    if (status == ACU_OK && tensor)
        status = first_of(all, found, tensor);
    if (status == ACU_OK && count)
        *count = found;
    return status;
}

acu_status acu_counted_wait(acu_device *device, acu_op *op, acu_tensor **tensor, int64_t *count)
{
    acu_future *future = NULL;
    if (!op)
        return acui_fail(ACU_ERR_INVALID, "acu_counted_wait got NULL where an op should be");
    acu_status status = acui_refuse_wait(__func__);
    if (status != ACU_OK) {
        acu_op_release(op);
        return status;
    }
    status = acu_submit(device, op, NULL, &future);
    if (status == ACU_OK)
        status = acu_future_wait(future, ACU_FOREVER);
    if (status == ACU_OK)
        status = read_counted(future, tensor, count);
    acu_future_release(future);
    return status;
}
