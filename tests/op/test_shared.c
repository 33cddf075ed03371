/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Ops that several use, in random compositions: each program makes a few ops that are also parts of
 * one another, and submissions that use them, one time or several, beside ops of their own: zip,
 * after, then, or_else, finally and with_context, over host work, foreign work and fills. Leaves
 * fail, ops are refused, submissions are given up; the program lets go of its ops early or late;
 * one thread submits, or several do at once.
 *
 * The serial model says of each submission whether it succeeds, and which leaves may be to blame if
 * it does not. No leaf may run twice, what must have run has, and what stands in an alternative
 * that is not taken has not. What the devices do in which order is up to chance, so a seed that
 * failed may have to be repeated.
 *
 *   ACUDA_RANDOM_SEED   the first program (1)
 *   ACUDA_RANDOM_SEEDS  how many (800); 100,000 take some minutes
 *   SOFTCUDA_SEED       how streams of the software device interleave meanwhile
 */
#include "support/support.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

enum { NODES = 3000, SHARED = 3, SUBMISSIONS = 4, DEVICES = 2 };
enum { ROUND = 50 }; /* so many seeds use the same devices, since it is slow to open a GPU */

/* What `a` and `b` of a node are follows the name. */
#define KINDS(X) \
    X(HOST) \
    X(FOREIGN) \
    X(FILL) \
    X(REFUSED) \
    X(USE)     /* of a shared op */ \
    X(CONTEXT) /* around a */ \
    X(ZIP) \
    X(OR_ELSE) /* b is the alternative to a */ \
    X(FINALLY) /* b is the last */ \
    X(AFTER)   /* a, ordered after b */ \
    X(THEN)    /* b is what the function makes of a */

typedef enum node_kind {
#define NAME(kind) kind,
    KINDS(NAME)
#undef NAME
} node_kind;

static const char *const kind_names[] = {
#define NAME(kind) #kind,
    KINDS(NAME)
#undef NAME
};

typedef struct node {
    node_kind kind;
    struct node *a, *b;
    int number;
    int shared;          /* which one a USE is of */
    bool fails;          /* leaves */
    int yields;          /* how long host work takes */
    bool asks, declines; /* an alternative: whether a function is asked, and says no */
    acu_tensor *tensor;  /* which a leaf writes */
    _Atomic(int) runs;
} node;

/* What programs share. */
typedef struct machine {
    acu_device *devices[DEVICES];
    acu_tensor *aside[DEVICES]; /* which submissions inside of functions write */
    int count;
    bool handed; /* a runtime thread plans: so a submission may be given up before that */
} machine;

typedef struct submission {
    acu_device *device;
    node *tree;
    acu_op *op;
    bool explain, cancel;
    int yields; /* before it is submitted by its thread, or given up */
    acu_future *future;
    acu_status submitted, ended;
    acu_error error;
} submission;

typedef struct program {
    machine *m;
    test_random random;
    node nodes[NODES];
    int node_count;
    struct {
        node *tree;
        acu_op *op;
    } shared[SHARED];
    int shared_count;
    submission submissions[SUBMISSIONS];
    int submission_count;
    char failure[1200]; /* what went wrong; empty if nothing did */
} program;

#define MUST(p, condition, ...) \
    do { \
        if (!(condition) && !(p)->failure[0]) \
            snprintf((p)->failure, sizeof(p)->failure, __VA_ARGS__); \
    } while (0)

static int below(program *p, int limit)
{
    return (int)test_below(&p->random, (uint64_t)limit);
}

static bool one_in(program *p, int count)
{
    return below(p, count) == 0;
}

static acu_device *any_device(program *p)
{
    return p->m->devices[below(p, p->m->count)];
}

/* So that others may come first. On a machine that is busy with other things each call of the
 * system for this can take milliseconds; so it is one, after a moment that depends on how many are
 * meant. */
static void yield_times(int times)
{
    for (volatile int i = 0; i < 500 * times; i = i + 1)
        continue;
    if (times > 0)
        sched_yield();
}

/* ---- the model ---- */

static bool is_leaf(const node *n)
{
    return n->kind == HOST || n->kind == FOREIGN || n->kind == FILL;
}

