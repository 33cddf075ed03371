/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Steps that do not commute: their result tells in which order they ran. */
#include <acuda/device.cuh>

/* z = 3 z + x + c, modulo 2^32 */
extern "C" __global__ void step(unsigned *z, const unsigned *x, unsigned c, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        z[i] = 3 * z[i] + x[i] + c;
}

extern "C" __global__ void paint(acu_tile<unsigned> z, unsigned value)
{
    for (long long i = z.begin(); i < z.end(); i += z.step())
        z.flat(i) = value;
}
