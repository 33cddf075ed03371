/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * y = a x + y, where y is partitioned: each block gets one tile of y to write, and reads the
 * elements at the same places of x, a whole tensor of y's shape. For matrices.
 *
 *     saxpy(inout y: partition of f32 [m, n], a: f32, in x: f32 [m, n])
 *     grid: one block per tile; block: (columns, rows) of a tile, or any other
 */
#include <acuda/device.cuh>

extern "C" __global__ void saxpy(acu_tile<float, 2> y, float a, const float *x)
{
    for (long long i = y.begin(0); i < y.end(0); i += y.step(0))
        for (long long j = y.begin(1); j < y.end(1); j += y.step(1))
            y.at(i, j) = a * x[y.linear(i, j)] + y.at(i, j);
}
