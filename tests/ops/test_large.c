/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * More elements than 31 bits count, on a GPU with memory for them: what lies behind element 2^31 is
 * read, written, counted and found like the rest. (The software device would take minutes.)
 */
#include "ops/elements.h"
#include "support/one_device.h"

#include <acuda/sparse.h>

#define MORE 5 /* than 2^31 */
static const int64_t many = ((int64_t)1 << 31) + MORE;

/* Element i of a tensor of bytes. */
static int byte_at(acu_tensor *x, int64_t i)
{
    unsigned char byte = 0;
    acu_tensor *part = NULL;
    assert_works(acu_tensor_slice(x, (const int64_t[]){i}, (const int64_t[]){i + 1}, &part));
    assert_works(acu_read_sync(part, &byte, 1));
    acu_tensor_release(part);
    return byte;
}

static void put_byte(acu_tensor *x, int64_t i, int value)
{
    const unsigned char byte = (unsigned char)value;
    acu_tensor *part = NULL;
    assert_works(acu_tensor_slice(x, (const int64_t[]){i}, (const int64_t[]){i + 1}, &part));
    assert_works(acu_write_sync(part, &byte, 1));
    acu_tensor_release(part);
}

static int64_t number(acu_op *op)
{
    int64_t value = -1;
    assert_works(acu_read_i64_wait(device, op, &value));
    return value;
}

/* Whether this is a GPU with room for what the tests need. */
static void need_room(void)
{
    size_t free_bytes = 0, total;
    if (!test_on_gpu())
        skip();
    assert_works(acu_device_memory(device, &free_bytes, &total));
    if (free_bytes < (size_t)60 << 30)
        skip();
}

/* Ones, but 7 at the last place and 3 at the third from the end. */
static acu_tensor *bytes_or_skip(void)
{
    acu_tensor *x = NULL;
    need_room();
    assert_works(acu_sync(device, acu_full(ACU_SHAPE(many), acu_u8(1)), &x));
    put_byte(x, many - 1, 7);
    put_byte(x, many - 3, 3);
    return x;
}

static void reduced(void **state)
{
    (void)state;
    acu_tensor *x = bytes_or_skip();
    assert_int_equal(number(acu_sum(x, ACU_ALL)), many + 6 + 2);
    assert_int_equal(number(acu_max_of(x, ACU_ALL)), 7);
    assert_int_equal(number(acu_argmax(x, ACU_ALL)), many - 1);
    assert_int_equal(number(acu_sum(acu_gt(x, 1), ACU_ALL)), 2);
    acu_op *scanned = acu_cumsum(x, 0); /* 16 GiB */
    acu_op *last = acu_slice(scanned, ACU_SHAPE(many - 3), ACU_SHAPE(many));
    assert_int_equal(number(acu_sum(last, ACU_ALL)), many - 1 + 2 - 1 + (many + 2 - 1) + many + 8);
    acu_tensor_release(x);
}

static void moved(void **state)
{
    (void)state;
    acu_tensor *x = bytes_or_skip(), *y = NULL;
    assert_works(acu_sync(device, acu_flip(x, ACU_DIMS(0)), &y));
    assert_int_equal(byte_at(y, 0), 7);
    assert_int_equal(byte_at(y, 2), 3);
    assert_int_equal(byte_at(y, many - 1), 1);
    acu_tensor_release(y);
    assert_works(acu_sync(device, acu_roll(x, 0, 2), &y));
    assert_int_equal(byte_at(y, 1), 7);
    assert_int_equal(byte_at(y, many - 1), 3);
    acu_tensor_release(y);
    assert_works(acu_sync(device, acu_concat(0, x, x), &y));
    assert_int_equal(byte_at(y, 2 * many - 1), 7);
    assert_int_equal(byte_at(y, many - 1), 7);
    assert_int_equal(byte_at(y, many), 1);
    acu_tensor_release(y);
    assert_works(acu_sync(device, acu_where(acu_gt(x, 1), acu_add(x, 1), x), &y));
    assert_int_equal(byte_at(y, many - 1), 8);
    assert_int_equal(byte_at(y, many - 2), 1);
    acu_tensor_release(y);
    acu_tensor_release(x);
}

