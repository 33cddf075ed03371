/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * How long it takes until a fault is reported, in each way of waiting: from the submission of a
 * kernel that stops its context at once, on an idle device; and of one that was always seen to take
 * 150 ms before. Beside it the driver's own time. Each measurement is a process of its own.
 */
#include "harness/child.h"
#include "harness/harness.h"

#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const char losses_ptx[];

#define LIMIT ACU_SECONDS(60)
#define LONG_US 150e3

/* ---- in the child: one loss ---- */

typedef struct bed {
    acu_device *device;
    acu_kernel *late;
    acu_tensor *x; /* ACU_I32 [3] */
    acu_queue *queue;
    acu_stream *stream;
} bed;

static acu_op *op_of(const bed *b)
{
    return acu_launch(b->late, ACU_GRID_BLOCK(1, 1, 1, 1, 1, 1), acu_inout(b->x));
}

static void tell(const bed *b, int turns, int stop)
{
    int32_t words[3] = {turns, stop, 0};
    MUST(acu_write_sync(b->x, words, sizeof words));
}

static bed open_bed(void)
{
    bed b;
    acu_module *module;
    MUST(acu_open(NULL, &b.device));
    MUST(acu_module_load(b.device, ACU_PTX(NULL, losses_ptx), &module));
    MUST(acu_kernel_get(module, "late", &b.late));
    MUST(acu_tensor_alloc(b.device, ACU_I32, ACU_SHAPE(3), &b.x));
    MUST(acu_queue_create(NULL, &b.queue));
    MUST(acu_stream_create(b.device, 0, &b.stream));
    tell(&b, 1, 0);
    MUST(acu_sync_on(b.stream, op_of(&b), NULL));
    return b;
}

static struct {
    pthread_mutex_t lock;
    pthread_cond_t told;
    bool done;
} news = {.lock = PTHREAD_MUTEX_INITIALIZER, .told = PTHREAD_COND_INITIALIZER};

static void note(void *user, acu_future *future, acu_status status)
{
    (void)user, (void)future, (void)status;
    pthread_mutex_lock(&news.lock);
    news.done = true;
    pthread_cond_signal(&news.told);
    pthread_mutex_unlock(&news.lock);
}

static void await_callback(acu_future *future)
{
    MUST(acu_future_when_complete(future, NULL, 0, note, (acu_user){0}));
    pthread_mutex_lock(&news.lock);
    while (!news.done)
        pthread_cond_wait(&news.told, &news.lock);
    news.done = false;
    pthread_mutex_unlock(&news.lock);
}

static void await_queue(bed *b, acu_future *future, bool descriptor)
{
    acu_completion done;
    size_t count = 0;
    struct pollfd fd = {.fd = acu_queue_fd(b->queue), .events = POLLIN};
    MUST(acu_future_when_complete(future, b->queue, 1, NULL, ACU_USER(NULL)));
    if (descriptor) {
        poll(&fd, 1, -1);
        MUST(acu_queue_take(b->queue, &done, 1, &count));
    } else {
        MUST(acu_queue_wait(b->queue, &done, 1, &count, LIMIT));
    }
    if (count)
        acu_future_release(done.future);
}

static const char *const ways[] = {"poll", "wait", "wait_all", "wait_any", "callback", "queue",
                                   "descriptor"};
enum { WAYS = sizeof ways / sizeof *ways };

static void await(bed *b, acu_future *future, const char *way)
{
    size_t index;
    if (strcmp(way, "poll") == 0)
        while (acu_future_poll(future) == ACU_NOT_READY)
            bench_nap_us(100);
    else if (strcmp(way, "wait") == 0)
        acu_future_wait(future, LIMIT);
    else if (strcmp(way, "wait_all") == 0)
        acu_wait_all(&future, 1, LIMIT);
    else if (strcmp(way, "wait_any") == 0)
        acu_wait_any(&future, 1, LIMIT, &index);
    else if (strcmp(way, "callback") == 0)
        await_callback(future);
    else
        await_queue(b, future, strcmp(way, "descriptor") == 0);
}

