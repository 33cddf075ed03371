/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Composing ops: what each combinator yields and in which form, that an op used twice runs once,
 * that `then` keeps the order, and that the user data of an op is released once and nothing is left
 * over, whatever happens to the op.
 */
#include "support/support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

extern const char test_compose_ptx[];

enum { N = 100 };
#define ALL acu_for_num_elems(N)
#define VECTOR ACU_SHAPE(N)

typedef struct bench {
    acu_device *device;
    acu_kernel *add, *sum, *tile_add;
} bench;

static bench open_bench(void)
{
    bench b = {.device = test_open()};
    acu_module *module = test_load_ptx(b.device, NULL, test_compose_ptx);
    assert_works(acu_kernel_get(module, "add", &b.add));
    assert_works(acu_kernel_get(module, "sum", &b.sum));
    assert_works(acu_kernel_get(module, "tile_add", &b.tile_add));
    acu_module_release(module);
    return b;
}

static void close_bench(bench *b)
{
    acu_kernel_release(b->add);
    acu_kernel_release(b->sum);
    acu_kernel_release(b->tile_add);
    test_close(b->device);
    test_leaks_none();
}

/* All elements of the tensor have this value. */
static void holds(acu_tensor *tensor, float want)
{
    float x[N];
    assert_int_equal(acu_tensor_elements(tensor), N);
    assert_works(acu_read_sync(tensor, x, sizeof x));
    for (int i = 0; i < N; i++)
        if (x[i] != want)
            fail_msg("element %d is %g, not %g", i, (double)x[i], (double)want);
}

static acu_op *constant(float value)
{
    return acu_full(VECTOR, acu_f32(value));
}

/* x + value: a launch yields its arguments, and x is the first of them. */
static acu_op *plus(const bench *b, acu_op *x, float value)
{
    return acu_first(acu_launch(b->add, ALL, acu_inout(x), acu_f32(value), acu_u32(N)));
}

static acu_future *submit(const bench *b, acu_op *op)
{
    acu_future *future = NULL;
    assert_works(acu_submit(b->device, op, NULL, &future));
    return future;
}

static acu_tensor *result(const bench *b, acu_op *op)
{
    acu_tensor *tensor = NULL;
    assert_works(acu_sync(b->device, op, &tensor));
    return tensor;
}

/* An expression is as long as it looks: each level of it is compiled once. Before the macros saw to
 * that, a compiler did not get to the end of this one. */
static void expressions_nest(void **state)
{
    (void)state;
    bench b = open_bench();
#define PLUS(x) acu_first(acu_launch(b.add, ALL, acu_inout(x), acu_f32(1), acu_u32(N)))
    acu_tensor *x = result(
        &b, PLUS(PLUS(PLUS(PLUS(PLUS(PLUS(PLUS(PLUS(PLUS(PLUS(acu_zeros(ACU_F32, VECTOR))))))))))));
#undef PLUS
    holds(x, 10);
    acu_tensor *y = result(
        &b, acu_add(acu_add(acu_add(acu_add(acu_add(acu_add(acu_add(acu_add(acu_add(acu_add(
                x, 1), 1), 1), 1), 1), 1), 1), 1), 1), 1));
    holds(y, 20);
    acu_tensor_release(x);
    acu_tensor_release(y);
    close_bench(&b);
}

/* A list in a macro has up to 64 items; their number is counted right. */
static void lists_have_up_to_64_items(void **state)
{
    (void)state;
    bench b = open_bench();
#define FOUR acu_scalar(acu_u32(1)), acu_scalar(acu_u32(2)), acu_scalar(acu_u32(3)), \
             acu_scalar(acu_u32(4))
#define SIXTEEN FOUR, FOUR, FOUR, FOUR
    acu_op *const ops[] = {acu_zip(FOUR), acu_zip(SIXTEEN, FOUR),
                           acu_zip(SIXTEEN, SIXTEEN, SIXTEEN, SIXTEEN)};
#undef SIXTEEN
#undef FOUR
    const size_t counts[] = {4, 20, 64};
    for (int i = 0; i < 3; i++) {
        acu_future *future = submit(&b, ops[i]);
        assert_int_equal(acu_future_values(future), counts[i]);
        acu_future_release(future);
    }
    close_bench(&b);
}

/* The op's first value has this value. */
static void yields(const bench *b, acu_op *op, float want)
{
    acu_tensor *tensor = result(b, op);
    holds(tensor, want);
    acu_tensor_release(tensor);
}

static uint64_t operations(void)
{
    acu_process_statistics counters = {.size = sizeof counters};
    acu_process_stats(&counters);
    return counters.operations;
}

/* ---- what combinators yield ---- */

static void zip_and_unzip(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_op *parts[3];
    acu_unzip(acu_zip(constant(1), constant(2), acu_scalar(acu_i32(-7))), parts, 3);
    acu_future *future = submit(&b, acu_zip(parts[2], parts[1], parts[0]));
    assert_int_equal(acu_future_values(future), 3);
    acu_dtype dtype;
    uint64_t bits;
    assert_works(acu_future_scalar(future, 0, &dtype, &bits));
    assert_int_equal(dtype, ACU_I32);
    assert_int_equal((int32_t)bits, -7);
    holds(acu_future_tensor(future, 1), 2);
    holds(acu_future_tensor(future, 2), 1);
    acu_future_release(future);

    /* Parts that are used in different places share one run; one part is not used. */
    uint64_t before = operations();
    acu_unzip(acu_zip(constant(3), constant(4), constant(5)), parts, 3);
    yields(&b, parts[2], 5);
    acu_op_release(parts[1]);
    yields(&b, parts[0], 3);
    assert_int_equal(operations() - before, 3 + 2); /* and two copies to the host to read them */

    /* Zips of any width, nested, and of nothing. */
    acu_op *wide[40];
    for (int i = 0; i < 40; i++)
        wide[i] = i % 2 ? acu_scalar(acu_u32((uint32_t)i)) : acu_zip(constant((float)i));
    yields(&b, acu_nth(acu_op_zip(wide, 40, ACU_SITE), 38), 38);
    future = submit(&b, acu_op_zip(NULL, 0, ACU_SITE));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_int_equal(acu_future_values(future), 0);
    acu_future_release(future);
    close_bench(&b);
}

static void first_last_nth(void **state)
{
    (void)state;
    bench b = open_bench();
    yields(&b, acu_first(acu_zip(constant(1), constant(2), constant(3))), 1);
    yields(&b, acu_last(acu_zip(constant(1), constant(2), constant(3))), 3);
    yields(&b, acu_nth(acu_zip(constant(1), constant(2), constant(3)), 1), 2);
    acu_tensor *x = result(&b, constant(4));
    yields(&b, acu_last(x), 4); /* a tensor in the place of an op */
    acu_tensor_release(x);
    close_bench(&b);
}

