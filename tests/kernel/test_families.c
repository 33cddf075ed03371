/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Built-in kernels: names of their own. */
#include "support/support.h"

#include "kernel/kernels_ptx.h"

static int teardown(void **state)
{
    (void)state;
    acu_driver_fail_clear();
    test_leaks_none();
    return 0;
}

static void unknown_ones_are_refused(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_kernel *kernel = NULL;
    assert_fails(acu_kernel_find(device, "acuda.nothing", "f", &kernel), ACU_ERR_NOT_FOUND,
                 "no built-in kernels|acuda.nothing|there are");
    assert_null(kernel);
    test_close(device);
}

static void their_names_are_taken(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_module *module = NULL;
    assert_fails(acu_module_load_ptx(device, "acuda.mine", kernels_ptx, &module), ACU_ERR_INVALID,
                 "acuda.mine|built-in");
    assert_null(module);
    test_close(device);
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(unknown_ones_are_refused, teardown),
        cmocka_unit_test_teardown(their_names_are_taken, teardown),
    };
    return cmocka_run_group_tests_name("kernel.families", tests, NULL, NULL);
}
