/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Futures: what a submission, or a load, tells the program. */
#ifndef ACUI_ENGINE_FUTURE_H
#define ACUI_ENGINE_FUTURE_H

#include "engine/engine.h"

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
    acui_notice *notices; /* the last of them, which leads to the first; NULL: there are none */
    acu_module *module; /* of a load; owned */
    struct { /* acu_schedule, and then the thread that moves the state on from SCHEDULED */
        acu_op *op;         /* the taken op, to be submitted to: */
        acu_stream *stream; /* retained */
        bool serial;        /* `stream` is the only one of its policy */
    } scheduled;
    struct { /* to a runtime thread; fixed before that thread has it */
        _Atomic(struct acui_runtime *) runtime; /* sets RUNNING or DONE; release, acquire */
        uint64_t position;                      /* in its ring */
    } handed;
    struct {
        uint64_t at;  /* of acui_now; ACU_FOREVER: none. Fixed before it is submitted */
        uint64_t after; /* nanoseconds from the submit to then, for messages */
        size_t index; /* in the heap, from 1; 0: it is not there; the deadline lock */
    } deadline;
};

static inline acui_future_state acui_future_state_of(const acu_future *future)
{
    return (acui_future_state)atomic_load_explicit(&future->state, memory_order_acquire);
}

/* Put a notice behind the others. Lock held, or no other thread has the future. */
static inline void acui_future_append(acu_future *future, acui_notice *notice)
{
    acui_notice *last = future->notices;
    notice->next = last ? last->next : notice;
    if (last)
        last->next = notice;
    future->notices = notice;
}

/* The program has no handle yet, and no list has it: no other thread can do anything with it. */
static inline bool acui_future_is_private(const acu_future *future)
{
    return !future->how.early;
}

#endif
