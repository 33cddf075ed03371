/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The record of a submission that is to be explained, or traced: its parts (one for each task),
 * what they came behind, how they went to the device, and when. It outlives the plan, so it has
 * copies of everything. If there is no memory for a piece of it, the record lacks that piece, and
 * nothing else happens. All times are of acui_now; 0: not yet, or not known.
 *
 * One that the program asked for has all of that. A trace shows less, and its records are made for
 * every submission: they have no list of nodes, children and awaited ops, and one run at most.
 */
#ifndef ACUI_ENGINE_RECORD_H
#define ACUI_ENGINE_RECORD_H

#include "base/clock.h"
#include "base/trace.h"
#include "engine/engine.h"
#include "op/child.h"

typedef enum acui_how { /* how a part came behind something */
    ACUI_HOW_OPEN,    /* not issued yet */
    ACUI_HOW_OVER,    /* that was over by then */
    ACUI_HOW_STREAM,  /* on the same stream: nothing to do */
    ACUI_HOW_IMPLIED, /* an earlier wait between the two streams implies it */
    ACUI_HOW_EVENT,   /* its stream waits for an event */
    ACUI_HOW_HOST     /* it was held back on the host */
} acui_how;

/* A child of the submission (op/child.h). */
typedef struct acui_child_record {
    struct acui_child_record *next;
    acui_child *child; /* NULL: its plan is gone */
    int number, parent; /* from 1 on; that of the one around it, 0: there is none */
    acui_child_kind kind;
    const char *name;  /* of the kind of op; static */
    acu_site site;
    bool failed;       /* these are known when its plan goes */
    acui_turn turn;
} acui_child_record;

/* An op that an AWAIT stands for. */
typedef struct acui_awaited_record {
    struct acui_awaited_record *next;
    const char *name; /* of the kind of op; static */
    acu_site site;
    bool own;         /* this submission has planned it */
} acui_awaited_record;

typedef struct acui_wait_record {
    const acui_point *point;             /* only compared, until the task is over */
    const struct acui_task_record *part; /* of the same submission; NULL: of another one */
    const char *file;                    /* of its first operation; NULL: not known */
    int line;
    uint64_t owner; /* the number of its submission; 0: it is of none */
    /* `data`: the part reads what that wrote; `wished`: the program asked for this; `memory`: that
     * makes memory. */
    bool data, wished, memory;
    bool load;          /* that is the load of a module, or of a library; */
    const char *loaded; /* ... of this; NULL: not known */
    acui_how how;
    uint64_t stream;
} acui_wait_record;

typedef struct acui_node_record {
    acui_node_kind kind;
    const char *name;
    acu_site site;
    bool first;        /* in the prologue: it makes memory */
    uint32_t position; /* its position in the part's body */
    uint32_t *before;  /* those right before it, as indices of part->nodes */
    uint32_t before_count;
} acui_node_record;

typedef struct acui_run_record {
    struct acui_run_record *next;
    uint32_t from, count; /* position of its first node in the body; how many */
    bool issued;
    bool hit;         /* an executable graph of the cache served it; else: */
    const char *why;  /* else: why not */
    uint32_t set;     /* nodes whose parameters were set */
    uint32_t streams; /* over which its branches were spread */
} acui_run_record;

typedef struct acui_task_record {
    struct acui_task_record *next;
    int number; /* from 1 on */
    /* The first node that does not make memory: its name, where it was made, and how many nodes are
     * behind it; and of what kind all of these are. */
    const char *name, *kind;
    acu_site site;
    uint32_t more;
    int child;  /* the number of the innermost that it is in; 0: of none */
    const acui_point *point;
    int device;
    bool host;
    uint64_t stream, signal;               /* once it is issued */
    uint64_t id;                           /* in this process */
    size_t together;                       /* tasks that were issued as one with it, and it */
    pid_t issuer;                          /* the thread that issued it */
    uint64_t entered, issue, issued, over; /* `issue`: when issuing began */
    uint64_t began, ended;                 /* on the device, if it had timing events */
    CUevent begin, end;                    /* these; the device's (timing.c); NULL: it has none */
    bool spared;                           /* it has none because enough parts had in that moment */
    acui_node_record *nodes; /* in their order */
    acui_awaited_record *awaited; /* of an AWAIT */
    acui_wait_record *waits; /* as its dependencies */
    uint32_t node_count, wait_count;
    uint32_t wait_at;        /* the wait that was looked for last */
    acui_run_record *runs, **runs_end, *run_at; /* likewise */
} acui_task_record;

