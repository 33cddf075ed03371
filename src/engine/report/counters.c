/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Totals of the process (acu_process_stats): how many submissions and operations there were. */
#include "base/cache.h"
#include "base/options.h"
#include "engine/report/report.h"

void acui_count_submitted(void)
{
    acui_count_add(ACUI_COUNT_SUBMISSIONS, 1);
}

void acui_count_done(bool failed)
{
    acui_count_add(ACUI_COUNT_DONE, 1);
    if (failed)
        acui_count_add(ACUI_COUNT_FAILED, 1);
}

void acui_count_operations(const acui_task *task, bool over)
{
    acui_count_add(over ? ACUI_COUNT_OPERATIONS_DONE : ACUI_COUNT_OPERATIONS, task->operations);
}

static uint64_t sum(unsigned count)
{
    return (uint64_t)acui_count_sum(count);
}

acu_status acu_process_stats(acu_process_statistics *stats)
{
    acu_process_statistics all = {.submissions = sum(ACUI_COUNT_SUBMISSIONS),
                                  .submissions_done = sum(ACUI_COUNT_DONE),
                                  .submissions_failed = sum(ACUI_COUNT_FAILED),
                                  .operations = sum(ACUI_COUNT_OPERATIONS),
                                  .operations_done = sum(ACUI_COUNT_OPERATIONS_DONE),
                                  .staged_copies = sum(ACUI_COUNT_STAGED),
                                  .staged_bytes = sum(ACUI_COUNT_STAGED_BYTES),
                                  .staged_skipped = sum(ACUI_COUNT_STAGED_SKIPPED)};
    return acui_struct_write(stats, &all, sizeof all, __func__);
}
