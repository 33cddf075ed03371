/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What kernels of one device may touch on another, and the list of ranges that a context sees. A
 * view is one context's own table of valid bytes for another device's memory: with peer access it
 * shows plain allocations, with access to a pool that pool's.
 */
#include "driver/pool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct view {
    struct view *next;
    sd_context *context; /* borrowed; the view is forgotten with it */
    sd_device *device;
    uint16_t *valid;
} view;

static struct {
    pthread_mutex_t lock; /* taken after all other locks */
    view *views;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t table_bytes(const sd_device *device)
{
    return (size_t)(device->range.bytes >> SX_GRANULE_SHIFT) * sizeof(uint16_t);
}

static bool sees(const sd_context *context, const sd_device *device, const sd_pool *pool)
{
    if (pool)
        return pool->access[context->device->ordinal] == ACU_CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return (context->peers >> device->ordinal & 1u) != 0;
}

void sd_access_publish(sd_device *device, uint64_t address, uint64_t bytes, const sd_pool *pool)
{
    pthread_mutex_lock(&all.lock);
    for (view *v = all.views; v; v = v->next)
        if (v->device == device && sees(v->context, device, pool))
            sd_table_set(v->valid, device->range.base, address, bytes);
    pthread_mutex_unlock(&all.lock);
}

void sd_access_withdraw(sd_device *device, uint64_t address, uint64_t bytes)
{
    pthread_mutex_lock(&all.lock);
    for (view *v = all.views; v; v = v->next)
        if (v->device == device)
            sd_table_clear(v->valid, device->range.base, address, bytes);
    pthread_mutex_unlock(&all.lock);
}

/* With all.lock. */
static view *find_view(const sd_context *context, const sd_device *device)
{
    for (view *v = all.views; v; v = v->next)
        if (v->context == context && v->device == device)
            return v;
    return NULL;
}

static view *make_view(sd_context *context, sd_device *device)
{
    view *v = malloc(sizeof *v);
    void *valid = mmap(NULL, table_bytes(device), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!v || valid == MAP_FAILED) {
        if (valid != MAP_FAILED)
            munmap(valid, table_bytes(device));
        free(v);
        return NULL;
    }
    *v = (view){all.views, context, device, valid};
    all.views = v;
    atomic_fetch_add_explicit(&sd.space_version, 1, memory_order_release);
    return v;
}

static bool needs_view(const sd_context *context, const sd_device *device)
{
    if (sees(context, device, NULL))
        return true;
    for (const sd_pool *pool = device->pools; pool; pool = pool->next)
        if (sees(context, device, pool))
            return true;
    return false;
}

/* Copies the valid bytes of each allocation that the context may see from the device's own
 * table. */
static void fill_view(const view *v)
{
    const sd_range *range = &v->device->range;
    for (const sd_block *b = v->device->heap.lowest; b; b = b->above) {
        if (!b->used || b->reservation)
            continue;
        size_t from = (size_t)((b->address - range->base) >> SX_GRANULE_SHIFT);
        size_t bytes = (size_t)(b->span >> SX_GRANULE_SHIFT) * sizeof(uint16_t);
        if (sees(v->context, v->device, b->pool))
            memcpy(v->valid + from, range->valid + from, bytes);
        else
            memset(v->valid + from, 0, bytes);
    }
}

unsigned sd_access_refresh(sd_context *context, sd_device *device)
{
    if (context->device == device || !atomic_load_explicit(&device->mapped, memory_order_acquire))
        return ACU_CUDA_SUCCESS;
    unsigned result = ACU_CUDA_SUCCESS;
    pthread_mutex_lock(&device->lock);
    pthread_mutex_lock(&all.lock);
    view *v = find_view(context, device);
    if (!v && needs_view(context, device)) {
        v = make_view(context, device);
        result = v ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (v)
        fill_view(v);
    pthread_mutex_unlock(&all.lock);
    pthread_mutex_unlock(&device->lock);
    return result;
}

unsigned sd_access_refresh_all(sd_device *viewer, sd_device *device)
{
    unsigned result = ACU_CUDA_SUCCESS;
    pthread_mutex_lock(&sd.contexts_lock);
    for (sd_context *c = viewer->contexts; c && !result; c = c->device_next)
        result = sd_access_refresh(c, device);
    pthread_mutex_unlock(&sd.contexts_lock);
    return result;
}

bool sd_access_set_peer(sd_context *context, const sd_device *device, bool on)
{
    unsigned bit = 1u << device->ordinal;
    pthread_mutex_lock(&all.lock);
    bool was = (context->peers & bit) != 0;
    context->peers = on ? context->peers | bit : context->peers & ~bit;
    pthread_mutex_unlock(&all.lock);
    return was != on;
}

void sd_access_forget(sd_context *context)
{
    pthread_mutex_lock(&all.lock);
    view **at = &all.views;
    while (*at) {
        view *v = *at;
        if (v->context != context) {
            at = &v->next;
            continue;
        }
        *at = v->next;
        munmap(v->valid, table_bytes(v->device));
        free(v);
    }
    pthread_mutex_unlock(&all.lock);
}

/* ---- the ranges that kernels may touch ---- */

void sd_snapshot_put(sd_snapshot *snapshot)
{
    if (snapshot && atomic_fetch_sub_explicit(&snapshot->references, 1, memory_order_acq_rel) == 1)
        free(snapshot);
}

static sx_region region_of(const sd_range *range, const uint16_t *valid)
{
    return (sx_region){range->base, range->bytes, range->host, valid, range->unwritten};
}

static sd_snapshot *build(sd_context *context, uint64_t version)
{
    size_t most = 2 + SD_MAX_DEVICES;
    pthread_mutex_lock(&sd_host.lock);
    for (const sd_registration *r = sd_host.registrations; r; r = r->next)
        most++;
    sd_snapshot *made = malloc(sizeof *made + most * sizeof made->regions[0]);
    size_t n = 0;
    if (made) {
        made->regions[n++] = region_of(&context->device->range, context->device->range.valid);
        if (atomic_load_explicit(&sd_host.mapped, memory_order_acquire))
            made->regions[n++] = region_of(&sd_host.range, sd_host.range.valid);
        for (const sd_registration *r = sd_host.registrations; r; r = r->next)
            made->regions[n++] = (sx_region){r->base, r->bytes, (char *)(uintptr_t)r->base,
                                               NULL, NULL};
    }
    pthread_mutex_unlock(&sd_host.lock);
    if (!made)
        return NULL;
    pthread_mutex_lock(&all.lock);
    for (const view *v = all.views; v && n < most; v = v->next)
        if (v->context == context)
            made->regions[n++] = region_of(&v->device->range, v->valid);
    pthread_mutex_unlock(&all.lock);
    atomic_init(&made->references, 1);
    made->version = version;
    made->count = n;
    return made;
}

sd_snapshot *sd_context_space(sd_context *context)
{
    pthread_mutex_lock(&context->lock);
    uint64_t version = atomic_load_explicit(&sd.space_version, memory_order_acquire);
    if (!context->snapshot || context->snapshot->version != version) {
        sd_snapshot_put(context->snapshot);
        context->snapshot = build(context, version);
    }
    sd_snapshot *snapshot = context->snapshot;
    if (snapshot)
        atomic_fetch_add_explicit(&snapshot->references, 1, memory_order_relaxed);
    pthread_mutex_unlock(&context->lock);
    return snapshot;
}
