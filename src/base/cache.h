/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Blocks of memory in a few sizes, kept for reuse by the thread that freed them; beyond some tens
 * of KiB, by all threads. A thread may free a block that another one allocated.
 *
 * Under the address sanitizer and the thread sanitizer, every block comes from the heap and returns
 * to it, so that they see each use after a free.
 */
#ifndef ACUI_BASE_CACHE_H
#define ACUI_BASE_CACHE_H

#include "base/local.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

/* At least `bytes`, not zeroed, aligned for any type; NULL when the heap is out of memory. */
void *acui_cache_get(size_t bytes);
/* The same for an object, counted as one more of its kind. */
void *acui_cache_get_object(size_t bytes, unsigned counted);
static inline void *acui_cache_get_aside(size_t bytes, unsigned counted);
size_t acui_cache_room(const void *memory); /* the size of the block in bytes */
void acui_cache_put(void *memory);
/* Free a block whose contents remain until some tens of others have been freed in this way; then it
 * is used for another object. */
void acui_cache_put_late(void *memory);
/* The same for an object, counted as one less of its kind. */
static inline void acui_cache_put_object(void *memory, unsigned counted);
/* Return to the heap the free blocks that this thread and all threads together keep. What other
 * threads keep goes when they end. Objects whose contents are kept stay: they are recognised. */
void acui_cache_flush(void);

/* Counters of this process, summed over all threads; each thread counts in a cell of its own. */
typedef enum acui_count {
    ACUI_COUNT_ALLOCATIONS, /* requests for memory */
    ACUI_COUNT_RETURNS,     /* requests that got no new block, and blocks freed */
    ACUI_COUNT_LARGE,       /* requests for more than is kept for reuse */
    ACUI_COUNT_SUBMISSIONS, /* acu_process_statistics */
    ACUI_COUNT_DONE,
    ACUI_COUNT_FAILED,
    ACUI_COUNT_OPERATIONS,
    ACUI_COUNT_OPERATIONS_DONE,
    ACUI_COUNT_STAGED,
    ACUI_COUNT_STAGED_BYTES,
    ACUI_COUNT_STAGED_SKIPPED,
    ACUI_COUNT_OBJECTS,     /* from here on by kind: created minus freed */
    ACUI_COUNTS = ACUI_COUNT_OBJECTS + 24
} acui_count;
int64_t acui_count_sum(unsigned count);

/* ---- what each thread has of its own -------------------------------------------------------- */

enum {
    ACUI_SIZES = 17,   /* sizes of blocks */
    ACUI_SMALL = 4080, /* up to here a table gives the size class, in steps of: */
    ACUI_STEP = 16,
    ACUI_ASIDE = 32    /* objects of each size whose contents are kept */
};

/* The header in front of the memory. */
typedef struct acui_heap_block {
    uint32_t class; /* its size class */
    size_t bytes;   /* of the memory behind the header */
} acui_heap_block;

/* In the memory of a free block, behind the part that identifies a released object. */
typedef struct acui_spare {
    char object[16];
    acui_heap_block *next;  /* in a list */
    acui_heap_block *batch; /* in the first block of a batch: the next batch */
    uint32_t count;    /* in the first block: how many there are in the batch */
} acui_spare;

static inline acui_spare *acui_spare_of(void *memory)
{
    return (acui_spare *)memory;
}

typedef struct acui_kept {
    acui_heap_block *first; /* of a list */
    acui_heap_block *last;  /* for lists of objects */
    uint32_t count;
} acui_kept;

typedef struct acui_own {
    acui_kept aside[ACUI_SIZES + 1];      /* objects by size, oldest first; and larger ones */
    _Atomic(int64_t) counts[ACUI_COUNTS]; /* written by the owning thread only, relaxed */
    bool stack_known; /* and is from `low` to `high`: stack.c */
    uintptr_t stack_low, stack_high;
} acui_own;
extern ACUI_LOCAL acui_own *acui_mine; /* NULL: this thread has none yet */
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

/* The oldest of the objects that were put aside; NULL: acui_cache_get_object has to look for
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

/* There are too many: the oldest can be used again. */
void acui_cache_shorten(acui_own *own, acui_kept *aside);
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
        acui_cache_shorten(own, aside);
}

void acui_cache_put_first(void *memory, unsigned counted); /* by this thread */
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
