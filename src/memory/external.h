/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Imported memory from the driver's side: creating, mapping and releasing it. */
#ifndef ACUI_MEMORY_EXTERNAL_H
#define ACUI_MEMORY_EXTERNAL_H

#include "device/device.h"

#include <acuda/external.h>

/* A live buffer over part of it; created and freed by external.c. */
typedef struct acui_external_range {
    struct acui_external_range *next;
    acu_external *external; /* retained */
    acu_buffer *buffer;     /* not retained */
    size_t offset, bytes;
} acui_external_range;

struct acu_external {
    acui_object object;
    acu_device *device; /* retained */
    acu_external_kind kind;
    size_t bytes; /* as requested */
    bool read_only, imported;
    CUdeviceptr address;
    pthread_mutex_t lock; /* a leaf */
    acui_external_range *ranges;   /* guarded by the lock */

    /* CUDA's own memory; the flags say which parts of it exist. */
    CUmemGenericAllocationHandle handle;
    size_t span; /* mapped bytes: a multiple of the granularity */
    bool allocated, reserved, mapped;

    CUexternalMemory foreign; /* memory of another API; NULL: none */
};

/* Whether the device and the driver support it; if not, NOT_SUPPORTED with a message. */
acu_status acui_external_supported(acu_device *device, acu_external_kind kind);

/* Create, or import, and map; the device is entered. acui_external_unmap has to be called even on
 * failure. */
acu_status acui_external_create(acu_external *external);
acu_status acui_external_take(acu_external *external, const acu_external_options *options);
/* Enters the device. */
void acui_external_unmap(acu_external *external);

#endif
