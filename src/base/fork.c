/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Noticing that this process is the child of a fork. */
#include "base/fork.h"

#include "base/error.h"

#include <pthread.h>

_Atomic(bool) acui_forked_flag;

/* A driver was opened, or is being opened; before that, a child may open its own. Relaxed: as in
 * fork.h. */
static _Atomic(bool) watched;

static void in_child(void)
{
    if (atomic_load_explicit(&watched, memory_order_relaxed))
        atomic_store_explicit(&acui_forked_flag, true, memory_order_relaxed);
}

static void prepare(void)
{
    pthread_atfork(NULL, NULL, in_child); /* if this fails, the driver itself refuses */
}

void acui_fork_watch(bool watch)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare);
    atomic_store_explicit(&watched, watch, memory_order_relaxed);
}

acu_status acui_refuse_fork(const char *function)
{
    return acui_fail(ACU_ERR_FORKED,
                     "%s: this process is a fork of one that had opened a CUDA driver, and can not "
                     "use it, nor anything made there; fork before the first open, or start the "
                     "child by exec",
                     function);
}
