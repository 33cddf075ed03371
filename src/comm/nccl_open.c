/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Making NCCL's communicators, and ending them. */
#include "base/clock.h"
#include "base/error.h"
#include "base/nap.h"
#include "comm/alive.h"
#include "comm/meet.h"
#include "comm/nccl.h"

#include <acuda/future.h>
#include <acuda/ops.h>
#include <stdio.h>
#include <string.h>

/* ---- the order of collectives on a device ---------------------------------------------------- */

/* A tensor for each device that has a communicator. */
typedef struct order {
    struct order *next;
    acu_device *device; /* kept by the communicators */
    acu_tensor *tensor;
    int users;
} order;

static pthread_mutex_t orders_lock = PTHREAD_MUTEX_INITIALIZER;
static order *orders;

static acu_status get_order(acu_device *device, acu_tensor **tensor)
{
    order *o, *made = ACUI_NEW(order);
    acu_tensor *spare;
    if (!made)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a communicator");
    acu_status status = acu_sync(device, acu_zeros(ACU_U32, ACU_SHAPE(2)), &spare);
    if (status != ACU_OK) {
        acui_free(made);
        return status;
    }
    *made = (order){.device = device, .tensor = spare};
    pthread_mutex_lock(&orders_lock);
    for (o = orders; o && o->device != device; o = o->next)
        ;
    if (!o) {
        made->next = orders;
        orders = o = made;
    }
    o->users++;
    *tensor = acu_tensor_retain(o->tensor);
    pthread_mutex_unlock(&orders_lock);
    if (o == made)
        return ACU_OK;
    acu_tensor_release(spare);
    acui_free(made);
    return ACU_OK;
}

static void drop_order(acu_device *device)
{
    pthread_mutex_lock(&orders_lock);
    order **link = &orders, *last = NULL;
    while ((*link)->device != device)
        link = &(*link)->next;
    if (--(*link)->users == 0) {
        last = *link;
        *link = last->next;
    }
    pthread_mutex_unlock(&orders_lock);
    if (last)
        acu_tensor_release(last->tensor);
    acui_free(last);
}

/* ---- what a rank has ------------------------------------------------------------------------- */

enum { NON_BLOCKING = 1, NO_TIMING = 2 };

static acu_status make_stream(acu_comm *comm, size_t i)
{
    acu_device *device = comm->devices[i];
    int urgent = device->info.greatest_priority;
    acui_nccl_rank *r = &comm->nccl->ranks[i];
    if (i > 0)
        return ACUI_DEV(device, StreamCreateWithPriority, &r->stream, NON_BLOCKING, urgent);
    ACUI_TRY(acu_stream_create(device, urgent, &comm->nccl->stream));
    r->stream = acui_stream_show(comm->nccl->stream);
    return ACU_OK;
}

static acu_status make_rank(acu_comm *comm, size_t i)
{
    acui_entered entered;
    acu_device *device = comm->devices[i];
    acui_nccl_rank *r = &comm->nccl->ranks[i];
    ACUI_TRY(get_order(device, &r->order));
    ACUI_TRY(acui_enter(device, &entered));
    acu_status status = make_stream(comm, i);
    if (status == ACU_OK)
        status = ACUI_DEV(device, EventCreate, &r->over, NO_TIMING);
    if (status == ACU_OK && i == 0)
        status = ACUI_DEV(device, EventCreate, &comm->nccl->ready, NO_TIMING);
    acui_leave(&entered);
    return status;
}

static void end_rank(acu_comm *comm, size_t i)
{
    acui_entered entered;
    acu_device *device = comm->devices[i];
    acui_nccl_rank *r = &comm->nccl->ranks[i];
    bool usable = acui_enter_to_free(device, &entered);
    if (i > 0 && r->stream && usable)
        device->cu->StreamDestroy(r->stream);
    if (r->over && usable)
        device->cu->EventDestroy(r->over);
    if (i == 0 && comm->nccl->ready && usable)
        device->cu->EventDestroy(comm->nccl->ready);
    acui_leave(&entered);
    if (r->order) {
        acu_tensor_release(r->order);
        drop_order(device);
    }
    r->order = NULL;
    r->stream = NULL;
    r->over = NULL;
}

