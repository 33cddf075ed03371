/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Blocks kept for reuse, and counters, both per thread. */
#include "base/cache.h"

#include "base/fork.h"
#include "base/local.h"
#include "base/lock.h"
#include "base/rare.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KEEP_BLOCKS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KEEP_BLOCKS 0
#endif
#endif
#ifndef KEEP_BLOCKS
#define KEEP_BLOCKS 1
#endif

enum {
    CLASSES = ACUI_SIZES,
    LARGEST = 65520,
    SMALL = ACUI_SMALL,
    STEP = ACUI_STEP,
    LARGE = CLASSES,    /* the class of blocks that are not kept */
    KEPT = 32 * 1024,   /* bytes of a class that a thread keeps at most; half of it is moved at
                         * once */
    SHARED = 4 << 20    /* bytes of a class that are kept for all threads, at most */
};

/* Sizes of blocks, without the header. */
static const uint32_t sizes[CLASSES] = {48,   112,  176,  240,  368,  496,   752,   1008, 1504,
                                        1632, 2032, 3056, 4080, 8176, 16368, 32752, 65520};

typedef acui_heap_block block;
_Static_assert(sizeof(block) % 16 == 0, "what follows the header is aligned for any type");

static inline acui_spare *spare_of(block *b)
{
    return acui_spare_of(b + 1);
}

typedef struct local {
    acui_own own;
    struct local *next, **link; /* in the list of all such threads; registry lock */
    acui_kept free[CLASSES];
} local;

static struct {
    acui_lock lock;
    local *threads;
    int64_t counts[ACUI_COUNTS]; /* of threads that have ended */
    block *batches[CLASSES];     /* of free blocks, for any thread */
    size_t bytes[CLASSES];       /* in these batches */
} shared;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool have_key;
ACUI_LOCAL acui_own *acui_mine;
uint8_t acui_classes[SMALL / STEP + 1];
static uint32_t most[CLASSES]; /* blocks that a thread keeps at most */

static void free_list(block *first)
{
    while (first) {
        block *next = spare_of(first)->next;
        free(first);
        first = next;
    }
}

/* ---- batches: lock held ---- */

static void give_batch(block *first, uint32_t count)
{
    uint32_t class = first->class;
    if (shared.bytes[class] + (size_t)count * sizes[class] > SHARED) {
        free_list(first);
        return;
    }
    spare_of(first)->count = count;
    spare_of(first)->batch = shared.batches[class];
    shared.batches[class] = first;
    shared.bytes[class] += (size_t)count * sizes[class];
}

static block *take_batch(uint32_t class)
{
    block *first = shared.batches[class];
    if (first) {
        shared.batches[class] = spare_of(first)->batch;
        shared.bytes[class] -= (size_t)spare_of(first)->count * sizes[class];
    }
    return first;
}

/* ---- threads ---- */

static void give_free(local *l)
{
    for (uint32_t class = 0; class < CLASSES; class++) {
        acui_kept *kept = &l->free[class];
        if (kept->count)
            give_batch(kept->first, kept->count);
        *kept = (acui_kept){.first = NULL};
    }
}

static void thread_ends(void *context)
{
    local *l = context;
    if (acui_forked()) /* a thread of the parent may have held the lock */
        return;
    acui_mine = NULL;
    for (uint32_t class = 0; class <= LARGE; class++)
        free_list(l->own.aside[class].first);
    acui_lock_take(&shared.lock);
    give_free(l);
    for (unsigned i = 0; i < ACUI_COUNTS; i++)
        shared.counts[i] += atomic_load_explicit(&l->own.counts[i], memory_order_relaxed);
    *l->link = l->next;
    if (l->next)
        l->next->link = l->link;
    acui_lock_give(&shared.lock);
    free(l);
}

static void prepare(void)
{
    unsigned class = 0;
    for (unsigned i = 0; i <= SMALL / STEP; i++) {
        while (sizes[class] < i * STEP)
            class++;
        acui_classes[i] = (uint8_t)class;
    }
    for (class = 0; class < CLASSES; class++)
        most[class] = KEPT / sizes[class] > 4 ? KEPT / sizes[class] : 4;
    have_key = pthread_key_create(&key, thread_ends) == 0;
}

/* Creates this thread's own; NULL if there is no memory for it, and the heap serves the thread. */
ACUI_RARE static local *begin_thread(void)
{
    if (acui_forked())
        return NULL;
    pthread_once(&once, prepare);
    local *l = have_key ? calloc(1, sizeof *l) : NULL;
    if (!l)
        return NULL;
    if (pthread_setspecific(key, l) != 0) {
        free(l);
        return NULL;
    }
    acui_lock_take(&shared.lock);
    l->next = shared.threads;
    l->link = &shared.threads;
    if (l->next)
        l->next->link = &l->next;
    shared.threads = l;
    acui_lock_give(&shared.lock);
    acui_mine = &l->own;
    return l;
}

/* NULL: this thread has none. */
static inline local *local_of_thread(void)
{
    return (local *)(void *)acui_mine; /* `own` is its first member */
}

static inline local *of_thread(void)
{
    local *l = local_of_thread();
    return l ? l : begin_thread();
}

/* ---- blocks ---- */

ACUI_RARE static block *refill(local *l, uint32_t class)
{
    if (acui_forked())
        return NULL;
    acui_lock_take(&shared.lock);
    block *first = take_batch(class);
    acui_lock_give(&shared.lock);
    if (first)
        l->free[class] = (acui_kept){.first = first, .count = spare_of(first)->count};
    return first;
}

