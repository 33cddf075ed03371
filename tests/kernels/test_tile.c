/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tiles as kernels see them: every element of a tensor belongs to exactly one block, whatever the
 * rank, the strides and the tile's shape; nothing else is touched. */
#include "on_device.h"

#include <acuda/tile.h>

extern const char test_tile_ptx[];

typedef struct partition {
    unsigned rank;
    long long shape[3], stride[3], tile[3];
    long long storage; /* elements of memory that the tensor spans */
    long long first;   /* its element 0 in that memory */
} partition;

static const partition cases[] = {
    {1, {100}, {1}, {10}, 100, 0},                    /* divides */
    {1, {100}, {1}, {32}, 100, 0},                    /* a smaller last tile */
    {1, {5}, {1}, {64}, 5, 0},                        /* one tile, larger than the tensor */
    {1, {33}, {3}, {8}, 99, 0},                       /* every third element */
    {1, {40}, {-1}, {16}, 40, 39},                    /* backwards */
    {2, {16, 16}, {16, 1}, {4, 4}, 256, 0},           /* divides */
    {2, {13, 18}, {20, 1}, {4, 8}, 260, 0},           /* padded rows, both edges cut */
    {2, {9, 7}, {1, 9}, {2, 3}, 63, 0},               /* columns first */
    {2, {3, 50}, {50, 1}, {1, 50}, 150, 0},           /* a tile is a row */
    {3, {4, 6, 8}, {48, 8, 1}, {2, 3, 4}, 192, 0},    /* divides */
    {3, {5, 7, 11}, {100, 13, 1}, {2, 3, 4}, 500, 0}, /* padded, all edges cut */
    {3, {3, 4, 5}, {1, 3, 12}, {3, 1, 2}, 60, 0},     /* last dimension slowest */
};
#define CASES (sizeof cases / sizeof cases[0])

static acu_tile_param param_of(const partition *p, CUdeviceptr memory)
{
    acu_tile_param t = {
        .data = memory + (CUdeviceptr)p->first * 8, .rank = p->rank, .element_bytes = 8};
    for (unsigned d = 0; d < 3; d++) {
        bool used = d < p->rank;
        t.shape[d] = used ? p->shape[d] : 1;
        t.stride[d] = used ? p->stride[d] : 0;
        t.tile[d] = used ? p->tile[d] : 1;
        t.tiles[d] = (unsigned)((t.shape[d] + t.tile[d] - 1) / t.tile[d]);
    }
    return t;
}

/* x counts along the last dimension */
static void grid_of(const acu_tile_param *t, unsigned grid[3])
{
    for (unsigned axis = 0; axis < 3; axis++)
        grid[axis] = axis < t->rank ? t->tiles[t->rank - 1 - axis] : 1;
}

/* Calls `visit` for each element, with its place in storage and its linear index. */
static void for_elements(const partition *p,
                         void (*visit)(long long place, long long linear, void *), void *user)
{
    long long n[3] = {p->shape[0], p->rank > 1 ? p->shape[1] : 1, p->rank > 2 ? p->shape[2] : 1};
    long long linear = 0;
    for (long long i = 0; i < n[0]; i++) {
        for (long long j = 0; j < n[1]; j++) {
            for (long long k = 0; k < n[2]; k++)
                visit(p->first + i * p->stride[0] + j * p->stride[1] + k * p->stride[2], linear++,
                      user);
        }
    }
}

static void expect_mark(long long place, long long linear, void *storage)
{
    ((long long *)storage)[place] += 1 + 8 * linear;
}

static void compare(const char *kernel, size_t which, const long long *got, const long long *want,
                    long long elements)
{
    for (long long i = 0; i < elements; i++) {
        if (got[i] != want[i])
            fail_msg("%s, case %zu, element %lld of storage: %lld, should be %lld", kernel, which,
                     i, got[i], want[i]);
    }
}

static void check_marks(const char *kernel, size_t which, const unsigned block[3])
{
    const partition *p = &cases[which];
    long long got[512], want[512] = {0};
    unsigned grid[3];
    size_t bytes = (size_t)p->storage * 8;
    assert_true(p->storage <= 512);
    CUdeviceptr memory = to_device(NULL, bytes);
    acu_tile_param t = param_of(p, memory);
    grid_of(&t, grid);
    launch_3d(kernel, grid, block, 0, (void *[]){&t});
    from_device(got, memory, bytes);
    for_elements(p, expect_mark, want);
    compare(kernel, which, got, want, p->storage);
}

/* Blocks that are smaller than the tile, as large, larger, and of an odd shape. */
static void test_loops(void **state)
{
    static const unsigned blocks[][3] = {{1, 1, 1}, {8, 2, 2}, {32, 4, 1}, {3, 5, 2}};
    static const char *const kernels[] = {"loop_1", "loop_2", "loop_3"};
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        for (size_t b = 0; b < sizeof blocks / sizeof blocks[0]; b++)
            check_marks(kernels[cases[i].rank - 1], i, blocks[b]);
    }
}