static void end_ranks(acu_comm *comm)
{
    for (size_t i = 0; i < comm->device_count; i++)
        end_rank(comm, i);
    comm->nccl->ready = NULL;
}

/* ---- making it, aside ------------------------------------------------------------------------ */

/* Makes the context of each device current, so that the first device's is; leaving makes the next
 * one's. Either all are entered, or none is. */
static acu_status enter_all(acu_comm *comm, acui_entered *entered)
{
    size_t i = comm->device_count;
    acu_status status = ACU_OK;
    while (i > 0 && status == ACU_OK) {
        i--;
        status = acui_enter(comm->devices[i], &entered[i]);
    }
    if (status != ACU_OK)
        while (++i < comm->device_count)
            acui_leave(&entered[i]);
    return status;
}

/* The ranks of this process, in one group. Leaves the contexts, too. */
static acu_status init_each(acu_comm *comm, acui_entered *entered)
{
    struct acui_nccl *n = comm->nccl;
    acu_status st = acui_nccl_fail("ncclGroupStart", acui_nccl.group_start(), NULL);
    bool begun = st == ACU_OK;
    for (size_t i = 0; i < comm->device_count; i++) {
        if (st == ACU_OK)
            st = acui_nccl_fail("ncclCommInitRank",
                                acui_nccl.init(&n->ranks[i].handle, comm->ranks, n->id,
                                               comm->rank + (int)i), NULL);
        acui_leave(&entered[i]);
    }
    if (!begun)
        return st;
    acu_error record = *acui_error();
    int said = acui_nccl.group_end(); /* also after a failure: the thread is in the group */
    return st == ACU_OK ? acui_nccl_fail("ncclGroupEnd", said, NULL) : acui_error_restore(&record);
}

/* All contexts are there before the group begins: one that had some ranks of this process only
 * would wait for the others, which never come. */
static acu_status init_all(acu_comm *comm)
{
    acui_entered entered[ACUI_MAX_DEVICES];
    ACUI_TRY(enter_all(comm, entered));
    return init_each(comm, entered);
}

/* A first collective connects the ranks, which blocks until all are there. */
static acu_status connect_all(acu_comm *comm)
{
    struct acui_nccl *n = comm->nccl;
    int said = acui_nccl.group_start();
    for (size_t i = 0; i < comm->device_count && said == 0; i++) {
        void *memory = (void *)(uintptr_t)acu_tensor_address(n->ranks[i].order);
        said = acui_nccl.all_reduce(memory, memory, 1, ACUI_NCCL_U32, ACUI_NCCL_MAX,
                                    n->ranks[i].handle, n->ranks[i].stream);
    }
    int end = acui_nccl.group_end();
    ACUI_TRY(acui_nccl_fail("ncclAllReduce", said ? said : end, n->ranks[0].handle));
    for (size_t i = 0; i < comm->device_count; i++) {
        acui_entered entered;
        ACUI_TRY(acui_enter(comm->devices[i], &entered));
        acu_status status = ACUI_DEV(comm->devices[i], StreamSynchronize, n->ranks[i].stream);
        acui_leave(&entered);
        ACUI_TRY(status);
    }
    return ACU_OK;
}

static void abandon(acu_comm *comm)
{
    for (size_t i = 0; i < comm->device_count; i++)
        if (comm->nccl->ranks[i].handle)
            acui_nccl.stop(comm->nccl->ranks[i].handle);
    end_ranks(comm);
}

/* All have read the file. It goes before they leave connect_all, as one of them may make the next
 * communicator by a file of that name. */
