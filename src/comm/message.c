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

/* Whether it goes over MPI as f32 instead. */
static bool is_widened(const acu_comm *comm, const acui_collective *c)
{
    return !comm->mpi->reduces(c->dtype) && (c->dtype == ACU_F16 || c->dtype == ACU_BF16) &&
           (c->what.kind == ACU_ALL_REDUCE || c->what.kind == ACU_REDUCE ||
            c->what.kind == ACU_REDUCE_SCATTER);
}

/* MPI moves and adds up complex numbers part by part. */
static int parts_of(const acui_collective *c)
{
    return acui_is_complex(c->dtype) ? 2 : 1;
}

/* The tensor's contents in memory that MPI can reach. */
static acu_op *staged(const acu_val *v, bool widened, acu_site site)
{
    acu_op *x = acu_op_value(v->tensor, site);
    if (acu_tensor_host(v->tensor))
        return x;
    return acu_op_to_host(widened ? acu_op_convert(x, ACU_F32, site) : x, site);
}

static acu_op *received(const acu_val *v, acu_op *x, bool widened, acu_site site)
{
    if (acu_tensor_host(v->tensor))
        return x;
    if (widened)
        x = acu_op_convert(acu_op_to_device(acu_tensor_device(v->tensor), x, site),
                           acu_tensor_dtype(v->tensor), site);
    return acu_op_copy(acu_op_value(v->tensor, site), x, site);
}

/* MPI puts the result of a reduce-scatter in place before everything else, so it works on a copy,
 * and the result is copied to the rank's own part. */
static bool is_moved(const acui_collective *c)
{
    return c->what.kind == ACU_REDUCE_SCATTER && !c->in[0];
}

static acu_op *staged_whole(const acu_val *v, bool widened, acu_site site)
{
    if (!acu_tensor_host(v->tensor))
        return staged(v, widened, site);
    return acu_op_to_host(acu_op_dup(acu_op_value(v->tensor, site), site), site);
}

static acu_op *received_part(const acu_comm *comm, const acui_collective *c, acu_op *x,
                             bool widened, acu_site site)
{
    const acu_tensor *t = c->out[0]->tensor;
    int64_t n = c->part, at = comm->rank * n;
    x = acu_op_slice(acu_op_flatten(x, site), ACU_SHAPE(0), ACU_SHAPE(n), ACU_NO_STEP, site);
    if (widened)
        x = acu_op_convert(acu_op_to_device(acu_tensor_device(t), x, site), acu_tensor_dtype(t),
                           site);
    acu_op *to = acu_op_flatten(acu_op_value(t, site), site);
    to = acu_op_slice(to, ACU_SHAPE(at), ACU_SHAPE(at + n), ACU_NO_STEP, site);
    return acu_op_copy(to, x, site);
}

static acu_status check(const acu_comm *comm, const acui_collective *c, bool widened)
{
    const acu_val *v = c->out[0] ? c->out[0] : c->in[0];
    bool reduced = c->what.kind == ACU_ALL_REDUCE || c->what.kind == ACU_REDUCE ||
                   c->what.kind == ACU_REDUCE_SCATTER;
    if (c->part > INT_MAX / parts_of(c))
        return acui_fail(ACU_ERR_LIMIT, "over MPI at most 2^31 - 1 numbers at a time, not %lld",
                         (long long)c->part * parts_of(c));
    if (reduced && !widened && !comm->mpi->reduces(acui_part_of(c->dtype)))
        return acui_fail(ACU_ERR_DTYPE, "MPI can not reduce %s", acu_dtype_name(c->dtype));
    if (reduced && widened && v && acu_tensor_host(v->tensor))
        return acui_fail(ACU_ERR_DTYPE, "over MPI, %s is reduced on devices only: MPI has no such "
                         "type", acu_dtype_name(c->dtype));
    return ACU_OK;
}

static acui_request *new_request(acu_comm *comm, const acui_collective *c, bool widened,
                                 acu_site site)
{
    acui_request *r = ACUI_NEW(acui_request);
    if (!r)
        return NULL;
    atomic_store_explicit(&r->refs, 2, memory_order_relaxed);
    r->comm = acui_object_retain(comm);
    r->site = site;
    r->post = (acui_mpi_post){.kind = c->what.kind,
                              .reduction = c->what.reduction,
                              .dtype = widened ? ACU_F32 : acui_part_of(c->dtype),
                              .rank = c->what.rank,
                              .is_root = c->what.rank == comm->rank,
                              .count = (int)c->part * parts_of(c)};
    int64_t facts[ACUI_FACTS] = {c->what.kind, c->part, c->dtype, c->what.reduction, c->what.rank};
    memcpy(r->facts, facts, sizeof facts);
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
    return acui_op_own_host(acu_op_host(hand_over, (acu_user){r, drop}, args, n, site));
}

/* The op that ends with the request. MPI still reads `in`, or writes `out`: it uses both. */
static acu_op *awaiting(acui_request *r, acu_op *posted, bool in, bool out, acu_site site)
{
    acu_op *parts[3];
    acu_arg args[2];
    size_t n = 0, count = (size_t)in + out + 1;
    acu_op_unzip(posted, parts, count, site);
    if (out)
        args[n] = acu_arg_op(parts[n], ACU_UPDATE), n++;
    if (in)
        args[n] = acu_arg_op(parts[n], ACU_READ), n++;
    acu_op *x = acui_op_own_host(acu_op_host_async(await, (acu_user){r, drop}, args, n, site));
    if (!out) /* nothing that it uses was written */
        return acu_op_after(x, parts[n], site);
    acu_op_release(parts[n]); /* the turn: others may post meanwhile */
    return x;
}

acu_op *acui_collective_message(acu_comm *comm, const acui_collective *c, acu_site site)
{
    bool widened = is_widened(comm, c);
    acu_status status = check(comm, c, widened);
    if (status != ACU_OK)
        return acu_op_fail(status, "collective", site, NULL);
    acui_request *r = new_request(comm, c, widened, site);
    if (!r) {
        acui_fail(ACU_ERR_NO_MEMORY, "no memory for a collective");
        return acu_op_fail(ACU_ERR_NO_MEMORY, "collective", site, NULL);
    }
    const acu_val *in = c->in[0], *out = c->out[0];
    bool reads_out = !in || !acu_tensor_host(out ? out->tensor : in->tensor);
    acu_op *to = !out           ? NULL
                 : is_moved(c) ? staged_whole(out, widened, site)
                               : staged(out, widened, site);
    acu_op *posted = posting(comm, r, in ? staged(in, widened, site) : NULL, to, reads_out, site);
    acu_op *over = awaiting(r, posted, in, out, site);
    if (!out)
        return over;
    over = acu_op_nth(over, 0, site);
    return is_moved(c) ? received_part(comm, c, over, widened, site)
                       : received(out, over, widened, site);
}
