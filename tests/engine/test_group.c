/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Groups: waiting for all and for any member; the first failure, which gives up members that are
 * not on the device; bounds, draining, queues; dropping at any time.
 */
#include "support/support.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { N = 16 };
#define VECTOR ACU_SHAPE(N)

/* ---- helpers ---- */

/* Host work on x that stops at the gate. */
static acu_op *at_gate(acu_tensor *x)
{
    test_host_gate_close();
    return acu_host(test_pass_host_gate, NULL, acu_inout(x));
}

static acu_op *constant(float value)
{
    return acu_full(VECTOR, acu_f32(value));
}

static acu_group *make(size_t limit, bool collect, bool keep_going)
{
    acu_group *group;
    acu_group_options options = {
        .size = sizeof options, .limit = limit, .collect = collect, .keep_going = keep_going};
    assert_works(acu_group_create(&options, &group));
    return group;
}

static acu_future *submit(acu_group *group, acu_device *device, acu_op *op)
{
    acu_future *future;
    assert_works(acu_group_submit(group, device, op, NULL, &future));
    return future;
}

static acu_tensor *pinned(acu_device *device)
{
    acu_tensor *tensor;
    assert_works(acu_tensor_alloc_pinned(device, ACU_F32, VECTOR, &tensor));
    memset(acu_tensor_host(tensor), 0, N * sizeof(float));
    return tensor;
}

/* A member that fails when it is issued. */
static void submit_failing(acu_group *group, acu_device *device)
{
    acu_driver_fault fault = {.size = sizeof fault, .call = ACU_CALL_MemsetD32Async, .nth = 1};
    assert_works(acu_driver_fail(&fault));
    assert_works(acu_group_submit(group, device, constant(1), NULL, NULL));
    acu_driver_fail_clear();
}

static void ends(acu_future *future, acu_status status)
{
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), status);
    acu_future_release(future);
}

static void finish(acu_device *device)
{
    acu_driver_fail_clear();
    test_close(device);
    test_leaks_none();
}

/* ---- waiting ---- */

static void all_of_them(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_group *group = make(0, false, false);
    assert_int_equal(acu_group_wait(group, 0), ACU_OK); /* of none */
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < 20; i++)
            assert_works(acu_group_submit(group, device, constant(1), NULL, NULL));
        assert_works(acu_group_wait(group, ACU_FOREVER));
        assert_int_equal(acu_group_pending(group), 0);
    }
    assert_int_equal(acu_group_error(group, NULL), ACU_OK);
    acu_tensor *x = pinned(device);
    acu_future *future = submit(group, device, at_gate(x));
    assert_int_equal(acu_group_wait(group, 0), ACU_TIMEOUT);
    assert_int_equal(acu_group_pending(group), 1);
    test_host_gate_open();
    assert_works(acu_group_wait(group, ACU_FOREVER));
    ends(future, ACU_OK);
    acu_tensor_release(x);
    acu_group_release(group);
    finish(device);
}

static void any_of_them(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_group *group = make(0, true, false);
    acu_tensor *x = pinned(device);
    acu_future *next;
    assert_fails(acu_group_take(group, &next), ACU_ERR_NOT_FOUND, "acu_group_take|no members");
    acu_future *slow = submit(group, device, at_gate(x));
    test_host_gate_await();
    assert_int_equal(acu_group_take(group, &next), ACU_NOT_READY);
    assert_int_equal(acu_group_wait_any(group, 0, &next), ACU_TIMEOUT);
    acu_future *fast = submit(group, device, constant(2));
    assert_works(acu_group_wait_any(group, ACU_FOREVER, &next));
    assert_ptr_equal(next, fast);
    acu_tensor *tensor;
    assert_works(acu_future_take(next, 0, &tensor));
    acu_tensor_release(tensor);
    acu_future_release(next);
    acu_future_release(fast);
    test_host_gate_open();
    assert_works(acu_group_wait_any(group, ACU_FOREVER, &next));
    assert_ptr_equal(next, slow);
    acu_future_release(next);
    acu_future_release(slow);
    assert_fails(acu_group_wait_any(group, 0, &next), ACU_ERR_NOT_FOUND, "no members");
    assert_works(acu_group_submit(group, device, constant(3), NULL, NULL)); /* nobody takes it */
    acu_group_release(group);
    acu_tensor_release(x);
    finish(device);
}

