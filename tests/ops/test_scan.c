/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Scans by an expression of the program's, in every way (tests/ops/numpy/check_scan.py and
 * check_expression.py have what they compute), and that the same expression serves as a fused
 * operation too, and for complex numbers. */
#include "ops/every_way.h"

#include "support/one_device.h"

#include <acuda/scan.h>

enum { N = 10000 };

static acu_expression *sum, *size; /* size: of a complex number, which is real */

static acu_op *way_scan(acu_tensor *const *x)
{
    return acu_scan_by(sum, x[0], -1, 0);
}
static acu_op *way_exclusive(acu_tensor *const *x)
{
    return acu_scan_by_exclusive(sum, acu_reshape(x[0], ACU_SHAPE(N / 10, 10)), 0, 0);
}

static acu_op *way_complex(acu_tensor *const *x)
{
    acu_op *z = acu_complex(acu_slice(x[0], ACU_SHAPE(0), ACU_SHAPE(3000)), 0.5);
    return acu_fused(size, acu_scan_by(sum, z, 0, 0), 2);
}

static int setup(void **state)
{
    device_setup(state);
    acu_status status = acu_expression_create("a + b", &sum);
    if (status == ACU_OK)
        status = acu_expression_create("abs(z * conj(z)) / k", &size);
    return status == ACU_OK ? 0 : -1;
}

static int teardown(void **state)
{
    acu_expression_release(sum);
    acu_expression_release(size);
    return device_teardown(state);
}

/* A device that has a compiler, or the test is skipped. */
static void need_compiler(void)
{
    acu_code *code = NULL;
    acu_status status = acu_compile(device, "", NULL, &code);
    acu_code_release(code);
    if (status == ACU_ERR_NOT_FOUND) {
        print_message("%s\n", acu_last_error()->message);
        skip();
    }
    assert_works(status);
}

static acu_tensor *ones(void)
{
    acu_tensor *x = NULL;
    assert_works(acu_sync(device, acu_ones(ACU_F32, ACU_SHAPE(N)), &x));
    return x;
}

static void scans(void **state)
{
    (void)state;
    need_compiler();
    acu_tensor *x = ones();
    float *have = result_of(device, acu_scan_by_exclusive(sum, x, 0, 0), ACU_F32, ACU_SHAPE(N));
    for (int i = 0; i < N; i++)
        assert_true(have[i] == (float)i);
    free(have);
    have = result_of(device, acu_fused(sum, x, acu_scan_by(sum, x, 0, 0)), ACU_F32, ACU_SHAPE(N));
    for (int i = 0; i < N; i++)
        assert_true(have[i] == (float)(i + 2));
    free(have);
    have = result_of(device, way_complex(&x), ACU_F32, ACU_SHAPE(3000));
    for (int i = 0; i < 3000; i++)
        assert_true(have[i] == (float)(i + 1) * (float)(i + 1) * 0.625f);
    free(have);
    acu_tensor_release(x);
}

static void ways(void **state)
{
    (void)state;
    need_compiler();
    acu_tensor *x = ones();
    every_way(device, way_scan, &x);
    every_way(device, way_exclusive, &x);
    every_way(device, way_complex, &x);
    acu_tensor_release(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(scans, setup, teardown),
        cmocka_unit_test_setup_teardown(ways, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
