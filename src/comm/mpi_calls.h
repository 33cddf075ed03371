/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The calls of MPI that acuda makes, for one ABI. Before including this, a file defines the type
 * HANDLE and the values IN_PLACE, STATUS_IGNORE and MULTIPLE (MPI_THREAD_MULTIPLE), and functions
 * for the handles that it has: world, self, return_errors, type_of, op_of. It is included once in
 * each of these files.
 */
#include "base/error.h"
#include "driver/vendor.h"

#include <stddef.h>
#include <string.h>

static struct {
    int (*Initialized)(int *flag);
    int (*Finalized)(int *flag);
    int (*Query_thread)(int *provided);
    int (*Init_thread)(int *argc, char ***argv, int required, int *provided);
    int (*Finalize)(void);
    int (*Comm_dup)(HANDLE, HANDLE *);
    int (*Comm_free)(HANDLE *);
    int (*Comm_rank)(HANDLE, int *);
    int (*Comm_size)(HANDLE, int *);
    int (*Comm_set_errhandler)(HANDLE, HANDLE);
    int (*Error_string)(int, char *, int *);
    int (*Test)(HANDLE *, int *, void *);
    int (*Isend)(const void *, int, HANDLE, int, int, HANDLE, HANDLE *);
    int (*Irecv)(void *, int, HANDLE, int, int, HANDLE, HANDLE *);
    int (*Ibarrier)(HANDLE, HANDLE *);
    int (*Ibcast)(void *, int, HANDLE, int, HANDLE, HANDLE *);
    int (*Iallreduce)(const void *, void *, int, HANDLE, HANDLE, HANDLE, HANDLE *);
    int (*Ireduce)(const void *, void *, int, HANDLE, HANDLE, int, HANDLE, HANDLE *);
    int (*Iallgather)(const void *, int, HANDLE, void *, int, HANDLE, HANDLE, HANDLE *);
    int (*Igather)(const void *, int, HANDLE, void *, int, HANDLE, int, HANDLE, HANDLE *);
    int (*Iscatter)(const void *, int, HANDLE, void *, int, HANDLE, int, HANDLE, HANDLE *);
    int (*Ialltoall)(const void *, int, HANDLE, void *, int, HANDLE, HANDLE, HANDLE *);
    int (*Ireduce_scatter_block)(const void *, void *, int, HANDLE, HANDLE, HANDLE, HANDLE *);
} mpi;

#define CALLS(X)                                                                                   \
    X(Initialized) X(Finalized) X(Query_thread) X(Init_thread) X(Finalize) X(Comm_dup)             \
    X(Comm_free) X(Comm_rank) X(Comm_size) X(Comm_set_errhandler) X(Error_string) X(Test)          \
    X(Isend) X(Irecv) X(Ibarrier) X(Ibcast) X(Iallreduce) X(Ireduce) X(Iallgather) X(Igather)      \
    X(Iscatter) X(Ialltoall) X(Ireduce_scatter_block)

