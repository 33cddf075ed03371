/* SPDX-License-Identifier: MIT OR Apache-2.0 */
extern "C" __global__ void set(int *out, int value, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = value;
}

extern "C" __global__ void __launch_bounds__(64) narrow(int *out)
{
    out[threadIdx.x] = 1;
}
