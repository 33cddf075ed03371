/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * with_context: errors say what the program was doing, the outermost first, wherever they are
 * found: when the op is made, planned, issued or complete.
 */
#include "support/support.h"

enum { N = 16 };
#define VECTOR ACU_SHAPE(N)

static acu_status fails(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_ERR_INVALID;
}

static acu_op *failing_host_work(void)
{
    return acu_host(fails, NULL, acu_in(acu_to_host(acu_zeros(ACU_F32, VECTOR))));
}

/* The op fails in flight, with this context. */
static void says(acu_device *device, acu_op *op, acu_status status, const char *context)
{
    acu_future *future;
    acu_error error;
    char text[1024];
    assert_works(acu_submit(device, op, NULL, &future));
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), status);
    assert_int_equal(acu_future_error(future, &error), status);
    assert_string_equal(error.context, context);
    acu_error_describe(&error, text, sizeof text);
    assert_int_equal(strncmp(text, context, strlen(context)), 0);
    acu_future_release(future);
}

static void finish(acu_device *device)
{
    test_close(device);
    test_leaks_none();
}

static void at_completion(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_op *inner = acu_with_context(failing_host_work(), "denoise");
    says(device, acu_with_context(inner, "frame 17"), ACU_ERR_CALLBACK, "frame 17: denoise");
    says(device, failing_host_work(), ACU_ERR_CALLBACK, "");
    /* Beside it, not around it. */
    acu_op *other = acu_with_context(acu_zeros(ACU_F32, VECTOR), "other");
    says(device, acu_zip(other, acu_with_context(failing_host_work(), "this")), ACU_ERR_CALLBACK,
         "this");
    finish(device);
}

static void at_issue_and_in_readers(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *x;
    assert_works(acu_tensor_alloc(device, ACU_F32, VECTOR, &x));
    acu_driver_fault fault = {
        .size = sizeof fault, .call = ACU_CALL_MemsetD32Async, .nth = 1, .from_then_on = true};
    assert_works(acu_driver_fail(&fault));
    acu_future *future;
    acu_error error;
    acu_op *op = acu_with_context(acu_fill(x, acu_f32(1)), "fill");
    assert_works(acu_submit(device, op, NULL, &future));
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), ACU_ERR_DRIVER);
    acu_driver_fail_clear();
    assert_int_equal(acu_future_error(future, &error), ACU_ERR_DRIVER);
    assert_string_equal(error.context, "fill");
    acu_future_release(future);
    /* The record has the reader's own context; its message has the context of the failed work. */
    assert_works(acu_submit(device, acu_with_context(acu_dup(x), "copy"), NULL, &future));
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), ACU_ERR_DEPENDENCY);
    assert_int_equal(acu_future_error(future, &error), ACU_ERR_DEPENDENCY);
    assert_string_equal(error.context, "copy");
    assert_non_null(strstr(error.message, "fill: "));
    acu_future_release(future);
    acu_tensor_release(x);
    finish(device);
}

static void when_it_is_refused(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_op *wrong = acu_with_context(acu_zeros(ACU_F32, ACU_SHAPE(-1)), "inner");
    assert_fails(acu_submit(device, acu_with_context(wrong, "outer"), NULL, NULL), ACU_ERR_SHAPE,
                 "-1");
    assert_string_equal(acu_last_error()->context, "outer: inner");
    /* An op with two users: each record has the context of its own user. */
    acu_op *shared = acu_op_retain(acu_zip(acu_nth(acu_zeros(ACU_F32, VECTOR), 3)));
    acu_op *first = acu_with_context(shared, "first"), *then = acu_with_context(shared, "then");
    assert_fails(acu_submit(device, first, NULL, NULL), ACU_ERR_ARGUMENTS, "value 3");
    assert_string_equal(acu_last_error()->context, "first");
    assert_fails(acu_submit(device, then, NULL, NULL), ACU_ERR_ARGUMENTS, "value 3");
    assert_string_equal(acu_last_error()->context, "then");
    finish(device);
}

static void long_words_are_cut(void **state)
{
    (void)state;
    acu_device *device = test_open();
    char words[400], kept[ACU_ERROR_CONTEXT];
    memset(words, 'a', sizeof words - 1);
    words[sizeof words - 1] = '\0';
    memcpy(kept, words, sizeof kept - 1);
    kept[sizeof kept - 1] = '\0';
    acu_op *op = acu_with_context(failing_host_work(), "inner");
    says(device, acu_with_context(op, words), ACU_ERR_CALLBACK, kept);
    assert_fails(acu_submit(device, acu_with_context(acu_zeros(ACU_F32, VECTOR), NULL), NULL, NULL),
                 ACU_ERR_INVALID, "acu_with_context");
    finish(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_completion),
        cmocka_unit_test(at_issue_and_in_readers),
        cmocka_unit_test(when_it_is_refused),
        cmocka_unit_test(long_words_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