/* ---- failures ---- */

/* One member is on the device, one has begun on the host, one waits behind that; then comes the
 * failure. */
static void the_first_failure_gives_up_what_is_held_up(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_group *group = make(0, false, false);
    acu_tensor *x = pinned(device), *y;
    assert_works(acu_sync(device, constant(0), &y));
    acu_stream *stream;
    assert_works(acu_stream_create(device, 0, &stream));
    acu_submit_options on_stream = {.size = sizeof on_stream, .stream = stream};
    acu_future *issued, *begun, *behind;
    test_gate_close(device, acu_stream_raw(stream));
    assert_works(acu_group_submit(group, device, acu_fill(y, acu_f32(1)), &on_stream, &issued));
    begun = submit(group, device, at_gate(x));
    test_host_gate_await();
    behind = submit(group, device, acu_with_context(acu_to_device(device, x), "loading"));
    assert_int_equal(acu_group_pending(group), 3);
    submit_failing(group, device);
    acu_error told = {0};
    assert_fails(acu_future_wait(behind, ACU_FOREVER), ACU_ERR_CANCELLED, ""); /* at once */
    assert_int_equal(acu_future_error(behind, &told), ACU_ERR_CANCELLED);
    assert_non_null(strstr(told.message, "cuMemsetD32Async"));
    assert_non_null(strstr(told.file, "test_group.c"));
    assert_string_equal(told.op, "to_device");
    assert_string_equal(told.context, "loading");
    ends(behind, ACU_ERR_CANCELLED);
    assert_int_equal(acu_future_poll(begun), ACU_NOT_READY);
    assert_int_equal(acu_future_poll(issued), ACU_NOT_READY);
    assert_fails(acu_group_submit(group, device, constant(2), NULL, NULL), ACU_ERR_CANCELLED,
                 "acu_group_submit|the group failed");
    assert_fails(acu_group_add(group, issued), ACU_ERR_CANCELLED, "acu_group_add");
    test_host_gate_open();
    test_gate_open();
    assert_fails(acu_group_wait(group, ACU_FOREVER), ACU_ERR_DRIVER, "");
    acu_error error = {0};
    assert_int_equal(acu_group_error(group, &error), ACU_ERR_DRIVER);
    assert_string_equal(error.driver_call, "cuMemsetD32Async");
    ends(begun, ACU_OK);
    ends(issued, ACU_OK);
    acu_group_release(group);
    acu_stream_release(stream);
    acu_tensor_release(x);
    acu_tensor_release(y);
    finish(device);
}

static void it_may_go_on(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_group *group = make(0, false, true);
    acu_tensor *x = pinned(device);
    acu_future *begun = submit(group, device, at_gate(x));
    acu_future *behind = submit(group, device, acu_to_device(device, x));
    submit_failing(group, device);
    acu_future *after = submit(group, device, constant(2));
    test_host_gate_open();
    assert_fails(acu_group_wait(group, ACU_FOREVER), ACU_ERR_DRIVER, "");
    ends(begun, ACU_OK);
    ends(behind, ACU_OK);
    ends(after, ACU_OK);
    acu_group_release(group);
    acu_tensor_release(x);
    finish(device);
}

/* Members that the program cancels itself, and submissions that are refused, are no failures. */
static void no_failures(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_group *group = make(0, false, false);
    acu_tensor *x = pinned(device);
    acu_future *begun = submit(group, device, at_gate(x));
    acu_future *behind = submit(group, device, acu_to_device(device, x));
    assert_works(acu_future_cancel(behind));
    assert_int_equal(acu_group_pending(group), 1);
    assert_fails(acu_group_submit(group, device, acu_nth(constant(1), 2), NULL, NULL),
                 ACU_ERR_ARGUMENTS, "value 2");
    test_host_gate_open();
    assert_works(acu_group_wait(group, ACU_FOREVER));
    ends(begun, ACU_OK);
    ends(behind, ACU_ERR_CANCELLED);
    acu_group_release(group);
    acu_tensor_release(x);
    finish(device);
}

/* A member that is being planned at that moment already has a place in the group, but no future
 * yet. */
typedef struct turning {
    acu_group *group;
    acu_device *device;
    acu_op *then;
    bool fails;
} turning;

