/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Products of matrices in cuBLAS's terms: matrices by columns with leading dimensions, and one
 * stride along a batch. What can not be expressed so, or what cuBLAS declines, is left to acuda's
 * kernel.
 */
#include "ops/gemm.h"

#include "base/error.h"
#include "op/instead.h"
#include "op/launch.h"

#include <limits.h>

/* ---- batches --------------------------------------------------------------------------------- */

/* A product with at most one dimension of batches. */
typedef struct product {
    int64_t m, n, k, batches;
    int64_t a_row, a_column, b_row, b_column, c_row, c_column;
    int64_t stride[3]; /* along the batch, of c, a and b */
} product;

/* Merges the dimensions of the batch into one, if the strides allow it. */
static bool merge_batches(const acui_matmul *from, product *p)
{
    p->batches = 1;
    for (int d = from->batch.rank - 1; d >= 0; d--) {
        int64_t extent = from->batch.dim[d];
        if (extent == 1)
            continue;
        for (int i = 0; i < 3; i++) {
            int64_t stride = from->at[i].stride[d];
            if (p->batches == 1)
                p->stride[i] = stride;
            else if (stride != p->stride[i] * p->batches)
                return false;
        }
        p->batches *= extent;
    }
    return true;
}

/* If all matrices of the batch share b, and those of a and c continue each other, it is one large
 * product. */
static void merge_rows(product *p)
{
    if (p->batches == 1)
        return;
    if (p->m == 1) {
        p->c_row = p->stride[0];
        p->a_row = p->stride[1];
    }
    if (p->stride[2] == 0 && p->stride[0] == p->m * p->c_row && p->stride[1] == p->m * p->a_row) {
        p->m *= p->batches;
        p->batches = 1;
    }
}

/* ---- matrices -------------------------------------------------------------------------------- */

/* The product as cuBLAS sees it, with all matrices by columns: c, of m rows and n columns, is a
 * times b. */
typedef struct gemm {
    bool turned; /* its a is the product's b, and its b the product's a */
    int m, n, k, batches;
    int op_a, op_b;
    int lda, ldb, ldc; /* distance of columns in memory, in elements */
    long long a_stride, b_stride, c_stride;
} gemm;

/* How cuBLAS reads an operand of this shape: by columns or, transposed, by rows. */
static bool read_as(int64_t rows, int64_t columns, int64_t row, int64_t column, int *op, int *ld)
{
    if ((row == 1 || rows == 1) && (column >= rows || columns == 1)) {
        *op = ACUI_CUBLAS_OP_N;
        column = columns == 1 ? rows : column;
    } else if ((column == 1 || columns == 1) && (row >= columns || rows == 1)) {
        *op = ACUI_CUBLAS_OP_T;
        column = rows == 1 ? columns : row;
    } else {
        return false;
    }
    *ld = (int)column;
    return column <= INT_MAX;
}

static bool by_columns(const product *p, gemm *g)
{
    int op;
    g->m = (int)p->m;
    g->n = (int)p->n;
    g->k = (int)p->k;
    g->batches = (int)p->batches;
    g->c_stride = p->stride[0];
    g->a_stride = p->stride[1];
    g->b_stride = p->stride[2];
    return read_as(p->m, p->n, p->c_row, p->c_column, &op, &g->ldc) && op == ACUI_CUBLAS_OP_N &&
           read_as(p->m, p->k, p->a_row, p->a_column, &g->op_a, &g->lda) &&
           read_as(p->k, p->n, p->b_row, p->b_column, &g->op_b, &g->ldb);
}

/* The transposed product: c transposed is b transposed times a transposed. */
static product turned(const product *p)
{
    return (product){.m = p->n, .n = p->m, .k = p->k, .batches = p->batches,
                     .a_row = p->b_column, .a_column = p->b_row,
                     .b_row = p->a_column, .b_column = p->a_row,
                     .c_row = p->c_column, .c_column = p->c_row,
                     .stride = {p->stride[0], p->stride[2], p->stride[1]}};
}

