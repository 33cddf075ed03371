/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Tensors without elements, and without dimensions: what they are, copies, launches and graphs with
 * them. The operations of ops/ are compared with NumPy's (tests/ops/numpy/check_empty.py).
 */
#include "support/support.h"

#include "support/one_device.h"

#include <acuda/graph.h>
#include <acuda/ops.h>

extern const char test_empty_ptx[];

enum { N = 5 };

static void has_shape(const acu_tensor *t, acu_shape shape)
{
    assert_true(acu_shape_equal(acu_tensor_shape(t), shape));
    assert_int_equal(acu_tensor_elements(t), acu_shape_elements(shape));
    assert_true(acu_tensor_dense(t) && acu_tensor_writable(t));
}

static void reads(acu_op *op, const int *want, acu_shape shape)
{
    acu_tensor *t = NULL;
    int have[N] = {0};
    size_t bytes = (size_t)acu_shape_elements(shape) * sizeof *have;
    assert_works(acu_sync(device, op, &t));
    has_shape(t, shape);
    assert_works(acu_read_sync(t, bytes ? have : NULL, bytes));
    assert_memory_equal(have, want, bytes);
    acu_tensor_release(t);
}

static acu_tensor *numbers(void)
{
    const int from[N] = {1, 2, 3, 4, 5};
    acu_tensor *t = NULL;
    assert_works(acu_tensor_alloc(device, ACU_I32, ACU_SHAPE(N), &t));
    assert_works(acu_write_sync(t, from, sizeof from));
    return t;
}

static void places(void **state)
{
    (void)state;
    acu_tensor *t = NULL, *host = NULL, *end = NULL, *again = NULL, *all = numbers();
    assert_works(acu_tensor_alloc(device, ACU_F64, ACU_SHAPE(3, 0, 2), &t));
    has_shape(t, ACU_SHAPE(3, 0, 2));
    assert_int_equal(acu_tensor_bytes(t), 0);
    assert_int_equal(acu_tensor_strides(t)[0], 2);
    assert_true(acu_tensor_address(t) != 0);
    assert_works(acu_write_sync(t, NULL, 0));
    assert_works(acu_read_sync(t, NULL, 0));
    assert_fails(acu_read_sync(t, NULL, 8), ACU_ERR_INVALID, "memory is NULL");
    assert_works(acu_tensor_alloc_pinned(device, ACU_F64, ACU_SHAPE(0), &host));
    assert_non_null(acu_tensor_host(host));
    assert_works(acu_tensor_create(acu_tensor_buffer(all), N * 4, ACU_I32, ACU_SHAPE(0), &end));
    assert_works(acu_tensor_slice(all, (int64_t[]){N}, (int64_t[]){N}, &again));
    has_shape(again, ACU_SHAPE(0));
    acu_tensor *const made[] = {t, host, end, again, all};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        acu_tensor_release(made[i]);
}

static void one_number(void **state)
{
    (void)state;
    acu_tensor *t = NULL, *all = numbers(), *row = NULL;
    const int seven = 7, three = 3;
    assert_works(acu_tensor_alloc(device, ACU_I32, ACU_RANK_0, &t));
    has_shape(t, ACU_RANK_0);
    assert_int_equal(acu_tensor_bytes(t), 4);
    assert_works(acu_sync(device, acu_fill(t, acu_i32(7)), NULL));
    reads(acu_dup(t), &seven, ACU_RANK_0);
    reads(acu_full(ACU_RANK_0, acu_i32(7)), &seven, ACU_RANK_0);
    reads(acu_const(ACU_I32, ACU_RANK_0, &seven), &seven, ACU_RANK_0);
    reads(acu_reshape(t, ACU_SHAPE(1, 1)), &seven, ACU_SHAPE(1, 1));
    reads(acu_unsqueeze(t, 0), &seven, ACU_SHAPE(1));
    reads(acu_flatten(t), &seven, ACU_SHAPE(1));
    reads(acu_dup(acu_op_permute(acu_value(t), NULL, 0, ACU_SITE)), &seven, ACU_RANK_0);
    assert_works(acu_tensor_select(all, 0, 2, &row));
    reads(acu_dup(row), &three, ACU_RANK_0);
    reads(acu_add(row, acu_sub(all, all)), (const int[]){3, 3, 3, 3, 3}, ACU_SHAPE(N));
    assert_fails(acu_sync(device, acu_partition(t, ACU_RANK_0), NULL), ACU_ERR_SHAPE,
                 "i32 [] has no dimension");
    acu_tensor_release(row);
    acu_tensor_release(all);
    acu_tensor_release(t);
}

