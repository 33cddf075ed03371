/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reductions against long double and 64-bit integers: all kinds, dtypes,
 * and ways of cutting them. */
#include "ops/elements.h"

static test_random numbers = {.state = 5};

static const acu_dtype dtypes[] = {ACU_BOOL, ACU_U8,  ACU_I16, ACU_U32,  ACU_U64, ACU_I64,
                                   ACU_F16,  ACU_BF16, ACU_F32, ACU_F64};

/* ---- reference ------------------------------------------------------------------------------- */

typedef struct total {
    long double real;
    int64_t whole, at, count;
} total;

static bool better(acu_reduction kind, acu_dtype dtype, const void *memory, size_t i, size_t best)
{
    bool least = kind == ACU_REDUCE_MIN || kind == ACU_REDUCE_ARGMIN;
    if (is_real(dtype)) {
        double a = real_at(dtype, memory, i), b = real_at(dtype, memory, best);
        return b == b && (a != a || (least ? a < b : a > b));
    }
    int64_t a = whole_at(dtype, memory, i), b = whole_at(dtype, memory, best);
    if (dtype == ACU_U64)
        return least ? (uint64_t)a < (uint64_t)b : (uint64_t)a > (uint64_t)b;
    return least ? a < b : a > b;
}

/* Adds element `i` of the memory to its total. */
static void add(total *t, acu_reduction kind, acu_dtype dtype, const void *memory, size_t i)
{
    long double real = is_real(dtype) ? (long double)real_at(dtype, memory, i) : 0;
    int64_t whole = is_real(dtype) ? real != 0 : whole_at(dtype, memory, i);
    bool first = t->count == 0, any = kind == ACU_REDUCE_ANY || kind == ACU_REDUCE_ALL;
    int64_t n = t->count++;
    if (kind == ACU_REDUCE_SUM || kind == ACU_REDUCE_MEAN) {
        t->real += real;
        t->whole = (int64_t)((uint64_t)t->whole + (uint64_t)whole);
    } else if (kind == ACU_REDUCE_NORM) {
        t->real += real * real;
    } else if (kind == ACU_REDUCE_PROD) {
        t->real = first ? real : t->real * real;
        t->whole = first ? whole : (int64_t)((uint64_t)t->whole * (uint64_t)whole);
    } else if (any) {
        bool have = whole != 0;
        t->whole = first ? have : kind == ACU_REDUCE_ANY ? t->whole || have : t->whole && have;
    } else if (first || better(kind, dtype, memory, i, (size_t)t->at)) {
        t->at = (int64_t)i;
        t->whole = kind == ACU_REDUCE_ARGMIN || kind == ACU_REDUCE_ARGMAX ? n : whole;
        t->real = real;
    }
}

static acu_dtype result_dtype(acu_reduction kind, acu_dtype dtype)
{
    if (kind == ACU_REDUCE_ANY || kind == ACU_REDUCE_ALL)
        return ACU_BOOL;
    if (kind == ACU_REDUCE_ARGMIN || kind == ACU_REDUCE_ARGMAX)
        return ACU_I64;
    if ((kind == ACU_REDUCE_SUM || kind == ACU_REDUCE_PROD) && !is_real(dtype))
        return acu_dtype_kind_of(dtype) == ACU_KIND_UNSIGNED ? ACU_U64 : ACU_I64;
    return dtype;
}

static void compare(const total *t, acu_reduction kind, acu_dtype dtype, const void *have, size_t i)
{
    acu_dtype to = result_dtype(kind, dtype);
    if (!is_real(to)) {
        if (whole_at(to, have, i) != t->whole)
            fail_msg("%s of %s, element %zu: %lld, not %lld", acu_reduction_name(kind),
                     acu_dtype_name(dtype), i, (long long)whole_at(to, have, i),
                     (long long)t->whole);
        return;
    }
    long double want = kind == ACU_REDUCE_MEAN ? t->real / t->count
                       : kind == ACU_REDUCE_NORM ? sqrtl(t->real) : t->real;
    double got = real_at(to, have, i);
    double units = to == ACU_F64 ? 64 : 0.51; /* sums of many in double; rounded once */
    if (want != want ? got == got
                     : !(got == (double)want ||
                         fabs(got - (double)want) <= units * unit_at(to, (double)want)))
        fail_msg("%s of %s, element %zu: %.17g, not %.17Lg", acu_reduction_name(kind),
                 acu_dtype_name(dtype), i, got, want);
}

