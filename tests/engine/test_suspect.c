/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Which operation is named after a fault, and whether everybody learns of the fault: for each way
 * of waiting, and for each way in which work gets to the device. A process can not get a lost
 * context back, so each case is a process of its own.
 */
#include "support/support.h"

#include <acuda/debug.h>
#include <acuda/graph.h>
#include <acuda/graph_cache.h>
#include <acuda/ops.h>
#include <acuda/queue.h>

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

extern const char test_suspect_ptx[];

#define LIMIT ACU_SECONDS(60) /* what takes longer hangs */
enum { STREAMS = 4, MANY = 16, CHAIN = 5 };

typedef struct bed {
    acu_device *device;
    acu_kernel *perhaps;
    acu_tensor *x[MANY]; /* ACU_I32 [1] */
} bed;

/* Macros, so that the line is the test's. */
#define step(b, x, stop)                                                                           \
    acu_launch((b)->perhaps, ACU_GRID_BLOCK(1, 1, 1, 1, 1, 1), acu_inout(x), acu_i32(stop))

static bed begin(const acu_open_options *options)
{
    bed b = {.device = NULL};
    assert_works(acu_open(options, &b.device));
    b.perhaps = test_kernel(b.device, test_suspect_ptx, "perhaps");
    for (int i = 0; i < MANY; i++)
        assert_works(acu_sync(b.device, acu_zeros(ACU_I32, ACU_SHAPE(1)), &b.x[i]));
    return b;
}

static void end(bed *b)
{
    for (int i = 0; i < MANY; i++)
        acu_tensor_release(b->x[i]);
    acu_kernel_release(b->perhaps);
    acu_status status = acu_close(b->device);
    assert_true(status == ACU_OK || status == ACU_ERR_DEVICE_LOST);
    char text[1024];
    if (acu_debug_live_report(text, sizeof text))
        fail_msg("handles are left:\n%s", text);
    assert_int_equal(acu_debug_live_blocks(), 0);
}

static void names(const acu_error *error, const char *op, int line, const char *words)
{
    assert_int_equal(error->status, ACU_ERR_DEVICE_LOST);
    assert_string_equal(error->op, op);
    assert_non_null(error->file);
    assert_non_null(strstr(error->file, "test_suspect.c"));
    assert_int_equal(error->line, line);
    if (!strstr(error->message, words))
        fail_msg("not '%s' in: %s", words, error->message);
}

static void device_names(acu_device *device, const char *op, int line, const char *words)
{
    acu_error error;
    assert_int_equal(acu_device_status(device, &error), ACU_ERR_DEVICE_LOST);
    names(&error, op, line, words);
}

/* The future is over, or ends although only this thread looks. */
static void future_names(acu_future *future, const char *op, int line)
{
    acu_error error;
    assert_int_equal(acu_future_wait(future, LIMIT), ACU_ERR_DEVICE_LOST);
    assert_int_equal(acu_future_error(future, &error), ACU_ERR_DEVICE_LOST);
    names(&error, op, line, "");
}

/* ---- each way of waiting ---- */

/* A kernel that stops, on a stream that is held up until everything is submitted. `behind` needs
 * its data; `beside` only shares its stream. */
typedef struct trouble {
    acu_stream *stream;
    acu_future *stop, *behind, *beside;
    int line;
} trouble;

static trouble make_trouble(bed *b, acu_queue *queue)
{
    trouble t;
    assert_works(acu_stream_create(b->device, 0, &t.stream));
    acu_submit_options on_stream = {
        .size = sizeof on_stream, .stream = t.stream, .name = "bad day"};
    acu_submit_options queued = {.size = sizeof queued, .queue = queue, .tag = 5};
    test_gate_close(b->device, acu_stream_raw(t.stream));
    t.line = __LINE__ + 1;
    acu_op *op = step(b, b->x[0], 1);
    assert_works(acu_submit(b->device, op, &on_stream, &t.stop));
    assert_works(acu_submit(b->device, step(b, b->x[0], 0), &queued, &t.behind));
    assert_works(acu_submit(b->device, step(b, b->x[1], 0), &on_stream, &t.beside));
    return t;
}

