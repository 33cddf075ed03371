/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Pooling and interpolation: a thread for each element of the result. */
#include "elements.cuh"

#include "../src/ops/windows/params.h"

/* Its place in each of the four dimensions. */
ACUI_DEVICE void acui_place(const acui_index &index, long long i, long long (&at)[4])
{
#pragma unroll
    for (int d = 3; d > 0; d--) {
        const long long q = index.wide ? i / index.dim[d] : (long long)acui_divide(index, d, (unsigned)i);
        at[d] = i - q * index.dim[d];
        i = q;
    }
    at[0] = i;
}

template <typename C> struct window {
    typedef typename C::value T;

    template <typename F> ACUI_DEVICE T pool(const acui_pool &p, const char *x, long long h, long long w)
    {
        T most = (T)-__builtin_huge_val();
        double sum = 0;
        int inside = 0;
        for (int i = 0; i < p.at.window[0]; i++)
            for (int j = 0; j < p.at.window[1]; j++) {
                const long long y = h * p.at.stride[0] - p.at.padding[0] + i * p.at.dilation[0];
                const long long z = w * p.at.stride[1] - p.at.padding[1] + j * p.at.dilation[1];
                if (y < 0 || y >= p.at.n[0] || z < 0 || z >= p.at.n[1])
                    continue;
                const T v = F::template read_one<T>(x + (y * p.x[2] + z * p.x[3]) * F::BYTES);
                most = v > most || v != v ? v : most; /* NaN stays: nothing is greater */
                sum += (double)v;
                inside++;
            }
        if (p.kind == ACUI_POOL_MAX)
            return most;
        const double count = (double)(p.at.window[0] * p.at.window[1]);
        return (T)(sum / (p.kind == ACUI_POOL_MEAN ? count : (double)inside));
    }

    /* The elements beside a place, and how far it is from the first. */
    ACUI_DEVICE T between(long long i, long long n, long long m, long long (&at)[2])
    {
        const long long from = (2 * i + 1) * n - m;
        at[0] = from < 0 ? 0 : from / (2 * m);
        at[1] = at[0] + 1 < n ? at[0] + 1 : at[0];
        return from < 0 ? (T)0 : (T)((double)(from - at[0] * 2 * m) / (double)(2 * m));
    }
    ACUI_DEVICE T mix(T a, T b, T share) { return share == 0 ? a : fma(share, b, (1 - share) * a); }

    template <typename F> ACUI_DEVICE T linear(const acui_pool &p, const char *x, long long h, long long w)
    {
        long long y[2], z[2];
        const T down = between(h, p.at.n[0], p.at.out[0], y), across = between(w, p.at.n[1], p.at.out[1], z);
        T v[2];
#pragma unroll
        for (int k = 0; k < 2; k++) {
            const char *row = x + y[k] * p.x[2] * F::BYTES;
            v[k] = mix(F::template read_one<T>(row + z[0] * p.x[3] * F::BYTES),
                       F::template read_one<T>(row + z[1] * p.x[3] * F::BYTES), across);
        }
        return mix(v[0], v[1], down);
    }
    template <typename F> ACUI_DEVICE T nearest(const acui_pool &p, const char *x, long long h, long long w)
    {
        const long long y = h * p.at.n[0] / p.at.out[0], z = w * p.at.n[1] / p.at.out[1];
        return F::template read_one<T>(x + (y * p.x[2] + z * p.x[3]) * F::BYTES);
    }

    template <bool POOL> ACUI_DEVICE void run(const acui_pool &p, char *out, const char *x)
    {
        C::with(p.dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
            for (long long i = (long long)blockIdx.x * ACUI_BLOCK + threadIdx.x; i < p.elements;
                 i += (long long)gridDim.x * ACUI_BLOCK) {
                long long at[4];
                acui_place(p.all, i, at);
                const char *from = x + (at[0] * p.x[0] + at[1] * p.x[1]) * F::BYTES;
                char *to = out + (at[0] * p.out[0] + at[1] * p.out[1] + at[2] * p.out[2] + at[3] * p.out[3]) * F::BYTES;
                if (POOL)
                    F::write_one(to, pool<F>(p, from, at[2], at[3]));
                else if (p.kind == ACUI_INTERPOLATE_LINEAR)
                    F::write_one(to, linear<F>(p, from, at[2], at[3]));
                else
                    F::write_one(to, nearest<F>(p, from, at[2], at[3]));
            }
        });
    }
};

#define ACUI_WINDOW(name, class, is_pool)                                                          \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        name(char *out, const char *x, acui_pool p)                                                \
    {                                                                                              \
        window<class>::run<is_pool>(p, out, x);                                                    \
    }
ACUI_WINDOW(pool_f, acui_real_f, true)
ACUI_WINDOW(pool_d, acui_real_d, true)
ACUI_WINDOW(interpolate_f, acui_real_f, false)
ACUI_WINDOW(interpolate_d, acui_real_d, false)
