/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Pools: what is kept and what is given back, bounds, statistics, and pools of the program's
 * own. */
#include "driver/table.h"
#include "memory/memory.h"
#include "memory/pool.h"
#include "support/loads.h"
#include "support/one_device.h"

#include <sched.h>
#include <stdatomic.h>

enum { KIB = 1024, MIB = 1024 * KIB };

static acu_pool_statistics stats_of(acu_pool *pool)
{
    acu_pool_statistics stats = {.size = sizeof stats};
    assert_works(acu_pool_stats(pool, &stats));
    return stats;
}

static acu_pool *pool_with(acu_pool_options options)
{
    acu_pool *pool = NULL;
    options.size = sizeof options;
    assert_works(acu_pool_create(device, &options, &pool));
    return pool;
}

static acu_buffer *buffer_from(acu_pool *pool, size_t bytes)
{
    acu_buffer *buffer = NULL;
    assert_works(acu_buffer_create_from(pool, bytes, &buffer));
    return buffer;
}

/* Memory that was never used can be handed to anybody once its allocation is complete. */
static void settle(void)
{
    test_quiet(device);
    acui_stream_harvest(device->alloc, NULL);
}

/* ---- the cache ---- */

static void what_is_kept_comes_without_the_driver(void **state)
{
    (void)state;
    static const size_t sizes[] = {4 * KIB, 64 * KIB, MIB, 64 * MIB};
    acu_pool *pool = acu_device_pool(device);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        acu_buffer *buffer = buffer_from(pool, sizes[i]);
        CUdeviceptr address = acu_buffer_address(buffer);
        acu_buffer_release(buffer);
        settle();
        acu_driver_count_calls(true);
        for (int k = 0; k < 10; k++) {
            assert_works(acu_buffer_create(device, sizes[i] - (size_t)k, &buffer));
            assert_int_equal(acu_buffer_address(buffer), address);
            acu_buffer_release(buffer);
        }
        assert_int_equal(acu_driver_calls(ACU_CALL_ANY), 0);
        acu_driver_count_calls(false);
    }
    acu_pool_statistics stats = stats_of(pool);
    assert_int_equal(stats.hits, 40);
    assert_int_equal(stats.misses, 4);
    assert_int_equal(stats.in_use, 0);
    assert_int_equal(stats.held, stats.cached);
    assert_int_equal(stats.blocks_cached, 4);
    assert_int_equal(stats.largest, 64 * MIB);
    assert_true(stats.fragmentation > 0.01 && stats.fragmentation < 0.02);
    assert_int_equal(stats.in_use_high, 64 * MIB);
    assert_int_equal(stats.held_high, stats.held);
    assert_works(acu_pool_reset_high(pool));
    assert_int_equal(stats_of(pool).in_use_high, 0);
}

static void large_blocks_serve_what_is_little_smaller(void **state)
{
    (void)state;
    acu_pool *pool = acu_device_pool(device);
    acu_buffer *buffer = buffer_from(pool, 64 * MIB);
    CUdeviceptr address = acu_buffer_address(buffer);
    acu_buffer_release(buffer);
    settle();
    buffer = buffer_from(pool, 60 * MIB);
    assert_int_equal(acu_buffer_address(buffer), address);
    acu_buffer_release(buffer);
    buffer = buffer_from(pool, 50 * MIB); /* too much would be wasted */
    assert_true(acu_buffer_address(buffer) != address);
    acu_buffer_release(buffer);
}