typedef struct acui_record {
    pthread_mutex_t lock; /* a leaf; taken under the order lock too; by acui_record_lock only */
    acui_arena arena;
    acui_task_record *parts, **end;
    int count;
    acui_child_record *children, **children_end; /* that parts are in; those around come first */
    int child_count;
    acui_task_record **table; /* many parts by their points: open addressing, a power of two in */
    uint32_t room;            /* size; 0: they are few */
    bool asked;               /* by the program, for acu_explain; else it is for the trace */
    uint64_t number;          /* of the submission, as `owner` of a point; 0: it has no tasks */
    pid_t thread;             /* the thread that planned it */
    uint64_t composed, planned, over;
    uint32_t flying, flying_then; /* submissions in flight, with it and when it was over */
    acu_status status;
} acui_record;

/* Whether a submission needs a record. */
static inline bool acui_record_wanted(const acu_submit_options *options)
{
    return options->explain || acui_tracing();
}

/* Whether the program asked for the record; one that is for the trace must change nothing. */
static inline bool acui_record_asked(const acui_submission *submission)
{
    return submission->record && submission->record->asked;
}

acui_record *acui_record_new(const acu_submit_options *options); /* NULL: no memory (record set) */
void acui_record_free(acui_record *record);                      /* NULL is fine */

/* The program may look at a record that it asked for at any time. One that is for the trace is read
 * when it is over; until then each piece of it is one thread's at a time: what is planned the
 * planning thread's, a part its issuer's and then the thread's that sees its end. */
static inline void acui_record_lock(acui_record *record)
{
    if (record->asked)
        pthread_mutex_lock(&record->lock);
}

static inline void acui_record_unlock(acui_record *record)
{
    if (record->asked)
        pthread_mutex_unlock(&record->lock);
}

/* These do nothing for tasks that have no record. */
void acui_record_tasks(acui_submission *submission, acui_task *tasks); /* the tasks were made */
void acui_record_waits(acui_task *tasks); /* the tasks were entered; order lock held */
void acui_record_wait(const acui_task *task, const acui_point *point, uint64_t stream,
                      acui_how how);
void acui_record_run(const acui_task *task, const acui_run *run, const acui_run_record *how);
void acui_record_issue(const acui_task *task); /* issuing it, or running it on the host, begins */
void acui_record_issued(const acui_task *task, size_t count); /* as one with so many, itself too */
void acui_record_task_over(const acui_task *task); /* its point is over; not under a lock */
void acui_record_planned(const acui_submission *submission); /* all its tasks are entered */
void acui_record_children(const acui_submission *submission); /* its plan is about to go */
void acui_record_over(const acui_submission *submission);     /* its future is about to resolve */

/* ---- timing.c: when a part began and ended on its device ---- */
/* The task's stream is the issuer's alone, and what comes next is the task's work, or its
 * signal. */
void acui_timing_begin(const acui_task *task);
void acui_timing_end(const acui_task *task);
/* The part was over at that time: when it ran, by the host's clock; 0: not known. Driver calls, so
 * not under a lock. */
typedef struct acui_ran {
    uint64_t began, ended;
} acui_ran;
acui_ran acui_timing_read(const acui_task *task, uint64_t over);
void acui_timer_drop(acu_device *device); /* entered, or lost, and about to go */

/* ---- trace.c: records for the trace ---- */
void acui_trace_submission(const acui_submission *submission); /* it is over, and has a record */
/* Meanwhile this thread did something for the future: `what` is "callback", say, and static. NULL:
 * for no future in particular. */
void acui_trace_span(const char *what, acu_future *future, uint64_t from, uint64_t to);

#endif
