/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Random sequences of driver calls, right and wrong ones: each gets the answer that a GPU's driver
 * gave, and at the end the counters have the sums of the calls that succeeded. This program
 * recorded the expected answers on an H200 with driver 580 (CUDA 13.0): driver_answers.h.
 *
 *     ACUDA_CALLS_SEEDS=100:50    sequences of seeds 100 to 149
 *     ACUDA_CALLS_PRINT=FILE      each call and what it answered, to be compared with another
 *                                 driver's: nothing is expected of seeds that were not recorded
 *     ACUDA_CALLS_WRITE=FILE      the answers, as driver_answers.h has them
 *     ACUDA_CALLS_LENGTH=7        no more than 7 calls
 *
 * Of 6,000 sequences all were answered alike but two: a graph that waits for an event which stands
 * for something in a capture can always be launched on the software device, not so on a GPU.
 */
#include "softcuda/calls_graphs.h"
#include "softcuda/calls_kernels.h"
#include "softcuda/calls_memory.h"
#include "softcuda/calls_streams.h"

typedef struct deed {
    void (*act)(world *w);
    unsigned weight;
} deed;

/* Each sequence has one of these. */
static const deed on_streams[] = {
    {make_stream, 8},   {destroy_stream, 3}, {ask_stream, 8},
    {wait_event, 10},   {host_function, 5},  {write_value, 4},
    {wait_value, 4},    {make_event, 8},     {destroy_event, 2},
    {record_event, 12}, {ask_event, 6},      {begin_capture, 6},
    {end_capture, 6},   {ask_capture, 4},    {exchange_mode, 1},
    {launch, 12},       {allocate, 1},       {copy_plain, 3},
    {fill, 2},          {destroy_graph, 2},  {instantiate, 2},
    {launch_graph, 4},  {destroy_exec, 1},   {clone_graph, 1},
    {use_context, 1},   {ask_function, 1},   {allocate_ordered, 1},
};
static const deed on_graphs[] = {
    {make_stream, 4},   {make_event, 4},  {make_graph, 8},   {destroy_graph, 2}, {clone_graph, 3},
    {add_node, 40},     {add_edge, 6},    {ask_graph, 4},    {set_node, 6},      {instantiate, 14},
    {destroy_exec, 4},  {set_exec, 24},   {update_exec, 10}, {launch_graph, 16}, {ask_stream, 2},
    {begin_capture, 2}, {end_capture, 2}, {launch, 3},       {wait_event, 2},    {record_event, 3},
    {fill, 1},          {copy_plain, 1},
};
static const deed on_memory[] = {
    {make_stream, 5},       {allocate, 8},        {free_block, 8},   {allocate_ordered, 8},
    {free_ordered, 8},      {make_pool, 3},       {use_pool, 6},     {host_memory, 10},
    {wrong_host_memory, 2}, {register_memory, 8}, {ask_address, 10}, {copy_plain, 14},
    {copy_rows, 10},        {fill, 10},           {ask_stream, 3},
};
static const deed on_kernels[] = {
    {make_stream, 4},     {launch, 20},     {launch_packed, 5}, {launch_with, 10},
    {launch_together, 3}, {ask_stream, 2},  {ask_function, 16}, {ask_occupancy, 8},
    {ask_module, 6},      {use_context, 6}, {allocate, 1},      {make_event, 1},
    {record_event, 1},
};
static const struct {
    const deed *deeds;
    size_t count;
} kinds[] = {
    {on_streams, sizeof on_streams / sizeof *on_streams},
    {on_graphs, sizeof on_graphs / sizeof *on_graphs},
    {on_memory, sizeof on_memory / sizeof *on_memory},
    {on_kernels, sizeof on_kernels / sizeof *on_kernels},
};

static void act(world *w, unsigned kind)
{
    const deed *d = kinds[kind].deeds;
    unsigned total = 0;
    for (size_t i = 0; i < kinds[kind].count; i++)
        total += d[i].weight;
    unsigned left = below(w, total);
    for (; left >= d->weight; d++)
        left -= d->weight;
    d->act(w);
}