/* Expresses the product in cuBLAS's terms; false: that is impossible. */
static bool to_gemm(const acui_matmul *from, gemm *g)
{
    product p = {.m = from->m, .n = from->n, .k = from->k,
                 .a_row = from->a_row, .a_column = from->a_column,
                 .b_row = from->b_row, .b_column = from->b_column,
                 .c_row = from->out_row, .c_column = from->out_column};
    if (!merge_batches(from, &p))
        return false;
    merge_rows(&p);
    product q = turned(&p);
    merge_rows(&q);
    if (p.m > INT_MAX || p.n > INT_MAX || p.k > INT_MAX || q.m > INT_MAX || p.batches > INT_MAX)
        return false;
    g->turned = true; /* results are mostly stored by rows */
    if (by_columns(&q, g))
        return true;
    g->turned = false;
    return by_columns(&p, g);
}

/* ---- calling --------------------------------------------------------------------------------- */

static const struct kind {
    int type, compute;
} kinds[] = {
    [ACU_F16] = {ACUI_CUDA_R_16F, ACUI_CUBLAS_COMPUTE_32F},
    [ACU_BF16] = {ACUI_CUDA_R_16BF, ACUI_CUBLAS_COMPUTE_32F},
    [ACU_F32] = {ACUI_CUDA_R_32F, ACUI_CUBLAS_COMPUTE_32F},
    [ACU_TF32] = {ACUI_CUDA_R_32F, ACUI_CUBLAS_COMPUTE_TF32},
    [ACU_F64] = {ACUI_CUDA_R_64F, ACUI_CUBLAS_COMPUTE_64F},
    [ACU_C64] = {ACUI_CUDA_C_32F, ACUI_CUBLAS_COMPUTE_32F},
    [ACU_C128] = {ACUI_CUDA_C_64F, ACUI_CUBLAS_COMPUTE_64F},
};

static bool is_known(int dtype)
{
    return dtype >= 0 && dtype < (int)(sizeof kinds / sizeof *kinds) && kinds[dtype].compute;
}

typedef struct places {
    void *c;
    const void *a, *b;
} places;

/* cuBLAS takes pointers where CUDA's driver takes addresses. */
static void *place(const acui_node *node, int parameter)
{
    return (void *)(uintptr_t)*(const CUdeviceptr *)acui_launch_param(node, (uint32_t)parameter);
}

static int multiply(acui_cublas_handle handle, const gemm *g, struct kind kind, places at)
{
    static const float one[2] = {1, 0}, zero[2] = {0, 0}; /* also as complex numbers */
    static const double one_d[2] = {1, 0}, zero_d[2] = {0, 0};
    bool wide = kind.compute == ACUI_CUBLAS_COMPUTE_64F;
    const void *alpha = wide ? (const void *)one_d : one;
    const void *beta = wide ? (const void *)zero_d : zero;
    if (g->batches == 1)
        return acui_cublas.gemm(handle, g->op_a, g->op_b, g->m, g->n, g->k, alpha, at.a,
                                   kind.type, g->lda, at.b, kind.type, g->ldb, beta, at.c,
                                   kind.type, g->ldc, kind.compute, ACUI_CUBLAS_ALGORITHM);
    return acui_cublas.gemm_batched(handle, g->op_a, g->op_b, g->m, g->n, g->k, alpha, at.a,
                                       kind.type, g->lda, g->a_stride, at.b, kind.type, g->ldb,
                                       g->b_stride, beta, at.c, kind.type, g->ldc, g->c_stride,
                                       g->batches, kind.compute, ACUI_CUBLAS_ALGORITHM);
}

/* Puts the product on the stream with a handle that is this thread's for now. The workspace is the
 * node's own memory, so that streams share nothing of cuBLAS's. */
