/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A future is complete when its values are, whoever computes them. The subject is submissions that
 * only pass on what other submissions compute, in every form in which that can be written. The
 * computation waits behind host work at a gate; then it succeeds, fails, or is given up.
 */
#include "support/support.h"

#include <pthread.h>

enum { N = 4 };
#define VECTOR ACU_SHAPE(N)

/* ---- helpers ---- */

enum fate { GOES_WELL, FAILS, GIVEN_UP, FATES };
typedef enum place { INLINE, HANDED_OVER, TWO_DEVICES, PLACES } place;

/* Where things run. The values that are passed on are computed on the last of the devices. */
typedef struct bench {
    acu_device *devices[2];
    int count;
    acu_tensor *host[2];
    acu_tensor *there; /* on the last device */
    acu_future *gate;
} bench;

static acu_status stop(void *user, const acu_val *values, size_t count)
{
    test_pass_host_gate(user, values, count);
    return user ? ACU_ERR_IO : ACU_OK;
}

static acu_status set_five(void *user, const acu_val *values, size_t count)
{
    (void)user;
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < N; k++)
            ((float *)acu_tensor_host(values[i].tensor))[k] = 5;
    return ACU_OK;
}

static acu_status break_off(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_ERR_IO;
}

static acu_device *last_of(const bench *b)
{
    return b->devices[b->count - 1];
}

static bench open_bench(place where)
{
    bench b = {.count = where == TWO_DEVICES ? 2 : 1};
    acu_open_options options = test_options(0);
    options.runtime_thread = where == HANDED_OVER;
    if (where == TWO_DEVICES)
        test_open_n(b.devices, 2);
    else
        assert_works(acu_open(&options, &b.devices[0]));
    for (int i = 0; i < 2; i++)
        assert_works(acu_tensor_alloc_pinned(b.devices[0], ACU_F32, VECTOR, &b.host[i]));
    assert_works(acu_tensor_alloc(last_of(&b), ACU_F32, VECTOR, &b.there));
    assert_works(acu_sync(NULL, acu_fill(b.there, acu_f32(0)), NULL));
    return b;
}

static void close_bench(bench *b)
{
    for (int i = 0; i < 2; i++)
        acu_tensor_release(b->host[i]);
    acu_tensor_release(b->there);
    for (int i = 0; i < b->count; i++)
        test_close(b->devices[i]);
    test_leaks_none();
}

/* From now on, work on the host tensors waits at the gate; `fails`: and fails there. */
static void close_gate(bench *b, bool fails)
{
    for (int i = 0; i < 2; i++)
        memset(acu_tensor_host(b->host[i]), 0, N * sizeof(float));
    test_host_gate_close();
    b->gate = test_submit(b->devices[0], acu_host(stop, fails ? b : NULL, acu_inout(b->host[0]),
                                                  acu_inout(b->host[1])));
}

static void open_gate(bench *b)
{
    test_host_gate_open();
    acu_future_wait(b->gate, ACU_FOREVER);
    acu_future_release(b->gate);
}

/* It is planned, and not complete. */
static void is_open(acu_future *future)
{
    acu_future_values(future);
    assert_int_equal(acu_future_poll(future), ACU_NOT_READY);
}

static void ends(acu_future *future, acu_status want)
{
    acu_status status = acu_future_wait(future, ACU_FOREVER);
    if (status != want)
        print_error("%s, not %s\n", acu_status_name(status), acu_status_name(want));
    assert_int_equal(status, want);
    acu_future_release(future);
}

/* ---- forms: how the other submission passes on what the first one computes ---- */

typedef struct pair {
    bench *b;
    acu_op *op;     /* the first's, which yields: */
    acu_tensor *t, *u;
    acu_op *half;   /* of the first's op; NULL: the form uses no halves */
    acu_future *first;
} pair;

typedef enum inherits {
    AS_THE_OP,  /* the outcome of the op, whose work is done even if the first is given up */
    AS_A_PART,  /* the same, but a failure is DEPENDENCY */
    AS_DATA,    /* whether the data was computed */
    AS_ORDER    /* none */
} inherits;

static acu_op *take_first(void *user, acu_val *values, size_t count)
{
    (void)user, (void)count;
    return acu_take(&values[0]);
}

static acu_op *take_none(void *user, acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return acu_scalar(acu_f32(1));
}

static acu_status keep(void *user, acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_OK;
}