/* Neither the host nor another stream gets the memory before the work that uses it is over. */
static void what_work_in_flight_uses_is_not_handed_out(void **state)
{
    (void)state;
    acu_stream *busy = NULL, *other = NULL;
    assert_works(acu_stream_create(device, 0, &busy));
    assert_works(acu_stream_create(device, 0, &other));
    acu_tensor *x = NULL;
    assert_works(acu_tensor_alloc(device, ACU_U8, ACU_SHAPE(MIB), &x));
    CUdeviceptr address = acu_tensor_address(x);
    acu_submit_options options = {.size = sizeof options, .stream = busy};
    test_gate_close(device, acu_stream_raw(busy));
    acu_future *future = NULL;
    assert_works(acu_submit(device, acu_fill(x, acu_u8(7)), &options, &future));
    acu_tensor_release(x);
    acu_future_release(future);
    acu_pool_statistics stats = stats_of(acu_device_pool(device));
    assert_int_equal(stats.in_use, 0);
    assert_int_equal(stats.in_flight, MIB);
    acu_buffer *host = NULL;
    assert_works(acu_buffer_create(device, MIB, &host));
    assert_true(acu_buffer_address(host) != address);
    acu_tensor *made[2];
    for (int i = 0; i < 2; i++) {
        options.stream = i ? busy : other;
        assert_works(acu_submit(device, acu_zeros(ACU_U8, ACU_SHAPE(MIB)), &options, &future));
        assert_works(acu_future_take(future, 0, &made[i]));
        acu_future_release(future);
    }
    assert_true(acu_tensor_address(made[0]) != address);
    assert_int_equal(acu_tensor_address(made[1]), address); /* on the same stream: at once */
    test_gate_open();
    assert_works(acu_device_wait(device, ACU_FOREVER));
    acu_tensor_release(made[0]);
    acu_tensor_release(made[1]);
    acu_buffer_release(host);
    acu_stream_release(busy);
    acu_stream_release(other);
}

/* ---- bounds ---- */

static void a_limit_is_kept_and_told_in_numbers(void **state)
{
    (void)state;
    acu_pool *pool = pool_with((acu_pool_options){.limit = MIB});
    acu_buffer *small = buffer_from(pool, 640 * KIB), *more = NULL;
    assert_fails(
        acu_buffer_create_from(pool, 640 * KIB, &more), ACU_ERR_DEVICE_MEMORY,
        "asked for 655360 bytes on device 0|655360 in use|0 cached|at most 1048576|are free");
    assert_fails(acu_buffer_create_from(pool, 2 * MIB, &more), ACU_ERR_DEVICE_MEMORY, "2097152");
    acu_buffer_release(small);
    /* Cached memory of any size is given back to make room. */
    more = buffer_from(pool, 1000 * KIB);
    acu_pool_statistics stats = stats_of(pool);
    assert_int_equal(stats.limit, MIB);
    assert_true(stats.held <= MIB);
    assert_true(stats.held_high <= MIB);
    assert_int_equal(stats.failures, 2);
    assert_true(stats.retries >= 2);
    assert_int_equal(stats.trimmed, 640 * KIB);
    assert_works(acu_pool_set_limits(pool, 0, 0));
    small = buffer_from(pool, 640 * KIB);
    acu_buffer_release(more);
    acu_buffer_release(small);
    acu_pool_release(pool);
}

static void what_is_not_to_be_kept_goes_when_idle(void **state)
{
    (void)state;
    if (!device->pool)
        skip();
    acu_pool *pool = pool_with((acu_pool_options){.keep = ACU_KEEP_NONE});
    int64_t before = acu_driver_live(ACU_DRIVER_KIND_MEMORY);
    acu_tensor *x = NULL;
    assert_works(acu_sync(device, acu_with_pool(pool, acu_zeros(ACU_U8, ACU_SHAPE(MIB))), &x));
    assert_works(acu_device_wait(device, ACU_FOREVER));
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_MEMORY), before + 1);
    assert_int_equal(stats_of(pool).in_use, MIB);
    acu_tensor_release(x);
    while (acu_driver_live(ACU_DRIVER_KIND_MEMORY) != before) /* unless acuda's thread was faster */
        sched_yield();
    /* The same if it was released before that. */
    acu_future *future = NULL;
    acu_op *op = acu_dup(acu_with_pool(pool, acu_zeros(ACU_U8, ACU_SHAPE(MIB))));
    assert_works(acu_submit(device, op, NULL, &future));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    acu_future_release(future);
    assert_works(acu_device_wait(device, ACU_FOREVER));
    while (stats_of(pool).cached) /* by the thread that saw the end, perhaps one of acuda's */
        sched_yield();
    acu_pool_release(pool);
}

