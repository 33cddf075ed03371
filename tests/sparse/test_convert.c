/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sparse matrices from one form to another and back, and in blocks, compared with the dense matrix
 * on the host. */
#include "vendor/with_library.h"

#include <acuda/acuda.h>

enum { ROWS = 7, COLS = 6, COUNT = 14 };

/* Row 2 is empty; the places of elements in order. */
static const int64_t row_at[COUNT] = {0, 0, 0, 1, 1, 3, 3, 3, 3, 4, 5, 5, 6, 6};
static const int64_t column_at[COUNT] = {0, 2, 5, 1, 2, 0, 1, 3, 4, 5, 2, 4, 0, 5};
static const int64_t offset_at[ROWS + 1] = {0, 3, 5, 5, 9, 10, 12, 14};
static test_random numbers = {.state = 77};

static float value_at(int i)
{
    return (float)(i + 1) * (i % 2 ? -0.5f : 1);
}

static acu_op *indices(acu_dtype dtype, const int64_t *from, int64_t n)
{
    return acu_convert(acu_const(ACU_I64, ACU_SHAPE(n), from), dtype);
}

static acu_op *all_values(void)
{
    float all[COUNT];
    for (int i = 0; i < COUNT; i++)
        all[i] = value_at(i);
    return acu_const(ACU_F32, ACU_SHAPE(COUNT), all);
}

static void dense_matrix(float *full)
{
    memset(full, 0, ROWS * COLS * sizeof *full);
    for (int i = 0; i < COUNT; i++)
        full[row_at[i] * COLS + column_at[i]] = value_at(i);
}

static void is_indices(acu_device *device, acu_tensor *t, acu_dtype dtype, const int64_t *want,
                       size_t n)
{
    int64_t have[64];
    acu_tensor *wide;
    assert_int_equal(acu_tensor_dtype(t), dtype);
    assert_int_equal(acu_tensor_shape(t).dim[0], n);
    assert_works(acu_sync(device, acu_convert(t, ACU_I64), &wide));
    assert_works(acu_read_sync(wide, have, n * sizeof *have));
    assert_memory_equal(have, want, n * sizeof *have);
    acu_tensor_release(wide);
}

/* The value; `named`: in a tensor that is there already. */
static acu_tensor *value_of(acu_device *device, acu_op *op, bool named, acu_dtype dtype,
                            acu_shape shape)
{
    acu_tensor *x;
    if (named) {
        assert_works(acu_tensor_alloc(device, dtype, shape, &x));
        assert_works(acu_sync(device, acu_into(x, op), NULL));
    } else {
        assert_works(acu_sync(device, op, &x));
    }
    return x;
}

static void rows_and_offsets(void **state)
{
    (void)state;
    static const acu_dtype dtypes[] = {ACU_I32, ACU_I64};
    acu_device *device = test_open();
    for (int k = 0; k < 2; k++) {
        acu_tensor *rows, *offsets;
        acu_dtype d = dtypes[k];
        assert_works(acu_sync(device, acu_csr_to_rows(indices(d, offset_at, ROWS + 1),
                                                      indices(d, column_at, COUNT)), &rows));
        is_indices(device, rows, d, row_at, COUNT);
        assert_works(acu_sync(device, acu_coo_to_offsets(rows, ROWS), &offsets));
        is_indices(device, offsets, d, offset_at, ROWS + 1);
        acu_tensor_release(rows);
        acu_tensor_release(offsets);
    }
    test_close(device);
    test_leaks_none();
}

static void sorted(void **state)
{
    (void)state;
    acu_device *device = test_open();
    int64_t rows[COUNT], columns[COUNT];
    float values[COUNT], have[COUNT];
    for (int i = 0; i < COUNT; i++) { /* turned about: 5 and 14 have no common factor */
        int from = i * 5 % COUNT;
        rows[i] = row_at[from];
        columns[i] = column_at[from];
        values[i] = value_at(from);
    }
    acu_op *op = acu_coo_sort(indices(ACU_I32, rows, COUNT), indices(ACU_I32, columns, COUNT),
                              acu_const(ACU_F32, ACU_SHAPE(COUNT), values), COLS);
    acu_future *future = test_submit(device, op);
    assert_works(acu_future_wait(future, ACU_FOREVER));
    is_indices(device, acu_future_tensor(future, 0), ACU_I32, row_at, COUNT);
    is_indices(device, acu_future_tensor(future, 1), ACU_I32, column_at, COUNT);
    assert_works(acu_read_sync(acu_future_tensor(future, 2), have, sizeof have));
    for (int i = 0; i < COUNT; i++)
        assert_true(have[i] == value_at(i));
    acu_future_release(future);
    test_close(device);
    test_leaks_none();
}

