/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* For tests of layers by cuDNN: a device with it, tensors in their layouts, results. */
#ifndef ACUDA_TESTS_LAYERS_H
#define ACUDA_TESTS_LAYERS_H

#include "vendor/with_library.h"

#include <acuda/acuda.h>
#include <acuda/dnn.h>

static test_random layer_random = {.state = 5};

static inline void use_fake(void)
{
    with_fake(ACU_VENDOR_CUDNN, "dnn/libfake_cudnn.so");
}

static inline acu_device *open_dnn(void)
{
    return with_library(ACU_VENDOR_CUDNN, "dnn/libfake_cudnn.so");
}

/* A device where acuda does not find cuDNN, and its end. */
static inline acu_device *open_without_dnn(void)
{
    const acu_vendor_settings off = {.size = sizeof off, .off = true};
    assert_works(acu_vendor_configure(ACU_VENDOR_CUDNN, &off));
    return test_open();
}

static inline void end_without_dnn(acu_device *device)
{
    const acu_vendor_settings on = {.size = sizeof on};
    test_close(device);
    assert_works(acu_vendor_configure(ACU_VENDOR_CUDNN, &on));
    test_leaks_none();
}

/* ---- numbers in order of the dimensions ---- */

static inline size_t layer_at(acu_shape shape, const int64_t *index)
{
    size_t at = 0;
    for (int i = 0; i < shape.rank; i++)
        at = at * (size_t)shape.dim[i] + (size_t)index[i];
    return at;
}

static inline bool layer_next(acu_shape shape, int64_t *index)
{
    for (int i = shape.rank - 1; i >= 0; i--) {
        if (++index[i] < shape.dim[i])
            return true;
        index[i] = 0;
    }
    return false;
}

/* Multiples of 1/16 in (-1, 1), which all dtypes have exactly. */
static inline double *layer_numbers(acu_shape shape)
{
    size_t n = (size_t)acu_shape_elements(shape);
    double *numbers = malloc((n + 1) * sizeof *numbers);
    with_random(&layer_random, numbers, n);
    for (size_t i = 0; i < n; i++)
        numbers[i] = nearbyint(numbers[i] * 16) / 16;
    return numbers;
}

/* ---- tensors ---- */

/* bits: 1 channels last, 4 of every other element along the last dimension of a larger one */
static inline acu_tensor *layer_tensor(acu_device *device, acu_dtype dtype, acu_shape shape,
                                       const double *numbers, int how)
{
    acu_tensor *wide = with_numbers(device, ACU_F32, shape, numbers), *made;
    int order[5], back[5], rank = shape.rank;
    for (int i = 0; i < rank; i++) {
        order[i] = i == 0 ? 0 : i < rank - 1 ? i + 1 : 1;
        back[order[i]] = i;
    }
    acu_op *op = acu_convert(wide, dtype);
    if ((how & 1) && rank > 2)
        op = acu_op_permute(acu_dup(acu_op_permute(op, order, (size_t)rank, ACU_SITE)), back,
                            (size_t)rank, ACU_SITE);
    if (how & 4) {
        acu_shape all = shape, step = shape, from = {.rank = rank};
        acu_tensor *larger;
        for (int i = 0; i < rank; i++)
            step.dim[i] = i == rank - 1 ? 2 : 1;
        all.dim[rank - 1] *= 2;
        assert_works(acu_sync(device, acu_zeros(dtype, all), &larger));
        acu_op *part = acu_op_slice(acu_value(larger), from, all, step, ACU_SITE);
        op = acu_nth(acu_copy(part, op), 0);
        assert_works(acu_sync(device, op, &made));
        acu_tensor_release(larger);
    } else {
        assert_works(acu_sync(device, op, &made));
    }
    acu_tensor_release(wide);
    return made;
}

/* The op's value: of that shape, near these numbers, and with channels last or not. */
static inline void layer_is(acu_device *device, acu_op *op, acu_shape shape, const double *want,
                            bool last, const char *what)
{
    acu_tensor *result, *wide;
    assert_works(acu_sync(device, op, &result));
    acu_dtype dtype = acu_tensor_dtype(result);
    double tolerance = dtype == ACU_F32 ? 1e-5 : dtype == ACU_BF16 ? 1e-2 : 2e-3;
    assert_true(acu_shape_equal(acu_tensor_shape(result), shape));
    if (shape.rank > 2 && shape.dim[1] > 1)
        assert_int_equal(acu_tensor_strides(result)[1] == 1, last);
    assert_works(acu_sync(device, acu_dup(acu_convert(result, ACU_F32)), &wide));
    size_t n = (size_t)acu_shape_elements(shape);
    double *have = malloc(n * sizeof *have);
    with_read(wide, have);
    with_near(have, want, n, tolerance, what);
    free(have);
    acu_tensor_release(wide);
    acu_tensor_release(result);
}

#endif
