/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Shared helpers of the tests. */
#include "support/support.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- devices --------------------------------------------------------------------------------- */

bool test_on_gpu(void)
{
    const char *device = getenv("ACUDA_TEST_DEVICE");
    if (!device || !*device || strcmp(device, "software") == 0)
        return false;
    if (strcmp(device, "gpu") == 0)
        return true;
    fail_msg("ACUDA_TEST_DEVICE=%s: say software or gpu", device);
    return false;
}

/* Keeps the GPU's context until the program ends: a GPU makes one in 0.2 s, eight processes at once
 * wait for each other there, and most tests open a device of their own. By the driver itself, so
 * that acuda does not count it. */
static void keep_context(int ordinal)
{
    static bool kept[16];
    int (*init)(unsigned flags), (*get)(int *device, int ordinal), (*retain)(void **, int device);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *context;
    int device;
    if (!driver || ordinal < 0 || ordinal >= 16 || kept[ordinal])
        return;
    kept[ordinal] = true;
    *(void **)&init = dlsym(driver, "cuInit");
    *(void **)&get = dlsym(driver, "cuDeviceGet");
    *(void **)&retain = dlsym(driver, "cuDevicePrimaryCtxRetain");
    if (init && get && retain && init(0) == 0 && get(&device, ordinal) == 0)
        retain(&context, device);
}

acu_open_options test_options(int ordinal)
{
    if (!ACUDA_WITH_SOFTCUDA && !test_on_gpu())
        exit(77); /* the rest is skipped: this build is for GPUs only */
    if (!test_on_gpu()) {
        setenv("SOFTCUDA_DEVICES", "4", 0);
        setenv("SOFTCUDA_RACES", "1", 0);
    } else {
        keep_context(ordinal);
    }
    static const acu_driver_options gpu = {.size = sizeof gpu, .request = "gpu"};
    static const acu_driver_options software = {.size = sizeof software, .request = "software"};
    return (acu_open_options){.size = sizeof(acu_open_options),
                              .ordinal = ordinal,
                              .driver = test_on_gpu() ? &gpu : &software};
}

acu_device *test_open(void)
{
    acu_open_options options = test_options(0);
    acu_device *device = NULL;
    assert_works(acu_open(&options, &device));
    return device;
}

void test_open_n(acu_device **devices, int count)
{
    acu_open_options options = test_options(0);
    int have = 0;
    assert_works(acu_device_count_load(&options, &have));
    if (have < count)
        skip();
    for (int i = 0; i < count; i++) {
        options.ordinal = i;
        assert_works(acu_open(&options, &devices[i]));
    }
}

void test_close(acu_device *device)
{
    /* A test that failed may have left work behind them. */
    test_gate_open();
    test_host_gate_open();
    assert_works(acu_close(device));
}

void test_leaks_none(void)
{
    char text[1024];
    if (acu_debug_live_report(text, sizeof text))
        fail_msg("handles are left:\n%s", text);
    if (acu_driver_live_report(text, sizeof text))
        fail_msg("driver objects are left:\n%s", text);
    if (acu_debug_live_blocks())
        fail_msg("%zu blocks of memory are left", acu_debug_live_blocks());
    acu_process_statistics c = {.size = sizeof c};
    acu_process_stats(&c);
    if (c.submissions != c.submissions_done || c.operations != c.operations_done)
        fail_msg("of %zu submissions %zu ended, of %zu operations %zu", (size_t)c.submissions,
                 (size_t)c.submissions_done, (size_t)c.operations, (size_t)c.operations_done);
}

static uint64_t at_least_one(const char *variable)
{
    const char *text = getenv(variable);
    return text && atoi(text) > 1 ? (uint64_t)atoi(text) : 1;
}

uint64_t test_thin(void)
{
    return at_least_one("ACUDA_TEST_THIN");
}

uint64_t test_times(void)
{
    return at_least_one("ACUDA_TEST_TIMES");
}

void test_software_only(void)
{
    if (test_on_gpu())
        skip();
}

