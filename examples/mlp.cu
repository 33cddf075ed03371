/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A two-layer perceptron, 64-64-10: rectifier, softmax, cross entropy, trained by gradient descent
 * with momentum. All learned values lie in one vector, so that the model, its gradient or its
 * momentum can be copied in one go:
 *
 *     params, velocity, gradient: f32 [MLP_PARAMS = 4810]
 *         W1 [64 inputs][64 hidden], b1 [64], W2 [64 hidden][10 classes], b2 [10]
 *     x: f32 [batch, 64]     labels: i32 [batch]
 *     work: f32 [batch, MLP_WORK = 148], what each pass leaves of a batch, one row per sample:
 *         hidden [64], probability [10], error of hidden [64], error of class [10]
 *     stats: f32 [2]         sum of the losses, number of right answers; both are added to
 *
 * Kernels, in the order of a training step. Those marked "for each parameter" get partitions, with
 * any tile and any block; tiles and blocks of 128 suit them.
 *
 *     mlp_init(out params: partition, seed: u32)                once; the same seed, the same model
 *     mlp_forward(in params, in x, in labels, inout work, inout stats)       grid: batch; block: 64
 *     mlp_errors(in params, in labels, inout work, batch: u32)               grid: batch; block: 64
 *     mlp_gradients(out gradient: partition, in x, in work, batch: u32)      for each parameter
 *     mlp_add(inout sum: partition, in gradient)                             for each parameter
 *     mlp_update(inout params: partition, inout velocity: partition, in gradient, scale: f32,
 *                rate: f32, momentum: f32)                                   for each parameter
 *
 * Replicas: each sums the gradients of all replicas with mlp_add, in the same order, and updates
 * with scale = 1 / replicas, so all replicas stay equal to the bit. A single replica does not need
 * mlp_add. Evaluation is mlp_forward alone.
 */
#include <acuda/device.cuh>

enum {
    INPUTS = 64,
    HIDDEN = 64,
    CLASSES = 10,
    /* offsets in the vector of parameters */
    W1 = 0,
    B1 = W1 + INPUTS * HIDDEN,
    W2 = B1 + HIDDEN,
    B2 = W2 + HIDDEN * CLASSES,
    /* offsets in a row of `work` */
    WORK_HIDDEN = 0,
    WORK_PROBABILITY = WORK_HIDDEN + HIDDEN,
    WORK_HIDDEN_ERROR = WORK_PROBABILITY + CLASSES,
    WORK_CLASS_ERROR = WORK_HIDDEN_ERROR + HIDDEN,
    WORK = WORK_CLASS_ERROR + CLASSES
};

/* Uniform over [-1, 1), by hashing: no state, so each thread can compute its own. */
static __device__ float random_even(unsigned seed, unsigned i)
{
    unsigned h = (i + 1) * 0x9e3779b9u ^ seed * 0x85ebca6bu;
    h = (h ^ h >> 16) * 0x7feb352du;
    h = (h ^ h >> 15) * 0x846ca68bu;
    h ^= h >> 16;
    return (float)(int)h * 4.65661287e-10f;
}

/* Weights are uniform within +-sqrt(6 / fan), which preserves the size of signals; biases are
 * zero. */
extern "C" __global__ void mlp_init(acu_tile<float, 1> params, unsigned seed)
{
    for (long long k = params.begin(); k < params.end(); k += params.step()) {
        int p = (int)params.linear(k);
        float scale = p < B1 ? 0.306186218f : p >= W2 && p < B2 ? 0.284747409f : 0.0f;
        params.at(k) = scale * random_even(seed, (unsigned)p);
    }
}

/* The maximum and the sum over the lanes of a warp. */
static __device__ float warp_max(float v)
{
    for (int lanes = 16; lanes > 0; lanes /= 2)
        v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, lanes));
    return v;
}

static __device__ float warp_sum(float v)
{
    for (int lanes = 16; lanes > 0; lanes /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, lanes);
    return v;
}

