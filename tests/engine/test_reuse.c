/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Temporaries of one submission, or of a graph, have memory one after the other: how much the pool
 * hands out for chains, trees, branches and different sizes; and that whatever somebody can still
 * read is as it was.
 */
#include "driver/table.h"
#include "support/one_device.h"

#include <stdio.h>

extern const char test_reuse_ptx[];

enum { N = 4096, BYTES = 4 * N, LENGTH = 20, LARGE = 16 << 20 };

static acu_pool *pool;
static acu_tensor *x; /* u32 [N]: 0, 1, 2 ... */

static acu_pool *new_pool(size_t limit, size_t keep)
{
    acu_pool_options options = {.size = sizeof options, .limit = limit, .keep = keep};
    acu_pool *made = NULL;
    assert_works(acu_pool_create(device, &options, &made));
    return made;
}

static int setup(void **state)
{
    device_setup(state);
    pool = new_pool(0, ACU_KEEP_ALL); /* also with SOFTCUDA_EXACT: see each_has_its_own */
    assert_works(acu_sync(device, acu_arange(ACU_U32, 0, N, 1), &x));
    return 0;
}

static int teardown(void **state)
{
    acu_tensor_release(x);
    acu_pool_release(pool);
    return device_teardown(state);
}

static acu_pool_statistics stats(void)
{
    acu_pool_statistics got = {.size = sizeof got};
    assert_works(acu_pool_stats(pool, &got));
    return got;
}

static acu_future *submit_to(acu_op *op, acu_stream *stream, bool explain)
{
    acu_submit_options options = {
        .size = sizeof options, .pool = pool, .stream = stream, .explain = explain};
    acu_future *future = NULL;
    assert_works(acu_submit(device, op, &options, &future));
    return future;
}

static acu_future *submit(acu_op *op)
{
    return submit_to(op, NULL, false);
}

/* The submission works; the most bytes in use meanwhile, counted in blocks of one tensor. */
static double blocks(acu_future *future)
{
    assert_works(acu_future_wait(future, ACU_FOREVER));
    return (double)stats().in_use_high / BYTES;
}

/* y = 3 y + x, as `steps` operations of two kernels */
static acu_op *chain(acu_op *y, int steps)
{
    for (int i = 0; i < steps; i++)
        y = acu_add(acu_mul(y, 3), x);
    return y;
}

static uint32_t chain_on_host(uint32_t y, uint32_t i, int steps)
{
    while (steps-- > 0)
        y = 3 * y + i;
    return y;
}

/* Element i is chain(i * factor + more). */
static void expect(acu_tensor *tensor, uint32_t factor, uint32_t more, int steps)
{
    static uint32_t got[N];
    assert_works(acu_read_sync(tensor, got, sizeof got));
    for (uint32_t i = 0; i < N; i++) {
        uint32_t want = chain_on_host(factor * i + more, i, steps);
        if (got[i] != want)
            fail_msg("element %u is %u, not %u", i, got[i], want);
    }
}

/* ---- how much ---- */

static void a_chain_takes_two(void **state)
{
    (void)state;
    acu_future *future = submit(chain(acu_value(x), LENGTH));
    assert_true(blocks(future) == 2);
    expect(acu_future_tensor(future, 0), 1, 0, LENGTH);
    assert_int_equal(stats().in_use, BYTES); /* the result, and nothing else */
    acu_future_release(future);
    assert_int_equal(stats().in_use, 0);
}

/* What does not fit as a whole does, one part after the other. */
static void it_fits_a_limit(void **state)
{
    (void)state;
    acu_pool_release(pool);
    pool = new_pool(3 * BYTES, ACU_KEEP_ALL);
    for (int i = 0; i < 3; i++) {
        acu_future *future = submit(chain(acu_value(x), LENGTH));
        assert_works(acu_future_wait(future, ACU_FOREVER));
        expect(acu_future_tensor(future, 0), 1, 0, LENGTH);
        acu_future_release(future);
    }
}

/* Each step reads the last one twice: as it is, and through another op. */
static void skips_take_three(void **state)
{
    (void)state;
    acu_op *y = acu_value(x);
    for (int i = 0; i < LENGTH; i++) {
        acu_op *again = acu_op_retain(y);
        y = acu_add(acu_mul(y, 2), again);
    }
    acu_future *future = submit(y);
    assert_true(blocks(future) <= 3);
    static uint32_t got[N];
    assert_works(acu_read_sync(acu_future_tensor(future, 0), got, sizeof got));
    for (uint32_t i = 0, power = 3486784401; i < N; i++) /* 3 to the 20 */
        assert_int_equal(got[i], power * i);
    acu_future_release(future);
}

