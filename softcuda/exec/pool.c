/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The worker threads of the process. A launch is run by the thread that called sx_run and, if it
 * has more than one block, by workers that find it in the list. Workers are started when first
 * needed, take no signals, and never end: they sleep when there is nothing to do, and the process
 * may exit under them.
 *
 * One lock guards the list, the helpers' counts and the idle blocks. Blocks of a launch are claimed
 * with one atomic counter and no lock.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "exec/machine.h"

#define WORKER_STACK (512 * 1024)
#define WORKER_SLICE 64 /* blocks that a worker runs before it looks for other launches */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t work; /* a launch was published */
    pthread_cond_t done; /* a helper has left a launch */
    sx_work *first, *last;
    unsigned workers, idle;
    bool started;
    sx_block *blocks; /* idle */
    unsigned block_count;
} pool = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .work = PTHREAD_COND_INITIALIZER,
    .done = PTHREAD_COND_INITIALIZER,
};

static unsigned cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (unsigned)CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (unsigned)n : 1;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* An idle block, or a new one; NULL: out of memory */
sx_block *sx_block_take(void)
{
    pthread_mutex_lock(&pool.lock);
    sx_block *b = pool.blocks;
    if (b) {
        pool.blocks = b->next;
        pool.block_count--;
    }
    pthread_mutex_unlock(&pool.lock);
    return b ? b : calloc(1, sizeof *b);
}

void sx_block_give(sx_block *b)
{
    pthread_mutex_lock(&pool.lock);
    bool keep = pool.block_count < 2 * pool.workers + 4;
    if (keep) {
        b->next = pool.blocks;
        pool.blocks = b;
        pool.block_count++;
    }
    pthread_mutex_unlock(&pool.lock);
    if (!keep)
        sx_block_free(b);
}

/* ---- the list -------------------------------------------------------------------------------- */

static void unlink_work(sx_work *work)
{
    *(work->prev ? &work->prev->next : &pool.first) = work->next;
    *(work->next ? &work->next->prev : &pool.last) = work->prev;
}

static void append_work(sx_work *work)
{
    work->next = NULL;
    work->prev = pool.last;
    *(pool.last ? &pool.last->next : &pool.first) = work;
    pool.last = work;
}

static bool has_blocks(sx_work *work)
{
    /* relaxed: a stale answer costs one futile look */
    return atomic_load_explicit(&work->claimed, memory_order_relaxed) < work->blocks &&
           !atomic_load_explicit(&work->failed, memory_order_relaxed);
}

/* The next launch that can use help, moved to the end of the list so that all get their share. */
static sx_work *find_work(void)
{
    for (sx_work *work = pool.first; work; work = work->next) {
        if (!has_blocks(work))
            continue;
        unlink_work(work);
        append_work(work);
        return work;
    }
    return NULL;
}

/* ---- workers --------------------------------------------------------------------------------- */

static void *worker(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "softcuda"); /* not the name of the thread that started it */
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        sx_work *work = find_work();
        if (!work) {
            pool.idle++;
            pthread_cond_wait(&pool.work, &pool.lock);
            pool.idle--;
            continue;
        }
        work->helpers++;
        if (pool.idle && has_blocks(work))
            pthread_cond_signal(&pool.work); /* each wakes the next: so publishing stays cheap */
        pthread_mutex_unlock(&pool.lock);
        sx_work_take_part(work, WORKER_SLICE);
        pthread_mutex_lock(&pool.lock);
        if (--work->helpers == 0)
            pthread_cond_broadcast(&pool.done);
    }
    return NULL;
}

/* Starts workers, under the lock. If no thread can be had, callers run their launches alone. */
static void start_workers(void)
{
    pool.started = true;
    unsigned n = cores();
    unsigned wanted = n > 1 ? n - 1 : 1;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes))
        return;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, WORKER_STACK);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    while (pool.workers < wanted && pthread_create(&thread, &attributes, worker, NULL) == 0)
        pool.workers++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

void sx_work_publish(sx_work *work)
{
    pthread_mutex_lock(&pool.lock);
    if (!pool.started)
        start_workers();
    append_work(work);
    if (pool.idle)
        pthread_cond_signal(&pool.work);
    pthread_mutex_unlock(&pool.lock);
}

/* When this returns nobody can find the launch any more, and what helpers wrote is visible. */
void sx_work_join(sx_work *work)
{
    pthread_mutex_lock(&pool.lock);
    unlink_work(work);
    while (work->helpers)
        pthread_cond_wait(&pool.done, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}
