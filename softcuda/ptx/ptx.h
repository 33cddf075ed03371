/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The PTX front end: text in, a checked in-memory program out. It knows PTX's grammar, names and
 * layout rules, and nothing about how a program is executed. A parsed module is immutable, so
 * threads may share it; all of it is in one arena and is freed by ptx_free.
 */
#ifndef SOFTCUDA_PTX_PTX_H
#define SOFTCUDA_PTX_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ptx/ptx_lists.h"

/* The newest PTX version that is understood, as major * 10 + minor. */
#define PTX_VERSION_MAX 92

/* Threads in a warp: what WARP_SZ stands for. */
#define PTX_WARP_SIZE 32

/* "No register" and "no label" wherever an index is expected. */
#define PTX_NO_INDEX UINT32_MAX

/* ---- words ---------------------------------------------------------------------------------- */

typedef enum ptx_type {
    PTX_TYPE_NONE,
#define X(name, text, bits, class) PTX_##name,
    PTX_TYPE_LIST(X)
#undef X
        PTX_TYPE_COUNT
} ptx_type;

/* NONE in an instruction means the generic address space. */
typedef enum ptx_space {
    PTX_SPACE_NONE,
#define X(name, text) PTX_SPACE_##name,
    PTX_SPACE_LIST(X)
#undef X
        PTX_SPACE_COUNT
} ptx_space;

typedef enum ptx_op {
    PTX_OP_UNKNOWN, /* not in the list: ptx_inst.name has what was written */
#define X(name, text) PTX_OP_##name,
    PTX_OP_LIST(X)
#undef X
        PTX_OP_COUNT
} ptx_op;

typedef enum ptx_mod {
    PTX_MOD_OTHER, /* not in the list: ptx_inst.name has what was written */
#define X(name, text) PTX_MOD_##name,
    PTX_MOD_LIST(X)
#undef X
        PTX_MOD_COUNT
} ptx_mod;

typedef enum ptx_special {
    PTX_SPECIAL_NONE,
#define X(name, text, type) PTX_SPECIAL_##name,
    PTX_SPECIAL_LIST(X)
#undef X
        PTX_SPECIAL_ENVREG, /* %envreg0 to %envreg31: ptx_operand.value is the number */
    PTX_SPECIAL_PM,         /* %pm0 to %pm7 (and %pm0_64 to %pm7_64), likewise */
    PTX_SPECIAL_COUNT
} ptx_special;

const char *ptx_type_name(ptx_type type); /* "u32" */
unsigned ptx_type_bits(ptx_type type);    /* 32; 1 for .pred */
unsigned ptx_type_bytes(ptx_type type);   /* bytes in memory, 0 for .pred and sub-byte types */
bool ptx_type_is_float(ptx_type type);
bool ptx_type_is_signed(ptx_type type);      /* signed integer */
const char *ptx_space_name(ptx_space space); /* "shared" */
const char *ptx_op_name(ptx_op op);          /* "mad" */
const char *ptx_mod_name(ptx_mod mod);       /* "wide" */
const char *ptx_special_name(ptx_special special);
ptx_type ptx_special_type(ptx_special special); /* the type of its value */

/* ---- variables ------------------------------------------------------------------------------ */

struct ptx_function;

typedef enum ptx_linkage {
    PTX_LINKAGE_STATIC, /* no linkage directive */
    PTX_LINKAGE_VISIBLE,
    PTX_LINKAGE_EXTERN,
    PTX_LINKAGE_WEAK,
    PTX_LINKAGE_COMMON,
} ptx_linkage;

/* An address inside an initializer: add it into the image once addresses are known. */
typedef struct ptx_reloc {
    size_t offset;             /* offset in the image */
    unsigned bytes;            /* width written there, 1 to 8 */
    unsigned shift;            /* right shift of the address, done first (mask operator) */
    const struct ptx_var *var; /* one of these two */
    const struct ptx_function *function;
    int64_t addend;
    bool generic; /* generic(): convert to a generic address first */
} ptx_reloc;

/*
 * A variable or parameter. What `offset` is relative to depends on the space:
 *   .shared  the block's shared memory. It is unique in the module and packed for each kernel, so
 *            that one .func sees one address whichever kernel calls it. None (0) for dynamic
 *            arrays, which begin at the running kernel's dynamic_shared_offset
 *   .local   the function's frame
 *   .param   for a kernel: the parameter block. For the own parameters of a .func, and .param
 *            variables in a body: the function's parameter frame
 *   .global, .const  unused: the executor places them
 */
