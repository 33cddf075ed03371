/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Cancelling: work that is not issued never runs, and issued work runs to its end unseen; the
 * future completes at once; readers of results that were not computed fail; other users of the same
 * op do not.
 */
#include "engine/completion/complete.h"
#include "engine/order/order.h"
#include "support/support.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { N = 16 };
#define VECTOR ACU_SHAPE(N)

/* ---- helpers ---- */

/* Closes the gate and submits host work that writes `host` and waits there; returns once it does.
 * Whatever comes behind it is not issued until the gate is open. */
static acu_future *close_gate(acu_device *device, acu_tensor *host)
{
    test_host_gate_close();
    acu_future *future = test_submit(device, acu_host(test_pass_host_gate, NULL, acu_inout(host)));
    test_host_gate_await();
    return future;
}

static void open_gate(acu_future *gate)
{
    test_host_gate_open();
    assert_works(acu_future_wait(gate, ACU_FOREVER));
    acu_future_release(gate);
}

static acu_tensor *pinned(acu_device *device)
{
    acu_tensor *tensor;
    assert_works(acu_tensor_alloc_pinned(device, ACU_I32, VECTOR, &tensor));
    memset(acu_tensor_host(tensor), 0, N * sizeof(int32_t));
    return tensor;
}

static acu_tensor *device_tensor(acu_device *device, int32_t value)
{
    acu_tensor *tensor;
    assert_works(acu_sync(device, acu_full(VECTOR, acu_i32(value)), &tensor));
    return tensor;
}

static void holds(acu_tensor *tensor, int32_t want)
{
    int32_t x[N];
    assert_works(acu_read_sync(tensor, x, sizeof x));
    for (int i = 0; i < N; i++)
        assert_int_equal(x[i], want);
}

static void is_cancelled(acu_future *future)
{
    acu_error error = {0};
    assert_int_equal(acu_future_poll(future), ACU_ERR_CANCELLED);
    assert_int_equal(acu_future_wait(future, 0), ACU_ERR_CANCELLED);
    assert_int_equal(acu_future_error(future, &error), ACU_ERR_CANCELLED);
    assert_int_equal(error.status, ACU_ERR_CANCELLED);
    assert_non_null(strstr(error.message, "cancelled"));
}

/* Cancels, which completes it. */
static void cancel(acu_future *future)
{
    assert_int_equal(acu_future_poll(future), ACU_NOT_READY);
    assert_works(acu_future_cancel(future));
    is_cancelled(future);
}

static _Atomic(int) runs, releases;

static acu_status count_run(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)user, (void)stream, (void)values, (void)count;
    atomic_fetch_add(&runs, 1);
    return ACU_OK;
}

static acu_status count_host(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    atomic_fetch_add(&runs, 1);
    return ACU_OK;
}

static void count_release(void *data)
{
    (void)data;
    atomic_fetch_add(&releases, 1);
}

/* Work for a stream that counts that it was issued; it reads or writes `x`. */
static acu_op *counting(acu_arg x)
{
    return acu_op_foreign(count_run, ACU_USER(NULL, count_release), ACU_ARGS(x), ACU_SITE);
}

static void finish(acu_device *device)
{
    test_close(device);
    test_leaks_none();
    atomic_store(&runs, 0);
    atomic_store(&releases, 0);
}

/* ---- one submission ---- */

static void what_is_not_issued_never_runs(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *host = pinned(device), *x = device_tensor(device, 1);
    acu_future *gate = close_gate(device, host);
    acu_future *copied = test_submit(device, acu_zip(acu_copy(x, host), counting(acu_in(host))));
    acu_future *behind = test_submit(device, counting(acu_in(x)));
    cancel(copied);
    assert_int_equal(acu_future_poll(behind), ACU_NOT_READY);
    open_gate(gate);
    assert_int_equal(acu_future_wait(behind, ACU_FOREVER), ACU_ERR_DEPENDENCY);
    acu_error error;
    acu_future_error(behind, &error);
    assert_non_null(strstr(error.message, "cancelled"));
    assert_works(acu_device_wait(device, ACU_FOREVER));
    assert_int_equal(atomic_load(&runs), 0);
    assert_int_equal(atomic_load(&releases), 2);
    is_cancelled(copied); /* what became of it is told to nobody */
    int32_t read[N];
    assert_int_equal(acu_read_sync(x, read, sizeof read), ACU_ERR_DEPENDENCY);
    assert_string_equal(acu_last_error()->op, "acu_read_sync"); /* not a part of it */
    assert_works(acu_sync(device, acu_fill(x, acu_i32(5)), NULL));
    holds(x, 5);
    acu_future_release(copied);
    acu_future_release(behind);
    acu_tensor_release(x);
    acu_tensor_release(host);
    finish(device);
}

