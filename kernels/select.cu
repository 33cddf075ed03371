/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Results whose length the data decides: elements, or their places, that are selected; in order.
 * And counts of elements in bins.
 */
#include "formats.cuh"
#include "keys.cuh"

#include "../src/ops/select/params.h"

enum { WARPS = ACUI_BLOCK / 32, ITEMS = ACUI_SELECT_ITEMS, TILE = ACUI_SELECT_TILE };

ACUI_DEVICE unsigned long long bits_of(const char *x, long long i, int dtype)
{
    switch (dtype) {
    case ACU_BOOL:
    case ACU_U8:
    case ACU_I8: return ((const unsigned char *)x)[i];
    case ACU_U16:
    case ACU_I16: return ((const unsigned short *)x)[i];
    case ACU_F16:
    case ACU_BF16: return ((const unsigned short *)x)[i] & 0x7fffu;
    case ACU_U32:
    case ACU_I32: return ((const unsigned *)x)[i];
    case ACU_F32:
    case ACU_TF32: return ((const unsigned *)x)[i] & 0x7fffffffu;
    case ACU_F64: return ((const unsigned long long *)x)[i] & ~(1ull << 63);
    default: return ((const unsigned long long *)x)[i];
    }
}

ACUI_DEVICE bool selected(const acui_select &p, const char *x, long long i)
{
    long long at[2];
    if (p.what == ACUI_SELECT_HEADS) { /* of a dense row */
        const int bytes = p.bytes;
        return i == 0 || acui_key_of(x + i * bytes, p.dtype, false) != acui_key_of(x + (i - 1) * bytes, p.dtype, false);
    }
    if (p.linear & 1)
        return bits_of(x, i, p.dtype) != 0;
    acui_offsets<2>(p.index, p.at, i, at);
    return bits_of(x, at[0], p.dtype) != 0;
}

/* Which of the ITEMS from i on are selected, as bits; there is nothing from `end` on. */
ACUI_DEVICE unsigned which_of(const acui_select &p, const char *x, long long i, long long end)
{
    static_assert(ITEMS == 8, "a mask's bytes are read as one word");
    unsigned which = 0;
    const bool mask = p.what == ACUI_SELECT_NONZERO && p.linear & 1 && p.dtype == ACU_BOOL;
    if (mask && i + ITEMS <= end && ((unsigned long long)x + (unsigned long long)i) % ITEMS == 0) {
        const uint2 word = *(const uint2 *)(x + i);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            which |= (word.x >> 8 * k & 0xff ? 1u : 0u) << k;
            which |= (word.y >> 8 * k & 0xff ? 1u : 0u) << (4 + k);
        }
        return which;
    }
    for (int k = 0; k < ITEMS; k++)
        if (i + k < end && selected(p, x, i + k))
            which |= 1u << k;
    return which;
}

