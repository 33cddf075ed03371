/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The calls that close the circle. Includes go one way through the engine's rooms (engine.h), but
 * what a submission does goes round: the end of one task makes another one ready, whose issue leads
 * to another end. These are all the calls from a room to one that stands to its right; the first
 * comment of each group says which file has them.
 */
#ifndef ACUI_ENGINE_UPWARD_H
#define ACUI_ENGINE_UPWARD_H

#include "engine/engine.h"

/* ---- completion/ready.c ---- */
/* Run tasks whose turn has come, and whatever becomes ready by this. */
void acui_run_tasks(acui_task *ready);
/* Run up to `most` of the tasks, and of those that become ready by this, but only tasks that call
 * no function of the program's: the others are returned. What is left stays in the list. */
acui_task *acui_run_plain(acui_task **ready, uint32_t most);

/* ---- completion/complete.c ---- */
/* The task is over; returns the tasks that this frees. */
acui_task *acui_task_over(acui_task *task);
/* Look at what the stream has finished, and complete it. The caller holds the stream and its
 * device. `now`: the time, or a little before; 0: the clock is read. */
void acui_harvest(acu_stream *stream, uint64_t now);

/* ---- completion/reactor.c ---- */
acu_status acui_reactor_start(void); /* if it is not running */
/* Start the thread, unless it runs, because something was just put in one of its lists: that thread
 * goes through it, or whoever ends the thread does. Flight lock held. If no thread can be started,
 * the entry waits for a thread that looks by itself. */
void acui_reactor_call(void);

/* ---- issue/memory.c ---- */
/* The task is ready, and its submission may have memory already: it is expected. */
void acui_memory_expect(acui_task *task);

/* ---- submit/schedule.c ---- */
acu_status acui_future_begin(acu_future *future); /* start it, if it is only scheduled */
acu_status acui_future_may_begin(const acu_future *future); /* IN_CALLBACK: not here */

/* ---- submit/submit.c ---- */
/* acu_submit, which leaves the op to the program after FULL, with what is known about the future:
 * `how`, ORed. `function` is what the program called. */
enum {
    ACUI_UNWANTED = 1, /* nobody will ask it for values */
    ACUI_WAITED = 2    /* this thread waits for it at once */
};
acu_status acui_submit_public(acu_device *device, acu_op *op, const acu_submit_options *given,
                              unsigned how, const char *function, acu_future **future);

/* ---- submit/runtime.c ---- */
/* Wait until the future's submission is planned; returns at once if it was not handed over. Fails
 * with IN_CALLBACK in a callback. */
acu_status acui_runtime_planned(acu_future *future);
/* Wait until all that was handed over so far is planned, and issued or in a queue. Blocks. */
acu_status acui_runtime_settle(uint64_t timeout);
bool acui_runtime_busy(void); /* a thread runs, or has something to do */
void acui_runtime_stop(void); /* finishes what there is; blocks until the threads are gone */

#endif
