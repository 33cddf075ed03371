/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * For a program whose tests each have one device, opened before and closed after each of them:
 *
 * DEVICE_TEST(name) in the list of tests, if nothing else is to be set up
 *
 * A program that sets up more calls device_setup first, and at the end returns device_teardown.
 * Include this after other headers, since they have parameters called `device`.
 */
#ifndef ACUDA_TESTS_ONE_DEVICE_H
#define ACUDA_TESTS_ONE_DEVICE_H

#include "support/support.h"

static acu_device *device;

static inline int device_setup(void **state)
{
    (void)state;
    device = test_open();
    return 0;
}

/* Also switches off whatever a failed test has left on. Nothing of the library may be left over. */
static inline int device_teardown(void **state)
{
    (void)state;
    acu_driver_count_calls(false);
    acu_driver_fail_clear();
    acu_debug_fail_alloc(0, false);
    test_close(device);
    test_leaks_none();
    return 0;
}

#define DEVICE_TEST(function)                                                                      \
    cmocka_unit_test_setup_teardown(function, device_setup, device_teardown)

#endif
