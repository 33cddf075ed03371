/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Partitions of every mode against a model: random tensors with gaps and permuted dimensions,
 * random tiles, prefixes and numbers of blocks. Also lists of tensors as one argument.
 */
#include "support/one_device.h"

extern const char test_partitions_ptx[];

static acu_module *module;
static acu_kernel *one, *all[3], *both;

static acu_kernel *get(const char *name)
{
    acu_kernel *kernel = NULL;
    assert_works(acu_kernel_get(module, name, &kernel));
    return kernel;
}

static int setup(void **state)
{
    device_setup(state);
    module = test_load_ptx(device, NULL, test_partitions_ptx);
    one = get("one");
    all[0] = get("all_1");
    all[1] = get("all_2");
    all[2] = get("all_3");
    both = get("both");
    return 0;
}

static int teardown(void **state)
{
    acu_kernel_release(one);
    for (int i = 0; i < 3; i++)
        acu_kernel_release(all[i]);
    acu_kernel_release(both);
    acu_module_release(module);
    return device_teardown(state);
}

/* ---- the model ------------------------------------------------------------------------------- */

#define MOST 4096 /* elements of storage */

typedef struct storage {
    acu_tensor *whole; /* all of it */
    int64_t want[MOST];
} storage;

static void make_storage(storage *s)
{
    assert_works(acu_sync(device, acu_zeros(ACU_I64, ACU_SHAPE(MOST)), &s->whole));
    memset(s->want, 0, sizeof s->want);
}

static void check_storage(storage *s)
{
    static int64_t got[MOST];
    assert_works(acu_read_sync(s->whole, got, sizeof got));
    for (int i = 0; i < MOST; i++)
        if (got[i] != s->want[i])
            fail_msg("element %d of storage is %lld, not %lld", i, (long long)got[i],
                     (long long)s->want[i]);
    acu_tensor_release(s->whole);
}

/* Sets the place of the tile that has element `at` of the view, and returns the number of that
 * element in the tile. */
static int64_t mark_of(acu_shape shape, acu_shape tile, const int64_t *at, int64_t *places)
{
    int64_t number = 0, inside = 0;
    for (int d = 0; d < shape.rank; d++) {
        int64_t tiles = (shape.dim[d] + tile.dim[d] - 1) / tile.dim[d];
        places[d] = at[d] / tile.dim[d];
        int64_t rest = shape.dim[d] - places[d] * tile.dim[d];
        number = number * tiles + places[d];
        inside = inside * (rest < tile.dim[d] ? rest : tile.dim[d]) + at[d] % tile.dim[d];
    }
    return 1 + inside + 1000 * number;
}

static bool next_index(acu_shape shape, int64_t *index)
{
    for (int d = shape.rank; d-- > 0;) {
        if (++index[d] < shape.dim[d])
            return true;
        index[d] = 0;
    }
    return false;
}

/* Tiles beyond the grid are not visited; NULL: all are. */
static void expect(storage *s, const acu_tensor *view, acu_shape tile, const unsigned *grid)
{
    acu_shape shape = acu_tensor_shape(view);
    const int64_t *strides = acu_tensor_strides(view);
    int64_t first = (int64_t)(acu_tensor_address(view) - acu_tensor_address(s->whole)) / 8;
    int64_t at[ACU_MAX_RANK] = {0}, places[ACU_MAX_RANK];
    do {
        int64_t mark = mark_of(shape, tile, at, places), where = first;
        bool visited = true;
        for (int d = 0; d < shape.rank; d++) {
            where += at[d] * strides[d];
            visited &= !grid || places[d] < grid[shape.rank - 1 - d];
        }
        if (visited)
            s->want[where] += mark;
    } while (next_index(shape, at));
}

