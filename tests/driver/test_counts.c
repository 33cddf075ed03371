/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Live objects and calls are counted, on a GPU as on the software device. */
#include "driver/open.h"

#include <pthread.h>
#include <stdlib.h>

/* One object of a kind: made by `make` into *object, ended by `end`. */
typedef struct way {
    acu_driver_kind kind;
    const char *name;
    unsigned (*make)(const acu_driver_table *cu, void **object);
    unsigned (*end)(const acu_driver_table *cu, void *object);
} way;

static CUdeviceptr as_device(void *object)
{
    return (CUdeviceptr)(uintptr_t)object;
}

/* A way whose handle is a pointer and whose calls take it plainly. */
#define HANDLE(word, type, create, destroy) \
    static unsigned make_##word(const acu_driver_table *cu, void **object) \
    { \
        type handle = NULL; \
        unsigned result = cu->create; \
        *object = handle; \
        return result; \
    } \
    static unsigned end_##word(const acu_driver_table *cu, void *object) \
    { \
        type handle = object; \
        return cu->destroy; \
    }

static const acu_CUmemPoolProps pool_props = {
    .allocType = ACU_CU_MEM_ALLOCATION_TYPE_PINNED,
    .location = {.type = ACU_CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
};

HANDLE(stream, CUstream, StreamCreate(&handle, ACU_CU_STREAM_NON_BLOCKING), StreamDestroy(handle))
HANDLE(urgent, CUstream, StreamCreateWithPriority(&handle, ACU_CU_STREAM_NON_BLOCKING, 0),
       StreamDestroy(handle))
HANDLE(event, CUevent, EventCreate(&handle, ACU_CU_EVENT_DISABLE_TIMING), EventDestroy(handle))
HANDLE(pinned, void *, MemHostAlloc(&handle, 4096, 0), MemFreeHost(handle))
HANDLE(plain_pinned, void *, MemAllocHost(&handle, 4096), MemFreeHost(handle))
HANDLE(pool, CUmemoryPool, MemPoolCreate(&handle, &pool_props), MemPoolDestroy(handle))
HANDLE(module, CUmodule, ModuleLoadData(&handle, nothing_ptx), ModuleUnload(handle))
HANDLE(library, CUlibrary, LibraryLoadData(&handle, nothing_ptx, NULL, NULL, 0, NULL, NULL, 0),
       LibraryUnload(handle))
HANDLE(link, CUlinkState, LinkCreate(0, NULL, NULL, &handle), LinkDestroy(handle))
HANDLE(graph, CUgraph, GraphCreate(&handle, 0), GraphDestroy(handle))
HANDLE(retained, CUcontext, DevicePrimaryCtxRetain(&handle, 0),
       DevicePrimaryCtxRelease(handle ? 0 : -1))

static unsigned make_memory(const acu_driver_table *cu, void **object)
{
    CUdeviceptr at = 0;
    unsigned result = cu->MemAlloc(&at, 4096);
    *object = (void *)(uintptr_t)at;
    return result;
}

static unsigned end_memory(const acu_driver_table *cu, void *object)
{
    return cu->MemFree(as_device(object));
}

static unsigned make_ordered(const acu_driver_table *cu, void **object)
{
    CUdeviceptr at = 0;
    unsigned result = cu->MemAllocAsync(&at, 4096, NULL);
    *object = (void *)(uintptr_t)at;
    return result;
}

static unsigned end_ordered(const acu_driver_table *cu, void *object)
{
    return cu->MemFreeAsync(as_device(object), NULL);
}

static unsigned make_registration(const acu_driver_table *cu, void **object)
{
    *object = aligned_alloc(4096, 8192);
    unsigned result = cu->MemHostRegister(*object, 8192, 0);
    if (result != ACU_CUDA_SUCCESS)
        free(*object);
    return result;
}

static unsigned end_registration(const acu_driver_table *cu, void *object)
{
    unsigned result = cu->MemHostUnregister(object);
    free(object);
    return result;
}

static unsigned make_exec(const acu_driver_table *cu, void **object)
{
    CUgraph graph;
    CUgraphExec exec = NULL;
    unsigned result = cu->GraphCreate(&graph, 0);
    if (result != ACU_CUDA_SUCCESS)
        return result;
    result = cu->GraphInstantiateWithFlags(&exec, graph, 0);
    assert_int_equal(cu->GraphDestroy(graph), ACU_CUDA_SUCCESS);
    *object = exec;
    return result;
}

static unsigned end_exec(const acu_driver_table *cu, void *object)
{
    return cu->GraphExecDestroy(object);
}

#define WAY(kind, word) \
    { \
        ACU_DRIVER_KIND_##kind, #word, make_##word, end_##word \
    }
static const way ways[] = {
    WAY(PRIMARY_CONTEXT, retained),
    WAY(STREAM, stream),
    WAY(STREAM, urgent),
    WAY(EVENT, event),
    WAY(MEMORY, memory),
    WAY(MEMORY, ordered),
    WAY(PINNED, pinned),
    WAY(PINNED, plain_pinned),
    WAY(REGISTRATION, registration),
    WAY(POOL, pool),
    WAY(MODULE, module),
    WAY(LIBRARY, library),
    WAY(LINK, link),
    WAY(GRAPH, graph),
    WAY(EXEC, exec),
};

static void each_kind_is_counted(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        const way *w = &ways[i];
        int64_t before = acu_driver_live(w->kind);
        void *first, *second;
        unsigned result = w->make(cu, &first);
        if (result == ACU_CUDA_ERROR_NOT_SUPPORTED) {
            printf("%s: not supported here\n", w->name);
            assert_int_equal(acu_driver_live(w->kind), before);
            continue;
        }
        if (result != ACU_CUDA_SUCCESS)
            fail_msg("making a %s: %s", w->name, acu_driver_result_name(result));
        assert_int_equal(acu_driver_live(w->kind), before + 1);
        assert_int_equal(w->make(cu, &second), ACU_CUDA_SUCCESS);
        assert_int_equal(acu_driver_live(w->kind), before + 2);
        assert_int_equal(w->end(cu, first), ACU_CUDA_SUCCESS);
        assert_int_equal(w->end(cu, second), ACU_CUDA_SUCCESS);
        assert_int_equal(acu_driver_live(w->kind), before);
    }
    close_driver(cu);
    char text[256];
    assert_int_equal(acu_driver_live_report(text, sizeof text), 0);
    assert_string_equal(text, "");
}