static void what_is_issued_runs_unseen(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_stream *stream;
    assert_works(acu_stream_create(device, 0, &stream));
    acu_tensor *x = device_tensor(device, 1);
    test_gate_close(device, acu_stream_raw(stream));
    acu_submit_options options = {.size = sizeof options, .stream = stream};
    acu_future *future;
    assert_works(acu_submit(device, acu_fill(x, acu_i32(2)), &options, &future));
    cancel(future);
    acu_future *reader = test_submit(device, acu_dup(x));
    assert_int_equal(acu_future_poll(reader), ACU_NOT_READY);
    test_gate_open();
    assert_works(acu_future_wait(reader, ACU_FOREVER));
    holds(acu_future_tensor(reader, 0), 2);
    is_cancelled(future);
    acu_future_release(future);
    acu_future_release(reader);
    acu_tensor_release(x);
    acu_stream_release(stream);
    finish(device);
}

static void host_work_that_has_not_begun_never_does(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *host = pinned(device), *other = pinned(device);
    acu_future *gate = close_gate(device, host); /* one worker: the next one is in its queue */
    acu_future *future = test_submit(device, acu_op_host(count_host, ACU_USER(NULL, count_release),
                                                    ACU_ARGS(acu_inout(other)), ACU_SITE));
    cancel(future);
    open_gate(gate);
    assert_works(acu_device_wait(device, ACU_FOREVER));
    assert_int_equal(atomic_load(&runs), 0);
    assert_int_equal(atomic_load(&releases), 1);
    acu_future_release(future);
    acu_tensor_release(host);
    acu_tensor_release(other);
    finish(device);
}

static void completed_ones_stay_as_they_are(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_future *future = test_submit(device, acu_full(VECTOR, acu_i32(3)));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_works(acu_future_cancel(future));
    assert_works(acu_future_poll(future));
    holds(acu_future_tensor(future, 0), 3);
    acu_future_release(future);
    assert_fails(acu_future_cancel(NULL), ACU_ERR_INVALID, "acu_future_cancel|NULL");
    finish(device);
}

static acu_op *count_then(void *user, acu_val *values, size_t count)
{
    (void)user, (void)count;
    atomic_fetch_add(&runs, 1);
    return acu_take(&values[0]);
}

static void scheduled_ones_are_not_planned(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_policy *policy;
    acu_future *future;
    assert_works(acu_policy_single(device, NULL, &policy));
    const int line = __LINE__ + 1;
    acu_op *op = acu_then(acu_full(VECTOR, acu_i32(0)), count_then, NULL, count_release);
    assert_works(acu_schedule(policy, op, &future));
    assert_works(acu_future_cancel(future));
    assert_int_equal(atomic_load(&releases), 1);
    assert_works(acu_future_start(future)); /* too late */
    is_cancelled(future);
    acu_error error = {0};
    assert_int_equal(acu_future_error(future, &error), ACU_ERR_CANCELLED);
    assert_string_equal(error.op, "then");
    assert_int_equal(error.line, line);
    assert_int_equal(acu_future_values(future), 0);
    assert_null(acu_future_tensor(future, 0));
    assert_int_equal(acu_last_error()->status, ACU_ERR_CANCELLED);
    assert_int_equal(atomic_load(&runs), 0);
    acu_future_release(future);
    acu_policy_release(policy);
    finish(device);
}