static const char *use_calls(void *library)
{
#define X(name)                                                                                    \
    if (!acui_vendor_symbol(library, "MPI_" #name, &mpi.name))                                     \
        return "MPI_" #name;
    CALLS(X)
#undef X
    return NULL;
}

static int state(bool *initialised, bool *finalised, bool *multiple)
{
    int is = 0, was = 0, level = 0;
    int code = mpi.Initialized(&is);
    if (code == 0)
        code = mpi.Finalized(&was);
    if (code == 0 && is && !was)
        code = mpi.Query_thread(&level);
    *initialised = is;
    *finalised = was;
    *multiple = level >= MULTIPLE;
    return code;
}

static int start(void)
{
    int provided, code = mpi.Init_thread(NULL, NULL, MULTIPLE, &provided);
    if (code == 0) /* some errors are of no communicator in particular, and would end the process */
        code = mpi.Comm_set_errhandler(world(), return_errors());
    return code == 0 ? mpi.Comm_set_errhandler(self(), return_errors()) : code;
}

static int end(void)
{
    return mpi.Finalize();
}

static int join(uintptr_t *comm, int *rank, int *ranks)
{
    HANDLE made;
    int code = mpi.Comm_dup(world(), &made);
    if (code == 0)
        code = mpi.Comm_set_errhandler(made, return_errors());
    if (code == 0)
        code = mpi.Comm_rank(made, rank);
    if (code == 0)
        code = mpi.Comm_size(made, ranks);
    *comm = code == 0 ? (uintptr_t)made : 0;
    return code;
}

static int leave(uintptr_t *comm)
{
    HANDLE handle = (HANDLE)*comm;
    *comm = 0;
    return mpi.Comm_free(&handle);
}

static bool reduces(acu_dtype dtype)
{
    HANDLE type;
    return type_of(dtype, &type);
}

/* A type of that size, for what is only moved. */
static HANDLE moved(acu_dtype dtype)
{
    static const acu_dtype like[9] = {[1] = ACU_U8, [2] = ACU_U16, [4] = ACU_U32, [8] = ACU_U64};
    HANDLE type;
    type_of(like[acu_dtype_bytes(dtype)], &type);
    return type;
}

static int post_reduction(HANDLE c, const acui_mpi_post *p, HANDLE *request)
{
    const void *in = p->in ? p->in : IN_PLACE;
    HANDLE type, op = op_of(p->reduction);
    type_of(p->dtype, &type);
    if (p->kind == ACU_ALL_REDUCE)
        return mpi.Iallreduce(in, p->out, p->count, type, op, c, request);
    if (p->kind == ACU_REDUCE_SCATTER)
        return mpi.Ireduce_scatter_block(in, p->out, p->count, type, op, c, request);
    if (!p->is_root && !p->in) /* in place is the root's only; the others give what they have */
        in = p->out;
    return mpi.Ireduce(in, p->is_root ? p->out : NULL, p->count, type, op, p->rank, c, request);
}

static int post(uintptr_t comm, const acui_mpi_post *p, uintptr_t *request)
{
    HANDLE c = (HANDLE)comm, made = 0, type = moved(p->dtype);
    const void *in = p->in ? p->in : IN_PLACE;
    int n = p->count, code = -1;
    switch (p->kind) {
    case ACU_ALL_REDUCE:
    case ACU_REDUCE:
    case ACU_REDUCE_SCATTER:
        code = post_reduction(c, p, &made);
        break;
    case ACU_BROADCAST:
        code = mpi.Ibcast(p->out, n, type, p->rank, c, &made);
        break;
    case ACU_ALL_GATHER:
        code = mpi.Iallgather(in, n, type, p->out, n, type, c, &made);
        break;
    case ACU_ALL_TO_ALL:
        code = mpi.Ialltoall(in, n, type, p->out, n, type, c, &made);
        break;
    case ACU_GATHER:
        code = mpi.Igather(in, n, type, p->is_root ? p->out : NULL, n, type, p->rank, c, &made);
        break;
    case ACU_SCATTER:
        code = mpi.Iscatter(p->is_root ? p->in : NULL, n, type, p->out ? p->out : IN_PLACE, n, type,
                            p->rank, c, &made);
        break;
    case ACU_SEND:
        code = mpi.Isend(p->in, n, type, p->rank, p->tag, c, &made);
        break;
    case ACU_RECEIVE:
        code = mpi.Irecv(p->out, n, type, p->rank, p->tag, c, &made);
        break;
    case ACU_BARRIER:
        code = mpi.Ibarrier(c, &made);
        break;
    case ACU_COLLECTIVE_COUNT:
        break;
    }
    *request = (uintptr_t)made;
    return code;
}

static int exchange(uintptr_t comm, const int64_t *mine, int64_t *all, int count,
                    uintptr_t *request)
{
    HANDLE made = 0, type = moved(ACU_I64);
    int code = mpi.Iallgather(mine, count, type, all, count, type, (HANDLE)comm, &made);
    *request = (uintptr_t)made;
    return code;
}

static int test(uintptr_t *request, bool *over)
{
    HANDLE handle = (HANDLE)*request;
    int flag = 0, code = mpi.Test(&handle, &flag, STATUS_IGNORE);
    *request = (uintptr_t)handle;
    *over = flag;
    return code;
}

static void words(int code, char text[ACUI_MPI_WORDS])
{
    int length = 0;
    memset(text, 0, ACUI_MPI_WORDS);
    if (mpi.Error_string(code, text, &length) != 0)
        text[0] = '\0';
}
