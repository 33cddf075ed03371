/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Calls: call{.uni} (returns), callee, (arguments), targets; */
#include "ptx/parser.h"

#include <string.h>

static const ptx_operand *parse_list(ptx_parser *p, uint32_t *count)
{
    ptx_expect(p, '(', "call");
    const size_t mark = p->scratch.count;
    while (!ptx_is_punct(p, ')')) {
        const ptx_operand operand = ptx_parse_simple(p);
        *(ptx_operand *)ptx_push(p, &p->scratch, sizeof operand) = operand;
        if (!ptx_accept(p, ','))
            break;
    }
    ptx_expect(p, ')', "the list of a call");
    return ptx_take_scratch(p, mark, count);
}

/* The callee's name; a function, or a register for an indirect call. */
static ptx_operand *parse_callee(ptx_parser *p, ptx_call *call)
{
    const ptx_token token = *ptx_token_now(p);
    if (token.kind != PTX_TOKEN_WORD)
        ptx_fail_token(p, "the function to call");
    ptx_operand *callee = ptx_alloc(p, 1, sizeof *callee);
    uint32_t reg, lanes;
    const ptx_symbol *symbol = ptx_lookup(p, token.text, token.length);
    if (symbol && symbol->kind == PTX_SYMBOL_FUNCTION) {
        *callee = (ptx_operand){.kind = PTX_OPERAND_FUNCTION,
                                .reg = PTX_NO_INDEX,
                                .target = PTX_NO_INDEX,
                                .function = &symbol->fn->out};
        call->callee = &symbol->fn->out;
        ptx_note_function(p, symbol->fn, true);
    } else if (ptx_lookup_reg(p, token.text, token.length, &reg, &lanes) && lanes == 1) {
        *callee = (ptx_operand){.kind = PTX_OPERAND_REG, .reg = reg, .target = PTX_NO_INDEX};
        p->body->fn->calls_indirectly = true;
    } else {
        const int shown = token.length > 100 ? 100 : (int)token.length;
        ptx_fail(p, token.line, "call of unknown function %.*s", shown, token.text);
    }
    ptx_next(p);
    return callee;
}

static void parse_targets_name(ptx_parser *p, ptx_call *call)
{
    const ptx_token token = *ptx_token_now(p);
    const char *name = ptx_expect_name(p, "a prototype or list of targets");
    const ptx_symbol *symbol = ptx_lookup(p, name, strlen(name));
    if (!symbol || symbol->kind != PTX_SYMBOL_TARGETS)
        ptx_fail(p, token.line, "unknown prototype or list of targets %s", name);
    call->targets = symbol->targets;
}

static void check_counts(ptx_parser *p, const ptx_call *call, const ptx_function *callee,
                         uint32_t line)
{
    if (call->arg_count != callee->param_count) {
        const bool open = callee->param_count > 0 &&
                          callee->params[callee->param_count - 1]->is_array &&
                          callee->params[callee->param_count - 1]->bytes == 0;
        if (!open || call->arg_count + 1 < callee->param_count)
            ptx_fail(p, line, "call of %s passes %u arguments, it takes %u", callee->name,
                     call->arg_count, callee->param_count);
    }
    if (call->return_count != callee->return_count && call->return_count != 0)
        ptx_fail(p, line, "call of %s takes %u results, it returns %u", callee->name,
                 call->return_count, callee->return_count);
}

static void check_call(ptx_parser *p, const ptx_call *call, uint32_t line)
{
    if (call->callee)
        check_counts(p, call, call->callee, line);
    else if (!call->targets)
        ptx_fail(p, line, "indirect call without a prototype or list of targets");
    else if (call->targets->prototype)
        check_counts(p, call, call->targets->prototype, line);
}

void ptx_parse_call(ptx_parser *p, ptx_inst *inst)
{
    ptx_call *call = ptx_alloc(p, 1, sizeof *call);
    if (ptx_is_punct(p, '(')) {
        call->returns = parse_list(p, &call->return_count);
        ptx_expect(p, ',', "the results of a call");
    }
    inst->operands = parse_callee(p, call);
    inst->operand_count = 1;
    if (ptx_accept(p, ',')) {
        if (ptx_is_punct(p, '(')) {
            call->args = parse_list(p, &call->arg_count);
            if (ptx_accept(p, ','))
                parse_targets_name(p, call);
        } else {
            parse_targets_name(p, call);
        }
    }
    inst->call = call;
    check_call(p, call, inst->line);
}
