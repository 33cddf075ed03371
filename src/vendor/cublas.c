/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cuBLAS as a library of vendor/: its symbols, its statuses, its handles. */
#include "vendor/cublas.h"

#include "base/error.h"
#include "device/device.h"

acui_cublas_calls acui_cublas;

static const acui_symbol symbols[] = {
    {"cublasGetProperty", &acui_cublas.property},
#define ACU_X(field, symbol, parameters) {symbol, &acui_cublas.field},
    ACUI_CUBLAS_CALLS(ACU_X)
#undef ACU_X
};

static const acui_symbol newer[] = {
    {"cublasGemmGroupedBatchedEx", &acui_cublas.gemm_grouped},
};

const acui_vendor_status acui_cublas_statuses[] = {
    {1, ACU_ERR_DRIVER, "CUBLAS_STATUS_NOT_INITIALIZED", "the library could not be initialized"},
    {3, ACU_ERR_DEVICE_MEMORY, "CUBLAS_STATUS_ALLOC_FAILED",
     "no memory for what the library keeps itself"},
    {7, ACU_ERR_DRIVER, "CUBLAS_STATUS_INVALID_VALUE", "an argument that it does not take"},
    {8, ACU_ERR_NOT_SUPPORTED, "CUBLAS_STATUS_ARCH_MISMATCH",
     "the device is none that it supports"},
    {11, ACU_ERR_DRIVER, "CUBLAS_STATUS_MAPPING_ERROR",
     "memory of the device could not be reached"},
    {13, ACU_ERR_DRIVER, "CUBLAS_STATUS_EXECUTION_FAILED", "the device failed to execute it"},
    {14, ACU_ERR_DRIVER, "CUBLAS_STATUS_INTERNAL_ERROR", "an operation inside the library failed"},
    {15, ACU_ERR_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED", "it does not support this"},
    {16, ACU_ERR_DRIVER, "CUBLAS_STATUS_LICENSE_ERROR", "its licence could not be checked"},
};
_Static_assert(sizeof acui_cublas_statuses / sizeof *acui_cublas_statuses == ACUI_CUBLAS_STATUSES,
               "all are counted");

/* ---- handles --------------------------------------------------------------------------------- */

static acu_status set_up(acui_cublas_handle handle)
{
    ACUI_TRY(acui_cublas_fail("cublasSetPointerMode",
                              acui_cublas.set_pointer_mode(handle, ACUI_CUBLAS_POINTER_HOST)));
    return acui_cublas_fail("cublasSetMathMode",
                            acui_cublas.set_math_mode(handle, ACUI_CUBLAS_FULL_REDUCTION));
}

enum { WARM = 64, WARM_BYTES = WARM * WARM * 4, WARM_SCRATCH = 1 << 20 };

/* Two small products: what the library prepares for the first call of a kind in a process takes
 * long. Failures are ignored: then the first product takes longer, or says why it fails. */
static void multiply_on(acui_cublas_handle handle, CUstream stream, CUdeviceptr memory)
{
    static const int types[] = {ACUI_CUDA_R_32F, ACUI_CUDA_R_16F};
    const float one = 1, zero = 0;
    char *at = (char *)(uintptr_t)memory, *c = at + WARM_SCRATCH;
    const char *a = c + WARM_BYTES, *b = a + WARM_BYTES;
    if (acui_cublas.set_stream(handle, stream) != ACUI_CUBLAS_SUCCESS ||
        acui_cublas.set_workspace(handle, at, WARM_SCRATCH) != ACUI_CUBLAS_SUCCESS)
        return;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        acui_cublas.gemm(handle, ACUI_CUBLAS_OP_N, ACUI_CUBLAS_OP_N, WARM, WARM, WARM, &one, a,
                         types[i], WARM, b, types[i], WARM, &zero, c, types[i], WARM,
                         ACUI_CUBLAS_COMPUTE_32F, ACUI_CUBLAS_ALGORITHM);
    acui_cublas.set_stream(handle, NULL); /* the stream is about to be destroyed */
}

static void warm_up(acu_device *device, acui_cublas_handle handle)
{
    const acu_driver_table *cu = device->cu;
    const size_t bytes = WARM_SCRATCH + 3 * WARM_BYTES;
    CUstream stream;
    CUdeviceptr memory;
    if (!device->pool || cu->StreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING) != ACU_CUDA_SUCCESS)
        return;
    if (cu->MemAllocFromPoolAsync(&memory, bytes, device->pool, stream) == ACU_CUDA_SUCCESS) {
        if (cu->MemsetD8Async(memory, 0, bytes, stream) == ACU_CUDA_SUCCESS)
            multiply_on(handle, stream, memory);
        cu->MemFreeAsync(memory, stream);
    }
    cu->StreamSynchronize(stream);
    cu->StreamDestroy(stream);
}

static acu_status make(acu_device *device, const void *key, bool first, void **made)
{
    (void)key;
    acui_cublas_handle handle = NULL;
    acu_status st = acui_cublas_fail("cublasCreate", acui_cublas.create(&handle));
    if (st == ACU_OK)
        st = set_up(handle);
    if (st != ACU_OK && handle)
        acui_cublas.destroy(handle);
    if (st == ACU_OK && first)
        warm_up(device, handle);
    *made = handle;
    return st;
}

static void end(void *handle)
{
    acui_cublas.set_stream(handle, NULL); /* the handle's last stream is gone */
    acui_cublas.destroy(handle);
}

acui_library acui_library_CUBLAS = {
    .find = {.words = "cuBLAS",
             .stem = "libcublas.so",
             .names = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"}},
    .id = ACU_VENDOR_CUBLAS,
    .oldest = 11,
    .with_12 = 12,
    .with_13 = 13,
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
    .newer = newer,
    .newer_count = sizeof newer / sizeof *newer,
    .statuses = acui_cublas_statuses,
    .status_count = ACUI_CUBLAS_STATUSES,
    .property = &acui_cublas.property,
    .make = make,
    .end = end,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

size_t acui_cublas_workspace(const acu_device *device, size_t least, double bytes)
{
    const size_t most = (size_t)(device->info.compute_major >= 9 ? 32 : 4) << 20;
    size_t workspace = least;
    while (workspace < most && (double)workspace < 8 * bytes)
        workspace *= 2;
    return workspace;
}
