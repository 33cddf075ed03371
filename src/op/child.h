/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Children of a submission: pieces of its plan that start, fail and are given up by rules of their
 * own. That is what or_else tries, its alternative, what finally runs, and an op with several
 * users, which is planned once and belongs to all of them. What is in no child fails its
 * submission, and stops with it. Children nest. Nodes of different children are never in one task.
 *
 * An op with several users goes on as long as somebody wants it. `users` counts who does:
 *
 *   the op itself, as long as it exists: the program may have it, or other ops
 *   the submission whose plan it is in, until that fails, is given up, or is over
 *   each use that another submission makes of it, or such a child, or a finally (acui_import)
 *
 * A use ends with its user: a submission's when it fails, is given up or is over; that of an op
 * with several users when its own last user goes; that of a finally when its submission is over.
 *
 * The counts, and the lists of uses, are under a lock of their own, inside of which there is no
 * other; the rest is the planning thread's until the nodes are entered, and then under order locks
 * of the submission's home, unless something else is said.
 */
#ifndef ACUI_OP_CHILD_H
#define ACUI_OP_CHILD_H

#include "op/op.h"

typedef enum acui_child_kind {
    ACUI_CHILD_TRY,     /* its failure goes no further: it is the alternative's turn */
    ACUI_CHILD_ELSE,    /* starts only if what was tried failed */
    ACUI_CHILD_FINALLY, /* runs whatever fails outside of it, and if the submission is given up; not
                         * if an alternative around it has no turn */
    ACUI_CHILD_SHARED   /* an op with several users */
} acui_child_kind;

/* The turn of an alternative. */
typedef enum acui_turn {
    ACUI_TURN_OPEN,    /* has not come, and never will if what is tried succeeds */
    ACUI_TURN_COME,    /* it runs */
    ACUI_TURN_DECLINED /* what was tried failed, yet the alternative is not to run */
} acui_turn;

/* One of a child's users. */
typedef struct acui_usage {
    struct acui_usage *next; /* of the same user */
    acui_child *of;          /* NULL: it is not counted, or no more */
} acui_usage;

struct acui_child {
    acui_child_kind kind;
    uint32_t depth;      /* how many are around it */
    const char *name;    /* of the kind of op; static */
    acu_site site;
    int number;          /* in the submission's record; 0: it is not there. Lock of the record */
    acui_child *parent;  /* that it was planned in; NULL: the submission itself */
    acui_child *outer;   /* with which it stops: `parent`, or, if it is SHARED, the innermost one
                          * that all its users are in; NULL: the submission, or who else uses it.
                          * Fixed once its nodes are tasks */
    acui_child *shared;  /* the innermost one around it that is SHARED, itself included; */
    acui_child *last;    /* ... that is a FINALLY; */
    acui_child *other;   /* ... that is an ELSE. Only what is inside of `shared` */
    acui_child *next;    /* of plan->children */
    struct acui_imported *since, *before; /* plan->imported and plan->here when it began */
    acui_child *domain;  /* the innermost one around it that is not SHARED, itself included; NULL:
                          * the submission. That fails with it */
    bool refused;        /* could not be planned: none of it runs */
    bool stopped;        /* TRY: a failure elsewhere came first and kept some of it from starting;
                          * the alternative is not for that */
    acui_fault *fault;   /* the first failure of something in it; retained; NULL: none */
    const acui_child *tried; /* ELSE: what it stands in for */
    _Atomic(uint8_t) turn;   /* ELSE: an acui_turn; written under the order lock; relaxed */
    acui_usage *uses;        /* SHARED, FINALLY: of others, by it; under the lock of the counts */

    /* SHARED */
    _Atomic(uint32_t) refs;  /* who may look at it: the op, the plan, uses and lists of it */
    _Atomic(uint32_t) users; /* changed under the lock of the counts; relaxed */
    acui_usage usage;        /* by what it was planned in, and whatever is around it there */
    bool joined;             /* nobody else has it, and its users are all where it was planned: so
                              * its nodes belong to `parent` */
    acui_child *whole;       /* the SHARED one that it is a part of; NULL: there is none. It may be
                              * gone, but for who has it */
    bool caught;             /* its failure is not the whole's: it has an alternative */
    _Atomic(const acui_plan *) plan; /* that its nodes are in; NULL once that is cleared. Relaxed:
                              * only whether it is one's own is asked */
    uint32_t begin, end;     /* nodes of that plan */
    uint32_t around;         /* bytes that the contexts around the op take in a record */
    acui_child *within;      /* the innermost that all users in that plan are in */
    struct acui_shared_point *points; /* of its tasks, but for those of: */
    acui_child *inside, *next_inside; /* SHARED ones that it consists of; retained. Locks of: */
    _Atomic(acui_homes) homes;        /* the homes of all these; 0: there are none. Relaxed */
};

typedef struct acui_shared_point {
    struct acui_shared_point *next;
    acui_point *point; /* retained */
    bool caught;       /* as that of a child */
} acui_shared_point;

