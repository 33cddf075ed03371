/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Communicators. open.c makes them, launch.c reads the launcher's variables, collective.c checks
 * collectives and group.c makes ops of them: by process.c, from acuda's own ops; by nccl.c, which
 * calls NCCL (nccl.h); or by message.c, which hands them to the thread that calls MPI (thread.c,
 * mpi.h), behind spread.c where a process has several devices.
 */
#ifndef ACUI_COMM_COMM_H
#define ACUI_COMM_COMM_H

#include "base/object.h"
#include "comm/mpi.h"
#include "op/op.h"

#include <acuda/comm.h>

enum { ACUI_COMM_MOST = 64 }; /* devices of a communicator */

/* What ranks must agree on: kind, count, dtype, reduction, root. */
enum { ACUI_FACTS = 5 };

typedef struct acui_request acui_request;

typedef enum acui_comm_state {
    ACUI_COMM_MAKING,
    ACUI_COMM_MADE,
    ACUI_COMM_NOT_MADE
} acui_comm_state;

struct acu_comm {
    acui_object object; /* a reference is held by the program, and by each op in flight */
    int rank, ranks;
    size_t device_count;
    acu_device *devices[ACUI_COMM_MOST]; /* retained until it is closed */
    bool checked;
    uint64_t timeout; /* 0: none */
    _Atomic(bool) closed;
    _Atomic(int) state; /* an acui_comm_state; release store once all else is there */
    /* The lock of opening.c, as the next. aside: a thread has it; unwanted: closed meanwhile. */
    bool in_line, aside, unwanted;
    struct acu_comm *behind;
    acu_comm_backend backend; /* PROCESS, NCCL or MPI */
    struct acui_nccl *nccl;   /* with NCCL */
    struct acui_alive *alive; /* with NCCL, where processes met by a file (alive.h) */
    /* Written by each op that posts, so that posts come in the order of submission. NULL: with
     * neither. */
    acu_tensor *turn;
    char turn_memory[8];

    /* With MPI, also where that only made NCCL's communicator. */
    const acui_mpi *mpi; /* NULL: not joined */
    int mpi_rank, mpi_ranks; /* processes */
    /* The rest: thread.c and requests.c, under their lock, or by the thread alone. */
    uintptr_t handle; /* MPI's communicator */
    acui_request *first, *last;   /* to be posted, in order; lock */
    acui_request *posted;         /* posted, not over */
    struct acu_comm *next;
    bool retired;
    char why[200]; /* it was retired */
    _Atomic(uint64_t) planned, handed; /* collectives; others may have been posted elsewhere */
    uint64_t leave_by; /* of acui_now(): when it is closed what MPI has is waited for until then */
    bool left;         /* it was closed, and MPI still has something of it */
    int64_t *told; /* of acui_comm_tell: `told_each` numbers of this rank's, then those of all */
    int told_each;
};

void acui_comm_drop(acu_comm *comm); /* a reference */

static inline bool acui_comm_is_over(const acu_comm *comm) /* the making of it */
{
    return atomic_load_explicit(&comm->state, memory_order_acquire) != ACUI_COMM_MAKING;
}

static inline bool acui_comm_is_made(const acu_comm *comm)
{
    return atomic_load_explicit(&comm->state, memory_order_acquire) == ACUI_COMM_MADE;
}

/* A collective with its operands checked; part and all count elements. */
typedef struct acui_collective {
    acu_collective what;
    acu_dtype dtype;
    int64_t part;              /* once checked; -1: not known yet */
    int tag;                   /* of a message by MPI */
    bool quiet;                /* it is not compared, in checked mode */
    int64_t facts[ACUI_FACTS]; /* what the program submitted */
    size_t count;                          /* ranks of this process */
    const acu_val *in[ACUI_COMM_MOST];     /* NULL: in place, or nothing */
    const acu_val *out[ACUI_COMM_MOST];    /* NULL: nothing */
} acui_collective;

static inline bool acui_is_message(const acui_collective *c)
{
    return c->what.kind == ACU_SEND || c->what.kind == ACU_RECEIVE;
}

/* collective.c */
const char *acui_collective_name(acu_collective_kind kind);
/* Whether the operands are right; notes dtype, part and facts. `grouped`: it is part of a group. */
acu_status acui_collective_check(acu_comm *comm, acui_collective *c, bool grouped);

/* facts.c: whether all processes say the same, of `each` ranks; if not, the text says who differs
 * from rank 0. */
bool acui_facts_agree(const int64_t *all, int processes, int each, char *text, size_t bytes);

