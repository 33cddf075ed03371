/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The thread that calls MPI. Others give it requests, for which it posts MPI's calls, one after the
 * other for each communicator, and asks for their ends; and jobs (joining and leaving), for which
 * they wait. It sleeps while there is nothing to post, to ask for, or to do; else it asks without
 * pause for a moment, then at growing intervals.
 *
 * What MPI has begun can not be taken back. A request that is given up, or late, ends for acuda
 * with its promise, but stays here, with its memory, until MPI has finished it, which may be never;
 * and its communicator is retired.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/nap.h"
#include "base/threads.h"
#include "comm/comm.h"
#include "engine/host/host.h"

#include <stdio.h>
#include <string.h>

enum { MPI_IS_NOT_HERE = -2, MPI_IS_NOT_USABLE = -1 };

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

static struct {
    pthread_mutex_t lock;
    pthread_cond_t work, told;
    bool running, stop;
    job *first_job;
    acu_comm *comms; /* joined ones */
    const acui_mpi *mpi; /* set by the first job */
    bool ours;       /* acuda initialised MPI */
    int open;        /* communicators that joined; the thread's */
} us = {.lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER};

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
    pthread_mutex_lock(&us.lock);
    bool told = r->over;
    acu_promise *promise = told ? NULL : r->promise;
    if (!told) {
        r->outcome = status;
        r->over = true;
        r->promise = NULL;
    }
    pthread_mutex_unlock(&us.lock);
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
    us.mpi->words(code, words);
    snprintf(text, sizeof text, "MPI failed: %.200s", words);
    retire(r->comm, text);
    fail(r, ACU_ERR_DRIVER, text);
}

