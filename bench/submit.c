/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Submit: chains of 1, 10 and 100 small kernels with other arguments each time, every scalar and
 * tensor of them. They are built, submitted and waited for; queued back to back; and measured for
 * the host's share, and in forms that were never seen before. Beside them the same launches by the
 * driver's calls on one stream: by cuLaunchKernel, and by an executable graph whose nodes are set
 * one by one. Where they are waited for, that graph is also launched without setting anything: the
 * least that the driver takes, whatever a library does.
 */
#include "harness/mix.h"
#include "harness/raw.h"

#include <math.h>
#include <stdlib.h>

enum { YS = 8, QUEUED = 200, MOST_FORMS = 1200 };

typedef acu_op *(*compose_fn)(const mix *m, int y, uint32_t ticket, int count);

/* What a sample of any side looks at. */
typedef struct subject {
    bench *b;
    mix *m;
    CUstream stream;
    raw_exec exec; /* of `kernels` */
    int kernels;
    compose_fn compose;
    int queued;
    bool futures; /* of queued submissions are kept and waited for */
    mix_forms forms;
    uint32_t ticket, form;
    uint32_t set; /* the ticket that the exec is set to */
} subject;

static int y_of(uint32_t ticket)
{
    return (int)(ticket % YS);
}

/* ---- the twins: the same kernels by hand; inlined, so that nothing comes on top ---- */

typedef void put_fn(const subject *s, int y, uint32_t ticket);

static inline void put_launches(const subject *s, int y, uint32_t ticket)
{
    raw_chain(s->m, s->stream, y, ticket, s->kernels);
}

static inline void put_exec(const subject *s, int y, uint32_t ticket)
{
    raw_exec_set(s->m, &s->exec, 0, y, ticket);
    raw_exec_launch(s->m, &s->exec, s->stream);
}

/* Microseconds until the launches are waited for, or else until the host has submitted them. */
static inline double by_hand(subject *s, put_fn *put, bool waited)
{
    uint32_t ticket = s->ticket++;
    int y = y_of(ticket);
    double start = bench_now_us(), us = 0;
    put(s, y, ticket);
    if (!waited)
        us = bench_now_us() - start;
    MUST_CU(s->b->cu->StreamSynchronize(s->stream));
    if (waited)
        us = bench_now_us() - start;
    mix_expect(s->m, y, ticket, s->kernels);
    return us;
}

/* ---- submit to waited ---- */

static double waited_acuda(void *user)
{
    subject *s = user;
    uint32_t ticket = s->ticket++;
    int y = y_of(ticket);
    double start = bench_now_us();
    MUST(acu_sync(s->b->device, s->compose(s->m, y, ticket, s->kernels), NULL));
    double us = bench_now_us() - start;
    mix_expect(s->m, y, ticket, s->kernels);
    return us;
}

static double waited_launches(void *user)
{
    return by_hand(user, put_launches, true);
}

static double waited_exec(void *user)
{
    subject *s = user;
    s->set = s->ticket;
    return by_hand(s, put_exec, true);
}

/* ---- the host's share, for each kernel ---- */

static double host_acuda(void *user)
{
    subject *s = user;
    acu_future *future;
    uint32_t ticket = s->ticket++;
    int y = y_of(ticket);
    double start = bench_now_us();
    MUST(acu_submit(s->b->device, s->compose(s->m, y, ticket, s->kernels), NULL, &future));
    double us = bench_now_us() - start;
    MUST(acu_future_wait(future, ACU_FOREVER));
    acu_future_release(future);
    mix_expect(s->m, y, ticket, s->kernels);
    return us / s->kernels;
}

static double host_launches(void *user)
{
    subject *s = user;
    return by_hand(s, put_launches, false) / s->kernels;
}

static double host_exec(void *user)
{
    subject *s = user;
    return by_hand(s, put_exec, false) / s->kernels;
}

/* ---- queued back to back, for each submission ---- */

static void expect_queued(subject *s)
{
    for (int i = 0; i < s->queued; i++, s->ticket++)
        mix_expect(s->m, y_of(s->ticket), s->ticket, s->kernels);
}

static double queued_acuda(void *user)
{
    subject *s = user;
    acu_future *futures[QUEUED];
    double start = bench_now_us();
    for (uint32_t i = 0; i < (uint32_t)s->queued; i++) {
        uint32_t ticket = s->ticket + i;
        acu_op *op = s->compose(s->m, y_of(ticket), ticket, s->kernels);
        MUST(acu_submit(s->b->device, op, NULL, s->futures ? &futures[i] : NULL));
    }
    if (s->futures)
        MUST(acu_wait_all(futures, (size_t)s->queued, ACU_FOREVER));
    else
        MUST(acu_device_wait(s->b->device, ACU_FOREVER));
    for (int i = 0; s->futures && i < s->queued; i++)
        acu_future_release(futures[i]);
    double us = bench_now_us() - start;
    expect_queued(s);
    return us / s->queued;
}

