/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Views as operations: they keep the form of what they get, enqueue
 * nothing, and say what is wrong. */
#include "support/one_device.h"

/* 0, 1, 2, ... as u32 [4, 6] */
static acu_op *counted(void)
{
    uint32_t numbers[24];
    for (uint32_t i = 0; i < 24; i++)
        numbers[i] = i;
    return acu_const(ACU_U32, ACU_SHAPE(4, 6), numbers);
}

typedef struct seen {
    acu_form form;
    acu_shape shape;
    int64_t strides[ACU_MAX_RANK];
} seen;

static void look(void *user, const acu_val *values, size_t count)
{
    seen *s = user;
    assert_int_equal(count, 1);
    s->form = values[0].form;
    s->shape = acu_tensor_shape(values[0].tensor);
    memcpy(s->strides, acu_tensor_strides(values[0].tensor),
           sizeof(int64_t) * (size_t)s->shape.rank);
}

static void check(acu_op *op, acu_form form, acu_shape shape, const int64_t *strides)
{
    seen s = {.form = ACU_OWNED};
    assert_works(acu_sync(device, acu_inspect(op, look, &s), NULL));
    assert_int_equal(s.form, form);
    assert_true(acu_shape_equal(s.shape, shape));
    for (int d = 0; d < shape.rank; d++)
        assert_int_equal(s.strides[d], strides[d]);
}
#define check(op, form, shape, ...) check((op), (form), (shape), (const int64_t[]){__VA_ARGS__})

static void every_view_is_what_its_function_makes(void **state)
{
    (void)state;
    check(acu_reshape(counted(), ACU_SHAPE(2, ACU_REST)), ACU_OWNED, ACU_SHAPE(2, 12), 12, 1);
    check(acu_flatten(counted()), ACU_OWNED, ACU_SHAPE(24), 1);
    check(acu_slice(counted(), ACU_SHAPE(1, 2), ACU_SHAPE(3, 5)), ACU_OWNED, ACU_SHAPE(2, 3), 6, 1);
    check(acu_slice_step(counted(), ACU_SHAPE(0, 0), ACU_SHAPE(4, 6), ACU_SHAPE(2, 3)), ACU_OWNED,
          ACU_SHAPE(2, 2), 12, 3);
    check(acu_select(counted(), -1, 2), ACU_OWNED, ACU_SHAPE(4), 6);
    check(acu_unsqueeze(counted(), 1), ACU_OWNED, ACU_SHAPE(4, 1, 6), 6, 6, 1);
    check(acu_squeeze(acu_unsqueeze(counted(), 1), 1), ACU_OWNED, ACU_SHAPE(4, 6), 6, 1);
    check(acu_permute(counted(), 1, 0), ACU_OWNED, ACU_SHAPE(6, 4), 1, 6);
    check(acu_transpose(counted(), 0, 1), ACU_OWNED, ACU_SHAPE(6, 4), 1, 6);
    check(acu_broadcast_to(counted(), ACU_SHAPE(2, 4, 6)), ACU_OWNED, ACU_SHAPE(2, 4, 6), 0, 6, 1);
    check(acu_reinterpret(counted(), ACU_U16), ACU_OWNED, ACU_SHAPE(4, 12), 12, 1);
}

static void a_view_has_the_form_of_what_it_is_of(void **state)
{
    (void)state;
    acu_tensor *t = NULL;
    assert_works(acu_sync(device, counted(), &t));
    check(acu_flatten(t), ACU_BORROWED, ACU_SHAPE(24), 1);
    check(acu_flatten(acu_share(counted())), ACU_SHARED, ACU_SHAPE(24), 1);
    /* of an owned tensor the view is the only handle: it can be partitioned, and given away */
    check(acu_unpartition(acu_partition(acu_flatten(acu_give(t)), ACU_SHAPE(7))), ACU_OWNED,
          ACU_SHAPE(24), 1);
    check(acu_own(acu_share(acu_flatten(counted()))), ACU_OWNED, ACU_SHAPE(24), 1);
}

static void a_view_of_a_view_has_the_data(void **state)
{
    (void)state;
    acu_op *op = acu_select(acu_transpose(acu_reshape(counted(), ACU_SHAPE(2, 3, 4)), 0, 1), 0, 2);
    acu_tensor *x = NULL; /* rows 2 and 5 of [6, 4], then the second of these */
    assert_works(acu_sync(device, acu_select(op, 0, 1), &x));
    uint32_t out[4];
    assert_works(acu_read_sync(x, out, sizeof out));
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(out[i], 20 + i);
    acu_tensor_release(x);
}

/* Of [4, 4, 4], from and to in the last two dimensions. */
static acu_tensor *block_of(acu_tensor *t, int64_t row, int64_t rows, int64_t column,
                            int64_t columns)
{
    acu_tensor *block = NULL;
    assert_works(acu_tensor_slice(t, (const int64_t[]){0, row, column},
                                  (const int64_t[]){4, row + rows, column + columns}, &block));
    return block;
}

