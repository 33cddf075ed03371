/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Sorting rows, stably. Rows of at most ACUI_SORT_SHORT elements are sorted by one block, in shared
 * memory. Longer ones go by one byte of the keys after the other: tiles count their digits, the
 * counts become places (digit after digit, tile after tile), and tiles move their elements there in
 * order.
 */
#include "keys.cuh"

#include "../src/ops/sort/params.h"

enum { WARPS = ACUI_BLOCK / 32, ITEMS = ACUI_SORT_ITEMS, TILE = ACUI_SORT_TILE, DIGITS = ACUI_SORT_DIGITS };

/* Puts element `place` of the row, or that number, to place i of the result. */
ACUI_DEVICE void store(const acui_sort &p, char *out, const char *x, const long long *row, long long i,
                       unsigned place)
{
    const long long to = row[0] + i * p.rows.stride[0];
    if (p.places)
        ((long long *)out)[to] = place;
    else
        acui_move_element(out, to, x, row[1] + place * p.rows.stride[1], p.bytes);
}

/* ---- short rows -------------------------------------------------------------------------------- */

/* As many rows at once as there is room for, each padded to a power of two: a bitonic network. Equal
 * keys stay in order since the place decides between them. */
template <typename K> ACUI_DEVICE void sort_short(char *out, const char *x, const acui_sort &p)
{
    __shared__ K keys[ACUI_SORT_SHORT];
    __shared__ unsigned places[ACUI_SORT_SHORT];
    int length = 1;
    while (length < p.rows.count)
        length *= 2;
    const int together = ACUI_SORT_SHORT / length, used = together * length;
    for (long long first = (long long)blockIdx.x * together; first < p.rows.rows;
         first += (long long)gridDim.x * together) {
        for (int i = (int)threadIdx.x; i < used; i += ACUI_BLOCK) {
            long long row[2], r = first + i / length;
            const int place = i % length;
            K key = (K)~(K)0;
            if (r < p.rows.rows && place < p.rows.count) {
                acui_offsets<2>(p.rows.kept, p.rows.at, r, row);
                key = (K)acui_key_of(x + (row[1] + place * p.rows.stride[1]) * p.bytes, p.dtype, p.descending);
            }
            keys[i] = key;
            places[i] = (unsigned)place;
        }
        __syncthreads();
        for (int size = 2; size <= length; size *= 2)
            for (int step = size / 2; step > 0; step /= 2) {
                for (int t = (int)threadIdx.x; t < used / 2; t += ACUI_BLOCK) {
                    const int a = t / step * 2 * step + t % step, b = a + step;
                    const K ka = keys[a], kb = keys[b];
                    const unsigned pa = places[a], pb = places[b];
                    const bool above = ka > kb || (ka == kb && pa > pb), up = (a & size & (length - 1)) == 0;
                    if (above == up) {
                        keys[a] = kb;
                        keys[b] = ka;
                        places[a] = pb;
                        places[b] = pa;
                    }
                }
                __syncthreads();
            }
        for (int i = (int)threadIdx.x; i < used; i += ACUI_BLOCK) {
            long long row[2], r = first + i / length;
            if (r < p.rows.rows && i % length < p.rows.count) {
                acui_offsets<2>(p.rows.kept, p.rows.at, r, row);
                store(p, out, x, row, i % length, places[i]);
            }
        }
        __syncthreads();
    }
}

/* ---- long rows --------------------------------------------------------------------------------- */

template <typename K> ACUI_DEVICE unsigned digit_of(K key, int pass)
{
    return (unsigned)(key >> (8 * pass)) & (DIGITS - 1);
}

template <typename K> ACUI_DEVICE void sort_load(char *work, const char *x, const acui_sort &p)
{
    K *keys = (K *)(work + p.key[0]);
    const long long all = p.rows.rows * p.rows.count;
    for (long long i = (long long)blockIdx.x * ACUI_BLOCK + threadIdx.x; i < all;
         i += (long long)gridDim.x * ACUI_BLOCK) {
        long long row[2], r = i / p.rows.count;
        acui_offsets<2>(p.rows.kept, p.rows.at, r, row);
        const char *at = x + (row[1] + (i - r * p.rows.count) * p.rows.stride[1]) * p.bytes;
        keys[i] = (K)acui_key_of(at, p.dtype, p.descending);
    }
}

/* Counts are in the order of row, digit, tile. */
template <typename K> ACUI_DEVICE void sort_count(char *work, const acui_sort &p)
{
    __shared__ unsigned count[DIGITS];
    const long long row = blockIdx.x / p.tiles, tile = blockIdx.x - row * p.tiles;
    const K *keys = (const K *)(work + p.key[p.pass & 1]) + row * p.rows.count;
    unsigned *counts = (unsigned *)(work + p.counts) + row * DIGITS * p.tiles + tile;
    count[threadIdx.x] = 0;
    __syncthreads();
    for (int k = 0; k < ITEMS; k++) {
        const long long i = tile * TILE + k * ACUI_BLOCK + threadIdx.x;
        if (i < p.rows.count)
            atomicAdd(&count[digit_of(keys[i], p.pass)], 1u);
    }
    __syncthreads();
    counts[threadIdx.x * p.tiles] = count[threadIdx.x];
}

