/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Function bodies: scopes, labels, directives and instructions. A body is parsed once, in order;
 * uses of labels are resolved at its end.
 */
#include "ptx/parser.h"

#include <string.h>

enum { OPCODE_MAX = 256 };

/* ---- source positions ----------------------------------------------------------------------- */

void ptx_parse_file(ptx_parser *p)
{
    uint32_t *number = ptx_arena_alloc(&p->temp, sizeof *number);
    if (!number)
        ptx_fail_code(p, 2, ptx_token_now(p)->line, "out of memory");
    *number = ptx_expect_u32(p, "the number of a file");
    const ptx_token token = *ptx_token_now(p);
    if (token.kind != PTX_TOKEN_STRING)
        ptx_fail_token(p, "the name of a file");
    const char *name = ptx_intern(p, token.text, token.length);
    ptx_next(p);
    while (ptx_accept(p, ',')) /* time stamp, size */
        ptx_expect_integer(p, "a time stamp or size");
    ptx_insert(p, &p->temp, &p->files, number, sizeof *number)->value = (void *)(uintptr_t)name;
}

/* After a comma: function_name label{+n}, inlined_at file line column. */
static void skip_inlined(ptx_parser *p)
{
    while (ptx_accept(p, ',')) {
        ptx_expect_name(p, "function_name or inlined_at");
        if (ptx_token_now(p)->kind == PTX_TOKEN_INTEGER) {
            for (int i = 0; i < 3; i++)
                ptx_expect_integer(p, "a source position");
        } else {
            ptx_expect_name(p, "the label of a function's name");
            ptx_parse_offset(p);
        }
    }
}

void ptx_parse_loc(ptx_parser *p)
{
    const uint32_t file = ptx_expect_u32(p, "the number of a file");
    const uint32_t line = ptx_expect_u32(p, "a source line");
    const uint32_t column = ptx_expect_u32(p, "a source column");
    skip_inlined(p);
    ptx_loc *loc = ptx_push(p, &p->locs, sizeof *loc);
    *loc = (ptx_loc){.line = line, .column = column};
    *(uint32_t *)ptx_push(p, &p->loc_files, sizeof file) = file;
    if (p->body)
        p->body->loc = (uint32_t)p->locs.count - 1;
}

void ptx_skip_pragma(ptx_parser *p)
{
    do {
        if (ptx_token_now(p)->kind != PTX_TOKEN_STRING)
            ptx_fail_token(p, "a string after .pragma");
        ptx_next(p);
    } while (ptx_accept(p, ','));
    ptx_expect(p, ';', ".pragma");
}

/* ---- lists of targets ----------------------------------------------------------------------- */

static void parse_branch_targets(ptx_parser *p, ptx_targets *targets)
{
    ptx_vec names = {0};
    const uint32_t line = ptx_token_now(p)->line;
    do
        *(const char **)ptx_push(p, &names, sizeof(char *)) = ptx_expect_name(p, "a label");
    while (ptx_accept(p, ','));
    uint32_t *labels = ptx_alloc(p, names.count, sizeof *labels);
    for (size_t i = 0; i < names.count; i++)
        ptx_label_use(p, ((const char **)names.items)[i], line, &labels[i]);
    targets->labels = labels;
    targets->count = (uint32_t)names.count;
}

static void parse_call_targets(ptx_parser *p, ptx_targets *targets)
{
    ptx_vec functions = {0};
    do {
        const ptx_token token = *ptx_token_now(p);
        const char *name = ptx_expect_name(p, "a function");
        const ptx_symbol *symbol = ptx_lookup(p, name, strlen(name));
        if (!symbol || symbol->kind != PTX_SYMBOL_FUNCTION)
            ptx_fail(p, token.line, "unknown function %s", name);
        ptx_note_function(p, symbol->fn, false);
        *(const ptx_function **)ptx_push(p, &functions, sizeof(ptx_function *)) = &symbol->fn->out;
    } while (ptx_accept(p, ','));
    targets->functions = ptx_freeze(p, &functions, sizeof(ptx_function *));
    targets->count = (uint32_t)functions.count;
}

/* After "name:", at .branchtargets and the like; false: it is none of these. */
static bool parse_targets(ptx_parser *p, const char *name, uint32_t line)
{
    const bool branch = ptx_is_directive(p, "branchtargets");
    const bool call = ptx_is_directive(p, "calltargets");
    if (!branch && !call && !ptx_is_directive(p, "callprototype"))
        return false;
    ptx_next(p);
    ptx_targets *targets = ptx_alloc(p, 1, sizeof *targets);
    targets->name = name;
    targets->line = line;
    ptx_declare(p, PTX_SYMBOL_TARGETS, name, line)->targets = targets;
    if (!branch && !call) {
        targets->prototype = ptx_parse_prototype(p, name);
        return true;
    }
    if (branch)
        parse_branch_targets(p, targets);
    else
        parse_call_targets(p, targets);
    ptx_expect(p, ';', "a list of targets");
    return true;
}

