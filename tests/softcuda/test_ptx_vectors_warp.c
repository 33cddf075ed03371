/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the threads of a warp and of a block do together: shuffles, votes, matches, reductions
 * over a warp, barriers. */
#include "softcuda/ptx_vectors.h"

/* ---- shuffles ------------------------------------------------------------------------------- */

enum { UP, DOWN, BFLY, IDX };
static const char *const shuffle_names[] = {"up", "down", "bfly", "idx"};

/* PTX's definition of shfl: the lane that is read, and whether it was in range. */
static unsigned shuffle_source(int mode, unsigned lane, unsigned b, unsigned c, bool *in_range)
{
    const unsigned by = b & 31, clamp = c & 31, segment = c >> 8 & 31;
    const unsigned most = (lane & segment) | (clamp & ~segment), least = lane & segment;
    int source = 0;
    switch (mode) {
    case UP:
        source = (int)lane - (int)by;
        *in_range = source >= (int)most;
        break;
    case DOWN:
        source = (int)(lane + by);
        *in_range = source <= (int)most;
        break;
    case BFLY:
        source = (int)(lane ^ by);
        *in_range = source <= (int)most;
        break;
    default:
        source = (int)(least | (by & ~segment));
        *in_range = source <= (int)most;
        break;
    }
    return *in_range ? (unsigned)source : lane;
}

static void run_shuffles(int mode, const unsigned *by, size_t by_count)
{
    /* Whole warps; rows of 8 and 16; up clamps at the low end, the others at the high end. */
    static const unsigned widths[] = {32, 16, 8};
    static char text[64 * 1024];
    size_t used = (size_t)snprintf(text, sizeof text, "%s%smad.lo.u32 %%r3, %%r1, 100, 7;\n",
                                   VEC_HEADER, VEC_ENTRY);
    unsigned n = 0;
    static unsigned bs[64], cs[64];
    for (size_t w = 0; w < VEC_COUNT(widths); w++) {
        for (size_t i = 0; i < by_count; i++, n++) {
            bs[n] = by[i];
            cs[n] = (32 - widths[w]) << 8 | (mode == UP ? 0 : 31);
            used += (size_t)snprintf(
                text + used, sizeof text - used,
                "shfl.sync.%s.b32 %%r4|%%p1, %%r3, %u, %u, -1;\nselp.u32 %%r5, 1, 0, %%p1;\n"
                "st.global.u32 [%%rd3+%u], %%r4; st.global.u32 [%%rd3+%u], %%r5;\n",
                shuffle_names[mode], bs[n], cs[n], n * 512, n * 512 + 256);
        }
    }
    snprintf(text + used, sizeof text - used, "ret;\n}\n");
    static uint32_t out[64][2][64];
    vec_run(text, NULL, 0, out, n * sizeof out[0], 64);
    for (unsigned i = 0; i < n; i++) {
        for (unsigned t = 0; t < 64; t++) {
            bool in_range;
            const unsigned source = shuffle_source(mode, t % 32, bs[i], cs[i], &in_range);
            if (out[i][0][t] != (t / 32 * 32 + source) * 100 + 7 || out[i][1][t] != in_range)
                fail_msg("shfl.%s by %u, c %#x, thread %u: %u (%u), expected lane %u (%d)",
                         shuffle_names[mode], bs[i], cs[i], t, out[i][0][t], out[i][1][t], source,
                         in_range);
        }
    }
}

static void test_shuffles(void **state)
{
    (void)state;
    const unsigned by[] = {0, 1, 2, 3, 5, 7, 8, 15, 16, 17, 30, 31};
    for (int mode = UP; mode <= IDX; mode++)
        run_shuffles(mode, by, VEC_COUNT(by));
}

/* Every lane names its own source, and only some lanes take part. */
static void test_shuffle_of_some_lanes(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER VEC_ENTRY
        "mul.lo.u32 %r3, %r1, 3; mov.u32 %r4, 0xFFFF;\n"
        "mad.lo.u32 %r5, %r1, 5, 3; and.b32 %r5, %r5, 15;\n"
        "setp.lt.u32 %p1, %r2, 16; @!%p1 bra OTHERS;\n"
        "shfl.sync.idx.b32 %r6, %r3, %r5, 31, 0x0000FFFF; st.global.u32 [%rd3], %r6; ret;\n"
        "OTHERS: shfl.sync.down.b32 %r6, %r3, 1, 31, 0xFFFF0000; st.global.u32 [%rd3], %r6; ret;\n}\n";
    uint32_t out[32];
    vec_run(ptx, NULL, 0, out, sizeof out, 32);
    for (uint32_t i = 0; i < 16; i++)
        assert_int_equal(out[i], ((i * 5 + 3) & 15) * 3);
    for (uint32_t i = 16; i < 32; i++)
        assert_int_equal(out[i], (i < 31 ? i + 1 : i) * 3);
}

