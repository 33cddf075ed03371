/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The record of a submission that is to be explained: its parts (one for each task), what they came
 * behind, and how they went to the device. It outlives the plan, so it has copies of everything. If
 * there is no memory for a piece of it, the record lacks that piece, and nothing else happens.
 */
#ifndef ACUI_ENGINE_STORY_H
#define ACUI_ENGINE_STORY_H

#include "engine/engine.h"

typedef enum acui_how { /* how a part came behind something */
    ACUI_HOW_OPEN,      /* not issued yet */
    ACUI_HOW_OVER,      /* that was over by then */
    ACUI_HOW_STREAM,    /* on the same stream: nothing to do */
    ACUI_HOW_IMPLIED,   /* an earlier wait between the two streams implies it */
    ACUI_HOW_EVENT,     /* its stream waits for an event */
    ACUI_HOW_HOST       /* it was held back on the host */
} acui_how;

typedef struct acui_told_wait {
    struct acui_told_wait *next;
    const acui_point *point; /* only compared, until the task is over */
    const struct acui_told_part *part; /* of the same submission; NULL: of another one */
    const char *file;        /* of its first operation; NULL: not known */
    int line;
    /* `data`: the part reads what that wrote; `wished`: the program asked for this; `memory`: that
     * makes memory. */
    bool data, wished, memory;
    bool load;                 /* that is the load of a module */
    acui_how how;
    uint64_t stream;
} acui_told_wait;

typedef struct acui_told_node {
    struct acui_told_node *next;
    acui_node_kind kind;
    const char *name;
    acu_site site;
    bool first;       /* in the prologue: it makes memory */
    uint32_t place;   /* its place in the part's body */
    uint32_t *before; /* places of those right before it in the part */
    uint32_t before_count;
} acui_told_node;

typedef struct acui_told_run {
    struct acui_told_run *next;
    uint32_t from, count; /* place of its first node in the body; how many */
    bool issued;
    bool hit;             /* an executable graph of the cache served it; else: */
    const char *why;      /* else: why not */
    uint32_t set;         /* nodes whose parameters were set */
    uint32_t streams;     /* over which its branches were spread */
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

/* These do nothing for tasks that have no record. */
void acui_story_tasks(acui_submission *submission, acui_task *tasks); /* the tasks were made */
void acui_story_waits(acui_task *tasks); /* the tasks were entered; order lock held */
void acui_story_wait(const acui_task *task, const acui_point *point, uint64_t stream, acui_how how);
void acui_story_run(const acui_task *task, const acui_run *run, const acui_told_run *told);
void acui_story_issued(const acui_task *task);

#endif