static acu_op *twice(acu_op *x, void *user)
{
    const bench *b = user;
    return plus(b, plus(b, x, 1), 1);
}

static void apply_chains_functions(void **state)
{
    (void)state;
    bench b = open_bench();
    yields(&b, acu_apply(acu_apply(constant(1), twice, &b), twice, &b), 5);
    close_bench(&b);
}

static void reshape_and_partition(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_tensor *t = result(&b, acu_reshape(acu_reshape(constant(2), ACU_SHAPE(4, 25)),
                                           ACU_SHAPE(5, 2, 10)));
    assert_true(acu_shape_equal(acu_tensor_shape(t), ACU_SHAPE(5, 2, 10)));
    holds(t, 2);
    acu_op *tiles = acu_partition(acu_reshape(acu_give(t), VECTOR), ACU_SHAPE(32));
    acu_op *sum = acu_launch(b.tile_add, ACU_BLOCK(32), acu_inout(tiles), acu_f32(3));
    yields(&b, acu_unpartition(acu_first(sum)), 5);
    close_bench(&b);
}

/* ---- host functions while planning ---- */

typedef struct seen {
    int calls;
    size_t count;
    acu_val values[4];
    acu_shape shape;
    pthread_t thread;
} seen;

static void see(seen *s, const acu_val *values, size_t count)
{
    s->calls++;
    s->count = count;
    s->thread = pthread_self();
    for (size_t i = 0; i < count && i < 4; i++)
        s->values[i] = values[i];
    if (count && values[0].tensor)
        s->shape = acu_tensor_shape(values[0].tensor);
}

static void look(void *user, const acu_val *values, size_t count)
{
    see(user, values, count);
}

static acu_status keep_all(void *user, acu_val *values, size_t count)
{
    see(user, values, count);
    return ACU_OK;
}

static acu_status replace(void *user, acu_val *values, size_t count)
{
    if (count != 2)
        return ACU_ERR_INVALID;
    acu_val_set_scalar(&values[1], acu_u16(99));
    acu_val_set_tensor(&values[0], acu_tensor_retain(user));
    return ACU_OK;
}

static acu_op *take_second(void *user, acu_val *values, size_t count)
{
    see(user, values, count);
    return acu_take(&values[1]);
}

static void callbacks_see_handles(void **state)
{
    (void)state;
    bench b = open_bench();
    seen s = {0};
    yields(&b, acu_inspect(acu_zip(constant(1), acu_scalar(acu_f32(2))), look, &s), 1);
    assert_int_equal(s.calls, 1);
    assert_int_equal(s.count, 2);
    assert_true(pthread_equal(s.thread, pthread_self())); /* on the submitting thread */
    assert_int_equal(s.values[0].kind, ACU_TENSOR);
    assert_true(acu_shape_equal(s.shape, VECTOR));
    assert_int_equal(s.values[1].kind, ACU_SCALAR);
    assert_int_equal(s.values[1].dtype, ACU_F32);
    assert_int_equal(s.values[1].bits, 0x40000000);

    s = (seen){0};
    yields(&b, acu_map(constant(2), keep_all, &s), 2);
    assert_int_equal(s.calls, 1);

    acu_tensor *mine = result(&b, constant(7));
    acu_future *future =
        submit(&b, acu_map(acu_zip(constant(1), acu_scalar(acu_f32(2))), replace, mine));
    holds(acu_future_tensor(future, 0), 7);
    acu_dtype dtype;
    uint64_t bits;
    assert_works(acu_future_scalar(future, 1, &dtype, &bits));
    assert_int_equal(dtype, ACU_U16);
    assert_int_equal(bits, 99);
    acu_future_release(future);
    acu_tensor_release(mine);

    s = (seen){0};
    yields(&b, acu_then(acu_zip(constant(1), constant(2)), take_second, &s), 2);
    assert_int_equal(s.calls, 1);
    close_bench(&b);
}

static acu_status return_error(void *user, acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_ERR_IO;
}

static acu_op *return_null(void *user, acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return NULL;
}

static void callbacks_that_fail(void **state)
{
    (void)state;
    bench b = open_bench();
    uint64_t before = operations();
    assert_fails(acu_submit(b.device, acu_map(constant(1), return_error, NULL), NULL, NULL),
                 ACU_ERR_CALLBACK, "acu_map|ACU_ERR_IO");
    assert_fails(acu_submit(b.device, acu_then(constant(1), return_null, NULL), NULL, NULL),
                 ACU_ERR_CALLBACK, "acu_then|no op");
    assert_int_equal(operations(), before); /* nothing of it was enqueued */
    close_bench(&b);
}

/* ---- acu_callback_fail: whatever the function returns, what it was given to fails ---- */

static acu_op *fail_then(void *user, acu_val *values, size_t count)
{
    (void)values, (void)count;
    assert_int_equal(acu_callback_fail("%s %d", "reason", 7), ACU_ERR_CALLBACK);
    return user ? constant(1) : NULL;
}

static acu_op *fail_make(void *user, acu_device *device)
{
    (void)device;
    return fail_then(user, NULL, 0);
}

static acu_op *fail_custom(acu_planning *planning)
{
    return fail_then(planning->user, NULL, 0);
}

static acu_status fail_map(void *user, acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    acu_callback_fail("reason 7");
    return ACU_OK;
}

static acu_status fail_host(void *user, const acu_val *values, size_t count)
{
    (void)values, (void)count;
    return fail_map(user, NULL, 0);
}

static acu_status fail_foreign(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)stream, (void)values, (void)count;
    return fail_map(user, NULL, 0);
}

static void fail_inspect(void *user, const acu_val *values, size_t count)
{
    (void)values, (void)count;
    fail_map(user, NULL, 0);
}

static bool fail_decision(void *user, const acu_error *error)
{
    (void)user, (void)error;
    acu_callback_fail("reason 7");
    return true;
}

/* A function that fails by itself inside one that does not. */
static acu_op *submit_failing(void *user, acu_val *values, size_t count)
{
    (void)values, (void)count;
    bench *b = user;
    assert_fails(acu_submit(b->device, acu_map(constant(1), fail_map, NULL), NULL, NULL),
                 ACU_ERR_CALLBACK, "acu_map failed: reason 7");
    return constant(2);
}

static size_t fail_choice(void *user, const acu_policy_stream *streams, size_t count)
{
    (void)streams, (void)count;
    fail_map(user, NULL, 0);
    return 0;
}

