/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Collectives against a serial model, and what goes wrong. This program is one process with four
 * devices; test_mpi.sh runs it again under mpiexec, where each rank is a process with one device.
 * All ranks know what the others give, as it comes from the same seed.
 */
#include "comm/comm.h"
#include "support/support.h"

#include <acuda/comm.h>
#include <stdio.h>

enum { MOST = 8, ELEMENTS = 40 };

static bool mpi;
static int ranks, first;         /* of this process */
static size_t here;              /* devices of this process */
static acu_device *devices[MOST];
static acu_comm *base;           /* keeps MPI in use */

static acu_comm *open_comm(bool checked, uint64_t timeout)
{
    acu_comm *comm;
    acu_comm_options options = {.size = sizeof options, .devices = devices, .device_count = here,
                                .backend = mpi ? ACU_COMM_MPI : ACU_COMM_AUTO,
                                .checked = checked, .timeout = timeout};
    assert_works(acu_comm_open(&options, &comm));
    return comm;
}

static void close_comm(acu_comm *comm)
{
    assert_works(acu_comm_close(comm, ACU_FOREVER));
}

/* With MPI, which starts only once, the device and one communicator stay. */
static void begin(void)
{
    if (mpi && base)
        return;
    here = mpi ? 1 : 4;
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

/* ---- numbers --------------------------------------------------------------------------------- */

static uint64_t seed;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static const acu_dtype dtypes[] = {ACU_I8,  ACU_U8,  ACU_I16, ACU_U16, ACU_I32,  ACU_U32, ACU_I64,
                                   ACU_U64, ACU_F32, ACU_F64, ACU_F16, ACU_BF16, ACU_BOOL,
                                   ACU_C64, ACU_C128};
enum { DTYPES = 15, REDUCED = 12 };

/* Small whole numbers, which all dtypes hold exactly. */
static void put(acu_dtype dtype, void *memory, size_t i, int value)
{
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    uint16_t half = (uint16_t)(value ? ((bits >> 13) & 0x3ff) | (((bits >> 23) - 112) << 10) : 0);
    switch (dtype) {
    case ACU_F32: ((float *)memory)[i] = f; break;
    case ACU_F64: ((double *)memory)[i] = value; break;
    case ACU_C64:
        ((float *)memory)[2 * i] = f;
        ((float *)memory)[2 * i + 1] = -f;
        break;
    case ACU_C128:
        ((double *)memory)[2 * i] = 2 * value;
        ((double *)memory)[2 * i + 1] = -value;
        break;
    case ACU_F16: ((uint16_t *)memory)[i] = half; break;
    case ACU_BF16: ((uint16_t *)memory)[i] = (uint16_t)(bits >> 16); break;
    default:
        memset((char *)memory + i * acu_dtype_bytes(dtype), 0, acu_dtype_bytes(dtype));
        memcpy((char *)memory + i * acu_dtype_bytes(dtype), &value,
               acu_dtype_bytes(dtype) < 4 ? acu_dtype_bytes(dtype) : 4);
    }
}

static acu_tensor *tensor_of(acu_device *device, bool host, acu_dtype dtype, const int *values,
                             int n)
{
    char memory[ELEMENTS * MOST * 16];
    acu_tensor *t;
    for (int i = 0; i < n; i++)
        put(dtype, memory, (size_t)i, values[i]);
    if (host) {
        assert_works(acu_tensor_alloc_pinned(device, dtype, ACU_SHAPE(n), &t));
        memcpy(acu_tensor_host(t), memory, acu_tensor_bytes(t));
    } else {
        assert_works(acu_tensor_alloc(device, dtype, ACU_SHAPE(n), &t));
        assert_works(acu_write_sync(t, memory, acu_tensor_bytes(t)));
    }
    return t;
}

static char about[200]; /* the collective that is checked */

static void holds(acu_tensor *t, const int *values)
{
    char want[ELEMENTS * MOST * 16], is[ELEMENTS * MOST * 16];
    int64_t n = acu_tensor_elements(t);
    for (int64_t i = 0; i < n; i++)
        put(acu_tensor_dtype(t), want, (size_t)i, values[i]);
    assert_works(acu_read_sync(t, is, acu_tensor_bytes(t)));
    if (memcmp(is, want, acu_tensor_bytes(t)))
        print_message("%s\n", about);
    assert_memory_equal(is, want, acu_tensor_bytes(t));
}

/* ---- the model ------------------------------------------------------------------------------- */

/* One collective: what each rank has before and after, in place or not. */
typedef struct model {
    acu_collective what;
    acu_dtype dtype;
    int n;                            /* elements of a part */
    bool in_place;
    bool has_in[MOST], has_out[MOST];
    int in_count, out_count;
    int in[MOST][ELEMENTS * MOST];
    int out[MOST][ELEMENTS * MOST];   /* before */
    int after[MOST][ELEMENTS * MOST];
} model;

static int reduce_two(acu_reduction how, int a, int b)
{
    return how == ACU_REDUCE_SUM    ? a + b
           : how == ACU_REDUCE_PROD ? a * b
           : how == ACU_REDUCE_MIN  ? (a < b ? a : b)
                                    : (a > b ? a : b);
}

/* What rank r gives, from its element i on. */
static const int *gives(const model *m, int r, int i)
{
    return m->has_in[r] ? &m->in[r][i] : &m->out[r][i];
}

static int reduced(const model *m, int i)
{
    int x = *gives(m, 0, i);
    for (int r = 1; r < ranks; r++)
        x = reduce_two(m->what.reduction, x, *gives(m, r, i));
    return x;
}

/* Where rank r's part is in what it gives to an all-gather or gather. */
static int own(const model *m, int r)
{
    return m->has_in[r] ? 0 : r * m->n;
}

static void run_rank(model *m, int r)
{
    int n = m->n, root = m->what.rank, *after = m->after[r];
    for (int i = 0; i < n; i++)
        switch (m->what.kind) {
        case ACU_ALL_REDUCE:
        case ACU_REDUCE:
            after[i] = m->what.kind == ACU_REDUCE && r != root ? after[i] : reduced(m, i);
            break;
        case ACU_BROADCAST:
            after[i] = m->out[root][i];
            break;
        case ACU_ALL_GATHER:
        case ACU_GATHER:
            for (int j = 0; j < ranks; j++)
                after[j * n + i] = *gives(m, j, own(m, j) + i);
            break;
        case ACU_REDUCE_SCATTER:
            after[i] = reduced(m, r * n + i);
            break;
        case ACU_ALL_TO_ALL:
            for (int j = 0; j < ranks; j++)
                after[j * n + i] = *gives(m, j, r * n + i);
            break;
        default: /* scatter */
            after[i] = *gives(m, root, r * n + i);
        }
}

/* In place, a reduce-scatter's result is in the own part, and a scatter's root keeps everything. */
static void run_model(model *m)
{
    memcpy(m->after, m->out, sizeof m->after);
    for (int r = 0; r < ranks; r++) {
        if (!m->has_out[r])
            continue;
        if (m->what.kind == ACU_REDUCE_SCATTER && !m->has_in[r]) {
            for (int i = 0; i < m->n; i++)
                m->after[r][r * m->n + i] = reduced(m, r * m->n + i);
            continue;
        }
        run_rank(m, r);
    }
}

static void choose(model *m)
{
    bool only_root, whole_in, whole_out;
    memset(m, 0, sizeof *m);
    m->what.kind = (acu_collective_kind)random_below(ACU_SCATTER + 1);
    bool reduces = m->what.kind == ACU_ALL_REDUCE || m->what.kind == ACU_REDUCE ||
                   m->what.kind == ACU_REDUCE_SCATTER;
    static const acu_reduction hows[] = {ACU_REDUCE_SUM, ACU_REDUCE_PROD, ACU_REDUCE_MIN,
                                         ACU_REDUCE_MAX};
    m->what.reduction = hows[random_below(4)];
    m->what.rank = (int)random_below((uint32_t)ranks);
    m->dtype = dtypes[random_below(reduces ? REDUCED : DTYPES)];
    if (reduces && m->what.reduction == ACU_REDUCE_SUM && random_below(4) == 0)
        m->dtype = random_below(2) ? ACU_C64 : ACU_C128;
    m->n = 1 + (int)random_below(ELEMENTS);
    m->in_place = random_below(2) || m->what.kind == ACU_BROADCAST;
    only_root = m->what.kind == ACU_GATHER || m->what.kind == ACU_REDUCE;
    whole_in = m->what.kind == ACU_REDUCE_SCATTER || m->what.kind == ACU_ALL_TO_ALL ||
               m->what.kind == ACU_SCATTER;
    whole_out = m->what.kind == ACU_ALL_GATHER || m->what.kind == ACU_ALL_TO_ALL ||
                m->what.kind == ACU_GATHER ||
                (m->in_place && m->what.kind == ACU_REDUCE_SCATTER);
    m->in_count = whole_in ? ranks * m->n : m->n;
    m->out_count = whole_out ? ranks * m->n : m->n;
    for (int r = 0; r < ranks; r++) {
        bool is_root = r == m->what.rank;
        m->has_in[r] = !m->in_place;
        m->has_out[r] = !only_root || is_root;
        if (m->what.kind == ACU_SCATTER) { /* in place: the root's part stays in `in` */
            m->has_in[r] = is_root;
            m->has_out[r] = !is_root || !m->in_place;
        }
        if (only_root && !is_root)
            m->has_in[r] = true;
        int most = m->dtype == ACU_BOOL ? 2 : 4;
        for (int i = 0; i < ranks * m->n; i++) {
            m->in[r][i] = (int)random_below((uint32_t)most);
            m->out[r][i] = (int)random_below((uint32_t)most);
        }
    }
    run_model(m);
}

/* ---- running one ----------------------------------------------------------------------------- */

typedef struct running {
    model m;
    acu_tensor *in[MOST], *out[MOST]; /* of this process's ranks */
    acu_future *future;
} running;

static void start(running *x, acu_comm *comm)
{
    acu_op *in[MOST] = {NULL}, *out[MOST] = {NULL};
    bool any_in = false, any_out = false;
    model *m = &x->m;
    choose(m);
    bool host = random_below(4) == 0 && m->dtype != ACU_F16 && m->dtype != ACU_BF16;
    for (size_t i = 0; i < here; i++) {
        int r = first + (int)i;
        x->in[i] = x->out[i] = NULL;
        if (m->has_in[r])
            x->in[i] = tensor_of(devices[i], host, m->dtype, m->in[r], m->in_count);
        if (m->has_out[r])
            x->out[i] = tensor_of(devices[i], host, m->dtype, m->out[r], m->out_count);
        in[i] = x->in[i] ? acu_value(x->in[i]) : NULL;
        out[i] = x->out[i] ? acu_value(x->out[i]) : NULL;
        any_in |= in[i] != NULL;
        any_out |= out[i] != NULL;
    }
    acu_op *op = acu_op_collective(comm, &m->what, any_in ? in : NULL, any_out ? out : NULL, here,
                                   ACU_SITE);
    x->future = test_submit(devices[0], op);
}

static void check(running *x)
{
    snprintf(about, sizeof about, "kind %d, reduction %d, root %d, %s, %d elements, %s",
             (int)x->m.what.kind, (int)x->m.what.reduction, x->m.what.rank,
             acu_dtype_name(x->m.dtype), x->m.n, x->m.in_place ? "in place" : "not in place");
    assert_works(acu_future_wait(x->future, ACU_FOREVER));
    acu_future_release(x->future);
    for (size_t i = 0; i < here; i++) {
        if (x->out[i])
            holds(x->out[i], x->m.after[first + (int)i]);
        if (x->in[i])
            holds(x->in[i], x->m.in[first + (int)i]); /* only read */
        acu_tensor_release(x->in[i]);
        acu_tensor_release(x->out[i]);
    }
}

static void random_programs(acu_comm *comm, int count)
{
    enum { AT_ONCE = 6 };
    static running all[AT_ONCE];
    for (int i = 0; i < count; i++) {
        seed = 77 + (uint64_t)i;
        for (int k = 0; k < AT_ONCE; k++)
            start(&all[k], comm);
        for (int k = AT_ONCE; k-- > 0;)
            check(&all[k]);
    }
}

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
    if (!mpi)
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
    all_reduce_fails(base, acu_slice(x, ACU_SHAPE(1), ACU_SHAPE(1)), ACU_ERR_SHAPE, "no elements");
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
    what.reduction = ACU_REDUCE_MEAN;
    assert_fails(acu_sync(NULL, acu_op_collective(base, &what, NULL, ops, here, ACU_SITE), NULL),
                 ACU_ERR_INVALID, "all-reduce|none of sum");
    acu_tensor_release(x);
    acu_tensor_release(b);
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
    if (!mpi || ranks == 1)
        skip();
    begin();
    acu_comm *comm = open_comm(true, 0);
    int values[2] = {1, 2}, sum[2] = {ranks, 2 * ranks};
    acu_tensor *x = tensor_of(devices[0], false, ACU_I32, values, first == 1 ? 1 : 2);
    acu_tensor *y = tensor_of(devices[0], false, ACU_I32, values, 2);
    acu_status status = acu_sync(devices[0], acu_comm_all_reduce(comm, ACU_REDUCE_SUM, x), NULL);
    assert_fails(status, ACU_ERR_CALLBACK, "disagree: rank 1|count 1|rank 0 of count 2");
    assert_int_equal(acu_last_error()->cause, ACU_ERR_INVALID);
    assert_works(acu_sync(devices[0], acu_comm_all_reduce(comm, ACU_REDUCE_SUM, y), NULL));
    holds(y, sum);
    acu_tensor_release(x);
    acu_tensor_release(y);
    close_comm(comm);
    end();
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
    if (!mpi)
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

/* Rank 0 waits for what rank 1 sends too late. */
static void be_late(bool by_comm)
{
    if (!mpi || ranks == 1)
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
        assert_int_equal(acu_future_wait(future, ACU_FOREVER),
                         by_comm ? ACU_ERR_CALLBACK : ACU_ERR_DEADLINE);
        acu_future_release(future);
        acu_status status = acu_sync(devices[0], acu_comm_barrier(comm), NULL);
        if (status == ACU_ERR_DEPENDENCY) /* it was too late to be posted */
            assert_fails(status, ACU_ERR_DEPENDENCY, "timeout");
        else
            assert_fails(status, ACU_ERR_CALLBACK, "retired");
    }
    assert_works(acu_sync(devices[0], acu_comm_barrier(base), NULL));
    if (first == 1)
        assert_works(acu_sync(devices[0], acu_comm_send(comm, 0, x), NULL));
    assert_works(acu_sync(devices[0], acu_comm_barrier(base), NULL));
    acu_tensor_release(x);
    close_comm(comm);
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
    acu_tensor *x = tensor_of(devices[0], false, ACU_I32, value, 1);
    acu_comm_options options = {.size = sizeof options, .backend = ACU_COMM_MPI, .checked = true,
                                .devices = devices, .device_count = 1};
    for (uint64_t nth = 1, made = 1; nth <= made; nth += 1 + test_thin() / 4) {
        acu_comm *comm = NULL;
        acu_future *future = NULL;
        acu_debug_fail_alloc(nth, false);
        if (acu_comm_open(&options, &comm) == ACU_OK)
            acu_submit(devices[0], acu_comm_all_reduce(comm, ACU_REDUCE_SUM, x), NULL, &future);
        acu_future_wait(future, ACU_FOREVER);
        made = acu_debug_alloc_count();
        acu_debug_fail_alloc(0, false);
        acu_future_release(future);
        close_comm(comm);
    }
    acu_collective what = {.kind = ACU_ALL_REDUCE, .reduction = ACU_REDUCE_SUM};
    acu_op *fill = acu_fill(x, acu_i32(3));
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
    test_close(devices[0]);
    test_leaks_none();
    return 0;
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(collectives_match_a_serial_model),
        TEST(so_do_checked_ones),
        TEST(order_follows_from_data),
        TEST(barriers_end),
        TEST(sends_and_receives_pass_each_other),
        TEST(wrong_collectives_are_refused),
        TEST(wrong_communicators_are_refused),
        TEST(collectives_can_be_described),
        TEST(a_closed_communicator_is_refused),
        TEST(every_allocation_may_fail),
        TEST(a_launcher_that_is_not_mpis_is_refused),
        TEST(ranks_that_disagree_are_named),
        TEST(failed_data_ends_the_order),
        TEST(who_is_late_is_not_waited_for),
        TEST(nor_is_who_misses_a_timeout),
    };
    acu_launched launched = {.size = sizeof launched};
    if (acu_comm_launched(&launched) != ACU_OK)
        return 1;
    mpi = getenv("ACUDA_TEST_MPI") != NULL; /* said by the script */
    first = launched.rank;
    ranks = mpi ? launched.ranks : 4;
    return cmocka_run_group_tests(tests, NULL, finish);
}
