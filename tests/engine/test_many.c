/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Very many of one thing: chains that end, start or are dropped without recursion, and long lists
 * that are not looked through for each of their entries. With a cost that grows with the square of
 * the number, or a level of the stack for each, these tests would not come to an end.
 *
 *   ACUDA_TEST_CHAIN   how many groups are in each other (100,000)
 */
#include "support/support.h"

#include "support/one_device.h"
#include "support/small_stack.h"

enum { CHAIN = 100000, STARTS = 5000, SLICES = 50000, ALTERNATIVES = 1500 };

static acu_op *at_gate(acu_tensor *x)
{
    test_host_gate_close();
    return acu_host(test_pass_host_gate, NULL, acu_inout(x));
}

static acu_tensor *pinned(int64_t count)
{
    acu_tensor *tensor;
    assert_works(acu_tensor_alloc_pinned(device, ACU_F32, ACU_SHAPE(count), &tensor));
    memset(acu_tensor_host(tensor), 0, (size_t)count * sizeof(float));
    return tensor;
}

static acu_op *small(void)
{
    return acu_zeros(ACU_F32, ACU_SHAPE(4));
}

/* ---- groups, each of which is a member of the next ---- */

/* The outermost one, of which the innermost has `future` as its member. It is taken. */
static acu_future *nest(acu_future *future, acu_group **innermost)
{
    int depth = (int)test_setting("ACUDA_TEST_CHAIN", CHAIN);
    for (int i = 0; i < depth; i++) {
        acu_group *group;
        assert_works(acu_group_create(NULL, &group));
        assert_works(acu_group_add(group, future));
        acu_future_release(future);
        assert_works(acu_group_finish(group, &future));
        if (i == 0 && innermost)
            *innermost = group;
        else
            acu_group_release(group);
    }
    return future;
}

static void *end_groups(void *unused)
{
    (void)unused;
    acu_tensor *x = pinned(4);
    acu_future *future;
    assert_works(acu_submit(device, at_gate(x), NULL, &future));
    future = nest(future, NULL);
    assert_int_equal(acu_future_poll(future), ACU_NOT_READY);
    test_host_gate_open();
    assert_works(acu_future_wait(future, ACU_FOREVER));
    acu_future_release(future);
    acu_tensor_release(x);
    return NULL;
}

static void groups_in_groups(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__ /* its runtime ends the process now and then in a small stack */
    end_groups(NULL);
#else
    test_in_small_stack(end_groups, NULL);
#endif
}

static void groups_in_groups_are_cancelled(void **state)
{
    (void)state;
    acu_tensor *x = pinned(4);
    acu_future *first, *last;
    acu_group *innermost;
    assert_works(acu_submit(device, at_gate(x), NULL, &first));
    last = nest(acu_future_retain(first), &innermost);
    assert_works(acu_group_cancel(innermost));
    assert_int_equal(acu_future_wait(first, ACU_FOREVER), ACU_ERR_CANCELLED);
    assert_works(acu_future_wait(last, ACU_FOREVER)); /* being cancelled makes no group fail */
    test_host_gate_open();
    acu_group_release(innermost);
    acu_future_release(first);
    acu_future_release(last);
    acu_tensor_release(x);
}

/* ---- futures that are scheduled behind one another ---- */

static acu_future *schedule_chain(int count)
{
    acu_policy *policy;
    acu_future *last = NULL;
    assert_works(acu_policy_round_robin(device, 2, &policy));
    for (int i = 0; i < count; i++) {
        acu_op *op = last ? acu_after_future(small(), last) : small();
        acu_future *next;
        assert_works(acu_schedule(policy, op, &next));
        acu_future_release(last);
        last = next;
    }
    acu_policy_release(policy);
    return last;
}

static void a_chain_of_scheduled_futures(void **state)
{
    (void)state;
    acu_future *last = schedule_chain(STARTS);
    assert_works(acu_future_wait(last, ACU_FOREVER));
    acu_future_release(last);
}

