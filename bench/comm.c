/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Collectives by NCCL among the GPUs of one process (comm.h), beside NCCL by hand on a stream of
 * each GPU: a large and a small all-reduce; several of them from several threads; and a step of
 * data-parallel training whose sums run while the next layers are computed, beside the same step
 * of one GPU alone. With one GPU, or without NCCL, nothing. Over MPI: bench/mpi.
 */
#include "harness/harness.h"

#include <pthread.h>
#include <stdio.h>

enum { MOST = 4, F32 = 7, SUM = 0, THREADS = 4, EACH = 2, LAYERS = 8 };

typedef struct nccl {
    int (*init_all)(void **comms, int count, const int *devices);
    int (*destroy)(void *comm);
    int (*group_start)(void);
    int (*group_end)(void);
    int (*all_reduce)(const void *in, void *out, size_t n, int type, int op, void *comm,
                      CUstream stream);
} nccl;

typedef struct subject {
    bench *b;
    nccl nccl;
    acu_comm *comm;
    int count;
    acu_device *devices[MOST];
    void *comms[MOST];
    CUstream streams[MOST];
    acu_tensor *x[MOST];
    /* Of several threads, one for each collective. */
    acu_tensor *several[THREADS * EACH][MOST];
    /* The step's. */
    acu_tensor *input[MOST], *weights[MOST], *gradients[LAYERS][MOST];
    bool forwards; /* the step goes forwards first */
} subject;

/* ---- opening --------------------------------------------------------------------------------- */

static bool find_nccl(subject *s)
{
    void *library = bench_library(s->b, ACU_VENDOR_NCCL);
    if (!library) {
        printf("comm: %s\n", acu_last_error()->message);
        return false;
    }
    bench_find(library, "ncclCommInitAll", &s->nccl.init_all);
    bench_find(library, "ncclCommDestroy", &s->nccl.destroy);
    bench_find(library, "ncclGroupStart", &s->nccl.group_start);
    bench_find(library, "ncclGroupEnd", &s->nccl.group_end);
    bench_find(library, "ncclAllReduce", &s->nccl.all_reduce);
    return true;
}

/* As many GPUs as a power of two. */
static bool open_devices(subject *s)
{
    acu_open_options o = {.size = sizeof o, .allow_software = true};
    int have;
    MUST(acu_device_count_load(&o, &have));
    s->count = have >= MOST ? MOST : have >= 2 ? 2 : 1;
    if (s->count == 1 || !find_nccl(s))
        return false;
    s->devices[0] = acu_device_retain(s->b->device);
    for (int i = 1; i < s->count; i++) {
        o.ordinal = i;
        MUST(acu_open(&o, &s->devices[i]));
    }
    acu_comm_options all = {.size = sizeof all, .devices = s->devices,
                            .device_count = (size_t)s->count, .backend = ACU_COMM_NCCL};
    MUST(acu_comm_open(&all, &s->comm));
    int ordinals[MOST] = {0, 1, 2, 3};
    bench_enter(s->b);
    bench_call(s->nccl.init_all(s->comms, s->count, ordinals), "ncclCommInitAll");
    bench_leave(s->b);
    for (int i = 0; i < s->count; i++) {
        MUST_CU(s->b->cu->CtxSetCurrent(acu_device_context(s->devices[i])));
        MUST_CU(s->b->cu->StreamCreate(&s->streams[i], 1));
    }
    bench_leave(s->b);
    return true;
}

static void close_devices(subject *s)
{
    for (int i = 0; i < s->count; i++) {
        MUST_CU(s->b->cu->CtxSetCurrent(acu_device_context(s->devices[i])));
        bench_call(s->nccl.destroy(s->comms[i]), "ncclCommDestroy");
        MUST_CU(s->b->cu->StreamDestroy(s->streams[i]));
    }
    bench_leave(s->b);
    MUST(acu_comm_close(s->comm, ACU_FOREVER));
    acu_device_release(s->devices[0]);
    for (int i = 1; i < s->count; i++)
        MUST(acu_close(s->devices[i]));
}

static acu_tensor *made(acu_device *device, acu_op *op)
{
    acu_tensor *tensor;
    MUST(acu_sync(device, op, &tensor));
    return tensor;
}

static void drop(const subject *s, acu_tensor **tensors)
{
    for (int i = 0; i < s->count; i++)
        acu_tensor_release(tensors[i]);
}

/* ---- all-reduces ----------------------------------------------------------------------------- */

static acu_op *sum_of(const subject *s, acu_tensor *const *tensors)
{
    acu_collective add = {.kind = ACU_ALL_REDUCE, .reduction = ACU_REDUCE_SUM};
    acu_op *ops[MOST];
    for (int i = 0; i < s->count; i++)
        ops[i] = acu_value(tensors[i]);
    return acu_op_collective(s->comm, &add, NULL, ops, (size_t)s->count, ACU_SITE);
}

