/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Opcodes as written, "mad.lo.s32", to an instruction's fields; each spelling is decoded once. */
#include "ptx/parser.h"

#include <string.h>

static bool starts_with(const char *text, size_t length, const char *start)
{
    const size_t n = strlen(start);
    return length >= n && memcmp(text, start, n) == 0;
}

static void add_mod(ptx_inst *inst, ptx_mod mod)
{
    if (inst->mod_count == PTX_INST_MODS) {
        inst->op = PTX_OP_UNKNOWN; /* more than can be told to the executor: let it refuse */
        return;
    }
    inst->mods[inst->mod_count++] = (uint8_t)mod;
    if (mod == PTX_MOD_V2 || mod == PTX_MOD_V4 || mod == PTX_MOD_V8)
        inst->vector = mod == PTX_MOD_V2 ? 2 : mod == PTX_MOD_V4 ? 4 : 8;
}

static void add_type(ptx_inst *inst, ptx_type type)
{
    if (inst->type_count == PTX_INST_TYPES)
        inst->op = PTX_OP_UNKNOWN;
    else
        inst->types[inst->type_count++] = (uint8_t)type;
}

static void add_space(ptx_inst *inst, ptx_space space)
{
    if (inst->space == PTX_SPACE_NONE)
        inst->space = space;
    else if (inst->space2 == PTX_SPACE_NONE)
        inst->space2 = space;
    else
        inst->op = PTX_OP_UNKNOWN;
}

static void add_part(ptx_parser *p, ptx_inst *inst, const char *text, size_t length)
{
    if (starts_with(text, length, "L1::") || starts_with(text, length, "L2::")) {
        add_mod(inst, PTX_MOD_CACHE_HINT);
        return;
    }
    const ptx_word word = ptx_words_find(&p->words, text, length);
    if (word.type)
        add_type(inst, (ptx_type)word.type);
    else if (word.space)
        add_space(inst, (ptx_space)word.space);
    else
        add_mod(inst, (ptx_mod)word.mod);
}

const ptx_inst *ptx_decode_opcode(ptx_parser *p, const char *text, size_t length)
{
    const ptx_entry *known = ptx_table_find(&p->opcodes, text, length);
    if (known)
        return known->value;

    ptx_inst *inst = ptx_alloc(p, 1, sizeof *inst);
    *inst = (ptx_inst){.vector = 1, .guard = PTX_NO_INDEX, .loc = PTX_NO_INDEX};
    inst->name = ptx_intern(p, text, length);
    const char *end = text + length;
    const char *dot = memchr(text, '.', length);
    const char *stop = dot ? dot : end;
    inst->op = (ptx_op)ptx_words_find(&p->words, text, (size_t)(stop - text)).op;
    while (stop < end) {
        const char *part = stop + 1;
        const char *next = memchr(part, '.', (size_t)(end - part));
        stop = next ? next : end;
        add_part(p, inst, part, (size_t)(stop - part));
    }
    ptx_insert(p, &p->temp, &p->opcodes, inst->name, length)->value = inst;
    return inst;
}
