/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A kernel for each kind of fault, and one without. All take (inout x: i32
 * [1], n: i32), n being 1. */

extern "C" __global__ void well(int *x, int n)
{
    *x += n;
}

extern "C" __global__ void address(int *x, int n)
{
    ((int *)16)[n] = *x;
}

extern "C" __global__ void misaligned(int *x, int n)
{
    *(int *)((char *)x + n) = 1;
}

extern "C" __global__ void trap(int *x, int n)
{
    if (n)
        __builtin_trap();
    *x = n;
}

extern "C" __global__ void assertion(int *x, int n)
{
    assert(n == 0);
    *x = n;
}

extern "C" __global__ void shared(int *x, int n)
{
    __shared__ int values[4];
    values[n << 24] = *x;
    __syncthreads();
    *x = values[n];
}

extern "C" __global__ void local(int *x, int n)
{
    int values[64];
    for (int i = 0; i < 64; i++)
        values[i] = *x + i;
    values[n << 26] = 1;
    for (int i = 0; i < 64; i++)
        *x += values[(i * n) & 63];
}
