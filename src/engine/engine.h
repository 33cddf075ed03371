/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Things in flight. Data flows one way, a room for each stage, a file for each step:
 *
 * submit/: from an op to tasks
 *   runtime.c, handover.c   a submission may be handed over to a thread of its device, which does
 *               the rest
 *   submit.c    an op becomes a plan: a flat list of nodes
 *   alone.c     ... that is kept instead of run, for a graph
 *   tasks.c     the list is cut into tasks
 *   edges.c     what comes before what inside a task
 *   runs.c      which pieces of a task a graph can hold, and of what form they are
 * order/: when a task's turn is, and what a failure means
 *   order.c     tasks are entered behind what touched their data
 *   after.c     what a submission comes after without sharing data
 *   ready.c     a task whose turn it is runs, fails, or is passed over
 *   use.c       work that the program issues itself, in turn with the rest
 *   parts.c     what a failure means: or_else and finally
 *   cancel.c    a submission is given up before it is over
 *   deadline.c  ... because it is too late
 * issue/: onto the device
 *   backlog.c   who waits until what was submitted to a stream is on it
 *   admit.c     too much at a time waits on the host
 *   memory.c    a task gets its memory, or waits for it on the host
 *   issue.c     a task whose predecessors are on the device goes there, behind and before one mark
 *   together.c, aside.c   ... with others, small and of its form, that are put aside for that
 *   issuer.c    ... by a thread of its own, while others plan
 *   lanes.c     ... directly, its branches on several streams
 *   graphs.c, exec.c, build.c   ... or as an executable graph that is kept for its form
 *   enqueue.c   one driver call, or a few, for each node
 * host/: what other threads do
 *   worker.c    host tasks, once their predecessors are over
 *   staging.c, move.c, ring.c   copies of pageable memory, by helper threads
 *   load.c      modules as futures
 * completion/: who finds out, and who is told
 *   complete.c  what the device has finished: followers start, the submission ends
 *   future.c, values.c, wait.c, done.c, queue.c, group.c   how the program learns of it
 *   host_copy.c waiting copies to and from bare pointers
 *   flight.c, due.c, lengths.c, between.c, blocked.c   when it pays to look: flight.h
 *   reactor.c   the thread that looks while nobody else does
 * report/: for people
 *   story.c, explain.c   what became of a submission
 *   suspect.c   the operation to blame for the loss of a device
 *   counters.c  how many there were
 *
 * Locks, in the order in which they may be taken: a stream's issue lock; that of who asks again for
 * memory (issue/memory.c); that of who gives some back (memory/trim.c), under which driver calls
 * are made too; then, each alone or as leaf: the order lock (memory/access.h), the
 * flight lock, a stream's timeline lock, the deadline lock, a future's lock. Functions of the
 * program are called with none of them held.
 */
#ifndef ACUI_ENGINE_ENGINE_H
#define ACUI_ENGINE_ENGINE_H

#include "op/op.h"
#include "op/part.h"
#include "op/plan.h"
#include "op/sharing.h"

#include <acuda/future.h>
#include <pthread.h>

typedef struct acui_submission acui_submission;
typedef struct acui_task acui_task;

/* One point that a task comes after. While the task waits for it, it is linked in the point. */
typedef struct acui_before {
    acui_point *point; /* retained */
    bool wished;       /* the program asked for it, data or not */
    bool data;         /* the task reads what the point wrote: its failure is the task's */
    bool of_op;        /* the point is of an op that the task stands for: it wants all of that, */
    bool of_outcome;   /* ... and fails as this did */
    bool vague;        /* there was no memory for a piece of it */
    bool over;         /* linked until the point is over, not just issued */
    acui_task *task;
    struct acui_before *next; /* of point->followers; order lock */
} acui_before;

/* A piece of a task that is issued in one way: nodes that a graph can
 * hold, or such as it can not. */
typedef struct acui_run {
    struct acui_run *next;
    acui_node **nodes; /* of the task's body */
    uint32_t count;
    bool graph; /* all fit into a graph, and it is worth one */
    bool wide;  /* it has branches */
    struct acui_exec *exec;  /* that runs it; until the task is over */
} acui_run;

