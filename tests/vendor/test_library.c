/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Where libraries are looked for, and what is said of them. Each case is a process of its own, with
 * an environment of its own. What is found is a library that poses as cuBLAS (ops/fake_cublas.c),
 * under names in folders that the case makes.
 */
#include "support/support.h"

#include <acuda/acuda.h>
#include <acuda/dnn.h>
#include <acuda/fft.h>
#include <acuda/vendor.h>

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];    /* the case's */
static char fake[PATH_MAX]; /* the library's file */

static void make_folder(const char *path)
{
    char text[PATH_MAX];
    snprintf(text, sizeof text, "%s/%s", folder, path);
    for (char *c = text + strlen(folder) + 1; (c = strchr(c, '/')); c++) {
        *c = '\0';
        mkdir(text, 0755);
        *c = '/';
    }
    mkdir(text, 0755);
}

/* folder/path/name is a link to the fake. */
static void put_fake(const char *path, const char *name)
{
    char text[PATH_MAX];
    make_folder(path);
    assert_true(snprintf(text, sizeof text, "%s/%s/%s", folder, path, name) < (int)sizeof text);
    assert_int_equal(symlink(fake, text), 0);
}

static void begin(void)
{
    static const char *const unset[] = {"VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_HOME", "CUDA_PATH",
                                        "ACUDA_CUBLAS"};
    char self[PATH_MAX - 64];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(n > 0);
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/../ops/libfake_cublas.so", self);
    if (!realpath(path, fake))
        skip();
    for (size_t i = 0; i < sizeof unset / sizeof *unset; i++)
        unsetenv(unset[i]);
    snprintf(folder, sizeof folder, "/tmp/acuda-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
}

static void end(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

/* The report has one line for each library; the one about cuBLAS. */
static const char *report(void)
{
    static char text[4096];
    size_t bytes = acu_vendor_report(text, sizeof text), lines = 0;
    assert_int_equal(bytes, strlen(text));
    for (const char *c = text; (c = strchr(c, '\n')); c++)
        lines++;
    assert_int_equal(lines, ACU_VENDOR_COUNT);
    char few[10];
    assert_int_equal(acu_vendor_report(few, sizeof few), bytes);
    assert_int_equal(strlen(few), 9);
    char *line = strstr(text, "cuBLAS: ");
    assert_non_null(line);
    *strchr(line, '\n') = '\0';
    return line;
}

static void says(const char *words)
{
    const char *line = report();
    if (!strstr(line, words))
        fail_msg("\"%s\" is not in: %s", words, line);
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void found_in(const char *variable, const char *path)
{
    begin();
    put_fake(path, "libcublas.so.12");
    setenv(variable, folder, 1);
    says("12.3.4, ");
    says(fake); /* links are resolved */
    assert_int_equal(acu_vendor_version(ACU_VENDOR_CUBLAS), 120304);
    assert_string_equal(acu_vendor_path(ACU_VENDOR_CUBLAS), fake);
    end();
}

static void case_venv(void **state)
{
    (void)state;
    found_in("VIRTUAL_ENV", "lib/python3.11/site-packages/nvidia/cu13/lib");
}

static void case_conda(void **state)
{
    (void)state;
    found_in("CONDA_PREFIX", "targets/x86_64-linux/lib");
}

static void case_home(void **state)
{
    (void)state;
    found_in("CUDA_HOME", "lib64");
}

/* Everybody could have put something into it. */
static void case_open_folder(void **state)
{
    (void)state;
    begin();
    put_fake("lib", "libcublas.so.12");
    assert_int_equal(chmod(folder, 0777), 0);
    setenv("CONDA_PREFIX", folder, 1);
    assert_null(strstr(report(), fake));
    end();
}

/* What the process has comes before what the environment names. */
static void case_loaded(void **state)
{
    (void)state;
    char text[PATH_MAX];
    begin();
    put_fake("other", "libcublas.so.12");
    snprintf(text, sizeof text, "%s/other/libcublas.so.12", folder);
    assert_non_null(dlopen(text, RTLD_NOW | RTLD_LOCAL));
    make_folder("lib64");
    setenv("CUDA_HOME", folder, 1);
    says(fake);
    end();
}

static void case_old(void **state)
{
    (void)state;
    begin();
    setenv("ACUDA_CUBLAS", fake, 1);
    setenv("FAKE_CUBLAS_MAJOR", "9", 1);
    says("is of version 9, and too old: 11 is needed");
    says("pip install nvidia-cublas");
    assert_int_equal(acu_vendor_version(ACU_VENDOR_CUBLAS), 0);
    assert_null(acu_vendor_path(ACU_VENDOR_CUBLAS));
    end();
}

static void case_incomplete(void **state)
{
    (void)state;
    begin();
    setenv("ACUDA_CUBLAS", "libm.so.6", 1);
    says("libm.so.6 has no cublasGetProperty");
    end();
}

static void case_newer_than_the_driver(void **state)
{
    (void)state;
    begin();
    setenv("ACUDA_CUBLAS", fake, 1);
    setenv("FAKE_CUBLAS_MAJOR", "99", 1);
    acu_device *device = test_open();
    says("is of version 99, for CUDA 99, and too new for the driver, of CUDA 1");
    test_close(device);
    end();
}

static void case_off(void **state)
{
    (void)state;
    begin();
    setenv("ACUDA_CUBLAS", "off", 1);
    says("switched off by ACUDA_CUBLAS=off");
    acu_vendor_settings settings = {.size = sizeof settings, .off = true};
    assert_works(acu_vendor_configure(ACU_VENDOR_CUBLAS, &settings));
    says("switched off by acu_vendor_configure");
    settings = (acu_vendor_settings){.size = sizeof settings, .path = fake};
    assert_works(acu_vendor_configure(ACU_VENDOR_CUBLAS, &settings));
    says(fake);
    end();
}

/* What was found by looking for it can be named then, so that other devices use it; no other. */
static void case_named_once_open(void **state)
{
    (void)state;
    begin();
    put_fake("lib64", "libcublas.so.12");
    setenv("CUDA_HOME", folder, 1);
    says(fake);
    acu_vendor_settings settings = {.size = sizeof settings, .path = fake};
    assert_works(acu_vendor_configure(ACU_VENDOR_CUBLAS, &settings));
    settings.path = "libm.so.6";
    assert_fails(acu_vendor_configure(ACU_VENDOR_CUBLAS, &settings), ACU_ERR_BUSY, "is open as");
    says(fake);
    end();
}

static acu_status multiply(acu_device *device, acu_dtype dtype)
{
    acu_op *a = acu_ones(dtype, ACU_SHAPE(4, 4)), *b = acu_ones(dtype, ACU_SHAPE(4, 4));
    return acu_sync(device, acu_matmul(a, b), NULL);
}

/* Nothing else does the work of a library that is required, and is not there. */
static void case_required(void **state)
{
    (void)state;
    test_software_only();
    begin();
    setenv("ACUDA_CUBLAS", "required", 1);
    setenv("ACUDA_CUFFT", "required", 1);
    setenv("ACUDA_CUDNN", "required", 1);
    acu_device *device = test_open();
    assert_fails(multiply(device, ACU_F32), ACU_ERR_NOT_FOUND, "cuBLAS is not looked for");
    assert_works(multiply(device, ACU_I32)); /* cuBLAS never does these */
    assert_fails(acu_sync(device, acu_fft(acu_ones(ACU_C64, ACU_SHAPE(8)), 1, ACU_FORWARD), NULL),
                 ACU_ERR_NOT_FOUND, "cuFFT is not looked for");
    assert_fails(acu_sync(device, acu_dnn_softmax(acu_ones(ACU_F32, ACU_SHAPE(3, 4)), 1), NULL),
                 ACU_ERR_NOT_FOUND, "cuDNN is not looked for");
    /* What the program says counts: off; then a file that is not there, first when it is looked
     * for, and then when that is known. */
    acu_vendor_settings settings = {.size = sizeof settings, .off = true};
    assert_works(acu_vendor_configure(ACU_VENDOR_CUBLAS, &settings));
    assert_works(multiply(device, ACU_F32));
    settings.required = true;
    assert_fails(acu_vendor_configure(ACU_VENDOR_CUBLAS, &settings), ACU_ERR_INVALID,
                 "cuBLAS is off and required");
    settings = (acu_vendor_settings){.size = sizeof settings, .path = "/nowhere/libcublas.so",
                                     .required = true};
    assert_works(acu_vendor_configure(ACU_VENDOR_CUBLAS, &settings));
    for (int i = 0; i < 2; i++)
        assert_fails(multiply(device, ACU_F32), ACU_ERR_NOT_FOUND, "/nowhere/libcublas.so");
    settings.required = false;
    assert_works(acu_vendor_configure(ACU_VENDOR_CUBLAS, &settings));
    unsetenv("ACUDA_CUBLAS"); /* which is read once: it still counts */
    assert_fails(multiply(device, ACU_F32), ACU_ERR_NOT_FOUND, "/nowhere/libcublas.so");
    test_close(device);
    end();
}

static void in_process(void **state)
{
    test_in_process(*state);
}

static void refuses(void **state)
{
    (void)state;
    acu_vendor_settings settings = {.size = sizeof settings};
    acu_device *device = test_open();
    assert_fails(acu_vendor_configure(ACU_VENDOR_COUNT, &settings), ACU_ERR_INVALID, "no library");
    assert_fails(acu_vendor_load(device, ACU_VENDOR_COUNT), ACU_ERR_INVALID, "no library");
    assert_fails(acu_vendor_load(NULL, ACU_VENDOR_CUBLAS), ACU_ERR_INVALID, "NULL");
    assert_string_equal(acu_vendor_name(ACU_VENDOR_COUNT), "?");
    assert_int_equal(acu_vendor_version(ACU_VENDOR_COUNT), 0);
    assert_null(acu_vendor_path(ACU_VENDOR_COUNT));
    assert_string_equal(acu_vendor_name(ACU_VENDOR_CUBLAS), "cuBLAS");
    test_close(device);
    test_leaks_none();
}

int main(int argc, char **argv)
{
    static const test_case cases[] = {{"venv", case_venv},
                                      {"conda", case_conda},
                                      {"home", case_home},
                                      {"open_folder", case_open_folder},
                                      {"loaded", case_loaded},
                                      {"old", case_old},
                                      {"incomplete", case_incomplete},
                                      {"newer", case_newer_than_the_driver},
                                      {"off", case_off},
                                      {"named", case_named_once_open},
                                      {"required", case_required}};
    enum { COUNT = sizeof cases / sizeof *cases };
    if (argc > 1)
        return test_run_case(cases, COUNT, argv[1]);
    struct CMUnitTest tests[COUNT + 1] = {cmocka_unit_test(refuses)};
    for (size_t i = 0; i < COUNT; i++)
        tests[i + 1] = (struct CMUnitTest){.name = cases[i].name,
                                           .test_func = in_process,
                                           .initial_state = (void *)(uintptr_t)cases[i].name};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
