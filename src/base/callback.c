/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Refusing to wait inside callbacks. */
#include "base/callback.h"

#include "base/error.h"
#include "base/local.h"

static ACUI_LOCAL unsigned depth;

void acui_callback_enter(void)
{
    depth++;
}

void acui_callback_leave(void)
{
    depth--;
}

bool acui_in_callback(void)
{
    return depth > 0;
}

void acui_user_release(acu_user user)
{
    if (!user.release)
        return;
    bool was = acui_error_aside(); /* it may be released because something failed */
    acui_callback_enter();
    user.release(user.data);
    acui_callback_leave();
    acui_error_back(was);
}

acu_status acui_refuse_wait(const char *function)
{
    if (depth == 0)
        return ACU_OK;
    return acui_fail(ACU_ERR_WOULD_WAIT,
                     "%s waits, and is called inside a function that acuda runs (then, map, a "
                     "completion callback, host work, the release of user data): what it waits for "
                     "may need this thread. Submit here, and wait elsewhere",
                     function);
}