/*
 * A piece of a submission that is issued as one: consecutive nodes on one device, or one host call.
 * It is on one stream behind what it comes behind, and before its mark; its branches may take other
 * ways between. Lives as long as its submission.
 */
struct acui_task {
    acui_submission *submission;
    acui_task *next;       /* of the submission */
    acui_task *next_ready; /* of whoever runs tasks that became ready */
    acui_point *point;
    acu_device *device; /* of the nodes, which hold it */
    acu_stream *stream; /* of the submission's lane; NULL for a host task */
    acui_sharing *sharing; /* of all nodes: of an op that others may use too; NULL: of none */
    acui_shared_point *shared; /* until it is entered: one for each such op */
    acui_part *part;       /* of all nodes; NULL: of none */
    acui_node *first;
    size_t count;
    acui_node **nodes; /* all, in order */
    acui_node **body;  /* without the prologue (the same array, if there is none); its pieces: */
    acui_run *runs;
    uint32_t body_count;
    uint32_t operations; /* of all nodes, such as are counted */

    acui_piece *pieces;  /* what it leaves as a point left it, if it is passed over (through), and
                          * what it reads of conditional points (reads); in the arena */
    acui_before *before; /* array in the arena; fixed once the task is entered */
    size_t before_count, before_room;
    uint32_t pending;    /* order lock: links not yet triggered, plus one while entering */

    bool conditional;  /* it runs only if something else failed */
    bool makes;        /* it has a prologue */
    bool binds;        /* some of its kernels were not loaded when it was planned */
    bool sound;        /* when it became ready, nothing that it comes behind had failed */
    uint8_t admitted;  /* gates that it is in */
    uint8_t counted;   /* order lock: it is in its stream's backlog, on the side before this; 0: it
                        * is not */
    uint32_t charged;  /* places in its stream's gate, besides one */
    uint64_t looked;     /* order lock: turn in which acui_task_wanted met it, ... */
    struct acui_task *next_look; /* ... and its list */
    bool aside;        /* it may be put aside, for another thread to issue (together.h), */
    bool together;     /* ... and with others */
    bool supplied;     /* with memory */
    bool begun;        /* host work that is running, or has run; order lock */
    bool placed;       /* its work was on the stream before it was entered */
    bool prompt;       /* a thread waits for its end at once: fixed once it is entered */
    bool awaited;      /* when its mark was made, something waited until it is over */
    /* Flight lock; flight.h: */
    uint64_t sequence;  /* counts all tasks that went to a device */
    uint64_t issued_at; /* when its mark was made */
    uint64_t form;      /* 0: not known yet */
    struct acui_told_part *told; /* its record, if the submission is to be explained */
    bool put_off;      /* it waits, or waited, for memory of `short_of`: */
    bool last_try;     /* ... in vain, if it finds none now, ... */
    bool expected;     /* when it became ready its submission may have had memory */
    bool going;        /* it was issued, or begun on the host */
    bool retired;      /* will not be issued: over once all before it is */
    bool failed;       /* not to be issued, or not completely */
    uint64_t tried_at; /* ... and nobody else began anything since (issue/memory.c) */
    acu_pool *short_of; /* a buffer of the plan holds it */
    struct acui_holder *getting; /* where it counts as such; NULL: it does not */
    acui_fault *fault; /* why it failed; may be NULL for lack of memory */
    uint64_t number;   /* mark on the stream */
    acui_task *next_on_stream; /* flight lock */
};

/* What makes new memory, and fills it from the host's: it comes behind nothing in its task, and is
 * issued first. */
static inline bool acui_is_prologue(const acui_node *node)
{
    return node->kind == ACUI_NODE_ALLOC || node->kind == ACUI_NODE_UPLOAD;
}

/* What runs on the host: a task of its own, without a stream. */
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

