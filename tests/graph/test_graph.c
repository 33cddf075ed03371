/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Explicit graphs: made once, replayed with other inputs, from any stream, among other ops. */
#include "driver/table.h"
#include "support/support.h"

#include <pthread.h>

extern const char test_graph_ptx[];

enum { N = 64 };

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
    if (!acu_driver_has(ACU_CALL_GraphInstantiateWithFlags)) {
        test_close(b.device);
        skip();
    }
    b.step = test_kernel(b.device, test_graph_ptx, "step");
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

/* z = 3 z + x + c */
static acu_op *step(const bed *b, acu_op *z, acu_tensor *x, uint32_t c)
{
    return acu_first(acu_launch(b->step, acu_for_num_elems(N), acu_inout(z), acu_in(x), acu_u32(c),
                                acu_u32(N)));
}

static acu_op *two_steps(const bed *b)
{
    return step(b, step(b, acu_value(b->z), b->x, 1), b->x, 2);
}

static uint32_t two_on_host(uint32_t z, uint32_t x)
{
    return 3 * (3 * z + x + 1) + x + 2;
}

static void expect(acu_tensor *tensor, uint32_t value)
{
    uint32_t got[N];
    assert_works(acu_read_sync(tensor, got, sizeof got));
    for (int i = 0; i < N; i++)
        assert_int_equal(got[i], value);
}

static void replays_run_what_was_planned(void **state)
{
    (void)state;
    bed b = begin();
    acu_graph *graph;
    assert_works(acu_graph_load(b.device, two_steps(&b), NULL, &graph));
    expect(b.z, 1); /* loading runs nothing */
    assert_int_equal(acu_graph_nodes(graph), 2);
    assert_int_equal(acu_graph_values(graph), 1);
    uint32_t z = 1;
    for (int i = 0; i < 5; i++) {
        acu_tensor *same;
        assert_works(acu_sync(b.device, acu_replay(graph), &same));
        z = two_on_host(z, 2);
        expect(same, z);
        acu_tensor_release(same);
    }
    expect(acu_graph_tensor(graph, 0), z);
    assert_null(acu_graph_tensor(graph, 1));
    acu_graph_release(graph);
    end(&b);
}

/* Any op may write the inputs, ordered with replays by the data. */
static void inputs_are_updated_by_ops(void **state)
{
    (void)state;
    bed b = begin();
    acu_graph *graph;
    assert_works(acu_graph_load(b.device, two_steps(&b), NULL, &graph));
    acu_op *ops[12];
    uint32_t z = 1;
    for (uint32_t i = 0; i < 6; i++) {
        ops[2 * i] = acu_fill(b.x, acu_u32(10 + i));
        ops[2 * i + 1] = acu_replay(graph);
        z = two_on_host(z, 10 + i);
    }
    assert_works(acu_sync(b.device, acu_op_zip(ops, 12, ACU_SITE), NULL));
    expect(b.z, z);
    for (uint32_t i = 0; i < 20; i++) { /* over all streams of the device */
        assert_works(acu_submit(b.device, acu_fill(b.x, acu_u32(i)), NULL, NULL));
        assert_works(acu_submit(b.device, acu_replay(graph), NULL, NULL));
        z = two_on_host(z, i);
    }
    expect(b.z, z);
    acu_graph_release(graph);
    end(&b);
}

/* Tensors that the op makes exist once, and each replay fills them anew. */
static void tensors_of_the_op_are_made_once(void **state)
{
    (void)state;
    bed b = begin();
    uint32_t table[N];
    for (uint32_t i = 0; i < N; i++)
        table[i] = 5;
    acu_op *fresh = acu_zip(step(&b, acu_const(ACU_U32, ACU_SHAPE(N), table), b.x, 1),
                            step(&b, acu_full(ACU_SHAPE(N), acu_u32(6)), b.x, 1),
                            acu_dup(b.x));
    acu_graph *graph;
    assert_works(acu_graph_load(b.device, fresh, NULL, &graph));
    memset(table, 0, sizeof table); /* it was copied */
    CUdeviceptr at = acu_tensor_address(acu_graph_tensor(graph, 0));
    for (uint32_t i = 0; i < 3; i++) {
        assert_works(acu_sync(b.device, acu_zip(acu_fill(b.x, acu_u32(i)), acu_replay(graph)),
                              NULL));
        expect(acu_graph_tensor(graph, 0), 3 * 5 + i + 1);
        expect(acu_graph_tensor(graph, 1), 3 * 6 + i + 1);
        expect(acu_graph_tensor(graph, 2), i);
        assert_true(acu_tensor_address(acu_graph_tensor(graph, 0)) == at);
    }
    acu_graph_release(graph);
    end(&b);
}

