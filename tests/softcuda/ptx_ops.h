/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The instructions that random programs are made of, with their modifiers: all that the software
 * device executes, PTX defines to the bit and an sm_90 has. By families, from which are drawn.
 */
#ifndef TESTS_SOFTCUDA_PTX_OPS_H
#define TESTS_SOFTCUDA_PTX_OPS_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "softcuda/ptx_model.h"

enum { OPS_MAX = 8000 };

static op ops[OPS_MAX];
static uint32_t op_count, family_count, family_start[64];

static const number U8 = {"u8", 'u', 8, 0, 0, 0, 's'}, S8 = {"s8", 's', 8, 0, 0, 0, 's'};
static const number U16 = {"u16", 'u', 16, 0, 0, 0, 's'}, S16 = {"s16", 's', 16, 0, 0, 0, 's'};
static const number U32 = {"u32", 'u', 32, 0, 0, 0, 'r'}, S32 = {"s32", 's', 32, 0, 0, 0, 'r'};
static const number U64 = {"u64", 'u', 64, 0, 0, 0, 'd'}, S64 = {"s64", 's', 64, 0, 0, 0, 'd'};
static const number B16 = {"b16", 'b', 16, 0, 0, 0, 's'}, B32 = {"b32", 'b', 32, 0, 0, 0, 'r'};
static const number B64 = {"b64", 'b', 64, 0, 0, 0, 'd'};
static const number F16 = {"f16", 'f', 16, 11, -14, 15, 'h'};
static const number BF16 = {"bf16", 'f', 16, 8, -126, 127, 'b'};
static const number F32 = {"f32", 'f', 32, 24, -126, 127, 'f'};
static const number F64 = {"f64", 'f', 64, 53, -1022, 1023, 'g'};

static const number F16X2 = {"f16x2", 'f', 32, 11, -14, 15, 'x'};
static const number BF16X2 = {"bf16x2", 'f', 32, 8, -126, 127, 'y'};

static const number *const integers[] = {&U16, &S16, &U32, &S32, &U64, &S64};
static const number *const untyped[] = {&B16, &B32, &B64};
static const number *const floats[] = {&F16, &BF16, &F32, &F64};

static void family(void)
{
    family_start[family_count++] = op_count;
}

/* The text is formatted; the caller sets the other fields of the result. */
__attribute__((format(printf, 5, 6))) static op *add(op_value value, const number *type,
                                                     const char *results, const char *sources,
                                                     const char *format, ...)
{
    op *o = &ops[op_count++];
    if (op_count >= OPS_MAX)
        abort();
    *o = (op){.value = value, .type = type, .from = type, .family = family_count - 1};
    snprintf(o->results, sizeof o->results, "%s", results);
    snprintf(o->sources, sizeof o->sources, "%s", sources);
    va_list list;
    va_start(list, format);
    vsnprintf(o->text, sizeof o->text, format, list);
    va_end(list);
    return o;
}

/* d = name(sources), all of the type's class */
static op *same(op_value value, const number *t, int count, const char *name)
{
    const char result[] = {t->reg, 0}, sources[] = {t->reg, t->reg, t->reg, 0};
    return add(value, t, result, sources + 3 - count, "%s.%s", name, t->name);
}

