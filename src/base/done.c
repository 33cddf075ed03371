/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One word for all threads that wait, instead of a lock, on which a thread that was just woken
 * would sleep again. */
#include "base/done.h"

#include "base/park.h"

static _Atomic(uint32_t) completions; /* wraps around */
static _Atomic(uint32_t) sleepers;

uint32_t acui_done_count(void)
{
    return atomic_load_explicit(&completions, memory_order_acquire);
}

void acui_done_sleep(uint32_t seen, uint64_t deadline)
{
    /* seq_cst, against announce: this thread raises `sleepers` and then loads `completions`; that
     * one raises `completions` and then loads `sleepers`. One of the two sees the other. */
    atomic_fetch_add(&sleepers, 1);
    if (atomic_load(&completions) == seen)
        acui_park(&completions, seen, deadline);
    atomic_fetch_sub(&sleepers, 1);
}

void acui_done_announce(void)
{
    atomic_fetch_add(&completions, 1);
    if (atomic_load(&sleepers) != 0)
        acui_unpark(&completions);
}