static inline double queued_by_hand(subject *s, put_fn *put)
{
    double start = bench_now_us();
    for (uint32_t i = 0; i < (uint32_t)s->queued; i++)
        put(s, y_of(s->ticket + i), s->ticket + i);
    MUST_CU(s->b->cu->StreamSynchronize(s->stream));
    double us = bench_now_us() - start;
    expect_queued(s);
    return us / s->queued;
}

static double queued_launches(void *user)
{
    return queued_by_hand(user, put_launches);
}

static double queued_exec(void *user)
{
    return queued_by_hand(user, put_exec);
}

/* ---- forms that were never seen: other kernels in another order each time ---- */

static acu_kernel *form_kernel(const subject *s, uint32_t form, int i)
{
    uint32_t h = (form * 0x9e3779b9u ^ (uint32_t)i * 0x85ebca6bu) * 0x7feb352du;
    uint32_t which = s->kernels == 1 ? form : h >> 7;
    return s->forms.kernels[which % (uint32_t)s->forms.count];
}

static double form_acuda(void *user)
{
    subject *s = user;
    acu_op *ops[MIX_MOST_CHAIN];
    uint32_t ticket = s->ticket++, form = s->form++;
    int y = y_of(ticket);
    mix_args a;
    if (s->kernels == 1 && form >= (uint32_t)s->forms.count)
        bench_die("there are too few kernels for so many forms");
    double start = bench_now_us();
    for (int i = 0; i < s->kernels; i++) {
        mix_fill(s->m, &a, y, ticket, i);
        ops[i] = acu_launch(form_kernel(s, form, i), acu_for_num_elems(MIX_N),
                            acu_inout(s->m->y[y]), acu_in(s->m->x[a.x_index]), acu_u32(a.a),
                            acu_u32(a.n));
    }
    MUST(acu_sync(s->b->device, acu_op_zip(ops, (size_t)s->kernels, ACU_SITE), NULL));
    double us = bench_now_us() - start;
    mix_expect(s->m, y, ticket, s->kernels);
    return us;
}

static double form_launches(void *user)
{
    subject *s = user;
    uint32_t ticket = s->ticket++;
    int y = y_of(ticket);
    mix_args a;
    double start = bench_now_us();
    for (int i = 0; i < s->kernels; i++) {
        mix_fill(s->m, &a, y, ticket, i);
        raw_launch(s->m, s->stream, acu_kernel_raw(form_kernel(s, ticket, i)), &a);
    }
    MUST_CU(s->b->cu->StreamSynchronize(s->stream));
    double us = bench_now_us() - start;
    mix_expect(s->m, y, ticket, s->kernels);
    return us;
}

/* Launches each kernel once by hand, so that none is new to the driver: only forms are new, to
 * acuda. */
static void touch_forms(subject *s)
{
    bench_enter(s->b);
    for (int i = 0; i < s->forms.count; i++) {
        mix_args a;
        uint32_t ticket = s->ticket++;
        mix_fill(s->m, &a, 0, ticket, 0);
        raw_launch(s->m, s->stream, acu_kernel_raw(s->forms.kernels[i]), &a);
        mix_expect(s->m, 0, ticket, 1);
    }
    MUST_CU(s->b->cu->StreamSynchronize(s->stream));
    bench_leave(s->b);
}

/* ---- rows ---- */

/* A row of all three; `goal` is acuda's over the launches. */
static void compare(subject *s, bench_row row, const bench_sample_fn samples[3], double goal)
{
    row.sides[0] = (bench_side){"acuda", samples[0], s, 0, 0};
    row.sides[1] = (bench_side){"launches", samples[1], s, goal, 1.25};
    row.sides[2] = (bench_side){"hand-set exec", samples[2], s, 1.15, 1.25};
    bench_compare(s->b, &row);
}

static void with_kernels(subject *s, int kernels)
{
    bench_enter(s->b);
    if (s->kernels)
        raw_exec_destroy(s->m, &s->exec);
    s->kernels = kernels;
    if (kernels)
        s->exec = raw_exec_make(s->m, 1, kernels);
    bench_leave(s->b);
}

