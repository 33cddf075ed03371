/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Events: the program's, and the device's stock of events without timing. */
#include "base/alloc.h"
#include "base/callback.h"
#include "base/error.h"
#include "base/nap.h"
#include "device/device.h"

/* ---- the device's stock ---------------------------------------------------------------------- */

/* Takes a free event; otherwise counts one that is about to be created, with room to put it
 * back. */
static bool take_or_count(acu_device *device, CUevent *event, acu_status *st)
{
    bool taken = false;
    pthread_mutex_lock(&device->lock);
    if (device->event_count) {
        *event = device->events[--device->event_count];
        taken = true;
    } else if (device->event_total == device->event_room) {
        size_t room = device->event_room ? 2 * device->event_room : 32;
        CUevent *events = acui_grow(device->events, device->event_room * sizeof *events,
                                    room * sizeof *events);
        if (events) {
            device->events = events;
            device->event_room = room;
        } else {
            *st = acui_fail(ACU_ERR_NO_MEMORY, "no memory for an event");
        }
    }
    if (!taken && *st == ACU_OK)
        device->event_total++;
    pthread_mutex_unlock(&device->lock);
    return taken;
}

acu_status acui_event_get(acu_device *device, CUevent *event)
{
    acu_status st = acui_device_check(device);
    if (st != ACU_OK || take_or_count(device, event, &st) || st != ACU_OK)
        return st;
    acui_entered entered;
    st = acui_enter(device, &entered);
    if (st == ACU_OK) {
        st = ACUI_DEV(device, EventCreate, event, ACU_CU_EVENT_DISABLE_TIMING);
        acui_leave(&entered);
    }
    if (st != ACU_OK) {
        pthread_mutex_lock(&device->lock);
        device->event_total--;
        pthread_mutex_unlock(&device->lock);
    }
    return st;
}

void acui_event_put(acu_device *device, CUevent event)
{
    pthread_mutex_lock(&device->lock);
    device->events[device->event_count++] = event;
    pthread_mutex_unlock(&device->lock);
}

/* ---- events of the program ------------------------------------------------------------------- */

acu_status acu_event_create(acu_device *device, bool timing, acu_event **event)
{
    ACUI_CHECK(device, DEVICE);
    if (!event)
        return acui_fail(ACU_ERR_INVALID, "acu_event_create: nowhere to put the event");
    acui_entered entered;
    ACUI_TRY(acui_enter(device, &entered));
    CUevent raw = NULL;
    acu_status st = ACUI_DEV(device, EventCreate, &raw,
                             timing ? ACU_CU_EVENT_DEFAULT : ACU_CU_EVENT_DISABLE_TIMING);
    acu_event *e = NULL;
    if (st == ACU_OK) {
        e = acui_object_new(ACU_OBJECT_EVENT, sizeof *e);
        if (!e) {
            device->cu->EventDestroy(raw);
            st = acui_fail(ACU_ERR_NO_MEMORY, "no memory for an event");
        }
    }
    acui_leave(&entered);
    if (st != ACU_OK)
        return st;
    e->device = acu_device_retain(device);
    e->raw = raw;
    e->timing = timing;
    *event = e;
    return ACU_OK;
}

acu_status acu_event_record(acu_event *event, acu_stream *stream)
{
    ACUI_CHECK(event, EVENT);
    ACUI_CHECK(stream, STREAM);
    ACUI_TRY(acui_stream_check_thread(stream, __func__));
    ACUI_TRY(acui_device_check(event->device));
    ACUI_TRY(acui_device_check(stream->device));
    if (event->device != stream->device)
        return acui_fail(ACU_ERR_DEVICE,
                         "acu_event_record: the event is of device %d, the stream of device %d",
                         event->device->info.ordinal, stream->device->info.ordinal);
    ACUI_TRY(acui_stream_check_held(stream, __func__));
    acui_entered entered;
    ACUI_TRY(acui_enter(event->device, &entered));
    acu_status st = acui_stream_not_capturing(stream);
    if (st == ACU_OK)
        st = ACUI_DEV(event->device, EventRecord, event->raw, stream->raw);
    acui_leave(&entered);
    /* Release: a thread that then orders a stream behind the event does so after the record was
     * enqueued. */
    if (st == ACU_OK)
        atomic_store_explicit(&event->recorded, true, memory_order_release);
    return acui_capture_in(st, __func__);
}

