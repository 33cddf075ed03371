/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Takes a while, or stops its context. */

extern "C" __global__ void busy(int *x, int turns, int stop)
{
    unsigned value = *x;
    if (stop)
        __builtin_trap();
    for (int i = 0; i < turns; i++)
        value = value * 1664525u + 1013904223u;
    *x = value;
}
