/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The cache of a device: which signatures were seen, and the executable graphs (execs) that serve
 * them.
 *
 * An exec's `refs` count the cache and each task that it runs for and that is not over; one thread
 * at a time claims it, to set and launch it. So parameters are only ever set by one thread, and an
 * exec that leaves the cache is freed when the last of its tasks is over. */
#include "engine/issue/graphs.h"

#include "base/alloc.h"
#include "base/callback.h"
#include "base/error.h"
#include "base/options.h"

#include <string.h>

/* After the driver had no memory for a signature's graph, the signature is asked for so often in
 * vain before the driver is asked again; twice as often each time, up to a bound. */
enum { PAUSE = 64, PAUSE_MOST = 65536 };

/* ---- the cache itself ---- */

static void free_list(acu_device *device, acui_exec *list)
{
    if (!list)
        return;
    acui_entered entered;
    acui_enter_to_free(device, &entered);
    while (list) {
        acui_exec *next = list->next;
        acui_exec_free(list);
        list = next;
    }
    acui_leave(&entered);
}

static void put_exec(acui_exec *exec)
{
    if (!acui_refs_drop(&exec->refs))
        return;
    exec->next = NULL;
    free_list(exec->device, exec);
}

/* A list of execs that have left the cache. */
static void put_execs(acui_exec *list)
{
    while (list) {
        acui_exec *exec = list;
        list = exec->next;
        put_exec(exec);
    }
}

/* The exec, which is out of its signature's list, leaves the cache. Lock held. */
static void forget_exec(acui_graphs *graphs, acui_exec *exec)
{
    exec->entry = NULL;
    exec->next = NULL;
    graphs->counts.execs--;
    graphs->counts.set += atomic_load_explicit(&exec->set, memory_order_relaxed);
    graphs->counts.skipped += atomic_load_explicit(&exec->skipped, memory_order_relaxed);
    graphs->counts.together += atomic_load_explicit(&exec->together, memory_order_relaxed);
}

/* Take the signature out of its slot, and free it. Its execs that are ready go to `*idle` (nothing
 * of them runs); one that is being made is left to the thread that makes it. Lock held. */
static void drop_entry(acui_graphs *graphs, acui_graph_entry **link, acui_exec **idle)
{
    acui_graph_entry *entry = *link;
    *link = entry->next;
    graphs->counts.signatures--;
    while (entry->execs) {
        acui_exec *exec = entry->execs;
        entry->execs = exec->next;
        forget_exec(graphs, exec);
        if (exec->ready) {
            exec->next = *idle;
            *idle = exec;
        }
    }
    acui_free(entry->modules);
    acui_free(entry);
}

void acui_graphs_drop(acu_device *device)
{
    acui_graphs *graphs = atomic_exchange_explicit(&device->engine->graphs, NULL,
                                                   memory_order_acquire);
    acui_exec *idle = NULL;
    if (!graphs)
        return;
    for (size_t i = 0; i < ACUI_GRAPH_SLOTS; i++)
        while (graphs->entries[i])
            drop_entry(graphs, &graphs->entries[i], &idle);
    free_list(device, idle);
    acui_free(graphs);
}

static bool has_module(const acui_graph_entry *entry, const struct acu_module *module)
{
    for (uint32_t i = 0; i < entry->module_count; i++)
        if (entry->modules[i] == module)
            return true;
    return false;
}

/* Nothing with its kernels is in flight, since that would hold it. */
void acui_graphs_forget(acu_device *device, const struct acu_module *module)
{
    acui_graphs *graphs = atomic_load_explicit(&device->engine->graphs, memory_order_acquire);
    acui_exec *idle = NULL;
    if (!graphs)
        return;
    acui_lock_take(&graphs->lock);
    for (size_t i = 0; i < ACUI_GRAPH_SLOTS; i++)
        for (acui_graph_entry **link = &graphs->entries[i]; *link;) {
            if (has_module(*link, module))
                drop_entry(graphs, link, &idle);
            else
                link = &(*link)->next;
        }
    acui_lock_give(&graphs->lock);
    free_list(device, idle);
}

