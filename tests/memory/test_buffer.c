/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Buffers: making, wrapping, releasing; where their memory comes from and goes. */
#include "memory/pool.h"
#include "memory/memory.h"
#include "support/one_device.h"

#include <pthread.h>

static void count_release(void *user)
{
    ++*(int *)user;
}

static void device_memory_is_made_and_given_back(void **state)
{
    (void)state;
    acu_buffer *buffer = NULL;
    assert_works(acu_buffer_create(device, 1000, &buffer));
    assert_int_equal(acu_buffer_bytes(buffer), 1000);
    assert_int_equal(acu_buffer_kind(buffer), ACU_MEMORY_DEVICE);
    assert_ptr_equal(acu_buffer_device(buffer), device);
    assert_null(acu_buffer_host(buffer));
    assert_true(acu_buffer_address(buffer) != 0);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_MEMORY), 1);
    test_quiet(device);
    char sent[1000], got[1000];
    memset(sent, 0x5A, sizeof sent);
    test_put(device, acu_buffer_address(buffer), sent, sizeof sent);
    test_get(device, got, acu_buffer_address(buffer), sizeof got);
    assert_memory_equal(sent, got, sizeof sent);
    acu_buffer_release(acu_buffer_retain(buffer));
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_MEMORY), 1);
    acu_buffer_release(buffer);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_MEMORY), 1); /* kept */
    size_t freed = 0;
    assert_works(acu_pool_trim(acu_device_pool(device), 0, &freed));
    assert_int_equal(freed, 1024);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_MEMORY), 0);
}

static void the_first_use_comes_behind_the_allocation(void **state)
{
    (void)state;
    acu_buffer *buffer = NULL;
    assert_works(acu_buffer_create(device, 64, &buffer));
    if (device->pool) {
        assert_int_equal(buffer->accesses.count, 1);
        const acui_access *first = &buffer->accesses.list[0];
        assert_true(first->write && first->extent.begin == 0 && first->extent.end == 64);
        assert_int_equal(first->point->state, ACUI_POINT_ISSUED);
        assert_ptr_equal(first->point->stream, device->alloc);
    }
    acu_buffer_release(buffer);
}

static void a_planned_buffer_has_an_address_when_allocated(void **state)
{
    (void)state;
    acu_buffer *buffer = NULL;
    assert_works(acui_buffer_planned(device, 256, &buffer));
    assert_int_equal(acu_buffer_address(buffer), 0);
    acu_buffer_release(buffer);
    assert_works(acui_buffer_planned(device, 256, &buffer));
    acui_entered entered;
    assert_works(acui_enter(device, &entered));
    assert_works(acui_buffer_allocate(buffer, acui_policy_pick(device->policy)));
    acui_leave(&entered);
    assert_true(acu_buffer_address(buffer) != 0);
    acu_buffer_release(buffer);
}

static void memory_of_a_foreign_stream_outlives_it(void **state)
{
    (void)state;
    CUstream raw = NULL;
    test_enter(device);
    assert_int_equal(acu_driver()->StreamCreate(&raw, ACU_CU_STREAM_NON_BLOCKING), 0);
    test_leave(device);
    acu_stream *stream = NULL;
    assert_works(acu_stream_wrap(device, raw, &stream));
    acu_buffer *buffer = NULL;
    assert_works(acui_buffer_planned(device, 256, &buffer));
    acui_entered entered;
    assert_works(acui_enter(device, &entered));
    assert_works(acui_buffer_allocate(buffer, stream));
    acui_leave(&entered);
    acu_stream_release(stream);
    assert_int_equal(acu_debug_live(ACU_OBJECT_STREAM), 5); /* the device's own */
    test_quiet(device);
    test_enter(device);
    assert_int_equal(acu_driver()->StreamDestroy(raw), 0);
    test_leave(device);
    acu_buffer_release(buffer);
}

