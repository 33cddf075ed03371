/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Collectives as ops, one by one and in groups: which operands are whose, and what they yield. */
#include "comm/comm.h"

#include "base/callback.h"
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { GROUP_MOST = 1024 };

/* The data of a collective's op. */
typedef struct request {
    acu_collective what;
    uint32_t count;
    bool quiet;
    uint8_t in[ACUI_COMM_MOST], out[ACUI_COMM_MOST]; /* 1 + number of the operand; 0: none */
} request;

/* The user data of a group's. */
typedef struct group {
    acu_comm *comm; /* a reference */
    size_t count;
    request requests[];
} group;

/* ---- operands -------------------------------------------------------------------------------- */

static size_t operands_of(const request *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->count; i++)
        n += (size_t)(r->in[i] != 0) + (r->out[i] != 0);
    return n;
}

static void find_operands(const request *r, const acu_val *values, acui_collective *c)
{
    *c = (acui_collective){.what = r->what, .part = -1, .count = r->count, .quiet = r->quiet};
    for (size_t i = 0; i < r->count; i++) {
        c->in[i] = r->in[i] ? &values[r->in[i] - 1] : NULL;
        c->out[i] = r->out[i] ? &values[r->out[i] - 1] : NULL;
    }
}

/* Appends what a collective yields to the list: what it writes, else what it reads. */
static size_t pass_on(acu_planning *p, const request *r, acu_val *values, acu_op **list, size_t n)
{
    bool any_out = false;
    for (size_t i = 0; i < r->count; i++)
        any_out |= r->out[i] != 0;
    const uint8_t *at = any_out ? r->out : r->in;
    for (size_t i = 0; i < r->count; i++)
        if (at[i])
            list[n++] = acu_op_take(&values[at[i] - 1], p->site);
    return n;
}

/* ---- parts of a group run at once ------------------------------------------------------------ */

typedef struct use {
    const acu_tensor *tensor;
    bool writes;
    size_t part;
    int rank;
} use;

static size_t uses_of(const acui_collective *c, int first, size_t part, use *list, size_t n)
{
    for (size_t i = 0; i < c->count; i++) {
        int rank = first + (int)i;
        if (c->in[i])
            list[n++] = (use){c->in[i]->tensor, false, part, rank};
        if (c->out[i])
            list[n++] = (use){c->out[i]->tensor, true, part, rank};
    }
    return n;
}

static acu_status refuse_overlap(const acui_collective *c, const use *a, const use *b)
{
    const char *name = acui_collective_name(c[a->part].what.kind);
    if (a->part != b->part)
        return acui_fail(ACU_ERR_INVALID, "group: number %zu, %s, and number %zu, %s, run at once, "
                         "and one writes what the other one uses", a->part, name, b->part,
                         acui_collective_name(c[b->part].what.kind));
    if (a->rank == b->rank)
        return acui_fail(ACU_ERR_INVALID, "%s, rank %d: what it reads and what it writes overlap: "
                         "in place, it is given only what it writes", name, a->rank);
    return acui_fail(ACU_ERR_INVALID, "%s: what rank %d and rank %d have overlaps, and one of them "
                     "writes it", name, a->rank, b->rank);
}

/* Of ranks that run at once, too. `list` has room for all operands. */
static acu_status check_apart(const acui_collective *c, int first, size_t count, use *list)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n = uses_of(&c[i], first, i, list, n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            if ((list[i].writes || list[j].writes) &&
                acui_tensors_overlap(list[i].tensor, list[j].tensor))
                return refuse_overlap(c, &list[i], &list[j]);
    return ACU_OK;
}

/* ---- planning -------------------------------------------------------------------------------- */

static void make_barrier(acui_collective *c)
{
    c->what = (acu_collective){.kind = ACU_BARRIER};
    c->count = 0;
    memset(c->in, 0, sizeof c->in);
    memset(c->out, 0, sizeof c->out);
}

/* There is nothing to do for what has no elements; but in checked mode all ranks are to say so.
 * Returns how many are left. */
static size_t leave_out_empty(const acu_comm *comm, acui_collective *c, size_t count)
{
    bool compared = comm->checked && comm->ranks > (int)comm->device_count;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        bool empty = c[i].part == 0 && c[i].what.kind != ACU_BARRIER;
        if (empty && (!compared || acui_is_message(&c[i])))
            continue;
        if (n != i)
            c[n] = c[i];
        if (empty)
            make_barrier(&c[n]);
        n++;
    }
    return n;
}

