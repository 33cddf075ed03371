/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The calls of cuBLAS, for which matrices lie by columns. A matrix by rows is to it the transposed
 * one by columns.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "blas/blas.h"
#include "memory/dtype.h"
#include "vendor/cublas.h"

#include <stdio.h>

#define AT(i) acui_vendor_at(work, (i))

enum { LEAST_WORKSPACE = 4 << 20, FILL_LOWER = 0, FILL_UPPER = 1 };

static const struct {
    int type, compute, sums; /* `sums`: how level 1 computes, by functions for all real types */
} types[] = {
    [ACU_F16] = {ACUI_CUDA_R_16F, ACUI_CUBLAS_COMPUTE_32F, ACUI_CUDA_R_32F},
    [ACU_BF16] = {ACUI_CUDA_R_16BF, ACUI_CUBLAS_COMPUTE_32F, ACUI_CUDA_R_32F},
    [ACU_F32] = {ACUI_CUDA_R_32F, ACUI_CUBLAS_COMPUTE_32F, ACUI_CUDA_R_32F},
    [ACU_TF32] = {ACUI_CUDA_R_32F, ACUI_CUBLAS_COMPUTE_TF32, ACUI_CUDA_R_32F},
    [ACU_F64] = {ACUI_CUDA_R_64F, ACUI_CUBLAS_COMPUTE_64F, ACUI_CUDA_R_64F},
    [ACU_C64] = {.type = ACUI_CUDA_C_32F, .compute = ACUI_CUBLAS_COMPUTE_32F},
    [ACU_C128] = {.type = ACUI_CUDA_C_64F, .compute = ACUI_CUBLAS_COMPUTE_64F},
};

static bool is_wide(const acui_blas *b)
{
    return b->dtype == ACU_F64 || b->dtype == ACU_C128;
}

