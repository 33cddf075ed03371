/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Collectives by MPI, as ops: device tensors are copied to pinned memory; one host op hands the
 * request to MPI's thread, in the order in which such ops were submitted; another one, which has no
 * part in that order, ends when the request does; what was received is copied back.
 */
#include "comm/comm.h"

#include "base/error.h"
#include "memory/dtype.h"
#include "op/call.h"

#include <acuda/ops.h>
#include <limits.h>
#include <string.h>

void acui_request_drop(acui_request *r)
{
    if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) > 1)
        return;
    for (int i = 0; i < 2; i++)
        acu_buffer_release(r->held[i]);
    acui_comm_drop(r->comm);
    acui_free(r->all);
    acui_free(r);
}

static void drop(void *request)
{
    acui_request_drop(request);
}

/* The tensors are those of MPI's `in` and `out`, as far as there are such, and the turn. */
static acu_status hand_over(void *user, const acu_val *values, size_t count)
{
    acui_request *r = user;
    size_t n = 0;
    if (r->post.out) {
        r->held[0] = acu_buffer_retain(acu_tensor_buffer(values[n].tensor));
        r->post.out = acu_tensor_host(values[n++].tensor);
    }
    if (r->post.in) {
        r->held[1] = acu_buffer_retain(acu_tensor_buffer(values[n].tensor));
        r->post.in = acu_tensor_host(values[n++].tensor);
    }
    (void)count;
    return acui_request_post(r);
}

/* The op that posts came first. It may have failed; data tells that only where it writes. */
static acu_status await(void *user, acu_promise *promise, const acu_val *values, size_t count)
{
    (void)values, (void)count;
    return acui_request_await(user, promise);
}

/* ---- building -------------------------------------------------------------------------------- */

/* What goes over MPI, which has no floats of 16 bits. */
static acu_dtype dtype_by_mpi(const acui_collective *c)
{
    bool wide = acui_reduces(c) && (c->dtype == ACU_F16 || c->dtype == ACU_BF16);
    return wide ? ACU_F32 : acui_reduced_as(c);
}

/* MPI moves and adds up complex numbers part by part. */
static int parts_of(const acui_collective *c)
{
    return acui_is_complex(c->dtype) ? 2 : 1;
}

/* A collective under way. All of a group are posted before any is waited for: a submission goes
 * through its host ops one by one. */
typedef struct message {
    acu_comm *comm;
    acui_collective c;
    acu_dtype as; /* what goes over MPI */
    acui_request *r;
    acu_op *posted; /* or why it could not be */
    size_t parts;   /* how many values that yields */
} message;

/* The tensor's contents in memory that MPI can reach. */
static acu_op *staged(const message *m, const acu_val *v, acu_site site)
{
    acu_op *x = acu_op_value(v->tensor, site);
    bool host = acu_tensor_host(v->tensor) != NULL;
    if (host && m->as == m->c.dtype)
        return x;
    if (host)
        x = acu_op_to_device(m->comm->devices[0], x, site);
    return acu_op_to_host(m->as == m->c.dtype ? x : acu_op_convert(x, m->as, site), site);
}

/* What has come, as the operand is to have it. Only where something is left to be computed is it
 * on a device. */
static acu_op *ended(const message *m, acu_op *x, acu_site site)
{
    const acu_comm *comm = m->comm;
    bool mean = acui_reduces(&m->c) && m->c.what.reduction == ACU_REDUCE_MEAN && comm->ranks > 1;
    if (!mean && m->as == m->c.dtype)
        return x;
    x = acu_op_to_device(comm->devices[0], x, site);
    x = mean ? acui_reduction_end(&m->c, comm->ranks, x, site) : x;
    return m->as == m->c.dtype ? x : acu_op_convert(x, m->c.dtype, site);
}

static acu_op *received(const message *m, acu_op *x, acu_site site)
{
    const acu_tensor *t = m->c.out[0]->tensor;
    acu_op *end = ended(m, x, site);
    return end == x && acu_tensor_host(t) ? x : acu_op_copy(acu_op_value(t, site), end, site);
}

/* MPI puts the result of a reduce-scatter in place before everything else, so it works on a copy,
 * and the result is copied to the rank's own part. */
static bool is_moved(const acui_collective *c)
{
    return c->what.kind == ACU_REDUCE_SCATTER && !c->in[0];
}

static acu_op *staged_whole(const message *m, const acu_val *v, acu_site site)
{
    if (!acu_tensor_host(v->tensor) || m->as != m->c.dtype)
        return staged(m, v, site);
    return acu_op_to_host(acu_op_dup(acu_op_value(v->tensor, site), site), site);
}