static void test_butterfly_sum(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER VEC_ENTRY
        "cvt.rn.f32.u32 %f1, %r1; mov.u32 %r3, 16;\n"
        "AGAIN: mov.b32 %r4, %f1; shfl.sync.bfly.b32 %r5, %r4, %r3, 31, -1; mov.b32 %f2, %r5;\n"
        "add.f32 %f1, %f1, %f2; shr.u32 %r3, %r3, 1; setp.ne.u32 %p1, %r3, 0; @%p1 bra AGAIN;\n"
        "cvt.rzi.u32.f32 %r6, %f1; st.global.u32 [%rd3], %r6; ret;\n}\n";
    uint32_t out[96];
    vec_run(ptx, NULL, 0, out, sizeof out, 96);
    for (uint32_t i = 0; i < 96; i++)
        assert_int_equal(out[i], 496 + i / 32 * 1024);
}

/* ---- votes, matches, reductions ------------------------------------------------------------- */

static void test_votes(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER VEC_ENTRY
        "and.b32 %r3, %r1, 3; setp.eq.u32 %p1, %r3, 1; setp.lt.u32 %p2, %r1, 32;\n"
        "vote.sync.ballot.b32 %r4, %p1, -1; st.global.u32 [%rd3], %r4;\n"
        "vote.sync.ballot.b32 %r4, !%p1, -1; st.global.u32 [%rd3+256], %r4;\n"
        "vote.sync.any.pred %p3, %p2, -1; vote.sync.all.pred %p4, %p2, -1;\n"
        "vote.sync.uni.pred %p5, %p2, -1; vote.sync.uni.pred %p6, %p1, -1;\n"
        "selp.u32 %r5, 1, 0, %p3; selp.u32 %r6, 2, 0, %p4; selp.u32 %r7, 4, 0, %p5;\n"
        "selp.u32 %r8, 8, 0, %p6; or.b32 %r5, %r5, %r6; or.b32 %r7, %r7, %r8; or.b32 %r5, %r5, %r7;\n"
        "st.global.u32 [%rd3+512], %r5;\n"
        "setp.ge.u32 %p7, %r2, 24; @!%p7 bra REST;\n"
        "vote.sync.ballot.b32 %r9, %p1, 0xFF000000; st.global.u32 [%rd3+768], %r9; ret;\n"
        "REST: vote.sync.ballot.b32 %r9, %p1, 0x00FFFFFF; st.global.u32 [%rd3+768], %r9; ret;\n}\n";
    uint32_t out[4][64];
    vec_run(ptx, NULL, 0, out, sizeof out, 64);
    for (uint32_t i = 0; i < 64; i++) {
        assert_int_equal(out[0][i], 0x22222222);
        assert_int_equal(out[1][i], 0xDDDDDDDD);
        assert_int_equal(out[2][i], i < 32 ? 1 | 2 | 4 : 4);
        assert_int_equal(out[3][i], i % 32 >= 24 ? 0x22000000 : 0x00222222);
    }
}

static void test_matches(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER VEC_ENTRY
        "and.b32 %r3, %r1, 3; match.any.sync.b32 %r4, %r3, -1; st.global.u32 [%rd3], %r4;\n"
        "cvt.u64.u32 %rd4, %r3; shl.b64 %rd4, %rd4, 33; match.any.sync.b64 %r4, %rd4, -1;\n"
        "st.global.u32 [%rd3+256], %r4;\n"
        "setp.lt.u32 %p1, %r1, 32; selp.u32 %r5, 9, %r1, %p1;\n"
        "match.all.sync.b32 %r6|%p2, %r5, -1; selp.u32 %r7, 1, 0, %p2;\n"
        "st.global.u32 [%rd3+512], %r6; st.global.u32 [%rd3+768], %r7;\nret;\n}\n";
    uint32_t out[4][64];
    vec_run(ptx, NULL, 0, out, sizeof out, 64);
    for (uint32_t i = 0; i < 64; i++) {
        assert_int_equal(out[0][i], 0x11111111u << (i & 3));
        assert_int_equal(out[1][i], 0x11111111u << (i & 3));
        assert_int_equal(out[2][i], i < 32 ? UINT32_MAX : 0);
        assert_int_equal(out[3][i], i < 32);
    }
}

