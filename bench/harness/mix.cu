/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The kernel that is launched: little work, results that depend on every argument of every launch
 * and on their order.
 *
 *     mix(inout y: u32 [n], in x: u32 [n], a: u32, n: u32)
 *     mix_slow(..., ticks: u32)        the same, for so many ticks of the multiprocessor's clock
 *     mix_f0000(...)                   mix again: its PTX is repeated under other names (mix.h)
 */
static __device__ void mix_one(unsigned *y, const unsigned *x, unsigned a, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = y[i] * 1664525u + a * x[i];
}

extern "C" __global__ void mix(unsigned *y, const unsigned *x, unsigned a, unsigned n)
{
    mix_one(y, x, a, n);
}

extern "C" __global__ void mix_slow(unsigned *y, const unsigned *x, unsigned a, unsigned n,
                                    unsigned ticks)
{
    unsigned long long start = clock64(), now;
    mix_one(y, x, a, n);
    do {
        now = clock64();
    } while (now - start < ticks);
}

extern "C" __global__ void mix_f0000(unsigned *y, const unsigned *x, unsigned a, unsigned n)
{
    mix_one(y, x, a, n);
}
