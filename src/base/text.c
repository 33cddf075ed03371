/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Text in a buffer of fixed size. */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

acui_text acui_text_start(char *buffer, size_t size)
{
    if (!buffer)
        size = 0;
    if (size)
        buffer[0] = '\0';
    return (acui_text){.buffer = buffer, .size = size};
}

void acui_text_add(acui_text *text, const char *format, ...)
{
    size_t room = text->length < text->size ? text->size - text->length : 0;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(room ? text->buffer + text->length : NULL, room, format, args);
    va_end(args);
    if (n > 0)
        text->length += (size_t)n;
}
