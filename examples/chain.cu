/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Three steps of a chain, each in place on a partitioned vector.
 *
 *     scale(inout x: partition of f32 [n], factor: f32)      x = factor x
 *     add(inout x: partition of f32 [n], in y: f32 [n])      x = x + y
 *     square(inout x: partition of f32 [n])                  x = x^2
 *     grid: one block for each tile; block: any
 */
#include <acuda/device.cuh>

extern "C" __global__ void scale(acu_tile<float, 1> x, float factor)
{
    for (long long i = x.begin(); i < x.end(); i += x.step())
        x.at(i) *= factor;
}

extern "C" __global__ void add(acu_tile<float, 1> x, const float *y)
{
    for (long long i = x.begin(); i < x.end(); i += x.step())
        x.at(i) += y[x.linear(i)];
}

extern "C" __global__ void square(acu_tile<float, 1> x)
{
    for (long long i = x.begin(); i < x.end(); i += x.step())
        x.at(i) *= x.at(i);
}
