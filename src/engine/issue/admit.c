/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Bounded work in flight: a task that is ready to be issued first passes two gates, its stream's
 * and then its device's, or waits on the host until another one leaves. Called when a task is ready
 * (ready.c) and when it is over (complete.c).
 *
 * The stream's gate keeps the driver's queue for the stream from filling up: enqueuing would block
 * then, with the driver's locks held. The device's gate is the program's own bound (max_in_flight).
 *
 * A task waits here only if its predecessors are all on the device, and it is inside a gate only
 * while the device works on it (one that finds no memory steps out). So somebody always leaves, and
 * waiting ends.
 */
#include "base/error.h"
#include "engine/flight/flight.h"
#include "engine/issue/issue.h"
#include "engine/order/order.h"

enum { OUTSIDE, STREAM, INSIDE }; /* task->gates.passed */

/* One lock for all lists of waiting tasks: waiting is rare. A leaf. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Take a place, if there is one. seq_cst: a task that finds none raises `waiting` and then looks
 * for a place again (wait_at); one that leaves lowers `used` and then loads `waiting`. One of the
 * two sees the other. */
static bool take_slot(acui_gate *gate)
{
    uint32_t used = atomic_load_explicit(&gate->used, memory_order_seq_cst);
    while (used < gate->limit)
        if (atomic_compare_exchange_weak_explicit(&gate->used, &used, used + 1,
                                                  memory_order_seq_cst, memory_order_seq_cst))
            return true;
    return false;
}

static bool enter_at_once(acui_gate *gate)
{
    return atomic_load_explicit(&gate->waiting, memory_order_seq_cst) == 0 && take_slot(gate);
}

/* From 0, the most urgent, to ACUI_URGENCIES - 1. */
static int urgency(const acui_task *task)
{
    int level = task->stream->priority - task->device->info.greatest_priority;
    return level < 0 ? 0 : level < ACUI_URGENCIES ? level : ACUI_URGENCIES - 1;
}

/* Behind those that are as urgent, or more so: there may be very many. Lock held. */
static void put_in_line(acui_gate *gate, acui_task *task)
{
    int own = urgency(task), level = own;
    while (level >= 0 && !gate->last[level])
        level--;
    acui_task **link = level < 0 ? &gate->first : &gate->last[level]->next_listed;
    task->next_listed = *link;
    *link = task;
    gate->last[own] = task;
}

/* Lock held; there is one. */
static acui_task *take_first(acui_gate *gate)
{
    acui_task *task = gate->first;
    int level = urgency(task);
    gate->first = task->next_listed;
    task->next_listed = NULL;
    if (gate->last[level] == task)
        gate->last[level] = NULL;
    return task;
}

/* Take tasks off the list while there is room for them, and return them. Lock held. */
static acui_task *let_in(acui_gate *gate)
{
    acui_task *list = NULL, **end = &list;
    while (gate->first && take_slot(gate)) {
        acui_task *task = take_first(gate);
        atomic_fetch_sub_explicit(&gate->waiting, 1, memory_order_seq_cst);
        task->gates.passed++;
        *end = task;
        end = &task->next_listed;
    }
    return list;
}

/* Tasks of more urgent streams first; else in order of arrival. */
static acui_task *wait_at(acui_gate *gate, acui_task *task)
{
    pthread_mutex_lock(&lock);
    atomic_fetch_add_explicit(&gate->waiting, 1, memory_order_seq_cst);
    put_in_line(gate, task);
    acui_task *list = let_in(gate); /* somebody may have left meanwhile */
    pthread_mutex_unlock(&lock);
    return list;
}

static acui_task *leave(acui_gate *gate, uint32_t places)
{
    atomic_fetch_sub_explicit(&gate->used, places, memory_order_seq_cst);
    if (atomic_load_explicit(&gate->waiting, memory_order_seq_cst) == 0)
        return NULL;
    pthread_mutex_lock(&lock);
    acui_task *list = let_in(gate);
    pthread_mutex_unlock(&lock);
    return list;
}

static acui_gate *next_gate(const acui_task *task)
{
    return task->gates.passed == OUTSIDE ? &task->stream->engine.gate : &task->device->engine->gate;
}

bool acui_admit(acui_task *task, acui_task **others)
{
    *others = NULL;
    while (task->gates.passed < INSIDE) {
        acui_gate *gate = next_gate(task);
        if (gate->limit == 0 || enter_at_once(gate)) {
            task->gates.passed++;
            continue;
        }
        task->sound = false; /* it is to be asked again after the wait */
        *others = wait_at(gate, task); /* another thread may have it from here on */
        acui_flight_full();
        return false;
    }
    return true;
}

/* How many entries the run makes in the stream's queue itself; branches go to other streams. */
static uint32_t entries(const acui_run *run)
{
    return run->exec ? 1 : run->wide ? run->count / 4 + 1 : run->count;
}

void acui_charge(acui_task *task)
{
    uint32_t all = (uint32_t)(task->count - task->body_count + task->dependency_count);
    for (const acui_run *run = task->runs; run; run = run->next)
        all += entries(run);
    uint32_t more = all / 2; /* two to a place, with the signal; the first place it has already */
    task->gates.charged = more;
    /* Relaxed: nobody waits for there to be less room. */
    if (more)
        atomic_fetch_add_explicit(&task->stream->engine.gate.used, more, memory_order_relaxed);
}

acui_task *acui_leave_gates(acui_task *task)
{
    acui_task *list = NULL;
    if (task->gates.passed >= STREAM)
        list = leave(&task->stream->engine.gate, 1 + task->gates.charged);
    if (task->gates.passed < INSIDE || task->device->engine->gate.limit == 0)
        return list;
    return acui_join_tasks(list, leave(&task->device->engine->gate, 1));
}

acui_task *acui_step_out(acui_task *task)
{
    acui_task *list = acui_leave_gates(task);
    task->gates.passed = OUTSIDE;
    return list;
}

static bool has_room(acu_device *device, uint64_t more)
{
    uint64_t most = device->engine->gate.limit;
    return most == 0 || acui_in_flight(device) + more < most;
}

acu_status acui_check_room(acu_device *device, uint64_t more, bool look)
{
    if ((!device && !(device = acu_device_default())) || has_room(device, more))
        return ACU_OK;
    /* The device may have finished something since anybody looked. */
    if (look)
        acui_look_everywhere();
    else
        acui_flight_want_all();
    uint64_t now = acui_in_flight(device) + more;
    if (look && has_room(device, more))
        return ACU_OK;
    return acui_fail(ACU_ERR_FULL,
                     "%llu submissions, or pieces of such, are in flight on device %d, which was "
                     "opened for %u",
                     (unsigned long long)now, device->info.ordinal, device->engine->gate.limit);
}
