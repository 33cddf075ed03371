/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Random programs of collectives and other ops over 2 to 4 ranks, beside a serial model of them
 * (programs.h): by the devices of one process, by NCCL among them, and by NCCL among threads that
 * play processes with a device each; on the software device by a library that poses as NCCL. On
 * GPUs real processes do so (test_processes.c): threads share a driver, in which one may wait for
 * kernels of another. Under mpiexec, which test_mpi.sh starts, by MPI.
 *
 * In every other program something goes wrong: a submission is cancelled, or has no time, or fails,
 * or a rank is gone. Then everything still comes to an end, what can be read is right, and the
 * ranks that are left can go on with another communicator.
 *
 *   ACUDA_COMM_SEED   the first program (1); each is told then
 *   ACUDA_COMM_SEEDS  how many of each kind (4)
 *   ACUDA_COMM_THREADS  threads play processes on GPUs, too
 *   ACUDA_COMM_KILL   under mpiexec: the rank of this number kills itself in its third program
 */
#include "comm/player.h"
#include "vendor/with_library.h"

#include <signal.h>

#define LIBRARY "comm/libfake_nccl.so"

static acu_device *all[RANKS];
static int count;          /* of devices */
static bool mpi;
static int mpi_rank, mpi_ranks;
static acu_comm *base;     /* with MPI, keeps it in use */
static pthread_barrier_t together;

/* ---- one process ----------------------------------------------------------------------------- */

static void play_here(const program *p, acu_comm_backend backend)
{
    static player x; /* large */
    memset(&x, 0, sizeof x);
    x.p = p;
    x.here = p->ranks;
    memcpy(x.devices, all, sizeof all);
    open_comm(&x, backend, NULL, 0, 0);
    play(&x);
    assert_works(acu_comm_close(x.comm, ACU_FOREVER));
    open_comm(&x, backend, NULL, 0, 0);
    go_on(&x);
}

/* ---- threads that play processes ------------------------------------------------------------- */

static void *play_process(void *context)
{
    player *x = context;
    const program *p = x->p;
    open_comm(x, ACU_COMM_NCCL, x->file, x->first, p->ranks);
    play(x);
    pthread_barrier_wait(&together); /* as a process, who is gone would not be here */
    if (x->first == 0 && report)
        report(0);
    pthread_barrier_wait(&together);
    if (x->gone) {
        acu_comm_close(x->comm, 0);
        end_futures(x);
        compare_tensors(x);
        return NULL;
    }
    acu_comm *left;
    x->comm->timeout = ACU_FOREVER;
    assert_works(acu_comm_shrink(x->comm, &p->troubled, p->trouble >= GONE_TOLD, &left));
    assert_works(acu_comm_close(x->comm, ACU_FOREVER));
    x->comm = left;
    go_on(x);
    return NULL;
}

static void play_processes(const program *p)
{
    static player x[RANKS];
    char folder[] = "/tmp/acuda-comm-XXXXXX", file[64];
    pthread_t threads[RANKS];
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/meet", folder);
    memset(x, 0, sizeof x);
    pthread_barrier_init(&together, NULL, (unsigned)p->ranks);
    for (int r = 0; r < p->ranks; r++) {
        x[r].p = p;
        x[r].first = r;
        x[r].here = 1;
        x[r].devices[0] = all[r];
        x[r].file = file;
        assert_int_equal(pthread_create(&threads[r], NULL, play_process, &x[r]), 0);
    }
    for (int r = 0; r < p->ranks; r++)
        pthread_join(threads[r], NULL);
    pthread_barrier_destroy(&together);
    assert_int_equal(rmdir(folder), 0);
}

/* ---- MPI ------------------------------------------------------------------------------------- */

static void play_mpi(const program *p, int nth)
{
    static player x;
    memset(&x, 0, sizeof x);
    x.p = p;
    x.first = mpi_rank;
    x.here = 1;
    x.devices[0] = all[0];
    open_comm(&x, ACU_COMM_MPI, NULL, 0, 0);
    if (nth == 2 && (int)number_in("ACUDA_COMM_KILL", RANKS) == mpi_rank)
        kill(getpid(), SIGKILL);
    play(&x);
    assert_works(acu_comm_close(x.comm, ACU_FOREVER));
    open_comm(&x, ACU_COMM_MPI, NULL, 0, 0);
    x.comm->timeout = ACU_FOREVER;
    go_on(&x);
}

