/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Groups. A member is a notice on its future, which whoever completes that one delivers at once: so
 * a failure gives up the other members without waiting for one of acuda's threads.
 *
 * The group's lock is a leaf, which may be taken under a future's: futures are looked at, cancelled
 * and resolved without it. A member that is not over holds a reference to the group.
 */
#include "engine/completion/group.h"

#include "base/alloc.h"
#include "base/callback.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "engine/completion/complete.h"
#include "base/done.h"
#include "engine/completion/queue.h"
#include "engine/flight/flight.h"
#include "engine/order/order.h"

#include <stdio.h>

struct members;

typedef struct member {
    acui_notice notice; /* first: a notice of a group is a member */
    struct member *next, **link;
    struct members *list; /* the one that it is in */
} member;

typedef struct members {
    member *first, **end;
} members;

struct acu_group {
    acui_object object;
    size_t limit;
    bool collect, keep_going;
    pthread_mutex_t lock;
    size_t pending, collected; /* not over (reserved places included); over and not taken */
    size_t given_up;           /* how many were over as CANCELLED, by whomever */
    bool closed;               /* it takes no more members */
    bool cancelled;            /* ... and the members that it has are given up */
    acui_fault *fault;         /* of the first member that failed; NULL: none has */
    members active, seen; /* not over; while members are being given up: not asked yet, and asked */
    members over;
    acu_future *last; /* of acu_group_finish; kept; NULL: none, or it is complete. The program may
                       * have cancelled it */
};

/* ---- lists; lock held ---- */

static void start_list(members *list)
{
    list->first = NULL;
    list->end = &list->first;
}

static void put(members *list, member *m)
{
    m->next = NULL;
    m->list = list;
    m->link = list->end;
    *list->end = m;
    list->end = &m->next;
}

static void take_out(member *m)
{
    *m->link = m->next;
    if (m->next)
        m->next->link = m->link;
    else
        m->list->end = m->link;
}

/* Move all of `from` behind `to`. */
static void append(members *to, members *from)
{
    while (from->first) {
        member *m = from->first;
        take_out(m);
        put(to, m);
    }
}

/* ---- life ---- */

acu_status acu_group_create(const acu_group_options *options, acu_group **group)
{
    ACUI_REFUSE_FORK();
    acu_group_options known;
    ACUI_TRY(acui_options_read(&known, sizeof known, options, __func__));
    if (!group)
        return acui_fail(ACU_ERR_INVALID, "acu_group_create: nowhere to put the group");
    acu_group *g = acui_object_new(ACU_OBJECT_GROUP, sizeof *g);
    if (!g)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a group");
    pthread_mutex_init(&g->lock, NULL);
    g->limit = known.limit;
    g->collect = known.collect;
    g->keep_going = known.keep_going;
    start_list(&g->active);
    start_list(&g->seen);
    start_list(&g->over);
    *group = g;
    return ACU_OK;
}

acu_group *acu_group_retain(acu_group *group)
{
    if (acui_object_is(group, ACU_OBJECT_GROUP))
        acui_object_retain(group);
    return group;
}

static void group_put(acu_group *group)
{
    if (!acui_object_drop(group))
        return;
    while (group->over.first) {
        member *m = group->over.first;
        group->over.first = m->next;
        acui_notice_free(&m->notice);
    }
    acui_fault_release(group->fault);
    pthread_mutex_destroy(&group->lock);
    acui_object_free(group);
}

void acu_group_release(acu_group *group)
{
    if (acui_object_is(group, ACU_OBJECT_GROUP))
        group_put(group);
}

/* ---- giving members up ---- */

/* The next member to be asked, its future kept; NULL: all were asked. `all` as in give_up; it
 * becomes true for every thread that asks once the group is cancelled, since a member that one
 * thread asks then is not asked by the thread that cancels. */
static acu_future *next_active(acu_group *group, bool *all)
{
    pthread_mutex_lock(&group->lock);
    *all |= group->cancelled;
    member *m = group->active.first;
    acu_future *future = m ? acui_future_keep(m->notice.future) : NULL;
    if (m) {
        take_out(m);
        put(&group->seen, m);
    }
    pthread_mutex_unlock(&group->lock);
    return future;
}

/* Give up members that are held up; `all`: also those that are wholly on the device. Completing one
 * comes back here, by way of acui_group_done, but only the first failure begins this. */
static void give_up(acu_group *group, bool all, const char *message)
{
    acu_future *future;
    while ((future = next_active(group, &all))) {
        if (all || acui_future_is_held_up(future))
            acui_future_end(future, ACU_ERR_CANCELLED, message);
        acui_future_put(future);
    }
}

