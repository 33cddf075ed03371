/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Collectives by NCCL. nccl_library.c has its calls, nccl_open.c makes and ends communicators,
 * nccl.c makes ops that call it, nccl_watch.c looks after what is on the devices: a thread that
 * notices what NCCL reports later, and what is late or given up, and ends it.
 *
 * NCCL's communicators are blocking ones, because with others each group of calls starts a thread
 * (src/group.cc of 2.30). So what may wait for other ranks is done aside, on a thread that can be
 * left behind: making a communicator, ending it, and aborting it.
 */
#ifndef ACUI_COMM_NCCL_H
#define ACUI_COMM_NCCL_H

#include "comm/comm.h"
#include "vendor/library.h"

/* Values of NCCL's enumerations. */
enum { ACUI_NCCL_SUCCESS = 0, ACUI_NCCL_IN_PROGRESS = 7 };
enum { ACUI_NCCL_SUM = 0, ACUI_NCCL_PROD, ACUI_NCCL_MAX, ACUI_NCCL_MIN, ACUI_NCCL_MEAN };
enum {
    ACUI_NCCL_I8 = 0,
    ACUI_NCCL_U8 = 1,
    ACUI_NCCL_I32 = 2,
    ACUI_NCCL_U32 = 3,
    ACUI_NCCL_I64 = 4,
    ACUI_NCCL_U64 = 5,
    ACUI_NCCL_F16 = 6,
    ACUI_NCCL_F32 = 7,
    ACUI_NCCL_F64 = 8,
    ACUI_NCCL_BF16 = 9
};

typedef struct acui_nccl_id {
    char bytes[128];
} acui_nccl_id;

typedef struct acui_nccl_raw *acui_nccl_handle;

/* X(field, symbol, parameters) */
#define ACUI_NCCL_CALLS(X)                                                                         \
    X(version, "ncclGetVersion", (int *))                                                          \
    X(id, "ncclGetUniqueId", (acui_nccl_id *))                                                     \
    X(init, "ncclCommInitRank", (acui_nccl_handle *, int ranks, acui_nccl_id, int rank))           \
    X(destroy, "ncclCommDestroy", (acui_nccl_handle))                                              \
    X(stop, "ncclCommAbort", (acui_nccl_handle))                                                  \
    X(async_error, "ncclCommGetAsyncError", (acui_nccl_handle, int *))                             \
    X(group_start, "ncclGroupStart", (void))                                                       \
    X(group_end, "ncclGroupEnd", (void))                                                           \
    X(all_reduce, "ncclAllReduce",                                                                 \
      (const void *, void *, size_t, int type, int op, acui_nccl_handle, CUstream))                \
    X(reduce, "ncclReduce",                                                                        \
      (const void *, void *, size_t, int type, int op, int root, acui_nccl_handle, CUstream))      \
    X(broadcast, "ncclBroadcast",                                                                  \
      (const void *, void *, size_t, int type, int root, acui_nccl_handle, CUstream))              \
    X(all_gather, "ncclAllGather",                                                                 \
      (const void *, void *, size_t, int type, acui_nccl_handle, CUstream))                        \
    X(reduce_scatter, "ncclReduceScatter",                                                         \
      (const void *, void *, size_t, int type, int op, acui_nccl_handle, CUstream))                \
    X(send, "ncclSend", (const void *, size_t, int type, int peer, acui_nccl_handle, CUstream))    \
    X(receive, "ncclRecv", (void *, size_t, int type, int peer, acui_nccl_handle, CUstream))

typedef struct acui_nccl_calls {
#define ACU_X(field, symbol, parameters) int(*field) parameters;
    ACUI_NCCL_CALLS(ACU_X)
#undef ACU_X
    const char *(*last_error)(acui_nccl_handle); /* its words */
} acui_nccl_calls;

/* Its calls; only once it is open. */
extern acui_nccl_calls acui_nccl;

/* A rank of this process. Device and handle do not change until it ends. */
typedef struct acui_nccl_rank {
    acui_nccl_handle handle;
    acu_tensor *order; /* of the device's, retained: each collective there writes it, of whatever
                        * communicator, so that they run in one order on all devices */
    CUstream stream;   /* for making it, and for collectives */
    CUevent over;      /* recorded there */
} acui_nccl_rank;

typedef enum acui_nccl_state {
    ACUI_NCCL_WORKS,
    ACUI_NCCL_RETIRED,
    ACUI_NCCL_ABORTED
} acui_nccl_state;

/* Whoever comes second, of the thread that makes it and who waits for that, gives everything back
 * if it was not waited for long enough. */
typedef enum acui_nccl_making { ACUI_NCCL_MAKING, ACUI_NCCL_MADE, ACUI_NCCL_LEFT } acui_nccl_making;
typedef struct acui_nccl_request acui_nccl_request;

