/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Ops that several use are planned once, as a part of one submission. If that one is given up, the
 * others must get their values all the same: so it is kept which nodes are such an op's, and
 * whether somebody else uses it, or still may.
 *
 * Counted are: the op itself, as long as anybody holds it but a node of its own (a call of the
 * program's needs the function and its data); the plan that its nodes are in; and plans that got
 * its values and are not entered into the order of things yet. Those that are entered show as
 * followers of its nodes' tasks.
 */
#ifndef ACUI_OP_SHARING_H
#define ACUI_OP_SHARING_H

#include "op/op.h"

typedef struct acui_sharing {
    _Atomic(uint32_t) refs;
    _Atomic(const acui_plan *) plan; /* that the nodes are in; it holds it until it is cleared, NULL
                                      * then; relaxed: only whether it is one's own is asked */
    uint32_t begin, end;         /* nodes of that plan */
    const acu_op *op;            /* held by so many of these: */
    uint32_t own;                /* ... (0: it may be gone, and need not be looked at) */
    struct acui_shared_point *points; /* of the tasks that these became; order lock */
    struct acui_sharing *parent; /* of the op that this one is a part of; in the same plan */
    struct acui_sharing *next;   /* of plan->sharings */
    const acui_part *part;       /* of that plan, that the op is in; NULL: of none */
    _Atomic(bool) alone; /* nobody else had the op, nor can get it. Of the thread that plans;
                          * relaxed: others ask only whether it is held, which `refs` says of an
                          * op that is about to go just as well, a moment later */
} acui_sharing;

typedef struct acui_shared_point {
    struct acui_shared_point *next;
    acui_point *point; /* retained */
    bool caught;       /* its failure is none of the op's: it has an alternative */
} acui_shared_point;

/* That a plan has got values of an op that another one planned; in its arena. */
typedef struct acui_borrowed {
    struct acui_borrowed *next; /* the one before */
    acui_sharing *sharing;      /* retained until the plan is entered */
    uint32_t count;             /* values that the op yields */
    bool loose;                 /* nothing in the plan will touch these */
    bool settled;               /* it is known who waits for the op as a whole, maybe nobody: */
    const acui_node *node;      /* an AWAIT; or NULL */
} acui_borrowed;

/* Nodes that the plan gets from now on are the op's. NO_MEMORY. */
acu_status acui_sharing_begin(acui_plan *plan, acu_op *op);
void acui_sharing_end(acui_plan *plan, const acu_op *op);
/* For a node of its own, which holds it; it may have one user only. */
acu_op *acui_sharing_hold(acu_op *op);
/* The plan has got values of the op, which another one may have planned. `loose`: as above; `part`:
 * the op is not awaited as a whole. NO_MEMORY. */
acu_status acui_sharing_borrow(acui_plan *plan, const acu_op *op, bool loose, bool part);
/* Of `count` values that the plan has got since then some are dropped; whether a tensor is left. If
 * it need not be one of such an op's, nothing may touch what that one yields. */
void acui_sharing_dropped(acui_plan *plan, const acui_borrowed *since, size_t count, bool tensor);
void acui_sharing_release(acui_sharing *sharing); /* the op goes; NULL is fine */

/* Look which of the ops planned here nobody else uses. Before its new nodes become tasks. */
void acui_sharing_look(acui_plan *plan);
/* The plan is never entered: what it planned is for nobody else, whoever has the ops. */
void acui_sharing_close(acui_plan *plan);
/* Whether the plan has its nodes. */
bool acui_sharing_in(const acui_sharing *sharing, const acui_plan *plan);
static inline bool acui_sharing_is_alone(const acui_sharing *sharing)
{
    return atomic_load_explicit(&sharing->alone, memory_order_relaxed);
}
/* The innermost op with other users that the node is a part of; NULL: none. */
acui_sharing *acui_sharing_of(const acui_node *node);
/* Somebody holds that op, or one that it is a part of, or is about to enter what uses it. */
bool acui_sharing_held(const acui_sharing *sharing);

/* What the plan got from others is entered behind them, or never will be. */
void acui_sharing_return(acui_plan *plan);
void acui_sharing_clear(acui_plan *plan); /* the plan goes */

#endif
