/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What belongs to one thread: its stack of current contexts and its own default streams; and the
 * checks that every entry point makes first.
 */
#include "driver/event.h"

#include <stdlib.h>

#define STACK_DEPTH 32

/* A thread's own stream in a context. */
typedef struct own_stream {
    struct own_stream *next;
    void *context; /* handles */
    void *stream;
} own_stream;

/* The stack keeps handles, not references, because a current context can be destroyed. It is not
 * in the thread's static block, where room is scarce for libraries that a program loads at run
 * time. */
typedef struct {
    void *stack[STACK_DEPTH];
    unsigned depth;
    own_stream *streams;
} own;

static _Thread_local own *self; /* NULL: the thread has made nothing current */
static _Thread_local bool in_host_function;
static pthread_key_t key; /* `self` again, to free it at the end of the thread */

static void retire_handle(void *handle)
{
    sd_stream *stream = sd_object_get(SD_KIND_STREAM, handle);
    if (!stream)
        return;
    sd_context_release(&stream->object);
    sd_object_put(&stream->object);
}

static void end_thread(void *context)
{
    own *o = context;
    self = NULL;
    for (own_stream *s = o->streams; s;) {
        own_stream *next = s->next;
        retire_handle(s->stream);
        free(s);
        s = next;
    }
    free(o);
}

bool sd_thread_init(void)
{
    return pthread_key_create(&key, end_thread) == 0;
}

/* The thread's own; NULL: no memory. */
static own *of_thread(void)
{
    if (self)
        return self;
    own *o = calloc(1, sizeof *o);
    if (o && pthread_setspecific(key, o) == 0)
        return self = o;
    free(o);
    return NULL;
}

void sd_thread_in_host_function(bool inside)
{
    in_host_function = inside;
}

unsigned sd_thread_stream(sd_context *context, sd_stream **stream)
{
    own *o = of_thread();
    for (own_stream *s = o ? o->streams : NULL; s; s = s->next)
        if (s->context == context->object.handle) {
            *stream = sd_object_get(SD_KIND_STREAM, s->stream);
            return *stream ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_INVALID_HANDLE;
        }
    own_stream *added = o ? malloc(sizeof *added) : NULL;
    sd_stream *made = NULL;
    if (!added || sd_stream_create(context, ACU_CU_STREAM_DEFAULT, 0, &made)) {
        free(added);
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    }
    *added = (own_stream){o->streams, context->object.handle, made->object.handle};
    o->streams = added;
    sd_object_hold(&made->object);
    *stream = made;
    return ACU_CUDA_SUCCESS;
}

static void *top(void)
{
    return self && self->depth ? self->stack[self->depth - 1] : NULL;
}

/* ---- entering ---- */

unsigned sd_enter(void)
{
    if (!atomic_load_explicit(&sd.ready, memory_order_acquire) ||
        atomic_load_explicit(&sd.forked, memory_order_relaxed))
        return ACU_CUDA_ERROR_NOT_INITIALIZED;
    return in_host_function ? ACU_CUDA_ERROR_NOT_PERMITTED : ACU_CUDA_SUCCESS;
}

/* The current context, faulted or not, with a reference. */
static unsigned current(sd_context **context)
{
    void *handle = top();
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

unsigned sd_enter_anywhere(sd_context **context)
{
    unsigned result = sd_enter_current(context);
    return result == ACU_CUDA_ERROR_INVALID_CONTEXT ? ACU_CUDA_SUCCESS : result;
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
    own *o = of_thread();
    if (!o || o->depth == STACK_DEPTH)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    o->stack[o->depth++] = handle;
    return ACU_CUDA_SUCCESS;
}

void sd_thread_forget(const void *handle)
{
    if (handle && top() == handle)
        self->depth--;
}

unsigned sd_cuCtxPushCurrent_v2(CUcontext handle)
{
    SD_ENTER();
    return is_context(handle) ? sd_thread_push(handle) : ACU_CUDA_ERROR_INVALID_CONTEXT;
}

unsigned sd_cuCtxPopCurrent_v2(CUcontext *handle)
{
    SD_ENTER();
    if (!self || !self->depth)
        return ACU_CUDA_ERROR_INVALID_CONTEXT;
    CUcontext popped = self->stack[--self->depth];
    if (handle)
        *handle = popped;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuCtxSetCurrent(CUcontext handle)
{
    SD_ENTER();
    if (handle && top() == (void *)handle && is_context(handle))
        return ACU_CUDA_SUCCESS;
    if (handle && !is_context(handle))
        return ACU_CUDA_ERROR_INVALID_CONTEXT;
    if (self && self->depth)
        self->depth--;
    return handle ? sd_thread_push(handle) : ACU_CUDA_SUCCESS;
}

unsigned sd_cuCtxGetCurrent(CUcontext *handle)
{
    SD_ENTER();
    if (!handle)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    *handle = top();
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