static acu_op *form_value(pair *p) { return acu_value(p->t); }
static acu_op *form_slice(pair *p) { return acu_slice(p->t, ACU_SHAPE(0), ACU_SHAPE(2)); }
static acu_op *form_tiles(pair *p) { return acu_partition(p->t, ACU_SHAPE(2)); }
static acu_op *form_then(pair *p) { return acu_then(p->t, take_first, NULL); }
static acu_op *form_map(pair *p) { return acu_map(p->t, keep, NULL); }
static acu_op *form_zip_values(pair *p) { return acu_zip(acu_value(p->t), acu_value(p->u)); }
static acu_op *form_idle_copy(pair *p) { return acu_copy(p->t, p->t); }
static acu_op *form_other_piece(pair *p)
{
    return acu_zip(acu_value(p->t), acu_zeros(ACU_F32, VECTOR));
}
static acu_op *form_after_future(pair *p)
{
    return acu_after_future(acu_scalar(acu_f32(1)), p->first);
}
static acu_op *form_after(pair *p)
{
    return acu_after(acu_scalar(acu_f32(1)), acu_op_retain(p->op));
}
static acu_op *form_then_drop(pair *p) { return acu_then(acu_op_retain(p->op), take_none, NULL); }
static acu_op *form_op(pair *p) { return acu_op_retain(p->op); }
static acu_op *form_op_first(pair *p) { return acu_first(acu_op_retain(p->op)); }
static acu_op *form_op_share(pair *p) { return acu_share(acu_op_retain(p->op)); }
static acu_op *form_op_zip(pair *p)
{
    return acu_zip(acu_op_retain(p->op), acu_zeros(ACU_F32, VECTOR));
}
static acu_op *form_op_last(pair *p)
{
    return acu_finally(acu_zeros(ACU_F32, VECTOR), acu_op_retain(p->op));
}
static acu_op *form_half(pair *p)
{
    acu_op *half = p->half;
    p->half = NULL;
    return half;
}

static const struct form {
    const char *name;
    acu_op *(*make)(pair *p);
    inherits inherits;
} forms[] = {
    {"value", form_value, AS_DATA},
    {"slice", form_slice, AS_DATA},
    {"partition", form_tiles, AS_DATA},
    {"then", form_then, AS_DATA},
    {"map", form_map, AS_DATA},
    {"zip of values", form_zip_values, AS_DATA},
    {"copy onto itself", form_idle_copy, AS_DATA},
    {"zip with other work", form_other_piece, AS_DATA},
    {"after_future", form_after_future, AS_ORDER},
    {"after", form_after, AS_ORDER},
    {"then that drops", form_then_drop, AS_THE_OP},
    {"op", form_op, AS_THE_OP},
    {"first of op", form_op_first, AS_THE_OP},
    {"share of op", form_op_share, AS_THE_OP},
    {"zip of op with other work", form_op_zip, AS_THE_OP},
    {"finally op", form_op_last, AS_THE_OP},
    {"half of op", form_half, AS_A_PART},
};
enum { FORMS = sizeof forms / sizeof *forms };

static acu_status outcome(inherits how, enum fate fate)
{
    if (fate == GOES_WELL || how == AS_ORDER || (fate == GIVEN_UP && how != AS_DATA))
        return ACU_OK;
    return ACU_ERR_DEPENDENCY;
}

/* The op that is passed on: host work, or a copy to the device, behind the gate. */
static acu_op *source(bench *b, bool device, pair *p)
{
    p->t = device ? b->there : b->host[0];
    p->u = device ? b->host[0] : b->host[1];
    return device ? acu_copy(b->there, b->host[0])
                  : acu_host(set_five, NULL, acu_inout(b->host[0]), acu_inout(b->host[1]));
}

