/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Stream-ordered memory. A pool is a share of its device's memory: `reserved` bytes of it are
 * taken, of which `busy` hold allocations, live or with a free that has not run yet.
 *
 * An allocation gets its address when it is issued and its valid bytes in stream order. A free that
 * has been issued lets a later allocation have the block at once, which waits for that free in
 * stream order, or by a mark where it is on another stream.
 */
#ifndef SOFTCUDA_DRIVER_POOL_H
#define SOFTCUDA_DRIVER_POOL_H

#include "driver/memory.h"

typedef struct sd_pool {
    sd_object object;
    sd_device *device;
    struct sd_pool *next; /* device->pools; this and what follows under device->lock */
    uint64_t used, used_high;
    uint64_t reserved, reserved_high;
    uint64_t busy;
    uint64_t threshold; /* unused bytes are kept up to here when somebody synchronizes */
    uint64_t limit;     /* most bytes; 0: what the device has */
    sd_block *pending;  /* frees that have not run */
    unsigned char access[SD_MAX_DEVICES]; /* rights of the other devices */
    int reuse[3];                         /* the three attributes about reuse */
    size_t blocks; /* allocations, live or pending: the pool stays for them */
    bool orphan;   /* only for its allocations */
} sd_pool;

void *sd_pool_handle(const sd_pool *pool);

/* The device's default pool, made with its memory. */
bool sd_pool_create_default(sd_device *device);
unsigned sd_pool_create(sd_device *device, sd_pool **pool);

/* ---- with device->lock ---- */

/* A block of the pool is about to be given back to the heap. */
void sd_pool_returned(sd_block *block);

/* Give back what is unused, but for `keep` bytes in all. */
void sd_pool_shrink(sd_pool *pool, uint64_t keep);
/* The same for every pool of the device, as far as it goes. */
void sd_pools_shrink(sd_device *device);

/* Wait for one issued free to run, if that can ever make room. False:
 * there is no use in waiting. */
bool sd_pools_wait(sd_device *device, uint64_t bytes);

/* ---- without ---- */

/* Somebody synchronized: pools give back what they have above their thresholds. */
void sd_pools_settle(sd_device *device);

#endif
