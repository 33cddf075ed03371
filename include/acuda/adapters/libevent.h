/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A completion queue in a libevent loop (2.1 or newer). loop.h says what holds for all adapters.
 *
 *   acu_libevent *gpu;
 *   acu_loop_options options = {.size = sizeof options, .fn = completed, .user = ACU_USER(server)};
 *   acu_libevent_start(base, queue, &options, &gpu);
 *   event_base_dispatch(base);
 *
 *   acu_libevent_stop(gpu);                               in a callback, say
 *
 * The adapter is an event like others: it keeps the loop running until it is stopped.
 *
 * libevent has no hook that runs before it sleeps. With busy-poll, a program calls
 * acu_libevent_submitted after it has submitted to the queue; from there on it works as in the
 * other loops. Polling runs in the lowest of the base's priorities, whose number must stay what it
 * was when the adapter was started. Meanwhile a loop with EVLOOP_NONBLOCK does not return, as with
 * any event that is due at once.
 */
#ifndef ACUDA_ADAPTERS_LIBEVENT_H
#define ACUDA_ADAPTERS_LIBEVENT_H

#include <acuda/adapters/loop.h>

#include <event2/event.h>

ACU_BEGIN

typedef struct acu_libevent {
    acui_loop loop;
    struct event *readable; /* the queue's descriptor is readable */
    struct event *busy; /* a timer that is due at once, so that the loop does not sleep. It has the
                         * lowest priority: events of a lower one would never get their turn */
} acu_libevent;

/* Keep the loop from sleeping, if there is something to look for. */
static inline void acu_libevent_submitted(acu_libevent *a)
{
    static const struct timeval at_once = {0, 0};
    if (acui_loop_is_busy(&a->loop))
        (void)event_add(a->busy, &at_once);
}

static inline void acui_libevent_fire(evutil_socket_t fd, short what, void *adapter)
{
    acu_libevent *a = ACUI_CAST(acu_libevent *, adapter);
    (void)fd, (void)what;
    acui_loop_enter(&a->loop);
    (void)acui_loop_deliver(&a->loop);
    acu_libevent_submitted(a);
    acui_loop_leave(&a->loop);
}

static inline void acu_libevent_stop(acu_libevent *a)
{
    if (!a || a->loop.stopped)
        return;
    acui_loop_enter(&a->loop);
    if (a->readable)
        event_free(a->readable);
    if (a->busy)
        event_free(a->busy);
    acui_loop_stop(&a->loop);
    acui_loop_leave(&a->loop);
}

static inline acu_status acu_libevent_start(struct event_base *base, acu_queue *queue,
                                            const acu_loop_options *options,
                                            acu_libevent **adapter)
{
    if (adapter)
        *adapter = NULL;
    void *memory = NULL;
    acu_status status =
        acui_loop_new(sizeof(acu_libevent), queue, options, base && adapter, &memory);
    if (status != ACU_OK)
        return status;
    acu_libevent *a = ACUI_CAST(acu_libevent *, memory);
    a->readable = event_new(base, acu_queue_fd(queue), EV_READ | EV_PERSIST, acui_libevent_fire, a);
    a->busy = event_new(base, -1, 0, acui_libevent_fire, a);
    if (!a->readable || !a->busy)
        status = ACU_ERR_NO_MEMORY;
    else if (event_priority_set(a->busy, event_base_get_npriorities(base) - 1) != 0 ||
             event_add(a->readable, NULL) != 0)
        status = ACU_ERR_LIMIT;
    if (status == ACU_OK)
        *adapter = a;
    else
        acu_libevent_stop(a);
    return status;
}

ACU_END
#endif
