/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The calls of cuBLAS that are used, for products of matrices (ops/gemm.c) and for blas/. */
#ifndef ACUI_VENDOR_CUBLAS_H
#define ACUI_VENDOR_CUBLAS_H

#include "vendor/handles.h"

typedef struct acui_cublas_context *acui_cublas_handle;

/* Values of cuBLAS's enumerations. */
enum {
    ACUI_CUBLAS_SUCCESS = 0,
    ACUI_CUBLAS_ARCH_MISMATCH = 8,
    ACUI_CUBLAS_NOT_SUPPORTED = 15,
    ACUI_CUBLAS_OP_N = 0,
    ACUI_CUBLAS_OP_T = 1,
    ACUI_CUBLAS_OP_C = 2, /* transposed, with the conjugates */
    ACUI_CUBLAS_POINTER_HOST = 0,
    ACUI_CUBLAS_POINTER_DEVICE = 1,
    ACUI_CUBLAS_FULL_REDUCTION = 16, /* math mode: partial sums are not rounded to f16 or bf16 */
    ACUI_CUBLAS_COMPUTE_32F = 68,
    ACUI_CUBLAS_COMPUTE_64F = 70,
    ACUI_CUBLAS_COMPUTE_32I = 72,
    ACUI_CUBLAS_COMPUTE_TF32 = 77,
    ACUI_CUBLAS_ALGORITHM = -1, /* the library chooses */
    ACUI_CUDA_R_32F = 0,
    ACUI_CUDA_R_64F = 1,
    ACUI_CUDA_R_16F = 2,
    ACUI_CUDA_R_8I = 3,
    ACUI_CUDA_C_32F = 4,
    ACUI_CUDA_C_64F = 5,
    ACUI_CUDA_R_32I = 10,
    ACUI_CUDA_R_16BF = 14,
    ACUI_CUDA_R_8F_E4M3 = 28,
    ACUI_CUDA_R_8F_E5M2 = 29
};

