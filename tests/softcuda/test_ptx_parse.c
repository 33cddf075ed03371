/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The PTX front end: what it makes of valid text, what it says of invalid text, and that no text,
   however broken, makes it crash or hang. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ptx/ptx.h"

#define HEADER ".version 7.5\n.target sm_75\n.address_size 64\n"

/* Kernel k on line 4, its body from line 5 on. */
#define KERNEL(body) HEADER ".visible .entry k(.param .u64 out) {\n" body "\n}\n"

static ptx_module *parse(const char *text)
{
    ptx_error error;
    ptx_module *module = ptx_parse(text, strlen(text), &error);
    if (!module)
        print_error("%s\n", error.text);
    assert_non_null(module);
    return module;
}

static const ptx_function *function(const ptx_module *module, const char *name)
{
    const ptx_function *found = ptx_find_function(module, name);
    assert_non_null(found);
    return found;
}

static const ptx_var *variable(const ptx_module *module, const char *name)
{
    const ptx_var *found = ptx_find_var(module, name);
    assert_non_null(found);
    return found;
}

static const ptx_inst *inst_at(const ptx_function *fn, uint32_t index)
{
    assert_true(index < fn->inst_count);
    return &fn->insts[index];
}

/* ---- module --------------------------------------------------------------------------------- */

static void test_module_header(void **state)
{
    (void)state;
    ptx_module *m = parse(".version 8.3 // newest\n.target sm_90a, debug\n.address_size 64\n");
    assert_int_equal(m->version, 83);
    assert_int_equal(m->target, 90);
    assert_int_equal(m->target_suffix, 'a');
    assert_int_equal(m->address_size, 64);
    assert_int_equal(m->function_count, 0);
    ptx_free(m);
}

static void test_text_may_end_at_nul_or_length(void **state)
{
    (void)state;
    ptx_error error;
    const char text[] = HEADER "\0 this is never read";
    ptx_module *m = ptx_parse(text, sizeof text, &error);
    assert_non_null(m);
    ptx_free(m);
    m = ptx_parse(HEADER "garbage", strlen(HEADER), &error);
    assert_non_null(m);
    ptx_free(m);
}

static void test_debug_information_is_skipped(void **state)
{
    (void)state;
    ptx_module *m = parse(HEADER ".file 1 \"a b.cu\", 1, 2\n"
                                 ".section .debug_abbrev {\n.b8 1 // {\n$L: .b8 \"}\"[2], 4\n}\n"
                                 ".func f() { .loc 1 30 7\n ret; .loc 2 8 1, function_name $L + 4, "
                                 "inlined_at 1 2 3\n exit; }\n"
                                 ".file 2 \"late.cu\"\n");
    const ptx_function *f = function(m, "f");
    assert_int_equal(m->loc_count, 2);
    const ptx_loc *first = &m->locs[inst_at(f, 0)->loc], *second = &m->locs[inst_at(f, 1)->loc];
    assert_string_equal(first->file, "a b.cu");
    assert_int_equal(first->line, 30);
    assert_int_equal(first->column, 7);
    assert_string_equal(second->file, "late.cu");
    ptx_free(m);
}

/* ---- variables ------------------------------------------------------------------------------ */

static void assert_image(const ptx_var *var, const void *bytes, size_t length)
{
    assert_int_equal(var->bytes, length);
    assert_non_null(var->init);
    assert_memory_equal(var->init, bytes, length);
}

static void test_scalar_initializers(void **state)
{
    (void)state;
    ptx_module *m = parse(HEADER ".global .u32 a = 0x10 + 3 * (7 - 5);\n"
                                 ".const .s16 b = -2;\n"
                                 ".global .f32 c = 0f3FC00000;\n"
                                 ".global .f64 d = -1.5;\n"
                                 ".global .f32 e = 2.5e-1;\n"
                                 ".global .u64 f = 0xFFFFFFFFFFFFFFFFU;\n"
                                 ".global .b8 g = (5 > 3) ? 0b101 : 017;\n"
                                 ".global .f16 h = 1.0;\n"
                                 ".global .u32 zero;\n");
    const uint32_t a = 22, c = 0x3FC00000;
    const int16_t b = -2;
    const double d = -1.5;
    const float e = 0.25f;
    const uint64_t f = UINT64_MAX;
    const uint8_t g = 5;
    const uint16_t h = 0x3C00;
    assert_image(variable(m, "a"), &a, 4);
    assert_image(variable(m, "b"), &b, 2);
    assert_image(variable(m, "c"), &c, 4);
    assert_image(variable(m, "d"), &d, 8);
    assert_image(variable(m, "e"), &e, 4);
    assert_image(variable(m, "f"), &f, 8);
    assert_image(variable(m, "g"), &g, 1);
    assert_image(variable(m, "h"), &h, 2);
    assert_null(variable(m, "zero")->init);
    assert_int_equal(variable(m, "b")->space, PTX_SPACE_CONST);
    assert_int_equal(m->var_count, 9);
    assert_ptr_equal(m->vars[variable(m, "d")->index], variable(m, "d"));
    ptx_free(m);
}

static void test_array_initializers(void **state)
{
    (void)state;
    ptx_module *m = parse(HEADER ".global .align 16 .u16 a[2][3] = {{1, 2, 3}, {4, 5}};\n"
                                 ".global .u8 open[] = {1, 2, 3, 4, 5};\n"
                                 ".global .u16 rows[][2] = {{1, 2}, {3}};\n"
                                 ".global .v2 .u16 vec[2] = {{1, 2}, {3, 4}};\n"
                                 ".global .u16 flat[2][2] = {1, 2, 3};\n"
                                 ".global .b8 tail[9] = {7};\n");
    const uint16_t a[] = {1, 2, 3, 4, 5, 0}, rows[] = {1, 2, 3, 0}, vec[] = {1, 2, 3, 4};
    const uint16_t flat[] = {1, 2, 3, 0};
    const uint8_t open[] = {1, 2, 3, 4, 5}, tail[9] = {7};
    assert_image(variable(m, "a"), a, sizeof a);
    assert_int_equal(variable(m, "a")->align, 16);
    assert_image(variable(m, "open"), open, sizeof open);
    assert_image(variable(m, "rows"), rows, sizeof rows);
    assert_image(variable(m, "vec"), vec, sizeof vec);
    assert_int_equal(variable(m, "vec")->align, 4);
    assert_image(variable(m, "flat"), flat, sizeof flat);
    assert_image(variable(m, "tail"), tail, sizeof tail);
    ptx_free(m);
}

