/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One executable graph (an exec): made from a run, by the thread in build.c or for graph/graph.c;
 * then set to other runs of its signature and launched, by the thread that has claimed it
 * (graphs.c). */
#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/trace.h"
#include "driver/nvtx.h"
#include "engine/issue/graphs.h"
#include "engine/issue/issue.h"
#include "op/call.h"
#include "op/launch.h"

#include <string.h>

/* ---- what a node is set to ---- */

static CUdeviceptr address_of(const acu_buffer *buffer, size_t offset)
{
    if (buffer->host)
        return (CUdeviceptr)(uintptr_t)buffer->host + offset;
    return atomic_load_explicit(&buffer->address, memory_order_acquire) + offset;
}

static acui_setting copy_of(const acui_node *node)
{
    const acu_buffer *dst = node->u.copy.dst, *src = node->u.copy.src;
    return (acui_setting){.kind = ACUI_NODE_COPY,
                          .dst_host = dst->host != NULL,
                          .src_host = src->host != NULL,
                          .u.memory = {.dst = address_of(dst, node->u.copy.dst_offset),
                                       .from.src = address_of(src, node->u.copy.src_offset),
                                       .length = node->u.copy.bytes,
                                       .returned = acui_memory_returned()}};
}

static acui_setting fill_of(const acui_node *node)
{
    uint32_t bytes = (uint32_t)node->u.fill.element_bytes, value = (uint32_t)node->u.fill.bits;
    if (bytes < 4)
        value &= (1u << 8 * bytes) - 1;
    return (acui_setting){.kind = ACUI_NODE_FILL,
                          .u.memory = {.dst = address_of(node->u.fill.buffer, node->u.fill.offset),
                                       .from.element = {.value = value, .bytes = bytes},
                                       .length = node->u.fill.elements,
                                       .returned = acui_memory_returned()}};
}

/* Of a node that is no launch. */
static acui_setting memory_of(const acui_node *node)
{
    return node->kind == ACUI_NODE_COPY ? copy_of(node) : fill_of(node);
}

/* Of what a launch is set to. A library that is asked gets temporary memory, whose address follows
 * the parameters. */
static uint32_t data_bytes(const acui_node *node)
{
    return node->u.launch.bytes + (acui_launch_instead(node) ? 8 : 0);
}

static bool same_launch(const acui_setting *s, const acui_node *node)
{
    return s->u.launch.bytes == data_bytes(node) &&
           memcmp(s->u.launch.data, acui_launch_data(node), s->u.launch.bytes) == 0 &&
           memcmp(&s->dims, &node->u.launch.dims, sizeof s->dims) == 0;
}

static bool same_memory(const acui_setting *s, const acui_setting *t)
{
    return s->u.memory.dst == t->u.memory.dst && s->u.memory.from.src == t->u.memory.from.src &&
           s->u.memory.length == t->u.memory.length &&
           s->u.memory.returned == t->u.memory.returned;
}

/* ---- the driver's structs ---- */

static acu_CUDA_KERNEL_NODE_PARAMS_v1 kernel_params(const acui_setting *s)
{
    const acui_dims *d = &s->dims;
    return (acu_CUDA_KERNEL_NODE_PARAMS_v1){.func = s->u.launch.function,
                                            .gridDimX = d->grid[0],
                                            .gridDimY = d->grid[1],
                                            .gridDimZ = d->grid[2],
                                            .blockDimX = d->block[0],
                                            .blockDimY = d->block[1],
                                            .blockDimZ = d->block[2],
                                            .sharedMemBytes = d->shared,
                                            .kernelParams = s->u.launch.pointers};
}

/* The sizes of a copy by rows, or of one run of bytes (`box` NULL). With one slice the heights mean
 * nothing, but must be large enough. */
static acu_CUDA_MEMCPY3D sizes_of(uint64_t length, const acui_box *box)
{
    if (!box)
        return (acu_CUDA_MEMCPY3D){.WidthInBytes = length, .Height = 1, .Depth = 1};
    return (acu_CUDA_MEMCPY3D){.WidthInBytes = box->width,
                               .Height = box->height,
                               .Depth = box->depth,
                               .srcPitch = box->src_pitch,
                               .srcHeight = box->depth > 1 ? box->src_height : box->height,
                               .dstPitch = box->dst_pitch,
                               .dstHeight = box->depth > 1 ? box->dst_height : box->height};
}

