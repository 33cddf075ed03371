/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Mutexes that many threads take often, each for less than it takes to sleep and be woken: who
 * finds one taken looks again for a short while first, where libc has such mutexes (glibc).
 */
#ifndef ACUI_BASE_LOCK_H
#define ACUI_BASE_LOCK_H

#include <pthread.h>

#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
#define ACUI_BUSY_LOCK PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
#else
#define ACUI_BUSY_LOCK PTHREAD_MUTEX_INITIALIZER
#endif

static inline void acui_busy_lock_init(pthread_mutex_t *lock)
{
    *lock = (pthread_mutex_t)ACUI_BUSY_LOCK;
}

#endif
