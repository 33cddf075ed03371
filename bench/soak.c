/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A soak: threads submit random compositions for a long time, cancel some, give some a deadline
 * that passes, make some fail, and wait for them in every way; results are checked against a model.
 * Memory, descriptors and threads must stay flat, and nothing may be left at the end. acuda starts
 * a few threads of each kind at most, when they are first needed, which may be late: only threads
 * beyond that number count.
 *
 *   bench/soak [--quick] [--seconds N] [--threads N] [--seed N] [result.json]
 *
 * Runs for ten seconds by default; by hand, use --seconds 600. Ends with status 3 if a result was
 * wrong, something was left, or (except with --quick) something grew.
 */
#include "harness/harness.h"
#include "harness/heap.h"

#include <acuda/debug.h>
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char soak_ptx[];

enum { N = 1024, TENSORS = 8, WINDOW = 32, MOST_THREADS = 64, MOST_DEVICES = 2, INTERVALS = 10 };
#define LIMIT ACU_SECONDS(60) /* what takes longer hangs */

typedef struct place {
    acu_device *device;
    acu_kernel *add, *mix;
} place;

static place places[MOST_DEVICES];
static int place_count;
static _Atomic(bool) stop;
static _Atomic(uint64_t) done_ok, done_badly, checked, owed_calls, owed_releases;

typedef struct cell {
    acu_tensor *tensor; /* ACU_U32 [N], all elements alike */
    place *at;
    uint32_t value;  /* they should have, if it is */
    bool known;
    uint64_t filled; /* the submission that overwrote all of it */
} cell;

typedef struct flight {
    acu_future *future;
    uint64_t number;
    unsigned writes; /* a bit for each cell */
    bool queued;
} flight;

typedef struct worker {
    pthread_t thread;
    uint64_t random;
    uint64_t number;
    cell cells[TENSORS];
    flight window[WINDOW];
    unsigned in_flight;
    acu_queue *queue;
    acu_graph *graph; /* adds one to the first cell */
} worker;

static unsigned below(worker *w, unsigned limit)
{
    /* splitmix64 */
    uint64_t z = w->random += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return (unsigned)((z ^ z >> 31) % limit);
}

/* ---- completions ---- */

static void note(void *user, acu_future *future, acu_status status)
{
    (void)user, (void)future, (void)status;
    atomic_fetch_sub(&owed_calls, 1);
}

static void let_go(void *data)
{
    (void)data;
    atomic_fetch_sub(&owed_releases, 1);
}

static acu_user owe(void)
{
    atomic_fetch_add(&owed_releases, 1);
    return (acu_user){&owed_releases, let_go};
}

/* The flight in the slot is over. */
static void land(worker *w, unsigned slot, acu_status status)
{
    flight *f = &w->window[slot];
    if (status == ACU_TIMEOUT || status == ACU_NOT_READY)
        bench_wrong("a submission hangs");
    atomic_fetch_add(status == ACU_OK ? &done_ok : &done_badly, 1);
    for (int i = 0; i < TENSORS && status != ACU_OK; i++)
        if (f->writes >> i & 1 && w->cells[i].filled <= f->number)
            w->cells[i].known = false;
    acu_future_release(f->future);
    *f = (flight){.future = NULL};
    w->in_flight--;
}

static void land_by_queue(worker *w, unsigned slot)
{
    while (w->window[slot].future) {
        acu_completion done[4];
        size_t count = 0;
        if (acu_queue_wait(w->queue, done, 1 + below(w, 4), &count, LIMIT) != ACU_OK)
            bench_wrong("a completion is missing");
        for (size_t i = 0; i < count; i++) {
            if (done[i].future != w->window[done[i].tag].future)
                bench_wrong("a completion of something else");
            acu_future_release(done[i].future);
            land(w, (unsigned)done[i].tag, done[i].status);
        }
    }
}

static void land_any(worker *w, unsigned slot)
{
    acu_future *list[WINDOW];
    unsigned slots[WINDOW];
    size_t count = 0, index = 0;
    for (unsigned i = slot; i < WINDOW; i++)
        if (w->window[i].future && !w->window[i].queued) {
            list[count] = w->window[i].future;
            slots[count++] = i;
        }
    acu_status status = acu_wait_any(list, count, LIMIT, &index);
    land(w, slots[index], status);
}

