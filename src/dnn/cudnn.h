/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The calls of cuDNN that are used, its numbers, and what is known of an operation when it is
 * planned: the key of its plan (plan.c). */
#ifndef ACUI_DNN_CUDNN_H
#define ACUI_DNN_CUDNN_H

#include "vendor/call.h"

typedef struct acui_cudnn_context *acui_cudnn_handle;
typedef struct acui_cudnn_descriptor *acui_cudnn_desc; /* of the backend API, or of the older one */

/* Types of elements. */
enum {
    ACUI_CUDNN_F32 = 0,
    ACUI_CUDNN_F16 = 2,
    ACUI_CUDNN_I32 = 4,
    ACUI_CUDNN_BF16 = 9,
    ACUI_CUDNN_BOOL = 11
};

/* X(field, symbol, parameters) */
#define ACUI_CUDNN_CALLS(X)                                                                        \
    X(property, "cudnnGetProperty", int, (int which, int *value))                                  \
    X(cuda, "cudnnGetCudartVersion", size_t, (void))                                               \
    X(name_of, "cudnnGetErrorString", const char *, (int status))                                  \
    X(last_error, "cudnnGetLastErrorString", void, (char *words, size_t bytes))                    \
    X(create, "cudnnCreate", int, (acui_cudnn_handle *))                                           \
    X(destroy, "cudnnDestroy", int, (acui_cudnn_handle))                                           \
    X(set_stream, "cudnnSetStream", int, (acui_cudnn_handle, CUstream))                            \
    X(new_desc, "cudnnBackendCreateDescriptor", int, (int type, acui_cudnn_desc *))                \
    X(end_desc, "cudnnBackendDestroyDescriptor", int, (acui_cudnn_desc))                           \
    X(finalize, "cudnnBackendFinalize", int, (acui_cudnn_desc))                                    \
    X(set, "cudnnBackendSetAttribute", int,                                                        \
      (acui_cudnn_desc, int name, int type, int64_t count, const void *values))                    \
    X(get, "cudnnBackendGetAttribute", int,                                                        \
      (acui_cudnn_desc, int name, int type, int64_t most, int64_t *count, void *values))           \
    X(execute, "cudnnBackendExecute", int,                                                         \
      (acui_cudnn_handle, acui_cudnn_desc plan, acui_cudnn_desc pack))                             \
    X(new_tensor, "cudnnCreateTensorDescriptor", int, (acui_cudnn_desc *))                         \
    X(end_tensor, "cudnnDestroyTensorDescriptor", int, (acui_cudnn_desc))                          \
    X(set_tensor, "cudnnSetTensorNdDescriptor", int,                                               \
      (acui_cudnn_desc, int type, int rank, const int *dims, const int *strides))                  \
    X(new_activation, "cudnnCreateActivationDescriptor", int, (acui_cudnn_desc *))                 \
    X(end_activation, "cudnnDestroyActivationDescriptor", int, (acui_cudnn_desc))                  \
    X(set_activation, "cudnnSetActivationDescriptor", int,                                         \
      (acui_cudnn_desc, int mode, int nan, double coefficient))                                    \
    X(add, "cudnnAddTensor", int,                                                                  \
      (acui_cudnn_handle, const void *alpha, acui_cudnn_desc, const void *a, const void *beta,     \
       acui_cudnn_desc, void *c))                                                                  \
    X(activate, "cudnnActivationForward", int,                                                     \
      (acui_cudnn_handle, acui_cudnn_desc activation, const void *alpha, acui_cudnn_desc,          \
       const void *x, const void *beta, acui_cudnn_desc, void *y))                                 \
    X(new_pooling, "cudnnCreatePoolingDescriptor", int, (acui_cudnn_desc *))                       \
    X(end_pooling, "cudnnDestroyPoolingDescriptor", int, (acui_cudnn_desc))                        \
    X(set_pooling, "cudnnSetPoolingNdDescriptor", int,                                             \
      (acui_cudnn_desc, int mode, int nan, int rank, const int *window, const int *padding,        \
       const int *stride))                                                                         \
    X(pool, "cudnnPoolingForward", int,                                                            \
      (acui_cudnn_handle, acui_cudnn_desc pooling, const void *alpha, acui_cudnn_desc,             \
       const void *x, const void *beta, acui_cudnn_desc, void *y))                                 \
    X(pool_back, "cudnnPoolingBackward", int,                                                      \
      (acui_cudnn_handle, acui_cudnn_desc pooling, const void *alpha, acui_cudnn_desc,             \
       const void *y, acui_cudnn_desc, const void *dy, acui_cudnn_desc, const void *x,             \
       const void *beta, acui_cudnn_desc, void *dx))                                               \
    X(softmax, "cudnnSoftmaxForward", int,                                                         \
      (acui_cudnn_handle, int algorithm, int mode, const void *alpha, acui_cudnn_desc,             \
       const void *x, const void *beta, acui_cudnn_desc, void *y))                                 \
    X(softmax_back, "cudnnSoftmaxBackward", int,                                                   \
      (acui_cudnn_handle, int algorithm, int mode, const void *alpha, acui_cudnn_desc,             \
       const void *y, acui_cudnn_desc, const void *dy, const void *beta, acui_cudnn_desc,          \
       void *dx))                                                                                  \
    X(norm, "cudnnBatchNormalizationForwardInference", int,                                        \
      (acui_cudnn_handle, int mode, const void *alpha, const void *beta, acui_cudnn_desc,          \
       const void *x, acui_cudnn_desc, void *y, acui_cudnn_desc, const void *scale,                \
       const void *bias, const void *mean, const void *variance, double epsilon))                  \
    X(norm_training, "cudnnBatchNormalizationForwardTraining", int,                                \
      (acui_cudnn_handle, int mode, const void *alpha, const void *beta, acui_cudnn_desc,          \
       const void *x, acui_cudnn_desc, void *y, acui_cudnn_desc, const void *scale,                \
       const void *bias, double factor, void *mean, void *variance, double epsilon,                \
       void *saved_mean, void *saved_inverse))                                                     \
    X(norm_back, "cudnnBatchNormalizationBackward", int,                                           \
      (acui_cudnn_handle, int mode, const void *alpha, const void *beta, const void *alpha_sums,   \
       const void *beta_sums, acui_cudnn_desc, const void *x, acui_cudnn_desc, const void *dy,     \
       acui_cudnn_desc, void *dx, acui_cudnn_desc, const void *scale, void *dscale, void *dbias,   \
       double epsilon, const void *saved_mean, const void *saved_inverse))

