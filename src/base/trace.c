/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The trace that is on. Records wait in a buffer, behind each other, until the trace's thread
 * writes them: some ten milliseconds later. They are copies: memory that another core frees would
 * have to be fetched from there by the thread that submits next. While there are any the thread
 * looks for itself, so that a thread that submits seldom has to wake it: that takes longer than to
 * make a record. It starts with the first record, and ends with the trace or with the last close.
 *
 * Locks: `control` for starting and stopping, which may block; `lock` for the buffer, a leaf. The
 * thread alone has `out` while it runs, and the buffer that it has taken.
 */
#include "base/trace.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/object.h"
#include "base/options.h"
#include "base/threads.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MOST = 4 << 20,     /* bytes of records that wait; few of these pages are ever touched */
    SOON = MOST / 4,    /* so many are written without waiting for more */
    ENCODED = 64 * 1024 /* bytes that are encoded before they are written to the file */
};
#define PERIOD ACU_MS(10) /* short, so that little is left to do at the end, when the program waits
                           * for it */
#define TIMED_SPREAD 10 /* pieces of a second among which parts with timing events are spread: they
                         * take microseconds each, all in the first moment would be felt */
#define DEFAULT_BYTES (UINT64_C(64) << 20)
#define DEFAULT_TIMED 250u

_Atomic(bool) acui_trace_on;

static pthread_mutex_t control = PTHREAD_MUTEX_INITIALIZER;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    char *room, *taken; /* entries that wait; those that the thread writes, or did. NULL: none */
    size_t used;
    bool hasty;   /* the thread was told that there are many */
    bool begun;   /* a trace is on, for acu_trace_stop; changed under `control` too */
    bool running; /* the thread is there, and its list is looked at */
    bool idle;    /* it waits to be told of a record */
    bool stop;
    pthread_t thread;
    uint64_t records;
} trace = {.lock = PTHREAD_MUTEX_INITIALIZER};

typedef struct entry {
    acui_trace_write_fn write;
    size_t bytes; /* with itself; the record is behind it */
} entry;

static acui_trace_out out = {.fd = -1};

static _Atomic(acui_trace_sample) sample; /* relaxed: always the same */

/* Relaxed counters. */
static _Atomic(uint64_t) dropped, timed;
static struct { /* relaxed: a thread that reads an old piece of time lets one more through */
    _Atomic(uint64_t) until, used;
    _Atomic(uint64_t) most, length; /* of a piece */
} budget = {.length = ACU_MS(1000)};

/* ---- what comes in ---- */

static void lose(void)
{
    atomic_fetch_add_explicit(&dropped, 1, memory_order_relaxed);
}

bool acui_trace_timed(uint64_t now)
{
    uint64_t most = atomic_load_explicit(&budget.most, memory_order_relaxed);
    if (!acui_tracing() || most == 0)
        return false;
    if (now >= atomic_load_explicit(&budget.until, memory_order_relaxed)) {
        uint64_t length = atomic_load_explicit(&budget.length, memory_order_relaxed);
        atomic_store_explicit(&budget.until, now + length, memory_order_relaxed);
        atomic_store_explicit(&budget.used, 0, memory_order_relaxed);
    }
    if (atomic_load_explicit(&budget.used, memory_order_relaxed) >= most ||
        atomic_fetch_add_explicit(&budget.used, 1, memory_order_relaxed) >= most)
        return false;
    atomic_fetch_add_explicit(&timed, 1, memory_order_relaxed);
    return true;
}

void acui_trace_set_sample(acui_trace_sample fn)
{
    atomic_store_explicit(&sample, fn, memory_order_relaxed);
}

static void *run(void *unused);

/* Lock held. False: no memory, or no thread. */
static bool start(void)
{
    if (!trace.room)
        trace.room = acui_alloc_raw(MOST);
    if (!trace.taken)
        trace.taken = acui_alloc_raw(MOST);
    return trace.running = trace.room && trace.taken &&
                           acui_thread_start(&trace.thread, "acuda-trace", run);
}

void *acui_trace_get(acui_trace_write_fn write, size_t bytes)
{
    bytes = (sizeof(entry) + bytes + 7) & ~(size_t)7;
    pthread_mutex_lock(&trace.lock);
    /* If it runs, `rest` ends it, or goes through the buffer once it has. */
    if (!acui_tracing() || (!trace.running && !start()) || bytes > MOST - trace.used) {
        pthread_mutex_unlock(&trace.lock);
        lose();
        return NULL;
    }
    entry *e = (entry *)(void *)(trace.room + trace.used);
    *e = (entry){.write = write, .bytes = bytes};
    trace.used += bytes;
    return e + 1;
}

