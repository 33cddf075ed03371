/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Completion queues: each time a future is put on a queue gives one completion, whatever becomes of
 * the submission; the descriptor is readable exactly while there is something to take.
 */
#include "support/support.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

enum { N = 64 };

static acu_op *work(void)
{
    return acu_zeros(ACU_F32, ACU_SHAPE(N));
}

static acu_queue *make_queue(void)
{
    acu_queue *queue;
    assert_works(acu_queue_create(NULL, &queue));
    return queue;
}

static void submit_to(acu_device *device, acu_op *op, acu_queue *queue, uint64_t tag)
{
    acu_submit_options options = {.size = sizeof options, .queue = queue, .tag = tag};
    assert_works(acu_submit(device, op, &options, NULL));
}

/* Without a timeout: readable now or not. */
static bool readable(const acu_queue *queue, int timeout)
{
    struct pollfd fd = {.fd = acu_queue_fd(queue), .events = POLLIN};
    return poll(&fd, 1, timeout) == 1;
}

static acu_op *gated(acu_tensor *host)
{
    return acu_host(test_pass_host_gate, NULL, acu_out(host));
}

static acu_status refuse(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_ERR_INVALID;
}

/* ---- one by one ---- */

static void completions_carry_tag_status_and_future(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_queue *queue = make_queue();
    acu_completion done[4];
    size_t count = 9;
    assert_works(acu_queue_take(queue, done, 4, &count));
    assert_int_equal(count, 0);
    assert_false(readable(queue, 0));
    submit_to(device, work(), queue, 77);
    assert_int_equal(acu_queue_pending(queue), 1);
    assert_true(readable(queue, -1)); /* a thread of acuda's looks meanwhile */
    assert_works(acu_queue_take(queue, done, 4, &count));
    assert_int_equal(count, 1);
    assert_int_equal(done[0].tag, 77);
    assert_int_equal(done[0].status, ACU_OK);
    float values[N];
    assert_works(acu_read_sync(acu_future_tensor(done[0].future, 0), values, sizeof values));
    assert_true(values[N - 1] == 0.0f);
    acu_future_release(done[0].future);
    assert_false(readable(queue, 0));
    assert_int_equal(acu_queue_pending(queue), 0);
    acu_queue_release(queue);
    test_close(device);
    test_leaks_none();
}

static void failures_complete_too(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_queue *queue = make_queue();
    acu_tensor *host;
    assert_works(acu_tensor_alloc_pinned(device, ACU_F32, ACU_SHAPE(N), &host));
    submit_to(device, acu_host(refuse, NULL, acu_inout(host)), queue, 1);
    acu_completion done;
    size_t count;
    assert_works(acu_queue_wait(queue, &done, 1, &count, ACU_FOREVER));
    assert_int_equal(count, 1);
    assert_int_equal(done.status, ACU_ERR_CALLBACK);
    acu_error error;
    assert_int_equal(acu_future_error(done.future, &error), ACU_ERR_CALLBACK);
    acu_future_release(done.future);
    /* A submission that is refused at once gives no completion. */
    acu_submit_options options = {.size = sizeof options, .queue = queue, .tag = 2};
    assert_int_equal(acu_submit(device, NULL, &options, NULL), ACU_ERR_INVALID);
    assert_int_equal(acu_queue_pending(queue), 0);
    /* A submission that is given up. */
    test_host_gate_close();
    acu_future *future;
    options.tag = 3;
    assert_works(acu_submit(device, gated(host), &options, &future));
    assert_int_equal(acu_queue_wait(queue, &done, 1, &count, ACU_US(200)), ACU_TIMEOUT);
    assert_works(acu_future_cancel(future));
    assert_works(acu_queue_wait(queue, &done, 1, &count, ACU_FOREVER));
    assert_int_equal(done.tag, 3);
    assert_int_equal(done.status, ACU_ERR_CANCELLED);
    acu_future_release(done.future);
    acu_future_release(future);
    test_host_gate_open();
    acu_tensor_release(host);
    acu_queue_release(queue);
    test_close(device);
    test_leaks_none();
}

