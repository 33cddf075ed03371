/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the thread that calls MPI (thread.c) shares with what it works on (requests.c). */
#ifndef ACUI_COMM_THREAD_H
#define ACUI_COMM_THREAD_H

#include "comm/comm.h"

#include <pthread.h>

typedef struct acui_mpi_thread {
    pthread_mutex_t lock;
    pthread_cond_t work; /* something is to be posted, or to be done */
    acu_comm *comms;     /* joined ones, and those of which MPI still has something; lock */
    const acui_mpi *mpi; /* set by the first job; the thread's */
} acui_mpi_thread;

extern acui_mpi_thread acui_mpi_us;

void acui_mpi_unlink(acu_comm *comm); /* from the list; by the thread */

/* ---- requests.c, for the thread ---- */
/* Post and ask for what there is. Whether something happened; *idle: nothing is left to ask for. */
bool acui_requests_turn(bool *idle);
acui_request *acui_request_first(acu_comm *comm); /* to be posted next; NULL: none */
bool acui_requests_are_over(acu_comm *comm); /* MPI has nothing of it, nor is to get anything */
/* It is closed without waiting for them: they fail, but for MPI, and it leaves the list when MPI
 * has finished them. */
void acui_requests_abandon(acu_comm *comm);

#endif
