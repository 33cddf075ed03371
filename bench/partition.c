/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What partitions cost the host: launches of a kernel that takes two of them, checked against each
 * other and the grid and made into parameters, beside launches of one that takes two tensors and a
 * grid that the program worked out; built and submitted, bursts of both in turn. And both kernels
 * by cuLaunchKernel, with parameters that are ready.
 */
#include "harness/harness.h"

#include <acuda/tile.h>

#include <math.h>
#include <stdlib.h>

extern const char partition_ptx[];

enum { ROWS = 64, COLUMNS = 64, N = ROWS * COLUMNS, TILE = 16, BURST = 50, MOST = 2000 };

typedef struct subject {
    bench *b;
    acu_kernel *tiles, *plain;
    acu_tensor *x, *y[2]; /* of the two kernels */
    CUfunction raw_tiles, raw_plain;
    CUstream stream;
    acu_tile_param tile_y, tile_x;
    acu_stream *used; /* by all submissions: no waits between streams */
} subject;

typedef enum side { PARTITIONS, TENSORS, RAW_PARTITIONS, RAW_TENSORS, SIDES } side;

static double samples[SIDES][MOST];

/* ---- one burst of each ----------------------------------------------------------------------- */

static acu_op *build(const subject *s, side which)
{
    if (which == PARTITIONS) {
        acu_shape tile = ACU_SHAPE(TILE, TILE);
        return acu_launch(s->tiles, ACU_BLOCK(64), acu_out(acu_partition(s->y[0], tile)),
                          acu_f32(2), acu_in(acu_partition(s->x, tile)));
    }
    acu_config config = ACU_GRID_BLOCK((N + 63) / 64, 1, 1, 64, 1, 1);
    return acu_launch(s->plain, config, acu_out(s->y[1]), acu_f32(2), acu_in(s->x), acu_i32(N));
}

/* Microseconds of the host's, for each launch. */
static double acuda_burst(const subject *s, side which)
{
    acu_submit_options options = {.size = sizeof options, .stream = s->used};
    acu_future *last = NULL;
    double start = bench_now_us();
    for (int i = 0; i < BURST; i++)
        MUST(acu_submit(s->b->device, build(s, which), &options, i + 1 < BURST ? NULL : &last));
    double us = bench_now_us() - start;
    MUST(acu_future_wait(last, ACU_FOREVER));
    acu_future_release(last);
    return us / BURST;
}

static double raw_burst(const subject *s, side which)
{
    const acu_driver_table *cu = s->b->cu;
    float a = 2;
    int n = N;
    CUdeviceptr y = acu_tensor_address(s->y[1]), x = acu_tensor_address(s->x);
    acu_tile_param ty = s->tile_y, tx = s->tile_x;
    void *tiles[] = {&ty, &a, &tx}, *plain[] = {&y, &a, &x, &n};
    bool partitions = which == RAW_PARTITIONS;
    unsigned gx = partitions ? COLUMNS / TILE : (N + 63) / 64, gy = partitions ? ROWS / TILE : 1;
    double start = bench_now_us();
    for (int i = 0; i < BURST; i++)
        MUST_CU(cu->LaunchKernel(partitions ? s->raw_tiles : s->raw_plain, gx, gy, 1, 64, 1, 1, 0,
                                 s->stream, partitions ? tiles : plain, NULL));
    double us = bench_now_us() - start;
    MUST_CU(cu->StreamSynchronize(s->stream));
    return us / BURST;
}

static void run(subject *s, int rounds)
{
    for (int r = 0; r < rounds; r++)
        for (side k = PARTITIONS; k < SIDES; k++) {
            if (k == RAW_PARTITIONS)
                bench_enter(s->b);
            samples[k][r] = k < RAW_PARTITIONS ? acuda_burst(s, k) : raw_burst(s, k);
            if (k == RAW_TENSORS)
                bench_leave(s->b);
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

static subject open_subject(bench *b)
{
    subject s = {.b = b};
    acu_shape shape = ACU_SHAPE(ROWS, COLUMNS);
    s.tiles = bench_kernel(b, partition_ptx, "tiles");
    s.plain = bench_kernel(b, partition_ptx, "plain");
    s.raw_tiles = acu_kernel_raw(s.tiles);
    s.raw_plain = acu_kernel_raw(s.plain);
    MUST(acu_sync(b->device, acu_full(shape, acu_f32(3)), &s.x));
    for (int i = 0; i < 2; i++)
        MUST(acu_sync(b->device, acu_zeros(ACU_F32, shape), &s.y[i]));
    MUST(acu_stream_create(b->device, 0, &s.used));
    bench_enter(b);
    MUST_CU(b->cu->StreamCreate(&s.stream, ACU_CU_STREAM_NON_BLOCKING));
    bench_leave(b);
    s.tile_y = tile_of(s.y[0]);
    s.tile_x = tile_of(s.x);
    return s;
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

int main(int argc, char **argv)
{
    static const char *const names[] = {"a launch with two partitions, host's share",
                                        "a launch with two tensors and a grid, host's share",
                                        "cuLaunchKernel with two partitions' parameters",
                                        "cuLaunchKernel with two pointers"};
    bench b = bench_open("partition", argc, argv, NULL);
    subject s = open_subject(&b);
    int rounds = bench_count(&b, 400, 2);
    double p50[SIDES];
    bench_title(&b, "partitions, checked on the host");
    run(&s, bench_count(&b, 20, 1)); /* warm */
    run(&s, rounds);
    for (side k = PARTITIONS; k < SIDES; k++) {
        qsort(samples[k], (size_t)rounds, sizeof *samples[k], by_value);
        p50[k] = bench_percentile(samples[k], rounds, 50);
        bench_at_most(&b, names[k], "us", p50[k], NAN);
    }
    bench_at_most(&b, "what partitions cost, acuda", "us", p50[PARTITIONS] - p50[TENSORS], 0.15);
    bench_at_most(&b, "what their parameters cost, cuLaunchKernel", "us",
                  p50[RAW_PARTITIONS] - p50[RAW_TENSORS], NAN);
    close_subject(&s);
    return bench_close(&b);
}
