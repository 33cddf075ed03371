/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Uses of ops that were planned before, by another plan or by the same one: what a plan notes of
 * them, and who waits for such an op as a whole.
 */
#ifndef ACUI_OP_IMPORT_H
#define ACUI_OP_IMPORT_H

#include "op/child.h"

/* An op that was planned before the child which has this list, or by another plan, and whose values
 * no node of that one touches: whoever comes behind the one, or fails with it, does so with the
 * other too. */
typedef struct acui_inner {
    struct acui_inner *next;
    acui_child *child; /* retained */
} acui_inner;

/* A value of an imported op. */
typedef struct acui_imported_value {
    acu_buffer *buffer; /* retained until the plan is entered */
    acui_extent extent;
} acui_imported_value;

/* Notes that a plan uses an op that was planned before; in its arena. */
typedef struct acui_imported {
    struct acui_imported *next; /* the one before */
    acui_child *child;          /* retained until the plan goes */
    acui_usage usage;
    acui_imported_value *values; /* its tensors */
    uint32_t count;
    const acui_context *context; /* around its use */
    uint16_t number;            /* from 1 on; 0 beyond 65,535 */
    bool mine;                  /* it is planned here; its values are not noted, as what touches
                                 * them says nothing about its parts */
    bool told;                  /* ... and its failure fails the submission anyway */
    bool waiter_known;          /* it is known who waits for the op as a whole, maybe nobody: */
    const acui_node *node;      /* an AWAIT, or NULL */
    const acui_node *last;      /* the plan's last node at that time; NULL: none */
} acui_imported;

/* The plan got values of the op, which another one may have planned. `part`: the op is not awaited
 * as a whole. NO_MEMORY. Share lock held. */
acu_status acui_import(acui_plan *plan, const acu_op *op, bool part);
/* The op, which is SHARED, is planned: list which of those imported since it began are `inner`.
 * NO_MEMORY. */
acu_status acui_import_list_inner(acui_plan *plan, acui_child *child);
/* Whether nodes of the plan, in this child, touch all values of the imported op: then order, and
 * the failure of whoever reads them, follow from the data. */
bool acui_import_is_touched(const acui_plan *plan, const acui_imported *imported,
                            const acui_child *child);
/* What the plan got from others is entered behind them, or never will be. */
void acui_import_entered(acui_plan *plan);
/* The plan goes, which had these children. */
void acui_import_clear(acui_plan *plan, acui_child *children);

#endif
