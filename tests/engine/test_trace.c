/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Traces: what is in them, against the record of the same submission; files that are full, bounded,
 * or can not be written; the child of a fork. And the times of a submission. */
#include "support/support.h"

#include "support/pftrace.h"

#include <acuda/explain.h>
#include <acuda/graph.h>
#include <acuda/trace.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 4096 };
#define VECTOR ACU_SHAPE(N)

static char folder[64];
static char path[128];

static int make_folder(void **state)
{
    (void)state;
    test_options(0); /* ends the program if there is no device, before there is a folder */
    snprintf(folder, sizeof folder, "/tmp/acuda-trace-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/t.pftrace", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char name[160];
    for (int i = 0; i < 9; i++) {
        snprintf(name, sizeof name, i ? "%s.%d" : "%s", path, i);
        unlink(name);
    }
    assert_int_equal(rmdir(folder), 0); /* nothing else was left there */
    return 0;
}

static const acu_trace_options timed = {.size = sizeof timed, .timed_per_second = 1000000};

static acu_tensor *zeros(acu_device *device)
{
    acu_tensor *x;
    assert_works(acu_sync(device, acu_zeros(ACU_U32, VECTOR), &x));
    return x;
}

static acu_future *submit_named(acu_device *device, acu_op *op, acu_stream *stream,
                                const char *name)
{
    acu_submit_options options = {
        .size = sizeof options, .explain = true, .stream = stream, .name = name};
    acu_future *future;
    assert_works(acu_submit(device, op, &options, &future));
    return future;
}

static acu_times times_of(acu_future *future)
{
    acu_times times = {.size = sizeof times};
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_works(acu_future_times(future, &times));
    return times;
}

/* Slices of one track lie side by side, or one inside of the other. */
static void assert_nest(const pf_trace *trace)
{
    for (size_t i = 0; i < trace->event_count; i++)
        for (size_t k = i + 1; k < trace->event_count; k++) {
            const pf_event *a = &trace->events[i], *b = &trace->events[k];
            if (a->type != PF_BEGIN || b->type != PF_BEGIN || a->track != b->track)
                continue;
            bool apart = a->end <= b->at || b->end <= a->at;
            bool inside = (a->at <= b->at && b->end <= a->end) ||
                          (b->at <= a->at && a->end <= b->end);
            if (!apart && !inside)
                fail_msg("%s [%llu, %llu] and %s [%llu, %llu] overlap", a->name,
                         (unsigned long long)a->at, (unsigned long long)a->end, b->name,
                         (unsigned long long)b->at, (unsigned long long)b->end);
        }
}

static const pf_event *must_find(const pf_trace *trace, const char *track, const char *name)
{
    const pf_event *e = pf_find(trace, track, name, NULL);
    if (!e)
        fail_msg("no \"%s\" on \"%s\"", name, track ? track : "any track");
    return e;
}

static void note_called(void *user, acu_future *future, acu_status status)
{
    (void)future, (void)status;
    *(bool *)user = true;
}

/* ---- what is in it ---- */

/* `copy`, on another stream, waits for `fill`, which a gate holds up. */
static void check_submissions(const pf_trace *trace, const acu_times *fill, const acu_times *copy,
                              int line)
{
    const pf_event *first = must_find(trace, "submissions", "first");
    const pf_event *second = must_find(trace, "submissions", "second");
    assert_true(first->at == fill->composed && first->end == fill->over);
    assert_true(second->at == copy->composed && second->end == copy->over);
    assert_string_equal(first->status, "ACU_OK");
    const pf_event *waited = must_find(trace, "parts", "behind");
    assert_string_equal(waited->why, "reads what that wrote");
    assert_string_equal(waited->how, "event");
    assert_int_equal(waited->submission, first->submission);
    assert_non_null(strstr(waited->file, "test_trace.c"));
    assert_int_equal(waited->line, line);
    const pf_event *awaited = must_find(trace, "submissions", "awaited");
    assert_true(awaited->track == first->track && awaited->at == waited->at);
    assert_true(awaited->flow != 0 && awaited->flow == waited->flow_end);
    assert_true(awaited->at >= first->at && awaited->at <= first->end);
    /* The thread that submitted shows both; the reactor the callback. */
    const pf_track *thread = pf_track_of(trace, pf_find(trace, NULL, "first", first)->track);
    assert_non_null(thread);
    assert_int_equal(thread->pid, getpid());
    assert_int_equal(thread->tid, getpid()); /* cmocka runs on the first thread */
    assert_non_null(pf_find(trace, "acuda-reactor", "callback", NULL));
}

static void check_device(const pf_trace *trace, const char *kind, const acu_times *times)
{
    const pf_event *part = NULL, *e = NULL;
    while ((e = pf_find(trace, "parts", kind, e)))
        if (e->device_ns == times->device)
            part = e;
    assert_non_null(part);
    uint64_t on_stream = 0;
    for (size_t i = 0; i < trace->event_count; i++) {
        const pf_track *t = pf_track_of(trace, trace->events[i].track);
        if (trace->events[i].type == PF_BEGIN && t && strncmp(t->name, "device 0 stream", 15) == 0 &&
            trace->events[i].submission == part->submission)
            on_stream += trace->events[i].end - trace->events[i].at;
    }
    assert_true(on_stream == times->device);
    assert_string_equal(part->as, "direct");
    uint64_t stages = 0, ran = 0;
    for (const pf_event *s = part + 1; !(s->type == PF_END && s->at == part->end); s++)
        if (s->type == PF_BEGIN && s->track == part->track) {
            stages += s->end - s->at;
            ran += strcmp(s->name, "on the device") == 0 ? s->end - s->at : 0;
        }
    assert_true(stages == part->end - part->at); /* nothing of its time is left out */
    assert_true(ran == times->device); /* also if it ran while it was still being issued */
}

static void contents(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_stream *a, *b;
    assert_works(acu_stream_create(device, 0, &a));
    assert_works(acu_stream_create(device, 0, &b));
    acu_tensor *x = zeros(device), *y = zeros(device);
    assert_works(acu_trace_start(path, &timed));
    test_gate_close(device, acu_stream_raw(a));
    const int line = __LINE__ + 1;
    acu_future *first = submit_named(device, acu_fill(x, acu_u32(1)), a, "first");
    acu_future *second = submit_named(device, acu_copy(y, x), b, "second");
    bool called = false;
    assert_works(acu_future_when_complete(second, NULL, 0, note_called, ACU_USER(&called)));
    test_gate_open();
    acu_times fill = times_of(first), copy = times_of(second);
    assert_works(acu_device_wait(device, ACU_FOREVER));
    assert_true(called);
    acu_future_release(first);
    acu_future_release(second);
    acu_future *plain = test_submit(device, acu_fill(x, acu_u32(2)));
    assert_works(acu_future_wait(plain, ACU_FOREVER));
    assert_fails(acu_explain(plain, ACU_EXPLAIN_TEXT, NULL, 0, NULL), ACU_ERR_INVALID, "`explain`");
    acu_future_release(plain);
    acu_trace_statistics stats = {.size = sizeof stats};
    assert_works(acu_trace_stats(&stats));
    assert_true(stats.on);
    assert_true(stats.records >= 3 && stats.dropped == 0);
    assert_works(acu_trace_stop());
    pf_trace trace = pf_read(path);
    assert_true(trace.clocks);
    assert_nest(&trace);
    check_submissions(&trace, &fill, &copy, line);
    check_device(&trace, "fill", &fill);
    check_device(&trace, "copy", &copy);
    assert_non_null(pf_track_of(&trace, must_find(&trace, NULL, "first")->track));
    pf_free(&trace);
    acu_tensor_release(x);
    acu_tensor_release(y);
    acu_stream_release(a);
    acu_stream_release(b);
    test_close(device);
    test_leaks_none();
}

/* A part of several operations is no copy because it begins with one. */
static void several(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *x = zeros(device), *y = zeros(device);
    assert_works(acu_trace_start(path, &timed));
    acu_op *steps = acu_zip(acu_copy(y, x), acu_fill(y, acu_u32(1)), acu_fill(x, acu_u32(2)));
    assert_works(acu_sync(device, steps, NULL));
    steps = acu_zip(acu_fill(y, acu_u32(1)), acu_fill(y, acu_u32(3)));
    assert_works(acu_sync(device, steps, NULL));
    assert_works(acu_trace_stop());
    pf_trace trace = pf_read(path);
    assert_string_equal(must_find(&trace, "parts", "copy and 2 more")->kind, "several");
    assert_string_equal(must_find(&trace, "parts", "fill and 1 more")->kind, "fill");
    pf_free(&trace);
    acu_tensor_release(x);
    acu_tensor_release(y);
    test_close(device);
    test_leaks_none();
}

/* ---- times ---- */

static void times(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *x = zeros(device);
    acu_times t;
    acu_future *future = submit_named(device, acu_fill(x, acu_u32(1)), NULL, NULL);
    t = times_of(future);
    acu_future_release(future);
    assert_true(t.composed <= t.planned && t.planned <= t.over);
    assert_true(t.composed <= t.issued && t.issued <= t.over);
    assert_true(t.composed <= t.began && t.began <= t.ended && t.ended <= t.over);
    assert_int_equal(t.device, t.ended - t.began);
    assert_true(t.parts == 1 && t.timed == 1);
    acu_tensor *y = NULL;
    assert_works(acu_sync_timed(device, acu_ones(ACU_F32, VECTOR), &y, &t));
    assert_non_null(y);
    assert_int_equal(t.timed, 1);
    acu_tensor_release(y);
    acu_times none = {0};
    assert_fails(acu_sync_timed(device, acu_ones(ACU_F32, VECTOR), &y, &none), ACU_ERR_INVALID,
                 "acu_sync_timed|size");
    acu_future *plain = test_submit(device, acu_fill(x, acu_u32(2)));
    assert_works(acu_future_wait(plain, ACU_FOREVER));
    assert_fails(acu_future_times(plain, &t), ACU_ERR_INVALID, "acu_future_times|without `explain`");
    acu_future_release(plain);
    acu_tensor_release(x);
    test_close(device);
    test_leaks_none();
}

/* ---- with the trace off ---- */

static void off(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *x = zeros(device);
    acu_driver_call elapsed = acu_driver_call_find("EventElapsedTime");
    acu_trace_statistics stats = {.size = sizeof stats};
    assert_works(acu_trace_stats(&stats));
    assert_false(stats.on);
    for (int untimed = 0; untimed < 2; untimed++) { /* and without timing events */
        acu_trace_options options = {.size = sizeof options, .untimed = true};
        if (untimed)
            assert_works(acu_trace_start(path, &options));
        acu_driver_count_calls(true);
        assert_works(acu_sync(device, acu_fill(x, acu_u32(1)), NULL));
        acu_driver_count_calls(false);
        assert_int_equal(acu_driver_calls(elapsed), 0);
    }
    assert_works(acu_trace_stats(&stats));
    assert_int_equal(stats.timed, 0);
    assert_works(acu_trace_stop());
    acu_tensor_release(x);
    test_close(device);
    test_leaks_none();
}

/* Timing events are spread over each second, so that a short program does not get them all. */
static void budget(void **state)
{
    (void)state;
    const acu_trace_options options = {.size = sizeof options, .timed_per_second = 10};
    acu_device *device = test_open();
    acu_tensor *x = zeros(device);
    acu_trace_statistics stats = {.size = sizeof stats};
    uint64_t before = acu_now() / ACU_MS(100);
    assert_works(acu_trace_start(path, &options));
    for (unsigned i = 0; i < 50; i++)
        assert_works(acu_sync(device, acu_fill(x, acu_u32(i)), NULL));
    uint64_t pieces = acu_now() / ACU_MS(100) - before + 1;
    assert_works(acu_trace_stats(&stats));
    assert_in_range(stats.timed, 1, pieces);
    assert_works(acu_trace_stop());
    acu_tensor_release(x);
    test_close(device);
    test_leaks_none();
}

/* ---- what takes long, besides submissions ---- */

static const char two_ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                              ".visible .entry one(.param .u64 p) { ret; }\n"
                              ".visible .entry other(.param .u64 p) { ret; }\n";

/* On a thread's track, the whole of it behind `since`. */
static void must_have_done(const pf_trace *trace, const char *name, uint64_t since)
{
    const pf_event *e = must_find(trace, NULL, name);
    const pf_track *thread = pf_track_of(trace, e->track);
    assert_non_null(thread);
    assert_int_equal(thread->pid, getpid());
    assert_true(thread->tid != 0);
    assert_true(since <= e->at && e->at <= e->end);
}

static void preparations(void **state)
{
    (void)state;
    uint64_t since = acu_now();
    assert_works(acu_trace_start(path, NULL));
    acu_device *device = test_open();
    acu_module *named = test_load_ptx(device, "some name", two_ptx);
    acu_kernel *kernel = test_kernel(device, two_ptx, "other");
    acu_tensor *x = zeros(device);
    acu_graph *graph;
    assert_works(acu_graph_load(device, acu_fill(x, acu_u32(7)), NULL, &graph));
    assert_works(acu_trace_stop());
    acu_module *quiet = test_load_ptx(device, "off", two_ptx);
    pf_trace trace = pf_read(path);
    assert_nest(&trace);
    char opened[200];
    snprintf(opened, sizeof opened, "open device 0 (%s)", acu_device_info_of(device)->name);
    must_have_done(&trace, "open the driver", since);
    must_have_done(&trace, opened, since);
    must_have_done(&trace, "load some name", since);
    must_have_done(&trace, "load one and 1 more", since);
    must_have_done(&trace, "get device memory, 16384 bytes", since);
    must_have_done(&trace, "make a graph, nodes: 1", since);
    assert_null(pf_find(&trace, NULL, "load off", NULL));
    pf_free(&trace);
    acu_graph_release(graph);
    acu_tensor_release(x);
    acu_kernel_release(kernel);
    acu_module_release(named);
    acu_module_release(quiet);
    test_close(device);
    test_leaks_none();
}

static void *load_and_end(void *device)
{
    pthread_setname_np(pthread_self(), "brief");
    acu_module_release(test_load_ptx(device, "brief's", two_ptx));
    return NULL;
}

/* A thread that has ended when the trace is written still has its name. */
static void thread_that_ended(void **state)
{
    (void)state;
    pthread_t thread;
    acu_device *device = test_open();
    assert_works(acu_trace_start(path, NULL));
    assert_int_equal(pthread_create(&thread, NULL, load_and_end, device), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_works(acu_trace_stop());
    pf_trace trace = pf_read(path);
    const pf_track *track = pf_track_of(&trace, must_find(&trace, NULL, "load brief's")->track);
    assert_non_null(track);
    assert_string_equal(track->name, "brief");
    pf_free(&trace);
    test_close(device);
    test_leaks_none();
}

/* ---- submissions that are issued as one ---- */

/* A trace does not keep them from that, and what some of them tried first leaves nothing behind. */
static void together(void **state)
{
    (void)state;
    acu_open_options options = test_options(0);
    options.runtime_thread = true;
    acu_device *device;
    assert_works(acu_open(&options, &device));
    acu_tensor *x[8];
    for (int i = 0; i < 8; i++)
        x[i] = zeros(device);
    assert_works(acu_trace_start(path, &timed));
    for (int i = 0; i < 400; i++)
        assert_works(acu_submit(device, acu_fill(x[i % 8], acu_u32(1)), NULL, NULL));
    assert_works(acu_device_wait(device, ACU_FOREVER));
    assert_works(acu_trace_stop());
    pf_trace trace = pf_read(path);
    size_t parts = 0;
    for (const pf_event *e = NULL; (e = pf_find(&trace, "parts", "fill", e));)
        parts++;
    assert_int_equal(parts, 400);
    pf_free(&trace);
    for (int i = 0; i < 8; i++)
        acu_tensor_release(x[i]);
    test_close(device);
    test_leaks_none();
}

/* A completion may be taken while another thread is still planning what was given up. */
static void given_up(void **state)
{
    (void)state;
    acu_open_options options = test_options(0);
    options.runtime_thread = true;
    acu_device *device;
    acu_queue *queue;
    assert_works(acu_open(&options, &device));
    assert_works(acu_queue_create(NULL, &queue));
    acu_tensor *x = zeros(device);
    assert_works(acu_trace_start(path, &timed));
    for (int i = 0; i < 300; i++) {
        acu_submit_options how = {.size = sizeof how, .queue = queue, .name = "gone"};
        acu_future *future;
        acu_completion done;
        size_t count;
        assert_works(acu_submit(device, acu_fill(x, acu_u32(1)), &how, &future));
        assert_works(acu_future_cancel(future));
        assert_works(acu_queue_wait(queue, &done, 1, &count, ACU_FOREVER));
        acu_future_release(done.future);
        acu_future_release(future);
    }
    assert_works(acu_trace_stop());
    pf_trace trace = pf_read(path);
    int taken = 0;
    for (const pf_event *e = NULL; (e = pf_find(&trace, NULL, "taken from a queue", e));) {
        const pf_track *track = pf_track_of(&trace, e->track);
        assert_non_null(track);
        taken += track->tid != 0; /* else it is the submission's, which may not be over yet */
    }
    assert_int_equal(taken, 300);
    pf_free(&trace);
    acu_tensor_release(x);
    acu_queue_release(queue);
    test_close(device);
}

static acu_status do_nothing(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_OK;
}

/* More parts than there is room for at once: what there is no room for is left out, no more. */
static void many_parts(void **state)
{
    (void)state;
    enum { PARTS = 26000 };
    acu_device *device = test_open();
    acu_op **parts = calloc(PARTS, sizeof *parts);
    assert_non_null(parts);
    for (size_t i = 0; i < PARTS; i++)
        parts[i] = acu_host(do_nothing, NULL);
    assert_works(acu_trace_start(path, &timed));
    acu_submit_options how = {.size = sizeof how, .name = "many"};
    acu_future *future;
    assert_works(acu_submit(device, acu_op_zip(parts, PARTS, ACU_SITE), &how, &future));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    acu_trace_statistics stats = {.size = sizeof stats};
    assert_works(acu_trace_stats(&stats));
    assert_works(acu_trace_stop());
    assert_true(stats.bytes > 100 * PARTS); /* more than half of them */
    acu_future_release(future);
    free(parts);
    test_close(device);
    test_leaks_none();
}

/* ---- files ---- */

static void rotation(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *x = zeros(device);
    acu_trace_options options = {.size = sizeof options, .max_bytes = 8192, .files = 3};
    assert_works(acu_trace_start(path, &options));
    for (int i = 0; i < 64; i++)
        assert_works(acu_sync(device, acu_fill(x, acu_u32(1)), NULL));
    acu_trace_statistics stats = {.size = sizeof stats};
    assert_works(acu_trace_stats(&stats));
    assert_true(stats.rotated >= 3);
    assert_works(acu_trace_stop());
    uint64_t kept = 0, before = UINT64_MAX;
    for (int i = 0; i < 3; i++) {
        char name[160];
        snprintf(name, sizeof name, i ? "%s.%d" : "%s", path, i);
        pf_trace trace = pf_read(name);
        assert_true(trace.clocks); /* each can be read by itself */
        assert_true(i == 0 || trace.track_count > 0); /* the newest may have no record yet */
        assert_true(trace.bytes < 8192 + 4096);
        const pf_event *e = pf_find(&trace, "submissions", "fill", NULL);
        if (i > 0)
            assert_non_null(e);
        assert_true(!e || e->at < before); /* the older, the higher the number */
        before = e ? e->at : before;
        kept += trace.bytes;
        pf_free(&trace);
    }
    assert_true(kept < stats.bytes);
    char name[160];
    snprintf(name, sizeof name, "%s.3", path);
    assert_int_equal(access(name, F_OK), -1);
    acu_tensor_release(x);
    test_close(device);
    test_leaks_none();
}

static void refusals(void **state)
{
    (void)state;
    assert_fails(acu_trace_stop(), ACU_ERR_INVALID, "acu_trace_stop: no trace is on");
    assert_fails(acu_trace_start(NULL, NULL), ACU_ERR_INVALID, "acu_trace_start");
    assert_fails(acu_trace_start("", NULL), ACU_ERR_INVALID, "the path of the trace is empty");
    assert_fails(acu_trace_start("/nowhere/at/all", NULL), ACU_ERR_IO,
                 "acu_trace_start|/nowhere/at/all|No such file");
    assert_fails(acu_trace_start(folder, NULL), ACU_ERR_IO, "Is a directory");
    acu_trace_options options = {.size = sizeof options, .max_bytes = 100};
    assert_fails(acu_trace_start(path, &options), ACU_ERR_INVALID, "100 bytes|at least 4096");
    assert_works(acu_trace_start(path, NULL));
    assert_fails(acu_trace_start(path, NULL), ACU_ERR_BUSY, path);
    assert_works(acu_trace_stop()); /* a trace of nothing is one, too */
    pf_trace trace = pf_read(path);
    assert_true(trace.clocks && trace.event_count == 0);
    pf_free(&trace);
}

static void full_disk(void **state)
{
    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    acu_device *device = test_open();
    acu_tensor *x = zeros(device);
    assert_works(acu_trace_start("/dev/full", NULL));
    assert_works(acu_sync(device, acu_fill(x, acu_u32(1)), NULL));
    acu_trace_statistics stats = {.size = sizeof stats};
    assert_works(acu_trace_stats(&stats));
    assert_false(stats.on); /* it has ended by itself, and the program goes on */
    assert_works(acu_sync(device, acu_fill(x, acu_u32(2)), NULL));
    assert_fails(acu_trace_stop(), ACU_ERR_IO, "/dev/full|No space left");
    acu_tensor_release(x);
    test_close(device);
    test_leaks_none();
}

/* ---- when memory is short ---- */

static void no_memory(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *x = zeros(device);
    uint64_t thin = test_thin();
    assert_works(acu_trace_start(path, &timed));
    for (uint64_t n = 1 + thin / 2; n < 40; n += thin) {
        acu_debug_fail_alloc(n, false);
        acu_status status = acu_sync(device, acu_fill(x, acu_u32(1)), NULL);
        acu_debug_fail_alloc(0, false);
        assert_true(status == ACU_OK || status == ACU_ERR_NO_MEMORY);
    }
    acu_status status = acu_trace_stop();
    assert_true(status == ACU_OK || status == ACU_ERR_NO_MEMORY);
    pf_trace trace = pf_read(path); /* whole packets only */
    assert_nest(&trace);
    pf_free(&trace);
    acu_tensor_release(x);
    test_close(device);
    test_leaks_none();
}

/* ---- processes ---- */

static void by_environment(void **state)
{
    (void)state;
    if (make_folder(NULL) != 0)
        return;
    char template[160], file[160];
    snprintf(template, sizeof template, "%s/t%%p", folder);
    snprintf(file, sizeof file, "%s/t%ld", folder, (long)getpid());
    setenv("ACUDA_TRACE", "/nowhere/at/all", 1);
    acu_open_options options = test_options(0);
    acu_device *device;
    assert_fails(acu_open(&options, &device), ACU_ERR_IO, "ACUDA_TRACE|/nowhere/at/all");
    setenv("ACUDA_TRACE", template, 1);
    device = test_open();
    acu_tensor_release(zeros(device));
    test_close(device); /* brings the file up to date; the trace stays on */
    pf_trace trace = pf_read(file);
    assert_non_null(pf_find(&trace, "submissions", "zeros", NULL));
    assert_non_null(pf_find(&trace, NULL, "close device 0", NULL));
    pf_free(&trace);
    unlink(file);
    rmdir(folder);
    test_leaks_none();
}

/* The child of a fork does not write to its parent's file, nor hang. */
static void in_fork(void **state)
{
    (void)state;
    if (make_folder(NULL) != 0)
        return;
    assert_works(acu_trace_start(path, NULL));
    acu_device *device = test_open();
    acu_tensor_release(zeros(device));
    test_before_fork();
    pid_t child = fork();
    if (child == 0)
        _exit(acu_trace_stop() == ACU_ERR_FORKED && acu_trace_start(path, NULL) == ACU_ERR_FORKED
                  ? 0 : 1);
    int status = 0;
    assert_true(waitpid(child, &status, 0) == child && WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    test_close(device);
    assert_works(acu_trace_stop());
    pf_trace trace = pf_read(path);
    assert_non_null(pf_find(&trace, "submissions", "zeros", NULL));
    pf_free(&trace);
    unlink(path);
    rmdir(folder);
}

static const test_case cases[] = {{"environment", by_environment}, {"fork", in_fork}};

static void environment(void **state)
{
    (void)state;
    test_in_process("environment");
}

static void forked(void **state)
{
    (void)state;
    test_in_process("fork");
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return test_run_case(cases, sizeof cases / sizeof *cases, argv[1]);
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(contents), IN_FOLDER(several), IN_FOLDER(together), cmocka_unit_test(times),
        IN_FOLDER(given_up), IN_FOLDER(off), IN_FOLDER(budget), IN_FOLDER(preparations),
        IN_FOLDER(thread_that_ended), IN_FOLDER(many_parts),
        IN_FOLDER(rotation),  IN_FOLDER(refusals),        cmocka_unit_test(full_disk),
        IN_FOLDER(no_memory), cmocka_unit_test(environment), cmocka_unit_test(forked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