/* A launch keeps its attributes: cooperative blocks, which wait for each other, come to an end. */
static void cooperative_launches_are_replayed(void **state)
{
    (void)state;
    enum { BLOCKS = 4, TURNS = 3 };
    bed b = begin();
    acu_kernel *gather = test_kernel(b.device, test_graph_ptx, "gather");
    acu_config config = ACU_GRID_BLOCK(BLOCKS, 1, 1, 32, 1, 1);
    acu_graph *graph;
    config.cooperative = true;
    acu_op *op = acu_zip(step(&b, acu_value(b.z), b.x, 1),
                         acu_launch(gather, config, acu_inout(b.x)));
    assert_works(acu_graph_load(b.device, op, NULL, &graph));
    uint32_t z = 1;
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        assert_works(acu_sync(b.device, acu_zip(acu_fill(b.x, acu_u32(turn)), acu_replay(graph)),
                              NULL));
        z = 3 * z + turn + 1;
        expect(b.z, z);
        expect(b.x, turn + BLOCKS);
    }
    acu_graph_release(graph);
    acu_kernel_release(gather);
    end(&b);
}

static void branches_stay_branches(void **state)
{
    (void)state;
    enum { WIDE = 10 };
    bed b = begin();
    acu_tensor *y[WIDE];
    acu_op *ops[WIDE + 1];
    for (uint32_t i = 0; i < WIDE; i++) {
        y[i] = make(b.device, i);
        ops[i] = step(&b, step(&b, acu_value(y[i]), b.x, i), b.x, 7);
    }
    ops[WIDE] = step(&b, acu_value(y[0]), y[WIDE - 1], 3);
    acu_graph *graph;
    assert_works(acu_graph_load(b.device, acu_op_zip(ops, WIDE + 1, ACU_SITE), NULL, &graph));
    uint32_t want[WIDE];
    for (uint32_t i = 0; i < WIDE; i++)
        want[i] = i;
    for (int turn = 0; turn < 3; turn++) {
        assert_works(acu_sync(b.device, acu_replay(graph), NULL));
        for (uint32_t i = 0; i < WIDE; i++)
            want[i] = 3 * (3 * want[i] + 2 + i) + 2 + 7;
        want[0] = 3 * want[0] + want[WIDE - 1] + 3;
        for (uint32_t i = 0; i < WIDE; i++)
            expect(y[i], want[i]);
    }
    for (uint32_t i = 0; i < WIDE; i++)
        acu_tensor_release(y[i]);
    acu_graph_release(graph);
    end(&b);
}

static acu_op *open_host_gate(void *user, acu_val *values, size_t count)
{
    (void)user, (void)count;
    test_host_gate_open();
    return acu_take(&values[0]);
}

/* The tensor gets its memory only when the host work is over, which is after the op of the graph
 * was planned. */
static void memory_that_is_to_come_is_awaited(void **state)
{
    (void)state;
    bed b = begin();
    test_host_gate_close();
    acu_op *host = acu_host(test_pass_host_gate, NULL, acu_inout(acu_to_host(b.x)));
    acu_future *future = test_submit(b.device, acu_to_device(b.device, host));
    acu_tensor *late = acu_future_tensor(future, 0);
    acu_op *op = acu_then(acu_value(b.z), open_host_gate, NULL);
    acu_graph *graph;
    assert_works(acu_graph_load(b.device, step(&b, op, late, 1), NULL, &graph));
    assert_works(acu_sync(b.device, acu_replay(graph), NULL));
    expect(b.z, 6);
    acu_future_release(future);
    acu_graph_release(graph);
    end(&b);
}

/* Two graphs that share no data, side by side in one op; and a graph that reads what another one
 * writes. */
static void graphs_are_ops_among_others(void **state)
{
    (void)state;
    bed b = begin();
    acu_tensor *y = make(b.device, 4);
    acu_graph *first, *second, *third;
    assert_works(acu_graph_load(b.device, two_steps(&b), NULL, &first));
    assert_works(acu_graph_load(b.device, step(&b, acu_value(y), b.x, 9), NULL, &second));
    assert_works(acu_graph_load(b.device, step(&b, acu_value(y), b.z, 1), NULL, &third));
    uint32_t z = 1, v = 4;
    for (int i = 0; i < 4; i++) {
        acu_op *op = acu_zip(acu_replay(first), acu_replay(second), acu_replay(third));
        assert_works(acu_sync(b.device, op, NULL));
        z = two_on_host(z, 2);
        v = 3 * (3 * v + 2 + 9) + z + 1;
        expect(b.z, z);
        expect(y, v);
    }
    acu_graph_release(first);
    acu_graph_release(second);
    acu_graph_release(third);
    acu_tensor_release(y);
    end(&b);
}

