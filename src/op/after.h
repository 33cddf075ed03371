/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Order that does not follow from data: what a `then` puts in front, and what acu_after names.
 *
 * A plan has a list of what comes before the nodes that it gets now; each node keeps the list as it
 * is at that moment. Such edges order work; they carry no failure.
 */
#ifndef ACUI_OP_AFTER_H
#define ACUI_OP_AFTER_H

#include "op/import.h"

/* One entry of such a list: a range of nodes, a shared op, or points. In the plan's arena. */
struct acui_after {
    const acui_after *outer;     /* comes before too; */
    const acui_after *range;     /* ... and so does this, the first of them that is a range */
    uint32_t begin, end;         /* nodes of the plan */
    const acui_child *child;     /* an op that another submission planned: its points */
    acui_point **points;         /* retained until the plan goes */
    size_t point_count;
    acui_after *next_points;     /* links plan->points: the entries that have points */
};

/*
 * How to put something in front: plan it between start and done. Meanwhile the plan notes the
 * shared ops whose values it gets but which were planned before. From done to restore, all of this
 * comes before whatever is planned.
 */
typedef struct acui_front {
    const acui_after *before; /* the plan's list at start */
    struct acui_front_op *ops_before; /* what plan->front_ops was then */
    struct acui_front_op *ops; /* ... at done */
    uint32_t first;           /* the next node at start */
    uint32_t behind;          /* ... and at done */
} acui_front;
acui_front acui_front_start(acui_plan *plan);
/* NO_MEMORY; the caller must call restore in any case. */
acu_status acui_front_done(acui_plan *plan, acui_front *front);
/* Whether something in front is not among the plan's own nodes. */
bool acui_front_is_elsewhere(const acui_plan *plan);
void acui_front_restore(acui_plan *plan, const acui_front *front);

/* The plan got values of an op with several users. NO_MEMORY. */
acu_status acui_front_note(acui_plan *plan, const acui_child *child);

/* Put `count` points in front; the caller fills them in, each retained. NULL: no memory (record
 * set). */
acui_point **acui_front_points(acui_plan *plan, size_t count);
void acui_front_clear(acui_plan *plan); /* the plan goes */

/* The first range of nodes in the list. */
static inline const acui_after *acui_after_range(const acui_after *after)
{
    return !after || after->end > after->begin ? after : after->range;
}

#endif
