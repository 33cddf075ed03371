/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Variables of modules, attributes and occupancy of kernels, and launches with attributes. */
#include "support/one_device.h"

#include <sched.h>

extern const char test_launches_ptx[];

static acu_module *module;

static int setup(void **state)
{
    device_setup(state);
    module = test_load_ptx(device, NULL, test_launches_ptx);
    return 0;
}

static int teardown(void **state)
{
    acu_module_release(module);
    return device_teardown(state);
}

static acu_kernel *kernel_of(const char *name)
{
    acu_kernel *kernel = NULL;
    assert_works(acu_kernel_get(module, name, &kernel));
    return kernel;
}

static acu_tensor *variable(const char *name, int64_t count)
{
    acu_buffer *buffer = NULL;
    acu_tensor *tensor = NULL;
    assert_works(acu_module_global(module, name, &buffer));
    assert_int_equal(acu_buffer_bytes(buffer), 4 * count);
    assert_works(acu_tensor_create(buffer, 0, ACU_I32, ACU_SHAPE(count), &tensor));
    acu_buffer_release(buffer);
    return tensor;
}

/* ---- variables ---- */

static void variables_are_ordered_with_launches(void **state)
{
    (void)state;
    acu_kernel *add = kernel_of("add_to_counter");
    acu_tensor *counter = variable("counter", 1);
    int32_t value = 0;
    assert_works(acu_read_sync(counter, &value, sizeof value));
    assert_int_equal(value, 5);
    /* Copies between launches, on any streams: each sees the launches before it, and no others. */
    acu_future *copies[20];
    for (int i = 0; i < 20; i++) {
        acu_future *launch = NULL;
        assert_works(acu_submit(device,
                                acu_launch(add, ACU_GRID_BLOCK(1, 1, 1, 1, 1, 1), acu_i32(1)), NULL,
                                &launch));
        acu_future_release(launch);
        assert_works(acu_submit(device, acu_dup(counter), NULL, &copies[i]));
    }
    for (int i = 0; i < 20; i++) {
        assert_works(acu_future_wait(copies[i], ACU_FOREVER));
        assert_works(acu_read_sync(acu_future_tensor(copies[i], 0), &value, sizeof value));
        assert_int_equal(value, 6 + i);
        acu_future_release(copies[i]);
    }
    value = 100;
    assert_works(acu_write_sync(counter, &value, sizeof value));
    assert_works(acu_sync(device, acu_launch(add, ACU_GRID_BLOCK(1, 1, 1, 1, 1, 1), acu_i32(1)),
                          NULL));
    assert_works(acu_read_sync(counter, &value, sizeof value));
    assert_int_equal(value, 101);
    acu_tensor_release(counter);
    acu_kernel_release(add);
}

static void constants_too(void **state)
{
    (void)state;
    acu_kernel *look_up = kernel_of("look_up");
    acu_tensor *table = variable("table", 4), *out = NULL;
    int32_t values[4] = {10, 20, 30, 40}, got[4];
    assert_works(acu_tensor_alloc(device, ACU_I32, ACU_SHAPE(4), &out));
    assert_works(acu_write_sync(table, values, sizeof values));
    assert_works(acu_sync(device,
                          acu_launch(look_up, ACU_GRID_BLOCK(1, 1, 1, 4, 1, 1), acu_out(out)),
                          NULL));
    assert_works(acu_read_sync(out, got, sizeof got));
    assert_memory_equal(got, values, sizeof got);
    acu_tensor_release(table);
    acu_tensor_release(out);
    acu_kernel_release(look_up);
}

