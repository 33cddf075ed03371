/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "lapack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SWEEPS = 60 };

static void swap(double *a, double *b)
{
    double c = *a;
    *a = *b;
    *b = c;
}

/* ---- Cholesky ---- */

/* Element (i, j) of the lower factor, which an upper one holds transposed. */
static double *lower(double *a, int n, bool upper, int i, int j)
{
    return upper ? &a[i * n + j] : &a[j * n + i];
}

int lapack_potrf(double *a, int n, bool upper)
{
    for (int j = 0; j < n; j++) {
        double d = *lower(a, n, upper, j, j);
        for (int k = 0; k < j; k++)
            d -= *lower(a, n, upper, j, k) * *lower(a, n, upper, j, k);
        if (!(d > 0))
            return j + 1;
        *lower(a, n, upper, j, j) = sqrt(d);
        for (int i = j + 1; i < n; i++) {
            double *at = lower(a, n, upper, i, j);
            for (int k = 0; k < j; k++)
                *at -= *lower(a, n, upper, i, k) * *lower(a, n, upper, j, k);
            *at /= sqrt(d);
        }
    }
    return 0;
}

static double lower_of(const double *a, int n, bool upper, int i, int j)
{
    return upper ? a[i * n + j] : a[j * n + i];
}

void lapack_potrs(const double *a, int n, bool upper, double *b, int columns)
{
    for (int c = 0; c < columns; c++, b += n) {
        for (int i = 0; i < n; i++) {
            for (int k = 0; k < i; k++)
                b[i] -= lower_of(a, n, upper, i, k) * b[k];
            b[i] /= lower_of(a, n, upper, i, i);
        }
        for (int i = n - 1; i >= 0; i--) {
            for (int k = i + 1; k < n; k++)
                b[i] -= lower_of(a, n, upper, k, i) * b[k];
            b[i] /= lower_of(a, n, upper, i, i);
        }
    }
}

/* ---- LU ---- */

static void eliminate(double *a, int m, int n, int j)
{
    for (int i = j + 1; i < m; i++) {
        double factor = a[j * m + i] /= a[j * m + j];
        for (int k = j + 1; k < n; k++)
            a[k * m + i] -= factor * a[k * m + j];
    }
}

int lapack_getrf(double *a, int m, int n, int *pivots)
{
    int info = 0;
    for (int j = 0; j < m && j < n; j++) {
        int best = j;
        for (int i = j + 1; i < m; i++)
            if (fabs(a[j * m + i]) > fabs(a[j * m + best]))
                best = i;
        pivots[j] = best + 1;
        for (int k = 0; k < n && best != j; k++)
            swap(&a[k * m + j], &a[k * m + best]);
        if (a[j * m + j] != 0)
            eliminate(a, m, n, j);
        else if (info == 0)
            info = j + 1;
    }
    return info;
}

void lapack_getrs_transposed(const double *a, int n, const int *pivots, double *b, int columns)
{
    for (int c = 0; c < columns; c++, b += n) {
        for (int i = 0; i < n; i++) {
            for (int k = 0; k < i; k++)
                b[i] -= a[i * n + k] * b[k];
            b[i] /= a[i * n + i];
        }
        for (int i = n - 1; i >= 0; i--)
            for (int k = i + 1; k < n; k++)
                b[i] -= a[i * n + k] * b[k];
        for (int i = n - 1; i >= 0; i--)
            swap(&b[i], &b[pivots[i] - 1]);
    }
}

/* ---- QR ---- */

/* Reflects the columns from `from` on by 1 - tau v v', where v's first element, at row j, is 1. */
static void reflect(double *a, int m, int from, int to, int j, const double *v, double tau)
{
    for (int c = from; c < to; c++) {
        double sum = a[c * m + j];
        for (int i = j + 1; i < m; i++)
            sum += v[i] * a[c * m + i];
        sum *= tau;
        a[c * m + j] -= sum;
        for (int i = j + 1; i < m; i++)
            a[c * m + i] -= sum * v[i];
    }
}

void lapack_geqrf(double *a, int m, int n, double *tau)
{
    for (int j = 0; j < m && j < n; j++) {
        double *v = &a[j * m], rest = 0;
        for (int i = j + 1; i < m; i++)
            rest += v[i] * v[i];
        tau[j] = 0;
        if (rest == 0)
            continue;
        double beta = -copysign(sqrt(v[j] * v[j] + rest), v[j]);
        tau[j] = (beta - v[j]) / beta;
        for (int i = j + 1; i < m; i++)
            v[i] /= v[j] - beta;
        v[j] = beta;
        reflect(a, m, j + 1, n, j, v, tau[j]);
    }
}

