/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Running sums, products, maxima and minima along rows, in double or 64-bit integers, rounded once.
 * A block scans a chunk of a row, tile after tile; or, where rows are neighbours, a thread does. Where
 * a row has several chunks, their totals are known from an earlier launch. Everything is combined in
 * an order that follows from the shape.
 */
#include "formats.cuh"

#include "../src/ops/scan/params.h"

enum {
    WARPS = ACUI_BLOCK / 32,
    ITEMS = ACUI_SCAN_ITEMS,
    PACK = ACUI_SCAN_PACK,
    PACKS = ITEMS / PACK,
    PITCH = ITEMS + PACK, /* of the items of a thread in shared memory, against bank conflicts */
    FEW = 8
};

template <int KIND> ACUI_DEVICE double combine(double a, double b)
{
    if (KIND == ACUI_SCAN_SUM)
        return a + b;
    if (KIND == ACUI_SCAN_PROD)
        return a * b;
    return a != a || a > b ? a : b;
}
template <int KIND> ACUI_DEVICE long long combine(long long a, long long b)
{
    const unsigned long long ua = (unsigned long long)a, ub = (unsigned long long)b;
    if (KIND == ACUI_SCAN_SUM)
        return (long long)(ua + ub);
    if (KIND == ACUI_SCAN_PROD)
        return (long long)(ua * ub);
    return a > b ? a : b;
}

/* A value that changes no other. */
template <int KIND> ACUI_DEVICE double neutral(double)
{
    const double infinite = __longlong_as_double(0x7ffll << 52);
    return KIND == ACUI_SCAN_SUM ? -0.0 : KIND == ACUI_SCAN_PROD ? 1 : -infinite;
}
template <int KIND> ACUI_DEVICE long long neutral(long long)
{
    return KIND == ACUI_SCAN_SUM ? 0 : KIND == ACUI_SCAN_PROD ? 1 : (long long)(1ull << 63);
}

/* A minimum is a maximum of what `turn` makes of the values, and back. */
ACUI_DEVICE double turn(const acui_scan &p, double v) { return p.kind == ACUI_SCAN_MIN ? -v : v; }
ACUI_DEVICE long long turn(const acui_scan &p, long long v)
{
    return p.kind < ACUI_SCAN_MAX ? v : (long long)((unsigned long long)v ^ p.turn);
}

/* Calls f with a value that tells the kind at compile time; a minimum counts as a maximum. */
template <int N> struct acui_kind {
    static const int KIND = N;
};
template <typename F> ACUI_DEVICE void with_kind(const acui_scan &p, F f)
{
    if (p.kind == ACUI_SCAN_SUM)
        f(acui_kind<ACUI_SCAN_SUM>());
    else if (p.kind == ACUI_SCAN_PROD)
        f(acui_kind<ACUI_SCAN_PROD>());
    else
        f(acui_kind<ACUI_SCAN_MAX>());
}

/* ---- in a block ---------------------------------------------------------------------------------- */

/* `own`, of each thread, becomes what is before it, after `carry`; which becomes the total of the
 * block. Between two calls there must be another barrier. */
template <int KIND, typename T> ACUI_DEVICE void before(T &own, T &carry)
{
    __shared__ T totals[WARPS];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    T sum = own, start = carry;
#pragma unroll
    for (unsigned step = 1; step < 32; step *= 2) {
        const T other = __shfl_up_sync(0xffffffffu, sum, step);
        sum = lane >= step ? combine<KIND>(other, sum) : sum;
    }
    const T left = __shfl_up_sync(0xffffffffu, sum, 1);
    if (lane == 31)
        totals[warp] = sum;
    __syncthreads();
#pragma unroll
    for (unsigned w = 0; w < WARPS; w++) {
        if (w == warp)
            start = carry;
        carry = combine<KIND>(carry, totals[w]);
    }
    own = lane ? combine<KIND>(start, left) : start;
}

/* ---- a tile in shared memory --------------------------------------------------------------------- */

/* PACK elements of so many bytes, as many as a thread reads or writes at once. */
template <typename S> struct __align__(sizeof(S) < 4 ? PACK * sizeof(S) : 16) pack {
    S e[PACK];
};

/* Moves the tile at i between memory and `held`, where each thread's items are neighbours; packs
 * that are neighbours in memory, by threads that are. `packs`: all elements are there, in packs;
 * else they are `stride` apart, and there is nothing from `end` on. */