/* It is freed behind its allocation: nobody asks later whether that is complete. */
static void what_was_never_used_goes_when_idle(void **state)
{
    (void)state;
    if (!device->pool)
        skip();
    acu_pool *pool = pool_with((acu_pool_options){.keep = ACU_KEEP_NONE});
    acu_buffer *buffers[4];
    test_gate_close(device, device->alloc->raw);
    for (size_t i = 0; i < 4; i++)
        buffers[i] = buffer_from(pool, MIB);
    for (size_t i = 0; i < 4; i++)
        acu_buffer_release(buffers[i]);
    acu_buffer_release(buffer_from(pool, 1)); /* the smallest block, too */
    acu_pool_statistics stats = stats_of(pool);
    test_gate_open();
    assert_int_equal(stats.cached, 0);
    assert_int_equal(stats.held, 0);
    acu_pool_release(pool);
}

static void trimming_gives_back_what_is_idle(void **state)
{
    (void)state;
    acu_pool *pool = acu_device_pool(device);
    acu_buffer *buffers[4];
    for (size_t i = 0; i < 4; i++)
        buffers[i] = buffer_from(pool, (i + 1) * MIB);
    for (size_t i = 0; i < 4; i++)
        acu_buffer_release(buffers[i]);
    settle();
    size_t freed = 0;
    assert_works(acu_pool_trim(pool, 3 * MIB, &freed));
    assert_int_equal(freed, 7 * MIB); /* the two largest */
    assert_int_equal(stats_of(pool).cached, 3 * MIB);
    assert_works(acu_pool_trim(pool, 0, &freed));
    assert_int_equal(freed, 3 * MIB);
    assert_int_equal(stats_of(pool).held, 0);
    test_quiet(device);
    assert_works(acu_pool_trim(pool, 0, NULL));
    assert_int_equal(stats_of(pool).reserved, 0);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_MEMORY), 0);
}

/* The driver has no memory, but the cache has some in other sizes. */
static void the_cache_is_given_back_where_the_driver_has_none(void **state)
{
    (void)state;
    acu_pool *own = pool_with((acu_pool_options){.limit = 0}), *pool = acu_device_pool(device);
    acu_buffer_release(buffer_from(pool, MIB));
    acu_buffer_release(buffer_from(own, 2 * MIB));
    settle();
    acu_driver_fault fault = {.size = sizeof fault,
                              .call = device->pool ? ACU_CALL_MemAllocFromPoolAsync
                                                   : ACU_CALL_MemAlloc,
                              .result = ACU_CUDA_ERROR_OUT_OF_MEMORY};
    assert_works(acu_driver_fail(&fault));
    acu_buffer *buffer = buffer_from(pool, 3 * MIB);
    assert_int_equal(acu_driver_fault_hits(), 1);
    assert_int_equal(stats_of(pool).retries, 1);
    assert_int_equal(stats_of(pool).trimmed, MIB);
    assert_int_equal(stats_of(own).trimmed, 2 * MIB);
    acu_buffer_release(buffer);
    acu_pool_release(own);
}

/* ---- pools of the program's own ---- */

