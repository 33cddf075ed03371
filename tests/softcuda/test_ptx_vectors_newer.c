/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What GPUs of compute capability 8 and 9 brought: mbarriers and asynchronous copies. The software
 * device plays one of 9.0 here.
 */
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
    const char *ptx = HEADER_80 MBARRIER VEC_ENTRY INIT("64")
        "mov.u32 %r3, 0; mov.u32 %r4, 0;\n"
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
    const char *ptx = HEADER_90 MBARRIER VEC_ENTRY INIT("1")
        "fence.mbarrier_init.release.cluster; mov.u32 %r12, bar;\n"
        "@!%p1 bra WAIT;\n"
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r12], 256;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r10], [%rd1], 256,\n"
        "    [%r12];\n"
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

/* Less is read than is written, and the rest is zeros; a policy follows. */
static void test_copies(void **state)
{
    (void)state;
    need(80);
    const char *ptx = HEADER_80 MBARRIER VEC_ENTRY
        "mul.lo.u32 %r3, %r1, 16; mov.u32 %r4, s; add.u32 %r4, %r4, %r3; cvt.u64.u32 %rd4, %r3;\n"
        "add.u64 %rd4, %rd1, %rd4; and.b32 %r5, %r1, 15;\n"
        "createpolicy.fractional.L2::evict_first.b64 %rd5, 1.0;\n"
        "cp.async.cg.shared.global.L2::128B [%r4], [%rd4], 16, %r5;\n"
        "cp.async.commit_group; cp.async.wait_group 0;\n"
        "ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%r4]; add.u32 %r6, %r6, %r7;\n"
        "add.u32 %r6, %r6, %r8; add.u32 %r6, %r6, %r9;\n"
        "cp.async.ca.shared.global.L2::cache_hint [%r4], [%rd4], 8, %rd5;\n"
        "cp.async.wait_all; ld.shared.u32 %r7, [%r4+4]; mad.lo.u32 %r6, %r7, 5, %r6;\n"
        "ld.global.L2::cache_hint.u32 %r7, [%rd4], %rd5; mad.lo.u32 %r6, %r7, 7, %r6;\n"
        "st.global.u32 [%rd3], %r6;\nret;\n}\n";
    uint32_t in[4 * THREADS], out[THREADS];
    for (uint32_t n = 0; n < VEC_COUNT(in); n++)
        in[n] = n * UINT32_C(0x01030507) + 9;
    vec_run(ptx, in, sizeof in, out, sizeof out, THREADS);
    for (uint32_t t = 0; t < THREADS; t++) {
        uint32_t part[4] = {0};
        memcpy(part, in + 4 * (size_t)t, t & 15);
        assert_int_equal(out[t], part[0] + part[1] + part[2] + part[3] + in[4 * t + 1] * 5 +
                                     in[4 * t] * 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_phases),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_bulk_copies),
        cmocka_unit_test(test_copies),
    };
    setenv("SOFTCUDA_SM", "90", 1);
    return cmocka_run_group_tests_name("ptx_vectors_newer", tests, vec_setup, vec_teardown);
}
