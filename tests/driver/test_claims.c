/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The driver calls that the headers name for each function: these are made, and no others.
 */
#include "support/one_device.h"

#include <acuda/debug.h>
#include <acuda/managed.h>
#include <stdio.h>
#include <stdlib.h>

/* Calls that may be made anywhere: making the device's context current, and creating events for
 * acuda's stock. */
static const char always[] = " CtxGetCurrent CtxPushCurrent CtxPopCurrent CtxSetCurrent "
                             "ThreadExchangeStreamCaptureMode EventCreate ";

static bool is_in(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == 0))
            return true;
    return false;
}

static const char *const fields[] = {
#define NAME(name, symbol, since, effect, kind, params, args) #name,
    ACU_DRIVER_CALLS(NAME)
#undef NAME
};

/* `claimed`: each is called, and nothing else. */
static void compare(const char *claimed, const char *what, int line)
{
    acu_driver_count_calls(false);
    for (int i = 0; i < ACU_CALL_COUNT; i++) {
        uint64_t calls = acu_driver_calls((acu_driver_call)i);
        if (calls && !is_in(claimed, fields[i]) && !is_in(always, fields[i]))
            fail_msg("line %d: %s calls cu%s", line, what, fields[i]);
        if (!calls && is_in(claimed, fields[i]))
            fail_msg("line %d: %s does not call cu%s", line, what, fields[i]);
    }
}

