/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What plays a random program (programs.h): a process, or a thread that stands for one. */
#ifndef ACUDA_TESTS_COMM_PLAYER_H
#define ACUDA_TESTS_COMM_PLAYER_H

#include "comm/comm.h"
#include "comm/programs.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>

/* Of collectives, where one may be missing for good. Others may be late on a busy machine: then
 * that is one more thing that went wrong. */
static uint64_t limit = ACU_MS(300);
static void (*report)(int error); /* the fake's */

static uint64_t number_in(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    return text ? strtoull(text, NULL, 0) : otherwise;
}

/* ---- a process, or what plays one ------------------------------------------------------------ */

typedef struct scaling {
    int32_t factor, plus;
} scaling;

typedef struct player {
    const program *p;
    int first, here; /* its ranks */
    acu_device *devices[RANKS];
    acu_comm *comm;
    const char *file; /* by which players meet, or NULL */
    acu_tensor *t[RANKS][TENSORS]; /* of the ranks here */
    scaling scalings[STEPS][RANKS];
    acu_future *futures[2 * STEPS * RANKS];
    int future_count;
    acu_future *cancelled; /* soon */
    bool gone;
} player;

static bool has(const player *x, int rank)
{
    return rank >= x->first && rank < x->first + x->here;
}

static bool is_gone_from(const player *x, int k)
{
    return x->p->trouble >= GONE_TOLD && has(x, x->p->troubled) && k >= x->p->when;
}

static void open_comm(player *x, acu_comm_backend backend, const char *file, int rank, int ranks)
{
    acu_comm_options options = {.size = sizeof options, .backend = backend,
                                .devices = x->devices, .device_count = (size_t)x->here,
                                .rank = file ? rank : 0, .ranks = file ? ranks : 0, .file = file};
    assert_works(acu_comm_open(&options, &x->comm));
    if (x->p->trouble != NONE && (file || backend == ACU_COMM_MPI))
        x->comm->timeout = limit; /* not for opening it, as it would be in the options */
}

