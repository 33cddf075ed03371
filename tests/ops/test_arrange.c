/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Joining, padding, repeating, rotating: what they give beside loops, where results may go, memory
 * that is not aligned, and calls that fail. tests/ops/numpy compares all dtypes and layouts.
 */
#include "ops/every_way.h"
#include "support/one_device.h"

enum { ROWS = 5, WIDE = 24, ALL = ROWS * WIDE };

static float numbers[2 * ALL];

static acu_tensor *some(acu_shape shape)
{
    for (int i = 0; i < 2 * ALL; i++)
        numbers[i] = (float)i;
    return tensor_with(device, ACU_F32, shape, numbers);
}

/* ---- results --------------------------------------------------------------------------------- */

static void joined(void **state)
{
    (void)state;
    acu_tensor *x = some(ACU_SHAPE(ROWS, WIDE)), *y = some(ACU_SHAPE(ROWS, WIDE));
    float *have =
        result_of(device, acu_concat(-1, x, acu_neg(y), x), ACU_F32, ACU_SHAPE(ROWS, 3 * WIDE));
    for (int i = 0; i < 3 * ALL; i++) {
        int row = i / (3 * WIDE), part = i / WIDE % 3, at = row * WIDE + i % WIDE;
        assert_true(have[i] == (part == 1 ? -numbers[at] : numbers[at]));
    }
    free(have);
    have = result_of(device, acu_stack(0, x, y), ACU_F32, ACU_SHAPE(2, ROWS, WIDE));
    for (int i = 0; i < 2 * ALL; i++)
        assert_true(have[i] == numbers[i % ALL]);
    free(have);
    acu_tensor_release(x);
    acu_tensor_release(y);
}

static void cut(void **state)
{
    (void)state;
    acu_tensor *x = some(ACU_SHAPE(ROWS, WIDE));
    acu_op *parts[3];
    acu_split(x, 1, parts, 3);
    float *have = result_of(device, acu_concat(0, parts[2], parts[0], parts[1]), ACU_F32,
                            ACU_SHAPE(3 * ROWS, WIDE / 3));
    for (int i = 0; i < ALL; i++) {
        int part = (i / (ALL / 3) + 2) % 3, row = i / (WIDE / 3) % ROWS;
        assert_true(have[i] == numbers[row * WIDE + part * (WIDE / 3) + i % (WIDE / 3)]);
    }
    free(have);
    acu_op *two[2];
    const int64_t sizes[] = {1, 4};
    acu_split_at(acu_neg(x), 0, sizes, two, 2);
    acu_op_release(two[0]);
    have = result_of(device, acu_identity(two[1]), ACU_F32, ACU_SHAPE(4, WIDE));
    assert_true(have[0] == -WIDE);
    free(have);
    acu_split(x, 1, parts, 3); /* a view of the tensor itself: no memory but its own */
    acu_tensor *view;
    assert_works(acu_sync(device, parts[1], &view));
    assert_ptr_equal(acu_tensor_buffer(view), acu_tensor_buffer(x));
    acu_op_release(parts[0]);
    acu_op_release(parts[2]);
    acu_tensor_release(view);
    acu_tensor_release(x);
}

/* Wrapped memory may begin anywhere: elements are then moved one by one. */
static void anywhere(void **state)
{
    (void)state;
    acu_tensor *x = some(ACU_SHAPE(2 * ALL)), *odd;
    acu_buffer *inside;
    CUdeviceptr at = acu_tensor_address(x) + 4;
    assert_works(acu_buffer_wrap_device(device, at, 4 * 8, ACU_USER(NULL), &inside));
    assert_works(acu_tensor_create(inside, 0, ACU_F32, ACU_SHAPE(8), &odd));
    acu_buffer_release(inside);
    float *have =
        result_of(device, acu_pad(odd, ACU_SHAPE(4), ACU_SHAPE(4), 0.5), ACU_F32, ACU_SHAPE(16));
    for (int i = 0; i < 16; i++)
        assert_true(have[i] == (i < 4 || i >= 12 ? 0.5f : (float)(i - 3)));
    free(have);
    acu_tensor_release(odd);
    acu_tensor_release(x);
}