static void begin(world *w, uint64_t seed)
{
    const acu_driver_table *cu = w->cu;
    w->chance = seed * UINT64_C(0x9e3779b97f4a7c15);
    w->streams[1] = ACU_CU_STREAM_LEGACY;
    w->streams[2] = ACU_CU_STREAM_PER_THREAD;
    OK(cu->CtxGetCurrent(&w->context));
    OK(cu->ModuleLoadData(&w->module, calls_ptx));
    w->count = test_kernel(cu, w->module, "count");
    w->bounded = test_kernel(cu, w->module, "bounded");
    w->many = test_kernel(cu, w->module, "many");
    w->shared = test_kernel(cu, w->module, "shared");
    OK(cu->MemAlloc(&w->counters, 4 * COUNTERS));
    OK(cu->MemAlloc(&w->scratch, SCRATCH));
    OK(cu->MemAlloc(&w->zeros, 128));
    OK(cu->MemAllocHost((void **)&w->pinned, SCRATCH));
    OK(cu->MemsetD32(w->counters, 0, COUNTERS));
    OK(cu->MemsetD32(w->scratch, 0, SCRATCH / 4));
    OK(cu->MemsetD32(w->zeros, 0, 32));
    OK(cu->CtxSynchronize());
    for (unsigned i = 0; i < 2; i++) {
        OK(cu->StreamCreate(&w->streams[STREAMS_GIVEN + i], ACU_CU_STREAM_NON_BLOCKING));
        OK(cu->EventCreate(&w->events[i], ACU_CU_EVENT_DISABLE_TIMING));
    }
    memset(w->pinned, 0, SCRATCH);
    for (unsigned i = 0; i < COUNTERS; i++)
        host_counters[i] = 0;
}

/* Ends all captures, whatever became of them. */
static void end_captures(world *w)
{
    for (unsigned round = 0; round < STREAMS; round++)
        for (unsigned n = 2; n < STREAMS; n++) {
            unsigned status = 0;
            CUgraph graph = NULL;
            if (n >= STREAMS_GIVEN && !w->streams[n])
                continue;
            w->cu->StreamIsCapturing(w->streams[n], &status);
            if (status && !w->cu->StreamEndCapture(w->streams[n], &graph) && graph)
                w->cu->GraphDestroy(graph);
        }
}

static void destroy_objects(world *w)
{
    const acu_driver_table *cu = w->cu;
    for (unsigned i = 0; i < EXECS; i++)
        if (w->execs[i].exec)
            OK(cu->GraphExecDestroy(w->execs[i].exec));
    for (unsigned i = 0; i < GRAPHS; i++)
        if (w->graphs[i].graph)
            OK(cu->GraphDestroy(w->graphs[i].graph));
    for (unsigned i = STREAMS_GIVEN; i < STREAMS; i++)
        if (w->streams[i])
            OK(cu->StreamDestroy(w->streams[i]));
    for (unsigned i = 0; i < EVENTS; i++)
        if (w->events[i])
            OK(cu->EventDestroy(w->events[i]));
    OK(cu->ModuleUnload(w->module));
}

static void free_memory(world *w)
{
    const acu_driver_table *cu = w->cu;
    for (unsigned i = 0; i < BLOCKS; i++) {
        if (w->blocks[i])
            OK(cu->MemFree(w->blocks[i]));
        if (w->ordered[i])
            OK(cu->MemFree(w->ordered[i]));
        if (w->host_blocks[i])
            OK(cu->MemFreeHost(w->host_blocks[i]));
    }
    for (unsigned i = 0; i < POOLS; i++)
        if (w->pools[i])
            OK(cu->MemPoolDestroy(w->pools[i]));
    for (size_t at = 0; at < sizeof registrable; at += 4096)
        cu->MemHostUnregister(registrable + at);
    cu->MemHostUnregister(registrable + 100);
    OK(cu->MemFree(w->counters));
    OK(cu->MemFree(w->scratch));
    OK(cu->MemFree(w->zeros));
    OK(cu->MemFreeHost(w->pinned));
}

