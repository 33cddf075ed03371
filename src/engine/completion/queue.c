/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Completion queues. Whoever finds a submission complete puts its notice here, and writes the
 * descriptor if that can not be read yet; whoever takes the last notice reads it. Both happen under
 * the queue's lock, so that "can be read" and "there is something" always agree. But while a thread
 * looks at the device in order to take what it finds (`lookers`), the descriptor is left alone:
 * that thread does not pay for waking itself. And it takes the whole list over before it goes
 * through it (`taken`), so that threads with notices to put there do not wait meanwhile.
 *
 * The program's last handle closes the descriptor at once, whatever is on its way: a notice holds
 * the queue itself, and is freed when it comes.
 */
#include "engine/completion/queue.h"

#include "base/alloc.h"
#include "base/callback.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/local.h"
#include "base/lock.h"
#include "base/options.h"
#include "base/park.h"
#include "engine/completion/complete.h"
#include "engine/flight/flight.h"
#include "engine/report/record.h"

#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define BATCH 32 /* notices taken under one holding of the lock */

struct acu_queue {
    acui_object object;
    _Atomic(uint32_t) handles; /* the program's */
    int fd;
    bool dropped; /* by the program: the descriptor is closed, what comes is freed; lock */
    uint64_t busy_poll;
    pthread_mutex_t lock; /* a leaf: held across one write or read of the descriptor */
    pthread_cond_t filled;
    acui_notice *first, **end;
    acui_lock taking;            /* before `lock`; held by the thread that takes */
    acui_notice *taken;          /* by that thread, not given out yet: first in order */
    bool readable;               /* the descriptor can be read */
    unsigned lookers;            /* threads that look, and then take */
    unsigned sleepers;
    _Atomic(size_t) pending;     /* notices that refer to the queue; relaxed: a mere figure */
    _Atomic(bool) some;          /* there are notices: for threads that spin; relaxed, changed under
                                  * `lock` */
};

/* A call that takes. Functions of the program run in it: they may drop the queue, take themselves,
 * or end the call (acu_queue_break). */
typedef struct taker {
    acu_queue *queue; /* retained */
    struct taker *outer;
    bool stop;
    bool last; /* the queue was dropped inside of it */
} taker;

static ACUI_LOCAL taker *innermost; /* of this thread; NULL: none */

/* ---- life ---- */

static acu_status open_queue(acu_queue *q)
{
    q->fd = acui_descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (q->fd < 0)
        return acui_fail(ACU_ERR_LIMIT, "acu_queue_create: the system gives no descriptor");
    pthread_mutex_init(&q->lock, NULL);
    acui_cond_init(&q->filled);
    q->end = &q->first;
    return ACU_OK;
}

acu_status acu_queue_create(const acu_queue_options *options, acu_queue **queue)
{
    ACUI_REFUSE_FORK();
    acu_queue_options known;
    ACUI_TRY(acui_options_read(&known, sizeof known, options, __func__));
    if (!queue)
        return acui_fail(ACU_ERR_INVALID, "acu_queue_create: nowhere to put the queue");
    acu_queue *q = acui_object_new(ACU_OBJECT_QUEUE, sizeof *q);
    if (!q)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a queue");
    q->busy_poll = known.busy_poll;
    atomic_store_explicit(&q->handles, 1, memory_order_relaxed);
    acu_status status = open_queue(q);
    if (status == ACU_OK)
        *queue = q;
    else
        acui_object_free(q);
    return status;
}

acu_queue *acu_queue_retain(acu_queue *queue)
{
    if (!acui_object_is(queue, ACU_OBJECT_QUEUE))
        return queue;
    atomic_fetch_add_explicit(&queue->handles, 1, memory_order_relaxed);
    return acui_object_retain(queue);
}

void acui_notice_free(acui_notice *notice)
{
    acui_user_release(notice->user);
    if (notice->future)
        acu_future_release(notice->future);
    acui_free(notice);
}

static void free_notices(acui_notice *notice)
{
    for (acui_notice *next; notice; notice = next) {
        next = notice->next;
        acui_notice_free(notice);
    }
}

static void queue_put(acu_queue *queue)
{
    if (!acui_object_drop(queue))
        return;
    free_notices(queue->taken);
    free_notices(queue->first);
    pthread_cond_destroy(&queue->filled);
    pthread_mutex_destroy(&queue->lock);
    acui_object_free(queue);
}

/* Nobody takes any more: what is there is freed. */
static void purge(acu_queue *queue)
{
    acui_lock_take(&queue->taking);
    acui_notice *taken = queue->taken;
    queue->taken = NULL;
    pthread_mutex_lock(&queue->lock);
    acui_notice *first = queue->first;
    queue->first = NULL;
    queue->end = &queue->first;
    pthread_mutex_unlock(&queue->lock);
    acui_lock_give(&queue->taking);
    free_notices(taken);
    free_notices(first);
}