static bool share_raw(const acu_driver_table *cu, const acu_device *device)
{
    acu_CUmemAllocationProp prop = {
        .type = ACU_CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = ACU_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {.type = ACU_CU_MEM_LOCATION_TYPE_DEVICE,
                     .id = acu_device_info_of(device)->ordinal}};
    CUmemGenericAllocationHandle memory = 0, again = 0;
    size_t step = 0;
    int fd = -1;
    if (cu->MemGetAllocationGranularity(&step, &prop, 0) || cu->MemCreate(&memory, step, &prop, 0))
        return false;
    unsigned result = cu->MemExportToShareableHandle(
        &fd, memory, ACU_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    if (!result) {
        result = cu->MemImportFromShareableHandle(&again, (void *)(intptr_t)fd,
                                                  ACU_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
        close(fd);
    }
    if (!result)
        cu->MemRelease(again);
    cu->MemRelease(memory);
    return !result;
}

bool test_can_share(acu_device *device)
{
    test_enter(device);
    bool can = acu_driver_has(ACU_CALL_MemCreate) && share_raw(acu_driver(), device);
    test_leave(device);
    if (!can)
        print_message("memory can not be handed over as a descriptor on this machine\n");
    return can;
}

void test_fail_each_call(void (*before)(void), acu_op *(*make)(void))
{
    bool through = false;
    for (uint64_t n = 1; !through; n += test_thin()) {
        if (before)
            before();
        acu_device *device = test_open();
        acu_driver_fault fault = {.size = sizeof fault, .call = ACU_CALL_ANY, .nth = n};
        assert_works(acu_driver_fail(&fault));
        acu_status status = acu_sync(device, make(), NULL);
        through = acu_driver_fault_hits() == 0;
        acu_driver_fail_clear();
        if (status != ACU_OK && acu_status_scope(status) != ACU_SCOPE_OPERATION)
            fail_msg("call %llu: %s", (unsigned long long)n, acu_last_error()->message);
        test_close(device);
    }
}

void test_fail_each_alloc(acu_device *device, acu_op *(*make)(void))
{
    bool through = false;
    for (uint64_t n = 1; !through; n += test_thin()) {
        acu_future *future = NULL;
        acu_debug_fail_alloc(n, false);
        acu_status status = acu_submit(device, make(), NULL, &future);
        if (status == ACU_OK)
            status = acu_future_wait(future, ACU_FOREVER);
        acu_future_release(future);
        through = acu_debug_alloc_count() < n;
        acu_debug_fail_alloc(0, false);
        if (status != ACU_OK)
            assert_int_equal(status, ACU_ERR_NO_MEMORY);
    }
}

acu_future *test_submit(acu_device *device, acu_op *op)
{
    acu_future *future = NULL;
    assert_works(acu_submit(device, op, NULL, &future));
    return future;
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void describe(char *text, size_t bytes)
{
    acu_error_describe(acu_last_error(), text, bytes);
}

void test_fails(acu_status status, acu_status want, const char *words, const char *file, int line)
{
    char text[1024];
    describe(text, sizeof text);
    if (status != want) {
        print_error("%s:%d: got %s, wanted %s; the record: %s\n", file, line,
                    acu_status_name(status), acu_status_name(want), text);
        _fail(file, line);
    }
    if (acu_last_error()->status != want) {
        print_error("%s:%d: the record is of %s: %s\n", file, line,
                    acu_status_name(acu_last_error()->status), text);
        _fail(file, line);
    }
    char copy[512];
    snprintf(copy, sizeof copy, "%s", words);
    char *rest = copy;
    for (char *word; (word = strsep(&rest, "|"));)
        if (!strstr(text, word)) {
            print_error("%s:%d: \"%s\" is not in: %s\n", file, line, word, text);
            _fail(file, line);
        }
}

void test_works(acu_status status, const char *what, const char *file, int line)
{
    if (status == ACU_OK)
        return;
    char text[1024];
    describe(text, sizeof text);
    print_error("%s:%d: %s: %s: %s\n", file, line, what, acu_status_name(status), text);
    _fail(file, line);
}

/* ---- raw access ------------------------------------------------------------------------------ */

static void check(unsigned result, const char *what)
{
    if (result)
        fail_msg("%s: %s", what, acu_driver_result_name(result));
}

void test_enter(acu_device *device)
{
    check(acu_driver()->CtxPushCurrent(acu_device_context(device)), "cuCtxPushCurrent");
}

void test_leave(acu_device *device)
{
    CUcontext popped = NULL;
    check(acu_driver()->CtxPopCurrent(&popped), "cuCtxPopCurrent");
    assert_ptr_equal(popped, acu_device_context(device));
}

void test_put(acu_device *device, CUdeviceptr to, const void *from, size_t bytes)
{
    test_enter(device);
    check(acu_driver()->MemcpyHtoD(to, from, bytes), "cuMemcpyHtoD");
    test_leave(device);
}

void test_get(acu_device *device, void *to, CUdeviceptr from, size_t bytes)
{
    test_enter(device);
    check(acu_driver()->MemcpyDtoH(to, from, bytes), "cuMemcpyDtoH");
    test_leave(device);
}

void test_quiet(acu_device *device)
{
    test_enter(device);
    check(acu_driver()->CtxSynchronize(), "cuCtxSynchronize");
    test_leave(device);
}

acu_module *test_load_ptx(acu_device *device, const char *name, const char *ptx)
{
    acu_module *module = NULL;
    assert_works(acu_module_load(device, ACU_PTX(name, ptx), &module));
    return module;
}

acu_kernel *test_kernel(acu_device *device, const char *ptx, const char *name)
{
    acu_module *module = test_load_ptx(device, NULL, ptx);
    acu_kernel *kernel = NULL;
    assert_works(acu_kernel_get(module, name, &kernel));
    acu_module_release(module);
    return kernel;
}

/* ---- the gate -------------------------------------------------------------------------------- */

/* How many gates were closed so far, and how many of these, counted from the first, are open. A
 * thread at a gate that was opened gets through even if the next gate is closed before it wakes
 * up. */
static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_changed = PTHREAD_COND_INITIALIZER;
static uintptr_t gates_closed, gates_open;

static void wait_at_gate(void *gate)
{
    pthread_mutex_lock(&gate_lock);
    while (gates_open < (uintptr_t)gate)
        pthread_cond_wait(&gate_changed, &gate_lock);
    pthread_mutex_unlock(&gate_lock);
}

void test_gate_close(acu_device *device, CUstream stream)
{
    pthread_mutex_lock(&gate_lock);
    void *gate = (void *)++gates_closed; /* NOLINT: a number */
    pthread_mutex_unlock(&gate_lock);
    test_enter(device);
    check(acu_driver()->LaunchHostFunc(stream, wait_at_gate, gate), "cuLaunchHostFunc");
    test_leave(device);
}

void test_gate_open(void)
{
    pthread_mutex_lock(&gate_lock);
    gates_open = gates_closed;
    pthread_cond_broadcast(&gate_changed);
    pthread_mutex_unlock(&gate_lock);
}

/* Numbered likewise. */
static struct {
    uintptr_t closed, open;
    bool reached;
} host_gates;

acu_status test_pass_host_gate(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    pthread_mutex_lock(&gate_lock);
    uintptr_t gate = host_gates.closed;
    host_gates.reached = true;
    pthread_cond_broadcast(&gate_changed);
    while (host_gates.open < gate)
        pthread_cond_wait(&gate_changed, &gate_lock);
    pthread_mutex_unlock(&gate_lock);
    return ACU_OK;
}

acu_op *test_plan_behind_host_gate(void *user, acu_val *values, size_t count)
{
    test_pass_host_gate(user, values, count);
    return acu_op_take(&values[0], ACU_SITE);
}

void test_host_gate_close(void)
{
    pthread_mutex_lock(&gate_lock);
    host_gates.closed++;
    host_gates.reached = false;
    pthread_mutex_unlock(&gate_lock);
}

void test_host_gate_await(void)
{
    pthread_mutex_lock(&gate_lock);
    while (!host_gates.reached)
        pthread_cond_wait(&gate_changed, &gate_lock);
    pthread_mutex_unlock(&gate_lock);
}

void test_host_gate_open(void)
{
    pthread_mutex_lock(&gate_lock);
    host_gates.open = host_gates.closed;
    pthread_cond_broadcast(&gate_changed);
    pthread_mutex_unlock(&gate_lock);
}

/* ---- processes ------------------------------------------------------------------------------- */

void test_in_process(const char *name)
{
    char *arguments[] = {"test", (char *)(uintptr_t)name, NULL};
    char self[PATH_MAX]; /* by its name: under valgrind the link itself is that of valgrind */
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    pid_t child;
    int status = -1;
    assert_true(n > 0);
    self[n] = '\0';
    assert_int_equal(posix_spawn(&child, self, NULL, NULL, arguments, environ), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("case %s: wait status %#x", name, (unsigned)status);
}

int test_run_case(const test_case *cases, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(cases[i].name, name) == 0) {
            const struct CMUnitTest one[] = {{name, cases[i].run, NULL, NULL, NULL}};
            return cmocka_run_group_tests(one, NULL, NULL);
        }
    print_error("no case %s\n", name);
    return 2;
}

bool test_threads_sleep(int pid)
{
    char path[300], state = 'S';
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    assert_non_null(tasks);
    for (struct dirent *task; state == 'S' && (task = readdir(tasks));) {
        if (task->d_name[0] == '.' || strtol(task->d_name, NULL, 10) == gettid())
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%s/stat", pid, task->d_name);
        FILE *file = fopen(path, "r");
        if (file && fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
            state = 'S'; /* it has just ended */
        if (file)
            fclose(file);
    }
    closedir(tasks);
    return state == 'S';
}

void test_threads_rest(void)
{
    for (int still = 0; still < 3;) {
        still = test_threads_sleep(getpid()) ? still + 1 : 0;
        sched_yield();
    }
}

static struct {
    acu_future_fn fn;
    void *user;
} last_call;

/* Until the close has come that far, this callback adds itself again, and does not wait, because
 * the close waits for the callbacks that it finds. */
static void call_last(void *user, acu_future *future, acu_status status)
{
    (void)user;
    if (acu_device_default()) {
        sched_yield();
        assert_works(acu_future_when_complete(future, NULL, 0, call_last, ACU_USER(NULL)));
        return;
    }
    test_threads_rest();
    last_call.fn(last_call.user, future, status);
}

void test_call_last(acu_future *future, acu_future_fn fn, void *user)
{
    last_call.fn = fn;
    last_call.user = user;
    assert_works(acu_future_when_complete(future, NULL, 0, call_last, ACU_USER(NULL)));
}

void test_before_fork(void)
{
    if (!TEST_HEAP_FORKS)
        test_threads_rest();
}

/* ---- numbers --------------------------------------------------------------------------------- */

uint64_t test_next(test_random *random)
{
    /* splitmix64 */
    uint64_t z = random->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

uint64_t test_below(test_random *random, uint64_t limit)
{
    return test_next(random) % limit;
}

/* ---- random programs ------------------------------------------------------------------------- */

uint64_t test_setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

void test_seed_failed(uint64_t seed, const char *format, ...)
{
    char what[1400];
    const char *order = getenv("SOFTCUDA_SEED");
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    fail_msg("ACUDA_RANDOM_SEED=%llu ACUDA_RANDOM_SEEDS=1%s%s: %s", (unsigned long long)seed,
             order ? " SOFTCUDA_SEED=" : "", order ? order : "", what);
}

bool test_is_plain(void)
{
    return !test_on_gpu() && !getenv("SOFTCUDA_SEED") && !getenv("SOFTCUDA_FAULTS");
}

void test_seeds_with(char *setting, int first, int count)
{
    char self[] = "/proc/self/exe", from[40], seeds[40];
    char *arguments[] = {self, NULL}, *environment[] = {setting, from, seeds, NULL};
    posix_spawn_file_actions_t quiet;
    pid_t child;
    int status = -1;
    snprintf(from, sizeof from, "ACUDA_RANDOM_SEED=%d", first);
    snprintf(seeds, sizeof seeds, "ACUDA_RANDOM_SEEDS=%d", count);
    posix_spawn_file_actions_init(&quiet); /* failures are printed on the other stream */
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    assert_int_equal(posix_spawn(&child, self, &quiet, NULL, arguments, environment), 0);
    posix_spawn_file_actions_destroy(&quiet);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("%s %s %s: wait status %#x", setting, from, seeds, (unsigned)status);
}