static double reduce_acuda(void *user)
{
    const subject *s = user;
    double start = bench_now_us();
    MUST(acu_sync(s->devices[0], sum_of(s, s->x), NULL));
    return bench_now_us() - start;
}

static void call_by_hand(const subject *s, acu_tensor *const *tensors)
{
    bench_call(s->nccl.group_start(), "ncclGroupStart");
    for (int i = 0; i < s->count; i++) {
        void *at = (void *)(uintptr_t)acu_tensor_address(tensors[i]);
        bench_call(s->nccl.all_reduce(at, at, (size_t)acu_tensor_elements(tensors[i]), F32, SUM,
                                      s->comms[i], s->streams[i]), "ncclAllReduce");
    }
    bench_call(s->nccl.group_end(), "ncclGroupEnd");
}

static void wait_by_hand(const subject *s)
{
    for (int i = 0; i < s->count; i++)
        MUST_CU(s->b->cu->StreamSynchronize(s->streams[i]));
}

static double reduce_by_hand(void *user)
{
    const subject *s = user;
    double start = bench_now_us();
    call_by_hand(s, s->x);
    wait_by_hand(s);
    return bench_now_us() - start;
}

/* Each has its number; so the sum is known. */
static void check_sums(const subject *s)
{
    float want = 0, is[2];
    for (int i = 0; i < s->count; i++) {
        MUST(acu_sync(s->devices[i], acu_fill(s->x[i], acu_f32((float)(i + 1))), NULL));
        want += (float)(i + 1);
    }
    MUST(acu_sync(s->devices[0], sum_of(s, s->x), NULL));
    for (int i = 0; i < s->count; i++) {
        acu_tensor *least = made(s->devices[i], acu_min_of(s->x[i], ACU_ALL));
        acu_tensor *most = made(s->devices[i], acu_max_of(s->x[i], ACU_ALL));
        MUST(acu_read_sync(least, &is[0], sizeof is[0]));
        MUST(acu_read_sync(most, &is[1], sizeof is[1]));
        acu_tensor_release(least);
        acu_tensor_release(most);
        if (is[0] != want || is[1] != want)
            bench_wrong("the sums of rank %d are %g to %g, not %g", i, (double)is[0],
                        (double)is[1], (double)want);
        MUST(acu_sync(s->devices[i], acu_fill(s->x[i], acu_f32(0)), NULL));
    }
}

static void one_size(subject *s, const char *what, int64_t n, int samples, double goal)
{
    for (int i = 0; i < s->count; i++)
        s->x[i] = made(s->devices[i], acu_zeros(ACU_F32, ACU_SHAPE(n)));
    check_sums(s);
    bench_row row = {.what = what,
                     .samples = samples,
                     .warm = samples < 100 ? 4 : 0,
                     .sides = {{"acuda", reduce_acuda, s, 0, 0},
                               {"NCCL", reduce_by_hand, s, goal, 0}}};
    bench_compare(s->b, &row);
    drop(s, s->x);
}

/* ---- from several threads -------------------------------------------------------------------- */

typedef struct submitter {
    const subject *s;
    int number;
} submitter;

static void *submit_some(void *context)
{
    const submitter *t = context;
    acu_future *futures[EACH];
    for (int k = 0; k < EACH; k++)
        MUST(acu_submit(t->s->devices[0], sum_of(t->s, t->s->several[t->number * EACH + k]), NULL,
                        &futures[k]));
    MUST(acu_wait_all(futures, EACH, ACU_FOREVER));
    for (int k = 0; k < EACH; k++)
        acu_future_release(futures[k]);
    return NULL;
}

