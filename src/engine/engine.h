/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The engine: submissions in flight. Here are its tasks and submissions, and its locks. There is a
 * folder, a room, for each stage, and a file for each step. What other folders call is in the
 * header with the folder's name (submit/submit.h, and so on; completion/complete.h, and future.h
 * beside this file), unless one is named below. What it keeps of each device is in device.h.
 *
 * Includes go one way: report <- flight <- order <- issue <- host <- completion <- submit. What
 * goes round is in upward.h: all calls to a room that stands further right.
 *
 * submit/: from an op to tasks, and what the program calls for that
 *   open.c      makes what is kept of a device, and tears it down
 *   runtime.c   hands a submission over to a thread of its device, which does the rest
 *   submit.c, sync.c, schedule.c, host_copy.c   acu_submit, and what submits likewise
 *   use.c       work that the program issues itself, in turn with the rest
 *   after.c     orders submissions that share no data
 *   standalone.c  makes a plan that is kept for a graph instead of run
 *   enter.c     makes tasks of what is planned, and enters them
 *   tasks.c     cuts a plan, a flat list of nodes, into tasks
 *   edges.c     finds what comes before what inside a task
 *   reuse.c     finds which temporaries of a task have the same memory, one after the other
 *   runs.c      finds which pieces of a task a graph can hold
 * order/: when a task's turn comes, and what a failure means
 *   submission.c  what all rooms need of submissions
 *   order.c     enters tasks behind what used their data
 *   find.c      finds the tasks of a submission that have given nodes
 *   fail.c      what a failure means: for tasks, for or_else, finally, and ops that others use, and
 *               for what is on the device already
 * issue/: onto the device
 *   admit.c     makes tasks wait on the host while too much is in flight
 *   memory.c, holder.c   get a task its memory, or make it wait for memory on the host: memory.h
 *   issue.c     puts a task on its stream once its predecessors are on the device: behind waits
 *               for these, and before one signal
 *   dispatch.c, dispatch_thread.c  a device's queue of ready tasks, and who issues them
 *   batch.c     which of these go as one
 *   lanes.c     issues a run directly, its branches on several streams
 *   graphs.c, key.c, exec.c, build.c   issue a run as an executable graph that is kept for its
 *               signature
 *   enqueue.c   makes the driver call of a node, or its few calls
 *   capture.c   captures what a call enqueues, for an explicit graph
 *   blame.c     the operation to blame for the loss of a device
 * flight/: what is on the device, and when it pays to look: flight.h, timing.h
 *   flight.c    streams and their tasks
 *   due.c, lengths.c, blocked.c   when to look
 *   signature.c, pace.c   the signature of a task, and how many of a signature may be issued as one
 * host/: what other threads do
 *   worker.c    host tasks, once their predecessors are over
 *   async.c     host work that ends later than its function returns
 *   aside.c     threads for what blocks in the system
 *   staging.c, move.c, ring.c   copies of pageable memory, by helper threads
 * completion/: who finds out, and who is told
 *   complete.c  what the device has finished: followers start, the submission ends
 *   ready.c     runs a task whose turn has come, and whatever becomes ready by this
 *   cancel.c    gives a submission up before it is over
 *   deadline.c  gives it up because it is too late
 *   late.c      calls of libraries that are on the device, and that fail there
 *   future.c, values.c, wait.c, queue.c, group.c   how the program learns of it
 *   backlog.c   waits until what was submitted to a stream is on it
 *   load.c      modules as futures
 *   reactor.c   the thread that looks while nobody else does
 * report/: for people
 *   record.c, explain.c   what became of a submission
 *   timing.c, trace.c    when it ran on the device; its record as part of a trace
 *   metrics.c   how many submissions and operations there were; all counters as text
 *
 * Locks, in the order in which they may be taken: a stream's issue lock; the lock of tasks that ask
 * for memory again (`again` in issue/memory.c); the lock of threads that give memory back
 * (memory/trim.c), under which driver calls are made too. Then, each alone or as a leaf: order
 * locks, of several devices in the order of their ordinals (memory/access.h), a device's flight
 * lock (flight/flight.h), a stream's timeline lock, the deadline lock, a future's lock.
 * Functions of the program are called with none of them held.
 *
 * "The order lock", said of something, is that of its home: of a task, a point and what is counted
 * of a stream or a device, that device's; of a submission and its children, `home`. A thread that
 * deals with a task takes those of task->homes: of these, and of what it comes behind.
 */
