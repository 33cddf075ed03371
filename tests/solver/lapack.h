/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Small dense algebra on the host, in double, by the book: matrices by columns, of `rows` rows. */
#ifndef ACUDA_TESTS_LAPACK_H
#define ACUDA_TESTS_LAPACK_H

#include <stdbool.h>

/* Each returns `info`. Pivots count from 1. */
int lapack_potrf(double *a, int n, bool upper);
void lapack_potrs(const double *a, int n, bool upper, double *b, int columns);
int lapack_getrf(double *a, int m, int n, int *pivots);
void lapack_getrs_transposed(const double *a, int n, const int *pivots, double *b, int columns);
void lapack_geqrf(double *a, int m, int n, double *tau);
void lapack_orgqr(double *a, int m, int k, const double *tau);
/* a becomes the eigenvectors. */
int lapack_syevd(double *a, int n, bool upper, double *w);
/* m >= n: u [m, n], v' [n, n] */
int lapack_gesvd(double *a, int m, int n, double *s, double *u, double *v);

#endif
