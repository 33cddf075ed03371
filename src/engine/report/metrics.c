/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How many submissions and operations there were (acu_process_stats), and all counters as
 * OpenMetrics text (acu_metrics). */
#include <acuda/metrics.h>

#include "base/alloc.h"
#include "base/cache.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/options.h"
#include "device/device.h"
#include "device/open.h"
#include "engine/report/report.h"
#include "op/print.h"

#include <acuda/compile.h>
#include <acuda/future.h>
#include <acuda/graph_cache.h>
#include <acuda/pool.h>
#include <inttypes.h>

/* ---- counting ---- */

void acui_count_submitted(void)
{
    acui_count_add(ACUI_COUNT_SUBMISSIONS, 1);
}

void acui_count_done(bool failed)
{
    acui_count_add(ACUI_COUNT_DONE, 1);
    if (failed)
        acui_count_add(ACUI_COUNT_FAILED, 1);
}

void acui_count_operations(const acui_task *task, bool over)
{
    static const unsigned counted = 0
#define ACU_X(id, name, counted_) | (unsigned)counted_ << ACUI_NODE_##id
        ACUI_NODES(ACU_X);
#undef ACU_X
    int64_t operations = 0;
    for (size_t i = 0; i < task->count; i++)
        operations += counted >> task->nodes[i]->kind & 1;
    acui_count_add(over ? ACUI_COUNT_OPERATIONS_DONE : ACUI_COUNT_OPERATIONS, operations);
}

static uint64_t sum(unsigned count)
{
    return (uint64_t)acui_count_sum(count);
}

acu_status acu_process_stats(acu_process_statistics *stats)
{
    acu_process_statistics all = {.submissions = sum(ACUI_COUNT_SUBMISSIONS),
                                  .submissions_done = sum(ACUI_COUNT_DONE),
                                  .submissions_failed = sum(ACUI_COUNT_FAILED),
                                  .operations = sum(ACUI_COUNT_OPERATIONS),
                                  .operations_done = sum(ACUI_COUNT_OPERATIONS_DONE),
                                  .staged_copies = sum(ACUI_COUNT_STAGED),
                                  .staged_bytes = sum(ACUI_COUNT_STAGED_BYTES),
                                  .staged_skipped = sum(ACUI_COUNT_STAGED_SKIPPED)};
    return acui_struct_write(stats, &all, sizeof all, __func__);
}

/*
 * ---- as text ----
 *
 * A metric is all of its samples in one place, so the devices are read first, and then written
 * metric by metric.
 */

typedef struct seen { /* a device */
    int ordinal;
    bool up;
    uint32_t in_flight;
    acu_pool_statistics pools[2]; /* of device memory, of page-locked memory */
    acu_graph_cache_statistics graphs;
} seen;

static const char *const pool_names[2] = {"device", "pinned"};

/* A counter's samples end in _total. */
static void head(acui_out *out, const char *name, bool counter, const char *help)
{
    acui_print(out, "# TYPE acuda_%s %s\n# HELP acuda_%s %s\n", name, counter ? "counter" : "gauge",
               name, help);
}

static void one(acui_out *out, const char *name, uint64_t value, const char *help)
{
    head(out, name, true, help);
    acui_print(out, "acuda_%s_total %" PRIu64 "\n", name, value);
}

static acu_status print_process(acui_out *out)
{
    acu_process_statistics p = {.size = sizeof p};
    acu_compile_statistics c = {.size = sizeof c};
    ACUI_TRY(acu_process_stats(&p));
    ACUI_TRY(acu_compile_stats(&c));
    one(out, "submissions", p.submissions, "Submissions that were planned.");
    one(out, "submissions_done", p.submissions_done, "Submissions that are over.");
    one(out, "submissions_failed", p.submissions_failed, "Submissions that failed.");
    one(out, "operations", p.operations, "Kernels, copies, fills and calls that were begun.");
    one(out, "operations_done", p.operations_done, "Operations that are over.");
    one(out, "staged_copies", p.staged_copies, "Copies of pageable memory that were begun.");
    one(out, "staged_bytes", p.staged_bytes, "Bytes that these moved.");
    one(out, "staged_skipped", p.staged_skipped, "Such copies that nobody wanted to the end.");
    one(out, "compiled", c.compiled, "Requests for code that a compiler served.");
    one(out, "compiled_from_memory", c.from_memory, "Requests for code served from memory.");
    one(out, "compiled_from_disk", c.from_disk, "Requests for code served from the disk.");
    one(out, "compile_disk_errors", c.disk_errors, "Files of code that could not be written.");
    return ACU_OK;
}

/* ---- devices ---- */

