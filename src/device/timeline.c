/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*Signals on a stream: making them, ordering behind them, learning which are complete. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "device/device.h"
#include "driver/result.h"

#define BLIND_LIMIT 8 /* failed looks in a row before the device is given up */

static acui_signal *signal_at(acu_stream *stream, size_t i)
{
    return &stream->signals[(stream->signal_first + i) & (stream->signal_room - 1)];
}

/* ---- events; all under stream->lock ---------------------------------------------------------- */

enum { SPARE = sizeof((acu_stream *)0)->spare / sizeof(CUevent) };

static void put_event(acu_stream *stream, CUevent event)
{
    if (stream->spare_count < SPARE)
        stream->spare[stream->spare_count++] = event;
    else
        acui_event_put(stream->device, event);
}

static acu_status get_event(acu_stream *stream, CUevent *event)
{
    if (stream->spare_count == 0)
        return acui_event_get(stream->device, event);
    *event = stream->spare[--stream->spare_count];
    return ACU_OK;
}

/* ---- which are complete; all under stream->lock ---------------------------------------------- */

/* The first `count` signals are over: reuse their events. Returns the number of the last. */
static uint64_t drop_signals(acu_stream *stream, size_t count)
{
    uint64_t last = 0;
    for (size_t i = 0; i < count; i++) {
        const acui_signal *signal = signal_at(stream, i);
        last = signal->number;
        if (signal->event)
            put_event(stream, signal->event);
    }
    stream->signal_first = (stream->signal_first + count) & (stream->signal_room - 1);
    stream->signal_count -= count;
    return last;
}

/* With or without the lock; `done` never goes back. */
static void advance(acu_stream *stream, uint64_t number)
{
    uint64_t done = atomic_load_explicit(&stream->done, memory_order_relaxed);
    /* Release: a thread that sees the number sees what was written before the signal was found
     * complete. */
    while (done < number &&
           !atomic_compare_exchange_weak_explicit(&stream->done, &done, number,
                                                  memory_order_release, memory_order_relaxed))
        ;
}

static void complete_signals(acu_stream *stream, size_t count)
{
    if (count)
        advance(stream, drop_signals(stream, count));
}

/* To the driver, the handle means the calling thread's own stream. */
static bool is_of_another_thread(const acu_stream *stream)
{
    return stream->of_thread && stream->thread != acui_thread_number();
}

/* Whether the stream is idle. Counts as not ready if it is another thread's stream, or captured by
 * the program: asking would break the capture. */
static unsigned query_stream(acu_stream *stream, const char **call)
{
    bool captured;
    if (is_of_another_thread(stream))
        return ACU_CUDA_ERROR_NOT_READY;
    *call = "StreamIsCapturing";
    unsigned result = acui_stream_ask_captured(stream, &captured);
    if (captured || result != ACU_CUDA_SUCCESS)
        return captured ? ACU_CUDA_ERROR_NOT_READY : result;
    *call = "StreamQuery";
    return stream->device->cu->StreamQuery(stream->raw);
}

/* The event of the signal, or of the first signal behind it that has one; NULL: none has. */
static CUevent event_from(acu_stream *stream, size_t index)
{
    CUevent event = NULL;
    for (; index < stream->signal_count && !event; index++)
        event = signal_at(stream, index)->event;
    return event;
}

/* Whether the signal `index` is complete: 0, CUDA_ERROR_NOT_READY, or an error of the context.
 * A signal without an event is complete with a later signal. If there is none with an event, or the
 * query fails for another reason, it is complete when the stream is idle. */
static unsigned query(acu_stream *stream, size_t index, const char **call)
{
    unsigned result = ACU_CUDA_ERROR_NOT_SUPPORTED;
    CUevent event = event_from(stream, index);
    if (event) {
        *call = "EventQuery";
        result = stream->device->cu->EventQuery(event);
    }
    if (result == ACU_CUDA_SUCCESS || result == ACU_CUDA_ERROR_NOT_READY ||
        acu_status_scope(acui_result_status(result)) == ACU_SCOPE_DEVICE)
        return result;
    return query_stream(stream, call);
}

/* Counts how many signals, from the first, are complete. Signals complete in order, so looking
 * ahead in growing steps takes few queries both when none and when all are complete. */
static unsigned count_complete(acu_stream *stream, size_t *complete, const char **call)
{
    size_t low = 0, high = stream->signal_count, step = 1;
    bool limited = false;
    while (low < high) {
        size_t ahead = limited ? (high - low) / 2 : (step < high - low ? step : high - low) - 1;
        size_t at = low + ahead;
        unsigned result = query(stream, at, call);
        if (result == ACU_CUDA_SUCCESS) {
            low = at + 1;
            step *= 2;
        } else if (result == ACU_CUDA_ERROR_NOT_READY) {
            high = at;
            limited = true;
        } else {
            *complete = low;
            return result;
        }
    }
    *complete = low;
    return ACU_CUDA_SUCCESS;
}

