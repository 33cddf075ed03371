/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Wrong use, refused in words: each row of docs/refusals.md is provoked here, and the last test
 * finds rows without a test and tests without a row.
 */
#include "support/support.h"

#include "kernel/cubins.h"

#include <acuda/acuda.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>
#include <stdio.h>

extern const char test_refusals_ptx[];

static char seen[160][8];
static size_t seen_count;

/* The code that follows tests this row. */
static void row(const char *key)
{
    snprintf(seen[seen_count++], sizeof seen[0], "%s", key);
}

typedef struct bench {
    acu_device *device;
    acu_kernel *scale, *tiled;
    acu_tensor *x; /* f32 [4, 4] */
} bench;

static bench open_bench(void)
{
    bench b = {.device = test_open()};
    b.scale = test_kernel(b.device, test_refusals_ptx, "scale");
    b.tiled = test_kernel(b.device, test_refusals_ptx, "tiled");
    assert_works(acu_tensor_alloc(b.device, ACU_F32, ACU_SHAPE(4, 4), &b.x));
    assert_works(acu_sync(b.device, acu_fill(b.x, acu_f32(1)), NULL));
    return b;
}

static void close_bench(bench *b)
{
    acu_tensor_release(b->x);
    acu_kernel_release(b->scale);
    acu_kernel_release(b->tiled);
    test_close(b->device);
    test_leaks_none();
}

/* Submitting the op fails with this status and these words, and names this file. */
#define REFUSED(b, op, status, words)                                                              \
    do {                                                                                           \
        acu_future *none_ = NULL;                                                                  \
        assert_fails(acu_submit((b).device, (op), NULL, &none_), (status), (words));               \
        assert_null(none_);                                                                        \
        assert_non_null(acu_last_error()->file);                                                   \
        assert_non_null(strstr(acu_last_error()->file, "test_refusals.c"));                        \
    } while (0)

#define ONE(b) acu_for_num_elems(16)

/* None becomes a grid of one block, or a block of one thread. */
static void launches_of_sizes_that_wrap(void **state)
{
    (void)state;
    bench b = open_bench();
    const int64_t beyond[] = {(((int64_t)1 << 32) + 1) * 256, INT64_MAX};
    for (int i = 0; i < 2; i++)
        REFUSED(b, acu_launch(b.scale, acu_for_num_elems(beyond[i]), acu_inout(b.x), acu_f32(2),
                              acu_u32(16)), ACU_ERR_LIMIT, "4294967295 blocks in x");
    const int64_t wraps = ((int64_t)1 << 32) + 1; /* to 1 */
    REFUSED(b, acu_launch(b.scale, ACU_GRID_BLOCK(wraps, 1, 1, 32, 1, 1), acu_inout(b.x),
                          acu_f32(2), acu_u32(16)), ACU_ERR_LIMIT, "4294967295 blocks in x");
    REFUSED(b, acu_launch(b.scale, ACU_GRID_BLOCK(1, 1, -wraps, 32, 1, 1), acu_inout(b.x),
                          acu_f32(2), acu_u32(16)), ACU_ERR_LIMIT, "4294967295 blocks in z");
    REFUSED(b, acu_launch(b.scale, ACU_GRID_BLOCK(1, 1, 1, 1, wraps, 1), acu_inout(b.x),
                          acu_f32(2), acu_u32(16)), ACU_ERR_LIMIT, "4294967295 threads in y");
    acu_config blocks = ACU_BLOCK(1, wraps);
    blocks.grid[0] = 1;
    REFUSED(b, acu_launch(b.scale, blocks, acu_inout(b.x), acu_f32(2), acu_u32(16)), ACU_ERR_LIMIT,
            "4294967295 threads in y");
    close_bench(&b);
}

static void launches(void **state)
{
    (void)state;
    bench b = open_bench();
    row("L1");
    REFUSED(b, acu_launch(b.scale, ONE(b), acu_inout(b.x), acu_f32(2)), ACU_ERR_ARGUMENTS,
            "scale takes 3 arguments|got 2");
    row("L2");
    REFUSED(b, acu_launch(b.scale, ONE(b), acu_inout(b.x), acu_f64(2), acu_u32(16)),
            ACU_ERR_ARGUMENTS, "argument 1|f64|8 bytes|parameter has 4");
    row("L3");
    REFUSED(b, acu_launch(b.scale, ONE(b), acu_inout(b.x), acu_i32(2), acu_u32(16)), ACU_ERR_DTYPE,
            "argument 1|i32|floating point");
    row("L4");
    assert_works(acu_kernel_declare(b.scale, "inout f32, f32, u32"));
    REFUSED(b, acu_launch(b.scale, ONE(b), acu_in(b.x), acu_f32(2), acu_u32(16)),
            ACU_ERR_ARGUMENTS, "argument 0|to read and write|acu_in");
    row("L5");
    REFUSED(b, acu_launch(b.scale, ONE(b), acu_inout(acu_zeros(ACU_I32, ACU_SHAPE(16))), acu_f32(2),
                          acu_u32(16)), ACU_ERR_DTYPE, "argument 0|must be of f32|i32 [16]");
    row("L6");
    REFUSED(b, acu_launch(b.scale, ACU_AUTO, acu_inout(b.x), acu_f32(2), acu_u32(16)),
            ACU_ERR_LIMIT, "scale has no grid|acu_for_num_elems");
    REFUSED(b, acu_launch(b.scale, acu_for_num_elems(-1), acu_inout(b.x), acu_f32(2), acu_u32(16)),
            ACU_ERR_LIMIT, "4294967295 blocks in x");
    row("L7");
    REFUSED(b, acu_launch(b.scale, ACU_GRID_BLOCK(1, 1, 1, 2048, 1, 1), acu_inout(b.x), acu_f32(2),
                          acu_u32(16)), ACU_ERR_LIMIT, "2048|allows 1024");
    REFUSED(b, acu_launch(b.scale, ACU_GRID_BLOCK(1, 1, 1, 64, 64, 1), acu_inout(b.x), acu_f32(2),
                          acu_u32(16)), ACU_ERR_LIMIT, "4096");
    row("L8");
    REFUSED(b, acu_launch(b.scale, ACU_GRID_BLOCK(1, 70000, 1, 1, 1, 1), acu_inout(b.x), acu_f32(2),
                          acu_u32(16)), ACU_ERR_LIMIT, "70000 blocks in y|65535");
    row("L9");
    acu_config greedy = {.grid = {1}, .shared = (size_t)1 << 20};
    REFUSED(b, acu_launch(b.scale, greedy, acu_inout(b.x), acu_f32(2), acu_u32(16)), ACU_ERR_LIMIT,
            "1048576 bytes of dynamic shared memory|at most");
    row("L10");
    acu_config two = ACU_GRID_BLOCK(2, 1, 1, 4, 4, 1);
    REFUSED(b, acu_launch(b.tiled, two, acu_out(acu_partition(b.x, ACU_SHAPE(2, 2)))),
            ACU_ERR_SHAPE, "2x2x1 tiles|grid is 2x1x1");
    row("L11");
    acu_tensor *same = b.x;
    acu_kernel *update = b.scale;
    (void)update;
    REFUSED(b, acu_foreign(NULL, NULL, acu_out(same)), ACU_ERR_INVALID, "NULL|function");
    row("L12");
    char large[5000] = {0};
    REFUSED(b, acu_launch(b.scale, ONE(b), acu_arg_struct(large, sizeof large)), ACU_ERR_ARGUMENTS,
            "argument 0|4096 bytes, not 5000");
    row("L13");
    REFUSED(b, acu_launch(b.scale, ONE(b), acu_inout(acu_zip(acu_value(b.x), acu_value(b.x))),
                          acu_f32(2), acu_u32(16)), ACU_ERR_ARGUMENTS,
            "argument 0 must be one value|zip|yields 2|acu_first");
    close_bench(&b);
}

/* What is declared to be written takes what reads and writes, but not what only reads. */
static void what_is_declared_to_be_written(void **state)
{
    (void)state;
    bench b = open_bench();
    assert_works(acu_kernel_declare(b.scale, "out f32, f32, u32"));
    REFUSED(b, acu_launch(b.scale, ONE(b), acu_in(b.x), acu_f32(2), acu_u32(16)),
            ACU_ERR_ARGUMENTS, "argument 0|to write|acu_in");
    assert_works(acu_sync(b.device,
                          acu_launch(b.scale, ONE(b), acu_inout(b.x), acu_f32(2), acu_u32(16)),
                          NULL));
    close_bench(&b);
}

static acu_status no_call(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)user, (void)stream, (void)values, (void)count;
    return ACU_OK;
}

static acu_status no_host_call(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_OK;
}

static acu_status set_no_dtype(void *user, acu_val *values, size_t count)
{
    (void)count;
    acu_val_set_scalar(&values[0], *(acu_arg *)user);
    return ACU_OK;
}

