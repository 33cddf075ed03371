/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What GPUs of compute capability 8 and 9 brought: mbarriers, asynchronous copies, floats of eight
 * bits, atomics on vectors, reserved shared memory. The software device plays one of 9.0 here.
 */
#include <math.h>

#include "softcuda/ptx_vectors.h"

#define HEADER_80 ".version 7.6\n.target sm_80\n.address_size 64\n"
#define HEADER_90 ".version 8.1\n.target sm_90\n.address_size 64\n"

enum { THREADS = 64 };

/* Skips the test on a GPU that lacks what it needs. */
static void need(unsigned capability)
{
    if (vec.capability < capability)
        skip();
}

/* ---- mbarriers ------------------------------------------------------------------------------ */

#define MBARRIER ".shared .align 8 .b64 bar;\n.shared .align 16 .b8 s[1024];\n"
#define INIT(count) \
    "setp.eq.u32 %p1, %r1, 0;\nmov.u32 %r10, s; mad.lo.u32 %r11, %r1, 4, %r10;\n" \
    "@%p1 mbarrier.init.shared.b64 [bar], " count ";\nbar.sync 0;\n"

/* Four phases: each thread writes before it arrives, and reads what another wrote when it has
 * waited. */
static void test_phases(void **state)
{
    (void)state;
    need(80);
    const char *ptx = HEADER_80 MBARRIER VEC_ENTRY INIT(
        "64") "mov.u32 %r3, 0; mov.u32 %r4, 0;\n"
              "sub.u32 %r12, %r11, %r10; xor.b32 %r12, %r12, 128; add.u32 %r12, %r12, %r10;\n"
              "LOOP: add.u32 %r5, %r1, %r4; st.shared.u32 [%r11], %r5;\n"
              "mbarrier.arrive.shared.b64 %rd4, [bar];\n"
              "WAIT: mbarrier.test_wait.shared.b64 %p2, [bar], %rd4; @!%p2 bra WAIT;\n"
              "ld.shared.u32 %r5, [%r12]; mad.lo.u32 %r3, %r3, 3, %r5;\n"
              "mbarrier.arrive.shared.b64 %rd4, [bar];\n"
              "WAIT2: mbarrier.test_wait.shared.b64 %p2, [bar], %rd4; @!%p2 bra WAIT2;\n"
              "add.u32 %r4, %r4, 1; setp.lt.u32 %p3, %r4, 4; @%p3 bra LOOP;\n"
              "st.global.u32 [%rd3], %r3;\nret;\n}\n";
    uint32_t out[THREADS];
    vec_run(ptx, NULL, 0, out, sizeof out, THREADS);
    for (uint32_t t = 0; t < THREADS; t++) {
        uint32_t sum = 0;
        for (uint32_t k = 0; k < 4; k++)
            sum = sum * 3 + (t ^ 32) + k;
        assert_int_equal(out[t], sum);
    }
}

/* What one thread sees: parities, pending counts, dropping out, .noComplete. */
static void test_states(void **state)
{
    (void)state;
    need(80);
    const char *ptx = HEADER_80 MBARRIER VEC_ENTRY
        "mbarrier.init.shared.b64 [bar], 3;\n"
        "mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0; selp.u32 %r3, 1, 0, %p1;\n"
        "mbarrier.test_wait.parity.shared.b64 %p1, [bar], 1; selp.u32 %r4, 2, 0, %p1;\n"
        "or.b32 %r3, %r3, %r4; st.global.u32 [%rd2], %r3;\n"
        "mbarrier.arrive.shared.b64 %rd4, [bar]; mbarrier.pending_count.b64 %r5, %rd4;\n"
        "st.global.u32 [%rd2+4], %r5;\n"
        "mbarrier.arrive.noComplete.shared.b64 %rd5, [bar], 1;\n"
        "mbarrier.pending_count.b64 %r5, %rd5; st.global.u32 [%rd2+8], %r5;\n"
        "mbarrier.arrive_drop.shared.b64 %rd6, [bar];\n" /* ends the phase; 2 are expected now */
        "mbarrier.test_wait.shared.b64 %p1, [bar], %rd4; selp.u32 %r3, 1, 0, %p1;\n"
        "mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0; selp.u32 %r4, 2, 0, %p1;\n"
        "or.b32 %r3, %r3, %r4; st.global.u32 [%rd2+12], %r3;\n"
        "mbarrier.arrive.shared.b64 %rd4, [bar]; mbarrier.pending_count.b64 %r5, %rd4;\n"
        "st.global.u32 [%rd2+16], %r5;\n"
        "mbarrier.test_wait.shared.b64 %p1, [bar], %rd4; selp.u32 %r3, 1, 0, %p1;\n"
        "st.global.u32 [%rd2+20], %r3;\n"
        "cp.async.mbarrier.arrive.shared.b64 [bar];\n" /* changes nothing in the end */
        "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n"
        "AGAIN: mbarrier.test_wait.shared.b64 %p1, [bar], %rd4; @!%p1 bra AGAIN;\n"
        "selp.u32 %r3, 1, 0, %p1; st.global.u32 [%rd2+24], %r3;\n"
        "mbarrier.inval.shared.b64 [bar]; ret;\n}\n";
    static const uint32_t expected[] = {2, 3, 2, 3, 2, 0, 1};
    uint32_t out[7];
    vec_run(ptx, NULL, 0, out, sizeof out, 1);
    for (size_t n = 0; n < VEC_COUNT(expected); n++)
        assert_int_equal(out[n], expected[n]);
}

