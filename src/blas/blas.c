/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* BLAS as operations: what each takes, checked before cuBLAS is called (calls.c). */
#include "blas/blas.h"

#include "base/error.h"
#include "ops/ops.h"

#include <string.h>

/* What a call takes: operands, of which the last is written, unless a new one is made. */
typedef struct kind {
    const char *name;
    acui_vendor_fn fn;
    size_t count;
    int ranks[3];
    bool small, makes; /* takes f16 and bf16 too; the result is new, [1] */
    const char *(*fits)(const acui_blas *); /* why the extents do not fit; NULL: they do */
} kind;

typedef struct request {
    const kind *kind;
    acui_blas blas;
} request;

/* ---- extents --------------------------------------------------------------------------------- */

static const char *same_length(const acui_blas *b)
{
    return b->at[0].rows == b->at[1].rows ? NULL : "the vectors must be of one length";
}

static const char *fits_gemv(const acui_blas *b)
{
    return b->at[0].columns == b->at[1].rows && b->at[0].rows == b->at[2].rows
               ? NULL
               : "for [m, n] the vectors must be [n] and [m]";
}

static const char *fits_ger(const acui_blas *b)
{
    return b->at[2].rows == b->at[0].rows && b->at[2].columns == b->at[1].rows
               ? NULL
               : "for [m] and [n] the matrix must be [m, n]";
}

static const char *fits_gemm(const acui_blas *b)
{
    return b->at[0].columns == b->at[1].rows && b->at[2].rows == b->at[0].rows &&
                   b->at[2].columns == b->at[1].columns
               ? NULL
               : "they must be [m, k], [k, n] and [m, n]";
}

static const char *fits_syrk(const acui_blas *b)
{
    return b->at[1].rows == b->at[1].columns && b->at[1].rows == b->at[0].rows
               ? NULL
               : "for [n, k] the result must be [n, n]";
}

static const char *fits_trsm(const acui_blas *b)
{
    int order = b->side == ACU_LEFT ? b->at[1].rows : b->at[1].columns;
    return b->at[0].rows == b->at[0].columns && b->at[0].rows == order
               ? NULL
               : "the triangular matrix must be square, and fit the other on its side";
}

static const kind kinds[] = {
    {"blas_axpy", acui_blas_axpy, 2, {1, 1}, true, false, same_length},
    {"blas_scal", acui_blas_scal, 1, {1}, true, false, NULL},
    {"blas_dot", acui_blas_dot, 2, {1, 1}, true, true, same_length},
    {"blas_nrm2", acui_blas_nrm2, 1, {1}, true, true, NULL},
    {"blas_gemv", acui_blas_gemv, 3, {2, 1, 1}, false, false, fits_gemv},
    {"blas_ger", acui_blas_ger, 3, {1, 1, 2}, false, false, fits_ger},
    {"blas_gemm", acui_blas_gemm, 3, {2, 2, 2}, true, false, fits_gemm},
    {"blas_syrk", acui_blas_syrk, 2, {2, 2}, false, false, fits_syrk},
    {"blas_trsm", acui_blas_trsm, 2, {2, 2}, false, false, fits_trsm},
};
enum { AXPY, SCAL, DOT, NRM2, GEMV, GER, GEMM, SYRK, TRSM };

/* ---- operands -------------------------------------------------------------------------------- */

/* Says what is wrong with operand i. */
static acu_op *refuse(const acu_planning *p, const kind *k, acu_status status, size_t i,
                      const char *why)
{
    char words[ACUI_OPS_WORDS];
    return acu_op_fail(status, k->name, p->site, "%s of %s (operand %zu): %s", k->name,
                       acui_value_words(&p->values[i], words), i, why);
}

