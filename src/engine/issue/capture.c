/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Calls of libraries, and of the program's own functions, in explicit graphs. What a call enqueues
 * is captured alone, from a private stream, and becomes a child graph: one kind of node for
 * whatever it may be, which any driver has. An edge to the child is an edge to all of it.
 */
#include "base/error.h"
#include "engine/issue/graphs.h"
#include "engine/issue/issue.h"
#include "op/instead.h"

/* The call itself; *done stays false if a library declined. */
static acu_status call(acui_node *node, CUstream stream, bool *done)
{
    if (node->kind == ACUI_NODE_LAUNCH)
        return acui_instead_call(node, stream, done);
    *done = true;
    return acui_call_foreign(node, stream);
}

/* The capture is over, with the thread's record if `status` is one of a failed call. */
static acu_status end(acui_node *node, CUstream stream, acu_status status, CUgraph *graph)
{
    acu_device *device = node->device;
    CUgraph raw = NULL;
    acu_error record = *acui_error();
    acu_status ended = ACUI_DEV(device, StreamEndCapture, stream, &raw);
    if (ended == ACU_OK && status == ACU_OK) {
        *graph = raw;
        return ACU_OK;
    }
    if (raw)
        device->cu->GraphDestroy(raw);
    if (status != ACU_OK)
        return acui_error_restore(&record);
    if (ended != ACU_ERR_CAPTURE)
        return ended;
    return acui_fail_at(ACU_ERR_CAPTURE, node->site, node->name, device->info.ordinal,
                        "a graph can not hold %s: it did what CUDA can not capture (a wait, an "
                        "allocation, a copy of pageable memory, work on another stream)",
                        node->name);
}

static acu_status capture_on(acui_node *node, CUstream stream, CUgraph *graph)
{
    bool done = false;
    ACUI_TRY(ACUI_DEV(node->device, StreamBeginCapture, stream,
                      ACU_CU_STREAM_CAPTURE_MODE_RELAXED));
    acu_status status = call(node, stream, &done);
    status = end(node, stream, status, graph);
    if (status == ACU_OK && !done) {
        node->device->cu->GraphDestroy(*graph);
        *graph = NULL;
    }
    return status;
}

acu_status acui_capture(acui_node *node, CUgraph *graph)
{
    acu_device *device = node->device;
    CUstream stream;
    *graph = NULL;
    ACUI_TRY(ACUI_DEV(device, StreamCreate, &stream, ACU_CU_STREAM_NON_BLOCKING));
    acu_status status = capture_on(node, stream, graph);
    acu_error record = *acui_error();
    device->cu->StreamDestroy(stream);
    return status == ACU_OK ? ACU_OK : acui_error_restore(&record);
}