static void futures_join_queues_late_and_often(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_queue *a = make_queue(), *b = make_queue();
    acu_future *future;
    assert_works(acu_submit(device, work(), NULL, &future));
    assert_works(acu_future_when_complete(future, a, 1, NULL, ACU_USER(NULL)));
    /* A thread that waits for a future may see its end before a queue is told; a device is idle
     * only after that. */
    assert_works(acu_device_wait(device, ACU_FOREVER));
    assert_works(
        acu_future_when_complete(future, a, 2, NULL, ACU_USER(NULL))); /* complete already */
    assert_works(acu_future_when_complete(future, b, 3, NULL, ACU_USER(NULL)));
    acu_future_release(future);
    acu_completion done[3];
    size_t count;
    assert_works(acu_queue_take(a, done, 3, &count));
    assert_int_equal(count, 2);
    assert_int_equal(done[0].tag, 1);
    assert_int_equal(done[1].tag, 2);
    assert_works(acu_queue_take(b, done + 2, 1, &count));
    assert_int_equal(done[2].tag, 3);
    for (int i = 0; i < 3; i++)
        acu_future_release(done[i].future);
    acu_queue_release(a);
    acu_queue_release(b);
    test_close(device);
    test_leaks_none();
}

/* ---- batches ---- */

static void a_batch_is_one_wake_up(void **state)
{
    (void)state;
    enum { MANY = 100 };
    acu_device *device = test_open();
    acu_queue *queue = make_queue();
    for (uint64_t i = 0; i < MANY; i++)
        submit_to(device, work(), queue, i);
    assert_works(acu_device_wait(device, ACU_FOREVER));
    bool seen[MANY] = {false};
    for (size_t taken = 0; taken < MANY;) {
        acu_completion done[7];
        size_t count;
        assert_true(readable(queue, 0)); /* as long as anything is left */
        assert_works(acu_queue_take(queue, done, 7, &count));
        assert_true(count > 0);
        for (size_t i = 0; i < count; i++) {
            assert_false(seen[done[i].tag]);
            seen[done[i].tag] = true;
            acu_future_release(done[i].future);
        }
        taken += count;
    }
    assert_false(readable(queue, 0));
    acu_queue_release(queue);
    test_close(device);
    test_leaks_none();
}

/* ---- very many ---- */

#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { VERY_MANY = 5000 };
#else
enum { VERY_MANY = 100000 };
#endif

static void note_batch(const acu_completion *done, size_t count, bool *seen)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(done[i].status, ACU_OK);
        assert_false(seen[done[i].tag]);
        seen[done[i].tag] = true;
        acu_future_release(done[i].future);
    }
}

/* The first one holds all of them up, and they complete when it does. Each completion comes once,
 * and the descriptor is readable until the last one was taken. */
static void very_many_are_pending(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_queue *queue = make_queue();
    acu_tensor *host, *target;
    bool *seen = calloc(VERY_MANY, sizeof *seen);
    assert_non_null(seen);
    assert_works(acu_tensor_alloc_pinned(device, ACU_F32, ACU_SHAPE(N), &host));
    assert_works(acu_tensor_alloc(device, ACU_F32, ACU_SHAPE(N), &target));
    test_host_gate_close();
    assert_works(acu_submit(device, gated(host), NULL, NULL));
    assert_works(acu_submit(device, acu_copy(target, host), NULL, NULL));
    for (uint64_t i = 0; i < VERY_MANY; i++)
        submit_to(device, acu_fill(target, acu_f32((float)(i % 1000))), queue, i);
    assert_int_equal(acu_queue_pending(queue), VERY_MANY);
    assert_false(readable(queue, 0));
    test_host_gate_open();
    for (size_t taken = 0; taken < VERY_MANY;) {
        acu_completion done[64];
        size_t count;
        assert_true(readable(queue, -1));
        assert_works(acu_queue_take(queue, done, 64, &count));
        note_batch(done, count, seen);
        taken += count;
    }
    assert_false(readable(queue, 0));
    assert_int_equal(acu_queue_pending(queue), 0);
    float values[N];
    assert_works(acu_read_sync(target, values, sizeof values));
    assert_true(values[N - 1] == (float)((VERY_MANY - 1) % 1000));
    free(seen);
    acu_tensor_release(host);
    acu_tensor_release(target);
    acu_queue_release(queue);
    test_close(device);
    test_leaks_none();
}

/* ---- several threads ---- */

typedef struct producer {
    acu_device *device;
    acu_queue *queue;
    uint64_t first;
} producer;

