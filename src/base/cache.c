/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Blocks kept for reuse, and counters, both by thread. */
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

/* Sizes of blocks, without the header. */
static const uint32_t sizes[] = {48,   112,  176,  240,  368,  496,   752,   1008, 1504,
                                 1632, 2032, 3056, 4080, 8176, 16368, 32752, 65520};

enum {
    CLASSES = sizeof sizes / sizeof *sizes,
    LARGEST = 65520,
    SMALL = 4080,       /* up to here sizes are looked up, in steps of: */
    STEP = 16,
    LARGE = CLASSES,    /* class of what is not kept */
    KEPT = 32 * 1024,   /* bytes of a class that a thread keeps, at most;
                         * half of it moves at once */
    SHARED = 4 << 20,   /* bytes of a class that are kept for all, at most */
    LATE = 256          /* blocks of a thread that are not reused yet */
};

/* In front of the memory. */
typedef struct block {
    uint32_t class;
    size_t bytes; /* that follow */
} block;
_Static_assert(sizeof(block) % 16 == 0, "what follows the header is aligned for any type");

/* In the memory of a free block, behind what tells a released object. */
typedef struct spare {
    char object[16];
    block *next;    /* of a list */
    block *batch;   /* of the first block of a batch: the next batch */
    uint32_t count; /* the same: how many there are */
} spare;

static inline spare *spare_of(block *b)
{
    return (spare *)(void *)(b + 1);
}

typedef struct local {
    struct local *next, **link; /* of all threads that have one; registry lock */
    struct kept {
        block *first; /* of a list */
        uint32_t count;
    } free[CLASSES];
    block *late[LATE];
    uint8_t late_class[LATE]; /* of these */
    unsigned late_at;
    _Atomic(int64_t) counts[ACUI_COUNTS]; /* written by its thread alone, relaxed */
} local;

static struct {
    acui_lock lock;
    local *threads;
    int64_t counts[ACUI_COUNTS]; /* of threads that ended */
    block *batches[CLASSES];     /* of free blocks, for any thread */
    size_t bytes[CLASSES];       /* in them */
} shared;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool have_key;
static ACUI_LOCAL local *mine;

static uint8_t classes[SMALL / STEP + 1];
static uint32_t most[CLASSES]; /* blocks that a thread keeps */

/* ---- batches: lock held ---- */

static void give_batch(block *first, uint32_t count)
{
    uint32_t class = first->class;
    if (shared.bytes[class] + (size_t)count * sizes[class] > SHARED) {
        while (first) {
            block *next = spare_of(first)->next;
            free(first);
            first = next;
        }
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

static void give_all(local *l)
{
    for (unsigned i = 0; i < LATE; i++) {
        block *b = l->late[i];
        l->late[i] = NULL;
        free(b);
    }
    for (uint32_t class = 0; class < CLASSES; class++) {
        struct kept *kept = &l->free[class];
        if (kept->count)
            give_batch(kept->first, kept->count);
        *kept = (struct kept){.first = NULL};
    }
}

static void thread_ends(void *context)
{
    local *l = context;
    if (acui_forked()) /* the lock may be held for good */
        return;
    mine = NULL;
    acui_counts = NULL;
    acui_lock_take(&shared.lock);
    give_all(l);
    for (unsigned i = 0; i < ACUI_COUNTS; i++)
        shared.counts[i] += atomic_load_explicit(&l->counts[i], memory_order_relaxed);
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
        classes[i] = (uint8_t)class;
    }
    for (class = 0; class < CLASSES; class++)
        most[class] = KEPT / sizes[class] > 4 ? KEPT / sizes[class] : 4;
    have_key = pthread_key_create(&key, thread_ends) == 0;
}

/* This thread's own; NULL if there is no memory for one: then the heap serves it. */
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
    mine = l;
    return l;
}

static inline local *of_thread(void)
{
    return mine ? mine : begin_thread();
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
        l->free[class] = (struct kept){.first = first, .count = spare_of(first)->count};
    return first;
}

