/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Contexts: how they begin and end, what they own, and how a fault ends all of them.
 */
#include "driver/context.h"

#include "driver/memory.h"
#include "driver/pool.h"
#include "driver/stream.h"

#include <sched.h>
#include <stdlib.h>

#define API_VERSION 3020

/* ---- children ---- */

void sd_context_adopt(sd_context *context, sd_object *object)
{
    sd_object_hold(&context->object);
    object->context = context;
    pthread_mutex_lock(&context->lock);
    object->previous = NULL;
    object->next = context->children;
    if (object->next)
        object->next->previous = object;
    context->children = object;
    object->linked = true;
    pthread_mutex_unlock(&context->lock);
}

/* With the lock. */
static void unlink_child(sd_context *context, sd_object *object)
{
    if (!object->linked)
        return;
    object->linked = false;
    if (object->next)
        object->next->previous = object->previous;
    if (object->previous)
        object->previous->next = object->next;
    else
        context->children = object->next;
}

bool sd_context_release(sd_object *object)
{
    if (!sd_object_retire(object))
        return false;
    sd_context *context = object->context;
    pthread_mutex_lock(&context->lock);
    unlink_child(context, object);
    pthread_mutex_unlock(&context->lock);
    sd_object_put(object);
    return true;
}

static void release_children(sd_context *context)
{
    for (;;) {
        pthread_mutex_lock(&context->lock);
        sd_object *child = context->children;
        /* It is linked, so its handle's reference is there, even if somebody is ending it now. */
        if (child) {
            sd_object_hold(child);
            unlink_child(context, child);
        }
        pthread_mutex_unlock(&context->lock);
        if (!child)
            return;
        if (sd_object_retire(child))
            sd_object_put(child);
        sd_object_put(child);
    }
}

/* ---- waiting ---- */

/* The next stream of the list that still has work, as a mark; *below says where to go on. Empty:
 * there is none. */
static sd_mark next_busy(sd_context *context, uint64_t *below)
{
    sd_mark mark = {0};
    pthread_mutex_lock(&context->lock);
    /* New streams are put in front, so ids fall along the list: go on below the last one seen. */
    for (sd_stream *s = context->streams; s && !mark.stream; s = s->context_next)
        if (s->id < *below && !sd_stream_seen_idle(s) && sd_object_try_hold(&s->object)) {
            *below = s->id;
            mark = (sd_mark){s, atomic_load_explicit(&s->issued, memory_order_acquire)};
        }
    pthread_mutex_unlock(&context->lock);
    return mark;
}

void sd_context_drain(sd_context *context)
{
    uint64_t below = UINT64_MAX;
    for (;;) {
        sd_mark mark = next_busy(context, &below);
        if (!mark.stream)
            return;
        sd_mark_wait(&mark);
        sd_mark_drop(&mark);
    }
}

/* ---- faults ---- */

/* seq_cst, here and in `stop`: of a work that begins and a fault that stops what runs, one sees the
 * other. */
bool sd_context_begin(sd_context *context)
{
    atomic_fetch_add(&context->running, 1);
    if (!atomic_load(&context->stop))
        return true;
    sd_context_end(context);
    pthread_mutex_lock(&sd.contexts_lock); /* until calls answer the fault: what comes behind the
                                            * work must not seem to succeed */
    pthread_mutex_unlock(&sd.contexts_lock);
    return false;
}

void sd_context_end(sd_context *context)
{
    atomic_fetch_sub(&context->running, 1);
}

static void stop(sd_context *context, unsigned result)
{
    if (!atomic_load(&context->stop))
        atomic_store(&context->stop, (int)result);
}

static void await_stop(sd_context *context)
{
    while (atomic_load(&context->running) > 0)
        sched_yield();
}

/* Whatever runs in the contexts of these devices gives up soon; returns when it has. With
 * contexts_lock. */
static void stop_all(sd_device *devices, int count, unsigned result)
{
    for (int i = 0; i < count; i++)
        for (sd_context *c = devices[i].contexts; c; c = c->device_next)
            stop(c, result);
    for (int i = 0; i < count; i++)
        for (sd_context *c = devices[i].contexts; c; c = c->device_next)
            await_stop(c);
}