enum { EACH = 60, PRODUCERS = 3 };

static void *produce(void *context)
{
    producer *p = context;
    for (uint64_t i = 0; i < EACH; i++) {
        acu_submit_options options = {
            .size = sizeof options, .queue = p->queue, .tag = p->first + i};
        if (acu_submit(p->device, work(), &options, NULL) != ACU_OK)
            return NULL;
    }
    return p;
}

static _Atomic(size_t) consumed;

static void *consume(void *context)
{
    acu_queue *queue = context;
    while (atomic_load(&consumed) < EACH * PRODUCERS) {
        acu_completion done[4];
        size_t count;
        acu_status status = acu_queue_wait(queue, done, 4, &count, ACU_MS(5));
        if (status != ACU_OK && status != ACU_TIMEOUT)
            return NULL;
        for (size_t i = 0; i < count; i++)
            acu_future_release(done[i].future);
        atomic_fetch_add(&consumed, count);
    }
    return queue;
}

static void many_threads_put_and_take(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_queue *queue = make_queue();
    producer jobs[PRODUCERS];
    pthread_t threads[PRODUCERS + 2];
    atomic_store(&consumed, 0);
    for (int i = 0; i < PRODUCERS; i++) {
        jobs[i] = (producer){device, queue, 1000 * (uint64_t)i};
        assert_int_equal(pthread_create(&threads[i], NULL, produce, &jobs[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[PRODUCERS + i], NULL, consume, queue), 0);
    for (int i = 0; i < PRODUCERS + 2; i++) {
        void *done;
        pthread_join(threads[i], &done);
        assert_non_null(done);
    }
    assert_int_equal(atomic_load(&consumed), EACH * PRODUCERS);
    assert_int_equal(acu_queue_pending(queue), 0);
    acu_queue_release(queue);
    test_close(device);
    test_leaks_none();
}

/* ---- callbacks in the taker's thread ---- */

typedef struct heard {
    pthread_t thread;
    int calls, releases;
    acu_status wait;
} heard;

static void hear(void *user, acu_future *future, acu_status status)
{
    heard *h = user;
    h->thread = pthread_self();
    h->calls += status == ACU_OK;
    h->wait = acu_future_wait(future, 0);
}

static void let_go(void *user)
{
    ((heard *)user)->releases++;
}

static void callbacks_run_where_the_queue_is_taken(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_queue *queue = make_queue();
    heard h = {0};
    acu_future *future;
    assert_works(acu_submit(device, work(), NULL, &future));
    assert_works(acu_future_when_complete(future, queue, 0, hear, (acu_user){&h, let_go}));
    acu_completion done;
    size_t count;
    assert_works(acu_queue_wait(queue, &done, 1, &count, ACU_FOREVER));
    assert_int_equal(count, 0);
    assert_int_equal(h.calls, 1);
    assert_int_equal(h.releases, 1);
    assert_int_equal(h.wait, ACU_ERR_IN_CALLBACK);
    assert_true(pthread_equal(h.thread, pthread_self()));
    /* They count as completions do: a batch of one. */
    for (int i = 0; i < 3; i++)
        assert_works(acu_future_when_complete(future, queue, 0, hear, ACU_USER(&h)));
    assert_works(acu_queue_take(queue, &done, 1, &count));
    assert_int_equal(h.calls, 2);
    while (h.calls < 4)
        assert_works(acu_queue_take(queue, &done, 2, &count));
    h.calls = 1;
    /* A callback that nobody takes is released with the queue, and not called. */
    assert_works(acu_future_when_complete(future, queue, 0, hear, (acu_user){&h, let_go}));
    acu_future_release(future);
    assert_true(readable(queue, -1));
    acu_queue_release(queue);
    test_close(device); /* by then the thread that put it there has released the queue, too */
    assert_int_equal(h.calls, 1);
    assert_int_equal(h.releases, 2);
    test_leaks_none();
}

/* ---- ending a take from inside ---- */

typedef struct breaker {
    acu_queue *queue;
    pthread_t taker;
    _Atomic(int) broke; /* 1: on the taker's thread; 2: on another */
} breaker;

static void break_off(void *user)
{
    breaker *b = user;
    acu_queue_break(b->queue);
    atomic_store(&b->broke, pthread_equal(pthread_self(), b->taker) ? 1 : 2);
}

static void call_break(void *user, acu_future *future, acu_status status)
{
    (void)future, (void)status;
    break_off(user);
}

static void take_inside(void *user, acu_future *future, acu_status status)
{
    (void)future, (void)status;
    breaker *b = user;
    acu_completion done[4];
    size_t count;
    assert_works(acu_queue_take(b->queue, done, 4, &count));
    assert_int_equal(count, 0);
    assert_int_equal(atomic_load(&b->broke), 1);
}

/* The next completions have the tags from `first` to `last`; one call takes at most 8. */
static void takes_tags(acu_queue *queue, uint64_t first, uint64_t last)
{
    acu_completion done[8];
    size_t count;
    while (first <= last) {
        assert_works(acu_queue_wait(queue, done, 8, &count, ACU_FOREVER));
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(done[i].tag, first++);
            acu_future_release(done[i].future);
        }
    }
    assert_int_equal(first, last + 1);
}

static void breaking_off_leaves_the_rest_as_it_was(void **state)
{
    (void)state;
    acu_device *device = test_open();
    breaker b = {.queue = make_queue(), .taker = pthread_self()};
    acu_completion done[60];
    size_t count;
    acu_future *future;
    heard h = {0};
    assert_works(acu_submit(device, work(), NULL, &future));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_works(acu_future_when_complete(future, b.queue, 0, NULL, ACU_USER(NULL)));
    assert_works(acu_future_when_complete(future, b.queue, 0, call_break, ACU_USER(&b)));
    for (uint64_t i = 1; i < 50; i++) /* more than are taken off the queue at once */
        assert_works(acu_future_when_complete(future, b.queue, i, NULL, ACU_USER(NULL)));
    assert_works(acu_future_when_complete(future, b.queue, 0, hear, ACU_USER(&h)));
    acu_queue_break(b.queue); /* no effect: no take is under way */
    acu_queue_break(NULL);
    assert_works(acu_queue_take(b.queue, done, 60, &count));
    assert_int_equal(count, 1);
    assert_int_equal(done[0].tag, 0);
    acu_future_release(done[0].future);
    assert_int_equal(acu_queue_pending(b.queue), 50);
    assert_true(readable(b.queue, 0));
    assert_works(acu_future_when_complete(future, b.queue, 50, NULL, ACU_USER(NULL)));
    takes_tags(b.queue, 1, 50);
    assert_int_equal(h.calls, 1);
    assert_false(readable(b.queue, 0));
    acu_future_release(future);
    acu_queue_release(b.queue);
    test_close(device);
    test_leaks_none();
}

static void completions_go_back_in_order(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_queue *queue = make_queue();
    acu_completion done[6];
    size_t count;
    acu_future *future;
    assert_works(acu_submit(device, work(), NULL, &future));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    for (uint64_t i = 0; i < 6; i++)
        assert_works(acu_future_when_complete(future, queue, i, NULL, ACU_USER(NULL)));
    assert_works(acu_queue_take(queue, done, 6, &count));
    assert_int_equal(count, 6);
    assert_false(readable(queue, 0));
    assert_works(acu_future_when_complete(future, queue, 6, NULL, ACU_USER(NULL)));
    assert_works(acu_queue_put_back(queue, done + 3, 3));
    assert_works(acu_queue_put_back(queue, done + 1, 2));
    assert_works(acu_queue_put_back(queue, NULL, 0));
    assert_int_equal(acu_queue_pending(queue), 6);
    assert_true(readable(queue, 0));
    for (int i = 0; i < 6; i++)
        acu_future_release(done[i].future);
    takes_tags(queue, 1, 6);
    assert_false(readable(queue, 0));
    assert_int_equal(acu_queue_pending(queue), 0);
    /* All or none. */
    acu_policy *policy;
    done[0].future = future;
    assert_works(acu_policy_single(device, NULL, &policy));
    assert_works(acu_schedule(policy, work(), &done[1].future));
    assert_fails(acu_queue_put_back(queue, done, 2), ACU_ERR_INVALID,
                 "acu_queue_put_back|not complete");
    assert_int_equal(acu_queue_pending(queue), 0);
    assert_fails(acu_queue_put_back(queue, NULL, 1), ACU_ERR_INVALID, "no list");
    acu_future_release(done[1].future);
    acu_policy_release(policy);
    assert_works(acu_queue_put_back(queue, done, 1)); /* nobody takes it */
    assert_true(readable(queue, 0));
    acu_future_release(future);
    acu_queue_release(queue);
    test_close(device);
    test_leaks_none();
}

static void breaking_off_ends_all_takes_of_the_thread(void **state)
{
    (void)state;
    acu_device *device = test_open();
    breaker b = {.queue = make_queue(), .taker = pthread_self()};
    acu_completion done[2];
    size_t count;
    acu_future *future;
    heard h = {0};
    assert_works(acu_submit(device, work(), NULL, &future));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_works(acu_future_when_complete(future, b.queue, 0, take_inside, ACU_USER(&b)));
    assert_works(acu_future_when_complete(future, b.queue, 0, hear, ACU_USER(&h)));
    assert_works(acu_future_when_complete(future, b.queue, 0, call_break, ACU_USER(&b)));
    assert_works(acu_future_when_complete(future, b.queue, 1, NULL, ACU_USER(NULL)));
    assert_works(acu_queue_wait(b.queue, done, 2, &count, ACU_FOREVER));
    assert_int_equal(count, 0);
    assert_int_equal(atomic_load(&b.broke), 1);
    assert_int_equal(h.calls, 1); /* by the take inside, before the one that breaks off */
    assert_int_equal(acu_queue_pending(b.queue), 1);
    takes_tags(b.queue, 1, 1);
    acu_future_release(future);
    acu_queue_release(b.queue);
    test_close(device);
    test_leaks_none();
}

static void take_from(void *user, acu_future *future, acu_status status)
{
    (void)future, (void)status;
    acu_completion done[2];
    size_t count;
    assert_works(acu_queue_take(user, done, 2, &count));
    assert_int_equal(count, 0);
}

static void breaking_off_ends_no_takes_of_other_queues(void **state)
{
    (void)state;
    acu_device *device = test_open();
    breaker b = {.queue = make_queue(), .taker = pthread_self()};
    acu_queue *around = make_queue();
    acu_completion done[2];
    size_t count;
    acu_future *future;
    assert_works(acu_submit(device, work(), NULL, &future));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_works(acu_future_when_complete(future, around, 0, take_from, ACU_USER(b.queue)));
    assert_works(acu_future_when_complete(future, around, 1, NULL, ACU_USER(NULL)));
    assert_works(acu_future_when_complete(future, b.queue, 0, call_break, ACU_USER(&b)));
    assert_works(acu_future_when_complete(future, b.queue, 2, NULL, ACU_USER(NULL)));
    assert_works(acu_queue_take(around, done, 2, &count));
    assert_int_equal(count, 1);
    assert_int_equal(done[0].tag, 1);
    acu_future_release(done[0].future);
    assert_int_equal(atomic_load(&b.broke), 1);
    takes_tags(b.queue, 2, 2);
    acu_future_release(future);
    acu_queue_release(around);
    acu_queue_release(b.queue);
    test_close(device);
    test_leaks_none();
}

static void take_next(void *user, acu_future *future, acu_status status)
{
    (void)future, (void)status;
    acu_completion done[8];
    size_t count;
    assert_works(acu_queue_take(user, done, 8, &count));
    assert_int_equal(count, 8);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(done[i].tag, i + 1);
        acu_future_release(done[i].future);
    }
}

