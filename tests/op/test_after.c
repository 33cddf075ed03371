/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Order without shared data: acu_after and acu_after_future put an op behind another one, or behind
 * a submission, wherever that runs. The first one is held up, and the order of two calls is noted.
 */
#include "support/support.h"

#include <stdatomic.h>

enum { N = 16 };
#define VECTOR ACU_SHAPE(N)

/* ---- helpers ---- */

static _Atomic(int) turn;

/* Host work that notes its place in the order. */
static acu_status note(void *user, const acu_val *values, size_t count)
{
    (void)values, (void)count;
    *(int *)user = atomic_fetch_add(&turn, 1) + 1;
    return ACU_OK;
}

/* The same on a stream: when it is enqueued. */
static acu_status note_enqueued(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)stream;
    return note(user, values, count);
}

static acu_op *on_host(int *place)
{
    return acu_host(note, place, acu_u32(0));
}

static acu_op *on_device(int *place)
{
    return acu_foreign(note_enqueued, place, acu_u32(0));
}

static acu_status pass_gate(void *user, const acu_val *values, size_t count)
{
    test_pass_host_gate(user, values, count);
    return note(user, values, count);
}

static acu_op *at_gate(int *place)
{
    test_host_gate_close();
    return acu_host(pass_gate, place, acu_u32(0));
}

static void ends(acu_future *future)
{
    assert_works(acu_future_wait(future, ACU_FOREVER));
    acu_future_release(future);
}

static acu_device *begin(void)
{
    atomic_store(&turn, 0);
    return test_open();
}

static void finish(acu_device *device)
{
    acu_driver_fail_clear();
    test_close(device);
    test_leaks_none();
}

/* ---- ops ---- */

static void behind_an_op(void **state)
{
    (void)state;
    acu_device *device = begin();
    int first = 0, then = 0, last = 0;
    acu_future *future = test_submit(device, acu_after(on_device(&then), at_gate(&first)));
    assert_int_equal(then, 0); /* it would have been enqueued by now */
    test_host_gate_open();
    ends(future);
    assert_true(first == 1 && then == 2);
    /* Chains, and several. */
    future = test_submit(device,
                    acu_after(acu_after(on_device(&last), on_device(&then)), at_gate(&first)));
    test_host_gate_open();
    ends(future);
    assert_true(first == 3 && then == 4 && last == 5);
    /* Its values. */
    acu_tensor *x;
    acu_op *ones = acu_full(VECTOR, acu_f32(1));
    assert_works(acu_sync(device,
                          acu_after(ones, acu_zip(acu_zeros(ACU_I32, VECTOR), on_host(&first))),
                          &x));
    assert_int_equal(acu_tensor_dtype(x), ACU_F32);
    acu_tensor_release(x);
    finish(device);
}

/* On one device, as branches of one task: the later one waits for the stream at the gate. */
static void branches_in_order(void **state)
{
    (void)state;
    acu_device *device = begin();
    acu_tensor *x, *y, *z;
    float host[N];
    assert_works(acu_sync(device, acu_zeros(ACU_F32, VECTOR), &x));
    assert_works(acu_sync(device, acu_zeros(ACU_F32, VECTOR), &y));
    assert_works(acu_sync(device, acu_zeros(ACU_F32, VECTOR), &z));
    test_threads_rest();
    acu_driver_count_calls(true);
    acu_future *future = test_submit(device,
                                     acu_zip(acu_fill(x, acu_f32(1)), acu_fill(y, acu_f32(2))));
    uint64_t wide = acu_driver_calls(ACU_CALL_EventRecord);
    ends(future);
    test_threads_rest();
    acu_driver_count_calls(true);
    future = test_submit(device, acu_after(acu_fill(x, acu_f32(3)), acu_fill(y, acu_f32(4))));
    uint64_t narrow = acu_driver_calls(ACU_CALL_EventRecord);
    acu_driver_count_calls(false);
    ends(future);
    assert_true(wide > narrow); /* nothing to join */
    assert_int_equal(narrow, 1);
    assert_works(acu_read_sync(x, host, sizeof host));
    assert_true(host[0] == 3);
    acu_tensor_release(x);
    acu_tensor_release(y);
    acu_tensor_release(z);
    finish(device);
}

