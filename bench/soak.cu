/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the soak computes: cheap to do, and to predict. */

/* x += c */
extern "C" __global__ void add(unsigned *x, unsigned c, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] += c;
}

/* z = 3 z + x */
extern "C" __global__ void mix(unsigned *z, const unsigned *x, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        z[i] = 3 * z[i] + x[i];
}
