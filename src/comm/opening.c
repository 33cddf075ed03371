/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Making communicators: by the thread that asks for it, or by one of acuda's, with a future. All
 * processes make those that meet by MPI in one order; so each of these takes its place in a line
 * when the program asks for it.
 */
#include "base/clock.h"
#include "base/callback.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/threads.h"
#include "comm/open.h"
#include "engine/completion/complete.h"

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    acu_comm *first; /* the line */
} us = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void prepare(void)
{
    acui_cond_init(&us.changed);
}

static void lock(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare);
    pthread_mutex_lock(&us.lock);
}

/* ---- the line -------------------------------------------------------------------------------- */

void acui_turn_take(acu_comm *comm)
{
    lock();
    acu_comm **link = &us.first;
    while (*link)
        link = &(*link)->behind;
    *link = comm;
    comm->in_line = true;
    pthread_mutex_unlock(&us.lock);
}

static acu_status turn_wait(acu_comm *comm)
{
    uint64_t deadline = acui_deadline(comm->timeout);
    lock();
    while (comm->in_line && us.first != comm &&
           acui_cond_wait_until(&us.changed, &us.lock, deadline))
        ;
    bool mine = !comm->in_line || us.first == comm;
    pthread_mutex_unlock(&us.lock);
    return mine ? ACU_OK
                : acui_fail(ACU_ERR_DEADLINE, "making a communicator took too long: an earlier one "
                            "is still being made");
}

static void turn_leave(acu_comm *comm)
{
    lock();
    acu_comm **link = &us.first;
    while (*link && *link != comm)
        link = &(*link)->behind;
    if (*link)
        *link = comm->behind;
    comm->in_line = false;
    pthread_cond_broadcast(&us.changed);
    pthread_mutex_unlock(&us.lock);
}

/* ---- making ---------------------------------------------------------------------------------- */

static acu_status make(acu_comm *comm, const acui_opening *x)
{
    acu_status status = turn_wait(comm);
    if (status == ACU_OK) {
        status = acui_open_do(comm, x);
    } else {
        acu_error record = *acui_error();
        acui_comm_release_devices(comm);
        acui_error_restore(&record);
    }
    acu_error record = *acui_error();
    turn_leave(comm);
    return status == ACU_OK ? ACU_OK : acui_error_restore(&record);
}

acu_status acu_comm_open(const acu_comm_options *options, acu_comm **result)
{
    acui_opening x;
    acu_comm *comm;
    ACUI_REFUSE_FORK();
    if (!result)
        return acui_fail(ACU_ERR_INVALID, "acu_comm_open: nowhere to put the communicator");
    ACUI_TRY(acui_open_prepare(options, __func__, true, &x, &comm));
    acu_status status = make(comm, &x);
    if (status == ACU_OK) {
        atomic_store_explicit(&comm->state, ACUI_COMM_MADE, memory_order_release);
        *result = comm;
        return ACU_OK;
    }
    acu_error record = *acui_error();
    acui_comm_drop(comm);
    return acui_error_restore(&record);
}

/* ---- aside ----------------------------------------------------------------------------------- */

typedef struct job {
    acu_comm *comm; /* a reference */
    acu_future *future; /* a reference of the engine's */
    acui_opening x;
} job;

/* It is the program's now, unless that has closed it. */
static bool is_wanted(acu_comm *comm, acu_status status)
{
    lock();
    bool wanted = !comm->unwanted;
    atomic_store_explicit(&comm->state, status == ACU_OK ? ACUI_COMM_MADE : ACUI_COMM_NOT_MADE,
                          memory_order_release);
    pthread_cond_broadcast(&us.changed);
    pthread_mutex_unlock(&us.lock);
    return wanted;
}

/* The last that is done here: whoever closes the communicator waits for that, so that nothing is
 * left then. */
static void step_back(acu_comm *comm)
{
    lock();
    comm->aside = false;
    pthread_cond_broadcast(&us.changed);
    acui_comm_drop(comm);
    pthread_mutex_unlock(&us.lock);
}

static void *run(void *context)
{
    job *j = context;
    acu_comm *comm = j->comm;
    acu_status status = make(comm, &j->x);
    acui_fault *fault = status == ACU_OK ? NULL : acui_fault_new(acui_error());
    if (!is_wanted(comm, status) && status == ACU_OK) {
        atomic_store(&comm->closed, true);
        acui_comm_end(comm, comm->timeout);
    }
    acui_resolve(j->future, status, fault);
    acui_fault_release(fault);
    acui_future_put(j->future);
    acui_free(j);
    step_back(comm);
    return NULL;
}

static acu_status start(job *j, acu_future *future)
{
    pthread_t thread;
    j->comm = acui_object_retain(j->comm);
    j->comm->aside = true;
    j->future = acui_future_keep(future);
    if (acui_thread_start_with(&thread, "acuda-comm", run, j)) {
        pthread_detach(thread);
        return ACU_OK;
    }
    acui_future_put(j->future);
    acui_comm_drop(j->comm);
    return acui_fail(ACU_ERR_NO_MEMORY, "no thread could be started to make a communicator");
}

static acu_status begin(job *j, const acu_comm_options *options, acu_comm **comm,
                        acu_future **future)
{
    acu_future *f = NULL;
    ACUI_TRY(acui_open_prepare(options, "acu_comm_open_async", false, &j->x, &j->comm));
    acu_comm *made = j->comm;
    acu_status status = acui_reactor_start();
    if (status == ACU_OK)
        status = acui_future_new(&f);
    if (status == ACU_OK)
        status = start(j, f);
    if (status == ACU_OK) {
        *comm = made;
        *future = f;
        return ACU_OK;
    }
    acu_error record = *acui_error();
    acu_future_release(f);
    turn_leave(made);
    acui_comm_release_devices(made);
    acui_comm_drop(made);
    return acui_error_restore(&record);
}

acu_status acu_comm_open_async(const acu_comm_options *options, acu_comm **comm,
                               acu_future **future)
{
    ACUI_REFUSE_FORK();
    if (!comm || !future)
        return acui_fail(ACU_ERR_INVALID, "acu_comm_open_async: nowhere to put the communicator, "
                         "or the future");
    job *j = ACUI_NEW(job);
    if (!j)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for making a communicator");
    acu_status status = begin(j, options, comm, future);
    if (status != ACU_OK)
        acui_free(j);
    return status;
}

acui_comm_state acui_opening_end(acu_comm *comm, uint64_t timeout, bool *again)
{
    uint64_t deadline = acui_deadline(timeout);
    bool waits = acui_refuse_wait("acu_comm_close") == ACU_OK; /* else it may be this thread */
    lock();
    while (waits && comm->aside && !comm->unwanted &&
           acui_cond_wait_until(&us.changed, &us.lock, deadline))
        ;
    acui_comm_state state =
        (acui_comm_state)atomic_load_explicit(&comm->state, memory_order_acquire);
    *again = comm->unwanted;
    comm->unwanted = true;
    pthread_mutex_unlock(&us.lock);
    return state;
}
