/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Three kernels for three slices of one buffer. A slice reaches a kernel as a pointer to its first
 * element, like any tensor; these kernels expect slices without gaps.
 *
 *     double_it(inout x: f32 [n], n: u32)    x = 2 x
 *     negate(inout x: f32 [n], n: u32)       x = -x
 *     add_index(inout x: f32 [n], n: u32)    x[i] = x[i] + i
 *     grid, block: together at least n threads
 */
static __device__ unsigned thread_index()
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}

extern "C" __global__ void double_it(float *x, unsigned n)
{
    unsigned i = thread_index();
    if (i < n)
        x[i] *= 2.0f;
}

extern "C" __global__ void negate(float *x, unsigned n)
{
    unsigned i = thread_index();
    if (i < n)
        x[i] = -x[i];
}

extern "C" __global__ void add_index(float *x, unsigned n)
{
    unsigned i = thread_index();
    if (i < n)
        x[i] += (float)i;
}