/* One block per sample: thread t computes hidden unit t, then lane c of the first warp class c. */
extern "C" __global__ void __launch_bounds__(HIDDEN)
    mlp_forward(const float *params, const float *x, const int *labels, float *work, float *stats)
{
    __shared__ float input[INPUTS], hidden[HIDDEN];
    unsigned t = threadIdx.x, sample = blockIdx.x;
    float *row = work + sample * WORK;

    input[t] = x[sample * INPUTS + t];
    __syncthreads();
    float sum = params[B1 + t];
    for (int i = 0; i < INPUTS; i++)
        sum += input[i] * params[W1 + i * HIDDEN + t];
    hidden[t] = row[WORK_HIDDEN + t] = fmaxf(sum, 0.0f);
    __syncthreads();
    if (t >= 32)
        return;

    bool is_class = t < CLASSES;
    unsigned c = is_class ? t : 0;
    float logit = params[B2 + c];
    for (int i = 0; i < HIDDEN; i++)
        logit += hidden[i] * params[W2 + i * CLASSES + c];
    if (!is_class)
        logit = -1e30f;
    float largest = warp_max(logit);
    float power = is_class ? expf(logit - largest) : 0.0f;
    float total = warp_sum(power);
    if (is_class)
        row[WORK_PROBABILITY + c] = power / total;

    int answer = __ffs((int)__ballot_sync(0xffffffffu, logit == largest)) - 1;
    int label = labels[sample];
    if ((int)t == label)
        atomicAdd(&stats[0], logf(total) - (logit - largest));
    if (t == 0 && answer == label)
        atomicAdd(&stats[1], 1.0f);
}

/* The derivative of the batch's mean loss with respect to the input of each class and hidden
 * unit. */
extern "C" __global__ void __launch_bounds__(HIDDEN)
    mlp_errors(const float *params, const int *labels, float *work, unsigned batch)
{
    __shared__ float error[CLASSES];
    unsigned t = threadIdx.x, sample = blockIdx.x;
    float *row = work + sample * WORK;

    if (t < CLASSES) {
        float wanted = (int)t == labels[sample] ? 1.0f : 0.0f;
        error[t] = (row[WORK_PROBABILITY + t] - wanted) / (float)batch;
        row[WORK_CLASS_ERROR + t] = error[t];
    }
    __syncthreads();
    float sum = 0.0f;
    for (int c = 0; c < CLASSES; c++)
        sum += error[c] * params[W2 + t * CLASSES + c];
    row[WORK_HIDDEN_ERROR + t] = row[WORK_HIDDEN + t] > 0.0f ? sum : 0.0f;
}

/* sum over the batch of a[sample] b[sample], which lie a_step and b_step apart */
static __device__ float dot(const float *a, unsigned a_step, const float *b, unsigned b_step,
                            unsigned batch)
{
    float sum = 0.0f;
    for (unsigned sample = 0; sample < batch; sample++)
        sum += a[sample * a_step] * b[sample * b_step];
    return sum;
}

static __device__ float total(const float *a, unsigned step, unsigned batch)
{
    float sum = 0.0f;
    for (unsigned sample = 0; sample < batch; sample++)
        sum += a[sample * step];
    return sum;
}

/* The derivative of the batch's mean loss with respect to each parameter. For a weight it is the
 * input times the error of the output, for a bias the error alone, summed over the batch. */
extern "C" __global__ void mlp_gradients(acu_tile<float, 1> gradient, const float *x,
                                         const float *work, unsigned batch)
{
    const float *hidden = work + WORK_HIDDEN;
    const float *hidden_error = work + WORK_HIDDEN_ERROR, *class_error = work + WORK_CLASS_ERROR;

    for (long long k = gradient.begin(); k < gradient.end(); k += gradient.step()) {
        int p = (int)gradient.linear(k);
        float sum;
        if (p < B1)
            sum = dot(x + p / HIDDEN, INPUTS, hidden_error + p % HIDDEN, WORK, batch);
        else if (p < W2)
            sum = total(hidden_error + (p - B1), WORK, batch);
        else if (p < B2)
            sum = dot(hidden + (p - W2) / CLASSES, WORK, class_error + (p - W2) % CLASSES, WORK,
                      batch);
        else
            sum = total(class_error + (p - B2), WORK, batch);
        gradient.at(k) = sum;
    }
}

extern "C" __global__ void mlp_add(acu_tile<float, 1> sum, const float *gradient)
{
    for (long long k = sum.begin(); k < sum.end(); k += sum.step())
        sum.at(k) += gradient[sum.linear(k)];
}

extern "C" __global__ void mlp_update(acu_tile<float, 1> params, acu_tile<float, 1> velocity,
                                      const float *gradient, float scale, float rate,
                                      float momentum)
{
    for (long long k = params.begin(); k < params.end(); k += params.step()) {
        float v = momentum * velocity.at(k) + scale * gradient[params.linear(k)];
        velocity.at(k) = v;
        params.at(k) -= rate * v;
    }
}
