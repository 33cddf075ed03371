/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The calls of cuBLAS, for which matrices lie by columns. A matrix by rows is to it the transposed
 * one by columns.
 */
#include "blas/blas.h"
#include "vendor/cublas.h"

#define AT(i) acui_vendor_at(work, (i))

enum { WORKSPACE = 4 << 20, FILL_LOWER = 0, FILL_UPPER = 1 };

static const struct {
    int type, compute, sums; /* `sums`: how level 1 computes */
} types[] = {
    [ACU_F16] = {ACUI_CUDA_R_16F, ACUI_CUBLAS_COMPUTE_32F, ACUI_CUDA_R_32F},
    [ACU_BF16] = {ACUI_CUDA_R_16BF, ACUI_CUBLAS_COMPUTE_32F, ACUI_CUDA_R_32F},
    [ACU_F32] = {ACUI_CUDA_R_32F, ACUI_CUBLAS_COMPUTE_32F, ACUI_CUDA_R_32F},
    [ACU_TF32] = {ACUI_CUDA_R_32F, ACUI_CUBLAS_COMPUTE_TF32, ACUI_CUDA_R_32F},
    [ACU_F64] = {ACUI_CUDA_R_64F, ACUI_CUBLAS_COMPUTE_64F, ACUI_CUDA_R_64F},
};

/* A number in both widths, of which cuBLAS reads one. */
typedef struct number {
    float narrow;
    double wide;
} number;

static number number_of(double value)
{
    return (number){.narrow = (float)value, .wide = value};
}

static const void *as(const number *n, const acui_blas *b)
{
    return b->dtype == ACU_F64 ? (const void *)&n->wide : &n->narrow;
}

/* The stream, and temporary memory of the call's own, so that streams share nothing of cuBLAS's. */
static acu_status begin(acui_vendor_work *work)
{
    void *memory;
    ACUI_TRY(acui_vendor_scratch(work, WORKSPACE, &memory));
    ACUI_TRY(acui_cublas_fail("cublasSetStream",
                              acui_cublas.set_stream(work->handle, work->stream)));
    return acui_cublas_fail("cublasSetWorkspace",
                            acui_cublas.set_workspace(work->handle, memory, WORKSPACE));
}

/* ---- level 1 --------------------------------------------------------------------------------- */

acu_status acui_blas_axpy(acui_vendor_work *work)
{
    const acui_blas *b = work->data;
    const acui_array *x = &b->at[0], *y = &b->at[1];
    number alpha = number_of(b->alpha);
    int type = types[b->dtype].type, sums = types[b->dtype].sums;
    ACUI_TRY(begin(work));
    return acui_cublas_fail("cublasAxpyEx",
                            acui_cublas.axpy(work->handle, x->rows, as(&alpha, b), sums, AT(0),
                                             type, x->step, AT(1), type, y->step, sums));
}

acu_status acui_blas_scal(acui_vendor_work *work)
{
    const acui_blas *b = work->data;
    const acui_array *x = &b->at[0];
    number alpha = number_of(b->alpha);
    ACUI_TRY(begin(work));
    return acui_cublas_fail("cublasScalEx",
                            acui_cublas.scal(work->handle, x->rows, as(&alpha, b),
                                             types[b->dtype].sums, AT(0), types[b->dtype].type,
                                             x->step, types[b->dtype].sums));
}

/* Results go to device memory: otherwise cuBLAS waits for them. */
static acu_status with_results(acui_vendor_work *work, bool on_device)
{
    return acui_cublas_fail("cublasSetPointerMode",
                            acui_cublas.set_pointer_mode(work->handle,
                                                         on_device ? ACUI_CUBLAS_POINTER_DEVICE
                                                                   : ACUI_CUBLAS_POINTER_HOST));
}

static acu_status reduce(acui_vendor_work *work, bool two)
{
    const acui_blas *b = work->data;
    const acui_array *x = &b->at[0], *y = &b->at[1];
    int type = types[b->dtype].type, sums = types[b->dtype].sums;
    ACUI_TRY(begin(work));
    ACUI_TRY(with_results(work, true));
    acu_status st =
        two ? acui_cublas_fail("cublasDotEx",
                               acui_cublas.dot(work->handle, x->rows, AT(0), type, x->step, AT(1),
                                               type, y->step, AT(2), type, sums))
            : acui_cublas_fail("cublasNrm2Ex",
                               acui_cublas.nrm2(work->handle, x->rows, AT(0), type, x->step, AT(1),
                                                type, sums));
    acu_status back = with_results(work, false);
    return st != ACU_OK ? st : back;
}

