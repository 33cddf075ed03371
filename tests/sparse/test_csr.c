/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Products with sparse matrices by cuSPARSE, compared with double on the host; on the software
 * device by a library that poses as it (fake_cusparse.c). */
#include "vendor/with_library.h"

#include <acuda/acuda.h>

enum { ROWS = 9, COLS = 12, WIDTH = 5, MOST = ROWS * COLS };

static test_random numbers = {.state = 23};

static acu_device *open_sparse(void)
{
    return with_library(ACU_VENDOR_CUSPARSE, "sparse/libfake_cusparse.so");
}

/* A matrix, every third element of which is there, and its three vectors. */
typedef struct matrix {
    double full[ROWS][COLS];
    int64_t count;
    acu_tensor *offsets, *columns, *values;
} matrix;

static acu_tensor *indices(acu_device *device, acu_dtype dtype, const int64_t *from, int64_t n)
{
    acu_tensor *tensor;
    int32_t narrow[MOST];
    for (int64_t i = 0; i < n; i++)
        narrow[i] = (int32_t)from[i];
    const void *data = dtype == ACU_I64 ? (const void *)from : narrow;
    assert_works(acu_sync(device, acu_const(dtype, ACU_SHAPE(n), data), &tensor));
    return tensor;
}

static void make(matrix *m, acu_device *device, acu_dtype dtype, acu_dtype index)
{
    int64_t offsets[ROWS + 1] = {0}, columns[MOST];
    double values[MOST];
    *m = (matrix){.count = 0};
    for (int row = 0; row < ROWS; row++) {
        for (int column = 0; column < COLS && row != 4; column++) /* row 4 is empty */
            if ((row + 2 * column) % 3 == 0) {
                with_random(&numbers, &values[m->count], 1);
                values[m->count] = nearbyint(values[m->count] * 16) / 16;
                m->full[row][column] = values[m->count];
                columns[m->count++] = column;
            }
        offsets[row + 1] = m->count;
    }
    m->offsets = indices(device, index, offsets, ROWS + 1);
    m->columns = indices(device, index, columns, m->count);
    m->values = with_numbers(device, dtype, ACU_SHAPE(m->count), values);
}

static void drop(matrix *m)
{
    acu_tensor_release(m->offsets);
    acu_tensor_release(m->columns);
    acu_tensor_release(m->values);
}

static acu_op *times(const matrix *m, acu_op *x)
{
    return acu_csr_matmul(m->offsets, m->columns, m->values, COLS, x);
}

static void product(acu_device *device, acu_dtype dtype, acu_dtype index, int width)
{
    matrix m;
    double x[COLS * WIDTH], want[ROWS * WIDTH] = {0}, have[ROWS * WIDTH];
    int n = width ? width : 1;
    make(&m, device, dtype, index);
    with_random(&numbers, x, (size_t)(COLS * n));
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLS; column++)
            for (int i = 0; i < n; i++)
                want[row * n + i] += m.full[row][column] * x[column * n + i];
    acu_shape shape = width ? ACU_SHAPE(COLS, width) : ACU_SHAPE(COLS);
    acu_tensor *dense = with_numbers(device, dtype, shape, x), *y = NULL;
    assert_works(acu_sync(device, times(&m, acu_value(dense)), &y));
    assert_int_equal(acu_tensor_shape(y).rank, width ? 2 : 1);
    with_read(y, have);
    with_near(have, want, (size_t)(ROWS * n), dtype == ACU_F64 ? 1e-12 : 1e-5, "product");
    acu_tensor_release(dense);
    acu_tensor_release(y);
    drop(&m);
}

static void products(void **state)
{
    (void)state;
    acu_device *device = open_sparse();
    for (int i = 0; i < 8; i++)
        product(device, i & 1 ? ACU_F64 : ACU_F32, i & 2 ? ACU_I64 : ACU_I32, i & 4 ? WIDTH : 0);
    with_end(device);
}

/* ---- coordinates, places, dense matrices ---- */