/* A large one, then small ones, then a large one: the small ones fit, and what is kept is no larger
 * than it need be. */
static void other_sizes(void **state)
{
    (void)state;
    const acu_shape half = ACU_SHAPE(N / 2);
    acu_op *small = acu_slice(chain(acu_value(x), 3), ACU_SHAPE(0), half);
    for (int i = 0; i < LENGTH; i++)
        small = acu_add(acu_mul(small, 3), acu_slice(x, ACU_SHAPE(0), half));
    acu_future *future = submit(acu_zip(acu_mul(acu_op_retain(small), 1), small));
    assert_true(blocks(future) <= 3);
    static uint32_t got[N];
    for (size_t k = 0; k < 2; k++) {
        assert_works(acu_read_sync(acu_future_tensor(future, k), got, BYTES / 2));
        for (uint32_t i = 0; i < N / 2; i++)
            assert_int_equal(got[i], chain_on_host(i, i, LENGTH + 3));
    }
    assert_int_equal(stats().in_use, BYTES); /* two halves */
    acu_future_release(future);
}

/* The memory grows with what takes it over. */
static void larger_ones(void **state)
{
    (void)state;
    acu_op *y = acu_slice(x, ACU_SHAPE(0), ACU_SHAPE(N / 4));
    for (int n = N / 4; n <= N; n *= 2) {
        for (int i = 0; i < 6; i++)
            y = acu_mul(y, 3);
        if (n < N)
            y = acu_concat(0, acu_op_retain(y), y);
    }
    acu_future *future = submit(y);
    assert_true(blocks(future) <= 3);
    static uint32_t got[N];
    assert_works(acu_read_sync(acu_future_tensor(future, 0), got, sizeof got));
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(got[i], 387420489 * (i % (N / 4))); /* 3 to the 18 */
    acu_future_release(future);
}

/* ---- branches ---- */

static const char *explained(acu_future *future)
{
    static char text[100000];
    assert_works(acu_explain(future, ACU_EXPLAIN_DOT, text, sizeof text, NULL));
    return text;
}

static int count(const char *text, const char *word)
{
    int n = 0;
    for (; (text = strstr(text, word)); text += strlen(word))
        n++;
    return n;
}

/* Two chains that share nothing stay side by side; within each of them memory is reused. */
static void branches_stay_apart(void **state)
{
    (void)state;
    acu_op *sum = acu_add(chain(acu_value(x), 4), chain(acu_mul(x, 5), 4));
    acu_future_release(submit(chain(acu_value(x), 1))); /* no more waits for kernels are shown */
    assert_works(acu_device_wait(device, ACU_FOREVER));
    assert_works(acu_pool_reset_high(pool));
    acu_future *future = submit_to(sum, NULL, true);
    double took = blocks(future);
    /* Two for each, and while the second runs the first one's result; not that of all 19. */
    assert_true(took >= 4 && took <= 6);
    const char *text = explained(future);
    /* Each node behind one, but the first of each chain behind none, and the last behind two. */
    assert_int_equal(count(text, " -> n"), 8 - 1 + 9 - 1 + 2);
    acu_future_release(future);
}

/* What is behind all branches may have the memory of all. */
static void behind_a_join(void **state)
{
    (void)state;
    acu_op *sum = acu_add(chain(acu_value(x), 40), chain(acu_mul(x, 5), 40));
    acu_future *future = submit(acu_add(acu_mul(chain(sum, 40), 0), x));
    assert_true(blocks(future) <= 6);
    expect(acu_future_tensor(future, 0), 1, 0, 0);
    acu_future_release(future);
}

/* The first N elements of one of LARGE bytes. */
static acu_op *some_of_large(uint8_t value)
{
    acu_op *large = acu_full(ACU_SHAPE(LARGE), acu_u8(value));
    return acu_mul(acu_slice(large, ACU_SHAPE(LARGE - N), ACU_SHAPE(LARGE)), 3);
}

static void large_branches_wait(void **state)
{
    (void)state;
    acu_op *sum = some_of_large(0);
    for (uint8_t i = 1; i < 8; i++)
        sum = acu_add(sum, some_of_large(i));
    acu_future *future = submit(sum);
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_true(stats().in_use_high < LARGE + LARGE / 2);
    static uint8_t got[N];
    assert_works(acu_read_sync(acu_future_tensor(future, 0), got, sizeof got));
    for (int i = 0; i < N; i++)
        assert_int_equal(got[i], 3 * 28);
    acu_future_release(future);
}

