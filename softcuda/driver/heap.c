/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The heap: free blocks in lists by size class (first fit in the first class that must fit), used
 * blocks in a treap by address, all blocks in one chain by address so that neighbours merge.
 */
#include "driver/heap.h"

#include <stdlib.h>

/* Eight classes to each power of two: the three bits below the highest one. */
static unsigned class_of(uint64_t span)
{
    uint64_t units = span / SD_HEAP_ALIGN;
    unsigned log = 63 - (unsigned)__builtin_clzll(units);
    unsigned fine =
        log >= 3 ? (unsigned)(units >> (log - 3)) & 7 : (unsigned)(units << (3 - log)) & 7;
    return log * 8 + fine;
}

static void list_insert(sd_heap *heap, sd_block *block)
{
    unsigned class = class_of(block->span);
    block->previous = NULL;
    block->next = heap->free_lists[class];
    if (block->next)
        block->next->previous = block;
    heap->free_lists[class] = block;
    heap->filled[class / 64] |= UINT64_C(1) << class % 64;
}

static void list_remove(sd_heap *heap, sd_block *block)
{
    unsigned class = class_of(block->span);
    if (block->next)
        block->next->previous = block->previous;
    if (block->previous)
        block->previous->next = block->next;
    else
        heap->free_lists[class] = block->next;
    if (!heap->free_lists[class])
        heap->filled[class / 64] &= ~(UINT64_C(1) << class % 64);
}

/* The first class at or above `class` that has a block. */
static unsigned next_filled(const sd_heap *heap, unsigned class)
{
    for (unsigned word = class / 64; word < SD_HEAP_CLASSES / 64; word++) {
        uint64_t bits = heap->filled[word];
        if (word == class / 64)
            bits &= ~UINT64_C(0) << class % 64;
        if (bits)
            return word * 64 + (unsigned)__builtin_ctzll(bits);
    }
    return SD_HEAP_CLASSES;
}

static uint64_t align_of(uint64_t bytes)
{
    return bytes >= SD_HEAP_LARGE ? SD_HEAP_LARGE : SD_HEAP_ALIGN;
}

/* What an allocation takes: itself, and a gap. */
static uint64_t span_of(uint64_t bytes)
{
    return ((bytes + SD_HEAP_ALIGN - 1) & ~(SD_HEAP_ALIGN - 1)) + align_of(bytes);
}

/* The bytes in front of the first address in the block that the allocation can have. */
static uint64_t front_of(const sd_block *block, uint64_t bytes)
{
    return -block->address & (align_of(bytes) - 1);
}

bool sd_heap_fits(const sd_block *block, uint64_t bytes)
{
    return bytes <= block->span && span_of(bytes) <= block->span && !front_of(block, bytes);
}

static sd_block *first_fit(const sd_heap *heap, unsigned class, uint64_t bytes, unsigned most)
{
    for (sd_block *b = heap->free_lists[class]; b && most; b = b->next, most--)
        if (b->span >= span_of(bytes) + front_of(b, bytes))
            return b;
    return NULL;
}

static sd_block *find_free(const sd_heap *heap, uint64_t bytes)
{
    const unsigned first = class_of(span_of(bytes));
    /* At and above this class every block is large enough, wherever it begins. */
    const unsigned sure = class_of(span_of(bytes) + align_of(bytes)) + 1;
    sd_block *found = NULL;
    /* In the classes before it some are too small: look at some, but not for long. */
    for (unsigned c = next_filled(heap, first); c < sure && !found; c = next_filled(heap, c + 1))
        found = first_fit(heap, c, bytes, 16);
    const unsigned class = found ? SD_HEAP_CLASSES : next_filled(heap, sure);
    if (class < SD_HEAP_CLASSES)
        return heap->free_lists[class];
    for (unsigned c = next_filled(heap, first); c < sure && !found; c = next_filled(heap, c + 1))
        found = first_fit(heap, c, bytes, UINT32_MAX);
    return found;
}

