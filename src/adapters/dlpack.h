/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Between the two directions of DLPack. */
#ifndef ACUI_ADAPTERS_DLPACK_H
#define ACUI_ADAPTERS_DLPACK_H

#include "adapters/dlpack_abi.h"
#include "engine/engine.h"
#include "memory/memory.h"

#include <acuda/adapters/dlpack.h>
#include <acuda/use.h>

/* The stream of that number, as acuda's; *stream is NULL for ACU_DLPACK_NO_STREAM. */
acu_status acui_dl_stream(acu_device *device, intptr_t number, acu_stream **stream);

/* An element type in DLPack's words, and back. */
typedef struct acui_dl_type {
    uint8_t code, bits, lanes;
} acui_dl_type;
acui_dl_type acui_dl_type_of(acu_dtype dtype);
/* ACU_NO_DTYPE: none of acuda's. */
acu_dtype acui_dl_dtype(const acui_dl_tensor *tensor, uint64_t flags);

#endif