/* A look failed without a known reason. For now that changes nothing, and it is not reported to the
 * thread; but a stream about which the driver never answers can never be waited for. */
static void look_failed(acu_stream *stream, unsigned result, const char *call)
{
    acu_error kept = *acui_error();
    acu_status st = acui_device_result(stream->device, call, result);
    if (acu_status_scope(st) != ACU_SCOPE_DEVICE && ++stream->blind >= BLIND_LIMIT) {
        acu_driver_call number = acu_driver_call_find(call);
        acui_fail_driver(number, result, "asked %d times, the driver can not tell what is complete",
                         BLIND_LIMIT);
        acui_error()->status = ACU_ERR_DEVICE_LOST;
        acui_error()->device = stream->device->info.ordinal;
        acui_device_lose(stream->device);
    }
    acui_error_restore(&kept);
}

/*Signals that the device has written need no query. */
static void look_at_flag(acu_stream *stream)
{
    _Atomic(uint64_t) *place = atomic_load_explicit(&stream->flag, memory_order_relaxed);
    if (!place)
        return;
    uint64_t flag = atomic_load_explicit(place, memory_order_acquire);
    size_t count = 0;
    while (count < stream->signal_count && signal_at(stream, count)->number <= flag)
        count++;
    complete_signals(stream, count);
}

/* Whether the device itself reports this signal and the later ones, ahead of their events. */
static bool is_told(acu_stream *stream, uint64_t number)
{
    return number > atomic_load_explicit(&stream->untold, memory_order_relaxed);
}

/* The driver is asked now and then all the same: it may have bad news, which concerns all of the
 * device's streams. */
static bool was_asked(acu_stream *stream, uint64_t now)
{
    return now < atomic_load_explicit(&stream->device->asked_at, memory_order_relaxed) + ACUI_ASK;
}

/* Other threads read the time, so it is not written for small differences. */
static void note_asked(acu_stream *stream, uint64_t now)
{
    if (!was_asked(stream, now + ACUI_ASK / 4 * 3))
        atomic_store_explicit(&stream->device->asked_at, now, memory_order_relaxed);
}

/*Signals that the device reports need no query if there was one just now. */
static bool need_not_ask(acu_stream *stream)
{
    if (stream->signal_count == 0)
        return true;
    if (!is_told(stream, signal_at(stream, 0)->number))
        return false;
    uint64_t now = acui_now();
    if (was_asked(stream, now))
        return true;
    note_asked(stream, now);
    return false;
}

uint64_t acui_stream_last(acu_stream *stream)
{
    acui_lock_take(&stream->lock);
    uint64_t last = stream->issued;
    acui_lock_give(&stream->lock);
    return last;
}

bool acui_stream_reached(acu_stream *stream, uint64_t number)
{
    _Atomic(uint64_t) *flag = atomic_load_explicit(&stream->flag, memory_order_acquire);
    return acui_stream_passed(stream, number) ||
           (flag && atomic_load_explicit(flag, memory_order_relaxed) >= number);
}

bool acui_stream_is_quiet(acu_stream *stream, uint64_t number, uint64_t now)
{
    _Atomic(uint64_t) *flag = atomic_load_explicit(&stream->flag, memory_order_acquire);
    return flag && atomic_load_explicit(flag, memory_order_relaxed) < number &&
           !acui_device_lost(stream->device) && is_told(stream, number) && was_asked(stream, now);
}

bool acui_stream_catch_up(acu_stream *stream, uint64_t number)
{
    _Atomic(uint64_t) *place = atomic_load_explicit(&stream->flag, memory_order_acquire);
    uint64_t flag = place ? atomic_load_explicit(place, memory_order_acquire) : 0;
    if (flag < number || acui_device_lost(stream->device))
        return false;
    advance(stream, flag);
    return true;
}

void acui_stream_passes(acu_stream *stream, uint64_t number)
{
    if (!acui_stream_passed(stream, number))
        advance(stream, number);
}

static void look(acu_stream *stream)
{
    acui_entered entered;
    look_at_flag(stream);
    if (!need_not_ask(stream) && acui_enter_to_free(stream->device, &entered)) {
        size_t complete = 0;
        const char *call = "";
        unsigned result = count_complete(stream, &complete, &call);
        acui_leave(&entered);
        complete_signals(stream, complete);
        if (result == ACU_CUDA_SUCCESS)
            stream->blind = 0;
        else
            look_failed(stream, result, call);
    }
    if (acui_device_lost(stream->device))
        drop_signals(stream, stream->signal_count);
}

