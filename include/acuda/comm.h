/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Collectives: operations among the members of a communicator, which are devices of this process,
 * or processes of one or of several machines, with a device each. Every member is a rank, from 0
 * on.
 *
 *     acu_comm *comm;
 *     acu_comm_options options = {.size = sizeof options, .devices = &device, .device_count = 1};
 *     acu_comm_open(&options, &comm);            // alone, or under mpiexec -n 4: the same program
 *     acu_op *sum = acu_comm_all_reduce(comm, ACU_REDUCE_SUM, gradients);     // in place
 *     acu_submit(device, sum, NULL, &future);
 *     ...
 *     acu_comm_close(comm, ACU_FOREVER);
 *
 * Collectives are ops like others, ordered by data: an all-reduce of one layer's gradients runs
 * while the next layer's are computed. The ranks of several processes must submit the collectives
 * of one communicator in the same order, with the same kinds, counts and dtypes. Two threads of a
 * process may use one communicator, but then it is for them to see to that order; where all ranks
 * are of one process there is nothing to see to. With NCCL the order must be the same for all
 * communicators of a device together; with the others they are independent.
 *
 * Backends:
 *   one process   the ranks are the devices given. The collectives are copies between them and
 *                 additions in the order of the ranks, by acuda's own kernels.
 *   NCCL          a rank is a device, of this process or of another; all processes have as many.
 *                 The library is found at run time (vendor.h). Collectives are enqueued on urgent
 *                 streams of the communicator's own (or where acu_submit_options say), so that what
 *                 else is submitted does not wait for them, in one order on all devices of a
 *                 process, whichever threads submit.
 *                 Before the first one of a size class NCCL may connect ranks, and submitting one
 *                 then blocks until all ranks have come to it. A send and its receive wait for each
 *                 other on the devices: two ranks must not both send first, but in a group. All
 *                 devices of a process belong in one communicator: where threads have one each,
 *                 closing it can wait, in the driver (cuMemFreeHost), for kernels of the others.
 *   MPI           a rank is a device of a process; all processes have as many. With several, what
 *                 they have is put together, or added up, on the first one, and handed out from
 *                 there. Open MPI (4, 5), an MPI with MPICH's ABI (MPICH, Intel MPI,
 *                 MVAPICH) or with the standard ABI of MPI 5.0 (libmpi_abi.so.1) is found at run
 *                 time, nothing is linked: what the program has
 *                 loaded, else the library named by ACUDA_MPI, else the one whose mpiexec started
 *                 the process. A thread of acuda's makes all calls: it initialises MPI if the
 *                 program has not, posts (MPI_Iallreduce, ...) once the data is ready, and looks
 *                 for the end. Device tensors go through pinned memory; dense host tensors are
 *                 passed as they are. If the program initialises MPI itself, then with
 *                 MPI_THREAD_MULTIPLE. If acuda does, MPI's own communicators return errors (else
 *                 some of them would end the process).
 *
 * Which one is used, if neither the options nor ACUDA_COMM (own, mpi, nccl) say so: several
 * processes, or several devices of one, use NCCL where it is there for all their devices; else
 * processes use MPI, and devices of one process none. If NCCL can not make the communicator (two
 * ranks on one GPU), the same holds, where MPI brought the processes together.
 *
 * Processes with NCCL meet by a file that all can reach (acu_comm_options, or ACUDA_COMM_FILE: to
 * its name a number is added for each communicator), by NCCL_COMM_ID=host:port (NCCL's own way), or
 * else by MPI. Rank 0 writes the file, which must not be there, and removes it.
 *
 * What goes wrong:
 *   - A collective whose submission is given up (acu_future_cancel, a timeout), or whose own data
 *     failed, before it was posted: later collectives of that communicator fail, as the ranks would
 *     no longer agree on which is which. The message says what failed first.
 *   - A rank that does not come: the futures of the others end with their timeouts, or with that of
 *     the communicator (DEADLINE), and the communicator is retired: its later collectives fail. MPI
 *     can not take back what was posted: the memory stays until MPI has done it, or the process
 *     exits, and MPI is not finalised then, as that could wait for good (mpiexec counts it as a
 *     failure, and MPICH's then kills the others). A process that dies makes mpiexec end all
 *     others. NCCL's is aborted, by a thread of its own: what is on the devices ends, and fails, as
 *     does what reads it, issued or not; other communicators go on. One that was given up on the
 *     devices (acu_future_cancel, a timeout) is left 100 ms to end by itself.
 *   - What NCCL reports later (a rank is gone, the network): the same, with its words (DRIVER).
 *   - Which rank it is NCCL does not say. Where processes met by a file, each has another one
 *     beside it (its name and the number of the process), and the messages name the rank: one whose
 *     process has ended; else one that did not come to the collective; else one whose process was
 *     stopped. That takes up to a third of a second longer. acu_comm_lost has the numbers, and
 *     acu_comm_shrink makes a communicator of those left.
 *   - Ranks that disagree: undefined with MPI, as in MPI, and with NCCL, where they mostly end by
 *     the timeout; in checked mode (acu_comm_options) each rank's op fails, and says who differs in
 *     what. Checking costs another small collective each, and over NCCL the host looks at what that
 *     has gathered before the collective begins. After that, MPI's communicator can go on; with
 *     NCCL later collectives fail, too, with the same words.
 */
#ifndef ACUDA_COMM_H
#define ACUDA_COMM_H

#include <acuda/future.h>
#include <acuda/op.h>
#include <acuda/op_kinds.h>

ACU_BEGIN

/* ---- how the program was started ------------------------------------------------------------- */

/* What the launcher says: Open MPI's and MPICH's mpiexec, Slurm's srun, or torchrun; or ACUDA_RANK
 * and ACUDA_RANKS. The local rank is that among the processes of this machine: a program opens
 * device local_rank modulo the number of devices (acu_device_count_load). */
typedef struct acu_launched {
    size_t size; /* sizeof(acu_launched) */
    int rank, ranks;             /* 0 and 1 where nothing was said */
    int local_rank, local_ranks; /* where not known: 0 and 1 */
    const char *launcher; /* "Open MPI", "MPICH", "Slurm", "torchrun", "ACUDA_RANK", "none" */
} acu_launched;
/* Reads the environment; never blocks. Errors: INVALID (variables that contradict each other, or
 * that are no numbers; no size). */
ACU_API acu_status acu_comm_launched(acu_launched *launched);

/* ---- communicators --------------------------------------------------------------------------- */

typedef struct acu_comm acu_comm;

typedef enum acu_comm_backend {
    ACU_COMM_AUTO,    /* what fits; see the top. ACUDA_COMM=own, mpi or nccl says which */
    ACU_COMM_PROCESS, /* own: the devices of this process, whatever the launcher says */
    ACU_COMM_MPI,     /* MPI's world, even if that is one process */
    ACU_COMM_NCCL     /* NCCL, among the devices of this process, or of all processes */
} acu_comm_backend;

typedef struct acu_comm_options {
    size_t size; /* sizeof(acu_comm_options) */
    acu_comm_backend backend;
    acu_device *const *devices; /* this process's, one for each of its ranks; at most 64; as many in
                                 * each process */
    size_t device_count;
    bool checked;     /* compare each collective over the ranks; all ranks must say the same */
    uint64_t timeout; /* nanoseconds in which an operation must end once it is posted, and in which
                       * the communicator must be made; 0: without limit */
    int rank, ranks;  /* of this process, and of processes; 0 and 0: as the launcher says. With NCCL
                       * and a file they may be some of the job's, in any order */
    const char *file; /* with NCCL: by which the processes meet; NULL: see the top */
} acu_comm_options;

/*
 * Make a communicator. All processes must call this, in the same order; blocks until they have. The
 * devices are held until it is closed. With NCCL and several devices in this process, communicators
 * that are being aborted are waited for first, for up to 5 s. Any thread. Errors: INVALID (also
 * ACUDA_COMM; processes with different numbers of devices), NOT_FOUND (no MPI, no NCCL),
 * NOT_SUPPORTED (the launcher started more processes than MPI knows of; MPI was initialised with
 * less than MPI_THREAD_MULTIPLE, or was finalised), DRIVER (what MPI or NCCL says, here or in
 * another process), IO (the file), NO_MEMORY, IN_CALLBACK; DEADLINE (not all came; MPI is not
 * usable by acuda any more, and what NCCL has begun stays until they come, or the process exits).
 */
ACU_API acu_status acu_comm_open(const acu_comm_options *options, acu_comm **comm);

/*
 * The same without blocking: a thread of acuda's makes it. The communicator is the caller's at
 * once, and is to be closed in any case; the future ends once it is made, or with why not (as
 * above). It yields no values, and can be polled, waited for and given callbacks like others. Until
 * it has ended, nothing is known of the communicator but its devices, and collectives are refused
 * when they are submitted (INVALID). Cancelling ends the future, and not the making. Those that
 * meet by MPI are made in the order of the calls, of this function and acu_comm_open. Any thread,
 * callbacks too. Errors: those that can be told at once: INVALID, NO_MEMORY.
 */
ACU_API acu_status acu_comm_open_async(const acu_comm_options *options, acu_comm **comm,
                                       acu_future **future);

/*
 * Give the communicator back: wait for its collectives first, as far as they are on the devices, or
 * were handed to MPI; those that were not (their data is not ready, or they are still with a
 * runtime thread: acu_open_options) fail with INVALID. Blocks for at most `timeout` nanoseconds.
 * With MPI a collective call itself (DEADLINE: the communicator is gone, its collectives have
 * failed with that, and what was posted stays until MPI has done it, or the process exits); if
 * acuda initialised MPI, closing the last communicator finalises it, unless something stays; no
 * more can be opened then. With NCCL, collectives that wait for other
 * ranks for longer than that are aborted (DEADLINE). One that is still being made is waited for; if
 * that takes longer (DEADLINE), it is closed once it is made. NULL is fine. No other thread may be
 * submitting its collectives at that moment. Errors: DEADLINE, DRIVER (what MPI or NCCL says),
 * IN_CALLBACK, BAD_HANDLE (it was closed before).
 */
ACU_API acu_status acu_comm_close(acu_comm *comm, uint64_t timeout);

/*
 * A communicator like `comm`, of the ranks that are left, in their order, without those in `lost`:
 * of a process with several ranks, all of which go if one does. All that are left call this, with
 * the same list, and it blocks until they have, as acu_comm_open does. `comm` is still to be
 * closed. Made anew, by a file with ".left" behind its name. For devices of one process, and for
 * NCCL where processes met by a file; MPI ends the whole job when a process ends. Errors: as
 * acu_comm_open; INVALID (no such rank, or one of this process's); NOT_SUPPORTED.
 */
ACU_API acu_status acu_comm_shrink(acu_comm *comm, const int *lost, size_t count,
                                   acu_comm **left);
/* How many ranks were found to be lost when the communicator was retired; the first `room` of them.
 * Who else is left has found the same, unless it was told less, or earlier: agree before you
 * shrink, where ranks may also be slow. Never blocks. */
ACU_API size_t acu_comm_lost(const acu_comm *comm, int *ranks, size_t room);

/* None of these blocks; 0 or NULL for a handle that is none. */
ACU_API int acu_comm_ranks(const acu_comm *comm);       /* of all processes */
ACU_API int acu_comm_rank(const acu_comm *comm);        /* of this process's first device; those of
                                                         * the others follow */
ACU_API size_t acu_comm_devices(const acu_comm *comm);  /* how many of this process's are in it */
ACU_API acu_device *acu_comm_device(const acu_comm *comm, size_t i); /* borrowed */
ACU_API const char *acu_comm_library(const acu_comm *comm); /* "NCCL", "Open MPI", "MPICH", "one
                                                             * process" */

/* ---- collectives ----------------------------------------------------------------------------- */

/*
 * With n elements for each rank (`part`), and ranks times n for all, in the order of the ranks
 * (`all`). "Root" is the rank that is named.
 *
 *   kind             reads                  writes                in place
 *   ALL_REDUCE       part                   part                  part
 *   REDUCE           part                   part, at the root     part; elsewhere unchanged
 *   BROADCAST        part, at the root      part, elsewhere       always
 *   ALL_GATHER       part                   all                   all, its own part is read
 *   REDUCE_SCATTER   all                    part                  all, its own part is written
 *   ALL_TO_ALL       all                    all                   all
 *   GATHER           part                   all, at the root      all, at the root
 *   SCATTER          all, at the root       part                  all, at the root
 *   SEND             part                   nothing               -
 *   RECEIVE          nothing                part                  always
 *   BARRIER          nothing                nothing               -
 */
typedef enum acu_collective_kind {
    ACU_ALL_REDUCE,
    ACU_REDUCE,
    ACU_BROADCAST,
    ACU_ALL_GATHER,
    ACU_REDUCE_SCATTER,
    ACU_ALL_TO_ALL,
    ACU_GATHER,
    ACU_SCATTER,
    ACU_SEND,
    ACU_RECEIVE,
    ACU_BARRIER,
    ACU_COLLECTIVE_COUNT
} acu_collective_kind;

typedef struct acu_collective {
    acu_collective_kind kind;
    acu_reduction reduction; /* ACU_REDUCE_SUM, _PROD, _MIN, _MAX or _MEAN */
    int rank;                /* the root; of a send or receive, the other rank */
    uint64_t reserved[2];    /* 0 */
} acu_collective;

/*
 * A collective as an op. `in` and `out` have an operand for each of this process's ranks, in their
 * order: what it reads and what it writes; they are consumed. `in` NULL: in place, what is in `out`
 * is read. `out` NULL: this process receives nothing. An operand that a rank has no use for may be
 * NULL, where the table says so: `out` of a rank that is not the root of a reduce or gather, `in`
 * of one that is not the root of a scatter.
 *
 * What a rank writes must not overlap what else it, or another rank of this process, has (INVALID).
 * Yields the operands of `out`, else those of `in`. Tensors may have any shape and, on a device,
 * any strides for an ALL_REDUCE, REDUCE, BROADCAST, SEND or RECEIVE; only the number of elements
 * counts. Others must be dense, and so must all host tensors. Of tensors without elements nothing
 * is sent, and nobody is waited for.
 *
 * Reductions take all integers and all floats but f8e8m0fnu and f4e2m1fnx2; of complex numbers
 * there is the sum and the mean. The mean is the sum divided by the number of ranks; integers have
 * none (DTYPE): take the sum. NCCL divides first, what each rank has, and adds that up: unless the
 * number of ranks is a power of two, the last bits may be others.
 *
 * f8e4m3fn and f8e5m2 are reduced in f32 and rounded once, and over MPI f16 and bf16, too; NCCL
 * reduces 16-bit integers as 32-bit ones. For that they are copied, and back, and so are host
 * tensors for a mean over MPI, and host and strided tensors for NCCL. The order in which ranks are
 * added is the backend's: the same on each run with the same ranks, and the result is the same on
 * all ranks, to the last bit (with MPI: for what MPI reduces once and hands on, as Open MPI and
 * MPICH do). Integers wrap around.
 *
 * A process with several devices sends and receives in groups only (below). Over MPI several sends
 * and receives may be under way at once, so two ranks may each send first; and at most 2^31 - 1
 * elements at a time.
 *
 * Not in explicit graphs. Errors: INVALID (a rank, an operand that lacks or is not wanted, a
 * layout), SHAPE, DTYPE, DEVICE, NOT_SUPPORTED, LIMIT; of the future: DRIVER (what MPI or NCCL
 * says), DEADLINE, CANCELLED, INVALID (ranks disagree; the communicator was closed, or is retired).
 */
ACU_API acu_op *acu_op_collective(acu_comm *comm, const acu_collective *what, acu_op *const *in,
                                  acu_op *const *out, size_t count, acu_site site);

static inline acu_op *acui_collective_one(acu_comm *comm, acu_collective_kind kind,
                                          acu_reduction reduction, int rank, acu_op *in,
                                          acu_op *out, acu_site site)
{
    acu_collective what = {kind, reduction, rank, {0, 0}};
    return acu_op_collective(comm, &what, in ? &in : NULL, out ? &out : NULL, in || out ? 1 : 0,
                             site);
}

/*
 * Several collectives of one communicator as one op, begun together and in no order: ranks may send
 * to each other, whoever sends first. So exchanges of any form are made of sends and receives, such
 * as with both neighbours, or parts of other lengths for each rank:
 *
 *     acu_op *ops[] = {acu_comm_send(comm, right, mine), acu_comm_receive(comm, left, theirs)};
 *     acu_submit(device, acu_comm_group(comm, ops, 2), NULL, &future);
 *
 * `ops` (1 to 1024, consumed) are made by acu_op_collective or the macros below, for this
 * communicator, and are used nowhere else. What one of them writes no other may read or write.
 * Between two ranks, the first that one sends is the first that the other receives, and so on. With
 * NCCL all calls are in one of its groups, and all ranks submit the group; with MPI each is posted
 * when its data is ready.
 *
 * With several devices, a process gives a SEND or RECEIVE one operand for each rank that sends to,
 * or receives from, the one that it names, and NULL for the others. A message between two ranks of
 * one process must be sent and received in one group.
 *
 * Yields what the collectives yield, in their order. In checked mode, messages are not compared.
 * Errors: those of the collectives; INVALID (an op that is none, or is used elsewhere; operands
 * that overlap; a message within the process that is not received, or not sent).
 */
#define acu_comm_group(comm, ops, count) acu_op_comm_group((comm), (ops), (count), ACU_SITE)
ACU_API acu_op *acu_op_comm_group(acu_comm *comm, acu_op *const *ops, size_t count, acu_site site);

/* For a process with one rank, in place; x is an ACU_OPERAND. Others, and several ranks, through
 * acu_op_collective. */
#define acu_comm_all_reduce(comm, how, x)                                                          \
    acui_collective_one((comm), ACU_ALL_REDUCE, (how), 0, NULL, ACU_OPERAND(x), ACU_SITE)
#define acu_comm_reduce(comm, how, root, x)                                                        \
    acui_collective_one((comm), ACU_REDUCE, (how), (root), NULL, ACU_OPERAND(x), ACU_SITE)
#define acu_comm_broadcast(comm, root, x)                                                          \
    acui_collective_one((comm), ACU_BROADCAST, ACU_REDUCE_SUM, (root), NULL, ACU_OPERAND(x),       \
                        ACU_SITE)
#define acu_comm_send(comm, to, x)                                                                 \
    acui_collective_one((comm), ACU_SEND, ACU_REDUCE_SUM, (to), ACU_OPERAND(x), NULL, ACU_SITE)
#define acu_comm_receive(comm, from, x)                                                            \
    acui_collective_one((comm), ACU_RECEIVE, ACU_REDUCE_SUM, (from), NULL, ACU_OPERAND(x), ACU_SITE)
/* From one tensor to another. */
#define acu_comm_all_gather(comm, all, part)                                                       \
    acui_collective_one((comm), ACU_ALL_GATHER, ACU_REDUCE_SUM, 0, ACU_OPERAND(part),              \
                        ACU_OPERAND(all), ACU_SITE)
#define acu_comm_reduce_scatter(comm, how, part, all)                                              \
    acui_collective_one((comm), ACU_REDUCE_SCATTER, (how), 0, ACU_OPERAND(all), ACU_OPERAND(part), \
                        ACU_SITE)
#define acu_comm_all_to_all(comm, out, in)                                                         \
    acui_collective_one((comm), ACU_ALL_TO_ALL, ACU_REDUCE_SUM, 0, ACU_OPERAND(in),                \
                        ACU_OPERAND(out), ACU_SITE)
/* Over once all ranks have submitted theirs, and what came before it in this communicator is
 * posted. */
#define acu_comm_barrier(comm)                                                                     \
    acui_collective_one((comm), ACU_BARRIER, ACU_REDUCE_SUM, 0, NULL, NULL, ACU_SITE)

ACU_END
#endif