/* The sum over the block, and in *before that of the threads before this one. */
ACUI_DEVICE long long block_sum(long long value, long long *before)
{
    __shared__ long long sums[WARPS];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    long long run = value, total = 0, earlier = 0;
    for (unsigned step = 1; step < 32; step *= 2) {
        long long other = __shfl_up_sync(0xffffffffu, run, step);
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

extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
    select_count(long long *counts, const char *x, acui_select p)
{
    const long long first = blockIdx.x * p.chunk, last = first + p.chunk < p.elements ? first + p.chunk : p.elements;
    long long count = 0, before;
    for (long long i = first + (int)threadIdx.x * ITEMS; i < last; i += TILE)
        count += __popc(which_of(p, x, i, last));
    count = block_sum(count, &before);
    if (threadIdx.x == 0)
        counts[blockIdx.x] = count;
}

ACUI_DEVICE void write(const acui_select &p, char *out, long long to, const char *from, long long i)
{
    if (p.bytes) {
        long long at[2] = {0, i};
        if (from && p.what != ACUI_SELECT_HEADS && !(p.linear & 2))
            acui_offsets<2>(p.index, p.at, i, at);
        acui_move_element(out, to, from, at[1], p.bytes);
        return;
    }
    for (int d = p.rank - 1; d >= 0; d--) {
        const long long rest = i / p.shape.dim[d];
        ((long long *)out)[to * p.rank + d] = from ? i - rest * p.shape.dim[d] : 0;
        i = rest;
    }
}

/* What is selected, in order, and zeros behind it; and how many there are. */
extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
    select_write(char *out, long long *number, const long long *counts, const char *x, const char *from,
                 acui_select p)
{
    const long long first = blockIdx.x * p.chunk, last = first + p.chunk < p.elements ? first + p.chunk : p.elements;
    __shared__ unsigned short places[TILE];
    long long base = 0, all = 0, before;
    for (long long c = threadIdx.x; c < p.chunks; c += ACUI_BLOCK) {
        all += counts[c];
        base += c < blockIdx.x ? counts[c] : 0;
    }
    all = block_sum(all, &before);
    base = block_sum(base, &before);
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *number = all;
    for (long long tile = first; tile < last; tile += TILE) {
        const int own = (int)threadIdx.x * ITEMS;
        const unsigned mine = which_of(p, x, tile + own, last);
        const int found = (int)block_sum(__popc(mine), &before);
        for (int k = 0; k < ITEMS; k++)
            if (mine >> k & 1)
                places[before++] = (unsigned short)(own + k);
        __syncthreads(); /* so that neighbours write to neighbours */
        for (int k = (int)threadIdx.x; k < found; k += ACUI_BLOCK)
            write(p, out, base + k, from, tile + places[k]);
        base += found;
    }
    for (long long i = all + (long long)blockIdx.x * ACUI_BLOCK + threadIdx.x; i < p.elements;
         i += (long long)gridDim.x * ACUI_BLOCK)
        write(p, out, i, nullptr, 0);
}

/* Element i in the type of computation, and back. Not inlined: there are many dtypes, and the rest is
 * needed once. */
template <typename C> ACUI_DEVICE_OUTLINE typename C::value get(int dtype, const char *x, long long i)
{
    typename C::value value = typename C::value();
    C::with(dtype, [&](auto format) ACUI_INLINE {
        typedef decltype(format) F;
        value = F::template read_one<typename C::value>(x + i * F::BYTES);
    });
    return value;
}
template <typename C> ACUI_DEVICE_OUTLINE void put(int dtype, char *out, long long i, typename C::value value)
{
    C::with(dtype, [&](auto format) ACUI_INLINE {
        typedef decltype(format) F;
        F::write_one(out + i * F::BYTES, value);
    });
}

/* ---- bins ------------------------------------------------------------------------------------------ */

ACUI_DEVICE bool below(const acui_histogram &, double a, double b) { return a < b; }
ACUI_DEVICE bool below(const acui_histogram &p, long long a, long long b)
{
    return p.dtype == ACU_U64 ? (unsigned long long)a < (unsigned long long)b : a < b;
}

/* Nearly the bin of a value between even edges. */
ACUI_DEVICE long long guess_of(const acui_histogram &p, double value, double first)
{
    const long long guess = (long long)((value - first) * p.scale);
    return guess < 0 ? 0 : guess < p.count ? guess : p.count - 1;
}
ACUI_DEVICE long long guess_of(const acui_histogram &, long long, long long) { return 0; }

/* The bin of a value: the last whose lower edge is not above it; -1: none. The last bin includes its
 * upper edge. */
template <typename T>
ACUI_DEVICE long long bin_of(const acui_histogram &p, const T *edges, T value)
{
    if (value != value || below(p, value, edges[0]) || below(p, edges[p.count], value))
        return -1;
    long long low = 0, high = p.count;
    if (p.scale > 0) {
        low = guess_of(p, value, edges[0]);
        while (low > 0 && below(p, value, edges[low]))
            low--;
        while (low + 1 < p.count && !below(p, value, edges[low + 1]))
            low++;
        return low;
    }
    while (high - low > 1) { /* edges[low] <= value, and value < edges[high] or high is the last */
        const long long middle = (low + high) / 2;
        if (below(p, value, edges[middle]))
            high = middle;
        else
            low = middle;
    }
    return low;
}

/* Edges are in the type of computation; NULL: the values are the numbers of their bins. */
template <typename C>
ACUI_DEVICE void histogram(unsigned long long *counts, const char *x, const typename C::value *edges,
                           const acui_histogram &p)
{
    typedef typename C::value T;
    const int AHEAD = 4; /* elements under way at once */
    __shared__ unsigned near[ACUI_HISTOGRAM_SHARED];
    __shared__ T near_edges[ACUI_HISTOGRAM_EDGES + 1];
    const bool shared = p.count <= ACUI_HISTOGRAM_SHARED;
    const int count = shared ? (int)p.count : 0;
    const int copies = shared ? min((int)WARPS, ACUI_HISTOGRAM_SHARED / count) : 0;
    for (int i = (int)threadIdx.x; i < copies * count; i += ACUI_BLOCK)
        near[i] = 0;
    if (edges && p.count <= ACUI_HISTOGRAM_EDGES) {
        for (int i = (int)threadIdx.x; i <= count; i += ACUI_BLOCK)
            near_edges[i] = edges[i];
        edges = near_edges;
    }
    __syncthreads();
    unsigned *own = near + (shared ? (int)(threadIdx.x / 32) % copies * count : 0);
    const long long step = (long long)gridDim.x * ACUI_BLOCK;
    for (long long i = (long long)blockIdx.x * ACUI_BLOCK + threadIdx.x; i < p.elements; i += AHEAD * step) {
        T value[AHEAD];
        C::with(p.dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
#pragma unroll
            for (int k = 0; k < AHEAD; k++) {
                long long at = i + k * step;
                if (at >= p.elements)
                    break;
                if (!p.linear)
                    acui_offsets<1>(p.index, &p.x, i + k * step, &at);
                value[k] = F::template read_one<T>(x + at * F::BYTES);
            }
        });
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            if (i + k * step >= p.elements)
                break;
            const long long bin = edges ? bin_of(p, edges, value[k]) : (long long)value[k];
            if (bin < 0 || bin >= p.count)
                continue;
            if (shared)
                atomicAdd(&own[bin], 1u);
            else
                atomicAdd(&counts[bin * p.stride], 1ull);
        }
    }
    __syncthreads();
    for (int i = (int)threadIdx.x; i < count; i += ACUI_BLOCK) {
        unsigned long long sum = 0;
        for (int c = 0; c < copies; c++)
            sum += near[c * count + i];
        if (sum)
            atomicAdd(&counts[i * p.stride], sum);
    }
}

extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
    histogram_d(unsigned long long *counts, const char *x, const double *edges, acui_histogram p)
{
    histogram<acui_all_d>(counts, x, edges, p);
}
extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
    histogram_l(unsigned long long *counts, const char *x, const long long *edges, acui_histogram p)
{
    histogram<acui_any_l>(counts, x, edges, p);
}

/* ---- scatter --------------------------------------------------------------------------------------- */

ACUI_DEVICE unsigned long long key_at(const acui_scatter &p, const char *keys, long long i)
{
    if (p.key_bytes == 8)
        return ((const unsigned long long *)keys)[i];
    const unsigned key = ((const unsigned *)keys)[i];
    return key == ~0u ? ~0ull : key;
}

extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
    scatter_keys(char *keys, const char *indices, acui_scatter p)
{
    for (long long i = (long long)blockIdx.x * ACUI_BLOCK + threadIdx.x; i < p.count;
         i += (long long)gridDim.x * ACUI_BLOCK) {
        long long at[3];
        acui_offsets<3>(p.index, p.at, i, at);
        long long k = p.index_bytes == 4 ? ((const int *)indices)[at[2]] : ((const long long *)indices)[at[2]];
        k += k < 0 ? p.extent : 0;
        const long long to = k < 0 || k >= p.extent ? -1 : at[0] + k * p.along;
        if (p.key_bytes == 8)
            ((long long *)keys)[i] = to;
        else
            ((unsigned *)keys)[i] = (unsigned)to;
    }
}

enum { SET, ADD, LEAST, MOST }; /* acu_scatter_kind */

template <typename P> ACUI_DEVICE double join(const P &p, double a, double b)
{
    const bool first = a != a || (p.kind == LEAST ? a < b : a > b);
    return p.kind == ADD ? a + b : first ? a : b;
}
template <typename P> ACUI_DEVICE long long join(const P &p, long long a, long long b)
{
    const unsigned long long flip = p.dtype == ACU_U64 ? 1ull << 63 : 0;
    const bool less = (long long)((unsigned long long)a ^ flip) < (long long)((unsigned long long)b ^ flip);
    const long long sum = (long long)((unsigned long long)a + (unsigned long long)b);
    return p.kind == ADD ? sum : less == (p.kind == LEAST) ? a : b;
}

