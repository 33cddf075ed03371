/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Collectives against a serial model, and what goes wrong. This program is one process with two to
 * four devices, and acuda's own collectives (test_nccl.c: by NCCL); test_mpi.sh runs it again under
 * mpiexec, where a process has one device, or as many as ACUDA_TEST_DEVICES says.
 */
#include "comm/comm.h"
#include "comm/model.h"

#include <dlfcn.h>

static bool mpi;
static acu_comm *base; /* keeps MPI in use */

static acu_comm *open_comm(bool checked, uint64_t timeout)
{
    acu_comm *comm;
    acu_comm_options options = {.size = sizeof options, .devices = devices, .device_count = here,
                                .backend = mpi ? ACU_COMM_MPI : ACU_COMM_PROCESS,
                                .checked = checked, .timeout = timeout};
    assert_works(acu_comm_open(&options, &comm));
    return comm;
}

static void close_comm(acu_comm *comm)
{
    assert_works(acu_comm_close(comm, ACU_FOREVER));
}

static void count_devices(void)
{
    acu_open_options options = test_options(0);
    int count;
    assert_works(acu_device_count_load(&options, &count));
    here = count < 2 ? 2 : count > 4 ? 4 : (size_t)count; /* of one, test_open_n skips the test */
    ranks = (int)here;
}

/* With MPI, which starts only once, the device and one communicator stay. */
static void begin(void)
{
    if (mpi && base)
        return;
    if (!mpi)
        count_devices();
    test_open_n(devices, (int)here);
    base = open_comm(false, 0);
    assert_int_equal(acu_comm_rank(base), first);
    assert_int_equal(acu_comm_ranks(base), ranks);
    print_message("%d ranks, %s\n", ranks, acu_comm_library(base));
}

static void end(void)
{
    if (mpi)
        return;
    close_comm(base);
    for (size_t i = 0; i < here; i++)
        test_close(devices[i]);
    test_leaks_none();
}

/* ---- programs -------------------------------------------------------------------------------- */

static void collectives_match_a_serial_model(void **state)
{
    (void)state;
    begin();
    acu_comm *comm = open_comm(false, 0);
    random_programs(comm, 20);
    close_comm(comm);
    end();
}

static void so_do_checked_ones(void **state)
{
    (void)state;
    begin();
    acu_comm *comm = open_comm(true, 0);
    random_programs(comm, 4);
    close_comm(comm);
    end();
}

/* Several are made at once, in one order; each adds up on its own. */
static void they_are_made_aside(void **state)
{
    (void)state;
    enum { AT_ONCE = 3 };
    begin();
    acu_comm *comm[AT_ONCE];
    acu_future *f[AT_ONCE];
    acu_comm_options options = {.size = sizeof options, .devices = devices, .device_count = here,
                                .backend = mpi ? ACU_COMM_MPI : ACU_COMM_AUTO};
    for (int i = 0; i < AT_ONCE; i++)
        assert_works(acu_comm_open_async(&options, &comm[i], &f[i]));
    for (int i = AT_ONCE; i-- > 0;) {
        assert_works(acu_future_wait(f[i], ACU_FOREVER));
        acu_future_release(f[i]);
        assert_int_equal(acu_comm_ranks(comm[i]), ranks);
        random_programs(comm[i], 1);
    }
    for (int i = 0; i < AT_ONCE; i++)
        close_comm(comm[i]);
    end();
}

/* 16 and three times 1 are 19, which becomes 20: added up in 8 bits, 16 stays. */
static void floats_of_8_bits_are_rounded_once(void **state)
{
    (void)state;
    static const acu_dtype tiny[] = {ACU_F8E4M3FN, ACU_F8E5M2};
    begin();
    for (int k = 0; k < 2; k++) {
        acu_op *ops[MOST];
        acu_tensor *x[MOST];
        acu_collective what = {.kind = ACU_ALL_REDUCE, .reduction = ACU_REDUCE_SUM};
        for (size_t i = 0; i < here; i++) {
            int value[1] = {first + (int)i ? 1 : 16};
            ops[i] = acu_value(x[i] = tensor_of(devices[i], i == 1, tiny[k], value, 1));
        }
        assert_works(acu_sync(devices[0], acu_op_collective(base, &what, NULL, ops, here, ACU_SITE),
                              NULL));
        for (size_t i = 0; i < here; i++) {
            holds(x[i], (int[]){15 + ranks});
            acu_tensor_release(x[i]);
        }
    }
    end();
}

/* ---- order ----------------------------------------------------------------------------------- */

/* A chain over the same tensor, with a kernel of each rank's own between two collectives. */
static void order_follows_from_data(void **state)
{
    (void)state;
    begin();
    acu_comm *comm = open_comm(false, 0);
    acu_tensor *x[MOST];
    int one[1] = {1}, want = 1;
    for (size_t i = 0; i < here; i++)
        x[i] = tensor_of(devices[i], false, ACU_I32, one, 1);
    for (int step = 0; step < 5; step++) {
        acu_op *ops[MOST];
        for (size_t i = 0; i < here; i++)
            ops[i] = acu_into(x[i], acu_add(x[i], acu_scalar(acu_i32(first + (int)i))));
        acu_collective what = {.kind = ACU_ALL_REDUCE, .reduction = ACU_REDUCE_SUM};
        acu_future_release(test_submit(devices[0], acu_op_collective(comm, &what, NULL, ops, here,
                                                                     ACU_SITE)));
        want = want * ranks + ranks * (ranks - 1) / 2;
    }
    for (size_t i = 0; i < here; i++) {
        holds(x[i], &want);
        acu_tensor_release(x[i]);
    }
    close_comm(comm);
    end();
}

