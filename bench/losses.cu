/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Works for x[0] turns, and stops its context where x[1] says so. That stands in memory, where
 * nobody on the host sees it. */
extern "C" __global__ void late(int *x)
{
    unsigned value = 1;
    for (int i = 0; i < x[0]; i++)
        value = value * 1664525u + 1013904223u;
    x[2] = value;
    if (x[1])
        __builtin_trap();
}
