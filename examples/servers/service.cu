/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the example servers compute: each number is mixed, `rounds` times over. It stands for work
 * that is worth a GPU, and takes as long as the client wants.
 *
 *     stretch(inout numbers: u32 [n], rounds: u32, n: u32)
 *     grid, block: together at least n threads
 */
extern "C" __global__ void stretch(unsigned *numbers, unsigned rounds, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned x = numbers[i];
    for (unsigned round = 0; round < rounds; round++)
        x = (x ^ x >> 15) * 0x2c1b3c6du + round;
    numbers[i] = x;
}
