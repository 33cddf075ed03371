/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Complex numbers from C: as numbers beside tensors, in fills, as arguments of kernels, and their
 * operations in every way. tests/ops/numpy/check_complex.py compares what they compute.
 */
#include "ops/every_way.h"
#include "support/one_device.h"

#include <complex.h>

extern const char test_complex_ptx[];

static acu_tensor *complexes(acu_dtype dtype, int n)
{
    acu_dtype part = dtype == ACU_C64 ? ACU_F32 : ACU_F64;
    acu_tensor *x;
    assert_works(acu_sync(device,
                          acu_complex(acu_randn(part, ACU_SHAPE(3, n), 1, 0),
                                      acu_randn(part, ACU_SHAPE(3, n), 2, 0)), &x));
    assert_int_equal(acu_tensor_dtype(x), dtype);
    return x;
}

static void check(acu_op *op, double complex want)
{
    double complex *have = result_of(device, op, ACU_C128, ACU_SHAPE(2));
    for (int i = 0; i < 2; i++)
        if (creal(have[i]) != creal(want) || cimag(have[i]) != cimag(want))
            fail_msg("%g%+gi, not %g%+gi", creal(have[i]), cimag(have[i]), creal(want),
                     cimag(want));
    free(have);
}

static void numbers_beside_tensors(void **state)
{
    (void)state;
    const double complex z = 0.1 + 0.7 * I;
    check(acu_add(acu_zeros(ACU_C128, ACU_SHAPE(2)), z), z);
    check(acu_add((float complex)(2 - 0.5 * I), acu_zeros(ACU_C128, ACU_SHAPE(2))), 2 - 0.5 * I);
    check(acu_add(acu_zeros(ACU_C128, ACU_SHAPE(2)), acu_c128(&z)), z);
    check(acu_mul(acu_ones(ACU_C128, ACU_SHAPE(2)), acu_c64(3, -4)), 3 - 4 * I);
    check(acu_mul(acu_ones(ACU_C128, ACU_SHAPE(2)), 3), 3);
    float complex *have = result_of(device, acu_mul(acu_ones(ACU_C64, ACU_SHAPE(1)), z), ACU_C64,
                                    ACU_SHAPE(1));
    assert_true(*have == (float complex)z);
    free(have);
    assert_fails(acu_sync(device, acu_add(acu_ones(ACU_F32, ACU_SHAPE(2)), z), NULL), ACU_ERR_DTYPE,
                 "a complex number can not be one of f32");
    assert_fails(acu_sync(device, acu_add(acu_ones(ACU_C64, ACU_SHAPE(2)), acu_c128(NULL)), NULL),
                 ACU_ERR_INVALID, "acu_c128 got no memory");
}

/* Dense tensors, and one with gaps, which a kernel of its own fills. */
static void fills(void **state)
{
    (void)state;
    const double complex z = 1.25 - 3 * I, same = 2 + 2 * I;
    check(acu_full(ACU_SHAPE(2), acu_c128(&z)), z);
    check(acu_full(ACU_SHAPE(2), acu_c128(&same)), same);
    check(acu_convert(acu_full(ACU_SHAPE(2), acu_c64(1.25f, -3)), ACU_C128), z);
    check(acu_ones(ACU_C128, ACU_SHAPE(2)), 1);
    check(acu_zeros(ACU_C128, ACU_SHAPE(2)), 0);
    acu_tensor *x;
    assert_works(acu_sync(device, acu_zeros(ACU_C128, ACU_SHAPE(2, 3)), &x));
    assert_works(acu_sync(device, acu_fill(acu_select(x, 1, 1), acu_c128(&z)), NULL));
    check(acu_dup(acu_select(x, 1, 1)), z);
    check(acu_dup(acu_select(x, 1, 0)), 0);
    check(acu_dup(acu_select(x, 1, 2)), 0);
    acu_tensor_release(x);
    assert_fails(acu_sync(device, acu_full(ACU_SHAPE(2), acu_arg_scalar(ACU_C128, 0)), NULL),
                 ACU_ERR_INVALID, "acu_full: acu_c128 got no memory");
}

