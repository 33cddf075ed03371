/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Lists of arguments for a compiler. */
#include "kernel/arguments.h"

#include <stdarg.h>
#include <stdio.h>

void acui_arguments_begin(acui_arguments *arguments, size_t room)
{
    *arguments = (acui_arguments){.room = room};
    acui_arena_begin(&arguments->arena, NULL, 0);
    arguments->list = ACUI_ARENA_ARRAY(&arguments->arena, const char *, room);
    arguments->failed = !arguments->list;
}

void acui_argument(acui_arguments *arguments, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    bool fits = length >= 0 && arguments->count < arguments->room && !arguments->failed;
    char *text = fits ? acui_arena_get(&arguments->arena, (size_t)length + 1) : NULL;
    if (text) {
        vsnprintf(text, (size_t)length + 1, format, again);
        arguments->list[arguments->count++] = text;
    }
    va_end(again);
    va_end(args);
    arguments->failed |= !text;
}

void acui_arguments_end(acui_arguments *arguments)
{
    acui_arena_clear(&arguments->arena);
}