/* A part of the storage as a tensor with up to three dimensions in any order, perhaps with gaps. */
static acu_tensor *random_view(test_random *r, const storage *s)
{
    int rank = 1 + (int)test_below(r, 3), order[3] = {0, 1, 2};
    acu_shape shape = {.rank = rank};
    acu_tensor *first, *part, *view;
    int64_t start[3], end[3], step[3], elements = 1;
    for (int d = 0; d < rank; d++) {
        shape.dim[d] = 1 + (int64_t)test_below(r, rank == 1 ? 200 : 13);
        elements *= shape.dim[d];
        start[d] = (int64_t)test_below(r, (uint64_t)shape.dim[d]);
        end[d] = start[d] + 1 + (int64_t)test_below(r, (uint64_t)(shape.dim[d] - start[d]));
        step[d] = 1 + (int64_t)test_below(r, 2);
    }
    assert_works(acu_tensor_create(acu_tensor_buffer(s->whole),
                                   8 * test_below(r, (uint64_t)(MOST - elements)), ACU_I64, shape,
                                   &first));
    assert_works(acu_tensor_slice_step(first, start, end, step, &part));
    for (int d = rank - 1; d > 0; d--) {
        int other = (int)test_below(r, (uint64_t)d + 1), kept = order[d];
        order[d] = order[other];
        order[other] = kept;
    }
    assert_works(acu_tensor_permute(part, order, &view));
    acu_tensor_release(first);
    acu_tensor_release(part);
    return view;
}

static acu_shape random_tile(test_random *r, acu_shape shape)
{
    for (int d = 0; d < shape.rank; d++)
        shape.dim[d] = 1 + (int64_t)test_below(r, (uint64_t)shape.dim[d] + 2);
    return shape;
}

static unsigned tiles_in(acu_shape shape, acu_shape tile, int d)
{
    return (unsigned)((shape.dim[d] + tile.dim[d] - 1) / tile.dim[d]);
}

static acu_config random_config(test_random *r)
{
    static const unsigned blocks[][3] = {{1, 1, 1}, {32, 1, 1}, {8, 3, 2}, {64, 2, 1}};
    acu_config config = {.shared = 0};
    memcpy(config.block, blocks[test_below(r, 4)], sizeof config.block);
    return config;
}

static void launch_random(test_random *r, storage *s, acu_tensor *view)
{
    acu_shape shape = acu_tensor_shape(view), tile = random_tile(r, shape);
    acu_config config = random_config(r);
    acu_partition_mode mode = (acu_partition_mode)test_below(r, 3);
    acu_kernel *kernel = mode == ACU_MAPPED || test_below(r, 2) ? all[shape.rank - 1] : one;
    bool given = test_below(r, 2);
    acu_op *op = mode == ACU_WHOLE ? acu_partition(view, tile)
                 : mode == ACU_PREFIX
                     ? acu_partition_prefix(view, tile)
                     : acu_partition_mapped(view, tile, (unsigned)test_below(r, 9));
    if (given && mode == ACU_MAPPED) {
        for (int i = 0; i < 3; i++)
            config.grid[i] = 1 + (unsigned)test_below(r, 4);
    } else if (given) {
        for (int d = 0; d < shape.rank; d++) {
            unsigned n = tiles_in(shape, tile, d);
            config.grid[shape.rank - 1 - d] = mode == ACU_PREFIX ? 1 + (unsigned)test_below(r, n)
                                                                 : n;
        }
    }
    expect(s, view, tile, given && mode == ACU_PREFIX ? config.grid : NULL);
    assert_works(acu_submit(device, acu_launch(kernel, config, acu_inout(op)), NULL, NULL));
}

static void random_partitions_visit_each_element_once(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        test_random r = {.state = seed};
        storage s;
        make_storage(&s);
        for (int i = 0; i < 12; i++) {
            acu_tensor *view = random_view(&r, &s);
            launch_random(&r, &s, view);
            acu_tensor_release(view);
        }
        check_storage(&s);
    }
}

/* ---- one by one ------------------------------------------------------------------------------ */

static acu_op *zeros(int64_t n)
{
    return acu_zeros(ACU_I64, ACU_SHAPE(n));
}

