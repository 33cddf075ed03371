/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Kernels that use a tile in every way that <acuda/device.cuh> offers, for test_tile.c to check. */
#include <acuda/device.cuh>

/* Each kernel adds this to each element of its tile, once: it tells a second visit from the first,
 * and one element from another. */
static __device__ long long mark(long long linear)
{
    return 1 + 8 * linear;
}

/* ---- loops that share the tile among the threads --------------------------------------------- */

extern "C" __global__ void loop_1(acu_tile<long long, 1> t)
{
    for (long long i = t.begin(); i < t.end(); i += t.step())
        t.at(i) += mark(t.linear(i));
}

extern "C" __global__ void loop_2(acu_tile<long long, 2> t)
{
    for (long long i = t.begin(0); i < t.end(0); i += t.step(0))
        for (long long j = t.begin(1); j < t.end(1); j += t.step(1))
            t.at(i, j) += mark(t.linear(i, j));
}

extern "C" __global__ void loop_3(acu_tile<long long, 3> t)
{
    for (long long i = t.begin(0); i < t.end(0); i += t.step(0))
        for (long long j = t.begin(1); j < t.end(1); j += t.step(1))
            for (long long k = t.begin(2); k < t.end(2); k += t.step(2))
                t.at(i, j, k) += mark(t.linear(i, j, k));
}

/* ---- a thread for each element, a rank known at run time only -------------------------------- */

extern "C" __global__ void threads_1(acu_tile<long long> t)
{
    long long i = threadIdx.x;
    if (t.contains(i))
        t.at(i) += mark(t.global_index(0, i));
}

extern "C" __global__ void threads_2(acu_tile<long long> t)
{
    long long i = threadIdx.y, j = threadIdx.x;
    if (t.contains(i, j))
        t.at(i, j) += mark(t.global_index(0, i) * t.shape(1) + t.global_index(1, j));
}

extern "C" __global__ void threads_3(acu_tile<long long> t)
{
    long long i = threadIdx.z, j = threadIdx.y, k = threadIdx.x;
    if (t.contains(i, j, k))
        t.at(i, j, k) +=
            mark((t.global_index(0, i) * t.shape(1) + t.global_index(1, j)) * t.shape(2) +
                 t.global_index(2, k));
}

/* ---- any rank, by a flat index; from a tile that is for reading ------------------------------ */

extern "C" __global__ void flat_any(acu_tile<long long> to, acu_tile<const long long> from)
{
    for (long long i = to.begin(); i < to.end(); i += to.step())
        to.flat(i) += from.flat(i);
}

/* ---- what a block knows of its tile: 20 numbers a block -------------------------------------- */

extern "C" __global__ void facts(acu_tile<long long> t, long long *out)
{
    long long block = blockIdx.x + (long long)gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    long long *o = out + 20 * block;
    for (int d = 0; d < t.rank(); d++) {
        o[d] = t.tile_index(d);
        o[3 + d] = t.origin(d);
        o[6 + d] = t.extent(d);
        o[9 + d] = t.tile_count(d);
        o[12 + d] = t.tile_shape(d);
    }
    o[15] = t.rank();
    o[16] = t.size();
    o[17] = t.data() - t.tensor();
    o[18] = t.contains(0) + 2 * t.contains(-1) + 4 * t.contains(t.extent(0), 0);
    o[19] = t.step();
}
