/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Many submissions that can not begin yet: they come behind host work, which holds them up. */
#ifndef BENCH_PENDING_H
#define BENCH_PENDING_H

#include "mix.h"

#include <semaphore.h>

typedef struct pending {
    const mix *m;
    acu_tensor *host, *device; /* the host work writes them; what is pending reads them */
    sem_t open;
} pending;

void pending_make(pending *p, const mix *m); /* stays where it is */
void pending_drop(pending *p);

/* What is submitted from now on is pending, until it is opened. */
void pending_close(pending *p);
void pending_open(pending *p);
/* `count` submissions of so many launches each. Each launch multiplies its tensor, pending_y of the
 * submission's number, by a factor. */
void pending_submit(pending *p, acu_future **futures, int count, int kernels);
int pending_y(const mix *m, int i); /* never the first one */

/* Microseconds for each of `count` that are pending, from when nothing holds them any more until
 * all were waited for; or were taken from a queue, whose descriptor is slept on. */
double pending_drain(pending *p, acu_future **futures, int count);
double pending_drain_queue(pending *p, acu_queue *queue, int count);

#endif
