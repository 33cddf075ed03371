/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Host work of ops: a thread, started with the first such op, runs it, one function after the
 * other. These must not wait, so one thread is enough to make progress. Work of acuda's own that a
 * thread waits for (acui_own_work) is left to that thread; and what acuda's own functions
 * (acui_op_own_host) do is done at once, by whoever finds that it can be done.
 *
 * What ends a submission that is otherwise done, or says what becomes of one, goes first: else each
 * of many submissions would end only after the host work of all.
 *
 * What is handed over is run once, also while the last close ends the thread (acui_worker_stop):
 * `running` stays set until it is joined, so there are never two, and what came too late for it is
 * run by the thread that joins it.
 */
#include "base/callback.h"
#include "base/done.h"
#include "base/error.h"
#include "base/threads.h"
#include "driver/nvtx.h"
#include "engine/host/host.h"
#include "engine/issue/memory.h"
#include "engine/order/order.h"
#include "engine/report/record.h"
#include "engine/report/report.h"
#include "op/rescue.h"

typedef struct line { /* linked through next_listed */
    acui_task *first, *last;
} line;

#define MOST_AHEAD 16 /* so that the others get on, too, where one end follows another */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t work;
    line ends, rest; /* those that go first; the others */
    unsigned ahead;  /* how many of `ends` went in a row while some of `rest` waited */
    bool running, stop;
    pthread_t thread;
} worker = {.lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER};

bool acui_host_is_stopped(acui_task *task, acui_fault **fault)
{
    if (!acui_gave_up(task->submission))
        return false;
    acui_order_lock(task->homes);
    bool stopped = acui_task_is_stopped(task, fault);
    *fault = stopped ? acui_fault_retain(*fault) : NULL;
    acui_order_unlock(task->homes);
    return stopped;
}

static acu_status call_host(const acui_node *node)
{
    const acu_op *op = node->u.call.op;
    acui_nvtx_push(node->name);
    acu_status was = acui_callback_enter_asked();
    acu_status status = op->u.call.host(op->user.data, node->u.call.values, node->u.call.count);
    if (!op->u.call.own)
        status = acui_callback_leave_asked(was, status, "acu_host");
    else
        acui_callback_leave();
    acui_nvtx_pop();
    return status;
}

/* Whether the program wants the alternative; if not, what was tried has failed for good. */
static void decide(acui_task *task)
{
    acui_fault *fault = task->child->tried->fault; /* set before, and for good */
    if (acui_rescue_wanted(task->first->u.call.op, fault))
        acui_turn_comes(task);
    else
        acui_task_fail(task, acui_fault_retain(fault));
}

static acui_task *call(acui_task *task)
{
    const acui_node *node = task->first;
    acui_fault *fault;
    acui_order_lock(task->homes);
    task->order.course = ACUI_COURSE_BEGUN;
    acui_order_unlock(task->homes);
    acui_record_issue(task);
    if (acui_host_is_stopped(task, &fault)) {
        acui_task_fail(task, fault);
    } else if (node->kind == ACUI_NODE_DECIDE) {
        decide(task);
    } else if (node->u.call.op->u.call.host_async) {
        return acui_async_run(task);
    } else {
        if (call_host(node) != ACU_OK)
            acui_task_fail(task, acui_fault_of_node(node));
    }
    return acui_host_over(task);
}

acui_task *acui_host_over(acui_task *task)
{
    acui_count_operations(task, true);
    return acui_task_over(task);
}

/* ---- left to the thread that waits for it ---- */

acu_status acui_own_work_run(void *own, const acu_val *values, size_t count)
{
    (void)values, (void)count;
    const acui_own_work *work = own;
    return work->run(work->data);
}

static acui_own_work *own_work(const acui_node *node)
{
    const acu_op *op = node->u.call.op;
    return node->kind == ACUI_NODE_HOST && op->u.call.host == acui_own_work_run ? op->user.data
                                                                                : NULL;
}

