/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Launches: what of each kind of argument reaches the kernel, grids and blocks given, inferred and
 * by default, partitions of every rank with clipped edges, and much shared memory.
 */
#include "support/support.h"

#include <stdio.h>

extern const char test_launch_ptx[];

typedef struct bench {
    acu_device *device;
    acu_module *module;
} bench;

static bench open_bench(void)
{
    bench b = {.device = test_open()};
    b.module = test_load_ptx(b.device, NULL, test_launch_ptx);
    return b;
}

static void close_bench(bench *b)
{
    acu_module_release(b->module);
    test_close(b->device);
    test_leaks_none();
}

static acu_kernel *get(const bench *b, const char *name)
{
    acu_kernel *kernel = NULL;
    assert_works(acu_kernel_get(b->module, name, &kernel));
    return kernel;
}

/* The first value of the op, in `memory`. */
static void run(const bench *b, acu_op *op, void *memory, size_t bytes)
{
    acu_tensor *tensor;
    assert_works(acu_sync(b->device, acu_unpartition(op), &tensor));
    assert_works(acu_read_sync(tensor, memory, bytes));
    acu_tensor_release(tensor);
}

#define ONE ACU_GRID_BLOCK(1, 1, 1, 1, 1, 1)

static void scalars_of_every_size(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_kernel *kinds = get(&b, "kinds");
    int64_t out[8];
    acu_op *to = acu_zeros(ACU_U64, ACU_SHAPE(8));
    /* A scalar may also be an op. */
    run(&b, acu_launch(kinds, ONE, acu_out(to), acu_i8(-5), acu_u16(65000), acu_i32(-100000),
                       acu_u64(0x0123456789ABCDEF), acu_f32(2.25f),
                       acu_in(acu_scalar(acu_f64(-1.75))), acu_bool(true)), out, sizeof out);
    const int64_t want[] = {-5, 65000, -100000, 0x0123456789ABCDEF, 9, -7, 1, 0};
    assert_memory_equal(out, want, sizeof out);
    acu_kernel_release(kinds);
    close_bench(&b);
}

static void structs_by_value(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_kernel *by_value = get(&b, "by_value");
    struct mixed {
        char letter;
        double number;
        int list[5];
    } m = {.letter = 'x', .number = 0.5, .list = {1, 2, 3, 4, 5}};
    double out[8];
    acu_op *op = acu_launch(by_value, ONE, acu_out(acu_zeros(ACU_F64, ACU_SHAPE(8))),
                            acu_arg_struct(&m, sizeof m), acu_i32(77));
    memset(&m, 0, sizeof m); /* copied when the op was made */
    run(&b, op, out, sizeof out);
    const double want[] = {'x', 0.5, 1, 2, 3, 4, 5, 77};
    assert_memory_equal(out, want, sizeof out);
    assert_fails(acu_submit(b.device, acu_launch(by_value, ONE,
                                                 acu_out(acu_zeros(ACU_F64, ACU_SHAPE(8))),
                                                 acu_arg_struct(&m, sizeof m - 8), acu_i32(0)),
                            NULL, NULL), ACU_ERR_ARGUMENTS, "is a struct, 32 bytes|has 40");
    acu_kernel_release(by_value);
    close_bench(&b);
}