/* The message for members that are given up because of the first failure, which stays for good. */
static void tell_failure(const acu_group *group, char message[ACU_ERROR_MESSAGE])
{
    char first[ACU_ERROR_MESSAGE];
    acu_error_describe(&group->fault->error, first, sizeof first);
    static const char words[] = "another member of its group failed: ";
    snprintf(message, ACU_ERROR_MESSAGE, "%s%.*s", words, (int)(ACU_ERROR_MESSAGE - sizeof words),
             first);
}

static void give_up_for_failure(const acu_group *group, acu_future *future)
{
    char message[ACU_ERROR_MESSAGE];
    tell_failure(group, message);
    acui_future_end(future, ACU_ERR_CANCELLED, message);
}

static void give_up_rest(acu_group *group)
{
    char message[ACU_ERROR_MESSAGE];
    tell_failure(group, message);
    give_up(group, false, message);
}

static void give_up_all(acu_group *group, const char *message)
{
    pthread_mutex_lock(&group->lock);
    group->closed = group->cancelled = true;
    append(&group->active, &group->seen);
    pthread_mutex_unlock(&group->lock);
    give_up(group, true, message);
}

/* Whether the group gives up this member too, which fails because something before it was not done:
 * mostly that is a member that was given up first. The fault says where it was. */
static bool gives_up(acu_group *group, acu_error *error)
{
    pthread_mutex_lock(&group->lock);
    bool cancelled = group->cancelled, failed = group->fault && !group->keep_going;
    pthread_mutex_unlock(&group->lock);
    error->status = ACU_ERR_CANCELLED;
    if (cancelled)
        snprintf(error->message, sizeof error->message, "its group was cancelled");
    else if (failed)
        tell_failure(group, error->message);
    return cancelled || failed;
}

acui_fault *acui_group_outcome(const acui_notice *notices, acu_status *status, acui_fault *fault)
{
    acu_error error = fault->error;
    for (; notices; notices = notices->next) {
        if (!notices->group || !gives_up(notices->group, &error))
            continue;
        *status = ACU_ERR_CANCELLED;
        return acui_fault_new(&error);
    }
    return acui_fault_retain(fault);
}

/* ---- members ---- */

/* Lock held. */
static acu_status check_open(const acu_group *group, const char *function)
{
    if (group->fault && !group->keep_going)
        return acui_fail(ACU_ERR_CANCELLED, "%s: the group failed: %s", function,
                         group->fault->error.message);
    if (group->closed)
        return acui_fail(ACU_ERR_CANCELLED, "%s: the group %s, and takes no more members",
                         function, group->cancelled ? "was cancelled" : "was drained or finished");
    if (group->limit && group->pending + group->collected >= group->limit)
        return acui_fail(ACU_ERR_FULL,
                         "%s: the group has as many members as its limit allows, %zu: "
                         "take or wait for some first",
                         function, group->limit);
    return ACU_OK;
}

/* A place in the group, and a member that has no future yet. */
static acu_status reserve(acu_group *group, const char *function, member **out)
{
    member *m = ACUI_NEW(member);
    if (!m)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a member of a group");
    pthread_mutex_lock(&group->lock);
    acu_status status = check_open(group, function);
    group->pending += status == ACU_OK;
    pthread_mutex_unlock(&group->lock);
    if (status != ACU_OK) {
        acui_free(m);
        return status;
    }
    m->notice.group = acui_object_retain(group);
    *out = m;
    return ACU_OK;
}

/* The future of acu_group_finish, if there is one and no member is left; lock held. */
static acu_future *take_last(acu_group *group)
{
    acu_future *last = group->pending == 0 && group->closed ? group->last : NULL;
    if (last)
        group->last = NULL;
    return last;
}

/* The group is over: its outcome does not change any more. */
static void finish(acu_group *group, acu_future *last)
{
    if (!last)
        return;
    acui_resolve(last, acui_fault_status(group->fault), group->fault);
    acui_future_put(last);
}

static void unreserve(acu_group *group, member *m)
{
    pthread_mutex_lock(&group->lock);
    group->pending--;
    acu_future *last = take_last(group);
    pthread_mutex_unlock(&group->lock);
    finish(group, last);
    acui_free(m);
    group_put(group);
    acui_done_announce(); /* a thread that waits for the group may have seen the place taken */
}

