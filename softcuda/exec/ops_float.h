/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The floating-point operations and conversions, in the form of ops_int.h. F1 to F3 define an f32
 * operation twice: under its name, and with "_ftz" appended, where subnormal operands and results
 * are flushed.
 */
#ifndef SOFTCUDA_EXEC_OPS_FLOAT_H
#define SOFTCUDA_EXEC_OPS_FLOAT_H

#define SX_OPS_F32(F1, F2, F3, G1) \
    F2(add_f32, x + y) \
    F2(sub_f32, x - y) \
    F2(mul_f32, x *y) \
    F3(fma_f32, __builtin_fmaf(x, y, z)) \
    F2(div_f32, x / y) \
    F1(rcp_f32, 1.0f / x) \
    F1(sqrt_f32, __builtin_sqrtf(x)) \
    F1(rsqrt_f32, sx_rsqrt32(x)) \
    F1(neg_f32, -x) \
    F1(abs_f32, sx_float32(sx_bits32(x) & 0x7fffffff)) \
    F2(min_f32, sx_min32(x, y)) \
    F2(max_f32, sx_max32(x, y)) \
    F2(min_nan_f32, sx_min_nan32(x, y)) \
    F2(max_nan_f32, sx_max_nan32(x, y)) \
    F1(ex2_f32, sx_ex2(x)) \
    F1(lg2_f32, sx_lg2(x)) \
    F1(rint_f32, __builtin_rintf(x)) \
    F1(floor_f32, __builtin_floorf(x)) \
    F1(ceil_f32, __builtin_ceilf(x)) \
    F1(trunc_f32, __builtin_truncf(x)) \
    G1(sin_f32, sinf(x)) \
    G1(cos_f32, cosf(x)) \
    G1(tanh_f32, sx_tanh32(x))

#define SX_OPS_F64(V1, V2, V3, S1, S2, S3) \
    V1(sat_f32, f32, f32, sx_sat32(x)) \
    V1(ftz_f32, f32, f32, sx_ftz32(x)) \
    V1(relu_f32, f32, f32, sx_relu32(x)) \
    V1(sat_f64, f64, f64, sx_sat64(x)) \
    V2(add_f64, f64, f64, f64, x + y) \
    V2(sub_f64, f64, f64, f64, x - y) \
    V2(mul_f64, f64, f64, f64, x *y) \
    V3(fma_f64, f64, f64, f64, f64, __builtin_fma(x, y, z)) \
    V2(div_f64, f64, f64, f64, x / y) \
    V1(rcp_f64, f64, f64, 1.0 / x) \
    V1(sqrt_f64, f64, f64, __builtin_sqrt(x)) \
    V1(rsqrt_f64, f64, f64, 1.0 / __builtin_sqrt(x)) \
    V1(neg_f64, f64, f64, -x) \
    V1(abs_f64, f64, f64, __builtin_fabs(x)) \
    V2(min_f64, f64, f64, f64, sx_min64(x, y)) \
    V2(max_f64, f64, f64, f64, sx_max64(x, y)) \
    V1(rint_f64, f64, f64, __builtin_rint(x)) \
    V1(floor_f64, f64, f64, __builtin_floor(x)) \
    V1(ceil_f64, f64, f64, __builtin_ceil(x)) \
    V1(trunc_f64, f64, f64, __builtin_trunc(x)) \
    V2(copysign_f32, f32, f32, f32, sx_copysign32(x, y)) \
    V2(copysign_f64, f64, f64, f64, sx_copysign64(x, y))

