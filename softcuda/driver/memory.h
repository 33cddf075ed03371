/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Memory of devices and of the host: what an address belongs to, and which of its bytes are valid.
 *
 * A device's memory is a range of addresses that the host can not touch, and an alias of it that
 * this driver and the executor use. Pinned host memory is one such range for the whole process, and
 * its own alias. Kernels and copies are checked against the tables of valid bytes.
 */
#ifndef SOFTCUDA_DRIVER_MEMORY_H
#define SOFTCUDA_DRIVER_MEMORY_H

#include "driver/context.h"

/* ---- where an address lies ---- */

typedef enum sd_place {
    SD_PLACE_PAGEABLE, /* not ours: the program's own memory */
    SD_PLACE_DEVICE,
    SD_PLACE_PINNED,
    SD_PLACE_REGISTERED,
    SD_PLACE_NOWHERE, /* in one of our ranges, but not (wholly) in a live allocation */
} sd_place;

typedef struct sd_location {
    sd_place place;
    sd_device *device;   /* SD_PLACE_DEVICE */
    uint64_t base, size; /* of the allocation or registration */
    uint64_t id;
    unsigned flags; /* of the allocation or registration, for host memory */
    void *context;  /* handle of the context that owns it */
    void *pool;     /* handle of the pool it came from, or NULL */
} sd_location;

/* Look up [address, address + bytes); `bytes` may be 0. */
sd_location sd_locate(uint64_t address, uint64_t bytes);

/* The device whose range has the address, allocated or not; NULL: none. */
sd_device *sd_device_of(uint64_t address);

/* Where the driver reaches a device address; unchecked. */
char *sd_device_pointer(const sd_device *device, uint64_t address);

/* Whether all of the bytes are valid at this moment: the check when work runs. */
bool sd_valid(uint64_t address, uint64_t bytes);

/* The host pointer for an address of any kind. */
char *sd_host_pointer(uint64_t address);

/* ---- device memory ---- */

/* Allocate at once. A CUresult. */
unsigned sd_memory_alloc(sd_context *context, uint64_t bytes, uint64_t *address);

/* Free at once, memory from a pool too; nothing may use it any more. False: it was not live. */
bool sd_memory_free(sd_device *device, uint64_t address);

/* Free everything that `context` has on its device and in pinned memory, and forget its
 * registrations. */
void sd_memory_free_all(sd_context *context);

/* Sizes and addresses of memory that is mapped by hand are multiples of this, as on a GPU. */
#define SD_GRANULARITY ((uint64_t)2 << 20)

/* ---- for pools; with device->lock ---- */

/* Take `bytes` from the device's memory, if necessary from what pools keep unused. */
bool sd_memory_commit(sd_device *device, uint64_t bytes);

/*
 * Make the bytes of an allocation valid or invalid, for this device and for all that may access it:
 * by peer access, or by access to its pool.
 */
void sd_memory_publish(sd_device *device, uint64_t address, uint64_t bytes,
                       const struct sd_pool *pool);
void sd_memory_withdraw(sd_device *device, uint64_t address, uint64_t bytes);

/* Fill newly allocated memory, or the two ends of it if it is large, with SX_UNWRITTEN: it holds
 * nothing yet. */
void sd_memory_spoil(char *host, uint64_t bytes);

/* Kernels may read these bytes now: they were written (from is 0), or hold a copy of what is at
 * `from`, which may be nothing. For SOFTCUDA_EXACT; any addresses. */
void sd_memory_written(uint64_t address, uint64_t from, uint64_t bytes);

/* ---- access of one device's kernels to another's memory (access.c) ---- */

/* Make an allocation's bytes valid or invalid for everybody who may access it; device->lock
 * held. */
void sd_access_publish(sd_device *device, uint64_t address, uint64_t bytes,
                       const struct sd_pool *pool);
void sd_access_withdraw(sd_device *device, uint64_t address, uint64_t bytes);

/* Bring what `context` sees of `device` in line with peer access and pool access. A CUresult. */
unsigned sd_access_refresh(sd_context *context, sd_device *device);
/* The same for every live context of `viewer`. */
unsigned sd_access_refresh_all(sd_device *viewer, sd_device *device);
void sd_access_forget(sd_context *context);
/* Switch peer access; false: it was so already. The caller must refresh afterwards. */
bool sd_access_set_peer(sd_context *context, const sd_device *device, bool on);

/* ---- host memory (host_memory.c) ---- */

typedef struct sd_registration {
    struct sd_registration *next;
    uint64_t base, bytes, id;
    unsigned flags;
    sd_context *context; /* borrowed; the registration is forgotten with it */
} sd_registration;

typedef struct sd_host_memory {
    pthread_mutex_t lock;
    _Atomic bool mapped;
    sd_range range;
    sd_heap heap;
    sd_registration *registrations;
} sd_host_memory;

extern sd_host_memory sd_host;

/* Managed memory is page-locked host memory here, which every device reaches; a flag marks it. */
#define SD_MANAGED (1u << 31)
unsigned sd_host_alloc_managed(sd_context *context, uint64_t bytes, uint64_t *address);
unsigned sd_host_free(sd_context *context, uint64_t address, bool managed);
bool sd_host_locate(uint64_t address, uint64_t bytes, sd_location *location);
void sd_host_free_all(const sd_context *context);

/* Set or clear the valid bytes in a table for the range at `base`. */
void sd_table_set(uint16_t *valid, uint64_t base, uint64_t address, uint64_t bytes);
void sd_table_clear(uint16_t *valid, uint64_t base, uint64_t address, uint64_t bytes);

#endif
