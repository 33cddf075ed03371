/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The handlers of loads and stores. Included once for each instruction set; see isa.h.
 */
#include "exec/access.h"
#include "exec/ops.h"

/* l * step for a step of 0, 1, 2, 4, 8, 16 or 32 bytes */
#define STEPS(n) \
    { \
        0, n, 2 * n, 3 * n, 4 * n, 5 * n, 6 * n, 7 * n, 8 * n, 9 * n, 10 * n, 11 * n, 12 * n, \
            13 * n, 14 * n, 15 * n \
    }
static const uint64_t steps[7][16] = {STEPS(0), STEPS(1),  STEPS(2), STEPS(4),
                                      STEPS(8), STEPS(16), STEPS(32)};

/* Whether 16 addresses are equal, or neighbours. */
SX_INLINE bool affine_half(const u64 *a, unsigned bytes, uint64_t *step)
{
    uint64_t base = a[0];
    *step = a[1] - base;
    if (*step != 0 && *step != bytes)
        return false;
    const uint64_t *expected = steps[*step ? __builtin_ctz(bytes) + 1 : 0];
    uint64_t wrong = 0;
    for (unsigned l = 0; l < 16; l++)
        wrong |= a[l] ^ (base + expected[l]);
    return wrong == 0;
}

/* The host address of a run in global or shared memory: of one half, or of both where `bytes`
 * covers them. */
SX_INLINE char *range_at(sx_warp *w, unsigned where, uint64_t address, uint64_t bytes,
                         unsigned kind)
{
    if (where == SX_WHERE_SHARED)
        return sx_shared_at(w->block, address, bytes);
    if (where == SX_WHERE_GENERIC && address - SX_SHARED_WINDOW < SX_WINDOW_BYTES)
        return sx_shared_at(w->block, address - SX_SHARED_WINDOW, bytes);
    return sx_global_at(w, address, bytes, kind);
}

/* Finds how the 32 addresses lie; at once if an earlier instruction has found out. */
SX_INLINE const sx_pattern *find_pattern(sx_warp *w, const sx_insn *i, uint32_t operand,
                                         unsigned bytes, sx_pattern *own)
{
    sx_pattern *p = &w->patterns[i->aux >> SX_PATTERN_SHIFT & (SX_PATTERNS - 1)];
    if (i->aux & SX_KNOWS)
        return p;
    if (!(i->aux & SX_REMEMBERS))
        p = own;
    u64 wide[SX_LANES];
    const u64 *a = SX_OPERAND(w, operand);
    if (i->aux & SX_ADDRESS_32) {
        const u32 *narrow = SX_OPERAND(w, operand);
        SX_EACH_LANE
        {
            wide[l] = narrow[l];
        }
        a = wide;
    }
    p->base[0] = a[0];
    p->base[1] = a[16];
    p->affine = affine_half(a, bytes, &p->step[0]) && affine_half(a + 16, bytes, &p->step[1]);
    return p;
}

SX_INLINE bool resolve_affine(sx_warp *w, const sx_insn *i, uint32_t operand, unsigned bytes,
                              unsigned kind, sx_access *access)
{
    sx_pattern own;
    const sx_pattern *p = find_pattern(w, i, operand, bytes, &own);
    if (!p->affine)
        return false;
    const uint64_t low = p->base[0] + (uint64_t)i->imm, high = p->base[1] + (uint64_t)i->imm;
    const uint64_t half = 16 * (uint64_t)bytes;
    if ((low | high) & (bytes - 1))
        return false;
    const unsigned where = i->aux & SX_WHERE_MASK;
    access->step[0] = p->step[0];
    access->step[1] = p->step[1];
    if (p->step[0] && p->step[1] && high - low == half) {
        access->at[0] = range_at(w, where, low, 2 * half, kind);
        if (!access->at[0])
            return false;
        access->at[1] = access->at[0] + half;
        return true;
    }
    access->at[0] = range_at(w, where, low, p->step[0] ? half : bytes, kind);
    if (!access->at[0])
        return false;
    access->at[1] = high == low && p->step[0] == p->step[1]
                        ? access->at[0]
                        : range_at(w, where, high, p->step[1] ? half : bytes, kind);
    return access->at[1] != NULL;
}

SX_INLINE bool resolve(sx_warp *w, const sx_insn *i, uint32_t operand, unsigned bytes,
                       unsigned kind, sx_access *access)
{
    const unsigned where = i->aux & SX_WHERE_MASK;
    const bool marked = where < SX_WHERE_LOCAL && where != SX_WHERE_GLOBAL && w->block->marks;
    if (where < SX_WHERE_LOCAL) {
        if (w->mask == SX_ALL_LANES && !marked) {
            access->affine = resolve_affine(w, i, operand, bytes, kind, access);
            if (access->affine)
                return true;
        } else if (i->aux & SX_REMEMBERS) {
            w->patterns[i->aux >> SX_PATTERN_SHIFT & (SX_PATTERNS - 1)].affine = false;
        }
    }
    access->affine = false;
    return sx_resolve_lanes(w, i, operand, bytes, kind) &&
           (!marked || sx_races_none(w, i, bytes, kind));
}

