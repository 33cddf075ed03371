/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Calls of libraries, and of the program's own functions, in graphs. What a call enqueues is
 * captured alone, from a private stream, and becomes a child graph: one kind of node for whatever
 * it may be, which any driver has, and which can be set to what a later capture has got. An edge to
 * the child is an edge to all of it.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "engine/issue/graphs.h"
#include "engine/issue/issue.h"
#include "op/call.h"
#include "op/instead.h"

#include <string.h>

/* Captures that are going on, by their streams; hardly ever more than one. */
typedef struct capture {
    struct capture *next;
    acui_exec *exec; /* on whose stream it is */
    uint32_t owner;  /* of the memory that it takes */
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

static capture *capture_on(CUstream stream)
{
    if (!atomic_load_explicit(&going, memory_order_relaxed))
        return NULL;
    pthread_mutex_lock(&lock);
    capture *c = captures;
    while (c && c->exec->capture != stream)
        c = c->next;
    pthread_mutex_unlock(&lock);
    return c;
}

bool acui_capturing(CUstream stream)
{
    return capture_on(stream) != NULL;
}

/* ---- memory ---------------------------------------------------------------------------------- */

#define MOST_MEMORY ((size_t)256 << 20) /* of all execs in a device's cache */

static acui_slot *free_slot(const capture *c, size_t bytes)
{
    for (uint32_t i = 0; i < c->exec->slot_count; i++) {
        acui_slot *slot = &c->exec->slots[i];
        if (!slot->taken && slot->owner == c->owner && slot->bytes >= bytes)
            return slot;
    }
    return NULL;
}

static void free_all(const capture *c)
{
    for (uint32_t i = 0; i < c->exec->slot_count; i++)
        c->exec->slots[i].taken = c->exec->slots[i].kept;
}

static bool make_room(acui_exec *exec)
{
    acui_slot *more = ACUI_NEW_ARRAY(acui_slot, exec->slot_count + 1);
    if (!more)
        return false;
    if (exec->slot_count)
        memcpy(more, exec->slots, exec->slot_count * sizeof *more);
    acui_free(exec->slots);
    exec->slots = more;
    return true;
}

/* False: others have too much already. That is no shortage of the device's: a library is called
 * then, rather than captured with a way that needs less. */
static bool charge(const acui_exec *exec, size_t bytes)
{
    if (!exec->budget)
        return true;
    size_t before = atomic_fetch_add_explicit(exec->budget, bytes, memory_order_relaxed);
    if (bytes <= MOST_MEMORY && before <= MOST_MEMORY - bytes)
        return true;
    atomic_fetch_sub_explicit(exec->budget, bytes, memory_order_relaxed);
    return false;
}

static void uncharge(const acui_exec *exec, size_t bytes)
{
    if (exec->budget)
        atomic_fetch_sub_explicit(exec->budget, bytes, memory_order_relaxed);
}

static acu_status begin_slot(acui_exec *exec, size_t bytes)
{
    if (!make_room(exec))
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a graph");
    if (!charge(exec, bytes))
        return acui_fail(ACU_ERR_LIMIT, "cached graphs have %zu MiB of temporary memory "
                         "of libraries, and get no more", MOST_MEMORY >> 20);
    return ACU_OK;
}

static acu_status add_slot(const capture *c, size_t bytes, bool kept, CUdeviceptr *memory)
{
    acui_exec *exec = c->exec;
    acu_device *device = exec->device;
    CUstream stream = device->alloc->raw;
    if (!device->pool)
        return acui_fail(ACU_ERR_NOT_SUPPORTED, "device %d has no memory pools, which calls of "
                         "libraries need", device->info.ordinal);
    ACUI_TRY(begin_slot(exec, bytes));
    acu_status st = ACUI_DEV(device, MemAllocFromPoolAsync, memory, bytes, device->pool, stream);
    if (st != ACU_OK) {
        uncharge(exec, bytes);
        return st;
    }
    exec->slots[exec->slot_count++] = (acui_slot){
        .memory = *memory, .bytes = bytes, .owner = c->owner, .taken = true, .kept = kept};
    return ACUI_DEV(device, StreamSynchronize, stream); /* it is there before the first replay */
}

acu_status acui_capture_memory(CUstream capturing, size_t bytes, bool kept, CUdeviceptr *memory)
{
    const capture *c = capture_on(capturing);
    acui_slot *slot = kept ? NULL : free_slot(c, bytes);
    if (!slot)
        return add_slot(c, bytes, kept, memory);
    slot->taken = true;
    *memory = slot->memory;
    return ACU_OK;
}

acu_status acui_capture_host_memory(CUstream capturing, size_t bytes, void **memory)
{
    acui_exec *exec = capture_on(capturing)->exec;
    ACUI_TRY(begin_slot(exec, bytes));
    *memory = acui_alloc(bytes);
    if (!*memory) {
        uncharge(exec, bytes);
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a graph");
    }
    exec->slots[exec->slot_count++] =
        (acui_slot){.host = *memory, .bytes = bytes, .taken = true, .kept = true};
    return ACU_OK;
}

void acui_capture_free(acui_exec *exec)
{
    acu_device *device = exec->device;
    bool usable = !acui_device_lost(device);
    for (uint32_t i = 0; i < exec->slot_count; i++) {
        if (usable && exec->slots[i].memory)
            device->cu->MemFreeAsync(exec->slots[i].memory, device->alloc->raw);
        acui_free(exec->slots[i].host);
        uncharge(exec, exec->slots[i].bytes);
    }
    acui_free(exec->slots);
    if (exec->capture && usable)
        device->cu->StreamDestroy(exec->capture);
}

/* ---- capturing ------------------------------------------------------------------------------- */

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

/* What the call needs is there before the capture begins, and until it has ended. */
static void note(const acui_node *node, bool begins)
{
    if (node->kind == ACUI_NODE_LAUNCH) {
        acui_launch_instead(node)->capturing(node->device, begins);
        return;
    }
    const acu_op *op = node->u.call.op;
    if (op->u.call.own && op->u.call.own->capturing)
        op->u.call.own->capturing(op->user.data, begins);
}

static acu_status capture_call(acui_node *node, CUstream stream, CUgraph *graph)
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

acu_status acui_capture(acui_exec *exec, uint32_t i, acui_node *node, CUgraph *graph)
{
    capture c = {.exec = exec, .owner = exec->turns ? 0 : i};
    *graph = NULL;
    if (!exec->capture)
        ACUI_TRY(ACUI_DEV(exec->device, StreamCreate, &exec->capture,
                          ACU_CU_STREAM_NON_BLOCKING));
    free_all(&c);
    begin(&c);
    note(node, true);
    acu_status status = capture_call(node, exec->capture, graph);
    note(node, false);
    finish(&c);
    return status;
}