/* Lanes that run together, in four tiles of eight: each names its own tile alone. */
static void test_tiles(void **state)
{
    (void)state;
    if (vec.capability < 80)
        skip();
    const char *ptx = VEC_HEADER_80 VEC_ENTRY
        "and.b32 %r3, %r2, 24; mov.u32 %r4, 0xff; shl.b32 %r4, %r4, %r3;\n"
        "and.b32 %r5, %r2, 1; setp.eq.u32 %p1, %r5, 1; setp.ge.u32 %p2, %r2, 24;\n"
        "or.pred %p1, %p1, %p2; setp.lt.u32 %p2, %r2, 8;\n"
        "vote.sync.ballot.b32 %r6, %p1, %r4; st.global.u32 [%rd3], %r6;\n"
        "vote.sync.all.pred %p3, %p1, %r4; selp.u32 %r6, 1, 0, %p3; st.global.u32 [%rd3+128], %r6;\n"
        "vote.sync.any.pred %p3, %p2, %r4; selp.u32 %r6, 1, 0, %p3; st.global.u32 [%rd3+256], %r6;\n"
        "redux.sync.add.u32 %r6, %r2, %r4; st.global.u32 [%rd3+384], %r6;\n"
        "match.any.sync.b32 %r6, %r5, %r4; st.global.u32 [%rd3+512], %r6;\n"
        "match.all.sync.b32 %r6|%p3, %r3, %r4; st.global.u32 [%rd3+640], %r6;\n"
        "shfl.sync.bfly.b32 %r6, %r2, 7, 0x181f, %r4; st.global.u32 [%rd3+768], %r6;\nret;\n}\n";
    uint32_t out[7][32];
    vec_run(ptx, NULL, 0, out, sizeof out, 32);
    for (uint32_t i = 0; i < 32; i++) {
        const uint32_t tile = i & 24, all = 0xFFu << tile, odd = 0xAAu << tile;
        assert_int_equal(out[0][i], tile == 24 ? all : odd);
        assert_int_equal(out[1][i], tile == 24);
        assert_int_equal(out[2][i], tile == 0);
        assert_int_equal(out[3][i], 8 * tile + 28);
        assert_int_equal(out[4][i], i & 1 ? odd : all ^ odd);
        assert_int_equal(out[5][i], all);
        assert_int_equal(out[6][i], i ^ 7);
    }
}

/* The barrier of one tile does not release lanes of another one: lanes 0 to 3 wait for lanes 4 to
 * 7, which are late. */
static void test_barriers_of_tiles(void **state)
{
    (void)state;
    const char *ptx =
        VEC_HEADER ".shared .align 4 .u32 word;\n" VEC_ENTRY
                   "mov.u32 %r5, 0; st.shared.u32 [word], %r5; bar.warp.sync -1;\n"
                   "and.b32 %r3, %r2, 24; mov.u32 %r4, 0xff; shl.b32 %r4, %r4, %r3;\n"
                   "setp.lt.u32 %p1, %r2, 4; setp.ge.u32 %p2, %r2, 8;\n@!%p1 bra OTHERS;\n"
                   "bar.warp.sync %r4; ld.volatile.shared.u32 %r5, [word]; bra DONE;\n"
                   "OTHERS: @!%p2 bra LATE;\nbar.warp.sync %r4; bra DONE;\n"
                   "LATE: mov.u32 %r5, 7; st.volatile.shared.u32 [word], %r5; bar.warp.sync %r4;\n"
                   "DONE: st.global.u32 [%rd3], %r5;\nret;\n}\n";
    uint32_t out[32];
    vec_run(ptx, NULL, 0, out, sizeof out, 32);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(out[i], i < 8 ? 7 : 0);
}

