/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that stand by, and do something together when told to. */
#ifndef BENCH_CREW_H
#define BENCH_CREW_H

#include "harness.h"

#include <pthread.h>

enum { CREW_MOST = 32 };

typedef void (*crew_fn)(void *user, int thread);

typedef struct crew crew;

typedef struct crew_hand {
    crew *crew;
    int index;
    pthread_t thread;
} crew_hand;

struct crew {
    const bench *b;
    pthread_barrier_t start, end;
    int count;
    crew_fn fn; /* NULL: the threads are to end */
    void *user;
    bool raw; /* with the device's context current */
    crew_hand hands[CREW_MOST];
};

void crew_hire(crew *c, const bench *b, int count);
/* fn(user, 0 .. count-1), each on its thread; microseconds until all are done. */
double crew_run(crew *c, crew_fn fn, void *user, bool raw);
void crew_dismiss(crew *c);

#endif
