/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Each element gets a number that says which tile it is in and where; it is added, so that a second
 * visit shows. For test_partitions.c. */
#include <acuda/device.cuh>

template <typename Tile> static __device__ void mark(const Tile &y)
{
    long long number = 0;
    for (int d = 0; d < y.rank(); d++)
        number = number * y.tile_count(d) + y.tile_index(d);
    for (long long i = y.begin(); i < y.end(); i += y.step())
        y.flat(i) += 1 + i + 1000 * number;
}

extern "C" __global__ void one(acu_tile<long long> y)
{
    mark(y);
}

extern "C" __global__ void all_1(acu_tiles<long long, 1> y)
{
    for (long long n = y.begin(); n < y.end(); n += y.step())
        mark(y[n]);
}

extern "C" __global__ void all_2(acu_tiles<long long, 2> y)
{
    for (long long n = y.begin(); n < y.end(); n += y.step())
        mark(y[n]);
}

extern "C" __global__ void all_3(acu_tiles<long long> y)
{
    for (long long n = y.begin(); n < y.end(); n += y.step())
        mark(y[n]);
}

/* How many blocks there are. */
extern "C" __global__ void blocks(acu_tiles<long long, 1> y)
{
    for (long long n = y.begin(); n < y.end(); n += y.step())
        y[n].flat(0) = gridDim.x;
}

/* Neither a tile nor a list. */
struct five {
    int n[5];
};
extern "C" __global__ void other(five x)
{
    (void)x;
}

/* Two at once: a mapped one beside one of which each block has one tile. */
extern "C" __global__ void both(acu_tiles<long long, 1> y, acu_tile<long long, 1> z)
{
    for (long long n = y.begin(); n < y.end(); n += y.step())
        mark(y[n]);
    mark(z);
}

/* The sum of what a list has, and which of its tensors is how much. */
extern "C" __global__ void sum(acu_list<const int, 7> list, int *out)
{
    long long total = list.count;
    for (long long i = 0; i < list.count; i++)
        total += list[i][threadIdx.x] * (i + 1);
    out[threadIdx.x] = (int)total;
}

extern "C" __global__ void number(acu_list<int, 3> list)
{
    for (long long i = 0; i < list.count; i++)
        list[i][threadIdx.x] = 100 * (int)i + (int)threadIdx.x;
}
