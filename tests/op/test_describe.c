/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What ops would yield, found without submitting them: the description is what a submission then
 * gives, and refusals have the same messages.
 */
#include "support/one_device.h"

#include <stdio.h>

extern const char test_describe_ptx[];

static acu_kernel *both;

static int setup(void **state)
{
    device_setup(state);
    both = test_kernel(device, test_describe_ptx, "both");
    return 0;
}

static int teardown(void **state)
{
    acu_kernel_release(both);
    return device_teardown(state);
}

enum { MOST = 8 };

typedef struct seen {
    acu_value_info infos[MOST];
    size_t count;
} seen;

static void look(void *user, const acu_val *values, size_t count)
{
    seen *s = user;
    assert_true(count <= MOST);
    s->count = count;
    for (size_t i = 0; i < count; i++) {
        acu_value_info *info = &s->infos[i];
        *info = (acu_value_info){.kind = values[i].kind, .form = values[i].form};
        if (values[i].kind == ACU_SCALAR)
            info->dtype = values[i].dtype;
        if (!values[i].tensor)
            continue;
        info->dtype = acu_tensor_dtype(values[i].tensor);
        info->shape = acu_tensor_shape(values[i].tensor);
        memcpy(info->strides, acu_tensor_strides(values[i].tensor),
               (size_t)info->shape.rank * sizeof(int64_t));
        info->memory = acu_buffer_kind(acu_tensor_buffer(values[i].tensor));
        info->ordinal = acu_device_info_of(device)->ordinal;
        if (values[i].kind == ACU_PARTITION) {
            info->tile = values[i].tile;
            info->mode = values[i].mode;
        }
    }
}

/* Describes the op twice, then submits it and compares. */
static void said_is_done(acu_op *op)
{
    acu_value_info infos[MOST], again[MOST];
    size_t count = 0, second = 0;
    seen s = {.count = 0};
    op = acu_inspect(op, look, &s);
    size_t tensors = acu_debug_live(ACU_OBJECT_TENSOR), buffers = acu_debug_live(ACU_OBJECT_BUFFER);
    memset(infos, 0, sizeof infos);
    memset(again, 0, sizeof again);
    assert_works(acu_op_describe(device, op, infos, MOST, &count));
    assert_works(acu_op_describe(device, op, again, MOST, &second));
    assert_int_equal(acu_debug_live(ACU_OBJECT_TENSOR), tensors);
    assert_int_equal(acu_debug_live(ACU_OBJECT_BUFFER), buffers);
    assert_int_equal(s.count, 0); /* nothing of it ran */
    assert_works(acu_sync(device, op, NULL));
    assert_int_equal(count, s.count);
    assert_int_equal(second, count);
    for (size_t i = 0; i < count; i++) {
        assert_memory_equal(&infos[i], &s.infos[i], sizeof infos[i]);
        assert_memory_equal(&infos[i], &again[i], sizeof infos[i]);
    }
}

static acu_op *numbers(int64_t n)
{
    return acu_zeros(ACU_I64, ACU_SHAPE(n));
}

static void what_is_said_is_what_comes(void **state)
{
    (void)state;
    acu_tensor *t = NULL, *host = NULL;
    assert_works(acu_sync(device, acu_zeros(ACU_F32, ACU_SHAPE(4, 6)), &t));
    assert_works(acu_tensor_alloc_pinned(device, ACU_F32, ACU_SHAPE(4, 6), &host));
    said_is_done(acu_value(t));
    said_is_done(acu_full(ACU_SHAPE(3), acu_f16_bits(1)));
    said_is_done(acu_or_else(acu_reshape(numbers(6), ACU_SHAPE(5)), numbers(4)));
    said_is_done(acu_or_else(numbers(4), numbers(4)));
    said_is_done(acu_const(ACU_U8, ACU_SHAPE(2), "ab"));
    said_is_done(acu_zip(acu_value(t), acu_scalar(acu_u16(3)), numbers(5)));
    said_is_done(acu_last(acu_zip(acu_value(t), numbers(5))));
    said_is_done(acu_share(numbers(5)));
    said_is_done(acu_own(acu_share(numbers(5))));
    said_is_done(acu_transpose(acu_slice(t, ACU_SHAPE(1, 0), ACU_SHAPE(3, 6)), 0, 1));
    said_is_done(acu_reinterpret(
        acu_flatten(acu_broadcast_to(acu_select(t, 0, 1), ACU_SHAPE(1, 6))), ACU_U8));
    said_is_done(acu_squeeze(acu_unsqueeze(acu_permute(t, 1, 0), 0), 0));
    said_is_done(acu_partition(t, ACU_SHAPE(2, 4)));
    said_is_done(acu_unpartition(acu_partition_mapped(acu_flatten(numbers(5)), ACU_SHAPE(2), 1)));
    said_is_done(acu_fill(t, acu_f32(1)));
    said_is_done(acu_copy(t, host));
    said_is_done(acu_dup(acu_transpose(t, 0, 1)));
    said_is_done(acu_to_host(t));
    said_is_done(acu_to_device(device, host));
    said_is_done(acu_on(device, acu_finally(acu_after(numbers(3), acu_value(t)), numbers(1))));
    said_is_done(acu_with_context(acu_or_else(numbers(3), numbers(3)), "either"));
    acu_tensor_release(t);
    acu_tensor_release(host);
}