static void callbacks_fail_by_a_call(void **state)
{
    (void)state;
    bench b = open_bench();
    int something;
    assert_fails(acu_callback_fail("outside"), ACU_ERR_INVALID, "acu_callback_fail");
    for (void *user = NULL;; user = &something) { /* returning no op, and one */
        assert_fails(acu_sync(b.device, acu_then(constant(1), fail_then, user), NULL),
                     ACU_ERR_CALLBACK, "acu_then failed: reason 7");
        assert_fails(acu_sync(b.device, acu_make(fail_make, user), NULL), ACU_ERR_CALLBACK,
                     "acu_make failed: reason 7");
        acu_custom custom = {.name = "mine", .fn = fail_custom, .user = ACU_USER(user)};
        assert_fails(acu_sync(b.device, acu_op_custom(custom, NULL, 0, ACU_SITE), NULL),
                     ACU_ERR_CALLBACK, "mine failed: reason 7");
        if (user)
            break;
    }
    assert_fails(acu_sync(b.device, acu_map(constant(1), fail_map, NULL), NULL), ACU_ERR_CALLBACK,
                 "acu_map failed: reason 7");
    assert_fails(acu_sync(b.device, acu_inspect(constant(1), fail_inspect, NULL), NULL),
                 ACU_ERR_CALLBACK, "acu_inspect failed: reason 7");
    assert_fails(acu_sync(b.device, acu_host(fail_host, NULL), NULL), ACU_ERR_CALLBACK,
                 "acu_host failed: reason 7");
    assert_fails(acu_sync(b.device, acu_foreign(fail_foreign, NULL, acu_in(constant(1))), NULL),
                 ACU_ERR_CALLBACK, "acu_foreign failed: reason 7");
    /* The alternative does not run, and the failure is the first one. */
    assert_fails(acu_sync(b.device,
                          acu_or_else_if(acu_then(constant(1), fail_then, NULL), constant(2),
                                         fail_decision, NULL),
                          NULL),
                 ACU_ERR_CALLBACK, "acu_then failed: reason 7");
    acu_tensor *x;
    assert_works(acu_sync(b.device, acu_then(constant(1), submit_failing, &b), &x));
    holds(x, 2);
    acu_tensor_release(x);
    close_bench(&b);
}

static void policies_fail_by_a_call(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_policy *policy;
    acu_policy_options options = {.size = sizeof options, .choose = fail_choice, .streams = 1};
    assert_works(acu_policy_create(b.device, &options, &policy));
    acu_submit_options on = {.size = sizeof on, .policy = policy};
    assert_fails(acu_submit(b.device, constant(1), &on, NULL), ACU_ERR_CALLBACK,
                 "a policy failed: reason 7");
    acu_policy_release(policy);
    close_bench(&b);
}

/* ---- launches and host work without arguments ---- */

static acu_status count_calls(void *user, const acu_val *values, size_t count)
{
    (void)values;
    *(int *)user += count == 0;
    return ACU_OK;
}

static void launches_without_arguments(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_module *module = test_load_ptx(device, NULL, test_compose_ptx);
    acu_kernel *tick, *take;
    assert_works(acu_kernel_get(module, "tick", &tick));
    assert_works(acu_kernel_get(module, "take_ticks", &take));
    acu_module_release(module);
    assert_works(acu_sync(device, acu_launch(tick, ACU_BLOCK(32)), NULL)); /* one block */
    assert_works(acu_sync(device, acu_launch(tick, ACU_GRID_BLOCK(2, 1, 1, 4, 1, 1)), NULL));
    acu_config config = {.block = {1, 1, 1}};
    assert_works(acu_sync(device, acu_op_launch(tick, &config, NULL, 0, ACU_SITE), NULL));
    acu_tensor *x;
    unsigned ticks;
    assert_works(acu_sync(device,
                          acu_launch(take, ACU_GRID_BLOCK(1, 1, 1, 1, 1, 1),
                                     acu_out(acu_empty(ACU_U32, ACU_SHAPE(1)))),
                          &x));
    assert_works(acu_read_sync(x, &ticks, sizeof ticks));
    assert_int_equal(ticks, 32 + 8 + 1);
    /* One that has parameters is refused for that. */
    assert_fails(acu_sync(device, acu_launch(take, ACU_BLOCK(1)), NULL), ACU_ERR_ARGUMENTS,
                 "take_ticks");
    int calls = 0;
    assert_works(acu_sync(device, acu_host(count_calls, &calls), NULL));
    assert_int_equal(calls, 1);
    acu_tensor_release(x);
    acu_kernel_release(take);
    acu_kernel_release(tick);
    test_close(device);
    test_leaks_none();
}

/* What is only read may be const. (That what is written may not be: repo.cxx.) */
static void const_tensors_are_read(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_tensor *made, *x;
    assert_works(acu_sync(b.device, constant(3), &made));
    const acu_tensor *t = made;
    assert_works(acu_sync(b.device, acu_add(t, acu_dup(t)), &x));
    holds(x, 6);
    acu_tensor_release(x);
    assert_works(acu_sync(b.device,
                          acu_launch(b.sum, ALL, acu_out(acu_empty(ACU_F32, VECTOR)), acu_in(t),
                                     acu_in(t), acu_u32(N)),
                          &x));
    holds(x, 6);
    assert_works(acu_sync(b.device, acu_copy(x, t), NULL));
    holds(x, 3);
    acu_tensor_release(x);
    acu_tensor_release(made);
    close_bench(&b);
}

static acu_status return_ok(void *user, acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_OK;
}

/* What succeeds does not change the thread's record. */
static void callbacks_that_do_not(void **state)
{
    (void)state;
    bench b = open_bench();
    assert_fails(acu_device_wait(NULL, 0), ACU_ERR_INVALID, "the device is NULL");
    assert_works(acu_sync(b.device, acu_map(constant(1), return_ok, NULL), NULL));
    assert_fails(acu_last_error()->status, ACU_ERR_INVALID, "acu_device_wait");
    close_bench(&b);
}

/* ---- forms ---- */

static acu_form form_of(const bench *b, acu_op *op, acu_value_kind kind)
{
    seen s = {0};
    acu_future *future = submit(b, acu_inspect(op, look, &s));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    acu_future_release(future);
    assert_int_equal(s.calls, 1);
    assert_int_equal(s.values[0].kind, kind);
    return s.values[0].form;
}

static acu_op *launch_on(const bench *b, acu_arg x)
{
    return acu_launch(b->add, ALL, x, acu_f32(0), acu_u32(N));
}

