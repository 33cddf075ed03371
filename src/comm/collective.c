/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What each collective takes, checked before a backend makes ops of it. */
#include "comm/comm.h"

#include "base/error.h"
#include "memory/dtype.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NOTHING, PART, ALL }; /* how much an operand has */
enum { ANYWHERE, ROOT, REST }; /* which ranks have it */

static const struct kind {
    const char *name;
    uint8_t in, in_at, out, out_at;
    bool in_place; /* `in` may be left out where `out` is given */
    bool only_in_place, reduces, rooted;
} kinds[ACU_COLLECTIVE_COUNT] = {
    [ACU_ALL_REDUCE] = {"all-reduce", PART, ANYWHERE, PART, ANYWHERE, true, false, true, false},
    [ACU_REDUCE] = {"reduce", PART, ANYWHERE, PART, ROOT, true, false, true, true},
    [ACU_BROADCAST] = {"broadcast", NOTHING, ANYWHERE, PART, ANYWHERE, true, true, false, true},
    [ACU_ALL_GATHER] = {"all-gather", PART, ANYWHERE, ALL, ANYWHERE, true, false, false, false},
    [ACU_REDUCE_SCATTER] = {"reduce-scatter", ALL, ANYWHERE, PART, ANYWHERE, true, false, true,
                            false},
    [ACU_ALL_TO_ALL] = {"all-to-all", ALL, ANYWHERE, ALL, ANYWHERE, true, false, false, false},
    [ACU_GATHER] = {"gather", PART, ANYWHERE, ALL, ROOT, true, false, false, true},
    [ACU_SCATTER] = {"scatter", ALL, ROOT, PART, ANYWHERE, true, false, false, true},
    [ACU_SEND] = {"send", PART, ANYWHERE, NOTHING, ANYWHERE, false, false, false, true},
    [ACU_RECEIVE] = {"receive", NOTHING, ANYWHERE, PART, ANYWHERE, true, true, false, true},
    [ACU_BARRIER] = {"barrier", NOTHING, ANYWHERE, NOTHING, ANYWHERE, false, false, false, false},
};

const char *acui_collective_name(acu_collective_kind kind)
{
    return kinds[kind].name;
}

/* ---- operands -------------------------------------------------------------------------------- */

static acu_status refuse(const struct kind *k, int rank, acu_status status, const char *format, ...)
    ACU_PRINTF(4, 5);
static acu_status refuse(const struct kind *k, int rank, acu_status status, const char *format, ...)
{
    char text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return acui_fail(status, "%s, rank %d: %s", k->name, rank, text);
}

static acu_status check_reduction(const struct kind *k, int rank, acu_reduction how,
                                  acu_dtype dtype)
{
    const char *name = acu_dtype_name(dtype);
    bool is_float = acu_dtype_kind_of(dtype) == ACU_KIND_FLOAT, is_complex = acui_is_complex(dtype);
    if (dtype == ACU_BOOL || dtype == ACU_F8E8M0FNU || dtype == ACU_F4E2M1FNX2)
        return refuse(k, rank, ACU_ERR_DTYPE, "%s can not be reduced", name);
    if (is_complex && how != ACU_REDUCE_SUM && how != ACU_REDUCE_MEAN)
        return refuse(k, rank, ACU_ERR_DTYPE, "of %s, complex numbers, there is only the sum and "
                      "the mean", name);
    if (!is_float && !is_complex && how == ACU_REDUCE_MEAN)
        return refuse(k, rank, ACU_ERR_DTYPE, "%s has no mean, which may lie between two integers: "
                      "take the sum, and divide that", name);
    return ACU_OK;
}

/* Notes dtype and count of the first operand, and compares the others'. */
static acu_status check_one(const acu_comm *comm, const struct kind *k, acui_collective *c,
                            size_t i, const acu_val *v, int much)
{
    int rank = comm->rank + (int)i;
    const acu_tensor *t = v->kind == ACU_TENSOR ? v->tensor : NULL;
    if (!t)
        return refuse(k, rank, ACU_ERR_INVALID, "an operand is no tensor");
    acu_dtype dtype = acu_tensor_dtype(t);
    if (!acu_tensor_host(t) && acu_tensor_device(t) != comm->devices[i])
        return refuse(k, rank, ACU_ERR_DEVICE, "its tensor is on device %d, not on its device, %d",
                      acu_device_info_of(acu_tensor_device(t))->ordinal,
                      acu_device_info_of(comm->devices[i])->ordinal);
    if ((acu_tensor_host(t) || k->in == ALL || k->out == ALL) && !acu_tensor_dense(t))
        return refuse(k, rank, ACU_ERR_INVALID, "the tensor must be dense");
    if (k->reduces)
        ACUI_TRY(check_reduction(k, rank, c->what.reduction, dtype));
    if (c->part >= 0 && dtype != c->dtype)
        return refuse(k, rank, ACU_ERR_DTYPE, "an operand is of %s, and another of %s",
                      acu_dtype_name(dtype), acu_dtype_name(c->dtype));
    int64_t n = acu_tensor_elements(t), per = much == ALL ? comm->ranks : 1;
    if (n % per)
        return refuse(k, rank, ACU_ERR_SHAPE, "%lld elements can not be shared among %d ranks",
                      (long long)n, comm->ranks);
    if (c->part >= 0 && n / per != c->part)
        return refuse(k, rank, ACU_ERR_SHAPE, "an operand has %lld elements for each rank, and "
                      "another %lld", (long long)(n / per), (long long)c->part);
    c->dtype = dtype;
    c->part = n / per;
    return ACU_OK;
}