static bool contains(const node *n, node_kind kind)
{
    return n->kind == kind || (n->a && contains(n->a, kind)) || (n->b && contains(n->b, kind));
}

/* Whether it is refused when it is planned, as all of the submission is, if it is not the first op
 * of an or_else. */
static bool is_refused(const program *p, const node *n)
{
    switch (n->kind) {
    case REFUSED:
        return true;
    case USE:
        return is_refused(p, p->shared[n->shared].tree);
    case OR_ELSE:
        return is_refused(p, n->b) || (n->declines && is_refused(p, n->a));
    default:
        return (n->a && is_refused(p, n->a)) || (n->b && is_refused(p, n->b));
    }
}

static bool succeeds(const program *p, const node *n)
{
    switch (n->kind) {
    case REFUSED:
        return false;
    case USE:
        return succeeds(p, p->shared[n->shared].tree);
    case OR_ELSE:
        return !is_refused(p, n) && (succeeds(p, n->a) || (!n->declines && succeeds(p, n->b)));
    default:
        return !n->fails && (!n->a || succeeds(p, n->a)) && (!n->b || succeeds(p, n->b));
    }
}

/* Whether the leaf may be the one that is reported, if this fails. */
static bool may_blame(const program *p, const node *n, int leaf)
{
    if (succeeds(p, n))
        return false;
    switch (n->kind) {
    case USE:
        return may_blame(p, p->shared[n->shared].tree, leaf);
    case OR_ELSE: /* if the alternative runs, its outcome is that of the whole */
        return may_blame(p, n->declines ? n->a : n->b, leaf);
    default:
        return n->a ? may_blame(p, n->a, leaf) || (n->b && may_blame(p, n->b, leaf))
                    : n->number == leaf;
    }
}

/* ---- making trees ---- */

/* Where a node stands. */
typedef struct place {
    int depth;      /* of what may be below it */
    int level;      /* uses only shared ops before this one */
    bool good_only; /* uses only shared ops that succeed: the model knows nothing of others */
} place;

static node *make_node(program *p, node_kind kind, node *a, node *b)
{
    assert_true(p->node_count < NODES);
    node *n = &p->nodes[p->node_count];
    *n = (node){.kind = kind, .a = a, .b = b, .number = p->node_count++};
    return n;
}

static node *make_leaf(program *p)
{
    static const node_kind kinds[] = {HOST, HOST, FOREIGN, FILL};
    node *n = make_node(p, kinds[below(p, 4)], NULL, NULL);
    n->fails = n->kind != FILL && one_in(p, 3);
    n->yields = n->kind == HOST ? below(p, 3) * 10 : 0;
    return n;
}

static node *make_end(program *p, place at)
{
    int shared = at.level && one_in(p, 2) ? below(p, at.level) : -1;
    if (shared < 0 || (at.good_only && !succeeds(p, p->shared[shared].tree)))
        return make_leaf(p);
    node *n = make_node(p, USE, NULL, NULL);
    n->shared = shared;
    return n;
}

static node *make_tree(program *p, place at);

static node *make_or_else(program *p, place at)
{
    place other = at;
    other.good_only = true; /* whether others run it, or this, may be a matter of chance */
    node *a = one_in(p, 8) ? make_node(p, REFUSED, NULL, NULL) : make_tree(p, at);
    if (one_in(p, 6)) /* refused, but not at once */
        a = make_node(p, one_in(p, 2) ? ZIP : THEN, a, make_node(p, REFUSED, NULL, NULL));
    node *n = make_node(p, OR_ELSE, a, make_tree(p, other));
    n->asks = one_in(p, 3);
    n->declines = n->asks && one_in(p, 3);
    return n;
}

static node *make_tree(program *p, place at)
{
    static const node_kind kinds[] = {ZIP, ZIP, OR_ELSE, OR_ELSE, OR_ELSE, FINALLY, AFTER, THEN};
    int choice = at.depth > 0 ? below(p, 12) : 0;
    at.depth--;
    if (choice < 3)
        return make_end(p, at);
    if (choice == 3)
        return make_node(p, CONTEXT, make_tree(p, at), NULL);
    node_kind kind = kinds[choice - 4];
    if (kind == OR_ELSE)
        return make_or_else(p, at);
    node *a = make_tree(p, at);
    /* What others have run before does not matter to whatever comes after it. */
    at.good_only |= kind == AFTER;
    return make_node(p, kind, a, make_tree(p, at));
}

