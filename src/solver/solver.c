/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Factorizations and solutions as operations: shapes, checked before cuSOLVER is called (calls.c);
 * copies, which lie as it wants them; and what becomes of `info`. For cuSOLVER a dense matrix of
 * acuda's is the transposed one, by columns.
 */
#include "solver/cusolver.h"

#include "base/error.h"
#include "ops/ops.h"
#include "solver/info.h"
#include "vendor/cublas.h"

#include <acuda/arrange.h>
#include <acuda/solver.h>

#include <string.h>

enum { LOWER = 0, UPPER = 1 }; /* cuSOLVER's */

typedef struct kind {
    acui_info_words info;
    bool batches, square;
} kind;

#define MINOR "the leading minor of order ", " is not positive definite"
#define SINGULAR "the matrix is singular: element ", " of the diagonal of its factor u is 0"
#define NOT_CONVERGED "", " elements beside a diagonal did not converge to 0"

static const kind cholesky = {{"cholesky", MINOR}, true, true};
static const kind cholesky_solve = {{"cholesky_solve", MINOR}, false, true};
static const kind solve = {{"solve", SINGULAR}, true, true};
static const kind lu = {{"lu", SINGULAR}, true, false};
static const kind qr = {{"qr", "", ""}, false, false};
static const kind svd = {{"svd", NOT_CONVERGED}, false, false};
static const kind eigh = {{"eigh", NOT_CONVERGED}, false, true};

typedef struct request {
    const kind *kind;
    int uplo;
} request;

typedef struct planned {
    acu_planning *p;
    const kind *kind;
    acu_uplo uplo;
    acu_dtype dtype;
    int rank; /* of the matrix, 3 with batches */
    acui_solver s;
    acu_op *made[5]; /* what the call yields */
} planned;

/* ---- operands -------------------------------------------------------------------------------- */

static acu_op *refuse(const planned *x, acu_status status, size_t i, const char *why)
{
    char words[ACUI_OPS_WORDS];
    return acu_op_fail(status, x->kind->info.name, x->p->site, "%s of %s (operand %zu): %s",
                       x->kind->info.name, acui_value_words(&x->p->values[i], words), i, why);
}

static acu_op *check_matrix(planned *x)
{
    const kind *k = x->kind;
    const acu_tensor *t = x->p->values[0].kind == ACU_TENSOR ? x->p->values[0].tensor : NULL;
    if (!t)
        return refuse(x, ACU_ERR_INVALID, 0, "it must be a tensor");
    acu_shape shape = acu_tensor_shape(t);
    x->rank = shape.rank;
    x->dtype = acu_tensor_dtype(t);
    if (x->rank != 2 && !(k->batches && x->rank == 3))
        return refuse(x, ACU_ERR_SHAPE, 0,
                      k->batches ? "it must be a matrix, or a batch of matrices"
                                 : "it must be a matrix");
    if (x->dtype != ACU_F32 && x->dtype != ACU_F64)
        return refuse(x, ACU_ERR_DTYPE, 0, "it must be f32 or f64");
    x->s = (acui_solver){.rows = shape.dim[x->rank - 2],
                         .columns = shape.dim[x->rank - 1],
                         .batches = x->rank == 3 ? shape.dim[0] : 1,
                         .type = x->dtype == ACU_F64 ? ACUI_CUDA_R_64F : ACUI_CUDA_R_32F,
                         .fill = x->uplo == ACU_LOWER ? UPPER : LOWER};
    if ((k->square || x->rank == 3) && x->s.rows != x->s.columns)
        return refuse(x, ACU_ERR_SHAPE, 0, "it must be square");
    if (x->s.rows >= INT32_MAX || x->s.columns >= INT32_MAX || x->s.batches >= INT32_MAX)
        return refuse(x, ACU_ERR_LIMIT, 0, "extents must be below 2^31");
    return NULL;
}

