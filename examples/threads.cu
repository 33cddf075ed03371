/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The kernel that two threads submit for one tensor: total = total + factor part. It is not atomic
 * on purpose: the result is right only because operations on the same tensor run one after another.
 *
 *     accumulate(inout total: f32 [n], in part: f32 [n], factor: f32, n: u32)
 *     grid, block: together at least n threads
 */
extern "C" __global__ void accumulate(float *total, const float *part, float factor, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        total[i] += factor * part[i];
}
