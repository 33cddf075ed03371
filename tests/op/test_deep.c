/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Ops that nest deeply, in threads with small stacks.
 *
 *   ACUDA_TEST_CHAIN   how many ops are in a chain (20,000); a million takes half a minute
 */
#include "support/support.h"

#include "support/one_device.h"
#include "support/small_stack.h"

enum { LEVELS = 5000, FILL = 5, AFTER = 10 };
static acu_tensor *target;

static acu_op *pass_on(void *user, acu_val *values, size_t count)
{
    (void)user, (void)count;
    return acu_op_value(values[0].tensor, ACU_SITE);
}

/* One more level around x. */
static acu_op *wrap(acu_op *x, int kind)
{
    switch (kind) {
    case 0:
        return acu_add(x, 1);
    case 1:
        return acu_or_else(x, acu_zeros(ACU_F32, ACU_SHAPE(4)));
    case 2:
        return acu_with_context(x, "a level");
    case 3:
        return acu_first(acu_op_zip(&x, 1, ACU_SITE));
    case 4:
        return acu_dup(x);
    case FILL:
        return acu_fill(x, acu_f32(2));
    case 6:
        return acu_reshape(x, ACU_SHAPE(4));
    case 7:
        return acu_finally(x, acu_zeros(ACU_F32, ACU_SHAPE(1)));
    case 8:
        return acu_op_then(x, pass_on, (acu_user){0}, ACU_SITE);
    case 9:
        return acu_add(1, x);
    case AFTER:
        return acu_after(acu_fill(target, acu_f32(3)), x);
    default:
        return NULL;
    }
}

static acu_op *nest(int kind, int levels)
{
    acu_op *x = acu_ones(ACU_F32, ACU_SHAPE(4));
    for (int i = 0; i < levels; i++)
        x = wrap(x, kind);
    return x;
}

static void *submit_deep(void *kind)
{
    int k = *(int *)kind;
    assert_works(acu_sync(device, nest(k, LEVELS), NULL));
    return NULL;
}

static void *describe_deep(void *kind)
{
    acu_op *op = nest(*(int *)kind, LEVELS);
    acu_value_info info;
    size_t count;
    acu_status status = acu_op_describe(device, op, &info, 1, &count);
    if (status != ACU_ERR_NOT_SUPPORTED) /* of a `then`, for instance */
        assert_works(status);
    acu_op_release(op);
    return NULL;
}

static void submitted(void **state)
{
    (void)state;
    for (int kind = 0; kind < 10; kind++)
        test_in_small_stack(submit_deep, &kind);
}

static void described(void **state)
{
    (void)state;
    for (int kind = 0; kind < 10; kind++)
        test_in_small_stack(describe_deep, &kind);
}

static void *submit_chain(void *kind)
{
    int links = (int)test_setting("ACUDA_TEST_CHAIN", 20000);
    acu_future *future = test_submit(device, nest(*(int *)kind, links));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    acu_future_release(future);
    acu_op_release(nest(*(int *)kind, links));
    return NULL;
}

static void chained(void **state)
{
    (void)state;
    assert_works(acu_tensor_alloc(device, ACU_F32, ACU_SHAPE(4), &target));
    test_in_small_stack(submit_chain, &(int){FILL});
    test_in_small_stack(submit_chain, &(int){AFTER});
    acu_tensor_release(target);
}

/* A `then` that submits, whose `then` submits, and so on. */
static acu_status last;

static acu_op *submit_inside(void *user, acu_val *values, size_t count)
{
    (void)user;
    acu_op *op = acu_op_value(values[0].tensor, ACU_SITE);
    op = acu_op_then(op, submit_inside, (acu_user){0}, ACU_SITE);
    acu_status status = acu_submit(device, op, NULL, NULL);
    if (status != ACU_OK)
        last = status;
    return pass_on(NULL, values, count);
}

static void *submit_recursively(void *unused)
{
    (void)unused;
    acu_op *op = acu_ones(ACU_F32, ACU_SHAPE(4));
    assert_works(acu_sync(device, acu_op_then(op, submit_inside, (acu_user){0}, ACU_SITE), NULL));
    assert_int_equal(last, ACU_ERR_LIMIT);
    return NULL;
}

static void submitted_from_within(void **state)
{
    (void)state;
    test_in_small_stack(submit_recursively, NULL);
}

int main(void)
{
#ifdef __SANITIZE_THREAD__
    return 77; /* in small stacks its runtime ends the process now and then */
#endif
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(submitted),
        DEVICE_TEST(described),
        DEVICE_TEST(chained),
        DEVICE_TEST(submitted_from_within),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