/* An mbarrier that waits for bytes, and a copy that brings them; one thread copies the result. */
static void test_bulk_copies(void **state)
{
    (void)state;
    need(90);
    const char *ptx = HEADER_90 MBARRIER VEC_ENTRY INIT(
        "1") "fence.mbarrier_init.release.cluster; mov.u32 %r12, bar;\n"
             "@!%p1 bra WAIT;\n"
             "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r12], 256;\n"
             "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r10], [%rd1],\n"
             "    256, [%r12];\n"
             "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r12], 0; @!%p2 bra WAIT;\n"
             "ld.shared.u32 %r3, [%r11]; mad.lo.u32 %r3, %r3, 3, 1; st.shared.u32 [%r11], %r3;\n"
             "fence.proxy.async.shared::cta; bar.sync 0;\n@!%p1 bra DONE;\n"
             "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r10], 256;\n"
             "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nDONE: ret;\n}\n";
    uint32_t in[THREADS], out[THREADS];
    for (uint32_t t = 0; t < THREADS; t++)
        in[t] = t * 77;
    vec_run(ptx, in, sizeof in, out, sizeof out, THREADS);
    for (uint32_t t = 0; t < THREADS; t++)
        assert_int_equal(out[t], in[t] * 3 + 1);
}

/* ---- copies of some bytes ------------------------------------------------------------------- */

/* Runs `copies`, which copy 16 bytes for each thread and more, to %r6; then what it is to be. */
static void run_copies(const char *copies, uint32_t (*want)(const uint32_t *mine, uint32_t t))
{
    char ptx[4096];
    const int length = snprintf(
        ptx, sizeof ptx, "%s%s%s",
        HEADER_80 MBARRIER VEC_ENTRY
        "mul.lo.u32 %r3, %r1, 16; mov.u32 %r4, s; add.u32 %r4, %r4, %r3; cvt.u64.u32 %rd4, %r3;\n"
        "add.u64 %rd4, %rd1, %rd4; and.b32 %r5, %r1, 15; mov.u32 %r6, 0;\n"
        "createpolicy.fractional.L2::evict_first.b64 %rd5, 1.0;\n",
        copies, "st.global.u32 [%rd3], %r6;\nret;\n}\n");
    assert_in_range(length, 1, sizeof ptx - 1);
    uint32_t in[4 * THREADS], out[THREADS];
    for (uint32_t n = 0; n < VEC_COUNT(in); n++)
        in[n] = n * UINT32_C(0x01030507) + 9;
    vec_run(ptx, in, sizeof in, out, sizeof out, THREADS);
    for (uint32_t t = 0; t < THREADS; t++)
        assert_int_equal(out[t], want(in + 4 * (size_t)t, t));
}

static uint32_t want_copied(const uint32_t *mine, uint32_t t)
{
    uint32_t part[4] = {0};
    memcpy(part, mine, t & 15);
    return part[0] + part[1] + part[2] + part[3] + mine[0] * 7;
}

/* Less is read than is written, and the rest is zeros; then a load with a policy. */
static void test_copies(void **state)
{
    (void)state;
    need(80);
    run_copies("cp.async.cg.shared.global.L2::128B [%r4], [%rd4], 16, %r5;\n"
               "cp.async.commit_group; cp.async.wait_group 0;\n"
               "ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%r4]; add.u32 %r6, %r6, %r7;\n"
               "add.u32 %r6, %r6, %r8; add.u32 %r6, %r6, %r9;\n"
               "ld.global.L2::cache_hint.u32 %r7, [%rd4], %rd5; mad.lo.u32 %r6, %r7, 7, %r6;\n",
               want_copied);
}

static uint32_t want_hinted(const uint32_t *mine, uint32_t t)
{
    (void)t;
    return mine[1] * 5;
}

/* Not on a GPU: of a copy with a policy, the compiler in driver 580.159 makes an instruction that
 * an H100 and an H200 call illegal, whatever the size, the address and the policy come from. */