static void a_pool_outlives_its_handle_not_its_memory(void **state)
{
    (void)state;
    int64_t pools = acu_driver_live(ACU_DRIVER_KIND_POOL);
    acu_pool *pool = pool_with((acu_pool_options){.limit = 0});
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_POOL), pools + (device->pool != NULL));
    acu_buffer *buffer = buffer_from(pool, MIB);
    acu_pool_release(acu_pool_retain(pool));
    acu_pool_release(pool);
    char sent[16] = "still here", got[16];
    test_quiet(device);
    test_put(device, acu_buffer_address(buffer), sent, sizeof sent);
    test_get(device, got, acu_buffer_address(buffer), sizeof got);
    assert_string_equal(got, sent);
    acu_buffer_release(buffer);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_POOL), pools);
}

/* Work in flight keeps its memory, even if the pool has ended. */
static void a_pool_ends_while_its_memory_is_in_flight(void **state)
{
    (void)state;
    acu_stream *stream = NULL;
    assert_works(acu_stream_create(device, 0, &stream));
    acu_pool *pool = pool_with((acu_pool_options){.limit = 0});
    acu_submit_options options = {.size = sizeof options, .stream = stream, .pool = pool};
    acu_tensor *kept = NULL;
    acu_future *future = NULL;
    assert_works(acu_tensor_alloc(device, ACU_U8, ACU_SHAPE(MIB), &kept));
    test_gate_close(device, acu_stream_raw(stream));
    acu_op *op = acu_copy(kept, acu_full(ACU_SHAPE(MIB), acu_u8(42)));
    assert_works(acu_submit(device, op, &options, &future));
    assert_int_equal(stats_of(pool).misses, 1);
    acu_future_release(future);
    acu_pool_release(pool);
    acu_buffer *other = NULL;
    assert_works(acu_buffer_create(device, MIB, &other));
    test_gate_open();
    unsigned char *got = malloc(MIB);
    assert_works(acu_read_sync(kept, got, MIB));
    for (int i = 0; i < MIB; i++)
        if (got[i] != 42)
            fail_msg("byte %d is %d", i, got[i]);
    free(got);
    acu_buffer_release(other);
    acu_tensor_release(kept);
    acu_stream_release(stream);
}

static void ops_take_the_pool_they_are_given(void **state)
{
    (void)state;
    acu_pool *outer = pool_with((acu_pool_options){.limit = 0});
    acu_pool *inner = pool_with((acu_pool_options){.limit = 0});
    acu_pool *pinned = pool_with((acu_pool_options){.kind = ACU_MEMORY_PINNED});
    acu_op *x = acu_with_pool(inner, acu_zeros(ACU_F32, ACU_SHAPE(1000)));
    acu_tensor *host = NULL;
    acu_op *op = acu_to_host(acu_with_pool(outer, acu_dup(x)));
    assert_works(acu_sync(device, acu_with_pool(pinned, op), &host));
    assert_int_equal(stats_of(inner).misses, 1);
    assert_int_equal(stats_of(outer).misses, 1);
    assert_int_equal(stats_of(pinned).in_use, 4096);
    assert_ptr_equal(acu_pool_device(pinned), device);
    assert_int_equal(acu_pool_kind(pinned), ACU_MEMORY_PINNED);
    acu_tensor_release(host);
    acu_tensor *t = NULL;
    assert_works(acu_tensor_alloc_from(inner, ACU_F64, ACU_SHAPE(10, 10), &t));
    assert_int_equal(stats_of(inner).in_use, 1024);
    acu_tensor_release(t);
    acu_pool_release(inner);
    acu_pool_release(outer);
    acu_pool_release(pinned);
}

