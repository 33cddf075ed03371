/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The log: what is in it, at which level, and that it disturbs nothing. */
#include "support/support.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef struct line {
    acu_log_level level;
    int device;
    char about[16], text[512];
} line;

static line lines[64];
static int line_count; /* lines come from this thread, and from the loader's: */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int released;

static void note(void *data, const acu_log_line *told)
{
    assert_ptr_equal(data, lines);
    assert_int_equal(told->size, sizeof *told);
    assert_true(told->time > 0 && !strchr(told->text, '\n'));
    errno = EPERM; /* the caller's stays as it was */
    pthread_mutex_lock(&lock);
    if (line_count < 64) {
        line *l = &lines[line_count++];
        l->level = told->level;
        l->device = told->device;
        snprintf(l->about, sizeof l->about, "%s", told->about);
        snprintf(l->text, sizeof l->text, "%s", told->text);
    }
    pthread_mutex_unlock(&lock);
}

static void release(void *data)
{
    assert_ptr_equal(data, lines);
    released++;
}

static void listen(acu_log_level most)
{
    line_count = 0;
    assert_works(acu_log_to(most, note, acui_user(lines, release)));
}

static void stop(void)
{
    assert_works(acu_log_to(ACU_LOG_NOTHING, NULL, acui_user(NULL, NULL)));
}

/* A line at that level about that, with those words; NULL: there is none. */
static const line *find(acu_log_level level, const char *about, const char *words)
{
    for (int i = 0; i < line_count; i++)
        if (lines[i].level == level && strcmp(lines[i].about, about) == 0 &&
            strstr(lines[i].text, words))
            return &lines[i];
    return NULL;
}

/* First, since a process chooses its driver once. */
static void driver_and_device(void **state)
{
    (void)state;
    listen(ACU_LOG_INFO);
    acu_device *device = test_open();
    char cuda[32];
    int version = acu_driver_info_of()->version;
    snprintf(cuda, sizeof cuda, "CUDA %d.%d", version / 1000, version % 1000 / 10);
    assert_non_null(find(ACU_LOG_INFO, "driver", cuda));
    const line *open = find(ACU_LOG_INFO, "device", acu_device_info_of(device)->name);
    assert_non_null(open);
    assert_int_equal(open->device, 0);
    stop();
    int count = line_count;
    test_close(device);
    device = test_open();
    assert_int_equal(line_count, count); /* nobody listens any more */
    test_close(device);
    test_leaks_none();
}

static void refusals_and_loads(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_module *module = NULL;
    listen(ACU_LOG_DEBUG);
    errno = ENOENT;
    assert_fails(acu_submit(device, acu_add(acu_ones(ACU_F32, ACU_SHAPE(2)),
                                            acu_ones(ACU_F32, ACU_SHAPE(3))), NULL, NULL),
                 ACU_ERR_SHAPE, "");
    assert_int_equal(errno, ENOENT);
    assert_int_equal(acu_last_error()->status, ACU_ERR_SHAPE);
    const line *refused = find(ACU_LOG_DEBUG, "submit", "test_log.c");
    assert_non_null(refused);
    assert_non_null(strstr(refused->text, "operand 1 is f32 [3]"));
    assert_true(acu_module_load(device, ACU_PTX("bad", "nonsense"), &module) != ACU_OK);
    assert_non_null(find(ACU_LOG_WARNING, "module", "bad"));
    const acu_vendor_settings nowhere = {.size = sizeof nowhere, .path = "/nowhere/libcufft.so"};
    assert_works(acu_vendor_configure(ACU_VENDOR_CUFFT, &nowhere));
    assert_fails(acu_vendor_load(device, ACU_VENDOR_CUFFT), ACU_ERR_NOT_FOUND, "nowhere");
    assert_non_null(find(ACU_LOG_INFO, "library", "/nowhere/libcufft.so"));
    listen(ACU_LOG_ERROR); /* none of these is one */
    assert_true(acu_module_load(device, ACU_PTX("bad", "nonsense"), &module) != ACU_OK);
    assert_int_equal(line_count, 0);
    stop();
    test_close(device);
    test_leaks_none();
}