/* Conversions between registers: integers by result bits and source type. */
#define SX_OPS_CVT(V1, V2, V3, S1, S2, S3) \
    V1(cvt_16_u8, u16, u16, x & 0xff) \
    V1(cvt_16_s8, s16, s16, (int8_t)x) \
    V1(cvt_32_u8, u32, u32, x & 0xff) \
    V1(cvt_32_s8, s32, s32, (int8_t)x) \
    V1(cvt_32_u16, u32, u16, x) \
    V1(cvt_32_s16, s32, s16, x) \
    V1(cvt_32_low_u16, u32, u32, x & 0xffff) \
    V1(cvt_32_low_s16, s32, s32, (int16_t)x) \
    V1(cvt_16_u32, u16, u32, x) \
    V1(cvt_64_u16, u64, u16, x) \
    V1(cvt_64_s16, s64, s16, x) \
    V1(cvt_64_u32, u64, u32, x) \
    V1(cvt_64_s32, s64, s32, x) \
    V1(cvt_16_u64, u16, u64, x) \
    V1(cvt_32_u64, u32, u64, x) \
    V1(clamp_s64_s, s64, s64, sx_clamp64(x, -(INT64_C(1) << i->aux), (INT64_C(1) << i->aux) - 1)) \
    V1(clamp_s64_u, s64, s64, sx_clamp64(x, 0, (INT64_C(1) << i->aux) - 1)) \
    V1(clamp_u64_u, u64, u64, x >> i->aux ? (UINT64_C(1) << i->aux) - 1 : x) \
    V1(clamp_u64_s63, u64, u64, x >> 63 ? INT64_MAX : x) \
    V1(clamp_s64_u63, s64, s64, x < 0 ? 0 : x) \
    V1(cvt_f32_s32, f32, s32, x) \
    V1(cvt_f32_u32, f32, u32, x) \
    V1(cvt_f32_s64, f32, s64, x) \
    V1(cvt_f32_u64, f32, u64, x) \
    V1(cvt_f64_s32, f64, s32, x) \
    V1(cvt_f64_u32, f64, u32, x) \
    V1(cvt_f64_s64, f64, s64, x) \
    V1(cvt_f64_u64, f64, u64, x) \
    V1(cvt_u8_f32, u16, f32, sx_clamp(sx_f32_s32(x), 0, 255)) \
    V1(cvt_s8_f32, s16, f32, sx_clamp(sx_f32_s32(x), -128, 127)) \
    V1(cvt_u16_f32, u16, f32, sx_clamp(sx_f32_s32(x), 0, 65535)) \
    V1(cvt_s16_f32, s16, f32, sx_clamp(sx_f32_s32(x), -32768, 32767)) \
    V1(cvt_u32_f32, u32, f32, sx_f32_u32(x)) \
    V1(cvt_s32_f32, s32, f32, sx_f32_s32(x)) \
    V1(cvt_u64_f32, u64, f32, sx_f32_u64(x)) \
    V1(cvt_s64_f32, s64, f32, sx_f32_s64(x)) \
    V1(cvt_u8_f64, u16, f64, x != x ? 0x80 : sx_clamp(sx_f64_s32(x), 0, 255)) \
    V1(cvt_s8_f64, s16, f64, sx_clamp(sx_f64_s32(x), -128, 127)) \
    V1(cvt_u16_f64, u16, f64, x != x ? 0x8000 : sx_clamp(sx_f64_s32(x), 0, 65535)) \
    V1(cvt_s16_f64, s16, f64, sx_clamp(sx_f64_s32(x), -32768, 32767)) \
    V1(cvt_u32_f64, u32, f64, sx_f64_u32(x)) \
    V1(cvt_s32_f64, s32, f64, sx_f64_s32(x)) \
    V1(cvt_u64_f64, u64, f64, sx_f64_u64(x)) \
    V1(cvt_s64_f64, s64, f64, sx_f64_s64(x)) \
    V1(cvt_f32_f64, f32, f64, x) \
    V1(cvt_f64_f32, f64, f32, x) \
    V1(cvt_f32_f16, f32, u16, sx_f16_to_f32(x)) \
    V1(cvt_f16_f32, u16, f32, sx_f32_to_f16(x)) \
    V1(cvt_f32_bf16, f32, u16, sx_bf16_to_f32(x)) \
    V1(cvt_bf16_f32, u16, f32, sx_f32_to_bf16(x)) \
    S1(cvt_f16_f64, u16, f64, sx_f64_to_f16_mode(x, i->aux)) \
    S1(cvt_bf16_f64, u16, f64, sx_f64_to_bf16_mode(x, i->aux)) \
    S1(cvt_tf32_f64, u32, f64, sx_f64_to_tf32(x, i->aux)) \
    S1(cvt_e4m3_f64, u16, f64, sx_f64_to_e4m3(x)) \
    S1(cvt_e5m2_f64, u16, f64, sx_f64_to_e5m2(x)) \
    V1(cvt_f16_e4m3, u16, u16, sx_e4m3_to_f16(x >> i->aux & 0xff)) \
    V1(cvt_f16_e5m2, u16, u16, sx_e5m2_to_f16(x >> i->aux & 0xff)) \
    V2(pack_8_16, u16, u16, u16, (x & 0xff) | y << 8) \
    V1(sticky_u64, u64, u64, x >> 53 ? (x & ~UINT64_C(0xfff)) | (x & 0xfff ? 0x800 : 0) : x) \
    V1(sticky_s64, u64, s64, \
       x >> 53 != 0 && x >> 53 != -1 ? (x & ~INT64_C(0xfff)) | (x & 0xfff ? 0x800 : 0) : x) \
    V1(finite_f16, u16, u16, (x & 0x7fff) == 0x7c00 ? x - 1 : x) \
    V1(finite_bf16, u16, u16, (x & 0x7fff) == 0x7f80 ? x - 1 : x)