/* A dtype that does not exist, wherever a scalar is taken: it would be the dtype of a result. */
static void scalars_of_no_dtype(void **state)
{
    (void)state;
    bench b = open_bench();
    const int none[] = {255, ACU_DTYPE_COUNT, ACU_NO_DTYPE, -1};
    row("L14");
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        acu_arg scalar = acu_arg_scalar((acu_dtype)none[i], 0x4242424242424242);
        char words[64];
        snprintf(words, sizeof words, "%d is no element type", none[i]);
        REFUSED(b, acu_scalar(scalar), ACU_ERR_DTYPE, words);
        REFUSED(b, acu_fill(b.x, scalar), ACU_ERR_DTYPE, words);
        REFUSED(b, acu_full(ACU_SHAPE(4), scalar), ACU_ERR_DTYPE, words);
        REFUSED(b, acu_add(b.x, scalar), ACU_ERR_DTYPE, words);
        REFUSED(b, acu_host(no_host_call, NULL, acu_u32(0), scalar), ACU_ERR_DTYPE, words);
        REFUSED(b, acu_launch(b.scale, ONE(b), acu_inout(b.x), scalar, acu_u32(16)), ACU_ERR_DTYPE,
                words);
        acu_future *f;
        acu_tensor *t;
        assert_works(acu_submit(b.device, acu_map(acu_scalar(acu_f32(1)), set_no_dtype, &scalar),
                                NULL, &f));
        assert_int_equal(acu_future_values(f), 1);
        assert_null(acu_future_tensor(f, 0));
        assert_fails(acu_future_take(f, 0, &t), ACU_ERR_NOT_FOUND, "value 0");
        acu_future_release(f);
    }
    close_bench(&b);
}

static void no_place_for_an_address(void **state)
{
    (void)state;
    bench b = open_bench();
    struct { float *y; int n; } p = {NULL, 16};
    acu_field beyond = {16, b.x, ACU_UPDATE}, between = {4, b.x, ACU_UPDATE};
    acu_struct with[] = {{.size = sizeof(acu_struct),
                          .memory = &p,
                          .bytes = sizeof p,
                          .fields = &beyond,
                          .count = 1},
                         {.size = sizeof(acu_struct),
                          .memory = &p,
                          .bytes = sizeof p,
                          .fields = &between,
                          .count = 1}};
    row("L17");
    REFUSED(b, acu_launch(b.scale, ONE(b), acu_arg_fields(&with[0])), ACU_ERR_ARGUMENTS,
            "field 0 of argument 0|16 bytes|address at byte 16");
    REFUSED(b, acu_launch(b.scale, ONE(b), acu_arg_fields(&with[1])), ACU_ERR_ARGUMENTS,
            "address at byte 4");
    close_bench(&b);
}

/* An argument with such an access would be ordered neither as read nor as written. */
static void no_access(void **state)
{
    (void)state;
    bench b = open_bench();
    const int none[] = {0, 4, 77, -1};
    acu_stream *stream;
    acu_use *use;
    assert_works(acu_stream_create(b.device, 0, &stream));
    row("L15");
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        acu_access access = (acu_access)none[i];
        char words[64];
        snprintf(words, sizeof words, "argument 0: %d is no access", none[i]);
        REFUSED(b, acu_launch(b.scale, ONE(b), acu_arg_tensor(b.x, access), acu_f32(2), acu_u32(1)),
                ACU_ERR_INVALID, words);
        REFUSED(b, acu_foreign(no_call, NULL, acu_arg_op(acu_value(b.x), access), acu_in(b.x)),
                ACU_ERR_INVALID, words);
        REFUSED(b, acu_launch(b.scale, ONE(b), acu_arg_list(&b.x, 1, access)), ACU_ERR_INVALID,
                words);
        assert_fails(acu_use_begin(stream, &use, acu_arg_tensor(b.x, access)), ACU_ERR_INVALID,
                     words);
    }
    acu_stream_release(stream);
    close_bench(&b);
}

/* Otherwise the submit would succeed, and nothing would run. */
static void failures_of_no_error(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_tensor *t = NULL;
    row("L16");
    REFUSED(b, acu_op_fail(ACU_OK, "mine", ACU_SITE, NULL), ACU_ERR_INVALID, "0 (ACU_OK)|no error");
    REFUSED(b, acu_op_fail(ACU_NOT_READY, "mine", ACU_SITE, "hm"), ACU_ERR_INVALID,
            "ACU_NOT_READY|no error");
    REFUSED(b, acu_op_fail((acu_status)3, "mine", ACU_SITE, "hm"), ACU_ERR_INVALID, "3|no error");
    REFUSED(b, acu_op_fail((acu_status)-999, "mine", ACU_SITE, "hm"), (acu_status)-999, "hm");
    /* Without a text, the op has the message of the call that failed, if it has this status. */
    assert_int_equal(acu_tensor_reshape(b.x, ACU_SHAPE(5), &t), ACU_ERR_SHAPE);
    REFUSED(b, acu_op_fail(ACU_ERR_SHAPE, "mine", ACU_SITE, NULL), ACU_ERR_SHAPE, "[4, 4]|[5]");
    REFUSED(b, acu_op_fail(ACU_ERR_IO, "mine", ACU_SITE, NULL), ACU_ERR_IO, "no words");
    assert_string_equal(acu_last_error()->op, "mine");
    close_bench(&b);
}

static void refuse_pageable(const bench *b)
{
    static float own[16];
    acu_buffer *wrapped;
    acu_tensor *pageable;
    assert_works(acu_buffer_wrap_pageable(b->device, own, sizeof own, ACU_USER(NULL), &wrapped));
    assert_works(acu_tensor_create(wrapped, 0, ACU_F32, ACU_SHAPE(4, 4), &pageable));
    REFUSED(*b, acu_launch(b->scale, ONE(*b), acu_inout(pageable), acu_f32(2), acu_u32(16)),
            ACU_ERR_INVALID, "argument 0|f32 [4, 4]|pageable|acu_to_device");
    /* In the program's terms, not in those of acuda's own kernel and its arguments. */
    REFUSED(*b, acu_add(b->x, pageable), ACU_ERR_INVALID,
            "an operand of add (f32 [4, 4])|pageable|acu_to_device");
    assert_string_equal(acu_last_error()->op, "add");
    REFUSED(*b, acu_sum(pageable, ACU_ALL), ACU_ERR_INVALID, "an operand of sum (f32 [4, 4])");
    acu_tensor_release(pageable);
    acu_buffer_release(wrapped);
}

static void data(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_tensor *host, *row0, *upper, *lower;
    assert_works(acu_tensor_alloc_pinned(b.device, ACU_F32, ACU_SHAPE(4, 4), &host));
    assert_works(acu_tensor_slice(b.x, (int64_t[]){0, 0}, (int64_t[]){4, 2}, &row0));
    row("D1");
    REFUSED(b, acu_copy(b.x, acu_zeros(ACU_F32, ACU_SHAPE(16))), ACU_ERR_SHAPE,
            "f32 [16]|f32 [4, 4]|shapes differ");
    row("D2");
    REFUSED(b, acu_copy(b.x, acu_zeros(ACU_I32, ACU_SHAPE(4, 4))), ACU_ERR_DTYPE,
            "element types differ");
    row("D3");
    refuse_pageable(&b);
    row("D4");
    assert_works(acu_tensor_slice(b.x, (int64_t[]){0, 0}, (int64_t[]){3, 4}, &upper));
    assert_works(acu_tensor_slice(b.x, (int64_t[]){1, 0}, (int64_t[]){4, 4}, &lower));
    REFUSED(b, acu_copy(upper, lower), ACU_ERR_INVALID,
            "f32 [3, 4]|bytes 16 to 64|bytes 0 to 48|share bytes");
    acu_tensor_release(upper);
    acu_tensor_release(lower);
    row("D5");
    assert_works(acu_tensor_create_strided(acu_tensor_buffer(b.x), 0, ACU_F32, ACU_SHAPE(4, 4),
                                           (int64_t[]){0, 1}, &upper));
    REFUSED(b, acu_copy(upper, host), ACU_ERR_SHARED, "f32 [4, 4]");
    acu_tensor_release(upper);
    row("D6");
    REFUSED(b, acu_fill(host, acu_f32(1)), ACU_ERR_NOT_SUPPORTED, "host memory");
    row("D7");
    REFUSED(b, acu_fill(b.x, acu_f64(1)), ACU_ERR_DTYPE, "f32 [4, 4]|scalar of f64");
    row("D8");
    REFUSED(b, acu_reshape(b.x, ACU_SHAPE(5)), ACU_ERR_SHAPE, "[4, 4]|[5]");
    row("D9");
    REFUSED(b, acu_zeros(ACU_F32, ACU_SHAPE(-2)), ACU_ERR_SHAPE, "[-2]");
    row("D10");
    static char big[ACU_CONST_MAX + 1];
    REFUSED(b, acu_const(ACU_U8, ACU_SHAPE(ACU_CONST_MAX + 1), big), ACU_ERR_LIMIT,
            "at most 65536 bytes, not 65537");
    row("D11");
    REFUSED(b, acu_host(no_host_call, NULL, acu_in(b.x)), ACU_ERR_INVALID,
            "argument 0|device memory|acu_to_host");
    row("D12");
    acu_tensor *bad;
    assert_fails(acu_tensor_create(acu_tensor_buffer(b.x), 2, ACU_F32, ACU_SHAPE(1), &bad),
                 ACU_ERR_INVALID, "2");
    row("D13");
    assert_fails(acu_tensor_create(acu_tensor_buffer(b.x), 0, ACU_F32, ACU_SHAPE(17), &bad),
                 ACU_ERR_LIMIT, "64");
    row("D14");
    float memory[3];
    assert_fails(acu_read_sync(b.x, memory, sizeof memory), ACU_ERR_SHAPE, "12 bytes|64");
    acu_tensor_release(row0);
    acu_tensor_release(host);
    close_bench(&b);
}

