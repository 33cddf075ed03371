/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* For tests of submissions that are queued and issued in batches: teaching which tasks are short,
 * and waking a device's thread at once. */
#ifndef ACUDA_TESTS_SUPPORT_BATCH_H
#define ACUDA_TESTS_SUPPORT_BATCH_H

#include "support/support.h"

#include "base/clock.h"
#include "engine/flight/flight.h"
#include "engine/issue/dispatch.h"
#include "engine/issue/issue.h"

#include <sched.h>

/* Teaches that `count` tasks of the signature were all over after `ns`, and the first one not at
 * `looked`. */
static inline void test_teach(acu_device *device, uint64_t signature, int count,
                              uint64_t looked, uint64_t ns)
{
    acui_flight *flight = acui_flight_of(device);
    bool timeless = atomic_exchange(&acui_batch_timeless, false);
    acui_task tasks[ACUI_BATCH_MOST] = {0};
    for (int i = 0; i < count; i++) {
        tasks[i].signature = signature;
        tasks[i].device = device;
        tasks[i].next_listed = i + 1 < count ? &tasks[i + 1] : NULL;
    }
    acui_flight_lock(flight);
    uint64_t ended_at = flight->ended_at;
    flight->ended_at = ACU_MS(1); /* something ended 1 ms after the clock began */
    acui_batch_learn(tasks, NULL, ACU_MS(1) + looked, ACU_MS(1) + ns);
    flight->ended_at = ended_at;
    acui_flight_unlock(flight);
    atomic_store(&acui_batch_timeless, timeless);
}

/* The signature of a task that launches the kernel that often, and does nothing else. */
static inline uint64_t test_form_of(acu_kernel *kernel, acui_dims dims, uint32_t launches)
{
    acui_node node = {.kind = ACUI_NODE_LAUNCH}, *nodes[ACUI_BATCH_NODES + 1];
    node.u.launch.kernel = kernel;
    node.u.launch.dims = dims;
    for (uint32_t i = 0; i < launches; i++)
        nodes[i] = &node;
    acui_task task = {.nodes = nodes, .count = launches};
    return acui_task_signature(&task);
}

static inline bool test_thread_is_woken(acu_device *device)
{
    acui_dispatch *queue = acui_dispatch_of(device);
    acui_lock_take(&queue->lock);
    bool woken = queue->device;
    acui_lock_give(&queue->lock);
    return woken;
}

static inline bool test_queue_is_open(acu_device *device)
{
    return atomic_load(&acui_dispatch_of(device)->open);
}

/* Has the device's thread issue what is queued, until the last close. False: it can not be started,
 * because calls fail. */
static inline bool test_wake_thread(acu_device *device)
{
    atomic_store(&acui_dispatch_patience, ACU_MS(600000));
    for (int tries = 0; tries < 100; tries++) { /* another thread may hold the lock for that */
        acui_dispatch_wake(device);
        sched_yield();
        while (test_thread_is_woken(device)) {
            if (test_queue_is_open(device))
                return true;
            sched_yield();
        }
    }
    return false;
}

#endif
