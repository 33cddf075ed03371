/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the launcher's variables say. */
#include <acuda/comm.h>

#include "base/error.h"
#include "base/options.h"

#include <limits.h>
#include <stdlib.h>

typedef struct launcher {
    const char *name, *rank, *ranks, *local_rank, *local_ranks;
} launcher;

/* In this order: what started the process itself comes before what started that. */
static const launcher launchers[] = {
    {"ACUDA_RANK", "ACUDA_RANK", "ACUDA_RANKS", "ACUDA_LOCAL_RANK", "ACUDA_LOCAL_RANKS"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", NULL},
};

/* False: it is not there. */
static bool read_number(const char *variable, int *number, acu_status *status)
{
    const char *text = variable ? secure_getenv(variable) : NULL;
    if (!text || !*text)
        return false;
    char *end;
    long value = strtol(text, &end, 10);
    if (*end || value < 0 || value > INT_MAX)
        *status = acui_fail(ACU_ERR_INVALID, "the variable %s is '%.40s', which is no number from "
                            "0 on", variable, text);
    else
        *number = (int)value;
    return true;
}

static acu_status read_launcher(const launcher *l, acu_launched *found)
{
    acu_status status = ACU_OK;
    found->launcher = l->name;
    if (!read_number(l->ranks, &found->ranks, &status))
        return acui_fail(ACU_ERR_INVALID, "the variable %s is set, and %s is not", l->rank,
                         l->ranks);
    read_number(l->local_rank, &found->local_rank, &status);
    read_number(l->local_ranks, &found->local_ranks, &status);
    if (status == ACU_OK && found->rank >= found->ranks)
        return acui_fail(ACU_ERR_INVALID, "%s is %d, which must be below %s, %d", l->rank,
                         found->rank, l->ranks, found->ranks);
    return status;
}

acu_status acu_comm_launched(acu_launched *launched)
{
    acu_launched found = {sizeof found, 0, 1, 0, 1, "none"};
    acu_status status = ACU_OK;
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        if (!read_number(launchers[i].rank, &found.rank, &status))
            continue;
        if (status == ACU_OK)
            status = read_launcher(&launchers[i], &found);
        break;
    }
    return status == ACU_OK ? acui_struct_write(launched, &found, sizeof found, __func__) : status;
}
