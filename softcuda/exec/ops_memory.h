/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Loads and stores, in the form of ops_int.h: name, type in memory, type of the register's lanes,
 * elements.
 */
#ifndef SOFTCUDA_EXEC_OPS_MEMORY_H
#define SOFTCUDA_EXEC_OPS_MEMORY_H

#define SX_MEMORY_OPS(X, op) \
    X(op##_u8_v1, u8, u16, 1) \
    X(op##_16_v1, u16, u16, 1) \
    X(op##_32_v1, u32, u32, 1) \
    X(op##_64_v1, u64, u64, 1) \
    X(op##_u8_v2, u8, u16, 2) \
    X(op##_16_v2, u16, u16, 2) \
    X(op##_32_v2, u32, u32, 2) \
    X(op##_64_v2, u64, u64, 2) \
    X(op##_u8_v4, u8, u16, 4) \
    X(op##_16_v4, u16, u16, 4) \
    X(op##_32_v4, u32, u32, 4) \
    X(op##_64_v4, u64, u64, 4)

#define SX_OPS_LOAD(X) \
    SX_MEMORY_OPS(X, ld) \
    X(ld_s8_v1, s8, s16, 1) \
    X(ld_s8_v2, s8, s16, 2) \
    X(ld_s8_v4, s8, s16, 4)

#define SX_OPS_LOAD_STRONG(X) \
    SX_MEMORY_OPS(X, ld_strong) \
    X(ld_strong_s8_v1, s8, s16, 1) \
    X(ld_strong_s8_v2, s8, s16, 2) \
    X(ld_strong_s8_v4, s8, s16, 4)

#define SX_OPS_STORE(X) SX_MEMORY_OPS(X, st)
#define SX_OPS_STORE_STRONG(X) SX_MEMORY_OPS(X, st_strong)

#define SX_OPS_PARAM(X) \
    X(ld_param_u8, u8, u16) \
    X(ld_param_s8, s8, s16) \
    X(ld_param_16, u16, u16) \
    X(ld_param_32, u32, u32) \
    X(ld_param_64, u64, u64)

#endif
