/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cooperative groups in kernels: ranks, exchanges, reductions, scans, and the barrier of a grid. */
#include "on_device.h"

extern const char test_groups_ptx[];

static void expect(const char *kernel, int thread, int what, int got, int want)
{
    if (got != want)
        fail_msg("%s: number %d of thread %d is %d, not %d", kernel, what, thread, got, want);
}

/* A thread of `threads`, all in whole tiles */
static void check_tile(const char *kernel, int size, int threads, int t, const int *o)
{
    int first = t / size * size, rank = t - first, sum = 0, most = 0, before = 0, odd = 0;
    for (int i = 0; i < size; i++) {
        sum += first + i;
        most = ((first + i) ^ 5) > most ? (first + i) ^ 5 : most;
        before += i < rank ? first + i : 0;
        odd |= (int)((unsigned)((first + i) & 1) << i);
    }
    int pair = (int)(3u << (rank & ~1));
    const int want[16] = {rank,
                          size,
                          t / size,
                          threads / size,
                          first + 1,
                          rank + 1 < size ? t + 1 : t,
                          rank ? t - 1 : t,
                          t ^ 1,
                          sum,
                          most,
                          before + t,
                          before,
                          odd,
                          (first <= 3 && 3 < first + size) + 2,
                          3 * first,
                          pair + 5000};
    for (int k = 0; k < 16; k++)
        expect(kernel, t, k, o[k], want[k]);
}

static void tiles(void **state)
{
    static const struct {
        const char *kernel;
        int size;
    } cases[] = {{"tiles_4", 4}, {"tiles_16", 16}, {"tiles_32", 32}};
    static int out[16 * 64];
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        int threads = cases[c].size == 32 ? 64 : 48;
        CUdeviceptr to = to_device(NULL, sizeof out);
        launch(cases[c].kernel, 1, (unsigned)threads, 0, (void *[]){&to});
        from_device(out, to, sizeof out);
        for (int t = 0; t < threads; t++)
            check_tile(cases[c].kernel, cases[c].size, threads, t, out + 16 * t);
    }
}

static void coalesced(void **state)
{
    static int out[10 * 32];
    int members[32], count = 0, sum = 0;
    (void)state;
    for (int i = 0; i < 32; i++)
        if (i % 3) {
            members[count++] = i;
            sum += i;
        }
    CUdeviceptr to = to_device(NULL, sizeof out);
    launch("coalesced", 1, 32, 0, (void *[]){&to});
    from_device(out, to, sizeof out);
    for (int r = 0, before = 0; r < count; r++) {
        int t = members[r], ballot = 0, same = 0, place = 0;
        for (int i = 0; i < count; i++) {
            ballot |= (members[i] % 3 == 1) << i;
            same += members[i] % 3 == t % 3;
            place += i < r && members[i] % 3 == t % 3;
        }
        before += t;
        int five = r / 5, size = count - 5 * five < 5 ? count - 5 * five : 5;
        const int want[10] = {r,
                              count,
                              members[2],
                              r + 1 < count ? members[r + 1] : t,
                              r >= 2 ? members[r - 2] : t,
                              ballot,
                              sum,
                              before,
                              same * 100 + place,
                              size * 10000 + r % 5 * 100 + five};
        for (int k = 0; k < 10; k++)
            expect("coalesced", t, k, out[10 * t + k], want[k]);
    }
}

static void grid_barrier(void **state)
{
    enum { BLOCKS = 5, ROUNDS = 7 };
    unsigned cells[BLOCKS] = {10, 20, 30, 40, 50}, out[BLOCKS], facts[2], count = ROUNDS;
    CUfunction kernel = NULL;
    (void)state;
    CUdeviceptr at = to_device(cells, sizeof cells), to = to_device(NULL, sizeof facts);
    MUST(ModuleGetFunction(&kernel, dev.module, "rounds"));
    MUST(LaunchCooperativeKernel(kernel, BLOCKS, 1, 1, 64, 1, 1, 0, NULL,
                                 (void *[]){&at, &count, &to}));
    MUST(CtxSynchronize());
    from_device(out, at, sizeof out);
    from_device(facts, to, sizeof facts);
    for (int i = 0; i < BLOCKS; i++)
        assert_int_equal(out[i], cells[(i + ROUNDS) % BLOCKS] + ROUNDS);
    assert_int_equal(facts[0], 1);
    assert_int_equal(facts[1], BLOCKS * 64);
    to = to_device(NULL, sizeof *facts);
    /* A launch that is not cooperative may have a barrier or not (CUDA 13's driver gives one);
     * where the group says so, it works. */
    launch("sync_if_valid", 1, 64, 0, (void *[]){&to});
    from_device(facts, to, sizeof *facts);
    assert_int_equal(facts[0], 64);
}

static int setup(void **state)
{
    (void)state;
    return on_device_setup(test_groups_ptx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles),
        cmocka_unit_test(coalesced),
        cmocka_unit_test(grid_barrier),
    };
    return cmocka_run_group_tests_name("kernels.groups", tests, setup, on_device_teardown);
}
