/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Control flow: divergence, loops, early exits, jumps through tables, calls of all kinds, and the
   shape of grids. */
#include "softcuda/ptx_vectors.h"

/* ---- divergence ----------------------------------------------------------------------------- */

static void test_nested_branches(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER VEC_ENTRY
        "and.b32 %r3, %r1, 1; and.b32 %r4, %r1, 2; and.b32 %r5, %r1, 4; mov.u32 %r6, 0;\n"
        "setp.ne.u32 %p1, %r3, 0; setp.ne.u32 %p2, %r4, 0; setp.ne.u32 %p3, %r5, 0;\n"
        "@%p1 bra ODD;\n"
        "  add.u32 %r6, %r6, 1; @%p2 bra EVEN2; add.u32 %r6, %r6, 10; bra EVENJOIN;\n"
        "  EVEN2: add.u32 %r6, %r6, 20; @!%p3 bra EVENJOIN; add.u32 %r6, %r6, 100;\n"
        "  EVENJOIN: add.u32 %r6, %r6, 1000; bra JOIN;\n"
        "ODD: add.u32 %r6, %r6, 2; @%p3 bra ODD4; add.u32 %r6, %r6, 30; bra JOIN;\n"
        "  ODD4: add.u32 %r6, %r6, 40; @%p2 bra JOIN; add.u32 %r6, %r6, 200;\n"
        "JOIN: add.u32 %r6, %r6, 10000; st.global.u32 [%rd3], %r6;\nret;\n}\n";
    uint32_t out[64];
    vec_run(ptx, NULL, 0, out, sizeof out, 64);
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t expected = 10000;
        if (i & 1)
            expected += 2 + (i & 4 ? 40 + (i & 2 ? 0u : 200u) : 30u);
        else
            expected += 1001 + (i & 2 ? 20 + (i & 4 ? 100u : 0u) : 10u);
        assert_int_equal(out[i], expected);
    }
}

/* The join stands in the text before the branches that lead to it. */
static void test_join_first_in_text(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER VEC_ENTRY
        "mov.u32 %r4, 0; bra START;\n"
        "JOIN: vote.sync.ballot.b32 %r3, %p1, -1; st.global.u32 [%rd3], %r3;\n"
        "st.global.u32 [%rd3+128], %r4; ret;\n"
        "LOW: add.u32 %r4, %r1, 100; bra JOIN;\n"
        "START: setp.lt.u32 %p1, %r1, 10; @%p1 bra LOW; add.u32 %r4, %r1, 500; bra JOIN;\n}\n";
    uint32_t out[2][32];
    vec_run(ptx, NULL, 0, out, sizeof out, 32);
    for (uint32_t i = 0; i < 32; i++) {
        assert_int_equal(out[0][i], 0x3FF);
        assert_int_equal(out[1][i], i < 10 ? i + 100 : i + 500);
    }
}

static void test_loops_of_different_length(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER VEC_ENTRY
        "mov.u32 %r3, 0; mov.u32 %r4, 0;\n"
        "OUTER: setp.ge.u32 %p1, %r3, %r1; @%p1 bra DONE; mov.u32 %r5, %r3;\n"
        "INNER: setp.eq.u32 %p2, %r5, 0; @%p2 bra NEXT; and.b32 %r6, %r5, 1; add.u32 %r4, %r4, %r6;\n"
        "shr.u32 %r5, %r5, 1; bra INNER;\n"
        "NEXT: add.u32 %r3, %r3, 1; bra OUTER;\n"
        "DONE: st.global.u32 [%rd3], %r4;\nret;\n}\n";
    uint32_t out[128], bits = 0;
    vec_run(ptx, NULL, 0, out, sizeof out, 128);
    for (uint32_t i = 0; i < 128; i++) {
        assert_int_equal(out[i], bits); /* set bits of 0 .. i - 1 */
        bits += (uint32_t)__builtin_popcount(i);
    }
}

static uint32_t collatz(uint32_t x)
{
    uint32_t steps = 0;
    for (; x != 1; steps++)
        x = x & 1 ? 3 * x + 1 : x / 2;
    return steps;
}

