/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Calls of libraries, and of the program's own functions, in explicit graphs. What a call enqueues
 * is captured alone, from a private stream, and becomes a child graph: one kind of node for
 * whatever it may be, which any driver has. An edge to the child is an edge to all of it.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "engine/issue/graphs.h"
#include "engine/issue/issue.h"
#include "op/instead.h"

#include <string.h>

/* Captures that are going on, by their streams; hardly ever more than one. */
typedef struct capture {
    struct capture *next;
    CUstream stream;
    acui_exec *exec;
} capture;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static capture *captures;
static _Atomic(uint32_t) going; /* how many; relaxed: a thread that captures sees its own */

static void begin(capture *c)
{
    pthread_mutex_lock(&lock);
    c->next = captures;
    captures = c;
    pthread_mutex_unlock(&lock);
    atomic_fetch_add_explicit(&going, 1, memory_order_relaxed);
}

static void finish(capture *c)
{
    atomic_fetch_sub_explicit(&going, 1, memory_order_relaxed);
    pthread_mutex_lock(&lock);
    capture **link = &captures;
    while (*link != c)
        link = &(*link)->next;
    *link = c->next;
    pthread_mutex_unlock(&lock);
}

static acui_exec *exec_of(CUstream stream)
{
    if (!atomic_load_explicit(&going, memory_order_relaxed))
        return NULL;
    pthread_mutex_lock(&lock);
    const capture *c = captures;
    while (c && c->stream != stream)
        c = c->next;
    pthread_mutex_unlock(&lock);
    return c ? c->exec : NULL;
}

bool acui_capturing(CUstream stream)
{
    return exec_of(stream) != NULL;
}

static bool make_room(acui_exec *exec)
{
    CUdeviceptr *more = ACUI_NEW_ARRAY(CUdeviceptr, exec->memory_count + 1);
    if (!more)
        return false;
    if (exec->memory_count)
        memcpy(more, exec->memory, exec->memory_count * sizeof *more);
    acui_free(exec->memory);
    exec->memory = more;
    return true;
}

acu_status acui_capture_memory(acu_device *device, CUstream capturing, size_t bytes,
                               CUdeviceptr *memory)
{
    CUstream stream = device->alloc->raw;
    acui_exec *exec = exec_of(capturing);
    if (!device->pool)
        return acui_fail(ACU_ERR_NOT_SUPPORTED, "device %d has no memory pools, which calls of "
                         "libraries need", device->info.ordinal);
    if (!make_room(exec))
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a graph");
    ACUI_TRY(ACUI_DEV(device, MemAllocFromPoolAsync, memory, bytes, device->pool, stream));
    exec->memory[exec->memory_count++] = *memory;
    return ACUI_DEV(device, StreamSynchronize, stream); /* it is there before the first replay */
}

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

acu_status acui_capture(acui_exec *exec, acui_node *node, CUgraph *graph)
{
    acu_device *device = node->device;
    CUstream stream;
    *graph = NULL;
    ACUI_TRY(ACUI_DEV(device, StreamCreate, &stream, ACU_CU_STREAM_NON_BLOCKING));
    capture c = {.stream = stream, .exec = exec};
    begin(&c);
    acu_status status = capture_on(node, stream, graph);
    finish(&c);
    acu_error record = *acui_error();
    device->cu->StreamDestroy(stream);
    return status == ACU_OK ? ACU_OK : acui_error_restore(&record);
}