typedef struct ptx_var {
    const char *name;
    ptx_space space; /* CONST GLOBAL LOCAL PARAM SHARED; REG for register parameters of a .func;
                          TEX for old-style texture references */
    ptx_type type;   /* of an element */
    uint8_t vector;  /* 1, or 2 or 4 for .v2 and .v4 */
    ptx_linkage linkage;
    bool dynamic; /* .extern .shared array without a size: the launch's dynamic memory */
    bool managed; /* .attribute(.managed) */
    bool is_array;
    uint32_t align; /* bytes */
    uint32_t line;
    uint64_t bytes; /* whole size; 0 where dynamic or of unknown size */
    uint64_t offset;
    uint32_t reg;   /* first register of a .reg parameter, else PTX_NO_INDEX */
    uint32_t index; /* place in module->vars for .global, .const, else PTX_NO_INDEX */

    const unsigned char *init; /* `bytes` long; NULL: zero */
    const ptx_reloc *relocs;
    size_t reloc_count;

    /* .ptr attributes of a kernel's pointer parameter */
    bool is_pointer;
    ptx_space pointer_space; /* NONE: generic */
    uint32_t pointer_align;  /* 0: not given */
} ptx_var;

/* ---- instructions --------------------------------------------------------------------------- */

typedef enum ptx_operand_kind {
    PTX_OPERAND_SINK,     /* _ */
    PTX_OPERAND_REG,      /* reg; negated for !p; selector for video instructions' %r.b0 */
    PTX_OPERAND_INTEGER,  /* value, is_unsigned */
    PTX_OPERAND_FLOAT,    /* number, exactly; float_bits */
    PTX_OPERAND_SPECIAL,  /* special (and value) */
    PTX_OPERAND_VAR,      /* address of var, + offset; in call lists the .param variable itself */
    PTX_OPERAND_FUNCTION, /* function, by name */
    PTX_OPERAND_LABEL,    /* target: index of an instruction */
    PTX_OPERAND_TARGETS,  /* targets: name of a .branchtargets, .calltargets or .callprototype */
    PTX_OPERAND_MEMORY,   /* [base + offset], base one of REG, VAR, INTEGER (offset is then all);
                             items: what follows a comma inside, as for textures */
    PTX_OPERAND_VECTOR,   /* {items} */
    PTX_OPERAND_PAIR,     /* items[0] | items[1] */
} ptx_operand_kind;

typedef struct ptx_operand ptx_operand;
struct ptx_operand {
    ptx_operand_kind kind;
    ptx_operand_kind base; /* MEMORY only */
    ptx_special special;
    ptx_mod selector; /* OTHER (0): none, else BYTE0..BYTE3, HALF0, HALF1 */
    bool negated;
    bool is_unsigned;   /* the constant has type .u64 (else .s64): U suffix or too large */
    uint8_t float_bits; /* 32 for 0f, 64 for 0d and decimal */
    uint32_t reg;
    uint32_t target;
    uint32_t count; /* of items */
    uint64_t value; /* INTEGER; FLOAT: bits of `number` in float_bits */
    int64_t offset;
    double number;
    const ptx_var *var;
    const struct ptx_function *function;
    const struct ptx_targets *targets;
    const ptx_operand *items;
};

/* .branchtargets (labels), .calltargets (functions) or .callprototype (prototype) */
typedef struct ptx_targets {
    const char *name;
    uint32_t line;
    uint32_t count;
    const uint32_t *labels; /* instruction indices */
    const struct ptx_function *const *functions;
    const struct ptx_function *prototype; /* parameters only, no body */
} ptx_targets;

/* The lists of a call. The instruction's `operands` has only the callee. */
typedef struct ptx_call {
    const ptx_operand *returns; /* REG, VAR (.param) or SINK */
    uint32_t return_count;
    const ptx_operand *args; /* REG, VAR (.param), INTEGER, FLOAT */
    uint32_t arg_count;
    const struct ptx_function *callee; /* NULL where indirect */
    const ptx_targets *targets;        /* of an indirect call */
} ptx_call;

#define PTX_INST_TYPES 5
#define PTX_INST_MODS 14

typedef struct ptx_inst {
    ptx_op op;
    uint8_t type_count, mod_count;
    uint8_t vector; /* 1, or 2, 4, 8 */
    bool guard_negated;
    uint8_t types[PTX_INST_TYPES]; /* ptx_type, in the order written: cvt.f32.s32 has F32, S32 */
    uint8_t mods[PTX_INST_MODS];   /* ptx_mod, in the order written */
    ptx_space space;               /* the first state space written */
    ptx_space space2;              /* the second: cp.async.shared.global */
    uint32_t guard;                /* predicate register, or PTX_NO_INDEX */
    uint32_t line;                 /* in the PTX text */
    uint32_t loc;                  /* index in module->locs, or PTX_NO_INDEX */
    uint32_t operand_count;
    const ptx_operand *operands;
    const ptx_call *call; /* OP_CALL only */
    const char *name;     /* as written: "mad.lo.s32" */
} ptx_inst;