static void launches_are_checked(void **state)
{
    (void)state;
    said_is_done(acu_launch(both, ACU_AUTO,
                            acu_inout(acu_partition_prefix(numbers(10), ACU_SHAPE(2))),
                            acu_inout(acu_partition(numbers(9), ACU_SHAPE(3)))));
    acu_op *x = numbers(10);
    acu_op_retain(x); /* used twice: shared, so it can not be partitioned */
    acu_op *op = acu_launch(both, ACU_AUTO, acu_inout(acu_partition(x, ACU_SHAPE(2))),
                            acu_inout(acu_partition(x, ACU_SHAPE(2))));
    size_t count;
    assert_fails(acu_op_describe(device, op, NULL, 0, &count), ACU_ERR_SHARED,
                 "shared, for reading");
    acu_op_release(op);
}

/* Forms depend on whether anybody else holds the tensor. */
static void ownership_is_judged_alike(void **state)
{
    (void)state;
    acu_tensor *t = NULL, *view = NULL;
    size_t count;
    assert_works(acu_sync(device, numbers(6), &t));
    acu_op *op = acu_partition(acu_flatten(acu_give(acu_tensor_retain(t))), ACU_SHAPE(2));
    assert_fails(acu_op_describe(device, op, NULL, 0, &count), ACU_ERR_SHARED,
                 "another handle or view");
    assert_fails(acu_sync(device, op, NULL), ACU_ERR_SHARED, "another handle or view");
    assert_works(acu_tensor_flatten(t, &view));
    op = acu_own(acu_give(view));
    assert_fails(acu_op_describe(device, op, NULL, 0, &count), ACU_ERR_SHARED, "can not be owned");
    assert_fails(acu_sync(device, op, NULL), ACU_ERR_SHARED, "can not be owned");
    acu_op *parts[2];
    acu_unzip(acu_zip(acu_give(t), numbers(3)), parts, 2);
    said_is_done(acu_zip(acu_own(parts[1]), acu_partition(parts[0], ACU_SHAPE(4))));
}

/* The last of four parts of an op that yields two values, and that was unzipped again after
 * that. */
static acu_op *part_of_too_many(void)
{
    acu_op *parts[4], *again[2], *op = acu_op_retain(acu_zip(numbers(1), numbers(1)));
    acu_unzip(op, parts, 4);
    acu_unzip(op, again, 2);
    for (int i = 0; i < 3; i++)
        acu_op_release(parts[i]);
    for (int i = 0; i < 2; i++)
        acu_op_release(again[i]);
    return parts[3];
}