static void coordinates(void **state)
{
    (void)state;
    acu_device *device = open_sparse();
    for (int how = 0; how < 4; how++) {
        matrix m;
        acu_dtype dtype = how & 1 ? ACU_F64 : ACU_F32, index = how & 2 ? ACU_I64 : ACU_I32;
        double x[COLS * WIDTH], want[ROWS * WIDTH] = {0}, have[ROWS * WIDTH];
        int64_t rows[MOST], count = 0;
        make(&m, device, dtype, index);
        for (int row = 0; row < ROWS; row++)
            for (int column = 0; column < COLS && row != 4; column++)
                if ((row + 2 * column) % 3 == 0)
                    rows[count++] = row;
        with_random(&numbers, x, COLS * WIDTH);
        for (int row = 0; row < ROWS; row++)
            for (int column = 0; column < COLS; column++)
                for (int i = 0; i < WIDTH; i++)
                    want[row * WIDTH + i] += m.full[row][column] * x[column * WIDTH + i];
        acu_tensor *places = indices(device, index, rows, count), *y = NULL;
        acu_tensor *dense = with_numbers(device, dtype, ACU_SHAPE(COLS, WIDTH), x);
        acu_op *op = acu_coo_matmul(places, m.columns, m.values, ROWS, COLS, dense);
        assert_works(acu_sync(device, op, &y));
        with_read(y, have);
        with_near(have, want, ROWS * WIDTH, dtype == ACU_F64 ? 1e-12 : 1e-5, "coordinates");
        acu_tensor_release(y);
        acu_op *first = acu_reshape(acu_dup(acu_slice(dense, ACU_SHAPE(0, 0), ACU_SHAPE(COLS, 1))),
                                    ACU_SHAPE(COLS));
        op = acu_coo_matmul(places, m.columns, m.values, ROWS, COLS, first);
        assert_works(acu_sync(device, op, &y));
        with_read(y, have);
        for (int row = 0; row < ROWS; row++)
            with_near(&have[row], &want[row * WIDTH], 1, dtype == ACU_F64 ? 1e-12 : 1e-5, "vector");
        acu_tensor_release(y);
        acu_tensor_release(places);
        acu_tensor_release(dense);
        drop(&m);
    }
    with_end(device);
}

static void at_places(void **state)
{
    (void)state;
    acu_device *device = open_sparse();
    for (int how = 0; how < 4; how++) {
        matrix m;
        acu_dtype dtype = how & 1 ? ACU_F64 : ACU_F32;
        double a[ROWS * WIDTH], b[WIDTH * COLS], want[MOST], have[MOST];
        int count = 0;
        make(&m, device, dtype, how & 2 ? ACU_I64 : ACU_I32);
        with_random(&numbers, a, ROWS * WIDTH);
        with_random(&numbers, b, WIDTH * COLS);
        for (int row = 0; row < ROWS; row++)
            for (int column = 0; column < COLS && row != 4; column++)
                if ((row + 2 * column) % 3 == 0) {
                    want[count] = 0;
                    for (int k = 0; k < WIDTH; k++)
                        want[count] += a[row * WIDTH + k] * b[k * COLS + column];
                    count++;
                }
        acu_tensor *left = with_numbers(device, dtype, ACU_SHAPE(ROWS, WIDTH), a), *y = NULL;
        acu_tensor *right = with_numbers(device, dtype, ACU_SHAPE(WIDTH, COLS), b);
        assert_works(acu_sync(device, acu_csr_sddmm(m.offsets, m.columns, left, right), &y));
        assert_int_equal(acu_shape_elements(acu_tensor_shape(y)), count);
        with_read(y, have);
        with_near(have, want, (size_t)count, dtype == ACU_F64 ? 1e-12 : 1e-5, "at places");
        acu_tensor_release(y);
        assert_works(acu_sync(device, acu_csr_to_dense(m.offsets, m.columns, m.values, COLS), &y));
        with_read(y, have);
        with_near(have, m.full[0], MOST, 0, "to dense");
        acu_tensor_release(y);
        acu_tensor_release(left);
        acu_tensor_release(right);
        drop(&m);
    }
    with_end(device);
}

typedef struct operands {
    matrix m;
    acu_tensor *x, *y;
} operands;

static acu_op *multiplied(void *user)
{
    operands *p = user;
    return acu_into(p->y, times(&p->m, acu_value(p->x)));
}

/* Cached graphs have the call. */
static void repeated(void **state)
{
    (void)state;
    acu_device *device = open_sparse();
    operands p;
    double have[ROWS], want[ROWS] = {0};
    make(&p.m, device, ACU_F64, ACU_I32);
    assert_works(acu_sync(device, acu_ones(ACU_F64, ACU_SHAPE(COLS)), &p.x));
    assert_works(acu_sync(device, acu_zeros(ACU_F64, ACU_SHAPE(ROWS)), &p.y));
    with_repeated(device, multiplied, &p);
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLS; column++)
            want[row] += p.m.full[row][column];
    with_read(p.y, have);
    with_near(have, want, ROWS, 1e-12, "repeated product");
    acu_tensor_release(p.x);
    acu_tensor_release(p.y);
    drop(&p.m);
    with_end(device);
}

