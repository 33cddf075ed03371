/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Calls of acuda's own: foreign calls of vendor libraries, or of the driver where there is no kind
 * of node for that (managed.c); and host functions that take no time.
 */
#ifndef ACUI_OP_CALL_H
#define ACUI_OP_CALL_H

#include "op/op.h"

/* A node that calls op->u.call.foreign, which sets a record where it fails; `values` are the op's
 * planned arguments. */
acu_status acui_plan_foreign(acui_plan *plan, acu_op *op, acu_device *device,
                             const acu_val *values);

/* What makes a call enqueue the same work: all of this, and the addresses of its values. */
typedef struct acui_call_key {
    const void *data;
    size_t bytes;
    uintptr_t what; /* more that has to be equal */
    bool fixed; /* what is captured reads data that is the graph's, and may be read while the call
                 * would be captured anew: so a graph is for the same addresses only */
} acui_call_key;

/* What the call needs before it can be made. */
struct acui_own_call {
    /* Begin to get that, on the device; *behind: the point to wait for, held by the op; NULL:
     * nothing to wait for. Called once, when the op is planned. No function: the call needs
     * nothing; likewise `wait`. */
    acu_status (*begin)(void *user, acu_device *device, acui_point **behind);
    void (*wait)(void *user); /* until it is there, or never will be; blocks */
    /* Before and after a stream is captured for the call, which must not wait meanwhile. No
     * function: it never does. */
    void (*capturing)(void *user, bool begins);
    /* For cached graphs: what the call depends on, besides the addresses of its values. False: that
     * can not be told, as where there is no such function. */
    bool (*key)(void *user, acui_call_key *key);
    /* Keeps what such work needs beyond the op, until it is let go. */
    void *(*hold)(void *user);
    void (*let_go)(void *held);
    bool looks; /* HOST: see acui_op_looks */
    acu_stream *(*stream)(void *user); /* FOREIGN: see acui_own_stream */
};

/* Make `op`, an acu_foreign that was just constructed, a call of acuda's own, whose failures are
 * told as they are, and which may be captured. Returns the op. */
acu_op *acui_op_own_call(acu_op *op, const acui_own_call *own);
void acui_op_not_captured(acu_op *op); /* it may not, after all */
/* Make `op`, an acu_host or acu_host_async that was just constructed, one of acuda's own: its
 * function sets a record where it fails, which an acu_host tells as it is; and it takes no time, as
 * it is called by whoever submits the op, or finds that its data is ready. Returns the op. */
acu_op *acui_op_own_host(acu_op *op);
/* The same of one that only looks at its values, and fails or does not, so that in a graph it can
 * be done behind each replay. */
acu_op *acui_op_looks(acu_op *op);
/* `node` is that of such an op. */
bool acui_is_look(const acui_node *node);
/* The stream that the call is to be given unless the program has chosen one, held by the op; NULL:
 * any. It is for calls that wait for more than their data, such as for other processes: each is a
 * task of its own, and what comes behind on a stream of the device's need not wait for it, too. */
acu_stream *acui_own_stream(const acui_node *node);
/* Plan it once more, for values as they are then. */
acu_status acui_plan_look(acui_plan *plan, const acui_node *look);

#endif
