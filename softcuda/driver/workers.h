/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Threads that run the work of streams. A stream that has something to run is queued here. One that
 * waits is not, so it holds no thread.
 */
#ifndef SOFTCUDA_DRIVER_WORKERS_H
#define SOFTCUDA_DRIVER_WORKERS_H

#include <pthread.h>
#include <stdbool.h>

#define SD_PRIORITIES 6 /* 0 (lowest) to -5 */

struct sd_stream;

typedef struct sd_workers {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct sd_stream *first[SD_PRIORITIES], *last[SD_PRIORITIES]; /* [5] before [0] */
    unsigned idle, threads;
    unsigned spinning;       /* threads that watch `queued` for a moment before they sleep */
    _Atomic unsigned queued; /* written with the lock, watched without it */
    unsigned limit;          /* most threads: how many streams can execute at a time */
} sd_workers;

bool sd_workers_init(sd_workers *workers, unsigned limit);

/* Make sure that there is at least one thread, so that whatever is queued later will run. */
bool sd_workers_start(sd_workers *workers);

/* Queue a stream, with the reference that its schedule holds. In a seeded run it is queued only
 * when its turn comes. */
void sd_workers_queue(sd_workers *workers, struct sd_stream *stream);

/* Queue a stream at once. */
void sd_workers_hand(sd_workers *workers, struct sd_stream *stream);

/* Whether a running thread should make way for others. */
bool sd_workers_crowded(sd_workers *workers);

/*
 * How often a waiter looks before it sleeps: for some microseconds, less than a sleep and a wake-up
 * cost; not at all on one core.
 */
unsigned sd_spins(void);
static inline void sd_spin_once(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Start a detached thread that no signal is delivered to. */
bool sd_thread_start(void *(*run)(void *), void *argument);

#endif
