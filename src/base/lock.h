/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Locks that are taken often, and held for less time than it takes to sleep and be woken. A lock is
 * one word, and takes a few instructions if nobody else holds it. A thread that finds it taken
 * looks again for a short while before it sleeps. All zero: free.
 */
#ifndef ACUI_BASE_LOCK_H
#define ACUI_BASE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct acui_lock {
    _Atomic(uint32_t) word;
} acui_lock;

enum { ACUI_LOCK_FREE, ACUI_LOCK_TAKEN, ACUI_LOCK_SLEPT_ON /* taken, and perhaps slept on */ };

void acui_lock_wait(acui_lock *lock); /* takes the lock, which another thread holds */
void acui_lock_wake(acui_lock *lock); /* wakes one thread, if it still sleeps */

static inline bool acui_lock_try(acui_lock *lock)
{
    uint32_t word = ACUI_LOCK_FREE;
    /* Acquire here, release below: each holder sees what the holders before it did. */
    return atomic_compare_exchange_strong_explicit(&lock->word, &word, ACUI_LOCK_TAKEN,
                                                   memory_order_acquire, memory_order_relaxed);
}

static inline void acui_lock_take(acui_lock *lock)
{
    if (!acui_lock_try(lock))
        acui_lock_wait(lock);
}

/* Another thread may take the lock and free its memory at once: nothing here touches it
 * afterwards. */
static inline void acui_lock_give(acui_lock *lock)
{
    if (atomic_exchange_explicit(&lock->word, ACUI_LOCK_FREE, memory_order_release) ==
        ACUI_LOCK_SLEPT_ON)
        acui_lock_wake(lock);
}

#endif