/* The sum over the block, and in *before that of the threads before this one. */
ACUI_DEVICE unsigned block_sum(unsigned value, unsigned *before)
{
    __shared__ unsigned sums[WARPS];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned run = value, total = 0, earlier = 0;
    for (unsigned step = 1; step < 32; step *= 2) {
        unsigned other = __shfl_up_sync(0xffffffffu, run, step);
        run += lane >= step ? other : 0;
    }
    __syncthreads();
    if (lane == 31)
        sums[warp] = run;
    __syncthreads();
    for (unsigned w = 0; w < WARPS; w++) {
        earlier += w < warp ? sums[w] : 0;
        total += sums[w];
    }
    *before = earlier + run - value;
    return total;
}

extern "C" __global__ void __launch_bounds__(ACUI_BLOCK) sort_sums(char *work, acui_sort p)
{
    const unsigned *counts = (const unsigned *)(work + p.counts);
    unsigned sum = 0, before;
    for (int k = 0; k < ITEMS; k++) {
        const long long i = (long long)blockIdx.x * TILE + k * ACUI_BLOCK + threadIdx.x;
        sum += i < p.counters ? counts[i] : 0;
    }
    sum = block_sum(sum, &before);
    if (threadIdx.x == 0)
        ((unsigned *)(work + p.sums))[blockIdx.x] = sum;
}

/* Each count becomes the sum of those before it: the place of the first element of its digit. */
extern "C" __global__ void __launch_bounds__(ACUI_BLOCK) sort_bases(char *work, acui_sort p)
{
    unsigned *counts = (unsigned *)(work + p.counts);
    const unsigned *sums = (const unsigned *)(work + p.sums);
    const long long first = (long long)blockIdx.x * TILE + threadIdx.x * ITEMS;
    unsigned base = 0, own = 0, before, value[ITEMS];
    for (unsigned i = threadIdx.x; i < blockIdx.x; i += ACUI_BLOCK)
        base += sums[i];
    base = block_sum(base, &before);
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        value[k] = first + k < p.counters ? counts[first + k] : 0;
        own += value[k];
    }
    block_sum(own, &before);
    before += base;
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
        if (first + k < p.counters) {
            counts[first + k] = before;
            before += value[k];
        }
}

/* Each warp ranks its part of the tile, 32 elements after another, among equal digits. */
template <typename K> ACUI_DEVICE void sort_move(char *work, const acui_sort &p)
{
    __shared__ unsigned count[WARPS][DIGITS];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const long long row = blockIdx.x / p.tiles, tile = blockIdx.x - row * p.tiles;
    const int from = p.pass & 1;
    const K *keys = (const K *)(work + p.key[from]) + row * p.rows.count;
    const unsigned *places = (const unsigned *)(work + p.place[from]) + row * p.rows.count;
    K *keys_to = (K *)(work + p.key[1 - from]), key[ITEMS];
    unsigned *places_to = (unsigned *)(work + p.place[1 - from]), rank[ITEMS];
    const long long first = tile * TILE + warp * (ITEMS * 32) + lane;
    for (int k = 0; k < WARPS; k++)
        count[k][threadIdx.x] = 0;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const bool valid = first + k * 32 < p.rows.count;
        key[k] = valid ? keys[first + k * 32] : 0;
        const unsigned digit = valid ? digit_of(key[k], p.pass) : DIGITS;
        const unsigned equal = __match_any_sync(0xffffffffu, digit);
        const unsigned earlier = (unsigned)__popc(equal & ((1u << lane) - 1));
        unsigned run = 0;
        if (valid)
            run = count[warp][digit];
        __syncwarp();
        if (valid && earlier == 0)
            count[warp][digit] = run + (unsigned)__popc(equal);
        __syncwarp();
        rank[k] = run + earlier;
    }
    __syncthreads();
    unsigned base = ((const unsigned *)(work + p.counts))[(row * DIGITS + threadIdx.x) * p.tiles + tile];
    for (int k = 0; k < WARPS; k++) {
        const unsigned own = count[k][threadIdx.x];
        count[k][threadIdx.x] = base;
        base += own;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const long long i = first + k * 32;
        if (i >= p.rows.count)
            continue;
        const unsigned to = count[warp][digit_of(key[k], p.pass)] + rank[k];
        keys_to[to] = key[k];
        places_to[to] = p.pass == 0 ? (unsigned)i : places[i];
    }
}

extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
    sort_store(char *out, const char *x, const char *work, acui_sort p)
{
    const unsigned *places = (const unsigned *)(work + p.place[p.pass & 1]);
    const long long all = p.rows.rows * p.rows.count;
    for (long long i = (long long)blockIdx.x * ACUI_BLOCK + threadIdx.x; i < all;
         i += (long long)gridDim.x * ACUI_BLOCK) {
        long long row[2], r = i / p.rows.count;
        acui_offsets<2>(p.rows.kept, p.rows.at, r, row);
        store(p, out, x, row, i - r * p.rows.count, places[i]);
    }
}

#define ACUI_X(bytes, K)                                                                           \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        sort_short_##bytes(char *out, const char *x, acui_sort p)                                  \
    {                                                                                              \
        sort_short<K>(out, x, p);                                                                  \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        sort_load_##bytes(char *work, const char *x, acui_sort p)                                  \
    {                                                                                              \
        sort_load<K>(work, x, p);                                                                  \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        sort_count_##bytes(char *work, acui_sort p)                                                \
    {                                                                                              \
        sort_count<K>(work, p);                                                                    \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        sort_move_##bytes(char *work, acui_sort p)                                                 \
    {                                                                                              \
        sort_move<K>(work, p);                                                                     \
    }
ACUI_X(4, unsigned)
ACUI_X(8, unsigned long long)