typedef struct acui_cudnn_calls {
#define ACU_X(field, symbol, result, parameters) result(*field) parameters;
    ACUI_CUDNN_CALLS(ACU_X)
#undef ACU_X
} acui_cudnn_calls;

/* Only once it is open. */
extern acui_cudnn_calls acui_cudnn;

/* Record that the call failed, in the library's words. 0: ACU_OK, and nothing is recorded. */
acu_status acui_cudnn_said(const char *call, int status);

/* ---- what an operation is -------------------------------------------------------------------- */

typedef enum acui_dnn_kind {
    ACUI_DNN_CONV,        /* x, weight and y, and, if there is one, the bias */
    ACUI_DNN_CONV_DATA,   /* x is written */
    ACUI_DNN_CONV_WEIGHT, /* the weight is written */
    ACUI_DNN_ATTENTION,
    ACUI_DNN_POOL, /* from here on by cuDNN's older calls, one for each layer */
    ACUI_DNN_POOL_BACK,
    ACUI_DNN_SOFTMAX,
    ACUI_DNN_SOFTMAX_BACK,
    ACUI_DNN_NORM,
    ACUI_DNN_NORM_TRAINING,
    ACUI_DNN_NORM_BACK
} acui_dnn_kind;

/* Places of values, of which the first few are described in the key. */
enum {
    ACUI_DNN_X,
    ACUI_DNN_W, /* also the scale of a normalization */
    ACUI_DNN_Y,
    ACUI_DNN_BIAS,
    ACUI_DNN_TENSORS,
    ACUI_DNN_DX = ACUI_DNN_TENSORS,
    ACUI_DNN_DY,
    ACUI_DNN_MEAN,
    ACUI_DNN_VARIANCE,
    ACUI_DNN_SAVED_MEAN,
    ACUI_DNN_SAVED_INVERSE,
    ACUI_DNN_PLACES,
    ACUI_DNN_DW = ACUI_DNN_MEAN, /* which gradients have instead */
    ACUI_DNN_DBIAS = ACUI_DNN_VARIANCE,
    ACUI_DNN_Q = ACUI_DNN_X, /* attention has these */
    ACUI_DNN_K = ACUI_DNN_W,
    ACUI_DNN_O = ACUI_DNN_Y,
    ACUI_DNN_V = ACUI_DNN_BIAS
};
enum { ACUI_DNN_RANK = 5, ACUI_DNN_WINDOW = 3 }; /* most dimensions; of a window */

typedef struct acui_dnn_tensor {
    int64_t dim[ACUI_DNN_RANK], stride[ACUI_DNN_RANK];
} acui_dnn_tensor;

/* What the choice of an engine depends on. Its padding is zeroed. */
typedef struct acui_dnn_key {
    acui_dnn_tensor at[ACUI_DNN_TENSORS];
    int64_t window[ACUI_DNN_WINDOW]; /* of pooling */
    int64_t stride[ACUI_DNN_WINDOW], padding[ACUI_DNN_WINDOW], dilation[ACUI_DNN_WINDOW];
    uint64_t most_bytes;
    int kind, rank, type, activation;
    int mode;  /* of pooling, an acu_pooling; of softmax, cuDNN's algorithm */
    int align; /* of all, in bytes */
    bool rounded, bias, deterministic, measured, causal; /* rounded: f32 may be tf32 */
} acui_dnn_key;

typedef struct acui_dnn {
    acui_dnn_key key; /* the first member */
    double epsilon, factor; /* of a normalization */
    double scale;           /* of attention */
    int8_t place[ACUI_DNN_PLACES]; /* which value it is; -1: none */
} acui_dnn;

acu_status acui_dnn_run(acui_vendor_work *work);

#endif
