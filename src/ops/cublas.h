/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cuBLAS, opened at run time: the calls that are used, and the handles of each device. Making a
 * handle takes long and blocks, so the threads that load modules do it; a thread that issues a
 * product takes a handle that is free.
 */
#ifndef ACUI_OPS_CUBLAS_H
#define ACUI_OPS_CUBLAS_H

#include "device/device.h"
#include "memory/access.h"

typedef struct acui_cublas_context *acui_cublas_handle;

/* Values of cuBLAS's enumerations. */
enum {
    ACUI_CUBLAS_SUCCESS = 0,
    ACUI_CUBLAS_ARCH_MISMATCH = 8,
    ACUI_CUBLAS_NOT_SUPPORTED = 15,
    ACUI_CUBLAS_OP_N = 0,
    ACUI_CUBLAS_OP_T = 1,
    ACUI_CUBLAS_POINTER_HOST = 0,
    ACUI_CUBLAS_FULL_REDUCTION = 16, /* math mode: partial sums are not rounded to f16 or bf16 */
    ACUI_CUBLAS_COMPUTE_32F = 68,
    ACUI_CUBLAS_COMPUTE_64F = 70,
    ACUI_CUBLAS_COMPUTE_TF32 = 77,
    ACUI_CUBLAS_ALGORITHM = -1, /* the library chooses */
    ACUI_CUDA_R_32F = 0,
    ACUI_CUDA_R_64F = 1,
    ACUI_CUDA_R_16F = 2,
    ACUI_CUDA_R_16BF = 14
};

/* X(field, symbol, parameters) */
#define ACUI_CUBLAS_CALLS(X)                                                                       \
    X(property, "cublasGetProperty", (int which, int *value))                                      \
    X(create, "cublasCreate_v2", (acui_cublas_handle *))                                           \
    X(destroy, "cublasDestroy_v2", (acui_cublas_handle))                                           \
    X(set_stream, "cublasSetStream_v2", (acui_cublas_handle, CUstream))                            \
    X(set_workspace, "cublasSetWorkspace_v2", (acui_cublas_handle, void *memory, size_t bytes))    \
    X(set_math_mode, "cublasSetMathMode", (acui_cublas_handle, int mode))                          \
    X(set_pointer_mode, "cublasSetPointerMode_v2", (acui_cublas_handle, int mode))                 \
    X(gemm, "cublasGemmEx",                                                                        \
      (acui_cublas_handle, int op_a, int op_b, int m, int n, int k, const void *alpha,             \
       const void *a, int a_type, int lda, const void *b, int b_type, int ldb, const void *beta,   \
       void *c, int c_type, int ldc, int compute, int algorithm))                                  \
    X(gemm_batched, "cublasGemmStridedBatchedEx",                                                  \
      (acui_cublas_handle, int op_a, int op_b, int m, int n, int k, const void *alpha,             \
       const void *a, int a_type, int lda, long long a_stride, const void *b, int b_type, int ldb, \
       long long b_stride, const void *beta, void *c, int c_type, int ldc, long long c_stride,     \
       int batches, int compute, int algorithm))

typedef struct acui_cublas_calls {
#define ACU_X(field, symbol, parameters) int(*field) parameters;
    ACUI_CUBLAS_CALLS(ACU_X)
#undef ACU_X
} acui_cublas_calls;

/* ---- cublas.c: the library ---- */
/* Why products on the device should not ask cuBLAS, as far as settings say; NULL: they should. */
const char *acui_cublas_refusal(const acu_device *device);
/* Open the library, unless it is open. Errors: NOT_FOUND, with where it was looked for. Blocks. */
acu_status acui_cublas_open(void);
/* Its calls; only once it is open. */
const acui_cublas_calls *acui_cublas(void);
/* Record that the call failed, in cuBLAS's words. */
acu_status acui_cublas_fail(const char *call, int status);

/* ---- handles.c: what a device has of it ---- */
/* Have the device's first handle made, unless that was done. Never blocks. Errors: NO_MEMORY,
 * FULL. */
acu_status acui_cublas_begin(acu_device *device);
/* The point that is pending while the first handle is made; the device holds it. NULL: the handle
 * is there, or never will be. */
acui_point *acui_cublas_behind(acu_device *device);
void acui_cublas_wait(acu_device *device); /* until it is NULL; blocks */
bool acui_cublas_is_missing(acu_device *device); /* making the first handle failed */
/* A handle for this thread alone, until it is given back. NULL: there is no cuBLAS here. May wait
 * for another thread to give one back, which it does when its call is made. */
acui_cublas_handle acui_cublas_take(acu_device *device);
void acui_cublas_give(acu_device *device, acui_cublas_handle handle);

#endif