static void try_form(bench *b, const struct form *form, enum fate fate, bool device)
{
    pair p = {.b = b};
    acu_op *parts[2];
    bool halves = form->make == form_half, keeps = form->inherits == AS_THE_OP ||
                                                   form->make == form_after;
    p.op = source(b, device, &p);
    close_gate(b, fate == FAILS);
    if (halves)
        acu_unzip(p.op, parts, 2);
    else if (keeps)
        acu_op_retain(p.op);
    p.half = halves ? parts[1] : NULL;
    p.first = test_submit(b->devices[0], halves ? parts[0] : p.op);
    acu_future_values(p.first); /* it is planned */
    acu_future *second = test_submit(b->devices[0], form->make(&p));
    is_open(p.first);
    is_open(second);
    if (keeps)
        acu_op_release(p.op);
    if (fate == GIVEN_UP)
        assert_works(acu_future_cancel(p.first));
    if (fate == GIVEN_UP)
        is_open(second);
    open_gate(b);
    ends(second, outcome(form->inherits, fate));
    if (fate == GOES_WELL && !device)
        assert_true(((float *)acu_tensor_host(b->host[1]))[N - 1] == 5);
    ends(p.first, fate == GOES_WELL ? ACU_OK
                  : fate == FAILS   ? ACU_ERR_DEPENDENCY
                                    : ACU_ERR_CANCELLED);
    /* What failed stays so until it is overwritten. */
    assert_works(acu_sync(NULL, acu_fill(b->there, acu_f32(0)), NULL));
    assert_works(acu_device_wait(b->devices[0], ACU_FOREVER));
    for (int i = 0; i < 2; i++)
        assert_works(acu_sync(b->devices[0], acu_host(set_five, NULL, acu_out(b->host[i])), NULL));
}

static void try_all(place where)
{
    bench b = open_bench(where);
    for (int f = 0; f < FORMS; f++)
        for (int fate = 0; fate < FATES; fate++)
            for (int device = 0; device < 2; device++)
                try_form(&b, &forms[f], (enum fate)fate, device);
    close_bench(&b);
}

static void passed_on(void **state)
{
    (void)state;
    try_all(INLINE);
}

static void passed_on_by_a_runtime_thread(void **state)
{
    (void)state;
    try_all(HANDED_OVER);
}

static void passed_on_to_another_device(void **state)
{
    (void)state;
    try_all(TWO_DEVICES);
}

/* ---- outcomes of ops ---- */

/* What it yields is there, or it yields nothing: the op has failed all the same. */
static void an_op_that_failed_has_failed_for_all(void **state)
{
    (void)state;
    bench b = open_bench(INLINE);
    acu_op *ops[] = {acu_host(break_off, NULL, acu_u32(0)),
                     acu_finally(acu_value(b.host[1]),
                                 acu_host(break_off, NULL, acu_in(b.host[0]))),
                     acu_first(acu_zip(acu_value(b.host[1]),
                                       acu_host(break_off, NULL, acu_in(b.host[0]))))};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        close_gate(&b, false);
        acu_op *op = acu_after(ops[i], acu_host(stop, NULL, acu_in(b.host[0])));
        acu_op_retain(op);
        acu_op_retain(op);
        acu_future *first = test_submit(b.devices[0], op), *second = test_submit(b.devices[0], op);
        is_open(second);
        open_gate(&b);
        ends(second, ACU_ERR_CALLBACK);
        ends(first, ACU_ERR_CALLBACK);
        /* It also fails for a user that comes when it is over. */
        acu_tensor *none = NULL;
        assert_fails(acu_sync(b.devices[0], op, &none), ACU_ERR_CALLBACK, "acu_host");
        assert_null(none);
    }
    close_bench(&b);
}

static acu_status drop_tensors(void *user, acu_val *values, size_t count)
{
    (void)user;
    for (size_t i = 0; i < count; i++)
        if (values[i].tensor)
            acu_val_set_tensor(&values[i], NULL);
    return ACU_OK;
}

/* Whichever of the two users is submitted first. */
static void an_op_that_failed_fails_users_that_drop_its_values(void **state)
{
    (void)state;
    for (int how = 0; how < 8; how++) {
        bench b = open_bench(INLINE);
        close_gate(&b, false);
        acu_op *op = acu_zip(acu_host(break_off, NULL, acu_inout(b.host[0])),
                             acu_scalar(acu_f32(1)));
        acu_op_retain(op);
        acu_future *first = how < 4 ? test_submit(b.devices[0], op) : NULL;
        acu_op *other = acu_zeros(ACU_F32, VECTOR);
        acu_op *use = how % 4 == 0   ? acu_last(op)
                      : how % 4 == 1 ? acu_map(op, drop_tensors, NULL)
                      : how % 4 == 2 ? acu_first(acu_zip(acu_op_retain(other), op))
                                     : acu_zip(acu_last(op), acu_op_retain(other));
        acu_op_release(other);
        acu_future *second = test_submit(b.devices[0], use);
        first = first ? first : test_submit(b.devices[0], op);
        is_open(second);
        open_gate(&b);
        ends(second, ACU_ERR_CALLBACK);
        ends(first, ACU_ERR_CALLBACK);
        close_bench(&b);
    }
}

