/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Layers of networks by cuDNN, forward and backward, as operations among others:
 *
 *   acu_dnn_conv_options by = {.size = sizeof by, .padding = {1, 1}, .bias = acu_value(bias),
 *                              .activation = ACU_DNN_RELU};
 *   acu_op *y = acu_dnn_conv(x, weight, &by);              [8, 64, 56, 56] by [128, 64, 3, 3]
 *   by.bias = NULL;                                        y is [8, 128, 56, 56]
 *   acu_op *dw = acu_dnn_conv_weight_gradient(x, dy, ACU_SHAPE(128, 64, 3, 3), &by);
 *
 * Tensors are [batch, channels, ...] of one to three further dimensions, of f32, tf32, f16 or bf16;
 * sums are formed in f32. f32 is not rounded to tf32; tensors of tf32 are.
 *
 * Layouts: a tensor whose channels come last in memory (a dense [batch, height, width, channels],
 * permuted to [batch, channels, height, width] by acu_permute) is used as it lies, as is a dense
 * one. If the first operand's channels come last, so do a new result's; otherwise that is dense.
 * Operands that lie in another way than the result are copied first. Of f16 and bf16, channels
 * last is the fast one.
 *
 * cuDNN 9 must be found (vendor.h). Where it is not, acuda's own kernels do what they can, if not
 * as fast: convolution of up to two dimensions, its gradients without groups, pooling, softmax and
 * attention, all but tf32; acu_vendor_load says whether cuDNN is there. The rest fails with
 * NOT_FOUND, which says where cuDNN was looked for.
 *
 * Which of cuDNN's engines computes a shape is chosen once, on one of acuda's threads, which may
 * have to compile it: the first operations of a shape wait for that on the host, but submitting
 * does not. A device keeps the last 64 choices that were used. Temporary memory comes from the
 * device's pool; if there is too little, an engine that needs less is used, if there is one. In
 * graphs, cached and explicit, the calls are captured.
 *
 * Errors: SHAPE, DTYPE, INVALID, SHARED, DEVICE, NOT_FOUND; of the future: NOT_SUPPORTED (cuDNN has
 * no engine for it on this device), DRIVER, DEVICE_MEMORY, with cuDNN's own words. None blocks,
 * except that the first of all in a process looks for the library. Driver: what cuDNN calls.
 */
#ifndef ACUDA_DNN_H
#define ACUDA_DNN_H

#include <acuda/attention.h>
#include <acuda/convolution.h>
#include <acuda/op.h>
#include <acuda/vendor.h>

ACU_BEGIN

/* What is done to each element v before it is stored. */
typedef enum acu_dnn_activation {
    ACU_DNN_NONE,
    ACU_DNN_RELU,    /* v where it is above 0, else 0 */
    ACU_DNN_SIGMOID, /* 1 / (1 + e^-v) */
    ACU_DNN_TANH,
    ACU_DNN_SILU /* v / (1 + e^-v) */
} acu_dnn_activation;

/* Of [0] depth, height or length, whichever comes first in the shape, and so on. The ops are
 * consumed, whatever happens, so that options with ops serve one call. */
typedef struct acu_dnn_conv_options {
    size_t size;         /* sizeof(acu_dnn_conv_options) */
    int64_t stride[3];   /* from one window to the next; 0: 1 */
    int64_t padding[3];  /* zeros in front of the first element and behind the last */
    int64_t dilation[3]; /* from one element of the window to the next; 0: 1 */
    int64_t groups;      /* of channels; 0: 1 */
    acu_op *bias;        /* [filters], of x's dtype; forward only */
    acu_dnn_activation activation; /* forward only */
    bool deterministic;  /* the same bits in every run on one kind of GPU, with one version of
                          * cuDNN */
    bool measure;        /* choose by running up to 8 engines (16 for f32) on memory of their own,
                          * until 0.2 s of the device's time are spent, instead of by cuDNN's
                          * estimate; not with `deterministic`, since the choice may differ from
                          * run to run */
    size_t most_bytes;   /* of temporary memory, where an engine with that much or less exists;
                          * 0: 256 MiB */
} acu_dnn_conv_options;