static void land_one(worker *w, unsigned slot)
{
    flight *f = &w->window[slot];
    acu_status status;
    if (!f->future)
        return;
    if (f->queued) {
        land_by_queue(w, slot);
        return;
    }
    switch (below(w, 3)) {
    case 0:
        land(w, slot, acu_future_wait(f->future, LIMIT));
        break;
    case 1:
        land_any(w, slot);
        break;
    default:
        while ((status = acu_future_poll(f->future)) == ACU_NOT_READY)
            bench_nap_us(20);
        land(w, slot, status);
    }
}

static void land_all(worker *w)
{
    for (unsigned slot = 0; slot < WINDOW; slot++)
        while (w->window[slot].future)
            land_one(w, slot);
}

/* ---- submitting ---- */

/* Submits the op, which writes the cells of the mask and has been applied to the model already. The
 * options are random. */
static void submit(worker *w, acu_op *op, unsigned writes)
{
    unsigned slot = below(w, WINDOW);
    while (w->window[slot].future)
        land_one(w, slot);
    acu_submit_options options = {.size = sizeof options, .tag = slot};
    flight *f = &w->window[slot];
    *f = (flight){.number = ++w->number, .writes = writes, .queued = below(w, 3) == 0};
    options.queue = f->queued ? w->queue : NULL;
    if (below(w, 20) == 0)
        options.timeout = 1 + below(w, 2000000);
    if (below(w, 10) == 0)
        options.priority = -1;
    w->in_flight++;
    acu_status status = acu_submit(NULL, op, &options, &f->future);
    if (status != ACU_OK)
        bench_must(status, "acu_submit", __FILE__, __LINE__);
    if (below(w, 4) == 0) {
        atomic_fetch_add(&owed_calls, 1);
        MUST(acu_future_when_complete(f->future, NULL, 0, note, owe()));
    }
    if (below(w, 30) == 0)
        MUST(acu_future_cancel(f->future));
}

static unsigned pick(worker *w)
{
    return below(w, TENSORS);
}

static acu_op *add_op(cell *c, uint32_t n)
{
    c->value += n;
    return acu_launch(c->at->add, acu_for_num_elems(N), acu_inout(c->tensor), acu_u32(n),
                      acu_u32(N));
}

static void fill(worker *w, unsigned i)
{
    cell *c = &w->cells[i];
    uint32_t value = below(w, 1000);
    acu_op *op = acu_fill(c->tensor, acu_u32(value));
    c->value = value;
    c->known = true;
    c->filled = w->number + 1;
    submit(w, op, 1u << i);
}

static void chain(worker *w)
{
    acu_op *ops[10];
    unsigned i = pick(w), count = 1 + below(w, 10);
    for (unsigned k = 0; k < count; k++)
        ops[k] = add_op(&w->cells[i], below(w, 100));
    submit(w, acu_op_zip(ops, count, ACU_SITE), 1u << i);
}

static void branches(worker *w)
{
    acu_op *ops[TENSORS];
    unsigned count = 2 + below(w, TENSORS - 1);
    for (unsigned i = 0; i < count; i++)
        ops[i] = add_op(&w->cells[i], below(w, 100));
    submit(w, acu_op_zip(ops, count, ACU_SITE), (1u << count) - 1);
}

static void mix(worker *w)
{
    unsigned i = pick(w), k = pick(w);
    cell *z = &w->cells[i], *x = &w->cells[k];
    if (i == k || z->at != x->at)
        return;
    z->value = 3 * z->value + x->value;
    z->known &= x->known;
    submit(w, acu_launch(z->at->mix, acu_for_num_elems(N), acu_inout(z->tensor), acu_in(x->tensor),
                         acu_u32(N)),
           1u << i);
}

/* Also between devices, and by way of the host. */
static void copy(worker *w)
{
    unsigned i = pick(w), k = pick(w);
    cell *to = &w->cells[i], *from = &w->cells[k];
    if (i == k)
        return;
    to->value = from->value;
    to->known = from->known;
    to->filled = w->number + 1;
    acu_op *op = below(w, 3) ? acu_value(from->tensor)
                             : acu_to_device(to->at->device, acu_to_host(from->tensor));
    submit(w, acu_copy(to->tensor, op), 1u << i);
}

/* ---- what fails, or is dropped ---- */

static acu_status fails(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_ERR_INVALID;
}

static acu_status add_on_host(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)count;
    uint32_t *x = acu_tensor_host(values[0].tensor);
    for (int i = 0; i < N; i++)
        x[i] += 7;
    return ACU_OK;
}