/* As above; but copies are what runs beside kernels. */
static void large_copies_do_not(void **state)
{
    (void)state;
    acu_tensor *host = NULL;
    assert_works(acu_tensor_alloc_pinned(device, ACU_U8, ACU_SHAPE(4, LARGE), &host));
    acu_op *copies[4];
    for (int i = 0; i < 4; i++) {
        acu_op *large = acu_full(ACU_SHAPE(LARGE), acu_u8((uint8_t)i));
        copies[i] = acu_copy(acu_select(host, 0, i), large);
    }
    acu_future *future = submit(acu_op_zip(copies, 4, ACU_SITE));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_true(stats().in_use_high >= (size_t)4 * LARGE);
    acu_future_release(future);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(((uint8_t *)acu_tensor_host(host))[i * LARGE + LARGE / 2], i);
    acu_tensor_release(host);
}

/* ---- what somebody can read ---- */

static void values_are_kept(void **state)
{
    (void)state;
    acu_op *parts[LENGTH], *y = acu_value(x);
    for (int i = 0; i < LENGTH; i++)
        parts[i] = acu_op_retain(y = chain(y, 1));
    acu_op_release(y);
    acu_future *future = submit(acu_op_zip(parts, LENGTH, ACU_SITE));
    assert_true(blocks(future) >= LENGTH && blocks(future) <= LENGTH + 2);
    for (int i = 0; i < LENGTH; i++)
        expect(acu_future_tensor(future, (size_t)i), 1, 0, i + 1);
    acu_future_release(future);
}

/* An op that the program has keeps what it yields for submissions to come. */
static void shared_ops_are_kept(void **state)
{
    (void)state;
    acu_op *shared = acu_op_retain(chain(acu_value(x), 5));
    acu_future *future = submit(chain(shared, 10));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    acu_future *later = submit(chain(shared, 1));
    assert_works(acu_future_wait(later, ACU_FOREVER));
    expect(acu_future_tensor(future, 0), 1, 0, 15);
    expect(acu_future_tensor(later, 0), 1, 0, 6);
    acu_future_release(future);
    acu_future_release(later);
}

static acu_tensor *lent;

static acu_status keep_it(void *user, CUstream stream, const acu_val *values, size_t n)
{
    (void)user, (void)stream;
    lent = acu_tensor_retain(values[n - 1].tensor);
    return ACU_OK;
}

/* A call that keeps the tensor that it gets. */
static void lent_tensors_are_kept(void **state)
{
    (void)state;
    acu_op *call = acu_foreign(keep_it, NULL, acu_in(chain(acu_value(x), 5)));
    acu_future *future = submit(chain(acu_first(call), 10));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    expect(lent, 1, 0, 5);
    expect(acu_future_tensor(future, 0), 1, 0, 15);
    acu_tensor_release(lent);
    acu_future_release(future);
}

static acu_status note(void *user, const acu_val *values, size_t n)
{
    memcpy(user, acu_tensor_host(values[n - 1].tensor), BYTES);
    return ACU_OK;
}

/* Work of the host reads something in between: what it reads is copied from device memory first. */
static void the_host_reads(void **state)
{
    (void)state;
    static uint32_t got[N];
    acu_op *y = acu_op_retain(chain(acu_value(x), 5));
    acu_op *host = acu_op_host(note, ACU_USER(got), ACU_ARGS(acu_in(acu_to_host(y))), ACU_SITE);
    acu_future *future = submit(acu_zip(chain(y, 10), acu_first(host)));
    assert_true(blocks(future) <= 5);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(got[i], chain_on_host(i, i, 5));
    expect(acu_future_tensor(future, 0), 1, 0, 15);
    acu_future_release(future);
}

/* ---- failures ---- */

static acu_status fails(void *user, CUstream stream, const acu_val *values, size_t n)
{
    (void)user, (void)stream, (void)values, (void)n;
    return ACU_ERR_INVALID;
}

static acu_op *failing(acu_op *y)
{
    return acu_first(acu_foreign(fails, NULL, acu_inout(y)));
}

static void alternatives(void **state)
{
    (void)state;
    acu_op *tried[2] = {chain(acu_value(x), 5), chain(failing(chain(acu_value(x), 5)), 5)};
    for (int i = 0; i < 2; i++) {
        acu_op *other = chain(acu_mul(x, 7), 5);
        acu_future *future = submit(chain(acu_or_else(tried[i], other), 5));
        assert_works(acu_future_wait(future, ACU_FOREVER));
        expect(acu_future_tensor(future, 0), i ? 7 : 1, 0, 10);
        acu_future_release(future);
    }
}

