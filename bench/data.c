/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Operations on data, beside the driver's copy within the device of as many bytes, read plus
 * written. QUEUED of each are submitted to one stream before they are waited for, so waiting is not
 * measured. bench/twins/data.py and cub.cu print the same rows by PyTorch, CuPy and CUB.
 */
#include "harness/harness.h"

enum { QUEUED = 4 };

typedef struct subject {
    bench *b;
    CUstream stream;
    acu_stream *own;                   /* acuda's side */
    size_t bytes;                      /* of a tensor */
    acu_tensor *square, *y, *bytes_of; /* operands, f32 and bool; y is the result */
    acu_tensor *copy[2];               /* the twin's */
    acu_tensor *flat, *part, *order;   /* all of it, a quarter, and rows in another order */
    acu_tensor *half[2], *targets;     /* f16, a matrix of half the side; a class for each row */
    acu_tensor *keys;                  /* for each element of the quarter */
    acu_tensor *words, *few;           /* as many u32; a sixteenth of all */
    acu_tensor *weight, *bias;         /* of the f16 matrix' columns */
    int64_t side;
    size_t copied; /* by the twin */
    acu_op *(*make)(struct subject *s);
} subject;

/* Microseconds for each. */
static double sample_acuda(void *user)
{
    subject *s = user;
    const acu_submit_options options = {.size = sizeof options, .stream = s->own};
    acu_future *futures[QUEUED];
    double start = bench_now_us();
    for (int i = 0; i < QUEUED; i++)
        MUST(acu_submit(s->b->device, s->make(s), &options, &futures[i]));
    MUST(acu_wait_all(futures, QUEUED, ACU_FOREVER));
    double us = (bench_now_us() - start) / QUEUED;
    for (int i = 0; i < QUEUED; i++)
        acu_future_release(futures[i]);
    return us;
}

static double sample_copy(void *user)
{
    subject *s = user;
    double start = bench_now_us();
    for (int i = 0; i < QUEUED; i++)
        MUST_CU(s->b->cu->MemcpyDtoDAsync(acu_tensor_address(s->copy[0]),
                                          acu_tensor_address(s->copy[1]), s->copied, s->stream));
    MUST_CU(s->b->cu->StreamSynchronize(s->stream));
    return (bench_now_us() - start) / QUEUED;
}

/* ---- what is done; each reads and writes so many times the bytes of a tensor ----------------- */

/* Half of the square matrix: its left columns. */
static acu_op *left(subject *s, acu_tensor *x)
{
    return acu_slice(x, ACU_SHAPE(0, 0), ACU_SHAPE(s->side, s->side / 2));
}
static acu_op *top(subject *s, acu_tensor *x)
{
    return acu_slice(x, ACU_SHAPE(0, 0), ACU_SHAPE(s->side / 2, s->side));
}
static acu_op *concat_rows(subject *s)
{
    return acu_into(s->y, acu_concat(0, top(s, s->square), top(s, s->square)));
}
static acu_op *concat_columns(subject *s)
{
    return acu_into(s->y, acu_concat(1, left(s, s->square), left(s, s->square)));
}
static acu_op *pad(subject *s)
{
    acu_op *inner = acu_slice(s->square, ACU_SHAPE(0, 0), ACU_SHAPE(s->side - 2, s->side - 2));
    return acu_into(s->y, acu_pad(inner, ACU_SHAPE(1, 1), ACU_SHAPE(1, 1), 0));
}
static acu_op *pad_reflect(subject *s)
{
    acu_op *inner = acu_slice(s->square, ACU_SHAPE(0, 0), ACU_SHAPE(s->side - 8, s->side - 8));
    return acu_into(s->y, acu_pad_by(ACU_PAD_REFLECT, inner, ACU_SHAPE(4, 4), ACU_SHAPE(4, 4)));
}
static acu_op *flip_rows(subject *s)
{
    return acu_into(s->y, acu_flip(s->square, ACU_DIMS(0)));
}
static acu_op *flip_columns(subject *s)
{
    return acu_into(s->y, acu_flip(s->square, ACU_DIMS(1)));
}
static acu_op *roll_one(subject *s)
{
    return acu_into(s->y, acu_roll(s->square, 1, 1));
}
static acu_op *roll_many(subject *s)
{
    return acu_into(s->y, acu_roll(s->square, 1, 1024));
}
static acu_op *tile(subject *s)
{
    return acu_into(s->y, acu_tile(left(s, s->square), ACU_SHAPE(1, 2)));
}
static acu_op *repeat(subject *s)
{
    return acu_into(s->y, acu_repeat(left(s, s->square), 1, 2));
}
static acu_op *tril(subject *s)
{
    return acu_into(s->y, acu_tril(s->square, 0));
}
static acu_op *where(subject *s)
{
    return acu_into(s->y, acu_where(s->bytes_of, s->square, s->y));
}
static acu_op *clamp(subject *s)
{
    return acu_into(s->y, acu_clamp(s->square, 0.25, 0.75));
}
static acu_op *cumsum_all(subject *s)
{
    return acu_cumsum(s->flat, 0);
}
static acu_op *cumsum_rows(subject *s)
{
    return acu_into(s->y, acu_cumsum(s->square, 1));
}
static acu_op *cumsum_columns(subject *s)
{
    return acu_into(s->y, acu_cumsum(s->square, 0));
}
static acu_op *gather_rows(subject *s)
{
    return acu_into(s->y, acu_index_select(s->square, 0, s->order));
}
static acu_op *sort_part(subject *s)
{
    return acu_sort(s->part, 0, ACU_ASCENDING);
}
static acu_op *sort_words(subject *s)
{
    return acu_sort(s->words, 0, ACU_ASCENDING);
}
static acu_op *argsort_words(subject *s)
{
    return acu_argsort(s->words, 0, ACU_ASCENDING);
}
static acu_op *topk(subject *s)
{
    return acu_first(acu_topk(s->part, 64, 0, ACU_DESCENDING));
}
static acu_op *topk_few(subject *s)
{
    return acu_first(acu_topk(s->few, 64, 0, ACU_DESCENDING));
}

