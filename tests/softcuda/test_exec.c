/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The executor with kernels that clang has compiled (test_exec.cu). */
#include "softcuda/exec_test.h"

#include <pthread.h>
#include <unistd.h>

extern const char test_exec_ptx[];
static sx_module *module;

static void test_saxpy(void **state)
{
    (void)state;
    enum { N = 1000 };
    struct {
        uint32_t n;
        float a;
        uint64_t x, y;
    } p = {N, 2, alloc(N * 4), alloc(N * 4)};
    float *x = at(p.x), *y = at(p.y);
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = 1;
    }
    launch(module, "saxpy", LINE(4, 256), &p);
    for (int i = 0; i < N; i++)
        assert_true(y[i] == 2 * (float)i + 1);
}

static void test_matmul(void **state)
{
    (void)state;
    enum { N = 48 };
    struct {
        uint64_t a, b, c;
        uint32_t n;
    } p = {alloc(N * N * 4), alloc(N * N * 4), alloc(N * N * 4), N};
    float *a = at(p.a), *b = at(p.b), *c = at(p.c);
    for (int i = 0; i < N * N; i++) {
        a[i] = (float)(i % 7);
        b[i] = (float)(i % 5);
    }
    launch(module, "matmul", (launch_shape){{N / 16, N / 16, 1}, {16, 16, 1}, 0}, &p);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int k = 0; k < N; k++)
                sum += a[i * N + k] * b[k * N + j];
            assert_true(c[i * N + j] == sum);
        }
}

static void test_reduce(void **state)
{
    (void)state;
    enum { N = 10007 };
    struct {
        uint64_t x, out;
        uint32_t n;
    } p = {alloc(N * 4), alloc(4), N};
    uint32_t *x = at(p.x), sum = 0;
    for (uint32_t i = 0; i < N; i++)
        sum += x[i] = i * 2654435761u;
    launch(module, "reduce", LINE(5, 192), &p);
    assert_int_equal(*(uint32_t *)at(p.out), sum);
}

static uint32_t diverged(uint32_t i)
{
    uint32_t v = i, steps = 0;
    while (v != 1 && steps < 200) {
        if (v % 2 == 0) {
            v /= 2;
        } else {
            for (uint32_t k = 0; k < v % 5 && k != 3; k++)
                steps += k;
            v = 3 * v + 1;
        }
        if (v == 0)
            return 0;
        steps++;
    }
    return steps;
}

static void test_divergence(void **state)
{
    (void)state;
    uint64_t out = alloc(300 * 4);
    launch(module, "diverge", LINE(3, 100), &out);
    for (uint32_t i = 0; i < 300; i++)
        assert_int_equal(((uint32_t *)at(out))[i], diverged(i));
}

static void test_calls(void **state)
{
    (void)state;
    static const uint32_t fibonacci[12] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
    uint64_t out = alloc(64 * 4);
    const uint32_t *r = at(out);
    launch(module, "recurse", LINE(1, 64), &out);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(r[i], fibonacci[i % 12]);
    launch(module, "indirect", LINE(1, 64), &out);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(r[i], i % 3 == 0 ? 2 * i : i % 3 == 1 ? i * i : i + 1);
}

static int by_digit(const void *a, const void *b)
{
    return *(const char *)a - *(const char *)b;
}

static void test_local_memory(void **state)
{
    (void)state;
    uint64_t out = alloc(1000 * 4);
    launch(module, "local_array", LINE(4, 250), &out);
    for (uint32_t i = 0; i < 1000; i++) {
        char digits[12];
        snprintf(digits, sizeof digits, "%u", i);
        qsort(digits, strlen(digits), 1, by_digit);
        assert_int_equal(((uint32_t *)at(out))[i], strtoul(digits, NULL, 10));
    }
}

static void test_grids_of_three_dimensions(void **state)
{
    (void)state;
    const launch_shape shape = {{3, 4, 5}, {7, 3, 2}, 0};
    uint64_t out = alloc(60 * 42 * 16);
    launch(module, "coordinates", shape, &out);
    const uint32_t(*r)[4] = at(out);
    for (uint32_t block = 0; block < 60; block++)
        for (uint32_t thread = 0; thread < 42; thread++, r++) {
            assert_int_equal((*r)[0], block % 3 | block / 3 % 4 << 8 | block / 12 << 16);
            assert_int_equal((*r)[1], thread % 7 | thread / 7 % 3 << 8 | thread / 21 << 16);
            assert_int_equal((*r)[2], block);
            assert_int_equal((*r)[3], thread);
        }
}

static void test_printf(void **state)
{
    (void)state;
    struct {
        uint64_t who;
        uint32_t n;
    } p = {alloc(8), 40};
    char text[256] = "";
    strcpy(at(p.who), "thread");
    FILE *file = tmpfile();
    fflush(stdout);
    int before = dup(STDOUT_FILENO);
    assert_true(file && before >= 0);
    dup2(fileno(file), STDOUT_FILENO);
    launch(module, "say", LINE(1, 2), &p);
    fflush(stdout);
    dup2(before, STDOUT_FILENO);
    close(before);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, "thread 40:  0.00 a -5000000000%\n"
                              "thread 41:  1.50 b -5000000000%\n");
}