static acu_op *ignore(void *user, acu_val *values, size_t count)
{
    (void)values, (void)count;
    return acu_fill((acu_tensor *)user, acu_f32(1));
}

static acu_op *ignore_too(acu_planning *planning)
{
    return acu_fill((acu_tensor *)planning->user, acu_f32(1));
}

static acu_status replace_tensor(void *user, acu_val *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        acu_val_set_tensor(&values[i], acu_tensor_retain(user));
    return ACU_OK;
}

/* What the program's functions see they need not use: the user waits, and fails, all the same. */
static void an_op_that_failed_fails_users_that_ignore_its_values(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) {
        bench b = open_bench(INLINE);
        close_gate(&b, false);
        acu_op *op = acu_op_retain(acu_host(break_off, NULL, acu_inout(b.host[0])));
        acu_future *first = test_submit(b.devices[0], op);
        acu_custom custom = {.name = "mine", .fn = ignore_too, .user = {.data = b.there}};
        acu_op *use = how == 0   ? acu_then(op, ignore, b.there)
                      : how == 1 ? acu_op_custom(custom, &op, 1, ACU_SITE)
                                 : acu_map(op, replace_tensor, b.there);
        acu_future *second = test_submit(b.devices[0], use);
        is_open(second);
        open_gate(&b);
        ends(second, ACU_ERR_CALLBACK);
        ends(first, ACU_ERR_CALLBACK);
        close_bench(&b);
    }
}

static acu_status note_run(void *user, const acu_val *values, size_t count)
{
    (void)values, (void)count;
    *(bool *)user = true;
    return ACU_OK;
}

/* An op that could not be planned, or what it is a part of, is refused for its next user too, also
 * if there was no memory to say why. */
static void an_op_that_was_refused(void **state)
{
    (void)state;
    bench b = open_bench(INLINE);
    acu_device *device = b.devices[0];
    for (int how = 0; how < 3; how++) {
        uint64_t nth = 0, count;
        do {
            bool ran = false;
            acu_graph *graph = NULL;
            acu_op *refused = acu_op_fail(ACU_ERR_INVALID, "bad", ACU_SITE, "refused on purpose");
            acu_op *op = acu_op_retain(how == 0 ? refused : acu_host(note_run, &ran, acu_u32(0)));
            acu_op *first = how == 1 ? acu_zip(op, refused) : op;
            if (how == 2)
                acu_op_release(refused);
            acu_debug_fail_alloc(++nth, false);
            acu_status status = how < 2 ? acu_submit(device, first, NULL, NULL)
                                        : acu_graph_load(device, first, NULL, &graph);
            count = acu_debug_alloc_count();
            acu_debug_fail_alloc(0, false);
            assert_int_not_equal(status, ACU_OK);
            status = acu_sync(device, op, NULL); /* plans the op if that did not come to it */
            assert_true((status == ACU_OK) == ran);
        } while (nth <= count);
    }
    close_bench(&b);
}

/* An op that consists of one which another submission planned. */
static void an_op_within_an_op(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) {
        bench b = open_bench(INLINE);
        acu_device *device = b.devices[0];
        close_gate(&b, false);
        acu_op *inner = acu_op_retain(acu_host(how < 2 ? break_off : set_five, NULL,
                                               acu_inout(b.host[0])));
        acu_future *first = test_submit(device, inner);
        acu_op *outer = acu_op_retain(acu_op_retain(how % 2 ? acu_zip(acu_zip(inner))
                                                            : acu_zip(inner)));
        acu_future *second = test_submit(device, outer);
        acu_future *third = test_submit(device, outer);
        acu_op *behind = acu_after(acu_fill(b.there, acu_f32(1)), outer);
        acu_future *fourth = test_submit(device, behind);
        is_open(second);
        is_open(third);
        is_open(fourth); /* it is ordered by name behind the inner op too */
        open_gate(&b);
        ends(fourth, ACU_OK);
        ends(third, how < 2 ? ACU_ERR_CALLBACK : ACU_OK);
        ends(second, how < 2 ? ACU_ERR_CALLBACK : ACU_OK);
        ends(first, how < 2 ? ACU_ERR_CALLBACK : ACU_OK);
        close_bench(&b);
    }
}

/* The blocks of memory that are left when each op of a chain consists of the one before, and all
 * are over but held by the last. */
