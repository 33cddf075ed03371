/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A stream's backlog: what was submitted to it and is not on it yet. That waits for host work, for
 * its kernels to be loaded, for room, for memory, or for another thread to plan or issue it. A
 * thread that asks the driver about the stream would miss it, so it waits for what is there now
 * (base/epochs.h).
 */
#include "base/clock.h"
#include "engine/completion/complete.h"
#include "engine/issue/dispatch.h"
#include "engine/issue/issue.h"

static bool is_empty(const void *of, unsigned epoch)
{
    const acui_backlog *backlog = of;
    return atomic_load_explicit(&backlog->tasks[epoch], memory_order_relaxed) == 0;
}

static bool has_passed(acu_stream *stream, uint64_t target)
{
    acui_backlog *backlog = &stream->engine.backlog;
    acui_order_lock(acui_home_of(stream->device));
    bool passed = acui_epochs_reach(&backlog->epochs, target, is_empty, backlog);
    acui_order_unlock(acui_home_of(stream->device));
    return passed;
}

static uint64_t target_now(acu_stream *stream)
{
    acui_order_lock(acui_home_of(stream->device));
    uint64_t target = acui_epochs_target(&stream->engine.backlog.epochs);
    acui_order_unlock(acui_home_of(stream->device));
    return target;
}

typedef struct settling {
    acu_stream *stream;
    uint64_t target, nap;
} settling;

static acu_status look(void *context, uint64_t now)
{
    (void)now;
    const settling *s = context;
    if (has_passed(s->stream, s->target))
        return ACU_OK;
    acui_look_everywhere(); /* what it waits for may be over: then it goes there at once */
    acu_status status = acui_device_check(s->stream->device);
    if (status == ACU_OK && !has_passed(s->stream, s->target))
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
    settling s = {.stream = stream, .target = target_now(stream)};
    if (timeout > 0)
        acui_dispatch_drain(stream->device, timeout);
    uint64_t now = acui_now();
    if (timeout != ACU_FOREVER)
        timeout = deadline > now ? deadline - now : 0;
    return acui_wait_until(look, next_look, &s, timeout);
}
