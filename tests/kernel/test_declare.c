/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Declaring parameters, and launch configurations against limits. */
#include "kernel/kernel.h"
#include "kernel/kernels_ptx.h"
#include "support/one_device.h"

static acu_kernel *set, *bounded, *shared, *tiled, *empty;

static int setup(void **state)
{
    device_setup(state);
    acu_module *module = test_load_ptx(device, NULL, kernels_ptx);
    assert_works(acu_kernel_get(module, "set", &set));
    assert_works(acu_kernel_get(module, "bounded", &bounded));
    assert_works(acu_kernel_get(module, "shared", &shared));
    assert_works(acu_kernel_get(module, "tiled", &tiled));
    assert_works(acu_kernel_get(module, "empty", &empty));
    acu_module_release(module);
    return 0;
}

static int teardown(void **state)
{
    acu_kernel_release(set);
    acu_kernel_release(bounded);
    acu_kernel_release(shared);
    acu_kernel_release(tiled);
    acu_kernel_release(empty);
    return device_teardown(state);
}

/* ---- declaring ------------------------------------------------------------------------------- */

static void signatures_are_read(void **state)
{
    (void)state;
    assert_works(acu_kernel_declare(set, "out f32, f32"));
    assert_int_equal(set->params[0].want, ACUI_WANT_OUT);
    assert_int_equal(set->params[0].dtype, ACU_F32);
    assert_int_equal(set->params[0].bytes, 8);
    assert_int_equal(set->params[0].type, 'i');
    assert_int_equal(set->params[1].want, ACUI_WANT_SCALAR);
    assert_int_equal(set->params[1].type, 'f');
    assert_works(acu_kernel_declare(set, "  inout\tu8 ,any "));
    assert_int_equal(set->params[0].want, ACUI_WANT_INOUT);
    assert_int_equal(set->params[0].dtype, ACU_U8);
    assert_int_equal(set->params[1].want, ACUI_WANT_ANY);
    assert_int_equal(set->params[1].dtype, ACU_NO_DTYPE);
    assert_works(acu_kernel_declare(tiled, "tile f64,in bf16,bool"));
    assert_int_equal(tiled->params[0].want, ACUI_WANT_TILE);
    assert_int_equal(tiled->params[1].want, ACUI_WANT_IN);
    assert_int_equal(tiled->params[1].dtype, ACU_BF16);
    assert_int_equal(tiled->params[2].dtype, ACU_BOOL);
    assert_works(acu_kernel_declare(empty, ""));
    assert_works(acu_kernel_declare(empty, " "));
}

static void wrong_signatures_are_refused_with_the_word(void **state)
{
    (void)state;
    assert_fails(acu_kernel_declare(set, "out f32, f23"), ACU_ERR_INVALID, "parameter 1|\"f23\"");
    assert_fails(acu_kernel_declare(set, "into f32, f32"), ACU_ERR_INVALID,
                 "parameter 0|\"into f32\"");
    assert_fails(acu_kernel_declare(set, "in , f32"), ACU_ERR_INVALID, "parameter 0|\"in\"");
    assert_fails(acu_kernel_declare(set, ", f32"), ACU_ERR_INVALID, "parameter 0|\"\"");
    assert_fails(acu_kernel_declare(set, "out f32"), ACU_ERR_ARGUMENTS, "set has 2|declares 1");
    assert_fails(acu_kernel_declare(set, ""), ACU_ERR_ARGUMENTS, "set has 2|declares 0");
    assert_fails(acu_kernel_declare(set, "out f32, f64"), ACU_ERR_ARGUMENTS,
                 "parameter 1 of set|\"f64\", 8 bytes|has 4");
    assert_fails(acu_kernel_declare(set, "tile f32, f32"), ACU_ERR_ARGUMENTS, "112 bytes|has 8");
    assert_fails(acu_kernel_declare(set, NULL), ACU_ERR_INVALID, "NULL");
    assert_int_equal(set->params[0].want, ACUI_WANT_ANY); /* nothing changed */
}

/* Launches may still read what was declared before, so that stays, but only once. */
static void declaring_again_needs_no_memory(void **state)
{
    (void)state;
    static const char *const signatures[] = {"out f32, f32", "inout f32, any", " out  f32 ,f32"};
    for (int i = 0; i < 3; i++)
        assert_works(acu_kernel_declare(set, signatures[i]));
    assert_int_equal(set->params[0].want, ACUI_WANT_OUT);
    size_t blocks = acu_debug_live_blocks();
    for (int i = 0; i < 3; i++)
        assert_works(acu_kernel_declare(set, signatures[i]));
    assert_works(acu_kernel_declare(set, signatures[1]));
    assert_int_equal(set->params[0].want, ACUI_WANT_INOUT);
    assert_int_equal(acu_debug_live_blocks(), blocks);
}

