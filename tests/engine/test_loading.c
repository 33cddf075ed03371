/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Kernels that are launched before their module is loaded. */
#include "support/loads.h"
#include "support/one_device.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

extern const char test_loading_ptx[];

enum { N = 100 };

/* ---- around each test ---- */

static int setup(void **state)
{
    device_setup(state);
    test_loads_hold(device);
    return 0;
}

static int teardown(void **state)
{
    test_loads_go();
    return device_teardown(state);
}

static acu_module *begin(const char *name, const char *ptx, acu_future **future)
{
    acu_module_source source = {.size = sizeof source, .name = name, .ptx = ptx};
    acu_future *f = NULL;
    acu_module *module = NULL;
    assert_works(acu_module_load_async(device, &source, &f));
    assert_works(acu_future_module(f, &module));
    if (future)
        *future = f;
    else
        acu_future_release(f);
    return module;
}

/* A kernel of a module that is being loaded; the module goes with the kernel. */
static acu_kernel *kernel_of(const char *ptx, const char *name)
{
    acu_module *module = begin(NULL, ptx, NULL);
    acu_kernel *kernel = NULL;
    assert_works(acu_kernel_get(module, name, &kernel));
    acu_module_release(module);
    return kernel;
}

static acu_op *set_op(acu_kernel *set, int value)
{
    return acu_first(acu_launch(set, acu_for_num_elems(N),
                                acu_out(acu_empty(ACU_I32, ACU_SHAPE(N))), acu_i32(value),
                                acu_u32(N)));
}

static acu_future *submit(acu_op *op)
{
    acu_future *future = NULL;
    assert_works(acu_submit(device, op, NULL, &future));
    return future;
}

static void assert_holds(acu_future *future, int value)
{
    int32_t got[N];
    acu_tensor *t = acu_future_tensor(future, 0);
    assert_non_null(t);
    assert_works(acu_read_sync(t, got, sizeof got));
    for (int i = 0; i < N; i++)
        assert_int_equal(got[i], value);
}

/* ---- going well ---- */

static void a_launch_waits_for_its_module(void **state)
{
    (void)state;
    acu_future *load = NULL;
    acu_module *module = begin(NULL, test_loading_ptx, &load);
    acu_kernel *set = NULL;
    assert_works(acu_kernel_get(module, "set", &set));
    assert_int_equal(acu_module_poll(module), ACU_NOT_READY);
    assert_int_equal(acu_kernel_poll(set), ACU_NOT_READY);
    assert_int_equal(acu_module_wait(module, 0), ACU_TIMEOUT);
    assert_int_equal(acu_kernel_wait(set, 1000), ACU_TIMEOUT);
    assert_null(acu_kernel_info_of(set));
    assert_null(acu_kernel_raw(set));
    assert_int_equal(acu_kernel_param_bytes(set, 0), 0);
    acu_future *first = submit(set_op(set, 7)),
               *copy = submit(acu_dup(acu_future_tensor(first, 0)));
    assert_int_equal(acu_future_poll(first), ACU_NOT_READY);
    assert_int_equal(acu_future_wait(copy, ACU_MS(1)), ACU_TIMEOUT);
    test_loads_go();
    assert_works(acu_future_wait(copy, ACU_FOREVER));
    assert_holds(first, 7);
    assert_holds(copy, 7);
    assert_works(acu_future_wait(load, ACU_FOREVER));
    assert_works(acu_module_wait(module, ACU_FOREVER));
    assert_works(acu_kernel_wait(set, ACU_FOREVER));
    assert_int_equal(acu_kernel_info_of(set)->param_count, 3);
    acu_future_release(first);
    acu_future_release(copy);
    acu_future_release(load);
    acu_kernel_release(set);
    acu_module_release(module);
}

static void all_is_dropped(void **state)
{
    (void)state;
    acu_kernel *set = kernel_of(test_loading_ptx, "set");
    acu_future_release(submit(set_op(set, 1)));
    acu_kernel_release(set);
    acu_kernel_release(kernel_of(test_loading_ptx, "set")); /* nothing of it is used */
    acu_op_release(set_op(set = kernel_of(test_loading_ptx, "set"), 1));
    acu_kernel_release(set);
}

