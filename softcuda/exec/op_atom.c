/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Atomics: o[0] old value or none (red), o[1] address, o[2] b, o[3] c of cas. They are atomic with
 * respect to other blocks, other launches and the host. Shared memory belongs to one block and thus
 * to one thread, and needs no lock.
 */
#include "exec/access.h"
#include "exec/ops.h"
#include "exec/scalar_float.h"
#include "exec/scalar_int.h"

/* Whether all lanes that run use one address: then one exchange does for all of them. */
static SX_NO_TSAN bool is_uniform(const sx_warp *w)
{
    const void *first = w->pointers[__builtin_ctz(w->mask)];
    bool same = true;
    SX_EACH_ACTIVE
    {
        same &= w->pointers[l] == first;
    }
    return same;
}

/* Whether the pointer is into shared memory; otherwise it is into global memory. */
SX_INLINE bool is_shared(const sx_warp *w, const void *p)
{
    return (uintptr_t)p - (uintptr_t)w->block->shared < w->block->shared_bytes;
}

/*
 * x is the value in memory, y and z are the operands; shared: it is in shared memory. The order is
 * seq_cst on success, which satisfies every PTX order; a failed exchange only reads.
 */
#define ATOM(name, U, expr) \
    SX_INLINE U name##_value(U x, U y, U z, bool shared) \
    { \
        (void)x, (void)z, (void)shared; \
        return (U)(expr); \
    } \
    SX_EXTERN_HANDLER(name) \
    { \
        if (!sx_resolve_lanes(w, i, i->o[1], sizeof(U), SX_ATOMIC) || \
            (w->block->marks && !sx_races_none(w, i, sizeof(U), SX_ATOMIC))) \
            return NULL; \
        const U *b = SX_REG(U, 2); \
        const U *c = i->o[3] != SX_NO_OPERAND ? SX_REG(U, 3) : b; \
        U old[SX_LANES]; \
        if ((i->aux & SX_WHERE_MASK) == SX_WHERE_SHARED) { \
            SX_EACH_ACTIVE \
            { \
                U *p = w->pointers[l]; \
                old[l] = *p; \
                *p = name##_value(old[l], b[l], c[l], true); \
            } \
        } else if (is_uniform(w)) { \
            U *p = w->pointers[__builtin_ctz(w->mask)]; \
            U seen = __atomic_load_n(p, __ATOMIC_RELAXED), now; \
            const bool shared = is_shared(w, p); \
            do { \
                now = seen; \
                SX_EACH_ACTIVE \
                { \
                    old[l] = now; \
                    now = name##_value(now, b[l], c[l], shared); \
                } \
            } while (!__atomic_compare_exchange_n(p, &seen, now, false, __ATOMIC_SEQ_CST, \
                                                  __ATOMIC_RELAXED)); \
        } else { \
            SX_EACH_ACTIVE \
            { \
                U *p = w->pointers[l]; \
                U seen = __atomic_load_n(p, __ATOMIC_RELAXED); \
                const bool shared = is_shared(w, p); \
                while (!__atomic_compare_exchange_n( \
                    p, &seen, name##_value(seen, b[l], c[l], shared), false, __ATOMIC_SEQ_CST, \
                    __ATOMIC_RELAXED)) \
                    ; \
                old[l] = seen; \
            } \
        } \
        if (i->o[0] != SX_NO_OPERAND) { \
            U *d = SX_REG(U, 0); \
            SX_EACH_ACTIVE \
            { \
                d[l] = old[l]; \
            } \
        } \
        return i + 1; \
    }

#define F16(h) sx_f16_to_f32(h)
#define BF16(h) sx_bf16_to_f32(h)

ATOM(atom_add_32, u32, x + y)
ATOM(atom_add_64, u64, x + y)
/* Only in global memory f32 is flushed, as the PTX ISA says. */
ATOM(atom_add_f32, u32,
     sx_bits32(shared ? sx_float32(x) + sx_float32(y)
                      : sx_ftz32(sx_ftz32(sx_float32(x)) + sx_ftz32(sx_float32(y)))))
ATOM(atom_add_f64, u64, sx_bits64(sx_float64(x) + sx_float64(y)))
ATOM(atom_add_f16, u16, sx_f32_to_f16(F16(x) + F16(y)))
ATOM(atom_add_bf16, u16, sx_f32_to_bf16(BF16(x) + BF16(y)))
ATOM(atom_add_f16x2, u32,
     SX_PAIR(sx_f32_to_f16(F16(SX_LO(x)) + F16(SX_LO(y))),
             sx_f32_to_f16(F16(SX_HI(x)) + F16(SX_HI(y)))))
ATOM(atom_add_bf16x2, u32,
     SX_PAIR(sx_f32_to_bf16(BF16(SX_LO(x)) + BF16(SX_LO(y))),
             sx_f32_to_bf16(BF16(SX_HI(x)) + BF16(SX_HI(y)))))
ATOM(atom_min_u32, u32, x < y ? x : y)
ATOM(atom_min_s32, u32, (int32_t)x < (int32_t)y ? x : y)
ATOM(atom_min_u64, u64, x < y ? x : y)
ATOM(atom_min_s64, u64, (int64_t)x < (int64_t)y ? x : y)
ATOM(atom_max_u32, u32, x > y ? x : y)
ATOM(atom_max_s32, u32, (int32_t)x > (int32_t)y ? x : y)
ATOM(atom_max_u64, u64, x > y ? x : y)
ATOM(atom_max_s64, u64, (int64_t)x > (int64_t)y ? x : y)
ATOM(atom_and_32, u32, x &y)
ATOM(atom_and_64, u64, x &y)
ATOM(atom_or_32, u32, x | y)
ATOM(atom_or_64, u64, x | y)
ATOM(atom_xor_32, u32, x ^ y)
ATOM(atom_xor_64, u64, x ^ y)
ATOM(atom_exch_32, u32, y)
ATOM(atom_exch_64, u64, y)
ATOM(atom_cas_16, u16, x == y ? z : x)
ATOM(atom_cas_32, u32, x == y ? z : x)
ATOM(atom_cas_64, u64, x == y ? z : x)
ATOM(atom_inc_u32, u32, x >= y ? 0 : x + 1)
ATOM(atom_dec_u32, u32, x == 0 || x > y ? y : x - 1)
