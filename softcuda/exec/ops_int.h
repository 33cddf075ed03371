/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The integer, logic and data-movement operations, each written once: its name, the types of result
 * and operands, and the value for one lane (x, y, z are the operands, i the instruction). Handlers,
 * their enum and the table of names are made from this list.
 *
 * V marks loops that vectorise, S those that run lane by lane.
 */
#ifndef SOFTCUDA_EXEC_OPS_INT_H
#define SOFTCUDA_EXEC_OPS_INT_H

#define SX_OPS_INT_BASIC(V1, V2, V3, S1, S2, S3) \
    V1(mov_16, u16, u16, x) \
    V1(mov_32, u32, u32, x) \
    V1(mov_64, u64, u64, x) \
    V2(add_16, u16, u16, u16, x + y) \
    V2(add_32, u32, u32, u32, x + y) \
    V2(add_64, u64, u64, u64, x + y) \
    V2(add_16x2, u32, u32, u32, SX_PAIR(SX_LO(x) + SX_LO(y), SX_HI(x) + SX_HI(y))) \
    V2(add_sat_s32, s32, s32, s32, sx_sat_s32((int64_t)x + y)) \
    V2(sub_16, u16, u16, u16, x - y) \
    V2(sub_32, u32, u32, u32, x - y) \
    V2(sub_64, u64, u64, u64, x - y) \
    V2(sub_sat_s32, s32, s32, s32, sx_sat_s32((int64_t)x - y)) \
    V1(neg_16, u16, u16, 0u - x) \
    V1(neg_32, u32, u32, 0 - x) \
    V1(neg_64, u64, u64, 0 - x) \
    V1(abs_s16, u16, s16, x < 0 ? 0 - x : x) \
    V1(abs_s32, u32, s32, x < 0 ? 0 - (uint32_t)x : (uint32_t)x) \
    V1(abs_s64, u64, s64, x < 0 ? 0 - (uint64_t)x : (uint64_t)x) \
    V2(min_u16, u16, u16, u16, x < y ? x : y) \
    V2(min_s16, s16, s16, s16, x < y ? x : y) \
    V2(min_u32, u32, u32, u32, x < y ? x : y) \
    V2(min_s32, s32, s32, s32, x < y ? x : y) \
    V2(min_u64, u64, u64, u64, x < y ? x : y) \
    V2(min_s64, s64, s64, s64, x < y ? x : y) \
    V2(max_u16, u16, u16, u16, x > y ? x : y) \
    V2(max_s16, s16, s16, s16, x > y ? x : y) \
    V2(max_u32, u32, u32, u32, x > y ? x : y) \
    V2(max_s32, s32, s32, s32, x > y ? x : y) \
    V2(max_u64, u64, u64, u64, x > y ? x : y) \
    V2(max_s64, s64, s64, s64, x > y ? x : y) \
    V2(min_u16x2, u32, u32, u32, \
       SX_PAIR(SX_LO(x) < SX_LO(y) ? SX_LO(x) : SX_LO(y), \
               SX_HI(x) < SX_HI(y) ? SX_HI(x) : SX_HI(y))) \
    V2(max_u16x2, u32, u32, u32, \
       SX_PAIR(SX_LO(x) > SX_LO(y) ? SX_LO(x) : SX_LO(y), \
               SX_HI(x) > SX_HI(y) ? SX_HI(x) : SX_HI(y))) \
    V2(min_s16x2, u32, u32, u32, \
       SX_PAIR((int16_t)SX_LO(x) < (int16_t)SX_LO(y) ? SX_LO(x) : SX_LO(y), \
               (int16_t)SX_HI(x) < (int16_t)SX_HI(y) ? SX_HI(x) : SX_HI(y))) \
    V2(max_s16x2, u32, u32, u32, \
       SX_PAIR((int16_t)SX_LO(x) > (int16_t)SX_LO(y) ? SX_LO(x) : SX_LO(y), \
               (int16_t)SX_HI(x) > (int16_t)SX_HI(y) ? SX_HI(x) : SX_HI(y))) \
    V1(relu_s32, s32, s32, x < 0 ? 0 : x) \
    V1(relu_s16x2, u32, u32, \
       SX_PAIR((int16_t)SX_LO(x) < 0 ? 0 : SX_LO(x), (int16_t)SX_HI(x) < 0 ? 0 : SX_HI(x))) \
    V2(sad_u16, u16, u16, u16, x > y ? x - y : y - x) \
    V2(sad_s16, u16, s16, s16, x > y ? x - y : y - x) \
    V2(sad_u32, u32, u32, u32, sx_absdiff_u32(x, y)) \
    V2(sad_s32, u32, s32, s32, sx_absdiff_s32(x, y)) \
    V2(sad_u64, u64, u64, u64, sx_absdiff_u64(x, y)) \
    V2(sad_s64, u64, s64, s64, sx_absdiff_s64(x, y))