static size_t blocks_of_chain(bench *b, int length)
{
    acu_device *device = b->devices[0];
    close_gate(b, false);
    acu_op *last = acu_op_retain(acu_host(set_five, NULL, acu_inout(b->host[0])));
    acu_future *future = test_submit(device, last);
    for (int i = 0; i < length; i++) {
        acu_future_release(future);
        last = acu_op_retain(acu_zip(last));
        future = test_submit(device, last);
    }
    open_gate(b);
    ends(future, ACU_OK);
    assert_works(acu_device_wait(device, ACU_FOREVER));
    size_t blocks = acu_debug_live_blocks();
    acu_op_release(last);
    return blocks;
}

static void a_chain_of_ops_within_ops_takes_no_memory(void **state)
{
    (void)state;
    bench b = open_bench(INLINE);
    blocks_of_chain(&b, 100);
    size_t few = blocks_of_chain(&b, 10), many = blocks_of_chain(&b, 100);
    assert_true(many < few + 10);
    close_bench(&b);
}

/* Within one submission, which has planned the inner one before. */
static void an_op_within_an_op_of_the_same_submission(void **state)
{
    (void)state;
    bench b = open_bench(INLINE);
    close_gate(&b, false);
    acu_op *inner = acu_op_retain(acu_host(set_five, NULL, acu_inout(b.host[0])));
    acu_op *outer = acu_op_retain(acu_zip(inner));
    acu_op *behind = acu_op_named(acu_fill(b.there, acu_f32(1)), "behind");
    acu_submit_options options = {.size = sizeof options, .explain = true};
    acu_future *future;
    assert_works(acu_submit(b.devices[0], acu_zip(inner, outer, acu_after(behind, outer)),
                            &options, &future));
    acu_future *reader = test_submit(b.devices[0], acu_dup(b.there));
    is_open(reader); /* the fill does not begin before the host work is over */
    char text[4096];
    assert_works(acu_explain(future, ACU_EXPLAIN_TEXT, text, sizeof text, NULL));
    assert_non_null(strstr(text, "device 0, not issued"));
    open_gate(&b);
    ends(reader, ACU_OK);
    ends(future, ACU_OK);
    close_bench(&b);
}

typedef struct between {
    bench *b;
    bool submits;
} between;

static acu_op *make_fill(void *user, acu_val *values, size_t count)
{
    (void)values, (void)count;
    const between *m = user;
    if (m->submits)
        assert_works(acu_submit(NULL, acu_fill(m->b->there, acu_f32(2)), NULL, NULL));
    return acu_fill(m->b->there, acu_f32(3));
}

/* A function of the outer one submits something, so that the inner one is entered while the outer
 * one is planned. Nobody has the inner one any more. */
static void an_op_within_an_op_that_begins_early(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) {
        bench b = open_bench(INLINE);
        acu_device *device = b.devices[0];
        close_gate(&b, false);
        between m = {.b = &b, .submits = how % 2};
        acu_op *inner = acu_op_retain(acu_host(how < 2 ? break_off : set_five, NULL,
                                               acu_inout(b.host[0])));
        acu_op *outer = acu_op_retain(acu_zip(inner, acu_then(acu_value(b.there), make_fill, &m)));
        acu_future *first = test_submit(device, acu_zip(inner, outer));
        acu_future *second = test_submit(device, outer);
        is_open(second);
        open_gate(&b);
        ends(second, how < 2 ? ACU_ERR_CALLBACK : ACU_OK);
        ends(first, how < 2 ? ACU_ERR_CALLBACK : ACU_OK);
        close_bench(&b);
    }
}

/* In a finally: one op without work, and another that uses it. */
static void an_op_without_work_within_an_op(void **state)
{
    (void)state;
    bench b = open_bench(INLINE);
    acu_op *inner = acu_op_retain(acu_zip(acu_scalar(acu_f32(1))));
    acu_op *outer = acu_op_retain(acu_zip(inner, acu_fill(b.there, acu_f32(2))));
    acu_op *last = acu_zip(inner, outer);
    ends(test_submit(b.devices[0], acu_finally(acu_scalar(acu_f32(3)), last)), ACU_OK);
    ends(test_submit(b.devices[0], outer), ACU_OK);
    close_bench(&b);
}

/* The program holds the outer one: so the inner one is computed, though both submissions are given
 * up. */
