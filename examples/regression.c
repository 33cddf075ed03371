/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Only built-in operations, no kernel of its own: softmax regression on points whose classes are
 * determined by a hidden matrix. A training step is one composed operation whose result is the
 * weights. A hundred steps are submitted without waiting; their order follows from the weights.
 */
#include "example.h"

enum { POINTS = 2048, FEATURES = 16, CLASSES = 5, STEPS = 100 };

typedef struct problem {
    acu_device *device;
    acu_tensor *x, *classes; /* f32 [POINTS, FEATURES]; i64 [POINTS, 1] */
    acu_tensor *wanted;      /* f32 [POINTS, CLASSES]: 1 for the class, else 0 */
    acu_tensor *weights;     /* f32 [FEATURES, CLASSES] */
} problem;

static acu_tensor *made(const problem *p, acu_op *op)
{
    acu_tensor *tensor;
    check(acu_sync(p->device, op, &tensor));
    return tensor;
}

static void make_problem(problem *p)
{
    p->x = made(p, acu_randn(ACU_F32, ACU_SHAPE(POINTS, FEATURES), 1, 0));
    acu_op *hidden = acu_randn(ACU_F32, ACU_SHAPE(FEATURES, CLASSES), 2, 0);
    p->classes = made(p, acu_argmax(acu_matmul(p->x, hidden), ACU_KEEP(1)));
    acu_op *is_class = acu_eq(p->classes, acu_arange(ACU_I64, 0, CLASSES, 1)); /* broadcasts */
    p->wanted = made(p, acu_convert(is_class, ACU_F32));
    p->weights = made(p, acu_zeros(ACU_F32, ACU_SHAPE(FEATURES, CLASSES)));
}

/* weights -= rate x^T (softmax(x weights) - wanted) / points */
static acu_op *step(const problem *p)
{
    acu_op *error = acu_sub(acu_softmax(acu_matmul(p->x, p->weights), -1), p->wanted);
    acu_op *gradient = acu_matmul(acu_transpose(p->x, 0, 1), error);
    return acu_into(p->weights, acu_fma(gradient, -2.0 / POINTS, p->weights));
}

static double accuracy(const problem *p)
{
    acu_op *guess = acu_argmax(acu_matmul(p->x, p->weights), ACU_KEEP(1));
    acu_op *right = acu_convert(acu_eq(guess, p->classes), ACU_F64);
    acu_tensor *share = made(p, acu_mean(right, ACU_ALL));
    double value;
    check(acu_read_sync(share, &value, sizeof value));
    acu_tensor_release(share);
    return value;
}

int main(void)
{
    problem p = {.device = open_device()};
    make_problem(&p);
    double before = accuracy(&p);
    for (int i = 0; i < STEPS; i++)
        check(acu_submit(p.device, step(&p), NULL, NULL));
    double after = accuracy(&p); /* ordered behind all of them */
    printf("%.1f %% of %d points right before, %.1f %% after %d steps\n", 100 * before, POINTS,
           100 * after, STEPS);
    acu_tensor_release(p.x);
    acu_tensor_release(p.classes);
    acu_tensor_release(p.wanted);
    acu_tensor_release(p.weights);
    check(acu_close(p.device));
    return after > 0.9 && after > before ? 0 : 1;
}