static void grids_and_blocks(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_kernel *where = get(&b, "where");
    static const struct {
        acu_config config;
        uint32_t want[6];
    } rows[] = {
        {{.grid = {3}}, {3, 1, 1, 256, 1, 1}},
        {{.grid = {2, 3, 4}, .block = {5, 6, 7}}, {2, 3, 4, 5, 6, 7}},
        {{.grid = {1, 0, 2}, .block = {8, 0, 2}}, {1, 1, 2, 8, 1, 2}},
        {{.grid = {1}, .block = {1024}}, {1, 1, 1, 1024, 1, 1}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t out[6];
        run(&b, acu_launch(where, rows[i].config, acu_out(acu_zeros(ACU_U32, ACU_SHAPE(6)))), out,
            sizeof out);
        assert_memory_equal(out, rows[i].want, sizeof out);
    }
    acu_config c = acu_for_num_elems(1000);
    assert_int_equal(c.grid[0], 4);
    assert_int_equal(c.block[0], 256);
    c = acu_for_num_elems(256);
    assert_int_equal(c.grid[0], 1);
    assert_fails(acu_submit(b.device, acu_launch(where, acu_for_num_elems(-1),
                                                 acu_out(acu_zeros(ACU_U32, ACU_SHAPE(6)))),
                            NULL, NULL), ACU_ERR_LIMIT, "where");
    acu_kernel_release(where);
    close_bench(&b);
}

/* What the kernel must have written at (i, j, k): its block, counted x first, plus one. */
static int tile_number(acu_shape shape, acu_shape tile, const int64_t at[3])
{
    int64_t number = 0;
    for (int d = 0; d < shape.rank; d++) { /* dimension 0 is the slowest */
        int64_t tiles = (shape.dim[d] + tile.dim[d] - 1) / tile.dim[d];
        number = number * tiles + at[d] / tile.dim[d];
    }
    return (int)number + 1;
}

static void check_tiles(const int *data, acu_shape shape, acu_shape tile)
{
    int64_t at[3], extent[3] = {1, 1, 1};
    for (int d = 0; d < shape.rank; d++)
        extent[d] = shape.dim[d];
    for (at[0] = 0; at[0] < extent[0]; at[0]++)
        for (at[1] = 0; at[1] < extent[1]; at[1]++)
            for (at[2] = 0; at[2] < extent[2]; at[2]++)
                assert_int_equal(*data++, tile_number(shape, tile, at));
}

static void partitions_of_every_rank(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_kernel *kernels[3] = {get(&b, "tiles1"), get(&b, "tiles2"), get(&b, "tiles3")};
    static const struct {
        acu_shape shape, tile;
    } rows[] = {
        {{1, {100}}, {1, {10}}},         {{1, {100}}, {1, {32}}},
        {{1, {5}}, {1, {64}}},           {{1, {7}}, {1, {1}}},
        {{2, {16, 16}}, {2, {4, 4}}},    {{2, {10, 7}}, {2, {3, 4}}},
        {{2, {1, 9}}, {2, {5, 2}}},      {{2, {9, 1}}, {2, {2, 5}}},
        {{3, {4, 6, 8}}, {3, {2, 3, 4}}}, {{3, {5, 3, 7}}, {3, {2, 2, 3}}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int data[400];
        acu_shape shape = rows[i].shape;
        acu_op *y = acu_partition(acu_zeros(ACU_I32, shape), rows[i].tile);
        run(&b, acu_launch(kernels[shape.rank - 1], ACU_BLOCK(32), acu_inout(y)), data,
            (size_t)acu_shape_elements(shape) * sizeof *data);
        check_tiles(data, shape, rows[i].tile);
    }
    for (int i = 0; i < 3; i++)
        acu_kernel_release(kernels[i]);
    close_bench(&b);
}

/* A partition of a slice with gaps: its tiles are written, and nothing between them. */
static void partitions_of_slices(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_kernel *tiles2 = get(&b, "tiles2");
    acu_tensor *whole, *inner;
    assert_works(acu_sync(b.device, acu_zeros(ACU_I32, ACU_SHAPE(8, 10)), &whole));
    assert_works(acu_tensor_slice(whole, (int64_t[]){2, 3}, (int64_t[]){7, 9}, &inner));
    acu_op *tiles = acu_partition(inner, ACU_SHAPE(2, 4));
    assert_works(acu_sync(b.device, acu_launch(tiles2, ACU_AUTO, acu_inout(tiles)), NULL));
    int data[80];
    assert_works(acu_read_sync(whole, data, sizeof data));
    for (int64_t i = 0; i < 8; i++)
        for (int64_t j = 0; j < 10; j++) {
            bool in = i >= 2 && i < 7 && j >= 3 && j < 9;
            int want = in ? tile_number(ACU_SHAPE(5, 6), ACU_SHAPE(2, 4),
                                        (int64_t[]){i - 2, j - 3, 0}) : 0;
            assert_int_equal(data[i * 10 + j], want);
        }
    acu_tensor_release(whole);
    acu_tensor_release(inner);
    acu_kernel_release(tiles2);
    close_bench(&b);
}

static void more_shared_memory_than_every_kernel_may_have(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_kernel *kernel = get(&b, "shared_sum");
    const acu_device_info *info = acu_device_info_of(b.device);
    const size_t sizes[] = {4096, 48 * 1024, info->max_shared_optin, 1024,
                            info->max_shared_optin - 1024};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int n = (int)(sizes[i] / sizeof(int)), out, want = 0;
        for (int k = n - 1; k >= 0; k -= 97)
            want += k;
        acu_config config = {.grid = {1}, .block = {128}, .shared = sizes[i]};
        run(&b, acu_launch(kernel, config, acu_out(acu_zeros(ACU_I32, ACU_SHAPE(1))), acu_i32(n)),
            &out, sizeof out);
        assert_int_equal(out, want);
    }
    acu_kernel_release(kernel);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars_of_every_size),
        cmocka_unit_test(structs_by_value),
        cmocka_unit_test(grids_and_blocks),
        cmocka_unit_test(partitions_of_every_rank),
        cmocka_unit_test(partitions_of_slices),
        cmocka_unit_test(more_shared_memory_than_every_kernel_may_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
