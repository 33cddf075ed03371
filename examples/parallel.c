/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Data-parallel training, unchanged on one device, on several devices of one process, and on a
 * cluster:
 *
 *     examples/parallel                     as one process, with up to four devices
 *     mpiexec -n 4 examples/parallel        as four processes, with a device each
 *
 * Softmax regression as in regression.c. Each rank has its own points, computes a gradient from
 * them, and all take the mean of their gradients; so all make the same steps, and have the same
 * weights, which is checked to the last bit.
 */
#include "example.h"

#include <string.h>

enum { POINTS = 512, FEATURES = 16, CLASSES = 5, STEPS = 60, MOST = 4 }; /* points of each rank */
#define SIZE (FEATURES * CLASSES)

typedef struct rank {
    acu_device *device;
    acu_tensor *x, *wanted; /* f32 [POINTS, FEATURES], [POINTS, CLASSES] */
    acu_tensor *weights;    /* f32 [FEATURES, CLASSES] */
} rank;

static acu_comm *comm;
static rank ranks[MOST]; /* of this process */
static size_t here;

static void open_devices(void)
{
    acu_launched launched = {.size = sizeof launched};
    acu_open_options options = {.size = sizeof options, .allow_software = true};
    acu_device *devices[MOST];
    int count;
    check(acu_comm_launched(&launched));
    check(acu_device_count_load(&options, &count));
    here = launched.ranks > 1 ? 1 : count < MOST ? (size_t)count : MOST;
    for (size_t i = 0; i < here; i++) {
        options.ordinal = launched.ranks > 1 ? launched.local_rank % count : (int)i;
        check(acu_open(&options, &ranks[i].device));
        devices[i] = ranks[i].device;
    }
    acu_comm_options all = {.size = sizeof all, .devices = devices, .device_count = here};
    check(acu_comm_open(&all, &comm));
}

static acu_tensor *made(const rank *r, acu_op *op)
{
    acu_tensor *tensor;
    check(acu_sync(r->device, op, &tensor));
    return tensor;
}

/* The numbers of all ranks are one sequence, of which each has a piece. */
static void make_problem(rank *r, int number)
{
    int64_t offset = (int64_t)number * POINTS * FEATURES;
    r->x = made(r, acu_randn(ACU_F32, ACU_SHAPE(POINTS, FEATURES), 1, offset));
    acu_op *hidden = acu_randn(ACU_F32, ACU_SHAPE(FEATURES, CLASSES), 2, 0);
    acu_op *classes = acu_argmax(acu_matmul(r->x, hidden), ACU_KEEP(1));
    acu_op *is_class = acu_eq(classes, acu_arange(ACU_I64, 0, CLASSES, 1));
    r->wanted = made(r, acu_convert(is_class, ACU_F32));
    r->weights = made(r, acu_zeros(ACU_F32, ACU_SHAPE(FEATURES, CLASSES)));
}

/* x^T (softmax(x weights) - wanted) */
static acu_op *gradient(const rank *r)
{
    acu_op *error = acu_sub(acu_softmax(acu_matmul(r->x, r->weights), -1), r->wanted);
    return acu_matmul(acu_transpose(r->x, 0, 1), error);
}

/* A step of all ranks of this process, as one op. */
static acu_op *step(void)
{
    acu_collective mean = {.kind = ACU_ALL_REDUCE, .reduction = ACU_REDUCE_MEAN};
    acu_op *ops[MOST], *means[MOST];
    double rate = -2.0 / POINTS;
    for (size_t i = 0; i < here; i++)
        ops[i] = acu_on(ranks[i].device, gradient(&ranks[i]));
    acu_unzip(acu_op_collective(comm, &mean, NULL, ops, here, ACU_SITE), means, here);
    for (size_t i = 0; i < here; i++)
        ops[i] = acu_into(ranks[i].weights, acu_fma(means[i], rate, ranks[i].weights));
    return acu_op_zip(ops, here, ACU_SITE);
}

static double loss(const rank *r)
{
    acu_op *error = acu_sub(acu_softmax(acu_matmul(r->x, r->weights), -1), r->wanted);
    acu_tensor *mean = made(r, acu_mean(acu_abs(error), ACU_ALL));
    float value;
    check(acu_read_sync(mean, &value, sizeof value));
    acu_tensor_release(mean);
    return (double)value;
}

/* Whether all ranks have the same weights, to the last bit; each process looks at them all. */
static int are_equal(void)
{
    acu_collective gather = {.kind = ACU_ALL_GATHER};
    size_t n = (size_t)acu_comm_ranks(comm), bytes = SIZE * sizeof(float);
    acu_op *in[MOST], *out[MOST];
    for (size_t i = 0; i < here; i++) {
        in[i] = acu_value(ranks[i].weights);
        out[i] = acu_on(ranks[i].device, acu_empty(ACU_F32, ACU_SHAPE((int64_t)n * SIZE)));
    }
    acu_op *all = acu_op_collective(comm, &gather, in, out, here, ACU_SITE);
    acu_tensor *first = made(&ranks[0], acu_first(all));
    char *weights = malloc(n * bytes);
    int equal = weights != NULL;
    if (equal)
        check(acu_read_sync(first, weights, n * bytes));
    for (size_t r = 1; r < n && equal; r++)
        equal = memcmp(weights, weights + r * bytes, bytes) == 0;
    free(weights);
    acu_tensor_release(first);
    return equal;
}

int main(void)
{
    open_devices();
    for (size_t i = 0; i < here; i++)
        make_problem(&ranks[i], acu_comm_rank(comm) + (int)i);
    double before = loss(&ranks[0]);
    for (int i = 0; i < STEPS; i++)
        check(acu_submit(ranks[0].device, step(), NULL, NULL));
    double after = loss(&ranks[0]); /* ordered behind all of them */
    int equal = are_equal();
    if (acu_comm_rank(comm) == 0)
        printf("%d ranks, %s: loss %.3f before, %.3f after %d steps; the weights of all ranks are "
               "%s\n", acu_comm_ranks(comm), acu_comm_library(comm), before, after, STEPS,
               equal ? "equal" : "NOT equal");
    check(acu_comm_close(comm, ACU_FOREVER));
    for (size_t i = 0; i < here; i++) {
        acu_tensor_release(ranks[i].x);
        acu_tensor_release(ranks[i].wanted);
        acu_tensor_release(ranks[i].weights);
        check(acu_close(ranks[i].device));
    }
    return equal && after < before / 2 ? 0 : 1;
}