static void memory_is_given_to_the_program(void **state)
{
    (void)state;
    acu_pool *pool = acu_device_pool(device);
    acu_tensor *x = NULL;
    CUdeviceptr address = 0;
    assert_works(acu_sync(device, acu_full(ACU_SHAPE(1000), acu_u8(9)), &x));
    acu_buffer *buffer = acu_buffer_retain(acu_tensor_buffer(x)), *pinned = NULL;
    assert_fails(acu_buffer_detach(buffer, &address), ACU_ERR_SHARED, "the buffer too");
    acu_tensor_release(x);
    CUdeviceptr was = acu_buffer_address(buffer);
    assert_works(acu_buffer_detach(buffer, &address));
    assert_int_equal(address, was);
    assert_int_equal(stats_of(pool).held, 0);
    unsigned char last = 0;
    test_get(device, &last, address + 999, 1);
    assert_int_equal(last, 9);
    test_enter(device);
    assert_int_equal(acu_driver()->MemFree(address), 0);
    test_leave(device);
    assert_works(acu_buffer_create_pinned(device, 100, &pinned));
    assert_fails(acu_buffer_detach(pinned, &address), ACU_ERR_INVALID, "only device memory");
    acu_buffer_release(pinned);
    assert_fails(acu_buffer_detach(pinned, &address), ACU_ERR_BAD_HANDLE, "released");
}

static void what_is_in_flight_is_not_given(void **state)
{
    (void)state;
    acu_stream *stream = NULL;
    acu_buffer *buffer = buffer_from(acu_device_pool(device), 4096);
    acu_tensor *x = NULL;
    CUdeviceptr address = 0;
    assert_works(acu_stream_create(device, 0, &stream));
    assert_works(acu_tensor_create(buffer, 0, ACU_U8, ACU_SHAPE(4096), &x));
    test_gate_close(device, acu_stream_raw(stream));
    acu_submit_options options = {.size = sizeof options, .stream = stream};
    assert_works(acu_submit(device, acu_fill(x, acu_u8(1)), &options, NULL));
    acu_tensor_release(x);
    assert_fails(acu_buffer_detach(buffer, &address), ACU_ERR_BUSY, "wait for it");
    test_gate_open();
    assert_works(acu_device_wait(device, ACU_FOREVER));
    assert_works(acu_buffer_detach(buffer, &address));
    test_enter(device);
    assert_int_equal(acu_driver()->MemFree(address), 0);
    test_leave(device);
    acu_stream_release(stream);
}

static void wrong_pools_are_refused(void **state)
{
    (void)state;
    acu_pool *pool = NULL;
    acu_pool_options options = {.size = sizeof options, .kind = ACU_MEMORY_HOST};
    assert_fails(acu_pool_create(device, &options, &pool), ACU_ERR_INVALID, "kind 2");
    options = (acu_pool_options){.size = sizeof options, .write_combined = true};
    assert_fails(acu_pool_create(device, &options, &pool), ACU_ERR_INVALID, "write-combined");
    assert_fails(acu_pool_create(device, NULL, NULL), ACU_ERR_INVALID, "nowhere");
    acu_pool_statistics stats = {0};
    assert_fails(acu_pool_stats(acu_device_pool(device), &stats), ACU_ERR_INVALID, "size");
    acu_buffer *buffer = NULL;
    assert_fails(acu_buffer_create_from(acu_device_pool(device), 0, &buffer), ACU_ERR_INVALID,
                 "0 bytes");
    assert_fails(acu_buffer_create_from(NULL, 1, &buffer), ACU_ERR_INVALID, "pool is NULL");
}

static void a_pool_of_another_device_is_refused(void **state)
{
    (void)state;
    acu_device *two[2];
    test_open_n(two, 2);
    acu_pool *pool = NULL;
    assert_works(acu_pool_create(two[1], NULL, &pool));
    assert_fails(acu_submit(two[0], acu_with_pool(pool, acu_zeros(ACU_F32, ACU_SHAPE(4))), NULL,
                            NULL),
                 ACU_ERR_DEVICE, "pool of device 1|on device 0");
    assert_works(acu_sync(two[1], acu_with_pool(pool, acu_zeros(ACU_F32, ACU_SHAPE(4))), NULL));
    acu_pool_release(pool);
    test_close(two[1]);
    test_close(two[0]);
}

