/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Loading modules as futures. */
#include "support/support.h"

#include <pthread.h>
#include <stdatomic.h>

extern const char test_modules_ptx[];

static const acu_module_source good = {.size = sizeof good, .ptx = test_modules_ptx};

static acu_future *load(acu_device *device, const acu_module_source *source)
{
    acu_future *future = NULL;
    assert_works(acu_module_load_async(device, source, &future));
    return future;
}

static void finish(acu_device *device)
{
    test_close(device);
    test_leaks_none();
}

static void runs_kernel_of(acu_device *device, acu_module *module)
{
    acu_kernel *kernel = NULL;
    assert_works(acu_kernel_get(module, "set", &kernel));
    acu_tensor *x = NULL;
    int32_t got[100];
    acu_op *op = acu_launch(kernel, acu_for_num_elems(100),
                            acu_out(acu_empty(ACU_I32, ACU_SHAPE(100))), acu_i32(7), acu_u32(100));
    assert_works(acu_sync(device, op, &x));
    assert_works(acu_read_sync(x, got, sizeof got));
    for (int i = 0; i < 100; i++)
        assert_int_equal(got[i], 7);
    acu_tensor_release(x);
    acu_kernel_release(kernel);
}

static void loads(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_future *future = load(device, &good);
    acu_module *module = NULL, *none = NULL;
    assert_int_equal(acu_future_values(future), 0); /* does not wait for it */
    while (acu_future_module(future, &module) == ACU_NOT_READY) { /* polling alone gets there */
    }
    assert_non_null(module);
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_fails(acu_future_module(future, &none), ACU_ERR_NOT_FOUND, "taken before");
    acu_future_release(future);
    runs_kernel_of(device, module);
    acu_module_release(module);
    finish(device);
}

static void beside_a_runtime_thread(void **state)
{
    (void)state;
    acu_open_options options = test_options(0);
    options.runtime_thread = true;
    acu_device *device = NULL;
    assert_works(acu_open(&options, &device));
    acu_future *future = load(device, &good);
    assert_works(acu_future_wait(future, ACU_FOREVER));
    acu_module *module = NULL;
    assert_works(acu_future_module(future, &module));
    runs_kernel_of(device, module);
    acu_future_release(future);
    acu_module_release(module);
    finish(device);
}

static void sources(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_module_source image = {.size = sizeof image, .name = "image", .image = test_modules_ptx,
                               .bytes = strlen(test_modules_ptx)};
    acu_future *future = load(device, &image);
    assert_works(acu_future_wait(future, ACU_FOREVER));
    acu_kernel *kernel = NULL;
    assert_works(acu_kernel_find(device, "image", "set", &kernel));
    acu_future_release(future); /* the module, which nobody took, goes with the kernel */
    acu_kernel_release(kernel);

    char name[] = "named", text[] = "this is no PTX";
    acu_module_source bad = {.size = sizeof bad, .name = name, .ptx = text};
    future = load(device, &bad);
    memset(text, 0, sizeof text); /* they were copied */
    memset(name, 0, sizeof name);
    acu_module *none = NULL;
    assert_fails(acu_future_wait(future, ACU_FOREVER), ACU_ERR_PTX, "named");
    assert_fails(acu_future_module(future, &none), ACU_ERR_PTX, "named");
    acu_future_release(future);
    acu_module_source missing = {.size = sizeof missing, .path = "/nowhere/kernels.ptx"};
    future = load(device, &missing);
    assert_fails(acu_future_wait(future, ACU_FOREVER), ACU_ERR_IO, "/nowhere/kernels.ptx");
    acu_future_release(future);
    finish(device);
}

static void refusals(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_future *future = NULL;
    acu_module *module = NULL;
    acu_module_source two = good, none = {.size = sizeof none};
    two.path = "x";
    assert_fails(acu_module_load_async(device, &two, &future), ACU_ERR_INVALID, "one of ptx");
    assert_fails(acu_module_load_async(device, &none, &future), ACU_ERR_INVALID, "one of ptx");
    assert_fails(acu_module_load_async(device, &good, NULL), ACU_ERR_INVALID, "future");
    assert_fails(acu_module_load_async(NULL, &good, &future), ACU_ERR_INVALID, "device is NULL");
    assert_works(acu_submit(device, acu_scalar(acu_i32(1)), NULL, &future));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_fails(acu_future_module(future, &module), ACU_ERR_NOT_FOUND, "no module");
    acu_future_release(future);
    finish(device);
}

static _Atomic(int) calls;

static void count(void *user, acu_future *future, acu_status status)
{
    acu_module *module = NULL;
    (void)user;
    assert_int_equal(status, ACU_OK);
    assert_works(acu_future_module(future, &module));
    acu_module_release(module);
    atomic_fetch_add(&calls, 1);
}

/* Loads that are dropped, loads with callbacks, and both while the last device closes, which waits
 * for them. */
static void dropped_and_called_back(void **state)
{
    (void)state;
    acu_device *device = test_open();
    atomic_store(&calls, 0);
    for (int i = 0; i < 10; i++) {
        acu_future *future = load(device, &good);
        if (i % 2)
            assert_works(acu_future_when_complete(future, NULL, 0, count, ACU_USER(NULL)));
        acu_future_release(future);
    }
    finish(device);
    assert_int_equal(atomic_load(&calls), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads),   cmocka_unit_test(beside_a_runtime_thread),
        cmocka_unit_test(sources), cmocka_unit_test(refusals),
        cmocka_unit_test(dropped_and_called_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
