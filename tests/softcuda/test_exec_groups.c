/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Divergence, barriers and waiting: lanes that part, meet, wait for each other, for other warps and
 * for other blocks.
 */
#include "softcuda/exec_test.h"

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"

/* Three texts: C guarantees no longer ones. */
static const char lanes[] = HEAD
    /* The join stands ahead of its predecessors. Lanes count themselves in it: all 32 must be there
       at once. */
    ".entry join_first(.param .u64 out) {\n"
    "  .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<3>;\n"
    "  mov.u32 %r1, %tid.x;\n"
    "  setp.lt.u32 %p1, %r1, 7;\n"
    "  setp.lt.u32 %p2, %r1, 20;\n"
    "  bra start;\n"
    "join:\n"
    "  activemask.b32 %r2;\n"
    "  ld.param.u64 %rd1, [out];\n"
    "  mul.wide.u32 %rd2, %r1, 8;\n"
    "  add.s64 %rd1, %rd1, %rd2;\n"
    "  st.global.v2.u32 [%rd1], {%r2, %r3};\n"
    "  ret;\n"
    "third:\n"
    "  mov.u32 %r3, 3;\n"
    "  bra join;\n"
    "second:\n"
    "  mov.u32 %r3, 2;\n"
    "  @!%p2 bra third;\n"
    "  bra join;\n"
    "start:\n"
    "  @!%p1 bra second;\n"
    "  mov.u32 %r3, 1;\n"
    "  bra join;\n"
    "}\n"

    /* Lanes leave a loop after tid.x turns, by two exits; behind it they are together again. */
    ".entry loop_exits(.param .u64 out) {\n"
    "  .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<3>;\n"
    "  mov.u32 %r1, %tid.x;\n"
    "  mov.u32 %r2, 0;\n"
    "  bra body;\n"
    "done:\n"
    "  activemask.b32 %r4;\n"
    "  ld.param.u64 %rd1, [out];\n"
    "  mul.wide.u32 %rd2, %r1, 8;\n"
    "  add.s64 %rd1, %rd1, %rd2;\n"
    "  st.global.v2.u32 [%rd1], {%r4, %r2};\n"
    "  ret;\n"
    "early:\n"
    "  add.u32 %r2, %r2, 100;\n"
    "  bra done;\n"
    "body:\n"
    "  add.u32 %r2, %r2, 1;\n"
    "  and.b32 %r3, %r1, 1;\n"
    "  setp.eq.u32 %p1, %r3, 1;\n"
    "  setp.gt.and.u32 %p1, %r2, 5, %p1;\n"
    "  @%p1 bra early;\n"
    "  setp.lt.u32 %p2, %r2, %r1;\n"
    "  @%p2 bra body;\n"
    "  bra done;\n"
    "}\n"

    /* Every lane of a warp takes one lock in turn: the holder must go on while the others spin. */
    ".entry spin_lock(.param .u64 lock) {\n"
    "  .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %rd<2>;\n"
    "  ld.param.u64 %rd1, [lock];\n"
    "try:\n"
    "  atom.global.cas.b32 %r1, [%rd1], 0, 1;\n"
    "  setp.ne.u32 %p, %r1, 0;\n"
    "  @%p bra try;\n"
    "  ld.global.u32 %r2, [%rd1+4];\n"
    "  add.u32 %r2, %r2, 1;\n"
    "  st.global.u32 [%rd1+4], %r2;\n"
    "  membar.gl;\n"
    "  atom.global.exch.b32 %r3, [%rd1], 0;\n"
    "  ret;\n"
    "}\n";