/*
 * Cross-correlation, as networks have it: of x [batch, channels, ...] and weight [filters,
 * channels / groups, window...]; the result is [batch, filters, ...], with
 *
 *   (n + 2 padding - dilation (window - 1) - 1) / stride + 1
 *
 * places along a dimension of n, rounded down. `options` may be NULL.
 */
#define acu_dnn_conv(x, weight, options)                                                           \
    acu_op_dnn_conv(ACU_OPERAND(x), ACU_OPERAND(weight), (options), ACU_SITE)
ACU_API acu_op *acu_op_dnn_conv(acu_op *x, acu_op *weight, const acu_dnn_conv_options *options,
                                acu_site site);

/*
 * The gradients of a convolution without bias and activation: what dy, the gradient of its result,
 * means for x, of that shape, and for the weight, of that shape. That of the bias is
 * acu_sum(dy, ACU_DIMS(0, 2, 3)).
 */
#define acu_dnn_conv_data_gradient(dy, weight, shape, options)                                     \
    acu_op_dnn_conv_data_gradient(ACU_OPERAND(dy), ACU_OPERAND(weight), (shape), (options),        \
                                  ACU_SITE)
ACU_API acu_op *acu_op_dnn_conv_data_gradient(acu_op *dy, acu_op *weight, acu_shape shape,
                                              const acu_dnn_conv_options *options, acu_site site);
#define acu_dnn_conv_weight_gradient(x, dy, shape, options)                                        \
    acu_op_dnn_conv_weight_gradient(ACU_OPERAND(x), ACU_OPERAND(dy), (shape), (options), ACU_SITE)
ACU_API acu_op *acu_op_dnn_conv_weight_gradient(acu_op *x, acu_op *dy, acu_shape shape,
                                                const acu_dnn_conv_options *options,
                                                acu_site site);

/*
 * Pooling as acu_pool has it (convolution.h), with its kinds, windows and options, which have no
 * dilation here; one or two dimensions. Its gradient wants dy, what pooling gave, and x, and is of
 * x's shape; of equal elements in a window the same one gets it in every run.
 */
#define acu_dnn_pool(kind, x, window, options)                                                     \
    acu_op_dnn_pool((kind), ACU_OPERAND(x), (window), (options), ACU_SITE)
ACU_API acu_op *acu_op_dnn_pool(acu_pooling kind, acu_op *x, acu_shape window,
                                const acu_window_options *options, acu_site site);
#define acu_dnn_pool_gradient(kind, dy, y, x, window, options)                                     \
    acu_op_dnn_pool_gradient((kind), ACU_OPERAND(dy), ACU_OPERAND(y), ACU_OPERAND(x), (window),    \
                             (options), ACU_SITE)
ACU_API acu_op *acu_op_dnn_pool_gradient(acu_pooling kind, acu_op *dy, acu_op *y, acu_op *x,
                                         acu_shape window, const acu_window_options *options,
                                         acu_site site);

/* Softmax, or its logarithm, along a dimension (-1: the last) of a tensor of any rank; and the
 * gradient, of what it gave. */
#define acu_dnn_softmax(x, dimension)                                                              \
    acu_op_dnn_softmax(ACU_OPERAND(x), (dimension), false, ACU_SITE)
#define acu_dnn_log_softmax(x, dimension)                                                          \
    acu_op_dnn_softmax(ACU_OPERAND(x), (dimension), true, ACU_SITE)
ACU_API acu_op *acu_op_dnn_softmax(acu_op *x, int dimension, bool log, acu_site site);
#define acu_dnn_softmax_gradient(dy, y, dimension)                                                 \
    acu_op_dnn_softmax_gradient(ACU_OPERAND(dy), ACU_OPERAND(y), (dimension), false, ACU_SITE)
