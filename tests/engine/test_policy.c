/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Policies at work: submissions run where their policy says; with a single stream, their branches
 * run in order too; an op that names a stream of the program's is launched there, and the stream
 * joins all of its branches.
 */
#include "support/support.h"

#include <stdatomic.h>

enum { N = 64 };
#define VECTOR ACU_SHAPE(N)

static _Atomic(CUstream) seen;
static _Atomic(int) asked;

static acu_status see(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    atomic_store(&seen, stream);
    return ACU_OK;
}

/* Work that notes its stream. */
static acu_op *looking(acu_tensor *x)
{
    return acu_foreign(see, NULL, acu_inout(x));
}

static CUstream stream_of(acu_device *device, acu_op *op, const acu_submit_options *options)
{
    acu_future *future;
    assert_works(acu_submit(device, op, options, &future));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    acu_future_release(future);
    return atomic_load(&seen);
}

static acu_tensor *make(acu_device *device)
{
    acu_tensor *x;
    assert_works(acu_sync(device, acu_zeros(ACU_F32, VECTOR), &x));
    return x;
}

static void finish(acu_device *device)
{
    test_close(device);
    test_leaks_none();
}

typedef struct chooser {
    size_t place;
    acu_device *device;
    acu_future *future;
    acu_policy *other;
    acu_status wait, submit;
} chooser;

static size_t choose(void *user, const acu_policy_stream *streams, size_t count)
{
    const chooser *c = user;
    (void)streams, (void)count;
    atomic_fetch_add(&asked, 1);
    return c->place;
}

static size_t misuse(void *user, const acu_policy_stream *streams, size_t count)
{
    chooser *c = user;
    (void)streams, (void)count;
    c->wait = acu_future_wait(c->future, 0);
    c->submit = acu_submit(c->device, acu_zeros(ACU_F32, VECTOR), NULL, NULL);
    return 0;
}

/* Another policy that is asked during this choice does not end it. */
static size_t misuse_after_another(void *user, const acu_policy_stream *streams, size_t count)
{
    chooser *c = user;
    acu_future *later;
    assert_works(acu_schedule(c->other, acu_zeros(ACU_F32, VECTOR), &later));
    acu_future_release(later);
    return misuse(user, streams, count);
}

static void the_program_chooses(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *x = make(device);
    acu_stream *streams[3];
    for (int i = 0; i < 3; i++)
        assert_works(acu_stream_create(device, 0, &streams[i]));
    chooser c = {.device = device};
    acu_policy *policy;
    acu_policy_options options = {.size = sizeof options,
                                  .choose = choose,
                                  .user = ACU_USER(&c),
                                  .given = streams,
                                  .given_count = 3};
    assert_works(acu_policy_create(device, &options, &policy));
    acu_submit_options submit = {.size = sizeof submit, .policy = policy};
    atomic_store(&asked, 0);
    for (c.place = 3; c.place-- > 0;)
        assert_ptr_equal(stream_of(device, looking(x), &submit), acu_stream_raw(streams[c.place]));
    assert_int_equal(atomic_load(&asked), 3); /* once for each */
    c.place = 2;
    acu_future *future;
    assert_works(acu_schedule(policy, looking(x), &future));
    c.place = 0; /* too late */
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_ptr_equal(atomic_load(&seen), acu_stream_raw(streams[2]));
    acu_future_release(future);
    c.place = 3;
    assert_fails(acu_submit(device, looking(x), &submit, NULL), ACU_ERR_CALLBACK, "stream 3; there are 3");
    assert_fails(acu_schedule(policy, looking(x), &future), ACU_ERR_CALLBACK, "stream 3; there are 3");
    acu_policy_release(policy);
    for (int i = 0; i < 3; i++)
        acu_stream_release(streams[i]);
    acu_tensor_release(x);
    finish(device);
}

static void count_release(void *user)
{
    ++*(int *)user;
}

/* Also if the options set fields that only a newer library knows. */
static void what_is_refused_is_released(void **state)
{
    (void)state;
    acu_device *device = test_open();
    int releases = 0;
    struct {
        acu_policy_options known;
        size_t more;
    } options = {.known = {.size = sizeof options,
                           .choose = choose,
                           .user = ACU_USER(&releases, count_release)},
                 .more = 1};
    acu_policy *policy;
    assert_fails(acu_policy_create(device, &options.known, &policy), ACU_ERR_NOT_SUPPORTED,
                 "acu_policy_create");
    assert_int_equal(releases, 1);
    options.known.size = sizeof options.known;
    options.known.streams = 1000;
    assert_fails(acu_policy_create(device, &options.known, &policy), ACU_ERR_INVALID, "1000");
    assert_int_equal(releases, 2);
    finish(device);
}

