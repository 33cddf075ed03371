/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* sx_insn.aux of the operations in op_misc.c and op_async.c. */
#ifndef SOFTCUDA_EXEC_OP_MISC_H
#define SOFTCUDA_EXEC_OP_MISC_H

enum sx_carry {
    SX_CARRY_IN = 1,
    SX_CARRY_OUT = 2,
    SX_CARRY_SUB = 4,
    SX_CARRY_HI = 8,
    SX_CARRY_SIGNED = 16
};

enum sx_video_op {
    SX_VIDEO_ADD,
    SX_VIDEO_SUB,
    SX_VIDEO_AVRG,
    SX_VIDEO_ABSDIFF,
    SX_VIDEO_MIN,
    SX_VIDEO_MAX,
    SX_VIDEO_EQ,
    SX_VIDEO_NE,
    SX_VIDEO_LT,
    SX_VIDEO_LE,
    SX_VIDEO_GT,
    SX_VIDEO_GE,
};

enum sx_video {
    SX_VIDEO_OP = 0xf,
    SX_VIDEO_HALVES = 0x10, /* two halves, else four bytes */
    SX_VIDEO_SIGNED_A = 0x20,
    SX_VIDEO_SIGNED_B = 0x40,
    SX_VIDEO_SIGNED_D = 0x80,
    SX_VIDEO_SAT = 0x100,
    SX_VIDEO_SUM = 0x200, /* .add: everything is added to c */
};

/* Beside the address's bits, which are far below. */
enum sx_mbarrier {
    SX_MBARRIER_DROP = 0x10000,  /* fewer are expected in later phases */
    SX_MBARRIER_STAYS = 0x20000, /* .noComplete: the phase must not end by it */
    SX_MBARRIER_BYTES = 0x40000, /* .expect_tx: o[2] is bytes, and one arrives */
};

enum sx_bulk { SX_BULK_TO_SHARED = 1, SX_BULK_FROM_SHARED = 2 };

#endif
