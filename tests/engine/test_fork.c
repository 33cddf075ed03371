/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The child of a fork gets errors from everything, and neither hangs nor crashes, whatever the
 * threads of its parent were doing; the parent goes on. A child that was forked before the first
 * open can open devices of its own.
 */
#include "support/support.h"

#include <acuda/debug.h>
#include <acuda/graph.h>
#include <acuda/graph_cache.h>
#include <acuda/queue.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

extern const char test_fork_ptx[];

#define LIMIT ACU_SECONDS(60) /* what takes longer hangs */
enum { HANGS_S = 60, FORKS = 20, THREADS = 4 };

typedef struct things {
    acu_device *device;
    acu_buffer *buffer;
    acu_tensor *tensor;
    acu_module *module;
    acu_kernel *kernel;
    acu_stream *stream;
    acu_event *event;
    acu_policy *policy;
    acu_graph *graph;
    acu_queue *queue;
    acu_future *future, *scheduled;
    acu_op *op;
} things;

#define count_op(t)                                                                                \
    acu_launch((t)->kernel, ACU_GRID_BLOCK(1, 1, 1, 1, 1, 1), acu_inout((t)->tensor))

static things make(bool runtime_thread)
{
    things t = {0};
    acu_open_options options = test_options(0);
    options.runtime_thread = runtime_thread;
    assert_works(acu_open(&options, &t.device));
    assert_works(acu_buffer_create(t.device, 64, &t.buffer));
    assert_works(acu_sync(t.device, acu_zeros(ACU_I32, ACU_SHAPE(1)), &t.tensor));
    t.module = test_load_ptx(t.device, "mine", test_fork_ptx);
    assert_works(acu_kernel_get(t.module, "count", &t.kernel));
    assert_works(acu_stream_create(t.device, 0, &t.stream));
    assert_works(acu_event_create(t.device, false, &t.event));
    assert_works(acu_policy_round_robin(t.device, 2, &t.policy));
    assert_works(acu_graph_load(t.device, count_op(&t), NULL, &t.graph));
    assert_works(acu_queue_create(NULL, &t.queue));
    assert_works(acu_schedule(t.policy, count_op(&t), &t.scheduled));
    t.op = acu_dup(t.tensor);
    return t;
}

static void release(things *t)
{
    acu_op_release(t->op);
    acu_future_release(t->future);
    acu_future_release(t->scheduled);
    acu_queue_release(t->queue);
    acu_graph_release(t->graph);
    acu_policy_release(t->policy);
    acu_event_release(t->event);
    acu_stream_release(t->stream);
    acu_kernel_release(t->kernel);
    acu_module_release(t->module);
    acu_tensor_release(t->tensor);
    acu_buffer_release(t->buffer);
}

/* ---- in the child: no test framework there ---- */

static void called(void *user, acu_future *future, acu_status status)
{
    (void)user, (void)future, (void)status;
    _exit(2); /* never */
}

static void is_forked(acu_status status, int line)
{
    if (status != ACU_ERR_FORKED || acu_last_error()->status != ACU_ERR_FORKED ||
        !strstr(acu_last_error()->message, "fork") || strstr(acu_last_error()->message, "acui_")) {
        fprintf(stderr, "line %d: %s: %s\n", line, acu_status_name(status),
                acu_last_error()->message);
        _exit(1);
    }
}
#define FORKED(call) is_forked((call), __LINE__)

static void use_device(things *t)
{
    acu_open_options options = test_options(0);
    acu_reset_options reset = {.size = sizeof reset,
                               .nothing_else_in_this_process_uses_the_device = true};
    acu_device *device;
    acu_module_source source = {.size = sizeof source, .ptx = test_fork_ptx};
    int count;
    size_t bytes;
    acu_graph_cache_statistics counts = {.size = sizeof counts};
    acu_vendor_settings cublas = {.size = sizeof cublas};
    acu_expression *expression;
    FORKED(acu_open(&options, &device));
    FORKED(acu_open(NULL, &device));
    FORKED(acu_device_count_load(&options, &count));
    FORKED(acu_driver_open(NULL, NULL));
    FORKED(acu_device_memory(t->device, &bytes, &bytes));
    FORKED(acu_device_status(t->device, NULL));
    FORKED(acu_device_wait(t->device, ACU_FOREVER));
    FORKED(acu_device_reset(t->device, &reset, &device));
    FORKED(acu_device_open_peer(t->device, t->device));
    FORKED(acu_graph_cache_stats(t->device, &counts));
    FORKED(acu_graph_cache_limit(t->device, 0));
    FORKED(acu_graph_cache_wait(t->device));
    FORKED(acu_module_load(t->device, ACU_PTX(NULL, test_fork_ptx), &t->module));
    FORKED(acu_module_load_async(t->device, &source, &t->future));
    FORKED(acu_kernel_get(t->module, "count", &t->kernel));
    FORKED(acu_kernel_find(t->device, "mine", "count", &t->kernel));
    FORKED(acu_kernel_declare(t->kernel, "i32*"));
    FORKED(acu_buffer_create(t->device, 64, &t->buffer));
    FORKED(acu_tensor_alloc(t->device, ACU_I32, ACU_SHAPE(1), &t->tensor));
    FORKED(acu_stream_create(t->device, 0, &t->stream));
    FORKED(acu_stream_poll(t->stream));
    FORKED(acu_stream_wait(t->stream, ACU_FOREVER));
    FORKED(acu_event_record(t->event, t->stream));
    FORKED(acu_event_wait(t->event, ACU_FOREVER));
    FORKED(acu_policy_round_robin(t->device, 2, &t->policy));
    FORKED(acu_vendor_configure(ACU_VENDOR_CUBLAS, &cublas));
    FORKED(acu_expression_create("a + b", &expression));
}