static void errors_are_those_of_a_submit(void **state)
{
    (void)state;
    acu_value_info info;
    size_t count = 77;
    for (int submitted = 0; submitted < 2; submitted++) {
#define REFUSED(op, status, words)                                                                 \
    do {                                                                                           \
        acu_op *it = (op);                                                                         \
        if (submitted)                                                                             \
            assert_fails(acu_sync(device, it, NULL), (status), (words));                           \
        else {                                                                                     \
            assert_fails(acu_op_describe(device, it, &info, 1, &count), (status), (words));        \
            acu_op_release(it);                                                                    \
        }                                                                                          \
    } while (0)
        REFUSED(acu_zeros(ACU_F32, ACU_SHAPE(-1)), ACU_ERR_SHAPE, "dimension 0 has -1");
        REFUSED(acu_reshape(numbers(6), ACU_SHAPE(4, 2)), ACU_ERR_SHAPE, "[6] has 6 elements");
        REFUSED(acu_copy(numbers(6), numbers(5)), ACU_ERR_SHAPE, "shapes differ");
        REFUSED(part_of_too_many(), ACU_ERR_ARGUMENTS, "4 parts|yields 2");
        REFUSED(acu_finally(numbers(6), acu_reshape(numbers(6), ACU_SHAPE(5))), ACU_ERR_SHAPE,
                "6 elements");
        REFUSED(acu_after(numbers(6), acu_reshape(numbers(6), ACU_SHAPE(5))), ACU_ERR_SHAPE,
                "6 elements");
        REFUSED(acu_or_else(numbers(6), acu_reshape(numbers(6), ACU_SHAPE(5))), ACU_ERR_SHAPE,
                "6 elements");
        REFUSED(acu_or_else(numbers(6), numbers(5)), ACU_ERR_SHAPE, "value 0 of the alternative");
        REFUSED(acu_or_else(numbers(6), acu_zip(numbers(6), numbers(6))), ACU_ERR_ARGUMENTS,
                "yields 2 values");
        REFUSED(acu_or_else(acu_reshape(numbers(6), ACU_SHAPE(5)),
                            acu_copy(numbers(6), numbers(5))),
                ACU_ERR_SHAPE, "shapes differ");
        REFUSED(acu_fill(numbers(6), acu_f32(1)), ACU_ERR_DTYPE, "scalar of f32");
        REFUSED(acu_partition(numbers(6), ACU_SHAPE(2, 2)), ACU_ERR_SHAPE, "tiles of [2, 2]");
        REFUSED(acu_launch(both, ACU_AUTO, acu_inout(acu_partition(numbers(6), ACU_SHAPE(2)))),
                ACU_ERR_ARGUMENTS, "both takes 2 arguments, and got 1");
        REFUSED(acu_launch(both, ACU_BLOCK(4096),
                           acu_inout(acu_partition(numbers(6), ACU_SHAPE(2))),
                           acu_inout(acu_partition(numbers(6), ACU_SHAPE(2)))),
                ACU_ERR_LIMIT, "4096 threads");
        REFUSED(acu_launch(both, ACU_AUTO, acu_inout(acu_partition(numbers(6), ACU_SHAPE(2))),
                           acu_inout(acu_partition(numbers(6), ACU_SHAPE(3)))),
                ACU_ERR_SHAPE, "2x1x1 tiles|grid is 3x1x1");
        REFUSED(acu_dup(acu_zip(numbers(1), numbers(2))), ACU_ERR_ARGUMENTS, "yields 2");
        REFUSED(acu_nth(numbers(1), 3), ACU_ERR_ARGUMENTS, "no value 3: the op yields 1");
        REFUSED(acu_to_host(acu_to_host(numbers(1))), ACU_ERR_NOT_SUPPORTED,
                "in host memory already");
    }
    assert_int_equal(count, 77);
}

static acu_op *next(void *user, acu_val *values, size_t count)
{
    (void)user, (void)count;
    return acu_take(&values[0]);
}

static acu_op *widen(acu_planning *planning)
{
    acu_tensor *t = planning->values[0].tensor;
    return acu_zip(acu_take(&planning->values[0]),
                   acu_zeros(ACU_F64, acu_tensor_shape(t)));
}

static void pools_of_another_device_are_refused(void **state)
{
    (void)state;
    acu_open_options options = test_options(1);
    acu_value_info info;
    acu_device *other;
    acu_pool *pool;
    size_t count;
    int devices;
    assert_works(acu_device_count_load(&options, &devices));
    if (devices < 2)
        skip();
    assert_works(acu_open(&options, &other));
    assert_works(acu_pool_create(other, NULL, &pool));
    acu_op *op = acu_with_pool(pool, acu_zeros(ACU_F32, ACU_SHAPE(4)));
    assert_fails(acu_op_describe(device, op, &info, 1, &count), ACU_ERR_DEVICE, "a pool of device 1");
    assert_works(acu_op_describe(other, op, &info, 1, &count));
    assert_fails(acu_sync(device, op, NULL), ACU_ERR_DEVICE, "a pool of device 1");
    acu_pool_release(pool);
    test_close(other);
}

static void custom_ops_are_described_and_then_is_not(void **state)
{
    (void)state;
    acu_value_info info;
    size_t count;
    acu_op *x = numbers(7);
    said_is_done(acu_op_custom((acu_custom){.name = "widen", .fn = widen}, &x, 1, ACU_SITE));
    said_is_done(acu_add(acu_zeros(ACU_F32, ACU_SHAPE(3, 1)), acu_ones(ACU_F32, ACU_SHAPE(4))));
    assert_fails(acu_op_describe(device, x = acu_add(numbers(2), numbers(3)), &info, 1, &count),
                 ACU_ERR_SHAPE, "[2]|[3]");
    acu_op_release(x);
    acu_op *op = acu_then(numbers(7), next, NULL);
    assert_fails(acu_op_describe(device, op, &info, 1, &count), ACU_ERR_NOT_SUPPORTED,
                 "what then yields is known once it is submitted");
    assert_works(acu_sync(device, op, NULL));
}

