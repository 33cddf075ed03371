/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The demo: a two-layer perceptron learns to read handwritten digits, on all devices there are.
 * Each device holds a replica of the model (two if it is the only one), and each step takes another
 * batch. A replica's step is one composed operation: copy in the gradients of all replicas, update
 * the weights by their mean, copy in the batch, forward, backward. It reads what the others wrote
 * in the step before, so each replica keeps two gradients and writes them in turn. The host only
 * prepares batches meanwhile: order comes from the data, and it waits for the last step but one.
 * mlp [DIGITS.CSV [EPOCHS]]
 */
#include "example.h"
#include "mlp_data.h"

extern const char mlp_ptx[];

enum { BATCH = 64, PARAMS = 4810, WORK = 148, TILE = 128, MOST = 8 };
static const float RATE = 0.2f, MOMENTUM = 0.9f;

typedef struct replica {
    acu_device *device;
    acu_kernel *init, *forward, *errors, *gradients, *add, *update;
    acu_tensor *params, *velocity, *gradient[2], *sum, *inbox; /* f32 [PARAMS] */
    acu_tensor *x, *labels, *work, *stats;
    acu_tensor *host_x[2], *host_labels[2]; /* pinned: one is filled while the other is copied */
    acu_future *step[2];                    /* the last step that used them */
} replica;

static replica replicas[MOST];
static int replica_count;

static acu_tensor *device_tensor(const replica *r, acu_dtype dtype, acu_shape shape)
{
    acu_tensor *tensor;
    check(acu_sync(r->device, acu_zeros(dtype, shape), &tensor));
    return tensor;
}

static acu_kernel *kernel(acu_module *module, const char *name, const char *signature)
{
    acu_kernel *k = get_kernel(module, name);
    check(acu_kernel_declare(k, signature)); /* launches are checked against it */
    return k;
}

static void open_replica(replica *r, acu_device *device)
{
    r->device = acu_device_retain(device);
    acu_module *module = load_module(device, mlp_ptx);
    r->init = kernel(module, "mlp_init", "tile f32, u32");
    r->forward = kernel(module, "mlp_forward", "in f32, in f32, in i32, inout f32, inout f32");
    r->errors = kernel(module, "mlp_errors", "in f32, in i32, inout f32, u32");
    r->gradients = kernel(module, "mlp_gradients", "tile f32, in f32, in f32, u32");
    r->add = kernel(module, "mlp_add", "tile f32, in f32");
    r->update = kernel(module, "mlp_update", "tile f32, tile f32, in f32, f32, f32, f32");
    acu_module_release(module); /* its kernels keep it */
    acu_tensor **vectors[] = {&r->params,      &r->velocity, &r->gradient[0],
                              &r->gradient[1], &r->sum,      &r->inbox};
    for (int i = 0; i < 6; i++)
        *vectors[i] = device_tensor(r, ACU_F32, ACU_SHAPE(PARAMS));
    r->x = device_tensor(r, ACU_F32, ACU_SHAPE(BATCH, DIGIT_PIXELS));
    r->labels = device_tensor(r, ACU_I32, ACU_SHAPE(BATCH));
    r->work = device_tensor(r, ACU_F32, ACU_SHAPE(BATCH, WORK));
    r->stats = device_tensor(r, ACU_F32, ACU_SHAPE(2));
    for (int i = 0; i < 2; i++) {
        check(acu_tensor_alloc_pinned(device, ACU_F32, ACU_SHAPE(BATCH, DIGIT_PIXELS),
                                      &r->host_x[i]));
        check(acu_tensor_alloc_pinned(device, ACU_I32, ACU_SHAPE(BATCH), &r->host_labels[i]));
    }
}

/* A vector of parameters, in tiles for a kernel to write. */
static acu_op *tiles(acu_tensor *vector)
{
    return acu_partition(vector, ACU_SHAPE(TILE));
}

/* Computes the mean of all replicas' gradients of the previous step, and updates by it. All
 * replicas add in the same order, so they stay equal to the last bit. */