static void too_much_is_refused_in_numbers(void **state)
{
    (void)state;
    acu_buffer *buffer = NULL;
    acu_driver_count_calls(true);
    assert_fails(acu_buffer_create(device, (size_t)1 << 50, &buffer), ACU_ERR_DEVICE_MEMORY,
                 "1125899906842624 bytes|are free|device 0");
    assert_null(buffer);
    /* A driver would take all memory that there is before it refuses. */
    assert_int_equal(acu_driver_calls(ACU_CALL_MemAllocFromPoolAsync), 0);
    acu_driver_count_calls(false);
    acu_status st = acu_buffer_create_pinned(device, (size_t)1 << 50, &buffer);
    if (test_on_gpu() && st == ACU_ERR_DRIVER) /* drivers may call it an invalid value, too */
        return;
    assert_fails(st, ACU_ERR_NO_MEMORY, "1125899906842624 bytes|page-locked");
}

static void an_allocation_may_wait_for_memory_where_there_is_none(void **state)
{
    (void)state;
    if (!device->pool)
        skip();
    acu_driver_fault fault = {.size = sizeof fault,
                              .call = ACU_CALL_MemAllocFromPoolAsync,
                              .result = ACU_CUDA_ERROR_OUT_OF_MEMORY};
    assert_works(acu_driver_fail(&fault));
    acu_buffer *buffer = NULL;
    assert_works(acu_buffer_create(device, 64, &buffer));
    assert_int_equal(acu_driver_fault_hits(), 1);
    acu_buffer_release(buffer);
}

static void without_pools_blocks_are_reused(void **state)
{
    (void)state;
    CUmemoryPool pool = device->pool;
    device->pool = NULL; /* as on a device that has none */
    acu_buffer *buffer = NULL;
    assert_works(acu_buffer_create(device, 5000, &buffer));
    CUdeviceptr address = acu_buffer_address(buffer);
    assert_null(acu_buffer_host(buffer));
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_MEMORY), 1);
    acu_driver_count_calls(true);
    acu_buffer_release(buffer);
    assert_works(acui_buffer_planned(device, 5100, &buffer));
    assert_works(acui_buffer_allocate(buffer, device->alloc));
    assert_int_equal(acu_driver_calls(ACU_CALL_ANY), 0);
    acu_driver_count_calls(false);
    assert_int_equal(acu_buffer_address(buffer), address);
    acu_buffer_release(buffer);
    buffer = NULL;
    assert_fails(acu_buffer_create(device, (size_t)1 << 50, &buffer), ACU_ERR_DEVICE_MEMORY,
                 "1125899906842624 bytes|are free");
    assert_null(buffer);
    device->pool = pool;
}

static void wrong_requests_are_refused(void **state)
{
    (void)state;
    acu_buffer *buffer = NULL;
    char memory[16];
    assert_fails(acu_buffer_create(device, 0, &buffer), ACU_ERR_INVALID, "0 bytes");
    assert_fails(acu_buffer_create_pinned(device, 0, &buffer), ACU_ERR_INVALID, "0 bytes");
    assert_fails(acu_buffer_create(device, 1, NULL), ACU_ERR_INVALID, "nowhere");
    assert_fails(acu_buffer_create(NULL, 1, &buffer), ACU_ERR_INVALID, "device is NULL");
    int released = 0;
    acu_user user = {&released, count_release};
    assert_fails(acu_buffer_wrap_host(device, NULL, 16, user, &buffer), ACU_ERR_INVALID, "NULL");
    assert_int_equal(released, 1);
    assert_fails(acu_buffer_wrap_host(device, memory, 0, user, &buffer), ACU_ERR_INVALID,
                 "0 bytes");
    assert_int_equal(released, 2);
    assert_fails(acu_buffer_wrap_host(NULL, memory, 16, user, &buffer), ACU_ERR_INVALID, "device");
    assert_int_equal(released, 3);
    assert_fails(acu_buffer_wrap_device(device, 0, 16, user, &buffer), ACU_ERR_INVALID, "NULL");
    assert_int_equal(released, 4);
    assert_fails(acu_buffer_wrap_host(device, memory, SIZE_MAX, user, &buffer), ACU_ERR_INVALID,
                 "there are no");
    assert_int_equal(released, 5);
    assert_fails(acu_buffer_wrap_device(device, UINT64_MAX - 3, 64, user, &buffer),
                 ACU_ERR_INVALID, "there are no");
    assert_int_equal(released, 6);
    assert_null(buffer);
}