static const char blocks[] = HEAD
    /* All blocks wait for each other, three times: more blocks than threads run them. */
    ".entry grid_barrier(.param .u64 counter) {\n"
    "  .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %rd<2>;\n"
    "  ld.param.u64 %rd1, [counter];\n"
    "  mov.u32 %r1, %nctaid.x;\n"
    "  mov.u32 %r2, 0;\n"
    "  mov.u32 %r6, 0;\n"
    "phase:\n"
    "  add.u32 %r2, %r2, %r1;\n"
    "  add.u32 %r6, %r6, 1;\n"
    "  mov.u32 %r3, %tid.x;\n"
    "  setp.ne.u32 %p, %r3, 0;\n"
    "  @%p bra wait;\n"
    "  red.global.add.u32 [%rd1], 1;\n"
    "poll:\n"
    "  ld.volatile.global.u32 %r4, [%rd1];\n"
    "  setp.lt.u32 %p, %r4, %r2;\n"
    "  @%p bra poll;\n"
    "wait:\n"
    "  bar.sync 0;\n"
    "  setp.lt.u32 %p, %r6, 3;\n"
    "  @%p bra phase;\n"
    "  red.global.add.u32 [%rd1+4], 1;\n"
    "  ret;\n"
    "}\n"

    /* The workspace that CUDA's headers keep a grid's barrier in. */
    ".entry workspace(.param .u64 out) {\n"
    "  .reg .b32 %r<3>; .reg .b64 %rd<3>;\n"
    "  ld.param.u64 %rd1, [out];\n"
    "  mov.u32 %r1, %envreg2;\n"
    "  mov.u32 %r2, %envreg1;\n"
    "  mov.b64 %rd2, {%r1, %r2};\n"
    "  atom.add.release.gpu.u32 %r1, [%rd2+4], 1;\n"
    "  red.global.add.u32 [%rd1], %r1;\n"
    "  ret;\n"
    "}\n"

    /* One warp waits in shared memory for what another writes, with no barrier. */
    ".entry warp_flag(.param .u64 out) {\n"
    "  .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %rd<2>;\n"
    "  .shared .b32 flag;\n"
    "  mov.u32 %r1, %tid.x;\n"
    "  setp.ne.u32 %p, %r1, 0;\n"
    "  @%p bra clear;\n"
    "  st.shared.u32 [flag], 0;\n"
    "clear:\n"
    "  bar.sync 0;\n"
    "  setp.ge.u32 %p, %r1, 32;\n"
    "  @%p bra write;\n"
    "poll:\n"
    "  ld.volatile.shared.u32 %r2, [flag];\n"
    "  setp.eq.u32 %p, %r2, 0;\n"
    "  @%p bra poll;\n"
    "  ld.param.u64 %rd1, [out];\n"
    "  red.global.add.u32 [%rd1], %r2;\n"
    "  ret;\n"
    "write:\n"
    "  setp.eq.u32 %p, %r1, 40;\n"
    "  @%p st.volatile.shared.u32 [flag], 5;\n"
    "  ret;\n"
    "}\n"

    /* Some threads end before the barrier, others come to it along two ways; then all count. */
    ".entry barrier_exits(.param .u64 out) {\n"
    "  .reg .pred %p<3>; .reg .b32 %r<5>; .reg .b64 %rd<2>;\n"
    "  mov.u32 %r1, %tid.x;\n"
    "  rem.u32 %r2, %r1, 3;\n"
    "  setp.eq.u32 %p1, %r2, 0;\n"
    "  @%p1 exit;\n"
    "  setp.eq.u32 %p1, %r2, 1;\n"
    "  setp.lt.u32 %p2, %r1, 50;\n"
    "  @%p1 bra other;\n"
    "  barrier.red.popc.u32 %r3, 0, %p2;\n"
    "  bra done;\n"
    "other:\n"
    "  barrier.red.popc.u32 %r3, 0, %p2;\n"
    "done:\n"
    "  ld.param.u64 %rd1, [out];\n"
    "  red.global.add.u32 [%rd1], %r3;\n"
    "  ret;\n"
    "}\n"

    /* Producers arrive, consumers wait, by a barrier with a count. */
    ".entry named_barriers(.param .u64 out) {\n"
    "  .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %rd<2>;\n"
    "  .shared .b32 value;\n"
    "  mov.u32 %r1, %tid.x;\n"
    "  setp.ge.u32 %p, %r1, 64;\n"
    "  @%p bra produce;\n"
    "  bar.sync 3, 96;\n"
    "  ld.shared.u32 %r2, [value];\n"
    "  ld.param.u64 %rd1, [out];\n"
    "  red.global.add.u32 [%rd1], %r2;\n"
    "  ret;\n"
    "produce:\n"
    "  st.shared.u32 [value], 9;\n"
    "  bar.arrive 3, 96;\n"
    "  ret;\n"
    "}\n"

    /* With a count, a warp counts as a whole, though some of its threads have ended. */
    ".entry counted_as_warps(.param .u64 out) {\n"
    "  .reg .pred %p; .reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
    "  mov.u32 %r1, %tid.x;\n"
    "  setp.ge.u32 %p, %r1, 48;\n"
    "  @%p ret;\n"
    "  bar.sync 1, 64;\n"
    "  ld.param.u64 %rd1, [out];\n"
    "  red.global.add.u32 [%rd1], 1;\n"
    "  ret;\n"
    "}\n";

