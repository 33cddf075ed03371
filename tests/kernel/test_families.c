/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Built-in kernels: found by name on every device, loaded once, held by it. */
#include "support/support.h"

#include "base/unpack.h"
#include "kernel/kernels_ptx.h"

#include <pthread.h>
#include <stdio.h>

/* All families, as the built library has them: packed. */
#include "kernel/families.h"

#define ACU_X(name)                                                                                \
    extern const unsigned char acui_##name##_ptx[];                                                \
    extern const unsigned acui_##name##_ptx_bytes;
ACUI_FAMILIES(ACU_X)
#undef ACU_X

static struct {
    const char *name;
    const unsigned char *packed;
    const unsigned *bytes;
    char *ptx; /* unpacked */
} families[] = {
#define ACU_X(name) {ACUI_FAMILY_PREFIX #name, acui_##name##_ptx, &acui_##name##_ptx_bytes, NULL},
    ACUI_FAMILIES(ACU_X)
#undef ACU_X
};

enum { COUNT = sizeof families / sizeof *families };

static int unpack_all(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        size_t size = acui_packed_size(families[i].packed, *families[i].bytes);
        assert_true(size > 0);
        families[i].ptx = calloc(size + 1, 1);
        assert_non_null(families[i].ptx);
        assert_true(acui_unpack(families[i].packed, *families[i].bytes, families[i].ptx, size));
    }
    return 0;
}

static int free_all(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT; i++)
        free(families[i].ptx);
    return 0;
}

/* The first kernel that the family's text has. */
static const char *kernel_name(int family)
{
    static _Thread_local char name[256];
    const char *at = strstr(families[family].ptx, ".entry ");
    assert_non_null(at);
    sscanf(at + 7, "%255[A-Za-z0-9_$]", name);
    return name;
}

static int teardown(void **state)
{
    (void)state;
    acu_driver_fail_clear();
    acu_driver_count_calls(false);
    test_leaks_none();
    return 0;
}

/* On a GPU, a product or sum without explicit rounding may become part of an fma, which may change
 * its last bit. */
static void arithmetic_is_rounded_as_written(void **state)
{
    (void)state;
    static const char *const free[] = {"mul.f32", "mul.f64", "add.f32", "add.f64", "sub.f32", "sub.f64"};
    for (int i = 0; i < COUNT; i++)
        for (size_t k = 0; k < sizeof free / sizeof *free; k++)
            for (const char *at = families[i].ptx; (at = strstr(at, free[k])); at++)
                if (strchr("\t ", at[-1]))
                    fail_msg("%s: %.40s", families[i].name, at);
}

static void unknown_ones_are_refused(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_kernel *kernel = NULL;
    assert_fails(acu_kernel_find(device, "acuda.nothing", "f", &kernel), ACU_ERR_NOT_FOUND,
                 "no built-in kernels|acuda.nothing|there are");
    assert_null(kernel);
    assert_works(acu_kernel_find(device, families[0].name, "nothing", &kernel));
    assert_fails(acu_kernel_wait(kernel, ACU_FOREVER), ACU_ERR_NOT_FOUND, "nothing|its kernels");
    acu_kernel_release(kernel);
    test_close(device);
}

static void their_names_are_taken(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_module *module = NULL;
    assert_fails(acu_module_load(device, ACU_PTX("acuda.mine", kernels_ptx), &module),
                 ACU_ERR_INVALID, "acuda.mine|built-in");
    assert_null(module);
    test_close(device);
}

static void all_load(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_kernel *kernels[COUNT];
    for (int i = 0; i < COUNT; i++)
        assert_works(acu_kernel_find(device, families[i].name, kernel_name(i), &kernels[i]));
    for (int i = 0; i < COUNT; i++) {
        assert_works(acu_kernel_wait(kernels[i], ACU_FOREVER));
        assert_true(acu_kernel_info_of(kernels[i])->params_known);
        acu_kernel_release(kernels[i]);
    }
    test_close(device);
}