/* ---- building ops ---- */

static acu_status run_leaf(node *n)
{
    yield_times(n->yields);
    atomic_fetch_add(&n->runs, 1);
    return n->fails ? ACU_ERR_IO : ACU_OK;
}

static acu_status run_host(void *user, const acu_val *values, size_t count)
{
    (void)values, (void)count;
    return run_leaf(user);
}

static acu_status run_foreign(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)stream, (void)values, (void)count;
    return run_leaf(user);
}

/* What the function of a `then` returns, once it has submitted something itself. */
typedef struct later {
    acu_op *op;
    acu_device *device; /* NULL: submits nothing */
    acu_tensor *aside;
    int yields; /* meanwhile other threads may come to what this one is planning */
} later;

static acu_op *make_op(void *user, acu_val *values, size_t count)
{
    (void)values, (void)count;
    later *made = user;
    acu_op *op = made->op;
    made->op = NULL;
    yield_times(made->yields);
    if (made->device)
        acu_submit(made->device, acu_fill(made->aside, acu_u32(3)), NULL, NULL);
    return op;
}

static void free_made(void *user)
{
    later *made = user;
    acu_op_release(made->op);
    free(made);
}

static bool want_other(void *user, const acu_error *error)
{
    const node *n = user;
    return !n->declines && error->status != ACU_OK;
}

static acu_op *build_leaf(program *p, node *n, acu_device *device)
{
    acu_op *op;
    char name[32];
    snprintf(name, sizeof name, "leaf%d", n->number);
    if (n->kind == HOST)
        assert_works(acu_tensor_alloc_pinned(device, ACU_U32, ACU_SHAPE(4), &n->tensor));
    else
        assert_works(acu_tensor_alloc(device, ACU_U32, ACU_SHAPE(4), &n->tensor));
    if (n->kind == FILL)
        op = acu_fill(n->tensor, acu_u32(7));
    else if (n->kind == FOREIGN)
        op = acu_op_foreign(run_foreign, ACU_USER(n), ACU_ARGS(acu_out(n->tensor)), ACU_SITE);
    else if (one_in(p, 2))
        op = acu_op_host(run_host, ACU_USER(n), ACU_ARGS(acu_out(n->tensor)), ACU_SITE);
    else
        op = acu_op_host(run_host, ACU_USER(n), NULL, 0, ACU_SITE);
    return acu_op_named(op, name);
}

static acu_op *build_then(program *p, acu_op *x, acu_op *next, acu_device *device)
{
    later *made = malloc(sizeof *made);
    assert_non_null(made);
    made->op = next;
    made->device = one_in(p, 2) ? device : NULL;
    made->yields = one_in(p, 2) ? 0 : below(p, 10);
    made->aside = p->m->aside[device == p->m->devices[0] ? 0 : 1];
    return acu_then(x, make_op, made, free_made);
}

/* It yields one number, as the other one does. */
static acu_op *alike(acu_op *op)
{
    return acu_last(acu_zip(op, acu_scalar(acu_u32(1))));
}

static acu_op *build_or_else(node *n, acu_op *x, acu_op *other)
{
    x = n->a->kind == REFUSED ? x : alike(x);
    return n->asks ? acu_or_else_if(x, alike(other), want_other, n) : acu_or_else(x, alike(other));
}

static acu_op *build(program *p, node *n, acu_device *device)
{
    acu_op *a = n->a ? build(p, n->a, device) : NULL;
    acu_op *b = n->b ? build(p, n->b, device) : NULL;
    switch (n->kind) {
    case HOST:
    case FOREIGN:
    case FILL:
        return build_leaf(p, n, device);
    case REFUSED:
        return acu_op_fail(ACU_ERR_INVALID, "refused", ACU_SITE, "refused on purpose");
    case USE:
        return acu_op_retain(p->shared[n->shared].op);
    case CONTEXT:
        return acu_with_context(a, "inside");
    case ZIP:
        return acu_zip(a, b);
    case OR_ELSE:
        return build_or_else(n, a, b);
    case FINALLY:
        return acu_finally(a, b);
    case AFTER:
        return acu_after(a, b);
    case THEN:
        return build_then(p, a, b, device);
    }
    return NULL;
}

