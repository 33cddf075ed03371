/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Every kind of call in the conditions that CUDA's documentation says least about: while a stream
 * captures, its own or another one, or its capture is lost; and without a current context. What is
 * expected was measured on an H200 with driver 580 (CUDA 13.0).
 *
 *     ACUDA_CALLS_WRITE=FILE    what was answered, as lines of the table below
 */
#include "softcuda/driver_test.h"

static struct {
    const acu_driver_table *cu;
    CUcontext context;
    CUmodule module, loaded, spare;
    CUfunction function;
    CUstream capturing, other, blocking;
    CUevent event, timed[2];
    CUdeviceptr memory, word;
    void *pinned;
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    CUmemoryPool pool;
} t;

static uint8_t pageable[4096];
static _Alignas(4096) uint8_t pages[4096];

/* ---- the calls: each with a stream, and nothing wrong about it ---- */

#define CALL(name) static unsigned call_##name(CUstream s)
#define UNUSED (void)s

CALL(StreamCreate)
{
    UNUSED;
    CUstream made;
    unsigned result = t.cu->StreamCreate(&made, 1);
    if (!result)
        t.cu->StreamDestroy(made);
    return result;
}
CALL(StreamGetPriority)
{
    int value;
    return t.cu->StreamGetPriority(s, &value);
}
CALL(StreamGetFlags)
{
    unsigned value;
    return t.cu->StreamGetFlags(s, &value);
}
CALL(StreamGetCtx)
{
    CUcontext ctx;
    return t.cu->StreamGetCtx(s, &ctx);
}
CALL(StreamQuery)
{
    unsigned result = t.cu->StreamQuery(s);
    return result == ACU_CUDA_ERROR_NOT_READY ? 0 : result;
}
CALL(StreamSynchronize)
{
    return t.cu->StreamSynchronize(s);
}
CALL(StreamIsCapturing)
{
    unsigned status;
    return t.cu->StreamIsCapturing(s, &status);
}
CALL(StreamGetCaptureInfo)
{
    unsigned status;
    return t.cu->StreamGetCaptureInfo(s, &status, NULL, NULL, NULL, NULL);
}
CALL(StreamWaitEvent)
{
    return t.cu->StreamWaitEvent(s, t.event, 0);
}
CALL(LaunchHostFunc)
{
    return t.cu->LaunchHostFunc(s, nothing_to_do, NULL);
}
CALL(StreamWriteValue32)
{
    return t.cu->StreamWriteValue32(s, t.word, 0, 0);
}
CALL(StreamWaitValue32)
{
    return t.cu->StreamWaitValue32(s, t.word, 0, 0);
}
CALL(EventCreate)
{
    UNUSED;
    CUevent made;
    unsigned result = t.cu->EventCreate(&made, 2);
    if (!result)
        t.cu->EventDestroy(made);
    return result;
}
CALL(EventRecord)
{
    return t.cu->EventRecord(t.timed[1], s);
}
CALL(EventRecordExternal)
{
    return t.cu->EventRecordWithFlags(t.timed[1], s, ACU_CU_EVENT_RECORD_EXTERNAL);
}
CALL(EventQuery)
{
    UNUSED;
    unsigned result = t.cu->EventQuery(t.timed[0]);
    return result == ACU_CUDA_ERROR_NOT_READY ? 0 : result;
}
CALL(EventSynchronize)
{
    UNUSED;
    return t.cu->EventSynchronize(t.timed[0]);
}
CALL(EventElapsedTime)
{
    UNUSED;
    float ms;
    return t.cu->EventElapsedTime(&ms, t.timed[0], t.timed[0]);
}
CALL(MemAlloc)
{
    UNUSED;
    CUdeviceptr made;
    unsigned result = t.cu->MemAlloc(&made, 64);
    if (!result)
        t.cu->MemFree(made);
    return result;
}
CALL(MemFree)
{
    UNUSED;
    unsigned result = t.cu->MemFree(t.memory);
    if (!result)
        t.memory = 0;
    return result;
}
CALL(MemAllocAsync)
{
    CUdeviceptr made;
    if (s == t.capturing)
        return 0; /* a node that allocates: not what is looked at here */
    unsigned result = t.cu->MemAllocAsync(&made, 64, s);
    if (!result)
        t.cu->MemFreeAsync(made, s);
    return result;
}
CALL(MemGetInfo)
{
    UNUSED;
    size_t a, b;
    return t.cu->MemGetInfo(&a, &b);
}
CALL(MemGetAddressRange)
{
    UNUSED;
    CUdeviceptr base;
    size_t size;
    return t.cu->MemGetAddressRange(&base, &size, t.word);
}
CALL(PointerGetAttribute)
{
    UNUSED;
    unsigned type;
    return t.cu->PointerGetAttribute(&type, ACU_CU_POINTER_ATTRIBUTE_MEMORY_TYPE, t.word);
}
CALL(MemAllocHost)
{
    UNUSED;
    void *made;
    unsigned result = t.cu->MemAllocHost(&made, 64);
    if (!result)
        t.cu->MemFreeHost(made);
    return result;
}
CALL(MemFreeHost)
{
    UNUSED;
    unsigned result = t.cu->MemFreeHost(t.pinned);
    if (!result)
        t.pinned = NULL;
    return result;
}
CALL(MemHostRegister)
{
    UNUSED;
    unsigned result = t.cu->MemHostRegister(pages, sizeof pages, 0);
    if (!result)
        t.cu->MemHostUnregister(pages);
    return result;
}
CALL(MemHostGetDevicePointer)
{
    UNUSED;
    CUdeviceptr at;
    return t.cu->MemHostGetDevicePointer(&at, t.pinned, 0);
}
CALL(MemPoolCreate)
{
    UNUSED;
    CUmemoryPool made;
    acu_CUmemPoolProps props = {.allocType = 1, .location = {1, 0}};
    unsigned result = t.cu->MemPoolCreate(&made, &props);
    if (!result)
        t.cu->MemPoolDestroy(made);
    return result;
}
CALL(MemPoolTrimTo)
{
    UNUSED;
    return t.cu->MemPoolTrimTo(t.pool, 0);
}
CALL(MemPoolGetAttribute)
{
    UNUSED;
    uint64_t value;
    return t.cu->MemPoolGetAttribute(t.pool, ACU_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value);
}
CALL(MemPoolSetAttribute)
{
    UNUSED;
    uint64_t value = 0;
    return t.cu->MemPoolSetAttribute(t.pool, ACU_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value);
}
CALL(MemcpyHtoD)
{
    UNUSED;
    return t.cu->MemcpyHtoD(t.word, pageable, 4);
}
CALL(MemcpyDtoH)
{
    UNUSED;
    return t.cu->MemcpyDtoH(pageable, t.word, 4);
}
CALL(MemcpyDtoD)
{
    UNUSED;
    return t.cu->MemcpyDtoD(t.word, t.word + 8, 4);
}
CALL(Memcpy)
{
    UNUSED;
    return t.cu->Memcpy(t.word, t.word + 8, 4);
}
CALL(MemcpyHtoDAsync)
{
    return t.cu->MemcpyHtoDAsync(t.word, t.pinned, 4, s);
}
CALL(MemcpyHtoDAsyncPageable)
{
    return t.cu->MemcpyHtoDAsync(t.word, pageable, 4, s);
}
CALL(MemcpyDtoHAsync)
{
    return t.cu->MemcpyDtoHAsync(t.pinned, t.word, 4, s);
}
CALL(MemcpyDtoHAsyncPageable)
{
    return t.cu->MemcpyDtoHAsync(pageable, t.word, 4, s);
}
CALL(MemcpyDtoDAsync)
{
    return t.cu->MemcpyDtoDAsync(t.word, t.word + 8, 4, s);
}
CALL(MemsetD8)
{
    UNUSED;
    return t.cu->MemsetD8(t.word, 0, 4);
}
CALL(MemsetD8Async)
{
    return t.cu->MemsetD8Async(t.word, 0, 4, s);
}
CALL(MemsetD2D8Async)
{
    return t.cu->MemsetD2D8Async(t.word, 8, 0, 4, 2, s);
}
CALL(ModuleLoadData)
{
    UNUSED;
    CUmodule made;
    unsigned result = t.cu->ModuleLoadData(&made, nothing_ptx);
    if (!result)
        t.spare = made;
    return result;
}
CALL(ModuleUnload)
{
    UNUSED;
    unsigned result = t.cu->ModuleUnload(t.loaded);
    if (!result)
        t.loaded = NULL;
    return result;
}
CALL(ModuleGetFunction)
{
    UNUSED;
    CUfunction f;
    return t.cu->ModuleGetFunction(&f, t.module, "store");
}
CALL(ModuleGetGlobal)
{
    UNUSED;
    CUdeviceptr at;
    size_t size;
    return t.cu->ModuleGetGlobal(&at, &size, t.module, "counter");
}
CALL(FuncGetAttribute)
{
    UNUSED;
    int value;
    return t.cu->FuncGetAttribute(&value, ACU_CU_FUNC_ATTRIBUTE_NUM_REGS, t.function);
}
CALL(FuncSetAttribute)
{
    UNUSED;
    return t.cu->FuncSetAttribute(t.function, ACU_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                  1024);
}
CALL(Occupancy)
{
    UNUSED;
    int value;
    return t.cu->OccupancyMaxActiveBlocksPerMultiprocessor(&value, t.function, 32, 0);
}
CALL(LaunchKernel)
{
    unsigned v = 0;
    void *params[] = {&t.word, &v};
    return t.cu->LaunchKernel(t.function, 1, 1, 1, 1, 1, 1, 0, s, params, NULL);
}
CALL(LaunchCooperativeKernel)
{
    unsigned v = 0;
    void *params[] = {&t.word, &v};
    return t.cu->LaunchCooperativeKernel(t.function, 1, 1, 1, 1, 1, 1, 0, s, params);
}
CALL(GraphCreate)
{
    UNUSED;
    CUgraph made;
    unsigned result = t.cu->GraphCreate(&made, 0);
    if (!result)
        t.cu->GraphDestroy(made);
    return result;
}
CALL(GraphAddEmptyNode)
{
    UNUSED;
    CUgraphNode made;
    return t.cu->GraphAddEmptyNode(&made, t.graph, NULL, 0);
}
CALL(GraphAddKernelNode)
{
    UNUSED;
    CUgraphNode made;
    unsigned v = 0;
    void *params[] = {&t.word, &v};
    acu_CUDA_KERNEL_NODE_PARAMS_v1 p = {t.function, 1, 1, 1, 1, 1, 1, 0, params, NULL};
    return t.cu->GraphAddKernelNode(&made, t.graph, NULL, 0, &p);
}
CALL(GraphAddMemsetNode)
{
    UNUSED;
    CUgraphNode made;
    acu_CUDA_MEMSET_NODE_PARAMS p = {t.word, 0, 0, 1, 4, 1};
    return t.cu->GraphAddMemsetNode(&made, t.graph, NULL, 0, &p, t.context);
}
CALL(GraphGetNodes)
{
    UNUSED;
    size_t count;
    return t.cu->GraphGetNodes(t.graph, NULL, &count);
}
CALL(GraphNodeGetType)
{
    UNUSED;
    unsigned type;
    return t.cu->GraphNodeGetType(t.node, &type);
}
CALL(GraphClone)
{
    UNUSED;
    CUgraph made;
    unsigned result = t.cu->GraphClone(&made, t.graph);
    if (!result)
        t.cu->GraphDestroy(made);
    return result;
}
CALL(GraphInstantiate)
{
    UNUSED;
    CUgraphExec made;
    unsigned result = t.cu->GraphInstantiateWithFlags(&made, t.graph, 0);
    if (!result)
        t.cu->GraphExecDestroy(made);
    return result;
}
CALL(GraphExecDestroy)
{
    UNUSED;
    unsigned result = t.cu->GraphExecDestroy(t.exec);
    if (!result)
        t.exec = NULL;
    return result;
}
CALL(GraphDestroy)
{
    UNUSED;
    unsigned result = t.cu->GraphDestroy(t.graph);
    if (!result)
        t.graph = NULL;
    return result;
}
CALL(GraphExecKernelNodeSetParams)
{
    UNUSED;
    unsigned v = 0;
    void *params[] = {&t.word, &v};
    acu_CUDA_KERNEL_NODE_PARAMS_v1 p = {t.function, 1, 1, 1, 1, 1, 1, 0, params, NULL};
    return t.cu->GraphExecKernelNodeSetParams(t.exec, t.node, &p);
}
CALL(GraphExecUpdate)
{
    UNUSED;
    acu_CUgraphExecUpdateResultInfo info;
    return t.cu->GraphExecUpdate_v2(t.exec, t.graph, &info);
}
CALL(GraphNodeSetEnabled)
{
    UNUSED;
    return t.cu->GraphNodeSetEnabled(t.exec, t.node, 1);
}
CALL(GraphUpload)
{
    return t.cu->GraphUpload(t.exec, s);
}
CALL(GraphLaunch)
{
    return t.cu->GraphLaunch(t.exec, s);
}
CALL(CtxSynchronize)
{
    UNUSED;
    return t.cu->CtxSynchronize();
}
CALL(CtxGetFlags)
{
    UNUSED;
    unsigned flags;
    return t.cu->CtxGetFlags(&flags);
}
CALL(CtxGetLimit)
{
    UNUSED;
    size_t value;
    return t.cu->CtxGetLimit(&value, ACU_CU_LIMIT_STACK_SIZE);
}
CALL(CtxSetLimit)
{
    UNUSED;
    return t.cu->CtxSetLimit(ACU_CU_LIMIT_STACK_SIZE, 1024);
}
CALL(CtxGetStreamPriorityRange)
{
    UNUSED;
    int a, b;
    return t.cu->CtxGetStreamPriorityRange(&a, &b);
}
CALL(DeviceGetAttribute)
{
    UNUSED;
    int value;
    return t.cu->DeviceGetAttribute(&value, ACU_CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0);
}

