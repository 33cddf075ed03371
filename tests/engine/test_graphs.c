/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Submissions of a form that comes again are launched as executable graphs: with the same results,
 * whatever the arguments; with the parameters updated that differ; within the bounds of the cache;
 * and directly if the driver refuses.
 */
#include "support/support.h"

#include <pthread.h>
#include <stdio.h>

extern const char test_graphs_ptx[];

enum { N = 64, CHAIN = 5 };

typedef struct bed {
    acu_device *device;
    acu_kernel *step;
    acu_tensor *z, *x; /* ACU_U32 [N] */
} bed;

static acu_tensor *make(acu_device *device, uint32_t value)
{
    acu_tensor *tensor;
    assert_works(acu_sync(device, acu_full(ACU_SHAPE(N), acu_u32(value)), &tensor));
    return tensor;
}

static bed begin(void)
{
    bed b = {.device = test_open()};
    b.step = test_kernel(b.device, test_graphs_ptx, "step");
    b.z = make(b.device, 1);
    b.x = make(b.device, 2);
    return b;
}

static void end(bed *b)
{
    acu_tensor_release(b->z);
    acu_tensor_release(b->x);
    acu_kernel_release(b->step);
    test_close(b->device);
    test_leaks_none();
}

static acu_op *one_step(acu_kernel *step, acu_tensor *z, acu_tensor *x, uint32_t c)
{
    return acu_launch(step, acu_for_num_elems(N), acu_inout(z), acu_in(x), acu_u32(c), acu_u32(N));
}

/* `count` steps on z, one behind the other, with constants from c on. */
static acu_op *chain(acu_kernel *step, acu_tensor *z, acu_tensor *x, uint32_t c, int count)
{
    acu_op *ops[64];
    for (int i = 0; i < count; i++)
        ops[i] = one_step(step, z, x, c + (uint32_t)i);
    return acu_op_zip(ops, (size_t)count, ACU_SITE);
}

static uint32_t chain_on_host(uint32_t z, uint32_t x, uint32_t c, int count)
{
    for (int i = 0; i < count; i++)
        z = 3 * z + x + c + (uint32_t)i;
    return z;
}

static void expect(acu_tensor *tensor, uint32_t value)
{
    uint32_t got[N];
    assert_works(acu_read_sync(tensor, got, sizeof got));
    for (int i = 0; i < N; i++)
        assert_int_equal(got[i], value);
}

static acu_graph_cache_statistics counts(acu_device *device)
{
    acu_graph_cache_statistics c = {.size = sizeof c};
    assert_works(acu_graph_cache_stats(device, &c));
    return c;
}

static bool has_graphs(acu_device *device)
{
    if (acu_driver_has(ACU_CALL_GraphInstantiateWithFlags))
        return true;
    test_close(device);
    skip();
    return false;
}

/* Submits chains until a graph serves their form. */
static uint32_t warm(const bed *b, uint32_t z)
{
    for (int i = 0; i < 2; i++) {
        assert_works(acu_sync(b->device, chain(b->step, b->z, b->x, 7, CHAIN), NULL));
        z = chain_on_host(z, 2, 7, CHAIN);
        assert_works(acu_graph_cache_wait(b->device));
    }
    return z;
}

/* ---- served ---- */

static void what_comes_again_is_served(void **state)
{
    (void)state;
    bed b = begin();
    uint32_t z = warm(&b, 1);
    acu_graph_cache_statistics before = counts(b.device);
    assert_int_equal(before.execs, 1);
    assert_int_equal(before.built, 1);
    for (uint32_t i = 0; i < 20; i++) {
        assert_works(acu_sync(b.device, chain(b.step, b.z, b.x, i, CHAIN), NULL));
        z = chain_on_host(z, 2, i, CHAIN);
        expect(b.z, z);
    }
    acu_graph_cache_statistics after = counts(b.device);
    assert_int_equal(after.hits - before.hits, 20);
    assert_int_equal(after.execs, 1);
    end(&b);
}

/* A graph's copy stays one from the host, or from a device, whatever is set. */
static void copies_from_elsewhere_are_another_form(void **state)
{
    (void)state;
    bed b = begin();
    acu_tensor *host = NULL, *device = make(b.device, 5);
    if (!has_graphs(b.device))
        return;
    assert_works(acu_tensor_alloc_pinned(b.device, ACU_U32, ACU_SHAPE(N), &host));
    memset(acu_tensor_host(host), 0, N * sizeof(uint32_t));
    for (int i = 0; i < 6; i++) {
        acu_tensor *from = i % 2 ? device : host;
        assert_works(acu_sync(b.device,
                              acu_zip(acu_copy(b.x, from), one_step(b.step, b.z, b.x, 0)), NULL));
        assert_works(acu_graph_cache_wait(b.device));
        expect(b.x, i % 2 ? 5 : 0);
    }
    assert_int_equal(counts(b.device).execs, 2);
    acu_tensor_release(host);
    acu_tensor_release(device);
    end(&b);
}