/* Waits for all work, and destroys all objects. */
static void end(world *w)
{
    const acu_driver_table *cu = w->cu;
    unsigned sums[COUNTERS] = {0};
    unsigned mode = 0;
    CUcontext ctx;
    while (cu->CtxPopCurrent(&ctx) == 0) {
    }
    OK(cu->CtxSetCurrent(w->context));
    end_captures(w);
    cu->ThreadExchangeStreamCaptureMode(&mode);
    ask(w, "at the end");
    told(w, cu->CtxSynchronize());
    OK(cu->MemcpyDtoH(sums, w->counters, sizeof sums));
    for (unsigned i = 0; i < COUNTERS; i++)
        gave(w, sums[i]);
    for (unsigned i = 0; i < COUNTERS; i++)
        gave(w, host_counters[i]);
    destroy_objects(w);
    free_memory(w);
}

static void run_sequence(world *w, uint64_t seed)
{
    const char *length = getenv("ACUDA_CALLS_LENGTH");
    const unsigned end_at = length ? (unsigned)atoi(length) : 100;
    if (w->report)
        fprintf(w->report, "seed %llu\n", (unsigned long long)seed);
    begin(w, seed);
    for (unsigned deeds = 0; w->step < end_at && deeds < 1000; deeds++)
        act(w, (unsigned)(seed % 4));
    end(w);
}

/* ---- what is expected ---- */

static const char *const expected[] = {
#include "softcuda/driver_answers.h"
};
enum { EXPECTED = sizeof expected / sizeof expected[0] };
#define NEWEST_CALL ACU_CALL_FuncGetParamInfo

/* As a string in C, in lines that are not too long. */
static void write_answers(FILE *to, unsigned long long seed, const char *answers)
{
    fprintf(to, "/* %llu */", seed);
    for (size_t at = 0; answers[at];)
        at += (size_t)fprintf(to, "\n\"%.90s\"", answers + at) - 3;
    fprintf(to, ",\n");
}

/* Calls are counted as they are printed, from 0. */
static bool compare(unsigned long long seed, const char *got, const char *want)
{
    unsigned call = 0;
    size_t i = 0;
    for (; got[i] && got[i] == want[i]; i++)
        call += got[i] == '.' || got[i] == ' ';
    if (!got[i] && !want[i])
        return true;
    print_error("seed %llu, about call %u: \"%.20s\", a GPU's driver said \"%.20s\"\n", seed,
                call ? call - 1 : 0, got + i, want + i);
    return false;
}

/* Only recorded seeds have expected answers, and not on other drivers, nor while newer entry points
 * are hidden. */
static bool is_expected(const acu_driver_table *cu, unsigned long long seed)
{
    int version = 0;
    OK(cu->DriverGetVersion(&version));
    return seed >= 1 && seed <= EXPECTED && version == 13000 && acu_driver_has(NEWEST_CALL) &&
           !getenv("ACUDA_CALLS_LENGTH");
}

static FILE *opened(const char *variable)
{
    const char *path = getenv(variable);
    return path ? fopen(path, "w") : NULL;
}

static void calls_are_answered_as_by_a_gpu(void **state)
{
    (void)state;
    unsigned long long first = 1, count = EXPECTED, wrong = 0;
    const char *seeds = getenv("ACUDA_CALLS_SEEDS");
#ifdef __SANITIZE_THREAD__
    skip(); /* copies and fills on several streams touch the same memory: such races do not matter
             * here */
#endif
    setenv("SOFTCUDA_SM", "90", 0);
    setenv("CUDA_MODULE_LOADING", "EAGER", 0);
    if (seeds)
        sscanf(seeds, "%llu:%llu", &first, &count);
    FILE *report = opened("ACUDA_CALLS_PRINT"), *answers = opened("ACUDA_CALLS_WRITE");
    const acu_driver_table *cu = open_driver();
    for (unsigned long long seed = first; seed < first + count; seed++) {
        static world w;
        w = (world){.cu = cu, .report = report};
        run_sequence(&w, seed);
        if (answers)
            write_answers(answers, seed, w.answers);
        else if (is_expected(cu, seed))
            wrong += !compare(seed, w.answers, expected[seed - 1]);
    }
    close_driver(cu);
    if (report)
        fclose(report);
    if (answers)
        fclose(answers);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_answered_as_by_a_gpu),
    };
    return RUN_TESTS(tests);
}
