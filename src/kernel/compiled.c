/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What was compiled, found by its request. An entry exists from the moment that a thread starts to
 * make it, so that each request is compiled once; other threads wait for it. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/options.h"
#include "base/trace.h"
#include "device/loader.h"
#include "kernel/kernel.h"
#include "kernel/request.h"

#include <string.h>

enum { BUCKETS = 256 };
#define MEMORY ((uint64_t)64 << 20)

typedef struct entry {
    struct entry *next; /* in its bucket */
    acui_hash hash;
    char *key;
    size_t key_bytes;
    uint64_t used;    /* the turn in which it was last asked for */
    unsigned waiting; /* threads that look at it, and keep it alive */
    bool running, gone; /* running: a thread makes it. gone: in no bucket any more */
    acu_status status;
    acui_fault *fault;
    acu_code *code;
} entry;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t done;
    entry *buckets[BUCKETS];
    uint64_t turn, bytes, limit;
} memory = {.lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER, .limit = MEMORY};

static _Atomic(uint64_t) counts[sizeof(acu_compile_statistics) / sizeof(uint64_t)];

void acui_compile_count(size_t field)
{
    atomic_fetch_add_explicit(&counts[field / sizeof *counts], 1, memory_order_relaxed);
}

acu_status acu_compile_stats(acu_compile_statistics *out)
{
    uint64_t copy[sizeof counts / sizeof *counts];
    for (size_t i = 0; i < sizeof counts / sizeof *counts;
         i++) /* the first, its size, is not one */
        copy[i] = atomic_load_explicit(&counts[i], memory_order_relaxed);
    return acui_struct_write(out, copy, sizeof copy, __func__);
}

/* ---- entries; the lock is held ---- */

static uint64_t size_of(const entry *e)
{
    return e->key_bytes + (e->code ? e->code->bytes.count : 0) + sizeof *e;
}

static void free_entry(entry *e)
{
    acu_code_release(e->code);
    acui_fault_release(e->fault);
    acui_free(e->key);
    acui_free(e);
}

static entry **bucket_of(const acui_hash *hash)
{
    return &memory.buckets[hash->word[0] % BUCKETS];
}

/* Takes the entry out of its bucket. It is freed when no thread makes it or looks at it any
 * more. */
static void take_out(entry *e)
{
    entry **link = bucket_of(&e->hash);
    while (*link != e)
        link = &(*link)->next;
    *link = e->next;
    e->gone = true;
    if (!e->running)
        memory.bytes -= size_of(e);
    if (!e->running && e->waiting == 0)
        free_entry(e);
}

static entry *find(const acui_request *r)
{
    for (entry *e = *bucket_of(&r->hash); e; e = e->next)
        if (memcmp(&e->hash, &r->hash, sizeof e->hash) == 0 && e->key_bytes == r->key.count &&
            memcmp(e->key, r->key.data, r->key.count) == 0)
            return e;
    return NULL;
}

static void keep_below(uint64_t limit)
{
    while (memory.bytes > limit) {
        entry *oldest = NULL;
        for (int i = 0; i < BUCKETS; i++)
            for (entry *e = memory.buckets[i]; e; e = e->next)
                if (!e->running && (!oldest || e->used < oldest->used))
                    oldest = e;
        if (!oldest)
            return;
        take_out(oldest);
    }
}

/* A new entry, in its bucket; NULL: no memory. */
static entry *new_entry(const acui_request *r)
{
    entry *e = ACUI_NEW(entry);
    char *key = e ? acui_alloc_raw(r->key.count) : NULL;
    if (!key) {
        acui_free(e);
        return NULL;
    }
    memcpy(key, r->key.data, r->key.count);
    *e = (entry){.hash = r->hash, .key = key, .key_bytes = r->key.count, .running = true};
    e->next = *bucket_of(&r->hash);
    *bucket_of(&r->hash) = e;
    return e;
}

/* ---- making ---- */

