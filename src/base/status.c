/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names, texts and scopes of status codes, and error records as text. */
#include <acuda/status.h>

#include "base/text.h"

#include <string.h>

const char *acu_status_name(acu_status status)
{
    switch (status) {
#define CASE(name, value, scope, text) \
    case name: \
        return #name;
        ACU_STATUSES(CASE)
#undef CASE
    }
    return "ACU_ERR_?";
}

const char *acu_status_text(acu_status status)
{
    switch (status) {
#define CASE(name, value, scope, text) \
    case name: \
        return text;
        ACU_STATUSES(CASE)
#undef CASE
    }
    return "unknown status";
}

acu_scope acu_status_scope(acu_status status)
{
    switch (status) {
#define CASE(name, value, scope, text) \
    case name: \
        return ACU_SCOPE_##scope;
        ACU_STATUSES(CASE)
#undef CASE
    }
    return ACU_SCOPE_CALL;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n';
}

/* A compiler's message has line breaks and pictures of the place: each line break, with its
 * indentation, becomes one space. */
static const char *in_one_line(const char *message, char *line)
{
    size_t used = 0;
    for (const char *c = message; *c; c++) {
        line[used++] = *c;
        if (*c != '\n')
            continue;
        while (used > 0 && is_blank(line[used - 1]))
            used--;
        while (is_blank(c[1]))
            c++;
        if (c[1])
            line[used++] = ' ';
    }
    line[used] = 0;
    return line;
}

/* Messages are read without the line too, and so may begin with the op's name. */
static const char *behind_name(const char *message, const char *op)
{
    size_t length = strlen(op);
    bool named =
        length && strncmp(message, op, length) == 0 && strncmp(message + length, ": ", 2) == 0;
    return named ? message + length + 2 : message;
}

size_t acu_error_describe(const acu_error *error, char *buffer, size_t size)
{
    char line[ACU_ERROR_MESSAGE];
    acui_text text = acui_text_start(buffer, size);
    if (!error)
        return 0;
    if (error->context[0])
        acui_text_add(&text, "%s: ", error->context);
    size_t begin = text.length;
    if (error->file)
        acui_text_add(&text, "%s:%d: ", error->file, error->line);
    if (error->op[0])
        acui_text_add(&text, "%s", error->op);
    if (error->device >= 0 && error->status != ACU_OK)
        acui_text_add(&text, "%sdevice %d", error->op[0] ? " on " : "", error->device);
    if (text.length > begin && (error->op[0] || error->device >= 0))
        acui_text_add(&text, ": ");
    /* A fault is not of the call that happens to be the first to meet it. */
    if (error->driver_call && error->status != ACU_ERR_DEVICE_LOST)
        acui_text_add(&text, "%s: ", error->driver_call);
    if (error->driver_result)
        acui_text_add(&text, "%s (%u): ", error->driver_name ? error->driver_name : "CUDA error",
                      error->driver_result);
    acui_text_add(&text, "%s", acu_status_text(error->status));
    const char *message = behind_name(error->message, error->op);
    if (message[0])
        acui_text_add(&text, ": %s", in_one_line(message, line));
    return text.length;
}
