/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A stream's backlog: what was submitted to it and is not on it yet. That waits for host work, for
 * its kernels to be loaded, for room, for memory, or for another thread to plan or issue it. A
 * thread that asks the driver about the stream would miss it, so it waits for it first
 * (acui_backlog_settle).
 *
 * New tasks count on one of two sides, which change when the other is empty. Two such turns after
 * any moment, everything that was in the backlog then is on the stream, or over.
 */
#include "base/clock.h"
#include "engine/completion/complete.h"
#include "engine/issue/dispatch.h"
#include "engine/issue/issue.h"

/* Change sides, if the other one is empty: it gets what is new from now on. Order lock held. */
static void take_turns(acui_backlog *backlog, uint64_t turn)
{
    while (backlog->turns < turn &&
           atomic_load_explicit(&backlog->tasks[!backlog->side], memory_order_relaxed) == 0) {
        backlog->side = !backlog->side;
        backlog->turns++;
    }
}

static bool has_turned(acu_stream *stream, uint64_t turn)
{
    acui_order_lock(acui_home_of(stream->device));
    take_turns(&stream->engine.backlog, turn);
    bool turned = stream->engine.backlog.turns >= turn;
    acui_order_unlock(acui_home_of(stream->device));
    return turned;
}

static uint64_t turn_of_now(acu_stream *stream)
{
    acui_order_lock(acui_home_of(stream->device));
    uint64_t turn = stream->engine.backlog.turns + 2;
    acui_order_unlock(acui_home_of(stream->device));
    return turn;
}

typedef struct settling {
    acu_stream *stream;
    uint64_t turn, nap;
} settling;

static acu_status look(void *context, uint64_t now)
{
    (void)now;
    const settling *s = context;
    if (has_turned(s->stream, s->turn))
        return ACU_OK;
    acui_look_everywhere(); /* what it waits for may be over: then it goes there at once */
    acu_status status = acui_device_check(s->stream->device);
    if (status == ACU_OK && !has_turned(s->stream, s->turn))
        status = ACU_NOT_READY;
    return status;
}

/* Nobody announces that something was put on a stream. */
static uint64_t next_look(void *context, uint64_t now, uint64_t spin, uint64_t *start)
{
    (void)start;
    settling *s = context;
    if (spin)
        return now;
    s->nap = s->nap == 0 ? ACU_US(20) : s->nap < ACU_MS(1) ? 2 * s->nap : s->nap;
    return now + s->nap;
}

acu_status acui_backlog_settle(acu_stream *stream, uint64_t timeout)
{
    uint64_t deadline = acui_deadline(timeout);
    if (acui_runtime_settle(timeout) != ACU_OK)
        return ACU_TIMEOUT;
    if (!acui_stream_is_held(stream))
        return ACU_OK;
    settling s = {.stream = stream, .turn = turn_of_now(stream)};
    if (timeout > 0)
        acui_dispatch_drain(stream->device, timeout);
    uint64_t now = acui_now();
    if (timeout != ACU_FOREVER)
        timeout = deadline > now ? deadline - now : 0;
    return acui_wait_until(look, next_look, &s, timeout);
}