/* `future`: a handle, which is taken. */
static void begin(acu_group *group, member *m, acu_future *future)
{
    m->notice.future = future;
    acui_future_keep(future);
    pthread_mutex_lock(&group->lock);
    put(&group->active, m);
    /* Whoever made the group fail, or cancelled it, meanwhile has not seen this member. */
    bool all = group->cancelled, failed = group->fault && !group->keep_going;
    pthread_mutex_unlock(&group->lock);
    acui_object_retain(group);
    acui_future_add(future, &m->notice);
    if (all)
        acui_future_end(future, ACU_ERR_CANCELLED, "its group was cancelled");
    else if (failed && acui_future_is_held_up(future))
        give_up_for_failure(group, future);
    group_put(group);
    acui_future_put(future);
}

acu_status acu_group_submit(acu_group *group, acu_device *device, acu_op *op,
                            const acu_submit_options *options, acu_future **future)
{
    member *m = NULL;
    acu_future *f = NULL;
    acu_status status = acui_object_check(group, ACU_OBJECT_GROUP, __func__);
    if (status == ACU_OK)
        status = reserve(group, __func__, &m);
    if (status != ACU_OK) {
        if (status != ACU_ERR_FULL)
            acu_op_release(op);
        return status;
    }
    status = acui_submit_public(device, op, options, future || group->collect ? 0 : ACUI_UNWANTED,
                                __func__, &f);
    if (status != ACU_OK) {
        unreserve(group, m);
        return status;
    }
    if (future)
        *future = acu_future_retain(f);
    begin(group, m, f);
    return ACU_OK;
}

acu_status acu_group_add(acu_group *group, acu_future *future)
{
    member *m = NULL;
    ACUI_CHECK(group, GROUP);
    ACUI_CHECK(future, FUTURE);
    ACUI_TRY(acui_future_may_begin(future));
    ACUI_TRY(acui_reactor_start());
    ACUI_TRY(reserve(group, __func__, &m));
    begin(group, m, acu_future_retain(future));
    return ACU_OK;
}

/* Lock held. True: this failure makes the group give up the others. */
static bool note_failure(acu_group *group, const acu_future *future)
{
    if (future->status == ACU_OK || future->status == ACU_ERR_CANCELLED || group->fault)
        return false;
    group->fault = acui_fault_retain(future->fault);
    return !group->keep_going;
}

void acui_group_done(acui_notice *notice)
{
    member *m = (member *)notice; /* once it is collected, another thread may take it */
    acu_group *group = notice->group;
    bool collect = group->collect;
    pthread_mutex_lock(&group->lock);
    take_out(m);
    bool first = note_failure(group, notice->future);
    group->pending--;
    group->given_up += notice->future->status == ACU_ERR_CANCELLED;
    if (collect) {
        put(&group->over, m);
        group->collected++;
    }
    acu_future *last = take_last(group);
    pthread_mutex_unlock(&group->lock);
    if (first)
        give_up_rest(group);
    finish(group, last);
    if (!collect)
        acui_notice_free(notice);
    group_put(group);
}

/* ---- looking ---- */

size_t acu_group_pending(acu_group *group)
{
    if (!acui_object_is(group, ACU_OBJECT_GROUP))
        return 0;
    pthread_mutex_lock(&group->lock);
    size_t pending = group->pending;
    pthread_mutex_unlock(&group->lock);
    return pending;
}

acu_status acu_group_error(acu_group *group, acu_error *error)
{
    ACUI_CHECK(group, GROUP);
    pthread_mutex_lock(&group->lock);
    const acui_fault *fault = group->fault; /* stays for good */
    pthread_mutex_unlock(&group->lock);
    if (fault && error)
        *error = fault->error;
    return acui_fault_status(fault);
}

/* The outcome so far; the thread's record too. */
static acu_status outcome(acu_group *group)
{
    acu_error error;
    acu_status status = acu_group_error(group, &error);
    return status == ACU_OK ? ACU_OK : acui_error_restore(&error);
}

static acu_status look_all(void *context, uint64_t now)
{
    (void)now;
    acu_group *group = context;
    if (acu_group_pending(group))
        acui_look_everywhere();
    return acu_group_pending(group) ? ACU_NOT_READY : ACU_OK;
}

/* Waits, and keeps the group for the caller to put: another thread may release it meanwhile. */
static acu_status wait_for(acu_group *group, acui_look_fn look, void *context, uint64_t timeout)
{
    acui_object_retain(group);
    return acui_wait_until(look, acui_next_of_futures, context, timeout);
}

acu_status acu_group_wait(acu_group *group, uint64_t timeout)
{
    ACUI_CHECK(group, GROUP);
    ACUI_TRY(acui_refuse_wait(__func__));
    acu_status status = wait_for(group, look_all, group, timeout);
    if (status == ACU_OK)
        status = outcome(group);
    group_put(group);
    return status;
}

