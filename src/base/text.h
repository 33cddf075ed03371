/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Text in a buffer of fixed size: names; and assembled, for messages and reports. */
#ifndef ACUI_BASE_TEXT_H
#define ACUI_BASE_TEXT_H

#include <acuda/base.h>

#include <string.h>

/* A copy of the text, cut to the room there is. For names that are copied in each submission:
 * snprintf takes some hundred instructions for that. */
static inline void acui_text_copy(char *out, size_t room, const char *text)
{
    if (!memccpy(out, text, 0, room))
        out[room - 1] = 0;
}

typedef struct acui_text {
    char *buffer; /* the caller's; NULL: only measure */
    size_t size;
    size_t length; /* of the whole text, including what did not fit */
} acui_text;

/* An empty text, terminated if there is room. */
acui_text acui_text_start(char *buffer, size_t size);
/* Append; what does not fit is cut off, but counted. */
ACU_PRINTF(2, 3) void acui_text_add(acui_text *text, const char *format, ...);

#endif