#ifndef ACUI_ENGINE_ENGINE_H
#define ACUI_ENGINE_ENGINE_H

#include "engine/device.h"
#include "op/op.h"
#include "op/child.h"
#include "op/plan.h"
#include "op/import.h"

#include <acuda/future.h>

typedef struct acui_submission acui_submission;
typedef struct acui_task acui_task;
typedef struct acui_own_work acui_own_work; /* host/host.h */

/* One point that a task comes after. While the task waits for it, this is linked to the point. */
typedef struct acui_dependency {
    acui_point *point; /* retained */
    bool wished;       /* the program asked for this order, data or not */
    bool data;         /* the task reads what the point wrote, and fails with it */
    bool of_outcome;   /* the point is part of a shared op that an AWAIT task stands for: if it
                        * fails, the task fails with the same fault */
    bool vague;        /* there was no memory for a piece of it: any of its bytes may matter */
    bool over;         /* the task waits until the point is over, not just issued */
    acui_task *task;
    const acui_imported *imported; /* such an op; NULL: none. In the plan's arena */
    struct acui_dependency *next; /* of point->followers; order lock */
} acui_dependency;

/* A piece of a task that is issued in one way: nodes that a graph can hold, or nodes that it cannot
 * hold. */
typedef struct acui_run {
    struct acui_run *next;
    acui_node **nodes; /* a part of the task's body */
    uint32_t count;
    bool graph; /* a graph can hold all of it, and is worth making */
    bool wide;  /* it has branches */
    bool calls; /* it has calls of libraries, which are captured */
    struct acui_exec *exec;  /* the graph that runs it; held until the task is over */
} acui_run;

/* What became of a task besides what its point tells (PENDING, ISSUED, OVER). */
typedef enum acui_course {
    ACUI_COURSE_OPEN,    /* it may still be issued or begun; or it was issued */
    ACUI_COURSE_BEGUN,   /* from OPEN: host work that is running, or has run */
    ACUI_COURSE_RETIRED, /* from OPEN or BEGUN: it will not be issued, nor go on; it is over once
                          * everything before it is */
} acui_course;

/* How a task gets onto its device (issue/dispatch.h). */
typedef enum acui_way {
    ACUI_WAY_DIRECT, /* issued by the thread that makes it ready */
    ACUI_WAY_QUEUE,  /* it may be queued, for another thread to issue */
    ACUI_WAY_BATCH,  /* ... which may issue it as one with others */
} acui_way;

/*
 * A piece of a submission that is ordered and issued as one: consecutive nodes on one device, or
 * one host call. On its stream it stands behind the waits for its predecessors and before its
 * signal; its branches may take other streams in between. Lives as long as its submission is open.
 *
 * At any time one thread has it, or a list does:
 *
 *   while it is    that is
 *   planned        the thread that plans; it makes it, lays it out, and enters it (order.c)
 *   pending        the points that it waits for, under the order lock
 *   ready          the thread that ended the last of these waits, and runs it (ready.c); or the
 *                  list where it is left: a device's queue (dispatch.c), at a gate (admit.c),
 *                  short of memory (memory.c), of the worker or the helpers (host/), each under
 *                  its own lock
 *   in flight      from its signal on, the stream's list (flight.c), under the flight lock
 *   over           the thread that found it over (complete.c)
 *
 * Host work is never in flight: who runs it also finds it over. A task that is retired is pending
 * once more, and then over. "Whoever has it" below is that thread, or who holds that lock. What is
 * in no group is written by the thread that plans, and fixed once the task is entered, unless
 * something else is said. Its flags, all false at first:
 *
 *   flag             set by                       read by           false again when
 *   on_stream        acui_enter_on_stream         who enters it     never
 *   prompt           acui_enter_tasks             any               never
 *   binds            take_in                      whoever has it    its kernels are bound
 *   sound            acui_enter_tasks; find_sound whoever has it    it has to wait
 *   order.awaited    publish_one                  who issues it     never
 *   memory.expected  acui_memory_expect           whoever has it    never
 */
