/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Collectives by MPI: each is a request, for which MPI's calls are posted, one after the other for
 * each communicator, and asked for their ends, by the thread that calls MPI (thread.c).
 *
 * What MPI has begun can not be taken back. A request that is given up, or late, ends for acuda
 * with its promise, but stays here, with its memory, until MPI has finished it, which may be never;
 * and its communicator is retired. If that is closed it stays in the list, too.
 */
#include "base/clock.h"
#include "base/error.h"
#include "comm/comm.h"
#include "comm/thread.h"
#include "engine/host/host.h"

#include <stdio.h>
#include <string.h>

/* ---- ends ------------------------------------------------------------------------------------ */

static void end_promise(const acui_request *r, acu_promise *promise)
{
    if (r->outcome != ACU_OK)
        acui_fail(r->outcome, "%s", r->text);
    acui_promise_end(promise, r->outcome);
}

/* Tell whoever waits, once; `status` and the text are the outcome. Lock not held. */
static void tell(acui_request *r, acu_status status)
{
    pthread_mutex_lock(&acui_mpi_us.lock);
    bool told = r->over;
    acu_promise *promise = told ? NULL : r->promise;
    if (!told) {
        r->outcome = status;
        r->over = true;
        r->promise = NULL;
    }
    pthread_mutex_unlock(&acui_mpi_us.lock);
    if (promise)
        end_promise(r, promise);
}

static void fail(acui_request *r, acu_status status, const char *text)
{
    snprintf(r->text, sizeof r->text, "%s", text);
    tell(r, status);
}

static void retire(acu_comm *comm, const char *why)
{
    if (!comm->retired)
        snprintf(comm->why, sizeof comm->why, "%.180s", why);
    comm->retired = true;
}

static void fail_by_mpi(acui_request *r, int code)
{
    char words[ACUI_MPI_WORDS], text[sizeof r->text];
    acui_mpi_us.mpi->words(code, words);
    snprintf(text, sizeof text, "MPI failed: %.200s", words);
    retire(r->comm, text);
    fail(r, ACU_ERR_DRIVER, text);
}

acu_status acui_request_await(acui_request *r, acu_promise *promise)
{
    pthread_mutex_lock(&acui_mpi_us.lock);
    bool over = r->over, handed = r->handed;
    if (handed && !over)
        r->promise = promise;
    pthread_mutex_unlock(&acui_mpi_us.lock);
    if (!handed)
        return acui_fail(ACU_ERR_INVALID, "it was not posted");
    if (over)
        end_promise(r, promise);
    return ACU_OK;
}

/* ---- giving up ------------------------------------------------------------------------------- */

/* What becomes of a request that MPI has. The op that waits for it has told its promise, or it
 * never will: it was given up, and has dropped the request. */
typedef enum interest { NOT_KNOWN_YET, WAITS, GONE } interest;

static interest interest_of(acui_request *r, acu_promise **promise)
{
    bool alone = atomic_load_explicit(&r->refs, memory_order_acquire) == 1;
    pthread_mutex_lock(&acui_mpi_us.lock);
    *promise = r->promise;
    interest is = r->over || r->promise ? WAITS : alone ? GONE : NOT_KNOWN_YET;
    pthread_mutex_unlock(&acui_mpi_us.lock);
    return is;
}

/* Nobody wants it any more, or it is late: it ends, but for MPI. False: it is not known yet whether
 * anybody wants it. */
static bool look_after(acui_request *r)
{
    acu_promise *promise;
    interest is = interest_of(r, &promise);
    if (is == NOT_KNOWN_YET)
        return false;
    bool late = promise && acui_now() > r->late_at;
    bool given_up = is == GONE || (promise && acu_promise_given_up(promise));
    if (!late && !given_up)
        return true;
    retire(r->comm, late ? "a collective was late, and MPI still has it"
                         : "a collective was given up, and MPI still has it");
    fail(r, late ? ACU_ERR_DEADLINE : ACU_ERR_CANCELLED,
         late ? "not all ranks came within the communicator's timeout" : "it was given up");
    return true;
}

/* Before another one is posted: it must not be if one of these was given up. */
static bool look_after_all(acu_comm *comm)
{
    bool known = true;
    for (acui_request *r = comm->posted; r; r = r->next)
        known &= look_after(r);
    return known;
}

/* ---- posting --------------------------------------------------------------------------------- */

static void pop(acu_comm *comm)
{
    pthread_mutex_lock(&acui_mpi_us.lock);
    acui_request *r = comm->first;
    comm->first = r->next;
    if (!comm->first)
        comm->last = NULL;
    r->next = NULL;
    pthread_mutex_unlock(&acui_mpi_us.lock);
}

static void post(acui_request *r)
{
    acu_comm *comm = r->comm;
    int code = acui_mpi_us.mpi->post(comm->handle, &r->post, &r->mpi);
    pop(comm);
    if (code != 0) {
        fail_by_mpi(r, code);
        acui_request_drop(r);
        return;
    }
    r->state = ACUI_POSTED;
    r->next = comm->posted;
    comm->posted = r;
}