/* So who reads the constant does not wait for them, and who writes it does. */
static void launches_read_constants(void **state)
{
    (void)state;
    acu_kernel *look_up = kernel_of("look_up");
    acu_tensor *table = variable("table", 4);
    acu_stream *stream = NULL;
    acu_future *launch = NULL, *copy = NULL, *fill = NULL;
    assert_works(acu_stream_create(device, 0, &stream));
    test_gate_close(device, acu_stream_raw(stream));
    acu_submit_options options = {.size = sizeof options, .stream = stream};
    assert_works(acu_submit(device,
                            acu_launch(look_up, ACU_GRID_BLOCK(1, 1, 1, 4, 1, 1),
                                       acu_out(acu_empty(ACU_I32, ACU_SHAPE(4)))),
                            &options, &launch));
    assert_works(acu_submit(device, acu_dup(table), NULL, &copy));
    assert_works(acu_submit(device, acu_fill(table, acu_i32(9)), NULL, &fill));
    acu_status copied = acu_future_wait(copy, ACU_SECONDS(20));
    acu_status filled = acu_future_poll(fill), launched = acu_future_poll(launch);
    test_gate_open();
    assert_works(copied);
    assert_int_equal(launched, ACU_NOT_READY);
    assert_int_equal(filled, ACU_NOT_READY);
    assert_works(acu_future_wait(fill, ACU_FOREVER));
    acu_future_release(fill);
    acu_future_release(copy);
    acu_future_release(launch);
    acu_stream_release(stream);
    acu_tensor_release(table);
    acu_kernel_release(look_up);
}

static void a_variable_is_one_buffer_and_keeps_its_module(void **state)
{
    (void)state;
    acu_buffer *a = NULL, *b = NULL, *none = NULL;
    acu_module *own = test_load_ptx(device, NULL, test_launches_ptx);
    assert_works(acu_module_global(own, "counter", &a));
    assert_works(acu_module_global(own, "counter", &b));
    assert_ptr_equal(a, b);
    assert_fails(acu_module_global(own, "nothing", &none), ACU_ERR_NOT_FOUND, "nothing");
    assert_fails(acu_module_global(own, NULL, &none), ACU_ERR_INVALID, "name is NULL");
    acu_module_release(own);
    acu_buffer_release(a);
    acu_tensor *t = NULL;
    int32_t value = 0;
    assert_works(acu_tensor_create(b, 0, ACU_I32, ACU_SHAPE(1), &t));
    acu_buffer_release(b);
    assert_works(acu_read_sync(t, &value, sizeof value));
    assert_int_equal(value, 5);
    acu_tensor_release(t);
}

/* ---- attributes and occupancy ---- */

static void attributes(void **state)
{
    (void)state;
    acu_kernel *fill = kernel_of("fill");
    int value = 0;
    assert_works(acu_kernel_attribute(fill, ACU_CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &value));
    assert_int_equal(value, 128);
    assert_works(acu_kernel_attribute(fill, ACU_CU_FUNC_ATTRIBUTE_NUM_REGS, &value));
    assert_true(value > 0);
    assert_works(acu_kernel_prefer_shared(fill, 50));
    assert_works(acu_kernel_attribute(fill, ACU_CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                                      &value));
    assert_int_equal(value, 50);
    assert_fails(acu_kernel_prefer_shared(fill, 101), ACU_ERR_INVALID, "101 percent");
    assert_fails(acu_kernel_attribute(fill, ACU_CU_FUNC_ATTRIBUTE_NUM_REGS, NULL), ACU_ERR_INVALID,
                 "nowhere");
    assert_fails(acu_kernel_attribute(fill, 999, &value), ACU_ERR_INVALID, "attribute 999 of fill");
    assert_fails(acu_kernel_set_attribute(fill, 999, 1), ACU_ERR_INVALID, "attribute 999 of fill");
    acu_kernel_release(fill);
}

