/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What must hold for every instruction before it is executed: the number of its operands, and the
 * sizes of its registers, in the cases where PTX is strict about them. Opcodes that are not listed
 * pass: the executor says whether, and in which forms, they can be executed.
 */
#include "ptx/parser.h"

#include <string.h>

/*
 * One letter per operand:
 *   s  a register of the instruction's (first) type, or a constant
 *   w  the same, twice as wide where the instruction is .wide
 *   t  of the second type
 *   u  of 32 bits
 *   p  a predicate, negated or not
 *   P  a predicate, or two as p|q
 *   L  at least as wide as the first type; vectors too
 *   T  at least as wide as the second type; vectors too
 *   m  memory
 *   .  anything
 * Operands after '/' may be left out.
 */
static const char *const shapes[PTX_OP_COUNT] = {
    [PTX_OP_ABS] = "ss",       [PTX_OP_ACTIVEMASK] = "u",  [PTX_OP_ADD] = "sss",
    [PTX_OP_ADDC] = "sss",     [PTX_OP_AND] = "sss",       [PTX_OP_ATOM] = "Lm./..",
    [PTX_OP_BAR] = "/....",    [PTX_OP_BARRIER] = "/....", [PTX_OP_BFE] = "ssuu",
    [PTX_OP_BFI] = "sssuu",    [PTX_OP_BFIND] = "us",      [PTX_OP_BMSK] = "uuu",
    [PTX_OP_BRA] = ".",        [PTX_OP_BREV] = "ss",       [PTX_OP_BRKPT] = "",
    [PTX_OP_BRX] = "u.",       [PTX_OP_CLZ] = "us",        [PTX_OP_CNOT] = "ss",
    [PTX_OP_COPYSIGN] = "sss", [PTX_OP_COS] = "ss",        [PTX_OP_CVT] = "LT/..",
    [PTX_OP_CVTA] = "s.",      [PTX_OP_DIV] = "sss",       [PTX_OP_DP2A] = "uuuu",
    [PTX_OP_DP4A] = "uuuu",    [PTX_OP_EX2] = "ss",        [PTX_OP_EXIT] = "",
    [PTX_OP_FENCE] = "/...",   [PTX_OP_FMA] = "ssss",      [PTX_OP_FNS] = "uuuu",
    [PTX_OP_ISSPACEP] = "p.",  [PTX_OP_LD] = "Lm/..",      [PTX_OP_LDU] = "Lm/..",
    [PTX_OP_LG2] = "ss",       [PTX_OP_LOP3] = ".sss./.",  [PTX_OP_MAD] = "wssw",
    [PTX_OP_MAD24] = "ssss",   [PTX_OP_MADC] = "wssw",     [PTX_OP_MATCH] = "..u",
    [PTX_OP_MAX] = "sss/s",    [PTX_OP_MEMBAR] = "",       [PTX_OP_MIN] = "sss/s",
    [PTX_OP_MOV] = "..",       [PTX_OP_MUL] = "wss",       [PTX_OP_MUL24] = "sss",
    [PTX_OP_NANOSLEEP] = "u",  [PTX_OP_NEG] = "ss",        [PTX_OP_NOT] = "ss",
    [PTX_OP_OR] = "sss",       [PTX_OP_PMEVENT] = ".",     [PTX_OP_POPC] = "us",
    [PTX_OP_PREFETCH] = "m",   [PTX_OP_PREFETCHU] = "m",   [PTX_OP_PRMT] = "ssss",
    [PTX_OP_RCP] = "ss",       [PTX_OP_RED] = "m./..",     [PTX_OP_REDUX] = "uuu",
    [PTX_OP_REM] = "sss",      [PTX_OP_RET] = "",          [PTX_OP_RSQRT] = "ss",
    [PTX_OP_SAD] = "ssss",     [PTX_OP_SELP] = "sssp",     [PTX_OP_SET] = "stt/p",
    [PTX_OP_SETP] = "Pss/p",   [PTX_OP_SHF] = "ssss",      [PTX_OP_SHFL] = "...u/u",
    [PTX_OP_SHL] = "ssu",      [PTX_OP_SHR] = "ssu",       [PTX_OP_SIN] = "ss",
    [PTX_OP_SLCT] = "ssst",    [PTX_OP_SQRT] = "ss",       [PTX_OP_ST] = "mL/..",
    [PTX_OP_SUB] = "sss",      [PTX_OP_SUBC] = "sss",      [PTX_OP_SZEXT] = "ssu",
    [PTX_OP_TANH] = "ss",      [PTX_OP_TESTP] = "ps",      [PTX_OP_TRAP] = "",
    [PTX_OP_VOTE] = "../u",    [PTX_OP_XOR] = "sss",
};

/* The types that an opcode must name for its shape to mean anything. */
static unsigned types_needed(const char *shape)
{
    if (strpbrk(shape, "tT"))
        return 2;
    return strpbrk(shape, "swLP") ? 1 : 0;
}