/* Whether this thread is inside of a take. */
static bool is_taking(const acu_queue *queue)
{
    for (const taker *t = innermost; t; t = t->outer)
        if (t->queue == queue)
            return true;
    return false;
}

/* What is still on its way is freed when it comes. What is there goes now; unless this is inside of
 * a take, which may still give it out. */
static void drop(acu_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->dropped = true;
    queue->readable = false;
    close(queue->fd);
    queue->fd = -1;
    pthread_mutex_unlock(&queue->lock);
    for (taker *t = innermost; t; t = t->outer)
        t->last |= t->queue == queue;
    if (!is_taking(queue))
        purge(queue);
}

void acu_queue_release(acu_queue *queue)
{
    if (!acui_object_is(queue, ACU_OBJECT_QUEUE))
        return;
    if (atomic_fetch_sub_explicit(&queue->handles, 1, memory_order_acq_rel) == 1)
        drop(queue);
    queue_put(queue);
}

/* ---- putting on ---- */

/* Can fail only if the counter is full, which it never is: it is 0 or 1. Lock held. */
static void make_readable(acu_queue *queue)
{
    static const uint64_t one = 1;
    if (queue->dropped)
        return;
    queue->readable = write(queue->fd, &one, sizeof one) == sizeof one;
}

/* There is something; `several`: perhaps for each thread that sleeps. Lock held. */
static void tell(acu_queue *queue, bool several)
{
    atomic_store_explicit(&queue->some, true, memory_order_relaxed);
    if (!queue->readable && !queue->lookers)
        make_readable(queue);
    if (queue->sleepers && several)
        pthread_cond_broadcast(&queue->filled);
    else if (queue->sleepers)
        pthread_cond_signal(&queue->filled);
}

void acui_queue_push(acui_notice *notice)
{
    acu_queue *queue = notice->queue;
    notice->next = NULL;
    pthread_mutex_lock(&queue->lock);
    bool dropped = queue->dropped;
    if (!dropped) {
        *queue->end = notice;
        queue->end = &notice->next;
        tell(queue, false);
    }
    pthread_mutex_unlock(&queue->lock);
    if (dropped)
        acui_notice_free(notice);
    queue_put(queue);
}

static acu_status new_notice(acu_future *future, acu_queue *queue, const char *function,
                             acui_notice **notice)
{
    ACUI_TRY(acui_object_check(future, ACU_OBJECT_FUTURE, function));
    if (queue)
        ACUI_TRY(acui_object_check(queue, ACU_OBJECT_QUEUE, function));
    ACUI_TRY(acui_future_may_begin(future));
    ACUI_TRY(acui_reactor_start());
    acui_notice *n = ACUI_NEW(acui_notice);
    if (!n)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a completion");
    n->future = acu_future_retain(future);
    if (queue) {
        n->queue = acui_object_retain(queue);
        atomic_fetch_add_explicit(&queue->pending, 1, memory_order_relaxed);
    }
    *notice = n;
    return ACU_OK;
}

acu_status acui_queue_prepare(acu_future *future, acu_queue *queue, uint64_t tag)
{
    acui_notice *notice;
    ACUI_TRY(new_notice(future, queue, "acu_submit", &notice));
    notice->tag = tag;
    acui_future_append(future, notice); /* no other thread has the future yet */
    atomic_store_explicit(&future->told, true, memory_order_relaxed);
    return ACU_OK;
}

bool acui_queue_forget(acu_future *future)
{
    acui_lock_take(&future->lock);
    acui_notice *notice = future->notices; /* the only one */
    future->notices = NULL;
    acui_lock_give(&future->lock);
    if (!notice)
        return false;
    acu_queue *queue = notice->queue;
    atomic_fetch_sub_explicit(&queue->pending, 1, memory_order_relaxed);
    acui_notice_free(notice);
    queue_put(queue);
    return true;
}

static acu_status check_when_complete(const acu_queue *queue, acu_future_fn fn, acu_user user)
{
    if (!fn && !queue)
        return acui_fail(ACU_ERR_INVALID,
                         "acu_future_when_complete got neither a queue nor a function");
    if (!fn && (user.data || user.release))
        return acui_fail(ACU_ERR_INVALID,
                         "acu_future_when_complete got user data, but no function to give it to");
    return ACU_OK;
}