template <typename S> struct tile_of {
    ACUI_DEVICE S *place(char *held, int k, int *first)
    {
        *first = (k * ACUI_BLOCK + (int)threadIdx.x) * PACK;
        return (S *)held + *first / ITEMS * PITCH + *first % ITEMS;
    }
    ACUI_DEVICE void in(char *held, const S *x, long long i, long long end, bool packs, long long stride)
    {
        pack<S> v[PACKS];
        int first;
#pragma unroll
        for (int k = 0; k < PACKS; k++) {
            place(held, k, &first);
            if (packs) {
                v[k] = *(const pack<S> *)(x + i + first);
                continue;
            }
#pragma unroll
            for (int j = 0; j < PACK; j++)
                v[k].e[j] = i + first + j < end ? x[(i + first + j) * stride] : 0;
        }
#pragma unroll
        for (int k = 0; k < PACKS; k++)
            *(pack<S> *)place(held, k, &first) = v[k];
    }
    ACUI_DEVICE void out(char *held, S *out, long long i, long long end, bool packs, long long stride)
    {
#pragma unroll
        for (int k = 0; k < PACKS; k++) {
            int first;
            const pack<S> v = *(const pack<S> *)place(held, k, &first);
            if (packs) {
                *(pack<S> *)(out + i + first) = v;
                continue;
            }
#pragma unroll
            for (int j = 0; j < PACK; j++)
                if (i + first + j < end)
                    out[(i + first + j) * stride] = v.e[j];
        }
    }
};

/* Calls f with a tile_of elements of so many bytes. */
template <typename F> ACUI_DEVICE void with_size(int bytes, F f)
{
    switch (bytes) {
    case 1: f(tile_of<unsigned char>(), (unsigned char)0); break;
    case 2: f(tile_of<unsigned short>(), (unsigned short)0); break;
    case 4: f(tile_of<unsigned>(), 0u); break;
    default: f(tile_of<unsigned long long>(), 0ull); break;
    }
}

