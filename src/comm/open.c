/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Making communicators: by which backend, and how the processes meet. */
#include "base/callback.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/options.h"
#include "comm/nccl.h"
#include "comm/open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- opening --------------------------------------------------------------------------------- */

static acu_status check_devices(const acu_comm_options *o, const char *call)
{
    if (!o->devices || o->device_count < 1 || o->device_count > ACUI_COMM_MOST)
        return acui_fail(ACU_ERR_INVALID, "%s: it takes 1 to %d devices, not %zu", call,
                         ACUI_COMM_MOST, o->devices ? o->device_count : 0);
    for (size_t i = 0; i < o->device_count; i++)
        ACUI_TRY(acui_object_check(o->devices[i], ACU_OBJECT_DEVICE, call));
    return ACU_OK;
}

static acu_status check_options(const acu_comm_options *o, const char *call)
{
    if ((unsigned)o->backend > ACU_COMM_NCCL)
        return acui_fail(ACU_ERR_INVALID, "%s: there is no backend %d", call, (int)o->backend);
    if (o->ranks < 0 || o->rank < 0 || (o->ranks ? o->rank >= o->ranks : o->rank > 0))
        return acui_fail(ACU_ERR_INVALID, "%s: there is no process %d among %d", call, o->rank,
                         o->ranks);
    return check_devices(o, call);
}

/* What the program leaves open, the environment may say. */
static acu_status named_backend(acu_comm_backend *backend)
{
    static const struct {
        const char *name;
        acu_comm_backend backend;
    } names[] = {{"own", ACU_COMM_PROCESS}, {"mpi", ACU_COMM_MPI}, {"nccl", ACU_COMM_NCCL}};
    const char *text = *backend == ACU_COMM_AUTO ? secure_getenv("ACUDA_COMM") : NULL;
    if (!text || !*text)
        return ACU_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i].name) == 0) {
            *backend = names[i].backend;
            return ACU_OK;
        }
    return acui_fail(ACU_ERR_INVALID, "the variable ACUDA_COMM is '%.40s', and not own, mpi or "
                     "nccl", text);
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

/* The processes have as many devices each. */
static acu_status number_by_mpi(acu_comm *comm)
{
    int64_t mine = (int64_t)comm->device_count;
    ACUI_TRY(acui_comm_tell(comm, &mine, 1, comm->timeout));
    for (int i = 1; i < comm->mpi_ranks; i++)
        if (comm->told[1 + i] != comm->told[1])
            return acui_fail(ACU_ERR_INVALID, "acu_comm_open: process %d has %lld devices, and "
                             "process 0 has %lld: all take as many", i,
                             (long long)comm->told[1 + i], (long long)comm->told[1]);
    comm->rank = comm->mpi_rank * (int)comm->device_count;
    comm->ranks = comm->mpi_ranks * (int)comm->device_count;
    return ACU_OK;
}

static acu_status open_mpi(acu_comm *comm)
{
    comm->backend = ACU_COMM_MPI;
    if (!comm->mpi)
        ACUI_TRY(acui_comm_join(comm, comm->timeout));
    return number_by_mpi(comm);
}

/* MPI that did not start the processes takes each for a world of its own. */
static acu_status check_world(acu_comm *comm, const acu_launched *launched)
{
    if (!comm->mpi || launched->ranks == 0 || launched->ranks == comm->mpi_ranks)
        return ACU_OK;
    int ranks = comm->mpi_ranks;
    const char *name = comm->mpi->name;
    acui_comm_leave(comm, comm->timeout);
    comm->mpi = NULL;
    return acui_fail(ACU_ERR_NOT_SUPPORTED, "acu_comm_open: %s started %d processes, and %s knows "
                     "of %d: start them by the mpiexec of that MPI, or name the MPI of yours in "
                     "ACUDA_MPI, or, for NCCL, a file by which they meet in ACUDA_COMM_FILE",
                     launched->launcher, launched->ranks, name, ranks);
}

/* ---- NCCL, with whatever brings the identifier ---- */

static acu_status name_file(acui_opening *x)
{
    static _Atomic(unsigned) opened;
    const char *path = x->o.file ? x->o.file : secure_getenv("ACUDA_COMM_FILE");
    const char *id = secure_getenv("NCCL_COMM_ID");
    x->by_variable = !x->o.file && id && *id;
    if (!path || !*path || x->by_variable || x->launched.ranks < 2)
        return ACU_OK;
    int n = x->o.file ? snprintf(x->file, sizeof x->file, "%s", path)
                      : snprintf(x->file, sizeof x->file, "%s.%u", path, opened++);
    return n < (int)sizeof x->file ? ACU_OK
                                   : acui_fail(ACU_ERR_INVALID, "%s: the path of the file by "
                                               "which processes meet is too long", x->call);
}

static bool is_met(const acui_opening *x)
{
    return x->launched.ranks < 2 || x->file[0] || x->by_variable;
}

/* Whether all ranks say so, with MPI. */
static acu_status all_agree(acu_comm *comm, bool mine, bool *all)
{
    int64_t says = mine;
    *all = mine;
    if (!comm->mpi)
        return ACU_OK;
    ACUI_TRY(acui_comm_tell(comm, &says, 1, comm->timeout));
    for (int i = 0; i < comm->mpi_ranks; i++)
        *all &= comm->told[1 + i] != 0;
    return ACU_OK;
}

