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
    bool small, makes, real; /* takes f16 and bf16 too; the result is new, [1]; and real */
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

static bool is_square(const acui_array *x, int order)
{
    return x->rows == order && x->columns == order;
}

static const char *fits_symv(const acui_blas *b)
{
    int n = b->at[2].rows;
    return is_square(&b->at[0], n) && b->at[1].rows == n
               ? NULL
               : "for [n, n] the vectors must be [n]";
}

static const char *fits_trv(const acui_blas *b)
{
    return is_square(&b->at[0], b->at[1].rows) ? NULL : "for [n, n] the vector must be [n]";
}

static const char *fits_syr(const acui_blas *b)
{
    return is_square(&b->at[1], b->at[0].rows) ? NULL : "for [n] the matrix must be [n, n]";
}

static const char *fits_syrk(const acui_blas *b)
{
    return is_square(&b->at[1], b->at[0].rows) ? NULL
                                               : "for [n, k] the result must be [n, n]";
}

static const char *fits_herk(const acui_blas *b)
{
    if (acui_is_complex(b->dtype) && b->at[0].by_rows != b->at[1].by_rows)
        return "both must be dense along their rows, or both along their columns";
    return fits_syrk(b);
}

static const char *fits_syr2k(const acui_blas *b)
{
    const acui_array *x = &b->at[0], *y = &b->at[1];
    if (x->by_rows != y->by_rows)
        return "a and b must both be dense along their rows, or both along their columns";
    return x->rows == y->rows && x->columns == y->columns && is_square(&b->at[2], x->rows)
               ? NULL
               : "they must be [n, k], [n, k] and [n, n]";
}

static const char *fits_symm(const acui_blas *b)
{
    const acui_array *x = &b->at[1], *c = &b->at[2];
    if (x->by_rows != c->by_rows)
        return "b and c must both be dense along their rows, or both along their columns";
    return x->rows == c->rows && x->columns == c->columns &&
                   is_square(&b->at[0], b->side == ACU_LEFT ? c->rows : c->columns)
               ? NULL
               : "b must have its shape, and the symmetric matrix be square and fit on its side";
}

static const char *fits_trsm(const acui_blas *b)
{
    int order = b->side == ACU_LEFT ? b->at[1].rows : b->at[1].columns;
    return is_square(&b->at[0], order)
               ? NULL
               : "the triangular matrix must be square, and fit the other on its side";
}

enum { AXPY, SCAL, DOT, DOTC, NRM2, ASUM, GEMV, SYMV, TRMV, TRSV, GER, SYR, GEMM, SYRK, HERK, SYR2K,
       SYMM, TRMM, TRSM };
static const kind kinds[] = {
    [AXPY] = {"blas_axpy", acui_blas_axpy, 2, {1, 1}, true, false, false, same_length},
    [SCAL] = {"blas_scal", acui_blas_scal, 1, {1}, true, false, false, NULL},
    [DOT] = {"blas_dot", acui_blas_dot, 2, {1, 1}, true, true, false, same_length},
    [DOTC] = {"blas_dotc", acui_blas_dotc, 2, {1, 1}, true, true, false, same_length},
    [NRM2] = {"blas_nrm2", acui_blas_nrm2, 1, {1}, true, true, true, NULL},
    [ASUM] = {"blas_asum", acui_blas_asum, 1, {1}, false, true, true, NULL},
    [GEMV] = {"blas_gemv", acui_blas_gemv, 3, {2, 1, 1}, false, false, false, fits_gemv},
    [SYMV] = {"blas_symv", acui_blas_symv, 3, {2, 1, 1}, false, false, false, fits_symv},
    [TRMV] = {"blas_trmv", acui_blas_trmv, 2, {2, 1}, false, false, false, fits_trv},
    [TRSV] = {"blas_trsv", acui_blas_trsv, 2, {2, 1}, false, false, false, fits_trv},
    [GER] = {"blas_ger", acui_blas_ger, 3, {1, 1, 2}, false, false, false, fits_ger},
    [SYR] = {"blas_syr", acui_blas_syr, 2, {1, 2}, false, false, false, fits_syr},
    [GEMM] = {"blas_gemm", acui_blas_gemm, 3, {2, 2, 2}, true, false, false, fits_gemm},
    [SYRK] = {"blas_syrk", acui_blas_syrk, 2, {2, 2}, false, false, false, fits_syrk},
    [HERK] = {"blas_herk", acui_blas_herk, 2, {2, 2}, false, false, false, fits_herk},
    [SYR2K] = {"blas_syr2k", acui_blas_syr2k, 3, {2, 2, 2}, false, false, false, fits_syr2k},
    [SYMM] = {"blas_symm", acui_blas_symm, 3, {2, 2, 2}, false, false, false, fits_symm},
    [TRMM] = {"blas_trmm", acui_blas_trmm, 2, {2, 2}, false, false, false, fits_trsm},
    [TRSM] = {"blas_trsm", acui_blas_trsm, 2, {2, 2}, false, false, false, fits_trsm},
};

/* ---- operands -------------------------------------------------------------------------------- */

/* Says what is wrong with operand i. */
static acu_op *refuse(const acu_planning *p, const kind *k, acu_status status, size_t i,
                      const char *why)
{
    char words[ACUI_OPS_WORDS];
    return acu_op_fail(status, k->name, p->site, "%s of %s (operand %zu): %s", k->name,
                       acui_value_words(&p->values[i], words), i, why);
}

