/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Convolution: the product of the filters, as rows, and of the elements under the window, as
 * columns, which are fetched from where they are. A block computes a tile of filters and places, a
 * thread EACH x EACH of it. conv_each has a thread for each element of the result. Both add in the
 * same order.
 */
#include "elements.cuh"

#include "../src/ops/windows/params.h"

enum { TILE = ACUI_CONV_TILE, DEPTH = 16, EACH = 4, SIDE = TILE / EACH, PER = TILE * DEPTH / ACUI_BLOCK };
static_assert(SIDE * SIDE == ACUI_BLOCK, "a block's threads");

ACUI_DEVICE void acui_three(const acui_index &index, long long i, long long (&at)[3])
{
#pragma unroll
    for (int d = 2; d > 0; d--) {
        const long long q = index.wide ? i / index.dim[d] : (long long)acui_divide(index, d, (unsigned)i);
        at[d] = i - q * index.dim[d];
        i = q;
    }
    at[0] = i;
}

template <typename C> struct conv {
    typedef typename C::value T;

    ACUI_DEVICE T scalar(unsigned long long bits)
    {
        if constexpr (sizeof(T) == 8)
            return __longlong_as_double((long long)bits);
        else
            return __uint_as_float((unsigned)bits);
    }
    template <typename F> ACUI_DEVICE T bias_of(const acui_conv &p, const char *bias, long long filter)
    {
        return bias ? F::template read_one<T>(bias + filter * p.bias * F::BYTES) : scalar(p.bias_bits);
    }

    /* This thread's share of the next strips. The filters' neighbours are along k, and the places'
     * are places. y and z: where the window begins at its place. */
    template <typename F>
    ACUI_DEVICE void fetch(const acui_conv &p, const char *x, const char *w, long long filters_left, bool there,
                           long long y, long long z, long long k0, T (&a)[PER], T (&b)[PER])
    {
        long long tap[3];
        const long long k = k0 + threadIdx.x % DEPTH;
        acui_three(p.tap, k < p.depth ? k : 0, tap);
        w += (tap[0] * p.w[1] + tap[1] * p.w[2] + tap[2] * p.w[3]) * F::BYTES;
#pragma unroll
        for (int e = 0; e < PER; e++) {
            const int row = (int)threadIdx.x / DEPTH + e * (ACUI_BLOCK / DEPTH);
            a[e] = 0;
            if (k < p.depth && row < filters_left)
                a[e] = F::template read_one<T>(w + row * p.w[0] * F::BYTES);
        }
#pragma unroll
        for (int e = 0; e < PER; e++) {
            const long long q = k0 + threadIdx.x / TILE + e * (ACUI_BLOCK / TILE);
            b[e] = 0;
            if (!there || q >= p.depth)
                continue;
            acui_three(p.tap, q, tap);
            const long long h = y + tap[1] * p.at.dilation[0], v = z + tap[2] * p.at.dilation[1];
            if (h >= 0 && h < p.at.n[0] && v >= 0 && v < p.at.n[1])
                b[e] = F::template read_one<T>(x + (tap[0] * p.x[1] + h * p.x[2] + v * p.x[3]) * F::BYTES);
        }
    }

    template <typename F>
    ACUI_DEVICE void store(const acui_conv &p, char *out, long long group, long long filter, long long first,
                           const T (&sum)[EACH][EACH])
    {
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            const long long place = first + j * SIDE;
            long long at[3];
            if (place >= p.places)
                return;
            acui_three(p.place, place, at);
            char *to = out + (at[0] * p.out[0] + at[1] * p.out[2] + at[2] * p.out[3]) * F::BYTES;
#pragma unroll
            for (int i = 0; i < EACH; i++)
                if (filter + i < p.filters)
                    F::write_one(to + (group * p.filters + filter + i) * p.out[1] * F::BYTES, sum[i][j]);
        }
    }

    template <typename F>
    ACUI_DEVICE void tile(const acui_conv &p, char *out, const char *x, const char *w, const char *bias,
                          long long group, long long filter, long long place)
    {
        __shared__ T left[DEPTH][TILE + 4], right[DEPTH][TILE + 4];
        const int down = (int)threadIdx.x / SIDE * EACH, across = (int)threadIdx.x % SIDE;
        const long long mine = place + threadIdx.x % TILE;
        long long at[3];
        T sum[EACH][EACH], a[PER], b[PER];
        acui_three(p.place, mine < p.places ? mine : 0, at);
        x += (at[0] * p.x[0] + group * p.channels * p.x[1]) * F::BYTES;
        w += (group * p.filters + filter) * p.w[0] * F::BYTES;
        const long long y = at[1] * p.at.stride[0] - p.at.padding[0], z = at[2] * p.at.stride[1] - p.at.padding[1];
#pragma unroll
        for (int i = 0; i < EACH; i++)
#pragma unroll
            for (int j = 0; j < EACH; j++)
                sum[i][j] = filter + down + i < p.filters
                                ? bias_of<F>(p, bias, group * p.filters + filter + down + i) : (T)0;
        fetch<F>(p, x, w, p.filters - filter, mine < p.places, y, z, 0, a, b);
        for (long long k = 0; k < p.depth; k += DEPTH) {
            __syncthreads(); /* the previous strips are used up */
#pragma unroll
            for (int e = 0; e < PER; e++) {
                left[threadIdx.x % DEPTH][threadIdx.x / DEPTH + e * (ACUI_BLOCK / DEPTH)] = a[e];
                right[threadIdx.x / TILE + e * (ACUI_BLOCK / TILE)][threadIdx.x % TILE] = b[e];
            }
            __syncthreads();
            if (k + DEPTH < p.depth)
                fetch<F>(p, x, w, p.filters - filter, mine < p.places, y, z, k + DEPTH, a, b);
            const int deep = p.depth - k < DEPTH ? (int)(p.depth - k) : DEPTH;
            for (int d = 0; d < deep; d++)
#pragma unroll
                for (int i = 0; i < EACH; i++)
#pragma unroll
                    for (int j = 0; j < EACH; j++)
                        sum[i][j] = fma(left[d][down + i], right[d][across + j * SIDE], sum[i][j]);
        }
        store<F>(p, out, group, filter + down, place + across, sum);
    }

    ACUI_DEVICE void tiles(const acui_conv &p, char *out, const char *x, const char *w, const char *bias)
    {
        const long long rows = (p.filters + TILE - 1) / TILE, columns = (p.places + TILE - 1) / TILE;
        C::with(p.dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
            for (long long unit = blockIdx.x; unit < rows * columns * p.groups; unit += gridDim.x)
                tile<F>(p, out, x, w, bias, unit / (rows * columns), unit % rows * TILE,
                        unit / rows % columns * TILE);
        });
    }

    template <typename F>
    ACUI_DEVICE T one(const acui_conv &p, const char *x, const char *w, T sum, long long y, long long z)
    {
        for (long long c = 0; c < p.channels; c++)
            for (long long i = 0; i < p.at.window[0]; i++)
                for (long long j = 0; j < p.at.window[1]; j++) {
                    const long long h = y + i * p.at.dilation[0], v = z + j * p.at.dilation[1];
                    T element = 0;
                    if (h >= 0 && h < p.at.n[0] && v >= 0 && v < p.at.n[1])
                        element = F::template read_one<T>(x + (c * p.x[1] + h * p.x[2] + v * p.x[3]) * F::BYTES);
                    const char *at = w + (c * p.w[1] + i * p.w[2] + j * p.w[3]) * F::BYTES;
                    sum = fma(F::template read_one<T>(at), element, sum);
                }
        return sum;
    }

    ACUI_DEVICE void each(const acui_conv &p, char *out, const char *x, const char *w, const char *bias)
    {
        C::with(p.dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
            const long long elements = p.places * p.filters * p.groups;
            for (long long e = (long long)blockIdx.x * ACUI_BLOCK + threadIdx.x; e < elements;
                 e += (long long)gridDim.x * ACUI_BLOCK) {
                long long at[4], i = e;
#pragma unroll
                for (int d = 3; d >= 0; d--) {
                    const long long q = d == 0       ? 0
                                        : p.all.wide ? i / p.all.dim[d]
                                                     : (long long)acui_divide(p.all, d, (unsigned)i);
                    at[d] = i - q * p.all.dim[d];
                    i = q;
                }
                const long long group = at[1] / p.filters;
                const T sum = one<F>(p, x + (at[0] * p.x[0] + group * p.channels * p.x[1]) * F::BYTES,
                                     w + at[1] * p.w[0] * F::BYTES, bias_of<F>(p, bias, at[1]),
                                     at[2] * p.at.stride[0] - p.at.padding[0], at[3] * p.at.stride[1] - p.at.padding[1]);
                const long long to = at[0] * p.out[0] + at[1] * p.out[1] + at[2] * p.out[2] + at[3] * p.out[3];
                F::write_one(out + to * F::BYTES, sum);
            }
        });
    }
};

#define ACUI_CONV(name, class, how)                                                                \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        name(char *out, const char *x, const char *w, const char *bias, acui_conv p)               \
    {                                                                                              \
        conv<class>::how(p, out, x, w, bias);                                                      \
    }
ACUI_CONV(conv_f, acui_real_f, tiles)
ACUI_CONV(conv_d, acui_real_d, tiles)
ACUI_CONV(conv_each_f, acui_real_f, each)
ACUI_CONV(conv_each_d, acui_real_d, each)
