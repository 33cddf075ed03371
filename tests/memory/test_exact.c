/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * SOFTCUDA_EXACT: one element behind a buffer, and a read of memory that was never written, are
 * found in a program that does nothing for it.
 */
#include "support/support.h"

static const char put_ptx[] =
    ".version 6.3\n.target sm_60\n.address_size 64\n"
    ".visible .entry put(.param .u64 y, .param .u32 i)\n{\n"
    "    .reg .b32 %r<2>;\n    .reg .b64 %rd<4>;\n"
    "    ld.param.u64 %rd1, [y];\n    ld.param.u32 %r1, [i];\n    cvta.to.global.u64 %rd1, %rd1;\n"
    "    mul.wide.u32 %rd2, %r1, 4;\n    add.s64 %rd3, %rd1, %rd2;\n"
    "    st.global.u32 [%rd3], %r1;\n    ret;\n}\n";

/* y[i] = x[i], each thread one; add: x[i] += 1 */
static const char get_ptx[] =
    ".version 6.3\n.target sm_60\n.address_size 64\n"
    ".visible .entry get(.param .u64 y, .param .u64 x)\n{\n"
    "    .reg .b32 %r<3>;\n    .reg .b64 %rd<6>;\n"
    "    ld.param.u64 %rd1, [y];\n    ld.param.u64 %rd2, [x];\n    mov.u32 %r1, %tid.x;\n"
    "    cvta.to.global.u64 %rd1, %rd1;\n    cvta.to.global.u64 %rd2, %rd2;\n"
    "    mul.wide.u32 %rd3, %r1, 4;\n    add.s64 %rd4, %rd1, %rd3;\n"
    "    add.s64 %rd5, %rd2, %rd3;\n    ld.global.u32 %r2, [%rd5];\n"
    "    st.global.u32 [%rd4], %r2;\n    ret;\n}\n"
    ".visible .entry add(.param .u64 x)\n{\n"
    "    .reg .b32 %r<3>;\n    .reg .b64 %rd<3>;\n"
    "    ld.param.u64 %rd1, [x];\n    atom.global.add.u32 %r1, [%rd1], 1;\n    ret;\n}\n";

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

/* ---- memory that was never written ---- */

typedef struct bench {
    acu_device *device;
    acu_kernel *get, *add;
    acu_tensor *x, *y;
} bench;

static acu_tensor *words(acu_device *device)
{
    acu_tensor *x = NULL;
    assert_works(acu_tensor_alloc(device, ACU_I32, ACU_SHAPE(COUNT), &x));
    return x;
}

static bench open_bench(void)
{
    acu_device *device = test_open();
    return (bench){device, test_kernel(device, get_ptx, "get"), test_kernel(device, get_ptx, "add"),
                   words(device), words(device)};
}

static void close_bench(bench *b)
{
    acu_tensor_release(b->x);
    acu_tensor_release(b->y);
    acu_kernel_release(b->get);
    acu_kernel_release(b->add);
}

static acu_status get(bench *b, acu_tensor *x, unsigned threads)
{
    const acu_config config = ACU_GRID_BLOCK(1, 1, 1, threads, 1, 1);
    return acu_sync(b->device, acu_launch(b->get, config, acu_out(b->y), acu_in(x)), NULL);
}

#define UNWRITTEN "read of 4 bytes|nothing has written there since the memory was allocated"

static void a_read(void **state)
{
    (void)state;
    bench b = open_bench();
    assert_fails(get(&b, b.x, 1), ACU_ERR_DEVICE_LOST, "kernel get|" UNWRITTEN "|thread (0,0,0)");
    close_bench(&b);
}

/* A warp's neighbouring reads are looked at together, and the thread is named all the same. */
static void a_read_behind_what_was_written(void **state)
{
    (void)state;
    static const int values[40];
    bench b = open_bench();
    const int64_t start[] = {0}, end[] = {40};
    acu_tensor *first = NULL;
    assert_works(acu_tensor_slice(b.x, start, end, &first));
    assert_works(acu_write_sync(first, values, sizeof values));
    assert_works(get(&b, b.x, 32));
    assert_works(get(&b, b.x, 40));
    assert_fails(get(&b, b.x, 64), ACU_ERR_DEVICE_LOST, UNWRITTEN "|thread (40,0,0)");
    acu_tensor_release(first);
    close_bench(&b);
}

static void an_atomic(void **state)
{
    (void)state;
    bench b = open_bench();
    const acu_config config = ACU_GRID_BLOCK(1, 1, 1, 1, 1, 1);
    assert_works(acu_sync(b.device, acu_fill(b.y, acu_i32(1)), NULL));
    assert_works(acu_sync(b.device, acu_launch(b.add, config, acu_inout(b.y)), NULL));
    assert_fails(acu_sync(b.device, acu_launch(b.add, config, acu_inout(b.x)), NULL),
                 ACU_ERR_DEVICE_LOST, "atomic access of 4 bytes|nothing has written");
    close_bench(&b);
}

/* A copy of nothing is nothing, and what a kernel, a copy or a fill wrote is there. */
static void a_read_of_a_copy(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_tensor *z = words(b.device);
    assert_works(acu_sync(b.device, acu_fill(b.x, acu_i32(3)), NULL));
    assert_works(get(&b, b.x, COUNT));
    assert_works(get(&b, b.y, COUNT));
    assert_works(acu_sync(b.device, acu_copy(z, b.y), NULL));
    assert_works(get(&b, z, COUNT));
    acu_tensor *nothing = words(b.device);
    assert_works(acu_sync(b.device, acu_copy(z, nothing), NULL));
    assert_fails(get(&b, z, 1), ACU_ERR_DEVICE_LOST, UNWRITTEN);
    acu_tensor_release(nothing);
    acu_tensor_release(z);
    close_bench(&b);
}

static void a_read_by_default(void **state)
{
    (void)state;
    setenv("SOFTCUDA_EXACT", "0", 1);
    bench b = open_bench();
    assert_works(get(&b, b.x, COUNT));
    close_bench(&b);
    test_close(b.device);
}

static const test_case cases[] = {
    {"behind_the_end", behind_the_end},
    {"not_noticed_by_default", not_noticed_by_default},
    {"a_read", a_read},
    {"a_read_behind_what_was_written", a_read_behind_what_was_written},
    {"an_atomic", an_atomic},
    {"a_read_of_a_copy", a_read_of_a_copy},
    {"a_read_by_default", a_read_by_default},
};

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

static void reads_of_memory_never_written_are_faults(void **state)
{
    (void)state;
    test_software_only();
    test_in_process("a_read");
    test_in_process("a_read_behind_what_was_written");
    test_in_process("an_atomic");
    test_in_process("a_read_of_a_copy");
    test_in_process("a_read_by_default");
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
        cmocka_unit_test(reads_of_memory_never_written_are_faults),
        cmocka_unit_test(all_of_new_memory_holds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