static void test_addresses_in_initializers(void **state)
{
    (void)state;
    ptx_module *m = parse(HEADER ".global .u32 x[4];\n.func f() { ret; }\n"
                                 ".global .u64 p[4] = {x, generic(x)+8, generic(x+4), f};\n"
                                 ".global .u8 bytes[2] = {0xFF00(x), 0xFF(generic(x)+3)};\n");
    const ptx_var *x = variable(m, "x"), *p = variable(m, "p"), *bytes = variable(m, "bytes");
    assert_int_equal(p->reloc_count, 4);
    assert_ptr_equal(p->relocs[0].var, x);
    assert_false(p->relocs[0].generic);
    assert_int_equal(p->relocs[1].offset, 8);
    assert_int_equal(p->relocs[1].addend, 8);
    assert_int_equal(p->relocs[1].bytes, 8);
    assert_true(p->relocs[1].generic);
    assert_int_equal(p->relocs[2].addend, 4);
    assert_ptr_equal(p->relocs[3].function, function(m, "f"));
    assert_int_equal(bytes->reloc_count, 2);
    assert_int_equal(bytes->relocs[0].shift, 8);
    assert_int_equal(bytes->relocs[0].bytes, 1);
    assert_int_equal(bytes->relocs[1].shift, 0);
    assert_int_equal(bytes->relocs[1].addend, 3);
    ptx_free(m);
}

static void test_linkage_and_attributes(void **state)
{
    (void)state;
    ptx_module *m = parse(HEADER ".extern .global .u32 later;\n"
                                 ".visible .global .attribute(.managed) .align 8 .u32 shown = 1;\n"
                                 ".weak .const .f64 maybe[3];\n"
                                 ".visible .global .u32 later = 5;\n"
                                 ".extern .global .u32 shown;\n"
                                 ".extern .shared .align 16 .b8 dyn[];\n");
    assert_int_equal(variable(m, "later")->linkage, PTX_LINKAGE_VISIBLE);
    assert_int_equal(variable(m, "later")->init[0], 5);
    assert_int_equal(variable(m, "shown")->linkage, PTX_LINKAGE_VISIBLE);
    assert_true(variable(m, "shown")->managed);
    assert_int_equal(variable(m, "maybe")->linkage, PTX_LINKAGE_WEAK);
    assert_int_equal(variable(m, "maybe")->bytes, 24);
    assert_true(variable(m, "dyn")->dynamic);
    assert_int_equal(m->var_count, 3);
    ptx_free(m);
}

/* ---- functions ------------------------------------------------------------------------------ */

static void test_kernel_parameters(void **state)
{
    (void)state;
    ptx_module *m = parse(HEADER ".visible .entry k(\n"
                                 ".param .u8 a,\n"
                                 ".param .u64 .ptr .global .align 4 b,\n"
                                 ".param .align 16 .b8 c[20],\n"
                                 ".param .align 8 .f32 d[2],\n"
                                 ".param .f64 e)\n"
                                 ".maxntid 128, 2\n.minnctapersm 3\n.maxnreg 40\n"
                                 "{ ret; }\n"
                                 ".entry r() .reqntid 64, 4, 1 { ret; }\n");
    const ptx_function *k = function(m, "k");
    const unsigned offsets[] = {0, 8, 16, 40, 48};
    assert_true(k->is_kernel && k->is_defined);
    assert_int_equal(k->linkage, PTX_LINKAGE_VISIBLE);
    assert_int_equal(k->param_count, 5);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(k->params[i]->offset, offsets[i]);
    assert_int_equal(k->param_block, 56);
    assert_true(k->params[1]->is_pointer);
    assert_int_equal(k->params[1]->pointer_space, PTX_SPACE_GLOBAL);
    assert_int_equal(k->params[1]->pointer_align, 4);
    assert_int_equal(k->params[2]->bytes, 20);
    assert_int_equal(k->maxntid[0], 128);
    assert_int_equal(k->maxntid[1], 2);
    assert_int_equal(k->maxntid[2], 1);
    assert_int_equal(k->minnctapersm, 3);
    assert_int_equal(k->maxnreg, 40);
    assert_int_equal(function(m, "r")->reqntid[1], 4);
    ptx_free(m);
}

static void test_functions_and_declarations(void **state)
{
    (void)state;
    ptx_module *m =
        parse(HEADER ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
                     ".func (.param .b32 r) twice(.param .b32 x);\n"
                     ".visible .func (.reg .b32 r) old(.reg .b32 x) { mov.b32 r, x; ret; }\n"
                     ".func (.param .b32 r) twice(.param .b32 x)\n{\n"
                     ".reg .b32 %a<3>;\n.param .b8 big[3];\n.param .b64 p;\n"
                     "ld.param.b32 %a1, [x];\nst.param.b32 [r+0], %a1;\nret;\n}\n"
                     ".func stop() .noreturn { trap; }\n");
    const ptx_function *vprintf_ = function(m, "vprintf"), *twice = function(m, "twice");
    assert_false(vprintf_->is_defined);
    assert_int_equal(vprintf_->linkage, PTX_LINKAGE_EXTERN);
    assert_int_equal(vprintf_->param_count, 2);
    assert_true(twice->is_defined);
    assert_int_equal(twice->returns[0]->offset, 0);
    assert_int_equal(twice->params[0]->offset, 4);
    assert_int_equal(twice->vars[0]->offset, 8);
    assert_int_equal(twice->vars[1]->offset, 16);
    assert_int_equal(twice->param_frame, 24);
    const ptx_function *old = function(m, "old");
    assert_int_equal(old->params[0]->space, PTX_SPACE_REG);
    assert_int_equal(inst_at(old, 0)->operands[0].reg, old->returns[0]->reg);
    assert_int_equal(inst_at(old, 0)->operands[1].reg, old->params[0]->reg);
    assert_true(function(m, "stop")->noreturn);
    assert_null(ptx_find_function(m, "x"));
    ptx_free(m);
}

