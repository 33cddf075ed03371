/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Devices with a runtime thread: submitting stays out of the driver, submissions are ordered as
 * they were handed over, and everything else is as on other devices.
 */
#include "support/support.h"

#include <acuda/statistics.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { N = 64, RING = 1024 };
#define VECTOR ACU_SHAPE(N)

static acu_device *open_one(int ordinal, bool runtime_thread)
{
    acu_open_options options = test_options(ordinal);
    options.runtime_thread = runtime_thread;
    acu_device *device = NULL;
    assert_works(acu_open(&options, &device));
    return device;
}

static acu_device *open_runtime(void)
{
    return open_one(0, true);
}

static void need_devices(int want)
{
    acu_open_options options = test_options(0);
    int have = 0;
    assert_works(acu_device_count_load(&options, &have));
    if (have < want)
        skip();
}

static void finish(acu_device *device)
{
    test_close(device);
    test_leaks_none();
}

static acu_op *constant(int32_t value)
{
    return acu_full(VECTOR, acu_i32(value));
}

static void holds(acu_tensor *tensor, int32_t want)
{
    int32_t x[N];
    assert_works(acu_read_sync(tensor, x, sizeof x));
    for (int i = 0; i < N; i++)
        assert_int_equal(x[i], want);
}

static void wait_and_drop(acu_future *future)
{
    assert_works(acu_future_wait(future, ACU_FOREVER));
    acu_future_release(future);
}

/* ---- holding the runtime thread up, in a `then` ---- */

/* Returns once the device's thread is inside the `then`, where it stays until
 * test_host_gate_open. */
static void hold_thread(acu_device *device)
{
    test_host_gate_close();
    assert_works(acu_submit(device, acu_then(constant(0), test_plan_behind_host_gate, NULL), NULL,
                            NULL));
    test_host_gate_await();
}

/* ---- the caller's side ---- */

static void submits_and_waits(void **state)
{
    (void)state;
    acu_device *device = open_runtime();
    acu_future *future = test_submit(device, acu_zip(constant(3), acu_scalar(acu_u8(200))));
    assert_int_equal(acu_future_values(future), 2); /* waits until it is planned */
    assert_works(acu_future_planned(future));
    acu_tensor *x = acu_future_tensor(future, 0);
    assert_non_null(x);
    acu_dtype dtype;
    uint64_t bits;
    assert_works(acu_future_scalar(future, 1, &dtype, &bits));
    assert_int_equal(bits, 200);
    acu_tensor *sum = NULL;
    assert_works(acu_sync(device, acu_dup(x), &sum));
    holds(sum, 3);
    acu_tensor_release(sum);
    while (acu_future_poll(future) == ACU_NOT_READY) { /* polling alone gets there */
    }
    wait_and_drop(future);
    finish(device);
}

static uint64_t all_calls(void)
{
    uint64_t n = 0;
    for (int call = 0; call < ACU_CALL_COUNT; call++)
        n += acu_driver_calls((acu_driver_call)call);
    return n;
}

static void submitting_calls_no_driver(void **state)
{
    (void)state;
    acu_device *device = open_runtime();
    acu_tensor *x = NULL;
    assert_works(acu_sync(device, constant(1), &x));
    acu_stream *stream;
    assert_works(acu_stream_create(device, 0, &stream));
    hold_thread(device);
    test_threads_rest();
    acu_driver_count_calls(true);
    acu_submit_options options = {.size = sizeof options, .stream = stream, .name = "on a stream"};
    acu_future *futures[8];
    for (int i = 0; i < 8; i++)
        assert_works(acu_submit(device, acu_fill(x, acu_i32(i)), i % 2 ? &options : NULL,
                                &futures[i]));
    assert_int_equal(all_calls(), 0);
    assert_int_equal(acu_future_planned(futures[0]), ACU_NOT_READY);
    assert_int_equal(acu_future_poll(futures[7]), ACU_NOT_READY);
    assert_int_equal(acu_stream_poll(stream), ACU_NOT_READY);
    assert_int_equal(acu_device_wait(device, 0), ACU_TIMEOUT);
    assert_int_equal(all_calls(), 0);
    acu_driver_count_calls(false);
    test_host_gate_open();
    for (int i = 0; i < 8; i++)
        wait_and_drop(futures[i]);
    assert_works(acu_stream_wait(stream, ACU_FOREVER));
    holds(x, 7);
    acu_tensor_release(x);
    acu_stream_release(stream);
    finish(device);
}