static void test_symbols(void **state)
{
    (void)state;
    uint64_t out = alloc(4), address = 0;
    size_t bytes = 0;
    launch(module, "symbols", (launch_shape){{1, 1, 1}, {8, 1, 1}, 32}, &out);
    assert_int_equal(*(uint32_t *)at(out), 7 + 2222);
    assert_true(sx_module_global(module, "total", &address, &bytes));
    assert_int_equal(bytes, 4);
    assert_int_equal(*(uint32_t *)at(address), 2229);
    assert_true(sx_module_global(module, "weights", &address, &bytes));
    assert_int_equal(bytes, 16);
    assert_false(sx_module_global(module, "saxpy", &address, &bytes));
}

static void test_struct_parameter(void **state)
{
    (void)state;
    struct {
        uint32_t v[8];
        uint32_t first;
        uint64_t second, out;
    } p = {{1, 2, 3, 4, 5, 6, 7, 8}, 3, UINT64_C(1) << 40, alloc(16 * 8)};
    launch(module, "by_value", LINE(1, 16), &p);
    for (uint32_t i = 0; i < 16; i++)
        assert_int_equal(((uint64_t *)at(p.out))[i], i % 8 + 1 + 3 * p.second);
    const sx_kernel_info *info = sx_kernel_info_of(sx_module_kernel(module, "by_value"));
    assert_int_equal(info->param_count, 2);
    assert_int_equal(info->params[0].bytes, 48);
    assert_int_equal(info->params[1].offset, 48);
    assert_int_equal(info->param_bytes, 56);
}

static void test_heap(void **state)
{
    (void)state;
    uint64_t out = alloc(128 * 4);
    launch(module, "heap", LINE(4, 32), &out);
    for (uint32_t i = 0; i < 128; i++)
        assert_int_equal(((uint32_t *)at(out))[i], i % 32 * 16 + 120);
}

static void test_atomics(void **state)
{
    (void)state;
    struct {
        uint64_t u, s, f, l;
    } p = {alloc(20), alloc(4), alloc(4), alloc(8)};
    launch(module, "atomics", LINE(8, 128), &p);
    const uint32_t *u = at(p.u);
    assert_int_equal(u[0], 1024);
    assert_int_equal(u[1], 1023);
    assert_int_equal(u[2], UINT32_MAX);
    assert_int_equal(u[3], 0);
    assert_int_equal(u[4], 2048);
    assert_int_equal(*(int32_t *)at(p.s), -1023);
    assert_true(*(float *)at(p.f) == 512);
    assert_int_equal(*(uint64_t *)at(p.l), UINT64_C(1024) << 32);
}

/* Launches from several threads share the workers. */
static void *launch_many(void *out)
{
    uint64_t address = (uint64_t)(uintptr_t)out;
    sx_error error;
    for (int n = 0; n < 20; n++)
        if (try_launch(module, "diverge", LINE(6, 64), &address, &error))
            return out;
    return NULL;
}

static void test_launches_side_by_side(void **state)
{
    (void)state;
    pthread_t threads[4];
    uint64_t out[4];
    for (int n = 0; n < 4; n++) {
        out[n] = alloc(384 * 4);
        assert_int_equal(pthread_create(&threads[n], NULL, launch_many, (void *)(uintptr_t)out[n]),
                         0);
    }
    for (int n = 0; n < 4; n++) {
        void *failed;
        pthread_join(threads[n], &failed);
        assert_null(failed);
        for (uint32_t i = 0; i < 384; i++)
            assert_int_equal(((uint32_t *)at(out[n]))[i], diverged(i));
    }
}

static void test_kernels_are_listed(void **state)
{
    (void)state;
    assert_int_equal(sx_module_kernel_count(module), 13);
    assert_null(sx_module_kernel(module, "fibonacci"));
    assert_null(sx_module_kernel_at(module, 13));
    assert_string_equal(sx_kernel_name(sx_module_kernel(module, "matmul")), "matmul");
    const sx_kernel_info *info = sx_kernel_info_of(sx_module_kernel(module, "matmul"));
    assert_int_equal(info->static_shared, 2048);
    assert_int_equal(info->max_threads, 1024);
    assert_int_equal(info->target, 75);
    assert_true(info->constant >= 16);
}

static int setup(void **state)
{
    if (memory_setup(state))
        return -1;
    module = load(test_exec_ptx);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    size_t before = memory.live;
    sx_module_unload(module);
    int wrong = before - memory.live == 2 ? 0 : -1; /* variables and heap */
    memory_teardown(NULL);
    return wrong;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_saxpy),
        cmocka_unit_test(test_matmul),
        cmocka_unit_test(test_reduce),
        cmocka_unit_test(test_divergence),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_local_memory),
        cmocka_unit_test(test_grids_of_three_dimensions),
        cmocka_unit_test(test_printf),
        cmocka_unit_test(test_symbols),
        cmocka_unit_test(test_struct_parameter),
        cmocka_unit_test(test_heap),
        cmocka_unit_test(test_atomics),
        cmocka_unit_test(test_launches_side_by_side),
        cmocka_unit_test(test_kernels_are_listed),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
