/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Collectives by MPI of processes with several devices. What the devices have is put together on
 * the first one, or added up there; that goes among the processes, as one collective of theirs; and
 * what comes of it is handed out.
 */
#include "comm/comm.h"

#include "base/error.h"

#include <acuda/arrange.h>
#include <acuda/ops.h>
#include <string.h>

typedef struct spread {
    acu_comm *comm;
    const acui_collective *c;
    acu_site site;
    int64_t n, all; /* elements of a part, and of all ranks' */
    size_t each;
    int process, root; /* this one, and the root's */
    size_t root_device; /* the root's place among the devices of its process */
    acu_dtype as; /* what goes among the processes */
    acu_op *list[ACUI_COMM_MOST + 1];
    size_t count;
} spread;

/* ---- among processes ------------------------------------------------------------------------- */

typedef struct request {
    acu_collective what;
    int64_t part, facts[ACUI_FACTS];
    bool quiet, in, out;
} request;

static acu_op *plan(acu_planning *p)
{
    request r;
    memcpy(&r, p->data, sizeof r);
    acui_collective c = {.what = r.what, .part = r.part, .count = 1, .quiet = r.quiet};
    c.dtype = acu_tensor_dtype(p->values[0].tensor);
    memcpy(c.facts, r.facts, sizeof c.facts);
    c.out[0] = r.out ? &p->values[0] : NULL;
    c.in[0] = r.in ? &p->values[r.out] : NULL;
    acu_op *x = acui_collective_message(p->user, &c, p->site);
    return r.out ? acu_op_nth(x, 0, p->site) : x;
}

static void drop(void *comm)
{
    acui_comm_drop(comm);
}

/* One operand of each process; `part`: elements. Yields `out`, if there is one. */
static acu_op *among(const spread *s, int64_t part, acu_op *in, acu_op *out)
{
    request r = {.what = s->c->what, .part = part, .quiet = s->c->quiet, .in = in, .out = out};
    acu_op *operands[2] = {out ? out : in, in};
    memcpy(r.facts, s->c->facts, sizeof r.facts);
    r.what.rank = s->root;
    acu_custom custom = {.name = acui_collective_name(r.what.kind), .fn = plan, .data = &r,
                         .bytes = sizeof r, .user = {acui_object_retain(s->comm), drop}};
    return acu_op_custom(custom, operands, (size_t)(in != NULL) + (out != NULL), s->site);
}

/* ---- on devices ------------------------------------------------------------------------------ */

static acu_op *value(const spread *s, const acu_val *v)
{
    return acu_op_value(v->tensor, s->site);
}

static const acu_val *given(const spread *s, size_t i)
{
    return s->c->in[i] ? s->c->in[i] : s->c->out[i];
}

/* Elements [from, from + n) of what has one dimension. */
static acu_op *piece(const spread *s, acu_op *x, int64_t from, int64_t n)
{
    return acu_op_slice(x, ACU_SHAPE(from), ACU_SHAPE(from + n), ACU_NO_STEP, s->site);
}

/* The rank's own part of what has all ranks'. */
static acu_op *own_part(const spread *s, acu_op *x, size_t i)
{
    return piece(s, acu_op_flatten(x, s->site), (s->comm->rank + (int64_t)i) * s->n, s->n);
}

static acu_op *empty(const spread *s, int64_t n)
{
    return acu_op_on(s->comm->devices[0], acu_op_empty(s->as, ACU_SHAPE(n), s->site),
                     s->site);
}

/* With `n` elements in one dimension, on the first device. */
static acu_op *brought(const spread *s, acu_op *x, int64_t n)
{
    x = acu_op_to_device(s->comm->devices[0], x, s->site);
    return acu_op_reshape(x, ACU_SHAPE(n), s->site);
}

static void copy(spread *s, acu_op *to, acu_op *from)
{
    from = s->as == s->c->dtype ? from : acu_op_convert(from, s->c->dtype, s->site);
    s->list[s->count++] = acu_op_copy(to, from, s->site);
}

/* To a rank's operand, of whatever shape. */
static void give(spread *s, size_t i, acu_op *from)
{
    const acu_tensor *t = s->c->out[i]->tensor;
    copy(s, acu_op_value(t, s->site), acu_op_reshape(from, acu_tensor_shape(t), s->site));
}

/* What the devices have, of n elements each, reduced in their order. A mean is that of all ranks,
 * which is made of the sum when it has come back (message.c). */
static acu_op *reduced(const spread *s, int64_t n)
{
    acu_op *sum = NULL;
    for (size_t i = 0; i < s->each; i++) {
        acu_op *x = brought(s, value(s, given(s, i)), n);
        acu_op *both[] = {sum, s->as == s->c->dtype ? x : acu_op_convert(x, s->as, s->site)};
        sum = sum ? acu_op_elementwise(acui_reduction_op(s->c->what.reduction), both, 2, s->site)
                  : both[1];
    }
    return acu_op_on(s->comm->devices[0], sum, s->site);
}

/* The devices' parts, one behind the other. */
static acu_op *joined(const spread *s)
{
    acu_op *parts[ACUI_COMM_MOST];
    for (size_t i = 0; i < s->each; i++) {
        bool whole = !s->c->in[i]; /* in place */
        acu_op *x = value(s, given(s, i));
        parts[i] = brought(s, whole ? own_part(s, x, i) : x, s->n);
    }
    return acu_op_on(s->comm->devices[0], acu_op_concat(0, parts, s->each, s->site), s->site);
}