/* cuBLAS's function for the dtype. */
#define CALL_OF(b, name)                                                                           \
    ((b)->dtype == ACU_F64    ? acui_cublas.d##name                                                \
     : (b)->dtype == ACU_C64  ? acui_cublas.c##name                                                \
     : (b)->dtype == ACU_C128 ? acui_cublas.z##name                                                \
                              : acui_cublas.s##name)

static bool is_complex(const acui_blas *b)
{
    return acui_is_complex(b->dtype);
}

/* `name` without cuBLAS's letters for the dtype. */
static acu_status said_with(const char *letters, const char *name, int status)
{
    char call[24];
    snprintf(call, sizeof call, "cublas%s%s", letters, name);
    return acui_cublas_fail(call, status);
}

static acu_status said(const acui_blas *b, const char *name, int status)
{
    const char *narrow = is_complex(b) ? "C" : "S", *wide = is_complex(b) ? "Z" : "D";
    return said_with(is_wide(b) ? wide : narrow, name, status);
}

/* Of a function with a real result. */
static acu_status said_real(const acui_blas *b, const char *name, int status)
{
    const char *narrow = is_complex(b) ? "Sc" : "S", *wide = is_complex(b) ? "Dz" : "D";
    return said_with(is_wide(b) ? wide : narrow, name, status);
}

/* A number in both widths, of which cuBLAS reads one: of a complex one the second part, too, and
 * both at once, with an instruction that needs them aligned. */
typedef struct number {
    _Alignas(16) double wide[2];
    _Alignas(8) float narrow[2];
} number;

static number number_of(double value)
{
    return (number){.narrow = {(float)value, 0}, .wide = {value, 0}};
}

static const void *as(const number *n, const acui_blas *b)
{
    return is_wide(b) ? (const void *)n->wide : n->narrow;
}

/* The stream, and temporary memory of the call's own, so that streams share nothing of cuBLAS's. */
static acu_status begin_with(acui_vendor_work *work, acu_dtype dtype, const acui_array *operands,
                             size_t count)
{
    void *memory;
    double elements = 0; /* of matrices: vectors have no columns */
    for (size_t i = 0; i < count; i++)
        elements += (double)operands[i].rows * (double)operands[i].columns;
    const size_t bytes = acui_cublas_workspace(work->device, LEAST_WORKSPACE,
                                               elements * (double)acu_dtype_bytes(dtype));
    ACUI_TRY(acui_vendor_scratch(work, bytes, &memory));
    ACUI_TRY(acui_cublas_fail("cublasSetStream",
                              acui_cublas.set_stream(work->handle, work->stream)));
    return acui_cublas_fail("cublasSetWorkspace",
                            acui_cublas.set_workspace(work->handle, memory, bytes));
}

static acu_status begin(acui_vendor_work *work)
{
    const acui_blas *b = work->data;
    return begin_with(work, b->dtype, b->at, 3);
}

/* ---- level 1 --------------------------------------------------------------------------------- */

/* The function for the complex dtype. */
#define COMPLEX_OF(b, name)                                                                        \
    ((b)->dtype == ACU_C128 ? acui_cublas.z##name : acui_cublas.c##name)

acu_status acui_blas_axpy(acui_vendor_work *work)
{
    const acui_blas *b = work->data;
    const acui_array *x = &b->at[0], *y = &b->at[1];
    number alpha = number_of(b->alpha);
    int type = types[b->dtype].type, sums = types[b->dtype].sums;
    ACUI_TRY(begin(work));
    if (is_complex(b))
        return said(b, "axpy", COMPLEX_OF(b, axpy)(work->handle, x->rows, as(&alpha, b), AT(0),
                                                   x->step, AT(1), y->step));
    return acui_cublas_fail("cublasAxpyEx",
                            acui_cublas.axpy(work->handle, x->rows, as(&alpha, b), sums, AT(0),
                                             type, x->step, AT(1), type, y->step, sums));
}

acu_status acui_blas_scal(acui_vendor_work *work)
{
    const acui_blas *b = work->data;
    const acui_array *x = &b->at[0];
    number alpha = number_of(b->alpha);
    int type = types[b->dtype].type, sums = types[b->dtype].sums;
    ACUI_TRY(begin(work));
    if (is_complex(b))
        return said(b, "scal",
                    COMPLEX_OF(b, scal)(work->handle, x->rows, as(&alpha, b), AT(0), x->step));
    return acui_cublas_fail("cublasScalEx",
                            acui_cublas.scal(work->handle, x->rows, as(&alpha, b), sums, AT(0),
                                             type, x->step, sums));
}

/* Results go to device memory: otherwise cuBLAS waits for them. */
static acu_status with_results(acui_vendor_work *work, bool on_device)
{
    return acui_cublas_fail("cublasSetPointerMode",
                            acui_cublas.set_pointer_mode(work->handle,
                                                         on_device ? ACUI_CUBLAS_POINTER_DEVICE
                                                                   : ACUI_CUBLAS_POINTER_HOST));
}

/* Of a call whose result is value 1 or 2. */
static acu_status begin_result(acui_vendor_work *work)
{
    ACUI_TRY(begin(work));
    return with_results(work, true);
}

static acu_status end_result(acui_vendor_work *work, acu_status st)
{
    acu_status back = with_results(work, false);
    return st != ACU_OK ? st : back;
}

static acu_status product_of(acui_vendor_work *work, bool conjugated)
{
    const acui_blas *b = work->data;
    const acui_array *x = &b->at[0], *y = &b->at[1];
    int type = types[b->dtype].type, sums = types[b->dtype].sums;
    acu_status st;
    ACUI_TRY(begin_result(work));
    if (is_complex(b))
        st = said(b, conjugated ? "dotc" : "dotu",
                  (conjugated ? COMPLEX_OF(b, dotc) : COMPLEX_OF(b, dotu))(
                      work->handle, x->rows, AT(0), x->step, AT(1), y->step, AT(2)));
    else
        st = acui_cublas_fail("cublasDotEx",
                              acui_cublas.dot(work->handle, x->rows, AT(0), type, x->step, AT(1),
                                              type, y->step, AT(2), type, sums));
    return end_result(work, st);
}

acu_status acui_blas_dot(acui_vendor_work *work)
{
    return product_of(work, false);
}

acu_status acui_blas_dotc(acui_vendor_work *work)
{
    return product_of(work, true);
}

acu_status acui_blas_nrm2(acui_vendor_work *work)
{
    const acui_blas *b = work->data;
    const acui_array *x = &b->at[0];
    int type = types[b->dtype].type, sums = types[b->dtype].sums;
    acu_status st;
    ACUI_TRY(begin_result(work));
    if (is_complex(b))
        st = said_real(b, "nrm2",
                       COMPLEX_OF(b, nrm2)(work->handle, x->rows, AT(0), x->step, AT(1)));
    else
        st = acui_cublas_fail("cublasNrm2Ex",
                              acui_cublas.nrm2(work->handle, x->rows, AT(0), type, x->step, AT(1),
                                               type, sums));
    return end_result(work, st);
}

acu_status acui_blas_asum(acui_vendor_work *work)
{
    const acui_blas *b = work->data;
    const acui_array *x = &b->at[0];
    ACUI_TRY(begin_result(work));
    return end_result(work, said_real(b, "asum", CALL_OF(b, asum)(work->handle, x->rows, AT(0),
                                                                  x->step, AT(1))));
}

/* ---- level 2 --------------------------------------------------------------------------------- */

/* The first dimension as cuBLAS sees the matrix, and the second. */
static int first_of(const acui_array *x)
{
    return x->by_rows ? x->columns : x->rows;
}

static int second_of(const acui_array *x)
{
    return x->by_rows ? x->rows : x->columns;
}

/* A matrix by rows is read the other way round. */
static int op_of(const acui_array *x)
{
    return x->by_rows ? ACUI_CUBLAS_OP_T : ACUI_CUBLAS_OP_N;
}

/* The half of a matrix as cuBLAS sees it. */
static int fill_of(const acui_array *x, acu_uplo uplo)
{
    return (uplo == ACU_UPPER) != x->by_rows ? FILL_UPPER : FILL_LOWER;
}

acu_status acui_blas_gemv(acui_vendor_work *work)
{
    const acui_blas *b = work->data;
    const acui_array *a = &b->at[0], *x = &b->at[1], *y = &b->at[2];
    number alpha = number_of(b->alpha), beta = number_of(b->beta);
    ACUI_TRY(begin(work));
    return said(b, "gemv",
                CALL_OF(b, gemv)(work->handle, op_of(a), first_of(a), second_of(a), as(&alpha, b),
                                 AT(0), a->step, AT(1), x->step, as(&beta, b), AT(2), y->step));
}

acu_status acui_blas_symv(acui_vendor_work *work)
{
    const acui_blas *b = work->data;
    const acui_array *a = &b->at[0], *x = &b->at[1], *y = &b->at[2];
    number alpha = number_of(b->alpha), beta = number_of(b->beta);
    ACUI_TRY(begin(work));
    return said(b, "symv",
                CALL_OF(b, symv)(work->handle, fill_of(a, b->uplo), a->rows, as(&alpha, b), AT(0),
                                 a->step, AT(1), x->step, as(&beta, b), AT(2), y->step));
}

acu_status acui_blas_trmv(acui_vendor_work *work)
{
    const acui_blas *b = work->data;
    const acui_array *a = &b->at[0], *x = &b->at[1];
    ACUI_TRY(begin(work));
    return said(b, "trmv", CALL_OF(b, trmv)(work->handle, fill_of(a, b->uplo), op_of(a), b->unit,
                                            a->rows, AT(0), a->step, AT(1), x->step));
}

acu_status acui_blas_trsv(acui_vendor_work *work)
{
    const acui_blas *b = work->data;
    const acui_array *a = &b->at[0], *x = &b->at[1];
    ACUI_TRY(begin(work));
    return said(b, "trsv", CALL_OF(b, trsv)(work->handle, fill_of(a, b->uplo), op_of(a), b->unit,
                                            a->rows, AT(0), a->step, AT(1), x->step));
}

acu_status acui_blas_ger(acui_vendor_work *work)
{
    const acui_blas *b = work->data;
    const acui_array *a = &b->at[2];
    number alpha = number_of(b->alpha);
    size_t x = a->by_rows ? 1 : 0, y = 1 - x; /* a' += y x' */
    ACUI_TRY(begin(work));
    return said(b, is_complex(b) ? "geru" : "ger",
                CALL_OF(b, ger)(work->handle, first_of(a), second_of(a), as(&alpha, b), AT(x),
                                b->at[x].step, AT(y), b->at[y].step, AT(2), a->step));
}

acu_status acui_blas_syr(acui_vendor_work *work)
{
    const acui_blas *b = work->data;
    const acui_array *x = &b->at[0], *a = &b->at[1];
    number alpha = number_of(b->alpha);
    ACUI_TRY(begin(work));
    return said(b, "syr", CALL_OF(b, syr)(work->handle, fill_of(a, b->uplo), a->rows,
                                          as(&alpha, b), AT(0), x->step, AT(1), a->step));
}

/* ---- level 3 --------------------------------------------------------------------------------- */

/* If c lies by rows, c' = b' a' is computed: the operands change places, and each is read the other
 * way round. */
acu_status acui_blas_gemm(acui_vendor_work *work)
{
    const acui_blas *b = work->data;
    const acui_array *c = &b->at[2];
    number alpha = number_of(b->alpha), beta = number_of(b->beta);
    size_t left = c->by_rows ? 1 : 0, right = 1 - left;
    int type = types[b->dtype].type;
    int op_left = b->at[left].by_rows != c->by_rows ? ACUI_CUBLAS_OP_T : ACUI_CUBLAS_OP_N;
    int op_right = b->at[right].by_rows != c->by_rows ? ACUI_CUBLAS_OP_T : ACUI_CUBLAS_OP_N;
    ACUI_TRY(begin(work));
    return acui_cublas_fail(
        "cublasGemmEx",
        acui_cublas.gemm(work->handle, op_left, op_right, first_of(c), second_of(c),
                         b->at[0].columns, as(&alpha, b), AT(left), type, b->at[left].step,
                         AT(right), type, b->at[right].step, as(&beta, b), AT(2), type, c->step,
                         types[b->dtype].compute, ACUI_CUBLAS_ALGORITHM));
}

/* ---- products of different shapes ---- */

/* What cuBLAS is given for each of them. */
typedef struct grouped {
    int op_a[ACUI_BLAS_GROUP], op_b[ACUI_BLAS_GROUP], m[ACUI_BLAS_GROUP], n[ACUI_BLAS_GROUP];
    int k[ACUI_BLAS_GROUP], lda[ACUI_BLAS_GROUP], ldb[ACUI_BLAS_GROUP], ldc[ACUI_BLAS_GROUP];
    int size[ACUI_BLAS_GROUP];
    union {
        float narrow[ACUI_BLAS_GROUP];
        double wide[ACUI_BLAS_GROUP];
    } alpha, beta;
    void *at[3 * ACUI_BLAS_GROUP]; /* lists of a, b and c */
} grouped;

/* As acui_blas_gemm does for one. */
static void put_product(const acui_vendor_work *work, int i, grouped *g)
{
    const acui_blas_group *b = work->data;
    int count = b->count;
    const acui_array *c = &b->at[i];
    int left = c->by_rows ? 2 * count + i : count + i, right = 3 * count + 2 * i - left;
    bool wide = b->dtype == ACU_F64;
    g->op_a[i] = b->at[left].by_rows != c->by_rows ? ACUI_CUBLAS_OP_T : ACUI_CUBLAS_OP_N;
    g->op_b[i] = b->at[right].by_rows != c->by_rows ? ACUI_CUBLAS_OP_T : ACUI_CUBLAS_OP_N;
    g->m[i] = first_of(c);
    g->n[i] = second_of(c);
    g->k[i] = b->at[count + i].columns;
    g->lda[i] = b->at[left].step;
    g->ldb[i] = b->at[right].step;
    g->ldc[i] = c->step;
    g->size[i] = 1;
    if (wide) {
        g->alpha.wide[i] = b->alpha;
        g->beta.wide[i] = b->beta;
    } else {
        g->alpha.narrow[i] = (float)b->alpha;
        g->beta.narrow[i] = (float)b->beta;
    }
    g->at[i] = AT((size_t)left);
    g->at[count + i] = AT((size_t)right);
    g->at[2 * count + i] = AT((size_t)i);
}

static acu_status one_by_one(acui_vendor_work *work, const grouped *g)
{
    const acui_blas_group *b = work->data;
    int type = types[b->dtype].type, count = b->count;
    bool wide = b->dtype == ACU_F64;
    for (int i = 0; i < count; i++) {
        const void *alpha = wide ? (const void *)&g->alpha.wide[i] : &g->alpha.narrow[i];
        const void *beta = wide ? (const void *)&g->beta.wide[i] : &g->beta.narrow[i];
        ACUI_TRY(acui_cublas_fail(
            "cublasGemmEx",
            acui_cublas.gemm(work->handle, g->op_a[i], g->op_b[i], g->m[i], g->n[i], g->k[i],
                             alpha, g->at[i], type, g->lda[i], g->at[count + i], type, g->ldb[i],
                             beta, g->at[2 * count + i], type, g->ldc[i],
                             types[b->dtype].compute, ACUI_CUBLAS_ALGORITHM)));
    }
    return ACU_OK;
}

static acu_status all_at_once(acui_vendor_work *work, const grouped *g, int *status)
{
    const acui_blas_group *b = work->data;
    int type = types[b->dtype].type, count = b->count;
    size_t bytes = 3 * (size_t)count * sizeof(void *);
    void *memory;
    ACUI_TRY(acui_vendor_upload(work, g->at, bytes, &memory));
    void *const *lists = memory;
    *status = acui_cublas.gemm_grouped(
        work->handle, g->op_a, g->op_b, g->m, g->n, g->k, &g->alpha,
        (const void *const *)lists, type, g->lda, (const void *const *)(lists + count), type,
        g->ldb, &g->beta, lists + 2 * count, type, g->ldc, count, g->size,
        types[b->dtype].compute);
    return ACU_OK;
}

/* What else cuBLAS's kernels for tensor cores would read wrongly, and lose the device. */
static bool is_aligned(const acui_blas_group *b, const grouped *g)
{
    bool aligned = true;
    for (int i = 0; i < 3 * b->count; i++)
        aligned &= (uintptr_t)g->at[i] % 16 == 0;
    return aligned || b->dtype == ACU_F32 || b->dtype == ACU_F64;
}

acu_status acui_blas_grouped(acui_vendor_work *work)
{
    const acui_blas_group *b = work->data;
    grouped *g = ACUI_NEW(grouped);
    int status = ACUI_CUBLAS_NOT_SUPPORTED;
    if (!g)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a group of %d products", b->count);
    for (int i = 0; i < b->count; i++)
        put_product(work, i, g);
    acu_status st = begin_with(work, b->dtype, b->at, 3 * (size_t)b->count);
    if (st == ACU_OK && acui_cublas.gemm_grouped && b->count > 1 && is_aligned(b, g))
        st = all_at_once(work, g, &status);
    if (st == ACU_OK)
        st = status == ACUI_CUBLAS_NOT_SUPPORTED
                 ? one_by_one(work, g)
                 : acui_cublas_fail("cublasGemmGroupedBatchedEx", status);
    acui_free(g);
    return st;
}

acu_status acui_blas_syrk(acui_vendor_work *work)
{
    const acui_blas *b = work->data;
    const acui_array *a = &b->at[0], *c = &b->at[1];
    number alpha = number_of(b->alpha), beta = number_of(b->beta);
    ACUI_TRY(begin(work));
    return said(b, "syrk", CALL_OF(b, syrk)(work->handle, fill_of(c, b->uplo), op_of(a), a->rows,
                                            a->columns, as(&alpha, b), AT(0), a->step,
                                            as(&beta, b), AT(1), c->step));
}

/* By rows, c' is the conjugate of a, which is the conjugate of a' transposed, times a'. */
acu_status acui_blas_herk(acui_vendor_work *work)
{
    const acui_blas *b = work->data;
    const acui_array *a = &b->at[0], *c = &b->at[1];
    number alpha = number_of(b->alpha), beta = number_of(b->beta);
    bool whole = is_complex(b);
    int op = whole && a->by_rows ? ACUI_CUBLAS_OP_C : op_of(a);
    ACUI_TRY(begin(work));
    return said(b, whole ? "herk" : "syrk",
                CALL_OF(b, herk)(work->handle, fill_of(c, b->uplo), op, a->rows, a->columns,
                                 as(&alpha, b), AT(0), a->step, as(&beta, b), AT(1), c->step));
}

acu_status acui_blas_syr2k(acui_vendor_work *work)
{
    const acui_blas *b = work->data;
    const acui_array *x = &b->at[0], *y = &b->at[1], *c = &b->at[2];
    number alpha = number_of(b->alpha), beta = number_of(b->beta);
    ACUI_TRY(begin(work));
    return said(b, "syr2k", CALL_OF(b, syr2k)(work->handle, fill_of(c, b->uplo), op_of(x), x->rows,
                                              x->columns, as(&alpha, b), AT(0), x->step, AT(1),
                                              y->step, as(&beta, b), AT(2), c->step));
}

/* On which side the first operand is, for a matrix that cuBLAS may see the other way round. */
static int side_of(const acui_blas *b, const acui_array *x)
{
    return (b->side == ACU_RIGHT) != x->by_rows;
}

acu_status acui_blas_symm(acui_vendor_work *work)
{
    const acui_blas *b = work->data;
    const acui_array *a = &b->at[0], *x = &b->at[1], *c = &b->at[2];
    number alpha = number_of(b->alpha), beta = number_of(b->beta);
    ACUI_TRY(begin(work));
    return said(b, "symm",
                CALL_OF(b, symm)(work->handle, side_of(b, c), fill_of(a, b->uplo), first_of(c),
                                 second_of(c), as(&alpha, b), AT(0), a->step, AT(1), x->step,
                                 as(&beta, b), AT(2), c->step));
}

static int op_beside(const acui_array *a, const acui_array *x)
{
    return a->by_rows != x->by_rows ? ACUI_CUBLAS_OP_T : ACUI_CUBLAS_OP_N;
}

acu_status acui_blas_trmm(acui_vendor_work *work)
{
    const acui_blas *b = work->data;
    const acui_array *a = &b->at[0], *x = &b->at[1];
    number alpha = number_of(b->alpha);
    ACUI_TRY(begin(work));
    return said(b, "trmm",
                CALL_OF(b, trmm)(work->handle, side_of(b, x), fill_of(a, b->uplo),
                                 op_beside(a, x), b->unit, first_of(x), second_of(x),
                                 as(&alpha, b), AT(0), a->step, AT(1), x->step, AT(1), x->step));
}

/* If b lies by rows, x' a' = alpha b' is solved. */
acu_status acui_blas_trsm(acui_vendor_work *work)
{
    const acui_blas *b = work->data;
    const acui_array *a = &b->at[0], *x = &b->at[1];
    number alpha = number_of(b->alpha);
    ACUI_TRY(begin(work));
    return said(b, "trsm",
                CALL_OF(b, trsm)(work->handle, side_of(b, x), fill_of(a, b->uplo),
                                 op_beside(a, x), b->unit, first_of(x), second_of(x),
                                 as(&alpha, b), AT(0), a->step, AT(1), x->step));
}
