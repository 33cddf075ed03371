/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Monotonic time. */
#include "base/clock.h"

#include <acuda/base.h>
#include <errno.h>
#include <time.h>

uint64_t acui_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t acu_now(void)
{
    return acui_now();
}

uint64_t acui_deadline(uint64_t timeout)
{
    return timeout == ACU_FOREVER ? timeout : acui_deadline_from(acui_now(), timeout);
}

void acui_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

bool acui_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline)
{
    if (deadline == ACU_FOREVER) {
        pthread_cond_wait(cond, lock);
        return true;
    }
    struct timespec t = {.tv_sec = (time_t)(deadline / 1000000000u),
                         .tv_nsec = (long)(deadline % 1000000000u)};
    return pthread_cond_timedwait(cond, lock, &t) != ETIMEDOUT;
}