static void test_loop_with_exits_inside(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER VEC_ENTRY
        "add.u32 %r3, %r1, 1; mov.u32 %r4, 0;\n"
        "NEXT: setp.eq.u32 %p1, %r3, 1; @%p1 bra DONE; and.b32 %r5, %r3, 1; setp.eq.u32 %p2, %r5, 0;\n"
        "@%p2 bra HALF; mad.lo.u32 %r3, %r3, 3, 1; bra COUNT;\n"
        "HALF: shr.u32 %r3, %r3, 1;\n"
        "COUNT: add.u32 %r4, %r4, 1; bra NEXT;\n"
        "DONE: st.global.u32 [%rd3], %r4; exit;\n}\n";
    uint32_t out[256];
    vec_run(ptx, NULL, 0, out, sizeof out, 256);
    for (uint32_t i = 0; i < 256; i++)
        assert_int_equal(out[i], collatz(i + 1));
}

/* Some threads leave at once; the rest of their warps go on alone. */
static void test_early_exit(void **state)
{
    (void)state;
    const char *ptx =
        VEC_HEADER VEC_ENTRY "rem.u32 %r3, %r1, 3; setp.eq.u32 %p1, %r3, 0; @%p1 exit;\n"
                             "setp.eq.u32 %p2, %r3, 1; @%p2 bra ONE; mov.u32 %r4, 222; bra STORE;\n"
                             "ONE: mov.u32 %r4, 111;\n"
                             "STORE: st.global.u32 [%rd3], %r4;\nret;\n}\n";
    uint32_t out[70];
    vec_run(ptx, NULL, 0, out, sizeof out, 70);
    for (uint32_t i = 0; i < 70; i++)
        assert_int_equal(out[i], i % 3 * 111);
}

static void test_jump_table(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER VEC_ENTRY
        "and.b32 %r3, %r1, 3; mov.u32 %r4, 5;\n"
        "table: .branchtargets A, B, C, D;\n"
        "brx.idx %r3, table;\n"
        "A: add.u32 %r4, %r4, 100; bra JOIN;\nB: mul.lo.u32 %r4, %r4, 7; bra JOIN;\n"
        "C: add.u32 %r4, %r4, 1;\nD: sub.u32 %r4, %r4, 3;\n"
        "JOIN: st.global.u32 [%rd3], %r4;\nret;\n}\n";
    uint32_t out[32];
    vec_run(ptx, NULL, 0, out, sizeof out, 32);
    const uint32_t expected[4] = {105, 35, 3, 2};
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(out[i], expected[i & 3]);
}

/* Lanes of one warp take a lock in turn: they must not wait for each other's exit from the loop. */
static void test_lock_within_a_warp(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER
        ".global .u32 lock;\n" VEC_ENTRY "mov.u32 %r5, 0;\n"
        "TRY: atom.global.cas.b32 %r3, [lock], 0, 1; setp.ne.u32 %p1, %r3, 0; @%p1 bra AGAIN;\n"
        "ld.volatile.global.u32 %r4, [%rd2]; add.u32 %r4, %r4, %r1; st.volatile.global.u32 [%rd2], %r4;\n"
        "membar.gl; atom.global.exch.b32 %r3, [lock], 0; mov.u32 %r5, 1;\n"
        "AGAIN: setp.eq.u32 %p2, %r5, 0; @%p2 bra TRY;\nret;\n}\n";
    uint32_t out;
    vec_run(ptx, NULL, 0, &out, sizeof out, 96);
    assert_int_equal(out, 96 * 95 / 2);
}

/* ---- calls ---------------------------------------------------------------------------------- */

static void test_call_with_parameters(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER
        ".func (.param .align 8 .b8 r[16]) mix(.param .b32 a, .param .align 8 .b8 s[16], .param .b16 h)\n"
        "{\n.reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .b16 %rs<2>;\n"
        "ld.param.u32 %r1, [a]; ld.param.u64 %rd1, [s+8]; ld.param.u16 %rs1, [h];\n"
        "cvt.u64.u32 %rd2, %r1; add.u64 %rd2, %rd2, %rd1; cvt.u32.u16 %r2, %rs1;\n"
        "st.param.b64 [r], %rd2; st.param.b32 [r+8], %r2; ld.param.u32 %r3, [s+4];\n"
        "st.param.b32 [r+12], %r3; ret;\n}\n" VEC_ENTRY
        "{\n.param .b32 a; .param .align 8 .b8 s[16]; .param .b16 h; .param .align 8 .b8 r[16];\n"
        "st.param.b32 [a], %r1; mov.u64 %rd4, 1000; st.param.b64 [s+8], %rd4;\n"
        "add.u32 %r3, %r1, 70; st.param.b32 [s+4], %r3; mov.u16 %rs1, 65000; st.param.b16 [h], %rs1;\n"
        "call.uni (r), mix, (a, s, h);\n"
        "ld.param.b64 %rd5, [r]; ld.param.b32 %r4, [r+8]; ld.param.b32 %r5, [r+12];\n}\n"
        "cvt.u32.u64 %r6, %rd5; add.u32 %r6, %r6, %r4; add.u32 %r6, %r6, %r5;\n"
        "st.global.u32 [%rd3], %r6;\nret;\n}\n";
    uint32_t out[40];
    vec_run(ptx, NULL, 0, out, sizeof out, 40);
    for (uint32_t i = 0; i < 40; i++)
        assert_int_equal(out[i], i + 1000 + 65000 + i + 70);
}