/* What a failed submission was to write can not be read, and its memory comes back. */
static void a_failure_comes_through(void **state)
{
    (void)state;
    acu_future *future = submit(chain(failing(chain(acu_value(x), 5)), 5));
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), ACU_ERR_CALLBACK);
    acu_tensor *result = acu_tensor_retain(acu_future_tensor(future, 0));
    acu_future_release(future);
    assert_fails(acu_sync(device, acu_mul(result, 2), NULL), ACU_ERR_DEPENDENCY, "");
    acu_tensor_release(result);
    assert_works(acu_device_wait(device, ACU_FOREVER));
    assert_int_equal(stats().in_use, 0);
}

static acu_op *make(void)
{
    acu_op *sum = acu_add(chain(acu_value(x), 3), chain(acu_mul(x, 5), 3));
    return acu_with_pool(pool, sum);
}

static void without_an_allocation(void **state)
{
    (void)state;
    test_fail_each_alloc(device, make);
    assert_works(acu_device_wait(device, ACU_FOREVER));
    assert_int_equal(stats().in_use, 0);
}

/* ---- who may not ---- */

/* A programmatic launch may write before the launch in front of it is over. */
static void programmatic_launches(void **state)
{
    (void)state;
    if (!acu_driver_has(ACU_CALL_LaunchKernelEx) ||
        (test_on_gpu() && acu_device_info_of(device)->compute_major < 9))
        skip();
    acu_kernel *copy = test_kernel(device, test_reuse_ptx, "copy");
    for (int programmatic = 0; programmatic < 2; programmatic++) {
        acu_config config = acu_for_num_elems(N);
        config.programmatic = programmatic;
        acu_op *y = acu_value(x);
        for (int i = 0; i < LENGTH; i++)
            y = acu_first(acu_launch(copy, config, acu_out(acu_empty(ACU_U32, ACU_SHAPE(N))),
                                     acu_in(y), acu_u32(N)));
        assert_works(acu_pool_reset_high(pool));
        acu_future *future = submit(y);
        assert_true(blocks(future) == (programmatic ? LENGTH : 2));
        expect(acu_future_tensor(future, 0), 1, 0, 0);
        acu_future_release(future);
    }
    acu_kernel_release(copy);
}

/* Where faults are to be found, nobody gets memory that others have written. */
static void each_has_its_own(void **state)
{
    (void)state;
    test_software_only();
    acu_pool_release(pool);
    pool = new_pool(0, ACU_KEEP_NONE);
    acu_future *future = submit(chain(acu_value(x), LENGTH));
    assert_true(blocks(future) == 2 * LENGTH);
    acu_future_release(future);
}

/* ---- graphs ---- */

static acu_graph *load(acu_op *op)
{
    acu_graph *graph = NULL;
    assert_works(acu_graph_load(device, acu_with_pool(pool, op), NULL, &graph));
    return graph;
}

static void graphs_hold_less(void **state)
{
    (void)state;
    acu_tensor *in = NULL;
    assert_works(acu_sync(device, acu_dup(x), &in));
    acu_graph *graph = load(chain(acu_value(in), LENGTH));
    assert_true(stats().in_use == 2 * BYTES);
    acu_tensor *out = acu_graph_tensor(graph, 0);
    for (uint32_t i = 1; i < 4; i++) {
        assert_works(acu_sync(device, acu_fill(out, acu_u32(i)), NULL)); /* anybody may write it */
        assert_works(acu_sync(device, acu_into(in, acu_mul(x, i)), NULL));
        assert_works(acu_sync(device, acu_replay(graph), NULL));
        expect(out, i, 0, LENGTH);
        expect(in, i, 0, 0);
    }
    acu_graph_release(graph);
    acu_tensor_release(in);
    assert_works(acu_device_wait(device, ACU_FOREVER));
    assert_int_equal(stats().in_use, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_chain_takes_two),
        TEST(it_fits_a_limit),
        TEST(skips_take_three),
        TEST(other_sizes),
        TEST(larger_ones),
        TEST(branches_stay_apart),
        TEST(behind_a_join),
        TEST(large_branches_wait),
        TEST(large_copies_do_not),
        TEST(values_are_kept),
        TEST(shared_ops_are_kept),
        TEST(lent_tensors_are_kept),
        TEST(the_host_reads),
        TEST(alternatives),
        TEST(a_failure_comes_through),
        TEST(without_an_allocation),
        TEST(programmatic_launches),
        TEST(each_has_its_own),
        TEST(graphs_hold_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