static void expect_both(acu_tensor *tensor, int begin, uint32_t first, uint32_t rest)
{
    uint32_t got[N];
    assert_works(acu_read_sync(tensor, got, sizeof got));
    for (int i = 0; i < N; i++)
        assert_int_equal(got[i], i < begin ? first : rest);
}

static acu_op *copy_some(const bed *b, acu_tensor *from, int n)
{
    return acu_copy(acu_slice(b->x, ACU_SHAPE(0), ACU_SHAPE(n)),
                    acu_slice(from, ACU_SHAPE(0), ACU_SHAPE(n)));
}

/* Nothing but a length, or a number of threads, differs from the last time. */
static void lengths_and_blocks_are_set(void **state)
{
    (void)state;
    bed b = begin();
    acu_tensor *y = make(b.device, 5);
    if (!has_graphs(b.device))
        return;
    for (int i = 0; i < 4; i++) {
        unsigned n = i < 3 ? N : N / 2;
        assert_works(acu_sync(b.device, acu_fill(b.x, acu_u32(2)), NULL));
        assert_works(acu_sync(b.device, acu_fill(b.z, acu_u32(1)), NULL));
        assert_works(acu_sync(b.device, acu_zip(copy_some(&b, y, (int)n), acu_fill(y, acu_u32(5))),
                              NULL));
        assert_works(acu_sync(b.device,
                              acu_launch(b.step, ACU_GRID_BLOCK(1, 1, 1, n, 1, 1), acu_inout(b.z),
                                         acu_in(y), acu_u32(0), acu_u32(N)), NULL));
        assert_works(acu_graph_cache_wait(b.device));
        expect_both(b.x, (int)n, 5, 2);
        expect_both(b.z, (int)n, 8, 1);
    }
    assert_true(counts(b.device).hits >= 2); /* the last time, if not before */
    acu_tensor_release(y);
    end(&b);
}

/* How many pieces the cache was asked for. */
static uint64_t asked(acu_device *device)
{
    acu_graph_cache_statistics c = counts(device);
    return c.hits + c.misses;
}

/* An idle device starts with the first nodes of a long chain while the parameters of the rest are
 * still being set. A busy one gets the chain in one piece. */
static void a_long_chain_gives_an_idle_device_a_head_start(void **state)
{
    (void)state;
    enum { LONG = 50, TIMES = 4, PIECES = 4 }; /* of 5, 10, 20 and 15 nodes */
    bed b = begin();
    uint32_t z = 1;
    for (uint32_t i = 0; i < TIMES; i++) {
        assert_works(acu_device_wait(b.device, ACU_FOREVER)); /* a future may be done a bit
                                                               * earlier */
        uint64_t before = asked(b.device);
        assert_works(acu_sync(b.device, chain(b.step, b.z, b.x, i, LONG), NULL));
        assert_int_equal(asked(b.device) - before, PIECES);
        z = chain_on_host(z, 2, i, LONG);
        expect(b.z, z);
        assert_works(acu_graph_cache_wait(b.device));
    }
    assert_int_equal(counts(b.device).execs, PIECES);
    assert_true(counts(b.device).hits >= PIECES * (TIMES - 2));

    acu_stream *stream;
    assert_works(acu_stream_create(b.device, 0, &stream));
    assert_works(acu_device_wait(b.device, ACU_FOREVER));
    test_gate_close(b.device, acu_stream_raw(stream));
    acu_submit_options on = {.size = sizeof on, .stream = stream};
    acu_future *first, *second;
    assert_works(acu_submit(NULL, chain(b.step, b.z, b.x, 3, LONG), &on, &first));
    uint64_t before = asked(b.device);
    assert_works(acu_submit(NULL, chain(b.step, b.z, b.x, 5, LONG), &on, &second));
    assert_int_equal(asked(b.device) - before, 1);
    test_gate_open();
    assert_works(acu_future_wait(second, ACU_FOREVER));
    expect(b.z, chain_on_host(chain_on_host(z, 2, 3, LONG), 2, 5, LONG));
    acu_future_release(first);
    acu_future_release(second);
    acu_stream_release(stream);
    end(&b);
}

/* Each piece costs the host a launch. For a chain of ten nodes that pays only if the thread waits
 * at once. */
static void a_short_chain_that_nobody_waits_for_stays_whole(void **state)
{
    (void)state;
    enum { SHORT = 10, PIECES = 2 };
    bed b = begin();
    acu_future *future;
    assert_works(acu_device_wait(b.device, ACU_FOREVER));
    uint64_t before = asked(b.device);
    assert_works(acu_sync(b.device, chain(b.step, b.z, b.x, 3, SHORT), NULL));
    assert_int_equal(asked(b.device) - before, PIECES);

    assert_works(acu_device_wait(b.device, ACU_FOREVER));
    before = asked(b.device);
    assert_works(acu_submit(b.device, chain(b.step, b.z, b.x, 5, SHORT), NULL, &future));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_int_equal(asked(b.device) - before, 1);
    expect(b.z, chain_on_host(chain_on_host(1, 2, 3, SHORT), 2, 5, SHORT));
    acu_future_release(future);
    end(&b);
}