/* Indices in the order of their keys: `places` says where they stand. */
struct in_order {
    const char *keys;
    const long long *places;
    ACUI_DEVICE unsigned long long key(const acui_scatter &p, const in_order &o, long long i)
    {
        return key_at(p, o.keys, o.places[i]);
    }
    /* The end of the run of equal keys that begins at i. */
    ACUI_DEVICE long long end(const acui_scatter &p, const in_order &o, long long i, unsigned long long own)
    {
        long long step = 1, low = i + 1, high;
        while (low + step < p.count && key(p, o, low + step) == own) {
            low += step;
            step *= 2;
        }
        high = low + step < p.count ? low + step : p.count;
        while (low < high) {
            const long long middle = (low + high) / 2;
            if (key(p, o, middle) == own)
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    }
};

template <typename C> struct scattering {
    typedef typename C::value T;
    ACUI_DEVICE T source(const acui_scatter &p, const in_order &o, const char *from, long long i, long long other)
    {
        long long at[3];
        acui_offsets<3>(p.index, p.at, o.places[i], at);
        return get<C>(p.dtype, from, at[1] + other);
    }

    /* A run by all lanes: each adds up every 32nd element, and these sums are added up in pairs. */
    ACUI_DEVICE void together(const acui_scatter &p, const in_order &o, char *out, const char *from,
                              unsigned which, long long begin, long long end, unsigned long long key)
    {
        const int lane = (int)(threadIdx.x % 32);
        for (; which; which &= which - 1) {
            const int owner = __ffs((int)which) - 1;
            const long long first = __shfl_sync(0xffffffffu, begin, owner), last = __shfl_sync(0xffffffffu, end, owner);
            const unsigned long long to = __shfl_sync(0xffffffffu, key, owner);
            T sum = source(p, o, from, first + lane, 0);
            for (long long i = first + lane + 32; i < last; i += 32)
                sum = join(p, sum, source(p, o, from, i, 0));
            for (int step = 16; step > 0; step /= 2)
                sum = join(p, sum, __shfl_down_sync(0xffffffffu, sum, (unsigned)step));
            if (lane == 0)
                put<C>(p.dtype, out, (long long)to, join(p, get<C>(p.dtype, out, (long long)to), sum));
        }
    }

    ACUI_DEVICE void run(char *out, const char *from, const in_order &o, const acui_scatter &p)
    {
        const long long all = p.count * p.others, step = (long long)gridDim.x * ACUI_BLOCK;
        for (long long base = (long long)blockIdx.x * ACUI_BLOCK; base < all; base += step) {
            const long long u = base + threadIdx.x, i = u / p.others;
            unsigned long long key = ~0ull;
            long long end = 0, other[2] = {0, 0};
            if (u < all)
                key = in_order::key(p, o, i);
            if (key != ~0ull && i > 0 && in_order::key(p, o, i - 1) == key)
                key = ~0ull; /* another thread's */
            if (key != ~0ull) {
                end = in_order::end(p, o, i, key);
                acui_offsets<2>(p.other, p.other_at, u - i * p.others, other);
            }
            const bool many = p.others == 1 && p.kind != SET && key != ~0ull && end - i > 64;
            const unsigned which = __ballot_sync(0xffffffffu, many);
            if (key != ~0ull && !many) {
                const long long to = (long long)key + other[0];
                if (p.kind == SET) { /* the last one stays */
                    long long at[3];
                    acui_offsets<3>(p.index, p.at, o.places[end - 1], at);
                    acui_move_element(out, to, from, at[1] + other[1], p.bytes);
                } else {
                    T sum = get<C>(p.dtype, out, to);
                    for (long long k = i; k < end; k++)
                        sum = join(p, sum, source(p, o, from, k, other[1]));
                    put<C>(p.dtype, out, to, sum);
                }
            }
            together(p, o, out, from, which, i, end, key);
        }
    }
};

#define ACUI_X(letter, C)                                                                          \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        scatter_##letter(char *out, const char *from, const char *keys, const long long *places,   \
                         acui_scatter p)                                                           \
    {                                                                                              \
        scattering<C>::run(out, from, in_order{keys, places}, p);                                  \
    }
