/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Running sums, products, maxima and minima along rows, in double or 64-bit integers, rounded once.
 * A block scans a chunk of a row, tile after tile; or, where rows are neighbours, a thread does. Where
 * a row has several chunks, their totals are known from an earlier launch. Everything is combined in
 * an order that follows from the shape.
 */
#include "formats.cuh"

#include "../src/ops/scan/params.h"

enum { WARPS = ACUI_BLOCK / 32, ITEMS = 4, VECTORS = ACUI_SCAN_ITEMS / ITEMS, FEW = 2 };

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

/* own[n]: of a warp's elements, 32 threads' with one another, n after n. They become what is before
 * each, after `carry`, which becomes the total of the block. */
template <int KIND, typename T, int N> ACUI_DEVICE void before(T (&own)[N], T &carry)
{
    __shared__ T totals[WARPS];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    T run = neutral<KIND>(T()), start = run;
#pragma unroll
    for (int n = 0; n < N; n++) {
        T sum = own[n];
#pragma unroll
        for (unsigned step = 1; step < 32; step *= 2) {
            const T other = __shfl_up_sync(0xffffffffu, sum, step);
            sum = lane >= step ? combine<KIND>(other, sum) : sum;
        }
        const T left = __shfl_up_sync(0xffffffffu, sum, 1);
        own[n] = lane ? combine<KIND>(run, left) : run;
        run = combine<KIND>(run, __shfl_sync(0xffffffffu, sum, 31));
    }
    __syncthreads();
    if (lane == 0)
        totals[warp] = run;
    __syncthreads();
#pragma unroll
    for (unsigned w = 0; w < WARPS; w++) {
        if (w == warp)
            start = carry;
        carry = combine<KIND>(carry, totals[w]);
    }
#pragma unroll
    for (int n = 0; n < N; n++)
        own[n] = combine<KIND>(start, own[n]);
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

    /* N times ITEMS neighbours, the first at i, the next `step` after them. Even: in vectors of V, and
     * all are before `end`; else there are `none` from there on. */
    template <int N>
    ACUI_DEVICE void load(const acui_scan &p, const char *x, long long i, int step, long long end, bool even,
                          T none, T (&v)[N][ITEMS])
    {
        const long long stride = p.rows.stride[1];
        C::with(p.dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
#pragma unroll
            for (int n = 0; n < N; n++)
#pragma unroll
                for (int k = 0; k < ITEMS; k += V) {
                    const long long at = i + n * step + k;
                    if (even) {
                        F::read(x + at * F::BYTES, &v[n][k]);
                        continue;
                    }
#pragma unroll
                    for (int j = 0; j < V; j++)
                        v[n][k + j] = at + j < end ? F::template read_one<T>(x + (at + j) * stride * F::BYTES) : none;
                }
        });
#pragma unroll
        for (int n = 0; n < N * ITEMS && p.kind >= ACUI_SCAN_MAX; n++)
            v[n / ITEMS][n % ITEMS] = turn(p, v[n / ITEMS][n % ITEMS]);
    }
    template <int N>
    ACUI_DEVICE void save(const acui_scan &p, char *out, long long i, int step, long long end, bool even,
                          T (&v)[N][ITEMS])
    {
        const long long stride = p.rows.stride[0];
#pragma unroll
        for (int n = 0; n < N * ITEMS && p.kind >= ACUI_SCAN_MAX; n++)
            v[n / ITEMS][n % ITEMS] = turn(p, v[n / ITEMS][n % ITEMS]);
        C::with(p.out_dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
#pragma unroll
            for (int n = 0; n < N; n++)
#pragma unroll
                for (int k = 0; k < ITEMS; k += V) {
                    const long long at = i + n * step + k;
                    if (even) {
                        F::write(out + at * F::BYTES, &v[n][k]);
                        continue;
                    }
#pragma unroll
                    for (int j = 0; j < V; j++)
                        if (at + j < end)
                            F::write_one(out + (at + j) * stride * F::BYTES, v[n][k + j]);
                }
        });
    }

    /* What `turn` makes of what changes no other. */
    ACUI_DEVICE T none_of(const acui_scan &p)
    {
        T none = T();
        with_kind(p, [&](auto kind) ACUI_INLINE { none = neutral<decltype(kind)::KIND>(T()); });
        return turn(p, none);
    }

    ACUI_DEVICE void tile(const acui_scan &p, char *out, const char *x, long long i, long long end, bool even,
                          T none, T &carry)
    {
        T v[VECTORS][ITEMS];
        i += ((int)threadIdx.x / 32 * 32 * VECTORS + (int)threadIdx.x % 32) * ITEMS;
        load<VECTORS>(p, x, i, 32 * ITEMS, end, even, none, v);
        with_kind(p, [&](auto kind) ACUI_INLINE {
            const int KIND = decltype(kind)::KIND;
            T own[VECTORS];
#pragma unroll
            for (int n = 0; n < VECTORS; n++)
                own[n] = combine<KIND>(combine<KIND>(v[n][0], v[n][1]), combine<KIND>(v[n][2], v[n][3]));
            before<KIND>(own, carry);
#pragma unroll
            for (int n = 0; n < VECTORS * ITEMS; n++)
                v[n / ITEMS][n % ITEMS] = own[n / ITEMS] = combine<KIND>(own[n / ITEMS], v[n / ITEMS][n % ITEMS]);
        });
        if (out)
            save<VECTORS>(p, out, i, 32 * ITEMS, end, even, v);
    }

    /* The totals of the chunks before this one. */
    ACUI_DEVICE T earlier(const acui_scan &p, const T *totals, long long chunk, T none)
    {
        T carry = none;
        with_kind(p, [&](auto kind) ACUI_INLINE {
            for (long long c = 0; c < chunk; c += ACUI_BLOCK) {
                const long long mine = c + (int)threadIdx.x;
                T total[1] = {mine < chunk ? totals[mine] : none};
                before<decltype(kind)::KIND>(total, carry);
            }
        });
        return carry;
    }

    /* Of the totals of chunks alone, if there is no `out`. */
    ACUI_DEVICE void rows(char *out, const char *x, T *totals, const acui_scan &p)
    {
        const int out_bytes = bytes(p.out_dtype), x_bytes = bytes(p.dtype);
        const T none = none_of(p), start = turn(p, none);
        for (long long u = blockIdx.x; u < p.rows.rows * p.chunks; u += gridDim.x) {
            const long long row = u / p.chunks, chunk = u - row * p.chunks;
            const long long first = chunk * p.chunk, end = min(first + p.chunk, p.rows.count);
            long long at[2];
            acui_offsets<2>(p.rows.kept, p.rows.at, row, at);
            const char *from = x + at[1] * x_bytes;
            char *to = out ? out + at[0] * out_bytes : out;
            const bool even = p.even && (unsigned long long)from % (unsigned)(V * x_bytes) == 0 &&
                              (unsigned long long)to % (unsigned)(V * out_bytes) == 0;
            T carry = out ? earlier(p, totals + row * p.chunks, chunk, start) : start;
            for (long long i = first; i < end; i += ACUI_SCAN_TILE)
                tile(p, to, from, i, end, even && i + ACUI_SCAN_TILE <= end, none, carry);
            if (!out && threadIdx.x == 0)
                totals[u] = carry;
        }
    }

    /* A thread goes along a chunk of a row; neighbours have neighbouring rows. */
    ACUI_DEVICE void columns(char *out, const char *x, T *totals, const acui_scan &p)
    {
        const int out_bytes = bytes(p.out_dtype), x_bytes = bytes(p.dtype), steps = FEW * ITEMS;
        const T none = none_of(p);
        for (long long u = (long long)blockIdx.x * ACUI_BLOCK + (int)threadIdx.x; u < p.rows.rows * p.chunks;
             u += (long long)gridDim.x * ACUI_BLOCK) {
            const long long chunk = u / p.rows.rows, row = u - chunk * p.rows.rows;
            const long long end = min((chunk + 1) * p.chunk, p.rows.count);
            long long at[2];
            T run = turn(p, none), v[FEW][ITEMS];
            acui_offsets<2>(p.rows.kept, p.rows.at, row, at);
            with_kind(p, [&](auto kind) ACUI_INLINE {
#pragma unroll 4
                for (long long c = 0; out && c < chunk; c++)
                    run = combine<decltype(kind)::KIND>(run, totals[c * p.rows.rows + row]);
            });
            for (long long i = chunk * p.chunk; i < end; i += steps) {
                load<FEW>(p, x + at[1] * x_bytes, i, ITEMS, end, false, none, v);
                with_kind(p, [&](auto kind) ACUI_INLINE {
#pragma unroll
                    for (int k = 0; k < steps; k++)
                        v[k / ITEMS][k % ITEMS] = run = combine<decltype(kind)::KIND>(run, v[k / ITEMS][k % ITEMS]);
                });
                if (out)
                    save<FEW>(p, out + at[0] * out_bytes, i, ITEMS, end, false, v);
            }
            if (!out)
                totals[u] = run;
        }
    }
};

#define ACUI_X(letter, C, T)                                                                       \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK, 2)                                    \
        scan_rows_##letter(char *out, const char *x, T *totals, acui_scan p)                       \
    {                                                                                              \
        scan<C>::rows(out, x, totals, p);                                                          \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK, 2)                                    \
        scan_columns_##letter(char *out, const char *x, T *totals, acui_scan p)                    \
    {                                                                                              \
        scan<C>::columns(out, x, totals, p);                                                       \
    }
ACUI_X(d, acui_all_d, double)
ACUI_X(l, acui_any_l, long long)
