/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tasks that other threads of acuda's run. */
#ifndef ACUI_ENGINE_HOST_H
#define ACUI_ENGINE_HOST_H

#include "engine/engine.h"

/* ---- worker.c ---- */
acui_task *acui_host_run(acui_task *task); /* hand it over to the worker */
/* Its work, which was begun, is over. Returns what waited for it. */
acui_task *acui_host_over(acui_task *task);
/* Host work of acuda's own that may take long. The thread that submits it and waits for it does it
 * once its turn has come, instead of the worker. The op has this as its user data, and
 * acui_own_work_run as its function. */
struct acui_own_work {
    acu_status (*run)(void *data);
    void *data;
    _Atomic(acui_task *) task; /* set when its turn has come; release store, acquire load */
};
/* the op's function */
acu_status acui_own_work_run(void *own, const acu_val *values, size_t count);
void acui_own_work_look(acui_own_work *own); /* do the work, if its turn has come */
void acui_worker_stop(void); /* finishes what it has; blocks until the thread is gone */
bool acui_worker_busy(void); /* the thread exists */
/* Whether the task was given up before it began or while it runs. *fault: why (retained; NULL for
 * lack of memory). */
bool acui_host_is_stopped(acui_task *task, acui_fault **fault);

/* ---- async.c ---- */
/* Call the function of an acu_host_async. Returns what waited for the task, if that is over. */
acui_task *acui_async_run(acui_task *task);
/* acu_promise_end for work of acuda's own: the thread's record says why it failed. */
void acui_promise_end(acu_promise *done, acu_status status);

/* ---- aside.c ---- */
/* Work that blocks in the system, such as reading a file, for one of a few threads: the first
 * member of the user data of an acu_host_async, whose function is acui_aside_begin. */
typedef struct acui_aside acui_aside;
struct acui_aside {
    const char *name; /* of the op; static */
    /* The work, unless it was given up before. On failure it sets a record. */
    acu_status (*run)(acui_aside *job, const acu_val *values);
    acui_aside *next; /* of those that wait for a thread; like the rest, aside.c's */
    acu_promise *done;
    const acu_val *values; /* the op's, until it ends */
};
acu_status acui_aside_begin(void *job, acu_promise *done, const acu_val *values, size_t count);
void acui_aside_stop(void); /* joins the threads, once all of it is done */
bool acui_aside_busy(void); /* the threads exist */

/* ---- staging.c ---- */
acui_task *acui_stage_run(acui_task *task); /* hand it over to the helpers */
void acui_stage_stop(void);                 /* joins them */
bool acui_stage_busy(void);                 /* some exist */

#endif
