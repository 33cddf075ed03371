/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What an op would yield, found without submitting it: the walk over the op, and the stand-ins for
 * its tensors. Nothing is enqueued, and the op stays as it is. What each kind of op makes of its
 * inputs is in infer.c.
 */
#include "op/describe.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/map.h"
#include "base/stack.h"

#include <stdio.h>

/* A buffer without memory that stands in for a real one. It counts as many tensors as the real one
 * has, so that checks of sole ownership come out the same. */
typedef struct stand_in {
    struct stand_in *next;
    acu_buffer *buffer;
} stand_in;

/* An op with several users, and what it yields. It is held: one that a custom op made is gone
 * otherwise before the walk ends, and another may be where it was. */
typedef struct visited {
    struct visited *next;
    acu_op *op;
    acui_values values;
} visited;

struct acui_infer {
    stand_in *stand_ins;
    visited *visited;
    acui_map stand_ins_of, visited_of; /* by real buffer (some op holds it); by op */
    unsigned depth;
    bool unknown; /* something was found that only a submission can tell */
    acu_pool *pool, *pinned_pool; /* where new memory comes from; NULL: the device's own pool */
};

/* ---- stand-ins ------------------------------------------------------------------------------- */

static acu_status stand_in_for(acui_infer *infer, const acu_buffer *real, acu_buffer **buffer)
{
    stand_in *s = acui_map_find(&infer->stand_ins_of, real);
    if (!s) {
        s = ACUI_NEW(stand_in);
        if (!s || !acui_map_put(&infer->stand_ins_of, real, s)) {
            acui_free(s);
            return acui_fail(ACU_ERR_NO_MEMORY, "no memory to describe an op");
        }
        s->next = infer->stand_ins;
        infer->stand_ins = s;
        ACUI_TRY(acui_buffer_planned(real->device, real->bytes, &s->buffer));
        s->buffer->kind = real->kind;
        s->buffer->host = real->host;
        s->buffer->read_only = real->read_only;
        atomic_store_explicit(&s->buffer->address, acui_buffer_base(real), memory_order_relaxed);
        uint32_t tensors = atomic_load_explicit(&real->tensors, memory_order_acquire) -
                           atomic_load_explicit(&real->lent, memory_order_acquire);
        atomic_store_explicit(&s->buffer->tensors, tensors, memory_order_relaxed);
    }
    *buffer = s->buffer;
    return s->buffer ? ACU_OK : acui_fail(ACU_ERR_NO_MEMORY, "no memory to describe an op");
}

acu_status acui_infer_tensor(acui_infer *infer, acu_val *value)
{
    const acu_tensor *t = value->tensor;
    acu_buffer *buffer;
    if (!t)
        return ACU_OK;
    ACUI_TRY(acui_device_check(t->buffer->device));
    ACUI_TRY(stand_in_for(infer, t->buffer, &buffer));
    ACUI_TRY(acui_tensor_new(buffer, t->offset, t->dtype, t->shape, t->strides, &value->tensor));
    /* The stand-in's tensor replaces the one that was counted with the real buffer; if that one has
     * other handles, they count as one more. */
    if (acui_object_refs(t) == 1)
        atomic_fetch_sub_explicit(&buffer->tensors, 1, memory_order_relaxed);
    return ACU_OK;
}

bool acui_infer_is_unknown(const acui_infer *infer)
{
    return infer->unknown;
}

acu_pool **acui_infer_pool(acui_infer *infer, acu_memory_kind kind)
{
    return kind == ACU_MEMORY_DEVICE ? &infer->pool : &infer->pinned_pool;
}

acu_status acui_infer_stand_in(acui_infer *infer, const acu_val *value, acui_values *values)
{
    acu_val made = *value;
    ACUI_TRY(acui_infer_tensor(infer, &made));
    return acui_values_push(values, made);
}

/* ---- the walk -------------------------------------------------------------------------------- */

typedef struct deeper {
    acui_infer *infer;
    acu_op *op;
    acu_device *fallback;
    acui_values *values;
    acui_infer_fn fn;
    acu_status status;
} deeper;

static void infer_deeper(void *context)
{
    deeper *d = context;
    d->status = d->fn(d->infer, d->op, d->fallback, d->values);
}

static acu_status infer_fresh(acui_infer *infer, acu_op *op, acu_device *fallback,
                              acui_values *values)
{
    acui_infer_fn fn = acui_infer_of(op->class);
    acu_status status;
    acui_share_lock();
    bool fresh = op->state == ACUI_OP_FRESH; /* and stays so until acui_look_end */
    acui_share_unlock();
    infer->unknown |= !fresh || !fn;
    if (!fresh)
        status = acui_fail(ACU_ERR_INVALID, "%s was submitted before", acui_op_name(op));
    else if (!fn)
        status = acui_fail(ACU_ERR_NOT_SUPPORTED, "what %s yields is known once it is submitted",
                           acui_op_name(op));
    else {
        deeper d = {.infer = infer, .op = op, .fallback = fallback, .values = values, .fn = fn};
        if (++infer->depth % 4 != 0 || !acui_stack_is_short())
            infer_deeper(&d);
        else if (!acui_stack_more(infer_deeper, &d))
            d.status = acui_fail(ACU_ERR_LIMIT, ACUI_NO_STACK);
        infer->depth--;
        status = d.status;
    }
    return acui_op_sign(op, status);
}

