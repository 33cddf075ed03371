/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A range of addresses, cut into blocks: which blocks are free, and which block an address lies in.
 * The heap never touches the memory itself, and has no lock: its owner locks.
 */
#ifndef SOFTCUDA_DRIVER_HEAP_H
#define SOFTCUDA_DRIVER_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Addresses of blocks, and from SD_HEAP_LARGE bytes on, of large ones: some programs rely on pages,
 * since that is what GPUs give. A gap of the same size follows each, so that what runs over an end
 * hits no neighbour.
 */
#define SD_HEAP_ALIGN ((uint64_t)512)
#define SD_HEAP_LARGE ((uint64_t)4096)

struct sd_context;
struct sd_pool;
struct sd_reservation;
struct sd_stream;

typedef struct sd_block {
    uint64_t address, span;           /* multiples of SD_HEAP_ALIGN; the gap included */
    struct sd_block *below, *above;   /* neighbours by address */
    struct sd_block *next, *previous; /* in the list of free blocks of its size */
    struct sd_block *left, *right;    /* children in the tree of used blocks */
    uint32_t rank;                    /* the tree is a heap over these random numbers */
    bool used;

    /* Used by the heap's owner, while the block is used. */
    uint64_t size;              /* bytes asked for */
    uint64_t id;                /* never repeats in the process */
    struct sd_context *context; /* the context that allocated it, borrowed; the block is freed with
                                 * it */
    struct sd_pool *pool;       /* NULL: not stream-ordered */
    unsigned flags;
    struct sd_reservation *reservation; /* addresses without memory of their own; virtual.h */

    /* A stream-ordered free that has not run yet. */
    struct sd_stream *freed_on; /* held; NULL while the allocation is live */
    uint64_t freed_at;          /* place of the free on that stream */
    uint64_t free_token;        /* which free owns the block now; 0: none */
    struct sd_block *next_pending, *previous_pending;
} sd_block;

#define SD_HEAP_CLASSES 320

typedef struct sd_heap {
    uint64_t base, bytes;
    sd_block *lowest;
    sd_block *root;
    sd_block *free_lists[SD_HEAP_CLASSES];
    uint64_t filled[SD_HEAP_CLASSES / 64]; /* which lists are not empty */
    uint64_t random;
} sd_heap;

bool sd_heap_init(sd_heap *heap, uint64_t base, uint64_t bytes);

/* A used block of at least `bytes` (not 0), or NULL. */
sd_block *sd_heap_alloc(sd_heap *heap, uint64_t bytes);
/* Whether the block could hold an allocation of that size as it is, with the gap behind it. */
bool sd_heap_fits(const sd_block *block, uint64_t bytes);

/* Returns the free block that the block is part of now. */
sd_block *sd_heap_free(sd_heap *heap, sd_block *block);

/* The used block whose span holds `address`, or NULL. */
sd_block *sd_heap_find(const sd_heap *heap, uint64_t address);

#endif