static acu_status call_with(acui_cublas_handle handle, const acui_node *node, CUstream stream,
                            CUdeviceptr scratch, bool *done)
{
    const acui_matmul *p = acui_launch_param(node, 3);
    gemm g;
    int status = acui_cublas.set_stream(handle, stream);
    if (status != ACUI_CUBLAS_SUCCESS)
        return acui_cublas_fail("cublasSetStream", status);
    status = acui_cublas.set_workspace(handle, (void *)(uintptr_t)scratch,
                                          node->u.launch.more->scratch);
    if (status != ACUI_CUBLAS_SUCCESS)
        return acui_cublas_fail("cublasSetWorkspace", status);
    if (!to_gemm(p, &g)) /* never: it was asked before */
        return ACU_OK;
    places at = {.c = place(node, 0), .a = place(node, g.turned ? 2 : 1),
                 .b = place(node, g.turned ? 1 : 2)};
    status = multiply(handle, &g, kinds[p->dtype], at);
    if (status == ACUI_CUBLAS_NOT_SUPPORTED || status == ACUI_CUBLAS_ARCH_MISMATCH)
        return ACU_OK; /* for example, a dtype that is too new for the device */
    *done = status == ACUI_CUBLAS_SUCCESS;
    return *done ? ACU_OK
                 : acui_cublas_fail(g.batches == 1 ? "cublasGemmEx" : "cublasGemmStridedBatchedEx",
                                    status);
}

static acui_handles *handles_of(acu_device *device)
{
    return acui_handles_peek(&acui_library_CUBLAS, device);
}

static acu_status call(const acui_node *node, CUstream stream, CUdeviceptr scratch, bool *done)
{
    acui_handles *handles = handles_of(node->device);
    if (!acui_handles_ready(handles))
        return acui_library_required(&acui_library_CUBLAS) ? acui_handles_status(handles) : ACU_OK;
    acui_cublas_handle handle = acui_handles_take(handles);
    acu_status st = call_with(handle, node, stream, scratch, done);
    acui_handles_give(handles, handle);
    return st;
}

static acui_point *behind(acu_device *device)
{
    return acui_handles_behind(handles_of(device));
}

static void wait_for(acu_device *device)
{
    acui_handles_wait(handles_of(device));
}

static void capturing(acu_device *device, bool begins)
{
    acui_handles_capturing(handles_of(device), begins);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static size_t scratch_for(const acu_device *device, const acui_matmul *p)
{
    double elements = (double)p->m * (double)p->n + (double)p->k * ((double)p->m + (double)p->n);
    return acui_cublas_workspace(device, 64 << 10,
                                 elements * (double)p->batches *
                                     (double)acu_dtype_bytes((acu_dtype)p->dtype));
}

static acu_op *fail_instead(acu_op *launch)
{
    acu_op *failed = acu_op_fail(acu_last_error()->status, "matmul", launch->site, NULL);
    acu_op_release(launch);
    return failed;
}

acu_op *acui_gemm_ask(acu_device *device, const acui_matmul *from, acu_op *launch)
{
    static const acui_instead cublas = {
        .addresses = 3, .behind = behind, .wait = wait_for, .capturing = capturing, .call = call};
    acui_library *library = &acui_library_CUBLAS;
    acui_handles *handles;
    gemm g;
    bool required = acui_library_required(library);
    if (from->k == 0 || !is_known(from->dtype) || !to_gemm(from, &g) ||
        (!required && acui_library_refusal(library, device)))
        return launch;
    if (acui_handles_of(library, device, NULL, 0, &handles) != ACU_OK)
        return fail_instead(launch);
    acui_handles_drop(handles); /* they stay */
    if (!acui_handles_behind(handles) && !acui_handles_ready(handles)) {
        if (required && acui_handles_status(handles) != ACU_OK)
            return fail_instead(launch);
        return launch;
    }
    return acui_op_instead(launch, &cublas, scratch_for(device, from));
}