static void handles_are_declared_one_by_one(void **state)
{
    (void)state;
    acu_kernel *other = NULL;
    assert_works(acu_kernel_get(set->module, "set", &other));
    assert_works(acu_kernel_declare(set, "out f32, f32"));
    assert_int_equal(other->params[0].want, ACUI_WANT_ANY);
    acu_kernel_release(other);
}

/* ---- configurations -------------------------------------------------------------------------- */

static acu_status configure(acu_kernel *kernel, acu_config *config)
{
    return acui_kernel_config(kernel, config);
}

static void zeros_are_filled_in(void **state)
{
    (void)state;
    acu_config c = {.grid = {7}};
    assert_works(configure(set, &c));
    assert_int_equal(c.block[0], 256);
    assert_int_equal(c.block[1], 1);
    assert_int_equal(c.block[2], 1);
    assert_int_equal(c.grid[1], 1);
    assert_int_equal(c.grid[2], 1);
    c = (acu_config){.grid = {7, 2}};
    assert_works(configure(bounded, &c));
    assert_int_equal(c.block[0], 128);
    assert_int_equal(c.grid[1], 2);
    c = (acu_config){.grid = {1}, .block = {4, 4}};
    assert_works(configure(set, &c));
    assert_int_equal(c.block[1], 4);
    assert_int_equal(c.block[2], 1);
    c = acu_for_num_elems(1000);
    assert_int_equal(c.grid[0], 4);
    assert_works(configure(set, &c));
}

static void limits_are_named(void **state)
{
    (void)state;
    acu_config c = acu_for_num_elems(0);
    assert_fails(configure(set, &c), ACU_ERR_LIMIT, "set: the grid is empty");
    c = ACU_GRID_BLOCK(1, 70000, 1, 1, 1, 1);
    assert_fails(configure(set, &c), ACU_ERR_LIMIT, "70000 blocks in y|65535");
    c = ACU_GRID_BLOCK(1, 1, 1, 0, 4, 1);
    assert_fails(configure(set, &c), ACU_ERR_LIMIT, "0 x 4 x 1");
    c = ACU_GRID_BLOCK(1, 1, 1, 1, 1, 100);
    assert_fails(configure(set, &c), ACU_ERR_LIMIT, "100 threads in z|allows 64");
    c = ACU_GRID_BLOCK(1, 1, 1, 64, 32, 1);
    assert_fails(configure(set, &c), ACU_ERR_LIMIT, "64 x 32 x 1 = 2048|1024");
    c = ACU_GRID_BLOCK(1, 1, 1, 256, 1, 1);
    assert_fails(configure(bounded, &c), ACU_ERR_LIMIT, "bounded|256|allows 128");
}

static void more_shared_memory_is_opted_into_once(void **state)
{
    (void)state;
    size_t most = acu_device_info_of(device)->max_shared_optin;
    size_t own = acu_kernel_info_of(shared)->static_shared;
    size_t plain = acu_device_info_of(device)->max_shared;
    acu_config c = {.grid = {1}, .shared = plain - own};
    acu_driver_count_calls(true);
    assert_works(configure(shared, &c));
    assert_int_equal(acu_driver_calls(ACU_CALL_FuncSetAttribute), 0);
    c.shared = most - own + 1;
    assert_fails(configure(shared, &c), ACU_ERR_LIMIT, "shared: |at most");
    c.shared = SIZE_MAX;
    assert_fails(configure(shared, &c), ACU_ERR_LIMIT, "at most");
    if (most > plain) {
        c.shared = plain;
        assert_works(configure(shared, &c));
        c.shared = most - own;
        assert_works(configure(shared, &c));
        acu_kernel *other = NULL; /* another handle on the same function */
        assert_works(acu_kernel_get(shared->module, "shared", &other));
        assert_works(configure(other, &c));
        assert_int_equal(acu_driver_calls(ACU_CALL_FuncSetAttribute), 1);
        void *out = NULL;
        void *params[] = {&out};
        acu_buffer *buffer = NULL;
        assert_works(acu_buffer_create(device, 16, &buffer));
        CUdeviceptr address = acu_buffer_address(buffer);
        params[0] = &address;
        test_quiet(device);
        test_enter(device);
        assert_int_equal(acu_driver()->LaunchKernel(other->raw, 1, 1, 1, 32, 1, 1,
                                                    (unsigned)c.shared, NULL, params, NULL), 0);
        test_leave(device);
        test_quiet(device);
        acu_buffer_release(buffer);
        acu_kernel_release(other);
    }
    acu_driver_count_calls(false);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(signatures_are_read),
        TEST(wrong_signatures_are_refused_with_the_word),
        TEST(declaring_again_needs_no_memory),
        TEST(handles_are_declared_one_by_one),
        TEST(zeros_are_filled_in),
        TEST(limits_are_named),
        TEST(more_shared_memory_is_opted_into_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
