/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A launch to be described: of two partitions. */
#include <acuda/device.cuh>

extern "C" __global__ void both(acu_tiles<long long, 1> y, acu_tile<long long, 1> z)
{
    for (long long n = y.begin(); n < y.end(); n += y.step())
        for (long long i = y[n].begin(); i < y[n].end(); i += y[n].step())
            y[n].at(i) += 1;
    for (long long i = z.begin(); i < z.end(); i += z.step())
        z.at(i) += 1;
}
