/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A small convolutional network reads handwritten digits: by cuDNN where that is found, else by
 * acuda's own kernels, with weights that examples/data/train_convnet.py has learned. The network is
 * one composed operation. It is submitted once for all digits that were held out, and then made a
 * graph, which is replayed on one batch after the other: a replay is one launch. Both give the same
 * numbers.
 *
 *     convnet [digits.csv [convnet.f32 [FILE]]]    FILE: where the ten numbers of each digit go
 */
#include "example.h"
#include "mlp_data.h"

#include <string.h>

enum { BATCH = 64, CLASSES = 10, WEIGHTS = 6, NUMBERS = 9930 };

typedef struct network {
    acu_device *device;
    acu_tensor *weight[WEIGHTS]; /* weight and bias of two convolutions and of a linear layer */
} network;

static void read_weights(network *n, const char *path)
{
    static const int64_t shapes[WEIGHTS][5] = {{4, 16, 1, 3, 3}, {1, 16},       {4, 32, 16, 3, 3},
                                               {1, 32},          {2, 512, 10}, {1, 10}};
    static float numbers[NUMBERS];
    const char *tries[] = {path, "examples/data/convnet.f32", EXAMPLES_DATA "/convnet.f32"};
    FILE *file = NULL;
    for (int i = 0; i < 3 && !file; i++)
        file = tries[i] ? fopen(tries[i], "rb") : NULL;
    if (!file || fread(numbers, sizeof(float), NUMBERS, file) != NUMBERS) {
        fprintf(stderr, "convnet.f32 was not found, or is too short\n");
        exit(1);
    }
    fclose(file);
    const float *at = numbers;
    for (int i = 0; i < WEIGHTS; i++) {
        acu_shape shape = {.rank = (int)shapes[i][0]};
        for (int d = 0; d < shape.rank; d++)
            shape.dim[d] = shapes[i][1 + d];
        check(acu_tensor_alloc(n->device, ACU_F32, shape, &n->weight[i]));
        check(acu_write_sync(n->weight[i], at, acu_tensor_bytes(n->weight[i])));
        at += acu_shape_elements(shape);
    }
}

/* Of 3 by 3, with padding, bias and relu. */
static acu_op *convolve(acu_op *x, acu_tensor *weight, acu_tensor *bias)
{
    acu_dnn_conv_options by = {.size = sizeof by,
                               .padding = {1, 1},
                               .bias = acu_value(bias),
                               .activation = ACU_DNN_RELU};
    return acu_dnn_conv(x, weight, &by);
}

/* Images [count, 1, 8, 8] become logits [count, 10]. */
static acu_op *logits(const network *n, acu_tensor *images)
{
    acu_tensor *const *w = n->weight;
    acu_op *x = convolve(acu_value(images), w[0], w[1]);
    x = convolve(x, w[2], w[3]);
    x = acu_dnn_pool(ACU_POOL_MAX, x, ACU_SHAPE(2, 2), NULL);
    x = acu_reshape(x, ACU_SHAPE(acu_tensor_shape(images).dim[0], 512));
    return acu_add(acu_matmul(x, w[4]), w[5]);
}

static void all_at_once(const network *n, const digits *data, float *numbers)
{
    acu_tensor *images, *result;
    check(acu_tensor_alloc_pinned(n->device, ACU_F32, ACU_SHAPE(data->count, 1, 8, 8), &images));
    for (int i = 0; i < data->count; i++)
        memcpy((float *)acu_tensor_host(images) + i * DIGIT_PIXELS, data->list[i].pixel,
               sizeof data->list[i].pixel);
    acu_tensor *there;
    check(acu_sync(n->device, acu_to_device(n->device, images), &there));
    check(acu_sync(n->device, logits(n, there), &result));
    check(acu_read_sync(result, numbers, acu_tensor_bytes(result)));
    acu_tensor_release(images);
    acu_tensor_release(there);
    acu_tensor_release(result);
}

/* The graph reads the same tensor every time, which is written between the replays. */
static void by_replays(const network *n, const digits *data, float *numbers)
{
    static float pixels[BATCH][DIGIT_PIXELS], some[BATCH][CLASSES];
    acu_tensor *images;
    acu_graph *graph;
    check(acu_tensor_alloc(n->device, ACU_F32, ACU_SHAPE(BATCH, 1, 8, 8), &images));
    check(acu_write_sync(images, pixels, sizeof pixels));
    check(acu_graph_load(n->device, logits(n, images), NULL, &graph));
    for (int first = 0; first < data->count; first += BATCH) {
        int count = data->count - first < BATCH ? data->count - first : BATCH;
        for (int i = 0; i < count; i++)
            memcpy(pixels[i], data->list[first + i].pixel, sizeof pixels[i]);
        check(acu_write_sync(images, pixels, sizeof pixels));
        check(acu_submit(n->device, acu_replay(graph), NULL, NULL));
        check(acu_read_sync(acu_graph_tensor(graph, 0), some, sizeof some));
        memcpy(numbers + first * CLASSES, some, (size_t)count * sizeof *some);
    }
    acu_graph_release(graph);
    acu_tensor_release(images);
}

static int right_ones(const digits *data, const float *numbers)
{
    int right = 0;
    for (int i = 0; i < data->count; i++) {
        const float *of = numbers + i * CLASSES;
        int best = 0;
        for (int c = 1; c < CLASSES; c++)
            best = of[c] > of[best] ? c : best;
        right += best == data->list[i].label;
    }
    return right;
}

static void save(const char *path, const float *numbers, size_t count)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(numbers, sizeof *numbers, count, file) != count || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    network n = {.device = open_device()};
    digits data, held_out;
    read_digits(argc > 1 ? argv[1] : NULL, &data, &held_out);
    read_weights(&n, argc > 2 ? argv[2] : NULL);
    size_t count = (size_t)held_out.count * CLASSES;
    float *once = calloc(count, sizeof *once), *replayed = calloc(count, sizeof *replayed);
    if (!once || !replayed)
        return 1;
    all_at_once(&n, &held_out, once);
    by_replays(&n, &held_out, replayed);
    float worst = 0;
    for (size_t i = 0; i < count; i++) { /* a library's product may sum 64 rows in another order */
        float d = once[i] - replayed[i];
        worst = d > worst ? d : -d > worst ? -d : worst;
    }
    int right = right_ones(&held_out, replayed);
    printf("%d of %d digits read correctly (%.2f %%); a graph differs by at most %g\n", right,
           held_out.count, 100.0 * right / held_out.count, (double)worst);
    int cudnn = acu_vendor_version(ACU_VENDOR_CUDNN); /* 0: none was found */
    printf("convolutions by %s", cudnn ? "cuDNN " : "acuda's own kernels\n");
    if (cudnn)
        printf("%d.%d\n", cudnn / 10000, cudnn % 10000 / 100);
    if (argc > 3)
        save(argv[3], replayed, count);
    for (int i = 0; i < WEIGHTS; i++)
        acu_tensor_release(n.weight[i]);
    check(acu_close(n.device));
    free(once);
    free(replayed);
    free_digits(&data, &held_out);
    return right * 100 >= held_out.count * 98 && worst < 1e-3f ? 0 : 1;
}
