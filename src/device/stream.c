/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Streams. */
#include "base/alloc.h"
#include "base/callback.h"
#include "base/error.h"
#include "base/nap.h"
#include "device/device.h"
#include "device/open.h"
#include "driver/nvtx.h"
#include "driver/result.h"
#include "driver/table.h"

#include <stdio.h>

static _Atomic(uint64_t) ids; /* relaxed: it only has to differ each time */

/* ---- making and freeing --------------------------------------------------------------------- */

/* A handle for `raw`, which remains the caller's if this fails. */
static acu_status stream_new(acu_device *device, CUstream raw, acu_stream **stream)
{
    acu_stream *s = acui_object_new(ACU_OBJECT_STREAM, sizeof *s);
    if (s)
        s->signals = ACUI_NEW_ARRAY(acui_signal, ACUI_FIRST_SIGNALS);
    if (!s || !s->signals) {
        if (s)
            acui_object_free(s);
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a stream");
    }
    acui_object_list(s); /* memory fences refer to it without a reference (memory/fences.h) */
    s->signal_room = ACUI_FIRST_SIGNALS;
    s->engine.gate.limit = ACUI_STREAM_PLACES;
    s->device = device;
    s->raw = raw;
    atomic_store_explicit(&s->watchers, 1, memory_order_relaxed);
    s->id = atomic_fetch_add_explicit(&ids, 1, memory_order_relaxed) + 1;
    *stream = s;
    return ACU_OK;
}

acu_status acui_stream_open(acu_device *device, int priority, bool pooled, acu_stream **stream)
{
    acui_entered entered;
    ACUI_TRY(acui_enter(device, &entered));
    CUstream raw = NULL;
    acu_status st =
        ACUI_DEV(device, StreamCreateWithPriority, &raw, ACU_CU_STREAM_NON_BLOCKING, priority);
    acu_stream *s = NULL;
    if (st == ACU_OK) {
        st = stream_new(device, raw, &s);
        if (st != ACU_OK)
            device->cu->StreamDestroy(raw);
    }
    acui_leave(&entered);
    if (st != ACU_OK)
        return st;
    if (acui_nvtx_asked()) {
        char name[32];
        snprintf(name, sizeof name, "acuda %d.%u", device->info.ordinal, (unsigned)s->id);
        acui_nvtx_stream_named(raw, name);
    }
    s->priority = priority;
    s->pooled = pooled;
    if (!pooled)
        acu_device_retain(device);
    *stream = s;
    return ACU_OK;
}

acu_status acu_stream_create(acu_device *device, int priority, acu_stream **stream)
{
    ACUI_CHECK(device, DEVICE);
    if (!stream)
        return acui_fail(ACU_ERR_INVALID, "acu_stream_create: nowhere to put the stream");
    const acu_device_info *info = &device->info;
    if (priority < info->greatest_priority || priority > info->least_priority)
        return acui_fail(ACU_ERR_INVALID,
                         "acu_stream_create: priority %d is outside of what device %d has, %d "
                         "(most urgent) to %d",
                         priority, info->ordinal, info->greatest_priority, info->least_priority);
    return acui_stream_open(device, priority, false, stream);
}

/* Finds the stream's priority, after making sure that the stream is the device's. */
static acu_status look_at_foreign(acu_device *device, CUstream raw, int *priority)
{
    CUcontext context = device->context;
    bool created = raw != ACU_CU_STREAM_LEGACY && raw != ACU_CU_STREAM_PER_THREAD;
    if (created && acu_driver_has(ACU_CALL_StreamGetCtx))
        ACUI_TRY(ACUI_DEV(device, StreamGetCtx, raw, &context));
    if (context != device->context)
        return acui_fail(ACU_ERR_DEVICE,
                         "acu_stream_wrap: the stream is not of device %d's primary context",
                         device->info.ordinal);
    return created ? ACUI_DEV(device, StreamGetPriority, raw, priority) : ACU_OK;
}

