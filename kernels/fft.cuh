/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What kernels of Fourier transforms share: complex numbers, turns, transforms of few elements, and
 * how the elements of a line are read and written. Everything is a forward transform; real and
 * imaginary part exchanged, before and behind, make it the inverse.
 */
#ifndef ACUI_FFT_CUH
#define ACUI_FFT_CUH

#include "elements.cuh"

#include "../src/fft/params.h"

/* Aligned, so that both parts move at once. */
template <typename T> struct __align__(2 * sizeof(T)) complex {
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

/* exp(-2 pi i m / n), for 0 <= m < n; by is 1 / n. What is left of whole quarters is exact. I: int,
 * where 4 n fits, or long long. */
template <typename T, typename I> ACUI_DEVICE complex<T> turn(I m, I n, T by)
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

/* exp(-2 pi i k / R), of what few<16> and few<10> need. */
template <int R, typename T> ACUI_DEVICE complex<T> times_part(complex<T> a, int k)
{
    const double h = 0.70710678118654752440;
    double c = 1, s = 0;
    if (R == 10)
        c = k == 1 ? 0.80901699437494742410 : k == 2 ? 0.30901699437494742410 : k == 3 ? -0.30901699437494742410 : -0.80901699437494742410,
        s = k == 1 || k == 4 ? 0.58778525229247312917 : 0.95105651629515357212;
    if (R == 16)
        c = k == 1 ? 0.92387953251128675613 : k == 3 ? 0.38268343236508977173 : -0.92387953251128675613,
        s = k == 1 ? 0.38268343236508977173 : k == 3 ? 0.92387953251128675613 : -0.38268343236508977173;
    if (k == 0)
        return a;
    if (R == 16 && k == 2)
        return {(a.x + a.y) * (T)h, (a.y - a.x) * (T)h};
    if (R == 16 && k == 4)
        return quarter(a);
    if (R == 16 && k == 6)
        return {(a.y - a.x) * (T)h, -((a.x + a.y) * (T)h)};
    return a * complex<T>{(T)c, (T)-s};
}

template <int R, typename T> ACUI_DEVICE void few(complex<T> (&a)[R]);

/* A B elements, as the columns and the rows of a matrix. */
template <int A, int B, typename T> ACUI_DEVICE void few_of(complex<T> (&a)[A * B])
{
    complex<T> column[B][A];
#pragma unroll
    for (int b = 0; b < B; b++) {
#pragma unroll
        for (int i = 0; i < A; i++)
            column[b][i] = a[B * i + b];
        few<A>(column[b]);
    }
#pragma unroll
    for (int i = 0; i < A; i++) {
        complex<T> row[B];
#pragma unroll
        for (int b = 0; b < B; b++)
            row[b] = times_part<A * B>(column[b][i], b * i);
        few<B>(row);
#pragma unroll
        for (int b = 0; b < B; b++)
            a[i + A * b] = row[b];
    }
}

template <int R, typename T> ACUI_DEVICE void few(complex<T> (&a)[R])
{
    if constexpr (R == 16) {
        few_of<4, 4>(a);
    } else if constexpr (R == 10) {
        few_of<5, 2>(a);
    } else if constexpr (R == 2) {
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

/* ---- sides ------------------------------------------------------------------------------------ */

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

#endif