static acu_op *host_op(cell *c, acu_host_fn fn)
{
    acu_op *host = acu_op_host(fn, owe(), ACU_ARGS(acu_inout(acu_to_host(c->tensor))), ACU_SITE);
    return acu_copy(c->tensor, acu_to_device(c->at->device, host));
}

static void on_host(worker *w)
{
    unsigned i = pick(w);
    w->cells[i].value += 7;
    submit(w, host_op(&w->cells[i], add_on_host), 1u << i);
}

static void failure(worker *w)
{
    unsigned i = pick(w);
    submit(w, host_op(&w->cells[i], fails), 1u << i);
}

static void refused(worker *w)
{
    cell *c = &w->cells[pick(w)];
    acu_op *op = acu_launch(c->at->add, acu_for_num_elems(N), acu_inout(c->tensor), acu_u32(1));
    if (acu_submit(NULL, op, NULL, NULL) != ACU_ERR_ARGUMENTS)
        bench_wrong("a wrong launch was not refused");
}

static void dropped(worker *w)
{
    acu_op_release(acu_dup(w->cells[pick(w)].tensor));
    acu_future *future = NULL;
    MUST(acu_submit(NULL, acu_dup(w->cells[pick(w)].tensor), NULL, &future));
    acu_future_release(future);
}

/* ---- things that come and go ---- */

static void streams(worker *w)
{
    place *p = &places[below(w, (unsigned)place_count)];
    acu_stream *stream, *forked;
    acu_event *event;
    acu_policy *policy;
    MUST(acu_stream_create(p->device, 0, &stream));
    MUST(acu_event_create(p->device, false, &event));
    MUST(acu_event_record(event, stream));
    MUST(acu_stream_fork(stream, &forked));
    MUST(acu_stream_order_after_event(forked, event));
    MUST(acu_policy_round_robin(p->device, 2, &policy));
    acu_policy_release(policy);
    acu_event_release(event);
    acu_stream_release(forked);
    acu_stream_release(stream);
}

static void modules(worker *w)
{
    acu_future *future;
    acu_module_source source = {.size = sizeof source, .ptx = soak_ptx};
    MUST(acu_module_load_async(places[below(w, (unsigned)place_count)].device, &source, &future));
    if (below(w, 2) && acu_future_wait(future, LIMIT) != ACU_OK)
        bench_wrong("a module was not loaded");
    acu_future_release(future);
}

static void replay(worker *w)
{
    if (!w->graph || below(w, 20) == 0) {
        acu_graph_release(w->graph);
        acu_op *op = add_op(&w->cells[0], 1);
        w->cells[0].value--; /* it is kept, not run */
        MUST(acu_graph_load(NULL, op, NULL, &w->graph));
    }
    w->cells[0].value++;
    submit(w, acu_replay(w->graph), 1u);
}

static void give_memory(void *memory)
{
    free(memory); /* here, where it came from, so that the heap's accounts agree */
    atomic_fetch_sub(&owed_releases, 1);
}

static void host_memory(worker *w)
{
    cell *c = &w->cells[pick(w)];
    uint32_t *memory = aligned_alloc(4096, sizeof(uint32_t) * N);
    acu_buffer *buffer;
    acu_tensor *tensor;
    if (!memory)
        bench_die("no memory");
    for (int i = 0; i < N; i++)
        memory[i] = 11;
    atomic_fetch_add(&owed_releases, 1);
    MUST(acu_buffer_wrap_host(c->at->device, memory, sizeof(uint32_t) * N,
                              (acu_user){memory, give_memory}, &buffer));
    MUST(acu_tensor_create(buffer, 0, ACU_U32, ACU_SHAPE(N), &tensor));
    acu_buffer_release(buffer);
    c->value = 11;
    c->known = true;
    c->filled = w->number + 1;
    submit(w, acu_copy(c->tensor, tensor), 1u << (unsigned)(c - w->cells));
    acu_tensor_release(tensor); /* and with it the memory, once it is copied */
}

static void reopen(worker *w)
{
    acu_open_options options = {.size = sizeof options,
                                .ordinal = (int)below(w, (unsigned)place_count)};
    acu_device *device;
    MUST(acu_open(&options, &device));
    acu_device_release(acu_device_retain(device));
    MUST(acu_close(device));
}

/* ---- checking ---- */

