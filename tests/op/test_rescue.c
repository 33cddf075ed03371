/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * or_else and finally: the alternative runs if the first op fails, at whatever stage, and only
 * then; the last op of a `finally` runs in any case; the error is that of the first failure;
 * nothing is left over.
 */
#include "support/support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { N = 16 };
#define VECTOR ACU_SHAPE(N)

/* ---- helpers ---- */

static _Atomic(int) runs, releases, asked;
static acu_status last_asked;
static bool answer;

static acu_status count_run(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    atomic_fetch_add(&runs, 1);
    return ACU_OK;
}

static acu_status fail_run(void *user, const acu_val *values, size_t count)
{
    count_run(user, values, count);
    return ACU_ERR_INVALID;
}

static void count_release(void *data)
{
    (void)data;
    atomic_fetch_add(&releases, 1);
}

static bool ask(void *user, const acu_error *error)
{
    (void)user;
    atomic_fetch_add(&asked, 1);
    last_asked = error->status;
    return answer;
}

/* Host work on x that counts itself, and fails or not. */
static acu_op *host_work(acu_host_fn fn, acu_arg x)
{
    return acu_op_host(fn, ACU_USER(NULL, count_release), ACU_ARGS(x), ACU_SITE);
}

/* Host work on nothing. */
static acu_op *bare(acu_host_fn fn)
{
    return acu_op_host(fn, ACU_USER(NULL, count_release), NULL, 0, ACU_SITE);
}

static acu_op *constant(float value)
{
    return acu_full(VECTOR, acu_f32(value));
}

/* A host tensor whose computation fails, which is known when the host work is over. */
static acu_op *broken(float value)
{
    return host_work(fail_run, acu_inout(acu_to_host(constant(value))));
}

static acu_tensor *tensor_of(acu_device *device, float value)
{
    acu_tensor *tensor;
    assert_works(acu_sync(device, constant(value), &tensor));
    return tensor;
}

static void holds(acu_tensor *tensor, float want)
{
    float x[N];
    assert_works(acu_read_sync(tensor, x, sizeof x));
    for (int i = 0; i < N; i++)
        if (x[i] != want)
            fail_msg("element %d is %g, not %g", i, (double)x[i], (double)want);
}

static void yields(acu_device *device, acu_op *op, float want)
{
    acu_tensor *tensor;
    assert_works(acu_sync(device, op, &tensor));
    holds(tensor, want);
    acu_tensor_release(tensor);
}

/* The op fails in flight. */
static void ends(acu_device *device, acu_op *op, acu_status status)
{
    acu_future *future = test_submit(device, op);
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), status);
    acu_future_release(future);
}

static void fail_call(acu_driver_call call)
{
    acu_driver_fault fault = {.size = sizeof fault, .call = call, .nth = 1};
    assert_works(acu_driver_fail(&fault));
}

static acu_device *begin(void)
{
    atomic_store(&runs, 0);
    atomic_store(&releases, 0);
    atomic_store(&asked, 0);
    answer = true;
    return test_open();
}

static void finish(acu_device *device)
{
    acu_driver_fail_clear();
    test_close(device);
    test_leaks_none();
}

/* Host work in the order in which it ran. */
static int noted[64];
static _Atomic(int) notes;

static acu_status note(void *user, const acu_val *values, size_t count)
{
    (void)values, (void)count;
    int i = atomic_fetch_add(&notes, 1);
    if (i < 64)
        noted[i] = (int)(intptr_t)user;
    return ACU_OK;
}

static acu_status note_and_fail(void *user, const acu_val *values, size_t count)
{
    return note(user, values, count), ACU_ERR_INVALID;
}

static bool note_asked(void *user, const acu_error *error)
{
    (void)error;
    return note(user, NULL, 0), true;
}

static acu_op *noting(acu_host_fn fn, int number)
{
    return acu_op_host(fn, ACU_USER((void *)(intptr_t)number), NULL, 0, ACU_SITE);
}

/* ---- or_else ---- */

static void a_success_needs_no_alternative(void **state)
{
    (void)state;
    acu_device *device = begin();
    acu_op *other = host_work(count_run, acu_inout(acu_to_host(constant(2))));
    yields(device, acu_or_else(acu_to_host(constant(1)), other), 1);
    assert_int_equal(runs, 0);
    assert_int_equal(releases, 1);
    /* On the device, with work before and behind; in place. */
    acu_tensor *x = tensor_of(device, 5);
    yields(device, acu_dup(acu_or_else(acu_fill(x, acu_f32(3)), acu_fill(x, acu_f32(4)))), 3);
    holds(x, 3);
    acu_tensor_release(x);
    finish(device);
}

static void found_at_completion(void **state)
{
    (void)state;
    acu_device *device = begin();
    yields(device, acu_or_else(broken(1), acu_to_host(constant(2))), 2);
    assert_int_equal(runs, 1);
    /* Work that comes behind, in the same submission and in others, reads the alternative's
     * values. */
    acu_future *future = test_submit(device, acu_or_else(broken(1), acu_to_host(constant(3))));
    acu_tensor *tensor = acu_future_tensor(future, 0);
    yields(device, acu_to_device(device, tensor), 3);
    assert_works(acu_future_wait(future, ACU_FOREVER));
    acu_future_release(future);
    acu_op *either = acu_or_else(broken(1), acu_to_host(constant(4)));
    yields(device, acu_to_device(device, either), 4);
    /* On the host alone. */
    yields(device,
           acu_or_else(broken(1), host_work(count_run, acu_inout(acu_to_host(constant(5))))), 5);
    finish(device);
}

static void found_at_issue(void **state)
{
    (void)state;
    acu_device *device = begin();
    acu_tensor *x = tensor_of(device, 1), *y = tensor_of(device, 7);
    fail_call(ACU_CALL_MemsetD32Async);
    yields(device, acu_or_else(acu_fill(x, acu_f32(2)), acu_first(acu_copy(x, y))), 7);
    fail_call(ACU_CALL_MemsetD32Async);
    yields(device, acu_or_else(constant(2), acu_dup(y)), 7);
    /* There is not even memory for the result. */
    assert_works(acu_pool_trim(acu_device_pool(device), 0, NULL));
    fail_call(ACU_CALL_MemAllocFromPoolAsync);
    yields(device, acu_dup(acu_or_else(constant(2), constant(8))), 8);
    acu_tensor_release(x);
    acu_tensor_release(y);
    finish(device);
}

