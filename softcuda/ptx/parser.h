/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the parts of the parser share. Errors leave by longjmp to ptx_parse: everything that was
 * allocated is in the module's arena or in the temporary one, so nothing needs to be undone on the
 * way.
 */
#ifndef SOFTCUDA_PTX_PARSER_H
#define SOFTCUDA_PTX_PARSER_H

#include <setjmp.h>

#include "ptx/lexer.h"
#include "ptx/ptx.h"
#include "ptx/table.h"
#include "ptx/words.h"

/* A growable array in the arena; `items` is cast to the element type. */
typedef struct ptx_vec {
    void *items;
    size_t count, capacity;
} ptx_vec;

typedef enum ptx_symbol_kind {
    PTX_SYMBOL_VAR,
    PTX_SYMBOL_FUNCTION,
    PTX_SYMBOL_REG,   /* one register, or `lanes` of a .v2 or .v4 one */
    PTX_SYMBOL_RANGE, /* name<count>; the key is the prefix */
    PTX_SYMBOL_TARGETS,
} ptx_symbol_kind;

typedef struct ptx_symbol ptx_symbol;
struct ptx_symbol {
    ptx_symbol_kind kind;
    const char *name;
    ptx_var *var;
    struct ptx_fn *fn;
    ptx_targets *targets;
    uint32_t reg, count, lanes;
    ptx_symbol *shadowed; /* the symbol of the same name in an outer scope */
    ptx_symbol *older;    /* declared before this one in the same scope */
    uint32_t depth;       /* of its scope; module scope has none */
};

/* A function while it is being built. */
typedef struct ptx_fn {
    ptx_function out;
    bool calls_indirectly;
    bool address_taken;
    ptx_vec callees; /* ptx_fn *, those called or named */
    ptx_vec shared;  /* ptx_var *, the .shared variables named */
    uint32_t visit;  /* stamp of the last walk */
} ptx_fn;

/* A scope of the body: braces. */
typedef struct ptx_scope {
    uint32_t parent;
    ptx_symbol *symbols;
} ptx_scope;

/* A use of a label that may not be known yet; resolved at the end of the function. */
typedef struct ptx_fixup {
    uint32_t *slot;
    const char *name;
    uint32_t scope, line;
} ptx_fixup;

typedef struct ptx_label_key {
    const char *name; /* interned */
    uint64_t scope;
} ptx_label_key;

/* State of the function body being parsed. */
typedef struct ptx_body {
    ptx_fn *fn;
    ptx_table locals;   /* name -> ptx_symbol */
    ptx_table prefixes; /* prefix of a register range -> ptx_symbol */
    ptx_table labels;   /* ptx_label_key -> ptx_label */
    ptx_vec scopes;     /* ptx_scope; 0 is the function's own */
    uint32_t scope;     /* current */
    uint32_t depth;
    ptx_vec fixups, insts, label_list, reg_types, ranges, vars;
    uint32_t last_label; /* target of the label defined last */
    uint32_t loc;
} ptx_body;

typedef struct ptx_module_store {
    ptx_module out; /* first: ptx_module and its store have one address */
    ptx_arena arena;
    ptx_table symbols; /* module scope: name -> ptx_symbol */
} ptx_module_store;

typedef struct ptx_parser {
    ptx_lexer lexer;
    ptx_words words;
    ptx_module_store *store;
    ptx_arena *arena;  /* the module's */
    ptx_arena temp;    /* freed when parsing ends */
    ptx_table names;   /* interned strings */
    ptx_table opcodes; /* whole opcodes -> ptx_inst, to copy from */
    ptx_table files;   /* number of .file -> name */
    ptx_vec vars;      /* ptx_var *: .global, .const */
    ptx_vec shared;    /* ptx_var *: all .shared, wherever declared */
    ptx_vec fns;       /* ptx_fn * */
    ptx_vec locs;      /* ptx_loc */
    ptx_vec loc_files; /* uint32_t: file number of each loc */
    ptx_vec scratch;   /* ptx_operand: lists under construction, used as a stack */
    ptx_body *body;    /* NULL at module level */
    const ptx_fn *fn;  /* for messages */
    bool has_version, has_target;
    ptx_error *error;
    jmp_buf fail;
} ptx_parser;

/* ---- errors and memory (parse.c) ---- */