static void in_a_graph(void **state)
{
    (void)state;
    acu_device *device = open_sparse();
    matrix m;
    acu_tensor *x, *y;
    acu_graph *graph;
    double have[ROWS];
    make(&m, device, ACU_F64, ACU_I32);
    assert_works(acu_sync(device, acu_zeros(ACU_F64, ACU_SHAPE(COLS)), &x));
    assert_works(acu_sync(device, acu_zeros(ACU_F64, ACU_SHAPE(ROWS)), &y));
    assert_works(acu_graph_load(device, acu_into(y, times(&m, acu_value(x))), NULL, &graph));
    for (int turn = 1; turn < 4; turn++) {
        double want[ROWS] = {0};
        assert_works(acu_sync(device, acu_fill(x, acu_f64(turn)), NULL));
        assert_works(acu_sync(device, acu_replay(graph), NULL));
        for (int row = 0; row < ROWS; row++)
            for (int column = 0; column < COLS; column++)
                want[row] += turn * m.full[row][column];
        with_read(y, have);
        with_near(have, want, ROWS, 1e-12, "replayed product");
    }
    acu_graph_release(graph);
    acu_tensor_release(x);
    acu_tensor_release(y);
    drop(&m);
    with_end(device);
}

static void refusals(void **state)
{
    (void)state;
    acu_device *device = open_sparse();
    matrix m;
    acu_tensor *x;
    make(&m, device, ACU_F32, ACU_I32);
    assert_works(acu_sync(device, acu_ones(ACU_F32, ACU_SHAPE(COLS, 2)), &x));
    acu_op *none = acu_ones(ACU_F32, ACU_SHAPE(COLS, 0));
    assert_fails(acu_sync(device, times(&m, none), NULL), ACU_ERR_SHAPE, "has no elements");
    acu_op *more = acu_ones(ACU_F32, ACU_SHAPE(COLS + 1));
    assert_fails(acu_sync(device, times(&m, more), NULL), ACU_ERR_SHAPE, "as many rows");
    acu_op *other = acu_ones(ACU_F64, ACU_SHAPE(COLS));
    assert_fails(acu_sync(device, times(&m, other), NULL), ACU_ERR_DTYPE, "dtype of the values");
    acu_op *column = acu_slice(x, ACU_SHAPE(0, 0), ACU_SHAPE(COLS, 1));
    assert_fails(acu_sync(device, times(&m, column), NULL), ACU_ERR_INVALID, "dense");
    acu_op *wide = acu_zeros(ACU_I64, ACU_SHAPE(m.count));
    assert_fails(acu_sync(device, acu_csr_matmul(m.offsets, wide, m.values, COLS, x), NULL),
                 ACU_ERR_DTYPE, "both be i32");
    acu_op *few = acu_zeros(ACU_I32, ACU_SHAPE(3));
    assert_fails(acu_sync(device, acu_csr_matmul(m.offsets, few, m.values, COLS, x), NULL),
                 ACU_ERR_SHAPE, "as many as the values");
    acu_op *one = acu_zeros(ACU_I32, ACU_SHAPE(1));
    assert_fails(acu_sync(device, acu_csr_matmul(one, m.columns, m.values, COLS, x), NULL),
                 ACU_ERR_SHAPE, "one element more");
    acu_op *small = acu_ones(ACU_F16, ACU_SHAPE(m.count));
    acu_op *vector = acu_ones(ACU_F16, ACU_SHAPE(COLS));
    assert_fails(acu_sync(device, acu_csr_matmul(m.offsets, m.columns, small, COLS, vector), NULL),
                 ACU_ERR_DTYPE, "f32 or f64");
    acu_op *a = acu_ones(ACU_F32, ACU_SHAPE(ROWS, 2));
    assert_fails(acu_sync(device, acu_csr_sddmm(m.offsets, m.columns, a, x), NULL), ACU_ERR_SHAPE,
                 "as many rows as a has columns");
    a = acu_ones(ACU_F32, ACU_SHAPE(ROWS + 1, 2));
    assert_fails(acu_sync(device, acu_csr_sddmm(m.offsets, m.columns, a, x), NULL), ACU_ERR_SHAPE,
                 "as many rows as the sparse matrix");
    assert_fails(acu_sync(device, acu_coo_matmul(m.offsets, m.columns, m.values, ROWS, COLS, x),
                          NULL),
                 ACU_ERR_SHAPE, "as many as the columns");
    assert_fails(acu_sync(device, acu_csr_to_dense(m.offsets, m.columns, m.values, 0), NULL),
                 ACU_ERR_INVALID, "without any");
    acu_tensor_release(x);
    drop(&m);
    with_end(device);
}