/* The record is about what does the work, as if it had been planned. */
static void scheduled_ones_say_where_they_are_from(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_policy *policy;
    acu_future *future;
    assert_works(acu_policy_single(device, NULL, &policy));
    const int line = __LINE__ + 1;
    acu_op *op = acu_full(VECTOR, acu_i32(0));
    op = acu_with_context(acu_first(acu_with_context(acu_on(device, op), "layer 3")), "step 7");
    assert_works(acu_schedule(policy, op, &future));
    assert_works(acu_future_cancel(future));
    acu_error error = {0};
    assert_int_equal(acu_future_error(future, &error), ACU_ERR_CANCELLED);
    assert_string_equal(error.op, "full");
    assert_int_equal(error.line, line);
    assert_string_equal(error.context, "step 7: layer 3");
    acu_future_release(future);
    acu_policy_release(policy);
    finish(device);
}

/* The values of what was cancelled can be used, and fail where they are. */
static void values_are_there_and_not_valid(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *host = pinned(device);
    acu_future *gate = close_gate(device, host);
    acu_future *future = test_submit(device, acu_first(acu_copy(acu_empty(ACU_I32, VECTOR), host)));
    cancel(future);
    acu_future *use = test_submit(device, acu_dup(acu_future_tensor(future, 0)));
    acu_tensor *x;
    assert_works(acu_future_take(future, 0, &x));
    open_gate(gate);
    assert_int_equal(acu_future_wait(use, ACU_FOREVER), ACU_ERR_DEPENDENCY);
    acu_future_release(use);
    acu_future_release(future);
    acu_tensor_release(x);
    acu_tensor_release(host);
    finish(device);
}

/* ---- who learns of it ---- */

static _Atomic(int) told, told_cancelled;

static void note(void *user, acu_future *future, acu_status status)
{
    (void)user, (void)future;
    atomic_fetch_add(&told, 1);
    atomic_fetch_add(&told_cancelled, status == ACU_ERR_CANCELLED);
}

static void *wait_for(void *future)
{
    return (void *)(intptr_t)acu_future_wait(future, ACU_FOREVER);
}

static void everybody_is_told_once(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *host = pinned(device);
    acu_future *gate = close_gate(device, host);
    acu_future *future = test_submit(device, counting(acu_in(host)));
    pthread_t waiter;
    void *status;
    assert_int_equal(pthread_create(&waiter, NULL, wait_for, future), 0);
    assert_works(acu_future_when_complete(future, NULL, 0, note, ACU_USER(NULL)));
    assert_works(acu_future_cancel(future));
    assert_works(acu_future_cancel(future));
    pthread_join(waiter, &status);
    assert_int_equal((intptr_t)status, ACU_ERR_CANCELLED);
    acu_future *both[2] = {future, gate};
    size_t index = 9;
    assert_int_equal(acu_wait_any(both, 2, ACU_FOREVER, &index), ACU_ERR_CANCELLED);
    assert_int_equal(index, 0);
    assert_works(acu_future_when_complete(future, NULL, 0, note, ACU_USER(NULL))); /* late */
    open_gate(gate);
    acu_future_release(future);
    acu_tensor_release(host);
    finish(device); /* calls what is left to be called */
    assert_int_equal(atomic_load(&told), 2);
    assert_int_equal(atomic_load(&told_cancelled), 2);
}

static void cancel_other(void *other, acu_future *future, acu_status status)
{
    (void)future, (void)status;
    acu_future_cancel(other);
}

static void callbacks_may_cancel(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *host = pinned(device);
    acu_future *gate = close_gate(device, host);
    acu_future *held = test_submit(device, counting(acu_in(host)));
    acu_future *first = test_submit(device, acu_full(VECTOR, acu_i32(1)));
    assert_works(acu_future_when_complete(first, NULL, 0, cancel_other, ACU_USER(held)));
    assert_int_equal(acu_future_wait(held, ACU_FOREVER), ACU_ERR_CANCELLED);
    open_gate(gate);
    acu_future_release(first);
    acu_future_release(held);
    acu_tensor_release(host);
    test_close(device);
    assert_int_equal(atomic_load(&runs), 0);
    test_leaks_none();
    atomic_store(&releases, 0);
}