static void only_what_differs_is_set(void **state)
{
    (void)state;
    bed b = begin();
    warm(&b, 1);
    assert_works(acu_sync(b.device, chain(b.step, b.z, b.x, 7, CHAIN), NULL));
    acu_graph_cache_statistics before = counts(b.device);
    assert_works(acu_sync(b.device, chain(b.step, b.z, b.x, 7, CHAIN), NULL));
    acu_graph_cache_statistics same = counts(b.device);
    assert_int_equal(same.set, before.set);
    assert_int_equal(same.skipped - before.skipped, CHAIN);
    acu_op *ops[CHAIN];
    for (uint32_t i = 0; i < CHAIN; i++)
        ops[i] = one_step(b.step, b.z, b.x, i == 3 ? 1000 : 7 + i);
    assert_works(acu_sync(b.device, acu_op_zip(ops, CHAIN, ACU_SITE), NULL));
    acu_graph_cache_statistics one = counts(b.device);
    assert_int_equal(one.set - same.set, 1);
    assert_int_equal(one.skipped - same.skipped, CHAIN - 1);
    end(&b);
}

/* Other tensors, grids and blocks are the same form; another kernel or order is another form. */
static void arguments_are_no_part_of_the_form(void **state)
{
    (void)state;
    bed b = begin();
    warm(&b, 1);
    acu_graph_cache_statistics before = counts(b.device);
    acu_tensor *other = make(b.device, 5);
    acu_op *ops[CHAIN];
    for (uint32_t i = 0; i < CHAIN; i++)
        ops[i] = acu_launch(b.step, ACU_GRID_BLOCK(i + 1, 1, 1, 64, 1, 1), acu_inout(other),
                            acu_in(b.x), acu_u32(i), acu_u32(N));
    assert_works(acu_sync(b.device, acu_op_zip(ops, CHAIN, ACU_SITE), NULL));
    expect(other, chain_on_host(5, 2, 0, CHAIN));
    assert_int_equal(counts(b.device).hits - before.hits, 1);
    acu_op *apart = acu_zip(one_step(b.step, b.z, b.x, 1), one_step(b.step, other, b.x, 1),
                            one_step(b.step, b.z, b.x, 1), one_step(b.step, other, b.x, 1),
                            one_step(b.step, b.z, b.x, 1));
    assert_works(acu_sync(b.device, apart, NULL));
    assert_int_equal(counts(b.device).hits - before.hits, 1);
    acu_tensor_release(other);
    end(&b);
}

/* Memory that an op makes is known only once it is issued. */
static void new_memory_is_served(void **state)
{
    (void)state;
    bed b = begin();
    for (uint32_t i = 0; i < 6; i++) {
        acu_tensor *made;
        acu_op *zeros = acu_full(ACU_SHAPE(N), acu_u32(i));
        acu_op *op = acu_launch(b.step, acu_for_num_elems(N), acu_inout(zeros), acu_in(b.x),
                                acu_u32(4), acu_u32(N));
        assert_works(acu_sync(b.device, acu_first(op), &made));
        expect(made, 3 * i + 2 + 4);
        acu_tensor_release(made);
        assert_works(acu_graph_cache_wait(b.device));
    }
    assert_true(counts(b.device).hits >= 3);
    end(&b);
}

/* Copies of any direction and length, fills of any width, between launches. */
static void copies_and_fills_are_served(void **state)
{
    (void)state;
    bed b = begin();
    acu_tensor *host, *back, *bytes;
    assert_works(acu_tensor_alloc_pinned(b.device, ACU_U32, ACU_SHAPE(N), &host));
    assert_works(acu_tensor_alloc_pinned(b.device, ACU_U32, ACU_SHAPE(N), &back));
    assert_works(acu_sync(b.device, acu_zeros(ACU_U8, ACU_SHAPE(N)), &bytes));
    uint32_t *in = acu_tensor_host(host), *out = acu_tensor_host(back);
    for (uint32_t turn = 0; turn < 8; turn++) {
        int64_t from[] = {turn}, to[] = {N};
        acu_tensor *part, *host_part, *back_part;
        assert_works(acu_tensor_slice(b.z, from, to, &part));
        assert_works(acu_tensor_slice(host, from, to, &host_part));
        assert_works(acu_tensor_slice(back, from, to, &back_part));
        for (uint32_t i = 0; i < N; i++) {
            in[i] = 100 * turn + i;
            out[i] = 0;
        }
        acu_op *op = acu_zip(acu_fill(b.z, acu_u32(9)),
                             acu_fill(bytes, acu_u8((uint8_t)(200 + turn))),
                             acu_copy(part, host_part), one_step(b.step, b.z, b.x, turn),
                             acu_copy(back_part, part));
        assert_works(acu_sync(b.device, op, NULL));
        for (uint32_t i = 0; i < N; i++)
            assert_int_equal(out[i], i < turn ? 0 : 3 * in[i] + 2 + turn);
        uint8_t got[N];
        assert_works(acu_read_sync(bytes, got, sizeof got));
        assert_int_equal(got[0], 200 + turn);
        assert_int_equal(got[N - 1], 200 + turn);
        acu_tensor_release(part);
        acu_tensor_release(host_part);
        acu_tensor_release(back_part);
        assert_works(acu_graph_cache_wait(b.device));
    }
    assert_true(counts(b.device).hits >= 5);
    acu_tensor_release(bytes);
    acu_tensor_release(host);
    acu_tensor_release(back);
    end(&b);
}

