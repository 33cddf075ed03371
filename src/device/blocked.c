/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Waiting in the driver until a signal is complete, for threads that have nothing else to do. A
 * blocking event is recorded for each wait, so the signals themselves can be events of the cheap
 * kind, which do not raise an interrupt each. The event is put right behind the signal. If the
 * signal is not the last on its stream any more, the event goes on a stream of its own that comes
 * behind the signal: that is one stream more, which may share a queue of the device with others.
 */
#include "device/device.h"

static void give_post(acu_device *device, acui_post *post)
{
    pthread_mutex_lock(&device->lock);
    post->taken = false;
    pthread_mutex_unlock(&device->lock);
}

/* Takes a free post; NULL: there is none, or it could not be created. The device is entered. */
static acui_post *take_post(acu_device *device)
{
    acui_post *post = NULL;
    pthread_mutex_lock(&device->lock);
    for (int i = 0; i < ACUI_POSTS && !post; i++)
        if (!device->posts[i].taken)
            post = &device->posts[i];
    if (post)
        post->taken = true;
    pthread_mutex_unlock(&device->lock);
    if (post && !post->event &&
        ACUI_DEV(device, EventCreate, &post->event,
                 ACU_CU_EVENT_BLOCKING_SYNC | ACU_CU_EVENT_DISABLE_TIMING) != ACU_OK) {
        give_post(device, post);
        return NULL;
    }
    return post;
}

/* Record right behind the signal; false: something else may be there, or it failed. */
static bool record_here(const acui_post *post, acu_stream *stream, uint64_t number)
{
    if (!acui_lock_try(&stream->issue)) /* another thread is putting work there */
        return false;
    acui_lock_take(&stream->lock);
    /* Whoever got the stream's handle from the program may be capturing it; nobody gets it
     * meanwhile. */
    bool recorded = !atomic_load_explicit(&stream->shown, memory_order_relaxed) &&
                    stream->issued == number &&
                    ACUI_DEV(stream->device, EventRecord, post->event, stream->raw) == ACU_OK;
    acui_lock_give(&stream->lock);
    acui_lock_give(&stream->issue);
    return recorded;
}

static bool record_elsewhere(acui_post *post, acu_stream *stream, uint64_t number)
{
    acu_device *device = stream->device;
    if (!post->stream && acui_stream_open(device, 0, true, &post->stream) != ACU_OK)
        return false;
    return acui_stream_after(post->stream, stream, number) == ACU_OK &&
           ACUI_DEV(device, EventRecord, post->event, post->stream->raw) == ACU_OK;
}

bool acui_stream_block(acu_stream *stream, uint64_t number)
{
    acu_device *device = stream->device;
    acui_entered entered;
    if (acui_stream_passed(stream, number))
        return true;
    if (acui_enter(device, &entered) != ACU_OK)
        return false;
    acui_post *post = take_post(device);
    bool waited = post &&
                  (record_here(post, stream, number) || record_elsewhere(post, stream, number)) &&
                  ACUI_DEV(device, EventSynchronize, post->event) == ACU_OK;
    if (post)
        give_post(device, post);
    acui_leave(&entered);
    return waited;
}

void acui_posts_free(acu_device *device, bool works)
{
    for (int i = 0; i < ACUI_POSTS; i++) {
        acui_post *post = &device->posts[i];
        if (post->event && works)
            device->cu->EventDestroy(post->event);
        if (post->stream)
            acui_stream_destroy(post->stream);
    }
}
