/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Work that was submitted to a stream and is held back on the host: functions that look at the
 * stream take it into account. */
#include "base/clock.h"
#include "engine/engine.h"
#include "support/loads.h"

#include <sched.h>

enum { N = 4 };

typedef struct bench {
    acu_device *device;
    acu_stream *stream, *other;
    acu_event *event;
    acu_policy *policy; /* of that stream only */
    acu_tensor *x, *host, *pinned; /* zeros; `host` is what host work waits with */
} bench;

/* A way to hold it back. */
typedef struct way {
    const char *name;
    bool runtime_thread;
    unsigned max_in_flight;
    void (*hold)(bench *b);
    acu_op *(*behind)(bench *b, acu_op *op); /* NULL: it is held back as it is */
    void (*let_go)(void);
    bool policy; /* chooses the stream */
} way;

static void hold_loads(bench *b)
{
    test_loads_hold(b->device);
}

static void hold_host(bench *b)
{
    (void)b;
    test_host_gate_close();
}

static acu_op *behind_host(bench *b, acu_op *op)
{
    return acu_after(op, acu_host(test_pass_host_gate, NULL, acu_inout(b->host)));
}

static void hold_thread(bench *b)
{
    test_host_gate_close();
    assert_works(acu_submit(b->device, acu_then(acu_dup(b->host), test_plan_behind_host_gate, NULL),
                            NULL, NULL));
    test_host_gate_await();
}

/* Another submission has all the room. */
static void hold_room(bench *b)
{
    acu_submit_options options = {.size = sizeof options, .stream = b->other};
    test_gate_close(b->device, acu_stream_raw(b->other));
    assert_works(acu_submit(b->device, acu_dup(b->host), &options, NULL));
}

static const way ways[] = {
    {.name = "kernels", .hold = hold_loads, .let_go = test_loads_go},
    {.name = "kernels, by a policy", .hold = hold_loads, .let_go = test_loads_go, .policy = true},
    {.name = "kernels, with a runtime thread", .runtime_thread = true, .hold = hold_loads,
     .let_go = test_loads_go},
    {.name = "host work", .hold = hold_host, .behind = behind_host, .let_go = test_host_gate_open},
    {.name = "runtime thread", .runtime_thread = true, .hold = hold_thread,
     .let_go = test_host_gate_open},
    {.name = "runtime thread, by a policy", .runtime_thread = true, .hold = hold_thread,
     .let_go = test_host_gate_open, .policy = true},
    {.name = "room", .max_in_flight = 1, .hold = hold_room, .let_go = test_gate_open},
};
enum { WAYS = sizeof ways / sizeof *ways };

static acu_tensor *pinned_zero(acu_device *device)
{
    acu_tensor *tensor = NULL;
    assert_works(acu_tensor_alloc_pinned(device, ACU_F32, ACU_SHAPE(N), &tensor));
    memset(acu_tensor_host(tensor), 0, N * sizeof(float));
    return tensor;
}

static bench open_bench(const way *w)
{
    bench b = {.policy = NULL};
    acu_open_options options = test_options(0);
    options.runtime_thread = w->runtime_thread;
    options.max_in_flight = w->max_in_flight;
    assert_works(acu_open(&options, &b.device));
    assert_works(acu_stream_create(b.device, 0, &b.stream));
    assert_works(acu_stream_create(b.device, 0, &b.other));
    assert_works(acu_event_create(b.device, false, &b.event));
    assert_works(acu_policy_single(b.device, b.stream, &b.policy));
    b.host = pinned_zero(b.device);
    b.pinned = pinned_zero(b.device);
    assert_works(acu_sync(b.device, acu_dup(b.host), &b.x));
    /* A driver may load modules only when the device is idle, so kernels are loaded before any gate
     * is closed. */
    if (w->let_go != test_loads_go)
        assert_works(acu_sync(b.device, acu_add(b.x, 1), NULL));
    return b;
}

