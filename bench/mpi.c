/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Collectives over MPI (comm.h), beside MPI_Allreduce by hand on the same memory of the host, which
 * needs no GPU: mpiexec -n 2 bench/mpi. Each row is timed on all ranks alike, and rank 0 shows its
 * own. Started without mpiexec, nothing.
 *
 * By hand the thread that calls MPI polls for the end. acuda's is another thread than the one that
 * submits and waits, so small all-reduces cost the wake-ups of threads more.
 */
#include "harness/harness.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

typedef int (*all_reduce_fn)(const void *in, void *out, int n, void *type, void *op, void *comm);

typedef struct subject {
    bench *b;
    acu_comm *comm;
    acu_tensor *x;  /* on the host */
    acu_tensor *on; /* on the device */
    all_reduce_fn all_reduce;
    void *in_place, *type, *op, *world;
    int n;
} subject;

static void *symbol(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

/* acuda has opened it, for all. Handles are addresses in Open MPI, and numbers in MPICH. */
static void find_mpi(subject *s)
{
    void *call = symbol("MPI_Allreduce");
    if (!call)
        bench_die("there is no MPI_Allreduce");
    memcpy(&s->all_reduce, &call, sizeof call);
    bool open = symbol("ompi_mpi_comm_world") != NULL;
    s->in_place = open ? (void *)1 : (void *)-1;
    s->type = open ? symbol("ompi_mpi_float") : (void *)0x4c00040a;
    s->op = open ? symbol("ompi_mpi_op_sum") : (void *)0x58000003;
    s->world = open ? symbol("ompi_mpi_comm_world") : (void *)0x44000000;
}

static double by_acuda(void *user)
{
    const subject *s = user;
    double start = bench_now_us();
    MUST(acu_sync(s->b->device, acu_comm_all_reduce(s->comm, ACU_REDUCE_SUM, s->x), NULL));
    return bench_now_us() - start;
}

static double on_device(void *user)
{
    const subject *s = user;
    double start = bench_now_us();
    MUST(acu_sync(s->b->device, acu_comm_all_reduce(s->comm, ACU_REDUCE_SUM, s->on), NULL));
    return bench_now_us() - start;
}

static double by_hand(void *user)
{
    const subject *s = user;
    double start = bench_now_us();
    if (s->all_reduce(s->in_place, acu_tensor_host(s->x), s->n, s->type, s->op, s->world) != 0)
        bench_die("MPI_Allreduce failed");
    return bench_now_us() - start;
}

static void check(const subject *s)
{
    int ranks = acu_comm_ranks(s->comm);
    float *x = acu_tensor_host(s->x), want = 0;
    for (int i = 0; i < s->n; i++)
        x[i] = (float)(acu_comm_rank(s->comm) + i % 7);
    by_acuda((void *)(uintptr_t)s);
    for (int i = 0; i < s->n; i++) {
        want = (float)(ranks * (i % 7) + ranks * (ranks - 1) / 2);
        if (x[i] != want)
            bench_wrong("element %d is %g, not %g", i, (double)x[i], (double)want);
    }
    memset(x, 0, acu_tensor_bytes(s->x));
}

static void one_size(subject *s, const char *what, int n, int samples, double goal)
{
    char text[100];
    s->n = n;
    MUST(acu_tensor_alloc_pinned(s->b->device, ACU_F32, ACU_SHAPE(n), &s->x));
    MUST(acu_sync(s->b->device, acu_zeros(ACU_F32, ACU_SHAPE(n)), &s->on));
    check(s);
    snprintf(text, sizeof text, "all-reduce of %s over %d ranks", what, acu_comm_ranks(s->comm));
    bench_row row = {.what = text,
                     .samples = samples,
                     .warm = 20,
                     .sides = {{"acuda", by_acuda, s, 0, 0},
                               {"MPI_Allreduce", by_hand, s, goal, 0},
                               {"acuda, of device memory", on_device, s, 0, 0}}};
    bench_compare(s->b, &row);
    acu_tensor_release(s->x);
    acu_tensor_release(s->on);
}

int main(int argc, char **argv)
{
    acu_launched launched = {.size = sizeof launched};
    MUST(acu_comm_launched(&launched));
    if (launched.rank > 0 && !freopen("/dev/null", "w", stdout))
        bench_die("no /dev/null");
    bench b = bench_open_host("mpi", argc, argv);
    subject s = {.b = &b};
    if (launched.ranks < 2) {
        printf("mpi: start it by mpiexec\n");
        return bench_close(&b);
    }
    b.json = launched.rank > 0 ? NULL : b.json;
    acu_comm_options options = {.size = sizeof options, .devices = &b.device, .device_count = 1,
                                .backend = ACU_COMM_MPI};
    MUST(acu_comm_open(&options, &s.comm));
    find_mpi(&s);
    char title[100];
    snprintf(title, sizeof title, "collectives over %s", acu_comm_library(s.comm));
    bench_title(&b, title);
    one_size(&s, "8 KiB", 2048, bench_count(&b, 1000, 4), 0);
    one_size(&s, "1 MiB", 1 << 18, bench_count(&b, 400, 4), 1 / 0.9);
    one_size(&s, "16 MiB", bench_count(&b, 1 << 22, 1 << 18), bench_count(&b, 100, 4), 1 / 0.9);
    one_size(&s, "64 MiB", bench_count(&b, 1 << 24, 1 << 18), bench_count(&b, 40, 4), 1 / 0.9);
    MUST(acu_comm_close(s.comm, ACU_FOREVER));
    return bench_close(&b);
}