static void a_reset_ends_the_pools_of_before(void **state)
{
    (void)state;
    acu_device *old = test_open(), *fresh = NULL;
    acu_pool *pool = NULL;
    acu_buffer *buffer = NULL, *more = NULL;
    assert_works(acu_pool_create(old, NULL, &pool));
    assert_works(acu_buffer_create_from(pool, MIB, &buffer));
    acu_buffer_release(buffer);
    assert_works(acu_buffer_create_from(pool, 2 * MIB, &buffer));
    acu_reset_options options = {.size = sizeof options,
                                 .nothing_else_in_this_process_uses_the_device = true};
    assert_works(acu_device_reset(old, &options, &fresh));
    assert_fails(acu_buffer_create_from(pool, MIB, &more), ACU_ERR_STALE, "was reset");
    assert_fails(acu_pool_trim(pool, 0, NULL), ACU_ERR_STALE, "was reset");
    assert_works(acu_sync(fresh, acu_zeros(ACU_U8, ACU_SHAPE(MIB)), NULL));
    assert_fails(acu_submit(fresh, acu_with_pool(pool, acu_zeros(ACU_U8, ACU_SHAPE(8))), NULL,
                            NULL),
                 ACU_ERR_STALE, "was reset");
    acu_buffer_release(buffer);
    acu_pool_release(pool);
    test_close(old);
    test_close(fresh);
    /* Driver objects that went with the context stay counted, so this test is the last one. */
    char left[200];
    assert_int_equal(acu_debug_live_report(left, sizeof left), 0);
    assert_int_equal(acu_debug_live_blocks(), 0);
}

/* ---- what it holds while it works ---- */

static struct {
    acu_driver_table real;
    pthread_t here;
    _Atomic(int) freed_here;
} calls;

static unsigned free_async(CUdeviceptr address, CUstream stream)
{
    if (pthread_equal(pthread_self(), calls.here))
        atomic_fetch_add(&calls.freed_here, 1);
    return calls.real.MemFreeAsync(address, stream);
}

static void watch_frees(bool on)
{
    if (!on) {
        acui_raw = calls.real;
        return;
    }
    calls.real = acui_raw;
    calls.here = pthread_self();
    atomic_store(&calls.freed_here, 0);
    acui_raw.MemFreeAsync = free_async;
}

/* Allocates buffers of random sizes, one at a time. */
static void use_random_sizes(acu_pool *pool, int times)
{
    static test_random random = {5};
    for (int i = 0; i < times; i++) {
        size_t doubling = (size_t)MIB << test_below(&random, 6);
        acu_buffer_release(buffer_from(pool, doubling + test_below(&random, doubling)));
        if (i % 50 == 0) {
            assert_works(acu_device_wait(device, ACU_FOREVER)); /* for acuda's threads too */
            acu_pool_statistics stats = stats_of(pool);
            assert_true(stats.held <= stats.bound);
        }
    }
    assert_works(acu_device_wait(device, ACU_FOREVER));
}

static void random_sizes_do_not_pile_up(void **state)
{
    (void)state;
    acu_pool *pool = pool_with((acu_pool_options){.limit = 0});
    watch_frees(true);
    use_random_sizes(pool, 500);
    acu_pool_statistics stats = stats_of(pool);
    assert_true(stats.in_use_high < 65 * MIB + 4 * MIB);
    assert_int_equal(stats.bound, 2 * stats.in_use_high + 256 * MIB);
    assert_true(stats.held <= stats.bound && stats.trimmed > 0 && stats.hits > 100);
    assert_int_equal(atomic_load(&calls.freed_here), 0);
    /* A peak that was long ago does not count any more. */
    acu_buffer_release(buffer_from(pool, 200 * MIB));
    assert_true(stats_of(pool).bound > 600 * MIB);
    for (int i = 0; i < 2 * 4096; i++)
        acu_buffer_release(buffer_from(pool, 4096));
    use_random_sizes(pool, 200);
    for (int i = 0; i < 2 * 4096; i++)
        acu_buffer_release(buffer_from(pool, 4096));
    use_random_sizes(pool, 200);
    assert_true(stats_of(pool).bound < 400 * MIB);
    assert_works(acu_pool_set_limits(pool, 0, ACU_KEEP_ALL));
    size_t trimmed = stats_of(pool).trimmed;
    use_random_sizes(pool, 200);
    assert_int_equal(stats_of(pool).bound, SIZE_MAX);
    assert_int_equal(stats_of(pool).trimmed, trimmed);
    watch_frees(false);
    acu_pool_release(pool);
}

