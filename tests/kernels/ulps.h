/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How far results are from exact ones, and a hash of their bits: for tests of mathematics. */
#ifndef ACUDA_TESTS_KERNELS_ULPS_H
#define ACUDA_TESTS_KERNELS_ULPS_H

#include "on_device.h"

#include <math.h>
#include <stdlib.h>

static inline float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The distance of `got` from `want` in units of the last place of a number with `digits` bits whose
 * smallest exponent (as frexp tells it) is `lowest`; a large number where they differ in kind. */
static inline double ulps(long double got, long double want, int digits, int lowest,
                          long double largest)
{
    int exponent;
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0.0 : 1e9;
    if (isinf(got) || isinf(want))
        return got == want || (isinf(got) && fabsl(want) > largest) ? 0.0 : 1e9;
    if (got == want)
        return signbit(got) == signbit(want) ? 0.0 : 1e8;
    (void)frexpl(want, &exponent);
    if (exponent < lowest)
        exponent = lowest;
    return (double)(fabsl(got - want) / ldexpl(1.0L, exponent - digits));
}

/* FNV-1a over the bits of results; all NaN count as one, since nothing promises their bits. */
static inline uint32_t add_to_hash(uint32_t hash, const void *value, size_t bytes, bool nan)
{
    const unsigned char *byte = value;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (nan ? 0xffu : byte[i])) * 16777619u;
    return hash;
}

static inline void check_hash(const char *name, uint32_t hash, uint32_t expected)
{
    if (getenv("ACUDA_TEST_PRINT_HASHES"))
        print_message("%s 0x%08x\n", name, hash);
    else if (hash != expected)
        fail_msg("%s: the results' bits have the hash 0x%08x, not 0x%08x", name, hash, expected);
}

#endif
