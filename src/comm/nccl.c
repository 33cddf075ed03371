/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Collectives by NCCL, as ops: one foreign call for all ranks of this process, on a stream of the
 * first one's device, where it waits for the data of all of them. The ranks take their parts on
 * streams of the communicator's, between that and what comes behind it.
 */
#include "comm/nccl.h"

#include "base/error.h"
#include "memory/dtype.h"
#include "op/call.h"

#include <acuda/ops.h>

/* ---- types ----------------------------------------------------------------------------------- */

/* NCCL's type; false: it has none. */
static bool type_of(acu_dtype dtype, int *type)
{
    static const int types[] = {
        [ACU_I8] = 1 + ACUI_NCCL_I8,   [ACU_U8] = 1 + ACUI_NCCL_U8,
        [ACU_I32] = 1 + ACUI_NCCL_I32, [ACU_U32] = 1 + ACUI_NCCL_U32,
        [ACU_I64] = 1 + ACUI_NCCL_I64, [ACU_U64] = 1 + ACUI_NCCL_U64,
        [ACU_F16] = 1 + ACUI_NCCL_F16, [ACU_BF16] = 1 + ACUI_NCCL_BF16,
        [ACU_F32] = 1 + ACUI_NCCL_F32, [ACU_F64] = 1 + ACUI_NCCL_F64,
    };
    *type = (size_t)dtype < sizeof types / sizeof *types ? types[dtype] - 1 : -1;
    return *type >= 0;
}

/* What the tensors are converted to meanwhile: also 16-bit integers, to 32-bit ones. NCCL has
 * floats of 8 bits (from 2.24 on), but rounds each addition to them. */
static acu_dtype dtype_by_nccl(const acui_collective *c)
{
    acu_dtype as = acui_reduced_as(c);
    if (!acui_reduces(c))
        return as;
    return as == ACU_I16 ? ACU_I32 : as == ACU_U16 ? ACU_U32 : as;
}

static int op_of(acu_reduction reduction)
{
    return reduction == ACU_REDUCE_SUM    ? ACUI_NCCL_SUM
           : reduction == ACU_REDUCE_PROD ? ACUI_NCCL_PROD
           : reduction == ACU_REDUCE_MIN  ? ACUI_NCCL_MIN
           : reduction == ACU_REDUCE_MAX  ? ACUI_NCCL_MAX
                                          : ACUI_NCCL_MEAN;
}

/* ---- one rank's calls ------------------------------------------------------------------------ */

typedef struct part {
    const acui_collective *c;
    const acu_comm *comm;
    int rank;
    char *in, *out;  /* `in` is `out` in place; NULL: nothing */
    bool in_place;
    int type;        /* what is only moved goes as bytes */
    size_t n, bytes; /* of a part, in that type and in bytes */
    acui_nccl_handle handle;
    CUstream stream;
} part;

/* Part j of `at`, which has one for each rank; or all that there is. */
static int send_to(const part *p, char *at, int j, int to)
{
    return acui_nccl.send(at + (size_t)j * p->bytes, p->n, p->type, to, p->handle, p->stream);
}

static int receive_from(const part *p, char *at, int j, int from)
{
    return acui_nccl.receive(at + (size_t)j * p->bytes, p->n, p->type, from, p->handle, p->stream);
}

static int all_to_all(const part *p)
{
    int status = 0;
    for (int j = 0; j < p->comm->ranks && status == 0; j++) {
        status = send_to(p, p->in, j, j);
        if (status == 0)
            status = receive_from(p, p->out, j, j);
    }
    return status;
}

static int gather(const part *p)
{
    int root = p->c->what.rank, status = 0;
    bool own = p->rank == root, stays = own && p->in_place;
    if (!stays)
        status = send_to(p, p->in, 0, root);
    for (int j = 0; j < p->comm->ranks && own && status == 0; j++)
        if (!(stays && j == root))
            status = receive_from(p, p->out, j, j);
    return status;
}