static void what_goes_in_comes_back_in_the_same_form(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_tensor *x = result(&b, constant(1)), *given = result(&b, constant(2));
    assert_int_equal(form_of(&b, constant(1), ACU_TENSOR), ACU_OWNED);
    assert_int_equal(form_of(&b, acu_value(x), ACU_TENSOR), ACU_BORROWED);
    assert_int_equal(form_of(&b, acu_share(x), ACU_TENSOR), ACU_SHARED);
    assert_int_equal(form_of(&b, acu_own(acu_share(constant(1))), ACU_TENSOR), ACU_OWNED);
    assert_int_equal(form_of(&b, launch_on(&b, acu_inout(constant(1))), ACU_TENSOR), ACU_OWNED);
    assert_int_equal(form_of(&b, launch_on(&b, acu_inout(x)), ACU_TENSOR), ACU_BORROWED);
    assert_int_equal(form_of(&b, launch_on(&b, acu_in(acu_share(x))), ACU_TENSOR), ACU_SHARED);
    assert_int_equal(form_of(&b, launch_on(&b, acu_inout(acu_give(given))), ACU_TENSOR), ACU_OWNED);
    assert_int_equal(form_of(&b, acu_reshape(x, ACU_SHAPE(10, 10)), ACU_TENSOR), ACU_BORROWED);
    assert_int_equal(form_of(&b, acu_reshape(constant(1), ACU_SHAPE(10, 10)), ACU_TENSOR),
                     ACU_OWNED);
    assert_int_equal(form_of(&b, acu_fill(x, acu_f32(1)), ACU_TENSOR), ACU_BORROWED);
    assert_int_equal(form_of(&b, acu_dup(x), ACU_TENSOR), ACU_OWNED);
    acu_tensor_release(x);
    close_bench(&b);
}

static void partitions_keep_the_form(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_tensor *x = result(&b, constant(1));
    acu_shape tile = ACU_SHAPE(30);
    assert_int_equal(form_of(&b, acu_partition(constant(1), tile), ACU_PARTITION), ACU_OWNED);
    assert_int_equal(form_of(&b, acu_partition(x, tile), ACU_PARTITION), ACU_BORROWED);
    acu_op *launched = acu_launch(b.tile_add, ACU_AUTO, acu_inout(acu_partition(x, tile)),
                                  acu_f32(1));
    assert_int_equal(form_of(&b, launched, ACU_PARTITION), ACU_BORROWED);
    launched = acu_launch(b.tile_add, ACU_AUTO, acu_inout(acu_partition(constant(1), tile)),
                          acu_f32(1));
    assert_int_equal(form_of(&b, acu_unpartition(launched), ACU_TENSOR), ACU_OWNED);
    holds(x, 2);
    /* The caller of a borrowed partition may use its handle at once. */
    acu_future *future = submit(&b, acu_launch(b.tile_add, ACU_AUTO,
                                               acu_inout(acu_partition(x, tile)), acu_f32(1)));
    holds(x, 3);
    assert_works(acu_future_wait(future, ACU_FOREVER)); /* until then the submission holds x as
                                                         * well */
    acu_future_release(future);
    /* A shared value is owned again once the other users are gone. */
    acu_op *own = acu_own(acu_share(acu_give(x)));
    launched = acu_launch(b.tile_add, ACU_AUTO, acu_inout(acu_partition(own, tile)), acu_f32(1));
    yields(&b, acu_unpartition(acu_first(launched)), 4);
    close_bench(&b);
}

/* ---- used twice ---- */

static void used_twice_runs_once(void **state)
{
    (void)state;
    bench b = open_bench();
    uint64_t before = operations();
    acu_op *x = plus(&b, constant(1), 1);
    acu_op_retain(x);
    acu_future *future = submit(&b, acu_launch(b.sum, ALL, acu_out(acu_empty(ACU_F32, VECTOR)),
                                               acu_in(x), acu_in(x), acu_u32(N)));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_int_equal(operations() - before, 3); /* fill, add, sum */
    holds(acu_future_tensor(future, 0), 4);
    assert_ptr_equal(acu_future_tensor(future, 1), acu_future_tensor(future, 2));
    acu_future_release(future);

    /* In two submissions, the second of them after the first is complete. */
    before = operations();
    x = plus(&b, constant(5), 1);
    acu_op_retain(x);
    yields(&b, acu_dup(x), 6);
    yields(&b, acu_dup(x), 6);
    assert_int_equal(operations() - before, 2 + 2 + 2); /* two reads */

    /* Its result is read-only: to write it takes a copy. */
    x = constant(5);
    acu_op_retain(x);
    future = submit(&b, acu_share(x));
    assert_fails(acu_submit(b.device, plus(&b, x, 1), NULL, NULL), ACU_ERR_SHARED, "shared");
    acu_future_release(future);

    /* A failure reaches all users. */
    x = acu_reshape(constant(1), ACU_SHAPE(3));
    acu_op_retain(x);
    assert_fails(acu_submit(b.device, x, NULL, NULL), ACU_ERR_SHAPE, "[3]");
    assert_fails(acu_submit(b.device, x, NULL, NULL), ACU_ERR_SHAPE, "[3]");
    close_bench(&b);
}

enum { THREADS = 4, ROUNDS = 20 };

typedef struct sharing {
    const bench *b;
    acu_op *op; /* one reference of the thread's own */
    pthread_barrier_t *start;
    acu_tensor *tensor;
} sharing;

static void *use_shared(void *user)
{
    sharing *s = user;
    pthread_barrier_wait(s->start);
    if (acu_sync(s->b->device, acu_dup(s->op), &s->tensor) != ACU_OK)
        s->tensor = NULL;
    return NULL;
}

static void used_by_threads_runs_once(void **state)
{
    (void)state;
    bench b = open_bench();
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t before = operations();
        pthread_barrier_t start;
        pthread_barrier_init(&start, NULL, THREADS);
        acu_op *op = plus(&b, plus(&b, constant(1), 1), (float)round);
        pthread_t threads[THREADS];
        sharing s[THREADS];
        for (int i = 0; i < THREADS; i++)
            s[i] = (sharing){.b = &b, .op = i ? acu_op_retain(op) : op, .start = &start};
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, use_shared, &s[i]), 0);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        pthread_barrier_destroy(&start);
        assert_int_equal(operations() - before, 3 + THREADS);
        for (int i = 0; i < THREADS; i++) {
            assert_non_null(s[i].tensor);
            holds(s[i].tensor, 2 + (float)round);
            acu_tensor_release(s[i].tensor);
        }
    }
    close_bench(&b);
}

/* Two shared ops, used in opposite order by two threads: no deadlock. */
typedef struct crossing {
    const bench *b;
    acu_op *first, *second;
    pthread_barrier_t *start;
    acu_status status;
} crossing;

static void *cross(void *user)
{
    crossing *c = user;
    pthread_barrier_wait(c->start);
    c->status = acu_sync(c->b->device, acu_zip(acu_dup(c->first), acu_dup(c->second)), NULL);
    return NULL;
}