acu_status acu_future_when_complete(acu_future *future, acu_queue *queue, uint64_t tag,
                                    acu_future_fn fn, acu_user user)
{
    acui_notice *notice = NULL;
    acu_status status = acui_object_check(future, ACU_OBJECT_FUTURE, __func__);
    if (status == ACU_OK)
        status = check_when_complete(queue, fn, user);
    if (status == ACU_OK)
        status = new_notice(future, queue, __func__, &notice);
    if (status != ACU_OK) {
        acui_user_release(user);
        return status;
    }
    notice->tag = tag;
    notice->fn = fn;
    notice->user = user;
    acui_future_add(future, notice);
    return ACU_OK;
}

/* ---- taking ---- */

static void begin(taker *t, acu_queue *queue)
{
    *t = (taker){.queue = queue, .outer = innermost};
    innermost = t;
    acui_object_retain(queue);
}

static void end(taker *t)
{
    innermost = t->outer;
    if (t->last && !is_taking(t->queue))
        purge(t->queue);
    queue_put(t->queue);
}

void acu_queue_break(acu_queue *queue)
{
    for (taker *t = innermost; t; t = t->outer)
        t->stop |= t->queue == queue;
}

/* Look at the device, unless there is something already; true if it did: then `take` must
 * follow. */
static bool look(acu_queue *queue)
{
    if (atomic_load_explicit(&queue->some, memory_order_relaxed))
        return false;
    pthread_mutex_lock(&queue->lock);
    queue->lookers++;
    pthread_mutex_unlock(&queue->lock);
    acui_look_for(&queue->some);
    return true;
}

/* Take the whole list over: threads that put more there do not wait for the one that takes. */
static void take_over(acu_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->taken = queue->first;
    queue->first = NULL;
    queue->end = &queue->first;
    pthread_mutex_unlock(&queue->lock);
}

/* Some were taken: if they were the last, the queue can not be read any more. */
static void settle(acu_queue *queue, bool looked)
{
    uint64_t count;
    pthread_mutex_lock(&queue->lock);
    queue->lookers -= looked;
    if (!queue->taken && !queue->first) {
        atomic_store_explicit(&queue->some, false, memory_order_relaxed);
        if (queue->readable)
            queue->readable = read(queue->fd, &count, sizeof count) != sizeof count;
    } else if (!queue->readable && !queue->lookers) {
        make_readable(queue);
    }
    pthread_mutex_unlock(&queue->lock);
}

/* Take up to `room` notices off the queue, but none after a callback: what that one takes, puts
 * back, or leaves to others when it ends the call, must have all the rest in order. */
static size_t pop(acu_queue *queue, acui_notice **list, size_t room, bool looked)
{
    size_t n = 0;
    acui_lock_take(&queue->taking);
    if (!queue->taken)
        take_over(queue);
    while (queue->taken && n < room && !(n > 0 && list[n - 1]->fn)) {
        list[n] = queue->taken;
        queue->taken = list[n++]->next;
    }
    settle(queue, looked);
    acui_lock_give(&queue->taking);
    atomic_fetch_sub_explicit(&queue->pending, n, memory_order_relaxed);
    return n;
}

/* Put a list, from `first` to `last`, ahead of the rest. */
static void put_ahead(acu_queue *queue, acui_notice *first, acui_notice *last)
{
    acui_lock_take(&queue->taking);
    last->next = queue->taken;
    queue->taken = first;
    pthread_mutex_lock(&queue->lock);
    tell(queue, true);
    pthread_mutex_unlock(&queue->lock);
    acui_lock_give(&queue->taking);
}

/* The notice of a completion that was given out. */
static acu_status new_again(acu_queue *queue, const acu_completion *done, acui_notice **notice)
{
    static const char function[] = "acu_queue_put_back";
    ACUI_TRY(acui_object_check(done->future, ACU_OBJECT_FUTURE, function));
    if (acui_future_state_of(done->future) != ACUI_FUTURE_DONE)
        return acui_fail(ACU_ERR_INVALID, "%s: a future is not complete", function);
    ACUI_TRY(new_notice(done->future, queue, function, notice));
    (*notice)->tag = done->tag;
    (*notice)->next = NULL;
    return ACU_OK;
}

acu_status acu_queue_put_back(acu_queue *queue, const acu_completion *list, size_t count)
{
    acui_notice *first = NULL, *last = NULL, *notice;
    ACUI_CHECK(queue, QUEUE);
    if (!list && count)
        return acui_fail(ACU_ERR_INVALID, "acu_queue_put_back: no list");
    acu_status status = ACU_OK;
    size_t made = 0;
    while (made < count && (status = new_again(queue, &list[made], &notice)) == ACU_OK) {
        *(last ? &last->next : &first) = notice;
        last = notice;
        made++;
    }
    if (status == ACU_OK && last) {
        put_ahead(queue, first, last);
    } else {
        atomic_fetch_sub_explicit(&queue->pending, made, memory_order_relaxed);
        free_notices(first);
    }
    while (made-- > 0)
        queue_put(queue); /* a notice that is on the queue does not hold it */
    return status;
}

