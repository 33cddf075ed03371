/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The operations with one handler for every CPU: X(name), with handler sx_op_name.
 */
#ifndef SOFTCUDA_EXEC_OPS_OTHER_H
#define SOFTCUDA_EXEC_OPS_OTHER_H

/* clang-format off */

/* op_control.c */
#define SX_OPS_CONTROL(X)                                                                          \
    X(guarded) X(nop) X(join) X(bra) X(bra_back) X(bra_if) X(bra_if_back) X(brx) X(exit)           \
    X(exit_if) X(ret) X(call) X(trap) X(brkpt) X(fence) X(nanosleep) X(bar_sync) X(bar_arrive)

/* op_warp.c */
#define SX_OPS_WARP(X)                                                                             \
    X(shfl_up) X(shfl_down) X(shfl_bfly) X(shfl_idx) X(vote_all) X(vote_any) X(vote_uni)           \
    X(vote_ballot) X(match_any_32) X(match_any_64) X(match_all_32) X(match_all_64)                 \
    X(redux_add) X(redux_min_u32) X(redux_min_s32) X(redux_max_u32) X(redux_max_s32)               \
    X(redux_and) X(redux_or) X(redux_xor) X(activemask) X(elect) X(warp_sync)

/* op_atom.c */
#define SX_OPS_ATOM(X)                                                                             \
    X(atom_add_32) X(atom_add_64) X(atom_add_f32) X(atom_add_f64) X(atom_add_f16)                  \
    X(atom_add_bf16) X(atom_add_f16x2) X(atom_add_bf16x2) X(atom_min_u32) X(atom_min_s32)          \
    X(atom_min_u64) X(atom_min_s64) X(atom_max_u32) X(atom_max_s32) X(atom_max_u64)                \
    X(atom_max_s64) X(atom_and_32) X(atom_and_64) X(atom_or_32) X(atom_or_64) X(atom_xor_32)       \
    X(atom_xor_64) X(atom_exch_32) X(atom_exch_64) X(atom_cas_16) X(atom_cas_32) X(atom_cas_64)    \
    X(atom_inc_u32) X(atom_dec_u32)

/* op_round.c: with a rounding mode other than to nearest */
#define SX_OPS_ROUND(X)                                                                            \
    X(round_add_f32) X(round_sub_f32) X(round_mul_f32) X(round_fma_f32) X(round_div_f32)           \
    X(round_rcp_f32) X(round_sqrt_f32) X(round_add_f64) X(round_sub_f64) X(round_mul_f64)          \
    X(round_fma_f64) X(round_div_f64) X(round_rcp_f64) X(round_sqrt_f64) X(round_cvt_f32_f64)      \
    X(round_cvt_f32_s32) X(round_cvt_f32_u32) X(round_cvt_f32_s64) X(round_cvt_f32_u64)            \
    X(round_cvt_f64_s64) X(round_cvt_f64_u64)

/* op_misc.c */
#define SX_OPS_MISC(X)                                                                             \
    X(mov_pred) X(not_pred) X(and_pred) X(or_pred) X(xor_pred) X(special_32) X(special_64)         \
    X(frame_address) X(dynamic_shared) X(bfi_32) X(bfi_64) X(carry_add_32) X(carry_add_64)         \
    X(carry_mad_32) X(carry_mad_64) X(isspacep) X(video) X(cvt_pack)

/* op_async.c */
#define SX_OPS_ASYNC(X)                                                                            \
    X(copy_async) X(copy_bulk) X(mbarrier_init) X(mbarrier_arrive) X(mbarrier_expect)              \
    X(mbarrier_complete) X(mbarrier_test) X(mbarrier_test_parity) X(mbarrier_pending)

/* op_matrix.c */
#define SX_OPS_MATRIX(X) X(mma) X(ldmatrix) X(stmatrix) X(movmatrix)

#define SX_OPS_OTHER(X)                                                                            \
    SX_OPS_CONTROL(X) SX_OPS_WARP(X) SX_OPS_ATOM(X) SX_OPS_ROUND(X) SX_OPS_MISC(X)   \
    SX_OPS_ASYNC(X) SX_OPS_MATRIX(X)

/* clang-format on */

#endif
