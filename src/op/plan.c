/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Planning: the walk over an op that yields values and a flat list of nodes.
 *
 * Ops that somebody else may be using at the same time are settled through the share lock: one
 * thread plans such an op, the others get its values, but only once what computes them has been
 * entered into the order of things (flushed): else they could be ordered before it. A thread that
 * has to wait for another one flushes its own plan first. Two threads can not wait for each other
 * then: what one of them is in the middle of planning can only wait for what lies below it.
 */
#include "op/plan.h"

#include "base/alloc.h"
#include "base/error.h"
#include "op/after.h"
#include "op/part.h"
#include "op/sharing.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t share_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t share_changed = PTHREAD_COND_INITIALIZER;

acu_device *acui_plan_place(acu_device *place)
{
    acu_device *device = place ? place : acu_device_default();
    if (!device)
        acui_fail(ACU_ERR_INVALID, "no device is open for an op that names none; acu_open one, or "
                                   "pass a device to submit");
    return device;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

/* The plan keeps the device: no node needs to. Kernels of launches do so by themselves. */
static bool hold_device(acui_plan *plan, acu_device *device, acui_node_kind kind)
{
    struct acui_held *held = plan->devices;
    while (held && held->device != device)
        held = held->next;
    if (!held) {
        held = ACUI_ARENA_NEW(&plan->arena, struct acui_held);
        if (!held)
            return false;
        held->device = device;
        held->next = plan->devices;
        plan->devices = held;
    }
    if (!held->retained && kind != ACUI_NODE_LAUNCH) {
        acu_device_retain(device);
        held->retained = true;
    }
    return true;
}

static void append(acui_plan *plan, acui_node *node)
{
    if (plan->last)
        plan->last->next = node;
    else
        plan->first = node;
    plan->last = node;
}

void acui_plan_cut(acui_plan *plan, acui_node *last)
{
    plan->last = last;
    plan->count = last ? last->index + 1 : 0;
    if (last)
        last->next = NULL;
    else
        plan->first = NULL;
}

void acui_plan_put(acui_plan *plan, acui_node *node)
{
    node->index = plan->count++;
    node->next = NULL;
    append(plan, node);
}

/* The op's name, which may be gone before the node. */
static const char *keep_name(acui_plan *plan, const acu_op *op)
{
    if (!op->named)
        return op->class->name;
    char *copy = acui_arena_get(&plan->arena, ACUI_OP_NAME);
    return copy ? memcpy(copy, op->rest->name, ACUI_OP_NAME) : NULL;
}

/* The frame of nodes appended now; NULL: no memory. */
static const acui_frame *frame_of(acui_plan *plan)
{
    static const acui_frame outermost;
    const acui_frame *now = &plan->now, *last = plan->frame ? plan->frame : &outermost;
    if (last->after == now->after && last->sharing == now->sharing &&
        last->context == now->context && last->part == now->part)
        return last;
    acui_frame *frame = ACUI_ARENA_NEW(&plan->arena, acui_frame);
    if (frame)
        *frame = plan->now;
    return plan->frame = frame;
}

/* What a launch touches is looked at only while it is entered; of other
 * nodes, when they are issued. */
static acui_arena *arena_of_touches(acui_plan *plan, acui_node_kind kind)
{
    return kind == ACUI_NODE_LAUNCH ? &plan->drafts : &plan->arena;
}

acui_node *acui_plan_node_with(acui_plan *plan, acui_node_kind kind, const acu_op *op,
                               acu_device *device, size_t touches, size_t bytes, void **memory)
{
    _Static_assert(sizeof(acui_node) % 8 == 0, "what follows it is aligned");
    acui_node *node = acui_arena_get(&plan->arena, sizeof *node + bytes);
    const char *name = node ? keep_name(plan, op) : NULL;
    if (name && touches)
        node->touches = ACUI_ARENA_ARRAY(arena_of_touches(plan, kind), acui_touch, touches);
    if (!name || (touches && !node->touches) || !hold_device(plan, device, kind) ||
        !(node->frame = frame_of(plan))) {
        acui_fail(ACU_ERR_NO_MEMORY, "no memory to plan %s", acui_op_name(op));
        return NULL;
    }
    node->kind = kind;
    node->index = plan->count++;
    node->name = name;
    node->site = op->site;
    node->device = device;
    if (memory)
        *memory = node + 1;
    append(plan, node);
    return node;
}

acui_node *acui_plan_node(acui_plan *plan, acui_node_kind kind, const acu_op *op,
                          acu_device *device, size_t touches)
{
    return acui_plan_node_with(plan, kind, op, device, touches, 0, NULL);
}

/* ---- buffers of the plan ---- */

static uint32_t slot_of(const acui_plan *plan, const acu_buffer *buffer)
{
    uint64_t hash = (uint64_t)(uintptr_t)buffer * UINT64_C(0x9E3779B97F4A7C15);
    uint32_t slot = (uint32_t)(hash >> 32) & (plan->use_room - 1);
    while (plan->use_table[slot] && plan->use_table[slot]->buffer != buffer)
        slot = (slot + 1) & (plan->use_room - 1);
    return slot;
}

static bool grow_uses(acui_plan *plan)
{
    uint32_t room = plan->use_room ? 4 * plan->use_room : 8;
    acui_use **table = ACUI_ARENA_ARRAY(&plan->drafts, acui_use *, room);
    if (!table)
        return false;
    plan->use_table = table;
    plan->use_room = room;
    for (acui_use *use = plan->uses; use; use = use->next)
        table[slot_of(plan, use->buffer)] = use;
    return true;
}

static acui_use *add_use(acui_plan *plan, acu_buffer *buffer)
{
    if (acui_device_check(buffer->device) != ACU_OK) /* it may be another one than the node's */
        return NULL;
    bool room = 2 * plan->use_count < plan->use_room || grow_uses(plan);
    acui_use *use = room ? ACUI_ARENA_NEW(&plan->arena, acui_use) : NULL;
    if (use)
        use->history = ACUI_ARENA_NEW(&plan->drafts, acui_history);
    if (!use || !use->history) {
        acui_fail(ACU_ERR_NO_MEMORY, "no memory to plan");
        return NULL;
    }
    use->buffer = acu_buffer_retain(buffer);
    use->next = plan->uses;
    plan->uses = use;
    plan->use_table[slot_of(plan, buffer)] = use;
    plan->use_count++;
    return use;
}

static inline acui_use *use_of(acui_plan *plan, acu_buffer *buffer)
{
    acui_use *use = plan->use_room ? plan->use_table[slot_of(plan, buffer)] : NULL;
    return use ? use : add_use(plan, buffer);
}

/* The extent is the caller's to set; NULL: it failed (record set). */
static inline acui_touch *touch(acui_plan *plan, acui_node *node, acu_buffer *buffer,
                                acu_access access)
{
    acui_use *use = use_of(plan, buffer);
    if (!use)
        return NULL;
    acui_touch *t = &node->touches[node->touch_count++];
    t->use = use;
    t->access = access;
    return t;
}

acu_status acui_node_touch_bytes(acui_plan *plan, acui_node *node, acu_buffer *buffer,
                                 acui_extent extent, acu_access access)
{
    acui_touch *t = touch(plan, node, buffer, access);
    if (!t)
        return acui_error()->status;
    t->extent = extent;
    return ACU_OK;
}

acu_status acui_node_touch(acui_plan *plan, acui_node *node, const acu_tensor *tensor,
                           acu_access access)
{
    if (access != ACU_READ)
        ACUI_TRY(acui_tensor_check_write(tensor));
    /* Where there are gaps that the extent does not show, a write leaves them as they were. */
    if (access == ACU_WRITE && !tensor->exact)
        access = ACU_UPDATE;
    acui_touch *t = touch(plan, node, tensor->buffer, access);
    if (!t)
        return acui_error()->status;
    t->extent = acui_tensor_extent(tensor);
    return ACU_OK;
}

/* ---- the end of a plan ---- */

/* Of launches in a row that are of one kernel: the last, and how many. */
static acui_node *same_kernel(acui_node *node, uint32_t *count)
{
    const acu_kernel *kernel = node->u.launch.kernel;
    *count = 1;
    while (node->next && node->next->kind == ACUI_NODE_LAUNCH &&
           node->next->u.launch.kernel == kernel) {
        node = node->next;
        ++*count;
    }
    return node;
}

static void clear_node(acui_node *node)
{
    if (node->kind == ACUI_NODE_REPLAY && node->u.replay.graph)
        node->u.replay.release(node->u.replay.graph);
    if (node->kind == ACUI_NODE_UPLOAD)
        acui_free((void *)(uintptr_t)node->u.upload.data);
    if (node->kind == ACUI_NODE_FOREIGN || node->kind == ACUI_NODE_HOST ||
        node->kind == ACUI_NODE_DECIDE) {
        for (size_t i = 0; i < node->u.call.count; i++)
            acui_unlend(&node->u.call.values[i]);
        acui_op_put(node->u.call.op);
    }
}

enum { LEFT = 14 };

struct acui_left {
    struct acui_left *next;
    size_t count;
    acu_tensor *tensors[LEFT];
};

static struct acui_left *grow_left(acui_plan *plan)
{
    struct acui_left *left = ACUI_ARENA_NEW(&plan->drafts, struct acui_left);
    if (!left)
        return NULL;
    left->next = plan->left;
    return plan->left = left;
}

void acui_plan_leave(acui_plan *plan, acui_values *values, size_t base)
{
    while (values->count > base) {
        const acu_val *value = &values->list[values->count - 1];
        if (value->kind == ACU_TENSOR || value->kind == ACU_PARTITION) {
            struct acui_left *left = plan->left;
            if ((!left || left->count == LEFT) && !(left = grow_left(plan))) {
                acui_values_cut(values, base);
                return;
            }
            left->tensors[left->count++] = value->tensor;
        }
        values->count--;
    }
}

void acui_plan_release_left(acui_plan *plan)
{
    for (struct acui_left *left = plan->left; left; left = left->next)
        while (left->count > 0)
            acu_tensor_release(left->tensors[--left->count]);
}

void acui_plan_drop_drafts(acui_plan *plan)
{
    acui_plan_release_left(plan);
    plan->left = NULL;
    while (plan->spent) {
        acu_op *op = plan->spent;
        plan->spent = op->next_dead;
        acui_op_put(op);
    }
    acui_values_clear(&plan->scratch);
    acui_arena_clear(&plan->drafts);
    plan->use_table = NULL;
    plan->use_room = 0;
}

void acui_plan_clear(acui_plan *plan)
{
    for (acui_node *node = plan->first; node; node = node->next) {
        uint32_t count;
        if (node->kind != ACUI_NODE_LAUNCH) {
            clear_node(node);
            continue;
        }
        node = same_kernel(node, &count);
        acui_kernel_release_some(node->u.launch.kernel, count);
    }
    for (acui_use *use = plan->uses; use; use = use->next)
        acu_buffer_release(use->buffer);
    for (struct acui_held *held = plan->devices; held; held = held->next)
        if (held->retained)
            acu_device_release(held->device);
    plan->first = plan->last = NULL;
    plan->uses = NULL;
    plan->devices = NULL;
    plan->frame = NULL;
    plan->count = plan->use_count = 0;
    acui_plan_drop_drafts(plan);
    acui_sharing_clear(plan);
    acui_parts_clear(plan);
    acui_front_clear(plan);
    acui_arena_clear(&plan->arena);
}

/* ---- ops with several users ----------------------------------------------------------------- */

/* Copies of what a settled op yields. What the op owned is shared among its users now. */
static acu_status deliver(const acu_op *op, acui_values *values)
{
    if (op->rest->fault)
        return acui_error_restore(&op->rest->fault->error);
    for (size_t i = 0; i < op->rest->values.count; i++) {
        acu_val value = op->rest->values.list[i];
        acui_object_retain(value.tensor);
        if (value.form == ACU_OWNED)
            value.form = ACU_SHARED;
        ACUI_TRY(acui_values_push(values, value));
    }
    return ACU_OK;
}

/* Wait until the op is this plan's to plan, or settled. Share lock held. */
static acu_status await_settled(acui_plan *plan, acu_op *op)
{
    bool flushed = false;
    while (op->state != ACUI_OP_FRESH && op->rest->planner && op->rest->planner != plan) {
        if (op->state == ACUI_OP_PLANNING && pthread_equal(op->rest->planner->thread, plan->thread))
            break;
        if (flushed) {
            pthread_cond_wait(&share_changed, &share_lock);
            continue;
        }
        flushed = true;
        pthread_mutex_unlock(&share_lock);
        acu_status status = plan->flush(plan);
        pthread_mutex_lock(&share_lock);
        ACUI_TRY(status);
    }
    if (op->state == ACUI_OP_PLANNING)
        return acui_fail(ACU_ERR_INVALID, "the op is used within itself, by a callback of its own");
    return ACU_OK;
}

static acu_status plan_fresh(acui_plan *plan, acu_op *op, acu_device *place, acui_values *values)
{
    if (++plan->depth > ACUI_MAX_DEPTH) {
        plan->depth--;
        return acui_fail(ACU_ERR_LIMIT, "ops are composed more than %d deep", ACUI_MAX_DEPTH);
    }
    acu_status status = op->class->plan(plan, op, place, values);
    plan->depth--;
    for (size_t i = 0; i < op->input_count; i++) { /* left over after a failure */
        if (op->inputs[i])
            acui_op_put(op->inputs[i]);
        op->inputs[i] = NULL;
    }
    return status == ACU_OK ? ACU_OK : acui_op_sign(op, status);
}

/* Keep what the op yields, or how it failed, for its other users. Share lock held. */
static void keep_result(acui_plan *plan, acu_op *op, acu_status status, acui_values *values)
{
    op->state = ACUI_OP_DONE;
    if (status == ACU_OK) {
        op->rest->values = *values;
        *values = (acui_values){0};
        op->rest->next_unsettled = plan->unsettled;
        plan->unsettled = acui_object_retain(op);
        return;
    }
    op->rest->planner = NULL;
    op->rest->fault = acui_fault_new(acui_error());
    pthread_cond_broadcast(&share_changed);
}

/* Others may use it: what becomes of the parts around it does not matter to them. */
static acu_status plan_shared(acui_plan *plan, acu_op *op, acu_device *place, acui_values *values)
{
    ACUI_TRY(acui_sharing_begin(plan, op));
    acui_part *part = NULL;
    acu_status status = ACU_OK;
    if (plan->now.part && !(part = acui_part_begin(plan, ACUI_PART_SHARED)))
        status = ACU_ERR_NO_MEMORY;
    if (status == ACU_OK)
        status = plan_fresh(plan, op, place, values);
    if (part)
        acui_part_end(plan, part);
    if (part && status != ACU_OK)
        acui_part_refuse(part);
    acui_sharing_end(plan, op);
    return status;
}

/* Share lock held. */
static void begin_shared(acui_plan *plan, acu_op *op)
{
    acui_op_rest *rest = op->rest;
    op->state = ACUI_OP_PLANNING;
    rest->planner = plan;
    rest->next_unsettled = NULL;
    rest->values = (acui_values){0};
    rest->sharing = NULL;
    rest->fault = NULL;
}

static acu_status plan_used_twice(acui_plan *plan, acu_op *op, acu_device *place,
                                  acui_values *values)
{
    acui_values own = {0};
    pthread_mutex_lock(&share_lock);
    acu_status status = await_settled(plan, op);
    if (status == ACU_OK && op->state != ACUI_OP_DONE) {
        begin_shared(plan, op);
        pthread_mutex_unlock(&share_lock);
        status = plan_shared(plan, op, place, &own);
        pthread_mutex_lock(&share_lock);
        keep_result(plan, op, status, &own);
    }
    if (status == ACU_OK)
        status = acui_sharing_borrow(plan, op);
    if (status == ACU_OK)
        status = acui_front_meet(plan, op->rest->sharing);
    if (status == ACU_OK)
        status = deliver(op, values);
    pthread_mutex_unlock(&share_lock);
    acui_values_clear(&own);
    return status;
}

void acui_plan_settle(acui_plan *plan, acui_fault *fault)
{
    if (!plan->unsettled)
        return;
    pthread_mutex_lock(&share_lock);
    acu_op *list = plan->unsettled;
    plan->unsettled = NULL;
    for (acu_op *op = list; op; op = op->rest->next_unsettled) {
        op->rest->planner = NULL;
        op->rest->fault = acui_fault_retain(fault);
    }
    pthread_cond_broadcast(&share_changed);
    pthread_mutex_unlock(&share_lock);
    while (list) {
        acu_op *op = list;
        list = op->rest->next_unsettled;
        acui_op_put(op);
    }
}

/* A launch that is planned holds nothing any more: the device gets its work before the op goes. */
static bool is_spent(const acu_op *op)
{
    return op->class == &acui_class_LAUNCH && op->u.call.arg_count == 0 && !op->u.call.kernel &&
           op->input_count == 0 && acui_object_refs(op) == 1;
}

acu_status acui_plan_op(acui_plan *plan, acu_op *op, acu_device *place, acui_values *values)
{
    acu_status status;
    if (acui_op_is_oom(op))
        status = acui_error_restore(&op->u.fault->error);
    else if (acui_op_is_sole(op))
        status = plan_fresh(plan, op, place, values);
    else
        status = plan_used_twice(plan, op, place, values);
    if (is_spent(op)) {
        op->next_dead = plan->spent;
        plan->spent = op;
    } else {
        acui_op_put(op);
    }
    return status;
}

acu_status acui_plan_looked_at(acui_plan *plan, acu_op *op, acu_device *place,
                               acui_values *values)
{
    bool unwanted = values->unwanted;
    values->unwanted = false;
    acu_status status = acui_plan_op(plan, op, place, values);
    values->unwanted = unwanted;
    return status;
}

/* The values of an op whose parts are used one by one stay in the op: see PART. */
acu_status acui_plan_kept(acui_plan *plan, acu_op *op, acu_device *place)
{
    acui_values unused = {0};
    acui_object_retain(op);
    acu_status status = acui_plan_op(plan, op, place, &unused);
    acui_values_clear(&unused);
    return status;
}

acu_status acui_plan_one(acui_plan *plan, acu_op *op, acu_device *place, const char *what,
                         acu_val *value)
{
    acui_values *stack = &plan->scratch;
    size_t base = stack->count;
    const char *name = op->class->name; /* static, unlike the op */
    acu_status status = acui_plan_op(plan, op, place, stack);
    size_t count = stack->count - base;
    if (status == ACU_OK && count != 1)
        status = acui_fail(ACU_ERR_ARGUMENTS,
                           "%s must be one value, but its op (%s) yields %zu; pick one with "
                           "acu_first, acu_last or acu_nth",
                           what, name, count);
    if (status == ACU_OK) {
        *value = stack->list[base];
        stack->list[base] = (acu_val){.kind = ACU_NONE};
    }
    acui_values_cut(stack, base);
    return status;
}

acu_status acui_plan_input(acui_plan *plan, acu_op *op, acu_device *place, acu_val *value)
{
    acu_op *x = op->inputs[0];
    op->inputs[0] = NULL;
    return acui_plan_one(plan, x, place, "the operand", value);
}

/* ---- tensors lent to callbacks of ops in flight ---------------------------------------------- */

acu_status acui_lend(const acu_val *value, acu_val *lent)
{
    *lent = *value;
    if (!value->tensor)
        return ACU_OK;
    lent->tensor = NULL;
    /* Counted as a tensor, so that its release balances; and as lent, so that it does not count. */
    atomic_fetch_add_explicit(&value->tensor->buffer->lent, 1, memory_order_relaxed);
    acu_status status = acui_tensor_again(value->tensor, &lent->tensor);
    if (status != ACU_OK)
        atomic_fetch_sub_explicit(&value->tensor->buffer->lent, 1, memory_order_relaxed);
    return status;
}

void acui_unlend(acu_val *lent)
{
    if (!lent->tensor)
        return;
    atomic_fetch_sub_explicit(&lent->tensor->buffer->lent, 1, memory_order_relaxed);
    acui_val_drop(lent);
}