static void check(worker *w)
{
    uint32_t memory[N];
    land_all(w);
    for (unsigned i = 0; i < TENSORS; i++) {
        cell *c = &w->cells[i];
        if (!c->known) {
            fill(w, i);
            continue;
        }
        MUST(acu_read_sync(c->tensor, memory, sizeof memory));
        for (int k = 0; k < N; k++)
            if (memory[k] != c->value)
                bench_wrong("tensor %u, element %d: %u instead of %u", i, k, memory[k], c->value);
        atomic_fetch_add(&checked, 1);
    }
}

/* What is done, and how often in a hundred times. */
static const struct {
    void (*act)(worker *w);
    unsigned weight;
} actions[] = {{chain, 30},  {branches, 18}, {mix, 12},    {copy, 10},        {on_host, 5},
               {failure, 3}, {refused, 3},   {dropped, 5}, {streams, 2},      {replay, 6},
               {modules, 1}, {reopen, 1},    {check, 2},   {host_memory, 2}};

static void act(worker *w)
{
    unsigned at = below(w, 100);
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        if (at < actions[i].weight) {
            actions[i].act(w);
            return;
        }
        at -= actions[i].weight;
    }
}

static void *work(void *context)
{
    worker *w = context;
    MUST(acu_queue_create(NULL, &w->queue));
    for (unsigned i = 0; i < TENSORS; i++) {
        w->cells[i].at = &places[i % (unsigned)place_count];
        MUST(acu_tensor_alloc(w->cells[i].at->device, ACU_U32, ACU_SHAPE(N), &w->cells[i].tensor));
        fill(w, i);
    }
    while (!atomic_load(&stop))
        act(w);
    check(w);
    land_all(w);
    acu_graph_release(w->graph);
    acu_queue_release(w->queue);
    for (unsigned i = 0; i < TENSORS; i++)
        acu_tensor_release(w->cells[i].tensor);
    return NULL;
}

/* ---- what must stay flat ---- */

typedef struct levels {
    double rss_kib, device_mib;
    double heap_kib[HEAP_WHO]; /* growth since the watch began */
    int descriptors, threads;
    int beyond; /* of the threads: those that are not acuda's, or more than acuda should have */
} levels;

/* acuda's own threads: how many there may be of each kind. */
static struct {
    const char *name;
    int most, high; /* `high`: the most that were seen at a time */
} kinds[] = {{"acuda-reactor", 1, 0}, {"acuda-host", 1, 0},    {"acuda-graphs", 1, 0},
             {"acuda-load", 4, 0},    {"acuda-blocked", 8, 0}, {"acuda-issue", 2, 0},
             {"acuda-staging", 0, 0}};
enum { KINDS = sizeof kinds / sizeof *kinds, STAGING = KINDS - 1 };

static int count_entries(const char *folder)
{
    int n = -2; /* . and .. */
    DIR *dir = opendir(folder);
    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n;
}

static int kind_of(const char *thread)
{
    char path[300], name[64] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", thread);
    FILE *file = fopen(path, "r");
    if (file && !fgets(name, sizeof name, file))
        name[0] = 0;
    if (file)
        fclose(file);
    for (int i = 0; i < KINDS; i++)
        if (strncmp(name, kinds[i].name, strlen(kinds[i].name)) == 0)
            return i;
    return KINDS;
}

static void count_threads(levels *now)
{
    int counts[KINDS + 1] = {0};
    DIR *dir = opendir("/proc/self/task");
    for (struct dirent *thread; dir && (thread = readdir(dir));)
        if (thread->d_name[0] != '.')
            counts[kind_of(thread->d_name)]++;
    if (dir)
        closedir(dir);
    now->threads = now->beyond = counts[KINDS];
    for (int i = 0; i < KINDS; i++) {
        now->threads += counts[i];
        now->beyond += counts[i] > kinds[i].most ? counts[i] - kinds[i].most : 0;
        kinds[i].high = counts[i] > kinds[i].high ? counts[i] : kinds[i].high;
    }
}

static double rss_kib(void)
{
    char line[256];
    double value = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "VmRSS:", 6) == 0)
            value = strtod(line + 6, NULL);
    if (file)
        fclose(file);
    return value;
}

static levels look(void)
{
    size_t left = 0, total = 0;
    MUST(acu_device_memory(places[0].device, &left, &total));
    levels now = {.rss_kib = rss_kib(),
                  .device_mib = (double)(total - left) / 1048576.0,
                  .descriptors = count_entries("/proc/self/fd")};
    for (int i = 0; i < HEAP_WHO; i++)
        now.heap_kib[i] = (double)heap_bytes((heap_who)i) / 1024.0;
    count_threads(&now);
    return now;
}

