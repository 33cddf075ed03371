/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A kernel that stops its context when it is told to. */

extern "C" __global__ void perhaps(int *x, int stop)
{
    if (stop)
        __builtin_trap();
    *x += 1;
}