acu_status acui_blas_dot(acui_vendor_work *work)
{
    return reduce(work, true);
}

acu_status acui_blas_nrm2(acui_vendor_work *work)
{
    return reduce(work, false);
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

acu_status acui_blas_gemv(acui_vendor_work *work)
{
    const acui_blas *b = work->data;
    const acui_array *a = &b->at[0], *x = &b->at[1], *y = &b->at[2];
    number alpha = number_of(b->alpha), beta = number_of(b->beta);
    int op = a->by_rows ? ACUI_CUBLAS_OP_T : ACUI_CUBLAS_OP_N;
    bool wide = b->dtype == ACU_F64;
    ACUI_TRY(begin(work));
    return acui_cublas_fail(wide ? "cublasDgemv" : "cublasSgemv",
                            (wide ? acui_cublas.dgemv : acui_cublas.sgemv)(
                                work->handle, op, first_of(a), second_of(a), as(&alpha, b), AT(0),
                                a->step, AT(1), x->step, as(&beta, b), AT(2), y->step));
}

acu_status acui_blas_ger(acui_vendor_work *work)
{
    const acui_blas *b = work->data;
    const acui_array *a = &b->at[2];
    number alpha = number_of(b->alpha);
    size_t x = a->by_rows ? 1 : 0, y = 1 - x; /* a' += y x' */
    bool wide = b->dtype == ACU_F64;
    ACUI_TRY(begin(work));
    return acui_cublas_fail(wide ? "cublasDger" : "cublasSger",
                            (wide ? acui_cublas.dger : acui_cublas.sger)(
                                work->handle, first_of(a), second_of(a), as(&alpha, b), AT(x),
                                b->at[x].step, AT(y), b->at[y].step, AT(2), a->step));
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

/* The half of a matrix as cuBLAS sees it. */
static int fill_of(const acui_array *x, acu_uplo uplo)
{
    return (uplo == ACU_UPPER) != x->by_rows ? FILL_UPPER : FILL_LOWER;
}

acu_status acui_blas_syrk(acui_vendor_work *work)
{
    const acui_blas *b = work->data;
    const acui_array *a = &b->at[0], *c = &b->at[1];
    number alpha = number_of(b->alpha), beta = number_of(b->beta);
    int op = a->by_rows ? ACUI_CUBLAS_OP_T : ACUI_CUBLAS_OP_N;
    bool wide = b->dtype == ACU_F64;
    ACUI_TRY(begin(work));
    return acui_cublas_fail(wide ? "cublasDsyrk" : "cublasSsyrk",
                            (wide ? acui_cublas.dsyrk : acui_cublas.ssyrk)(
                                work->handle, fill_of(c, b->uplo), op, a->rows, a->columns,
                                as(&alpha, b), AT(0), a->step, as(&beta, b), AT(1), c->step));
}

/* If b lies by rows, x' a' = alpha b' is solved. */
acu_status acui_blas_trsm(acui_vendor_work *work)
{
    const acui_blas *b = work->data;
    const acui_array *a = &b->at[0], *x = &b->at[1];
    number alpha = number_of(b->alpha);
    int side = (b->side == ACU_RIGHT) != x->by_rows;
    int op = a->by_rows != x->by_rows ? ACUI_CUBLAS_OP_T : ACUI_CUBLAS_OP_N;
    bool wide = b->dtype == ACU_F64;
    ACUI_TRY(begin(work));
    return acui_cublas_fail(wide ? "cublasDtrsm" : "cublasStrsm",
                            (wide ? acui_cublas.dtrsm : acui_cublas.strsm)(
                                work->handle, side, fill_of(a, b->uplo), op, b->unit, first_of(x),
                                second_of(x), as(&alpha, b), AT(0), a->step, AT(1), x->step));
}
