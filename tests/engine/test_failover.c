/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A device is lost under an op whose alternative is on another device: the results are the
 * alternative's. The device stays lost for the process, so this is the only test in its program.
 */
#include "support/support.h"

#include <stdatomic.h>
#include <stdlib.h>

extern const char test_failover_ptx[];

enum { N = 16 };
#define VECTOR ACU_SHAPE(N)

static _Atomic(int) cleanups;
static acu_status told;

static acu_status count(void *user, const acu_val *values, size_t n)
{
    (void)user, (void)values, (void)n;
    atomic_fetch_add(&cleanups, 1);
    return ACU_OK;
}

static bool ask(void *user, const acu_error *error)
{
    (void)user;
    told = error->status;
    return true;
}

static acu_op *constant(int value)
{
    return acu_full(VECTOR, acu_i32(value));
}

static void gives(acu_future *future, int want)
{
    assert_works(acu_future_wait(future, ACU_FOREVER));
    const int32_t *x = acu_tensor_host(acu_future_tensor(future, 0));
    for (int i = 0; i < N; i++)
        assert_int_equal(x[i], want);
    acu_future_release(future);
}

static void the_other_device_takes_over(void **state)
{
    (void)state;
    /* This needs a second device that outlives the fault. No GPU's driver offers that so far. */
    test_software_only();
    setenv("SOFTCUDA_HEAL", "1", 1);
    acu_device *devices[2];
    acu_future *future;
    test_open_n(devices, 2);
    acu_kernel *stop = test_kernel(devices[0], test_failover_ptx, "stop");
    acu_op *first = acu_launch(stop, ACU_GRID_BLOCK(1, 1, 1, 1, 1, 1), acu_inout(constant(0)));
    first = acu_finally(acu_to_host(acu_first(first)), acu_host(count, NULL, acu_u32(0)));
    acu_op *other = acu_to_host(acu_on(devices[1], constant(7)));
    assert_works(acu_submit(devices[0], acu_or_else_if(first, other, ask, NULL), NULL, &future));
    gives(future, 7);
    assert_int_equal(told, ACU_ERR_DEVICE_LOST);
    assert_int_equal(cleanups, 1);
    /* Lost before it begins. */
    told = ACU_OK;
    first = acu_to_host(acu_dup(acu_on(devices[0], constant(0))));
    other = acu_to_host(acu_on(devices[1], constant(8)));
    assert_works(acu_submit(devices[1], acu_or_else_if(first, other, ask, NULL), NULL, &future));
    gives(future, 8);
    assert_int_equal(told, ACU_ERR_DEVICE_LOST);
    acu_kernel_release(stop);
    acu_close(devices[0]);
    test_close(devices[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_other_device_takes_over)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
