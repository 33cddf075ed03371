/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Kernels that are launched wrongly. */
#include <acuda/device.cuh>

extern "C" __global__ void scale(float *x, float factor, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] *= factor;
}

extern "C" __global__ void tiled(acu_tile<float, 2> y)
{
    for (long long i = y.begin(0); i < y.end(0); i += y.step(0))
        for (long long j = y.begin(1); j < y.end(1); j += y.step(1))
            y.at(i, j) = 1.0f;
}
