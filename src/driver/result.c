/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What driver results mean for acuda. */
#include "driver/result.h"

#include "base/error.h"
#include "base/local.h"
#include "driver/choose.h"

#include <stdio.h>
#include <string.h>

ACUI_LOCAL unsigned acui_result_kept;

/*
 * Results that map to a status of their own: X(result, status). All others are ACU_ERR_DRIVER.
 * Those that lose the device are the ones after which every call on the context returns the same
 * result.
 */
#define RESULT_STATUSES(X)                                                                         \
    X(CUDA_SUCCESS, ACU_OK)                                                                        \
    X(CUDA_ERROR_NOT_READY, ACU_NOT_READY)                                                         \
    X(CUDA_ERROR_OUT_OF_MEMORY, ACU_ERR_DEVICE_MEMORY)                                             \
    X(CUDA_ERROR_DEINITIALIZED, ACU_ERR_SHUTDOWN)                                                  \
    X(CUDA_ERROR_NO_DEVICE, ACU_ERR_NO_DRIVER)                                                     \
    X(CUDA_ERROR_NOT_FOUND, ACU_ERR_NOT_FOUND)                                                     \
    X(CUDA_ERROR_FILE_NOT_FOUND, ACU_ERR_IO)                                                       \
    X(CUDA_ERROR_NOT_SUPPORTED, ACU_ERR_NOT_SUPPORTED)                                             \
    X(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, ACU_ERR_NOT_SUPPORTED)                                   \
    X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, ACU_ERR_LIMIT)                                           \
    X(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, ACU_ERR_LIMIT)                                      \
    X(CUDA_ERROR_INVALID_CLUSTER_SIZE, ACU_ERR_LIMIT)                                              \
    X(CUDA_ERROR_INVALID_IMAGE, ACU_ERR_PTX)                                                       \
    X(CUDA_ERROR_NO_BINARY_FOR_GPU, ACU_ERR_PTX)                                                   \
    X(CUDA_ERROR_INVALID_PTX, ACU_ERR_PTX)                                                         \
    X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, ACU_ERR_PTX)                                             \
    X(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, ACU_ERR_PTX)                                              \
    X(CUDA_ERROR_JIT_COMPILATION_DISABLED, ACU_ERR_PTX)                                            \
    X(CUDA_ERROR_INVALID_SOURCE, ACU_ERR_PTX)                                                      \
    X(CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, ACU_ERR_PTX)                                      \
    X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, ACU_ERR_CAPTURE)                                      \
    X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, ACU_ERR_CAPTURE)                                      \
    X(CUDA_ERROR_STREAM_CAPTURE_MERGE, ACU_ERR_CAPTURE)                                            \
    X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, ACU_ERR_CAPTURE)                                        \
    X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, ACU_ERR_CAPTURE)                                         \
    X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, ACU_ERR_CAPTURE)                                        \
    X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, ACU_ERR_CAPTURE)                                         \
    X(CUDA_ERROR_CAPTURED_EVENT, ACU_ERR_CAPTURE)                                                  \
    X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, ACU_ERR_CAPTURE)                                     \
    X(CUDA_ERROR_ECC_UNCORRECTABLE, ACU_ERR_DEVICE_LOST)                                           \
    X(CUDA_ERROR_NVLINK_UNCORRECTABLE, ACU_ERR_DEVICE_LOST)                                        \
    X(CUDA_ERROR_CONTAINED, ACU_ERR_DEVICE_LOST)                                                   \
    X(CUDA_ERROR_ILLEGAL_ADDRESS, ACU_ERR_DEVICE_LOST)                                             \
    X(CUDA_ERROR_LAUNCH_TIMEOUT, ACU_ERR_DEVICE_LOST)                                              \
    X(CUDA_ERROR_CONTEXT_IS_DESTROYED, ACU_ERR_DEVICE_LOST)                                        \
    X(CUDA_ERROR_ASSERT, ACU_ERR_DEVICE_LOST)                                                      \
    X(CUDA_ERROR_HARDWARE_STACK_ERROR, ACU_ERR_DEVICE_LOST)                                        \
    X(CUDA_ERROR_ILLEGAL_INSTRUCTION, ACU_ERR_DEVICE_LOST)                                         \
    X(CUDA_ERROR_MISALIGNED_ADDRESS, ACU_ERR_DEVICE_LOST)                                          \
    X(CUDA_ERROR_INVALID_ADDRESS_SPACE, ACU_ERR_DEVICE_LOST)                                       \
    X(CUDA_ERROR_INVALID_PC, ACU_ERR_DEVICE_LOST)                                                  \
    X(CUDA_ERROR_LAUNCH_FAILED, ACU_ERR_DEVICE_LOST)                                               \
    X(CUDA_ERROR_TENSOR_MEMORY_LEAK, ACU_ERR_DEVICE_LOST)                                          \
    X(CUDA_ERROR_MPS_CLIENT_TERMINATED, ACU_ERR_DEVICE_LOST)                                       \
    X(CUDA_ERROR_EXTERNAL_DEVICE, ACU_ERR_DEVICE_LOST)

acu_status acui_result_status(unsigned result)
{
    switch (result) {
#define CASE(name, status)                                                                         \
    case ACU_##name:                                                                               \
        return status;
        RESULT_STATUSES(CASE)
#undef CASE
    default:
        return ACU_ERR_DRIVER;
    }
}

const char *acu_driver_result_name(unsigned result)
{
    switch (result) {
#define CASE(name, value)                                                                          \
    case value:                                                                                    \
        return #name;
        ACU_ABI_RESULTS(CASE)
#undef CASE
    default:
        return "CUDA_ERROR_?";
    }
}

/* After a kernel's fault or a refused module, the software device can name the kernel, line and
 * thread. */
static void add_detail(acu_error *error)
{
    if (error->status != ACU_ERR_DEVICE_LOST && error->status != ACU_ERR_PTX)
        return;
    const char *detail = acui_driver_detail();
    size_t length = strlen(error->message);
    if (*detail)
        snprintf(error->message + length, sizeof error->message - length, "%s%s",
                 length ? ": " : "", detail);
}

acu_status acui_fail_driver(acu_driver_call call, unsigned result, const char *format, ...)
{
    acu_status status = acui_result_status(result);
    if (acu_status_scope(status) == ACU_SCOPE_NONE)
        return status;
    va_list args;
    va_start(args, format);
    acui_fail_v(status, format, args);
    va_end(args);
    acu_error *error = acui_error();
    add_detail(error);
    error->driver_result = result;
    error->driver_name = acu_driver_result_name(result);
    error->driver_call = acu_driver_call_name(call);
    return status;
}