static void found_by_name_meanwhile(void **state)
{
    (void)state;
    acu_module *module = begin("mine", test_loading_ptx, NULL), *other = NULL;
    acu_future *future = NULL;
    acu_module_source again = {.size = sizeof again, .name = "mine", .ptx = test_loading_ptx};
    acu_kernel *set = NULL;
    assert_fails(acu_module_load_async(device, &again, &future), ACU_ERR_BUSY, "mine");
    assert_fails(acu_module_load(device, ACU_PTX("mine", test_loading_ptx), &other), ACU_ERR_BUSY,
                 "mine");
    assert_works(acu_kernel_find(device, "mine", "set", &set));
    acu_module_release(module);
    future = submit(set_op(set, 3));
    acu_kernel_release(set);
    test_loads_go();
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_holds(future, 3);
    acu_future_release(future);
}

/* The kernel is part of a form, and is not known at first. */
static void graphs_are_made_of_them(void **state)
{
    (void)state;
    acu_kernel *set = kernel_of(test_loading_ptx, "set"), *other;
    acu_submit_options warm = {.size = sizeof warm, .warm = true, .explain = true};
    acu_future *future = NULL;
    acu_tensor *t = NULL;
    char text[4096];
    assert_works(acu_tensor_alloc(device, ACU_I32, ACU_SHAPE(N), &t));
    for (int i = 0; i < 8; i++) {
        acu_op *op = acu_launch(set, acu_for_num_elems(N), acu_out(t), acu_i32(i), acu_u32(N));
        op = acu_launch(set, acu_for_num_elems(N), acu_out(acu_first(op)), acu_i32(i + 1),
                        acu_u32(N));
        assert_works(acu_submit(device, op, &warm, &future));
        if (i == 0)
            test_loads_go();
        assert_works(acu_future_wait(future, ACU_FOREVER));
        assert_holds(future, i + 1);
        assert_works(acu_explain(future, ACU_EXPLAIN_TEXT, text, sizeof text, NULL));
        assert_true(!strstr(text, "the loading of kernel set, needs it") == (i > 0));
        if (i == 0) {
            assert_non_null(strstr(text, "held back on the host until that is over"));
            assert_works(acu_explain(future, ACU_EXPLAIN_DOT, text, sizeof text, NULL));
            assert_non_null(strstr(text, "loading kernel set"));
        }
        assert_works(acu_graph_cache_wait(device));
        acu_future_release(future);
    }
    assert_non_null(strstr(text, "an executable graph"));
    other = kernel_of(test_loading_ptx, "set");
    future = submit(set_op(other, 5));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_holds(future, 5);
    acu_future_release(future);
    acu_kernel_release(other);
    acu_tensor_release(t);
    acu_kernel_release(set);
}

static void *open_soon(void *unused)
{
    (void)unused;
    sched_yield();
    test_loads_go();
    return NULL;
}

/* How much room the parameters have for a list is known only once the kernel is loaded: a graph
 * that was made from an earlier launch has another layout. */
static void graphs_of_lists_are_told_apart(void **state)
{
    (void)state;
    acu_kernel *set = kernel_of(test_loading_ptx, "set");
    acu_kernel *sum = kernel_of(test_loading_ptx, "sum");
    acu_submit_options options = {.size = sizeof options, .warm = true};
    acu_future *five = submit(set_op(set, 5)), *future = NULL;
    acu_tensor *x = acu_future_tensor(five, 0), *list[] = {x, x};
    acu_config config = {.grid = {1}, .block = {N}};
    for (int turn = 1; turn <= 3; turn++) {
        acu_op *op = acu_launch(sum, config, acu_in_list(list, 2),
                                acu_out(acu_empty(ACU_I32, ACU_SHAPE(N))), acu_i32(turn));
        assert_works(acu_submit(device, acu_nth(op, 1), &options, &future));
        test_loads_go();
        assert_works(acu_future_wait(future, ACU_FOREVER));
        assert_holds(future, 10 + turn);
        acu_future_release(future);
        assert_works(acu_graph_cache_wait(device));
    }
    acu_tensor_release(x);
    acu_future_release(five);
    acu_kernel_release(sum);
    acu_kernel_release(set);
}

