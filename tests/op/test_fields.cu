/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A kernel as libraries have them: all that it takes is in one struct. For test_fields.c. */

struct params {
    int factor;
    const int *x;
    int n;
    int *y;
    char unused[3];
};

extern "C" __global__ void scale_add(params p, int summand)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (unsigned)p.n)
        p.y[i] = p.y[i] * p.factor + p.x[i] + summand;
}
