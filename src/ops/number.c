/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Numbers as operands: C's, or scalars of any dtype. A number takes on the dtype of the tensors
 * beside it, and is refused where that can not hold it.
 */
#include "ops/ops.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

acu_op *acu_op_number_f64(double number, acu_site site)
{
    return acu_op_scalar(acu_f64(number), site);
}

acu_op *acu_op_number_i64(long long number, acu_site site)
{
    return acu_op_scalar(acu_i64(number), site);
}

acu_op *acu_op_number_u64(unsigned long long number, acu_site site)
{
    return acu_op_scalar(acu_u64(number), site);
}

acu_op *acu_op_number_c128(double real, double imaginary, acu_site site)
{
    const double parts[2] = {real, imaginary};
    return acu_op_scalar(acu_c128(parts), site);
}

char acui_class_of(acu_dtype dtype)
{
    switch (dtype) {
    case ACU_F16:
    case ACU_BF16:
    case ACU_F32:
    case ACU_TF32:
        return 'f';
    case ACU_F64:
        return 'd';
    case ACU_I64:
    case ACU_U64:
        return 'l';
    default:
        return acu_dtype_kind_of(dtype) == ACU_KIND_FLOAT || acui_is_complex(dtype) ||
                       acu_dtype_bytes(dtype) == 0
                   ? 0
                   : 'i';
    }
}

/* Half precision: a sign, 5 bits of exponent and 10 of fraction. */
static double number_of_f16(uint64_t bits)
{
    int exponent = (int)(bits >> 10 & 31);
    double fraction = (double)(bits & 1023);
    double size = exponent == 31  ? (fraction != 0 ? (double)NAN : (double)INFINITY)
                  : exponent == 0 ? fraction * 0x1p-24
                                  : (1024 + fraction) * (double)(1u << exponent) * 0x1p-25;
    return bits >> 15 & 1 ? -size : size;
}