/* Half precision, one value: H widens, N narrows. lanes_alu.h makes pairs from these. */
#define SX_OPS_HALF(P1, P2, P3) \
    P2(add_f16, sx_f32_to_f16(sx_f16_to_f32(x) + sx_f16_to_f32(y))) \
    P2(sub_f16, sx_f32_to_f16(sx_f16_to_f32(x) - sx_f16_to_f32(y))) \
    P2(mul_f16, sx_f32_to_f16(sx_f16_to_f32(x) * sx_f16_to_f32(y))) \
    P3(fma_f16, sx_f64_to_f16_mode( \
                    sx_fma_odd(sx_f16_to_f32(x), sx_f16_to_f32(y), sx_f16_to_f32(z)), SX_RN)) \
    P1(neg_f16, x ^ 0x8000) \
    P1(abs_f16, x & 0x7fff) \
    P2(min_f16, sx_f32_to_f16(sx_min32(sx_f16_to_f32(x), sx_f16_to_f32(y)))) \
    P2(max_f16, sx_f32_to_f16(sx_max32(sx_f16_to_f32(x), sx_f16_to_f32(y)))) \
    P2(min_nan_f16, sx_f32_to_f16(sx_min_nan32(sx_f16_to_f32(x), sx_f16_to_f32(y)))) \
    P2(max_nan_f16, sx_f32_to_f16(sx_max_nan32(sx_f16_to_f32(x), sx_f16_to_f32(y)))) \
    P1(ex2_f16, sx_f32_to_f16(sx_ex2(sx_f16_to_f32(x)))) \
    P1(tanh_f16, sx_f32_to_f16(sx_tanh32(sx_f16_to_f32(x)))) \
    P1(sat_f16, sx_f32_to_f16(sx_sat32(sx_f16_to_f32(x)))) \
    P1(relu_f16, sx_f32_to_f16(sx_relu32(sx_f16_to_f32(x)))) \
    P1(ftz_f16, (x & 0x7c00) == 0 ? x & 0x8000 : x) \
    P2(add_bf16, sx_f32_to_bf16(sx_bf16_to_f32(x) + sx_bf16_to_f32(y))) \
    P2(sub_bf16, sx_f32_to_bf16(sx_bf16_to_f32(x) - sx_bf16_to_f32(y))) \
    P2(mul_bf16, \
       sx_f64_to_bf16_mode((double)sx_bf16_to_f32(x) * (double)sx_bf16_to_f32(y), SX_RN)) \
    P3(fma_bf16, sx_f64_to_bf16_mode( \
                     sx_fma_odd(sx_bf16_to_f32(x), sx_bf16_to_f32(y), sx_bf16_to_f32(z)), SX_RN)) \
    P1(neg_bf16, x ^ 0x8000) \
    P1(abs_bf16, x & 0x7fff) \
    P2(min_bf16, sx_f32_to_bf16(sx_min32(sx_bf16_to_f32(x), sx_bf16_to_f32(y)))) \
    P2(max_bf16, sx_f32_to_bf16(sx_max32(sx_bf16_to_f32(x), sx_bf16_to_f32(y)))) \
    P2(min_nan_bf16, sx_f32_to_bf16(sx_min_nan32(sx_bf16_to_f32(x), sx_bf16_to_f32(y)))) \
    P2(max_nan_bf16, sx_f32_to_bf16(sx_max_nan32(sx_bf16_to_f32(x), sx_bf16_to_f32(y)))) \
    P1(ex2_bf16, sx_f32_to_bf16(sx_ex2(sx_bf16_to_f32(x)))) \
    P1(tanh_bf16, sx_f32_to_bf16(sx_tanh32(sx_bf16_to_f32(x)))) \
    P1(sat_bf16, sx_f32_to_bf16(sx_sat32(sx_bf16_to_f32(x)))) \
    P1(relu_bf16, sx_f32_to_bf16(sx_relu32(sx_bf16_to_f32(x)))) \
    P1(ftz_bf16, (x & 0x7f80) == 0 ? x & 0x8000 : x)

#endif