static acui_graphs *make_graphs(acu_device *device)
{
    if (!acu_driver_has(ACU_CALL_GraphInstantiateWithFlags) ||
        !acu_driver_has(ACU_CALL_GraphExecKernelNodeSetParams))
        return NULL;
    acui_graphs *graphs = ACUI_NEW(acui_graphs);
    if (!graphs)
        return NULL;
    graphs->limit = ACU_GRAPH_CACHE_DEFAULT;
    pthread_mutex_lock(&device->lock);
    if (!atomic_load_explicit(&device->engine->graphs, memory_order_relaxed)) {
        /* Release, to acui_graphs_of: a thread that sees the cache sees all of it. */
        atomic_store_explicit(&device->engine->graphs, graphs, memory_order_release);
        graphs = NULL;
    }
    pthread_mutex_unlock(&device->lock);
    acui_free(graphs); /* another thread was faster */
    return atomic_load_explicit(&device->engine->graphs, memory_order_relaxed);
}

acui_graphs *acui_graphs_of(acu_device *device)
{
    acui_graphs *graphs = atomic_load_explicit(&device->engine->graphs, memory_order_acquire);
    return graphs ? graphs : make_graphs(device);
}

/* ---- signatures: lock held ---- */

static acui_graph_entry *find_entry(acui_graphs *graphs, const acui_key *key)
{
    acui_graph_entry *entry = graphs->entries[key->hash % ACUI_GRAPH_SLOTS];
    while (entry && (entry->hash != key->hash || entry->words != key->count ||
                     memcmp(entry->key, key->words, key->count * sizeof *entry->key) != 0))
        entry = entry->next;
    return entry;
}

static bool add_modules(acui_graph_entry *entry, const acui_run *run)
{
    entry->modules = ACUI_NEW_ARRAY(const struct acu_module *, run->count);
    for (uint32_t i = 0; entry->modules && i < run->count; i++)
        if (run->nodes[i]->kind == ACUI_NODE_LAUNCH &&
            !has_module(entry, run->nodes[i]->u.launch.kernel->module))
            entry->modules[entry->module_count++] = run->nodes[i]->u.launch.kernel->module;
    return entry->modules != NULL;
}

static acui_graph_entry *add_entry(acui_graphs *graphs, const acui_key *key, const acui_run *run)
{
    size_t bytes = key->count * sizeof(uint64_t);
    acui_graph_entry *entry = acui_alloc(sizeof *entry + bytes);
    if (!entry)
        return NULL;
    if (!add_modules(entry, run)) {
        acui_free(entry);
        return NULL;
    }
    entry->hash = key->hash;
    entry->words = key->count;
    memcpy(entry->key, key->words, bytes);
    acui_graph_entry **slot = &graphs->entries[key->hash % ACUI_GRAPH_SLOTS];
    entry->next = *slot;
    *slot = entry;
    graphs->counts.signatures++;
    return entry;
}

static bool seen_before(acui_graphs *graphs, uint64_t hash)
{
    uint64_t *seen = graphs->seen[(hash >> 32) % ACUI_SEEN_SLOTS];
    size_t at = 0;
    while (at < ACUI_SEEN_EACH - 1 && seen[at] != hash)
        at++;
    bool before = seen[at] == hash;
    memmove(seen + 1, seen, at * sizeof *seen);
    seen[0] = hash;
    return before;
}

/* ---- execs: lock held ---- */

static bool is_idle(acui_exec *exec)
{
    /* Acquire: the exec is used again only after what its last claimer and its last completion
     * wrote. */
    return exec->ready && !atomic_load_explicit(&exec->claimed, memory_order_acquire) &&
           atomic_load_explicit(&exec->refs, memory_order_acquire) == 1;
}

/* An exec whose last launch was on this stream, as a new one comes behind that anyway; else one
 * that does not run. */
static acui_exec *choose_exec(acui_graph_entry *entry, uint64_t stream)
{
    acui_exec *idle = NULL;
    for (acui_exec *exec = entry->execs; exec; exec = exec->next) {
        if (exec->ready && exec->stream == stream &&
            !atomic_load_explicit(&exec->claimed, memory_order_acquire))
            return exec;
        if (!idle && is_idle(exec))
            idle = exec;
    }
    return idle;
}

