/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Order that does not follow from data: what a `then` puts in front, and what acu_after names.
 *
 * A plan has a list of what comes before the nodes that it gets now; nodes keep that list as it is
 * then. Such edges order, and carry no failure.
 */
#ifndef ACUI_OP_AFTER_H
#define ACUI_OP_AFTER_H

#include "op/sharing.h"

/* One entry of such a list: one of the three. In the plan's arena. */
struct acui_after {
    const acui_after *outer;     /* comes before too */
    uint32_t begin, end;         /* nodes of the plan */
    const acui_sharing *sharing; /* of an op that another submission planned: its points. Borrowed
                                  * until the plan is entered */
    acui_point **points;         /* retained until the plan goes */
    size_t point_count;
    acui_after *next_points;     /* of plan->points: entries that have some */
};

/*
 * To put something in front: between start and done it is planned, and it is noted which shared ops
 * the plan gets values of that were planned before. From done to restore, all that comes before
 * what is planned.
 */
typedef struct acui_front {
    const acui_after *before; /* the plan's list at start */
    const struct acui_met *met;
    uint32_t first;           /* the next node at start */
} acui_front;
acui_front acui_front_start(acui_plan *plan);
/* NO_MEMORY; restore is due in any case. */
acu_status acui_front_done(acui_plan *plan, const acui_front *front);
/* Something is in front that is not among the plan's own nodes. */
bool acui_front_is_elsewhere(const acui_plan *plan);
void acui_front_restore(acui_plan *plan, const acui_front *front);

/* The plan got values of an op with several users. NO_MEMORY. */
acu_status acui_front_meet(acui_plan *plan, const acui_sharing *sharing);

/* Put `count` points in front, to be filled in, each retained; NULL: no memory (record set). */
acui_point **acui_front_points(acui_plan *plan, size_t count);
void acui_front_clear(acui_plan *plan); /* the plan goes */

#endif
