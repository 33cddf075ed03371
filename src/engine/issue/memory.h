/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Memory of a task: obtained before anything of it goes to the device, all or none; given back, in
 * stream order, as soon as everything that uses it is issued.
 *
 * A task that finds none is put off: it waits in a list, and is tried again when something
 * completes; first come, first served for each pool, so that small requests do not starve large
 * ones. It holds no memory meanwhile, so two such tasks can not wait for one another. It fails once
 * nothing is left on its device whose end could free memory.
 *
 * Two counts tell whether something is left. A task counts as going from when it is issued, or
 * begins on the host, until it is over. And it counts as getting while it may have memory without
 * going yet, because others may have found none for that reason: from before it asks for any until
 * it is going, or has given its memory back and told those that wait. Two more count as getting:
 *   - whoever keeps a part of a task's memory a moment longer (holder.c);
 *   - a task that is ready after an earlier one of its submission may have got memory, which comes
 *     free only when this one is over: it is expected. It may have to be admitted first (admit.c),
 *     so a task that is put off leaves its gates to others.
 *
 * A task that was put off asks again under the lock `again`, and counts as getting only once it has
 * everything. Otherwise tasks that ask in vain would keep each other waiting, in turns and for
 * ever. So whatever a task waits for is a task that has everything, and will be over; or one that
 * asks for the first time, which each does once. A request that can never be met is alone under the
 * lock in the end. It fails if, from before nothing was going until after it had asked in vain, no
 * task began and none gave up (`events`).
 *
 * So each task is in one state, which whoever has the task changes:
 *
 *   from                  to        when
 *   NONE                  GETTING   it is ready, and expected; or it asks for the first time
 *   GETTING               SUPPLIED  it has found everything
 *   GETTING               NONE      it has found too little, or can not be issued
 *   NONE                  PUT_OFF   it is to wait: it has asked, or others wait before it
 *   PUT_OFF               LAST      it is taken off the list, while nothing is going
 *   LAST                  PUT_OFF   it has asked in vain, but something began or gave up meanwhile
 *   PUT_OFF, LAST         SUPPLIED  it has asked again, and found everything
 *   NONE, PUT_OFF, LAST   GETTING   it was expected, and will never be issued: until it is over
 *   NONE, GETTING         GOING     it needs no memory, and is issued or begins on the host
 *   SUPPLIED              GOING     it is issued; or will never be, but is over only in its turn
 *
 * Two facts outlast the states. `expected` decides what a task counts as that has failed. And if it
 * was put off (`short_of`), others stand behind it in a line, and one of them is tried when it has
 * its memory, has failed, or goes to wait in another line.
 */
#ifndef ACUI_ENGINE_MEMORY_H
#define ACUI_ENGINE_MEMORY_H

#include "engine/upward.h"

typedef enum acui_memory_state {
    ACUI_MEMORY_NONE,     /* it has none, and counts as nothing */
    ACUI_MEMORY_GETTING,  /* it has none, and counts as getting some */
    ACUI_MEMORY_PUT_OFF,  /* it is in the list, or asks again; it counts as nothing */
    ACUI_MEMORY_LAST,     /* it asks again, for the last time; it counts as nothing */
    ACUI_MEMORY_SUPPLIED, /* it has all it needs, and counts as getting */
    ACUI_MEMORY_GOING,    /* the same, or it needs none; it counts as going */
} acui_memory_state;

/* ---- memory.c ---- */
/* Get memory for everything that the task allocates, or for none of it: then returns the node that
 * got none, with the record set. The stream's issue lock is held and the device entered; `holder`
 * is that entry's. Afterwards the task is issued, or calls quit or fail. */
acui_node *acui_memory_get(acui_task *task, struct acui_holder *holder);
/* The task got no memory, or is not issued; returns tasks that may go on. No lock is held. */
acui_task *acui_memory_quit(acui_task *task);
acui_task *acui_memory_fail(acui_task *task); /* the same for a task that will never be issued */
/* What counted as getting in `holder` is over, or does not count any more. Returns tasks that may
 * go on. */
acui_task *acui_memory_over(struct acui_holder *holder);
/* Whether it is worth waiting for the memory that the node did not get. */
bool acui_memory_may_wait(acui_task *task, const acui_node *node);
/* Leave the task waiting for the memory that the node did not get; returns tasks to be run instead,
 * perhaps itself. No lock is held. */
acui_task *acui_memory_wait(acui_task *task, const acui_node *node);
/* The task is issued or has failed; if it was put off before, returns those whose turn is next. */
acui_task *acui_memory_next(acui_task *task);
void acui_memory_going(acui_task *task); /* it is issued, or begins on the host; order lock held */
acui_task *acui_memory_freed(void); /* a going task is over, and counted so; tasks that may go on */
/* The task is issued: returns the uses of pool memory that the submission does not need any more,
 * as a list. Order lock held. */
acui_use *acui_memory_issued(acui_task *task);
void acui_memory_return(acui_use *uses); /* give these back; order lock not held */

/* ---- holder.c ---- */
/* Somebody else, too, has memory of a task that is getting its own, and will soon let go of it:
 * keep counts this; let_go ends it, without any lock held, and returns tasks that may go on. */
struct acui_holder *acui_memory_keep(acu_device *device);
acui_task *acui_memory_let_go(acu_device *device, struct acui_holder *holder);
/* This thread is about to plan the submission. */
void acui_memory_plan(acui_submission *submission);
/* It has planned it and is about to let go of it: returns what to pass to acui_memory_let_go then,
 * with the device `memory.device`, or NULL if there is nothing to do. Only for a submission that
 * makes memory. */
struct acui_holder *acui_memory_planned(acui_submission *submission);
/* The task, which has its memory, is going: it no longer counts in `holder`, unless the thread that
 * plans is to end that count. Order lock held. */
void acui_memory_hand_over(acui_task *task, struct acui_holder *holder);

/* What counted as getting is over. seq_cst, against `waiting` in memory.c: a task that goes to wait
 * raises `waiting` and then loads the counts; this thread ends its count and then loads `waiting`.
 * Either that task sees that this one no longer counts, and what it counts as now; or this one, or
 * its task when it is over, sees that task wait. */
static inline void acui_memory_end_getting(struct acui_holder *holder)
{
    atomic_fetch_sub_explicit(&holder->getting, 1, memory_order_seq_cst);
}

#endif