/* ---- launches with attributes ---- */

/* Cooperative launches between ordinary ones; another grid is not another form. */
static void cooperative_launches_are_served(void **state)
{
    (void)state;
    enum { TURNS = 8 };
    bed b = begin();
    acu_kernel *meet = test_kernel(b.device, test_graphs_ptx, "meet");
    acu_tensor *left = make(b.device, 0), *arrived = make(b.device, 0);
    uint32_t want[N], got[N], target = 0;
    for (uint32_t i = 0; i < N; i++)
        want[i] = 1;
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        uint32_t blocks = 2 + turn;
        acu_config config = ACU_GRID_BLOCK(blocks, 1, 1, 32, 1, 1);
        config.cooperative = true;
        target += blocks;
        acu_op *op = acu_zip(one_step(b.step, b.z, b.x, turn),
                             acu_launch(meet, config, acu_inout(b.z), acu_inout(left),
                                        acu_inout(arrived), acu_u32(target), acu_u32(turn)),
                             one_step(b.step, b.z, b.x, 5));
        assert_works(acu_sync(b.device, op, NULL));
        for (uint32_t i = 0; i < N; i++) {
            want[i] = 3 * want[i] + 2 + turn;
            if (i < blocks)
                want[i] = 3 * want[i] + turn + (i + 1) % blocks + 1000;
            want[i] = 3 * want[i] + 2 + 5;
        }
        assert_works(acu_read_sync(b.z, got, sizeof got));
        assert_memory_equal(got, want, sizeof want);
        assert_works(acu_graph_cache_wait(b.device));
    }
    if (acu_driver_has(ACU_CALL_GraphInstantiateWithFlags)) {
        assert_int_equal(counts(b.device).hits, TURNS - 2); /* all in one part */
        assert_int_equal(counts(b.device).misses, 2);
        assert_int_equal(counts(b.device).execs, 1);
    }
    acu_tensor_release(left);
    acu_tensor_release(arrived);
    acu_kernel_release(meet);
    end(&b);
}

static acu_op *cooperative_steps(const bed *b, bool first, bool second)
{
    acu_config config[2] = {acu_for_num_elems(N), acu_for_num_elems(N)};
    config[0].cooperative = first;
    config[1].cooperative = second;
    acu_op *ops[2];
    for (uint32_t i = 0; i < 2; i++)
        ops[i] = acu_launch(b->step, config[i], acu_inout(b->z), acu_in(b->x), acu_u32(i),
                            acu_u32(N));
    return acu_op_zip(ops, 2, ACU_SITE);
}

static void attributes_are_part_of_the_form(void **state)
{
    (void)state;
    bed b = begin();
    for (unsigned which = 0; which < 4; which++) {
        for (int again = 0; again < 3; again++) {
            assert_works(acu_sync(b.device, cooperative_steps(&b, which & 1, which & 2), NULL));
            assert_works(acu_graph_cache_wait(b.device));
        }
        if (acu_driver_has(ACU_CALL_GraphInstantiateWithFlags)) {
            assert_int_equal(counts(b.device).signatures, which + 1);
            assert_int_equal(counts(b.device).hits, which + 1);
        }
    }
    uint32_t z = 1;
    for (int i = 0; i < 4 * 3; i++)
        z = chain_on_host(z, 2, 0, 2);
    expect(b.z, z);
    end(&b);
}

/* Each block writes 100 c + the blocks of its cluster. For GPUs that have clusters. */
static const char clusters_ptx[] =
    ".version 7.8\n.target sm_90\n.address_size 64\n"
    ".visible .entry size_of_cluster(.param .u64 out, .param .u32 c)\n{\n"
    "    .reg .b32 %r<6>;\n    .reg .b64 %rd<5>;\n"
    "    ld.param.u64 %rd1, [out];\n    cvta.to.global.u64 %rd2, %rd1;\n"
    "    ld.param.u32 %r1, [c];\n    mov.u32 %r2, %cluster_nctaid.x;\n"
    "    mad.lo.u32 %r4, %r1, 100, %r2;\n    mov.u32 %r3, %ctaid.x;\n"
    "    mul.wide.u32 %rd3, %r3, 4;\n    add.s64 %rd4, %rd2, %rd3;\n"
    "    st.global.u32 [%rd4], %r4;\n    ret;\n}\n";

