/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Views as operations: each yields another tensor over the storage of the one it gets, in the same
 * form. No data moves, and no node is made.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "op/op.h"

#include <limits.h>
#include <string.h>

struct acui_view {
    acu_status (*make)(acu_tensor *from, const acui_view *view, acu_tensor **to);
    acu_dtype dtype;
    int a, b;                  /* dimensions */
    int64_t index;
    acu_shape shape, end, step; /* of a slice, which begins at `shape` */
    int order[ACU_MAX_RANK], count;
};

/* ---- making ---- */

acu_status acui_view_value(const acu_op *op, acu_val *value)
{
    acu_tensor *view = NULL;
    if (value->kind != ACU_TENSOR)
        return acui_fail(ACU_ERR_INVALID, "%s wants a tensor, and got %s%s", op->class->name,
                         acui_val_words(value),
                         value->kind == ACU_PARTITION ? "; acu_unpartition first" : "");
    ACUI_TRY(op->u.view->make(value->tensor, op->u.view, &view));
    acu_tensor_release(value->tensor); /* the view is now an owned tensor's sole handle */
    value->tensor = view;
    return ACU_OK;
}

static acu_status plan_view(acui_plan *plan, acu_op *op, acu_device *fallback, acui_values *values)
{
    acu_val value;
    ACUI_TRY(acui_plan_input(plan, op, fallback, &value));
    acu_status status = acui_view_value(op, &value);
    if (status == ACU_OK)
        return acui_values_push(values, value);
    acui_val_drop(&value);
    return status;
}

static void destroy_view(acu_op *op)
{
    acui_free(op->u.view);
}

static acu_op *view_op(const acui_op_class *class, acu_op *x, const acui_view *view, acu_site site)
{
    acu_op *op = acui_op_unary(class, x, site);
    if (acui_op_is_oom(op))
        return op;
    op->u.view = ACUI_NEW(acui_view);
    if (!op->u.view)
        return acui_op_abandon(op);
    *op->u.view = *view;
    return op;
}

/* Checks that a list which the program gave has one number for each dimension. */
static acu_status check_count(const acu_tensor *from, const char *what, int count)
{
    char words[96];
    if (count == from->shape.rank)
        return ACU_OK;
    return acui_fail(ACU_ERR_SHAPE, "%s has %d numbers for %s: one for each dimension is needed",
                     what, count, acui_tensor_words(from, words));
}

/* ---- the views ---- */

#define VIEW_CLASS(id, words)                                                                      \
    const acui_op_class acui_class_##id = {                                                        \
        .name = words, .plan = plan_view, .destroy = destroy_view, .passes = 1};

VIEW_CLASS(RESHAPE, "reshape")
VIEW_CLASS(SLICE, "slice")
VIEW_CLASS(SELECT, "select")
VIEW_CLASS(SQUEEZE, "squeeze")
VIEW_CLASS(UNSQUEEZE, "unsqueeze")
VIEW_CLASS(PERMUTE, "permute")
VIEW_CLASS(TRANSPOSE, "transpose")
VIEW_CLASS(BROADCAST, "broadcast_to")
VIEW_CLASS(FLATTEN, "flatten")
VIEW_CLASS(REINTERPRET, "reinterpret")

static acu_status make_reshape(acu_tensor *from, const acui_view *view, acu_tensor **to)
{
    return acu_tensor_reshape(from, view->shape, to);
}

acu_op *acu_op_reshape(acu_op *x, acu_shape shape, acu_site site)
{
    return view_op(&acui_class_RESHAPE, x, &(acui_view){.make = make_reshape, .shape = shape},
                   site);
}

static acu_status make_slice(acu_tensor *from, const acui_view *view, acu_tensor **to)
{
    ACUI_TRY(check_count(from, "the start of a slice", view->shape.rank));
    ACUI_TRY(check_count(from, "the end of a slice", view->end.rank));
    if (view->step.rank == 0)
        return acu_tensor_slice(from, view->shape.dim, view->end.dim, to);
    ACUI_TRY(check_count(from, "the step of a slice", view->step.rank));
    return acu_tensor_slice_step(from, view->shape.dim, view->end.dim, view->step.dim, to);
}