static void to_dense_and_back(void **state)
{
    (void)state;
    acu_device *device = test_open();
    float full[ROWS * COLS], have[ROWS * COLS], values[COUNT + 3];
    acu_tensor *x;
    dense_matrix(full);
    /* Twice the same places: they are added. */
    acu_op *twice[] = {all_values(), all_values()}, *rows[] = {indices(ACU_I64, row_at, COUNT),
                                                               indices(ACU_I64, row_at, COUNT)};
    acu_op *columns[] = {indices(ACU_I64, column_at, COUNT), indices(ACU_I64, column_at, COUNT)};
    acu_op *op = acu_coo_to_dense(acu_op_concat(0, rows, 2, ACU_SITE),
                                  acu_op_concat(0, columns, 2, ACU_SITE),
                                  acu_op_concat(0, twice, 2, ACU_SITE), ROWS, COLS);
    x = value_of(device, acu_op_retain(op), true, ACU_F32, ACU_SHAPE(ROWS, COLS));
    acu_tensor_release(x);
    assert_works(acu_sync(device, acu_mul(op, 0.5), &x));
    assert_works(acu_read_sync(x, have, sizeof have));
    assert_memory_equal(have, full, sizeof full);
    acu_future *future = test_submit(device, acu_dense_to_csr(x, COUNT + 3));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    is_indices(device, acu_future_tensor(future, 0), ACU_I64, offset_at, ROWS + 1);
    acu_tensor *first;
    assert_works(acu_sync(device, acu_dup(acu_slice(acu_future_tensor(future, 1), ACU_SHAPE(0),
                                                    ACU_SHAPE(COUNT))), &first));
    is_indices(device, first, ACU_I64, column_at, COUNT);
    assert_works(acu_read_sync(acu_future_tensor(future, 2), values, sizeof values));
    for (int i = 0; i < COUNT; i++)
        assert_true(values[i] == value_at(i));
    acu_tensor_release(first);
    acu_future_release(future);
    acu_tensor_release(x);
    test_close(device);
    test_leaks_none();
}

/* ---- blocks ---------------------------------------------------------------------------------- */

enum { DOWN = 3, ACROSS = 4, SIZE = 2, BLOCKS = 5, WIDTH = 3, TALL = DOWN * SIZE,
       LONG = ACROSS * SIZE };
static const int64_t block_offset[DOWN + 1] = {0, 2, 2, 5}, block_column[BLOCKS] = {1, 3, 0, 1, 2};
static const int64_t block_row[BLOCKS] = {0, 0, 2, 2, 2};

static acu_op *blocks_of(float *full, acu_dtype dtype)
{
    float all[BLOCKS * SIZE * SIZE];
    memset(full, 0, TALL * LONG * sizeof *full);
    for (int b = 0; b < BLOCKS; b++)
        for (int i = 0; i < SIZE * SIZE; i++) {
            double x;
            with_random(&numbers, &x, 1);
            all[b * SIZE * SIZE + i] = (float)(nearbyint(x * 8) / 4);
            full[(block_row[b] * SIZE + i / SIZE) * LONG + block_column[b] * SIZE + i % SIZE] =
                all[b * SIZE * SIZE + i];
        }
    return acu_convert(acu_const(ACU_F32, ACU_SHAPE(BLOCKS, SIZE, SIZE), all), dtype);
}

static void blocks_to_dense(void **state)
{
    (void)state;
    acu_device *device = test_open();
    float full[TALL * LONG], have[TALL * LONG];
    for (int named = 0; named < 2; named++) {
        acu_op *op = acu_bsr_to_dense(indices(ACU_I32, block_offset, DOWN + 1),
                                      indices(ACU_I32, block_column, BLOCKS),
                                      blocks_of(full, ACU_F32), LONG);
        acu_tensor *x = value_of(device, op, named, ACU_F32, ACU_SHAPE(TALL, LONG));
        assert_works(acu_read_sync(x, have, sizeof have));
        for (int i = 0; i < TALL * LONG; i++)
            assert_true(have[i] == full[i]); /* -0, too */
        acu_tensor_release(x);
    }
    test_close(device);
    test_leaks_none();
}