static void a_prefix_goes_with_a_smaller_grid(void **state)
{
    (void)state;
    int64_t out[10];
    acu_tensor *t = NULL;
    /* the grid is that of the whole partition, which comes second */
    acu_op *y = acu_partition_prefix(zeros(10), ACU_SHAPE(2)),
           *z = acu_partition(zeros(9), ACU_SHAPE(3));
    acu_op *op = acu_launch(both, ACU_AUTO, acu_inout(y), acu_inout(z));
    assert_works(acu_sync(device, acu_first(acu_unpartition(op)), &t));
    assert_works(acu_read_sync(t, out, sizeof out));
    const int64_t want[10] = {1, 2, 1001, 1002, 2001, 2002, 0, 0, 0, 0};
    assert_memory_equal(out, want, sizeof out);
    acu_tensor_release(t);
    acu_config config = {.grid = {6}};
    assert_fails(acu_sync(device,
                          acu_launch(one, config,
                                     acu_inout(acu_partition_prefix(zeros(10), ACU_SHAPE(2)))),
                          NULL),
                 ACU_ERR_SHAPE, "argument 0 of one|5x1x1 tiles, of which a prefix|grid is 6x1x1");
    config = (acu_config){.grid = {5, 2}};
    assert_fails(acu_sync(device,
                          acu_launch(one, config,
                                     acu_inout(acu_partition_prefix(zeros(10), ACU_SHAPE(2)))),
                          NULL),
                 ACU_ERR_SHAPE, "5x1x1 tiles|grid is 5x2x1");
}

/* The tiles beyond the prefix are not overwritten: they keep what was written before. */
static void a_prefix_keeps_what_is_beyond(void **state)
{
    (void)state;
    acu_tensor *t = NULL;
    int64_t out[4];
    assert_works(acu_sync(device, acu_full(ACU_SHAPE(4), acu_i64(7)), &t));
    acu_config config = {.grid = {1}};
    acu_op *y = acu_partition_prefix(t, ACU_SHAPE(2));
    assert_works(acu_submit(device, acu_launch(one, config, acu_out(y)), NULL, NULL));
    assert_works(acu_read_sync(t, out, sizeof out));
    const int64_t want[4] = {8, 9, 7, 7};
    assert_memory_equal(out, want, sizeof out);
    acu_tensor_release(t);
}

static void blocks_of_mapped_tiles_are_as_many_as_asked_for(void **state)
{
    (void)state;
    const acu_config none = ACU_AUTO;
    /* the second partition says how many blocks there are: one tile each */
    for (unsigned blocks = 1; blocks <= 4; blocks++) {
        acu_op *y = acu_partition_mapped(zeros(8), ACU_SHAPE(2), blocks);
        acu_op *z = acu_partition(zeros(blocks), ACU_SHAPE(1));
        acu_tensor *t = NULL;
        int64_t out[8];
        assert_works(acu_sync(device, acu_first(acu_unpartition(acu_launch(both, none, acu_inout(y),
                                                                           acu_inout(z)))), &t));
        assert_works(acu_read_sync(t, out, sizeof out));
        for (int i = 0; i < 8; i++)
            assert_int_equal(out[i], 1 + i % 2 + 1000 * (i / 2));
        acu_tensor_release(t);
    }
}

static void but_not_more_than_there_are_tiles(void **state)
{
    (void)state;
    acu_kernel *blocks = get("blocks");
    for (unsigned asked = 3; asked <= 5; asked++) {
        acu_op *y = acu_partition_mapped(zeros(8), ACU_SHAPE(2), asked);
        acu_tensor *t = NULL;
        int64_t out[8];
        assert_works(acu_sync(device, acu_unpartition(acu_launch(blocks, ACU_AUTO, acu_inout(y))),
                              &t));
        assert_works(acu_read_sync(t, out, sizeof out));
        assert_int_equal(out[0], asked < 4 ? asked : 4);
        acu_tensor_release(t);
    }
    acu_kernel_release(blocks);
}

static void a_grid_that_differs_is_refused(void **state)
{
    (void)state;
    acu_config config = {.grid = {4}};
    assert_fails(
        acu_sync(device, acu_launch(one, config, acu_inout(acu_partition(zeros(10), ACU_SHAPE(2)))),
                 NULL),
        ACU_ERR_SHAPE, "argument 0 of one is a partition of 5x1x1 tiles|grid is 4x1x1");
    assert_fails(acu_sync(device,
                          acu_launch(both, ACU_AUTO,
                                     acu_inout(acu_partition(zeros(10), ACU_SHAPE(2))),
                                     acu_inout(acu_partition(zeros(10), ACU_SHAPE(3)))),
                          NULL),
                 ACU_ERR_SHAPE, "argument 1 of both|4x1x1 tiles|grid is 5x1x1");
}

static void see_grid(void *user, const acu_val *values, size_t count)
{
    assert_int_equal(count, 1);
    assert_int_equal(values[0].kind, ACU_PARTITION);
    memcpy(user, values[0].grid, sizeof values[0].grid);
}

