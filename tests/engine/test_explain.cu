/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Something to launch. */

extern "C" __global__ void add(unsigned *x, unsigned what, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] += what;
}