static void clusters_are_served(void **state)
{
    (void)state;
    enum { TURNS = 12 };
    bed b = begin();
    if (!test_on_gpu() || acu_device_info_of(b.device)->compute_major < 9) {
        end(&b);
        skip();
    }
    acu_kernel *kernel = test_kernel(b.device, clusters_ptx, "size_of_cluster");
    uint32_t want[N], got[N];
    for (uint32_t i = 0; i < N; i++)
        want[i] = 1;
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        uint32_t size = turn % 2 ? 4 : 2, blocks = 4 * (turn + 1);
        acu_config config = ACU_GRID_BLOCK(blocks, 1, 1, 32, 1, 1);
        config.cluster[0] = size;
        assert_works(acu_sync(b.device, acu_launch(kernel, config, acu_inout(b.z), acu_u32(turn)),
                              NULL));
        for (uint32_t i = 0; i < blocks; i++)
            want[i] = 100 * turn + size;
        assert_works(acu_read_sync(b.z, got, sizeof got));
        assert_memory_equal(got, want, sizeof want);
        assert_works(acu_graph_cache_wait(b.device));
    }
    assert_int_equal(counts(b.device).signatures, 2);
    assert_int_equal(counts(b.device).hits, TURNS - 4);
    acu_kernel_release(kernel);
    end(&b);
}

/* ---- branches ---- */

/* Separate chains, then a launch that reads both results; first over several streams, later as a
 * graph. */
static acu_op *fill_and_fetch(acu_tensor *x, acu_tensor *host)
{
    return acu_copy(host, acu_fill(x, acu_u32(5)));
}

/* Once memory has gone back to the driver, its address may belong to another allocation. Launching
 * a graph whose parameters were set before that crashed in the driver. */
static void memory_that_went_back_is_set_anew(void **state)
{
    (void)state;
    bed b = begin();
    acu_tensor *host;
    acu_pool *pool;
    acu_buffer *other;
    assert_works(acu_tensor_alloc_pinned(b.device, ACU_U32, ACU_SHAPE(N), &host));
    for (int i = 0; i < 3; i++) {
        assert_works(acu_sync(b.device, fill_and_fetch(b.x, host), NULL));
        assert_works(acu_graph_cache_wait(b.device));
    }
    acu_graph_cache_statistics before = counts(b.device);
    assert_works(acu_sync(b.device, fill_and_fetch(b.x, host), NULL));
    acu_graph_cache_statistics same = counts(b.device);
    assert_int_equal(same.hits - before.hits, 1);
    assert_int_equal(same.skipped - before.skipped, 2);

    acu_pool_options options = {.size = sizeof options, .kind = ACU_MEMORY_PINNED};
    assert_works(acu_pool_create(b.device, &options, &pool));
    assert_works(acu_buffer_create_from(pool, 4096, &other));
    acu_buffer_release(other);
    assert_works(acu_pool_trim(pool, 0, NULL));
    assert_works(acu_sync(b.device, fill_and_fetch(b.x, host), NULL));
    acu_graph_cache_statistics after = counts(b.device);
    assert_int_equal(after.hits - same.hits, 1);
    assert_int_equal(after.set - same.set, 2);
    acu_pool_release(pool);
    acu_tensor_release(host);
    end(&b);
}

static void branches_join(void **state)
{
    (void)state;
    bed b = begin();
    acu_tensor *y = make(b.device, 3), *x = make(b.device, 4);
    uint32_t z = 1, v = 3;
    for (uint32_t turn = 0; turn < 6; turn++) {
        acu_op *op = acu_zip(chain(b.step, b.z, x, turn, 3), chain(b.step, y, x, turn + 9, 4),
                             one_step(b.step, b.z, y, 1), one_step(b.step, y, b.z, 2));
        assert_works(acu_sync(b.device, op, NULL));
        z = chain_on_host(z, 4, turn, 3);
        v = chain_on_host(v, 4, turn + 9, 4);
        z = 3 * z + v + 1;
        v = 3 * v + z + 2;
        expect(b.z, z);
        expect(y, v);
        assert_works(acu_graph_cache_wait(b.device));
    }
    assert_true(counts(b.device).hits >= 3);
    acu_tensor_release(y);
    acu_tensor_release(x);
    end(&b);
}

/* Many branches at once, more than there are lanes. */
static void wide_ops_are_right(void **state)
{
    (void)state;
    enum { WIDE = 24 };
    bed b = begin();
    acu_tensor *y[WIDE];
    uint32_t want[WIDE];
    for (uint32_t i = 0; i < WIDE; i++)
        y[i] = make(b.device, want[i] = i);
    for (uint32_t turn = 0; turn < 5; turn++) {
        acu_op *ops[WIDE + 1];
        for (uint32_t i = 0; i < WIDE; i++) {
            ops[i] = chain(b.step, y[i], b.x, turn + i, 2);
            want[i] = chain_on_host(want[i], 2, turn + i, 2);
        }
        ops[WIDE] = one_step(b.step, y[0], y[WIDE - 1], 5);
        want[0] = 3 * want[0] + want[WIDE - 1] + 5;
        assert_works(acu_sync(b.device, acu_op_zip(ops, WIDE + 1, ACU_SITE), NULL));
        for (uint32_t i = 0; i < WIDE; i++)
            expect(y[i], want[i]);
        assert_works(acu_graph_cache_wait(b.device));
    }
    for (uint32_t i = 0; i < WIDE; i++)
        acu_tensor_release(y[i]);
    end(&b);
}