static void make_tensors(player *x)
{
    for (int i = 0; i < x->here; i++)
        for (int t = 0; t < TENSORS; t++) {
            acu_tensor **made = &x->t[i][t];
            acu_device *device = x->devices[i];
            assert_works(t == HOST ? acu_tensor_alloc_pinned(device, ACU_I32, ACU_SHAPE(N), made)
                                   : acu_tensor_alloc(device, ACU_I32, ACU_SHAPE(N), made));
            assert_works(acu_write_sync(*made, x->p->before.of[x->first + i][t], N * 4));
        }
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* `k`: the step. Nothing must be refused when it is submitted. */
static void submit(player *x, int k, acu_op *op, acu_device *device)
{
    const program *p = x->p;
    bool troubled = k == p->when && has(x, p->troubled);
    acu_submit_options options = {.size = sizeof options};
    if (troubled && p->trouble == DEADLINE)
        options.timeout = p->time;
    acu_future **future = &x->futures[x->future_count++];
    assert_works(acu_submit(device, op, &options, future));
    if (troubled && p->trouble == CANCEL)
        x->cancelled = *future;
    if (x->cancelled && k >= p->when + p->later) {
        assert_works(acu_future_cancel(x->cancelled));
        x->cancelled = NULL;
    }
}

static acu_status scale_host(void *user, const acu_val *values, size_t n)
{
    const scaling *s = user;
    int32_t *at = acu_tensor_host(values[0].tensor);
    (void)n;
    for (int i = 0; i < N; i++)
        at[i] = (int32_t)((uint32_t)at[i] * (uint32_t)s->factor + (uint32_t)s->plus);
    return ACU_OK;
}

static acu_status fail_it(void *user, const acu_val *values, size_t n)
{
    (void)user, (void)values, (void)n;
    return ACU_ERR_NOT_FOUND;
}

static acu_op *scaled_op(acu_tensor *t, const step *s, int rank)
{
    acu_op *x = acu_mul(t, acu_scalar(acu_i32(s->factor)));
    return acu_into(t, acu_add(x, acu_scalar(acu_i32(s->plus + rank))));
}

static void run_here(player *x, int k, int i)
{
    const step *s = &x->p->steps[k];
    acu_tensor *a = x->t[i][s->a], *b = x->t[i][s->b];
    int rank = x->first + i;
    if (s->what == ADD)
        submit(x, k, acu_into(b, acu_add(b, a)), x->devices[i]);
    else if (s->what == COPY)
        submit(x, k, acu_copy(b, a), x->devices[i]);
    else if (s->b != HOST)
        submit(x, k, scaled_op(b, s, rank), x->devices[i]);
    else {
        x->scalings[k][i] = (scaling){s->factor, s->plus + rank};
        submit(x, k, acu_host(scale_host, &x->scalings[k][i], acu_inout(b)), x->devices[i]);
    }
}

static acu_op *piece(acu_op *t, int offset, int elements, int stride)
{
    return acu_slice_step(t, ACU_SHAPE(offset), ACU_SHAPE(offset + (elements - 1) * stride + 1),
                          ACU_SHAPE(stride));
}

static acu_op *collective_of(player *x, const step *s)
{
    acu_op *in[RANKS] = {NULL}, *out[RANKS] = {NULL};
    bool any_in = false, any_out = false;
    for (int i = 0; i < x->here; i++) {
        int r = x->first + i, all_of = x->p->ranks * s->part;
        acu_tensor *a = x->t[i][s->a], *b = x->t[i][s->b];
        if (s->has_in[r])
            in[i] = piece(acu_value(a), s->from, s->whole_in ? all_of : s->part, s->stride);
        if (s->has_out[r])
            out[i] = piece(s->scaled ? scaled_op(b, s, r) : acu_value(b), s->to,
                           s->whole_out ? all_of : s->part, s->stride);
        any_in |= in[i] != NULL;
        any_out |= out[i] != NULL;
    }
    return acu_op_collective(x->comm, &s->collective, any_in ? in : NULL, any_out ? out : NULL,
                             (size_t)x->here, ACU_SITE);
}

static void run_step_of(player *x, int k)
{
    const step *s = &x->p->steps[k];
    if (s->what == COLLECTIVE) {
        submit(x, k, collective_of(x, s), x->devices[0]);
    } else if (s->what == MESSAGE) {
        if (has(x, s->on))
            submit(x, k, acu_comm_send(x->comm, s->collective.rank,
                                       piece(acu_value(x->t[0][s->a]), s->from, s->part,
                                             s->stride)), x->devices[0]);
        if (has(x, s->collective.rank))
            submit(x, k, acu_comm_receive(x->comm, s->on,
                                          piece(acu_value(x->t[0][s->b]), s->to, s->part,
                                                s->stride)), x->devices[0]);
    } else {
        for (int i = 0; i < x->here; i++)
            if (takes_part(s, x->first + i))
                run_here(x, k, i);
    }
    if (x->p->trouble == FAIL && k == x->p->when && has(x, x->p->troubled)) {
        int i = x->p->troubled - x->first;
        submit(x, k, acu_host(fail_it, NULL, acu_inout(x->t[i][HOST])), x->devices[i]);
    }
}

/* ---- ends ------------------------------------------------------------------------------------ */

static bool is_expected(const program *p, acu_status status)
{
    return status == ACU_OK ||
           (p->trouble != NONE &&
            (status == ACU_ERR_DEPENDENCY || status == ACU_ERR_CANCELLED ||
             status == ACU_ERR_DEADLINE || status == ACU_ERR_INVALID || status == ACU_ERR_DRIVER ||
             status == ACU_ERR_CALLBACK));
}

static void say(const program *p)
{
    print_message("program %llu of %d ranks; trouble %d in step %d of rank %d\n",
                  (unsigned long long)p->number, p->ranks, (int)p->trouble, p->when, p->troubled);
}

static void expect(const player *x, acu_status status, const char *which)
{
    if (is_expected(x->p, status))
        return;
    say(x->p);
    print_message("%s, ranks %d from %d: %d: %s\n", which, x->here, x->first, (int)status,
                  acu_last_error()->message);
    fail();
}

static void end_futures(player *x)
{
    for (int i = 0; i < x->future_count; i++) {
        expect(x, acu_future_wait(x->futures[i], ACU_FOREVER), "a future");
        acu_future_release(x->futures[i]);
    }
    x->future_count = 0;
}

static void compare_tensors(player *x)
{
    int32_t is[N];
    for (int i = 0; i < x->here; i++)
        for (int t = 0; t < TENSORS; t++) {
            const int32_t *want = x->p->after.of[x->first + i][t];
            acu_status status = acu_read_sync(x->t[i][t], is, sizeof is);
            expect(x, status, "a tensor");
            if (status == ACU_OK && !x->gone && memcmp(is, want, sizeof is) != 0) {
                say(x->p);
                print_message("rank %d, tensor %d is wrong\n", x->first + i, t);
                assert_memory_equal(is, want, sizeof is);
            }
            acu_tensor_release(x->t[i][t]);
        }
}

/* Those that are left add up ones. */
static void go_on(player *x)
{
    int32_t sum = 0, left = x->p->ranks - (x->p->trouble >= GONE_TOLD ? x->here : 0);
    acu_tensor *t[RANKS];
    acu_op *ops[RANKS];
    acu_collective add = {.kind = ACU_ALL_REDUCE, .reduction = ACU_REDUCE_SUM};
    for (int i = 0; i < x->here; i++) {
        assert_works(acu_sync(x->devices[i], acu_ones(ACU_I32, ACU_SHAPE(1)), &t[i]));
        ops[i] = acu_value(t[i]);
    }
    assert_works(acu_sync(x->devices[0], acu_op_collective(x->comm, &add, NULL, ops,
                                                           (size_t)x->here, ACU_SITE), NULL));
    for (int i = 0; i < x->here; i++) {
        assert_works(acu_read_sync(t[i], &sum, sizeof sum));
        assert_int_equal(sum, left);
        acu_tensor_release(t[i]);
    }
    assert_works(acu_comm_close(x->comm, ACU_FOREVER));
}

/* Until the program is over for this player. */
static void play(player *x)
{
    make_tensors(x);
    for (int k = 0; k < STEPS && !x->gone; k++) {
        x->gone = is_gone_from(x, k);
        if (!x->gone)
            run_step_of(x, k);
        else if (x->p->trouble == GONE_TOLD && report)
            report(6);
    }
    if (x->cancelled)
        assert_works(acu_future_cancel(x->cancelled));
    x->cancelled = NULL;
    if (x->gone)
        return;
    end_futures(x);
    compare_tensors(x);
}

#endif
