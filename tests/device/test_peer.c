/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Devices that use one another's memory. */
#include "support/support.h"

#include "device/device.h"
#include "memory/pool.h"

static void a_device_is_its_own_peer(void **state)
{
    (void)state;
    acu_device *device = test_open();
    assert_works(acu_device_open_peer(device, device));
    assert_fails(acu_device_open_peer(device, NULL), ACU_ERR_INVALID, "the peer is NULL");
    assert_fails(acu_device_open_peer(NULL, device), ACU_ERR_INVALID, "the device is NULL");
    test_close(device);
}

static void peers_are_opened_once_or_again(void **state)
{
    (void)state;
    acu_device *devices[2];
    test_open_n(devices, 2);
    acu_status st = acu_device_open_peer(devices[0], devices[1]);
    if (st == ACU_ERR_NOT_SUPPORTED) { /* with a message, and copies work all the same */
        assert_fails(st, ACU_ERR_NOT_SUPPORTED, "device 0|device 1|copies");
    } else {
        assert_works(st);
        assert_works(acu_device_open_peer(devices[0], devices[1]));
        assert_int_equal(devices[0]->peers, 2);
        assert_int_equal(devices[1]->peers, 0);
    }
    test_close(devices[1]);
    assert_int_equal(devices[0]->peers, 0); /* a device that is opened anew is another one */
    test_close(devices[0]);
    test_leaks_none();
}

/* As in the middle of the last release, while another thread opens the device anew. */
static void access_to_a_device_that_ends_does_not_extend_to_the_next(void **state)
{
    (void)state;
    acu_device *devices[2], *next;
    acu_open_options options = test_options(1);
    test_open_n(devices, 2);
    acu_status st = acu_device_open_peer(devices[0], devices[1]);
    acu_device_retain(devices[1]);
    test_close(devices[1]);
    assert_true(acui_object_drop(devices[1]));
    assert_works(acu_open(&options, &next));
    assert_ptr_not_equal(next, devices[1]);
    assert_int_equal(devices[0]->peers | devices[0]->not_peers, 0);
    if (st == ACU_OK)
        assert_works(acu_device_open_peer(devices[0], next));
    acui_object_retain(devices[1]);
    acu_device_release(devices[1]);
    assert_int_equal(devices[0]->peers, st == ACU_OK ? 2 : 0);
    test_close(devices[0]);
    test_close(next);
    test_leaks_none();
}

static void pool_memory_of_a_peer_is_copied(void **state)
{
    (void)state;
    acu_device *devices[2];
    test_open_n(devices, 2);
    acu_status st = acu_device_open_peer(devices[0], devices[1]);
    if (st != ACU_ERR_NOT_SUPPORTED)
        assert_works(st);
    acu_buffer *from = NULL, *to = NULL;
    assert_works(acu_buffer_create(devices[1], 4096, &from));
    assert_works(acu_buffer_create(devices[0], 4096, &to));
    uint32_t sent[1024], got[1024];
    for (uint32_t i = 0; i < 1024; i++)
        sent[i] = i * 2654435761u;
    test_quiet(devices[0]);
    test_quiet(devices[1]);
    test_put(devices[1], acu_buffer_address(from), sent, sizeof sent);
    test_enter(devices[0]);
    assert_int_equal(acu_driver()->MemcpyPeer(acu_buffer_address(to),
                                              acu_device_context(devices[0]),
                                              acu_buffer_address(from),
                                              acu_device_context(devices[1]), sizeof sent),
                     ACU_CUDA_SUCCESS);
    test_leave(devices[0]);
    test_get(devices[0], got, acu_buffer_address(to), sizeof got);
    assert_memory_equal(got, sent, sizeof got);
    acu_buffer_release(from);
    acu_buffer_release(to);
    test_close(devices[0]);
    test_close(devices[1]);
    test_leaks_none();
}

/* ---- pools of the program's ---- */

