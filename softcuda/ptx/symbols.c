/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Names and their scopes: variables, functions, registers and labels. A symbol shadows the one of
 * the same name in an outer scope, which is visible again when the scope ends.
 */
#include "ptx/parser.h"

#include <string.h>

/* Far more than compilers produce; keeps a hostile text from asking for gigabytes. */
enum { REGS_MAX = 1 << 20, SCOPE_DEPTH_MAX = 256 };

/* ---- scopes --------------------------------------------------------------------------------- */

static ptx_scope *scope_at(const ptx_body *body, uint32_t index)
{
    return (ptx_scope *)body->scopes.items + index;
}

void ptx_scope_enter(ptx_parser *p)
{
    ptx_body *body = p->body;
    if (++body->depth > SCOPE_DEPTH_MAX)
        ptx_fail(p, ptx_token_now(p)->line, "braces are nested too deeply");
    ptx_scope *scope = ptx_push(p, &body->scopes, sizeof *scope);
    scope->parent = body->scope;
    body->scope = (uint32_t)body->scopes.count - 1;
}

void ptx_scope_leave(ptx_parser *p)
{
    ptx_body *body = p->body;
    ptx_scope *scope = scope_at(body, body->scope);
    for (ptx_symbol *symbol = scope->symbols; symbol; symbol = symbol->older) {
        ptx_table *table = symbol->kind == PTX_SYMBOL_RANGE ? &body->prefixes : &body->locals;
        ptx_entry *entry = ptx_table_find(table, symbol->name, strlen(symbol->name));
        if (entry)
            entry->value = symbol->shadowed;
    }
    body->scope = scope->parent;
    body->depth--;
}

/* ---- symbols -------------------------------------------------------------------------------- */

static ptx_symbol *declare_local(ptx_parser *p, ptx_symbol_kind kind, const char *name,
                                 uint32_t line)
{
    ptx_body *body = p->body;
    ptx_table *table = kind == PTX_SYMBOL_RANGE ? &body->prefixes : &body->locals;
    ptx_entry *entry = ptx_insert(p, &p->temp, table, name, strlen(name));
    ptx_symbol *shadowed = entry->value;
    if (shadowed && shadowed->depth == body->depth)
        ptx_fail(p, line, "%s is declared twice", name);

    ptx_symbol *symbol = ptx_arena_alloc(&p->temp, sizeof *symbol);
    if (!symbol)
        ptx_fail_code(p, 2, line, "out of memory");
    ptx_scope *scope = scope_at(body, body->scope);
    *symbol = (ptx_symbol){.kind = kind,
                           .name = name,
                           .shadowed = shadowed,
                           .older = scope->symbols,
                           .depth = body->depth};
    scope->symbols = symbol;
    entry->value = symbol;
    return symbol;
}

ptx_symbol *ptx_declare(ptx_parser *p, ptx_symbol_kind kind, const char *name, uint32_t line)
{
    if (p->body)
        return declare_local(p, kind, name, line);
    ptx_entry *entry = ptx_insert(p, p->arena, &p->store->symbols, name, strlen(name));
    if (entry->value)
        ptx_fail(p, line, "%s is declared twice", name);
    ptx_symbol *symbol = ptx_alloc(p, 1, sizeof *symbol);
    symbol->kind = kind;
    symbol->name = name;
    entry->value = symbol;
    return symbol;
}

ptx_symbol *ptx_lookup_module(const ptx_module_store *store, const char *name, size_t length)
{
    const ptx_entry *entry = ptx_table_find(&store->symbols, name, length);
    return entry ? entry->value : NULL;
}

ptx_symbol *ptx_lookup(const ptx_parser *p, const char *name, size_t length)
{
    if (p->body) {
        const ptx_entry *entry = ptx_table_find(&p->body->locals, name, length);
        if (entry)
            return entry->value;
    }
    return ptx_lookup_module(p->store, name, length);
}

/* ---- registers ------------------------------------------------------------------------------ */

/* The range element that `name` spells, if any: digits at the end are the number, without leading
   zeros. Several splits can fit ("%r12" of %r<20> and of %r1<5>); the innermost scope wins. */
static const ptx_symbol *lookup_range(const ptx_body *body, const char *name, size_t length,
                                      uint32_t *number)
{
    const ptx_symbol *best = NULL;
    uint64_t value = 0, weight = 1;
    for (size_t digits = 1; digits < length && digits <= 9; digits++) {
        const char c = name[length - digits];
        if (c < '0' || c > '9')
            break;
        value += (uint64_t)(c - '0') * weight;
        weight *= 10;
        if (c == '0' && digits > 1)
            continue;
        const ptx_entry *entry = ptx_table_find(&body->prefixes, name, length - digits);
        const ptx_symbol *symbol = entry ? entry->value : NULL;
        if (symbol && value < symbol->count && (!best || symbol->depth > best->depth)) {
            best = symbol;
            *number = (uint32_t)value;
        }
    }
    return best;
}

bool ptx_lookup_reg(const ptx_parser *p, const char *name, size_t length, uint32_t *reg,
                    uint32_t *lanes)
{
    const ptx_body *body = p->body;
    if (!body)
        return false;
    uint32_t number = 0;
    const ptx_symbol *range = lookup_range(body, name, length, &number);
    const ptx_entry *entry = ptx_table_find(&body->locals, name, length);
    const ptx_symbol *single = entry ? entry->value : NULL;
    if (single && single->kind == PTX_SYMBOL_REG && (!range || single->depth > range->depth)) {
        *reg = single->reg;
        *lanes = single->lanes;
        return true;
    }
    if (!range || (single && single->depth > range->depth))
        return false;
    *reg = range->reg + number * range->lanes;
    *lanes = range->lanes;
    return true;
}