/* ---- cases ----------------------------------------------------------------------------------- */

typedef struct layout {
    acu_shape shape; /* of the memory */
    int order[3];    /* a view of it, permuted */
    acu_dims dims;   /* over these of the view */
} layout;

static void *elements_for(acu_reduction kind, acu_dtype dtype, size_t count)
{
    char *memory = calloc(count, acu_dtype_bytes(dtype));
    for (size_t i = 0; i < count; i++) {
        uint64_t r = test_next(&numbers) >> 20;
        bool product = kind == ACU_REDUCE_PROD;
        if (kind == ACU_REDUCE_ALL)
            r = r % 997 ? 1 : 0;
        else if (kind == ACU_REDUCE_ANY)
            r = r % 997 ? 0 : 1;
        else
            r %= 1000;
        if (is_real(dtype))
            put_real(dtype, memory, i, product ? 1 + ((double)r - 500) / 1e5
                                       : kind < ACU_REDUCE_ANY ? ((double)r - 300) / 8 : (double)r);
        else
            put_whole(dtype, memory, i, product ? (int64_t)(r % 5) + 1 : (int64_t)r - 300);
    }
    return memory;
}

static void one(acu_device *device, acu_reduction kind, acu_dtype dtype, const layout *l)
{
    size_t count = (size_t)acu_shape_elements(l->shape);
    void *memory = elements_for(kind, dtype, count);
    acu_tensor *tensor = tensor_with(device, dtype, l->shape, memory), *view = NULL;
    assert_works(acu_tensor_permute(tensor, l->order, &view));
    acu_shape shape = acu_tensor_shape(view), result = {0};
    bool reduced[3] = {l->dims.count == 0, l->dims.count == 0, l->dims.count == 0};
    for (int i = 0; i < l->dims.count; i++)
        reduced[(l->dims.dim[i] + 3) % 3] = true;
    for (int d = 0; d < 3; d++)
        if (!reduced[d] || l->dims.keep)
            result.dim[result.rank++] = reduced[d] ? 1 : shape.dim[d];
    if (result.rank == 0)
        result = ACU_SHAPE(1);
    total *totals = calloc((size_t)acu_shape_elements(result), sizeof *totals);
    const int64_t *strides = acu_tensor_strides(view);
    int64_t at[3];
    for (at[0] = 0; at[0] < shape.dim[0]; at[0]++)
        for (at[1] = 0; at[1] < shape.dim[1]; at[1]++)
            for (at[2] = 0; at[2] < shape.dim[2]; at[2]++) {
                int64_t place = 0;
                for (int d = 0; d < 3; d++)
                    place = reduced[d] ? place : place * shape.dim[d] + at[d];
                add(&totals[place], kind, dtype, memory,
                    (size_t)(at[0] * strides[0] + at[1] * strides[1] + at[2] * strides[2]));
            }
    void *have = result_of(device, acu_op_reduce(kind, acu_value(view), l->dims, ACU_SITE),
                           result_dtype(kind, dtype), result);
    for (int64_t i = 0; i < acu_shape_elements(result); i++)
        compare(&totals[i], kind, dtype, have, (size_t)i);
    free(have);
    free(totals);
    free(memory);
    acu_tensor_release(view);
    acu_tensor_release(tensor);
}

