/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Page-locked memory for results, if the cache has none: submitting threads do not wait for it. */
#include "driver/table.h"
#include "memory/memory.h"
#include "memory/pool.h"
#include "support/one_device.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

enum { KIB = 1024, MIB = 1024 * KIB };

/* ---- between the library and the driver: which threads make slow calls, and holding these up
 * ---- */

static struct {
    acu_driver_table real;
    pthread_t submitter;
    pthread_mutex_t lock;
    pthread_cond_t opened;
    bool closed;
    _Atomic(bool) watching;
    _Atomic(int) here, registered; /* slow calls by the submitting thread; all registrations, ... */
    size_t bytes[8];               /* ... the first of them; the lock */
    unsigned refusal;              /* of those that were held up; the lock */
} calls = {.lock = PTHREAD_MUTEX_INITIALIZER, .opened = PTHREAD_COND_INITIALIZER};

static void look(void)
{
    if (atomic_load(&calls.watching) && pthread_equal(pthread_self(), calls.submitter))
        atomic_fetch_add(&calls.here, 1);
}

static unsigned host_alloc(void **pointer, size_t bytes, unsigned flags)
{
    look();
    return calls.real.MemHostAlloc(pointer, bytes, flags);
}

static unsigned free_host(void *pointer)
{
    look();
    return calls.real.MemFreeHost(pointer);
}

static unsigned host_register(void *pointer, size_t bytes, unsigned flags)
{
    if (bytes > 4096)
        look();
    pthread_mutex_lock(&calls.lock);
    while (calls.closed)
        pthread_cond_wait(&calls.opened, &calls.lock);
    unsigned refusal = calls.refusal;
    if (!refusal && bytes > 4096) { /* a page is for flags */
        int n = atomic_fetch_add(&calls.registered, 1);
        if (n < 8)
            calls.bytes[n] = bytes;
    }
    pthread_mutex_unlock(&calls.lock);
    if (refusal)
        return refusal;
    return calls.real.MemHostRegister(pointer, bytes, flags);
}

static unsigned host_unregister(void *pointer)
{
    look();
    return calls.real.MemHostUnregister(pointer);
}

static void hold_growth(void)
{
    pthread_mutex_lock(&calls.lock);
    calls.closed = true;
    pthread_mutex_unlock(&calls.lock);
}

static void end_growth(unsigned refusal)
{
    pthread_mutex_lock(&calls.lock);
    calls.closed = false;
    calls.refusal = refusal;
    pthread_cond_broadcast(&calls.opened);
    pthread_mutex_unlock(&calls.lock);
}

static void let_grow(void)
{
    end_growth(ACU_CUDA_SUCCESS);
}

static int setup(void **state)
{
    device_setup(state);
    calls.real = acui_raw;
    calls.submitter = pthread_self();
    acui_raw.MemHostAlloc = host_alloc;
    acui_raw.MemFreeHost = free_host;
    acui_raw.MemHostRegister = host_register;
    acui_raw.MemHostUnregister = host_unregister;
    atomic_store(&calls.here, 0);
    atomic_store(&calls.registered, 0);
    atomic_store(&calls.watching, true);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    atomic_store(&calls.watching, false);
    let_grow();
    test_close(device);
    acui_raw = calls.real;
    test_leaks_none();
    return 0;
}

/* ---- helpers ---- */

static acu_op *bytes_of(size_t bytes, unsigned char value)
{
    return acu_to_host(acu_full(ACU_SHAPE((int64_t)bytes), acu_u8(value)));
}

static acu_future *submit(acu_op *op)
{
    acu_future *future = NULL;
    assert_works(acu_submit(device, op, NULL, &future));
    return future;
}

static acu_tensor *tensor_of(acu_future *future)
{
    acu_tensor *tensor = NULL;
    assert_works(acu_future_take(future, 0, &tensor));
    return tensor;
}

static void expect(const acu_tensor *tensor, size_t bytes, unsigned char want)
{
    const unsigned char *at = acu_tensor_host(tensor);
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != want)
            fail_msg("byte %zu of %zu is %d, not %d", i, bytes, at[i], want);
}

static acu_pool_statistics stats_of(acu_pool *pool)
{
    acu_pool_statistics stats = {.size = sizeof stats};
    assert_works(acu_pool_stats(pool, &stats));
    return stats;
}

/* ---- not waiting ---- */

