/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The thread's error record. */
#include "base/error.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* Owned by its thread alone: no locks, no atomics. */
static _Thread_local acu_error own = {.device = -1}, others = {.device = -1};
static _Thread_local bool aside; /* what fails now goes to the second */

acu_error *acui_error(void)
{
    return aside ? &others : &own;
}

const acu_error *acu_last_error(void)
{
    return acui_error();
}

bool acui_error_aside(void)
{
    bool was = aside;
    aside = true;
    return was;
}

void acui_error_back(bool was)
{
    aside = was;
}

void acui_error_prefix(acu_error *error, const char *context)
{
    char inner[ACU_ERROR_CONTEXT];
    memcpy(inner, error->context, sizeof inner);
    /* Cut, where it is too long, at the end: the outermost says most about what was going on. */
    acui_text text = acui_text_start(error->context, sizeof error->context);
    acui_text_add(&text, "%s%s%s", context, inner[0] ? ": " : "", inner);
}

acu_status acui_error_restore(const acu_error *error)
{
    acu_error *record = acui_error();
    if (error != record)
        *record = *error;
    return error->status;
}

acu_status acui_fail_v(acu_status status, const char *format, va_list args)
{
    if (acu_status_scope(status) == ACU_SCOPE_NONE)
        return status;
    /* Written aside first: the arguments may point into the record. */
    char message[ACU_ERROR_MESSAGE];
    if (vsnprintf(message, sizeof message, format, args) < 0)
        message[0] = '\0';
    acu_error *record = acui_error();
    *record = (acu_error){.status = status, .device = -1};
    memcpy(record->message, message, sizeof message);
    return status;
}

acu_status acui_fail(acu_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    acui_fail_v(status, format, args);
    va_end(args);
    return status;
}

acu_status acui_fail_at(acu_status status, acu_site site, const char *op, int device,
                        const char *format, ...)
{
    char name[ACU_ERROR_OP];
    snprintf(name, sizeof name, "%s", op ? op : "");
    va_list args;
    va_start(args, format);
    acui_fail_v(status, format, args);
    va_end(args);
    if (acu_status_scope(status) == ACU_SCOPE_NONE)
        return status;
    acu_error *record = acui_error();
    memcpy(record->op, name, sizeof name);
    record->file = site.file;
    record->line = site.line;
    record->device = device;
    return status;
}
