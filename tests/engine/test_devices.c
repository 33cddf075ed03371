/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * One composition over several devices, and submissions behind work that has not been issued yet:
 * operations that depend on each other run in order, others are not held up, failures are passed
 * on, and nobody blocks.
 */
#include "support/support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { N = 256 };
#define VECTOR ACU_SHAPE(N)

/* ---- helpers ---- */

static _Atomic(int) turn;

static acu_status note(void *user, const acu_val *values, size_t count)
{
    (void)values, (void)count;
    *(int *)user = atomic_fetch_add(&turn, 1) + 1;
    return ACU_OK;
}

/* When it is enqueued. */
static acu_status note_enqueued(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)stream;
    return note(user, values, count);
}

static acu_op *noting(int *place, acu_arg x)
{
    return acu_op_foreign(note_enqueued, ACU_USER(place), ACU_ARGS(x), ACU_SITE);
}

static acu_status pass_gate(void *user, const acu_val *values, size_t count)
{
    test_pass_host_gate(user, values, count);
    float *x = acu_tensor_host(values[0].tensor);
    for (int i = 0; i < N && count == 1; i++)
        x[i] += 1;
    return ACU_OK;
}

static acu_op *constant(float value)
{
    return acu_full(VECTOR, acu_f32(value));
}

static acu_tensor *make(acu_device *device, float value)
{
    acu_tensor *tensor;
    assert_works(acu_sync(device, constant(value), &tensor));
    return tensor;
}

/* x plus one, on the host, once the gate is open: until then nothing behind it is issued. */
static acu_op *later(acu_op *x)
{
    test_host_gate_close();
    return acu_host(pass_gate, NULL, acu_inout(acu_to_host(x)));
}

static void holds(acu_tensor *tensor, float want)
{
    float x[N];
    assert_works(acu_read_sync(tensor, x, sizeof x));
    for (int i = 0; i < N; i++)
        if (x[i] != want)
            fail_msg("element %d is %g, not %g", i, (double)x[i], (double)want);
}

static void ends(acu_future *future, acu_status status)
{
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), status);
    acu_future_release(future);
}

static void open_two(acu_device **devices)
{
    test_open_n(devices, 2);
    atomic_store(&turn, 0);
}

static void close_two(acu_device **devices)
{
    acu_driver_fail_clear();
    test_close(devices[1]);
    test_close(devices[0]);
    test_leaks_none();
}

/* ---- several devices ---- */

static void one_composition_over_two_devices(void **state)
{
    (void)state;
    acu_device *devices[2];
    open_two(devices);
    /* A branch on each, from one input, joined on the first. */
    acu_op *x = acu_op_retain(constant(3));
    acu_op *here = acu_dup(x), *there = acu_on(devices[1], acu_dup(acu_to_device(devices[1], x)));
    acu_op *back = acu_to_device(devices[0], there);
    acu_future *future = test_submit(devices[0],
                                acu_zip(acu_copy(here, back), acu_zeros(ACU_F32, VECTOR)));
    holds(acu_future_tensor(future, 0), 3);
    holds(acu_future_tensor(future, 2), 0);
    ends(future, ACU_OK);
    /* There and back, several times. */
    acu_op *op = constant(5);
    for (int i = 0; i < 6; i++)
        op = acu_dup(acu_to_device(devices[(i + 1) % 2], op));
    acu_tensor *result;
    assert_works(acu_sync(devices[0], op, &result));
    holds(result, 5);
    acu_tensor_release(result);
    close_two(devices);
}

/* All of it is enqueued at submit, behind a stream that is held up: the devices wait for each
 * other, no thread does. */