static void released_buffers_are_told(void **state)
{
    (void)state;
    acu_buffer *buffer = NULL;
    acu_tensor *tensor = NULL;
    assert_works(acu_buffer_create(device, 64, &buffer));
    acu_buffer_release(buffer);
    assert_fails(acu_tensor_create(buffer, 0, ACU_F32, ACU_SHAPE(4), &tensor), ACU_ERR_BAD_HANDLE,
                 "buffer was released already");
    assert_int_equal(acu_buffer_bytes(buffer), 0);
    assert_int_equal(acu_buffer_address(buffer), 0);
    assert_null(acu_buffer_host(buffer));
    assert_null(acu_buffer_device(buffer));
    acu_buffer_release(NULL);
}

/* ---- pinned memory --------------------------------------------------------------------------- */

static void pinned_memory_is_the_hosts_and_the_devices(void **state)
{
    (void)state;
    acu_buffer *buffer = NULL;
    assert_works(acu_buffer_create_pinned(device, 4096, &buffer));
    assert_int_equal(acu_buffer_kind(buffer), ACU_MEMORY_PINNED);
    uint32_t *host = acu_buffer_host(buffer), got = 0;
    assert_non_null(host);
    *host = 0xC0FFEE;
    test_get(device, &got, acu_buffer_address(buffer), sizeof got);
    assert_int_equal(got, 0xC0FFEE);
    acu_buffer_release(buffer);
}

static void pinned_memory_is_reused(void **state)
{
    (void)state;
    acu_buffer *buffer = NULL;
    assert_works(acu_buffer_create_pinned(device, 100000, &buffer));
    void *first = acu_buffer_host(buffer);
    acu_driver_count_calls(true);
    acu_buffer_release(buffer);
    assert_works(acu_buffer_create_pinned(device, 100001, &buffer));
    assert_ptr_equal(acu_buffer_host(buffer), first);
    assert_int_equal(acu_buffer_bytes(buffer), 100001);
    acu_buffer_release(buffer);
    assert_int_equal(acu_driver_calls(ACU_CALL_ANY), 0); /* nothing that could block */
    acu_driver_count_calls(false);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_PINNED), 1);
}

static void too_much_kept_pinned_memory_is_given_back(void **state)
{
    (void)state;
    enum { COUNT = 6 };
    acu_buffer *buffers[COUNT];
    for (int i = 0; i < COUNT; i++)
        assert_works(acu_buffer_create_pinned(device, ACUI_PINNED_KEEP / 4, &buffers[i]));
    for (int i = 0; i < COUNT; i++)
        acu_buffer_release(buffers[i]);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_PINNED), COUNT);
    assert_works(acu_buffer_create_pinned(device, 4096, &buffers[0]));
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_PINNED), 4 + 1);
    acu_buffer_release(buffers[0]);
}

static void blocks_have_few_sizes(void **state)
{
    (void)state;
    assert_int_equal(acui_block_size(1), 512);
    assert_int_equal(acui_block_size(512), 512);
    assert_int_equal(acui_block_size(513), 1024);
    assert_int_equal(acui_block_size(4096), 4096);
    assert_int_equal(acui_block_size(4097), 4608);
    assert_int_equal(acui_block_size(8193), 9216);
    size_t last = 0, sizes = 0;
    for (size_t bytes = 512; bytes <= 1 << 20; bytes += 64) {
        size_t size = acui_block_size(bytes);
        assert_true(size >= bytes && (size <= bytes + bytes / 8 || size - bytes < 512));
        assert_true(acui_block_bin(size) < ACUI_BINS);
        sizes += size != last;
        last = size;
    }
    assert_true(sizes <= 8 * 11 + 1);
    size_t large = ((size_t)1 << 30) + 1, step = (size_t)2 << 20;
    assert_int_equal(acui_block_size(large), large - 1 + step);
    assert_int_equal(acui_block_size(SIZE_MAX), SIZE_MAX);
    assert_int_equal(acui_block_bin(SIZE_MAX), ACUI_BINS - 1);
}

/* ---- wrapped memory -------------------------------------------------------------------------- */

