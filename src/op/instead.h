/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Calls of vendor libraries in the place of a launch. The launch is planned and ordered as always;
 * when it is issued, the library is asked first, and where it does not do it, the kernel is
 * launched. What is kept for replays consists of kernels only.
 */
#ifndef ACUI_OP_INSTEAD_H
#define ACUI_OP_INSTEAD_H

#include "op/op.h"

struct acui_instead {
    /* The library is there, or was not found: NULL; else the point to wait at. Given when the
     * launch is planned; held by the device. */
    acui_point *(*behind)(acu_device *device);
    /* Enqueue what the launch would do, from its parameters, with the node's temporary memory.
     * *done stays false where the kernel is to do it. Fails with a record. The device is entered,
     * the stream's issue lock held. */
    acu_status (*call)(const acui_node *node, CUstream stream, CUdeviceptr scratch, bool *done);
};

/* Of a launch that was just made: ask `instead` first, with so much temporary memory. */
acu_op *acui_op_instead(acu_op *launch, const acui_instead *instead, size_t scratch);

/* Temporary memory for the op's call, which all such calls of a part of the plan take turns in. The
 * plan has it. */
acu_status acui_plan_scratch(acui_plan *plan, const acu_op *op, acu_device *device,
                             acu_buffer **scratch);
/* The launch is planned, but for its parameters. */
acu_status acui_plan_instead(acui_plan *plan, acui_node *node, const acu_op *op,
                             acu_buffer *scratch);

acu_status acui_instead_call(const acui_node *node, CUstream stream, bool *done);

#endif