/* Whether nobody is about to launch it. Tasks that have it in flight keep it while they need it. */
static bool may_leave(acui_exec *exec)
{
    return exec->ready && !atomic_load_explicit(&exec->claimed, memory_order_acquire);
}

/* A signature without execs is forgotten, unless it was refused: that is to be remembered. */
static void drop_empty(acui_graphs *graphs, acui_graph_entry *entry)
{
    acui_exec *none = NULL;
    acui_graph_entry **link = &graphs->entries[entry->hash % ACUI_GRAPH_SLOTS];
    if (entry->exec_count > 0 || entry->refused)
        return;
    while (*link != entry)
        link = &(*link)->next;
    drop_entry(graphs, link, &none);
}

static void unlink_exec(acui_graphs *graphs, acui_exec *exec)
{
    acui_graph_entry *entry = exec->entry;
    acui_exec **link = &entry->execs;
    while (*link != exec)
        link = &(*link)->next;
    *link = exec->next;
    entry->exec_count--;
    forget_exec(graphs, exec);
    drop_empty(graphs, entry);
}

/* Of the execs that `may`, the one that was not used for the longest time leaves the cache; the
 * cache's reference is the caller's. NULL: there is none. */
static acui_exec *evict(acui_graphs *graphs, bool (*may)(acui_exec *exec))
{
    acui_exec *oldest = NULL;
    for (size_t i = 0; i < ACUI_GRAPH_SLOTS; i++)
        for (acui_graph_entry *entry = graphs->entries[i]; entry; entry = entry->next)
            for (acui_exec *exec = entry->execs; exec; exec = exec->next)
                if (may(exec) && (!oldest || exec->used < oldest->used))
                    oldest = exec;
    if (!oldest)
        return NULL;
    unlink_exec(graphs, oldest);
    graphs->counts.evicted++;
    return oldest;
}

/* Execs beyond the limit leave, as a list: first those that are not in use. One that is about to be
 * launched, or is being made, stays until somebody looks again. */
static acui_exec *evict_surplus(acui_graphs *graphs)
{
    acui_exec *list = NULL, *exec;
    while (graphs->counts.execs > graphs->limit &&
           ((exec = evict(graphs, is_idle)) || (exec = evict(graphs, may_leave)))) {
        exec->next = list;
        list = exec;
    }
    return list;
}

static void link_exec(acui_graphs *graphs, acui_graph_entry *entry, acui_exec *exec)
{
    exec->budget = &graphs->call_memory;
    exec->entry = entry;
    exec->next = entry->execs;
    entry->execs = exec;
    entry->exec_count++;
    entry->waiting++;
    graphs->counts.execs++;
}

/* ---- ordering one ---- */

/* A signature that was refused for lack of memory is tried again now and then, ever more seldom. */
static bool may_try_again(acui_graph_entry *entry)
{
    if (entry->rest == 0 || --entry->rest > 0)
        return false;
    entry->refused = false;
    return true;
}

static void note_refusal(acui_graph_entry *entry, acui_built how)
{
    if (how == ACUI_BUILT)
        entry->pause = 0;
    if (how != ACUI_BUILD_REFUSED && how != ACUI_BUILD_SHORT)
        return;
    entry->refused = true;
    entry->rest = 0;
    if (how == ACUI_BUILD_SHORT) {
        entry->pause = entry->pause == 0 ? PAUSE : 2 * entry->pause;
        entry->pause = entry->pause < PAUSE_MOST ? entry->pause : PAUSE_MOST;
        entry->rest = entry->pause;
    }
}

/* The signature could use one more exec: order it from build.c's thread. Lock held, given up
 * meanwhile. */
