/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The engine: submissions in flight. Data flows one way, through a folder for each stage and a file
 * for each step:
 *
 * submit/: from an op to tasks
 *   runtime.c, handover.c   hand a submission over to a thread of its device, which does the rest
 *   submit.c    makes an op into a plan: a flat list of nodes
 *   alone.c     makes a plan that is kept for a graph instead of run
 *   tasks.c     cuts the list into tasks
 *   edges.c     finds what comes before what inside a task
 *   runs.c      finds which pieces of a task a graph can hold, and what form they have
 * order/: when a task's turn comes, and what a failure means
 *   order.c     enters tasks behind what touched their data
 *   after.c     orders submissions that share no data
 *   ready.c     runs a task whose turn has come, makes it fail, or passes over it
 *   use.c       work that the program issues itself, in turn with the rest
 *   parts.c     what a failure means: or_else and finally
 *   cancel.c    gives a submission up before it is over
 *   deadline.c  gives it up because it is too late
 * issue/: onto the device
 *   backlog.c   waits until what was submitted to a stream is on it
 *   admit.c     makes tasks wait on the host while too much is in flight
 *   memory.c, kept.c   get a task its memory, or make it wait for memory on the host: memory.h
 *   issue.c     puts a task on its stream once its predecessors are on the device: behind waits
 *               for these, and before one mark
 *   batch.c, deferred.c   defer small tasks, to issue those of one form as a batch: batch.h
 *   issuer.c    a thread that issues deferred tasks while other threads plan
 *   lanes.c     issues a run directly, its branches on several streams
 *   graphs.c, exec.c, build.c   issue a run as an executable graph that is kept for its form
 *   enqueue.c   makes the driver call of a node, or its few calls
 * host/: what other threads do
 *   worker.c    host tasks, once their predecessors are over
 *   staging.c, move.c, ring.c   copies of pageable memory, by helper threads
 *   load.c      modules as futures
 * completion/: who finds out, and who is told
 *   complete.c  what the device has finished: followers start, the submission ends
 *   future.c, values.c, wait.c, done.c, queue.c, group.c   how the program learns of it
 *   host_copy.c waiting copies to and from bare pointers
 *   flight.c, due.c, lengths.c, between.c, blocked.c   when it pays to look: timing.h
 *   reactor.c   the thread that looks while nobody else does
 * report/: for people
 *   story.c, explain.c   what became of a submission
 *   suspect.c   the operation to blame for the loss of a device
 *   counters.c  how many submissions and operations there were
 *
 * Locks, in the order in which they may be taken: a stream's issue lock; the lock of tasks that ask
 * for memory again (`again` in issue/memory.c); the lock of threads that give memory back
 * (memory/trim.c), under which driver calls are made too. Then, each alone or as a leaf: the order
 * lock (memory/access.h), the flight lock, a stream's timeline lock, the deadline lock, a future's
 * lock. Functions of the program are called with none of them held.
 */
#ifndef ACUI_ENGINE_ENGINE_H
#define ACUI_ENGINE_ENGINE_H

#include "op/op.h"
#include "op/part.h"
#include "op/plan.h"
#include "op/sharing.h"

#include <acuda/future.h>
#include <acuda/use.h>
#include <pthread.h>

typedef struct acui_submission acui_submission;
typedef struct acui_task acui_task;

/* One point that a task comes after. While the task waits for it, this is linked to the point. */
typedef struct acui_before {
    acui_point *point; /* retained */
    bool wished;       /* the program asked for this order, data or not */
    bool data;         /* the task reads what the point wrote, and fails with it */
    bool of_op;        /* the point is part of a shared op that an AWAIT task stands for */
    bool of_outcome;   /* of such an op: if the point fails, the task fails with the same fault */
    bool vague;        /* there was no memory for a piece of it: any of its bytes may matter */
    bool over;         /* the task waits until the point is over, not just issued */
    acui_task *task;
    struct acui_before *next; /* of point->followers; order lock */
} acui_before;

/* A piece of a task that is issued in one way: nodes that a graph can hold, or nodes that it cannot
 * hold. */
typedef struct acui_run {
    struct acui_run *next;
    acui_node **nodes; /* a part of the task's body */
    uint32_t count;
    bool graph; /* a graph can hold all of it, and is worth making */
    bool wide;  /* it has branches */
    struct acui_exec *exec;  /* the graph that runs it; held until the task is over */
} acui_run;

/* What became of a task besides what its point tells (PENDING, ISSUED, OVER). */
typedef enum acui_course {
    ACUI_COURSE_OPEN,    /* it may still be issued or begun; or it was issued */
    ACUI_COURSE_BEGUN,   /* from OPEN: host work that is running, or has run */
    ACUI_COURSE_RETIRED, /* from OPEN or BEGUN: it will not be issued, nor go on; it is over once
                          * everything before it is */
} acui_course;

