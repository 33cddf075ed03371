/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Steps that do not commute: their result tells in which order they ran. Modulo 2^32. */
#include <acuda/device.cuh>

/* z = 3 z + x + c */
extern "C" __global__ void step(unsigned *z, const unsigned *x, unsigned c, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        z[i] = 3 * z[i] + x[i] + c;
}

/* z = 5 z + x, tile by tile */
extern "C" __global__ void tiles(acu_tile<unsigned, 1> z, const unsigned *x)
{
    for (long long i = z.begin(); i < z.end(); i += z.step())
        z.at(i) = 5 * z.at(i) + x[z.linear(i)];
}
