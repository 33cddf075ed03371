/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 *     root(inout x: f32 [n], n: u32)      x = square root of x; NaN where x is negative
 *     grid and block: at least n threads
 */
extern "C" __global__ void root(float *x, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = __builtin_sqrtf(x[i]);
}
