/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which way a copy goes, and its nodes. */
#include "base/error.h"
#include "op/copy.h"
#include "op/make.h"

/* ---- by the driver ---- */

static acu_status plan_driver(acui_plan *plan, const acu_op *op, acu_device *device,
                              acu_tensor *dst, acu_tensor *src)
{
    acui_node *node = acui_plan_node(plan, ACUI_NODE_COPY, op, device, 2);
    if (!node)
        return ACU_ERR_NO_MEMORY;
    ACUI_TRY(acui_node_touch(plan, node, dst, ACU_WRITE));
    ACUI_TRY(acui_node_touch(plan, node, src, ACU_READ));
    node->u.copy.dst = dst->buffer;
    node->u.copy.dst_offset = dst->offset;
    node->u.copy.src = src->buffer;
    node->u.copy.src_offset = src->offset;
    node->u.copy.bytes = acu_tensor_bytes(src);
    return ACU_OK;
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
    ACUI_TRY(acui_node_touch(plan, node, dst, ACU_WRITE));
    ACUI_TRY(acui_node_touch(plan, node, src, ACU_READ));
    stage->dst = dst->buffer;
    stage->dst_offset = dst->offset;
    stage->src = src->buffer;
    stage->src_offset = src->offset;
    stage->layout = acui_layout_of(dst, src);
    return ACU_OK;
}

acu_status acui_plan_copy(acui_plan *plan, const acu_op *op, acu_device *device, acu_tensor *dst,
                          acu_tensor *src)
{
    bool hosts = !acui_on_device(dst) && !acui_on_device(src);
    if (hosts || is_pageable(dst) || is_pageable(src))
        return plan_stage(plan, op, device, dst, src);
    return plan_driver(plan, op, device, dst, src);
}

acu_status acui_plan_copy_there(acui_plan *plan, const acu_op *op, acu_tensor *dst, acu_tensor *src)
{
    if (acui_copy_is_idle(dst, src))
        return ACU_OK;
    const acu_tensor *where = acui_on_device(dst) ? dst : src;
    return acui_plan_copy(plan, op, where->buffer->device, dst, src);
}
