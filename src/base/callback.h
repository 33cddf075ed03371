/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Records whether this thread is running a function of the program (a `then`, a completion
 * callback, host work) on acuda's behalf. Waiting there could deadlock, and is refused.
 */
#ifndef ACUI_BASE_CALLBACK_H
#define ACUI_BASE_CALLBACK_H

#include <acuda/base.h>
#include <acuda/status.h>

/* Around each call of a function of the program; calls nest. */
void acui_callback_enter(void);
void acui_callback_leave(void);
/* Instead of leave, where the call that the function was made for can fail: CALLBACK, with a
 * record, if the function called acu_callback_fail. `function` is what it was given to. */
acu_status acui_callback_leave_failed(const char *function);
bool acui_in_callback(void);
/* Inside of those two, around a function that may not submit either, because what it submitted
 * could not be issued. Refusals word their message by it. */
typedef enum acui_bound {
    ACUI_BOUND_FOREIGN = 0x10000,  /* a foreign call: the stream that it enqueues on is taken */
    ACUI_BOUND_POLICY = 0x1000000, /* a policy's function: a plan is half cut */
} acui_bound;
void acui_callback_bind(acui_bound how);
void acui_callback_unbind(acui_bound how);
bool acui_callback_is_bound(acui_bound how);
/* After the last use: calls the release function, if there is one, as a callback. */
void acui_user_release(acu_user user);

/*
 * Around a function of the program that returns a status. If that status is an error, leave_asked
 * returns CALLBACK, and the record says that the function given to `function` returned it; if a
 * failed call of acuda's inside it left the same status, also why. Otherwise it returns ACU_OK.
 * `was` is the result of enter_asked.
 */
acu_status acui_callback_enter_asked(void);
acu_status acui_callback_leave_asked(acu_status was, acu_status status, const char *function);

/* For messages, what a function of the program returned: the status's name, or the number if it is
 * none (CUDA's, or errno's). Room for ACUI_OUTCOME bytes. */
#define ACUI_OUTCOME 40
const char *acui_outcome_words(acu_status outcome, char *words);

/* ACU_OK outside of callbacks. Inside one it fails with IN_CALLBACK and names the waiting
 * `function`. */
acu_status acui_refuse_wait(const char *function);

#endif