static void may_neither_wait_nor_submit(acu_policy_fn fn)
{
    acu_device *device = test_open();
    chooser c = {.device = device};
    assert_works(acu_submit(device, acu_zeros(ACU_F32, VECTOR), NULL, &c.future));
    acu_policy *policy;
    acu_policy_options options = {.size = sizeof options, .choose = choose, .user = ACU_USER(&c)};
    assert_works(acu_policy_create(device, &options, &c.other));
    options.choose = fn;
    assert_works(acu_policy_create(device, &options, &policy));
    acu_submit_options submit = {.size = sizeof submit, .policy = policy};
    assert_works(acu_submit(device, acu_zeros(ACU_F32, VECTOR), &submit, NULL));
    assert_int_equal(c.wait, ACU_ERR_IN_CALLBACK);
    assert_int_equal(c.submit, ACU_ERR_IN_CALLBACK);
    acu_policy_release(policy);
    acu_policy_release(c.other);
    acu_future_release(c.future);
    finish(device);
}

static void it_may_neither_wait_nor_submit(void **state)
{
    (void)state;
    may_neither_wait_nor_submit(misuse);
    may_neither_wait_nor_submit(misuse_after_another);
}

static void on_a_runtime_thread(void **state)
{
    (void)state;
    acu_open_options open = test_options(0);
    open.runtime_thread = true;
    acu_device *device;
    assert_works(acu_open(&open, &device));
    chooser c = {.place = 1};
    acu_policy *policy;
    acu_policy_options options = {
        .size = sizeof options, .choose = choose, .user = ACU_USER(&c), .streams = 2};
    assert_works(acu_policy_create(device, &options, &policy));
    acu_submit_options submit = {.size = sizeof submit, .policy = policy};
    acu_future *future;
    atomic_store(&asked, 0);
    assert_works(acu_submit(device, acu_zeros(ACU_F32, VECTOR), &submit, &future));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_int_equal(atomic_load(&asked), 1);
    acu_future_release(future);
    acu_policy_release(policy);
    finish(device);
}

/* A stream that is held up gets no more work. */
static void the_least_loaded_is_chosen(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *x = make(device), *y = make(device);
    acu_stream *streams[2];
    for (int i = 0; i < 2; i++)
        assert_works(acu_stream_create(device, 0, &streams[i]));
    acu_policy *policy;
    acu_policy_options options = {
        .size = sizeof options, .order = ACU_LEAST_LOADED, .given = streams, .given_count = 2};
    assert_works(acu_policy_create(device, &options, &policy));
    acu_submit_options submit = {.size = sizeof submit, .policy = policy};
    acu_submit_options first = {.size = sizeof first, .stream = streams[1]};
    test_gate_close(device, acu_stream_raw(streams[1]));
    acu_future *held;
    assert_works(acu_submit(device, looking(x), &first, &held));
    for (int i = 0; i < 5; i++)
        assert_ptr_equal(stream_of(device, looking(y), &submit), acu_stream_raw(streams[0]));
    test_gate_open();
    assert_works(acu_future_wait(held, ACU_FOREVER));
    acu_future_release(held);
    acu_policy_release(policy);
    acu_stream_release(streams[0]);
    acu_stream_release(streams[1]);
    acu_tensor_release(x);
    acu_tensor_release(y);
    finish(device);
}

static acu_op *branches(acu_tensor *const *x)
{
    return acu_zip(acu_fill(x[0], acu_f32(1)), acu_fill(x[1], acu_f32(2)),
                   acu_fill(x[2], acu_f32(3)));
}

static uint64_t events_of_one(acu_device *device, acu_tensor *const *x, acu_policy *policy)
{
    acu_submit_options options = {.size = sizeof options, .policy = policy};
    acu_future *future;
    acu_driver_count_calls(true);
    assert_works(acu_submit(device, branches(x), &options, &future));
    uint64_t events = acu_driver_calls(ACU_CALL_EventRecord);
    acu_driver_count_calls(false);
    assert_works(acu_future_wait(future, ACU_FOREVER));
    acu_future_release(future);
    return events;
}

/* The number of events that a submission of three branches records: the least of several tries,
 * since calls of all threads are counted, and earlier work may be marked meanwhile. */
static uint64_t events_of(acu_device *device, acu_tensor *const *x, acu_policy *policy)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 8; i++) {
        uint64_t events = events_of_one(device, x, policy);
        least = events < least ? events : least;
    }
    return least;
}

static void with_one_stream_branches_run_in_order(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *x[3] = {make(device), make(device), make(device)};
    acu_policy *single, *choosing;
    chooser c = {.place = 0};
    acu_policy_options options = {
        .size = sizeof options, .choose = choose, .user = ACU_USER(&c), .streams = 1};
    assert_works(acu_policy_single(device, NULL, &single));
    assert_works(acu_policy_create(device, &options, &choosing));
    assert_true(events_of_one(device, x, NULL) > 1); /* first: later it might be a graph */
    assert_int_equal(events_of(device, x, single), 1); /* only the mark: nothing to fork and join */
    assert_int_equal(events_of(device, x, choosing), 1);
    acu_policy_release(single);
    acu_policy_release(choosing);
    for (int i = 0; i < 3; i++)
        acu_tensor_release(x[i]);
    finish(device);
}

