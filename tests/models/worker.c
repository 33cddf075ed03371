/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The worker: src/engine/host/worker.c itself, while the last close ends it. What was handed over
 * is run, once, also what comes when the thread has left its loop; and there are never two threads.
 * One task is among those that go first, the other is not.
 */
#include "one_thread.h"

#include <string.h>

#include "engine/completion/complete.h"
#include "engine/host/host.h"
#include "engine/order/order.h"
#include "engine/report/report.h"

#define acui_order_lock(homes) ((void)(homes))
#define acui_order_unlock(homes) ((void)(homes))

#ifndef WORKER_FILE
#define WORKER_FILE "../../src/engine/host/worker.c"
#endif
#include WORKER_FILE

enum { TASKS = 2 };

static acui_submission submission;
static acu_op ops[TASKS];
static acui_node nodes[TASKS];
static acui_child cleanup = {.kind = ACUI_CHILD_FINALLY}, inner = {.last = &cleanup};
static acui_task tasks[TASKS];
static int ran[TASKS];
static _Atomic(uint32_t) given;

/* ---- what it uses ---- */

void acui_run_tasks(acui_task *task) { (void)task; }
void acui_memory_going(acui_task *task) { (void)task; }
void acui_count_operations(const acui_task *task, bool done) { (void)task, (void)done; }
void acui_done_announce(void) {}
void acui_record_issue(const acui_task *task)
{
    (void)task;
}
acu_status acui_reactor_start(void) { return ACU_OK; }
void acui_task_fail(acui_task *task, acui_fault *fault) { (void)task, (void)fault; }
void acui_turn_comes(const acui_task *task) { (void)task; }
acui_task *acui_retire(acui_task *task) { return task; }
acui_task *acui_async_run(acui_task *task) { return task; } /* there is no such task */
acui_fault *acui_fault_of_node(const acui_node *node) { return (void)node, NULL; }
bool acui_task_is_stopped(acui_task *task, acui_fault **why)
{
    (void)why;
    return task == NULL;
}
bool acui_rescue_wanted(const acu_op *op, const acui_fault *fault)
{
    (void)fault;
    return op != NULL;
}

acui_task *acui_task_over(acui_task *task)
{
    ran[task - tasks]++;
    return NULL;
}

static acu_status do_nothing(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    explore_point();
    return ACU_OK;
}

/* ---- the case ---- */

static void start(void)
{
    worker.ends = worker.rest = (line){.first = NULL};
    worker.ahead = 0;
    worker.running = worker.stop = false;
    model_starts = model_ends = given = 0;
    memset(ran, 0, sizeof ran);
    for (int i = 0; i < TASKS; i++) {
        ops[i].u.call.host = do_nothing;
        nodes[i].kind = ACUI_NODE_HOST;
        nodes[i].u.call.op = &ops[i];
        tasks[i] = (acui_task){.submission = &submission, .first = &nodes[i],
                               .child = i ? &inner : NULL};
    }
}

static void give(int i)
{
    acui_host_run(&tasks[i]);
    given++;
    explore_unpark(&given);
}

static void give_first(void) { give(0); }
static void give_second(void) { give(1); }

/* As the last close does; and once more, when no thread gives anything any more. */
static void end(void)
{
    uint32_t seen;
    acui_worker_stop();
    while ((seen = given) < TASKS)
        explore_park(&given, seen);
    while (acui_worker_busy())
        acui_worker_stop();
    model_thread_over();
}

static void all_ran(void)
{
    for (int i = 0; i < TASKS; i++)
        if (ran[i] != 1)
            explore_fail("task %d ran %d times", i, ran[i]);
}

int main(int argc, char **argv)
{
    static const explore_model models[] = {
        {.name = "two give while it is ended", .start = start,
         .threads = {model_thread, give_first, give_second, end}, .check = all_ran,
         .interruptions = 2, .delays = 0},
    };
    return explore_all(models, sizeof models / sizeof *models, argc, argv);
}
