/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Bounded work in flight: submissions beyond the bound wait on the host, in order and by priority,
 * or are refused; submitting never blocks, however full the driver's queues are.
 */
#include "support/support.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

enum { N = 16 };
#define VECTOR ACU_SHAPE(N)

static acu_device *open_bounded(unsigned max_in_flight)
{
    acu_open_options options = test_options(0);
    options.max_in_flight = max_in_flight;
    acu_device *device;
    assert_works(acu_open(&options, &device));
    return device;
}

static void finish(acu_device *device)
{
    test_close(device);
    test_leaks_none();
}

/* ---- work that notes when it is issued ---- */

enum { MOST = 64 };
static int issued[MOST];
static _Atomic(int) issues;

static acu_status note_issue(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)stream, (void)values, (void)count;
    int i = atomic_fetch_add(&issues, 1);
    if (i < MOST)
        issued[i] = (int)(intptr_t)user;
    return ACU_OK;
}

static acu_op *noted(int number)
{
    acu_op *x = acu_full(VECTOR, acu_i32(number));
    return acu_op_foreign(note_issue, ACU_USER((void *)(intptr_t)number), ACU_ARGS(acu_inout(x)),
                          ACU_SITE);
}

static acu_future *submit_with(acu_device *device, acu_op *op, acu_submit_options options)
{
    acu_future *future = NULL;
    options.size = sizeof options;
    assert_works(acu_submit(device, op, &options, &future));
    return future;
}

static acu_future *submit(acu_device *device, acu_op *op)
{
    return submit_with(device, op, (acu_submit_options){.size = 0});
}

static void wait_and_drop(acu_future *future)
{
    assert_works(acu_future_wait(future, ACU_FOREVER));
    acu_future_release(future);
}

/* A submission on a stream that is held up until test_gate_open. */
static acu_future *occupy(acu_device *device, acu_stream *stream)
{
    test_gate_close(device, acu_stream_raw(stream));
    return submit_with(device, noted(-1), (acu_submit_options){.stream = stream});
}

/* ---- a thread of acuda's that stands still ---- */

static sem_t inside, go_on;

static void stop(void)
{
    sem_post(&inside);
    while (sem_wait(&go_on) != 0) {
    }
}

/* ---- the device's bound ---- */

static void more_waits_on_the_host(void **state)
{
    (void)state;
    acu_device *device = open_bounded(2);
    acu_stream *stream;
    assert_works(acu_stream_create(device, 0, &stream));
    atomic_store(&issues, 0);
    acu_future *f[10];
    f[0] = occupy(device, stream);
    f[1] = submit_with(device, noted(1), (acu_submit_options){.stream = stream});
    for (int i = 2; i < 10; i++)
        f[i] = submit(device, noted(i));
    for (int i = 0; i < 10; i++)
        assert_int_equal(acu_future_poll(f[i]), ACU_NOT_READY);
    assert_int_equal(atomic_load(&issues), 2);
    assert_works(acu_future_cancel(f[4])); /* what waits on the host is not issued */
    test_gate_open();
    for (int i = 0; i < 10; i++)
        if (i == 4)
            acu_future_release(f[i]);
        else
            wait_and_drop(f[i]);
    assert_works(acu_device_wait(device, ACU_FOREVER));
    assert_int_equal(atomic_load(&issues), 9);
    /* There are two places: two submissions that get in at the same time may be issued by two
     * threads, in either order. */
    int seen[10] = {0};
    for (int i = 0; i < 9; i++)
        seen[issued[i] < 0 ? 0 : issued[i]]++;
    for (int i = 0; i < 10; i++)
        assert_int_equal(seen[i], i != 4);
    acu_stream_release(stream);
    finish(device);
}

static acu_op *count_planning(void *user, acu_val *values, size_t count)
{
    (void)count;
    ++*(int *)user;
    return acu_op_take(&values[0], ACU_SITE);
}