static void close_bench(bench *b)
{
    acu_tensor_release(b->x);
    acu_tensor_release(b->host);
    acu_tensor_release(b->pinned);
    acu_policy_release(b->policy);
    acu_event_release(b->event);
    acu_stream_release(b->other);
    acu_stream_release(b->stream);
    test_close(b->device);
    test_leaks_none();
}

/* One is added to `x`, and the sum copied to `pinned`: on the stream. */
static acu_future *submit_held(bench *b, const way *w)
{
    acu_submit_options options = {.size = sizeof options, .stream = w->policy ? NULL : b->stream,
                                  .policy = w->policy ? b->policy : NULL};
    acu_op *op = acu_copy(b->pinned, acu_into(b->x, acu_add(b->x, 1)));
    acu_future *future = NULL;
    if (w->hold)
        w->hold(b);
    assert_works(acu_submit(b->device, w->behind ? w->behind(b, op) : op, &options, &future));
    return future;
}

static void assert_sum(const bench *b, float want)
{
    assert_true(((const float *)acu_tensor_host(b->pinned))[0] == want);
}

/* Functions that mark the stream's end are refused while work is still to come. */
static void refuse_end(bench *b)
{
    acu_stream *forked = NULL;
    assert_fails(acu_event_record(b->event, b->stream), ACU_ERR_BUSY,
                 "acu_event_record|acu_stream_settle");
    assert_int_equal(acu_event_poll(b->event), ACU_OK); /* nothing was recorded */
    assert_fails(acu_stream_fork(b->stream, &forked), ACU_ERR_BUSY,
                 "acu_stream_fork|acu_stream_settle");
    assert_null(forked);
    assert_fails(acu_stream_order_after(b->other, b->stream), ACU_ERR_BUSY,
                 "acu_stream_order_after|acu_stream_settle");
    assert_works(acu_stream_order_after(b->stream, b->other));
    assert_works(acu_stream_order_after(b->stream, b->stream)); /* it is in that order anyway */
}

static void polled_and_waited_for(const way *w)
{
    bench b = open_bench(w);
    acu_future *future = submit_held(&b, w);
    assert_int_equal(acu_stream_poll(b.stream), ACU_NOT_READY);
    assert_int_equal(acu_stream_wait(b.stream, 0), ACU_TIMEOUT);
    assert_int_equal(acu_stream_wait(b.stream, ACU_MS(1)), ACU_TIMEOUT);
    assert_int_equal(acu_stream_settle(b.stream, ACU_MS(1)), ACU_TIMEOUT);
    refuse_end(&b);
    w->let_go();
    assert_works(acu_stream_wait(b.stream, ACU_FOREVER));
    assert_sum(&b, 1);
    assert_works(acu_stream_poll(b.stream));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    acu_future_release(future);
    close_bench(&b);
}

static void waiting_includes_what_is_held_back(void **state)
{
    (void)state;
    for (int i = 0; i < WAYS; i++)
        polled_and_waited_for(&ways[i]);
}

/* Once it is on the stream, though not over, its end can be marked. */
static void settled_and_marked(const way *w)
{
    bench b = open_bench(w);
    acu_stream *forked = NULL;
    bool busy = w->let_go == test_host_gate_open; /* else loads or that gate would be in the way */
    if (busy)
        test_gate_close(b.device, acu_stream_raw(b.stream));
    acu_future *future = submit_held(&b, w);
    w->let_go();
    assert_works(acu_stream_settle(b.stream, ACU_FOREVER));
    assert_works(acu_event_record(b.event, b.stream));
    assert_works(acu_stream_fork(b.stream, &forked));
    assert_works(acu_stream_order_after(b.other, b.stream));
    if (busy) {
        assert_int_equal(acu_stream_poll(b.stream), ACU_NOT_READY);
        assert_int_equal(acu_event_poll(b.event), ACU_NOT_READY);
        assert_sum(&b, 0);
        test_gate_open();
    }
    assert_works(acu_event_wait(b.event, ACU_FOREVER));
    assert_sum(&b, 1);
    assert_works(acu_stream_wait(forked, ACU_FOREVER));
    assert_works(acu_stream_wait(b.other, ACU_FOREVER));
    acu_stream_release(forked);
    assert_works(acu_future_wait(future, ACU_FOREVER));
    acu_future_release(future);
    close_bench(&b);
}

