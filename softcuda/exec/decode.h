/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * From parsed PTX to instructions of the interpreter. One decoder works on one function at a time:
 *
 *   cfg.c          finds blocks and loops, and the order in which blocks are laid out
 *   decode*.c      each PTX instruction becomes one or a few instructions (emit.c helps)
 *   registers.c    registers get places in the warp's frame, shared where lives do not overlap
 *
 * What is not supported is refused here, with its line, and with it the kernels that need it.
 */
#ifndef SOFTCUDA_EXEC_DECODE_H
#define SOFTCUDA_EXEC_DECODE_H

#include "exec/machine.h"

#define SX_INVALID_PTX 218
#define SX_OUT_OF_MEMORY 2

/* Broadcast constants of a module, by value and width. */
typedef struct sx_constants {
    char *bytes;
    size_t used, room;
    struct sx_constant_slot {
        uint64_t value;
        uint32_t offset;
        uint8_t bits; /* 0: free */
    } * slots;
    size_t slot_count, slot_used;
} sx_constants;

typedef struct sx_cfg_block {
    uint32_t first, end;  /* PTX instructions */
    uint32_t succ, succs; /* successors: cfg.edges[succ .. succ + succs) */
    uint32_t fall;        /* the block that it falls through to, PTX_NO_INDEX: none */
    uint32_t preds;       /* incoming edges */
    uint32_t rpo, idom;   /* place in plain reverse post-order */
    uint32_t loop;        /* innermost loop's header, PTX_NO_INDEX: none */
    uint32_t order;       /* place in the layout; PTX_NO_INDEX: unreachable */
    uint32_t start, stop; /* emitted instructions */
    uint32_t waiting;     /* used while ordering */
    bool is_header;
    uint16_t cost; /* the fuel that a jump back to this header takes */
} sx_cfg_block;

typedef struct sx_cfg {
    sx_cfg_block *blocks;
    uint32_t count;
    uint32_t *edges;
    uint32_t edge_count, edge_room;
    uint32_t *pred_edges; /* predecessors, by block */
    uint32_t *pred_start; /* count + 1 */
    uint32_t *block_of;   /* by PTX instruction */
    uint32_t *rpo;        /* blocks in plain reverse post-order */
    uint32_t rpo_count;
    uint32_t *layout; /* blocks in their final order */
    uint32_t layout_count;
} sx_cfg;

/* A virtual register of the function being decoded: PTX's own first, then temporaries. */
typedef struct sx_vreg {
    uint8_t bits;   /* 1 predicate, 16, 32, 64 */
    bool pinned;    /* shares its place with no other register */
    uint32_t place; /* offset in the frame */
} sx_vreg;

typedef struct sx_decoder {
    sx_module *module;
    sx_constants constants;
    sx_error *error;
    bool failed;
    bool valid; /* where failed: as PTX, for another device */

    const ptx_function *fn;
    sx_code *code;
    sx_cfg cfg;
    sx_vreg *regs;
    uint32_t reg_count, reg_room;
    uint32_t carry; /* register of the carry flag, PTX_NO_INDEX: not used yet */

    sx_insn *insns;
    uint8_t *soft; /* by instruction: some lanes keep the old result although no guard says so */
    size_t count, room;
    sx_insn refused; /* the instruction that callers fill in after a failure; nobody reads it */

    const ptx_inst *inst;  /* the one being decoded */
    uint32_t block;        /* its block */
    uint32_t consumed;     /* bits of the modifiers that were understood, by place */
    uint32_t guard;        /* the guard of emitted code, or SX_NO_OPERAND */
    bool in_branch_around; /* lanes whose guard does not hold jump over the emitted code */

    /* Address registers of this block that an instruction has already looked at: see access.h. */
    struct sx_known {
        uint32_t operand; /* SX_NO_OPERAND: free */
        uint32_t bytes;
    } known[SX_PATTERNS];
    uint32_t known_next;
    size_t known_until; /* the instructions up to here write none of their registers */
} sx_decoder;

/* ---- memory that lives as long as the module ------------------------------------------------- */
void *sx_own(sx_module *module, size_t bytes); /* zeroed, 64-byte aligned; NULL: out of memory */