/* A take in a callback goes on where the one around it has come to, and that one behind it. */
static void the_oldest_come_first_inside_too(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_queue *queue = make_queue();
    acu_completion done[64];
    size_t count;
    acu_future *future;
    assert_works(acu_submit(device, work(), NULL, &future));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_works(acu_future_when_complete(future, queue, 0, NULL, ACU_USER(NULL)));
    assert_works(acu_future_when_complete(future, queue, 0, take_next, ACU_USER(queue)));
    for (uint64_t i = 1; i < 50; i++) /* more than are taken off the queue at once */
        assert_works(acu_future_when_complete(future, queue, i, NULL, ACU_USER(NULL)));
    assert_works(acu_queue_take(queue, done, 64, &count));
    assert_int_equal(count, 42);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(done[i].tag, i ? i + 8 : 0);
        acu_future_release(done[i].future);
    }
    assert_false(readable(queue, 0));
    acu_future_release(future);
    acu_queue_release(queue);
    test_close(device);
    test_leaks_none();
}

static acu_status enqueue_nothing(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)user, (void)stream, (void)values, (void)count;
    return ACU_OK;
}

/* User data that is released while the take looks at the device, before it has taken anything. */
static void a_release_may_break_off_too(void **state)
{
    (void)state;
    acu_device *device = test_open();
    for (int i = 0; i < 4; i++) {
        breaker b = {.queue = make_queue(), .taker = pthread_self()};
        acu_user user = {.data = &b, .release = break_off};
        acu_op *op =
            acu_op_foreign(enqueue_nothing, user, ACU_ARGS(acu_inout(work())), ACU_SITE);
        submit_to(device, op, b.queue, 1);
        acu_completion done;
        size_t count = 0;
        while (count == 0 && atomic_load(&b.broke) == 0)
            assert_works(acu_queue_take(b.queue, &done, 1, &count));
        if (count)
            acu_future_release(done.future);
        else
            takes_tags(b.queue, 1, 1);
        acu_queue_release(b.queue);
    }
    test_close(device);
    test_leaks_none();
}