bool ptx_inst_has(const ptx_inst *inst, ptx_mod mod);

/* A source position from .loc; `file` may be NULL. */
typedef struct ptx_loc {
    const char *file;
    uint32_t line, column;
} ptx_loc;

/* ---- functions ------------------------------------------------------------------------------ */

typedef struct ptx_label {
    const char *name;
    uint32_t target; /* index of an instruction, always less than inst_count */
} ptx_label;

/* Registers first to first + count - 1 are name0, name1, ..; a single one is just `name`. */
typedef struct ptx_reg_range {
    const char *name;
    ptx_type type;
    bool numbered;
    uint32_t first, count;
} ptx_reg_range;

typedef struct ptx_function {
    const char *name;
    bool is_kernel;
    bool is_defined; /* has a body */
    bool noreturn;
    ptx_linkage linkage;
    uint32_t line;
    uint32_t index; /* place in module->functions; PTX_NO_INDEX for a prototype */

    /* .param (or .reg) variables in order */
    const ptx_var *const *params;
    uint32_t param_count;
    const ptx_var *const *returns;
    uint32_t return_count;
    uint64_t param_block; /* kernel: size of the parameter block */

    /* directives, 0 where absent */
    uint32_t reqntid[3], maxntid[3];
    uint32_t minnctapersm, maxnreg;
    uint32_t reqnctapercluster[3];

    /* registers, dense: 0 to reg_count - 1 */
    uint32_t reg_count;
    const uint8_t *reg_types; /* ptx_type */
    const ptx_reg_range *reg_ranges;
    uint32_t reg_range_count;

    /* variables declared in the body, and frames */
    const ptx_var *const *vars;
    uint32_t var_count;
    uint64_t local_bytes;
    uint32_t local_align;
    uint64_t
        param_frame; /* bytes that this function's parameters, returns and .param variables take */

    /* kernel: shared memory of all variables that it or a function it may call names */
    uint64_t shared_bytes;          /* static */
    uint64_t dynamic_shared_offset; /* where dynamic arrays start: shared_bytes, aligned */
    bool uses_dynamic_shared;

    /* The last instruction is always an unguarded jump, ret, exit or trap: a `ret` is added if the
     * text can run off the end. */
    const ptx_inst *insts;
    uint32_t inst_count;
    const ptx_label *labels;
    uint32_t label_count;
} ptx_function;

/* Writes "%r12" (cut to size) and returns buffer. */
char *ptx_reg_name(const ptx_function *function, uint32_t reg, char *buffer, size_t size);

/* ---- modules -------------------------------------------------------------------------------- */

typedef struct ptx_module {
    unsigned version;      /* 75 for .version 7.5 */
    unsigned target;       /* 75 for sm_75 */
    char target_suffix;    /* 'a', 'f' or 0 */
    unsigned address_size; /* 32 or 64 */

    const ptx_var *const *vars; /* .global and .const, wherever declared */
    uint32_t var_count;
    const ptx_function *const *functions; /* kernels and functions, defined or only declared */
    uint32_t function_count;
    const ptx_loc *locs;
    uint32_t loc_count;
} ptx_module;

typedef struct ptx_error {
    unsigned code;  /* CUresult: 218 invalid PTX, 222 unsupported version, 2 out of memory */
    unsigned line;  /* of the PTX text; 0: none applies */
    char text[400]; /* what is wrong and where, "line 17: unknown register %r9 in function foo" */
} ptx_error;

/*
 * Parses `length` bytes (a NUL ends the text earlier). Returns NULL with *error set if the text is
 * not valid PTX. Instructions with unknown opcodes or modifiers are kept, and marked as such.
 * Allocates; holds no lock; safe from any thread.
 */
ptx_module *ptx_parse(const char *text, size_t length, ptx_error *error);
void ptx_free(ptx_module *module);

/* The function of that name; NULL: there is none. */
const ptx_function *ptx_find_function(const ptx_module *module, const char *name);
const ptx_var *ptx_find_var(const ptx_module *module, const char *name);

/*
 * The bits of a constant operand (INTEGER or FLOAT) as a value of `type`, in the low bits of the
 * result; rounded to nearest where a float becomes narrower.
 */
uint64_t ptx_constant_bits(const ptx_operand *operand, ptx_type type);

#endif
