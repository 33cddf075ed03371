/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Calls of vendor libraries in the place of a launch. The launch is planned and ordered as always;
 * when it is issued, the library is asked first, and where it declines, the kernel is launched. In
 * an explicit graph it is asked once, when the graph is made, and what it enqueues is captured.
 */
#ifndef ACUI_OP_INSTEAD_H
#define ACUI_OP_INSTEAD_H

#include "op/op.h"

struct acui_instead {
    uint32_t addresses; /* of the launch's parameters, the first so many are addresses; the others
                         * say all else that the call depends on */
    /* The point to wait for, held by the device; NULL: the library is loaded, or was not found.
     * Called when the launch is planned. */
    acui_point *(*behind)(acu_device *device);
    void (*wait)(acu_device *device); /* until behind would return NULL; blocks */
    /* Before and after a stream is captured for the call, which must not wait meanwhile. */
    void (*capturing)(acu_device *device, bool begins);
    /* Enqueue what the launch would do, from its parameters, with the node's temporary memory.
     * *done stays false where the kernel is to do it. On failure the record is set. The caller has
     * entered the device and holds the stream's issue lock. */
    acu_status (*call)(const acui_node *node, CUstream stream, CUdeviceptr scratch, bool *done);
};

/* Make `launch`, which was just constructed, ask `instead` first, with `scratch` bytes of temporary
 * memory. */
acu_op *acui_op_instead(acu_op *launch, const acui_instead *instead, size_t scratch);

/* Temporary memory for the op's call; all such calls of a part of the plan take turns in it. The
 * plan holds the buffer. */
acu_status acui_plan_scratch(acui_plan *plan, const acu_op *op, acu_device *device,
                             acu_buffer **scratch);
/* Finish a launch that is planned except for its parameters. */
acu_status acui_plan_instead(acui_plan *plan, acui_node *node, const acu_op *op,
                             acu_buffer *scratch);

acu_status acui_instead_call(const acui_node *node, CUstream stream, bool *done);

#endif
