/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Copies of pageable memory, and between devices that have no access to one another. A pool of
 * helper threads takes chunks of the copies that are ready (acui_stage_run): all helpers from one
 * copy if there is only one, in turn if there are several. How a helper moves its chunks: move.c. A
 * copy is over when no chunk is left and no helper is inside of it.
 */
#include <acuda/staging.h>

#include "base/cache.h"
#include "base/error.h"
#include "base/options.h"
#include "base/threads.h"
#include "driver/nvtx.h"
#include "engine/future.h"
#include "engine/host/host.h"
#include "engine/host/ring.h"
#include "engine/host/staging.h"
#include "engine/issue/memory.h"
#include "engine/order/order.h"
#include "engine/report/record.h"
#include "engine/report/report.h"

#include <sched.h>

enum {
    CHUNK = 2 << 20, /* a driver call costs more the more threads make them: larger is better */
    CHUNK_LEAST = 256 << 10, /* smaller ones cost about as much to issue as to copy */
    SLOTS = 3,
    THREADS = 8, /* by default, at most */
    SLICE = 16   /* chunks that a helper moves before it looks after other copies */
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t work;
    acui_stage *first, *last; /* copies with chunks left, or with helpers inside */
    acu_staging_options options; /* as set; 0: the default */
    unsigned started;
    bool stop;
    _Atomic(uint32_t) copies; /* in the list; relaxed: whether others wait for a turn */
    pthread_t threads[ACUI_HELPERS];
} staging = {.lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER};

/* ---- options ---- */

static unsigned default_threads(void)
{
    cpu_set_t cores;
    CPU_ZERO(&cores);
    int count = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 2;
    return count < 4 ? 1 : count / 2 < THREADS ? (unsigned)count / 2 : THREADS;
}

static acu_staging_options known(acu_staging_options options)
{
    options.size = sizeof options;
    options.threads = options.threads ? options.threads : default_threads();
    options.chunk_bytes = options.chunk_bytes ? options.chunk_bytes : CHUNK;
    options.chunks = options.chunks ? options.chunks : SLOTS;
    return options;
}

acu_status acu_staging_set(const acu_staging_options *options)
{
    acu_staging_options set, all;
    ACUI_REFUSE_FORK();
    ACUI_TRY(acui_options_read(&set, sizeof set, options, __func__));
    all = known(set);
    if (all.threads > ACUI_HELPERS)
        return acui_fail(ACU_ERR_INVALID, "acu_staging_set: %u threads; at most %d", all.threads,
                         ACUI_HELPERS);
    if (all.chunk_bytes < 4096 || all.chunk_bytes > 64 << 20 || all.chunk_bytes % 4096)
        return acui_fail(ACU_ERR_INVALID,
                         "acu_staging_set: chunks of %zu bytes; 4 KiB to 64 MiB, in "
                         "whole pages of 4096",
                         all.chunk_bytes);
    if (all.chunks < 2 || all.chunks > ACUI_SLOTS)
        return acui_fail(ACU_ERR_INVALID, "acu_staging_set: %u chunks for each helper; 2 to %d",
                         all.chunks, ACUI_SLOTS);
    pthread_mutex_lock(&staging.lock);
    staging.options = set;
    pthread_cond_broadcast(&staging.work); /* a helper that was woken for a copy may not work on it
                                            * any more */
    pthread_mutex_unlock(&staging.lock);
    return ACU_OK;
}

acu_status acu_staging_get(acu_staging_options *options)
{
    ACUI_REFUSE_FORK();
    pthread_mutex_lock(&staging.lock);
    acu_staging_options all = known(staging.options);
    pthread_mutex_unlock(&staging.lock);
    return acui_struct_write(options, &all, sizeof all, __func__);
}

/* ---- one copy ---- */

static void stop_copy(acui_stage *stage)
{
    atomic_store_explicit(&stage->stopped, true, memory_order_relaxed);
}

/* Make the copy fail with the fault, which is taken; the first failure counts. */
static void fail_copy(acui_stage *stage, acui_fault *fault)
{
    stop_copy(stage);
    pthread_mutex_lock(&staging.lock);
    if (!stage->fault) {
        stage->fault = fault;
        fault = NULL;
    }
    pthread_mutex_unlock(&staging.lock);
    acui_fault_release(fault);
}

/* Whether nobody can ask for what the copy is to write: the future has no handles left, nobody else
 * holds the memory, and nothing comes behind the copy. */
