/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sets of signals that guard memory. */
#include "memory/fences.h"

#include "base/alloc.h"

#include <string.h>

/* The device's own streams live as long as its memory. */
static bool is_own(const acu_device *device, const acu_stream *stream)
{
    return stream->pooled && stream->device == device;
}

static acui_fence *list_of(acui_fences *fences)
{
    return fences->room ? fences->more : fences->few;
}

static void drop(acui_fences *fences, const acu_device *device, uint32_t i)
{
    acui_fence *list = list_of(fences);
    acu_stream *stream = list[i].stream;
    list[i] = list[--fences->count];
    /* is_own answers as it did when the fence was added, and so this stream is watched. */
    if (!is_own(device, stream))
        acui_stream_unwatch(stream);
}

static void prune(acui_fences *fences, const acu_device *device)
{
    for (uint32_t i = fences->count; i-- > 0;) {
        const acui_fence *fence = &list_of(fences)[i];
        if (acui_stream_passed(fence->stream, fence->number))
            drop(fences, device, i);
    }
}

static bool grow(acui_fences *fences)
{
    uint32_t room = fences->room ? fences->room : ACUI_FENCES;
    if (fences->count < room)
        return true;
    acui_fence *more = acui_grow(fences->more, fences->room * sizeof *more,
                                 2 * room * sizeof *more);
    if (!more)
        return false;
    if (!fences->room)
        memcpy(more, fences->few, sizeof fences->few);
    fences->more = more;
    fences->room = 2 * room;
    return true;
}

bool acui_fences_add(acui_fences *fences, const acu_device *device, acu_stream *stream,
                     uint64_t number)
{
    acui_fence *list = list_of(fences);
    for (uint32_t i = 0; i < fences->count; i++)
        if (list[i].stream == stream) {
            if (list[i].number < number)
                list[i].number = number;
            return true;
        }
    prune(fences, device);
    if (!grow(fences))
        return false;
    list_of(fences)[fences->count++] = (acui_fence){.stream = stream, .number = number};
    if (!is_own(device, stream))
        acui_stream_watch(stream);
    return true;
}

bool acui_fences_allow_some(acui_fences *fences, const acu_device *device, acu_stream *stream)
{
    prune(fences, device);
    const acui_fence *list = list_of(fences);
    for (uint32_t i = 0; i < fences->count; i++)
        if (list[i].stream != stream &&
            !(stream && acui_stream_implied(stream, list[i].stream, list[i].number)))
            return false;
    return true;
}

bool acui_fences_only(acui_fences *fences, const acu_device *device, const acu_stream *stream)
{
    prune(fences, device);
    return fences->count == 0 || (fences->count == 1 && list_of(fences)[0].stream == stream);
}

acu_stream *acui_fence_stream(const acui_fence *fence, const acu_device *device)
{
    acu_stream *stream = fence->stream;
    if (is_own(device, stream))
        return acu_stream_retain(stream);
    /* It is watched, so it can be asked whether it lives. Another device's own streams have no
     * reference count of their own. */
    return !stream->pooled && acui_object_try_retain(stream) ? stream : NULL;
}

static acu_status wait_for(const acui_fence *fence, const acu_device *device, acu_stream *stream)
{
    if (fence->stream == stream || acui_stream_passed(fence->stream, fence->number))
        return ACU_OK;
    acu_stream *other = acui_fence_stream(fence, device);
    if (!other)
        return acui_stream_passed(fence->stream, fence->number) ? ACU_OK : ACU_NOT_READY;
    acui_lock_take(&other->lock);
    bool made = fence->number <= other->issued;
    acui_lock_give(&other->lock);
    acu_status st = made ? acui_stream_after(stream, other, fence->number) : ACU_NOT_READY;
    acu_stream_release(other);
    return st;
}

acu_status acui_fences_wait(const acui_fences *fences, const acu_device *device, acu_stream *stream)
{
    const acui_fence *list = acui_fences_list(fences);
    for (uint32_t i = 0; i < fences->count; i++)
        ACUI_TRY(wait_for(&list[i], device, stream));
    return ACU_OK;
}

void acui_fences_clear(acui_fences *fences, const acu_device *device)
{
    while (fences->count)
        drop(fences, device, fences->count - 1);
    acui_free(fences->more);
    fences->more = NULL;
    fences->room = 0;
}
