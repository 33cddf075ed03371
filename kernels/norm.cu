/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Layer norm and RMS norm of rows. A row belongs to a warp, or to a block; its threads keep what
 * they read, if rows are whole vectors and not too long.
 */
#include "elements.cuh"

#include "../src/ops/layers/params.h"

enum { WARPS = ACUI_BLOCK / 32, HELD = ACUI_NORM_HELD };

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
    value = 0;
    for (int w = 0; w < WARPS; w++)
        value += sums[w];
    return value;
}

ACUI_DEVICE float root(float x) { return __fsqrt_rn(x); }
ACUI_DEVICE double root(double x) { return __dsqrt_rn(x); }

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
        const double all = row_sum<0>(sum, p.group); /* for RMS too: its barrier is needed */
        return p.rms ? 0 : (T)(all * p.inverse);
    }

    /* V neighbours of a weight or bias, which may be a number. */
    template <typename F>
    ACUI_DEVICE void parameters(const char *at, long long stride, int i, T (&v)[V])
    {
        if (stride == 1 && (unsigned long long)at % (F::BYTES * V) == 0) {
            F::read(at + i * F::BYTES, v);
            return;
        }
#pragma unroll
        for (int j = 0; j < V; j++)
            v[j] = j && !stride ? v[0] : F::template read_one<T>(at + (i + j) * stride * F::BYTES);
    }

    ACUI_DEVICE T sum_of(const T (&v)[V])
    {
        T sum = v[0] + v[1];
        if constexpr (V == 4)
            sum += v[2] + v[3];
        return sum;
    }

    /* A row of whole vectors that its threads can keep. Those of a vector are added up in type T: to
     * convert each element to double would take as long as to read it. */
    template <typename F>
    ACUI_DEVICE void keep(const acui_norm &p, char *out, const char *x, const char *weight, const char *bias)
    {
        const int first = (int)threadIdx.x % p.group * V, step = p.group * V, count = (int)p.rows.count;
        T v[HELD][V];
        double sum = 0, squares = 0;
#pragma unroll
        for (int k = 0; k < HELD; k++) {
#pragma unroll
            for (int j = 0; j < V; j++)
                v[k][j] = 0;
            if (first + k * step < count)
                F::read(x + (first + k * step) * F::BYTES, v[k]);
        }
#pragma unroll
        for (int k = 0; k < HELD; k++)
            sum += (double)sum_of(v[k]);
        const T mean = mean_of(p, sum);
#pragma unroll
        for (int k = 0; k < HELD; k++)
            if (first + k * step < count) {
                T d[V];
#pragma unroll
                for (int j = 0; j < V; j++) {
                    v[k][j] -= mean;
                    d[j] = v[k][j] * v[k][j];
                }
                squares += (double)sum_of(d);
            }
        const T scale = scale_of(p, squares);
#pragma unroll
        for (int k = 0; k < HELD; k++)
            if (first + k * step < count) {
                const int i = first + k * step;
                T w[V], b[V];
                parameters<F>(weight, p.weight, i, w);
#pragma unroll
                for (int j = 0; j < V; j++)
                    b[j] = -0.0f; /* changes nothing */
                if (!p.rms)
                    parameters<F>(bias, p.bias, i, b);
#pragma unroll
                for (int j = 0; j < V; j++)
                    v[k][j] = v[k][j] * scale * w[j] + b[j];
                F::write(out + i * F::BYTES, v[k]);
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
        const bool aligned = ((unsigned long long)out | (unsigned long long)x) % (F::BYTES * V) == 0;
        if (p.even && aligned)
            keep<F>(p, out, x, weight, bias);
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

extern "C" __global__ void __launch_bounds__(ACUI_BLOCK, 3)
    norm_f(char *out, const char *x, const char *weight, const char *bias, acui_norm p)
{
    norm<acui_real_f>::rows(p, out, x, weight, bias);
}
extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
    norm_d(char *out, const char *x, const char *weight, const char *bias, acui_norm p)
{
    norm<acui_real_d>::rows(p, out, x, weight, bias);
}
