/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The thread that looks after collectives of NCCL's on the devices, while there are any: whether
 * NCCL reports an error, whether one is late, and whether nobody wants one any more. Then the
 * communicator is retired: what is on the devices fails, and NCCL is told to abort.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/nap.h"
#include "base/threads.h"
#include "comm/alive.h"
#include "comm/nccl.h"
#include "engine/completion/complete.h"
#include "engine/flight/flight.h"

#include <stdio.h>
#include <time.h>

/* How often it looks; and how long what nobody wants may take to end by itself. */
#define INTERVAL ACU_MS(10)
#define GRACE ACU_MS(100)

static struct {
    pthread_mutex_t lock;
    pthread_cond_t call;
    pthread_cond_t looked; /* the thread is done with `at` */
    acu_comm *comms;       /* each a reference */
    acu_comm *at;          /* the one that the thread looks after */
    bool running, asleep;
    int aborting;          /* how many are being aborted */
} us = {.lock = PTHREAD_MUTEX_INITIALIZER,
        .call = PTHREAD_COND_INITIALIZER,
        .looked = PTHREAD_COND_INITIALIZER};

/* ---- requests -------------------------------------------------------------------------------- */

void acui_nccl_called(acui_nccl_request *r)
{
    struct acui_nccl *n = r->comm->nccl;
    pthread_mutex_lock(&us.lock);
    r->late_at = acui_deadline(r->comm->timeout);
    r->number = atomic_fetch_add_explicit(&n->called, 1, memory_order_relaxed);
    r->next = n->requests;
    r->link = &n->requests;
    if (r->next)
        r->next->link = &r->next;
    n->requests = r;
    if (us.asleep)
        pthread_cond_signal(&us.call);
    us.asleep = false;
    pthread_mutex_unlock(&us.lock);
}

void acui_nccl_dropped(acui_nccl_request *r)
{
    pthread_mutex_lock(&us.lock);
    if (r->link) {
        *r->link = r->next;
        if (r->next)
            r->next->link = r->link;
    }
    pthread_mutex_unlock(&us.lock);
}

/* ---- what is on the devices ------------------------------------------------------------------ */

typedef struct seen {
    const acu_comm *comm;
    uint64_t now;
    bool any, late, unwanted;
    uint64_t first; /* number of the first that is not over */
} seen;

/* Under the engine's locks; nobody else has the times of a request that is on a device. */
static void look_at(void *user, bool unwanted, void *context)
{
    acui_nccl_request *r = user;
    seen *s = context;
    if (r->comm != s->comm)
        return;
    s->any = true;
    s->first = r->number < s->first ? r->number : s->first;
    s->late |= s->now > r->late_at;
    if (unwanted && !r->unwanted_at)
        r->unwanted_at = s->now;
    s->unwanted |= unwanted && s->now - r->unwanted_at > GRACE;
}

static seen look(acu_comm *comm)
{
    seen s = {.comm = comm, .now = acui_now(), .first = UINT64_MAX};
    acui_late_look(comm->devices[0], acui_nccl_run, look_at, &s);
    return s;
}

bool acui_nccl_busy(acu_comm *comm)
{
    acui_look_everywhere();
    return look(comm).any;
}

/* ---- retiring -------------------------------------------------------------------------------- */

static bool is_of(void *user, const void *comm)
{
    acui_nccl_request *r = user;
    if (r->comm != comm)
        return false;
    r->failed = true;
    return true;
}

static bool all_failed(acu_comm *comm)
{
    bool all = true;
    pthread_mutex_lock(&us.lock);
    for (acui_nccl_request *r = comm->nccl->requests; r; r = r->next)
        all &= r->failed;
    pthread_mutex_unlock(&us.lock);
    return all;
}

static void fail_all(acu_comm *comm)
{
    acui_late_fail(comm->devices[0], acui_nccl_run, is_of, comm, &comm->nccl->record);
}

/* Between a call and its being in the engine's lists is a moment; a request that is over, and is
 * still held by its submission, is never found there. */
static void fail_what_is_there(acu_comm *comm)
{
    acui_nap nap = acui_nap_start(ACU_MS(200));
    do
        fail_all(comm);
    while (!all_failed(comm) && acui_nap_again(&nap));
    fail_all(comm); /* also readers that were just being issued */
}