static void full_ring(void **state)
{
    (void)state;
    acu_device *device = open_runtime();
    acu_tensor *x = NULL;
    assert_works(acu_sync(device, constant(1), &x));
    hold_thread(device);
    for (int i = 0; i < RING; i++)
        assert_works(acu_submit(device, acu_fill(x, acu_i32(i)), NULL, NULL));
    acu_future *none = NULL;
    acu_op *op = acu_fill(x, acu_i32(-1));
    assert_fails(acu_submit(device, op, NULL, &none), ACU_ERR_FULL, "1024 submissions");
    assert_null(none);
    assert_fails(acu_sync(device, op, NULL), ACU_ERR_FULL, "1024 submissions");
    double number;
    assert_fails(acu_read_f64_wait(device, x, &number), ACU_ERR_FULL, "1024 submissions");
    test_host_gate_open();
    assert_works(acu_device_wait(device, ACU_FOREVER));
    holds(x, RING - 1);
    wait_and_drop(test_submit(device, op)); /* there is room again, and it is still the program's */
    holds(x, -1);
    acu_tensor_release(x);
    finish(device);
}

/* ---- failures ---- */

static acu_status refuse(void *user, acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_ERR_INVALID;
}

static _Atomic(int) released;

static void count_release(void *user)
{
    (void)user;
    atomic_fetch_add(&released, 1);
}

static void planning_errors_arrive(void **state)
{
    (void)state;
    acu_device *device = open_runtime();
    atomic_store(&released, 0);
    acu_op *op = acu_op_map(constant(1), refuse, ACU_USER(NULL, count_release), ACU_SITE);
    acu_future *future = test_submit(device, op);
    acu_tensor *x = NULL;
    assert_fails(acu_future_wait(future, ACU_FOREVER), ACU_ERR_CALLBACK, "acu_map|ACU_ERR_INVALID");
    assert_int_equal(acu_future_values(future), 0);
    assert_null(acu_future_tensor(future, 0));
    assert_fails(acu_future_take(future, 0, &x), ACU_ERR_CALLBACK, "acu_map");
    acu_error error = {0};
    assert_int_equal(acu_future_error(future, &error), ACU_ERR_CALLBACK);
    acu_future_release(future);
    assert_works(acu_submit(device, NULL, NULL, NULL)); /* without a future, nobody learns of it */
    assert_fails(acu_sync(device, NULL, &x), ACU_ERR_INVALID, "NULL");
    assert_int_equal(atomic_load(&released), 1);
    finish(device);
}

/* ---- what a record says of work that was not planned ---- */

/* The record of work that ends before the device's thread, which is held up, comes to it. */
static acu_error record_of(acu_future *future, acu_status want)
{
    acu_error error = {0};
    if (want == ACU_ERR_CANCELLED)
        assert_works(acu_future_cancel(future));
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), want);
    assert_int_equal(acu_future_error(future, &error), want);
    assert_non_null(error.file);
    assert_non_null(strstr(error.file, "test_runtime.c"));
    acu_future_release(future);
    return error;
}

static void says(const acu_error *error, const char *op, int line, const char *context)
{
    assert_string_equal(error->op, op);
    assert_int_equal(error->line, line);
    assert_string_equal(error->context, context);
}