/* A row of its own: as a side it would make acuda wait longer for its turn. */
static void unchanged_row(subject *s, int samples)
{
    static double us[BENCH_MOST_SAMPLES];
    int count = bench_count(s->b, samples, 5);
    bench_enter(s->b);
    for (int i = -10; i < count; i++) {
        double start = bench_now_us();
        raw_exec_launch(s->m, &s->exec, s->stream);
        MUST_CU(s->b->cu->StreamSynchronize(s->stream));
        if (i >= 0)
            us[i] = bench_now_us() - start;
        mix_expect(s->m, y_of(s->set), s->set, s->kernels);
    }
    bench_leave(s->b);
    bench_at_most(s->b, "  the exec launched as it is, nothing set, and waited for", "us",
                  bench_percentile(us, count, 50), NAN);
}

static void waited_rows(subject *s)
{
    static const struct {
        int kernels, samples;
        double goal;
        compose_fn compose;
        const char *what;
    } rows[] = {
        {1, 4000, 0.85, mix_chain, "1 kernel, submit to waited"},
        {10, 2000, 0.55, mix_chain, "10 kernels, zipped, submit to waited"},
        {10, 2000, 0.55, mix_nested, "10 kernels, each on the result before, submit to waited"},
        {100, 1000, 0.45, mix_chain, "100 kernels, zipped, submit to waited"},
        {100, 1000, 0.45, mix_nested, "100 kernels, each on the result before, submit to waited"},
    };
    static const bench_sample_fn sides[] = {waited_acuda, waited_launches, waited_exec};
    bench_title(s->b, "one submission at a time, new arguments each time");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        with_kernels(s, rows[i].kernels);
        s->compose = rows[i].compose;
        bench_row row = {.what = rows[i].what, .samples = rows[i].samples};
        compare(s, row, sides, rows[i].goal);
        unchanged_row(s, rows[i].samples / 4);
    }
}

static void host_rows(subject *s)
{
    static const struct { int kernels; const char *what; } rows[] = {
        {10, "chain of 10, host time to build and submit, per kernel"},
        {100, "chain of 100, host time to build and submit, per kernel"},
    };
    static const bench_sample_fn sides[] = {host_acuda, host_launches, host_exec};
    bench_title(s->b, "the host's share, per kernel");
    s->compose = mix_chain;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        with_kernels(s, rows[i].kernels);
        bench_row row = {.what = rows[i].what, .samples = 1000};
        compare(s, row, sides, 0.30);
    }
}

static void queued_rows(subject *s)
{
    static const struct {
        int kernels, samples;
        bool futures;
        double goal;
        const char *what;
    } rows[] = {
        {10, 200, true, 0.38, "10 kernels, 200 queued, each with its future, per submission"},
        {10, 200, false, 0.38, "10 kernels, 200 queued, no futures, per submission"},
        {100, 40, true, 0.32, "100 kernels, 200 queued, each with its future, per submission"},
        {100, 40, false, 0.32, "100 kernels, 200 queued, no futures, per submission"},
    };
    static const bench_sample_fn sides[] = {queued_acuda, queued_launches, queued_exec};
    bench_title(s->b, "200 submissions back to back, new arguments each time");
    s->compose = mix_chain;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        with_kernels(s, rows[i].kernels);
        s->futures = rows[i].futures;
        bench_row row = {.what = rows[i].what, .samples = rows[i].samples, .warm = 10};
        compare(s, row, sides, rows[i].goal);
    }
}

static void form_rows(subject *s)
{
    static const struct { int kernels; const char *what; } rows[] = {
        {1, "1 kernel, a form never seen"},
        {10, "10 kernels, a form never seen"},
        {100, "100 kernels, a form never seen"},
    };
    bench_title(s->b, "every submission another form, submit to waited");
    s->forms = mix_forms_load(s->m, bench_count(s->b, MOST_FORMS, 64));
    touch_forms(s);
    with_kernels(s, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        s->kernels = rows[i].kernels;
        s->form = 0;
        bench_row row = {.what = rows[i].what,
                         .samples = 1000,
                         .warm = 100,
                         .sides = {{"acuda", form_acuda, s, 0, 0},
                                   {"launches", form_launches, s, 1.10, 1.25}}};
        bench_compare(s->b, &row);
        mix_verify(s->m);
    }
    s->kernels = 0;
    mix_forms_release(&s->forms);
}

int main(int argc, char **argv)
{
    bench b = bench_open("submit", argc, argv, NULL);
    mix m = mix_open(&b, YS);
    subject s = {.b = &b, .m = &m, .queued = bench_count(&b, QUEUED, 10)};
    bench_enter(&b);
    s.stream = raw_stream(&b);
    bench_leave(&b);
    waited_rows(&s);
    mix_verify(&m);
    host_rows(&s);
    queued_rows(&s);
    mix_verify(&m);
    form_rows(&s);
    bench_enter(&b);
    MUST_CU(b.cu->StreamDestroy(s.stream));
    bench_leave(&b);
    mix_close(&m);
    return bench_close(&b);
}