acu_status acui_stream_harvest(acu_stream *stream, size_t *left)
{
    acui_lock_take(&stream->lock);
    look(stream);
    if (left)
        *left = stream->signal_count;
    acui_lock_give(&stream->lock);
    return acui_device_check(stream->device);
}

/* ---- making ---------------------------------------------------------------------------------- */

/* Makes room in a full ring with at most one query, because each takes as long as a launch. If that
 * fails, the ring grows. */
static bool drop_half(acu_stream *stream)
{
    const char *call;
    size_t half = stream->signal_count / 2;
    look_at_flag(stream);
    if (stream->signal_count < stream->signal_room)
        return true;
    if (query(stream, half - 1, &call) != ACU_CUDA_SUCCESS)
        return false;
    complete_signals(stream, half);
    return true;
}

/* Room for one more signal. Without memory for a larger ring, the newest signal makes room: the new
 * one lies behind it on the same stream, and stands for both. */
static void make_room(acu_stream *stream)
{
    if (stream->signal_count < stream->signal_room || drop_half(stream))
        return;
    size_t room = stream->signal_room * 2;
    acui_signal *signals = ACUI_NEW_ARRAY(acui_signal, room);
    if (!signals) {
        acui_signal *newest = signal_at(stream, --stream->signal_count);
        if (newest->event)
            acui_event_put(stream->device, newest->event);
        return;
    }
    for (size_t i = 0; i < stream->signal_count; i++)
        signals[i] = *signal_at(stream, i);
    acui_free(stream->signals);
    stream->signals = signals;
    stream->signal_first = 0;
    stream->signal_room = room;
}

/* An event behind everything on the stream; NULL if the driver gives none, which is not reported to
 * the thread unless the device is lost. */
static CUevent record(acu_stream *stream)
{
    CUevent event = NULL;
    if (get_event(stream, &event) != ACU_OK)
        return NULL;
    unsigned result = stream->device->cu->EventRecord(event, stream->raw);
    if (result == ACU_CUDA_SUCCESS)
        return event;
    put_event(stream, event);
    if (acu_status_scope(acui_result_status(result)) == ACU_SCOPE_DEVICE)
        acui_device_result(stream->device, "EventRecord", result);
    return NULL;
}

acu_status acui_stream_signal(acu_stream *stream, acui_report report, uint64_t *number,
                              uint64_t *armed)
{
    acui_lock_take(&stream->lock);
    look_at_flag(stream); /* signals that acui_stream_catch_up has passed are still there */
    /* First what somebody waits for; it takes the device longer than the event takes the host. */
    bool wanted = report == ACUI_REPORT_ALWAYS ||
                  (report == ACUI_REPORT_IF_FIRST && stream->signal_count == 0);
    wanted = wanted && acui_stream_tell(stream, stream->issued + 1);
    uint64_t now = wanted ? acui_now() : 0;
    if (wanted)
        note_asked(stream, now);
    else
        atomic_store_explicit(&stream->untold, stream->issued + 1, memory_order_relaxed);
    if (armed)
        *armed = now;
    /* Little ever comes behind work that is waited for at once; what does gives the signal an event
     * (give_event). */
    bool shown = atomic_load_explicit(&stream->shown, memory_order_relaxed);
    CUevent event = wanted && !shown ? NULL : record(stream);
    /* Without an event nobody can learn of the end while the program captures the stream: so a
     * record that failed is tried once more. */
    if (!event && shown && !acui_device_lost(stream->device))
        event = record(stream);
    if (acui_device_lost(stream->device))
        acui_device_blame(stream->device); /* this thread knows what it was issuing */
    acu_status st = acui_device_check(stream->device);
    if (st == ACU_OK) {
        make_room(stream);
        acui_signal *signal = signal_at(stream, stream->signal_count++);
        *signal = (acui_signal){.number = ++stream->issued, .event = event};
        *number = signal->number;
    } else if (event) {
        acui_event_put(stream->device, event);
    }
    acui_lock_give(&stream->lock);
    return st;
}

/* Under stream->lock. */
static void complete_up_to(acu_stream *stream, uint64_t number)
{
    size_t count = 0;
    while (count < stream->signal_count && signal_at(stream, count)->number <= number)
        count++;
    complete_signals(stream, count);
    stream->blind = 0;
}

void acui_stream_own_end(acu_stream *stream, uint64_t number)
{
    acui_lock_take(&stream->lock);
    size_t count = stream->signal_count;
    bool has_event = count == 0 || signal_at(stream, count - 1)->event;
    acui_lock_give(&stream->lock);
    while (!has_event &&
           !acui_device_lost(stream->device)) { /* it becomes lost if this keeps failing */
        unsigned result = stream->device->cu->StreamSynchronize(stream->raw);
        has_event = result == ACU_CUDA_SUCCESS;
        acui_lock_take(&stream->lock);
        if (has_event)
            complete_up_to(stream, number);
        else
            look_failed(stream, result, "StreamSynchronize");
        acui_lock_give(&stream->lock);
    }
}