static void arguments_of_kernels(void **state)
{
    (void)state;
    acu_module *module;
    acu_kernel *kernel;
    double complex *y = malloc(sizeof *y);
    *y = 10 + 20 * I;
    module = test_load_ptx(device, NULL, test_complex_ptx);
    assert_works(acu_kernel_get(module, "axpy", &kernel));
    assert_works(acu_kernel_declare(kernel, "out c128, c64, in c128, c128"));
    acu_op *launch = acu_launch(kernel, ACU_GRID_BLOCK(1, 1, 1, 2, 1, 1),
                                acu_out(acu_empty(ACU_C128, ACU_SHAPE(2))), acu_c64(1, -2),
                                acu_in(acu_ones(ACU_C128, ACU_SHAPE(2))), acu_c128(y));
    *y = 0; /* it was copied */
    free(y);
    check(acu_nth(launch, 0), 11 + 18 * I);
    assert_fails(acu_sync(device, acu_launch(kernel, ACU_GRID_BLOCK(1, 1, 1, 2, 1, 1),
                                             acu_out(acu_empty(ACU_C128, ACU_SHAPE(2))),
                                             acu_c64(1, -2),
                                             acu_in(acu_ones(ACU_C128, ACU_SHAPE(2))),
                                             acu_c128(NULL)), NULL),
                 ACU_ERR_ARGUMENTS, "argument 3");
    acu_kernel_release(kernel);
    acu_module_release(module);
}

static acu_op *leave_scalar(void *user, acu_val *values, size_t count)
{
    const double parts[2] = {1, 2};
    (void)user, (void)count;
    acu_val_set_scalar(&values[0], acu_c128(parts));
    return acu_zip(acu_take(&values[0]), acu_scalar(acu_c64(3, 4)));
}

/* A future gives 64 bits of a scalar, and says so of one that has more. */
static void scalars_of_futures(void **state)
{
    (void)state;
    acu_future *future;
    acu_dtype dtype;
    uint64_t bits;
    assert_works(acu_submit(device, acu_then(acu_scalar(acu_f32(1)), leave_scalar, NULL), NULL,
                            &future));
    assert_fails(acu_future_scalar(future, 0, &dtype, &bits), ACU_ERR_NOT_SUPPORTED, "c128");
    assert_works(acu_future_scalar(future, 1, &dtype, &bits));
    assert_int_equal(dtype, ACU_C64);
    assert_true(bits == acu_c64(3, 4).u.bits);
    assert_works(acu_future_wait(future, ACU_FOREVER));
    acu_future_release(future);
}

static acu_op *way_functions(acu_tensor *const *x)
{
    return acu_abs(acu_exp(acu_div(x[0], acu_conj(x[0]))));
}
static acu_op *way_where(acu_tensor *const *x)
{
    return acu_where(acu_ne(x[1], 0), acu_pow(x[1], 2 - 0.5 * I), acu_c128((const double[]){1, 2}));
}
static acu_op *way_sums(acu_tensor *const *x)
{
    return acu_div(acu_sum(x[1], ACU_DIMS(0)), acu_prod(x[1], ACU_DIMS(0)));
}
static acu_op *way_long_sum(acu_tensor *const *x)
{
    return acu_norm(acu_broadcast_to(acu_select(x[1], 1, 0), ACU_SHAPE(20000, 3)), ACU_DIMS(0));
}
static acu_op *way_product(acu_tensor *const *x)
{
    return acu_matmul(acu_transpose(x[0], 0, 1), acu_convert(x[1], ACU_C64));
}
static acu_op *way_converted(acu_tensor *const *x)
{
    (void)x;
    return acu_convert(acu_arange(ACU_I16, 0, 30, 1), ACU_C64);
}
static acu_op *way_running(acu_tensor *const *x)
{
    return acu_add(acu_cumprod(x[1], 1), acu_cumsum(x[1], 0));
}
static acu_op *way_scattered(acu_tensor *const *x)
{
    const int64_t index[] = {0, 2, 0};
    return acu_index_put(ACU_SCATTER_ADD, x[0], 0, acu_const(ACU_I64, ACU_SHAPE(3), index), x[0]);
}

static void ways(void **state)
{
    (void)state;
    static const way_fn all[] = {way_functions, way_where,     way_sums,    way_long_sum,
                                 way_product,   way_converted, way_running, way_scattered};
    acu_tensor *x[] = {complexes(ACU_C64, 5), complexes(ACU_C128, 5)};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        every_way(device, all[i], x);
    acu_tensor_release(x[0]);
    acu_tensor_release(x[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(numbers_beside_tensors), DEVICE_TEST(fills), DEVICE_TEST(arguments_of_kernels),
        DEVICE_TEST(scalars_of_futures), DEVICE_TEST(ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