static void test_alias_has_the_body_of_its_target(void **state)
{
    (void)state;
    ptx_module *m = parse(HEADER ".visible .func other();\n.func body() { trap; }\n"
                                 ".alias other, body;\n");
    assert_true(function(m, "other")->is_defined);
    assert_string_equal(function(m, "other")->name, "other");
    assert_int_equal(inst_at(function(m, "other"), 0)->op, PTX_OP_TRAP);
    ptx_free(m);
}

/* ---- registers and scopes ------------------------------------------------------------------- */

static void test_registers_are_dense(void **state)
{
    (void)state;
    ptx_module *m = parse(KERNEL(".reg .pred %p<2>; .reg .b32 %r<12>, x; .reg .b64 %rd<3>;\n"
                                 ".reg .v4 .f32 v;\n"
                                 "mov.b32 %r11, x; mov.b64 %rd2, %rd0; mov.f32 v.z, v.x;"));
    const ptx_function *k = function(m, "k");
    char name[16];
    assert_int_equal(k->reg_count, 2 + 12 + 1 + 3 + 4);
    assert_int_equal(inst_at(k, 0)->operands[0].reg, 13);
    assert_int_equal(inst_at(k, 0)->operands[1].reg, 14);
    assert_int_equal(inst_at(k, 1)->operands[0].reg, 17);
    assert_int_equal(inst_at(k, 2)->operands[0].reg, 20);
    assert_int_equal(inst_at(k, 2)->operands[1].reg, 18);
    assert_int_equal(k->reg_types[0], PTX_PRED);
    assert_int_equal(k->reg_types[13], PTX_B32);
    assert_int_equal(k->reg_types[17], PTX_B64);
    assert_string_equal(ptx_reg_name(k, 13, name, sizeof name), "%r11");
    assert_string_equal(ptx_reg_name(k, 14, name, sizeof name), "x");
    assert_string_equal(ptx_reg_name(k, 15, name, sizeof name), "%rd0");
    ptx_free(m);
}

static void test_scopes_hide_and_end(void **state)
{
    (void)state;
    ptx_module *m = parse(KERNEL(".reg .b32 %r<3>;\n"
                                 "{ .reg .b32 %r1; mov.b32 %r1, %r2; { .reg .b32 %r<9>; "
                                 "mov.b32 %r1, 0; } mov.b32 %r1, 1; }\n"
                                 "mov.b32 %r1, 2;\n"
                                 "{ .param .b32 a; st.param.b32 [a], 1; }\n"
                                 "{ .param .b64 a; st.param.b64 [a], 1; }"));
    const ptx_function *k = function(m, "k");
    assert_int_equal(inst_at(k, 0)->operands[0].reg, 3);
    assert_int_equal(inst_at(k, 0)->operands[1].reg, 2);
    assert_int_equal(inst_at(k, 1)->operands[0].reg, 4 + 1);
    assert_int_equal(inst_at(k, 2)->operands[0].reg, 3);
    assert_int_equal(inst_at(k, 3)->operands[0].reg, 1);
    assert_int_equal(inst_at(k, 4)->operands[0].var->bytes, 4);
    assert_int_equal(inst_at(k, 5)->operands[0].var->bytes, 8);
    assert_int_equal(k->param_frame, 16);
    ptx_free(m);
}

static void test_labels_belong_to_their_braces(void **state)
{
    (void)state;
    ptx_module *m = parse(KERNEL("{ WAIT: bra WAIT; bra DONE; DONE: }\n"
                                 "{ WAIT: bra WAIT; { bra DONE; } DONE: }\n"
                                 "bra END;\nEND:"));
    const ptx_function *k = function(m, "k");
    const uint32_t targets[] = {0, 2, 2, 4, 5};
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(inst_at(k, i)->operands[0].target, targets[i]);
    assert_int_equal(k->inst_count, 6);
    assert_int_equal(inst_at(k, 5)->op, PTX_OP_RET);
    ptx_free(m);
}

static void test_body_always_ends_in_a_jump(void **state)
{
    (void)state;
    ptx_module *m = parse(HEADER ".func a() { }\n"
                                 ".func b() { .reg .pred p; @p ret; }\n"
                                 ".func c() { exit; }\n"
                                 ".func d() { bra L; L: }\n");
    assert_int_equal(function(m, "a")->inst_count, 1);
    assert_int_equal(function(m, "b")->inst_count, 2);
    assert_int_equal(function(m, "c")->inst_count, 1);
    assert_int_equal(function(m, "d")->inst_count, 2);
    ptx_free(m);
}

/* ---- instructions --------------------------------------------------------------------------- */

#define REGS \
    ".reg .pred %p<4>; .reg .b16 %rs<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<8>;\n"