#define LIMIT ACU_SECONDS(60) /* who waits longer is not woken */

typedef struct sleepers {
    acu_queue *queue;
    pthread_t threads[3];
    _Atomic(size_t) got;
} sleepers;

static void *take_one(void *context)
{
    sleepers *s = context;
    acu_completion done;
    size_t count = 0;
    assert_works(acu_queue_wait(s->queue, &done, 1, &count, ACU_FOREVER));
    assert_int_equal(count, 1);
    acu_future_release(done.future);
    atomic_fetch_add(&s->got, 1);
    return NULL;
}

/* Each of them can have one of those that go back. */
static void what_goes_back_wakes_all_that_sleep(void **state)
{
    (void)state;
    acu_device *device = test_open();
    sleepers s = {.queue = make_queue()};
    acu_completion done[3];
    size_t count;
    acu_future *future;
    assert_works(acu_submit(device, work(), NULL, &future));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    for (uint64_t i = 0; i < 3; i++)
        assert_works(acu_future_when_complete(future, s.queue, i, NULL, ACU_USER(NULL)));
    assert_works(acu_queue_take(s.queue, done, 3, &count));
    assert_int_equal(count, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&s.threads[i], NULL, take_one, &s), 0);
    test_threads_rest();
    assert_works(acu_queue_put_back(s.queue, done, 3));
    for (int i = 0; i < 3; i++)
        acu_future_release(done[i].future);
    for (uint64_t end = acu_now() + LIMIT; atomic_load(&s.got) < 3; sched_yield())
        assert_true(acu_now() < end);
    for (int i = 0; i < 3; i++)
        pthread_join(s.threads[i], NULL);
    acu_future_release(future);
    acu_queue_release(s.queue);
    test_close(device);
    test_leaks_none();
}