/* The op was planned before: as a part of this submission, of another one, or of two others. */
static void behind_an_op_that_others_use(void **state)
{
    (void)state;
    acu_device *device = begin();
    int first = 0, then = 0;
    acu_op *shared = acu_op_retain(at_gate(&first));
    acu_future *a = test_submit(device, acu_zip(shared, acu_after(on_device(&then), shared)));
    assert_int_equal(then, 0);
    test_host_gate_open();
    ends(a);
    assert_true(first == 1 && then == 2);

    shared = acu_op_retain(acu_op_retain(at_gate(&first)));
    a = test_submit(device, shared);
    acu_op *whole = acu_zip(acu_zeros(ACU_F32, VECTOR), shared); /* nothing of it is new */
    acu_future *b = test_submit(device, acu_after(on_device(&then), acu_nth(whole, 0)));
    assert_int_equal(then, 2);
    test_host_gate_open();
    ends(b);
    ends(a);
    assert_true(first == 3 && then == 4);
    acu_op_release(shared);
    finish(device);
}

static acu_op *next_op(void *user, acu_val *values, size_t count)
{
    (void)values, (void)count;
    return on_device(user);
}

/* The same with `then`, behind an op that another submission planned. */
static void then_behind_an_op_that_others_use(void **state)
{
    (void)state;
    acu_device *device = begin();
    int first = 0, then = 0;
    acu_op *shared = acu_op_retain(at_gate(&first));
    acu_future *a = test_submit(device, shared);
    acu_future *b = test_submit(device, acu_then(shared, next_op, &then));
    assert_int_equal(then, 0);
    test_host_gate_open();
    ends(b);
    ends(a);
    assert_true(first == 1 && then == 2);
    finish(device);
}

static acu_status fail_host(void *user, const acu_val *values, size_t count)
{
    note(user, values, count);
    return ACU_ERR_INVALID;
}

/* It orders and does nothing else: a failure in another submission fails nothing that comes behind
 * it. */
static void failures_do_not_pass(void **state)
{
    (void)state;
    acu_device *device = begin();
    int first = 0, then = 0;
    acu_op *shared = acu_op_retain(acu_host(fail_host, &first, acu_u32(0)));
    acu_future *a = test_submit(device, shared);
    ends(test_submit(device, acu_after(on_device(&then), shared)));
    assert_int_equal(acu_future_wait(a, ACU_FOREVER), ACU_ERR_CALLBACK);
    assert_true(first == 1 && then == 2);
    acu_future_release(a);
    /* Within one submission, it is a failure of the submission. */
    a = test_submit(device, acu_after(on_device(&then), acu_host(fail_host, &first, acu_u32(0))));
    assert_int_equal(acu_future_wait(a, ACU_FOREVER), ACU_ERR_CALLBACK);
    acu_future_release(a);
    assert_true(first == 3 && then == 2);
    assert_fails(acu_submit(device, acu_after(on_device(&then), (acu_op *)NULL), NULL, NULL),
                 ACU_ERR_INVALID, "after");
    finish(device);
}

static void fails_as_a_part(acu_device *device, acu_op *op)
{
    acu_future *future = test_submit(device, op);
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), ACU_ERR_CALLBACK);
    acu_future_release(future);
}

/* An alternative fails with what it is to come after, if that is a part of it; whether others may
 * use that too or not. */
static void a_failure_in_an_alternative(void **state)
{
    (void)state;
    acu_device *device = begin();
    int first;
    for (int shared = 0; shared < 2; shared++) {
        acu_op *before = acu_host(fail_host, &first, acu_u32(0));
        acu_op *kept = shared ? acu_op_retain(before) : NULL;
        acu_op *tried = acu_zip(acu_host(fail_host, &first, acu_u32(0)), acu_scalar(acu_u32(1)));
        acu_op *other = acu_after(acu_scalar(acu_u32(1)), before);
        fails_as_a_part(device, acu_or_else(acu_last(tried), other));
        acu_op_release(kept);
    }
    finish(device);
}

/* What an op only comes after is no part of it, if the submission had planned that before. */
static void a_failure_before_a_shared_op(void **state)
{
    (void)state;
    acu_device *device = begin();
    int first, then;
    acu_op *before = acu_op_retain(acu_host(fail_host, &first, acu_u32(0)));
    acu_op *op = acu_op_retain(acu_after(on_host(&then), before));
    acu_future *planner = test_submit(device, acu_zip(before, op));
    acu_future *user = test_submit(device, op);
    assert_int_equal(acu_future_wait(planner, ACU_FOREVER), ACU_ERR_CALLBACK);
    ends(user);
    acu_future_release(planner);
    finish(device);
}