/* The record names the function that the program called, or the name that the op was given, and not
 * a part of the op. */
static void the_named_operation_is_the_programs(void **state)
{
    (void)state;
    bench b = open_bench();
    REFUSED(b, acu_zeros(ACU_F32, ACU_SHAPE(-2)), ACU_ERR_SHAPE, "[-2]");
    assert_string_equal(acu_last_error()->op, "zeros");
    REFUSED(b, acu_op_named(acu_empty(ACU_F32, ACU_SHAPE(-2)), "mine"), ACU_ERR_SHAPE, "[-2]");
    assert_string_equal(acu_last_error()->op, "mine");
    REFUSED(b, acu_sum((acu_op *)NULL, ACU_ALL), ACU_ERR_INVALID, "sum got NULL where an op");
    assert_string_equal(acu_last_error()->op, "sum");
    REFUSED(b, acu_zeros(ACU_F8E8M0FNU, ACU_SHAPE(1)), ACU_ERR_DTYPE, "no zero");
    assert_string_equal(acu_last_error()->op, "zeros");
    close_bench(&b);
}

/* The same with built-in operations, whether they refuse by themselves or a part of them does. */
static void which_operation_is_refused(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_shape none = ACU_SHAPE(-1), other = ACU_SHAPE(3);
    acu_expression *sum;
    assert_works(acu_expression_create("a + b", &sum));
    const struct {
        const char *name;
        acu_op *op;
    } refused[] = {
        {"add", acu_add(b.x, acu_zeros(ACU_F32, other))},
        {"add", acu_add(acu_scalar(acu_f32(1)), 1)},
        {"add", acu_op_elementwise(ACU_OP_ADD, NULL, 2, ACU_SITE)},
        {"add", acu_op_elementwise(ACU_OP_ADD, NULL, 1, ACU_SITE)},
        {"mul", acu_mul(b.x, acu_zip(acu_value(b.x), acu_value(b.x)))},
        {"exp", acu_into(acu_zeros(ACU_F32, other), acu_exp(b.x))},
        {"where", acu_where(b.x, 1, 2)},
        {"fused", acu_fused(sum, b.x, acu_zeros(ACU_F32, other))},
        {"mean", acu_mean(b.x, ACU_DIMS(7))},
        {"softmax", acu_softmax(b.x, 7)},
        {"matmul", acu_matmul(b.x, acu_zeros(ACU_F32, other))},
        {"convert", acu_convert(b.x, (acu_dtype)99)},
        {"convert", acu_convert(acu_scalar(acu_f32(1)), ACU_F64)},
        {"rand", acu_rand(ACU_F32, none, 0, 0)},
        {"randn", acu_randn(ACU_F32, none, 0, 0)},
        {"randint", acu_randint(ACU_I32, none, 0, 2, 0, 0)},
        {"arange", acu_arange(ACU_F32, 0, 1, 0)},
        {"linspace", acu_linspace(ACU_I32, 0, 1, 2)},
        {"eye", acu_eye(ACU_F32, -1)},
        {"mine", acu_op_fail(ACU_ERR_IO, "mine", ACU_SITE, "no such file")},
        {"mine", acu_op_custom((acu_custom){.name = "mine"}, NULL, 0, ACU_SITE)},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char words[ACU_ERROR_MESSAGE + 100], start[ACU_ERROR_OP + 4];
        assert_int_not_equal(acu_sync(b.device, refused[i].op, NULL), ACU_OK);
        assert_string_equal(acu_last_error()->op, refused[i].name);
        acu_error_describe(acu_last_error(), words, sizeof words);
        snprintf(start, sizeof start, ": %s: ", refused[i].name);
        assert_non_null(strstr(words, start));
    }
    acu_expression_release(sum);
    close_bench(&b);
}

static acu_op *once_more(void *user, acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return acu_then(acu_scalar(acu_u32(1)), once_more, NULL);
}

static void ownership(void **state)
{
    (void)state;
    bench b = open_bench();
    row("O1");
    acu_tensor *mine;
    assert_works(acu_sync(b.device, acu_zeros(ACU_F32, ACU_SHAPE(4, 4)), &mine));
    REFUSED(b, acu_partition(acu_give(acu_tensor_retain(mine)), ACU_SHAPE(2, 2)), ACU_ERR_SHARED,
            "only handle|another handle or view|borrowed partition");
    row("O2");
    REFUSED(b, acu_partition(acu_share(mine), ACU_SHAPE(2, 2)), ACU_ERR_SHARED,
            "shared, for reading only");
    row("O3");
    REFUSED(b, acu_launch(b.scale, ONE(b), acu_inout(acu_share(mine)), acu_f32(1), acu_u32(16)),
            ACU_ERR_SHARED, "argument 0|shared|acu_own");
    row("O4");
    REFUSED(b, acu_own(acu_give(acu_tensor_retain(mine))), ACU_ERR_SHARED, "can not be owned");
    row("O5");
    REFUSED(b, acu_foreign(no_call, NULL, acu_out(mine), acu_inout(mine)), ACU_ERR_SHARED,
            "arguments 0 and 1 write the same memory");
    row("O6");
    acu_op *op = acu_op_retain(acu_value(mine)); /* kept, so that what follows is defined */
    acu_op *first = acu_share(op), *second = acu_share(op), *third = acu_share(op);
    acu_op_release(first);
    acu_op_release(second);
    REFUSED(b, third, ACU_ERR_CONSUMED, "taken before|acu_op_retain|test_refusals.c");
    row("O7");
    REFUSED(b, acu_share((acu_op *)NULL), ACU_ERR_INVALID, "NULL where an op should be");
    row("O8");
    REFUSED(b, acu_partition(mine, ACU_SHAPE(2)), ACU_ERR_SHAPE, "[2]|f32 [4, 4]|dimensions");
    REFUSED(b, acu_partition(mine, ACU_SHAPE(2, 0)), ACU_ERR_SHAPE, "[2, 0]|at least 1");
    REFUSED(b, acu_partition((acu_tensor *)NULL, ACU_SHAPE(2, 2)), ACU_ERR_INVALID,
            "acu_partition|the tensor is NULL");
    REFUSED(b, acu_op_partition_tensor(mine, ACU_SHAPE(2, 2), (acu_partition_mode)3, 0, ACU_SITE),
            ACU_ERR_INVALID, "3 is no way|ACU_PREFIX or ACU_MAPPED");
    REFUSED(b, acu_op_partition(acu_dup(mine), ACU_SHAPE(2, 2), (acu_partition_mode)3, 0, ACU_SITE),
            ACU_ERR_INVALID, "3 is no way|ACU_PREFIX or ACU_MAPPED");
    acu_op *bad = acu_op_retain(
        acu_op_partition_tensor(mine, ACU_SHAPE(2, 2), (acu_partition_mode)4, 0, ACU_SITE));
    REFUSED(b, acu_zip(acu_share(bad), acu_share(bad)), ACU_ERR_INVALID, "4 is no way");
    REFUSED(b, acu_partition(acu_partition(mine, ACU_SHAPE(2, 2)), ACU_SHAPE(2, 2)),
            ACU_ERR_INVALID, "a partition can not be partitioned, only a tensor");
    row("O9");
    acu_op *parts[2];
    acu_unzip(mine, parts, 2);
    acu_op_release(parts[1]);
    REFUSED(b, parts[0], ACU_ERR_ARGUMENTS, "2 parts|yields 1");
    acu_unzip(acu_zip(acu_value(mine), acu_value(mine)), parts, 1);
    REFUSED(b, parts[0], ACU_ERR_ARGUMENTS, "1 parts|yields 2");
    row("O10");
    REFUSED(b, acu_nth(mine, 3), ACU_ERR_ARGUMENTS, "value 3|yields 1");
    row("O11");
#ifdef __SANITIZE_THREAD__
    (void)once_more; /* the whole stack of each allocation is kept: 24 GB */
#else
    REFUSED(b, once_more(NULL, NULL, 0), ACU_ERR_LIMIT, "too deep|submit a part");
#endif
    acu_tensor_release(mine);
    close_bench(&b);
}