static void an_op_within_an_op_is_wanted(void **state)
{
    (void)state;
    bench b = open_bench(INLINE);
    acu_device *device = b.devices[0];
    close_gate(&b, false);
    acu_op *inner = acu_op_retain(acu_host(set_five, NULL, acu_out(b.host[0])));
    acu_future *first = test_submit(device, inner);
    acu_op *outer = acu_op_retain(acu_zip(inner));
    acu_future *second = test_submit(device, outer);
    assert_works(acu_future_cancel(first));
    assert_works(acu_future_cancel(second));
    open_gate(&b);
    assert_works(acu_device_wait(device, ACU_FOREVER));
    assert_works(acu_sync(device, acu_copy(b.there, acu_first(outer)), NULL));
    float read[N];
    assert_works(acu_read_sync(b.there, read, sizeof read));
    assert_true(read[0] == 5);
    acu_future_release(first);
    acu_future_release(second);
    close_bench(&b);
}

/* The same, where the outer op is used twice, but by one submission alone. */
static void an_op_within_an_op_used_twice_is_wanted(void **state)
{
    (void)state;
    bench b = open_bench(INLINE);
    acu_device *device = b.devices[0];
    close_gate(&b, false);
    acu_op *inner = acu_op_retain(acu_host(set_five, NULL, acu_out(b.host[0])));
    acu_future *first = test_submit(device, inner);
    acu_op *outer = acu_zip(inner), *again = acu_op_retain(outer);
    acu_future *second = test_submit(device, acu_zip(outer, again));
    assert_works(acu_future_cancel(first));
    open_gate(&b);
    assert_works(acu_future_wait(second, ACU_FOREVER));
    assert_true(*(float *)acu_tensor_host(b.host[0]) == 5);
    acu_future_release(first);
    acu_future_release(second);
    close_bench(&b);
}

/* What the program says around an op that several submissions use is each one's own. */
static void each_has_its_own_context(void **state)
{
    (void)state;
    bench b = open_bench(INLINE);
    acu_op *op = acu_with_context(acu_host(break_off, NULL, acu_u32(0)), "inside");
    acu_op_retain(op);
    acu_op_retain(op);
    acu_future *users[] = {
        test_submit(b.devices[0], acu_with_context(acu_with_context(op, "a"), "outer a")),
        test_submit(b.devices[0], acu_with_context(op, "b")), test_submit(b.devices[0], op)};
    const char *const want[] = {"outer a: a: inside", "b: inside", "inside"};
    for (size_t i = 0; i < sizeof users / sizeof *users; i++) {
        acu_error error;
        assert_int_equal(acu_future_wait(users[i], ACU_FOREVER), ACU_ERR_CALLBACK);
        assert_int_equal(acu_future_error(users[i], &error), ACU_ERR_CALLBACK);
        assert_string_equal(error.context, want[i]);
        acu_future_release(users[i]);
    }
    close_bench(&b);
}

/* A failure inside the op, where an alternative covers it, does not reach the op's users. */
static void an_op_with_an_alternative_of_its_own(void **state)
{
    (void)state;
    bench b = open_bench(INLINE);
    close_gate(&b, false);
    acu_op *op = acu_or_else(acu_host(break_off, NULL, acu_inout(b.host[0])),
                             acu_host(set_five, NULL, acu_out(b.host[0])));
    acu_op_retain(op);
    acu_future *first = test_submit(b.devices[0], op), *second = test_submit(b.devices[0], op);
    is_open(second);
    open_gate(&b);
    ends(second, ACU_OK);
    assert_true(((float *)acu_tensor_host(b.host[0]))[0] == 5);
    ends(first, ACU_OK);
    close_bench(&b);
}

/* An alternative also replaces values that other submissions were to compute. */
static void an_alternative_to_what_others_compute(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) {
        bench b = open_bench(INLINE);
        close_gate(&b, how == 1);
        acu_op *op = acu_host(how == 2 ? break_off : set_five, NULL, acu_inout(b.host[0]));
        acu_op_retain(op);
        acu_future *first = test_submit(b.devices[0], op);
        acu_op *other = acu_full(VECTOR, acu_f32(7));
        acu_future *second = test_submit(b.devices[0], acu_or_else(op, acu_to_host(other)));
        is_open(second);
        open_gate(&b);
        ends(second, ACU_OK);
        assert_true(((float *)acu_tensor_host(b.host[0]))[0] == (how == 0 ? 5 : 7));
        ends(first, how == 0 ? ACU_OK : how == 1 ? ACU_ERR_DEPENDENCY : ACU_ERR_CALLBACK);
        close_bench(&b);
    }
}