static void values_tell_how_many_tiles_there_are(void **state)
{
    (void)state;
    unsigned grid[3];
    acu_tensor *t = NULL;
    assert_works(acu_sync(device, acu_zeros(ACU_I64, ACU_SHAPE(7, 12, 64)), &t));
    acu_op *y = acu_partition_mapped(t, ACU_SHAPE(3, 4, 16), 5);
    assert_works(acu_sync(device, acu_inspect(y, see_grid, grid), NULL));
    assert_true(grid[0] == 4 && grid[1] == 3 && grid[2] == 3);
    y = acu_partition_prefix(zeros(7), ACU_SHAPE(8));
    assert_works(acu_sync(device, acu_inspect(y, see_grid, grid), NULL));
    assert_true(grid[0] == 1 && grid[1] == 1 && grid[2] == 1);
    acu_tensor_release(t);
}

static void too_many_tiles_are_refused(void **state)
{
    (void)state;
    acu_value_info info;
    size_t count;
    for (int i = 0; i < 2; i++) {
        acu_config config = {.grid = {i ? 7 : 0}};
        acu_op *y = acu_partition(acu_meta(ACU_I64, ACU_SHAPE(9000000000)), ACU_SHAPE(3));
        acu_op *op = acu_launch(one, config, acu_inout(y));
        assert_fails(acu_op_describe(device, op, &info, 1, &count), ACU_ERR_LIMIT,
                     "a partition into 3000000000 tiles in one dimension");
        acu_op_release(op);
    }
}

/* A partition of a tensor, used by several launches in one submission, and in another one. */
static void a_partition_serves_several_launches(void **state)
{
    (void)state;
    int64_t out[10];
    acu_tensor *t = NULL, *view = NULL;
    assert_works(acu_sync(device, zeros(10), &t));
    assert_works(acu_tensor_reshape(t, ACU_SHAPE(10), &view));
    acu_op *y = acu_op_retain(acu_op_retain(acu_partition(view, ACU_SHAPE(3))));
    acu_tensor_release(view);
    acu_op *first = acu_launch(one, ACU_AUTO, acu_inout(y));
    acu_op *second = acu_launch(one, ACU_AUTO, acu_inout(y));
    assert_works(acu_submit(device, acu_zip(first, second), NULL, NULL));
    assert_works(acu_submit(device, acu_launch(one, ACU_AUTO, acu_inout(y)), NULL, NULL));
    assert_works(acu_read_sync(t, out, sizeof out));
    for (int i = 0; i < 10; i++)
        assert_int_equal(out[i], 3 * (1 + i % 3 + 1000 * (i / 3)));
    y = acu_partition(t, ACU_SHAPE(3));
    assert_works(acu_submit(device, acu_launch(one, ACU_AUTO, acu_inout(y)), NULL, NULL));
    assert_fails(acu_submit(device, acu_launch(one, ACU_AUTO, acu_inout(y)), NULL, NULL),
                 ACU_ERR_BAD_HANDLE, "released already");
    acu_tensor_release(t);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void a_list_of_tensors_is_one_argument(void **state)
{
    (void)state;
    acu_kernel *sum = get("sum"), *number = get("number");
    acu_tensor *parts[3], *out = NULL;
    int got[4];
    for (int i = 0; i < 3; i++)
        assert_works(acu_sync(device, acu_empty(ACU_I32, ACU_SHAPE(4)), &parts[i]));
    acu_config config = {.grid = {1}, .block = {4}};
    assert_works(acu_submit(device, acu_launch(number, config, acu_out_list(parts, 3)), NULL,
                            NULL));
    acu_op *op = acu_launch(sum, config, acu_in_list(parts, 3),
                            acu_out(acu_empty(ACU_I32, ACU_SHAPE(4))));
    for (int i = 0; i < 3; i++)
        acu_tensor_release(parts[i]); /* the op keeps them */
    assert_works(acu_sync(device, acu_nth(op, 1), &out));
    assert_works(acu_read_sync(out, got, sizeof got));
    for (int t = 0; t < 4; t++)
        assert_int_equal(got[t], 3 + t * (1 + 2 + 3) + 100 * 2 + 200 * 3);
    acu_tensor_release(out);
    acu_kernel_release(sum);
    acu_kernel_release(number);
}

/* A list with a tensor whose memory is not allocated yet. */
static void a_list_may_have_what_is_still_to_be_allocated(void **state)
{
    (void)state;
    acu_kernel *sum = get("sum");
    acu_future *future = NULL;
    acu_tensor *x = NULL, *out = NULL;
    int got[4];
    assert_works(acu_submit(device, acu_full(ACU_SHAPE(4), acu_i32(5)), NULL, &future));
    assert_works(acu_future_take(future, 0, &x));
    acu_tensor *twice[] = {x, x};
    acu_config config = {.grid = {1}, .block = {4}};
    acu_op *op = acu_launch(sum, config, acu_in_list(twice, 2),
                            acu_out(acu_empty(ACU_I32, ACU_SHAPE(4))));
    assert_works(acu_sync(device, acu_nth(op, 1), &out));
    assert_works(acu_read_sync(out, got, sizeof got));
    for (int t = 0; t < 4; t++)
        assert_int_equal(got[t], 2 + 5 + 10);
    acu_future_release(future);
    acu_tensor_release(x);
    acu_tensor_release(out);
    acu_kernel_release(sum);
}

static acu_status no_call(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)user, (void)stream, (void)values, (void)count;
    return ACU_OK;
}

