/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Large: submissions of very many ops, from composing them until all is over and forgotten. What an
 * op costs does not depend on how many there are: for each kind of composition, processor time of
 * one submission of 100,000 ops over that of a hundred of 1,000. It may be a few times as much, as
 * what it takes is in no cache. On the host; so the software device will do.
 */
#include "harness/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TENSORS = 16, WORDS = 64, SUBMISSIONS = 100 };

typedef struct subject {
    bench *b;
    acu_tensor *tensors[TENSORS], *whole; /* `whole` is cut into slices */
    acu_op **ops, **kept; /* room for `most`; what is kept is released at the end */
    acu_future *futures[SUBMISSIONS];
    int most;
} subject;

static acu_op *fill(const subject *s, int i)
{
    return acu_fill(s->tensors[i % TENSORS], acu_u32((uint32_t)i));
}

static acu_status do_nothing(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_OK;
}

static acu_status do_fail(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_ERR_IO;
}

static acu_op *host(acu_host_fn fn)
{
    return acu_op_host(fn, ACU_USER(NULL), NULL, 0, ACU_SITE);
}

static acu_op *zip(const subject *s, int count)
{
    return acu_op_zip(s->ops, (size_t)count, ACU_SITE);
}

/* ---- compositions of `count` ops ---- */

static acu_op *side_by_side(const subject *s, int count)
{
    for (int i = 0; i < count; i++)
        s->ops[i] = fill(s, i);
    return zip(s, count);
}

static void make_slices(const subject *s, int count)
{
    for (int i = 0; i < count; i++)
        s->ops[i] = acu_fill(acu_slice(s->whole, ACU_SHAPE((int64_t)i * WORDS),
                                       ACU_SHAPE((int64_t)(i + 1) * WORDS)), acu_u32(1));
}

static acu_op *slices(const subject *s, int count)
{
    make_slices(s, count);
    return zip(s, count);
}

static acu_op *alternatives(const subject *s, int count)
{
    for (int i = 0; i < count; i++)
        s->ops[i] = acu_or_else(fill(s, i), fill(s, i));
    return zip(s, count);
}

static acu_op *alternatives_taken(const subject *s, int count)
{
    for (int i = 0; i < count; i++)
        s->ops[i] = acu_or_else(host(do_fail), host(do_nothing));
    return zip(s, count);
}

static acu_op *one_with_many_users(const subject *s, int count)
{
    acu_op *x = s->kept[0] = fill(s, 0);
    for (int i = 0; i < count; i++)
        s->ops[i] = acu_or_else(acu_op_retain(x), fill(s, i));
    return zip(s, count);
}

static acu_op *nested(const subject *s, int count)
{
    acu_op *x = fill(s, 0);
    for (int i = 1; i < count; i++)
        x = acu_last(acu_zip(x, fill(s, i)));
    return x;
}

static acu_op *nested_and_kept(const subject *s, int count)
{
    acu_op *x = fill(s, 0);
    for (int i = 1; i < count; i++) {
        s->kept[i] = acu_op_retain(x);
        x = acu_last(acu_zip(x, fill(s, i)));
    }
    return x;
}

static acu_op *nested_alternatives(const subject *s, int count)
{
    acu_op *x = fill(s, 0);
    for (int i = 1; i < count; i++)
        x = acu_or_else(x, fill(s, i));
    return x;
}

static acu_op *nested_finally(const subject *s, int count)
{
    acu_op *x = fill(s, 0);
    for (int i = 1; i < count; i++)
        x = acu_finally(x, fill(s, i));
    return x;
}

static acu_op *one_after_the_other(const subject *s, int count)
{
    acu_op *x = fill(s, 0);
    for (int i = 1; i < count; i++)
        x = acu_after(fill(s, i), x);
    return x;
}

static acu_op *all_behind_one(const subject *s, int count)
{
    acu_op *x = fill(s, 0);
    for (int i = 1; i < count; i++)
        s->ops[i] = acu_after(fill(s, i), acu_op_retain(x));
    s->ops[0] = x;
    return zip(s, count);
}

static acu_op *one_behind_all(const subject *s, int count)
{
    return acu_after(fill(s, 0), side_by_side(s, count));
}

/* An op that is used by many ops inside of each other. */
static acu_op *used_at_each_depth(const subject *s, int count)
{
    acu_op *first = fill(s, 0), *x = acu_op_retain(first);
    for (int i = 1; i < count; i++) {
        s->kept[i] = acu_op_retain(x);
        x = acu_last(acu_zip(acu_op_retain(first), x));
    }
    s->kept[0] = first;
    return x;
}

/* Ops that an earlier submission planned, all of which come before what uses their values. */
static acu_op *use_all(void *user, acu_val *values, size_t count)
{
    const subject *s = user;
    for (size_t i = 0; i < count; i++)
        s->ops[i] = acu_fill(values[i].tensor, acu_u32(2));
    return zip(s, (int)count);
}

static acu_op *planned_before(const subject *s, int count)
{
    make_slices(s, count);
    for (int i = 0; i < count; i++)
        s->kept[i] = acu_op_retain(s->ops[i]);
    MUST(acu_submit(s->b->device, zip(s, count), NULL, NULL));
    for (int i = 0; i < count; i++)
        s->ops[i] = acu_op_retain(s->kept[i]);
    return acu_then(zip(s, count), use_all, (void *)(uintptr_t)s);
}