static void cancelled_ones_say_where_they_are_from(void **state)
{
    static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                              ".visible .entry nothing(.param .u64 x)\n{\n ret;\n}\n";
    (void)state;
    acu_device *device = open_runtime();
    acu_kernel *kernel = test_kernel(device, ptx, "nothing");
    acu_tensor *x;
    assert_works(acu_sync(device, constant(1), &x));
    hold_thread(device);
    int line = __LINE__ + 1;
    acu_op *op = acu_launch(kernel, ACU_GRID_BLOCK(1, 1, 1, 1, 1, 1), acu_inout(x));
    acu_error error = record_of(test_submit(device, acu_own(acu_first(op))), ACU_ERR_CANCELLED);
    says(&error, "nothing", line, "");
    line = __LINE__ + 1;
    op = acu_op_named(acu_fill(x, acu_i32(2)), "clear");
    op = acu_with_context(acu_first(acu_with_context(op, "layer 3")), "step 7");
    acu_op *kept = acu_op_retain(op);
    error = record_of(test_submit(device, op), ACU_ERR_CANCELLED); /* it may be in use elsewhere */
    assert_string_equal(error.op, "context");
    acu_op_release(kept);
    line = __LINE__ + 1;
    op = acu_op_named(acu_fill(x, acu_i32(2)), "clear");
    op = acu_with_context(acu_first(acu_with_context(op, "layer 3")), "step 7");
    error = record_of(test_submit(device, op), ACU_ERR_CANCELLED);
    says(&error, "clear", line, "step 7: layer 3");
    acu_submit_options options = {.size = sizeof options, .name = "request"};
    acu_future *future;
    line = __LINE__ + 1;
    assert_works(acu_submit(device, acu_fill(x, acu_i32(3)), &options, &future));
    error = record_of(future, ACU_ERR_CANCELLED);
    says(&error, "request", line, "");
    test_host_gate_open();
    acu_tensor_release(x);
    acu_kernel_release(kernel);
    finish(device);
}

/* Whoever submits behind it can not know whether the thread had come to it. */
static void readers_of_cancelled_ones_learn_of_it(void **state)
{
    (void)state;
    acu_device *device = open_runtime();
    acu_tensor *x, *y = NULL;
    int32_t read[N];
    assert_works(acu_sync(device, constant(1), &x));
    hold_thread(device);
    acu_future *future = test_submit(device, acu_fill(x, acu_i32(2)));
    assert_works(acu_future_cancel(future));
    acu_future *reader = test_submit(device, acu_dup(x));
    test_host_gate_open();
    assert_fails(acu_future_wait(reader, ACU_FOREVER), ACU_ERR_DEPENDENCY, "cancelled");
    assert_fails(acu_read_sync(x, read, sizeof read), ACU_ERR_DEPENDENCY, "cancelled");
    assert_fails(acu_future_wait(future, ACU_FOREVER), ACU_ERR_CANCELLED, "cancelled");
    assert_works(acu_sync(device, acu_fill(x, acu_i32(3)), NULL));
    assert_works(acu_sync(device, acu_dup(x), &y));
    holds(y, 3);
    acu_future_release(reader);
    acu_future_release(future);
    acu_tensor_release(x);
    acu_tensor_release(y);
    finish(device);
}

static void late_ones_say_where_they_are_from(void **state)
{
    (void)state;
    acu_device *device = open_runtime();
    acu_submit_options options = {.size = sizeof options, .name = "request", .timeout = 1};
    acu_future *future;
    hold_thread(device);
    const int line = __LINE__ + 1;
    assert_works(acu_submit(device, acu_full(VECTOR, acu_i32(1)), &options, &future));
    acu_error error = record_of(future, ACU_ERR_DEADLINE);
    says(&error, "request", line, "");
    test_host_gate_open();
    finish(device);
}

