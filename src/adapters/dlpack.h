/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What import and export of DLPack tensors share. */
#ifndef ACUI_ADAPTERS_DLPACK_H
#define ACUI_ADAPTERS_DLPACK_H

#include "adapters/dlpack_abi.h"
#include "engine/engine.h"
#include "memory/memory.h"

#include <acuda/adapters/dlpack.h>
#include <acuda/use.h>

/* The stream of that DLPack number, which `function` was given, as an acu_stream; *stream is NULL
 * for ACU_DLPACK_NO_STREAM. */
acu_status acui_dl_stream(acu_device *device, intptr_t number, const char *function,
                          acu_stream **stream);

/* NOT_SUPPORTED: the struct is of another major version, so nothing of it but that is known. */
acu_status acui_dl_check(const struct DLManagedTensorVersioned *managed);

/* An element type in DLPack's terms, and back. */
typedef struct acui_dl_type {
    uint8_t code, bits, lanes;
} acui_dl_type;
acui_dl_type acui_dl_type_of(acu_dtype dtype);
/* The element type of a DLPack tensor; ACU_NO_DTYPE: acuda has none like it. */
acu_dtype acui_dl_dtype(const acui_dl_tensor *tensor, uint64_t flags);

#endif