static uint32_t class_of(size_t bytes)
{
    if (bytes <= SMALL)
        return acui_classes[(bytes + STEP - 1) / STEP];
    uint32_t class = CLASSES - 1;
    while (sizes[class - 1] >= bytes)
        class--;
    return class;
}

/* Takes the first block of a list that is not empty. */
static inline block *take_first(acui_kept *kept)
{
    block *b = kept->first;
    kept->first = spare_of(b)->next;
    kept->count--;
    return b;
}

ACUI_RARE static block *get_new(size_t bytes, uint32_t class)
{
    size_t room = class == LARGE ? bytes : sizes[class];
    if (room > SIZE_MAX - sizeof(block))
        return NULL;
    block *b = malloc(sizeof *b + room);
    if (!b)
        return NULL;
    b->class = class;
    b->bytes = room;
    return b;
}

static block *find_block(size_t bytes)
{
    local *l = of_thread();
    if (bytes > LARGEST)
        acui_count_add(ACUI_COUNT_LARGE, 1);
    if (!l || !KEEP_BLOCKS || bytes > LARGEST)
        return get_new(bytes, LARGE);
    uint32_t class = class_of(bytes);
    if (l->free[class].first || refill(l, class))
        return take_first(&l->free[class]);
    return get_new(bytes, class);
}

/* For requests that the thread's own blocks can not serve. */
ACUI_RARE static void *get_slowly(size_t bytes)
{
    block *b = find_block(bytes);
    acui_count_add(ACUI_COUNT_ALLOCATIONS, 1);
    if (!b)
        acui_count_add(ACUI_COUNT_RETURNS, 1);
    return b ? b + 1 : NULL;
}

/* acui_count_add, for a thread whose cells are at hand. */
static inline void count(local *l, unsigned count)
{
    atomic_store_explicit(&l->own.counts[count],
                          atomic_load_explicit(&l->own.counts[count], memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

void *acui_cache_get(size_t bytes)
{
    local *l = local_of_thread();
    if (!KEEP_BLOCKS || !l || bytes > SMALL)
        return get_slowly(bytes);
    acui_kept *kept = &l->free[acui_classes[(bytes + STEP - 1) / STEP]];
    if (!kept->first)
        return get_slowly(bytes);
    count(l, ACUI_COUNT_ALLOCATIONS);
    return take_first(kept) + 1;
}

void *acui_cache_get_object(size_t bytes, unsigned counted)
{
    void *memory = acui_cache_get_aside(bytes, counted);
    if (memory)
        return memory;
    memory = acui_cache_get(bytes);
    if (memory)
        acui_count_add(counted, 1);
    return memory;
}

size_t acui_cache_room(const void *memory)
{
    return ((const block *)memory - 1)->bytes;
}

/* Moves half of what the thread keeps of the class to the lists for all threads. */
ACUI_RARE static void give_half(acui_kept *kept)
{
    if (acui_forked())
        return;
    uint32_t half = kept->count / 2;
    block *first = kept->first, *last = first;
    for (uint32_t i = 1; i < half; i++)
        last = spare_of(last)->next;
    kept->first = spare_of(last)->next;
    spare_of(last)->next = NULL;
    kept->count -= half;
    acui_lock_take(&shared.lock);
    give_batch(first, half);
    acui_lock_give(&shared.lock);
}

static inline void put_block(local *l, block *b, uint32_t class)
{
    if (!l || class == LARGE) {
        free(b);
        return;
    }
    acui_kept *kept = &l->free[class];
    spare_of(b)->next = kept->first;
    kept->first = b;
    if (++kept->count > most[class])
        give_half(kept);
}

ACUI_RARE static void put_without(block *b)
{
    acui_count_add(ACUI_COUNT_RETURNS, 1);
    put_block(of_thread(), b, b->class);
}

void acui_cache_put(void *memory)
{
    local *l = local_of_thread();
    block *b = (block *)memory - 1;
    if (!l) {
        put_without(b);
        return;
    }
    count(l, ACUI_COUNT_RETURNS);
    put_block(l, b, b->class);
}

void acui_cache_put_late(void *memory)
{
    local *l = of_thread();
    block *b = (block *)memory - 1;
    if (!l) {
        put_without(b);
        return;
    }
    count(l, ACUI_COUNT_RETURNS);
    acui_put_aside(&l->own, b);
}

void acui_cache_put_first(void *memory, unsigned counted)
{
    acui_count_add(counted, -1);
    acui_cache_put_late(memory);
}

void acui_cache_shorten(acui_own *own, acui_kept *aside)
{
    block *oldest = aside->first;
    aside->first = spare_of(oldest)->next;
    aside->count--;
    put_block((local *)(void *)own, oldest, oldest->class); /* `own` is its first member */
}

void acui_cache_flush(void)
{
    local *l = local_of_thread();
    acui_lock_take(&shared.lock);
    if (l)
        give_free(l);
    for (uint32_t class = 0; class < CLASSES; class++) {
        block *first;
        while ((first = take_batch(class)))
            free_list(first);
    }
    acui_lock_give(&shared.lock);
}

/* ---- counts ---- */

void acui_count_first(unsigned count, int64_t n)
{
    local *l = of_thread();
    if (l) {
        acui_count_add(count, n);
        return;
    }
    if (acui_forked())
        return;
    acui_lock_take(&shared.lock);
    shared.counts[count] += n;
    acui_lock_give(&shared.lock);
}

int64_t acui_count_sum(unsigned count)
{
    if (acui_forked())
        return 0;
    acui_lock_take(&shared.lock);
    int64_t sum = shared.counts[count];
    for (const local *l = shared.threads; l; l = l->next)
        sum += atomic_load_explicit(&l->own.counts[count], memory_order_relaxed);
    acui_lock_give(&shared.lock);
    return sum;
}
