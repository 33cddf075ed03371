/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Which way a copy goes, and its nodes:
 *   one run of bytes, or rows and slices that are long enough   the driver's copies
 *   other layouts, on one device or from and to pinned memory   kernels (copy_walk.c)
 *   pageable memory, or both sides on the host                  helper threads
 *   between devices                                             packed where need be, then the
 *                                                               driver; or helper threads, if
 *                                                               access was refused
 */
#include "base/error.h"
#include "op/copy.h"
#include "op/make.h"

enum {
    ROW_HOST = 64,    /* shortest row, in bytes, for which the copy engine beats a kernel: over the
                       * bus */
    ROW_DEVICE = 128  /* ... and inside one device */
};

/* ---- by the driver ---- */

static bool has(const _Atomic(uint64_t) *bits, const acu_device *peer)
{
    return atomic_load_explicit(bits, memory_order_relaxed) >> peer->info.ordinal & 1u;
}

static uint32_t place_of(const acu_tensor *tensor)
{
    return acui_on_device(tensor) ? (uint32_t)tensor->buffer->device->info.ordinal + 1 : 0;
}

/* Encodes from where to where the copy goes and, between devices, whether one has access to the
 * other. */
static uint32_t way_of(const acu_tensor *dst, const acu_tensor *src)
{
    const acu_device *to = dst->buffer->device, *from = src->buffer->device;
    uint32_t way = place_of(dst) << 16 | place_of(src) << 1;
    return acui_on_device(dst) && acui_on_device(src) && to != from &&
                   (has(&to->peers, from) || has(&from->peers, to))
               ? way | 1
               : way;
}

static acui_node *driver_node(acui_plan *plan, const acu_op *op, acu_device *device,
                              acu_tensor *dst, acu_tensor *src, void **box)
{
    acui_node *node = acui_plan_node_with(plan, ACUI_NODE_COPY, op, device, 2,
                                          box ? sizeof(acui_box) : 0, box);
    if (!node || acui_node_add_access(plan, node, dst, ACU_WRITE) != ACU_OK ||
        acui_node_add_access(plan, node, src, ACU_READ) != ACU_OK)
        return NULL;
    node->u.copy.dst = dst->buffer;
    node->u.copy.dst_offset = dst->offset;
    node->u.copy.src = src->buffer;
    node->u.copy.src_offset = src->offset;
    node->u.copy.bytes = acu_tensor_bytes(src);
    node->u.copy.way = way_of(dst, src);
    return node;
}

static acu_status plan_run(acui_plan *plan, const acu_op *op, acu_device *device, acu_tensor *dst,
                           acu_tensor *src)
{
    return driver_node(plan, op, device, dst, src, NULL) ? ACU_OK : acui_error()->status;
}

/* Whether one side consists of rows at one distance, in slices of a whole number of rows, within
 * the driver's limits. */
static bool side_fits(const acui_layout *l, const int64_t *stride)
{
    int64_t pitch = stride[l->rank - 1];
    if (pitch < (int64_t)l->run || pitch > INT32_MAX || l->dim[l->rank - 1] > INT32_MAX)
        return false;
    if (l->rank == 1)
        return true;
    int64_t slice = stride[0];
    return slice % pitch == 0 && slice / pitch >= (int64_t)l->dim[1] &&
           slice / pitch <= INT32_MAX && l->dim[0] <= INT32_MAX;
}

static bool is_box(const acui_layout *l, uint64_t least)
{
    return l->rank <= 2 && l->run >= least && side_fits(l, l->dst) && side_fits(l, l->src);
}

static acu_status plan_box(acui_plan *plan, const acu_op *op, acu_device *device, acu_tensor *dst,
                           acu_tensor *src, const acui_layout *l)
{
    void *memory = NULL;
    acui_node *node = driver_node(plan, op, device, dst, src, &memory);
    if (!node)
        return acui_error()->status;
    int rows = l->rank - 1;
    acui_box *box = memory;
    *box = (acui_box){.width = l->run,
                      .height = l->dim[rows],
                      .depth = 1,
                      .dst_pitch = (uint64_t)l->dst[rows],
                      .src_pitch = (uint64_t)l->src[rows]};
    if (l->rank == 2) {
        box->depth = l->dim[0];
        box->dst_height = (uint64_t)(l->dst[0] / l->dst[1]);
        box->src_height = (uint64_t)(l->src[0] / l->src[1]);
    }
    node->u.copy.box = box;
    return ACU_OK;
}

/* A copy on one device, or between it and pinned memory. */
static acu_status plan_here(acui_plan *plan, const acu_op *op, acu_device *device, acu_tensor *dst,
                            acu_tensor *src)
{
    acui_layout layout = acui_layout_of(dst, src);
    bool inside = acui_on_device(dst) && acui_on_device(src);
    acui_layout_sort(&layout);
    if (layout.rank == 0)
        return plan_run(plan, op, device, dst, src);
    if (is_box(&layout, inside ? ROW_DEVICE : ROW_HOST))
        return plan_box(plan, op, device, dst, src, &layout);
    return acui_plan_walk(plan, op, device, dst, src, &layout);
}