/* One lock for all: everybody is told of the first of two faults before the second is looked at,
 * which then does not count. A kernel that the first one stopped ends with an error of its own. */
void sd_context_fault(sd_context *context, unsigned result)
{
    pthread_mutex_lock(&sd.contexts_lock);
    bool first = !sd_context_state(context);
    if (first && sd.heal) {
        stop(context, result);
        await_stop(context);
        atomic_store_explicit(&context->fault, (int)result, memory_order_release);
    } else if (first) {
        /* As on H100s and H200s with driver 580: the other devices of the process are lost too, all
         * at once, whichever of them is asked. */
        stop_all(sd.devices, sd.device_count, result);
        atomic_store_explicit(&sd.fault, (int)result, memory_order_release);
    }
    pthread_mutex_unlock(&sd.contexts_lock);
}

void sd_device_fault(sd_device *device, unsigned result)
{
    pthread_mutex_lock(&sd.contexts_lock);
    if (!sd_device_state(device)) {
        stop_all(device, 1, result);
        atomic_store_explicit(&device->fault, (int)result, memory_order_release);
    }
    pthread_mutex_unlock(&sd.contexts_lock);
}

/* ---- life ---- */

static void destroy(sd_object *object)
{
    sd_context *context = (sd_context *)object;
    sd_snapshot_put(context->snapshot);
    pthread_mutex_destroy(&context->lock);
    free(context);
}

static void set_limits(sd_context *context)
{
    context->limits[ACU_CU_LIMIT_STACK_SIZE] = 1024;
    context->limits[ACU_CU_LIMIT_PRINTF_FIFO_SIZE] = (size_t)1 << 20;
    context->limits[ACU_CU_LIMIT_MALLOC_HEAP_SIZE] = (size_t)8 << 20;
    context->limits[ACU_CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
}

static void list_on_device(sd_context *context)
{
    pthread_mutex_lock(&sd.contexts_lock);
    context->device_next = context->device->contexts;
    context->device->contexts = context;
    pthread_mutex_unlock(&sd.contexts_lock);
}

static void unlist(sd_context *context)
{
    pthread_mutex_lock(&sd.contexts_lock);
    sd_context **at = &context->device->contexts;
    while (*at && *at != context)
        at = &(*at)->device_next;
    if (*at)
        *at = context->device_next;
    pthread_mutex_unlock(&sd.contexts_lock);
}

/* A context that the device does not know yet. */
static sd_context *make(sd_device *device, unsigned flags, bool primary)
{
    sd_context *context = calloc(1, sizeof *context);
    if (!context)
        return NULL;
    context->device = device;
    context->primary = primary;
    context->api_version = API_VERSION;
    context->id = atomic_fetch_add_explicit(&sd.next_id, 1, memory_order_relaxed);
    atomic_init(&context->flags, flags);
    set_limits(context);
    pthread_mutex_init(&context->lock, NULL);
    if (!sd_object_publish(&context->object, SD_KIND_CONTEXT, destroy)) {
        pthread_mutex_destroy(&context->lock);
        free(context);
        return NULL;
    }
    return context;
}

unsigned sd_context_create(sd_device *device, unsigned flags, bool primary, sd_context **made)
{
    unsigned result = sd_device_open(device);
    if (result)
        return result;
    sd_context *context = make(device, flags, primary);
    if (!context)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    result = sd_stream_create_legacy(context);
    if (!result) {
        list_on_device(context);
        result = sd_device_state(device); /* read after entering the list: a fault that the list was
                                           * not told of is seen here */
        /* This context may have access to pools of other devices. */
        for (int i = 0; i < sd.device_count && !result; i++)
            result = sd_access_refresh(context, &sd.devices[i]);
    }
    if (result) {
        sd_context_destroy(context);
        return result;
    }
    *made = context;
    return ACU_CUDA_SUCCESS;
}

void sd_context_destroy(sd_context *context)
{
    if (!sd_object_retire(&context->object))
        return;
    sd_context_drain(context);
    unlist(context);
    release_children(context);
    sd_access_forget(context);
    sd_memory_free_all(context);
    sd_pools_settle(context->device);
    sd_object_put(&context->object);
}
