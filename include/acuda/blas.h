/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Linear algebra on vectors and matrices by cuBLAS, levels 1 to 3 of BLAS, as operations among
 * others. Products alone are in ops.h too (acu_matmul), where acuda's own kernels take the place of
 * a missing cuBLAS; here it must be found (vendor.h), or the operations fail with NOT_FOUND.
 *
 *   acu_op *y2 = acu_blas_gemv(1.0, a, x, 0.5, y);          y = a x + y / 2
 *
 * All take f32, f64, c64 and c128; acu_blas_gemm and level 1, but for asum, f16 and bf16 too. alpha
 * and beta are real. As in BLAS, the last operand is changed in place, and yielded; only
 * acu_blas_dot, _dotc, _nrm2 and _asum make a new tensor, of one element. An operand is a tensor or
 * an op, as in ops.h. Everything is checked when the op is planned, before cuBLAS is called: all
 * operands are of one dtype and on one device; a vector has rank 1 and any stride above 0; a matrix
 * has rank 2, and is dense along its rows or its columns, so that a transposed view (acu_transpose)
 * costs nothing. Extents are below 2^31. An operand that is written overlaps no other.
 *
 * What is not here: packed and banded matrices; hermitian ones but for acu_blas_herk (acu_blas_gemm
 * does the same); index of the largest element (acu_argmax), swaps and rotations. A conjugate is
 * acu_conj. In graphs, cached and explicit, the calls are captured, but for groups. Errors: SHAPE,
 * DTYPE, INVALID (a layout, a value of an enumeration, overlap), SHARED, DEVICE, NOT_FOUND; of the
 * future: DRIVER, NOT_SUPPORTED, DEVICE_MEMORY, with cuBLAS's name for the status. None blocks.
 * Driver: what cuBLAS calls.
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

/* ---- level 1 ---- */

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
/* The same of the conjugates of x. */
#define acu_blas_dotc(x, y) acu_op_blas_dotc(ACU_OPERAND(x), ACU_OPERAND(y), ACU_SITE)
ACU_API acu_op *acu_op_blas_dotc(acu_op *x, acu_op *y, acu_site site);
#define acu_blas_nrm2(x) acu_op_blas_nrm2(ACU_OPERAND(x), ACU_SITE)
ACU_API acu_op *acu_op_blas_nrm2(acu_op *x, acu_site site);
/* The sum of absolute values, of complex numbers those of both parts. This and nrm2 are real. */
#define acu_blas_asum(x) acu_op_blas_asum(ACU_OPERAND(x), ACU_SITE)
ACU_API acu_op *acu_op_blas_asum(acu_op *x, acu_site site);

/* ---- level 2 ---- */

/* y = alpha a x + beta y; a [m, n], x [n], y [m] */
#define acu_blas_gemv(alpha, a, x, beta, y)                                                        \
    acu_op_blas_gemv((alpha), ACU_OPERAND(a), ACU_OPERAND(x), (beta), ACU_OPERAND(y), ACU_SITE)
ACU_API acu_op *acu_op_blas_gemv(double alpha, acu_op *a, acu_op *x, double beta, acu_op *y,
                                 acu_site site);
/* The same for a symmetric a [n, n], of which the half `uplo` is read. */
#define acu_blas_symv(uplo, alpha, a, x, beta, y)                                                  \
    acu_op_blas_symv((uplo), (alpha), ACU_OPERAND(a), ACU_OPERAND(x), (beta), ACU_OPERAND(y),      \
                     ACU_SITE)
ACU_API acu_op *acu_op_blas_symv(acu_uplo uplo, double alpha, acu_op *a, acu_op *x, double beta,
                                 acu_op *y, acu_site site);
/* x = a x, and the solution of a y = x in the place of x, for a triangular a [n, n]; unit: its
 * diagonal is ones, and is not read. */
#define acu_blas_trmv(uplo, unit, a, x)                                                            \
    acu_op_blas_trmv((uplo), (unit), ACU_OPERAND(a), ACU_OPERAND(x), ACU_SITE)
ACU_API acu_op *acu_op_blas_trmv(acu_uplo uplo, bool unit, acu_op *a, acu_op *x, acu_site site);
#define acu_blas_trsv(uplo, unit, a, x)                                                            \
    acu_op_blas_trsv((uplo), (unit), ACU_OPERAND(a), ACU_OPERAND(x), ACU_SITE)
ACU_API acu_op *acu_op_blas_trsv(acu_uplo uplo, bool unit, acu_op *a, acu_op *x, acu_site site);
/* a += alpha x y'; x [m], y [n], a [m, n] */
#define acu_blas_ger(alpha, x, y, a)                                                               \
    acu_op_blas_ger((alpha), ACU_OPERAND(x), ACU_OPERAND(y), ACU_OPERAND(a), ACU_SITE)
ACU_API acu_op *acu_op_blas_ger(double alpha, acu_op *x, acu_op *y, acu_op *a, acu_site site);
/* a += alpha x x', in the half `uplo` of a [n, n], which is symmetric */
#define acu_blas_syr(uplo, alpha, x, a)                                                            \
    acu_op_blas_syr((uplo), (alpha), ACU_OPERAND(x), ACU_OPERAND(a), ACU_SITE)
ACU_API acu_op *acu_op_blas_syr(acu_uplo uplo, double alpha, acu_op *x, acu_op *a, acu_site site);

