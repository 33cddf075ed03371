/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Opening and closing devices: references, the default device, options, refusals, facts. */
#include "support/support.h"

#include "base/callback.h"

#include <pthread.h>

static void opens_and_closes_without_leaks(void **state)
{
    (void)state;
    assert_null(acu_device_default());
    acu_device *device = test_open();
    assert_ptr_equal(acu_device_default(), device);
    assert_int_equal(acu_debug_live(ACU_OBJECT_DEVICE), 1);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_PRIMARY_CONTEXT), 1);
    test_close(device);
    assert_null(acu_device_default());
    test_leaks_none();
}

static void an_open_device_is_opened_again_as_itself(void **state)
{
    (void)state;
    acu_device *a = test_open(), *b = test_open();
    assert_ptr_equal(a, b);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_PRIMARY_CONTEXT), 1);
    test_close(a);
    assert_ptr_equal(acu_device_default(), b);
    test_close(b);
    test_leaks_none();
}

static void options_that_contradict_are_refused(void **state)
{
    (void)state;
    acu_open_options options = test_options(0);
    options.streams = 3;
    acu_device *a = NULL, *b = NULL;
    assert_works(acu_open(&options, &a));
    options.streams = 5;
    assert_fails(acu_open(&options, &b), ACU_ERR_BUSY, "3 streams|5");
    assert_null(b);
    options.streams = 0;
    assert_works(acu_open(&options, &b));
    test_close(b);
    test_close(a);
    test_leaks_none();
}

static void wrong_options_are_refused_in_words(void **state)
{
    (void)state;
    acu_open_options options = test_options(1000);
    acu_device *device = NULL;
    assert_fails(acu_open(&options, &device), ACU_ERR_NOT_FOUND, "no device 1000");
    options.ordinal = -1;
    assert_fails(acu_open(&options, &device), ACU_ERR_NOT_FOUND, "no device -1");
    options = test_options(0);
    options.streams = 65;
    assert_fails(acu_open(&options, &device), ACU_ERR_INVALID, "65 streams|at most 64");
    options = test_options(0);
    options.size = 0;
    assert_fails(acu_open(&options, &device), ACU_ERR_INVALID, "acu_open|size");
    options = test_options(0);
    assert_fails(acu_open(&options, NULL), ACU_ERR_INVALID, "nowhere");
    assert_null(device);
    test_leaks_none();
}

static void options_of_a_newer_program_are_read_as_far_as_known(void **state)
{
    (void)state;
    struct {
        acu_open_options known;
        uint64_t newer;
    } options;
    memset(&options, 0, sizeof options);
    options.known = test_options(0);
    options.known.size = sizeof options;
    acu_device *device = NULL;
    assert_works(acu_open(&options.known, &device));
    test_close(device);
    options.newer = 1;
    assert_fails(acu_open(&options.known, &device), ACU_ERR_NOT_SUPPORTED, "does not know");
    test_leaks_none();
}

static void options_of_an_older_program_are_read_as_far_as_they_go(void **state)
{
    (void)state;
    acu_open_options options = test_options(0);
    options.size = offsetof(acu_open_options, max_in_flight);
    options.max_in_flight = UINT32_MAX; /* these do not exist there */
    options.runtime_thread = true;
    acu_device *device = NULL;
    test_close(test_open()); /* chooses the driver, which they do not name either */
    assert_works(acu_open(&options, &device));
    options = test_options(0);
    options.runtime_thread = true;
    assert_fails(acu_open(&options, &device), ACU_ERR_BUSY, "without a runtime thread");
    test_close(device);
    test_leaks_none();
}

static void a_closed_handle_is_told(void **state)
{
    (void)state;
    acu_device *device = test_open();
    test_close(device);
    assert_fails(acu_close(device), ACU_ERR_BAD_HANDLE, "acu_close|device|released already");
    assert_fails(acu_device_memory(device, NULL, NULL), ACU_ERR_BAD_HANDLE, "released already");
    assert_null(acu_device_info_of(device));
    assert_fails(acu_close(NULL), ACU_ERR_INVALID, "device is NULL");
}