static void refused_ones_say_where_they_are_from(void **state)
{
    (void)state;
    acu_device *device = open_runtime();
    acu_stream *stream;
    assert_works(acu_stream_create(device, 0, &stream));
    acu_submit_options options = {.size = sizeof options, .stream = stream};
    acu_future *future;
    hold_thread(device);
    const int line = __LINE__ + 1;
    acu_op *op = acu_with_context(acu_op_named(acu_full(VECTOR, acu_i32(1)), "ones"), "step 7");
    assert_works(acu_submit(device, op, &options, &future));
    test_enter(device);
    assert_int_equal(acu_driver()->StreamBeginCapture(acu_stream_raw(stream),
                                                      ACU_CU_STREAM_CAPTURE_MODE_RELAXED), 0);
    test_host_gate_open();
    acu_error error = record_of(future, ACU_ERR_CAPTURE);
    says(&error, "ones", line, "step 7");
    CUgraph graph;
    assert_int_equal(acu_driver()->StreamEndCapture(acu_stream_raw(stream), &graph), 0);
    assert_int_equal(acu_driver()->GraphDestroy(graph), 0);
    test_leave(device);
    acu_stream_release(stream);
    finish(device);
}

static void dropped_at_once(void **state)
{
    (void)state;
    acu_device *device = open_runtime();
    atomic_store(&released, 0);
    for (int i = 0; i < 100; i++) {
        acu_op *op = acu_op_map(constant(i), refuse, ACU_USER(NULL, count_release), ACU_SITE);
        acu_future_release(test_submit(device, acu_zip(op, constant(1))));
        acu_future_release(test_submit(device, acu_zip(constant(2), constant(1))));
    }
    finish(device); /* which waits for all of it */
    assert_int_equal(atomic_load(&released), 100);
}

/* Its values become known after it was dropped: nobody gets them. */
static void dropped_before_it_is_planned(void **state)
{
    (void)state;
    acu_device *device = open_runtime();
    acu_stream *stream;
    acu_tensor *x = NULL;
    assert_works(acu_stream_create(device, 0, &stream));
    assert_works(acu_sync(device, constant(1), &x));
    acu_submit_options on_stream = {.size = sizeof on_stream, .stream = stream};
    acu_future *dropped = NULL;
    hold_thread(device);
    test_gate_close(device, acu_stream_raw(stream)); /* it is planned, but not over */
    assert_works(acu_submit(device, acu_fill(x, acu_i32(2)), &on_stream, &dropped));
    acu_future_release(dropped);
    test_host_gate_open();
    acu_future *owned = test_submit(device, acu_own(acu_give(x)));
    assert_int_equal(acu_future_values(owned), 1);
    test_gate_open();
    holds(acu_future_tensor(owned, 0), 2);
    acu_future_release(owned);
    acu_stream_release(stream);
    finish(device);
}

/* ---- callbacks ---- */

typedef struct later {
    acu_future *future;
    acu_status status;
} later;

static acu_op *ask_later(void *user, acu_val *values, size_t count)
{
    later *l = user;
    (void)count;
    acu_op *op = test_plan_behind_host_gate(NULL, values, 0);
    bool none = acu_future_tensor(l->future, 0) == NULL;
    l->status = none ? acu_last_error()->status : ACU_OK;
    return op;
}

/* A `then` can not wait for a submission that is planned after it. */
static void values_refused_in_then(void **state)
{
    (void)state;
    acu_device *device = open_runtime();
    static later l;
    test_host_gate_close();
    acu_future *first = test_submit(device, acu_then(constant(1), ask_later, &l));
    l.future = test_submit(device, constant(2));
    test_host_gate_open();
    wait_and_drop(first);
    assert_int_equal(l.status, ACU_ERR_IN_CALLBACK);
    wait_and_drop(l.future);
    finish(device);
}

typedef struct nested {
    acu_device *device;
    acu_tensor *x;
} nested;

static acu_op *submit_inside(void *user, acu_val *values, size_t count)
{
    nested *n = user;
    (void)values, (void)count;
    assert_works(acu_submit(n->device, acu_fill(n->x, acu_i32(5)), NULL, NULL));
    return acu_dup(n->x);
}