static void threads_share_in_opposite_order(void **state)
{
    (void)state;
    bench b = open_bench();
    for (int round = 0; round < ROUNDS; round++) {
        acu_op *x = plus(&b, constant(1), 1), *y = plus(&b, constant(2), 1);
        pthread_barrier_t start;
        pthread_barrier_init(&start, NULL, 2);
        crossing c[2] = {
            {.b = &b, .first = x, .second = y, .start = &start},
            {.b = &b, .first = acu_op_retain(y), .second = acu_op_retain(x), .start = &start}};
        pthread_t threads[2];
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, cross, &c[i]), 0);
        for (int i = 0; i < 2; i++) {
            pthread_join(threads[i], NULL);
            assert_int_equal(c[i].status, ACU_OK);
        }
        pthread_barrier_destroy(&start);
    }
    close_bench(&b);
}

typedef struct follower {
    const bench *b;
    acu_op *op;
    acu_status status;
} follower;

static void *submit_second(void *user)
{
    follower *s = user;
    test_host_gate_await(); /* the first thread is in the middle of planning */
    s->status = acu_sync(s->b->device, s->op, NULL);
    return NULL;
}

static void *open_gate(void *user)
{
    (void)user;
    test_host_gate_await();
    test_threads_rest(); /* the second thread has come to x, and waits for the first */
    test_host_gate_open();
    return NULL;
}

/* One thread has planned x, and goes on to y, which takes x; another one is planning y, and waits
 * for x. Neither is used within itself. */
static void threads_share_an_op_and_what_is_in_it(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_op *x = plus(&b, constant(1), 1), *y = plus(&b, acu_dup(acu_op_retain(x)), 1);
    acu_op *gate = acu_then(acu_scalar(acu_u8(1)), test_plan_behind_host_gate, NULL);
    follower s = {.b = &b, .op = acu_dup(acu_op_retain(y))};
    pthread_t threads[2];
    test_host_gate_close();
    assert_int_equal(pthread_create(&threads[0], NULL, submit_second, &s), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, open_gate, NULL), 0);
    acu_tensor *sum;
    assert_works(acu_sync(b.device, acu_last(acu_zip(acu_dup(x), gate, acu_dup(y))), &sum));
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(s.status, ACU_OK);
    holds(sum, 3);
    acu_tensor_release(sum);
    close_bench(&b);
}

/* ---- order of `then`, and submissions inside ---- */

static _Atomic(int) opened;

static acu_status note_opened(void *user, const acu_val *values, size_t count)
{
    (void)values, (void)count;
    *(int *)user = atomic_load(&opened);
    return ACU_OK;
}

static acu_op *then_note(void *user, acu_val *values, size_t count)
{
    (void)values, (void)count;
    return acu_op_host(note_opened, ACU_USER(user), NULL, 0, ACU_SITE);
}

static acu_op *then_inspect_note(void *user, acu_val *values, size_t count)
{
    (void)count;
    return acu_then(acu_take(&values[0]), then_note, user); /* nothing of its own in between */
}

static void then_orders_without_shared_data(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_stream *stream;
    assert_works(acu_stream_create(b.device, 0, &stream));
    acu_then_fn fns[] = {then_note, then_inspect_note};
    for (int i = 0; i < 2; i++) {
        int found = -1;
        acu_future *future;
        atomic_store(&opened, 0);
        test_gate_close(b.device, acu_stream_raw(stream));
        acu_submit_options options = {.size = sizeof options, .stream = stream};
        assert_works(acu_submit(NULL, acu_then(constant(1), fns[i], &found), &options, &future));
        assert_int_equal(acu_future_wait(future, ACU_US(200)), ACU_TIMEOUT);
        atomic_store(&opened, 1);
        test_gate_open();
        assert_works(acu_future_wait(future, ACU_FOREVER));
        assert_int_equal(found, 1);
        acu_future_release(future);
    }
    acu_stream_release(stream);
    close_bench(&b);
}

typedef struct nested {
    const bench *b;
    acu_tensor *x;
    acu_future *inner;
    acu_status status;
} nested;

static acu_op *submit_inside(void *user, acu_val *values, size_t count)
{
    (void)values, (void)count;
    nested *n = user;
    /* Behind the fill that the outer submission has planned, before what is returned. */
    n->status = acu_submit(n->b->device, acu_copy(n->x, acu_dup(plus(n->b, acu_value(n->x), 1))),
                           NULL, &n->inner);
    return acu_launch(n->b->sum, ALL, acu_out(acu_empty(ACU_F32, VECTOR)), acu_in(n->x),
                      acu_in(n->x), acu_u32(N));
}

static void submissions_inside_then_keep_their_place(void **state)
{
    (void)state;
    bench b = open_bench();
    for (int round = 0; round < ROUNDS; round++) {
        nested n = {.b = &b, .x = result(&b, constant(0))};
        yields(&b, acu_then(acu_fill(n.x, acu_f32(10)), submit_inside, &n), 22);
        assert_int_equal(n.status, ACU_OK);
        assert_works(acu_future_wait(n.inner, ACU_FOREVER));
        holds(n.x, 11);
        acu_future_release(n.inner);
        acu_tensor_release(n.x);
    }
    close_bench(&b);
}

typedef struct copying {
    acu_device *device;
    acu_tensor *to;
} copying;

static acu_op *copy_away(void *user, acu_val *values, size_t count)
{
    const copying *c = user;
    assert_int_equal(count, 1);
    assert_works(acu_submit(c->device, acu_copy(c->to, values[0].tensor), NULL, NULL));
    return acu_take(&values[0]);
}

/* Also the second time. */
static void each_submission_inside_then_keeps_its_place(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_tensor *x = result(&b, constant(0));
    copying first = {b.device, result(&b, constant(0))};
    copying second = {b.device, result(&b, constant(0))};
    acu_op *op = acu_then(acu_fill(x, acu_f32(10)), copy_away, &first);
    op = acu_then(acu_fill(op, acu_f32(20)), copy_away, &second);
    assert_works(acu_sync(b.device, acu_fill(op, acu_f32(30)), NULL));
    holds(first.to, 10);
    holds(second.to, 20);
    holds(x, 30);
    acu_tensor_release(first.to);
    acu_tensor_release(second.to);
    acu_tensor_release(x);
    close_bench(&b);
}

/* ---- user data ---- */

static _Atomic(int) releases;

static void count_release(void *data)
{
    (void)data;
    atomic_fetch_add(&releases, 1);
}

static acu_op *take_first(void *user, acu_val *values, size_t count)
{
    (void)user, (void)count;
    return acu_take(&values[0]);
}

static acu_status no_change(void *user, acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_OK;
}

static void no_look(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
}

static acu_status foreign_nothing(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)stream, (void)values, (void)count;
    return user ? ACU_ERR_IO : ACU_OK;
}