static void wrapped_memory_is_released_once_after_its_last_use(void **state)
{
    (void)state;
    uint32_t *memory = calloc(1024, sizeof *memory), got = 0;
    int released = 0;
    acu_buffer *buffer = NULL;
    acu_tensor *tensor = NULL;
    memory[7] = 77;
    assert_works(acu_buffer_wrap_host(device, memory, 4096, (acu_user){&released, count_release},
                                      &buffer));
    assert_int_equal(acu_buffer_kind(buffer), ACU_MEMORY_HOST);
    assert_ptr_equal(acu_buffer_host(buffer), memory);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_REGISTRATION), 1);
    test_get(device, &got, acu_buffer_address(buffer) + 28, sizeof got);
    assert_int_equal(got, 77);
    assert_works(acu_tensor_create(buffer, 0, ACU_U32, ACU_SHAPE(1024), &tensor));
    acu_buffer_release(buffer);
    assert_int_equal(released, 0);
    acu_tensor_release(tensor);
    assert_int_equal(released, 1);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_REGISTRATION), 0);
    free(memory);
}

static void memory_is_wrapped_twice_but_not_across(void **state)
{
    (void)state;
    char *memory = calloc(1, 8192);
    int released = 0;
    acu_user user = {&released, count_release};
    acu_buffer *a = NULL, *b = NULL, *c = NULL;
    assert_works(acu_buffer_wrap_host(device, memory, 8192, user, &a));
    assert_works(acu_buffer_wrap_host(device, memory, 8192, user, &b));
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_REGISTRATION), 1);
    assert_fails(acu_buffer_wrap_host(device, memory + 16, 16, user, &c), ACU_ERR_BUSY,
                 "overlap|slices");
    assert_int_equal(released, 1);
    acu_buffer_release(a);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_REGISTRATION), 1);
    acu_buffer_release(b);
    assert_int_equal(released, 3);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_REGISTRATION), 0);
    free(memory);
}

static void what_the_program_locked_stays_locked(void **state)
{
    (void)state;
    char *memory = calloc(1, 8192);
    acu_buffer *buffer = NULL;
    test_enter(device);
    assert_int_equal(acu_driver()->MemHostRegister(memory, 8192, ACU_CU_MEMHOSTREGISTER_PORTABLE |
                                                   ACU_CU_MEMHOSTREGISTER_DEVICEMAP), 0);
    test_leave(device);
    assert_works(acu_buffer_wrap_host(device, memory, 8192, (acu_user){0}, &buffer));
    acu_buffer_release(buffer);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_REGISTRATION), 1);
    test_enter(device);
    assert_int_equal(acu_driver()->MemHostUnregister(memory), 0);
    test_leave(device);
    free(memory);
}

static void what_the_program_locked_in_part_is_refused(void **state)
{
    (void)state;
    enum { PAGE = 4096, PAGES = 4 };
    char *memory = aligned_alloc(PAGE, PAGES * PAGE);
    acu_buffer *buffer = NULL;
    for (int part = 0; part < PAGES; part += PAGES - 1) { /* the first page, and the last */
        test_enter(device);
        assert_int_equal(acu_driver()->MemHostRegister(memory + part * PAGE, PAGE,
                                                       ACU_CU_MEMHOSTREGISTER_PORTABLE |
                                                           ACU_CU_MEMHOSTREGISTER_DEVICEMAP), 0);
        test_leave(device);
        int released = 0;
        assert_fails(acu_buffer_wrap_host(device, memory, PAGES * PAGE,
                                          (acu_user){&released, count_release}, &buffer),
                     ACU_ERR_BUSY, "only a part|pageable");
        assert_int_equal(released, 1);
        assert_works(acu_buffer_wrap_host(device, memory + part * PAGE + 16, PAGE - 16,
                                          (acu_user){0}, &buffer));
        acu_buffer_release(buffer);
        test_enter(device);
        assert_int_equal(acu_driver()->MemHostUnregister(memory + part * PAGE), 0);
        test_leave(device);
    }
    free(memory);
}

