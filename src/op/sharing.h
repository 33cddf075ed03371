/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * An op with several users is planned once, as a part of one submission. If that submission is
 * given up, the other users must still get their values. So the plan keeps which nodes belong to
 * such an op, and whether somebody else uses it, or still may.
 *
 * `refs` counts the op itself, as long as anybody holds it but a node of its own (a call of the
 * program's needs the function and its data); the plan that its nodes are in; and plans that got
 * its values and are not entered into the order yet. Those that are entered show as followers of
 * its nodes' tasks.
 */
#ifndef ACUI_OP_SHARING_H
#define ACUI_OP_SHARING_H

#include "op/op.h"

typedef struct acui_sharing {
    _Atomic(uint32_t) refs;
    _Atomic(const acui_plan *) plan; /* the plan that the nodes are in, which holds this until it is
                                      * cleared; NULL then. Relaxed: only whether it is one's own
                                      * plan is asked */
    uint32_t begin, end;         /* nodes of that plan */
    const acu_op *op;            /* held by `own` of these nodes; set before */
    _Atomic(uint32_t) own;       /* (0: the op may be gone; do not look at it) */
    struct acui_shared_point *points; /* of the tasks that the nodes became; order locks of: */
    _Atomic(acui_homes) homes; /* the homes of these points; 0: there are none. Relaxed */
    struct acui_sharing *parent; /* of the op that this one is part of; in the same plan */
    struct acui_sharing *next;   /* of plan->sharings */
    uint32_t around;             /* bytes that the contexts around the op take in a record */
    const acui_part *part;       /* the part of that plan that the op is in; NULL: none */
    acui_part *inside;           /* its own; NULL: it needs none, as it is in no part */
    const acui_part *within;     /* the part that all users in that plan are in; NULL: none */
    struct acui_inner *inner;    /* ops planned elsewhere that it consists of too; once it is
                                  * planned, the share lock */
    const struct acui_imported *since; /* what the plan had imported when it began; NULL: nothing */
    bool kept;                   /* not alone, though nobody else has it: another op's list of
                                  * `inner` does, or a finally runs it in any case */
    bool begun;                  /* some nodes became tasks before all of it was planned */
    _Atomic(bool) alone; /* nobody else had the op or can get it. Set by the planning thread.
                          * Relaxed: others ask only whether it is held, and for an op that is about
                          * to go `refs` says the same, a moment later */
} acui_sharing;

typedef struct acui_shared_point {
    struct acui_shared_point *next;
    acui_point *point; /* retained */
    bool caught;       /* its failure is not the op's: it has an alternative */
} acui_shared_point;

/* An op that was planned before the op which has this list, or by another plan, and whose values no
 * node of that one touches: whoever comes behind the one, or fails with it, does so with the other
 * too. */
typedef struct acui_inner {
    struct acui_inner *next;
    acui_sharing *sharing; /* retained; also held to be wanted as long as the list is there */
} acui_inner;

/* A value of an imported op. */
typedef struct acui_imported_value {
    acu_buffer *buffer; /* retained */
    acui_extent extent;
} acui_imported_value;

/* Notes that a plan got values of an op that was planned before; in its arena. */
typedef struct acui_imported {
    struct acui_imported *next; /* the one before */
    acui_sharing *sharing;      /* retained until the plan is entered, as are: */
    acui_imported_value *values; /* its tensors */
    uint32_t count;
    const acui_context *context; /* around its use */
    uint32_t around;            /* as the sharing has it */
    uint16_t number;            /* from 1 on; 0 beyond 65,535 */
    bool mine;                  /* it is planned here; its values are not noted, as what touches
                                 * them says nothing about its parts */
    bool told;                  /* ... and its failure fails the submission anyway */
    bool waiter_known;          /* it is known who waits for the op as a whole, maybe nobody: */
    const acui_node *node;      /* an AWAIT, or NULL */
    const acui_node *last;      /* the plan's last node at that time; NULL: none */
} acui_imported;

/* Nodes that the plan gets from now on are the op's, until acui_sharing_end. NO_MEMORY. */
acu_status acui_sharing_begin(acui_plan *plan, acu_op *op);
void acui_sharing_end(acui_plan *plan, const acu_op *op);
/* The op is planned: list which of those imported since it began are `inner`. NO_MEMORY. */
acu_status acui_sharing_list_inner(acui_plan *plan, const acu_op *op);
/* Retain the op for a node of its own; the op may also have one user only. */
acu_op *acui_sharing_hold(acu_op *op);
/* The plan got values of the op, which another one may have planned. `part`: the op is not awaited
 * as a whole. NO_MEMORY. Share lock held. */
acu_status acui_sharing_import(acui_plan *plan, const acu_op *op, bool part);
/* Whether nodes of the plan, in this part, touch all values of the imported op: then order, and the
 * failure of whoever reads them, follow from the data. */
bool acui_sharing_is_touched(const acui_plan *plan, const acui_imported *imported,
                             const acui_part *part);
void acui_sharing_release(acui_sharing *sharing); /* when the op goes; NULL is allowed */

/* Find out which of the ops planned here nobody else uses, before the new nodes become tasks. */
void acui_sharing_look(acui_plan *plan);
/* The plan is never entered: what it planned is for nobody else, whoever has the ops. */
void acui_sharing_close(acui_plan *plan);
/* Whether the op's nodes are in this plan. */
bool acui_sharing_in(const acui_sharing *sharing, const acui_plan *plan);
static inline bool acui_sharing_is_alone(const acui_sharing *sharing)
{
    return atomic_load_explicit(&sharing->alone, memory_order_relaxed);
}
/* The innermost op with other users that the node is part of; NULL: none. */
acui_sharing *acui_sharing_of(const acui_node *node);
/* Whether somebody holds the op, or one that it is part of, or is about to enter work that uses
 * it. */
bool acui_sharing_held(const acui_sharing *sharing);

/* What the plan got from others is entered behind them, or never will be. */
void acui_sharing_return(acui_plan *plan);
void acui_sharing_clear(acui_plan *plan); /* when the plan goes */

#endif