static void occupancy(void **state)
{
    (void)state;
    acu_kernel *fill = kernel_of("fill");
    unsigned blocks = 0, fewer = 0, threads = 0, grid = 0;
    assert_works(acu_kernel_max_blocks(fill, 128, 0, &blocks));
    assert_true(blocks >= 1 && blocks <= 64);
    assert_works(acu_kernel_max_blocks(fill, 128, 40 << 10, &fewer));
    assert_true(fewer < blocks);
    assert_works(acu_kernel_best_block(fill, 0, &threads, &grid));
    assert_true(threads >= 32 && threads <= 128 && grid >= 1);
    assert_fails(acu_kernel_max_blocks(fill, 129, 0, &blocks), ACU_ERR_LIMIT,
                 "129 threads|allows 128");
    acu_kernel_release(fill);
}

/* A launch opts into more shared memory by itself. Occupancy counts that, even before the first
 * launch. */
static void occupancy_with_much_shared_memory(void **state)
{
    (void)state;
    const acu_device_info *info = acu_device_info_of(device);
    size_t most = info->max_shared_optin;
    unsigned blocks = 0, threads = 0, grid = 0;
    if (most == info->max_shared)
        skip();
    acu_kernel *fill = kernel_of("fill");
    assert_works(acu_kernel_max_blocks(fill, 128, most, &blocks));
    assert_int_equal(blocks, 1);
    acu_kernel_release(fill);
    acu_kernel *meet = kernel_of("meet");
    assert_works(acu_kernel_best_block(meet, most, &threads, &grid));
    assert_true(threads >= 32);
    assert_int_equal(grid, info->multiprocessors);
    assert_fails(acu_kernel_max_blocks(meet, 32, most + 1, &blocks), ACU_ERR_LIMIT,
                 "meet|dynamic shared memory|at most");
    assert_fails(acu_kernel_max_blocks(meet, 32, SIZE_MAX, &blocks), ACU_ERR_LIMIT, "at most");
    assert_fails(acu_kernel_best_block(meet, most + 1, &threads, &grid), ACU_ERR_LIMIT, "at most");
    acu_kernel_release(meet);
}

/* ---- launches with attributes ---- */

static void cooperative_blocks_meet(void **state)
{
    (void)state;
    acu_kernel *meet = kernel_of("meet");
    acu_tensor *out = NULL;
    uint32_t got[8];
    acu_config config = ACU_GRID_BLOCK(8, 1, 1, 32, 1, 1);
    config.cooperative = true;
    assert_works(acu_tensor_alloc(device, ACU_U32, ACU_SHAPE(8), &out));
    assert_works(acu_sync(device, acu_launch(meet, config, acu_out(out)), NULL));
    assert_works(acu_read_sync(out, got, sizeof got));
    for (int i = 0; i < 8; i++)
        assert_int_equal(got[i], 8);
    /* More blocks than fit at the same time. */
    unsigned blocks = 0;
    assert_works(acu_kernel_max_blocks(meet, 32, 0, &blocks));
    unsigned room = blocks * (unsigned)acu_device_info_of(device)->multiprocessors;
    config.grid[0] = room + 1;
    acu_future *none = NULL;
    for (int i = 0; i < 2; i++) /* also if the driver's answer is known already */
        assert_fails(acu_submit(device, acu_launch(meet, config, acu_out(out)), NULL, &none),
                     ACU_ERR_LIMIT, "meet|cooperative grid|holds");
    acu_tensor_release(out);
    acu_kernel_release(meet);
}

static bool has_nine(void)
{
    return acu_device_info_of(device)->compute_major >= 9;
}