static _Noreturn void fail_size(ptx_parser *p, const ptx_inst *inst, uint32_t reg, unsigned bits)
{
    /* Names are looked up in a function that is still under construction. */
    ptx_function view = {.reg_ranges = p->body->ranges.items,
                         .reg_range_count = (uint32_t)p->body->ranges.count};
    char name[80];
    const ptx_type type = (ptx_type)((const uint8_t *)p->body->reg_types.items)[reg];
    ptx_reg_name(&view, reg, name, sizeof name);
    if (bits == 1)
        ptx_fail(p, inst->line, "%s: register %s (.%s) is not a predicate", inst->name, name,
                 ptx_type_name(type));
    ptx_fail(p, inst->line, "%s: register %s (.%s) does not have %u bits", inst->name, name,
             ptx_type_name(type), bits);
}

/* `exact`: the register must have exactly `bits` bits; otherwise at least that many. Predicates
 * have 1. */
static void check_reg(ptx_parser *p, const ptx_inst *inst, const ptx_operand *operand,
                      unsigned bits, bool exact)
{
    if (operand->kind != PTX_OPERAND_REG || operand->selector)
        return;
    const ptx_type type = (ptx_type)((const uint8_t *)p->body->reg_types.items)[operand->reg];
    const unsigned has = ptx_type_bits(type);
    const bool fits = exact ? has == bits : has >= bits && type != PTX_PRED;
    if (!fits)
        fail_size(p, inst, operand->reg, bits);
}

static void check_vector(ptx_parser *p, const ptx_inst *inst, const ptx_operand *operand,
                         unsigned bits)
{
    if (operand->kind != PTX_OPERAND_VECTOR) {
        check_reg(p, inst, operand, bits, false);
        return;
    }
    for (uint32_t i = 0; i < operand->count; i++)
        check_reg(p, inst, &operand->items[i], bits, false);
}

static void check_predicates(ptx_parser *p, const ptx_inst *inst, const ptx_operand *operand)
{
    if (operand->kind == PTX_OPERAND_PAIR) {
        check_reg(p, inst, &operand->items[0], 1, true);
        check_reg(p, inst, &operand->items[1], 1, true);
    } else {
        check_reg(p, inst, operand, 1, true);
    }
}

static void check_scalar(ptx_parser *p, const ptx_inst *inst, const ptx_operand *operand,
                         unsigned bits)
{
    if (operand->kind == PTX_OPERAND_MEMORY || operand->kind == PTX_OPERAND_VECTOR ||
        operand->kind == PTX_OPERAND_PAIR)
        ptx_fail(p, inst->line, "%s: expected a register or a constant", inst->name);
    check_reg(p, inst, operand, bits, true);
}

static void check_operand(ptx_parser *p, const ptx_inst *inst, char letter,
                          const ptx_operand *operand)
{
    const unsigned first = ptx_type_bits((ptx_type)inst->types[0]);
    const unsigned second = ptx_type_bits((ptx_type)inst->types[1]);
    switch (letter) {
    case 's':
        check_scalar(p, inst, operand, first);
        break;
    case 'w':
        check_scalar(p, inst, operand, ptx_inst_has(inst, PTX_MOD_WIDE) ? 2 * first : first);
        break;
    case 't':
        check_scalar(p, inst, operand, second);
        break;
    case 'u':
        check_scalar(p, inst, operand, 32);
        break;
    case 'p':
        check_scalar(p, inst, operand, 1);
        break;
    case 'P':
        check_predicates(p, inst, operand);
        break;
    case 'L':
        check_vector(p, inst, operand, first);
        break;
    case 'T':
        check_vector(p, inst, operand, second);
        break;
    case 'm':
        if (operand->kind != PTX_OPERAND_MEMORY)
            ptx_fail(p, inst->line, "%s: expected an address in brackets", inst->name);
        break;
    default:
        break;
    }
}

static void check_count(ptx_parser *p, const ptx_inst *inst, const char *shape)
{
    const char *slash = strchr(shape, '/');
    const size_t least = slash ? (size_t)(slash - shape) : strlen(shape);
    const size_t most = strlen(shape) - (slash != NULL);
    if (inst->operand_count < least || inst->operand_count > most)
        ptx_fail(p, inst->line, "%s takes %zu%s operands, not %u", inst->name,
                 inst->operand_count < least ? least : most,
                 least == most                 ? ""
                 : inst->operand_count < least ? " or more"
                                               : " or fewer",
                 inst->operand_count);
}

void ptx_check_instruction(ptx_parser *p, const ptx_inst *inst)
{
    const char *shape = shapes[inst->op];
    if (!shape || ptx_inst_has(inst, PTX_MOD_BULK)) /* st.bulk has another shape */
        return;
    check_count(p, inst, shape);
    const unsigned needed = types_needed(shape);
    if (inst->type_count < needed)
        ptx_fail(p, inst->line, "%s names no %stype", inst->name,
                 inst->type_count ? "second " : "");
    /* Mixed precision (add.f32.f16 and the like): sizes are the executor's to judge. */
    if (needed == 1 && inst->type_count > 1)
        return;
    uint32_t i = 0;
    for (const char *letter = shape; *letter && i < inst->operand_count; letter++) {
        if (*letter != '/')
            check_operand(p, inst, *letter, &inst->operands[i++]);
    }
}
