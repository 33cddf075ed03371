/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Running real C code through every interleaving of a few threads.
 *
 * A file under test is compiled after this header: each of its C11 atomic operations then is a
 * point where the explorer chooses who goes on. Threads are coroutines on one thread of the system,
 * so that a run is decided by its list of choices alone; the explorer goes through all such lists,
 * depth first, in which a thread is interrupted where it could go on at most `interruptions` times.
 *
 * Stores that are not sequentially consistent may be late, as on x86: at most `delays` of them in a
 * run stay in their thread's store buffer, unseen by others, until that thread's next operation that
 * empties it, or until the explorer says so. What needs weaker memory than that is not found here;
 * thread sanitizer looks for it in the stress tests.
 *
 * A run fails if it says so (explore_fail), or if all threads sleep: a lost wake-up or a deadlock.
 */
#ifndef ACUDA_TESTS_EXPLORE_H
#define ACUDA_TESTS_EXPLORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct explore_model {
    const char *name;
    void (*start)(void);      /* before each run: everything as at first */
    void (*threads[4])(void); /* NULL behind the last */
    void (*check)(void);      /* after each run that ended; may be NULL */
    int interruptions, delays;
} explore_model;

/* True if no run failed; else prints the failed run's choices. Prints how many runs there were. */
bool explore(const explore_model *model);
/* Ends the run; does not return. */
_Noreturn void explore_fail(const char *format, ...);

/* ---- what atomic operations become; orders: only whether a store may be late matters ---- */

void explore_point(void);
uint64_t explore_load(const volatile void *at, size_t bytes);
void explore_store(volatile void *at, size_t bytes, uint64_t value, bool late);
/* The store buffer is empty after these: they are followed by plain atomic operations. */
void explore_settle(void);

/* Sleeping and waking, for the file under test. */
void explore_park(_Atomic(uint32_t) *word, uint32_t seen);
void explore_unpark(_Atomic(uint32_t) *word);

#undef atomic_load_explicit
#undef atomic_store_explicit
#undef atomic_exchange_explicit
#undef atomic_compare_exchange_weak_explicit
#undef atomic_compare_exchange_strong_explicit
#undef atomic_fetch_add_explicit
#undef atomic_fetch_sub_explicit

#define atomic_load_explicit(p, order)                                                             \
    ((void)(order), explore_point(), (__typeof__(+*(p)))explore_load((p), sizeof *(p)))
#define atomic_store_explicit(p, value, order)                                                     \
    (explore_point(),                                                                              \
     explore_store((p), sizeof *(p), (uint64_t)(value), (order) != memory_order_seq_cst))
#define atomic_exchange_explicit(p, value, order)                                                  \
    (explore_point(), explore_settle(), EXPLORE_EXCHANGE(p, value, order))
#define atomic_compare_exchange_strong_explicit(p, expected, value, order, other)                  \
    (explore_point(), explore_settle(),                                                            \
     __extension__({                                                                               \
         (void)(other);                                                                            \
         __typeof__(+*(p)) was_ = *(p), *expected_ = (expected);                                   \
         bool same_ = was_ == *expected_;                                                          \
         if (same_)                                                                                \
             *(p) = (value);                                                                       \
         else                                                                                      \
             *expected_ = was_;                                                                    \
         same_;                                                                                    \
     }))
#define atomic_compare_exchange_weak_explicit atomic_compare_exchange_strong_explicit
#define EXPLORE_EXCHANGE(p, value, order)                                                     \
    __extension__({                                                                                \
        (void)(order);                                                                             \
        __typeof__(+*(p)) was_ = *(p);                                                             \
        *(p) = (value);                                                                            \
        was_;                                                                                      \
    })
#define atomic_fetch_add_explicit(p, n, order)                                                     \
    (explore_point(), explore_settle(), __extension__({                                            \
         (void)(order);                                                                            \
         __typeof__(+*(p)) was_ = *(p);                                                            \
         *(p) = was_ + (n);                                                                        \
         was_;                                                                                     \
     }))
#define atomic_fetch_sub_explicit(p, n, order)                                                     \
    (explore_point(), explore_settle(), __extension__({                                            \
         (void)(order);                                                                            \
         __typeof__(+*(p)) was_ = *(p);                                                            \
         *(p) = was_ - (n);                                                                        \
         was_;                                                                                     \
     }))

#endif
