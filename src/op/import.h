/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Uses of ops that were planned before, by another plan or by the same one: what a plan notes of
 * them, and who waits for such an op as a whole.
 */
#ifndef ACUI_OP_IMPORT_H
#define ACUI_OP_IMPORT_H

#include "op/child.h"

/* A value of an imported op. */
typedef struct acui_imported_value {
    acu_buffer *buffer; /* retained until the plan is entered */
    acui_extent extent;
} acui_imported_value;

/* Notes that a plan uses an op that was planned before; in its arena. */
typedef struct acui_imported {
    struct acui_imported *next; /* the one before, */
    struct acui_imported *next_here; /* ... and the one before in the same child; NULL: none */
    acui_child *child;          /* retained until the plan goes */
    acui_usage usage;
    acui_imported_value *values; /* its tensors: no AWAIT is needed if nodes touch all of these */
    uint32_t count;             /* ... which are so many; 0: it is awaited in any case */
    bool awaited;               /* false: it is used for some of its values, or for its order */
    const acui_context *context; /* around its use */
    const acui_node *last;      /* the plan's last node at that time; NULL: none */
} acui_imported;

/* The plan got values of the op, which another one may have planned. `part`: the op is not awaited
 * as a whole. NO_MEMORY. Share lock held. */
acu_status acui_import(acui_plan *plan, const acu_op *op, bool part);
/* Whether an AWAIT is needed where the plan plans now: to be over, or to fail, with some op that
 * was imported there, as its nodes do not touch all values of that. */
bool acui_import_is_open(const acui_plan *plan);
/* What was imported where the plan plans now, behind `before`, is in front of what is planned, and
 * nothing else. But those that are planned there, from node `first` on, are a part of the whole,
 * which fails with them. */
void acui_import_only_order(const acui_plan *plan, const acui_imported *before, uint32_t first);
/* What the plan got from others is entered behind them, or never will be. */
void acui_import_entered(acui_plan *plan);
void acui_import_clear(acui_plan *plan); /* the plan goes */

#endif
