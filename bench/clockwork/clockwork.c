/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The clock of the clockwork (clockwork.h): when streams and events are over, the thread that
 * writes flags at that time, and the calls that keep time. All other calls are forwarded
 * (forward.c).
 */
#include "clockwork.h"

#include "real.h"

#include <acuda/driver_calls.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

enum { PLACES = 1024, WRITES = 256 };

/* A stream or an event, found by its handle, and when it is over. */
typedef struct place {
    void *handle;
    uint64_t due; /* ns */
} place;

typedef struct flag_write {
    uint64_t due, value;
    _Atomic(uint64_t) *flag;
} flag_write;

static _Atomic(bool) started; /* relaxed: it changes while nothing is submitted */
static _Atomic(bool) timed;   /* a launch had a length since; relaxed, as the next ones */
static _Atomic(uint64_t) next_length, over_at;
static uint64_t late;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static place places[PLACES];
static flag_write writes[WRITES];
static int write_count;
static pthread_t writer;
static bool writing;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0)
        continue;
}

/* Lock held. */
static uint64_t *due_of(void *handle)
{
    for (size_t i = (uintptr_t)handle / 16 % PLACES, tries = 0; tries < PLACES; tries++) {
        place *p = &places[(i + tries) % PLACES];
        if (!p->handle)
            p->handle = handle;
        if (p->handle == handle)
            return &p->due;
    }
    abort(); /* more streams and events than any benchmark has */
}

static uint64_t read_due(void *handle)
{
    if (!atomic_load_explicit(&timed, memory_order_relaxed))
        return 0;
    pthread_mutex_lock(&lock);
    uint64_t due = *due_of(handle);
    pthread_mutex_unlock(&lock);
    return due;
}

/* ---- the thread that writes flags ---- */

#define AHEAD 100000 /* ns: it sleeps until that long before the next flag is due, then spins */

/* Writes the flags that are due. Returns when the next one is, or 0. Lock held. */
static uint64_t write_due(uint64_t now)
{
    uint64_t next = 0;
    for (int i = 0; i < write_count;) {
        flag_write *w = &writes[i];
        if (w->due <= now) {
            atomic_store_explicit(w->flag, w->value, memory_order_release);
            *w = writes[--write_count];
            continue;
        }
        next = next && next < w->due ? next : w->due;
        i++;
    }
    return next;
}