static void test_redux(void **state)
{
    (void)state;
    if (vec.capability < 80)
        skip();
    const char *ptx = VEC_HEADER_80 VEC_ENTRY
        "mad.lo.u32 %r3, %r1, 7, 1; sub.u32 %r4, 20, %r1;\n"
        "redux.sync.add.u32 %r5, %r3, -1; st.global.u32 [%rd3], %r5;\n"
        "redux.sync.add.s32 %r5, %r4, -1; st.global.u32 [%rd3+256], %r5;\n"
        "redux.sync.min.s32 %r5, %r4, -1; st.global.u32 [%rd3+512], %r5;\n"
        "redux.sync.max.s32 %r5, %r4, -1; st.global.u32 [%rd3+768], %r5;\n"
        "redux.sync.min.u32 %r5, %r4, -1; st.global.u32 [%rd3+1024], %r5;\n"
        "redux.sync.max.u32 %r5, %r4, -1; st.global.u32 [%rd3+1280], %r5;\n"
        "redux.sync.and.b32 %r5, %r3, -1; st.global.u32 [%rd3+1536], %r5;\n"
        "redux.sync.or.b32 %r5, %r3, -1; st.global.u32 [%rd3+1792], %r5;\n"
        "redux.sync.xor.b32 %r5, %r3, -1; st.global.u32 [%rd3+2048], %r5;\nret;\n}\n";
    uint32_t out[9][64];
    vec_run(ptx, NULL, 0, out, sizeof out, 64);
    for (uint32_t w = 0; w < 2; w++) {
        uint32_t sum = 0, all = UINT32_MAX, some = 0, odd = 0, least = UINT32_MAX, most = 0;
        int32_t signed_sum = 0;
        for (uint32_t t = w * 32; t < w * 32 + 32; t++) {
            const uint32_t x = t * 7 + 1, y = 20 - t;
            sum += x, all &= x, some |= x, odd ^= x;
            signed_sum += (int32_t)y;
            least = y < least ? y : least;
            most = y > most ? y : most;
        }
        const uint32_t expected[9] = {
            sum, (uint32_t)signed_sum, 20 - (w * 32 + 31), 20 - w * 32u, least, most, all, some,
            odd};
        for (int i = 0; i < 9; i++) {
            for (uint32_t t = w * 32; t < w * 32 + 32; t++)
                assert_int_equal(out[i][t], expected[i]);
        }
    }
}

static void test_lanes_and_masks(void **state)
{
    (void)state;
    const char *ptx =
        VEC_HEADER VEC_ENTRY "activemask.b32 %r3; st.global.u32 [%rd3], %r3;\n"
                             "st.global.u32 [%rd3+256], %r2;\n"
                             "mov.u32 %r4, %lanemask_eq; st.global.u32 [%rd3+512], %r4;\n"
                             "mov.u32 %r4, %lanemask_lt; st.global.u32 [%rd3+768], %r4;\n"
                             "mov.u32 %r4, %lanemask_le; st.global.u32 [%rd3+1024], %r4;\n"
                             "mov.u32 %r4, %lanemask_gt; st.global.u32 [%rd3+1280], %r4;\n"
                             "mov.u32 %r4, %lanemask_ge; st.global.u32 [%rd3+1536], %r4;\n"
                             "bar.warp.sync -1;\nret;\n}\n";
    uint32_t out[7][64];
    vec_run(ptx, NULL, 0, out, sizeof out, 64);
    for (uint32_t i = 0; i < 64; i++) {
        const uint32_t lane = i % 32, bit = (uint32_t)1 << lane;
        assert_int_equal(out[0][i], UINT32_MAX);
        assert_int_equal(out[1][i], lane);
        assert_int_equal(out[2][i], bit);
        assert_int_equal(out[3][i], bit - 1);
        assert_int_equal(out[4][i], bit | (bit - 1));
        assert_int_equal(out[5][i], ~(bit | (bit - 1)));
        assert_int_equal(out[6][i], ~(bit - 1));
    }
}

/* A block whose last warp is not full: the missing lanes take no part. */
static void test_partial_warp(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER VEC_ENTRY
        "activemask.b32 %r3; setp.lt.u32 %p1, %r1, 32; selp.b32 %r4, -1, 0xFF, %p1;\n"
        "setp.ge.u32 %p2, %r1, 0; vote.sync.ballot.b32 %r5, %p2, %r4;\n"
        "st.global.u32 [%rd3], %r3; st.global.u32 [%rd3+160], %r5;\n"
        "bar.sync 0;\nret;\n}\n";
    uint32_t out[2][40];
    vec_run(ptx, NULL, 0, out, sizeof out, 40);
    for (uint32_t i = 0; i < 40; i++) {
        assert_int_equal(out[0][i], i < 32 ? UINT32_MAX : 0xFF);
        assert_int_equal(out[1][i], i < 32 ? UINT32_MAX : 0xFF);
    }
}