static acu_op *received_part(const message *m, acu_op *x, acu_site site)
{
    const acu_tensor *t = m->c.out[0]->tensor;
    int64_t n = m->c.part, at = m->comm->mpi_rank * n;
    x = acu_op_slice(acu_op_flatten(x, site), ACU_SHAPE(0), ACU_SHAPE(n), ACU_NO_STEP, site);
    acu_op *to = acu_op_flatten(acu_op_value(t, site), site);
    to = acu_op_slice(to, ACU_SHAPE(at), ACU_SHAPE(at + n), ACU_NO_STEP, site);
    return acu_op_copy(to, ended(m, x, site), site);
}

static acu_status check(const message *m)
{
    const acui_collective *c = &m->c;
    if (c->part > INT_MAX / parts_of(c))
        return acui_fail(ACU_ERR_LIMIT, "over MPI at most 2^31 - 1 numbers at a time, not %lld",
                         (long long)c->part * parts_of(c));
    if (acui_reduces(c) && !m->comm->mpi->reduces(acui_numbers_of(m->as)))
        return acui_fail(ACU_ERR_DTYPE, "MPI can not reduce %s", acu_dtype_name(c->dtype));
    return ACU_OK;
}

static acui_request *new_request(const message *m, acu_site site)
{
    acu_comm *comm = m->comm;
    const acui_collective *c = &m->c;
    bool mean = c->what.reduction == ACU_REDUCE_MEAN;
    acui_request *r = ACUI_NEW(acui_request);
    if (!r)
        return NULL;
    atomic_store_explicit(&r->refs, 2, memory_order_relaxed);
    r->comm = acui_object_retain(comm);
    atomic_fetch_add_explicit(&comm->planned, 1, memory_order_relaxed);
    r->site = site;
    r->post = (acui_mpi_post){.kind = c->what.kind,
                              .reduction = mean ? ACU_REDUCE_SUM : c->what.reduction,
                              .dtype = acui_numbers_of(m->as),
                              .rank = c->what.rank,
                              .tag = c->tag,
                              .is_root = c->what.rank == comm->mpi_rank,
                              .count = (int)c->part * parts_of(c)};
    r->compared = comm->checked && !c->quiet && !acui_is_message(c);
    memcpy(r->facts, c->facts, sizeof r->facts);
    static char there; /* set to the address once that is known */
    r->post.in = c->in[0] ? &there : NULL;
    r->post.out = c->out[0] ? &there : NULL;
    return r;
}

/* The op that posts; yields what it takes, `out` first. It is the last to use `in`. */
static acu_op *posting(acu_comm *comm, acui_request *r, acu_op *in, acu_op *out, bool reads_out,
                       acu_site site)
{
    acu_arg args[3];
    size_t n = 0;
    if (out)
        args[n++] = acu_arg_op(out, reads_out ? ACU_UPDATE : ACU_WRITE);
    if (in)
        args[n++] = acu_arg_op(in, ACU_READ);
    args[n++] = acu_arg_tensor(comm->turn, ACU_UPDATE);
    const char *name = acui_collective_name(r->post.kind); /* the op may drop the request */
    acu_op *op = acui_op_own_host(acu_op_host(hand_over, (acu_user){r, drop}, args, n, site));
    return acui_op_call(op, name);
}

/* The op that ends with the request, given what the op that posts yields. MPI still reads `in`, or
 * writes `out`: it uses both. */
static acu_op *awaiting(acui_request *r, acu_op **parts, bool in, bool out, acu_site site)
{
    acu_arg args[2] = {{0}};
    size_t n = 0;
    if (out)
        args[n] = acu_arg_op(parts[n], ACU_UPDATE), n++;
    if (in)
        args[n] = acu_arg_op(parts[n], ACU_READ), n++;
    const char *name = acui_collective_name(r->post.kind);
    acu_op *x = acui_op_own_host(acu_op_host_async(await, (acu_user){r, drop}, args, n, site));
    x = acui_op_call(x, name);
    if (!out) /* nothing that it uses was written */
        return acu_op_after(x, parts[n], site);
    acu_op_release(parts[n]); /* the turn: others may post meanwhile */
    return x;
}

/* What MPI writes to. Where nothing of it is read, its contents do not matter. */
static acu_op *target(const message *m, acu_site site)
{
    const acu_val *in = m->c.in[0], *out = m->c.out[0];
    if (is_moved(&m->c))
        return staged_whole(m, out, site);
    if (m->as == m->c.dtype || !in)
        return staged(m, out, site);
    acu_op *x = acu_op_empty(m->as, acu_tensor_shape(out->tensor), site);
    return acu_op_to_host(acu_op_on(m->comm->devices[0], x, site), site);
}

static void begin(message *m, acu_site site)
{
    const acu_val *in = m->c.in[0], *out = m->c.out[0];
    m->as = dtype_by_mpi(&m->c);
    acu_status status = check(m);
    if (status == ACU_OK && !(m->r = new_request(m, site)))
        status = acui_fail(ACU_ERR_NO_MEMORY, "no memory for a collective");
    if (status != ACU_OK) {
        m->posted = acu_op_fail(status, "collective", site, NULL);
        return;
    }
    bool reads_out = !in || !acu_tensor_host(out ? out->tensor : in->tensor);
    acu_op *to = out ? target(m, site) : NULL;
    m->posted = posting(m->comm, m->r, in ? staged(m, in, site) : NULL, to, reads_out, site);
    m->parts = (size_t)(in != NULL) + (out != NULL) + 1;
}

