/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * NVIDIA's libraries themselves, where they are installed, on a machine without a GPU: all calls
 * that acuda needs are there, and what they answer is told. Each case is a process of its own.
 */
#include "support/support.h"

#include <acuda/acuda.h>
#include <acuda/blas.h>
#include <acuda/dnn.h>
#include <acuda/fft.h>
#include <acuda/npp.h>
#include <acuda/product.h>
#include <acuda/solver.h>
#include <acuda/sparse.h>
#include <acuda/vendor.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static acu_op *ones(acu_dtype dtype, acu_shape shape)
{
    return acu_ones(dtype, shape);
}

static acu_op *vector(void)
{
    return acu_blas_scal(2, ones(ACU_F32, ACU_SHAPE(8)));
}

static acu_op *product(void)
{
    return acu_product(ones(ACU_F32, ACU_SHAPE(8, 8)), ones(ACU_F32, ACU_SHAPE(8, 8)), NULL);
}

static acu_op *transform(void)
{
    return acu_fft(ones(ACU_C64, ACU_SHAPE(16)), 1, ACU_FORWARD);
}

static acu_op *sparse(void)
{
    const int32_t offsets[] = {0, 1, 2}, columns[] = {1, 0};
    return acu_csr_matmul(acu_const(ACU_I32, ACU_SHAPE(3), offsets),
                          acu_const(ACU_I32, ACU_SHAPE(2), columns), ones(ACU_F32, ACU_SHAPE(2)),
                          2, ones(ACU_F32, ACU_SHAPE(2)));
}

static acu_op *factor(void)
{
    return acu_cholesky(acu_eye(ACU_F32, 4), ACU_LOWER);
}

static acu_op *convolution(void)
{
    return acu_dnn_conv(ones(ACU_F32, ACU_SHAPE(1, 4, 8, 8)), ones(ACU_F32, ACU_SHAPE(4, 4, 3, 3)),
                        NULL);
}

static acu_op *resize(void)
{
    return acu_npp_resize(ones(ACU_U8, ACU_SHAPE(8, 8, 3)), NULL,
                          acu_zeros(ACU_U8, ACU_SHAPE(4, 4, 3)), NULL, ACU_LINEAR);
}

static acu_op *border(void)
{
    return acu_npp_border(ones(ACU_U8, ACU_SHAPE(4, 4, 3)), acu_zeros(ACU_U8, ACU_SHAPE(6, 6, 3)),
                          1, 1, NULL);
}

static const struct {
    acu_vendor vendor;
    acu_op *(*make)(void);
    const char *words; /* its name for what it answers begins so */
} libraries[] = {
    {ACU_VENDOR_CUBLAS, vector, "cublasCreate answered CUBLAS_STATUS_"},
    {ACU_VENDOR_CUBLASLT, product, " answered CUBLAS_STATUS_"},
    {ACU_VENDOR_CUFFT, transform, " answered CUFFT_"},
    {ACU_VENDOR_CUSPARSE, sparse, "cusparseCreate answered CUSPARSE_STATUS_"},
    {ACU_VENDOR_CUSOLVER, factor, "cusolverDnCreate answered CUSOLVER_STATUS_"},
    {ACU_VENDOR_CUDNN, convolution, " answered CUDNN_STATUS_"},
    {ACU_VENDOR_NPPIG, resize, " answered NPP_"},
    {ACU_VENDOR_NPPIDEI, border, " answered NPP_"},
};
enum { COUNT = sizeof libraries / sizeof *libraries };

/* The report looks for it where users have it; for the software device it is named. */
static void answers(int i)
{
    char path[PATH_MAX];
    acu_vendor vendor = libraries[i].vendor;
    acu_vendor_report(NULL, 0);
    int version = acu_vendor_version(vendor);
    const char *found = acu_vendor_path(vendor);
    if (!found)
        exit(77); /* then it is skipped */
    snprintf(path, sizeof path, "%s", found);
    print_message("%s %d, %s\n", acu_vendor_name(vendor), version, path);
    assert_true(version > 0);
    acu_vendor_settings settings = {.size = sizeof settings, .path = path};
    assert_works(acu_vendor_configure(vendor, &settings));
    acu_device *device = test_open();
    acu_status status = acu_sync(device, libraries[i].make(), NULL);
    print_message("%s\n", acu_last_error()->message);
    assert_true(status == ACU_ERR_DRIVER || status == ACU_ERR_NOT_SUPPORTED ||
                status == ACU_ERR_DEVICE_MEMORY);
    assert_non_null(strstr(acu_last_error()->message, libraries[i].words));
    assert_works(acu_sync(device, acu_add(ones(ACU_F32, ACU_SHAPE(3)), 1.0), NULL));
    test_close(device);
}

static void each(void **state)
{
    test_software_only();
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* they are not to blame for what others do */
#endif
    test_in_process(*state);
}

static void case_0(void **state) { (void)state; answers(0); }
static void case_1(void **state) { (void)state; answers(1); }
static void case_2(void **state) { (void)state; answers(2); }
static void case_3(void **state) { (void)state; answers(3); }
static void case_4(void **state) { (void)state; answers(4); }
static void case_5(void **state) { (void)state; answers(5); }
static void case_6(void **state) { (void)state; answers(6); }
static void case_7(void **state) { (void)state; answers(7); }

int main(int argc, char **argv)
{
    static const test_case cases[COUNT] = {
        {"cublas", case_0},   {"cublaslt", case_1}, {"cufft", case_2}, {"cusparse", case_3},
        {"cusolver", case_4}, {"cudnn", case_5},    {"nppig", case_6}, {"nppidei", case_7}};
    if (argc > 1)
        return test_run_case(cases, COUNT, argv[1]);
    struct CMUnitTest tests[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){.name = cases[i].name, .test_func = each,
                                       .initial_state = (void *)(uintptr_t)cases[i].name};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