static void explicit_graphs_wait(void **state)
{
    (void)state;
    acu_kernel *set = kernel_of(test_loading_ptx, "set");
    acu_graph *graph = NULL;
    pthread_t thread;
    pthread_create(&thread, NULL, open_soon, NULL);
    assert_works(acu_graph_load(device, set_op(set, 9), NULL, &graph));
    pthread_join(thread, NULL);
    acu_future *future = submit(acu_replay(graph));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_holds(future, 9);
    acu_future_release(future);
    acu_graph_release(graph);
    acu_kernel_release(set);
}

static acu_status fail_load(const char *ptx, const char *name, acu_status want, const char *words)
{
    acu_kernel *kernel = kernel_of(ptx, name);
    acu_future *future = submit(set_op(kernel, 1));
    acu_future *reader = submit(acu_dup(acu_future_tensor(future, 0)));
    test_loads_go();
    assert_fails(acu_future_wait(future, ACU_FOREVER), want, words);
    assert_fails(acu_future_wait(reader, ACU_FOREVER), ACU_ERR_DEPENDENCY, words);
    assert_fails(acu_kernel_poll(kernel), want, words);
    acu_op *later = set_op(kernel, 1);
    acu_future *none = NULL;
    assert_fails(acu_submit(device, later, NULL, &none), want, words);
    acu_future_release(future);
    acu_future_release(reader);
    acu_kernel_release(kernel);
    return want;
}

/* ---- going wrong ---- */

static void a_failed_load_fails_its_launches(void **state)
{
    (void)state;
    fail_load(".version 6.3\n.target sm_75\n.address_size 64\nnonsense;\n", "set", ACU_ERR_PTX,
              "nonsense");
}

static void a_missing_kernel_is_named(void **state)
{
    (void)state;
    fail_load(test_loading_ptx, "sit", ACU_ERR_NOT_FOUND, "sit|narrow|set");
}

static void a_failing_driver(void **state)
{
    (void)state;
    acu_driver_fault fault = {.size = sizeof fault, .call = ACU_CALL_ModuleLoadDataEx,
                              .result = ACU_CUDA_ERROR_OUT_OF_MEMORY};
    assert_works(acu_driver_fail(&fault));
    fail_load(test_loading_ptx, "set", ACU_ERR_DEVICE_MEMORY, "");
}

static void the_name_is_free_after_a_failure(void **state)
{
    (void)state;
    acu_module *bad = begin("mine", "nonsense", NULL), *good;
    test_loads_go();
    assert_fails(acu_module_wait(bad, ACU_FOREVER), ACU_ERR_PTX, "mine");
    good = begin("mine", test_loading_ptx, NULL);
    assert_works(acu_module_wait(good, ACU_FOREVER));
    acu_module_release(bad);
    acu_module_release(good);
}

/* What only the loaded kernel can tell is checked once it is loaded, with the same messages as for
 * other launches. */
