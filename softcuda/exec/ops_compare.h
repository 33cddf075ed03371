/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The comparisons, in the form of ops_int.h: C(name, type, condition) for setp.
 */
#ifndef SOFTCUDA_EXEC_OPS_COMPARE_H
#define SOFTCUDA_EXEC_OPS_COMPARE_H

#define SX_COMPARE_ORDER(C, T) \
    C(setp_lt_##T, T, x < y) \
    C(setp_le_##T, T, x <= y) \
    C(setp_gt_##T, T, x > y) \
    C(setp_ge_##T, T, x >= y)

#define SX_COMPARE_FLOAT(C, T, U) \
    C(setp_eq_##T, U, x == y) \
    C(setp_ne_##T, U, x<y || x> y) \
    C(setp_lt_##T, U, x < y) \
    C(setp_le_##T, U, x <= y) \
    C(setp_gt_##T, U, x > y) \
    C(setp_ge_##T, U, x >= y) \
    C(setp_equ_##T, U, !(x < y || x > y)) \
    C(setp_neu_##T, U, x != y) \
    C(setp_ltu_##T, U, !(x >= y)) \
    C(setp_leu_##T, U, !(x > y)) \
    C(setp_gtu_##T, U, !(x <= y)) \
    C(setp_geu_##T, U, !(x < y)) \
    C(setp_num_##T, U, x == x && y == y) \
    C(setp_nan_##T, U, x != x || y != y)

#define SX_OPS_COMPARE(C, CF) \
    C(setp_eq_16, u16, x == y) \
    C(setp_ne_16, u16, x != y) \
    C(setp_eq_32, u32, x == y) \
    C(setp_ne_32, u32, x != y) \
    C(setp_eq_64, u64, x == y) \
    C(setp_ne_64, u64, x != y) \
    SX_COMPARE_ORDER(C, u16) \
    SX_COMPARE_ORDER(C, s16) \
    SX_COMPARE_ORDER(C, u32) \
    SX_COMPARE_ORDER(C, s32) \
    SX_COMPARE_ORDER(C, u64) \
    SX_COMPARE_ORDER(C, s64) \
    SX_COMPARE_FLOAT(C, f32, f32) \
    SX_COMPARE_FLOAT(CF, ftz_f32, f32) \
    SX_COMPARE_FLOAT(C, f64, f64)

/* T(name, type, condition) on one operand */
#define SX_OPS_TEST(T) \
    T(testp_f32, u32, sx_testp64(x & 0x7fffffff, 0x00800000, 0x7f800000, i->aux)) \
    T(testp_f64, u64, sx_testp64(x &INT64_MAX, UINT64_C(1) << 52, UINT64_C(0x7ff) << 52, i->aux))

/* SEL(name, type): by predicate */
#define SX_OPS_SELECT(SEL) \
    SEL(selp_16, u16) \
    SEL(selp_32, u32) \
    SEL(selp_64, u64)

#endif
