/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Plans: a flat list of nodes, the buffers that they touch, and what is released with them at the
 * end. What is needed only until all nodes are entered is in a second arena, `transient`, which is
 * cleared then.
 */
#include "op/plan.h"

#include "base/alloc.h"
#include "base/error.h"
#include "op/after.h"
#include "op/arg.h"
#include "op/child.h"

#include <stdio.h>
#include <string.h>

/* ---- nodes ---------------------------------------------------------------------------------- */

/* The plan holds the device, so that no node needs to. Launches hold it through their kernels. */
static bool hold_device(acui_plan *plan, acu_device *device, acui_node_kind kind)
{
    struct acui_held *held = plan->devices;
    if (kind == ACUI_NODE_LAUNCH)
        return true;
    while (held && held->device != device)
        held = held->next;
    if (held)
        return true;
    held = ACUI_ARENA_NEW(&plan->arena, struct acui_held);
    if (!held)
        return false;
    held->device = acu_device_retain(device);
    held->next = plan->devices;
    plan->devices = held;
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

/* The op's name, kept for the node: the op may be gone before it. */
static const char *keep_name(acui_plan *plan, const acu_op *op)
{
    if (!op->named)
        return op->class->name;
    char *copy = acui_arena_get(&plan->arena, ACUI_OP_NAME);
    return copy ? memcpy(copy, op->rest->name, ACUI_OP_NAME) : NULL;
}

/* The frame of nodes that are appended now; NULL: no memory. */
static const acui_frame *frame_of(acui_plan *plan)
{
    static const acui_frame outermost;
    const acui_frame *now = &plan->now, *last = plan->frame ? plan->frame : &outermost;
    if (last->after == now->after && last->context == now->context &&
        last->child == now->child)
        return last;
    acui_frame *frame = ACUI_ARENA_NEW(&plan->arena, acui_frame);
    if (frame)
        *frame = plan->now;
    return plan->frame = frame;
}

/* What holds something that clear_node releases. */
static bool holds_something(acui_node_kind kind)
{
    const unsigned kinds = 1u << ACUI_NODE_REPLAY | 1u << ACUI_NODE_UPLOAD |
                           1u << ACUI_NODE_FOREIGN | 1u << ACUI_NODE_HOST |
                           1u << ACUI_NODE_DECIDE;
    return kinds >> kind & 1;
}

/* The accesses of a launch are needed only until it is entered; those of other nodes also when they
 * are issued. */
static acui_arena *arena_of_accesses(acui_plan *plan, acui_node_kind kind)
{
    return kind == ACUI_NODE_LAUNCH ? &plan->transient : &plan->arena;
}

acui_node *acui_plan_node_with(acui_plan *plan, acui_node_kind kind, const acu_op *op,
                               acu_device *device, size_t accesses, size_t bytes, void **memory)
{
    _Static_assert(sizeof(acui_node) % 8 == 0, "what follows it is aligned");
    acui_node *node = acui_arena_get(&plan->arena, sizeof *node + bytes);
    const char *name = node ? keep_name(plan, op) : NULL;
    if (name && accesses)
        node->accesses =
            ACUI_ARENA_ARRAY(arena_of_accesses(plan, kind), acui_node_access, accesses);
    if (!name || (accesses && !node->accesses) || !hold_device(plan, device, kind) ||
        !(node->frame = frame_of(plan))) {
        acui_fail(ACU_ERR_NO_MEMORY, "no memory to plan %s", acui_op_name(op));
        return NULL;
    }
    node->kind = kind;
    plan->holds |= holds_something(kind);
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
                          acu_device *device, size_t accesses)
{
    return acui_plan_node_with(plan, kind, op, device, accesses, 0, NULL);
}

/* ---- kernels of the plan ---- */

bool acui_plan_hold_kernel(acui_plan *plan, acu_kernel *kernel)
{
    acui_held_kernel *held = &plan->kernels;
    if (held->kernel && held->kernel != kernel) {
        acui_held_kernel *earlier = ACUI_ARENA_NEW(&plan->arena, acui_held_kernel);
        if (!earlier) {
            acui_fail(ACU_ERR_NO_MEMORY, "no memory to plan");
            return false;
        }
        *earlier = *held;
        *held = (acui_held_kernel){.next = earlier};
    }
    held->kernel = kernel;
    held->count++;
    return true;
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
    acui_use **table = ACUI_ARENA_ARRAY(&plan->transient, acui_use *, room);
    if (!table) {
        acui_fail(ACU_ERR_NO_MEMORY, "no memory to plan");
        return false;
    }
    plan->use_table = table;
    plan->use_room = room;
    for (acui_use *use = plan->uses; use; use = use->next)
        table[slot_of(plan, use->buffer)] = use;
    return true;
}

/* `slot`: the buffer's place in the table as long as that does not grow. */
static acui_use *add_use(acui_plan *plan, const acui_node *node, acu_buffer *buffer, uint32_t slot)
{
    /* The buffer's device may be another than the node's. It must not be lost, except that an AWAIT
     * may wait for what was lost with it. */
    if (node->kind != ACUI_NODE_AWAIT && acui_device_check(buffer->device) != ACU_OK)
        return NULL;
    if (2 * plan->use_count >= plan->use_room) {
        if (!grow_uses(plan))
            return NULL;
        slot = slot_of(plan, buffer);
    }
    acui_use *use = ACUI_ARENA_NEW(&plan->arena, acui_use);
    if (use)
        use->history = ACUI_ARENA_NEW(&plan->transient, acui_history);
    if (!use || !use->history) {
        acui_fail(ACU_ERR_NO_MEMORY, "no memory to plan");
        return NULL;
    }
    use->buffer = acui_object_retain(buffer);
    use->first = &node->accesses[node->access_count];
    use->next = plan->uses;
    plan->uses = use;
    plan->use_table[slot] = use;
    plan->use_count++;
    return use;
}

static inline acui_use *use_of(acui_plan *plan, const acui_node *node, acu_buffer *buffer)
{
    uint32_t slot = plan->use_room ? slot_of(plan, buffer) : 0;
    acui_use *use = plan->use_room ? plan->use_table[slot] : NULL;
    return use ? use : add_use(plan, node, buffer, slot);
}

/* A new access, whose extent the caller sets; NULL: no memory, or the device is lost (record
 * set). */
static inline acui_node_access *new_access(acui_plan *plan, acui_node *node, acu_buffer *buffer,
                                           acu_access mode)
{
    acui_use *use = use_of(plan, node, buffer);
    if (!use)
        return NULL;
    acui_node_access *t = &node->accesses[node->access_count++];
    use->accesses++;
    t->use = use;
    t->mode = mode;
    return t;
}

acu_status acui_node_add_bytes(acui_plan *plan, acui_node *node, acu_buffer *buffer,
                               acui_extent extent, acu_access mode)
{
    acui_node_access *t = new_access(plan, node, buffer, mode);
    if (!t)
        return acui_error()->status;
    t->extent = extent;
    return ACU_OK;
}

acu_status acui_node_add_access(acui_plan *plan, acui_node *node, const acu_tensor *tensor,
                                acu_access mode)
{
    if (mode != ACU_READ)
        ACUI_TRY(acui_tensor_check_write(tensor));
    /* A write leaves the gaps that the extent does not show as they were. */
    if (mode == ACU_WRITE && !tensor->exact)
        mode = ACU_UPDATE;
    acui_node_access *t = new_access(plan, node, tensor->buffer, mode);
    if (!t)
        return acui_error()->status;
    t->extent = acui_tensor_extent(tensor);
    return ACU_OK;
}

bool acui_plan_covers(const acui_plan *plan, const acu_tensor *tensor)
{
    const acui_use *use =
        plan->use_room ? plan->use_table[slot_of(plan, tensor->buffer)] : NULL;
    if (!use)
        return false;
    acui_extent extent = acui_tensor_extent(tensor);
    return acui_extent_covers(&use->first->extent, &extent);
}

/* ---- the end of a plan ---- */

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

enum { DISCARDED = 14 };

struct acui_discarded {
    struct acui_discarded *next;
    size_t count;
    acu_tensor *tensors[DISCARDED];
};

static struct acui_discarded *grow_discarded(acui_plan *plan)
{
    struct acui_discarded *d = ACUI_ARENA_NEW(&plan->transient, struct acui_discarded);
    if (!d)
        return NULL;
    d->next = plan->discarded;
    return plan->discarded = d;
}

void acui_plan_discard(acui_plan *plan, acui_values *values, size_t base)
{
    struct acui_discarded *d = plan->discarded;
    const acu_val *value = values->list + values->count;
    for (size_t n = values->count; n > base; n--) {
        value--;
        if (value->kind != ACU_TENSOR && value->kind != ACU_PARTITION)
            continue;
        if ((!d || d->count == DISCARDED) && !(d = grow_discarded(plan))) {
            values->count = n; /* those behind it were moved already */
            acui_values_cut(values, base);
            return;
        }
        d->tensors[d->count++] = value->tensor;
    }
    values->count = base;
}

void acui_plan_release_discarded(acui_plan *plan)
{
    for (struct acui_discarded *d = plan->discarded; d; d = d->next)
        while (d->count > 0)
            acu_tensor_release(d->tensors[--d->count]);
    for (acu_op *op = plan->spent; op; op = op->next_dead)
        acui_args_release(op);
}

void acui_plan_drop_transient(acui_plan *plan)
{
    acui_plan_release_discarded(plan);
    plan->discarded = NULL;
    while (plan->spent) {
        acu_op *op = plan->spent;
        plan->spent = op->next_dead;
        acui_object_free_known(op, ACU_OBJECT_OP);
    }
    acui_values_clear(&plan->scratch);
    acui_arena_clear(&plan->transient);
    plan->use_table = NULL;
    plan->use_room = 0;
}

void acui_plan_clear(acui_plan *plan)
{
    for (acui_node *node = plan->holds ? plan->first : NULL; node; node = node->next)
        clear_node(node);
    for (acui_held_kernel *held = &plan->kernels; held && held->kernel; held = held->next)
        acui_kernel_release_some(held->kernel, held->count);
    for (acui_use *use = plan->uses; use; use = use->next)
        acu_buffer_release(use->buffer);
    for (struct acui_held *held = plan->devices; held; held = held->next)
        acu_device_release(held->device);
    plan->first = plan->last = NULL;
    plan->uses = NULL;
    plan->devices = NULL;
    plan->kernels = (acui_held_kernel){.count = 0};
    plan->holds = false;
    plan->frame = NULL;
    plan->count = plan->use_count = 0;
    acui_plan_drop_transient(plan);
    acui_children_clear(plan);
    acui_front_clear(plan);
    acui_arena_clear(&plan->arena);
}
