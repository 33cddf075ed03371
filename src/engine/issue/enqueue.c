/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One node: one driver call, or a few. The device is entered, the stream's issue lock held. */
#include "base/alloc.h"
#include "base/callback.h"
#include "base/error.h"
#include "driver/nvtx.h"
#include "engine/issue/dispatch.h"
#include "engine/issue/issue.h"
#include "op/instead.h"
#include "op/launch.h"

#include <string.h>

bool acui_issuing(void)
{
    return acui_callback_is_bound(ACUI_BOUND_FOREIGN);
}

static CUdeviceptr address_of(const acu_buffer *buffer, size_t offset)
{
    return atomic_load_explicit(&buffer->address, memory_order_acquire) + offset;
}

static acu_status enqueue_fill(const acui_node *node, acu_stream *stream)
{
    acu_device *device = node->device;
    CUdeviceptr at = address_of(node->u.fill.buffer, node->u.fill.offset);
    size_t n = node->u.fill.elements;
    uint64_t bits = node->u.fill.bits;
    if (node->u.fill.element_bytes == 1)
        return ACUI_DEV(device, MemsetD8Async, at, (unsigned char)bits, n, stream->raw);
    if (node->u.fill.element_bytes == 2)
        return ACUI_DEV(device, MemsetD16Async, at, (unsigned short)bits, n, stream->raw);
    return ACUI_DEV(device, MemsetD32Async, at, (unsigned)bits, n, stream->raw);
}

static bool on_host(const acu_buffer *buffer)
{
    return buffer->host != NULL;
}

/* `other` is the device that is not the node's; it must not be reset meanwhile. */
static acu_status copy_between(const acui_node *node, acu_device *other, acu_stream *stream)
{
    struct acui_holder *holder;
    if (!acui_hold(other, &holder))
        return acui_device_check(other);
    acu_buffer *dst = node->u.copy.dst, *src = node->u.copy.src;
    acu_status status =
        ACUI_DEV(node->device, MemcpyPeerAsync, address_of(dst, node->u.copy.dst_offset),
                 dst->device->context, address_of(src, node->u.copy.src_offset),
                 src->device->context, node->u.copy.bytes, stream->raw);
    acui_unhold(holder);
    return status;
}

/* A copy of rows and slices on one device, or between it and the host. */
static acu_status copy_box(const acui_node *node, acu_stream *stream)
{
    const acui_box *box = node->u.copy.box;
    const acu_buffer *dst = node->u.copy.dst, *src = node->u.copy.src;
    acu_CUDA_MEMCPY3D p = {.WidthInBytes = box->width,
                           .Height = box->height,
                           .Depth = box->depth,
                           .dstPitch = box->dst_pitch,
                           .dstHeight = box->dst_height,
                           .srcPitch = box->src_pitch,
                           .srcHeight = box->src_height,
                           .dstMemoryType = ACU_CU_MEMORYTYPE_DEVICE,
                           .srcMemoryType = ACU_CU_MEMORYTYPE_DEVICE};
    if (on_host(dst)) {
        p.dstMemoryType = ACU_CU_MEMORYTYPE_HOST;
        p.dstHost = (char *)dst->host + node->u.copy.dst_offset;
    } else {
        p.dstDevice = address_of(dst, node->u.copy.dst_offset);
    }
    if (on_host(src)) {
        p.srcMemoryType = ACU_CU_MEMORYTYPE_HOST;
        p.srcHost = (const char *)src->host + node->u.copy.src_offset;
    } else {
        p.srcDevice = address_of(src, node->u.copy.src_offset);
    }
    if (box->depth > 1)
        return ACUI_DEV(node->device, Memcpy3DAsync, &p, stream->raw);
    acu_CUDA_MEMCPY2D flat = {.srcMemoryType = p.srcMemoryType,
                              .srcHost = p.srcHost,
                              .srcDevice = p.srcDevice,
                              .srcPitch = p.srcPitch,
                              .dstMemoryType = p.dstMemoryType,
                              .dstHost = p.dstHost,
                              .dstDevice = p.dstDevice,
                              .dstPitch = p.dstPitch,
                              .WidthInBytes = p.WidthInBytes,
                              .Height = p.Height};
    return ACUI_DEV(node->device, Memcpy2DAsync, &flat, stream->raw);
}