/* In half precision, of an eighth of the bytes: 8,192 x 8,192. */
static acu_op *layer_norm(subject *s)
{
    return acu_into(s->half[1], acu_layer_norm(s->half[0], s->weight, s->bias, 1e-5));
}
static acu_op *rms_norm(subject *s)
{
    return acu_into(s->half[1], acu_rms_norm(s->half[0], s->weight, 1e-5));
}
static acu_op *softmax(subject *s)
{
    return acu_into(s->half[1], acu_softmax(s->half[0], 1));
}
static acu_op *cross_entropy(subject *s)
{
    return acu_cross_entropy(s->half[0], s->targets);
}
static acu_op *nonzero(subject *s)
{
    return acu_first(acu_masked_select(s->flat, acu_flatten(s->bytes_of)));
}
static acu_op *histogram(subject *s)
{
    return acu_histogram_even(s->flat, 256, 0, 1);
}
static acu_op *sum_by_key(subject *s)
{
    return acu_reduce_by_key(ACU_SCATTER_ADD, s->part, s->keys, 1024);
}

static const struct {
    const char *what;
    acu_op *(*make)(subject *s);
    double sizes, goal; /* the share of a copy's rate; 0: none */
} works[] = {
    {"concat of 2, rows, f32", concat_rows, 2, 0.90},
    {"concat of 2, columns, f32", concat_columns, 2, 0.90},
    {"pad by 1 on all sides, f32", pad, 2, 0.90},
    {"pad by 4, reflect, f32", pad_reflect, 2, 0.90},
    {"flip rows, f32", flip_rows, 2, 0.90},
    {"flip columns, f32", flip_columns, 2, 0.90},
    {"roll columns by 1, f32", roll_one, 2, 0.90},
    {"roll columns by 1024, f32", roll_many, 2, 0.90},
    {"tile, twice, f32", tile, 1.5, 0.90},
    {"repeat, twice, f32", repeat, 1.5, 0.90},
    {"tril, f32", tril, 1.5, 0},
    {"gather of rows, f32", gather_rows, 2, 0.90},
    {"cumsum of all, f32", cumsum_all, 2, 0.85},
    {"cumsum of rows, f32", cumsum_rows, 2, 0.85},
    {"cumsum of columns, f32", cumsum_columns, 2, 0.85},
    {"sort of a quarter (2^26), f32", sort_part, 0.5, 0},
    {"sort of a quarter, u32", sort_words, 0.5, 0},
    {"argsort of a quarter, u32", argsort_words, 1, 0},
    {"top 64 of a quarter, f32", topk, 0.25, 0},
    {"top 64 of a sixteenth (2^24), f32", topk_few, 0.0625, 0},
    {"layer norm, 8192 x 8192 f16", layer_norm, 0.25, 0.90},
    {"rms norm, 8192 x 8192 f16", rms_norm, 0.25, 0.90},
    {"softmax, 8192 x 8192 f16", softmax, 0.25, 0.90},
    {"cross entropy, 8192 x 8192 f16", cross_entropy, 0.25, 0.90},
    {"masked select, half of f32", nonzero, 2.25, 0},
    {"histogram, 256 bins, f32", histogram, 1, 0},
    {"sum by 1024 keys, a quarter, f32", sum_by_key, 0.5, 0},
    {"where, f32", where, 3.25, 0.90},
    {"clamp, f32", clamp, 2, 0.90},
};