static uint32_t add_registers(ptx_parser *p, const char *name, bool numbered, ptx_type type,
                              uint32_t count, uint32_t line)
{
    ptx_body *body = p->body;
    const uint32_t first = (uint32_t)body->reg_types.count;
    if (count > REGS_MAX - first)
        ptx_fail(p, line, "more than %d registers", REGS_MAX);
    if (count > 0)
        memset(ptx_push_many(p, &body->reg_types, count, 1), (int)type, count);
    ptx_reg_range *range = ptx_push(p, &body->ranges, sizeof *range);
    *range = (ptx_reg_range){
        .name = name, .type = type, .numbered = numbered, .first = first, .count = count};
    return first;
}

uint32_t ptx_declare_reg(ptx_parser *p, const char *name, ptx_type type, unsigned lanes,
                         uint32_t line)
{
    uint32_t number;
    const ptx_symbol *range = lookup_range(p->body, name, strlen(name), &number);
    if (range && range->depth == p->body->depth)
        ptx_fail(p, line, "%s is declared twice", name);
    ptx_symbol *symbol = ptx_declare(p, PTX_SYMBOL_REG, name, line);
    symbol->reg = add_registers(p, name, lanes > 1, type, lanes, line);
    symbol->lanes = lanes;
    return symbol->reg;
}

static void declare_range(ptx_parser *p, const char *name, ptx_type type, unsigned lanes,
                          uint32_t line)
{
    const uint32_t count = ptx_expect_u32(p, "the number of registers");
    ptx_expect(p, '>', "the number of registers");
    if (count > REGS_MAX)
        ptx_fail(p, line, "more than %d registers", REGS_MAX);
    ptx_symbol *symbol = ptx_declare(p, PTX_SYMBOL_RANGE, name, line);
    symbol->reg = add_registers(p, name, true, type, count * lanes, line);
    symbol->count = count;
    symbol->lanes = lanes;
}

void ptx_parse_reg(ptx_parser *p)
{
    ptx_type type = PTX_TYPE_NONE;
    unsigned lanes = 1;
    while (ptx_token_now(p)->kind == PTX_TOKEN_DIRECTIVE) {
        const ptx_token *token = ptx_token_now(p);
        const ptx_word word = ptx_words_find(&p->words, token->text, token->length);
        if (type != PTX_TYPE_NONE) /* nothing comes behind the type */
            ptx_fail_token(p, "the name of a register");
        if (word.mod == PTX_MOD_V2 || word.mod == PTX_MOD_V4)
            lanes = word.mod == PTX_MOD_V2 ? 2 : 4;
        else if (word.type)
            type = (ptx_type)word.type;
        else
            ptx_fail_token(p, "the type of a register");
        ptx_next(p);
    }
    if (type == PTX_TYPE_NONE)
        ptx_fail_token(p, "the type of a register");
    do {
        const uint32_t line = ptx_token_now(p)->line;
        const char *name = ptx_expect_name(p, "the name of a register");
        if (ptx_accept(p, '<'))
            declare_range(p, name, type, lanes, line);
        else
            ptx_declare_reg(p, name, type, lanes, line);
    } while (ptx_accept(p, ','));
    ptx_expect(p, ';', "register declarations");
}

/* ---- labels --------------------------------------------------------------------------------- */

void ptx_label_define(ptx_parser *p, const char *name, uint32_t line)
{
    ptx_body *body = p->body;
    ptx_label_key *key = ptx_arena_alloc(&p->temp, sizeof *key);
    uint32_t *target = ptx_arena_alloc(&p->temp, sizeof *target);
    if (!key || !target)
        ptx_fail_code(p, 2, line, "out of memory");
    *key = (ptx_label_key){name, body->scope};
    ptx_entry *entry = ptx_insert(p, &p->temp, &body->labels, key, sizeof *key);
    if (entry->value)
        ptx_fail(p, line, "label %s is defined twice", name);
    *target = (uint32_t)body->insts.count;
    entry->value = target;
    body->last_label = *target;
    ptx_label *label = ptx_push(p, &body->label_list, sizeof *label);
    *label = (ptx_label){name, *target};
}

void ptx_label_use(ptx_parser *p, const char *name, uint32_t line, uint32_t *slot)
{
    ptx_fixup *fixup = ptx_push(p, &p->body->fixups, sizeof *fixup);
    *fixup = (ptx_fixup){.slot = slot, .name = name, .scope = p->body->scope, .line = line};
}

/* Searches from the scope of the use outwards. */
static const uint32_t *find_label(const ptx_body *body, const ptx_fixup *fixup)
{
    uint32_t scope = fixup->scope;
    for (;;) {
        const ptx_label_key key = {fixup->name, scope};
        const ptx_entry *entry = ptx_table_find(&body->labels, &key, sizeof key);
        if (entry)
            return entry->value;
        if (scope == 0)
            return NULL;
        scope = scope_at(body, scope)->parent;
    }
}

void ptx_labels_resolve(ptx_parser *p)
{
    const ptx_body *body = p->body;
    const ptx_fixup *fixups = body->fixups.items;
    for (size_t i = 0; i < body->fixups.count; i++) {
        const uint32_t *target = find_label(body, &fixups[i]);
        if (!target)
            ptx_fail(p, fixups[i].line, "unknown label %s", fixups[i].name);
        *fixups[i].slot = *target;
    }
}
