/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Counts, or stops its context. */

extern "C" __global__ void count(int *x, int stop)
{
    if (stop)
        __builtin_trap();
    *x += 1;
}