static int scatter(const part *p)
{
    int root = p->c->what.rank, status = 0;
    bool own = p->rank == root, stays = own && (p->in_place || !p->out);
    for (int j = 0; j < p->comm->ranks && own && status == 0; j++)
        if (!(stays && j == root))
            status = send_to(p, p->in, j, j);
    return stays || status ? status : receive_from(p, p->out, 0, root);
}

static int call(const part *p)
{
    const acui_collective *c = p->c;
    int op = op_of(c->what.reduction), root = c->what.rank;
    size_t own = (size_t)p->rank * p->bytes;
    switch (c->what.kind) {
    case ACU_ALL_REDUCE:
    case ACU_BARRIER:
        return acui_nccl.all_reduce(p->in, p->out, p->n, p->type, op, p->handle, p->stream);
    case ACU_REDUCE:
        return acui_nccl.reduce(p->in, p->out, p->n, p->type, op, root, p->handle, p->stream);
    case ACU_BROADCAST:
        return acui_nccl.broadcast(p->out, p->out, p->n, p->type, root, p->handle, p->stream);
    case ACU_ALL_GATHER:
        return acui_nccl.all_gather(p->in_place ? p->out + own : p->in, p->out, p->n, p->type,
                                    p->handle, p->stream);
    case ACU_REDUCE_SCATTER:
        return acui_nccl.reduce_scatter(p->in, p->in_place ? p->out + own : p->out, p->n, p->type,
                                        op, p->handle, p->stream);
    case ACU_ALL_TO_ALL:
        return all_to_all(p);
    case ACU_GATHER:
        return gather(p);
    case ACU_SCATTER:
        return scatter(p);
    case ACU_SEND:
        return send_to(p, p->in, 0, root);
    case ACU_RECEIVE:
        return receive_from(p, p->out, 0, root);
    case ACU_COLLECTIVE_COUNT:
        break;
    }
    return 0;
}

/* ---- the call of all ranks ------------------------------------------------------------------- */

static char *address(const acu_val *value)
{
    return (char *)(uintptr_t)acu_tensor_address(value->tensor);
}

/* The i-th rank's part; its values begin at *at. */
static part part_of(const acui_nccl_request *r, const acui_collective *c, size_t i,
                    const acu_val *values, size_t *at)
{
    const acui_nccl_rank *rank = &r->comm->nccl->ranks[i];
    part p = {.c = c, .comm = r->comm, .rank = r->comm->rank + (int)i, .handle = rank->handle,
              .stream = rank->stream, .n = (size_t)c->part};
    p.out = c->out[i] ? address(&values[(*at)++]) : NULL;
    p.in = c->in[i] ? address(&values[(*at)++]) : p.out;
    p.in_place = !c->in[i];
    if (c->what.kind == ACU_BARRIER) {
        p.in = p.out = (char *)(uintptr_t)acu_tensor_address(rank->order);
        p.n = 1;
    }
    size_t bytes = acu_dtype_bytes(c->dtype);
    p.bytes = p.n * bytes;
    if (c->what.kind == ACU_BARRIER) {
        p.type = ACUI_NCCL_U32;
    } else if (!acui_reduces(c) || !type_of(acui_numbers_of(c->dtype), &p.type)) {
        p.type = ACUI_NCCL_U8;
        p.n = p.bytes;
    } else if (acui_is_complex(c->dtype)) {
        p.n *= 2; /* they are summed up part by part */
    }
    return p;
}

/*
 * All parts are on streams of the ranks' own, which are more urgent than what else is computed: the
 * part of one rank waits, on its device, for the others' parts to begin. The first one's is the
 * op's, unless the program has chosen that.
 */

/* The first rank whose stream is another one. */
static size_t first_other(const acu_comm *comm, CUstream op)
{
    return comm->nccl->ranks[0].stream == op;
}