/* ---- going early ---- */

static void queues_go_before_what_they_wait_for(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_queue *queue = make_queue();
    acu_tensor *host;
    assert_works(acu_tensor_alloc_pinned(device, ACU_F32, ACU_SHAPE(N), &host));
    test_host_gate_close();
    submit_to(device, gated(host), queue, 5);
    acu_queue_release(queue);
    test_host_gate_open();
    acu_tensor_release(host);
    test_close(device);
    test_leaks_none();
}

/* ... and so does the descriptor: event loops do not see it any more. */
static void the_descriptor_goes_with_the_last_handle(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_queue *queue = make_queue();
    acu_tensor *host;
    acu_future *future;
    heard h = {0};
    assert_works(acu_tensor_alloc_pinned(device, ACU_F32, ACU_SHAPE(N), &host));
    test_host_gate_close();
    assert_works(acu_submit(device, gated(host), NULL, &future));
    assert_works(acu_future_when_complete(future, queue, 1, NULL, ACU_USER(NULL)));
    assert_works(acu_future_when_complete(future, queue, 0, hear, (acu_user){&h, let_go}));
    int descriptor = acu_queue_fd(queue);
    acu_queue_retain(queue);
    acu_queue_release(queue);
    assert_int_not_equal(fcntl(descriptor, F_GETFD), -1);
    acu_queue_release(queue);
    assert_int_equal(fcntl(descriptor, F_GETFD), -1);
    test_host_gate_open();
    acu_future_release(future);
    acu_tensor_release(host);
    test_close(device);
    assert_int_equal(h.calls, 0);
    assert_int_equal(h.releases, 1);
    test_leaks_none();
}

