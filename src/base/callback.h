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
/* The last use is over: calls the release, if there is one, as a callback. */
void acui_user_release(acu_user user);

/* ACU_OK outside of callbacks; inside fails with WOULD_WAIT, naming the `function` that waits. */
acu_status acui_refuse_wait(const char *function);

#endif