enum { DEEP = 3000 };

typedef struct link {
    acu_op *shared; /* planned by another submission */
    int first, then;
} link;

static acu_op *next_of_chain(void *user, acu_val *values, size_t count)
{
    (void)values, (void)count;
    link *l = user;
    return acu_zip(on_host(&l->then), l->shared);
}

/* Each function's op comes behind all that is in front of it. (If each were entered behind each of
 * these by itself, this would take very long, and gigabytes.) */
static void a_long_chain(void **state)
{
    (void)state;
    static link links[DEEP];
    static acu_op *shared[DEEP];
    acu_device *device = begin();
    for (int i = 0; i < DEEP; i++) {
        links[i] = (link){.shared = acu_op_retain(on_host(&links[i].first))};
        shared[i] = links[i].shared;
    }
    acu_future *first = test_submit(device, acu_op_zip(shared, DEEP, ACU_SITE));
    acu_op *chain = acu_scalar(acu_u32(0));
    for (int i = 0; i < DEEP; i++)
        chain = acu_then(chain, next_of_chain, &links[i]);
    ends(test_submit(device, chain));
    ends(first);
    for (int i = 1; i < DEEP; i++)
        assert_true(links[i].then > links[i - 1].then && links[i].then > links[i - 1].first);
    finish(device);
}

/* ---- submissions ---- */

static void behind_a_submission(void **state)
{
    (void)state;
    acu_device *device = begin();
    int first = 0, then = 0;
    acu_future *a = test_submit(device, at_gate(&first));
    acu_future *b = test_submit(device, acu_after_future(on_device(&then), a));
    assert_int_equal(then, 0);
    test_host_gate_open();
    ends(b);
    assert_true(first == 1 && then == 2);
    assert_int_equal(acu_future_wait(a, ACU_FOREVER), ACU_OK);
    ends(test_submit(device, acu_after_future(on_device(&then), a))); /* complete already */
    assert_int_equal(then, 3);
    acu_future_release(a);
    finish(device);
}

/* On the device: the stream of the second waits for that of the first. */
static void behind_a_submission_on_another_stream(void **state)
{
    (void)state;
    acu_device *device = begin();
    acu_stream *streams[2];
    acu_future *futures[2];
    acu_tensor *x[2];
    for (int i = 0; i < 2; i++) {
        assert_works(acu_stream_create(device, 0, &streams[i]));
        assert_works(acu_sync(device, acu_zeros(ACU_F32, VECTOR), &x[i]));
    }
    test_threads_rest();
    test_gate_close(device, acu_stream_raw(streams[0]));
    acu_submit_options options = {.size = sizeof options, .stream = streams[0]};
    assert_works(acu_submit(device, acu_fill(x[0], acu_f32(1)), &options, &futures[0]));
    options.stream = streams[1];
    acu_driver_count_calls(true);
    acu_op *op = acu_after_future(acu_fill(x[1], acu_f32(2)), futures[0]);
    assert_works(acu_submit(device, op, &options, &futures[1]));
    assert_int_equal(acu_driver_calls(ACU_CALL_StreamWaitEvent), 1);
    acu_driver_count_calls(false);
    assert_int_equal(acu_stream_poll(streams[1]), ACU_NOT_READY);
    test_gate_open();
    for (int i = 0; i < 2; i++) {
        ends(futures[i]);
        acu_stream_release(streams[i]);
        acu_tensor_release(x[i]);
    }
    finish(device);
}

/* If the first one was given up, work that it had begun still comes first; one that never began is
 * not waited for. */
static void behind_what_was_given_up(void **state)
{
    (void)state;
    acu_device *device = begin();
    int first = 0, then = 0;
    acu_future *a = test_submit(device, at_gate(&first));
    acu_policy *policy;
    acu_future *scheduled;
    assert_works(acu_policy_single(device, NULL, &policy));
    assert_works(acu_schedule(policy, on_device(&then), &scheduled));
    acu_policy_release(policy);
    assert_works(acu_future_cancel(scheduled));
    ends(test_submit(device, acu_after_future(on_device(&then), scheduled)));
    assert_int_equal(then, 1);
    acu_future_release(scheduled);
    assert_works(acu_future_cancel(a));
    acu_future *b = test_submit(device, acu_after_future(on_device(&then), a));
    acu_future_release(a);
    test_host_gate_open();
    ends(b);
    assert_true(then == (first ? 3 : 2)); /* the host work may not have begun */
    finish(device);
}