/* If nobody wants the op any more, its work is not done ... */
static void all_users_given_up(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) {
        bench b = open_bench(INLINE);
        close_gate(&b, false);
        acu_op *op = acu_host(set_five, NULL, acu_inout(b.host[0])), *other = NULL, *kept = NULL;
        if (how == 1)
            other = acu_host(set_five, NULL, acu_inout(b.host[0]));
        op = acu_op_retain(how == 0 ? acu_first(op) : other ? acu_or_else(op, other) : op);
        if (how == 3)
            kept = acu_op_retain(op);
        acu_future *first = test_submit(b.devices[0], op), *second = test_submit(b.devices[0], op);
        assert_works(acu_future_cancel(first));
        assert_works(acu_future_cancel(second));
        ends(first, ACU_ERR_CANCELLED);
        ends(second, ACU_ERR_CANCELLED);
        open_gate(&b);
        assert_works(acu_device_wait(b.devices[0], ACU_FOREVER));
        /* ... unless the program keeps the op, and may still submit it. */
        assert_true(((float *)acu_tensor_host(b.host[0]))[0] == (kept ? 5 : 0));
        acu_op_release(kept);
        close_bench(&b);
    }
}

/* ---- what there is nothing to wait for ---- */

static void complete_at_once(void **state)
{
    (void)state;
    bench b = open_bench(INLINE);
    acu_op *op = acu_op_retain(acu_host(set_five, NULL, acu_inout(b.host[0])));
    assert_works(acu_sync(b.devices[0], op, NULL));
    acu_op *ops[] = {op, acu_value(b.host[0]), acu_value(b.there),
                     acu_slice(b.there, ACU_SHAPE(0), ACU_SHAPE(2)),
                     acu_zip(acu_value(b.there), acu_scalar(acu_f32(1)))};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        acu_future *future = test_submit(b.devices[0], ops[i]);
        assert_int_equal(acu_future_poll(future), ACU_OK);
        acu_future_release(future);
    }
    /* Later writes do not matter, nor do writes of other bytes. */
    close_gate(&b, false);
    acu_tensor *halves[2];
    for (int i = 0; i < 2; i++)
        assert_works(acu_tensor_slice(b.there, &(int64_t){2 * i}, &(int64_t){2 * i + 2},
                                      &halves[i]));
    acu_future *writer = test_submit(
        b.devices[0], acu_after_future(acu_fill(halves[1], acu_f32(1)), b.gate));
    acu_future *other = test_submit(b.devices[0], acu_value(halves[0]));
    assert_int_equal(acu_future_poll(other), ACU_OK);
    acu_future *whole = test_submit(b.devices[0], acu_value(b.there));
    is_open(whole);
    open_gate(&b);
    ends(writer, ACU_OK);
    ends(whole, ACU_OK);
    acu_future_release(other);
    for (int i = 0; i < 2; i++)
        acu_tensor_release(halves[i]);
    close_bench(&b);
}

static acu_status note(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)stream, (void)values, (void)count;
    *(bool *)user = true;
    return ACU_OK;
}

/* A submission that only waits for others does not hold up later ones: these go to the device at
 * once. */
static void a_submission_that_only_waits_holds_nobody_up(void **state)
{
    (void)state;
    bench b = open_bench(INLINE);
    acu_stream *stream;
    bool issued = false;
    assert_works(acu_stream_create(b.devices[0], 0, &stream));
    acu_submit_options options = {.size = sizeof options, .stream = stream};
    acu_future *first, *second, *third;
    test_gate_close(b.devices[0], acu_stream_raw(stream));
    assert_works(acu_submit(NULL, acu_fill(b.there, acu_f32(1)), &options, &first));
    assert_works(acu_submit(NULL, acu_value(b.there), NULL, &second));
    assert_works(acu_submit(NULL, acu_foreign(note, &issued, acu_inout(b.there)), NULL, &third));
    assert_true(issued);
    is_open(second);
    test_gate_open();
    ends(third, ACU_OK);
    ends(second, ACU_OK);
    ends(first, ACU_OK);
    acu_stream_release(stream);
    close_bench(&b);
}

/* ---- acu_sync, groups, graphs ---- */

typedef struct syncing {
    bench *b;
    acu_op *op;
    bool wanted;
    float seen;
} syncing;

static void *sync_op(void *user)
{
    syncing *s = user;
    acu_tensor *t = NULL;
    assert_works(acu_sync(s->b->devices[0], s->op, s->wanted ? &t : NULL));
    s->seen = ((float *)acu_tensor_host(s->b->host[0]))[0];
    acu_tensor_release(t);
    return NULL;
}

