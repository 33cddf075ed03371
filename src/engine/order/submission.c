/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What all rooms need of submissions: the end of their memory, and which one is being planned. */
#include "base/alloc.h"
#include "engine/order/order.h"
#include "engine/report/story.h"

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
    acui_fault_release(submission->given_up_fault);
    acui_fault_release(submission->planning.out_of_order_fault);
    acui_story_put(submission->story);
    acui_free(submission);
}
