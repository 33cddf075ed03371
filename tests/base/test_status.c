/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Status codes and error records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#include <pthread.h>
#include <string.h>

#include <cmocka.h>

typedef struct row {
    acu_status status;
    int value;
    acu_scope scope;
    const char *name, *text;
} row;

static const row rows[] = {
#define ROW(name, value, scope, text) {name, value, ACU_SCOPE_##scope, #name, text},
    ACU_STATUSES(ROW)
#undef ROW
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static void each_status_tells_what_it_is(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        assert_string_equal(acu_status_name(rows[i].status), rows[i].name);
        assert_string_equal(acu_status_text(rows[i].status), rows[i].text);
        assert_int_equal(acu_status_scope(rows[i].status), rows[i].scope);
        /* The sign tells errors from states, and agrees with the prefix. */
        assert_int_equal(rows[i].value < 0, rows[i].scope != ACU_SCOPE_NONE);
        assert_int_equal(rows[i].value < 0, strncmp(rows[i].name, "ACU_ERR_", 8) == 0);
        for (int j = 0; j < i; j++) {
            assert_int_not_equal(rows[i].value, rows[j].value);
            assert_string_not_equal(rows[i].text, rows[j].text);
        }
    }
    acu_status unknown = (acu_status)-1000;
    assert_string_equal(acu_status_name(unknown), "ACU_ERR_?");
    assert_string_equal(acu_status_text(unknown), "unknown status");
    assert_int_equal(acu_status_scope(unknown), ACU_SCOPE_CALL);
}

static void *first_record_of_a_thread(void *unused)
{
    (void)unused;
    const acu_error *error = acu_last_error();
    return error->status == ACU_OK && error->device == -1 && !error->message[0] ? NULL
                                                                                : "not empty";
}

static void records_belong_to_threads(void **state)
{
    (void)state;
    assert_int_equal(acui_fail(ACU_ERR_SHAPE, "%d and %s", 3, "four"), ACU_ERR_SHAPE);
    assert_int_equal(acu_last_error()->status, ACU_ERR_SHAPE);
    assert_string_equal(acu_last_error()->message, "3 and four");
    pthread_t thread;
    void *wrong;
    assert_int_equal(pthread_create(&thread, NULL, first_record_of_a_thread, NULL), 0);
    pthread_join(thread, &wrong);
    assert_null(wrong);
}

static void states_are_no_failures(void **state)
{
    (void)state;
    acui_fail(ACU_ERR_IO, "as it was");
    assert_int_equal(acui_fail(ACU_TIMEOUT, "late"), ACU_TIMEOUT);
    assert_int_equal(acui_fail_at(ACU_NOT_READY, ACU_SITE, "op", 1, "soon"), ACU_NOT_READY);
    assert_string_equal(acu_last_error()->message, "as it was");
    assert_null(acu_last_error()->file);
}

static void a_record_may_be_part_of_the_next(void **state)
{
    (void)state;
    acui_fail_at(ACU_ERR_IO, ACU_SITE, "read", 0, "no file");
    acui_fail_at(ACU_ERR_DEPENDENCY, ACU_SITE, acu_last_error()->op, 0, "what it reads failed: %s",
                 acu_last_error()->message);
    assert_string_equal(acu_last_error()->message, "what it reads failed: no file");
    assert_string_equal(acu_last_error()->op, "read");
    acu_error kept = *acu_last_error();
    acui_fail(ACU_ERR_SHAPE, "another");
    assert_int_equal(acui_error_restore(&kept), ACU_ERR_DEPENDENCY);
    assert_memory_equal(acu_last_error(), &kept, sizeof kept);
}

static void describes(const acu_error *error, const char *words)
{
    char line[1024];
    assert_int_equal(acu_error_describe(error, line, sizeof line), strlen(words));
    assert_string_equal(line, words);
}

static void records_are_described(void **state)
{
    (void)state;
    acu_error error = {.status = ACU_ERR_SHAPE, .device = -1};
    describes(&error, "shapes do not fit");
    strcpy(error.message, "16 and 12");
    describes(&error, "shapes do not fit: 16 and 12");
    error.file = "saxpy.c";
    error.line = 20;
    describes(&error, "saxpy.c:20: shapes do not fit: 16 and 12");
    strcpy(error.op, "launch of saxpy");
    error.device = 1;
    describes(&error, "saxpy.c:20: launch of saxpy on device 1: shapes do not fit: 16 and 12");
    error.driver_call = "cuLaunchKernel";
    error.driver_result = 700;
    error.driver_name = "CUDA_ERROR_ILLEGAL_ADDRESS";
    error.status = ACU_ERR_DEVICE_LOST;
    describes(&error,
              "saxpy.c:20: launch of saxpy on device 1: "
              "CUDA_ERROR_ILLEGAL_ADDRESS (700): the device was lost to a fault: 16 and 12");
    error.status = ACU_ERR_DRIVER;
    describes(&error, "saxpy.c:20: launch of saxpy on device 1: cuLaunchKernel: "
                      "CUDA_ERROR_ILLEGAL_ADDRESS (700): a driver call failed: 16 and 12");
    error = (acu_error){.status = ACU_ERR_SHAPE, .device = -1, .op = "add"};
    strcpy(error.message, "add: operand 1 is f32 [3]"); /* the name is not said twice */
    describes(&error, "add: shapes do not fit: operand 1 is f32 [3]");
    strcpy(error.message, "added: 3");
    describes(&error, "add: shapes do not fit: added: 3");
    error = (acu_error){.status = ACU_ERR_COMPILE, .device = -1};
    strcpy(error.message, "1:5: error: no y\n  x = y;  \n      ^\n\n1 error  in all\n");
    describes(&error, "the compiler refused the source: 1:5: error: no y x = y; ^ 1 error  in all");
    strcpy(error.message, "\n \n");
    describes(&error, "the compiler refused the source: ");
    error = (acu_error){.status = ACU_ERR_DEVICE_LOST, .file = "saxpy.c", .device = 1};
    strcpy(error.message, "a message that is long enough to be cut");
    char cut[8];
    assert_true(acu_error_describe(&error, cut, sizeof cut) > 70);
    assert_string_equal(cut, "saxpy.c");
    assert_true(acu_error_describe(&error, NULL, 0) > 70);
}

static void long_messages_are_cut(void **state)
{
    (void)state;
    char text[2 * ACU_ERROR_MESSAGE];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    acui_fail_at(ACU_ERR_INVALID, ACU_SITE, text, -1, "%s", text);
    assert_int_equal(strlen(acu_last_error()->message), ACU_ERROR_MESSAGE - 1);
    assert_int_equal(strlen(acu_last_error()->op), ACU_ERROR_OP - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_status_tells_what_it_is),
        cmocka_unit_test(records_belong_to_threads),
        cmocka_unit_test(states_are_no_failures),
        cmocka_unit_test(a_record_may_be_part_of_the_next),
        cmocka_unit_test(records_are_described),
        cmocka_unit_test(long_messages_are_cut),
    };
    return cmocka_run_group_tests_name("base.status", tests, NULL, NULL);
}
