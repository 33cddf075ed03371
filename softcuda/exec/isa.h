/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * All lane handlers for one instruction set. The including file has set SX_ISA_LEVEL (0: the
 * compiler's default, 2: AVX2 and FMA), the compiler's target, and SX_ISA_TABLE, the name of the
 * table that is made here. (AVX-512 was tried: compilers keep to 256 bits, and nothing is gained.)
 */
#include "exec/lanes_alu.h"
#include "exec/lanes_memory.h"

const sx_handler SX_ISA_TABLE[SX_LANE_OP_COUNT] = {
#define SX_X(name) [SX_OP_##name] = name,
    SX_LANE_OPS
#undef SX_X
};
