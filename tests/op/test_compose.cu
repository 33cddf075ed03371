/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Kernels whose results tell how often and in which order they ran. */
#include <acuda/device.cuh>

extern "C" __global__ void add(float *x, float value, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] += value;
}

extern "C" __global__ void sum(float *z, const float *x, const float *y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        z[i] = x[i] + y[i];
}

__device__ unsigned ticks;
extern "C" __global__ void tick() { atomicAdd(&ticks, 1); }
extern "C" __global__ void take_ticks(unsigned *x) { *x = atomicExch(&ticks, 0); }

extern "C" __global__ void tile_add(acu_tile<float, 1> x, float value)
{
    for (long long i = x.begin(); i < x.end(); i += x.step())
        x.at(i) += value;
}
