/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The thread that calls MPI. Others give it requests (requests.c), and jobs, for which they wait:
 * making, telling and closing a communicator. MPI goes on with what was posted only while it is
 * asked, so the thread asks without pause, as MPI's own waiting does, but yields its core each
 * time; if nothing happens for long, at growing intervals. It sleeps while there is nothing to
 * post, to ask for, or to do, but lingers before: a wake-up takes longer than a small collective.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/nap.h"
#include "base/threads.h"
#include "comm/comm.h"
#include "comm/thread.h"
#include "engine/host/host.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

enum { MPI_IS_LATE = -3, MPI_IS_NOT_HERE = -2, MPI_IS_NOT_USABLE = -1 };

typedef struct job {
    /* MPI's code, or one of these with a text. */
    int (*run)(acu_comm *comm, char text[ACUI_MPI_WORDS]);
    acu_comm *comm; /* a reference */
    acu_status outcome;
    char text[ACUI_MPI_WORDS];
    int refs; /* the thread, and who waits; lock */
    bool over;
    struct job *next;
} job;

acui_mpi_thread acui_mpi_us = {.lock = PTHREAD_MUTEX_INITIALIZER,
                               .work = PTHREAD_COND_INITIALIZER};

static struct { /* lock, but for the last two, which are the thread's */
    pthread_cond_t told;
    bool running, stop;
    job *first_job;
    bool ours; /* acuda initialised MPI */
    int open;  /* communicators that joined */
} us;

/* ---- the thread ------------------------------------------------------------------------------ */

static void drop_job(job *j) /* lock held */
{
    if (--j->refs > 0)
        return;
    acui_comm_drop(j->comm);
    acui_free(j);
}

static void do_job(job *j)
{
    int code = j->run(j->comm, j->text);
    if (code > 0 && acui_mpi_us.mpi)
        acui_mpi_us.mpi->words(code, j->text);
    pthread_mutex_lock(&acui_mpi_us.lock);
    if (code != 0 && j->outcome == ACU_OK)
        j->outcome = code == MPI_IS_LATE         ? ACU_ERR_DEADLINE
                     : code == MPI_IS_NOT_HERE   ? ACU_ERR_NOT_FOUND
                     : code == MPI_IS_NOT_USABLE ? ACU_ERR_NOT_SUPPORTED
                                                 : ACU_ERR_DRIVER;
    j->over = true;
    drop_job(j);
    pthread_cond_broadcast(&us.told);
    us.stop = us.open == 0 && !us.first_job;
    pthread_mutex_unlock(&acui_mpi_us.lock);
}

static job *next_job(bool idle)
{
    pthread_mutex_lock(&acui_mpi_us.lock);
    while (idle && !us.first_job && !us.stop) {
        bool queued = false;
        for (acu_comm *comm = acui_mpi_us.comms; comm; comm = comm->next)
            queued |= comm->first != NULL;
        if (queued)
            break;
        pthread_cond_wait(&acui_mpi_us.work, &acui_mpi_us.lock);
    }
    job *j = us.first_job;
    if (j)
        us.first_job = j->next;
    pthread_mutex_unlock(&acui_mpi_us.lock);
    return j;
}

static bool is_stopped(void)
{
    pthread_mutex_lock(&acui_mpi_us.lock);
    bool stop = us.stop && !us.first_job;
    if (stop)
        us.running = us.stop = false;
    pthread_mutex_unlock(&acui_mpi_us.lock);
    return stop;
}

/* How long it asks without pause, and how long it lingers. */
#define PATIENCE ACU_SECONDS(1)
#define LINGER ACU_US(200)

static void *run(void *unused)
{
    bool idle = true;
    uint64_t since = acui_now(); /* something happened */
    acui_nap nap = acui_nap_start(ACU_FOREVER);
    while (!is_stopped()) {
        bool sleeps = idle && acui_now() > since + LINGER;
        job *j = next_job(sleeps);
        if (j)
            do_job(j);
        if (acui_requests_turn(&idle) || j || sleeps) {
            since = acui_now();
            nap = acui_nap_start(ACU_FOREVER);
        } else if (idle || acui_now() < since + PATIENCE) {
            sched_yield();
        } else {
            acui_nap_again(&nap);
        }
    }
    return unused;
}