static void use_futures(things *t)
{
    acu_submit_options options = {.size = sizeof options, .stream = t->stream};
    acu_future *future, *both[] = {t->future, t->scheduled};
    acu_completion done;
    acu_group *group;
    acu_error error;
    acu_tensor *tensor;
    size_t count;
    int32_t value;
    FORKED(acu_submit(t->device, count_op(t), NULL, &future));
    FORKED(acu_submit(NULL, acu_zeros(ACU_I32, ACU_SHAPE(1)), &options, NULL));
    FORKED(acu_submit(NULL, t->op, NULL, NULL));
    FORKED(acu_submit(NULL, acu_replay(t->graph), NULL, NULL));
    FORKED(acu_sync(NULL, acu_zeros(ACU_I32, ACU_SHAPE(1)), &tensor));
    FORKED(acu_sync_on(t->stream, count_op(t), NULL));
    FORKED(acu_schedule(t->policy, count_op(t), &future));
    FORKED(acu_graph_load(NULL, acu_zeros(ACU_I32, ACU_SHAPE(1)), NULL, &t->graph));
    FORKED(acu_read_sync(t->tensor, &value, sizeof value));
    FORKED(acu_write_sync(t->tensor, &value, sizeof value));
    FORKED(acu_future_poll(t->future));
    FORKED(acu_future_wait(t->future, ACU_FOREVER));
    FORKED(acu_future_start(t->scheduled));
    FORKED(acu_future_cancel(t->future));
    FORKED(acu_future_error(t->future, &error));
    FORKED(acu_future_planned(t->future));
    FORKED(acu_future_when_complete(t->future, NULL, 0, called, ACU_USER(NULL, NULL)));
    FORKED(acu_future_when_complete(t->future, t->queue, 1, NULL, ACU_USER(NULL)));
    FORKED(acu_wait_all(both, 2, ACU_FOREVER));
    FORKED(acu_wait_any(both, 2, ACU_FOREVER, &count));
    FORKED(acu_queue_create(NULL, &t->queue));
    FORKED(acu_group_create(NULL, &group));
    FORKED(acu_queue_take(t->queue, &done, 1, &count));
    FORKED(acu_queue_wait(t->queue, &done, 1, &count, ACU_FOREVER));
    for (int i = 0; i < 3000; i++) /* more than a thread's own blocks */
        acu_op_release(acu_zeros(ACU_I32, ACU_SHAPE(i + 1)));
}

static void ask(const things *t)
{
    acu_process_statistics counters = {.size = sizeof counters};
    char text[512];
    bool none = !acu_device_default() && !acu_device_info_of(t->device) &&
                !acu_stream_raw(t->stream) && !acu_tensor_address(t->tensor) &&
                acu_future_values(t->future) == 0 && acu_queue_fd(t->queue) < 0 &&
                acu_vendor_version(ACU_VENDOR_CUBLAS) == 0 && !acu_vendor_path(ACU_VENDOR_CUBLAS);
    acu_process_stats(&counters);
    acu_driver_describe(text, sizeof text);
    acu_debug_live_report(text, sizeof text);
    acu_debug_live_blocks();
    if (!none)
        _exit(3);
}

static _Noreturn void be_a_child(things t)
{
    alarm(HANGS_S);
    use_device(&t);
    use_futures(&t);
    ask(&t);
    release(&t);
    FORKED(acu_close(t.device));
    acu_device_release(t.device);
    _exit(0);
}

/* ---- in the parent ---- */

