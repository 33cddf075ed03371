/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Built-in operations on large tensors, beside the driver's copy within the device of as many
 * bytes, read plus written: how much of the memory's bandwidth they use. QUEUED of them are
 * submitted to one stream before they are waited for: so waiting, which takes the same time for any
 * operation, is not measured. The last rows show what it takes when each is waited for.
 */
#include "harness/harness.h"

#include <stdio.h>

enum { OPERANDS = 3, QUEUED = 8 };

typedef struct subject {
    bench *b;
    CUstream stream;
    acu_stream *own;             /* acuda's side */
    int queued;                  /* of each before they are waited for */
    size_t bytes;                /* of each tensor */
    acu_tensor *x[OPERANDS];     /* f32 */
    acu_tensor *half, *bytes_of, *byte; /* f16, bool and f8, of as many elements */
    acu_tensor *part;            /* f32, half as many */
    acu_tensor *matrix;          /* of the first's memory */
    acu_tensor *wide[2];         /* f64, of half as many */
    acu_tensor *whole[2];        /* i32 over the same memory */
    acu_shape square;            /* of as many elements, as a matrix */
    acu_expression *expression;  /* NULL: nothing compiles here */
    size_t copied;               /* by the twin */
    acu_op *(*make)(struct subject *s);
} subject;

/* Microseconds for each. */
static double sample_acuda(void *user)
{
    subject *s = user;
    const acu_submit_options options = {.size = sizeof options, .stream = s->own};
    acu_future *futures[QUEUED];
    double start = bench_now_us();
    for (int i = 0; i < s->queued; i++)
        MUST(acu_submit(s->b->device, s->make(s), &options, &futures[i]));
    MUST(acu_wait_all(futures, (size_t)s->queued, ACU_FOREVER));
    double us = (bench_now_us() - start) / s->queued;
    for (int i = 0; i < s->queued; i++)
        acu_future_release(futures[i]);
    return us;
}

static double sample_copy(void *user)
{
    subject *s = user;
    double start = bench_now_us();
    for (int i = 0; i < s->queued; i++)
        MUST_CU(s->b->cu->MemcpyDtoDAsync(acu_tensor_address(s->x[0]), acu_tensor_address(s->x[1]),
                                          s->copied, s->stream));
    MUST_CU(s->b->cu->StreamSynchronize(s->stream));
    return (bench_now_us() - start) / s->queued;
}

/* ---- what is done; each with the bytes that it reads and writes, in sizes of an f32 tensor --- */

