/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The thread that makes executable graphs, started with the first order. Making one takes from some
 * microseconds for a short chain to milliseconds for a wide graph, which no submission should wait
 * for.
 */
#include "base/error.h"
#include "base/log.h"
#include "base/threads.h"
#include "engine/issue/graphs.h"
#include "engine/issue/memory.h"
#include "engine/order/order.h"

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* something was ordered or made, or the thread is to stop */
    acui_exec *first, *last;
    acu_device *busy; /* the device whose exec is being made; NULL: none */
    bool running, stop;
    pthread_t thread;
} build = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static acui_exec *take(void)
{
    acui_exec *exec = build.first;
    build.first = exec->ordered;
    if (!build.first)
        build.last = NULL;
    exec->ordered = NULL;
    return exec;
}

/* An order ends; so does the memory that it kept. */
static void end(acu_device *device, struct acui_holder *kept)
{
    acui_run_tasks(acui_memory_let_go(device, kept));
    acu_device_release(device);
}

/* If it fails, only the log is told: what is not made is issued directly. */
static void make(acui_exec *exec)
{
    acu_device *device = exec->device;
    struct acui_holder *kept = exec->kept; /* read now: others may free it once it is built */
    acui_entered entered;
    acui_built how = ACUI_BUILD_REFUSED;
    if (acui_enter(device, &entered) == ACU_OK) {
        acu_status status = acui_exec_make(exec);
        if (status != ACU_OK)
            acui_log_record(ACU_LOG_WARNING, "graph", acui_error());
        bool lacking = status == ACU_ERR_DEVICE_MEMORY || status == ACU_ERR_NO_MEMORY;
        how = status == ACU_OK ? ACUI_BUILT : lacking ? ACUI_BUILD_SHORT : ACUI_BUILD_REFUSED;
        acui_leave(&entered);
    }
    acui_needs needs = acui_exec_take_needs(exec);
    acui_graphs_built(exec, how);
    /* Perhaps the last references: then a module goes, and with it the exec that was just made. */
    acui_needs_release(&needs);
    end(device, kept);
}

static void *run(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&build.lock);
    while (!build.stop) {
        if (!build.first) {
            pthread_cond_wait(&build.changed, &build.lock);
            continue;
        }
        acui_exec *exec = take();
        build.busy = exec->device;
        pthread_mutex_unlock(&build.lock);
        make(exec);
        pthread_mutex_lock(&build.lock);
        build.busy = NULL;
        pthread_cond_broadcast(&build.changed);
    }
    pthread_mutex_unlock(&build.lock);
    return NULL;
}

bool acui_build_order(acui_exec *exec)
{
    pthread_mutex_lock(&build.lock);
    if (!build.running && !build.stop)
        build.running = acui_thread_start(&build.thread, "acuda-graphs", run);
    bool running = build.running && !build.stop;
    if (running) {
        if (build.last)
            build.last->ordered = exec;
        else
            build.first = exec;
        build.last = exec;
        acu_device_retain(exec->device);
        exec->kept = acui_memory_keep(exec->device);
        pthread_cond_broadcast(&build.changed);
    }
    pthread_mutex_unlock(&build.lock);
    return running;
}

static bool has_orders(const acu_device *device)
{
    for (const acui_exec *exec = build.first; exec; exec = exec->ordered)
        if (exec->device == device)
            return true;
    return false;
}

/* Take all orders of the device (NULL: of all devices) off the list. */
static acui_exec *take_orders(const acu_device *device)
{
    acui_exec *taken = NULL, **link = &build.first;
    build.last = NULL;
    while (*link) {
        acui_exec *exec = *link;
        if (device && exec->device != device) {
            build.last = exec;
            link = &exec->ordered;
            continue;
        }
        *link = exec->ordered;
        exec->ordered = taken;
        taken = exec;
    }
    return taken;
}

static void refuse(acui_exec *list)
{
    while (list) {
        acui_exec *exec = list;
        list = exec->ordered;
        acu_device *device = exec->device;
        struct acui_holder *kept = exec->kept;
        acui_graphs_built(exec, ACUI_NOT_BUILT);
        end(device, kept);
    }
}

void acui_build_drain(acu_device *device)
{
    pthread_mutex_lock(&build.lock);
    acui_exec *orders = take_orders(device);
    while (build.busy == device)
        pthread_cond_wait(&build.changed, &build.lock);
    pthread_mutex_unlock(&build.lock);
    refuse(orders);
}

void acui_build_wait(acu_device *device)
{
    pthread_mutex_lock(&build.lock);
    while (build.running && (build.busy == device || has_orders(device)))
        pthread_cond_wait(&build.changed, &build.lock);
    pthread_mutex_unlock(&build.lock);
}

bool acui_build_busy(void)
{
    pthread_mutex_lock(&build.lock);
    bool busy = build.running;
    pthread_mutex_unlock(&build.lock);
    return busy;
}

void acui_build_stop(void)
{
    pthread_mutex_lock(&build.lock);
    bool running = build.running;
    build.stop = true;
    pthread_cond_broadcast(&build.changed);
    pthread_mutex_unlock(&build.lock);
    if (running)
        pthread_join(build.thread, NULL);
    pthread_mutex_lock(&build.lock);
    acui_exec *orders = take_orders(NULL);
    build.running = build.stop = false;
    pthread_cond_broadcast(&build.changed); /* there is nothing to wait for any more */
    pthread_mutex_unlock(&build.lock);
    refuse(orders);
}