static void call(acui_notice *notice)
{
    uint64_t from = acui_trace_from();
    acui_callback_enter();
    notice->fn(notice->user.data, notice->future, notice->future->status);
    acui_callback_leave();
    if (from)
        acui_trace_span("callback", notice->future, from, acui_now());
    acui_notice_free(notice);
}

static void give(acui_notice *notice, acu_completion *to)
{
    uint64_t from = acui_trace_from();
    if (from)
        acui_trace_span("taken from a queue", notice->future, from, from);
    *to = (acu_completion){
        .tag = notice->tag, .status = notice->future->status, .future = notice->future};
    notice->future = NULL; /* the receiver's */
    acui_notice_free(notice);
}

/* Put completions into the list, and call callbacks: at most `room` of both together, so that
 * callbacks that lead to others, over and over, end too. False: there was neither. Ends once the
 * queue was empty, and does not look again: what came since pays for its own wake-up, as it
 * should. */
static bool take(taker *t, bool looked, acu_completion *list, size_t room, size_t *count)
{
    acui_notice *batch[BATCH];
    size_t taken = 0;
    bool more;
    do {
        size_t most = t->stop ? 0 : room - taken < BATCH ? room - taken : BATCH;
        size_t n = pop(t->queue, batch, most, looked && taken == 0);
        more = n > 0 && (n == most || batch[n - 1]->fn);
        for (size_t i = 0; i < n; i++) {
            if (batch[i]->fn)
                call(batch[i]); /* the last of them; it may end this */
            else
                give(batch[i], &list[(*count)++]);
        }
        taken += n;
    } while (more && taken < room);
    if (!taken && !t->stop)
        acui_streak_end();
    return taken > 0 || t->stop;
}

static acu_status check_take(acu_queue *queue, acu_completion *list, size_t room, size_t *count,
                             const char *function)
{
    ACUI_TRY(acui_object_check(queue, ACU_OBJECT_QUEUE, function));
    if (!list || room == 0 || !count)
        return acui_fail(ACU_ERR_INVALID, "%s: nowhere to put completions", function);
    *count = 0;
    return ACU_OK;
}

acu_status acu_queue_take(acu_queue *queue, acu_completion *list, size_t room, size_t *count)
{
    taker t;
    ACUI_TRY(check_take(queue, list, room, count, __func__));
    begin(&t, queue);
    take(&t, look(queue), list, room, count);
    end(&t);
    return ACU_OK;
}

/* Until something is there, or the time is over. */
static void sleep_until(acu_queue *queue, uint64_t deadline)
{
    pthread_mutex_lock(&queue->lock);
    queue->sleepers++;
    while (!atomic_load_explicit(&queue->some, memory_order_relaxed) &&
           acui_cond_wait_until(&queue->filled, &queue->lock, deadline)) {
    }
    queue->sleepers--;
    pthread_mutex_unlock(&queue->lock);
}

/* Whether something in flight is likely to end before a sleep would pay. */
static bool is_soon(uint64_t now, uint64_t waited)
{
    if (waited >= ACUI_SPIN_QUEUE)
        return false;
    uint64_t next = acui_flight_wait_for_any(now, ACU_FOREVER, false);
    return next && next <= now;
}

static acu_status wait(taker *t, acu_completion *list, size_t room, size_t *count,
                       uint64_t timeout)
{
    acu_queue *queue = t->queue;
    uint64_t start = acui_now(), deadline = acui_deadline(timeout);
    for (;;) {
        if (take(t, look(queue), list, room, count) || t->last)
            return ACU_OK;
        uint64_t now = acui_now();
        if (now >= deadline)
            return ACU_TIMEOUT;
        if (now - start < queue->busy_poll || is_soon(now, now - start))
            acui_spin_pause();
        else
            sleep_until(queue, deadline);
    }
}

acu_status acu_queue_wait(acu_queue *queue, acu_completion *list, size_t room, size_t *count,
                          uint64_t timeout)
{
    ACUI_TRY(acui_refuse_wait(__func__));
    taker t;
    ACUI_TRY(check_take(queue, list, room, count, __func__));
    begin(&t, queue);
    acu_status status = wait(&t, list, room, count, timeout);
    end(&t);
    return status;
}

/* ---- facts ---- */

int acu_queue_fd(const acu_queue *queue)
{
    return acui_object_is(queue, ACU_OBJECT_QUEUE) ? queue->fd : -1;
}

size_t acu_queue_pending(const acu_queue *queue)
{
    return acui_object_is(queue, ACU_OBJECT_QUEUE)
               ? atomic_load_explicit(&queue->pending, memory_order_relaxed)
               : 0;
}