#define PLAIN {0, 1, 2}
static const layout layouts[] = {
    {{3, {1, 1, 40009}}, PLAIN, {0}},               /* several blocks for one element */
    {{3, {2, 3, 700}}, PLAIN, {1, {2}, false}},     /* rows */
    {{3, {5, 9, 7}}, PLAIN, {1, {-1}, true}},       /* short rows */
    {{3, {4, 50, 133}}, PLAIN, {1, {1}, true}},     /* columns between */
    {{3, {1, 9001, 40}}, PLAIN, {2, {0, 1}, false}}, /* columns, cut */
    {{3, {6, 11, 70}}, {2, 0, 1}, {1, {0}, false}}, /* permuted: rows again */
    {{3, {6, 11, 70}}, {1, 2, 0}, {2, {0, 2}, false}}, /* two dimensions that do not go together */
    {{3, {3, 4, 5}}, {2, 1, 0}, {0}},
};

static void every_kind(void **state)
{
    (void)state;
    acu_device *device = test_open();
    for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++)
        for (int kind = 0; kind < ACU_REDUCTION_COUNT; kind++)
            for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
                bool mean = kind == ACU_REDUCE_MEAN || kind == ACU_REDUCE_NORM;
                bool large = acu_shape_elements(layouts[l].shape) > 30000;
                if ((mean && !is_real(dtypes[d])) || (large && d % 3 != 2))
                    continue;
                one(device, (acu_reduction)kind, dtypes[d], &layouts[l]);
            }
    test_close(device);
    test_leaks_none();
}

static void nan_infinity_and_ties(void **state)
{
    (void)state;
    acu_device *device = test_open();
    float x[4][5] = {{1, NAN, 3, NAN, 5}, {INFINITY, 1, 2, 3, INFINITY},
                     {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY}, {2, 7, 7, -4, -4}};
    acu_tensor *t = tensor_with(device, ACU_F32, ACU_SHAPE(4, 5), x);
    acu_shape rows = ACU_SHAPE(4);
    float *most = result_of(device, acu_max_of(t, ACU_DIMS(1)), ACU_F32, rows);
    float *least = result_of(device, acu_min_of(t, ACU_DIMS(1)), ACU_F32, rows);
    int64_t *first = result_of(device, acu_argmax(t, ACU_DIMS(1)), ACU_I64, rows);
    int64_t *last = result_of(device, acu_argmin(t, ACU_DIMS(1)), ACU_I64, rows);
    assert_true(isnan(most[0]) && isnan(least[0]) && first[0] == 1 && last[0] == 1);
    assert_true(most[1] == INFINITY && least[1] == 1 && first[1] == 0 && last[1] == 1);
    assert_true(most[2] == -INFINITY && least[2] == -INFINITY && first[2] == 0 && last[2] == 0);
    assert_true(most[3] == 7 && least[3] == -4 && first[3] == 1 && last[3] == 3);
    free(most);
    free(least);
    free(first);
    free(last);
    acu_tensor_release(t);
    test_close(device);
    test_leaks_none();
}

/* Rows that are read in vectors, by several blocks, and begin at any element. */
static void places_in_long_rows(void **state)
{
    (void)state;
    enum { N = 40003, FIRST = 7777, SECOND = 39001, NAN_AT = 30030 };
    acu_device *device = test_open();
    static const acu_dtype reals[] = {ACU_F32, ACU_F16, ACU_BF16, ACU_F64};
    for (int i = 0; i < 4 * 3 * 2; i++) {
        acu_dtype dtype = reals[i / 6];
        int what = i % 3;
        bool least = i % 6 / 3 == 0;
        double far = least ? INFINITY : -INFINITY;
        char *memory = calloc(N + 1, acu_dtype_bytes(dtype));
        for (size_t k = 0; k < N + 1; k++)
            put_real(dtype, memory, k, far);
        if (what > 0) {
            put_real(dtype, memory, 1 + FIRST, least ? -5 : 5);
            put_real(dtype, memory, 1 + SECOND, least ? -5 : 5);
        }
        if (what > 1) {
            put_real(dtype, memory, 1 + NAN_AT, NAN);
            put_real(dtype, memory, 1 + SECOND, NAN);
        }
        acu_tensor *t = tensor_with(device, dtype, ACU_SHAPE(N + 1), memory), *view = NULL;
        assert_works(acu_tensor_slice(t, (const int64_t[]){1}, (const int64_t[]){N + 1}, &view));
        int64_t *at = result_of(device,
                                least ? acu_argmin(view, ACU_ALL) : acu_argmax(view, ACU_ALL),
                                ACU_I64, ACU_SHAPE(1));
        assert_int_equal(*at, what == 0 ? 0 : what == 1 ? FIRST : NAN_AT);
        free(at);
        free(memory);
        acu_tensor_release(view);
        acu_tensor_release(t);
    }
    test_close(device);
    test_leaks_none();
}