/*
 * A piece of a submission that is ordered and issued as one: consecutive nodes on one device, or
 * one host call. On its stream it stands behind the waits for its predecessors and before its mark;
 * its branches may take other streams in between. Lives as long as its submission is open.
 *
 * At any time one thread has it, or a list does:
 *
 *   while it is    that is
 *   planned        the thread that plans; it makes it, lays it out, and enters it (order.c)
 *   pending        the points that it waits for, under the order lock
 *   ready          the thread that ended the last of these waits, and runs it (ready.c); or the
 *                  list where it is left: deferred (deferred.c), at a gate (admit.c), short of
 *                  memory (memory.c), of the worker or the helpers (host/), each under its own lock
 *   in flight      from its mark on, the stream's list (flight.c), under the flight lock
 *   over           the thread that found it over (complete.c)
 *
 * Host work is never in flight: who runs it also finds it over. A task that is retired is pending
 * once more, and then over. "Whoever has it" below is that thread, or who holds that lock. What is
 * in no group is written by the thread that plans, and fixed once the task is entered, unless
 * something else is said. Its flags, all false at first:
 *
 *   flag             set by                       read by           false again when
 *   conditional      new_task                     any               never
 *   makes            take_in                      any               never
 *   placed           acui_enter_placed            who enters it     never
 *   prompt           enter_tasks                  any               never
 *   deferrable       acui_batch_stream            whoever has it    its submission is given up
 *   batchable        acui_batch_stream            whoever has it    its submission is given up
 *   binds            take_in                      whoever has it    its kernels are bound
 *   sound            enter_tasks; is_plain        whoever has it    it has to wait
 *   order.failed     acui_task_fail, and others   order lock        never
 *   order.awaited    publish_one                  who issues it     never
 *   memory.expected  acui_memory_expect           whoever has it    never
 */
struct acui_task {
    acui_submission *submission;
    acui_task *next;       /* of the submission; order lock */
    acui_task *next_ready; /* of the list of ready or waiting tasks that it is in; whoever has it */
    acui_point *point;
    acu_device *device; /* of the nodes; held by the plan */
    acu_stream *stream; /* of the submission's lane; NULL for a host task */
    acui_sharing *sharing; /* an op with other users that all its nodes are part of; NULL: none */
    acui_shared_point *shared; /* for each op with other users around it: spare, until it is
                                * entered */
    acui_part *part;       /* that all its nodes are in; NULL: none */
    acui_node *first;
    size_t count;
    acui_node **nodes; /* all, in order */
    acui_node **body;  /* without the prologue (the same array if there is none); cut into: */
    acui_run *runs;
    uint32_t body_count;
    uint32_t operations; /* how many of its nodes count as operations */

    acui_piece *pieces;  /* in the arena. `through`: bytes that stay as a point left them if the
                          * task is passed over; `reads`: bytes that it reads of points that may be
                          * passed over */
    acui_before *before; /* array in the arena: what it comes behind */
    size_t before_count, before_room;
    struct acui_told_part *told; /* its record; NULL: the submission is not to be explained */
    uint64_t form;   /* 0: not known yet; once it is in flight, under the flight lock */
    uint64_t number; /* its mark on the stream; by whoever issues it */

    bool conditional; /* it runs only if something else failed */
    bool makes;       /* it has a prologue: it makes memory */
    bool placed;      /* its work was on the stream before it was entered */
    bool prompt;      /* a thread waits for its end at once */
    bool deferrable;  /* it may be deferred, for another thread to issue (batch.h) */
    bool batchable;   /* it may be issued as one with others, too */
    bool binds; /* some kernels were not loaded when it was planned */
    bool sound; /* nothing stood against it when it became ready: no failure, not given up */

    struct { /* order lock, from when it is entered; `course`: whoever has it may read it without */
        uint32_t pending; /* predecessors that it still waits for */
        uint8_t backlog;  /* 1 + its side of the stream's backlog; 0: it is not in it */
        uint8_t course;   /* an acui_course */
        bool failed;      /* it is not issued, or not completely */
        bool awaited;     /* when its mark was made, some follower waited until it is over */
        acui_fault *fault; /* why it failed; NULL also for lack of memory */
        uint64_t looked;   /* the turn in which acui_task_wanted last met it; that one's list: */
        acui_task *next_look;
    } order;

    struct { /* admit.c; whoever has it */
        uint32_t charged; /* places that it has in its stream's gate, besides one */
        uint8_t passed;   /* gates that it has passed */
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
        uint64_t sequence;  /* place among all tasks that went to a device */
        uint64_t issued_at; /* when its mark was made */
        acui_task *next;    /* on the stream, in the order of their marks */
    } flight;
};

