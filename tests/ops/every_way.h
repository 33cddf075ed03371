/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * One op of a built-in operation in every way that does not depend on what it computes: described,
 * submitted, replayed as a graph, with each allocation and each driver call failing in turn.
 */
#ifndef ACUDA_TESTS_OPS_EVERY_WAY_H
#define ACUDA_TESTS_OPS_EVERY_WAY_H

#include "ops/elements.h"

typedef acu_op *(*way_fn)(acu_tensor *const *x);

/* The bytes of the first value, in memory to be freed. */
static inline void *way_read(acu_tensor *tensor, size_t *bytes)
{
    *bytes = acu_tensor_bytes(tensor);
    void *memory = malloc(*bytes);
    assert_works(acu_read_sync(tensor, memory, *bytes));
    return memory;
}

static inline void way_described(acu_device *device, way_fn make, acu_tensor *const *x,
                                 acu_tensor *result)
{
    acu_value_info infos[4];
    size_t count = 0;
    acu_op *op = make(x);
    assert_works(acu_op_describe(device, op, infos, 4, &count));
    acu_op_release(op);
    assert_true(count >= 1 && infos[0].dtype == acu_tensor_dtype(result));
    assert_true(acu_shape_equal(infos[0].shape, acu_tensor_shape(result)));
}

static inline void way_graph(acu_device *device, way_fn make, acu_tensor *const *x,
                             const void *want, size_t bytes)
{
    acu_graph *graph = NULL;
    assert_works(acu_graph_load(device, make(x), NULL, &graph));
    for (int i = 0; i < 2; i++) {
        size_t have_bytes;
        assert_works(acu_sync(device, acu_replay(graph), NULL));
        void *have = way_read(acu_graph_tensor(graph, 0), &have_bytes);
        assert_int_equal(have_bytes, bytes);
        assert_memory_equal(have, want, bytes);
        free(have);
    }
    acu_graph_release(graph);
}

/* What fails, fails with a status; nothing is left over, and the same op works again. */
static inline void way_fails(acu_device *device, way_fn make, acu_tensor *const *x)
{
    acu_graph_cache_statistics cache = {.size = sizeof cache};
    bool tried = true;
    for (uint64_t k = 1; tried; k += test_thin()) {
        acu_debug_fail_alloc(k, false);
        acu_status status = acu_submit(device, make(x), NULL, NULL);
        tried = acu_debug_alloc_count() >= k;
        acu_debug_fail_alloc(0, false);
        assert_true(status == ACU_OK || status == ACU_ERR_NO_MEMORY);
        assert_works(acu_device_wait(device, ACU_FOREVER));
    }
    assert_works(acu_graph_cache_stats(device, &cache));
    assert_works(acu_graph_cache_limit(device, 0)); /* or one call would launch all kernels */
    tried = true;
    for (uint64_t k = 1; tried; k += test_thin()) {
        acu_driver_fault fault = {
            .size = sizeof fault, .call = ACU_CALL_LaunchKernel, .nth = k, .result = 2};
        acu_future *future = NULL;
        assert_works(acu_driver_fail(&fault));
        acu_status status = acu_submit(device, make(x), NULL, &future);
        if (status == ACU_OK)
            status = acu_future_wait(future, ACU_FOREVER);
        acu_future_release(future);
        tried = acu_driver_fault_hits() > 0;
        acu_driver_fail_clear();
        assert_true(tried == (status != ACU_OK));
    }
    assert_works(acu_graph_cache_limit(device, cache.limit));
}

static inline void every_way(acu_device *device, way_fn make, acu_tensor *const *x)
{
    acu_tensor *result = NULL;
    size_t bytes, again;
    assert_works(acu_sync(device, make(x), &result));
    way_described(device, make, x, result);
    void *want = way_read(result, &bytes);
    acu_tensor_release(result);
    way_graph(device, make, x, want, bytes);
    way_fails(device, make, x);
    assert_works(acu_sync(device, make(x), &result));
    void *have = way_read(result, &again);
    assert_int_equal(again, bytes);
    assert_memory_equal(have, want, bytes);
    acu_tensor_release(result);
    free(want);
    free(have);
}

#endif
