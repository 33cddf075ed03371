/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* <acuda/device.cuh> under NVRTC, which has no system headers and compiles in memory. Needs no GPU;
 * skipped if there is no NVRTC. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifndef __has_feature
#define __has_feature(name) 0
#endif
/* Leaks and races inside NVRTC are not acuda's. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED true
#else
#define SANITIZED false
#endif

typedef struct nvrtc {
    void *library;
    int (*create)(void **program, const char *source, const char *name, int headers,
                  const char *const *texts, const char *const *names);
    int (*compile)(void *program, int count, const char *const *options);
    int (*log_size)(void *program, size_t *bytes);
    int (*log)(void *program, char *text);
    int (*ptx_size)(void *program, size_t *bytes);
    int (*destroy)(void **program);
} nvrtc;

static bool resolve(const nvrtc *rtc, const char *name, void *function, size_t bytes)
{
    void *symbol = dlsym(rtc->library, name);
    memcpy(function, &symbol, bytes); /* C has no cast from an object's address to a function's */
    return symbol != NULL;
}

static bool open_nvrtc(nvrtc *rtc)
{
    static const char *const names[] = {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12",
                                        "libnvrtc.so.11.2", "/usr/local/cuda/lib64/libnvrtc.so"};
    rtc->library = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !rtc->library; i++)
        rtc->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
#define RESOLVE(field, name) resolve(rtc, name, &rtc->field, sizeof rtc->field)
    return rtc->library && RESOLVE(create, "nvrtcCreateProgram") &&
           RESOLVE(compile, "nvrtcCompileProgram") && RESOLVE(log_size, "nvrtcGetProgramLogSize") &&
           RESOLVE(log, "nvrtcGetProgramLog") && RESOLVE(ptx_size, "nvrtcGetPTXSize") &&
           RESOLVE(destroy, "nvrtcDestroyProgram");
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *text = calloc(1, 1 << 16);
    assert_non_null(text);
    size_t bytes = fread(text, 1, (1 << 16) - 1, file);
    fclose(file);
    assert_true(bytes > 0 && bytes < (1 << 16) - 1);
    return text;
}

static void compile(const nvrtc *rtc, const char *file, const char *define)
{
    static const char include[] = "-I" ACUDA_SOURCE_DIR "/include";
    const char *options[] = {include, "--std=c++11", define};
    char path[512];
    void *program = NULL;
    size_t bytes = 0;
    snprintf(path, sizeof path, ACUDA_SOURCE_DIR "/%s", file);
    char *source = read_text(path);
    assert_int_equal(rtc->create(&program, source, file, 0, NULL, NULL), 0);
    int result = rtc->compile(program, define ? 3 : 2, options);
    if (result != 0 && rtc->log_size(program, &bytes) == 0) {
        char *log = calloc(1, bytes + 1);
        assert_non_null(log);
        rtc->log(program, log);
        print_error("%s\n", log);
        free(log);
        fail_msg("NVRTC does not compile %s", file);
    }
    assert_int_equal(rtc->ptx_size(program, &bytes), 0);
    assert_true(bytes > 100);
    rtc->destroy(&program);
    free(source);
}

static void test_tiles(void **state)
{
    nvrtc rtc;
    (void)state;
    if (SANITIZED || !open_nvrtc(&rtc)) {
        print_message("no NVRTC here, or a sanitizer\n");
        skip();
    }
    compile(&rtc, "tests/kernels/test_tile.cu", NULL);
    compile(&rtc, "tests/kernels/test_tile.cu", "-DACU_TILE_CHECK");
    compile(&rtc, "tests/op/test_partitions.cu", NULL);
    compile(&rtc, "tests/op/test_partitions.cu", "-DACU_TILE_CHECK");
    compile(&rtc, "examples/saxpy.cu", NULL);
    compile(&rtc, "examples/mlp.cu", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tiles)};
    return cmocka_run_group_tests_name("kernels.nvrtc", tests, NULL, NULL);
}
