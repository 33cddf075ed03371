/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * How handlers are written: as loops over 32 lanes that compilers turn into vector instructions.
 */
#ifndef SOFTCUDA_EXEC_LANES_H
#define SOFTCUDA_EXEC_LANES_H

#include "exec/machine.h"

/*
 * Lane types. A register is read as whatever type an instruction gives it, hence may_alias.
 */
typedef uint8_t __attribute__((may_alias)) u8;
typedef int8_t __attribute__((may_alias)) s8;
typedef uint16_t __attribute__((may_alias)) u16;
typedef int16_t __attribute__((may_alias)) s16;
typedef uint32_t __attribute__((may_alias)) u32;
typedef int32_t __attribute__((may_alias)) s32;
typedef uint64_t __attribute__((may_alias)) u64;
typedef int64_t __attribute__((may_alias)) s64;
typedef float __attribute__((may_alias)) f32;
typedef double __attribute__((may_alias)) f64;

/*
 * Kernels may race with each other over memory, as on a GPU, and registers belong to one thread. So
 * what handlers do to either is no business of the thread sanitizer.
 */
#define SX_NO_TSAN __attribute__((no_sanitize("thread")))
#define SX_INLINE static inline SX_NO_TSAN __attribute__((always_inline))

#define SX_HANDLER(name) static SX_NO_TSAN const sx_insn *name(const sx_insn *i, sx_warp *w)

/* Handlers that exist once, whatever the CPU. */
#define SX_EXTERN_HANDLER(name) SX_NO_TSAN const sx_insn *sx_op_##name(const sx_insn *i, sx_warp *w)

/*
 * A result may be the same register as an operand, lane for lane, and does not overlap it
 * otherwise: lanes do not depend on each other.
 */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"
#define SX_EACH_LANE \
    _Pragma("clang loop vectorize(assume_safety)") for (unsigned l = 0; l < SX_LANES; l++)
#else
#define SX_EACH_LANE _Pragma("GCC ivdep") for (unsigned l = 0; l < SX_LANES; l++)
#endif

/* Only the lanes that run, one after the other. */
#define SX_EACH_ACTIVE \
    for (uint32_t sx_m = w->mask, l = sx_m ? (uint32_t)__builtin_ctz(sx_m) : 0; sx_m; \
         sx_m &= sx_m - 1, l = sx_m ? (uint32_t)__builtin_ctz(sx_m) : 0)

#define SX_OPERAND(w, operand) ((void *)((w)->base[(operand)&3] + ((operand) & ~UINT32_C(3))))
#define SX_REG(T, n) ((T *)SX_OPERAND(w, i->o[n]))

extern const uint32_t sx_bit[SX_LANES]; /* 1 << lane */

SX_INLINE uint32_t sx_pred(const sx_warp *w, uint32_t operand)
{
    return *(const u32 *)SX_OPERAND(w, operand);
}

/* Writes the lanes in `mask` of a predicate. */
SX_INLINE void sx_pred_set(const sx_warp *w, uint32_t operand, uint32_t value, uint32_t mask)
{
    u32 *p = SX_OPERAND(w, operand);
    *p = (*p & ~mask) | (value & mask);
}

SX_INLINE void sx_set_mask(sx_warp *w, uint32_t mask)
{
    w->mask = mask;
    w->full = mask == w->live;
}

#define SX_DEF1(name, D, A, expr) \
    SX_HANDLER(name) \
    { \
        D *d = SX_REG(D, 0); \
        const A *a = SX_REG(A, 1); \
        if (w->full) { \
            SX_EACH_LANE \
            { \
                const A x = a[l]; \
                d[l] = (D)(expr); \
            } \
        } else { \
            const uint32_t m = w->mask; \
            SX_EACH_LANE \
            { \
                const A x = a[l]; \
                const D r = (D)(expr); \
                d[l] = m & sx_bit[l] ? r : d[l]; \
            } \
        } \
        return i + 1; \
    }

#define SX_DEF2(name, D, A, B, expr) \
    SX_HANDLER(name) \
    { \
        D *d = SX_REG(D, 0); \
        const A *a = SX_REG(A, 1); \
        const B *b = SX_REG(B, 2); \
        if (w->full) { \
            SX_EACH_LANE \
            { \
                const A x = a[l]; \
                const B y = b[l]; \
                d[l] = (D)(expr); \
            } \
        } else { \
            const uint32_t m = w->mask; \
            SX_EACH_LANE \
            { \
                const A x = a[l]; \
                const B y = b[l]; \
                const D r = (D)(expr); \
                d[l] = m & sx_bit[l] ? r : d[l]; \
            } \
        } \
        return i + 1; \
    }

#define SX_DEF3(name, D, A, B, C, expr) \
    SX_HANDLER(name) \
    { \
        D *d = SX_REG(D, 0); \
        const A *a = SX_REG(A, 1); \
        const B *b = SX_REG(B, 2); \
        const C *c = SX_REG(C, 3); \
        if (w->full) { \
            SX_EACH_LANE \
            { \
                const A x = a[l]; \
                const B y = b[l]; \
                const C z = c[l]; \
                d[l] = (D)(expr); \
            } \
        } else { \
            const uint32_t m = w->mask; \
            SX_EACH_LANE \
            { \
                const A x = a[l]; \
                const B y = b[l]; \
                const C z = c[l]; \
                const D r = (D)(expr); \
                d[l] = m & sx_bit[l] ? r : d[l]; \
            } \
        } \
        return i + 1; \
    }

/* For work that no vector unit does: the lanes that run, one by one. */
#define SX_DEF1_SCALAR(name, D, A, expr) \
    SX_HANDLER(name) \
    { \
        D *d = SX_REG(D, 0); \
        const A *a = SX_REG(A, 1); \
        SX_EACH_ACTIVE \
        { \
            const A x = a[l]; \
            d[l] = (D)(expr); \
        } \
        return i + 1; \
    }

#define SX_DEF2_SCALAR(name, D, A, B, expr) \
    SX_HANDLER(name) \
    { \
        D *d = SX_REG(D, 0); \
        const A *a = SX_REG(A, 1); \
        const B *b = SX_REG(B, 2); \
        SX_EACH_ACTIVE \
        { \
            const A x = a[l]; \
            const B y = b[l]; \
            d[l] = (D)(expr); \
        } \
        return i + 1; \
    }

#define SX_DEF3_SCALAR(name, D, A, B, C, expr) \
    SX_HANDLER(name) \
    { \
        D *d = SX_REG(D, 0); \
        const A *a = SX_REG(A, 1); \
        const B *b = SX_REG(B, 2); \
        const C *c = SX_REG(C, 3); \
        SX_EACH_ACTIVE \
        { \
            const A x = a[l]; \
            const B y = b[l]; \
            const C z = c[l]; \
            d[l] = (D)(expr); \
        } \
        return i + 1; \
    }

#endif