static void end_meeting(acu_comm *comm)
{
    if (comm->nccl->met[0] && atomic_load(&comm->nccl->making) == ACUI_NCCL_MAKING)
        acui_meet_end(comm->nccl->met);
}

static acu_status make(acu_comm *comm)
{
    acu_status status = init_all(comm);
    if (status == ACU_OK) {
        end_meeting(comm);
        status = connect_all(comm);
    }
    if (atomic_exchange(&comm->nccl->making, ACUI_NCCL_MADE) == ACUI_NCCL_LEFT)
        abandon(comm);
    return status;
}

/* ---- opening --------------------------------------------------------------------------------- */

static acu_status new_id(acu_comm *comm)
{
    return acui_nccl_fail("ncclGetUniqueId", acui_nccl.id(&comm->nccl->id), NULL);
}

/* The processes of MPI all say whether rank 0 has one, and which. */
static acu_status tell_id(acu_comm *comm, uint64_t timeout)
{
    enum { WORDS = 1 + sizeof(acui_nccl_id) / sizeof(int64_t) };
    int64_t mine[WORDS] = {0};
    bool first = comm->rank == 0;
    acu_status status = first ? new_id(comm) : ACU_OK;
    acu_error record = *acui_error();
    mine[0] = status == ACU_OK;
    memcpy(mine + 1, &comm->nccl->id, sizeof comm->nccl->id);
    ACUI_TRY(acui_comm_tell(comm, mine, WORDS, timeout));
    const int64_t *of_first = comm->told + WORDS;
    if (first && status != ACU_OK)
        return acui_error_restore(&record);
    if (!of_first[0])
        return acui_fail(ACU_ERR_DRIVER, "NCCL could not be started by rank 0");
    memcpy(&comm->nccl->id, of_first + 1, sizeof comm->nccl->id);
    return ACU_OK;
}

static acu_status get_id(acu_comm *comm, const acui_meeting *m, uint64_t timeout)
{
    if (m->by_mpi)
        return tell_id(comm, timeout);
    if (m->file && comm->rank != 0)
        return acui_meet_read(m->file, &comm->nccl->id, sizeof comm->nccl->id, timeout);
    ACUI_TRY(new_id(comm));
    return m->file ? acui_meet_write(m->file, &comm->nccl->id, sizeof comm->nccl->id) : ACU_OK;
}

static acu_status begin_alive(acu_comm *comm, const char *file)
{
    int each = (int)comm->device_count;
    return acui_alive_begin(file, &comm->nccl->id, sizeof comm->nccl->id, comm->rank / each,
                            comm->ranks / each, &comm->alive);
}

static void end_alive(acu_comm *comm)
{
    acui_alive_end(comm->alive);
    comm->alive = NULL;
}

/* When NCCL aborts it frees page-locked memory, for which the driver waits for kernels, and lets
 * nothing be launched; and a collective among devices of one process is kernels that wait for each
 * other, launched one by one. So that waits until aborts are over, but not for good: one can take
 * for as long as a process is stopped. */
static void let_aborts_end(const acu_comm *comm)
{
    acui_nap nap = acui_nap_start(ACU_SECONDS(5));
    while (comm->device_count > 1 && acui_nccl_aborts() && acui_nap_again(&nap)) {
    }
}

static acu_status make_nccl(acu_comm *comm, const acui_meeting *meeting, uint64_t timeout,
                            bool *started)
{
    uint64_t deadline = acui_deadline(timeout);
    let_aborts_end(comm);
    if (meeting->file && comm->rank == 0)
        snprintf(comm->nccl->met, sizeof comm->nccl->met, "%s", meeting->file);
    for (size_t i = 0; i < comm->device_count; i++)
        ACUI_TRY(make_rank(comm, i));
    ACUI_TRY(get_id(comm, meeting, timeout));
    if (meeting->file)
        ACUI_TRY(begin_alive(comm, meeting->file));
    uint64_t now = acui_now(), left = deadline == UINT64_MAX ? ACU_FOREVER
                                      : deadline > now       ? deadline - now
                                                             : 0;
    acui_aside *aside = acui_aside_start(comm, make, "acuda-nccl-make");
    *started = aside;
    if (!aside)
        return acui_fail(ACU_ERR_NO_MEMORY, "no thread could be started for NCCL");
    return acui_aside_wait(aside, left, "making a communicator");
}

