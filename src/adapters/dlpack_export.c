/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * DLPack export: acuda's tensors for others. The struct holds the tensor until its deleter is
 * called, on any thread; what the other side has enqueued by then comes before acuda's next work on
 * the memory.
 */
#include "adapters/dlpack.h"

#include "base/alloc.h"
#include "base/callback.h"
#include "base/error.h"
#include "device/open.h"
#include "engine/submit/submit.h"
#include "engine/submit/submit.h"

#include <acuda/debug.h>
#include <acuda/future.h>

typedef struct exported {
    struct DLManagedTensorVersioned managed; /* its context is this struct */
    acu_tensor *tensor;                      /* retained */
    acu_stream *stream; /* the other side's, if the end of its work can be told there; retained */
    int64_t shape[ACU_MAX_RANK], strides[ACU_MAX_RANK];
} exported;

static bool on_host(const acu_tensor *tensor)
{
    acu_memory_kind kind = tensor->buffer->kind;
    return kind != ACU_MEMORY_DEVICE && kind != ACU_MEMORY_FOREIGN && kind != ACU_MEMORY_MANAGED;
}

static acui_dl_device_type device_type(const acu_tensor *tensor)
{
    if (on_host(tensor))
        return ACUI_DL_CPU;
    return tensor->buffer->device->info.software ? ACUI_DL_EXTENSION : ACUI_DL_CUDA;
}

acu_status acu_dlpack_device(const acu_tensor *tensor, int *type, int *id)
{
    ACUI_CHECK(tensor, TENSOR);
    if (!type || !id)
        return acui_fail(ACU_ERR_INVALID, "acu_dlpack_device: the place for the %s is NULL",
                         type ? "id" : "type");
    *type = (int)device_type(tensor);
    *id = on_host(tensor) ? 0 : tensor->buffer->device->info.ordinal;
    return ACU_OK;
}

/* ---- the struct ------------------------------------------------------------------------------ */

/* Orders the other side's work so far before what acuda does with the memory next. Fails for the
 * stream of another thread, which can not be named here. */
static void order_behind(const exported *e)
{
    bool read_only = e->managed.flags & ACUI_DL_READ_ONLY;
    acu_arg arg = acu_arg_tensor(e->tensor, read_only ? ACU_READ : ACU_UPDATE);
    acu_error record = *acui_error(); /* kept: the thread is only releasing something */
    acui_stream_used(e->stream, &arg, ACU_SITE, "the deleter of an export");
    acui_error_restore(&record);
}

static void delete_export(struct DLManagedTensorVersioned *managed)
{
    exported *e = managed->context;
    if (e->stream && !acui_forked() && acui_is_open(e->stream->device))
        order_behind(e);
    acu_stream_release(e->stream);
    acu_tensor_release(e->tensor);
    acui_free(e);
}

static void *address_of(const acu_tensor *tensor)
{
    return on_host(tensor) ? acu_tensor_host(tensor)
                           : (void *)(uintptr_t)acu_tensor_address(tensor); /* as DLPack wants it */
}

/* The address goes into `data` and not into byte_offset, which some readers ignore. */
static void make_struct(exported *e, acu_tensor *tensor, bool read_only)
{
    e->tensor = acu_tensor_retain(tensor);
    acui_dl_type type = acui_dl_type_of(tensor->dtype);
    struct DLManagedTensorVersioned *m = &e->managed;
    m->version.major = ACUI_DL_MAJOR;
    m->version.minor = ACUI_DL_MINOR;
    m->context = e;
    m->deleter = delete_export;
    m->flags = read_only ? ACUI_DL_READ_ONLY : 0;
    m->tensor.data = address_of(tensor);
    acu_dlpack_device(tensor, &m->tensor.device.type, &m->tensor.device.id);
    m->tensor.rank = tensor->shape.rank;
    m->tensor.dtype.code = type.code;
    m->tensor.dtype.bits = type.bits;
    m->tensor.dtype.lanes = type.lanes;
    m->tensor.shape = e->shape;
    m->tensor.strides = e->strides;
    for (int d = 0; d < tensor->shape.rank; d++) {
        e->shape[d] = tensor->shape.dim[d];
        e->strides[d] = tensor->strides[d];
    }
}

/* ---- order ----------------------------------------------------------------------------------- */

typedef struct request {
    acu_tensor *tensor;
    intptr_t stream;
    bool read_only, lives, wait;
    uint64_t timeout;
    const char *function; /* that the program called */
} request;

/* Orders what comes onto the stream later behind what acuda was given to do with the tensor so
 * far. */