static bool has(uint8_t at, bool is_root)
{
    return at == ANYWHERE || (at == ROOT) == is_root;
}

/* In place, a rank that is not the root of a reduce gives its part as `out`. */
static acu_status check_rank(const acu_comm *comm, const struct kind *k, acui_collective *c,
                             size_t i)
{
    int rank = comm->rank + (int)i;
    bool is_root = c->what.rank == rank;
    bool needs_in = k->in && has(k->in_at, is_root), needs_out = k->out && has(k->out_at, is_root);
    const acu_val *in = c->in[i], *out = c->out[i];
    if (c->what.kind == ACU_REDUCE && !is_root && !in && out) {
        in = c->in[i] = out; /* nothing is written */
        out = c->out[i] = NULL;
    }
    bool in_place = needs_in && !in && out && k->in_place;
    if (needs_in && !in && !in_place)
        return refuse(k, rank, ACU_ERR_INVALID, "it lacks what it reads");
    if (in && (!needs_in || k->only_in_place))
        return refuse(k, rank, ACU_ERR_INVALID, "it takes no operand to read");
    bool keeps = c->what.kind == ACU_SCATTER && is_root; /* its part stays where it is */
    if (needs_out && !out && !keeps)
        return refuse(k, rank, ACU_ERR_INVALID, "it lacks what it writes");
    if (out && !needs_out)
        return refuse(k, rank, ACU_ERR_INVALID, "it takes no operand to write");
    int whole = in_place && (k->in == ALL || k->out == ALL) ? ALL : 0;
    if (in)
        ACUI_TRY(check_one(comm, k, c, i, in, k->in));
    return out ? check_one(comm, k, c, i, out, whole ? whole : k->out) : ACU_OK;
}

static acu_status check_what(const acu_comm *comm, const struct kind *k, const acui_collective *c,
                             bool grouped)
{
    const acu_collective *w = &c->what;
    if (k->reduces && !acui_reduction_name(w->reduction))
        return acui_fail(ACU_ERR_INVALID, "%s: reduction %d is none of sum, prod, min, max and "
                         "mean", k->name, (int)w->reduction);
    if (k->rooted && (w->rank < 0 || w->rank >= comm->ranks))
        return acui_fail(ACU_ERR_INVALID, "%s: there is no rank %d among %d", k->name, w->rank,
                         comm->ranks);
    if (acui_is_message(c) && !grouped &&
        (comm->backend == ACU_COMM_PROCESS || comm->device_count > 1))
        return acui_fail(ACU_ERR_NOT_SUPPORTED, "%s: a process with several devices, or alone, "
                         "sends and receives in groups (acu_comm_group)", k->name);
    return ACU_OK;
}

/* In a group, a message may be of some of this process's ranks. */
static bool takes_part(const acui_collective *c, size_t i, bool grouped)
{
    return !grouped || !acui_is_message(c) || c->in[i] || c->out[i];
}

acu_status acui_collective_check(acu_comm *comm, acui_collective *c, bool grouped)
{
    const struct kind *k = &kinds[c->what.kind];
    bool any = c->what.kind == ACU_BARRIER;
    if (!acui_comm_is_made(comm))
        return acui_fail(ACU_ERR_INVALID, "%s: the communicator %s", k->name,
                         acui_comm_is_over(comm) ? "could not be made" : "is still being made");
    if (atomic_load(&comm->closed))
        return acui_fail(ACU_ERR_INVALID, "%s: the communicator was closed before the op was "
                         "submitted", k->name);
    ACUI_TRY(check_what(comm, k, c, grouped));
    for (size_t i = 0; i < c->count; i++)
        if (takes_part(c, i, grouped)) {
            ACUI_TRY(check_rank(comm, k, c, i));
            any = true;
        }
    if (!any)
        return acui_fail(ACU_ERR_INVALID, "%s: no rank has an operand", k->name);
    if (c->what.kind == ACU_BARRIER)
        c->part = 0;
    int64_t facts[ACUI_FACTS] = {c->what.kind, c->part, c->dtype, c->what.reduction, c->what.rank};
    memcpy(c->facts, facts, sizeof facts);
    return ACU_OK;
}
