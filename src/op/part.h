/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Parts of a plan whose failure has other consequences than that of the rest: what or_else tries,
 * its alternative, what finally runs in any case, and ops with several users inside of these, which
 * are everybody's. What is in no part fails its submission.
 *
 * Nodes of different parts are never in one task.
 */
#ifndef ACUI_OP_PART_H
#define ACUI_OP_PART_H

#include "op/plan.h"

typedef enum acui_part_kind {
    ACUI_PART_TRY,     /* its failure ends with it: the alternative's turn */
    ACUI_PART_ELSE,    /* runs only if what was tried failed */
    ACUI_PART_FINALLY, /* no failure outside of it keeps it from running, nor that the submission is
                        * given up; only that an alternative around it has no turn */
    ACUI_PART_SHARED   /* runs whatever becomes of the parts around: others may use it */
} acui_part_kind;

struct acui_part {
    struct acui_part *parent; /* NULL: the submission itself */
    struct acui_part *next;   /* of plan->parts */
    acui_part_kind kind;
    bool refused;             /* could not be planned: nothing of it runs. Order lock */
    const struct acui_part *tried; /* ELSE: the part that it stands in for */
    bool declined;            /* ELSE: that is over and failed, and this is not to run all the same.
                               * Order lock */
    bool stopped;             /* TRY: a failure elsewhere came first, and kept some of it from
                               * starting: none that the alternative is for. Order lock */
    bool failed;              /* order lock; the first failure in it */
    acui_fault *fault;        /* retained; NULL also where there was no memory to say it */
};

/* What is planned from now on is in a new part. NULL: no memory (record set). */
acui_part *acui_part_begin(acui_plan *plan, acui_part_kind kind);
void acui_part_end(acui_plan *plan, const acui_part *part);
/* The part could not be planned, as the thread's record says. */
void acui_part_refuse(acui_part *part);
void acui_parts_clear(acui_plan *plan); /* the plan goes */

/* Whether the part, or one that it is in, could not be planned. Order lock,
 * or the planning thread. */
bool acui_part_is_refused(const acui_part *part);
/* Whether a failure in the part is none of what is around it, up to `outer`, which it is in. */
bool acui_part_is_caught(const acui_part *part, const acui_part *outer);
/* Whether what is in the part runs only if something failed. */
bool acui_part_is_conditional(const acui_part *part);
/* ... and that did not, for good, or it is not to run all the same. Order lock; all that was tried
 * is over, and so is the decision. */
bool acui_part_is_spared(const acui_part *part);

#endif