static acu_status order_stream(const request *r, intptr_t number, acu_stream **kept)
{
    acu_stream *stream;
    ACUI_TRY(acui_dl_stream(r->tensor->buffer->device, number, r->function, &stream));
    acu_arg arg = acu_arg_tensor(r->tensor, r->read_only ? ACU_READ : ACU_UPDATE);
    acu_use *use = NULL;
    acu_status status =
        r->wait ? acui_use_begin_wait(stream, &arg, 1, ACU_SITE, r->timeout, r->function, &use)
                : acui_use_begin(stream, &arg, 1, ACU_SITE, r->function, &use);
    if (status == ACU_OK)
        status = acu_use_end(use, ACU_OK, NULL);
    bool lives = r->lives || number <= (intptr_t)ACU_CU_STREAM_PER_THREAD;
    if (status == ACU_OK && kept && lives)
        *kept = stream;
    else
        acu_stream_release(stream);
    return status;
}

/* The other side wants no order, but needs an address: memory that is not allocated yet is waited
 * for. */
static acu_status order_device(const request *r, acu_stream **kept)
{
    if (r->stream != ACU_DLPACK_NO_STREAM)
        return order_stream(r, r->stream, kept);
    if (acu_tensor_address(r->tensor)) /* a lost device's address is useless */
        return acui_device_check(r->tensor->buffer->device);
    return order_stream(r, (intptr_t)ACU_CU_STREAM_PER_THREAD, NULL);
}

typedef struct looking {
    const acu_buffer *buffer;
    acui_extent extent;
    bool busy, bad;
} looking;

static void look_at(void *context, acui_point *point, const acui_extent *extent, bool data)
{
    (void)extent;
    looking *l = context;
    l->bad |= data && acui_point_spoils(point, l->buffer, &l->extent);
    l->busy |= point->state != ACUI_POINT_OVER && !point->allocation;
}

static acu_status look_at_host(const request *r)
{
    looking found = {.buffer = r->tensor->buffer, .extent = acui_tensor_extent(r->tensor)};
    acui_homes homes = acui_accesses_lock(&r->tensor->buffer->accesses);
    acui_accesses_look(&r->tensor->buffer->accesses, found.extent,
                       r->read_only ? ACU_READ : ACU_UPDATE, look_at, &found);
    acui_order_unlock(homes);
    if (found.busy)
        return ACU_NOT_READY;
    return found.bad ? acui_fail(ACU_ERR_DEPENDENCY, "the tensor's contents were not computed")
                     : ACU_OK;
}

static acu_status nothing(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_OK;
}

static acu_status wait_for_host(const request *r)
{
    acu_arg arg = acu_arg_tensor(r->tensor, r->read_only ? ACU_READ : ACU_UPDATE);
    acu_op *op = acu_op_named(acu_op_host(nothing, (acu_user){.data = NULL}, &arg, 1, ACU_SITE),
                              "dlpack_export");
    acu_future *future = NULL;
    acu_status status = acui_submit_public(r->tensor->buffer->device, op, NULL, 0, r->function,
                                           &future);
    if (status == ACU_ERR_FULL)
        acu_op_release(op);
    if (status != ACU_OK)
        return status;
    status = acu_future_wait(future, r->timeout);
    acu_future_release(future);
    return status;
}

static acu_status order(const request *r, acu_stream **kept)
{
    if (!on_host(r->tensor))
        return order_device(r, kept);
    if (!r->wait)
        return look_at_host(r);
    ACUI_TRY(acui_refuse_wait(r->function));
    return wait_for_host(r);
}

static acu_status export(request r, unsigned flags, struct DLManagedTensorVersioned **managed,
                         const char *function)
{
    const unsigned known = ACU_DLPACK_READ_ONLY | ACU_DLPACK_STREAM_LIVES;
    acu_dlpack_drain();
    ACUI_TRY(acui_object_check(r.tensor, ACU_OBJECT_TENSOR, function));
    if (!managed || (flags & ~known))
        return acui_fail(ACU_ERR_INVALID,
                         managed ? "%s: flags 0x%x" : "%s: nowhere to put the result", function,
                         flags);
    exported *e = ACUI_NEW(exported);
    if (!e)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a DLPack tensor");
    r.read_only = (flags & ACU_DLPACK_READ_ONLY) || !acu_tensor_writable(r.tensor);
    r.lives = flags & ACU_DLPACK_STREAM_LIVES;
    r.function = function;
    acu_status status = order(&r, &e->stream);
    if (status != ACU_OK) {
        acui_free(e);
        return status;
    }
    make_struct(e, r.tensor, r.read_only);
    if (!e->managed.tensor.data) { /* a reset took the memory, perhaps just now */
        delete_export(&e->managed);
        return acui_device_check(r.tensor->buffer->device);
    }
    *managed = &e->managed;
    return ACU_OK;
}

acu_status acu_dlpack_export(acu_tensor *tensor, intptr_t stream, unsigned flags,
                             struct DLManagedTensorVersioned **managed)
{
    return export((request){.tensor = tensor, .stream = stream}, flags, managed, __func__);
}

acu_status acu_dlpack_export_wait(acu_tensor *tensor, intptr_t stream, unsigned flags,
                                  uint64_t timeout, struct DLManagedTensorVersioned **managed)
{
    request r = {.tensor = tensor, .stream = stream, .wait = true, .timeout = timeout};
    return export(r, flags, managed, __func__);
}
