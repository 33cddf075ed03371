/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Memory that somebody keeps a moment longer than the task that has it, and that counts as getting
 * for so long: see memory.h. The thread that makes graphs does so (build.c), and the thread that
 * plans a submission, whose plan it has until everything is entered.
 *
 * For that thread, `memory.holder` of the submission says who ends the count of a task that is
 * going:
 *
 *   NULL        the task itself: the thread is done, or nobody plans (a use)
 *   `planning`  nobody has come to it yet
 *   a holder    that thread: a task has left its count there for it
 *
 *   from        to         by
 *   NULL        planning   acui_memory_plan, before anything is planned
 *   planning    a holder   the first task with memory that is going (order lock); later ones end
 *                          their own counts, since one is enough
 *   planning    NULL       acui_memory_planned, if no such task came before
 *
 * A holder stays there: acui_memory_planned finds it once.
 */
#include "engine/flight/flight.h"
#include "engine/issue/memory.h"
#include "engine/order/order.h"

static struct acui_holder planning;

struct acui_holder *acui_memory_keep(acu_device *device)
{
    struct acui_holder *holder = &device->holders[ACUI_HOLDERS - 1]; /* not of one thread */
    atomic_fetch_add_explicit(&holder->getting, 1, memory_order_relaxed);
    return holder;
}

acui_task *acui_memory_let_go(acu_device *device, struct acui_holder *holder)
{
    acui_memory_end_getting(holder);
    /* What is going is over later, and then sees the tasks that wait. */
    return !acui_memory_is_short() || acui_work_on(device) >= ACUI_GOING ? NULL
                                                                         : acui_memory_freed();
}

/* ---- by the thread that plans ---- */

void acui_memory_plan(acui_submission *submission)
{
    atomic_store_explicit(&submission->memory.holder, &planning, memory_order_relaxed);
}

struct acui_holder *acui_memory_planned(acui_submission *submission)
{
    /* Acquire: for `memory.device`. */
    struct acui_holder *kept =
        atomic_load_explicit(&submission->memory.holder, memory_order_acquire);
    if (kept == &planning)
        kept = atomic_exchange_explicit(&submission->memory.holder, NULL, memory_order_acquire);
    return kept == &planning ? NULL : kept;
}

void acui_memory_hand_over(acui_task *task, struct acui_holder *holder)
{
    acui_submission *s = task->submission;
    struct acui_holder *seen = &planning;
    if (atomic_load_explicit(&s->memory.holder, memory_order_relaxed) == seen) {
        s->memory.device = task->device;
        if (acui_is_planning(s)) { /* this thread is the one that plans */
            atomic_store_explicit(&s->memory.holder, holder, memory_order_relaxed);
            return;
        }
        struct acui_holder *kept = acui_memory_keep(task->device);
        if (!atomic_compare_exchange_strong_explicit(&s->memory.holder, &seen, kept,
                                                     memory_order_release, memory_order_relaxed))
            acui_memory_end_getting(kept); /* planning is done: nobody ends it */
    }
    acui_memory_end_getting(holder);
}