/* Columns, read many rows at a time by several blocks; the last columns are read one by one. */
static void places_in_long_columns(void **state)
{
    (void)state;
    enum { ROWS = 2000, WIDE = 70, FIRST = 333, SECOND = 1990, NAN_AT = 1200 };
    acu_device *device = test_open();
    static const acu_dtype reals[] = {ACU_F32, ACU_F16, ACU_BF16, ACU_F64};
    for (int i = 0; i < 4 * 2; i++) {
        acu_dtype dtype = reals[i / 2];
        bool least = i % 2 == 0;
        char *memory = calloc(ROWS * WIDE, acu_dtype_bytes(dtype));
        for (size_t k = 0; k < ROWS * WIDE; k++)
            put_real(dtype, memory, k, least ? INFINITY : -INFINITY);
        for (size_t c = 0; c < WIDE; c++) { /* of the first none has another value */
            if (c % 3 > 0) {
                put_real(dtype, memory, (FIRST + c) * WIDE + c, least ? -5 : 5);
                put_real(dtype, memory, SECOND * WIDE + c, least ? -5 : 5);
            }
            if (c % 3 > 1) {
                put_real(dtype, memory, (NAN_AT + c) * WIDE + c, NAN);
                put_real(dtype, memory, SECOND * WIDE + c, NAN);
            }
        }
        acu_tensor *t = tensor_with(device, dtype, ACU_SHAPE(ROWS, WIDE), memory);
        int64_t *at = result_of(device,
                                least ? acu_argmin(t, ACU_DIMS(0)) : acu_argmax(t, ACU_DIMS(0)),
                                ACU_I64, ACU_SHAPE(WIDE));
        for (int c = 0; c < WIDE; c++)
            assert_int_equal(at[c], c % 3 == 0 ? 0 : c % 3 == 1 ? FIRST + c : NAN_AT + c);
        free(at);
        free(memory);
        acu_tensor_release(t);
    }
    test_close(device);
    test_leaks_none();
}

/* Blocks that take several turns use their shared memory again. Rows begin one element apart. */
static void more_results_than_blocks(void **state)
{
    (void)state;
    enum { ROWS = 16384 * 4 + 5, LENGTH = 520, OUTER = 16384 + 3, WIDE = 32 };
    static uint8_t x[2 * WIDE * OUTER];
    acu_device *device = test_open();
    for (size_t i = 0; i < sizeof x; i++)
        x[i] = (uint8_t)(test_next(&numbers) >> 20);
    acu_tensor *t = tensor_with(device, ACU_U8, ACU_SHAPE(sizeof x), x), *rows, *columns;
    acu_buffer *buffer = acu_tensor_buffer(t);
    assert_works(acu_tensor_create_strided(buffer, 0, ACU_U8, ACU_SHAPE(ROWS, LENGTH),
                                           (const int64_t[]){1, 1}, &rows));
    assert_works(acu_tensor_create_strided(buffer, 0, ACU_U8, ACU_SHAPE(OUTER, 2, WIDE),
                                           (const int64_t[]){2 * WIDE, WIDE, 1}, &columns));
    uint64_t *sums = result_of(device, acu_sum(rows, ACU_DIMS(1)), ACU_U64, ACU_SHAPE(ROWS));
    uint64_t want = 0;
    for (int i = 0; i < ROWS + LENGTH; i++) {
        want += x[i];
        want -= i < LENGTH ? 0 : x[i - LENGTH];
        assert_true(i < LENGTH - 1 || i == ROWS + LENGTH - 1 || sums[i - LENGTH + 1] == want);
    }
    free(sums);
    sums = result_of(device, acu_sum(columns, ACU_DIMS(1)), ACU_U64, ACU_SHAPE(OUTER, WIDE));
    for (size_t i = 0; i < (size_t)OUTER * WIDE; i++) {
        size_t at = i / WIDE * 2 * WIDE + i % WIDE;
        assert_true(sums[i] == (uint64_t)x[at] + x[at + WIDE]);
    }
    free(sums);
    acu_tensor_release(rows);
    acu_tensor_release(columns);
    acu_tensor_release(t);
    test_close(device);
    test_leaks_none();
}