/* An op with several users, and one that is unzipped, are entirely part of the graph. */
static void ops_with_several_users_are_replayed(void **state)
{
    (void)state;
    bed b = begin();
    acu_tensor *y = make(b.device, 0);
    acu_op *parts[2];
    acu_op *sum = acu_op_retain(acu_add(b.z, b.x));
    acu_unzip(acu_copy(b.z, acu_mul(sum, 2)), parts, 2);
    acu_op *op = acu_zip(acu_into(y, acu_add(sum, parts[0])), parts[1]);
    acu_graph *graph;
    assert_works(acu_graph_load(b.device, op, NULL, &graph));
    assert_int_equal(acu_graph_nodes(graph), 4);
    uint32_t z = 1;
    for (int i = 0; i < 4; i++) {
        assert_works(acu_sync(b.device, acu_replay(graph), NULL));
        uint32_t s = z + 2;
        z = 2 * s;
        expect(b.z, z);
        expect(y, s + z);
    }
    acu_graph_release(graph);
    acu_tensor_release(y);
    end(&b);
}

/* Other users of an op that went into a graph get an error, since the op does not run for them. */
static void what_a_graph_has_is_not_run_for_others(void **state)
{
    (void)state;
    bed b = begin();
    acu_graph *graph;
    acu_op *part = step(&b, acu_value(b.z), b.x, 1);
    acu_op *whole = step(&b, acu_op_retain(part), b.x, 2);
    acu_op_retain(whole);
    assert_works(acu_graph_load(b.device, whole, NULL, &graph));
    assert_int_equal(acu_graph_nodes(graph), 2);
    assert_int_equal(acu_submit(b.device, part, NULL, NULL), ACU_ERR_INVALID);
    assert_non_null(strstr(acu_last_error()->message, "a part of a graph"));
    assert_int_equal(acu_submit(b.device, whole, NULL, NULL), ACU_ERR_INVALID);
    expect(b.z, 1);
    assert_works(acu_sync(b.device, acu_replay(graph), NULL));
    expect(b.z, two_on_host(1, 2));
    acu_graph_release(graph);
    end(&b);
}

/* The program has released everything, and even the graph while it runs. */
static void graphs_keep_what_they_need(void **state)
{
    (void)state;
    bed b = begin();
    acu_graph *graph;
    acu_future *future;
    assert_works(acu_graph_load(b.device, two_steps(&b), NULL, &graph));
    acu_kernel_release(b.step);
    acu_tensor_release(b.z);
    acu_tensor_release(b.x);
    for (int i = 0; i < 3; i++)
        assert_works(acu_submit(b.device, acu_replay(graph), NULL, NULL));
    assert_works(acu_submit(b.device, acu_replay(graph), NULL, &future));
    acu_graph_release(graph);
    assert_works(acu_future_wait(future, ACU_FOREVER));
    uint32_t z = 1;
    for (int i = 0; i < 4; i++)
        z = two_on_host(z, 2);
    expect(acu_future_tensor(future, 0), z);
    acu_future_release(future);
    test_close(b.device);
    test_leaks_none();
}

typedef struct job {
    const bed *b;
    acu_graph *graph;
} job;

/* They can not run side by side, and none waits for an event of another stream. */
static void replays_in_a_row_share_a_stream(void **state)
{
    enum { TURNS = 6 };
    (void)state;
    bed b = begin();
    acu_graph *graph;
    acu_future *futures[TURNS];
    char text[2048];
    acu_submit_options options = {.size = sizeof options, .explain = true};
    assert_works(acu_graph_load(b.device, two_steps(&b), NULL, &graph));
    for (int i = 0; i < TURNS; i++)
        assert_works(acu_submit(b.device, acu_replay(graph), &options, &futures[i]));
    for (int i = 0; i < TURNS; i++) {
        assert_works(acu_future_wait(futures[i], ACU_FOREVER));
        assert_works(acu_explain(futures[i], ACU_EXPLAIN_TEXT, text, sizeof text, NULL));
        assert_null(strstr(text, "waits for an event"));
        acu_future_release(futures[i]);
    }
    uint32_t z = 1;
    for (int i = 0; i < TURNS; i++)
        z = two_on_host(z, 2);
    expect(b.z, z);
    acu_graph_release(graph);
    end(&b);
}

static void *replay_often(void *context)
{
    job *j = context;
    for (int i = 0; i < 25; i++)
        if (acu_submit(j->b->device, acu_replay(j->graph), NULL, NULL) != ACU_OK)
            return NULL;
    return j;
}