static acu_status host_nothing(void *user, const acu_val *values, size_t count)
{
    (void)values, (void)count;
    return user ? ACU_ERR_IO : ACU_OK;
}

/* Five ops with user data over x; with `bad`, the calls on the way to the device fail. */
static acu_op *five(acu_op *x, void *bad)
{
    acu_op *op = acu_then(x, take_first, NULL, count_release);
    op = acu_map(op, no_change, NULL, count_release);
    op = acu_inspect(op, no_look, NULL, count_release);
    op = acu_op_foreign(foreign_nothing, ACU_USER(bad, count_release), ACU_ARGS(acu_inout(op)),
                        ACU_SITE);
    op = acu_to_host(op);
    return acu_op_host(host_nothing, ACU_USER(bad, count_release), ACU_ARGS(acu_inout(op)),
                       ACU_SITE);
}

static void released_since(int *before, int want)
{
    int now = atomic_load(&releases);
    assert_int_equal(now - *before, want);
    *before = now;
}

static void user_data_is_released_once(void **state)
{
    (void)state;
    bench b = open_bench();
    int before = atomic_load(&releases), here;
    assert_works(acu_sync(b.device, five(constant(1), NULL), NULL)); /* ran */
    released_since(&before, 5);
    acu_op_release(five(constant(1), NULL)); /* never submitted */
    released_since(&before, 5);
    acu_op *bad = acu_reshape(constant(1), ACU_SHAPE(7)); /* refused: none of them was called */
    assert_fails(acu_sync(b.device, five(bad, NULL), NULL), ACU_ERR_SHAPE, "");
    released_since(&before, 5);
    assert_fails(acu_sync(b.device, five(constant(1), &here), NULL), ACU_ERR_CALLBACK,
                 "acu_foreign|ACU_ERR_IO"); /* failed on its way */
    released_since(&before, 5);
    acu_op *twice_used = acu_op_retain(five(constant(1), NULL)); /* kept beyond its run */
    assert_works(acu_sync(b.device, twice_used, NULL));
    acu_op_release(twice_used);
    test_quiet(b.device);
    released_since(&before, 5);
    acu_policy *policy;
    acu_future *future;
    assert_works(acu_policy_single(b.device, NULL, &policy));
    assert_works(acu_schedule(policy, five(constant(1), NULL), &future)); /* never started */
    acu_future_release(future);
    acu_policy_release(policy);
    released_since(&before, 5);
    /* A constructor that refuses: the function is NULL. */
    acu_op_release(acu_then(constant(1), NULL, NULL, count_release));
    acu_op_release(acu_map(constant(1), NULL, NULL, count_release));
    acu_op_release(acu_inspect(constant(1), NULL, NULL, count_release));
    released_since(&before, 3);
    close_bench(&b);
    released_since(&before, 0);
}

static void count_values(void *user, const acu_val *values, size_t count)
{
    (void)values;
    *(size_t *)user = count;
}

/* Nobody wants the values of the whole op, but functions inside it that look at values see them all
 * the same. */
static void values_that_nobody_wants(void **state)
{
    (void)state;
    bench b = open_bench();
    size_t looked = 0;
    acu_op *two = acu_zip(constant(1), constant(2));
    assert_works(acu_submit(b.device, acu_nth(two, 1), NULL, NULL));
    two = acu_zip(constant(1), constant(2));
    assert_works(acu_submit(b.device, acu_inspect(two, count_values, &looked), NULL, NULL));
    assert_int_equal(looked, 2);
    acu_op *shared = acu_share(constant(1));
    acu_op *owned = acu_own(acu_zip(acu_op_retain(shared), shared));
    assert_fails(acu_submit(b.device, owned, NULL, NULL), ACU_ERR_SHARED, "");
    close_bench(&b);
}

typedef struct maker {
    const bench *bench;
    acu_device *seen;
    bool refuse;
} maker;

static acu_op *make_one(void *user, acu_device *device)
{
    maker *m = user;
    m->seen = device;
    if (m->refuse)
        return NULL;
    assert_int_equal(acu_device_wait(device, 0), ACU_ERR_IN_CALLBACK);
    return plus(m->bench, constant(1), 2);
}

static void made_for_their_device(void **state)
{
    (void)state;
    bench b = open_bench();
    int before = atomic_load(&releases);
    maker m = {.bench = &b};
    acu_op *op = acu_make(make_one, &m, count_release);
    assert_null(m.seen); /* not before it is submitted */
    yields(&b, plus(&b, op, 4), 7);
    assert_ptr_equal(m.seen, b.device);
    test_quiet(b.device);
    released_since(&before, 1);
    m.refuse = true;
    assert_fails(acu_submit(b.device, acu_make(make_one, &m), NULL, NULL), ACU_ERR_CALLBACK,
                 "acu_make|no op");
    assert_fails(acu_submit(b.device, acu_make(NULL, &m, count_release), NULL, NULL),
                 ACU_ERR_INVALID, "make got NULL");
    released_since(&before, 1);
    close_bench(&b);
}

static void made_for_another_device(void **state)
{
    (void)state;
    acu_device *two[2];
    test_open_n(two, 2);
    bench b = {.device = two[1], .add = test_kernel(two[1], test_compose_ptx, "add")};
    maker m = {.bench = &b};
    acu_tensor *x;
    assert_works(acu_sync(two[0], acu_on(two[1], acu_make(make_one, &m)), &x));
    assert_ptr_equal(m.seen, two[1]);
    holds(x, 3);
    acu_tensor_release(x);
    acu_kernel_release(b.add);
    test_close(two[1]);
    test_close(two[0]);
    test_leaks_none();
}

/* ---- depth ---- */

static acu_op *deep(acu_op *x, int levels)
{
    for (int i = 0; i < levels; i++)
        x = i % 3 == 0 ? acu_share(x) : i % 3 == 1 ? acu_first(x) : acu_zip(x);
    return x;
}

#ifdef __SANITIZE_THREAD__
enum { DEEP = 5000 }; /* it keeps no more than 65,536 frames */
#else
enum { DEEP = 50000 };
#endif

static void deep_compositions(void **state)
{
    (void)state;
    bench b = open_bench();
    yields(&b, deep(constant(3), 3000), 3);
    yields(&b, deep(constant(3), DEEP), 3);
    acu_op_release(deep(constant(3), 3000));
    acu_op_release(deep(constant(3), 200000));
    close_bench(&b);
}

/* Once a launch is planned, it does not hold the tensors that it reads: ops that come after it can
 * own them. */