static void many_parts(void **state)
{
    (void)state;
    enum { PARTS = 70 };
    acu_tensor *x = some(ACU_SHAPE(2 * ALL));
    acu_op *parts[PARTS];
    for (int i = 0; i < PARTS; i++)
        parts[i] = acu_slice(x, ACU_SHAPE(i), ACU_SHAPE(2 * i + 1));
    int64_t total = PARTS * (PARTS + 1) / 2, at = 0;
    float *have =
        result_of(device, acu_op_concat(0, parts, PARTS, ACU_SITE), ACU_F32, ACU_SHAPE(total));
    for (int i = 0; i < PARTS; i++)
        for (int k = i; k <= 2 * i; k++)
            assert_true(have[at++] == (float)k);
    free(have);
    acu_tensor_release(x);
}

/* ---- where results go ------------------------------------------------------------------------ */

static void over_operands(void **state)
{
    (void)state;
    acu_tensor *x = some(ACU_SHAPE(ROWS, WIDE));
    assert_fails(acu_sync(device, acu_into(x, acu_roll(x, 0, 1)), NULL), ACU_ERR_SHARED,
                 "roll can not overwrite its operand 0");
    acu_op *first = acu_slice(x, ACU_SHAPE(0, 0), ACU_SHAPE(ROWS, 8));
    acu_op *second = acu_slice(x, ACU_SHAPE(0, 1), ACU_SHAPE(ROWS, 9));
    assert_fails(acu_sync(device, acu_into(first, acu_flip(second, ACU_ALL)), NULL), ACU_ERR_SHARED,
                 "flip would overwrite operand 0");
    assert_works(acu_sync(device, acu_into(x, acu_tril(x, -1)), NULL));
    float *have = result_of(device, acu_identity(x), ACU_F32, ACU_SHAPE(ROWS, WIDE));
    for (int i = 0; i < ALL; i++)
        assert_true(have[i] == (i % WIDE < i / WIDE ? (float)i : 0));
    free(have);
    acu_tensor_release(x);
}

static void refused(void **state)
{
    (void)state;
    acu_tensor *x = some(ACU_SHAPE(ROWS, WIDE));
    acu_op *parts[2];
    const int64_t sizes[] = {2, 2}, none[] = {6, -1};
    acu_split(x, 0, parts, 2);
    assert_fails(acu_sync(device, parts[0], NULL), ACU_ERR_SHAPE,
                 "dimension 0 of f32 [5, 24] into 2 equal parts");
    acu_op_release(parts[1]);
    acu_split_at(x, 0, sizes, parts, 2);
    assert_fails(acu_sync(device, parts[1], NULL), ACU_ERR_SHAPE, "sizes add up to 4");
    acu_op_release(parts[0]);
    acu_split_at(x, 0, none, parts, 2);
    assert_fails(acu_sync(device, parts[1], NULL), ACU_ERR_SHAPE, "sizes are 0 or more");
    acu_op_release(parts[0]);
    acu_split(x, 2, parts, 1);
    assert_fails(acu_sync(device, parts[0], NULL), ACU_ERR_SHAPE, "dimension 2|there is none");
    assert_fails(acu_sync(device, acu_op_concat(0, NULL, 0, ACU_SITE), NULL), ACU_ERR_ARGUMENTS,
                 "concat of no tensors");
    assert_fails(acu_sync(device, acu_op_stack(0, NULL, 2, ACU_SITE), NULL), ACU_ERR_INVALID,
                 "stack got NULL");
    assert_fails(acu_sync(device, acu_roll((acu_op *)NULL, 0, 1), NULL), ACU_ERR_INVALID, "NULL");
    acu_tensor_release(x);
}

/* ---- in every way ---------------------------------------------------------------------------- */

static acu_op *way_concat(acu_tensor *const *x)
{
    return acu_concat(0, x[0], x[0], acu_neg(x[0]), x[0], x[0]); /* in two launches */
}
static acu_op *way_pad(acu_tensor *const *x)
{
    return acu_pad(x[0], ACU_SHAPE(1, 2), ACU_SHAPE(0, 3), 7);
}
static acu_op *way_roll(acu_tensor *const *x)
{
    return acu_roll(x[0], 1, 3);
}
static acu_op *way_split(acu_tensor *const *x)
{
    acu_op *parts[2];
    acu_split(acu_neg(x[0]), 1, parts, 2);
    return acu_stack(0, parts[1], parts[0]);
}

static void ways(void **state)
{
    (void)state;
    static const way_fn all[] = {way_concat, way_pad, way_roll, way_split};
    acu_tensor *x = some(ACU_SHAPE(ROWS, WIDE));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        every_way(device, all[i], &x);
    acu_tensor_release(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(joined),     DEVICE_TEST(cut),     DEVICE_TEST(anywhere),
        DEVICE_TEST(many_parts), DEVICE_TEST(refused), DEVICE_TEST(over_operands),
        DEVICE_TEST(ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