static acu_op *work_of(acu_comm *comm, acui_collective *c, size_t count, acu_site site)
{
    size_t n = leave_out_empty(comm, c, count);
    if (n == 0)
        return NULL;
    return comm->backend == ACU_COMM_NCCL  ? acui_collectives_nccl(comm, c, n, site)
           : comm->backend == ACU_COMM_MPI ? acui_collectives_mpi(comm, c, n, site)
                                           : acui_collectives_here(comm, c, n, site);
}

static acu_status check_all(acu_planning *p, acu_comm *comm, const request *r, size_t count,
                            bool grouped, acui_collective *c, use *uses)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        find_operands(&r[i], p->values + at, &c[i]);
        ACUI_TRY(acui_collective_check(comm, &c[i], grouped));
        at += operands_of(&r[i]);
    }
    return check_apart(c, comm->rank, count, uses);
}

static acu_op *behind(acu_planning *p, const request *r, size_t count, acu_op *work,
                      acu_op **list)
{
    size_t n = 0, at = 0;
    for (size_t i = 0; i < count; i++) {
        n = pass_on(p, &r[i], p->values + at, list, n);
        at += operands_of(&r[i]);
    }
    if (n == 0)
        return work ? work : acu_op_zip(NULL, 0, p->site);
    acu_op *all = acu_op_zip(list, n, p->site);
    return work ? acu_op_after(all, work, p->site) : all;
}

static acu_op *plan_all(acu_planning *p, acu_comm *comm, const request *r, size_t count,
                        bool grouped)
{
    const char *name = grouped ? "group" : acui_collective_name(r->what.kind);
    acui_collective *c = ACUI_NEW_ARRAY(acui_collective, count);
    acu_op **list = ACUI_NEW_ARRAY(acu_op *, p->count + 1);
    use *uses = ACUI_NEW_ARRAY(use, p->count + 1);
    acu_status status = c && list && uses ? ACU_OK
                                          : acui_fail(ACU_ERR_NO_MEMORY, "no memory to plan a %s",
                                                      name);
    if (status == ACU_OK)
        status = check_all(p, comm, r, count, grouped, c, uses);
    acu_op *op = status == ACU_OK
                     ? behind(p, r, count, work_of(comm, c, count, p->site), list)
                     : acu_op_fail(status, name, p->site, NULL);
    acui_free(c);
    acui_free(list);
    acui_free(uses);
    return op;
}

static acu_op *plan_one(acu_planning *p)
{
    request r;
    memcpy(&r, p->data, sizeof r);
    return plan_all(p, p->user, &r, 1, false);
}

static acu_op *plan_group(acu_planning *p)
{
    const group *g = p->user;
    return plan_all(p, g->comm, g->requests, g->count, true);
}

/* ---- one ------------------------------------------------------------------------------------- */

static size_t add_operand(acu_op *const *from, size_t i, acu_op **list, size_t n, uint8_t *at)
{
    *at = 0;
    if (!from || !from[i])
        return n;
    list[n] = from[i];
    *at = (uint8_t)(n + 1);
    return n + 1;
}

static acu_op *refused(acu_op *const *in, acu_op *const *out, size_t count, acu_site site,
                       const char *format, ...) ACU_PRINTF(5, 6);
static acu_op *refused(acu_op *const *in, acu_op *const *out, size_t count, acu_site site,
                       const char *format, ...)
{
    char text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (size_t i = 0; i < count; i++) { /* consumed all the same */
        acu_op_release(in ? in[i] : NULL);
        acu_op_release(out ? out[i] : NULL);
    }
    return acu_op_fail(ACU_ERR_INVALID, "collective", site, "%s", text);
}

static void drop(void *comm)
{
    acui_comm_drop(comm);
}

/* `quiet`: it is not compared, in checked mode. */
acu_op *acui_op_collective(acu_comm *comm, const acu_collective *what, bool quiet,
                           acu_op *const *in, acu_op *const *out, size_t count, acu_site site)
{
    request r = {.count = (uint32_t)count, .quiet = quiet, .what = *what};
    acu_op *list[2 * ACUI_COMM_MOST];
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        n = add_operand(out, i, list, n, &r.out[i]);
        n = add_operand(in, i, list, n, &r.in[i]);
    }
    acu_custom custom = {.name = acui_collective_name(what->kind), .fn = plan_one, .data = &r,
                         .bytes = sizeof r};
    custom.user = (acu_user){acui_object_retain(comm), drop};
    return acu_op_custom(custom, list, n, site);
}

