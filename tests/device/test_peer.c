/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Devices that use one another's memory. */
#include "support/support.h"

#include "device/device.h"
#include "memory/memory.h"

static void a_device_is_its_own_peer(void **state)
{
    (void)state;
    acu_device *device = test_open();
    assert_works(acu_device_open_peer(device, device));
    assert_fails(acu_device_open_peer(device, NULL), ACU_ERR_INVALID, "device is NULL");
    test_close(device);
}

static void peers_are_opened_once_or_again(void **state)
{
    (void)state;
    acu_device *devices[2];
    test_open_n(devices, 2);
    acu_status st = acu_device_open_peer(devices[0], devices[1]);
    if (st == ACU_ERR_NOT_SUPPORTED) { /* in words, and copies work all the same */
        assert_fails(st, ACU_ERR_NOT_SUPPORTED, "device 0|device 1|copies");
    } else {
        assert_works(st);
        assert_works(acu_device_open_peer(devices[0], devices[1]));
        assert_int_equal(devices[0]->peers, 2);
        assert_int_equal(devices[1]->peers, 0);
    }
    test_close(devices[1]);
    assert_int_equal(devices[0]->peers, 0); /* it is not that device any more when opened anew */
    test_close(devices[0]);
    test_leaks_none();
}

/* As between the two halves of the last release, while another thread opens the device anew. */
static void who_reached_a_device_on_its_way_out_does_not_reach_the_next(void **state)
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
        cmocka_unit_test(who_reached_a_device_on_its_way_out_does_not_reach_the_next),
        cmocka_unit_test(pool_memory_of_a_peer_is_copied),
        cmocka_unit_test(what_the_driver_can_not_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