static void or_is_refused(void **state)
{
    (void)state;
    acu_device *device = open_bounded(2);
    acu_stream *stream;
    assert_works(acu_stream_create(device, 0, &stream));
    acu_submit_options options = {.size = sizeof options, .refuse_when_full = true};
    acu_future *a = occupy(device, stream), *c;
    options.stream = stream;
    acu_future *b = submit_with(device, noted(0), options);
    const acu_submit_options on_stream = options;
    options.stream = NULL;
    /* The op is still the program's, for another try; nothing of it is planned. */
    int planned = 0;
    acu_op *kept = acu_then(noted(0), count_planning, &planned);
    assert_fails(acu_submit(device, kept, &options, &c), ACU_ERR_FULL, "2|device 0");
    assert_fails(acu_submit(NULL, kept, &options, &c), ACU_ERR_FULL, "");
    assert_fails(acu_submit(NULL, kept, &on_stream, &c), ACU_ERR_FULL, "");
    assert_int_equal(planned, 0);
    test_gate_open();
    wait_and_drop(a);
    wait_and_drop(b);
    assert_works(acu_device_wait(device, ACU_FOREVER));
    wait_and_drop(submit_with(device, kept, options));
    assert_int_equal(planned, 1);
    wait_and_drop(submit_with(device, noted(0), options));
    acu_stream_release(stream);
    finish(device);
}

static void note_release(void *user)
{
    atomic_fetch_add((_Atomic(int) *)user, 1);
}

/* Every other refusal takes the op, also one that comes before anything looks whether there is
 * room; and what only looks like FULL, an op that says so, is not. */
static void only_full_leaves_the_op(void **state)
{
    (void)state;
    acu_device *device = open_bounded(1);
    acu_stream *stream;
    _Atomic(int) released = 0;
    assert_works(acu_stream_create(device, 0, &stream));
    acu_future *a = occupy(device, stream), *none = NULL;
    acu_submit_options full = {.size = sizeof full, .refuse_when_full = true};
    acu_submit_options no_size = {.refuse_when_full = true};
    acu_op *op = acu_op_then(acu_ones(ACU_F32, ACU_SHAPE(4)), count_planning,
                             ACU_USER(&released, note_release), ACU_SITE);
    assert_fails(acu_submit(device, op, &full, &none), ACU_ERR_FULL, "1");
    assert_int_equal(atomic_load(&released), 0);
    assert_fails(acu_submit(device, op, &no_size, &none), ACU_ERR_INVALID, "size");
    assert_int_equal(atomic_load(&released), 1);
    assert_fails(acu_submit(device, NULL, &full, &none), ACU_ERR_FULL, "");
    test_gate_open();
    wait_and_drop(a);
    assert_works(acu_device_wait(device, ACU_FOREVER));
    op = acu_op_fail(ACU_ERR_FULL, "mine", ACU_SITE, "no room");
    acu_status status = acu_submit(device, op, NULL, &none);
    assert_true(status < 0 && status != ACU_ERR_FULL);
    assert_null(none);
    acu_stream_release(stream);
    finish(device);
}

static void stop_in_callback(void *user, acu_future *future, acu_status status)
{
    (void)user, (void)future, (void)status;
    stop();
}

/* Nobody has looked at what the device has finished, as the reactor is in a callback. (While it is
 * in the middle of ending a submission, that one still counts.) */
static void but_not_for_what_the_device_has_finished(void **state)
{
    (void)state;
    acu_device *device = open_bounded(1);
    acu_stream *stream;
    assert_works(acu_stream_create(device, 0, &stream));
    acu_submit_options options = {
        .size = sizeof options, .stream = stream, .refuse_when_full = true};
    sem_init(&inside, 0, 0);
    sem_init(&go_on, 0, 0);
    acu_future *over = submit(device, noted(0));
    assert_works(acu_device_wait(device, ACU_FOREVER));
    assert_works(acu_future_when_complete(over, NULL, 0, stop_in_callback, ACU_USER(NULL)));
    while (sem_wait(&inside) != 0) {
    }
    acu_status status[3];
    for (int i = 0; i < 3; i++) {
        status[i] = acu_submit(device, acu_zeros(ACU_F32, ACU_SHAPE(64)), &options, NULL);
        assert_int_equal(acu_driver()->StreamSynchronize(acu_stream_raw(stream)), 0);
    }
    sem_post(&go_on);
    for (int i = 0; i < 3; i++)
        assert_int_equal(status[i], ACU_OK);
    acu_future_release(over);
    acu_stream_release(stream);
    finish(device);
    sem_destroy(&inside);
    sem_destroy(&go_on);
}

/* Also if there are several priorities, and those of one come one by one. */
static void each_priority_keeps_its_order(void **state)
{
    (void)state;
    acu_device *device = open_bounded(1);
    const int most = acu_device_info_of(device)->greatest_priority;
    const int priorities[] = {0, most / 2, most, 0, most, most / 2, 0, most};
    acu_stream *stream;
    assert_works(acu_stream_create(device, 0, &stream));
    atomic_store(&issues, 0);
    acu_future *f[9] = {occupy(device, stream)};
    for (int i = 0; i < 8; i++)
        f[i + 1] = submit_with(device, noted(i),
                               (acu_submit_options){.priority = priorities[i]});
    test_gate_open();
    for (int i = 0; i < 9; i++)
        wait_and_drop(f[i]);
    for (int i = 2; i < 9; i++) {
        int a = issued[i - 1], b = issued[i];
        assert_true(priorities[a] < priorities[b] || (priorities[a] == priorities[b] && a < b));
    }
    acu_stream_release(stream);
    finish(device);
}

