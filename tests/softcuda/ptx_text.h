/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program of ptx_programs.h as PTX. */
#ifndef TESTS_SOFTCUDA_PTX_TEXT_H
#define TESTS_SOFTCUDA_PTX_TEXT_H

#include "softcuda/ptx_programs.h"

typedef struct writer {
    char *text;
    size_t at, room;
    uint32_t masks, labels;
} writer;

__attribute__((format(printf, 2, 3))) static void put(writer *w, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    w->at += (size_t)vsnprintf(w->text + w->at, w->room - w->at, format, list);
    va_end(list);
    if (w->at >= w->room)
        abort();
}

static void put_guard(writer *w, const node *n)
{
    if (n->guard >= 0)
        put(w, "@%s%%p%d ", n->negated ? "!" : "", n->guard);
}

static void put_value(writer *w, char class, uint64_t v)
{
    if (class == 'f')
        put(w, "0f%08x", (unsigned)v);
    else if (class == 'g')
        put(w, "0d%016llx", (unsigned long long)v);
    else
        put(w, "0x%llx", (unsigned long long)v);
}

static void put_operand(writer *w, const node *n, int at)
{
    const int results = (int)strlen(n->op->results), k = at - results;
    if (k < 0)
        put(w, "%%%c%d", n->op->results[at], n->to[at]);
    else if (n->is_value[k])
        put_value(w, n->op->sources[k], n->values[k]);
    else
        put(w, "%%%c%d", n->op->sources[k], n->from[k]);
}