/* ---- jobs of others -------------------------------------------------------------------------- */

static bool need_thread(void) /* lock held */
{
    pthread_t thread;
    if (!us.running && acui_thread_start(&thread, "acuda-mpi", run)) {
        pthread_detach(thread);
        us.running = true;
    }
    return us.running;
}

static void prepare(void)
{
    acui_cond_init(&us.told);
}

/* Lock held. */
static void wait_for(const job *j, uint64_t timeout)
{
    uint64_t deadline = acui_deadline(timeout);
    while (!j->over && acui_cond_wait_until(&us.told, &acui_mpi_us.lock, deadline))
        ;
}

static acu_status do_and_wait(acu_comm *comm, int (*what)(acu_comm *, char *), uint64_t timeout,
                              const char *doing)
{
    job *j = ACUI_NEW(job);
    if (!j)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for %s a communicator", doing);
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare);
    j->run = what;
    j->comm = acui_object_retain(comm);
    j->refs = 2;
    acu_status status = ACU_OK;
    pthread_mutex_lock(&acui_mpi_us.lock);
    if (need_thread()) {
        job **link = &us.first_job;
        while (*link)
            link = &(*link)->next;
        *link = j;
        us.stop = false;
        pthread_cond_signal(&acui_mpi_us.work);
        wait_for(j, timeout);
        if (!j->over)
            status = acui_fail(ACU_ERR_DEADLINE, "%s a communicator took too long: a process that "
                               "belongs to it may be missing", doing);
        else if (j->outcome != ACU_OK)
            status = acui_fail(j->outcome, "%s a communicator: %s", doing, j->text);
    } else {
        status = acui_fail(ACU_ERR_NO_MEMORY, "no thread could be started for MPI");
        j->refs--;
    }
    drop_job(j);
    pthread_mutex_unlock(&acui_mpi_us.lock);
    return status;
}

/* How long it is waited for what may never end. */
#define MOMENT ACU_MS(50)

/* ---- joining and leaving --------------------------------------------------------------------- */

static int start_mpi(char *text)
{
    char looked[200];
    bool is, was, multiple;
    if (!acui_mpi_us.mpi && !(acui_mpi_us.mpi = acui_mpi_find(looked, sizeof looked))) {
        snprintf(text, ACUI_MPI_WORDS, "no MPI is here: looked for %s (NCCL needs none where "
                 "ACUDA_COMM_FILE names a file by which processes meet)", looked);
        return MPI_IS_NOT_HERE;
    }
    int code = acui_mpi_us.mpi->state(&is, &was, &multiple);
    if (code != 0)
        return code;
    if (was) {
        snprintf(text, ACUI_MPI_WORDS, "MPI was finalised before, and starts only once");
        return MPI_IS_NOT_USABLE;
    }
    if (is && !us.ours && !multiple) {
        snprintf(text, ACUI_MPI_WORDS, "the program initialised MPI with less than "
                 "MPI_THREAD_MULTIPLE, so only its own thread may call it");
        return MPI_IS_NOT_USABLE;
    }
    code = is ? 0 : acui_mpi_us.mpi->start();
    us.ours |= !is && code == 0;
    return code;
}

static int join(acu_comm *comm, char *text)
{
    int code = start_mpi(text);
    if (code == 0)
        code = acui_mpi_us.mpi->join(&comm->handle, &comm->mpi_rank, &comm->mpi_ranks);
    if (code != 0)
        return code;
    comm->mpi = acui_mpi_us.mpi;
    us.open++;
    pthread_mutex_lock(&acui_mpi_us.lock);
    comm->next = acui_mpi_us.comms; /* the job's reference goes to the list */
    acui_mpi_us.comms = acui_object_retain(comm);
    pthread_mutex_unlock(&acui_mpi_us.lock);
    return 0;
}