/* ---- barriers ------------------------------------------------------------------------------- */

/* A running sum through shared memory: wrong as soon as one of many barriers is passed early. */
static void test_many_barriers(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER
        ".shared .align 4 .b8 s[1024];\n" VEC_ENTRY
        "mov.u32 %r3, s; shl.b32 %r4, %r1, 2; add.u32 %r5, %r3, %r4;\n"
        "add.u32 %r6, %r1, 1; st.shared.u32 [%r5], %r6; bar.sync 0; mov.u32 %r7, 1;\n"
        "AGAIN: sub.u32 %r8, %r1, %r7; setp.ge.u32 %p1, %r1, %r7; mov.u32 %r9, 0;\n"
        "shl.b32 %r10, %r8, 2; add.u32 %r11, %r3, %r10; @%p1 ld.shared.u32 %r9, [%r11];\n"
        "bar.sync 0; ld.shared.u32 %r12, [%r5]; add.u32 %r12, %r12, %r9; st.shared.u32 [%r5], %r12;\n"
        "bar.sync 0; shl.b32 %r7, %r7, 1; setp.lt.u32 %p2, %r7, 256; @%p2 bra AGAIN;\n"
        "ld.shared.u32 %r13, [%r5]; st.global.u32 [%rd3], %r13;\nret;\n}\n";
    uint32_t out[256];
    vec_run(ptx, NULL, 0, out, sizeof out, 256);
    for (uint32_t i = 0; i < 256; i++)
        assert_int_equal(out[i], (i + 1) * (i + 2) / 2);
}

/* Two halves of a block, each with a barrier of its own, pass it a different number of times. */
static void test_named_barriers(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER
        ".shared .align 4 .b8 s[512];\n" VEC_ENTRY
        "mov.u32 %r3, s; shl.b32 %r4, %r1, 2; add.u32 %r5, %r3, %r4; xor.b32 %r6, %r4, 128;\n"
        "add.u32 %r7, %r3, %r6; mov.u32 %r8, 0; mov.u32 %r12, %r1;\n"
        "setp.ge.u32 %p1, %r1, 64; @%p1 bra SECOND;\n"
        "FIRST: st.shared.u32 [%r5], %r12; bar.sync 1, 64; ld.shared.u32 %r9, [%r7]; bar.sync 1, 64;\n"
        "add.u32 %r12, %r9, 1; add.u32 %r8, %r8, 1; setp.lt.u32 %p2, %r8, 10; @%p2 bra FIRST;\n"
        "bra JOIN;\n"
        "SECOND: st.shared.u32 [%r5], %r12; bar.sync 2, 64; ld.shared.u32 %r9, [%r7]; bar.sync 2, 64;\n"
        "add.u32 %r12, %r9, 2; add.u32 %r8, %r8, 1; setp.lt.u32 %p2, %r8, 7; @%p2 bra SECOND;\n"
        "JOIN: bar.sync 0; st.global.u32 [%rd3], %r12;\nret;\n}\n";
    uint32_t out[128];
    vec_run(ptx, NULL, 0, out, sizeof out, 128);
    for (uint32_t i = 0; i < 128; i++)
        assert_int_equal(out[i], i < 64 ? i + 10 : (i ^ 32) + 14);
}

/* bar.arrive does not wait: one warp produces, another consumes. */
static void test_arrive(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER
        ".shared .align 4 .b8 s[128];\n" VEC_ENTRY
        "mov.u32 %r3, s; shl.b32 %r4, %r2, 2; add.u32 %r5, %r3, %r4;\n"
        "setp.ge.u32 %p1, %r1, 32; @%p1 bra CONSUME;\n"
        "mul.lo.u32 %r6, %r1, 11; st.shared.u32 [%r5], %r6; membar.cta; bar.arrive 3, 64; ret;\n"
        "CONSUME: bar.sync 3, 64; ld.shared.u32 %r6, [%r5]; st.global.u32 [%rd3], %r6; ret;\n}\n";
    uint32_t out[64];
    vec_run(ptx, NULL, 0, out, sizeof out, 64);
    for (uint32_t i = 32; i < 64; i++)
        assert_int_equal(out[i], (i - 32) * 11);
}

