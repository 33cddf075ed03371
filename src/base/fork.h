/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The child of a fork: it has one thread, and locks as the others left them, some of them held for
 * good. CUDA can not be used there either. So nothing of acuda does anything there: calls fail with
 * FORKED before they take a lock, handles are told to be none, and releasing them changes nothing.
 * (A child that only execs is not concerned.)
 */
#ifndef ACUI_BASE_FORK_H
#define ACUI_BASE_FORK_H

#include <acuda/status.h>
#include <stdatomic.h>

/* Relaxed: written by a process's only thread before any other exists. */
extern _Atomic(bool) acui_forked_flag;

static inline bool acui_forked(void)
{
    return atomic_load_explicit(&acui_forked_flag, memory_order_relaxed);
}

/* A driver is being opened: from now on a child is one; or that failed: not yet. */
void acui_fork_watch(bool watch);

/* Fails with FORKED. */
acu_status acui_refuse_fork(const char *function);
#define ACUI_REFUSE_FORK()                                                                         \
    do {                                                                                           \
        if (acui_forked())                                                                         \
            return acui_refuse_fork(__func__);                                                     \
    } while (0)

#endif
