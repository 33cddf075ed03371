/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Equations, factorizations, eigenvalues and singular values of dense matrices by cuSOLVER, as
 * operations among others:
 *
 *   acu_op *x = acu_solve(a, b);                                   a x = b
 *   acu_op *l = acu_cholesky(covariance, ACU_LOWER);
 *
 * f32 and f64. Operands are tensors of any strides, or ops that yield one, and are not changed:
 * the work is done on copies, which lie by columns where cuSOLVER wants that. Results are new dense
 * tensors, or, the first one, goes where acu_into says. acu_cholesky, acu_lu and acu_solve take
 * batches too, [batches, ...]: the first two of square matrices only.
 *
 * What LAPACK and cuSOLVER report as `info` fails the operation with NUMERIC: the message says what
 * the number means, and the record's `cause` is the number. It comes from the device, so the
 * future fails once the work is done; what was submitted behind it and reads the results has run
 * with what was there.
 *
 * cuSOLVER must be found (vendor.h), and for batches of acu_lu and acu_solve cuBLAS, or operations
 * fail with NOT_FOUND. Temporary memory comes from the device's pool, and from the host. acu_svd
 * and acu_eigh may wait for the device inside cuSOLVER: on the thread that issues them, which is
 * the one that submits them if nothing is in their way. What cuSOLVER does is in no graph: on an
 * H100 the driver refused what was captured of it. What cuBLAS does, batches of acu_lu and
 * acu_solve, is captured, in cached graphs (graph_cache.h) and in explicit ones, where `info` is
 * looked at behind each replay.
 *
 * Errors: SHAPE, DTYPE, INVALID, DEVICE, NOT_FOUND, LIMIT (2^31 elements and more in a row); of the
 * future: NUMERIC, DRIVER, NOT_SUPPORTED, DEVICE_MEMORY, with the library's name for the status.
 * None blocks, but as said. Driver: what cuSOLVER calls.
 */
#ifndef ACUDA_SOLVER_H
#define ACUDA_SOLVER_H

#include <acuda/blas.h>

ACU_BEGIN

/* The triangular l (ACU_LOWER) with l l' = a, or u with u' u = a, and zeros elsewhere; a [n, n] is
 * symmetric and positive definite, and only its half `uplo` is read. NUMERIC, k: the leading minor
 * of order k is not positive. */
#define acu_cholesky(a, uplo) acu_op_cholesky(ACU_OPERAND(a), (uplo), ACU_SITE)
ACU_API acu_op *acu_op_cholesky(acu_op *a, acu_uplo uplo, acu_site site);

/* The solution of a x = b: a [n, n], b [n] or [n, k], x like b; in batches a [batches, n, n], b
 * [batches, n, k]. By LU with partial pivoting. NUMERIC, k: a is singular. */
#define acu_solve(a, b) acu_op_solve(ACU_OPERAND(a), ACU_OPERAND(b), ACU_SITE)
ACU_API acu_op *acu_op_solve(acu_op *a, acu_op *b, acu_site site);
/* The same by Cholesky, without batches: a is symmetric and positive definite, of which the half
 * `uplo` is read. */
#define acu_cholesky_solve(a, uplo, b)                                                             \
    acu_op_cholesky_solve(ACU_OPERAND(a), (uplo), ACU_OPERAND(b), ACU_SITE)
ACU_API acu_op *acu_op_cholesky_solve(acu_op *a, acu_uplo uplo, acu_op *b, acu_site site);

/* Yields the factors in one matrix (l below the diagonal, whose own diagonal is ones; u on it and
 * above), and the pivots, i32 [min(m, n)]: row i changed places with row pivots[i] - 1, in this
 * order. a [m, n]; in batches [batches, n, n]. NUMERIC, k: u's element k of the diagonal is 0. */
#define acu_lu(a) acu_op_lu(ACU_OPERAND(a), ACU_SITE)
ACU_API acu_op *acu_op_lu(acu_op *a, acu_site site);

/* Yields q [m, k], whose columns are orthonormal, and r [k, n], which is upper triangular: q r = a;
 * k is the smaller of m and n. */
#define acu_qr(a) acu_op_qr(ACU_OPERAND(a), ACU_SITE)
ACU_API acu_op *acu_op_qr(acu_op *a, acu_site site);

/* Yields u [m, k], s [k] and v' [k, n]: u diag(s) v' = a, k the smaller of m and n; s descends.
 * NUMERIC, k: k elements did not converge. */
#define acu_svd(a) acu_op_svd(ACU_OPERAND(a), ACU_SITE)
ACU_API acu_op *acu_op_svd(acu_op *a, acu_site site);

/* Yields the eigenvalues w [n], ascending, and the eigenvectors v [n, n], in columns, of a
 * symmetric matrix, of which the half `uplo` is read: a v = v diag(w). NUMERIC, k: k elements did
 * not converge. */
#define acu_eigh(a, uplo) acu_op_eigh(ACU_OPERAND(a), (uplo), ACU_SITE)
ACU_API acu_op *acu_op_eigh(acu_op *a, acu_uplo uplo, acu_site site);

ACU_END
#endif
