/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Other APIs' memory: without a GPU a file in memory (memfd) stands for it. */
#include "driver/virtual.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE UINT64_C(4096)

typedef struct external {
    sd_object object;
    sd_device *device;
    int fd; /* owned */
    uint64_t bytes;
} external;

static void destroy(sd_object *object)
{
    external *memory = (external *)object;
    sd_context *context = object->context;
    close(memory->fd);
    free(memory);
    sd_object_put(&context->object);
}

/* Whether the descriptor is a file in memory of at least that size. */
static bool is_file(int fd, uint64_t bytes)
{
    struct stat facts;
    return fcntl(fd, F_GET_SEALS) >= 0 && fstat(fd, &facts) == 0 &&
           bytes <= (uint64_t)facts.st_size;
}

static unsigned check_desc(const acu_CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc)
{
    if (!desc || !desc->size || desc->flags & ~(unsigned)ACU_CUDA_EXTERNAL_MEMORY_DEDICATED)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    if (desc->type != ACU_CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD)
        return ACU_CUDA_ERROR_NOT_SUPPORTED;
    return is_file(desc->handle.fd, desc->size) ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_INVALID_VALUE;
}

unsigned sd_cuImportExternalMemory(CUexternalMemory *handle,
                                   const acu_CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc)
{
    SD_CURRENT(context);
    unsigned result = handle ? check_desc(desc) : ACU_CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    external *memory = malloc(sizeof *memory);
    if (!memory)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    *memory = (external){.device = context->device, .fd = desc->handle.fd, .bytes = desc->size};
    if (!sd_object_publish(&memory->object, SD_KIND_EXTERNAL, destroy)) {
        free(memory);
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    }
    sd_context_adopt(context, &memory->object);
    *handle = memory->object.handle; /* from now on the descriptor is the driver's */
    return ACU_CUDA_SUCCESS;
}

/* Maps whole pages; only the bytes that were asked for are valid. */
static unsigned map(sd_context *context, const external *memory, uint64_t offset, uint64_t bytes,
                    CUdeviceptr *address)
{
    sd_device *device = memory->device;
    uint64_t within = offset & (PAGE - 1);
    sd_mapping *made = NULL;
    unsigned result = ACU_CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&device->lock);
    sd_block *block = sd_reserve(device, (bytes + within + PAGE - 1) & ~(PAGE - 1), PAGE, context);
    if (block) {
        struct sd_reservation *range = block->reservation;
        range->external = true;
        result = sd_map(device, range, range->address + within, bytes, memory->fd, offset - within,
                        &made);
        if (result)
            sd_unreserve(device, block);
    }
    if (made) {
        sd_mapping_open(device, made, true);
        *address = made->address;
    }
    pthread_mutex_unlock(&device->lock);
    return result;
}

unsigned sd_cuExternalMemoryGetMappedBuffer(CUdeviceptr *address, CUexternalMemory handle,
                                            const acu_CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc)
{
    SD_CURRENT(context);
    external *memory = sd_object_get(SD_KIND_EXTERNAL, handle);
    if (!memory)
        return ACU_CUDA_ERROR_INVALID_HANDLE;
    unsigned result = ACU_CUDA_ERROR_INVALID_VALUE;
    if (address && desc && desc->size && !desc->flags && desc->offset <= memory->bytes &&
        desc->size <= memory->bytes - desc->offset)
        result = map(context, memory, desc->offset, desc->size, address);
    sd_object_put(&memory->object);
    return result;
}

unsigned sd_cuDestroyExternalMemory(CUexternalMemory handle)
{
    SD_CURRENT(context);
    external *memory = sd_object_get(SD_KIND_EXTERNAL, handle);
    if (!memory)
        return ACU_CUDA_ERROR_INVALID_HANDLE;
    bool released = sd_context_release(&memory->object);
    sd_object_put(&memory->object);
    return released ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_INVALID_HANDLE;
}