static void copies(void **state)
{
    (void)state;
    const acu_shape shape = ACU_SHAPE(2, 0);
    acu_tensor *t = NULL, *host = NULL, *all = numbers();
    assert_works(acu_sync(device, acu_zeros(ACU_I32, shape), &t));
    reads(acu_const(ACU_I32, shape, NULL), NULL, shape);
    reads(acu_dup(acu_transpose(t, 0, 1)), NULL, ACU_SHAPE(0, 2));
    reads(acu_copy(t, acu_ones(ACU_I32, shape)), NULL, shape);
    reads(acu_to_host(t), NULL, shape);
    reads(acu_to_device(device, acu_to_host(t)), NULL, shape);
    assert_works(acu_tensor_alloc_pinned(device, ACU_I32, shape, &host));
    acu_tensor *const to[] = {t, host, t, host}, *const from[] = {host, t, host, t};
    assert_works(acu_sync(device, acu_copy_many(to, from, 4), NULL));
    assert_fails(acu_sync(device, acu_copy(t, acu_ones(ACU_I32, ACU_SHAPE(0, 2))), NULL),
                 ACU_ERR_SHAPE, "shapes differ");
    /* Onto the empty end of a tensor, which is in use by others. */
    acu_op *end = acu_slice(all, ACU_SHAPE(N), ACU_SHAPE(N));
    reads(acu_zip(acu_identity(all), acu_copy(end, acu_slice(all, ACU_SHAPE(1), ACU_SHAPE(1)))),
          (const int[]){1, 2, 3, 4, 5}, ACU_SHAPE(N));
    acu_tensor_release(all);
    acu_tensor_release(host);
    acu_tensor_release(t);
}

static void launches(void **state)
{
    (void)state;
    acu_module *module = test_load_ptx(device, NULL, test_empty_ptx);
    acu_kernel *touch = NULL, *tiles = NULL;
    acu_tensor *all = numbers();
    acu_op *nothing[2];
    assert_works(acu_kernel_get(module, "touch", &touch));
    assert_works(acu_kernel_get(module, "tiles", &tiles));
    const int still[] = {1, 2, 3, 4, 5};
    reads(acu_launch(touch, acu_for_num_elems(0), acu_out(acu_sub(all, 0)), acu_i32(0)), still,
          ACU_SHAPE(N));
    assert_fails(acu_sync(device, acu_launch(touch, acu_for_num_elems(0), acu_out(all)), NULL),
                 ACU_ERR_ARGUMENTS, "touch takes 2");
    acu_op *empty = acu_partition(acu_zeros(ACU_I32, ACU_SHAPE(3, 0)), ACU_SHAPE(3, 3));
    acu_unzip(acu_launch(tiles, ACU_AUTO, acu_out(empty)), nothing, 1);
    reads(acu_unpartition(nothing[0]), NULL, ACU_SHAPE(3, 0));
    empty = acu_partition_mapped(acu_zeros(ACU_I32, ACU_SHAPE(0, 4)), ACU_SHAPE(1, 3), 0);
    reads(acu_unpartition(acu_launch(tiles, ACU_AUTO, acu_out(empty))), NULL, ACU_SHAPE(0, 4));
    acu_op *full = acu_partition(acu_reshape(acu_sub(all, 0), ACU_SHAPE(1, N)), ACU_SHAPE(1, 3));
    assert_fails(acu_sync(device, acu_launch(tiles, acu_for_num_elems(0), acu_out(full)), NULL),
                 ACU_ERR_SHAPE, "2x1x1 tiles");
    acu_tensor_release(all);
    acu_kernel_release(tiles);
    acu_kernel_release(touch);
    acu_module_release(module);
}

/* What writes nothing fails nobody: the sum is of what is there, in every replay. */
static void graphs(void **state)
{
    (void)state;
    acu_tensor *none = NULL, *all = numbers();
    acu_graph *graph = NULL;
    assert_works(acu_tensor_alloc(device, ACU_I32, ACU_SHAPE(0), &none));
    acu_op *sum = acu_add(acu_sum(acu_add(none, 1), ACU_ALL), acu_sum(all, ACU_ALL));
    assert_works(acu_graph_load(device, acu_convert(sum, ACU_I32), NULL, &graph));
    for (int i = 0; i < 3; i++)
        reads(acu_replay(graph), (const int[]){15}, ACU_SHAPE(1));
    acu_graph_release(graph);
    for (int i = 0; i < 5; i++) /* from the third on, cached graphs may serve it */
        reads(acu_convert(acu_add(acu_sum(acu_add(none, 1), ACU_ALL), acu_sum(all, ACU_ALL)),
                          ACU_I32), (const int[]){15}, ACU_SHAPE(1));
    assert_fails(acu_graph_load(device, acu_copy(none, none), NULL, &graph), ACU_ERR_INVALID,
                 "nothing to run");
    acu_tensor_release(all);
    acu_tensor_release(none);
}

/* What an empty tensor was made of failed; so did it. */
static void failures_go_on(void **state)
{
    (void)state;
    acu_value_info info;
    size_t count = 0;
    acu_op *op = acu_exp(acu_zeros(ACU_F32, ACU_SHAPE(4, 0)));
    assert_works(acu_op_describe(device, op, &info, 1, &count));
    assert_true(count == 1 && acu_shape_equal(info.shape, ACU_SHAPE(4, 0)));
    acu_op_release(op);
    assert_fails(acu_sync(device, acu_exp(acu_zeros(ACU_I32, ACU_SHAPE(0))), NULL), ACU_ERR_DTYPE,
                 "exp takes floating point");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(places), DEVICE_TEST(one_number), DEVICE_TEST(copies),
        DEVICE_TEST(launches), DEVICE_TEST(graphs), DEVICE_TEST(failures_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
