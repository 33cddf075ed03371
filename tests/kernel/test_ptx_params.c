/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Parameters of kernels, read from PTX text. */
#include "support/support.h"

#include "base/alloc.h"
#include "kernel/kernel.h"

static acui_param *params;
static size_t count;

/* Stores the parameters of `.entry name`: ACU_OK, NOT_FOUND or NO_MEMORY. */
static acu_status find_params(const char *ptx, const char *name)
{
    acui_ptx_entry entry;
    acu_status status = ACU_OK;
    size_t at = 0;
    while (acui_ptx_next(ptx, strlen(ptx), &at, &entry, &status) && status == ACU_OK) {
        if (entry.understood && entry.length == strlen(name) &&
            memcmp(entry.name, name, entry.length) == 0) {
            params = entry.params;
            count = entry.count;
            return ACU_OK;
        }
        acui_free(entry.params);
    }
    return status != ACU_OK ? status : ACU_ERR_NOT_FOUND;
}

static void read_params(const char *ptx, const char *name)
{
    acui_free(params);
    params = NULL;
    count = 99;
    assert_works(find_params(ptx, name));
}

static int teardown(void **state)
{
    (void)state;
    acui_free(params);
    params = NULL;
    assert_int_equal(acu_debug_live_blocks(), 0);
    return 0;
}

static void every_type_has_its_size(void **state)
{
    (void)state;
    read_params(".visible .entry k(.param .u8 a, .param .s16 b, .param .b32 c, .param .u64 d,\n"
                ".param .f16 e, .param .bf16 f, .param .f32 g, .param .f64 h, .param .f16x2 i)\n{}",
                "k");
    static const uint32_t bytes[] = {1, 2, 4, 8, 2, 2, 4, 8, 4};
    assert_int_equal(count, 9);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(params[i].bytes, bytes[i]);
    assert_int_equal(params[3].type, 'i');
    assert_int_equal(params[6].type, 'f');
}

static void pointers_arrays_and_alignment_are_understood(void **state)
{
    (void)state;
    read_params(".entry k(\n"
                "    .param .u64 .ptr .global .align 16 p,\n"
                "    .param .align 8 .b8 tile[112],\n"
                "    .param .align 4 .b8 grid[2][3],\n"
                "    .param .u64 .ptr q,\n"
                "    .param .b32 n\n"
                ")\n.maxntid 256, 1, 1\n{ ret; }\n",
                "k");
    assert_int_equal(count, 5);
    assert_int_equal(params[0].bytes, 8);
    assert_int_equal(params[0].type, 'i');
    assert_int_equal(params[1].bytes, 112);
    assert_int_equal(params[1].type, 's');
    assert_int_equal(params[2].bytes, 6);
    assert_int_equal(params[3].bytes, 8);
    assert_int_equal(params[4].bytes, 4);
}

static void comments_and_strings_are_no_code(void **state)
{
    (void)state;
    read_params("// .entry k(.param .u64 wrong)\n"
                "/* .entry k(.param .u64 wrong) */\n"
                ".file 1 \".entry k(.param .u64 \\\" wrong)\"\n"
                ".visible .entry/**/k /* the name */ ( // open\n"
                "  .param /* a */ .f32 a // not .f64\n"
                ")\n{}",
                "k");
    assert_int_equal(count, 1);
    assert_int_equal(params[0].type, 'f');
}

static void kernels_without_parameters_have_none(void **state)
{
    (void)state;
    read_params(".entry k()\n{}", "k");
    assert_int_equal(count, 0);
    read_params(".entry k\n{}", "k");
    assert_int_equal(count, 0);
    read_params(".entry k { .param .u32 local; }", "k");
    assert_int_equal(count, 0);
}

static void functions_and_prefixes_are_not_taken_for_it(void **state)
{
    (void)state;
    static const char ptx[] = ".func (.param .b32 r) helper(.param .b32 a, .param .b32 b);\n"
                              ".entry kernel_long(.param .u8 a)\n{}\n"
                              ".weak .entry kernel(.param .u16 a, .param .u16 b)\n{}\n"
                              ".entry $weird%name_0(.param .f64 a)\n{}\n";
    read_params(ptx, "kernel");
    assert_int_equal(count, 2);
    read_params(ptx, "kernel_long");
    assert_int_equal(count, 1);
    read_params(ptx, "$weird%name_0");
    assert_int_equal(params[0].bytes, 8);
    assert_int_equal(find_params(ptx, "helper"), ACU_ERR_NOT_FOUND);
}

static void entries_are_listed_in_order(void **state)
{
    (void)state;
    static const char ptx[] =
        ".entry a()\n{}\n.entry b(.param .u8 x)\n{}\n.entry c(.param what x)\n{}"
        ".entry d(.param .u16 x)\n{}";
    acui_ptx_entry entry;
    acu_status st = ACU_OK;
    size_t at = 0;
    const char *names = "abcd";
    while (acui_ptx_next(ptx, sizeof ptx - 1, &at, &entry, &st)) {
        assert_works(st);
        assert_int_equal(entry.length, 1);
        assert_int_equal(*entry.name, *names);
        assert_int_equal(entry.understood, *names != 'c'); /* left to the driver */
        names++;
        acui_free(entry.params);
    }
    assert_int_equal(*names, 0);
}

static void text_that_ends_anywhere_is_survived(void **state)
{
    (void)state;
    static const char ptx[] =
        "/* c */ .entry k(.param .align 8 .b8 a[16], .param .u64 .ptr .align 4 "
        "p) // end\n{ \"s\\\" }";
    for (size_t bytes = 0; bytes < sizeof ptx; bytes++) {
        char *copy = malloc(bytes ? bytes : 1); /* so that a sanitizer notices reads beyond it */
        memcpy(copy, ptx, bytes);
        acui_ptx_entry entry;
        acu_status st = ACU_OK;
        for (size_t at = 0; acui_ptx_next(copy, bytes, &at, &entry, &st);)
            acui_free(entry.params);
        free(copy);
    }
    acui_ptx_entry entry;
    acu_status st = ACU_OK;
    size_t at = 0;
    const char *huge = ".entry k(.param .b64 a[4294967295])";
    assert_true(acui_ptx_next(huge, strlen(huge), &at, &entry, &st));
    assert_false(entry.understood);
}

static void memory_may_run_out(void **state)
{
    (void)state;
    static const char ptx[] = ".entry k(.param .u8 a, .param .u8 b, .param .u8 c, .param .u8 d,"
                              ".param .u8 e, .param .u8 f, .param .u8 g, .param .u8 h,"
                              ".param .u8 i)\n{}";
    for (uint64_t n = 1; n <= 2; n++) {
        acu_debug_fail_alloc(n, false);
        acu_status st = find_params(ptx, "k");
        acu_debug_fail_alloc(0, false);
        assert_fails(st, ACU_ERR_NO_MEMORY, "parameters");
        assert_int_equal(acu_debug_live_blocks(), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_type_has_its_size, teardown),
        cmocka_unit_test_teardown(pointers_arrays_and_alignment_are_understood, teardown),
        cmocka_unit_test_teardown(comments_and_strings_are_no_code, teardown),
        cmocka_unit_test_teardown(kernels_without_parameters_have_none, teardown),
        cmocka_unit_test_teardown(functions_and_prefixes_are_not_taken_for_it, teardown),
        cmocka_unit_test_teardown(entries_are_listed_in_order, teardown),
        cmocka_unit_test_teardown(text_that_ends_anywhere_is_survived, teardown),
        cmocka_unit_test_teardown(memory_may_run_out, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