static void threads_replay_one_graph(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    bed b = begin();
    job j = {.b = &b};
    assert_works(acu_graph_load(b.device, two_steps(&b), NULL, &j.graph));
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, replay_often, &j), 0);
    uint32_t z = 1;
    for (int i = 0; i < THREADS; i++) {
        void *done;
        pthread_join(threads[i], &done);
        assert_non_null(done);
    }
    for (int i = 0; i < 25 * THREADS; i++)
        z = two_on_host(z, 2);
    expect(b.z, z);
    acu_graph_release(j.graph);
    end(&b);
}

/* ---- copies by rows, and of other layouts ---- */

enum { DEPTH = 4, ROWS = 9, COLUMNS = 128, ALL = DEPTH * ROWS * COLUMNS };

/* The part of a tensor [DEPTH, ROWS, COLUMNS] that is copied. */
typedef struct part {
    int64_t start[3], end[3];
    bool turned; /* it is in the middle with the last two dimensions swapped */
} part;

static const part parts[] = {
    {{1, 1, 16}, {4, 8, 112}, false},              /* slices of long rows: the driver */
    {{2, 1, 16}, {3, 8, 112}, false},              /* rows */
    {{0, 2, 5}, {DEPTH, ROWS, 8}, false},          /* too short for it: a kernel */
    {{0, 0, 0}, {DEPTH, ROWS, COLUMNS}, true},     /* transposed: another one */
    {{0, 0, 32}, {DEPTH, ROWS, COLUMNS}, false},   /* rows at one distance over all slices */
};

static acu_tensor *view_of(acu_tensor *whole, const part *p)
{
    acu_tensor *view;
    assert_works(acu_tensor_slice(whole, p->start, p->end, &view));
    return view;
}

/* From `in` to `out`, pinned, by way of two tensors on the device. */
typedef struct way {
    acu_tensor *in, *first, *turned, *second, *out;
    acu_tensor *views[4];
    acu_graph *graph;
} way;

static way make_way(acu_device *device, const part *p)
{
    way w = {0};
    acu_shape shape = ACU_SHAPE(DEPTH, ROWS, COLUMNS);
    assert_works(acu_tensor_alloc_pinned(device, ACU_U32, shape, &w.in));
    assert_works(acu_tensor_alloc_pinned(device, ACU_U32, shape, &w.out));
    assert_works(acu_sync(device, acu_full(shape, acu_u32(77)), &w.second));
    if (p->turned)
        shape = ACU_SHAPE(DEPTH, COLUMNS, ROWS);
    assert_works(acu_sync(device, acu_full(shape, acu_u32(78)), &w.first));
    if (p->turned)
        assert_works(acu_tensor_transpose(w.first, 1, 2, &w.turned));
    w.views[0] = view_of(w.in, p);
    w.views[1] = view_of(p->turned ? w.turned : w.first, p);
    w.views[2] = view_of(w.second, p);
    w.views[3] = view_of(w.out, p);
    acu_op *op = acu_zip(acu_copy(w.views[1], w.views[0]), acu_copy(w.views[2], w.views[1]),
                         acu_copy(w.views[3], w.views[2]));
    assert_works(acu_graph_load(device, op, NULL, &w.graph));
    assert_int_equal(acu_graph_nodes(w.graph), 3);
    return w;
}

static void free_way(way *w)
{
    acu_graph_release(w->graph);
    for (int i = 0; i < 4; i++)
        acu_tensor_release(w->views[i]);
    acu_tensor_release(w->in);
    acu_tensor_release(w->first);
    acu_tensor_release(w->turned);
    acu_tensor_release(w->second);
    acu_tensor_release(w->out);
}

static bool is_inside(const part *p, int64_t i)
{
    int64_t at[3] = {i / (ROWS * COLUMNS), i / COLUMNS % ROWS, i % COLUMNS};
    for (int d = 0; d < 3; d++)
        if (at[d] < p->start[d] || at[d] >= p->end[d])
            return false;
    return true;
}

/* The part equals that of `in`, and nothing else was written. */
static void expect_part(const part *p, const uint32_t *got, const uint32_t *in, uint32_t outside)
{
    for (int64_t i = 0; i < ALL; i++)
        assert_int_equal(got[i], is_inside(p, i) ? in[i] : outside);
}

