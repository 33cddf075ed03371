/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the executor says where a kernel goes wrong, and what it refuses to load. */
#include "softcuda/exec_test.h"

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"

/* Line numbers count from the .version line. */
static const char faults[] =
    HEAD ".entry store(.param .u64 p, .param .u32 from) {\n" /* 4 */
         "  .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<5>;\n"
         "  ld.param.u64 %rd1, [p];\n"
         "  ld.param.u32 %r4, [from];\n"
         "  mov.u32 %r1, %tid.x;\n"
         "  mov.u32 %r2, %ctaid.x;\n"
         "  mad.lo.s32 %r3, %r2, 32, %r1;\n" /* 10 */
         "  add.u32 %r3, %r3, %r4;\n"
         "  mul.wide.u32 %rd2, %r3, 4;\n"
         "  add.s64 %rd3, %rd1, %rd2;\n"
         "  st.global.u32 [%rd3], %r3;\n"
         "  ret;\n"
         "}\n"
         ".entry misaligned(.param .u64 p) {\n" /* 17 */
         "  .reg .b32 %r<3>; .reg .b64 %rd<4>; .reg .f64 %fd<2>;\n"
         "  ld.param.u64 %rd1, [p];\n"
         "  mov.u32 %r1, %tid.y;\n"
         "  mul.wide.u32 %rd2, %r1, 4;\n"
         "  add.s64 %rd3, %rd1, %rd2;\n"
         "  ld.global.f64 %fd1, [%rd3];\n"
         "  ret;\n"
         "}\n"
         ".entry shared() {\n" /* 26 */
         "  .reg .b32 %r<3>;\n"
         "  .shared .align 4 .b8 s[64];\n"
         "  mov.u32 %r1, %tid.x;\n"
         "  shl.b32 %r1, %r1, 2;\n"
         "  mov.u32 %r2, s;\n"
         "  add.u32 %r1, %r1, %r2;\n"
         "  atom.shared.add.u32 %r2, [%r1], 1;\n"
         "  ret;\n"
         "}\n"
         ".func deep(.param .b32 n) {\n" /* 36 */
         "  .reg .pred %p; .reg .b32 %r<2>;\n"
         "  ld.param.u32 %r1, [n];\n"
         "  setp.eq.u32 %p, %r1, 0;\n"
         "  @%p trap;\n"
         "  sub.u32 %r1, %r1, 1;\n"
         "  { .param .b32 a; st.param.b32 [a], %r1; call deep, (a); }\n"
         "  ret;\n"
         "}\n"
         ".entry traps(.param .u32 n) {\n" /* 45 */
         "  .reg .b32 %r<2>;\n"
         "  ld.param.u32 %r1, [n];\n"
         "  { .param .b32 a; st.param.b32 [a], %r1; call deep, (a); }\n"
         "  ret;\n"
         "}\n"
         ".entry generic(.param .u64 p) {\n" /* 51 */
         "  .reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
         "  ld.param.u64 %rd1, [p];\n"
         "  ld.u32 %r1, [%rd1+8];\n"
         "  ret;\n"
         "}\n"
         ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 g,"
         " .param .b64 c);\n" /* 57 */
         ".global .align 1 .b8 what[6] = {120, 32, 62, 32, 48, 0};\n"
         ".global .align 1 .b8 file[5] = {107, 46, 99, 117, 0};\n"
         ".entry asserts() {\n" /* 60 */
         "  .reg .b64 %rd<3>;\n"
         "  mov.u64 %rd1, what; cvta.global.u64 %rd1, %rd1;\n"
         "  mov.u64 %rd2, file; cvta.global.u64 %rd2, %rd2;\n"
         "  { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;\n"
         "    st.param.b64 [a], %rd1; st.param.b64 [b], %rd2; st.param.b32 [c], 12;\n"
         "    st.param.b64 [d], %rd2; st.param.b64 [e], 1;\n"
         "    call __assertfail, (a, b, c, d, e); }\n" /* 67 */
         "  ret;\n"
         "}\n"
         ".entry deadlock() {\n"
         "  .reg .pred %p; .reg .b32 %r;\n"
         "  mov.u32 %r, %tid.x;\n"
         "  setp.lt.u32 %p, %r, 32;\n"
         "  @%p bra low;\n"
         "  bar.sync 1;\n"
         "  ret;\n"
         "low:\n"
         "  bar.sync 2;\n"
         "  ret;\n"
         "}\n"
         ".entry endless() {\n"
         "again:\n"
         "  bra again;\n"
         "}\n";

