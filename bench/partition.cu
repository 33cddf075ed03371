/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* y = a x: on a tile of each, and on whole vectors. */
#include <acuda/device.cuh>

extern "C" __global__ void tiles(acu_tile<float, 2> y, float a, acu_tile<const float, 2> x)
{
    for (long long i = y.begin(); i < y.end(); i += y.step())
        y.flat(i) = a * x.flat(i);
}

extern "C" __global__ void plain(float *y, float a, const float *x, int n)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
        y[i] = a * x[i];
}