static void a_tensor_is_free_again_behind_its_reader(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_tensor *sum = result(&b, constant(0));
    for (int way = 0; way < 4; way++) { /* launches whose operands exist are planned otherwise */
        acu_tensor *x = result(&b, constant(5));
        acu_op *to = way & 1 ? acu_value(sum) : acu_empty(ACU_F32, VECTOR);
        acu_op *reads = acu_launch(b.sum, ALL, acu_out(to), acu_in(x), acu_in(x), acu_u32(N));
        acu_op *given = acu_give(x); /* the program has it no more */
        acu_op *last = way & 2 ? acu_unpartition(acu_partition(given, ACU_SHAPE(10)))
                               : acu_own(given);
        acu_op *both[] = {reads, last};
        assert_works(acu_sync(b.device, acu_op_zip(both, 2, ACU_SITE), NULL));
    }
    holds(sum, 10);
    acu_tensor_release(sum);
    close_bench(&b);
}

/* A chain of launches is planned from the first one on, so it may have any length, unless one of
 * them has other users as well. */
static void long_chains(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_op *x = constant(1);
    for (int i = 0; i < 6000; i++)
        x = plus(&b, x, 1);
    yields(&b, x, 6001);

    acu_op *middle = acu_op_retain(x = plus(&b, plus(&b, constant(1), 1), 1));
    assert_fails(acu_submit(b.device, plus(&b, plus(&b, x, 1), 1), NULL, NULL), ACU_ERR_SHARED,
                 "argument 0");
    acu_op_release(middle);

    x = plus(&b, plus(&b, constant(1), 1), 1);
    int line = __LINE__ + 1;
    x = acu_nth(acu_launch(b.add, ALL, acu_inout(x), acu_f32(1), acu_u32(N)), 3);
    assert_fails(acu_submit(b.device, plus(&b, plus(&b, x, 1), 1), NULL, NULL),
                 ACU_ERR_ARGUMENTS, "no value 3: the op yields 3");
    assert_int_equal(acu_last_error()->line, line);
    line = __LINE__ + 1;
    x = acu_first(acu_launch(b.add, ALL, acu_inout(plus(&b, constant(1), 1))));
    uint64_t before = operations();
    assert_fails(acu_submit(b.device, plus(&b, plus(&b, x, 1), 1), NULL, NULL),
                 ACU_ERR_ARGUMENTS, "add takes 3 arguments, and got");
    assert_int_equal(acu_last_error()->line, line);
    assert_int_equal(operations(), before);
    close_bench(&b);
}

/* ---- consuming and failing late ---- */

static void ops_are_consumed(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_op *x = acu_op_named(constant(1), "the one"); /* its line is in the message */
    acu_op *user = acu_share(x);
    acu_op *again = acu_share(x);
    assert_int_equal(acu_op_status(user, NULL), ACU_OK);
    assert_fails(acu_submit(b.device, again, NULL, NULL), ACU_ERR_CONSUMED,
                 "share|the one|taken before|acu_op_retain");
    yields(&b, user, 1); /* the first use is not affected */

    acu_op_release(acu_share((acu_op *)NULL));
    acu_op_release(NULL);
    assert_null(acu_op_retain(NULL));
    close_bench(&b);
}

static acu_op *take_twice(void *user, acu_val *values, size_t count)
{
    (void)user, (void)count;
    acu_op *first = acu_take(&values[0]);
    return acu_zip(first, acu_take(&values[0]));
}

static acu_op *use_itself(void *user, acu_val *values, size_t count)
{
    (void)values, (void)count;
    return acu_op_retain(*(acu_op **)user);
}

static void values_are_taken_once(void **state)
{
    (void)state;
    bench b = open_bench();
    assert_fails(acu_submit(b.device, acu_then(constant(1), take_twice, NULL), NULL, NULL),
                 ACU_ERR_CONSUMED, "acu_take|taken before");
    acu_op *itself = NULL;
    itself = acu_op_retain(acu_then(constant(1), use_itself, &itself));
    assert_fails(acu_submit(b.device, itself, NULL, NULL), ACU_ERR_INVALID, "within itself");
    acu_op_release(itself);
    close_bench(&b);
}

/* The error names the line that made the op, however deep it is buried. */
static void errors_carry_their_line(void **state)
{
    (void)state;
    bench b = open_bench();
    int line = __LINE__ + 1;
    acu_op *bad = acu_zeros(ACU_F32, ACU_SHAPE(-1));
    acu_error error;
    assert_int_equal(acu_op_status(bad, NULL), ACU_OK); /* found when it is planned */
    acu_op *zip = acu_zip(acu_share(bad), constant(1));
    acu_op *buried = acu_then(acu_first(zip), take_first, NULL);
    uint64_t before = operations();
    assert_fails(acu_submit(b.device, buried, NULL, NULL), ACU_ERR_SHAPE, "test_compose.c");
    assert_int_equal(acu_last_error()->line, line);
    line = __LINE__ + 1;
    bad = acu_const(ACU_F32, ACU_SHAPE(4), NULL);
    assert_int_equal(acu_op_status(bad, &error), ACU_ERR_INVALID);
    assert_int_equal(error.line, line);
    assert_fails(acu_sync(b.device, plus(&b, acu_zip(bad), 1), NULL), ACU_ERR_INVALID, "const");
    assert_int_equal(acu_last_error()->line, line);
    assert_int_equal(operations(), before);

    line = __LINE__ + 1;
    acu_op *launch = acu_launch(b.add, ALL, acu_inout(constant(1)));
    assert_fails(acu_submit(b.device, acu_op_named(acu_share(launch), "outer"), NULL, NULL),
                 ACU_ERR_ARGUMENTS, "add takes 3 arguments, and got");
    assert_int_equal(acu_last_error()->line, line);

    line = __LINE__ + 1;
    launch = acu_op_named(acu_launch(b.add, ALL, acu_inout(constant(1))), "my step");
    assert_fails(acu_submit(b.device, launch, NULL, NULL), ACU_ERR_ARGUMENTS, "");
    assert_string_equal(acu_last_error()->op, "my step");
    assert_int_equal(acu_last_error()->line, line);
    close_bench(&b);
}

static acu_status fail_here(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_ERR_INVALID;
}

/* Submits what reads a tensor that was not computed; returns the record's op. */
static const char *op_of_dependency(acu_device *device, acu_op *op)
{
    static acu_error error;
    acu_future *future = test_submit(device, op);
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), ACU_ERR_DEPENDENCY);
    assert_int_equal(acu_future_error(future, &error), ACU_ERR_DEPENDENCY);
    acu_future_release(future);
    return error.op;
}

