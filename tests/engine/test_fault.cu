/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Kernels that destroy their context, and one that does not. */

extern "C" __global__ void stray(int *x)
{
    ((int *)16)[threadIdx.x] = *x;
}

extern "C" __global__ void behind(int *x)
{
    x[3] = 1;
}

extern "C" __global__ void stop(int *x)
{
    if (*x == 0)
        __builtin_trap();
}

extern "C" __global__ void well(int *x)
{
    *x = 1;
}
