/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Page-locked host memory, kept for reuse: the driver takes milliseconds for what a list does in no
 * time, and may wait for the device when it frees. */
#ifndef ACUI_MEMORY_BLOCKS_H
#define ACUI_MEMORY_BLOCKS_H

#include "device/device.h"

/* At least `bytes` of pinned memory, and the device's address of it. The device is entered. */
acu_status acui_block_get(acu_device *device, size_t bytes, void **memory, CUdeviceptr *address);
/* Back to the device's list, or to the driver if that holds enough. */
void acui_block_put(acu_device *device, void *memory, size_t bytes);

#endif