static void names_reach_the_work(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_tensor *x, *y;
    assert_works(acu_sync(b.device, constant(1), &y));
    assert_works(acu_tensor_alloc_pinned(b.device, ACU_F32, VECTOR, &x));
    acu_future_release(test_submit(b.device, acu_host(fail_here, NULL, acu_out(x))));

#define NAMED(op) op_of_dependency(b.device, acu_op_named((op), "step 7"))
    assert_string_equal(NAMED(acu_dup(x)), "step 7");
    assert_string_equal(NAMED(acu_own(acu_first(acu_dup(x)))), "step 7");
    assert_string_equal(NAMED(acu_with_context(acu_reshape(acu_dup(x), ACU_SHAPE(10, 10)), "all")),
                        "step 7");
    assert_string_equal(NAMED(acu_finally(acu_dup(x), constant(1))), "step 7");
    assert_string_equal(NAMED(acu_unpartition(acu_partition(acu_dup(x), ACU_SHAPE(10)))), "step 7");
    assert_string_equal(NAMED(acu_add(x, 1)), "step 7");
    assert_string_equal(NAMED(acu_into(y, acu_add(x, 1))), "step 7");
    assert_string_equal(NAMED(acu_first(acu_op_named(acu_dup(x), "inner"))), "step 7");
    assert_string_equal(NAMED(acu_zip(acu_dup(x), acu_dup(x))), "dup");
#undef NAMED
    assert_string_equal(op_of_dependency(b.device, acu_add(x, 1)), "add");
    acu_op *kept = acu_dup(x); /* its other users would get the name too */
    assert_string_equal(
        op_of_dependency(b.device, acu_op_named(acu_share(acu_op_retain(kept)), "step 7")), "dup");
    acu_op_release(kept);
    acu_tensor_release(x);
    acu_tensor_release(y);
    close_bench(&b);
}

/* ---- placing ---- */

static void on_places_what_names_no_device(void **state)
{
    (void)state;
    acu_device *devices[2];
    test_open_n(devices, 2);
    acu_tensor *near, *far;
    assert_works(acu_sync(NULL, constant(1), &near)); /* the process's default */
    assert_ptr_equal(acu_tensor_device(near), acu_device_default());
    assert_ptr_equal(acu_tensor_device(near), devices[0]);
    assert_works(acu_sync(devices[0], acu_on(devices[1], constant(2)), &far));
    assert_ptr_equal(acu_tensor_device(far), devices[1]);
    holds(far, 2);
    acu_tensor_release(far);
    acu_op *inner = acu_on(devices[1], acu_zip(constant(3), acu_on(devices[0], constant(4))));
    acu_future *future;
    assert_works(acu_submit(devices[0], inner, NULL, &future));
    assert_ptr_equal(acu_tensor_device(acu_future_tensor(future, 0)), devices[1]);
    assert_ptr_equal(acu_tensor_device(acu_future_tensor(future, 1)), devices[0]);
    holds(acu_future_tensor(future, 0), 3);
    acu_future_release(future);
    assert_works(acu_sync(devices[1], constant(5), &far));
    assert_ptr_equal(acu_tensor_device(far), devices[1]);
    acu_tensor_release(far);
    acu_tensor_release(near);
    test_close(devices[1]);
    test_close(devices[0]);
    test_leaks_none();
}

/* Two shared ops, each of which submits the other one while it is planned, by two threads: the
 * second thread would wait for itself. */
typedef struct knot {
    const bench *b;
    acu_op *op, *other;
    pthread_barrier_t *both;
    bool inside;
    acu_status outer, inner;
} knot;

static acu_op *submit_other(void *user, acu_val *values, size_t count)
{
    (void)count;
    knot *k = user;
    if (!k->inside) {
        k->inside = true;
        pthread_barrier_wait(k->both);
        k->inner = acu_submit(k->b->device, acu_op_retain(k->other), NULL, NULL);
    }
    return acu_take(&values[0]);
}

static void *tie(void *user)
{
    knot *k = user;
    k->outer = acu_submit(k->b->device, acu_op_retain(k->op), NULL, NULL);
    return NULL;
}

static void threads_that_would_wait_for_each_other(void **state)
{
    (void)state;
    bench b = open_bench();
    pthread_barrier_t both;
    pthread_t threads[2];
    knot k[2];
    pthread_barrier_init(&both, NULL, 2);
    for (int i = 0; i < 2; i++)
        k[i] = (knot){.b = &b, .both = &both,
                      .op = acu_then(constant((float)i), submit_other, &k[i])};
    for (int i = 0; i < 2; i++) {
        k[i].other = k[!i].op;
        assert_int_equal(pthread_create(&threads[i], NULL, tie, &k[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    bool second = k[1].inner != ACU_OK;
    assert_int_equal(k[0].outer, ACU_OK);
    assert_int_equal(k[1].outer, ACU_OK);
    assert_int_equal(k[second].inner, ACU_ERR_INVALID);
    assert_int_equal(k[!second].inner, ACU_OK);
    for (int i = 0; i < 2; i++)
        yields(&b, k[i].op, (float)i);
    pthread_barrier_destroy(&both);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zip_and_unzip),
        cmocka_unit_test(first_last_nth),
        cmocka_unit_test(apply_chains_functions),
        cmocka_unit_test(reshape_and_partition),
        cmocka_unit_test(callbacks_see_handles),
        cmocka_unit_test(callbacks_that_fail),
        cmocka_unit_test(callbacks_that_do_not),
        cmocka_unit_test(what_goes_in_comes_back_in_the_same_form),
        cmocka_unit_test(partitions_keep_the_form),
        cmocka_unit_test(used_twice_runs_once),
        cmocka_unit_test(used_by_threads_runs_once),
        cmocka_unit_test(threads_share_in_opposite_order),
        cmocka_unit_test(threads_share_an_op_and_what_is_in_it),
        cmocka_unit_test(threads_that_would_wait_for_each_other),
        cmocka_unit_test(then_orders_without_shared_data),
        cmocka_unit_test(submissions_inside_then_keep_their_place),
        cmocka_unit_test(each_submission_inside_then_keeps_its_place),
        cmocka_unit_test(user_data_is_released_once),
        cmocka_unit_test(values_that_nobody_wants),
        cmocka_unit_test(made_for_their_device),
        cmocka_unit_test(made_for_another_device),
        cmocka_unit_test(deep_compositions),
        cmocka_unit_test(long_chains),
        cmocka_unit_test(a_tensor_is_free_again_behind_its_reader),
        cmocka_unit_test(ops_are_consumed),
        cmocka_unit_test(expressions_nest),
        cmocka_unit_test(lists_have_up_to_64_items),
        cmocka_unit_test(callbacks_fail_by_a_call),
        cmocka_unit_test(policies_fail_by_a_call),
        cmocka_unit_test(launches_without_arguments),
        cmocka_unit_test(const_tensors_are_read),
        cmocka_unit_test(values_are_taken_once),
        cmocka_unit_test(errors_carry_their_line),
        cmocka_unit_test(names_reach_the_work),
        cmocka_unit_test(on_places_what_names_no_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