/* ---- instructions --------------------------------------------------------------------------- */

/* The opcode; blanks between its parts are allowed, though nobody writes them. */
static const ptx_inst *parse_opcode(ptx_parser *p)
{
    const uint32_t line = ptx_token_now(p)->line;
    char text[OPCODE_MAX];
    size_t length = 0;
    if (ptx_token_now(p)->kind != PTX_TOKEN_WORD)
        ptx_fail_token(p, "an instruction");
    do {
        ptx_lexer_take_modifiers(&p->lexer);
        const ptx_token *token = ptx_token_now(p);
        if (token->length + 1 > sizeof text - length)
            ptx_fail(p, line, "opcode is longer than %d characters", OPCODE_MAX);
        if (length > 0)
            text[length++] = '.';
        memcpy(text + length, token->text, token->length);
        length += token->length;
        ptx_next(p);
    } while (ptx_token_now(p)->kind == PTX_TOKEN_DIRECTIVE);
    return ptx_decode_opcode(p, text, length);
}

static void parse_guard(ptx_parser *p, uint32_t *guard, bool *negated)
{
    ptx_next(p);
    *negated = ptx_accept(p, '!');
    const ptx_token token = *ptx_token_now(p);
    const int shown = token.length > 100 ? 100 : (int)token.length;
    uint32_t lanes;
    if (token.kind != PTX_TOKEN_WORD)
        ptx_fail_token(p, "the guard predicate");
    if (!ptx_lookup_reg(p, token.text, token.length, guard, &lanes))
        ptx_fail(p, token.line, "unknown register %.*s", shown, token.text);
    const uint8_t *types = p->body->reg_types.items;
    if (lanes != 1 || types[*guard] != PTX_PRED)
        ptx_fail(p, token.line, "guard %.*s is not a predicate", shown, token.text);
    ptx_next(p);
}

static void parse_branch(ptx_parser *p, ptx_inst *inst)
{
    const uint32_t line = ptx_token_now(p)->line;
    const char *name = ptx_expect_name(p, "a label");
    ptx_operand *operand = ptx_alloc(p, 1, sizeof *operand);
    *operand = (ptx_operand){.kind = PTX_OPERAND_LABEL, .reg = PTX_NO_INDEX};
    ptx_label_use(p, name, line, &operand->target);
    inst->operands = operand;
    inst->operand_count = 1;
}

static void parse_operands(ptx_parser *p, ptx_inst *inst)
{
    if (ptx_is_punct(p, ';'))
        return;
    const size_t mark = p->scratch.count;
    do
        ptx_parse_operand(p);
    while (ptx_accept(p, ','));
    inst->operands = ptx_take_scratch(p, mark, &inst->operand_count);
}

/* At a guard or an opcode. */
static void parse_instruction(ptx_parser *p)
{
    uint32_t guard = PTX_NO_INDEX;
    bool negated = false;
    if (ptx_is_punct(p, '@'))
        parse_guard(p, &guard, &negated);
    const uint32_t line = ptx_token_now(p)->line;
    ptx_inst inst = *parse_opcode(p);
    inst.guard = guard;
    inst.guard_negated = negated;
    inst.line = line;
    inst.loc = p->body->loc;
    if (inst.op == PTX_OP_BRA)
        parse_branch(p, &inst);
    else if (inst.op == PTX_OP_CALL)
        ptx_parse_call(p, &inst);
    else
        parse_operands(p, &inst);
    if (!ptx_is_punct(p, ';'))
        ptx_fail_token(p, "';' after an instruction");
    ptx_check_instruction(p, &inst);
    ptx_next(p);
    *(ptx_inst *)ptx_push(p, &p->body->insts, sizeof inst) = inst;
}

/* ---- bodies --------------------------------------------------------------------------------- */

static void parse_body_directive(ptx_parser *p)
{
    ptx_linkage linkage;
    const bool linked = ptx_parse_linkage(p, &linkage);
    if (ptx_declared_space(p) != PTX_SPACE_NONE && !ptx_is_directive(p, "reg"))
        ptx_parse_variables(p, linkage);
    else if (linked)
        ptx_fail_token(p, "a variable");
    else if (ptx_accept_directive(p, "reg"))
        ptx_parse_reg(p);
    else if (ptx_accept_directive(p, "loc"))
        ptx_parse_loc(p);
    else if (ptx_accept_directive(p, "file"))
        ptx_parse_file(p);
    else if (ptx_accept_directive(p, "pragma"))
        ptx_skip_pragma(p);
    else
        ptx_fail_token(p, "a directive of a function");
}

