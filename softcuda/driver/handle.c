/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Handles: a table of slots. Slots are never given back to the system, so looking at one is always
 * safe. */
#include "driver/handle.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/*
 * A handle: tag (8 bits), kind (8), generation (24), slot (24). The tag makes it an address that
 * no x86-64 or AArch64 process can have, so that following a handle faults at once.
 */
#define TAG UINT64_C(0x5d)
#define CHUNK_SHIFT 10
#define CHUNK_SLOTS (1u << CHUNK_SHIFT)
#define CHUNKS (1u << 14)
#define LOW24 UINT64_C(0xffffff)

/* state: generation (24 bits) << 40, live bit << 39, references in the low 32 bits. */
#define LIVE (UINT64_C(1) << 39)
#define REFS UINT64_C(0xffffffff)
#define GENERATION(s) ((s) >> 40)

typedef struct slot {
    _Atomic uint64_t state;
    sd_object *object; /* written before the release store that makes the slot live */
    uint32_t index;
    struct slot *unused; /* links the unused slots, under table.lock */
} slot;

static struct {
    pthread_mutex_t lock;
    _Atomic(slot *) chunks[CHUNKS];
    unsigned chunk_count; /* under lock */
    slot *unused;         /* under lock */
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool add_chunk(void)
{
    if (table.chunk_count == CHUNKS)
        return false;
    slot *chunk = calloc(CHUNK_SLOTS, sizeof *chunk);
    if (!chunk)
        return false;
    for (unsigned i = CHUNK_SLOTS; i-- > 0;) {
        chunk[i].index = (table.chunk_count << CHUNK_SHIFT) + i;
        atomic_store_explicit(&chunk[i].state, UINT64_C(1) << 40, memory_order_relaxed);
        chunk[i].unused = table.unused;
        table.unused = &chunk[i];
    }
    atomic_store_explicit(&table.chunks[table.chunk_count++], chunk, memory_order_release);
    return true;
}

static slot *slot_of(const void *handle)
{
    uint64_t value = (uint64_t)(uintptr_t)handle;
    uint32_t index = (uint32_t)(value & LOW24);
    slot *chunk = atomic_load_explicit(&table.chunks[index >> CHUNK_SHIFT], memory_order_acquire);
    return chunk ? &chunk[index & (CHUNK_SLOTS - 1)] : NULL;
}

bool sd_object_publish(sd_object *object, sd_kind kind, void (*destroy)(sd_object *))
{
    pthread_mutex_lock(&table.lock);
    slot *s = table.unused || add_chunk() ? table.unused : NULL;
    if (s)
        table.unused = s->unused;
    pthread_mutex_unlock(&table.lock);
    if (!s)
        return false;
    uint64_t generation = GENERATION(atomic_load_explicit(&s->state, memory_order_relaxed));
    uint64_t value = TAG << 56 | (uint64_t)kind << 48 | generation << 24 | s->index;
    object->handle = (void *)(uintptr_t)value; /* NOLINT: a handle is a number */
    object->destroy = destroy;
    s->object = object;
    /* Release: whoever sees the slot live sees the object. */
    atomic_store_explicit(&s->state, generation << 40 | LIVE | 1, memory_order_release);
    return true;
}

void *sd_object_get(sd_kind kind, const void *handle)
{
    uint64_t value = (uint64_t)(uintptr_t)handle;
    if (value >> 48 != (TAG << 8 | (uint64_t)kind))
        return NULL;
    slot *s = slot_of(handle);
    if (!s)
        return NULL;
    uint64_t state = atomic_load_explicit(&s->state, memory_order_acquire);
    do {
        if (GENERATION(state) != (value >> 24 & LOW24) || !(state & LIVE))
            return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&s->state, &state, state + 1,
                                                    memory_order_acq_rel, memory_order_acquire));
    return s->object;
}

void sd_object_hold(sd_object *object)
{
    atomic_fetch_add_explicit(&slot_of(object->handle)->state, 1, memory_order_relaxed);
}

bool sd_object_try_hold(sd_object *object)
{
    slot *s = slot_of(object->handle);
    uint64_t state = atomic_load_explicit(&s->state, memory_order_relaxed);
    do {
        if ((state & REFS) == 0)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&s->state, &state, state + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

void sd_object_put(sd_object *object)
{
    slot *s = slot_of(object->handle);
    /* Release: what this reference did to the object. Acquire: what the others did, to free it. */
    uint64_t before = atomic_fetch_sub_explicit(&s->state, 1, memory_order_acq_rel);
    if ((before & REFS) != 1)
        return;
    uint64_t generation = (GENERATION(before) + 1) & LOW24;
    if (generation == 0)
        generation = 1;
    object->destroy(object);
    atomic_store_explicit(&s->state, generation << 40, memory_order_release);
    pthread_mutex_lock(&table.lock);
    s->unused = table.unused;
    table.unused = s;
    pthread_mutex_unlock(&table.lock);
}

bool sd_object_retire(sd_object *object)
{
    uint64_t before =
        atomic_fetch_and_explicit(&slot_of(object->handle)->state, ~LIVE, memory_order_acq_rel);
    return (before & LIVE) != 0;
}