static bool reaches(acu_device *device, acu_pool *pool)
{
    unsigned flags = 0;
    acu_CUmemLocation place = {.type = ACU_CU_MEM_LOCATION_TYPE_DEVICE, .id = device->raw};
    assert_int_equal(acu_driver()->MemPoolGetAccess(&flags, pool->raw, &place), ACU_CUDA_SUCCESS);
    return flags == ACU_CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

static acu_pool *pool_of(acu_device *device)
{
    acu_pool_options options = {.size = sizeof options, .kind = ACU_MEMORY_DEVICE};
    acu_pool *pool = NULL;
    assert_works(acu_pool_create(device, &options, &pool));
    return pool;
}

/* Skips the test if they can not access each other. */
static void open_peers(acu_device **devices)
{
    acu_status st = acu_device_open_peer(devices[0], devices[1]);
    if (st == ACU_ERR_NOT_SUPPORTED || !devices[1]->pool) {
        test_close(devices[0]);
        test_close(devices[1]);
        skip();
    }
    assert_works(st);
}

/* Done by another thread between two driver calls of this one. */
static acu_device **granting;
static bool pool_made;
static acu_status granted;

static unsigned make_pool(CUmemoryPool *pool, const acu_CUmemPoolProps *props)
{
    pool_made = true;
    return acu_driver()->MemPoolCreate(pool, props);
}

static unsigned leave(CUcontext *context)
{
    if (pool_made) {
        pool_made = false;
        granted = acu_device_open_peer(granting[0], granting[1]);
    }
    return acu_driver()->CtxPopCurrent(context);
}

static void a_pool_that_is_made_while_access_is_granted_has_it(void **state)
{
    (void)state;
    acu_device *devices[2];
    test_open_n(devices, 2);
    const acu_driver_table *cu = devices[1]->cu;
    acu_driver_table table = *cu;
    table.MemPoolCreate = make_pool;
    table.CtxPopCurrent = leave;
    granting = devices;
    granted = ACU_NOT_READY;
    devices[1]->cu = &table;
    acu_pool *pool = pool_of(devices[1]);
    devices[1]->cu = cu;
    if (granted != ACU_ERR_NOT_SUPPORTED && pool->raw) {
        assert_works(granted);
        assert_true(reaches(devices[0], pool));
    }
    acu_pool_release(pool);
    test_close(devices[0]);
    test_close(devices[1]);
    test_leaks_none();
}

static void a_device_that_is_not_open_just_now_reaches_new_pools(void **state)
{
    (void)state;
    acu_device *devices[2], *again;
    acu_open_options options = test_options(0);
    test_open_n(devices, 2);
    open_peers(devices);
    acu_device_retain(devices[0]);
    test_close(devices[0]);
    acu_pool *pool = pool_of(devices[1]);
    assert_works(acu_open(&options, &again));
    assert_ptr_equal(again, devices[0]);
    assert_true(reaches(again, pool));
    acu_device_release(devices[0]);
    acu_pool_release(pool);
    test_close(again);
    test_close(devices[1]);
    test_leaks_none();
}

static void a_pool_that_peers_can_not_have_is_none(void **state)
{
    (void)state;
    acu_device *devices[2];
    test_open_n(devices, 2);
    open_peers(devices);
    acu_pool_options options = {.size = sizeof options, .kind = ACU_MEMORY_DEVICE};
    acu_driver_fault fault = {.size = sizeof fault, .call = ACU_CALL_MemPoolSetAccess};
    acu_pool *pool = NULL;
    assert_works(acu_driver_fail(&fault));
    assert_fails(acu_pool_create(devices[1], &options, &pool), ACU_ERR_DRIVER,
                 "cuMemPoolSetAccess");
    acu_driver_fail_clear();
    assert_null(pool);
    test_close(devices[0]);
    test_close(devices[1]);
    test_leaks_none();
}

static const acu_driver_table *real;

/* The last bytes stay behind. */
static unsigned copy_too_little(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from,
                                size_t bytes, CUstream stream)
{
    return real->MemcpyPeerAsync(dst, to, src, from, bytes - 4, stream);
}

static void a_copy_that_arrives_wrong_is_noticed(void **state)
{
    (void)state;
    acu_device *devices[2];
    test_open_n(devices, 2);
    real = devices[0]->cu;
    acu_driver_table table = *real;
    table.MemcpyPeerAsync = copy_too_little;
    devices[0]->cu = &table;
    acu_status st = acu_device_open_peer(devices[0], devices[1]);
    devices[0]->cu = real;
    assert_int_equal(st, ACU_ERR_NOT_SUPPORTED);
    assert_int_equal(devices[0]->peers, 0);
    assert_true(devices[0]->not_peers >> 1 & 1u); /* copies go another way from now on */
    test_close(devices[0]);
    test_close(devices[1]);
    test_leaks_none();
}

static void what_the_driver_can_not_is_said(void **state)
{
    (void)state;
    acu_device *devices[2];
    test_open_n(devices, 2);
    acu_driver_fault fault = {.size = sizeof fault,
                              .call = ACU_CALL_CtxEnablePeerAccess,
                              .result = ACU_CUDA_ERROR_PEER_ACCESS_UNSUPPORTED};
    assert_works(acu_driver_fail(&fault));
    acu_status st = acu_device_open_peer(devices[0], devices[1]);
    acu_driver_fail_clear();
    assert_int_equal(st, ACU_ERR_NOT_SUPPORTED);
    assert_int_equal(devices[0]->peers, 0);
    test_close(devices[0]);
    test_close(devices[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_is_its_own_peer),
        cmocka_unit_test(peers_are_opened_once_or_again),
        cmocka_unit_test(access_to_a_device_that_ends_does_not_extend_to_the_next),
        cmocka_unit_test(pool_memory_of_a_peer_is_copied),
        cmocka_unit_test(a_pool_that_is_made_while_access_is_granted_has_it),
        cmocka_unit_test(a_device_that_is_not_open_just_now_reaches_new_pools),
        cmocka_unit_test(a_pool_that_peers_can_not_have_is_none),
        cmocka_unit_test(a_copy_that_arrives_wrong_is_noticed),
        cmocka_unit_test(what_the_driver_can_not_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