static acu_op *fill(subject *s) { return acu_fill(s->x[0], acu_f32(1.5f)); }
static acu_op *neg(subject *s) { return acu_into(s->x[0], acu_neg(s->x[1])); }
static acu_op *add(subject *s) { return acu_into(s->x[0], acu_add(s->x[1], s->x[2])); }
static acu_op *scale(subject *s) { return acu_into(s->x[0], acu_mul(s->x[1], 1.25)); }
static acu_op *in_place(subject *s) { return acu_into(s->x[0], acu_relu(s->x[0])); }
static acu_op *fma3(subject *s)
{
    return acu_into(s->x[0], acu_fma(s->x[0], s->x[1], s->x[2]));
}
static acu_op *exponential(subject *s) { return acu_into(s->x[0], acu_exp(s->x[1])); }
static acu_op *tangent(subject *s) { return acu_into(s->x[0], acu_tanh(s->x[1])); }
static acu_op *gelu(subject *s) { return acu_into(s->x[0], acu_gelu(s->x[1])); }
static acu_op *less(subject *s) { return acu_into(s->bytes_of, acu_lt(s->x[1], s->x[2])); }
static acu_op *half(subject *s) { return acu_into(s->half, acu_neg(s->half)); }
static acu_op *wide(subject *s) { return acu_into(s->wide[0], acu_neg(s->wide[1])); }
static acu_op *whole(subject *s) { return acu_into(s->whole[0], acu_add(s->whole[1], 3)); }
static acu_op *sum(subject *s) { return acu_sum(s->x[1], ACU_ALL); }
static acu_op *most(subject *s) { return acu_max_of(s->x[1], ACU_ALL); }
static acu_op *norm(subject *s) { return acu_norm(s->x[1], ACU_ALL); }
static acu_op *rows(subject *s) { return acu_sum(acu_reshape(s->x[1], s->square), ACU_DIMS(1)); }
static acu_op *columns(subject *s) { return acu_sum(acu_reshape(s->x[1], s->square), ACU_DIMS(0)); }
static acu_op *sum_half(subject *s) { return acu_sum(s->half, ACU_ALL); }
static acu_op *sum_wide(subject *s) { return acu_sum(s->wide[1], ACU_ALL); }
static acu_op *rand_f32(subject *s)
{
    return acu_into(s->x[0], acu_rand(ACU_F32, ACU_SHAPE((int64_t)s->bytes / 4), 1, 0));
}
static acu_op *randn_f32(subject *s)
{
    return acu_into(s->x[0], acu_randn(ACU_F32, ACU_SHAPE((int64_t)s->bytes / 4), 1, 0));
}
static acu_op *softmax(subject *s)
{
    return acu_into(s->matrix, acu_softmax(acu_reshape(s->x[1], s->square), 1));
}
static acu_op *fused(subject *s)
{
    return acu_into(s->x[0], acu_fused(s->expression, s->x[1], s->x[2]));
}
static acu_op *most_at(subject *s) { return acu_argmax(s->x[1], ACU_ALL); }
static acu_op *columns_at(subject *s)
{
    return acu_argmax(acu_reshape(s->x[1], s->square), ACU_DIMS(0));
}
static acu_op *to_half(subject *s) { return acu_into(s->half, acu_convert(s->x[1], ACU_F16)); }
static acu_op *from_half(subject *s) { return acu_into(s->x[0], acu_convert(s->half, ACU_F32)); }
static acu_op *to_byte(subject *s) { return acu_into(s->byte, acu_convert(s->x[1], ACU_F8E4M3FN)); }
static acu_op *to_wide(subject *s) { return acu_into(s->wide[0], acu_convert(s->part, ACU_F64)); }
static acu_op *arange(subject *s)
{
    return acu_into(s->x[0], acu_arange(ACU_F32, 0, (double)(s->bytes / 4), 1));
}

static const struct {
    const char *what;
    acu_op *(*make)(subject *s);
    double sizes;
} works[] = {
    {"fill, f32", fill, 1},
    {"neg, f32", neg, 2},
    {"x * 1.25, f32", scale, 2},
    {"relu in place, f32", in_place, 2},
    {"add, f32", add, 3},
    {"fma, f32", fma3, 4},
    {"exp, f32", exponential, 2},
    {"tanh, f32", tangent, 2},
    {"gelu, f32", gelu, 2},
    {"less than, f32", less, 2.25},
    {"neg, f16, in place", half, 1},
    {"neg, f64", wide, 2},
    {"x + 3, i32", whole, 2},
    {"convert f32 to f16", to_half, 1.5},
    {"convert f16 to f32", from_half, 1.5},
    {"convert f32 to f8e4m3fn", to_byte, 1.25},
    {"convert f32 to f64, half as many", to_wide, 1.5},
    {"arange, f32", arange, 1},
    {"sum of all, f32", sum, 1},
    {"max of all, f32", most, 1},
    {"norm of all, f32", norm, 1},
    {"sum of rows, f32, square", rows, 1},
    {"sum of columns, f32, square", columns, 1},
    {"sum of all, f16", sum_half, 0.5},
    {"sum of all, f64", sum_wide, 1},
    {"argmax of all, f32", most_at, 1},
    {"argmax of columns, f32, square", columns_at, 1},
    {"x + 2 * relu(y), fused, f32", fused, 3},
    {"rand, f32", rand_f32, 1},
    {"randn, f32", randn_f32, 1},
    {"softmax of rows, f32, square", softmax, 2},
};