ACUI_X(d, acui_all_d)
ACUI_X(l, acui_any_l)
#undef ACUI_X

/* ---- by key, of few keys ----------------------------------------------------------------------------- */

/*
 * Each warp joins the values of its part, in order, in a table of its own with a place for each key;
 * lanes with equal keys take turns. Then the tables are joined, key by key.
 */
template <typename C> struct by_key {
    typedef typename C::value T;
    static const int AHEAD = 4; /* values under way at once */

    ACUI_DEVICE T none_of(const acui_by_key &p)
    {
        const unsigned long long bits = p.none;
        return get<C>(p.dtype, (const char *)&bits, 0);
    }

    ACUI_DEVICE int key_of(const acui_by_key &p, const char *keys, long long at)
    {
        long long key = p.key_bytes == 4 ? ((const int *)keys)[at] : ((const long long *)keys)[at];
        key += key < 0 ? p.count : 0;
        return key < 0 || key >= p.count ? -1 : (int)key;
    }

    ACUI_DEVICE void add(const acui_by_key &p, T *table, int key, T value)
    {
        const unsigned equal = __match_any_sync(0xffffffffu, key);
        const int turn = __popc(equal & ((1u << threadIdx.x % 32) - 1));
        for (int now = 0; __any_sync(0xffffffffu, key >= 0 && turn >= now); now++) {
            if (key >= 0 && turn == now)
                table[key] = join(p, table[key], value);
            __syncwarp();
        }
    }

    ACUI_DEVICE void part(T *partial, const char *values, const char *keys, const acui_by_key &p)
    {
        __shared__ T tables[ACUI_BY_KEY_MOST];
        const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, count = (int)p.count;
        const long long number = (long long)blockIdx.x * (blockDim.x / 32) + warp;
        const long long first = number * p.chunk, last = min(first + p.chunk, p.elements);
        T *table = tables + warp * count;
        const T none = none_of(p);
        if (number >= p.parts)
            return;
        for (int i = lane; i < count; i += 32)
            table[i] = none;
        __syncwarp();
        for (long long base = first; base < last; base += 32 * AHEAD) {
            T value[AHEAD];
            int key[AHEAD];
#pragma unroll
            for (int k = 0; k < AHEAD; k++) {
                const long long i = base + k * 32 + lane;
                long long at[2];
                value[k] = none;
                key[k] = -1;
                if (i < last) {
                    acui_offsets<2>(p.index, p.at, i, at);
                    key[k] = key_of(p, keys, at[1]);
                    value[k] = get<C>(p.dtype, values, at[0]);
                }
            }
#pragma unroll
            for (int k = 0; k < AHEAD; k++)
                add(p, table, key[k], value[k]);
        }
        for (int i = lane; i < count; i += 32)
            partial[number * count + i] = table[i];
    }

    /* A block has 32 keys, one for each lane; each of its warps joins every so manieth table. */
    ACUI_DEVICE void whole(char *out, const T *partial, const acui_by_key &p)
    {
        __shared__ T joined[ACUI_BY_KEY_WARPS][32];
        const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
        const long long key = (long long)blockIdx.x * 32 + lane;
        T value = T();
        if (key < p.count) {
            value = none_of(p);
#pragma unroll 4
            for (long long k = warp; k < p.parts; k += ACUI_BY_KEY_WARPS)
                value = join(p, value, partial[k * p.count + key]);
        }
        joined[warp][lane] = value;
        __syncthreads();
        if (warp || key >= p.count)
            return;
        for (int w = 1; w < ACUI_BY_KEY_WARPS; w++)
            value = join(p, value, joined[w][lane]);
        put<C>(p.dtype, out, key * p.stride, value);
    }
};

#define ACUI_X(letter, C, T)                                                                       \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        by_key_part_##letter(T *partial, const char *values, const char *keys, acui_by_key p)      \
    {                                                                                              \
        by_key<C>::part(partial, values, keys, p);                                                 \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(32 * ACUI_BY_KEY_WARPS)                           \
        by_key_whole_##letter(char *out, const T *partial, acui_by_key p)                          \
    {                                                                                              \
        by_key<C>::whole(out, partial, p);                                                         \
    }
ACUI_X(d, acui_all_d, double)
ACUI_X(l, acui_any_l, long long)
