/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* State spaces, widths, vectors, generic addresses, variables with initial values, and atomics. */
#include "softcuda/ptx_vectors.h"
#include "softcuda/vector_floats.h"

/* ---- loads and stores ----------------------------------------------------------------------- */

/* Every width and sign, into a register wider than the value. */
static void test_widths(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER VEC_ENTRY
        "ld.global.u8 %r3, [%rd1]; st.global.u32 [%rd2], %r3;\n"
        "ld.global.s8 %r3, [%rd1]; st.global.u32 [%rd2+4], %r3;\n"
        "ld.global.u16 %r3, [%rd1+2]; st.global.u32 [%rd2+8], %r3;\n"
        "ld.global.s16 %r3, [%rd1+2]; st.global.u32 [%rd2+12], %r3;\n"
        "ld.global.s32 %rd4, [%rd1+4]; st.global.u64 [%rd2+16], %rd4;\n"
        "ld.global.u32 %rd4, [%rd1+4]; st.global.u64 [%rd2+24], %rd4;\n"
        "ld.global.b64 %rd4, [%rd1+8]; st.global.b64 [%rd2+32], %rd4;\n"
        "ld.global.f32 %f1, [%rd1+4]; st.global.f32 [%rd2+40], %f1;\n"
        "ld.global.f64 %fd1, [%rd1+8]; st.global.f64 [%rd2+48], %fd1;\n"
        "ld.global.u32 %r3, [%rd1+4]; st.global.u8 [%rd2+56], %r3; st.global.u16 [%rd2+58], %r3;\n"
        "ld.volatile.global.u32 %r3, [%rd1+4]; st.volatile.global.u32 [%rd2+60], %r3;\n"
        "ld.global.nc.u32 %r3, [%rd1+8]; st.global.wt.u32 [%rd2+64], %r3;\n"
        "ld.global.ca.u32 %r3, [%rd1+12]; st.global.cg.u32 [%rd2+68], %r3;\n"
        "ld.relaxed.gpu.global.u32 %r3, [%rd1+4]; st.release.sys.global.u32 [%rd2+72], %r3;\n"
        "ret;\n}\n";
    const unsigned char in[16] = {0x85, 0, 0x34, 0x92, 0xEF, 0xBE, 0xAD, 0xDE,
                                  1,    2, 3,    4,    5,    6,    7,    0x88};
    unsigned char out[76];
    vec_run(ptx, in, sizeof in, out, sizeof out, 1);
    const uint32_t small[4] = {0x85, 0xFFFFFF85, 0x9234, 0xFFFF9234};
    const uint64_t words[3] = {0xFFFFFFFFDEADBEEF, 0xDEADBEEF, 0x8807060504030201};
    assert_memory_equal(out, small, 16);
    assert_memory_equal(out + 16, words, 24);
    assert_memory_equal(out + 40, in + 4, 4);
    assert_memory_equal(out + 48, in + 8, 8);
    assert_int_equal(out[56], 0xEF);
    assert_memory_equal(out + 58, "\xEF\xBE", 2);
    assert_memory_equal(out + 60, in + 4, 4);
    assert_memory_equal(out + 64, in + 8, 8);
    assert_memory_equal(out + 72, in + 4, 4);
}

static void test_vectors(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER VEC_ENTRY
        "mul.wide.u32 %rd4, %r1, 16; add.u64 %rd5, %rd1, %rd4; add.u64 %rd6, %rd2, %rd4;\n"
        "ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd5];\n"
        "st.global.v4.u32 [%rd6], {%r6, %r5, %r4, %r3};\n"
        "ld.global.v2.u64 {%rd7, %rd8}, [%rd5]; st.global.v2.u64 [%rd6+512], {%rd8, %rd7};\n"
        "ld.global.v4.u8 {%r7, %r8, %r9, %r10}, [%rd5+4];\n"
        "st.global.v4.u8 [%rd6+1024], {%r10, %r9, %r8, %r7};\n"
        "ld.global.v2.s16 {%r11, %r12}, [%rd5+4]; add.s32 %r11, %r11, %r12;\n"
        "st.global.u32 [%rd6+1028], %r11;\n"
        "ld.global.v2.f32 {%f1, %f2}, [%rd5+8]; st.global.v2.f32 [%rd6+1032], {%f2, %f1};\nret;\n}\n";
    uint32_t in[32][4], out[3][32][4];
    for (uint32_t i = 0; i < 32; i++) {
        for (uint32_t j = 0; j < 4; j++)
            in[i][j] = i * 0x01030507 + j * 0x91A2B3C4;
    }
    vec_run(ptx, in, sizeof in, out, sizeof out, 32);
    for (uint32_t i = 0; i < 32; i++) {
        for (uint32_t j = 0; j < 4; j++) {
            assert_int_equal(out[0][i][j], in[i][3 - j]);
            assert_int_equal(out[1][i][j], in[i][(j + 2) % 4]);
        }
        assert_int_equal(out[2][i][0], __builtin_bswap32(in[i][1]));
        const int32_t sum = (int16_t)in[i][1] + (int16_t)(in[i][1] >> 16);
        assert_int_equal((int32_t)out[2][i][1], sum);
        assert_int_equal(out[2][i][2], in[i][3]);
        assert_int_equal(out[2][i][3], in[i][2]);
    }
}