/* ---- failing --------------------------------------------------------------------------------- */
void sx_refuse(sx_decoder *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* For what is valid PTX: only the kernels that need it are refused, not the module. */
void sx_not_executed(sx_decoder *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sx_refuse_inst(sx_decoder *d); /* "the software device does not execute .." */
void sx_no_memory(sx_decoder *d);

/* ---- modifiers ------------------------------------------------------------------------------- */
bool sx_has(sx_decoder *d, ptx_mod mod);    /* whether it is there; it then counts as understood */
void sx_ignore(sx_decoder *d, ptx_mod mod); /* marks it understood: it makes no difference here */
unsigned sx_rounding(sx_decoder *d);        /* sx_round of .rn, .rz, .rm, .rp; default .rn */

/* ---- names of operations --------------------------------------------------------------------- */
#define SX_NAME 48
const char *sx_bits_name(ptx_type type); /* "16" "32" "64" of the register that holds the type */
const char *sx_sign_name(ptx_type type); /* "u32", "s64"; bits are unsigned */
void sx_join_name(char name[SX_NAME], const char *a, const char *b, const char *c);

/* ---- emitting -------------------------------------------------------------------------------- */
#define SX_REG_OPERAND(reg) ((uint32_t)(reg) << 2 | SX_BASE_REGS)

uint32_t sx_temp(sx_decoder *d, unsigned bits); /* operand of a new register */
uint32_t sx_constant(sx_decoder *d, uint64_t value, unsigned bits);
unsigned sx_container(ptx_type type); /* bits of the register that holds a value: 16, 32, 64, 1 */

/* Never NULL; after a failure a scratch instruction. The PTX instruction's guard is applied. */
sx_insn *sx_emit(sx_decoder *d, const char *name);
sx_insn *sx_emit_plain(sx_decoder *d, const char *name); /* without the guard */
sx_insn *sx_emit1(sx_decoder *d, const char *name, uint32_t r, uint32_t a);
sx_insn *sx_emit2(sx_decoder *d, const char *name, uint32_t r, uint32_t a, uint32_t b);
sx_insn *sx_emit3(sx_decoder *d, const char *name, uint32_t r, uint32_t a, uint32_t b, uint32_t c);

const ptx_operand *sx_operand(sx_decoder *d, unsigned n); /* refuses the instruction if it is
                                                           * missing */

/* A source operand as a value of `type`, in a register of its container's width. */
uint32_t sx_use(sx_decoder *d, const ptx_operand *op, ptx_type type);
uint32_t sx_use_n(sx_decoder *d, unsigned n, ptx_type type);
uint32_t sx_use_pred(sx_decoder *d, const ptx_operand *op);

/* A result: written to `operand`, and widened to the register's width by sx_finish. */
typedef struct sx_result {
    uint32_t operand;
    uint32_t reg; /* operand of the wider register that it ends up in, else SX_NO_OPERAND */
    ptx_type type;
} sx_result;
sx_result sx_define(sx_decoder *d, const ptx_operand *op, ptx_type type);
void sx_finish(sx_decoder *d, const sx_result *r);
uint32_t sx_define_pred(sx_decoder *d, const ptx_operand *op);

/* Converts integers between containers, zero- or sign-extending. */
void sx_widen(sx_decoder *d, uint32_t r, unsigned to_bits, uint32_t a, unsigned from_bits,
              bool is_signed);
uint32_t sx_address_of(sx_decoder *d, const ptx_var *var, int64_t offset); /* 64 bits */
uint64_t sx_function_address(const ptx_function *f);
bool sx_is_kernel_param(const sx_decoder *d, const ptx_var *var);

/* ---- addresses: decode_memory.c -------------------------------------------------------------- */
typedef struct sx_address {
    uint32_t operand; /* SX_NO_OPERAND: see access.h, SX_WHERE_FRAME */
    int64_t imm;
    uint32_t aux;
    bool is_param; /* a parameter of the kernel: imm is the offset in the parameter block */
} sx_address;

/* Where [op] is in `space`; `bytes` is what one lane moves. */
sx_address sx_memory(sx_decoder *d, const ptx_operand *op, ptx_space space, unsigned bytes);
/* The same in one 64-bit register; refuses what is in no register (frames, parameters). */
uint32_t sx_whole_address(sx_decoder *d, const ptx_operand *op, ptx_space space, unsigned bytes);
void sx_ignore_hints(sx_decoder *d); /* caches and scopes: every access here is for the system */
bool sx_is_strong(sx_decoder *d);    /* volatile, or with an order */

/* ---- families: true where the opcode is theirs ----------------------------------------------- */
bool sx_decode_int(sx_decoder *d);
bool sx_decode_bits(sx_decoder *d);
bool sx_decode_float(sx_decoder *d);
bool sx_decode_compare(sx_decoder *d);
bool sx_decode_move(sx_decoder *d);
bool sx_decode_cvt(sx_decoder *d);
bool sx_decode_memory(sx_decoder *d);
bool sx_decode_async(sx_decoder *d);
bool sx_decode_warp(sx_decoder *d);
bool sx_decode_matrix(sx_decoder *d);
bool sx_decode_control(sx_decoder *d);
void sx_forget_addresses(sx_decoder *d);          /* a block begins */
void sx_emit_jump(sx_decoder *d, uint32_t block); /* unless that block comes next anyway */
bool sx_needs_branch_around(const ptx_function *fn, const ptx_inst *inst);

/* ---- whole functions ------------------------------------------------------------------------- */
bool sx_cfg_build(sx_decoder *d);
void sx_cfg_free(sx_cfg *cfg);
void sx_decode_function(sx_decoder *d, const ptx_function *fn);
bool sx_place_registers(sx_decoder *d);

#endif