acu_status acu_stream_wrap(acu_device *device, CUstream raw, acu_stream **stream)
{
    ACUI_CHECK(device, DEVICE);
    if (!stream)
        return acui_fail(ACU_ERR_INVALID, "acu_stream_wrap: nowhere to put the stream");
    if (!raw)
        raw = ACU_CU_STREAM_LEGACY; /* the same stream; NULL would mean that there is none */
    acui_entered entered;
    ACUI_TRY(acui_enter(device, &entered));
    int priority = 0;
    acu_stream *s = NULL;
    acu_status st = look_at_foreign(device, raw, &priority);
    if (st == ACU_OK)
        st = stream_new(device, raw, &s);
    acui_leave(&entered);
    if (st != ACU_OK)
        return st;
    s->priority = priority;
    s->foreign = true;
    s->of_thread = raw == ACU_CU_STREAM_PER_THREAD;
    s->thread = acui_thread_number();
    atomic_store_explicit(&s->shown, true, memory_order_relaxed);
    acu_device_retain(device);
    *stream = s;
    return ACU_OK;
}

void acui_stream_destroy(acu_stream *stream)
{
    acu_device *device = stream->device;
    /* Nothing can refer to its signals any more, so no wait on their events is to come. */
    for (size_t i = 0; i < stream->signal_count; i++) {
        acui_signal *signal =
            &stream->signals[(stream->signal_first + i) & (stream->signal_room - 1)];
        if (signal->event)
            acui_event_put(device, signal->event);
    }
    while (stream->spare_count)
        acui_event_put(device, stream->spare[--stream->spare_count]);
    acui_free(stream->signals);
    if (!stream->foreign) {
        acui_entered entered;
        if (acui_enter_to_free(device, &entered)) {
            acui_stream_await_flag(stream);
            device->cu->StreamDestroy(stream->raw); /* lets the stream's work finish */
        }
        acui_leave(&entered);
    }
    /* Nothing of it is in flight any more: everything that was is over, and may be seen to be. */
    atomic_store_explicit(&stream->done, UINT64_MAX, memory_order_release);
    acui_object_end(stream);
    acui_stream_unwatch(stream);
}

void acui_stream_watch(acu_stream *stream)
{
    atomic_fetch_add_explicit(&stream->watchers, 1, memory_order_relaxed);
}

void acui_stream_unwatch(acu_stream *stream)
{
    /* Release and acquire: all looks come before the memory is reused. */
    if (atomic_fetch_sub_explicit(&stream->watchers, 1, memory_order_acq_rel) == 1)
        acui_free_late(stream);
}

acu_stream *acu_stream_retain(acu_stream *stream)
{
    if (acui_object_is(stream, ACU_OBJECT_STREAM))
        acui_object_retain(stream->pooled ? (void *)stream->device : stream);
    return stream;
}

void acu_stream_release(acu_stream *stream)
{
    if (!acui_object_is(stream, ACU_OBJECT_STREAM))
        return;
    acu_device *device = stream->device;
    if (stream->pooled) {
        acu_device_release(device);
    } else if (acui_object_drop(stream)) {
        acui_stream_destroy(stream);
        acu_device_release(device);
    }
}

/* ---- facts ---------------------------------------------------------------------------------- */

acu_status acui_stream_check_thread(const acu_stream *stream, const char *function)
{
    if (!stream->of_thread || stream->thread == acui_thread_number())
        return ACU_OK;
    return acui_fail(ACU_ERR_INVALID,
                     "%s: the stream is the per-thread default one of the thread that wrapped it; "
                     "this thread has another, to be wrapped here",
                     function);
}

acu_status acui_stream_check_any(const acu_stream *stream, const char *function)
{
    if (!stream->of_thread)
        return ACU_OK;
    return acui_fail(ACU_ERR_INVALID,
                     "%s: the per-thread default stream is another one for each thread, and any "
                     "thread may issue acuda's work: give a stream that was created",
                     function);
}

CUstream acui_stream_show(acu_stream *stream)
{
    /* Acquire: by then all its signals have events, whoever provided them. */
    if (!atomic_load_explicit(&stream->shown, memory_order_acquire))
        acui_stream_expose(stream);
    return stream->raw;
}

