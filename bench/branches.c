/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Branches: eight independent chains of ten kernels, each of 20 us and a few blocks, as one
 * submission, composed with zip, and as eight submissions. Beside them: the same kernels on one
 * stream; one of the chains alone; and executable graphs set by hand, one graph with eight
 * branches, or eight on streams of their own.
 */
#include "harness/mix.h"
#include "harness/raw.h"

enum { CHAINS = 8, LENGTH = 10 };
static const double KERNEL_US = 20.0;

typedef struct subject {
    bench *b;
    mix *m;
    CUstream stream[CHAINS];
    raw_exec wide;            /* all chains side by side */
    raw_exec narrow[CHAINS];  /* one chain each */
    acu_policy *policy;       /* NULL: the device's own */
    bool fresh;               /* arguments differ from one sample to the next */
    uint32_t ticket;
} subject;

static uint32_t draw(subject *s)
{
    return s->fresh ? s->ticket++ : 5;
}

static void expect(subject *s, uint32_t ticket, int chains)
{
    for (int i = 0; i < chains; i++)
        mix_expect(s->m, i, ticket, LENGTH);
}

/* ---- one submission ---- */

static double zip_acuda(void *user)
{
    subject *s = user;
    acu_op *chains[CHAINS];
    uint32_t ticket = draw(s);
    double start = bench_now_us();
    for (int i = 0; i < CHAINS; i++)
        chains[i] = mix_chain(s->m, i, ticket, LENGTH);
    MUST(acu_sync(s->b->device, acu_op_zip(chains, CHAINS, ACU_SITE), NULL));
    double us = bench_now_us() - start;
    expect(s, ticket, CHAINS);
    return us;
}

static double one_stream(void *user)
{
    subject *s = user;
    uint32_t ticket = draw(s);
    double start = bench_now_us();
    for (int i = 0; i < CHAINS; i++)
        raw_chain(s->m, s->stream[0], i, ticket, LENGTH);
    MUST_CU(s->b->cu->StreamSynchronize(s->stream[0]));
    double us = bench_now_us() - start;
    expect(s, ticket, CHAINS);
    return us;
}

static double one_chain(void *user)
{
    subject *s = user;
    uint32_t ticket = draw(s);
    double start = bench_now_us();
    raw_chain(s->m, s->stream[0], 0, ticket, LENGTH);
    MUST_CU(s->b->cu->StreamSynchronize(s->stream[0]));
    double us = bench_now_us() - start;
    expect(s, ticket, 1);
    return us;
}

static double one_chain_exec(void *user)
{
    subject *s = user;
    uint32_t ticket = draw(s);
    double start = bench_now_us();
    if (s->fresh)
        raw_exec_set(s->m, &s->narrow[0], 0, 0, ticket);
    raw_exec_launch(s->m, &s->narrow[0], s->stream[0]);
    MUST_CU(s->b->cu->StreamSynchronize(s->stream[0]));
    double us = bench_now_us() - start;
    expect(s, ticket, 1);
    return us;
}

static double wide_exec(void *user)
{
    subject *s = user;
    uint32_t ticket = draw(s);
    double start = bench_now_us();
    for (int i = 0; s->fresh && i < CHAINS; i++)
        raw_exec_set(s->m, &s->wide, i, i, ticket);
    raw_exec_launch(s->m, &s->wide, s->stream[0]);
    MUST_CU(s->b->cu->StreamSynchronize(s->stream[0]));
    double us = bench_now_us() - start;
    expect(s, ticket, CHAINS);
    return us;
}

/* ---- eight submissions ---- */

static double separate_acuda(void *user)
{
    subject *s = user;
    acu_future *futures[CHAINS];
    acu_submit_options options = {.size = sizeof options, .policy = s->policy};
    uint32_t ticket = draw(s);
    double start = bench_now_us();
    for (int i = 0; i < CHAINS; i++)
        MUST(acu_submit(s->b->device, mix_chain(s->m, i, ticket, LENGTH), &options, &futures[i]));
    MUST(acu_wait_all(futures, CHAINS, ACU_FOREVER));
    double us = bench_now_us() - start;
    for (int i = 0; i < CHAINS; i++)
        acu_future_release(futures[i]);
    expect(s, ticket, CHAINS);
    return us;
}

