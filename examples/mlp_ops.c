/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The demo's network (mlp.c) without kernels of its own: the same perceptron, 64-64-10, learns the
 * same digits by built-in operations, on one device. A step of training is one composed operation.
 * Its batch is rows of the digits on the device, by their numbers. mlp.c's own kernels do a step in
 * a few launches, where this takes many; this is what is quicker to write.
 */
#include "example.h"
#include "mlp_data.h"

enum { BATCH = 64, EPOCHS = 12, HIDDEN = 64, CLASSES = 10, PARAMS = 4 };
static const double RATE = 0.2, MOMENTUM = 0.9;

typedef struct model {
    acu_device *device;
    acu_tensor *w[PARAMS], *velocity[PARAMS]; /* W1 [64, 64], b1 [64], W2 [64, 10], b2 [10] */
    acu_tensor *x, *labels;                   /* all digits: f32 [n, 64], i32 [n, 1] */
} model;

static acu_tensor *made(const model *m, acu_op *op)
{
    acu_tensor *tensor;
    check(acu_sync(m->device, op, &tensor));
    return tensor;
}

static void make_model(model *m)
{
    const acu_shape shapes[PARAMS] = {ACU_SHAPE(DIGIT_PIXELS, HIDDEN), ACU_SHAPE(HIDDEN),
                                      ACU_SHAPE(HIDDEN, CLASSES), ACU_SHAPE(CLASSES)};
    for (int i = 0; i < PARAMS; i++) {
        m->velocity[i] = made(m, acu_zeros(ACU_F32, shapes[i]));
        m->w[i] = made(m, i % 2 ? acu_zeros(ACU_F32, shapes[i])
                                : acu_normal(ACU_F32, shapes[i], 0, 0.17, (uint64_t)(1 + i), 0));
    }
}

static void put_digits(model *m, const digits *data)
{
    acu_tensor *x, *labels;
    check(acu_tensor_alloc_pinned(m->device, ACU_F32, ACU_SHAPE(data->count, DIGIT_PIXELS), &x));
    check(acu_tensor_alloc_pinned(m->device, ACU_I32, ACU_SHAPE(data->count, 1), &labels));
    for (int i = 0; i < data->count; i++) {
        for (int p = 0; p < DIGIT_PIXELS; p++)
            ((float *)acu_tensor_host(x))[i * DIGIT_PIXELS + p] = data->list[i].pixel[p];
        ((int32_t *)acu_tensor_host(labels))[i] = data->list[i].label;
    }
    acu_tensor_release(m->x);
    acu_tensor_release(m->labels);
    m->x = made(m, acu_to_device(m->device, x));
    m->labels = made(m, acu_to_device(m->device, labels));
    acu_tensor_release(x);
    acu_tensor_release(labels);
}

static acu_op *turned(acu_op *x)
{
    return acu_transpose(x, 0, 1);
}

/* velocity = momentum velocity + gradient; w -= rate velocity */
static acu_op *learn(const model *m, int i, acu_op *gradient)
{
    acu_tensor *velocity = m->velocity[i];
    acu_op *now = acu_into(velocity, acu_fma(velocity, MOMENTUM, gradient));
    return acu_into(m->w[i], acu_fma(now, -RATE, m->w[i]));
}

/* Forward, backward and update, for the digits of the batch, i32 [BATCH]. All that is used twice is
 * retained once. The weights change last: a step reads what the one before it has written. */
static acu_op *step(const model *m, acu_op *batch)
{
    batch = acu_op_retain(batch);
    acu_op *x = acu_op_retain(acu_index_select(m->x, 0, batch));
    acu_op *labels = acu_index_select(m->labels, 0, batch);
    acu_op *h = acu_relu(acu_add(acu_matmul(x, m->w[0]), m->w[1]));
    h = acu_op_retain(acu_op_retain(h));
    acu_op *p = acu_softmax(acu_add(acu_matmul(h, m->w[2]), m->w[3]), 1);
    acu_op *is_class = acu_eq(labels, acu_arange(ACU_I32, 0, CLASSES, 1));
    acu_op *error = acu_mul(acu_sub(p, acu_convert(is_class, ACU_F32)), 1.0 / BATCH);
    error = acu_op_retain(acu_op_retain(error));
    acu_op *back = acu_matmul(error, acu_transpose(m->w[2], 0, 1)); /* to the hidden layer */
    back = acu_op_retain(acu_where(acu_gt(h, 0), back, 0));
    acu_op *w1 = acu_matmul(turned(x), back), *b1 = acu_sum(back, ACU_DIMS(0));
    acu_op *w2 = acu_matmul(turned(h), error), *b2 = acu_sum(error, ACU_DIMS(0));
    return acu_zip(learn(m, 0, w1), learn(m, 1, b1), learn(m, 2, w2), learn(m, 3, b2));
}

/* The share of the digits that are read correctly. */
static double accuracy(const model *m)
{
    acu_op *h = acu_relu(acu_add(acu_matmul(m->x, m->w[0]), m->w[1]));
    acu_op *best = acu_argmax(acu_add(acu_matmul(h, m->w[2]), m->w[3]), ACU_KEEP(1));
    acu_op *right = acu_eq(best, acu_convert(m->labels, ACU_I64));
    double share;
    check(acu_read_f64_wait(m->device, acu_mean(acu_convert(right, ACU_F32), ACU_ALL), &share));
    return share;
}

static void train(const model *m, int count)
{
    acu_tensor *order;
    check(acu_tensor_alloc(m->device, ACU_I32, ACU_SHAPE(count), &order));
    for (int epoch = 1; epoch <= EPOCHS; epoch++) {
        int *shuffled = shuffled_order(count, epoch);
        check(acu_write_sync(order, shuffled, (size_t)count * sizeof *shuffled));
        free(shuffled);
        for (int first = 0; first + BATCH <= count; first += BATCH) {
            acu_op *batch = acu_slice(order, ACU_SHAPE(first), ACU_SHAPE(first + BATCH));
            check(acu_submit(m->device, step(m, batch), NULL, NULL));
        }
        printf("epoch %2d of %d: %5.2f %% right\n", epoch, EPOCHS, 100 * accuracy(m));
    }
    acu_tensor_release(order);
}

int main(int argc, char **argv)
{
    model m = {.device = open_device()};
    digits data, held_out;
    read_digits(argc > 1 ? argv[1] : NULL, &data, &held_out);
    make_model(&m);
    put_digits(&m, &data);
    train(&m, data.count);
    put_digits(&m, &held_out);
    double share = accuracy(&m);
    printf("held out: %.2f %% right\n", 100 * share);
    for (int i = 0; i < PARAMS; i++) {
        acu_tensor_release(m.w[i]);
        acu_tensor_release(m.velocity[i]);
    }
    acu_tensor_release(m.x);
    acu_tensor_release(m.labels);
    check(acu_close(m.device));
    free_digits(&data, &held_out);
    return share >= 0.95 ? 0 : 1;
}
