/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One condition variable for all who wait. */
#include "engine/done.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic(uint64_t) completions;
static _Atomic(uint32_t) sleepers;

static void prepare(void)
{
    acui_cond_init(&changed);
}

uint64_t acui_done_count(void)
{
    return atomic_load_explicit(&completions, memory_order_acquire);
}

void acui_done_sleep(uint64_t seen, uint64_t deadline)
{
    pthread_once(&once, prepare);
    pthread_mutex_lock(&lock);
    /* seq_cst, with announce: either we see the new count, or it sees us asleep. */
    atomic_fetch_add(&sleepers, 1);
    while (atomic_load(&completions) == seen && acui_cond_wait_until(&changed, &lock, deadline)) {
    }
    atomic_fetch_sub(&sleepers, 1);
    pthread_mutex_unlock(&lock);
}

void acui_done_announce(void)
{
    atomic_fetch_add(&completions, 1);
    if (atomic_load(&sleepers) == 0)
        return;
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}