static void clusters(void **state)
{
    (void)state;
    acu_kernel *fill = kernel_of("fill");
    acu_config config = ACU_GRID_BLOCK(4, 1, 1, 32, 1, 1), bad = config;
    acu_future *none = NULL;
    unsigned count = 0;
    config.cluster[0] = 2;
    acu_op *op = acu_launch(fill, config, acu_out(acu_empty(ACU_I32, ACU_SHAPE(128))), acu_i32(3));
    if (!test_on_gpu() || !has_nine()) {
        assert_fails(acu_submit(device, op, NULL, &none), ACU_ERR_NOT_SUPPORTED, "fill|clusters");
        assert_fails(acu_kernel_max_clusters(fill, &config, &count), ACU_ERR_NOT_SUPPORTED,
                     "clusters");
    } else {
        assert_works(acu_sync(device, op, NULL));
        assert_works(acu_kernel_max_clusters(fill, &config, &count));
        assert_true(count >= 1);
        assert_works(acu_kernel_max_cluster(fill, &config, &count));
        assert_true(count >= 8);
        bad.cluster[0] = 3;
        op = acu_launch(fill, bad, acu_out(acu_empty(ACU_I32, ACU_SHAPE(128))), acu_i32(3));
        assert_fails(acu_submit(device, op, NULL, &none), ACU_ERR_LIMIT,
                     "4 blocks in x|multiple of 3");
        bad.cluster[0] = 16;
        op = acu_launch(fill, bad, acu_out(acu_empty(ACU_I32, ACU_SHAPE(128))), acu_i32(3));
        assert_fails(acu_submit(device, op, NULL, &none), ACU_ERR_LIMIT, "16 blocks|8 at most");
    }
    acu_kernel_release(fill);
}

/* The kernels run in turn, or overlap as far as they allow; here they do not depend on each
 * other. */
static void programmatic_launches(void **state)
{
    (void)state;
    acu_kernel *fill = kernel_of("fill");
    acu_config config = ACU_GRID_BLOCK(1, 1, 1, 64, 1, 1);
    int32_t got[64];
    acu_tensor *x = NULL;
    acu_graph *graph = NULL;
    config.programmatic = true;
    acu_op *op = acu_launch(fill, config, acu_out(acu_empty(ACU_I32, ACU_SHAPE(64))), acu_i32(9));
    if (!acu_driver_has(ACU_CALL_LaunchKernelEx)) {
        assert_fails(acu_sync(device, op, NULL), ACU_ERR_NOT_SUPPORTED, "programmatic|driver");
    } else if (test_on_gpu() && !has_nine()) {
        assert_fails(acu_sync(device, op, NULL), ACU_ERR_NOT_SUPPORTED,
                     "programmatic|capability 9");
    } else {
        assert_works(acu_sync(device, acu_first(op), &x));
        assert_works(acu_read_sync(x, got, sizeof got));
        assert_int_equal(got[63], 9);
        op = acu_launch(fill, config, acu_out(x), acu_i32(1));
        assert_fails(acu_graph_load(device, op, NULL, &graph), ACU_ERR_NOT_SUPPORTED,
                     "only issued directly");
        acu_tensor_release(x);
    }
    acu_kernel_release(fill);
}

/* ---- modules of others ---- */

static _Atomic(int) released;

static void count_release(void *data)
{
    (void)data;
    released++;
}

/* Another thread may have seen the last of its work end, and still be putting that away. */
static void await_releases(int count)
{
    while (released < count)
        sched_yield();
    assert_int_equal(released, count);
}

static void fill_by(acu_module *of)
{
    acu_kernel *fill = NULL;
    acu_tensor *x = NULL;
    int32_t got[64];
    assert_works(acu_kernel_get(of, "fill", &fill));
    acu_op *op = acu_launch(fill, ACU_GRID_BLOCK(1, 1, 1, 64, 1, 1),
                            acu_out(acu_empty(ACU_I32, ACU_SHAPE(64))), acu_i32(6));
    assert_works(acu_sync(device, acu_first(op), &x));
    assert_works(acu_read_sync(x, got, sizeof got));
    assert_int_equal(got[63], 6);
    acu_kernel_release(fill);
    acu_tensor_release(x);
}

