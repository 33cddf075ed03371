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
    struct acui_imported *next; /* the one before */
    acui_child *child;          /* retained until the plan goes */
    acui_child *user;           /* the innermost SHARED one around the use; NULL: none */
    acui_usage usage;
    acui_imported_value *values; /* its tensors; left out where `mine` and not `told`: then it is
                                  * awaited, whatever touches them */
    uint32_t count;
    const acui_context *context; /* around its use */
    uint16_t number;            /* among those of the plan, from 1 on; 0 beyond 65,535 */
    bool mine;                  /* it is planned here */
    bool told;                  /* `mine`, and its failure fails what is around the use anyway */
    bool waiter_known;          /* it is known who waits for the op as a whole, maybe nobody: */
    const acui_node *node;      /* an AWAIT, or NULL */
    const acui_node *last;      /* the plan's last node at that time; NULL: none */
} acui_imported;

/* The plan got values of the op, which another one may have planned. `part`: the op is not awaited
 * as a whole. NO_MEMORY. Share lock held. */
acu_status acui_import(acui_plan *plan, const acu_op *op, bool part);
/* For a loop over what was imported behind `since`, from the latest on, which ends with `since`:
 * only what is used where the plan plans now. What an op with several users imports while it is
 * planned there, it awaits itself. */
acui_imported *acui_import_first(const acui_plan *plan, const acui_imported *since);
acui_imported *acui_import_next(const acui_imported *b, const acui_imported *since);
/* Whether some node must wait for all of the op, or what the plan plans now would not fail with it,
 * or, if it is an op that others use, would be over before it. */
bool acui_import_is_open(const acui_plan *plan, const acui_imported *b);
/* What the plan got from others is entered behind them, or never will be. */
void acui_import_entered(acui_plan *plan);
void acui_import_clear(acui_plan *plan); /* the plan goes */

#endif
