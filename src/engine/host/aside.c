/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A few threads for work that blocks in the system, such as reading files: host work that ends
 * later (async.c). They start as they are needed, and the last close ends them. */
#include "base/error.h"
#include "base/threads.h"
#include "engine/host/host.h"

enum { MOST = 4 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t work;
    acui_aside *first, *last;
    int started, idle, waiting;
    bool stop;
    pthread_t threads[MOST];
} aside = {.lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER};

/* The job may be gone when its promise has ended. */
static void run_one(acui_aside *job)
{
    acu_status st = acu_promise_given_up(job->done)
                        ? acui_fail(ACU_ERR_CANCELLED, "%s: given up", job->name)
                        : job->run(job, job->values);
    acui_promise_end(job->done, st);
}

/* Until the threads are to stop, and nothing is left. Lock held, given up meanwhile. */
static void work(void)
{
    for (;;) {
        acui_aside *job = aside.first;
        if (!job && aside.stop)
            return;
        if (!job) {
            aside.idle++;
            pthread_cond_wait(&aside.work, &aside.lock);
            aside.idle--;
            continue;
        }
        aside.first = job->next;
        aside.waiting--;
        pthread_mutex_unlock(&aside.lock);
        run_one(job);
        pthread_mutex_lock(&aside.lock);
    }
}

static void *run(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&aside.lock);
    work();
    pthread_mutex_unlock(&aside.lock);
    return NULL;
}

/* Errors: NO_MEMORY. */
static acu_status give(acui_aside *job)
{
    pthread_mutex_lock(&aside.lock);
    if (aside.idle <= aside.waiting && aside.started < MOST && !aside.stop &&
        acui_thread_start(&aside.threads[aside.started], "acuda-files", run))
        aside.started++;
    bool taken = aside.started > 0; /* while they stop, too: whoever joins them does the rest */
    if (taken) {
        job->next = NULL;
        if (aside.first)
            aside.last->next = job;
        else
            aside.first = job;
        aside.last = job;
        aside.waiting++;
        pthread_cond_signal(&aside.work);
    }
    pthread_mutex_unlock(&aside.lock);
    return taken ? ACU_OK
                 : acui_fail(ACU_ERR_NO_MEMORY, "%s: no thread could be started: %s", job->name,
                             acui_thread_words((char[ACUI_THREAD_WORDS]){0}));
}

acu_status acui_aside_begin(void *user, acu_promise *done, const acu_val *values, size_t count)
{
    (void)count;
    acui_aside *job = user;
    job->done = done;
    job->values = values;
    acu_status st = give(job);
    if (st != ACU_OK)
        acui_promise_end(done, st);
    return ACU_OK; /* how it ends is the promise's to say */
}

bool acui_aside_busy(void)
{
    pthread_mutex_lock(&aside.lock);
    bool busy = aside.started > 0;
    pthread_mutex_unlock(&aside.lock);
    return busy;
}

void acui_aside_stop(void)
{
    pthread_mutex_lock(&aside.lock);
    int started = aside.started;
    aside.stop = started > 0;
    pthread_cond_broadcast(&aside.work);
    pthread_mutex_unlock(&aside.lock);
    for (int i = 0; i < started; i++)
        pthread_join(aside.threads[i], NULL);
    pthread_mutex_lock(&aside.lock);
    if (started > 0) {
        work(); /* what came after they had gone */
        aside.started = 0;
        aside.stop = false;
    }
    pthread_mutex_unlock(&aside.lock);
}