static void rotate(sd_block **at, bool right)
{
    sd_block *top = *at;
    sd_block *up = right ? top->left : top->right;
    if (right) {
        top->left = up->right;
        up->right = top;
    } else {
        top->right = up->left;
        up->left = top;
    }
    *at = up;
}

static void tree_insert(sd_block **at, sd_block *block)
{
    if (!*at) {
        *at = block;
        return;
    }
    bool right = block->address > (*at)->address;
    tree_insert(right ? &(*at)->right : &(*at)->left, block);
    sd_block *child = right ? (*at)->right : (*at)->left;
    if (child->rank > (*at)->rank)
        rotate(at, !right);
}

static void tree_remove(sd_block **at, sd_block *block)
{
    while (*at != block)
        at = block->address > (*at)->address ? &(*at)->right : &(*at)->left;
    while (block->left && block->right) {
        bool right = block->left->rank > block->right->rank;
        rotate(at, right);
        at = right ? &(*at)->right : &(*at)->left;
    }
    *at = block->left ? block->left : block->right;
    block->left = block->right = NULL;
}

static uint32_t next_rank(sd_heap *heap)
{
    heap->random ^= heap->random << 13; /* xorshift64 */
    heap->random ^= heap->random >> 7;
    heap->random ^= heap->random << 17;
    return (uint32_t)(heap->random >> 32);
}

bool sd_heap_init(sd_heap *heap, uint64_t base, uint64_t bytes)
{
    sd_block *block = calloc(1, sizeof *block);
    if (!block)
        return false;
    *heap = (sd_heap){.base = base, .bytes = bytes, .random = UINT64_C(0x9e3779b97f4a7c15)};
    block->address = base;
    block->span = bytes;
    heap->lowest = block;
    list_insert(heap, block);
    return true;
}

/* Cuts off what lies above the first `span` bytes, as a block in no list; NULL: out of memory. */
static sd_block *split(sd_block *block, uint64_t span)
{
    sd_block *rest = calloc(1, sizeof *rest);
    if (!rest)
        return NULL;
    rest->address = block->address + span;
    rest->span = block->span - span;
    rest->below = block;
    rest->above = block->above;
    if (rest->above)
        rest->above->below = rest;
    block->above = rest;
    block->span = span;
    return rest;
}

sd_block *sd_heap_alloc(sd_heap *heap, uint64_t bytes)
{
    if (bytes > heap->bytes)
        return NULL;
    sd_block *block = find_free(heap, bytes);
    if (!block)
        return NULL;
    list_remove(heap, block);
    const uint64_t front = front_of(block, bytes), span = span_of(bytes);
    if (front) {
        sd_block *upper = split(block, front);
        list_insert(heap, block);
        if (!upper)
            return NULL;
        block = upper;
    }
    if (block->span > span) {
        sd_block *rest = split(block, span);
        if (rest) /* else the block keeps it */
            list_insert(heap, rest);
    }
    block->used = true;
    block->size = bytes;
    block->rank = next_rank(heap);
    tree_insert(&heap->root, block);
    return block;
}

/* `block` swallows its free upper neighbour, which is in no list. */
static void merge_above(sd_block *block)
{
    sd_block *gone = block->above;
    block->span += gone->span;
    block->above = gone->above;
    if (block->above)
        block->above->below = block;
    free(gone);
}

sd_block *sd_heap_free(sd_heap *heap, sd_block *block)
{
    tree_remove(&heap->root, block);
    block->used = false;
    block->context = NULL;
    block->pool = NULL;
    if (block->above && !block->above->used) {
        list_remove(heap, block->above);
        merge_above(block);
    }
    if (block->below && !block->below->used) {
        block = block->below;
        list_remove(heap, block);
        merge_above(block);
    }
    list_insert(heap, block);
    return block;
}

sd_block *sd_heap_find(const sd_heap *heap, uint64_t address)
{
    sd_block *at = heap->root;
    while (at) {
        if (address < at->address)
            at = at->left;
        else if (address - at->address >= at->span)
            at = at->right;
        else
            return at;
    }
    return NULL;
}
