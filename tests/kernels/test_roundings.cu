/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Every function with a named rounding, of numbers in memory and of constants: for
 * test_roundings.c. */
#include "roundings.h"

struct value { /* an argument, as each type */
    float f;
    double d;
    int i;
    unsigned u;
    long long l;
    unsigned long long w;
};
static __device__ constexpr value value_of(double number, unsigned long long bits)
{
    return {(float)number, number, (int)bits, (unsigned)bits, (long long)bits, bits};
}

static __device__ unsigned long long bits_of(float v)
{
    return __float_as_uint(v);
}
static __device__ unsigned long long bits_of(double v)
{
    return (unsigned long long)__double_as_longlong(v);
}
static __device__ unsigned long long bits_of(int v)
{
    return (unsigned)v;
}
static __device__ unsigned long long bits_of(unsigned v)
{
    return v;
}
static __device__ unsigned long long bits_of(long long v)
{
    return (unsigned long long)v;
}
static __device__ unsigned long long bits_of(unsigned long long v)
{
    return v;
}

#define CALL_1(f, t) f(a.t)
#define CALL_2(f, t) f(a.t, b.t)
#define CALL_3(f, t) f(a.t, b.t, c.t)
#define CALLS(name, arguments, t, result) \
    *out++ = bits_of(CALL_##arguments(__##name##_rn, t)); \
    *out++ = bits_of(CALL_##arguments(__##name##_rz, t)); \
    *out++ = bits_of(CALL_##arguments(__##name##_ru, t)); \
    *out++ = bits_of(CALL_##arguments(__##name##_rd, t));

static __device__ __forceinline__ unsigned long long *call_all(unsigned long long *out, value a,
                                                               value b, value c)
{
    ROUNDED(CALLS)
    return out;
}

extern "C" __global__ void roundings_of_memory(unsigned long long *out, const double *numbers,
                                               const unsigned long long *bits, int count)
{
    for (int i = 0; i < count; i++) {
        int j = (i + 1) % count, k = (i + 2) % count;
        out = call_all(out, value_of(numbers[i], bits[i]), value_of(numbers[j], bits[j]),
                       value_of(numbers[k], bits[k]));
    }
}

extern "C" __global__ void roundings_of_constants(unsigned long long *out)
{
    constexpr double numbers[] = {ROUNDED_NUMBERS};
    constexpr unsigned long long bits[] = {ROUNDED_BITS};
#pragma unroll
    for (int i = 0; i < ROUNDED_COUNT; i++) {
        int j = (i + 1) % ROUNDED_COUNT, k = (i + 2) % ROUNDED_COUNT;
        out = call_all(out, value_of(numbers[i], bits[i]), value_of(numbers[j], bits[j]),
                       value_of(numbers[k], bits[k]));
    }
}
