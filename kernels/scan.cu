/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Running sums, products, maxima and minima along rows, in double or 64-bit integers, rounded once.
 * A block scans a chunk of a row, tile after tile; where a row has several chunks, their totals are
 * known from an earlier launch. Everything is combined in an order that follows from the shape.
 */
#include "formats.cuh"

#include "../src/ops/scan/params.h"

enum { WARPS = ACUI_BLOCK / 32, ITEMS = ACUI_SCAN_ITEMS, TILE = ACUI_SCAN_TILE, FEW = 4 };

/* A minimum is a maximum of what `turn` makes of the values, and back. */
ACUI_DEVICE double turn(const acui_scan &p, double v) { return p.kind == ACUI_SCAN_MIN ? -v : v; }
ACUI_DEVICE long long turn(const acui_scan &p, long long v)
{
    return p.kind < ACUI_SCAN_MAX ? v : (long long)((unsigned long long)v ^ p.turn);
}

/* Without branches, which would take more room than all the rest. */
ACUI_DEVICE double combine(const acui_scan &p, double a, double b)
{
    double most = a != a || a > b ? a : b, more = p.kind == ACUI_SCAN_SUM ? a + b : a * b;
    return p.kind < ACUI_SCAN_MAX ? more : most;
}
ACUI_DEVICE long long combine(const acui_scan &p, long long a, long long b)
{
    const unsigned long long ua = (unsigned long long)a, ub = (unsigned long long)b;
    long long most = a > b ? a : b, more = (long long)(p.kind == ACUI_SCAN_SUM ? ua + ub : ua * ub);
    return p.kind < ACUI_SCAN_MAX ? more : most;
}

/* A value that changes no other. */
ACUI_DEVICE double neutral(const acui_scan &p, double)
{
    const double infinite = __longlong_as_double(0x7ffll << 52);
    return p.kind == ACUI_SCAN_SUM ? -0.0 : p.kind == ACUI_SCAN_PROD ? 1 : -infinite;
}
ACUI_DEVICE long long neutral(const acui_scan &p, long long)
{
    return p.kind == ACUI_SCAN_SUM ? 0 : p.kind == ACUI_SCAN_PROD ? 1 : (long long)(1ull << 63);
}

/* What the threads before this one have, after `carry`; which becomes the total. */
template <typename T> ACUI_DEVICE T before_thread(const acui_scan &p, T own, T &carry)
{
    __shared__ T totals[WARPS];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    T run = own, before = carry;
#pragma unroll
    for (unsigned step = 1; step < 32; step *= 2) {
        T other = __shfl_up_sync(0xffffffffu, run, step);
        run = lane >= step ? combine(p, other, run) : run;
    }
    __syncthreads();
    if (lane == 31)
        totals[warp] = run;
    __syncthreads();
    for (unsigned w = 0; w < WARPS; w++) {
        if (w == warp)
            before = carry;
        carry = combine(p, carry, totals[w]);
    }
    T left = __shfl_up_sync(0xffffffffu, run, 1);
    return lane ? combine(p, before, left) : before;
}

template <typename C> struct scan {
    typedef typename C::value T;

    template <int N> ACUI_DEVICE void load(const acui_scan &p, const char *x, long long i, long long end, T *v)
    {
#pragma unroll
        for (int k = 0; k < N; k++)
            v[k] = neutral(p, T());
        C::with(p.dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
#pragma unroll
            for (int k = 0; k < N; k++)
                if (i + k < end)
                    v[k] = turn(p, F::template read_one<T>(x + (i + k) * p.rows.stride[1] * F::BYTES));
        });
    }
    template <int N> ACUI_DEVICE void save(const acui_scan &p, char *out, long long i, long long end, const T *v)
    {
        C::with(p.out_dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
#pragma unroll
            for (int k = 0; k < N; k++)
                if (i + k < end)
                    F::write_one(out + (i + k) * p.rows.stride[0] * F::BYTES, turn(p, v[k]));
        });
    }
    ACUI_DEVICE int bytes(int dtype)
    {
        int bytes = 0;
        C::with(dtype, [&](auto format) ACUI_INLINE { bytes = decltype(format)::BYTES; });
        return bytes;
    }

    /* Of the totals of chunks alone, if there is no `out`. */
    ACUI_DEVICE void rows(char *out, const char *x, T *totals, const acui_scan &p)
    {
        const bool sums = !out;
        const int out_bytes = bytes(p.out_dtype), x_bytes = bytes(p.dtype);
        for (long long u = blockIdx.x; u < p.rows.rows * p.chunks; u += gridDim.x) {
            const long long row = u / p.chunks, chunk = u - row * p.chunks;
            const long long first = chunk * p.chunk, last = first + p.chunk;
            const long long end = last < p.rows.count ? last : p.rows.count;
            long long at[2];
            T carry = neutral(p, T()), v[ITEMS];
            acui_offsets<2>(p.rows.kept, p.rows.at, row, at);
            for (long long c = 0; !sums && c < chunk; c += ACUI_BLOCK) {
                const long long mine = c + threadIdx.x;
                before_thread(p, mine < chunk ? totals[row * p.chunks + mine] : neutral(p, T()), carry);
            }
            for (long long tile = first; tile < end; tile += TILE) {
                const long long i = tile + (int)threadIdx.x * ITEMS;
                load<ITEMS>(p, x + at[1] * x_bytes, i, end, v);
#pragma unroll
                for (int k = 1; k < ITEMS; k++)
                    v[k] = combine(p, v[k - 1], v[k]);
                const T before = before_thread(p, v[ITEMS - 1], carry);
                if (sums)
                    continue;
#pragma unroll
                for (int k = 0; k < ITEMS; k++)
                    v[k] = combine(p, before, v[k]);
                save<ITEMS>(p, out + at[0] * out_bytes, i, end, v);
            }
            if (sums && threadIdx.x == 0)
                totals[u] = carry;
        }
    }

    /* A thread goes along a whole row; neighbours have neighbouring rows. */
    ACUI_DEVICE void columns(char *out, const char *x, const acui_scan &p)
    {
        const int out_bytes = bytes(p.out_dtype), x_bytes = bytes(p.dtype);
        for (long long row = (long long)blockIdx.x * ACUI_BLOCK + threadIdx.x; row < p.rows.rows;
             row += (long long)gridDim.x * ACUI_BLOCK) {
            long long at[2];
            T run = neutral(p, T()), v[FEW];
            acui_offsets<2>(p.rows.kept, p.rows.at, row, at);
            for (long long i = 0; i < p.rows.count; i += FEW) {
                load<FEW>(p, x + at[1] * x_bytes, i, p.rows.count, v);
#pragma unroll
                for (int k = 0; k < FEW; k++)
                    v[k] = run = combine(p, run, v[k]);
                save<FEW>(p, out + at[0] * out_bytes, i, p.rows.count, v);
            }
        }
    }
};

#define ACUI_X(letter, C, T)                                                                       \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        scan_rows_##letter(char *out, const char *x, T *totals, acui_scan p)                       \
    {                                                                                              \
        scan<C>::rows(out, x, totals, p);                                                          \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        scan_columns_##letter(char *out, const char *x, acui_scan p)                               \
    {                                                                                              \
        scan<C>::columns(out, x, p);                                                               \
    }
ACUI_X(d, acui_all_d, double)
ACUI_X(l, acui_any_l, long long)