/* ---- by helper threads ---- */

static bool is_pageable(const acu_tensor *tensor)
{
    return tensor->buffer->kind == ACU_MEMORY_PAGEABLE;
}

static acu_status plan_stage(acui_plan *plan, const acu_op *op, acu_device *device,
                             acu_tensor *dst, acu_tensor *src)
{
    void *memory = NULL;
    acui_node *node =
        acui_plan_node_with(plan, ACUI_NODE_STAGE, op, device, 2, sizeof(acui_stage), &memory);
    if (!node)
        return ACU_ERR_NO_MEMORY;
    acui_stage *stage = node->u.stage = memory;
    ACUI_TRY(acui_node_add_access(plan, node, dst, ACU_WRITE));
    ACUI_TRY(acui_node_add_access(plan, node, src, ACU_READ));
    stage->dst = dst->buffer;
    stage->dst_offset = dst->offset;
    stage->src = src->buffer;
    stage->src_offset = src->offset;
    stage->layout = acui_layout_of(dst, src);
    return ACU_OK;
}

/* A staged copy needs a device side without gaps: else it takes two steps, through a packed
 * tensor. */
static acu_status plan_staged(acui_plan *plan, const acu_op *op, acu_tensor *dst, acu_tensor *src)
{
    bool up = acui_on_device(dst);
    acu_tensor *there = up ? dst : src, *packed;
    acu_device *device = there->buffer->device;
    if (there->dense || !acui_on_device(there))
        return plan_stage(plan, op, device, dst, src);
    ACUI_TRY(acui_plan_tensor(plan, op, device, there->dtype, there->shape, &packed));
    acu_status status = up ? plan_stage(plan, op, device, packed, src)
                           : plan_here(plan, op, device, packed, src);
    if (status == ACU_OK)
        status = up ? plan_here(plan, op, device, dst, packed)
                    : plan_stage(plan, op, device, dst, packed);
    acu_tensor_release(packed);
    return status;
}

/* ---- between devices ---- */

/* The tensor itself if it has no gaps, else a new one for its elements; the reference is the
 * caller's. */
static acu_status dense_one(acui_plan *plan, const acu_op *op, acu_tensor *tensor,
                            acu_tensor **dense)
{
    *dense = tensor->dense ? acu_tensor_retain(tensor) : NULL;
    if (*dense)
        return ACU_OK;
    return acui_plan_tensor(plan, op, tensor->buffer->device, tensor->dtype, tensor->shape, dense);
}

/* A copy between dense tensors on two devices, by the one that has access to the other. Where
 * access was asked for and refused, the copy goes through host memory; where nobody asked, the
 * driver finds a way. */
static acu_status plan_transfer(acui_plan *plan, const acu_op *op, acu_tensor *to, acu_tensor *from)
{
    acu_device *here = to->buffer->device, *there = from->buffer->device;
    if (has(&here->peers, there))
        return plan_run(plan, op, here, to, from);
    if (has(&there->peers, here))
        return plan_run(plan, op, there, to, from);
    if (has(&here->not_peers, there) || has(&there->not_peers, here))
        return plan_stage(plan, op, here, to, from);
    return plan_run(plan, op, here, to, from);
}

static acu_status plan_packed(acui_plan *plan, const acu_op *op, acu_tensor *dst, acu_tensor *src,
                              acu_tensor *to, acu_tensor *from)
{
    if (from != src)
        ACUI_TRY(plan_here(plan, op, src->buffer->device, from, src));
    ACUI_TRY(plan_transfer(plan, op, to, from));
    return to == dst ? ACU_OK : plan_here(plan, op, dst->buffer->device, dst, to);
}

static acu_status plan_between(acui_plan *plan, const acu_op *op, acu_tensor *dst, acu_tensor *src)
{
    acu_tensor *from, *to;
    ACUI_TRY(dense_one(plan, op, src, &from));
    acu_status status = dense_one(plan, op, dst, &to);
    if (status == ACU_OK) {
        status = plan_packed(plan, op, dst, src, to, from);
        acu_tensor_release(to);
    }
    acu_tensor_release(from);
    return status;
}

/* ---- all ---- */

acu_status acui_plan_copy(acui_plan *plan, const acu_op *op, acu_tensor *dst, acu_tensor *src)
{
    bool to = acui_on_device(dst), from = acui_on_device(src);
    if (src->empty || acui_copy_is_idle(dst, src)) {
        plan->passes_on = true;
        return ACU_OK;
    }
    if (is_pageable(dst) || is_pageable(src) || (!to && !from))
        return plan_staged(plan, op, dst, src);
    if (to && from && dst->buffer->device != src->buffer->device)
        return plan_between(plan, op, dst, src);
    return plan_here(plan, op, to ? dst->buffer->device : src->buffer->device, dst, src);
}