static const char warps[] = HEAD
    /* Lanes come to one shuffle at different times: it waits for those that it names. */
    ".entry late_shuffle(.param .u64 out) {\n"
    "  .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<3>;\n"
    "  mov.u32 %r1, %tid.x;\n"
    "  mov.u32 %r2, 0;\n"
    "  setp.lt.u32 %p, %r1, 16;\n"
    "again:\n"
    "  add.u32 %r2, %r2, 1;\n"
    "  @%p bra shuffle;\n"
    "  setp.lt.u32 %p, %r2, 4;\n"
    "  not.pred %p, %p;\n"
    "  bra again;\n"
    "shuffle:\n"
    "  shfl.sync.bfly.b32 %r3, %r2, 16, 31, 0xffffffff;\n"
    "  ld.param.u64 %rd1, [out];\n"
    "  mul.wide.u32 %rd2, %r1, 4;\n"
    "  add.s64 %rd1, %rd1, %rd2;\n"
    "  st.global.u32 [%rd1], %r3;\n"
    "  ret;\n"
    "}\n"

    /* The same, inside a function that they call at different times: half of them sleep first. */
    ".func (.reg .b32 r) partner(.reg .b32 v) {\n"
    "  shfl.sync.bfly.b32 r, v, 16, 31, 0xffffffff;\n"
    "  ret;\n"
    "}\n"
    ".entry late_call(.param .u64 out) {\n"
    "  .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<3>;\n"
    "  mov.u32 %r1, %tid.x;\n"
    "  setp.lt.u32 %p, %r1, 16;\n"
    "again:\n"
    "  @!%p bra sleep;\n"
    "  call (%r3), partner, (%r1);\n"
    "  ld.param.u64 %rd1, [out];\n"
    "  mul.wide.u32 %rd2, %r1, 4;\n"
    "  add.s64 %rd1, %rd1, %rd2;\n"
    "  st.global.u32 [%rd1], %r3;\n"
    "  ret;\n"
    "sleep:\n"
    "  nanosleep.u32 100;\n"
    "  setp.eq.u32 %p, %r1, %r1;\n"
    "  bra again;\n"
    "}\n"

    /* Lanes at different bar.warp.sync, and a shuffle under a guard. */
    ".entry warp_sync(.param .u64 out) {\n"
    "  .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<3>;\n"
    "  .shared .b32 s[32];\n"
    "  mov.u32 %r1, %tid.x;\n"
    "  shl.b32 %r2, %r1, 2;\n"
    "  mov.u32 %r3, s;\n"
    "  add.u32 %r2, %r2, %r3;\n"
    "  mov.u32 %r4, 7;\n"
    "  setp.lt.u32 %p, %r1, 16;\n"
    "  @%p bra low;\n"
    "  st.shared.u32 [%r2], %r1;\n"
    "  bar.warp.sync 0xffffffff;\n"
    "  bra end;\n"
    "low:\n"
    "  bar.warp.sync 0xffffffff;\n"
    "  ld.shared.u32 %r4, [%r2+64];\n"
    "end:\n"
    "  @%p shfl.sync.idx.b32 %r4, %r4, 3, 31, 0xffff;\n"
    "  ld.param.u64 %rd1, [out];\n"
    "  mul.wide.u32 %rd2, %r1, 4;\n"
    "  add.s64 %rd1, %rd1, %rd2;\n"
    "  st.global.u32 [%rd1], %r4;\n"
    "  ret;\n"
    "}\n"

    /* A jump table; half of the lanes call a function under a guard first. */
    ".func (.reg .b32 r) triple(.reg .b32 v) {\n"
    "  mul.lo.u32 r, v, 3;\n"
    "  ret;\n"
    "}\n"
    ".entry table(.param .u64 out) {\n"
    "  .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<3>;\n"
    "  mov.u32 %r1, %tid.x;\n"
    "  mov.u32 %r2, %r1;\n"
    "  setp.gt.u32 %p, %r1, 15;\n"
    "  @%p call (%r2), triple, (%r1);\n"
    "  and.b32 %r3, %r1, 3;\n"
    "ways: .branchtargets w0, w1, w2, w1;\n"
    "  brx.idx %r3, ways;\n"
    "w2:\n"
    "  add.u32 %r2, %r2, 2000;\n"
    "  bra end;\n"
    "w0:\n"
    "  bra end;\n"
    "w1:\n"
    "  add.u32 %r2, %r2, 1000;\n"
    "end:\n"
    "  ld.param.u64 %rd1, [out];\n"
    "  mul.wide.u32 %rd2, %r1, 4;\n"
    "  add.s64 %rd1, %rd1, %rd2;\n"
    "  st.global.u32 [%rd1], %r2;\n"
    "  ret;\n"
    "}\n";

