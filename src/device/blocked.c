/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Waiting in the driver until a mark is complete: for who has nothing else to do. A stream of its
 * own comes behind the mark, and an event on that is waited for which blocks; so the marks
 * themselves can be events of the cheap sort, which do not raise an interrupt each.
 */
#include "device/device.h"

static acu_status open_post(acu_device *device, acui_post *post)
{
    ACUI_TRY(acui_stream_open(device, 0, true, &post->stream));
    acu_status status = ACUI_DEV(device, EventCreate, &post->event,
                                 ACU_CU_EVENT_BLOCKING_SYNC | ACU_CU_EVENT_DISABLE_TIMING);
    if (status != ACU_OK) {
        acui_stream_destroy(post->stream);
        post->stream = NULL;
    }
    return status;
}

static void give_post(acu_device *device, acui_post *post)
{
    pthread_mutex_lock(&device->lock);
    post->taken = false;
    pthread_mutex_unlock(&device->lock);
}

/* One that nobody uses; NULL: there is none, or it could not be made. The device is entered. */
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
    if (post && !post->stream && open_post(device, post) != ACU_OK) {
        give_post(device, post);
        return NULL;
    }
    return post;
}

bool acui_stream_block(acu_stream *stream, uint64_t number)
{
    acu_device *device = stream->device;
    acui_entered entered;
    if (acui_enter(device, &entered) != ACU_OK)
        return false;
    acui_post *post = take_post(device);
    bool waited = post && acui_stream_after(post->stream, stream, number) == ACU_OK &&
                  ACUI_DEV(device, EventRecord, post->event, post->stream->raw) == ACU_OK &&
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
        if (!post->stream)
            continue;
        if (works)
            device->cu->EventDestroy(post->event);
        acui_stream_destroy(post->stream);
    }
}