static void a_scheduled_one_is_started(void **state)
{
    (void)state;
    acu_device *device = begin();
    int first = 0, then = 0;
    acu_policy *policy;
    acu_future *scheduled;
    assert_works(acu_policy_single(device, NULL, &policy));
    assert_works(acu_schedule(policy, on_host(&first), &scheduled));
    acu_policy_release(policy);
    ends(test_submit(device, acu_after_future(on_device(&then), scheduled)));
    assert_true(first == 1 && then == 2);
    acu_future_release(scheduled);
    finish(device);
}

static void behind_what_was_handed_over(void **state)
{
    (void)state;
    acu_open_options options = test_options(0);
    options.runtime_thread = true;
    acu_device *device;
    int first[20] = {0}, then[20] = {0};
    atomic_store(&turn, 0);
    assert_works(acu_open(&options, &device));
    acu_future *last = NULL;
    for (int i = 0; i < 20; i++) {
        acu_future *a = test_submit(device, on_host(&first[i]));
        acu_future_release(last);
        last = test_submit(device, acu_after_future(on_device(&then[i]), a));
        acu_future_release(a);
    }
    ends(last);
    assert_works(acu_device_wait(device, ACU_FOREVER));
    for (int i = 0; i < 20; i++)
        assert_true(then[i] > first[i] && first[i] > 0);
    finish(device);
}

static void no_submission(void **state)
{
    (void)state;
    acu_device *device = begin();
    int place;
    acu_future *all;
    acu_group *group;
    assert_works(acu_group_create(NULL, &group));
    acu_future *held = test_submit(device, at_gate(&place));
    assert_works(acu_group_add(group, held));
    assert_works(acu_group_finish(group, &all));
    assert_fails(acu_submit(device, acu_after_future(on_device(&place), all), NULL, NULL),
                 ACU_ERR_BUSY, "acu_after_future|no submission");
    assert_fails(acu_submit(device, acu_after_future(on_device(&place), NULL), NULL, NULL),
                 ACU_ERR_INVALID, "acu_after_future|future is NULL");
    test_host_gate_open();
    ends(held);
    ends(all);
    acu_group_release(group);
    finish(device);
}

static void in_graphs(void **state)
{
    (void)state;
    acu_device *device = begin();
    acu_tensor *x, *y;
    acu_graph *graph;
    int first;
    assert_works(acu_sync(device, acu_zeros(ACU_F32, VECTOR), &x));
    assert_works(acu_sync(device, acu_zeros(ACU_F32, VECTOR), &y));
    acu_op *op = acu_after(acu_fill(x, acu_f32(1)), acu_fill(y, acu_f32(2)));
    assert_works(acu_graph_load(device, op, NULL, &graph));
    ends(test_submit(device, acu_replay(graph)));
    acu_graph_release(graph);
    acu_future *a = test_submit(device, at_gate(&first));
    op = acu_after_future(acu_fill(x, acu_f32(1)), a);
    assert_fails(acu_graph_load(device, op, NULL, &graph), ACU_ERR_NOT_SUPPORTED, "acu_after");
    test_host_gate_open();
    ends(a);
    acu_tensor_release(x);
    acu_tensor_release(y);
    finish(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behind_an_op),
        cmocka_unit_test(branches_in_order),
        cmocka_unit_test(behind_an_op_that_others_use),
        cmocka_unit_test(then_behind_an_op_that_others_use),
        cmocka_unit_test(failures_do_not_pass),
        cmocka_unit_test(a_failure_in_an_alternative),
        cmocka_unit_test(a_failure_before_a_shared_op),
        cmocka_unit_test(a_long_chain),
        cmocka_unit_test(behind_a_submission),
        cmocka_unit_test(behind_a_submission_on_another_stream),
        cmocka_unit_test(behind_what_was_given_up),
        cmocka_unit_test(a_scheduled_one_is_started),
        cmocka_unit_test(behind_what_was_handed_over),
        cmocka_unit_test(no_submission),
        cmocka_unit_test(in_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