static void then_submits(void **state)
{
    (void)state;
    acu_device *device = open_runtime();
    nested n = {.device = device};
    assert_works(acu_sync(device, constant(1), &n.x));
    acu_future *outer = test_submit(device, acu_then(constant(2), submit_inside, &n));
    acu_future *behind = test_submit(device, acu_fill(n.x, acu_i32(6)));
    acu_tensor *seen = NULL;
    assert_works(acu_future_take(outer, 0, &seen));
    holds(seen, 5);
    holds(n.x, 6);
    wait_and_drop(outer);
    wait_and_drop(behind);
    acu_tensor_release(seen);
    acu_tensor_release(n.x);
    finish(device);
}

enum { CHAIN = 50 };
static _Atomic(int) links;
static acu_device *chain_device;

static void go_on(void *user, acu_future *future, acu_status status)
{
    (void)user;
    assert_int_equal(status, ACU_OK);
    assert_non_null(acu_future_tensor(future, 0)); /* it is complete */
    if (atomic_fetch_add(&links, 1) + 1 == CHAIN)
        return;
    acu_future *next = test_submit(chain_device, constant(1));
    assert_works(acu_future_when_complete(next, NULL, 0, go_on, ACU_USER(NULL)));
    acu_future_release(next);
}

/* What callbacks hand over while the last device closes is finished too. */
static void chain_of_callbacks(void **state)
{
    (void)state;
    chain_device = open_runtime();
    atomic_store(&links, 0);
    acu_future *future = test_submit(chain_device, constant(1));
    assert_works(acu_future_when_complete(future, NULL, 0, go_on, ACU_USER(NULL)));
    acu_future_release(future);
    finish(chain_device);
    assert_int_equal(atomic_load(&links), CHAIN);
}

/* ---- order ---- */

static void order_of_one_thread(void **state)
{
    (void)state;
    acu_device *device = open_runtime();
    acu_tensor *x = NULL;
    assert_works(acu_sync(device, constant(0), &x));
    for (int round = 0; round < 20; round++) {
        acu_future *seen[16];
        for (int i = 0; i < 16; i++) {
            assert_works(acu_submit(device, acu_fill(x, acu_i32(i)), NULL, NULL));
            seen[i] = test_submit(NULL, acu_dup(x)); /* the default device is this one */
        }
        for (int i = 0; i < 16; i++) {
            holds(acu_future_tensor(seen[i], 0), i);
            acu_future_release(seen[i]);
        }
    }
    acu_tensor_release(x);
    finish(device);
}

static void scheduled(void **state)
{
    (void)state;
    acu_device *device = open_runtime();
    acu_policy *policy;
    assert_works(acu_policy_single(device, NULL, &policy));
    acu_future *future, *other;
    assert_works(acu_schedule(policy, constant(9), &future));
    assert_works(acu_schedule(policy, constant(1), &other));
    holds(acu_future_tensor(future, 0), 9);
    wait_and_drop(future);
    acu_future_release(other); /* never starts */
    acu_policy_release(policy);
    finish(device);
}

/* A device without a runtime thread, whose op reads what is only handed over on the other. */
static void direct_behind_handed(void **state)
{
    (void)state;
    need_devices(2);
    acu_device *a = open_one(0, true), *b = open_one(1, false);
    acu_tensor *x = NULL;
    assert_works(acu_sync(a, constant(1), &x));
    hold_thread(a);
    assert_works(acu_submit(a, acu_fill(x, acu_i32(2)), NULL, NULL));
    acu_future *copy = test_submit(b, acu_to_device(b, x));
    assert_int_equal(acu_future_planned(copy), ACU_NOT_READY);
    test_host_gate_open();
    holds(acu_future_tensor(copy, 0), 2);
    wait_and_drop(copy);
    wait_and_drop(test_submit(b, constant(4))); /* nothing is in the way: direct */
    acu_tensor_release(x);
    assert_works(acu_close(b));
    finish(a);
}

