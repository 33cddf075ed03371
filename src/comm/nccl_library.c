/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* NCCL: what is needed of it, and what its answers mean. */
#include "base/error.h"
#include "comm/nccl.h"

#include <stdio.h>
#include <string.h>

acui_nccl_calls acui_nccl;

/* Numbered 2804 for 2.8.4, and 22705 for 2.27.5. */
static int property(int which, int *value)
{
    int version = 0, status = acui_nccl.version ? acui_nccl.version(&version) : -1;
    int scale = version < 10000 ? 1000 : 10000;
    *value = which == 0   ? version / scale
             : which == 1 ? version % scale / 100
                          : version % 100;
    return status;
}

static int (*property_fn)(int, int *) = property;

static const acui_symbol symbols[] = {
#define ACU_X(field, symbol, parameters) {symbol, &acui_nccl.field},
    ACUI_NCCL_CALLS(ACU_X)
#undef ACU_X
    {"ncclGetLastError", &acui_nccl.last_error},
};

static const acui_vendor_status statuses[] = {
    {1, ACU_ERR_DRIVER, "ncclUnhandledCudaError", "a call of CUDA failed"},
    {2, ACU_ERR_DRIVER, "ncclSystemError", "a call of the system, or the network, failed"},
    {3, ACU_ERR_DRIVER, "ncclInternalError", "an operation inside the library failed"},
    {4, ACU_ERR_DRIVER, "ncclInvalidArgument", "an argument that it does not take"},
    {5, ACU_ERR_DRIVER, "ncclInvalidUsage", "a use that it does not allow"},
    {6, ACU_ERR_DRIVER, "ncclRemoteError", "another rank failed, or is gone"},
    {7, ACU_ERR_DRIVER, "ncclInProgress", "it has not finished"},
    {8, ACU_ERR_DRIVER, "ncclTimeout", "it took too long"},
};

acui_library acui_library_NCCL = {
    .find = {.words = "NCCL",
             .stem = "libnccl.so",
             .names = {"libnccl.so.2", "libnccl.so"}},
    .id = ACU_VENDOR_NCCL,
    .oldest = 2,
    .with_12 = INT_MAX, /* its version does not tell which CUDA it was made for */
    .with_13 = INT_MAX,
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
    .statuses = statuses,
    .status_count = sizeof statuses / sizeof *statuses,
    .property = &property_fn,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

acu_status acui_nccl_look(acu_device *const *devices, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *refusal = acui_library_refusal(&acui_library_NCCL, devices[i]);
        if (refusal)
            return acui_fail(ACU_ERR_NOT_FOUND, "%s", refusal);
    }
    return acui_library_open(&acui_library_NCCL);
}

acu_status acui_nccl_fail(const char *call, int status, acui_nccl_handle handle)
{
    acu_status st = acui_library_fail(&acui_library_NCCL, call, status);
    const char *words = st != ACU_OK ? acui_nccl.last_error(handle) : NULL;
    if (words && *words) {
        acu_error *error = acui_error();
        size_t length = strlen(error->message);
        snprintf(error->message + length, sizeof error->message - length, " (%.200s)", words);
    }
    return st;
}