static acu_status completed(acu_device *device, acu_future **future)
{
    assert_works(acu_submit(device, acu_zeros(ACU_F32, ACU_SHAPE(1)), NULL, future));
    assert_works(acu_future_wait(*future, ACU_FOREVER));
    return acu_device_wait(device, ACU_FOREVER); /* the device is held by nobody else */
}

static acu_op *ones(void)
{
    return acu_ones(ACU_F32, ACU_SHAPE(4));
}

static acu_status use_in_foreign(void *user, CUstream stream, const acu_val *values, size_t count)
{
    bench *b = user;
    acu_use *use;
    acu_stream *other;
    (void)stream, (void)values, (void)count;
    assert_works(acu_stream_create(b->device, 0, &other));
    assert_fails(acu_use_begin(other, &use, acu_in(b->x)), ACU_ERR_IN_CALLBACK, "acu_use_begin");
    acu_stream_release(other);
    assert_fails(acu_device_wait(b->device, 0), ACU_ERR_IN_CALLBACK,
                 "acu_device_wait|may neither wait nor submit");
    return ACU_OK;
}

static acu_status fail_foreign(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)user, (void)stream, (void)values, (void)count;
    return ACU_ERR_INVALID;
}

/* Called while work that was submitted to the stream waits for host work. */
static void mark_too_early(bench *b, acu_stream *stream)
{
    acu_submit_options options = {.size = sizeof options, .stream = stream};
    acu_op *host = acu_host(test_pass_host_gate, NULL, acu_u32(0));
    acu_event *event;
    acu_stream *forked;
    assert_works(acu_event_create(b->device, false, &event));
    test_host_gate_close();
    assert_works(acu_submit(b->device, acu_after(acu_fill(b->x, acu_f32(1)), host), &options,
                            NULL));
    assert_fails(acu_event_record(event, stream), ACU_ERR_BUSY,
                 "acu_event_record|acu_stream_settle");
    assert_fails(acu_stream_fork(stream, &forked), ACU_ERR_BUSY, "acu_stream_fork");
    test_host_gate_open();
    assert_works(acu_stream_wait(stream, ACU_FOREVER));
    acu_event_release(event);
}

static void submit_captured(bench *b, acu_stream *stream)
{
    CUgraph graph;
    acu_op *fill = acu_fill(b->x, acu_f32(1));
    test_enter(b->device);
    assert_int_equal(acu_driver()->StreamBeginCapture(acu_stream_raw(stream),
                                                      ACU_CU_STREAM_CAPTURE_MODE_RELAXED), 0);
    assert_fails(acu_sync_on(stream, acu_op_retain(fill), NULL), ACU_ERR_CAPTURE,
                 "end the capture");
    assert_int_equal(acu_driver()->StreamEndCapture(acu_stream_raw(stream), &graph), 0);
    assert_int_equal(acu_driver()->GraphDestroy(graph), 0);
    test_leave(b->device);
    assert_works(acu_sync(b->device, acu_dup(b->x), NULL)); /* nothing was changed, */
    assert_works(acu_sync_on(stream, fill, NULL));          /* and it can be tried again */
}

static void uses(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_stream *stream;
    acu_use *use;
    CUgraph graph;
    assert_works(acu_stream_create(b.device, 0, &stream));
    row("U1");
    assert_fails(acu_use_begin(stream, &use, acu_in(ones())), ACU_ERR_INVALID, "argument 0");
    assert_fails(acu_use_begin(stream, &use, acu_u32(1)), ACU_ERR_INVALID, "argument 0");
    row("U2");
    acu_op *bad = acu_foreign(fail_foreign, NULL, acu_inout(b.x));
    assert_fails(acu_sync(b.device, bad, NULL), ACU_ERR_CALLBACK, "");
    assert_fails(acu_use_begin(stream, &use, acu_in(b.x)), ACU_ERR_DEPENDENCY, "ACU_ERR_INVALID");
    row("U3");
    test_enter(b.device);
    assert_int_equal(acu_driver()->StreamBeginCapture(acu_stream_raw(stream),
                                                      ACU_CU_STREAM_CAPTURE_MODE_RELAXED), 0);
    assert_fails(acu_use_begin(stream, &use, acu_out(b.x)), ACU_ERR_CAPTURE, "end the capture");
    assert_int_equal(acu_driver()->StreamEndCapture(acu_stream_raw(stream), &graph), 0);
    assert_int_equal(acu_driver()->GraphDestroy(graph), 0);
    test_leave(b.device);
    row("U4");
    assert_works(acu_sync(b.device, acu_foreign(use_in_foreign, &b, acu_out(b.x)), NULL));
    row("U5");
    mark_too_early(&b, stream);
    row("U6");
    submit_captured(&b, stream);
    acu_stream_release(stream);
    close_bench(&b);
}

static acu_status begin_use(bench *b, acu_use **use)
{
    acu_stream *stream;
    assert_works(acu_stream_create(b->device, 0, &stream));
    acu_status status = acu_use_begin(stream, use, acu_in(b->x));
    acu_stream_release(stream);
    return status;
}

static void end_use(acu_use *use)
{
    assert_works(acu_use_end(use, ACU_OK, NULL));
}

static acu_status tell(void *to, acu_promise *done, const acu_val *values, size_t count)
{
    (void)values, (void)count;
    atomic_store((acu_promise * _Atomic *)to, done);
    return ACU_OK;
}

/*
 * Host work that is over. While its function has not returned the promise is there, if ended: only
 * the end of the submission says that it is released.
 */
static acu_status ended(acu_device *device, acu_promise **promise)
{
    acu_promise *_Atomic done = NULL;
    acu_future *over = NULL;
    assert_works(acu_submit(device, acu_host_async(tell, &done), NULL, &over));
    while (!atomic_load(&done))
        sched_yield();
    *promise = atomic_load(&done);
    assert_works(acu_promise_end(*promise, ACU_OK, NULL));
    acu_status status = acu_future_wait(over, ACU_FOREVER);
    acu_future_release(over);
    return status;
}

#define RELEASED(type, make, release, use)                                                         \
    do {                                                                                           \
        acu_##type *gone_ = NULL;                                                                  \
        assert_works(make);                                                                        \
        release(gone_);                                                                            \
        return use;                                                                                \
    } while (0)

/* NOT_FOUND where there is no compiler. */
static acu_status compiled(acu_code **code)
{
    acu_compile_options options = {
        .size = sizeof options, .compiler = ACU_COMPILER_CLANG, .arch = 75};
    acu_status status = acu_compile(NULL, "", &options, code);
    acu_compile_forget();
    return status;
}

static acu_op *fused(acu_expression *expression, acu_tensor *x)
{
    acu_op *operands[] = {acu_value(x)};
    return acu_op_fused(expression, operands, 1, ACU_SITE);
}

static acu_status launch_scale(bench *b, acu_kernel *scale)
{
    acu_op *op = acu_launch(scale, ONE(*b), acu_inout(b->x), acu_f32(2), acu_u32(16));
    return acu_submit(b->device, op, NULL, NULL);
}

static acu_status part_of(acu_external *external)
{
    acu_buffer *none = NULL;
    return acu_external_buffer(external, 0, 0, &none);
}

/* Memory of the device, imported by the device itself. */
static acu_status imported(acu_device *device, acu_external **external)
{
    acu_external_options from = {.size = sizeof from, .bytes = 64};
    acu_buffer *buffer = NULL;
    acu_status status = acu_buffer_create_exportable(device, from.bytes, &buffer);
    if (status == ACU_OK)
        status = acu_buffer_export(buffer, &from.fd);
    if (status == ACU_OK) {
        status = acu_external_import(device, &from, external);
        close(from.fd);
    }
    acu_buffer_release(buffer);
    return status;
}

static void external_memory(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_external *external = NULL, *none = NULL;
    acu_buffer *buffer = NULL, *part = NULL;
    int pipes[2], fd = -1;
    assert_int_equal(pipe(pipes), 0);
    acu_external_options from = {.size = sizeof from, .fd = -1};
    row("X1");
    assert_fails(acu_external_import(b.device, &from, &none), ACU_ERR_INVALID, "0 bytes");
    from.bytes = 4096;
    assert_fails(acu_external_import(b.device, &from, &none), ACU_ERR_INVALID, "-1 is not open");
    row("X2"); /* the status is the driver's */
    from.fd = pipes[0];
    assert_int_not_equal(acu_external_import(b.device, &from, &none), ACU_OK);
    assert_non_null(strstr(acu_last_error()->message, "does not take descriptor"));
    row("X3");
    if (test_can_share(b.device)) {
        assert_works(imported(b.device, &external));
        assert_fails(acu_external_buffer(external, 60, 5, &buffer), ACU_ERR_INVALID,
                     "5 bytes from 60|64");
        assert_works(acu_external_buffer(external, 16, 16, &part));
        assert_fails(acu_external_buffer(external, 0, 17, &buffer), ACU_ERR_BUSY,
                     "17 bytes from 0 on");
    }
    row("X4");
    assert_works(acu_buffer_create(b.device, 64, &buffer));
    assert_fails(acu_buffer_export(buffer, &fd), ACU_ERR_INVALID, "acu_buffer_create_exportable");
    row("X5");
    acu_driver_fault fault = {.size = sizeof fault, .call = ACU_CALL_DeviceGetAttribute,
                              .from_then_on = true, .result = ACU_CUDA_ERROR_INVALID_VALUE};
    assert_works(acu_driver_fail(&fault));
    assert_fails(acu_external_import(b.device, &from, &none), ACU_ERR_NOT_SUPPORTED, "device 0");
    acu_driver_fail_clear();
    close(pipes[0]);
    close(pipes[1]);
    acu_buffer_release(buffer);
    acu_buffer_release(part);
    acu_external_release(external);
    close_bench(&b);
}