static acu_op *turn_group(void *user, acu_val *values, size_t count)
{
    (void)values, (void)count;
    const turning *t = user;
    if (t->fails)
        submit_failing(t->group, t->device);
    else
        assert_works(acu_group_cancel(t->group));
    while (t->fails && acu_group_error(t->group, NULL) == ACU_OK)
        sched_yield();
    return t->then;
}

static acu_future *submit_turning(turning *t, acu_op *then, acu_stream *stream)
{
    acu_submit_options options = {.size = sizeof options, .stream = stream};
    acu_op *op = acu_then(acu_scalar(acu_u8(1)), turn_group, t);
    acu_future *future;
    t->then = then;
    assert_works(acu_group_submit(t->group, t->device, op, &options, &future));
    return future;
}

static void one_that_is_being_planned_is_given_up_too(void **state)
{
    (void)state;
    acu_device *device = test_open();
    for (int fails = 0; fails < 2; fails++) {
        turning t = {.group = make(0, false, false), .device = device, .fails = fails};
        acu_tensor *x = pinned(device);
        acu_future *begun = submit(t.group, device, at_gate(x));
        test_host_gate_await();
        acu_future *planned = submit_turning(&t, acu_to_device(device, x), NULL);
        assert_int_equal(acu_future_poll(planned), ACU_ERR_CANCELLED);
        acu_error told = {0};
        acu_future_error(planned, &told);
        assert_non_null(strstr(told.message, fails ? "cuMemsetD32Async" : "group was cancelled"));
        acu_future_release(planned);
        test_host_gate_open();
        ends(begun, fails ? ACU_OK : ACU_ERR_CANCELLED);
        acu_group_release(t.group);
        acu_tensor_release(x);
    }
    /* On the device by then. */
    turning t = {.group = make(0, false, false), .device = device, .fails = true};
    acu_stream *stream;
    assert_works(acu_stream_create(device, 0, &stream));
    test_gate_close(device, acu_stream_raw(stream));
    acu_future *issued = submit_turning(&t, constant(2), stream);
    assert_int_equal(acu_future_poll(issued), ACU_NOT_READY);
    test_gate_open();
    ends(issued, ACU_OK);
    acu_stream_release(stream);
    acu_group_release(t.group);
    finish(device);
}

/* ---- bounds ---- */

static void a_bound_on_members(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_group *group = make(2, true, false);
    acu_tensor *x = pinned(device);
    acu_future *next;
    acu_future_release(submit(group, device, at_gate(x)));
    acu_future_release(submit(group, device, acu_to_device(device, x)));
    acu_op *op = constant(1); /* which FULL leaves to the program */
    assert_fails(acu_group_submit(group, device, op, NULL, NULL), ACU_ERR_FULL, "its limit allows, 2");
    test_host_gate_open();
    assert_works(acu_group_wait(group, ACU_FOREVER));
    assert_fails(acu_group_submit(group, device, op, NULL, NULL), ACU_ERR_FULL,
                 "its limit allows, 2"); /* until they are taken */
    acu_op_release(op);
    for (int i = 0; i < 5; i++) {
        assert_works(acu_group_wait_any(group, ACU_FOREVER, &next));
        ends(next, ACU_OK);
        assert_works(acu_group_submit(group, device, constant(1), NULL, NULL));
    }
    acu_group_release(group);
    acu_tensor_release(x);
    finish(device);
}

/* ---- ending ---- */

static void draining(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *x = pinned(device);
    acu_group *group = make(0, false, false);
    assert_works(acu_group_submit(group, device, constant(1), NULL, NULL));
    assert_works(acu_group_drain(group, ACU_FOREVER));
    assert_fails(acu_group_submit(group, device, constant(2), NULL, NULL), ACU_ERR_CANCELLED,
                 "takes no more");
    acu_group_release(group);
    group = make(0, false, false);
    acu_future *begun = submit(group, device, at_gate(x));
    acu_future *behind = submit(group, device, acu_to_device(device, x));
    test_host_gate_await();
    assert_int_equal(acu_group_drain(group, ACU_MS(2)), ACU_TIMEOUT);
    assert_int_equal(acu_group_pending(group), 0);
    ends(begun, ACU_ERR_CANCELLED);
    ends(behind, ACU_ERR_CANCELLED);
    test_host_gate_open();
    acu_group_release(group);
    acu_tensor_release(x);
    finish(device);
}