void acui_trace_put(void)
{
    bool many = trace.used >= SOON && !trace.hasty;
    if (trace.idle || many)
        pthread_cond_signal(&trace.wake);
    trace.hasty |= many;
    trace.idle = false; /* once is enough */
    pthread_mutex_unlock(&trace.lock);
}

/* ---- the thread ---- */

/* Writes the records, then a sample. Returns how many of them got into the file's buffer. */
static uint64_t write_all(const char *at, size_t bytes)
{
    uint64_t written = 0;
    char reason[64];
    for (const char *end = at + bytes; at < end && !out.failure; written++) {
        const entry *e = (const entry *)(const void *)at;
        e->write(e + 1, &out);
        if (out.pb.used >= ENCODED || out.file_bytes + out.pb.used >= out.max_bytes)
            acui_trace_write(&out);
        at += e->bytes;
    }
    acui_trace_sample then = atomic_load_explicit(&sample, memory_order_relaxed);
    if (then && written)
        then(&out);
    acui_trace_write(&out);
    if (out.failure && acui_tracing()) {
        atomic_store_explicit(&acui_trace_on, false, memory_order_relaxed);
        ACUI_LOG(ACU_LOG_WARNING, "trace", -1, "%s: %s; the trace ends", out.path,
                 strerror_r(out.failure, reason, sizeof reason));
    }
    return written;
}

/* What waits now. Lock held, given up meanwhile. */
static void write_waiting(void)
{
    char *room = trace.room;
    size_t used = trace.used;
    trace.room = trace.taken;
    trace.taken = room;
    trace.used = 0;
    trace.hasty = false;
    pthread_mutex_unlock(&trace.lock);
    uint64_t written = write_all(room, used);
    pthread_mutex_lock(&trace.lock);
    trace.records += written;
}

static void *run(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&trace.lock);
    while (!trace.stop) {
        uint64_t deadline = acui_deadline(PERIOD);
        while (!trace.stop && trace.used < SOON &&
               acui_cond_wait_until(&trace.wake, &trace.lock, deadline))
            ;
        if (trace.used) {
            write_waiting();
            continue;
        }
        while (!trace.stop && !trace.used) {
            trace.idle = true;
            pthread_cond_wait(&trace.wake, &trace.lock);
        }
        trace.idle = false;
    }
    pthread_mutex_unlock(&trace.lock);
    return NULL;
}

/* Everything is written, and the thread has ended. `control` held. */
static void rest(void)
{
    pthread_mutex_lock(&trace.lock);
    if (trace.running) {
        trace.stop = true;
        pthread_cond_signal(&trace.wake);
        pthread_mutex_unlock(&trace.lock);
        pthread_join(trace.thread, NULL);
        pthread_mutex_lock(&trace.lock);
        while (trace.used)
            write_waiting();
        trace.running = trace.stop = false;
        acui_pb_free(&out.pb); /* all of it is written */
    }
    acui_free(trace.room);
    acui_free(trace.taken);
    trace.room = trace.taken = NULL;
    pthread_mutex_unlock(&trace.lock);
}

void acui_trace_rest(void)
{
    pthread_mutex_lock(&control);
    rest();
    pthread_mutex_unlock(&control);
}

/* ---- starting and stopping ---- */

/* The child of a fork has no part in its parent's trace; the file is the parent's. */
static void in_child(void)
{
    atomic_store_explicit(&acui_trace_on, false, memory_order_relaxed);
    pthread_mutex_init(&control, NULL);
    pthread_mutex_init(&trace.lock, NULL);
    acui_cond_init(&trace.wake);
    trace.begun = trace.running = trace.stop = trace.idle = trace.hasty = false;
    trace.used = 0;
    if (out.fd >= 0)
        close(out.fd);
    out.fd = -1;
}

static void prepare(void)
{
    acui_cond_init(&trace.wake);
    pthread_atfork(NULL, NULL, in_child);
}