template <typename C> struct scan {
    typedef typename C::value T;
    static const int V = C::V;

    ACUI_DEVICE int bytes(int dtype)
    {
        int bytes = 0;
        C::with(dtype, [&](auto format) ACUI_INLINE { bytes = decltype(format)::BYTES; });
        return bytes;
    }
    ACUI_DEVICE T start_of(const acui_scan &p)
    {
        T none = T();
        with_kind(p, [&](auto kind) ACUI_INLINE { none = neutral<decltype(kind)::KIND>(T()); });
        return none;
    }

    /* The thread's items, of which the first is number i of the row. */
    ACUI_DEVICE void read(const acui_scan &p, const char *held, long long i, long long end, T none, T (&v)[ITEMS])
    {
        C::with(p.dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
#pragma unroll
            for (int k = 0; k < ITEMS; k += V)
                F::read(held + ((int)threadIdx.x * PITCH + k) * F::BYTES, v + k);
        });
#pragma unroll
        for (int k = 0; k < ITEMS && p.kind >= ACUI_SCAN_MAX; k++)
            v[k] = turn(p, v[k]);
        if (i + ITEMS <= end)
            return;
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            v[k] = i + k < end ? v[k] : none;
    }
    ACUI_DEVICE void write(const acui_scan &p, char *held, T (&v)[ITEMS])
    {
#pragma unroll
        for (int k = 0; k < ITEMS && p.kind >= ACUI_SCAN_MAX; k++)
            v[k] = turn(p, v[k]);
        C::with(p.out_dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
#pragma unroll
            for (int k = 0; k < ITEMS; k += V)
                F::write(held + ((int)threadIdx.x * PITCH + k) * F::BYTES, v + k);
        });
    }

    /* Without `out` only the carry is wanted. */
    ACUI_DEVICE void tile(const acui_scan &p, char *held, char *out, const char *x, long long i, long long end,
                          bool packs, int x_bytes, int out_bytes, T none, T &carry)
    {
        T v[ITEMS];
        with_size(x_bytes, [&](auto size, auto zero) ACUI_INLINE {
            decltype(size)::in(held, (const decltype(zero) *)x, i, end, packs, p.rows.stride[1]);
        });
        __syncthreads();
        read(p, held, i + (int)threadIdx.x * ITEMS, end, none, v);
        with_kind(p, [&](auto kind) ACUI_INLINE {
            const int KIND = decltype(kind)::KIND;
            T own = v[0];
#pragma unroll
            for (int k = 1; k < ITEMS; k++)
                own = combine<KIND>(own, v[k]);
            before<KIND>(own, carry);
#pragma unroll
            for (int k = 0; k < ITEMS; k++)
                v[k] = own = combine<KIND>(own, v[k]);
        });
        if (!out)
            return;
        write(p, held, v);
        __syncthreads();
        with_size(out_bytes, [&](auto size, auto zero) ACUI_INLINE {
            decltype(size)::out(held, (decltype(zero) *)out, i, end, packs, p.rows.stride[0]);
        });
        __syncthreads();
    }

    /* The totals of the chunks before this one. */
    ACUI_DEVICE T earlier(const acui_scan &p, const T *totals, long long chunk, T none)
    {
        T carry = none;
        with_kind(p, [&](auto kind) ACUI_INLINE {
            for (long long c = 0; c < chunk; c += ACUI_BLOCK) {
                const long long mine = c + (int)threadIdx.x;
                T total = mine < chunk ? totals[mine] : none;
                before<decltype(kind)::KIND>(total, carry);
                __syncthreads();
            }
        });
        return carry;
    }

    /* Of the totals of chunks alone, if there is no `out`. */
    ACUI_DEVICE void rows(char *out, const char *x, T *totals, const acui_scan &p)
    {
        __shared__ __align__(16) char held[ACUI_BLOCK * PITCH * sizeof(T)];
        const int out_bytes = bytes(p.out_dtype), x_bytes = bytes(p.dtype);
        const T none = start_of(p);
        for (long long u = blockIdx.x; u < p.rows.rows * p.chunks; u += gridDim.x) {
            const long long row = u / p.chunks, chunk = u - row * p.chunks;
            const long long first = chunk * p.chunk, end = min(first + p.chunk, p.rows.count);
            long long at[2];
            acui_offsets<2>(p.rows.kept, p.rows.at, row, at);
            const char *from = x + at[1] * x_bytes;
            char *to = out ? out + at[0] * out_bytes : out;
            const bool even = p.even && (unsigned long long)from % (unsigned)(PACK * min(x_bytes, 4)) == 0 &&
                              (unsigned long long)to % (unsigned)(PACK * min(out_bytes, 4)) == 0;
            T carry = out ? earlier(p, totals + row * p.chunks, chunk, none) : none;
            for (long long i = first; i < end; i += ACUI_SCAN_TILE) {
                const bool packs = even && i + ACUI_SCAN_TILE <= end;
                tile(p, held, to, from, i, end, packs, x_bytes, out_bytes, none, carry);
            }
            __syncthreads();
            if (!out && threadIdx.x == 0)
                totals[u] = carry;
        }
    }

    /* ---- columns ---- */

    /* N elements of a thread's row; x and out are where the first is. */
    template <int N> ACUI_DEVICE void few(const acui_scan &p, char *out, const char *x, int x_bytes, int out_bytes, T &run)
    {
        const long long x_step = p.rows.stride[1] * x_bytes, out_step = p.rows.stride[0] * out_bytes;
        T v[N];
        C::with(p.dtype, [&](auto format) ACUI_INLINE {
#pragma unroll
            for (int k = 0; k < N; k++)
                v[k] = decltype(format)::template read_one<T>(x + k * x_step);
        });
        with_kind(p, [&](auto kind) ACUI_INLINE {
#pragma unroll
            for (int k = 0; k < N; k++)
                v[k] = run = combine<decltype(kind)::KIND>(run, turn(p, v[k]));
        });
        if (!out)
            return;
        C::with(p.out_dtype, [&](auto format) ACUI_INLINE {
#pragma unroll
            for (int k = 0; k < N; k++)
                decltype(format)::write_one(out + k * out_step, turn(p, v[k]));
        });
    }

    /* A thread goes along a chunk of a row; neighbours have neighbouring rows. */
    ACUI_DEVICE void columns(char *out, const char *x, T *totals, const acui_scan &p)
    {
        const int out_bytes = bytes(p.out_dtype), x_bytes = bytes(p.dtype);
        const long long x_step = p.rows.stride[1] * x_bytes, out_step = p.rows.stride[0] * out_bytes;
        for (long long u = (long long)blockIdx.x * ACUI_BLOCK + (int)threadIdx.x; u < p.rows.rows * p.chunks;
             u += (long long)gridDim.x * ACUI_BLOCK) {
            const long long chunk = u / p.rows.rows, row = u - chunk * p.rows.rows;
            const long long end = min((chunk + 1) * p.chunk, p.rows.count);
            long long at[2], i = chunk * p.chunk;
            T run = start_of(p);
            acui_offsets<2>(p.rows.kept, p.rows.at, row, at);
            with_kind(p, [&](auto kind) ACUI_INLINE {
#pragma unroll 4
                for (long long c = 0; out && c < chunk; c++)
                    run = combine<decltype(kind)::KIND>(run, totals[c * p.rows.rows + row]);
            });
            const char *from = x + at[1] * x_bytes + i * x_step;
            char *to = out ? out + at[0] * out_bytes + i * out_step : out;
            for (; i + FEW <= end; i += FEW, from += FEW * x_step, to += out ? FEW * out_step : 0)
                few<FEW>(p, to, from, x_bytes, out_bytes, run);
            for (; i < end; i++, from += x_step, to += out ? out_step : 0)
                few<1>(p, to, from, x_bytes, out_bytes, run);
            if (!out)
                totals[u] = run;
        }
    }
};

#define ACUI_X(letter, C, T)                                                                       \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK, 4)                                    \
        scan_rows_##letter(char *out, const char *x, T *totals, acui_scan p)                       \
    {                                                                                              \
        scan<C>::rows(out, x, totals, p);                                                          \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK, 4)                                    \
        scan_columns_##letter(char *out, const char *x, T *totals, acui_scan p)                    \
    {                                                                                              \
        scan<C>::columns(out, x, totals, p);                                                       \
    }
ACUI_X(d, acui_all_d, double)
ACUI_X(l, acui_any_l, long long)