static void a_submission_makes_no_slow_call(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 4096, 100 * KIB, 5 * MIB + 1};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    acu_future *futures[SIZES];
    acu_tensor *tensors[SIZES];
    hold_growth();
    for (unsigned i = 0; i < SIZES; i++) {
        futures[i] = submit(bytes_of(sizes[i], (unsigned char)(i + 1)));
        tensors[i] = tensor_of(futures[i]);
        assert_non_null(acu_tensor_host(tensors[i])); /* known at once, and the host's to use: */
        assert_int_equal(acu_tensor_address(tensors[i]), 0);
        assert_int_equal(acu_future_poll(futures[i]), ACU_NOT_READY);
    }
    assert_int_equal(atomic_load(&calls.registered), 0);
    let_grow();
    for (unsigned i = 0; i < SIZES; i++) {
        void *host = acu_tensor_host(tensors[i]);
        assert_works(acu_future_wait(futures[i], ACU_FOREVER));
        assert_ptr_equal(acu_tensor_host(tensors[i]), host);
        assert_int_not_equal(acu_tensor_address(tensors[i]), 0);
        expect(tensors[i], sizes[i], (unsigned char)(i + 1));
        acu_tensor_release(tensors[i]);
        acu_future_release(futures[i]);
    }
    assert_works(acu_device_wait(device, ACU_FOREVER)); /* the thread that makes the memory holds it
                                                         * too, ... */
    while (stats_of(acu_device_pinned_pool(device, false)).in_use)
        sched_yield(); /* ... and so does the thread that notices the end of the work */
    acu_future *warm = submit(bytes_of(100 * KIB, 9)); /* from the cache */
    assert_works(acu_future_wait(warm, ACU_FOREVER));
    acu_future_release(warm);
    if (atomic_load(&calls.registered) != SIZES)
        fail_msg("%d registrations; of %zu, %zu, %zu, %zu, %zu bytes, ...",
                 atomic_load(&calls.registered), calls.bytes[0], calls.bytes[1], calls.bytes[2],
                 calls.bytes[3], calls.bytes[4]);
    assert_int_equal(atomic_load(&calls.here), 0);
}

/* Requests that come while memory of that size is being page-locked get parts of the same
 * allocation. */
static void many_share_what_is_on_its_way(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    acu_future *futures[COUNT];
    hold_growth();
    for (int i = 0; i < COUNT; i++)
        futures[i] = submit(bytes_of(4000, (unsigned char)i));
    acu_pool_statistics stats = stats_of(acu_device_pinned_pool(device, false));
    assert_int_equal(stats.misses, 1);
    assert_int_equal(stats.in_use, COUNT * 4096);
    let_grow();
    for (int i = 0; i < COUNT; i++) {
        assert_works(acu_future_wait(futures[i], ACU_FOREVER));
        acu_tensor *tensor = tensor_of(futures[i]);
        expect(tensor, 4000, (unsigned char)i);
        acu_tensor_release(tensor);
        acu_future_release(futures[i]);
    }
    assert_int_equal(atomic_load(&calls.registered), 1);
}

/* Work on other devices and streams, host work and copies back are ordered behind the page-locking,
 * as they are behind the data. */
static void what_uses_it_comes_behind(void **state)
{
    (void)state;
    char text[2000];
    acu_submit_options options = {.size = sizeof options, .explain = true};
    acu_future *first = NULL;
    hold_growth();
    assert_works(acu_submit(device, bytes_of(MIB, 3), &options, &first));
    acu_tensor *host = tensor_of(first), *seen = NULL;
    acu_future *back = submit(acu_to_device(device, acu_value(host)));
    acu_future *over = submit(acu_copy(host, acu_full(ACU_SHAPE(MIB), acu_u8(8))));
    assert_works(acu_explain(first, ACU_EXPLAIN_TEXT, text, sizeof text, NULL));
    assert_non_null(strstr(text, "the making of its memory"));
    assert_int_equal(acu_future_poll(back), ACU_NOT_READY);
    let_grow();
    assert_works(acu_future_wait(over, ACU_FOREVER));
    expect(host, MIB, 8);
    acu_tensor *copy = tensor_of(back);
    assert_works(acu_sync(device, acu_to_host(acu_value(copy)), &seen));
    expect(seen, MIB, 3);
    acu_tensor_release(seen);
    acu_tensor_release(copy);
    acu_tensor_release(host);
    acu_future_release(first);
    acu_future_release(back);
    acu_future_release(over);
}

