/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A kernel that destroys its context. */
extern "C" __global__ void stop(int *x)
{
    if (*x == 0)
        __builtin_trap();
}
