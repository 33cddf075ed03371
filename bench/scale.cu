/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The step of a perceptron of two layers that is large enough to fill a GPU. All extents are
 * multiples of 64.
 *
 *     product(out c [m, n], in a, in b, in mask [m, n], shape, mode)      c = a b, f32,
 *     grid (n, m) / 64, block 256
 *         element (i, k) of a lies at a[i * a_row + k * a_column], b likewise
 *         mode 0: c; 1: c where positive, else 0; 2: c where mask is positive, else 0
 *     error(out e, in p, in want, inout loss [1], count, scale)   e = (p - want) scale; loss += (p
 *     - want)^2 scale add(inout sum, in g, count)
 *     update(inout w, inout v, in sum, count, scale, rate)        v = 0.9
 *     v + scale sum; w -= rate v
 */
#include <acuda/device.cuh>

#include "scale.h"

enum { TILE = 64, DEPTH = 16, PAD = 4, SIDE = 16, EACH = TILE / SIDE };

/* A tile of DEPTH x TILE of a matrix; `along`: the stride of its TILE side, `deep` of the other.
 * Neighbours among the threads read neighbours in memory. */
static __device__ void load_tile(float (*tile)[TILE + PAD], const float *from, unsigned along,
                                 unsigned deep)
{
    for (unsigned i = threadIdx.x; i < TILE * DEPTH; i += 256) {
        unsigned t = deep == 1 ? i / DEPTH : i % TILE, d = deep == 1 ? i % DEPTH : i / TILE;
        tile[d][t] = from[t * along + d * deep];
    }
}

extern "C" __global__ void __launch_bounds__(256)
    product(float *c, const float *a, const float *b, const float *mask, scale_shape s,
            unsigned mode)
{
    __shared__ float tile_a[DEPTH][TILE + PAD], tile_b[DEPTH][TILE + PAD];
    unsigned x = threadIdx.x % SIDE, y = threadIdx.x / SIDE;
    unsigned row = blockIdx.y * TILE, column = blockIdx.x * TILE;
    float sum[EACH][EACH] = {};

    for (unsigned k = 0; k < s.k; k += DEPTH) {
        load_tile(tile_a, a + row * s.a_row + k * s.a_column, s.a_row, s.a_column);
        load_tile(tile_b, b + column * s.b_column + k * s.b_row, s.b_column, s.b_row);
        __syncthreads();
        for (unsigned d = 0; d < DEPTH; d++)
            for (unsigned i = 0; i < EACH; i++)
                for (unsigned j = 0; j < EACH; j++)
                    sum[i][j] += tile_a[d][y + i * SIDE] * tile_b[d][x + j * SIDE];
        __syncthreads();
    }
    for (unsigned i = 0; i < EACH; i++)
        for (unsigned j = 0; j < EACH; j++) {
            unsigned at = (row + y + i * SIDE) * s.n + column + x + j * SIDE;
            float v = sum[i][j];
            bool keep = mode == 0 || (mode == 1 ? v > 0.0f : mask[at] > 0.0f);
            c[at] = keep ? v : 0.0f;
        }
}

extern "C" __global__ void error(float *e, const float *p, const float *want, float *loss,
                                 unsigned count, float scale)
{
    float sum = 0.0f;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += gridDim.x * blockDim.x) {
        float d = p[i] - want[i];
        e[i] = d * scale;
        sum += d * d * scale;
    }
    for (int lanes = 16; lanes > 0; lanes /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
    if (threadIdx.x % 32 == 0)
        atomicAdd(loss, sum);
}

extern "C" __global__ void add(float *sum, const float *g, unsigned count)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        sum[i] += g[i];
}

extern "C" __global__ void update(float *w, float *v, const float *sum, unsigned count, float scale,
                                  float rate)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += gridDim.x * blockDim.x) {
        float now = 0.9f * v[i] + scale * sum[i];
        v[i] = now;
        w[i] -= rate * now;
    }
}