static void by_index(void **state)
{
    (void)state;
    acu_tensor *x = bytes_or_skip();
    const int64_t at[] = {many - 1, 0, -3, many};
    const unsigned char source[] = {9, 8, 5, 4};
    acu_tensor *places = tensor_with(device, ACU_I64, ACU_SHAPE(4), at);
    acu_tensor *values = tensor_with(device, ACU_U8, ACU_SHAPE(4), source);
    unsigned char *have = result_of(device, acu_gather(x, 0, places), ACU_U8, ACU_SHAPE(4));
    assert_memory_equal(have, ((unsigned char[]){7, 1, 3, 0}), 4); /* out of range: 0 */
    free(have);
    assert_works(
        acu_sync(device, acu_into(x, acu_scatter(ACU_SCATTER_SET, x, 0, places, values)), NULL));
    assert_int_equal(byte_at(x, many - 1), 9);
    assert_int_equal(byte_at(x, many - 3), 5);
    assert_int_equal(byte_at(x, 0), 8);
    assert_fails(acu_sync(device, acu_sort(x, 0, ACU_ASCENDING), NULL), ACU_ERR_LIMIT,
                 "at most 2^31 - 1");
    acu_tensor_release(places);
    acu_tensor_release(values);
    acu_tensor_release(x);
}

static void counted(void **state)
{
    (void)state;
    acu_tensor *x = bytes_or_skip(), *found = NULL;
    int64_t count = 0;
    assert_works(acu_counted_wait(device, acu_nonzero(acu_gt(x, 1)), &found, &count));
    int64_t at[2] = {0};
    assert_int_equal(count, 2);
    assert_works(acu_read_sync(found, at, sizeof at));
    assert_true(at[0] == many - 3 && at[1] == many - 1);
    acu_tensor_release(found);
    int64_t *each = result_of(device, acu_bincount(x, 8), ACU_I64, ACU_SHAPE(8));
    assert_true(each[0] == 0 && each[1] == many - 2 && each[3] == 1 && each[7] == 1);
    free(each);
    acu_tensor_release(x);
}

/* ---- rows: the last of many is like the same row alone -------------------------------------- */

/* With more than 2^31 elements in ROWS of them. */
enum { ROWS = (1 << 19) + 1, WIDE = 4096, HIGH = 64, BROAD = WIDE / HIGH };

static acu_op *images(acu_tensor *x) /* [rows, 1, HIGH, BROAD] */
{
    return acu_reshape(x, ACU_SHAPE(acu_tensor_shape(x).dim[0], 1, HIGH, BROAD));
}
static acu_op *weight(void)
{
    return acu_convert(acu_linspace(ACU_F32, -1, 1, WIDE), ACU_F16);
}

#define ROW(name, op)                                                                              \
    static acu_op *name(acu_tensor *x)                                                             \
    {                                                                                              \
        return op;                                                                                 \
    }
ROW(row_softmax, acu_softmax(x, 1))
ROW(row_layer_norm, acu_layer_norm(x, weight(), 0.5, 1e-5))
ROW(row_rms_norm, acu_rms_norm(x, weight(), 1e-5))
ROW(row_cumsum, acu_cumsum(x, 1))
ROW(row_var, acu_var(x, ACU_KEEP(1), 1))
ROW(row_argmax, acu_argmax(x, ACU_KEEP(1)))
ROW(row_pad, acu_pad_by(ACU_PAD_REFLECT, x, ACU_SHAPE(0, 3), ACU_SHAPE(0, 1)))
ROW(row_tile, acu_tile(x, ACU_SHAPE(1, 2)))
ROW(row_repeat, acu_repeat(x, 1, 2))
ROW(row_convert, acu_convert(x, ACU_F32))
ROW(row_tanh, acu_tanh(x))
ROW(row_select, acu_index_select(x, 1, acu_arange(ACU_I32, WIDE - 1, -1, -2)))
ROW(row_pool, acu_pool(ACU_POOL_MAX, images(x), ACU_SHAPE(3, 3), NULL))
ROW(row_larger, acu_interpolate(ACU_INTERPOLATE_LINEAR, images(x), ACU_SHAPE(HIGH, BROAD + 10)))
ROW(row_conv, acu_conv(images(x), acu_ones(ACU_F16, ACU_SHAPE(1, 1, 3, 3)), 0, NULL))
ROW(row_attention, acu_attention(images(x), images(x), images(x), NULL))
ROW(row_fft, acu_abs(acu_rfft(acu_convert(x, ACU_F32), 1)))
ROW(row_product, acu_matmul(acu_reshape(x, ACU_SHAPE(-1, HIGH, BROAD)),
                            acu_reshape(weight(), ACU_SHAPE(BROAD, HIGH))))

/* The last row of what is made of x, in f64. */
static double *last_row(acu_op *(*make)(acu_tensor *x), acu_tensor *x, int64_t *count)
{
    acu_tensor *made = NULL, *row = NULL;
    assert_works(acu_sync(device, make(x), &made));
    const acu_shape shape = acu_tensor_shape(made);
    acu_op *last = acu_select(made, 0, shape.dim[0] - 1);
    acu_tensor_release(made);
    assert_works(acu_sync(device, acu_flatten(acu_convert(last, ACU_F64)), &row));
    *count = acu_shape_elements(shape) / shape.dim[0];
    double *memory = malloc((size_t)*count * sizeof *memory);
    assert_works(acu_read_sync(row, memory, (size_t)*count * sizeof *memory));
    acu_tensor_release(row);
    return memory;
}

