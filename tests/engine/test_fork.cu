/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Adds one. */

extern "C" __global__ void count(int *x)
{
    *x += 1;
}
