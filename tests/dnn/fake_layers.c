/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The older calls: descriptors, bias and activation. */
#include "fake_layers.h"

typedef struct fake_activation_desc {
    int mode;
} fake_activation_desc;

int cudnnCreateTensorDescriptor(fake_tensor **t);
int cudnnDestroyTensorDescriptor(fake_tensor *t);
int cudnnSetTensorNdDescriptor(fake_tensor *t, int type, int rank, const int *dims,
                               const int *strides);
int cudnnCreateActivationDescriptor(fake_activation_desc **d);
int cudnnDestroyActivationDescriptor(fake_activation_desc *d);
int cudnnSetActivationDescriptor(fake_activation_desc *d, int mode, int nan, double coefficient);
int cudnnAddTensor(fake_handle *handle, const float *alpha, const fake_tensor *of, const void *a,
                   const float *beta, const fake_tensor *to, void *c);
int cudnnActivationForward(fake_handle *handle, const fake_activation_desc *how,
                           const float *alpha, const fake_tensor *of, const void *x,
                           const float *beta, const fake_tensor *to, void *y);

int cudnnCreateTensorDescriptor(fake_tensor **t)
{
    *t = fake_make(sizeof **t);
    return *t ? SUCCESS : NO_MEMORY;
}

int cudnnDestroyTensorDescriptor(fake_tensor *t)
{
    return fake_drop(t);
}

int cudnnSetTensorNdDescriptor(fake_tensor *t, int type, int rank, const int *dims,
                               const int *strides)
{
    if (rank < 4 || rank > RANK)
        return fake_refuse(BAD_PARAM, "that many dimensions");
    *t = (fake_tensor){.type = type, .rank = rank};
    for (int i = 0; i < rank; i++) {
        t->dim[i] = dims[i];
        t->stride[i] = strides[i];
        if (dims[i] < 1 || strides[i] < 1)
            return fake_refuse(BAD_PARAM, "an extent below 1");
    }
    return SUCCESS;
}

fake_tensor fake_placed(const fake_tensor *t, const void *at)
{
    fake_tensor there = *t;
    there.at = (char *)(uintptr_t)at;
    return there;
}

bool fake_same(const fake_tensor *a, const fake_tensor *b)
{
    return a->type == b->type && a->rank == b->rank &&
           memcmp(a->dim, b->dim, sizeof a->dim) == 0;
}

int fake_layer(fake_handle *handle, void (*run)(fake_driver *, const void *), const void *data,
               size_t bytes)
{
    int status = fake_use(handle);
    if (status != SUCCESS)
        return status;
    status = fake_enqueue(handle->stream, run, data, bytes, FAILED);
    fake_used(handle);
    return status;
}

/* ---- bias and activation ---- */

int cudnnCreateActivationDescriptor(fake_activation_desc **d)
{
    *d = fake_make(sizeof **d);
    return *d ? SUCCESS : NO_MEMORY;
}

int cudnnDestroyActivationDescriptor(fake_activation_desc *d)
{
    return fake_drop(d);
}

int cudnnSetActivationDescriptor(fake_activation_desc *d, int mode, int nan, double coefficient)
{
    static const int modes[] = {102, 100, 101, -1, -1, -1, 106};
    (void)nan, (void)coefficient;
    if (mode < 0 || mode > 6 || modes[mode] < 0)
        return fake_refuse(BAD_PARAM, "no such activation");
    d->mode = modes[mode];
    return SUCCESS;
}

typedef struct pointwise {
    fake_tensor of, to;
    int mode;  /* of the activation; -1: add */
} pointwise;

static void run_pointwise(fake_driver *driver, const void *data)
{
    const pointwise *p = data;
    const char *of = fake_on_host(driver, &p->of);
    char *to = fake_on_host(driver, &p->to);
    int type = fake_type(p->to.type);
    int64_t index[RANK] = {0};
    if (!of || !to)
        return;
    do {
        int64_t other[RANK], at = fake_offset(&p->to, index);
        for (int i = 0; i < p->to.rank; i++)
            other[i] = p->of.dim[i] == 1 ? 0 : index[i];
        double value = fake_get(type, of, fake_offset(&p->of, other));
        fake_put(type, to, at,
                 p->mode < 0 ? value + fake_get(type, to, at) : fake_activation(p->mode, value));
    } while (fake_next(&p->to, index));
}

int cudnnAddTensor(fake_handle *handle, const float *alpha, const fake_tensor *of, const void *a,
                   const float *beta, const fake_tensor *to, void *c)
{
    pointwise p = {.of = fake_placed(of, a), .to = fake_placed(to, c), .mode = -1};
    if (*alpha != 1 || *beta != 1 || of->type != to->type || of->rank != to->rank)
        return fake_refuse(BAD_PARAM, "what is added does not fit");
    for (int i = 0; i < of->rank; i++)
        if (of->dim[i] != 1 && of->dim[i] != to->dim[i])
            return fake_refuse(BAD_PARAM, "what is added does not fit");
    return fake_layer(handle, run_pointwise, &p, sizeof p);
}

int cudnnActivationForward(fake_handle *handle, const fake_activation_desc *how,
                           const float *alpha, const fake_tensor *of, const void *x,
                           const float *beta, const fake_tensor *to, void *y)
{
    pointwise p = {.of = fake_placed(of, x), .to = fake_placed(to, y), .mode = how->mode};
    if (*alpha != 1 || *beta != 0 || !fake_same(of, to))
        return fake_refuse(BAD_PARAM, "tensors that differ");
    return fake_layer(handle, run_pointwise, &p, sizeof p);
}
