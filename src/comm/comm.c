/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Communicators: closing them, and what they tell. open.c and opening.c make them. */
#include "base/callback.h"
#include "base/error.h"
#include "comm/nccl.h"
#include "comm/open.h"

static bool is_comm(const acu_comm *comm)
{
    return acui_object_is(comm, ACU_OBJECT_COMM);
}

/* Until it is made, there is nothing to tell. */
static bool is_made(const acu_comm *comm)
{
    return is_comm(comm) && acui_comm_is_made(comm);
}

void acui_comm_drop(acu_comm *comm)
{
    if (!acui_object_drop(comm))
        return;
    acui_nccl_free(comm);
    acui_free(comm->told);
    acui_object_free(comm);
}

/* ---- closing --------------------------------------------------------------------------------- */

void acui_comm_release_devices(acu_comm *comm)
{
    acu_tensor_release(comm->turn);
    comm->turn = NULL;
    for (size_t i = 0; i < comm->device_count; i++)
        acu_device_release(comm->devices[i]);
}

acu_status acui_comm_end(acu_comm *comm, uint64_t timeout)
{
    acu_status status = comm->backend == ACU_COMM_NCCL ? acui_nccl_close(comm, timeout) : ACU_OK;
    acu_error record = *acui_error();
    acu_status left = comm->mpi ? acui_comm_leave(comm, timeout) : ACU_OK;
    if (status == ACU_OK && left != ACU_OK) {
        status = left;
        record = *acui_error();
    }
    acui_comm_release_devices(comm);
    return status == ACU_OK ? ACU_OK : acui_error_restore(&record);
}

acu_status acu_comm_close(acu_comm *comm, uint64_t timeout)
{
    if (!comm)
        return ACU_OK;
    ACUI_CHECK(comm, COMM);
    if (!acui_comm_is_made(comm) || comm->backend != ACU_COMM_PROCESS)
        ACUI_TRY(acui_refuse_wait(__func__));
    acu_status status = ACU_OK;
    bool again;
    acui_comm_state state = acui_opening_end(comm, timeout, &again);
    if (again)
        return acui_fail(ACU_ERR_BAD_HANDLE, "acu_comm_close: it was closed before");
    switch (state) {
    case ACUI_COMM_MADE:
        atomic_store(&comm->closed, true);
        status = acui_comm_end(comm, timeout);
        break;
    case ACUI_COMM_MAKING: /* the thread that makes it has a reference, and ends it */
        status = acui_fail(ACU_ERR_DEADLINE, "acu_comm_close: it is still being made, as not all "
                           "processes have come; it is closed when they have");
        break;
    case ACUI_COMM_NOT_MADE:
        break;
    }
    acui_comm_drop(comm);
    return status;
}

/* ---- facts ----------------------------------------------------------------------------------- */

int acu_comm_ranks(const acu_comm *comm)
{
    return is_made(comm) ? comm->ranks : 0;
}

int acu_comm_rank(const acu_comm *comm)
{
    return is_made(comm) ? comm->rank : 0;
}

size_t acu_comm_devices(const acu_comm *comm)
{
    return is_comm(comm) ? comm->device_count : 0;
}

acu_device *acu_comm_device(const acu_comm *comm, size_t i)
{
    return is_comm(comm) && i < comm->device_count ? comm->devices[i] : NULL;
}

const char *acu_comm_library(const acu_comm *comm)
{
    if (!is_made(comm))
        return NULL;
    return comm->backend == ACU_COMM_NCCL  ? "NCCL"
           : comm->backend == ACU_COMM_MPI ? comm->mpi->name
                                           : "one process";
}