static void a_chain_of_scheduled_futures_is_dropped(void **state)
{
    (void)state;
    acu_future_release(schedule_chain(CHAIN));
    assert_int_equal(acu_debug_live(ACU_OBJECT_FUTURE), 0);
    assert_int_equal(acu_debug_live(ACU_OBJECT_OP), 0);
}

/* Each is behind the two before it: it is started once, and before what comes behind it. */
static void scheduled_behind_several(void **state)
{
    (void)state;
    enum { COUNT = 300 };
    acu_policy *policy;
    acu_future *futures[COUNT];
    assert_works(acu_policy_round_robin(device, 2, &policy));
    for (int i = 0; i < COUNT; i++) {
        acu_op *op = small();
        for (int k = i - 1; k >= 0 && k >= i - 2; k--)
            op = acu_after_future(op, futures[k]);
        assert_works(acu_schedule(policy, op, &futures[i]));
    }
    assert_works(acu_future_start(futures[COUNT - 1]));
    for (int i = 0; i < COUNT; i++)
        assert_works(acu_future_planned(futures[i])); /* does not start it: it is done */
    assert_works(acu_wait_all(futures, COUNT, ACU_FOREVER));
    for (int i = 0; i < COUNT; i++)
        acu_future_release(futures[i]);
    acu_policy_release(policy);
}

/* ---- slices of one buffer ---- */

static acu_tensor *slice(acu_tensor *x, int64_t at)
{
    acu_tensor *part;
    int64_t end = at + 1;
    assert_works(acu_tensor_slice(x, &at, &end, &part));
    return part;
}

static acu_op *fill_slice(acu_tensor *x, int64_t at)
{
    return acu_fill(acu_give(slice(x, at)), acu_f32((float)at));
}

static void check(acu_tensor *x)
{
    acu_tensor *host;
    assert_works(acu_sync(device, acu_to_host(x), &host));
    for (int i = 0; i < SLICES; i++)
        assert_float_equal(((float *)acu_tensor_host(host))[i], (float)i, 0);
    acu_tensor_release(host);
}

static void slices_of_a_buffer_that_is_written(void **state)
{
    (void)state;
    acu_tensor *x, *from = pinned(SLICES);
    assert_works(acu_sync(device, acu_zeros(ACU_F32, ACU_SHAPE(SLICES)), &x));
    assert_works(acu_submit(device, at_gate(from), NULL, NULL));
    assert_works(acu_submit(device, acu_copy(x, from), NULL, NULL));
    for (int i = 0; i < SLICES; i++)
        assert_works(acu_submit(device, fill_slice(x, i), NULL, NULL));
    test_host_gate_open();
    check(x);
    acu_tensor_release(x);
    acu_tensor_release(from);
}

static void slices_in_one_submission(void **state)
{
    (void)state;
    acu_tensor *x;
    acu_op **ops = malloc(SLICES * sizeof *ops);
    assert_works(acu_sync(device, acu_zeros(ACU_F32, ACU_SHAPE(SLICES)), &x));
    for (int i = 0; i < SLICES; i++)
        ops[i] = fill_slice(x, i);
    assert_works(acu_sync(device, acu_op_zip(ops, SLICES, ACU_SITE), NULL));
    free(ops);
    check(x);
    acu_tensor_release(x);
}

/* ---- alternatives of alternatives ---- */

static void alternatives(void **state)
{
    (void)state;
    acu_op *op = small();
    for (int i = 0; i < ALTERNATIVES; i++)
        op = acu_or_else(op, small());
    assert_works(acu_sync(device, op, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(groups_in_groups),
        DEVICE_TEST(groups_in_groups_are_cancelled),
        DEVICE_TEST(a_chain_of_scheduled_futures),
        DEVICE_TEST(a_chain_of_scheduled_futures_is_dropped),
        DEVICE_TEST(scheduled_behind_several),
        DEVICE_TEST(slices_of_a_buffer_that_is_written),
        DEVICE_TEST(slices_in_one_submission),
        DEVICE_TEST(alternatives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