static void found_at_submit(void **state)
{
    (void)state;
    acu_device *device = begin();
    acu_tensor *x = tensor_of(device, 1), *y = tensor_of(device, 2);
    acu_op *half = acu_copy(acu_zeros(ACU_F32, ACU_SHAPE(N / 2)), acu_value(x));
    acu_op *wrong = acu_first(acu_zip(acu_fill(y, acu_f32(9)), half));
    yields(device, acu_or_else_if(wrong, acu_dup(x), ask, NULL, count_release), 1);
    assert_int_equal(last_asked, ACU_ERR_SHAPE);
    assert_int_equal(releases, 1);
    holds(y, 2); /* nothing of the refused op ran, and its data is still valid */
    answer = false;
    wrong = acu_nth(acu_value(x), 3);
    assert_fails(acu_submit(device, acu_or_else_if(wrong, acu_dup(x), ask, NULL), NULL, NULL),
                 ACU_ERR_ARGUMENTS, "value 3");
    /* Neither can run: the error is the alternative's. */
    wrong = acu_or_else(acu_nth(acu_value(x), 3), acu_nth(acu_value(x), 4));
    assert_fails(acu_submit(device, wrong, NULL, NULL), ACU_ERR_ARGUMENTS, "value 4");
    acu_tensor_release(x);
    acu_tensor_release(y);
    finish(device);
}

/* A call that succeeds leaves the thread's record unchanged, even if it was empty. */
static void the_record_is_of_calls_that_failed(acu_device *device, acu_tensor *x)
{
    acu_status before = acu_last_error()->status;
    acu_op *op = acu_or_else(acu_nth(acu_value(x), 3), acu_dup(x));
    acu_value_info info;
    size_t count;
    assert_works(acu_op_describe(device, op, &info, 1, &count));
    assert_int_equal(acu_last_error()->status, before);
    acu_op *outer = acu_or_else(acu_nth(acu_value(x), 2), op); /* two of them */
    assert_works(acu_sync(device, outer, NULL));
    assert_int_equal(acu_last_error()->status, before);
    acu_graph *graph;
    op = acu_or_else(acu_nth(acu_value(x), 3), acu_fill(x, acu_f32(1)));
    assert_works(acu_graph_load(device, op, NULL, &graph));
    assert_int_equal(acu_last_error()->status, before);
    acu_graph_release(graph);
}

static void what_was_refused_leaves_no_record(void **state)
{
    (void)state;
    acu_device *device = begin();
    acu_tensor *x = tensor_of(device, 1);
    the_record_is_of_calls_that_failed(device, x);
    assert_fails(acu_device_wait(NULL, 0), ACU_ERR_INVALID, "device is NULL");
    the_record_is_of_calls_that_failed(device, x);
    assert_non_null(strstr(acu_last_error()->message, "device is NULL"));
    acu_tensor_release(x);
    finish(device);
}

static void the_program_decides(void **state)
{
    (void)state;
    acu_device *device = begin();
    acu_op *op = acu_or_else_if(broken(1), acu_to_host(constant(2)), ask, NULL, count_release);
    yields(device, op, 2);
    assert_int_equal(asked, 1);
    assert_int_equal(last_asked, ACU_ERR_CALLBACK);
    answer = false;
    acu_future *future = test_submit(device, acu_or_else_if(broken(1), acu_to_host(constant(2)),
                                                            ask, NULL, count_release));
    acu_error error;
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), ACU_ERR_CALLBACK);
    assert_int_equal(acu_future_error(future, &error), ACU_ERR_CALLBACK);
    assert_non_null(strstr(error.message, "ACU_ERR_INVALID"));
    ends(device, acu_to_device(device, acu_future_tensor(future, 0)), ACU_ERR_DEPENDENCY);
    acu_future_release(future);
    assert_int_equal(asked, 2);
    yields(device, acu_or_else_if(constant(3), constant(4), ask, NULL), 3);
    assert_int_equal(asked, 2);
    assert_int_equal(releases, 4);
    finish(device);
}

/* One function fails because a call of acuda fails in it, as libraries do; the other fails for a
 * reason of its own. */
static acu_status fail_by_call(void *user, const acu_val *values, size_t count)
{
    acu_buffer *none = NULL;
    count_run(user, values, count);
    return acu_buffer_create_pinned(NULL, 0, &none);
}

static acu_status fail_in_map(void *user, acu_val *values, size_t count)
{
    return fail_by_call(user, values, count);
}

static acu_status fail_on_stream(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)stream;
    return fail_by_call(user, values, count);
}

static bool only_invalid(void *user, const acu_error *error)
{
    (void)user;
    assert_int_equal(error->status, ACU_ERR_CALLBACK);
    return error->cause == ACU_ERR_INVALID;
}

static acu_status fail_io(void *user, const acu_val *values, size_t count)
{
    count_run(user, values, count);
    return ACU_ERR_IO;
}

static acu_status fail_errno(void *user, const acu_val *values, size_t count)
{
    count_run(user, values, count);
    return (acu_status)28;
}

/* The record has the status that the function returned, with the message of the call that failed
 * inside it ... */
static void the_reason_of_a_function(void **state)
{
    (void)state;
    acu_device *device = begin();
    yields(device, acu_or_else_if(acu_after(constant(1), bare(fail_run)), constant(2),
                                  only_invalid, NULL), 2);
    assert_fails(acu_sync(device, acu_or_else_if(acu_after(constant(1), bare(fail_io)), constant(2),
                                                 only_invalid, NULL), NULL),
                 ACU_ERR_CALLBACK, "acu_host returned ACU_ERR_IO");
    assert_int_equal(acu_last_error()->cause, ACU_ERR_IO);
    assert_fails(acu_sync(device, bare(fail_errno), NULL), ACU_ERR_CALLBACK,
                 "acu_host returned 28, which is no acu_status");
    assert_int_equal(acu_last_error()->cause, 28);
    acu_op *const told[] = {
        bare(fail_by_call),
        acu_op_foreign(fail_on_stream, ACU_USER(NULL), NULL, 0, ACU_SITE),
        acu_map(constant(1), fail_in_map, NULL),
    };
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        assert_fails(acu_sync(device, told[i], NULL), ACU_ERR_CALLBACK,
                     "returned ACU_ERR_INVALID: |acu_buffer_create_pinned");
        assert_int_equal(acu_last_error()->cause, ACU_ERR_INVALID);
    }
    /* ... but not with the message of another call. */
    acu_tensor *none = NULL;
    assert_int_equal(acu_future_take(NULL, 0, &none), ACU_ERR_INVALID);
    assert_int_equal(acu_sync(device, bare(fail_run), NULL), ACU_ERR_CALLBACK);
    assert_null(strstr(acu_last_error()->message, "INVALID:"));
    finish(device);
}

