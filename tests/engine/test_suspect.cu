/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A kernel that stops its context when it is told to, and one that ends when it is told to. */

extern "C" __global__ void perhaps(int *x, int stop)
{
    if (stop)
        __builtin_trap();
    *x += 1;
}

extern "C" __global__ void stay(const volatile int *go)
{
    while (!*go)
        __nanosleep(1000000);
}
