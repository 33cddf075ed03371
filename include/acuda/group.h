/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Groups: many submissions that stand or fall together.
 *
 *   acu_group *group;
 *   acu_group_create(NULL, &group);
 *   for (...)
 *       acu_group_submit(group, device, op, NULL, NULL);
 *   acu_status st = acu_group_wait(group, ACU_FOREVER);      ACU_OK, or the first failure
 *   acu_group_release(group);
 *
 * The first member that fails makes the group fail. Members that are not wholly on the device yet
 * are then given up (acu_future_cancel), members that are finish with their own outcomes, and the
 * group takes no more. A member that the program itself cancels does not count as a failure. Unless
 * it collects them, a group holds nothing of members that are over, so its memory is bounded by
 * what is in flight.
 *
 * All functions may be called by several threads at the same time. Only those named wait and drain
 * block.
 */
#ifndef ACUDA_GROUP_H
#define ACUDA_GROUP_H

#include <acuda/future.h>

ACU_BEGIN

typedef struct acu_group acu_group;

typedef struct acu_group_options {
    size_t size;     /* sizeof(acu_group_options) */
    size_t limit;    /* members at a time: those in flight, and those collected and not taken yet;
                      * one more is refused (FULL). 0: no bound */
    bool collect;    /* keep members that are over, for acu_group_take and acu_group_wait_any */
    bool keep_going; /* note a failure, but give up and refuse nothing because of it */
} acu_group_options;

/* NULL options: no bound, nothing is collected. Errors: NO_MEMORY. */
ACU_API acu_status acu_group_create(const acu_group_options *options, acu_group **group);
ACU_API acu_group *acu_group_retain(acu_group *group);
/* May be called at any time, also while another thread waits for the group: that thread goes on
 * waiting. Members go on, and nobody is notified of their failures. NULL is fine. */
ACU_API void acu_group_release(acu_group *group);

/*
 * acu_submit, as a member of the group: `op` is consumed (except after FULL); the options (a queue,
 * a timeout, ...) and `future` (may be NULL) mean the same. If acu_submit would refuse the op, so
 * does this, and the group does not fail for it. Errors: acu_submit's; FULL (the group's limit);
 * CANCELLED (the group failed, was cancelled, or takes no more members): then nothing was planned.
 */
ACU_API acu_status acu_group_submit(acu_group *group, acu_device *device, acu_op *op,
                                    const acu_submit_options *options, acu_future **future);
/* Make an existing future, of any kind, a member; one that was only scheduled is started. The
 * program keeps its handle. Errors: as above. */
ACU_API acu_status acu_group_add(acu_group *group, acu_future *future);

/* The number of members that are not over. */
ACU_API size_t acu_group_pending(acu_group *group);
/* ACU_OK, or the first failure so far, with its record in *error (`error` may be NULL). */
ACU_API acu_status acu_group_error(acu_group *group, acu_error *error);

/*
 * Block until no member is in flight, at most `timeout` nanoseconds. Returns ACU_OK, the first
 * failure, ACU_TIMEOUT (the members go on), or IN_CALLBACK inside a callback. More may be submitted
 * afterwards.
 */
ACU_API acu_status acu_group_wait(acu_group *group, uint64_t timeout);

/*
 * Of the members not taken yet, the one that was over first; its handle is given to the caller.
 * Only for a group that collects (else INVALID). Returns ACU_OK (the member's own outcome is on its
 * future), ACU_NOT_READY or ACU_TIMEOUT (there are members, but none is over), NOT_FOUND (there are
 * no members). _take never blocks.
 */
ACU_API acu_status acu_group_take(acu_group *group, acu_future **future);
ACU_API acu_status acu_group_wait_any(acu_group *group, uint64_t timeout, acu_future **future);

/*
 * Give up all members now, as by acu_future_cancel. The group takes no more. A member that needs
 * what another one was to compute is CANCELLED like that one, and does not fail with DEPENDENCY,
 * unless another thread is only just adding it. Members that were given up do not count as
 * failures.
 */
ACU_API acu_status acu_group_cancel(acu_group *group);

/*
 * Take no more members, wait until the present ones are over, at most `timeout` nanoseconds, and
 * then give up those that are left: no member is in flight on return. Returns the first failure,
 * else ACU_TIMEOUT if some had to be given up, else ACU_OK; or IN_CALLBACK, in which case nothing
 * was done. What the device has begun runs to its end, unseen, and owns what it needs.
 */
ACU_API acu_status acu_group_drain(acu_group *group, uint64_t timeout);

/*
 * Take no more members, and give a future that is complete when all members are over, with the
 * first failure or ACU_OK: for queues, callbacks and loops. It yields no values; cancelling it
 * cancels no member. Another call gives the same future, unless that was cancelled.
 * Errors: NO_MEMORY.
 */
ACU_API acu_status acu_group_finish(acu_group *group, acu_future **future);

ACU_END
#endif
