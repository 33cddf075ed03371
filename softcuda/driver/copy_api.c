/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The entry points for copies. Each turns its arguments into a box and a claim about either side
 * (copy.h), and leaves the checks to sd_copy.
 */
#include "driver/copy.h"

#include "driver/pool.h"

static uint64_t number(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

/* ---- one-dimensional ---- */

static unsigned copy_line(CUstream on, uint64_t dst, sd_claim dst_claim, uint64_t src,
                          sd_claim src_claim, size_t bytes, bool waits)
{
    SD_STREAM(stream, on);
    sd_box box = {{dst, bytes, bytes}, {src, bytes, bytes}, bytes, 1, 1};
    unsigned result = sd_copy(stream, &box, dst_claim, src_claim, waits);
    if (waits)
        sd_pools_settle(context->device);
    return result;
}

unsigned sd_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
    return copy_line(NULL, dst, SD_CLAIM_ANY, src, SD_CLAIM_ANY, bytes, true);
}

unsigned sd_cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t bytes)
{
    return copy_line(NULL, dst, SD_CLAIM_DEVICE, number(src), SD_CLAIM_HOST, bytes, true);
}

unsigned sd_cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t bytes)
{
    return copy_line(NULL, number(dst), SD_CLAIM_HOST, src, SD_CLAIM_DEVICE, bytes, true);
}

unsigned sd_cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
    return copy_line(NULL, dst, SD_CLAIM_DEVICE, src, SD_CLAIM_DEVICE, bytes, true);
}

unsigned sd_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream on)
{
    return copy_line(on, dst, SD_CLAIM_ANY, src, SD_CLAIM_ANY, bytes, false);
}

unsigned sd_cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes, CUstream on)
{
    return copy_line(on, dst, SD_CLAIM_DEVICE, number(src), SD_CLAIM_HOST, bytes, false);
}

unsigned sd_cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t bytes, CUstream on)
{
    return copy_line(on, number(dst), SD_CLAIM_HOST, src, SD_CLAIM_DEVICE, bytes, false);
}

unsigned sd_cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream on)
{
    return copy_line(on, dst, SD_CLAIM_DEVICE, src, SD_CLAIM_DEVICE, bytes, false);
}

/* ---- between devices: always possible, with or without peer access ---- */

static unsigned check_contexts(CUcontext one, CUcontext other)
{
    sd_context *a = sd_object_get(SD_KIND_CONTEXT, one);
    sd_context *b = sd_object_get(SD_KIND_CONTEXT, other);
    unsigned result = a && b ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_INVALID_CONTEXT;
    sd_context_leave(&a);
    sd_context_leave(&b);
    return result;
}

unsigned sd_cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src,
                              CUcontext src_context, size_t bytes, CUstream on)
{
    SD_ENTER();
    unsigned result = check_contexts(dst_context, src_context);
    return result ? result
                  : copy_line(on, dst, SD_CLAIM_DEVICE, src, SD_CLAIM_DEVICE, bytes, false);
}

unsigned sd_cuMemcpyPeer(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src,
                         CUcontext src_context, size_t bytes)
{
    return sd_cuMemcpyPeerAsync(dst, dst_context, src, src_context, bytes, NULL);
}

/* ---- two and three dimensions ---- */

/* One side as the structs of the API describe it. */
typedef struct described {
    size_t x, y, z;
    unsigned type;
    const void *host;
    CUdeviceptr device;
    size_t pitch, height;
} described;

static unsigned read_side(const described *d, const sd_box *box, sd_side *side, sd_claim *claim)
{
    uint64_t start = d->device;
    switch (d->type) {
    case ACU_CU_MEMORYTYPE_HOST:
        start = number(d->host);
        *claim = SD_CLAIM_HOST;
        break;
    case ACU_CU_MEMORYTYPE_DEVICE:
        *claim = SD_CLAIM_DEVICE;
        break;
    case ACU_CU_MEMORYTYPE_UNIFIED:
        *claim = SD_CLAIM_ANY;
        break;
    case ACU_CU_MEMORYTYPE_ARRAY:
        return ACU_CUDA_ERROR_NOT_SUPPORTED;
    default:
        return ACU_CUDA_ERROR_INVALID_VALUE;
    }
    uint64_t pitch = d->pitch ? d->pitch : d->x + box->width;
    uint64_t height = d->height ? d->height : d->y + box->height;
    if (pitch < d->x + box->width)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    if (box->depth > 1 && height < d->y + box->height)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    side->pitch = pitch;
    side->slice = pitch * height;
    side->address = start + d->z * side->slice + d->y * pitch + d->x;
    return ACU_CUDA_SUCCESS;
}

static unsigned copy_described(const described *dst, const described *src, size_t width,
                               size_t height, size_t depth, CUstream on, bool waits)
{
    SD_STREAM(stream, on);
    sd_box box = {.width = width, .height = height, .depth = depth};
    sd_claim dst_claim, src_claim;
    if (!width || !height || !depth)
        return ACU_CUDA_SUCCESS;
    unsigned result = read_side(dst, &box, &box.dst, &dst_claim);
    if (!result)
        result = read_side(src, &box, &box.src, &src_claim);
    return result ? result : sd_copy(stream, &box, dst_claim, src_claim, waits);
}

