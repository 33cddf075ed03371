/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Collectives by NCCL; on the software device by a library that poses as it (fake_nccl.c). Ranks
 * are the devices of this process, or threads that play processes with a device each, which meet by
 * a file.
 */
#include "comm/alive.h"
#include "comm/comm.h"
#include "comm/model.h"
#include "vendor/with_library.h"

enum { RANKS = 4 };
#define LIBRARY "comm/libfake_nccl.so"

static acu_device *all[RANKS];
static int count;         /* of devices */
static char folder[32];   /* for the file */
static void (*report)(int error); /* the fake's */
static void (*give_up)(int now);

static void find_controls(void)
{
    void *library = dlopen(acu_vendor_path(ACU_VENDOR_NCCL), RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    void *symbol = dlsym(library, "fake_nccl_report");
    memcpy(&report, &symbol, sizeof report);
    symbol = dlsym(library, "fake_nccl_give_up");
    memcpy(&give_up, &symbol, sizeof give_up);
}

/* `most` devices, with NCCL; the test is skipped where that is not there. */
static void begin(int most)
{
    int have = most;
    acu_open_options options = {.size = sizeof options, .allow_software = true};
    if (test_on_gpu())
        assert_works(acu_device_count_load(&options, &have));
    else
        with_fake(ACU_VENDOR_NCCL, LIBRARY);
    count = have < most ? have : most;
    if (count < 2)
        skip();
    test_open_n(all, count);
    if (acu_vendor_load(all[0], ACU_VENDOR_NCCL) != ACU_OK) {
        print_message("skipped: %s\n", acu_last_error()->message);
        assert_true(test_on_gpu());
        for (int i = 0; i < count; i++)
            test_close(all[i]);
        skip();
    }
    if (fake)
        find_controls();
    snprintf(folder, sizeof folder, "/tmp/acuda-nccl-XXXXXX");
    assert_non_null(mkdtemp(folder));
}

static void end(void)
{
    for (int i = 0; i < count; i++)
        test_close(all[i]);
    assert_int_equal(rmdir(folder), 0);
    if (fake) {
        assert_int_equal(atomic_load(&fake->refused), 0);
        assert_int_equal(atomic_load(&fake->overlaps), 0);
        assert_int_equal(atomic_load(&fake->created), atomic_load(&fake->destroyed));
    }
    test_leaks_none();
}

/* Only the fake can be told to fail, or to go on. */
static void begin_with_fake(int most)
{
    if (test_on_gpu())
        skip();
    begin(most);
}

/* ---- one process ----------------------------------------------------------------------------- */

static acu_comm *open_here(void)
{
    acu_comm *comm;
    ranks = count;
    first = 0;
    here = (size_t)count;
    memcpy(devices, all, sizeof all);
    acu_comm_options options = {.size = sizeof options, .devices = all, .device_count = here,
                                .backend = ACU_COMM_NCCL};
    assert_works(acu_comm_open(&options, &comm));
    assert_string_equal(acu_comm_library(comm), "NCCL");
    assert_int_equal(acu_comm_ranks(comm), count);
    return comm;
}

static void close_comm(acu_comm *comm)
{
    assert_works(acu_comm_close(comm, ACU_FOREVER));
}

static void collectives_match_a_serial_model(void **state)
{
    (void)state;
    begin(RANKS);
    acu_comm *comm = open_here();
    random_programs(comm, 20);
    close_comm(comm);
    end();
}

static void it_is_taken_where_it_is(void **state)
{
    (void)state;
    begin(2);
    acu_comm *comm;
    acu_comm_options options = {.size = sizeof options, .devices = all, .device_count = 2};
    assert_works(acu_comm_open(&options, &comm));
    assert_string_equal(acu_comm_library(comm), "NCCL");
    close_comm(comm);
    setenv("ACUDA_COMM", "own", 1);
    assert_works(acu_comm_open(&options, &comm));
    assert_string_equal(acu_comm_library(comm), "one process");
    close_comm(comm);
    setenv("ACUDA_COMM", "other", 1);
    assert_fails(acu_comm_open(&options, &comm), ACU_ERR_INVALID, "ACUDA_COMM is 'other'");
    unsetenv("ACUDA_COMM");
    options.rank = 1;
    assert_fails(acu_comm_open(&options, &comm), ACU_ERR_INVALID, "no process 1 among 0");
    end();
}

/* It may never have been written (SOFTCUDA_EXACT=1 makes that a fault), nor be as NCCL has it. */
static void what_is_overwritten_is_not_read(void **state)
{
    (void)state;
    static const acu_dtype dtypes_of[] = {ACU_I16, ACU_F8E4M3FN, ACU_F32};
    begin(RANKS);
    acu_comm *comm = open_here();
    acu_collective add = {.kind = ACU_ALL_REDUCE, .reduction = ACU_REDUCE_SUM};
    for (int k = 0; k < 3; k++) {
        acu_tensor *x[RANKS], *y[RANKS];
        acu_op *in[RANKS], *out[RANKS];
        for (int i = 0; i < count; i++) {
            in[i] = acu_value(x[i] = tensor_of(all[i], false, dtypes_of[k], (int[]){1, 2}, 2));
            assert_works(acu_tensor_alloc(all[i], dtypes_of[k], ACU_SHAPE(4), &y[i]));
            out[i] = acu_slice_step(acu_value(y[i]), ACU_SHAPE(0), ACU_SHAPE(3), ACU_SHAPE(2));
        }
        acu_op *sum = acu_op_collective(comm, &add, in, out, here, ACU_SITE);
        acu_tensor *first_sum;
        assert_works(acu_sync(all[0], acu_dup(acu_first(sum)), &first_sum));
        holds(first_sum, (int[]){count, 2 * count});
        acu_tensor_release(first_sum);
        for (int i = 0; i < count; i++) {
            acu_tensor_release(x[i]);
            acu_tensor_release(y[i]);
        }
    }
    close_comm(comm);
    end();
}

static void barriers_and_chains(void **state)
{
    (void)state;
    begin(RANKS);
    acu_comm *comm = open_here();
    acu_collective add = {.kind = ACU_ALL_REDUCE, .reduction = ACU_REDUCE_SUM};
    acu_collective barrier = {.kind = ACU_BARRIER};
    acu_tensor *x[RANKS];
    int one[1] = {1}, want = 1;
    for (int i = 0; i < count; i++)
        x[i] = tensor_of(all[i], false, ACU_I32, one, 1);
    for (int step = 0; step < 5; step++) {
        acu_op *ops[RANKS];
        for (int i = 0; i < count; i++)
            ops[i] = acu_into(x[i], acu_add(x[i], acu_scalar(acu_i32(i))));
        acu_op *op = acu_op_collective(comm, &add, NULL, ops, here, ACU_SITE);
        acu_future_release(test_submit(all[0], op));
        want = want * count + count * (count - 1) / 2;
    }
    assert_works(acu_sync(all[0], acu_op_collective(comm, &barrier, NULL, NULL, 0, ACU_SITE),
                          NULL));
    for (int i = 0; i < count; i++) {
        holds(x[i], &want);
        acu_tensor_release(x[i]);
    }
    close_comm(comm);
    end();
}

/* Four threads submit collectives of all devices, in no order; by hand, they would be called in
 * another order on each device, and hang. */
typedef struct submitter {
    acu_comm *comm;
    int number;
} submitter;

static void *submit_some(void *context)
{
    const submitter *s = context;
    enum { EACH = 6 };
    acu_collective add = {.kind = ACU_ALL_REDUCE, .reduction = ACU_REDUCE_SUM};
    for (int k = 0; k < EACH; k++) {
        acu_tensor *x[RANKS];
        acu_op *ops[RANKS];
        int n = 1 + 7 * s->number + k, values[ELEMENTS], sums[ELEMENTS];
        for (int i = 0; i < count; i++) {
            for (int j = 0; j < n; j++) {
                values[j] = i + j;
                sums[j] = count * j + count * (count - 1) / 2;
            }
            ops[i] = acu_value(x[i] = tensor_of(all[i], false, ACU_I32, values, n));
        }
        acu_future *f = test_submit(all[0], acu_op_collective(s->comm, &add, NULL, ops,
                                                              (size_t)count, ACU_SITE));
        assert_works(acu_future_wait(f, ACU_FOREVER));
        acu_future_release(f);
        for (int i = 0; i < count; i++) {
            holds(x[i], sums);
            acu_tensor_release(x[i]);
        }
    }
    return NULL;
}

static void threads_of_one_process_need_no_order(void **state)
{
    (void)state;
    begin(RANKS);
    acu_comm *comm = open_here(), *other = open_here();
    pthread_t threads[4];
    submitter s[4];
    for (int i = 0; i < 4; i++) {
        s[i] = (submitter){i % 2 ? comm : other, i};
        assert_int_equal(pthread_create(&threads[i], NULL, submit_some, &s[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    close_comm(other);
    close_comm(comm);
    end();
}

/* A stream that the program chose is that of the collective, too, behind what is computed there. */
static void a_chosen_stream_is_taken(void **state)
{
    (void)state;
    begin(RANKS);
    acu_comm *comm = open_here();
    acu_stream *stream;
    acu_tensor *x[RANKS];
    acu_op *ops[RANKS];
    int sum = 0;
    assert_works(acu_stream_create(all[0], 0, &stream));
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < count; i++) {
            int value[1] = {i};
            x[i] = tensor_of(all[i], false, ACU_I32, value, 1);
            ops[i] = acu_on(all[i], acu_into(x[i], acu_add(x[i], acu_scalar(acu_i32(turn)))));
        }
        acu_collective add = {.kind = ACU_ALL_REDUCE, .reduction = ACU_REDUCE_SUM};
        acu_op *op = acu_op_collective(comm, &add, NULL, ops, (size_t)count, ACU_SITE);
        acu_submit_options options = {.size = sizeof options, .priority = -1};
        acu_future *f;
        if (turn == 0)
            assert_works(acu_sync_on(stream, op, NULL));
        else
            assert_works(acu_submit(all[0], op, &options, &f));
        if (turn == 1) {
            assert_works(acu_future_wait(f, ACU_FOREVER));
            acu_future_release(f);
        }
        sum = count * (count - 1) / 2 + turn * count;
        for (int i = 0; i < count; i++) {
            holds(x[i], &sum);
            acu_tensor_release(x[i]);
        }
    }
    acu_stream_release(stream);
    close_comm(comm);
    end();
}

/* ---- threads that play processes ------------------------------------------------------------- */

typedef struct process {
    int rank;
    uint64_t timeout;
    void (*run)(acu_comm *comm, int rank);
    const char *file;
    bool checked;
} process;

static pthread_barrier_t together; /* where threads do without the communicator */

static void *run_process(void *context)
{
    const process *p = context;
    acu_comm *comm;
    ranks = count;
    first = p->rank;
    here = 1;
    devices[0] = all[p->rank];
    acu_comm_options options = {.size = sizeof options, .devices = devices, .device_count = 1,
                                .backend = ACU_COMM_NCCL, .rank = p->rank, .ranks = count,
                                .file = p->file, .checked = p->checked};
    assert_works(acu_comm_open(&options, &comm));
    if (p->timeout) /* not for opening it, as it would be in the options */
        comm->timeout = p->timeout;
    assert_int_equal(acu_comm_rank(comm), p->rank);
    p->run(comm, p->rank);
    pthread_barrier_wait(&together); /* closing may wait, in the driver, for others' kernels */
    close_comm(comm);
    return NULL;
}

static bool by_variable; /* they meet by NCCL_COMM_ID */

static void all_as_processes(uint64_t timeout, bool checked, void (*run)(acu_comm *comm, int rank))
{
    pthread_t threads[RANKS];
    process p[RANKS];
    char file[64];
    snprintf(file, sizeof file, "%s/meet", folder);
    pthread_barrier_init(&together, NULL, (unsigned)count);
    for (int i = 0; i < count; i++) {
        p[i] = (process){i, timeout, run, by_variable ? NULL : file, checked};
        assert_int_equal(pthread_create(&threads[i], NULL, run_process, &p[i]), 0);
    }
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&together);
}

static void as_processes(uint64_t timeout, void (*run)(acu_comm *comm, int rank))
{
    all_as_processes(timeout, false, run);
}

static void run_programs(acu_comm *comm, int rank)
{
    (void)rank;
    random_programs(comm, 10);
}

static void a_process_for_each_device(void **state)
{
    (void)state;
    begin(RANKS);
    as_processes(0, run_programs);
    end();
}

/* A grid: a communicator for each row and each column, whose processes meet by files of their
 * own. */
static void add_up_rows_and_columns(acu_comm *comm, int rank)
{
    acu_comm *line[2];
    int value[1] = {rank + 1}, total = 10;
    acu_tensor *x = tensor_of(devices[0], false, ACU_I32, value, 1);
    (void)comm;
    for (int k = 0; k < 2; k++) {
        char file[64];
        snprintf(file, sizeof file, "%s/%s%d", folder, k ? "column" : "row",
                 k ? rank % 2 : rank / 2);
        acu_comm_options options = {.size = sizeof options, .devices = devices, .device_count = 1,
                                    .backend = ACU_COMM_NCCL, .rank = k ? rank / 2 : rank % 2,
                                    .ranks = 2, .file = file};
        assert_works(acu_comm_open(&options, &line[k]));
        assert_works(acu_sync(devices[0], acu_comm_all_reduce(line[k], ACU_REDUCE_SUM, x), NULL));
    }
    holds(x, &total);
    acu_tensor_release(x);
    pthread_barrier_wait(&together);
    for (int k = 0; k < 2; k++)
        close_comm(line[k]);
}

static void some_of_the_processes(void **state)
{
    (void)state;
    begin(RANKS);
    if (count == RANKS)
        as_processes(0, add_up_rows_and_columns);
    end();
}

/* Rank 0 goes on with what it has computed in the same submission, before the others come. All that
 * is called for the first time was before: NCCL would wait for the others to connect with them, and
 * CUDA may wait for NCCL's kernel, which does so, to load another. */
static void go_on_meanwhile(acu_comm *comm, int rank)
{
    int value[1] = {rank}, sum = count * (count - 1) / 2, more = rank + 3;
    acu_tensor *x = tensor_of(devices[0], false, ACU_I32, value, 1);
    acu_tensor *y = tensor_of(devices[0], false, ACU_I32, value, 1);
    acu_tensor *z = tensor_of(devices[0], false, ACU_I32, value, 1);
    acu_op *once[] = {acu_into(x, acu_add(x, acu_scalar(acu_i32(1)))),
                      acu_comm_all_reduce(comm, ACU_REDUCE_SUM, z)};
    assert_works(acu_sync(devices[0], acu_op_zip(once, 2, ACU_SITE), NULL));
    acu_tensor_release(z);
    acu_op *both[] = {acu_into(x, acu_add(x, acu_scalar(acu_i32(1)))),
                      acu_comm_all_reduce(comm, ACU_REDUCE_SUM, y)};
    acu_op *op = acu_op_zip(both, 2, ACU_SITE);
    acu_future *f = rank == 0 ? test_submit(devices[0], op) : NULL;
    if (rank == 0)
        assert_works(acu_sync(devices[0], acu_into(x, acu_add(x, acu_scalar(acu_i32(1)))), NULL));
    pthread_barrier_wait(&together);
    if (rank != 0) {
        f = test_submit(devices[0], op);
        more = rank + 2;
    }
    assert_works(acu_future_wait(f, ACU_FOREVER));
    holds(x, &more);
    holds(y, &sum);
    acu_future_release(f);
    acu_tensor_release(x);
    acu_tensor_release(y);
}

static void what_is_submitted_with_it_does_not_wait(void **state)
{
    (void)state;
    begin(2);
    as_processes(ACU_SECONDS(20), go_on_meanwhile);
    end();
}

static void pass_around(acu_comm *comm, int rank)
{
    int value[1] = {rank}, want = (rank + count - 1) % count;
    acu_tensor *x = tensor_of(devices[0], false, ACU_I32, value, 1);
    acu_tensor *y = tensor_of(devices[0], false, ACU_I32, value, 1);
    if (rank % 2 == 0) /* one after the other: a send waits for its receive */
        assert_works(acu_submit(devices[0], acu_comm_send(comm, (rank + 1) % count, x), NULL,
                                NULL));
    assert_works(acu_submit(devices[0], acu_comm_receive(comm, want, y), NULL, NULL));
    if (rank % 2 == 1)
        assert_works(acu_submit(devices[0], acu_comm_send(comm, (rank + 1) % count, x), NULL,
                                NULL));
    assert_works(acu_sync(devices[0], acu_comm_barrier(comm), NULL));
    holds(y, &want);
    acu_tensor_release(x);
    acu_tensor_release(y);
}

static void messages(void **state)
{
    (void)state;
    begin(2);
    as_processes(0, pass_around);
    end();
}

/* All send first, to both neighbours, and receive then. */
static void exchange(acu_comm *comm, int rank)
{
    acu_tensor *x = tensor_of(devices[0], false, ACU_I32, (int[]){rank, 10 + rank, 5}, 3);
    acu_tensor *y = tensor_of(devices[0], false, ACU_I32, (int[]){0, 0, 0}, 3);
    int next = (rank + 1) % count, before = (rank + count - 1) % count;
    acu_op *ops[] = {
        acu_comm_send(comm, next, acu_slice(x, ACU_SHAPE(0), ACU_SHAPE(1))),
        acu_comm_send(comm, before, acu_slice(x, ACU_SHAPE(1), ACU_SHAPE(3))),
        acu_comm_receive(comm, before, acu_slice(y, ACU_SHAPE(0), ACU_SHAPE(1))),
        acu_comm_receive(comm, next, acu_slice(y, ACU_SHAPE(1), ACU_SHAPE(3))),
    };
    assert_works(acu_sync(devices[0], acu_comm_group(comm, ops, 4), NULL));
    holds(y, (int[]){before, 10 + next, 5});
    acu_tensor_release(x);
    acu_tensor_release(y);
}

static void neighbours_exchange(void **state)
{
    (void)state;
    begin(RANKS);
    as_processes(0, exchange);
    end();
}

static void they_may_meet_by_a_variable(void **state)
{
    (void)state;
    begin(2);
    setenv("NCCL_COMM_ID", "127.0.0.1:29517", 1);
    by_variable = true;
    as_processes(0, exchange);
    by_variable = false;
    unsetenv("NCCL_COMM_ID");
    end();
}

/* The devices of one process, too. */
static void so_do_those_of_one_process(void **state)
{
    (void)state;
    begin(RANKS);
    acu_comm *comm = open_here();
    acu_tensor *x[RANKS], *y[RANKS];
    acu_op *ops[2 * RANKS];
    for (int i = 0; i < count; i++) {
        int before = (i + count - 1) % count;
        acu_op *in[RANKS] = {NULL}, *out[RANKS] = {NULL};
        in[i] = acu_value(x[i] = tensor_of(all[i], false, ACU_F32, (int[]){i, 7}, 2));
        out[i] = acu_value(y[i] = tensor_of(all[i], i == 1, ACU_F32, (int[]){0, 0}, 2));
        acu_collective send = {.kind = ACU_SEND, .rank = (i + 1) % count};
        acu_collective receive = {.kind = ACU_RECEIVE, .rank = before};
        ops[2 * i] = acu_op_collective(comm, &send, in, NULL, here, ACU_SITE);
        ops[2 * i + 1] = acu_op_collective(comm, &receive, NULL, out, here, ACU_SITE);
    }
    assert_works(acu_sync(all[0], acu_comm_group(comm, ops, 2 * here), NULL));
    for (int i = 0; i < count; i++) {
        holds(y[i], (int[]){(i + count - 1) % count, 7});
        acu_tensor_release(x[i]);
        acu_tensor_release(y[i]);
    }
    close_comm(comm);
    end();
}

/* ---- checked --------------------------------------------------------------------------------- */

static void checked_ones_match_too(void **state)
{
    (void)state;
    begin(RANKS);
    all_as_processes(0, true, run_programs);
    end();
}

/* All are told, and so is what comes later. */
static void disagree(acu_comm *comm, int rank)
{
    acu_tensor *x = tensor_of(devices[0], false, ACU_I32, (int[]){1, 2}, 2);
    acu_op *op = rank == 1 ? acu_comm_broadcast(comm, 0, x)
                           : acu_comm_all_reduce(comm, ACU_REDUCE_SUM, x);
    const char *words = "disagree: rank 1|kind broadcast|rank 0 of kind all-reduce";
    assert_fails(acu_sync(devices[0], op, NULL), ACU_ERR_INVALID, words);
    assert_string_equal(acu_last_error()->op, rank == 1 ? "broadcast" : "all-reduce");
    assert_fails(acu_sync(devices[0], acu_comm_all_reduce(comm, ACU_REDUCE_SUM, x), NULL),
                 ACU_ERR_DEPENDENCY, words);
    acu_tensor_release(x);
}

static void ranks_that_disagree_are_named(void **state)
{
    (void)state;
    begin(2);
    all_as_processes(0, true, disagree);
    end();
}

/* ---- trouble --------------------------------------------------------------------------------- */

static void expect_retired(acu_comm *comm, const char *words)
{
    assert_fails(acu_sync(devices[0], acu_comm_barrier(comm), NULL), ACU_ERR_DEPENDENCY, words);
}

/* Rank 0 alone submits; what reads the result is on the device too by then, on another stream. */
static void wait_alone(acu_comm *comm, int rank, void (*then)(acu_future *), acu_status outcome,
                       const char *words)
{
    int value[1] = {1};
    if (rank == 0) {
        acu_tensor *x = tensor_of(devices[0], false, ACU_I32, value, 1), *y;
        acu_future *f = test_submit(devices[0], acu_comm_all_reduce(comm, ACU_REDUCE_SUM, x));
        acu_future *reader = test_submit(devices[0], acu_add(x, acu_scalar(acu_i32(1))));
        y = acu_future_tensor(reader, 0);
        acu_future *second = test_submit(devices[0], acu_add(y, acu_scalar(acu_i32(1))));
        if (then)
            then(f);
        assert_fails(acu_future_wait(f, ACU_FOREVER), outcome, words);
        assert_fails(acu_future_wait(reader, ACU_FOREVER), ACU_ERR_DEPENDENCY, "");
        assert_fails(acu_future_wait(second, ACU_FOREVER), ACU_ERR_DEPENDENCY, "");
        expect_retired(comm, "");
        acu_future_release(f);
        acu_future_release(reader);
        acu_future_release(second);
        acu_tensor_release(x);
        acu_tensor_release(y);
    }
    pthread_barrier_wait(&together);
}

static void be_late(acu_comm *comm, int rank)
{
    wait_alone(comm, rank, NULL, ACU_ERR_DEADLINE, "not all ranks came");
}

static void who_is_late_is_not_waited_for(void **state)
{
    (void)state;
    begin(2);
    as_processes(test_on_gpu() ? ACU_MS(2000) : ACU_MS(200), be_late);
    end();
}

static void cancel_it(acu_future *f)
{
    assert_works(acu_future_cancel(f));
}

static void be_cancelled(acu_comm *comm, int rank)
{
    wait_alone(comm, rank, cancel_it, ACU_ERR_CANCELLED, "");
}

static void what_is_given_up_is_aborted(void **state)
{
    (void)state;
    begin(2);
    as_processes(0, be_cancelled);
    end();
}

static void report_it(acu_future *f)
{
    (void)f;
    report(6);
}

static void be_told(acu_comm *comm, int rank)
{
    wait_alone(comm, rank, report_it, ACU_ERR_DRIVER, "ncclRemoteError|the fake says so");
}

static void what_nccl_reports_ends_it(void **state)
{
    (void)state;
    begin_with_fake(2);
    as_processes(0, be_told);
    report(0);
    end();
}

/* Rank 2 never comes. Rank 0 learns who it is, and goes on with rank 1, which gives up. */
static void lose_one(acu_comm *comm, int rank)
{
    int values[1] = {1}, sum = 2, lost[RANKS], wrong[] = {rank}, none[] = {9};
    acu_tensor *x = tensor_of(devices[0], false, ACU_I32, values, 1);
    acu_comm *left = NULL;
    acu_future *f = NULL;
    if (rank == 0)
        comm->timeout = ACU_MS(200);
    if (rank == 1)
        f = test_submit(devices[0], acu_comm_all_reduce(comm, ACU_REDUCE_SUM, x));
    pthread_barrier_wait(&together);
    if (rank == 0) {
        assert_fails(acu_sync(devices[0], acu_comm_all_reduce(comm, ACU_REDUCE_SUM, x), NULL),
                     ACU_ERR_DEADLINE, "not all ranks came|lost: rank 2");
        assert_int_equal(acu_comm_lost(comm, lost, RANKS), 1);
        assert_int_equal(lost[0], 2);
        assert_fails(acu_comm_shrink(comm, wrong, 1, &left), ACU_ERR_INVALID, "rank 0 is this");
        assert_fails(acu_comm_shrink(comm, none, 1, &left), ACU_ERR_INVALID, "no rank 9 among");
        comm->timeout = ACU_FOREVER; /* what is left takes its time */
    }
    pthread_barrier_wait(&together);
    if (rank == 1) {
        assert_works(acu_future_cancel(f));
        assert_int_equal(acu_future_wait(f, ACU_FOREVER), ACU_ERR_CANCELLED);
        acu_future_release(f);
    }
    acu_tensor_release(x);
    if (rank == 2)
        return;
    x = tensor_of(devices[0], false, ACU_I32, values, 1);
    assert_works(acu_comm_shrink(comm, (int[]){2}, 1, &left));
    assert_int_equal(acu_comm_ranks(left), 2);
    assert_int_equal(acu_comm_rank(left), rank);
    assert_works(acu_sync(devices[0], acu_comm_all_reduce(left, ACU_REDUCE_SUM, x), NULL));
    holds(x, &sum);
    acu_tensor_release(x);
    close_comm(left);
}

static void who_never_comes_is_named(void **state)
{
    (void)state;
    begin_with_fake(3);
    as_processes(0, lose_one);
    end();
}

/* NCCL reports that something is wrong; whose process has ended is named. */
static void lose_reported(acu_comm *comm, int rank)
{
    int value[1] = {1};
    if (rank == 1) { /* as if its process had ended */
        char own[80];
        snprintf(own, sizeof own, "%s.1", acui_alive_file(comm->alive));
        assert_int_equal(unlink(own), 0);
    }
    pthread_barrier_wait(&together);
    if (rank == 0) {
        acu_tensor *x = tensor_of(devices[0], false, ACU_I32, value, 1);
        acu_future *f = test_submit(devices[0], acu_comm_all_reduce(comm, ACU_REDUCE_SUM, x));
        report(6);
        assert_fails(acu_future_wait(f, ACU_FOREVER), ACU_ERR_DRIVER,
                     "ncclRemoteError|lost: rank 1");
        acu_future_release(f);
        acu_tensor_release(x);
    }
    pthread_barrier_wait(&together);
}

static void who_has_ended_is_named(void **state)
{
    (void)state;
    begin_with_fake(2);
    as_processes(0, lose_reported);
    report(0);
    end();
}

static void devices_of_one_process_can_be_left_out(void **state)
{
    (void)state;
    begin(RANKS);
    acu_comm *comm = open_here(), *left;
    assert_int_equal(acu_comm_lost(comm, NULL, 0), 0);
    assert_works(acu_comm_shrink(comm, (int[]){1}, 1, &left));
    assert_string_equal(acu_comm_library(left), "NCCL");
    assert_int_equal(acu_comm_ranks(left), count - 1);
    assert_ptr_equal(acu_comm_device(left, 0), all[0]);
    assert_ptr_equal(acu_comm_device(left, 1), count > 2 ? all[2] : NULL);
    close_comm(left);
    assert_fails(acu_comm_shrink(comm, NULL, 1, &left), ACU_ERR_INVALID, "no list");
    close_comm(comm);
    end();
}

/* The counts differ: nothing of it ends. */
static void differ(acu_comm *comm, int rank)
{
    int values[2] = {1, 2};
    acu_tensor *x = tensor_of(devices[0], false, ACU_I32, values, rank == 1 ? 1 : 2);
    assert_fails(acu_sync(devices[0], acu_comm_all_reduce(comm, ACU_REDUCE_SUM, x), NULL),
                 ACU_ERR_DEADLINE, "not all ranks came");
    pthread_barrier_wait(&together);
    acu_tensor_release(x);
}

static void ranks_that_disagree_end(void **state)
{
    (void)state;
    begin_with_fake(2);
    as_processes(ACU_MS(200), differ);
    end();
}

static void close_early(acu_comm *comm, int rank)
{
    (void)comm;
    pthread_barrier_wait(&together);
    if (rank)
        return;
    int value[1] = {1};
    acu_comm *mine;
    char file[64];
    snprintf(file, sizeof file, "%s/alone", folder);
    acu_comm_options options = {.size = sizeof options, .devices = devices, .device_count = 1,
                                .backend = ACU_COMM_NCCL, .rank = 0, .ranks = 1};
    assert_works(acu_comm_open(&options, &mine));
    acu_tensor *x = tensor_of(devices[0], false, ACU_I32, value, 1);
    assert_works(acu_sync(devices[0], acu_comm_all_reduce(mine, ACU_REDUCE_SUM, x), NULL));
    holds(x, value);
    acu_op *op = acu_comm_all_reduce(mine, ACU_REDUCE_SUM, x);
    close_comm(mine);
    assert_fails(acu_sync(devices[0], op, NULL), ACU_ERR_INVALID, "closed");
    acu_tensor_release(x);
}

static void one_rank_is_enough(void **state)
{
    (void)state;
    begin(2);
    as_processes(0, close_early);
    end();
}

static acu_future *waiting;

/* The others never come; closing ends it. */
static void leave_waiting(acu_comm *comm, int rank)
{
    int value[1] = {1};
    acu_tensor *x = tensor_of(devices[0], false, ACU_I32, value, 1);
    if (rank == 0) {
        waiting = test_submit(devices[0], acu_comm_all_reduce(comm, ACU_REDUCE_SUM, x));
        assert_int_equal(acu_future_wait(waiting, ACU_MS(20)), ACU_TIMEOUT);
        assert_fails(acu_comm_close(comm, ACU_MS(20)), ACU_ERR_DEADLINE, "was closed while");
        assert_fails(acu_future_wait(waiting, ACU_FOREVER), ACU_ERR_DEADLINE, "was closed while");
        acu_future_release(waiting);
    }
    acu_tensor_release(x);
    pthread_barrier_wait(&together);
    if (rank)
        close_comm(comm);
}

static void *run_and_leave(void *context)
{
    const process *p = context;
    acu_comm *comm;
    devices[0] = all[p->rank];
    acu_comm_options options = {.size = sizeof options, .devices = devices, .device_count = 1,
                                .backend = ACU_COMM_NCCL, .rank = p->rank, .ranks = count,
                                .file = p->file};
    assert_works(acu_comm_open(&options, &comm));
    leave_waiting(comm, p->rank);
    return NULL;
}

static void closing_ends_what_waits(void **state)
{
    (void)state;
    begin(2);
    pthread_t threads[RANKS];
    process p[RANKS];
    char file[64];
    snprintf(file, sizeof file, "%s/meet", folder);
    pthread_barrier_init(&together, NULL, (unsigned)count);
    for (int i = 0; i < count; i++) {
        p[i] = (process){i, 0, NULL, file, false};
        assert_int_equal(pthread_create(&threads[i], NULL, run_and_leave, &p[i]), 0);
    }
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&together);
    end();
}

static void too_few_ranks_end_in_words(void **state)
{
    (void)state;
    begin_with_fake(2);
    acu_comm *comm;
    char file[64];
    snprintf(file, sizeof file, "%s/few", folder);
    acu_comm_options options = {.size = sizeof options, .devices = all, .device_count = 1,
                                .backend = ACU_COMM_NCCL, .rank = 1, .ranks = 2, .file = file,
                                .timeout = ACU_MS(20)};
    assert_fails(acu_comm_open(&options, &comm), ACU_ERR_DEADLINE, "rank 0 has not written");
    options.rank = 0;
    assert_fails(acu_comm_open(&options, &comm), ACU_ERR_DEADLINE, "may be missing");
    options.file = "/nowhere/file";
    assert_fails(acu_comm_open(&options, &comm), ACU_ERR_IO, "/nowhere/file|No such file");
    assert_int_equal(symlink("something", file), 0);
    options.file = file;
    assert_fails(acu_comm_open(&options, &comm), ACU_ERR_IO, "there already");
    unlink(file);
    give_up(1); /* the thread that was left behind goes */
    while (atomic_load(&fake->created) != atomic_load(&fake->destroyed) ||
           acu_debug_live(ACU_OBJECT_COMM))
        sched_yield();
    give_up(0);
    end();
}

/* ---- making it without waiting ---- */

static acu_comm_options half(int rank, const char *file)
{
    return (acu_comm_options){.size = sizeof(acu_comm_options), .devices = &all[rank],
                              .device_count = 1, .backend = ACU_COMM_NCCL, .rank = rank,
                              .ranks = 2, .file = file};
}

static void making_one_blocks_nobody(void **state)
{
    (void)state;
    begin(2);
    acu_comm *comm[2];
    acu_future *f[2];
    char file[64];
    snprintf(file, sizeof file, "%s/meet", folder);
    acu_comm_options options = half(1, file);
    assert_works(acu_comm_open_async(&options, &comm[1], &f[1]));
    assert_int_equal(acu_future_poll(f[1]), ACU_NOT_READY);
    assert_int_equal(acu_comm_ranks(comm[1]), 0);
    assert_null(acu_comm_library(comm[1]));
    assert_ptr_equal(acu_comm_device(comm[1], 0), all[1]);
    assert_fails(acu_sync(all[1], acu_comm_barrier(comm[1]), NULL), ACU_ERR_INVALID,
                 "barrier|the communicator is still being made");
    options = half(0, file);
    assert_works(acu_comm_open_async(&options, &comm[0], &f[0]));
    for (int i = 0; i < 2; i++) {
        assert_works(acu_future_wait(f[i], ACU_FOREVER));
        assert_int_equal(acu_comm_ranks(comm[i]), 2);
        assert_int_equal(acu_comm_rank(comm[i]), i);
        acu_future_release(f[i]);
    }
    acu_tensor *x[2];
    for (int i = 0; i < 2; i++) {
        x[i] = tensor_of(all[i], false, ACU_I32, (int[]){1 + i}, 1);
        f[i] = test_submit(all[i], acu_comm_all_reduce(comm[i], ACU_REDUCE_SUM, x[i]));
    }
    for (int i = 0; i < 2; i++) {
        assert_works(acu_future_wait(f[i], ACU_FOREVER));
        holds(x[i], (int[]){3});
        acu_future_release(f[i]);
        acu_tensor_release(x[i]);
    }
    for (int i = 0; i < 2; i++)
        close_comm(comm[i]);
    end();
}

static void making_one_may_fail_or_be_given_up(void **state)
{
    (void)state;
    begin_with_fake(2);
    acu_comm *comm;
    acu_future *f;
    char file[64];
    snprintf(file, sizeof file, "%s/few", folder);
    acu_comm_options options = half(0, "/nowhere/file");
    assert_works(acu_comm_open_async(&options, &comm, &f));
    assert_fails(acu_future_wait(f, ACU_FOREVER), ACU_ERR_IO, "/nowhere/file");
    assert_fails(acu_sync(all[0], acu_comm_barrier(comm), NULL), ACU_ERR_INVALID,
                 "barrier|the communicator could not be made");
    acu_future_release(f);
    close_comm(comm);
    options.device_count = 0;
    assert_fails(acu_comm_open_async(&options, &comm, &f), ACU_ERR_INVALID, "1 to 64 devices");
    assert_fails(acu_comm_open_async(&options, &comm, NULL), ACU_ERR_INVALID, "the future");
    options = half(0, file); /* the other one never comes */
    assert_works(acu_comm_open_async(&options, &comm, &f));
    assert_works(acu_future_cancel(f));
    assert_int_equal(acu_future_wait(f, ACU_FOREVER), ACU_ERR_CANCELLED);
    assert_fails(acu_comm_close(comm, ACU_MS(5)), ACU_ERR_DEADLINE, "still being made");
    assert_fails(acu_comm_close(comm, 0), ACU_ERR_BAD_HANDLE, "closed before");
    acu_future_release(f);
    give_up(1);
    while (acu_debug_live(ACU_OBJECT_COMM) || acu_debug_live(ACU_OBJECT_FUTURE))
        sched_yield();
    give_up(0);
    end();
}

static void what_nccl_refuses_is_told(void **state)
{
    (void)state;
    begin_with_fake(2);
    acu_comm *comm;
    acu_comm_options options = {.size = sizeof options, .devices = all, .device_count = 2,
                                .backend = ACU_COMM_NCCL};
    atomic_store(&fake->fail_create, 2);
    assert_fails(acu_comm_open(&options, &comm), ACU_ERR_DRIVER, "ncclGetUniqueId|SystemError");
    options.backend = ACU_COMM_AUTO; /* then without it */
    assert_works(acu_comm_open(&options, &comm));
    assert_string_equal(acu_comm_library(comm), "one process");
    close_comm(comm);
    atomic_store(&fake->fail_create, 0);
    comm = open_here();
    atomic_store(&fake->fail_call, 3);
    acu_collective barrier = {.kind = ACU_BARRIER};
    assert_fails(acu_sync(all[0], acu_op_collective(comm, &barrier, NULL, NULL, 0, ACU_SITE),
                          NULL), ACU_ERR_DRIVER, "ncclInternalError|the fake says so");
    atomic_store(&fake->fail_call, 0);
    assert_fails(acu_sync(all[0], acu_op_collective(comm, &barrier, NULL, NULL, 0, ACU_SITE),
                          NULL), ACU_ERR_DEPENDENCY, "ncclInternalError");
    close_comm(comm);
    comm = open_here(); /* another one works */
    assert_works(acu_sync(all[0], acu_op_collective(comm, &barrier, NULL, NULL, 0, ACU_SITE),
                          NULL));
    close_comm(comm);
    end();
}

/* Opens a communicator, and adds over it. What fails is told, and nothing hangs. */
static acu_comm *add_once(void)
{
    acu_collective add = {.kind = ACU_ALL_REDUCE, .reduction = ACU_REDUCE_SUM};
    acu_comm_options options = {.size = sizeof options, .devices = all, .device_count = 2,
                                .backend = ACU_COMM_NCCL};
    acu_comm *comm = NULL;
    acu_future *future = NULL;
    if (acu_comm_open_async(&options, &comm, &future) != ACU_OK)
        return NULL;
    acu_status made = acu_future_wait(future, ACU_FOREVER);
    acu_future_release(future);
    future = NULL;
    if (made != ACU_OK)
        return comm;
    acu_op *ops[2] = {acu_full(ACU_SHAPE(1), acu_i32(3)), acu_full(ACU_SHAPE(1), acu_i32(4))};
    if (acu_submit(all[0], acu_op_collective(comm, &add, NULL, ops, 2, ACU_SITE), NULL, &future) ==
        ACU_OK)
        acu_future_wait(future, ACU_FOREVER);
    acu_future_release(future);
    return comm;
}

static void every_call_may_fail(void **state)
{
    (void)state;
    bool through = false;
    for (uint64_t nth = 1; !through; nth += 1 + test_thin() / 4) {
        begin_with_fake(2);
        acu_driver_fault fault = {.size = sizeof fault, .call = ACU_CALL_ANY, .nth = nth};
        assert_works(acu_driver_fail(&fault));
        acu_comm *comm = add_once();
        through = acu_driver_fault_hits() == 0;
        acu_driver_fail_clear(); /* what could not be destroyed would be left */
        if (comm)
            close_comm(comm);
        end();
    }
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    begin_with_fake(2);
    acu_collective add = {.kind = ACU_ALL_REDUCE, .reduction = ACU_REDUCE_MEAN};
    acu_comm_options options = {.size = sizeof options, .devices = all, .device_count = 2,
                                .backend = ACU_COMM_NCCL};
    int value[1] = {3};
    acu_tensor *x[2];
    for (int i = 0; i < 2; i++)
        x[i] = tensor_of(all[i], false, ACU_F8E5M2, value, 1);
    for (uint64_t nth = 1, made = 1; nth <= made; nth += 1 + test_thin() / 4) {
        acu_comm *comm = NULL;
        acu_future *future = NULL;
        acu_debug_fail_alloc(nth, false);
        if (acu_comm_open(&options, &comm) == ACU_OK) {
            acu_op *ops[2] = {acu_value(x[0]), acu_value(x[1])};
            acu_submit(all[0], acu_op_collective(comm, &add, NULL, ops, 2, ACU_SITE), NULL,
                       &future);
        }
        acu_future_wait(future, ACU_FOREVER);
        made = acu_debug_alloc_count();
        acu_debug_fail_alloc(0, false);
        acu_future_release(future);
        assert_works(acu_comm_close(comm, ACU_FOREVER));
    }
    for (int i = 0; i < 2; i++)
        acu_tensor_release(x[i]);
    end();
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(collectives_match_a_serial_model),
        TEST(it_is_taken_where_it_is),
        TEST(what_is_overwritten_is_not_read),
        TEST(barriers_and_chains),
        TEST(threads_of_one_process_need_no_order),
        TEST(a_chosen_stream_is_taken),
        TEST(a_process_for_each_device),
        TEST(some_of_the_processes),
        TEST(what_is_submitted_with_it_does_not_wait),
        TEST(messages),
        TEST(neighbours_exchange),
        TEST(they_may_meet_by_a_variable),
        TEST(so_do_those_of_one_process),
        TEST(checked_ones_match_too),
        TEST(ranks_that_disagree_are_named),
        TEST(who_is_late_is_not_waited_for),
        TEST(what_is_given_up_is_aborted),
        TEST(what_nccl_reports_ends_it),
        TEST(who_never_comes_is_named),
        TEST(who_has_ended_is_named),
        TEST(devices_of_one_process_can_be_left_out),
        TEST(ranks_that_disagree_end),
        TEST(one_rank_is_enough),
        TEST(closing_ends_what_waits),
        TEST(too_few_ranks_end_in_words),
        TEST(making_one_blocks_nobody),
        TEST(making_one_may_fail_or_be_given_up),
        TEST(what_nccl_refuses_is_told),
        TEST(every_call_may_fail),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