static void a_given_stream_joins_all_branches(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *x[3] = {make(device), make(device), make(device)};
    acu_stream *stream;
    assert_works(acu_stream_create(device, 0, &stream));
    acu_submit_options options = {.size = sizeof options, .stream = stream};
    acu_future *future;
    assert_works(acu_submit(device, branches(x), &options, &future));
    /* Work placed by hand behind it on that stream finds all of it done. */
    float host[3][N];
    test_enter(device);
    for (int i = 0; i < 3; i++)
        assert_int_equal(acu_driver()->MemcpyDtoHAsync(host[i], acu_tensor_address(x[i]),
                                                       sizeof host[i], acu_stream_raw(stream)), 0);
    test_leave(device);
    assert_works(acu_stream_wait(stream, ACU_FOREVER));
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < N; k++)
            assert_true(host[i][k] == (float)(i + 1));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    acu_future_release(future);
    /* A submission that names the stream is launched there. */
    acu_tensor *result;
    assert_works(acu_sync_on(stream, looking(x[0]), NULL));
    assert_ptr_equal(atomic_load(&seen), acu_stream_raw(stream));
    assert_works(acu_sync_on(stream, acu_zip(acu_dup(x[2]), branches(x)), &result));
    float got[N];
    assert_works(acu_read_sync(result, got, sizeof got));
    assert_true(got[0] == 3.0f);
    acu_tensor_release(result);
    acu_stream_release(stream);
    for (int i = 0; i < 3; i++)
        acu_tensor_release(x[i]);
    finish(device);
}

/* What it chooses may be a stream that the program is capturing: then nothing is submitted. */
static void what_is_captured_is_refused_when_submitted(void **state)
{
    (void)state;
    acu_device *device = test_open();
    const acu_driver_table *cu = acu_driver();
    acu_tensor *x = make(device);
    acu_stream *stream;
    acu_policy *policy;
    acu_future *future;
    CUgraph graph;
    size_t nodes = 1;
    float got[N];
    assert_works(acu_stream_create(device, 0, &stream));
    assert_works(acu_policy_single(device, stream, &policy));
    acu_submit_options options = {.size = sizeof options, .policy = policy};
    acu_graph_options serial = {.size = sizeof serial, .policy = policy};
    acu_graph *replayed;
    test_enter(device);
    assert_int_equal(cu->StreamBeginCapture(acu_stream_raw(stream),
                                            ACU_CU_STREAM_CAPTURE_MODE_RELAXED), 0);
    assert_fails(acu_submit(device, acu_fill(x, acu_f32(1)), &options, NULL), ACU_ERR_CAPTURE,
                 "acu_submit: |capturing this stream");
    assert_works(acu_schedule(policy, acu_fill(x, acu_f32(2)), &future));
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), ACU_ERR_CAPTURE);
    acu_future_release(future);
    assert_works(acu_graph_load(device, acu_fill(x, acu_f32(4)), &serial, &replayed));
    acu_graph_release(replayed); /* it is not for that stream only */
    assert_works(acu_read_sync(x, got, sizeof got));
    assert_true(got[0] == 0.0f);
    assert_int_equal(cu->StreamEndCapture(acu_stream_raw(stream), &graph), 0);
    assert_int_equal(cu->GraphGetNodes(graph, NULL, &nodes), 0);
    assert_int_equal(nodes, 0);
    assert_int_equal(cu->GraphDestroy(graph), 0);
    test_leave(device);
    assert_works(acu_submit(device, acu_fill(x, acu_f32(3)), &options, NULL));
    assert_works(acu_read_sync(x, got, sizeof got));
    assert_true(got[0] == 3.0f);
    acu_policy_release(policy);
    acu_stream_release(stream);
    acu_tensor_release(x);
    finish(device);
}

/* A policy is for its own device: other devices choose streams for their parts of the op
 * themselves. */
static void other_devices_choose_themselves(void **state)
{
    (void)state;
    acu_device *devices[2];
    test_open_n(devices, 2);
    acu_tensor *far = make(devices[1]);
    acu_policy *policy;
    acu_stream *stream;
    assert_works(acu_stream_create(devices[0], 0, &stream));
    assert_works(acu_policy_single(devices[0], stream, &policy));
    acu_submit_options options = {.size = sizeof options, .policy = policy};
    assert_ptr_not_equal(stream_of(devices[0], looking(far), &options), acu_stream_raw(stream));
    acu_policy_release(policy);
    acu_stream_release(stream);
    acu_tensor_release(far);
    test_close(devices[1]);
    finish(devices[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_program_chooses),
        cmocka_unit_test(what_is_refused_is_released),
        cmocka_unit_test(it_may_neither_wait_nor_submit),
        cmocka_unit_test(on_a_runtime_thread),
        cmocka_unit_test(the_least_loaded_is_chosen),
        cmocka_unit_test(with_one_stream_branches_run_in_order),
        cmocka_unit_test(a_given_stream_joins_all_branches),
        cmocka_unit_test(what_is_captured_is_refused_when_submitted),
        cmocka_unit_test(other_devices_choose_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