static void wrong_lists_are_refused(void **state)
{
    (void)state;
    acu_kernel *number = get("number"), *sum = get("sum"), *other = get("other");
    acu_tensor *x = NULL;
    assert_works(acu_sync(device, acu_empty(ACU_I32, ACU_SHAPE(4)), &x));
    acu_tensor *four[] = {x, x, x, x}, *bad[] = {x, NULL};
    acu_config config = {.grid = {1}, .block = {4}};
    assert_fails(acu_sync(device, acu_launch(number, config, acu_in_list(four, 4)), NULL),
                 ACU_ERR_ARGUMENTS, "argument 0 of number is a list of 4 tensors, 40 bytes|has 32");
    assert_fails(acu_sync(device, acu_launch(number, config, acu_out_list(four, 2)), NULL),
                 ACU_ERR_SHARED, "tensors 0 and 1 of argument 0|same memory");
    assert_fails(acu_sync(device, acu_launch(other, config, acu_in_list(four, 1)), NULL),
                 ACU_ERR_ARGUMENTS, "argument 0 of other is a list of 1 tensors, 16 bytes|has 20");
    assert_fails(acu_sync(device, acu_launch(sum, config, acu_inout_list(four, 1), acu_out(x)),
                          NULL),
                 ACU_ERR_SHARED, "arguments 0 and 1 write the same memory");
    assert_fails(acu_sync(device, acu_launch(sum, config, acu_out(x), acu_out_list(four, 1)), NULL),
                 ACU_ERR_SHARED, "arguments 0 and 1 write the same memory");
    assert_fails(acu_sync(device, acu_launch(number, config, acu_in_list(bad, 2)), NULL),
                 ACU_ERR_INVALID, "a list of tensors");
    assert_fails(acu_sync(device, acu_launch(number, config, acu_in_list(four, 0)), NULL),
                 ACU_ERR_ARGUMENTS, "1 to 511 tensors, not 0");
    assert_fails(acu_sync(device, acu_foreign(no_call, NULL, acu_in_list(four, 1)), NULL),
                 ACU_ERR_ARGUMENTS, "is for launches");
    acu_tensor_release(x);
    acu_kernel_release(other);
    acu_kernel_release(number);
    acu_kernel_release(sum);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(random_partitions_visit_each_element_once),
        TEST(a_prefix_goes_with_a_smaller_grid),
        TEST(a_prefix_keeps_what_is_beyond),
        TEST(blocks_of_mapped_tiles_are_as_many_as_asked_for),
        TEST(but_not_more_than_there_are_tiles),
        TEST(a_grid_that_differs_is_refused),
        TEST(values_tell_how_many_tiles_there_are),
        TEST(too_many_tiles_are_refused),
        TEST(a_partition_serves_several_launches),
        TEST(a_list_of_tensors_is_one_argument),
        TEST(a_list_may_have_what_is_still_to_be_allocated),
        TEST(wrong_lists_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