/* ---- collectives ----------------------------------------------------------------------------- */

static void all_reduce(spread *s)
{
    acu_op *sum = among(s, s->n, NULL, reduced(s, s->n));
    for (size_t i = 0; i < s->each; i++)
        give(s, i, acu_op_retain(sum));
    acu_op_release(sum);
}

static void reduce(spread *s)
{
    acu_op *sum = reduced(s, s->n);
    if (s->process == s->root)
        give(s, s->root_device, among(s, s->n, NULL, sum));
    else
        s->list[s->count++] = among(s, s->n, sum, NULL);
}

static void broadcast(spread *s)
{
    size_t first = s->process == s->root ? s->root_device : 0;
    acu_op *x = among(s, s->n, NULL, value(s, s->c->out[first]));
    acu_op *dense = acu_tensor_dense(s->c->out[first]->tensor)
                        ? acu_op_retain(x)
                        : acu_op_dup(acu_op_retain(x), s->site);
    for (size_t i = 0; i < s->each; i++)
        if (i != first)
            give(s, i, acu_op_retain(dense));
    acu_op_release(dense);
    s->list[s->count++] = x;
}

static void all_gather(spread *s)
{
    acu_op *all = among(s, (int64_t)s->each * s->n, joined(s), empty(s, s->all));
    for (size_t i = 0; i < s->each; i++)
        give(s, i, acu_op_retain(all));
    acu_op_release(all);
}

static void reduce_scatter(spread *s)
{
    int64_t mine = (int64_t)s->each * s->n;
    acu_op *parts = among(s, mine, reduced(s, s->all), empty(s, mine));
    for (size_t i = 0; i < s->each; i++) {
        acu_op *part = piece(s, acu_op_retain(parts), (int64_t)i * s->n, s->n);
        if (s->c->in[i])
            give(s, i, part);
        else
            copy(s, own_part(s, value(s, s->c->out[i]), i), part);
    }
    acu_op_release(parts);
}

/* The processes exchange [device that gives, device that gets, n] of each two. */
static void all_to_all(spread *s)
{
    acu_op *parts[ACUI_COMM_MOST];
    int64_t each = (int64_t)s->each, processes = s->all / s->n / each;
    const int order[] = {1, 0, 2, 3}; /* device, process, device, n: the process first */
    for (size_t i = 0; i < s->each; i++) {
        acu_op *x = brought(s, value(s, given(s, i)), s->all);
        parts[i] = acu_op_reshape(x, ACU_SHAPE(processes, each, s->n), s->site);
    }
    acu_op *x = acu_op_stack(0, parts, s->each, s->site);
    x = acu_op_dup(acu_op_permute(x, order, 4, s->site), s->site);
    x = acu_op_on(s->comm->devices[0], acu_op_reshape(x, ACU_SHAPE(each * s->all), s->site),
                  s->site);
    x = among(s, each * each * s->n, x, empty(s, each * s->all));
    x = acu_op_reshape(x, ACU_SHAPE(processes * each, each, s->n), s->site);
    for (int64_t i = 0; i < each; i++) {
        acu_op *got = acu_op_slice(acu_op_retain(x), ACU_SHAPE(0, i, 0),
                                   ACU_SHAPE(processes * each, i + 1, s->n), ACU_NO_STEP, s->site);
        acu_op *to = value(s, s->c->out[i]);
        copy(s, acu_op_reshape(to, ACU_SHAPE(processes * each, 1, s->n), s->site), got);
    }
    acu_op_release(x);
}

static void gather(spread *s)
{
    int64_t mine = (int64_t)s->each * s->n;
    if (s->process == s->root)
        give(s, s->root_device, among(s, mine, joined(s), empty(s, s->all)));
    else
        s->list[s->count++] = among(s, mine, joined(s), NULL);
}

static void scatter(spread *s)
{
    int64_t mine = (int64_t)s->each * s->n;
    bool is_root = s->process == s->root;
    acu_op *all = is_root ? acu_op_flatten(value(s, given(s, s->root_device)), s->site) : NULL;
    acu_op *parts = among(s, mine, all, empty(s, mine));
    for (size_t i = 0; i < s->each; i++) {
        bool stays = is_root && i == s->root_device && !s->c->in[i];
        if (s->c->out[i] && !stays)
            give(s, i, piece(s, acu_op_retain(parts), (int64_t)i * s->n, s->n));
    }
    s->list[s->count++] = parts;
}

acu_op *acui_collective_spread(acu_comm *comm, const acui_collective *c, acu_site site)
{
    static void (*const kinds[])(spread *) = {
        [ACU_ALL_REDUCE] = all_reduce, [ACU_REDUCE] = reduce,
        [ACU_BROADCAST] = broadcast,   [ACU_ALL_GATHER] = all_gather,
        [ACU_GATHER] = gather,         [ACU_REDUCE_SCATTER] = reduce_scatter,
        [ACU_SCATTER] = scatter,       [ACU_ALL_TO_ALL] = all_to_all,
    };
    if (c->what.kind == ACU_BARRIER)
        return acui_collective_message(comm, c, site);
    spread s = {.comm = comm, .c = c, .site = site, .n = c->part, .each = comm->device_count};
    int each = (int)s.each;
    s.all = c->part * comm->ranks;
    s.as = acui_reduced_as(c);
    s.process = comm->mpi_rank;
    s.root = c->what.rank / each;
    s.root_device = (size_t)(c->what.rank % each);
    kinds[c->what.kind](&s);
    return acu_op_zip(s.list, s.count, site);
}