/* ---- ops that several use ---- */

/* Its own buffer, filled behind the gate, by work that counts. */
static acu_op *shared_work(acu_tensor *host)
{
    return counting(acu_inout(acu_first(acu_copy(acu_empty(ACU_I32, VECTOR), host))));
}

static acu_status fail_behind_gate(void *user, const acu_val *values, size_t count)
{
    test_pass_host_gate(user, values, count);
    return ACU_ERR_IO;
}

static acu_op *number_of(acu_op *op)
{
    return acu_last(acu_zip(op, acu_scalar(acu_u32(1))));
}

/* The alternative of a submission that was given up does not run, nor does the last op of a finally
 * in it; whatever else the submission consists of. */
static void alternatives_of_given_up_ones_do_not_run(void **state)
{
    (void)state;
    acu_device *device = test_open();
    for (int how = 0; how < 4; how++) {
        test_host_gate_close();
        acu_op *beside = acu_fill(acu_empty(ACU_I32, VECTOR), acu_i32(1));
        acu_op *kept = how % 2 ? acu_op_retain(beside) : NULL;
        acu_op *tried = number_of(acu_host(fail_behind_gate, NULL, acu_u32(0)));
        acu_op *last = acu_host(count_host, NULL, acu_u32(0));
        acu_op *other = number_of(acu_host(count_host, NULL, acu_u32(0)));
        acu_op *op = how < 2 ? acu_or_else(tried, acu_finally(other, last))
                             : acu_or_else(acu_or_else(tried, other),
                                           acu_finally(acu_scalar(acu_u32(1)), last));
        acu_future *future = test_submit(device, acu_zip(beside, op));
        test_host_gate_await();
        cancel(future);
        test_host_gate_open();
        assert_works(acu_device_wait(device, ACU_FOREVER));
        assert_int_equal(atomic_load(&runs), 0);
        acu_future_release(future);
        acu_op_release(kept);
    }
    finish(device);
}

static void others_that_use_an_op_go_on(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *host = pinned(device), *x = device_tensor(device, 1);
    acu_future *gate = close_gate(device, host);
    acu_op *op = acu_op_retain(acu_first(shared_work(host)));
    acu_op *mine = acu_zip(op, counting(acu_inout(acu_first(acu_copy(x, host)))));
    acu_future *a = test_submit(device, mine);
    acu_future *b = test_submit(device, acu_dup(op));
    cancel(a);
    open_gate(gate);
    assert_works(acu_future_wait(b, ACU_FOREVER));
    holds(acu_future_tensor(b, 0), 0);
    holds(acu_future_tensor(a, 0), 0); /* it was computed all the same */
    assert_int_equal(atomic_load(&runs), 1); /* not the work that only the cancelled one wanted */
    int32_t read[N];
    assert_int_equal(acu_read_sync(x, read, sizeof read), ACU_ERR_DEPENDENCY);
    acu_future_release(a);
    acu_future_release(b);
    acu_tensor_release(x);
    acu_tensor_release(host);
    finish(device);
}

/* The second use comes only after the cancel: a program that holds the op can rely on its work
 * being done. */
static void a_held_op_stays_usable(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *host = pinned(device);
    acu_future *gate = close_gate(device, host);
    acu_op *op = acu_op_retain(acu_first(shared_work(host)));
    acu_future *a = test_submit(device, acu_dup(op));
    cancel(a);
    open_gate(gate);
    assert_works(acu_device_wait(device, ACU_FOREVER));
    assert_int_equal(atomic_load(&runs), 1);
    acu_tensor *copy;
    assert_works(acu_sync(device, acu_dup(op), &copy));
    holds(copy, 0);
    acu_tensor_release(copy);
    acu_future_release(a);
    acu_tensor_release(host);
    finish(device);
}