static bool as_matrix(const acu_tensor *t, acui_array *x)
{
    acu_shape shape = acu_tensor_shape(t);
    const int64_t *strides = acu_tensor_strides(t);
    int64_t rows = shape.dim[0], columns = shape.dim[1], step;
    if ((strides[1] == 1 || columns == 1) && (strides[0] >= columns || rows == 1)) {
        x->by_rows = true;
        step = rows == 1 ? columns : strides[0];
    } else if ((strides[0] == 1 || rows == 1) && (strides[1] >= rows || columns == 1)) {
        step = columns == 1 ? rows : strides[1];
    } else {
        return false;
    }
    x->rows = (int)rows;
    x->columns = (int)columns;
    x->step = (int)step;
    return rows < INT_MAX && columns < INT_MAX && step < INT_MAX;
}

static bool as_vector(const acu_tensor *t, acui_array *x)
{
    int64_t rows = acu_tensor_shape(t).dim[0], step = acu_tensor_strides(t)[0];
    step = rows == 1 ? 1 : step;
    x->rows = (int)rows;
    x->step = (int)step;
    return rows < INT_MAX && step > 0 && step < INT_MAX;
}

static acu_op *check_operand(acu_planning *p, const kind *k, acui_blas *b, size_t i)
{
    const acu_tensor *t = p->values[i].kind == ACU_TENSOR ? p->values[i].tensor : NULL;
    if (!t || acu_tensor_shape(t).rank != k->ranks[i])
        return refuse(p, k, ACU_ERR_SHAPE, i,
                      k->ranks[i] == 1 ? "it must be a vector" : "it must be a matrix");
    acu_dtype dtype = acu_tensor_dtype(t);
    bool known = dtype == ACU_F32 || dtype == ACU_F64 ||
                 (k->small && (dtype == ACU_F16 || dtype == ACU_BF16)) ||
                 (k == &kinds[GEMM] && dtype == ACU_TF32);
    if (!known)
        return refuse(p, k, ACU_ERR_DTYPE, i, "it does not compute with this dtype");
    if (i > 0 && dtype != b->dtype)
        return refuse(p, k, ACU_ERR_DTYPE, i, "all operands must be of one dtype");
    b->dtype = dtype;
    if (!(k->ranks[i] == 1 ? as_vector(t, &b->at[i]) : as_matrix(t, &b->at[i])))
        return refuse(p, k, ACU_ERR_INVALID, i,
                      k->ranks[i] == 1 ? "its stride must be above 0, and all below 2^31"
                                       : "it must be dense along its rows or its columns, and all "
                                         "extents below 2^31");
    return NULL;
}

static acu_op *check_overlap(acu_planning *p, const kind *k)
{
    size_t last = k->count - 1;
    for (size_t i = 0; i < last && !k->makes; i++)
        if (acu_tensor_buffer(p->values[i].tensor) == acu_tensor_buffer(p->values[last].tensor) &&
            (acui_overlaps(p->values[last].tensor, p->values[i].tensor) ||
             acui_same_place(p->values[last].tensor, p->values[i].tensor)))
            return refuse(p, k, ACU_ERR_INVALID, i, "the operand that is written overlaps it");
    return NULL;
}

static acu_op *check(acu_planning *p, const kind *k, acui_blas *b)
{
    acu_op *failed = NULL;
    for (size_t i = 0; i < k->count && !failed; i++)
        failed = check_operand(p, k, b, i);
    const char *why = !failed && k->fits ? k->fits(b) : NULL;
    if (why)
        return refuse(p, k, ACU_ERR_SHAPE, k->count - 1, why);
    return failed ? failed : check_overlap(p, k);
}

/* ---- the op ---------------------------------------------------------------------------------- */

static acu_op *plan(acu_planning *p)
{
    request r;
    memcpy(&r, p->data, sizeof r);
    const kind *k = r.kind;
    acu_arg args[4];
    acu_op *failed = acui_refuse_empty(p, k->name);
    if (!failed)
        failed = check(p, k, &r.blas);
    if (failed)
        return failed;
    size_t count = k->count;
    for (size_t i = 0; i < count; i++) {
        bool written = i == count - 1 && !k->makes;
        bool only = written && k == &kinds[GEMM] && r.blas.beta == 0;
        args[i] = acu_arg_op(acu_op_take(&p->values[i], p->site),
                             only ? ACU_WRITE : written ? ACU_UPDATE : ACU_READ);
    }
    if (k->makes)
        args[count++] = acu_arg_op(acui_result(p, k->name, r.blas.dtype, ACU_SHAPE(1)),
                                   ACU_WRITE);
    acui_vendor_call call = {.library = &acui_library_CUBLAS,
                             .name = k->name,
                             .fn = k->fn,
                             .repeats = ACUI_REPEATED,
                             .data = &r.blas,
                             .bytes = sizeof r.blas};
    return acu_op_nth(acui_vendor_op(&call, args, count, p->site), count - 1, p->site);
}