static void an_alternative_may_fail_too(void **state)
{
    (void)state;
    acu_device *device = begin();
    acu_future *future = test_submit(device, acu_or_else(broken(1), broken(2)));
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), ACU_ERR_CALLBACK);
    ends(device, acu_to_device(device, acu_future_tensor(future, 0)), ACU_ERR_DEPENDENCY);
    acu_future_release(future);
    assert_int_equal(runs, 2);
    /* Alternatives of alternatives, and inside of alternatives. */
    yields(device, acu_or_else(broken(1), acu_or_else(broken(2), acu_to_host(constant(3)))), 3);
    assert_int_equal(runs, 4);
    yields(device, acu_or_else(acu_or_else(broken(1), broken(2)), acu_to_host(constant(4))), 4);
    assert_int_equal(runs, 6);
    yields(device, acu_or_else(acu_to_host(constant(5)), acu_or_else(broken(2), broken(3))), 5);
    assert_int_equal(runs, 6);
    finish(device);
}

static void others_are_not_touched(void **state)
{
    (void)state;
    acu_device *device = begin();
    acu_op *both = acu_zip(acu_or_else(broken(1), acu_to_host(constant(2))), constant(3));
    acu_future *future = test_submit(device, both);
    assert_works(acu_future_wait(future, ACU_FOREVER));
    holds(acu_future_tensor(future, 0), 2);
    holds(acu_future_tensor(future, 1), 3);
    acu_future_release(future);
    /* A failure beside the or_else is a failure of the submission. */
    both = acu_zip(acu_or_else(acu_to_host(constant(1)), acu_to_host(constant(2))), broken(3));
    ends(device, both, ACU_ERR_CALLBACK);
    finish(device);
}

static void what_several_use_is_everybodys(void **state)
{
    (void)state;
    acu_device *device = begin();
    acu_tensor *y = tensor_of(device, 1);
    /* Both use the input: it is not affected by the failure of the first one. */
    acu_op *input = acu_op_retain(constant(6));
    fail_call(ACU_CALL_MemcpyDtoDAsync);
    acu_op *first = acu_first(acu_copy(y, input));
    yields(device, acu_or_else(first, acu_first(acu_copy(y, input))), 6);
    /* The alternative was not needed, but a part of it has another user. */
    acu_op *kept = acu_op_retain(host_work(count_run, acu_inout(acu_to_host(constant(8)))));
    acu_op *either = acu_or_else(acu_to_host(constant(7)), acu_zip(kept));
    yields(device, either, 7);
    yields(device, acu_to_device(device, kept), 8);
    assert_int_equal(runs, 1);
    /* One or_else with two users. */
    either = acu_op_retain(acu_or_else(broken(1), acu_to_host(constant(9))));
    acu_future *a = test_submit(device, acu_to_device(device, either));
    yields(device, acu_to_device(device, either), 9);
    assert_works(acu_future_wait(a, ACU_FOREVER));
    acu_future_release(a);
    assert_int_equal(runs, 2);
    acu_tensor_release(y);
    finish(device);
}

/* The two values of an op, copied. */
static void yields_two(acu_device *device, acu_op *op, float a, float b)
{
    acu_future *future = test_submit(device, op);
    assert_works(acu_future_wait(future, ACU_FOREVER));
    holds(acu_future_tensor(future, 0), a);
    holds(acu_future_tensor(future, 1), b);
    acu_future_release(future);
}

/* An op fails for each of its users, each of which has its own alternative. */
static void each_user_has_its_alternative(void **state)
{
    (void)state;
    for (int held = 0; held < 2; held++) {
        acu_device *device = begin();
        acu_op *kept = broken(1);
        acu_op *x[2] = {kept, acu_op_retain(kept)}, *y[2], *other = acu_to_host(constant(4));
        if (held)
            acu_op_retain(kept);
        yields_two(device, acu_zip(acu_dup(acu_or_else(x[0], acu_to_host(constant(2)))),
                                   acu_dup(acu_or_else(x[1], acu_to_host(constant(3))))), 2, 3);
        if (held)
            acu_op_release(kept);
        /* The second one is part of the alternative for the first. */
        x[0] = broken(1), x[1] = acu_op_retain(x[0]);
        yields(device, acu_or_else(acu_or_else(x[0], broken(2)), acu_or_else(x[1], other)), 4);
        /* It fails, and there is only one alternative. */
        y[0] = bare(fail_run), y[1] = acu_op_retain(y[0]);
        ends(device, acu_zip(acu_or_else(y[0], acu_zip(bare(count_run))), y[1]), ACU_ERR_CALLBACK);
        /* It does not fail. */
        x[0] = acu_to_host(constant(1)), x[1] = acu_op_retain(x[0]);
        yields_two(device, acu_zip(acu_dup(acu_or_else(x[0], broken(2))),
                                   acu_dup(acu_or_else(x[1], broken(3)))), 1, 1);
        finish(device);
    }
}

/* It is an alternative that fails with an op, which another part, or another submission, runs. No
 * data tells it of that. */
static void an_alternative_fails_with_what_others_run(void **state)
{
    (void)state;
    acu_device *device = begin();
    acu_op *x = bare(fail_run), *again = acu_op_retain(x);
    ends(device, acu_zip(acu_or_else(x, acu_zip(bare(count_run))),
                         acu_or_else(bare(fail_run), acu_zip(again))), ACU_ERR_CALLBACK);
    x = bare(fail_run), again = acu_op_retain(x);
    ends(device, x, ACU_ERR_CALLBACK);
    ends(device, acu_or_else(bare(fail_run), acu_zip(again)), ACU_ERR_CALLBACK);
    /* Nor where it is planned first, before others turn out to catch its failure. */
    x = bare(fail_run), again = acu_op_retain(x);
    ends(device, acu_zip(acu_or_else(bare(fail_run), x),
                         acu_or_else(again, acu_zip(bare(count_run)))), ACU_ERR_CALLBACK);
    x = bare(fail_run), again = acu_op_retain(x);
    acu_op *with_x = acu_zip(bare(count_run), x), *too = acu_op_retain(with_x);
    ends(device, acu_zip(acu_or_else(bare(fail_run), with_x), acu_or_else(too, again)),
         ACU_ERR_CALLBACK);
    /* It does not count where the alternative does not run. */
    x = bare(fail_run), again = acu_op_retain(x);
    ends(device, acu_zip(acu_or_else(x, acu_zip(bare(count_run))),
                         acu_or_else(bare(count_run), acu_zip(again))), ACU_OK);
    x = bare(fail_run), again = acu_op_retain(x);
    ends(device, acu_zip(acu_or_else(bare(count_run), acu_zip(x)),
                         acu_or_else(again, acu_zip(bare(count_run)))), ACU_OK);
    finish(device);
}

/* Or with an op that the program keeps, whoever planned it, whether it yields data or not. */
static void an_alternative_fails_with_what_is_kept(void **state)
{
    (void)state;
    acu_device *device = begin();
    acu_op *kept = bare(fail_run);
    ends(device, acu_or_else(bare(fail_run), acu_op_retain(kept)), ACU_ERR_CALLBACK);
    ends(device, acu_or_else(bare(fail_run), kept), ACU_ERR_CALLBACK);
    acu_tensor *host;
    assert_works(acu_tensor_alloc_pinned(device, ACU_F32, VECTOR, &host));
    kept = host_work(fail_run, acu_out(host));
    for (int i = 0; i < 2; i++) { /* both write the same tensor: no node reads it */
        acu_op *other = i ? kept : acu_op_retain(kept);
        ends(device, acu_or_else(host_work(fail_run, acu_out(host)), other), ACU_ERR_CALLBACK);
    }
    acu_tensor_release(host);
    finish(device);
}