static void make_shared(program *p)
{
    int count = 1 + below(p, SHARED);
    for (int i = 0; i < count; i++) {
        p->shared[i].tree = make_tree(p, (place){.depth = below(p, 4), .level = i});
        p->shared[i].op = build(p, p->shared[i].tree, any_device(p));
        p->shared_count = i + 1;
    }
}

static void make_submission(program *p, submission *s)
{
    /* A submission that is refused takes with it the shared ops that it was the first to use, which
     * is a matter of chance. */
    do
        s->tree = make_tree(p, (place){.depth = below(p, 5), .level = p->shared_count});
    while (is_refused(p, s->tree) && contains(s->tree, USE));
    s->device = any_device(p);
    s->op = build(p, s->tree, s->device);
    s->explain = one_in(p, 6);
    s->cancel = one_in(p, 6);
    s->yields = one_in(p, 2) ? 0 : below(p, 40);
}

static void let_go(program *p)
{
    for (int i = 0; i < p->shared_count; i++) {
        acu_op_release(p->shared[i].op);
        p->shared[i].op = NULL;
    }
}

/* ---- submitting ---- */

static void submit(submission *s)
{
    acu_submit_options options = {.size = sizeof options, .explain = s->explain};
    s->submitted = acu_submit(s->device, s->op, &options, &s->future);
    if (s->submitted != ACU_OK) {
        s->error = *acu_last_error();
        s->future = NULL;
    } else if (s->cancel) {
        yield_times(s->yields);
        acu_future_cancel(s->future);
    }
}

/* Where the threads meet, so that they plan at the same time. */
static pthread_barrier_t start;

static void *submit_late(void *user)
{
    submission *s = user;
    pthread_barrier_wait(&start);
    yield_times(s->yields);
    submit(s);
    return NULL;
}

static void submit_at_once(program *p)
{
    pthread_t threads[SUBMISSIONS];
    for (int i = 0; i < p->submission_count; i++)
        make_submission(p, &p->submissions[i]);
    if (one_in(p, 4)) /* then each user may find that it is the last */
        let_go(p);
    pthread_barrier_init(&start, NULL, (unsigned)p->submission_count);
    for (int i = 0; i < p->submission_count; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, submit_late, &p->submissions[i]), 0);
    for (int i = 0; i < p->submission_count; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&start);
}

static void submit_in_turn(program *p)
{
    for (int i = 0; i < p->submission_count; i++) {
        submission *s = &p->submissions[i];
        make_submission(p, s);
        if (i == p->submission_count - 1 && one_in(p, 4))
            let_go(p);
        submit(s);
        if (s->future && one_in(p, 4)) /* the next one may find that this is over */
            acu_future_wait(s->future, ACU_US(test_below(&p->random, 300)));
    }
}

/* ---- checking ---- */

/* What is planned so far may be entered before the rest is: where a function submits something, or
 * where another thread has to come first. */
static bool begins_early(const node *n)
{
    return contains(n, THEN) || contains(n, USE);
}

static void check_outcome(program *p, const submission *s)
{
    int number = (int)(s - p->submissions), leaf = -1;
    bool refused = is_refused(p, s->tree), good = succeeds(p, s->tree);
    const acu_error *e = &s->error;
    if (s->cancel && s->ended == ACU_ERR_CANCELLED)
        return;
    MUST(p, good == (s->ended == ACU_OK), "submission %d should %s: %s: %s: %s", number,
         good ? "succeed" : "fail", acu_status_name(s->ended), e->op, e->message);
    if (s->ended == ACU_OK)
        return;
    if (refused) {
        bool early = begins_early(s->tree) && s->ended == ACU_ERR_CALLBACK;
        MUST(p, early || (s->ended == ACU_ERR_INVALID && strcmp(e->op, "refused") == 0),
             "submission %d should be refused: %s: %s: %s", number, acu_status_name(s->ended),
             e->op, e->message);
        return;
    }
    MUST(p, s->submitted == ACU_OK && s->ended == ACU_ERR_CALLBACK, "submission %d: %s: %s: %s",
         number, acu_status_name(s->ended), e->op, e->message);
    MUST(p, sscanf(e->op, "leaf%d", &leaf) == 1 && may_blame(p, s->tree, leaf),
         "submission %d: %s is not to blame: %s", number, e->op, e->message);
}