static void order_exec(acui_graphs *graphs, acui_graph_entry *entry, const acui_key *key,
                       const acui_run *run, acu_device *device)
{
    acui_exec *old = NULL;
    if ((entry->refused && !may_try_again(entry)) || entry->waiting > 0)
        return;
    bool room = graphs->counts.execs < graphs->limit;
    if (!room && (graphs->limit == 0 || !(old = evict(graphs, is_idle)))) {
        drop_empty(graphs, entry);
        return;
    }
    acui_graph_entry *kept = find_entry(graphs, key); /* NULL: it left with its last exec */
    acui_exec *exec = kept ? acui_exec_new(run, device) : NULL;
    if (exec)
        link_exec(graphs, kept, exec);
    else if (kept)
        drop_empty(graphs, kept);
    acui_lock_give(&graphs->lock);
    put_execs(old);
    if (exec && exec->calls && acui_exec_capture(exec, run) != ACU_OK)
        acui_graphs_built(exec, ACUI_BUILD_REFUSED);
    else if (exec && !acui_build_order(exec))
        acui_graphs_built(exec, ACUI_NOT_BUILT);
    acui_lock_take(&graphs->lock);
}

void acui_graphs_built(acui_exec *exec, acui_built how)
{
    acu_device *device = exec->device;
    acui_graphs *graphs = acui_graphs_of(device);
    acui_lock_take(&graphs->lock);
    acui_graph_entry *entry = exec->entry;
    if (entry) {
        entry->waiting--;
        note_refusal(entry, how);
    }
    if (entry && how == ACUI_BUILT && graphs->counts.execs <= graphs->limit) {
        exec->ready = true;
        exec->used = graphs->claims;
        graphs->counts.built++;
        exec = NULL;
    } else if (entry) {
        unlink_exec(graphs, exec);
    }
    acui_lock_give(&graphs->lock);
    free_list(device, exec); /* refused, one too many by now, or its signature was forgotten */
}

/* ---- claiming ---- */

static acui_exec *claim_of(acui_graphs *graphs, acui_graph_entry *entry, acu_stream *stream)
{
    acui_exec *exec = choose_exec(entry, stream->id);
    if (!exec)
        return NULL;
    exec->stream = stream->id;
    exec->used = ++graphs->claims;
    atomic_store_explicit(&exec->claimed, 1, memory_order_relaxed); /* the lock orders it */
    graphs->counts.hits++;
    return exec;
}

/* Why none of the signature's execs serves now. Lock held. */
static const char *why_none(const acui_graphs *graphs, const acui_graph_entry *entry)
{
    if (graphs->limit == 0)
        return "executable graphs are switched off";
    if (!entry)
        return "its signature was not seen before";
    if (entry->refused)
        return entry->rest ? "the driver had no memory to make its graph"
                           : "the driver refused to make its graph";
    return entry->exec_count == entry->waiting
               ? "its graph is not made yet"
               : "all graphs of its signature are in flight elsewhere";
}

acui_exec *acui_graphs_claim(acui_run *run, acu_stream *stream, const char **why)
{
    acu_device *device = stream->device;
    acui_graphs *graphs = acui_graphs_of(device);
    acui_key key;
    if (!graphs || !acui_key_make(&key, run)) {
        *why = graphs ? "there was no memory to look for its graph"
                      : "the driver lacks calls for graphs";
        return NULL;
    }
    acui_lock_take(&graphs->lock);
    acui_exec *old = graphs->counts.execs > graphs->limit ? evict_surplus(graphs) : NULL;
    acui_graph_entry *entry = graphs->limit ? find_entry(graphs, &key) : NULL;
    acui_exec *exec = entry ? claim_of(graphs, entry, stream) : NULL;
    if (!exec)
        *why = why_none(graphs, entry);
    if (!exec && graphs->limit) {
        graphs->counts.misses++;
        if (!entry && seen_before(graphs, key.hash))
            entry = add_entry(graphs, &key, run);
        if (entry)
            order_exec(graphs, entry, &key, run, device);
    }
    acui_lock_give(&graphs->lock);
    put_execs(old);
    acui_key_drop(&key);
    return exec;
}

