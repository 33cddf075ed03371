/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names, texts and scopes of status codes, and error records as text. */
#include <acuda/status.h>

#include <stdarg.h>
#include <stdio.h>

const char *acu_status_name(acu_status status)
{
    switch (status) {
#define CASE(name, value, scope, text)                                                             \
    case name:                                                                                     \
        return #name;
        ACU_STATUSES(CASE)
#undef CASE
    }
    return "ACU_ERR_?";
}

const char *acu_status_text(acu_status status)
{
    switch (status) {
#define CASE(name, value, scope, text)                                                             \
    case name:                                                                                     \
        return text;
        ACU_STATUSES(CASE)
#undef CASE
    }
    return "unknown status";
}

acu_scope acu_status_scope(acu_status status)
{
    switch (status) {
#define CASE(name, value, scope, text)                                                             \
    case name:                                                                                     \
        return ACU_SCOPE_##scope;
        ACU_STATUSES(CASE)
#undef CASE
    }
    return ACU_SCOPE_CALL;
}

/* Text that grows in a buffer of fixed size; `length` counts what was cut as well. */
typedef struct line {
    char *buffer;
    size_t size, length;
} line;

ACU_PRINTF(2, 3) static void line_add(line *l, const char *format, ...)
{
    size_t room = l->length < l->size ? l->size - l->length : 0;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(room ? l->buffer + l->length : NULL, room, format, args);
    va_end(args);
    if (n > 0)
        l->length += (size_t)n;
}

size_t acu_error_describe(const acu_error *error, char *buffer, size_t size)
{
    line l = {.buffer = buffer, .size = size};
    if (size)
        buffer[0] = '\0';
    if (error->file)
        line_add(&l, "%s:%d: ", error->file, error->line);
    if (error->op[0])
        line_add(&l, "%s", error->op);
    if (error->device >= 0 && error->status != ACU_OK)
        line_add(&l, "%sdevice %d", error->op[0] ? " on " : "", error->device);
    if (l.length && (error->op[0] || error->device >= 0))
        line_add(&l, ": ");
    if (error->driver_call)
        line_add(&l, "%s: ", error->driver_call);
    if (error->driver_result)
        line_add(&l, "%s (%u): ", error->driver_name ? error->driver_name : "CUDA error",
                 error->driver_result);
    line_add(&l, "%s", acu_status_text(error->status));
    if (error->message[0])
        line_add(&l, ": %s", error->message);
    return l.length;
}