/* Loads of V elements M into V registers of lanes R. */
#define LOAD(name, M, R, V) \
    SX_HANDLER(name) \
    { \
        sx_access access; \
        if (!resolve(w, i, i->o[V], (unsigned)sizeof(M) * V, SX_READ, &access)) \
            return NULL; \
        if (access.affine) { \
            for (unsigned h = 0; h < 2; h++) { \
                const M *p = (const M *)(const void *)access.at[h]; \
                for (unsigned v = 0; v < V; v++) { \
                    R *d = SX_REG(R, v) + 16 * h; \
                    if (access.step[h]) { \
                        SX_EACH_OF_16 \
                        { \
                            d[l] = (R)p[V * l + v]; \
                        } \
                    } else { \
                        const R value = (R)p[v]; \
                        SX_EACH_OF_16 \
                        { \
                            d[l] = value; \
                        } \
                    } \
                } \
            } \
        } else { \
            for (unsigned v = 0; v < V; v++) { \
                R *d = SX_REG(R, v); \
                SX_EACH_ACTIVE \
                { \
                    d[l] = (R)((const M *)w->pointers[l])[v]; \
                } \
            } \
        } \
        return i + 1; \
    }

/*
 * Stores. Lanes write in order; of several lanes at one address the highest wins, which is as good
 * as any.
 */
#define STORE(name, M, R, V) \
    SX_HANDLER(name) \
    { \
        sx_access access; \
        if (!resolve(w, i, i->o[0], (unsigned)sizeof(M) * V, SX_WRITE, &access)) \
            return NULL; \
        if (access.affine) { \
            for (unsigned h = 0; h < 2; h++) { \
                M *p = (M *)(void *)access.at[h]; \
                for (unsigned v = 0; v < V; v++) { \
                    const R *d = SX_REG(R, v + 1) + 16 * h; \
                    if (access.step[h]) { \
                        SX_EACH_OF_16 \
                        { \
                            p[V * l + v] = (M)d[l]; \
                        } \
                    } else { \
                        p[v] = (M)d[15]; \
                    } \
                } \
            } \
        } else { \
            SX_EACH_ACTIVE \
            { \
                for (unsigned v = 0; v < V; v++) \
                    ((M *)w->pointers[l])[v] = (M)SX_REG(R, v + 1)[l]; \
            } \
        } \
        return i + 1; \
    }

/* Volatile, relaxed, acquire and release accesses: for each lane, one atomic access per element. */
#define LOAD_STRONG(name, M, R, V) \
    SX_HANDLER(name) \
    { \
        if (!sx_resolve_lanes(w, i, i->o[V], (unsigned)sizeof(M) * V, SX_READ)) \
            return NULL; \
        for (unsigned v = 0; v < V; v++) { \
            R *d = SX_REG(R, v); \
            SX_EACH_ACTIVE \
            { \
                d[l] = (R)__atomic_load_n((const M *)w->pointers[l] + v, __ATOMIC_ACQUIRE); \
            } \
        } \
        return i + 1; \
    }

#define STORE_STRONG(name, M, R, V) \
    SX_HANDLER(name) \
    { \
        if (!sx_resolve_lanes(w, i, i->o[0], (unsigned)sizeof(M) * V, SX_WRITE)) \
            return NULL; \
        sx_races_next_epoch(w->block); \
        SX_EACH_ACTIVE \
        { \
            for (unsigned v = 0; v < V; v++) \
                __atomic_store_n((M *)w->pointers[l] + v, (M)SX_REG(R, v + 1)[l], \
                                 __ATOMIC_RELEASE); \
        } \
        return i + 1; \
    }

/* A kernel's parameter: the same for all lanes. */
#define PARAM(name, M, R) \
    SX_HANDLER(name) \
    { \
        M raw; \
        __builtin_memcpy(&raw, (const char *)w->block->launch->params + i->imm, sizeof raw); \
        R *d = SX_REG(R, 0); \
        const R value = (R)raw; \
        const uint32_t m = w->mask; \
        if (w->full) { \
            SX_EACH_LANE \
            { \
                d[l] = value; \
            } \
        } else { \
            SX_EACH_LANE \
            { \
                d[l] = m & sx_bit[l] ? value : d[l]; \
            } \
        } \
        return i + 1; \
    }

#if defined(__clang__)
#define SX_EACH_OF_16 \
    _Pragma("clang loop vectorize(assume_safety)") for (unsigned l = 0; l < 16; l++)
#else
#define SX_EACH_OF_16 _Pragma("GCC ivdep") for (unsigned l = 0; l < 16; l++)
#endif

SX_OPS_LOAD(LOAD)
SX_OPS_STORE(STORE)
SX_OPS_LOAD_STRONG(LOAD_STRONG)
SX_OPS_STORE_STRONG(STORE_STRONG)
SX_OPS_PARAM(PARAM)