acu_status acui_graphs_make(acui_run *run, acu_device *device)
{
    acui_graphs *graphs = acui_graphs_of(device);
    if (!graphs)
        return acui_fail(ACU_ERR_NOT_SUPPORTED,
                         "graphs are switched off on device %d, or its driver lacks calls for them",
                         device->info.ordinal);
    acui_key key;
    if (!acui_key_make(&key, run))
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for an entry of the graph cache");
    acui_lock_take(&graphs->lock);
    acui_graph_entry *entry = find_entry(graphs, &key);
    if (!entry)
        entry = add_entry(graphs, &key, run);
    if (entry)
        order_exec(graphs, entry, &key, run, device);
    acui_lock_give(&graphs->lock);
    acui_key_drop(&key);
    return entry ? ACU_OK
                 : acui_fail(ACU_ERR_NO_MEMORY, "no memory for an entry of the graph cache");
}

/* An exec that is half set is of no use any more: it leaves the cache. */
static void discard(acui_exec *exec)
{
    acui_graphs *graphs = acui_graphs_of(exec->device);
    acui_lock_take(&graphs->lock);
    bool cached = exec->entry != NULL;
    if (cached)
        unlink_exec(graphs, exec);
    acui_lock_give(&graphs->lock);
    if (cached)
        put_exec(exec);
}

/* Add to a count that only claimers write, one at a time. */
static void count(_Atomic(uint64_t) *cell, uint32_t more)
{
    atomic_store_explicit(cell, atomic_load_explicit(cell, memory_order_relaxed) + more,
                          memory_order_relaxed);
}

void acui_graphs_unclaim(acui_exec *exec, uint32_t tasks, uint32_t set)
{
    count(&exec->set, set);
    count(&exec->skipped, exec->count - set);
    if (exec->broken) {
        discard(exec);
        return;
    }
    count(&exec->together, tasks > 1 ? tasks : 0);
    /* While nothing of it runs, the cache's is the only reference, and nobody else claims it: then
     * no atomic addition is needed. */
    if (atomic_load_explicit(&exec->refs, memory_order_acquire) == 1)
        acui_refs_add_sole(&exec->refs, tasks);
    else
        atomic_fetch_add_explicit(&exec->refs, tasks, memory_order_relaxed);
    /* Release, to the next claimer's acquire: it sees what is set. */
    atomic_store_explicit(&exec->claimed, 0, memory_order_release);
}

void acui_graphs_over(acui_exec *exec)
{
    put_exec(exec);
}

/* ---- for the program ---- */

acu_status acu_graph_cache_stats(acu_device *device, acu_graph_cache_statistics *stats)
{
    ACUI_CHECK(device, DEVICE);
    acui_graphs *graphs = acui_graphs_of(device);
    acu_graph_cache_statistics all = {0};
    if (!graphs)
        return acui_struct_write(stats, &all, sizeof all, __func__);
    acui_lock_take(&graphs->lock);
    all = graphs->counts;
    all.limit = graphs->limit;
    for (size_t i = 0; i < ACUI_GRAPH_SLOTS; i++)
        for (const acui_graph_entry *entry = graphs->entries[i]; entry; entry = entry->next)
            for (const acui_exec *exec = entry->execs; exec; exec = exec->next) {
                all.set += atomic_load_explicit(&exec->set, memory_order_relaxed);
                all.skipped += atomic_load_explicit(&exec->skipped, memory_order_relaxed);
                all.together += atomic_load_explicit(&exec->together, memory_order_relaxed);
            }
    acui_lock_give(&graphs->lock);
    return acui_struct_write(stats, &all, sizeof all, __func__);
}

acu_status acu_graph_cache_limit(acu_device *device, uint32_t execs)
{
    ACUI_CHECK(device, DEVICE);
    acui_graphs *graphs = acui_graphs_of(device);
    if (!graphs)
        return execs == 0 ? ACU_OK
                          : acui_fail(ACU_ERR_NOT_SUPPORTED, "the driver of device %d lacks calls "
                                      "for graphs", device->info.ordinal);
    acui_lock_take(&graphs->lock);
    graphs->limit = execs;
    acui_exec *old = evict_surplus(graphs);
    acui_lock_give(&graphs->lock);
    put_execs(old);
    return ACU_OK;
}

acu_status acu_graph_cache_wait(acu_device *device)
{
    ACUI_CHECK(device, DEVICE);
    ACUI_TRY(acui_refuse_wait(__func__));
    acui_build_wait(device);
    return ACU_OK;
}