void acui_request_await(acui_request *r, acu_promise *promise)
{
    pthread_mutex_lock(&us.lock);
    bool over = r->over;
    if (!over)
        r->promise = promise;
    pthread_mutex_unlock(&us.lock);
    if (over)
        end_promise(r, promise);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static const char *const fact_names[] = {"kind", "count", "dtype", "reduction", "root"};

static void word_of(int fact, int64_t value, char *word, size_t bytes)
{
    if (fact == 2 && acu_dtype_bytes((acu_dtype)value))
        snprintf(word, bytes, "%s", acu_dtype_name((acu_dtype)value));
    else
        snprintf(word, bytes, "%lld", (long long)value);
}

/* Whether all ranks say the same; if not, the text says who differs from rank 0. */
static bool agree(acui_request *r)
{
    char mine[24], other[24];
    for (int rank = 1; rank < r->comm->ranks; rank++)
        for (int f = 0; f < ACUI_FACTS; f++) {
            int64_t a = r->all[f], b = r->all[rank * ACUI_FACTS + f];
            if (a == b)
                continue;
            word_of(f, a, mine, sizeof mine);
            word_of(f, b, other, sizeof other);
            snprintf(r->text, sizeof r->text, "the ranks disagree: rank %d submitted one of %s %s, "
                     "and rank 0 of %s %s", rank, fact_names[f], other, fact_names[f], mine);
            return false;
        }
    return true;
}

static bool is_compared(const acui_request *r)
{
    return r->comm->checked && r->post.kind != ACU_SEND && r->post.kind != ACU_RECEIVE;
}

/* ---- giving up ------------------------------------------------------------------------------- */

/* What becomes of a request that MPI has. The op that waits for it has told its promise, or it
 * never will: it was given up, and has dropped the request. */
typedef enum interest { NOT_KNOWN_YET, WAITS, GONE } interest;

static interest interest_of(acui_request *r, acu_promise **promise)
{
    bool alone = atomic_load_explicit(&r->refs, memory_order_acquire) == 1;
    pthread_mutex_lock(&us.lock);
    *promise = r->promise;
    interest is = r->over || r->promise ? WAITS : alone ? GONE : NOT_KNOWN_YET;
    pthread_mutex_unlock(&us.lock);
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
    pthread_mutex_lock(&us.lock);
    acui_request *r = comm->first;
    comm->first = r->next;
    if (!comm->first)
        comm->last = NULL;
    r->next = NULL;
    pthread_mutex_unlock(&us.lock);
}

static void post(acui_request *r)
{
    acu_comm *comm = r->comm;
    int code = us.mpi->post(comm->handle, &r->post, &r->mpi);
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
    if (!is_compared(r)) {
        post(r);
        return;
    }
    int ranks = r->comm->ranks, code;
    r->all = ACUI_NEW_ARRAY(int64_t, (size_t)ranks * ACUI_FACTS);
    if (!r->all) {
        retire(r->comm, "there was no memory to compare what the ranks submit");
        return;
    }
    code = us.mpi->exchange(r->comm->handle, r->facts, r->all, ACUI_FACTS, &r->mpi);
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
    int code = us.mpi->test(&r->mpi, &over);
    if (code == 0 && !over)
        return false;
    if (code == 0 && agree(r)) {
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

static acui_request *first_of(acu_comm *comm)
{
    pthread_mutex_lock(&us.lock);
    acui_request *r = comm->first;
    pthread_mutex_unlock(&us.lock);
    return r;
}

/* Post what can be posted. Whether something happened. */
static bool post_all(acu_comm *comm)
{
    bool moved = false;
    acui_request *r;
    while ((r = first_of(comm))) {
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
        int code = us.mpi->test(&r->mpi, &over);
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
    acui_request *first = first_of(comm);
    if (first && first->state == ACUI_CHECKING)
        look_after(first);
    return moved;
}

/* Whether something happened; *idle: nothing is left to ask for. */
static bool turn(bool *idle)
{
    bool moved = false;
    *idle = true;
    for (acu_comm *comm = us.comms; comm; comm = comm->next) {
        moved |= post_all(comm);
        moved |= ask_all(comm);
        *idle &= !comm->posted && !first_of(comm);
    }
    return moved;
}

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
    if (code > 0 && us.mpi)
        us.mpi->words(code, j->text);
    pthread_mutex_lock(&us.lock);
    if (code != 0 && j->outcome == ACU_OK)
        j->outcome = code == MPI_IS_NOT_HERE     ? ACU_ERR_NOT_FOUND
                     : code == MPI_IS_NOT_USABLE ? ACU_ERR_NOT_SUPPORTED
                                                 : ACU_ERR_DRIVER;
    j->over = true;
    drop_job(j);
    pthread_cond_broadcast(&us.told);
    us.stop = us.open == 0 && !us.first_job;
    pthread_mutex_unlock(&us.lock);
}

static job *next_job(bool idle)
{
    pthread_mutex_lock(&us.lock);
    while (idle && !us.first_job && !us.stop) {
        bool queued = false;
        for (acu_comm *comm = us.comms; comm; comm = comm->next)
            queued |= comm->first != NULL;
        if (queued)
            break;
        pthread_cond_wait(&us.work, &us.lock);
    }
    job *j = us.first_job;
    if (j)
        us.first_job = j->next;
    pthread_mutex_unlock(&us.lock);
    return j;
}

static bool is_stopped(void)
{
    pthread_mutex_lock(&us.lock);
    bool stop = us.stop && !us.first_job;
    if (stop)
        us.running = us.stop = false;
    pthread_mutex_unlock(&us.lock);
    return stop;
}

static void *run(void *unused)
{
    bool idle = true;
    acui_nap nap = acui_nap_start(ACU_FOREVER); /* since something happened */
    while (!is_stopped()) {
        const bool slept = idle;
        job *j = next_job(idle);
        if (j)
            do_job(j);
        if (turn(&idle) || j || slept)
            nap = acui_nap_start(ACU_FOREVER);
        else if (!idle)
            acui_nap_again(&nap);
    }
    return unused;
}

/* ---- for others ------------------------------------------------------------------------------ */

acu_status acui_request_post(acui_request *r)
{
    acu_comm *comm = r->comm;
    if (atomic_load(&comm->closed))
        return acui_fail(ACU_ERR_INVALID, "the communicator was closed");
    atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
    pthread_mutex_lock(&us.lock);
    if (comm->last)
        comm->last->next = r;
    else
        comm->first = r;
    comm->last = r;
    pthread_cond_signal(&us.work);
    pthread_mutex_unlock(&us.lock);
    return ACU_OK;
}

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
    while (!j->over && acui_cond_wait_until(&us.told, &us.lock, deadline))
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
    pthread_mutex_lock(&us.lock);
    if (need_thread()) {
        job **link = &us.first_job;
        while (*link)
            link = &(*link)->next;
        *link = j;
        us.stop = false;
        pthread_cond_signal(&us.work);
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
    pthread_mutex_unlock(&us.lock);
    return status;
}

/* ---- joining and leaving --------------------------------------------------------------------- */

static int start_mpi(char *text)
{
    char looked[200];
    bool is, was, multiple;
    if (!us.mpi && !(us.mpi = acui_mpi_find(looked, sizeof looked))) {
        snprintf(text, ACUI_MPI_WORDS, "no MPI is here: looked for %s", looked);
        return MPI_IS_NOT_HERE;
    }
    int code = us.mpi->state(&is, &was, &multiple);
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
    code = is ? 0 : us.mpi->start();
    us.ours |= !is && code == 0;
    return code;
}

static int join(acu_comm *comm, char *text)
{
    int code = start_mpi(text);
    if (code == 0)
        code = us.mpi->join(&comm->handle, &comm->rank, &comm->ranks);
    comm->mpi_ranks = comm->ranks;
    if (code != 0)
        return code;
    comm->mpi = us.mpi;
    us.open++;
    pthread_mutex_lock(&us.lock);
    comm->next = us.comms; /* the job's reference goes to the list */
    us.comms = acui_object_retain(comm);
    pthread_mutex_unlock(&us.lock);
    return 0;
}

static int tell_all(acu_comm *comm, char *text)
{
    (void)text;
    uintptr_t request = 0;
    int64_t *mine = comm->told, *all = mine + comm->told_each;
    bool over = false, idle;
    int code = us.mpi->exchange(comm->handle, mine, all, comm->told_each, &request);
    acui_nap nap = acui_nap_start(ACU_FOREVER);
    while (code == 0 && !over) {
        code = us.mpi->test(&request, &over);
        turn(&idle); /* others go on meanwhile */
        acui_nap_again(&nap);
    }
    return code;
}

/* What was posted before is finished first, unless that may never be: then for a moment only. */
static void finish(acu_comm *comm)
{
    uint64_t moment = acui_deadline(ACU_MS(50));
    acui_nap nap = acui_nap_start(ACU_FOREVER);
    while ((comm->posted || first_of(comm)) && !(comm->retired && acui_now() > moment)) {
        bool idle;
        if (turn(&idle))
            nap = acui_nap_start(ACU_FOREVER);
        else
            acui_nap_again(&nap);
    }
}

static int leave(acu_comm *comm, char *text)
{
    (void)text;
    finish(comm);
    pthread_mutex_lock(&us.lock);
    acu_comm **link = &us.comms;
    while (*link != comm)
        link = &(*link)->next;
    *link = comm->next;
    pthread_mutex_unlock(&us.lock);
    us.open--;
    if (comm->posted || first_of(comm)) /* its memory stays, and so does the communicator */
        return 0;
    int code = comm->retired ? 0 : us.mpi->leave(&comm->handle);
    acui_comm_drop(comm);
    if (us.open == 0 && us.ours && code == 0)
        code = us.mpi->end();
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
    return do_and_wait(comm, leave, timeout, "closing");
}
