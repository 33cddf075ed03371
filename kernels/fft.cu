/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Fourier transforms of lines whose length has no prime factors but 2, 3, 5 and 7 and which fit into
 * a block's shared memory: a pass for each factor (Stockham's order, which needs no reordering
 * behind). The host makes all others of these (src/fft/own.c). Everything is a forward transform;
 * real and imaginary part exchanged, before and behind, make it the inverse.
 */
#include "elements.cuh"

#include "../src/fft/params.h"

template <typename T> struct complex {
    T x, y;
};
template <typename T> ACUI_DEVICE complex<T> operator+(complex<T> a, complex<T> b) { return {a.x + b.x, a.y + b.y}; }
template <typename T> ACUI_DEVICE complex<T> operator-(complex<T> a, complex<T> b) { return {a.x - b.x, a.y - b.y}; }
template <typename T> ACUI_DEVICE complex<T> operator*(complex<T> a, complex<T> b)
{
    return {fma(a.x, b.x, -(a.y * b.y)), fma(a.x, b.y, a.y * b.x)};
}
/* Times -i: a quarter of a turn. */
template <typename T> ACUI_DEVICE complex<T> quarter(complex<T> a) { return {a.y, -a.x}; }

/* sin and cos of r quarters of a turn, |r| at most 1/2: Taylor's series. */
ACUI_DEVICE void sin_cos(float r, float &s, float &c)
{
    const float q = r * r;
    s = fma(fma(fma(fma(1.60441184e-4f, q, -4.68175413e-3f), q, 7.96926262e-2f), q, -6.45964097e-1f), q, 1.57079633f) * r;
    c = fma(fma(fma(fma(fma(-2.52020424e-5f, q, 9.19260275e-4f), q, -2.08634808e-2f), q, 2.53669508e-1f), q, -1.23370055f), q, 1.0f);
}
ACUI_DEVICE void sin_cos(double r, double &s, double &c)
{
    const double q = r * r;
    double u = fma(6.06693573110619553e-12, q, -6.68803510981146768e-10), v = fma(6.56596311497947280e-11, q, -6.38660308379185209e-09);
    u = fma(fma(fma(u, q, 5.69217292196792668e-08), q, -3.59884323521208518e-06), q, 1.60441184787359829e-04);
    v = fma(fma(fma(v, q, 4.71087477881817174e-07), q, -2.52020423730606066e-05), q, 9.19260274839426585e-04);
    s = fma(fma(fma(fma(u, q, -4.68175413531868832e-03), q, 7.96926262461670476e-02), q, -6.45964097506246282e-01), q, 1.57079632679489656) * r;
    c = fma(fma(fma(fma(v, q, -2.08634807633529609e-02), q, 2.53669507901048030e-01), q, -1.23370055013616975), q, 1.0);
}

/* exp(-2 pi i m / n), for 0 <= m < n; by is 1 / n. What is left of whole quarters is exact. */
template <typename T> ACUI_DEVICE complex<T> turn(long long m, long long n, T by)
{
    const int quarters = (int)((T)m * by * 4 + (T)0.5);
    T s, c;
    sin_cos((T)(4 * m - quarters * n) * by, s, c);
    complex<T> w = {c, -s};
    w = quarters & 1 ? quarter(w) : w;
    w.x = quarters & 2 ? -w.x : w.x;
    w.y = quarters & 2 ? -w.y : w.y;
    return w;
}

/* ---- transforms of few elements --------------------------------------------------------------- */

/* The sine and cosine of k parts of a circle of R; k is known when this is compiled. */
template <int R, typename T> ACUI_DEVICE complex<T> part(int k)
{
    const bool turned = 2 * k > R;
    double c = 0, s = 0;
    k = turned ? R - k : k;
    if (R == 3)
        c = -0.5, s = 0.86602540378443864676;
    if (R == 5)
        c = k == 1 ? 0.30901699437494742410 : -0.80901699437494742410,
        s = k == 1 ? 0.95105651629515357212 : 0.58778525229247312917;
    if (R == 7)
        c = k == 1 ? 0.62348980185873353053 : k == 2 ? -0.22252093395631440429 : -0.90096886790241912624,
        s = k == 1 ? 0.78183148246802980871 : k == 2 ? 0.97492791218182360702 : 0.43388373911755812048;
    return {(T)c, (T)(turned ? -s : s)};
}

template <int R, typename T> ACUI_DEVICE void few(complex<T> (&a)[R])
{
    if constexpr (R == 2) {
        const complex<T> d = a[0] - a[1];
        a[0] = a[0] + a[1];
        a[1] = d;
    } else if constexpr (R == 4) {
        const complex<T> s = a[0] + a[2], d = a[0] - a[2], u = a[1] + a[3], v = quarter(a[1] - a[3]);
        a[0] = s + u, a[1] = d + v, a[2] = s - u, a[3] = d - v;
    } else if constexpr (R == 8) {
        const T h = (T)0.70710678118654752440;
        complex<T> even[4] = {a[0], a[2], a[4], a[6]}, odd[4] = {a[1], a[3], a[5], a[7]};
        few<4>(even);
        few<4>(odd);
        odd[1] = {(odd[1].x + odd[1].y) * h, (odd[1].y - odd[1].x) * h};
        odd[2] = quarter(odd[2]);
        odd[3] = {(odd[3].y - odd[3].x) * h, -((odd[3].x + odd[3].y) * h)};
#pragma unroll
        for (int i = 0; i < 4; i++)
            a[i] = even[i] + odd[i], a[i + 4] = even[i] - odd[i];
    } else {
        complex<T> out[R], sum = a[0];
#pragma unroll
        for (int i = 1; i < R; i++)
            sum = sum + a[i];
        out[0] = sum;
#pragma unroll
        for (int k = 1; k <= R / 2; k++) {
            complex<T> even = a[0], odd = {0, 0};
#pragma unroll
            for (int i = 1; i <= R / 2; i++) {
                const complex<T> w = part<R, T>(k * i % R), s = a[i] + a[R - i], d = quarter(a[i] - a[R - i]);
                even = {fma(w.x, s.x, even.x), fma(w.x, s.y, even.y)};
                odd = {fma(w.y, d.x, odd.x), fma(w.y, d.y, odd.y)};
            }
            out[k] = even + odd;
            out[R - k] = even - odd;
        }
#pragma unroll
        for (int i = 0; i < R; i++)
            a[i] = out[i];
    }
}

/* ---- lines ------------------------------------------------------------------------------------ */

template <typename T> ACUI_DEVICE complex<T> read(const acui_fft_side &side, const T *at, long long i, long long n)
{
    complex<T> v = {0, 0};
    const bool mirrored = side.form == ACUI_FFT_HALF && i > n / 2;
    at += (mirrored ? n - i : i) * side.step;
    v.x = at[0];
    if (side.form != ACUI_FFT_REAL)
        v.y = mirrored ? -at[1] : at[1];
    return side.swapped ? complex<T>{v.y, v.x} : v;
}
template <typename T>
ACUI_DEVICE void write(const acui_fft_side &side, T *at, long long i, long long n, complex<T> v)
{
    at += i * side.step;
    if (side.form == ACUI_FFT_HALF && i > n / 2)
        return;
    at[0] = side.swapped ? v.y : v.x;
    if (side.form != ACUI_FFT_REAL)
        at[1] = side.swapped ? v.x : v.y;
}

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
                w[1] = turn<T>(k, ns * R, by);
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
                    v = v * turn<T>(e * ((first + line) % p.columns), p.whole, by);
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
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
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