static acu_status opened_comm(acu_device *device, acu_comm **comm)
{
    acu_comm_options options = {.size = sizeof options, .backend = ACU_COMM_PROCESS,
                                .devices = &device, .device_count = 1};
    return acu_comm_open(&options, comm);
}

static void close_comm(acu_comm *comm)
{
    assert_works(acu_comm_close(comm, ACU_FOREVER));
}

static acu_status use_other_released(bench *b, acu_object_kind kind)
{
    acu_device *device = b->device;
    switch (kind) {
    case ACU_OBJECT_QUEUE:
        RELEASED(queue, acu_queue_create(NULL, &gone_), acu_queue_release,
                 acu_queue_take(gone_, &(acu_completion){0}, 1, &(size_t){0}));
    case ACU_OBJECT_POOL:
        RELEASED(pool, acu_pool_create(device, NULL, &gone_), acu_pool_release,
                 acu_submit(device, acu_with_pool(gone_, acu_value(b->x)), NULL, NULL));
    case ACU_OBJECT_EXPRESSION:
        RELEASED(expression, acu_expression_create("a + 1", &gone_), acu_expression_release,
                 acu_submit(device, fused(gone_, b->x), NULL, NULL));
    case ACU_OBJECT_PROMISE:
        RELEASED(promise, ended(device, &gone_), (void), acu_promise_end(gone_, ACU_OK, NULL));
    case ACU_OBJECT_FILE:
        RELEASED(file, acu_file_open("/dev/null", ACU_FILE_READ, &gone_), acu_file_release,
                 acu_file_size(gone_, &(uint64_t){0}));
    case ACU_OBJECT_COMM:
        RELEASED(comm, opened_comm(device, &gone_), close_comm, acu_comm_close(gone_, ACU_FOREVER));
    case ACU_OBJECT_EXTERNAL:
        RELEASED(external, imported(device, &gone_), acu_external_release, part_of(gone_));
    default:
        fail_msg("there is no kind %d", kind);
        return ACU_OK;
    }
}

/* Makes a handle of the kind, releases it, uses it. The device goes last: it closes the bench. */
static acu_status use_released(bench *b, acu_object_kind kind)
{
    acu_device *device = b->device;
    switch (kind) {
    case ACU_OBJECT_STREAM:
        RELEASED(stream, acu_stream_create(device, 0, &gone_), acu_stream_release,
                 acu_stream_poll(gone_));
    case ACU_OBJECT_EVENT:
        RELEASED(event, acu_event_create(device, false, &gone_), acu_event_release,
                 acu_event_poll(gone_));
    case ACU_OBJECT_POLICY:
        RELEASED(policy, acu_policy_round_robin(device, 2, &gone_), acu_policy_release,
                 acu_schedule(gone_, acu_value(b->x), &(acu_future *){NULL}));
    case ACU_OBJECT_BUFFER:
        RELEASED(buffer, acu_buffer_create(device, 64, &gone_), acu_buffer_release,
                 acu_tensor_create(gone_, 0, ACU_F32, ACU_SHAPE(16), &(acu_tensor *){NULL}));
    case ACU_OBJECT_TENSOR:
        RELEASED(tensor, acu_tensor_alloc(device, ACU_F32, ACU_SHAPE(4), &gone_),
                 acu_tensor_release, acu_submit(device, acu_dup(gone_), NULL, NULL));
    case ACU_OBJECT_MODULE:
        RELEASED(module, acu_module_load(device, ACU_PTX(NULL, test_refusals_ptx), &gone_),
                 acu_module_release, acu_kernel_get(gone_, "scale", &(acu_kernel *){NULL}));
    case ACU_OBJECT_KERNEL:
        RELEASED(kernel, (gone_ = test_kernel(device, test_refusals_ptx, "scale"), ACU_OK),
                 acu_kernel_release, launch_scale(b, gone_));
    case ACU_OBJECT_CODE:
        RELEASED(code, compiled(&gone_), acu_code_release,
                 acu_code_ptx(gone_) ? ACU_OK : acu_last_error()->status);
    case ACU_OBJECT_GRAPH:
        RELEASED(graph, acu_graph_load(device, acu_fill(b->x, acu_f32(0)), NULL, &gone_),
                 acu_graph_release, acu_submit(device, acu_replay(gone_), NULL, NULL));
    case ACU_OBJECT_OP:
        RELEASED(op, (gone_ = acu_value(b->x), ACU_OK), acu_op_release,
                 acu_submit(device, gone_, NULL, NULL));
    case ACU_OBJECT_FUTURE:
        RELEASED(future, completed(device, &gone_), acu_future_release, acu_future_poll(gone_));
    case ACU_OBJECT_GROUP:
        RELEASED(group, acu_group_create(NULL, &gone_), acu_group_release,
                 acu_group_wait(gone_, 0));
    case ACU_OBJECT_USE:
        RELEASED(use, begin_use(b, &gone_), end_use, acu_use_end(gone_, ACU_OK, NULL));
    case ACU_OBJECT_QUEUE:
    case ACU_OBJECT_POOL:
    case ACU_OBJECT_EXPRESSION:
    case ACU_OBJECT_PROMISE:
    case ACU_OBJECT_FILE:
    case ACU_OBJECT_COMM:
    case ACU_OBJECT_EXTERNAL:
        return use_other_released(b, kind);
    case ACU_OBJECT_DEVICE:
        close_bench(b);
        return acu_device_wait(device, 0);
    case ACU_OBJECT_MODEL:
    case ACU_OBJECT_KIND_COUNT:
        break;
    }
    fail_msg("there is no kind %d", kind);
    return ACU_OK;
}

static acu_status open_lock(void *user, const acu_val *values, size_t count)
{
    (void)values, (void)count;
    pthread_mutex_lock(user);
    pthread_mutex_unlock(user);
    return ACU_OK;
}

/* Behind the end of a group whose member waits for the test. */
static void after_no_submission(bench *b)
{
    pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
    acu_group *group;
    acu_future *all;
    pthread_mutex_lock(&held);
    assert_works(acu_group_create(NULL, &group));
    assert_works(acu_group_submit(group, b->device, acu_host(open_lock, &held, acu_u32(0)), NULL,
                                  NULL));
    assert_works(acu_group_finish(group, &all));
    REFUSED(*b, acu_after_future(ones(), all), ACU_ERR_BUSY, "acu_after_future|no submission");
    pthread_mutex_unlock(&held);
    assert_works(acu_future_wait(all, ACU_FOREVER));
    acu_future_release(all);
    acu_group_release(group);
}

static acu_op *leaves_out_alone(acu_planning *planning)
{
    return acu_exp(acu_take(&planning->values[0]));
}

/* Waits for the stream, which no capture allows. */
static acu_status waits_for_stream(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    acu_driver()->StreamSynchronize(stream);
    return ACU_OK;
}

static void into_and_graphs(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_op *x = acu_value(b.x);
    acu_custom custom = {.name = "mine", .fn = leaves_out_alone};
    acu_buffer *buffer;
    acu_tensor *pageable;
    acu_graph *graph;
    float memory[16] = {0};
    row("A9");
    REFUSED(b, acu_into(b.x, acu_zeros(ACU_F32, ACU_SHAPE(4, 4))), ACU_ERR_NOT_SUPPORTED,
            "zeros has no result|acu_fill");
    REFUSED(b, acu_into(b.x, acu_op_custom(custom, &x, 1, ACU_SITE)), ACU_ERR_NOT_SUPPORTED,
            "mine does not|acu_into|`out`");
    row("A10");
    assert_works(
        acu_buffer_wrap_pageable(b.device, memory, sizeof memory, ACU_USER(NULL), &buffer));
    assert_works(acu_tensor_create(buffer, 0, ACU_F32, ACU_SHAPE(4, 4), &pageable));
    assert_fails(acu_graph_load(b.device, acu_copy(b.x, pageable), NULL, &graph),
                 ACU_ERR_NOT_SUPPORTED, "graph|copy|pageable memory");
    row("A11");
    assert_fails(acu_graph_load(b.device,
                                acu_capturable(acu_foreign(waits_for_stream, NULL, acu_inout(b.x))),
                                NULL, &graph),
                 ACU_ERR_CAPTURE, "foreign|capture");
    acu_tensor_release(pageable);
    acu_buffer_release(buffer);
    close_bench(&b);
}

