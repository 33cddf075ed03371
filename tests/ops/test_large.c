/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * More elements than 31 bits count, on a GPU with memory for them: what lies behind element 2^31 is
 * read, written, counted and found like the rest. (The software device would take minutes.)
 */
#include "ops/elements.h"
#include "support/one_device.h"

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

/* Ones, but 7 at the last place and 3 at the third from the end. */
static acu_tensor *bytes_or_skip(void)
{
    size_t free_bytes = 0, total;
    acu_tensor *x = NULL;
    if (!test_on_gpu())
        skip();
    assert_works(acu_device_memory(device, &free_bytes, &total));
    if (free_bytes < (size_t)60 << 30)
        skip();
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

int main(void)
{
    const struct CMUnitTest tests[] = {DEVICE_TEST(reduced), DEVICE_TEST(moved),
                                       DEVICE_TEST(by_index)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