static void open_subject(subject *s)
{
    int64_t n = s->b->quick ? 100000 : 256 << 20;
    s->bytes = (size_t)n * 4;
    s->square = s->b->quick ? ACU_SHAPE(250, 400) : ACU_SHAPE(16384, 16384);
    MUST_CU(s->b->cu->StreamCreate(&s->stream, 1));
    MUST(acu_stream_create(s->b->device, 0, &s->own));
    for (int i = 0; i < OPERANDS; i++)
        MUST(acu_tensor_alloc(s->b->device, ACU_F32, ACU_SHAPE(n), &s->x[i]));
    MUST(acu_tensor_alloc(s->b->device, ACU_F16, ACU_SHAPE(n), &s->half));
    MUST(acu_tensor_alloc(s->b->device, ACU_BOOL, ACU_SHAPE(n), &s->bytes_of));
    MUST(acu_tensor_create(acu_tensor_buffer(s->bytes_of), 0, ACU_F8E4M3FN, ACU_SHAPE(n),
                           &s->byte));
    MUST(acu_tensor_create(acu_tensor_buffer(s->x[1]), 0, ACU_F32, ACU_SHAPE(n / 2), &s->part));
    MUST(acu_tensor_create(acu_tensor_buffer(s->x[0]), 0, ACU_F32, s->square, &s->matrix));
    for (int i = 0; i < 2; i++) {
        acu_buffer *buffer = acu_tensor_buffer(s->x[i]);
        MUST(acu_tensor_create(buffer, 0, ACU_F64, ACU_SHAPE(n / 2), &s->wide[i]));
        MUST(acu_tensor_create(buffer, 0, ACU_I32, ACU_SHAPE(n), &s->whole[i]));
        acu_op *numbers = acu_rand(ACU_F32, ACU_SHAPE(n), (uint64_t)i, 0);
        MUST(acu_sync(s->b->device, acu_into(s->x[1 + i], numbers), NULL));
    }
    acu_op *halves = acu_convert(s->x[1], ACU_F16);
    MUST(acu_sync(s->b->device, acu_into(s->half, halves), NULL));
}

static void open_expression(subject *s)
{
    acu_code *code;
    if (acu_compile(s->b->device, "", NULL, &code) != ACU_OK)
        return;
    acu_code_release(code);
    MUST(acu_expression_create("x + 2 * relu(y)", &s->expression));
}

static void close_subject(subject *s)
{
    acu_expression_release(s->expression);
    for (int i = 0; i < OPERANDS; i++)
        acu_tensor_release(s->x[i]);
    for (int i = 0; i < 2; i++) {
        acu_tensor_release(s->wide[i]);
        acu_tensor_release(s->whole[i]);
    }
    acu_stream_release(s->own);
    acu_tensor_release(s->matrix);
    acu_tensor_release(s->part);
    acu_tensor_release(s->byte);
    acu_tensor_release(s->half);
    acu_tensor_release(s->bytes_of);
    bench_enter(s->b);
    MUST_CU(s->b->cu->StreamDestroy(s->stream));
    bench_leave(s->b);
}

static void compare(subject *s, size_t i, int queued, int samples, bool goal)
{
    s->make = works[i].make;
    if (s->make == fused && !s->expression)
        return;
    s->queued = queued;
    s->copied = (size_t)((double)s->bytes * works[i].sizes / 2) & ~(size_t)15;
    if (s->copied > s->bytes)
        s->copied = s->bytes;
    double share = (double)s->bytes * works[i].sizes / 2 / (double)s->copied;
    bench_row row = {.what = works[i].what,
                     .samples = samples,
                     .warm = 2,
                     .sides = {{"acuda", sample_acuda, s, 0, 0},
                               {"copy", sample_copy, s, goal ? share / 0.92 : 0, 0}}};
    bench_compare(s->b, &row);
}

int main(int argc, char **argv)
{
    bench b = bench_open("ops", argc, argv, NULL);
    subject s = {.b = &b};
    bench_enter(&b);
    open_subject(&s);
    bench_leave(&b);
    open_expression(&s);
    const size_t count = sizeof works / sizeof *works;
    bench_title(&b, "Operations on tensors of 1 GiB (of f32), beside a copy of as many bytes, read "
                    "plus written; 8 of them queued, the time of one");
    for (size_t i = 0; i < count; i++)
        compare(&s, i, QUEUED, 20, true);
    bench_title(&b, "The same, each waited for by itself");
    for (size_t i = 0; i < count; i++)
        if (works[i].make == neg || works[i].make == sum)
            compare(&s, i, 1, 60, false);
    close_subject(&s);
    return bench_close(&b);
}