static void late_checks(void **state)
{
    (void)state;
    acu_kernel *set = kernel_of(test_loading_ptx, "set");
    acu_kernel *narrow = kernel_of(test_loading_ptx, "narrow");
    acu_op *few = acu_launch(set, acu_for_num_elems(N),
                             acu_out(acu_empty(ACU_I32, ACU_SHAPE(N))));
    acu_op *wide = acu_launch(narrow, ACU_GRID_BLOCK(1, 1, 1, 65, 1, 1),
                              acu_out(acu_empty(ACU_I32, ACU_SHAPE(65))));
    acu_op *size = acu_launch(set, acu_for_num_elems(N), acu_out(acu_empty(ACU_I32, ACU_SHAPE(N))),
                              acu_f64(1), acu_u32(N));
    acu_op *own = acu_launch(narrow, ACU_GRID_BLOCK(1, 1, 1, 0, 0, 0),
                             acu_out(acu_empty(ACU_I32, ACU_SHAPE(64))));
    acu_future *f[] = {submit(few), submit(wide), submit(size), submit(own)};
    test_loads_go();
    assert_fails(acu_future_wait(f[0], ACU_FOREVER), ACU_ERR_ARGUMENTS, "set takes 3|got 1");
    assert_fails(acu_future_wait(f[1], ACU_FOREVER), ACU_ERR_LIMIT, "narrow|65 threads|allows 64");
    assert_fails(acu_future_wait(f[2], ACU_FOREVER), ACU_ERR_ARGUMENTS,
                 "argument 1 of set|scalar of f64|8 bytes|has 4");
    assert_works(acu_future_wait(f[3], ACU_FOREVER)); /* its block is as large as the kernel
                                                       * allows */
    acu_error error;
    assert_int_equal(acu_future_error(f[0], &error), ACU_ERR_ARGUMENTS);
    assert_non_null(strstr(error.file, "test_loading.c"));
    for (int i = 0; i < 4; i++)
        acu_future_release(f[i]);
    acu_kernel_release(set);
    acu_kernel_release(narrow);
}

/* What the device or a declaration can tell is checked at once. */
static void early_checks(void **state)
{
    (void)state;
    acu_kernel *set = kernel_of(test_loading_ptx, "set");
    acu_future *none = NULL;
    assert_fails(acu_kernel_declare(set, "out f99"), ACU_ERR_INVALID, "f99");
    assert_works(acu_kernel_declare(set, "out i32, i32, u32"));
    acu_op *few = acu_launch(set, acu_for_num_elems(N), acu_out(acu_empty(ACU_I32, ACU_SHAPE(N))));
    assert_fails(acu_submit(device, few, NULL, &none), ACU_ERR_ARGUMENTS, "set takes 3|got 1");
    acu_op *other = acu_launch(set, acu_for_num_elems(N),
                               acu_out(acu_empty(ACU_F32, ACU_SHAPE(N))), acu_i32(1), acu_u32(N));
    assert_fails(acu_submit(device, other, NULL, &none), ACU_ERR_DTYPE, "argument 0 of set|i32");
    acu_op *wide = acu_launch(set, ACU_GRID_BLOCK(1, 1, 1, 64, 64, 1),
                              acu_out(acu_empty(ACU_I32, ACU_SHAPE(N))), acu_i32(1), acu_u32(N));
    assert_fails(acu_submit(device, wide, NULL, &none), ACU_ERR_LIMIT, "4096 threads");
    acu_future *future = submit(set_op(set, 4));
    test_loads_go();
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_holds(future, 4);
    acu_future_release(future);
    acu_kernel_release(set);
}

static void declared_wrongly(void **state)
{
    (void)state;
    acu_kernel *few = kernel_of(test_loading_ptx, "set"),
               *size = kernel_of(test_loading_ptx, "set");
    assert_works(acu_kernel_declare(few, "out i32"));
    assert_works(acu_kernel_declare(size, "out i32, f64, u32"));
    acu_future *future = submit(acu_launch(few, acu_for_num_elems(N),
                                           acu_out(acu_empty(ACU_I32, ACU_SHAPE(N)))));
    test_loads_go();
    assert_fails(acu_kernel_wait(few, ACU_FOREVER), ACU_ERR_ARGUMENTS, "set has 3|out i32");
    assert_fails(acu_kernel_wait(size, ACU_FOREVER), ACU_ERR_ARGUMENTS, "parameter 1|f64|8 bytes");
    assert_fails(acu_future_wait(future, ACU_FOREVER), ACU_ERR_ARGUMENTS, "set has 3");
    acu_future_release(future);
    acu_kernel_release(few);
    acu_kernel_release(size);
}

