/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Refusing to wait inside callbacks. */
#include "base/callback.h"

#include "base/error.h"
#include "base/local.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static ACUI_LOCAL unsigned depth; /* of callbacks; and of each kind of those that are bound, in the
                                   * bits from acui_bound on: never more than a few */
static ACUI_LOCAL unsigned failed; /* the depth of the function that called acu_callback_fail; 0 */

void acui_callback_enter(void)
{
    depth++;
}

void acui_callback_leave(void)
{
    if (failed && failed == depth % ACUI_BOUND_FOREIGN)
        failed = 0; /* there is nobody to tell */
    depth--;
}

acu_status acu_callback_fail(const char *format, ...)
{
    char text[ACU_ERROR_MESSAGE] = "";
    va_list list;
    if (depth == 0)
        return acui_fail(ACU_ERR_INVALID,
                         "acu_callback_fail is for functions of the program that acuda calls");
    va_start(list, format);
    if (format)
        vsnprintf(text, sizeof text, format, list);
    va_end(list);
    failed = depth % ACUI_BOUND_FOREIGN;
    return acui_fail(ACU_ERR_CALLBACK, "%s", text);
}

acu_status acui_callback_leave_failed(const char *function)
{
    bool told = failed && failed == depth % ACUI_BOUND_FOREIGN;
    acui_callback_leave();
    if (!told)
        return ACU_OK;
    char text[ACU_ERROR_MESSAGE] = "";
    if (acui_error()->status == ACU_ERR_CALLBACK)
        memcpy(text, acui_error()->message, sizeof text);
    acui_fail(ACU_ERR_CALLBACK, "the function given to %s failed: %s", function, text);
    return ACU_ERR_CALLBACK;
}

void acui_callback_bind(acui_bound how)
{
    depth += how;
}

void acui_callback_unbind(acui_bound how)
{
    depth -= how;
}

bool acui_callback_is_bound(acui_bound how)
{
    return depth / how & 0xff;
}

acu_status acui_callback_enter_asked(void)
{
    acu_error *error = acui_error();
    acu_status was = error->status;
    error->status = ACU_OK; /* so that a status found after the call was set by it */
    acui_callback_enter();
    return was;
}

const char *acui_outcome_words(acu_status outcome, char *words)
{
    bool known = strcmp(acu_status_name(outcome), "ACU_ERR_?") != 0;
    if (known)
        snprintf(words, ACUI_OUTCOME, "%s", acu_status_name(outcome));
    else
        snprintf(words, ACUI_OUTCOME, "%d, which is no acu_status", (int)outcome);
    return words;
}

acu_status acui_callback_leave_asked(acu_status was, acu_status status, const char *function)
{
    acu_status failure = acui_callback_leave_failed(function);
    acu_error *error = acui_error();
    bool told = error->status == status;
    if (error->status == ACU_OK)
        error->status = was;
    if (failure != ACU_OK || status == ACU_OK)
        return failure;
    char words[ACUI_OUTCOME];
    acui_fail(ACU_ERR_CALLBACK, "the function given to %s returned %s%s%s", function,
              acui_outcome_words(status, words), told ? ": " : "", told ? error->message : "");
    error->cause = status;
    return ACU_ERR_CALLBACK;
}

bool acui_in_callback(void)
{
    return depth > 0;
}

void acui_user_release(acu_user user)
{
    if (!user.release)
        return;
    bool was = acui_error_aside(); /* the release may happen because something failed */
    acui_callback_enter();
    user.release(user.data);
    acui_callback_leave();
    acui_error_back(was);
}

acu_status acui_refuse_wait(const char *function)
{
    if (depth == 0)
        return ACU_OK;
    if (depth >= ACUI_BOUND_FOREIGN)
        return acui_fail(ACU_ERR_IN_CALLBACK,
                         "%s waits, and is called inside a function that acuda runs while it puts "
                         "work on a stream, or chooses one (of a foreign call, of a policy): that "
                         "may neither wait nor submit. Do either before, or once it has returned",
                         function);
    return acui_fail(ACU_ERR_IN_CALLBACK,
                     "%s waits, and is called inside a function that acuda runs (then, map, a "
                     "completion callback, host work, the release of user data): what it waits for "
                     "may need this thread. Submit here, and wait elsewhere",
                     function);
}
