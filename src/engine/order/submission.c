/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What all rooms need of submissions: the end of their memory, and which one is being planned. */
#include "base/alloc.h"
#include "engine/order/order.h"
#include "engine/report/record.h"

ACUI_LOCAL acui_submission *acui_planned_now;

void acui_submission_put(acui_submission *submission)
{
    if (!acui_refs_drop(&submission->refs))
        return;
    for (size_t i = 0; i < submission->lane_count; i++)
        acu_stream_release(submission->lanes[i].stream);
    if (submission->lanes != &submission->first_lane)
        acui_free(submission->lanes);
    acu_policy_release(submission->asked.policy);
    acu_stream_release(submission->asked.stream);
    acui_fault_release(submission->order.fault);
    acui_fault_release(acui_gave_up(submission));
    acui_fault_release(submission->planning.out_of_order);
    acui_record_free(submission->record);
    acui_free(submission);
}

/* Threads that are giving a future up, or are looking into a submission that they hold open: see
 * acui_completing. */
static _Atomic(uint32_t) completing;

/* Relaxed: others learn of it through what this thread does next to a future's state or a
 * submission's count, which is ordered. */
void acui_completing_begin(void)
{
    atomic_fetch_add_explicit(&completing, 1, memory_order_relaxed);
}

/* Release, to acui_completing: whoever sees that this thread is done sees all it has released and
 * told. */
void acui_completing_end(void)
{
    atomic_fetch_sub_explicit(&completing, 1, memory_order_release);
}

bool acui_completing(void)
{
    return atomic_load_explicit(&completing, memory_order_acquire) != 0;
}
