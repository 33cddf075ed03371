/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Operations of no family: predicates, special registers, addresses of the frame, carries, video
 * instructions.
 */
#include "exec/op_misc.h"

#include <string.h>
#include <time.h>

#include "exec/access.h"
#include "exec/ops.h"
#include "exec/scalar_int.h"

/* ---- predicates ------------------------------------------------------------------------------ */

#define LOGIC(name, expr) \
    SX_EXTERN_HANDLER(name) \
    { \
        const uint32_t x = sx_pred(w, i->o[1]) ^ (i->aux & 1 ? SX_ALL_LANES : 0); \
        const uint32_t y = \
            i->o[2] == SX_NO_OPERAND ? 0 : sx_pred(w, i->o[2]) ^ (i->aux & 2 ? SX_ALL_LANES : 0); \
        (void)y; \
        sx_pred_set(w, i->o[0], expr, w->mask); \
        return i + 1; \
    }
/* aux: 1 and 2 negate the first and the second operand */
LOGIC(mov_pred, x)
LOGIC(not_pred, ~x)
LOGIC(and_pred, x &y)
LOGIC(or_pred, x | y)
LOGIC(xor_pred, x ^ y)

/* ---- special registers ----------------------------------------------------------------------- */

static uint64_t nanoseconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* %envreg1 and %envreg2: the address of the grid's workspace. */
static uint32_t environment(const sx_warp *w, uint64_t number)
{
    if (!w->block->launch->cooperative)
        return 0;
    return number == 1   ? (uint32_t)(SX_WORKSPACE_WINDOW >> 32)
           : number == 2 ? (uint32_t)SX_WORKSPACE_WINDOW
                         : 0;
}

static uint64_t reserved_shared(unsigned which)
{
    switch (which) {
    case PTX_SPECIAL_RESERVED_SMEM_BEGIN:
    case PTX_SPECIAL_RESERVED_SMEM_0:
        return SX_RESERVED_SHARED;
    case PTX_SPECIAL_RESERVED_SMEM_1:
        return SX_RESERVED_SHARED + SX_RESERVED_BYTES / 2;
    case PTX_SPECIAL_RESERVED_SMEM_END:
        return SX_RESERVED_SHARED + SX_RESERVED_BYTES;
    case PTX_SPECIAL_RESERVED_SMEM_CAP:
        return SX_RESERVED_BYTES;
    default:
        return 0; /* cluster_ctaid, cluster_ctarank, pm */
    }
}

static uint64_t special(const sx_warp *w, unsigned which, unsigned lane)
{
    const sx_block *b = w->block;
    const sx_launch *launch = b->launch;
    switch (which) {
    case PTX_SPECIAL_NTID_X:
    case PTX_SPECIAL_NTID_Y:
    case PTX_SPECIAL_NTID_Z:
        return launch->block[which - PTX_SPECIAL_NTID_X];
    case PTX_SPECIAL_CTAID_X:
    case PTX_SPECIAL_CTAID_Y:
    case PTX_SPECIAL_CTAID_Z:
        return b->ctaid[which - PTX_SPECIAL_CTAID_X];
    case PTX_SPECIAL_CLUSTERID_X:
    case PTX_SPECIAL_CLUSTERID_Y:
    case PTX_SPECIAL_CLUSTERID_Z:
        return b->ctaid[which - PTX_SPECIAL_CLUSTERID_X];
    case PTX_SPECIAL_NCTAID_X:
    case PTX_SPECIAL_NCTAID_Y:
    case PTX_SPECIAL_NCTAID_Z:
        return launch->grid[which - PTX_SPECIAL_NCTAID_X];
    case PTX_SPECIAL_NCLUSTERID_X:
    case PTX_SPECIAL_NCLUSTERID_Y:
    case PTX_SPECIAL_NCLUSTERID_Z:
        return launch->grid[which - PTX_SPECIAL_NCLUSTERID_X];
    case PTX_SPECIAL_LANEID:
        return lane;
    case PTX_SPECIAL_WARPID:
        return w->index;
    case PTX_SPECIAL_NWARPID:
        return b->warp_count;
    case PTX_SPECIAL_SMID:
        return b->linear % (launch->sm_count ? launch->sm_count : 1);
    case PTX_SPECIAL_NSMID:
        return launch->sm_count ? launch->sm_count : 1;
    case PTX_SPECIAL_GRIDID:
        return b->work->grid_id;
    case PTX_SPECIAL_LANEMASK_EQ:
        return sx_bit[lane];
    case PTX_SPECIAL_LANEMASK_LT:
        return sx_bit[lane] - 1;
    case PTX_SPECIAL_LANEMASK_LE:
        return sx_bit[lane] | (sx_bit[lane] - 1);
    case PTX_SPECIAL_LANEMASK_GT:
        return ~(sx_bit[lane] | (sx_bit[lane] - 1));
    case PTX_SPECIAL_LANEMASK_GE:
        return ~(sx_bit[lane] - 1);
    case PTX_SPECIAL_TOTAL_SMEM_SIZE:
    case PTX_SPECIAL_AGGR_SMEM_SIZE:
        return b->shared_bytes;
    case PTX_SPECIAL_DYNAMIC_SMEM_SIZE:
        return launch->dynamic_shared;
    case PTX_SPECIAL_CLUSTER_NCTAID_X:
    case PTX_SPECIAL_CLUSTER_NCTAID_Y:
    case PTX_SPECIAL_CLUSTER_NCTAID_Z:
    case PTX_SPECIAL_CLUSTER_NCTARANK:
        return 1;
    default:
        return reserved_shared(which);
    }
}

