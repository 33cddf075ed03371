/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Seeded runs: equal seeds give equal runs, other seeds other runs, and some seed finds a wait that
 * a program has forgotten. The programs are cases of this test too, each run in processes of their
 * own, under the seed that their environment says.
 */
#include "softcuda/programs.h"

#include <stdio.h>
#include <sys/mman.h>

enum { SEEDS = 24, WORDS = 64 };

/* ---- programs ---- */

typedef struct lab {
    const acu_driver_table *cu;
    CUmodule module;
    CUstream streams[4];
    CUevent events[4];
    CUdeviceptr at[4];
} lab;

static lab open_lab(void)
{
    lab l = {.cu = open_driver()};
    l.module = test_module(l.cu);
    for (int i = 0; i < 4; i++) {
        OK(l.cu->StreamCreate(&l.streams[i], ACU_CU_STREAM_NON_BLOCKING));
        OK(l.cu->EventCreate(&l.events[i], ACU_CU_EVENT_DISABLE_TIMING));
        OK(l.cu->MemAlloc(&l.at[i], WORDS * 4));
        OK(l.cu->MemsetD32(l.at[i], 0, WORDS));
    }
    OK(l.cu->CtxSynchronize());
    return l;
}

static void close_lab(lab *l)
{
    for (int i = 0; i < 4; i++) {
        OK(l->cu->MemFree(l->at[i]));
        OK(l->cu->EventDestroy(l->events[i]));
        OK(l->cu->StreamDestroy(l->streams[i]));
    }
    OK(l->cu->ModuleUnload(l->module));
    close_driver(l->cu);
}

static void count_call(void *counter)
{
    ++*(unsigned *)counter;
}

