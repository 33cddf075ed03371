/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * malloc and free for kernels: a fixed heap of device memory for each module that names them. The
 * bookkeeping is on the host, in address order, so that a kernel that writes past its memory does
 * not break it.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "exec/machine.h"

#define HEAP_BYTES (UINT64_C(8) << 20) /* CUDA's own default */
#define HEAP_ALIGN UINT64_C(16)

typedef struct piece {
    uint64_t offset, bytes;
} piece;

struct sx_heap {
    pthread_mutex_t lock;
    uint64_t base;
    piece *pieces; /* in use, by offset */
    size_t count, room;
};

sx_heap *sx_heap_create(const sx_allocator *allocator)
{
    sx_heap *h = calloc(1, sizeof *h);
    if (!h)
        return NULL;
    h->base = allocator->alloc(allocator->owner, HEAP_BYTES, 256);
    if (!h->base || pthread_mutex_init(&h->lock, NULL)) {
        free(h);
        return NULL;
    }
    return h;
}

void sx_heap_destroy(sx_heap *heap, const sx_allocator *allocator)
{
    if (!heap)
        return;
    allocator->free(allocator->owner, heap->base);
    pthread_mutex_destroy(&heap->lock);
    free(heap->pieces);
    free(heap);
}

/* First fit: finds where a gap of `bytes` begins, and between which pieces. Under the lock. */
static bool find_gap(const sx_heap *h, uint64_t bytes, uint64_t *offset, size_t *at)
{
    uint64_t end = 0;
    for (size_t n = 0; n <= h->count; n++) {
        uint64_t limit = n < h->count ? h->pieces[n].offset : HEAP_BYTES;
        if (limit - end >= bytes) {
            *offset = end;
            *at = n;
            return true;
        }
        if (n < h->count)
            end = h->pieces[n].offset + h->pieces[n].bytes;
    }
    return false;
}

static bool make_room(sx_heap *h)
{
    if (h->count < h->room)
        return true;
    size_t room = h->room ? 2 * h->room : 64;
    piece *pieces = realloc(h->pieces, room * sizeof *pieces);
    if (!pieces)
        return false;
    h->pieces = pieces;
    h->room = room;
    return true;
}

/* A device address; 0, as from malloc on a GPU, if the heap is used up. */
uint64_t sx_heap_alloc(sx_heap *h, uint64_t bytes)
{
    if (!h || bytes > HEAP_BYTES)
        return 0;
    bytes = bytes ? (bytes + HEAP_ALIGN - 1) & ~(HEAP_ALIGN - 1) : HEAP_ALIGN;
    uint64_t offset = 0;
    size_t at = 0;
    pthread_mutex_lock(&h->lock);
    bool found = make_room(h) && find_gap(h, bytes, &offset, &at);
    if (found) {
        memmove(&h->pieces[at + 1], &h->pieces[at], (h->count - at) * sizeof *h->pieces);
        h->pieces[at] = (piece){offset, bytes};
        h->count++;
    }
    pthread_mutex_unlock(&h->lock);
    return found ? h->base + offset : 0;
}

/* False: no allocation starts at that address. */
bool sx_heap_free(sx_heap *h, uint64_t address)
{
    if (!h)
        return false;
    pthread_mutex_lock(&h->lock);
    size_t low = 0, high = h->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (h->pieces[middle].offset < address - h->base)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < h->count && h->pieces[low].offset == address - h->base;
    if (found) {
        h->count--;
        memmove(&h->pieces[low], &h->pieces[low + 1], (h->count - low) * sizeof *h->pieces);
    }
    pthread_mutex_unlock(&h->lock);
    return found;
}