static bool was_recorded(acu_event *event)
{
    return atomic_load_explicit(&event->recorded, memory_order_acquire);
}

acu_status acu_event_poll(acu_event *event)
{
    ACUI_CHECK(event, EVENT);
    acui_entered entered;
    ACUI_TRY(acui_enter(event->device, &entered));
    acu_status st = was_recorded(event) ? ACUI_DEV(event->device, EventQuery, event->raw) : ACU_OK;
    acui_leave(&entered);
    return st;
}

acu_status acu_event_wait(acu_event *event, uint64_t timeout)
{
    ACUI_CHECK(event, EVENT);
    ACUI_TRY(acui_refuse_wait(__func__));
    acui_nap nap = acui_nap_start(timeout);
    for (;;) {
        acu_status st = acu_event_poll(event);
        if (st != ACU_NOT_READY)
            return st;
        if (!acui_nap_again(&nap))
            return ACU_TIMEOUT;
    }
}

acu_status acu_stream_order_after_event(acu_stream *stream, acu_event *event)
{
    ACUI_CHECK(stream, STREAM);
    ACUI_CHECK(event, EVENT);
    ACUI_TRY(acui_stream_check_thread(stream, __func__));
    if (!was_recorded(event))
        return acui_fail(
            ACU_ERR_INVALID,
            "acu_stream_order_after_event: nothing was recorded in the event, so there "
            "is nothing to wait for; call acu_event_record first");
    ACUI_TRY(acui_device_check(event->device));
    acui_entered entered;
    ACUI_TRY(acui_enter(stream->device, &entered));
    acu_status st = acui_stream_not_capturing(stream);
    if (st == ACU_OK)
        st = ACUI_DEV(stream->device, StreamWaitEvent, stream->raw, event->raw,
                      ACU_CU_EVENT_WAIT_DEFAULT);
    acui_leave(&entered);
    return acui_capture_in(st, __func__);
}

acu_status acu_event_elapsed_ms(acu_event *start, acu_event *end, float *ms)
{
    ACUI_CHECK_AS(start, EVENT, "start event");
    ACUI_CHECK_AS(end, EVENT, "end event");
    if (!ms)
        return acui_fail(ACU_ERR_INVALID, "acu_event_elapsed_ms: nowhere to put the time");
    if (!start->timing || !end->timing)
        return acui_fail(ACU_ERR_INVALID,
                         "acu_event_elapsed_ms: the %s event was created without timing",
                         start->timing ? "end" : "start");
    if (!was_recorded(start) || !was_recorded(end))
        return acui_fail(ACU_ERR_INVALID,
                         "acu_event_elapsed_ms: nothing was recorded in the %s event",
                         was_recorded(start) ? "end" : "start");
    ACUI_TRY(acui_device_check(start->device));
    ACUI_TRY(acui_device_check(end->device));
    if (start->device != end->device)
        return acui_fail(ACU_ERR_DEVICE,
                         "acu_event_elapsed_ms: the events are of devices %d and %d",
                         start->device->info.ordinal, end->device->info.ordinal);
    acui_entered entered;
    ACUI_TRY(acui_enter(start->device, &entered));
    float time = 0;
    acu_status st = ACUI_DEV(start->device, EventElapsedTime, &time, start->raw, end->raw);
    acui_leave(&entered);
    if (st == ACU_OK)
        *ms = time;
    return st;
}

CUevent acu_event_raw(const acu_event *event)
{
    return acui_object_is(event, ACU_OBJECT_EVENT) ? event->raw : NULL;
}

acu_event *acu_event_retain(acu_event *event)
{
    if (acui_object_is(event, ACU_OBJECT_EVENT))
        acui_object_retain(event);
    return event;
}

void acu_event_release(acu_event *event)
{
    if (!acui_object_is(event, ACU_OBJECT_EVENT) || !acui_object_drop(event))
        return;
    acu_device *device = event->device;
    acui_entered entered;
    if (acui_enter_to_free(device, &entered))
        device->cu->EventDestroy(event->raw);
    acui_leave(&entered);
    acui_object_free(event);
    acu_device_release(device);
}