static void test_opcode_is_taken_apart(void **state)
{
    (void)state;
    ptx_module *m =
        parse(KERNEL(REGS "cvt.rn.ftz.f32.s32 %f1, %r1;\n"
                          "@!%p2 ld.global.L1::no_allocate.v4.u32 {%r1,%r2,%r3,_}, [%rd1+-16];\n"
                          "frobnicate.odd.u32 %r1, [out], {1, 2};\n"
                          "add .s32 %r1, %r2, WARP_SZ;\n"
                          "cp.async.ca.shared.global [%rd1], [%rd2], 16;"));
    const ptx_function *k = function(m, "k");
    const ptx_inst *cvt = inst_at(k, 0), *ld = inst_at(k, 1), *odd = inst_at(k, 2);
    assert_int_equal(cvt->op, PTX_OP_CVT);
    assert_string_equal(cvt->name, "cvt.rn.ftz.f32.s32");
    assert_int_equal(cvt->type_count, 2);
    assert_int_equal(cvt->types[0], PTX_F32);
    assert_int_equal(cvt->types[1], PTX_S32);
    assert_int_equal(cvt->mod_count, 2);
    assert_true(ptx_inst_has(cvt, PTX_MOD_RN) && ptx_inst_has(cvt, PTX_MOD_FTZ));
    assert_int_equal(cvt->guard, PTX_NO_INDEX);
    assert_int_equal(cvt->line, 6);

    assert_int_equal(ld->guard, 2);
    assert_true(ld->guard_negated);
    assert_int_equal(ld->space, PTX_SPACE_GLOBAL);
    assert_int_equal(ld->vector, 4);
    assert_int_equal(ld->operands[0].kind, PTX_OPERAND_VECTOR);
    assert_int_equal(ld->operands[0].count, 4);
    assert_int_equal(ld->operands[0].items[3].kind, PTX_OPERAND_SINK);
    assert_int_equal(ld->operands[1].kind, PTX_OPERAND_MEMORY);
    assert_int_equal(ld->operands[1].base, PTX_OPERAND_REG);
    assert_int_equal(ld->operands[1].offset, -16);

    assert_int_equal(odd->op, PTX_OP_UNKNOWN);
    assert_string_equal(odd->name, "frobnicate.odd.u32");
    assert_int_equal(odd->mods[0], PTX_MOD_OTHER);
    assert_int_equal(odd->operand_count, 3);
    assert_string_equal(inst_at(k, 3)->name, "add.s32");
    assert_int_equal(inst_at(k, 3)->operands[2].value, 32);
    assert_int_equal(inst_at(k, 4)->space, PTX_SPACE_SHARED);
    assert_int_equal(inst_at(k, 4)->space2, PTX_SPACE_GLOBAL);
    ptx_free(m);
}

static void test_operands(void **state)
{
    (void)state;
    ptx_module *m =
        parse(HEADER ".global .u32 g[8];\n.entry k(.param .u64 out) {\n" REGS ".shared .u32 s[4];\n"
                     "setp.lt.and.s32 %p1|%p2, %r1, -7, !%p3;\n"
                     "mov.u32 %r1, %ctaid.y;\n"
                     "mov.b32 %r1, %envreg12;\n"
                     "mov.f32 %f1, 0f40490FDB;\n"
                     "mov.u64 %rd1, g+12;\n"
                     "ld.shared.u32 %r1, [s+8];\n"
                     "ld.global.u32 %r1, g[3];\n"
                     "ld.u32 %r1, [4096];\n"
                     "vadd.s32.s32.s32 %r1, %r2.b3, -%r3.h1;\n"
                     "mov.b32 %r1, 0xFFFFFFFF;\n"
                     "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f5,%f6}];\n"
                     "mov.u64 %rd1, k;\n}\n");
    const ptx_function *k = function(m, "k");
    const ptx_operand *setp = inst_at(k, 0)->operands;
    assert_int_equal(setp[0].kind, PTX_OPERAND_PAIR);
    assert_int_equal(setp[0].items[1].reg, 2);
    assert_int_equal((int64_t)setp[2].value, -7);
    assert_true(setp[3].negated);
    assert_int_equal(inst_at(k, 1)->operands[1].special, PTX_SPECIAL_CTAID_Y);
    assert_int_equal(inst_at(k, 2)->operands[1].special, PTX_SPECIAL_ENVREG);
    assert_int_equal(inst_at(k, 2)->operands[1].value, 12);
    const ptx_operand *pi = &inst_at(k, 3)->operands[1];
    assert_int_equal(pi->kind, PTX_OPERAND_FLOAT);
    assert_int_equal(pi->float_bits, 32);
    assert_int_equal(ptx_constant_bits(pi, PTX_F32), 0x40490FDB);
    assert_int_equal(inst_at(k, 4)->operands[1].kind, PTX_OPERAND_VAR);
    assert_int_equal(inst_at(k, 4)->operands[1].offset, 12);
    assert_string_equal(inst_at(k, 5)->operands[1].var->name, "s");
    assert_int_equal(inst_at(k, 5)->operands[1].offset, 8);
    assert_int_equal(inst_at(k, 6)->operands[1].kind, PTX_OPERAND_MEMORY);
    assert_int_equal(inst_at(k, 6)->operands[1].offset, 12);
    assert_int_equal(inst_at(k, 7)->operands[1].base, PTX_OPERAND_INTEGER);
    assert_int_equal(inst_at(k, 7)->operands[1].offset, 4096);
    assert_int_equal(inst_at(k, 8)->operands[1].selector, PTX_MOD_BYTE3);
    assert_int_equal(inst_at(k, 8)->operands[2].selector, PTX_MOD_HALF1);
    assert_true(inst_at(k, 8)->operands[2].negated);
    assert_int_equal(ptx_constant_bits(&inst_at(k, 9)->operands[1], PTX_B32), 0xFFFFFFFF);
    assert_int_equal(inst_at(k, 10)->operands[1].items[0].count, 2);
    assert_int_equal(inst_at(k, 11)->operands[1].kind, PTX_OPERAND_FUNCTION);
    ptx_free(m);
}