static void copies_of_any_layout_are_replayed(void **state)
{
    (void)state;
    static uint32_t middle[ALL];
    bed b = begin();
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        way w = make_way(b.device, &parts[k]);
        uint32_t *in = acu_tensor_host(w.in), *out = acu_tensor_host(w.out);
        for (uint32_t turn = 0; turn < 3; turn++) {
            for (uint32_t i = 0; i < ALL; i++) {
                in[i] = 1000000 * (turn + 1) + i;
                out[i] = 5;
            }
            assert_works(acu_sync(b.device, acu_replay(w.graph), NULL));
            expect_part(&parts[k], out, in, 5);
            assert_works(acu_read_sync(w.second, middle, sizeof middle));
            expect_part(&parts[k], middle, in, 77);
        }
        free_way(&w);
    }
    end(&b);
}

/* [4, 64] of which rows 1 and 2, columns 16 to 47, are packed into x, which a step then reads. */
typedef struct window {
    acu_tensor *matrix, *seen, *first, *x, *packed;
    acu_graph *graph;
} window;

static window make_window(const bed *b)
{
    window w;
    assert_works(acu_sync(b->device, acu_full(ACU_SHAPE(4, 64), acu_u32(900)), &w.matrix));
    w.x = make(b->device, 0);
    assert_works(acu_tensor_reshape(w.x, ACU_SHAPE(2, 32), &w.packed));
    assert_works(acu_tensor_slice(w.matrix, (int64_t[]){1, 16}, (int64_t[]){3, 48}, &w.seen));
    assert_works(acu_tensor_slice(w.matrix, (int64_t[]){1, 0}, (int64_t[]){2, 64}, &w.first));
    acu_op *op = acu_zip(acu_copy(w.packed, w.seen), step(b, acu_value(b->z), w.x, 3));
    assert_works(acu_graph_load(b->device, op, NULL, &w.graph));
    return w;
}

static void free_window(window *w)
{
    acu_graph_release(w->graph);
    acu_tensor_release(w->seen);
    acu_tensor_release(w->first);
    acu_tensor_release(w->packed);
    acu_tensor_release(w->x);
    acu_tensor_release(w->matrix);
}

/* Rows that the graph reads are written between replays, over all streams, and no thread waits. */
static void rows_are_updated_by_ops(void **state)
{
    (void)state;
    bed b = begin();
    window w = make_window(&b);
    uint32_t z[2] = {1, 1}, got[N];
    for (uint32_t i = 0; i < 20; i++) {
        assert_works(acu_submit(b.device, acu_fill(w.seen, acu_u32(i)), NULL, NULL));
        assert_works(acu_submit(b.device, acu_fill(w.first, acu_u32(50 + i)), NULL, NULL));
        assert_works(acu_submit(b.device, acu_replay(w.graph), NULL, NULL));
        z[0] = 3 * z[0] + 50 + i + 3;
        z[1] = 3 * z[1] + i + 3;
    }
    assert_works(acu_read_sync(b.z, got, sizeof got));
    for (int i = 0; i < N; i++)
        assert_int_equal(got[i], z[i / 32]);
    free_window(&w);
    end(&b);
}

static acu_status fail_foreign(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)user, (void)stream, (void)values, (void)count;
    return ACU_ERR_INVALID;
}

/* A graph that first overwrites a tensor does not depend on its old contents, whichever part of it
 * the graph reads later. */
static void what_a_graph_overwrites_is_no_input(void **state)
{
    (void)state;
    bed b = begin();
    window w = make_window(&b);
    acu_graph *graph;
    acu_op *op = acu_zip(acu_fill(w.matrix, acu_u32(8)), acu_copy(w.packed, w.seen));
    assert_works(acu_graph_load(b.device, op, NULL, &graph));
    assert_fails(acu_sync(b.device, acu_foreign(fail_foreign, NULL, acu_out(w.matrix)), NULL),
                 ACU_ERR_CALLBACK, "INVALID");
    assert_int_equal(acu_sync(b.device, acu_replay(w.graph), NULL), ACU_ERR_DEPENDENCY);
    assert_works(acu_sync(b.device, acu_replay(graph), NULL));
    expect(w.x, 8);
    acu_graph_release(graph);
    free_window(&w);
    acu_tensor_release(b.z); /* the replay that failed was to write it */
    b.z = make(b.device, 1);
    end(&b);
}

/* ---- refusals ---- */

static acu_status nothing_foreign(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)user, (void)stream, (void)values, (void)count;
    return ACU_OK;
}

static acu_status nothing_host(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_OK;
}

/* ---- calls ---- */

typedef struct caller {
    int calls, releases;
    uint32_t value;
    bool waits, fails;
} caller;

