/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Operations that call a library, and temporary memory for their calls. */
#include "vendor/call.h"

#include "base/alloc.h"
#include "base/error.h"
#include "engine/issue/graphs.h"
#include "memory/memory.h"
#include "op/call.h"

#include <string.h>

/* Temporary host memory. */
typedef struct kept_memory {
    struct kept_memory *next;
    _Alignas(16) char memory[];
} kept_memory;

/* The op's user data. */
typedef struct vendor_call {
    acui_vendor_call call;
    acu_device *device;    /* retained; set when it is planned, like: */
    acui_handles *handles; /* held */
    _Atomic(kept_memory *) kept; /* added to while a call is made */
    _Alignas(16) char data[];
} vendor_call;

static void drop(void *user)
{
    vendor_call *v = user;
    kept_memory *k = atomic_load_explicit(&v->kept, memory_order_acquire);
    while (k) {
        kept_memory *next = k->next;
        acui_free(k);
        k = next;
    }
    acui_handles_drop(v->handles);
    acu_device_release(v->device);
    acui_free(v);
}

/* ---- planning -------------------------------------------------------------------------------- */

static acu_status begin(void *user, acu_device *device, acui_point **behind)
{
    vendor_call *v = user;
    ACUI_TRY(acui_handles_of(v->call.library, device, v->data, v->call.key_bytes, &v->handles));
    v->device = acu_device_retain(device);
    *behind = acui_handles_behind(v->handles);
    return ACU_OK;
}

static void wait_for(void *user)
{
    acui_handles_wait(((vendor_call *)user)->handles);
}

static void capturing(void *user, bool begins)
{
    acui_handles_capturing(((vendor_call *)user)->handles, begins);
}

/* ---- cached graphs --------------------------------------------------------------------------- */

static bool key(void *user, acui_call_key *key)
{
    const vendor_call *v = user;
    *key = (acui_call_key){.data = v->data,
                           .bytes = v->call.bytes,
                           .what = (uintptr_t)v->call.fn,
                           .fixed = v->call.repeats == ACUI_REPEATED_THERE};
    return v->call.repeats != ACUI_NOT_REPEATED;
}

static void *hold(void *user)
{
    acui_handles *handles = ((vendor_call *)user)->handles;
    acui_handles_hold(handles);
    return handles;
}

static void let_go(void *held)
{
    acui_handles_drop(held);
}

/* ---- calling --------------------------------------------------------------------------------- */

static void give_back_scratch(acui_vendor_work *work)
{
    for (uint32_t i = 0; i < work->scratch_count; i++)
        if (work->scratch[i])
            work->device->cu->MemFreeAsync(work->scratch[i], work->stream);
}

static acu_status run(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)count;
    vendor_call *v = user;
    ACUI_TRY(acui_handles_status(v->handles));
    acui_vendor_work work = {.device = v->device, .stream = stream, .values = values,
                             .data = v->data, .call = v};
    work.handle = acui_handles_take(v->handles);
    acu_status st = v->call.fn(&work);
    acui_handles_give(v->handles, work.handle);
    give_back_scratch(&work);
    return st;
}

static acu_status scratch(acui_vendor_work *work, size_t bytes, bool keep, void **memory)
{
    CUdeviceptr *at = &work->scratch[work->scratch_count];
    acu_device *device = work->device;
    *memory = NULL;
    if (bytes == 0)
        return ACU_OK;
    if (acui_capturing(work->stream)) { /* what is allocated there would be a node of the graph */
        CUdeviceptr kept;
        ACUI_TRY(acui_capture_memory(work->stream, bytes, keep, &kept));
        *memory = (void *)(uintptr_t)kept;
        return ACU_OK;
    }
    if (!device->pool)
        return acui_fail(ACU_ERR_NOT_SUPPORTED, "device %d has no memory pools, which calls of "
                         "libraries need", device->info.ordinal);
    ACUI_TRY(ACUI_DEV(device, MemAllocFromPoolAsync, at, bytes, device->pool, work->stream));
    work->scratch_count++;
    *memory = (void *)(uintptr_t)*at;
    return ACU_OK;
}

acu_status acui_vendor_scratch(acui_vendor_work *work, size_t bytes, void **memory)
{
    return scratch(work, bytes, false, memory);
}

acu_status acui_vendor_host_scratch(acui_vendor_work *work, size_t bytes, void **memory)
{
    *memory = NULL;
    if (bytes == 0)
        return ACU_OK;
    if (acui_capturing(work->stream))
        return acui_capture_host_memory(work->stream, bytes, memory);
    kept_memory *k = bytes < SIZE_MAX / 2 ? acui_alloc(sizeof *k + bytes) : NULL;
    if (!k)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for %s, which wants %zu bytes",
                         work->call->call.name, bytes);
    k->next = atomic_load_explicit(&work->call->kept, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&work->call->kept, &k->next, k,
                                                  memory_order_release, memory_order_relaxed)) {
    }
    *memory = k->memory;
    return ACU_OK;
}

/* In a graph, the data is there before the first replay: a copy in it would read the host's memory
 * again. */
acu_status acui_vendor_upload(acui_vendor_work *work, const void *data, size_t bytes,
                              void **memory)
{
    acu_device *device = work->device;
    ACUI_TRY(scratch(work, bytes, true, memory));
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)*memory;
    if (!acui_capturing(work->stream)) {
        void *kept; /* the device may read it when the call has returned */
        ACUI_TRY(acui_vendor_host_scratch(work, bytes, &kept));
        if (bytes)
            memcpy(kept, data, bytes);
        return ACUI_DEV(device, MemcpyHtoDAsync, at, kept, bytes, work->stream);
    }
    ACUI_TRY(ACUI_DEV(device, MemcpyHtoDAsync, at, data, bytes, device->alloc->raw));
    return ACUI_DEV(device, StreamSynchronize, device->alloc->raw);
}

void *acui_vendor_at(const acui_vendor_work *work, size_t value)
{
    return (void *)(uintptr_t)acu_tensor_address(work->values[value].tensor);
}

/* ---- the op ---------------------------------------------------------------------------------- */

acu_op *acui_vendor_op(const acui_vendor_call *call, const acu_arg *args, size_t count,
                       acu_site site)
{
    static const acui_own_call own = {
        .begin = begin, .wait = wait_for, .capturing = capturing, .key = key, .hold = hold,
        .let_go = let_go};
    vendor_call *v = acui_alloc(sizeof *v + call->bytes);
    if (!v) {
        for (size_t i = 0; i < count; i++)
            if (args[i].kind == ACU_ARG_OP)
                acu_op_release(args[i].u.op);
        acui_fail(ACU_ERR_NO_MEMORY, "no memory for %s", call->name);
        return acu_op_fail(ACU_ERR_NO_MEMORY, call->name, site, NULL);
    }
    v->call = *call;
    memcpy(v->data, call->data, call->bytes);
    acu_op *op = acu_op_foreign(run, (acu_user){v, drop}, args, count, site);
    op = acui_op_own_call(acui_op_call(op, call->name), &own);
    if (call->repeats == ACUI_NOT_REPEATED)
        acui_op_not_captured(op);
    return op;
}
