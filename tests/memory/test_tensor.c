/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tensors, shapes, element types and views. */
#include "memory/memory.h"
#include "support/one_device.h"

static acu_buffer *buffer;

static int setup(void **state)
{
    device_setup(state);
    assert_works(acu_buffer_create(device, 1024, &buffer));
    return 0;
}

static int teardown(void **state)
{
    acu_buffer_release(buffer);
    return device_teardown(state);
}

static void element_types_have_names_and_sizes(void **state)
{
    (void)state;
    assert_string_equal(acu_dtype_name(ACU_F32), "f32");
    assert_string_equal(acu_dtype_name(ACU_BF16), "bf16");
    assert_string_equal(acu_dtype_name(ACU_NO_DTYPE), "?");
    assert_string_equal(acu_dtype_name((acu_dtype)99), "?");
    assert_int_equal(acu_dtype_bytes(ACU_BOOL), 1);
    assert_int_equal(acu_dtype_bytes(ACU_F64), 8);
    assert_int_equal(acu_dtype_bytes(ACU_NO_DTYPE), 0);
    assert_int_equal(acu_dtype_bytes((acu_dtype)-1), 0);
    assert_string_equal(acu_dtype_name(ACU_F4E2M1FNX2), "f4e2m1fnx2");
    assert_int_equal(acu_dtype_bytes(ACU_F4E2M1FNX2), 1);
    assert_int_equal(acu_dtype_bytes(ACU_TF32), 4);
    assert_int_equal(acu_dtype_kind_of(ACU_F8E8M0FNU), ACU_KIND_FLOAT);
    assert_int_equal(acu_dtype_kind_of(ACU_I64), ACU_KIND_SIGNED);
    assert_int_equal(acu_dtype_kind_of((acu_dtype)-1), ACU_KIND_NONE);
}

static void shapes_are_counted_and_compared(void **state)
{
    (void)state;
    assert_int_equal(acu_shape_elements(ACU_SHAPE(3)), 3);
    assert_int_equal(acu_shape_elements(ACU_SHAPE(2, 3, 4, 5)), 120);
    assert_int_equal(acu_shape_elements(ACU_RANK_0), 1);
    assert_int_equal(acu_shape_elements((acu_shape){.rank = 7}), -1);
    assert_int_equal(acu_shape_elements(ACU_SHAPE(3, 0)), 0);
    assert_int_equal(acu_shape_elements(ACU_SHAPE(3, -1)), -1);
    /* Its strides do not fit. */
    assert_int_equal(acu_shape_elements(ACU_SHAPE(INT64_MAX, 0, 2)), -1);
    assert_int_equal(acu_shape_elements(ACU_SHAPE(INT64_MAX, 2)), -1);
    assert_true(acu_shape_equal(ACU_SHAPE(2, 3), ACU_SHAPE(2, 3)));
    assert_false(acu_shape_equal(ACU_SHAPE(2, 3), ACU_SHAPE(3, 2)));
    assert_false(acu_shape_equal(ACU_SHAPE(2, 3), ACU_SHAPE(2, 3, 1)));
    size_t bytes = 0;
    assert_works(acui_shape_check(ACU_SHAPE(2, 3), ACU_F64, &bytes));
    assert_int_equal(bytes, 48);
    char text[96];
    assert_string_equal(acui_shape_words(ACU_SHAPE(16, 4), text), "[16, 4]");
    assert_string_equal(acui_shape_words((acu_shape){0}, text), "[]");
    const int64_t many = INT64_C(1) << 55; /* a shape with as many digits as bytes allow */
    acui_shape_words(ACU_SHAPE(2, 2, 2, 2, 2, many), text);
    assert_int_equal(strlen(text), 5 + 17 + 5 * 2 + 2);
    acui_shape_words(ACU_SHAPE(many, many, many, many, many, many), text); /* cut off */
    assert_true(strlen(text) < sizeof text);
}