static void test_calls(void **state)
{
    (void)state;
    ptx_module *m =
        parse(HEADER ".func (.param .b32 r) f(.param .b32 a, .param .b32 b) { ret; }\n"
                     ".func g() { ret; }\n"
                     ".entry k() {\n" REGS "{ .param .b32 r0; .param .b32 p0;\n"
                     "call.uni (r0), f, (p0, 5);\n"
                     "call g;\n"
                     "proto: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);\n"
                     "call (r0), %rd1, (p0, %r1), proto;\n"
                     "list: .calltargets f;\n"
                     "call (r0), %rd1, (p0, p0), list;\n }\n"
                     "ts: .branchtargets A, B;\n"
                     "brx.idx %r1, ts;\nA: ret;\nB: exit;\n}\n");
    const ptx_function *k = function(m, "k");
    const ptx_call *direct = inst_at(k, 0)->call, *plain = inst_at(k, 1)->call;
    assert_ptr_equal(direct->callee, function(m, "f"));
    assert_int_equal(direct->return_count, 1);
    assert_string_equal(direct->returns[0].var->name, "r0");
    assert_int_equal(direct->arg_count, 2);
    assert_int_equal(direct->args[1].value, 5);
    assert_ptr_equal(plain->callee, function(m, "g"));
    assert_int_equal(plain->arg_count, 0);
    const ptx_call *indirect = inst_at(k, 2)->call;
    assert_null(indirect->callee);
    assert_int_equal(inst_at(k, 2)->operands[0].kind, PTX_OPERAND_REG);
    assert_int_equal(indirect->targets->prototype->param_count, 2);
    assert_int_equal(indirect->targets->prototype->params[1]->offset, 8);
    assert_ptr_equal(inst_at(k, 3)->call->targets->functions[0], function(m, "f"));
    const ptx_operand *table = &inst_at(k, 4)->operands[1];
    assert_int_equal(table->kind, PTX_OPERAND_TARGETS);
    assert_int_equal(table->targets->count, 2);
    assert_int_equal(table->targets->labels[0], 5);
    assert_int_equal(table->targets->labels[1], 6);
    ptx_free(m);
}

/* ---- layout --------------------------------------------------------------------------------- */

static void test_shared_memory_is_packed_by_kernel(void **state)
{
    (void)state;
    ptx_module *m =
        parse(HEADER
              ".shared .align 4 .b8 common[20];\n.extern .shared .align 16 .b8 dyn[];\n"
              ".func f() { .reg .b32 r; .shared .align 8 .b8 own[8]; mov.b32 r, own; ret; }\n"
              ".entry a() { .reg .b32 r; .shared .b8 x[30000]; call f; mov.b32 r, x; "
              "mov.b32 r, common; mov.b32 r, dyn; }\n"
              ".entry b() { .reg .b32 r; .shared .b8 y[40000]; mov.b32 r, y; mov.b32 r, common; }\n"
              ".entry c() { call f; }\n"
              ".entry d() { ret; }\n");
    const ptx_function *a = function(m, "a"), *b = function(m, "b"), *c = function(m, "c");
    const ptx_var *own = function(m, "f")->vars[0], *x = a->vars[0], *y = b->vars[0];
    assert_int_equal(variable(m, "common")->offset, 0);
    assert_int_equal(own->offset, 24);
    assert_int_equal(x->offset, 32);
    assert_int_equal(y->offset, 20);
    assert_int_equal(a->shared_bytes, 30032);
    assert_int_equal(b->shared_bytes, 40020);
    assert_int_equal(c->shared_bytes, 32);
    assert_int_equal(function(m, "d")->shared_bytes, 0);
    assert_true(a->uses_dynamic_shared);
    assert_false(b->uses_dynamic_shared);
    assert_int_equal(a->dynamic_shared_offset, 30032);
    ptx_free(m);
}

static void test_indirect_calls_reach_every_taken_address(void **state)
{
    (void)state;
    ptx_module *m =
        parse(HEADER ".func f() { .reg .b32 r; .shared .b8 own[64]; mov.b32 r, own; ret; }\n"
                     ".global .u64 table[1] = {f};\n"
                     ".entry k() { .reg .b64 r; p: .callprototype _ (); call r, p; }\n");
    assert_int_equal(function(m, "k")->shared_bytes, 64);
    ptx_free(m);
}

static void test_local_frame(void **state)
{
    (void)state;
    ptx_module *m =
        parse(KERNEL(".local .b8 a[3]; .local .align 16 .b8 b[20]; { .local .u32 c; }"));
    const ptx_function *k = function(m, "k");
    assert_int_equal(k->vars[0]->offset, 0);
    assert_int_equal(k->vars[1]->offset, 16);
    assert_int_equal(k->vars[2]->offset, 36);
    assert_int_equal(k->local_bytes, 40);
    assert_int_equal(k->local_align, 16);
    ptx_free(m);
}

/* ---- constants ------------------------------------------------------------------------------ */

static void test_constant_bits(void **state)
{
    (void)state;
    static const struct {
        double number;
        ptx_type type;
        uint64_t bits;
    } cases[] = {
        {1.0, PTX_F16, 0x3C00},
        {65504.0, PTX_F16, 0x7BFF},
        {65520.0, PTX_F16, 0x7C00},
        {-65519.0, PTX_F16, 0xFBFF},
        {0x1p-24, PTX_F16, 0x0001},
        {0x1p-25, PTX_F16, 0x0000},
        {0x1.8p-25, PTX_F16, 0x0001},
        {0x1.ffcp-15, PTX_F16, 0x0400},
        {1.00048828125, PTX_F16, 0x3C00},
        {1.0014648437500001, PTX_F16, 0x3C02},
        {-0.0, PTX_F16, 0x8000},
        {1.0, PTX_BF16, 0x3F80},
        {3.4e38, PTX_BF16, 0x7F80},
        {1.1, PTX_F32, 0x3F8CCCCD},
        {1.1, PTX_F64, 0x3FF199999999999A},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ptx_operand operand = {
            .kind = PTX_OPERAND_FLOAT, .float_bits = 64, .number = cases[i].number};
        memcpy(&operand.value, &operand.number, sizeof operand.value);
        assert_int_equal(ptx_constant_bits(&operand, cases[i].type), cases[i].bits);
    }
    const ptx_operand minus_one = {.kind = PTX_OPERAND_INTEGER, .value = UINT64_MAX};
    assert_int_equal(ptx_constant_bits(&minus_one, PTX_U16), 0xFFFF);
    assert_int_equal(ptx_constant_bits(&minus_one, PTX_S64), UINT64_MAX);
    assert_int_equal(ptx_constant_bits(&minus_one, PTX_F32), 0xBF800000);
}