/* Takes memory of all sizes from the heap and overwrites it. */
static void use_what_is_free(void)
{
    enum { SIZES = 256, EACH = 8 };
    static void *taken[SIZES * EACH];
    for (size_t i = 0; i < SIZES * EACH; i++) {
        size_t bytes = 16 * (1 + i / EACH);
        assert_non_null(taken[i] = malloc(bytes));
        memset(taken[i], 0xFF, bytes);
    }
    for (size_t i = 0; i < SIZES * EACH; i++)
        free(taken[i]);
}

static void handles_released_before_the_last_close_are_told(void **state)
{
    (void)state;
    acu_device *first = test_open(), *last;
    acu_stream *stream;
    test_close(first);
    last = test_open();
    assert_works(acu_stream_create(last, 0, &stream));
    acu_stream_release(stream);
    test_close(last);
    use_what_is_free();
    assert_fails(acu_close(first), ACU_ERR_BAD_HANDLE, "acu_close|device|released already");
    assert_fails(acu_close(last), ACU_ERR_BAD_HANDLE, "acu_close|device|released already");
    assert_fails(acu_stream_poll(stream), ACU_ERR_BAD_HANDLE, "stream was released already");
    acu_stream_release(stream);
    acu_device_release(first);
    test_leaks_none();
}

static void closing_more_often_than_opening_is_told(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_device_retain(device);
    test_close(device);
    assert_fails(acu_close(device), ACU_ERR_INVALID, "closed as often as opened");
    acu_device_release(device);
    test_leaks_none();
}

static void objects_keep_the_device_after_its_close(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_stream *stream = NULL;
    assert_works(acu_stream_create(device, 0, &stream));
    test_close(device);
    assert_null(acu_device_default());
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_PRIMARY_CONTEXT), 1);
    assert_works(acu_stream_wait(stream, ACU_FOREVER));
    acu_device *again = test_open(); /* the same, as long as it lives */
    assert_ptr_equal(again, device);
    test_close(again);
    acu_stream_release(stream);
    test_leaks_none();
}

static void releasing_instead_of_closing_gives_all_back(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_device_release(device);
    assert_null(acu_device_default());
    test_leaks_none();
    device = test_open();
    assert_ptr_equal(acu_device_default(), device);
    test_close(device);
}

static void several_devices_are_open_and_none_is_current(void **state)
{
    (void)state;
    acu_device *devices[2];
    test_open_n(devices, 2);
    assert_ptr_not_equal(devices[0], devices[1]);
    assert_ptr_equal(acu_device_default(), devices[0]);
    CUcontext current = devices[0] ? acu_device_context(devices[0]) : NULL;
    assert_int_equal(acu_driver()->CtxGetCurrent(&current), ACU_CUDA_SUCCESS);
    assert_null(current);
    test_close(devices[0]);
    assert_ptr_equal(acu_device_default(), devices[1]);
    test_close(devices[1]);
    test_leaks_none();
}

static void the_programs_context_stays_current(void **state)
{
    (void)state;
    acu_device *devices[2];
    test_open_n(devices, 2);
    test_enter(devices[1]);
    acu_stream *stream = NULL;
    assert_works(acu_stream_create(devices[0], 0, &stream));
    assert_works(acu_stream_poll(stream));
    acu_stream_release(stream);
    CUcontext current = NULL;
    acu_driver()->CtxGetCurrent(&current);
    assert_ptr_equal(current, acu_device_context(devices[1]));
    test_leave(devices[1]);
    acu_driver()->CtxGetCurrent(&current);
    assert_null(current);
    test_close(devices[0]);
    test_close(devices[1]);
}

