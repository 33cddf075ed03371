/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * SOFTCUDA_EXACT: one element behind a buffer is found in a program that does nothing for it, and
 * memory that was never written shows.
 */
#include "support/support.h"

static const char put_ptx[] =
    ".version 6.3\n.target sm_60\n.address_size 64\n"
    ".visible .entry put(.param .u64 y, .param .u32 i)\n{\n"
    "    .reg .b32 %r<2>;\n    .reg .b64 %rd<4>;\n"
    "    ld.param.u64 %rd1, [y];\n    ld.param.u32 %r1, [i];\n    cvta.to.global.u64 %rd1, %rd1;\n"
    "    mul.wide.u32 %rd2, %r1, 4;\n    add.s64 %rd3, %rd1, %rd2;\n"
    "    st.global.u32 [%rd3], %r1;\n    ret;\n}\n";

enum { COUNT = 100 };

/* Writes element `at` of COUNT. */
static acu_status write_at(acu_device *device, acu_kernel *kernel, int at)
{
    acu_tensor *y = NULL;
    assert_works(acu_tensor_alloc(device, ACU_F32, ACU_SHAPE(COUNT), &y));
    acu_op *put =
        acu_launch(kernel, ACU_GRID_BLOCK(1, 1, 1, 1, 1, 1), acu_out(y), acu_i32(at));
    acu_status st = acu_sync(device, put, NULL);
    acu_tensor_release(y);
    return st;
}

static void behind_the_end(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_kernel *kernel = test_kernel(device, put_ptx, "put");
    assert_works(write_at(device, kernel, COUNT - 1));
    assert_fails(write_at(device, kernel, COUNT), ACU_ERR_DEVICE_LOST,
                 "put|just past the end of an allocation");
    acu_kernel_release(kernel);
}

static void not_noticed_by_default(void **state)
{
    (void)state;
    setenv("SOFTCUDA_EXACT", "0", 1);
    acu_device *device = test_open();
    acu_kernel *kernel = test_kernel(device, put_ptx, "put");
    assert_works(write_at(device, kernel, COUNT));
    acu_kernel_release(kernel);
    test_close(device);
}

static const test_case cases[] = {{"behind_the_end", behind_the_end},
                                  {"not_noticed_by_default", not_noticed_by_default}};

static void accesses_behind_the_end_are_faults(void **state)
{
    (void)state;
    test_software_only();
    test_in_process("behind_the_end");
}

static void by_default_they_are_not(void **state)
{
    (void)state;
    test_software_only();
    test_in_process("not_noticed_by_default");
}

static void all_of_new_memory_holds_nothing(void **state)
{
    (void)state;
    test_software_only();
    enum { BYTES = 8 << 20 };
    acu_device *device = test_open();
    acu_buffer *buffer = NULL;
    unsigned char *seen = malloc(BYTES);
    assert_non_null(seen);
    assert_works(acu_buffer_create(device, BYTES, &buffer));
    test_quiet(device);
    test_get(device, seen, acu_buffer_address(buffer), BYTES);
    for (size_t i = 0; i < BYTES; i++)
        assert_int_equal(seen[i], 0xff);
    acu_buffer_release(buffer);
    free(seen);
    test_close(device);
    test_leaks_none();
}

int main(int argc, char **argv)
{
    setenv("SOFTCUDA_EXACT", "1", 1);
    if (argc > 1)
        return test_run_case(cases, sizeof cases / sizeof cases[0], argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accesses_behind_the_end_are_faults),
        cmocka_unit_test(by_default_they_are_not),
        cmocka_unit_test(all_of_new_memory_holds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
