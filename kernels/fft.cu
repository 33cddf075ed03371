/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Fourier transforms of lines whose length has no prime factors but 2, 3, 5 and 7 and which fit into
 * a block's shared memory: a pass for each factor (Stockham's order, which needs no reordering
 * behind). The host makes all others of these (src/fft/own.c). Everything is a forward transform;
 * real and imaginary part exchanged, before and behind, make it the inverse.
 */
#include "fft.cuh"

/* ---- lines ------------------------------------------------------------------------------------ */

template <typename T, int MOST> struct lines {
    /* A pass over all lines in shared memory: of R elements that are n / R apart; ns is the product
     * of the factors before. */
    template <int R> ACUI_DEVICE void pass(complex<T> *data, unsigned n, unsigned each, unsigned ns)
    {
        const int COUNT = (MOST + R * ACUI_BLOCK - 1) / (R * ACUI_BLOCK);
        const unsigned apart = n / R, all = each * apart;
        const T by = (T)1 / (T)(ns * R);
        complex<T> a[COUNT][R];
#pragma unroll
        for (int c = 0; c < COUNT; c++) {
            const unsigned b = threadIdx.x + (unsigned)c * ACUI_BLOCK;
            if (b >= all)
                break;
            const unsigned line = b / apart, j = b - line * apart, k = j % ns;
#pragma unroll
            for (int i = 0; i < R; i++)
                a[c][i] = data[line * n + j + (unsigned)i * apart];
            if (ns > 1) {
                complex<T> w[R];
                w[1] = turn<T>((int)k, (int)ns * R, by);
#pragma unroll
                for (int i = 2; i < R; i++)
                    w[i] = w[i / 2] * w[i - i / 2];
#pragma unroll
                for (int i = 1; i < R; i++)
                    a[c][i] = a[c][i] * w[i];
            }
            few<R>(a[c]);
        }
        __syncthreads();
#pragma unroll
        for (int c = 0; c < COUNT; c++) {
            const unsigned b = threadIdx.x + (unsigned)c * ACUI_BLOCK;
            if (b >= all)
                break;
            const unsigned line = b / apart, j = b - line * apart, k = j % ns;
            complex<T> *to = data + line * n + (j - k) * R + k;
#pragma unroll
            for (int i = 0; i < R; i++)
                to[(unsigned)i * ns] = a[c][i];
        }
        __syncthreads();
    }

    ACUI_DEVICE void passes(const acui_fft_pass &p, complex<T> *data, unsigned each)
    {
        unsigned ns = 1;
        for (int i = 0; i < p.radices; ns *= (unsigned)p.radix[i++])
            switch (p.radix[i]) {
            case 2: pass<2>(data, (unsigned)p.n, each, ns); break;
            case 3: pass<3>(data, (unsigned)p.n, each, ns); break;
            case 4: pass<4>(data, (unsigned)p.n, each, ns); break;
            case 5: pass<5>(data, (unsigned)p.n, each, ns); break;
            case 7: pass<7>(data, (unsigned)p.n, each, ns); break;
            default: pass<8>(data, (unsigned)p.n, each, ns); break;
            }
    }

    /* Which element of which line is number i of the block: neighbours in memory are neighbours. */
    ACUI_DEVICE void place(const acui_fft_side &side, unsigned i, unsigned n, unsigned each, unsigned &line, unsigned &e)
    {
        const bool along = side.step <= 2;
        const unsigned by = along ? n : each, q = i / by, r = i - q * by;
        line = along ? q : r;
        e = along ? r : q;
    }

    ACUI_DEVICE void run(const acui_fft_pass &p, T *out, const T *x)
    {
        __shared__ complex<T> data[MOST];
        __shared__ long long begins[2][ACUI_FFT_LINES];
        const T by = p.whole ? (T)1 / (T)p.whole : (T)0;
        for (long long first = (long long)blockIdx.x * p.each; first < p.lines; first += (long long)gridDim.x * p.each) {
            const unsigned each = p.lines - first < p.each ? (unsigned)(p.lines - first) : (unsigned)p.each;
            unsigned line, e;
            __syncthreads();
            for (unsigned l = threadIdx.x; l < each; l += ACUI_BLOCK) {
                long long at[2];
                acui_offsets<2>(p.index, p.at, first + l, at);
                begins[0][l] = at[0];
                begins[1][l] = at[1];
            }
            __syncthreads();
            for (unsigned i = threadIdx.x; i < each * (unsigned)p.n; i += ACUI_BLOCK) {
                place(p.in, i, (unsigned)p.n, each, line, e);
                data[line * (unsigned)p.n + e] = read<T>(p.in, x + begins[1][line], e, p.n);
            }
            __syncthreads();
            passes(p, data, each);
            for (unsigned i = threadIdx.x; i < each * (unsigned)p.n; i += ACUI_BLOCK) {
                place(p.out, i, (unsigned)p.n, each, line, e);
                complex<T> v = data[line * (unsigned)p.n + e];
                if (p.whole)
                    v = v * turn<T>(e * ((first + line) / p.inner % p.columns), p.whole, by);
                write<T>(p.out, out + begins[0][line], e, p.n, v);
            }
        }
    }
};

