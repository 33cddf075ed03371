/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Blocks of memory in a few sizes, kept for reuse: by the thread that freed them, and beyond some
 * tens of KiB by all. A block may be freed by another thread than took it.
 *
 * Under the address and the thread sanitizer every block comes from the heap and goes back there,
 * so that these see each use after a free.
 */
#ifndef ACUI_BASE_CACHE_H
#define ACUI_BASE_CACHE_H

#include "base/local.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* At least `bytes`, not zeroed, aligned for any type; NULL when the heap is out of memory. */
void *acui_cache_get(size_t bytes);
/* The same for an object: one more of its kind, which is counted there. */
void *acui_cache_get_object(size_t bytes, unsigned counted);
static inline void *acui_cache_get_aside(size_t bytes, unsigned counted);
size_t acui_cache_room(const void *memory); /* how many bytes the block has */
void acui_cache_put(void *memory);
/* The same, but the block keeps its contents, and is for an object, after some tens of others. */
void acui_cache_put_late(void *memory);
/* The same for an object: one less of its kind, which is counted there. */
static inline void acui_cache_put_object(void *memory, unsigned counted);
/* What is kept by this thread and by all goes back to the heap; other threads' when they end. */
void acui_cache_flush(void);

/* Counts of this process, added up over all threads; each thread counts in a cell of its own. */
typedef enum acui_count {
    ACUI_COUNT_ALLOCATIONS, /* calls for memory */
    ACUI_COUNT_RETURNS,     /* of these, such as got no new block, and blocks freed */
    ACUI_COUNT_SUBMISSIONS, /* acu_counters */
    ACUI_COUNT_DONE,
    ACUI_COUNT_FAILED,
    ACUI_COUNT_OPERATIONS,
    ACUI_COUNT_OPERATIONS_DONE,
    ACUI_COUNT_STAGED,
    ACUI_COUNT_STAGED_BYTES,
    ACUI_COUNT_STAGED_SKIPPED,
    ACUI_COUNT_OBJECTS,     /* by kind from here on: made less freed */
    ACUI_COUNTS = ACUI_COUNT_OBJECTS + 24
} acui_count;
int64_t acui_count_sum(unsigned count);

/* ---- what each thread has of its own -------------------------------------------------------- */

enum {
    ACUI_SIZES = 17,   /* of blocks */
    ACUI_SMALL = 4080, /* up to here the size for so many bytes is looked up, in steps of: */
    ACUI_STEP = 16,
    ACUI_ASIDE = 32    /* objects of a size that are kept as they were */
};

/* In front of the memory. */
typedef struct acui_heap_block {
    uint32_t class; /* its size */
    size_t bytes;   /* that follow */
} acui_heap_block;

/* In the memory of a free block, behind what tells a released object. */
typedef struct acui_spare {
    char object[16];
    acui_heap_block *next;  /* of a list */
    acui_heap_block *batch; /* of the first block of a batch: the next batch */
    uint32_t count;    /* the same: how many there are */
} acui_spare;

static inline acui_spare *acui_spare_of(void *memory)
{
    return (acui_spare *)memory;
}

typedef struct acui_kept {
    acui_heap_block *first; /* of a list */
    acui_heap_block *last;  /* the same, if it is of objects */
    uint32_t count;
} acui_kept;

typedef struct acui_own {
    acui_kept aside[ACUI_SIZES + 1];      /* objects by size, the oldest first; and larger ones */
    _Atomic(int64_t) counts[ACUI_COUNTS]; /* written by its thread alone, relaxed */
} acui_own;
extern ACUI_LOCAL acui_own *acui_mine; /* NULL: nothing yet */
extern uint8_t acui_classes[ACUI_SMALL / ACUI_STEP + 1];

static inline void acui_count_own(acui_own *own, unsigned count, int64_t n)
{
    _Atomic(int64_t) *cell = &own->counts[count];
    atomic_store_explicit(cell, atomic_load_explicit(cell, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

void acui_count_first(unsigned count, int64_t n);
static inline void acui_count_add(unsigned count, int64_t n)
{
    acui_own *own = acui_mine;
    if (own)
        acui_count_own(own, count, n);
    else
        acui_count_first(count, n);
}

/* Of the objects that were put aside the oldest one; NULL: acui_cache_get_object has to look for
 * memory. */
static inline void *acui_cache_get_aside(size_t bytes, unsigned counted)
{
    acui_own *own = acui_mine;
    if (!own || bytes > ACUI_SMALL)
        return NULL;
    acui_kept *aside = &own->aside[acui_classes[(bytes + ACUI_STEP - 1) / ACUI_STEP]];
    if (aside->count <= ACUI_ASIDE)
        return NULL;
    void *memory = aside->first + 1;
    aside->first = acui_spare_of(memory)->next;
    aside->count--;
    acui_count_own(own, ACUI_COUNT_ALLOCATIONS, 1);
    acui_count_own(own, counted, 1);
    return memory;
}

void acui_cache_shorten(acui_kept *aside); /* there are too many */
static inline void acui_put_aside(acui_own *own, acui_heap_block *block)
{
    acui_kept *aside = &own->aside[block->class];
    acui_spare_of(block + 1)->next = NULL;
    if (aside->first)
        acui_spare_of(aside->last + 1)->next = block;
    else
        aside->first = block;
    aside->last = block;
    if (++aside->count > 2 * ACUI_ASIDE)
        acui_cache_shorten(aside);
}

void acui_cache_put_first(void *memory, unsigned counted); /* of this thread's */
static inline void acui_cache_put_object(void *memory, unsigned counted)
{
    acui_own *own = acui_mine;
    if (!own) {
        acui_cache_put_first(memory, counted);
        return;
    }
    acui_count_own(own, counted, -1);
    acui_count_own(own, ACUI_COUNT_RETURNS, 1);
    acui_put_aside(own, (acui_heap_block *)memory - 1);
}

#endif