static float number_of_f32(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* An integer scalar as 64 bits, sign-extended. */
static int64_t whole_number(const acu_val *scalar)
{
    size_t spare = 64 - 8 * acu_dtype_bytes(scalar->dtype);
    uint64_t bits = scalar->bits << spare;
    if (acu_dtype_kind_of(scalar->dtype) == ACU_KIND_SIGNED)
        return (int64_t)bits >> spare;
    return (int64_t)(bits >> spare);
}

/* A scalar of any dtype as a double; exact except for integers beyond 2^53. */
static double number_of(const acu_val *scalar)
{
    double number;
    switch (scalar->dtype) {
    case ACU_F16:
        return number_of_f16(scalar->bits);
    case ACU_BF16:
        return (double)number_of_f32((uint32_t)scalar->bits << 16);
    case ACU_F32:
    case ACU_TF32:
        return (double)number_of_f32((uint32_t)scalar->bits);
    case ACU_F64:
        memcpy(&number, &scalar->bits, sizeof number);
        return number;
    case ACU_U64:
        return (double)scalar->bits;
    default:
        return (double)whole_number(scalar);
    }
}

/* The float with which f32, f16 and bf16 compute: rounded once, also from integers of 64 bits. */
static float single_of(const acu_val *scalar)
{
    if (scalar->dtype == ACU_U64)
        return (float)scalar->bits;
    if (acui_class_of(scalar->dtype) == 'l')
        return (float)whole_number(scalar);
    return (float)number_of(scalar);
}

/* Whether the integer fits the dtype; `large`: it is unsigned and needs all 64 bits. */
static bool fits(int64_t n, bool large, acu_dtype dtype)
{
    int bits = 8 * (int)acu_dtype_bytes(dtype);
    switch (acu_dtype_kind_of(dtype)) {
    case ACU_KIND_BOOL:
        return !large && (n == 0 || n == 1);
    case ACU_KIND_UNSIGNED:
        return large ? bits == 64 : n >= 0 && (bits == 64 || n >> bits == 0);
    default:
        return !large && (bits == 64 || (n >= -((int64_t)1 << (bits - 1)) &&
                                         n < (int64_t)1 << (bits - 1)));
    }
}

static bool whole_bits(const acu_val *scalar, acu_dtype dtype, uint64_t *bits, char *why)
{
    if (acui_class_of(scalar->dtype) == 'f' || acui_class_of(scalar->dtype) == 'd') {
        snprintf(why, ACUI_OPS_WORDS, "the number %g, floating point, can not be one of %s",
                 number_of(scalar), acu_dtype_name(dtype));
        return false;
    }
    int64_t n = whole_number(scalar);
    bool large = scalar->dtype == ACU_U64 && n < 0;
    if (!fits(n, large, dtype)) {
        snprintf(why, ACUI_OPS_WORDS, large ? "the number %llu does not fit %s"
                                            : "the number %lld does not fit %s",
                 (long long)n, acu_dtype_name(dtype));
        return false;
    }
    *bits = (uint64_t)n;
    return true;
}

bool acui_scalar_bits(const acu_val *scalar, acu_dtype dtype, uint64_t *bits, char *why)
{
    if (acui_is_complex(scalar->dtype)) {
        snprintf(why, ACUI_OPS_WORDS, "a complex number can not be one of %s",
                 acu_dtype_name(dtype));
        return false;
    }
    if (!acui_class_of(scalar->dtype)) {
        snprintf(why, ACUI_OPS_WORDS, "a scalar of %s can not be computed with",
                 acu_dtype_name(scalar->dtype));
        return false;
    }
    double number = number_of(scalar);
    float single = single_of(scalar);
    uint32_t word;
    switch (acui_class_of(dtype)) {
    case 'f':
        memcpy(&word, &single, sizeof word);
        *bits = word;
        return true;
    case 'd':
        memcpy(bits, &number, sizeof number);
        return true;
    default:
        return whole_bits(scalar, dtype, bits, why);
    }
}

bool acui_scalar_parts(const acu_val *scalar, uint64_t parts[2], char *why)
{
    parts[0] = scalar->bits;
    parts[1] = scalar->imaginary;
    if (scalar->dtype == ACU_C128)
        return true;
    parts[1] = 0; /* +0 */
    if (scalar->dtype != ACU_C64)
        return acui_scalar_bits(scalar, ACU_F64, &parts[0], why);
    for (int i = 0; i < 2; i++) {
        double part = (double)number_of_f32((uint32_t)(scalar->bits >> 32 * i));
        memcpy(&parts[i], &part, sizeof part);
    }
    return true;
}

/* To the nearest integer, ties to even, for 0 <= x < 2^52. */
static double nearest(double x)
{
    volatile double shifted = x + 0x1p52; /* there, the unit in the last place is 1 */
    return shifted - 0x1p52;
}

/* The bits of a number in a floating point format with a sign, `exponent_bits`, `fraction_bits` and
 * infinities. */
static uint64_t small_bits(double number, int exponent_bits, int fraction_bits)
{
    int bias = (1 << (exponent_bits - 1)) - 1, exponent;
    uint64_t infinite = (uint64_t)(2 * bias + 1) << fraction_bits;
    uint64_t sign = (uint64_t)(signbit(number) ? 1 : 0) << (exponent_bits + fraction_bits);
    if (number != number)
        return infinite | (uint64_t)1 << (fraction_bits - 1);
    double size = number < 0 ? -number : number;
    if (size > 0x1p200 || size == 0)
        return sign | (size == 0 ? 0 : infinite);
    frexp(size, &exponent); /* size = [0.5, 1) 2^exponent */
    int scale = exponent - 1 < 1 - bias ? 1 - bias : exponent - 1; /* subnormal if it is less */
    uint64_t units = (uint64_t)nearest(ldexp(size, fraction_bits - scale));
    uint64_t bits = units + ((uint64_t)(scale + bias - 1) << fraction_bits); /* a carry goes into
                                                                              * the exponent */
    return sign | (bits < infinite ? bits : infinite);
}

static uint32_t rounded(uint64_t bits)
{
    double number;
    uint32_t word;
    memcpy(&number, &bits, sizeof number);
    float single = (float)number;
    memcpy(&word, &single, sizeof word);
    return word;
}

bool acui_stored_bits(const acu_val *scalar, acu_dtype dtype, uint64_t bits[2], char *why)
{
    bits[1] = 0;
    if (acui_is_complex(dtype)) {
        bool fits = acui_scalar_parts(scalar, bits, why);
        if (fits && dtype == ACU_C64)
            bits[0] = (uint64_t)rounded(bits[1]) << 32 | rounded(bits[0]);
        return fits;
    }
    if (!acui_scalar_bits(scalar, dtype, bits, why))
        return false;
    if (dtype == ACU_F16)
        *bits = small_bits(number_of(scalar), 5, 10);
    else if (dtype == ACU_BF16)
        *bits = small_bits(number_of(scalar), 8, 7);
    return true;
}
