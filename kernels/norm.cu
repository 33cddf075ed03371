/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Layer norm and RMS norm of rows. A row belongs to a warp, or to a block; its threads keep what
 * they read, if rows are whole vectors and not too long.
 */
#include "elements.cuh"

#include "../src/ops/layers/params.h"

enum { WARPS = ACUI_BLOCK / 32, HELD = ACUI_NORM_HELD, TOGETHER = 2 };

/* The sum over the threads of a row, for each of them. One barrier is enough: between two uses of
 * the memory of one WHICH lies the barrier of the other. */
template <int WHICH> ACUI_DEVICE double row_sum(double value, int group)
{
    __shared__ double sums[WARPS];
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, step);
    if (group == 32)
        return value;
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = value;
    __syncthreads();
    static_assert(WARPS == 8, "added up in pairs");
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

ACUI_DEVICE float root(float x) { return __fsqrt_rn(x); }
ACUI_DEVICE double root(double x) { return __dsqrt_rn(x); }
ACUI_DEVICE float fma_of(float a, float b, float c) { return __fmaf_rn(a, b, c); }
ACUI_DEVICE double fma_of(double a, double b, double c) { return __fma_rn(a, b, c); }
ACUI_DEVICE void minus_zero(uint2 &v) { v = make_uint2(0x80008000u, 0x80008000u); }
ACUI_DEVICE void minus_zero(float4 &v) { v = make_float4(-0.0f, -0.0f, -0.0f, -0.0f); }
ACUI_DEVICE void minus_zero(double2 &v) { v = make_double2(-0.0, -0.0); }