static void begin(acui_request *r)
{
    if (!r->late_at)
        r->late_at = acui_deadline(r->comm->timeout);
    if (!r->compared) {
        post(r);
        return;
    }
    int ranks = r->comm->mpi_ranks, code;
    r->all = ACUI_NEW_ARRAY(int64_t, (size_t)ranks * ACUI_FACTS);
    if (!r->all) {
        retire(r->comm, "there was no memory to compare what the ranks submit");
        return;
    }
    code = acui_mpi_us.mpi->exchange(r->comm->handle, r->facts, r->all, ACUI_FACTS, &r->mpi);
    r->state = ACUI_CHECKING;
    if (code != 0) {
        pop(r->comm);
        fail_by_mpi(r, code);
        acui_request_drop(r);
    }
}

/* False: MPI has not finished comparing. */
static bool compare(acui_request *r)
{
    bool over = false;
    int code = acui_mpi_us.mpi->test(&r->mpi, &over);
    if (code == 0 && !over)
        return false;
    int ranks = r->comm->mpi_ranks, each = (int)r->comm->device_count;
    if (code == 0 && acui_facts_agree(r->all, ranks, each, r->text, sizeof r->text)) {
        post(r);
        return true;
    }
    pop(r->comm);
    if (code != 0)
        fail_by_mpi(r, code);
    else
        tell(r, ACU_ERR_INVALID); /* on all ranks, which can go on */
    acui_request_drop(r);
    return true;
}

acui_request *acui_request_first(acu_comm *comm)
{
    pthread_mutex_lock(&acui_mpi_us.lock);
    acui_request *r = comm->first;
    pthread_mutex_unlock(&acui_mpi_us.lock);
    return r;
}

/* Post what can be posted. Whether something happened. */
static bool post_all(acu_comm *comm)
{
    bool moved = false;
    acui_request *r;
    while ((r = acui_request_first(comm))) {
        if (r->state == ACUI_NEW && !look_after_all(comm))
            return moved;
        if (comm->retired && r->state == ACUI_NEW) {
            char text[sizeof r->text];
            snprintf(text, sizeof text, "the communicator is retired: %.180s", comm->why);
            pop(comm);
            fail(r, ACU_ERR_INVALID, text);
            acui_request_drop(r);
        } else if (r->state == ACUI_CHECKING) {
            if (!compare(r))
                return moved;
        } else {
            begin(r);
        }
        moved = true;
    }
    return moved;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static bool ask_all(acu_comm *comm)
{
    bool moved = false;
    for (acui_request **link = &comm->posted; *link;) {
        acui_request *r = *link;
        bool over = false;
        int code = acui_mpi_us.mpi->test(&r->mpi, &over);
        if (code == 0 && !over) {
            look_after(r);
            link = &r->next;
            continue;
        }
        *link = r->next;
        moved = true;
        if (code != 0)
            fail_by_mpi(r, code);
        else
            tell(r, ACU_OK);
        acui_request_drop(r);
    }
    acui_request *first = acui_request_first(comm);
    if (first && first->state == ACUI_CHECKING)
        look_after(first);
    return moved;
}

bool acui_requests_are_over(acu_comm *comm)
{
    return !comm->posted && !acui_request_first(comm);
}

bool acui_requests_turn(bool *idle)
{
    bool moved = false;
    *idle = true;
    acu_comm *next;
    for (acu_comm *comm = acui_mpi_us.comms; comm; comm = next) {
        next = comm->next;
        moved |= post_all(comm);
        moved |= ask_all(comm);
        bool over = acui_requests_are_over(comm);
        *idle &= over;
        if (over && comm->left)
            acui_mpi_unlink(comm);
    }
    return moved;
}

void acui_requests_abandon(acu_comm *comm)
{
    static const char why[] = "the communicator was closed while MPI still had it";
    retire(comm, why);
    comm->left = true;
    for (acui_request *r = comm->posted; r; r = r->next)
        fail(r, ACU_ERR_DEADLINE, why);
    for (acui_request *r = acui_request_first(comm); r; r = r->next) /* no more are added */
        fail(r, ACU_ERR_DEADLINE, why);
}

/* ---- for others ------------------------------------------------------------------------------ */

acu_status acui_request_post(acui_request *r)
{
    acu_comm *comm = r->comm;
    pthread_mutex_lock(&acui_mpi_us.lock);
    if (atomic_load(&comm->closed)) { /* whoever closed it may have left the list already */
        pthread_mutex_unlock(&acui_mpi_us.lock);
        return acui_fail(ACU_ERR_INVALID, "the communicator was closed");
    }
    atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
    if (comm->last)
        comm->last->next = r;
    else
        comm->first = r;
    comm->last = r;
    r->handed = true;
    atomic_fetch_add_explicit(&comm->handed, 1, memory_order_relaxed);
    pthread_cond_signal(&acui_mpi_us.work);
    pthread_mutex_unlock(&acui_mpi_us.lock);
    return ACU_OK;
}