/* Much more is cached than is in use at one time, but all of it is used again and again. */
static void sizes_that_repeat_are_kept(void **state)
{
    (void)state;
    enum { SIZES = 24, ROUNDS = 50 };
    acu_pool *pool = pool_with((acu_pool_options){.limit = 0});
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < SIZES; i++)
            acu_buffer_release(buffer_from(pool, (8 + i) * MIB / 2));
    assert_works(acu_device_wait(device, ACU_FOREVER));
    acu_pool_statistics stats = stats_of(pool);
    assert_true(stats.held > 3 * stats.in_use_high);
    assert_true(stats.misses < 2 * SIZES); /* the first allocations may not be complete at once */
    assert_int_equal(stats.trimmed, 0);
    acu_pool_release(pool);
}

/* ---- page-locked memory ---- */

static void small_pinned_blocks_share_an_allocation(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    acu_pool *pool = acu_device_pinned_pool(device, false);
    acu_buffer *buffers[COUNT];
    for (int i = 0; i < COUNT; i++) {
        buffers[i] = buffer_from(pool, 4000);
        memset(acu_buffer_host(buffers[i]), i, 4000);
    }
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_PINNED), 1);
    for (int i = 0; i < COUNT; i++) {
        unsigned char last = 0;
        assert_int_equal(((unsigned char *)acu_buffer_host(buffers[i]))[3999], i);
        test_get(device, &last, acu_buffer_address(buffers[i]) + 3999, 1);
        assert_int_equal(last, i);
        if (i)
            acu_buffer_release(buffers[i]);
    }
    size_t freed = 1;
    assert_works(acu_pool_trim(pool, 0, &freed));
    assert_int_equal(freed, 0); /* one of it is in use */
    acu_buffer_release(buffers[0]);
    assert_works(acu_pool_trim(pool, 0, &freed));
    assert_int_equal(freed, 512 * KIB);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_PINNED), 0);
}

static void pinned_memory_has_bounds_too(void **state)
{
    (void)state;
    acu_pool *pool = pool_with((acu_pool_options){
        .kind = ACU_MEMORY_PINNED, .limit = 256 * KIB, .write_combined = true});
    acu_buffer *buffer = buffer_from(pool, 1000), *more = NULL; /* from a smaller slab */
    assert_int_equal(acu_buffer_kind(buffer), ACU_MEMORY_PINNED);
    assert_true(stats_of(pool).held <= 256 * KIB);
    assert_fails(acu_buffer_create_from(pool, 200 * KIB, &more), ACU_ERR_NO_MEMORY,
                 "asked for 204800 bytes of page-locked|1024 in use|limit");
    acu_buffer_release(buffer);
    more = buffer_from(pool, 200 * KIB);
    ((char *)acu_buffer_host(more))[0] = 1;
    acu_buffer_release(more);
    acu_pool_release(pool);
    /* The bytes would fit, but the block for them does not. */
    pool = pool_with((acu_pool_options){.kind = ACU_MEMORY_PINNED, .limit = 1020 * KIB});
    buffer = buffer_from(pool, 512 * KIB);
    assert_fails(acu_buffer_create_from(pool, 507 * KIB, &more), ACU_ERR_NO_MEMORY,
                 "asked for 519168 bytes of page-locked|524288 in use and 0 cached, and its limit");
    acu_buffer_release(buffer);
    acu_pool_release(pool);
}