/* This has been begun, and nothing failed beside it. */
static void must_run(program *p, const node *n)
{
    switch (n->kind) {
    case HOST:
    case FOREIGN:
        MUST(p, n->runs == 1, "leaf%d ran %d times and should run once", n->number, n->runs);
        break;
    case USE:
        must_run(p, p->shared[n->shared].tree);
        break;
    case OR_ELSE:
        if (succeeds(p, n->a))
            must_run(p, n->a);
        else if (!n->declines && succeeds(p, n->b))
            must_run(p, n->b);
        break;
    default: /* if a part fails, others need not run */
        if (n->a && succeeds(p, n->a))
            must_run(p, n->a);
        /* What another submission was to do before is not done if that fails first. */
        if (n->b && succeeds(p, n->b) && !(n->kind == AFTER && contains(n->b, USE)))
            must_run(p, n->b);
    }
}

/* The last ops of each `finally` that has been begun. */
static void must_run_last(program *p, const node *n)
{
    if (n->kind == USE) {
        must_run_last(p, p->shared[n->shared].tree);
    } else if (n->kind == OR_ELSE) {
        must_run_last(p, is_refused(p, n->a) ? n->b : n->a);
    } else {
        if (n->a)
            must_run_last(p, n->a);
        if (n->kind == FINALLY && succeeds(p, n->b))
            must_run(p, n->b);
        else if (n->b)
            must_run_last(p, n->b);
    }
}

/* Only what others use may run all the same. */
static void must_not_run(program *p, const node *n, const char *where)
{
    if (n->kind == HOST || n->kind == FOREIGN)
        MUST(p, n->runs == 0, "leaf%d ran in %s", n->number, where);
    if (n->a)
        must_not_run(p, n->a, where);
    if (n->b)
        must_not_run(p, n->b, where);
}

/* The submission succeeded. */
static void check_alternatives(program *p, const node *n)
{
    bool taken = n->kind != OR_ELSE || (!n->declines && !succeeds(p, n->a));
    if (n->kind == OR_ELSE && is_refused(p, n->a) && !begins_early(n->a))
        must_not_run(p, n->a, "an op that is refused");
    else if (n->a)
        check_alternatives(p, n->a);
    if (n->b && taken)
        check_alternatives(p, n->b);
    else if (n->b)
        must_not_run(p, n->b, "an alternative that is not taken");
}

static void check_runs(program *p, const submission *s)
{
    if (s->ended == ACU_OK) {
        must_run(p, s->tree);
        check_alternatives(p, s->tree);
    }
    if (is_refused(p, s->tree) && !begins_early(s->tree))
        must_not_run(p, s->tree, "a submission that is refused");
    if (!is_refused(p, s->tree) && !(s->cancel && p->m->handed))
        must_run_last(p, s->tree);
}

/* ---- printing ---- */

static void print_tree(const node *n, int indent)
{
    print_error("%*s%s", indent, "", kind_names[n->kind]);
    if (n->kind == USE)
        print_error(" of shared %d", n->shared);
    if (is_leaf(n))
        print_error(" leaf%d%s", n->number, n->fails ? " fails," : "");
    if (n->kind == HOST || n->kind == FOREIGN)
        print_error(" ran %d", n->runs);
    print_error("%s\n", n->declines ? " declined" : "");
    if (n->a)
        print_tree(n->a, indent + 2);
    if (n->b)
        print_tree(n->b, indent + 2);
}

static void print_program(const program *p)
{
    for (int i = 0; i < p->shared_count; i++) {
        print_error("shared %d (%s):\n", i, succeeds(p, p->shared[i].tree) ? "good" : "fails");
        print_tree(p->shared[i].tree, 4);
    }
    for (int i = 0; i < p->submission_count; i++) {
        const submission *s = &p->submissions[i];
        print_error("submission %d on device %d (%s%s): %s\n", i,
                    acu_device_info_of(s->device)->ordinal, succeeds(p, s->tree) ? "good" : "fails",
                    s->cancel ? ", cancelled" : "", acu_status_name(s->ended));
        print_tree(s->tree, 4);
    }
}