static uint32_t fibonacci(uint32_t n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

/* Recursion to a different depth in each lane; registers and frames of each call are its own. */
static void test_recursion(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER
        ".func (.param .b32 r) fib(.param .b32 n);\n"
        ".func (.param .b32 r) fib(.param .b32 n)\n{\n.reg .b32 %r<6>; .reg .pred %p;\n"
        ".local .align 4 .b32 saved;\n"
        "ld.param.u32 %r1, [n]; setp.lt.u32 %p, %r1, 2; @%p bra BASE;\nst.local.u32 [saved], %r1;\n"
        "{ .param .b32 a; .param .b32 b; sub.u32 %r2, %r1, 1; st.param.b32 [a], %r2;\n"
        "call (b), fib, (a); ld.param.b32 %r3, [b]; }\n"
        "{ .param .b32 a; .param .b32 b; ld.local.u32 %r2, [saved]; sub.u32 %r2, %r2, 2;\n"
        "st.param.b32 [a], %r2; call (b), fib, (a); ld.param.b32 %r4, [b]; }\n"
        "add.u32 %r5, %r3, %r4; st.param.b32 [r], %r5; ret;\n"
        "BASE: st.param.b32 [r], %r1; ret;\n}\n" VEC_ENTRY
        "rem.u32 %r3, %r1, 11; {.param .b32 a; .param .b32 b; st.param.b32 [a], %r3;\n"
        "call (b), fib, (a); ld.param.b32 %r4, [b]; }\nst.global.u32 [%rd3], %r4;\nret;\n}\n";
    uint32_t out[64];
    vec_run(ptx, NULL, 0, out, sizeof out, 64);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(out[i], fibonacci(i % 11));
}

/* Function addresses: from a table in memory, different in each lane. */
static void test_indirect_call(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER
        ".func (.param .b32 r) plus(.param .b32 a, .param .b32 b)\n{\n.reg .b32 %r<4>;\n"
        "ld.param.u32 %r1, [a]; ld.param.u32 %r2, [b]; add.u32 %r3, %r1, %r2;\n"
        "st.param.b32 [r], %r3; ret;\n}\n"
        ".func (.param .b32 r) times(.param .b32 a, .param .b32 b)\n{\n.reg .b32 %r<4>;\n"
        "ld.param.u32 %r1, [a]; ld.param.u32 %r2, [b]; mul.lo.u32 %r3, %r1, %r2;\n"
        "st.param.b32 [r], %r3; ret;\n}\n"
        ".global .align 8 .u64 table[2] = {plus, times};\n" VEC_ENTRY
        "and.b32 %r3, %r1, 1; mul.wide.u32 %rd4, %r3, 8; mov.u64 %rd5, table; add.u64 %rd5, %rd5, %rd4;\n"
        "ld.global.u64 %rd6, [%rd5];\n"
        "{ .param .b32 a; .param .b32 b; .param .b32 r; st.param.b32 [a], %r1; st.param.b32 [b], 9;\n"
        "proto: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);\n"
        "call (r), %rd6, (a, b), proto; ld.param.b32 %r4, [r]; }\n"
        "st.global.u32 [%rd3], %r4;\n"
        "mov.u64 %rd7, plus;\n"
        "{ .param .b32 a; .param .b32 b; .param .b32 r; st.param.b32 [a], %r4; st.param.b32 [b], 1;\n"
        "proto2: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);\n"
        "call (r), %rd7, (a, b), proto2; ld.param.b32 %r5, [r]; }\n"
        "st.global.u32 [%rd3+256], %r5;\nret;\n}\n";
    uint32_t out[2][64];
    vec_run(ptx, NULL, 0, out, sizeof out, 64);
    for (uint32_t i = 0; i < 64; i++) {
        assert_int_equal(out[0][i], i & 1 ? i * 9 : i + 9);
        assert_int_equal(out[1][i], (i & 1 ? i * 9 : i + 9) + 1);
    }
}

/* A call that only some lanes make, and from which they return at different places. */
static void test_divergent_call(void **state)
{
    (void)state;
    const char *ptx =
        VEC_HEADER ".func (.param .b32 r) f(.param .b32 a)\n{\n.reg .b32 %r<4>; .reg .pred %p<3>;\n"
                   "ld.param.u32 %r1, [a]; setp.lt.u32 %p1, %r1, 20; @%p1 bra SMALL;\n"
                   "add.u32 %r2, %r1, 1000; st.param.b32 [r], %r2; ret;\n"
                   "SMALL: mul.lo.u32 %r2, %r1, 2; st.param.b32 [r], %r2; ret;\n}\n" VEC_ENTRY
                   "rem.u32 %r3, %r1, 3; setp.eq.u32 %p1, %r3, 0; mov.u32 %r4, 5; @%p1 bra JOIN;\n"
                   "{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r1; call (r), f, (a);\n"
                   "ld.param.b32 %r4, [r]; }\n"
                   "JOIN: add.u32 %r4, %r4, 1; st.global.u32 [%rd3], %r4;\nret;\n}\n";
    uint32_t out[64];
    vec_run(ptx, NULL, 0, out, sizeof out, 64);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(out[i], i % 3 == 0 ? 6 : i < 20 ? i * 2 + 1 : i + 1001);
}

/* The address of a function's own parameter is one of .local, as PTX has it: the function may index
 * it, write to it, and hand a generic pointer to it on. */
static void test_address_of_parameter(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER
        ".func (.param .b32 r) pick(.param .align 4 .b8 v[16], .param .b32 n)\n{\n"
        ".reg .b32 %r<6>; .reg .b64 %rd<6>;\nld.param.u32 %r1, [n]; mul.wide.u32 %rd1, %r1, 4;\n"
        "mov.b64 %rd2, v; add.u64 %rd3, %rd2, %rd1; ld.local.u32 %r2, [%rd3];\n"
        "st.local.u32 [%rd3], 1000; cvta.local.u64 %rd4, %rd2; add.u64 %rd5, %rd4, %rd1;\n"
        "ld.u32 %r3, [%rd5]; add.u32 %r4, %r2, %r3; st.param.b32 [r], %r4; ret;\n}\n" VEC_ENTRY
        "and.b32 %r3, %r1, 3; add.u32 %r4, %r1, 10; add.u32 %r5, %r1, 20; add.u32 %r6, %r1, 30;\n"
        "{ .param .align 4 .b8 v[16]; .param .b32 n; .param .b32 r;\n"
        "st.param.b32 [v], %r1; st.param.b32 [v+4], %r4; st.param.b32 [v+8], %r5;\n"
        "st.param.b32 [v+12], %r6; st.param.b32 [n], %r3; call (r), pick, (v, n);\n"
        "ld.param.b32 %r7, [r]; }\nst.global.u32 [%rd3], %r7;\nret;\n}\n";
    uint32_t out[64];
    vec_run(ptx, NULL, 0, out, sizeof out, 64);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(out[i], i + 10 * (i & 3) + 1000);
}

/* A pointer into the caller's local memory, written by the callee. */
static void test_pointer_to_local(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER
        ".func fill(.param .b64 p, .param .b32 n)\n{\n.reg .b32 %r<3>; .reg .b64 %rd<2>; .reg .pred %p;\n"
        ".local .align 4 .b8 own[64];\n"
        "ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; mov.u32 %r2, 0; st.local.u32 [own], %r1;\n"
        "LOOP: setp.ge.u32 %p, %r2, 4; @%p bra DONE; st.u32 [%rd1], %r1; add.u64 %rd1, %rd1, 4;\n"
        "add.u32 %r1, %r1, 1; add.u32 %r2, %r2, 1; bra LOOP;\nDONE: ret;\n}\n" VEC_ENTRY
        ".local .align 8 .b8 l[16];\nmov.u64 %rd4, l; cvta.local.u64 %rd4, %rd4;\n"
        "{ .param .b64 p; .param .b32 n; st.param.b64 [p], %rd4; st.param.b32 [n], %r1;\n"
        "call fill, (p, n); }\n"
        "ld.local.u32 %r3, [l]; ld.local.u32 %r4, [l+12]; mad.lo.u32 %r3, %r3, 1000, %r4;\n"
        "st.global.u32 [%rd3], %r3;\nret;\n}\n";
    uint32_t out[40];
    vec_run(ptx, NULL, 0, out, sizeof out, 40);
    for (uint32_t i = 0; i < 40; i++)
        assert_int_equal(out[i], i * 1000 + i + 3);
}

/* ---- grids ---------------------------------------------------------------------------------- */

/* Every thread of a three-dimensional grid says who it is, once. */
static void test_three_dimensions(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER VEC_ENTRY
        "mov.u32 %r10, %tid.x; mov.u32 %r11, %tid.y; mov.u32 %r12, %tid.z;\n"
        "mov.u32 %r13, %ntid.x; mov.u32 %r14, %ntid.y; mov.u32 %r15, %ntid.z;\n"
        "mov.u32 %r16, %ctaid.x; mov.u32 %r17, %ctaid.y; mov.u32 %r18, %ctaid.z;\n"
        "mov.u32 %r19, %nctaid.x; mov.u32 %r20, %nctaid.y; mov.u32 %r21, %nctaid.z;\n"
        "mad.lo.u32 %r22, %r12, %r14, %r11; mad.lo.u32 %r22, %r22, %r13, %r10;\n"
        "mad.lo.u32 %r23, %r18, %r20, %r17; mad.lo.u32 %r23, %r23, %r19, %r16;\n"
        "mul.lo.u32 %r24, %r13, %r14; mul.lo.u32 %r24, %r24, %r15; mad.lo.u32 %r25, %r23, %r24, %r22;\n"
        "and.b32 %r26, %r22, 31; setp.eq.u32 %p1, %r26, %r2; selp.u32 %r27, 1, 1000, %p1;\n"
        "mul.wide.u32 %rd4, %r25, 4; add.u64 %rd4, %rd2, %rd4;\n"
        "mad.lo.u32 %r27, %r25, 2, %r27; red.global.add.u32 [%rd4], %r27;\n"
        "mul.lo.u32 %r28, %r19, %r20; mul.lo.u32 %r28, %r28, %r21; setp.ne.u32 %p2, %r28, 60;\n"
        "@%p2 red.global.add.u32 [%rd2], 7777;\nret;\n}\n";
    enum { COUNT = 3 * 4 * 5 * 5 * 3 * 2 };
    uint32_t out[COUNT];
    vec_run_grid(ptx, NULL, 0, out, sizeof out, (unsigned[3]){3, 4, 5}, (unsigned[3]){5, 3, 2}, 0);
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(out[i], i * 2 + 1);
}

/* More blocks than any device runs at once, and a full-sized block. */
static void test_many_blocks_and_large_blocks(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER VEC_ENTRY
        "red.global.add.u32 [%rd2], 1; mov.u32 %r3, %ctaid.x; red.global.add.u32 [%rd2+4], %r3;\n"
        "bar.sync 0; red.global.max.u32 [%rd2+8], %r1;\nret;\n}\n";
    uint32_t out[3];
    vec_run_grid(ptx, NULL, 0, out, sizeof out, (unsigned[3]){10000, 1, 1}, (unsigned[3]){32, 1, 1},
                 0);
    assert_int_equal(out[0], 320000);
    assert_int_equal(out[1], 32u * (10000u * 9999u / 2)); /* below 2^32 */
    assert_int_equal(out[2], 31);
    vec_run_grid(ptx, NULL, 0, out, sizeof out, (unsigned[3]){2, 1, 1}, (unsigned[3]){1024, 1, 1},
                 0);
    assert_int_equal(out[0], 2048);
    assert_int_equal(out[2], 1023);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nested_branches),
        cmocka_unit_test(test_join_first_in_text),
        cmocka_unit_test(test_loops_of_different_length),
        cmocka_unit_test(test_loop_with_exits_inside),
        cmocka_unit_test(test_early_exit),
        cmocka_unit_test(test_jump_table),
        cmocka_unit_test(test_lock_within_a_warp),
        cmocka_unit_test(test_call_with_parameters),
        cmocka_unit_test(test_recursion),
        cmocka_unit_test(test_indirect_call),
        cmocka_unit_test(test_divergent_call),
        cmocka_unit_test(test_address_of_parameter),
        cmocka_unit_test(test_pointer_to_local),
        cmocka_unit_test(test_three_dimensions),
        cmocka_unit_test(test_many_blocks_and_large_blocks),
    };
    return cmocka_run_group_tests_name("ptx_vectors_control", tests, vec_setup, vec_teardown);
}