/* Some of everything: launches, copies, memory in order, host functions, waits, graphs, polls. */
static void program_mixed(void **state)
{
    PROGRAM(state);
    lab l = open_lab();
    const acu_driver_table *cu = l.cu;
    unsigned calls = 0, got[WORDS];
    CUgraph graph;
    CUgraphExec exec;
    OK(cu->StreamBeginCapture(l.streams[0], ACU_CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(launch_add_one(cu, l.module, l.streams[0], l.at[0], WORDS));
    OK(launch_add_one(cu, l.module, l.streams[0], l.at[0], WORDS));
    OK(cu->StreamEndCapture(l.streams[0], &graph));
    OK(cu->GraphInstantiateWithFlags(&exec, graph, 0));
    for (int round = 0; round < 8; round++)
        for (int i = 0; i < 4; i++) {
            CUstream stream = l.streams[i];
            CUdeviceptr own;
            OK(cu->MemAllocAsync(&own, WORDS * 4, stream));
            OK(cu->MemcpyDtoDAsync(own, l.at[i], WORDS * 4, stream));
            OK(launch_add_one(cu, l.module, stream, own, WORDS));
            OK(cu->MemcpyDtoDAsync(l.at[i], own, WORDS * 4, stream));
            OK(cu->MemFreeAsync(own, stream));
            if (i == 0)
                OK(cu->GraphLaunch(exec, stream));
            if (i == 1)
                OK(cu->LaunchHostFunc(stream, count_call, &calls));
            OK(cu->EventRecord(l.events[i], stream));
            OK(cu->StreamWaitEvent(l.streams[(i + round) % 4], l.events[i], 0));
        }
    while (cu->EventQuery(l.events[2]) == ACU_CUDA_ERROR_NOT_READY) {
    }
    OK(cu->CtxSynchronize());
    assert_int_equal(calls, 8);
    for (int i = 0; i < 4; i++) {
        OK(cu->MemcpyDtoH(got, l.at[i], sizeof got));
        assert_int_equal(got[WORDS - 1], i == 0 ? 24 : 8);
    }
    OK(cu->GraphExecDestroy(exec));
    OK(cu->GraphDestroy(graph));
    close_lab(&l);
}

/* A copy on one stream of what another makes. */
static void hand_over(lab *l, bool wait)
{
    const acu_driver_table *cu = l->cu;
    OK(launch_add_one(cu, l->module, l->streams[0], l->at[0], WORDS));
    OK(cu->EventRecord(l->events[0], l->streams[0]));
    if (wait)
        OK(cu->StreamWaitEvent(l->streams[1], l->events[0], 0));
    OK(cu->MemcpyDtoDAsync(l->at[1], l->at[0], WORDS * 4, l->streams[1]));
    OK(cu->StreamSynchronize(l->streams[1]));
    assert_int_equal(word_at(cu, l->at[1]), 1);
    close_lab(l);
}

static void program_that_forgot_to_wait(void **state)
{
    PROGRAM(state);
    lab l = open_lab();
    hand_over(&l, false);
}

static void program_that_waits(void **state)
{
    PROGRAM(state);
    lab l = open_lab();
    hand_over(&l, true);
}

/* This program takes a value in memory as the end of the work. */
static void program_that_trusts_memory(void **state)
{
    PROGRAM(state);
    lab l = open_lab();
    volatile unsigned *flag;
    OK(l.cu->MemHostAlloc((void **)(uintptr_t)&flag, 4, 0));
    *flag = 0;
    OK(l.cu->MemsetD32Async((CUdeviceptr)(uintptr_t)flag, 1, 1, l.streams[0]));
    OK(l.cu->EventRecord(l.events[0], l.streams[0]));
    while (!*flag) {
    }
    OK(l.cu->EventQuery(l.events[0]));
    OK(l.cu->MemFreeHost((void *)(uintptr_t)flag));
    close_lab(&l);
}

/* Nobody makes a call while this waits, and the host function comes all the same. */
static void program_that_is_silent(void **state)
{
    PROGRAM(state);
    lab l = open_lab();
    sem_t called;
    sem_init(&called, 0, 0);
    for (int i = 0; i < 10; i++)
        OK(launch_add_one(l.cu, l.module, l.streams[0], l.at[0], WORDS));
    OK(l.cu->LaunchHostFunc(l.streams[0], (CUhostFn)(void (*)(void))sem_post, &called));
    while (sem_wait(&called)) {
    }
    assert_int_equal(word_at(l.cu, l.at[0]), 10);
    close_lab(&l);
}

/* The driver does not start, and says why. */
static void program_with_a_bad_environment(void **state)
{
    PROGRAM(state);
    acu_driver_options options = {.size = sizeof options, .request = "software"};
    const acu_driver_table *cu = NULL;
    assert_int_not_equal(acu_driver_open(&options, &cu), ACU_OK);
    assert_non_null(strstr(acu_last_error()->message, "SOFTCUDA_"));
}

/* ---- running them ---- */

static bool seeded(const char *name, const char *seed, const char *trace)
{
    char one[128], two[128];
    snprintf(one, sizeof one, "SOFTCUDA_SEED=%s", seed);
    snprintf(two, sizeof two, "SOFTCUDA_TRACE=%s", trace);
    return passes(name, (const char *[]){one, two}, 2);
}

static bool passes_under(const char *name, int seed)
{
    char text[16];
    snprintf(text, sizeof text, "%d", seed);
    return seeded(name, text, "");
}

/* The trace of the mixed program; free it. */
static char *trace_of(const char *seed)
{
    char path[64];
    int file = memfd_create("trace", 0);
    assert_true(file >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    assert_true(seeded("program_mixed", seed, path));
    off_t bytes = lseek(file, 0, SEEK_END);
    assert_true(bytes > 0);
    char *text = calloc(1, (size_t)bytes + 1);
    assert_int_equal(pread(file, text, (size_t)bytes, 0), bytes);
    close(file);
    return text;
}

/* ---- tests ---- */

static void a_seed_is_a_run(void **state)
{
    TEST(state);
    const char *seeds[] = {"1", "2", "3", "4", "0x1234567890abcdef"};
    char *first = NULL;
    for (size_t i = 0; i < sizeof seeds / sizeof seeds[0]; i++) {
        char *one = trace_of(seeds[i]), *again = trace_of(seeds[i]);
        assert_string_equal(one, again);
        free(again);
        if (first)
            assert_string_not_equal(strchr(one, '\n'), strchr(first, '\n'));
        else
            first = strdup(one);
        free(one);
    }
    free(first);
}

static void traces_tell_what_happens(void **state)
{
    TEST(state);
    for (int seeded = 0; seeded < 2; seeded++) {
        char *text = trace_of(seeded ? "7" : "");
        assert_int_equal(strncmp(text, "seed 7\n", 7) == 0, seeded);
        assert_non_null(strstr(text, "call cuStreamWaitEvent\n"));
        assert_non_null(strstr(text, " launch add_one<<<1x1x1, 64x1x1>>>\n"));
        assert_non_null(strstr(text, " host function\n"));
        assert_non_null(strstr(text, " copy 256 bytes to d0+0x"));
        assert_non_null(strstr(text, "step 1: device 0 stream "));
        free(text);
    }
}

static void some_seed_finds_a_missing_wait(void **state)
{
    TEST(state);
    int found = 0;
    for (int seed = 1; seed <= SEEDS; seed++) {
        found += !passes_under("program_that_forgot_to_wait", seed);
        assert_true(passes_under("program_that_waits", seed));
    }
    assert_in_range(found, 1, SEEDS - 1);
}

static void completion_may_be_seen_late(void **state)
{
    TEST(state);
    int found = 0;
    for (int seed = 1; seed <= SEEDS; seed++)
        found += !passes_under("program_that_trusts_memory", seed);
    assert_in_range(found, 1, SEEDS - 1);
}

static void silence_is_waited_out(void **state)
{
    TEST(state);
    for (int seed = 1; seed <= 4; seed++)
        assert_true(passes_under("program_that_is_silent", seed));
}

static void bad_settings_are_refused(void **state)
{
    TEST(state);
    const char *seeds[] = {"x", "-1", "1x", "99999999999999999999999"};
    for (size_t i = 0; i < sizeof seeds / sizeof seeds[0]; i++)
        assert_true(seeded("program_with_a_bad_environment", seeds[i], ""));
    assert_true(seeded("program_with_a_bad_environment", "1", "/proc/none/trace"));
    assert_false(seeded("program_with_a_bad_environment", "1", ""));
    const char *others[] = {
        "SOFTCUDA_DEVICES=0", "SOFTCUDA_DEVICES=two", "SOFTCUDA_DEVICES=17",
        "SOFTCUDA_MEMORY=1M", "SOFTCUDA_MEMORY=1GB",  "SOFTCUDA_SM=9.0",
        "SOFTCUDA_RACES=yes", "SOFTCUDA_HEAL=2",      "SOFTCUDA_FAULTS=Init=out-of-memory"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_true(passes("program_with_a_bad_environment", &others[i], 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(program_mixed),
        cmocka_unit_test(program_that_forgot_to_wait),
        cmocka_unit_test(program_that_waits),
        cmocka_unit_test(program_that_trusts_memory),
        cmocka_unit_test(program_that_is_silent),
        cmocka_unit_test(program_with_a_bad_environment),
        cmocka_unit_test(a_seed_is_a_run),
        cmocka_unit_test(traces_tell_what_happens),
        cmocka_unit_test(some_seed_finds_a_missing_wait),
        cmocka_unit_test(completion_may_be_seen_late),
        cmocka_unit_test(silence_is_waited_out),
        cmocka_unit_test(bad_settings_are_refused),
    };
    return RUN_TESTS(tests);
}
