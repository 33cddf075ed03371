/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* For tests of submissions that are issued together: teaching which tasks are short, and calling an
 * issuer at once. */
#ifndef ACUDA_TESTS_SUPPORT_TOGETHER_H
#define ACUDA_TESTS_SUPPORT_TOGETHER_H

#include "support/support.h"

#include "base/clock.h"
#include "engine/completion/flight.h"
#include "engine/issue/aside.h"

#include <sched.h>

/* Teaches that `count` tasks of the form were all over after `ns`, and the first one not at
 * `looked`. */
static inline void test_teach(uint64_t form, int count, uint64_t looked, uint64_t ns)
{
    static acu_device device; /* on which something ended 1 ms after the clock began */
    bool timeless = atomic_exchange(&acui_together_timeless, false);
    acui_task tasks[ACUI_TOGETHER] = {0};
    device.over_at = ACU_MS(1);
    for (int i = 0; i < count; i++) {
        tasks[i].form = form;
        tasks[i].device = &device;
        tasks[i].next_on_stream = i + 1 < count ? &tasks[i + 1] : NULL;
    }
    acui_flight_lock();
    acui_together_learn(tasks, NULL, ACU_MS(1) + looked, ACU_MS(1) + ns);
    acui_flight_unlock();
    atomic_store(&acui_together_timeless, timeless);
}

/* The form of a task that launches the kernel that often, and does nothing else. */
static inline uint64_t test_form_of(acu_kernel *kernel, acui_dims dims, uint32_t launches)
{
    acui_node node = {.kind = ACUI_NODE_LAUNCH}, *nodes[ACUI_TOGETHER_NODES + 1];
    node.u.launch.kernel = kernel;
    node.u.launch.dims = dims;
    for (uint32_t i = 0; i < launches; i++)
        nodes[i] = &node;
    acui_task task = {.nodes = nodes, .count = launches};
    return acui_form_of(&task);
}

/* Makes this thread count as one that has issued many tasks in a row, so that it leaves the next
 * one to an issuer; and lets an issuer come on any machine. */
static inline void test_be_busy(void)
{
    atomic_store(&acui_issuer_cores, 64);
    uint64_t now = acui_now(); /* of all: this thread may be held up at any place */
    for (int i = 0; i < 32; i++)
        acui_together_issued(now);
}

static inline void test_be_busy_no_more(void)
{
    atomic_store(&acui_issuer_cores, 0);
    acui_together_waits();
}

static inline bool test_issuer_is_called(acui_aside *aside, bool *rests)
{
    acui_lock_take(&aside->lock);
    bool called = aside->device;
    *rests = acui_now() < aside->rests;
    acui_lock_give(&aside->lock);
    return called;
}

/* Has an issuer take what is put aside for the device, until the last close. False: it can not be
 * started, because calls fail. */
static inline bool test_call_issuer(acu_device *device)
{
    bool rests = false;
    atomic_store(&acui_issuer_patience, ACU_MS(600000));
    for (int tries = 0; tries < 8; tries += !rests) {
        acui_issuer_call(device);
        while (test_issuer_is_called(acui_aside_of(device), &rests)) {
            if (acui_together_lane(device))
                return true;
            sched_yield();
        }
    }
    return false;
}

#endif