static acu_op *apply_gradients(replica *r, int turn)
{
    acu_op *ops[2 * MOST + 1];
    size_t n = 0;
    ops[n++] = acu_copy(r->sum, replicas[0].gradient[turn]);
    for (int i = 1; i < replica_count; i++) {
        ops[n++] = acu_copy(r->inbox, replicas[i].gradient[turn]);
        ops[n++] = acu_launch(r->add, ACU_BLOCK(TILE), acu_inout(tiles(r->sum)), acu_in(r->inbox));
    }
    ops[n++] = acu_launch(r->update, ACU_BLOCK(TILE), acu_inout(tiles(r->params)),
                          acu_inout(tiles(r->velocity)), acu_in(r->sum),
                          acu_f32(1.0f / (float)replica_count), acu_f32(RATE), acu_f32(MOMENTUM));
    return acu_op_zip(ops, n, ACU_SITE);
}

static acu_op *learn_batch(replica *r, int turn)
{
    acu_op *input = acu_zip(acu_copy(r->x, r->host_x[turn]),
                            acu_copy(r->labels, r->host_labels[turn]));
    acu_op *forward = acu_launch(r->forward, ACU_GRID_BLOCK(BATCH, 1, 1, 64, 1, 1),
                                 acu_in(r->params), acu_in(r->x), acu_in(r->labels),
                                 acu_inout(r->work), acu_inout(r->stats));
    acu_op *errors = acu_launch(r->errors, ACU_GRID_BLOCK(BATCH, 1, 1, 64, 1, 1),
                                acu_in(r->params), acu_in(r->labels), acu_inout(r->work),
                                acu_u32(BATCH));
    acu_op *backward = acu_launch(r->gradients, ACU_BLOCK(TILE),
                                  acu_out(tiles(r->gradient[turn])), acu_in(r->x),
                                  acu_in(r->work), acu_u32(BATCH));
    return acu_zip(input, forward, errors, backward);
}

/* Fill the staging tensors that the step before the last has finished with. */
static void prepare_batch(replica *r, int turn, const digits *data, const int *order, int first)
{
    if (r->step[turn])
        check(acu_future_wait(r->step[turn], ACU_FOREVER));
    acu_future_release(r->step[turn]);
    float *x = acu_tensor_host(r->host_x[turn]);
    int32_t *labels = acu_tensor_host(r->host_labels[turn]);
    for (int i = 0; i < BATCH; i++) {
        const digit *d = &data->list[order[first + i]];
        for (int p = 0; p < DIGIT_PIXELS; p++)
            x[i * DIGIT_PIXELS + p] = d->pixel[p];
        labels[i] = d->label;
    }
}

static void submit_step(replica *r, int turn)
{
    acu_op *step = acu_zip(apply_gradients(r, 1 - turn), learn_batch(r, turn));
    acu_submit_options options = {.size = sizeof options, .name = "step"};
    check(acu_submit(r->device, step, &options, &r->step[turn]));
}

/* Loss and number of right answers since the last call, over all replicas. */
static void take_stats(float *loss, float *right)
{
    *loss = *right = 0.0f;
    for (int i = 0; i < replica_count; i++) {
        float stats[2];
        check(acu_read_sync(replicas[i].stats, stats, sizeof stats));
        check(acu_submit(replicas[i].device, acu_fill(replicas[i].stats, acu_f32(0)), NULL, NULL));
        *loss += stats[0];
        *right += stats[1];
    }
}

/* The share of held-out digits that the first replica reads correctly. */
static float evaluate(const digits *data)
{
    replica *r = &replicas[0];
    float stats[2];
    acu_tensor *x, *labels;
    check(acu_tensor_alloc_pinned(r->device, ACU_F32, ACU_SHAPE(data->count, DIGIT_PIXELS), &x));
    check(acu_tensor_alloc_pinned(r->device, ACU_I32, ACU_SHAPE(data->count), &labels));
    for (int i = 0; i < data->count; i++) {
        for (int p = 0; p < DIGIT_PIXELS; p++)
            ((float *)acu_tensor_host(x))[i * DIGIT_PIXELS + p] = data->list[i].pixel[p];
        ((int32_t *)acu_tensor_host(labels))[i] = data->list[i].label;
    }
    acu_op *forward = acu_launch(r->forward, ACU_GRID_BLOCK(data->count, 1, 1, 64, 1, 1),
                                 acu_in(r->params), acu_in(acu_to_device(r->device, x)),
                                 acu_in(acu_to_device(r->device, labels)),
                                 acu_inout(acu_empty(ACU_F32, ACU_SHAPE(data->count, WORK))),
                                 acu_inout(acu_zeros(ACU_F32, ACU_SHAPE(2))));
    acu_tensor *result;
    check(acu_sync(r->device, acu_last(forward), &result));
    check(acu_read_sync(result, stats, sizeof stats));
    acu_tensor_release(result);
    acu_tensor_release(x);
    acu_tensor_release(labels);
    return stats[1] / (float)data->count;
}

