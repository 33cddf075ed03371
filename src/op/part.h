/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Parts of a plan whose failure has other consequences than that of the rest: what or_else tries,
 * its alternative, what finally runs in any case, and ops with several users inside of these, which
 * belong to all their users. What is in no part fails its submission.
 *
 * Nodes of different parts are never in one task.
 */
#ifndef ACUI_OP_PART_H
#define ACUI_OP_PART_H

#include "op/plan.h"

typedef enum acui_part_kind {
    ACUI_PART_TRY,     /* its failure goes no further: it is the alternative's turn */
    ACUI_PART_ELSE,    /* runs only if what was tried failed */
    ACUI_PART_FINALLY, /* runs whatever fails outside of it, and if the submission is given up; not
                        * if an alternative around it has no turn */
    ACUI_PART_SHARED   /* an op with several users: runs whatever becomes of the parts around it,
                        * up to the one that all its users are in */
} acui_part_kind;

struct acui_part {
    struct acui_part *parent; /* NULL: the submission itself */
    struct acui_part *next;   /* of plan->parts */
    acui_part_kind kind;
    uint32_t depth;           /* parts around it */
    bool alternative;         /* it is an ELSE, or in one, */
    bool shared;              /* ... is a SHARED, or in one */
    const struct acui_part *within; /* SHARED: the part that all its users are in. NULL: there are
                                     * users outside of all parts, or others may use it. Fixed
                                     * once its nodes are tasks */
    bool refused;             /* could not be planned: none of it runs. Order lock */
    const struct acui_part *tried; /* ELSE: the part that it stands in for */
    bool begun;               /* ELSE: its turn has come, and it runs. Order lock */
    bool declined;            /* ELSE: what was tried is over and failed, yet this is not to run.
                               * Order lock */
    bool stopped;             /* TRY: a failure elsewhere came first and kept some of it from
                               * starting; the alternative is not for that. Order lock */
    bool failed;              /* something in it failed: fault is the first. Order lock */
    acui_fault *fault;        /* retained; NULL also if there was no memory for it */
};

/* Begin a new part: what is planned from now on is in it. NULL: no memory (record set). */
acui_part *acui_part_begin(acui_plan *plan, acui_part_kind kind);
void acui_part_end(acui_plan *plan, const acui_part *part);
/* The part could not be planned; the thread's record says why. */
void acui_part_refuse(acui_plan *plan, acui_part *part);
void acui_parts_clear(acui_plan *plan); /* the plan goes */

/* A walk from a part to those around it. */
typedef struct acui_part_walk {
    bool shared; /* what the walk comes from has users outside of the part that it is at */
    const acui_part *within; /* the part where that ends; NULL: it does not */
} acui_part_walk;

/* The walk gets to the part: returns `shared`. */
static inline bool acui_part_walk_to(acui_part_walk *walk, const acui_part *part)
{
    if (walk->shared && part == walk->within)
        walk->shared = false;
    bool shared = walk->shared;
    if (part->kind == ACUI_PART_SHARED) {
        bool wider = !shared || !part->within ||
                     (walk->within && part->within->depth < walk->within->depth);
        walk->within = wider ? part->within : walk->within;
        walk->shared = true;
    }
    return shared;
}

/* The innermost part around it, itself included, that a finally runs in any case; NULL: none. */
static inline const acui_part *acui_part_finally(const acui_part *part)
{
    while (part && part->kind != ACUI_PART_FINALLY)
        part = part->parent;
    return part;
}

/* The innermost part around both, or one of the two; NULL: none. */
const acui_part *acui_part_around(const acui_part *a, const acui_part *b);

/* Whether the part, or one around it, could not be planned. Under the order lock, or on the
 * planning thread. */
bool acui_part_is_refused(const acui_plan *plan, const acui_part *part);
/* Whether a failure in the part stops before `outer`, a part around it (NULL: the submission). */
bool acui_part_is_caught(const acui_part *part, const acui_part *outer);
/* Whether what is in the part runs only if something failed. */
bool acui_part_is_conditional(const acui_part *part);
/* Whether what is in the part runs only if an alternative does whose turn has not come. Order
 * lock. */
bool acui_part_is_undecided(const acui_part *part);
/* Whether such a part will not run: what was tried did not fail, or the alternative is not to run
 * all the same. Order lock; all that was tried is over, and so is the decision. */
bool acui_part_is_spared(const acui_part *part);

#endif
