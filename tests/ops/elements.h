/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Elements of every dtype on the host, as doubles or as 64-bit integers,
 * for tests of operations. */
#ifndef ACUDA_TESTS_OPS_ELEMENTS_H
#define ACUDA_TESTS_OPS_ELEMENTS_H

#include "support/support.h"

#include <math.h>

static inline float half_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double size = exponent == 31  ? (fraction ? (double)NAN : (double)INFINITY)
                  : exponent == 0 ? ldexp(fraction, -24)
                                  : ldexp(1024 + fraction, exponent - 25);
    return (float)(bits >> 15 ? -size : size);
}

/* The nearest of all values of a 16-bit format, ties to even, found by search. */
static inline double brain_value(uint16_t bits)
{
    uint32_t word = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &word, sizeof value);
    return (double)value;
}

static inline double small_value(acu_dtype dtype, uint16_t bits)
{
    return dtype == ACU_F16 ? (double)half_value(bits) : brain_value(bits);
}

/* Positive values grow with their bits: a binary search. */
static inline uint16_t small_bits_of(acu_dtype dtype, double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0, infinite = dtype == ACU_F16 ? 0x7C00 : 0x7F80;
    double size = fabs(value);
    if (value != value)
        return 0x7FFF;
    uint16_t low = 0, high = infinite;
    while (high - low > 1) {
        uint16_t middle = (uint16_t)((low + high) / 2);
        if (small_value(dtype, middle) <= size)
            low = middle;
        else
            high = middle;
    }
    double below = small_value(dtype, low);
    double above = high == infinite ? 2 * below - small_value(dtype, (uint16_t)(low - 1))
                                    : small_value(dtype, high);
    if (size == INFINITY || size - below > above - size ||
        (size - below == above - size && (low & 1)))
        low = high;
    return sign | low;
}

static inline bool is_real(acu_dtype dtype)
{
    return acu_dtype_kind_of(dtype) == ACU_KIND_FLOAT;
}

static inline double real_at(acu_dtype dtype, const void *memory, size_t i)
{
    uint16_t bits;
    switch (dtype) {
    case ACU_F16:
    case ACU_BF16:
        memcpy(&bits, (const char *)memory + 2 * i, 2);
        return small_value(dtype, bits);
    case ACU_F64:
        return ((const double *)memory)[i];
    default:
        return (double)((const float *)memory)[i];
    }
}

static inline int64_t whole_at(acu_dtype dtype, const void *memory, size_t i)
{
    switch (dtype) {
    case ACU_BOOL:
    case ACU_U8:
        return ((const uint8_t *)memory)[i];
    case ACU_U16:
        return ((const uint16_t *)memory)[i];
    case ACU_U32:
        return ((const uint32_t *)memory)[i];
    case ACU_I8:
        return ((const int8_t *)memory)[i];
    case ACU_I16:
        return ((const int16_t *)memory)[i];
    case ACU_I32:
        return ((const int32_t *)memory)[i];
    default:
        return ((const int64_t *)memory)[i];
    }
}

static inline void put_real(acu_dtype dtype, void *memory, size_t i, double value)
{
    uint16_t bits;
    switch (dtype) {
    case ACU_F16:
    case ACU_BF16:
        bits = small_bits_of(dtype, value);
        memcpy((char *)memory + 2 * i, &bits, 2);
        break;
    case ACU_F64:
        ((double *)memory)[i] = value;
        break;
    default:
        ((float *)memory)[i] = (float)value;
    }
}

static inline void put_whole(acu_dtype dtype, void *memory, size_t i, int64_t value)
{
    size_t size = acu_dtype_bytes(dtype);
    if (dtype == ACU_BOOL)
        value = value != 0;
    memcpy((char *)memory + size * i, &value, size);
}

/* Units in the last place of the dtype at that value. */
static inline double unit_at(acu_dtype dtype, double value)
{
    int exponent;
    frexp(value, &exponent);
    int digits = dtype == ACU_F16 ? 11 : dtype == ACU_BF16 ? 8 : dtype == ACU_F64 ? 53 : 24;
    int least = dtype == ACU_F16 ? -24 : dtype == ACU_F64 ? -1074 : -149;
    if (dtype == ACU_BF16)
        least = -133;
    int unit = exponent - digits;
    return ldexp(1, unit > least ? unit : least);
}

/* A tensor on the device with these elements. */
static inline acu_tensor *tensor_with(acu_device *device, acu_dtype dtype, acu_shape shape,
                                      const void *memory)
{
    acu_tensor *tensor = NULL;
    assert_works(acu_tensor_alloc(device, dtype, shape, &tensor));
    assert_works(acu_write_sync(tensor, memory, acu_tensor_bytes(tensor)));
    return tensor;
}

/* What the op yields, in memory to be freed; its dtype and shape are checked. */
static inline void *result_of(acu_device *device, acu_op *op, acu_dtype dtype, acu_shape shape)
{
    acu_tensor *tensor = NULL;
    assert_works(acu_sync(device, op, &tensor));
    assert_int_equal(acu_tensor_dtype(tensor), dtype);
    assert_true(acu_shape_equal(acu_tensor_shape(tensor), shape));
    size_t bytes = acu_tensor_bytes(tensor);
    void *memory = malloc(bytes);
    assert_works(acu_read_sync(tensor, memory, bytes));
    acu_tensor_release(tensor);
    return memory;
}

#endif