/* One thread hands work on the same data over to two devices in turn. */
static void order_across_devices(void **state)
{
    (void)state;
    need_devices(2);
    acu_device *devices[2] = {open_one(0, true), open_one(1, true)};
    acu_tensor *x[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++)
        assert_works(acu_sync(devices[i], constant(0), &x[i]));
    for (int i = 1; i <= 100; i++) {
        int from = i & 1, to = !from;
        assert_works(acu_submit(devices[from], acu_fill(x[from], acu_i32(i)), NULL, NULL));
        assert_works(acu_submit(devices[to], acu_copy(x[to], x[from]), NULL, NULL));
        if (i % 10 == 0)
            holds(x[to], i);
    }
    holds(x[0], 100);
    holds(x[1], 100);
    /* The other device's thread is held up: submissions that come later wait, even if they do not
     * concern that device. */
    hold_thread(devices[0]);
    assert_works(acu_submit(devices[0], acu_fill(x[1], acu_i32(7)), NULL, NULL));
    acu_future *behind = test_submit(devices[1], acu_dup(x[1]));
    assert_int_equal(acu_future_planned(behind), ACU_NOT_READY);
    test_host_gate_open();
    holds(acu_future_tensor(behind, 0), 7);
    wait_and_drop(behind);
    acu_tensor_release(x[0]);
    acu_tensor_release(x[1]);
    assert_works(acu_close(devices[1]));
    finish(devices[0]);
}

enum { THREADS = 4, ROUNDS = 60 };

typedef struct worker {
    acu_device *device[2];
    acu_tensor *shared;
    pthread_t thread;
} worker;

static void *submit_many(void *context)
{
    worker *w = context;
    acu_tensor *own = NULL;
    assert_works(acu_sync(w->device[0], constant(0), &own));
    for (int i = 1; i <= ROUNDS; i++) {
        acu_device *device = w->device[i % 3 == 0];
        acu_op *both = acu_zip(acu_fill(own, acu_i32(i)), acu_fill(w->shared, acu_i32(i)));
        acu_future_release(test_submit(w->device[0], both));
        acu_future *seen = test_submit(device, acu_zip(acu_to_host(own), acu_to_host(w->shared)));
        assert_works(acu_future_wait(seen, ACU_FOREVER));
        const int32_t *x = acu_tensor_host(acu_future_tensor(seen, 0));
        const int32_t *y = acu_tensor_host(acu_future_tensor(seen, 1));
        assert_int_equal(x[0], i);
        assert_int_equal(x[N - 1], i);
        assert_int_equal(y[0], y[N - 1]); /* one whole fill, of either thread */
        acu_future_release(seen);
    }
    acu_tensor_release(own);
    return NULL; /* with work in flight */
}

static void threads_and_devices(void **state)
{
    (void)state;
    acu_open_options options = test_options(0);
    int have = 0;
    assert_works(acu_device_count_load(&options, &have));
    acu_device *a = open_one(0, true), *b = have > 1 ? open_one(1, true) : NULL;
    acu_tensor *shared = NULL;
    assert_works(acu_sync(a, constant(0), &shared));
    worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.device = {a, b ? b : a}, .shared = shared};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, submit_many, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    holds(shared, ROUNDS);
    acu_tensor_release(shared);
    if (b)
        assert_works(acu_close(b));
    finish(a);
}

enum { DEVICES = 3, TENSORS = 6, MIXERS = 3, MIXED = 300 };

/* The expected result: submitting and updating it happen under one lock, so in the same order. */
static struct {
    pthread_mutex_t lock;
    acu_device *devices[DEVICES];
    int count;
    acu_tensor *tensors[TENSORS];
    int32_t values[TENSORS];
} mixed = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Holds its ring up a little, so that other rings get ahead. */
static acu_op *dawdle(void *user, acu_val *values, size_t count)
{
    static _Atomic(int) looked;
    (void)user, (void)count;
    for (int i = 0; i < 20000; i++)
        atomic_fetch_add_explicit(&looked, 1, memory_order_relaxed);
    return acu_op_take(&values[0], ACU_SITE);
}

