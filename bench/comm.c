/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Collectives by NCCL (comm.h) among the GPUs of one process, or of several with a GPU each
 * (torchrun, or ACUDA_RANK and ACUDA_RANKS, with ACUDA_COMM_FILE; rank 0 shows its figures), beside
 * NCCL by hand on a stream of each GPU: large and small all-reduces; several of them from several
 * threads; and a step of data-parallel training whose sums run while the next layers are computed,
 * beside the same step of one GPU alone. With one GPU, or without NCCL, nothing. Over MPI:
 * bench/mpi.
 *
 * Two more twins say where the time goes: the end of all GPUs told by one stream, which waits for
 * the others' events, as an op's is; and the step without its sums, on all GPUs at once.
 */
#include "harness/harness.h"

#include <pthread.h>
#include <stdio.h>

enum { MOST = 4, F32 = 7, SUM = 0, THREADS = 4, EACH = 2, LAYERS = 8 };

typedef struct nccl_id {
    char bytes[128];
} nccl_id;

typedef struct nccl {
    int (*get_id)(nccl_id *id);
    int (*init_rank)(void **comm, int ranks, nccl_id id, int rank);
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
    int count; /* GPUs of this process */
    int rank, ranks; /* of the first, and of all processes */
    acu_device *devices[MOST];
    void *comms[MOST];
    CUstream streams[MOST];
    CUevent over[MOST];
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
    bench_find(library, "ncclGetUniqueId", &s->nccl.get_id);
    bench_find(library, "ncclCommInitRank", &s->nccl.init_rank);
    bench_find(library, "ncclCommDestroy", &s->nccl.destroy);
    bench_find(library, "ncclGroupStart", &s->nccl.group_start);
    bench_find(library, "ncclGroupEnd", &s->nccl.group_end);
    bench_find(library, "ncclAllReduce", &s->nccl.all_reduce);
    return true;
}

/* Of one process: as many GPUs as a power of two. */
static bool open_devices(subject *s, const acu_launched *launched, int have)
{
    acu_open_options o = {.size = sizeof o, .allow_software = true};
    s->count = launched->ranks > 1 ? 1 : have >= MOST ? MOST : have >= 2 ? 2 : 1;
    if ((have < 2 && launched->ranks == 1) || !find_nccl(s))
        return false;
    s->devices[0] = acu_device_retain(s->b->device);
    for (int i = 1; i < s->count; i++) {
        o.ordinal = i;
        MUST(acu_open(&o, &s->devices[i]));
    }
    acu_comm_options all = {.size = sizeof all, .devices = s->devices,
                            .device_count = (size_t)s->count, .backend = ACU_COMM_NCCL};
    MUST(acu_comm_open(&all, &s->comm));
    s->rank = acu_comm_rank(s->comm);
    s->ranks = acu_comm_ranks(s->comm);
    return true;
}

static acu_tensor *made(acu_device *device, acu_op *op)
{
    acu_tensor *tensor;
    MUST(acu_sync(device, op, &tensor));
    return tensor;
}

/* All ranks' communicator by hand: it is told by acuda's. */
static nccl_id tell_id(const subject *s)
{
    nccl_id id = {{0}};
    if (s->rank == 0)
        bench_call(s->nccl.get_id(&id), "ncclGetUniqueId");
    if (s->ranks == s->count)
        return id;
    acu_tensor *x = made(s->devices[0], acu_zeros(ACU_U8, ACU_SHAPE(sizeof id)));
    MUST(acu_write_sync(x, &id, sizeof id));
    MUST(acu_sync(s->devices[0], acu_comm_broadcast(s->comm, 0, x), NULL));
    MUST(acu_read_sync(x, &id, sizeof id));
    acu_tensor_release(x);
    return id;
}

static void open_by_hand(subject *s)
{
    nccl_id id = tell_id(s);
    bench_call(s->nccl.group_start(), "ncclGroupStart");
    for (int i = 0; i < s->count; i++) {
        MUST_CU(s->b->cu->CtxSetCurrent(acu_device_context(s->devices[i])));
        bench_call(s->nccl.init_rank(&s->comms[i], s->ranks, id, s->rank + i), "ncclCommInitRank");
        MUST_CU(s->b->cu->StreamCreate(&s->streams[i], 1));
        MUST_CU(s->b->cu->EventCreate(&s->over[i], 2)); /* without times */
    }
    bench_call(s->nccl.group_end(), "ncclGroupEnd");
    bench_leave(s->b);
}

