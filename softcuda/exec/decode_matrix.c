/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Small matrices that the lanes of a warp hold together: mma, ldmatrix, stmatrix, movmatrix.
 */
#include <string.h>

#include "exec/access.h"
#include "exec/decode.h"
#include "exec/matrix.h"

static uint32_t all_lanes(sx_decoder *d)
{
    sx_ignore(d, PTX_MOD_SYNC);
    sx_ignore(d, PTX_MOD_ALIGNED);
    return sx_constant(d, SX_ALL_LANES, 32);
}

/* ---- mma ------------------------------------------------------------------------------------- */

static const struct shape {
    ptx_mod mod;
    uint8_t m, n;
    uint16_t k;
} shapes[] = {
    {PTX_MOD_M8N8K4, 8, 8, 4},       {PTX_MOD_M8N8K16, 8, 8, 16},     {PTX_MOD_M8N8K32, 8, 8, 32},
    {PTX_MOD_M8N8K128, 8, 8, 128},   {PTX_MOD_M16N8K4, 16, 8, 4},     {PTX_MOD_M16N8K8, 16, 8, 8},
    {PTX_MOD_M16N8K16, 16, 8, 16},   {PTX_MOD_M16N8K32, 16, 8, 32},   {PTX_MOD_M16N8K64, 16, 8, 64},
    {PTX_MOD_M16N8K128, 16, 8, 128}, {PTX_MOD_M16N8K256, 16, 8, 256},
};

/* Which shapes there are, by the type of a; the last two are types of c and d only. */
static const struct kind {
    ptx_type a;
    sx_element element;
    const char *shapes; /* "m16n8k16 ", .. */
} kinds[] = {
    {PTX_F16, SX_ELEMENT_F16, "m8n8k4 m16n8k8 m16n8k16 "},
    {PTX_BF16, SX_ELEMENT_BF16, "m16n8k8 m16n8k16 "},
    {PTX_TF32, SX_ELEMENT_TF32, "m16n8k4 m16n8k8 "},
    {PTX_F64, SX_ELEMENT_F64, "m8n8k4 m16n8k4 m16n8k8 m16n8k16 "},
    {PTX_S8, SX_ELEMENT_S8, "m8n8k16 m16n8k16 m16n8k32 "},
    {PTX_U8, SX_ELEMENT_U8, "m8n8k16 m16n8k16 m16n8k32 "},
    {PTX_S4, SX_ELEMENT_S4, "m8n8k32 m16n8k32 m16n8k64 "},
    {PTX_U4, SX_ELEMENT_U4, "m8n8k32 m16n8k32 m16n8k64 "},
    {PTX_B1, SX_ELEMENT_B1, "m8n8k128 m16n8k128 m16n8k256 "},
    {PTX_F32, SX_ELEMENT_F32, ""},
    {PTX_S32, SX_ELEMENT_S32, ""},
};

static const struct kind *kind_of(unsigned type)
{
    for (size_t n = 0; n < sizeof kinds / sizeof *kinds; n++)
        if (kinds[n].a == (ptx_type)type)
            return &kinds[n];
    return NULL;
}

static bool read_shape(sx_decoder *d, sx_product *p)
{
    for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++)
        if (sx_has(d, shapes[n].mod)) {
            p->m = shapes[n].m;
            p->n = shapes[n].n;
            p->k = shapes[n].k;
            const char *name = ptx_mod_name(shapes[n].mod);
            const char *found = strstr(kind_of(d->inst->types[1])->shapes, name);
            return found && found[strlen(name)] == ' ';
        }
    return false;
}

