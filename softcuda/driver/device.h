/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The devices, and the state of the whole driver (`sd`). */
#ifndef SOFTCUDA_DRIVER_DEVICE_H
#define SOFTCUDA_DRIVER_DEVICE_H

#include <acuda/driver_abi.h>

#include "driver/handle.h"
#include "driver/heap.h"
#include "driver/workers.h"

#include <pthread.h>
#include <stdatomic.h>

#define SD_MAX_DEVICES 16

struct sd_pool;
struct sd_context;

/* A range of addresses with the table of its valid bytes; see exec/space.h. */
typedef struct sd_range {
    uint64_t base, bytes;
    char *host;
    uint16_t *valid;
    unsigned char *unwritten; /* of a device with SOFTCUDA_EXACT, else NULL: see sx_region */
} sd_range;

typedef struct sd_device {
    int ordinal;
    unsigned sm;       /* compute capability times ten */
    unsigned sm_count; /* multiprocessors: as many as the machine has cores */
    uint64_t memory;   /* bytes of memory that it claims to have */
    unsigned char uuid[16];

    /* Memory. `range` never changes once `mapped` is seen set. */
    _Atomic bool mapped;
    sd_range range;
    pthread_mutex_t lock; /* guards what follows, and the blocks of the heap */
    pthread_cond_t freed; /* a stream-ordered free has run */
    sd_heap heap;
    uint64_t committed;     /* bytes of plain allocations and of what pools have reserved */
    uint64_t pending_bytes; /* in stream-ordered frees that have not run */
    struct sd_pool *pools;  /* all pools of the device */
    struct sd_pool *default_pool;
    struct sd_pool *current_pool; /* held by its handle's reference, or by this pointer */

    /* The CUresult with which this device alone was lost; 0: it was not. It outlives the contexts:
     * new ones are refused. Written under sd.contexts_lock. */
    _Atomic int fault;

    /* Contexts, under sd.contexts_lock. */
    struct sd_context *contexts; /* live ones */
    struct sd_context *primary;  /* held; NULL while inactive */
    unsigned primary_users;
    unsigned primary_flags;

    sd_workers workers; /* run the work of its streams */
} sd_device;

typedef struct sd_driver {
    _Atomic bool ready;  /* cuInit was called */
    bool races;          /* SOFTCUDA_RACES */
    bool exact;          /* SOFTCUDA_EXACT */
    _Atomic bool forked; /* this process is a forked child, which inherited the driver without its
                          * threads */
    bool heal;           /* SOFTCUDA_HEAL: a fault ends with its context */
    int device_count;
    sd_device devices[SD_MAX_DEVICES];
    pthread_mutex_t contexts_lock; /* taken before any device's lock */
    /* The CUresult of the first kernel that faulted. As on an H100 it outlives that kernel's
     * context: all devices are lost to the process. Written under contexts_lock. */
    _Atomic int fault;
    _Atomic uint64_t next_id;      /* of contexts, streams and allocations */
    /* Grows whenever the ranges that some context can see may have changed. */
    _Atomic uint64_t space_version;
    sd_workers host_workers; /* run host functions */
} sd_driver;

extern sd_driver sd;

/* The device of that ordinal, or NULL. */
sd_device *sd_device_at(CUdevice ordinal);

/* Map the device's memory, if that was not done. A CUresult. */
unsigned sd_device_open(sd_device *device);

/* A device attribute's value; false: no such attribute. */
bool sd_device_attribute(const sd_device *device, unsigned attribute, int *value);

/* Limits that launches and occupancy calls check against. */
typedef struct sd_limits {
    unsigned shared_static, shared_optin, shared_sm; /* bytes */
    unsigned threads_sm, blocks_sm, registers_sm;
} sd_limits;
sd_limits sd_device_limits(const sd_device *device);

/* Map a range of `bytes` with its table. If `hidden`, the host faults when it touches the
 * addresses. */
bool sd_range_map(sd_range *range, uint64_t bytes, bool hidden);

#endif
