/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Checked mode over NCCL: before a collective the ranks gather what each of them submits, by
 * another small one, and the host compares that. All ranks see the same, so either all go on to the
 * collective, or none does.
 */
#include "base/error.h"
#include "comm/nccl.h"
#include "op/call.h"

#include <acuda/ops.h>

/* Where all ranks are of one process, there is nobody who could differ. */
bool acui_nccl_is_compared(const acu_comm *comm, const acui_collective *c)
{
    return comm->checked && comm->ranks > (int)comm->device_count && !c->quiet &&
           !acui_is_message(c);
}

static acu_status compare(void *user, const acu_val *values, size_t count)
{
    const acu_comm *comm = user;
    char text[240];
    (void)count;
    if (acui_facts_agree(acu_tensor_host(values[0].tensor), comm->ranks, 1, text, sizeof text))
        return ACU_OK;
    return acui_fail(ACU_ERR_INVALID, "%s", text);
}

static void drop(void *comm)
{
    acui_comm_drop(comm);
}

acu_op *acui_nccl_compared(acu_comm *comm, const acui_collective *c, acu_site site)
{
    static const acu_collective gather = {.kind = ACU_ALL_GATHER};
    acu_op *in[ACUI_COMM_MOST], *out[ACUI_COMM_MOST];
    size_t n = comm->device_count;
    for (size_t i = 0; i < n; i++) {
        acu_op *mine = acu_op_const(ACU_I64, ACU_SHAPE(ACUI_FACTS), c->facts, site);
        acu_op *all = acu_op_empty(ACU_I64, ACU_SHAPE((int64_t)comm->ranks * ACUI_FACTS), site);
        in[i] = acu_op_on(comm->devices[i], mine, site);
        out[i] = acu_op_on(comm->devices[i], all, site);
    }
    acu_op *told = acui_op_collective(comm, &gather, true, in, out, n, site);
    told = acu_op_to_host(acu_op_nth(told, 0, site), site);
    acu_arg arg = acu_arg_op(told, ACU_UPDATE); /* who reads it comes behind, and fails with it */
    acu_user user = {acui_object_retain(comm), drop};
    acu_op *op = acui_op_own_host(acu_op_host(compare, user, &arg, 1, site));
    return acui_op_call(op, acui_collective_name((acu_collective_kind)c->facts[0]));
}
