/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* z = 3 z + c, modulo 2^32: the order of several shows. */
extern "C" __global__ void step(unsigned *z, unsigned c)
{
    z[threadIdx.x] = 3 * z[threadIdx.x] + c;
}
