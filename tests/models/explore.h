/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Running real C code through every interleaving of a few threads.
 *
 * A file under test is compiled after this header, so that each of its C11 atomic operations is a
 * point where the explorer chooses which thread goes on. The threads are coroutines on one thread
 * of the system, so a run is decided by its list of choices alone. The explorer goes through all
 * such lists, depth first, in which a thread is interrupted where it could go on at most
 * `interruptions` times.
 *
 * Stores that are not sequentially consistent may be late, as on x86: at most `delays` of them in a
 * run stay in their thread's store buffer, unseen by other threads, until that thread's next
 * operation that empties the buffer, or until the explorer says so. A fault that needs weaker
 * memory than that is not found here; thread sanitizer looks for such in the stress tests.
 *
 * Mutexes and condition variables of the file are the explorer's too. A timed wait never ends by
 * itself.
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
    void (*start)(void);      /* before each run: puts everything into its first state */
    void (*threads[4])(void); /* NULL after the last */
    void (*check)(void);      /* after each run that ended; may be NULL */
    int interruptions, delays;
} explore_model;

/* True if no run failed; else prints the choices of the failed one. Prints how many runs there
 * were. */
bool explore(const explore_model *model);
/* Explore them all; returns the program's exit status. With the argument "broken", the program was
 * built from a copy of its file with a fault in it, which must be found. */
int explore_all(const explore_model *models, size_t count, int argc, char **argv);
/* End the run; does not return. */
_Noreturn void explore_fail(const char *format, ...);

/* ---- what atomic operations become; orders: only whether a store may be late matters ---- */

void explore_point(void); /* does nothing between runs */
uint64_t explore_load(const volatile void *at, size_t bytes);
void explore_store(volatile void *at, size_t bytes, uint64_t value, bool late);
/* The store buffer is empty after this: plain atomic operations follow. */
void explore_settle(void);

/* Sleeping and waking, for the file under test. */
void explore_park(_Atomic(uint32_t) *word, uint32_t seen);
void explore_unpark(_Atomic(uint32_t) *word);
void explore_unpark_one(_Atomic(uint32_t) *word); /* only the first that sleeps */

/* A variable of which each thread has its own, where ACUI_LOCAL is defined as nothing; zero at the
 * start of a run. To be called before explore. */
void explore_local(void *variable, size_t bytes);

/* Known by their addresses; free, and without sleepers, at the start of a run. */
int explore_lock(void *mutex);
int explore_trylock(void *mutex);
int explore_unlock(void *mutex);
int explore_wait(void *condition, void *mutex);
int explore_signal(void *condition); /* wakes all: a thread may wake up for no reason anyway */

#ifndef EXPLORE_LOCKS /* the file under test is not that of the library's own locks */
#include "base/lock.h"
#define acui_lock_take(lock) ((void)explore_lock(lock))
#define acui_lock_give(lock) ((void)explore_unlock(lock))
#endif
#include <pthread.h>
#define pthread_mutex_lock(mutex) explore_lock(mutex)
#define pthread_mutex_trylock(mutex) explore_trylock(mutex)
#define pthread_mutex_unlock(mutex) explore_unlock(mutex)
#define pthread_cond_wait(condition, mutex) explore_wait((condition), (mutex))
#define pthread_cond_signal(condition) explore_signal(condition)
#define pthread_cond_broadcast(condition) explore_signal(condition)

#undef atomic_load
#undef atomic_store
#undef atomic_fetch_add
#undef atomic_fetch_sub
#define atomic_load(p) atomic_load_explicit((p), memory_order_seq_cst)
#define atomic_store(p, value) atomic_store_explicit((p), (value), memory_order_seq_cst)
#define atomic_fetch_add(p, n) atomic_fetch_add_explicit((p), (n), memory_order_seq_cst)
#define atomic_fetch_sub(p, n) atomic_fetch_sub_explicit((p), (n), memory_order_seq_cst)

#undef atomic_thread_fence
#define atomic_thread_fence(order) (explore_point(), explore_settle(), (void)(order))

#undef atomic_load_explicit
#undef atomic_store_explicit
#undef atomic_exchange_explicit
#undef atomic_compare_exchange_weak_explicit
#undef atomic_compare_exchange_strong_explicit
#undef atomic_fetch_add_explicit
#undef atomic_fetch_sub_explicit

#define atomic_load_explicit(p, order)                                                             \
    ((void)(order), explore_point(), (__typeof__((void)0, *(p)))explore_load((p), sizeof *(p)))
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
