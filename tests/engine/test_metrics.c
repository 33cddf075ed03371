/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The counters as text: whether it is OpenMetrics, and whether the numbers are the right ones. */
#include "support/support.h"

#include "device/device.h"

#include <acuda/metrics.h>
#include <stdio.h>

static char text[65536];

static void metrics(void)
{
    size_t needed = 0;
    assert_works(acu_metrics(text, sizeof text, &needed));
    assert_int_equal(needed, strlen(text) + 1);
}

static uint64_t value(const char *sample)
{
    char line[160];
    unsigned long long number = 0;
    snprintf(line, sizeof line, "\n%s ", sample);
    const char *at = strstr(text, line);
    if (!at)
        fail_msg("no %s in:\n%s", sample, text);
    assert_int_equal(sscanf(at + strlen(line), "%llu\n", &number), 1);
    return number;
}

/* Each metric is told once, as a type, a help and its samples; and "# EOF" is last. */
static void assert_is_open_metrics(void)
{
    char name[128] = "", kind[16] = "", other[128], copy[sizeof text];
    char *rest = copy, *last = NULL;
    memcpy(copy, text, sizeof text);
    for (char *line; (line = strsep(&rest, "\n")) && *line; last = line) {
        if (sscanf(line, "# TYPE %127s %15s", other, kind) == 2) {
            char again[160];
            snprintf(again, sizeof again, "# TYPE %s ", other);
            assert_null(strstr(strstr(text, again) + 1, again));
            memcpy(name, other, sizeof name);
        } else if (line[0] == '#') {
            bool help = sscanf(line, "# HELP %127s", other) == 1 && strcmp(name, other) == 0;
            assert_true(help || strcmp(line, "# EOF") == 0);
        } else {
            size_t length = strlen(name);
            assert_memory_equal(line, name, length);
            bool counter = strcmp(kind, "counter") == 0;
            assert_int_equal(strncmp(line + length, "_total", 6) == 0, counter);
            assert_non_null(strchr(line, ' '));
        }
    }
    assert_string_equal(last, "# EOF");
}

static void numbers(void **state)
{
    (void)state;
    metrics(); /* with nothing open */
    assert_is_open_metrics();
    assert_null(strstr(text, "device=\""));
    acu_device *device = test_open();
    acu_tensor *x;
    assert_works(acu_sync(device, acu_zeros(ACU_F32, ACU_SHAPE(1 << 16)), &x));
    assert_works(acu_device_wait(device, ACU_FOREVER)); /* else it may not be counted yet */
    metrics();
    assert_is_open_metrics();
    acu_process_statistics process = {.size = sizeof process};
    assert_works(acu_process_stats(&process));
    assert_true(value("acuda_submissions_total") == process.submissions);
    assert_true(value("acuda_operations_done_total") == process.operations_done);
    assert_int_equal(value("acuda_device_up{device=\"0\"}"), 1);
    assert_int_equal(value("acuda_device_in_flight{device=\"0\"}"), 0);
    acu_pool_statistics pool = {.size = sizeof pool};
    assert_works(acu_pool_stats(acu_device_pool(device), &pool));
    assert_true(pool.in_use >= 4 << 16);
    assert_true(value("acuda_memory_in_use_bytes{device=\"0\",pool=\"device\"}") == pool.in_use);
    assert_int_equal(value("acuda_memory_in_use_bytes{device=\"0\",pool=\"pinned\"}"), 0);
    acu_tensor_release(x);
    test_close(device);
    test_leaks_none();
}

static void cut_off(void **state)
{
    (void)state;
    size_t needed = 0;
    metrics();
    char few[10];
    assert_works(acu_metrics(few, sizeof few, &needed));
    assert_true(needed == strlen(text) + 1);
    assert_string_equal(few, "# TYPE ac");
    assert_works(acu_metrics(NULL, 0, &needed));
    assert_works(acu_metrics(text, sizeof text, NULL));
    assert_fails(acu_metrics(NULL, 10, &needed), ACU_ERR_INVALID, "acu_metrics|10 bytes of NULL");
    acu_debug_fail_alloc(1, false);
    acu_status status = acu_metrics(text, sizeof text, &needed);
    acu_debug_fail_alloc(0, false);
    assert_int_equal(status, ACU_ERR_NO_MEMORY);
}

static void lost(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acui_device_failed(device, "EventQuery", ACU_CUDA_ERROR_ILLEGAL_ADDRESS); /* so it says */
    acu_error before = *acu_last_error();
    metrics();
    assert_is_open_metrics();
    assert_int_equal(value("acuda_device_up{device=\"0\"}"), 0);
    assert_null(strstr(text, "acuda_device_in_flight{"));
    assert_memory_equal(&before, acu_last_error(), sizeof before);
    acu_close(device);
}

static const test_case cases[] = {{"lost", lost}};

static void lost_device(void **state)
{
    (void)state;
    test_in_process("lost");
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return test_run_case(cases, sizeof cases / sizeof *cases, argv[1]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers), cmocka_unit_test(cut_off),
                                       cmocka_unit_test(lost_device)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