static void last_rows(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        acu_op *(*make)(acu_tensor *x);
    } all[] = {{"softmax", row_softmax}, {"layer norm", row_layer_norm}, {"rms norm", row_rms_norm},
               {"cumsum", row_cumsum},   {"var", row_var},               {"argmax", row_argmax},
               {"pad", row_pad},         {"tile", row_tile},             {"repeat", row_repeat},
               {"convert", row_convert}, {"tanh", row_tanh},             {"select", row_select},
               {"pool", row_pool},       {"interpolate", row_larger},    {"conv", row_conv},
               {"attention", row_attention}, {"fft", row_fft},           {"product", row_product}};
    need_room();
    acu_tensor *x = NULL, *alone = NULL;
    assert_works(acu_sync(device, acu_rand(ACU_F16, ACU_SHAPE(ROWS, WIDE), 5, 0), &x));
    acu_op *last = acu_slice(x, ACU_SHAPE(ROWS - 1, 0), ACU_SHAPE(ROWS, WIDE));
    assert_works(acu_sync(device, acu_dup(last), &alone));
    for (size_t n = 0; n < sizeof all / sizeof *all; n++) {
        int64_t count = 0, same = 0;
        double *have = last_row(all[n].make, x, &count);
        double *want = last_row(all[n].make, alone, &same);
        assert_int_equal(count, same);
        for (int64_t i = 0; i < count; i++)
            if (fabs(have[i] - want[i]) > 2e-3 * (fabs(want[i]) + 1e-3))
                fail_msg("%s: element %lld is %g, not %g", all[n].name, (long long)i, have[i],
                         want[i]);
        free(have);
        free(want);
    }
    acu_tensor_release(x);
    acu_tensor_release(alone);
}

/* A sparse matrix of that many elements, 2^16 in each row: by cuSPARSE, which some GPUs' machines
 * do not have. */
static void sparse(void **state)
{
    (void)state;
    enum { EACH = 1 << 16, LINES = (1 << 15) + 1 };
    const int64_t count = (int64_t)EACH * LINES;
    const float seven = 7;
    double first, last;
    need_room();
    if (acu_vendor_load(device, ACU_VENDOR_CUSPARSE) != ACU_OK)
        skip();
    acu_tensor *values = NULL, *end = NULL, *y = NULL;
    assert_works(acu_sync(device, acu_ones(ACU_F32, ACU_SHAPE(count)), &values));
    assert_works(acu_tensor_slice(values, &(int64_t){count - 1}, &(int64_t){count}, &end));
    assert_works(acu_write_sync(end, &seven, sizeof seven));
    acu_op *offsets = acu_arange(ACU_I64, 0, (double)count + 1, EACH);
    acu_op *columns = acu_zeros(ACU_I64, ACU_SHAPE(count)), *x = acu_ones(ACU_F32, ACU_SHAPE(EACH));
    acu_op *op = acu_csr_matmul(offsets, columns, values, EACH, x);
    if (acu_vendor_version(ACU_VENDOR_CUSPARSE) < 120800 &&
        acu_sync(device, acu_op_retain(op), NULL) != ACU_OK) {
        assert_fails(acu_sync(device, op, NULL), ACU_ERR_NOT_SUPPORTED, "2^31 - 128 elements");
    } else {
        assert_works(acu_sync(device, op, &y));
        assert_works(acu_read_f64_wait(device, acu_select(y, 0, 0), &first));
        assert_works(acu_read_f64_wait(device, acu_select(y, 0, LINES - 1), &last));
        assert_true(first == EACH && last == EACH + 6);
        acu_tensor_release(y);
    }
    acu_tensor_release(end);
    acu_tensor_release(values);
}

/* Numbers of a sequence depend on their place alone. */
static void drawn(void **state)
{
    (void)state;
    need_room();
    acu_tensor *x = NULL;
    assert_works(acu_sync(device, acu_rand(ACU_F16, ACU_SHAPE(many), 5, 0), &x));
    acu_op *part = acu_slice(x, ACU_SHAPE(many - 3), ACU_SHAPE(many));
    uint16_t *have = result_of(device, acu_dup(part), ACU_F16, ACU_SHAPE(3));
    uint16_t *want = result_of(device, acu_rand(ACU_F16, ACU_SHAPE(3), 5, many - 3), ACU_F16,
                               ACU_SHAPE(3));
    assert_memory_equal(have, want, 3 * sizeof *have);
    free(have);
    free(want);
    acu_tensor_release(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {DEVICE_TEST(reduced), DEVICE_TEST(moved),
                                       DEVICE_TEST(by_index), DEVICE_TEST(counted),
                                       DEVICE_TEST(last_rows), DEVICE_TEST(drawn),
                                       DEVICE_TEST(sparse)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