/* z = value, then x = z, by the driver. */
static acu_status call_driver(void *user, CUstream stream, const acu_val *values, size_t count)
{
    caller *c = user;
    const acu_driver_table *cu = acu_driver();
    CUdeviceptr z = acu_tensor_address(values[0].tensor), x = acu_tensor_address(values[1].tensor);
    assert_int_equal(count, 2);
    c->calls++;
    if (c->fails)
        return ACU_ERR_LIMIT;
    if (cu->MemsetD32Async(z, c->value, N, stream) || cu->MemcpyDtoDAsync(x, z, 4 * N, stream))
        return ACU_ERR_DRIVER;
    if (c->waits)
        cu->StreamSynchronize(stream);
    return ACU_OK;
}

static void count_release(void *user)
{
    ((caller *)user)->releases++;
}

static acu_op *call(const bed *b, caller *c)
{
    return acu_op_foreign(call_driver, ACU_USER(c, count_release),
                          ACU_ARGS(acu_out(b->z), acu_out(b->x)), ACU_SITE);
}

/* Between kernels, in their order, called when the graph is made and never again. */
static void calls_are_captured(void **state)
{
    (void)state;
    bed b = begin();
    acu_graph *graph = NULL;
    caller c = {.value = 5};
    acu_op *both = acu_capturable(call(&b, &c));
    acu_op *after = acu_after(step(&b, acu_value(b.z), b.x, 1), both);
    assert_works(acu_graph_load(b.device, step(&b, after, b.x, 2), NULL, &graph));
    assert_int_equal(c.calls, 1);
    for (uint32_t turn = 0; turn < 3; turn++) {
        assert_works(acu_sync(b.device, acu_fill(b.z, acu_u32(turn)), NULL));
        assert_works(acu_sync(b.device, acu_replay(graph), NULL));
        expect(b.z, two_on_host(5, 5));
        expect(b.x, 5);
    }
    assert_int_equal(c.calls, 1);
    assert_int_equal(c.releases, 0);
    acu_graph_release(graph);
    assert_int_equal(c.releases, 1);
    end(&b);
}

static void calls_that_can_not_be_captured(void **state)
{
    (void)state;
    bed b = begin();
    acu_graph *graph = NULL;
    caller waits = {.waits = true}, fails = {.fails = true}, plain = {.value = 3};
    assert_fails(acu_graph_load(b.device, acu_capturable(call(&b, &waits)), NULL, &graph),
                 ACU_ERR_CAPTURE, "foreign|capture");
    assert_fails(acu_graph_load(b.device, acu_capturable(call(&b, &fails)), NULL, &graph),
                 ACU_ERR_CALLBACK, "LIMIT");
    assert_fails(acu_graph_load(b.device, call(&b, &plain), NULL, &graph), ACU_ERR_NOT_SUPPORTED,
                 "acu_capturable");
    assert_int_equal(waits.releases + fails.releases + plain.releases, 3);
    assert_int_equal(plain.calls, 0);
    assert_fails(acu_sync(b.device, acu_capturable(acu_dup(b.z)), NULL), ACU_ERR_INVALID,
                 "acu_foreign");
    assert_fails(acu_sync(b.device, acu_capturable(NULL), NULL), ACU_ERR_INVALID, "NULL");
    /* Submitted, it is a call like any other. */
    assert_works(acu_sync(b.device, acu_capturable(call(&b, &plain)), NULL));
    assert_int_equal(plain.calls, 1);
    expect(b.z, 3);
    end(&b);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    bed b = begin();
    acu_graph *graph = NULL, *inner;
    assert_fails(acu_graph_load(b.device, acu_foreign(nothing_foreign, NULL, acu_inout(b.z)), NULL,
                                &graph),
                 ACU_ERR_NOT_SUPPORTED, "graph|foreign");
    acu_op *host = acu_host(nothing_host, NULL, acu_in(acu_to_host(b.z)));
    assert_fails(acu_graph_load(b.device, host, NULL, &graph), ACU_ERR_NOT_SUPPORTED, "graph|host");
    assert_fails(acu_graph_load(b.device, acu_value(b.z), NULL, &graph), ACU_ERR_INVALID,
                 "nothing to run");
    assert_fails(acu_graph_load(b.device, acu_empty(ACU_F32, ACU_SHAPE(4)), NULL, &graph),
                 ACU_ERR_INVALID, "only makes memory");
    assert_fails(acu_graph_load(b.device, two_steps(&b), NULL, NULL), ACU_ERR_INVALID, "nowhere");
    assert_fails(acu_graph_load(b.device, NULL, NULL, &graph), ACU_ERR_INVALID, "NULL");
    acu_op *wrong = acu_launch(b.step, ACU_BLOCK(N), acu_inout(b.z));
    assert_fails(acu_graph_load(b.device, wrong, NULL, &graph), ACU_ERR_ARGUMENTS, "takes 4");
    assert_null(graph);
    assert_works(acu_graph_load(b.device, two_steps(&b), NULL, &inner));
    assert_fails(acu_graph_load(b.device, acu_replay(inner), NULL, &graph), ACU_ERR_NOT_SUPPORTED,
                 "graph|replay");
    acu_graph_release(inner);
    assert_fails(acu_sync(b.device, acu_replay(inner), NULL), ACU_ERR_BAD_HANDLE, "released");
    end(&b);
}