/* What an op with several users yields, found once for all of them. */
static acu_status visit(acui_infer *infer, acu_op *op, acu_device *fallback, visited **found)
{
    visited *v = acui_map_find(&infer->visited_of, op);
    if (!v) {
        v = ACUI_NEW(visited);
        if (!v)
            return acui_fail(ACU_ERR_NO_MEMORY, "no memory to describe an op");
        v->next = infer->visited;
        v->op = acui_op_is_oom(op) ? NULL : acui_object_retain(op);
        infer->visited = v;
        ACUI_TRY(infer_fresh(infer, op, fallback, &v->values));
        if (!acui_map_put(&infer->visited_of, op, v))
            return acui_fail(ACU_ERR_NO_MEMORY, "no memory to describe an op");
    }
    *found = v;
    return ACU_OK;
}

/* Pushes a copy of the value; what the op owned, its users share. */
static acu_status push_shared(const acu_val *from, acui_values *values)
{
    acu_val value = *from;
    acui_object_retain(value.tensor);
    if (value.form == ACU_OWNED)
        value.form = ACU_SHARED;
    return acui_values_push(values, value);
}

acu_status acui_infer_part(acui_infer *infer, const acu_op *part, acu_device *fallback,
                           acui_values *values)
{
    acu_op *whole = part->inputs[0];
    visited *v = NULL;
    ACUI_TRY(visit(infer, whole, fallback, &v));
    if (v->values.count != part->part_count)
        return acui_fail(ACU_ERR_ARGUMENTS,
                         "unzip into %zu parts, but the op (%s) yields %zu values",
                         part->part_count, acui_op_name(whole), v->values.count);
    acu_val *kept = &v->values.list[part->u.index];
    if (whole->used_whole || atomic_load_explicit(&whole->handles, memory_order_relaxed))
        return push_shared(kept, values);
    acu_val value = *kept; /* only parts hold the op */
    *kept = (acu_val){.kind = ACU_NONE};
    return acui_values_push(values, value);
}

acu_status acui_infer_op(acui_infer *infer, acu_op *op, acu_device *fallback, acui_values *values)
{
    if (acui_op_is_oom(op))
        return acui_error_restore(&op->u.fault->error);
    if (acui_object_refs(op) == 1)
        return infer_fresh(infer, op, fallback, values);
    visited *v = NULL;
    ACUI_TRY(visit(infer, op, fallback, &v));
    for (size_t i = 0; i < v->values.count; i++)
        ACUI_TRY(push_shared(&v->values.list[i], values));
    return ACU_OK;
}

acu_status acui_infer_one(acui_infer *infer, acu_op *op, acu_device *fallback, const char *what,
                          acu_val *value)
{
    acui_values list = {0};
    acu_status status = acui_infer_op(infer, op, fallback, &list);
    if (status == ACU_OK && list.count != 1)
        status = acui_fail(ACU_ERR_ARGUMENTS,
                           "%s must be one value, but its op (%s) yields %zu; pick one with "
                           "acu_first, acu_last or acu_nth",
                           what, op->class->name, list.count);
    if (status == ACU_OK) {
        *value = list.list[0];
        list.list[0] = (acu_val){.kind = ACU_NONE};
    }
    acui_values_clear(&list);
    return status;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static void end(acui_infer *infer)
{
    while (infer->visited) {
        visited *v = infer->visited;
        infer->visited = v->next;
        acui_values_clear(&v->values);
        acui_op_put(v->op);
        acui_free(v);
    }
    while (infer->stand_ins) {
        stand_in *s = infer->stand_ins;
        infer->stand_ins = s->next;
        acu_buffer_release(s->buffer);
        acui_free(s);
    }
    acui_map_clear(&infer->stand_ins_of);
    acui_map_clear(&infer->visited_of);
}

static acu_value_info info_of(const acu_val *value)
{
    acu_value_info info = {.kind = value->kind, .form = value->form};
    const acu_tensor *t = value->tensor;
    if (value->kind == ACU_SCALAR)
        info.dtype = value->dtype;
    if (!t)
        return info;
    info.dtype = t->dtype;
    info.shape = t->shape;
    for (int d = 0; d < t->shape.rank; d++)
        info.strides[d] = t->strides[d];
    if (value->kind == ACU_PARTITION) {
        info.tile = value->tile;
        info.mode = value->mode;
    }
    info.memory = t->buffer->kind;
    info.ordinal = t->buffer->device->info.ordinal;
    return info;
}

acu_status acu_op_describe(acu_device *device, acu_op *op, acu_value_info *infos, size_t room,
                           size_t *count)
{
    if (device)
        ACUI_CHECK(device, DEVICE);
    ACUI_CHECK(op, OP);
    if (!count || (room && !infos))
        return acui_fail(ACU_ERR_INVALID, "acu_op_describe: %s is NULL",
                         count ? "the place for the values" : "the place for their number");
    acui_infer infer = {.depth = 0};
    acui_values values = {0};
    acu_error record = *acui_error(); /* kept: a failed part that has an alternative overwrites the
                                       * record though the call succeeds, */
    acui_look_begin();
    acu_status status = acui_infer_op(&infer, op, device, &values);
    acui_look_end();
    if (status != ACU_OK)
        record = *acui_error(); /* ... and releasing values may, too */
    for (size_t i = 0; i < values.count && i < room && status == ACU_OK; i++)
        infos[i] = info_of(&values.list[i]);
    if (status == ACU_OK)
        *count = values.count;
    acui_values_clear(&values);
    end(&infer);
    acui_error_restore(&record);
    return status;
}
