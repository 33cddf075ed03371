/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cuDNN as a library of vendor/: its symbols, its versions, and what it says of failures. */
#include "dnn/cudnn.h"

#include "base/error.h"
#include "dnn/plan.h"

acui_cudnn_calls acui_cudnn;

static const acui_symbol symbols[] = {
#define ACU_X(field, symbol, result, parameters) {symbol, &acui_cudnn.field},
    ACUI_CUDNN_CALLS(ACU_X)
#undef ACU_X
};

/* The thousands of a status say of which kind it is. */
static acu_status kind_of(int status)
{
    enum { NO_HOST_MEMORY = 4003, NO_DEVICE_MEMORY = 4004, NOT_SUPPORTED = 3 };
    if (status == NO_HOST_MEMORY)
        return ACU_ERR_NO_MEMORY;
    if (status == NO_DEVICE_MEMORY)
        return ACU_ERR_DEVICE_MEMORY;
    return status / 1000 == NOT_SUPPORTED ? ACU_ERR_NOT_SUPPORTED : ACU_ERR_DRIVER;
}

acu_status acui_cudnn_said(const char *call, int status)
{
    char words[200] = "";
    if (status == 0)
        return ACU_OK;
    acui_cudnn.last_error(words, sizeof words);
    words[sizeof words - 1] = '\0';
    for (char *c = words; *c; c++)
        if (*c == '\n')
            *c = *(c + 1) ? ' ' : '\0';
    return acui_fail(kind_of(status), "%s answered %s%s%s", call, acui_cudnn.name_of(status),
                     words[0] ? ": " : "", words);
}

acui_library acui_library_CUDNN = {
    .find = {.words = "cuDNN",
             .stem = "libcudnn.so",
             .names = {"libcudnn.so.9", "libcudnn.so.8", "libcudnn.so"}},
    .id = ACU_VENDOR_CUDNN,
    .oldest = 9,
    .with_12 = INT_MAX, /* version 9 exists for CUDA 11, 12 and 13: */
    .with_13 = INT_MAX,
    .cuda = &acui_cudnn.cuda,
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
    .property = &acui_cudnn.property,
    .keyed = true,
    .shared = true,
    .make = acui_dnn_make,
    .end = acui_dnn_end,
    .make_handle = acui_dnn_make_handle,
    .end_handle = acui_dnn_end_handle,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};
