/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Going on without ranks that are lost. */
#include "base/error.h"
#include "comm/alive.h"
#include "comm/nccl.h"

#include <limits.h>
#include <stdio.h>

size_t acu_comm_lost(const acu_comm *comm, int *ranks, size_t room)
{
    size_t n = 0;
    if (!acui_object_is(comm, ACU_OBJECT_COMM) || !acui_comm_is_made(comm) ||
        !acui_nccl_is_retired(comm))
        return 0;
    for (int rank = 0; rank < comm->ranks; rank++)
        if (acui_alive_lost(comm->alive, rank / (int)comm->device_count)) {
            if (n < room && ranks)
                ranks[n] = rank;
            n++;
        }
    return n;
}

static bool is_among(const int *lost, size_t count, int first, int most)
{
    for (size_t i = 0; i < count; i++)
        if (lost[i] >= first && lost[i] < first + most)
            return true;
    return false;
}

static acu_status check(const acu_comm *comm, const int *lost, size_t count, acu_comm **left)
{
    if (!left || (count && !lost))
        return acui_fail(ACU_ERR_INVALID, "acu_comm_shrink: no list of ranks, or nowhere to put "
                         "the communicator");
    if (atomic_load(&comm->closed) || !acui_comm_is_made(comm))
        return acui_fail(ACU_ERR_INVALID, "acu_comm_shrink: the communicator was closed, or is not "
                         "made");
    for (size_t i = 0; i < count; i++)
        if (lost[i] < 0 || lost[i] >= comm->ranks)
            return acui_fail(ACU_ERR_INVALID, "acu_comm_shrink: there is no rank %d among %d",
                             lost[i], comm->ranks);
    return ACU_OK;
}

/* Those of the devices whose ranks are left. */
static acu_status shrink_here(const acu_comm *comm, const int *lost, size_t count,
                              acu_comm_options *options, acu_comm **left)
{
    acu_device *devices[ACUI_COMM_MOST];
    options->devices = devices;
    for (int rank = 0; rank < comm->ranks; rank++)
        if (!is_among(lost, count, rank, 1))
            devices[options->device_count++] = comm->devices[rank];
    return acu_comm_open(options, left);
}

acu_status acu_comm_shrink(acu_comm *comm, const int *lost, size_t count, acu_comm **left)
{
    char file[PATH_MAX];
    ACUI_CHECK(comm, COMM);
    ACUI_TRY(check(comm, lost, count, left));
    acu_comm_options options = {.size = sizeof options, .backend = comm->backend,
                                .checked = comm->checked};
    int each = (int)comm->device_count;
    options.timeout = comm->timeout == ACU_FOREVER ? 0 : comm->timeout;
    if (comm->ranks == each)
        return shrink_here(comm, lost, count, &options, left);
    const char *met = acui_alive_file(comm->alive);
    if (!met)
        return acui_fail(ACU_ERR_NOT_SUPPORTED, "acu_comm_shrink: only processes that met by a "
                         "file can go on without others (acu_comm_options, ACUDA_COMM_FILE); with "
                         "MPI, none can");
    if (is_among(lost, count, comm->rank, each))
        return acui_fail(ACU_ERR_INVALID, "acu_comm_shrink: rank %d is this process's",
                         comm->rank);
    snprintf(file, sizeof file, "%.4000s.left", met);
    options.devices = comm->devices;
    options.device_count = comm->device_count;
    options.file = file;
    for (int rank = 0; rank < comm->ranks; rank += each) {
        options.rank += rank < comm->rank && !is_among(lost, count, rank, each);
        options.ranks += !is_among(lost, count, rank, each);
    }
    return acu_comm_open(&options, left);
}