static void parse_label(ptx_parser *p)
{
    const uint32_t line = ptx_token_now(p)->line;
    const char *name = ptx_expect_name(p, "a label");
    ptx_expect(p, ':', "a label");
    if (!parse_targets(p, name, line))
        ptx_label_define(p, name, line);
}

/* Parses one statement; false: it was the brace that ends the body. */
static bool parse_statement(ptx_parser *p)
{
    const ptx_token *token = ptx_token_now(p);
    if (token->kind == PTX_TOKEN_END)
        ptx_fail(p, token->line, "the text ends in the middle of a body");
    if (token->kind == PTX_TOKEN_DIRECTIVE) {
        parse_body_directive(p);
    } else if (token->kind == PTX_TOKEN_WORD && ptx_lexer_at_colon(&p->lexer)) {
        parse_label(p);
    } else if (ptx_accept(p, '{')) {
        ptx_scope_enter(p);
    } else if (ptx_is_punct(p, '}')) {
        if (p->body->depth == 0)
            return false;
        ptx_scope_leave(p);
        ptx_next(p);
    } else if (!ptx_accept(p, ';')) {
        parse_instruction(p);
    }
    return true;
}

static bool is_final(const ptx_inst *inst)
{
    if (inst->guard != PTX_NO_INDEX)
        return false;
    return inst->op == PTX_OP_RET || inst->op == PTX_OP_EXIT || inst->op == PTX_OP_BRA ||
           inst->op == PTX_OP_BRX || inst->op == PTX_OP_TRAP;
}

/* Adds the return that PTX omits where control can reach the closing brace. */
static void close_body(ptx_parser *p)
{
    ptx_body *body = p->body;
    const size_t count = body->insts.count;
    const ptx_inst *insts = body->insts.items;
    const bool label_at_end = body->label_list.count > 0 && body->last_label == count;
    if (count > 0 && !label_at_end && is_final(&insts[count - 1]))
        return;
    ptx_inst *ret = ptx_push(p, &body->insts, sizeof *ret);
    *ret = *ptx_decode_opcode(p, "ret", 3);
    ret->line = ptx_token_now(p)->line;
    ret->loc = body->loc;
}

static void declare_params(ptx_parser *p, const ptx_var *const *params, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        ptx_var *var = (ptx_var *)params[i];
        if (strcmp(var->name, "_") == 0)
            continue;
        if (var->space == PTX_SPACE_REG)
            var->reg = ptx_declare_reg(p, var->name, var->type, 1, var->line);
        else
            ptx_declare(p, PTX_SYMBOL_VAR, var->name, var->line)->var = var;
    }
}

static void freeze_body(ptx_parser *p, ptx_function *out)
{
    const ptx_body *body = p->body;
    out->insts = ptx_freeze(p, &body->insts, sizeof(ptx_inst));
    out->inst_count = (uint32_t)body->insts.count;
    out->labels = ptx_freeze(p, &body->label_list, sizeof(ptx_label));
    out->label_count = (uint32_t)body->label_list.count;
    out->reg_types = ptx_freeze(p, &body->reg_types, 1);
    out->reg_count = (uint32_t)body->reg_types.count;
    out->reg_ranges = ptx_freeze(p, &body->ranges, sizeof(ptx_reg_range));
    out->reg_range_count = (uint32_t)body->ranges.count;
    out->vars = ptx_freeze(p, &body->vars, sizeof(ptx_var *));
    out->var_count = (uint32_t)body->vars.count;
    if (out->local_align == 0)
        out->local_align = 1;
}

void ptx_parse_body(ptx_parser *p, ptx_fn *fn)
{
    ptx_body *body = ptx_arena_alloc(&p->temp, sizeof *body);
    if (!body)
        ptx_fail_code(p, 2, fn->out.line, "out of memory");
    body->fn = fn;
    body->loc = PTX_NO_INDEX;
    p->body = body;
    p->fn = fn;
    ptx_push(p, &body->scopes, sizeof(ptx_scope));
    declare_params(p, fn->out.returns, fn->out.return_count);
    declare_params(p, fn->out.params, fn->out.param_count);

    ptx_expect(p, '{', "a function's header");
    while (parse_statement(p))
        continue;
    close_body(p);
    ptx_labels_resolve(p);
    freeze_body(p, &fn->out);
    p->body = NULL;
    p->fn = NULL;
    ptx_next(p);
}