/* ---- Bluestein -------------------------------------------------------------------------------- */

template <typename T> ACUI_DEVICE complex<T> chirp(long long j, long long n)
{
    return turn<T>(j * j % (2 * n), 2 * n, (T)1 / (T)(2 * n));
}

template <typename T> ACUI_DEVICE void map(const acui_fft_map &p, T *out, const T *x)
{
    const long long n = p.kind == ACUI_FFT_GATHER ? (p.side.form == ACUI_FFT_HALF ? p.n / 2 + 1 : p.n) : p.m;
    const long long all = p.kind == ACUI_FFT_CHIRP ? p.m : p.lines * n;
    for (long long i = (long long)blockIdx.x * ACUI_BLOCK + threadIdx.x; i < all; i += (long long)gridDim.x * ACUI_BLOCK) {
        const long long line = i / n, j = i - line * n;
        complex<T> *dense = (complex<T> *)out + i, v = {0, 0};
        long long at[1] = {0};
        if (p.kind == ACUI_FFT_SPREAD || p.kind == ACUI_FFT_GATHER)
            acui_offsets<1>(p.index, p.at, line, at);
        if (p.kind == ACUI_FFT_SPREAD) {
            if (j < p.n) {
                v = read<T>(p.side, x + at[0], j, p.n);
                v = p.chirp ? v * chirp<T>(j, p.n) : v;
            }
            *dense = v;
        } else if (p.kind == ACUI_FFT_GATHER) {
            v = ((const complex<T> *)x)[line * p.m + j];
            if (p.chirp) {
                v = v * chirp<T>(j, p.n);
                v = {v.x / (T)p.m, v.y / (T)p.m};
            }
            write<T>(p.side, out + at[0], j, p.n, v);
        } else if (p.kind == ACUI_FFT_CHIRP) {
            const long long k = j < p.n ? j : p.m - j;
            v = k < p.n ? chirp<T>(k, p.n) : v;
            *dense = {v.x, -v.y};
        } else {
            *dense = *dense * ((const complex<T> *)x)[j];
        }
    }
}

/* Without an operand, lines are transformed where they are. */
#define ACUI_FFT(class, T, most)                                                                   \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK, 2)                                    \
        fft_##class(T *out, const T *x, acui_fft_pass p)                                           \
    {                                                                                              \
        lines<T, most>::run(p, out, x ? x : out);                                                  \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        fft_map_##class(T *out, const T *x, acui_fft_map p)                                        \
    {                                                                                              \
        map<T>(p, out, x);                                                                         \
    }
ACUI_FFT(f, float, ACUI_FFT_BLOCK_F)
ACUI_FFT(d, double, ACUI_FFT_BLOCK_D)
