// SPDX-License-Identifier: MIT OR Apache-2.0
// The kernel of `acuda bench`: adds 1 to counter[0], after so many rounds of arithmetic; counter[1]
// has what that came to, so that it can not be left out.
extern "C" __global__ void bench_count(unsigned *counter, unsigned rounds)
{
    unsigned x = threadIdx.x;
    for (unsigned i = 0; i < rounds; i++)
        x = x * 1664525u + 1013904223u;
    if (threadIdx.x == 0) {
        counter[0] += 1;
        counter[1] = x;
    }
}