/* The op fails; one user has an alternative, and the other passes its value on, or drops it. */
static void who_has_no_alternative_fails(void **state)
{
    (void)state;
    acu_device *device = begin();
    acu_tensor *host;
    assert_works(acu_tensor_alloc_pinned(device, ACU_F32, VECTOR, &host));
    for (int way = 0; way < 4; way++) {
        acu_op *x = acu_op_retain(host_work(fail_run, acu_out(host)));
        acu_op *either = acu_or_else(acu_last(acu_zip(x, acu_scalar(acu_u8(1)))),
                                     acu_last(acu_zip(bare(count_run), acu_scalar(acu_u8(1)))));
        acu_op *user = way == 0   ? x
                       : way == 1 ? acu_last(acu_zip(x, acu_scalar(acu_u8(2))))
                       : way == 2 ? acu_share(x)
                                  : acu_after(x, bare(count_run));
        ends(device, acu_zip(either, user), ACU_ERR_CALLBACK);
    }
    acu_tensor_release(host);
    finish(device);
}

static int *flushes;
static acu_op *submit_and_await_run(void *user, acu_val *values, size_t count)
{
    (void)values, (void)count;
    ++*flushes;
    acu_op *next = acu_zip(bare(count_run)); /* what is before is entered first */
    assert_works(acu_submit(user, next, NULL, NULL));
    while (atomic_load(&runs) == 0)
        sched_yield();
    return acu_scalar(acu_u8(1));
}

/* A shared op of which some has failed before all of it is planned. For the thread sanitizer. */
static void planned_while_some_of_it_fails(void **state)
{
    (void)state;
    acu_device *device = begin();
    int count = 0;
    flushes = &count;
    acu_tensor *host;
    assert_works(acu_tensor_alloc_pinned(device, ACU_F32, VECTOR, &host));
    acu_op *tried = acu_last(acu_zip(
        host_work(fail_run, acu_inout(host)), host_work(count_run, acu_inout(host)),
        acu_then(acu_scalar(acu_u8(1)), submit_and_await_run, device)));
    acu_op *op = acu_or_else_if(tried, acu_scalar(acu_u8(1)), ask, NULL, count_release);
    acu_op *kept = acu_op_retain(op);
    ends(device, op, ACU_OK);
    ends(device, kept, ACU_OK);
    assert_int_equal(count, 1);
    acu_tensor_release(host);
    finish(device);
}

/* y is filled, by an op that has two users. */
static acu_op *fill_for_two(acu_tensor *y, float value, bool parts)
{
    acu_op *fill = acu_fill(y, acu_f32(value)), *two[2] = {fill, fill};
    if (parts)
        acu_unzip(acu_zip(constant(0), fill), two, 2);
    else
        acu_op_retain(fill);
    return acu_last(acu_zip(two[0], acu_dup(two[1])));
}

/* Nobody outside of the alternative, or of what is tried, uses the op. */
static void what_several_use_inside_is_no_others(void **state)
{
    (void)state;
    for (int parts = 0; parts < 2; parts++) {
        acu_device *device = begin();
        acu_tensor *y = tensor_of(device, 1);
        yields(device, acu_or_else(acu_dup(y), fill_for_two(y, 2, parts)), 1);
        acu_op *wrong = acu_reshape(constant(4), ACU_SHAPE(3));
        acu_op *refused = acu_last(acu_zip(fill_for_two(y, 3, parts), wrong));
        yields(device, acu_or_else(refused, acu_dup(y)), 1);
        holds(y, 1);
        fail_call(ACU_CALL_MemcpyDtoDAsync);
        yields(device, acu_or_else(acu_dup(y), fill_for_two(y, 5, parts)), 5);
        holds(y, 5);
        acu_tensor_release(y);
        finish(device);
    }
}

static void what_is_used_outside_too_runs(void **state)
{
    (void)state;
    acu_device *device = begin();
    acu_tensor *y = tensor_of(device, 1);
    acu_op *fill = acu_op_retain(acu_fill(y, acu_f32(6)));
    yields(device, acu_last(acu_zip(acu_or_else(constant(1), acu_dup(fill)), acu_dup(fill))), 6);
    holds(y, 6);
    /* Outside of what an alternative tries, but not of the alternative. */
    fill = acu_op_retain(acu_fill(y, acu_f32(8)));
    acu_op *other = acu_last(acu_zip(acu_or_else(acu_dup(fill), constant(1)), acu_dup(fill)));
    yields(device, acu_or_else(constant(9), other), 9);
    holds(y, 6);
    /* The alternative fails with it. */
    acu_op *fails = acu_op_retain(bare(fail_run));
    other = acu_last(acu_zip(acu_after(constant(1), fails), acu_after(constant(2), fails)));
    ends(device, acu_or_else(acu_after(constant(3), bare(fail_run)), other), ACU_ERR_CALLBACK);
    assert_int_equal(runs, 2);
    acu_tensor_release(y);
    finish(device);
}

static acu_status pass_and_count(void *user, const acu_val *values, size_t count)
{
    test_pass_host_gate(NULL, values, count);
    return user ? fail_run(NULL, values, count) : count_run(NULL, values, count);
}

/* The submission that plans such an op fails in another part, before it is decided whether the
 * alternative runs. Another submission that reads the values of the op gets them all the same. */
static void also_if_the_first_user_fails(void **state)
{
    (void)state;
    for (int fails = 0; fails < 2; fails++) {
        acu_device *device = begin();
        acu_tensor *x = tensor_of(device, 1), *y = tensor_of(device, 2);
        test_host_gate_close();
        acu_op *host = acu_host(pass_and_count, fails ? device : NULL, acu_f32(0));
        acu_op *tried = acu_last(acu_zip(acu_after(host, bare(test_pass_host_gate)), acu_value(x)));
        acu_op *either = acu_or_else(tried, acu_first(acu_fill(x, acu_f32(5))));
        acu_op *op = acu_op_retain(acu_with_context(either, "both need it"));
        fail_call(ACU_CALL_MemcpyDtoDAsync);
        acu_future *first = test_submit(device, acu_zip(op, acu_dup(y)));
        acu_future *second = test_submit(device, acu_dup(op));
        test_host_gate_open();
        assert_int_equal(acu_future_wait(first, ACU_FOREVER), ACU_ERR_DRIVER);
        assert_works(acu_future_wait(second, ACU_FOREVER));
        assert_int_equal(runs, 1);
        holds(acu_future_tensor(second, 0), fails ? 5 : 1);
        holds(x, fails ? 5 : 1);
        acu_future_release(first);
        acu_future_release(second);
        acu_tensor_release(x);
        acu_tensor_release(y);
        finish(device);
    }
}