static acu_status enqueue_copy(const acui_node *node, acu_stream *stream)
{
    if (node->u.copy.box)
        return copy_box(node, stream);
    acu_device *device = node->device;
    acu_buffer *dst = node->u.copy.dst, *src = node->u.copy.src;
    size_t to = node->u.copy.dst_offset, from = node->u.copy.src_offset;
    size_t bytes = node->u.copy.bytes;
    if (on_host(src))
        return ACUI_DEV(device, MemcpyHtoDAsync, address_of(dst, to), (char *)src->host + from,
                        bytes, stream->raw);
    if (on_host(dst))
        return ACUI_DEV(device, MemcpyDtoHAsync, (char *)dst->host + to, address_of(src, from),
                        bytes, stream->raw);
    if (dst->device == src->device)
        return ACUI_DEV(device, MemcpyDtoDAsync, address_of(dst, to), address_of(src, from), bytes,
                        stream->raw);
    return copy_between(node, dst->device == device ? src->device : dst->device, stream);
}

unsigned acui_launch_attributes(const acu_config *c,
                                acu_CUlaunchAttribute list[ACUI_LAUNCH_ATTRIBUTES])
{
    unsigned n = 0;
    memset(list, 0, ACUI_LAUNCH_ATTRIBUTES * sizeof *list);
    if (c->cooperative) {
        list[n].id = ACU_CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        list[n++].value.cooperative = 1;
    }
    if (c->programmatic) {
        list[n].id = ACU_CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        list[n++].value.programmaticStreamSerializationAllowed = 1;
    }
    if (c->cluster[0]) {
        list[n].id = ACU_CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        list[n].value.clusterDim.x = c->cluster[0];
        list[n].value.clusterDim.y = c->cluster[1];
        list[n++].value.clusterDim.z = c->cluster[2];
    }
    return n;
}

/* Launches that need more than cuLaunchKernel takes. */
static acu_status launch_special(const acui_node *node, void **params, acu_stream *stream)
{
    const acu_config config = acui_launch_config(node), *c = &config;
    CUfunction function = node->u.launch.kernel->raw;
    acu_CUlaunchAttribute list[ACUI_LAUNCH_ATTRIBUTES];
    if (c->cooperative && !c->programmatic && !c->cluster[0])
        return ACUI_DEV(node->device, LaunchCooperativeKernel, function, c->grid[0], c->grid[1],
                        c->grid[2], c->block[0], c->block[1], c->block[2], (unsigned)c->shared,
                        stream->raw, params);
    const acu_CUlaunchConfig how = {.gridDimX = c->grid[0], .gridDimY = c->grid[1],
                                       .gridDimZ = c->grid[2], .blockDimX = c->block[0],
                                       .blockDimY = c->block[1], .blockDimZ = c->block[2],
                                       .sharedMemBytes = (unsigned)c->shared,
                                       .hStream = stream->raw, .attrs = list,
                                       .numAttrs = acui_launch_attributes(c, list)};
    return ACUI_DEV(node->device, LaunchKernelEx, &how, function, params, NULL);
}

static acu_status launch(const acui_node *node, void **params, acu_stream *stream)
{
    const acui_dims *d = &node->u.launch.dims;
    for (uint32_t i = 0; i < node->u.launch.count; i++)
        params[i] = acui_launch_param(node, i);
    if (acui_launch_is_special(node))
        return launch_special(node, params, stream);
    return ACUI_DEV(node->device, LaunchKernel, node->u.launch.kernel->raw, d->grid[0], d->grid[1],
                    d->grid[2], d->block[0], d->block[1], d->block[2], d->shared, stream->raw,
                    params, NULL);
}

