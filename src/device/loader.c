/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The loader's threads and jobs. */
#include "device/loader.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/threads.h"

enum { THREADS = 4, WAITING = 1024 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a job came, or is done, or a module is loaded */
    acui_job *first, **end;
    size_t waiting;
    struct place {
        pthread_t thread;
        bool taken, idle;
        const acu_device *device; /* of its job, until the job is done; never dereferenced */
    } places[THREADS];
    bool stop;
} loader = {.lock = PTHREAD_MUTEX_INITIALIZER, .end = &loader.first};

static pthread_once_t once = PTHREAD_ONCE_INIT;
typedef void (*end_fn)(void);
static _Atomic(end_fn) at_end; /* relaxed: always the same */

static acu_status drain(acu_device *device)
{
    acui_loader_await(device, ACU_FOREVER);
    return ACU_OK;
}

static acu_status wait(acu_device *device, uint64_t timeout)
{
    return acui_loader_await(device, acui_deadline(timeout)) ? ACU_OK : ACU_TIMEOUT;
}

static void set_up(void)
{
    static const acui_close_hooks hooks = {.drain = drain, .stop = acui_loader_stop, .wait = wait};
    acui_cond_init(&loader.changed);
    acui_set_first_close_hooks(&hooks);
}

/* Makes the last close call acui_loader_stop. */
static void prepare(void)
{
    pthread_once(&once, set_up);
}

void acui_loader_at_end(void (*fn)(void))
{
    prepare();
    atomic_store_explicit(&at_end, fn, memory_order_relaxed);
}

/* ---- the threads; the lock is held but while a job runs ---- */

static acui_job *take(struct place *place)
{
    acui_job *job = loader.first;
    loader.first = job->next;
    if (!loader.first)
        loader.end = &loader.first;
    loader.waiting--;
    place->device = job->device;
    return job;
}

static void *run(void *context)
{
    struct place *place = context;
    pthread_mutex_lock(&loader.lock);
    while (!loader.stop || loader.first) {
        if (!loader.first) {
            place->idle = true;
            pthread_cond_wait(&loader.changed, &loader.lock);
            place->idle = false;
            continue;
        }
        acui_job *job = take(place);
        pthread_mutex_unlock(&loader.lock);
        job->run(job);
        pthread_mutex_lock(&loader.lock);
        place->device = NULL;
        pthread_cond_broadcast(&loader.changed);
    }
    pthread_mutex_unlock(&loader.lock);
    return NULL;
}

/* Whether a thread will take one more job; starts one if need be. */
static bool have_thread(void)
{
    size_t idle = 0, taken = 0;
    struct place *free_place = NULL;
    for (int i = 0; i < THREADS; i++) {
        struct place *place = &loader.places[i];
        taken += place->taken;
        idle += place->taken && place->idle;
        if (!place->taken && !free_place)
            free_place = place;
    }
    if (idle > loader.waiting || !free_place)
        return true;
    free_place->taken =
        acui_thread_start_with(&free_place->thread, "acuda-load", run, free_place);
    return free_place->taken || taken > 0;
}

/* ---- giving ---- */

acu_status acui_loader_give(acui_job *job)
{
    prepare();
    acu_status st = ACU_OK;
    pthread_mutex_lock(&loader.lock);
    if (loader.waiting == WAITING)
        st = acui_fail(ACU_ERR_FULL, "%d modules and the like are waiting to be loaded", WAITING);
    else if (!have_thread())
        st = acui_fail(ACU_ERR_NO_MEMORY, "no thread could be started for what takes long: %s",
                       acui_thread_words((char[ACUI_THREAD_WORDS]){0}));
    if (st == ACU_OK) {
        job->next = NULL;
        *loader.end = job;
        loader.end = &job->next;
        loader.waiting++;
        pthread_cond_broadcast(&loader.changed);
    }
    pthread_mutex_unlock(&loader.lock);
    return st;
}

/* ---- waiting ---- */

bool acui_loader_wait_until(bool (*over)(void *context), void *context, uint64_t deadline)
{
    prepare();
    bool is_over, in_time = true;
    pthread_mutex_lock(&loader.lock);
    while (!(is_over = over(context)) && in_time)
        in_time = acui_cond_wait_until(&loader.changed, &loader.lock, deadline);
    pthread_mutex_unlock(&loader.lock);
    return is_over;
}

void acui_loader_changed(void)
{
    prepare();
    pthread_mutex_lock(&loader.lock);
    pthread_cond_broadcast(&loader.changed);
    pthread_mutex_unlock(&loader.lock);
}

static bool has_none(void *context)
{
    const acu_device *device = context;
    for (const acui_job *job = loader.first; job; job = job->next)
        if (job->device == device)
            return false;
    for (int i = 0; i < THREADS; i++)
        if (loader.places[i].device == device)
            return false;
    return true;
}

bool acui_loader_await(const acu_device *device, uint64_t deadline)
{
    return acui_loader_wait_until(has_none, (void *)(uintptr_t)device, deadline);
}

/* ---- ending ---- */

bool acui_loader_busy(void)
{
    pthread_mutex_lock(&loader.lock);
    bool busy = loader.first != NULL;
    for (int i = 0; i < THREADS; i++)
        busy |= loader.places[i].taken;
    pthread_mutex_unlock(&loader.lock);
    return busy;
}

/* Ends the threads that run now, and runs a job that came too late for them; false if there was
 * neither. */
static bool finish(void)
{
    pthread_t threads[THREADS];
    size_t count = 0;
    struct place here = {.taken = false};
    pthread_mutex_lock(&loader.lock);
    for (int i = 0; i < THREADS; i++)
        if (loader.places[i].taken)
            threads[count++] = loader.places[i].thread;
    acui_job *job = count == 0 && loader.first ? take(&here) : NULL;
    loader.stop = count || job;
    pthread_cond_broadcast(&loader.changed);
    pthread_mutex_unlock(&loader.lock);
    for (size_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    if (job)
        job->run(job);
    pthread_mutex_lock(&loader.lock);
    for (int i = 0; i < THREADS; i++)
        for (size_t k = 0; k < count; k++)
            if (loader.places[i].taken && pthread_equal(loader.places[i].thread, threads[k]))
                loader.places[i].taken = false;
    pthread_mutex_unlock(&loader.lock);
    return count || job;
}

void acui_loader_stop(void)
{
    prepare();
    while (finish()) {
    }
    end_fn end = atomic_load_explicit(&at_end, memory_order_relaxed);
    if (end)
        end();
}