#define SX_OPS_INT_MUL(V1, V2, V3, S1, S2, S3) \
    V2(mul_lo_16, u16, u16, u16, (uint32_t)x *y) \
    V2(mul_lo_32, u32, u32, u32, x *y) \
    V2(mul_lo_64, u64, u64, u64, x *y) \
    V2(mul_hi_u16, u16, u16, u16, ((uint32_t)x * y) >> 16) \
    V2(mul_hi_s16, u16, s16, s16, (x * y) >> 16) \
    V2(mul_hi_u32, u32, u32, u32, sx_mulhi_u32(x, y)) \
    V2(mul_hi_s32, u32, s32, s32, sx_mulhi_s32(x, y)) \
    S2(mul_hi_u64, u64, u64, u64, sx_mulhi_u64(x, y)) \
    S2(mul_hi_s64, u64, s64, s64, sx_mulhi_s64(x, y)) \
    V2(mul_wide_u16, u32, u16, u16, (uint32_t)x *y) \
    V2(mul_wide_s16, s32, s16, s16, x *y) \
    V2(mul_wide_u32, u64, u32, u32, (uint64_t)x *y) \
    V2(mul_wide_s32, s64, s32, s32, (int64_t)x *y) \
    V3(mad_lo_16, u16, u16, u16, u16, (uint32_t)x *y + z) \
    V3(mad_lo_32, u32, u32, u32, u32, x *y + z) \
    V3(mad_lo_64, u64, u64, u64, u64, x *y + z) \
    V3(mad_hi_u16, u16, u16, u16, u16, (((uint32_t)x * y) >> 16) + z) \
    V3(mad_hi_s16, u16, s16, s16, u16, ((x * y) >> 16) + z) \
    V3(mad_hi_u32, u32, u32, u32, u32, sx_mulhi_u32(x, y) + z) \
    V3(mad_hi_s32, u32, s32, s32, u32, sx_mulhi_s32(x, y) + z) \
    S3(mad_hi_u64, u64, u64, u64, u64, sx_mulhi_u64(x, y) + z) \
    S3(mad_hi_s64, u64, s64, s64, u64, sx_mulhi_s64(x, y) + z) \
    S3(mad_hi_sat_s32, s32, s32, s32, s32, sx_sat_s32((((int64_t)x * y) >> 32) + z)) \
    V3(mad_wide_u16, u32, u16, u16, u32, (uint32_t)x *y + z) \
    V3(mad_wide_s16, u32, s16, s16, u32, (uint32_t)(x * y) + z) \
    V3(mad_wide_u32, u64, u32, u32, u64, (uint64_t)x *y + z) \
    V3(mad_wide_s32, u64, s32, s32, u64, (uint64_t)((int64_t)x * y) + z) \
    S2(mul24_lo_u32, u32, u32, u32, sx_mul24_u(x, y)) \
    S2(mul24_lo_s32, u32, s32, s32, sx_mul24_s(x, y)) \
    S2(mul24_hi_u32, u32, u32, u32, sx_mul24_u(x, y) >> 16) \
    S2(mul24_hi_s32, u32, s32, s32, sx_mul24_s(x, y) >> 16) \
    S3(mad24_lo_u32, u32, u32, u32, u32, (uint32_t)sx_mul24_u(x, y) + z) \
    S3(mad24_lo_s32, u32, s32, s32, u32, (uint32_t)sx_mul24_s(x, y) + z) \
    S3(mad24_hi_u32, u32, u32, u32, u32, (uint32_t)(sx_mul24_u(x, y) >> 16) + z) \
    S3(mad24_hi_s32, u32, s32, s32, u32, (uint32_t)(sx_mul24_s(x, y) >> 16) + z) \
    S3(mad24_hi_sat_s32, s32, s32, s32, s32, sx_sat_s32((sx_mul24_s(x, y) >> 16) + z)) \
    S2(div_u16, u16, u16, u16, sx_div_u32(x, y)) \
    S2(div_s16, s16, s16, s16, sx_div_s32(x, y)) \
    S2(div_u32, u32, u32, u32, sx_div_u32(x, y)) \
    S2(div_s32, s32, s32, s32, sx_div_s32(x, y)) \
    S2(div_u64, u64, u64, u64, sx_div_u(x, y)) \
    S2(div_s64, s64, s64, s64, sx_div_s(x, y)) \
    S2(rem_u16, u16, u16, u16, sx_rem_u32(x, y)) \
    S2(rem_s16, s16, s16, s16, sx_rem_s32(x, y)) \
    S2(rem_u32, u32, u32, u32, sx_rem_u32(x, y)) \
    S2(rem_s32, s32, s32, s32, sx_rem_s32(x, y)) \
    S2(rem_u64, u64, u64, u64, sx_rem_u(x, y)) \
    S2(rem_s64, s64, s64, s64, sx_rem_s(x, y))

