/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Handles: what the program holds instead of pointers. A handle says of which kind it is and which
 * use of its slot it belongs to, so that a stale or invented handle is recognised and never
 * followed.
 */
#ifndef SOFTCUDA_DRIVER_HANDLE_H
#define SOFTCUDA_DRIVER_HANDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum sd_kind {
    SD_KIND_CONTEXT = 1,
    SD_KIND_STREAM,
    SD_KIND_EVENT,
    SD_KIND_POOL,
    SD_KIND_MODULE,
    SD_KIND_FUNCTION,
    SD_KIND_LIBRARY,
    SD_KIND_KERNEL,
    SD_KIND_GRAPH,
    SD_KIND_NODE,
    SD_KIND_EXEC,
    SD_KIND_ALLOCATION,
    SD_KIND_EXTERNAL,
} sd_kind;

struct sd_context;

/* The head of everything that has a handle. References are counted in the handle's slot. */
typedef struct sd_object {
    void *handle;
    void (*destroy)(struct sd_object *object); /* frees it; called by the last sd_object_put */
    struct sd_context *context;                /* owner; NULL for contexts and pools */
    struct sd_object *next, *previous;         /* in the owner's list, under the owner's lock */
    bool linked;                               /* it is in that list; under the same lock */
} sd_object;

/* Give `object` a handle, which owns one reference. False: out of memory. */
bool sd_object_publish(sd_object *object, sd_kind kind, void (*destroy)(sd_object *));

/* The object behind a live handle, with one more reference; NULL for any other value. */
void *sd_object_get(sd_kind kind, const void *handle);

void sd_object_hold(sd_object *object); /* the caller has a reference already */
/* The same for an object that was found in a list which does not count: false if it is about to be
 * freed. */
bool sd_object_try_hold(sd_object *object);
void sd_object_put(sd_object *object);

/*
 * End the handle; references keep the memory. True for the one call that did it, which then owes
 * the handle's own reference: sd_object_put.
 */
bool sd_object_retire(sd_object *object);

#endif