static acu_status pass_lock(void *user, const acu_val *values, size_t count)
{
    (void)values, (void)count;
    pthread_mutex_lock(user);
    pthread_mutex_unlock(user);
    return ACU_OK;
}

/* The op that was tried is stopped by a failure beside it, when nobody else has the op. Data that
 * the alternative would have written is then unchanged. */
static void what_was_stopped_did_not_fail(void **state)
{
    (void)state;
    pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
    acu_device *device = begin();
    acu_tensor *x = tensor_of(device, 1), *y = tensor_of(device, 2), *z = tensor_of(device, 3), *h;
    assert_works(acu_tensor_alloc_pinned(device, ACU_F32, VECTOR, &h));
    pthread_mutex_lock(&held);
    acu_future *before = test_submit(device, acu_host(pass_lock, &held, acu_inout(h)));
    test_host_gate_close();
    acu_op *tried = acu_last(acu_zip(acu_copy(z, h), bare(test_pass_host_gate), acu_value(x)));
    acu_op *op = acu_with_context(acu_or_else(tried, acu_first(acu_fill(x, acu_f32(5)))), "both");
    acu_op_retain(op);
    fail_call(ACU_CALL_MemcpyDtoDAsync);
    acu_future *first = test_submit(device, acu_zip(acu_dup(y), op));
    acu_op_release(op);
    pthread_mutex_unlock(&held);
    test_host_gate_await(); /* the worker gets to the gate after `before`: the copy had its turn in
                             * between */
    acu_future *second = test_submit(device, acu_dup(x));
    test_host_gate_open();
    assert_int_equal(acu_future_wait(first, ACU_FOREVER), ACU_ERR_DRIVER);
    assert_works(acu_future_wait(second, ACU_FOREVER));
    holds(acu_future_tensor(second, 0), 1);
    holds(x, 1);
    ends(device, acu_dup(z), ACU_ERR_DEPENDENCY);
    acu_future_release(before);
    acu_future_release(first);
    acu_future_release(second);
    acu_tensor_release(x);
    acu_tensor_release(y);
    acu_tensor_release(z);
    acu_tensor_release(h);
    finish(device);
}

/* Data that an alternative would have overwritten stays as it was, even if it can not be read. */
static void what_is_spared_heals_nothing(void **state)
{
    (void)state;
    acu_device *device = begin();
    acu_tensor *y = tensor_of(device, 1), *z = tensor_of(device, 2);
    fail_call(ACU_CALL_MemsetD32Async);
    ends(device, acu_fill(y, acu_f32(2)), ACU_ERR_DRIVER);
    acu_op *other = acu_zip(acu_fill(z, acu_f32(4)), acu_fill(y, acu_f32(4)));
    acu_op *either = acu_or_else(acu_fill(z, acu_f32(3)), acu_first(other));
    acu_future *future = test_submit(device, either);
    assert_works(acu_future_wait(future, ACU_FOREVER));
    acu_future_release(future);
    ends(device, acu_dup(y), ACU_ERR_DEPENDENCY);
    holds(z, 3); /* which could be read */
    /* The same if the alternative waits for the failing work, and through another alternative that
     * does not run. */
    acu_op *first = acu_after(acu_fill(z, acu_f32(5)), bare(count_run));
    either = acu_or_else(first, acu_first(acu_copy(z, y)));
    yields(device, acu_dup(either), 5);
    either = acu_or_else(acu_fill(z, acu_f32(6)), acu_first(acu_copy(z, acu_fill(y, acu_f32(1)))));
    acu_op *shared = acu_op_retain(either);
    yields(device, acu_dup(either), 6);
    yields(device, acu_dup(shared), 6);
    ends(device, acu_dup(y), ACU_ERR_DEPENDENCY);
    holds(z, 6);
    /* Only the part of a tensor that could not be read. */
    acu_op *part = acu_slice(y, ACU_SHAPE(0), ACU_SHAPE(N / 2));
    fail_call(ACU_CALL_MemsetD32Async);
    ends(device, acu_or_else(acu_fill(y, acu_f32(7)), acu_fill(y, acu_f32(8))), ACU_OK);
    holds(y, 8);
    fail_call(ACU_CALL_MemsetD32Async);
    ends(device, acu_fill(part, acu_f32(9)), ACU_ERR_DRIVER);
    for (int i = 0; i < 2; i++)
        ends(device, acu_or_else(acu_fill(z, acu_f32(3)), acu_fill(y, acu_f32(4))), ACU_OK);
    ends(device, acu_dup(acu_slice(y, ACU_SHAPE(N / 2 - 1), ACU_SHAPE(N))), ACU_ERR_DEPENDENCY);
    ends(device, acu_dup(acu_slice(y, ACU_SHAPE(N / 2), ACU_SHAPE(N))), ACU_OK);
    fail_call(ACU_CALL_MemsetD32Async);
    ends(device, acu_fill(y, acu_f32(1)), ACU_ERR_DRIVER);
    /* If the alternative runs, the data can be read again. */
    fail_call(ACU_CALL_MemcpyDtoDAsync);
    acu_tensor *x = tensor_of(device, 5);
    other = acu_zip(acu_fill(z, acu_f32(6)), acu_fill(y, acu_f32(7)));
    yields(device, acu_or_else(acu_first(acu_copy(z, x)), acu_first(other)), 6);
    holds(y, 7);
    acu_tensor_release(x);
    acu_tensor_release(y);
    acu_tensor_release(z);
    finish(device);
}

static void values_must_match(void **state)
{
    (void)state;
    acu_device *device = begin();
    acu_op *op = acu_or_else(constant(1), acu_zeros(ACU_F32, ACU_SHAPE(N + 1)));
    assert_fails(acu_submit(device, op, NULL, NULL), ACU_ERR_SHAPE, "value 0|f32 [17]|f32 [16]");
    op = acu_or_else(constant(1), acu_zeros(ACU_I32, VECTOR));
    assert_fails(acu_submit(device, op, NULL, NULL), ACU_ERR_DTYPE, "value 0|i32|f32");
    op = acu_or_else(constant(1), acu_zip(constant(1), constant(2)));
    assert_fails(acu_submit(device, op, NULL, NULL), ACU_ERR_ARGUMENTS, "2 values|1");
    op = acu_or_else(constant(1), acu_scalar(acu_f32(1)));
    assert_fails(acu_submit(device, op, NULL, NULL), ACU_ERR_ARGUMENTS, "value 0|kind");
    op = acu_or_else(acu_scalar(acu_f32(2)), acu_scalar(acu_f32(1)));
    assert_fails(acu_submit(device, op, NULL, NULL), ACU_ERR_NOT_SUPPORTED, "scalar");
    op = acu_or_else(acu_partition(constant(1), ACU_SHAPE(4)),
                     acu_partition(constant(1), ACU_SHAPE(8)));
    assert_fails(acu_submit(device, op, NULL, NULL), ACU_ERR_SHAPE, "tiles");
    ends(device, acu_or_else(acu_scalar(acu_f32(2)), acu_scalar(acu_f32(2))), ACU_OK);
    assert_fails(acu_submit(device, acu_or_else(constant(1), (acu_op *)NULL), NULL, NULL),
                 ACU_ERR_INVALID, "or_else");
    finish(device);
}