/* What is described, so that there is no such memory. */
static void too_many(void **state)
{
    (void)state;
    acu_device *device = open_sparse();
    const int64_t many = (int64_t)1 << 31;
    acu_value_info info;
    size_t count;
    for (int wide = 0; wide < 2; wide++) {
        acu_dtype index = wide ? ACU_I64 : ACU_I32;
        acu_op *x = acu_meta(ACU_F32, ACU_SHAPE(COLS));
        acu_op *more = acu_meta(ACU_F32, ACU_SHAPE(many));
        acu_op *few = acu_meta(index, ACU_SHAPE(ROWS + 1)), *some = acu_meta(index, ACU_SHAPE(7));
        acu_op *most = acu_meta(index, ACU_SHAPE(many)), *values = acu_meta(ACU_F32, ACU_SHAPE(7));
        acu_op *ops[] = {acu_csr_matmul(acu_op_retain(few), most, more, COLS, x),
                         acu_csr_matmul(few, acu_op_retain(some), acu_op_retain(values), many,
                                        acu_meta(ACU_F32, ACU_SHAPE(many))),
                         acu_coo_matmul(acu_op_retain(some), some, values, many, COLS,
                                        acu_meta(ACU_F32, ACU_SHAPE(COLS)))};
        for (int i = 0; i < 3; i++) {
            if (wide)
                assert_works(acu_op_describe(device, ops[i], &info, 1, &count));
            else
                assert_fails(acu_op_describe(device, ops[i], &info, 1, &count), ACU_ERR_LIMIT,
                             "takes indices of i64");
            if (wide && i == 2)
                assert_int_equal(info.shape.dim[0], many);
            acu_op_release(ops[i]);
        }
    }
    with_end(device);
}

static void failures(void **state)
{
    (void)state;
    test_software_only();
    acu_device *device = open_sparse();
    matrix m;
    make(&m, device, ACU_F32, ACU_I32);
    atomic_store(&fake->fail_call, 11);
    assert_fails(acu_sync(device, times(&m, acu_ones(ACU_F32, ACU_SHAPE(COLS))), NULL),
                 ACU_ERR_DEVICE_MEMORY,
                 "cusparseSpMV answered CUSPARSE_STATUS_INSUFFICIENT_RESOURCES");
    assert_fails(acu_sync(device, times(&m, acu_ones(ACU_F32, ACU_SHAPE(COLS, 2))), NULL),
                 ACU_ERR_DEVICE_MEMORY, "cusparseSpMM answered");
    atomic_store(&fake->fail_call, 0);
    drop(&m);
    with_end(device);
}

static void without_memory(void **state)
{
    (void)state;
    test_software_only();
    acu_device *device = open_sparse();
    matrix m;
    make(&m, device, ACU_F32, ACU_I32);
    for (uint64_t n = 1;; n++) {
        acu_debug_fail_alloc(n, false);
        acu_op *x = acu_ones(ACU_F32, ACU_SHAPE(COLS));
        acu_status status = acu_sync(device, times(&m, x), NULL);
        bool reached = acu_debug_alloc_count() >= n;
        acu_debug_fail_alloc(0, false);
        if (status != ACU_OK)
            assert_int_equal(status, ACU_ERR_NO_MEMORY);
        if (!reached)
            break;
    }
    drop(&m);
    with_end(device);
}

static void use_fake(void)
{
    with_fake(ACU_VENDOR_CUSPARSE, "sparse/libfake_cusparse.so");
}

/* A vector, a matrix, chosen places, and a dense one. */
static acu_op *everything(void)
{
    static const int32_t offsets[] = {0, 1, 3}, columns[] = {1, 0, 2};
    acu_op *o = acu_const(ACU_I32, ACU_SHAPE(3), offsets);
    acu_op *c = acu_const(ACU_I32, ACU_SHAPE(3), columns), *v = acu_ones(ACU_F32, ACU_SHAPE(3));
    acu_op *all[] = {
        acu_csr_matmul(acu_op_retain(o), acu_op_retain(c), acu_op_retain(v), 3,
                       acu_ones(ACU_F32, ACU_SHAPE(3))),
        acu_csr_matmul(acu_op_retain(o), acu_op_retain(c), acu_op_retain(v), 3,
                       acu_ones(ACU_F32, ACU_SHAPE(3, 2))),
        acu_csr_sddmm(acu_op_retain(o), acu_op_retain(c), acu_ones(ACU_F32, ACU_SHAPE(2, 2)),
                      acu_ones(ACU_F32, ACU_SHAPE(2, 3))),
        acu_csr_to_dense(o, c, v, 3)};
    return acu_op_zip(all, 4, ACU_SITE);
}

TEST_EACH_CALL(use_fake, everything)

int main(int argc, char **argv)
{
    static const test_case in_process[] = {{"calls", case_calls}};
    if (argc > 1)
        return test_run_case(in_process, 1, argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products), cmocka_unit_test(coordinates), cmocka_unit_test(at_places),
        cmocka_unit_test(in_a_graph), cmocka_unit_test(repeated), cmocka_unit_test(refusals),
        cmocka_unit_test(too_many), cmocka_unit_test(failures), cmocka_unit_test(without_memory),
        cmocka_unit_test(without_a_call)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