static void end_trouble(bed *b, trouble *t)
{
    future_names(t->stop, "perhaps", t->line);
    future_names(t->behind, "perhaps", t->line);
    future_names(t->beside, "perhaps", t->line);
    device_names(b->device, "perhaps", t->line, "bad day");
    assert_fails(acu_submit(b->device, step(b, b->x[2], 0), NULL, NULL), ACU_ERR_DEVICE_LOST,
                 "bad day");
    /* It is the first use of these kernels, so the loss is met while the op is made. */
    assert_fails(acu_submit(b->device, acu_add(b->x[2], 1), NULL, NULL), ACU_ERR_DEVICE_LOST,
                 "bad day");
    names(acu_last_error(), "perhaps", t->line, "bad day");
    acu_future_release(t->stop);
    acu_future_release(t->behind);
    acu_future_release(t->beside);
    acu_stream_release(t->stream);
}

typedef void (*way_fn)(trouble *t, acu_queue *queue);

static void learns_by(way_fn wait)
{
    acu_open_options options = test_options(0);
    bed b = begin(&options);
    acu_queue *queue = NULL;
    assert_works(acu_queue_create(NULL, &queue));
    trouble t = make_trouble(&b, queue);
    test_gate_open();
    wait(&t, queue);
    end_trouble(&b, &t);
    acu_queue_release(queue);
    end(&b);
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static void way_poll(trouble *t, acu_queue *queue)
{
    (void)queue;
    uint64_t end_time = now() + LIMIT;
    acu_status status;
    while ((status = acu_future_poll(t->behind)) == ACU_NOT_READY && now() < end_time)
        sched_yield();
    assert_int_equal(status, ACU_ERR_DEVICE_LOST);
}

static void way_wait(trouble *t, acu_queue *queue)
{
    (void)queue;
    assert_int_equal(acu_future_wait(t->behind, LIMIT), ACU_ERR_DEVICE_LOST);
}

static void way_any(trouble *t, acu_queue *queue)
{
    (void)queue;
    size_t index = 9;
    acu_future *both[] = {t->behind, t->beside};
    assert_int_equal(acu_wait_any(both, 2, LIMIT, &index), ACU_ERR_DEVICE_LOST);
    assert_true(index < 2);
}

static void way_all(trouble *t, acu_queue *queue)
{
    (void)queue;
    acu_future *both[] = {t->beside, t->behind};
    assert_int_equal(acu_wait_all(both, 2, LIMIT), ACU_ERR_DEVICE_LOST);
}

static struct {
    pthread_mutex_t lock;
    pthread_cond_t told;
    acu_status status;
} news = {.lock = PTHREAD_MUTEX_INITIALIZER, .told = PTHREAD_COND_INITIALIZER};

static void tell(void *user, acu_future *future, acu_status status)
{
    (void)user, (void)future;
    pthread_mutex_lock(&news.lock);
    news.status = status;
    pthread_cond_signal(&news.told);
    pthread_mutex_unlock(&news.lock);
}

static void way_callback(trouble *t, acu_queue *queue)
{
    (void)queue;
    assert_works(acu_future_when_complete(t->behind, NULL, 0, tell, ACU_USER(NULL, NULL)));
    pthread_mutex_lock(&news.lock);
    while (news.status == ACU_OK)
        pthread_cond_wait(&news.told, &news.lock);
    pthread_mutex_unlock(&news.lock);
    assert_int_equal(news.status, ACU_ERR_DEVICE_LOST);
}

static void take(acu_queue *queue, uint64_t timeout)
{
    acu_completion done;
    size_t count = 0;
    assert_works(timeout ? acu_queue_wait(queue, &done, 1, &count, timeout)
                         : acu_queue_take(queue, &done, 1, &count));
    assert_int_equal(count, 1);
    assert_int_equal(done.tag, 5);
    assert_int_equal(done.status, ACU_ERR_DEVICE_LOST);
    acu_future_release(done.future);
}

static void way_queue(trouble *t, acu_queue *queue)
{
    (void)t;
    take(queue, LIMIT);
}

static void way_descriptor(trouble *t, acu_queue *queue)
{
    (void)t;
    struct pollfd fd = {.fd = acu_queue_fd(queue), .events = POLLIN};
    assert_int_equal(poll(&fd, 1, (int)(LIMIT / 1000000)), 1);
    take(queue, 0);
}

#define WAYS(X) X(poll) X(wait) X(any) X(all) X(callback) X(queue) X(descriptor)
#define CASE_OF_WAY(way)                                                                           \
    static void case_##way(void **state)                                                           \
    {                                                                                              \
        (void)state;                                                                               \
        learns_by(way_##way);                                                                      \
    }                                                                                              \
    static void learned_by_##way(void **state)                                                     \
    {                                                                                              \
        (void)state;                                                                               \
        test_in_process(#way);                                                                     \
    }
WAYS(CASE_OF_WAY)

/* ---- each way to the device ---- */

/* Many at once on several streams, the first of which stops. */
static void case_many(void **state)
{
    (void)state;
    acu_open_options options = test_options(0);
    options.streams = STREAMS;
    bed b = begin(&options);
    acu_stream *first;
    acu_future *futures[MANY];
    assert_works(acu_stream_create(b.device, 0, &first));
    acu_submit_options on_first = {.size = sizeof on_first, .stream = first};
    test_gate_close(b.device, acu_stream_raw(first));
    int line = __LINE__ + 1;
    acu_op *op = step(&b, b.x[0], 1);
    assert_works(acu_submit(b.device, op, &on_first, &futures[0]));
    for (int i = 1; i < MANY; i++) /* each is ordered behind all earlier ones, so none is over when
                                    * the first stops */
        assert_works(acu_submit(b.device, acu_copy(b.x[i], b.x[i - 1]), NULL, &futures[i]));
    test_gate_open();
    for (int i = 0; i < MANY; i++) {
        future_names(futures[i], "perhaps", line);
        acu_future_release(futures[i]);
    }
    acu_error error;
    acu_device_status(b.device, &error);
    assert_non_null(strstr(error.message, "streams had work"));
    acu_stream_release(first);
    end(&b);
}

static acu_op *chain(const bed *b, int stop)
{
    acu_op *ops[CHAIN];
    for (int i = 0; i < CHAIN; i++)
        ops[i] = step(b, b->x[0], i == CHAIN / 2 ? stop : 0);
    return acu_op_zip(ops, CHAIN, ACU_SITE);
}

static void sleep_at_gate(void *user, acu_future *future, acu_status status)
{
    (void)user, (void)future, (void)status;
    assert_int_equal(test_pass_host_gate(NULL, NULL, 0), ACU_OK);
}

/* What the device has told to be over is not to blame, even if nobody has looked yet: the thread
 * that would is held up, and this one knows of the end from the driver. */
static void case_told(void **state)
{
    (void)state;
    acu_open_options options = test_options(0);
    bed b = begin(&options);
    acu_queue *queue = NULL;
    acu_future *futures[3];
    assert_works(acu_queue_create(NULL, &queue));
    test_host_gate_close();
    assert_works(acu_submit(b.device, step(&b, b.x[2], 0), NULL, &futures[0]));
    assert_works(
        acu_future_when_complete(futures[0], NULL, 0, sleep_at_gate, ACU_USER(NULL, NULL)));
    test_host_gate_await();
    acu_submit_options told = {.size = sizeof told, .queue = queue};
    assert_works(acu_submit(b.device, step(&b, b.x[0], 0), &told, &futures[1]));
    const acu_driver_table *cu = acu_driver();
    CUcontext old;
    assert_int_equal(cu->CtxPushCurrent(acu_device_context(b.device)), 0);
    assert_int_equal(cu->CtxSynchronize(), 0);
    assert_int_equal(cu->CtxPopCurrent(&old), 0);
    int line = __LINE__ + 1;
    acu_op *op = step(&b, b.x[1], 1);
    assert_works(acu_submit(b.device, op, NULL, &futures[2]));
    future_names(futures[2], "perhaps", line);
    device_names(b.device, "perhaps", line, "no other operation was running");
    test_host_gate_open();
    assert_int_equal(acu_future_wait(futures[1], ACU_FOREVER), ACU_OK);
    for (int i = 0; i < 3; i++)
        acu_future_release(futures[i]);
    acu_queue_release(queue);
    end(&b);
}

static void *use_device(void *device)
{
    acu_tensor *x;
    assert_fails(acu_tensor_alloc_pinned(device, ACU_I32, ACU_SHAPE(1), &x), ACU_ERR_DEVICE_LOST,
                 "");
    return NULL;
}

/* Another thread notices that the kernel stopped while this one still issues the operation. */
static acu_status stop_and_have_it_noticed(void *user, CUstream stream, const acu_val *values,
                                           size_t count)
{
    const bed *b = user;
    CUdeviceptr x = acu_tensor_address(values[0].tensor);
    int stop = 1;
    void *arguments[] = {&x, &stop};
    pthread_t thread;
    assert_int_equal(count, 1);
    assert_int_equal(acu_driver()->LaunchKernel((CUfunction)acu_kernel_raw(b->perhaps), 1, 1, 1, 1,
                                                1, 1, 0, stream, arguments, NULL),
                     0);
    assert_int_not_equal(acu_driver()->StreamSynchronize(stream), 0);
    assert_int_equal(pthread_create(&thread, NULL, use_device, b->device), 0);
    pthread_join(thread, NULL);
    return ACU_OK;
}

static void case_noticed(void **state)
{
    (void)state;
    acu_open_options options = test_options(0);
    bed b = begin(&options);
    acu_future *future;
    int line = __LINE__ + 1;
    acu_op *op = acu_foreign(stop_and_have_it_noticed, &b, acu_inout(b.x[0]));
    assert_works(acu_submit(b.device, op, NULL, &future));
    assert_int_equal(acu_future_wait(future, LIMIT), ACU_ERR_DEVICE_LOST);
    acu_future_release(future);
    device_names(b.device, "foreign", line, "no other operation was running");
    end(&b);
}

/* Older work on another stream is not over. The software device says which kernel it was; a GPU
 * does not, and the older one would be named. */
static void case_beside(void **state)
{
    (void)state;
    acu_open_options options = test_options(0);
    bed b = begin(&options);
    if (!acu_device_info_of(b.device)->software) {
        end(&b);
        return;
    }
    acu_kernel *stay = test_kernel(b.device, test_suspect_ptx, "stay");
    acu_stream *stream;
    acu_tensor *go;
    acu_future *older, *stop;
    assert_works(acu_stream_create(b.device, 0, &stream));
    assert_works(acu_tensor_alloc_pinned(b.device, ACU_I32, ACU_SHAPE(1), &go));
    *(volatile int *)acu_tensor_host(go) = 0;
    acu_op *op = acu_launch(stay, ACU_GRID_BLOCK(1, 1, 1, 1, 1, 1), acu_in(go));
    assert_works(acu_submit(b.device, op, NULL, &older));
    acu_submit_options on_stream = {.size = sizeof on_stream, .stream = stream};
    test_gate_close(b.device, acu_stream_raw(stream)); /* it stops when it is issued */
    int line = __LINE__ + 1;
    op = step(&b, b.x[1], 1);
    assert_works(acu_submit(b.device, op, &on_stream, &stop));
    test_gate_open();
    future_names(stop, "perhaps", line);
    device_names(b.device, "perhaps", line, "its oldest unfinished launch");
    *(volatile int *)acu_tensor_host(go) = 1;
    future_names(older, "perhaps", line);
    acu_future_release(older);
    acu_future_release(stop);
    acu_stream_release(stream);
    acu_tensor_release(go);
    acu_kernel_release(stay);
    end(&b);
}

/* As an executable graph of the cache: nobody can tell which of its kernels stopped. */
static void case_cached(void **state)
{
    (void)state;
    acu_open_options options = test_options(0);
    bed b = begin(&options);
    acu_stream *stream;
    assert_works(acu_stream_create(b.device, 0, &stream));
    acu_submit_options on_stream = {.size = sizeof on_stream, .stream = stream};
    for (int i = 0; i < 3; i++) {
        assert_works(acu_sync_on(stream, chain(&b, 0), NULL));
        assert_works(acu_graph_cache_wait(b.device));
    }
    acu_graph_cache_statistics before = {.size = sizeof before}, after = {.size = sizeof after};
    assert_works(acu_graph_cache_stats(b.device, &before));
    acu_future *future;
    test_gate_close(b.device, acu_stream_raw(stream)); /* it stops when all of it is issued */
    assert_works(acu_submit(b.device, chain(&b, 1), &on_stream, &future));
    assert_works(acu_graph_cache_stats(b.device, &after));
    test_gate_open();
    if (acu_driver_has(ACU_CALL_GraphInstantiateWithFlags))
        assert_int_equal(after.hits - before.hits, 1);
    acu_error error;
    assert_int_equal(acu_future_wait(future, LIMIT), ACU_ERR_DEVICE_LOST);
    acu_future_error(future, &error);
    names(&error, "perhaps", error.line, "first of 5 operations");
    acu_future_release(future);
    acu_stream_release(stream);
    end(&b);
}

static void replay(bed *b, const char *op, int *line, const char *words)
{
    acu_graph *graph = NULL;
    *line = __LINE__ + 1;
    acu_op *ops[] = {step(b, b->x[0], 0), step(b, b->x[1], 1), step(b, b->x[2], 0)};
    assert_works(acu_graph_load(b->device, acu_op_zip(ops, 3, ACU_SITE), NULL, &graph));
    acu_future *future = NULL;
    int replay_line = __LINE__ + 1;
    acu_op *again = acu_replay(graph);
    acu_stream *stream;
    assert_works(acu_stream_create(b->device, 0, &stream));
    acu_submit_options on_stream = {.size = sizeof on_stream, .stream = stream};
    bool whole = strcmp(op, "replay") == 0; /* otherwise acuda waits for each of its kernels */
    if (whole)
        test_gate_close(b->device, acu_stream_raw(stream)); /* it stops when all of it is issued */
    assert_works(acu_submit(b->device, again, &on_stream, &future));
    test_gate_open();
    if (whole)
        *line = replay_line;
    future_names(future, op, *line);
    device_names(b->device, op, *line, words);
    acu_future_release(future);
    acu_stream_release(stream);
    acu_graph_release(graph);
}

static void case_replay(void **state)
{
    (void)state;
    acu_open_options options = test_options(0);
    bed b = begin(&options);
    int line;
    replay(&b, "replay", &line, "no other operation was running");
    end(&b);
}

static void case_handed(void **state)
{
    (void)state;
    acu_open_options options = test_options(0);
    options.runtime_thread = true;
    bed b = begin(&options);
    trouble t = make_trouble(&b, NULL);
    test_gate_open();
    way_wait(&t, NULL);
    end_trouble(&b, &t);
    end(&b);
}

/* ---- one by one ---- */

/* The kernel that stops is neither the first of its submission nor the only work on the device. */
static void case_alone(void **state)
{
    (void)state;
    acu_open_options options = test_options(0);
    options.one_by_one = true;
    bed b = begin(&options);
    acu_future *futures[MANY];
    for (int i = 1; i < MANY; i++)
        assert_works(acu_submit(b.device, step(&b, b.x[i], 0), NULL, &futures[i]));
    int line = __LINE__ + 2;
    acu_op *ops[] = {step(&b, b.x[0], 0),
                     step(&b, b.x[1], 1),
                     step(&b, b.x[2], 0)};
    assert_works(acu_submit(b.device, acu_op_zip(ops, 3, ACU_SITE), NULL, &futures[0]));
    future_names(futures[0], "perhaps", line);
    device_names(b.device, "perhaps", line, "it was this one");
    acu_future_release(futures[0]);
    for (int i = 1; i < MANY; i++) {
        /* They were complete before, although a thread may still be about to report it. */
        assert_int_equal(acu_future_wait(futures[i], ACU_FOREVER), ACU_OK);
        acu_future_release(futures[i]);
    }
    end(&b);
}

static void case_alone_replay(void **state)
{
    (void)state;
    acu_open_options options = test_options(0);
    options.one_by_one = true;
    bed b = begin(&options);
    int line;
    replay(&b, "perhaps", &line, "it was this one");
    end(&b);
}

#define WAYS_TO_THE_DEVICE(X) \
    X(many) X(told) X(noticed) X(beside) X(cached) X(replay) X(handed) X(alone) X(alone_replay)
#define TEST_OF_CASE(name)                                                                         \
    static void blamed_##name(void **state)                                                        \
    {                                                                                              \
        (void)state;                                                                               \
        test_in_process(#name);                                                                    \
    }
WAYS_TO_THE_DEVICE(TEST_OF_CASE)

/* Without a fault it is slow, and right. */
static void one_by_one_computes_the_same(void **state)
{
    (void)state;
    acu_open_options options = test_options(0);
    options.one_by_one = true;
    bed b = begin(&options);
    acu_device *again = NULL;
    for (int i = 0; i < 3; i++)
        assert_works(acu_submit(b.device, chain(&b, 0), NULL, NULL));
    int32_t value = 0;
    assert_works(acu_read_sync(b.x[0], &value, sizeof value));
    assert_int_equal(value, 3 * CHAIN);
    options.one_by_one = false;
    assert_works(acu_open(&options, &again)); /* it stays as it is */
    test_close(again);
    end(&b);
    options.one_by_one = false;
    assert_works(acu_open(&options, &again));
    options.one_by_one = true;
    assert_fails(acu_open(&options, &b.device), ACU_ERR_BUSY, "one by one");
    test_close(again);
    test_leaks_none();
}

int main(int count, char **arguments)
{
#define CASE(name) {#name, case_##name},
    static const test_case cases[] = {WAYS(CASE) WAYS_TO_THE_DEVICE(CASE)};
    if (count > 1)
        return test_run_case(cases, sizeof cases / sizeof *cases, arguments[1]);
#define TEST_OF_WAY(way) cmocka_unit_test(learned_by_##way),
#define TEST(name) cmocka_unit_test(blamed_##name),
    const struct CMUnitTest tests[] = {
        WAYS(TEST_OF_WAY) WAYS_TO_THE_DEVICE(TEST)
        cmocka_unit_test(one_by_one_computes_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