static bool special_time(unsigned which, uint64_t *value)
{
    switch (which) {
    case PTX_SPECIAL_CLOCK:
    case PTX_SPECIAL_CLOCK64:
        *value = nanoseconds(CLOCK_MONOTONIC);
        return true;
    case PTX_SPECIAL_CLOCK_HI:
        *value = nanoseconds(CLOCK_MONOTONIC) >> 32;
        return true;
    case PTX_SPECIAL_GLOBALTIMER:
    case PTX_SPECIAL_GLOBALTIMER_LO:
        *value = nanoseconds(CLOCK_REALTIME);
        return true;
    case PTX_SPECIAL_GLOBALTIMER_HI:
        *value = nanoseconds(CLOCK_REALTIME) >> 32;
        return true;
    default:
        return false;
    }
}

static bool is_per_lane(unsigned which)
{
    return which == PTX_SPECIAL_LANEID ||
           (which >= PTX_SPECIAL_LANEMASK_EQ && which <= PTX_SPECIAL_LANEMASK_GT);
}

#define SPECIAL(name, T) \
    SX_EXTERN_HANDLER(name) \
    { \
        T *d = SX_REG(T, 0); \
        uint64_t value; \
        if (is_per_lane(i->aux)) { \
            SX_EACH_ACTIVE \
            { \
                d[l] = (T)special(w, i->aux, l); \
            } \
            return i + 1; \
        } \
        if (i->aux == PTX_SPECIAL_ENVREG) \
            value = environment(w, (uint64_t)i->imm); \
        else if (!special_time(i->aux, &value)) \
            value = special(w, i->aux, 0); \
        const uint32_t m = w->mask; \
        SX_EACH_LANE \
        { \
            d[l] = m & sx_bit[l] ? (T)value : d[l]; \
        } \
        return i + 1; \
    }
SPECIAL(special_32, u32)
SPECIAL(special_64, u64)

/* ---- addresses that depend on the activation or on the kernel -------------------------------- */

/* o[0] d (64 bits): imm, relative to the frame's start in local memory */
SX_EXTERN_HANDLER(frame_address)
{
    u64 *d = SX_REG(u64, 0);
    const uint64_t value = w->frame->local_base + (uint64_t)i->imm;
    SX_EACH_ACTIVE
    {
        d[l] = value;
    }
    return i + 1;
}

/* o[0] d (64 bits): imm, relative to the start of the running kernel's dynamic memory */
SX_EXTERN_HANDLER(dynamic_shared)
{
    u64 *d = SX_REG(u64, 0);
    const uint64_t value = w->block->work->code->ptx->dynamic_shared_offset + (uint64_t)i->imm;
    SX_EACH_ACTIVE
    {
        d[l] = value;
    }
    return i + 1;
}