static acu_op *check_right_side(planned *x)
{
    const acu_tensor *t = x->p->values[1].kind == ACU_TENSOR ? x->p->values[1].tensor : NULL;
    if (!t)
        return refuse(x, ACU_ERR_INVALID, 1, "it must be a tensor");
    acu_shape shape = acu_tensor_shape(t);
    bool vector = shape.rank == 1 && x->rank == 2;
    if (acu_tensor_dtype(t) != x->dtype)
        return refuse(x, ACU_ERR_DTYPE, 1, "it must have the dtype of the matrix");
    if ((!vector && shape.rank != x->rank) || shape.dim[vector ? 0 : x->rank - 2] != x->s.rows ||
        (x->rank == 3 && shape.dim[0] != x->s.batches))
        return refuse(x, ACU_ERR_SHAPE, 1, x->rank == 3
                                               ? "for [batches, n, n] it must be [batches, n, k]"
                                               : "for [n, n] it must be [n] or [n, k]");
    x->s.others = vector ? 1 : shape.dim[x->rank - 1];
    return x->s.others < INT32_MAX ? NULL
                                   : refuse(x, ACU_ERR_LIMIT, 1, "extents must be below 2^31");
}

/* ---- parts of a plan ------------------------------------------------------------------------- */

/* A dense copy of operand i; `turned`: which lies by columns, where it has any. */
static acu_op *copy_of(const planned *x, size_t i, bool turned)
{
    int rank = acu_tensor_shape(x->p->values[i].tensor).rank;
    acu_op *op = acu_op_take(&x->p->values[i], x->p->site);
    if (turned && rank > 1)
        op = acu_op_transpose(op, rank - 2, rank - 1, x->p->site);
    return acu_op_dup(op, x->p->site);
}

static acu_op *turn(const planned *x, acu_op *op)
{
    return acu_op_transpose(op, x->rank - 2, x->rank - 1, x->p->site);
}

static acu_op *dense(const planned *x, acu_op *op)
{
    return acu_op_dup(op, x->p->site);
}

/* The first result: a dense copy of the view, or where acu_into says. */
static acu_op *put(const planned *x, acu_op *view)
{
    acu_planning *p = x->p;
    if (p->out.kind == ACU_NONE)
        return dense(x, view);
    return acu_op_nth(acu_op_copy(acu_op_take(&p->out, p->site), view, p->site), 0, p->site);
}

/* The same of what is dense already. */
static acu_op *put_dense(const planned *x, acu_op *op)
{
    return x->p->out.kind == ACU_NONE ? op : put(x, op);
}

static acu_op *empty(const planned *x, acu_dtype dtype, acu_shape shape)
{
    return acu_op_empty(dtype, shape, x->p->site);
}

static acu_op *empty_info(const planned *x)
{
    return empty(x, ACU_I32, ACU_SHAPE(x->s.batches));
}

/* The call, whose values are x->made. Those of cuSOLVER are not captured: that it can be is said
 * for none of them, and some look at what the device has computed. */
static void call(planned *x, acui_library *library, acui_vendor_fn fn, acu_op *const *ops,
                 const acu_access *how, size_t count)
{
    acu_arg args[5];
    for (size_t i = 0; i < count; i++)
        args[i] = acu_arg_op(ops[i], how[i]);
    acui_vendor_call made = {.library = library,
                             .name = x->kind->info.name,
                             .fn = fn,
                             .repeats = library == &acui_library_CUBLAS ? ACUI_REPEATED_THERE
                                                                        : ACUI_NOT_REPEATED,
                             .data = &x->s,
                             .bytes = sizeof x->s};
    acu_op_unzip(acui_vendor_op(&made, args, count, x->p->site), x->made, count, x->p->site);
}

/* The results, once `info`, the second value, was looked at. */
static acu_op *checked(const planned *x, acu_op *const *results, size_t count)
{
    acu_site site = x->p->site;
    acu_op *all[4];
    for (size_t i = 0; i < count; i++)
        all[i] = results[i];
    all[count] = acui_info_look(&x->kind->info, x->made[1], site);
    acu_op_unzip(acu_op_zip(all, count + 1, site), all, count + 1, site);
    acu_op_release(all[count]);
    return count == 1 ? all[0] : acu_op_zip(all, count, site);
}

/* ---- the operations -------------------------------------------------------------------------- */