struct acui_task {
    acui_submission *submission;
    acui_task *next;       /* of the submission; order lock */
    acui_task *next_listed; /* of the list that it is in, ready, waiting or in flight (there, in the
                             * order of their signals on the stream); whoever has it */
    acui_point *point;
    acui_homes homes;   /* whose order locks whoever deals with it takes: its own, its submission's,
                         * and those of what it comes behind; fixed once entered */
    acu_device *device; /* of the nodes; held by the plan */
    acu_stream *stream; /* of the submission's lane; NULL for a host task */
    acui_child *child;  /* that all its nodes are in; NULL: none */
    acui_shared_point *shared; /* its entry in an op with other users, if it is part of one */
    acui_node *first;
    size_t count;
    acui_node **nodes; /* all, in order */
    acui_node **body;  /* without the prologue (the same array if there is none); cut into: */
    acui_run *runs;
    uint32_t body_count;
    uint32_t followed;   /* the first node of the first later task of the submission that comes
                          * behind it because the program asked for that; 0: none so far. By the
                          * thread that plans, also later */
    struct {             /* the same; see pass_implied */
        acui_task *next; /* NULL: not known */
        uint32_t end;    /* all before `next` are followed by nodes before this one */
    } implied;

    acui_piece *pieces;  /* in the arena. `through`: bytes that stay as a point left them if the
                          * task is passed over; `reads`: bytes that it reads of points that may be
                          * passed over */
    acui_dependency *dependencies; /* array in the arena: what it comes behind */
    size_t dependency_count, dependency_room;
    struct acui_task_record *record; /* its record; NULL: the submission is not to be explained */
    uint64_t signature; /* 0: not known yet; once it is in flight, under the flight lock */
    uint64_t number;    /* its signal on the stream; by whoever issues it */

    bool on_stream;   /* its work was on the stream before it was entered */
    bool prompt;      /* a thread waits for its end at once */
    uint8_t way;      /* an acui_way; whoever has it. DIRECT again if its submission is given up */
    bool binds; /* some kernels were not loaded when it was planned */
    bool sound; /* nothing stood against it when it became ready: no failure, not given up */

    struct { /* order lock, from when it is entered; `course`: whoever has it may read it without */
        /* Predecessors that it still waits for. Raised with the locks of all of these held, and
         * lowered with that of one, with acquire and release. */
        _Atomic(uint32_t) pending;
        uint8_t backlog;  /* 1 + its epoch in the stream's backlog; 0: it is not in it */
        uint8_t course;   /* an acui_course */
        bool awaited;     /* when its signal was made, some follower waited until it is over */
        acui_fault *fault; /* why it failed: it is not issued, or not completely; NULL: it has
                            * not */
    } order;

    struct { /* admit.c; whoever has it */
        uint32_t charged; /* places that it has in its stream's gate, besides one */
        uint8_t passed;   /* gates that it has passed */
        uint8_t epoch;    /* the epoch in which its device counts it; fixed when it is entered */
    } gates;

    struct { /* issue/memory.h; whoever has it */
        struct acui_holder *holder; /* the counter in which it counts as getting memory; NULL:
                                     * it does not */
        acu_pool *short_of; /* the pool in whose line it waits, or has waited; NULL: in none. A
                             * buffer of the plan holds it */
        uint64_t tried_at;  /* LAST: what `events` (memory.c) was before */
        uint8_t state;      /* an acui_memory_state */
        bool expected; /* when it became ready, its submission might already have had memory */
    } memory;

    struct { /* flight lock, from when it is in flight: flight.h */
        uint64_t issued_at; /* when its signal was made */
    } flight;
};

/* What a record says of the task: the first node that does more than make memory, or else its
 * first. */
static inline const acui_node *acui_task_subject(const acui_task *task)
{
    return task->body_count ? task->body[0] : task->first;
}

/* Whether it has a prologue: it makes memory. */
static inline bool acui_task_makes(const acui_task *task)
{
    return task->body != task->nodes;
}

/* Makes new memory, or fills it from the host's. Comes behind nothing in its task, and is issued
 * first. */
static inline bool acui_is_prologue(const acui_node *node)
{
    return node->kind == ACUI_NODE_ALLOC || node->kind == ACUI_NODE_UPLOAD;
}

/* Runs on the host: a task of its own, without a stream. */
static inline bool acui_is_on_host(const acui_node *node)
{
    return node->kind == ACUI_NODE_HOST || node->kind == ACUI_NODE_DECIDE ||
           node->kind == ACUI_NODE_STAGE || node->kind == ACUI_NODE_AWAIT;
}

/* The stream that a submission uses for one device, or for calls that have their own. */
typedef struct acui_lane {
    acu_device *device; /* held by the stream */
    acu_stream *stream; /* retained */
    bool own;           /* of such calls (acui_own_stream) */
} acui_lane;