/* ---- cancelling ---- */

static acu_status pass_gate(void *user, const acu_val *values, size_t count)
{
    test_pass_host_gate(user, values, count);
    return user ? ACU_ERR_INVALID : ACU_OK;
}

/* Host work that is at the gate when this returns. */
static acu_future *submit_to_gate(acu_device *device, acu_op *op)
{
    test_host_gate_close();
    acu_future *future = test_submit(device, op);
    test_host_gate_await();
    return future;
}

static void giving_up_is_not_for_the_alternative(void **state)
{
    (void)state;
    acu_device *device = begin();
    static bool fails;
    acu_op *first = acu_op_host(pass_gate, ACU_USER(&fails), NULL, 0, ACU_SITE);
    acu_future *future = submit_to_gate(device, acu_or_else(first, bare(count_run)));
    assert_works(acu_future_cancel(future));
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), ACU_ERR_CANCELLED);
    test_host_gate_open();
    acu_future_release(future);
    test_close(device);
    test_leaks_none();
    assert_int_equal(runs, 0);
    assert_int_equal(releases, 1);
}

/* Neither an alternative that was decided against nor one that was given up. */
static void what_does_not_run_changes_nothing(void **state)
{
    (void)state;
    static bool fails;
    acu_device *device = begin();
    acu_tensor *y = tensor_of(device, 1);
    answer = false;
    acu_op *other = acu_after(bare(count_run), acu_fill(y, acu_f32(2)));
    ends(device, acu_or_else_if(bare(fail_run), other, ask, NULL), ACU_ERR_CALLBACK);
    holds(y, 1);
    acu_op *first = acu_op_host(pass_gate, ACU_USER(&fails), NULL, 0, ACU_SITE);
    other = acu_after(bare(count_run), acu_fill(y, acu_f32(2)));
    acu_future *future = submit_to_gate(device, acu_or_else(first, other));
    assert_works(acu_future_cancel(future));
    test_host_gate_open();
    holds(y, 1);
    acu_future_release(future);
    acu_tensor_release(y);
    finish(device);
    assert_int_equal(runs, 1);
}

/* ---- finally ---- */

static void it_runs_after_success_and_failure(void **state)
{
    (void)state;
    acu_device *device = begin();
    yields(device, acu_finally(acu_to_host(constant(1)), bare(count_run)), 1);
    assert_int_equal(runs, 1);
    ends(device, acu_finally(broken(1), bare(count_run)), ACU_ERR_CALLBACK);
    assert_int_equal(runs, 3);
    fail_call(ACU_CALL_MemsetD32Async);
    ends(device, acu_finally(constant(1), bare(count_run)), ACU_ERR_DRIVER);
    assert_int_equal(runs, 4);
    /* A failure beside it came first. */
    acu_op *behind = acu_finally(acu_to_device(device, broken(1)), bare(count_run));
    ends(device, behind, ACU_ERR_CALLBACK);
    assert_int_equal(runs, 6);
    /* Device work, whose result others then read. */
    acu_tensor *x = tensor_of(device, 1);
    ends(device, acu_finally(broken(1), acu_fill(x, acu_f32(2))), ACU_ERR_CALLBACK);
    holds(x, 2);
    acu_tensor_release(x);
    finish(device);
}

static void the_first_failure_is_told(void **state)
{
    (void)state;
    acu_device *device = begin();
    ends(device, acu_finally(constant(1), bare(fail_run)), ACU_ERR_CALLBACK);
    fail_call(ACU_CALL_MemsetD32Async);
    ends(device, acu_finally(constant(1), bare(fail_run)), ACU_ERR_DRIVER);
    assert_int_equal(runs, 2);
    /* Refused: nothing began. */
    acu_op *wrong = acu_finally(acu_nth(constant(1), 2), bare(count_run));
    assert_fails(acu_submit(device, wrong, NULL, NULL), ACU_ERR_ARGUMENTS, "value 2");
    assert_int_equal(runs, 2);
    assert_int_equal(releases, 3);
    finish(device);
}

static void it_nests(void **state)
{
    (void)state;
    acu_device *device = begin();
    acu_op *inner = acu_finally(broken(1), bare(count_run));
    yields(device, acu_finally(acu_or_else(inner, acu_to_host(constant(2))), bare(count_run)), 2);
    assert_int_equal(runs, 3);
    /* It is a part of an alternative that is not needed. */
    acu_op *other = acu_finally(acu_to_host(constant(4)), bare(count_run));
    yields(device, acu_or_else(acu_to_host(constant(3)), other), 3);
    assert_int_equal(runs, 3);
    /* The last op fails: then the alternative around it runs. */
    inner = acu_finally(acu_to_host(constant(5)), bare(fail_run));
    yields(device, acu_or_else(inner, acu_to_host(constant(6))), 6);
    assert_int_equal(runs, 4);
    /* With alternatives of its own. */
    ends(device, acu_finally(broken(7), acu_or_else(bare(fail_run), bare(count_run))),
         ACU_ERR_CALLBACK);
    assert_int_equal(runs, 7);
    finish(device);
}

/* If it is a part of an alternative that does not run, it never began. */
static void not_where_the_alternative_does_not_run(void **state)
{
    (void)state;
    static bool fails;
    acu_device *device = begin();
    acu_tensor *host;
    assert_works(acu_tensor_alloc_pinned(device, ACU_F32, VECTOR, &host));
    answer = false;
    acu_op *other = acu_finally(bare(count_run), bare(count_run));
    ends(device, acu_or_else_if(bare(fail_run), other, ask, NULL), ACU_ERR_CALLBACK);
    assert_int_equal(runs, 1); /* what failed */
    /* In an alternative, and in the op that the alternative tries. */
    other = acu_or_else(acu_finally(bare(count_run), bare(count_run)),
                        acu_finally(bare(count_run), bare(count_run)));
    ends(device, acu_or_else_if(bare(fail_run), other, ask, NULL), ACU_ERR_CALLBACK);
    assert_int_equal(runs, 2);
    /* Given up while the first op runs, and before. */
    acu_op *first = acu_op_host(pass_gate, ACU_USER(&fails), ACU_ARGS(acu_out(host)), ACU_SITE);
    other = acu_finally(host_work(count_run, acu_out(host)), bare(count_run));
    acu_future *future = submit_to_gate(device, acu_or_else(first, other));
    first = host_work(count_run, acu_out(host));
    other = acu_finally(host_work(count_run, acu_out(host)), bare(count_run));
    acu_future *behind = test_submit(device, acu_or_else(first, other));
    assert_works(acu_future_cancel(future));
    assert_works(acu_future_cancel(behind));
    test_host_gate_open();
    acu_future_release(future);
    acu_future_release(behind);
    acu_tensor_release(host);
    test_close(device);
    test_leaks_none();
    assert_int_equal(runs, 2);
}

