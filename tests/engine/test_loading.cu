/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <acuda/device.cuh>

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

/* The sum of what a list has, and more. */
extern "C" __global__ void sum(acu_list<const int, 3> list, int *out, int more)
{
    int total = more;
    for (long long i = 0; i < list.count; i++)
        total += list[i][threadIdx.x];
    out[threadIdx.x] = total;
}