static double several_acuda(void *user)
{
    const subject *s = user;
    pthread_t threads[THREADS];
    submitter t[THREADS];
    double start = bench_now_us();
    for (int i = 0; i < THREADS; i++) {
        t[i] = (submitter){s, i};
        if (pthread_create(&threads[i], NULL, submit_some, &t[i]) != 0)
            bench_die("no thread");
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return bench_now_us() - start;
}

/* By hand from several threads they would be called in other orders, and hang. */
static double several_by_hand(void *user)
{
    const subject *s = user;
    double start = bench_now_us();
    for (int k = 0; k < THREADS * EACH; k++)
        call_by_hand(s, s->several[k]);
    wait_by_hand(s);
    return bench_now_us() - start;
}

static void several_threads(subject *s)
{
    for (int k = 0; k < THREADS * EACH; k++)
        for (int i = 0; i < s->count; i++)
            s->several[k][i] = made(s->devices[i],
                                    acu_zeros(ACU_F32, ACU_SHAPE(INT64_C(1000) << k)));
    bench_row row = {.what = "8 all-reduces of 4 KB to 512 KB from 4 threads",
                     .samples = 400,
                     .warm = 10,
                     .sides = {{"acuda", several_acuda, s, 0, 0},
                               {"NCCL, by one thread", several_by_hand, s, 0, 0}}};
    bench_compare(s->b, &row);
    for (int k = 0; k < THREADS * EACH; k++)
        drop(s, s->several[k]);
}

/* ---- a step of training ---------------------------------------------------------------------- */

/* What each layer is given: forwards through them, or the input of all. */
static void go_forward(const subject *s, int with, acu_op *given[LAYERS][MOST])
{
    for (int i = 0; i < with; i++)
        for (int l = 0; l < LAYERS; l++)
            given[l][i] = l == 0 || !s->forwards
                              ? acu_value(s->input[i])
                              : acu_share(acu_on(s->devices[i],
                                                 acu_matmul(acu_op_retain(given[l - 1][i]),
                                                            s->weights[i])));
}

/* Backwards through the layers: each gives its gradient, which is added up over the ranks while the
 * layers before it go on. `with`: how many devices take part. */
static double step(const subject *s, int with)
{
    acu_op *error[MOST], *given[LAYERS][MOST];
    acu_future *futures[LAYERS];
    acu_collective add = {.kind = ACU_ALL_REDUCE, .reduction = ACU_REDUCE_SUM};
    double start = bench_now_us();
    go_forward(s, with, given);
    for (int i = 0; i < with; i++)
        error[i] = acu_value(s->input[i]);
    for (int l = LAYERS - 1; l >= 0; l--) {
        acu_op *sums[MOST];
        for (int i = 0; i < with; i++) {
            acu_op *e = acu_share(acu_on(s->devices[i], acu_matmul(error[i], s->weights[i])));
            error[i] = acu_op_retain(e);
            sums[i] = acu_into(s->gradients[l][i], acu_matmul(acu_transpose(given[l][i], 0, 1), e));
        }
        acu_op *op = with == 1 ? sums[0]
                               : acu_op_collective(s->comm, &add, NULL, sums, (size_t)with,
                                                   ACU_SITE);
        MUST(acu_submit(s->devices[0], op, NULL, &futures[l]));
    }
    for (int i = 0; i < with; i++)
        acu_op_release(error[i]);
    MUST(acu_wait_all(futures, LAYERS, ACU_FOREVER));
    for (int l = 0; l < LAYERS; l++)
        acu_future_release(futures[l]);
    return bench_now_us() - start;
}

static double step_of_all(void *user)
{
    const subject *s = user;
    return step(s, s->count);
}

static double step_of_one(void *user)
{
    return step(user, 1);
}

static void training(subject *s)
{
    int64_t n = bench_count(s->b, 8192, 16);
    for (int i = 0; i < s->count; i++) {
        s->input[i] = made(s->devices[i], acu_convert(acu_randn(ACU_F32, ACU_SHAPE(n, n), 1, 0),
                                                      ACU_BF16));
        s->weights[i] = made(s->devices[i], acu_convert(acu_eye(ACU_F32, n), ACU_BF16));
        for (int l = 0; l < LAYERS; l++)
            s->gradients[l][i] = made(s->devices[i], acu_zeros(ACU_BF16, ACU_SHAPE(n, n)));
    }
    bench_row row = {.what = "a data-parallel step: 8 layers, bf16, 8192 x 8192",
                     .samples = 60,
                     .warm = 6,
                     .sides = {{"acuda", step_of_all, s, 0, 0},
                               {"the same of one GPU alone", step_of_one, s, 1 / 0.95, 0}}};
    s->forwards = true;
    bench_compare(s->b, &row);
    s->forwards = false;
    row.what = "its way backwards alone";
    row.sides[1].p50_goal = 0;
    bench_compare(s->b, &row);
    drop(s, s->input);
    drop(s, s->weights);
    for (int l = 0; l < LAYERS; l++)
        drop(s, s->gradients[l]);
}

int main(int argc, char **argv)
{
    bench b = bench_open("comm", argc, argv, NULL);
    subject s = {.b = &b};
    if (!open_devices(&s)) {
        printf("comm: it takes two GPUs and NCCL\n");
        return bench_close(&b);
    }
    char title[100];
    snprintf(title, sizeof title, "collectives by NCCL among %d GPUs of one process", s.count);
    bench_title(&b, title);
    one_size(&s, "all-reduce of 1 GiB", bench_count(&b, 1 << 28, 1000), 40, 1 / 0.98);
    one_size(&s, "all-reduce of 16 MiB", bench_count(&b, 1 << 22, 1000), 400, 0);
    one_size(&s, "all-reduce of 8 KiB", 2048, 2000, 1.15);
    several_threads(&s);
    training(&s);
    close_devices(&s);
    return bench_close(&b);
}