static acu_CUDA_MEMCPY3D copy_params(const acui_setting *s, const acui_box *box)
{
    CUdeviceptr dst = s->u.memory.dst, src = s->u.memory.from.src;
    acu_CUDA_MEMCPY3D p = sizes_of(s->u.memory.length, box);
    p.srcMemoryType = s->src_host ? ACU_CU_MEMORYTYPE_HOST : ACU_CU_MEMORYTYPE_DEVICE;
    p.dstMemoryType = s->dst_host ? ACU_CU_MEMORYTYPE_HOST : ACU_CU_MEMORYTYPE_DEVICE;
    if (s->src_host)
        p.srcHost = (const void *)(uintptr_t)src;
    else
        p.srcDevice = src;
    if (s->dst_host)
        p.dstHost = (void *)(uintptr_t)dst;
    else
        p.dstDevice = dst;
    return p;
}

static acu_CUDA_MEMSET_NODE_PARAMS fill_params(const acui_setting *s)
{
    return (acu_CUDA_MEMSET_NODE_PARAMS){.dst = s->u.memory.dst,
                                         .value = s->u.memory.from.element.value,
                                         .elementSize = s->u.memory.from.element.bytes,
                                         .width = s->u.memory.length,
                                         .height = 1};
}

/* ---- making: first what to make, in memory of its own; later the driver's objects ---- */

static size_t count_edges(const acui_run *run)
{
    uint32_t first = run->nodes[0]->position;
    size_t n = 0;
    for (uint32_t i = 0; i < run->count; i++)
        for (uint32_t k = 0; k < run->nodes[i]->before_count; k++)
            n += acui_node_before(run->nodes[i])[k]->position >= first;
    return n;
}

static bool keep_edges(acui_exec *exec, const acui_run *run)
{
    uint32_t first = run->nodes[0]->position, *edge;
    size_t n = count_edges(run);
    exec->edge_count = (uint32_t)n;
    exec->edges = edge = ACUI_NEW_ARRAY(uint32_t, 2 * n + 1);
    if (!edge)
        return false;
    for (uint32_t i = 0; i < run->count; i++)
        for (uint32_t k = 0; k < run->nodes[i]->before_count; k++)
            if (acui_node_before(run->nodes[i])[k]->position >= first) {
                *edge++ = acui_node_before(run->nodes[i])[k]->position - first;
                *edge++ = i;
            }
    return true;
}

static bool same_call(const acui_setting *s, const acui_node *node)
{
    for (size_t i = 0; i < node->u.call.count; i++)
        if (s->u.call.addresses[i] != acui_call_address(node, i))
            return false;
    return true;
}

static void hold_buffers(acui_needs *needs, const acui_node *node)
{
    for (uint32_t i = 0; i < node->access_count; i++)
        needs->buffers[needs->buffer_count++] = acu_buffer_retain(node->accesses[i].use->buffer);
}

/* Bytes of the block that a node has in exec->params: a launch's pointers, then its data; a call's
 * addresses. */
static size_t params_bytes(const acui_node *node)
{
    if (node->kind == ACUI_NODE_FOREIGN)
        return node->u.call.count * sizeof(CUdeviceptr);
    if (node->kind != ACUI_NODE_LAUNCH)
        return 0;
    return node->u.launch.count * sizeof(void *) + ((data_bytes(node) + 7) & ~(size_t)7);
}

/* `params`: its block. */
static void keep_launch(acui_exec *exec, uint32_t i, const acui_node *node, char *params)
{
    void **pointers = (void **)(void *)params;
    char *data = params + node->u.launch.count * sizeof(void *);
    exec->settings[i] = (acui_setting){.kind = ACUI_NODE_LAUNCH,
                                       .dims = node->u.launch.dims,
                                       .u.launch = {.function = node->u.launch.kernel->raw,
                                                    .data = data,
                                                    .pointers = pointers,
                                                    .bytes = data_bytes(node),
                                                    .count = node->u.launch.count}};
    memcpy(data, acui_launch_data(node), data_bytes(node));
    for (uint32_t k = 0; k < node->u.launch.count; k++)
        pointers[k] = data + acui_launch_at(node, k);
    exec->extras[i].config = acui_launch_config(node);
    exec->needs.kernels[exec->needs.kernel_count++] = acu_kernel_retain(node->u.launch.kernel);
}

/* `params`: its block. */
static void keep_call(acui_exec *exec, uint32_t i, const acui_node *node, char *params)
{
    acui_setting *s = &exec->settings[i];
    const acui_own_call *own = node->u.call.op->u.call.own;
    s->kind = (uint8_t)node->kind;
    s->u.call.addresses = (CUdeviceptr *)(void *)params;
    s->u.call.count = (uint32_t)node->u.call.count;
    for (size_t k = 0; k < node->u.call.count; k++)
        s->u.call.addresses[k] = acui_call_address(node, k);
    if (!own || !own->hold)
        return;
    s->u.call.own = own;
    s->u.call.held = own->hold(node->u.call.op->user.data);
}