/* ... and if the driver does not say what is locked, the error is the driver's. */
static void what_the_program_locked_may_not_be_known(void **state)
{
    (void)state;
    enum { PAGE = 4096 };
    static const acu_driver_fault fault = {.size = sizeof fault,
                                           .call = ACU_CALL_MemHostGetDevicePointer,
                                           .from_then_on = true};
    char *memory = aligned_alloc(PAGE, PAGE);
    acu_buffer *buffer = NULL;
    test_enter(device);
    assert_int_equal(acu_driver()->MemHostRegister(memory, PAGE,
                                                   ACU_CU_MEMHOSTREGISTER_PORTABLE), 0);
    test_leave(device);
    assert_works(acu_driver_fail(&fault));
    acu_status status = acu_buffer_wrap_host(device, memory, PAGE, (acu_user){0}, &buffer);
    acu_driver_fail_clear();
    assert_int_equal(status, ACU_ERR_DRIVER);
    assert_works(acu_buffer_wrap_host(device, memory, PAGE, (acu_user){0}, &buffer));
    acu_buffer_release(buffer);
    test_enter(device);
    assert_int_equal(acu_driver()->MemHostUnregister(memory), 0);
    test_leave(device);
    free(memory);
}

static void device_memory_of_others_is_wrapped(void **state)
{
    (void)state;
    CUdeviceptr memory = 0;
    test_enter(device);
    assert_int_equal(acu_driver()->MemAlloc(&memory, 4096), 0);
    test_leave(device);
    int released = 0;
    acu_buffer *buffer = NULL;
    assert_works(acu_buffer_wrap_device(device, memory, 4096, (acu_user){&released, count_release},
                                        &buffer));
    assert_int_equal(acu_buffer_kind(buffer), ACU_MEMORY_FOREIGN);
    assert_int_equal(acu_buffer_address(buffer), memory);
    assert_null(acu_buffer_host(buffer));
    acu_buffer_release(buffer);
    assert_int_equal(released, 1);
    test_enter(device);
    assert_int_equal(acu_driver()->MemFree(memory), 0);
    test_leave(device);
}

static void *make_and_release(void *user)
{
    (void)user;
    acu_buffer *buffer = NULL;
    for (int i = 0; i < 100; i++) {
        acu_status st = i % 2 ? acu_buffer_create(device, (size_t)64 << i % 8, &buffer)
                              : acu_buffer_create_pinned(device, 4096, &buffer);
        if (st != ACU_OK)
            return user;
        acu_buffer_release(buffer);
    }
    return NULL;
}

static void threads_make_and_release(void **state)
{
    (void)state;
    pthread_t threads[4];
    int failure = 1;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_and_release, &failure), 0);
    for (int i = 0; i < 4; i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
}

int main(void)
{
    setenv("SOFTCUDA_EXACT", "0", 1); /* what pools keep is the subject */
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(device_memory_is_made_and_given_back),
        DEVICE_TEST(the_first_use_comes_behind_the_allocation),
        DEVICE_TEST(a_planned_buffer_has_an_address_when_allocated),
        DEVICE_TEST(memory_of_a_foreign_stream_outlives_it),
        DEVICE_TEST(too_much_is_refused_in_numbers),
        DEVICE_TEST(an_allocation_may_wait_for_memory_where_there_is_none),
        DEVICE_TEST(without_pools_blocks_are_reused),
        DEVICE_TEST(wrong_requests_are_refused),
        DEVICE_TEST(released_buffers_are_told),
        DEVICE_TEST(pinned_memory_is_the_hosts_and_the_devices),
        DEVICE_TEST(pinned_memory_is_reused),
        DEVICE_TEST(too_much_kept_pinned_memory_is_given_back),
        DEVICE_TEST(blocks_have_few_sizes),
        DEVICE_TEST(wrapped_memory_is_released_once_after_its_last_use),
        DEVICE_TEST(memory_is_wrapped_twice_but_not_across),
        DEVICE_TEST(what_the_program_locked_stays_locked),
        DEVICE_TEST(what_the_program_locked_in_part_is_refused),
        DEVICE_TEST(what_the_program_locked_may_not_be_known),
        DEVICE_TEST(device_memory_of_others_is_wrapped),
        DEVICE_TEST(threads_make_and_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