struct acui_submission {
    acui_plan plan; /* first, so that a plan's flush finds its submission */
    _Atomic(uint32_t) refs;      /* future, and the submission in flight itself, unless somebody
                                  * waits for it at once */
    _Atomic(uint32_t) open;      /* tasks not over, plus one while planning; who has the future may
                                  * hold it open too (acui_submission_hold): base/object.h, as for
                                  * what a list finds */
    acu_future *future;          /* retained until resolved, unless it is `waited`; NULL: nobody
                                  * asks */
    acu_policy *policy;          /* retained; may be NULL */
    acu_stream *stream;          /* asked for; retained; may be NULL */
    int priority;                /* of streams that neither of these says; 0: the device's own */
    const char *name;            /* in the same block of memory; "": none */
    uint64_t marked;             /* the last mark on the stream of its only lane; flight lock */
    acui_submission *outer;      /* being planned by this thread while a `then` of it submits */

    acui_lane *lanes;            /* fixed once the future is given out, as is their number: */
    size_t lane_count;
    acui_lane first_lane;        /* room for the usual one */
    acui_node *entered;            /* last node that belongs to a task */
    acui_task *first_task, *last_task;

    struct acui_story *story; /* NULL: nobody will ask */
    bool warm;    /* graphs are made at once for forms that it has */
    bool planned; /* wholly: the next nodes to be entered are the last */
    bool counted; /* as submitted */
    bool abandoned; /* its planning failed: the future's outcome is not this one's */
    bool out_of_order; /* a part of it could not be entered when that was due, for this reason (NULL
                        * for lack of memory): it will be refused */
    acui_fault *out_of_order_fault;
    bool shares;  /* some task has a `sharing`: of those that were made, the planning thread's; */
    bool shared;  /* ... of those that were entered: order lock */
    bool serial;  /* its policy has one stream: branches run in order too */
    bool makes;   /* some task has a prologue */
    /* Who plans it keeps memory of a task that is going: where that counts (issue/memory.c), and
     * on which device, borrowed. */
    _Atomic(struct acui_holder *) getting;
    acu_device *getting_on;
    bool sealed;  /* no more tasks will be entered; this and the next two: order lock */
    bool hosts;   /* some task is for the host */
    uint32_t to_issue; /* tasks for devices that are not issued, nor over */

    /* The first failure; order lock. */
    bool failed;
    acu_status status;
    acui_fault *fault;