static void cancelling(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *x = pinned(device);
    acu_group *group = make(0, false, false);
    acu_future *scheduled;
    acu_policy *policy;
    assert_works(acu_policy_single(device, NULL, &policy));
    assert_works(acu_schedule(policy, acu_to_device(device, x), &scheduled));
    acu_policy_release(policy);
    acu_future *begun = submit(group, device, at_gate(x));
    assert_works(acu_group_add(group, scheduled)); /* starts it */
    test_host_gate_await();
    assert_works(acu_group_cancel(group));
    assert_int_equal(acu_group_pending(group), 0);
    assert_int_equal(acu_group_wait(group, 0), ACU_OK); /* the program's own wish */
    ends(begun, ACU_ERR_CANCELLED);
    ends(scheduled, ACU_ERR_CANCELLED);
    test_host_gate_open();
    acu_group_release(group);
    acu_tensor_release(x);
    finish(device);
}

static void *open_the_gate(void *unused)
{
    test_host_gate_open();
    return unused;
}

/* Each member needs what the one before it computes, and they may begin while they are given up: so
 * one that was given up may be over, and fail the next one, before that one's turn. */
static void members_behind_one_another(void **state)
{
    (void)state;
    enum { CHAIN = 400, TURNS = 60 };
    acu_device *device = test_open();
    static acu_future *chain[CHAIN];
    for (int turn = 0; turn < TURNS; turn++) {
        acu_group *group = make(0, false, false);
        acu_tensor *x = pinned(device);
        acu_future *before = test_submit(device, at_gate(x)); /* no member */
        for (int i = 0; i < CHAIN; i++)
            chain[i] = submit(group, device, acu_host(test_pass_host_gate, NULL, acu_inout(x)));
        test_host_gate_await();
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, open_the_gate, NULL), 0);
        for (int i = 0; i < turn; i++) /* in other places every time */
            acu_group_pending(group);
        assert_works(acu_group_cancel(group));
        pthread_join(thread, NULL);
        for (int i = 0; i < CHAIN; i++) {
            acu_status status = acu_future_wait(chain[i], ACU_FOREVER);
            assert_true(status == ACU_ERR_CANCELLED || status == ACU_OK);
            acu_future_release(chain[i]);
        }
        assert_works(acu_group_wait(group, ACU_FOREVER));
        ends(before, ACU_OK);
        acu_group_release(group);
        acu_tensor_release(x);
    }
    finish(device);
}

static void dropped_in_flight(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *x = pinned(device);
    for (int collect = 0; collect < 2; collect++) {
        acu_group *group = make(0, collect, false);
        acu_future *begun = submit(group, device, at_gate(x));
        assert_works(acu_group_submit(group, device, acu_to_device(device, x), NULL, NULL));
        test_host_gate_await();
        acu_group_release(acu_group_retain(group));
        acu_group_release(group);
        test_host_gate_open();
        ends(begun, ACU_OK);
    }
    acu_tensor_release(x);
    finish(device);
}

/* ---- with queues ---- */

static void with_a_queue(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_group *group = make(0, false, false);
    acu_queue *queue;
    assert_works(acu_queue_create(NULL, &queue));
    acu_submit_options options = {.size = sizeof options, .queue = queue};
    for (options.tag = 1; options.tag <= 5; options.tag++)
        assert_works(acu_group_submit(group, device, constant(1), &options, NULL));
    acu_future *all, *same;
    assert_works(acu_group_finish(group, &all));
    assert_works(acu_group_finish(group, &same));
    acu_future_release(same);
    assert_works(acu_future_when_complete(all, queue, 100, NULL, ACU_USER(NULL)));
    uint64_t sum = 0;
    for (size_t got = 0, n; got < 6; got += n) {
        acu_completion done[8];
        assert_works(acu_queue_wait(queue, done, 8, &n, ACU_FOREVER));
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(done[i].status, ACU_OK);
            sum += done[i].tag;
            assert_int_equal(acu_future_values(done[i].future), done[i].tag != 100);
            acu_future_release(done[i].future);
        }
    }
    assert_int_equal(sum, 1 + 2 + 3 + 4 + 5 + 100);
    ends(all, ACU_OK);
    assert_works(acu_group_finish(group, &all)); /* over already */
    ends(all, ACU_OK);
    assert_int_equal(acu_future_values(all = NULL), 0);
    acu_group_release(group);
    acu_queue_release(queue);
    finish(device);
}