static void test_parameters(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER
        ".visible .entry k(.param .u8 a, .param .align 8 .b8 s[20], .param .f64 d, .param .u64 out,\n"
        ".param .u16 h)\n{\n.reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f64 %fd;\n"
        "ld.param.u64 %rd1, [out];\nld.param.u8 %r1, [a]; st.global.u32 [%rd1], %r1;\n"
        "ld.param.u32 %r2, [s+4]; st.global.u32 [%rd1+4], %r2;\n"
        "ld.param.v2.u32 {%r3, %r4}, [s+8]; st.global.u32 [%rd1+8], %r4;\n"
        "ld.param.s8 %r5, [s+19]; st.global.u32 [%rd1+12], %r5;\n"
        "ld.param.f64 %fd, [d]; st.global.f64 [%rd1+16], %fd;\n"
        "ld.param.u16 %r6, [h]; st.global.u32 [%rd1+24], %r6;\n"
        "mov.b64 %rd2, s; ld.param.u32 %r7, [%rd2+16]; st.global.u32 [%rd1+28], %r7;\nret;\n}\n";
    uint8_t a = 200;
    struct {
        uint32_t word[5];
    } s = {{1, 2, 3, 4, 0xF0000005}};
    double d = -2.5;
    uint16_t h = 65535;
    CUmodule module = vec_load("parameters", ptx);
    CUdeviceptr to = vec_to_device(NULL, 32);
    void *params[] = {&a, &s, &d, &to, &h};
    vec_launch(module, "k", (unsigned[3]){1, 1, 1}, (unsigned[3]){1, 1, 1}, 0, params);
    uint32_t out[8];
    vec_from_device(out, to, sizeof out);
    VEC_MUST(ModuleUnload(module));
    double back;
    memcpy(&back, &out[4], sizeof back);
    assert_int_equal(out[0], 200);
    assert_int_equal(out[1], 2);
    assert_int_equal(out[2], 4);
    assert_int_equal(out[3], 0xFFFFFFF0);
    assert_true(back == -2.5);
    assert_int_equal(out[6], 65535);
    assert_int_equal(out[7], 0xF0000005);
}

