/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What launchers' variables say of ranks. */
#include "support/support.h"

#include <stdlib.h>

static const char *const all[] = {
    "ACUDA_RANK", "ACUDA_RANKS", "ACUDA_LOCAL_RANK", "ACUDA_LOCAL_RANKS", "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", "RANK",
    "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID",
};

static int clear(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        unsetenv(all[i]);
    return 0;
}

static void says(const char *launcher, int rank, int ranks, int local_rank, int local_ranks)
{
    acu_launched l = {.size = sizeof l};
    assert_works(acu_comm_launched(&l));
    assert_string_equal(l.launcher, launcher);
    assert_int_equal(l.rank, rank);
    assert_int_equal(l.ranks, ranks);
    assert_int_equal(l.local_rank, local_rank);
    assert_int_equal(l.local_ranks, local_ranks);
}

static void set(const char *rank, const char *a, const char *ranks, const char *b)
{
    setenv(rank, a, 1);
    setenv(ranks, b, 1);
}

static void each_launcher_is_read(void **state)
{
    (void)state;
    says("none", 0, 1, 0, 1);
    set("SLURM_PROCID", "5", "SLURM_STEP_NUM_TASKS", "6");
    setenv("SLURM_LOCALID", "1", 1);
    says("Slurm", 5, 6, 1, 1);
    set("PMI_RANK", "3", "PMI_SIZE", "4"); /* MPICH's mpiexec inside of a job of Slurm's */
    set("MPI_LOCALRANKID", "1", "MPI_LOCALNRANKS", "2");
    says("MPICH", 3, 4, 1, 2);
    set("RANK", "2", "WORLD_SIZE", "3");
    set("LOCAL_RANK", "0", "LOCAL_WORLD_SIZE", "1");
    says("torchrun", 2, 3, 0, 1);
    set("OMPI_COMM_WORLD_RANK", "1", "OMPI_COMM_WORLD_SIZE", "2");
    set("OMPI_COMM_WORLD_LOCAL_RANK", "1", "OMPI_COMM_WORLD_LOCAL_SIZE", "2");
    says("Open MPI", 1, 2, 1, 2);
    set("ACUDA_RANK", "0", "ACUDA_RANKS", "1");
    says("ACUDA_RANK", 0, 1, 0, 1);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    acu_launched l = {.size = sizeof l};
    assert_fails(acu_comm_launched(NULL), ACU_ERR_INVALID, "acu_comm_launched");
    setenv("ACUDA_RANK", "1", 1);
    assert_fails(acu_comm_launched(&l), ACU_ERR_INVALID, "ACUDA_RANK is set|ACUDA_RANKS");
    setenv("ACUDA_RANKS", "1", 1);
    assert_fails(acu_comm_launched(&l), ACU_ERR_INVALID, "ACUDA_RANK is 1|below ACUDA_RANKS, 1");
    setenv("ACUDA_RANKS", "two", 1);
    assert_fails(acu_comm_launched(&l), ACU_ERR_INVALID, "ACUDA_RANKS|'two'");
    setenv("ACUDA_RANK", "-1", 1);
    assert_fails(acu_comm_launched(&l), ACU_ERR_INVALID, "ACUDA_RANK|'-1'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_launcher_is_read, clear),
        cmocka_unit_test_setup(nonsense_is_refused, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