static void *write_flags(void *unused)
{
    (void)unused;
    prctl(PR_SET_TIMERSLACK, 1000UL, 0, 0, 0);
    pthread_mutex_lock(&lock);
    while (writing) {
        uint64_t next = write_due(now_ns());
        if (!next) {
            pthread_cond_wait(&changed, &lock);
            continue;
        }
        pthread_mutex_unlock(&lock);
        if (next > now_ns() + AHEAD)
            sleep_until(next - AHEAD);
        while (now_ns() < next)
            continue;
        pthread_mutex_lock(&lock);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

void clockwork_start(uint64_t late_ns)
{
    late = late_ns;
    writing = true;
    if (pthread_create(&writer, NULL, write_flags, NULL) != 0)
        abort();
    atomic_store_explicit(&started, true, memory_order_relaxed);
}

void clockwork_stop(void)
{
    atomic_store_explicit(&started, false, memory_order_relaxed);
    pthread_mutex_lock(&lock);
    writing = false;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(writer, NULL);
}

void clockwork_next(uint64_t ns)
{
    if (ns)
        atomic_store_explicit(&timed, true, memory_order_relaxed);
    atomic_store_explicit(&next_length, ns, memory_order_relaxed);
}

uint64_t clockwork_over_at(void)
{
    return atomic_load_explicit(&over_at, memory_order_relaxed);
}

double clockwork_cpu_us(void)
{
    clockid_t clock;
    struct timespec t = {0};
    if (pthread_getcpuclockid(writer, &clock) == 0)
        clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* ---- what the calls do ---- */

static void run(CUstream stream)
{
    if (!atomic_load_explicit(&timed, memory_order_relaxed))
        return;
    uint64_t ns = atomic_exchange_explicit(&next_length, 0, memory_order_relaxed);
    if (!ns)
        return;
    pthread_mutex_lock(&lock);
    uint64_t *due = due_of(stream), now = now_ns();
    *due = (*due > now ? *due : now) + ns;
    atomic_store_explicit(&over_at, *due, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
}

static unsigned query(void *handle)
{
    uint64_t due = read_due(handle);
    return due && now_ns() < due ? ACU_CUDA_ERROR_NOT_READY : ACU_CUDA_SUCCESS;
}

static void write_flag(CUstream stream, CUdeviceptr address, uint64_t value)
{
    _Atomic(uint64_t) *flag = (_Atomic(uint64_t) *)(uintptr_t)address;
    uint64_t due = read_due(stream);
    if (!due || due <= now_ns()) {
        atomic_store_explicit(flag, value, memory_order_release);
        return;
    }
    pthread_mutex_lock(&lock);
    if (write_count == WRITES)
        abort(); /* more at a time than any benchmark has */
    writes[write_count++] = (flag_write){due, value, flag};
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

/* `to` comes behind `from`; each is a stream or an event. */
static void put_behind(void *to, void *from)
{
    if (!atomic_load_explicit(&timed, memory_order_relaxed))
        return;
    pthread_mutex_lock(&lock);
    uint64_t due = *due_of(from), *own = due_of(to);
    *own = *own > due ? *own : due;
    pthread_mutex_unlock(&lock);
}

static void block(CUevent event)
{
    uint64_t due = read_due(event);
    if (due && now_ns() < due)
        sleep_until(due + late);
}

static void spin(CUstream stream)
{
    while (query(stream) != ACU_CUDA_SUCCESS)
        continue;
}

/* CALL(symbol, parameters, arguments, what it returns once the clockwork is started) */
#define CALL(symbol, parameters, arguments, own) \
    __attribute__((visibility("default"))) unsigned symbol parameters; \
    unsigned symbol parameters \
    { \
        if (atomic_load_explicit(&started, memory_order_relaxed)) \
            return own; \
        CLOCKWORK_REAL(symbol, parameters) \
        return real arguments; \
    }

CALL(cuLaunchKernel,
     (CUfunction fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
      unsigned shared, CUstream stream, void **params, void **extra),
     (fn, gx, gy, gz, bx, by, bz, shared, stream, params, extra), (run(stream), 0))
CALL(cuGraphLaunch, (CUgraphExec exec, CUstream stream), (exec, stream), (run(stream), 0))
CALL(cuGraphExecKernelNodeSetParams,
     (CUgraphExec exec, CUgraphNode node, const acu_CUDA_KERNEL_NODE_PARAMS_v1 *params),
     (exec, node, params), 0)
CALL(cuGraphExecKernelNodeSetParams_v2,
     (CUgraphExec exec, CUgraphNode node, const acu_CUDA_KERNEL_NODE_PARAMS_v2 *params),
     (exec, node, params), 0)
CALL(cuMemcpyHtoDAsync_v2, (CUdeviceptr dst, const void *src, size_t bytes, CUstream stream),
     (dst, src, bytes, stream), 0)
CALL(cuStreamWriteValue64_v2,
     (CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags),
     (stream, address, value, flags), (write_flag(stream, address, value), 0))
CALL(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags), (stream, event, flags),
     (put_behind(stream, event), 0))
CALL(cuStreamQuery, (CUstream stream), (stream), query(stream))
CALL(cuStreamSynchronize, (CUstream stream), (stream), (spin(stream), 0))
CALL(cuEventRecord, (CUevent event, CUstream stream), (event, stream),
     (put_behind(event, stream), 0))
CALL(cuEventQuery, (CUevent event), (event), query(event))
CALL(cuEventSynchronize, (CUevent event), (event), (block(event), 0))
CALL(cuThreadExchangeStreamCaptureMode, (unsigned *mode), (mode), 0)