void lapack_orgqr(double *a, int m, int k, const double *tau)
{
    double *q = calloc((size_t)(m * k), sizeof *q);
    for (int c = 0; c < k; c++)
        q[c * m + c] = 1;
    for (int j = k - 1; j >= 0; j--)
        reflect(q, m, 0, k, j, &a[j * m], tau[j]);
    memcpy(a, q, (size_t)(m * k) * sizeof *q);
    free(q);
}

/* ---- by rotations ---- */

static void rotate(double *x, double *y, int n, int step, double c, double s)
{
    for (int i = 0; i < n * step; i += step) {
        double a = x[i], b = y[i];
        x[i] = c * a - s * b;
        y[i] = s * a + c * b;
    }
}

static void angle_of(double p, double q, double between, double *c, double *s)
{
    double theta = (q - p) / (2 * between);
    double t = copysign(1, theta) / (fabs(theta) + sqrt(theta * theta + 1));
    *c = 1 / sqrt(t * t + 1);
    *s = t * *c;
}

/* `by`: 1 ascending, -1 descending. Columns of two matrices go along. */
static void sort(double *w, int n, int by, double *one, int rows, double *two, int more)
{
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            if ((w[j] - w[i]) * by >= 0)
                continue;
            swap(&w[i], &w[j]);
            for (int k = 0; k < rows; k++)
                swap(&one[i * rows + k], &one[j * rows + k]);
            for (int k = 0; k < more; k++)
                swap(&two[i * more + k], &two[j * more + k]);
        }
}

static double off_diagonal(const double *a, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            sum += i == j ? 0 : a[i * n + j] * a[i * n + j];
    return sum;
}

int lapack_syevd(double *a, int n, bool upper, double *w)
{
    double *v = calloc((size_t)(n * n), sizeof *v);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) /* the other half is not read */
            *(upper ? &a[j * n + i] : &a[i * n + j]) = upper ? a[i * n + j] : a[j * n + i];
    for (int i = 0; i < n; i++)
        v[i * n + i] = 1;
    for (int sweep = 0; sweep < SWEEPS && off_diagonal(a, n) > 1e-28; sweep++)
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++) {
                double c, s;
                if (a[q * n + p] == 0)
                    continue;
                angle_of(a[p * n + p], a[q * n + q], a[q * n + p], &c, &s);
                rotate(&a[p * n], &a[q * n], n, 1, c, s);
                rotate(&a[p], &a[q], n, n, c, s);
                rotate(&v[p * n], &v[q * n], n, 1, c, s);
            }
    for (int i = 0; i < n; i++)
        w[i] = a[i * n + i];
    bool converged = off_diagonal(a, n) < 1e-20;
    sort(w, n, 1, v, n, NULL, 0);
    memcpy(a, v, (size_t)(n * n) * sizeof *v);
    free(v);
    return converged ? 0 : n - 1;
}

static double dot(const double *x, const double *y, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

int lapack_gesvd(double *a, int m, int n, double *s, double *u, double *v)
{
    double *right = calloc((size_t)(n * n), sizeof *right), worst = 1;
    for (int i = 0; i < n; i++)
        right[i * n + i] = 1;
    for (int sweep = 0; sweep < SWEEPS && !(worst < 1e-15); sweep++) {
        worst = 0;
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++) {
                double *x = &a[p * m], *y = &a[q * m], c, sine;
                double xx = dot(x, x, m), yy = dot(y, y, m), xy = dot(x, y, m);
                worst = fmax(worst, fabs(xy) / (sqrt(xx * yy) + 1e-300));
                if (xy == 0)
                    continue;
                angle_of(xx, yy, xy, &c, &sine);
                rotate(x, y, m, 1, c, sine);
                rotate(&right[p * n], &right[q * n], n, 1, c, sine);
            }
    }
    for (int i = 0; i < n; i++)
        s[i] = sqrt(dot(&a[i * m], &a[i * m], m));
    bool converged = worst < 1e-15 && s[0] >= 0;
    sort(s, n, -1, a, m, right, n);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < m; k++)
            u[i * m + k] = a[i * m + k] / s[i];
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            v[k * n + i] = right[i * n + k];
    free(right);
    return converged ? 0 : n - 1;
}
