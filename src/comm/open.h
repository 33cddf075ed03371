/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Making communicators (open.c), in order where that is needed, and aside (opening.c). */
#ifndef ACUI_COMM_OPEN_H
#define ACUI_COMM_OPEN_H

#include "comm/comm.h"

/* How the program wants it. */
typedef struct acui_opening {
    const char *call; /* for messages */
    acu_comm_options o;
    acu_launched launched; /* ranks 0: it does not matter */
    char file[512];        /* by which processes meet; "": by none */
    bool by_variable;      /* they have the identifier by NCCL_COMM_ID */
} acui_opening;

/* ---- open.c ---- */
/* Reads the options, and makes the struct: nothing is waited for. `call`: for messages; `waits`:
 * the caller will. */
acu_status acui_open_prepare(const acu_comm_options *options, const char *call, bool waits,
                             acui_opening *x, acu_comm **comm);
/* The rest. If that fails the communicator has nothing any more. Blocks. */
acu_status acui_open_do(acu_comm *comm, const acui_opening *x);

/* ---- comm.c ---- */
void acui_comm_release_devices(acu_comm *comm);
/* Gives back all that it has, but the struct. Blocks. */
acu_status acui_comm_end(acu_comm *comm, uint64_t timeout);

/* ---- opening.c ---- */
/* Those that meet by MPI are made in the order in which the program asked for them. */
void acui_turn_take(acu_comm *comm);
/* For whoever closes it: whether it was made. MAKING: not within the timeout, and whoever makes it
 * will close it. *again: it was closed before. Blocks. */
acui_comm_state acui_opening_end(acu_comm *comm, uint64_t timeout, bool *again);

#endif