/* Submit, wait; microseconds. */
static double run(bed *b, const char *way, acu_status want)
{
    acu_submit_options options = {.size = sizeof options, .stream = b->stream};
    acu_future *future;
    double start = bench_now_us();
    MUST(acu_submit(NULL, op_of(b), &options, &future));
    await(b, future, way);
    double end = bench_now_us();
    if (acu_future_poll(future) != want)
        bench_wrong("%s: %s instead of %s", way, acu_status_name(acu_future_poll(future)),
                    acu_status_name(want));
    acu_future_release(future);
    return end - start;
}

/* Until its length is foreseen. */
static void make_it_known(bed *b, const char *way, bool quick)
{
    int turns = quick ? 1000 : 1 << 20;
    tell(b, turns, 0);
    double us = run(b, way, ACU_OK);
    if (!quick)
        turns = (int)(fmin(LONG_US / us, 1000) * turns);
    tell(b, turns, 0);
    for (int i = 0; i < (quick ? 3 : 20); i++)
        run(b, way, ACU_OK);
}

static double lose(const char *way, bool known, bool quick)
{
    bed b = open_bed();
    if (known)
        make_it_known(&b, way, quick);
    tell(&b, 1, 1);
    bench_nap_us(20000); /* by then all of acuda's threads are asleep */
    return run(&b, way, ACU_ERR_DEVICE_LOST);
}

/* By the driver's calls alone. */
static double lose_raw(void)
{
    bed b = open_bed();
    const acu_driver_table *cu = acu_driver();
    CUdeviceptr x = acu_tensor_address(b.x);
    void *params[] = {&x};
    tell(&b, 1, 1);
    MUST(acu_device_wait(b.device, LIMIT));
    MUST_CU(cu->CtxSetCurrent(acu_device_context(b.device)));
    double start = bench_now_us();
    MUST_CU(cu->LaunchKernel(acu_kernel_raw(b.late), 1, 1, 1, 1, 1, 1, 0, acu_stream_raw(b.stream),
                             params, NULL));
    if (cu->StreamSynchronize(acu_stream_raw(b.stream)) == ACU_CUDA_SUCCESS)
        bench_wrong("there was no fault");
    return bench_now_us() - start;
}

static int be_a_child(char **arguments)
{
    bool known = strcmp(arguments[3], "known") == 0, quick = strcmp(arguments[4], "quick") == 0;
    bool raw = strcmp(arguments[2], "raw") == 0;
    printf("%.3f\n", raw ? lose_raw() : lose(arguments[2], known, quick));
    fflush(stdout);
    _exit(0); /* what a lost device does at exit is another subject */
}

/* ---- in the parent ---- */

static double measure(const bench *b, const char *way, const char *kind)
{
    const char *arguments[] = {"losses", "--child", way, kind, b->quick ? "quick" : "timed", NULL};
    char line[64];
    double us;
    if (!bench_child(arguments, line, sizeof line) || sscanf(line, "%lf", &us) != 1)
        bench_wrong("%s, %s: the process failed", way, kind);
    return us * 1e-3;
}

static void row(bench *b, const char *way, const char *kind, double goal)
{
    char what[96];
    double worst = 0;
    bool known = strcmp(kind, "known") == 0; /* that takes three seconds each */
    for (int i = 0; i < bench_count(b, known ? 1 : 3, 1); i++)
        worst = fmax(worst, measure(b, way, kind));
    snprintf(what, sizeof what, "%s%s", way,
             known ? ", foreseen to take 150 ms" : "");
    bench_at_most(b, what, "ms", worst, goal);
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "--child") == 0)
        return be_a_child(argv);
    bench b = bench_open("losses", argc, argv, NULL);
    if (b.quick)
        setenv("ACUDA_ALLOW_SOFTWARE", "1", 1); /* for the processes that it starts */
    bench_title(&b, "From the submission of a kernel that stops until that is told; the worst");
    row(&b, "raw", "new", NAN);
    for (int i = 0; i < WAYS; i++)
        row(&b, ways[i], "new", 100);
    for (int i = 0; i < WAYS; i++)
        row(&b, ways[i], "known", 100);
    return bench_close(&b);
}
