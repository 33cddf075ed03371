/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Kernels for test_modules.c. */
extern "C" __global__ void set(int *x, int value, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = value;
}
