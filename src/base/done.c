/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One word for all threads that wait, instead of a lock, on which a thread that was just woken
 * would sleep again. */
#include "base/done.h"

#include "base/park.h"

static _Atomic(uint32_t) completions; /* wraps around */
static _Atomic(uint32_t) sleepers;    /* threads between begin and end */

/* What this thread did before comes before what it does next, for all threads. The thread sanitizer
 * knows no fences. */
static void fence(void)
{
#ifdef __SANITIZE_THREAD__
    static _Atomic(uint32_t) order;
    atomic_fetch_add(&order, 1);
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

void acui_done_begin(void)
{
    /* A thread that announces has made something complete, and then loads `sleepers`; this one
     * raises `sleepers`, and then looks what is complete. With the fences one of the two sees the
     * other. */
    atomic_fetch_add_explicit(&sleepers, 1, memory_order_relaxed);
    fence();
}

uint32_t acui_done_count(void)
{
    return atomic_load_explicit(&completions, memory_order_acquire);
}

void acui_done_sleep(uint32_t seen, uint64_t deadline)
{
    acui_park(&completions, seen, deadline);
}

void acui_done_end(void)
{
    atomic_fetch_sub_explicit(&sleepers, 1, memory_order_relaxed);
}

void acui_done_announce(void)
{
    fence(); /* see acui_done_begin */
    if (atomic_load_explicit(&sleepers, memory_order_relaxed) == 0)
        return;
    /* Release, to acui_done_count: whoever sees the new number sees what is complete. */
    atomic_fetch_add_explicit(&completions, 1, memory_order_release);
    acui_unpark(&completions);
}
