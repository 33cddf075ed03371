/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Totals of the process. */
#include "engine/engine.h"

/* Relaxed: each is exact, together they are a snapshot of no certain moment. */
static _Atomic(uint64_t) submissions, done, failures, operations, operations_done;

static void add(_Atomic(uint64_t) *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static uint64_t read(_Atomic(uint64_t) *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void acui_count_submitted(void)
{
    add(&submissions, 1);
}

void acui_count_done(bool failed)
{
    add(&done, 1);
    if (failed)
        add(&failures, 1);
}

void acui_count_operations(const acui_task *task, bool over)
{
    static const bool counted[] = {
#define ACU_X(id, name, counted_) counted_,
        ACUI_NODES(ACU_X)
#undef ACU_X
    };
    uint64_t n = 0;
    for (size_t i = 0; i < task->count; i++)
        n += counted[task->nodes[i]->kind];
    add(over ? &operations_done : &operations, n);
}

void acu_counters_read(acu_counters *counters)
{
    *counters = (acu_counters){.submissions = read(&submissions),
                               .submissions_done = read(&done),
                               .submissions_failed = read(&failures),
                               .operations = read(&operations),
                               .operations_done = read(&operations_done)};
}