static void order_between_devices_is_the_devices_own(void **state)
{
    (void)state;
    acu_device *devices[2];
    open_two(devices);
    acu_tensor *x = make(devices[0], 1), *y = make(devices[1], 2);
    acu_stream *stream;
    int there = 0, here = 0;
    assert_works(acu_stream_create(devices[0], 0, &stream));
    test_gate_close(devices[0], acu_stream_raw(stream));
    acu_submit_options options = {.size = sizeof options, .stream = stream};
    acu_op *filled = acu_fill(x, acu_f32(7));
    acu_op *copied = acu_first(acu_copy(y, filled));                   /* x to the other device */
    acu_op *op = acu_copy(x, noting(&there, acu_inout(acu_on(devices[1], copied)))); /* and back */
    acu_future *future;
    assert_works(acu_submit(devices[0], acu_zip(op, noting(&here, acu_in(x))), &options, &future));
    assert_true(there == 1 && here == 2);
    assert_int_equal(acu_future_poll(future), ACU_NOT_READY);
    test_gate_open();
    holds(y, 7);
    holds(x, 7);
    ends(future, ACU_OK);
    acu_stream_release(stream);
    acu_tensor_release(x);
    acu_tensor_release(y);
    close_two(devices);
}

/* Work on the other device that shares no data ends while this device is held up. */
static void independent_parts_overlap(void **state)
{
    (void)state;
    acu_device *devices[2];
    open_two(devices);
    acu_tensor *x = make(devices[0], 1), *y = make(devices[1], 2);
    acu_stream *stream;
    assert_works(acu_stream_create(devices[0], 0, &stream));
    test_gate_close(devices[0], acu_stream_raw(stream));
    acu_submit_options options = {.size = sizeof options, .stream = stream};
    acu_future *future;
    acu_op *both = acu_zip(acu_fill(x, acu_f32(3)), acu_fill(y, acu_f32(4)));
    assert_works(acu_submit(devices[0], both, &options, &future));
    holds(y, 4);
    assert_int_equal(acu_future_poll(future), ACU_NOT_READY);
    test_gate_open();
    ends(future, ACU_OK);
    holds(x, 3);
    acu_stream_release(stream);
    acu_tensor_release(x);
    acu_tensor_release(y);
    close_two(devices);
}

static void failures_cross_devices(void **state)
{
    (void)state;
    acu_device *devices[2];
    open_two(devices);
    acu_tensor *y = make(devices[1], 2);
    acu_driver_fault fault = {.size = sizeof fault, .call = ACU_CALL_MemsetD32Async, .nth = 1};
    assert_works(acu_driver_fail(&fault));
    acu_future *bad = test_submit(devices[0], constant(3));
    ends(test_submit(devices[1], acu_copy(y, acu_value(acu_future_tensor(bad, 0)))),
         ACU_ERR_DEPENDENCY);
    ends(test_submit(devices[1], acu_dup(y)), ACU_ERR_DEPENDENCY);
    ends(test_submit(devices[1], acu_fill(y, acu_f32(5))), ACU_OK);
    holds(y, 5);
    ends(bad, ACU_ERR_DRIVER);
    acu_tensor_release(y);
    close_two(devices);
}

/* ---- behind what has not been issued ---- */

static void a_chain_behind_what_is_not_issued(void **state)
{
    (void)state;
    acu_device *device = test_open();
    atomic_store(&turn, 0);
    acu_tensor *x = make(device, 1), *y = make(device, 0), *z = make(device, 0);
    int first = 0, then = 0, beside = 0;
    acu_future *futures[5];
    futures[0] = test_submit(device, acu_copy(x, later(acu_value(x))));
    futures[1] = test_submit(device, acu_zip(noting(&first, acu_in(x)), acu_copy(y, acu_value(x))));
    futures[2] = test_submit(device, acu_zip(noting(&then, acu_in(y)), acu_copy(z, acu_value(y))));
    futures[3] = test_submit(device, acu_fill(x, acu_f32(9))); /* writes what is still to be read */
    futures[4] = test_submit(device, noting(&beside, acu_u32(0)));
    assert_true(first == 0 && then == 0 && beside == 1);
    assert_int_equal(acu_future_poll(futures[3]), ACU_NOT_READY);
    test_host_gate_open();
    for (int i = 0; i < 5; i++)
        ends(futures[i], ACU_OK);
    assert_true(first == 2 && then == 3);
    holds(y, 2);
    holds(z, 2);
    holds(x, 9);
    acu_tensor_release(x);
    acu_tensor_release(y);
    acu_tensor_release(z);
    test_close(device);
    test_leaks_none();
}

