/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Whether this thread runs the program's own function (a `then`, a completion callback, host work)
 * on acuda's behalf: there, waiting could deadlock, and is refused.
 */
#ifndef ACUI_BASE_CALLBACK_H
#define ACUI_BASE_CALLBACK_H

#include <acuda/base.h>
#include <acuda/status.h>

/* Around each call of a function of the program's; they nest. */
void acui_callback_enter(void);
void acui_callback_leave(void);
bool acui_in_callback(void);
/* Inside of these two: of one that may not submit either, as what it would submit could not be
 * issued; for the words of a refusal. */
void acui_callback_bind(void);
void acui_callback_unbind(void);
/* The last use is over: calls the release, if there is one, as a callback. */
void acui_user_release(acu_user user);

/*
 * For a function of the program's that returns a status. If that is an error, the record is of
 * CALLBACK, says that the one given to `function` returned it, and why, where a call of acuda's
 * that failed in it left the same; returns ACU_OK or CALLBACK. `was` is what the first gave.
 */
acu_status acui_callback_enter_asked(void);
acu_status acui_callback_leave_asked(acu_status was, acu_status status, const char *function);

/* ACU_OK outside of callbacks; inside fails with WOULD_WAIT, naming the `function` that waits. */
acu_status acui_refuse_wait(const char *function);

#endif