/* What other threads are getting or giving back at the moment does not count. */
static void what_is_held_is_in_use_or_cached(void **state)
{
    (void)state;
    acu_pool *pool = acu_device_pool(device);
    acu_buffer *buffer = buffer_from(pool, MIB);
    assert_true(acui_source_reserve(pool, MIB)); /* as a request does before it asks the driver */
    assert_int_equal(stats_of(pool).held, MIB);
    acui_source_unreserve(pool, MIB);
    assert_int_equal(stats_of(pool).held_high, MIB);
    acu_buffer_release(buffer);
    pool = acu_device_pinned_pool(device, false);
    test_loads_hold(device);
    assert_works(acui_buffer_soon(pool, 1000, &buffer));
    acu_pool_statistics stats = stats_of(pool);
    test_loads_go();
    assert_int_equal(stats.held, 1024);
    assert_int_equal(stats.held_high, 1024);
    assert_works(acui_growth_await(buffer));
    stats = stats_of(pool);
    assert_int_equal(stats.held, 128 * KIB); /* the whole allocation that it is a part of */
    assert_int_equal(stats.held, stats.in_use + stats.cached);
    assert_int_equal(stats.held_high, stats.held);
    acu_buffer_release(buffer);
}

/* Also if the pools have looked at their slabs equally often, so that the counts of the pool and of
 * its heir agree. */
static void memory_of_a_pool_that_ended_can_be_given_back(void **state)
{
    (void)state;
    acu_pool *own = acu_device_pinned_pool(device, false);
    for (int looks = 1; looks < 5; looks++) {
        acu_pool *pool = pool_with((acu_pool_options){.kind = ACU_MEMORY_PINNED});
        acu_buffer *buffer = buffer_from(pool, 1000);
        for (int i = 0; i < looks; i++)
            assert_works(acu_pool_trim(pool, 0, NULL)); /* it is in use */
        acu_buffer_release(buffer);
        acu_pool_release(pool);
        assert_works(acu_pool_trim(own, 0, NULL));
        assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_PINNED), 0);
    }
}

int main(void)
{
    setenv("SOFTCUDA_EXACT", "0", 1); /* what pools keep is the subject */
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(what_is_kept_comes_without_the_driver),
        DEVICE_TEST(large_blocks_serve_what_is_little_smaller),
        DEVICE_TEST(what_work_in_flight_uses_is_not_handed_out),
        DEVICE_TEST(a_limit_is_kept_and_told_in_numbers),
        DEVICE_TEST(what_is_not_to_be_kept_goes_when_idle),
        DEVICE_TEST(what_was_never_used_goes_when_idle),
        DEVICE_TEST(trimming_gives_back_what_is_idle),
        DEVICE_TEST(the_cache_is_given_back_where_the_driver_has_none),
        DEVICE_TEST(a_pool_outlives_its_handle_not_its_memory),
        DEVICE_TEST(a_pool_ends_while_its_memory_is_in_flight),
        DEVICE_TEST(ops_take_the_pool_they_are_given),
        DEVICE_TEST(memory_is_given_to_the_program),
        DEVICE_TEST(what_is_in_flight_is_not_given),
        DEVICE_TEST(wrong_pools_are_refused),
        DEVICE_TEST(random_sizes_do_not_pile_up),
        DEVICE_TEST(sizes_that_repeat_are_kept),
        DEVICE_TEST(small_pinned_blocks_share_an_allocation),
        DEVICE_TEST(pinned_memory_has_bounds_too),
        DEVICE_TEST(what_is_held_is_in_use_or_cached),
        DEVICE_TEST(memory_of_a_pool_that_ended_can_be_given_back),
        cmocka_unit_test(a_pool_of_another_device_is_refused),
        cmocka_unit_test(a_reset_ends_the_pools_of_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