static void the_urgent_go_first(void **state)
{
    (void)state;
    acu_device *device = open_bounded(1);
    const acu_device_info *info = acu_device_info_of(device);
    acu_stream *stream;
    assert_works(acu_stream_create(device, 0, &stream));
    acu_submit_options urgent = {.size = sizeof urgent, .priority = info->greatest_priority};
    atomic_store(&issues, 0);
    acu_future *f[] = {occupy(device, stream), submit(device, noted(1)), submit(device, noted(2)),
                       submit_with(device, noted(3), urgent),
                       submit_with(device, noted(4), urgent)};
    test_gate_open();
    for (int i = 0; i < 5; i++)
        wait_and_drop(f[i]);
    const int order[] = {-1, 3, 4, 1, 2}, same[] = {-1, 1, 2, 3, 4};
    assert_memory_equal(issued, info->greatest_priority < 0 ? order : same, sizeof order);
    acu_submit_options none = {.size = sizeof none, .priority = info->least_priority + 1};
    assert_fails(acu_submit(device, noted(1), &none, NULL), ACU_ERR_INVALID, "priority");
    none.priority = info->greatest_priority - 1;
    assert_fails(acu_submit(device, noted(1), &none, NULL), ACU_ERR_INVALID, "priority");
    none.priority = INT32_MAX;
    assert_fails(acu_submit(device, noted(1), &none, NULL), ACU_ERR_INVALID,
                 "acu_submit: priority");
    acu_stream_release(stream);
    finish(device);
}

/* Work behind host work passes the gate only when the host work is over: so nothing waits for
 * itself. */
static acu_status do_nothing(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_OK;
}

static void pieces_do_not_wait_for_each_other(void **state)
{
    (void)state;
    acu_device *device = open_bounded(1);
    acu_tensor *host;
    acu_future *f[20];
    assert_works(acu_tensor_alloc_pinned(device, ACU_I32, VECTOR, &host));
    for (int i = 0; i < 20; i++) {
        acu_op *x = acu_first(acu_copy(acu_full(VECTOR, acu_i32(i)), host));
        f[i] = submit(device, acu_host(do_nothing, NULL, acu_inout(acu_first(acu_copy(host, x)))));
    }
    for (int i = 0; i < 20; i++)
        wait_and_drop(f[i]);
    acu_tensor_release(host);
    finish(device);
}

static void opening_again_agrees(void **state)
{
    (void)state;
    acu_device *device = open_bounded(3), *again;
    acu_open_options options = test_options(0);
    options.max_in_flight = 4;
    assert_fails(acu_open(&options, &again), ACU_ERR_BUSY, "3|4");
    options.max_in_flight = 0;
    assert_works(acu_open(&options, &again));
    test_close(again);
    finish(device);
}

/* ---- the driver's queue for a stream ---- */

/* All submissions go to a stream that stands still: no submitting thread may block in the
 * driver. */
static void full_queues_block_nobody(void **state)
{
    (void)state;
    enum { MANY = 3000 };
    acu_device *device = test_open();
    acu_stream *stream;
    acu_tensor *x;
    assert_works(acu_stream_create(device, 0, &stream));
    assert_works(acu_sync(device, acu_full(VECTOR, acu_i32(0)), &x));
    atomic_store(&issues, 0);
    acu_submit_options options = {.size = sizeof options, .stream = stream};
    acu_future *last = occupy(device, stream);
    for (int i = 1; i <= MANY; i++) {
        acu_future_release(last);
        assert_works(acu_submit(device, acu_fill(x, acu_i32(i)), &options, &last));
    }
    acu_process_statistics counters = {.size = sizeof counters};
    acu_process_stats(&counters);
    assert_true(counters.operations - counters.operations_done < 1000);
    test_gate_open();
    wait_and_drop(last);
    int32_t values[N];
    assert_works(acu_read_sync(x, values, sizeof values));
    assert_int_equal(values[N - 1], MANY);
    acu_tensor_release(x);
    acu_stream_release(stream);
    finish(device);
}

/* ---- many threads ---- */

enum { THREADS = 4, ROUNDS = 150 };