static bool is_unwanted(const acui_stage *stage)
{
    const acu_future *future = stage->task->submission->future;
    /* Acquire, from acu_future_release: what the program did before it let go of the future. */
    if (stage->dst->kind != ACU_MEMORY_PAGEABLE || !future || !future->how.given ||
        atomic_load_explicit(&future->handles, memory_order_acquire) ||
        acui_object_refs(stage->dst) > 1)
        return false;
    acui_order_lock(stage->task->homes);
    bool followed = stage->task->point->followers != NULL;
    acui_order_unlock(stage->task->homes);
    return !followed;
}

bool acui_stage_goes_on(acui_stage *stage)
{
    acui_fault *fault;
    if (atomic_load_explicit(&stage->stopped, memory_order_relaxed))
        return false;
    if (is_unwanted(stage)) {
        atomic_store_explicit(&stage->skipped, true, memory_order_relaxed);
        stop_copy(stage);
        return false;
    }
    if (!acui_host_is_stopped(stage->task, &fault))
        return true;
    fail_copy(stage, fault);
    return false;
}

bool acui_stage_take(acui_stage *stage, int n, uint64_t *begin, uint64_t *end)
{
    uint64_t all = stage->layout.bytes;
    bool others = atomic_load_explicit(&staging.copies, memory_order_relaxed) > 1;
    if ((n >= SLICE && others) || !acui_stage_goes_on(stage))
        return false;
    *begin = atomic_fetch_add_explicit(&stage->taken, stage->chunk, memory_order_relaxed);
    if (*begin >= all)
        return false;
    *end = *begin + stage->chunk < all ? *begin + stage->chunk : all;
    acui_count_add(ACUI_COUNT_STAGED_BYTES, (int64_t)(*end - *begin));
    return true;
}

/* This helper's share of the copy. */
static void work(acui_stage *stage, unsigned helper)
{
    acui_nvtx_push(stage->task->first->name);
    if (acui_stage_move(stage, helper) != ACU_OK)
        fail_copy(stage, acui_fault_of_node(stage->task->first));
    acui_nvtx_pop();
}

/* ---- helpers; the lock is held unless something else is said ---- */

static bool has_chunks(const acui_stage *stage)
{
    return !atomic_load_explicit(&stage->stopped, memory_order_relaxed) &&
           atomic_load_explicit(&stage->taken, memory_order_relaxed) < stage->layout.bytes;
}

static void unlink_stage(acui_stage *stage)
{
    acui_stage *before = NULL, **link = &staging.first;
    while (*link != stage) {
        before = *link;
        link = &before->next;
    }
    *link = stage->next;
    if (staging.last == stage)
        staging.last = before;
}

static void append(acui_stage *stage)
{
    stage->next = NULL;
    if (staging.first)
        staging.last->next = stage;
    else
        staging.first = stage;
    staging.last = stage;
}

/* The next copy that this helper may work on. It goes to the end of the list, so that all get their
 * turn. */
static acui_stage *choose(unsigned helper)
{
    if (helper >= known(staging.options).threads)
        return NULL;
    acui_stage *stage = staging.first;
    while (stage && !has_chunks(stage))
        stage = stage->next;
    if (stage) {
        unlink_stage(stage);
        append(stage);
    }
    return stage;
}

/* Without the lock: nobody else knows the copy any more. */
static void end_copy(acui_stage *stage)
{
    acui_task *task = stage->task;
    if (stage->fault)
        acui_task_fail(task, stage->fault);
    if (atomic_load_explicit(&stage->skipped, memory_order_relaxed))
        acui_count_add(ACUI_COUNT_STAGED_SKIPPED, 1);
    acui_count_operations(task, true);
    acui_run_tasks(acui_task_over(task));
}

static void help(acui_stage *stage, unsigned helper)
{
    stage->inside++;
    pthread_mutex_unlock(&staging.lock);
    work(stage, helper);
    pthread_mutex_lock(&staging.lock);
    if (--stage->inside > 0 || has_chunks(stage))
        return;
    unlink_stage(stage);
    atomic_fetch_sub_explicit(&staging.copies, 1, memory_order_relaxed);
    pthread_mutex_unlock(&staging.lock);
    end_copy(stage);
    pthread_mutex_lock(&staging.lock);
}

