/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Nothing that a text contains decides how deep the device recurses, or how much time and memory
 * it takes: calls of any depth, widths of printf, sizes of blocks. Texts are loaded, and kernels
 * run, on threads with little stack.
 */
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "softcuda/exec_test.h"

#define HEAD ".version 7.5\n.target sm_75\n.address_size 64\n"
#define LITTLE ((size_t)256 << 10) /* of stack */

static void on_little_stack(void *(*body)(void *), void *argument)
{
    pthread_attr_t attributes;
    pthread_t thread;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, LITTLE), 0);
    assert_int_equal(pthread_create(&thread, &attributes, body, argument), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

/* ---- calls ----------------------------------------------------------------------------------- */

#define FUNCTIONS 12000

/* f0 waits for all lanes of the warp; each other function calls the one before it. The lanes come
 * to the kernel's call in two turns, so that their activations meet at the bottom. */
static char *chain_of_calls(void)
{
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    assert_non_null(to);
    fputs(HEAD ".func f0() {\n  bar.warp.sync 0xffffffff;\n  ret;\n}\n", to);
    for (int n = 1; n < FUNCTIONS; n++)
        fprintf(to, ".func f%d() {\n  call f%d;\n  ret;\n}\n", n, n - 1);
    fprintf(to,
            ".visible .entry k(.param .u64 p) {\n"
            "  .reg .pred %%q; .reg .b32 %%r<4>; .reg .b64 %%d;\n"
            "  mov.u32 %%r0, 0; mov.u32 %%r1, %%tid.x; shr.u32 %%r1, %%r1, 4;\n"
            "AGAIN:\n  setp.ne.u32 %%q, %%r0, %%r1;\n  @%%q bra NEXT;\n  call f%d;\n"
            "NEXT:\n  add.u32 %%r0, %%r0, 1;\n  setp.lt.u32 %%q, %%r0, 2;\n  @%%q bra AGAIN;\n"
            "  ld.param.u64 %%d, [p];\n  red.global.add.u32 [%%d], 1;\n  ret;\n}\n",
            FUNCTIONS - 1);
    fclose(to);
    return text;
}

typedef struct job {
    const char *text;
    sx_module *module;
    unsigned loaded, ran;
    uint64_t param;
    sx_error error;
} job;

static void *load_and_run(void *argument)
{
    job *j = argument;
    j->loaded = try_load(j->text, &j->module, &j->error);
    if (!j->loaded)
        j->ran = try_launch(j->module, "k", LINE(1, 32), &j->param, &j->error);
    return NULL;
}

static void calls_of_any_depth(void **state)
{
    (void)state;
    char *text = chain_of_calls();
    job j = {.text = text, .param = alloc(4)};
    on_little_stack(load_and_run, &j);
    if (j.loaded || j.ran)
        fail_msg("%s", j.error.text);
    assert_int_equal(*(uint32_t *)at(j.param), 32);
    sx_module_unload(j.module);
    free(text);
}

static void nested_text_is_refused(void **state)
{
    (void)state;
    enum { DEPTH = 20000 };
    static const char *const openings[] = {"(", "-", "(.s64)", "!", "1?1:", "1+(", "1?"};
    for (size_t k = 0; k < sizeof openings / sizeof *openings; k++) {
        char *text = NULL;
        size_t bytes;
        FILE *to = open_memstream(&text, &bytes);
        fputs(HEAD ".global .u64 x = ", to);
        for (int n = 0; n < DEPTH; n++)
            fputs(openings[k], to);
        fputs("1;\n.visible .entry k() { ret; }\n", to);
        fclose(to);
        job j = {.text = text};
        on_little_stack(load_and_run, &j);
        assert_int_equal(j.loaded, 218);
        free(text);
    }
}

static void nested_braces_are_refused(void **state)
{
    (void)state;
    enum { DEPTH = 20000 };
    static const struct {
        const char *head, *opening, *closing, *tail;
    } cases[] = {
        {HEAD ".visible .entry k() { ", "{", "}", " ret; }\n"},
        {HEAD ".global .u64 x[2] = ", "{", "", "1;\n"},
        {HEAD ".global .u64 x = ", "generic(", "", ";\n"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char *text = NULL;
        size_t bytes;
        FILE *to = open_memstream(&text, &bytes);
        fputs(cases[k].head, to);
        for (int n = 0; n < DEPTH; n++)
            fputs(cases[k].opening, to);
        for (int n = 0; n < DEPTH; n++)
            fputs(cases[k].closing, to);
        fputs(cases[k].tail, to);
        fclose(to);
        job j = {.text = text};
        on_little_stack(load_and_run, &j);
        assert_int_equal(j.loaded, 218);
        free(text);
    }
}

/* ---- printf ---------------------------------------------------------------------------------- */

#define PRINTED 2047 /* characters of one printf; what does not fit is cut off */

/* One printf of the format, and a long argument. Returns what it printed. */
static void printed(const char *format, uint64_t argument, char *out, size_t size)
{
    static const char code[] =
        HEAD ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
             ".visible .entry k(.param .u64 format, .param .u64 args) {\n"
             "  .reg .b64 %d<2>; .reg .b32 %r;\n"
             "  ld.param.u64 %d0, [format]; ld.param.u64 %d1, [args];\n"
             "  { .param .b64 f; .param .b64 a; .param .b32 r;\n"
             "    st.param.b64 [f], %d0; st.param.b64 [a], %d1;\n"
             "    call (r), vprintf, (f, a); }\n  ret;\n}\n";
    sx_module *module = load(code);
    uint64_t p[2] = {alloc(strlen(format) + 1), alloc(32)};
    strcpy(at(p[0]), format);
    for (int n = 0; n < 4; n++)
        ((uint64_t *)at(p[1]))[n] = argument;
    FILE *file = tmpfile();
    fflush(stdout);
    int before = dup(STDOUT_FILENO);
    assert_true(file && before >= 0);
    dup2(fileno(file), STDOUT_FILENO);
    launch(module, "k", LINE(1, 1), p);
    fflush(stdout);
    dup2(before, STDOUT_FILENO);
    close(before);
    rewind(file);
    out[fread(out, 1, size - 1, file)] = '\0';
    fclose(file);
    sx_module_unload(module);
}

static long peak_of_memory(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss; /* KiB */
}

static void printf_is_bounded(void **state)
{
    (void)state;
    static const char *const formats[] = {"%.2000000000f", "%2000000000d", "%-2000000000s",
                                          "%.2000000000e", "%*d",          "%.*f"};
    char out[8192];
    const long before = peak_of_memory();
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
        printed(formats[k], k < 4 ? 0 : 2000000000, out, sizeof out);
        assert_int_equal(strlen(out), PRINTED);
    }
    assert_true(peak_of_memory() - before < 256 << 10);
    printed("[%-+8.3f|% 0005d|%%|%5%|%-*.*f]", 0, out, sizeof out);
    assert_string_equal(out, "[+0.000  | 0000|%|%|0]");
    printed("[%.-3d|%-]", 0, out, sizeof out);
    assert_string_equal(out, "[%.-3d|%-]");
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void kernel_is_refused(const char *directive, const char *why)
{
    char text[512];
    snprintf(text, sizeof text, HEAD ".visible .entry k()\n%s\n{\n ret;\n}\n"
                                     ".visible .entry other() { ret; }\n", directive);
    sx_module *module = load(text);
    assert_null(sx_module_kernel(module, "k"));
    assert_string_equal(sx_module_refusal(module, "k")->text, why);
    launch(module, "other", LINE(1, 1), NULL);
    sx_module_unload(module);
}

static void sizes_of_blocks_do_not_overflow(void **state)
{
    (void)state;
    kernel_is_refused(".reqntid 65536, 65536, 1",
                      "PTX line 4: kernel k requires blocks of 65536 x 65536 x 1 threads, more "
                      "than 1024");
    kernel_is_refused(".reqntid 4294967295, 4294967295, 4294967295",
                      "PTX line 4: kernel k requires blocks of 4294967295 x 4294967295 x "
                      "4294967295 threads, more than 1024");
    kernel_is_refused(".reqntid 32, 33",
                      "PTX line 4: kernel k requires blocks of 32 x 33 x 1 threads, more than 1024");
    sx_module *module = load(HEAD ".visible .entry k() .maxntid 65536, 65536, 1 { ret; }\n");
    assert_int_equal(sx_kernel_info_of(sx_module_kernel(module, "k"))->max_threads, 1024);
    sx_module_unload(module);
    sx_error error;
    assert_int_equal(try_load(HEAD ".visible .entry k() .reqntid 8, 0 { ret; }\n", &module, &error),
                     218);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_of_any_depth),
        cmocka_unit_test(nested_text_is_refused),
        cmocka_unit_test(nested_braces_are_refused),
        cmocka_unit_test(printf_is_bounded),
        cmocka_unit_test(sizes_of_blocks_do_not_overflow),
    };
    return cmocka_run_group_tests(tests, memory_setup, memory_teardown);
}
