/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Numbers of 16 and 8 bits on the host, by their bits, as tensors of f16, bf16, f8e4m3fn, f8e5m2
 * and f8e8m0fnu hold them:
 *
 *     uint16_t bits = acu_f16_from_float(0.1f);
 *     float near = acu_float_from_f16(bits);      // 0.0999755859f
 *
 * To float nothing is lost. From float: to the nearest, ties to even, as acu_convert does it on
 * the device. Too large a number becomes infinite in f16 and bf16, and the largest number in
 * f8e4m3fn and f8e5m2. f8e8m0fnu, a scale, takes the magnitude, rounded up to a power of two. NaN
 * stays NaN; its bits are not kept. Any thread; nothing blocks; no errors.
 */
#ifndef ACUDA_SMALL_FLOATS_H
#define ACUDA_SMALL_FLOATS_H

#include <acuda/base.h>

#include <string.h>

static inline uint32_t acui_bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float acui_float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* n / 2^shift to the nearest, ties to even; shift is 1 to 31 */
static inline uint32_t acui_shifted(uint32_t n, uint32_t shift)
{
    return (n + ((UINT32_C(1) << (shift - 1)) - 1) + (n >> shift & 1)) >> shift;
}

/* The magnitude of a number, which is no NaN, in a format with `fraction` bits and exponents
 * biased by `bias`; `beyond` stands for all that is larger than `most`. */
static inline uint32_t acui_small_of(float value, uint32_t fraction, int bias, uint32_t most,
                                     uint32_t beyond)
{
    uint32_t size = acui_bits_of_float(value) & UINT32_C(0x7fffffff), result;
    int exponent = ACUI_CAST(int, size >> 23) - 127 + bias;
    if (exponent >= 1) {
        result = acui_shifted(size, 23 - fraction) - (ACUI_CAST(uint32_t, 127 - bias) << fraction);
    } else { /* in units of the smallest number */
        uint32_t whole = size >> 23 ? (size & UINT32_C(0x7fffff)) | UINT32_C(0x800000) : size;
        uint32_t shift = 24 - fraction - ACUI_CAST(uint32_t, size >> 23 ? exponent : exponent + 1);
        result = shift > 25 ? 0 : acui_shifted(whole, shift);
    }
    return result > most ? beyond : result;
}

/* The number of a format whose largest exponent is used like any other, by its magnitude */
static inline float acui_small_value(uint32_t size, uint32_t fraction, int bias)
{
    uint32_t exponent = size >> fraction, rest = size & ((UINT32_C(1) << fraction) - 1);
    if (exponent == 0) /* times the smallest number, 2^(1 - bias - fraction) */
        return ACUI_CAST(float, rest) *
               acui_float_of_bits(ACUI_CAST(uint32_t, 128 - bias - ACUI_CAST(int, fraction)) << 23);
    return acui_float_of_bits((exponent + ACUI_CAST(uint32_t, 127 - bias)) << 23 |
                              rest << (23 - fraction));
}

static inline uint32_t acui_sign_of(float value)
{
    return acui_bits_of_float(value) >> 31;
}

static inline uint16_t acu_f16_from_float(float value)
{
    uint32_t size = value != value ? 0x7fff : acui_small_of(value, 10, 15, 0x7bff, 0x7c00);
    return ACUI_CAST(uint16_t, acui_sign_of(value) << 15 | size);
}

static inline float acu_float_from_f16(uint16_t bits)
{
    uint32_t size = bits & 0x7fffu;
    float value = size >= 0x7c00
                      ? acui_float_of_bits(UINT32_C(0x7f800000) | (size & UINT32_C(0x3ff)) << 13)
                      : acui_small_value(size, 10, 15);
    return bits >> 15 ? -value : value;
}

static inline uint16_t acu_bf16_from_float(float value)
{
    uint32_t bits = acui_bits_of_float(value);
    return ACUI_CAST(uint16_t, value != value ? bits >> 31 << 15 | 0x7fff : acui_shifted(bits, 16));
}

static inline float acu_float_from_bf16(uint16_t bits)
{
    return acui_float_of_bits(ACUI_CAST(uint32_t, bits) << 16);
}

static inline uint8_t acu_f8e4m3fn_from_float(float value)
{
    uint32_t size = value != value ? 0x7f : acui_small_of(value, 3, 7, 0x7e, 0x7e);
    return ACUI_CAST(uint8_t, acui_sign_of(value) << 7 | size);
}

static inline float acu_float_from_f8e4m3fn(uint8_t bits)
{
    uint32_t size = bits & 0x7fu;
    float value =
        size == 0x7f ? acui_float_of_bits(UINT32_C(0x7fc00000)) : acui_small_value(size, 3, 7);
    return bits >> 7 ? -value : value;
}

static inline uint8_t acu_f8e5m2_from_float(float value)
{
    uint32_t size = value != value ? 0x7f : acui_small_of(value, 2, 15, 0x7b, 0x7b);
    return ACUI_CAST(uint8_t, acui_sign_of(value) << 7 | size);
}

static inline float acu_float_from_f8e5m2(uint8_t bits)
{
    return acu_float_from_f16(ACUI_CAST(uint16_t, bits << 8)); /* every one of them is one of f16 */
}

static inline uint8_t acu_f8e8m0fnu_from_float(float value)
{
    uint32_t size = acui_bits_of_float(value) & UINT32_C(0x7fffffff), exponent = size >> 23;
    uint32_t rest = size & UINT32_C(0x7fffff);
    uint32_t up = exponent ? exponent + (rest != 0) : rest > UINT32_C(0x400000);
    return ACUI_CAST(uint8_t, value != value ? 255 : up < 254 ? up : 254);
}

static inline float acu_float_from_f8e8m0fnu(uint8_t bits)
{
    return acui_float_of_bits(bits == 255 ? UINT32_C(0x7fc00000)
                              : bits      ? ACUI_CAST(uint32_t, bits) << 23
                                          : UINT32_C(0x00400000));
}

#endif