static void open_parts(subject *s)
{
    const int64_t quarter = s->side * s->side / 4;
    acu_op *words = acu_randint(ACU_U32, ACU_SHAPE(quarter), 0, (int64_t)1 << 32, 6, 0);
    MUST(acu_sync(s->b->device, words, &s->words));
    acu_op *few = acu_slice(s->flat, ACU_SHAPE(0), ACU_SHAPE(quarter / 4));
    MUST(acu_sync(s->b->device, few, &s->few));
    MUST(acu_sync(s->b->device, acu_rand(ACU_F16, ACU_SHAPE(s->side / 2), 7, 0), &s->weight));
    MUST(acu_sync(s->b->device, acu_rand(ACU_F16, ACU_SHAPE(s->side / 2), 8, 0), &s->bias));
}

static void open_subject(subject *s)
{
    s->side = s->b->quick ? 256 : 16384;
    acu_shape square = ACU_SHAPE(s->side, s->side);
    s->bytes = (size_t)(s->side * s->side) * 4;
    MUST_CU(s->b->cu->StreamCreate(&s->stream, 1));
    MUST(acu_stream_create(s->b->device, 0, &s->own));
    MUST(acu_tensor_alloc(s->b->device, ACU_F32, square, &s->square));
    MUST(acu_tensor_alloc(s->b->device, ACU_F32, square, &s->y));
    for (int i = 0; i < 2; i++)
        MUST(acu_tensor_alloc(s->b->device, ACU_F32, square, &s->copy[i]));
    MUST(acu_sync(s->b->device, acu_into(s->square, acu_rand(ACU_F32, square, 1, 0)), NULL));
    MUST(acu_sync(s->b->device, acu_fill(s->y, acu_f32(0)), NULL));
    acu_op *flat = acu_flatten(s->square);
    MUST(acu_sync(s->b->device, flat, &s->flat));
    acu_op *part = acu_slice(s->flat, ACU_SHAPE(0), ACU_SHAPE(s->side * s->side / 4));
    MUST(acu_sync(s->b->device, part, &s->part));
    acu_op *column = acu_select(s->square, 1, 0);
    MUST(acu_sync(s->b->device, acu_argsort(column, 0, ACU_ASCENDING), &s->order));
    const acu_shape small = ACU_SHAPE(s->side / 2, s->side / 2);
    for (int i = 0; i < 2; i++)
        MUST(acu_sync(s->b->device, acu_rand(ACU_F16, small, 3, 0), &s->half[i]));
    acu_op *targets = acu_randint(ACU_I32, ACU_SHAPE(s->side / 2), 0, s->side / 2, 4, 0);
    MUST(acu_sync(s->b->device, targets, &s->targets));
    acu_op *keys = acu_randint(ACU_I32, ACU_SHAPE(s->side * s->side / 4), 0, 1024, 5, 0);
    MUST(acu_sync(s->b->device, keys, &s->keys));
    MUST(acu_sync(s->b->device, acu_lt(s->square, 0.5), &s->bytes_of));
    open_parts(s);
}

static void close_subject(subject *s)
{
    acu_tensor_release(s->half[0]);
    acu_tensor_release(s->half[1]);
    acu_tensor_release(s->targets);
    acu_tensor_release(s->keys);
    acu_tensor_release(s->words);
    acu_tensor_release(s->few);
    acu_tensor_release(s->weight);
    acu_tensor_release(s->bias);
    acu_tensor_release(s->flat);
    acu_tensor_release(s->part);
    acu_tensor_release(s->order);
    acu_tensor_release(s->square);
    acu_tensor_release(s->y);
    acu_tensor_release(s->copy[0]);
    acu_tensor_release(s->copy[1]);
    acu_tensor_release(s->bytes_of);
    acu_stream_release(s->own);
    bench_enter(s->b);
    MUST_CU(s->b->cu->StreamDestroy(s->stream));
    bench_leave(s->b);
}

static void compare(subject *s, size_t i)
{
    s->make = works[i].make;
    s->copied = (size_t)((double)s->bytes * works[i].sizes / 2) & ~(size_t)15;
    if (s->copied > s->bytes)
        s->copied = s->bytes;
    double share = (double)s->bytes * works[i].sizes / 2 / (double)s->copied;
    double goal = works[i].goal > 0 ? share / works[i].goal : 0;
    bench_row row = {
        .what = works[i].what,
        .samples = 20,
        .warm = 2,
        .sides = {{"acuda", sample_acuda, s, 0, 0}, {"copy", sample_copy, s, goal, 0}}};
    bench_compare(s->b, &row);
}

int main(int argc, char **argv)
{
    bench b = bench_open("data", argc, argv, NULL);
    subject s = {.b = &b};
    bench_enter(&b);
    open_subject(&s);
    bench_leave(&b);
    bench_title(&b,
                "Operations on data of 1 GiB, beside a copy of as many bytes, read plus written; "
                "4 of them queued, the time of one");
    for (size_t i = 0; i < sizeof works / sizeof *works; i++)
        compare(&s, i);
    close_subject(&s);
    return bench_close(&b);
}
