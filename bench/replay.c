/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Replay: an explicit graph of 1, 100 and 1000 kernels in a chain, replayed and waited for, beside
 * cuGraphLaunch of the same graph made by hand and cuStreamSynchronize. Both work on the same
 * tensor.
 */
#include "harness/mix.h"
#include "harness/raw.h"

#include <stdlib.h>

enum { Y, TICKET = 0, YS };

typedef struct subject {
    bench *b;
    mix *m;
    CUstream stream;
    acu_graph *graph;
    raw_exec exec;
    int kernels;
} subject;

static double replay_acuda(void *user)
{
    subject *s = user;
    double start = bench_now_us();
    MUST(acu_sync(s->b->device, acu_replay(s->graph), NULL));
    double us = bench_now_us() - start;
    mix_expect(s->m, Y, TICKET, s->kernels);
    return us;
}

static double replay_raw(void *user)
{
    subject *s = user;
    double start = bench_now_us();
    raw_exec_launch(s->m, &s->exec, s->stream);
    MUST_CU(s->b->cu->StreamSynchronize(s->stream));
    double us = bench_now_us() - start;
    mix_expect(s->m, Y, TICKET, s->kernels);
    return us;
}

static acu_graph *load(const subject *s)
{
    acu_graph *graph;
    acu_op **ops = malloc((size_t)s->kernels * sizeof(acu_op *));
    if (!ops)
        bench_die("no memory");
    for (int i = 0; i < s->kernels; i++)
        ops[i] = mix_launch(s->m, Y, TICKET, i);
    MUST(acu_graph_load(s->b->device, acu_op_zip(ops, (size_t)s->kernels, ACU_SITE), NULL, &graph));
    free(ops);
    return graph;
}

static void row(subject *s, int kernels, const char *what)
{
    s->kernels = kernels;
    s->graph = load(s);
    bench_enter(s->b);
    s->exec = raw_exec_make(s->m, 1, kernels);
    raw_exec_set(s->m, &s->exec, 0, Y, TICKET);
    bench_leave(s->b);
    bench_row r = {.what = what,
                   .samples = kernels > 100 ? 500 : 2000,
                   .sides = {{"acuda", replay_acuda, s, 0, 0},
                             {"cuGraphLaunch + synchronize", replay_raw, s, 1.03, 1.25}}};
    bench_compare(s->b, &r);
    bench_enter(s->b);
    raw_exec_destroy(s->m, &s->exec);
    bench_leave(s->b);
    acu_graph_release(s->graph);
    mix_verify(s->m);
}

int main(int argc, char **argv)
{
    bench b = bench_open("replay", argc, argv, NULL);
    mix m = mix_open(&b, YS);
    subject s = {.b = &b, .m = &m};
    bench_enter(&b);
    s.stream = raw_stream(&b);
    bench_leave(&b);
    bench_title(&b, "explicit graphs, replayed and waited for");
    row(&s, 1, "1 kernel");
    row(&s, 100, "100 kernels in a chain");
    row(&s, 1000, "1000 kernels in a chain");
    bench_enter(&b);
    MUST_CU(b.cu->StreamDestroy(s.stream));
    bench_leave(&b);
    mix_close(&m);
    return bench_close(&b);
}