static void a_tensor_lies_dense_over_its_buffer(void **state)
{
    (void)state;
    acu_tensor *t = NULL;
    assert_works(acu_tensor_create(buffer, 64, ACU_F32, ACU_SHAPE(4, 5), &t));
    assert_int_equal(acu_tensor_dtype(t), ACU_F32);
    assert_true(acu_shape_equal(acu_tensor_shape(t), ACU_SHAPE(4, 5)));
    assert_int_equal(acu_tensor_strides(t)[0], 5);
    assert_int_equal(acu_tensor_strides(t)[1], 1);
    assert_int_equal(acu_tensor_elements(t), 20);
    assert_int_equal(acu_tensor_bytes(t), 80);
    assert_true(acu_tensor_dense(t));
    assert_ptr_equal(acu_tensor_buffer(t), buffer);
    assert_ptr_equal(acu_tensor_device(t), device);
    assert_null(acu_tensor_host(t));
    assert_int_equal(acu_tensor_address(t), acu_buffer_address(buffer) + 64);
    uint64_t begin = acui_tensor_extent(t).begin, end = acui_tensor_extent(t).end;
    assert_int_equal(begin, 64);
    assert_int_equal(end, 144);
    char text[96];
    assert_string_equal(acui_tensor_words(t, text), "f32 [4, 5]");
    acu_tensor_release(acu_tensor_retain(t));
    acu_tensor_release(t);
    assert_fails(acu_tensor_slice(t, NULL, NULL, &t), ACU_ERR_BAD_HANDLE, "tensor was released");
}

static void strides_are_checked_and_kept(void **state)
{
    (void)state;
    acu_tensor *t = NULL;
    const int64_t columns[] = {1, 4};
    assert_works(acu_tensor_create_strided(buffer, 0, ACU_F32, ACU_SHAPE(4, 5), columns, &t));
    assert_false(acu_tensor_dense(t));
    uint64_t begin = acui_tensor_extent(t).begin, end = acui_tensor_extent(t).end;
    assert_int_equal(end - begin, 80);
    acu_tensor_release(t);
    const int64_t rows[] = {64, 1}; /* the last row ends where the buffer does */
    assert_works(acu_tensor_create_strided(buffer, 0, ACU_F32, ACU_SHAPE(4, 64), rows, &t));
    assert_true(acu_tensor_dense(t));
    acu_tensor_release(t);
    const int64_t any[] = {12345, 1}; /* the stride of a dimension with one row does not matter */
    assert_works(acu_tensor_create_strided(buffer, 0, ACU_F32, ACU_SHAPE(1, 256), any, &t));
    assert_true(acu_tensor_dense(t));
    acu_tensor_release(t);
    t = NULL;
    const int64_t far[] = {65, 1}, negative[] = {5, -1}, huge[] = {INT64_MAX, 1};
    assert_fails(acu_tensor_create_strided(buffer, 0, ACU_F32, ACU_SHAPE(4, 64), far, &t),
                 ACU_ERR_LIMIT, "f32 [4, 64]|1024 bytes");
    assert_fails(acu_tensor_create_strided(buffer, 0, ACU_F32, ACU_SHAPE(2, 2), negative, &t),
                 ACU_ERR_SHAPE, "dimension 1 is -1");
    assert_fails(acu_tensor_create_strided(buffer, 0, ACU_F32, ACU_SHAPE(3, 2), huge, &t),
                 ACU_ERR_LIMIT, "f32 [3, 2]|more bytes than 64 bits count");
    assert_fails(acu_tensor_create_strided(buffer, 0, ACU_F32, ACU_SHAPE(2), NULL, &t),
                 ACU_ERR_INVALID, "strides are NULL");
    assert_null(t);
}

static void wrong_tensors_are_refused(void **state)
{
    (void)state;
    acu_tensor *t = NULL;
    assert_fails(acu_tensor_create(buffer, 0, ACU_NO_DTYPE, ACU_SHAPE(4), &t), ACU_ERR_DTYPE,
                 "0 is no element type");
    assert_fails(acu_tensor_create(buffer, 0, ACU_F32, (acu_shape){.rank = 7}, &t), ACU_ERR_SHAPE,
                 "0 to 6 dimensions|has 7");
    assert_fails(acu_tensor_create(buffer, 0, ACU_F32, ACU_SHAPE(4, -1), &t), ACU_ERR_SHAPE,
                 "[4, -1]|dimension 1 has -1 elements");
    assert_fails(acu_tensor_create(buffer, 1028, ACU_F32, ACU_SHAPE(0), &t), ACU_ERR_LIMIT,
                 "f32 [0], 0 bytes from byte 1028 on");
    assert_fails(acu_tensor_create(buffer, 0, ACU_F32, ACU_SHAPE(INT64_MAX), &t), ACU_ERR_SHAPE,
                 "64 bits");
    assert_fails(acu_tensor_create(buffer, 0, ACU_F32, ACU_SHAPE(257), &t), ACU_ERR_LIMIT,
                 "f32 [257], 1028 bytes from byte 0 on|1024 bytes");
    assert_fails(acu_tensor_create(buffer, 1024, ACU_F32, ACU_SHAPE(1), &t), ACU_ERR_LIMIT,
                 "from byte 1024");
    assert_fails(acu_tensor_create(buffer, SIZE_MAX - 3, ACU_F32, ACU_SHAPE(1), &t), ACU_ERR_LIMIT,
                 "does not fit");
    assert_fails(acu_tensor_create(buffer, 2, ACU_F32, ACU_SHAPE(1), &t), ACU_ERR_INVALID,
                 "byte 2|4 bytes");
    assert_fails(acu_tensor_create(buffer, 0, ACU_F32, ACU_SHAPE(1), NULL), ACU_ERR_INVALID,
                 "nowhere");
    assert_fails(acu_tensor_create((acu_buffer *)device, 0, ACU_F32, ACU_SHAPE(1), &t),
                 ACU_ERR_INVALID, "wants a buffer, got a device");
    assert_null(t);
}

