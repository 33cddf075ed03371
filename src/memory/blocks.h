/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Memory whose freeing may block in the driver, until the whole device is idle: page-locked host
 * memory, and device memory where there are no pools. Released blocks are kept with the device and
 * reused, so that releasing never blocks; what is too much is given back by the next allocation,
 * which is slow anyway, and the rest with the device.
 */
#ifndef ACUI_MEMORY_BLOCKS_H
#define ACUI_MEMORY_BLOCKS_H

#include "device/device.h"

typedef enum acui_block_kind { ACUI_BLOCK_PINNED, ACUI_BLOCK_DEVICE } acui_block_kind;

typedef struct acui_block {
    acui_block_kind kind;
    size_t bytes; /* at least what was asked for */
    void *host;   /* of a pinned block */
    CUdeviceptr address;
    struct acui_block *next; /* while it is kept */
} acui_block;

/* Bytes that are kept of each kind, but for what is released after the last allocation. */
#define ACUI_BLOCKS_KEPT ((size_t)256 << 20)

/* A block of at least `bytes`. The device need not be entered. Errors: the driver's; the caller
 * says in words what it was for. */
acu_status acui_block_get(acu_device *device, acui_block_kind kind, size_t bytes,
                          acui_block **block);
/* Never blocks, never fails. */
void acui_block_put(acu_device *device, acui_block *block);

/* The size that a block for `bytes` has: at most a quarter more. */
size_t acui_block_size(size_t bytes);

#endif