static void release_it(void *user, acu_future *future, acu_status status)
{
    (void)future, (void)status;
    acu_queue_release(user);
}

/* The take goes on with what is on the queue, as far as there is room; the rest is dropped. */
static void a_callback_may_drop_the_queue(void **state)
{
    (void)state;
    acu_device *device = test_open();
    for (int wait = 0; wait < 2; wait++) {
        acu_queue *queue = make_queue();
        acu_completion done[60]; /* fewer than come */
        size_t count;
        acu_future *future;
        heard h = {0};
        assert_works(acu_submit(device, work(), NULL, &future));
        assert_works(acu_future_wait(future, ACU_FOREVER));
        assert_works(acu_future_when_complete(future, queue, 3, NULL, ACU_USER(NULL)));
        assert_works(acu_future_when_complete(future, queue, 0, release_it, ACU_USER(queue)));
        for (int i = 0; i < 40; i++) { /* more than are taken off the queue at once */
            assert_works(acu_future_when_complete(future, queue, 4, NULL, ACU_USER(NULL)));
            assert_works(acu_future_when_complete(future, queue, 0, hear, (acu_user){&h, let_go}));
        }
        assert_works(wait ? acu_queue_wait(queue, done, 60, &count, ACU_FOREVER)
                          : acu_queue_take(queue, done, 60, &count));
        assert_int_equal(count, 30);
        assert_int_equal(h.calls, 29);
        assert_int_equal(h.releases, 40);
        while (count-- > 0) {
            assert_int_equal(done[count].tag, count ? 4 : 3);
            acu_future_release(done[count].future);
        }
        acu_future_release(future);
    }
    test_close(device);
    test_leaks_none();
}

/* Drops the queue if it is called inside of a take. Another thread may drop it only between two
 * takes. */
typedef struct dropper {
    acu_queue *queue;
    pthread_t taker;
    size_t live;
    _Atomic(int) done; /* 1: inside, 2: by another thread, which left the queue alone */
} dropper;

static void drop_queue(void *user)
{
    dropper *d = user;
    bool inside = pthread_equal(pthread_self(), d->taker);
    if (inside) {
        acu_queue_release(d->queue);
        d->live = acu_debug_live(ACU_OBJECT_QUEUE);
    }
    atomic_store(&d->done, inside ? 1 : 2);
}

static void queues_may_go_while_they_are_taken(void **state)
{
    (void)state;
    acu_device *device = test_open();
    for (int i = 0; i < 4; i++) {
        dropper d = {.queue = make_queue(), .taker = pthread_self()};
        acu_user user = {.data = &d, .release = drop_queue};
        assert_works(acu_submit(device, acu_op_foreign(enqueue_nothing, user,
                                                       ACU_ARGS(acu_inout(work())), ACU_SITE),
                                NULL, NULL));
        acu_completion done;
        size_t count;
        while (!atomic_load(&d.done)) /* a take finds that the work is over, and so calls the
                                       * release */
            assert_works(acu_queue_take(d.queue, &done, 1, &count));
        if (atomic_load(&d.done) == 1)
            assert_int_equal(d.live, 1); /* the call's own */
        else
            acu_queue_release(d.queue);
        assert_int_equal(acu_debug_live(ACU_OBJECT_QUEUE), 0);
    }
    test_close(device);
    test_leaks_none();
}

static void wrong_uses_are_refused(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_queue *queue = make_queue();
    acu_completion done;
    size_t count;
    assert_fails(acu_queue_create(NULL, NULL), ACU_ERR_INVALID, "acu_queue_create");
    assert_fails(acu_queue_take(queue, NULL, 1, &count), ACU_ERR_INVALID, "nowhere");
    assert_fails(acu_queue_take(NULL, &done, 1, &count), ACU_ERR_INVALID, "acu_queue_take|queue");
    assert_fails(acu_queue_wait(queue, &done, 0, &count, 0), ACU_ERR_INVALID, "nowhere");
    assert_fails(acu_future_when_complete(NULL, queue, 0, NULL, ACU_USER(NULL)), ACU_ERR_INVALID,
                 "future");
    heard h = {0};
    acu_future *future;
    assert_works(acu_submit(device, work(), NULL, &future));
    assert_fails(acu_future_when_complete(future, queue, 0, NULL, (acu_user){&h, let_go}),
                 ACU_ERR_INVALID, "no function");
    assert_int_equal(h.releases, 1);
    acu_future_release(future);
    acu_submit_options options = {.size = sizeof options, .queue = (acu_queue *)device};
    assert_fails(acu_submit(device, work(), &options, NULL), ACU_ERR_INVALID, "queue|device");
    assert_int_equal(acu_queue_fd(NULL), -1);
    acu_queue_release(queue);
    test_close(device);
    test_leaks_none();
}