static void also_on_another_device(void **state)
{
    (void)state;
    acu_device *devices[2];
    open_two(devices);
    acu_tensor *x = make(devices[0], 1), *y = make(devices[1], 0);
    int there = 0;
    acu_future *a = test_submit(devices[0], acu_copy(x, later(acu_value(x))));
    acu_future *b = test_submit(devices[1], acu_first(acu_copy(y, acu_value(x))));
    acu_future *c = test_submit(devices[1], noting(&there, acu_in(y)));
    assert_int_equal(there, 0);
    test_host_gate_open();
    ends(c, ACU_OK);
    ends(b, ACU_OK);
    ends(a, ACU_OK);
    holds(y, 2);
    acu_tensor_release(x);
    acu_tensor_release(y);
    close_two(devices);
}

/* Work is given up before it is issued: what comes behind it goes on, or fails if it reads the
 * missing data. */
static void behind_what_never_is(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *x = make(device, 1), *y = make(device, 0), *host;
    assert_works(acu_tensor_alloc_pinned(device, ACU_F32, VECTOR, &host));
    memset(acu_tensor_host(host), 0, N * sizeof(float));
    test_host_gate_close();
    acu_future *gate = test_submit(device, acu_host(pass_gate, NULL, acu_inout(host)));
    acu_future *never = test_submit(device, acu_copy(x, host));
    acu_future *reader = test_submit(device, acu_copy(y, x));
    acu_future *writer = test_submit(device, acu_fill(x, acu_f32(4)));
    assert_works(acu_future_cancel(never));
    test_host_gate_open();
    ends(never, ACU_ERR_CANCELLED);
    ends(reader, ACU_ERR_DEPENDENCY);
    ends(writer, ACU_OK);
    ends(gate, ACU_OK);
    holds(x, 4);
    acu_tensor_release(x);
    acu_tensor_release(y);
    acu_tensor_release(host);
    test_close(device);
    test_leaks_none();
}

/* ---- no stream on one of them ---- */

static size_t choose_none(void *user, const acu_policy_stream *streams, size_t count)
{
    (void)user, (void)streams;
    return count;
}

static acu_op *submit_inside(void *device, acu_val *values, size_t count)
{
    (void)count;
    assert_works(acu_submit(device, constant(1), NULL, NULL));
    return acu_take(&values[0]);
}

/* Tried when the function submits, and again at the end: nothing of the first time is left. */
static void no_stream_twice(void **state)
{
    (void)state;
    acu_device *devices[2];
    open_two(devices);
    acu_policy *policy;
    acu_policy_options none = {.size = sizeof none, .streams = 1, .choose = choose_none};
    assert_works(acu_policy_create(devices[1], &none, &policy));
    acu_tensor *x = make(devices[0], 1), *y = make(devices[1], 2);
    acu_submit_options options = {.size = sizeof options, .policy = policy};
    acu_op *both = acu_zip(acu_fill(x, acu_f32(3)), acu_fill(y, acu_f32(4)));
    assert_fails(acu_submit(devices[0], acu_then(both, submit_inside, devices[0]), &options, NULL),
                 ACU_ERR_CALLBACK, "chose stream");
    acu_tensor_release(x);
    acu_tensor_release(y);
    acu_policy_release(policy);
    close_two(devices);
}

static acu_op *ones(void)
{
    return acu_ones(ACU_F32, VECTOR);
}

/* Tensors that are made from nothing are made on the device of the submission, not on that of the
 * other parts. */