/* A status that is no error. */
#define CALLS(claimed, call)                                                                       \
    do {                                                                                           \
        test_threads_rest();                                                                       \
        acu_driver_count_calls(true);                                                              \
        assert_true((call) >= 0);                                                                  \
        compare((claimed), #call, __LINE__);                                                       \
    } while (0)

static void devices(void **state)
{
    (void)state;
    size_t bytes;
    acu_device *again = NULL;
    acu_open_options options = test_options(0);
    CALLS("MemGetInfo", acu_device_memory(device, &bytes, &bytes));
    CALLS("", acu_device_status(device, NULL));
    CALLS("", (acu_device_info_of(device), acu_device_raw(device), acu_device_context(device), 0));
    CALLS("", acu_open(&options, &again));
    CALLS("", acu_close(again));
    acu_graph_cache_statistics counts = {.size = sizeof counts};
    CALLS("", acu_graph_cache_stats(device, &counts));
    CALLS("", acu_graph_cache_wait(device));
}

static void another_device(void **state)
{
    (void)state;
    acu_device *two[2];
    test_open_n(two, 2);
    test_close(two[1]);
    acu_open_options options = test_options(1);
    CALLS("DeviceGet DeviceGetName DeviceGetAttribute DeviceTotalMem DevicePrimaryCtxRetain "
          "CtxGetStreamPriorityRange MemPoolCreate MemPoolSetAttribute StreamCreateWithPriority",
          acu_open(&options, &two[1]));
    test_threads_rest();
    acu_driver_count_calls(true);
    acu_status status = acu_device_open_peer(two[0], two[1]);
    if (status != ACU_ERR_NOT_SUPPORTED) {
        assert_works(status);
        compare("DeviceCanAccessPeer CtxEnablePeerAccess MemPoolSetAccess MemAlloc MemcpyHtoDAsync "
                "MemcpyPeerAsync MemcpyDtoHAsync StreamSynchronize MemFree",
                "acu_device_open_peer", __LINE__);
        CALLS("DeviceCanAccessPeer CtxEnablePeerAccess MemPoolSetAccess",
              acu_device_open_peer(two[0], two[1]));
    }
    test_close(two[1]);
    test_close(two[0]);
}

static void streams(void **state)
{
    (void)state;
    acu_stream *stream, *other, *forked;
    acu_policy *policy;
    CALLS("StreamCreateWithPriority", acu_stream_create(device, 0, &stream));
    assert_works(acu_stream_create(device, 0, &other));
    CALLS("StreamQuery", acu_stream_poll(stream));
    assert_non_null(acu_stream_raw(stream)); /* asked from now on whether it is captured */
    CALLS("StreamQuery StreamIsCapturing", acu_stream_poll(stream));
    CALLS("EventRecord StreamWaitEvent StreamIsCapturing", acu_stream_order_after(stream, other));
    CALLS("StreamCreateWithPriority EventRecord StreamWaitEvent StreamIsCapturing",
          acu_stream_fork(stream, &forked));
    CALLS("EventRecord EventQuery", acu_stream_wait(other, ACU_FOREVER));
    CALLS("", acu_stream_settle(stream, ACU_FOREVER));
    CALLS("StreamCreateWithPriority", acu_policy_round_robin(device, 2, &policy));
    acu_policy_release(policy);
    CALLS("", acu_policy_single(device, stream, &policy));
    acu_policy_release(policy);
    acu_stream_release(forked);
    acu_stream_release(other);
    acu_stream_release(stream);
}

static void events(void **state)
{
    (void)state;
    acu_stream *stream;
    acu_event *start, *end;
    float ms;
    assert_works(acu_stream_create(device, 0, &stream));
    CALLS("EventCreate", acu_event_create(device, true, &start));
    assert_works(acu_event_create(device, true, &end));
    CALLS("", acu_event_poll(start));
    CALLS("EventRecord", acu_event_record(start, stream));
    assert_works(acu_event_record(end, stream));
    CALLS("EventQuery", acu_event_wait(end, ACU_FOREVER));
    CALLS("StreamWaitEvent", acu_stream_order_after_event(stream, start));
    CALLS("EventElapsedTime", acu_event_elapsed_ms(start, end, &ms));
    acu_event_release(start);
    acu_event_release(end);
    acu_stream_release(stream);
}

/* Functions that only describe, or look at what is known already. */
static void no_calls(void **state)
{
    (void)state;
    acu_tensor *x;
    acu_policy *policy;
    acu_future *future;
    acu_value_info info;
    size_t count;
    acu_submit_options options = {.size = sizeof options, .explain = true};
    assert_works(acu_tensor_alloc(device, ACU_F32, ACU_SHAPE(64), &x));
    assert_works(acu_policy_round_robin(device, 1, &policy));
    assert_works(acu_sync(device, acu_add(x, x), NULL)); /* its kernels are loaded */
    CALLS("", acu_schedule(policy, acu_neg(acu_fill(x, acu_f32(1))), &future));
    CALLS("", acu_future_cancel(future));
    acu_future_release(future);
    acu_op *op = acu_zip(acu_add(x, x), acu_to_host(x), acu_zeros(ACU_F32, ACU_SHAPE(3)));
    CALLS("", acu_op_describe(device, op, &info, 1, &count));
    CALLS("", acu_explain_op(op, ACU_EXPLAIN_TEXT, NULL, 0, &count));
    CALLS("", (acu_op_release(op), 0));
    assert_works(acu_submit(device, acu_fill(x, acu_f32(1)), &options, &future));
    assert_works(acu_device_wait(device, ACU_FOREVER));
    CALLS("", (acu_future_values(future), acu_future_tensor(future, 0), 0));
    CALLS("", acu_explain(future, ACU_EXPLAIN_DOT, NULL, 0, &count));
    CALLS("", acu_future_poll(future));
    acu_future_release(future);
    acu_policy_release(policy);
    acu_tensor_release(x);
}

static void uses(void **state)
{
    (void)state;
    acu_tensor *x;
    acu_stream *stream;
    acu_use *use;
    assert_works(acu_tensor_alloc(device, ACU_F32, ACU_SHAPE(64), &x));
    assert_works(acu_sync(device, acu_fill(x, acu_f32(1)), NULL)); /* nothing to wait for */
    assert_works(acu_stream_create(device, 0, &stream));
    assert_non_null(acu_stream_raw(stream));
    CALLS("StreamIsCapturing", acu_use_begin(stream, &use, acu_inout(x)));
    CALLS("StreamIsCapturing EventRecord", acu_use_end(use, ACU_OK, NULL));
    assert_works(acu_device_wait(device, ACU_FOREVER));
    acu_stream_release(stream);
    acu_tensor_release(x);
}

static void graphs(void **state)
{
    (void)state;
    acu_tensor *x;
    acu_graph *graph;
    assert_works(acu_tensor_alloc(device, ACU_F32, ACU_SHAPE(64), &x));
    CALLS("GraphCreate GraphAddMemsetNode GraphInstantiateWithFlags",
          acu_graph_load(device, acu_fill(x, acu_f32(1)), NULL, &graph));
    CALLS("", (acu_graph_values(graph), acu_graph_tensor(graph, 0), acu_graph_nodes(graph), 0));
    acu_graph_release(graph);
    acu_tensor_release(x);
}

static void buffers(void **state)
{
    (void)state;
    acu_buffer *buffer;
    CUdeviceptr address;
    if (!acu_device_info_of(device)->memory_pools)
        skip();
    void *memory = aligned_alloc(4096, 1 << 16);
    assert_non_null(memory);
    CALLS("MemAllocFromPoolAsync EventRecord", acu_buffer_create(device, 1 << 20, &buffer));
    acu_buffer_release(buffer);
    test_quiet(device);
    /* From the cache: is the allocation complete? It is; and it is not asked again. */
    CALLS("EventQuery", acu_buffer_create(device, 1 << 20, &buffer));
    acu_buffer_release(buffer);
    CALLS("", acu_buffer_create(device, 1 << 20, &buffer));
    CALLS("", acu_buffer_detach(buffer, &address));
    test_enter(device);
    assert_int_equal(acu_driver()->MemFree(address), 0);
    test_leave(device);
    CALLS("MemHostAlloc MemHostGetDevicePointer",
          acu_buffer_create_pinned(device, 1 << 20, &buffer));
    CALLS("", (acu_buffer_release(buffer), 0));
    CALLS("", acu_buffer_create_pinned(device, 1 << 20, &buffer));
    acu_buffer_release(buffer);
    CALLS("MemHostRegister MemHostGetDevicePointer",
          acu_buffer_wrap_host(device, memory, 1 << 16, ACU_USER(NULL), &buffer));
    CALLS("MemHostUnregister", (acu_buffer_release(buffer), 0));
    CALLS("", acu_buffer_wrap_pageable(device, memory, 1 << 16, ACU_USER(NULL), &buffer));
    acu_buffer_release(buffer);
    free(memory);
}

static void pools(void **state)
{
    (void)state;
    acu_pool *pool;
    acu_buffer *buffer;
    acu_pool_options options = {.size = sizeof options};
    acu_pool_statistics stats = {.size = sizeof stats};
    if (!acu_device_info_of(device)->memory_pools)
        skip();
    CALLS("MemPoolCreate MemPoolSetAttribute", acu_pool_create(device, &options, &pool));
    CALLS("MemAllocFromPoolAsync EventRecord", acu_buffer_create_from(pool, 4096, &buffer));
    acu_buffer_release(buffer);
    test_quiet(device); /* or one question would not be enough */
    CALLS("EventQuery MemPoolGetAttribute", acu_pool_stats(pool, &stats));
    CALLS("MemPoolSetAttribute", acu_pool_set_limits(pool, 1 << 20, 0));
    CALLS("MemFreeAsync MemPoolTrimTo", acu_pool_trim(pool, 0, NULL));
    CALLS("MemPoolSetAttribute", acu_pool_reset_high(pool));
    acu_pool_release(pool);
}

static const char ptx[] = ".version 6.4\n.target sm_50\n.address_size 64\n"
                          ".visible .global .align 4 .u32 place;\n"
                          ".visible .entry nothing(.param .u64 x)\n{\n    ret;\n}\n";

static void modules(void **state)
{
    (void)state;
    acu_module *module;
    acu_kernel *kernel;
    acu_buffer *place;
    unsigned blocks;
    int registers;
    char load[128];
    snprintf(load, sizeof load, "ModuleLoadDataEx ModuleGetFunction FuncGetAttribute%s%s",
             acu_driver_has(ACU_CALL_FuncLoad) ? " FuncLoad" : "",
             acu_driver_has(ACU_CALL_FuncGetParamInfo) ? " FuncGetParamInfo" : "");
    CALLS(load, acu_module_load(device, ACU_PTX("claims", ptx), &module));
    CALLS("", acu_kernel_get(module, "nothing", &kernel));
    acu_kernel_release(kernel);
    CALLS("", acu_kernel_find(device, "claims", "nothing", &kernel));
    CALLS("FuncGetAttribute", acu_kernel_attribute(kernel, ACU_CU_FUNC_ATTRIBUTE_NUM_REGS,
                                                   &registers));
    CALLS("FuncSetAttribute", acu_kernel_prefer_shared(kernel, 50));
    CALLS("OccupancyMaxActiveBlocksPerMultiprocessor",
          acu_kernel_max_blocks(kernel, 128, 0, &blocks));
    CALLS("ModuleGetGlobal", acu_module_global(module, "place", &place));
    CALLS("", (acu_buffer_release(place), 0));
    acu_kernel_release(kernel);
    acu_module_release(module);
}

static void managed(void **state)
{
    (void)state;
    if (!acu_device_info_of(device)->managed_memory)
        skip();
    acu_buffer *buffer;
    CALLS("MemGetInfo MemAllocManaged", acu_buffer_create_managed(device, 4096, &buffer));
    CALLS("", (acu_buffer_release(buffer), 0));
    CALLS("", acu_buffer_create_managed(device, 4096, &buffer)); /* of the cache */
    acu_buffer_release(buffer);
}

int main(void)
{
    setenv("SOFTCUDA_EXACT", "0", 1); /* what pools keep is the subject */
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(devices), cmocka_unit_test(another_device), DEVICE_TEST(streams),
        DEVICE_TEST(events),  DEVICE_TEST(no_calls),            DEVICE_TEST(uses),
        DEVICE_TEST(graphs),  DEVICE_TEST(buffers),             DEVICE_TEST(pools),
        DEVICE_TEST(modules), DEVICE_TEST(managed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