/* With a single stream nothing runs side by side, not even in a graph: another form than with
 * branches. */
static void one_stream_means_one_behind_the_other(void **state)
{
    (void)state;
    bed b = begin();
    acu_tensor *y = make(b.device, 3);
    acu_policy *single;
    assert_works(acu_policy_single(b.device, NULL, &single));
    acu_submit_options options = {.size = sizeof options, .policy = single};
    uint64_t forms = 0;
    for (uint32_t turn = 0; turn < 4; turn++) {
        acu_future *future;
        acu_op *op = acu_zip(one_step(b.step, b.z, b.x, 1), one_step(b.step, y, b.x, 1));
        assert_works(acu_submit(b.device, op, &options, &future));
        assert_works(acu_future_wait(future, ACU_FOREVER));
        acu_future_release(future);
        assert_works(acu_graph_cache_wait(b.device));
        op = acu_zip(one_step(b.step, b.z, b.x, 1), one_step(b.step, y, b.x, 1));
        assert_works(acu_sync(b.device, op, NULL));
        assert_works(acu_graph_cache_wait(b.device));
        forms = counts(b.device).signatures;
    }
    assert_int_equal(forms, 2);
    acu_policy_release(single);
    acu_tensor_release(y);
    end(&b);
}

/* ---- overlapping ---- */

static void overlapping_submissions_get_one_each(void **state)
{
    (void)state;
    enum { AT_ONCE = 4, TURNS = 12 };
    bed b = begin();
    acu_tensor *y[AT_ONCE];
    uint32_t want[AT_ONCE];
    for (uint32_t i = 0; i < AT_ONCE; i++)
        y[i] = make(b.device, want[i] = i);
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        acu_future *f[AT_ONCE];
        for (uint32_t i = 0; i < AT_ONCE; i++) {
            assert_works(acu_submit(b.device, chain(b.step, y[i], b.x, turn, CHAIN), NULL, &f[i]));
            want[i] = chain_on_host(want[i], 2, turn, CHAIN);
        }
        assert_works(acu_wait_all(f, AT_ONCE, ACU_FOREVER));
        for (uint32_t i = 0; i < AT_ONCE; i++) {
            acu_future_release(f[i]);
            expect(y[i], want[i]);
        }
        assert_works(acu_graph_cache_wait(b.device));
    }
    assert_true(counts(b.device).execs >= 1);
    assert_true(counts(b.device).hits > TURNS);
    for (uint32_t i = 0; i < AT_ONCE; i++)
        acu_tensor_release(y[i]);
    end(&b);
}

typedef struct job {
    const bed *b;
    acu_tensor *y;
    uint32_t want;
} job;

static void *submit_many(void *context)
{
    job *j = context;
    for (uint32_t turn = 0; turn < 50; turn++) {
        acu_op *op = chain(j->b->step, j->y, j->b->x, turn, CHAIN);
        if (acu_submit(j->b->device, op, NULL, NULL) != ACU_OK)
            return NULL;
        j->want = chain_on_host(j->want, 2, turn, CHAIN);
    }
    return j;
}

