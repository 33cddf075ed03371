/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* sweep(inout x: partition of f32 [n], in y: f32 [n]): x = x + y */
#include <acuda/device.cuh>

extern "C" { __device__ float shift = 1; }

extern "C" __global__ void sweep(acu_tile<float, 1> x, const float *y)
{
    for (long long i = x.begin(); i < x.end(); i += x.step())
        x.at(i) += y[x.linear(i)];
}