bool acui_blas_matrix(const acu_tensor *t, acui_array *x)
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
    bool known = dtype == ACU_F32 || dtype == ACU_F64 || dtype == ACU_C64 || dtype == ACU_C128 ||
                 (k->small && (dtype == ACU_F16 || dtype == ACU_BF16)) ||
                 (k == &kinds[GEMM] && dtype == ACU_TF32);
    if (!known)
        return refuse(p, k, ACU_ERR_DTYPE, i, "it does not compute with this dtype");
    if (i > 0 && dtype != b->dtype)
        return refuse(p, k, ACU_ERR_DTYPE, i, "all operands must be of one dtype");
    b->dtype = dtype;
    if (!(k->ranks[i] == 1 ? as_vector(t, &b->at[i]) : acui_blas_matrix(t, &b->at[i])))
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

static acu_dtype result_of(const kind *k, acu_dtype dtype)
{
    return k->real ? acui_part_of(dtype) : dtype;
}

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
        bool only = written && (k == &kinds[GEMM] || k == &kinds[SYMM]) && r.blas.beta == 0;
        args[i] = acu_arg_op(acu_op_take(&p->values[i], p->site),
                             only ? ACU_WRITE : written ? ACU_UPDATE : ACU_READ);
    }
    if (k->makes)
        args[count++] = acu_arg_op(acui_result(p, k->name, result_of(k, r.blas.dtype),
                                               ACU_SHAPE(1)), ACU_WRITE);
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

acu_op *acu_op_blas_dotc(acu_op *x, acu_op *y, acu_site site)
{
    return make(DOTC, (acui_blas){.alpha = 1}, (acu_op *const[]){x, y}, site);
}

acu_op *acu_op_blas_nrm2(acu_op *x, acu_site site)
{
    return make(NRM2, (acui_blas){.alpha = 1}, &x, site);
}

acu_op *acu_op_blas_asum(acu_op *x, acu_site site)
{
    return make(ASUM, (acui_blas){.alpha = 1}, &x, site);
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

/* Refuses values that are none of an enumeration's; `side` or `uplo` may be one that is. */
static acu_op *make_with(int which, acui_blas blas, acu_op *const *operands, acu_site site)
{
    const kind *k = &kinds[which];
    bool bad_side = blas.side != ACU_LEFT && blas.side != ACU_RIGHT;
    bool bad_uplo = blas.uplo != ACU_LOWER && blas.uplo != ACU_UPPER;
    if (!bad_side && !bad_uplo)
        return make(which, blas, operands, site);
    for (size_t i = 0; i < k->count; i++)
        acu_op_release(operands[i]);
    return acu_op_fail(ACU_ERR_INVALID, k->name, site, "%s: %d is no %s", k->name,
                       bad_side ? (int)blas.side : (int)blas.uplo,
                       bad_side ? "acu_side" : "acu_uplo");
}

acu_op *acu_op_blas_symv(acu_uplo uplo, double alpha, acu_op *a, acu_op *x, double beta, acu_op *y,
                         acu_site site)
{
    return make_with(SYMV, (acui_blas){.uplo = uplo, .alpha = alpha, .beta = beta},
                     (acu_op *const[]){a, x, y}, site);
}

acu_op *acu_op_blas_trmv(acu_uplo uplo, bool unit, acu_op *a, acu_op *x, acu_site site)
{
    return make_with(TRMV, (acui_blas){.uplo = uplo, .unit = unit}, (acu_op *const[]){a, x}, site);
}

acu_op *acu_op_blas_trsv(acu_uplo uplo, bool unit, acu_op *a, acu_op *x, acu_site site)
{
    return make_with(TRSV, (acui_blas){.uplo = uplo, .unit = unit}, (acu_op *const[]){a, x}, site);
}

acu_op *acu_op_blas_syr(acu_uplo uplo, double alpha, acu_op *x, acu_op *a, acu_site site)
{
    return make_with(SYR, (acui_blas){.uplo = uplo, .alpha = alpha}, (acu_op *const[]){x, a}, site);
}

acu_op *acu_op_blas_syrk(acu_uplo uplo, double alpha, acu_op *a, double beta, acu_op *c,
                         acu_site site)
{
    return make_with(SYRK, (acui_blas){.uplo = uplo, .alpha = alpha, .beta = beta},
                     (acu_op *const[]){a, c}, site);
}

acu_op *acu_op_blas_herk(acu_uplo uplo, double alpha, acu_op *a, double beta, acu_op *c,
                         acu_site site)
{
    return make_with(HERK, (acui_blas){.uplo = uplo, .alpha = alpha, .beta = beta},
                     (acu_op *const[]){a, c}, site);
}

acu_op *acu_op_blas_syr2k(acu_uplo uplo, double alpha, acu_op *a, acu_op *b, double beta, acu_op *c,
                          acu_site site)
{
    return make_with(SYR2K, (acui_blas){.uplo = uplo, .alpha = alpha, .beta = beta},
                     (acu_op *const[]){a, b, c}, site);
}

acu_op *acu_op_blas_symm(acu_side side, acu_uplo uplo, double alpha, acu_op *a, acu_op *b,
                         double beta, acu_op *c, acu_site site)
{
    return make_with(SYMM, (acui_blas){.side = side, .uplo = uplo, .alpha = alpha, .beta = beta},
                     (acu_op *const[]){a, b, c}, site);
}

acu_op *acu_op_blas_trmm(acu_side side, acu_uplo uplo, bool unit, double alpha, acu_op *a,
                         acu_op *b, acu_site site)
{
    return make_with(TRMM, (acui_blas){.side = side, .uplo = uplo, .unit = unit, .alpha = alpha},
                     (acu_op *const[]){a, b}, site);
}

acu_op *acu_op_blas_trsm(acu_side side, acu_uplo uplo, bool unit, double alpha, acu_op *a,
                         acu_op *b, acu_site site)
{
    return make_with(TRSM, (acui_blas){.side = side, .uplo = uplo, .unit = unit, .alpha = alpha},
                     (acu_op *const[]){a, b}, site);
}