static void keep_memory(acui_exec *exec, uint32_t i, const acui_node *node)
{
    exec->settings[i] = memory_of(node);
    if (node->kind == ACUI_NODE_COPY)
        exec->extras[i].box = node->u.copy.box;
    hold_buffers(&exec->needs, node);
}

static bool keep_settings(acui_exec *exec, const acui_run *run)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < run->count; i++)
        bytes += params_bytes(run->nodes[i]);
    char *params = exec->params = acui_alloc(bytes + 1);
    if (!params)
        return false;
    for (uint32_t i = 0; i < run->count; i++) {
        acui_node *node = run->nodes[i];
        if (node->kind == ACUI_NODE_FOREIGN)
            keep_call(exec, i, node, params);
        else if (node->kind != ACUI_NODE_LAUNCH)
            keep_memory(exec, i, node);
        else
            keep_launch(exec, i, node, params);
        params += params_bytes(node);
    }
    return true;
}

acui_exec *acui_exec_new(const acui_run *run, acu_device *device)
{
    acui_exec *exec = ACUI_NEW(acui_exec);
    if (!exec)
        return NULL;
    exec->device = device;
    exec->count = run->count;
    exec->calls = run->calls;
    exec->turns = !run->wide;
    atomic_store_explicit(&exec->refs, 1, memory_order_relaxed);
    exec->nodes = ACUI_NEW_ARRAY(CUgraphNode, run->count);
    exec->behind = ACUI_NEW_ARRAY(CUgraphNode, run->count);
    exec->settings = ACUI_NEW_ARRAY(acui_setting, run->count);
    exec->extras = ACUI_NEW_ARRAY(acui_extra, run->count);
    exec->needs.kernels = ACUI_NEW_ARRAY(acu_kernel *, run->count);
    exec->needs.buffers = ACUI_NEW_ARRAY(acu_buffer *, 2 * (size_t)run->count); /* a copy has two */
    if (exec->nodes && exec->behind && exec->settings && exec->extras && exec->needs.kernels &&
        exec->needs.buffers && keep_edges(exec, run) && keep_settings(exec, run))
        return exec;
    acui_exec_free(exec);
    return NULL;
}

/* Collect the nodes that node `i` comes behind in exec->behind, from *edge on, which moves past the
 * edges of node `i`. Returns how many. */
static size_t collect_behind(acui_exec *exec, uint32_t i, const uint32_t **edge)
{
    const uint32_t *end = exec->edges + 2 * (size_t)exec->edge_count;
    size_t n = 0;
    for (; *edge < end && (*edge)[1] == i; *edge += 2)
        exec->behind[n++] = exec->nodes[(*edge)[0]];
    return n;
}

/* Add a launch, with those attributes that stay when other parameters are set. */
static acu_status add_launch(acui_exec *exec, uint32_t i, size_t behind)
{
    acu_device *device = exec->device;
    const acui_setting *s = &exec->settings[i];
    acu_CUDA_KERNEL_NODE_PARAMS_v1 p = kernel_params(s);
    acu_CUlaunchAttribute list[ACUI_LAUNCH_ATTRIBUTES];
    ACUI_TRY(ACUI_DEV(device, GraphAddKernelNode, &exec->nodes[i], exec->graph, exec->behind,
                      behind, &p));
    unsigned count = acui_launch_attributes(&exec->extras[i].config, list);
    for (unsigned k = 0; k < count; k++)
        ACUI_TRY(ACUI_DEV(device, GraphKernelNodeSetAttribute, exec->nodes[i], list[k].id,
                          &list[k].value));
    return ACU_OK;
}

acu_status acui_exec_capture(acui_exec *exec, const acui_run *run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        if (!acui_is_call(run->nodes[i]))
            continue;
        ACUI_TRY(acui_capture(exec, i, run->nodes[i], &exec->extras[i].captured));
        exec->settings[i].captured = exec->extras[i].captured != NULL;
    }
    return ACU_OK;
}

