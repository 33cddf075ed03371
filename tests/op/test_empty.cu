/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A kernel that must not run where there are no elements. */
#include <acuda/device.cuh>

extern "C" __global__ void touch(int *out, int n)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i == 0 || i < n)
        out[i] = 1;
}

extern "C" __global__ void tiles(acu_tile<int, 2> y)
{
    if (y.size() >= 0)
        *(int *)y.param.data = 1;
}
