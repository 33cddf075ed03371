/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 *     invert(inout x: u32 [n], n: u32)    x = ~x: a stand-in for what a program does with its data
 *     grid, block: any (a grid-stride loop)
 */
extern "C" __global__ void invert(unsigned *x, unsigned n)
{
    unsigned step = gridDim.x * blockDim.x;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        x[i] = ~x[i];
}
