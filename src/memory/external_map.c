/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Imported and exportable memory, in the driver. */
#include "base/error.h"
#include "memory/external.h"
#include "memory/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* ---- what there is ---- */

static acu_status has_calls(acu_driver_call first, const char *what)
{
    if (acu_driver_has(first))
        return ACU_OK;
    return acui_fail(ACU_ERR_NOT_SUPPORTED, "the driver has no %s, and with that no %s",
                     acu_driver_call_name(first), what);
}

static bool has_attribute(acu_device *device, unsigned attribute)
{
    int value = 0;
    return device->cu->DeviceGetAttribute(&value, attribute, device->raw) == ACU_CUDA_SUCCESS &&
           value != 0;
}

acu_status acui_external_supported(acu_device *device, acu_external_kind kind)
{
    if (kind != ACU_EXTERNAL_CUDA)
        return has_calls(ACU_CALL_ImportExternalMemory, "memory of other APIs");
    ACUI_TRY(has_calls(ACU_CALL_MemCreate, "memory for other processes"));
    if (!has_attribute(device, ACU_CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) ||
        !has_attribute(device, ACU_CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED))
        return acui_fail(ACU_ERR_NOT_SUPPORTED,
                         "device %d (%s) has no memory that is shared as a file descriptor",
                         device->info.ordinal, device->info.name);
    return ACU_OK;
}

/* Put what was being done in front of the driver's message; a lost device has a message of its
 * own. */
ACU_PRINTF(2, 3) static acu_status because(acu_status st, const char *format, ...)
{
    if (st == ACU_OK || acu_status_scope(st) == ACU_SCOPE_DEVICE)
        return st;
    acu_error *error = acui_error();
    va_list args;
    va_start(args, format);
    vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    return st;
}

/* ---- CUDA's own ---- */

static acu_CUmemAllocationProp prop_of(const acu_device *device)
{
    return (acu_CUmemAllocationProp){
        .type = ACU_CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = ACU_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {.type = ACU_CU_MEM_LOCATION_TYPE_DEVICE, .id = device->raw}};
}

static acu_status find_span(acu_external *e)
{
    acu_CUmemAllocationProp prop = prop_of(e->device);
    size_t step = 0;
    ACUI_TRY(because(ACUI_DEV(e->device, MemGetAllocationGranularity, &step, &prop,
                              ACU_CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                     "in which steps memory is shared"));
    if (step == 0 || e->bytes > SIZE_MAX - step)
        return acui_fail(ACU_ERR_DEVICE_MEMORY, "there are no %zu bytes", e->bytes);
    e->span = (e->bytes + step - 1) / step * step;
    return ACU_OK;
}

static acu_status map(acu_external *e)
{
    acu_device *device = e->device;
    ACUI_TRY(because(ACUI_DEV(device, MemAddressReserve, &e->address, e->span, 0, 0, 0),
                     "reserving %zu bytes of addresses", e->span));
    e->reserved = true;
    ACUI_TRY(because(ACUI_DEV(device, MemMap, e->address, e->span, 0, e->handle, 0),
                     "mapping %zu bytes: is the memory as large as that?", e->span));
    e->mapped = true;
    /* Read-only access is enforced on the host, because not all devices support it. */
    acu_CUmemAccessDesc access = {
        .location = {.type = ACU_CU_MEM_LOCATION_TYPE_DEVICE, .id = device->raw},
        .flags = ACU_CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    return because(ACUI_DEV(device, MemSetAccess, e->address, e->span, &access, 1),
                   "making %zu bytes of shared memory accessible to device %d", e->span,
                   device->info.ordinal);
}

acu_status acui_external_create(acu_external *e)
{
    acu_CUmemAllocationProp prop = prop_of(e->device);
    ACUI_TRY(find_span(e));
    ACUI_TRY(because(ACUI_DEV(e->device, MemCreate, &e->handle, e->span, &prop, 0),
                     "allocating %zu bytes that can be handed to other processes", e->span));
    e->allocated = true;
    return map(e);
}

static acu_status take_cuda(acu_external *e, int fd)
{
    ACUI_TRY(find_span(e));
    ACUI_TRY(because(ACUI_DEV(e->device, MemImportFromShareableHandle, &e->handle,
                              (void *)(intptr_t)fd, ACU_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
                     "the driver does not take descriptor %d as memory of CUDA's", fd));
    e->allocated = true;
    return map(e);
}

/* ---- that of others ---- */

/* If the driver accepts the descriptor, it owns it. */
static acu_status take_foreign(acu_external *e, const acu_external_options *options, int fd)
{
    bool dma_buf = options->kind == ACU_EXTERNAL_DMA_BUF;
    acu_CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = {
        .type = dma_buf ? ACU_CU_EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD
                        : ACU_CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
        .handle = {.fd = fd},
        .size = e->bytes,
        .flags = options->dedicated ? ACU_CUDA_EXTERNAL_MEMORY_DEDICATED : 0};
    acu_status st = because(ACUI_DEV(e->device, ImportExternalMemory, &e->foreign, &desc),
                            "the driver does not take descriptor %d as %s of %zu bytes",
                            options->fd, dma_buf ? "a dma-buf" : "memory of another API", e->bytes);
    if (st != ACU_OK) {
        e->foreign = NULL;
        close(fd);
        return st;
    }
    acu_CUDA_EXTERNAL_MEMORY_BUFFER_DESC all = {.size = e->bytes};
    st = because(ACUI_DEV(e->device, ExternalMemoryGetMappedBuffer, &e->address, e->foreign, &all),
                 "mapping %zu bytes of another API: is the memory as large as that?", e->bytes);
    e->mapped = st == ACU_OK;
    return st;
}

acu_status acui_external_take(acu_external *e, const acu_external_options *options)
{
    int before = errno;
    int fd = fcntl(options->fd, F_DUPFD_CLOEXEC, 0);
    acu_status st;
    if (fd < 0)
        st = acui_fail(ACU_ERR_INVALID,
                       "acu_external_import: descriptor %d is not open, or there are too "
                       "many",
                       options->fd);
    else if (e->kind == ACU_EXTERNAL_CUDA) {
        st = take_cuda(e, options->fd);
        close(fd);
    } else {
        st = take_foreign(e, options, fd);
    }
    errno = before;
    return st;
}

/* ---- giving back ---- */

static void unmap_cuda(const acu_external *e)
{
    const acu_driver_table *cu = e->device->cu;
    if (e->mapped)
        cu->MemUnmap(e->address, e->span);
    if (e->reserved)
        cu->MemAddressFree(e->address, e->span);
    if (e->allocated)
        cu->MemRelease(e->handle);
}

void acui_external_unmap(acu_external *e)
{
    const acu_driver_table *cu = e->device->cu;
    acui_entered entered;
    acui_memory_returns();
    bool works = acui_enter_to_free(e->device, &entered);
    if (e->kind == ACU_EXTERNAL_CUDA)
        unmap_cuda(e); /* these calls need no context, so they work even if it is gone */
    else if (works && e->foreign) {
        if (e->mapped)
            cu->MemFree(e->address);
        cu->DestroyExternalMemory(e->foreign);
    }
    acui_leave(&entered);
}