uint64_t acui_stream_owe(acu_stream *stream)
{
    acui_lock_take(&stream->lock);
    uint64_t next = stream->owed = stream->issued + 1;
    acui_lock_give(&stream->lock);
    return next;
}

void acui_stream_make_owed(acu_stream *stream)
{
    acui_lock_take(&stream->lock);
    bool due = stream->owed > stream->issued;
    acui_lock_give(&stream->lock);
    if (!due)
        return;
    bool was = acui_error_aside(); /* fails only if the device is lost, and then nothing relies on
                                    * the signal */
    uint64_t number;
    acui_stream_signal(stream, ACUI_REPORT_NEVER, &number, NULL);
    acui_error_back(was);
}

/* ---- finding one ----------------------------------------------------------------------------- */

/* The first signal that implies `number`: its own, or a later one that took its place. NULL: it is
 * complete. Signals are in the order of their numbers. */
static acui_signal *find_signal(acu_stream *stream, uint64_t number)
{
    size_t low = 0, high = stream->signal_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (signal_at(stream, middle)->number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < stream->signal_count ? signal_at(stream, low) : NULL;
}

/* ---- signals without events ------------------------------------------------------------------ */

/* Gives the signal an event, which may be recorded later than the signal. If the program were
 * capturing the stream, the event would belong to the capture, and a stream that waits for it
 * would join it. */
static acu_status give_event(acu_stream *other, acui_signal *signal)
{
    acui_entered entered;
    if (is_of_another_thread(other))
        return acui_fail(ACU_ERR_DRIVER, "the driver gave no event behind work on the per-thread "
                                         "default stream of another thread, to be ordered by");
    ACUI_TRY(acui_enter(other->device, &entered));
    CUevent event = NULL;
    acu_status st = acui_stream_not_capturing(other);
    if (st == ACU_OK)
        st = acui_event_get(other->device, &event);
    if (st == ACU_OK) {
        st = ACUI_DEV(other->device, EventRecord, event, other->raw);
        if (st == ACU_OK)
            signal->event = event;
        else
            acui_event_put(other->device, event);
    }
    acui_leave(&entered);
    return st;
}

void acui_stream_expose(acu_stream *stream)
{
    bool was = acui_error_aside();
    acui_lock_take(&stream->lock);
    for (size_t i = 0; i < stream->signal_count; i++)
        if (!signal_at(stream, i)->event && give_event(stream, signal_at(stream, i)) != ACU_OK)
            break; /* as if none could be recorded */
    atomic_store_explicit(&stream->shown, true, memory_order_release);
    acui_lock_give(&stream->lock);
    acui_error_back(was);
}

/* ---- ordering behind one --------------------------------------------------------------------- */

/* The other stream's lock is held, so that the event is not reused before the wait is enqueued; and
 * so is its device. *reached: the signal behind which the stream is then. */
static acu_status wait_for_signal(acu_stream *stream, acu_stream *other, uint64_t *reached)
{
    acui_signal *signal = find_signal(other, *reached);
    if (!signal)
        return ACU_OK;
    *reached = signal->number;
    if (!signal->event)
        ACUI_TRY(give_event(other, signal));
    return ACUI_DEV(stream->device, StreamWaitEvent, stream->raw, signal->event,
                    ACU_CU_EVENT_WAIT_DEFAULT);
}

static struct acui_seen *seen_of(acu_stream *stream, const acu_stream *other)
{
    return &stream->seen[other->id % (sizeof stream->seen / sizeof *stream->seen)];
}

bool acui_stream_implied(acu_stream *stream, const acu_stream *other, uint64_t number)
{
    const struct acui_seen *seen = seen_of(stream, other);
    return seen->stream == other->id && seen->number >= number;
}

acu_status acui_stream_after(acu_stream *stream, acu_stream *other, uint64_t number)
{
    if (stream == other || acui_stream_passed(other, number))
        return ACU_OK;
    if (acui_stream_implied(stream, other, number))
        return ACU_OK;
    struct acui_seen *seen = seen_of(stream, other);
    uint64_t reached = number;
    struct acui_holder *holder;
    acui_lock_take(&other->lock);
    acu_status st = acui_hold(other->device, &holder) ? wait_for_signal(stream, other, &reached)
                                                      : acui_device_check(other->device);
    acui_unhold(holder);
    acui_lock_give(&other->lock);
    if (st == ACU_OK)
        *seen = (struct acui_seen){.stream = other->id, .number = reached};
    return st;
}