static acu_status add_node(acui_exec *exec, uint32_t i, size_t behind)
{
    acu_device *device = exec->device;
    const acui_setting *s = &exec->settings[i];
    if (s->captured) /* the node has a copy of it */
        return ACUI_DEV(device, GraphAddChildGraphNode, &exec->nodes[i], exec->graph, exec->behind,
                        behind, exec->extras[i].captured);
    if (s->kind == ACUI_NODE_LAUNCH)
        return add_launch(exec, i, behind);
    if (s->kind == ACUI_NODE_COPY) {
        acu_CUDA_MEMCPY3D p = copy_params(s, exec->extras[i].box);
        return ACUI_DEV(device, GraphAddMemcpyNode, &exec->nodes[i], exec->graph, exec->behind,
                        behind, &p, device->context);
    }
    acu_CUDA_MEMSET_NODE_PARAMS p = fill_params(s);
    return ACUI_DEV(device, GraphAddMemsetNode, &exec->nodes[i], exec->graph, exec->behind, behind,
                    &p, device->context);
}

/* One call adds each node with its edges. */
static acu_status add_nodes(acui_exec *exec)
{
    const uint32_t *edge = exec->edges;
    for (uint32_t i = 0; i < exec->count; i++)
        ACUI_TRY(add_node(exec, i, collect_behind(exec, i, &edge)));
    return ACU_OK;
}

/* What is needed only for making it; see also acui_exec_take_needs. */
static void free_making(acui_exec *exec)
{
    for (uint32_t i = 0; exec->extras && i < exec->count; i++)
        if (exec->extras[i].captured && !acui_device_lost(exec->device))
            exec->device->cu->GraphDestroy(exec->extras[i].captured);
    acui_free(exec->behind);
    acui_free(exec->edges);
    acui_free(exec->extras);
    exec->behind = NULL;
    exec->edges = NULL;
    exec->extras = NULL;
}

static acu_status make(acui_exec *exec)
{
    acu_device *device = exec->device;
    ACUI_TRY(ACUI_DEV(device, GraphCreate, &exec->graph, 0));
    ACUI_TRY(add_nodes(exec));
    ACUI_TRY(ACUI_DEV(device, GraphInstantiateWithFlags, &exec->raw, exec->graph, 0));
    free_making(exec);
    return ACU_OK;
}

acu_status acui_exec_make(acui_exec *exec)
{
    uint64_t from = acui_trace_from();
    acu_status st = make(exec);
    acui_trace_slice(from, "make", "a graph, nodes: %u", (unsigned)exec->count);
    return st;
}

/* ---- launching ---- */

static acu_status set_launch(acui_exec *exec, uint32_t i, const acui_node *node)
{
    acui_setting *s = &exec->settings[i];
    s->dims = node->u.launch.dims;
    memcpy(s->u.launch.data, acui_launch_data(node), s->u.launch.bytes);
    acu_CUDA_KERNEL_NODE_PARAMS_v1 p = kernel_params(s);
    return ACUI_DEV(exec->device, GraphExecKernelNodeSetParams, exec->raw, exec->nodes[i], &p);
}

static acu_status set_memory(acui_exec *exec, uint32_t i, const acui_setting *wanted)
{
    acu_device *device = exec->device;
    exec->settings[i] = *wanted;
    if (wanted->kind == ACUI_NODE_COPY) {
        acu_CUDA_MEMCPY3D p = copy_params(wanted, NULL); /* copies by rows are not set: runs.c */
        return ACUI_DEV(device, GraphExecMemcpyNodeSetParams, exec->raw, exec->nodes[i], &p,
                        device->context);
    }
    acu_CUDA_MEMSET_NODE_PARAMS p = fill_params(wanted);
    return ACUI_DEV(device, GraphExecMemsetNodeSetParams, exec->raw, exec->nodes[i], &p,
                    device->context);
}

/* The node is captured anew, and what it was set to noted. */
static acu_status set_call(acui_exec *exec, uint32_t i, acui_node *node)
{
    acui_setting *s = &exec->settings[i];
    CUgraph captured;
    ACUI_TRY(acui_capture(exec, i, node, &captured));
    if (!captured)
        return acui_fail(ACU_ERR_NOT_SUPPORTED, "a library declines what it did before");
    if (s->kind == ACUI_NODE_LAUNCH)
        memcpy(s->u.launch.data, acui_launch_data(node), s->u.launch.bytes);
    for (uint32_t k = 0; s->kind == ACUI_NODE_FOREIGN && k < s->u.call.count; k++)
        s->u.call.addresses[k] = acui_call_address(node, k);
    acu_status status = ACUI_DEV(exec->device, GraphExecChildGraphNodeSetParams, exec->raw,
                                 exec->nodes[i], captured);
    exec->device->cu->GraphDestroy(captured);
    return status;
}