_Noreturn void ptx_fail(ptx_parser *p, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void ptx_fail_code(ptx_parser *p, unsigned code, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

void *ptx_alloc(ptx_parser *p, size_t count, size_t size);
/* Room for `more` elements of `size` bytes at the end; zeroed; lies in temporary memory. */
void *ptx_push_many(ptx_parser *p, ptx_vec *vec, size_t more, size_t size);
void *ptx_push(ptx_parser *p, ptx_vec *vec, size_t size);
/* A copy of the elements that lives as long as the module; NULL for none. */
void *ptx_freeze(ptx_parser *p, const ptx_vec *vec, size_t size);
const char *ptx_intern(ptx_parser *p, const char *text, size_t length);
ptx_entry *ptx_insert(ptx_parser *p, ptx_arena *arena, ptx_table *table, const void *key,
                      size_t length);

/* ---- tokens (tokens.c) ---- */

static inline const ptx_token *ptx_token_now(const ptx_parser *p)
{
    return &p->lexer.token;
}

void ptx_next(ptx_parser *p); /* fails on a malformed token */
bool ptx_is_punct(const ptx_parser *p, int punct);
bool ptx_is_directive(const ptx_parser *p, const char *text);
bool ptx_accept(ptx_parser *p, int punct);
bool ptx_accept_directive(ptx_parser *p, const char *text);
void ptx_expect(ptx_parser *p, int punct, const char *after);
/* The interned name that must come here, a word; `what` is for the message. */
const char *ptx_expect_name(ptx_parser *p, const char *what);
uint64_t ptx_expect_integer(ptx_parser *p, const char *what);
uint32_t ptx_expect_u32(ptx_parser *p, const char *what);
_Noreturn void ptx_fail_token(ptx_parser *p, const char *expected);

/* ---- constants (constants.c) ---- */

typedef struct ptx_constant {
    bool is_float, is_unsigned;
    uint8_t float_bits;
    uint64_t value;
    double number;
} ptx_constant;

ptx_constant ptx_parse_constant(ptx_parser *p);
/* The offset after a symbol or register, if any: {+ constant | - constant}. */
int64_t ptx_parse_offset(ptx_parser *p);
ptx_operand ptx_constant_operand(const ptx_constant *constant);

/* ---- symbols (symbols.c) ---- */

/* Declares a symbol in the current scope: the body's, if there is one, else the module's. */
ptx_symbol *ptx_declare(ptx_parser *p, ptx_symbol_kind kind, const char *name, uint32_t line);
ptx_symbol *ptx_lookup(const ptx_parser *p, const char *name, size_t length);
ptx_symbol *ptx_lookup_module(const ptx_module_store *store, const char *name, size_t length);
/* Looks up the function's register `name`; false: there is none. A .v2 or .v4 register gives its
 * lanes. */
bool ptx_lookup_reg(const ptx_parser *p, const char *name, size_t length, uint32_t *reg,
                    uint32_t *lanes);
uint32_t ptx_declare_reg(ptx_parser *p, const char *name, ptx_type type, unsigned lanes,
                         uint32_t line);
void ptx_parse_reg(ptx_parser *p); /* behind ".reg" */
void ptx_scope_enter(ptx_parser *p);
void ptx_scope_leave(ptx_parser *p);
void ptx_label_define(ptx_parser *p, const char *name, uint32_t line);
void ptx_label_use(ptx_parser *p, const char *name, uint32_t line, uint32_t *slot);
void ptx_labels_resolve(ptx_parser *p);

/* ---- variables (variables.c, initializers.c) ---- */

ptx_space ptx_declared_space(const ptx_parser *p); /* at a directive; NONE: no state space */
void ptx_parse_variables(ptx_parser *p, ptx_linkage linkage);
/* One parameter: of a kernel, or of a function (which may be a register). */
ptx_var *ptx_parse_param(ptx_parser *p, bool of_kernel);
void ptx_place(ptx_parser *p, ptx_var *var, uint64_t *end, uint32_t *align);
/* What follows "=". `dims` are the array's sizes, outermost first; 0: left open. Sets the number of
 * elements of an open array. */
void ptx_parse_initializer(ptx_parser *p, ptx_var *var, uint64_t *dims, unsigned dim_count);

/* ---- functions, statements, operands, calls ---- */

bool ptx_parse_linkage(ptx_parser *p, ptx_linkage *linkage);
void ptx_parse_function(ptx_parser *p, ptx_linkage linkage);        /* at .entry or .func */
ptx_function *ptx_parse_prototype(ptx_parser *p, const char *name); /* behind .callprototype */
void ptx_parse_body(ptx_parser *p, ptx_fn *fn);                     /* at { */
void ptx_parse_loc(ptx_parser *p);
void ptx_parse_file(ptx_parser *p);
void ptx_skip_pragma(ptx_parser *p);

/* Append operands to p->scratch; ptx_take_scratch moves those above `mark` into the arena. */
void ptx_parse_operand(ptx_parser *p);
const ptx_operand *ptx_take_scratch(ptx_parser *p, size_t mark, uint32_t *count);
ptx_operand ptx_parse_simple(ptx_parser *p);
void ptx_parse_call(ptx_parser *p, ptx_inst *inst);
/* Fails if the operands do not fit the opcode (check.c). */
void ptx_check_instruction(ptx_parser *p, const ptx_inst *inst);
/* Splits an opcode as written into base, modifiers, types and spaces. */
const ptx_inst *ptx_decode_opcode(ptx_parser *p, const char *text, size_t length);

/* The body names fn: from this follow the calls of a kernel. */
void ptx_note_function(ptx_parser *p, ptx_fn *fn, bool called);

/* Gives .shared variables their offsets and kernels their totals. */
void ptx_layout_shared(ptx_parser *p);

#endif
