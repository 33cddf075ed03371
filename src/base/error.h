/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * How acuda's own code reports a failure: one call fills the thread's record and returns the
 * status, so that it stands in a return statement. Driver calls are reported by driver/result.h.
 */
#ifndef ACUI_BASE_ERROR_H
#define ACUI_BASE_ERROR_H

#include "base/local.h"

#include <acuda/status.h>

#include <stdarg.h>
#include <stdbool.h>

/* Start the thread's record anew for `status`, with a message; returns `status`. ACU_OK and the
 * states (ACU_NOT_READY, ACU_TIMEOUT) are no failures: they leave the record as it is. */
ACU_PRINTF(2, 3) acu_status acui_fail(acu_status status, const char *format, ...);
ACU_PRINTF(2, 0) acu_status acui_fail_v(acu_status status, const char *format, va_list args);

/* The same with a place in the program, an operation's name (NULL: none)
 * and a device (-1: none). */
ACU_PRINTF(5, 6)
acu_status acui_fail_at(acu_status status, acu_site site, const char *op, int device,
                        const char *format, ...);

/* Put `context` in front of the record's. */
void acui_error_prefix(acu_error *error, const char *context);

/* The thread's record, to add to it after acui_fail. */
acu_error *acui_error(void);

/*
 * What fails between these two is no failure of the call that the program made, but of others'
 * work that became ready meanwhile, or of what the program does in a function that acuda calls.
 * It leaves the record as it is, and has one of its own, of no interest later. They nest: `was`
 * is what the first gave.
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

/* Make a kept record the thread's own (that of a failed op, a future, a device); its status. */
acu_status acui_error_restore(const acu_error *error);

#endif