static void what_is_behind_others_is_refused(void **state)
{
    (void)state;
    bed b = begin();
    acu_graph *graph = NULL;
    acu_future *future = test_submit(b.device, acu_fill(b.x, acu_u32(3)));
    acu_op *behind = acu_after_future(step(&b, acu_value(b.z), b.x, 1), future);
    assert_fails(acu_graph_load(b.device, behind, NULL, &graph),
                 ACU_ERR_NOT_SUPPORTED,
                 "graph|have the replay come after|acu_after_future");
    acu_future_release(future);
    acu_config config = acu_for_num_elems(N);
    config.programmatic = true;
    acu_op *op = acu_launch(b.step, config, acu_inout(b.z), acu_in(b.x), acu_u32(1), acu_u32(N));
    if (acu_graph_load(b.device, op, NULL, &graph) != ACU_ERR_NOT_SUPPORTED)
        fail_msg("%s", acu_last_error()->message);
    assert_null(graph);
    expect(b.z, 1);
    end(&b);
}

static void several_devices_are_refused(void **state)
{
    (void)state;
    acu_device *devices[2];
    test_open_n(devices, 2);
    acu_tensor *x = make(devices[0], 1), *y = make(devices[1], 2);
    acu_graph *graph = NULL;
    assert_fails(acu_graph_load(NULL, acu_zip(acu_fill(x, acu_u32(3)), acu_fill(y, acu_u32(4))),
                                NULL, &graph),
                 ACU_ERR_NOT_SUPPORTED, "graph|another device");
    assert_fails(acu_graph_load(NULL, acu_copy(x, y), NULL, &graph), ACU_ERR_NOT_SUPPORTED,
                 "graph|between devices");
    assert_null(graph);
    expect(x, 1);
    expect(y, 2);
    acu_tensor_release(x);
    acu_tensor_release(y);
    test_close(devices[0]);
    test_close(devices[1]);
    test_leaks_none();
}

/* Each driver call that makes a graph fails in turn: the error has a message, and nothing is left
 * over. */
static void failing_calls_are_told(void **state)
{
    (void)state;
    bed b = begin();
    static const acu_driver_call calls[] = {
        ACU_CALL_GraphCreate,
        ACU_CALL_GraphAddKernelNode,
        ACU_CALL_GraphInstantiateWithFlags,
        ACU_CALL_GraphKernelNodeSetAttribute,
    };
    acu_graph *graph = NULL;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        acu_driver_fault fault = {.size = sizeof fault,
                                  .call = calls[i],
                                  .nth = 1,
                                  .result = ACU_CUDA_ERROR_INVALID_VALUE};
        assert_works(acu_driver_fail(&fault));
        acu_config config = acu_for_num_elems(N);
        config.cooperative = true;
        acu_op *op = acu_launch(b.step, config, acu_inout(b.z), acu_in(b.x), acu_u32(1),
                                acu_u32(N));
        assert_int_equal(acu_graph_load(b.device, op, NULL, &graph), ACU_ERR_DRIVER);
        acu_driver_fail_clear();
        assert_null(graph);
    }
    for (uint64_t nth = 1;; nth++) {
        acu_debug_fail_alloc(nth, false);
        acu_status status = acu_graph_load(b.device, two_steps(&b), NULL, &graph);
        bool reached = acu_debug_alloc_count() >= nth;
        acu_debug_fail_alloc(0, false);
        if (status == ACU_OK)
            acu_graph_release(graph);
        else
            assert_int_equal(status, ACU_ERR_NO_MEMORY);
        if (!reached)
            break;
    }
    end(&b);
}

static acu_op *pass_host_gate(void)
{
    return acu_op_host(test_pass_host_gate, ACU_USER(NULL), NULL, 0, ACU_SITE);
}