static acu_op *then_return(void *user, acu_val *values, size_t count)
{
    (void)values, (void)count;
    return user;
}

/* The last op runs whatever happens, also if it is used elsewhere in the submission, or falls back
 * from something that is. */
static void the_last_op_is_used_elsewhere(void **state)
{
    (void)state;
    acu_device *device = begin();
    acu_op *last = acu_op_retain(bare(count_run));
    ends(device, acu_zip(acu_then(bare(fail_run), then_return, last),
                         acu_finally(acu_scalar(acu_u8(0)), last)), ACU_ERR_CALLBACK);
    assert_int_equal(runs, 2);
    last = acu_op_retain(bare(count_run));
    ends(device, acu_finally(acu_after(last, bare(fail_run)), last), ACU_ERR_CALLBACK);
    assert_int_equal(runs, 4);
    acu_op *x = acu_op_retain(bare(fail_run));
    ends(device, acu_finally(x, acu_or_else(x, bare(count_run))), ACU_ERR_CALLBACK);
    assert_int_equal(runs, 6);
    finish(device);
}

/* Another submission has planned it, and both are given up. */
static void the_last_op_is_of_another_submission(void **state)
{
    (void)state;
    acu_device *device = begin();
    acu_tensor *host;
    assert_works(acu_tensor_alloc_pinned(device, ACU_F32, VECTOR, &host));
    for (int way = 0; way < 2; way++) {
        test_host_gate_close();
        acu_op *gate = acu_host(test_pass_host_gate, NULL, acu_inout(host));
        acu_future *held = test_submit(device, gate), *f[2];
        acu_op *last = acu_op_retain(host_work(count_run, acu_inout(host)));
        f[0] = test_submit(device, acu_op_retain(last));
        acu_op *used = way ? acu_zip(last, acu_scalar(acu_u8(1))) : last;
        f[1] = test_submit(device, acu_finally(acu_scalar(acu_u8(0)), used));
        acu_op_release(last);
        for (int i = 0; i < 2; i++)
            assert_works(acu_future_cancel(f[i]));
        test_host_gate_open();
        assert_works(acu_device_wait(device, ACU_FOREVER));
        assert_int_equal(runs, way + 1);
        for (int i = 0; i < 2; i++)
            acu_future_release(f[i]);
        acu_future_release(held);
    }
    acu_tensor_release(host);
    finish(device);
}

/* An alternative that has begun ends with its `finally`. */
static void where_the_alternative_was_begun(void **state)
{
    (void)state;
    acu_device *device = begin();
    acu_op *gate = acu_op_host(pass_gate, ACU_USER(NULL), NULL, 0, ACU_SITE);
    acu_op *other = acu_finally(acu_after(gate, bare(fail_run)), bare(count_run));
    ends(device, acu_or_else(bare(fail_run), other), ACU_ERR_CALLBACK);
    assert_int_equal(runs, 3);
    gate = acu_op_host(pass_gate, ACU_USER(NULL), NULL, 0, ACU_SITE);
    other = acu_finally(acu_after(bare(count_run), gate), bare(count_run));
    acu_future *future = submit_to_gate(device, acu_or_else(bare(fail_run), other));
    assert_works(acu_future_cancel(future));
    test_host_gate_open();
    acu_future_release(future);
    test_close(device);
    test_leaks_none();
    assert_int_equal(runs, 5);
}

static void it_runs_when_given_up(void **state)
{
    (void)state;
    acu_device *device = begin();
    acu_tensor *host;
    assert_works(acu_tensor_alloc_pinned(device, ACU_F32, VECTOR, &host));
    acu_op *at_gate = acu_op_host(pass_gate, ACU_USER(NULL), ACU_ARGS(acu_out(host)), ACU_SITE);
    acu_future *gate = submit_to_gate(device, at_gate);
    /* Neither the copy nor the first host call has begun. */
    acu_op *op = host_work(count_run, acu_in(acu_to_device(device, host)));
    acu_op_release(op);
    op = acu_zip(acu_to_device(device, host), host_work(count_run, acu_in(host)));
    acu_future *future = test_submit(device, acu_finally(op, bare(count_run)));
    assert_works(acu_future_cancel(future));
    assert_int_equal(acu_future_poll(future), ACU_ERR_CANCELLED);
    assert_int_equal(runs, 0);
    acu_future_release(future);
    test_host_gate_open();
    assert_works(acu_future_wait(gate, ACU_FOREVER));
    acu_future_release(gate);
    acu_tensor_release(host);
    test_close(device);
    test_leaks_none();
    assert_int_equal(runs, 1);
}

/* Else each of many submissions would be complete only after the host work of all. */
static void what_ends_a_submission_goes_first(void **state)
{
    (void)state;
    acu_device *device = begin();
    atomic_store(&notes, 0);
    test_host_gate_close();
    acu_future *futures[5] = {test_submit(device, bare(test_pass_host_gate))};
    for (int i = 1; i < 4; i++) {
        acu_op *work = noting(note, 10 * i);
        futures[i] = test_submit(device, acu_finally(work, noting(note, 10 * i + 1)));
    }
    acu_op *last = acu_or_else_if(noting(note_and_fail, 40), noting(note, 43), note_asked,
                                  (void *)(intptr_t)41);
    futures[4] = test_submit(device, acu_finally(last, noting(note, 44)));
    acu_future *plain = test_submit(device, noting(note, 50));
    test_host_gate_open();
    for (int i = 0; i < 5; i++) {
        assert_works(acu_future_wait(futures[i], ACU_FOREVER));
        acu_future_release(futures[i]);
    }
    assert_works(acu_future_wait(plain, ACU_FOREVER));
    acu_future_release(plain);
    /* The alternative is ordinary work, so it comes behind what was there before it. */
    static const int order[] = {10, 11, 20, 21, 30, 31, 40, 41, 50, 43, 44};
    assert_int_equal(notes, 11);
    assert_memory_equal(noted, order, sizeof order);
    finish(device);
}