static void sync_waits(void **state)
{
    (void)state;
    bench b = open_bench(INLINE);
    for (int how = 0; how < 6; how++) {
        close_gate(&b, false);
        acu_op *op = acu_op_retain(acu_host(set_five, NULL, acu_inout(b.host[0])));
        acu_future *first = test_submit(b.devices[0], op);
        if (how / 2 == 1)
            op = acu_zip(op, acu_zeros(ACU_F32, VECTOR));
        if (how / 2 == 2)
            op = acu_zip(acu_first(op), acu_zeros(ACU_F32, VECTOR));
        syncing s = {.b = &b, .op = op, .wanted = how % 2};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, sync_op, &s), 0);
        test_threads_rest(); /* it waits, or has ended */
        open_gate(&b);
        pthread_join(thread, NULL);
        assert_true(s.seen == 5);
        ends(first, ACU_OK);
    }
    close_bench(&b);
}

static void groups_wait(void **state)
{
    (void)state;
    bench b = open_bench(INLINE);
    close_gate(&b, true);
    acu_group *group;
    assert_works(acu_group_create(NULL, &group));
    acu_op *op = acu_op_retain(acu_host(set_five, NULL, acu_inout(b.host[0])));
    acu_future *first = test_submit(b.devices[0], op), *second = NULL;
    assert_works(acu_group_submit(group, b.devices[0], op, NULL, &second));
    is_open(second);
    open_gate(&b);
    assert_int_equal(acu_group_wait(group, ACU_FOREVER), ACU_ERR_DEPENDENCY);
    ends(second, ACU_ERR_DEPENDENCY);
    ends(first, ACU_ERR_DEPENDENCY);
    acu_group_release(group);
    close_bench(&b);
}

/* Each replay waits for the values that its graph only passes on. */
static void replays_wait(void **state)
{
    (void)state;
    bench b = open_bench(INLINE);
    acu_graph *graph;
    close_gate(&b, false);
    acu_op *op = acu_op_retain(acu_host(set_five, NULL, acu_inout(b.host[0])));
    acu_future *first = test_submit(b.devices[0], op);
    assert_works(acu_graph_load(b.devices[0], acu_zip(op, acu_fill(b.there, acu_f32(3))), NULL,
                                &graph));
    assert_int_equal(acu_graph_values(graph), 2);
    acu_future *second = test_submit(b.devices[0], acu_replay(graph));
    is_open(second);
    open_gate(&b);
    ends(second, ACU_OK);
    ends(first, ACU_OK);
    close_gate(&b, true);
    second = test_submit(b.devices[0], acu_replay(graph));
    is_open(second);
    open_gate(&b);
    ends(second, ACU_ERR_DEPENDENCY);
    assert_fails(acu_graph_load(b.devices[0], acu_value(b.there), NULL, &(acu_graph *){0}),
                 ACU_ERR_INVALID, "");
    acu_graph_release(graph);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passed_on),
        cmocka_unit_test(passed_on_by_a_runtime_thread),
        cmocka_unit_test(passed_on_to_another_device),
        cmocka_unit_test(an_op_that_failed_has_failed_for_all),
        cmocka_unit_test(an_op_that_failed_fails_users_that_drop_its_values),
        cmocka_unit_test(an_op_that_failed_fails_users_that_ignore_its_values),
        cmocka_unit_test(an_op_that_was_refused),
        cmocka_unit_test(an_op_within_an_op),
        cmocka_unit_test(a_chain_of_ops_within_ops_takes_no_memory),
        cmocka_unit_test(an_op_within_an_op_of_the_same_submission),
        cmocka_unit_test(an_op_within_an_op_that_begins_early),
        cmocka_unit_test(an_op_without_work_within_an_op),
        cmocka_unit_test(an_op_within_an_op_is_wanted),
        cmocka_unit_test(an_op_within_an_op_used_twice_is_wanted),
        cmocka_unit_test(each_has_its_own_context),
        cmocka_unit_test(an_op_with_an_alternative_of_its_own),
        cmocka_unit_test(an_alternative_to_what_others_compute),
        cmocka_unit_test(all_users_given_up),
        cmocka_unit_test(complete_at_once),
        cmocka_unit_test(a_submission_that_only_waits_holds_nobody_up),
        cmocka_unit_test(sync_waits),
        cmocka_unit_test(groups_wait),
        cmocka_unit_test(replays_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