static void all_users_cancelled(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *host = pinned(device);
    acu_future *gate = close_gate(device, host);
    acu_op *op = acu_op_retain(acu_first(shared_work(host)));
    acu_future *a = test_submit(device, acu_dup(op));
    acu_future *b = test_submit(device, acu_dup(op));
    cancel(a);
    cancel(b);
    open_gate(gate);
    assert_works(acu_device_wait(device, ACU_FOREVER));
    assert_int_equal(atomic_load(&runs), 0);
    acu_future_release(a);
    acu_future_release(b);
    acu_tensor_release(host);
    finish(device);
}

/* An op that is used only by ops inside a shared one: whatever these need is done, through both
 * levels. */
static void ops_inside_shared_ops(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *host = pinned(device);
    acu_future *gate = close_gate(device, host);
    acu_op *inner = acu_op_retain(acu_first(shared_work(host)));
    acu_op *mine = counting(acu_inout(acu_dup(inner))); /* planned first, with `inner` in it */
    acu_op *outer = acu_op_retain(acu_first(counting(acu_inout(acu_dup(inner)))));
    acu_future *a = test_submit(device, acu_zip(mine, outer));
    acu_future *b = test_submit(device, acu_dup(outer));
    cancel(a);
    open_gate(gate);
    assert_works(acu_future_wait(b, ACU_FOREVER));
    holds(acu_future_tensor(b, 0), 0);
    assert_true(atomic_load(&runs) >= 2);
    acu_future_release(a);
    acu_future_release(b);
    acu_tensor_release(host);
    finish(device);
}

static void parts_of_one_op(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *host = pinned(device);
    acu_future *gate = close_gate(device, host);
    acu_op *parts[2];
    acu_unzip(acu_copy(acu_empty(ACU_I32, VECTOR), host), parts, 2);
    acu_future *a = test_submit(device, counting(acu_in(parts[1])));
    acu_future *b = test_submit(device, acu_dup(parts[0]));
    cancel(a);
    open_gate(gate);
    assert_works(acu_future_wait(b, ACU_FOREVER));
    assert_int_equal(atomic_load(&runs), 0);
    acu_future_release(a);
    acu_future_release(b);
    acu_tensor_release(host);
    finish(device);
}

/* ---- devices with a runtime thread ---- */

static acu_op *hold_thread(void *user, acu_val *values, size_t count)
{
    test_pass_host_gate(user, values, count);
    return acu_take(&values[0]);
}

/* They are planned all the same, so that readers learn of it; none of their work runs. */
static void handed_over_and_not_planned(void **state)
{
    (void)state;
    acu_open_options options = test_options(0);
    options.runtime_thread = true;
    acu_device *device;
    assert_works(acu_open(&options, &device));
    test_host_gate_close();
    acu_future *first = test_submit(device,
                                    acu_then(acu_full(VECTOR, acu_i32(0)), hold_thread, NULL));
    test_host_gate_await();
    acu_op *op = acu_then(acu_full(VECTOR, acu_i32(0)), count_then, NULL, count_release);
    acu_future *second = test_submit(device, op);
    uint64_t fills = acu_driver_calls(ACU_CALL_MemsetD32Async);
    cancel(second);
    cancel(first); /* while it is planned */
    test_host_gate_open();
    assert_works(acu_device_wait(device, ACU_FOREVER));
    assert_int_equal(acu_future_values(second), 1);
    is_cancelled(first);
    is_cancelled(second);
    assert_int_equal(atomic_load(&runs), 1);
    assert_int_equal(atomic_load(&releases), 1);
    assert_in_range(acu_driver_calls(ACU_CALL_MemsetD32Async) - fills, 0, 1); /* of the first */
    acu_future_release(first);
    acu_future_release(second);
    finish(device);
}

/* ---- all at once ---- */

enum { THREADS = 4, ROUNDS = 200 };

typedef struct racer {
    acu_device *device;
    acu_tensor *tensor;
    uint64_t seed;
} racer;

