/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * CUB's side of bench/data.c, in the same rows: microseconds of one, the median of 20 times 4.
 * Needs a toolkit, and is no part of the build:
 *
 *     nvcc -O3 -arch=native -o cub bench/twins/cub.cu && ./cub
 */
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cub/cub.cuh>
#include <vector>

static void must(cudaError_t error)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "%s\n", cudaGetErrorString(error));
    exit(1);
}

static double now()
{
    using namespace std::chrono;
    return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}

template <typename T> static T *memory(size_t count)
{
    T *at;
    must(cudaMalloc(&at, count * sizeof(T)));
    return at;
}

/* `work` is called with temporary memory, or without to say how much it needs. */
template <typename F> static void show(const char *what, F work)
{
    size_t bytes = 0;
    std::vector<double> times;
    must(work(nullptr, bytes));
    char *temporary = memory<char>(bytes + 1);
    for (int i = 0; i < 22; i++) {
        must(cudaDeviceSynchronize());
        const double start = now();
        for (int k = 0; k < 4; k++)
            must(work(temporary, bytes));
        must(cudaDeviceSynchronize());
        if (i >= 2)
            times.push_back((now() - start) / 4);
    }
    std::sort(times.begin(), times.end());
    printf("%-8s %-52s %10.1f us\n", "CUB", what, times[times.size() / 2]);
    must(cudaFree(temporary));
}

/* Numbers as the bench has them: of 32 random bits, or of 0 to 1. */
__global__ void fill(uint32_t *bits, float *reals, int *keys, size_t count)
{
    const size_t first = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    for (size_t i = first; i < count; i += (size_t)gridDim.x * blockDim.x) {
        uint64_t z = (i + 1) * 0x9e3779b97f4a7c15ull;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ z >> 27) * 0x94d049bb133111ebull;
        const uint32_t r = (uint32_t)(z >> 32);
        bits[i] = r;
        reals[i] = (float)(r >> 8) * 0x1p-24f;
        keys[i] = (int)(r >> 22);
    }
}

/* Sums by keys in no order: CUB sums neighbours, so it sorts by the keys' ten bits first. */
static cudaError_t sum_by_key(void *temporary, size_t &bytes, const int *keys, int *sorted,
                              const float *x, float *moved, int *found, float *sums, int count)
{
    size_t sorting = bytes, adding = bytes;
    must(cub::DeviceRadixSort::SortPairs(temporary, sorting, keys, sorted, x, moved, count, 0, 10));
    must(cub::DeviceReduce::ReduceByKey(temporary, adding, sorted, found, moved, sums, found + 1024,
                                        cuda::std::plus<>(), count));
    bytes = temporary ? bytes : std::max(sorting, adding);
    return cudaSuccess;
}

int main()
{
    const size_t all = (size_t)1 << 28, part = (size_t)1 << 26, few = part / 4;
    uint32_t *bits = memory<uint32_t>(all), *sorted = memory<uint32_t>(part);
    float *x = memory<float>(all), *y = memory<float>(all);
    int *keys = memory<int>(all), *order = memory<int>(all);
    fill<<<4096, 256>>>(bits, x, keys, all);
    must(cudaDeviceSynchronize());
    show("sort of a quarter, u32", [&](void *t, size_t &b) {
        return cub::DeviceRadixSort::SortKeys(t, b, bits, sorted, (int)part);
    });
    show("sort of a quarter (2^26), f32", [&](void *t, size_t &b) {
        return cub::DeviceRadixSort::SortKeys(t, b, x, y, (int)part);
    });
    show("argsort of a quarter, u32", [&](void *t, size_t &b) { /* places of 4 bytes */
        return cub::DeviceRadixSort::SortPairs(t, b, bits, sorted, keys, order, (int)part);
    });
    show("top 64 of a sixteenth (2^24), f32", [&](void *t, size_t &b) { /* all of them, sorted */
        return cub::DeviceRadixSort::SortPairsDescending(t, b, x, y, keys, order, (int)few);
    });
    show("cumsum of all, f32", [&](void *t, size_t &b) {
        return cub::DeviceScan::InclusiveSum(t, b, x, y, all);
    });
    show("sum by 1024 keys, a quarter, f32", [&](void *t, size_t &b) {
        return sum_by_key(t, b, keys, order, x, y, (int *)sorted, (float *)bits, (int)part);
    });
    must(cudaMemset(order, 0, all * 4));
    show("histogram, 256 bins, f32", [&](void *t, size_t &b) {
        return cub::DeviceHistogram::HistogramEven(t, b, x, order, 257, 0.0f, 1.0f, (int)all);
    });
    return 0;
}