static int tell_all(acu_comm *comm, char *text)
{
    (void)text;
    uintptr_t request = 0;
    int64_t *mine = comm->told, *all = mine + comm->told_each;
    bool over = false, idle;
    int code = acui_mpi_us.mpi->exchange(comm->handle, mine, all, comm->told_each, &request);
    acui_nap nap = acui_nap_start(ACU_FOREVER);
    while (code == 0 && !over) {
        code = acui_mpi_us.mpi->test(&request, &over);
        acui_requests_turn(&idle); /* others go on meanwhile */
        acui_nap_again(&nap);
    }
    return code;
}

/* Has MPI go on with what it has of `comm`, or of all if that is NULL, until that is over; false:
 * not by then, as acui_now() says. */
static bool finish(acu_comm *comm, uint64_t by)
{
    bool idle = false;
    acui_nap nap = acui_nap_start(ACU_FOREVER);
    while (comm ? !acui_requests_are_over(comm) : !idle) {
        if (comm && comm->retired && acui_deadline(MOMENT) < by)
            by = acui_deadline(MOMENT);
        if (acui_now() > by)
            return false;
        if (acui_requests_turn(&idle))
            nap = acui_nap_start(ACU_FOREVER);
        else
            acui_nap_again(&nap);
    }
    return true;
}

void acui_mpi_unlink(acu_comm *comm)
{
    pthread_mutex_lock(&acui_mpi_us.lock);
    acu_comm **link = &acui_mpi_us.comms;
    while (*link != comm)
        link = &(*link)->next;
    *link = comm->next;
    pthread_mutex_unlock(&acui_mpi_us.lock);
    acui_comm_drop(comm);
}

/* Finalising MPI would wait for what may never end. */
static int end_mpi(void)
{
    finish(NULL, acui_deadline(MOMENT));
    return acui_mpi_us.comms ? 0 : acui_mpi_us.mpi->end();
}

/* Whether what the program submitted was posted. */
static bool is_complete(const acu_comm *comm)
{
    return !comm->retired && atomic_load_explicit(&comm->planned, memory_order_relaxed) ==
                                 atomic_load_explicit(&comm->handed, memory_order_relaxed);
}

/* What was posted before is finished first, unless that may never be: then for a moment only. MPI's
 * communicator is not given back if others may have posted more: the next one could be its
 * namesake, and get what was sent to it. */
static int leave(acu_comm *comm, char *text)
{
    int code = 0;
    bool over = finish(comm, comm->leave_by), retired = comm->retired;
    if (!over)
        acui_requests_abandon(comm);
    else if (is_complete(comm))
        code = acui_mpi_us.mpi->leave(&comm->handle);
    if (over)
        acui_mpi_unlink(comm);
    us.open--;
    if (us.open == 0 && us.ours && code == 0)
        code = end_mpi();
    if (code == 0 && !over && !retired) {
        snprintf(text, ACUI_MPI_WORDS, "its collectives were not over");
        code = MPI_IS_LATE;
    }
    return code;
}

acu_status acui_comm_join(acu_comm *comm, uint64_t timeout)
{
    return do_and_wait(comm, join, timeout, "making");
}

acu_status acui_comm_tell(acu_comm *comm, const int64_t *mine, int count, uint64_t timeout)
{
    acui_free(comm->told);
    comm->told = ACUI_NEW_ARRAY(int64_t, (size_t)(comm->mpi_ranks + 1) * (size_t)count);
    if (!comm->told)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for making a communicator");
    comm->told_each = count;
    memcpy(comm->told, mine, (size_t)count * sizeof *mine);
    return do_and_wait(comm, tell_all, timeout, "making");
}

acu_status acui_comm_leave(acu_comm *comm, uint64_t timeout)
{
    comm->leave_by = acui_deadline(timeout);
    return do_and_wait(comm, leave, timeout, "closing");
}