CUstream acu_stream_raw(const acu_stream *stream)
{
    if (!acui_object_is(stream, ACU_OBJECT_STREAM))
        return NULL;
    return acui_stream_show((acu_stream *)(uintptr_t)stream);
}

acu_device *acu_stream_device(const acu_stream *stream)
{
    return acui_object_is(stream, ACU_OBJECT_STREAM) ? stream->device : NULL;
}

int acu_stream_priority(const acu_stream *stream)
{
    return acui_object_is(stream, ACU_OBJECT_STREAM) ? stream->priority : 0;
}

/* ---- order ---------------------------------------------------------------------------------- */

static acu_status refuse_captured(const acu_stream *stream)
{
    const char *which = stream->raw == ACU_CU_STREAM_LEGACY
                            ? "a stream that waits for this one, CUDA's legacy default stream"
                            : "this stream";
    return acui_fail(ACU_ERR_CAPTURE,
                     "the program is capturing %s: end the capture first, or use another stream",
                     which);
}

unsigned acui_stream_ask_captured(const acu_stream *stream, bool *captured)
{
    unsigned state = ACU_CU_STREAM_CAPTURE_STATUS_NONE, result = ACU_CUDA_SUCCESS;
    if (atomic_load_explicit(&stream->shown, memory_order_relaxed) && ACUI_HAS(StreamIsCapturing))
        result = stream->device->cu->StreamIsCapturing(stream->raw, &state);
    *captured = state != ACU_CU_STREAM_CAPTURE_STATUS_NONE ||
                acui_result_status(result) == ACU_ERR_CAPTURE; /* the legacy stream, while another
                                                                * one captures */
    return *captured ? ACU_CUDA_SUCCESS : result;
}

acu_status acui_stream_not_capturing(acu_stream *stream)
{
    bool captured;
    unsigned result = acui_stream_ask_captured(stream, &captured);
    if (captured)
        return refuse_captured(stream);
    return acui_device_result(stream->device, "StreamIsCapturing", result);
}

acu_status acui_stream_check_held(const acu_stream *stream, const char *function)
{
    if (!acui_stream_is_held(stream))
        return ACU_OK;
    return acui_fail(ACU_ERR_BUSY,
                     "%s: something that was submitted to the stream is still held back on the "
                     "host, and this would not come behind it; acu_stream_settle waits until it is "
                     "on the stream",
                     function);
}

acu_status acui_stream_check_capture(acu_stream *stream)
{
    acui_entered entered;
    if (!atomic_load_explicit(&stream->shown, memory_order_relaxed))
        return ACU_OK;
    bool was = acui_error_aside(); /* an error, a lost device for instance, shows later */
    acu_status status = acui_enter(stream->device, &entered);
    if (status == ACU_OK) {
        status = acui_stream_not_capturing(stream);
        acui_leave(&entered);
    }
    acui_error_back(was);
    return status == ACU_ERR_CAPTURE ? refuse_captured(stream) : ACU_OK;
}

/* An event behind everything that the stream holds now; the caller puts it back. */
static acu_status record_end(acu_stream *stream, CUevent *event)
{
    acui_entered entered;
    ACUI_TRY(acui_enter(stream->device, &entered));
    acu_status st = acui_stream_not_capturing(stream);
    if (st == ACU_OK)
        st = acui_event_get(stream->device, event);
    if (st == ACU_OK) {
        st = ACUI_DEV(stream->device, EventRecord, *event, stream->raw);
        if (st != ACU_OK)
            acui_event_put(stream->device, *event);
    }
    acui_leave(&entered);
    return st;
}

static acu_status order_after(acu_stream *stream, acu_stream *other)
{
    CUevent end = NULL;
    ACUI_TRY(record_end(other, &end));
    acui_entered entered;
    acu_status st = acui_enter(stream->device, &entered);
    if (st == ACU_OK) {
        st = acui_stream_not_capturing(stream);
        if (st == ACU_OK)
            st = ACUI_DEV(stream->device, StreamWaitEvent, stream->raw, end,
                          ACU_CU_EVENT_WAIT_DEFAULT);
        acui_leave(&entered);
    }
    acui_event_put(other->device, end);
    return st;
}