static void fork_one(const things *t)
{
    int status = -1;
    test_before_fork();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        be_a_child(*t);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("the child: wait status %#x", (unsigned)status);
}

static _Atomic(bool) stop;

/* Locks of all kinds are held for a part of the time. */
static void *work(void *context)
{
    const things *t = context;
    acu_tensor *x = NULL;
    acu_open_options options = test_options(0);
    options.runtime_thread = false;
    assert_works(acu_sync(t->device, acu_zeros(ACU_I32, ACU_SHAPE(1)), &x));
    while (!atomic_load(&stop)) {
        acu_future *future = NULL;
        acu_device *again = NULL;
        acu_stream *stream = NULL;
        assert_works(acu_open(&options, &again));
        assert_works(acu_submit(again, acu_dup(x), NULL, &future));
        assert_works(acu_future_wait(future, LIMIT));
        acu_future_release(future);
        assert_works(acu_stream_create(again, 0, &stream));
        acu_stream_release(stream);
        acu_process_statistics counters = {.size = sizeof counters};
        acu_process_stats(&counters);
        assert_works(acu_close(again));
    }
    acu_tensor_release(x);
    return NULL;
}

/* The same for a lock that is held too shortly to be met in there. */
static void *ask_only(void *context)
{
    while (!atomic_load(&stop))
        (void)acu_vendor_version(ACU_VENDOR_CUBLAS);
    return context;
}

static void children_get_errors(bool runtime_thread)
{
    things t = make(runtime_thread);
    pthread_t threads[THREADS];
    assert_works(acu_submit(t.device, count_op(&t), NULL, &t.future));
    if (!TEST_HEAP_FORKS)
        assert_works(acu_device_wait(t.device, LIMIT));
    fork_one(&t); /* otherwise perhaps before that is over */
    assert_works(acu_future_wait(t.future, LIMIT));
    atomic_store(&stop, false);
    for (int i = 0; i < THREADS && TEST_HEAP_FORKS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, i ? work : ask_only, &t), 0);
    for (int i = 0; i < FORKS; i++) {
        fork_one(&t);
        sched_yield();
    }
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS && TEST_HEAP_FORKS; i++)
        pthread_join(threads[i], NULL);
    acu_device *device = t.device;
    assert_works(acu_submit(NULL, count_op(&t), NULL, NULL));
    int32_t value = 0;
    assert_works(acu_read_sync(t.tensor, &value, sizeof value));
    assert_int_equal(value, 2);
    release(&t);
    test_close(device);
    test_leaks_none();
}

static void children_get_errors_from_everything(void **state)
{
    (void)state;
    children_get_errors(false);
}

static void children_of_handing_over_too(void **state)
{
    (void)state;
    children_get_errors(true);
}

/* Work is in flight for certain, and its stream held up. */
static void work_in_flight_stays_the_parents(void **state)
{
    (void)state;
    things t = make(false);
    acu_submit_options options = {.size = sizeof options, .stream = t.stream};
    test_gate_close(t.device, acu_stream_raw(t.stream));
    assert_works(acu_submit(t.device, count_op(&t), &options, &t.future));
    fork_one(&t);
    assert_int_equal(acu_future_poll(t.future), ACU_NOT_READY);
    test_gate_open();
    assert_works(acu_future_wait(t.future, LIMIT));
    acu_device *device = t.device;
    release(&t);
    test_close(device);
    test_leaks_none();
}

/* A child of a process that has not opened a driver, in which an open has failed. */
static void case_before(void **state)
{
    (void)state;
    acu_driver_options wrong = {.size = sizeof wrong, .request = "/nowhere/libcuda.so.1"};
    assert_int_not_equal(acu_driver_open(&wrong, NULL), ACU_OK);
    int status = -1;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        acu_open_options options = test_options(0);
        acu_device *device = NULL;
        acu_tensor *x = NULL;
        bool works = acu_open(&options, &device) == ACU_OK &&
                     acu_sync(device, acu_zeros(ACU_I32, ACU_SHAPE(1)), &x) == ACU_OK;
        acu_tensor_release(x);
        works = works && acu_close(device) == ACU_OK;
        _exit(works ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        exit(77); /* there is no device */
    assert_int_equal(status, 0);
}

static void a_child_made_before_the_first_open_works(void **state)
{
    (void)state;
    test_in_process("before");
}

int main(int count, char **arguments)
{
    static const test_case cases[] = {{"before", case_before}};
    if (count > 1)
        return test_run_case(cases, 1, arguments[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_made_before_the_first_open_works),
        cmocka_unit_test(children_get_errors_from_everything),
        cmocka_unit_test(children_of_handing_over_too),
        cmocka_unit_test(work_in_flight_stays_the_parents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
