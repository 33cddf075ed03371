/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The child of a fork. It has one thread, and its locks are as the parent's threads left them, some
 * of them held for good; nor can CUDA be used there. So acuda does nothing in it: calls fail with
 * FORKED before they take a lock, handles are not recognised as such, and releasing them changes
 * nothing. (This does not concern a child that only calls exec.)
 */
#ifndef ACUI_BASE_FORK_H
#define ACUI_BASE_FORK_H

#include <acuda/status.h>
#include <stdatomic.h>

/* Relaxed: a process writes it while it has only one thread. */
extern _Atomic(bool) acui_forked_flag;

static inline bool acui_forked(void)
{
    return atomic_load_explicit(&acui_forked_flag, memory_order_relaxed);
}

/* true: a driver is being opened, so that any later child is such a child; false: opening failed,
 * so there is none yet. */
void acui_fork_watch(bool watch);

/* Fails with FORKED. */
acu_status acui_refuse_fork(const char *function);
#define ACUI_REFUSE_FORK()                                                                         \
    do {                                                                                           \
        if (acui_forked())                                                                         \
            return acui_refuse_fork(__func__);                                                     \
    } while (0)

#endif
