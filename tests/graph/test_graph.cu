/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Steps that do not commute: their result tells in which order they ran. */

/* z = 3 z + x + c, modulo 2^32 */
extern "C" __global__ void step(unsigned *z, const unsigned *x, unsigned c, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        z[i] = 3 * z[i] + x[i] + c;
}

/* x, 64 times one value, grows by the number of blocks: each adds 1 in the first place, waits until
 * all have, and writes its share of the rest. */
extern "C" __global__ void gather(unsigned *x)
{
    if (threadIdx.x != 0)
        return;
    unsigned sum = atomicAdd(&x[1], 0) + gridDim.x;
    __threadfence();
    atomicAdd(&x[0], 1);
    while (atomicAdd(&x[0], 0) != sum) {
    }
    for (unsigned i = 1 + blockIdx.x; i < 64; i += gridDim.x)
        x[i] = sum;
}
