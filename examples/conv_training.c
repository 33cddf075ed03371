/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A layer of a network is trained by the operations of dnn.h, by cuDNN where that is found: a
 * convolution whose weights begin as zeros learns those of a hidden one from what it gives. A step
 * is one composed operation, forward, the loss's gradient, the weights' gradient and their update;
 * it is made a graph, which is replayed. Then the layer is compared with acuda's own convolution.
 *
 *     conv_training [ACTIVATION]   0: none; 1, the default: relu behind the layer that is compared
 */
#include "example.h"

#include <math.h>

enum { BATCH = 16, CHANNELS = 8, FILTERS = 16, SIDE = 12, WINDOW = 3, STEPS = 30 };

typedef struct layer {
    acu_device *device;
    acu_tensor *x, *wanted; /* [BATCH, CHANNELS or FILTERS, SIDE, SIDE] */
    acu_tensor *hidden, *weight, *bias;
} layer;

static acu_dnn_conv_options same(void)
{
    return (acu_dnn_conv_options){.size = sizeof(acu_dnn_conv_options), .padding = {1, 1}};
}

static acu_tensor *made(const layer *l, acu_op *op)
{
    acu_tensor *tensor;
    check(acu_sync(l->device, op, &tensor));
    return tensor;
}

static void make_layer(layer *l)
{
    acu_shape shape = ACU_SHAPE(FILTERS, CHANNELS, WINDOW, WINDOW);
    acu_dnn_conv_options by = same();
    l->x = made(l, acu_randn(ACU_F32, ACU_SHAPE(BATCH, CHANNELS, SIDE, SIDE), 1, 0));
    l->hidden = made(l, acu_randn(ACU_F32, shape, 2, 0));
    l->weight = made(l, acu_zeros(ACU_F32, shape));
    l->bias = made(l, acu_randn(ACU_F32, ACU_SHAPE(FILTERS), 3, 0));
    l->wanted = made(l, acu_dnn_conv(l->x, l->hidden, &by));
}

/* weight -= rate dweight, for the gradient (y - wanted) of half the squared error */
static acu_op *step(const layer *l)
{
    acu_dnn_conv_options by = same();
    acu_op *dy = acu_sub(acu_dnn_conv(l->x, l->weight, &by), l->wanted);
    acu_op *dw = acu_dnn_conv_weight_gradient(l->x, dy, acu_tensor_shape(l->weight), &by);
    return acu_into(l->weight, acu_fma(dw, -0.5 / (BATCH * SIDE * SIDE), l->weight));
}

/* The greatest difference between the two. */
static double apart(const layer *l, acu_op *a, acu_op *b)
{
    acu_tensor *most = made(l, acu_max_of(acu_abs(acu_sub(a, b)), ACU_ALL));
    float value;
    check(acu_read_sync(most, &value, sizeof value));
    acu_tensor_release(most);
    return (double)value;
}

static double from_own(const layer *l, acu_dnn_activation activation)
{
    acu_window_options own = {.size = sizeof own, .padding = {1, 1}};
    acu_dnn_conv_options by = same();
    by.bias = acu_value(l->bias);
    by.activation = activation;
    acu_op *y = acu_conv(l->x, l->weight, l->bias, &own);
    return apart(l, acu_dnn_conv(l->x, l->weight, &by), activation ? acu_relu(y) : y);
}

int main(int argc, char **argv)
{
    acu_dnn_activation activation = argc > 1 && atoi(argv[1]) == 0 ? ACU_DNN_NONE : ACU_DNN_RELU;
    layer l = {.device = open_device()};
    acu_graph *graph;
    make_layer(&l);
    check(acu_graph_load(l.device, step(&l), NULL, &graph));
    double before = apart(&l, acu_value(l.weight), acu_value(l.hidden));
    for (int i = 0; i < STEPS; i++)
        check(acu_submit(l.device, acu_replay(graph), NULL, NULL));
    double after = apart(&l, acu_value(l.weight), acu_value(l.hidden)), own;
    own = from_own(&l, activation);
    const char *path = acu_vendor_path(ACU_VENDOR_CUDNN);
    printf("weights %.2f apart from the hidden ones before, %.4f after %d steps, by %s\n", before,
           after, STEPS, path ? path : "acuda's own kernels");
    printf("the layer is %.1g apart from acu_conv\n", own);
    acu_graph_release(graph);
    acu_tensor *const all[] = {l.x, l.wanted, l.hidden, l.weight, l.bias};
    for (int i = 0; i < 5; i++)
        acu_tensor_release(all[i]);
    check(acu_close(l.device));
    return after < 0.1 && own < 1e-3 ? 0 : 1;
}