acu_status acui_nccl_open(acu_comm *comm, const acui_meeting *meeting, uint64_t timeout)
{
    comm->nccl = ACUI_NEW(struct acui_nccl);
    if (!comm->nccl)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a communicator");
    pthread_mutex_init(&comm->nccl->calls, NULL);
    bool started = false;
    acu_status status = make_nccl(comm, meeting, timeout, &started);
    if (meeting->file && comm->rank == 0)
        acui_meet_end(meeting->file); /* if it is still there, it is of no use */
    if (status == ACU_OK)
        status = acui_nccl_watch(comm);
    if (status == ACU_OK)
        return ACU_OK;
    acu_error record = *acui_error();
    end_alive(comm);
    if (atomic_exchange(&comm->nccl->making, ACUI_NCCL_LEFT) == ACUI_NCCL_MADE || !started)
        abandon(comm); /* else the thread that makes it will */
    return acui_error_restore(&record);
}

/* ---- closing --------------------------------------------------------------------------------- */

static acu_status destroy(acu_comm *comm)
{
    int said = acui_nccl.group_start();
    for (size_t i = 0; i < comm->device_count && said == 0; i++)
        said = acui_nccl.destroy(comm->nccl->ranks[i].handle);
    int end = acui_nccl.group_end();
    return acui_nccl_fail("ncclCommDestroy", said ? said : end, NULL);
}

/* Nobody calls NCCL about it any more, and nothing of it is on the devices. */
static bool is_settled(acu_comm *comm)
{
    if (pthread_mutex_trylock(&comm->nccl->calls) != 0)
        return false;
    pthread_mutex_unlock(&comm->nccl->calls);
    return !acui_nccl_busy(comm);
}

static bool settle(acu_comm *comm, uint64_t timeout)
{
    acui_nap nap = acui_nap_start(timeout);
    while (!is_settled(comm))
        if (!acui_nap_again(&nap))
            return false;
    return true;
}

acu_status acui_nccl_close(acu_comm *comm, uint64_t timeout)
{
    struct acui_nccl *n = comm->nccl;
    bool settled = settle(comm, timeout);
    if (!settled) {
        acui_fail(ACU_ERR_DEADLINE, "the communicator was closed while a collective waited for "
                  "other ranks");
        acui_nccl_retire(comm, acui_error());
    }
    acui_nccl_unwatch(comm);
    end_alive(comm);
    bool retired = atomic_load_explicit(&n->state, memory_order_acquire) != ACUI_NCCL_WORKS;
    acui_aside *aside = retired ? acui_nccl_take_ending(comm)
                                : acui_aside_start(comm, destroy, "acuda-nccl-end");
    acu_status status = ACU_OK;
    if (aside)
        status = acui_aside_wait(aside, settled ? timeout : ACU_SECONDS(1),
                                 "closing a communicator");
    else if (!retired) /* no thread could be started */
        status = destroy(comm);
    acu_error record = settled ? *acui_error() : n->record;
    end_ranks(comm);
    if (!settled)
        record.status = ACU_ERR_DEADLINE;
    return status == ACU_OK && settled ? ACU_OK : acui_error_restore(&record);
}

void acui_nccl_free(acu_comm *comm)
{
    if (!comm->nccl)
        return;
    acu_stream_release(comm->nccl->stream); /* until now: ops that come too late ask for it */
    pthread_mutex_destroy(&comm->nccl->calls);
    acui_free(comm->nccl);
}
