/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Waiting for a lock that another thread holds. */
#include "base/lock.h"

#include "base/park.h"
#include "base/rare.h"

#include <acuda/base.h>

#ifndef ACUI_LOCK_LOOKS /* the model looks less often */
#define ACUI_LOCK_LOOKS 100 /* some microseconds */
#endif

ACUI_RARE void acui_lock_wait(acui_lock *lock)
{
    /* Relaxed: just a look before the attempt to take it. */
    for (unsigned i = 0; i < ACUI_LOCK_LOOKS; i++) {
        if (atomic_load_explicit(&lock->word, memory_order_relaxed) == ACUI_LOCK_FREE &&
            acui_lock_try(lock))
            return;
        acui_spin_pause();
    }
    /* This thread can not know whether others sleep, so it marks the lock as slept on until it was
     * free once. */
    while (atomic_exchange_explicit(&lock->word, ACUI_LOCK_SLEPT_ON, memory_order_acquire) !=
           ACUI_LOCK_FREE)
        acui_park(&lock->word, ACUI_LOCK_SLEPT_ON, ACU_FOREVER);
}

ACUI_RARE void acui_lock_wake(acui_lock *lock)
{
    acui_unpark_one(&lock->word);
}