static void slices_share_storage(void **state)
{
    (void)state;
    acu_tensor *t = NULL, *rows = NULL, *column = NULL;
    assert_works(acu_tensor_create(buffer, 0, ACU_U16, ACU_SHAPE(8, 10), &t));
    assert_works(acu_tensor_slice(t, (int64_t[]){2, 0}, (int64_t[]){5, 10}, &rows));
    assert_true(acu_shape_equal(acu_tensor_shape(rows), ACU_SHAPE(3, 10)));
    assert_true(acu_tensor_dense(rows));
    assert_int_equal(acu_tensor_address(rows), acu_tensor_address(t) + 40);
    assert_works(acu_tensor_slice(rows, (int64_t[]){0, 9}, (int64_t[]){3, 10}, &column));
    assert_false(acu_tensor_dense(column));
    assert_int_equal(acu_tensor_bytes(column), 6);
    uint64_t begin = acui_tensor_extent(column).begin, end = acui_tensor_extent(column).end;
    assert_int_equal(begin, 40 + 18);
    assert_int_equal(end, 40 + 18 + 2 * 20 + 2);
    acu_tensor_release(t);
    acu_tensor_release(rows);
    assert_ptr_equal(acu_tensor_buffer(column), buffer);
    acu_tensor_release(column);
}

static void wrong_slices_are_refused(void **state)
{
    (void)state;
    acu_tensor *t = NULL, *view = NULL;
    assert_works(acu_tensor_create(buffer, 0, ACU_U8, ACU_SHAPE(8, 10), &t));
    assert_fails(acu_tensor_slice(t, (int64_t[]){0, 3}, (int64_t[]){8, 11}, &view), ACU_ERR_SHAPE,
                 "from 3 to 11 of dimension 1, which has 10");
    assert_fails(acu_tensor_slice(t, (int64_t[]){4, 0}, (int64_t[]){3, 10}, &view), ACU_ERR_SHAPE,
                 "from 4 to 3 of dimension 0");
    assert_fails(acu_tensor_slice(t, (int64_t[]){-1, 0}, (int64_t[]){4, 10}, &view), ACU_ERR_SHAPE,
                 "from -1");
    assert_fails(acu_tensor_slice(t, NULL, (int64_t[]){4, 10}, &view), ACU_ERR_INVALID, "start");
    assert_null(view);
    acu_tensor_release(t);
}

static void reshaping_needs_as_many_elements_and_no_gaps(void **state)
{
    (void)state;
    acu_tensor *t = NULL, *view = NULL, *part = NULL;
    assert_works(acu_tensor_create(buffer, 8, ACU_U8, ACU_SHAPE(8, 10), &t));
    assert_works(acu_tensor_reshape(t, ACU_SHAPE(2, 4, 5, 2), &view));
    assert_int_equal(acu_tensor_strides(view)[0], 40);
    assert_int_equal(acu_tensor_address(view), acu_tensor_address(t));
    acu_tensor_release(view);
    view = NULL;
    assert_fails(acu_tensor_reshape(t, ACU_SHAPE(81), &view), ACU_ERR_SHAPE,
                 "[8, 10] has 80 elements, [81] has 81");
    assert_works(acu_tensor_slice(t, (int64_t[]){0, 0}, (int64_t[]){8, 5}, &part));
    assert_fails(acu_tensor_reshape(part, ACU_SHAPE(40), &view), ACU_ERR_SHAPE, "u8 [8, 5]|gaps");
    assert_null(view);
    acu_tensor_release(part);
    acu_tensor_release(t);
}