#define SX_OPS_INT_BITS(V1, V2, V3, S1, S2, S3) \
    V2(and_16, u16, u16, u16, x &y) \
    V2(and_32, u32, u32, u32, x &y) \
    V2(and_64, u64, u64, u64, x &y) \
    V2(or_16, u16, u16, u16, x | y) \
    V2(or_32, u32, u32, u32, x | y) \
    V2(or_64, u64, u64, u64, x | y) \
    V2(xor_16, u16, u16, u16, x ^ y) \
    V2(xor_32, u32, u32, u32, x ^ y) \
    V2(xor_64, u64, u64, u64, x ^ y) \
    V1(not_16, u16, u16, ~(uint32_t)x) \
    V1(not_32, u32, u32, ~x) \
    V1(not_64, u64, u64, ~x) \
    V1(cnot_16, u16, u16, x == 0) \
    V1(cnot_32, u32, u32, x == 0) \
    V1(cnot_64, u64, u64, x == 0) \
    V2(shl_16, u16, u16, u32, y > 15 ? 0 : (uint32_t)x << (y & 15)) \
    V2(shl_32, u32, u32, u32, y > 31 ? 0 : x << (y & 31)) \
    V2(shl_64, u64, u64, u32, y > 63 ? 0 : x << (y & 63)) \
    V2(shr_u16, u16, u16, u32, y > 15 ? 0 : x >> (y & 15)) \
    V2(shr_u32, u32, u32, u32, y > 31 ? 0 : x >> (y & 31)) \
    V2(shr_u64, u64, u64, u32, y > 63 ? 0 : x >> (y & 63)) \
    V2(shr_s16, s16, s16, u32, x >> (y > 15 ? 15 : y)) \
    V2(shr_s32, s32, s32, u32, x >> (y > 31 ? 31 : y)) \
    V2(shr_s64, s64, s64, u32, x >> (y > 63 ? 63 : y)) \
    V1(popc_32, u32, u32, __builtin_popcount(x)) \
    V1(popc_64, u32, u64, __builtin_popcountll(x)) \
    S1(clz_32, u32, u32, sx_clz32(x)) \
    S1(clz_64, u32, u64, sx_clz64(x)) \
    V1(brev_32, u32, u32, sx_brev32(x)) \
    V1(brev_64, u64, u64, sx_brev64(x)) \
    S1(bfind_u32, u32, u32, sx_bfind32(x, i->aux)) \
    S1(bfind_s32, u32, s32, sx_bfind32((uint32_t)(x < 0 ? ~x : x), i->aux)) \
    S1(bfind_u64, u32, u64, sx_bfind64(x, i->aux)) \
    S1(bfind_s64, u32, s64, sx_bfind64((uint64_t)(x < 0 ? ~x : x), i->aux)) \
    S3(bfe_u32, u32, u32, u32, u32, sx_bfe(x, y, z, 32, false)) \
    S3(bfe_s32, u32, u32, u32, u32, sx_bfe(x, y, z, 32, true)) \
    S3(bfe_u64, u64, u64, u32, u32, sx_bfe(x, y, z, 64, false)) \
    S3(bfe_s64, u64, u64, u32, u32, sx_bfe(x, y, z, 64, true)) \
    S2(bmsk_32, u32, u32, u32, sx_bmsk(x, y, i->aux)) \
    S2(szext_u32, u32, u32, u32, sx_szext(x, y, i->aux, false)) \
    S2(szext_s32, u32, u32, u32, sx_szext(x, y, i->aux, true)) \
    V3(prmt_32, u32, u32, u32, u32, sx_prmt(x, y, z)) \
    S3(prmt_mode_32, u32, u32, u32, u32, sx_prmt(x, y, sx_prmt_mode(i->aux, z))) \
    V3(shf_l_wrap_32, u32, u32, u32, u32, sx_shf_l(x, y, z & 31)) \
    V3(shf_l_clamp_32, u32, u32, u32, u32, sx_shf_l(x, y, z > 32 ? 32 : z)) \
    V3(shf_r_wrap_32, u32, u32, u32, u32, sx_shf_r(x, y, z & 31)) \
    V3(shf_r_clamp_32, u32, u32, u32, u32, sx_shf_r(x, y, z > 32 ? 32 : z)) \
    V3(lop3_32, u32, u32, u32, u32, sx_lop3(x, y, z, i->aux)) \
    V3(dp4a_uu, u32, u32, u32, u32, sx_dp4a(x, y, z, false, false)) \
    V3(dp4a_us, u32, u32, u32, u32, sx_dp4a(x, y, z, false, true)) \
    V3(dp4a_su, u32, u32, u32, u32, sx_dp4a(x, y, z, true, false)) \
    V3(dp4a_ss, u32, u32, u32, u32, sx_dp4a(x, y, z, true, true)) \
    S3(dp2a_lo, u32, u32, u32, u32, sx_dp2a(x, y, z, i->aux & 1, i->aux & 2, false)) \
    S3(dp2a_hi, u32, u32, u32, u32, sx_dp2a(x, y, z, i->aux & 1, i->aux & 2, true)) \
    S3(fns_32, u32, u32, u32, s32, sx_fns(x, y, z)) \
    V3(slct_s32_16, u16, u16, u16, s32, z >= 0 ? x : y) \
    V3(slct_s32_32, u32, u32, u32, s32, z >= 0 ? x : y) \
    V3(slct_s32_64, u64, u64, u64, s32, z >= 0 ? x : y) \
    V3(slct_f32_16, u16, u16, u16, f32, z >= 0.0f ? x : y) \
    V3(slct_f32_32, u32, u32, u32, f32, z >= 0.0f ? x : y) \
    V3(slct_f32_64, u64, u64, u64, f32, z >= 0.0f ? x : y) \
    V3(slct_ftz_f32_16, u16, u16, u16, f32, sx_ftz32(z) >= 0.0f ? x : y) \
    V3(slct_ftz_f32_32, u32, u32, u32, f32, sx_ftz32(z) >= 0.0f ? x : y) \
    V3(slct_ftz_f32_64, u64, u64, u64, f32, sx_ftz32(z) >= 0.0f ? x : y) \
    V2(pack_16_32, u32, u16, u16, SX_PAIR(x, y)) \
    V2(pack_32_64, u64, u32, u32, (uint64_t)y << 32 | x) \
    V1(low_32_16, u16, u32, x) \
    V1(high_32_16, u16, u32, x >> 16) \
    V1(low_64_32, u32, u64, x) \
    V1(high_64_32, u32, u64, x >> 32) \
    V1(quarter_64_16, u16, u64, x >> i->aux)

#define SX_OPS_INT(V1, V2, V3, S1, S2, S3) \
    SX_OPS_INT_BASIC(V1, V2, V3, S1, S2, S3) \
    SX_OPS_INT_MUL(V1, V2, V3, S1, S2, S3) \
    SX_OPS_INT_BITS(V1, V2, V3, S1, S2, S3)

#endif
