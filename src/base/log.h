/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Lines for the program's log (acuda/log.h). With nobody to read them, a line costs one load. */
#ifndef ACUI_BASE_LOG_H
#define ACUI_BASE_LOG_H

#include <acuda/log.h>

#include <stdatomic.h>

/* Relaxed: a line that happens while the level changes may be told or not. */
extern _Atomic(int) acui_log_most;

/* Under any lock, on any thread. Leaves errno and the thread's record as they are. `device`: -1 for
 * none. */
ACU_PRINTF(4, 5)
void acui_log_put(acu_log_level level, const char *about, int device, const char *format, ...);

#define ACUI_LOGS(level)                                                                           \
    ((int)(level) <= atomic_load_explicit(&acui_log_most, memory_order_relaxed))
#define ACUI_LOG(level, about, device, ...)                                                        \
    (ACUI_LOGS(level) ? acui_log_put((level), (about), (device), __VA_ARGS__) : (void)0)

/* A line with all of a record. */
void acui_log_record(acu_log_level level, const char *about, const acu_error *error);

#endif