static void train(const digits *data, int epochs)
{
    int *order = shuffled_order(data->count, 0), turn = 0;
    int per_step = BATCH * replica_count, steps = data->count / per_step;
    for (int epoch = 1; epoch <= epochs; epoch++) {
        float loss, right, seen = (float)(steps * per_step);
        for (int step = 0; step < steps; step++, turn = 1 - turn)
            for (int i = 0; i < replica_count; i++) {
                prepare_batch(&replicas[i], turn, data, order, step * per_step + i * BATCH);
                submit_step(&replicas[i], turn);
            }
        take_stats(&loss, &right);
        printf("epoch %2d of %d: loss %.4f, accuracy %5.2f %%\n", epoch, epochs, loss / seen,
               100.0f * right / seen);
        free(order);
        order = shuffled_order(data->count, epoch);
    }
    for (int i = 0; i < replica_count; i++) /* the last step's gradients */
        check(acu_submit(replicas[i].device, apply_gradients(&replicas[i], 1 - turn), NULL, NULL));
    free(order);
}

static void close_replica(replica *r)
{
    acu_tensor *tensors[] = {r->params, r->velocity, r->gradient[0], r->gradient[1],
                             r->sum, r->inbox, r->x, r->labels, r->work, r->stats,
                             r->host_x[0], r->host_x[1], r->host_labels[0], r->host_labels[1]};
    acu_kernel *kernels[] = {r->init, r->forward, r->errors, r->gradients, r->add, r->update};
    for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++)
        acu_tensor_release(tensors[i]);
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        acu_kernel_release(kernels[i]);
    acu_future_release(r->step[0]);
    acu_future_release(r->step[1]);
    acu_device_release(r->device);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0); /* show progress through a pipe too */
    acu_device *devices[MOST];
    acu_open_options options = {.size = sizeof options, .allow_software = true};
    int count;
    check(acu_device_count_load(&options, &count));
    count = count > MOST ? MOST : count;
    replica_count = count == 1 ? 2 : count;
    for (int i = 0; i < count; i++) {
        options.ordinal = i;
        check(acu_open(&options, &devices[i]));
        printf("device %d: %s\n", i, acu_device_info_of(devices[i])->name);
    }
    digits data, held_out;
    read_digits(argc > 1 ? argv[1] : NULL, &data, &held_out);
    printf("%d replicas, %d digits to learn from, %d held out\n", replica_count, data.count,
           held_out.count);
    uint64_t start = acu_now();
    for (int i = 0; i < replica_count; i++)
        open_replica(&replicas[i], devices[i % count]);
    for (int i = 0; i < replica_count; i++) /* the same seed: the same model everywhere */
        check(acu_submit(NULL, acu_launch(replicas[i].init, ACU_BLOCK(TILE),
                                          acu_out(tiles(replicas[i].params)), acu_u32(1)), NULL,
                         NULL));
    train(&data, argc > 2 ? atoi(argv[2]) : 30);
    float accuracy = evaluate(&held_out);
    for (int i = 0; i < replica_count; i++)
        close_replica(&replicas[i]);
    for (int i = 0; i < count; i++)
        check(acu_close(devices[i]));
    acu_process_statistics counters = {.size = sizeof counters};
    acu_process_stats(&counters);
    printf("held out: %.2f %% right, after %.3f s\n", 100.0f * accuracy,
           (double)(acu_now() - start) * 1e-9);
    printf("operations: %llu submitted, %llu completed, in %llu submissions\n",
           (unsigned long long)counters.operations, (unsigned long long)counters.operations_done,
           (unsigned long long)counters.submissions);
    free_digits(&data, &held_out);
    return accuracy >= 0.95f ? 0 : 1;
}
