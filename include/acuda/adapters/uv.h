/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A completion queue in a libuv loop (1.x). loop.h says what holds for all adapters.
 *
 *   acu_uv *gpu;
 *   acu_loop_options options = {.size = sizeof options, .fn = completed, .user = ACU_USER(server)};
 *   acu_uv_start(uv_default_loop(), queue, &options, &gpu);
 *   uv_run(uv_default_loop(), UV_RUN_DEFAULT);
 *
 *   acu_uv_stop(gpu);                                     in a callback, say
 *
 * The adapter is a handle like others: it keeps the loop running until it is stopped, and is freed
 * when the loop has closed it, in its next turn. Busy-poll makes the loop poll without sleeping, as
 * an idle handle does.
 */
#ifndef ACUDA_ADAPTERS_UV_H
#define ACUDA_ADAPTERS_UV_H

#include <acuda/adapters/loop.h>

#include <uv.h>

ACU_BEGIN

typedef struct acu_uv {
    acui_loop loop;
    uv_poll_t poll;       /* the queue's descriptor */
    uv_prepare_t prepare; /* runs before the loop would sleep; with busy-poll only */
    uv_idle_t idle;       /* while active, the loop does not sleep */
    int open;             /* number of handles that the loop still knows */
} acu_uv;

/* A handle of any kind as libuv's base type. */
static inline uv_handle_t *acui_uv_handle(void *handle)
{
    return ACUI_CAST(uv_handle_t *, handle);
}

static inline void acui_uv_closed(uv_handle_t *handle)
{
    acu_uv *a = ACUI_CAST(acu_uv *, handle->data);
    if (--a->open > 0)
        return;
    acui_loop_end(&a->loop);
    free(a);
}

static inline void acui_uv_readable(uv_poll_t *poll, int status, int events)
{
    acu_uv *a = ACUI_CAST(acu_uv *, poll->data);
    (void)status, (void)events;
    (void)acui_loop_deliver(&a->loop);
}

static inline void acui_uv_idle(uv_idle_t *idle)
{
    (void)idle; /* being active is its whole effect */
}

static inline void acui_uv_before_sleep(uv_prepare_t *prepare)
{
    acu_uv *a = ACUI_CAST(acu_uv *, prepare->data);
    bool busy = acui_loop_is_busy(&a->loop);
    if (busy)
        (void)acui_loop_deliver(&a->loop);
    if (a->loop.stopped)
        return;
    if (busy)
        (void)uv_idle_start(&a->idle, acui_uv_idle);
    else
        (void)uv_idle_stop(&a->idle);
}

/* The adapter is closed, and its memory freed, in the loop's next turn. */
static inline void acu_uv_stop(acu_uv *a)
{
    if (!a || a->loop.stopped)
        return;
    acui_loop_stop(&a->loop);
    uv_close(acui_uv_handle(&a->poll), acui_uv_closed);
    if (a->open == 1)
        return;
    uv_close(acui_uv_handle(&a->prepare), acui_uv_closed);
    uv_close(acui_uv_handle(&a->idle), acui_uv_closed);
}

/* The two handles of busy-poll do not keep the loop running. */
static inline void acui_uv_add_busy(acu_uv *a, uv_loop_t *loop)
{
    (void)uv_prepare_init(loop, &a->prepare); /* these four can not fail */
    (void)uv_idle_init(loop, &a->idle);
    a->prepare.data = a->idle.data = a;
    a->open += 2;
    (void)uv_prepare_start(&a->prepare, acui_uv_before_sleep);
    uv_unref(acui_uv_handle(&a->prepare));
    uv_unref(acui_uv_handle(&a->idle));
}

/* If libuv refuses to poll the descriptor, the memory is freed in the loop's next turn. */
static inline acu_status acu_uv_start(uv_loop_t *loop, acu_queue *queue,
                                      const acu_loop_options *options, acu_uv **adapter)
{
    if (adapter)
        *adapter = NULL;
    void *memory = NULL;
    acu_status status = acui_loop_new(sizeof(acu_uv), queue, options, loop && adapter, &memory);
    if (status != ACU_OK)
        return status;
    acu_uv *a = ACUI_CAST(acu_uv *, memory);
    int result = uv_poll_init(loop, &a->poll, acu_queue_fd(queue));
    if (result != 0) {
        acui_loop_end(&a->loop);
        free(a);
        return result == UV_EEXIST ? ACU_ERR_BUSY : ACU_ERR_LIMIT;
    }
    a->open = 1;
    a->poll.data = a;
    if (uv_poll_start(&a->poll, UV_READABLE, acui_uv_readable) != 0) {
        acu_uv_stop(a);
        return ACU_ERR_LIMIT;
    }
    if (a->loop.busy_poll)
        acui_uv_add_busy(a, loop);
    *adapter = a;
    return ACU_OK;
}

ACU_END
#endif