static void where_parts_are_without_a_device(void **state)
{
    (void)state;
    acu_device *devices[2];
    open_two(devices);
    acu_device *other = devices[0] == acu_device_default() ? devices[1] : devices[0];
    acu_tensor *x = make(other, 1), *made;
    acu_stream *stream;
    acu_future *future;
    assert_works(acu_sync(NULL, ones(), &made));
    assert_ptr_equal(acu_tensor_device(made), acu_device_default());
    acu_tensor_release(made);
    assert_works(acu_sync(NULL, acu_add(x, 1), &made)); /* where its tensor is */
    assert_ptr_equal(acu_tensor_device(made), other);
    acu_tensor_release(made);
    assert_works(acu_stream_create(other, 0, &stream));
    acu_submit_options options = {.size = sizeof options, .stream = stream};
    assert_works(acu_submit(NULL, acu_add(ones(), x), &options, &future));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    acu_future_release(future);
    assert_works(acu_sync(other, acu_add(x, ones()), NULL));
    assert_works(acu_sync(NULL, acu_add(x, acu_on(other, ones())), NULL));
    assert_fails(acu_sync(NULL, acu_add(x, ones()), NULL), ACU_ERR_DEVICE, "device 0|device 1");
    acu_stream_release(stream);
    acu_tensor_release(x);
    close_two(devices);
}

/* ---- threads that name the devices in opposite orders ---- */

enum { TURNS = 24 };

typedef struct both {
    acu_device *devices[2];
    acu_tensor *x[2]; /* one on each device */
    int first;        /* the one that this thread names first */
} both;

static acu_op *both_of(acu_op *a, acu_op *b, int first)
{
    return first == 0 ? acu_zip(a, b) : acu_zip(b, a);
}

/* Writes one number to both tensors, each time in one submission; then copies both in one, and the
 * copies agree: what the other thread writes comes before both or behind both. */
static void *write_both(void *user)
{
    both *b = user;
    for (int i = 0; i < TURNS; i++) {
        acu_arg value = acu_f32((float)(100 * b->first + i + 1));
        acu_future *written, *copied;
        assert_works(acu_submit(b->devices[b->first],
                                both_of(acu_on(b->devices[0], acu_fill(b->x[0], value)),
                                        acu_on(b->devices[1], acu_fill(b->x[1], value)), b->first),
                                NULL, &written));
        assert_works(acu_submit(b->devices[!b->first],
                                both_of(acu_on(b->devices[0], acu_dup(b->x[0])),
                                        acu_on(b->devices[1], acu_dup(b->x[1])), b->first),
                                NULL, &copied));
        float copies[2][N];
        for (size_t k = 0; k < 2; k++)
            assert_works(acu_read_sync(acu_future_tensor(copied, k), copies[k], sizeof copies[k]));
        for (int k = 0; k < N; k++)
            assert_float_equal(copies[0][k], copies[1][k], 0);
        acu_future_release(copied);
        ends(written, ACU_OK);
    }
    return NULL;
}

static void opposite_orders_neither_hang_nor_mix(void **state)
{
    (void)state;
    acu_device *devices[2];
    open_two(devices);
    both b[2] = {{.first = 0}, {.first = 1}};
    acu_tensor *x[2] = {make(devices[0], 0), make(devices[1], 0)};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        memcpy(b[i].devices, devices, sizeof devices);
        memcpy(b[i].x, x, sizeof x);
        assert_int_equal(pthread_create(&threads[i], NULL, write_both, &b[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++)
        acu_tensor_release(x[i]);
    close_two(devices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_composition_over_two_devices),
        cmocka_unit_test(order_between_devices_is_the_devices_own),
        cmocka_unit_test(independent_parts_overlap),
        cmocka_unit_test(failures_cross_devices),
        cmocka_unit_test(a_chain_behind_what_is_not_issued),
        cmocka_unit_test(also_on_another_device),
        cmocka_unit_test(behind_what_never_is),
        cmocka_unit_test(no_stream_twice),
        cmocka_unit_test(where_parts_are_without_a_device),
        cmocka_unit_test(opposite_orders_neither_hang_nor_mix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