static double separate_execs(void *user)
{
    subject *s = user;
    uint32_t ticket = draw(s);
    double start = bench_now_us();
    for (int i = 0; i < CHAINS; i++) {
        raw_exec_set(s->m, &s->narrow[i], 0, i, ticket);
        raw_exec_launch(s->m, &s->narrow[i], s->stream[i]);
    }
    for (int i = 0; i < CHAINS; i++)
        MUST_CU(s->b->cu->StreamSynchronize(s->stream[i]));
    double us = bench_now_us() - start;
    expect(s, ticket, CHAINS);
    return us;
}

/* ---- rows ---- */

/* With arguments that do not change, nothing is set again: it is set here, once. */
static void zip_row(subject *s, const char *what, bool fresh, double stream_goal, double chain_goal)
{
    s->fresh = fresh;
    if (!fresh) {
        bench_enter(s->b);
        raw_exec_set(s->m, &s->narrow[0], 0, 0, draw(s));
        for (int i = 0; i < CHAINS; i++)
            raw_exec_set(s->m, &s->wide, i, i, draw(s));
        bench_leave(s->b);
    }
    bench_row row = {.what = what,
                     .samples = 600,
                     .sides = {{"acuda", zip_acuda, s, 0, 0},
                               {"one stream, launches", one_stream, s, stream_goal, 1.25},
                               {"longest chain, launches", one_chain, s, chain_goal, 0},
                               {"longest chain, exec", one_chain_exec, s, chain_goal, 0},
                               {"hand-set branched exec", wide_exec, s, 1.15, 1.25}}};
    bench_compare(s->b, &row);
    mix_verify(s->m);
}

static void separate_row(subject *s, const char *what, acu_policy *policy, double goal)
{
    s->fresh = true;
    s->policy = policy;
    bench_row row = {.what = what,
                     .samples = 600,
                     .sides = {{"acuda", separate_acuda, s, 0, 0},
                               {"one stream, launches", one_stream, s, goal, goal > 0 ? 1.25 : 0},
                               {"hand-set execs, 8 streams", separate_execs, s, goal > 0 ? 1.15 : 0,
                                goal > 0 ? 1.25 : 0}}};
    bench_compare(s->b, &row);
    mix_verify(s->m);
}

static void open_raw(subject *s)
{
    bench_enter(s->b);
    s->wide = raw_exec_make(s->m, CHAINS, LENGTH);
    for (int i = 0; i < CHAINS; i++) {
        s->stream[i] = raw_stream(s->b);
        s->narrow[i] = raw_exec_make(s->m, 1, LENGTH);
    }
    bench_leave(s->b);
}

static void close_raw(subject *s)
{
    bench_enter(s->b);
    raw_exec_destroy(s->m, &s->wide);
    for (int i = 0; i < CHAINS; i++) {
        raw_exec_destroy(s->m, &s->narrow[i]);
        MUST_CU(s->b->cu->StreamDestroy(s->stream[i]));
    }
    bench_leave(s->b);
}

int main(int argc, char **argv)
{
    bench b = bench_open("branches", argc, argv, NULL);
    mix m = mix_open(&b, CHAINS);
    subject s = {.b = &b, .m = &m};
    acu_policy *eight;
    mix_calibrate(&m, KERNEL_US);
    MUST(acu_policy_round_robin(b.device, CHAINS, &eight));
    open_raw(&s);
    bench_title(&b, "8 independent chains of ten kernels of 20 us, as one submission");
    zip_row(&s, "zipped, arguments unchanged", false, 0.14, 1.05);
    zip_row(&s, "zipped, arguments new each time", true, 0.15, 1.20);
    bench_title(&b, "the same as 8 submissions of one form that share nothing");
    separate_row(&s, "8 submissions, a policy of 8 streams", eight, 0.16);
    separate_row(&s, "8 submissions, the device's own policy", NULL, 0);
    close_raw(&s);
    acu_policy_release(eight);
    mix_close(&m);
    return bench_close(&b);
}
