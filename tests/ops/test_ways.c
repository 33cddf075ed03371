/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Operations that no other program tries in every way (every_way.h): described, submitted, in a
 * graph, and with each allocation and each launch failing. What they compute is compared elsewhere.
 */
#include "ops/every_way.h"
#include "support/one_device.h"

/* x[0]: f32 [6, 20]; x[1]: i64 [6, 20], 0 to 5; x[2]: f32 [5000]; x[3]: f32 [20]. */
#define WAY(name, op) \
    static acu_op *name(acu_tensor *const *x) \
    { \
        (void)x; \
        return op; \
    }
WAY(softmax, acu_softmax(x[0], 1))
WAY(log_softmax, acu_log_softmax(x[2], 0)) /* in two launches */
WAY(layer_norm, acu_layer_norm(x[0], x[3], 0.5, 1e-5))
WAY(batch_norm, acu_batch_norm(x[0], x[3], acu_square(x[3]), x[3], x[3], 1e-5))
WAY(gather, acu_take_along(x[0], 0, x[1]))
WAY(scatter, acu_scatter(ACU_SCATTER_ADD, x[0], 0, x[1], x[0]))
WAY(pad, acu_pad_by(ACU_PAD_REFLECT, x[0], ACU_SHAPE(2, 3), ACU_SHAPE(1, 0)))
WAY(tile, acu_tile(x[2], ACU_SHAPE(2, 3)))
WAY(repeat, acu_repeat(x[0], 1, 3))
WAY(triangle, acu_triu(x[0], 1))
WAY(sort_by, acu_sort_by(x[1], x[0], 0, ACU_DESCENDING))
WAY(sort_segments, acu_sort_segments(x[2], acu_select(acu_cumsum(x[1], 1), 0, 1), ACU_ASCENDING))
WAY(argsort, acu_argsort(acu_convert(x[2], ACU_F64), 0, ACU_DESCENDING))
WAY(sorted_halves, acu_sort(acu_convert(x[2], ACU_F16), 0, ACU_ASCENDING))
WAY(quantile, acu_quantile(x[0], 0.3, 1))
WAY(histogram_by, acu_histogram_by(x[2], acu_sort(x[3], 0, ACU_ASCENDING)))
WAY(by_key, acu_reduce_by_key(ACU_SCATTER_ADD, x[0], x[1], 6))
WAY(by_many_keys, acu_reduce_by_key(ACU_SCATTER_MAX, x[0], x[1], 5000))
WAY(deviation, acu_std(x[0], ACU_DIMS(1), 1))
WAY(greatest, acu_argmax(x[0], ACU_DIMS(0)))
WAY(all_of, acu_all(acu_lt(x[0], 0.5), ACU_ALL))
WAY(between, acu_clamp(x[0], x[3], 0.75))
WAY(chosen, acu_where(acu_eq(x[1], 3), x[0], 1.5))
WAY(numbers, acu_linspace(ACU_F32, 0, 1, 11))
WAY(eye, acu_eye(ACU_F16, 5))
WAY(uniform, acu_uniform(ACU_F32, ACU_SHAPE(7), -1, 1, 3, 0))
WAY(normal, acu_lognormal(ACU_F32, ACU_SHAPE(7), 0, 1, 3, 0))
WAY(permutation, acu_permutation(3000, 5, 0))
WAY(categorical, acu_categorical(acu_select(x[0], 0, 1), ACU_SHAPE(9), 5, 0))
WAY(bernoulli, acu_bernoulli(ACU_SHAPE(7), 0.25, 3, 0))
WAY(exponential, acu_exponential(ACU_F64, ACU_SHAPE(7), 2, 3, 0))
WAY(randn, acu_randn(ACU_F32, ACU_SHAPE(5), 3, 0))
WAY(flip, acu_flip(x[0], ACU_DIMS(0, 1)))
WAY(tril, acu_tril(x[0], -1))
WAY(searched, acu_searchsorted(acu_sort(x[3], 0, ACU_ASCENDING), x[0], true))
WAY(argsort_segments, acu_argsort_segments(x[3], acu_arange(ACU_I64, 0, 20, 5), ACU_DESCENDING))
WAY(largest_so_far, acu_sub(acu_cummax(x[0], 0), acu_cummin(x[0], 1)))

