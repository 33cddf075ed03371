/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A completion queue in an epoll loop of the program's own. loop.h says what holds for all
 * adapters.
 *
 *   acu_epoll *gpu;
 *   acu_loop_options options = {.size = sizeof options, .fn = completed, .user = ACU_USER(server)};
 *   acu_epoll_start(epoll, (epoll_data_t){.ptr = &gpu}, queue, &options, &gpu);
 *                              (the address only tells the event from others; options are copied)
 *   while (running) {
 *       int count = acu_epoll_wait(gpu, events, 64, -1);    instead of epoll_wait
 *       for (int i = 0; i < count; i++)
 *           ...                                             the program's own events
 *   }
 *   acu_epoll_stop(gpu);
 *
 * A program that does not call epoll_wait itself calls acu_epoll_deliver for each event with the
 * adapter's data; then there is no busy-poll.
 */
#ifndef ACUDA_ADAPTERS_EPOLL_H
#define ACUDA_ADAPTERS_EPOLL_H

#include <acuda/adapters/loop.h>

#include <errno.h>
#include <limits.h>
#include <sys/epoll.h>

ACU_BEGIN

typedef struct acu_epoll {
    acui_loop loop;
    int epoll;
    uint64_t data;
    bool ready; /* its event came with others, which went to the program first */
} acu_epoll;

/*
 * Adds the queue's descriptor to the epoll instance, for reading, level-triggered. `data`
 * identifies the adapter's event to the program; no other event may have the same.
 */
static inline acu_status acu_epoll_start(int epoll, epoll_data_t data, acu_queue *queue,
                                         const acu_loop_options *options, acu_epoll **adapter)
{
    if (adapter)
        *adapter = NULL;
    void *memory = NULL;
    acu_status status = acui_loop_new(sizeof(acu_epoll), queue, options, adapter != NULL, &memory);
    if (status != ACU_OK)
        return status;
    acu_epoll *a = ACUI_CAST(acu_epoll *, memory);
    struct epoll_event event;
    event.events = EPOLLIN;
    event.data = data;
    a->epoll = epoll;
    a->data = data.u64;
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, acu_queue_fd(queue), &event) != 0) {
        status = errno == EEXIST   ? ACU_ERR_BUSY
                 : errno == ENOMEM ? ACU_ERR_NO_MEMORY
                                   : ACU_ERR_LIMIT;
        acui_loop_end(&a->loop);
        free(a);
        return status;
    }
    *adapter = a;
    return ACU_OK;
}

/* An event with the adapter's data may still be in a list that epoll_wait filled before: ignore
 * it. */
static inline void acu_epoll_stop(acu_epoll *a)
{
    if (!a || a->loop.stopped)
        return;
    acui_loop_enter(&a->loop);
    (void)epoll_ctl(a->epoll, EPOLL_CTL_DEL, acu_queue_fd(a->loop.queue), NULL);
    acui_loop_stop(&a->loop);
    acui_loop_leave(&a->loop);
}

/* Deliver a batch, if there is anything. Never blocks. */
static inline void acu_epoll_deliver(acu_epoll *a)
{
    acui_loop_enter(&a->loop);
    (void)acui_loop_deliver(&a->loop);
    acui_loop_leave(&a->loop);
}

/* Takes the adapter's own event out of the list; returns how many are left. */
static inline int acui_epoll_take_out(acu_epoll *a, struct epoll_event *events, int count)
{
    int left = 0;
    for (int i = 0; i < count; i++) {
        if (events[i].data.u64 == a->data)
            a->ready = true;
        else
            events[left++] = events[i];
    }
    return count < 0 ? count : left;
}

/* The time until `end` (of acu_now) in milliseconds, rounded up. */
static inline int acui_epoll_left(uint64_t end)
{
    uint64_t now = acu_now();
    if (end == ACU_FOREVER)
        return -1;
    uint64_t ms = end > now ? (end - now + 999999u) / 1000000u : 0;
    return ms < INT_MAX ? ACUI_CAST(int, ms) : INT_MAX;
}

/* acu_epoll_wait for an adapter that is entered. */
static inline int acui_epoll_turn(acu_epoll *a, struct epoll_event *events, int room, uint64_t end)
{
    bool delivered = a->ready && acui_loop_deliver(&a->loop);
    a->ready = false;
    while (!a->loop.stopped) {
        bool busy = !delivered && acui_loop_is_busy(&a->loop);
        int left = delivered || busy ? 0 : acui_epoll_left(end);
        int count = acui_epoll_take_out(a, events, epoll_wait(a->epoll, events, room, left));
        if (count != 0 || delivered)
            return count;
        if (a->ready || busy)
            delivered = acui_loop_deliver(&a->loop);
        a->ready = false;
        if (delivered || !busy || (end != ACU_FOREVER && acu_now() >= end))
            return 0;
    }
    return 0;
}

/*
 * epoll_wait, with the same arguments and results, except that it keeps the adapter's event to
 * itself and delivers what came to the queue: before it looks for events, or when there are no
 * others. So what callbacks do to a connection is done before the connection's events are in the
 * list. Also returns 0 when it has delivered something and there is no event. Blocks for at most
 * `timeout` milliseconds (-1: for ever); if the options say so, it polls for the first part of that
 * time.
 */
static inline int acu_epoll_wait(acu_epoll *a, struct epoll_event *events, int room, int timeout)
{
    uint64_t end = timeout < 0 ? ACU_FOREVER : acu_now() + ACU_MS(timeout);
    acui_loop_enter(&a->loop);
    int count = acui_epoll_turn(a, events, room, end);
    int error = errno; /* of epoll_wait, which was the last call if it failed */
    acui_loop_leave(&a->loop);
    errno = error;
    return count;
}

ACU_END
#endif