static void threads_share_a_form(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    bed b = begin();
    pthread_t threads[THREADS];
    job jobs[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        jobs[i] = (job){.b = &b, .y = make(b.device, i), .want = i};
        assert_int_equal(pthread_create(&threads[i], NULL, submit_many, &jobs[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        void *done;
        pthread_join(threads[i], &done);
        assert_non_null(done);
        expect(jobs[i].y, jobs[i].want);
        acu_tensor_release(jobs[i].y);
    }
    end(&b);
}

/* Steps and fills on z; the bits of the pattern say which are fills. */
static acu_op *patterned(const bed *b, unsigned pattern)
{
    enum { LENGTH = 7 }; /* for eight, an idle device would get the first few in a piece of their
                          * own */
    acu_op *ops[LENGTH];
    for (unsigned i = 0; i < LENGTH; i++)
        ops[i] = pattern >> i & 1 ? acu_fill(b->z, acu_u32(i))
                                  : one_step(b->step, b->z, b->x, i);
    return acu_op_zip(ops, LENGTH, ACU_SITE);
}

/* No form makes the cache forget another one before it comes again. */
static void many_forms_in_turn_are_served(void **state)
{
    (void)state;
    enum { FORMS = 128 };
    bed b = begin();
    if (!has_graphs(b.device))
        return;
    uint64_t hits = 0;
    for (int turn = 0; turn < 3; turn++) {
        hits = counts(b.device).hits;
        for (unsigned i = 0; i < FORMS; i++) {
            assert_works(acu_sync(b.device, patterned(&b, i), NULL));
            assert_works(acu_graph_cache_wait(b.device));
        }
        hits = counts(b.device).hits - hits;
    }
    assert_int_equal(hits, FORMS);
    end(&b);
}

static acu_op *wait_for_graphs(void *device, acu_val *values, size_t count)
{
    (void)count;
    assert_fails(acu_graph_cache_wait(device), ACU_ERR_IN_CALLBACK, "acu_graph_cache_wait");
    return acu_take(&values[0]);
}

static void callbacks_may_not_wait_for_them(void **state)
{
    (void)state;
    bed b = begin();
    acu_op *op = acu_then(acu_scalar(acu_u8(1)), wait_for_graphs, b.device);
    assert_works(acu_sync(b.device, op, NULL));
    end(&b);
}

/* ---- bounds ---- */

static void the_cache_is_bounded(void **state)
{
    (void)state;
    bed b = begin();
    if (!has_graphs(b.device))
        return;
    assert_works(acu_graph_cache_limit(b.device, 3));
    uint32_t z = 1;
    for (int length = 1; length <= 10; length++)
        for (int again = 0; again < 3; again++) {
            assert_works(acu_sync(b.device, chain(b.step, b.z, b.x, 1, length), NULL));
            z = chain_on_host(z, 2, 1, length);
            assert_works(acu_graph_cache_wait(b.device));
            assert_true(counts(b.device).execs <= 3);
        }
    expect(b.z, z);
    assert_true(counts(b.device).evicted >= 7);
    assert_works(acu_graph_cache_limit(b.device, 0));
    assert_int_equal(counts(b.device).execs, 0);
    acu_graph_cache_statistics off = counts(b.device);
    for (int again = 0; again < 3; again++)
        assert_works(acu_sync(b.device, chain(b.step, b.z, b.x, 1, 2), NULL));
    assert_int_equal(counts(b.device).hits, off.hits);
    assert_int_equal(counts(b.device).execs, 0);
    end(&b);
}

/* Chains of each length twice, on a stream that is held up; any number of them may be served by
 * graphs. */
static void submit_forms(const bed *b, const acu_submit_options *on, int lengths)
{
    for (int length = 1; length <= lengths; length++)
        for (int again = 0; again < 2; again++)
            assert_works(acu_submit(b->device, chain(b->step, b->z, b->x, 1, length), on, NULL));
    assert_works(acu_graph_cache_wait(b->device));
}

/* Surplus graphs leave the cache while they run, and nothing is kept of forms for which there is no
 * room. */
static void graphs_in_flight_leave_too(void **state)
{
    (void)state;
    enum { LENGTHS = 20, ROOM = 4 };
    bed b = begin();
    acu_stream *stream;
    if (!has_graphs(b.device))
        return;
    assert_works(acu_stream_create(b.device, 0, &stream));
    acu_submit_options on = {.size = sizeof on, .stream = stream};
    submit_forms(&b, &on, ROOM);
    assert_int_equal(counts(b.device).execs, ROOM);
    assert_works(acu_stream_wait(stream, ACU_FOREVER));
    test_gate_close(b.device, acu_stream_raw(stream));
    uint64_t hits = counts(b.device).hits;
    submit_forms(&b, &on, ROOM);
    assert_int_equal(counts(b.device).hits - hits, 2 * ROOM);
    assert_works(acu_graph_cache_limit(b.device, 2));
    assert_int_equal(counts(b.device).execs, 2);
    submit_forms(&b, &on, LENGTHS);
    assert_int_equal(counts(b.device).execs, 2);
    assert_int_equal(counts(b.device).signatures, 2);
    assert_works(acu_graph_cache_limit(b.device, 0));
    assert_int_equal(counts(b.device).execs, 0);
    assert_int_equal(counts(b.device).signatures, 0);
    test_gate_open();
    assert_works(acu_stream_wait(stream, ACU_FOREVER));
    acu_stream_release(stream);
    end(&b);
}

static void a_module_takes_its_graphs_along(void **state)
{
    (void)state;
    bed b = begin();
    warm(&b, 1);
    assert_int_equal(counts(b.device).signatures, 1);
    acu_kernel_release(b.step); /* the module goes with it */
    assert_int_equal(counts(b.device).signatures, 0);
    assert_int_equal(counts(b.device).execs, 0);
    b.step = test_kernel(b.device, test_graphs_ptx, "step");
    warm(&b, 1);
    assert_int_equal(counts(b.device).execs, 1);
    end(&b);
}

/* ---- a driver that refuses ---- */

static void refuse_with(acu_driver_call call, bool from_then_on, unsigned result)
{
    acu_driver_fault fault = {.size = sizeof fault,
                              .call = call,
                              .nth = 1,
                              .from_then_on = from_then_on,
                              .result = result};
    assert_works(acu_driver_fail(&fault));
}

static void refuse(acu_driver_call call, bool from_then_on)
{
    refuse_with(call, from_then_on, ACU_CUDA_ERROR_INVALID_VALUE);
}

/* The call fails once while chains go on: their results are right all the same. */
static void survive(acu_driver_call call, bool from_then_on)
{
    bed b = begin();
    uint32_t z = 1;
    refuse(call, from_then_on);
    for (uint32_t i = 0; i < 8; i++) {
        assert_works(acu_sync(b.device, chain(b.step, b.z, b.x, i, CHAIN), NULL));
        z = chain_on_host(z, 2, i, CHAIN);
        assert_works(acu_graph_cache_wait(b.device));
    }
    assert_true(acu_driver_fault_hits() > 0);
    acu_driver_fail_clear();
    expect(b.z, z);
    end(&b);
}

/* The same for launches with attributes: none is served. */
static void survive_attributes(void)
{
    bed b = begin();
    uint32_t z = 1;
    refuse(ACU_CALL_GraphKernelNodeSetAttribute, true);
    for (int i = 0; i < 4; i++) {
        assert_works(acu_sync(b.device, cooperative_steps(&b, true, false), NULL));
        z = chain_on_host(z, 2, 0, 2);
        assert_works(acu_graph_cache_wait(b.device));
    }
    assert_true(acu_driver_fault_hits() > 0);
    acu_driver_fail_clear();
    assert_int_equal(counts(b.device).hits, 0);
    expect(b.z, z);
    end(&b);
}

static void what_the_driver_refuses_goes_directly(void **state)
{
    (void)state;
    static const acu_driver_call calls[] = {
        ACU_CALL_GraphCreate,
        ACU_CALL_GraphAddKernelNode,
        ACU_CALL_GraphInstantiateWithFlags,
        ACU_CALL_GraphExecKernelNodeSetParams,
        ACU_CALL_GraphUpload,
        ACU_CALL_GraphLaunch,
    };
    acu_device *device = test_open();
    if (!has_graphs(device))
        return;
    test_close(device);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (int on = 0; on < 2; on++)
            survive(calls[i], on);
    survive_attributes();
}

/* Later there may be memory. */
static void what_it_had_no_memory_for_is_tried_again(void **state)
{
    (void)state;
    bed b = begin();
    if (!acu_driver_has(ACU_CALL_GraphInstantiateWithFlags)) {
        end(&b);
        skip();
    }
    uint32_t z = 1;
    refuse_with(ACU_CALL_GraphInstantiateWithFlags, true, ACU_CUDA_ERROR_OUT_OF_MEMORY);
    for (uint32_t i = 0; i < 1000 && counts(b.device).hits == 0; i++) {
        assert_works(acu_sync(b.device, chain(b.step, b.z, b.x, i, CHAIN), NULL));
        z = chain_on_host(z, 2, i, CHAIN);
        assert_works(acu_graph_cache_wait(b.device));
        if (acu_driver_fault_hits() == 2)
            acu_driver_fail_clear();
    }
    assert_int_equal(acu_driver_fault_hits(), 2);
    assert_int_equal(counts(b.device).built, 1);
    assert_int_equal(counts(b.device).hits, 1);
    acu_driver_fail_clear();
    expect(b.z, z);
    end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_again_is_served),
        cmocka_unit_test(copies_from_elsewhere_are_another_form),
        cmocka_unit_test(lengths_and_blocks_are_set),
        cmocka_unit_test(a_long_chain_gives_an_idle_device_a_head_start),
        cmocka_unit_test(a_short_chain_that_nobody_waits_for_stays_whole),
        cmocka_unit_test(only_what_differs_is_set),
        cmocka_unit_test(arguments_are_no_part_of_the_form),
        cmocka_unit_test(new_memory_is_served),
        cmocka_unit_test(copies_and_fills_are_served),
        cmocka_unit_test(memory_that_went_back_is_set_anew),
        cmocka_unit_test(cooperative_launches_are_served),
        cmocka_unit_test(attributes_are_part_of_the_form),
        cmocka_unit_test(clusters_are_served),
        cmocka_unit_test(branches_join),
        cmocka_unit_test(wide_ops_are_right),
        cmocka_unit_test(one_stream_means_one_behind_the_other),
        cmocka_unit_test(overlapping_submissions_get_one_each),
        cmocka_unit_test(threads_share_a_form),
        cmocka_unit_test(many_forms_in_turn_are_served),
        cmocka_unit_test(callbacks_may_not_wait_for_them),
        cmocka_unit_test(the_cache_is_bounded),
        cmocka_unit_test(graphs_in_flight_leave_too),
        cmocka_unit_test(a_module_takes_its_graphs_along),
        cmocka_unit_test(what_the_driver_refuses_goes_directly),
        cmocka_unit_test(what_it_had_no_memory_for_is_tried_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
