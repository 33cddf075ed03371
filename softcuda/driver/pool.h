/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Stream-ordered memory. A pool is a share of its device's memory: it has reserved `reserved`
 * bytes, of which `busy` belong to allocations that are live or whose free has not run yet.
 *
 * An allocation gets its address when it is issued, and its valid bytes in stream order. Once a
 * free is issued, a later allocation may get the block at once: it waits for that free in stream
 * order or, on another stream, by a mark.
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
    uint64_t threshold; /* unused bytes that are kept when somebody synchronizes */
    uint64_t limit;     /* most bytes that it may have; 0: what the device has */
    sd_block *pending;  /* frees that have not run */
    unsigned char access[SD_MAX_DEVICES]; /* access rights of the other devices */
    int reuse[3];                         /* the pool's three attributes about reuse */
    size_t blocks; /* live or pending allocations; the pool exists as long as they do */
    bool orphan;   /* the handle is gone: the pool exists only for its allocations */
} sd_pool;

void *sd_pool_handle(const sd_pool *pool);

/* The device's default pool, made with its memory. */
bool sd_pool_create_default(sd_device *device);
unsigned sd_pool_create(sd_device *device, sd_pool **pool);

/* ---- with device->lock ---- */

/* A block of the pool is about to go back to the heap. */
void sd_pool_returned(sd_block *block);

/* Give back unused memory, all but `keep` bytes of the pool. */
void sd_pool_shrink(sd_pool *pool, uint64_t keep);
/* Give back all unused memory of every pool of the device. */
void sd_pools_shrink(sd_device *device);

/* Wait for one issued free to run, if that can make room. False: waiting is of no use. */
bool sd_pools_wait(sd_device *device, uint64_t bytes);

/* ---- without ---- */

/* Somebody synchronized: the pools give back what they have above their thresholds. */
void sd_pools_settle(sd_device *device);

#endif