/* What is read first is written nevertheless: nobody reads it if the replay never was. */
static void what_a_graph_reads_and_overwrites_is_written(void **state)
{
    (void)state;
    bed b = begin();
    acu_graph *graph = NULL;
    acu_future *future;
    assert_works(acu_graph_load(b.device, acu_zip(acu_copy(b.z, b.x), acu_fill(b.x, acu_u32(9))),
                                NULL, &graph));
    test_host_gate_close();
    assert_works(acu_submit(b.device, acu_after(acu_replay(graph), pass_host_gate()), NULL,
                            &future));
    assert_works(acu_future_cancel(future));
    test_host_gate_open();
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), ACU_ERR_CANCELLED);
    assert_fails(acu_sync(b.device, acu_copy(b.z, b.x), NULL), ACU_ERR_DEPENDENCY, "");
    acu_future_release(future);
    acu_graph_release(graph);
    end(&b);
}

/* ---- what comes behind what ---- */

static struct {
    acu_driver_table real;
    size_t behind[8]; /* of each node, how many it comes right behind */
    size_t count;
} added;

static unsigned add_fill(CUgraphNode *node, CUgraph graph, const CUgraphNode *behind, size_t count,
                         const acu_CUDA_MEMSET_NODE_PARAMS *params, CUcontext context)
{
    added.behind[added.count++ % 8] = count;
    return added.real.GraphAddMemsetNode(node, graph, behind, count, params, context);
}

static unsigned add_copy(CUgraphNode *node, CUgraph graph, const CUgraphNode *behind, size_t count,
                         const acu_CUDA_MEMCPY3D *params, CUcontext context)
{
    added.behind[added.count++ % 8] = count;
    return added.real.GraphAddMemcpyNode(node, graph, behind, count, params, context);
}

static void note_edges(acu_device *device, acu_op *op)
{
    acu_graph *graph = NULL;
    added.real = acui_raw;
    added.count = 0;
    acui_raw.GraphAddMemsetNode = add_fill;
    acui_raw.GraphAddMemcpyNode = add_copy;
    acu_status status = acu_graph_load(device, op, NULL, &graph);
    acui_raw = added.real;
    assert_works(status);
    acu_graph_release(graph);
}

/* One that overwrites what `then` comes behind, and one that has nothing to do with it. */
static acu_op *two_fills(void *user, acu_val *values, size_t count)
{
    assert_int_equal(count, 1);
    return acu_zip(acu_fill(acu_take(&values[0]), acu_u32(2)),
                   acu_fill((acu_tensor *)user, acu_u32(3)));
}

static void everything_in_a_then_comes_behind(void **state)
{
    (void)state;
    bed b = begin();
    note_edges(b.device, acu_then(acu_fill(b.x, acu_u32(1)), two_fills, b.z));
    assert_int_equal(added.count, 3);
    assert_int_equal(added.behind[0], 0);
    assert_int_equal(added.behind[1], 1);
    assert_int_equal(added.behind[2], 1);
    end(&b);
}

static void a_write_comes_behind_all_readers(void **state)
{
    (void)state;
    bed b = begin();
    acu_tensor *y = make(b.device, 3);
    note_edges(b.device, acu_zip(acu_copy(y, b.x), acu_copy(b.z, b.x), acu_fill(b.x, acu_u32(1))));
    assert_int_equal(added.count, 3);
    assert_int_equal(added.behind[0], 0);
    assert_int_equal(added.behind[1], 0);
    assert_int_equal(added.behind[2], 2);
    acu_tensor_release(y);
    end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replays_run_what_was_planned),
        cmocka_unit_test(inputs_are_updated_by_ops),
        cmocka_unit_test(tensors_of_the_op_are_made_once),
        cmocka_unit_test(cooperative_launches_are_replayed),
        cmocka_unit_test(branches_stay_branches),
        cmocka_unit_test(memory_that_is_to_come_is_awaited),
        cmocka_unit_test(graphs_are_ops_among_others),
        cmocka_unit_test(ops_with_several_users_are_replayed),
        cmocka_unit_test(what_a_graph_has_is_not_run_for_others),
        cmocka_unit_test(graphs_keep_what_they_need),
        cmocka_unit_test(replays_in_a_row_share_a_stream),
        cmocka_unit_test(threads_replay_one_graph),
        cmocka_unit_test(copies_of_any_layout_are_replayed),
        cmocka_unit_test(rows_are_updated_by_ops),
        cmocka_unit_test(what_a_graph_overwrites_is_no_input),
        cmocka_unit_test(calls_are_captured),
        cmocka_unit_test(calls_that_can_not_be_captured),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(what_is_behind_others_is_refused),
        cmocka_unit_test(several_devices_are_refused),
        cmocka_unit_test(failing_calls_are_told),
        cmocka_unit_test(what_a_graph_reads_and_overwrites_is_written),
        cmocka_unit_test(everything_in_a_then_comes_behind),
        cmocka_unit_test(a_write_comes_behind_all_readers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