/* Whether there are products of these types: as PTX has them, d.a.b.c. */
static bool types_fit(const sx_product *p)
{
    const bool halves = p->c == SX_ELEMENT_F16 || p->d == SX_ELEMENT_F16;
    switch (p->a) {
    case SX_ELEMENT_F16:
        return p->b == p->a && (p->c == SX_ELEMENT_F32 || p->c == SX_ELEMENT_F16) &&
               (p->d == SX_ELEMENT_F32 || p->d == SX_ELEMENT_F16) && (p->quads || p->c == p->d);
    case SX_ELEMENT_BF16:
    case SX_ELEMENT_TF32:
        return p->b == p->a && !halves && p->c == SX_ELEMENT_F32 && p->d == SX_ELEMENT_F32;
    case SX_ELEMENT_F64:
        return p->b == p->a && p->c == p->a && p->d == p->a;
    case SX_ELEMENT_S8:
    case SX_ELEMENT_U8:
        return (p->b == SX_ELEMENT_S8 || p->b == SX_ELEMENT_U8) && p->c == SX_ELEMENT_S32 &&
               p->d == p->c;
    case SX_ELEMENT_S4:
    case SX_ELEMENT_U4:
        return (p->b == SX_ELEMENT_S4 || p->b == SX_ELEMENT_U4) && p->c == SX_ELEMENT_S32 &&
               p->d == p->c;
    default:
        return p->b == SX_ELEMENT_B1 && p->c == SX_ELEMENT_S32 && p->d == p->c;
    }
}

/* Registers that each lane has of a matrix of so many elements. */
static uint8_t registers(unsigned element, unsigned elements, unsigned lanes)
{
    const unsigned bits = sx_element_bits(element), whole = bits == 64 ? 64 : 32;
    return (uint8_t)(elements * bits / lanes / whole);
}

static bool read_product(sx_decoder *d, sx_product *p)
{
    const struct kind *of[4];
    if (d->inst->type_count != 4)
        return false;
    for (unsigned n = 0; n < 4; n++)
        if (!(of[n] = kind_of(d->inst->types[n])))
            return false;
    *p = (sx_product){.d = (uint8_t)of[0]->element,
                      .a = (uint8_t)of[1]->element,
                      .b = (uint8_t)of[2]->element,
                      .c = (uint8_t)of[3]->element};
    if (!read_shape(d, p))
        return false;
    p->quads = p->a == SX_ELEMENT_F16 && p->m == 8;
    p->saturates = sx_has(d, PTX_MOD_SATFINITE);
    if (p->a == SX_ELEMENT_B1) {
        p->and_popc = sx_has(d, PTX_MOD_AND);
        if (!sx_has(d, PTX_MOD_POPC) || (!p->and_popc && !sx_has(d, PTX_MOD_XOR)))
            return false;
    }
    if (p->a == SX_ELEMENT_F64)
        sx_ignore(d, PTX_MOD_RN);
    /* the layouts of a and b, in this order */
    unsigned layouts = 0;
    for (unsigned n = 0; n < d->inst->mod_count; n++) {
        const bool col = d->inst->mods[n] == PTX_MOD_COL;
        if (!col && d->inst->mods[n] != PTX_MOD_ROW)
            continue;
        p->a_col |= layouts == 0 && col;
        p->b_row |= layouts == 1 && !col;
        layouts++;
    }
    sx_ignore(d, PTX_MOD_ROW);
    sx_ignore(d, PTX_MOD_COL);
    const unsigned lanes = p->quads ? 8 : 32;
    p->regs[0] = registers(p->a, p->m * p->k, lanes);
    p->regs[1] = registers(p->b, p->k * p->n, lanes);
    p->regs[2] = registers(p->c, p->m * p->n, lanes);
    p->regs[3] = registers(p->d, p->m * p->n, lanes);
    return layouts == 2 && types_fit(p) && (p->quads || (!p->a_col && !p->b_row)) &&
           (!p->saturates || p->d == SX_ELEMENT_S32);
}

static ptx_type register_type(unsigned element)
{
    return element == SX_ELEMENT_F64 ? PTX_F64 : element == SX_ELEMENT_F32 ? PTX_F32 : PTX_B32;
}

