/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Every operation that the interpreter can execute: its enum, its name, its handlers. The decoder
 * asks for operations by name ("mad_wide_s32"): the software device does not execute what is in no
 * list.
 */
#ifndef SOFTCUDA_EXEC_OPS_H
#define SOFTCUDA_EXEC_OPS_H

#include "exec/machine.h"
#include "exec/ops_compare.h"
#include "exec/ops_float.h"
#include "exec/ops_int.h"
#include "exec/ops_memory.h"
#include "exec/ops_other.h"

/* X(name): the operations with one handler for each instruction set */
#define SX_OP_OF(name, ...) SX_X(name)
#define SX_OP_OF_F32(name, expr) SX_X(name) SX_X(name##_ftz)
#define SX_OP_OF_HALF(name, expr) SX_X(name) SX_X(name##x2)
#define SX_LANE_OPS \
    SX_OPS_INT(SX_OP_OF, SX_OP_OF, SX_OP_OF, SX_OP_OF, SX_OP_OF, SX_OP_OF) \
    SX_OPS_F64(SX_OP_OF, SX_OP_OF, SX_OP_OF, SX_OP_OF, SX_OP_OF, SX_OP_OF) \
    SX_OPS_CVT(SX_OP_OF, SX_OP_OF, SX_OP_OF, SX_OP_OF, SX_OP_OF, SX_OP_OF) \
    SX_OPS_F32(SX_OP_OF_F32, SX_OP_OF_F32, SX_OP_OF_F32, SX_OP_OF_F32) \
    SX_OPS_HALF(SX_OP_OF_HALF, SX_OP_OF_HALF, SX_OP_OF_HALF) \
    SX_OPS_COMPARE(SX_OP_OF, SX_OP_OF) \
    SX_OPS_TEST(SX_OP_OF) \
    SX_OPS_SELECT(SX_OP_OF) \
    SX_OPS_LOAD(SX_OP_OF) \
    SX_OPS_STORE(SX_OP_OF) \
    SX_OPS_LOAD_STRONG(SX_OP_OF) \
    SX_OPS_STORE_STRONG(SX_OP_OF) \
    SX_OPS_PARAM(SX_OP_OF)

typedef enum sx_op {
#define SX_X(name) SX_OP_##name,
    SX_LANE_OPS
#undef SX_X
        SX_LANE_OP_COUNT,
    SX_OTHER_BEFORE = SX_LANE_OP_COUNT - 1,
#define X(name) SX_OP_##name,
    SX_OPS_OTHER(X)
#undef X
        SX_OP_COUNT,
} sx_op;

#define X(name) const sx_insn *sx_op_##name(const sx_insn *i, sx_warp *w);
SX_OPS_OTHER(X)
#undef X

/* The operation of that name; SX_OP_COUNT where there is none. Safe from any thread. */
unsigned sx_op_find(const char *name);

/* The operation's handler for this CPU. */
sx_handler sx_op_handler(unsigned op);

/* By instruction set: isa_*.c */
extern const sx_handler sx_handlers_base[SX_LANE_OP_COUNT];
#if defined(__x86_64__)
extern const sx_handler sx_handlers_avx2[SX_LANE_OP_COUNT];
#endif

#endif