static sx_module *of_lanes, *of_blocks, *of_warps;

static void test_join_before_its_predecessors(void **state)
{
    (void)state;
    uint64_t out = alloc(32 * 8);
    launch(of_lanes, "join_first", LINE(1, 32), &out);
    const uint32_t(*r)[2] = at(out);
    for (uint32_t i = 0; i < 32; i++) {
        assert_int_equal(r[i][0], UINT32_MAX);
        assert_int_equal(r[i][1], i < 7 ? 1 : i < 20 ? 2 : 3);
    }
}

static void test_loop_with_two_exits(void **state)
{
    (void)state;
    uint64_t out = alloc(32 * 8);
    launch(of_lanes, "loop_exits", LINE(1, 32), &out);
    const uint32_t(*r)[2] = at(out);
    for (uint32_t i = 0; i < 32; i++) {
        assert_int_equal(r[i][0], UINT32_MAX);
        assert_int_equal(r[i][1], i == 0 ? 1 : i % 2 && i > 5 ? 106 : i);
    }
}

static void test_spin_locks(void **state)
{
    (void)state;
    uint64_t lock = alloc(8);
    launch(of_lanes, "spin_lock", LINE(1, 32), &lock);
    assert_int_equal(((uint32_t *)at(lock))[1], 32);
    launch(of_lanes, "spin_lock", LINE(3, 96), &lock);
    assert_int_equal(((uint32_t *)at(lock))[1], 32 + 288);
}

static void test_blocks_wait_for_each_other(void **state)
{
    (void)state;
    uint64_t counter = alloc(8);
    launch(of_blocks, "grid_barrier", LINE(60, 64), &counter);
    assert_int_equal(((uint32_t *)at(counter))[0], 180);
    assert_int_equal(((uint32_t *)at(counter))[1], 60 * 64);
}

static void test_workspace_of_cooperative_launches(void **state)
{
    (void)state;
    uint64_t out = alloc(4);
    sx_launch launch = {.kernel = sx_module_kernel(of_blocks, "workspace"),
                        .grid = {3, 1, 1},
                        .block = {40, 1, 1},
                        .params = &out,
                        .space = memory.space,
                        .cooperative = true};
    sx_error error;
    assert_int_equal(sx_run(&launch, &error), 0);
    assert_int_equal(*(uint32_t *)at(out), 119 * 120 / 2);
    launch.cooperative = false; /* no workspace: a null pointer */
    assert_int_equal(sx_run(&launch, &error), 700);
}

static void test_warps_wait_for_each_other(void **state)
{
    (void)state;
    uint64_t out = alloc(4);
    launch(of_blocks, "warp_flag", LINE(2, 64), &out);
    assert_int_equal(*(uint32_t *)at(out), 2 * 32 * 5);
}