/* Many in front of many. */
static acu_op *fill_all(void *user, acu_val *values, size_t count)
{
    (void)values;
    return side_by_side(user, (int)count);
}

static acu_op *all_behind_all(const subject *s, int count)
{
    return acu_then(slices(s, count), fill_all, (void *)(uintptr_t)s);
}

/* Host work and fills in turn: each is a part of its own. */
static acu_op *in_turn(const subject *s, int count)
{
    for (int i = 0; i < count; i++)
        s->ops[i] = i % 2 ? fill(s, i) : host(do_nothing);
    return zip(s, count);
}

static acu_op *host_behind_all(const subject *s, int count)
{
    acu_op *x = in_turn(s, count);
    return acu_after(host(do_nothing), x);
}

typedef acu_op *(*compose_fn)(const subject *s, int count);
static const struct {
    const char *what;
    compose_fn compose;
    bool explain;
} cases[] = {
    {"fills side by side", side_by_side, false},
    {"slices of one buffer", slices, false},
    {"alternatives, none taken", alternatives, false},
    {"alternatives, all taken", alternatives_taken, false},
    {"alternatives to one op", one_with_many_users, false},
    {"ops inside of each other", nested, false},
    {"ops inside of each other, each kept", nested_and_kept, false},
    {"alternatives inside of each other", nested_alternatives, false},
    {"finally around finally", nested_finally, false},
    {"after, each behind the one before", one_after_the_other, false},
    {"after, all behind one", all_behind_one, false},
    {"after, one behind all", one_behind_all, false},
    {"one op, used inside of each other", used_at_each_depth, false},
    {"ops that were planned before", planned_before, false},
    {"then, all behind all", all_behind_all, false},
    {"host work in between", in_turn, false},
    {"fills side by side, explained", side_by_side, true},
    {"each behind the one before, explained", one_after_the_other, true},
    {"alternatives, explained", alternatives, true},
    {"host work behind all, explained", host_behind_all, true},
};
enum { CASES = sizeof cases / sizeof *cases };

/* ---- timing ---- */

static void explain_as(acu_future *future, acu_explain_form form)
{
    size_t bytes;
    MUST(acu_explain(future, form, NULL, 0, &bytes));
    char *text = malloc(bytes);
    if (!text)
        bench_die("no memory");
    MUST(acu_explain(future, form, text, bytes, NULL));
    free(text);
}

/* One of several that are in flight together. */
static acu_future *submit_one(subject *s, int which, int count)
{
    acu_submit_options options = {.size = sizeof options, .explain = cases[which].explain};
    acu_future *future;
    acu_op *op = cases[which].compose(s, count);
    MUST(acu_submit(s->b->device, op, &options, &future));
    s->kept += count;
    return future;
}

/* Microseconds for each of `all` ops, in submissions of `count`. */
static double time_once(subject *s, int which, int all, int count)
{
    acu_op **kept = s->kept;
    acu_future **futures = s->futures;
    int submissions = all / count;
    memset(kept, 0, (size_t)all * sizeof *kept);
    double start = bench_cpu_us();
    for (int i = 0; i < submissions; i++)
        futures[i] = submit_one(s, which, count);
    s->kept = kept;
    for (int i = 0; i < submissions; i++) {
        MUST(acu_future_wait(futures[i], ACU_FOREVER));
        if (cases[which].explain) {
            explain_as(futures[i], ACU_EXPLAIN_TEXT);
            explain_as(futures[i], ACU_EXPLAIN_DOT);
        }
        acu_future_release(futures[i]);
    }
    for (int i = 0; i < all; i++)
        acu_op_release(kept[i]);
    MUST(acu_device_wait(s->b->device, ACU_FOREVER));
    return (bench_cpu_us() - start) / all;
}

static void measure(subject *s, int which)
{
    int all = s->most, few = all / SUBMISSIONS, rounds = bench_count(s->b, 3, 1);
    double us_few = INFINITY, us_all = INFINITY;
    for (int i = 0; i < rounds; i++) {
        us_few = fmin(us_few, time_once(s, which, all, few));
        us_all = fmin(us_all, time_once(s, which, all, all));
    }
    bench_at_most(s->b, cases[which].what, "times", us_all / us_few, 4);
    if (!s->b->quick)
        printf("  %.2f us for each of %d, %.2f us for each of %d\n", us_few, few, us_all, all);
}

int main(int argc, char **argv)
{
    bench b = bench_open_host("large", argc, argv);
    int most = bench_count(&b, 100000, 1000);
    subject s = {.b = &b,
                 .most = most,
                 .ops = calloc((size_t)most, sizeof *s.ops),
                 .kept = calloc((size_t)most, sizeof *s.kept)};
    if (!s.ops || !s.kept)
        bench_die("no memory");
    for (int i = 0; i < TENSORS; i++)
        MUST(acu_tensor_alloc(b.device, ACU_U32, ACU_SHAPE(WORDS), &s.tensors[i]));
    MUST(acu_tensor_alloc(b.device, ACU_U32, ACU_SHAPE((int64_t)most * WORDS), &s.whole));
    bench_title(&b, b.quick ? "an op of one submission of 1,000, over one of 100 of 10"
                            : "an op of one submission of 100,000, over one of 100 of 1,000");
    for (int i = 0; i < CASES; i++)
        measure(&s, i);
    for (int i = 0; i < TENSORS; i++)
        acu_tensor_release(s.tensors[i]);
    acu_tensor_release(s.whole);
    free(s.ops);
    free(s.kept);
    return bench_close(&b);
}