static void mma(sx_decoder *d)
{
    static const unsigned operand_of[] = {1, 2, 3, 0}; /* of a, b, c, d */
    const uint32_t members = all_lanes(d);
    sx_product p;
    if (!read_product(d, &p)) {
        sx_refuse_inst(d);
        return;
    }
    const unsigned sources = (unsigned)p.regs[0] + p.regs[1] + p.regs[2];
    const unsigned all = sources + p.regs[3];
    sx_product *kept = sx_own(d->module, sizeof *kept);
    sx_call_info *lists = sx_own(d->module, sizeof *lists + all * sizeof *lists->places);
    if (!kept || !lists) {
        sx_no_memory(d);
        return;
    }
    *kept = p;
    kept->lists = lists;
    lists->arg_count = sources;
    lists->return_count = p.regs[3];
    const uint8_t elements[] = {p.a, p.b, p.c, p.d};
    sx_place *to = lists->places;
    sx_result results[8];
    for (unsigned n = 0; n < 4; n++) {
        const ptx_operand *list = sx_operand(d, operand_of[n]);
        if (list->kind != PTX_OPERAND_VECTOR || list->count != p.regs[n]) {
            sx_refuse(d, "operand %u has %u registers, not %u", operand_of[n] + 1, list->count,
                      p.regs[n]);
            return;
        }
        for (unsigned k = 0; k < p.regs[n]; k++, to++) {
            const ptx_type type = register_type(elements[n]);
            *to = (sx_place){.is_reg = true, .bytes = ptx_type_bytes(type)};
            if (n < 3) {
                to->at = sx_use(d, &list->items[k], type);
            } else {
                results[k] = sx_define(d, &list->items[k], type);
                to->at = results[k].operand;
            }
        }
    }
    sx_insn *i = sx_emit_plain(d, "mma");
    i->o[0] = members;
    i->info = kept;
    for (unsigned k = 0; k < p.regs[3]; k++)
        sx_finish(d, &results[k]);
}

/* ---- moving ---------------------------------------------------------------------------------- */

/* The number of matrices, 0: it is none that is executed. */
static unsigned matrices(sx_decoder *d)
{
    if (!sx_has(d, PTX_MOD_M8N8) || d->inst->type_count != 1 || d->inst->types[0] != PTX_B16)
        return 0;
    return sx_has(d, PTX_MOD_X1) ? 1 : sx_has(d, PTX_MOD_X2) ? 2 : sx_has(d, PTX_MOD_X4) ? 4 : 0;
}

static void move_rows(sx_decoder *d, bool load)
{
    const uint32_t members = all_lanes(d);
    const unsigned count = matrices(d);
    const ptx_operand *regs = sx_operand(d, load ? 0 : 1);
    const sx_address a = sx_memory(d, sx_operand(d, load ? 1 : 0), d->inst->space, 16);
    if (!count || regs->kind != PTX_OPERAND_VECTOR || regs->count != count || a.is_param ||
        (a.aux & SX_WHERE_MASK) == SX_WHERE_FRAME || (a.aux & SX_WHERE_MASK) == SX_WHERE_GLOBAL) {
        sx_refuse_inst(d);
        return;
    }
    uint32_t operands[4];
    sx_result results[4];
    for (unsigned n = 0; n < count; n++) {
        if (load)
            results[n] = sx_define(d, &regs->items[n], PTX_B32);
        operands[n] = load ? results[n].operand : sx_use(d, &regs->items[n], PTX_B32);
    }
    sx_insn *i = sx_emit_plain(d, load ? "ldmatrix" : "stmatrix");
    memcpy(i->o, operands, count * sizeof *operands);
    i->o[4] = a.operand;
    i->o[5] = members;
    i->imm = a.imm;
    i->aux = a.aux;
    i->cost = (uint16_t)count;
    i->negated = sx_has(d, PTX_MOD_TRANS);
    i->results = load ? (uint8_t)count : 0;
    for (unsigned n = 0; load && n < count; n++)
        sx_finish(d, &results[n]);
}

static void transpose(sx_decoder *d)
{
    const uint32_t members = all_lanes(d);
    if (!sx_has(d, PTX_MOD_M8N8) || !sx_has(d, PTX_MOD_TRANS) || d->inst->type_count != 1 ||
        d->inst->types[0] != PTX_B16) {
        sx_refuse_inst(d);
        return;
    }
    const uint32_t from = sx_use_n(d, 1, PTX_B32);
    const sx_result r = sx_define(d, sx_operand(d, 0), PTX_B32);
    sx_insn *i = sx_emit_plain(d, "movmatrix");
    i->o[0] = r.operand;
    i->o[1] = from;
    i->o[5] = members;
    i->results = 1;
    sx_finish(d, &r);
}

bool sx_decode_matrix(sx_decoder *d)
{
    switch (d->inst->op) {
    case PTX_OP_MMA:
        mma(d);
        break;
    case PTX_OP_LDMATRIX:
        move_rows(d, true);
        break;
    case PTX_OP_STMATRIX:
        move_rows(d, false);
        break;
    case PTX_OP_MOVMATRIX:
        transpose(d);
        break;
    default:
        return false;
    }
    return true;
}