/* Have the ranks' streams wait for what the op's stream waits for, if that is anything. */
static acu_status fork(acu_comm *comm, CUstream op)
{
    size_t first = first_other(comm, op);
    if (first == comm->device_count || comm->devices[0]->cu->StreamQuery(op) == ACU_CUDA_SUCCESS)
        return ACU_OK;
    ACUI_TRY(ACUI_DEV(comm->devices[0], EventRecord, comm->nccl->ready, op));
    for (size_t i = first; i < comm->device_count; i++) {
        acui_entered entered;
        ACUI_TRY(acui_enter(comm->devices[i], &entered));
        acu_status status = ACUI_DEV(comm->devices[i], StreamWaitEvent,
                                     comm->nccl->ranks[i].stream, comm->nccl->ready, 0);
        acui_leave(&entered);
        ACUI_TRY(status);
    }
    return ACU_OK;
}

/* What is behind it on the op's stream comes behind all of them. */
static acu_status join(acu_comm *comm, CUstream op)
{
    for (size_t i = first_other(comm, op); i < comm->device_count; i++) {
        acui_entered entered;
        acui_nccl_rank *rank = &comm->nccl->ranks[i];
        ACUI_TRY(acui_enter(comm->devices[i], &entered));
        acu_status status = ACUI_DEV(comm->devices[i], EventRecord, rank->over, rank->stream);
        acui_leave(&entered);
        ACUI_TRY(status);
        ACUI_TRY(ACUI_DEV(comm->devices[0], StreamWaitEvent, op, rank->over, 0));
    }
    return ACU_OK;
}

/* One collective, of all ranks of this process; its values begin at *at. */
static int call_one(const acui_nccl_request *r, const acui_collective *c, const acu_val *values,
                    size_t *at)
{
    int said = 0;
    for (size_t i = 0; i < r->comm->device_count && said == 0; i++) {
        part p = part_of(r, c, i, values, at);
        if (!acui_is_message(c) || p.in) /* else the rank has no part in it */
            said = call(&p);
    }
    return said;
}

static acu_status call_all(acui_nccl_request *r, CUstream stream, const acu_val *values)
{
    acu_comm *comm = r->comm;
    size_t at = 0;
    ACUI_TRY(fork(comm, stream));
    int said = acui_nccl.group_start();
    for (size_t k = 0; k < r->count && said == 0; k++)
        said = call_one(r, &r->c[k], values, &at);
    int end = acui_nccl.group_end();
    ACUI_TRY(acui_nccl_fail("NCCL", said ? said : end, comm->nccl->ranks[0].handle));
    return join(comm, stream);
}

/* Why nothing can be called; OK: it can. */
static acu_status check_state(const acu_comm *comm)
{
    int state = atomic_load_explicit(&comm->nccl->state, memory_order_acquire);
    if (atomic_load(&comm->closed))
        return acui_fail(ACU_ERR_INVALID, "the communicator was closed");
    if (state != ACUI_NCCL_WORKS)
        return acui_fail(ACU_ERR_INVALID, "the communicator is retired: %.400s",
                         comm->nccl->record.message);
    return ACU_OK;
}

/* It failed, or was aborted while it waited inside of NCCL. */
static acu_status fail(acu_comm *comm)
{
    acu_error record = *acui_error();
    if (atomic_load_explicit(&comm->nccl->state, memory_order_acquire) != ACUI_NCCL_WORKS)
        return acui_error_restore(&comm->nccl->record);
    acui_nccl_retire(comm, &record);
    return acui_error_restore(&record);
}

acu_status acui_nccl_run(void *request, CUstream stream, const acu_val *values, size_t count)
{
    (void)count;
    acui_nccl_request *r = request;
    acu_comm *comm = r->comm;
    struct acui_nccl *n = comm->nccl;
    pthread_mutex_lock(&n->calls);
    acu_status status = check_state(comm);
    if (status == ACU_OK) {
        acui_nccl_called(r);
        status = call_all(r, stream, values);
        status = status == ACU_OK ? ACU_OK : fail(comm);
    }
    pthread_mutex_unlock(&n->calls);
    return status;
}