/* o[0] p, o[1] generic address, aux ptx_space */
SX_EXTERN_HANDLER(isspacep)
{
    const u64 *a = SX_REG(u64, 1);
    uint32_t r = 0;
    for (unsigned l = 0; l < SX_LANES; l++) {
        bool is;
        switch (i->aux) {
        case PTX_SPACE_SHARED:
            is = a[l] - SX_SHARED_WINDOW < SX_WINDOW_BYTES;
            break;
        case PTX_SPACE_LOCAL:
            is = a[l] - SX_LOCAL_WINDOW < SX_WINDOW_BYTES;
            break;
        case PTX_SPACE_PARAM:
            is = a[l] - SX_PARAM_WINDOW < SX_WINDOW_BYTES;
            break;
        case PTX_SPACE_CONST:
            is = false; /* constants are in global memory here */
            break;
        default:
            is = a[l] - SX_LOCAL_WINDOW >= SX_WINDOWS * SX_WINDOW_BYTES;
            break;
        }
        r |= is ? sx_bit[l] : 0;
    }
    sx_pred_set(w, i->o[0], r, w->mask);
    return i + 1;
}

/* ---- integers with more than three operands or a carry --------------------------------------- */

#define BFI(name, T, bits) \
    SX_EXTERN_HANDLER(name) \
    { \
        T *d = SX_REG(T, 0); \
        const T *a = SX_REG(T, 1), *b = SX_REG(T, 2); \
        const u32 *c = SX_REG(u32, 3), *e = SX_REG(u32, 4); \
        SX_EACH_ACTIVE \
        { \
            d[l] = (T)sx_bfi(a[l], b[l], c[l], e[l], bits); \
        } \
        return i + 1; \
    }
BFI(bfi_32, u32, 32)
BFI(bfi_64, u64, 64)

/*
 * The carry is a predicate of the thread. A subtraction adds the complement, as hardware does: a
 * set carry means no borrow, which shows where addc follows sub.cc.
 */
#define CARRY_ADD(name, T) \
    SX_EXTERN_HANDLER(name) \
    { \
        T *d = SX_REG(T, 0); \
        const T *a = SX_REG(T, 1), *b = SX_REG(T, 2); \
        const uint32_t in = i->aux & SX_CARRY_IN ? sx_pred(w, i->o[3]) : 0; \
        uint32_t out = 0; \
        SX_EACH_ACTIVE \
        { \
            const T c = (in >> l) & 1; \
            T r; \
            bool carry; \
            if (i->aux & SX_CARRY_SUB) { \
                const T borrow = i->aux & SX_CARRY_IN ? 1 - c : 0; \
                r = a[l] - b[l] - borrow; \
                carry = a[l] > b[l] || (a[l] == b[l] && !borrow); \
            } else { \
                r = a[l] + b[l] + c; \
                carry = r < a[l] || (r == a[l] && c); \
            } \
            d[l] = r; \
            out |= carry ? sx_bit[l] : 0; \
        } \
        if (i->aux & SX_CARRY_OUT) \
            sx_pred_set(w, i->o[3], out, w->mask); \
        return i + 1; \
    }
CARRY_ADD(carry_add_32, u32)
CARRY_ADD(carry_add_64, u64)

#define CARRY_MAD(name, T, S, high_u, high_s) \
    SX_EXTERN_HANDLER(name) \
    { \
        T *d = SX_REG(T, 0); \
        const T *a = SX_REG(T, 1), *b = SX_REG(T, 2), *c = SX_REG(T, 3); \
        const uint32_t in = i->aux & SX_CARRY_IN ? sx_pred(w, i->o[4]) : 0; \
        uint32_t out = 0; \
        SX_EACH_ACTIVE \
        { \
            T p = a[l] * b[l]; \
            if (i->aux & SX_CARRY_HI) \
                p = i->aux & SX_CARRY_SIGNED ? (T)high_s((S)a[l], (S)b[l]) : high_u(a[l], b[l]); \
            const T k = (in >> l) & 1; \
            const T r = p + c[l] + k; \
            out |= r < p || (r == p && k) ? sx_bit[l] : 0; \
            d[l] = r; \
        } \
        if (i->aux & SX_CARRY_OUT) \
            sx_pred_set(w, i->o[4], out, w->mask); \
        return i + 1; \
    }