static void an_alternative_stands_in(void **state)
{
    (void)state;
    acu_kernel *bad = kernel_of(test_loading_ptx, "sit"),
               *good = kernel_of(test_loading_ptx, "set");
    acu_tensor *t = NULL;
    int32_t got[N];
    assert_works(acu_tensor_alloc(device, ACU_I32, ACU_SHAPE(N), &t));
    acu_op *x = acu_launch(bad, acu_for_num_elems(N), acu_out(t), acu_i32(1), acu_u32(N));
    acu_op *other = acu_launch(good, acu_for_num_elems(N), acu_out(t), acu_i32(2), acu_u32(N));
    acu_future *future = submit(acu_or_else(acu_first(x), acu_first(other)));
    test_loads_go();
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_works(acu_read_sync(t, got, sizeof got));
    assert_int_equal(got[N - 1], 2);
    acu_future_release(future);
    acu_tensor_release(t);
    acu_kernel_release(bad);
    acu_kernel_release(good);
}

/* ---- giving up ---- */

static void given_up_meanwhile(void **state)
{
    (void)state;
    acu_kernel *set = kernel_of(test_loading_ptx, "set");
    acu_submit_options soon = {.size = sizeof soon, .timeout = 1};
    acu_future *cancelled = submit(set_op(set, 1)), *late = NULL, *well = submit(set_op(set, 2));
    acu_future *reader = submit(acu_dup(acu_future_tensor(cancelled, 0)));
    assert_works(acu_submit(device, set_op(set, 1), &soon, &late));
    assert_works(acu_future_cancel(cancelled));
    assert_fails(acu_future_poll(cancelled), ACU_ERR_CANCELLED, "");
    /* It is not loaded yet. */
    assert_fails(acu_future_wait(late, ACU_FOREVER), ACU_ERR_DEADLINE, "");
    assert_int_equal(acu_future_poll(reader), ACU_NOT_READY);
    test_loads_go();
    assert_works(acu_future_wait(well, ACU_FOREVER));
    assert_holds(well, 2);
    assert_fails(acu_future_wait(reader, ACU_FOREVER), ACU_ERR_DEPENDENCY, "");
    acu_future_release(cancelled);
    acu_future_release(late);
    acu_future_release(well);
    acu_future_release(reader);
    acu_kernel_release(set);
}

static void a_load_is_given_up(void **state)
{
    (void)state;
    acu_future *load = NULL;
    acu_module *module = begin(NULL, test_loading_ptx, &load);
    acu_kernel *set = NULL;
    assert_works(acu_kernel_get(module, "set", &set));
    acu_future *future = submit(set_op(set, 1));
    assert_works(acu_future_cancel(load));
    test_loads_go();
    assert_fails(acu_future_wait(future, ACU_FOREVER), ACU_ERR_CANCELLED,
                 "given up before it began");
    assert_fails(acu_module_poll(module), ACU_ERR_CANCELLED, "");
    acu_future_release(future);
    acu_future_release(load);
    acu_kernel_release(set);
    acu_module_release(module);
}

typedef struct loading {
    acu_status status;
    sem_t over;
} loading;

static acu_status load_here(void *user, const acu_val *values, size_t count)
{
    loading *l = user;
    acu_module *module = NULL;
    (void)values, (void)count;
    l->status = acu_module_load(device, ACU_PTX(NULL, test_loading_ptx), &module);
    acu_module_release(module);
    sem_post(&l->over);
    return ACU_OK;
}

static void load_at_the_end(void *user, acu_future *future, acu_status status)
{
    (void)future, (void)status;
    load_here(user, NULL, 0);
}

static acu_op *load_and_make(void *user, acu_device *made_for)
{
    (void)made_for;
    load_here(user, NULL, 0);
    return acu_full(ACU_SHAPE(N), acu_i32(1));
}

