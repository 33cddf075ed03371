/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Modules: loading, refusing, names; and the kernels in them. */
#include "kernel/kernels_ptx.h"
#include "support/one_device.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void a_kernel_runs(void **state)
{
    (void)state;
    acu_kernel *set = test_kernel(device, kernels_ptx, "set");
    acu_buffer *buffer = NULL;
    assert_works(acu_buffer_create(device, 256, &buffer));
    test_quiet(device);
    CUdeviceptr out = acu_buffer_address(buffer);
    float a = 2.5f, got[64];
    void *params[] = {&out, &a};
    test_enter(device);
    assert_int_equal(acu_driver()->LaunchKernel(acu_kernel_raw(set), 2, 1, 1, 32, 1, 1, 0, NULL,
                                                params, NULL), ACU_CUDA_SUCCESS);
    test_leave(device);
    test_quiet(device);
    test_get(device, got, out, sizeof got);
    for (int i = 0; i < 64; i++)
        assert_true(got[i] == 2.5f);
    acu_buffer_release(buffer);
    acu_kernel_release(set);
}

static void kernels_know_themselves(void **state)
{
    (void)state;
    acu_kernel *set = test_kernel(device, kernels_ptx, "set");
    const acu_kernel_info *info = acu_kernel_info_of(set);
    assert_string_equal(info->name, "set");
    assert_true(info->params_known);
    assert_int_equal(info->param_count, 2);
    assert_int_equal(acu_kernel_param_bytes(set, 0), 8);
    assert_int_equal(acu_kernel_param_bytes(set, 1), 4);
    assert_int_equal(acu_kernel_param_bytes(set, 2), 0);
    assert_true(info->max_threads >= 512 && info->max_threads <= 1024);
    assert_true(info->registers > 0);
    assert_ptr_equal(acu_kernel_device(set), device);
    acu_kernel_release(set);

    acu_kernel *bounded = test_kernel(device, kernels_ptx, "bounded");
    assert_int_equal(acu_kernel_info_of(bounded)->max_threads, 128);
    acu_kernel_release(bounded);
    acu_kernel *shared = test_kernel(device, kernels_ptx, "shared");
    assert_true(acu_kernel_info_of(shared)->static_shared >= 16);
    acu_kernel_release(shared);
    acu_kernel *tiled = test_kernel(device, kernels_ptx, "tiled");
    assert_int_equal(acu_kernel_info_of(tiled)->param_count, 3);
    assert_int_equal(acu_kernel_param_bytes(tiled, 0), 112);
    assert_int_equal(acu_kernel_param_bytes(tiled, 2), 1);
    acu_kernel_release(tiled);
    acu_kernel *empty = test_kernel(device, kernels_ptx, "empty");
    assert_true(acu_kernel_info_of(empty)->params_known);
    assert_int_equal(acu_kernel_info_of(empty)->param_count, 0);
    acu_kernel_release(empty);
}

static void a_missing_kernel_is_named_with_those_there_are(void **state)
{
    (void)state;
    acu_module *module = test_load_ptx(device, "small", kernels_ptx);
    acu_kernel *kernel = NULL;
    assert_fails(acu_kernel_get(module, "sett", &kernel), ACU_ERR_NOT_FOUND,
                 "module small|\"sett\"|set, bounded, shared, tiled, empty|did you mean set?");
    assert_fails(acu_kernel_get(module, "emtpy", &kernel), ACU_ERR_NOT_FOUND, "did you mean empty?");
    assert_fails(acu_kernel_get(module, "Bounded", &kernel), ACU_ERR_NOT_FOUND, "mean bounded?");
    assert_fails(acu_kernel_get(module, "nothing", &kernel), ACU_ERR_NOT_FOUND, "");
    assert_null(strstr(acu_last_error()->message, "did you mean"));
    assert_fails(acu_kernel_get(module, NULL, &kernel), ACU_ERR_INVALID, "name is NULL");
    assert_fails(acu_kernel_get(module, "set", NULL), ACU_ERR_INVALID, "nowhere");
    assert_null(kernel);
    acu_module_release(module);
    assert_fails(acu_kernel_get(module, "set", &kernel), ACU_ERR_BAD_HANDLE, "module was released");
}

static void names_that_cpp_made_are_told(void **state)
{
    (void)state;
    static const char ptx[] = ".version 6.3\n.target sm_52\n.address_size 64\n"
                              ".visible .entry _Z5scalePf(.param .u64 x) { ret; }\n"
                              ".visible .entry _ZN4mine4zeroEv() { ret; }\n";
    acu_module *module = test_load_ptx(device, NULL, ptx);
    acu_kernel *kernel = NULL;
    assert_fails(acu_kernel_get(module, "scale", &kernel), ACU_ERR_NOT_FOUND,
                 "_Z5scalePf|extern \"C\"");
    assert_fails(acu_kernel_get(module, "zero", &kernel), ACU_ERR_NOT_FOUND,
                 "_ZN4mine4zeroEv|extern \"C\"");
    acu_module_release(module);
}

