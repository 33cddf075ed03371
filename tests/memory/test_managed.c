/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Managed memory: shared by host and device, with hints about where it is to be. */
#include "support/one_device.h"

#include <acuda/debug.h>
#include <acuda/managed.h>

enum { N = 5000 };

static acu_tensor *managed(void)
{
    acu_tensor *tensor = NULL;
    if (!acu_device_info_of(device)->managed_memory)
        skip();
    assert_works(acu_tensor_alloc_managed(device, ACU_I32, ACU_SHAPE(N), &tensor));
    return tensor;
}

static acu_status add_one(void *user, const acu_val *values, size_t count)
{
    (void)user;
    int32_t *x = acu_tensor_host(values[0].tensor);
    for (int i = 0; i < N && count == 1; i++)
        x[i]++;
    return ACU_OK;
}

static void host_and_device_share_it(void **state)
{
    (void)state;
    acu_tensor *x = managed(), *copy = NULL;
    int32_t *host = acu_tensor_host(x);
    assert_ptr_equal(host, (void *)(uintptr_t)acu_tensor_address(x));
    assert_int_equal(acu_buffer_kind(acu_tensor_buffer(x)), ACU_MEMORY_MANAGED);
    for (int i = 0; i < N; i++)
        host[i] = i;
    assert_works(acu_sync(device, acu_dup(x), &copy));
    int32_t got[N];
    assert_works(acu_read_sync(copy, got, sizeof got));
    for (int i = 0; i < N; i++)
        assert_int_equal(got[i], i);
    /* Device and host write in turn. */
    acu_op *filled = acu_fill(x, acu_i32(6));
    assert_works(acu_sync(device, acu_host(add_one, NULL, acu_inout(filled)), NULL));
    for (int i = 0; i < N; i++)
        assert_int_equal(host[i], 7);
    acu_tensor_release(copy);
    acu_tensor_release(x);
}

static void hints_keep_their_turn(void **state)
{
    (void)state;
    acu_tensor *x = managed();
    int32_t *host = acu_tensor_host(x);
    acu_op *op = acu_prefetch(acu_fill(acu_prefetch(x, device), acu_i32(3)), NULL);
    assert_works(acu_sync(device, op, NULL));
    assert_int_equal(host[0], 3);
    assert_int_equal(host[N - 1], 3);
    op = acu_advise(x, ACU_ADVICE_PREFERRED_HOME, device);
    op = acu_advise(acu_advise(op, ACU_ADVICE_ACCESSED_BY, NULL), ACU_ADVICE_READ_MOSTLY, device);
    assert_works(acu_sync(device, op, NULL));
    assert_works(acu_sync(device, acu_unadvise(x, ACU_ADVICE_READ_MOSTLY, device), NULL));
    acu_tensor_release(x);
}

static void wrong_hints_are_refused(void **state)
{
    (void)state;
    acu_tensor *x = managed();
    assert_fails(acu_submit(device, acu_prefetch(acu_zeros(ACU_F32, ACU_SHAPE(4)), NULL), NULL,
                            NULL),
                 ACU_ERR_INVALID, "prefetch wants managed memory, not f32 [4]");
    assert_fails(acu_submit(device, acu_advise(x, (acu_advice)9, NULL), NULL, NULL),
                 ACU_ERR_INVALID, "9 is no advice");
    assert_fails(acu_submit(device, acu_with_pool(acu_device_managed_pool(device), acu_value(x)),
                            NULL, NULL),
                 ACU_ERR_INVALID, "no op allocates managed memory");
    acu_driver_fault fault = {.size = sizeof fault, .call = ACU_CALL_MemPrefetchAsync};
    assert_works(acu_driver_fail(&fault));
    acu_future *future = NULL;
    assert_works(acu_submit(device, acu_prefetch(x, device), NULL, &future));
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), ACU_ERR_DRIVER);
    acu_future_release(future);
    acu_tensor_release(x);
}

static void more_than_is_free_is_refused(void **state)
{
    (void)state;
    acu_tensor_release(managed());
    size_t left = 0, total = 0;
    acu_buffer *buffer = NULL;
    assert_works(acu_device_memory(device, &left, &total));
    assert_fails(acu_buffer_create_managed(device, total + 1, &buffer), ACU_ERR_DEVICE_MEMORY,
                 "asked for|are free");
    assert_null(buffer);
}

static void it_is_kept_and_given_back(void **state)
{
    (void)state;
    acu_tensor *x = managed();
    CUdeviceptr address = acu_tensor_address(x);
    acu_tensor_release(x);
    x = managed();
    assert_int_equal(acu_tensor_address(x), address);
    acu_tensor_release(x);
    size_t freed = 0;
    assert_works(acu_pool_trim(acu_device_managed_pool(device), 0, &freed));
    assert_true(freed >= N * sizeof(int32_t));
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_MEMORY), 0);
}

/* Without access from the one device to the other's memory. */
static void every_device_reaches_it(void **state)
{
    (void)state;
    acu_device *two[2];
    acu_tensor *x = NULL, *ones = NULL;
    acu_future *sum = NULL;
    float got[64];
    test_open_n(two, 2);
    bool both = acu_device_info_of(two[0])->managed_memory &&
                acu_device_info_of(two[1])->managed_memory;
    if (both) {
        assert_works(acu_tensor_alloc_managed(two[0], ACU_F32, ACU_SHAPE(64), &x));
        assert_works(acu_sync(two[1], acu_ones(ACU_F32, ACU_SHAPE(64)), &ones));
        assert_works(acu_submit(NULL, acu_fill(x, acu_f32(5)), NULL, NULL));
        assert_works(acu_submit(NULL, acu_add(ones, x), NULL, &sum)); /* a kernel of the second */
        assert_works(acu_submit(NULL, acu_fill(x, acu_f32(7)), NULL, NULL));
        assert_works(acu_read_sync(acu_future_tensor(sum, 0), got, sizeof got));
        assert_true(got[0] == 6 && got[63] == 6);
        assert_ptr_equal(acu_tensor_device(acu_future_tensor(sum, 0)), two[1]);
    }
    acu_future_release(sum);
    acu_tensor_release(ones);
    acu_tensor_release(x);
    test_close(two[1]);
    test_close(two[0]);
    if (!both)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(host_and_device_share_it),
        DEVICE_TEST(hints_keep_their_turn),
        DEVICE_TEST(wrong_hints_are_refused),
        DEVICE_TEST(more_than_is_free_is_refused),
        DEVICE_TEST(it_is_kept_and_given_back),
        cmocka_unit_test(every_device_reaches_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
