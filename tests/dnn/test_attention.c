/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Attention by cuDNN against sums in double; on the software device by a library that poses as it
 * (fake_attention.c). */
#include "dnn/layers.h"

typedef struct attention {
    int64_t batch, heads, groups, queries, keys, width;
} attention;

static const attention square = {2, 4, 4, 16, 16, 64};
static const attention grouped = {1, 4, 2, 8, 24, 32};
static const attention one_query = {2, 2, 1, 1, 40, 128};

static acu_shape shape_of(const attention *a, bool of_keys)
{
    return ACU_SHAPE(a->batch, of_keys ? a->groups : a->heads, of_keys ? a->keys : a->queries,
                     a->width);
}

static void row(const attention *a, bool causal, const double *q, const double *k, const double *v,
                double scale, int64_t query, double *to)
{
    double *weights = malloc((size_t)a->keys * sizeof *weights), most = -INFINITY, sum = 0;
    int64_t seen = causal ? a->keys - a->queries + query + 1 : a->keys;
    for (int64_t j = 0; j < seen; j++) {
        weights[j] = 0;
        for (int64_t d = 0; d < a->width; d++)
            weights[j] += scale * q[d] * k[j * a->width + d];
        most = fmax(most, weights[j]);
    }
    for (int64_t j = 0; j < seen; j++)
        sum += weights[j] = exp(weights[j] - most);
    for (int64_t d = 0; d < a->width; d++) {
        to[d] = 0;
        for (int64_t j = 0; j < seen; j++)
            to[d] += weights[j] / sum * v[j * a->width + d];
    }
    free(weights);
}

static double *expected(const attention *a, bool causal, double scale, const double *q,
                        const double *k, const double *v)
{
    int64_t rows = a->batch * a->heads * a->queries, keys = a->keys * a->width;
    double *y = malloc((size_t)(rows * a->width) * sizeof *y);
    for (int64_t r = 0; r < rows; r++) {
        int64_t head = r / a->queries % a->heads, batch = r / a->queries / a->heads;
        int64_t group = batch * a->groups + head / (a->heads / a->groups);
        row(a, causal, q + r * a->width, k + group * keys, v + group * keys, scale,
            r % a->queries, y + r * a->width);
    }
    return y;
}

/* [batch, heads, rows, width] as a view of [batch, rows, heads, width], as projections give it. */
static acu_tensor *by_rows(acu_device *device, acu_dtype dtype, acu_shape shape,
                           const double *numbers)
{
    acu_tensor *dense = layer_tensor(device, dtype, shape, numbers, 0), *made;
    acu_op *op = acu_transpose(acu_dup(acu_transpose(dense, 1, 2)), 1, 2);
    assert_works(acu_sync(device, op, &made));
    acu_tensor_release(dense);
    return made;
}

/* bits: 1 causal, 2 by rows, 4 a scale, 8 rows with gaps, 16 into a tensor by rows */
static void attend(acu_device *device, const attention *a, acu_dtype dtype, int how)
{
    acu_shape of_q = shape_of(a, false), of_k = shape_of(a, true);
    double *q = layer_numbers(of_q), *k = layer_numbers(of_k),
           *v = layer_numbers(of_k);
    acu_attention_options o = {.size = sizeof o, .causal = how & 1, .scale = how & 4 ? 0.5 : 0};
    double *want = expected(a, o.causal, how & 4 ? 0.5 : 1 / sqrt((double)a->width), q, k, v);
    int gaps = how & 8 ? 4 : 0;
    acu_tensor *x = how & 2 ? by_rows(device, dtype, of_q, q)
                            : layer_tensor(device, dtype, of_q, q, gaps);
    acu_tensor *y = how & 2 ? by_rows(device, dtype, of_k, k)
                            : layer_tensor(device, dtype, of_k, k, gaps);
    acu_tensor *z = layer_tensor(device, dtype, of_k, v, gaps), *to = NULL;
    acu_op *op = acu_dnn_attention(x, y, z, &o);
    if (how & 16) {
        to = by_rows(device, dtype, of_q, q);
        assert_works(acu_sync(device, acu_into(to, op), NULL));
        op = acu_dup(to);
    }
    layer_is(device, op, of_q, want, false, "attention");
    acu_tensor_release(x);
    acu_tensor_release(y);
    acu_tensor_release(z);
    acu_tensor_release(to);
    free(q);
    free(k);
    free(v);
    free(want);
}

static void attentions(void **state)
{
    (void)state;
    acu_device *device = open_dnn();
    if (test_on_gpu() && acu_device_info_of(device)->compute_major < 8) {
        test_close(device);
        skip();
    }
    static const int hows[] = {0, 4, 1, 5, 2, 3, 8, 16, 31}; /* a plan may take seconds on a GPU */
    for (size_t i = 0; i < sizeof hows / sizeof *hows; i++)
        attend(device, &square, hows[i] & 1 ? ACU_BF16 : ACU_F16, hows[i]);
    for (int how = 0; how < 4; how++)
        attend(device, &grouped, ACU_F16, how);
    attend(device, &one_query, ACU_BF16, 1);
    with_end(device);
}

static void without_cudnn(void **state)
{
    (void)state;
    acu_device *device = open_without_dnn();
    for (int how = 0; how < 4; how++)
        attend(device, &grouped, ACU_F16, how);
    end_without_dnn(device);
}

static void refuses(acu_device *device, acu_dtype dtype, acu_shape q, acu_shape k, acu_shape v,
                    acu_attention_options o, acu_status status, const char *words)
{
    o.size = sizeof o;
    acu_op *op = acu_dnn_attention(acu_ones(dtype, q), acu_ones(dtype, k), acu_ones(dtype, v), &o);
    assert_fails(acu_sync(device, op, NULL), status, words);
}

static void refusals(void **state)
{
    (void)state;
    acu_device *device = open_dnn();
    acu_attention_options none = {0}, causal = {.causal = true}, below = {.scale = -1};
    acu_shape q = ACU_SHAPE(1, 4, 8, 32), k = ACU_SHAPE(1, 2, 6, 32);
    refuses(device, ACU_F32, q, k, k, none, ACU_ERR_DTYPE, "f16 or bf16");
    refuses(device, ACU_F16, q, ACU_SHAPE(1, 3, 6, 32), ACU_SHAPE(1, 3, 6, 32), none,
            ACU_ERR_SHAPE, "must be a multiple of its own");
    refuses(device, ACU_F16, q, k, ACU_SHAPE(1, 2, 6, 16), none, ACU_ERR_SHAPE, "shape of k");
    refuses(device, ACU_F16, q, ACU_SHAPE(2, 6, 32), k, none, ACU_ERR_SHAPE,
            "[batch, heads, rows, width]");
    refuses(device, ACU_F16, ACU_SHAPE(1, 2, 3, 12), ACU_SHAPE(1, 2, 3, 12),
            ACU_SHAPE(1, 2, 3, 12), none, ACU_ERR_SHAPE, "multiple of 8");
    refuses(device, ACU_F16, q, k, k, causal, ACU_ERR_SHAPE, "more queries than keys");
    refuses(device, ACU_F16, q, k, k, below, ACU_ERR_INVALID, "the scale is -1");
    with_end(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(without_cudnn),
                                       cmocka_unit_test(attentions), cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
