/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library that poses as cuDNN for the software device: handles, failures, numbers. */
#include "fake_cudnn.h"

fake_driver fake_cudnn;
static _Thread_local char last[160];

fake_driver *fake_driver_of(void)
{
    return &fake_cudnn;
}

int cudnnGetProperty(int which, int *value);
size_t cudnnGetCudartVersion(void);
const char *cudnnGetErrorString(int status);
void cudnnGetLastErrorString(char *words, size_t bytes);
int cudnnCreate(fake_handle **handle);
int cudnnDestroy(fake_handle *handle);
int cudnnSetStream(fake_handle *handle, void *stream);

int cudnnGetProperty(int which, int *value)
{
    static const int version[] = {9, 12, 0};
    if (which < 0 || which > 2)
        return BAD_PARAM;
    *value = version[which];
    return SUCCESS;
}

size_t cudnnGetCudartVersion(void)
{
    return 12040;
}

const char *cudnnGetErrorString(int status)
{
    switch (status) {
    case NO_PATTERN:
        return "CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN";
    case FAILED:
        return "CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER";
    case 1001:
        return "CUDNN_STATUS_NOT_INITIALIZED";
    default:
        return "CUDNN_STATUS_BAD_PARAM";
    }
}

void cudnnGetLastErrorString(char *words, size_t bytes)
{
    snprintf(words, bytes, "%s\n", last);
}

int fake_refuse(int status, const char *why)
{
    snprintf(last, sizeof last, "Reason: %s", why);
    if (status / 1000 == BAD_PARAM / 1000)
        atomic_fetch_add(&fake_cudnn.refused, 1);
    return status;
}

/* ---- handles ---- */

void *fake_make(size_t bytes)
{
    void *made = calloc(1, bytes);
    atomic_fetch_add(&fake_cudnn.created, made != NULL);
    return made;
}

int fake_drop(void *made)
{
    if (!made)
        return fake_refuse(BAD_PARAM, "nothing to destroy");
    free(made);
    atomic_fetch_add(&fake_cudnn.destroyed, 1);
    return SUCCESS;
}

int cudnnCreate(fake_handle **handle)
{
    int status = atomic_load(&fake_cudnn.fail_create);
    if (status)
        return fake_refuse(status, "told to");
    void (*creating)(void) = atomic_load(&fake_cudnn.creating);
    if (creating)
        creating();
    *handle = fake_make(sizeof **handle);
    atomic_fetch_add(&fake_cudnn.handles, 1);
    return *handle ? SUCCESS : NO_MEMORY;
}

int cudnnDestroy(fake_handle *handle)
{
    return fake_drop(handle);
}

int cudnnSetStream(fake_handle *handle, void *stream)
{
    handle->stream = stream;
    return SUCCESS;
}

int fake_use(fake_handle *handle)
{
    int status = atomic_load(&fake_cudnn.fail_call);
    if (status)
        return fake_refuse(status, "told to");
    if (atomic_exchange(&handle->busy, true))
        atomic_fetch_add(&fake_cudnn.overlaps, 1);
    void (*calling)(void) = atomic_load(&fake_cudnn.calling);
    if (calling)
        calling();
    return SUCCESS;
}

void fake_used(fake_handle *handle)
{
    atomic_store(&handle->busy, false);
}

/* ---- numbers ---- */

int fake_type(int type)
{
    return type == 0 ? FAKE_R_32F : type == 2 ? FAKE_R_16F : FAKE_R_16BF;
}

int64_t fake_elements(const fake_tensor *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= t->dim[i];
    return n;
}

int64_t fake_offset(const fake_tensor *t, const int64_t *index)
{
    int64_t at = 0;
    for (int i = 0; i < t->rank; i++)
        at += index[i] * t->stride[i];
    return at;
}

int64_t fake_extent(const fake_tensor *t)
{
    int64_t end[RANK];
    for (int i = 0; i < t->rank; i++)
        end[i] = t->dim[i] - 1;
    return (fake_offset(t, end) + 1) * (int64_t)fake_size(fake_type(t->type));
}

bool fake_next(const fake_tensor *t, int64_t *index)
{
    for (int i = t->rank - 1; i >= 0; i--) {
        if (++index[i] < t->dim[i])
            return true;
        index[i] = 0;
    }
    return false;
}

char *fake_on_host(fake_driver *driver, const fake_tensor *t)
{
    return fake_memory(driver, t->at, (uint64_t)fake_extent(t));
}

double fake_activation(int mode, double x)
{
    switch (mode) {
    case 100:
        return x > 0 ? x : 0;
    case 101:
        return tanh(x);
    case 102:
        return 1 / (1 + exp(-x));
    case 106:
        return x / (1 + exp(-x));
    default:
        return x;
    }
}
