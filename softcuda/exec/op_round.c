/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Arithmetic with a rounding other than to nearest: aux is the mode (and flushing), set around each
 * instruction. Operands are read and results written between the two calls of fesetround, and
 * registers are memory that those calls might touch, so no compiler may move the arithmetic out.
 */
#include <fenv.h>
#include <math.h>

#include "exec/lanes.h"
#include "exec/op_round.h"
#include "exec/ops.h"
#include "exec/scalar_float.h"

#if defined(__clang__)
#pragma STDC FENV_ACCESS ON
#endif

static int host_mode(uint32_t aux)
{
    switch (aux & SX_ROUND_MASK) {
    case SX_RZ:
        return FE_TOWARDZERO;
    case SX_RM:
        return FE_DOWNWARD;
    case SX_RP:
        return FE_UPWARD;
    default:
        return FE_TONEAREST;
    }
}

#define FLUSH_f32(v) (flush ? sx_ftz32(v) : (v))
#define FLUSH_f64(v) (v)
#define FLUSH_u32(v) (v)
#define FLUSH_s32(v) (v)
#define FLUSH_u64(v) (v)
#define FLUSH_s64(v) (v)

#define ROUND(name, D, A, n, expr) \
    SX_EXTERN_HANDLER(name) \
    { \
        const bool flush = i->aux & SX_ROUND_FLUSH; \
        D *d = SX_REG(D, 0); \
        const A *a = SX_REG(A, 1); \
        const A *b = n > 1 ? SX_REG(A, 2) : a; \
        const A *c = n > 2 ? SX_REG(A, 3) : a; \
        const int before = fegetround(); \
        fesetround(host_mode(i->aux)); \
        SX_EACH_ACTIVE \
        { \
            const volatile A x = FLUSH_##A(a[l]); \
            const volatile A y = FLUSH_##A(b[l]); \
            const volatile A z = FLUSH_##A(c[l]); \
            (void)y; \
            (void)z; \
            const volatile D r = (D)(expr); \
            d[l] = FLUSH_##D(r); \
        } \
        fesetround(before); \
        (void)flush; \
        return i + 1; \
    }

ROUND(round_add_f32, f32, f32, 2, x + y)
ROUND(round_sub_f32, f32, f32, 2, x - y)
ROUND(round_mul_f32, f32, f32, 2, x *y)
ROUND(round_div_f32, f32, f32, 2, x / y)
ROUND(round_rcp_f32, f32, f32, 1, 1.0f / x)
ROUND(round_sqrt_f32, f32, f32, 1, sqrtf(x))
ROUND(round_fma_f32, f32, f32, 3, fmaf(x, y, z))
ROUND(round_add_f64, f64, f64, 2, x + y)
ROUND(round_sub_f64, f64, f64, 2, x - y)
ROUND(round_mul_f64, f64, f64, 2, x *y)
ROUND(round_div_f64, f64, f64, 2, x / y)
ROUND(round_rcp_f64, f64, f64, 1, 1.0 / x)
ROUND(round_sqrt_f64, f64, f64, 1, sqrt(x))
ROUND(round_fma_f64, f64, f64, 3, fma(x, y, z))
ROUND(round_cvt_f32_f64, f32, f64, 1, x)
ROUND(round_cvt_f32_s32, f32, s32, 1, x)
ROUND(round_cvt_f32_u32, f32, u32, 1, x)
ROUND(round_cvt_f32_s64, f32, s64, 1, x)
ROUND(round_cvt_f64_s64, f64, s64, 1, x)

/* Compilers convert large u64 values by halving them, which is right only for rounding to
 * nearest. */
#define ROUND_U64(name, D) \
    SX_EXTERN_HANDLER(name) \
    { \
        D *d = SX_REG(D, 0); \
        const u64 *a = SX_REG(u64, 1); \
        const int before = fegetround(); \
        fesetround(host_mode(i->aux)); \
        SX_EACH_ACTIVE \
        { \
            /* keep the top bits, and fold all that is lost into the last of them */ \
            const uint64_t v = a[l]; \
            const uint64_t lost = v & 3; \
            const volatile int64_t top = (int64_t)(v >> 2 | (lost ? 1 : 0)); \
            const volatile int64_t all = (int64_t)v; \
            const volatile D scaled = (D)top; \
            const volatile D small = (D)all; \
            d[l] = v >> 62 ? scaled * 4 : small; \
        } \
        fesetround(before); \
        return i + 1; \
    }
ROUND_U64(round_cvt_f32_u64, f32)
ROUND_U64(round_cvt_f64_u64, f64)