static void put_do(writer *w, const node *n)
{
    const op *o = n->op;
    if (!strchr(o->text, '$')) {
        const int count = (int)(strlen(o->results) + strlen(o->sources));
        put_guard(w, n);
        put(w, "%s ", o->text);
        for (int k = 0; k < count; k++) {
            put(w, "%s", k ? ", " : "");
            put_operand(w, n, k);
        }
        put(w, ";\n");
        return;
    }
    for (const char *s = o->text; *s; s++) {
        if (*s == '@')
            put_guard(w, n);
        else if (*s == '$')
            put_operand(w, n, *++s - '0');
        else
            put(w, "%c", *s);
    }
    put(w, "\n");
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void put_vector(writer *w, const node *n, const uint8_t *regs)
{
    put(w, "%s", n->number > 1 ? "{" : "");
    for (uint32_t k = 0; k < n->number; k++)
        put(w, "%s%%%c%d", k ? ", " : "", n->class, regs[k]);
    put(w, "%s", n->number > 1 ? "}" : "");
}

/* %u0 = some element of what begins at %u1 */
static void put_address(writer *w, const node *n, uint32_t bytes, int offset)
{
    const uint32_t moved = (uint32_t)accesses[n->form].bytes * n->number;
    put(w, "and.b32 %%t0, %%r%d, %u;\nmul.wide.u32 %%u0, %%t0, %u;\nadd.s64 %%u0, %%u1, %%u0;\n",
        n->from[4], bytes / moved - 1, moved);
    if (offset)
        put(w, "add.s64 %%u0, %%u0, %d;\n", -offset);
}

static void put_load(writer *w, const node *n)
{
    static const char *const globals[] = {"ld.global", "ld.global.nc", "ld.volatile.global",
                                          "ld.relaxed.gpu.global"};
    const int offset = n->second ? 16 : 0;
    const char *name = "ld";
    switch ((where)n->values[0]) {
    case FROM_GLOBAL:
        name = globals[n->values[1]];
        put(w, "mov.u64 %%u1, %%in;\n");
        break;
    case FROM_TABLE:
        name = "ld.const";
        put(w, "mov.u64 %%u1, table;\n");
        break;
    case FROM_LOCAL:
        name = "ld.local";
        put(w, "mov.u64 %%u1, own_bytes;\n");
        break;
    default:
        put(w, "mov.u64 %%u1, own_bytes;\ncvta.local.u64 %%u1, %%u1;\n");
        break;
    }
    static const uint32_t sizes[] = {IN_WORDS * 8, TABLE_BYTES, LOCAL_BYTES, LOCAL_BYTES};
    put_address(w, n, sizes[n->values[0]], offset);
    put_guard(w, n);
    put(w, "%s%s.%s ", name,
        n->number == 4   ? ".v4"
        : n->number == 2 ? ".v2"
                         : "",
        accesses[n->form].type);
    put_vector(w, n, n->to);
    put(w, ", [%%u0%s];\n", offset ? "+16" : "");
}

static void put_store(writer *w, const node *n)
{
    put(w, "mov.u64 %%u1, own_bytes;\n%s",
        n->values[0] == FROM_LOCAL ? "" : "cvta.local.u64 %u1, %u1;\n");
    put_address(w, n, LOCAL_BYTES, 0);
    put_guard(w, n);
    put(w, "st%s%s.%s [%%u0], ", n->values[0] == FROM_LOCAL ? ".local" : "",
        n->number == 4   ? ".v4"
        : n->number == 2 ? ".v2"
                         : "",
        accesses[n->form].type);
    put_vector(w, n, n->from);
    put(w, ";\n");
}

static void put_atomic(writer *w, const node *n)
{
    const char c = atomics[n->form].type->reg;
    static const char *const spaces[] = {".global", ".shared", ""};
    put_guard(w, n);
    put(w, "atom%s.%s %%%c%d, [", spaces[n->values[0]], atomics[n->form].name, c, n->to[0]);
    if (n->values[0] == 0)
        put(w, "%%own+%u", 8 * n->number);
    else
        put(w, "%s", n->values[0] == 1 ? "%place" : "%generic");
    put(w, "], %%%c%d", c, n->from[0]);
    if (atomics[n->form].kind == A_CAS)
        put(w, ", %%%c%d", c, n->from[1]);
    put(w, ";\n");
}

static void put_reduce(writer *w, const node *n)
{
    put_guard(w, n);
    put(w, "red.global.%s [%%red+%u], %%%c%d;\n", atomics[n->form].name, 8 * n->number,
        atomics[n->form].type->reg, n->from[0]);
}

static void put_exchange(writer *w, const node *n)
{
    const char *type = accesses[n->form].type;
    put(w, "st.shared.%c%d [%%place], %%%c%d;\nbar.sync 0;\nrem.u32 %%t0, %%r%d, %%count;\n", 'b',
        8 * accesses[n->form].bytes, n->class, n->from[0], n->from[1]);
    switch (n->values[0]) {
    case 0:
        put(w,
            "mul.lo.u32 %%t0, %%t0, 8;\nmov.u32 %%t1, places;\nadd.u32 %%t0, %%t0, %%t1;\n"
            "ld.shared.%s %%%c%d, [%%t0];\n",
            type, n->class, n->to[0]);
        break;
    case 1:
        put(w,
            "mul.wide.u32 %%u0, %%t0, 8;\nmov.u64 %%u1, places;\nadd.u64 %%u0, %%u0, %%u1;\n"
            "ld.shared.%s %%%c%d, [%%u0];\n",
            type, n->class, n->to[0]);
        break;
    default:
        put(w,
            "mul.wide.u32 %%u0, %%t0, 8;\nmov.u64 %%u1, places;\ncvta.shared.u64 %%u1, %%u1;\n"
            "add.u64 %%u0, %%u0, %%u1;\nld.%s %%%c%d, [%%u0];\n",
            type, n->class, n->to[0]);
        break;
    }
    put(w, "bar.sync 0;\n");
}

/* ---- lanes together -------------------------------------------------------------------------- */

/* Where the lane that it reads from is in range but not here, the result is 7. */
static void put_shuffle(writer *w, const node *n, uint32_t mask)
{
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    const uint32_t c = (uint32_t)n->values[0], segment = c >> 8 & 31;
    put(w, "and.b32 %%t0, %%r%d, 31;\n", n->from[1]);
    if (n->form == 3)
        put(w, "and.b32 %%t0, %%t0, %u;\nand.b32 %%t1, %%lane, %u;\nor.b32 %%t0, %%t0, %%t1;\n",
            ~segment & 31, segment);
    else
        put(w, "%s %%t0, %%lane, %%t0;\nand.b32 %%t0, %%t0, 31;\n",
            n->form == 0   ? "sub.u32"
            : n->form == 1 ? "add.u32"
                           : "xor.b32");
    put(w,
        "shr.u32 %%t1, %%m%u, %%t0;\nand.b32 %%t1, %%t1, 1;\nsetp.eq.u32 %%q0, %%t1, 0;\n"
        "shfl.sync.%s.b32 %%t2|%%q1, %%r%d, %%r%d, %u, %%m%u;\n"
        "and.pred %%q0, %%q0, %%q1;\nselp.b32 %%r%d, 7, %%t2, %%q0;\nmov.pred %%p%d, %%q1;\n",
        mask, modes[n->form], n->from[0], n->from[1], c, mask, n->to[0], n->to[1]);
}

static void put_warp(writer *w, const node *n, uint32_t mask)
{
    static const char *const votes[] = {"all.pred", "any.pred", "uni.pred", "ballot.b32"};
    static const char *const reductions[] = {"add.u32", "min.s32", "max.s32", "min.u32",
                                             "max.u32", "and.b32", "or.b32",  "xor.b32"};
    const uint32_t form = n->form;
    if (form < W_VOTE)
        put_shuffle(w, n, mask);
    else if (form < W_MATCH_ANY)
        put(w, "vote.sync.%s %%%c%d, %s%%p%d, %%m%u;\n", votes[form - W_VOTE],
            form == W_VOTE + 3 ? 'r' : 'p', n->to[0], n->negated ? "!" : "", n->from[0], mask);
    else if (form == W_MATCH_ANY || form == W_MATCH_ALL)
        put(w, "and.b32 %%t0, %%r%d, 3;\nmatch.%s.sync.b32 %%r%d", n->from[0],
            form == W_MATCH_ANY ? "any" : "all", n->to[0]);
    else if (form < W_REDUX)
        put(w, "and.b64 %%u0, %%d%d, 3;\nmatch.%s.sync.b64 %%r%d", n->from[0],
            form < W_MATCH_ALL ? "any" : "all", n->to[0]);
    else if (form < W_SYNC)
        put(w, "redux.sync.%s %%r%d, %%r%d, %%m%u;\n", reductions[form - W_REDUX], n->to[0],
            n->from[0], mask);
    else
        put(w, "bar.warp.sync %%m%u;\n", mask);
    if (form >= W_MATCH_ALL && form < W_REDUX)
        put(w, "|%%p%d", n->to[1]);
    if (form >= W_MATCH_ANY && form < W_REDUX)
        put(w, ", %s, %%m%u;\n", form & 1 ? "%u0" : "%t0", mask);
}

static void put_barrier(writer *w, const node *n)
{
    static const char *const kinds[] = {"popc.u32", "and.pred", "or.pred"};
    put(w, "bar.red.%s %%%c%d, 0, %s%%p%d;\n", kinds[n->form], n->form ? 'p' : 'r', n->to[0],
        n->negated ? "!" : "", n->from[0]);
}

/* ---- control --------------------------------------------------------------------------------- */

static void put_list(writer *w, const node *n, uint32_t mask);

static void put_branch(writer *w, const node *n, uint32_t mask)
{
    const uint32_t yes = w->masks++, no = w->masks++, label = w->labels++;
    const char *not = n->negated ? "!" : "", *back = n->negated ? "" : "!";
    put(w, "vote.sync.ballot.b32 %%m%u, %s%%p%d, %%m%u;\nxor.b32 %%m%u, %%m%u, %%m%u;\n", yes, not,
        n->from[0], mask, no, yes, mask);
    put(w, "@%s%%p%d bra ELSE%u;\n", back, n->from[0], label);
    put_list(w, n->child[0], yes);
    if (n->second)
        put(w, "bra END%u;\n", label);
    put(w, "ELSE%u:\n", label);
    if (n->second) {
        put_list(w, n->child[1], no);
        put(w, "END%u:\n", label);
    }
}

/* second: it may be left in the middle, on a predicate */
static void put_loop(writer *w, const node *n, uint32_t mask)
{
    const uint32_t in = w->masks++, count = w->masks++, label = w->labels++;
    put(w, "and.b32 %%m%u, %%r%d, 3;\nmov.b32 %%m%u, %%m%u;\nLOOP%u:\n", count, n->from[0], in,
        mask, label);
    put(w, "setp.ne.u32 %%q3, %%m%u, 0;\nvote.sync.ballot.b32 %%m%u, %%q3, %%m%u;\n", count, in,
        in);
    put(w, "@!%%q3 bra END%u;\nsub.u32 %%m%u, %%m%u, 1;\n", label, count, count);
    put_list(w, n->child[0], in);
    if (n->second) {
        put(w, "vote.sync.ballot.b32 %%m%u, %s%%p%d, %%m%u;\n@%s%%p%d bra END%u;\n", in,
            n->negated ? "" : "!", n->from[1], in, n->negated ? "!" : "", n->from[1], label);
        put(w, "add.u32 %%r%d, %%r%d, 1;\n", n->to[0], n->from[2]);
    }
    put(w, "bra LOOP%u;\nEND%u:\n", label, label);
}

static void put_switch(writer *w, const node *n, uint32_t mask)
{
    const uint32_t label = w->labels++, at = w->masks, index = at + 4;
    w->masks += 5;
    put(w, "and.b32 %%m%u, %%r%d, 3;\n", index, n->from[0]);
    for (uint32_t k = 0; k < 4; k++)
        put(w, "setp.eq.u32 %%q0, %%m%u, %u;\nvote.sync.ballot.b32 %%m%u, %%q0, %%m%u;\n", index, k,
            at + k, mask);
    put(w, "T%u: .branchtargets C%u_0, C%u_1, C%u_2, C%u_3;\nbrx.idx %%m%u, T%u;\n", label, label,
        label, label, label, index, label);
    for (uint32_t k = 0; k < 4; k++) {
        put(w, "C%u_%u:\n", label, k);
        put_list(w, n->child[k], at + k);
        if (k < 3)
            put(w, "bra END%u;\n", label);
    }
    put(w, "END%u:\n", label);
}

/* Which of two functions, and who goes with the lane: %u0 and %t0. */
static void put_callee(writer *w, const node *n, uint32_t mask)
{
    if (!n->second) {
        put(w, "mov.b32 %%t0, %%m%u;\n", mask);
        return;
    }
    const int p = n->from[4];
    put(w,
        "vote.sync.ballot.b32 %%t0, %%p%d, %%m%u;\nxor.b32 %%t1, %%t0, %%m%u;\n"
        "selp.b32 %%t0, %%t0, %%t1, %%p%d;\n",
        p, mask, mask, p);
    put(w, "mov.u64 %%u0, fn%u;\nmov.u64 %%u1, fn%u;\nselp.b64 %%u0, %%u0, %%u1, %%p%d;\n",
        n->number, n->form, p);
}

static void put_call(writer *w, const node *n, uint32_t mask)
{
    put(w, "{\n.param .b32 a0;\n.param .b64 a1;\n.param .b32 a2;\n.param .f32 a3;\n"
           ".param .b16 a4;\n.param .align 8 .b8 b[24];\n");
    put_callee(w, n, mask);
    put(w,
        "st.param.b32 [a0], %%r%d;\nst.param.b64 [a1], %%d%d;\nst.param.b32 [a2], %%t0;\n"
        "st.param.f32 [a3], %%f%d;\nst.param.b16 [a4], %%h%d;\n",
        n->from[0], n->from[1], n->from[2], n->from[3]);
    if (n->second)
        put(w, "FORM: .callprototype (.param .align 8 .b8 _[24]) _ (.param .b32 _, .param .b64 _, "
               ".param .b32 _, .param .f32 _, .param .b16 _);\n"
               "call (b), %%u0, (a0, a1, a2, a3, a4), FORM;\n");
    else
        put(w, "call (b), fn%u, (a0, a1, a2, a3, a4);\n", n->number);
    put(w,
        "ld.param.b32 %%r%d, [b];\nld.param.b64 %%d%d, [b+8];\nld.param.f32 %%f%d, [b+16];\n"
        "ld.param.b16 %%s%d, [b+20];\n}\n",
        n->to[0], n->to[1], n->to[2], n->to[3]);
}

static void put_leave(writer *w, const node *n)
{
    put(w, "bar.sync 0;\nvote.sync.ballot.b32 %%m0, %s%%p%d, %%m0;\n@%s%%p%d bra END;\n",
        n->negated ? "" : "!", n->from[0], n->negated ? "!" : "", n->from[0]);
}

static void put_pieces(writer *w, const program *p)
{
    if (!p->piece_count)
        return;
    const uint32_t steps = w->masks++;
    put(w, "mov.u32 %%m%u, %d;\n", steps, STEPS_MAX);
    for (uint32_t n = 0; n < p->piece_count; n++) {
        const piece *it = &p->pieces[n];
        const char *not = it->negated ? "!" : "";
        put(w, "PIECE%u:\nsub.u32 %%m%u, %%m%u, 1;\nsetp.eq.u32 %%q3, %%m%u, 0;\n@%%q3 bra END;\n",
            n, steps, steps, steps);
        put_list(w, it->body, 0);
        if (it->ending == JUMP_IF || it->ending == JUMP_IF_ELSE)
            put(w, "@%s%%p%d bra PIECE%d;\n", not, it->reg, it->to[0]);
        if (it->ending == JUMP || it->ending == JUMP_IF_ELSE)
            put(w, "bra PIECE%d;\n", it->to[1]);
        if (it->ending == JUMP_TO_ONE_OF)
            put(w,
                "and.b32 %%t0, %%r%d, 3;\nWAYS%u: .branchtargets PIECE%d, PIECE%d, PIECE%d, "
                "PIECE%d;\nbrx.idx %%t0, WAYS%u;\n",
                it->reg, n, it->to[0], it->to[1], it->to[2], it->to[3], n);
    }
    put(w, "PIECE%u:\n", p->piece_count);
}

static void put_list(writer *w, const node *n, uint32_t mask)
{
    static void (*const plain[])(writer *, const node *) = {
        [DO] = put_do,           [LOAD] = put_load,     [STORE] = put_store,
        [ATOMIC] = put_atomic,   [REDUCE] = put_reduce, [EXCHANGE] = put_exchange,
        [BARRIER] = put_barrier, [LEAVE] = put_leave,
    };
    static void (*const masked[])(writer *, const node *, uint32_t) = {
        [BRANCH] = put_branch, [LOOP] = put_loop, [SWITCH] = put_switch,
        [CALL] = put_call,     [WARP] = put_warp,
    };
    for (; n; n = n->next) {
        if (plain[n->kind])
            plain[n->kind](w, n);
        else
            masked[n->kind](w, n, mask);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Register n of a class from %u1. */
static void put_begin_register(writer *w, char class, int n)
{
    switch (class) {
    case 'p':
        put(w, "and.b64 %%u2, %%u1, 1;\nsetp.ne.u64 %%p%d, %%u2, 0;\n", n);
        break;
    case 'd':
    case 'g':
        put(w, "mov.b64 %%%c%d, %%u1;\n", class, n);
        break;
    case 'f':
        put(w, "cvt.u32.u64 %%t0, %%u1;\nmov.b32 %%f%d, %%t0;\n", n);
        break;
    default:
        put(w, "cvt.u%d.u64 %%%c%d, %%u1;\n", class_bits(class), class, n);
        break;
    }
}

static void put_registers(writer *w)
{
    put(w, ".reg .pred %%p<%d>, %%q<4>;\n.reg .b16 %%s<%d>, %%h<%d>, %%b<%d>, %%v<4>;\n", REGS,
        REGS, REGS, REGS);
    put(w, ".reg .b32 %%r<%d>, %%x<%d>, %%y<%d>, %%t<8>, %%m<%u>, %%lane;\n", REGS, REGS, REGS,
        400);
    put(w, ".reg .b64 %%d<%d>, %%u<8>, %%in;\n.reg .f32 %%f<%d>, %%w<2>;\n", REGS, REGS);
    put(w, ".reg .f64 %%g<%d>, %%z<2>;\n.local .align 16 .b8 own_bytes[%d];\n", REGS, LOCAL_BYTES);
    put(w, "mov.u32 %%lane, %%laneid;\nmov.u64 %%u0, 0;\n");
    for (int n = 0; n < LOCAL_BYTES; n += 8)
        put(w, "st.local.u64 [own_bytes+%d], %%u0;\n", n);
}

static void put_function(writer *w, const program *p, int index)
{
    put(w,
        ".func (.param .align 8 .b8 y[24]) fn%d(.param .b32 x0, "
        ".param .b64 x1, .param .b32 x2, .param .f32 x3, .param .b16 x4)\n{\n",
        index);
    w->masks = 1;
    put_registers(w);
    put(w, "mov.u64 %%u0, input;\ncvta.global.u64 %%u0, %%u0;\nld.u64 %%in, [%%u0];\n");
    put(w, "ld.param.b32 %%t0, [x0];\nld.param.b64 %%u1, [x1];\ncvt.u64.u32 %%u0, %%t0;\n"
           "xor.b64 %%u3, %%u0, %%u1;\nld.param.b32 %%m0, [x2];\n");
    for (int n = 0; n < CLASSES * REGS; n++) {
        put(w, "xor.b64 %%u1, %%u3, 0x%llx;\n",
            (unsigned long long)n * UINT64_C(0x0101010101010101));
        put_begin_register(w, classes[n / REGS], n % REGS);
    }
    put(w, "ld.param.f32 %%f0, [x3];\nld.param.b16 %%h0, [x4];\n");
    put_list(w, p->functions[index], 0);
    put(w, "st.param.b32 [y], %%r0;\nst.param.b64 [y+8], %%d0;\nst.param.f32 [y+16], %%f0;\n"
           "st.param.b16 [y+20], %%s0;\nret;\n}\n");
}

static const char kernel_begin[] =
    ".visible .entry k(.param .u64 p_in, .param .u64 p_out, .param .u64 p_own, .param .u64 p_red)\n"
    "{\n.reg .b64 %out, %own, %red, %generic;\n.reg .b32 %place, %count, %me, %gid;\n";

static const char kernel_addresses[] =
    "ld.param.u64 %in, [p_in];\nld.param.u64 %out, [p_out];\nld.param.u64 %own, [p_own];\n"
    "ld.param.u64 %red, [p_red];\nst.global.u64 [input], %in;\nmov.u32 %me, %tid.x;\nmov.u32 %count, %ntid.x;\n"
    "mov.u32 %t0, %ctaid.x;\nmad.lo.u32 %gid, %t0, %count, %me;\n"
    "mul.wide.u32 %u0, %me, 8;\nmov.u64 %u1, places;\nadd.u64 %u0, %u0, %u1;\n"
    "cvt.u32.u64 %place, %u0;\ncvta.shared.u64 %generic, %u0;\nmov.u64 %u1, 0;\n"
    "st.shared.u64 [%place], %u1;\nsub.u32 %t0, %me, %lane;\nsub.u32 %t0, %count, %t0;\n"
    "min.u32 %t0, %t0, 32;\nbmsk.clamp.b32 %m0, 0, %t0;\n";

static void put_result(writer *w, char class, int n)
{
    static const char kinds[] = "fghbxy";
    static uint32_t finders[6];
    for (uint32_t k = 0; k < op_count; k++)
        if (ops[k].value == move_float && strchr(kinds, ops[k].sources[0]))
            finders[strchr(kinds, ops[k].sources[0]) - kinds] = k;
    node out = {.guard = -1};
    const char *at = strchr(kinds, class);
    if (at) {
        out.op = &ops[finders[at - kinds]];
        out.from[0] = (uint8_t)n;
        out.to[0] = 0; /* of a register that has been written out already */
        put_do(w, &out);
        class = out.op->results[0];
        n = 0;
    }
    if (class == 'p')
        put(w, "selp.u64 %%u0, 1, 0, %%p%d;\n", n);
    else if (class == 'd')
        put(w, "mov.b64 %%u0, %%d%d;\n", n);
    else
        put(w, "cvt.u64.u%d %%u0, %%%c%d;\n", class_bits(class), class, n);
}

static void put_program(writer *w, const program *p)
{
    put(w, ".version 8.1\n.target sm_90\n.address_size 64\n.global .u64 input;\n");
    put(w, ".shared .align 8 .b8 places[%d];\n.const .align 16 .b8 table[%d] = {%d",
        THREADS_MAX * 8, TABLE_BYTES, p->table[0]);
    for (int n = 1; n < TABLE_BYTES; n++)
        put(w, ",%d", p->table[n]);
    put(w, "};\n");
    for (int n = FUNCTIONS - 1; n >= 0; n--)
        put_function(w, p, n);
    put(w, "%s", kernel_begin);
    w->masks = 1;
    put_registers(w);
    put(w, "%s", kernel_addresses);
    put(w,
        "mul.lo.u32 %%t0, %%gid, 13;\nand.b32 %%t0, %%t0, %d;\nmul.wide.u32 %%u0, %%t0, 8;\n"
        "add.u64 %%u0, %%u0, %%in;\n",
        IN_WORDS - 1);
    for (int n = 0; n < CLASSES * REGS; n++) {
        put(w, "ld.global.u64 %%u1, [%%u0+%d];\n", 8 * n);
        put_begin_register(w, classes[n / REGS], n % REGS);
    }
    put(w, "mul.wide.u32 %%u0, %%gid, %d;\nadd.u64 %%out, %%out, %%u0;\n", 8 * OUT_WORDS);
    put(w, "mul.wide.u32 %%u0, %%gid, %d;\nadd.u64 %%own, %%own, %%u0;\n", 8 * OWN_WORDS);
    put_list(w, p->body, 0);
    put_pieces(w, p);
    put(w, "END:\n");
    for (int n = 0; n < CLASSES * REGS; n++) {
        put_result(w, classes[n / REGS], n % REGS);
        put(w, "st.global.u64 [%%out+%d], %%u0;\n", 8 * n);
    }
    put(w, "ret;\n}\n");
}

#endif