/* Takes the completion that is to come, and returns no op. */
static acu_op *take_and_fail(void *user, acu_val *values, size_t count)
{
    acu_completion done;
    size_t taken = 0;
    (void)values, (void)count;
    while (!taken && acu_queue_take(user, &done, 1, &taken) == ACU_OK)
        sched_yield();
    assert_int_equal(done.status, ACU_ERR_DEADLINE);
    acu_future_release(done.future);
    return NULL;
}

/* A deadline passes while the op is planned, and then the planning fails: the queue has been told
 * already. */
static void a_late_failure_is_told_once(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_queue *queue = make_queue();
    acu_completion done;
    acu_future *future = NULL;
    size_t taken = 9;
    acu_submit_options options = {.size = sizeof options, .queue = queue, .timeout = 1};
    assert_works(acu_submit(device, acu_then(work(), take_and_fail, queue), &options, &future));
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), ACU_ERR_DEADLINE);
    assert_int_equal(acu_future_values(future), 0);
    assert_works(acu_queue_take(queue, &done, 1, &taken));
    assert_int_equal(taken, 0);
    assert_int_equal(acu_queue_pending(queue), 0);
    acu_future_release(future);
    acu_queue_release(queue);
    test_close(device);
    test_leaks_none();
}

/* Nothing of acuda's gets the number of a standard stream that the program has closed. */
static void descriptors_are_not_standard_streams(void **state)
{
    (void)state;
    acu_device *device = test_open();
    int kept = dup(0);
    assert_true(kept > 2);
    assert_int_equal(close(0), 0);
    acu_queue *queue = make_queue();
    int fd = acu_queue_fd(queue);
    submit_to(device, acu_ones(ACU_F32, ACU_SHAPE(1)), queue, 1);
    acu_completion done;
    size_t count = 0;
    assert_works(acu_queue_wait(queue, &done, 1, &count, ACU_FOREVER));
    int unused = dup(kept);
    assert_int_equal(dup2(kept, 0), 0);
    close(kept);
    assert_true(fd > 2);
    assert_int_equal(unused, 0);
    acu_future_release(done.future);
    acu_queue_release(queue);
    test_close(device);
    test_leaks_none();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(completions_carry_tag_status_and_future),
        cmocka_unit_test(failures_complete_too),
        cmocka_unit_test(futures_join_queues_late_and_often),
        cmocka_unit_test(descriptors_are_not_standard_streams),
        cmocka_unit_test(a_batch_is_one_wake_up),
        cmocka_unit_test(very_many_are_pending),
        cmocka_unit_test(many_threads_put_and_take),
        cmocka_unit_test(callbacks_run_where_the_queue_is_taken),
        cmocka_unit_test(breaking_off_leaves_the_rest_as_it_was),
        cmocka_unit_test(completions_go_back_in_order),
        cmocka_unit_test(breaking_off_ends_all_takes_of_the_thread),
        cmocka_unit_test(breaking_off_ends_no_takes_of_other_queues),
        cmocka_unit_test(the_oldest_come_first_inside_too),
        cmocka_unit_test(a_release_may_break_off_too),
        cmocka_unit_test(what_goes_back_wakes_all_that_sleep),
        cmocka_unit_test(queues_go_before_what_they_wait_for),
        cmocka_unit_test(the_descriptor_goes_with_the_last_handle),
        cmocka_unit_test(a_callback_may_drop_the_queue),
        cmocka_unit_test(queues_may_go_while_they_are_taken),
        cmocka_unit_test(a_late_failure_is_told_once),
        cmocka_unit_test(wrong_uses_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