/* Begin a new child, of that op: what is planned from now on is in it. NULL: no memory (record
 * set). */
acui_child *acui_child_begin(acui_plan *plan, const acu_op *op, acui_child_kind kind);
/* The same for an op with several users, which keeps it. NO_MEMORY. */
acu_status acui_child_begin_shared(acui_plan *plan, acu_op *op);
void acui_child_end(acui_plan *plan, acui_child *child);
/* The child could not be planned; the thread's record says why. */
void acui_child_refuse(acui_plan *plan, acui_child *child);

/* New nodes, from `first` on, are about to become tasks: find out which ops planned here nobody
 * else uses. */
void acui_children_look(acui_plan *plan, uint32_t first);
/* The plan is never entered: what it planned is for nobody else, whoever has the ops. */
void acui_children_close(acui_plan *plan);
/* The submission failed, or was given up: what it uses it wants no more. Any number of times. */
void acui_children_unwanted(acui_plan *plan);
void acui_children_clear(acui_plan *plan); /* the plan goes */
void acui_child_op_gone(acui_child *child); /* the op of a SHARED one goes; NULL is allowed */

/* What the plan plans now uses the child, which is not inside of what counts its own uses there. */
void acui_usage_begin(acui_plan *plan, acui_usage *usage, acui_child *of);
/* What counts uses in the child (NULL: in no child) as its own: the innermost SHARED or FINALLY
 * one; NULL: the submission. */
static inline acui_child *acui_child_user(acui_child *child)
{
    bool last = child && child->last &&
                (!child->shared || child->shared->depth < child->last->depth);
    return !child ? NULL : last ? child->last : child->shared;
}

static inline void acui_child_retain(acui_child *child)
{
    atomic_fetch_add_explicit(&child->refs, 1, memory_order_relaxed);
}
void acui_child_release(acui_child *child);

/* The innermost child that the node's task is in; NULL: none. */
static inline acui_child *acui_child_of(const acui_node *node)
{
    acui_child *child = node->frame->child;
    while (child && child->joined)
        child = child->parent;
    return child;
}

/* What fails with the nodes of the child (NULL: the submission's own). */
static inline acui_child *acui_child_domain(const acui_child *child)
{
    return child ? child->domain : NULL;
}

/* Whether the nodes of the child stop and fail with the submission alone. */
static inline bool acui_child_is_plain(const acui_child *child)
{
    return !acui_child_domain(child);
}

/* Whether somebody besides its submission wants it, once that has failed or is given up. */
static inline bool acui_child_is_wanted(const acui_child *child)
{
    const acui_child *shared = child ? child->shared : NULL;
    return shared && atomic_load_explicit(&shared->users, memory_order_relaxed) > 0;
}

/* The innermost op with other users that it is a part of; NULL: none. */
static inline acui_child *acui_child_for_others(const acui_child *child)
{
    acui_child *shared = child ? child->shared : NULL;
    while (shared && shared->joined)
        shared = shared->parent ? shared->parent->shared : NULL;
    return shared;
}
/* A point of one of its tasks is entered; `shared` is memory for it. Order locks. */
void acui_child_add_point(acui_child *child, acui_point *point, acui_shared_point *shared);
/* Calls the function for each point of a SHARED one, until it returns false; whether it never did.
 * `caught`: the point's failure is not the child's. Order locks of its homes. */
typedef bool (*acui_point_fn)(void *context, acui_point *point, bool caught);
bool acui_child_each_point(const acui_child *child, acui_point_fn fn, void *context);

/* Whether its nodes are in this plan. */
static inline bool acui_child_in(const acui_child *child, const acui_plan *plan)
{
    return atomic_load_explicit(&child->plan, memory_order_relaxed) == plan;
}

static inline acui_turn acui_child_turn(const acui_child *child)
{
    return (acui_turn)atomic_load_explicit(&child->turn, memory_order_relaxed);
}

/* Whether it is `outer` or inside of that; NULL is what all are inside of. */
static inline bool acui_child_is_within(const acui_child *child, const acui_child *outer)
{
    while (child && outer && child->depth > outer->depth)
        child = child->parent;
    return !outer || child == outer;
}
/* The one that could not be planned: itself, or one with which it stops; NULL: none. Under the
 * order lock, or on the planning thread. */
const acui_child *acui_child_refused(const acui_plan *plan, const acui_child *child);
/* The innermost alternative that it stops with; NULL: it runs whatever fails. */
const acui_child *acui_child_other(const acui_child *child);
/* Whether it is passed over as an alternative has no turn; `decides`: the node that finds out is
 * asked about, before it has. Order lock; all that was tried is over. */
bool acui_child_is_spared(const acui_child *child, bool decides);
/* Whether a failure in it stops before `end`, which is around it (NULL: the submission). */
bool acui_child_is_caught(const acui_child *child, const acui_child *end);
/* Note a failure in the child and those around it, up to whatever catches it; true: nothing does,
 * and the submission fails. Order lock. */
bool acui_child_fail(acui_child *child, acui_fault *fault);

#endif