static void test_thread_for_each_element(void **state)
{
    static const char *const kernels[] = {"threads_1", "threads_2", "threads_3"};
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        unsigned block[3] = {1, 1, 1};
        for (unsigned axis = 0; axis < cases[i].rank; axis++)
            block[axis] = (unsigned)cases[i].tile[cases[i].rank - 1 - axis];
        check_marks(kernels[cases[i].rank - 1], i, block);
    }
}

/* A tensor with any strides gets the contents of a dense one of the same shape and tiles. */
static void test_flat(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        const partition *p = &cases[i];
        partition dense = *p;
        long long source[512], got[512], want[512] = {0}, count = 1;
        unsigned grid[3];
        for (unsigned d = p->rank; d-- > 0; count *= p->shape[d])
            dense.stride[d] = count;
        dense.first = 0;
        for (long long k = 0; k < count; k++)
            source[k] = 1 + 8 * k;
        CUdeviceptr from = to_device(source, (size_t)count * 8);
        CUdeviceptr to = to_device(NULL, (size_t)p->storage * 8);
        acu_tile_param t = param_of(p, to), f = param_of(&dense, from);
        grid_of(&t, grid);
        launch_3d("flat_any", grid, (unsigned[3]){7, 2, 1}, 0, (void *[]){&t, &f});
        from_device(got, to, (size_t)p->storage * 8);
        from_device(NULL, from, 0);
        for_elements(p, expect_mark, want);
        compare("flat_any", i, got, want, p->storage);
    }
}

static void check_facts(const acu_tile_param *t, const long long *o, const unsigned block[3])
{
    long long size = 1, offset = 0;
    for (unsigned d = 0; d < t->rank; d++) {
        long long index = block[t->rank - 1 - d], origin = index * t->tile[d];
        long long rest = t->shape[d] - origin, extent = rest < t->tile[d] ? rest : t->tile[d];
        assert_int_equal(o[d], index);
        assert_int_equal(o[3 + d], origin);
        assert_int_equal(o[6 + d], extent);
        assert_int_equal(o[9 + d], t->tiles[d]);
        assert_int_equal(o[12 + d], t->tile[d]);
        size *= extent;
        offset += origin * t->stride[d];
    }
    assert_int_equal(o[15], t->rank);
    assert_int_equal(o[16], size);
    assert_true(o[17] == offset);
    if (t->rank == 1)
        assert_int_equal(o[18] & 3, 1);
    if (t->rank == 2)
        assert_int_equal(o[18] & 4, 0);
    assert_int_equal(o[19], 1);
}

static void test_facts(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        acu_tile_param t = param_of(&cases[i], 0x100000);
        unsigned grid[3], at = 0;
        grid_of(&t, grid);
        size_t bytes = (size_t)grid[0] * grid[1] * grid[2] * 20 * sizeof(long long);
        long long *out = malloc(bytes);
        assert_non_null(out);
        CUdeviceptr result = to_device(NULL, bytes);
        launch_3d("facts", grid, (unsigned[3]){1, 1, 1}, 0, (void *[]){&t, &result});
        from_device(out, result, bytes);
        for (unsigned z = 0; z < grid[2]; z++) {
            for (unsigned y = 0; y < grid[1]; y++) {
                for (unsigned x = 0; x < grid[0]; x++)
                    check_facts(&t, out + 20 * (size_t)at++, (unsigned[3]){x, y, z});
            }
        }
        free(out);
    }
}

/* The kernel sees the parameter as the ABI lays it out. */
static void test_parameter(void **state)
{
    CUfunction kernel = NULL;
    size_t offset = 1, bytes = 0;
    (void)state;
    assert_int_equal(sizeof(acu_tile_param), ACU_TILE_PARAM_BYTES);
    if (!acu_driver_has(ACU_CALL_FuncGetParamInfo))
        skip();
    MUST(ModuleGetFunction(&kernel, dev.module, "facts"));
    MUST(FuncGetParamInfo(kernel, 0, &offset, &bytes));
    assert_int_equal(offset, 0);
    assert_int_equal(bytes, ACU_TILE_PARAM_BYTES);
    MUST(FuncGetParamInfo(kernel, 1, &offset, &bytes));
    assert_int_equal(offset, ACU_TILE_PARAM_BYTES);
}

static int setup(void **state)
{
    (void)state;
    return on_device_setup(test_tile_ptx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameter), cmocka_unit_test(test_facts),
        cmocka_unit_test(test_loops),     cmocka_unit_test(test_thread_for_each_element),
        cmocka_unit_test(test_flat),
    };
    return cmocka_run_group_tests_name("kernels.tile", tests, setup, on_device_teardown);
}