static void *race(void *user)
{
    racer *r = user;
    test_random random = {r->seed};
    for (int i = 0; i < ROUNDS; i++) {
        acu_op *op = acu_op_retain(acu_full(VECTOR, acu_i32(i)));
        acu_future *f[3] = {NULL};
        acu_submit(r->device, acu_dup(op), NULL, &f[0]);
        acu_submit(r->device, acu_copy(r->tensor, op), NULL, &f[1]);
        acu_submit(r->device, acu_dup(r->tensor), NULL, &f[2]);
        acu_future_cancel(f[test_below(&random, 3)]);
        for (int k = 0; k < 3; k++) {
            acu_status status = acu_future_wait(f[k], ACU_FOREVER);
            assert_true(status == ACU_OK || status == ACU_ERR_CANCELLED ||
                        (k == 2 && status == ACU_ERR_DEPENDENCY));
            acu_future_release(f[k]);
        }
    }
    return NULL;
}

static void many_threads(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *x = device_tensor(device, 0);
    pthread_t threads[THREADS];
    racer racers[THREADS];
    for (uint64_t i = 0; i < THREADS; i++) {
        racers[i] = (racer){device, x, i + 1};
        assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_works(acu_sync(device, acu_fill(x, acu_i32(9)), NULL));
    holds(x, 9);
    acu_tensor_release(x);
    finish(device);
}

/* ---- looking at futures that end at that moment, as a group does; and a look that comes later
 * ---- */

typedef struct looked_at {
    _Atomic(acu_future *) future; /* NULL: none */
    _Atomic(bool) end;
    bool held_late; /* after its end */
} looked_at;

/* Without pause, but after a while the core is given up: the thread that is waited for may need
 * it. */
static void look_on(unsigned looks)
{
    enum { LOOKS = 20000 };
    if (looks % LOOKS == 0)
        sched_yield();
}

static void *hold_again_and_again(void *context)
{
    looked_at *l = context;
    acu_future *future;
    for (unsigned looks = 1; !atomic_load(&l->end); looks++) {
        look_on(looks);
        if (!(future = atomic_load(&l->future)))
            continue;
        for (looks = 1; atomic_load(&future->state) != ACUI_FUTURE_DONE; looks++) {
            if (acui_submission_hold(future->submission))
                acui_submission_let_go(future->submission);
            look_on(looks);
        }
        l->held_late |= acui_submission_hold(future->submission);
        atomic_store(&l->future, NULL);
        looks = 0;
    }
    return NULL;
}

static void held_until_its_end(void **state)
{
    enum { TIMES = 10000 };
    (void)state;
    acu_device *device = test_open();
    acu_tensor *x = device_tensor(device, 0);
    looked_at l = {.future = NULL};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, hold_again_and_again, &l), 0);
    for (int i = 0; i < TIMES; i++) {
        acu_future *future = test_submit(device, acu_fill(x, acu_i32(i)));
        atomic_store(&l.future, future);
        assert_works(acu_future_wait(future, ACU_FOREVER));
        while (atomic_load(&l.future))
            sched_yield();
        acu_future_release(future);
    }
    atomic_store(&l.end, true);
    pthread_join(thread, NULL);
    assert_false(l.held_late);
    acu_tensor_release(x);
    finish(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_issued_never_runs),
        cmocka_unit_test(what_is_issued_runs_unseen),
        cmocka_unit_test(host_work_that_has_not_begun_never_does),
        cmocka_unit_test(completed_ones_stay_as_they_are),
        cmocka_unit_test(scheduled_ones_are_not_planned),
        cmocka_unit_test(scheduled_ones_say_where_they_are_from),
        cmocka_unit_test(values_are_there_and_not_valid),
        cmocka_unit_test(everybody_is_told_once),
        cmocka_unit_test(callbacks_may_cancel),
        cmocka_unit_test(others_that_use_an_op_go_on),
        cmocka_unit_test(a_held_op_stays_usable),
        cmocka_unit_test(all_users_cancelled),
        cmocka_unit_test(ops_inside_shared_ops),
        cmocka_unit_test(alternatives_of_given_up_ones_do_not_run),
        cmocka_unit_test(parts_of_one_op),
        cmocka_unit_test(handed_over_and_not_planned),
        cmocka_unit_test(many_threads),
        cmocka_unit_test(held_until_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