static void *mix(void *context)
{
    test_random random = {.state = (uintptr_t)context};
    for (int i = 0; i < MIXED; i++) {
        pthread_mutex_lock(&mixed.lock);
        uint64_t to = test_below(&random, TENSORS), from = test_below(&random, TENSORS);
        acu_device *device = mixed.devices[test_below(&random, (uint64_t)mixed.count)];
        acu_op *op;
        if (to == from || test_below(&random, 3) == 0) {
            mixed.values[to] = (int32_t)test_below(&random, 1000000);
            op = acu_value(mixed.tensors[to]);
            if (test_below(&random, 3) == 0)
                op = acu_then(op, dawdle, NULL);
            op = acu_fill(op, acu_i32(mixed.values[to]));
        } else {
            mixed.values[to] = mixed.values[from];
            op = acu_copy(mixed.tensors[to], mixed.tensors[from]);
        }
        assert_works(acu_submit(test_below(&random, 8) ? device : NULL, op, NULL, NULL));
        pthread_mutex_unlock(&mixed.lock);
    }
    return NULL;
}

/* Whatever threads, devices and modes are involved, submissions take effect in the order in which
 * they are submitted. */
static void mix_modes(unsigned modes)
{
    pthread_t threads[MIXERS];
    acu_open_options options = test_options(0);
    assert_works(acu_device_count_load(&options, &mixed.count));
    mixed.count = mixed.count < DEVICES ? mixed.count : DEVICES;
    for (int i = 0; i < mixed.count; i++)
        mixed.devices[i] = open_one(i, modes >> i & 1);
    for (int i = 0; i < TENSORS; i++) {
        mixed.values[i] = 0;
        assert_works(acu_sync(mixed.devices[i % mixed.count], constant(0), &mixed.tensors[i]));
    }
    for (uintptr_t i = 0; i < MIXERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, mix, (void *)(8 * modes + i + 1)), 0);
    for (int i = 0; i < MIXERS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < TENSORS; i++) {
        holds(mixed.tensors[i], mixed.values[i]);
        acu_tensor_release(mixed.tensors[i]);
    }
    for (int i = mixed.count; i-- > 0;)
        test_close(mixed.devices[i]);
    test_leaks_none();
}

static void modes_mixed(void **state)
{
    (void)state;
    for (unsigned modes = 0; modes < 1u << DEVICES; modes++)
        mix_modes(modes);
}

/* ---- the mode itself ---- */

static void mode_is_fixed_at_open(void **state)
{
    (void)state;
    acu_device *device = open_one(0, false), *again = NULL;
    acu_open_options options = test_options(0);
    options.runtime_thread = true;
    assert_fails(acu_open(&options, &again), ACU_ERR_BUSY, "without a runtime thread");
    finish(device);
    device = open_one(0, true);
    again = open_one(0, false); /* does not say that it may have none */
    assert_ptr_equal(again, device);
    test_close(again);
    wait_and_drop(test_submit(device, constant(1)));
    finish(device);
}

static void on_one_core(void **state)
{
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &before))
            CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    order_of_one_thread(state);
    full_ring(state);
    chain_of_callbacks(state);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(submits_and_waits),      cmocka_unit_test(submitting_calls_no_driver),
        cmocka_unit_test(full_ring),              cmocka_unit_test(planning_errors_arrive),
        cmocka_unit_test(cancelled_ones_say_where_they_are_from),
        cmocka_unit_test(readers_of_cancelled_ones_learn_of_it),
        cmocka_unit_test(late_ones_say_where_they_are_from),
        cmocka_unit_test(refused_ones_say_where_they_are_from),
        cmocka_unit_test(dropped_at_once),
        cmocka_unit_test(dropped_before_it_is_planned),
        cmocka_unit_test(values_refused_in_then),
        cmocka_unit_test(then_submits),           cmocka_unit_test(chain_of_callbacks),
        cmocka_unit_test(order_of_one_thread),    cmocka_unit_test(scheduled),
        cmocka_unit_test(direct_behind_handed),   cmocka_unit_test(order_across_devices),
        cmocka_unit_test(threads_and_devices),    cmocka_unit_test(modes_mixed),
        cmocka_unit_test(mode_is_fixed_at_open),
        cmocka_unit_test(on_one_core),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