/* Whoever is inside NCCL now may be waiting for other ranks there, and returns because of this. */
static acu_status abort_all(acu_comm *comm)
{
    struct acui_nccl *n = comm->nccl;
    fail_what_is_there(comm);
    acui_nap nap = acui_nap_start(ACU_MS(200));
    bool locked;
    while (!(locked = pthread_mutex_trylock(&n->calls) == 0) && acui_nap_again(&nap)) {
    }
    int status = acui_nccl.group_start();
    for (size_t i = 0; i < comm->device_count && status == 0; i++)
        if (n->ranks[i].handle)
            status = acui_nccl.stop(n->ranks[i].handle);
    int end = acui_nccl.group_end();
    atomic_store_explicit(&n->state, ACUI_NCCL_ABORTED, memory_order_release);
    if (locked)
        pthread_mutex_unlock(&n->calls);
    pthread_mutex_lock(&us.lock);
    us.aborting--;
    pthread_mutex_unlock(&us.lock);
    return acui_nccl_fail("ncclCommAbort", status ? status : end, NULL);
}

bool acui_nccl_aborts(void)
{
    pthread_mutex_lock(&us.lock);
    bool any = us.aborting > 0;
    pthread_mutex_unlock(&us.lock);
    return any;
}

void acui_nccl_retire(acu_comm *comm, const acu_error *record)
{
    struct acui_nccl *n = comm->nccl;
    pthread_mutex_lock(&us.lock);
    bool first = atomic_load_explicit(&n->state, memory_order_relaxed) == ACUI_NCCL_WORKS;
    if (first) {
        n->record = *record;
        us.aborting++;
        atomic_store_explicit(&n->state, ACUI_NCCL_RETIRED, memory_order_release);
        n->ending = acui_aside_start(comm, abort_all, "acuda-nccl-end");
    }
    bool here = first && !n->ending;
    pthread_mutex_unlock(&us.lock);
    if (here) /* no thread could be started */
        abort_all(comm);
}

bool acui_nccl_is_retired(const acu_comm *comm)
{
    return comm->nccl &&
           atomic_load_explicit(&comm->nccl->state, memory_order_acquire) != ACUI_NCCL_WORKS;
}

