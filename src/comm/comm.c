/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Making communicators, and what they tell. */
#include "comm/comm.h"

#include "base/callback.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/options.h"
#include "device/device.h"

static bool is_comm(const acu_comm *comm)
{
    return acui_object_is(comm, ACU_OBJECT_COMM);
}

void acui_comm_drop(acu_comm *comm)
{
    if (acui_object_drop(comm))
        acui_object_free(comm);
}

/* ---- opening --------------------------------------------------------------------------------- */

static acu_status check_devices(const acu_comm_options *o)
{
    if (!o->devices || o->device_count < 1 || o->device_count > ACUI_COMM_MOST)
        return acui_fail(ACU_ERR_INVALID, "acu_comm_open: it takes 1 to %d devices, not %zu",
                         ACUI_COMM_MOST, o->devices ? o->device_count : 0);
    for (size_t i = 0; i < o->device_count; i++)
        ACUI_TRY(acui_object_check(o->devices[i], ACU_OBJECT_DEVICE, "acu_comm_open"));
    return ACU_OK;
}

static acu_status wants_mpi(const acu_comm_options *o, acu_launched *launched, bool *wants)
{
    if ((unsigned)o->backend > ACU_COMM_MPI)
        return acui_fail(ACU_ERR_INVALID, "acu_comm_open: there is no backend %d", (int)o->backend);
    *wants = o->backend == ACU_COMM_MPI;
    if (o->backend != ACU_COMM_AUTO)
        return ACU_OK;
    ACUI_TRY(acu_comm_launched(launched));
    *wants = launched->ranks > 1;
    return ACU_OK;
}

static acu_status make_turn(acu_comm *comm)
{
    acu_buffer *buffer;
    acu_user user = {acui_object_retain(comm), NULL}; /* it is the comm's own memory */
    user.release = (void (*)(void *))acui_comm_drop;
    ACUI_TRY(acu_buffer_wrap_pageable(comm->devices[0], comm->turn_memory,
                                      sizeof comm->turn_memory, user, &buffer));
    acu_status status = acu_tensor_create(buffer, 0, ACU_U8,
                                          ACU_SHAPE((int64_t)sizeof comm->turn_memory),
                                          &comm->turn);
    acu_buffer_release(buffer);
    return status;
}

static acu_status open_mpi(acu_comm *comm)
{
    if (comm->device_count != 1)
        return acui_fail(ACU_ERR_NOT_SUPPORTED, "acu_comm_open: with MPI a process has one device, "
                         "not %zu: start a process for each", comm->device_count);
    ACUI_TRY(make_turn(comm));
    return acui_comm_join(comm, comm->timeout);
}

/* MPI that did not start the processes takes each for a world of its own. */
static acu_status check_world(acu_comm *comm, const acu_launched *launched)
{
    if (launched->ranks == 0 || launched->ranks == comm->ranks)
        return ACU_OK;
    int ranks = comm->ranks;
    const char *name = comm->mpi->name;
    acui_comm_leave(comm, comm->timeout);
    return acui_fail(ACU_ERR_NOT_SUPPORTED, "acu_comm_open: %s started %d processes, and %s knows "
                     "of %d: start them by the mpiexec of that MPI, or name the MPI of yours in "
                     "ACUDA_MPI", launched->launcher, launched->ranks, name, ranks);
}

static void release_devices(acu_comm *comm)
{
    acu_tensor_release(comm->turn);
    comm->turn = NULL;
    for (size_t i = 0; i < comm->device_count; i++)
        acu_device_release(comm->devices[i]);
}

acu_status acu_comm_open(const acu_comm_options *options, acu_comm **result)
{
    acu_comm_options o;
    acu_launched launched = {.size = sizeof launched}; /* ranks 0: it does not matter */
    bool mpi = false;
    ACUI_REFUSE_FORK();
    ACUI_TRY(acui_options_read(&o, sizeof o, options, __func__));
    if (!result)
        return acui_fail(ACU_ERR_INVALID, "acu_comm_open: nowhere to put the communicator");
    ACUI_TRY(check_devices(&o));
    ACUI_TRY(wants_mpi(&o, &launched, &mpi));
    if (mpi)
        ACUI_TRY(acui_refuse_wait(__func__));
    acu_comm *comm = acui_object_new(ACU_OBJECT_COMM, sizeof *comm);
    if (!comm)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a communicator");
    comm->device_count = o.device_count;
    comm->ranks = (int)o.device_count;
    comm->checked = o.checked;
    comm->timeout = o.timeout ? o.timeout : ACU_FOREVER;
    for (size_t i = 0; i < o.device_count; i++)
        comm->devices[i] = acu_device_retain(o.devices[i]);
    acu_status status = mpi ? open_mpi(comm) : ACU_OK;
    if (mpi && status == ACU_OK)
        status = check_world(comm, &launched);
    if (status == ACU_OK) {
        *result = comm;
        return ACU_OK;
    }
    acu_error record = *acui_error();
    atomic_store(&comm->closed, true);
    release_devices(comm);
    acui_comm_drop(comm);
    return acui_error_restore(&record);
}

acu_status acu_comm_close(acu_comm *comm, uint64_t timeout)
{
    if (!comm)
        return ACU_OK;
    ACUI_CHECK(comm, COMM);
    if (comm->mpi)
        ACUI_TRY(acui_refuse_wait(__func__));
    if (atomic_exchange(&comm->closed, true))
        return acui_fail(ACU_ERR_BAD_HANDLE, "acu_comm_close: it was closed before");
    acu_status status = comm->mpi ? acui_comm_leave(comm, timeout) : ACU_OK;
    acu_error record = *acui_error();
    release_devices(comm);
    acui_comm_drop(comm);
    return status == ACU_OK ? ACU_OK : acui_error_restore(&record);
}

/* ---- facts ----------------------------------------------------------------------------------- */

int acu_comm_ranks(const acu_comm *comm)
{
    return is_comm(comm) ? comm->ranks : 0;
}

int acu_comm_rank(const acu_comm *comm)
{
    return is_comm(comm) ? comm->rank : 0;
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
    return !is_comm(comm) ? NULL : comm->mpi ? comm->mpi->name : "one process";
}