/* Until the helpers are told to stop, and there is nothing left for this one. */
static void serve(unsigned helper)
{
    for (;;) {
        acui_stage *stage = choose(helper);
        if (stage)
            help(stage, helper);
        else if (staging.stop)
            break;
        else
            pthread_cond_wait(&staging.work, &staging.lock);
    }
}

static void *run(void *context)
{
    pthread_mutex_lock(&staging.lock);
    serve((unsigned)(uintptr_t)context);
    pthread_mutex_unlock(&staging.lock);
    return NULL;
}

/* ---- starting ---- */

/* As many helpers as there are chunks for. None is started while they are being ended: whoever does
 * that sees to what comes. False: there is none. */
static bool need_helpers(uint64_t chunks, unsigned threads)
{
    while (!staging.stop && staging.started < threads && staging.started < chunks &&
           acui_thread_start_with(&staging.threads[staging.started], "acuda-staging", run,
                                  (void *)(uintptr_t)staging.started))
        staging.started++;
    return staging.started > 0;
}

/* Big enough to be worth a driver call, small enough that all helpers get something to do. */
static uint64_t chunk_of(const acui_stage *stage, const acu_staging_options *options)
{
    uint64_t chunk = options->chunk_bytes, share = stage->layout.bytes / (2 * options->threads);
    while (chunk > share && chunk > CHUNK_LEAST && chunk % 8192 == 0)
        chunk /= 2;
    return chunk;
}

static bool start(acui_stage *stage)
{
    pthread_mutex_lock(&staging.lock);
    acu_staging_options options = known(staging.options);
    stage->chunk = chunk_of(stage, &options);
    stage->slot_bytes = options.chunk_bytes;
    stage->slots = options.chunks;
    uint64_t chunks = (stage->layout.bytes + stage->chunk - 1) / stage->chunk;
    if (staging.started == 0)
        acui_reactor_start(); /* the last close may have ended it; it watches deadlines */
    bool there = need_helpers(chunks, options.threads);
    if (there) {
        append(stage);
        atomic_fetch_add_explicit(&staging.copies, 1, memory_order_relaxed);
        if (chunks > 1 || staging.started > options.threads) /* not every helper may work on it */
            pthread_cond_broadcast(&staging.work);
        else
            pthread_cond_signal(&staging.work);
    }
    pthread_mutex_unlock(&staging.lock);
    return there;
}

/* Whether the memory was made: else it has no address. */
static bool is_there(const acu_buffer *buffer)
{
    return acui_stage_on_host(buffer) ||
           atomic_load_explicit(&buffer->address, memory_order_acquire) != 0;
}

acui_task *acui_stage_run(acui_task *task)
{
    acui_stage *stage = task->first->u.stage;
    stage->task = task;
    acui_order_lock(task->homes);
    task->order.course = ACUI_COURSE_BEGUN;
    acui_memory_going(task);
    acui_order_unlock(task->homes);
    if (!is_there(stage->dst) || !is_there(stage->src)) {
        acui_fail(ACU_ERR_DEPENDENCY, "the memory that %s uses was never allocated: the submission "
                  "that makes it failed or was refused", task->first->name);
    } else {
        acui_count_operations(task, false);
        acui_record_issue(task);
        acui_record_issued(task, 1);
        acui_count_add(ACUI_COUNT_STAGED, 1);
        if (start(stage))
            return NULL;
        acui_count_operations(task, true);
        acui_fail(ACU_ERR_NO_MEMORY, "no thread could be started for copies of pageable memory: %s",
                  acui_thread_words((char[ACUI_THREAD_WORDS]){0}));
    }
    acui_task_fail(task, acui_fault_of_node(task->first));
    return acui_retire(task);
}

bool acui_stage_busy(void)
{
    pthread_mutex_lock(&staging.lock);
    bool busy = staging.started > 0;
    pthread_mutex_unlock(&staging.lock);
    return busy;
}

void acui_stage_stop(void)
{
    pthread_mutex_lock(&staging.lock);
    unsigned started = staging.started;
    if (started) {
        staging.stop = true;
        pthread_cond_broadcast(&staging.work);
        pthread_mutex_unlock(&staging.lock);
        for (unsigned i = 0; i < started; i++)
            pthread_join(staging.threads[i], NULL);
        pthread_mutex_lock(&staging.lock);
        serve(0); /* what came after they had gone through the list, as the first of them */
        staging.started = 0;
        staging.stop = false;
    }
    pthread_mutex_unlock(&staging.lock);
}