/* With a failure; and cancelling that future cancels no member. */
static void the_future_of_all(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_future *all;
    acu_group *group = make(0, false, false);
    acu_tensor *x = pinned(device);
    acu_future *begun = submit(group, device, at_gate(x));
    test_host_gate_await();
    submit_failing(group, device);
    assert_works(acu_group_finish(group, &all));
    assert_int_equal(acu_future_poll(all), ACU_NOT_READY);
    assert_int_equal(acu_future_values(all), 0);
    test_host_gate_open();
    ends(all, ACU_ERR_DRIVER);
    ends(begun, ACU_OK);
    acu_group_release(group);
    group = make(0, false, false);
    begun = submit(group, device, at_gate(x));
    assert_works(acu_group_finish(group, &all));
    assert_works(acu_future_cancel(all));
    ends(all, ACU_ERR_CANCELLED);
    assert_int_equal(acu_group_pending(group), 1);
    assert_works(acu_group_finish(group, &all)); /* another one */
    assert_int_equal(acu_future_poll(all), ACU_NOT_READY);
    test_host_gate_open();
    ends(begun, ACU_OK);
    assert_works(acu_future_wait(all, ACU_FOREVER));
    ends(all, ACU_OK);
    acu_group_release(group);
    acu_tensor_release(x);
    finish(device);
}

/* ---- many threads ---- */

typedef struct crowd {
    acu_device *device;
    acu_group *group;
    _Atomic(int) accepted, full, refused;
} crowd;

static void *submit_many(void *user)
{
    crowd *c = user;
    for (int i = 0; i < 200; i++) {
        acu_op *op = constant(1);
        acu_status status = acu_group_submit(c->group, c->device, op, NULL, NULL);
        if (status == ACU_OK)
            atomic_fetch_add(&c->accepted, 1);
        else if (status == ACU_ERR_FULL) {
            atomic_fetch_add(&c->full, 1);
            acu_op_release(op);
            acu_group_wait(c->group, ACU_FOREVER);
        } else if (status == ACU_ERR_CANCELLED)
            atomic_fetch_add(&c->refused, 1);
    }
    return NULL;
}

static void from_many_threads(void **state)
{
    (void)state;
    for (int failing = 0; failing < 2; failing++) {
        crowd c = {.device = test_open(), .group = make(8, false, false)};
        pthread_t threads[4];
        acu_driver_fault fault = {
            .size = sizeof fault, .call = ACU_CALL_MemsetD32Async, .nth = 300};
        if (failing)
            assert_works(acu_driver_fail(&fault));
        for (int i = 0; i < 4; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, submit_many, &c), 0);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
        acu_status status = acu_group_drain(c.group, ACU_FOREVER);
        assert_int_equal(acu_group_pending(c.group), 0);
        assert_int_equal(c.accepted + c.full + c.refused, 800);
        if (!failing)
            assert_int_equal(status, ACU_OK);
        assert_true(failing || c.refused == 0);
        acu_group_release(c.group);
        finish(c.device);
    }
}

static void handed_over(void **state)
{
    (void)state;
    acu_open_options options = test_options(0);
    options.runtime_thread = true;
    acu_device *device;
    assert_works(acu_open(&options, &device));
    acu_group *group = make(0, true, false);
    for (int i = 0; i < 20; i++)
        assert_works(acu_group_submit(group, device, constant(1), NULL, NULL));
    assert_works(acu_group_wait(group, ACU_FOREVER));
    /* Refused when it is planned: there that is a failure. */
    acu_future *wrong = submit(group, device, acu_nth(constant(1), 2));
    assert_fails(acu_group_wait(group, ACU_FOREVER), ACU_ERR_ARGUMENTS, "value 2");
    ends(wrong, ACU_ERR_ARGUMENTS);
    acu_group_release(group);
    finish(device);
}

/* ---- completions that do not come from a device ---- */

typedef struct sleeper {
    acu_group *group;
    bool any; /* waits for any member, else for all */
    acu_status status;
    _Atomic(bool) woken;
} sleeper;

static void *sleep_for(void *context)
{
    sleeper *s = context;
    acu_future *future = NULL;
    s->status = s->any ? acu_group_wait_any(s->group, ACU_FOREVER, &future)
                       : acu_group_wait(s->group, ACU_FOREVER);
    acu_future_release(future);
    atomic_store(&s->woken, true);
    return NULL;
}

