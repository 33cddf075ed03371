/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* twice(inout x: f32 [n], n: u32) */
extern "C" __global__ void twice(float *x, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] *= 2.0f;
}
