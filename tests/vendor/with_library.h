/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* For tests of operations that call a library: a device with it. On a GPU that is the real library,
 * on the software device one that poses as it (fake.h), beside the test's program's folder. */
#ifndef ACUDA_TESTS_WITH_LIBRARY_H
#define ACUDA_TESTS_WITH_LIBRARY_H

#include "support/support.h"
#include "vendor/fake.h"

#include <acuda/driver.h>
#include <acuda/graph_cache.h>
#include <acuda/vendor.h>

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#if ACUDA_WITH_SOFTCUDA
#include "support/fake_host.h"
#endif

static fake_driver *fake; /* NULL on a GPU */

#if ACUDA_WITH_SOFTCUDA
static inline unsigned with_launch(void *stream, void (*fn)(void *), void *user)
{
    return acu_driver()->LaunchHostFunc(stream, fn, user);
}

static inline bool with_captured(void *stream)
{
    unsigned status = 0;
    return acu_driver()->StreamIsCapturing(stream, &status) == 0 && status != 0;
}

/* The library's path is made known. `file`: relative to the folder of tests. */
static inline void with_path(acu_vendor vendor, const char *file, char path[PATH_MAX])
{
    char self[PATH_MAX - 64];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(n > 0);
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    assert_true(snprintf(path, PATH_MAX, "%s/../%s", self, file) < PATH_MAX);
    acu_vendor_settings settings = {.size = sizeof settings, .path = path};
    assert_works(acu_vendor_configure(vendor, &settings));
}

static inline void with_fake(acu_vendor vendor, const char *file)
{
    char path[PATH_MAX];
    with_path(vendor, file, path);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    void *symbol = dlsym(library, "fake_driver_of");
    fake_driver *(*get)(void);
    memcpy(&get, &symbol, sizeof get);
    fake = get();
    fake->launch = with_launch;
    fake->host = test_fake_host;
    fake->read = test_fake_read;
    fake->valid = sd_valid;
    fake->captured = with_captured;
    atomic_store(&fake->fail_create, 0);
    atomic_store(&fake->fail_call, 0);
}
#else
static inline void with_fake(acu_vendor vendor, const char *file)
{
    (void)vendor, (void)file;
    skip();
}
#endif

/* A device with the library; the test is skipped where there is none. */
static inline acu_device *with_library(acu_vendor vendor, const char *file)
{
    if (!test_on_gpu())
        with_fake(vendor, file);
    acu_device *device = test_open();
    if (acu_vendor_load(device, vendor) == ACU_OK)
        return device;
    print_message("skipped: %s\n", acu_last_error()->message);
    assert_true(test_on_gpu());
    test_close(device);
    skip();
    return NULL;
}

static inline void with_end(acu_device *device)
{
    test_close(device);
    if (fake) {
        assert_int_equal(atomic_load(&fake->refused), 0);
        assert_int_equal(atomic_load(&fake->overlaps), 0);
        assert_int_equal(atomic_load(&fake->created), atomic_load(&fake->destroyed));
    }
    test_leaks_none();
}

/* ---- the same again and again ---- */

enum { WITH_FIRST = 6, WITH_TURNS = 5 };

static inline acu_graph_cache_statistics with_cached(acu_device *device)
{
    acu_graph_cache_statistics s = {.size = sizeof s};
    assert_works(acu_graph_cache_wait(device));
    assert_works(acu_graph_cache_stats(device, &s));
    return s;
}

/* Submits an op with the same operands and results, whose calls are to be in cached graphs after a
 * few times: then the library does its work, but is not called. Where `user` is expected to change
 * anything, it is by all turns. */
static inline void with_repeated(acu_device *device, acu_op *(*make)(void *), void *user)
{
    acu_graph_cache_statistics before = {0}, after;
    int calls = 0, done = 0;
    for (int turn = 0; turn < WITH_FIRST + WITH_TURNS; turn++) {
        if (turn == WITH_FIRST) {
            before = with_cached(device);
            calls = fake ? atomic_load(&fake->calls) : 0;
            done = fake ? atomic_load(&fake->done) : 0;
        }
        assert_works(acu_sync(device, make(user), NULL));
        with_cached(device);
    }
    after = with_cached(device);
    if (!acu_driver_has(ACU_CALL_GraphExecChildGraphNodeSetParams))
        return;
    assert_true(after.hits - before.hits >= WITH_TURNS);
    if (!fake)
        return;
    assert_int_equal(atomic_load(&fake->calls) - calls, 0);
    assert_true(atomic_load(&fake->done) - done >= WITH_TURNS);
}

/* ---- tensors of real numbers, by doubles ---- */

/* A dense tensor of f32 or f64. */
static inline acu_tensor *with_numbers(acu_device *device, acu_dtype dtype, acu_shape shape,
                                       const double *numbers)
{
    acu_tensor *tensor;
    bool pairs = acu_dtype_kind_of(dtype) == ACU_KIND_COMPLEX; /* of numbers */
    size_t n = (size_t)acu_shape_elements(shape) * (pairs ? 2 : 1);
    float *narrow = malloc((n + 1) * sizeof *narrow);
    for (size_t i = 0; i < n; i++)
        narrow[i] = (float)numbers[i];
    bool wide = dtype == ACU_F64 || dtype == ACU_C128;
    const void *data = wide ? (const void *)numbers : narrow;
    assert_works(acu_sync(device, acu_const(dtype, shape, data), &tensor));
    free(narrow);
    return tensor;
}

static inline void with_read(acu_tensor *tensor, double *numbers)
{
    size_t bytes = acu_tensor_bytes(tensor), n = bytes / sizeof(float);
    if (acu_tensor_dtype(tensor) == ACU_F64 || acu_tensor_dtype(tensor) == ACU_C128) {
        assert_works(acu_read_sync(tensor, numbers, bytes));
        return;
    }
    float *narrow = malloc(bytes + 4);
    assert_works(acu_read_sync(tensor, narrow, bytes));
    for (size_t i = 0; i < n; i++)
        numbers[i] = (double)narrow[i];
    free(narrow);
}

/* Numbers in (-1, 1). */
static inline void with_random(test_random *random, double *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        numbers[i] = ((double)(test_next(random) >> 11) * 0x1p-53 - 0.5) * 2;
}

static inline void with_near(const double *have, const double *want, size_t n, double tolerance,
                             const char *what)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs(have[i] - want[i]) <= tolerance * (1 + fabs(want[i]))))
            fail_msg("%s: element %zu is %.17g, not %.17g", what, i, have[i], want[i]);
}

#endif