static void in_every_way(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        way_fn make;
    } ways[] = {
#define NAMED(way) {#way, way}
        NAMED(softmax), NAMED(log_softmax), NAMED(layer_norm), NAMED(batch_norm), NAMED(gather),
        NAMED(scatter), NAMED(pad), NAMED(tile), NAMED(repeat), NAMED(triangle), NAMED(sort_by),
        NAMED(argsort), NAMED(sorted_halves), NAMED(quantile), NAMED(by_key),
        NAMED(by_many_keys), NAMED(deviation), NAMED(greatest), NAMED(all_of), NAMED(between),
        NAMED(chosen), NAMED(numbers), NAMED(eye), NAMED(uniform), NAMED(normal),
        NAMED(permutation), NAMED(categorical), NAMED(sort_segments), NAMED(histogram_by),
        NAMED(bernoulli), NAMED(exponential), NAMED(randn), NAMED(flip), NAMED(tril),
        NAMED(searched), NAMED(argsort_segments), NAMED(largest_so_far)
#undef NAMED
    };
    static float numbers_of[5000];
    static int64_t places[120];
    for (int i = 0; i < 5000; i++)
        numbers_of[i] = (float)(i * 7919 % 1013) / 1013;
    for (int i = 0; i < 120; i++)
        places[i] = i * 7 % 6;
    acu_tensor *const x[] = {tensor_with(device, ACU_F32, ACU_SHAPE(6, 20), numbers_of),
                             tensor_with(device, ACU_I64, ACU_SHAPE(6, 20), places),
                             tensor_with(device, ACU_F32, ACU_SHAPE(5000), numbers_of),
                             tensor_with(device, ACU_F32, ACU_SHAPE(20), numbers_of + 1000)};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        print_message("%s\n", ways[i].name); /* if it does not end, which one that is */
        every_way(device, ways[i].make, x);
    }
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        acu_tensor_release(x[i]);
}

/* The operation that `by_kind` makes. */
static int kind;

enum of { FLOAT, NUMBER, INTEGER, BITS, ANY, FLOAT_C, NUMBER_C, ANY_C, COMPLEX, PARTS };
static const struct {
    int operands;
    enum of of;
} elementwise[] = {
#define ACU_X(id, name, operands, of, result) {operands, of},
    ACU_ELEMENTWISE_OPS(ACU_X)
#undef ACU_X
};

static acu_op *by_kind(acu_tensor *const *x)
{
    const enum of of = elementwise[kind].of;
    acu_op *operands[3];
    for (int i = 0; i < elementwise[kind].operands; i++) {
        acu_tensor *number = of == INTEGER || of == BITS ? x[1] : x[0];
        operands[i] = of == COMPLEX ? acu_complex(number, 0.5) : acu_value(number);
        if (kind == ACU_OP_WHERE && i == 0)
            operands[i] = acu_not(operands[i]);
    }
    return acu_op_elementwise((acu_elementwise)kind, operands,
                              (size_t)elementwise[kind].operands, ACU_SITE);
}

static acu_op *by_reduction(acu_tensor *const *x)
{
    acu_op *of = kind == ACU_REDUCE_ANY || kind == ACU_REDUCE_ALL ? acu_lt(x[0], 0.5)
                                                                  : acu_value(x[0]);
    return acu_op_reduce((acu_reduction)kind, of, ACU_KEEP(1), ACU_SITE);
}

static void each_kind(void **state)
{
    (void)state;
    const float numbers_of[] = {0.25f, 0.5f, 1, 0.75f, 0.125f, 0.375f};
    const int64_t places[] = {1, 0, 3, 7, 2, 5};
    acu_tensor *const x[] = {tensor_with(device, ACU_F32, ACU_SHAPE(2, 3), numbers_of),
                             tensor_with(device, ACU_I64, ACU_SHAPE(2, 3), places)};
    for (kind = 0; kind < ACU_ELEMENTWISE_COUNT; kind++)
        every_way(device, by_kind, x);
    for (kind = 0; kind < ACU_REDUCTION_COUNT; kind++)
        every_way(device, by_reduction, x);
    acu_tensor_release(x[0]);
    acu_tensor_release(x[1]);
}

/* A full reduction is [1], and without dimensions by a view. */
static void without_dimensions(void **state)
{
    (void)state;
    const float two[] = {1.5f, 2};
    acu_tensor *x = tensor_with(device, ACU_F32, ACU_SHAPE(2), two);
    float *one = result_of(device, acu_sum(x, ACU_ALL), ACU_F32, ACU_SHAPE(1));
    acu_op *none = acu_reshape(acu_sum(x, ACU_ALL), ACU_RANK_0);
    float *alone = result_of(device, none, ACU_F32, ACU_RANK_0);
    assert_true(*one == 3.5f && *alone == 3.5f);
    free(one);
    free(alone);
    acu_tensor_release(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {DEVICE_TEST(in_every_way), DEVICE_TEST(each_kind),
                                       DEVICE_TEST(without_dimensions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