static void close_devices(subject *s)
{
    for (int i = 0; i < s->count; i++) {
        MUST_CU(s->b->cu->CtxSetCurrent(acu_device_context(s->devices[i])));
        bench_call(s->nccl.destroy(s->comms[i]), "ncclCommDestroy");
        MUST_CU(s->b->cu->StreamDestroy(s->streams[i]));
        MUST_CU(s->b->cu->EventDestroy(s->over[i]));
    }
    bench_leave(s->b);
    MUST(acu_comm_close(s->comm, ACU_FOREVER));
    acu_device_release(s->devices[0]);
    for (int i = 1; i < s->count; i++)
        MUST(acu_close(s->devices[i]));
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

static double reduce_told_by_one(void *user)
{
    const subject *s = user;
    double start = bench_now_us();
    call_by_hand(s, s->x);
    for (int i = 1; i < s->count; i++) {
        MUST_CU(s->b->cu->CtxPushCurrent(acu_device_context(s->devices[i])));
        MUST_CU(s->b->cu->EventRecord(s->over[i], s->streams[i]));
        CUcontext context;
        MUST_CU(s->b->cu->CtxPopCurrent(&context));
        MUST_CU(s->b->cu->StreamWaitEvent(s->streams[0], s->over[i], 0));
    }
    MUST_CU(s->b->cu->StreamSynchronize(s->streams[0]));
    return bench_now_us() - start;
}

/* Each has its number; so the sum is known. */
static void check_sums(const subject *s)
{
    float want = (float)(s->ranks * (s->ranks + 1) / 2), is[2];
    for (int i = 0; i < s->count; i++)
        MUST(acu_sync(s->devices[i], acu_fill(s->x[i], acu_f32((float)(s->rank + i + 1))), NULL));
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
    if (s->count > 1)
        row.sides[2] = (bench_side){"NCCL, told by one stream", reduce_told_by_one, s, 0,
                                    0};
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
 * layers before it go on. `with`: how many devices take part; `sums`: those of all ranks. */
static double step(const subject *s, int with, bool sums)
{
    acu_op *error[MOST], *given[LAYERS][MOST];
    acu_future *futures[LAYERS];
    acu_collective add = {.kind = ACU_ALL_REDUCE, .reduction = ACU_REDUCE_SUM};
    double start = bench_now_us();
    go_forward(s, with, given);
    for (int i = 0; i < with; i++)
        error[i] = acu_value(s->input[i]);
    for (int l = LAYERS - 1; l >= 0; l--) {
        acu_op *gradients[MOST];
        for (int i = 0; i < with; i++) {
            acu_op *e = acu_share(acu_on(s->devices[i], acu_matmul(error[i], s->weights[i])));
            error[i] = acu_op_retain(e);
            gradients[i] = acu_on(s->devices[i],
                                  acu_into(s->gradients[l][i],
                                           acu_matmul(acu_transpose(given[l][i], 0, 1), e)));
        }
        acu_op *op = sums ? acu_op_collective(s->comm, &add, NULL, gradients, (size_t)with,
                                              ACU_SITE)
                          : acu_op_zip(gradients, (size_t)with, ACU_SITE);
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
    return step(s, s->count, true);
}

static double step_of_one(void *user)
{
    return step(user, 1, false);
}

static double step_without_sums(void *user)
{
    const subject *s = user;
    return step(s, s->count, false);
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
                               {"the same of one GPU alone", step_of_one, s, 1 / 0.95, 0},
                               {"all, without the sums", step_without_sums, s, 0, 0}}};
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
    acu_launched launched = {.size = sizeof launched};
    MUST(acu_comm_launched(&launched));
    if (launched.rank > 0 && !freopen("/dev/null", "w", stdout))
        bench_die("no /dev/null");
    acu_open_options first = {.size = sizeof first, .allow_software = true};
    int have;
    MUST(acu_device_count_load(&first, &have));
    first.ordinal = launched.local_rank % have;
    bench b = bench_open("comm", argc, argv, &first);
    subject s = {.b = &b};
    b.json = launched.rank > 0 ? NULL : b.json;
    if (!open_devices(&s, &launched, have)) {
        printf("comm: it takes two GPUs and NCCL\n");
        return bench_close(&b);
    }
    open_by_hand(&s);
    char title[100];
    snprintf(title, sizeof title, "collectives by NCCL among %d GPUs of %s", s.ranks,
             s.ranks > s.count ? "as many processes" : "one process");
    bench_title(&b, title);
    one_size(&s, "all-reduce of 1 GiB", bench_count(&b, 1 << 28, 1000), 40, 1 / 0.98);
    one_size(&s, "all-reduce of 16 MiB", bench_count(&b, 1 << 22, 1000), 400, 0);
    one_size(&s, "all-reduce of 8 KiB", 2048, 2000, 1.15);
    if (s.ranks == s.count) /* else it is for the program to keep the ranks' order */
        several_threads(&s);
    training(&s);
    close_devices(&s);
    return bench_close(&b);
}