/* More than 2^24 ones: float would stop counting. */
static void sums_are_accurate(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_op *ones = acu_broadcast_to(acu_ones(ACU_F32, ACU_SHAPE(1, 1024)), ACU_SHAPE(1025, 1024));
    acu_op *scaled = acu_mul(ones, 17);
    float *sum = result_of(device, acu_sum(scaled, ACU_ALL), ACU_F32, ACU_SHAPE(1));
    assert_true(sum[0] == 17.0f * 1024 * 1025);
    free(sum);
    test_close(device);
    test_leaks_none();
}

static void refused(void **state)
{
    (void)state;
    acu_device *d = test_open();
    int zeros[6] = {0};
    acu_tensor *t = tensor_with(d, ACU_I32, ACU_SHAPE(2, 3), zeros);
    assert_fails(acu_sync(d, acu_sum(t, ACU_DIMS(2)), NULL), ACU_ERR_SHAPE,
                 "dimension 2|i32 [2, 3]|none");
    assert_fails(acu_sync(d, acu_sum(t, ACU_DIMS(1, -1)), NULL), ACU_ERR_SHAPE,
                 "dimension -1|twice");
    assert_fails(acu_sync(d, acu_norm(t, ACU_ALL), NULL), ACU_ERR_DTYPE,
                 "norm|floating point|i32 [2, 3]");
    assert_fails(acu_sync(d, acu_op_reduce((acu_reduction)99, acu_value(t), ACU_ALL, ACU_SITE),
                          NULL),
                 ACU_ERR_INVALID, "99");
    assert_fails(acu_sync(d, acu_into(t, acu_sum(t, ACU_ALL)), NULL), ACU_ERR_DTYPE,
                 "sum|i64 [1]|i32 [2, 3]");
    acu_tensor_release(t);
    test_close(d);
    test_leaks_none();
}

/* Views that take no memory have as many elements as 64 bits can count: no sum overflows that. */
static void of_very_many_elements(void **state)
{
    (void)state;
    const int64_t many = INT64_C(1) << 61;
    acu_device *d = test_open();
    acu_tensor *one, *wide;
    acu_value_info info;
    size_t count;
    assert_works(acu_tensor_alloc(d, ACU_U8, ACU_SHAPE(1, 1), &one));
    assert_works(acu_tensor_broadcast_to(one, ACU_SHAPE(many, 3), &wide));
    acu_op *op = acu_max_of(wide, ACU_DIMS(-1));
    assert_works(acu_op_describe(d, op, &info, 1, &count));
    assert_true(acu_shape_equal(info.shape, ACU_SHAPE(many)));
    acu_op_release(op);
    assert_fails(acu_sync(d, acu_sum(wide, ACU_DIMS(-1)), NULL), ACU_ERR_SHAPE,
                 "u64|[2305843009213693952]|64 bits");
    acu_tensor_release(wide);
    assert_works(acu_tensor_broadcast_to(one, ACU_SHAPE(1, INT64_MAX), &wide));
    op = acu_max_of(wide, ACU_ALL);
    assert_works(acu_op_describe(d, op, &info, 1, &count));
    acu_op_release(op);
    acu_tensor_release(wide);
    acu_tensor_release(one);
    test_close(d);
    test_leaks_none();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind),
        cmocka_unit_test(nan_infinity_and_ties),
        cmocka_unit_test(places_in_long_rows),
        cmocka_unit_test(places_in_long_columns),
        cmocka_unit_test(more_results_than_blocks),
        cmocka_unit_test(sums_are_accurate),
        cmocka_unit_test(refused),
        cmocka_unit_test(of_very_many_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