static void meta_tensors_are_described_and_not_run(void **state)
{
    (void)state;
    acu_value_info info;
    size_t count;
    acu_op *op = acu_transpose(acu_meta(ACU_BF16, ACU_SHAPE(1 << 20, 1 << 20)), 0, 1);
    op = acu_reshape(acu_slice(op, ACU_SHAPE(0, 0), ACU_SHAPE(3, 1 << 20)),
                     ACU_SHAPE(3, 1 << 10, 1 << 10));
    assert_works(acu_op_describe(device, op, &info, 1, &count));
    assert_int_equal(count, 1);
    assert_int_equal(info.dtype, ACU_BF16);
    assert_true(acu_shape_equal(info.shape, ACU_SHAPE(3, 1 << 10, 1 << 10)));
    assert_int_equal(info.form, ACU_OWNED);
    assert_fails(acu_sync(device, op, NULL), ACU_ERR_INVALID,
                 "a meta tensor (bf16 [1048576, 1048576]) has no memory");
    op = acu_meta(ACU_F32, ACU_SHAPE(-1));
    assert_fails(acu_op_describe(device, op, &info, 1, &count), ACU_ERR_SHAPE, "dimension 0");
    acu_op_release(op);
}

/* Ops with two users each, over as many tensors. */
static void thousands_of_ops(void **state)
{
    (void)state;
    enum { MANY = 3000 };
    static acu_value_info infos[2 * MANY];
    static acu_tensor *tensors[MANY];
    static acu_op *ops[2 * MANY];
    static char text[1 << 20];
    size_t count, needed;
    for (int i = 0; i < MANY; i++) {
        assert_works(acu_tensor_alloc(device, ACU_U8, ACU_SHAPE(i + 1), &tensors[i]));
        ops[i] = acu_flatten(tensors[i]);
        ops[2 * MANY - 1 - i] = acu_op_retain(ops[i]);
    }
    acu_op *all = acu_op_zip(ops, 2 * MANY, ACU_SITE);
    assert_works(acu_op_describe(device, all, infos, 2 * MANY, &count));
    assert_int_equal(count, 2 * MANY);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(infos[i].shape.dim[0], i + 1);
        assert_int_equal(infos[2 * MANY - 1 - i].shape.dim[0], i + 1);
        assert_int_equal(infos[i].form, ACU_BORROWED);
    }
    assert_works(acu_explain_op(all, ACU_EXPLAIN_TEXT, text, sizeof text, &needed));
    assert_int_equal(strlen(text) + 1, needed);
    assert_non_null(strstr(text, ", 2999, 3000, 3000, 2999, "));
    assert_non_null(strstr(text, "\n6000 value u8 [3000]"));
    assert_works(acu_sync(device, all, NULL));
    for (int i = 0; i < MANY; i++)
        acu_tensor_release(tensors[i]);
}

static void bad_questions_are_refused(void **state)
{
    (void)state;
    acu_value_info info;
    size_t count;
    acu_op *x = numbers(3), *y = acu_op_retain(x);
    assert_fails(acu_op_describe(device, NULL, &info, 1, &count), ACU_ERR_INVALID,
                 "acu_op_describe");
    assert_fails(acu_op_describe(device, x, &info, 1, NULL), ACU_ERR_INVALID,
                 "their number is NULL");
    assert_fails(acu_op_describe(device, x, NULL, 1, &count), ACU_ERR_INVALID,
                 "place for the values");
    assert_works(acu_sync(device, x, NULL));
    assert_fails(acu_op_describe(device, y, &info, 1, &count), ACU_ERR_INVALID,
                 "was submitted before");
    acu_op_release(y);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(what_is_said_is_what_comes),
        TEST(launches_are_checked),
        TEST(ownership_is_judged_alike),
        TEST(errors_are_those_of_a_submit),
        TEST(pools_of_another_device_are_refused),
        TEST(custom_ops_are_described_and_then_is_not),
        TEST(meta_tensors_are_described_and_not_run),
        TEST(thousands_of_ops),
        TEST(bad_questions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