#define EACH(list, t) \
    for (const number *const *it_##t = (list), *t = *it_##t; \
         it_##t < (list) + sizeof(list) / sizeof *(list) && (t = *it_##t); it_##t++)

/* ---- integers -------------------------------------------------------------------------------- */

static void add_sums(void)
{
    static const struct {
        op_value value;
        int sources;
        const char *name;
    } list[] = {{int_add, 2, "add"},       {int_sub, 2, "sub"},       {int_mul_lo, 2, "mul.lo"},
                {int_mul_hi, 2, "mul.hi"}, {int_mad_lo, 3, "mad.lo"}, {int_mad_hi, 3, "mad.hi"},
                {int_min, 2, "min"},       {int_max, 2, "max"},       {int_sad, 3, "sad"}};
    family();
    for (size_t n = 0; n < sizeof list / sizeof *list; n++)
        EACH(integers, t)
    same(list[n].value, t, list[n].sources, list[n].name);
    EACH(integers, t)
    {
        if (t->kind == 's') {
            same(int_abs, t, 1, "abs");
            same(int_neg, t, 1, "neg");
        }
    }
    add(int_add_sat, &S32, "r", "rr", "add.sat.s32");
    add(int_sub_sat, &S32, "r", "rr", "sub.sat.s32");
    add(int_mad_hi_sat, &S32, "r", "rrr", "mad.hi.sat.s32");
    add(int_min_relu, &S32, "r", "rr", "min.relu.s32");
    add(int_max_relu, &S32, "r", "rr", "max.relu.s32");
}

static void add_products(void)
{
    static const number *const narrow[] = {&U16, &S16, &U32, &S32};
    family();
    EACH(narrow, t)
    {
        const char wide = t->bits == 16 ? 'r' : 'd';
        add(int_mul_lo, t, (char[]){wide, 0}, (char[]){t->reg, t->reg, 0}, "mul.wide.%s", t->name);
        add(int_mad_wide, t, (char[]){wide, 0}, (char[]){t->reg, t->reg, wide, 0}, "mad.wide.%s",
            t->name);
    }
    static const number *const words[] = {&U32, &S32};
    EACH(words, t)
    {
        same(int_mul24_lo, t, 2, "mul24.lo");
        same(int_mul24_hi, t, 2, "mul24.hi");
        same(int_mad24_lo, t, 3, "mad24.lo");
        same(int_mad24_hi, t, 3, "mad24.hi");
        EACH(words, u)
        {
            static const char *const names[] = {"dp2a.lo", "dp2a.hi", "dp4a"};
            for (int mode = 2; mode <= 4; mode++) {
                op *o = add(int_dot, t, "r", "rrr", "%s.%s.%s", names[mode - 2], t->name, u->name);
                o->mode = mode;
                o->kind = (t->kind == 's' ? 1 : 0) | (u->kind == 's' ? 2 : 0);
            }
        }
    }
    add(int_mad24_hi_sat, &S32, "r", "rrr", "mad24.hi.sat.s32");
}

static void add_quotients(void)
{
    static const struct {
        op_value value;
        const char *name;
    } list[] = {{int_div, "div"}, {int_rem, "rem"}};
    family();
    for (int n = 0; n < 2; n++)
        EACH(integers, t)
        {
            const char *scratch = t->bits == 16 ? "%v0" : t->bits == 32 ? "%t0" : "%u0";
            const char result[] = {t->reg, 0}, sources[] = {t->reg, t->reg, 0};
            add(list[n].value, t, result, sources,
                "or.b%d %s, $2, 1;\nand.b%d %s, %s, -3;\n@%s.%s $0, $1, %s;", t->bits, scratch,
                t->bits, scratch, scratch, list[n].name, t->name, scratch);
        }
}

static void add_carries(void)
{
    static const number *const wide[] = {&U32, &S32, &U64, &S64};
    family();
    EACH(wide, t)
    {
        const char c = t->reg, *s = c == 'r' ? "t" : "u";
        const char two[] = {c, c, 0}, four[] = {c, c, c, c, 0};
#define MOVES "@mov.b%d $0, %%%s0;\n@mov.b%d $1, %%%s1;"
        add(carry_add, t, two, four, "add.cc.%s %%%s0, $2, $4;\naddc.%s %%%s1, $3, $5;\n" MOVES,
            t->name, s, t->name, s, t->bits, s, t->bits, s)
            ->kind = ADD;
        add(carry_add, t, two, four, "sub.cc.%s %%%s0, $2, $4;\nsubc.%s %%%s1, $3, $5;\n" MOVES,
            t->name, s, t->name, s, t->bits, s, t->bits, s)
            ->kind = SUB;
        add(carry_mad, t, two, four,
            "mad.lo.cc.%s %%%s0, $2, $3, $4;\nmadc.hi.%s %%%s1, $2, $3, $5;\n" MOVES, t->name, s,
            t->name, s, t->bits, s, t->bits, s);
#undef MOVES
    }
}

static void add_logic(void)
{
    family();
    EACH(untyped, t)
    {
        same(int_and, t, 2, "and");
        same(int_or, t, 2, "or");
        same(int_xor, t, 2, "xor");
        same(int_not, t, 1, "not");
        same(int_cnot, t, 1, "cnot");
        const char result[] = {t->reg, 0}, sources[] = {t->reg, 'r', 0};
        add(int_shl, t, result, sources, "shl.%s", t->name);
        add(int_shr, t, result, sources, "shr.%s", t->name);
    }
    EACH(integers, t)
    add(int_shr, t, (char[]){t->reg, 0}, (char[]){t->reg, 'r', 0}, "shr.%s", t->name);
    static const int tables[] = {0x80, 0xe8, 0x96, 0xca, 0x1b, 0xd8, 0x01, 0xfe, 0x3c, 0x6a};
    for (size_t n = 0; n < sizeof tables / sizeof *tables; n++)
        add(bits_logic, &B32, "r", "rrr", "@lop3.b32 $0, $1, $2, $3, 0x%02x;", (unsigned)tables[n])
            ->kind = tables[n];
    static const char *const names[] = {"not", "and", "or", "xor"};
    for (int kind = 0; kind < 4; kind++)
        add(logic_of_predicates, &B16, "p", &"pp"[!kind], "%s.pred", names[kind])->kind = kind;
}

static void add_fields(void)
{
    static const number *const words[] = {&U32, &S32, &U64, &S64};
    family();
    EACH(words, t)
    {
        const char result[] = {t->reg, 0}, sources[] = {t->reg, 'r', 'r', 0};
        add(bits_extract, t, result, sources, "bfe.%s", t->name);
        add(bits_find, t, "r", result, "bfind.%s", t->name);
        add(bits_find, t, "r", result, "bfind.shiftamt.%s", t->name)->kind = 1;
    }
    for (const number *t = &B32; t; t = t == &B32 ? &B64 : NULL) {
        const char result[] = {t->reg, 0}, sources[] = {t->reg, t->reg, 'r', 'r', 0};
        add(bits_insert, t, result, sources, "bfi.%s", t->name);
        add(bits_count, t, "r", result, "popc.%s", t->name);
        add(bits_leading, t, "r", result, "clz.%s", t->name);
        add(bits_reverse, t, result, result, "brev.%s", t->name);
    }
    for (int wrap = 0; wrap < 2; wrap++) {
        const char *how = wrap ? "wrap" : "clamp";
        add(bits_mask, &B32, "r", "rr", "bmsk.%s.b32", how)->kind = wrap;
        add(bits_extend, &U32, "r", "rr", "szext.%s.u32", how)->kind = wrap;
        add(bits_extend, &S32, "r", "rr", "szext.%s.s32", how)->kind = wrap;
        for (int left = 0; left < 2; left++) {
            op *o = add(bits_funnel, &B32, "r", "rrr", "shf.%s.%s.b32", left ? "l" : "r", how);
            o->kind = left;
            o->mode = wrap;
        }
    }
    static const char *const modes[] = {"", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"};
    for (int mode = PLAIN; mode <= RC16; mode++)
        add(bits_permute, &B32, "r", "rrr", "prmt.b32%s", modes[mode])->kind = mode;
    add(bits_nth, &B32, "r", "rrr", /* the least number has no negative: an H100 finds nonsense */
        "and.b32 %%t0, $2, 31;\nmax.s32 %%t1, $3, -2147483647;\n@fns.b32 $0, $1, %%t0, %%t1;");
}

static void add_packed_integers(void)
{
    static const struct {
        op_value value;
        const char *name;
        const number *type;
    } list[] = {
        {int_add, "add.u16x2", &U16},           {int_add, "add.s16x2", &S16},
        {int_min, "min.u16x2", &U16},           {int_min, "min.s16x2", &S16},
        {int_max, "max.u16x2", &U16},           {int_max, "max.s16x2", &S16},
        {int_min_relu, "min.relu.s16x2", &S16}, {int_max_relu, "max.relu.s16x2", &S16},
    };
    family();
    for (size_t n = 0; n < sizeof list / sizeof *list; n++)
        add(list[n].value, list[n].type, "r", "rr", "%s", list[n].name)->packed = true;
}

static void add_video(void)
{
    static const char *const names[] = {"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"};
    static const char *const compares[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    static const number *const words[] = {&U32, &S32};
    family();
    for (int parts = 2; parts <= 4; parts += 2)
        for (int kind = V_ADD; kind < V_EQ + 6; kind++)
            for (int end = 0; end < 3; end++) /* .sat, .add */
                EACH(words, t)
    EACH(words, from)
    {
        if (kind >= V_EQ && (end == 1 || t == &S32))
            continue;
        op *o = kind < V_EQ ? add(video, t, "r", "rrr", "%s%d.%s.%s.%s%s", names[kind], parts,
                                  t->name, from->name, from->name,
                                  end == 1   ? ".sat"
                                  : end == 2 ? ".add"
                                             : "")
                            : add(video, t, "r", "rrr", "vset%d.%s.%s.%s%s", parts, from->name,
                                  from->name, compares[kind - V_EQ], end ? ".add" : "");
        o->from = from;
        o->kind = kind;
        o->mode = parts;
        o->sat = end == 1;
        o->nan = end == 2;
    }
}

/* ---- floats ---------------------------------------------------------------------------------- */

static const char *const rounding_names[] = {".rn", ".rz", ".rm", ".rp"};
static const char *const arithmetic_names[] = {"add", "sub", "mul", "fma", "div", "rcp", "sqrt"};

static void add_wide_floats(void)
{
    static const int sources[] = {2, 2, 2, 3, 2, 1, 1};
    family();
    for (int wide = 0; wide < 2; wide++)
        for (int kind = ADD; kind <= SQRT; kind++)
            for (int mode = RN; mode <= RP; mode++)
                for (int ftz = 0; ftz < (wide ? 1 : 2); ftz++)
                    for (int sat = 0; sat < (wide || kind > FMA ? 1 : 2); sat++) {
                        char name[40];
                        snprintf(name, sizeof name, "%s%s%s%s", arithmetic_names[kind],
                                 rounding_names[mode], ftz ? ".ftz" : "", sat ? ".sat" : "");
                        op *o = same(float_arithmetic, wide ? &F64 : &F32, sources[kind], name);
                        o->kind = kind;
                        o->mode = mode;
                        o->ftz = ftz;
                        o->sat = sat;
                    }
}

/* One value, or a pair. */
static op *half(op_value value, const number *t, bool pair, int sources, const char *name)
{
    const char c = !pair ? t->reg : t == &F16 ? 'x' : 'y';
    const char result[] = {c, 0}, all[] = {c, c, c, 0};
    op *o = add(value, t, result, all + 3 - sources, "%s.%s%s", name, t->name, pair ? "x2" : "");
    o->packed = pair;
    return o;
}

static void add_half_floats(void)
{
    family();
    for (int n = 0; n < 4; n++) {
        const number *t = n & 1 ? &F16 : &BF16;
        for (int kind = ADD; kind <= FMA; kind++)
            for (int ftz = 0; ftz < (t == &F16 ? 2 : 1); ftz++)
                for (int end = 0; end < 3; end++) { /* .sat, .relu */
                    if ((end == 1 && t != &F16) || (end == 2 && kind != FMA))
                        continue;
                    char name[40];
                    snprintf(name, sizeof name, "%s%s%s%s", arithmetic_names[kind],
                             kind == FMA || n < 2 ? ".rn" : "", ftz ? ".ftz" : "",
                             end == 1   ? ".sat"
                             : end == 2 ? ".relu"
                                        : "");
                    op *o = half(float_arithmetic, t, n >= 2, kind == FMA ? 3 : 2, name);
                    o->kind = kind;
                    o->ftz = ftz;
                    o->sat = end == 1;
                    o->relu = end == 2;
                }
    }
}

static void add_float_order(void)
{
    family();
    for (int n = 0; n < 6; n++) {
        const number *t = n < 4 ? floats[n] : floats[n - 4];
        for (int kind = MIN; kind <= ABS; kind++)
            for (int ftz = 0; ftz < (t == &F16 || t == &F32 ? 2 : 1); ftz++)
                for (int nan = 0; nan < (t == &F64 || kind >= NEG ? 1 : 2); nan++) {
                    static const char *const names[] = {"min", "max", "neg", "abs"};
                    char name[40];
                    snprintf(name, sizeof name, "%s%s%s", names[kind - MIN], ftz ? ".ftz" : "",
                             nan ? ".NaN" : "");
                    op *o = half(kind < NEG ? float_order : float_sign, t, n >= 4,
                                 kind < NEG ? 2 : 1, name);
                    o->kind = kind;
                    o->ftz = ftz;
                    o->nan = nan;
                }
    }
    add(float_sign, &F32, "f", "ff",
        "setp.nan.f32 %%q0, $1, $1;\nselp.f32 %%w0, 0f7fffffff, $1, %%q0;\n"
        "@copysign.f32 $0, %%w0, $2;")
        ->kind = COPYSIGN;
    add(float_sign, &F64, "g", "gg",
        "setp.nan.f64 %%q0, $1, $1;\nselp.f64 %%z0, 0d7fffffffffffffff, $1, %%q0;\n"
        "@copysign.f64 $0, %%z0, $2;")
        ->kind = COPYSIGN;
    static const char *const tests[] = {"finite",     "infinite", "number",
                                        "notanumber", "normal",   "subnormal"};
    for (int kind = FINITE; kind <= SUBNORMAL; kind++) {
        add(float_test, &F32, "p", "f", "testp.%s.f32", tests[kind])->kind = kind;
        add(float_test, &F64, "p", "g", "testp.%s.f64", tests[kind])->kind = kind;
    }
}

/* ---- comparisons ----------------------------------------------------------------------------- */

static const char *const compare_names[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                            "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
static const char *const combine_names[] = {"", ".and", ".or", ".xor"};

/* setp of one kind with all combinations; one or two results */
static void add_setp(const number *t, const char *cmp, int kind, bool ftz, bool pair)
{
    const char c = pair ? t == &F16 ? 'x' : 'y' : t->reg;
    const char *x2 = pair ? "x2" : "";
    const bool single = !pair && t->kind == 'f' && t->bits == 16;
    for (int mode = JUST; mode < 8; mode++) {
        if (mode == 4)
            continue;
        const char sources[] = {c, c, mode ? 'p' : 0, 0};
        for (int two = pair ? 1 : 0; two < (single ? 1 : 2); two++) {
            op *o = add(compare_to_predicate, t, two ? "pp" : "p", sources,
                        "@setp.%s%s%s.%s%s $0%s, $%d, $%d%s%s;", cmp, combine_names[mode & 3],
                        ftz ? ".ftz" : "", t->name, x2, two ? "|$1" : "", two + 1, two + 2,
                        !mode      ? ""
                        : mode > 4 ? ", !"
                                   : ", ",
                        !mode ? ""
                        : two ? "$4"
                              : "$3");
            o->kind = kind;
            o->mode = mode;
            o->ftz = ftz;
            o->packed = pair;
        }
    }
}

static void add_compares(void)
{
    static const char *const unsigned_names[] = {"lo", "ls", "hi", "hs"};
    family();
    EACH(integers, t)
    for (int kind = EQ; kind <= GE; kind++) {
        add_setp(t, compare_names[kind], kind, false, false);
        if (t->kind == 'u' && kind >= LT)
            add_setp(t, unsigned_names[kind - LT], kind, false, false);
    }
    EACH(untyped, t)
    {
        add_setp(t, "eq", EQ, false, false);
        add_setp(t, "ne", NE, false, false);
    }
    family();
    for (int kind = EQ; kind <= ISNAN; kind++) {
        EACH(floats, t)
        for (int ftz = 0; ftz < (t == &F16 || t == &F32 ? 2 : 1); ftz++)
            add_setp(t, compare_names[kind], kind, ftz, false);
        add_setp(&F16, compare_names[kind], kind, false, true);
        add_setp(&F16, compare_names[kind], kind, true, true);
        add_setp(&BF16, compare_names[kind], kind, false, true);
    }
}

static void add_set(const number *to, const number *from, int kind, bool ftz)
{
    for (int mode = JUST; mode <= XOR; mode++) {
        const char sources[] = {from->reg, from->reg, mode ? 'p' : 0, 0};
        op *o =
            add(compare_to_value, to, (char[]){to->reg, 0}, sources, "set.%s%s%s.%s.%s",
                compare_names[kind], combine_names[mode], ftz ? ".ftz" : "", to->name, from->name);
        o->from = from;
        o->kind = kind;
        o->mode = mode;
        o->ftz = ftz;
    }
}

static void add_sets(void)
{
    static const number *const results[] = {&U32, &S32, &F32};
    family();
    EACH(results, to)
    {
        EACH(integers, from)
        for (int kind = EQ; kind <= GE; kind++)
            add_set(to, from, kind, false);
        for (int kind = EQ; kind <= ISNAN; kind++) {
            add_set(to, &F32, kind, false);
            add_set(to, &F32, kind, true);
            add_set(to, &F64, kind, false);
            if (to != &F32) {
                add_set(to, &F16, kind, false);
                add_set(to, &F16, kind, true);
                add_set(to, &BF16, kind, false);
            }
        }
    }
    for (int kind = EQ; kind <= ISNAN; kind++) {
        add_set(&F16, &F16, kind, false);
        add_set(&BF16, &BF16, kind, false);
        add_set(&U16, &F16, kind, false);
        add_set(&S16, &BF16, kind, false);
    }
}

static void add_selections(void)
{
    static const number *const classes[] = {&B16, &B32, &B64, &F32, &F64};
    family();
    EACH(classes, t)
    {
        const char c = t->reg, result[] = {c, 0};
        add(select_one, t, result, (char[]){c, c, 'p', 0}, "selp.%s", t->name);
        add(select_by_sign, t, result, (char[]){c, c, 'r', 0}, "slct.%s.s32", t->name)->from = &S32;
        for (int ftz = 0; ftz < 2; ftz++) {
            op *o = add(select_by_sign, t, result, (char[]){c, c, 'f', 0}, "slct%s.%s.f32",
                        ftz ? ".ftz" : "", t->name);
            o->from = &F32;
            o->ftz = ftz;
        }
    }
}

/* ---- conversions ----------------------------------------------------------------------------- */

static const number *const convertible[] = {&U8,  &S8,  &U16, &S16,  &U32, &S32,
                                            &U64, &S64, &F16, &BF16, &F32, &F64};

static op *add_cvt(const number *to, const number *from, const char *modifiers)
{
    op *o = add(convert, to, (char[]){to->reg, 0}, (char[]){from->reg, 0}, "cvt%s.%s.%s", modifiers,
                to->name, from->name);
    o->from = from;
    return o;
}

static void add_integer_cvt(const number *to, const number *from)
{
    /* .sat where there is something that does not fit */
    const bool fits = to->bits > from->bits && (to->kind == 's' || from->kind == 'u');
    for (int sat = 0; sat < (fits ? 1 : 2); sat++)
        add_cvt(to, from, sat ? ".sat" : "")->sat = sat;
    if (to->bits == 8) /* the same in a wider register */
        add(convert, to, "r", (char[]){from->reg, 0}, "cvt.%s.%s", to->name, from->name)->from =
            from;
}

static const char *const whole_names[] = {".rni", ".rzi", ".rmi", ".rpi"};

/* From or to an integer. */
static void add_mixed_cvt(const number *to, const number *from)
{
    const bool to_float = to->kind == 'f';
    const bool brain = to == &BF16 || from == &BF16;
    for (int mode = RN; mode <= RP; mode++)
        for (int ftz = 0; ftz < (to == &F32 || from == &F32 ? 2 : 1); ftz++)
            for (int sat = 0; sat < (brain ? 1 : 2); sat++) {
                char modifiers[40];
                snprintf(modifiers, sizeof modifiers, "%s%s%s",
                         to_float ? rounding_names[mode] : whole_names[mode], ftz ? ".ftz" : "",
                         sat ? ".sat" : "");
                op *o = add_cvt(to, from, modifiers);
                o->mode = mode;
                o->ftz = ftz;
                o->sat = sat;
                if (from == &F64 && to->bits < 32) { /* PTX does not say what becomes of NaN */
                    char name[80];
                    memcpy(name, o->text, sizeof name);
                    snprintf(o->text, sizeof o->text,
                             "setp.nan.f64 %%q0, $1, $1;\nselp.f64 %%z0, 0d0000000000000000, $1, "
                             "%%q0;\n@%s $0, %%z0;",
                             name);
                }
            }
}

static void add_float_cvt(const number *to, const number *from)
{
    const bool same_type = to == from, brain = to == &BF16 || from == &BF16;
    const bool loses = to->bits < from->bits || (to->bits == 16 && from->bits == 16);
    const bool single = to == &F32 || from == &F32;
    for (int mode = RN; mode <= RP; mode++)
        for (int ftz = 0; ftz < (single && !brain ? 2 : 1); ftz++)
            for (int sat = 0; sat < (brain ? 1 : 2); sat++) {
                if (mode && !same_type && !loses)
                    continue;
                char modifiers[40];
                snprintf(modifiers, sizeof modifiers, "%s%s%s",
                         same_type ? whole_names[mode]
                         : loses   ? rounding_names[mode]
                                   : "",
                         ftz ? ".ftz" : "", sat ? ".sat" : "");
                op *o = add_cvt(to, from, modifiers);
                o->kind = same_type;
                o->mode = mode;
                o->ftz = ftz;
                o->sat = sat;
            }
}

static void add_narrow_cvts(void)
{
    static const char *const ends[] = {"", ".relu", ".satfinite", ".relu.satfinite"};
    for (int n = 0; n < 4; n++) {
        const number *t = n & 1 ? &F16 : &BF16;
        for (int mode = RN; mode <= RZ; mode++)
            for (int end = n < 2 ? 1 : 0; end < 4; end++) {
                op *o = n < 2 ? add(convert, t, (char[]){t->reg, 0}, "f", "cvt%s%s.%s.f32",
                                    rounding_names[mode], ends[end], t->name)
                              : add(convert_pair, t, t == &F16 ? "x" : "y", "ff",
                                    "cvt%s%s.%sx2.f32", rounding_names[mode], ends[end], t->name);
                o->from = &F32;
                o->mode = mode;
                o->relu = end & 1;
                o->finite = end & 2;
            }
    }
    static const number parts[] = {{"u8", 'u', 8, 0, 0, 0, 'r'},
                                   {"s8", 's', 8, 0, 0, 0, 'r'},
                                   {"u16", 'u', 16, 0, 0, 0, 'r'},
                                   {"s16", 's', 16, 0, 0, 0, 'r'}};
    for (int n = 0; n < 4; n++)
        add(bits_pack, &parts[n], "r", n < 2 ? "rrr" : "rr", "cvt.pack.sat.%s.s32%s", parts[n].name,
            n < 2 ? ".b32" : "")
            ->from = &S32;
}

/* Of tf32 no more than its 19 bits counts; of NaN .rna keeps the others alone, it may be. */
static void convert_to_tf32(const op *o, const uint64_t *in, uint64_t *out)
{
    static const number tf32 = {"tf32", 'f', 32, 11, -126, 127, 'f'};
    const long double x = rounded(&tf32, value_of(&F32, in[0]), o->mode);
    out[0] = bits_of(&F32, o->relu && !isnan(x) && !(x > 0) ? 0 : x);
}

static void add_tf32(void)
{
    static const char *const names[] = {"rn", "rz", "rn.relu", "rz.relu", "rna"};
    static const int modes[] = {RN, RZ, RN, RZ, RNA};
    static const char nan[] =
        "setp.nan.f32 %q0, $1, $1;\nselp.b32 %t0, 0x7fffffff, %t0, %q0;\n";
    for (int n = 0; n < 5; n++) {
        op *o = add(convert_to_tf32, &F32, "f", "f",
                    "cvt.%s.tf32.f32 %%t0, $1;\nand.b32 %%t0, %%t0, 0xffffe000;\n%s"
                    "@mov.b32 $0, %%t0;",
                    names[n], modes[n] == RNA ? nan : "");
        o->mode = modes[n];
        o->relu = n == 2 || n == 3;
    }
}

static void add_conversions(void)
{
    family();
    EACH(convertible, to)
    EACH(convertible, from)
    if (to->kind != 'f' && from->kind != 'f' && to != from)
        add_integer_cvt(to, from);
    family();
    EACH(convertible, to)
    EACH(convertible, from)
    if ((to->kind == 'f') != (from->kind == 'f') && (to != &BF16 || from->bits > 8) &&
        (from != &BF16 || to->bits > 8))
        add_mixed_cvt(to, from);
    family();
    EACH(convertible, to)
    EACH(convertible, from)
    if (to->kind == 'f' && from->kind == 'f')
        add_float_cvt(to, from);
    add_narrow_cvts();
    add_tf32();
}

/* ---- moves ----------------------------------------------------------------------------------- */

static void add_moves(void)
{
    static const char classes[] = "srdfg";
    static const char *const types[] = {"b16", "b32", "b64", "f32", "f64"};
    family();
    for (int n = 0; n < 5; n++) {
        const char c[] = {classes[n], 0};
        add(move, &B32, c, c, "mov.%s", types[n]);
    }
    add(move, &B32, "p", "p", "mov.pred");
    add(move, &B16, "h", "s", "mov.b16");
    add(move, &B16, "b", "s", "mov.b16");
    add(move, &B32, "x", "r", "mov.b32");
    add(move, &B32, "y", "r", "mov.b32");
    add(move, &B32, "f", "r", "mov.b32");
    add(move, &B64, "g", "d", "mov.b64");
    add(move_float, &F16, "s", "h",
        "setp.nan.f16 %%q0, $1, $1;\nmov.b16 %%v0, $1;\n@selp.b16 $0, 0x7fff, %%v0, %%q0;");
    add(move_float, &BF16, "s", "b",
        "setp.nan.bf16 %%q0, $1, $1;\nmov.b16 %%v0, $1;\n@selp.b16 $0, 0x7fff, %%v0, %%q0;");
    for (int brain = 0; brain < 2; brain++) {
        const char *t = brain ? "bf16" : "f16";
        add(move_float, brain ? &BF16 : &F16, "r", brain ? "y" : "x",
            "setp.nan.%sx2 %%q0|%%q1, $1, $1;\nmov.b32 {%%v0, %%v1}, $1;\n"
            "selp.b16 %%v0, 0x7fff, %%v0, %%q0;\nselp.b16 %%v1, 0x7fff, %%v1, %%q1;\n"
            "@mov.b32 $0, {%%v0, %%v1};",
            t)
            ->packed = true;
    }
    add(move_float, &F32, "r", "f",
        "setp.nan.f32 %%q0, $1, $1;\nmov.b32 %%t0, $1;\n@selp.b32 $0, 0x7fffffff, %%t0, %%q0;");
    add(move_float, &F64, "d", "g",
        "setp.nan.f64 %%q0, $1, $1;\nmov.b64 %%u0, $1;\n"
        "@selp.b64 $0, 0x7fffffffffffffff, %%u0, %%q0;");
    add(join, &B32, "r", "ss", "@mov.b32 $0, {$1, $2};")->from = &B16;
    add(join, &B64, "d", "rr", "@mov.b64 $0, {$1, $2};")->from = &B32;
    add(join, &B64, "d", "ssss", "@mov.b64 $0, {$1, $2, $3, $4};")->from = &B16;
    add(join, &B32, "x", "hh", "@mov.b32 $0, {$1, $2};")->from = &B16;
    add(join, &B32, "y", "bb", "@mov.b32 $0, {$1, $2};")->from = &B16;
    add(split, &B32, "ss", "r", "@mov.b32 {$0, $1}, $2;")->from = &B16;
    add(split, &B64, "rr", "d", "@mov.b64 {$0, $1}, $2;")->from = &B32;
    add(split, &B32, "s", "r", "@mov.b32 {$0, _}, $1;")->from = &B16;
    add(split, &B64, "r", "d", "@mov.b64 {$0, _}, $1;")->from = &B32;
    add(split, &B32, "hh", "x", "@mov.b32 {$0, $1}, $2;")->from = &B16;
    add(split, &B32, "bb", "y", "@mov.b32 {$0, $1}, $2;")->from = &B16;
}

static void make_ops(void)
{
    if (op_count)
        return;
    add_sums();
    add_products();
    add_quotients();
    add_carries();
    add_logic();
    add_fields();
    add_packed_integers();
    add_video();
    add_wide_floats();
    add_half_floats();
    add_float_order();
    add_compares();
    add_sets();
    add_selections();
    add_conversions();
    add_moves();
    family_start[family_count] = op_count;
}

#endif