/* And back; one block more than there are. */
static void dense_to_blocks(void **state)
{
    (void)state;
    static const acu_dtype dtypes[] = {ACU_F32, ACU_F64, ACU_F16};
    acu_device *device = test_open();
    for (int k = 0; k < 3; k++) {
        float full[TALL * LONG], have[BLOCKS * SIZE * SIZE];
        acu_op *blocks = blocks_of(full, dtypes[k]);
        acu_tensor *want, *first, *columns;
        assert_works(acu_sync(device, acu_convert(blocks, ACU_F32), &want));
        acu_op *x = acu_convert(acu_const(ACU_F32, ACU_SHAPE(TALL, LONG), full), dtypes[k]);
        acu_op *turned = acu_transpose(acu_dup(acu_transpose(x, 0, 1)), 0, 1);
        acu_future *future = test_submit(device, acu_dense_to_bsr(turned, SIZE, BLOCKS + 1));
        assert_works(acu_future_wait(future, ACU_FOREVER));
        is_indices(device, acu_future_tensor(future, 0), ACU_I64, block_offset, DOWN + 1);
        acu_op *some = acu_slice(acu_future_tensor(future, 1), ACU_SHAPE(0), ACU_SHAPE(BLOCKS));
        assert_works(acu_sync(device, acu_dup(some), &columns));
        is_indices(device, columns, ACU_I64, block_column, BLOCKS);
        assert_int_equal(acu_tensor_dtype(acu_future_tensor(future, 2)), dtypes[k]);
        some = acu_slice(acu_future_tensor(future, 2), ACU_SHAPE(0, 0, 0),
                         ACU_SHAPE(BLOCKS, SIZE, SIZE));
        assert_works(acu_sync(device, acu_convert(some, ACU_F32), &first));
        assert_works(acu_read_sync(first, have, sizeof have));
        float expected[BLOCKS * SIZE * SIZE];
        assert_works(acu_read_sync(want, expected, sizeof expected));
        for (int i = 0; i < BLOCKS * SIZE * SIZE; i++)
            assert_true(have[i] == expected[i]); /* -0, too */
        acu_tensor_release(first);
        acu_tensor_release(columns);
        acu_tensor_release(want);
        acu_future_release(future);
    }
    test_close(device);
    test_leaks_none();
}

static void block_product(acu_device *device, acu_dtype dtype, int width)
{
    float full[TALL * LONG], x[LONG * WIDTH], have[TALL * WIDTH];
    acu_tensor *y, *narrow;
    acu_op *blocks = blocks_of(full, dtype);
    for (int i = 0; i < LONG * WIDTH; i++)
        x[i] = (float)(i % 7 - 3);
    acu_op *by = acu_const(ACU_F32, width ? ACU_SHAPE(LONG, width) : ACU_SHAPE(LONG), x);
    acu_op *op = acu_bsr_matmul(indices(ACU_I64, block_offset, DOWN + 1),
                                indices(ACU_I64, block_column, BLOCKS), blocks, LONG,
                                acu_convert(by, dtype));
    y = value_of(device, op, width, dtype, ACU_SHAPE(TALL, width));
    assert_int_equal(acu_tensor_dtype(y), dtype);
    assert_int_equal(acu_tensor_shape(y).rank, width ? 2 : 1);
    assert_works(acu_sync(device, acu_convert(y, ACU_F32), &narrow));
    assert_works(acu_read_sync(narrow, have, acu_tensor_bytes(narrow)));
    int across = width ? width : 1;
    for (int i = 0; i < TALL; i++)
        for (int j = 0; j < across; j++) {
            float want = 0; /* all of it is exact */
            for (int k = 0; k < LONG; k++)
                want += full[i * LONG + k] * x[k * across + j];
            assert_true(have[i * across + j] == want);
        }
    acu_tensor_release(y);
    acu_tensor_release(narrow);
}