static void test_hinted_copies(void **state)
{
    (void)state;
    need(80);
    if (!acu_driver_info_of()->software)
        skip();
    run_copies("cp.async.ca.shared.global.L2::cache_hint [%r4], [%rd4], 8, %rd5;\n"
               "cp.async.wait_all; ld.shared.u32 %r7, [%r4+4]; mad.lo.u32 %r6, %r7, 5, %r6;\n",
               want_hinted);
}

/* ---- floats of eight bits ------------------------------------------------------------------- */

typedef struct format {
    const char *name;
    int mantissa, bias;
    double most;
    uint32_t largest; /* the code of `most` */
} format;

static const format formats[] = {{"e4m3", 3, 7, 448.0, 0x7e}, {"e5m2", 2, 15, 57344.0, 0x7b}};
static const format *now;

/* Every number is compared with the codes: they are few. */
static double number_of(uint32_t code)
{
    const int exponent = (int)(code & 0x7f) >> now->mantissa;
    const int mantissa = (int)code & ((1 << now->mantissa) - 1);
    const double v =
        exponent ? ldexp((1 << now->mantissa) + mantissa, exponent - now->bias - now->mantissa)
                 : ldexp(mantissa, 1 - now->bias - now->mantissa);
    return code & 0x80 ? -v : v;
}

static uint32_t code_of(double v)
{
    const uint32_t sign = signbit(v) ? 0x80 : 0;
    uint32_t best = 0;
    if (v != v)
        return 0x7f;
    if (fabs(v) >= now->most)
        return now->largest | sign;
    for (uint32_t code = 1; code <= now->largest; code++) {
        const double d = fabs(number_of(code) - fabs(v)), e = fabs(number_of(best) - fabs(v));
        if (d < e || (d == e && !(code & 1)))
            best = code;
    }
    return best | sign;
}

static float float_of(uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float v;
    memcpy(&v, &low, sizeof v);
    return v;
}

static uint64_t expect_pair(uint64_t a, uint64_t b, uint64_t c)
{
    (void)c;
    return code_of((double)float_of(a)) << 8 | code_of((double)float_of(b));
}

static uint64_t expect_pair_relu(uint64_t a, uint64_t b, uint64_t c)
{
    (void)c;
    const float x = float_of(a), y = float_of(b);
    return code_of(x < 0 ? 0.0 : (double)x) << 8 | code_of(y < 0 ? 0.0 : (double)y);
}

/* The sign of the zero that .relu makes of -0 is not stated. */
static bool no_negative_zero(uint64_t a, uint64_t b, uint64_t c)
{
    (void)c;
    return (uint32_t)a != 0x80000000 && (uint32_t)b != 0x80000000;
}

static void test_to_eight_bits(void **state)
{
    (void)state;
    need(90);
    static const uint64_t floats[] = {
        0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x3F880000, 0x3F980000, 0x43E00000,
        0x43E7FFFF, 0x43E80000, 0x43E80001, 0xC3F00000, 0x43700000, 0x43780000, 0x437C0000,
        0x43000000, 0x42F80000, 0x42F7FFFF, 0x3B000000, 0x3A800000, 0x3A800001, 0x3AC00000,
        0x3C780000, 0x47600000, 0x476FFFFF, 0x47700000, 0xC7800000, 0x37800000, 0x37000000,
        0x37000001, 0x37400000, 0x00000001, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000,
    };
    for (now = formats; now < formats + VEC_COUNT(formats); now++) {
        char plain[96], relu[96];
        snprintf(plain, sizeof plain, "cvt.rn.satfinite.%sx2.f32 %%hw, %%fx, %%fy;\n", now->name);
        snprintf(relu, sizeof relu, "cvt.rn.satfinite.relu.%sx2.f32 %%hw, %%fx, %%fy;\n",
                 now->name);
        const vec_case cases[] = {
            {plain, plain, 'h', 90, 81, expect_pair, NULL},
            {relu, relu, 'h', 90, 81, expect_pair_relu, no_negative_zero},
        };
        vec_check(cases, VEC_COUNT(cases), floats, VEC_COUNT(floats));
    }
}

/* Both bytes of %hx to f16x2, and back. */
static uint64_t expect_back(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return a & 0xffff;
}

static uint64_t expect_halves(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    uint64_t r = 0;
    for (int n = 0; n < 2; n++) { /* in units of 2^-24, f16's smallest: exact */
        const double v = number_of((uint32_t)(a >> 8 * n) & 0xff);
        int exponent;
        const double m = frexp(fabs(v), &exponent);
        uint64_t h = (uint64_t)(fabs(v) * 0x1p24);
        if (exponent > -14 && m != 0.0)
            h = (uint64_t)(exponent + 14) << 10 | ((uint64_t)(m * 0x1p11) & 0x3ff);
        r |= (h | (signbit(v) ? 0x8000u : 0u)) << 16 * n;
    }
    return r;
}