/* ---- words ---------------------------------------------------------------------------------- */

static void test_words(void **state)
{
    (void)state;
    assert_string_equal(ptx_type_name(PTX_BF16X2), "bf16x2");
    assert_int_equal(ptx_type_bits(PTX_PRED), 1);
    assert_int_equal(ptx_type_bytes(PTX_F64), 8);
    assert_true(ptx_type_is_float(PTX_F16) && !ptx_type_is_float(PTX_B32));
    assert_true(ptx_type_is_signed(PTX_S8) && !ptx_type_is_signed(PTX_U8));
    assert_string_equal(ptx_op_name(PTX_OP_MAD), "mad");
    assert_string_equal(ptx_mod_name(PTX_MOD_WIDE), "wide");
    assert_string_equal(ptx_special_name(PTX_SPECIAL_TID_X), "%tid.x");
    assert_int_equal(ptx_special_type(PTX_SPECIAL_CLOCK64), PTX_U64);
    assert_string_equal(ptx_space_name(PTX_SPACE_SHARED), "shared");
}

/* ---- errors --------------------------------------------------------------------------------- */

/* Body statements stand on line 5. */
#define BODY(body) KERNEL(REGS_ONE_LINE body)
#define REGS_ONE_LINE ".reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %rd<3>; "

static const struct {
    const char *text;
    unsigned code, line;
    const char *part; /* of the message */
} errors[] = {
    {"", 218, 0, "no .version"},
    {"hello", 218, 1, "starts without .version"},
    {".version 7.5\n", 218, 0, "no .target"},
    {".version 7.5\n.entry k() {}", 218, 2, "starts without .target"},
    {".version 99.0\n", 222, 1, "PTX version 99.0 is newer"},
    {".version x\n", 218, 1, "a version such as 7.5, found \"x\""},
    {".version 7.5\n.target\n", 218, 3, "a target such as sm_75"},
    {".version 7.5\n.target sm_7x\n", 218, 3, "a target such as sm_75"},
    {HEADER ".address_size 48", 218, 4, "address size 48"},
    {HEADER ".bogus", 218, 4, "found \".bogus\""},
    {HEADER "\001", 218, 4, "unexpected character 0x01"},
    {HEADER "/* never ends", 218, 4, "comment without an end"},
    {HEADER ".section .debug { .b8 1", 218, 4, ".section has no end"},
    {HEADER ".file 1 \"a\n", 218, 4, "string without an end"},
    {HEADER ".reg .b32 %r;", 218, 4, ".reg cannot be declared outside a function"},
    {HEADER ".local .b32 x;", 218, 4, ".local cannot be declared outside a function"},
    {HEADER ".global .b32 x;\n.global .b32 x;", 218, 5, "x is declared twice"},
    {HEADER ".extern .global .b32 x;\n.global .b64 x;", 218, 5,
     "x was declared with another type on line 4"},
    {HEADER ".global .pred x;", 218, 4, "cannot have type .pred"},
    {HEADER ".global .b32 x[];", 218, 4, "x has neither a size nor an initial value"},
    {HEADER ".global .b32 x[2][];", 218, 4, "only the first dimension"},
    {HEADER ".global .b32 x[0x100000000][0x100000000];", 218, 4, "x is too large"},
    {HEADER ".global .b32 x[-1];", 218, 4, "bad array size"},
    {HEADER ".global .align 3 .b32 x;", 218, 4, "alignment 3 is not a power of two"},
    {HEADER ".global .b32 x[2] = {1, 2, 3};", 218, 4, "too many initial values for x"},
    {HEADER ".global .b32 x[2] = {{1}};", 218, 4, "too many braces"},
    {HEADER ".global .b32 x[2][2] = {{1}, {2, 3}};", 218, 4, "a row of x with too few values"},
    {HEADER ".global .b32 x[2][2] = {{}, {2, 3}};", 218, 4, "a row of x with too few values"},
    {HEADER ".global .b32 x[2][2] = {1, {2, 3}};", 218, 4, "misplaced brace"},
    {HEADER ".global .b32 x = y;", 218, 4, "unknown symbol y in the initial value of x"},
    {HEADER ".global .b32 x = 1 / 0;", 218, 4, "division by zero"},
    {HEADER ".global .b32 x = 1 + 1.0;", 218, 4, "mixes integers and floating-point"},
    {HEADER ".global .b32 x = 0f123;", 218, 4, "too few hexadecimal digits"},
    {HEADER ".global .b32 x = 99999999999999999999;", 218, 4, "more than 64 bits"},
    {HEADER ".global .b32 x = 12ab;", 218, 4, "malformed number"},
    {HEADER ".shared .b32 x = 1;", 218, 4, "only .global and .const variables"},
    {HEADER ".global .b8 x[0x20000000] = {1};", 218, 4, "larger than 256 MiB"},
    {HEADER ".entry k(.param .b32 a, .param .b32 a) {}", 218, 4, "a is declared twice"},
    {HEADER ".entry k(.param .b8 a[40000]) {}", 218, 4, "kernel k takes 40000 bytes of parameters"},
    {HEADER ".entry k() {}\n.entry k() {}", 218, 5, "function k is defined twice"},
    {HEADER ".func f(.param .b32 a);\n.func f() {}", 218, 5,
     "f was declared with other parameters on line 4"},
    {HEADER ".func f();\n.entry f() {}", 218, 5, "f was declared as a function on line 4"},
    {HEADER ".entry (.param .b32 r) k() {}", 218, 4, "a kernel returns nothing"},
    {HEADER ".entry k() .maxntid {}", 218, 4, "number of threads"},
    {HEADER ".entry k() { .shared .b8 x[50000]; .reg .b32 r;\n mov.b32 r, x; }", 218, 4,
     "kernel k uses 50000 bytes of static shared memory"},
    {HEADER ".entry k() {", 218, 4, "the text ends in the middle of a body in function k"},
    {BODY("add.s32 %r1, %r9, 1;"), 218, 5, "line 5: unknown register %r9 in function k"},
    {BODY("\nadd.s32 %r1, %r2, nothing;"), 218, 6, "line 6: unknown symbol nothing in function k"},
    {BODY("bra NOWHERE;"), 218, 5, "unknown label NOWHERE"},
    {BODY("{ L: } bra L;"), 218, 5, "unknown label L"},
    {BODY("L:\nL:"), 218, 6, "label L is defined twice"},
    {BODY(".reg .b32 %r1;"), 218, 5, "%r1 is declared twice"},
    {BODY(".reg .b32 %r<2>;"), 218, 5, "%r is declared twice"},
    {BODY(".reg .b32 %x<4000000>;"), 218, 5, "more than 1048576 registers"},
    {BODY("@%r1 ret;"), 218, 5, "guard %r1 is not a predicate"},
    {BODY("@%p7 ret;"), 218, 5, "unknown register %p7"},
    {BODY("add.s32 %r1, %r2"), 218, 6, "expected ';' after an instruction, found \"}\""},
    {BODY("add.s32 %r1, %r2;"), 218, 5, "add.s32 takes 3 operands, not 2"},
    {BODY("add %r1, %r2, %r1;"), 218, 5, "add names no type"},
    {BODY("add.s32 %r1, %rd1, 1;"), 218, 5, "register %rd1 (.b64) does not have 32 bits"},
    {BODY("setp.eq.s32 %r1, %r1, %r2;"), 218, 5, "register %r1 (.b32) is not a predicate"},
    {BODY("ld.global.u32 %r1, %rd1;"), 218, 5, "expected an address in brackets"},
    {BODY("ld.global.u64 %r1, [%rd1];"), 218, 5, "does not have 64 bits"},
    {BODY("mov.b32 %r1, {1, 2;"), 218, 5, "'}' after the parts of a vector"},
    {BODY("ld.u32 %r1, [%rd1;"), 218, 5, "']' after an address"},
    {BODY("ld.u32 %r1, [%tid.x];"), 218, 5, "an address must start with"},
    {BODY("call nobody;"), 218, 5, "call of unknown function nobody"},
    {BODY("call %rd1;"), 218, 5, "indirect call without a prototype"},
    {HEADER ".func f() {}\n.entry k() { call f, (1); }", 218, 5,
     "call of f passes 1 arguments, it takes 0"},
    {BODY("mov.u32 %r1, ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1))))"),
     218, 5, "nested too deeply"},
    /* vectors are no parameters, and what comes before a type does not come behind it */
    {HEADER ".func f(.param .v2 .b32 a) { ret; }\n", 218, 4, "parameter"},
    {HEADER ".func (.param .v2 .b32 r) f() { ret; }\n", 218, 4, "parameter"},
    {HEADER ".visible .entry k(.param .v4 .b32 a) { ret; }\n", 218, 4, "parameter"},
    {HEADER ".func f() { .param .v2 .b32 a; ret; }\n", 218, 4, "parameter"},
    {HEADER ".func f(.param .b32 .v2 a) { ret; }\n", 218, 4, "name of a variable"},
    {HEADER ".global .b32 .v2 a;\n", 218, 4, "name of a variable"},
    {HEADER ".func f() { .reg .b32 .v2 a; ret; }\n", 218, 4, "name of a register"},
    {HEADER ".func f() { .reg .b32 .b64 a; ret; }\n", 218, 4, "name of a register"},
    {HEADER ".visible .entry k() .reqntid 8, 0 { ret; }\n", 218, 4, "0"},
    {HEADER ".visible .entry k() .maxntid 0 { ret; }\n", 218, 4, "0"},
};

