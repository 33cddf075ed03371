/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What partitions cost the host: launches of a kernel that takes two of them, which are checked
 * against each other and the grid and turned into parameters, beside launches of a kernel that
 * takes two tensors and a grid that the program worked out. Both are built and submitted, in
 * alternating bursts.
 *
 * And what the larger parameters cost the driver when they are ready: by cuLaunchKernel; by an
 * executable graph of one kernel that is set to them for each launch; and by a graph that is only
 * launched again. acuda does the last, or sets the graph where the parameters have changed.
 */
#include "harness/harness.h"

#include <acuda/tile.h>

#include <math.h>
#include <stdlib.h>

extern const char partition_ptx[];

enum { ROWS = 64, COLUMNS = 64, N = ROWS * COLUMNS, TILE = 16, BURST = 50, MOST = 2000 };

/* A launch by the driver's calls, and a graph of it. */
typedef struct twin {
    acu_tile_param tile_y, tile_x;
    CUdeviceptr y, x;
    float a;
    int n;
    void *params[4]; /* of these */
    acu_CUDA_KERNEL_NODE_PARAMS_v1 node;
    CUgraph graph;
    CUgraphNode in_graph;
    CUgraphExec exec;
} twin;

typedef struct subject {
    bench *b;
    acu_kernel *tiles, *plain;
    acu_tensor *x, *y[2]; /* of the two kernels */
    twin twins[2];        /* the same */
    CUstream stream;
    acu_stream *used; /* by all submissions: no waits between streams */
} subject;

/* Each way is measured with partitions, and with tensors or pointers. */
typedef enum way { ACUDA, BY_LAUNCH, BY_SET, BY_EXEC, WAYS } way;

static double samples[WAYS][2][MOST];

/* ---- one burst of each ----------------------------------------------------------------------- */

static acu_op *build(const subject *s, bool partitions)
{
    if (partitions) {
        acu_shape tile = ACU_SHAPE(TILE, TILE);
        return acu_launch(s->tiles, ACU_BLOCK(64), acu_out(acu_partition(s->y[0], tile)),
                          acu_f32(2), acu_in(acu_partition(s->x, tile)));
    }
    acu_config config = ACU_GRID_BLOCK((N + 63) / 64, 1, 1, 64, 1, 1);
    return acu_launch(s->plain, config, acu_out(s->y[1]), acu_f32(2), acu_in(s->x), acu_i32(N));
}

/* Microseconds of the host's, for each launch. */
static double acuda_burst(const subject *s, bool partitions)
{
    acu_submit_options options = {.size = sizeof options, .stream = s->used};
    acu_future *last = NULL;
    double start = bench_now_us();
    for (int i = 0; i < BURST; i++)
        MUST(acu_submit(s->b->device, build(s, partitions), &options,
                        i + 1 < BURST ? NULL : &last));
    double us = bench_now_us() - start;
    MUST(acu_future_wait(last, ACU_FOREVER));
    acu_future_release(last);
    return us / BURST;
}

static void raw_launch(const subject *s, const twin *t, way how)
{
    const acu_driver_table *cu = s->b->cu;
    const acu_CUDA_KERNEL_NODE_PARAMS_v1 *p = &t->node;
    if (how == BY_LAUNCH) {
        MUST_CU(cu->LaunchKernel(p->func, p->gridDimX, p->gridDimY, 1, p->blockDimX, 1, 1, 0,
                                 s->stream, p->kernelParams, NULL));
        return;
    }
    if (how == BY_SET)
        MUST_CU(cu->GraphExecKernelNodeSetParams(t->exec, t->in_graph, p));
    MUST_CU(cu->GraphLaunch(t->exec, s->stream));
}

static double raw_burst(const subject *s, way how, bool partitions)
{
    const twin *t = &s->twins[!partitions];
    bench_enter(s->b);
    double start = bench_now_us();
    for (int i = 0; i < BURST; i++)
        raw_launch(s, t, how);
    double us = bench_now_us() - start;
    MUST_CU(s->b->cu->StreamSynchronize(s->stream));
    bench_leave(s->b);
    return us / BURST;
}

/* The two variants of a way take turns in being the first, since the first finds the caches as the
 * other way left them. */
static void run(const subject *s, int rounds)
{
    for (int r = 0; r < rounds; r++)
        for (way how = ACUDA; how < WAYS; how++)
            for (int turn = 0; turn < 2; turn++) {
                int tensors = (turn + r) % 2;
                samples[how][tensors][r] =
                    how == ACUDA ? acuda_burst(s, !tensors) : raw_burst(s, how, !tensors);
            }
}

/* ---- what it works on ------------------------------------------------------------------------ */

static acu_tile_param tile_of(const acu_tensor *t)
{
    acu_tile_param p = {.data = acu_tensor_address(t),
                        .rank = 2,
                        .element_bytes = 4,
                        .shape = {ROWS, COLUMNS, 1},
                        .stride = {COLUMNS, 1, 0},
                        .tile = {TILE, TILE, 1},
                        .tiles = {ROWS / TILE, COLUMNS / TILE, 1}};
    return p;
}

