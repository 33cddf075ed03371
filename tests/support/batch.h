/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* For tests of submissions that are issued in batches: teaching which tasks are short, and calling
 * an issuer at once. */
#ifndef ACUDA_TESTS_SUPPORT_BATCH_H
#define ACUDA_TESTS_SUPPORT_BATCH_H

#include "support/support.h"

#include "base/clock.h"
#include "engine/completion/flight.h"
#include "engine/issue/deferred.h"
#include "engine/issue/issue.h"

#include <sched.h>

/* Teaches that `count` tasks of the form were all over after `ns`, and the first one not at
 * `looked`. */
static acu_device test_taught; /* on which something ended 1 ms after the clock began; ordinal 0 */
static inline void test_teach(uint64_t form, int count, uint64_t looked, uint64_t ns)
{
    bool timeless = atomic_exchange(&acui_batch_timeless, false);
    acui_task tasks[ACUI_BATCH_MOST] = {0};
    test_taught.engine.over_at = ACU_MS(1);
    for (int i = 0; i < count; i++) {
        tasks[i].form = form;
        tasks[i].device = &test_taught;
        tasks[i].flight.next = i + 1 < count ? &tasks[i + 1] : NULL;
    }
    acui_flight_lock(&acui_flights[0]);
    acui_batch_learn(tasks, NULL, ACU_MS(1) + looked, ACU_MS(1) + ns);
    acui_flight_unlock(&acui_flights[0]);
    atomic_store(&acui_batch_timeless, timeless);
}

/* The form of a task that launches the kernel that often, and does nothing else. */
static inline uint64_t test_form_of(acu_kernel *kernel, acui_dims dims, uint32_t launches)
{
    acui_node node = {.kind = ACUI_NODE_LAUNCH}, *nodes[ACUI_BATCH_NODES + 1];
    node.u.launch.kernel = kernel;
    node.u.launch.dims = dims;
    for (uint32_t i = 0; i < launches; i++)
        nodes[i] = &node;
    acui_task task = {.nodes = nodes, .count = launches};
    return acui_form_of(&task);
}

/* Makes this thread count as one that submits continuously, so that it leaves the next task to an
 * issuer; and lets an issuer come on any machine. */
static inline void test_be_busy(void)
{
    atomic_store(&acui_issuer_cores, 64);
    uint64_t now = acui_now(); /* of all: this thread may be held up at any place */
    for (int i = 0; i < 32; i++)
        acui_streak_issued(now);
}

static inline void test_be_busy_no_more(void)
{
    atomic_store(&acui_issuer_cores, 0);
    acui_streak_end();
}

static inline bool test_issuer_is_called(acui_deferred *list, bool *rests)
{
    acui_lock_take(&list->lock);
    bool called = list->device;
    *rests = acui_now() < list->rests_until;
    acui_lock_give(&list->lock);
    return called;
}

/* Has an issuer take what is deferred on the device, until the last close. False: it can not be
 * started, because calls fail. */
static inline bool test_call_issuer(acu_device *device)
{
    bool rests = false;
    atomic_store(&acui_issuer_patience, ACU_MS(600000));
    for (int tries = 0; tries < 8; tries += !rests) {
        acui_issuer_call(device);
        while (test_issuer_is_called(acui_deferred_of(device), &rests)) {
            if (acui_deferred_stream(device))
                return true;
            sched_yield();
        }
    }
    return false;
}

#endif