/* ---- tests ----------------------------------------------------------------------------------- */

typedef enum way { OWN, NCCL, PROCESSES, MPI } way;

static void open_devices(way how)
{
    count = RANKS;
    acu_open_options options = {.size = sizeof options, .allow_software = true};
    report = NULL;
    fake = NULL;
    if (test_on_gpu())
        assert_works(acu_device_count_load(&options, &count));
    else if (how == NCCL || how == PROCESSES)
        with_fake(ACU_VENDOR_NCCL, LIBRARY);
    count = count > RANKS ? RANKS : count;
    if (count < 2)
        skip();
    test_open_n(all, count);
    if (fake) {
        void *library = dlopen(acu_vendor_path(ACU_VENDOR_NCCL), RTLD_NOW | RTLD_LOCAL);
        void *symbol = library ? dlsym(library, "fake_nccl_report") : NULL;
        memcpy(&report, &symbol, sizeof report);
    } else if (how != OWN && acu_vendor_load(all[0], ACU_VENDOR_NCCL) != ACU_OK) {
        for (int i = 0; i < count; i++)
            test_close(all[i]);
        skip();
    }
}

static void close_devices(void)
{
    for (int i = 0; i < count; i++)
        test_close(all[i]);
    if (fake) {
        assert_int_equal(atomic_load(&fake->refused), 0);
        assert_int_equal(atomic_load(&fake->overlaps), 0);
        assert_int_equal(atomic_load(&fake->created), atomic_load(&fake->destroyed));
    }
    test_leaks_none();
}

static void play_all(way how)
{
    static program p;
    uint64_t from = number_in("ACUDA_COMM_SEED", 1), seeds = number_in("ACUDA_COMM_SEEDS", 4);
    int troubles = how == PROCESSES ? TROUBLES - 1 : FAIL;
    for (uint64_t seed = from; seed < from + seeds; seed++)
        for (int troubled = 0; troubled < 2; troubled++) {
            int ranks = how == MPI ? mpi_ranks : 2 + (int)(seed % (uint64_t)(count - 1));
            deal_program(&p, 2 * seed + (uint64_t)troubled, ranks, how == PROCESSES || how == MPI,
                         troubled ? troubles : 0);
            if (getenv("ACUDA_COMM_SEED"))
                say(&p);
            if (how == MPI)
                play_mpi(&p, (int)(2 * (seed - from)) + troubled);
            else if (how == PROCESSES)
                play_processes(&p);
            else
                play_here(&p, how == NCCL ? ACU_COMM_NCCL : ACU_COMM_PROCESS);
        }
}

static void run_all(way how)
{
    if (mpi)
        skip();
    open_devices(how);
    play_all(how);
    close_devices();
}

static void devices_of_one_process(void **state)
{
    (void)state;
    run_all(OWN);
}

static void nccl_in_one_process(void **state)
{
    (void)state;
    run_all(NCCL);
}

static void nccl_among_processes(void **state)
{
    (void)state;
    if (test_on_gpu() && !getenv("ACUDA_COMM_THREADS"))
        skip();
    run_all(PROCESSES);
}

static void mpi_among_processes(void **state)
{
    (void)state;
    if (!mpi)
        skip();
    test_open_n(all, 1);
    acu_comm_options options = {.size = sizeof options, .backend = ACU_COMM_MPI, .devices = all,
                                .device_count = 1};
    assert_works(acu_comm_open(&options, &base));
    assert_int_equal(acu_comm_ranks(base), mpi_ranks);
    play_all(MPI);
    print_message("%d ranks, %s\n", mpi_ranks, acu_comm_library(base));
    assert_works(acu_comm_close(base, ACU_FOREVER));
    test_close(all[0]); /* what MPI still has stays: test_leaks_none would see it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_of_one_process),
        cmocka_unit_test(nccl_in_one_process),
        cmocka_unit_test(nccl_among_processes),
        cmocka_unit_test(mpi_among_processes),
    };
    acu_launched launched = {.size = sizeof launched};
    if (acu_comm_launched(&launched) != ACU_OK)
        return 1;
    mpi = getenv("ACUDA_TEST_MPI") != NULL; /* said by the script */
    mpi_rank = launched.rank;
    mpi_ranks = launched.ranks;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