/* Where one end follows another without pause, other host work gets on too. */
static void what_ends_submissions_holds_nothing_up_for_good(void **state)
{
    (void)state;
    enum { ENDS = 40 };
    acu_device *device = begin();
    acu_future *futures[ENDS + 2];
    atomic_store(&notes, 0);
    test_host_gate_close();
    futures[ENDS] = test_submit(device, bare(test_pass_host_gate));
    test_host_gate_await();
    futures[ENDS + 1] = test_submit(device, noting(note, ENDS));
    for (int i = 0; i < ENDS; i++) /* what it comes after is over already */
        futures[i] = test_submit(device, acu_finally(acu_scalar(acu_i32(i)), noting(note, i)));
    test_host_gate_open();
    for (int i = 0; i < ENDS + 2; i++) {
        assert_works(acu_future_wait(futures[i], ACU_FOREVER));
        acu_future_release(futures[i]);
    }
    int at = 0, ends = 0;
    for (int i = 0; i <= ENDS; i++)
        if (noted[i] == ENDS)
            at = i;
        else
            assert_int_equal(noted[i], ends++);
    assert_in_range(at, 1, ENDS - 1);
    finish(device);
}

static void no_graphs(void **state)
{
    (void)state;
    acu_device *device = begin();
    acu_graph *graph;
    acu_op *op = acu_or_else(constant(1), constant(2));
    assert_fails(acu_graph_load(device, op, NULL, &graph), ACU_ERR_NOT_SUPPORTED, "or_else");
    finish(device);
}

enum { MANY = 4000 };

/* Each of many alternatives, in one submission, comes behind what it stands in for and behind
 * nothing else; that is an op of their own, or one for all. (If each looked through all parts of
 * the submission for that, this would take very long.) */
static void many_alternatives(void **state)
{
    (void)state;
    static acu_op *ops[MANY];
    acu_device *device = begin();
    for (int how = 0; how < 4; how++) {
        bool fails = how % 2, own = how < 2;
        acu_op *x = bare(fails ? fail_run : count_run);
        for (int i = 0; i < MANY; i++) {
            acu_op *tried = own ? bare(i % 2 == fails ? fail_run : count_run) : acu_op_retain(x);
            ops[i] = acu_or_else(acu_last(acu_zip(tried, acu_scalar(acu_i32(1)))),
                                 acu_last(acu_zip(bare(count_run), acu_scalar(acu_i32(1)))));
        }
        acu_op_release(x);
        assert_works(acu_sync(device, acu_op_zip(ops, MANY, ACU_SITE), NULL));
        assert_int_equal(atomic_load(&runs), own ? MANY + MANY / 2 : fails ? MANY + 1 : 1);
        atomic_store(&runs, 0);
    }
    finish(device);
}

/* Many tries, each the alternative to all of those before. */
static void many_tries(void **state)
{
    enum { TRIES = 1500, GOOD = 1000 };
    (void)state;
    acu_device *device = begin();
    for (int good = GOOD; good <= TRIES; good += TRIES - GOOD) {
        acu_op *op = acu_last(acu_zip(bare(fail_run), acu_scalar(acu_i32(1))));
        for (int i = 2; i <= TRIES; i++) {
            acu_op *next = bare(i == good ? count_run : fail_run);
            op = acu_or_else(op, acu_last(acu_zip(next, acu_scalar(acu_i32(1)))));
        }
        assert_works(acu_sync(device, op, NULL));
        assert_int_equal(atomic_exchange(&runs, 0), good);
    }
    finish(device);
}

static acu_op *writes(acu_host_fn fn, acu_tensor *x)
{
    acu_arg all = acu_arg_tensor(x, ACU_WRITE);
    return acu_op_host(fn, (acu_user){0}, &all, 1, ACU_SITE);
}

/* An alternative may leave what it was to write as it was. So it comes behind writes of it that
 * failed and are over, which another complete write would not. */
static void an_alternative_behind_many_failed_writes(void **state)
{
    (void)state;
    enum { PARTS = 100 };
    acu_device *device = begin();
    acu_tensor *x, *part;
    assert_works(acu_tensor_alloc_pinned(device, ACU_F32, ACU_SHAPE(PARTS), &x));
    for (int64_t i = 0; i < PARTS; i++) {
        int64_t end = i + 1;
        assert_works(acu_tensor_slice(x, &i, &end, &part));
        assert_int_equal(acu_sync(device, writes(fail_run, part), NULL), ACU_ERR_CALLBACK);
        acu_tensor_release(part);
    }
    acu_op *tried = acu_after(constant(1), bare(fail_run));
    acu_op *other = acu_after(constant(2), writes(count_run, x));
    assert_works(acu_sync(device, acu_or_else(tried, other), NULL));
    assert_works(acu_sync(device, acu_dup(x), NULL));
    acu_tensor_release(x);
    finish(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_success_needs_no_alternative),
        cmocka_unit_test(an_alternative_behind_many_failed_writes),
        cmocka_unit_test(found_at_completion),
        cmocka_unit_test(found_at_issue),
        cmocka_unit_test(found_at_submit),
        cmocka_unit_test(what_was_refused_leaves_no_record),
        cmocka_unit_test(the_program_decides),
        cmocka_unit_test(the_reason_of_a_function),
        cmocka_unit_test(an_alternative_may_fail_too),
        cmocka_unit_test(others_are_not_touched),
        cmocka_unit_test(what_several_use_is_everybodys),
        cmocka_unit_test(each_user_has_its_alternative),
        cmocka_unit_test(an_alternative_fails_with_what_others_run),
        cmocka_unit_test(an_alternative_fails_with_what_is_kept),
        cmocka_unit_test(who_has_no_alternative_fails),
        cmocka_unit_test(planned_while_some_of_it_fails),
        cmocka_unit_test(what_several_use_inside_is_no_others),
        cmocka_unit_test(what_is_used_outside_too_runs),
        cmocka_unit_test(also_if_the_first_user_fails),
        cmocka_unit_test(what_was_stopped_did_not_fail),
        cmocka_unit_test(what_is_spared_heals_nothing),
        cmocka_unit_test(values_must_match),
        cmocka_unit_test(giving_up_is_not_for_the_alternative),
        cmocka_unit_test(what_does_not_run_changes_nothing),
        cmocka_unit_test(it_runs_after_success_and_failure),
        cmocka_unit_test(the_first_failure_is_told),
        cmocka_unit_test(it_nests),
        cmocka_unit_test(the_last_op_is_used_elsewhere),
        cmocka_unit_test(the_last_op_is_of_another_submission),
        cmocka_unit_test(not_where_the_alternative_does_not_run),
        cmocka_unit_test(where_the_alternative_was_begun),
        cmocka_unit_test(it_runs_when_given_up),
        cmocka_unit_test(what_ends_a_submission_goes_first),
        cmocka_unit_test(what_ends_submissions_holds_nothing_up_for_good),
        cmocka_unit_test(no_graphs),
        cmocka_unit_test(many_alternatives),
        cmocka_unit_test(many_tries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