static void failed_creations_are_not_counted(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    int64_t before = acu_driver_live(ACU_DRIVER_KIND_MEMORY);
    CUdeviceptr at = 0;
    assert_int_not_equal(cu->MemAlloc(&at, (size_t)1 << 60), ACU_CUDA_SUCCESS);
    CUmodule module;
    assert_int_not_equal(cu->ModuleLoadData(&module, "this is no module"), ACU_CUDA_SUCCESS);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_MEMORY), before);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_MODULE), 0);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_NONE), 0);
    close_driver(cu);
}

static void the_report_names_what_is_left(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUevent events[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(cu->EventCreate(&events[i], 0), ACU_CUDA_SUCCESS);
    acu_driver_fault fault = {.size = sizeof fault, .call = ACU_CALL_EventDestroy};
    assert_int_equal(acu_driver_fail(&fault), ACU_OK);
    assert_int_equal(cu->EventDestroy(events[0]), ACU_CUDA_ERROR_UNKNOWN);
    acu_driver_fail_clear();
    assert_int_equal(acu_driver_spared(ACU_DRIVER_KIND_EVENT), 1);
    char text[512];
    assert_int_equal(acu_driver_live_report(text, sizeof text), 3);
    assert_string_equal(text, "retained primary context: 1\n"
                              "event: 2 (1 destructions were made to fail)\n");
    for (int i = 0; i < 2; i++)
        assert_int_equal(cu->EventDestroy(events[i]), ACU_CUDA_SUCCESS);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_EVENT), 0);
    close_driver(cu);
}

static void calls_are_counted_while_asked(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    size_t free_bytes, total;
    acu_driver_count_calls(true);
    for (int i = 0; i < 3; i++)
        assert_int_equal(cu->MemGetInfo(&free_bytes, &total), ACU_CUDA_SUCCESS);
    assert_int_equal(cu->CtxSynchronize(), ACU_CUDA_SUCCESS);
    acu_driver_count_calls(false);
    assert_int_equal(cu->CtxSynchronize(), ACU_CUDA_SUCCESS);
    assert_int_equal(acu_driver_calls(ACU_CALL_MemGetInfo), 3);
    assert_int_equal(acu_driver_calls(ACU_CALL_CtxSynchronize), 1);
    assert_int_equal(acu_driver_calls(ACU_CALL_ANY), 4);
    assert_int_equal(acu_driver_calls(ACU_CALL_COUNT), 0);
    acu_driver_count_calls(true);
    assert_int_equal(acu_driver_calls(ACU_CALL_ANY), 0);
    acu_driver_count_calls(false);
    close_driver(cu);
}

enum { THREADS = 4, ROUNDS = 100 };

static void *make_and_end(void *user)
{
    const acu_driver_table *cu = user;
    CUcontext context;
    uintptr_t bad = cu->DevicePrimaryCtxRetain(&context, 0) + cu->CtxSetCurrent(context);
    for (int i = 0; i < ROUNDS; i++) {
        CUevent event;
        bad += cu->EventCreate(&event, ACU_CU_EVENT_DISABLE_TIMING);
        bad += cu->EventDestroy(event);
    }
    bad += cu->CtxSetCurrent(NULL);
    bad += cu->DevicePrimaryCtxRelease(0);
    return (void *)bad;
}

static void threads_are_counted_together(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    pthread_t threads[THREADS];
    acu_driver_count_calls(true);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_and_end, (void *)(uintptr_t)cu), 0);
    for (int i = 0; i < THREADS; i++) {
        void *bad;
        pthread_join(threads[i], &bad);
        assert_null(bad);
    }
    acu_driver_count_calls(false);
    assert_int_equal(acu_driver_calls(ACU_CALL_EventCreate), THREADS * ROUNDS);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_EVENT), 0);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_PRIMARY_CONTEXT), 1);
    close_driver(cu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_is_counted),
        cmocka_unit_test(failed_creations_are_not_counted),
        cmocka_unit_test(the_report_names_what_is_left),
        cmocka_unit_test(calls_are_counted_while_asked),
        cmocka_unit_test(threads_are_counted_together),
    };
    return cmocka_run_group_tests_name("driver.counts", tests, NULL, NULL);
}