/* The one that is there is named, with its line, and not the op inside of it. */
static void no_parts_in_graphs(bench *b)
{
    acu_graph *graph;
    acu_op *tried = ones(), *other = acu_finally(ones(), ones());
    acu_op *op = acu_or_else(tried, other);
    const int line = __LINE__ - 1;
    assert_fails(acu_graph_load(b->device, op, NULL, &graph), ACU_ERR_NOT_SUPPORTED,
                 "graph|acu_or_else");
    assert_null(strstr(acu_last_error()->message, "finally"));
    assert_string_equal(acu_last_error()->op, "or_else");
    assert_int_equal(acu_last_error()->line, line);
    assert_fails(acu_graph_load(b->device, acu_finally(ones(), ones()), NULL, &graph),
                 ACU_ERR_NOT_SUPPORTED, "graph|acu_finally");
    assert_null(strstr(acu_last_error()->message, "or_else"));
    assert_string_equal(acu_last_error()->op, "finally");
}

static void algebra(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_graph *graph;
    row("A1");
    REFUSED(b, acu_or_else(ones(), acu_zip(ones(), ones())), ACU_ERR_ARGUMENTS,
            "2 values|yields 1");
    REFUSED(b, acu_or_else(ones(), acu_scalar(acu_f32(1))), ACU_ERR_ARGUMENTS, "value 0|kind");
    row("A2");
    REFUSED(b, acu_or_else(ones(), acu_ones(ACU_I32, ACU_SHAPE(4))), ACU_ERR_DTYPE,
            "value 0|i32 [4]|f32 [4]");
    row("A3");
    REFUSED(b, acu_or_else(ones(), b.x), ACU_ERR_SHAPE, "value 0|f32 [4, 4]|f32 [4]");
    REFUSED(b,
            acu_or_else(acu_partition(ones(), ACU_SHAPE(2)), acu_partition(ones(), ACU_SHAPE(4))),
            ACU_ERR_SHAPE, "value 0|tiles");
    row("A4");
    REFUSED(b, acu_or_else(acu_scalar(acu_f32(1)), acu_scalar(acu_f32(2))), ACU_ERR_NOT_SUPPORTED,
            "value 0|scalar");
    row("A5");
    no_parts_in_graphs(&b);
    row("A8");
    acu_op *kept = acu_op_retain(ones());
    assert_works(acu_graph_load(b.device, kept, NULL, &graph));
    REFUSED(b, kept, ACU_ERR_INVALID, "graph|acu_graph_load");
    acu_graph_release(graph);
    row("A7");
    after_no_submission(&b);
    row("A6");
    REFUSED(b, acu_with_context(ones(), ""), ACU_ERR_INVALID, "acu_with_context");
    close_bench(&b);
}

static void groups(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_group *group;
    acu_future *future;
    acu_group_options options = {.size = sizeof options, .limit = 1, .collect = true};
    row("G1");
    assert_works(acu_group_create(&options, &group));
    assert_works(acu_group_submit(group, b.device, ones(), NULL, NULL));
    acu_op *kept = ones();
    assert_fails(acu_group_submit(group, b.device, kept, NULL, NULL), ACU_ERR_FULL,
                 "acu_group_submit|its limit allows, 1");
    acu_op_release(kept);
    row("G2");
    assert_works(acu_group_cancel(group));
    assert_fails(acu_group_submit(group, b.device, ones(), NULL, NULL), ACU_ERR_CANCELLED,
                 "acu_group_submit|takes no more");
    acu_group_release(group);
    row("G3");
    assert_works(acu_group_create(NULL, &group));
    assert_fails(acu_group_take(group, &future), ACU_ERR_INVALID, "acu_group_take|collect");
    acu_group_release(group);
    close_bench(&b);
}

static size_t choose_none(void *user, const acu_policy_stream *streams, size_t count)
{
    (void)user, (void)streams;
    return count;
}

static size_t choose_and_submit(void *user, const acu_policy_stream *streams, size_t count)
{
    (void)streams, (void)count;
    assert_fails(acu_sync(user, ones(), NULL), ACU_ERR_IN_CALLBACK, "acu_sync|neither wait nor");
    assert_fails(acu_submit(user, ones(), NULL, NULL), ACU_ERR_IN_CALLBACK, "policy");
    return 0;
}

static void policies(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_policy *policy = NULL;
    acu_future *future = NULL;
    acu_policy_options options = {.size = sizeof options, .choose = choose_none, .streams = 2};
    row("K1");
    assert_works(acu_policy_create(b.device, &options, &policy));
    assert_fails(acu_schedule(policy, ones(), &future), ACU_ERR_CALLBACK, "chose stream 2; there are 2");
    acu_policy_release(policy);
    row("K2");
    options.choose = choose_and_submit;
    options.user = ACU_USER(b.device);
    assert_works(acu_policy_create(b.device, &options, &policy));
    assert_works(acu_schedule(policy, ones(), &future));
    acu_future_release(future);
    acu_policy_release(policy);
    row("K3");
    options = (acu_policy_options){.size = sizeof options, .streams = 65};
    assert_fails(acu_policy_create(b.device, &options, &policy), ACU_ERR_INVALID, "65|64");
    options = (acu_policy_options){.size = sizeof options, .priority = 99};
    assert_fails(acu_policy_create(b.device, &options, &policy), ACU_ERR_INVALID, "priority 99");
    close_bench(&b);
}

static void released_handles(void **state)
{
    (void)state;
    static const char *const words[] = {
#define ACU_X(id, word) [ACU_OBJECT_##id] = word " was released already",
        ACU_OBJECT_KINDS(ACU_X)
#undef ACU_X
    };
    bench b = open_bench();
    row("H1");
    acu_code *code = NULL;
    bool compiler = compiled(&code) == ACU_OK;
    acu_code_release(code);
    bool shares = test_can_share(b.device);
    for (int kind = ACU_OBJECT_KIND_COUNT - 1; kind >= 0; kind--)
        if (kind != ACU_OBJECT_MODEL && /* needs onnxruntime: tests/infer */
            (kind != ACU_OBJECT_CODE || compiler) && (kind != ACU_OBJECT_EXTERNAL || shares))
            assert_fails(use_released(&b, (acu_object_kind)kind), ACU_ERR_BAD_HANDLE, words[kind]);
}

/* NULL, and what is alive but of another kind. */
static void releases_do_nothing(acu_tensor *x)
{
#define NOTHING(type)                                                                              \
    acu_##type##_release(NULL);                                                                    \
    acu_##type##_release((acu_##type *)(void *)x)
    NOTHING(device);
    NOTHING(stream);
    NOTHING(event);
    NOTHING(policy);
    NOTHING(buffer);
    NOTHING(module);
    NOTHING(kernel);
    NOTHING(op);
    NOTHING(future);
    NOTHING(queue);
    NOTHING(graph);
    NOTHING(group);
    NOTHING(pool);
    NOTHING(code);
    NOTHING(expression);
    NOTHING(external);
#undef NOTHING
    acu_tensor_release(NULL);
    assert_int_equal(acu_tensor_shape(x).rank, 2);
}

static void handles(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_stream *stream;
    row("H2");
    assert_fails(acu_future_poll(NULL), ACU_ERR_INVALID, "future is NULL");
    releases_do_nothing(b.x);
    row("H3");
    assert_fails(acu_future_poll((acu_future *)(void *)b.x), ACU_ERR_INVALID, "future|tensor");
    row("H4");
    acu_kernel *kernel;
    acu_module *module = test_load_ptx(b.device, "named", test_refusals_ptx);
    assert_fails(acu_kernel_get(module, "scal", &kernel), ACU_ERR_NOT_FOUND, "scal|scale|tiled");
    row("H5");
    acu_module *again;
    assert_fails(acu_module_load(b.device, ACU_PTX("named", test_refusals_ptx), &again),
                 ACU_ERR_BUSY, "named");
    acu_module_release(module);
    row("H6");
    acu_submit_options options = {0};
    acu_future *future;
    assert_fails(acu_submit(b.device, acu_value(b.x), &options, &future), ACU_ERR_INVALID, "size");
    row("H7");
    acu_policy *policy;
    assert_works(acu_policy_single(b.device, NULL, &policy));
    assert_works(acu_stream_create(b.device, 0, &stream));
    options = (acu_submit_options){.size = sizeof options, .policy = policy, .stream = stream};
    assert_fails(acu_submit(b.device, acu_value(b.x), &options, &future), ACU_ERR_INVALID,
                 "policy and a stream");
    acu_policy_release(policy);
    acu_stream_release(stream);
    row("H8");
    acu_buffer *buffer;
    assert_fails(acu_buffer_create(b.device, 0, &buffer), ACU_ERR_INVALID, "0 bytes");
    close_bench(&b);
}