static acu_status enqueue_launch(acui_node *node, acu_stream *stream)
{
    enum { FEW = 64 };
    void *few[FEW], **params = few;
    if (acui_launch_instead(node)) {
        bool done = false;
        acu_status status = acui_instead_call(node, stream->raw, &done);
        if (done || status != ACU_OK)
            return status;
    }
    if (node->u.launch.count > FEW && !(params = ACUI_NEW_ARRAY(void *, node->u.launch.count)))
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for the parameters of %s", node->name);
    acu_status status = launch(node, params, stream);
    if (params != few)
        acui_free(params);
    return status;
}

acu_status acui_call_foreign(const acui_node *node, CUstream stream)
{
    const acu_op *op = node->u.call.op;
    bool own = op->class != &acui_class_FOREIGN || op->u.call.own; /* one of acuda's ops */
    acu_status was = ACU_OK;
    if (own)
        acui_callback_enter();
    else
        was = acui_callback_enter_asked();
    acui_callback_bind(ACUI_BOUND_FOREIGN);
    acui_user_code_begin();
    acu_status status = op->u.call.foreign(op->user.data, stream, node->u.call.values,
                                           node->u.call.count);
    acui_user_code_end();
    acui_callback_unbind(ACUI_BOUND_FOREIGN);
    if (!own)
        return acui_callback_leave_asked(was, status, "acu_foreign");
    acui_callback_leave();
    return status;
}

static acu_status never_allocated(const acui_node *node)
{
    return acui_fail(ACU_ERR_DEPENDENCY, "the memory that %s uses was never allocated: the "
                     "submission that makes it failed or was refused", node->name);
}

/* A tensor that a `then` got from a submission which was refused after all has no memory. A launch
 * was given all other addresses when it was planned. */
acu_status acui_resolve_addresses(acui_node *node)
{
    if (node->kind == ACUI_NODE_LAUNCH) {
        for (const acui_late *late = node->u.launch.late; late; late = late->next) {
            CUdeviceptr address = address_of(late->buffer, 0);
            if (address == 0)
                return never_allocated(node);
            address += late->offset;
            memcpy(acui_launch_data(node) + late->at, &address, sizeof address);
        }
        return ACU_OK;
    }
    for (uint32_t i = 0; i < node->access_count; i++) {
        const acu_buffer *buffer = node->accesses[i].use->buffer;
        if ((!buffer->host && address_of(buffer, 0) == 0) || acui_buffer_is_bare(buffer))
            return never_allocated(node);
    }
    return ACU_OK;
}

static acu_status enqueue(acui_node *node, acu_stream *stream)
{
    switch (node->kind) {
    case ACUI_NODE_UPLOAD:
        return ACUI_DEV(node->device, MemcpyHtoDAsync,
                        address_of(node->u.upload.buffer, node->u.upload.offset),
                        node->u.upload.data, node->u.upload.bytes, stream->raw);
    case ACUI_NODE_FILL:
        return enqueue_fill(node, stream);
    case ACUI_NODE_COPY:
        return enqueue_copy(node, stream);
    case ACUI_NODE_LAUNCH:
        return enqueue_launch(node, stream);
    case ACUI_NODE_FOREIGN:
        return acui_call_foreign(node, acui_stream_show(stream));
    case ACUI_NODE_REPLAY:
        return node->u.replay.launch(node->u.replay.graph, stream);
    case ACUI_NODE_ALLOC: /* memory.c */
    case ACUI_NODE_HOST:
    case ACUI_NODE_STAGE:
    case ACUI_NODE_DECIDE:
    case ACUI_NODE_AWAIT:
    case ACUI_NODE_USE:
        break; /* worker.c */
    }
    return acui_fail(ACU_ERR_INVALID, "%s is no work for a stream", node->name);
}

acu_status acui_enqueue(acui_node *node, acu_stream *stream)
{
    acui_nvtx_push(node->name);
    acu_status status = enqueue(node, stream);
    acui_nvtx_pop();
    return status;
}