void acui_own_work_look(acui_own_work *own)
{
    acui_task *task = atomic_load_explicit(&own->task, memory_order_acquire);
    if (!task)
        return;
    atomic_store_explicit(&own->task, NULL, memory_order_relaxed); /* its only turn */
    acui_run_tasks(call(task));
}

/* ---- the worker ---- */

/* It is part of what acu_finally runs in any case, or the decision of an acu_or_else_if. */
static bool goes_first(const acui_task *task)
{
    return (task->child && task->child->last) || task->first->kind == ACUI_NODE_DECIDE;
}

/* Lock held. */
static void put_in_line(acui_task *task)
{
    line *l = goes_first(task) ? &worker.ends : &worker.rest;
    if (l->first)
        l->last->next_listed = task;
    else
        l->first = task;
    l->last = task;
}

/* NULL: there is none. Lock held. */
static acui_task *take_first(void)
{
    bool rest = worker.rest.first && (!worker.ends.first || worker.ahead >= MOST_AHEAD);
    line *l = rest ? &worker.rest : &worker.ends;
    acui_task *task = l->first;
    if (!task)
        return NULL;
    worker.ahead = rest || !worker.rest.first ? 0 : worker.ahead + 1;
    l->first = task->next_listed;
    task->next_listed = NULL;
    return task;
}

/* Until the worker is told to stop, and nothing is left. Lock held, given up meanwhile. */
static void work(void)
{
    for (;;) {
        acui_task *task = take_first();
        if (!task && worker.stop)
            return;
        if (!task) {
            pthread_cond_wait(&worker.work, &worker.lock);
            continue;
        }
        pthread_mutex_unlock(&worker.lock);
        acui_run_tasks(call(task));
        pthread_mutex_lock(&worker.lock);
    }
}

static void *run(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&worker.lock);
    work();
    pthread_mutex_unlock(&worker.lock);
    return NULL;
}

static void note_going(acui_task *task)
{
    acui_count_operations(task, false);
    acui_order_lock(task->homes);
    acui_memory_going(task);
    acui_order_unlock(task->homes);
}

/* acuda's own function, which takes no longer than handing it over would. */
static bool is_short(const acui_node *node)
{
    return node->kind == ACUI_NODE_HOST && node->u.call.op->u.call.own;
}

acui_task *acui_host_run(acui_task *task)
{
    acui_own_work *own = own_work(task->first);
    if (is_short(task->first)) {
        note_going(task);
        return call(task);
    }
    if (own) {
        note_going(task);
        /* Release, to acui_own_work_look: all that came before. The thread that waits is there
         * until the task is over, and ends it. */
        atomic_store_explicit(&own->task, task, memory_order_release);
        acui_done_announce();
        return NULL;
    }
    pthread_mutex_lock(&worker.lock);
    if (!worker.running) {
        worker.running = acui_thread_start(&worker.thread, "acuda-host", run);
        acui_reactor_start(); /* the last close may have ended it; it watches deadlines */
    }
    bool running = worker.running;
    if (running) {
        note_going(task);
        put_in_line(task);
        pthread_cond_signal(&worker.work);
    }
    pthread_mutex_unlock(&worker.lock);
    if (running)
        return NULL;
    acui_fail(ACU_ERR_NO_MEMORY, "no thread could be started for host work: %s",
              acui_thread_words((char[ACUI_THREAD_WORDS]){0}));
    acui_task_fail(task, acui_fault_of_node(task->first));
    return acui_retire(task);
}

bool acui_worker_busy(void)
{
    pthread_mutex_lock(&worker.lock);
    bool busy = worker.running;
    pthread_mutex_unlock(&worker.lock);
    return busy;
}

void acui_worker_stop(void)
{
    pthread_mutex_lock(&worker.lock);
    if (worker.running) { /* stays set until the end, so that nobody starts another one */
        worker.stop = true;
        pthread_cond_signal(&worker.work);
        pthread_mutex_unlock(&worker.lock);
        pthread_join(worker.thread, NULL);
        pthread_mutex_lock(&worker.lock);
        work(); /* what came when the thread had gone through the list */
        worker.running = worker.stop = false;
    }
    pthread_mutex_unlock(&worker.lock);
}
