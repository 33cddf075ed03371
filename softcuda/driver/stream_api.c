/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The entry points for streams. Each says first what it does with the stream (sd_use): that decides
 * whether a capture forbids the call, or is lost by it.
 */
#include "driver/capture.h"
#include "driver/pool.h"

unsigned sd_cuStreamCreateWithPriority(CUstream *handle, unsigned flags, int priority)
{
    if (!handle || flags & ~(unsigned)ACU_CU_STREAM_NON_BLOCKING)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    SD_CURRENT(context);
    sd_stream *stream;
    unsigned result = sd_stream_create(context, flags, priority, &stream);
    if (!result)
        *handle = stream->object.handle;
    return result;
}

unsigned sd_cuStreamCreate(CUstream *handle, unsigned flags)
{
    return sd_cuStreamCreateWithPriority(handle, flags, 0);
}

unsigned sd_cuStreamDestroy_v2(CUstream handle)
{
    if (!handle || handle == ACU_CU_STREAM_LEGACY || handle == ACU_CU_STREAM_PER_THREAD)
        return ACU_CUDA_ERROR_INVALID_HANDLE;
    SD_STREAM_FOR(SD_STREAM_SEEN, stream, handle);
    return sd_context_release(&stream->object) ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_INVALID_HANDLE;
}

/* ---- waiting ---- */

/* Whether the blocking streams are idle: whoever asks about the legacy stream asks about them
 * too. */
static bool blocking_streams_idle(sd_context *context)
{
    bool idle = true;
    pthread_mutex_lock(&context->lock);
    for (sd_stream *s = context->streams; s && idle; s = s->context_next)
        idle = s->flags & ACU_CU_STREAM_NON_BLOCKING || sd_stream_seen_idle(s);
    pthread_mutex_unlock(&context->lock);
    return idle;
}

unsigned sd_cuStreamQuery(CUstream handle)
{
    SD_STREAM_FOR(SD_STREAM_FREE, stream, handle);
    SD_SAFE();
    bool idle = stream->legacy ? blocking_streams_idle(stream->object.context)
                               : sd_stream_seen_idle(stream);
    unsigned fault = sd_context_state(stream->object.context);
    return fault ? fault : idle ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_NOT_READY;
}

unsigned sd_cuStreamSynchronize(CUstream handle)
{
    SD_STREAM_FOR(SD_STREAM_FREE, stream, handle);
    SD_SAFE();
    unsigned result = ACU_CUDA_SUCCESS;
    /* An empty wait on the legacy stream waits for the blocking streams. */
    if (stream->legacy && !blocking_streams_idle(stream->object.context))
        result = sd_stream_push_wait(stream, (sd_mark){0});
    if (result)
        return result;
    sd_mark mark = sd_stream_mark(stream);
    sd_mark_wait(&mark);
    sd_mark_drop(&mark);
    sd_pools_settle(stream->object.context->device);
    return sd_context_state(stream->object.context);
}

/* ---- asking ---- */

unsigned sd_cuStreamGetPriority(CUstream handle, int *priority)
{
    SD_STREAM(stream, handle);
    if (!priority)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    *priority = stream->priority;
    return ACU_CUDA_SUCCESS;
}

/* This loses a capture, as on an H200 with driver 580. */
unsigned sd_cuStreamGetFlags(CUstream handle, unsigned *flags)
{
    SD_STREAM_FOR(SD_STREAM_FREE, stream, handle);
    if (!flags)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    *flags = stream->flags;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuStreamGetCtx(CUstream handle, CUcontext *owner)
{
    SD_STREAM(stream, handle);
    if (!owner)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    *owner = stream->object.context->object.handle;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuStreamGetCtx_v2(CUstream handle, CUcontext *owner, void **green)
{
    unsigned result = sd_cuStreamGetCtx(handle, owner);
    if (!result && green)
        *green = NULL;
    return result;
}

unsigned sd_cuStreamGetDevice(CUstream handle, CUdevice *device)
{
    SD_STREAM(stream, handle);
    if (!device)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    *device = stream->object.context->device->ordinal;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuStreamGetId(CUstream handle, unsigned long long *id)
{
    SD_STREAM(stream, handle);
    if (!id)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    *id = stream->id;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuStreamCopyAttributes(CUstream to, CUstream from)
{
    SD_STREAM(dst, to);
    SD_STREAM_HELD src = NULL;
    return sd_stream_find(context, from, &src); /* no attribute has an effect here */
}

/* Host and devices may touch managed memory at any time, so attaching it limits nothing. */
unsigned sd_cuStreamAttachMemAsync(CUstream handle, CUdeviceptr address, size_t length,
                                   unsigned flags)
{
    SD_STREAM(stream, handle);
    sd_location at = sd_locate(address, length);
    bool managed = at.place == SD_PLACE_PINNED && at.flags & SD_MANAGED;
    bool known = flags == ACU_CU_MEM_ATTACH_GLOBAL || flags == ACU_CU_MEM_ATTACH_HOST ||
                 flags == ACU_CU_MEM_ATTACH_SINGLE;
    return managed && known ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_INVALID_VALUE;
}