CARRY_MAD(carry_mad_32, u32, s32, sx_mulhi_u32, sx_mulhi_s32)
CARRY_MAD(carry_mad_64, u64, s64, sx_mulhi_u64, sx_mulhi_s64)

/* ---- packed bytes and halves ----------------------------------------------------------------- */

static int64_t video_value(int64_t a, int64_t b, unsigned op)
{
    switch (op) {
    case SX_VIDEO_ADD:
        return a + b;
    case SX_VIDEO_SUB:
        return a - b;
    case SX_VIDEO_AVRG:
        return (a + b + (a + b >= 0 ? 1 : 0)) >> 1;
    case SX_VIDEO_ABSDIFF:
        return a > b ? a - b : b - a;
    case SX_VIDEO_MIN:
        return a < b ? a : b;
    case SX_VIDEO_MAX:
        return a > b ? a : b;
    case SX_VIDEO_EQ:
        return a == b;
    case SX_VIDEO_NE:
        return a != b;
    case SX_VIDEO_LT:
        return a < b;
    case SX_VIDEO_LE:
        return a <= b;
    case SX_VIDEO_GT:
        return a > b;
    default:
        return a >= b;
    }
}

static uint32_t video_lane(uint32_t a, uint32_t b, uint32_t c, uint32_t aux)
{
    const unsigned bits = aux & SX_VIDEO_HALVES ? 16 : 8;
    const uint32_t mask = (UINT32_C(1) << bits) - 1;
    const int64_t high = aux & SX_VIDEO_SIGNED_D ? mask >> 1 : mask;
    const int64_t low = aux & SX_VIDEO_SIGNED_D ? -(int64_t)(mask >> 1) - 1 : 0;
    int64_t sum = c;
    uint32_t packed = 0;
    for (unsigned at = 0; at < 32; at += bits) {
        int64_t x = (a >> at) & mask, y = (b >> at) & mask;
        if (aux & SX_VIDEO_SIGNED_A)
            x = (x ^ (mask / 2 + 1)) - (mask / 2 + 1);
        if (aux & SX_VIDEO_SIGNED_B)
            y = (y ^ (mask / 2 + 1)) - (mask / 2 + 1);
        int64_t r = video_value(x, y, aux & SX_VIDEO_OP);
        if (aux & SX_VIDEO_SAT)
            r = r < low ? low : r > high ? high : r;
        sum += r;
        packed |= ((uint32_t)r & mask) << at;
    }
    return aux & SX_VIDEO_SUM ? (uint32_t)sum : packed;
}

SX_EXTERN_HANDLER(video)
{
    u32 *d = SX_REG(u32, 0);
    const u32 *a = SX_REG(u32, 1), *b = SX_REG(u32, 2), *c = SX_REG(u32, 3);
    SX_EACH_ACTIVE
    {
        d[l] = video_lane(a[l], b[l], c[l], i->aux);
    }
    return i + 1;
}

/* aux: bits of the result's parts, + 0x100 for signed; o[3]: none if nothing of c is kept */
SX_EXTERN_HANDLER(cvt_pack)
{
    u32 *d = SX_REG(u32, 0);
    const s32 *a = SX_REG(s32, 1), *b = SX_REG(s32, 2);
    const u32 *c = i->o[3] != SX_NO_OPERAND ? SX_REG(u32, 3) : NULL;
    const unsigned bits = i->aux & 0xff;
    const uint32_t mask = (UINT32_C(1) << bits) - 1;
    const int64_t high = i->aux & 0x100 ? mask >> 1 : mask;
    const int64_t low = i->aux & 0x100 ? -high - 1 : 0;
    SX_EACH_ACTIVE
    {
        const uint32_t x = (uint32_t)(a[l] < low ? low : a[l] > high ? high : a[l]) & mask;
        const uint32_t y = (uint32_t)(b[l] < low ? low : b[l] > high ? high : b[l]) & mask;
        d[l] = (c ? c[l] << (2 * bits) : 0) | x << bits | y;
    }
    return i + 1;
}