/* The record has room for the first line; acu_last_log has all. */
static void what_the_driver_said_is_kept(void **state)
{
    (void)state;
    static const char wrong[] = ".version 6.3\n.target sm_52\n.address_size 64\n"
                                ".visible .entry k()\n{\n    nonsense;\n    ret;\n}\n";
    acu_module *module;
    assert_fails(acu_module_load(device, ACU_PTX(NULL, wrong), &module), ACU_ERR_PTX, "");
    assert_true(strlen(acu_last_log()) > 10);
    assert_fails(acu_module_load(device, ACU_FILE(NULL, "/nowhere"), &module), ACU_ERR_IO,
                 "/nowhere");
    assert_string_equal(acu_last_log(), ""); /* of another load */
    acu_module_source source = {.size = sizeof source, .ptx = wrong};
    acu_future *future;
    assert_works(acu_module_load_async(device, &source, &future));
    acu_status status = acu_future_module(future, &module);
    if (status == ACU_OK) {
        assert_fails(acu_module_wait(module, ACU_FOREVER), ACU_ERR_PTX, "");
        assert_true(strlen(acu_last_log()) > 10);
        assert_string_equal(acu_last_log(), acu_module_log(module));
        acu_module_release(module);
    } else { /* it has failed already */
        assert_int_equal(status, ACU_ERR_PTX);
    }
    acu_future_release(future);
}

static void modules_are_found_by_name(void **state)
{
    (void)state;
    acu_module *module = test_load_ptx(device, "small", kernels_ptx), *again = NULL;
    acu_kernel *kernel = NULL, *other = NULL;
    assert_fails(acu_module_load(device, ACU_PTX("small", kernels_ptx), &again), ACU_ERR_BUSY,
                 "\"small\" already");
    assert_works(acu_kernel_find(device, "small", "set", &kernel));
    assert_fails(acu_kernel_find(device, "big", "set", &other), ACU_ERR_NOT_FOUND, "\"big\"");
    assert_fails(acu_kernel_find(device, "smal", "set", &other), ACU_ERR_NOT_FOUND,
                 "did you mean small?");
    assert_fails(acu_kernel_find(device, "small", "no", &other), ACU_ERR_NOT_FOUND, "\"no\"");
    assert_fails(acu_kernel_find(device, NULL, "no", &other), ACU_ERR_INVALID, "module is NULL");
    acu_module_release(module); /* the kernel keeps it */
    assert_works(acu_kernel_find(device, "small", "empty", &other));
    acu_kernel_release(other);
    acu_kernel_release(kernel);
    assert_fails(acu_kernel_find(device, "small", "set", &other), ACU_ERR_NOT_FOUND, "small");
    assert_works(acu_module_load(device, ACU_PTX("small", kernels_ptx), &again));
    acu_module_release(again);
}

static void names_belong_to_devices(void **state)
{
    (void)state;
    acu_device *devices[2];
    test_open_n(devices, 2);
    acu_module *a = test_load_ptx(devices[0], "m", kernels_ptx);
    acu_module *b = test_load_ptx(devices[1], "m", kernels_ptx);
    acu_kernel *kernel = NULL;
    assert_works(acu_kernel_find(devices[1], "m", "set", &kernel));
    assert_ptr_equal(acu_kernel_device(kernel), devices[1]);
    acu_kernel_release(kernel);
    acu_module_release(a);
    acu_module_release(b);
    test_close(devices[0]);
    test_close(devices[1]);
}

static void wrong_code_is_refused_with_the_line(void **state)
{
    (void)state;
    acu_module *module = NULL;
    static const char wrong[] = PTX_HEAD ".visible .entry k()\n{\n    .reg .b32 %r<2>;\n"
                                      "    frobnicate.u32 %r1, 2;\n}\n";
    assert_fails(acu_module_load(device, ACU_PTX("broken", wrong), &module), ACU_ERR_PTX,
                 "cuModuleLoadDataEx|broken|line 7|frobnicate");
    static const char cut[] = PTX_HEAD ".visible .entry k()\n{\n";
    assert_fails(acu_module_load(device, ACU_PTX(NULL, cut), &module), ACU_ERR_PTX, "PTX: ");
    assert_fails(acu_module_load(device, ACU_PTX(NULL, ""), &module), ACU_ERR_PTX, "empty");
    assert_fails(acu_module_load(device, ACU_PTX(NULL, NULL), &module), ACU_ERR_INVALID, "NULL");
    assert_fails(acu_module_load(device, ACU_PTX(NULL, kernels_ptx), NULL), ACU_ERR_INVALID,
                 "nowhere");
    assert_fails(acu_module_load(NULL, ACU_PTX(NULL, kernels_ptx), &module), ACU_ERR_INVALID,
                 "device");
    assert_null(module);
}