/* The same for f32 and f64; for c64 and c128 too, whose symbols may have another end. */
#define ACUI_CUBLAS_WIDTHS(X, name, symbol, parameters)                                            \
    X(s##name, "cublasS" symbol, parameters) X(d##name, "cublasD" symbol, parameters)
#define ACUI_CUBLAS_COMPLEX(X, name, narrow, wide, parameters)                                     \
    X(c##name, narrow, parameters) X(z##name, wide, parameters)
#define ACUI_CUBLAS_TYPES(X, name, symbol, complex_symbol, parameters)                             \
    ACUI_CUBLAS_WIDTHS(X, name, symbol, parameters)                                                \
    X(c##name, "cublasC" complex_symbol, parameters)                                               \
    X(z##name, "cublasZ" complex_symbol, parameters)

/* X(field, symbol, parameters) */
#define ACUI_CUBLAS_CALLS(X)                                                                       \
    X(set_stream, "cublasSetStream_v2", (acui_cublas_handle, CUstream))                            \
    X(set_workspace, "cublasSetWorkspace_v2", (acui_cublas_handle, void *memory, size_t bytes))    \
    X(set_math_mode, "cublasSetMathMode", (acui_cublas_handle, int mode))                          \
    X(set_pointer_mode, "cublasSetPointerMode_v2", (acui_cublas_handle, int mode))                 \
    X(create, "cublasCreate_v2", (acui_cublas_handle *))                                           \
    X(destroy, "cublasDestroy_v2", (acui_cublas_handle))                                           \
    X(gemm, "cublasGemmEx",                                                                        \
      (acui_cublas_handle, int op_a, int op_b, int m, int n, int k, const void *alpha,             \
       const void *a, int a_type, int lda, const void *b, int b_type, int ldb, const void *beta,   \
       void *c, int c_type, int ldc, int compute, int algorithm))                                  \
    X(gemm_batched, "cublasGemmStridedBatchedEx",                                                  \
      (acui_cublas_handle, int op_a, int op_b, int m, int n, int k, const void *alpha,             \
       const void *a, int a_type, int lda, long long a_stride, const void *b, int b_type, int ldb, \
       long long b_stride, const void *beta, void *c, int c_type, int ldc, long long c_stride,     \
       int batches, int compute, int algorithm))                                                   \
    X(axpy, "cublasAxpyEx",                                                                        \
      (acui_cublas_handle, int n, const void *alpha, int alpha_type, const void *x, int x_type,    \
       int x_step, void *y, int y_type, int y_step, int sums))                                     \
    X(scal, "cublasScalEx",                                                                        \
      (acui_cublas_handle, int n, const void *alpha, int alpha_type, void *x, int x_type,          \
       int x_step, int sums))                                                                      \
    X(dot, "cublasDotEx",                                                                          \
      (acui_cublas_handle, int n, const void *x, int x_type, int x_step, const void *y,            \
       int y_type, int y_step, void *result, int result_type, int sums))                           \
    X(nrm2, "cublasNrm2Ex",                                                                        \
      (acui_cublas_handle, int n, const void *x, int x_type, int x_step, void *result,             \
       int result_type, int sums))                                                                 \
    ACUI_CUBLAS_WIDTHS(X, getrf_batched, "getrfBatched",                                           \
      (acui_cublas_handle, int n, void *const *a, int lda, int *pivots, int *info, int batches))   \
    ACUI_CUBLAS_WIDTHS(X, getrs_batched, "getrsBatched",                                           \
      (acui_cublas_handle, int op, int n, int columns, const void *const *a, int lda,              \
       const int *pivots, void *const *b, int ldb, int *info, int batches))                        \
    ACUI_CUBLAS_COMPLEX(X, axpy, "cublasCaxpy_v2", "cublasZaxpy_v2",                               \
      (acui_cublas_handle, int n, const void *alpha, const void *x, int x_step, void *y,           \
       int y_step))                                                                                \
    ACUI_CUBLAS_COMPLEX(X, scal, "cublasCscal_v2", "cublasZscal_v2",                               \
      (acui_cublas_handle, int n, const void *alpha, void *x, int x_step))                         \
    ACUI_CUBLAS_COMPLEX(X, dotu, "cublasCdotu_v2", "cublasZdotu_v2",                               \
      (acui_cublas_handle, int n, const void *x, int x_step, const void *y, int y_step,            \
       void *result))                                                                              \
    ACUI_CUBLAS_COMPLEX(X, dotc, "cublasCdotc_v2", "cublasZdotc_v2",                               \
      (acui_cublas_handle, int n, const void *x, int x_step, const void *y, int y_step,            \
       void *result))                                                                              \
    ACUI_CUBLAS_COMPLEX(X, nrm2, "cublasScnrm2_v2", "cublasDznrm2_v2",                             \
      (acui_cublas_handle, int n, const void *x, int x_step, void *result))                        \
    ACUI_CUBLAS_WIDTHS(X, asum, "asum_v2",                                                         \
      (acui_cublas_handle, int n, const void *x, int x_step, void *result))                        \
    ACUI_CUBLAS_COMPLEX(X, asum, "cublasScasum_v2", "cublasDzasum_v2",                             \
      (acui_cublas_handle, int n, const void *x, int x_step, void *result))                        \
    ACUI_CUBLAS_TYPES(X, gemv, "gemv_v2", "gemv_v2",                                               \
      (acui_cublas_handle, int op, int m, int n, const void *alpha, const void *a, int lda,        \
       const void *x, int x_step, const void *beta, void *y, int y_step))                          \
    ACUI_CUBLAS_TYPES(X, symv, "symv_v2", "symv_v2",                                               \
      (acui_cublas_handle, int fill, int n, const void *alpha, const void *a, int lda,             \
       const void *x, int x_step, const void *beta, void *y, int y_step))                          \
    ACUI_CUBLAS_TYPES(X, trmv, "trmv_v2", "trmv_v2",                                               \
      (acui_cublas_handle, int fill, int op, int unit, int n, const void *a, int lda, void *x,     \
       int x_step))                                                                                \
    ACUI_CUBLAS_TYPES(X, trsv, "trsv_v2", "trsv_v2",                                               \
      (acui_cublas_handle, int fill, int op, int unit, int n, const void *a, int lda, void *x,     \
       int x_step))                                                                                \
    ACUI_CUBLAS_TYPES(X, ger, "ger_v2", "geru_v2",                                                 \
      (acui_cublas_handle, int m, int n, const void *alpha, const void *x, int x_step,             \
       const void *y, int y_step, void *a, int lda))                                               \
    ACUI_CUBLAS_TYPES(X, syr, "syr_v2", "syr_v2",                                                  \
      (acui_cublas_handle, int fill, int n, const void *alpha, const void *x, int x_step, void *a, \
       int lda))                                                                                   \
    ACUI_CUBLAS_TYPES(X, syrk, "syrk_v2", "syrk_v2",                                               \
      (acui_cublas_handle, int fill, int op, int n, int k, const void *alpha, const void *a,       \
       int lda, const void *beta, void *c, int ldc))                                               \
    ACUI_CUBLAS_TYPES(X, herk, "syrk_v2", "herk_v2",                                               \
      (acui_cublas_handle, int fill, int op, int n, int k, const void *alpha, const void *a,       \
       int lda, const void *beta, void *c, int ldc))                                               \
    ACUI_CUBLAS_TYPES(X, syr2k, "syr2k_v2", "syr2k_v2",                                            \
      (acui_cublas_handle, int fill, int op, int n, int k, const void *alpha, const void *a,       \
       int lda, const void *b, int ldb, const void *beta, void *c, int ldc))                       \
    ACUI_CUBLAS_TYPES(X, symm, "symm_v2", "symm_v2",                                               \
      (acui_cublas_handle, int side, int fill, int m, int n, const void *alpha, const void *a,     \
       int lda, const void *b, int ldb, const void *beta, void *c, int ldc))                       \
    ACUI_CUBLAS_TYPES(X, trmm, "trmm_v2", "trmm_v2",                                               \
      (acui_cublas_handle, int side, int fill, int op, int unit, int m, int n, const void *alpha,  \
       const void *a, int lda, const void *b, int ldb, void *c, int ldc))                          \
    ACUI_CUBLAS_TYPES(X, trsm, "trsm_v2", "trsm_v2",                                               \
      (acui_cublas_handle, int side, int fill, int op, int unit, int m, int n, const void *alpha,  \
       const void *a, int lda, void *b, int ldb))

typedef struct acui_cublas_calls {
    int (*property)(int which, int *value);
    /* From version 12.5 on; NULL: it is not there. The lists of a, b and c are in device memory. */
    int (*gemm_grouped)(acui_cublas_handle, const int *op_a, const int *op_b, const int *m,
                        const int *n, const int *k, const void *alphas, const void *const *a,
                        int a_type, const int *lda, const void *const *b, int b_type,
                        const int *ldb, const void *betas, void *const *c, int c_type,
                        const int *ldc, int groups, const int *sizes, int compute);
#define ACU_X(field, symbol, parameters) int(*field) parameters;
    ACUI_CUBLAS_CALLS(ACU_X)
#undef ACU_X
} acui_cublas_calls;

/* What cuBLAS and cuBLASLt may answer. */
enum { ACUI_CUBLAS_STATUSES = 9 };
extern const acui_vendor_status acui_cublas_statuses[ACUI_CUBLAS_STATUSES];

/* Its calls; only once it is open. */
extern acui_cublas_calls acui_cublas;

/* How much temporary memory a call gets whose matrices have so many bytes together: at least
 * `least`, at most what NVIDIA recommends for the device, and not many times those bytes; a power
 * of two, so that the calls of a plan want the same. It depends on the matrices and the device's
 * architecture only, as results must. */
size_t acui_cublas_workspace(const acu_device *device, size_t least, double bytes);

static inline acu_status acui_cublas_fail(const char *call, int status)
{
    return acui_library_fail(&acui_library_CUBLAS, call, status);
}

#endif
