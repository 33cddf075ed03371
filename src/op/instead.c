/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Calls of vendor libraries in the place of a launch (instead.h), and their temporary memory: the
 * calls of one part of a plan take turns in one buffer, which they all write, so that they are
 * ordered.
 */
#include "op/instead.h"

#include "base/error.h"
#include "op/launch.h"
#include "op/make.h"

#include <string.h>

acu_op *acui_op_instead(acu_op *launch, const acui_instead *instead, size_t scratch)
{
    if (launch->class == &acui_class_LAUNCH) {
        launch->u.call.instead = instead;
        launch->u.call.scratch = scratch;
    }
    return launch;
}

/* ---- temporary memory ------------------------------------------------------------------------ */

struct acui_scratch {
    struct acui_scratch *next;
    const acu_device *device;
    const acu_pool *pool;
    const acui_child *child; /* one that is passed over allocates no memory for others */
    const acui_node *alloc;
    acu_buffer *buffer; /* the plan's uses hold it */
    size_t bytes;
};

/* Whether the memory serves for another call. Memory whose allocation the plan has entered does
 * not: it may be over, and gone. */
static bool serves(const struct acui_scratch *s, const acui_plan *plan, const acu_device *device,
                   size_t bytes)
{
    return s->device == device && s->pool == plan->pool && s->child == plan->now.child &&
           !s->alloc->entered && s->bytes >= bytes;
}

acu_status acui_plan_scratch(acui_plan *plan, const acu_op *op, acu_device *device,
                             acu_buffer **buffer)
{
    size_t bytes = op->u.call.scratch;
    struct acui_scratch *s = plan->scratches;
    while (s && !serves(s, plan, device, bytes))
        s = s->next;
    if (!s) {
        acu_tensor *tensor;
        ACUI_TRY(acui_plan_tensor(plan, op, device, ACU_U8, ACU_SHAPE((int64_t)bytes), &tensor));
        s = ACUI_ARENA_NEW(&plan->arena, struct acui_scratch);
        if (s)
            *s = (struct acui_scratch){.next = plan->scratches,
                                       .device = device,
                                       .pool = plan->pool,
                                       .child = plan->now.child,
                                       .alloc = plan->last,
                                       .buffer = tensor->buffer,
                                       .bytes = bytes};
        acu_tensor_release(tensor);
        if (!s)
            return acui_fail(ACU_ERR_NO_MEMORY, "no memory to plan %s", acui_op_name(op));
        plan->scratches = s;
    }
    *buffer = s->buffer;
    return ACU_OK;
}

/* ---- the node -------------------------------------------------------------------------------- */

acu_status acui_plan_instead(acui_plan *plan, acui_node *node, const acu_op *op,
                             acu_buffer *scratch)
{
    const acui_instead *instead = op->u.call.instead;
    size_t bytes = op->u.call.scratch;
    acui_launch_more *more = acui_launch_more_of(plan, node);
    if (!more)
        return ACU_ERR_NO_MEMORY;
    ACUI_TRY(acui_node_add_bytes(plan, node, scratch, acui_extent_range(0, bytes), ACU_WRITE));
    more->instead = instead;
    more->behind = instead->behind(node->device);
    more->scratch = bytes;
    return acui_launch_address(plan, node, node->u.launch.bytes, scratch, 0);
}

acu_status acui_instead_call(const acui_node *node, CUstream stream, bool *done)
{
    CUdeviceptr scratch;
    memcpy(&scratch, acui_launch_data(node) + node->u.launch.bytes, sizeof scratch);
    return acui_launch_instead(node)->call(node, stream, scratch, done);
}