/* ---- room ---- */

static void what_makes_room_goes_elsewhere_too(void **state)
{
    (void)state;
    acu_pool_options options = {
        .size = sizeof options, .kind = ACU_MEMORY_PINNED, .limit = 3 * MIB};
    acu_pool *pool = NULL;
    acu_buffer *buffer = NULL;
    assert_works(acu_pool_create(device, &options, &pool));
    atomic_store(&calls.watching, false);
    assert_works(acu_buffer_create_from(pool, 2 * MIB, &buffer));
    acu_buffer_release(buffer);
    atomic_store(&calls.watching, true);
    acu_future *future = submit(acu_with_pool(pool, bytes_of(3 * MIB, 4)));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_int_equal(stats_of(pool).held, 3 * MIB);
    assert_int_equal(stats_of(pool).trimmed, 2 * MIB);
    acu_future *more = NULL;
    assert_fails(acu_submit(device, acu_with_pool(pool, bytes_of(5000, 4)), NULL, &more),
                 ACU_ERR_NO_MEMORY, "asked for 5000 bytes of page-locked|limit");
    assert_int_equal(atomic_load(&calls.here), 0);
    atomic_store(&calls.watching, false);
    acu_future_release(future);
    acu_pool_release(pool);
}

/* ---- failing ---- */

static void fail_registering(unsigned result)
{
    acu_driver_fault fault = {.size = sizeof fault, .call = ACU_CALL_MemHostRegister,
                              .from_then_on = true, .result = result};
    assert_works(acu_driver_fail(&fault));
}

static void a_failure_is_that_of_the_submission(void **state)
{
    (void)state;
    fail_registering(ACU_CUDA_ERROR_OUT_OF_MEMORY);
    acu_future *future = submit(bytes_of(MIB, 1));
    acu_tensor *tensor = tensor_of(future), *back = NULL;
    assert_fails(acu_future_wait(future, ACU_FOREVER), ACU_ERR_NO_MEMORY,
                 "to_host|asked for 1048576 bytes of page-locked host memory|0 cached");
    acu_driver_fail_clear();
    /* The memory stays unusable, for work that would read it and for work that would overwrite
     * it. */
    assert_fails(acu_sync(device, acu_to_device(device, acu_value(tensor)), &back),
                 ACU_ERR_DEPENDENCY, "asked for 1048576 bytes");
    assert_fails(acu_sync(device, acu_copy(tensor, acu_ones(ACU_U8, ACU_SHAPE(MIB))), NULL),
                 ACU_ERR_NO_MEMORY, "copy|asked for 1048576 bytes");
    acu_pool *pool = acu_device_pinned_pool(device, false);
    assert_int_equal(stats_of(pool).held, 0);
    assert_int_equal(stats_of(pool).failures, 1);
    acu_tensor_release(tensor);
    acu_future_release(future);
    assert_works(acu_device_wait(device, ACU_FOREVER)); /* the thread that makes the memory holds it
                                                         * too */
    assert_int_equal(stats_of(pool).in_use, 0);
    assert_works(acu_sync(device, bytes_of(MIB, 2), &back)); /* the next one is fine */
    expect(back, MIB, 2);
    acu_tensor_release(back);
}

/* Work that was planned before the failure, kernels included, fails with it. */
static void work_that_waits_fails_with_it(void **state)
{
    (void)state;
    hold_growth();
    acu_future *first = submit(bytes_of(MIB, 1));
    acu_tensor *host = tensor_of(first);
    acu_op *sum = acu_add(acu_ones(ACU_U8, ACU_SHAPE(MIB)), 1);
    acu_future *kernel = submit(acu_into(host, sum));
    acu_future *copy = submit(acu_copy(host, acu_ones(ACU_U8, ACU_SHAPE(MIB))));
    end_growth(ACU_CUDA_ERROR_OUT_OF_MEMORY);
    assert_fails(acu_future_wait(kernel, ACU_FOREVER), ACU_ERR_NO_MEMORY,
                 "add|asked for 1048576 bytes");
    assert_fails(acu_future_wait(copy, ACU_FOREVER), ACU_ERR_NO_MEMORY,
                 "copy|asked for 1048576 bytes");
    assert_fails(acu_future_wait(first, ACU_FOREVER), ACU_ERR_NO_MEMORY, "to_host");
    let_grow();
    acu_tensor_release(host);
    acu_future_release(first);
    acu_future_release(kernel);
    acu_future_release(copy);
}

