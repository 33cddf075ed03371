/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * How acuda's own code reports a failure: one call fills the thread's record and returns the
 * status, so it fits in a return statement. driver/result.h does this for driver calls.
 */
#ifndef ACUI_BASE_ERROR_H
#define ACUI_BASE_ERROR_H

#include "base/local.h"

#include <acuda/status.h>

#include <stdarg.h>
#include <stdbool.h>

/* Start a new record for the thread, with `status` and a message; returns `status`. ACU_OK and the
 * states (ACU_NOT_READY, ACU_TIMEOUT) are not failures and leave the record unchanged. */
ACU_PRINTF(2, 3) acu_status acui_fail(acu_status status, const char *format, ...);
ACU_PRINTF(2, 0) acu_status acui_fail_v(acu_status status, const char *format, va_list args);

/* The same with a source line of the program, an operation's name (NULL: none) and a device (-1:
 * none). */
ACU_PRINTF(5, 6)
acu_status acui_fail_at(acu_status status, acu_site site, const char *op, int device,
                        const char *format, ...);

/* Put `context` in front of the record's context. */
void acui_error_prefix(acu_error *error, const char *context);

/* The call of the program's to this function failed with `status`: put its name in front of the
 * record's message, unless it is there. Returns `status`. */
acu_status acui_error_by(acu_status status, const char *function);

/* The thread's record, for additions after acui_fail. */
acu_error *acui_error(void);

/*
 * Between these two calls, failures do not belong to the call that the program made: they come from
 * other work that became ready meanwhile, or from what the program does in a function that acuda
 * calls. They leave the record unchanged and go to a second one, which nobody reads later. The
 * calls nest: `was` is the result of the first.
 */
extern ACUI_LOCAL bool acui_error_is_aside;
static inline bool acui_error_aside(void)
{
    bool was = acui_error_is_aside;
    acui_error_is_aside = true;
    return was;
}
static inline void acui_error_back(bool was)
{
    acui_error_is_aside = was;
}

/* Keep all that a compiler or the driver said about what the thread loads or compiles, if that
 * fails; NULL: nothing was said. For acu_last_log; the record has room for the first error only. */
void acui_error_keep_log(const char *text);

/* Make a stored record (of a failed op, a future, a device) the thread's own; returns its
 * status. */
acu_status acui_error_restore(const acu_error *error);

#endif