#define acu_dnn_log_softmax_gradient(dy, y, dimension)                                             \
    acu_op_dnn_softmax_gradient(ACU_OPERAND(dy), ACU_OPERAND(y), (dimension), true, ACU_SITE)
ACU_API acu_op *acu_op_dnn_softmax_gradient(acu_op *dy, acu_op *y, int dimension, bool log,
                                            acu_site site);

/*
 * Batch normalization of x [batch, channels, ...], of one to three further dimensions; all else is
 * dense f32 [channels], for x of f16 and bf16 too.
 *
 *   acu_dnn_batch_norm            (x - mean) / sqrt(variance + epsilon) scale + bias
 *   acu_dnn_batch_norm_training   the same with the mean and variance of x itself: yields y, that
 *       mean, and 1 / sqrt(variance + epsilon). If `mean` and `variance`, which are updated, are
 *       not NULL, they become (1 - factor) times what they were plus factor times those of x (the
 *       variance with n - 1 for n).
 *   acu_dnn_batch_norm_gradient   yields dx, dscale and dbias; of what training saved
 */
#define acu_dnn_batch_norm(x, mean, variance, scale, bias, epsilon)                                \
    acu_op_dnn_batch_norm(ACU_OPERAND(x), ACU_OPERAND(mean), ACU_OPERAND(variance),                \
                          ACU_OPERAND(scale), ACU_OPERAND(bias), (epsilon), ACU_SITE)
ACU_API acu_op *acu_op_dnn_batch_norm(acu_op *x, acu_op *mean, acu_op *variance, acu_op *scale,
                                      acu_op *bias, double epsilon, acu_site site);
/* `mean` and `variance` are ops: acu_value(tensor), or NULL. */
#define acu_dnn_batch_norm_training(x, scale, bias, mean, variance, factor, epsilon)               \
    acu_op_dnn_batch_norm_training(ACU_OPERAND(x), ACU_OPERAND(scale), ACU_OPERAND(bias), (mean),  \
                                   (variance), (factor), (epsilon), ACU_SITE)
ACU_API acu_op *acu_op_dnn_batch_norm_training(acu_op *x, acu_op *scale, acu_op *bias, acu_op *mean,
                                               acu_op *variance, double factor, double epsilon,
                                               acu_site site);
#define acu_dnn_batch_norm_gradient(dy, x, scale, saved_mean, saved_inverse, epsilon)              \
    acu_op_dnn_batch_norm_gradient(ACU_OPERAND(dy), ACU_OPERAND(x), ACU_OPERAND(scale),            \
                                   ACU_OPERAND(saved_mean), ACU_OPERAND(saved_inverse), (epsilon), \
                                   ACU_SITE)
ACU_API acu_op *acu_op_dnn_batch_norm_gradient(acu_op *dy, acu_op *x, acu_op *scale,
                                               acu_op *saved_mean, acu_op *saved_inverse,
                                               double epsilon, acu_site site);

/*
 * Attention as acu_attention has it (attention.h), with its options, of f16 and bf16: of any
 * strides, but where rows have gaps or do not begin at multiples of 16 bytes there is a copy first.
 * A width that is a multiple of 8, up to 256; causal only where there are at least as many keys as
 * queries. Whether cuDNN has an engine for it depends on the GPU: compute capability 8.0 and newer.
 */
#define acu_dnn_attention(q, k, v, options)                                                        \
    acu_op_dnn_attention(ACU_OPERAND(q), ACU_OPERAND(k), ACU_OPERAND(v), (options), ACU_SITE)
ACU_API acu_op *acu_op_dnn_attention(acu_op *q, acu_op *k, acu_op *v,
                                     const acu_attention_options *options, acu_site site);

ACU_END
#endif