static acu_status begin(const char *path, const acu_trace_options *options, const char *asked_by)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (options->max_bytes && options->max_bytes < 4096)
        return acui_fail(ACU_ERR_INVALID, "%s: files of %llu bytes are too small: at least 4096",
                         asked_by, (unsigned long long)options->max_bytes);
    if (trace.begun)
        return acui_fail(ACU_ERR_BUSY, "%s: a trace is on already: %s", asked_by, out.path);
    pthread_once(&once, prepare);
    out.max_bytes = options->max_bytes ? options->max_bytes : DEFAULT_BYTES;
    out.files = options->files ? options->files : 2;
    out.bytes = out.rotated = 0;
    out.failure = 0;
    out.lacked = false;
    ACUI_TRY(acui_trace_open(&out, path, asked_by));
    unsigned most = options->timed_per_second ? options->timed_per_second : DEFAULT_TIMED;
    unsigned pieces = most < TIMED_SPREAD ? 1 : TIMED_SPREAD;
    atomic_store_explicit(&budget.until, 0, memory_order_relaxed);
    atomic_store_explicit(&budget.length, ACU_MS(1000) / pieces, memory_order_relaxed);
    atomic_store_explicit(&budget.most, options->untimed ? 0 : most / pieces,
                          memory_order_relaxed);
    atomic_store_explicit(&dropped, 0, memory_order_relaxed);
    atomic_store_explicit(&timed, 0, memory_order_relaxed);
    pthread_mutex_lock(&trace.lock);
    trace.records = 0;
    trace.begun = true;
    pthread_mutex_unlock(&trace.lock);
    atomic_store_explicit(&acui_trace_on, true, memory_order_relaxed);
    return ACU_OK;
}

acu_status acu_trace_start(const char *path, const acu_trace_options *options)
{
    acu_trace_options known;
    ACUI_REFUSE_FORK();
    if (!path)
        return acui_fail(ACU_ERR_INVALID, "acu_trace_start: the path is NULL");
    ACUI_TRY(acui_options_read(&known, sizeof known, options, __func__));
    pthread_mutex_lock(&control);
    acu_status status = begin(path, &known, __func__);
    pthread_mutex_unlock(&control);
    return status;
}

/* `control` held. */
static acu_status begin_by_environment(const char *path)
{
    acu_trace_options options = {.size = sizeof options};
    const char *timed_text = secure_getenv("ACUDA_TRACE_TIMED");
    if (timed_text && timed_text[0]) {
        char *end;
        unsigned long most = strtoul(timed_text, &end, 10);
        if (timed_text[0] < '0' || timed_text[0] > '9' || *end || most > 1000000000)
            return acui_fail(ACU_ERR_INVALID,
                             "ACUDA_TRACE_TIMED is how many parts a second have their times on the "
                             "device taken, at most 1000000000, not \"%.60s\"", timed_text);
        options.timed_per_second = (unsigned)most;
        options.untimed = most == 0;
    }
    return begin(path, &options, "ACUDA_TRACE");
}

acu_status acui_trace_from_environment(void)
{
    static bool done; /* once in a process: stopping it is final */
    pthread_mutex_lock(&control);
    const char *path = done ? NULL : secure_getenv("ACUDA_TRACE");
    acu_status status = ACU_OK;
    if (path && path[0] && !trace.begun)
        status = begin_by_environment(path);
    done = status == ACU_OK;
    pthread_mutex_unlock(&control);
    return status;
}

/* `control` held. */
static acu_status end(void)
{
    char reason[64];
    if (!trace.begun)
        return acui_fail(ACU_ERR_INVALID, "acu_trace_stop: no trace is on");
    atomic_store_explicit(&acui_trace_on, false, memory_order_relaxed);
    rest();
    acui_trace_write(&out); /* the head, if there was no record */
    acui_trace_close(&out);
    pthread_mutex_lock(&trace.lock);
    trace.begun = false;
    pthread_mutex_unlock(&trace.lock);
    if (out.failure)
        return acui_fail(ACU_ERR_IO, "acu_trace_stop: %s: %s; the trace ends before that", out.path,
                         strerror_r(out.failure, reason, sizeof reason));
    return out.lacked ? acui_fail(ACU_ERR_NO_MEMORY, "acu_trace_stop: %s: there was no memory for "
                                  "some of the records", out.path)
                      : ACU_OK;
}

acu_status acu_trace_stop(void)
{
    ACUI_REFUSE_FORK();
    pthread_mutex_lock(&control);
    acu_status status = end();
    pthread_mutex_unlock(&control);
    return status;
}

acu_status acu_trace_stats(acu_trace_statistics *stats)
{
    ACUI_REFUSE_FORK();
    pthread_mutex_lock(&control);
    rest(); /* `out` is the thread's while that runs; it starts again with the next record */
    pthread_mutex_lock(&trace.lock);
    acu_trace_statistics all = {
        .on = trace.begun && acui_tracing(),
        .records = trace.records,
        .dropped = atomic_load_explicit(&dropped, memory_order_relaxed),
        .timed = atomic_load_explicit(&timed, memory_order_relaxed)};
    pthread_mutex_unlock(&trace.lock);
    all.bytes = out.bytes;
    all.rotated = out.rotated;
    pthread_mutex_unlock(&control);
    return acui_struct_write(stats, &all, sizeof all, __func__);
}