static void facts_are_told(void **state)
{
    (void)state;
    acu_device *device = test_open();
    const acu_device_info *info = acu_device_info_of(device);
    assert_non_null(info);
    assert_int_equal(info->ordinal, 0);
    assert_true(info->name[0]);
    assert_int_equal(info->software, !test_on_gpu());
    assert_true(info->compute_major >= 5);
    assert_true(info->max_threads >= 512 && info->max_block[0] >= info->max_threads);
    assert_true(info->max_grid[0] >= 65535 && info->max_grid[2] > 0);
    assert_true(info->max_shared >= 48u << 10 && info->max_shared_optin >= info->max_shared);
    assert_true(info->greatest_priority <= info->least_priority);
    assert_true(info->multiprocessors > 0);
    size_t left = 0, total = 0;
    assert_works(acu_device_memory(device, &left, &total));
    assert_true(left <= total && total > 0);
    assert_works(acu_device_memory(device, NULL, &total));
    CUdevice raw = 0;
    assert_int_equal(acu_driver()->DeviceGet(&raw, 0), ACU_CUDA_SUCCESS);
    assert_int_equal(acu_device_raw(device), raw);
    assert_int_equal(acu_device_status(device, NULL), ACU_OK);
    assert_works(acu_device_wait(device, 0));
    test_close(device);
}

static void counts_devices(void **state)
{
    (void)state;
    acu_open_options options = test_options(0);
    int count = 0;
    assert_works(acu_device_count_load(&options, &count));
    assert_true(count >= 1);
    assert_fails(acu_device_count_load(&options, NULL), ACU_ERR_INVALID, "nowhere");
}

static void closing_and_waiting_are_refused_in_callbacks(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acui_callback_enter();
    assert_fails(acu_close(device), ACU_ERR_IN_CALLBACK, "acu_close waits");
    assert_fails(acu_device_wait(device, 0), ACU_ERR_IN_CALLBACK, "acu_device_wait waits");
    acui_callback_leave();
    test_close(device);
    test_leaks_none();
}

static void *open_use_close(void *user)
{
    acu_open_options options = test_options(0);
    for (int i = 0; i < 20; i++) {
        acu_device *device = NULL;
        acu_stream *stream = NULL;
        if (acu_open(&options, &device) != ACU_OK)
            return user;
        if (acu_stream_create(device, 0, &stream) != ACU_OK)
            return user;
        if (i % 3 ? acu_close(device) != ACU_OK : (acu_device_release(device), false))
            return user;
        if (acu_stream_wait(stream, ACU_FOREVER) != ACU_OK)
            return user;
        acu_stream_release(stream);
    }
    return NULL;
}

static void threads_open_and_close(void **state)
{
    (void)state;
    test_close(test_open()); /* options are made, and the driver started, by one thread */
    pthread_t threads[3];
    int failure = 1;
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_use_close, &failure), 0);
    for (int i = 0; i < 3; i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    test_leaks_none();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_and_closes_without_leaks),
        cmocka_unit_test(an_open_device_is_opened_again_as_itself),
        cmocka_unit_test(options_that_contradict_are_refused),
        cmocka_unit_test(wrong_options_are_refused_in_words),
        cmocka_unit_test(options_of_a_newer_program_are_read_as_far_as_known),
        cmocka_unit_test(options_of_an_older_program_are_read_as_far_as_they_go),
        cmocka_unit_test(a_closed_handle_is_told),
        cmocka_unit_test(handles_released_before_the_last_close_are_told),
        cmocka_unit_test(closing_more_often_than_opening_is_told),
        cmocka_unit_test(objects_keep_the_device_after_its_close),
        cmocka_unit_test(releasing_instead_of_closing_gives_all_back),
        cmocka_unit_test(several_devices_are_open_and_none_is_current),
        cmocka_unit_test(the_programs_context_stays_current),
        cmocka_unit_test(facts_are_told),
        cmocka_unit_test(counts_devices),
        cmocka_unit_test(closing_and_waiting_are_refused_in_callbacks),
        cmocka_unit_test(threads_open_and_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