static void barriers_end(void **state)
{
    (void)state;
    begin();
    acu_collective what = {.kind = ACU_BARRIER};
    for (int i = 0; i < 3; i++)
        assert_works(acu_sync(devices[0], acu_op_collective(base, &what, NULL, NULL, 0, ACU_SITE),
                              NULL));
    end();
}

/* Everybody sends to the next first, and receives then. */
static void sends_and_receives_pass_each_other(void **state)
{
    (void)state;
    if (!mpi || here > 1)
        skip();
    begin();
    int value[1] = {first}, want = (first + ranks - 1) % ranks;
    acu_tensor *x = tensor_of(devices[0], false, ACU_I32, value, 1);
    acu_tensor *y = tensor_of(devices[0], false, ACU_I32, value, 1);
    acu_future *sent = test_submit(devices[0], acu_comm_send(base, (first + 1) % ranks, x));
    acu_future *got = test_submit(devices[0], acu_comm_receive(base, want, y));
    assert_works(acu_future_wait(got, ACU_FOREVER));
    assert_works(acu_future_wait(sent, ACU_FOREVER));
    holds(y, &want);
    acu_future_release(sent);
    acu_future_release(got);
    acu_tensor_release(x);
    acu_tensor_release(y);
    end();
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Each rank sends to the next, and receives from the one before. */
static void neighbours_exchange(void **state)
{
    (void)state;
    begin();
    acu_tensor *x[MOST], *y[MOST];
    acu_op *ops[2 * MOST];
    for (size_t i = 0; i < here; i++) {
        int rank = first + (int)i, before = (rank + ranks - 1) % ranks;
        acu_op *in[MOST] = {NULL}, *out[MOST] = {NULL};
        in[i] = acu_value(x[i] = tensor_of(devices[i], false, ACU_I32, (int[]){rank, 7}, 2));
        out[i] = acu_value(y[i] = tensor_of(devices[i], i == 0, ACU_I32, (int[]){0, 0}, 2));
        acu_collective send = {.kind = ACU_SEND, .rank = (rank + 1) % ranks};
        acu_collective receive = {.kind = ACU_RECEIVE, .rank = before};
        ops[2 * i] = acu_op_collective(base, &send, in, NULL, here, ACU_SITE);
        ops[2 * i + 1] = acu_op_collective(base, &receive, NULL, out, here, ACU_SITE);
    }
    assert_works(acu_sync(devices[0], acu_comm_group(base, ops, 2 * here), NULL));
    for (size_t i = 0; i < here; i++) {
        holds(y[i], (int[]){(first + (int)i + ranks - 1) % ranks, 7});
        acu_tensor_release(x[i]);
        acu_tensor_release(y[i]);
    }
    end();
}

/* Rank a sends a * b numbers to rank b, which may be none, each 10 * a + b, from and to pieces of
 * one tensor, strided ones on the device. */
static int uneven_at(int from, int to, int *n) /* offset; *n: elements */
{
    int at = 0;
    for (int b = 0; b < to; b++)
        at += from * b;
    *n = from * to;
    return at;
}

static acu_op *uneven_piece(acu_tensor *t, int at, int n)
{
    return acu_slice_step(acu_value(t), ACU_SHAPE(2 * at),
                          ACU_SHAPE(n ? 2 * (at + n) - 1 : 2 * at), ACU_SHAPE(2));
}

static void all_to_all_of_other_lengths(void **state)
{
    (void)state;
    enum { N = 2 * MOST * MOST * MOST };
    static int values[N];
    begin();
    acu_tensor *x[MOST], *y[MOST];
    acu_op *ops[2 * MOST * MOST];
    size_t count = 0;
    int n;
    for (size_t i = 0; i < here; i++) {
        int r = first + (int)i;
        assert_works(acu_tensor_alloc(devices[i], ACU_I32, ACU_SHAPE(N), &x[i]));
        assert_works(acu_tensor_alloc(devices[i], ACU_I32, ACU_SHAPE(N), &y[i]));
        assert_works(acu_sync(devices[i], acu_fill(y[i], acu_i32(-1)), NULL));
        memset(values, 0, sizeof values);
        for (int s = 0; s < ranks; s++)
            for (int j = 0, at = uneven_at(r, s, &n); j < n; j++)
                values[2 * (at + j)] = 10 * r + s;
        assert_works(acu_write_sync(x[i], values, sizeof values));
        for (int s = 0; s < ranks; s++) {
            acu_op *in[MOST] = {NULL}, *out[MOST] = {NULL};
            acu_collective send = {.kind = ACU_SEND, .rank = s};
            acu_collective receive = {.kind = ACU_RECEIVE, .rank = s};
            int at = uneven_at(r, s, &n);
            in[i] = uneven_piece(x[i], at, n);
            at = uneven_at(r, s, &n); /* as many come, as the lengths are symmetric */
            out[i] = uneven_piece(y[i], at, n);
            ops[count++] = acu_op_collective(base, &receive, NULL, out, here, ACU_SITE);
            ops[count++] = acu_op_collective(base, &send, in, NULL, here, ACU_SITE);
        }
    }
    assert_works(acu_sync(devices[0], acu_comm_group(base, ops, count), NULL));
    for (size_t i = 0; i < here; i++) {
        assert_works(acu_read_sync(y[i], values, sizeof values));
        for (int s = 0, r = first + (int)i; s < ranks; s++)
            for (int j = 0, at = uneven_at(r, s, &n); j < n; j++) {
                assert_int_equal(values[2 * (at + j)], 10 * s + r);
                assert_int_equal(values[2 * (at + j) + 1], -1); /* in between */
            }
        acu_tensor_release(x[i]);
        acu_tensor_release(y[i]);
    }
    end();
}

/* The root's is transposed, and the others have it in one row. */
/* The last rank alone gives nothing, and waits for nobody. */
static void nothing_is_not_sent(void **state)
{
    (void)state;
    begin();
    acu_collective what = {.kind = ACU_ALL_GATHER};
    acu_op *in[MOST], *out[MOST];
    for (size_t i = 0; i < here; i++) {
        in[i] = acu_on(devices[i], acu_empty(ACU_F16, ACU_SHAPE(3, 0)));
        out[i] = acu_on(devices[i], acu_empty(ACU_F16, ACU_SHAPE(0)));
    }
    acu_tensor *t = NULL;
    acu_op *op = acu_op_collective(base, &what, in, out, here, ACU_SITE);
    if (first + (int)here == ranks) {
        assert_works(acu_sync(devices[0], acu_op_nth(op, 0, ACU_SITE), &t));
        assert_int_equal(acu_tensor_shape(t).rank, 1);
        assert_int_equal(acu_tensor_elements(t), 0);
    } else {
        acu_op_release(op);
    }
    acu_tensor_release(t);
    end();
}

static void any_shape_and_strides(void **state)
{
    (void)state;
    begin();
    acu_op *ops[MOST];
    acu_tensor *x[MOST];
    for (size_t i = 0; i < here; i++) {
        x[i] = tensor_of(devices[i], false, ACU_I32, (int[]){1, 2, 3, 4, 5, 6}, 6);
        ops[i] = acu_value(x[i]);
        if (first + (int)i == ranks - 1)
            ops[i] = acu_transpose(acu_reshape(ops[i], ACU_SHAPE(2, 3)), 0, 1);
    }
    acu_collective what = {.kind = ACU_BROADCAST, .rank = ranks - 1};
    assert_works(acu_sync(devices[0], acu_op_collective(base, &what, NULL, ops, here, ACU_SITE),
                          NULL));
    for (size_t i = 0; i < here; i++) {
        bool is_root = first + (int)i == ranks - 1;
        holds(x[i], is_root ? (int[]){1, 2, 3, 4, 5, 6} : (int[]){1, 4, 2, 5, 3, 6});
        acu_tensor_release(x[i]);
    }
    end();
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void all_reduce_fails(acu_comm *comm, acu_op *x, acu_status want, const char *words)
{
    acu_op *ops[MOST];
    for (size_t i = 0; i < here; i++)
        ops[i] = acu_op_retain(x);
    acu_op_release(x);
    acu_collective what = {.kind = ACU_ALL_REDUCE, .reduction = ACU_REDUCE_SUM};
    assert_fails(acu_sync(devices[0], acu_op_collective(comm, &what, NULL, ops, here, ACU_SITE),
                          NULL),
                 want, words);
}

static void reduction_fails(acu_dtype dtype, acu_reduction how, const char *words)
{
    acu_op *ops[MOST];
    acu_tensor *x[MOST];
    acu_collective what = {.kind = ACU_ALL_REDUCE, .reduction = how};
    for (size_t i = 0; i < here; i++)
        ops[i] = acu_value(x[i] = tensor_of(devices[i], false, dtype, (int[]){0}, 1));
    assert_fails(acu_sync(NULL, acu_op_collective(base, &what, NULL, ops, here, ACU_SITE), NULL),
                 ACU_ERR_DTYPE, words);
    for (size_t i = 0; i < here; i++)
        acu_tensor_release(x[i]);
}

static void wrong_collectives_are_refused(void **state)
{
    (void)state;
    begin();
    int values[3] = {1, 2, 3};
    acu_tensor *x = tensor_of(devices[0], false, ACU_F32, values, 3);
    acu_tensor *b = tensor_of(devices[0], false, ACU_BOOL, values, 1);
    acu_op *op = acu_value(x);
    acu_collective what = {.kind = ACU_COLLECTIVE_COUNT};
    all_reduce_fails(NULL, acu_value(x), ACU_ERR_INVALID, "communicator");
    all_reduce_fails(base, acu_value(b), ACU_ERR_DTYPE, "all-reduce|bool");
    all_reduce_fails(base, acu_scalar(acu_f32(1)), ACU_ERR_INVALID, "no tensor");
    assert_fails(acu_sync(NULL, acu_op_collective(base, &what, NULL, &op, 1, ACU_SITE), NULL),
                 ACU_ERR_INVALID, "no such collective");
    what.kind = ACU_BARRIER;
    op = acu_value(x);
    assert_fails(acu_sync(NULL, acu_op_collective(base, &what, NULL, &op, 1, ACU_SITE), NULL),
                 ACU_ERR_INVALID, "barrier takes 0 operands");
    acu_op *ops[MOST] = {NULL};
    for (size_t i = 0; i < here; i++)
        ops[i] = acu_value(x);
    what = (acu_collective){.kind = ACU_BROADCAST, .rank = ranks};
    assert_fails(acu_sync(NULL, acu_op_collective(base, &what, NULL, ops, here, ACU_SITE), NULL),
                 ACU_ERR_INVALID, "broadcast|no rank");
    for (size_t i = 0; i < here; i++)
        ops[i] = acu_value(x);
    what.kind = ACU_ALL_REDUCE;
    what.reduction = ACU_REDUCE_NORM;
    assert_fails(acu_sync(NULL, acu_op_collective(base, &what, NULL, ops, here, ACU_SITE), NULL),
                 ACU_ERR_INVALID, "all-reduce|none of sum, prod, min, max and mean");
    reduction_fails(ACU_I32, ACU_REDUCE_MEAN, "all-reduce, rank|i32 has no mean|take the sum");
    reduction_fails(ACU_C64, ACU_REDUCE_MAX, "c64|only the sum and the mean");
    reduction_fails(ACU_F8E8M0FNU, ACU_REDUCE_SUM, "f8e8m0fnu can not be reduced");
    reduction_fails(ACU_F4E2M1FNX2, ACU_REDUCE_SUM, "f4e2m1fnx2 can not be reduced");
    for (size_t i = 0; i < here; i++)
        ops[i] = acu_value(x);
    what.reduction = ACU_REDUCE_SUM;
    op = acu_op_collective(base, &what, NULL, ops, here, ACU_SITE);
    if (here > 1)
        assert_fails(acu_sync(NULL, op, NULL), ACU_ERR_DEVICE, "is on device|not on its device, ");
    else
        acu_op_release(op);
    acu_tensor_release(x);
    acu_tensor_release(b);
    end();
}

static acu_op *barrier_of(acu_comm *comm)
{
    acu_collective what = {.kind = ACU_BARRIER};
    return acu_op_collective(comm, &what, NULL, NULL, 0, ACU_SITE);
}

static void group_fails(acu_op **ops, size_t count, acu_status status, const char *words)
{
    assert_fails(acu_sync(devices[0], acu_comm_group(base, ops, count), NULL), status, words);
}

static acu_op *fill_of(acu_tensor **x)
{
    acu_op *ops[MOST];
    acu_collective what = {.kind = ACU_ALL_REDUCE, .reduction = ACU_REDUCE_SUM};
    for (size_t i = 0; i < here; i++)
        ops[i] = acu_value(x[i]);
    return acu_op_collective(base, &what, NULL, ops, here, ACU_SITE);
}

static void wrong_groups_are_refused(void **state)
{
    (void)state;
    begin();
    acu_tensor *x[MOST];
    acu_comm *other = open_comm(false, 0);
    for (size_t i = 0; i < here; i++)
        x[i] = tensor_of(devices[i], false, ACU_I32, (int[]){1}, 1);
    assert_fails(acu_sync(NULL, acu_comm_group(NULL, NULL, 0), NULL), ACU_ERR_INVALID,
                 "communicator is none");
    group_fails(NULL, 1, ACU_ERR_INVALID, "1 to 1024 collectives, not 0");
    acu_op *ops[2] = {barrier_of(base), acu_value(x[0])};
    group_fails(ops, 2, ACU_ERR_INVALID, "number 1 of a group, value, is no collective of this");
    ops[0] = barrier_of(other);
    group_fails(ops, 1, ACU_ERR_INVALID, "number 0 of a group, barrier, is no collective of this");
    ops[0] = barrier_of(base);
    ops[1] = acu_op_retain(ops[0]);
    group_fails(ops, 1, ACU_ERR_INVALID, "used elsewhere");
    acu_op_release(ops[1]);
    ops[0] = barrier_of(base);
    ops[1] = NULL;
    group_fails(ops, 2, ACU_ERR_INVALID, "NULL");
    ops[0] = fill_of(x);
    ops[1] = fill_of(x);
    group_fails(ops, 2, ACU_ERR_INVALID, "number 0, all-reduce, and number 1, all-reduce|writes");
    acu_collective send = {.kind = ACU_SEND, .rank = ranks};
    acu_op *in[MOST] = {acu_value(x[0])};
    ops[0] = acu_op_collective(base, &send, in, NULL, here, ACU_SITE);
    group_fails(ops, 1, ACU_ERR_INVALID, "send: there is no rank");
    in[0] = NULL;
    send.rank = 0;
    ops[0] = acu_op_collective(base, &send, in, NULL, here, ACU_SITE);
    group_fails(ops, 1, ACU_ERR_INVALID, "no rank has");
    for (size_t i = 0; i < here; i++)
        acu_tensor_release(x[i]);
    close_comm(other);
    end();
}

/* Two ranks of this process must not share what one of them writes. */
static void operands_that_overlap_are_refused(void **state)
{
    (void)state;
    if (here == 1)
        skip();
    begin();
    acu_op *ops[MOST];
    acu_tensor *x[MOST];
    acu_collective what = {.kind = ACU_ALL_REDUCE, .reduction = ACU_REDUCE_SUM};
    for (size_t i = 0; i < here; i++)
        x[i] = tensor_of(devices[i], i < 2, ACU_I32, (int[]){1, 2, 3}, 3);
    for (size_t i = 0; i < here; i++) /* the second rank has the first one's */
        ops[i] = acu_slice(x[i == 1 ? 0 : i], ACU_SHAPE(i == 1), ACU_SHAPE(2 + (i == 1)));
    assert_fails(acu_sync(devices[0], acu_op_collective(base, &what, NULL, ops, here, ACU_SITE),
                          NULL),
                 ACU_ERR_INVALID, "all-reduce|what rank|and rank|overlaps");
    for (size_t i = 0; i < here; i++)
        acu_tensor_release(x[i]);
    end();
}

/* Between ranks of one process. */
static void messages_that_nobody_takes_are_refused(void **state)
{
    (void)state;
    if (here == 1)
        skip();
    begin();
    acu_tensor *x = tensor_of(devices[0], false, ACU_I32, (int[]){1, 2}, 2);
    acu_tensor *y = tensor_of(devices[1], false, ACU_I32, (int[]){1, 2}, 2);
    acu_collective send = {.kind = ACU_SEND, .rank = first + 1};
    acu_collective receive = {.kind = ACU_RECEIVE, .rank = first};
    acu_op *in[MOST] = {acu_value(x)}, *out[MOST] = {NULL, acu_value(y)}, *ops[2];
    ops[0] = acu_op_collective(base, &send, in, NULL, here, ACU_SITE);
    group_fails(ops, 1, ACU_ERR_INVALID, "sends to rank|does not receive");
    ops[0] = acu_op_collective(base, &receive, NULL, out, here, ACU_SITE);
    group_fails(ops, 1, ACU_ERR_INVALID, "receives from rank|does not send");
    in[0] = acu_value(x);
    out[1] = acu_slice(y, ACU_SHAPE(0), ACU_SHAPE(1));
    ops[0] = acu_op_collective(base, &receive, NULL, out, here, ACU_SITE);
    ops[1] = acu_op_collective(base, &send, in, NULL, here, ACU_SITE);
    group_fails(ops, 2, ACU_ERR_INVALID, "receives 1 elements of i32|sends 2 of i32");
    in[0] = acu_value(x);
    assert_fails(acu_sync(NULL, acu_op_collective(base, &send, in, NULL, here, ACU_SITE), NULL),
                 ACU_ERR_NOT_SUPPORTED, "in groups");
    acu_tensor_release(x);
    acu_tensor_release(y);
    end();
}

static void wrong_communicators_are_refused(void **state)
{
    (void)state;
    begin();
    acu_comm *comm;
    acu_comm_options options = {.size = sizeof options};
    assert_fails(acu_comm_open(&options, &comm), ACU_ERR_INVALID, "1 to 64 devices");
    options.devices = devices;
    options.device_count = here;
    assert_fails(acu_comm_open(&options, NULL), ACU_ERR_INVALID, "nowhere");
    options.backend = (acu_comm_backend)9;
    assert_fails(acu_comm_open(&options, &comm), ACU_ERR_INVALID, "no backend 9");
    assert_works(acu_comm_close(NULL, 0));
    assert_int_equal(acu_comm_ranks(NULL), 0);
    assert_null(acu_comm_device(base, here));
    assert_ptr_equal(acu_comm_device(base, 0), devices[0]);
    assert_int_equal(acu_comm_ranks(base), ranks);
    end();
}

/* ---- trouble, with MPI ----------------------------------------------------------------------- */

static void ranks_that_disagree_are_named(void **state)
{
    (void)state;
    if (!mpi || ranks == 1 || here > 1)
        skip();
    begin();
    acu_comm *comm = open_comm(true, 0);
    int values[2] = {1, 2}, sum[2] = {ranks, 2 * ranks};
    acu_tensor *x = tensor_of(devices[0], false, ACU_I32, values, first == 1 ? 1 : 2);
    acu_tensor *y = tensor_of(devices[0], false, ACU_I32, values, 2);
    acu_status status = acu_sync(devices[0], acu_comm_all_reduce(comm, ACU_REDUCE_SUM, x), NULL);
    assert_fails(status, ACU_ERR_INVALID, "disagree: rank 1|count 1|rank 0 of count 2");
    assert_string_equal(acu_last_error()->op, "all-reduce");
    int64_t n = first != 1; /* without elements it is compared, too */
    acu_tensor *z = tensor_of(devices[0], false, ACU_I32, values, (int)n);
    status = acu_sync(devices[0], acu_comm_all_reduce(comm, ACU_REDUCE_SUM, z), NULL);
    assert_fails(status, ACU_ERR_INVALID, "disagree: rank 1|count 0|rank 0 of count 1");
    assert_works(acu_sync(devices[0], acu_comm_all_reduce(comm, ACU_REDUCE_SUM, y), NULL));
    holds(y, sum);
    acu_tensor_release(x);
    acu_tensor_release(y);
    acu_tensor_release(z);
    close_comm(comm);
    end();
}

/* MPI's job ends with the first of its processes; nobody is left to go on. */
static void nobody_is_left_out(void **state)
{
    (void)state;
    if (!mpi || ranks <= (int)here)
        skip();
    begin();
    acu_comm *left;
    assert_int_equal(acu_comm_lost(base, NULL, 0), 0);
    int lost[1] = {first == 0 ? (int)here : 0};
    assert_fails(acu_comm_shrink(base, lost, 1, &left), ACU_ERR_NOT_SUPPORTED,
                 "with MPI, none can");
}

static acu_status fail_it(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_ERR_NOT_FOUND;
}

/* All ranks fail alike here; on each, later collectives say what failed first. */
static void failed_data_ends_the_order(void **state)
{
    (void)state;
    if (!mpi || here > 1)
        skip();
    begin();
    acu_comm *comm = open_comm(false, 0);
    int value[1] = {1};
    acu_tensor *x = tensor_of(devices[0], true, ACU_I32, value, 1);
    acu_tensor *y = tensor_of(devices[0], false, ACU_I32, value, 1);
    acu_future_release(test_submit(devices[0], acu_host(fail_it, NULL, acu_inout(x))));
    assert_fails(acu_sync(devices[0], acu_comm_all_reduce(comm, ACU_REDUCE_SUM, x), NULL),
                 ACU_ERR_DEPENDENCY, "acu_host");
    assert_fails(acu_sync(devices[0], acu_comm_all_reduce(comm, ACU_REDUCE_SUM, y), NULL),
                 ACU_ERR_DEPENDENCY, "acu_host");
    acu_tensor_release(x);
    acu_tensor_release(y);
    close_comm(comm);
    end();
}

/* What the first rank has sent, and the others did not come to take, is not taken by a later
 * communicator's. */
static void what_is_skipped_stays_behind(void **state)
{
    (void)state;
    if (!mpi || ranks == 1 || here > 1)
        skip();
    begin();
    int many[ELEMENTS], one[1] = {1};
    for (int i = 0; i < ELEMENTS; i++)
        many[i] = 7;
    acu_comm *comm = open_comm(false, 0);
    acu_tensor *x = tensor_of(devices[0], true, ACU_I32, many, ELEMENTS);
    acu_tensor *y = tensor_of(devices[0], false, ACU_I32, first ? (int[]){0} : one, 1);
    if (first)
        acu_future_release(test_submit(devices[0], acu_host(fail_it, NULL, acu_inout(x))));
    acu_status status = acu_sync(devices[0], acu_comm_broadcast(comm, 0, x), NULL);
    assert_int_equal(status, first ? ACU_ERR_DEPENDENCY : ACU_OK);
    close_comm(comm);
    comm = open_comm(false, 0);
    assert_works(acu_sync(devices[0], acu_comm_broadcast(comm, 0, y), NULL));
    holds(y, one);
    close_comm(comm);
    acu_tensor_release(x);
    acu_tensor_release(y);
    end();
}

/* Rank 0 waits for what rank 1 sends too late. */
static void be_late(bool by_comm)
{
    if (!mpi || ranks == 1 || here > 1)
        skip();
    begin();
    assert_works(acu_sync(devices[0], acu_comm_barrier(base), NULL));
    acu_comm *comm = open_comm(false, 0);
    if (by_comm && first == 0)
        comm->timeout = 20000000; /* also for opening it, were it said there */
    int value[1] = {5};
    acu_tensor *x = tensor_of(devices[0], false, ACU_I32, value, 1);
    acu_submit_options options = {.size = sizeof options, .timeout = by_comm ? 0 : 20000000};
    if (first == 0) {
        acu_future *future;
        assert_works(acu_submit(devices[0], acu_comm_receive(comm, 1, x), &options, &future));
        assert_fails(acu_future_wait(future, ACU_FOREVER), ACU_ERR_DEADLINE, "");
        acu_future_release(future);
        acu_status status = acu_sync(devices[0], acu_comm_barrier(comm), NULL);
        if (status == ACU_ERR_DEPENDENCY) /* it was too late to be posted */
            assert_fails(status, ACU_ERR_DEPENDENCY, "timeout");
        else
            assert_fails(status, ACU_ERR_INVALID, "retired");
    }
    assert_works(acu_sync(devices[0], acu_comm_barrier(base), NULL));
    if (first == 1)
        assert_works(acu_sync(devices[0], acu_comm_send(comm, 0, x), NULL));
    assert_works(acu_sync(devices[0], acu_comm_barrier(base), NULL));
    acu_tensor_release(x);
    close_comm(comm);
    end();
}

/* Rank 0 closes while MPI has what rank 1 sends later: that ends. `retired`: something else was
 * late by then. MPI itself goes on with it. */
static void close_early(bool retired)
{
    acu_comm *comm = open_comm(false, 0);
    int value[1] = {5};
    acu_tensor *x = tensor_of(devices[0], false, ACU_I32, value, 1);
    acu_tensor *y = tensor_of(devices[0], false, ACU_I32, value, 1);
    if (first == 0) {
        acu_future *got = test_submit(devices[0], acu_comm_receive(comm, 1, x));
        assert_works(acu_sync(devices[0], acu_comm_send(comm, 1, y), NULL)); /* that is posted */
        comm->timeout = ACU_MS(5);
        if (retired)
            assert_fails(acu_sync(devices[0], acu_comm_receive(comm, 1, y), NULL),
                         ACU_ERR_DEADLINE, "not all ranks came");
        acu_status status = acu_comm_close(comm, retired ? ACU_FOREVER : ACU_MS(5));
        assert_int_equal(status, retired ? ACU_OK : ACU_ERR_DEADLINE);
        assert_fails(acu_future_wait(got, ACU_FOREVER), ACU_ERR_DEADLINE,
                     "closed while MPI still had it");
        acu_future_release(got);
    }
    if (first == 1)
        assert_works(acu_sync(devices[0], acu_comm_receive(comm, 0, y), NULL));
    assert_works(acu_sync(devices[0], acu_comm_barrier(base), NULL));
    for (int i = 0; i < 1 + retired && first == 1; i++)
        assert_works(acu_sync(devices[0], acu_comm_send(comm, 0, x), NULL));
    assert_works(acu_sync(devices[0], acu_comm_barrier(base), NULL));
    acu_tensor_release(x);
    acu_tensor_release(y);
    if (first != 0)
        close_comm(comm);
}

static void closing_ends_what_mpi_has(void **state)
{
    (void)state;
    if (!mpi || ranks == 1 || here > 1)
        skip();
    begin();
    close_early(false);
    close_early(true);
    end();
}

static void who_is_late_is_not_waited_for(void **state)
{
    (void)state;
    be_late(false);
}

static void nor_is_who_misses_a_timeout(void **state)
{
    (void)state;
    be_late(true);
}


/* MPI as a world of one. Whatever fails, nothing hangs, and the next communicator works. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    if (!mpi || ranks > 1)
        skip();
    begin();
    int value[1] = {3};
    acu_tensor *x = tensor_of(devices[0], false, ACU_F16, value, 1);
    acu_comm_options options = {.size = sizeof options, .backend = ACU_COMM_MPI, .checked = true,
                                .devices = devices, .device_count = 1};
    for (uint64_t nth = 1, made = 1; nth <= made; nth += 1 + test_thin() / 4) {
        acu_comm *comm = NULL;
        acu_future *future = NULL;
        acu_debug_fail_alloc(nth, false);
        if (acu_comm_open(&options, &comm) == ACU_OK)
            acu_submit(devices[0], acu_comm_all_reduce(comm, ACU_REDUCE_MEAN, x), NULL,
                       &future);
        acu_future_wait(future, ACU_FOREVER);
        made = acu_debug_alloc_count();
        acu_debug_fail_alloc(0, false);
        acu_future_release(future);
        close_comm(comm);
    }
    acu_collective what = {.kind = ACU_ALL_REDUCE, .reduction = ACU_REDUCE_SUM};
    acu_op *fill = acu_fill(x, acu_f16_bits(0x4200));
    assert_works(acu_sync(devices[0], acu_op_collective(base, &what, NULL, &fill, 1, ACU_SITE),
                          NULL));
    holds(x, value);
    acu_tensor_release(x);
}

static void a_closed_communicator_is_refused(void **state)
{
    (void)state;
    begin();
    acu_comm *comm = open_comm(false, 0);
    int value[1] = {1};
    acu_tensor *x = tensor_of(devices[0], false, ACU_I32, value, 1);
    acu_op *ops[MOST];
    for (size_t i = 0; i < here; i++)
        ops[i] = acu_value(x);
    acu_collective what = {.kind = ACU_ALL_REDUCE, .reduction = ACU_REDUCE_SUM};
    acu_op *op = acu_op_collective(comm, &what, NULL, ops, here, ACU_SITE);
    close_comm(comm);
    assert_fails(acu_submit(devices[0], op, NULL, NULL), ACU_ERR_INVALID, "all-reduce|closed");
    acu_tensor_release(x);
    end();
}

/* As torchrun does, for one: MPI would take each process for a world of its own. */
static void a_launcher_that_is_not_mpis_is_refused(void **state)
{
    (void)state;
    if (!mpi || ranks > 1)
        skip();
    begin();
    acu_comm *comm;
    acu_comm_options options = {.size = sizeof options, .devices = devices, .device_count = 1};
    setenv("ACUDA_RANK", "0", 1);
    setenv("ACUDA_RANKS", "2", 1);
    assert_fails(acu_comm_open(&options, &comm), ACU_ERR_NOT_SUPPORTED,
                 "ACUDA_RANK started 2 processes|knows of 1");
    unsetenv("ACUDA_RANK");
    unsetenv("ACUDA_RANKS");
}

/* Describing says what it yields, and does nothing. */
static void collectives_can_be_described(void **state)
{
    (void)state;
    begin();
    int value[2] = {3, 4};
    acu_value_info infos[MOST];
    size_t count;
    acu_tensor *x[MOST];
    acu_op *ops[MOST];
    for (size_t i = 0; i < here; i++)
        ops[i] = acu_value(x[i] = tensor_of(devices[i], false, ACU_I32, value, 2));
    acu_collective what = {.kind = ACU_BROADCAST};
    acu_op *op = acu_op_collective(base, &what, NULL, ops, here, ACU_SITE);
    assert_works(acu_op_describe(devices[0], op, infos, MOST, &count));
    assert_int_equal(count, here);
    assert_int_equal(infos[0].dtype, ACU_I32);
    assert_int_equal(infos[0].shape.dim[0], 2);
    assert_works(acu_sync(devices[0], op, NULL));
    for (size_t i = 0; i < here; i++) {
        holds(x[i], value);
        acu_tensor_release(x[i]);
    }
    end();
}

/* With MPI: finalises it. */
static int finish(void **state)
{
    (void)state;
    if (!mpi || !base)
        return 0;
    close_comm(base);
    for (size_t i = 0; i < here; i++)
        test_close(devices[i]);
    test_leaks_none();
    return 0;
}

/* The program has initialised the MPI of this name, and allows calls by its own thread only. */
static void one_that_takes_calls_of_one_thread_is_refused(void **state)
{
    (void)state;
    void *library = dlopen(getenv("ACUDA_TEST_MPI_LIBRARY"), RTLD_NOW | RTLD_GLOBAL);
    assert_non_null(library);
    int (*init)(int *, char ***, int, int *), (*finalize)(void), level;
    void *symbol = dlsym(library, "MPI_Init_thread");
    memcpy(&init, &symbol, sizeof init);
    symbol = dlsym(library, "MPI_Finalize");
    memcpy(&finalize, &symbol, sizeof finalize);
    assert_int_equal(init(NULL, NULL, 0, &level), 0);
    acu_comm *comm;
    test_open_n(devices, 1);
    acu_comm_options options = {.size = sizeof options, .devices = devices, .device_count = 1,
                                .backend = ACU_COMM_MPI};
    assert_fails(acu_comm_open(&options, &comm), ACU_ERR_NOT_SUPPORTED,
                 "less than MPI_THREAD_MULTIPLE");
    assert_int_equal(finalize(), 0);
    assert_fails(acu_comm_open(&options, &comm), ACU_ERR_NOT_SUPPORTED, "finalised before");
    test_close(devices[0]);
    test_leaks_none();
}

/* It ends while the others may still wait for what it has submitted. */
static void end_in_flight(void **state)
{
    (void)state;
    begin();
    acu_tensor *x = tensor_of(devices[0], false, ACU_I32, (int[1 << 5]){0}, 1 << 5);
    for (int i = 0; i < 20; i++)
        assert_works(acu_submit(devices[0], acu_comm_all_reduce(base, ACU_REDUCE_SUM, x), NULL,
                                NULL));
    fflush(stdout);
    exit(0);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(collectives_match_a_serial_model),
        TEST(so_do_checked_ones),
        TEST(they_are_made_aside),
        TEST(floats_of_8_bits_are_rounded_once),
        TEST(order_follows_from_data),
        TEST(barriers_end),
        TEST(sends_and_receives_pass_each_other),
        TEST(neighbours_exchange),
        TEST(all_to_all_of_other_lengths),
        TEST(nothing_is_not_sent),
        TEST(any_shape_and_strides),
        TEST(wrong_collectives_are_refused),
        TEST(wrong_groups_are_refused),
        TEST(operands_that_overlap_are_refused),
        TEST(messages_that_nobody_takes_are_refused),
        TEST(wrong_communicators_are_refused),
        TEST(collectives_can_be_described),
        TEST(a_closed_communicator_is_refused),
        TEST(every_allocation_may_fail),
        TEST(a_launcher_that_is_not_mpis_is_refused),
        TEST(ranks_that_disagree_are_named),
        TEST(nobody_is_left_out),
        TEST(failed_data_ends_the_order),
        TEST(what_is_skipped_stays_behind),
        TEST(who_is_late_is_not_waited_for),
        TEST(nor_is_who_misses_a_timeout),
        TEST(closing_ends_what_mpi_has),
    };
    acu_launched launched = {.size = sizeof launched};
    if (acu_comm_launched(&launched) != ACU_OK)
        return 1;
    const struct CMUnitTest initialised[] = {TEST(one_that_takes_calls_of_one_thread_is_refused)};
    if (getenv("ACUDA_TEST_MPI_LIBRARY")) /* said by the script, as the next */
        return cmocka_run_group_tests(initialised, NULL, NULL);
    const struct CMUnitTest ending[] = {TEST(end_in_flight)};
    mpi = getenv("ACUDA_TEST_MPI") != NULL;
    const char *each = getenv("ACUDA_TEST_DEVICES");
    here = each ? strtoul(each, NULL, 10) : 1; /* with MPI, as the next; else count_devices */
    first = mpi ? launched.rank * (int)here : 0;
    ranks = launched.ranks * (int)here;
    if (getenv("ACUDA_TEST_LEAVES"))
        return cmocka_run_group_tests(ending, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, finish);
}