static acu_op *make(int which, acui_blas blas, acu_op *const *operands, acu_site site)
{
    request r;
    memset(&r, 0, sizeof r);
    r.kind = &kinds[which];
    r.blas = blas;
    return acu_op_custom((acu_custom){.name = r.kind->name, .fn = plan, .data = &r,
                                      .bytes = sizeof r},
                         operands, r.kind->count, site);
}

acu_op *acu_op_blas_axpy(double alpha, acu_op *x, acu_op *y, acu_site site)
{
    return make(AXPY, (acui_blas){.alpha = alpha}, (acu_op *const[]){x, y}, site);
}

acu_op *acu_op_blas_scal(double alpha, acu_op *x, acu_site site)
{
    return make(SCAL, (acui_blas){.alpha = alpha}, &x, site);
}

acu_op *acu_op_blas_dot(acu_op *x, acu_op *y, acu_site site)
{
    return make(DOT, (acui_blas){.alpha = 1}, (acu_op *const[]){x, y}, site);
}

acu_op *acu_op_blas_nrm2(acu_op *x, acu_site site)
{
    return make(NRM2, (acui_blas){.alpha = 1}, &x, site);
}

acu_op *acu_op_blas_gemv(double alpha, acu_op *a, acu_op *x, double beta, acu_op *y, acu_site site)
{
    return make(GEMV, (acui_blas){.alpha = alpha, .beta = beta}, (acu_op *const[]){a, x, y}, site);
}

acu_op *acu_op_blas_ger(double alpha, acu_op *x, acu_op *y, acu_op *a, acu_site site)
{
    return make(GER, (acui_blas){.alpha = alpha}, (acu_op *const[]){x, y, a}, site);
}

acu_op *acu_op_blas_gemm(double alpha, acu_op *a, acu_op *b, double beta, acu_op *c, acu_site site)
{
    return make(GEMM, (acui_blas){.alpha = alpha, .beta = beta}, (acu_op *const[]){a, b, c}, site);
}

/* An op that refuses a value that is none of the enumeration's. */
static acu_op *no_such(const char *name, const char *what, int value, acu_op *x, acu_op *y,
                       acu_site site)
{
    acu_op_release(x);
    acu_op_release(y);
    return acu_op_fail(ACU_ERR_INVALID, name, site, "%s: %d is no %s", name, value, what);
}

acu_op *acu_op_blas_syrk(acu_uplo uplo, double alpha, acu_op *a, double beta, acu_op *c,
                         acu_site site)
{
    if (uplo != ACU_LOWER && uplo != ACU_UPPER)
        return no_such("blas_syrk", "acu_uplo", (int)uplo, a, c, site);
    return make(SYRK, (acui_blas){.uplo = uplo, .alpha = alpha, .beta = beta},
                (acu_op *const[]){a, c}, site);
}

acu_op *acu_op_blas_trsm(acu_side side, acu_uplo uplo, bool unit, double alpha, acu_op *a,
                         acu_op *b, acu_site site)
{
    if (side != ACU_LEFT && side != ACU_RIGHT)
        return no_such("blas_trsm", "acu_side", (int)side, a, b, site);
    if (uplo != ACU_LOWER && uplo != ACU_UPPER)
        return no_such("blas_trsm", "acu_uplo", (int)uplo, a, b, site);
    return make(TRSM, (acui_blas){.side = side, .uplo = uplo, .unit = unit, .alpha = alpha},
                (acu_op *const[]){a, b}, site);
}