acu_status acu_stream_order_after(acu_stream *stream, acu_stream *other)
{
    ACUI_CHECK(stream, STREAM);
    ACUI_CHECK_AS(other, STREAM, "other stream");
    ACUI_TRY(acui_stream_check_thread(stream, __func__));
    ACUI_TRY(acui_stream_check_thread(other, __func__));
    if (stream == other)
        return ACU_OK; /* it is in that order anyway */
    ACUI_TRY(acui_device_check(other->device));
    ACUI_TRY(acui_stream_check_held(other, __func__));
    return acui_capture_in(order_after(stream, other), __func__);
}

acu_status acu_stream_fork(acu_stream *stream, acu_stream **forked)
{
    ACUI_CHECK(stream, STREAM);
    if (!forked)
        return acui_fail(ACU_ERR_INVALID, "acu_stream_fork: nowhere to put the stream");
    acu_stream *s = NULL;
    ACUI_TRY(acui_device_check(stream->device));
    ACUI_TRY(acui_stream_check_held(stream, __func__));
    ACUI_TRY(acui_stream_open(stream->device, stream->priority, false, &s));
    acu_status st = acui_stream_check_thread(stream, __func__);
    if (st == ACU_OK)
        st = order_after(s, stream);
    if (st == ACU_OK)
        *forked = s;
    else
        acu_stream_release(s);
    return acui_capture_in(st, __func__);
}

/* ---- waiting -------------------------------------------------------------------------------- */

/* Wait until everything submitted to the stream so far is on it; `late`: the status if that takes
 * longer. */
static acu_status settle(acu_stream *stream, uint64_t timeout, acu_status late)
{
    acui_close_hooks h = acui_close_hooks_set();
    acu_status st = h.settle ? h.settle(stream, timeout) : ACU_OK; /* none: nothing was submitted */
    return st == ACU_TIMEOUT ? late : st;
}

acu_status acu_stream_settle(acu_stream *stream, uint64_t timeout)
{
    ACUI_CHECK(stream, STREAM);
    ACUI_TRY(acui_refuse_wait(__func__));
    ACUI_TRY(acui_device_check(stream->device));
    return settle(stream, timeout, ACU_TIMEOUT);
}

acu_status acu_stream_poll(acu_stream *stream)
{
    ACUI_CHECK(stream, STREAM);
    ACUI_TRY(acui_stream_check_thread(stream, __func__));
    ACUI_TRY(acui_device_check(stream->device));
    if (acui_stream_is_held(stream))
        ACUI_TRY(settle(stream, 0, ACU_NOT_READY));
    acui_entered entered;
    ACUI_TRY(acui_enter(stream->device, &entered));
    acu_status st = acui_stream_not_capturing(stream);
    if (st == ACU_OK)
        st = ACUI_DEV(stream->device, StreamQuery, stream->raw);
    acui_leave(&entered);
    return acui_capture_in(st, __func__);
}

acu_status acu_stream_wait(acu_stream *stream, uint64_t timeout)
{
    ACUI_CHECK(stream, STREAM);
    ACUI_TRY(acui_stream_check_thread(stream, __func__));
    ACUI_TRY(acui_refuse_wait(__func__));
    acui_nap nap = acui_nap_start(timeout);
    ACUI_TRY(settle(stream, timeout, ACU_TIMEOUT));
    /* Work that the stream gets meanwhile is not waited for: an event marks where the stream
     * ended. */
    CUevent end = NULL;
    ACUI_TRY(acui_capture_in(record_end(stream, &end), __func__));
    acu_status st;
    do {
        acui_entered entered;
        st = acui_enter(stream->device, &entered);
        if (st == ACU_OK) {
            st = ACUI_DEV(stream->device, EventQuery, end);
            acui_leave(&entered);
        }
    } while (st == ACU_NOT_READY && acui_nap_again(&nap));
    acui_event_put(stream->device, end);
    return st == ACU_NOT_READY ? ACU_TIMEOUT : st;
}
