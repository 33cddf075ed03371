/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Imported memory as the driver has it: made, mapped and given back. */
#ifndef ACUI_MEMORY_EXTERNAL_H
#define ACUI_MEMORY_EXTERNAL_H

#include "device/device.h"

#include <acuda/external.h>

/* A buffer of it that lives; made and freed by external.c. */
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
    size_t bytes; /* as asked for */
    bool read_only, imported;
    CUdeviceptr address;
    pthread_mutex_t lock; /* a leaf */
    acui_external_range *ranges;   /* the lock */

    /* CUDA's own memory; what of it there is. */
    CUmemGenericAllocationHandle handle;
    size_t span; /* bytes that are mapped: a multiple of the granularity */
    bool allocated, reserved, mapped;

    CUexternalMemory foreign; /* of another API; NULL: none */
};

/* What the device and the driver have: NOT_SUPPORTED in words. */
acu_status acui_external_supported(acu_device *device, acu_external_kind kind);

/* Make, or import, and map: the device is entered. On failure
 * acui_external_unmap is due all the same. */
acu_status acui_external_create(acu_external *external);
acu_status acui_external_take(acu_external *external, const acu_external_options *options);
/* Enters the device. */
void acui_external_unmap(acu_external *external);

#endif