static void storage_is_made_with_the_tensor(void **state)
{
    (void)state;
    acu_tensor *t = NULL;
    assert_works(acu_tensor_alloc(device, ACU_F64, ACU_SHAPE(3, 3), &t));
    assert_int_equal(acu_buffer_bytes(acu_tensor_buffer(t)), 72);
    assert_true(acui_tensor_sole(t));
    acu_tensor_release(t);
    assert_works(acu_tensor_alloc_pinned(device, ACU_I32, ACU_SHAPE(100), &t));
    int32_t *host = acu_tensor_host(t);
    assert_non_null(host);
    host[99] = 1;
    acu_tensor *last = NULL;
    assert_works(acu_tensor_slice(t, (int64_t[]){99}, (int64_t[]){100}, &last));
    assert_ptr_equal(acu_tensor_host(last), host + 99);
    acu_tensor_release(last);
    acu_tensor_release(t);
    assert_works(acui_tensor_planned(device, ACU_I32, ACU_SHAPE(100), &t));
    assert_int_equal(acu_tensor_address(t), 0);
    acu_tensor_release(t);
    t = NULL;
    assert_fails(acu_tensor_alloc(device, ACU_F64, ACU_SHAPE(1), NULL), ACU_ERR_INVALID, "nowhere");
    assert_null(t);
}

static void sole_ownership_counts_handles_and_views(void **state)
{
    (void)state;
    acu_tensor *t = NULL, *view = NULL;
    assert_works(acu_tensor_alloc(device, ACU_F32, ACU_SHAPE(4), &t));
    assert_true(acui_tensor_sole(t));
    acu_tensor_retain(t);
    assert_false(acui_tensor_sole(t));
    acu_tensor_release(t);
    assert_works(acu_tensor_reshape(t, ACU_SHAPE(2, 2), &view));
    assert_false(acui_tensor_sole(t));
    atomic_fetch_add(&acu_tensor_buffer(t)->lent, 1); /* a view lent to a callback does not count */
    assert_true(acui_tensor_sole(t));
    atomic_fetch_sub(&acu_tensor_buffer(t)->lent, 1);
    acu_tensor_release(view);
    assert_true(acui_tensor_sole(t));
    acu_tensor_release(t);
}

/* However many others were released before. */
static void what_was_released_is_known_for_some_tens_of_others(void **state)
{
    (void)state;
    acu_tensor *t = NULL, *other = NULL;
    for (int round = 0; round < 10; round++) {
        assert_works(acu_tensor_create(buffer, 0, ACU_F32, ACU_SHAPE(4), &t));
        acu_tensor_release(t);
        for (int i = 0; i < 30; i++) {
            assert_works(acu_tensor_create(buffer, 0, ACU_F32, ACU_SHAPE(4), &other));
            acu_tensor_release(other);
            assert_ptr_not_equal(other, t);
        }
        assert_fails(acu_tensor_flatten(t, &other), ACU_ERR_BAD_HANDLE, "tensor was released");
    }
}

static void facts_of_nothing_are_nothing(void **state)
{
    (void)state;
    assert_int_equal(acu_tensor_dtype(NULL), ACU_NO_DTYPE);
    assert_int_equal(acu_tensor_shape(NULL).rank, 0);
    assert_null(acu_tensor_strides(NULL));
    assert_int_equal(acu_tensor_elements(NULL), 0);
    assert_int_equal(acu_tensor_bytes(NULL), 0);
    assert_false(acu_tensor_dense(NULL));
    assert_null(acu_tensor_buffer(NULL));
    assert_null(acu_tensor_device(NULL));
    assert_null(acu_tensor_host(NULL));
    assert_int_equal(acu_tensor_address(NULL), 0);
    acu_tensor_release(NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(element_types_have_names_and_sizes),
        TEST(shapes_are_counted_and_compared),
        TEST(a_tensor_lies_dense_over_its_buffer),
        TEST(strides_are_checked_and_kept),
        TEST(wrong_tensors_are_refused),
        TEST(slices_share_storage),
        TEST(wrong_slices_are_refused),
        TEST(reshaping_needs_as_many_elements_and_no_gaps),
        TEST(storage_is_made_with_the_tensor),
        TEST(sole_ownership_counts_handles_and_views),
        TEST(what_was_released_is_known_for_some_tens_of_others),
        TEST(facts_of_nothing_are_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