static void test_barrier_reductions(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER VEC_ENTRY
        "rem.u32 %r3, %r1, 3; setp.eq.u32 %p1, %r3, 0; setp.lt.u32 %p2, %r1, 96; setp.eq.u32 %p3, %r1, 200;\n"
        "bar.red.popc.u32 %r4, 0, %p1; st.global.u32 [%rd3], %r4;\n"
        "bar.red.popc.u32 %r4, 0, !%p1; st.global.u32 [%rd3+384], %r4;\n"
        "bar.red.and.pred %p4, 0, %p2; selp.u32 %r5, 1, 0, %p4;\n"
        "bar.red.or.pred %p5, 0, %p3; selp.u32 %r6, 2, 0, %p5;\n"
        "bar.red.and.pred %p6, 0, %p1; selp.u32 %r7, 4, 0, %p6;\n"
        "bar.red.or.pred %p7, 0, %p1; selp.u32 %r8, 8, 0, %p7;\n"
        "or.b32 %r5, %r5, %r6; or.b32 %r7, %r7, %r8; or.b32 %r5, %r5, %r7;\n"
        "st.global.u32 [%rd3+768], %r5;\nret;\n}\n";
    uint32_t out[3][96];
    vec_run(ptx, NULL, 0, out, sizeof out, 96);
    for (uint32_t i = 0; i < 96; i++) {
        assert_int_equal(out[0][i], 32);
        assert_int_equal(out[1][i], 64);
        assert_int_equal(out[2][i], 1 | 8);
    }
}

/* Blocks count themselves in with an atomic; the last one sees what all
 * wrote before their fences. */
static void test_fence_and_last_block(void **state)
{
    (void)state;
    const char *ptx = VEC_HEADER VEC_ENTRY
        "mov.u32 %r3, %ctaid.x; mov.u32 %r4, %nctaid.x; mul.wide.u32 %rd4, %r3, 4;\n"
        "add.u64 %rd5, %rd2, %rd4; add.u32 %r5, %r3, 1; setp.ne.u32 %p1, %r1, 0; @%p1 ret;\n"
        "st.volatile.global.u32 [%rd5+8], %r5; membar.gl;\n"
        "atom.global.inc.u32 %r6, [%rd2], 0x7FFFFFFF; add.u32 %r6, %r6, 1;\n"
        "setp.ne.u32 %p2, %r6, %r4; @%p2 ret;\n"
        "mov.u32 %r7, 0; mov.u32 %r8, 0; mov.u64 %rd6, %rd2;\n"
        "SUM: ld.volatile.global.u32 %r9, [%rd6+8]; add.u32 %r7, %r7, %r9; add.u64 %rd6, %rd6, 4;\n"
        "add.u32 %r8, %r8, 1; setp.lt.u32 %p3, %r8, %r4; @%p3 bra SUM;\n"
        "st.global.u32 [%rd2+4], %r7;\nret;\n}\n";
    enum { BLOCKS = 50 };
    uint32_t out[2 + BLOCKS];
    vec_run_grid(ptx, NULL, 0, out, sizeof out, (unsigned[3]){BLOCKS, 1, 1},
                 (unsigned[3]){32, 1, 1}, 0);
    assert_int_equal(out[0], BLOCKS);
    assert_int_equal(out[1], BLOCKS * (BLOCKS + 1) / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shuffles),
        cmocka_unit_test(test_shuffle_of_some_lanes),
        cmocka_unit_test(test_butterfly_sum),
        cmocka_unit_test(test_votes),
        cmocka_unit_test(test_matches),
        cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_barriers_of_tiles),
        cmocka_unit_test(test_redux),
        cmocka_unit_test(test_lanes_and_masks),
        cmocka_unit_test(test_partial_warp),
        cmocka_unit_test(test_many_barriers),
        cmocka_unit_test(test_named_barriers),
        cmocka_unit_test(test_arrive),
        cmocka_unit_test(test_barrier_reductions),
        cmocka_unit_test(test_fence_and_last_block),
    };
    return cmocka_run_group_tests_name("ptx_vectors_warp", tests, vec_setup, vec_teardown);
}