/* Parameters that have the right values already are not set again. */
static acu_status set_node(acui_exec *exec, uint32_t i, acui_node *node, uint32_t *set)
{
    const acui_setting *s = &exec->settings[i];
    if (node->kind == ACUI_NODE_LAUNCH || node->kind == ACUI_NODE_FOREIGN) {
        if (node->kind == ACUI_NODE_LAUNCH ? same_launch(s, node) : same_call(s, node))
            return ACU_OK;
        ++*set;
        return s->captured ? set_call(exec, i, node) : set_launch(exec, i, node);
    }
    acui_setting wanted = memory_of(node);
    if (same_memory(&exec->settings[i], &wanted))
        return ACU_OK;
    ++*set;
    return set_memory(exec, i, &wanted);
}

static uint64_t hash_of_addresses(const acui_node *node)
{
    uint64_t hash = 0, word;
    for (size_t i = 0; node->kind == ACUI_NODE_FOREIGN && i < node->u.call.count; i++)
        hash = acui_hash_with(hash, acui_call_address(node, i));
    for (size_t at = 0; node->kind == ACUI_NODE_LAUNCH && at < data_bytes(node); at += 8) {
        memcpy(&word, acui_launch_data(node) + at, sizeof word);
        hash = acui_hash_with(hash, word);
    }
    return hash;
}

/* Capturing a call anew and launching it as a graph takes the host longer than the call itself. So
 * a call that is alone is set to other addresses once these have come twice in a row. */
static bool is_better_called(acui_exec *exec, const acui_run *run)
{
    const acui_setting *s = &exec->settings[0];
    const acui_node *node = run->nodes[0];
    if (run->count > 1 || !s->captured ||
        (node->kind == ACUI_NODE_LAUNCH ? same_launch(s, node) : same_call(s, node)))
        return false;
    uint64_t addresses = hash_of_addresses(node);
    bool again = exec->addresses == addresses;
    exec->addresses = addresses;
    return !again;
}

acu_status acui_exec_launch_as_is(acui_exec *exec, acu_stream *stream)
{
    /* A launch waits for an upload only if that is on its own stream, or was before an earlier
     * launch. With an upload on another stream some launches never ended, on H200s. */
    if (!exec->uploaded && acu_driver_has(ACU_CALL_GraphUpload))
        ACUI_TRY(ACUI_DEV(exec->device, GraphUpload, exec->raw, stream->raw));
    exec->uploaded = true;
    return ACUI_DEV(exec->device, GraphLaunch, exec->raw, stream->raw);
}

acu_status acui_exec_launch(acui_exec *exec, const acui_run *run, acu_stream *stream,
                            uint32_t *set)
{
    acu_status status = ACU_OK;
    if (is_better_called(exec, run))
        return ACU_NOT_READY;
    if (acui_nvtx_asked())
        acui_nvtx_push_counted(run->nodes[0]->name, run->count);
    for (uint32_t i = 0; i < run->count && status == ACU_OK; i++)
        status = set_node(exec, i, run->nodes[i], set);
    if (status == ACU_OK)
        status = acui_exec_launch_as_is(exec, stream);
    acui_nvtx_pop();
    exec->broken |= status != ACU_OK;
    return status;
}

/* ---- freeing ---- */

acui_needs acui_exec_take_needs(acui_exec *exec)
{
    acui_needs needs = exec->needs;
    exec->needs = (acui_needs){0};
    return needs;
}

void acui_needs_release(acui_needs *needs)
{
    for (uint32_t i = 0; i < needs->kernel_count; i++)
        acu_kernel_release(needs->kernels[i]);
    for (uint32_t i = 0; i < needs->buffer_count; i++)
        acu_buffer_release(needs->buffers[i]);
    acui_free(needs->kernels);
    acui_free(needs->buffers);
    *needs = (acui_needs){0};
}

void acui_exec_free(acui_exec *exec)
{
    const acu_driver_table *cu = exec->device->cu;
    if (!acui_device_lost(exec->device)) {
        if (exec->raw)
            cu->GraphExecDestroy(exec->raw);
        if (exec->graph)
            cu->GraphDestroy(exec->graph);
    }
    for (uint32_t i = 0; exec->settings && i < exec->count; i++)
        if (exec->settings[i].kind == ACUI_NODE_FOREIGN && exec->settings[i].u.call.held)
            exec->settings[i].u.call.own->let_go(exec->settings[i].u.call.held);
    acui_capture_free(exec);
    acui_needs_release(&exec->needs);
    free_making(exec);
    acui_free(exec->params);
    acui_free(exec->settings);
    acui_free(exec->nodes);
    acui_free(exec);
}
