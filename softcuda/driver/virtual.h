/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Memory without an address, and addresses without memory. Allocations of cuMemCreate, and imported
 * ones, are files in memory that are mapped into reserved ranges of a device's addresses. So they
 * can be handed to other processes as descriptors.
 */
#ifndef SOFTCUDA_DRIVER_VIRTUAL_H
#define SOFTCUDA_DRIVER_VIRTUAL_H

#include "driver/memory.h"

typedef struct sd_allocation {
    sd_object object;
    sd_device *device;
    int fd; /* owned */
    uint64_t bytes;
    bool shareable; /* it was asked to be shareable */
    bool committed; /* taken out of the device's memory, unlike imported memory */
} sd_allocation;

/* Memory mapped at an address; under the device's lock. */
typedef struct sd_mapping {
    struct sd_mapping *next;
    uint64_t address, bytes; /* what the program sees */
    uint64_t pages, span;    /* what is mapped for it: whole pages */
    uint64_t id;
    sd_allocation *allocation; /* held; NULL: memory of another API */
} sd_mapping;

/* What makes a used block of the heap a reservation; under the device's lock. */
struct sd_reservation {
    uint64_t address, bytes;
    sd_mapping *mappings;
    bool external; /* made by mapping another API's memory, and freed like memory */
};

/* Reserve addresses, aligned to `alignment`, for `context` or for all (NULL). Returns NULL if none
 * are left. */
sd_block *sd_reserve(sd_device *device, uint64_t bytes, uint64_t alignment, sd_context *context);
/* Remove the range and what is mapped there; returns the free block that it is part of now. */
sd_block *sd_unreserve(sd_device *device, sd_block *block);

/* Map part of a file at an address in the reservation; `offset` is a multiple of the page size. A
 * CUresult. */
unsigned sd_map(sd_device *device, struct sd_reservation *range, uint64_t address, uint64_t bytes,
                int fd, uint64_t offset, sd_mapping **made);

/* Allow the device's kernels and copies to touch the mapping, or forbid it. */
void sd_mapping_open(sd_device *device, const sd_mapping *mapping, bool open);

/* What is mapped at the address, or NULL. */
const sd_mapping *sd_mapping_at(const sd_block *block, uint64_t address);

#endif