static acu_op *end(const message *m, acu_op **parts, acu_site site)
{
    const acu_val *in = m->c.in[0], *out = m->c.out[0];
    acu_op *over = awaiting(m->r, parts, in, out, site);
    if (!out)
        return over;
    over = acu_op_nth(over, 0, site);
    return is_moved(&m->c) ? received_part(m, over, site) : received(m, over, site);
}

acu_op *acui_collective_message(acu_comm *comm, const acui_collective *c, acu_site site)
{
    message m = {.comm = comm, .c = *c};
    acu_op *parts[3];
    begin(&m, site);
    if (!m.r)
        return m.posted;
    acu_op_unzip(m.posted, parts, m.parts, site);
    return end(&m, parts, site);
}

/* ---- several --------------------------------------------------------------------------------- */

/* What local rank `own` has of a message. */
static acui_collective one_message(const acu_comm *comm, const acui_collective *c, size_t own)
{
    int each = (int)comm->device_count, other = c->what.rank % each;
    acui_collective m = {.what = c->what, .dtype = c->dtype, .part = c->part, .count = 1};
    m.what.rank = c->what.rank / each;
    m.in[0] = c->in[own];
    m.out[0] = c->out[own];
    m.tag = c->what.kind == ACU_SEND ? (int)own * ACUI_COMM_MOST + other
                                     : other * ACUI_COMM_MOST + (int)own;
    return m;
}

typedef struct several {
    acu_comm *comm;
    acu_site site;
    message *messages;
    acu_op **parts, **list;
    size_t count, listed;
} several;

/* Of a process with several devices, collectives are more than one request each. */
static void add(several *w, const acui_collective *c)
{
    bool alone = w->comm->device_count == 1;
    if (!acui_is_message(c) && alone)
        w->messages[w->count++] = (message){.comm = w->comm, .c = *c};
    else if (!acui_is_message(c))
        w->list[w->listed++] = acui_collective_spread(w->comm, c, w->site);
    for (size_t i = 0; i < c->count && acui_is_message(c); i++)
        if ((c->in[i] || c->out[i]) && (alone || !acui_message_is_here(w->comm, c, i)))
            w->messages[w->count++] = (message){.comm = w->comm, .c = one_message(w->comm, c, i)};
}

/* Posts all, then waits for all. */
static acu_op *post_all(several *w)
{
    size_t count = 0, at = 0;
    bool failed = false;
    for (size_t k = 0; k < w->count; k++) {
        begin(&w->messages[k], w->site);
        w->parts[k] = w->messages[k].posted;
        count += w->messages[k].parts;
        failed |= !w->messages[k].r;
    }
    acu_op *posted = acu_op_zip(w->parts, w->count, w->site);
    for (size_t k = 0; k < w->count && failed; k++)
        if (w->messages[k].r)
            acui_request_drop(w->messages[k].r); /* nothing will wait for it */
    if (failed)
        return posted;
    acu_op_unzip(posted, w->parts, count, w->site);
    for (size_t k = 0; k < w->count; k++) {
        const message *m = &w->messages[k];
        w->list[w->listed++] = end(m, w->parts + at, w->site);
        at += m->parts;
    }
    return NULL;
}

acu_op *acui_collectives_mpi(acu_comm *comm, const acui_collective *c, size_t n, acu_site site)
{
    size_t most = n + acui_messages_most(c, n);
    if (n == 1 && !acui_is_message(c))
        return comm->device_count == 1 ? acui_collective_message(comm, c, site)
                                       : acui_collective_spread(comm, c, site);
    several w = {.comm = comm, .site = site, .messages = ACUI_NEW_ARRAY(message, most),
                 .parts = ACUI_NEW_ARRAY(acu_op *, 3 * most),
                 .list = ACUI_NEW_ARRAY(acu_op *, 2 * most)};
    acu_status status = w.messages && w.parts && w.list
                            ? ACU_OK
                            : acui_fail(ACU_ERR_NO_MEMORY, "no memory to plan a group");
    if (status == ACU_OK && comm->device_count > 1)
        status = acui_messages_here(comm, c, n, w.list, &w.listed, site);
    for (size_t k = 0; k < n && status == ACU_OK; k++)
        add(&w, &c[k]);
    acu_op *failed = status == ACU_OK && w.count ? post_all(&w) : NULL;
    if (failed)
        w.list[w.listed++] = failed;
    acu_op *all = acui_all_of(w.list, w.listed, status, site);
    acui_free(w.messages);
    acui_free(w.parts);
    acui_free(w.list);
    return all;
}