static acu_op *plan_cholesky(planned *x)
{
    static const acu_access how[] = {ACU_UPDATE, ACU_WRITE};
    acu_op *ops[] = {copy_of(x, 0, false), empty_info(x)};
    call(x, &acui_library_CUSOLVER,
                        x->rank == 3 ? acui_potrf_batched : acui_potrf, ops, how, 2);
    acu_op *factor = acu_op_triangle(x->made[0], x->uplo == ACU_UPPER, 0, x->p->site);
    acu_op *result = acui_into(x->p, factor);
    return checked(x, &result, 1);
}

/* The right-hand side lies by columns, and the solution so too. */
static acu_op *plan_solution(planned *x)
{
    static const acu_access how[] = {ACU_UPDATE, ACU_WRITE, ACU_UPDATE};
    acu_op *failed = check_right_side(x);
    if (failed)
        return failed;
    bool batches = x->rank == 3, vector = acu_tensor_shape(x->p->values[1].tensor).rank == 1;
    acu_op *ops[] = {copy_of(x, 0, false), empty_info(x), copy_of(x, 1, true)};
    call(x, batches ? &acui_library_CUBLAS : &acui_library_CUSOLVER,
                        x->kind == &cholesky_solve ? acui_potrs
                        : batches                  ? acui_getrs_batched
                                                   : acui_getrs,
                        ops, how, 3);
    acu_op *result = x->made[2];
    result = vector ? put_dense(x, result) : put(x, turn(x, result));
    acu_op_release(x->made[0]);
    return checked(x, &result, 1);
}

static acu_op *plan_lu(planned *x)
{
    static const acu_access how[] = {ACU_UPDATE, ACU_WRITE, ACU_WRITE};
    bool batches = x->rank == 3;
    int64_t least = x->s.rows < x->s.columns ? x->s.rows : x->s.columns;
    acu_shape shape = batches ? ACU_SHAPE(x->s.batches, least) : ACU_SHAPE(least);
    acu_op *ops[] = {copy_of(x, 0, true), empty_info(x),
                     empty(x, batches ? ACU_I32 : ACU_I64, shape)};
    call(x, batches ? &acui_library_CUBLAS : &acui_library_CUSOLVER,
                        batches ? acui_getrf_batched : acui_getrf, ops, how, 3);
    acu_op *pivots = x->made[2];
    if (!batches)
        pivots = acu_op_convert(pivots, ACU_I32, x->p->site);
    acu_op *results[] = {put(x, turn(x, x->made[0])), pivots};
    return checked(x, results, 2);
}

static acu_op *plan_qr(planned *x)
{
    static const acu_access first[] = {ACU_UPDATE, ACU_WRITE}, then[] = {ACU_UPDATE, ACU_READ};
    acu_site site = x->p->site;
    int64_t m = x->s.rows, n = x->s.columns, k = m < n ? m : n;
    x->s.others = k;
    acu_op *ops[] = {copy_of(x, 0, true), empty(x, x->dtype, ACU_SHAPE(k))};
    call(x, &acui_library_CUSOLVER, acui_geqrf, ops, first, 2);
    acu_op *top = acu_op_slice(turn(x, acu_op_retain(x->made[0])), ACU_SHAPE(0, 0), ACU_SHAPE(k, n),
                               ACU_NO_STEP, site);
    acu_op *left = acu_op_slice(x->made[0], ACU_SHAPE(0, 0), ACU_SHAPE(k, m), ACU_NO_STEP,
                                site);
    acu_op *factors[] = {dense(x, left), x->made[1]};
    call(x, &acui_library_CUSOLVER, acui_orgqr, factors, then, 2);
    acu_op_release(x->made[1]);
    acu_op *results[] = {put(x, turn(x, x->made[0])), acu_op_triangle(top, true, 0, site)};
    return acu_op_zip(results, 2, site);
}

/* A matrix with more columns than rows is decomposed as it lies, transposed: u and v change
 * places. */