/* Both bytes are numbers, of which the format has a finite one. */
static bool is_finite(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return (a & 0x7f) <= now->largest && (a >> 8 & 0x7f) <= now->largest;
}

static void test_from_eight_bits(void **state)
{
    (void)state;
    need(90);
    static uint64_t bytes[32];
    for (now = formats; now < formats + VEC_COUNT(formats); now++) {
        for (uint64_t from = 0; from < 256; from += 32) {
            char halves[96], back[160];
            for (uint64_t n = 0; n < 32; n++)
                bytes[n] = (from + n) | ((from * 7 + n * 5 + 1) & 0xff) << 8;
            snprintf(halves, sizeof halves, "cvt.rn.f16x2.%sx2 %%w, %%hx;\n", now->name);
            snprintf(back, sizeof back,
                     "cvt.rn.f16x2.%sx2 %%t0, %%hx; cvt.rn.satfinite.%sx2.f16x2 %%hw, %%t0;\n",
                     now->name, now->name);
            const vec_case cases[] = {
                {halves, halves, 'w', 90, 81, expect_halves, is_finite},
                {back, back, 'h', 90, 81, expect_back, is_finite},
            };
            vec_check(cases, VEC_COUNT(cases), bytes, VEC_COUNT(bytes));
        }
    }
}

/* ---- atomics on vectors --------------------------------------------------------------------- */

static void test_vector_atomics(void **state)
{
    (void)state;
    need(90);
    const char *ptx = HEADER_90 VEC_ENTRY
        "cvt.rn.f32.u32 %f1, %r1; mov.f32 %f2, 0f40000000; mov.f32 %f4, 0f3F800000;\n"
        "atom.global.add.v2.f32 {%f1, %f2}, [%rd2], {%f2, %f1};\n" /* results over operands */
        "red.global.add.v4.f32 [%rd2+16], {%f4, %f4, %f4, %f4};\n"
        "mov.b32 %r3, 0x3C004000; red.global.add.noftz.v2.f16x2 [%rd2+32], {%r3, %r3};\n"
        "setp.lt.f32 %p1, %f1, 0f00000000; setp.lt.or.f32 %p1, %f2, 0f00000000, %p1;\n"
        "@%p1 trap;\nret;\n}\n";
    float out[10];
    vec_run(ptx, NULL, 0, out, sizeof out, THREADS);
    assert_true(out[0] == 2 * THREADS && out[1] == THREADS * (THREADS - 1) / 2);
    for (int n = 4; n < 8; n++)
        assert_true(out[n] == THREADS);
    assert_memory_equal(out + 8, "\x00\x58\x00\x54\x00\x58\x00\x54", 8); /* 128 and 64 as f16 */
}

/* ---- reserved shared memory ----------------------------------------------------------------- */

/* The part that CUDA's cooperative groups use, beside a program's own. */
static void test_reserved_shared(void **state)
{
    (void)state;
    need(80);
    const char *ptx = HEADER_80 MBARRIER VEC_ENTRY
        "mov.u32 %r3, %reserved_smem_offset_1; mad.lo.u32 %r4, %r1, 4, %r3;\n"
        "mov.u32 %r10, s; mad.lo.u32 %r11, %r1, 4, %r10; st.shared.u32 [%r11], 5;\n"
        "st.shared.u32 [%r4], %r1; bar.sync 0; xor.b32 %r5, %r1, 63; mad.lo.u32 %r4, %r5, 4, %r3;\n"
        "cvt.u64.u32 %rd4, %r4; cvta.shared.u64 %rd4, %rd4; ld.u32 %r6, [%rd4];\n"
        "ld.shared.u32 %r7, [%r11]; mad.lo.u32 %r6, %r7, 100, %r6;\n"
        "mov.u32 %r8, %reserved_smem_offset_end; sub.u32 %r8, %r8, %r3;\n"
        "setp.lt.u32 %p1, %r8, 256; @%p1 mov.u32 %r6, 0;\nst.global.u32 [%rd3], %r6;\nret;\n}\n";
    uint32_t out[THREADS];
    vec_run(ptx, NULL, 0, out, sizeof out, THREADS);
    for (uint32_t t = 0; t < THREADS; t++)
        assert_int_equal(out[t], 500 + (t ^ 63));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_phases),         cmocka_unit_test(test_states),
        cmocka_unit_test(test_bulk_copies),    cmocka_unit_test(test_copies),
        cmocka_unit_test(test_hinted_copies),  cmocka_unit_test(test_to_eight_bits),
        cmocka_unit_test(test_from_eight_bits),
        cmocka_unit_test(test_vector_atomics), cmocka_unit_test(test_reserved_shared),
    };
    setenv("SOFTCUDA_SM", "90", 1);
    return cmocka_run_group_tests_name("ptx_vectors_newer", tests, vec_setup, vec_teardown);
}