static uint32_t class_of(size_t bytes)
{
    if (bytes <= SMALL)
        return classes[(bytes + STEP - 1) / STEP];
    uint32_t class = CLASSES - 1;
    while (sizes[class - 1] >= bytes)
        class--;
    return class;
}

/* The first block of those that the thread keeps, which has some. */
static inline block *take_first(struct kept *kept)
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
    if (!l || !KEEP_BLOCKS || bytes > LARGEST)
        return get_new(bytes, LARGE);
    uint32_t class = class_of(bytes);
    if (l->free[class].first || refill(l, class))
        return take_first(&l->free[class]);
    return get_new(bytes, class);
}

/* Where the thread has no block of its own to give. */
ACUI_RARE static void *get_slowly(size_t bytes)
{
    block *b = find_block(bytes);
    acui_count_add(ACUI_COUNT_ALLOCATIONS, 1);
    if (!b)
        acui_count_add(ACUI_COUNT_RETURNS, 1);
    return b ? b + 1 : NULL;
}

/* acui_count_add, where the thread's cells are at hand. */
static inline void count(local *l, unsigned count)
{
    atomic_store_explicit(&l->counts[count],
                          atomic_load_explicit(&l->counts[count], memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

void *acui_cache_get(size_t bytes)
{
    local *l = mine;
    if (!KEEP_BLOCKS || !l || bytes > SMALL)
        return get_slowly(bytes);
    struct kept *kept = &l->free[classes[(bytes + STEP - 1) / STEP]];
    if (!kept->first)
        return get_slowly(bytes);
    count(l, ACUI_COUNT_ALLOCATIONS);
    return take_first(kept) + 1;
}

size_t acui_cache_room(const void *memory)
{
    return ((const block *)memory - 1)->bytes;
}

/* Half of what the thread keeps of the class goes to all. */
ACUI_RARE static void give_half(struct kept *kept)
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
    struct kept *kept = &l->free[class];
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
    local *l = mine;
    block *b = (block *)memory - 1;
    if (!l) {
        put_without(b);
        return;
    }
    count(l, ACUI_COUNT_RETURNS);
    put_block(l, b, b->class);
}

static inline void put_late(local *l, void *memory)
{
    block *b = (block *)memory - 1, *oldest = l->late[l->late_at];
    /* What is in the oldest one was not touched for long: nobody waits for its memory here. */
    uint32_t class = l->late_class[l->late_at];
    l->late[l->late_at] = b;
    l->late_class[l->late_at] = (uint8_t)b->class;
    l->late_at = (l->late_at + 1) % LATE;
    count(l, ACUI_COUNT_RETURNS);
    if (oldest)
        put_block(l, oldest, class);
}

void acui_cache_put_late(void *memory)
{
    local *l = of_thread();
    if (l)
        put_late(l, memory);
    else
        put_without((block *)memory - 1);
}

ACUI_RARE static void put_first_object(void *memory, unsigned counted)
{
    acui_count_add(counted, -1);
    acui_cache_put_late(memory);
}

void acui_cache_put_object(void *memory, unsigned counted)
{
    local *l = mine;
    if (!l) {
        put_first_object(memory, counted);
        return;
    }
    atomic_store_explicit(&l->counts[counted],
                          atomic_load_explicit(&l->counts[counted], memory_order_relaxed) - 1,
                          memory_order_relaxed);
    put_late(l, memory);
}

void acui_cache_flush(void)
{
    local *l = mine;
    acui_lock_take(&shared.lock);
    if (l)
        give_all(l);
    for (uint32_t class = 0; class < CLASSES; class++) {
        block *first;
        while ((first = take_batch(class)))
            while (first) {
                block *next = spare_of(first)->next;
                free(first);
                first = next;
            }
    }
    acui_lock_give(&shared.lock);
}

/* ---- counts ---- */

ACUI_LOCAL _Atomic(int64_t) *acui_counts;

void acui_count_first(unsigned count, int64_t n)
{
    local *l = of_thread();
    if (l) {
        acui_counts = l->counts;
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
        sum += atomic_load_explicit(&l->counts[count], memory_order_relaxed);
    acui_lock_give(&shared.lock);
    return sum;
}