    /* Cancelled, or too late: the future is told, and what is not issued never will be. */
    _Atomic(bool) given_up;     /* store release, load acquire: */
    acui_fault *given_up_fault; /* ... publishes why; NULL for lack of memory */
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

typedef struct acui_notice { /* a completion callback, a place on a queue, or in a group */
    struct acui_notice *next;
    acu_future_fn fn; /* NULL: a completion for acu_queue_take */
    acu_user user;
    acu_future *future; /* retained */
    acu_queue *queue;   /* retained; NULL: the callback runs on the reactor */
    uint64_t tag;
    struct acu_group *group; /* retained; NULL: of none. Its notice is not
                              * called, but told at once */
} acui_notice;

enum { ACUI_RESULT_NONE, ACUI_RESULT_TAKEN, ACUI_RESULT_TENSOR, ACUI_RESULT_SCALAR };

#define ACUI_FEW_RESULTS 6 /* as many as most kernels have parameters */

typedef union acui_result {
    acu_tensor *tensor;
    uint64_t bits;
} acui_result;

/* What a future keeps of its values: tensors, also those of partitions (retained), and scalars.
 * Kinds, one each: NONE (a struct), TAKEN, TENSOR, or SCALAR plus its dtype. */
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

struct acu_future {
    acui_object object;
    _Atomic(uint32_t) handles; /* of the program, and for its callbacks: who may ask for results */
    _Atomic(bool) told;        /* somebody is to be told of its end */
    bool early;                /* others may have it before its results are known: it was given
                                * out, or may be put on a queue by its deadline; fixed before that,
                                * as what is called fixed below */
    bool dropped;              /* nobody asks for results any more; lock, if it is early */
    _Atomic(bool) planned;     /* store release, load acquire: its
                                * submission is there, and entered */
    _Atomic(int) state; /* store release, load acquire: DONE publishes status and fault, which are
                         * written once, under the lock */
    acu_status status;
    acui_fault *fault;
    acui_submission *submission; /* retained; set before RUNNING */
    acui_lock lock;      /* results, notices, op */
    acui_results results;
    acui_notice *notices;
    acu_op *op;          /* SCHEDULED: taken; its stream is in `stream` */
    bool serial;         /* which is its policy's only one */
    bool given;          /* the program had a handle; fixed */
    bool unwanted;       /* nobody will ask for the values; fixed */
    bool waited;         /* who submits it waits for it at once: nobody else ever has it, and that
                          * thread keeps it, and its submission, until it is done; fixed */
    /* It is on one stream, of which the device tells when it is over. Release: the lanes. */
    _Atomic(bool) flagged;
    acu_stream *stream;  /* retained */
    _Atomic(struct acui_runtime *) runtime; /* handed over to; who plans it sets RUNNING or DONE */
    uint64_t place;                         /* there */
    acu_module *module;                     /* of a load; owned; lock */
    uint64_t deadline;     /* of acui_now; ACU_FOREVER: none. Fixed before it is submitted */
    size_t deadline_place; /* in the heap, from 1; 0: not there; the deadline lock */
};

static inline acui_future_state acui_future_state_of(const acu_future *future)
{
    return (acui_future_state)atomic_load_explicit(&future->state, memory_order_acquire);
}

/* ---- submit/submit.c ---- */
/* Plan and submit a taken op. With `future`, its values and outcome go there; on failure the
 * caller still owns the future, and nothing refers to it. */
acu_status acui_submit_here(acu_device *device, acu_op *op, const acu_submit_options *options,
                            acu_stream *stream, acu_future *future);
/* The same, or hand it over to a device's thread that does it (runtime.h): then it has not failed
 * yet, and may do so in the future. */
acu_status acui_submit(acu_device *device, acu_op *op, const acu_submit_options *options,
                       acu_stream *stream, acu_future *future);
/* The device that it is for, as far as that was said; NULL: the op's tensors and kernels say, else
 * it is the default one. */
acu_device *acui_submit_place(acu_device *device, const acu_submit_options *options,
                              acu_stream *stream);
acui_submission *acui_submission_new(const acu_submit_options *options, acu_stream *stream,
                                     acu_future *future);
void acui_submission_put(acui_submission *submission);
/* This thread plans the submission, which stays open, and keeps its streams, until that is done. */
bool acui_is_planning(const acui_submission *submission);
/* What this thread has planned of a submission so far comes before what it does now in a callback;
 * or, if that fails, never runs: the submission fails at its end. */
void acui_flush_planning(void);
/* acu_submit, with what is known of the future: `how`, ORed. */
enum {
    ACUI_UNWANTED = 1, /* nobody will ask it for values */
    ACUI_WAITED = 2    /* this thread waits for it at once */
};
acu_status acui_submit_public(acu_device *device, acu_op *op, const acu_submit_options *given,
                              unsigned how, acu_future **future);

/* ---- submit/tasks.c ---- */
/* The plan's new nodes as tasks, laid out, not yet of the submission. */
acu_status acui_make_tasks(acui_submission *submission, acui_task **tasks);
void acui_drop_tasks(acui_task *tasks); /* such a list */

/* ---- order/order.c ---- */
/* Make tasks of the plan's new nodes, enter them, and run those that are ready. */
acu_status acui_enter_nodes(acui_plan *plan);
/* The plan has one node, which the program issues itself: enter it, unless it would have to wait on
 * the host (NOT_READY), or reads what was not computed (DEPENDENCY). */
acu_status acui_enter_ready(acui_submission *submission, acui_task **task);
/* The same of a node whose work is on its stream, behind nobody: what is entered later comes behind
 * it. */
acu_status acui_enter_placed(acui_submission *submission, acui_task **task);
/* Link the task to predecessors that it must wait for on the host. `over`: until these are over.
 * Order lock held, as for the next two. */
void acui_link_before(acui_task *task, bool over);
/* Where what it reads was not computed, or what it stands for failed, or memory that it needs is
 * not there; NULL: nowhere. */
const acui_before *acui_behind_failure(const acui_task *task);

/* ---- order/ready.c ---- */
/* The point has changed its state: its followers that this frees, as a list. */
acui_task *acui_free_followers(acui_point *point, bool over);
/* Start tasks whose predecessors allow it, and those that follow from that. */
void acui_run_tasks(acui_task *ready);
/* `most` of them, and of what they make ready, by which nothing of the program's is called; those
 * by which something may be are given back. What is left is in the list. */
acui_task *acui_run_plain(acui_task **ready, uint32_t most);
/* The task will not be issued: it is over, failed, as soon as all before it is over. */
acui_task *acui_retire(acui_task *task);
/* Note the submission's first failure, from the thread's record; the fault for the task. */
void acui_task_fail(acui_task *task, acui_fault *fault);
acui_fault *acui_fault_of_node(const acui_node *node);
/* What the task reads was not written: the record of that, as this task's own failure. */
acui_fault *acui_dependency_fault(const acui_task *task, const acui_fault *cause);
/* What the program says around it. */
void acui_add_context(acu_error *error, const acui_node *node);

/* ---- order/parts.c; order lock held ---- */
/* Something in the part failed (`fault` may be NULL for lack of memory): who else has, with it. */
void acui_parts_note(acui_submission *submission, acui_part *part, acui_fault *fault);
/* Whether a failure elsewhere, or that the submission was given up, keeps the task from starting,
 * which nobody else wants; why (borrowed; NULL also for lack of memory). If so, it is noted, and
 * the task is to fail. */
bool acui_parts_stop(acui_task *task, acui_fault **why);

/* ---- issue/backlog.c; order lock held ---- */
/* The task, which goes to a stream, is entered. Uses do not count: what the program puts there by
 * itself is there. */
static inline void acui_backlog_add(acui_task *task)
{
    acui_backlog *backlog = &task->stream->backlog;
    if (task->first->kind == ACUI_NODE_USE)
        return;
    _Atomic(uint32_t) *tasks = &backlog->tasks[backlog->side];
    task->counted = (uint8_t)(backlog->side + 1);
    atomic_store_explicit(tasks, atomic_load_explicit(tasks, memory_order_relaxed) + 1,
                          memory_order_release);
}
/* It is on its stream, or over. */
static inline void acui_backlog_drop(acui_task *task)
{
    if (!task->counted)
        return;
    _Atomic(uint32_t) *tasks = &task->stream->backlog.tasks[task->counted - 1];
    task->counted = 0;
    atomic_store_explicit(tasks, atomic_load_explicit(tasks, memory_order_relaxed) - 1,
                          memory_order_release);
}
/* Until all that was submitted to the stream so far is on it, or over: TIMEOUT, or the device's
 * error. No lock is held. Blocks. */
acu_status acui_backlog_settle(acu_stream *stream, uint64_t timeout);

/* ---- issue/admit.c ---- */
/* Whether the task, which is ready, may be issued now. If not, it was left waiting, and *others are
 * to be run: such as can go on instead, maybe itself. */
bool acui_admit(acui_task *task, acui_task **others);
void acui_charge(acui_task *task); /* it is on its stream: count what it put there */
acui_task *acui_leave_gates(acui_task *task); /* it is over; tasks that this frees */
acui_task *acui_step_out(acui_task *task); /* it is to be admitted anew; the same */
/* WOULD_BLOCK where the bound of the device (NULL: of the default one) is reached, with `more` that
 * are handed over. */
acu_status acui_check_room(acu_device *device, uint64_t more);

/* ---- issue/memory.c ---- */
/* Memory for all that the task allocates; or none, then the node that got none, with the record.
 * The stream's issue lock is held, the device entered: `holder` is that entry's. From then on the
 * task is issued or quits. */
acui_node *acui_memory_get(acui_task *task, struct acui_holder *holder);
/* It got none, or is not issued; who may go on. No lock is held. */
acui_task *acui_memory_quit(acui_task *task);
acui_task *acui_memory_fail(acui_task *task); /* the same, and it never will be issued */
/* The task has become ready, and its submission may have memory already: it counts as getting. */
void acui_memory_expect(acui_task *task);
/* What counted as getting is over, or does not count any more; who may go on. */
acui_task *acui_memory_over(struct acui_holder *holder);
/* The thread is about to plan the submission; or has, and is about to let go of it: for what to
 * call acui_memory_let_go then; NULL: for nothing. The latter only if it makes memory. */
void acui_memory_plan(acui_submission *submission);
struct acui_holder *acui_memory_planned(acui_submission *submission);
/* Somebody besides has memory of a task that is getting its own, and is soon to let go of it; who
 * may go on then. No lock is held for the latter. */
struct acui_holder *acui_memory_keep(acu_device *device);
acui_task *acui_memory_let_go(acu_device *device, struct acui_holder *holder);
/* Whether it is worth waiting for the memory that the node did not get. */
bool acui_memory_may_wait(acui_task *task, const acui_node *node);
/* Leave it waiting; tasks to be run instead, maybe itself. No lock is held. */
acui_task *acui_memory_wait(acui_task *task);
/* The task is issued or has failed; if it was put off before: who comes next. */
acui_task *acui_memory_next(acui_task *task);
void acui_memory_going(acui_task *task); /* it is issued, or begins on the host; order lock held */
acui_task *acui_memory_freed(void); /* such a task is over, and counted as ended; who may go on */
/* Order lock held. */
static inline void acui_count_started(acu_device *device, uint64_t what)
{
    uint64_t now = atomic_load_explicit(&device->started, memory_order_relaxed);
    atomic_store_explicit(&device->started, now + what, memory_order_relaxed);
}
bool acui_memory_is_short(void); /* somebody waits */
/* The task is issued: the uses of buffers with memory of pools that the submission does not need
 * any more, as a list. Order lock held. */
acui_use *acui_memory_issued(acui_task *task);
void acui_memory_return(acui_use *uses); /* without it */

/* ---- submit/edges.c, submit/runs.c: false for lack of memory ---- */
bool acui_find_edges(acui_task *task);
bool acui_cut_runs(acui_task *task);
/* Whether a graph can hold the node; one whose parameters are set to it, more than that: runs.c. */
bool acui_fits_graph(const acui_node *node);

/* ---- issue/lanes.c ---- */
/* Issue the run over several streams; false: there are none, nothing was done. On failure *failed
 * is the node, with the thread's record. The device is entered, the stream's issue lock held. */
bool acui_issue_lanes(const acui_run *run, acu_stream *stream, uint32_t *streams,
                      acui_node **failed); /* `streams`: how many, for the record */

/* ---- issue/issue.c, issue/enqueue.c ---- */
/* Put the task on its stream, or retire it, or put it aside; tasks that this frees. */
acui_task *acui_issue(acui_task *task);
/* Now: tasks of one form on one stream, that wait for nothing on the device; or one alone. */
acui_task *acui_issue_all(acui_task *const *tasks, size_t count);
acu_status acui_enqueue(acui_node *node, acu_stream *stream);
/* What the configuration says beyond grid, block and shared memory, as the
 * driver wants it; how much. */
#define ACUI_LAUNCH_ATTRIBUTES 3
unsigned acui_launch_attributes(const acu_config *config,
                                acu_CUlaunchAttribute list[ACUI_LAUNCH_ATTRIBUTES]);
/* Addresses that were not known when the node was planned. Fails where
 * memory was never allocated. */
acu_status acui_resolve_addresses(acui_node *node);
/* A task that the program itself issues, in turn: what comes before is waited for on the stream
 * (fails as acui_stream_after does, or CAPTURE), and it ends there; tasks that this frees. */
acu_status acui_issue_waits(acui_task *task);
acui_task *acui_issue_end(acui_task *task);
bool acui_issuing(void); /* this thread is in a foreign call, under a stream's issue lock */
void acui_issue_later(acui_task *ready); /* by this thread, once that has returned */
const acui_task *acui_task_issuing(void); /* what this thread is putting on a stream, or NULL */

/* ---- host/worker.c ---- */
acui_task *acui_host_run(acui_task *task); /* hand over to the worker */
/* Host work of acuda's own, which may take long: not the worker does it, but the thread that
 * submits it and waits for it, once its turn has come. Of an op with this as user data, and the
 * function below. */
typedef struct acui_own_work {
    acu_status (*run)(void *data);
    void *data;
    _Atomic(acui_task *) task; /* its turn has come; release, acquire */
} acui_own_work;
acu_status acui_own_work_run(void *own, const acu_val *values, size_t count); /* it */
void acui_own_work_look(acui_own_work *own); /* do it, if its turn has come */
void acui_worker_stop(void); /* finishes what it has; blocks until the thread is gone */
bool acui_worker_busy(void); /* the thread is there */
/* Given up before it began, or while it runs: the failure (NULL in *fault for lack of memory). */
bool acui_host_is_stopped(acui_task *task, acui_fault **fault);

/* ---- host/staging.c ---- */
acui_task *acui_stage_run(acui_task *task); /* hand over to the helpers */
void acui_stage_stop(void);                 /* joins them */
bool acui_stage_busy(void);                 /* some are there */

/* ---- completion/complete.c ---- */
/* The task is over; tasks that this frees. */
acui_task *acui_task_over(acui_task *task);
/* Two lists through next_ready as one. */
acui_task *acui_join_tasks(acui_task *first, acui_task *then);
/* Look what the stream, which the caller holds, with its device, has finished, and complete it.
 * `now`: the time, or a little before; 0: the clock is asked. */
void acui_harvest(acu_stream *stream, uint64_t now);
/* The future is done, if it was not before; gives its state until then. */
acui_future_state acui_resolve(acu_future *future, acu_status status, acui_fault *fault);
/* The same, because it is cancelled or too late: what is not issued never will be. */
void acui_resolve_given_up(acu_future *future, acu_status status, acui_fault *fault);
void acui_submission_close(acui_submission *submission); /* one of `open` less */
/* One more, unless it is complete: then false. Its tasks stay until it is let go. cancel.c */
bool acui_submission_hold(acui_submission *submission);
void acui_submission_let_go(acui_submission *submission);

/* ---- order/use.c ---- */
/* What others have put on the stream so far has to do with a tensor as the argument says. What is
 * submitted on the tensor from now on comes behind that, and its memory is not used for anything
 * else before. What was submitted before stays where it is, on the device or not; so this is never
 * too early. Errors: as of acu_stream_use, but NOT_READY and DEPENDENCY. */
acu_status acui_stream_used(acu_stream *stream, const acu_arg *arg, acu_site site);

/* ---- order/cancel.c ---- */
void acui_give_up(acui_submission *submission, acui_fault *fault); /* once; the fault may be NULL */
/* Give the future up, with `status` and a record that says so, unless it is done. */
void acui_future_end(acu_future *future, acu_status status, const char *message);
/*
 * Some thread gives a future up, and has not told all who are to be told, or holds a submission. So
 * it may be the last to see to what has ended on the device: who waits until nothing is in flight
 * waits for it too. Who sees the end of what it has to do with, sees it here until it is done.
 */
bool acui_beside(void);
/* Whether some of it is not on the device, nor begun on the host, and so will not be if it is given
 * up. */
bool acui_future_is_held_up(acu_future *future);
/* The submission is on its way, and its future RUNNING, unless it was given up meanwhile. */
void acui_submission_started(acui_submission *submission, acu_future *future);
/* Whether the task of a submission that failed or was given up computes what others asked for as
 * well: an op that is not this submission's alone. Order lock held, once for each call. */
bool acui_task_wanted(acui_task *task);

/* ---- report/suspect.c ---- */
/* The device is about to be lost: add the operation to blame to the thread's record. A leaf. */
void acui_suspect(acu_device *device);
const acui_node *acui_suspect_in(const acui_task *task); /* the first that can do harm */
/* For a device that issues one by one: enqueue the node, and wait until it is done. Blocks. */
acu_status acui_enqueue_alone(acui_node *node, acu_stream *stream);
/* What the stream has is marked: note that it is complete, as nobody can ask once another fails. */
void acui_finish_alone(acu_stream *stream);

/* ---- order/deadline.c ---- */
/* Give the future up at the latest after `timeout` ns. Before it is submitted; only on a future's
 * first and only submission. NO_MEMORY. */
acu_status acui_deadline_set(acu_future *future, uint64_t timeout);
void acui_deadline_drop(acu_future *future); /* it is done, or will not be submitted; may be NULL */
void acui_deadline_check(acu_future *future); /* give it up if it is too late */
uint64_t acui_deadlines_next(void); /* ACU_FOREVER: there is none */
void acui_deadlines_pass(void); /* give up what is too late */
void acui_deadlines_end(void);

/* ---- completion/reactor.c ---- */
acu_status acui_reactor_start(void); /* if it is not running */
/* The same for what was just put in a list of its: it goes there, or who ends it does. Flight lock
 * held. Where there can be no thread, that waits for who looks by himself. */
void acui_reactor_attend(void);
void acui_reactor_notify(acui_notice *notices); /* call them, on its thread */
/* Until those that it got so far were called, and released; false: not by the deadline. Blocks: not
 * in a callback. Where there can be no thread that calls them, it does not wait. */
bool acui_reactor_settle(uint64_t deadline);
/* To be delivered when the future is complete, or now if it is; the notice is taken. The future may
 * be started here. */
void acui_future_add(acu_future *future, acui_notice *notice);
void acui_look_everywhere(void); /* harvest all streams with tasks, on this thread: flight.c */
/* The same, one after the other, until *found, or for some microseconds: first those not looked at
 * for longest. */
void acui_look_for(const _Atomic(bool) *found);

/* ---- completion/future.c ---- */
acu_status acui_future_new(acu_future **future); /* with one handle */
acu_future *acui_future_keep(acu_future *future); /* for the engine: no handle */
/* The program has no handle yet, and no list has it: nobody else can do anything with it. */
static inline bool acui_future_is_alone(const acu_future *future)
{
    return !future->early;
}
void acui_future_put(acu_future *future);         /* may be NULL */
/* The started future's status, or NOT_READY, as far as it is known; it fails if it is too late. */
acu_status acui_future_outcome(acu_future *future);
/* This thread waits for it at once, ACUI_WAITED; NULL: for none any more. */
void acui_future_await(const acu_future *future);
/* acu_future_poll, with acui_harvest's `now`. */
acu_status acui_future_look(acu_future *future, uint64_t now);
acu_status acui_future_begin(acu_future *future); /* start it, if it was only scheduled */
acu_status acui_future_may_begin(const acu_future *future); /* WOULD_WAIT: not here */

/* ---- completion/values.c ---- */
/* The values, which are taken, as a future keeps them. NO_MEMORY: they are as they were. */
acu_status acui_results_make(acui_values *values, acui_results *results);
void acui_results_clear(acui_results *results);
/* What the submission yields, or the load; taken. With results the future is RUNNING. */
void acui_future_give_results(acu_future *future, acui_results *results);
void acui_future_give_module(acu_future *future, acu_module *module);

/* ---- completion/wait.c ---- */
/* Look until `look` says something else than NOT_READY, or the timeout is over (TIMEOUT). `now`:
 * the time, or a little before; 0: not known. */
typedef acu_status (*acui_look_fn)(void *context, uint64_t now);
/* When to look again: now or before, or at some time, ACU_FOREVER if something completes then; what
 * is of unknown length is worth looking at now if it has been running for less than `spin`. *start,
 * when the wait began, is set to now while the device does not have it yet. ACUI_BLOCK (flight.h):
 * it has waited in the driver meanwhile. */
typedef uint64_t (*acui_next_fn)(void *context, uint64_t now, uint64_t spin, uint64_t *start);
acu_status acui_wait_until(acui_look_fn look, acui_next_fn next, void *context, uint64_t timeout);
/* All that is in flight. */
uint64_t acui_next_of_any(void *context, uint64_t now, uint64_t spin, uint64_t *start);
/* acu_sync of host work that this thread does itself. */
acu_status acui_sync_own(acu_op *op, acui_own_work *own);
/* Until nothing is in flight on the device, and callbacks of what was have returned. Blocks. */
acu_status acui_wait_idle(acu_device *device, uint64_t timeout);

/* ---- report/counters.c ---- */
void acui_count_submitted(void);
void acui_count_done(bool failed);
void acui_count_operations(const acui_task *task, bool done);

#endif