#define ACUI_MAX_LANES 16

/* How far its planning has come. */
typedef enum acui_planned {
    ACUI_PLANNING,  /* more nodes may follow those that are entered */
    ACUI_PLANNED,   /* from PLANNING: the next nodes that are entered are the last */
    ACUI_SUBMITTED, /* from PLANNED: all are entered; its end decides the future's outcome */
    ACUI_ABANDONED, /* from PLANNED: it failed there; somebody else decides the outcome */
} acui_planned;

/*
 * A submission in flight. The thread that plans makes it, and alone has it until its first tasks
 * are entered. From then on the groups say under which lock a field is written; whoever closes it
 * (acui_submission_close), once all tasks are over, reads everything without. Its flags, which do
 * not become false again:
 *
 *   flag                   set by                    read by
 *   asked.warm             acui_submission_new       any
 *   planning.*             the thread that plans     that thread
 *   order.sealed           acui_enter_nodes          order lock
 *   order.hosts            acui_enter_tasks          order lock
 *   order.makes            acui_enter_tasks          any
 */
struct acui_submission {
    acui_plan plan; /* first: acui_enter_nodes finds the submission by its plan */
    _Atomic(uint32_t) refs;      /* the future's, and that of the submission in flight itself,
                                  * unless a thread waits for it at once */
    _Atomic(uint32_t) open;      /* tasks not over, plus one while it is planned. A thread that has
                                  * the future can hold it open too (acui_submission_hold), as a
                                  * list can: see ACUI_LISTED in base/object.h */
    acu_future *future;          /* retained until resolved, unless it is `waited`; NULL: nobody
                                  * asks */
    struct acui_record *record;  /* NULL: nobody will ask */

    struct { /* by the program; fixed */
        acu_policy *policy; /* retained; may be NULL */
        acu_stream *stream; /* retained; may be NULL */
        const char *name;   /* in the same block of memory; "": none */
        int priority;       /* of its streams, if neither is given; 0: the device's own */
        bool warm;          /* graphs for its signatures are made at once */
    } asked;

    acui_lane *lanes; /* fixed, like their number, once the future is given out */
    uint32_t lane_count;
    /* Cancelled, or too late: the future has its outcome; what is not issued yet never will be. */
    _Atomic(acui_fault *) given_up; /* why; release store, acquire load */
    acui_lane first_lane; /* room for the first; most have no other */
    acui_task *first_task, *last_task; /* order lock, from when some are entered */

    struct { /* by the thread that plans, for itself */
        acui_submission *outer; /* the one whose `then` submitted this one; NULL: none */
        acui_node *entered;     /* the last node that belongs to a task */
        acui_fault *out_of_order; /* why a part of it could not be entered when that was due: so it
                                   * will be refused */
        struct acui_task_index *index;  /* of find.c; transient; NULL: not needed so far */
        uint8_t stage;     /* an acui_planned */
        bool shares;       /* some task made so far is in a child */
        bool serial;       /* its policy has one stream: branches run in order too */
    } planning;

    struct { /* holder.c: what the thread that plans keeps of memory that a task has */
        _Atomic(struct acui_holder *) holder;
        acu_device *device; /* of that task, borrowed */
    } memory;

    struct { /* order lock */
        acui_fault *fault; /* the first failure; NULL: none */
        uint32_t to_issue; /* tasks for devices that are neither issued nor over */
        bool sealed; /* no more tasks will be entered */
        bool hosts;  /* some task is host work */
        _Atomic(bool) makes; /* some task has a prologue; also read without; relaxed */
    } order;

    acui_homes home; /* whose order lock guards `order`: of its first task; fixed once entered */
    /* Its last signal, if it has one lane only; flight lock of that device. If it has several,
     * nobody asks, and each of their devices writes it: so relaxed. */
    _Atomic(uint64_t) last_number;
};

static inline bool acui_submission_makes(const acui_submission *submission)
{
    return atomic_load_explicit(&submission->order.makes, memory_order_relaxed);
}
static inline uint32_t acui_task_pending(const acui_task *task)
{
    return atomic_load_explicit(&task->order.pending, memory_order_relaxed);
}

/* Why it was given up; NULL: it was not. */
static inline acui_fault *acui_gave_up(const acui_submission *submission)
{
    return atomic_load_explicit(&submission->given_up, memory_order_acquire);
}

#endif