static pthread_t put_to_sleep(sleeper *s)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, sleep_for, s), 0);
    test_threads_rest();
    assert_false(atomic_load(&s->woken));
    return thread;
}

/* Opens the gate only after that, so that the test ends even if it fails. */
static void is_woken(sleeper *s, pthread_t thread)
{
    test_threads_rest();
    bool woken = atomic_load(&s->woken);
    test_gate_open();
    pthread_join(thread, NULL);
    assert_true(woken);
    assert_works(s->status);
}

/* A thread that waits for any member sleeps until work of unknown length ends; it is woken by a
 * member that joins and is over already. */
static void woken_by_a_member_that_joins(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_group *group = make(0, true, false);
    acu_stream *stream;
    assert_works(acu_stream_create(device, 0, &stream));
    acu_future *over = test_submit(device, constant(1)), *slow;
    assert_works(acu_future_wait(over, ACU_FOREVER));
    test_gate_close(device, acu_stream_raw(stream));
    acu_submit_options options = {.size = sizeof options, .stream = stream};
    assert_works(acu_group_submit(group, device, constant(2), &options, &slow));
    sleeper s = {.group = group, .any = true};
    pthread_t thread = put_to_sleep(&s);
    assert_works(acu_group_add(group, over));
    is_woken(&s, thread);
    acu_future_release(over);
    ends(slow, ACU_OK);
    acu_group_release(group);
    acu_stream_release(stream);
    finish(device);
}

typedef struct sleeping {
    sleeper s;
    pthread_t thread;
} sleeping;

/* A member has a place in the group while it is planned, and gives it back if it is refused. */
static acu_op *wait_and_fail(void *user, acu_val *values, size_t count)
{
    (void)values, (void)count;
    sleeping *both = user;
    both->thread = put_to_sleep(&both->s);
    return NULL;
}

static void woken_by_a_member_that_is_refused(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_group *group = make(0, false, false);
    acu_stream *stream;
    assert_works(acu_stream_create(device, 0, &stream));
    test_gate_close(device, acu_stream_raw(stream));
    acu_submit_options options = {.size = sizeof options, .stream = stream};
    acu_future *slow;
    assert_works(acu_submit(device, constant(2), &options, &slow)); /* no member */
    sleeping both = {.s = {.group = group}};
    acu_op *op = acu_then(constant(1), wait_and_fail, &both);
    assert_int_equal(acu_group_submit(group, device, op, NULL, NULL), ACU_ERR_CALLBACK);
    is_woken(&both.s, both.thread);
    ends(slow, ACU_OK);
    acu_group_release(group);
    acu_stream_release(stream);
    finish(device);
}

static void wrong_use(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_group *group = make(0, false, false);
    acu_future *future;
    assert_fails(acu_group_take(group, &future), ACU_ERR_INVALID, "acu_group_take|collect");
    assert_fails(acu_group_wait_any(group, 0, &future), ACU_ERR_INVALID, "collect");
    assert_fails(acu_group_finish(group, NULL), ACU_ERR_INVALID, "nowhere");
    assert_fails(acu_group_create(NULL, NULL), ACU_ERR_INVALID, "nowhere");
    assert_fails(acu_group_submit(NULL, device, constant(1), NULL, NULL), ACU_ERR_INVALID, "group");
    assert_fails(acu_group_add(group, NULL), ACU_ERR_INVALID, "future is NULL");
    assert_int_equal(acu_group_pending(NULL), 0);
    acu_group_release(NULL);
    acu_group_release(group);
    finish(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_them),
        cmocka_unit_test(any_of_them),
        cmocka_unit_test(the_first_failure_gives_up_what_is_held_up),
        cmocka_unit_test(it_may_go_on),
        cmocka_unit_test(no_failures),
        cmocka_unit_test(one_that_is_being_planned_is_given_up_too),
        cmocka_unit_test(a_bound_on_members),
        cmocka_unit_test(draining),
        cmocka_unit_test(cancelling),
        cmocka_unit_test(members_behind_one_another),
        cmocka_unit_test(dropped_in_flight),
        cmocka_unit_test(with_a_queue),
        cmocka_unit_test(the_future_of_all),
        cmocka_unit_test(from_many_threads),
        cmocka_unit_test(handed_over),
        cmocka_unit_test(woken_by_a_member_that_joins),
        cmocka_unit_test(woken_by_a_member_that_is_refused),
        cmocka_unit_test(wrong_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