static void test_errors_name_line_and_cause(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        ptx_error error;
        ptx_module *m = ptx_parse(errors[i].text, strlen(errors[i].text), &error);
        if (m || error.code != errors[i].code || error.line != errors[i].line ||
            !strstr(error.text, errors[i].part))
            fail_msg("case %zu: expected %u on line %u with \"%s\", got %u on line %u: %s", i,
                     errors[i].code, errors[i].line, errors[i].part, error.code, error.line,
                     error.text);
    }
}

/* ---- broken texts --------------------------------------------------------------------------- */

static const char rich[] =
    "// a text with a bit of everything\n" HEADER
    ".file 1 \"x.cu\"\n.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
    ".const .align 4 .f32 t[3] = {0f3F800000, 2.5, -1.0};\n.shared .align 4 .b8 sh[64];\n"
    ".extern .shared .align 16 .b8 dyn[];\n"
    ".global .u64 ptrs[2] = {generic(t)+4, 0};\n.global .u8 m[][2] = {{1, 2}, {0xFF(t)}};\n"
    ".func (.param .b32 r) f(.param .b32 a, .param .align 8 .b8 s[16]) {\n"
    ".reg .b32 %r<4>;\nld.param.u32 %r1, [a];\nst.param.b32 [r], %r1;\nret;\n}\n"
    ".visible .entry k(.param .u64 .ptr .global p, .param .u32 n) .maxntid 256, 1, 1 {\n"
    ".local .align 8 .b8 depot[32];\n.reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n"
    ".reg .f32 %f<5>;\n.loc 1 12 3\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\n"
    "setp.ge.u32 %p1|%p2, %r1, 5;\n@!%p1 bra $DONE;\n"
    "mad.lo.s32 %r2, %r1, -4, 0x7f;\nld.global.v2.f32 {%f1, %f2}, [%rd1+8];\n"
    "fma.rn.ftz.f32 %f3, %f1, %f2, 0f40490FDB;\n"
    "{ .param .b32 r0; .param .b32 a0; .param .align 8 .b8 b0[16];\n"
    "st.param.b32 [a0+0], %r2;\ncall.uni (r0), f, (a0, b0);\nld.param.b32 %r3, [r0];\n}\n"
    "{ .reg .pred %q; W: setp.eq.s32 %q, %r3, 0; @%q bra W; }\n"
    "ts: .branchtargets $A, $DONE;\nbrx.idx %r1, ts;\n$A:\n"
    "pr: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);\n"
    "shfl.sync.bfly.b32 %r4|%p1, %r3, 16, 31, -1;\nbar.sync 0;\n"
    "atom.shared.add.u32 %r5, [sh+4], 1;\nmov.b64 %rd3, {%r4, %r5};\n"
    "$DONE:\nret;\n}\n.section .debug_str { .b8 1,2\n }\n";

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* One small change: a byte, a piece taken out, or a piece copied elsewhere. Returns the length. */
static size_t mutate(char *text, size_t length, uint32_t *seed)
{
    static const char bytes[] = "{}()[]<>,;:@!|+-*/%&^~=?.\"0123456789%r_$abfUxde \n\t\\#\177\377";
    const size_t at = next_random(seed) % length;
    const size_t span = 1 + next_random(seed) % 12;
    const size_t room = length - at < span ? length - at : span;
    switch (next_random(seed) % 4) {
    case 0:
        text[at] = bytes[next_random(seed) % (sizeof bytes - 1)];
        break;
    case 1:
        text[at] = (char)(text[at] ^ (1 << next_random(seed) % 8));
        break;
    case 2:
        memmove(text + at, text + at + room, length - at - room);
        length -= room;
        break;
    default:
        memmove(text + next_random(seed) % (length - room + 1), text + at, room);
        break;
    }
    return length ? length : 1;
}