static void what_is_settled_can_be_marked(void **state)
{
    (void)state;
    for (int i = 0; i < WAYS; i++)
        settled_and_marked(&ways[i]);
}

/* Work that was given up or has failed will never be on the stream. */
static void what_never_comes_is_not_waited_for(void **state)
{
    (void)state;
    const way *w = &ways[3];
    bench b = open_bench(w);
    acu_future *future = submit_held(&b, w);
    assert_works(acu_future_cancel(future));
    test_host_gate_open();
    assert_works(acu_stream_wait(b.stream, ACU_FOREVER));
    assert_works(acu_stream_poll(b.stream));
    assert_works(acu_event_record(b.event, b.stream));
    acu_future_release(future);
    close_bench(&b);
}

/* Work that the program puts on the stream by itself is on it. */
static void a_use_holds_nothing_back(void **state)
{
    (void)state;
    bench b = open_bench(&(way){.policy = false});
    acu_use *use = NULL;
    assert_works(acu_use_begin(b.stream, &use, acu_inout(b.x)));
    assert_works(acu_stream_wait(b.stream, ACU_FOREVER));
    assert_works(acu_stream_poll(b.stream));
    assert_works(acu_event_record(b.event, b.stream));
    acu_future *future = submit_held(&b, &(way){.policy = false}); /* behind the use */
    assert_int_equal(acu_stream_poll(b.stream), ACU_NOT_READY);
    refuse_end(&b);
    assert_works(acu_use_end(use, ACU_OK, NULL));
    assert_works(acu_stream_wait(b.stream, ACU_FOREVER));
    assert_sum(&b, 1);
    acu_future_release(future);
    close_bench(&b);
}

static void *settle(void *stream)
{
    return (void *)(intptr_t)acu_stream_settle(stream, ACU_FOREVER);
}

static uint64_t turns_of(const acu_stream *stream)
{
    acui_order_lock(acui_home_of(stream->device));
    uint64_t turns = stream->engine.backlog.epochs.changes;
    acui_order_unlock(acui_home_of(stream->device));
    return turns;
}

/* Otherwise a stream to which work is submitted all the time would never be settled. */
static void what_comes_later_is_not_waited_for(void **state)
{
    (void)state;
    bench b = open_bench(&ways[0]);
    acu_tensor *y = NULL;
    acu_submit_options options = {.size = sizeof options, .stream = b.stream};
    acu_future *early = NULL, *late;
    pthread_t thread;
    test_host_gate_close();
    assert_works(acu_submit(b.device, behind_host(&b, acu_dup(b.x)), &options, &early));
    uint64_t before = turns_of(b.stream);
    assert_int_equal(pthread_create(&thread, NULL, settle, b.stream), 0);
    while (turns_of(b.stream) == before) /* until it knows what it waits for */
        sched_yield();
    late = submit_held(&b, &ways[0]);
    test_host_gate_open();
    void *status = NULL;
    pthread_join(thread, &status);
    assert_int_equal((intptr_t)status, ACU_OK);
    assert_int_equal(acu_future_poll(late), ACU_NOT_READY);
    test_loads_go();
    assert_works(acu_stream_wait(b.stream, ACU_FOREVER));
    assert_works(acu_future_wait(early, ACU_FOREVER));
    assert_works(acu_future_take(early, 0, &y));
    acu_tensor_release(y);
    acu_future_release(early);
    acu_future_release(late);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_includes_what_is_held_back),
        cmocka_unit_test(what_is_settled_can_be_marked),
        cmocka_unit_test(what_never_comes_is_not_waited_for),
        cmocka_unit_test(a_use_holds_nothing_back),
        cmocka_unit_test(what_comes_later_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