static acu_status run_compiler(const acui_request *r, acu_code **code)
{
    acui_bytes bytes = {0};
    ACUI_COMPILE_COUNT(compiled);
    uint64_t from = acui_now(), traced = acui_trace_from();
    acu_status st = r->nvrtc ? acui_nvrtc_compile(r, &bytes) : acui_clang_compile(r, &bytes);
    acu_error record = *acui_error();
    acui_trace_slice(traced, "compile", "%s", r->what);
    if (st == ACU_OK)
        ACUI_LOG(ACU_LOG_INFO, "compiler", -1, "%s was compiled by %s in %llu ms", r->what,
                 r->nvrtc ? "NVRTC" : "clang", (unsigned long long)((acui_now() - from) / 1000000));
    else
        acui_log_record(ACU_LOG_WARNING, "compiler", &record);
    if (bytes.count || bytes.failed) {
        acu_status made = ACU_OK;
        *code = acui_code_new(&bytes, &made);
        if (made != ACU_OK)
            return made;
    }
    return st == ACU_OK ? ACU_OK : acui_error_restore(&record);
}

static acu_status make(const acui_request *r, acu_code **code)
{
    if (r->keep) {
        *code = acui_disk_read(r);
        if (*code) {
            ACUI_COMPILE_COUNT(from_disk);
            ACUI_LOG(ACU_LOG_DEBUG, "cache", -1, "%s was in the cache on disk", r->what);
            return ACU_OK;
        }
    }
    ACUI_TRY(run_compiler(r, code));
    if (r->keep)
        acui_disk_write(r, *code);
    return ACU_OK;
}

/* Fills the entry, which this thread has made. */
static acu_status make_entry(entry *e, const acui_request *r, acu_code **code)
{
    acu_status st = make(r, code);
    acui_fault *fault = st == ACU_OK ? NULL : acui_fault_new(acui_error());
    pthread_mutex_lock(&memory.lock);
    e->running = false;
    e->status = st;
    e->fault = fault;
    e->code = acu_code_retain(*code);
    memory.bytes += size_of(e);
    if (e->gone) {
        memory.bytes -= size_of(e);
        if (e->waiting == 0)
            free_entry(e);
    } else if (st != ACU_OK) {
        take_out(e); /* the next request tries again */
    } else {
        keep_below(memory.limit);
    }
    pthread_cond_broadcast(&memory.done);
    pthread_mutex_unlock(&memory.lock);
    return st;
}

/* Waits for another thread to make it. The lock is held on entry, and released. */
static acu_status join(entry *e, acu_code **code)
{
    e->waiting++;
    while (e->running)
        pthread_cond_wait(&memory.done, &memory.lock);
    acu_status st = e->status;
    if (st != ACU_OK)
        acui_error_restore(&e->fault->error);
    *code = acu_code_retain(e->code);
    if (--e->waiting == 0 && e->gone)
        free_entry(e);
    pthread_mutex_unlock(&memory.lock);
    return st;
}

acu_status acui_compile(const acui_request *r, acu_code **code)
{
    *code = NULL;
    if (!r->keep)
        return make(r, code);
    acui_loader_at_end(acu_compile_forget); /* the cache is dropped with the last device */
    pthread_mutex_lock(&memory.lock);
    entry *e = find(r);
    if (e)
        e->used = ++memory.turn;
    if (e && e->running) {
        ACUI_COMPILE_COUNT(joined);
        return join(e, code);
    }
    if (e) {
        *code = acu_code_retain(e->code);
        pthread_mutex_unlock(&memory.lock);
        ACUI_COMPILE_COUNT(from_memory);
        return ACU_OK;
    }
    e = new_entry(r);
    if (e)
        e->used = ++memory.turn;
    pthread_mutex_unlock(&memory.lock);
    return e ? make_entry(e, r, code)
             : acui_fail(ACU_ERR_NO_MEMORY, "no memory to compile %s", r->what);
}

void acui_compile_set_memory(uint64_t limit)
{
    pthread_mutex_lock(&memory.lock);
    memory.limit = limit;
    keep_below(limit);
    pthread_mutex_unlock(&memory.lock);
}

void acu_compile_forget(void)
{
    if (acui_forked())
        return;
    pthread_mutex_lock(&memory.lock);
    keep_below(0);
    pthread_mutex_unlock(&memory.lock);
}
