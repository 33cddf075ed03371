/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Shared memory: what nobody wrote, and what two warps touch with nothing in between. */
#include "softcuda/exec_test.h"

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"

/* One text of 64 threads: `s` has a word of each, %r2 is the address of one's own, %r3 that of the
 * thread 32 further on. */
#define KERNEL(name, body) \
    ".entry " name "(.param .u64 p) {\n" \
    "  .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<4>;\n" \
    "  .shared .align 4 .b8 s_" name "[256];\n" \
    "  mov.u32 %r1, %tid.x;\n" \
    "  shl.b32 %r2, %r1, 2;\n" \
    "  xor.b32 %r3, %r2, 128;\n" \
    "  mov.u32 %r4, s_" name ";\n" \
    "  add.u32 %r2, %r2, %r4;\n" \
    "  add.u32 %r3, %r3, %r4;\n" \
    "  ld.param.u64 %rd1, [p];\n" \
    "  mul.wide.u32 %rd2, %r1, 4;\n" \
    "  add.s64 %rd1, %rd1, %rd2;\n" body \
    "  st.global.u32 [%rd1], %r5;\n" \
    "  ret;\n" \
    "}\n"

static const char unwritten[] = HEAD KERNEL("first", "  ld.shared.u32 %r5, [%r3];\n"
                                                     "  st.shared.u32 [%r2], %r1;\n");
static const char turns[] =
    HEAD KERNEL("barrier", "  st.shared.u32 [%r2], %r1;\n"
                           "  bar.sync 0;\n"
                           "  ld.shared.u32 %r5, [%r3];\n"
                           "  bar.sync 0;\n"
                           "  st.shared.u32 [%r3], %r5;\n")
        KERNEL("no_barrier", "  st.shared.u32 [%r2], %r1;\n"
                             "  ld.shared.u32 %r5, [%r3];\n")
            KERNEL("one_barrier", "  st.shared.u32 [%r2], %r1;\n"
                                  "  bar.sync 0;\n"
                                  "  ld.shared.u32 %r5, [%r3];\n"
                                  "  st.shared.u32 [%r2], %r5;\n");
static const char counts[] =
    HEAD KERNEL("counted", "  setp.eq.u32 %p1, %r1, 0;\n"
                           "  @%p1 st.shared.u32 [%r4], 5;\n"
                           "  bar.sync 0;\n"
                           "  atom.shared.add.u32 %r5, [%r4], 1;\n"
                           "  bar.sync 0;\n"
                           "  ld.shared.u32 %r5, [%r4];\n")
        KERNEL("counted_early", "  setp.eq.u32 %p1, %r1, 0;\n"
                                "  @%p1 st.shared.u32 [%r4], 5;\n"
                                "  atom.shared.add.u32 %r5, [%r4], 1;\n")
            KERNEL("read_early", "  atom.shared.add.u32 %r5, [%r4], 1;\n"
                                 "  ld.shared.u32 %r5, [%r4];\n");
/* Warp 1 waits for a flag that warp 0 sets. */
static const char flags[] =
    HEAD KERNEL("flag", "  setp.ge.u32 %p1, %r1, 32;\n"
                        "  @%p1 bra WAIT;\n"
                        "  st.shared.u32 [%r2], %r1;\n"
                        "  membar.cta;\n"
                        "  st.volatile.shared.u32 [%r4+252], 7;\n"
                        "  mov.u32 %r5, 0;\n"
                        "  bra DONE;\n"
                        "WAIT:\n"
                        "  ld.volatile.shared.u32 %r6, [%r4+252];\n"
                        "  setp.ne.u32 %p2, %r6, 7;\n"
                        "  @%p2 bra WAIT;\n"
                        "  ld.shared.u32 %r5, [%r3];\n"
                        "DONE:\n")
        KERNEL("ordered", "  setp.ge.u32 %p1, %r1, 32;\n"
                          "  @%p1 bra WAIT;\n"
                          "  st.shared.u32 [%r2], %r1;\n"
                          "  atom.release.cta.shared.exch.b32 %r5, [%r4+252], 7;\n"
                          "  bra DONE;\n"
                          "WAIT:\n"
                          "  atom.acquire.cta.shared.or.b32 %r6, [%r4+252], 0;\n"
                          "  setp.ne.u32 %p2, %r6, 7;\n"
                          "  @%p2 bra WAIT;\n"
                          "  ld.shared.u32 %r5, [%r3];\n"
                          "DONE:\n");