/* Whatever is wrong, the user data is released. */
static void refuse_to_wrap(acu_module_source theirs)
{
    acu_module *wrapped = NULL;
    acu_future *future = NULL;
    released = 0;
    assert_fails(acu_module_load(device, &theirs, NULL), ACU_ERR_INVALID, "nowhere");
    assert_fails(acu_module_load_async(device, &theirs, NULL), ACU_ERR_INVALID, "without a future");
    theirs.name = "acuda.theirs";
    assert_fails(acu_module_load(device, &theirs, &wrapped), ACU_ERR_INVALID, "acuda.");
    assert_fails(acu_module_load_async(device, &theirs, &future), ACU_ERR_INVALID, "acuda.");
    theirs.ptx = test_launches_ptx;
    assert_fails(acu_module_load(device, &theirs, &wrapped), ACU_ERR_INVALID, "exactly one");
    theirs.module = NULL;
    assert_fails(acu_module_load(device, &theirs, &wrapped), ACU_ERR_INVALID, "user data");
    assert_int_equal(released, 6);
}

static void modules_of_others(void **state)
{
    (void)state;
    const acu_driver_table *cu = acu_driver();
    CUmodule raw = NULL;
    CUlibrary library = NULL;
    acu_module *wrapped = NULL;
    released = 0;
    test_enter(device);
    assert_int_equal(cu->ModuleLoadData(&raw, test_launches_ptx), 0);
    test_leave(device);
    acu_module_source theirs = {.size = sizeof theirs,
                                .name = "theirs",
                                .module = raw,
                                .user = ACU_USER(NULL, count_release)};
    assert_works(acu_module_load(device, &theirs, &wrapped));
    fill_by(wrapped);
    acu_module_release(wrapped);
    await_releases(1);
    acu_future *future = NULL;
    assert_works(acu_module_load_async(device, &theirs, &future));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_works(acu_future_module(future, &wrapped));
    acu_future_release(future);
    acu_module_release(wrapped);
    await_releases(2);
    test_enter(device);
    assert_int_equal(cu->ModuleUnload(raw), 0); /* it still belonged to its owner */
    test_leave(device);
    refuse_to_wrap(theirs);
    released = 2;
    if (!acu_driver_has(ACU_CALL_LibraryLoadData) || !acu_driver_has(ACU_CALL_LibraryGetModule))
        return;
    test_enter(device);
    assert_int_equal(cu->LibraryLoadData(&library, test_launches_ptx, NULL, NULL, 0, NULL, NULL, 0),
                     0);
    test_leave(device);
    assert_works(acu_module_load(device,
                                 &(acu_module_source){.size = sizeof(acu_module_source),
                                                      .library = library,
                                                      .user = ACU_USER(NULL, count_release)},
                                 &wrapped));
    fill_by(wrapped);
    acu_module_release(wrapped);
    await_releases(3);
    test_enter(device);
    assert_int_equal(cu->LibraryUnload(library), 0);
    test_leave(device);
}

static void modules_of_others_need_no_kernel(void **state)
{
    (void)state;
    const acu_driver_table *cu = acu_driver();
    CUmodule raw = NULL;
    acu_module *wrapped = NULL;
    acu_buffer *counter = NULL;
    test_enter(device);
    assert_int_equal(cu->ModuleLoadData(&raw, ".version 6.3\n.target sm_60\n.address_size 64\n"
                                              ".visible .global .u32 counter;\n"),
                     0);
    test_leave(device);
    acu_module_source theirs = {.size = sizeof theirs, .module = raw};
    assert_works(acu_module_load(device, &theirs, &wrapped));
    assert_works(acu_module_global(wrapped, "counter", &counter));
    acu_buffer_release(counter);
    acu_module_release(wrapped);
    test_enter(device);
    assert_int_equal(cu->ModuleUnload(raw), 0);
    test_leave(device);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(variables_are_ordered_with_launches),
        TEST(constants_too),
        TEST(launches_read_constants),
        TEST(a_variable_is_one_buffer_and_keeps_its_module),
        TEST(attributes),
        TEST(occupancy),
        TEST(occupancy_with_much_shared_memory),
        TEST(cooperative_blocks_meet),
        TEST(clusters),
        TEST(programmatic_launches),
        TEST(modules_of_others),
        TEST(modules_of_others_need_no_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