template <typename C> struct norm {
    typedef typename C::value T;
    static const int V = C::V;

    template <typename F>
    ACUI_DEVICE T result(const acui_norm &p, const char *weight, const char *bias, long long i, T centred, T scale)
    {
        const T y = centred * scale * F::template read_one<T>(weight + i * p.weight * F::BYTES);
        return p.rms ? y : y + F::template read_one<T>(bias + i * p.bias * F::BYTES);
    }

    /* In type T, since every thread computes it: an H100 divides few doubles at once. */
    ACUI_DEVICE T scale_of(const acui_norm &p, double squares)
    {
        return (T)1 / root((T)(row_sum<1>(squares, p.group) * p.inverse + p.epsilon));
    }
    ACUI_DEVICE T mean_of(const acui_norm &p, double sum)
    {
        if (!p.rms)
            return (T)(row_sum<0>(sum, p.group) * p.inverse);
        if (p.group > 32)
            __syncthreads(); /* that of row_sum */
        return 0;
    }

    /* A row of whole vectors that its threads can keep: all are asked for before the first is used.
     * Those of a vector are added up in type T: to convert each element to double would take as long
     * as to read it. */
    template <typename F, int GROUP>
    ACUI_DEVICE void keep(const acui_norm &p, char *out, const char *x, const char *weight, const char *bias)
    {
        typedef typename F::raw raw;
        const int first = (int)threadIdx.x % GROUP * V, step = GROUP * V, left = (int)p.rows.count - first;
        double sums[2] = {0, 0}; /* so that one addition need not wait for the one before */
        raw held[HELD];
        T v[HELD][V];
#pragma unroll
        for (int k = 0; k < HELD; k++)
            held[k] = k * step < left ? ((const raw *)(x + first * F::BYTES))[k * GROUP] : raw();
#pragma unroll
        for (int k = 0; k < HELD; k++) {
            F::take(held[k], v[k]);
            T sum = v[k][0] + v[k][1];
            if constexpr (V == 4)
                sum += v[k][2] + v[k][3];
            sums[k % 2] += (double)sum;
        }
        const T mean = mean_of(p, sums[0] + sums[1]);
        sums[0] = sums[1] = 0;
#pragma unroll
        for (int k = 0; k < HELD; k++) {
            T squares = 0;
#pragma unroll
            for (int j = 0; j < V; j++) {
                v[k][j] -= mean;
                squares = fma_of(v[k][j], v[k][j], squares);
            }
            sums[k % 2] += k * step < left ? (double)squares : 0;
        }
        const T scale = scale_of(p, sums[0] + sums[1]);
#pragma unroll
        for (int k = 0; k < HELD; k += TOGETHER) {
            const int at = (first + k * step) * F::BYTES;
            put<F, GROUP>(p, v + k, scale, left - k * step, out + at, weight + at, bias + at);
        }
    }

    /* TOGETHER of the vectors that a thread holds, where `left` elements are left of the row. */
    template <typename F, int GROUP>
    ACUI_DEVICE void put(const acui_norm &p, T (*v)[V], T scale, int left, char *out, const char *weight,
                         const char *bias)
    {
        typedef typename F::raw raw;
        const int step = GROUP * V;
        raw ws[TOGETHER], bs[TOGETHER];
#pragma unroll
        for (int k = 0; k < TOGETHER; k++) {
            ws[k] = raw();
            minus_zero(bs[k]); /* changes nothing */
            if (k * step < left)
                ws[k] = ((const raw *)weight)[k * GROUP];
            if (!p.rms && k * step < left)
                bs[k] = ((const raw *)bias)[k * GROUP];
        }
#pragma unroll
        for (int k = 0; k < TOGETHER; k++) {
            T w[V], b[V];
            F::take(ws[k], w);
            F::take(bs[k], b);
#pragma unroll
            for (int j = 0; j < V; j++)
                v[k][j] = fma_of(v[k][j] * scale, w[j], b[j]);
            if (k * step < left)
                F::write(out + k * step * F::BYTES, v[k]);
        }
    }

    /* Any row, read three times. */
    template <typename F>
    ACUI_DEVICE void again(const acui_norm &p, char *out, const char *x, const char *weight, const char *bias)
    {
        const long long first = (long long)(threadIdx.x % (unsigned)p.group), by = p.rows.stride[1] * F::BYTES;
        double sum = 0, squares = 0;
        for (long long i = first; i < p.rows.count; i += p.group)
            sum += (double)F::template read_one<T>(x + i * by);
        const T mean = mean_of(p, sum);
        for (long long i = first; i < p.rows.count; i += p.group) {
            const double d = (double)F::template read_one<T>(x + i * by) - (double)mean;
            squares += d * d;
        }
        const T scale = scale_of(p, squares);
        for (long long i = first; i < p.rows.count; i += p.group) {
            const T centred = F::template read_one<T>(x + i * by) - mean;
            F::write_one(out + i * p.rows.stride[0] * F::BYTES, result<F>(p, weight, bias, i, centred, scale));
        }
    }

    template <typename F>
    ACUI_DEVICE void row(const acui_norm &p, char *out, const char *x, const char *weight, const char *bias)
    {
        const unsigned long long all = (unsigned long long)out | (unsigned long long)x |
                                       (unsigned long long)weight | (p.rms ? 0 : (unsigned long long)bias);
        if (p.even && all % (F::BYTES * V) == 0)
            if (p.group == 32)
                keep<F, 32>(p, out, x, weight, bias);
            else
                keep<F, ACUI_BLOCK>(p, out, x, weight, bias);
        else
            again<F>(p, out, x, weight, bias);
    }

    ACUI_DEVICE void rows(const acui_norm &p, char *out, const char *x, const char *weight, const char *bias)
    {
        const int together = ACUI_BLOCK / p.group;
        C::with(p.dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
            for (long long r = (long long)blockIdx.x * together + threadIdx.x / (unsigned)p.group; r < p.rows.rows;
                 r += (long long)gridDim.x * together) {
                long long at[2];
                acui_offsets<2>(p.rows.kept, p.rows.at, r, at);
                row<F>(p, out + at[0] * F::BYTES, x + at[1] * F::BYTES, weight, bias);
            }
        });
    }
};

#define ACUI_X(class, blocks)                                                                      \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK, blocks)                               \
        norm_##class(char *out, const char *x, const char *weight, const char *bias, acui_norm p)  \
    {                                                                                              \
        norm<acui_real_##class>::rows(p, out, x, weight, bias);                                    \
    }
ACUI_X(h, 3)
ACUI_X(s, 3)
ACUI_X(d, 2)
