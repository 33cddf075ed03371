/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Messages of a group between devices of one process: the first that one sends to the other is the
 * first that the other receives from it, and so on. */
#include "comm/comm.h"

#include "base/error.h"

#include <acuda/ops.h>

/* What local rank `own` sends or receives; NULL: it has no part in it. */
static const acu_val *end_of(const acui_collective *c, size_t own)
{
    return c->what.kind == ACU_SEND ? c->in[own] : c->out[own];
}

static bool is_like(const acui_collective *c, acu_collective_kind kind, size_t own, int other)
{
    return c->what.kind == kind && c->what.rank == other && end_of(c, own);
}

/* The other end of message k of local rank `own`; NULL: there is none. */
static const acu_val *other_end(const acu_comm *comm, const acui_collective *c, size_t n, size_t k,
                                size_t own)
{
    acu_collective_kind kind = c[k].what.kind;
    acu_collective_kind opposite = kind == ACU_SEND ? ACU_RECEIVE : ACU_SEND;
    size_t other = (size_t)(c[k].what.rank - comm->rank), before = 0;
    for (size_t i = 0; i < k; i++)
        before += is_like(&c[i], kind, own, c[k].what.rank);
    for (size_t i = 0; i < n; i++)
        if (is_like(&c[i], opposite, other, comm->rank + (int)own) && before-- == 0)
            return end_of(&c[i], other);
    return NULL;
}

static acu_status check(const acui_collective *c, int own, const acu_val *mine,
                        const acu_val *theirs)
{
    bool sends = c->what.kind == ACU_SEND;
    if (!theirs)
        return acui_fail(ACU_ERR_INVALID, "group: rank %d %s rank %d, which does not %s that in "
                         "the same group", own, sends ? "sends to" : "receives from", c->what.rank,
                         sends ? "receive" : "send");
    int64_t n = acu_tensor_elements(mine->tensor), m = acu_tensor_elements(theirs->tensor);
    acu_dtype a = acu_tensor_dtype(mine->tensor), b = acu_tensor_dtype(theirs->tensor);
    if (n == m && a == b)
        return ACU_OK;
    return acui_fail(ACU_ERR_INVALID, "group: rank %d %s %lld elements of %s, and rank %d %s %lld "
                     "of %s", own, sends ? "sends" : "receives", (long long)n, acu_dtype_name(a),
                     c->what.rank, sends ? "receives" : "sends", (long long)m, acu_dtype_name(b));
}

bool acui_message_is_here(const acu_comm *comm, const acui_collective *c, size_t own)
{
    return acui_is_message(c) && end_of(c, own) && c->what.rank >= comm->rank &&
           c->what.rank < comm->rank + (int)comm->device_count;
}

size_t acui_messages_most(const acui_collective *c, size_t n)
{
    size_t most = 0;
    for (size_t k = 0; k < n; k++)
        most += acui_is_message(&c[k]) ? c[k].count : 0;
    return most;
}

acu_status acui_messages_here(const acu_comm *comm, const acui_collective *c, size_t n,
                              acu_op **list, size_t *count, acu_site site)
{
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < c[k].count; i++) {
            if (!acui_message_is_here(comm, &c[k], i))
                continue;
            const acu_val *mine = end_of(&c[k], i), *theirs = other_end(comm, c, n, k, i);
            ACUI_TRY(check(&c[k], comm->rank + (int)i, mine, theirs));
            if (c[k].what.kind == ACU_RECEIVE)
                continue; /* whoever sends it copies it */
            acu_op *x = acu_op_reshape(acui_dense_value(mine->tensor, site),
                                       acu_tensor_shape(theirs->tensor), site);
            list[(*count)++] = acu_op_copy(acu_op_value(theirs->tensor, site), x, site);
        }
    return ACU_OK;
}

acu_op *acui_all_of(acu_op **list, size_t count, acu_status status, acu_site site)
{
    if (status == ACU_OK)
        return count ? acu_op_zip(list, count, site) : NULL;
    for (size_t i = 0; i < count; i++)
        acu_op_release(list[i]);
    return acu_op_fail(status, "group", site, NULL);
}