acu_op *acu_op_collective(acu_comm *comm, const acu_collective *what, acu_op *const *in,
                          acu_op *const *out, size_t count, acu_site site)
{
    if (!acui_object_is(comm, ACU_OBJECT_COMM) || atomic_load(&comm->closed))
        return refused(in, out, count, site, "the communicator is none, or was closed");
    if (!what || (unsigned)what->kind >= ACU_COLLECTIVE_COUNT || what->reserved[0] ||
        what->reserved[1])
        return refused(in, out, count, site, "there is no such collective");
    const char *name = acui_collective_name(what->kind);
    size_t wanted = what->kind == ACU_BARRIER ? 0 : comm->device_count;
    if (count != wanted)
        return refused(in, out, count, site, "%s takes %zu operands, one for each of this "
                       "process's ranks, not %zu", name, wanted, count);
    return acui_op_collective(comm, what, false, in, out, count, site);
}

/* ---- several --------------------------------------------------------------------------------- */

static const acui_op_class of_group = {.name = "group"}; /* lends its name */

static void drop_group(void *user)
{
    group *g = user;
    acui_comm_drop(g->comm);
    acui_free(g);
}

/* The ops were taken. The failure of one is that of the group. NULL: all are right. */
static acu_op *first_failed(acu_op **ops, size_t count, const acu_comm *comm, acu_site site)
{
    for (size_t i = 0; i < count; i++) {
        acu_op *op = ops[i];
        acu_error error;
        if (acui_custom_is(op, plan_one) && op->user.data == comm)
            continue;
        if (acui_op_is_oom(op))
            return op;
        if (acu_op_status(op, &error) != ACU_OK)
            return acu_op_fail(acui_error_restore(&error), error.op, op->site, NULL);
        acui_fail(ACU_ERR_INVALID, "number %zu of a group, %s, is no collective of this "
                  "communicator, or is used elsewhere too", i, acui_op_name(op));
        return acui_op_failed(&of_group, site);
    }
    return NULL;
}

static acu_op *join(acu_comm *comm, acu_op **ops, size_t count, acu_site site)
{
    acu_op *failed = first_failed(ops, count, comm, site);
    group *g = failed ? NULL : acui_alloc(sizeof *g + count * sizeof *g->requests);
    if (!g) {
        for (size_t i = 0; i < count; i++)
            acui_op_put(ops[i]);
        if (failed)
            return failed;
        acui_fail(ACU_ERR_NO_MEMORY, "no memory for a group");
        return acui_op_failed(&of_group, site);
    }
    g->comm = acui_object_retain(comm);
    g->count = count;
    for (size_t i = 0; i < count; i++)
        memcpy(&g->requests[i], acui_custom_data(ops[i]), sizeof *g->requests);
    acu_custom custom = {.name = of_group.name, .fn = plan_group, .user = {g, drop_group}};
    return acui_custom_joined(custom, ops, count, site);
}

acu_op *acu_op_comm_group(acu_comm *comm, acu_op *const *ops, size_t count, acu_site site)
{
    if (!acui_object_is(comm, ACU_OBJECT_COMM) || atomic_load(&comm->closed))
        return refused(ops, NULL, ops ? count : 0, site, "the communicator is none, or was closed");
    if (!ops || count < 1 || count > GROUP_MOST)
        return refused(ops, NULL, ops ? count : 0, site, "a group takes 1 to %d collectives, not "
                       "%zu", GROUP_MOST, ops ? count : 0);
    acu_op **list = ACUI_NEW_ARRAY(acu_op *, count);
    if (!list) {
        for (size_t i = 0; i < count; i++)
            acu_op_release(ops[i]);
        acui_fail(ACU_ERR_NO_MEMORY, "no memory for a group");
        return acui_op_failed(&of_group, site);
    }
    for (size_t i = 0; i < count; i++)
        list[i] = acui_op_take(ops[i], &of_group, site);
    acu_op *op = join(comm, list, count, site);
    acui_free(list);
    return op;
}