struct acui_nccl {
    acui_nccl_id id;
    char met[512]; /* of the first process: the file by which all have met, or "" */
    _Atomic(int) making; /* an acui_nccl_making */
    acui_nccl_rank ranks[ACUI_COMM_MOST];
    acu_stream *stream; /* retained: that of the first rank, on which collectives are issued */
    CUevent ready; /* of the first device: what comes before a collective */
    pthread_mutex_t calls; /* held by who calls NCCL about it; not by who aborts it */
    _Atomic(uint64_t) called; /* collectives, so far */
    _Atomic(int) state;    /* release store, acquire load: publishes `record` */
    acu_error record;      /* why it was retired */
    /* The watch's lock: */
    struct acui_aside *ending;    /* what aborts it */
    acui_nccl_request *requests;  /* that were called and not dropped */
    acu_comm *next;               /* in its list */
};

/* One collective, or a group of them: the user data of its op. */
struct acui_nccl_request {
    acu_comm *comm; /* a reference */
    acui_nccl_request *next, **link; /* the watch's lock, as the rest; link NULL: not called yet */
    uint64_t number;      /* of the communicator's, from 0 on */
    uint64_t late_at;     /* of acui_now() */
    uint64_t unwanted_at; /* when it was first seen that nobody wants it; 0: somebody does */
    bool failed;          /* it was on the device when the communicator was retired */
    size_t count;
    acui_collective c[]; /* their values are NULL or not; where those are is known when called */
};

/* ---- nccl_library.c ---- */
/* Whether NCCL is there, and may be used on these devices; if not, that is the record. Opens it.
 * Blocks. */
acu_status acui_nccl_look(acu_device *const *devices, size_t count);
/* The call failed: put that into the record, in NCCL's words. 0: ACU_OK. */
acu_status acui_nccl_fail(const char *call, int status, acui_nccl_handle handle);

/* ---- nccl_open.c ---- */
/* How the identifier travels. */
typedef struct acui_meeting {
    const char *file; /* by a file that all can reach; else: */
    bool by_mpi;      /* by MPI, which the communicator has joined; else all have it already, or
                       * there is one process */
} acui_meeting;
/* Make the communicator's `nccl`. comm->rank and ->ranks are set. Blocks until all ranks are there,
 * or for `timeout`. */
acu_status acui_nccl_open(acu_comm *comm, const acui_meeting *meeting, uint64_t timeout);
/* End what is on the devices within the timeout, and give NCCL's communicators back; the struct
 * stays as long as the communicator. Blocks. */
acu_status acui_nccl_close(acu_comm *comm, uint64_t timeout);
void acui_nccl_free(acu_comm *comm); /* the rest */

/* ---- nccl.c ---- */
/* The function of the ops that call NCCL. */
acu_status acui_nccl_run(void *request, CUstream stream, const acu_val *values, size_t count);

/* ---- nccl_check.c: checked mode ---- */
bool acui_nccl_is_compared(const acu_comm *comm, const acui_collective *c);
/* An op that fails if other ranks submit something else; yields a tensor. */
acu_op *acui_nccl_compared(acu_comm *comm, const acui_collective *c, acu_site site);

/* ---- nccl_watch.c ---- */
acu_status acui_nccl_watch(acu_comm *comm); /* from now on. NO_MEMORY (no thread) */
void acui_nccl_unwatch(acu_comm *comm);
/* The request is about to be called, and is looked after until it is dropped. */
void acui_nccl_called(acui_nccl_request *request);
void acui_nccl_dropped(acui_nccl_request *request);
bool acui_nccl_busy(acu_comm *comm); /* something of it is on the devices */
bool acui_nccl_is_retired(const acu_comm *comm); /* of any backend */
/* Nothing can be called any more, as the record says: what is on the devices fails, and is
 * aborted. Once only; the others do nothing. */
void acui_nccl_retire(acu_comm *comm, const acu_error *record);
bool acui_nccl_aborts(void); /* a communicator of this process is being aborted */
struct acui_aside *acui_nccl_take_ending(acu_comm *comm); /* what aborts it; NULL: nothing does */

/* ---- aside.c: calls that may not return ---- */
typedef struct acui_aside acui_aside;
typedef acu_status (*acui_aside_fn)(acu_comm *comm);
/* Call it on a thread of its own, which keeps the communicator and its devices. NULL: none could be
 * started. */
acui_aside *acui_aside_start(acu_comm *comm, acui_aside_fn fn, const char *name);
/* Wait for its end; the outcome and its record, or DEADLINE with `what` in the message. Drops it;
 * a thread that goes on is left behind. */
acu_status acui_aside_wait(acui_aside *aside, uint64_t timeout, const char *what);

#endif