/* Driver objects that went with the old context stay counted as live, so this test is a process of
 * its own. */
static void case_reset(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_device *fresh = NULL;
    acu_reset_options options = {.size = sizeof options};
    assert_fails(acu_device_reset(b.device, &options, &fresh), ACU_ERR_SHARED,
                 "nothing_else_in_this_process_uses_the_device|primary context");
    options.nothing_else_in_this_process_uses_the_device = true;
    assert_works(acu_device_reset(b.device, &options, &fresh));
    REFUSED(b, acu_dup(b.x), ACU_ERR_STALE, "device 0 was reset|acu_device_reset");
    acu_tensor_release(b.x);
    acu_kernel_release(b.scale);
    acu_kernel_release(b.tiled);
    test_close(b.device);
    test_close(fresh);
}

static void resetting(void **state)
{
    (void)state;
    row("H9");
    row("H10");
    test_in_process("reset");
}

/* ---- waiting where it would deadlock ---- */

typedef struct waiter {
    acu_device *device;
    acu_future *future; /* complete: only the rule is tested */
    acu_status status[7];
    bool named; /* messages name what the program called, and not what that calls */
    char message[ACU_ERROR_MESSAGE];
} waiter;

static void try_waiting(waiter *w)
{
    acu_tensor *none = NULL;
    char byte[4];
    w->status[0] = acu_future_wait(w->future, 0);
    snprintf(w->message, sizeof w->message, "%s", acu_last_error()->message);
    w->status[1] = acu_sync(w->device, acu_zeros(ACU_F32, ACU_SHAPE(1)), &none);
    w->status[2] = acu_wait_all(&w->future, 1, 0);
    w->status[3] = acu_device_wait(w->device, 0);
    w->status[4] = acu_read_sync(acu_future_tensor(w->future, 0), byte, sizeof byte);
    double number;
    w->status[5] = acu_read_f64_wait(w->device, acu_zeros(ACU_F32, ACU_SHAPE(1)), &number);
    w->named = strstr(acu_last_error()->message, "read_f64_wait waits") != NULL;
    acu_op *op = acu_unique(acu_zeros(ACU_F32, ACU_SHAPE(1)));
    w->status[6] = acu_counted_wait(w->device, op, &none, NULL);
    w->named &= strstr(acu_last_error()->message, "counted_wait waits") != NULL;
}

static acu_op *wait_in_then(void *user, acu_val *values, size_t count)
{
    (void)count;
    try_waiting(user);
    return acu_take(&values[0]);
}

static acu_status wait_in_map(void *user, acu_val *values, size_t count)
{
    (void)values, (void)count;
    try_waiting(user);
    return ACU_OK;
}

static void wait_in_inspect(void *user, const acu_val *values, size_t count)
{
    (void)values, (void)count;
    try_waiting(user);
}

static acu_status wait_in_host(void *user, const acu_val *values, size_t count)
{
    (void)values, (void)count;
    try_waiting(user);
    return ACU_OK;
}

static acu_status wait_in_foreign(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)stream, (void)values, (void)count;
    waiter *w = user;
    try_waiting(w);
    acu_status submitted = acu_submit(w->device, acu_zeros(ACU_F32, ACU_SHAPE(1)), NULL, NULL);
    return submitted == ACU_ERR_IN_CALLBACK ? ACU_OK : ACU_ERR_INVALID;
}

static void wait_in_callback(void *user, acu_future *future, acu_status status)
{
    (void)future, (void)status;
    try_waiting(user);
}

/* After the last callback of the waiter. */
static void drop_future(void *user)
{
    waiter *w = user;
    acu_future_release(w->future);
}

static void all_refused(waiter *w)
{
    for (int i = 0; i < 7; i++) {
        assert_int_equal(w->status[i], ACU_ERR_IN_CALLBACK);
        w->status[i] = ACU_OK;
    }
    assert_true(w->named);
    assert_non_null(strstr(w->message, "wait"));
}

static void waiting(void **state)
{
    (void)state;
    bench b = open_bench();
    waiter w = {.device = b.device};
    acu_op *zero = acu_zeros(ACU_F32, ACU_SHAPE(1));
    assert_works(acu_submit(b.device, zero, NULL, &w.future));
    assert_works(acu_future_wait(w.future, ACU_FOREVER));
    row("W1");
    assert_works(acu_sync(b.device, acu_then(b.x, wait_in_then, &w), NULL));
    all_refused(&w);
    row("W2");
    assert_works(acu_sync(b.device, acu_map(b.x, wait_in_map, &w), NULL));
    all_refused(&w);
    assert_works(acu_sync(b.device, acu_inspect(b.x, wait_in_inspect, &w), NULL));
    all_refused(&w);
    row("W3");
    acu_op *host = acu_to_host(acu_zeros(ACU_F32, ACU_SHAPE(1)));
    assert_works(acu_sync(b.device, acu_host(wait_in_host, &w, acu_in(host)), NULL));
    all_refused(&w);
    row("W4");
    assert_works(acu_sync(b.device, acu_foreign(wait_in_foreign, &w, acu_inout(b.x)), NULL));
    all_refused(&w);
    row("W5");
    acu_future *future;
    assert_works(acu_submit(b.device, acu_value(b.x), NULL, &future));
    assert_works(
        acu_future_when_complete(future, NULL, 0, wait_in_callback, ACU_USER(&w, drop_future)));
    acu_future_release(future);
    close_bench(&b); /* the last close ends the thread that calls back */
    assert_int_equal(w.status[1], ACU_ERR_IN_CALLBACK);
}