/* ---- level 3 ---- */

/* c = alpha a b + beta c; a [m, k], b [k, n], c [m, n]; tf32, too. With beta 0, c is only
 * written. */
#define acu_blas_gemm(alpha, a, b, beta, c)                                                        \
    acu_op_blas_gemm((alpha), ACU_OPERAND(a), ACU_OPERAND(b), (beta), ACU_OPERAND(c), ACU_SITE)
ACU_API acu_op *acu_op_blas_gemm(double alpha, acu_op *a, acu_op *b, double beta, acu_op *c,
                                 acu_site site);
/*
 * `count` products of any shapes in one call (1 to ACU_BLAS_GROUP_MAX): c[i] = alpha a[i] b[i] +
 * beta c[i]; all of one dtype: f16, bf16, f32, tf32 or f64. The operands are consumed. Yields the
 * c's in their order. By cublasGemmGroupedBatchedEx, which cuBLAS has from version 12.5 on; where
 * it is not there, or does not take a dtype or an alignment, by a call for each. In no graph:
 * cuBLAS gets lists in the host's memory, which a graph might read again. Errors: LIMIT (their
 * number), too.
 */
#define ACU_BLAS_GROUP_MAX 256
#define acu_blas_gemm_group(alpha, a, b, beta, c, count)                                           \
    acu_op_blas_gemm_group((alpha), (a), (b), (beta), (c), (count), ACU_SITE)
ACU_API acu_op *acu_op_blas_gemm_group(double alpha, acu_op *const *a, acu_op *const *b,
                                       double beta, acu_op *const *c, size_t count, acu_site site);
/* c = alpha a a' + beta c, in the half `uplo` of c, which is symmetric; the other half keeps its
 * elements. a [n, k], c [n, n]. */
#define acu_blas_syrk(uplo, alpha, a, beta, c)                                                     \
    acu_op_blas_syrk((uplo), (alpha), ACU_OPERAND(a), (beta), ACU_OPERAND(c), ACU_SITE)
ACU_API acu_op *acu_op_blas_syrk(acu_uplo uplo, double alpha, acu_op *a, double beta, acu_op *c,
                                 acu_site site);
/* c = alpha a conj(a)' + beta c, likewise; both must be dense along their rows, or both along their
 * columns, if they are complex. */
#define acu_blas_herk(uplo, alpha, a, beta, c)                                                     \
    acu_op_blas_herk((uplo), (alpha), ACU_OPERAND(a), (beta), ACU_OPERAND(c), ACU_SITE)
ACU_API acu_op *acu_op_blas_herk(acu_uplo uplo, double alpha, acu_op *a, double beta, acu_op *c,
                                 acu_site site);
/* c = alpha (a b' + b a') + beta c, likewise; a and b [n, k], dense along the same dimension. */
#define acu_blas_syr2k(uplo, alpha, a, b, beta, c)                                                 \
    acu_op_blas_syr2k((uplo), (alpha), ACU_OPERAND(a), ACU_OPERAND(b), (beta), ACU_OPERAND(c),     \
                      ACU_SITE)
ACU_API acu_op *acu_op_blas_syr2k(acu_uplo uplo, double alpha, acu_op *a, acu_op *b, double beta,
                                  acu_op *c, acu_site site);
/* c = alpha a b + beta c (ACU_LEFT) or alpha b a + beta c (ACU_RIGHT), where `a` is symmetric, and
 * its half `uplo` is read; b and c [m, n], dense along the same dimension. With beta 0, c is only
 * written. */
#define acu_blas_symm(side, uplo, alpha, a, b, beta, c)                                            \
    acu_op_blas_symm((side), (uplo), (alpha), ACU_OPERAND(a), ACU_OPERAND(b), (beta),              \
                     ACU_OPERAND(c), ACU_SITE)
ACU_API acu_op *acu_op_blas_symm(acu_side side, acu_uplo uplo, double alpha, acu_op *a, acu_op *b,
                                 double beta, acu_op *c, acu_site site);
/* b = alpha a b (ACU_LEFT) or alpha b a (ACU_RIGHT), where `a` is triangular; unit: its diagonal is
 * ones, and is not read. b [m, n], a [m, m] or [n, n]. */
#define acu_blas_trmm(side, uplo, unit, alpha, a, b)                                               \
    acu_op_blas_trmm((side), (uplo), (unit), (alpha), ACU_OPERAND(a), ACU_OPERAND(b), ACU_SITE)
ACU_API acu_op *acu_op_blas_trmm(acu_side side, acu_uplo uplo, bool unit, double alpha, acu_op *a,
                                 acu_op *b, acu_site site);
/* Solve a x = alpha b (ACU_LEFT) or x a = alpha b (ACU_RIGHT), where `a` is triangular; x takes the
 * place of b. unit: a's diagonal is ones, and is not read. b [m, n], a [m, m] or [n, n]. A singular
 * `a` gives infinities, as in BLAS. */
#define acu_blas_trsm(side, uplo, unit, alpha, a, b)                                               \
    acu_op_blas_trsm((side), (uplo), (unit), (alpha), ACU_OPERAND(a), ACU_OPERAND(b), ACU_SITE)
ACU_API acu_op *acu_op_blas_trsm(acu_side side, acu_uplo uplo, bool unit, double alpha, acu_op *a,
                                 acu_op *b, acu_site site);

ACU_END
#endif
