/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Says hello from the device, and counts how often.
 *
 *     hello(inout greetings: u32 [1])
 *     grid, block: any; each thread greets once
 */
extern "C" __global__ void hello(unsigned *greetings)
{
    printf("hello from thread %u of block %u\n", threadIdx.x, blockIdx.x);
    atomicAdd(greetings, 1u);
}