static void other_failures_keep_their_words(void **state)
{
    (void)state;
    fail_registering(ACU_CUDA_ERROR_NOT_PERMITTED);
    acu_future *future = submit(bytes_of(100, 1));
    assert_fails(acu_future_wait(future, ACU_FOREVER), ACU_ERR_DRIVER, "cuMemHostRegister");
    acu_driver_fail_clear();
    acu_future_release(future);
}

/* Memory for a submission that is planned and then refused, and for one that is given up while the
 * memory is being made. */
static void what_nobody_wants_is_kept_for_others(void **state)
{
    (void)state;
    hold_growth();
    acu_op *bad = acu_launch(NULL, ACU_BLOCK(1), acu_u32(0));
    acu_future *future = NULL;
    assert_fails(acu_submit(device, acu_zip(bytes_of(2 * MIB, 1), bad), NULL, &future),
                 ACU_ERR_INVALID, "kernel");
    future = submit(bytes_of(MIB, 1));
    assert_works(acu_future_cancel(future));
    assert_fails(acu_future_wait(future, ACU_FOREVER), ACU_ERR_CANCELLED, "");
    acu_future_release(future);
    let_grow();
    assert_works(acu_device_wait(device, ACU_FOREVER));
    assert_int_equal(stats_of(acu_device_pinned_pool(device, false)).cached, 3 * MIB);
}

/* ---- a graph needs all addresses when it is made, which may take long ---- */

static bool is_growing(acu_pool *pool)
{
    acui_lock_take(&pool->lock);
    bool growing = pool->growing;
    acui_lock_give(&pool->lock);
    return growing;
}

static bool is_waited_for(acu_pool *pool, const acui_slab *slab)
{
    acui_lock_take(&pool->lock);
    bool waited_for = slab->growth;
    acui_lock_give(&pool->lock);
    return waited_for;
}

/* A thread that waits for the memory goes on only when the address is known, or the reason why
 * there is none. The thread that makes the memory is held up before that, by the lock that it needs
 * to tell the outcome. */
static void a_wait_ends_when_the_outcome_is_known(void **state)
{
    (void)state;
    static const unsigned results[] = {ACU_CUDA_SUCCESS, ACU_CUDA_ERROR_OUT_OF_MEMORY};
    for (size_t i = 0; i < 2; i++) {
        hold_growth();
        acu_future *future = submit(bytes_of((i + 1) * MIB, 1));
        acu_tensor *tensor = tensor_of(future);
        const acui_slab *slab = tensor->buffer->block->slab;
        acu_pool *pool = acu_device_pinned_pool(device, false);
        acui_order_lock(acui_home_of(device));
        end_growth(results[i]);
        while (is_growing(pool))
            sched_yield();
        bool waited_for = is_waited_for(pool, slab);
        acui_order_unlock(acui_home_of(device));
        assert_true(waited_for);
        assert_int_equal(acu_future_wait(future, ACU_FOREVER), i ? ACU_ERR_NO_MEMORY : ACU_OK);
        assert_false(is_waited_for(pool, slab));
        let_grow();
        acu_tensor_release(tensor);
        acu_future_release(future);
    }
}

static void a_graph_waits_for_it(void **state)
{
    (void)state;
    acu_graph *graph = NULL;
    assert_works(acu_graph_load(device, bytes_of(3000, 7), NULL, &graph));
    acu_tensor *host = NULL;
    assert_works(acu_sync(device, acu_replay(graph), &host));
    expect(host, 3000, 7);
    acu_tensor_release(host);
    acu_graph_release(graph);
    fail_registering(ACU_CUDA_ERROR_OUT_OF_MEMORY);
    assert_fails(acu_graph_load(device, bytes_of(5 * MIB, 7), NULL, &graph), ACU_ERR_NO_MEMORY,
                 "asked for 5242880 bytes of page-locked");
    acu_driver_fail_clear();
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_submission_makes_no_slow_call),
        TEST(many_share_what_is_on_its_way),
        TEST(what_uses_it_comes_behind),
        TEST(what_makes_room_goes_elsewhere_too),
        TEST(a_failure_is_that_of_the_submission),
        TEST(work_that_waits_fails_with_it),
        TEST(other_failures_keep_their_words),
        TEST(what_nobody_wants_is_kept_for_others),
        TEST(a_wait_ends_when_the_outcome_is_known),
        TEST(a_graph_waits_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