static unsigned copy_2d(const acu_CUDA_MEMCPY2D *c, CUstream on, bool waits)
{
    if (!c)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    described dst = {c->dstXInBytes, c->dstY,      0,           c->dstMemoryType,
                     c->dstHost,     c->dstDevice, c->dstPitch, 0};
    described src = {c->srcXInBytes, c->srcY,      0,           c->srcMemoryType,
                     c->srcHost,     c->srcDevice, c->srcPitch, 0};
    return copy_described(&dst, &src, c->WidthInBytes, c->Height, 1, on, waits);
}

unsigned sd_cuMemcpy2D_v2(const acu_CUDA_MEMCPY2D *copy)
{
    return copy_2d(copy, NULL, true);
}

unsigned sd_cuMemcpy2DUnaligned_v2(const acu_CUDA_MEMCPY2D *copy)
{
    return copy_2d(copy, NULL, true);
}

unsigned sd_cuMemcpy2DAsync_v2(const acu_CUDA_MEMCPY2D *copy, CUstream on)
{
    return copy_2d(copy, on, false);
}

static unsigned read_3d(const acu_CUDA_MEMCPY3D *c, described *dst, described *src)
{
    if (!c || c->srcLOD || c->dstLOD)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    *dst = (described){c->dstXInBytes, c->dstY,      c->dstZ,     c->dstMemoryType,
                       c->dstHost,     c->dstDevice, c->dstPitch, c->dstHeight};
    *src = (described){c->srcXInBytes, c->srcY,      c->srcZ,     c->srcMemoryType,
                       c->srcHost,     c->srcDevice, c->srcPitch, c->srcHeight};
    return ACU_CUDA_SUCCESS;
}

unsigned sd_copy_read_3d(const acu_CUDA_MEMCPY3D *c, sd_box *box, sd_claim *dst, sd_claim *src)
{
    described to, from;
    unsigned result = read_3d(c, &to, &from);
    if (result)
        return result;
    *box = (sd_box){.width = c->WidthInBytes, .height = c->Height, .depth = c->Depth};
    result = read_side(&to, box, &box->dst, dst);
    return result ? result : read_side(&from, box, &box->src, src);
}

static unsigned copy_3d(const acu_CUDA_MEMCPY3D *c, CUstream on, bool waits)
{
    described dst, src;
    unsigned result = read_3d(c, &dst, &src);
    if (result)
        return result;
    return copy_described(&dst, &src, c->WidthInBytes, c->Height, c->Depth, on, waits);
}

unsigned sd_cuMemcpy3D_v2(const acu_CUDA_MEMCPY3D *copy)
{
    return copy_3d(copy, NULL, true);
}

unsigned sd_cuMemcpy3DAsync_v2(const acu_CUDA_MEMCPY3D *copy, CUstream on)
{
    return copy_3d(copy, on, false);
}

static unsigned copy_3d_peer(const acu_CUDA_MEMCPY3D_PEER *c, CUstream on, bool waits)
{
    SD_ENTER();
    if (!c || c->srcLOD || c->dstLOD)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    unsigned result = check_contexts(c->dstContext, c->srcContext);
    if (result)
        return result;
    described dst = {c->dstXInBytes, c->dstY,      c->dstZ,     c->dstMemoryType,
                     c->dstHost,     c->dstDevice, c->dstPitch, c->dstHeight};
    described src = {c->srcXInBytes, c->srcY,      c->srcZ,     c->srcMemoryType,
                     c->srcHost,     c->srcDevice, c->srcPitch, c->srcHeight};
    return copy_described(&dst, &src, c->WidthInBytes, c->Height, c->Depth, on, waits);
}

unsigned sd_cuMemcpy3DPeer(const acu_CUDA_MEMCPY3D_PEER *copy)
{
    return copy_3d_peer(copy, NULL, true);
}

unsigned sd_cuMemcpy3DPeerAsync(const acu_CUDA_MEMCPY3D_PEER *copy, CUstream on)
{
    return copy_3d_peer(copy, on, false);
}

/* ---- batches ---- */

/* Every copy of a batch has attributes: those of the last entry that begins at it or before it. */
static bool attributes_valid(const acu_CUmemcpyAttributes_v1 *attributes, const size_t *first,
                             size_t attribute_count, size_t count)
{
    if (!attributes || !first || attribute_count == 0 || attribute_count > count || first[0] != 0)
        return false;
    for (size_t i = 0; i < attribute_count; i++)
        if (attributes[i].srcAccessOrder < ACU_CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
            attributes[i].srcAccessOrder > ACU_CU_MEMCPY_SRC_ACCESS_ORDER_ANY ||
            attributes[i].flags > 1 || first[i] >= count || (i && first[i] <= first[i - 1]))
            return false;
    return true;
}

unsigned sd_cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                               acu_CUmemcpyAttributes_v1 *attributes, size_t *first,
                               size_t attribute_count, size_t *failed, CUstream on)
{
    SD_ENTER();
    if (failed)
        *failed = SIZE_MAX;
    if (!dsts || !srcs || !sizes || count == 0 || !on || on == ACU_CU_STREAM_LEGACY ||
        !attributes_valid(attributes, first, attribute_count, count))
        return ACU_CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        unsigned result =
            copy_line(on, dsts[i], SD_CLAIM_ANY, srcs[i], SD_CLAIM_ANY, sizes[i], false);
        if (result && failed)
            *failed = i;
        if (result)
            return result;
    }
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                                  acu_CUmemcpyAttributes_v1 *attributes, size_t *first,
                                  size_t attribute_count, CUstream on)
{
    return sd_cuMemcpyBatchAsync(dsts, srcs, sizes, count, attributes, first, attribute_count, NULL,
                                 on);
}