static acu_op *plan_svd(planned *x)
{
    static const acu_access how[] = {ACU_UPDATE, ACU_WRITE, ACU_WRITE, ACU_WRITE, ACU_WRITE};
    int64_t m = x->s.rows, n = x->s.columns;
    bool wide = n > m;
    int64_t k = wide ? m : n, more = wide ? n : m;
    x->s.rows = more;
    x->s.columns = k;
    acu_op *ops[] = {copy_of(x, 0, !wide), empty_info(x), empty(x, x->dtype, ACU_SHAPE(k)),
                     empty(x, x->dtype, ACU_SHAPE(k, more)), empty(x, x->dtype, ACU_SHAPE(k, k))};
    call(x, &acui_library_CUSOLVER, acui_gesvd, ops, how, 5);
    acu_op_release(x->made[0]);
    acu_op *u = x->made[wide ? 4 : 3], *v = x->made[wide ? 3 : 4];
    acu_op *results[] = {wide ? put_dense(x, u) : put(x, turn(x, u)), x->made[2],
                         wide ? v : dense(x, turn(x, v))};
    return checked(x, results, 3);
}

static acu_op *plan_eigh(planned *x)
{
    static const acu_access how[] = {ACU_UPDATE, ACU_WRITE, ACU_WRITE};
    acu_op *ops[] = {copy_of(x, 0, false), empty_info(x),
                     empty(x, x->dtype, ACU_SHAPE(x->s.rows))};
    call(x, &acui_library_CUSOLVER, acui_syevd, ops, how, 3);
    acu_op *results[] = {put_dense(x, x->made[2]),
                         dense(x, turn(x, x->made[0]))};
    return checked(x, results, 2);
}

static acu_op *plan(acu_planning *p)
{
    request r;
    memcpy(&r, p->data, sizeof r);
    planned x;
    memset(&x, 0, sizeof x);
    x.p = p;
    x.kind = r.kind;
    x.uplo = (acu_uplo)r.uplo;
    acu_op *failed = acui_refuse_empty(p, r.kind->info.name);
    if (!failed)
        failed = check_matrix(&x);
    if (failed)
        return failed;
    return r.kind == &cholesky ? plan_cholesky(&x)
           : r.kind == &lu     ? plan_lu(&x)
           : r.kind == &qr     ? plan_qr(&x)
           : r.kind == &svd    ? plan_svd(&x)
           : r.kind == &eigh   ? plan_eigh(&x)
                               : plan_solution(&x);
}

/* ---- constructing ---------------------------------------------------------------------------- */

static acu_op *make(const kind *k, acu_uplo uplo, acu_op *const *operands, size_t count,
                    acu_site site)
{
    request r;
    memset(&r, 0, sizeof r);
    r.kind = k;
    r.uplo = (int)uplo;
    if (uplo == ACU_LOWER || uplo == ACU_UPPER)
        return acu_op_custom((acu_custom){.name = k->info.name, .fn = plan, .data = &r,
                                          .bytes = sizeof r}, operands, count, site);
    for (size_t i = 0; i < count; i++)
        acu_op_release(operands[i]);
    return acu_op_fail(ACU_ERR_INVALID, k->info.name, site, "%s: %d is no acu_uplo", k->info.name,
                       (int)uplo);
}

acu_op *acu_op_cholesky(acu_op *a, acu_uplo uplo, acu_site site)
{
    return make(&cholesky, uplo, &a, 1, site);
}

acu_op *acu_op_solve(acu_op *a, acu_op *b, acu_site site)
{
    return make(&solve, ACU_LOWER, (acu_op *const[]){a, b}, 2, site);
}

acu_op *acu_op_cholesky_solve(acu_op *a, acu_uplo uplo, acu_op *b, acu_site site)
{
    return make(&cholesky_solve, uplo, (acu_op *const[]){a, b}, 2, site);
}

acu_op *acu_op_lu(acu_op *a, acu_site site)
{
    return make(&lu, ACU_LOWER, &a, 1, site);
}

acu_op *acu_op_qr(acu_op *a, acu_site site)
{
    return make(&qr, ACU_LOWER, &a, 1, site);
}

acu_op *acu_op_svd(acu_op *a, acu_site site)
{
    return make(&svd, ACU_LOWER, &a, 1, site);
}

acu_op *acu_op_eigh(acu_op *a, acu_uplo uplo, acu_site site)
{
    return make(&eigh, uplo, &a, 1, site);
}