static void a_family_is_loaded_once(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_kernel *a = NULL, *b = NULL;
    acu_driver_count_calls(true);
    assert_works(acu_kernel_find(device, families[0].name, kernel_name(0), &a));
    assert_works(acu_kernel_find(device, families[0].name, kernel_name(0), &b));
    assert_works(acu_kernel_wait(a, ACU_FOREVER));
    assert_works(acu_kernel_wait(b, ACU_FOREVER));
    assert_true(acu_kernel_raw(a) == acu_kernel_raw(b));
    acu_kernel_release(a);
    acu_kernel_release(b);
    assert_works(acu_kernel_find(device, families[0].name, kernel_name(0), &a)); /* it stayed */
    assert_works(acu_kernel_poll(a));
    assert_int_equal(acu_driver_calls(ACU_CALL_ModuleLoadDataEx), 1);
    test_close(device);
    acu_kernel_release(a); /* the device lived as long as its kernel */
}

static void a_load_that_failed_is_tried_again(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_kernel *bad = NULL, *good = NULL;
    acu_driver_fault fault = {.size = sizeof fault, .call = ACU_CALL_ModuleLoadDataEx,
                              .result = ACU_CUDA_ERROR_OUT_OF_MEMORY};
    assert_works(acu_driver_fail(&fault));
    acu_status found = acu_kernel_find(device, families[0].name, kernel_name(0), &bad);
    if (found == ACU_OK) /* mostly; otherwise the load has failed already */
        assert_fails(acu_kernel_wait(bad, ACU_FOREVER), ACU_ERR_DEVICE_MEMORY, families[0].name);
    else
        assert_int_equal(found, ACU_ERR_DEVICE_MEMORY);
    assert_works(acu_kernel_find(device, families[0].name, kernel_name(0), &good));
    assert_works(acu_kernel_wait(good, ACU_FOREVER));
    if (bad)
        assert_fails(acu_kernel_poll(bad), ACU_ERR_DEVICE_MEMORY, ""); /* a kernel that failed stays
                                                                        * failed */
    acu_kernel_release(bad);
    acu_kernel_release(good);
    test_close(device);
}

static void *find(void *device)
{
    for (int i = 0; i < 50; i++) {
        acu_kernel *kernel = NULL;
        assert_works(acu_kernel_find(device, families[i % COUNT].name, kernel_name(i % COUNT),
                                     &kernel));
        if (i % 3 == 0)
            assert_works(acu_kernel_wait(kernel, ACU_FOREVER));
        acu_kernel_release(kernel);
    }
    return NULL;
}

static void threads_find_them(void **state)
{
    (void)state;
    acu_device *device = test_open();
    pthread_t threads[3];
    acu_driver_count_calls(true);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, find, device);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    test_close(device);
    assert_int_equal(acu_driver_calls(ACU_CALL_ModuleLoadDataEx), COUNT);
}

/* Closing ends the loader even if nothing else of the engine was used. */
static void closing_at_once(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        acu_device *device = test_open();
        acu_kernel *kernel = NULL;
        assert_works(acu_kernel_find(device, families[0].name, kernel_name(0), &kernel));
        acu_kernel_release(kernel);
        test_close(device);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_is_rounded_as_written),
        cmocka_unit_test_teardown(unknown_ones_are_refused, teardown),
        cmocka_unit_test_teardown(their_names_are_taken, teardown),
        cmocka_unit_test_teardown(all_load, teardown),
        cmocka_unit_test_teardown(a_family_is_loaded_once, teardown),
        cmocka_unit_test_teardown(a_load_that_failed_is_tried_again, teardown),
        cmocka_unit_test_teardown(threads_find_them, teardown),
        cmocka_unit_test_teardown(closing_at_once, teardown),
    };
    return cmocka_run_group_tests_name("kernel.families", tests, unpack_all, free_all);
}