static void look(acu_device *device, seen *s)
{
    acu_pool *pools[2] = {acu_device_pool(device), acu_device_pinned_pool(device, false)};
    *s = (seen){.ordinal = device->info.ordinal, .up = acui_device_check(device) == ACU_OK,
                .in_flight = acui_in_flight(device)};
    for (int i = 0; i < 2; i++) {
        s->pools[i].size = sizeof s->pools[i];
        s->up = s->up && acu_pool_stats(pools[i], &s->pools[i]) == ACU_OK;
    }
    s->graphs.size = sizeof s->graphs;
    s->up = s->up && acu_graph_cache_stats(device, &s->graphs) == ACU_OK;
}

static size_t look_at_all(seen list[ACUI_MAX_DEVICES])
{
    size_t n = 0;
    bool was = acui_error_aside(); /* a device that is lost is no failure of this call */
    for (int i = 0; i < ACUI_MAX_DEVICES; i++) {
        acu_device *device = acui_device_find(i);
        if (device && acui_is_open(device))
            look(device, &list[n++]);
        acu_device_release(device);
    }
    acui_error_back(was);
    return n;
}

typedef uint64_t (*read_fn)(const seen *device, int pool);

/* One sample for each device, or, with `pools`, for each of its pools. */
static void each(acui_out *out, const seen *list, size_t count, const char *name, bool counter,
                 bool pools, read_fn read, const char *help)
{
    head(out, name, counter, help);
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < (pools ? 2 : 1) && list[i].up; k++) {
            acui_print(out, "acuda_%s%s{device=\"%d\"", name, counter ? "_total" : "",
                       list[i].ordinal);
            if (pools)
                acui_print(out, ",pool=\"%s\"", pool_names[k]);
            acui_print(out, "} %" PRIu64 "\n", read(&list[i], k));
        }
}

#define READ(name, value)                                                                          \
    static uint64_t read_##name(const seen *d, int k)                                              \
    {                                                                                              \
        (void)k;                                                                                   \
        return (value);                                                                            \
    }
READ(in_flight, d->in_flight)
READ(in_use, d->pools[k].in_use)
READ(held, d->pools[k].held)
READ(in_use_high, d->pools[k].in_use_high)
READ(hits, d->pools[k].hits)
READ(misses, d->pools[k].misses)
READ(put_off, d->pools[k].put_off)
READ(failures, d->pools[k].failures)
READ(execs, d->graphs.execs)
READ(graph_hits, d->graphs.hits)
READ(graph_misses, d->graphs.misses)
READ(built, d->graphs.built)
#undef READ

static void print_devices(acui_out *out, const seen *list, size_t count)
{
    static const struct {
        const char *name;
        bool counter, pools;
        read_fn read;
        const char *help;
    } metrics[] = {
        {"device_in_flight", false, false, read_in_flight,
         "Parts of submissions that are not over."},
        {"memory_in_use_bytes", false, true, read_in_use, "Bytes in buffers."},
        {"memory_held_bytes", false, true, read_held, "Bytes from the driver, in use or cached."},
        {"memory_in_use_high_bytes", false, true, read_in_use_high, "The most that was in use."},
        {"memory_hits", true, true, read_hits, "Requests for memory served from the cache."},
        {"memory_misses", true, true, read_misses, "Requests for memory that the driver served."},
        {"memory_put_off", true, true, read_put_off, "Submissions put off for lack of memory."},
        {"memory_failures", true, true, read_failures, "Requests that failed for lack of memory."},
        {"graphs", false, false, read_execs, "Executable graphs that are kept."},
        {"graph_hits", true, false, read_graph_hits, "Parts of submissions that a graph served."},
        {"graph_misses", true, false, read_graph_misses,
         "Parts that a graph could have served, issued directly."},
        {"graphs_built", true, false, read_built, "Executable graphs that were made."}};
    head(out, "device_up", false, "Whether the device works: 0 after a fault.");
    for (size_t i = 0; i < count; i++)
        acui_print(out, "acuda_device_up{device=\"%d\"} %d\n", list[i].ordinal, list[i].up);
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        each(out, list, count, metrics[i].name, metrics[i].counter, metrics[i].pools,
             metrics[i].read, metrics[i].help);
}

acu_status acu_metrics(char *text, size_t bytes, size_t *needed)
{
    ACUI_REFUSE_FORK();
    if (!text && bytes)
        return acui_fail(ACU_ERR_INVALID, "acu_metrics: %zu bytes of NULL to write to", bytes);
    seen *list = ACUI_NEW_ARRAY(seen, ACUI_MAX_DEVICES);
    if (!list)
        return acui_fail(ACU_ERR_NO_MEMORY, "acu_metrics: no memory");
    acui_out out = {.text = text, .room = bytes};
    size_t count = look_at_all(list);
    acu_status status = print_process(&out);
    print_devices(&out, list, count);
    acui_print(&out, "# EOF\n");
    acui_free(list);
    if (needed)
        *needed = out.needed + 1;
    return status;
}