/* In place: it has addresses of its own. */
static void open_twin(const subject *s, twin *t, bool partitions)
{
    const acu_driver_table *cu = s->b->cu;
    const acu_tensor *y = s->y[!partitions];
    *t = (twin){.tile_y = tile_of(y), .tile_x = tile_of(s->x), .a = 2, .n = N};
    t->y = acu_tensor_address(y);
    t->x = acu_tensor_address(s->x);
    t->params[0] = partitions ? (void *)&t->tile_y : &t->y;
    t->params[1] = &t->a;
    t->params[2] = partitions ? (void *)&t->tile_x : &t->x;
    t->params[3] = &t->n;
    t->node = (acu_CUDA_KERNEL_NODE_PARAMS_v1){
        .func = acu_kernel_raw(partitions ? s->tiles : s->plain),
        .gridDimX = partitions ? COLUMNS / TILE : (N + 63) / 64,
        .gridDimY = partitions ? ROWS / TILE : 1,
        .gridDimZ = 1,
        .blockDimX = 64,
        .blockDimY = 1,
        .blockDimZ = 1,
        .kernelParams = t->params};
    MUST_CU(cu->GraphCreate(&t->graph, 0));
    MUST_CU(cu->GraphAddKernelNode(&t->in_graph, t->graph, NULL, 0, &t->node));
    MUST_CU(cu->GraphInstantiateWithFlags(&t->exec, t->graph, 0));
}

static void close_twin(const subject *s, twin *t)
{
    MUST_CU(s->b->cu->GraphExecDestroy(t->exec));
    MUST_CU(s->b->cu->GraphDestroy(t->graph));
}

static void open_subject(subject *s, bench *b)
{
    acu_shape shape = ACU_SHAPE(ROWS, COLUMNS);
    *s = (subject){.b = b};
    s->tiles = bench_kernel(b, partition_ptx, "tiles");
    s->plain = bench_kernel(b, partition_ptx, "plain");
    MUST(acu_sync(b->device, acu_full(shape, acu_f32(3)), &s->x));
    for (int i = 0; i < 2; i++)
        MUST(acu_sync(b->device, acu_zeros(ACU_F32, shape), &s->y[i]));
    MUST(acu_stream_create(b->device, 0, &s->used));
    bench_enter(b);
    MUST_CU(b->cu->StreamCreate(&s->stream, ACU_CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 2; i++)
        open_twin(s, &s->twins[i], i == 0);
    bench_leave(b);
}

static void close_subject(subject *s)
{
    for (int i = 0; i < 2; i++) {
        static float out[N];
        MUST(acu_read_sync(s->y[i], out, sizeof out));
        for (int k = 0; k < N; k++)
            if (out[k] != 6)
                bench_wrong("element %d of result %d is %g, not 6", k, i, (double)out[k]);
        acu_tensor_release(s->y[i]);
    }
    acu_tensor_release(s->x);
    bench_enter(s->b);
    for (int i = 0; i < 2; i++)
        close_twin(s, &s->twins[i]);
    MUST_CU(s->b->cu->StreamDestroy(s->stream));
    bench_leave(s->b);
    acu_stream_release(s->used);
    acu_kernel_release(s->tiles);
    acu_kernel_release(s->plain);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Both variants, and by how much the first takes longer. */
static void report(bench *b, way how, int rounds, double goal)
{
    static const char *const names[WAYS][3] = {
        {"a launch with two partitions, host's share",
         "a launch with two tensors and a grid, host's share", "what partitions cost, acuda"},
        {"cuLaunchKernel with two partitions' parameters", "cuLaunchKernel with two pointers",
         "what their parameters cost, cuLaunchKernel"},
        {"a graph set to two partitions' parameters, and launched",
         "a graph set to two pointers, and launched", "what their parameters cost, set, launched"},
        {"a graph with two partitions' parameters, launched again",
         "a graph with two pointers, launched again",
         "what their parameters cost, launched again"}};
    double p50[2];
    for (int k = 0; k < 2; k++) {
        qsort(samples[how][k], (size_t)rounds, sizeof(double), by_value);
        p50[k] = bench_percentile(samples[how][k], rounds, 50);
        bench_at_most(b, names[how][k], "us", p50[k], NAN);
    }
    bench_at_most(b, names[how][2], "us", p50[0] - p50[1], goal);
}

int main(int argc, char **argv)
{
    static subject s; /* twins have addresses of it */
    bench b = bench_open("partition", argc, argv, NULL);
    int rounds = bench_count(&b, 400, 2);
    bench_title(&b, "partitions, checked on the host");
    open_subject(&s, &b);
    run(&s, bench_count(&b, 20, 1)); /* warm */
    run(&s, rounds);
    for (way how = ACUDA; how < WAYS; how++)
        report(&b, how, rounds, how == ACUDA ? 0.15 : NAN);
    close_subject(&s);
    return bench_close(&b);
}