static void block_products(void **state)
{
    (void)state;
    acu_device *device = with_library(ACU_VENDOR_CUSPARSE, "sparse/libfake_cusparse.so");
    block_product(device, ACU_F32, 0);
    block_product(device, ACU_F32, WIDTH);
    block_product(device, ACU_F64, WIDTH);
    block_product(device, ACU_F16, WIDTH);
    with_end(device);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void refusals(void **state)
{
    (void)state;
    acu_device *device = test_open();
    float full[TALL * LONG];
#define REFUSED(op, status, words) assert_fails(acu_sync(device, op, NULL), status, words)
    REFUSED(acu_csr_to_rows(acu_zeros(ACU_F32, ACU_SHAPE(3)), indices(ACU_I32, column_at, 4)),
            ACU_ERR_DTYPE, "offsets (f32 [3]) must be i32 or i64");
    REFUSED(acu_csr_to_rows(indices(ACU_I32, offset_at, 3), indices(ACU_I64, column_at, 4)),
            ACU_ERR_DTYPE, "columns (i64 [4]) must be of the first operand's dtype");
    REFUSED(acu_coo_to_offsets(indices(ACU_I32, row_at, 4), 0), ACU_ERR_INVALID, "without any");
    REFUSED(acu_coo_to_offsets(acu_zeros(ACU_I32, ACU_SHAPE(2, 2)), 3), ACU_ERR_SHAPE,
            "must be a vector");
    REFUSED(acu_coo_sort(indices(ACU_I32, row_at, 4), indices(ACU_I32, column_at, 4), all_values(),
                         COLS),
            ACU_ERR_SHAPE, "values (f32 [14]) must have one for each element");
    REFUSED(acu_coo_to_dense(indices(ACU_I32, row_at, 4), indices(ACU_I32, column_at, 4),
                             acu_zeros(ACU_F32, ACU_SHAPE(4)), 0, 3),
            ACU_ERR_INVALID, "no such size");
    REFUSED(acu_dense_to_csr(acu_zeros(ACU_F32, ACU_SHAPE(2, 3)), 7), ACU_ERR_INVALID,
            "no such number of elements");
    REFUSED(acu_dense_to_bsr(acu_zeros(ACU_F32, ACU_SHAPE(4, 6)), 4, 1), ACU_ERR_SHAPE,
            "the matrix (f32 [4, 6]) can not be divided into blocks of this size");
    REFUSED(acu_dense_to_bsr(acu_zeros(ACU_F32, ACU_SHAPE(4, 6)), 0, 1), ACU_ERR_SHAPE, "blocks");
    REFUSED(acu_dense_to_bsr(acu_zeros(ACU_F32, ACU_SHAPE(4, 6)), 2, 7), ACU_ERR_INVALID,
            "no such number of blocks");
    REFUSED(acu_bsr_to_dense(indices(ACU_I32, block_offset, DOWN + 1),
                             indices(ACU_I32, block_column, BLOCKS), blocks_of(full, ACU_F32),
                             LONG + 1),
            ACU_ERR_SHAPE, "do not divide the columns");
    REFUSED(acu_bsr_to_dense(indices(ACU_I32, block_offset, DOWN + 1),
                             indices(ACU_I32, block_column, BLOCKS - 1), blocks_of(full, ACU_F32),
                             LONG),
            ACU_ERR_SHAPE, "blocks (f32 [5, 2, 2]) must have one for each element");
#define TOO_MANY(op, words)                                                                        \
    do {                                                                                           \
        acu_op *described = (op);                                                                  \
        assert_fails(acu_op_describe(device, described, &info, 1, &n), ACU_ERR_LIMIT, words);      \
        acu_op_release(described);                                                                 \
    } while (0)
    acu_value_info info;
    size_t n;
    const int64_t count = (int64_t)1 << 31;
    TOO_MANY(acu_csr_to_rows(acu_meta(ACU_I32, ACU_SHAPE(3)), acu_meta(ACU_I32, ACU_SHAPE(count))),
             "offsets (i32 [3]) are too narrow for 2^31 rows or elements");
    TOO_MANY(acu_coo_to_offsets(acu_meta(ACU_I32, ACU_SHAPE(count)), 3), "too narrow");
    TOO_MANY(acu_coo_to_offsets(acu_meta(ACU_I32, ACU_SHAPE(4)), count), "too narrow");
    TOO_MANY(acu_coo_to_offsets(acu_meta(ACU_I64, ACU_SHAPE(4)), INT64_MAX), "too large");
    test_close(device);
    test_leaks_none();
}

static acu_op *sorted_rows(void)
{
    acu_op *op = acu_coo_sort(indices(ACU_I64, row_at, COUNT), indices(ACU_I64, column_at, COUNT),
                              all_values(), COLS);
    acu_op *cut = acu_dense_to_bsr(acu_ones(ACU_F32, ACU_SHAPE(4, 4)), 2, 3);
    acu_op *both[] = {acu_nth(op, 0), acu_nth(cut, 2)};
    return acu_op_zip(both, 2, ACU_SITE);
}

static void without_memory(void **state)
{
    (void)state;
    test_software_only();
    acu_device *device = test_open();
    test_fail_each_alloc(device, sorted_rows);
    test_close(device);
    test_leaks_none();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_and_offsets), cmocka_unit_test(sorted),
        cmocka_unit_test(to_dense_and_back), cmocka_unit_test(blocks_to_dense),
        cmocka_unit_test(dense_to_blocks),
        cmocka_unit_test(block_products), cmocka_unit_test(refusals),
        cmocka_unit_test(without_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