static acu_status count_call(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)stream, (void)values, (void)count;
    ++*(int *)user;
    return ACU_OK;
}

/* Windows of equal width and distance do not show that these are disjoint; their elements do. */
static void blocks_that_interleave_are_written_at_once(void **state)
{
    (void)state;
    int calls = 0;
    acu_tensor *t = NULL;
    assert_works(acu_tensor_alloc(device, ACU_F32, ACU_SHAPE(4, 4, 4), &t));
    acu_tensor *wide[] = {block_of(t, 0, 2, 0, 3), block_of(t, 2, 2, 1, 3)};
    acu_tensor *narrow[] = {block_of(t, 0, 3, 3, 1), block_of(t, 2, 1, 0, 4)};
    assert_works(acu_sync(device, acu_foreign(count_call, &calls, acu_out(wide[0]),
                                              acu_inout(wide[1])), NULL));
    assert_works(acu_sync(device, acu_foreign(count_call, &calls, acu_out(wide[0]),
                                              acu_out(narrow[0])), NULL));
    assert_int_equal(calls, 2);
    assert_fails(acu_sync(device, acu_foreign(count_call, &calls, acu_out(wide[1]),
                                              acu_out(narrow[1])), NULL),
                 ACU_ERR_SHARED, "arguments 0 and 1 write the same memory");
    assert_fails(acu_sync(device, acu_foreign(count_call, &calls, acu_out(narrow[0]),
                                              acu_out(narrow[1])), NULL),
                 ACU_ERR_SHARED, "arguments 0 and 1 write the same memory");
    assert_int_equal(calls, 2);
    for (int i = 0; i < 2; i++) {
        acu_tensor_release(wide[i]);
        acu_tensor_release(narrow[i]);
    }
    acu_tensor_release(t);
}

static acu_status take_all(void *user, acu_val *values, size_t count)
{
    (void)user;
    for (size_t i = 0; i < count; i++)
        acu_val_set_tensor(&values[i], NULL);
    return ACU_OK;
}

static void wrong_views_are_refused_with_their_line(void **state)
{
    (void)state;
    acu_op *op = acu_slice(counted(), ACU_SHAPE(0, 0), ACU_SHAPE(4, 7));
    int line = __LINE__ - 1;
    assert_fails(acu_sync(device, op, NULL), ACU_ERR_SHAPE,
                 "from 0 to 7 of dimension 1, which has 6");
    assert_int_equal(acu_last_error()->line, line);
    assert_string_equal(acu_last_error()->op, "slice");
    assert_fails(acu_sync(device, acu_slice(counted(), ACU_SHAPE(0), ACU_SHAPE(4, 6)), NULL),
                 ACU_ERR_SHAPE, "the start of a slice has 1 numbers for u32 [4, 6]");
    assert_fails(acu_sync(device, acu_slice(counted(), ACU_SHAPE(0, 0), ACU_SHAPE(4)), NULL),
                 ACU_ERR_SHAPE, "the end of a slice has 1 numbers for u32 [4, 6]");
    assert_fails(acu_sync(device, acu_permute(counted(), 0, 1, 2), NULL), ACU_ERR_SHAPE,
                 "the order has 3 numbers");
    assert_fails(acu_sync(device, acu_permute(counted(), 0, 1, 2, 3, 4, 5, 6, 7), NULL),
                 ACU_ERR_SHAPE, "the order has 8 numbers");
    assert_fails(acu_sync(device, acu_op_permute(acu_flatten(counted()), NULL, 1, ACU_SITE), NULL),
                 ACU_ERR_INVALID, "the order is NULL");
    assert_fails(acu_sync(device, acu_flatten(acu_scalar(acu_f32(1))), NULL), ACU_ERR_INVALID,
                 "flatten wants a tensor, and got a scalar");
    assert_fails(acu_sync(device, acu_flatten(acu_map(counted(), take_all, NULL)), NULL),
                 ACU_ERR_INVALID, "flatten wants a tensor, and got nothing");
    assert_fails(acu_sync(device, acu_prefetch(acu_map(counted(), take_all, NULL), device), NULL),
                 ACU_ERR_INVALID, "prefetch wants managed memory, not nothing");
    assert_fails(acu_sync(device, acu_flatten(acu_partition(counted(), ACU_SHAPE(1, 1))), NULL),
                 ACU_ERR_INVALID, "a partition; acu_unpartition first");
    assert_fails(acu_sync(device,
                          acu_fill(acu_broadcast_to(counted(), ACU_SHAPE(9, 4, 6)), acu_u32(1)),
                          NULL),
                 ACU_ERR_SHARED, "may share memory");
    acu_op_release(acu_select(counted(), 0, 0)); /* never submitted */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(every_view_is_what_its_function_makes),
        DEVICE_TEST(a_view_has_the_form_of_what_it_is_of),
        DEVICE_TEST(a_view_of_a_view_has_the_data),
        DEVICE_TEST(blocks_that_interleave_are_written_at_once),
        DEVICE_TEST(wrong_views_are_refused_with_their_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
