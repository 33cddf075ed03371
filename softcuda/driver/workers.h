/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Threads that run the work of streams. A stream that has something to run is queued here; a
 * stream that waits is not, so it holds no thread.
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
    unsigned queued, idle, threads;
    unsigned limit; /* threads at most: how many streams can execute at one time */
} sd_workers;

bool sd_workers_init(sd_workers *workers, unsigned limit);

/* Make sure that there is one thread, so that whatever is queued later will run. */
bool sd_workers_start(sd_workers *workers);

/* Queue a stream; the reference that its schedule holds goes along. */
void sd_workers_queue(sd_workers *workers, struct sd_stream *stream);

/* Whether a running thread should let somebody else have a turn. */
bool sd_workers_crowded(sd_workers *workers);

/* Start a detached thread that no signal is delivered to. */
bool sd_thread_start(void *(*run)(void *), void *argument);

#endif