/* group.c: the op of one. `quiet`: it is not compared, in checked mode. */
acu_op *acui_op_collective(acu_comm *comm, const acu_collective *what, bool quiet,
                           acu_op *const *in, acu_op *const *out, size_t count, acu_site site);

/* The ops that do several of them, at once; they consume nothing of the values. NULL: nothing is to
 * be done. */
acu_op *acui_collectives_here(acu_comm *comm, const acui_collective *c, size_t n, acu_site site);
acu_op *acui_collectives_nccl(acu_comm *comm, const acui_collective *c, size_t n, acu_site site);
acu_op *acui_collectives_mpi(acu_comm *comm, const acui_collective *c, size_t n, acu_site site);

/* process.c: the tensor, or a dense copy of it on its device. */
acu_op *acui_dense_value(const acu_tensor *t, acu_site site);

/* local.c: those of a group between devices of this process, as copies that are appended to the
 * list, which has room for the most that there may be. */
acu_status acui_messages_here(const acu_comm *comm, const acui_collective *c, size_t n,
                              acu_op **list, size_t *count, acu_site site);
size_t acui_messages_most(const acui_collective *c, size_t n);
/* Whether it is a message of local rank `own`, and the other one is of this process too. */
bool acui_message_is_here(const acu_comm *comm, const acui_collective *c, size_t own);
/* All of a list; NULL: it is empty. Unless the status is OK it is dropped, and an op that fails. */
acu_op *acui_all_of(acu_op **list, size_t count, acu_status status, acu_site site);

/* message.c: one by MPI, of a process with one operand. `rank` is that of a process. */
acu_op *acui_collective_message(acu_comm *comm, const acui_collective *c, acu_site site);
/* spread.c: the same for a process with several devices. */
acu_op *acui_collective_spread(acu_comm *comm, const acui_collective *c, acu_site site);

/* ---- reduction.c ---- */
const char *acui_reduction_name(acu_reduction reduction); /* NULL: there is no such collective */
bool acui_reduces(const acui_collective *c);
/* What its numbers are converted to meanwhile, so that they are rounded once: floats of 8 bits to
 * f32. Others, and what is only moved, stay what they are. */
acu_dtype acui_reduced_as(const acui_collective *c);
acu_dtype acui_numbers_of(acu_dtype dtype); /* in memory: f32 of c64 and tf32, f64 of c128 */
acu_elementwise acui_reduction_op(acu_reduction reduction); /* of two ranks: ACU_OP_ADD, ... */
/* Given the reduction of all ranks: of a mean that was the sum. */
acu_op *acui_reduction_end(const acui_collective *c, int ranks, acu_op *x, acu_site site);

/* ---- requests.c ---- */

/* A collective of MPI's: referenced by the op that posts it, the op that waits for it, and, while
 * it has it, the thread. */
struct acui_request {
    _Atomic(int) refs;
    acu_comm *comm; /* a reference */
    acui_mpi_post post;
    bool compared;             /* its facts, with the other ranks' */
    int64_t facts[ACUI_FACTS];
    acu_site site;
    acu_buffer *held[2]; /* what MPI reads and writes, from the post on */

    /* Requests.c's. */
    acui_request *next;
    uint64_t late_at;     /* of acui_now(); 0: it has not begun */
    int64_t *all;         /* the facts of all ranks */
    uintptr_t mpi;        /* MPI's request */
    enum { ACUI_NEW, ACUI_CHECKING, ACUI_POSTED } state;
    bool handed;          /* over, to be posted; lock */
    acu_promise *promise; /* of the op that waits; lock */
    bool over;            /* `outcome` is set; lock */
    acu_status outcome;
    char text[240];
};

void acui_request_drop(acui_request *request); /* message.c */
/* Hand it over; it is posted behind the communicator's earlier ones. */
acu_status acui_request_post(acui_request *request);
/* End the promise when the request is over. INVALID: it never was handed over, and never will. */
acu_status acui_request_await(acui_request *request, acu_promise *promise);

/* ---- thread.c ---- */

/* Start MPI, and make a communicator like its world. Blocks. */
acu_status acui_comm_join(acu_comm *comm, uint64_t timeout);
/* Tell all ranks of MPI's `count` numbers, and get those of all, in the order of the ranks: in
 * comm->told. All ranks call this. Blocks. */
acu_status acui_comm_tell(acu_comm *comm, const int64_t *mine, int count, uint64_t timeout);
/* The opposite of joining. Blocks. */
acu_status acui_comm_leave(acu_comm *comm, uint64_t timeout);

#endif
