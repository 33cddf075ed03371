/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A group: src/engine/completion/group.c itself. It is cancelled while the failure of a member
 * gives up the others: each is ended, also those that are on the device, which a failure leaves
 * alone. A member that fails because another one was given up is given up like that one; one that
 * fails meanwhile for another reason makes the group fail. A group is drained, and its members are
 * over just when the time is: it was too late only if one of them was given up.
 */
#include "explore.h"

#include <string.h>

#ifndef GROUP_FILE
#define GROUP_FILE "../../src/engine/completion/group.c"
#endif
#include GROUP_FILE

enum { MEMBERS = 4 }; /* the first one fails */

static acu_group *group;
static acu_future futures[MEMBERS];
static member all[MEMBERS];
static _Atomic(uint32_t) ended[MEMBERS], told; /* `told`: how many the group knows of */
static bool held_up[MEMBERS];

/* ---- what it uses ---- */

acu_future *acui_future_keep(acu_future *future) { return future; }
void acui_future_put(acu_future *future) { (void)future; }
acu_future *acu_future_retain(acu_future *future) { return future; }
void acu_future_release(acu_future *future) { (void)future; }
void acui_notice_free(acui_notice *notice) { (void)notice; }
void acui_done_announce(void) {}
void acui_look_everywhere(void) {}
acu_status acui_reactor_start(void) { return ACU_OK; }
acu_status acui_future_may_begin(const acu_future *future) { return (void)future, ACU_OK; }
acu_status acui_future_new(acu_future **future) { return (void)future, ACU_ERR_NO_MEMORY; }
void acui_future_add(acu_future *future, acui_notice *notice) { (void)future, (void)notice; }

acui_future_state acui_resolve(acu_future *future, acu_status status, acui_fault *fault)
{
    (void)future, (void)status, (void)fault;
    return ACUI_FUTURE_RUNNING;
}

acu_status acui_submit_public(acu_device *device, acu_op *op, const acu_submit_options *options,
                              unsigned how, const char *function, acu_future **future)
{
    (void)device, (void)op, (void)options, (void)how, (void)function, (void)future;
    return ACU_ERR_NO_MEMORY;
}

uint64_t acui_next_of_futures(void *context, uint64_t now, uint64_t spin, uint64_t *start)
{
    (void)context, (void)spin, (void)start;
    return now;
}

acu_status acui_wait_until(acui_look_fn look, acui_next_fn next, void *context, uint64_t timeout)
{
    (void)next;
    for (;;) {
        uint32_t seen = told;
        acu_status status = look(context, 0);
        if (status != ACU_NOT_READY)
            return status;
        if (timeout != ACU_FOREVER)
            return ACU_TIMEOUT;
        explore_park(&told, seen);
    }
}

bool acui_future_is_held_up(acu_future *future)
{
    explore_point();
    return held_up[future - futures];
}

/* Only once, as for a future, whoever gives it up. */
static acui_fault faults[MEMBERS], behind = {.refs = 1};

static void end(int i, acu_status status)
{
    if (atomic_fetch_add(&ended[i], 1) > 0)
        return;
    faults[i] = (acui_fault){.refs = 99, .error.status = status};
    futures[i].fault = &faults[i];
    futures[i].status = status;
    acui_group_done(&all[i].notice);
    told++;
    explore_unpark(&told);
}

void acui_future_end(acu_future *future, acu_status status, const char *message)
{
    (void)message;
    end((int)(future - futures), status);
}

/* ---- the case ---- */

static void start(void)
{
    if (group) { /* what the members of a run that was cut short held goes with it */
        group->over.first = NULL;
        acui_object_free(group);
    }
    if (acu_group_create(NULL, &group) != ACU_OK)
        explore_fail("no group");
    memset(futures, 0, sizeof futures);
    memset(all, 0, sizeof all);
    told = 0;
    for (int i = 0; i < MEMBERS; i++) {
        ended[i] = 0;
        held_up[i] = i == 2;
        all[i].notice.future = &futures[i];
        all[i].notice.group = acui_object_retain(group);
        put(&group->active, &all[i]);
        group->pending++;
    }
}

static void fail(void) { end(0, ACU_ERR_CALLBACK); }

/* Member 1 needs what member 0 was to compute. */
static void fail_behind(void)
{
    acu_status status = ACU_ERR_DEPENDENCY;
    if (!ended[0])
        return;
    acui_fault_release(acui_group_outcome(&all[1].notice, &status, &behind));
    end(1, status);
}

/* Member 1 needs something else that was not done. */
static void fail_alone(void)
{
    acu_status status = ACU_ERR_DEPENDENCY;
    acui_fault_release(acui_group_outcome(&all[1].notice, &status, &behind));
    end(1, status);
}

static void cancel(void) { acu_group_cancel(group); }

static acu_status drained;

static void drain(void) { drained = acu_group_drain(group, ACU_MS(1)); }

static void succeed(void)
{
    for (int i = 0; i < MEMBERS; i++)
        end(i, ACU_OK);
}

static void all_ended(void)
{
    for (int i = 0; i < MEMBERS; i++)
        if (!ended[i])
            explore_fail("member %d was not given up", i);
    if (acu_group_pending(group))
        explore_fail("members are pending");
}

static void all_cancelled(void)
{
    all_ended();
    if (futures[1].status != ACU_ERR_CANCELLED || acu_group_error(group, NULL) != ACU_OK)
        explore_fail("a member failed that was behind one that was given up");
}

static void one_outcome(void)
{
    all_ended();
    acu_status status = futures[1].status;
    if (acu_group_error(group, NULL) != (status == ACU_ERR_CANCELLED ? ACU_OK : status))
        explore_fail("the group's outcome is not that of the member that failed");
}

static void drained_in_time_or_not(void)
{
    all_ended();
    bool given_up = false;
    for (int i = 0; i < MEMBERS; i++)
        given_up |= futures[i].status == ACU_ERR_CANCELLED;
    if (drained != (given_up ? ACU_TIMEOUT : ACU_OK))
        explore_fail("draining returns %d, and a member was%s given up", (int)drained,
                     given_up ? "" : " not");
}

int main(int argc, char **argv)
{
    static const explore_model models[] = {
        {.name = "one fails while all are cancelled", .start = start, .threads = {fail, cancel},
         .check = all_ended, .interruptions = 4, .delays = 0},
        {.name = "two cancel", .start = start, .threads = {fail, cancel, cancel},
         .check = all_ended, .interruptions = 2, .delays = 0},
        {.name = "one is behind another", .start = start, .threads = {cancel, fail_behind},
         .check = all_cancelled, .interruptions = 4, .delays = 0},
        {.name = "one fails by itself", .start = start, .threads = {cancel, fail_alone},
         .check = one_outcome, .interruptions = 4, .delays = 0},
        {.name = "the rest is over as the time is", .start = start, .threads = {drain, succeed},
         .check = drained_in_time_or_not, .interruptions = 3, .delays = 0},
    };
    return explore_all(models, sizeof models / sizeof *models, argc, argv);
}