static void no_more_than_1024_wait(void **state)
{
    (void)state;
    enum { MOST = 1024 };
    acu_module_source source = {.size = sizeof source, .ptx = test_loading_ptx};
    acu_future *futures[MOST], *more = NULL;
    /* What keeps the threads busy may count among those that wait until they have taken it. */
    for (size_t i = 0; i < MOST;) {
        acu_status status = acu_module_load_async(device, &source, &futures[i]);
        assert_true(status == ACU_OK || status == ACU_ERR_FULL);
        i += status == ACU_OK;
    }
    assert_fails(acu_module_load_async(device, &source, &more), ACU_ERR_FULL, "1024");
    for (size_t i = 0; i < MOST; i++) {
        assert_works(acu_future_cancel(futures[i]));
        acu_future_release(futures[i]);
    }
}

/* Functions that acuda calls may load modules: that needs no thread of acuda. */
static void a_callback_loads(void **state)
{
    (void)state;
    loading l = {.status = ACU_NOT_READY};
    sem_init(&l.over, 0, 0);
    acu_future *made = submit(acu_make(load_and_make, &l));
    sem_wait(&l.over);
    assert_works(l.status);
    l.status = ACU_NOT_READY;
    assert_works(acu_future_when_complete(made, NULL, 0, load_at_the_end, ACU_USER(&l)));
    sem_wait(&l.over);
    assert_works(l.status);
    l.status = ACU_NOT_READY;
    acu_future *host = submit(acu_host(load_here, &l, acu_u32(0)));
    sem_wait(&l.over);
    assert_works(l.status);
    acu_future_release(made);
    acu_future_release(host);
    sem_destroy(&l.over);
}

/* Driver objects that go with a context stay counted, so these tests are processes of their own. */
static void lost(void **state)
{
    (void)state;
    device = test_open();
    test_loads_hold(device);
    acu_kernel *set = kernel_of(test_loading_ptx, "set");
    acu_future *future = submit(set_op(set, 1));
    acu_driver_fault fault = {.size = sizeof fault, .call = ACU_CALL_ModuleLoadDataEx,
                              .result = ACU_CUDA_ERROR_ILLEGAL_ADDRESS};
    assert_works(acu_driver_fail(&fault));
    test_loads_go();
    assert_fails(acu_future_wait(future, ACU_FOREVER), ACU_ERR_DEVICE_LOST, "");
    acu_future_release(future);
    acu_kernel_release(set);
    test_close(device);
    assert_int_equal(acu_debug_live(ACU_OBJECT_MODULE) + acu_debug_live(ACU_OBJECT_DEVICE), 0);
}

static void reset(void **state)
{
    (void)state;
    acu_reset_options options = {.size = sizeof options,
                                 .nothing_else_in_this_process_uses_the_device = true};
    device = test_open();
    test_loads_hold(device);
    acu_kernel *set = kernel_of(test_loading_ptx, "set");
    acu_future *future = submit(set_op(set, 1)), *none = NULL;
    acu_device *fresh = NULL;
    pthread_t thread;
    pthread_create(&thread, NULL, open_soon, NULL);
    assert_works(acu_device_reset(device, &options, &fresh));
    pthread_join(thread, NULL);
    assert_int_equal(acu_future_wait(future, 0), acu_future_poll(future)); /* it is over */
    assert_fails(acu_submit(NULL, set_op(set, 1), NULL, &none), ACU_ERR_STALE, "");
    acu_future_release(future);
    acu_kernel_release(set);
    test_close(fresh);
    test_close(device);
    assert_int_equal(acu_debug_live(ACU_OBJECT_MODULE) + acu_debug_live(ACU_OBJECT_DEVICE), 0);
}

static void a_device_is_lost_meanwhile(void **state)
{
    (void)state;
    test_in_process("lost");
}

static void a_device_is_reset_meanwhile(void **state)
{
    (void)state;
    test_in_process("reset");
}

static void close_waits_for_loads(void **state)
{
    (void)state;
    acu_kernel *set = kernel_of(test_loading_ptx, "set");
    acu_future *future = submit(set_op(set, 6));
    pthread_t thread;
    assert_int_equal(acu_device_wait(device, ACU_MS(1)), ACU_TIMEOUT);
    pthread_create(&thread, NULL, open_soon, NULL);
    test_close(device);
    pthread_join(thread, NULL);
    assert_works(acu_future_poll(future));
    acu_future_release(future);
    acu_kernel_release(set);
    test_leaks_none();
    device = test_open();
}