/* ---- the conditions ---- */

static void prepare(void)
{
    const acu_driver_table *cu = t.cu;
    unsigned v = 0;
    if (!t.memory)
        OK(cu->MemAlloc(&t.memory, 64));
    if (!t.pinned)
        OK(cu->MemAllocHost(&t.pinned, 4096));
    if (!t.loaded)
        OK(cu->ModuleLoadData(&t.loaded, nothing_ptx));
    if (!t.graph || !t.exec) {
        if (t.exec)
            OK(cu->GraphExecDestroy(t.exec));
        if (t.graph)
            OK(cu->GraphDestroy(t.graph));
        void *params[] = {&t.word, &v};
        acu_CUDA_KERNEL_NODE_PARAMS_v1 p = {t.function, 1, 1, 1, 1, 1, 1, 0, params, NULL};
        OK(cu->GraphCreate(&t.graph, 0));
        OK(cu->GraphAddKernelNode(&t.node, t.graph, NULL, 0, &p));
        OK(cu->GraphInstantiateWithFlags(&t.exec, t.graph, 0));
    }
    OK(cu->StreamCreate(&t.capturing, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->StreamCreate(&t.other, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->StreamCreate(&t.blocking, ACU_CU_STREAM_DEFAULT));
    OK(cu->EventCreate(&t.event, ACU_CU_EVENT_DISABLE_TIMING));
    for (int i = 0; i < 2; i++)
        OK(cu->EventCreate(&t.timed[i], 0));
    OK(cu->EventRecord(t.timed[0], t.other));
    OK(cu->CtxSynchronize());
}

static void clear(void)
{
    const acu_driver_table *cu = t.cu;
    OK(cu->CtxSynchronize());
    if (t.spare)
        OK(cu->ModuleUnload(t.spare));
    t.spare = NULL;
    OK(cu->StreamDestroy(t.capturing));
    OK(cu->StreamDestroy(t.other));
    OK(cu->StreamDestroy(t.blocking));
    OK(cu->EventDestroy(t.event));
    for (int i = 0; i < 2; i++)
        OK(cu->EventDestroy(t.timed[i]));
}

/* What the call answers while `with` captures; and 'x' if the capture is lost by it. */
static void while_capturing(unsigned (*call)(CUstream), CUstream with, unsigned mode, CUstream s,
                            bool lost, char *said)
{
    const acu_driver_table *cu = t.cu;
    unsigned status = 77;
    CUgraph graph = NULL;
    OK(cu->StreamBeginCapture(with, mode));
    if (lost)
        IS(cu->StreamSynchronize(with), ERROR_STREAM_CAPTURE_UNSUPPORTED);
    const unsigned result = call(s);
    OK(cu->StreamIsCapturing(with, &status));
    const unsigned ended = cu->StreamEndCapture(with, &graph);
    if (!ended && graph)
        OK(cu->GraphDestroy(graph));
    sprintf(said, "%u%s", result, !lost && (status != 1 || ended) ? "x" : "");
}

static void without_context(unsigned (*call)(CUstream), CUstream s, char *said)
{
    CUcontext popped;
    OK(t.cu->CtxPopCurrent(&popped));
    const unsigned result = call(s);
    OK(t.cu->CtxPushCurrent(popped));
    sprintf(said, "%u", result);
}

/*
 * 0, 1, 2: another stream captures, global, thread-local or relaxed. 3: this stream captures,
 * relaxed; 4: and its capture is lost. 5: on the legacy stream, while a blocking stream captures,
 * relaxed. 6, 7: without a current context, on a stream that was created and on the legacy one.
 */
enum { CONDITIONS = 8 };

/* NVIDIA's driver 580 crashes there. */
static bool is_deadly(unsigned (*call)(CUstream), int condition)
{
    return condition >= 6 &&
           (call == call_GraphAddKernelNode || call == call_GraphExecKernelNodeSetParams);
}

static void in_condition(unsigned (*call)(CUstream), int condition, char *said)
{
    if (is_deadly(call, condition)) {
        strcpy(said, "-");
        return;
    }
    prepare();
    switch (condition) {
    case 0:
    case 1:
    case 2:
        while_capturing(call, t.capturing, (unsigned)condition, t.other, false, said);
        break;
    case 3:
        while_capturing(call, t.capturing, 2, t.capturing, false, said);
        break;
    case 4:
        while_capturing(call, t.capturing, 2, t.capturing, true, said);
        break;
    case 5:
        while_capturing(call, t.blocking, 2, NULL, false, said);
        break;
    case 6:
        without_context(call, t.other, said);
        break;
    default:
        without_context(call, NULL, said);
    }
    clear();
}

static const struct {
    const char *name;
    unsigned (*call)(CUstream);
    const char *expected;
} table[] = {
#define ROW(name, expected) \
    { \
#name, call_##name, expected \
    }
#include "softcuda/driver_conditions.h"
};

static void calls_are_answered_in_all_conditions(void **state)
{
    (void)state;
    const char *path = getenv("ACUDA_CALLS_WRITE");
    FILE *write = path ? fopen(path, "w") : NULL;
    unsigned wrong = 0;
    setenv("CUDA_MODULE_LOADING", "EAGER", 0);
    t.cu = open_driver();
    if (!acu_driver_has(ACU_CALL_GraphExecUpdate_v2)) {
        close_driver(t.cu);
        skip(); /* a part of the calls is not there */
    }
    OK(t.cu->CtxGetCurrent(&t.context));
    t.module = test_module(t.cu);
    t.function = test_kernel(t.cu, t.module, "store");
    OK(t.cu->MemAlloc(&t.word, 4096));
    OK(t.cu->MemsetD8(t.word, 0, 4096));
    OK(t.cu->DeviceGetDefaultMemPool(&t.pool, 0));
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char all[256] = "", said[32];
        for (int c = 0; c < CONDITIONS; c++) {
            in_condition(table[i].call, c, said);
            sprintf(all + strlen(all), "%s%s", c ? " " : "", said);
        }
        if (write) {
            fprintf(write, "ROW(%s, \"%s\"),\n", table[i].name, all);
            fflush(write);
        } else if (strcmp(all, table[i].expected)) {
            print_error("%s: %s, expected %s\n", table[i].name, all, table[i].expected);
            wrong++;
        }
    }
    if (write)
        fclose(write);
    prepare();
    clear();
    OK(t.cu->GraphExecDestroy(t.exec));
    OK(t.cu->GraphDestroy(t.graph));
    OK(t.cu->MemFree(t.word));
    OK(t.cu->MemFree(t.memory));
    OK(t.cu->MemFreeHost(t.pinned));
    OK(t.cu->ModuleUnload(t.loaded));
    OK(t.cu->ModuleUnload(t.module));
    close_driver(t.cu);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_answered_in_all_conditions),
    };
    return RUN_TESTS(tests);
}
