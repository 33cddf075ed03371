/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What belongs to one thread: its stack of current contexts, its own default streams, and the
 * checks that every entry point makes first.
 */
#include "driver/event.h"

#include <stdlib.h>

#define STACK_DEPTH 32

/* The stack keeps handles, not references: a current context can be destroyed. */
static _Thread_local struct {
    void *stack[STACK_DEPTH];
    unsigned depth;
    bool in_host_function;
} self;

/* The thread's own streams: one list per thread, ended by the key's destructor. */
typedef struct own_stream {
    struct own_stream *next;
    void *context; /* handles */
    void *stream;
} own_stream;

static pthread_key_t own_streams_key;

static void retire_handle(void *handle)
{
    sd_stream *stream = sd_object_get(SD_KIND_STREAM, handle);
    if (!stream)
        return;
    sd_context_release(&stream->object);
    sd_object_put(&stream->object);
}

static void end_own_streams(void *list)
{
    for (own_stream *s = list; s;) {
        own_stream *next = s->next;
        retire_handle(s->stream);
        free(s);
        s = next;
    }
}

bool sd_thread_init(void)
{
    return pthread_key_create(&own_streams_key, end_own_streams) == 0;
}

void sd_thread_in_host_function(bool inside)
{
    self.in_host_function = inside;
}

unsigned sd_thread_stream(sd_context *context, sd_stream **stream)
{
    own_stream *list = pthread_getspecific(own_streams_key);
    for (own_stream *s = list; s; s = s->next)
        if (s->context == context->object.handle) {
            *stream = sd_object_get(SD_KIND_STREAM, s->stream);
            return *stream ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_INVALID_HANDLE;
        }
    own_stream *own = malloc(sizeof *own);
    sd_stream *made = NULL;
    if (!own || sd_stream_create(context, ACU_CU_STREAM_DEFAULT, 0, &made)) {
        free(own);
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    }
    *own = (own_stream){list, context->object.handle, made->object.handle};
    pthread_setspecific(own_streams_key, own);
    sd_object_hold(&made->object);
    *stream = made;
    return ACU_CUDA_SUCCESS;
}

/* ---- entering ---- */

unsigned sd_enter(void)
{
    if (!atomic_load_explicit(&sd.ready, memory_order_acquire) ||
        atomic_load_explicit(&sd.forked, memory_order_relaxed))
        return ACU_CUDA_ERROR_NOT_INITIALIZED;
    return self.in_host_function ? ACU_CUDA_ERROR_NOT_PERMITTED : ACU_CUDA_SUCCESS;
}

/* The current context, faulted or not, with a reference. */
static unsigned current(sd_context **context)
{
    void *handle = self.depth ? self.stack[self.depth - 1] : NULL;
    if (!handle)
        return ACU_CUDA_ERROR_INVALID_CONTEXT;
    *context = sd_object_get(SD_KIND_CONTEXT, handle);
    return *context ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

unsigned sd_enter_current(sd_context **context)
{
    unsigned result = sd_enter();
    if (!result)
        result = current(context);
    return result ? result : sd_context_state(*context);
}

/* ---- the stack ---- */

static bool is_context(CUcontext handle)
{
    sd_context *context = sd_object_get(SD_KIND_CONTEXT, handle);
    if (context)
        sd_object_put(&context->object);
    return context != NULL;
}

unsigned sd_thread_push(void *handle)
{
    if (self.depth == STACK_DEPTH)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    self.stack[self.depth++] = handle;
    return ACU_CUDA_SUCCESS;
}

void sd_thread_forget(const void *handle)
{
    if (self.depth && self.stack[self.depth - 1] == handle)
        self.depth--;
}

unsigned sd_cuCtxPushCurrent_v2(CUcontext handle)
{
    SD_ENTER();
    return is_context(handle) ? sd_thread_push(handle) : ACU_CUDA_ERROR_INVALID_CONTEXT;
}

unsigned sd_cuCtxPopCurrent_v2(CUcontext *handle)
{
    SD_ENTER();
    if (!self.depth)
        return ACU_CUDA_ERROR_INVALID_CONTEXT;
    CUcontext popped = self.stack[--self.depth];
    if (handle)
        *handle = popped;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuCtxSetCurrent(CUcontext handle)
{
    SD_ENTER();
    if (self.depth && self.stack[self.depth - 1] == (void *)handle && is_context(handle))
        return ACU_CUDA_SUCCESS;
    if (handle && !is_context(handle))
        return ACU_CUDA_ERROR_INVALID_CONTEXT;
    if (self.depth)
        self.depth--;
    return handle ? sd_thread_push(handle) : ACU_CUDA_SUCCESS;
}

unsigned sd_cuCtxGetCurrent(CUcontext *handle)
{
    SD_ENTER();
    if (!handle)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    *handle = self.depth ? self.stack[self.depth - 1] : NULL;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuCtxGetDevice(CUdevice *device)
{
    SD_ENTER();
    sd_context *context = NULL;
    unsigned result = device ? current(&context) : ACU_CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    *device = context->device->ordinal;
    sd_object_put(&context->object);
    return ACU_CUDA_SUCCESS;
}