static void code(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_module *module;
    static const char texture[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                                  ".visible .entry k()\n{\n"
                                  "    .reg .b32 %r<3>;\n"
                                  "    tex.1d.v4.s32.s32 {%r1, %r1, %r1, %r1}, [0, {%r2}];\n"
                                  "    ret;\n}\n.visible .entry other()\n{\n    ret;\n}\n";
    row("P1");
    assert_fails(acu_module_load(b.device, ACU_PTX(NULL, ".version 6.3\n.target sm_60\nnonsense\n"),
                                 &module),
                 ACU_ERR_PTX, "3");
    row("P2");
    if (!test_on_gpu()) {
        acu_kernel *kernel;
        assert_works(acu_module_load(b.device, ACU_PTX(NULL, texture), &module));
        assert_fails(acu_kernel_get(module, "k", &kernel), ACU_ERR_PTX, "line 7|tex|in k");
        assert_fails(acu_kernel_get(module, "j", &kernel), ACU_ERR_NOT_FOUND, "\"j\"|other");
        assert_works(acu_kernel_get(module, "other", &kernel));
        acu_kernel_release(kernel);
        acu_module_release(module);
    }
    row("P3");
    if (!test_on_gpu())
        assert_fails(acu_module_load(b.device, ACU_IMAGE(NULL, set_sm_90, sizeof set_sm_90),
                                     &module),
                     ACU_ERR_PTX, "cubin|compile to PTX");
    row("P4");
    assert_fails(acu_module_load(b.device, ACU_IMAGE("half", set_sm_90, sizeof set_sm_90 / 2),
                                 &module),
                 ACU_ERR_PTX, "half is a cubin that was cut off");
    close_bench(&b);
}

/* ---- collectives ---- */

static acu_op *of_one(acu_comm *comm, acu_collective_kind kind, acu_reduction how, acu_tensor *in,
                      acu_tensor *out)
{
    return acui_collective_one(comm, kind, how, 0, in ? acu_value(in) : NULL,
                               out ? acu_value(out) : NULL, ACU_SITE);
}

static void what_ranks_have(bench b, acu_comm *comm)
{
    acu_tensor *whole, *half;
    assert_works(acu_tensor_alloc(b.device, ACU_I32, ACU_SHAPE(16), &whole));
    assert_works(acu_tensor_alloc(b.device, ACU_F32, ACU_SHAPE(8), &half));
    row("C2");
    REFUSED(b, of_one(comm, ACU_BARRIER, ACU_REDUCE_SUM, NULL, b.x), ACU_ERR_INVALID,
            "barrier takes 0 operands|not 1");
    REFUSED(b, of_one(comm, ACU_SEND, ACU_REDUCE_SUM, NULL, b.x), ACU_ERR_NOT_SUPPORTED, "send");
    REFUSED(b, of_one(comm, ACU_ALL_GATHER, ACU_REDUCE_SUM, b.x, NULL), ACU_ERR_INVALID,
            "all-gather, rank 0: it lacks what it writes");
    row("C4");
    REFUSED(b, of_one(comm, ACU_ALL_GATHER, ACU_REDUCE_SUM, b.x, whole), ACU_ERR_DTYPE,
            "all-gather, rank 0|i32|f32");
    row("C5");
    REFUSED(b, of_one(comm, ACU_ALL_GATHER, ACU_REDUCE_SUM, b.x, half), ACU_ERR_SHAPE,
            "all-gather, rank 0|8 elements|16");
    row("C6");
    REFUSED(b, acu_comm_all_reduce(comm, ACU_REDUCE_NORM, b.x), ACU_ERR_INVALID,
            "all-reduce|reduction 3 is none of sum");
    REFUSED(b, acu_comm_all_reduce(comm, ACU_REDUCE_MEAN, whole), ACU_ERR_DTYPE,
            "all-reduce, rank 0: i32 has no mean|take the sum");
    acu_tensor_release(whole);
    acu_tensor_release(half);
}

static acu_comm *alone(acu_device *device)
{
    acu_comm *comm;
    acu_comm_options options = {.size = sizeof options, .devices = &device, .device_count = 1,
                                .backend = ACU_COMM_PROCESS};
    assert_works(acu_comm_open(&options, &comm));
    return comm;
}

static void collectives(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_comm *comm = alone(b.device);
    what_ranks_have(b, comm);
    row("C7");
    REFUSED(b, acu_comm_broadcast(comm, 1, b.x), ACU_ERR_INVALID,
            "broadcast|there is no rank 1 among 1");
    row("C8");
    REFUSED(b, acu_comm_send(comm, 0, b.x), ACU_ERR_NOT_SUPPORTED, "send|acu_comm_group");
    row("C9");
    REFUSED(b, of_one(comm, ACU_ALL_REDUCE, ACU_REDUCE_SUM, b.x, b.x), ACU_ERR_INVALID,
            "all-reduce, rank 0: what it reads and what it writes overlap: in place");
    acu_op *both[] = {acu_comm_all_reduce(comm, ACU_REDUCE_SUM, b.x),
                      acu_comm_broadcast(comm, 0, b.x)};
    REFUSED(b, acu_comm_group(comm, both, 2), ACU_ERR_INVALID,
            "number 0, all-reduce, and number 1, broadcast");
    row("C1");
    acu_op *late = acu_comm_all_reduce(comm, ACU_REDUCE_SUM, b.x);
    assert_works(acu_comm_close(comm, ACU_FOREVER));
    REFUSED(b, late, ACU_ERR_INVALID, "all-reduce|the communicator was closed");
    close_bench(&b);
}

static void devices(void **state)
{
    (void)state;
    acu_device *two[2];
    test_open_n(two, 2);
    bench b = {.device = two[0]};
    b.scale = test_kernel(two[0], test_refusals_ptx, "scale");
    acu_stream *stream;
    acu_policy *policy;
    row("K4");
    assert_works(acu_stream_create(two[1], 0, &stream));
    acu_policy_options options = {.size = sizeof options, .given = &stream, .given_count = 1};
    assert_fails(acu_policy_create(two[0], &options, &policy), ACU_ERR_DEVICE, "device 1, not 0");
    acu_stream_release(stream);
    row("C3");
    acu_tensor *here;
    acu_comm *comm = alone(two[1]);
    assert_works(acu_tensor_alloc(two[0], ACU_F32, ACU_SHAPE(16), &here));
    REFUSED(b, acu_comm_all_reduce(comm, ACU_REDUCE_SUM, here), ACU_ERR_DEVICE,
            "all-reduce, rank 0|not on its device");
    acu_tensor_release(here);
    assert_works(acu_comm_close(comm, ACU_FOREVER));
    row("V1");
    acu_op *far = acu_on(two[1], acu_zeros(ACU_F32, ACU_SHAPE(16)));
    acu_tensor *tensor;
    assert_works(acu_sync(two[1], far, &tensor));
    REFUSED(b, acu_launch(b.scale, ONE(b), acu_inout(tensor), acu_f32(2), acu_u32(16)),
            ACU_ERR_DEVICE, "argument 0 of scale|on device 1|acu_to_device");
    acu_tensor_release(tensor);
    acu_kernel_release(b.scale);
    test_close(two[1]);
    test_close(two[0]);
    test_leaks_none();
}

/* ---- the table and the tests are the same list ---- */

static bool was_seen(const char *key)
{
    for (size_t i = 0; i < seen_count; i++)
        if (strcmp(seen[i], key) == 0)
            return true;
    return false;
}

static void table(void **state)
{
    (void)state;
    FILE *file = fopen("docs/refusals.md", "r");
    if (!file)
        skip(); /* run from another folder */
    char line[1024], key[8];
    size_t rows = 0;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "| %7[A-Z0-9] |", key) != 1)
            continue;
        rows++;
        if (!was_seen(key) && !(test_on_gpu() && (key[0] == 'V' || strcmp(key, "K4") == 0 ||
                                               strcmp(key, "C3") == 0)))
            fail_msg("row %s of docs/refusals.md is not tested", key);
    }
    fclose(file);
    assert_true(rows >= seen_count);
}

static acu_op *no_custom(acu_planning *planning)
{
    (void)planning;
    return NULL;
}

/* Constructors never fail, not even if the list of their operands is NULL. */
static void lists_that_are_not_there(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_user none = ACU_USER(NULL);
    acu_stream *stream;
    acu_use *use;
    acu_val value = {.kind = ACU_NONE};
    REFUSED(b, acu_op_zip(NULL, 2, ACU_SITE), ACU_ERR_INVALID, "zip|NULL|2 ops");
    REFUSED(b, acu_op_launch(b.scale, NULL, NULL, 3, ACU_SITE), ACU_ERR_INVALID, "launch|NULL|3 arguments");
    REFUSED(b, acu_op_foreign(no_call, none, NULL, 1, ACU_SITE), ACU_ERR_INVALID, "foreign|NULL|1 arguments");
    REFUSED(b, acu_op_host(no_host_call, none, NULL, 1, ACU_SITE), ACU_ERR_INVALID, "host|NULL");
    REFUSED(b, acu_op_elementwise(ACU_OP_ADD, NULL, 2, ACU_SITE), ACU_ERR_INVALID, "add|NULL|2 operands");
    REFUSED(b, acu_op_elementwise(ACU_OP_ADD, NULL, 3, ACU_SITE), ACU_ERR_ARGUMENTS, "takes 2");
    acu_custom custom = {.name = "mine", .fn = no_custom, .bytes = 8};
    REFUSED(b, acu_op_custom(custom, NULL, 0, ACU_SITE), ACU_ERR_INVALID, "NULL|8 bytes of data");
    acu_op_unzip(acu_value(b.x), NULL, 1, ACU_SITE);
    acu_val_set_tensor(NULL, NULL);
    acu_val_set_scalar(NULL, acu_f32(1));
    acu_val_set_tensor(&value, NULL);
    assert_works(acu_stream_create(b.device, 0, &stream));
    assert_fails((acu_use_begin)(stream, NULL, 1, ACU_SITE, &use), ACU_ERR_INVALID,
                 "1 tensors is NULL");
    acu_stream_release(stream);
    assert_fails(acu_process_stats(NULL), ACU_ERR_INVALID, "acu_process_stats|nowhere");
    assert_fails(acu_process_stats(&(acu_process_statistics){0}), ACU_ERR_INVALID, "size");
    assert_fails(acu_compile_stats(NULL), ACU_ERR_INVALID, "acu_compile_stats|nowhere");
    assert_fails(acu_graph_cache_stats(b.device, &(acu_graph_cache_statistics){0}), ACU_ERR_INVALID,
                 "acu_graph_cache_stats|size");
    assert_int_equal(acu_driver_call_find(NULL), ACU_CALL_ANY);
    assert_int_equal(acu_error_describe(NULL, NULL, 8), 0);
    assert_true(acu_driver_describe(NULL, 8) > 0);
    assert_true(acu_debug_live_report(NULL, 8) > 0);
    close_bench(&b);
}

int main(int count, char **arguments)
{
    static const test_case cases[] = {{"reset", case_reset}};
    if (count > 1)
        return test_run_case(cases, 1, arguments[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_that_are_not_there),
        cmocka_unit_test(launches),
        cmocka_unit_test(what_is_declared_to_be_written),
        cmocka_unit_test(launches_of_sizes_that_wrap),
        cmocka_unit_test(scalars_of_no_dtype),
        cmocka_unit_test(no_access),
        cmocka_unit_test(no_place_for_an_address),
        cmocka_unit_test(failures_of_no_error),
        cmocka_unit_test(data),
        cmocka_unit_test(the_named_operation_is_the_programs),
        cmocka_unit_test(which_operation_is_refused),
        cmocka_unit_test(ownership),
        cmocka_unit_test(algebra),
        cmocka_unit_test(into_and_graphs),
        cmocka_unit_test(groups),
        cmocka_unit_test(policies),
        cmocka_unit_test(uses),
        cmocka_unit_test(external_memory),
        cmocka_unit_test(released_handles),
        cmocka_unit_test(handles),
        cmocka_unit_test(resetting),
        cmocka_unit_test(waiting),
        cmocka_unit_test(code),
        cmocka_unit_test(collectives),
        cmocka_unit_test(devices),
        cmocka_unit_test(table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
