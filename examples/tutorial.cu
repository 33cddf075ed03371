/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The kernel of the tutorial (docs/tutorial.md): each reading becomes the mean of itself and its
 * neighbours. */
#include <acuda/device.cuh>

extern "C" __global__ void smooth(float *out, const float *in, int n)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
        out[i] = (in[i > 0 ? i - 1 : 0] + in[i] + in[i + 1 < n ? i + 1 : n - 1]) / 3.0f;
}