/* Work that recurs is issued directly, and no call says why. */
static void graph_that_is_refused(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *x = NULL;
    acu_future *future = NULL;
    acu_submit_options warm = {.size = sizeof warm, .warm = true};
    acu_driver_fault fault = {.size = sizeof fault,
                              .call = ACU_CALL_GraphInstantiateWithFlags,
                              .result = ACU_CUDA_ERROR_INVALID_VALUE};
    assert_works(acu_sync(device, acu_ones(ACU_F32, ACU_SHAPE(64)), &x));
    listen(ACU_LOG_WARNING);
    assert_works(acu_driver_fail(&fault));
    for (int i = 0; i < 4; i++) {
        acu_op *op = acu_into(x, acu_add(acu_mul(x, 2), 1));
        assert_works(acu_submit(device, op, &warm, &future));
        assert_works(acu_future_wait(future, ACU_FOREVER));
        acu_future_release(future);
        assert_works(acu_graph_cache_wait(device));
    }
    acu_driver_fail_clear();
    if (acu_driver_has(ACU_CALL_GraphInstantiateWithFlags))
        assert_non_null(find(ACU_LOG_WARNING, "graph", "cuGraphInstantiate"));
    stop();
    acu_tensor_release(x);
    test_close(device);
    test_leaks_none();
}

static void loss(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_stream *stream = NULL;
    assert_works(acu_stream_create(device, 0, &stream));
    listen(ACU_LOG_ERROR);
    acu_driver_fault fault = {.size = sizeof fault,
                              .call = ACU_CALL_StreamQuery,
                              .result = ACU_CUDA_ERROR_ILLEGAL_ADDRESS};
    assert_works(acu_driver_fail(&fault));
    for (int i = 0; i < 2; i++)
        assert_fails(acu_stream_poll(stream), ACU_ERR_DEVICE_LOST, "ILLEGAL_ADDRESS");
    acu_driver_fail_clear();
    assert_int_equal(line_count, 1); /* once */
    const line *lost = find(ACU_LOG_ERROR, "device", "CUDA_ERROR_ILLEGAL_ADDRESS");
    assert_non_null(lost);
    assert_int_equal(lost->device, 0);
    stop();
    acu_stream_release(stream);
    test_close(device);
}

static void misuse(void *data, const acu_log_line *told)
{
    (void)told;
    *(acu_status *)data = acu_log_to(ACU_LOG_NOTHING, NULL, acui_user(NULL, NULL));
}

static void ownership(void **state)
{
    (void)state;
    acu_status seen = ACU_OK;
    released = 0;
    listen(ACU_LOG_INFO);
    assert_int_equal(released, 0);
    listen(ACU_LOG_DEBUG);
    assert_int_equal(released, 1);
    assert_fails(acu_log_to((acu_log_level)9, note, acui_user(lines, release)), ACU_ERR_INVALID,
                 "9 is no level");
    assert_fails(acu_log_to(ACU_LOG_INFO, NULL, acui_user(lines, release)), ACU_ERR_INVALID,
                 "no function");
    assert_fails(acu_log_to(ACU_LOG_NOTHING, note, acui_user(lines, release)), ACU_ERR_INVALID,
                 "for nothing");
    assert_int_equal(released, 4);
    stop();
    assert_int_equal(released, 5);
    assert_works(acu_log_to(ACU_LOG_DEBUG, misuse, acui_user(&seen, NULL)));
    acu_device *device = test_open();
    assert_fails(acu_submit(device, NULL, NULL, NULL), ACU_ERR_INVALID, "");
    assert_int_equal(seen, ACU_ERR_IN_CALLBACK);
    stop();
    test_close(device);
    assert_string_equal(acu_log_level_name(ACU_LOG_WARNING), "warning");
    assert_string_equal(acu_log_level_name((acu_log_level)-1), "?");
    test_leaks_none();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(driver_and_device), cmocka_unit_test(refusals_and_loads),
        cmocka_unit_test(ownership), cmocka_unit_test(graph_that_is_refused),
        cmocka_unit_test(loss)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