acu_op *acu_op_slice(acu_op *x, acu_shape start, acu_shape end, acu_shape step, acu_site site)
{
    acui_view view = {.make = make_slice, .shape = start, .end = end, .step = step};
    return view_op(&acui_class_SLICE, x, &view, site);
}

static acu_status make_select(acu_tensor *from, const acui_view *view, acu_tensor **to)
{
    return acu_tensor_select(from, view->a, view->index, to);
}

acu_op *acu_op_select(acu_op *x, int dimension, int64_t index, acu_site site)
{
    acui_view view = {.make = make_select, .a = dimension, .index = index};
    return view_op(&acui_class_SELECT, x, &view, site);
}

static acu_status make_squeeze(acu_tensor *from, const acui_view *view, acu_tensor **to)
{
    return acu_tensor_squeeze(from, view->a, to);
}

acu_op *acu_op_squeeze(acu_op *x, int dimension, acu_site site)
{
    return view_op(&acui_class_SQUEEZE, x, &(acui_view){.make = make_squeeze, .a = dimension},
                   site);
}

static acu_status make_unsqueeze(acu_tensor *from, const acui_view *view, acu_tensor **to)
{
    return acu_tensor_unsqueeze(from, view->a, to);
}

acu_op *acu_op_unsqueeze(acu_op *x, int dimension, acu_site site)
{
    acui_view view = {.make = make_unsqueeze, .a = dimension};
    return view_op(&acui_class_UNSQUEEZE, x, &view, site);
}

static acu_status make_permute(acu_tensor *from, const acui_view *view, acu_tensor **to)
{
    ACUI_TRY(check_count(from, "the order", view->count));
    return acu_tensor_permute(from, view->order, to);
}

acu_op *acu_op_permute(acu_op *x, const int *order, size_t count, acu_site site)
{
    acui_view view = {.make = make_permute};
    if (!order && count) {
        acui_fail(ACU_ERR_INVALID, "permute: the order is NULL");
        acu_op_release(x);
        return acui_op_failed(&acui_class_PERMUTE, site);
    }
    view.count = count < INT_MAX ? (int)count : INT_MAX; /* too many: refused when it is made */
    if (count && count <= ACU_MAX_RANK)
        memcpy(view.order, order, count * sizeof *order);
    return view_op(&acui_class_PERMUTE, x, &view, site);
}

static acu_status make_transpose(acu_tensor *from, const acui_view *view, acu_tensor **to)
{
    return acu_tensor_transpose(from, view->a, view->b, to);
}

acu_op *acu_op_transpose(acu_op *x, int a, int b, acu_site site)
{
    acui_view view = {.make = make_transpose, .a = a, .b = b};
    return view_op(&acui_class_TRANSPOSE, x, &view, site);
}

static acu_status make_broadcast(acu_tensor *from, const acui_view *view, acu_tensor **to)
{
    return acu_tensor_broadcast_to(from, view->shape, to);
}

acu_op *acu_op_broadcast_to(acu_op *x, acu_shape shape, acu_site site)
{
    acui_view view = {.make = make_broadcast, .shape = shape};
    return view_op(&acui_class_BROADCAST, x, &view, site);
}

static acu_status make_flatten(acu_tensor *from, const acui_view *view, acu_tensor **to)
{
    (void)view;
    return acu_tensor_flatten(from, to);
}

acu_op *acu_op_flatten(acu_op *x, acu_site site)
{
    return view_op(&acui_class_FLATTEN, x, &(acui_view){.make = make_flatten}, site);
}

static acu_status make_reinterpret(acu_tensor *from, const acui_view *view, acu_tensor **to)
{
    return acu_tensor_reinterpret(from, view->dtype, to);
}

acu_op *acu_op_reinterpret(acu_op *x, acu_dtype dtype, acu_site site)
{
    acui_view view = {.make = make_reinterpret, .dtype = dtype};
    return view_op(&acui_class_REINTERPRET, x, &view, site);
}
