/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The log. Calls of the program's function hold `lock` for reading, so that the function is not
 * called any more once it was replaced.
 */
#include "base/log.h"

#include "base/callback.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/local.h"
#include "base/object.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

_Atomic(int) acui_log_most;

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct { /* under the lock */
    acu_log_fn fn;
    acu_user user;
} to;
static ACUI_LOCAL bool inside; /* of the program's function */

static const char *const names[] = {"nothing", "error", "warning", "info", "debug"};

static bool is_level(acu_log_level level)
{
    return (unsigned)level < sizeof names / sizeof *names;
}

const char *acu_log_level_name(acu_log_level level)
{
    return is_level(level) ? names[level] : "?";
}

static acu_status check(acu_log_level most, acu_log_fn fn)
{
    ACUI_REFUSE_FORK();
    ACUI_TRY(acui_refuse_wait("acu_log_to"));
    if (!is_level(most))
        return acui_fail(ACU_ERR_INVALID, "acu_log_to: %d is no level", (int)most);
    if ((most != ACU_LOG_NOTHING) != (fn != NULL))
        return acui_fail(ACU_ERR_INVALID, fn ? "acu_log_to: a function for nothing"
                                             : "acu_log_to: no function for lines");
    return ACU_OK;
}

acu_status acu_log_to(acu_log_level most, acu_log_fn fn, acu_user user)
{
    acu_status st = check(most, fn);
    acu_user was = user;
    if (st == ACU_OK) {
        pthread_rwlock_wrlock(&lock);
        was = to.user;
        to.fn = fn;
        to.user = user;
        atomic_store_explicit(&acui_log_most, (int)most, memory_order_relaxed);
        pthread_rwlock_unlock(&lock);
    }
    acui_user_release(was);
    return st;
}

/* One line: of what is told in several, a record of a compiler's say, the first. */
static void cut(char *text)
{
    text[strcspn(text, "\r\n")] = '\0';
}

void acui_log_record(acu_log_level level, const char *about, const acu_error *error)
{
    char text[ACU_ERROR_MESSAGE + 512];
    if (!ACUI_LOGS(level))
        return;
    acu_error_describe(error, text, sizeof text);
    acui_log_put(level, about, error->device, "%s", text);
}

void acui_log_put(acu_log_level level, const char *about, int device, const char *format, ...)
{
    char text[ACU_ERROR_MESSAGE + 512];
    int kept = errno;
    va_list list;
    if (inside || acui_forked())
        return;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    cut(text);
    const acu_log_line line = {.size = sizeof line,
                               .level = level,
                               .device = device,
                               .time = acui_now(),
                               .about = about,
                               .text = text};
    inside = true;
    pthread_rwlock_rdlock(&lock);
    if (to.fn && (int)level <= atomic_load_explicit(&acui_log_most, memory_order_relaxed)) {
        bool was = acui_error_aside();
        acui_callback_enter();
        to.fn(to.user.data, &line);
        acui_callback_leave();
        acui_error_back(was);
    }
    pthread_rwlock_unlock(&lock);
    inside = false;
    errno = kept;
}