static void test_barriers(void **state)
{
    (void)state;
    uint64_t out = alloc(4), sum = alloc(4);
    uint32_t left = 0, below = 0;
    for (uint32_t i = 0; i < 100; i++) {
        left += i % 3 != 0;
        below += i % 3 != 0 && i < 50;
    }
    launch(of_blocks, "barrier_exits", LINE(1, 100), &out);
    assert_int_equal(*(uint32_t *)at(out), left * below);
    launch(of_blocks, "named_barriers", LINE(1, 96), &sum);
    assert_int_equal(*(uint32_t *)at(sum), 64 * 9);
    uint64_t warps_passed = alloc(4);
    launch(of_blocks, "counted_as_warps", LINE(1, 64), &warps_passed);
    assert_int_equal(*(uint32_t *)at(warps_passed), 48);
}

static void test_lanes_wait_for_each_other(void **state)
{
    (void)state;
    uint64_t out = alloc(32 * 4);
    const uint32_t *r = at(out);
    launch(of_warps, "late_shuffle", LINE(1, 32), &out);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(r[i], i < 16 ? 5 : 1);
    launch(of_warps, "late_call", LINE(1, 32), &out);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(r[i], i ^ 16);
    launch(of_warps, "warp_sync", LINE(1, 32), &out);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(r[i], i < 16 ? 19 : 7);
}

static void test_jump_table_and_guarded_call(void **state)
{
    (void)state;
    uint64_t out = alloc(32 * 4);
    launch(of_warps, "table", LINE(1, 32), &out);
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t expected = i > 15 ? 3 * i : i;
        expected += i % 4 == 0 ? 0 : i % 4 == 2 ? 2000 : 1000;
        assert_int_equal(((uint32_t *)at(out))[i], expected);
    }
}

static int setup(void **state)
{
    if (memory_setup(state))
        return -1;
    of_lanes = load(lanes);
    of_blocks = load(blocks);
    of_warps = load(warps);
    return 0;
}

static int teardown(void **state)
{
    sx_module_unload(of_lanes);
    sx_module_unload(of_blocks);
    sx_module_unload(of_warps);
    return memory_teardown(state);
}

/* 20 times a millisecond, in each of two warps at once; by the device's own clock. PTX allows
 * anything up to twice as long, and a busy machine any time. */
static void test_sleepers_sleep(void **state)
{
    (void)state;
    sx_module *module = load(
        HEAD ".visible .entry k(.param .u64 p) {\n"
             "  .reg .pred %q; .reg .b32 %r<3>; .reg .b64 %d<4>;\n"
             "  ld.param.u64 %d0, [p]; mov.u64 %d1, %globaltimer; mov.u32 %r0, 0;\n"
             "AGAIN:\n  nanosleep.u32 1000000;\n  add.u32 %r0, %r0, 1;\n"
             "  setp.lt.u32 %q, %r0, 20;\n  @%q bra AGAIN;\n"
             "  mov.u64 %d2, %globaltimer; sub.u64 %d2, %d2, %d1;\n"
             "  mov.u32 %r1, %tid.x; mul.wide.u32 %d3, %r1, 8; add.u64 %d0, %d0, %d3;\n"
             "  st.global.u64 [%d0], %d2;\n  ret;\n}\n");
    uint64_t out = alloc(64 * 8);
    launch(module, "k", LINE(1, 64), &out);
    for (int n = 0; n < 64; n++)
        assert_true(((uint64_t *)at(out))[n] >= 10000000);
    sx_module_unload(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_join_before_its_predecessors),
        cmocka_unit_test(test_loop_with_two_exits),
        cmocka_unit_test(test_spin_locks),
        cmocka_unit_test(test_blocks_wait_for_each_other),
        cmocka_unit_test(test_workspace_of_cooperative_launches),
        cmocka_unit_test(test_warps_wait_for_each_other),
        cmocka_unit_test(test_barriers),
        cmocka_unit_test(test_lanes_wait_for_each_other),
        cmocka_unit_test(test_jump_table_and_guarded_call),
        cmocka_unit_test(test_sleepers_sleep),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