static void raise_to(levels *high, levels now)
{
    high->rss_kib = now.rss_kib > high->rss_kib ? now.rss_kib : high->rss_kib;
    high->device_mib = now.device_mib > high->device_mib ? now.device_mib : high->device_mib;
    for (int i = 0; i < HEAP_WHO; i++)
        if (now.heap_kib[i] > high->heap_kib[i])
            high->heap_kib[i] = now.heap_kib[i];
    high->descriptors = now.descriptors > high->descriptors ? now.descriptors : high->descriptors;
    high->threads = now.threads > high->threads ? now.threads : high->threads;
    high->beyond = now.beyond > high->beyond ? now.beyond : high->beyond;
}

static levels watch_interval(double seconds)
{
    levels high = {0};
    double end = bench_now_us() + seconds * 1e6;
    do {
        bench_nap_us(seconds < 1 ? seconds * 5e4 : 5e4);
        raise_to(&high, look());
    } while (bench_now_us() < end);
    printf("%12llu  %10llu  %10llu  %10.0f  %8.0f  %8.0f  %8.0f  %10.1f  %5d  %5d\n",
           (unsigned long long)atomic_load(&done_ok), (unsigned long long)atomic_load(&done_badly),
           (unsigned long long)atomic_load(&checked), high.rss_kib, high.heap_kib[HEAP_ACUDA],
           high.heap_kib[HEAP_DRIVER], high.heap_kib[HEAP_OTHER], high.device_mib,
           high.descriptors, high.threads);
    fflush(stdout);
    return high;
}

/* The last third against the second: the first is for caches to fill. */
static int compare(const levels *high, bool quick)
{
    levels early = {0}, late = {0};
    for (int i = 0; i < INTERVALS; i++)
        if (i >= INTERVALS / 3)
            raise_to(i < 2 * INTERVALS / 3 ? &early : &late, high[i]);
    int grown = 0;
    grown += late.rss_kib > early.rss_kib * 1.03 + 2048;
    grown += late.device_mib > early.device_mib * 1.03 + 64;
    grown += late.descriptors > early.descriptors;
    /* The software device starts a thread whenever more streams are busy than ever before. */
    grown += late.beyond > early.beyond && !acu_driver_info_of()->software;
    printf("grown: memory %.0f KiB (of it acuda %.0f, the driver %.0f, others %.0f), on the device "
           "%.1f MiB, descriptors %d, threads %d, of which %d should not be%s\n",
           late.rss_kib - early.rss_kib, late.heap_kib[HEAP_ACUDA] - early.heap_kib[HEAP_ACUDA],
           late.heap_kib[HEAP_DRIVER] - early.heap_kib[HEAP_DRIVER],
           late.heap_kib[HEAP_OTHER] - early.heap_kib[HEAP_OTHER],
           late.device_mib - early.device_mib,
           late.descriptors - early.descriptors, late.threads - early.threads,
           late.beyond - early.beyond, grown && !quick ? ": NOT FLAT" : "");
    printf("threads of acuda's, at most at a time, of those allowed:");
    for (int i = 0; i < KINDS; i++)
        printf(" %s %d of %d", kinds[i].name, kinds[i].high, kinds[i].most);
    printf("\n");
    return quick ? 0 : grown;
}

static int left_over(void)
{
    char text[2048];
    size_t handles = acu_debug_live_report(text, sizeof text);
    if (handles)
        printf("handles are left:\n%s", text);
    size_t objects = acu_driver_live_report(text, sizeof text);
    if (objects)
        printf("driver objects are left:\n%s", text);
    size_t blocks = acu_debug_live_blocks();
    uint64_t calls = atomic_load(&owed_calls), releases = atomic_load(&owed_releases);
    printf("left: %zu handles, %zu driver objects, %zu blocks, %llu callbacks, %llu releases\n",
           handles, objects, blocks, (unsigned long long)calls, (unsigned long long)releases);
    return handles || objects || blocks || calls || releases;
}

/* ---- the program ---- */

typedef struct settings {
    bool quick;
    double seconds;
    unsigned threads;
    uint64_t seed;
    const char *json;
} settings;