static uint32_t *words(uint64_t p)
{
    return (uint32_t *)(void *)memory_host(NULL, p);
}

static void nobody_wrote_it(void **state)
{
    (void)state;
    sx_module *m = load(unwritten);
    uint64_t p = alloc(256);
    for (int again = 0; again < 2; again++) {
        launch(m, "first", LINE(1, 64), &p);
        for (int i = 0; i < 32; i++) /* the second warp sees what the first wrote */
            assert_int_equal(words(p)[i], UINT32_MAX);
    }
    sx_module_unload(m);
}
static const char copies[] = ".version 7.0\n.target sm_80\n.address_size 64\n" KERNEL(
    "copied", "  cp.async.ca.shared.global [%r2], [%rd1], 4;\n"
              "  cp.async.wait_all;\n"
              "  bar.sync 0;\n"
              "  ld.shared.u32 %r5, [%r3];\n")
    KERNEL("copied_early", "  cp.async.ca.shared.global [%r2], [%rd1], 4;\n"
                           "  cp.async.wait_all;\n"
                           "  ld.shared.u32 %r5, [%r3];\n");

static void race_of(const sx_module *m, const char *name, const char *wanted)
{
    uint64_t p = alloc(256);
    sx_error error = {0};
    memory.races = false;
    launch(m, name, LINE(3, 64), &p); /* nobody looks */
    memory.races = true;
    unsigned result = try_launch(m, name, LINE(3, 64), &p, &error);
    assert_int_equal(result, wanted ? 719 : 0);
    if (wanted && !strstr(error.text, wanted))
        fail_msg("\"%s\" is not in: %s", wanted, error.text);
    memory.races = false;
}

static void a_barrier_is_missed(void **state)
{
    (void)state;
    sx_module *m = load(turns);
    race_of(m, "barrier", NULL);
    race_of(m, "no_barrier",
            "(st.shared.u32): race: write of 4 bytes of shared memory at 0x80, which warp 0 has read, with no "
            "barrier in between, block (");
    race_of(m, "one_barrier",
            "race: read of 4 bytes of shared memory at 0x80, which warp 1 has written, with no barrier");
    sx_module_unload(m);
}

static void atomic_operations_are_none(void **state)
{
    (void)state;
    sx_module *m = load(counts);
    race_of(m, "counted", NULL);
    race_of(m, "counted_early", "race: atomic access of 4 bytes");
    race_of(m, "read_early", "warp 0 has read");
    sx_module_unload(m);
}

static void flags_with_fences_are_none(void **state)
{
    (void)state;
    sx_module *m = load(flags);
    race_of(m, "flag", NULL);
    race_of(m, "ordered", NULL);
    sx_module_unload(m);
}

static void asynchronous_copies_write(void **state)
{
    (void)state;
    sx_module *m = load(copies);
    race_of(m, "copied", NULL);
    race_of(m, "copied_early", "race: write of 4 bytes of shared memory");
    sx_module_unload(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_wrote_it),
        cmocka_unit_test(a_barrier_is_missed),
        cmocka_unit_test(atomic_operations_are_none),
        cmocka_unit_test(flags_with_fences_are_none),
        cmocka_unit_test(asynchronous_copies_write),
    };
    return cmocka_run_group_tests(tests, memory_setup, memory_teardown);
}
