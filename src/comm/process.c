/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Collectives among the devices of one process, as copies between them and acuda's own kernels. */
#include "comm/comm.h"

#include "base/error.h"

#include <acuda/ops.h>

/* What is under construction: one op for each tensor that is written. */
typedef struct work {
    const acu_comm *comm;
    const acui_collective *c;
    acu_site site;
    acu_op *list[ACUI_COMM_MOST * ACUI_COMM_MOST];
    size_t count;
} work;

/* Part `j` of a tensor of all ranks'. */
static acu_op *part_of(const work *w, acu_op *x, int j)
{
    int64_t n = w->c->part;
    x = acu_op_flatten(x, w->site);
    return acu_op_slice(x, ACU_SHAPE(j * n), ACU_SHAPE((j + 1) * n), ACU_NO_STEP, w->site);
}

static acu_op *value(const work *w, const acu_val *v)
{
    return acu_op_value(v->tensor, w->site);
}

acu_op *acui_dense_value(const acu_tensor *t, acu_site site)
{
    acu_op *x = acu_op_value(t, site);
    return acu_tensor_dense(t) ? x : acu_op_dup(x, site);
}

/* A tensor of one part in the shape of what it is copied to. */
static acu_op *shaped(const work *w, const acu_val *like, acu_op *x)
{
    return acu_op_reshape(x, acu_tensor_shape(like->tensor), w->site);
}

static void copy(work *w, acu_op *to, acu_op *from)
{
    w->list[w->count++] = acu_op_copy(to, from, w->site);
}

static const acu_val *source(const acui_collective *c, size_t i)
{
    return c->in[i] ? c->in[i] : c->out[i];
}

/* The sum, or the like, of what the ranks give, in their order, on the device of rank `on`; `j`:
 * only of part j of each (-1: of all). */
static acu_op *reduced(const work *w, size_t on, int j)
{
    acu_op *sum = NULL;
    acu_dtype as = acui_reduced_as(w->c);
    for (size_t i = 0; i < w->c->count; i++) {
        acu_op *x = value(w, source(w->c, i));
        x = j >= 0 ? part_of(w, x, j) : x;
        const acu_tensor *t = source(w->c, i)->tensor;
        if (i != on || !sum || acu_tensor_host(t) || !acu_tensor_dense(t))
            x = acu_op_to_device(w->comm->devices[on], x, w->site);
        x = acu_op_reshape(x, ACU_SHAPE(w->c->part), w->site);
        x = as == w->c->dtype ? x : acu_op_convert(x, as, w->site);
        acu_op *both[] = {sum, x};
        sum = sum ? acu_op_elementwise(acui_reduction_op(w->c->what.reduction), both, 2, w->site)
                  : x;
    }
    sum = acui_reduction_end(w->c, w->comm->ranks, sum, w->site);
    return as == w->c->dtype ? sum : acu_op_convert(sum, w->c->dtype, w->site);
}

static void all_reduce(work *w)
{
    acu_op *sum = reduced(w, 0, -1);
    for (size_t i = 0; i < w->c->count; i++)
        copy(w, value(w, w->c->out[i]), shaped(w, w->c->out[i], acu_op_retain(sum)));
    acu_op_release(sum);
}

static void reduce_scatter(work *w)
{
    for (size_t i = 0; i < w->c->count; i++) {
        acu_op *to = value(w, w->c->out[i]), *sum = reduced(w, i, (int)i);
        if (!w->c->in[i]) /* in place */
            copy(w, part_of(w, to, (int)i), sum);
        else
            copy(w, to, shaped(w, w->c->out[i], sum));
    }
}

static void broadcast(work *w)
{
    size_t root = (size_t)w->c->what.rank;
    for (size_t i = 0; i < w->c->count; i++)
        if (i != root)
            copy(w, value(w, w->c->out[i]),
                 shaped(w, w->c->out[i], acui_dense_value(w->c->out[root]->tensor, w->site)));
}

/* What rank j gives goes to its place in what rank i gets. */
static void gather_to(work *w, size_t i)
{
    for (size_t j = 0; j < w->c->count; j++) {
        acu_op *to = part_of(w, value(w, w->c->out[i]), (int)j);
        if (w->c->in[j])
            copy(w, to, acu_op_flatten(value(w, w->c->in[j]), w->site));
        else if (i != j) /* in place */
            copy(w, to, part_of(w, value(w, w->c->out[j]), (int)j));
        else
            acu_op_release(to);
    }
}

static void scatter(work *w)
{
    size_t root = (size_t)w->c->what.rank;
    bool in_place = !w->c->in[root];
    for (size_t i = 0; i < w->c->count; i++)
        if (w->c->out[i] && !(in_place && i == root))
            copy(w, value(w, w->c->out[i]),
                 shaped(w, w->c->out[i], part_of(w, value(w, source(w->c, root)), (int)i)));
}

static void all_to_all(work *w)
{
    acu_op *given[ACUI_COMM_MOST];
    size_t n = w->c->count;
    for (size_t j = 0; j < n; j++) { /* in place, what is given is overwritten meanwhile */
        given[j] = value(w, source(w->c, j));
        given[j] = w->c->in[j] ? given[j] : acu_op_dup(given[j], w->site);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            copy(w, part_of(w, value(w, w->c->out[i]), (int)j),
                 part_of(w, acu_op_retain(given[j]), (int)i));
    for (size_t j = 0; j < n; j++)
        acu_op_release(given[j]);
}

static void build(work *w)
{
    size_t root = (size_t)w->c->what.rank;
    switch (w->c->what.kind) {
    case ACU_ALL_REDUCE:
        all_reduce(w);
        break;
    case ACU_REDUCE:
        copy(w, value(w, w->c->out[root]), shaped(w, w->c->out[root], reduced(w, root, -1)));
        break;
    case ACU_BROADCAST:
        broadcast(w);
        break;
    case ACU_ALL_GATHER:
        for (size_t i = 0; i < w->c->count; i++)
            gather_to(w, i);
        break;
    case ACU_REDUCE_SCATTER:
        reduce_scatter(w);
        break;
    case ACU_ALL_TO_ALL:
        all_to_all(w);
        break;
    case ACU_GATHER:
        gather_to(w, root);
        break;
    case ACU_SCATTER:
        scatter(w);
        break;
    case ACU_SEND:
    case ACU_RECEIVE:
    case ACU_BARRIER:
    case ACU_COLLECTIVE_COUNT:
        break;
    }
}

static acu_op *done(work *w, const acui_collective *c)
{
    w->c = c;
    build(w);
    return w->count ? acu_op_zip(w->list, w->count, w->site) : NULL;
}

acu_op *acui_collectives_here(acu_comm *comm, const acui_collective *c, size_t n, acu_site site)
{
    work *w = acui_alloc_raw(sizeof *w);
    acu_op **list = ACUI_NEW_ARRAY(acu_op *, n + acui_messages_most(c, n));
    size_t count = 0;
    acu_status status = w && list ? ACU_OK
                                  : acui_fail(ACU_ERR_NO_MEMORY, "no memory to plan a collective");
    for (size_t k = 0; k < n && status == ACU_OK; k++) {
        *w = (work){.comm = comm, .site = site};
        acu_op *one = done(w, &c[k]);
        if (one)
            list[count++] = one;
    }
    if (status == ACU_OK)
        status = acui_messages_here(comm, c, n, list, &count, site);
    acu_op *all = acui_all_of(list, count, status, site);
    acui_free(list);
    acui_free(w);
    return all;
}