/* ---- building -------------------------------------------------------------------------------- */

static void drop(void *request)
{
    acui_nccl_request *r = request;
    acui_nccl_dropped(r);
    acui_comm_drop(r->comm);
    acui_free(r);
}

static acu_status begin(void *user, acu_device *device, acui_point **behind)
{
    (void)user, (void)device, (void)behind; /* there is nothing to wait for */
    return ACU_OK;
}

static acu_stream *stream_of(void *request)
{
    const acui_nccl_request *r = request;
    return r->comm->nccl->stream;
}

/* What is under construction. */
typedef struct work {
    acu_comm *comm;
    acu_site site;
    acu_arg *args;
    acu_op **parts, **list;
    /* Of each argument: where its result goes, by way of a copy; NULL: it is there. */
    const acu_val **copied;
    const acui_collective **of; /* to what it belongs */
    size_t count;
} work;

/* The tensor as NCCL can take it: on its device, dense, of a type that NCCL has. What is
 * overwritten need not have its contents. */
static acu_op *staged(const work *w, const acui_collective *c, size_t i, const acu_val *v,
                      bool overwritten, bool *is_copy)
{
    acu_device *device = w->comm->devices[i];
    acu_dtype as = dtype_by_nccl(c);
    bool host = acu_tensor_host(v->tensor) != NULL;
    *is_copy = host || as != c->dtype || !acu_tensor_dense(v->tensor);
    if (*is_copy && overwritten)
        return acu_op_on(device, acu_op_empty(as, acu_tensor_shape(v->tensor), w->site), w->site);
    acu_op *x = acu_op_value(v->tensor, w->site);
    if (host)
        x = acu_op_to_device(device, x, w->site);
    if (as != c->dtype)
        return acu_op_convert(x, as, w->site);
    return *is_copy && !host ? acu_op_dup(x, w->site) : x;
}

static void add(work *w, const acui_collective *c, acu_op *x, acu_access access,
                const acu_val *copied_to)
{
    w->of[w->count] = c;
    w->copied[w->count] = copied_to;
    w->args[w->count++] = acu_arg_op(x, access);
}

/* Whether the rank's `out` is written completely, and not read. */
static bool is_overwritten(const work *w, const acui_collective *c, size_t i)
{
    bool is_root = w->comm->rank + (int)i == c->what.rank;
    switch (c->what.kind) {
    case ACU_BROADCAST:
    case ACU_SCATTER:
        return !is_root || c->in[i];
    case ACU_RECEIVE:
        return true;
    default:
        return c->in[i];
    }
}

static void add_rank(work *w, const acui_collective *c, size_t i)
{
    bool copy = false, overwritten = is_overwritten(w, c, i);
    if (c->out[i]) {
        acu_op *x = staged(w, c, i, c->out[i], overwritten, &copy);
        add(w, c, x, overwritten ? ACU_WRITE : ACU_UPDATE, copy ? c->out[i] : NULL);
    }
    if (c->in[i])
        add(w, c, staged(w, c, i, c->in[i], false, &copy), ACU_READ, NULL);
}

/* In place, an all-to-all works on a copy of what is given. */
static const acu_val *given_apart(const acui_collective *c, size_t i)
{
    return c->what.kind == ACU_ALL_TO_ALL && !c->in[i] ? c->out[i] : NULL;
}

/* One collective, and what is kept of it. */
static void add_one(work *w, const acui_collective *c, acui_collective *kept)
{
    *kept = *c;
    kept->dtype = dtype_by_nccl(c);
    for (size_t i = 0; i < c->count; i++) {
        add_rank(w, c, i);
        if (given_apart(c, i)) {
            kept->in[i] = c->out[i];
            acu_op *given = acu_op_value(c->out[i]->tensor, w->site);
            add(w, c, acu_op_dup(given, w->site), ACU_READ, NULL);
        }
    }
}

