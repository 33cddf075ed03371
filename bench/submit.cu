/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axpy(inout y: f32 [n], in x: f32 [n], a: f32, n: u32) */
extern "C" __global__ void axpy(float *y, const float *x, float a, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += a * x[i];
}
