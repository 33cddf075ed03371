/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Linear algebra on vectors and matrices by cuBLAS, levels 1 to 3 of BLAS, as operations among
 * others. Products alone are in ops.h too (acu_matmul), where acuda's own kernels take the place of
 * a missing cuBLAS; here it must be found (vendor.h), or the operations fail with NOT_FOUND.
 *
 *   acu_op *y2 = acu_blas_gemv(1.0, a, x, 0.5, y);          y = a x + y / 2
 *
 * As in BLAS, the last operand is changed in place, and yielded; only acu_blas_dot and
 * acu_blas_nrm2 make a new tensor, of one element. An operand is a tensor or an op, as in ops.h.
 * Everything is checked when the op is planned, before cuBLAS is called: all operands are of one
 * dtype and on one device; a vector has rank 1 and any stride above 0; a matrix has rank 2, and is
 * dense along its rows or its columns, so that a transposed view (acu_transpose) costs nothing.
 * Extents are below 2^31. An operand that is written overlaps no other.
 *
 * In explicit graphs the calls are captured. Errors: SHAPE, DTYPE, INVALID (a layout, a value of an
 * enumeration, overlap), SHARED, DEVICE, NOT_FOUND; of the future: DRIVER, NOT_SUPPORTED,
 * DEVICE_MEMORY, with cuBLAS's name for the status. None blocks. Driver: what cuBLAS calls.
 */
#ifndef ACUDA_BLAS_H
#define ACUDA_BLAS_H

#include <acuda/op.h>
#include <acuda/vendor.h>

ACU_BEGIN

/* Which half of a symmetric or triangular matrix is read; the other is not. */
typedef enum acu_uplo { ACU_LOWER, ACU_UPPER } acu_uplo;
/* On which side of the unknown, or of the other factor, the triangular matrix stands. */
typedef enum acu_side { ACU_LEFT, ACU_RIGHT } acu_side;

/* ---- level 1: f16, bf16, f32, f64 ---- */

/* y += alpha x */
#define acu_blas_axpy(alpha, x, y)                                                                 \
    acu_op_blas_axpy((alpha), ACU_OPERAND(x), ACU_OPERAND(y), ACU_SITE)
ACU_API acu_op *acu_op_blas_axpy(double alpha, acu_op *x, acu_op *y, acu_site site);
/* x *= alpha */
#define acu_blas_scal(alpha, x) acu_op_blas_scal((alpha), ACU_OPERAND(x), ACU_SITE)
ACU_API acu_op *acu_op_blas_scal(double alpha, acu_op *x, acu_site site);
/* The sum of the products of their elements, and the root of the sum of squares; f16 and bf16 are
 * summed in f32. */
#define acu_blas_dot(x, y) acu_op_blas_dot(ACU_OPERAND(x), ACU_OPERAND(y), ACU_SITE)
ACU_API acu_op *acu_op_blas_dot(acu_op *x, acu_op *y, acu_site site);
#define acu_blas_nrm2(x) acu_op_blas_nrm2(ACU_OPERAND(x), ACU_SITE)
ACU_API acu_op *acu_op_blas_nrm2(acu_op *x, acu_site site);

/* ---- level 2: f32, f64 ---- */

/* y = alpha a x + beta y; a [m, n], x [n], y [m] */
#define acu_blas_gemv(alpha, a, x, beta, y)                                                        \
    acu_op_blas_gemv((alpha), ACU_OPERAND(a), ACU_OPERAND(x), (beta), ACU_OPERAND(y), ACU_SITE)
ACU_API acu_op *acu_op_blas_gemv(double alpha, acu_op *a, acu_op *x, double beta, acu_op *y,
                                 acu_site site);
/* a += alpha x y'; x [m], y [n], a [m, n] */
#define acu_blas_ger(alpha, x, y, a)                                                               \
    acu_op_blas_ger((alpha), ACU_OPERAND(x), ACU_OPERAND(y), ACU_OPERAND(a), ACU_SITE)
ACU_API acu_op *acu_op_blas_ger(double alpha, acu_op *x, acu_op *y, acu_op *a, acu_site site);

/* ---- level 3 ---- */

/* c = alpha a b + beta c; a [m, k], b [k, n], c [m, n]; f16, bf16, f32, tf32, f64. With beta 0, c
 * is only written. */
#define acu_blas_gemm(alpha, a, b, beta, c)                                                        \
    acu_op_blas_gemm((alpha), ACU_OPERAND(a), ACU_OPERAND(b), (beta), ACU_OPERAND(c), ACU_SITE)
ACU_API acu_op *acu_op_blas_gemm(double alpha, acu_op *a, acu_op *b, double beta, acu_op *c,
                                 acu_site site);
/* c = alpha a a' + beta c, in the half `uplo` of c, which is symmetric; the other half keeps its
 * elements. a [n, k], c [n, n]; f32, f64. */
#define acu_blas_syrk(uplo, alpha, a, beta, c)                                                     \
    acu_op_blas_syrk((uplo), (alpha), ACU_OPERAND(a), (beta), ACU_OPERAND(c), ACU_SITE)
ACU_API acu_op *acu_op_blas_syrk(acu_uplo uplo, double alpha, acu_op *a, double beta, acu_op *c,
                                 acu_site site);
/* Solve a x = alpha b (ACU_LEFT) or x a = alpha b (ACU_RIGHT), where `a` is triangular; x takes the
 * place of b. unit: a's diagonal is ones, and is not read. b [m, n], a [m, m] or [n, n]; f32, f64.
 * A singular `a` gives infinities, as in BLAS. */
#define acu_blas_trsm(side, uplo, unit, alpha, a, b)                                               \
    acu_op_blas_trsm((side), (uplo), (unit), (alpha), ACU_OPERAND(a), ACU_OPERAND(b), ACU_SITE)
ACU_API acu_op *acu_op_blas_trsm(acu_side side, acu_uplo uplo, bool unit, double alpha, acu_op *a,
                                 acu_op *b, acu_site site);

ACU_END
#endif