static void test_module_variables(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER
        ".const .align 4 .u32 table[4] = {10, 20, 30, 0xFFFFFFFF};\n"
        ".global .align 8 .f64 number = 0d4004000000000000;\n"
        ".global .u16 grid[2][3] = {{1, 2, 3}, {4, 5}};\n.global .u32 counter;\n"
        ".global .u64 pointers[2] = {generic(number), generic(table)+8};\n" VEC_ENTRY
        "ld.const.u32 %r3, [table+4]; st.global.u32 [%rd2], %r3;\n"
        "mov.u64 %rd4, table; ld.const.s32 %rd5, [%rd4+12]; st.global.u64 [%rd2+8], %rd5;\n"
        "ld.global.f64 %fd1, [number]; st.global.f64 [%rd2+16], %fd1;\n"
        "ld.global.u16 %r4, [grid+6]; st.global.u32 [%rd2+4], %r4;\n"
        "ld.global.u64 %rd6, [pointers]; ld.f64 %fd2, [%rd6]; st.global.f64 [%rd2+24], %fd2;\n"
        "ld.global.u64 %rd7, [pointers+8]; ld.u32 %r5, [%rd7]; st.global.u32 [%rd2+32], %r5;\n"
        "ld.global.u32 %r6, [counter]; add.u32 %r6, %r6, 7; st.global.u32 [counter], %r6;\n"
        "st.global.u32 [%rd2+36], %r6;\nret;\n}\n";
    CUmodule module = vec_load("variables", ptx);
    CUdeviceptr nothing = 0, to = vec_to_device(NULL, 40), counter = 0;
    size_t bytes = 0;
    void *params[] = {&nothing, &to};
    vec_launch(module, "k", (unsigned[3]){1, 1, 1}, (unsigned[3]){1, 1, 1}, 0, params);
    vec_launch(module, "k", (unsigned[3]){1, 1, 1}, (unsigned[3]){1, 1, 1}, 0, params);
    unsigned char out[40];
    uint32_t count = 0, word;
    vec_from_device(out, to, sizeof out);
    VEC_MUST(ModuleGetGlobal(&counter, &bytes, module, "counter"));
    assert_int_equal(bytes, 4);
    VEC_MUST(MemcpyDtoH(&count, counter, 4));
    VEC_MUST(ModuleUnload(module));
    assert_int_equal(count, 14);
    const double number = 2.5;
    assert_memory_equal(out, "\x14\0\0\0\4\0\0\0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 16);
    assert_memory_equal(out + 16, &number, 8);
    assert_memory_equal(out + 24, &number, 8);
    memcpy(&word, out + 32, 4);
    assert_int_equal(word, 30);
    memcpy(&word, out + 36, 4);
    assert_int_equal(word, 14);
}

/* A generic address works in every space; isspacep tells which one it is. */
static void test_generic_addresses(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER
        ".shared .align 4 .u32 s[4];\n.const .u32 c = 77;\n" VEC_ENTRY
        ".local .align 8 .b32 l[4];\n"
        "st.shared.u32 [s+8], 55; st.local.u32 [l+4], 66;\n"
        "mov.u64 %rd4, s; cvta.shared.u64 %rd4, %rd4; ld.u32 %r3, [%rd4+8];\n"
        "st.global.u32 [%rd2], %r3;\n"
        "mov.u64 %rd5, l; cvta.local.u64 %rd5, %rd5; ld.u32 %r4, [%rd5+4];\n"
        "st.global.u32 [%rd2+4], %r4;\n"
        "mov.u64 %rd6, c; cvta.const.u64 %rd6, %rd6; ld.u32 %r5, [%rd6];\n"
        "st.global.u32 [%rd2+8], %r5;\n"
        "cvta.to.shared.u64 %rd7, %rd4; ld.shared.u32 %r6, [%rd7+8]; st.global.u32 [%rd2+12], %r6;\n"
        "st.u32 [%rd4], 88; ld.shared.u32 %r7, [s]; st.global.u32 [%rd2+16], %r7;\n"
        "isspacep.shared %p1, %rd4; isspacep.local %p2, %rd5; isspacep.global %p3, %rd2;\n"
        "isspacep.global %p4, %rd4; isspacep.shared %p5, %rd5;\n"
        "selp.u32 %r8, 1, 0, %p1; selp.u32 %r9, 2, 0, %p2; selp.u32 %r10, 4, 0, %p3;\n"
        "selp.u32 %r11, 8, 0, %p4; selp.u32 %r12, 16, 0, %p5;\n"
        "or.b32 %r8, %r8, %r9; or.b32 %r8, %r8, %r10; or.b32 %r8, %r8, %r11; or.b32 %r8, %r8, %r12;\n"
        "st.global.u32 [%rd2+20], %r8;\n"
        "mov.u32 %r13, s; add.u32 %r13, %r13, 8; ld.shared.u32 %r14, [%r13];\n"
        "st.global.u32 [%rd2+24], %r14;\nret;\n}\n";
    uint32_t out[7];
    vec_run(ptx, NULL, 0, out, sizeof out, 1);
    const uint32_t expected[7] = {55, 66, 77, 55, 88, 7, 55};
    assert_memory_equal(out, expected, sizeof out);
}

/* Each thread has its own local memory, indexed at run time. */
static void test_local_memory(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER VEC_ENTRY
        ".local .align 4 .b8 l[128];\nmov.u64 %rd4, l;\nmov.u32 %r3, 0;\n"
        "FILL: mad.lo.u32 %r4, %r1, 100, %r3; mul.wide.u32 %rd5, %r3, 4; add.u64 %rd6, %rd4, %rd5;\n"
        "st.local.u32 [%rd6], %r4; add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 32; @%p1 bra FILL;\n"
        "and.b32 %r5, %r1, 31; mul.wide.u32 %rd5, %r5, 4; add.u64 %rd6, %rd4, %rd5;\n"
        "ld.local.u32 %r6, [%rd6]; st.global.u32 [%rd3], %r6;\nret;\n}\n";
    uint32_t out[96];
    vec_run(ptx, NULL, 0, out, sizeof out, 96);
    for (uint32_t i = 0; i < 96; i++)
        assert_int_equal(out[i], i * 100 + i % 32);
}

/* Static and dynamic shared memory: separate, and separate for each block. */
static void test_shared_memory(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER
        ".shared .align 4 .b8 s[256];\n.extern .shared .align 16 .b8 dyn[];\n" VEC_ENTRY
        "mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mad.lo.u32 %r5, %r3, %r4, %r1;\n"
        "mov.u32 %r6, s; mov.u32 %r7, dyn; shl.b32 %r8, %r1, 2;\n"
        "add.u32 %r9, %r6, %r8; add.u32 %r10, %r7, %r8;\n"
        "st.shared.u32 [%r9], %r5; mul.lo.u32 %r11, %r5, 3; st.shared.u32 [%r10], %r11;\n"
        "bar.sync 0;\n"
        "xor.b32 %r12, %r8, 252; add.u32 %r13, %r6, %r12; add.u32 %r14, %r7, %r12;\n"
        "ld.shared.u32 %r15, [%r13]; ld.shared.u32 %r16, [%r14]; add.u32 %r15, %r15, %r16;\n"
        "mul.wide.u32 %rd4, %r5, 4; add.u64 %rd4, %rd2, %rd4; st.global.u32 [%rd4], %r15;\nret;\n}\n";
    uint32_t out[5 * 64];
    vec_run_grid(ptx, NULL, 0, out, sizeof out, (unsigned[3]){5, 1, 1}, (unsigned[3]){64, 1, 1},
                 256);
    for (uint32_t i = 0; i < 5 * 64; i++)
        assert_int_equal(out[i], (i / 64 * 64 + (63 - i % 64)) * 4);
}

/* ---- atomics -------------------------------------------------------------------------------- */

enum { THREADS = 96, BLOCKS = 3 };

/* One atom or red by each of BLOCKS * THREADS threads on one word; value:
 * linear thread index + 1. */
typedef struct atomic_case {
    const char *op;      /* behind atom.<space>. and red.<space>. */
    bool wide;           /* 64 bits */
    uint64_t start, end; /* the word before and after */
} atomic_case;

#define N (uint64_t)(BLOCKS * THREADS)
static const atomic_case atomics[] = {
    {"add.u32", false, 5, 5 + N *(N + 1) / 2},
    {"add.s32", false, (uint32_t)-7, N *(N + 1) / 2 - 7},
    {"add.u64", true, (uint64_t)1 << 40, ((uint64_t)1 << 40) + N *(N + 1) / 2},
    {"min.u32", false, 0xFFFFFFFF, 1},
    {"max.u32", false, 0, N},
    {"min.s32", false, (uint32_t)-3, (uint32_t)-3},
    {"max.s32", false, (uint32_t)-3, N},
    {"min.u64", true, UINT64_MAX, 1},
    {"max.u64", true, 0, N},
    {"min.s64", true, UINT64_MAX, UINT64_MAX},
    {"max.s64", true, UINT64_MAX, N},
    {"and.b32", false, 0xFFFFF000, 0},
    {"or.b32", false, 0xFFFFF000, 0xFFFFF1FF},
    {"xor.b32", false, 0, N}, /* 1 ^ .. ^ n is n for n = 288, a multiple of 4 */
    {"and.b64", true, UINT64_MAX - 0xFFF, 0},
    {"or.b64", true, 1, 0x1FF},
    {"xor.b64", true, 0, N},
    {"inc.u32", false, 0, N % 101},
    {"dec.u32", false, 100, 100 - N % 101},
};
_Static_assert(BLOCKS *THREADS == 288, "the expected values above");

/* Returns the number of wrong results. */
static unsigned run_atomic(const atomic_case *it, const char *space, bool red)
{
    char text[4096];
    const bool shared = strcmp(space, ".shared") == 0,
               counts = it->op[0] == 'i' || it->op[0] == 'd';
    const char *value = counts ? "%r5" : it->wide ? "%rd4" : "%r4";
    char copy[80] = "";
    if (shared) /* the last block to run cannot be told: shared memory is tried with one block */
        snprintf(copy, sizeof copy, "%s",
                 "ld.shared.u64 %rd6, [word]; st.global.u64 [%rd2], %rd6;\n");
    snprintf(text, sizeof text,
             "%s.shared .align 8 .b8 word[8];\n%s"
             "mov.u32 %%r3, %%ctaid.x; mad.lo.u32 %%r4, %%r3, %d, %%r1; add.u32 %%r4, %%r4, 1;\n"
             "cvt.u64.u32 %%rd4, %%r4; mov.u32 %%r5, 100; mov.u64 %%rd5, word;\n"
             "ld.global.u64 %%rd6, [%%rd2]; setp.ne.u32 %%p1, %%r1, 0;\n"
             "@!%%p1 st.shared.u64 [word], %%rd6;\nbar.sync 0;\n"
             "%s%s.%s %s[%s], %s;\n"
             "bar.sync 0;\n@%%p1 ret;\n%s ret;\n}\n",
             VEC_HEADER, VEC_ENTRY, THREADS, red ? "red" : "atom", space, it->op,
             red        ? ""
             : it->wide ? "%rd7, "
                        : "%r6, ",
             shared ? "%rd5" : "%rd2", value, copy);
    CUmodule module = vec_load(it->op, text);
    CUdeviceptr nothing = 0, to = vec_to_device(&it->start, 8);
    void *params[] = {&nothing, &to};
    vec_launch(module, "k", (unsigned[3]){shared ? 1 : BLOCKS, 1, 1},
               (unsigned[3]){shared ? BLOCKS * THREADS : THREADS, 1, 1}, 0, params);
    uint64_t out;
    vec_from_device(&out, to, 8);
    VEC_MUST(ModuleUnload(module));
    if (!it->wide)
        out &= UINT32_MAX;
    if (out == (it->wide ? it->end : it->end & UINT32_MAX))
        return 0;
    print_error("%s%s.%s: %#llx, expected %#llx\n", red ? "red" : "atom", space, it->op,
                (unsigned long long)out, (unsigned long long)it->end);
    return 1;
}

static void test_atomic_results(void **state)
{
    (void)state;
    unsigned wrong = 0;
    for (size_t i = 0; i < VEC_COUNT(atomics); i++) {
        wrong += run_atomic(&atomics[i], ".global", false);
        wrong += run_atomic(&atomics[i], ".shared", false);
        wrong += run_atomic(&atomics[i], "", false);
        wrong += run_atomic(&atomics[i], ".global", true);
        wrong += run_atomic(&atomics[i], ".shared", true);
    }
    assert_int_equal(wrong, 0);
}

/* What atom gives back: every old value exactly once. */
static void test_atomic_old_values(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER VEC_ENTRY
        "atom.global.add.u32 %r3, [%rd2], 1;\n"
        "mul.wide.u32 %rd4, %r3, 4; add.u64 %rd4, %rd2, %rd4; red.global.add.u32 [%rd4+4], 1;\n"
        "ret;\n}\n";
    uint32_t out[1 + BLOCKS * THREADS];
    vec_run_grid(ptx, NULL, 0, out, sizeof out, (unsigned[3]){BLOCKS, 1, 1},
                 (unsigned[3]){THREADS, 1, 1}, 0);
    assert_int_equal(out[0], BLOCKS * THREADS);
    for (int i = 0; i < BLOCKS * THREADS; i++)
        assert_int_equal(out[1 + i], 1);
}

/* Sums of small whole numbers are exact in any order. */
static void test_atomic_floats(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER VEC_ENTRY
        "cvt.rn.f32.u32 %f1, %r1; cvt.rn.f64.u32 %fd1, %r1;\n"
        "atom.global.add.f32 %f2, [%rd2], %f1; atom.global.add.f64 %fd2, [%rd2+8], %fd1;\n"
        "red.global.add.f32 [%rd2+16], %f1; red.global.add.f64 [%rd2+24], 0d3FF0000000000000;\n"
        "mov.b32 %r3, 0x40003C00; atom.global.add.noftz.f16x2 %r4, [%rd2+32], %r3;\nret;\n}\n";
    unsigned char out[40];
    vec_run(ptx, NULL, 0, out, sizeof out, THREADS);
    const float sum32 = THREADS * (THREADS - 1) / 2;
    const double sum64 = THREADS * (THREADS - 1) / 2, count = THREADS;
    assert_memory_equal(out, &sum32, 4);
    assert_memory_equal(out + 8, &sum64, 8);
    assert_memory_equal(out + 16, &sum32, 4);
    assert_memory_equal(out + 24, &count, 8);
    assert_memory_equal(out + 32, "\x00\x56\x00\x5A", 4); /* 96 and 192 as f16 */
}

/* Global memory flushes f32, shared memory does not; nor do f64, and halves with .noftz. */
static void test_atomic_subnormals(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER
        ".shared .align 8 .b8 sh[8];\n" VEC_ENTRY
        "mov.b32 %r3, 0x00400000; mov.b32 %f1, %r3; mov.b32 %f2, 0x80000001;\n"
        "st.shared.u32 [sh], %r3; st.global.u32 [%rd2], %r3; st.global.u32 [%rd2+4], 0x00800001;\n"
        "atom.global.add.f32 %f3, [%rd2], %f1; red.global.add.f32 [%rd2+4], 0f80800000;\n"
        "red.shared.add.f32 [sh], %f1; ld.shared.u32 %r4, [sh]; st.global.u32 [%rd2+8], %r4;\n"
        "red.shared.add.f32 [sh], %f2; ld.shared.u32 %r4, [sh]; st.global.u32 [%rd2+12], %r4;\n"
        "mov.b64 %fd1, 3; red.global.add.f64 [%rd2+16], %fd1;\n"
        "mov.b32 %r4, 0x80030002; red.global.add.noftz.f16x2 [%rd2+24], %r4;\n"
        "st.global.f32 [%rd2+28], %f3;\nret;\n}\n";
    static const uint32_t expected[] = {0, 0, 0x00800000, 0x007FFFFF, 3, 0, 0x80030002, 0x00400000};
    uint32_t out[8];
    vec_run(ptx, NULL, 0, out, sizeof out, 1);
    for (size_t i = 0; i < VEC_COUNT(expected); i++)
        assert_int_equal(out[i], expected[i]);
}

static void test_exchange_and_compare(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER VEC_ENTRY
        "atom.global.exch.b32 %r3, [%rd2], 7; st.global.u32 [%rd2+32], %r3;\n"
        "atom.global.cas.b32 %r3, [%rd2], 7, 9; st.global.u32 [%rd2+36], %r3;\n"
        "atom.global.cas.b32 %r3, [%rd2], 7, 11; st.global.u32 [%rd2+40], %r3;\n"
        "mov.u64 %rd4, 0x123456789; atom.global.exch.b64 %rd5, [%rd2+8], %rd4;\n"
        "mov.u64 %rd6, 5; atom.global.cas.b64 %rd7, [%rd2+8], %rd4, %rd6;\n"
        "st.global.u64 [%rd2+48], %rd7;\n"
        "mov.u16 %rs1, 0; mov.u16 %rs2, 0xABCD; atom.global.cas.b16 %rs3, [%rd2+18], %rs1, %rs2;\n"
        "ret;\n}\n";
    unsigned char out[56];
    uint32_t words[14];
    vec_run(ptx, NULL, 0, out, sizeof out, 1);
    memcpy(words, out, sizeof out);
    assert_int_equal(words[0], 9);
    assert_int_equal(words[8], 0);
    assert_int_equal(words[9], 7);
    assert_int_equal(words[10], 9);
    assert_memory_equal(out + 8, "\5\0\0\0\0\0\0\0", 8);
    assert_memory_equal(out + 48, "\x89\x67\x45\x23\1\0\0\0", 8);
    assert_memory_equal(out + 16, "\0\0\xCD\xAB", 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_module_variables),
        cmocka_unit_test(test_generic_addresses),
        cmocka_unit_test(test_local_memory),
        cmocka_unit_test(test_shared_memory),
        cmocka_unit_test(test_atomic_results),
        cmocka_unit_test(test_atomic_old_values),
        cmocka_unit_test(test_atomic_floats),
        cmocka_unit_test(test_atomic_subnormals),
        cmocka_unit_test(test_exchange_and_compare),
    };
    return cmocka_run_group_tests_name("ptx_vectors_memory", tests, vec_setup, vec_teardown);
}