static void test_broken_texts_are_survived(void **state)
{
    (void)state;
    uint32_t seed = 2024;
    size_t good = 0;
    enum { ROUNDS = 6000 };
    char *text = malloc(sizeof rich);
    assert_non_null(text);
    for (int round = 0; round < ROUNDS; round++) {
        size_t length = sizeof rich - 1;
        memcpy(text, rich, sizeof rich);
        const uint32_t changes = 1 + next_random(&seed) % 4;
        for (uint32_t i = 0; i < changes; i++)
            length = mutate(text, length, &seed);
        /* An exact copy, so that a sanitizer sees reads behind the end. */
        char *exact = malloc(length);
        assert_non_null(exact);
        memcpy(exact, text, length);
        ptx_error error;
        ptx_module *m = ptx_parse(exact, length, &error);
        if (m)
            good++;
        else
            assert_true(error.code == 218 || error.code == 222 || error.code == 2);
        ptx_free(m);
        free(exact);
    }
    free(text);
    assert_true(good > 0 && good < ROUNDS); /* the changes neither all hurt nor all miss */
}

static void test_every_prefix_is_survived(void **state)
{
    (void)state;
    for (size_t length = 0; length < sizeof rich; length++) {
        char *exact = malloc(length + 1);
        assert_non_null(exact);
        memcpy(exact + 1, rich, length);
        ptx_error error;
        ptx_free(ptx_parse(exact + 1, length, &error));
        free(exact);
    }
}

/* ---- size ----------------------------------------------------------------------------------- */

/* Tens of thousands of names: an accidental list where a table belongs would take minutes. */
static void test_many_names(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    char *text = malloc(COUNT * 120 + 4096);
    assert_non_null(text);
    size_t at = (size_t)sprintf(text, HEADER);
    for (int i = 0; i < COUNT; i++)
        at += (size_t)sprintf(text + at, ".global .u32 v%d;\n", i);
    at += (size_t)sprintf(text + at, ".entry k() {\n.reg .b32 %%r<%d>;\n", COUNT);
    for (int i = 0; i < COUNT; i++)
        at += (size_t)sprintf(text + at, "{ L: ld.global.u32 %%r%d, [v%d]; bra L%d; }\nL%d:\n", i,
                              i, COUNT - 1 - i, i);
    at += (size_t)sprintf(text + at, "}\n");
    ptx_error error;
    ptx_module *m = ptx_parse(text, at, &error);
    assert_non_null(m);
    assert_int_equal(function(m, "k")->inst_count, 2 * COUNT + 1);
    ptx_free(m);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_module_header),
        cmocka_unit_test(test_text_may_end_at_nul_or_length),
        cmocka_unit_test(test_debug_information_is_skipped),
        cmocka_unit_test(test_scalar_initializers),
        cmocka_unit_test(test_array_initializers),
        cmocka_unit_test(test_addresses_in_initializers),
        cmocka_unit_test(test_linkage_and_attributes),
        cmocka_unit_test(test_kernel_parameters),
        cmocka_unit_test(test_functions_and_declarations),
        cmocka_unit_test(test_alias_has_the_body_of_its_target),
        cmocka_unit_test(test_registers_are_dense),
        cmocka_unit_test(test_scopes_hide_and_end),
        cmocka_unit_test(test_labels_belong_to_their_braces),
        cmocka_unit_test(test_body_always_ends_in_a_jump),
        cmocka_unit_test(test_opcode_is_taken_apart),
        cmocka_unit_test(test_operands),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_shared_memory_is_packed_by_kernel),
        cmocka_unit_test(test_indirect_calls_reach_every_taken_address),
        cmocka_unit_test(test_local_frame),
        cmocka_unit_test(test_constant_bits),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_errors_name_line_and_cause),
        cmocka_unit_test(test_broken_texts_are_survived),
        cmocka_unit_test(test_every_prefix_is_survived),
        cmocka_unit_test(test_many_names),
    };
    return cmocka_run_group_tests_name("ptx_parse", tests, NULL, NULL);
}
