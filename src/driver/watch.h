/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What stands between the public table and the driver: fault injection and counting of calls, which
 * are rarely on, and counting of live objects, which always is.
 */
#ifndef ACUI_DRIVER_WATCH_H
#define ACUI_DRIVER_WATCH_H

#include <acuda/debug.h>
#include <acuda/driver.h>

#include <stdatomic.h>

/* Nonzero while calls are counted or a fault is set. Relaxed: a call that races with switching it
 * on may go unseen, as if it had come earlier. */
extern _Atomic unsigned acui_watching;

static inline bool acui_is_watching(void)
{
    return atomic_load_explicit(&acui_watching, memory_order_relaxed) != 0;
}

/* Counts the call. Returns the result with which it must fail instead of being made, or: */
#define ACUI_NOT_WATCHED UINT32_MAX
unsigned acui_watched(acu_driver_call call);

/* Objects created and not destroyed, and destructions that were made to fail. Plain totals:
 * relaxed. */
extern _Atomic int64_t acui_live[ACU_DRIVER_KIND_NONE];
extern _Atomic int64_t acui_spared[ACU_DRIVER_KIND_NONE];

#endif