static void images_are_told_apart(void **state)
{
    (void)state;
    acu_module *module = NULL;
    /* Text without a NUL, and with more than one. */
    size_t bytes = strlen(kernels_ptx);
    char *image = malloc(bytes + 8);
    memcpy(image, kernels_ptx, bytes);
    memset(image + bytes, 0, 8);
    assert_works(acu_module_load(device, ACU_IMAGE(NULL, image, bytes + 8), &module));
    acu_module_release(module);
    image = realloc(image, bytes);
    assert_works(acu_module_load(device, ACU_IMAGE(NULL, image, bytes), &module));
    acu_module_release(module);
    free(image);
    module = NULL;
    assert_fails(acu_module_load(device, ACU_IMAGE(NULL, "ab\0cd", 5), &module), ACU_ERR_PTX,
                 "neither");
    assert_fails(acu_module_load(device, ACU_IMAGE(NULL, "", 0), &module), ACU_ERR_PTX, "empty");
    assert_fails(acu_module_load(device, ACU_IMAGE(NULL, NULL, 5), &module), ACU_ERR_INVALID,
                 "NULL");
    assert_null(module);
}

static void files_are_loaded(void **state)
{
    (void)state;
    char path[] = "/tmp/acuda-test-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    size_t bytes = strlen(kernels_ptx);
    assert_int_equal(write(file, kernels_ptx, bytes), bytes);
    close(file);
    acu_module *module = NULL;
    assert_works(acu_module_load(device, ACU_FILE("file", path), &module));
    acu_kernel *kernel = NULL;
    assert_works(acu_kernel_find(device, "file", "set", &kernel));
    acu_kernel_release(kernel);
    acu_module_release(module);
    module = NULL;
    unlink(path);
    errno = 7;
    assert_fails(acu_module_load(device, ACU_FILE(NULL, path), &module), ACU_ERR_IO,
                 "opening /tmp/acuda-test-|No such file");
    assert_int_equal(errno, 7);
    assert_fails(acu_module_load(device, ACU_FILE(NULL, "/tmp"), &module), ACU_ERR_IO,
                 "/tmp is no file");
    assert_int_equal(mkfifo(path, 0600), 0); /* to which nobody ever writes */
    assert_fails(acu_module_load(device, ACU_FILE(NULL, path), &module), ACU_ERR_IO, "is no file");
    unlink(path);
    assert_fails(acu_module_load(device, ACU_FILE(NULL, NULL), &module), ACU_ERR_INVALID, "NULL");
    assert_null(module);
}

static void released_handles_are_told(void **state)
{
    (void)state;
    acu_kernel *kernel = test_kernel(device, kernels_ptx, "set");
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_MODULE), 1);
    acu_kernel_release(acu_kernel_retain(kernel));
    acu_kernel_release(kernel);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_MODULE), 0);
    assert_fails(acu_kernel_declare(kernel, ""), ACU_ERR_BAD_HANDLE, "kernel was released already");
    assert_null(acu_kernel_info_of(kernel));
    assert_int_equal(acu_kernel_param_bytes(kernel, 0), 0);
    assert_null(acu_kernel_raw(kernel));
    assert_null(acu_kernel_device(kernel));
    acu_module_release(NULL);
    acu_kernel_release(NULL);
}

static void *load_and_find(void *user)
{
    for (int i = 0; i < 20; i++) {
        acu_module *module = NULL;
        acu_kernel *kernel = NULL;
        acu_status st = acu_module_load(device, ACU_PTX("race", kernels_ptx), &module);
        if (st != ACU_OK && st != ACU_ERR_BUSY)
            return user;
        st = acu_kernel_find(device, "race", "set", &kernel);
        if (st != ACU_OK && st != ACU_ERR_NOT_FOUND)
            return user;
        acu_kernel_release(kernel);
        acu_module_release(module);
    }
    return NULL;
}

static void threads_load_and_find(void **state)
{
    (void)state;
    pthread_t threads[3];
    int failure = 1;
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, load_and_find, &failure), 0);
    for (int i = 0; i < 3; i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(a_kernel_runs),
        DEVICE_TEST(kernels_know_themselves),
        DEVICE_TEST(a_missing_kernel_is_named_with_those_there_are),
        DEVICE_TEST(names_that_cpp_made_are_told),
        DEVICE_TEST(what_the_driver_said_is_kept),
        DEVICE_TEST(modules_are_found_by_name),
        DEVICE_TEST(names_belong_to_devices),
        DEVICE_TEST(wrong_code_is_refused_with_the_line),
        DEVICE_TEST(images_are_told_apart),
        DEVICE_TEST(files_are_loaded),
        DEVICE_TEST(released_handles_are_told),
        DEVICE_TEST(threads_load_and_find),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
