/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The record of a submission that is to be explained: its parts, what they came behind, and how
 * they went to the device. It outlives the plan, so it has copies of all. Without memory for a
 * piece the record lacks it, and nothing else happens.
 */
#ifndef ACUI_ENGINE_STORY_H
#define ACUI_ENGINE_STORY_H

#include "engine/engine.h"

typedef enum acui_how { /* a part came behind something */
    ACUI_HOW_OPEN,      /* not issued yet */
    ACUI_HOW_OVER,      /* which was over by then */
    ACUI_HOW_STREAM,    /* on the same stream: nothing to do */
    ACUI_HOW_IMPLIED,   /* an earlier wait between these streams says it all */
    ACUI_HOW_EVENT,     /* by a wait for an event */
    ACUI_HOW_HOST       /* on the host, before it was issued */
} acui_how;

typedef struct acui_told_wait {
    struct acui_told_wait *next;
    const acui_point *point; /* only to be compared, until the task is over */
    const struct acui_told_part *part; /* of the same submission; NULL: of another one */
    const char *file;        /* of the first operation of what it came behind; NULL: not known */
    int line;
    bool data, wished, memory; /* it reads what that wrote; it was asked for; the memory's making */
    bool load;                 /* of a module */
    acui_how how;
    uint64_t stream;
} acui_told_wait;

typedef struct acui_told_node {
    struct acui_told_node *next;
    acui_node_kind kind;
    const char *name;
    acu_site site;
    bool first;       /* put in front: it makes memory */
    uint32_t place;   /* in the part's body */
    uint32_t *before; /* places of those that it comes behind in the part */
    uint32_t before_count;
} acui_told_node;

typedef struct acui_told_run {
    struct acui_told_run *next;
    uint32_t from, count; /* places in the body */
    bool issued;
    bool hit;             /* an executable graph of the cache served it; else: */
    const char *why;      /* ... why not */
    uint32_t set;         /* nodes whose parameters were set */
    uint32_t streams;     /* that branches were spread over */
} acui_told_run;

typedef struct acui_told_part {
    struct acui_told_part *next;
    int number; /* from 1 on */
    const acui_point *point;
    int device;
    bool host;
    bool issued;
    uint64_t stream, mark; /* once it is issued */
    acui_told_node *nodes, **nodes_end;
    acui_told_wait *waits;
    acui_told_run *runs, **runs_end;
} acui_told_part;

typedef struct acui_story {
    pthread_mutex_t lock; /* a leaf; taken under the order lock too */
    acui_arena arena;
    acui_told_part *parts, **end;
    int count;
} acui_story;

acui_story *acui_story_new(void); /* NULL: no memory (record set) */
void acui_story_free(acui_story *story);

/* Each of these does nothing for tasks that have no record. */
void acui_story_tasks(acui_submission *submission, acui_task *tasks); /* they were cut */
void acui_story_waits(acui_task *tasks); /* they were entered; order lock held */
void acui_story_wait(const acui_task *task, const acui_point *point, uint64_t stream, acui_how how);
void acui_story_run(const acui_task *task, const acui_run *run, const acui_told_run *told);
void acui_story_issued(const acui_task *task);

#endif