/* What a record says of the task: the first node that does more than make memory, or else its
 * first. */
static inline const acui_node *acui_task_subject(const acui_task *task)
{
    return task->body_count ? task->body[0] : task->first;
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

/* The stream that a submission uses for one device. */
typedef struct acui_lane {
    acu_device *device; /* held by the stream */
    acu_stream *stream; /* retained */
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
 *   order.failed           acui_parts_note           order lock
 *   order.sealed           acui_enter_nodes          order lock
 *   order.hosts, .shared   enter_tasks               order lock
 *   order.makes            enter_tasks               order lock, and the thread that plans
 *   given_up               acui_give_up              any: acui_gave_up
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
    struct acui_story *story;    /* NULL: nobody will ask */

    struct { /* by the program; fixed */
        acu_policy *policy; /* retained; may be NULL */
        acu_stream *stream; /* retained; may be NULL */
        const char *name;   /* in the same block of memory; "": none */
        int priority;       /* of its streams, if neither is given; 0: the device's own */
        bool warm;          /* graphs for its forms are made at once */
    } asked;

    acui_lane *lanes; /* fixed, like their number, once the future is given out */
    size_t lane_count;
    acui_lane first_lane; /* room for the first; most have no other */
    acui_task *first_task, *last_task; /* order lock, from when some are entered */

    struct { /* by the thread that plans, for itself */
        acui_submission *outer; /* the one whose `then` submitted this one; NULL: none */
        acui_node *entered;     /* the last node that belongs to a task */
        acui_fault *out_of_order_fault; /* why it is: NULL also for lack of memory */
        uint8_t stage;     /* an acui_planned */
        bool out_of_order; /* a part of it could not be entered when that was due: so it will be
                            * refused */
        bool shares;       /* some task made so far has a `sharing` */
        bool serial;       /* its policy has one stream: branches run in order too */
    } planning;

    struct { /* kept.c: what the thread that plans keeps of memory that a task has */
        _Atomic(struct acui_holder *) holder;
        acu_device *device; /* of that task, borrowed */
    } kept;

    struct { /* order lock */
        acui_fault *fault; /* of the first failure; NULL also for lack of memory */
        acu_status status; /* of that */
        uint32_t to_issue; /* tasks for devices that are neither issued nor over */
        bool failed;
        bool sealed; /* no more tasks will be entered */
        bool hosts;  /* some task is host work */
        bool makes;  /* some task has a prologue */
        bool shared; /* some task entered so far has a `sharing` */
    } order;

    uint64_t marked; /* its last mark, if it has one lane only; flight lock */

    /* Cancelled, or too late: the future has its outcome; what is not issued yet never will be. */
    _Atomic(bool) given_up;     /* release store, acquire load; publishes: */
    acui_fault *given_up_fault; /* why; NULL for lack of memory */
};

static inline bool acui_gave_up(const acui_submission *submission)
{
    return atomic_load_explicit(&submission->given_up, memory_order_acquire);
}

typedef enum acui_future_state {
    ACUI_FUTURE_SCHEDULED, /* not started */
    ACUI_FUTURE_STARTING,
    ACUI_FUTURE_RUNNING,
    ACUI_FUTURE_DONE
} acui_future_state;

typedef struct acui_notice { /* what a future tells of its end: a callback, a queue or a group */
    struct acui_notice *next;
    acu_future_fn fn; /* NULL: a completion for acu_queue_take */
    acu_user user;
    acu_future *future; /* retained */
    acu_queue *queue;   /* retained; NULL: the callback runs on the reactor */
    uint64_t tag;
    struct acu_group *group; /* retained; NULL: none. A group's notice is never called:
                              * acui_group_done deals with it at once */
} acui_notice;

enum { ACUI_RESULT_NONE, ACUI_RESULT_TAKEN, ACUI_RESULT_TENSOR, ACUI_RESULT_SCALAR };

#define ACUI_FEW_RESULTS 6 /* as many as most kernels have parameters */

typedef union acui_result {
    acu_tensor *tensor;
    uint64_t bits;
} acui_result;

/* What a future keeps of its values: tensors, also those of partitions (retained), and scalars.
 * Each has a kind: NONE (a struct), TAKEN, TENSOR, or SCALAR plus its dtype. */
typedef struct acui_results {
    size_t count;
    union {
        struct { acui_result list[ACUI_FEW_RESULTS]; uint8_t kinds[ACUI_FEW_RESULTS]; } few;
        struct { acui_result *list; uint8_t *kinds; } more; /* in one block */
    } u;
} acui_results;

static inline acui_result *acui_results_list(acui_results *results)
{
    return results->count <= ACUI_FEW_RESULTS ? results->u.few.list : results->u.more.list;
}

static inline uint8_t *acui_results_kinds(acui_results *results)
{
    return results->count <= ACUI_FEW_RESULTS ? results->u.few.kinds : results->u.more.kinds;
}

/* What a record says of a submission that is not planned yet: see acui_future_note. */
typedef struct acui_origin {
    acu_site site;
    const char *kind;        /* static: what it is called if it has no name */
    char name[ACUI_OP_NAME]; /* "": none */
} acui_origin;

/* OVER: the results took its place. */
enum { ACUI_ORIGIN_NONE, ACUI_ORIGIN_KNOWN, ACUI_ORIGIN_OVER };

/*
 * The outcome of a submission, or of a load. Other threads may know a future that is `early` before
 * it is DONE: it was given out, or handed over, or its deadline may put it on a queue. Nobody else
 * knows any other one until acu_submit returns it. Its flags, which do not become false again:
 *
 *   flag       set by                                    read by
 *   how.*      who makes it, or hands it over, before    any
 *              others know it
 *   dropped    drop_results; `lock`, if it is early      who gives it results; the same
 *   origin_is  acui_future_note before others know it;   who signs a record; `lock`, if it is early
 *              OVER with its results, as `dropped`
 *   told       acui_flight_want_future (seq_cst), and    any: acui_flight_is_told (seq_cst)
 *              acui_queue_prepare
 *   planned    acui_submission_started; release store    any; acquire load
 *   flagged    acui_flight_add; release store            who waits for it; acquire load
 *   called     who waits for it; seq_cst, as the state   acui_submission_started; seq_cst
 */
struct acu_future {
    acui_object object;
    _Atomic(uint32_t) handles; /* of the program and its callbacks: those who may ask for results */
    _Atomic(bool) told;    /* somebody wants to be told of its end */
    _Atomic(bool) planned; /* the submission is there, entered */
    _Atomic(bool) flagged; /* its submission is on one stream, and the device writes when it is
                            * over; publishes the lanes */
    _Atomic(bool) called;  /* a thread sleeps until it is RUNNING */
    bool dropped;          /* nobody will ask for results any more */
    uint8_t origin_is;     /* ACUI_ORIGIN_... */
    _Atomic(int) state; /* release store, acquire load. DONE publishes status and fault, which are
                         * written once, before, under the lock (resolve_waited: without it) */
    acu_status status;
    acui_fault *fault;
    acui_submission *submission; /* retained; set before RUNNING */
    acui_lock lock;      /* of results, notices and module */
    struct {
        bool early;    /* other threads may know it before its results are known */
        bool given;    /* the program had a handle */
        bool unwanted; /* nobody will ask for the values */
        bool waited;   /* the submitting thread waits for it at once. No other thread ever holds
                        * it; that one keeps it and its submission until it is done */
    } how;
    union {
        acui_results results;
        struct {
            size_t no_results;  /* 0 */
            acui_origin origin; /* of what will be planned, until it has results */
        };
    };
    char *context; /* of `origin`: as in a record; owned; NULL: none */
    acui_notice *notices;
    acu_module *module; /* of a load; owned */
    struct { /* acu_schedule, and then the thread that moves the state on from SCHEDULED */
        acu_op *op;         /* the taken op, to be submitted to: */
        acu_stream *stream; /* retained */
        bool serial;        /* `stream` is the only one of its policy */
    } scheduled;
    struct { /* to a runtime thread; fixed before that thread has it */
        _Atomic(struct acui_runtime *) runtime; /* sets RUNNING or DONE; release, acquire */
        uint64_t place;                         /* in its ring */
    } handed;
    struct {
        uint64_t at;  /* of acui_now; ACU_FOREVER: none. Fixed before it is submitted */
        size_t place; /* in the heap, from 1; 0: it is not there; the deadline lock */
    } deadline;
};

static inline acui_future_state acui_future_state_of(const acu_future *future)
{
    return (acui_future_state)atomic_load_explicit(&future->state, memory_order_acquire);
}

/* ---- submit/submit.c ---- */
/* Plan and submit a taken op. With `future`, its values and outcome go there; on failure the caller
 * still owns the future, and nothing refers to it. */
acu_status acui_submit_here(acu_device *device, acu_op *op, const acu_submit_options *options,
                            acu_stream *stream, acu_future *future);
/* The same, or hand it over to a runtime thread (runtime.h). Then it has not failed yet, but may
 * still fail: the future says so. */
acu_status acui_submit(acu_device *device, acu_op *op, const acu_submit_options *options,
                       acu_stream *stream, acu_future *future);
/* The device that the caller has named, by itself, by a policy or by a stream. NULL: the op's
 * tensors and kernels decide, or else it is the default device. */
acu_device *acui_submit_place(acu_device *device, const acu_submit_options *options,
                              acu_stream *stream);
acui_submission *acui_submission_new(const acu_submit_options *options, acu_stream *stream,
                                     acu_future *future);
void acui_submission_put(acui_submission *submission);
/* Whether this thread is planning the submission. If so, that stays open, and keeps its streams,
 * until it is done. */
bool acui_is_planning(const acui_submission *submission);
/* Enter what this thread has planned of a submission so far: it comes before what a callback does
 * now. If that fails, it never runs, and the submission fails when it has been planned. */
void acui_flush_planning(void);
/* acu_submit, with what is known about the future: `how`, ORed. `function` is what the program
 * called. */
enum {
    ACUI_UNWANTED = 1, /* nobody will ask it for values */
    ACUI_WAITED = 2    /* this thread waits for it at once */
};
acu_status acui_submit_public(acu_device *device, acu_op *op, const acu_submit_options *given,
                              unsigned how, const char *function, acu_future **future);

/* ---- submit/tasks.c ---- */
/* The plan's new nodes as tasks, laid out, not yet part of the submission. */
acu_status acui_make_tasks(acui_submission *submission, acui_task **tasks);
void acui_drop_tasks(acui_task *tasks); /* a list that was never entered */

/* ---- order/order.c ---- */
/* Make tasks of the plan's new nodes, enter them, and run those that are ready. */
acu_status acui_enter_nodes(acui_plan *plan);
/* Enter the plan's only node, which the program issues itself; unless it would have to wait on the
 * host (NOT_READY), or reads what was not computed (DEPENDENCY). */
acu_status acui_enter_ready(acui_submission *submission, acui_task **task);
/* The same for a node whose work is already on its stream, and comes behind nothing: what is
 * entered later comes behind it. */
acu_status acui_enter_placed(acui_submission *submission, acui_task **task);
/* Link the task to the predecessors that it must wait for on the host, until they are issued or,
 * with `over`, until they are over. Order lock held, as for the next two. */
void acui_link_before(acui_task *task, bool over);
/* The predecessor that makes the task fail: what it reads was not computed, what it stands for
 * failed, or memory that it needs is not there. NULL: none. */
const acui_before *acui_behind_failure(const acui_task *task);

/* ---- order/ready.c ---- */
/* The point has changed its state; `over`: it is over, not just issued. Returns the followers that
 * this frees, as a list. */
acui_task *acui_free_followers(acui_point *point, bool over);
/* Run tasks whose turn has come, and whatever becomes ready by this. */
void acui_run_tasks(acui_task *ready);
/* Run up to `most` of the tasks, and of those that become ready by this, but only tasks that call
 * no function of the program's: the others are returned. What is left stays in the list. */
acui_task *acui_run_plain(acui_task **ready, uint32_t most);
/* The task will not be issued: it is over, failed, as soon as everything before it is over. */
acui_task *acui_retire(acui_task *task);
/* The task has failed with the fault, which is taken: note it; also for its part and its
 * submission, if it is their first. */
void acui_task_fail(acui_task *task, acui_fault *fault);
acui_fault *acui_fault_of_node(const acui_node *node);
/* The fault of a task that reads what was not written, because of `cause`; in the thread's record
 * as well. */
acui_fault *acui_dependency_fault(const acui_task *task, const acui_fault *cause);
/* Put what the program says around the node (its acui_context) into the record. */
void acui_add_context(acu_error *error, const acui_node *node);

/* ---- order/parts.c; order lock held ---- */
/* Something in the part failed (`fault` may be NULL for lack of memory): note which parts around
 * it, or the submission, fail with it. */
void acui_parts_note(acui_submission *submission, acui_part *part, acui_fault *fault);
/* Whether a failure elsewhere, or that the submission was given up, keeps the task from starting,
 * unless another submission wants it. *why: the reason (borrowed; NULL also for lack of memory). If
 * so, this is noted, and the caller makes the task fail. At most once per holding of the lock. */
bool acui_parts_stop(acui_task *task, acui_fault **why);

/* ---- issue/backlog.c; order lock held ---- */
/* The task, which goes to a stream, is being entered. Uses do not count: their work is put on the
 * stream by the program itself. */
static inline void acui_backlog_add(acui_task *task)
{
    acui_backlog *backlog = &task->stream->engine.backlog;
    if (task->first->kind == ACUI_NODE_USE)
        return;
    _Atomic(uint32_t) *tasks = &backlog->tasks[backlog->side];
    task->order.backlog = (uint8_t)(backlog->side + 1);
    atomic_store_explicit(tasks, atomic_load_explicit(tasks, memory_order_relaxed) + 1,
                          memory_order_release);
}
/* The task is on its stream, or over. */
static inline void acui_backlog_drop(acui_task *task)
{
    if (!task->order.backlog)
        return;
    _Atomic(uint32_t) *tasks = &task->stream->engine.backlog.tasks[task->order.backlog - 1];
    task->order.backlog = 0;
    atomic_store_explicit(tasks, atomic_load_explicit(tasks, memory_order_relaxed) - 1,
                          memory_order_release);
}
/* Wait until everything that was submitted to the stream so far is on it, or over: TIMEOUT, or the
 * device's error. No lock is held. Blocks. */
acu_status acui_backlog_settle(acu_stream *stream, uint64_t timeout);

/* ---- issue/admit.c ---- */
/* Whether the ready task may be issued now. If not, it was left waiting, and *others are tasks to
 * run instead, perhaps itself. */
bool acui_admit(acui_task *task, acui_task **others);
void acui_charge(acui_task *task); /* it is on its stream: count what it put there */
acui_task *acui_leave_gates(acui_task *task); /* it is over; returns the tasks that this lets in */
acui_task *acui_step_out(acui_task *task); /* it has to be admitted again; the same */
/* WOULD_BLOCK if the device (NULL: the default one) has reached its bound, counting `more`
 * submissions that are handed over. */
acu_status acui_check_room(acu_device *device, uint64_t more);

/* Count a task of the device as entered, or as going (issue/memory.h). Order lock held. */
static inline void acui_count_started(acu_device *device, uint64_t what)
{
    uint64_t now = atomic_load_explicit(&device->engine.started, memory_order_relaxed);
    atomic_store_explicit(&device->engine.started, now + what, memory_order_relaxed);
}

/* ---- submit/edges.c, submit/runs.c: false for lack of memory ---- */
bool acui_find_edges(acui_task *task);
bool acui_cut_runs(acui_task *task);
/* Whether a graph can hold the node. A cached graph, which is set again and again, can hold fewer
 * kinds: runs.c. */
bool acui_fits_graph(const acui_node *node);

/* ---- issue/lanes.c ---- */
/* Issue the run over several streams. False: there were none, and nothing was done. On failure
 * *failed is the node, and the thread's record is set. The device is entered, the stream's issue
 * lock held. */
bool acui_issue_lanes(const acui_run *run, acu_stream *stream, uint32_t *streams,
                      acui_node **failed); /* *streams: how many, for the story */

/* ---- issue/issue.c, issue/enqueue.c ---- */
/* Put the task on its stream, retire it, or defer it; returns the tasks that this frees. */
acui_task *acui_issue(acui_task *task);
/* Issue now: several tasks of one form for one stream that wait for nothing on the device; or one
 * task alone. */
acui_task *acui_issue_all(acui_task *const *tasks, size_t count);
acu_status acui_enqueue(acui_node *node, acu_stream *stream);
/* What the configuration says beyond grid, block and shared memory, as the driver wants it. Returns
 * the number of entries. */
#define ACUI_LAUNCH_ATTRIBUTES 3
unsigned acui_launch_attributes(const acu_config *config,
                                acu_CUlaunchAttribute list[ACUI_LAUNCH_ATTRIBUTES]);
/* Fill in addresses that were not known at planning. Fails if the memory was never allocated. */
acu_status acui_resolve_addresses(acui_node *node);
/* For a task whose work the program puts on the stream itself. acui_issue_waits makes the stream
 * wait for what comes before (fails as acui_stream_after does, or with CAPTURE); acui_issue_end
 * puts the mark behind the work, and returns the tasks that this frees. */
acu_status acui_issue_waits(acui_task *task);
acui_task *acui_issue_end(acui_task *task);
bool acui_issuing(void); /* this thread is in a foreign call, and holds a stream's issue lock */
void acui_issue_later(acui_task *ready); /* this thread runs them once that call has returned */
const acui_task *acui_task_issuing(void); /* that this thread is putting on a stream */

/* ---- host/worker.c ---- */
acui_task *acui_host_run(acui_task *task); /* hand it over to the worker */
/* Host work of acuda's own that may take long. The thread that submits it and waits for it does it
 * once its turn has come, instead of the worker. The op has this as its user data, and
 * acui_own_work_run as its function. */
typedef struct acui_own_work {
    acu_status (*run)(void *data);
    void *data;
    _Atomic(acui_task *) task; /* set when its turn has come; release store, acquire load */
} acui_own_work;
/* the op's function */
acu_status acui_own_work_run(void *own, const acu_val *values, size_t count);
void acui_own_work_look(acui_own_work *own); /* do the work, if its turn has come */
void acui_worker_stop(void); /* finishes what it has; blocks until the thread is gone */
bool acui_worker_busy(void); /* the thread exists */
/* Whether the task was given up before it began or while it runs. *fault: why (retained; NULL for
 * lack of memory). */
bool acui_host_is_stopped(acui_task *task, acui_fault **fault);

/* ---- host/staging.c ---- */
acui_task *acui_stage_run(acui_task *task); /* hand it over to the helpers */
void acui_stage_stop(void);                 /* joins them */
bool acui_stage_busy(void);                 /* some exist */

/* ---- completion/complete.c ---- */
/* The task is over; returns the tasks that this frees. */
acui_task *acui_task_over(acui_task *task);
/* Append one list (by next_ready) to the other. */
acui_task *acui_join_tasks(acui_task *first, acui_task *then);
/* Look at what the stream has finished, and complete it. The caller holds the stream and its
 * device. `now`: the time, or a little before; 0: the clock is read. */
void acui_harvest(acu_stream *stream, uint64_t now);
/* Complete the future, unless it is done already; returns its state before. */
acui_future_state acui_resolve(acu_future *future, acu_status status, acui_fault *fault);
/* The same because it is cancelled or too late: what is not issued yet never will be. */
void acui_resolve_given_up(acu_future *future, acu_status status, acui_fault *fault);
void acui_submission_close(acui_submission *submission); /* give one count of `open` back */
/* Take a count of `open`, unless the submission is complete: then false. Its tasks stay until it is
 * let go. In cancel.c. */
bool acui_submission_hold(acui_submission *submission);
void acui_submission_let_go(acui_submission *submission);

/* ---- order/use.c ---- */
/* acu_stream_use and acu_stream_use_wait, for a call of the program's to `function`. */
acu_status acui_use_begin(acu_stream *stream, const acu_arg *args, size_t count, acu_site site,
                          const char *function, acu_use **use);
acu_status acui_use_begin_wait(acu_stream *stream, const acu_arg *args, size_t count,
                               acu_site site, uint64_t timeout, const char *function,
                               acu_use **use);
/* What others have put on the stream so far uses a tensor, as the argument says. What is submitted
 * on the tensor from now on comes behind that, and its memory is not used for anything else before.
 * What was submitted earlier stays where it is, on the device or not, so this call is never too
 * early. Errors: those of acu_stream_use, but for NOT_READY and DEPENDENCY. */
acu_status acui_stream_used(acu_stream *stream, const acu_arg *arg, acu_site site,
                            const char *function);

/* ---- order/cancel.c ---- */
void acui_give_up(acui_submission *submission, acui_fault *fault); /* once; it may be NULL */
/* A thread plans the taken op only later: note where it comes from, for a record of what happens
 * until then. `name` is the submission's; NULL: none. No other thread knows the future yet. */
void acui_future_note(acu_future *future, acu_op *op, const char *name);
/* Put that into the record, unless it says already where in the program it comes from. By the
 * thread that plans the submission. */
void acui_future_sign(const acu_future *future, acu_error *error);
/* Give the future up with `status` and a record of `message`, unless it is done. */
void acui_future_end(acu_future *future, acu_status status, const char *message);
/*
 * Whether some thread is giving a future up and has not told everybody yet, or holds a submission.
 * Such a thread may be the last to deal with something that has ended on the device, so a thread
 * that waits until nothing is in flight waits for it too. A thread that sees an effect of what it
 * did gets true here until it is done.
 */
bool acui_beside(void);
/* Whether some of it is neither on the device nor begun on the host, and so never will be if it is
 * given up. */
bool acui_future_is_held_up(acu_future *future);
/* The submission is on its way: its future is RUNNING, unless it was given up meanwhile. */
void acui_submission_started(acui_submission *submission, acu_future *future);
/* Whether the task, of a submission that failed or was given up, also computes what others want:
 * part of an op that is not this submission's alone. Order lock held; at most once per holding. */
bool acui_task_wanted(acui_task *task);

/* ---- report/suspect.c ---- */
/* The device is about to be marked lost: add the operation to blame to the thread's record. Takes
 * no lock but the flight lock. */
void acui_suspect(acu_device *device);
const acui_node *acui_suspect_in(const acui_task *task); /* the first that can do harm; else the
                                                          * first */
/* On a device that issues one by one: enqueue the node, and wait until it is done. Blocks. */
acu_status acui_enqueue_alone(acui_node *node, acu_stream *stream);
/* All that is on the stream is marked: note that it is complete, since nobody can ask once
 * something later has failed. */
void acui_finish_alone(acu_stream *stream);

/* ---- order/deadline.c ---- */
/* Give the future up after `timeout` ns at the latest. To be called before it is submitted, and
 * only for a future's first and only submission. NO_MEMORY. */
acu_status acui_deadline_set(acu_future *future, uint64_t timeout);
void acui_deadline_drop(acu_future *future); /* it is done, or will not be submitted; may be NULL */
void acui_deadline_check(acu_future *future); /* give it up if it is too late */
uint64_t acui_deadlines_next(void); /* the earliest; ACU_FOREVER: none */
void acui_deadlines_pass(void); /* give up those that are too late */
void acui_deadlines_end(void);

/* ---- completion/reactor.c ---- */
acu_status acui_reactor_start(void); /* if it is not running */
/* Start the thread, unless it runs, because something was just put in one of its lists: that thread
 * goes through it, or whoever ends the thread does. Flight lock held. If no thread can be started,
 * the entry waits for a thread that looks by itself. */
void acui_reactor_call(void);
void acui_reactor_notify(acui_notice *notices); /* call them, on its thread */
/* Wait until the notices that it has got so far were called and released; false: not by the
 * deadline. Blocks, so never in a callback. Does not wait if no thread can be started to call
 * them. */
bool acui_reactor_settle(uint64_t deadline);
/* Deliver the notice, which is taken, when the future is complete, or now if it is. Perhaps starts
 * it. */
void acui_future_add(acu_future *future, acui_notice *notice);
void acui_look_everywhere(void); /* harvest all streams with tasks, on this thread: flight.c */
/* The same, one stream after the other, until *found, or for some microseconds. Goes on where the
 * last such call ended. */
void acui_look_for(const _Atomic(bool) *found);

/* ---- completion/future.c ---- */
acu_status acui_future_new(acu_future **future); /* with one handle */
acu_future *acui_future_keep(acu_future *future); /* a reference of the engine's: no handle */
/* The program has no handle yet, and no list has it: no other thread can do anything with it. */
static inline bool acui_future_is_alone(const acu_future *future)
{
    return !future->how.early;
}
void acui_future_put(acu_future *future);         /* may be NULL */
/* The started future's status, or NOT_READY, as far as it is known; gives it up first if it is too
 * late. */
acu_status acui_future_outcome(acu_future *future);
/* This thread waits for the future at once (ACUI_WAITED); NULL: no longer for any. */
void acui_future_await(const acu_future *future);
/* acu_future_poll, with `now` as for acui_harvest. */
acu_status acui_future_look(acu_future *future, uint64_t now);
acu_status acui_future_begin(acu_future *future); /* start it, if it is only scheduled */
acu_status acui_future_may_begin(const acu_future *future); /* WOULD_WAIT: not here */

/* ---- completion/values.c ---- */
/* Take the values, in the form in which a future keeps them. NO_MEMORY: they stay as they were. */
acu_status acui_results_make(acui_values *values, acui_results *results);
void acui_results_clear(acui_results *results);
/* What the submission, or the load, yields; taken. With results, the future becomes RUNNING. */
void acui_future_give_results(acu_future *future, acui_results *results);
void acui_future_give_module(acu_future *future, acu_module *module);

/* ---- completion/wait.c ---- */
/* Call `look` again and again until it returns anything but NOT_READY, or the timeout is over
 * (TIMEOUT). `now`: the time, or a little before; 0: not known. */
typedef acu_status (*acui_look_fn)(void *context, uint64_t now);
/* When to look again: `now` or earlier for at once; a later time; ACU_FOREVER if a completion wakes
 * the waiter; ACUI_BLOCK (flight.h) if this call has waited in the driver. Work of unknown length
 * is worth looking at now while it has been running for less than `spin`. *start is when the wait
 * began; it is set to `now` while the device does not have the work yet. */
typedef uint64_t (*acui_next_fn)(void *context, uint64_t now, uint64_t spin, uint64_t *start);
acu_status acui_wait_until(acui_look_fn look, acui_next_fn next, void *context, uint64_t timeout);
/* For waits on futures, wherever they are. */
uint64_t acui_next_of_futures(void *context, uint64_t now, uint64_t spin, uint64_t *start);
/* The same for waits on what nobody announces. */
uint64_t acui_next_of_any(void *context, uint64_t now, uint64_t spin, uint64_t *start);
/* acu_sync for host work that this thread does itself. */
acu_status acui_sync_own(acu_op *op, acui_own_work *own, const char *function);
/* Wait until nothing is in flight on the device and callbacks of what was have returned. Blocks. */
acu_status acui_wait_idle(acu_device *device, uint64_t timeout);

/* ---- report/counters.c ---- */
void acui_count_submitted(void);
void acui_count_done(bool failed);
void acui_count_operations(const acui_task *task, bool done);

#endif