acui_aside *acui_nccl_take_ending(acu_comm *comm)
{
    pthread_mutex_lock(&us.lock);
    acui_aside *aside = comm->nccl->ending;
    comm->nccl->ending = NULL;
    pthread_mutex_unlock(&us.lock);
    return aside;
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* What NCCL itself reports. */
static acu_status ask(acu_comm *comm)
{
    struct acui_nccl *n = comm->nccl;
    acu_status status = ACU_OK;
    if (pthread_mutex_trylock(&n->calls) != 0)
        return ACU_OK;
    bool works = !acui_nccl_is_retired(comm); /* else it may be aborted already */
    for (size_t i = 0; i < comm->device_count && status == ACU_OK && works; i++) {
        int said = 0;
        status = acui_nccl_fail("ncclCommGetAsyncError",
                                acui_nccl.async_error(n->ranks[i].handle, &said), NULL);
        if (status == ACU_OK && said != ACUI_NCCL_SUCCESS && said != ACUI_NCCL_IN_PROGRESS)
            status = acui_nccl_fail("NCCL", said, n->ranks[i].handle);
    }
    pthread_mutex_unlock(&n->calls);
    return status;
}

/* A call that waits inside of NCCL, for ranks that it has to connect to, is not on a device yet. */
static bool call_is_late(acu_comm *comm, seen *s)
{
    uint64_t now = acui_now();
    bool late = false;
    if (pthread_mutex_trylock(&comm->nccl->calls) == 0) {
        pthread_mutex_unlock(&comm->nccl->calls);
        return false;
    }
    pthread_mutex_lock(&us.lock);
    acui_nccl_request *last = comm->nccl->requests;
    late = last && now > last->late_at;
    if (late && last->number < s->first)
        s->first = last->number;
    pthread_mutex_unlock(&us.lock);
    return late;
}

/* ": lost: rank 3, 4", or nothing. */
static void say_lost(const acu_comm *comm, bool any, char *text, size_t bytes)
{
    size_t length = 0;
    text[0] = '\0';
    for (int rank = 0; rank < comm->ranks && any && length + 40 < bytes; rank++)
        if (acui_alive_lost(comm->alive, rank / (int)comm->device_count))
            length += (size_t)snprintf(text + length, bytes - length, "%s%d",
                                       length ? ", " : ": lost: rank ", rank);
}

static void look_after(acu_comm *comm)
{
    if (atomic_load_explicit(&comm->nccl->state, memory_order_acquire) != ACUI_NCCL_WORKS)
        return;
    acu_status status = ask(comm);
    char said[300], lost[160];
    snprintf(said, sizeof said, "%.299s", status == ACU_OK ? "" : acu_last_error()->message);
    seen s = look(comm);
    if (status == ACU_OK && (s.late || s.unwanted)) {
        acui_look_everywhere(); /* nobody may have looked, and it is over */
        s = look(comm);
    }
    bool late = status == ACU_OK && (s.late || call_is_late(comm, &s));
    bool any = (status != ACU_OK || late) && acui_alive_find(comm->alive,
                                                             late ? s.first : UINT64_MAX);
    say_lost(comm, any, lost, sizeof lost);
    if (status != ACU_OK)
        acui_fail(status, "NCCL failed%s: %s", lost, said);
    else if (late)
        acui_fail(ACU_ERR_DEADLINE, "not all ranks came within the communicator's timeout%s",
                  lost);
    else if (s.unwanted)
        acui_fail(ACU_ERR_CANCELLED, "a collective was given up while it waited for other ranks");
    else
        return;
    acui_nccl_retire(comm, acui_error());
}

/* What the processes tell one another. */
static void tell(acu_comm *comm, bool busy)
{
    acui_alive_tell(comm->alive, atomic_load_explicit(&comm->nccl->called, memory_order_relaxed),
                    busy && !acui_nccl_is_retired(comm));
}

static void look_if_busy(acu_comm *comm, bool busy)
{
    if (busy)
        look_after(comm);
}

/* Each, without the lock. */
static void visit(void (*what)(acu_comm *comm, bool busy))
{
    pthread_mutex_lock(&us.lock);
    acu_comm *next;
    for (acu_comm *comm = us.comms; comm; comm = next) {
        bool busy = comm->nccl->requests != NULL;
        us.at = comm; /* it stays in the list meanwhile */
        pthread_mutex_unlock(&us.lock);
        what(comm, busy);
        pthread_mutex_lock(&us.lock);
        next = comm->nccl->next;
        us.at = NULL;
        pthread_cond_broadcast(&us.looked);
    }
    pthread_mutex_unlock(&us.lock);
}

/* All are told first: where threads play processes, those look at each other's words. */
static void look_after_all(void)
{
    visit(tell);
    visit(look_if_busy);
}

/* The lock is held: what was called since the last look counts. */
static bool is_idle(void)
{
    for (acu_comm *comm = us.comms; comm; comm = comm->nccl->next)
        if (comm->nccl->requests)
            return false;
    return true;
}

static void *run(void *unused)
{
    const struct timespec interval = {.tv_nsec = (long)INTERVAL};
    bool stop = false;
    while (!stop) {
        look_after_all();
        pthread_mutex_lock(&us.lock);
        us.asleep = is_idle() && us.comms;
        while (us.asleep && us.comms)
            pthread_cond_wait(&us.call, &us.lock);
        stop = !us.comms;
        us.running = !stop;
        pthread_mutex_unlock(&us.lock);
        if (!stop)
            nanosleep(&interval, NULL);
    }
    return unused;
}

acu_status acui_nccl_watch(acu_comm *comm)
{
    pthread_t thread;
    pthread_mutex_lock(&us.lock);
    comm->nccl->next = us.comms;
    us.comms = acui_object_retain(comm);
    if (!us.running && acui_thread_start(&thread, "acuda-nccl", run)) {
        pthread_detach(thread);
        us.running = true;
    }
    bool runs = us.running;
    if (!runs)
        us.comms = comm->nccl->next;
    pthread_mutex_unlock(&us.lock);
    if (runs)
        return ACU_OK;
    acui_comm_drop(comm);
    return acui_fail(ACU_ERR_NO_MEMORY, "no thread could be started for NCCL");
}

void acui_nccl_unwatch(acu_comm *comm)
{
    pthread_mutex_lock(&us.lock);
    while (us.at == comm)
        pthread_cond_wait(&us.looked, &us.lock);
    acu_comm **link = &us.comms;
    while (*link != comm)
        link = &(*link)->nccl->next;
    *link = comm->nccl->next;
    pthread_cond_signal(&us.call);
    pthread_mutex_unlock(&us.lock);
    acui_comm_drop(comm);
}
