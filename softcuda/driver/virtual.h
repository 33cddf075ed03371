/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Memory that has no address by itself, and addresses that have no memory: allocations of
 * cuMemCreate and imported ones, which are files in memory, mapped into reserved ranges of a
 * device's addresses. So they can be handed to other processes as descriptors.
 */
#ifndef SOFTCUDA_DRIVER_VIRTUAL_H
#define SOFTCUDA_DRIVER_VIRTUAL_H

#include "driver/memory.h"

typedef struct sd_allocation {
    sd_object object;
    sd_device *device;
    int fd; /* owned */
    uint64_t bytes;
    bool shareable; /* was asked to be */
    bool committed; /* taken out of the device's memory: not what was imported */
} sd_allocation;

/* Memory at an address; the device's lock. */
typedef struct sd_mapping {
    struct sd_mapping *next;
    uint64_t address, bytes; /* as the program sees it */
    uint64_t pages, span;    /* what is mapped for that: whole pages */
    uint64_t id;
    sd_allocation *allocation; /* held; NULL: memory of another API */
} sd_mapping;

/* What a used block of the heap is when it was reserved; the device's lock. */
struct sd_reservation {
    uint64_t address, bytes;
    sd_mapping *mappings;
    bool external; /* made by mapping memory of another API, and freed like memory */
};

/* Reserve addresses on multiples of `alignment`, for `context` or for all; NULL: none are left. */
sd_block *sd_reserve(sd_device *device, uint64_t bytes, uint64_t alignment, sd_context *context);
/* The range, and what is mapped there, go; returns the free block that it is part of now. */
sd_block *sd_unreserve(sd_device *device, sd_block *block);

/* Map part of a file at an address of the reservation; `offset` is of a page. A CUresult. */
unsigned sd_map(sd_device *device, struct sd_reservation *range, uint64_t address, uint64_t bytes,
                int fd, uint64_t offset, sd_mapping **made);

/* Whether the device's kernels and copies may touch it. */
void sd_mapping_open(sd_device *device, const sd_mapping *mapping, bool open);

/* What is mapped at the address, or NULL. */
const sd_mapping *sd_mapping_at(const sd_block *block, uint64_t address);

#endif