/* ---- one after the other ---- */

static acu_status take(acu_group *group, const char *function, acu_future **future)
{
    pthread_mutex_lock(&group->lock);
    member *m = group->over.first;
    size_t pending = group->pending;
    if (m) {
        take_out(m);
        group->collected--;
    }
    pthread_mutex_unlock(&group->lock);
    if (!m && pending)
        return ACU_NOT_READY;
    if (!m)
        return acui_fail(ACU_ERR_NOT_FOUND, "%s: the group has no members", function);
    *future = m->notice.future;
    m->notice.future = NULL;
    acui_notice_free(&m->notice);
    return ACU_OK;
}

static acu_status check_take(acu_group *group, acu_future **future, const char *function)
{
    ACUI_TRY(acui_object_check(group, ACU_OBJECT_GROUP, function));
    if (!future)
        return acui_fail(ACU_ERR_INVALID, "%s: nowhere to put the future", function);
    if (!group->collect)
        return acui_fail(ACU_ERR_INVALID, "%s: the group was made without `collect`", function);
    return ACU_OK;
}

acu_status acu_group_take(acu_group *group, acu_future **future)
{
    ACUI_TRY(check_take(group, future, __func__));
    acu_status status = take(group, __func__, future);
    if (status != ACU_NOT_READY)
        return status;
    acui_look_everywhere();
    return take(group, __func__, future);
}

typedef struct taking {
    acu_group *group;
    acu_future **future;
} taking;

static acu_status look_any(void *context, uint64_t now)
{
    (void)now;
    taking *t = context;
    acu_status status = take(t->group, "acu_group_wait_any", t->future);
    if (status == ACU_NOT_READY)
        acui_look_everywhere();
    return status == ACU_NOT_READY ? take(t->group, "acu_group_wait_any", t->future) : status;
}

acu_status acu_group_wait_any(acu_group *group, uint64_t timeout, acu_future **future)
{
    ACUI_TRY(check_take(group, future, __func__));
    ACUI_TRY(acui_refuse_wait(__func__));
    taking t = {.group = group, .future = future};
    acu_status status = wait_for(group, look_any, &t, timeout);
    group_put(group);
    return status;
}

/* ---- ending ---- */

acu_status acu_group_cancel(acu_group *group)
{
    ACUI_CHECK(group, GROUP);
    give_up_all(group, "the program cancelled the group");
    return ACU_OK;
}

static void close_group(acu_group *group)
{
    pthread_mutex_lock(&group->lock);
    group->closed = true;
    pthread_mutex_unlock(&group->lock);
}

static size_t count_given_up(acu_group *group)
{
    pthread_mutex_lock(&group->lock);
    size_t count = group->given_up;
    pthread_mutex_unlock(&group->lock);
    return count;
}

acu_status acu_group_drain(acu_group *group, uint64_t timeout)
{
    ACUI_CHECK(group, GROUP);
    ACUI_TRY(acui_refuse_wait(__func__));
    close_group(group);
    acu_status status = wait_for(group, look_all, group, timeout);
    if (status == ACU_TIMEOUT) {
        size_t before = count_given_up(group);
        give_up_all(group, "its group was drained, and it was not complete in time");
        /* Other threads may be about to tell the group. */
        acui_wait_until(look_all, acui_next_of_futures, group, ACU_FOREVER);
        if (count_given_up(group) == before)
            status = ACU_OK; /* the rest was over by itself since the last look */
    }
    acu_status failure = outcome(group);
    group_put(group);
    return failure == ACU_OK ? status : failure;
}

acu_status acu_group_finish(acu_group *group, acu_future **future)
{
    ACUI_CHECK(group, GROUP);
    if (!future)
        return acui_fail(ACU_ERR_INVALID, "acu_group_finish: nowhere to put the future");
    acu_future *f = NULL, *cancelled = NULL;
    ACUI_TRY(acui_future_new(&f));
    pthread_mutex_lock(&group->lock);
    bool begun = group->last && acui_future_state_of(group->last) != ACUI_FUTURE_DONE;
    group->closed = true;
    if (!begun) {
        cancelled = group->last; /* by the program; NULL: there was none */
        group->last = acui_future_keep(f);
    }
    acu_future *same = begun ? acu_future_retain(group->last) : f;
    acu_future *last = take_last(group);
    pthread_mutex_unlock(&group->lock);
    finish(group, last);
    acui_future_put(cancelled);
    if (begun)
        acu_future_release(f);
    *future = same;
    return ACU_OK;
}