static settings read_settings(int argc, char **argv)
{
    settings s = {.seconds = 10, .threads = 4, .seed = 1};
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (strcmp(argv[i], "--quick") == 0)
            s.quick = true;
        else if (more && strcmp(argv[i], "--seconds") == 0)
            s.seconds = strtod(argv[++i], NULL);
        else if (more && strcmp(argv[i], "--threads") == 0)
            s.threads = (unsigned)strtoul(argv[++i], NULL, 10);
        else if (more && strcmp(argv[i], "--seed") == 0)
            s.seed = strtoull(argv[++i], NULL, 10);
        else if (argv[i][0] != '-' && !s.json)
            s.json = argv[i];
        else
            bench_die("usage: soak [--quick] [--seconds N] [--threads N] [--seed N] [result.json]");
    }
    if (s.quick)
        s.seconds = 1;
    if (s.threads < 1 || s.threads > MOST_THREADS || s.seconds <= 0)
        bench_die("between 1 and %d threads, for more than 0 seconds", MOST_THREADS);
    return s;
}

static void open_places(const settings *s)
{
    int count = 0;
    if (s->quick)
        setenv("SOFTCUDA_DEVICES", "2", 0);
    acu_open_options options = {.size = sizeof options, .allow_software = s->quick};
    MUST(acu_device_count_load(&options, &count));
    for (int i = 0; i < count && i < MOST_DEVICES; i++) {
        place *p = &places[place_count++];
        acu_module *module;
        options.ordinal = i;
        MUST(acu_open(&options, &p->device));
        MUST(acu_module_load(p->device, ACU_PTX(NULL, soak_ptx), &module));
        MUST(acu_kernel_get(module, "add", &p->add));
        MUST(acu_kernel_get(module, "mix", &p->mix));
        acu_module_release(module);
    }
    printf("%d device%s, %u threads, seed %llu, %.0f s\n", place_count, place_count == 1 ? "" : "s",
           s->threads, (unsigned long long)s->seed, s->seconds);
}

static void close_places(void)
{
    for (int i = 0; i < place_count; i++) {
        acu_kernel_release(places[i].add);
        acu_kernel_release(places[i].mix);
    }
    for (int i = 0; i < place_count; i++)
        MUST(acu_close(places[i].device));
}

static void write_json(const settings *s, const levels *high, bool wrong)
{
    FILE *file = s->json ? fopen(s->json, "w") : NULL;
    if (!file)
        return;
    fprintf(file, "{\"bench\": \"soak\", \"seconds\": %.0f, \"threads\": %u, \"devices\": %d,\n"
                  " \"done\": %llu, \"failed_as_meant\": %llu, \"checked\": %llu, \"flat\": %s,\n"
                  " \"intervals\": [",
            s->seconds, s->threads, place_count, (unsigned long long)atomic_load(&done_ok),
            (unsigned long long)atomic_load(&done_badly), (unsigned long long)atomic_load(&checked),
            wrong ? "false" : "true");
    for (int i = 0; i < INTERVALS; i++)
        fprintf(file,
                "%s\n  {\"rss_kib\": %.0f, \"heap_kib\": [%.0f, %.0f, %.0f], \"device_mib\": %.1f, "
                "\"fds\": %d, \"threads\": %d}",
                i ? "," : "", high[i].rss_kib, high[i].heap_kib[HEAP_ACUDA],
                high[i].heap_kib[HEAP_DRIVER], high[i].heap_kib[HEAP_OTHER], high[i].device_mib,
                high[i].descriptors, high[i].threads);
    fprintf(file, "]}\n");
    fclose(file);
}

int main(int argc, char **argv)
{
    static worker workers[MOST_THREADS];
    levels high[INTERVALS];
    settings s = read_settings(argc, argv);
    acu_staging_options staging = {.size = sizeof staging};
    MUST(acu_staging_get(&staging));
    kinds[STAGING].most = (int)staging.threads;
    open_places(&s);
    for (unsigned i = 0; i < s.threads; i++) {
        workers[i].random = s.seed * 1000003 + i;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            bench_die("no thread");
    }
    heap_watch();
    printf("%12s  %10s  %10s  %10s  %8s  %8s  %8s  %10s  %5s  %5s\n", "done", "failed", "checked",
           "KiB", "of acuda", "driver's", "others'", "device MiB", "fds", "threads");
    for (int i = 0; i < INTERVALS; i++)
        high[i] = watch_interval(s.seconds / INTERVALS);
    atomic_store(&stop, true);
    for (unsigned i = 0; i < s.threads; i++)
        pthread_join(workers[i].thread, NULL);
    bool grown = compare(high, s.quick) > 0;
    close_places();
    bool wrong = left_over() || grown;
    write_json(&s, high, wrong);
    return wrong ? 3 : 0;
}
