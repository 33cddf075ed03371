/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Monotonic time, and condition variables that wait by it. */
#ifndef ACUI_BASE_CLOCK_H
#define ACUI_BASE_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

uint64_t acui_now(void); /* nanoseconds, monotonic */

/* now + timeout, without overflow; ACU_FOREVER stays ACU_FOREVER. */
uint64_t acui_deadline(uint64_t timeout);
static inline uint64_t acui_deadline_from(uint64_t now, uint64_t timeout)
{
    return timeout > UINT64_MAX - now ? UINT64_MAX : now + timeout;
}

void acui_cond_init(pthread_cond_t *cond); /* set to the monotonic clock */
/* Waits until signalled or `deadline` (of acui_now); false once that has passed. */
bool acui_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline);

#endif