static void *push(void *user)
{
    acu_device *device = user;
    for (int i = 0; i < ROUNDS; i++) {
        acu_future *f[4];
        for (int k = 0; k < 4; k++)
            f[k] = submit_with(device, noted(i), (acu_submit_options){.priority = k % 2 ? -1 : 0});
        acu_future_cancel(f[i % 4]);
        for (int k = 0; k < 4; k++) {
            acu_status status = acu_future_wait(f[k], ACU_FOREVER);
            assert_true(status == ACU_OK || (status == ACU_ERR_CANCELLED && k == i % 4));
            acu_future_release(f[k]);
        }
    }
    return NULL;
}

static void many_threads(void **state)
{
    (void)state;
    acu_device *device = open_bounded(3);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, push, device), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    finish(device);
}

/* ---- with a runtime thread ---- */

static void handed_over_work_counts(void **state)
{
    (void)state;
    acu_open_options options = test_options(0);
    options.max_in_flight = 2;
    options.runtime_thread = true;
    acu_device *device;
    acu_stream *stream;
    assert_works(acu_open(&options, &device));
    assert_works(acu_stream_create(device, 0, &stream));
    acu_submit_options how = {.size = sizeof how, .stream = stream};
    acu_future *f[3];
    test_gate_close(device, acu_stream_raw(stream));
    f[0] = submit_with(device, noted(0), how);
    f[1] = submit_with(device, noted(1), how);
    how.refuse_when_full = true;
    acu_op *kept = noted(2);
    assert_fails(acu_submit(device, kept, &how, &f[2]), ACU_ERR_FULL, "in flight");
    assert_fails(acu_submit(NULL, kept, &how, &f[2]), ACU_ERR_FULL, "in flight");
    how.refuse_when_full = false;
    f[2] = submit_with(device, kept, how);
    test_gate_open();
    for (int i = 0; i < 3; i++)
        wait_and_drop(f[i]);
    acu_stream_release(stream);
    finish(device);
}

/* ---- with memory that is short ---- */

static acu_status stop_on_host(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    stop();
    return ACU_OK;
}

/* Otherwise the submission that has the memory could not go on. */
static void a_submission_that_waits_for_memory_takes_no_place(void **state)
{
    (void)state;
    enum { BYTES = 800 << 10 };
    acu_device *device = open_bounded(1);
    acu_pool_options bounds = {.size = sizeof bounds, .limit = 1 << 20};
    acu_pool *pool = NULL;
    acu_tensor *host = NULL;
    assert_works(acu_pool_create(device, &bounds, &pool));
    assert_works(acu_tensor_alloc_pinned(device, ACU_U8, VECTOR, &host));
    sem_init(&inside, 0, 0);
    sem_init(&go_on, 0, 0);
    acu_op *x = acu_full(ACU_SHAPE(BYTES), acu_u8(1));
    acu_op *first = acu_copy(host, acu_slice(acu_op_retain(x), ACU_SHAPE(0), VECTOR));
    acu_op *work = acu_op_host(stop_on_host, ACU_USER(NULL), ACU_ARGS(acu_inout(host)), ACU_SITE);
    acu_op *last = acu_copy(host, acu_slice(x, ACU_SHAPE(N), ACU_SHAPE(2 * N)));
    acu_submit_options options = {.pool = pool};
    acu_future *has = submit_with(device, acu_zip(acu_first(first), work, acu_first(last)),
                                  options);
    while (sem_wait(&inside) != 0) {
    }
    acu_future *lacks = submit_with(device, acu_full(ACU_SHAPE(BYTES), acu_u8(2)), options);
    assert_int_equal(acu_future_poll(lacks), ACU_NOT_READY);
    sem_post(&go_on);
    wait_and_drop(has);
    wait_and_drop(lacks);
    sem_destroy(&inside);
    sem_destroy(&go_on);
    acu_tensor_release(host);
    acu_pool_release(pool);
    finish(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_waits_on_the_host),
        cmocka_unit_test(or_is_refused),
        cmocka_unit_test(but_not_for_what_the_device_has_finished),
        cmocka_unit_test(only_full_leaves_the_op),
        cmocka_unit_test(the_urgent_go_first),
        cmocka_unit_test(each_priority_keeps_its_order),
        cmocka_unit_test(pieces_do_not_wait_for_each_other),
        cmocka_unit_test(opening_again_agrees),
        cmocka_unit_test(full_queues_block_nobody),
        cmocka_unit_test(many_threads),
        cmocka_unit_test(handed_over_work_counts),
        cmocka_unit_test(a_submission_that_waits_for_memory_takes_no_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