static void add_order(work *w)
{
    for (size_t i = 0; i < w->comm->device_count; i++)
        w->args[w->count++] = acu_arg_tensor(w->comm->nccl->ranks[i].order, ACU_WRITE);
    w->args[w->count++] = acu_arg_tensor(w->comm->turn, ACU_UPDATE);
}

/* The results go where they belong, from copies. */
static acu_op *copied_back(work *w, acu_op *done)
{
    size_t n = 0;
    bool any = false;
    for (size_t k = 0; k < w->count; k++)
        any |= w->copied[k] != NULL;
    if (!any)
        return done;
    acu_op_unzip(done, w->parts, w->count, w->site);
    for (size_t k = 0; k < w->count; k++) {
        const acu_val *to = w->copied[k];
        if (!to) {
            acu_op_release(w->parts[k]);
            continue;
        }
        acu_op *x = w->parts[k];
        if (dtype_by_nccl(w->of[k]) != w->of[k]->dtype)
            x = acu_op_convert(x, w->of[k]->dtype, w->site);
        w->list[n++] = acu_op_copy(acu_op_value(to->tensor, w->site), x, w->site);
    }
    return acu_op_zip(w->list, n, w->site);
}

static void end_work(work *w)
{
    acui_free(w->args);
    acui_free(w->parts);
    acui_free(w->list);
    acui_free(w->copied);
    acui_free(w->of);
}

/* Room for three arguments of each rank of each collective, and those that keep the order. */
static bool begin_work(work *w, const acui_collective *c, size_t n)
{
    size_t most = w->comm->device_count + 1 + n;
    for (size_t k = 0; k < n; k++)
        most += 3 * c[k].count;
    w->args = ACUI_NEW_ARRAY(acu_arg, most);
    w->parts = ACUI_NEW_ARRAY(acu_op *, most);
    w->list = ACUI_NEW_ARRAY(acu_op *, most);
    w->copied = ACUI_NEW_ARRAY(const acu_val *, most);
    w->of = ACUI_NEW_ARRAY(const acui_collective *, most);
    return w->args && w->parts && w->list && w->copied && w->of;
}

static acu_op *calling(work *w, acui_nccl_request *r, const acui_collective *c)
{
    static const acui_own_call own = {.begin = begin, .stream = stream_of};
    for (size_t k = 0; k < r->count; k++)
        add_one(w, &c[k], &r->c[k]);
    for (size_t k = 0; k < r->count; k++)
        if (acui_nccl_is_compared(w->comm, &c[k]))
            add(w, &c[k], acui_nccl_compared(w->comm, &c[k], w->site), ACU_READ, NULL);
    add_order(w);
    acu_op *op = acu_op_foreign(acui_nccl_run, (acu_user){r, drop}, w->args, w->count, w->site);
    const char *name = r->count > 1 ? "group" : acui_collective_name(c->what.kind);
    op = acui_op_own_call(acui_op_call(op, name), &own);
    acui_op_not_captured(op); /* other ranks would have to replay it too */
    return copied_back(w, op);
}

acu_op *acui_collectives_nccl(acu_comm *comm, const acui_collective *c, size_t n, acu_site site)
{
    acui_nccl_request *r = acui_alloc(sizeof *r + n * sizeof *r->c);
    work w = {.comm = comm, .site = site};
    acu_op *op;
    if (r && begin_work(&w, c, n)) {
        r->comm = acui_object_retain(comm);
        r->count = n;
        op = calling(&w, r, c);
    } else {
        acui_free(r);
        acui_fail(ACU_ERR_NO_MEMORY, "no memory for a collective");
        op = acu_op_fail(ACU_ERR_NO_MEMORY, "collective", site, NULL);
    }
    end_work(&w);
    return op;
}