static void a_child_does_nothing(void **state)
{
    (void)state;
    acu_kernel *set = kernel_of(test_loading_ptx, "set");
    acu_future *future = submit(set_op(set, 8));
    pid_t child = fork();
    if (child == 0) {
        bool right = acu_kernel_poll(set) == ACU_ERR_FORKED &&
                     acu_kernel_wait(set, ACU_FOREVER) == ACU_ERR_FORKED &&
                     acu_future_wait(future, ACU_FOREVER) == ACU_ERR_FORKED;
        acu_kernel_release(set);
        _exit(right ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    test_loads_go();
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_holds(future, 8);
    acu_future_release(future);
    acu_kernel_release(set);
}

/* ---- many ---- */

enum { ROUNDS = 20 };

static void *load_and_launch(void *seed)
{
    for (int i = 0; i < ROUNDS; i++) {
        acu_kernel *set = kernel_of(test_loading_ptx, "set");
        acu_future *future = submit(set_op(set, i));
        acu_kernel_release(set);
        if ((i + (int)(intptr_t)seed) % 3 == 0)
            acu_future_cancel(future);
        else
            assert_works(acu_future_wait(future, ACU_FOREVER));
        acu_future_release(future);
    }
    return NULL;
}

static void threads_load_and_launch(void **state)
{
    (void)state;
    test_loads_go();
    pthread_t threads[3];
    for (intptr_t i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, load_and_launch, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

static void on_a_runtime_thread(void **state)
{
    (void)state;
    test_loads_go();
    test_close(device);
    acu_open_options options = test_options(0);
    options.runtime_thread = true;
    assert_works(acu_open(&options, &device));
    test_loads_hold(device);
    acu_kernel *set = kernel_of(test_loading_ptx, "set"),
               *none = kernel_of(test_loading_ptx, "sit");
    acu_future *future = submit(set_op(set, 5)), *bad = submit(set_op(none, 5));
    acu_future *copy = submit(acu_dup(acu_future_tensor(future, 0)));
    test_loads_go();
    assert_works(acu_future_wait(copy, ACU_FOREVER));
    assert_holds(copy, 5);
    assert_fails(acu_future_wait(bad, ACU_FOREVER), ACU_ERR_NOT_FOUND, "sit");
    acu_future_release(future);
    acu_future_release(copy);
    acu_future_release(bad);
    acu_kernel_release(set);
    acu_kernel_release(none);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(int argc, char **argv)
{
    static const test_case cases[] = {{"lost", lost}, {"reset", reset}};
    if (argc > 1)
        return test_run_case(cases, sizeof cases / sizeof *cases, argv[1]);
    const struct CMUnitTest tests[] = {
        TEST(a_launch_waits_for_its_module),
        TEST(all_is_dropped),
        TEST(found_by_name_meanwhile),
        TEST(graphs_are_made_of_them),
        TEST(graphs_of_lists_are_told_apart),
        TEST(explicit_graphs_wait),
        TEST(a_failed_load_fails_its_launches),
        TEST(a_missing_kernel_is_named),
        TEST(a_failing_driver),
        TEST(the_name_is_free_after_a_failure),
        TEST(late_checks),
        TEST(early_checks),
        TEST(declared_wrongly),
        TEST(an_alternative_stands_in),
        TEST(given_up_meanwhile),
        TEST(a_load_is_given_up),
        TEST(no_more_than_1024_wait),
        TEST(a_callback_loads),
        cmocka_unit_test(a_device_is_lost_meanwhile),
        cmocka_unit_test(a_device_is_reset_meanwhile),
        TEST(close_waits_for_loads),
        TEST(a_child_does_nothing),
        TEST(threads_load_and_launch),
        TEST(on_a_runtime_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