static sx_module *module;

static void test_out_of_bounds(void **state)
{
    (void)state;
    struct {
        uint64_t p;
        uint32_t from;
    } p = {alloc(100 * 4), 0};
    char text[256];
    /* the last block crosses the end: thread 4 of block 3 is the first outside */
    snprintf(text, sizeof text,
             "kernel store, PTX line 14 (st.global.u32): illegal address: write of 4 bytes at "
             "0x%llx (just past the end of an allocation), block (3,0,0), thread (4,0,0)",
             (unsigned long long)p.p + 400);
    launch(module, "store", LINE(3, 32), &p);
    launch_fails(module, "store", LINE(4, 32), &p, 700, text);
    for (uint32_t i = 0; i < 96; i++)
        assert_int_equal(((uint32_t *)at(p.p))[i], i);
    /* not a single lane inside */
    p.from = 200;
    snprintf(text, sizeof text,
             "kernel store, PTX line 14 (st.global.u32): illegal address: write of 4 bytes at "
             "0x%llx (400 bytes past the end of an allocation), block (0,0,0), thread (0,0,0)",
             (unsigned long long)p.p + 800);
    launch_fails(module, "store", LINE(1, 32), &p, 700, text);
    p.p = 0;
    p.from = 1;
    launch_fails(module, "store", LINE(1, 1), &p, 700,
                 "kernel store, PTX line 14 (st.global.u32): illegal address: write of 4 bytes at "
                 "0x4 (a null pointer), block (0,0,0), thread (0,0,0)");
}

/* A compiler asked for line numbers writes .loc, of files that it names at the end. */
static void test_source_lines(void **state)
{
    (void)state;
    sx_module *lined = load(HEAD ".func sub(.param .b64 p) {\n" /* 4 */
                                 "  .reg .b64 %rd1;\n"
                                 "  .loc 2 30 1\n"
                                 "  ld.param.u64 %rd1, [p];\n"
                                 "  .loc 2 31 7\n"
                                 "  st.u32 [%rd1], 1;\n"
                                 "  ret;\n"
                                 "}\n"
                                 ".entry k(.param .u64 p, .param .u32 deep) {\n" /* 12 */
                                 "  .reg .pred %p; .reg .b32 %r1; .reg .b64 %rd1;\n"
                                 "  ld.param.u64 %rd1, [p];\n"
                                 "  ld.param.u32 %r1, [deep];\n"
                                 "  .loc 1 12 3\n"
                                 "  setp.ne.u32 %p, %r1, 0;\n"
                                 "  @%p bra call;\n"
                                 "  ld.u32 %r1, [%rd1];\n"
                                 "  .loc 1 0 0\n" /* 20: the compiler's own */
                                 "call:\n"
                                 "  { .param .b64 a; st.param.b64 [a], %rd1; call sub, (a); }\n"
                                 "  trap;\n"
                                 "}\n"
                                 ".file 1 \"/home/somebody/k.cu\"\n"
                                 ".file 2 \"sub.cuh\"\n");
    struct {
        uint64_t p;
        uint32_t deep;
    } p = {0, 0};
    launch_fails(lined, "k", LINE(1, 1), &p, 700,
                 "kernel k, k.cu:12, PTX line 19 (ld.u32): illegal address: read of 4 bytes at 0x0 "
                 "(a null pointer), block (0,0,0), thread (0,0,0)");
    p.deep = 1;
    launch_fails(lined, "k", LINE(1, 1), &p, 700,
                 "kernel k, in function sub, sub.cuh:31, PTX line 9 (st.u32): illegal address: "
                 "write of 4 bytes at 0x0 (a null pointer), block (0,0,0), thread (0,0,0)");
    p.p = alloc(4);
    launch_fails(lined, "k", LINE(1, 1), &p, 719,
                 "kernel k, PTX line 23 (trap): trap, block (0,0,0), thread (0,0,0)");
    sx_module_unload(lined);
}

