/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Steps that do not commute: their result tells in which order they ran. */

/* z = 3 z + x + c, modulo 2^32 */
extern "C" __global__ void step(unsigned *z, const unsigned *x, unsigned c, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        z[i] = 3 * z[i] + x[i] + c;
}

/*
 * z[b] = 3 z[b] + what the next block has left, for each block b; blocks wait until all so far, of
 * earlier launches too, are `target`. And 1000 more where there is the workspace that cooperative
 * grids have.
 */
extern "C" __global__ void meet(unsigned *z, unsigned *left, unsigned *arrived, unsigned target,
                                unsigned c)
{
    if (threadIdx.x != 0)
        return;
    unsigned low, high;
    asm volatile("mov.b32 %0, %%envreg1;" : "=r"(low));
    asm volatile("mov.b32 %0, %%envreg2;" : "=r"(high));
    atomicExch(&left[blockIdx.x], c + blockIdx.x);
    __threadfence();
    atomicAdd(arrived, 1);
    while (atomicAdd(arrived, 0) < target) {
    }
    unsigned next = (blockIdx.x + 1) % gridDim.x;
    z[blockIdx.x] = 3 * z[blockIdx.x] + atomicAdd(&left[next], 0) + ((low | high) ? 1000 : 0);
}