/* ---- one program ---- */

static void await_all(program *p, uint64_t seed)
{
    for (int i = 0; i < p->submission_count; i++) {
        submission *s = &p->submissions[i];
        s->ended = s->submitted;
        if (!s->future)
            continue;
        while ((s->ended = acu_future_wait(s->future, ACU_SECONDS(20))) == ACU_TIMEOUT) {
            /* Whoever ends a test that hangs should see why. */
            print_error("seed %llu: submission %d takes long\n", (unsigned long long)seed, i);
            print_program(p);
        }
        acu_future_error(s->future, &s->error);
    }
    /* What finally adds may be waiting for the other device. */
    for (int i = 0; i < 2 * p->m->count; i++)
        assert_works(acu_device_wait(p->m->devices[i % p->m->count], ACU_FOREVER));
}

static void check_program(program *p)
{
    for (int i = 0; i < p->submission_count; i++)
        check_outcome(p, &p->submissions[i]);
    for (int i = 0; i < p->submission_count; i++)
        check_runs(p, &p->submissions[i]);
    for (int i = 0; i < p->node_count; i++)
        MUST(p, p->nodes[i].runs <= 1, "leaf%d ran %d times", i, p->nodes[i].runs);
}

static void run_program(machine *m, uint64_t seed)
{
    static program the_program;
    program *p = &the_program;
    memset(p, 0, sizeof *p);
    p->m = m;
    p->random.state = seed;
    make_shared(p);
    p->submission_count = 2 + below(p, SUBMISSIONS - 1);
    if (one_in(p, 2))
        submit_at_once(p);
    else
        submit_in_turn(p);
    if (one_in(p, 2))
        let_go(p);
    await_all(p, seed);
    check_program(p);
    if (p->failure[0]) {
        print_program(p);
        test_seed_failed(seed, "%s", p->failure);
    }
    for (int i = 0; i < p->submission_count; i++)
        acu_future_release(p->submissions[i].future);
    let_go(p);
    for (int i = 0; i < p->node_count; i++)
        acu_tensor_release(p->nodes[i].tensor);
}

static void open_machine(machine *m, uint64_t round)
{
    test_random random = {round};
    acu_open_options options = test_options(0);
    memset(m, 0, sizeof *m);
    assert_works(acu_device_count_load(&options, &m->count));
    if (m->count > 1)
        m->count = 1 + (int)test_below(&random, DEVICES);
    for (int i = 0; i < m->count; i++) {
        options = test_options(i);
        options.runtime_thread = test_below(&random, 4) == 0;
        m->handed |= options.runtime_thread;
        assert_works(acu_open(&options, &m->devices[i]));
        assert_works(acu_tensor_alloc(m->devices[i], ACU_U32, ACU_SHAPE(4), &m->aside[i]));
    }
}

static void close_machine(machine *m)
{
    for (int i = 0; i < m->count; i++)
        acu_tensor_release(m->aside[i]);
    for (int i = 0; i < m->count; i++)
        test_close(m->devices[i]);
    test_leaks_none();
}

static void users_of_shared_ops_match_a_serial_model(void **state)
{
    (void)state;
    uint64_t first = test_setting("ACUDA_RANDOM_SEED", 1),
             count = test_setting("ACUDA_RANDOM_SEEDS", 800);
    machine m;
    for (uint64_t seed = first; seed < first + count; seed++) {
        if (seed == first || seed % ROUND == 0)
            open_machine(&m, seed / ROUND);
        run_program(&m, seed);
        if (seed + 1 == first + count || (seed + 1) % ROUND == 0)
            close_machine(&m);
    }
}

static void and_so_they_do_however_streams_interleave(void **state)
{
    (void)state;
    if (!test_is_plain())
        skip();
    for (int seed = 1; seed <= 4; seed++) {
        char setting[40];
        snprintf(setting, sizeof setting, "SOFTCUDA_SEED=%d", seed);
        test_seeds_with(setting, 10000 * seed, 50);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(users_of_shared_ops_match_a_serial_model),
        cmocka_unit_test(and_so_they_do_however_streams_interleave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