static acu_status number_ranks(acu_comm *comm, const acui_opening *x)
{
    int each = (int)comm->device_count;
    if (comm->mpi)
        return number_by_mpi(comm);
    comm->rank = x->launched.rank * each;
    comm->ranks = (x->launched.ranks < 1 ? 1 : x->launched.ranks) * each;
    return ACU_OK;
}

/* If one process can not, none does. */
static acu_status open_nccl(acu_comm *comm, const acui_opening *x)
{
    acui_meeting meeting = {.file = x->file[0] ? x->file : NULL};
    bool all;
    if (!is_met(x) && !comm->mpi)
        ACUI_TRY(acui_comm_join(comm, comm->timeout));
    ACUI_TRY(check_world(comm, &x->launched));
    comm->backend = ACU_COMM_NCCL;
    meeting.by_mpi = comm->mpi != NULL;
    acu_status status = acui_nccl_look(comm->devices, comm->device_count);
    acu_error record = *acui_error();
    ACUI_TRY(all_agree(comm, status == ACU_OK, &all));
    if (!all)
        return status != ACU_OK ? acui_error_restore(&record)
                                : acui_fail(ACU_ERR_NOT_FOUND, "acu_comm_open: another process "
                                            "has no NCCL");
    ACUI_TRY(number_ranks(comm, x));
    status = acui_nccl_open(comm, &meeting, comm->timeout);
    record = *acui_error();
    if (status == ACU_ERR_DEADLINE)
        return status;
    ACUI_TRY(all_agree(comm, status == ACU_OK, &all));
    if (all || status != ACU_OK)
        return status == ACU_OK ? ACU_OK : acui_error_restore(&record);
    acui_nccl_close(comm, comm->timeout);
    return acui_fail(ACU_ERR_DRIVER, "acu_comm_open: NCCL failed in another process");
}

/* NCCL where it is, on GPUs; with one device it has nothing to do. */
static acu_status open_best(acu_comm *comm, const acui_opening *x)
{
    bool several = x->launched.ranks > 1;
    if (!several && comm->device_count == 1)
        return ACU_OK;
    if (!several && acui_nccl_look(comm->devices, comm->device_count) != ACU_OK)
        return ACU_OK;
    acu_status status = open_nccl(comm, x);
    if (status == ACU_OK || status == ACU_ERR_DEADLINE || (several && !comm->mpi))
        return status;
    if (comm->mpi)
        return open_mpi(comm);
    comm->rank = 0;
    comm->ranks = (int)comm->device_count;
    comm->backend = ACU_COMM_PROCESS;
    return ACU_OK;
}

static acu_status open_backend(acu_comm *comm, const acui_opening *x)
{
    if (x->o.backend == ACU_COMM_PROCESS)
        return ACU_OK;
    ACUI_TRY(make_turn(comm));
    if (x->o.backend == ACU_COMM_AUTO)
        return open_best(comm, x);
    return x->o.backend == ACU_COMM_MPI ? open_mpi(comm) : open_nccl(comm, x);
}

static acu_comm *new_comm(const acu_comm_options *o)
{
    acu_comm *comm = acui_object_new(ACU_OBJECT_COMM, sizeof *comm);
    if (!comm)
        return NULL;
    comm->device_count = o->device_count;
    comm->ranks = (int)o->device_count;
    comm->checked = o->checked;
    comm->backend = ACU_COMM_PROCESS;
    comm->timeout = o->timeout ? o->timeout : ACU_FOREVER;
    for (size_t i = 0; i < o->device_count; i++)
        comm->devices[i] = acu_device_retain(o->devices[i]);
    return comm;
}

static acu_status find_out(acui_opening *x)
{
    acu_comm_options *o = &x->o;
    ACUI_TRY(named_backend(&o->backend));
    if (o->ranks)
        x->launched = (acu_launched){sizeof x->launched, o->rank, o->ranks, 0, 1, "the program"};
    else if (o->backend == ACU_COMM_AUTO || o->backend == ACU_COMM_NCCL)
        ACUI_TRY(acu_comm_launched(&x->launched));
    return name_file(x);
}

acu_status acui_open_prepare(const acu_comm_options *options, const char *call, bool waits,
                             acui_opening *x, acu_comm **comm)
{
    *x = (acui_opening){.call = call, .launched = {.size = sizeof x->launched}};
    ACUI_TRY(acui_options_read(&x->o, sizeof x->o, options, call));
    ACUI_TRY(check_options(&x->o, call));
    ACUI_TRY(find_out(x));
    bool by_mpi = x->o.backend == ACU_COMM_MPI ||
                  (x->o.backend != ACU_COMM_PROCESS && !is_met(x));
    if (waits && x->o.backend != ACU_COMM_PROCESS)
        ACUI_TRY(acui_refuse_wait(call));
    *comm = new_comm(&x->o);
    if (!*comm)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a communicator");
    if (by_mpi)
        acui_turn_take(*comm);
    return ACU_OK;
}

acu_status acui_open_do(acu_comm *comm, const acui_opening *x)
{
    acu_status status = open_backend(comm, x);
    if (status == ACU_OK)
        status = check_world(comm, &x->launched);
    if (status == ACU_OK)
        return ACU_OK;
    acu_error record = *acui_error();
    if (comm->mpi)
        acui_comm_leave(comm, comm->timeout);
    acui_comm_release_devices(comm);
    return acui_error_restore(&record);
}