static void test_host_pointers(void **state)
{
    (void)state;
    static uint32_t value;
    uint64_t address = (uint64_t)(uintptr_t)&value - 8;
    char text[256];
    snprintf(text, sizeof text,
             "kernel generic, PTX line 54 (ld.u32): illegal address: read of 4 bytes at 0x%llx "
             "(memory of no device), block (0,0,0), thread (0,0,0)",
             (unsigned long long)address + 8);
    launch_fails(module, "generic", LINE(1, 32), &address, 700, text);
}

/* What a GPU does not notice, or answers by waiting for ever. */
static void test_mbarriers(void **state)
{
    (void)state;
    static const char text[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 8 .b64 bar;\n"
        ".entry early() { mbarrier.arrive.shared.b64 _, [bar]; ret; }\n"
        ".entry many() { mbarrier.init.shared.b64 [bar], 3;\n"
        "  mbarrier.arrive.noComplete.shared.b64 _, [bar], 4; ret; }\n"
        ".entry late() { mbarrier.init.shared.b64 [bar], 1; mbarrier.inval.shared.b64 [bar];\n"
        "  mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 16; ret; }\n"
        ".entry elsewhere(.param .u64 p) { .reg .b64 %rd; ld.param.u64 %rd, [p];\n"
        "  mbarrier.init.b64 [%rd], 1; ret; }\n";
    sx_module *m = load(text);
    uint64_t p = alloc(64);
    launch_fails(m, "early", LINE(1, 1), NULL, 719,
                 "kernel early, PTX line 5 (mbarrier.arrive.shared.b64): no mbarrier has been "
                 "initialized here, block (0,0,0), thread (0,0,0)");
    launch_fails(m, "many", LINE(1, 1), NULL, 719,
                 "kernel many, PTX line 7 (mbarrier.arrive.noComplete.shared.b64): 4 arrive at an "
                 "mbarrier that waits for 3 more in this phase, block (0,0,0), thread (0,0,0)");
    launch_fails(m, "late", LINE(1, 1), NULL, 719,
                 "kernel late, PTX line 9 (mbarrier.expect_tx.relaxed.cta.shared::cta.b64): no "
                 "mbarrier has been initialized here, block (0,0,0), thread (0,0,0)");
    launch_fails(m, "elsewhere", LINE(1, 1), &p, 717,
                 "kernel elsewhere, PTX line 11 (mbarrier.init.b64): an mbarrier that is not in "
                 "shared memory, block (0,0,0), thread (0,0,0)");
    sx_module_unload(m);
}

static void test_misaligned(void **state)
{
    (void)state;
    uint64_t p = alloc(4096);
    char text[256];
    snprintf(text, sizeof text,
             "kernel misaligned, PTX line 23 (ld.global.f64): misaligned address: read of 8 bytes "
             "at 0x%llx, block (0,0,0), thread (0,1,0)",
             (unsigned long long)p + 4);
    launch_fails(module, "misaligned", (launch_shape){{1, 1, 1}, {8, 8, 1}, 0}, &p, 716, text);
}

static void test_shared_bounds(void **state)
{
    (void)state;
    launch(module, "shared", LINE(1, 16), NULL);
    launch_fails(module, "shared", LINE(1, 32), NULL, 700,
                 "kernel shared, PTX line 33 (atom.shared.add.u32): illegal address: atomic access "
                 "of 4 bytes at 0x40 (the block has 64 bytes of shared memory), block (0,0,0), "
                 "thread (16,0,0)");
}

static void test_trap_in_a_function(void **state)
{
    (void)state;
    uint32_t n = 3;
    launch_fails(module, "traps", LINE(1, 32), &n, 719,
                 "kernel traps, in function deep, PTX line 40 (trap): trap, block (0,0,0), thread "
                 "(0,0,0)");
}

static void test_stack_overflow(void **state)
{
    (void)state;
    uint32_t n = 1000000;
    sx_error error;
    assert_int_equal(try_launch(module, "traps", LINE(1, 32), &n, &error), 700);
    assert_non_null(strstr(error.text, "stack overflow: the call of deep needs more than"));
    assert_int_equal(error.line, 42);
}

static void test_assert(void **state)
{
    (void)state;
    launch_fails(module, "asserts", LINE(1, 1), NULL, 710,
                 "kernel asserts, PTX line 67 (call): assertion `x > 0' failed in k.cu, k.cu:12, "
                 "block (0,0,0), thread (0,0,0)");
}

static void test_deadlock(void **state)
{
    (void)state;
    launch(module, "deadlock", LINE(1, 32), NULL);
    launch_fails(module, "deadlock", LINE(1, 64), NULL, 719,
                 "kernel deadlock, block (0,0,0): deadlock: every thread waits at a barrier that "
                 "the others do not come to");
}

static void test_stop(void **state)
{
    (void)state;
    _Atomic(int) stop = 1;
    sx_launch launch = {.kernel = sx_module_kernel(module, "endless"),
                        .grid = {8, 1, 1},
                        .block = {64, 1, 1},
                        .space = memory.space,
                        .stop = &stop};
    sx_error error;
    assert_int_equal(sx_run(&launch, &error), 719);
    assert_non_null(strstr(error.text, "stopped from outside"));
}

static void test_wrong_launches(void **state)
{
    (void)state;
    uint64_t p[2] = {0};
    launch_fails(module, "generic", (launch_shape){{1, 0, 1}, {1, 1, 1}, 0}, p, 1,
                 "launch of generic refused: a dimension of the grid is 0");
    launch_fails(module, "generic", (launch_shape){{1, 1, 1}, {64, 32, 1}, 0}, p, 1,
                 "launch of generic refused: a block has more than 1024 threads");
    launch_fails(module, "generic", LINE(1, 1), NULL, 1,
                 "launch of generic refused: the kernel's parameters are missing");
}

/* ---- refused, at load or by kernel ---------------------------------------------------------- */

static const char *kernel_with(char ptx[1024], const char *body)
{
    snprintf(ptx, 1024,
             HEAD ".entry k() {\n"
                  "  .reg .pred %%p<4>; .reg .b16 %%h<4>; .reg .b32 %%r<8>; .reg .b64 %%rd<4>;\n"
                  "%s\n  ret;\n}\n.entry other() {\n  ret;\n}\n",
             body);
    return ptx;
}

/* Valid PTX that is for another device: the kernel is refused, the other one of the module runs. */
static void kernel_fails(const char *body, unsigned line, const char *text)
{
    char ptx[1024];
    sx_module *loaded = load(kernel_with(ptx, body));
    assert_null(sx_module_kernel(loaded, "k"));
    assert_int_equal(sx_module_kernel_count(loaded), 1);
    const sx_error *refusal = sx_module_refusal(loaded, "k");
    assert_non_null(refusal);
    assert_string_equal(refusal->text, text);
    assert_int_equal(refusal->line, line);
    assert_int_equal(refusal->code, 218);
    assert_null(sx_module_refusal(loaded, "other"));
    assert_null(sx_module_refusal(loaded, "no such kernel"));
    launch(loaded, "other", LINE(1, 32), NULL);
    sx_module_unload(loaded);
}

static void load_fails(const char *body, unsigned line, const char *text)
{
    char ptx[1024];
    sx_module *refused = NULL;
    sx_error error;
    const size_t live = memory.live;
    kernel_with(ptx, body);
    assert_int_equal(try_load(ptx, &refused, &error), 218);
    assert_null(refused);
    assert_string_equal(error.text, text);
    assert_int_equal(error.line, line);
    assert_int_equal(memory.live, live);
}

static void test_refusals(void **state)
{
    (void)state;
    kernel_fails("  mov.u32 %r1, 0;\n"
                 "  tex.1d.v4.s32.s32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5}];",
                 7,
                 "PTX line 7, tex.1d.v4.s32.s32 in k: the software device does not execute "
                 "tex.1d.v4.s32.s32; keep kernels that need it for a GPU");
    kernel_fails("  add.rn.sideways.f32 %r1, %r2, %r3;", 6,
                 "PTX line 6, add.rn.sideways.f32 in k: the software device does not execute "
                 "add.rn.sideways.f32; keep kernels that need it for a GPU");
    load_fails("  frobnicate.u32 %r1, %r2;", 6,
               "PTX line 6, frobnicate.u32 in k: the software device knows no such instruction");
    load_fails("  bra nowhere;", 6, "line 6: unknown label nowhere in function k");
}

static void test_undefined_function(void **state)
{
    (void)state;
    sx_module *loaded =
        load(HEAD ".extern .func f();\n.func g() {\n  call f;\n  ret;\n}\n"
                  ".func h() {\n  call g;\n  ret;\n}\n.entry k() {\n  call h;\n  ret;\n}\n"
                  ".func again() {\n  call again;\n  call h;\n  ret;\n}\n"
                  ".entry l() {\n  call again;\n  ret;\n}\n.entry other() {\n  ret;\n}\n");
    const char *text = "PTX line 6, call in g: the function f is called but not defined in the "
                       "module";
    assert_string_equal(sx_module_refusal(loaded, "k")->text, text);
    assert_string_equal(sx_module_refusal(loaded, "l")->text, text);
    launch(loaded, "other", LINE(1, 1), NULL);
    sx_module_unload(loaded);
}

/* What only a pointer reaches is found out when it is called. */
static void test_refused_function_by_pointer(void **state)
{
    (void)state;
    sx_module *loaded =
        load(HEAD ".extern .func f();\n.func g() {\n  call f;\n  ret;\n}\n"
                  ".entry k() {\n  .reg .b64 %rd;\n  mov.u64 %rd, g;\n"
                  "P: .callprototype _ ();\n  call %rd, P;\n  ret;\n}\n");
    launch_fails(loaded, "k", LINE(1, 1), NULL, 715,
                 "kernel k, PTX line 13 (call): call of g: PTX line 6, call in g: the function f "
                 "is called but not defined in the module, block (0,0,0), thread (0,0,0)");
    sx_module_unload(loaded);
}

static int setup(void **state)
{
    if (memory_setup(state))
        return -1;
    module = load(faults);
    return 0;
}

static int teardown(void **state)
{
    sx_module_unload(module);
    return memory_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_out_of_bounds),
        cmocka_unit_test(test_source_lines),
        cmocka_unit_test(test_host_pointers),
        cmocka_unit_test(test_mbarriers),
        cmocka_unit_test(test_misaligned),
        cmocka_unit_test(test_shared_bounds),
        cmocka_unit_test(test_trap_in_a_function),
        cmocka_unit_test(test_stack_overflow),
        cmocka_unit_test(test_assert),
        cmocka_unit_test(test_deadlock),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_wrong_launches),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_undefined_function),
        cmocka_unit_test(test_refused_function_by_pointer),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
