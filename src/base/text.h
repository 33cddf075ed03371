/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Text assembled in a buffer of fixed size, for messages and reports. */
#ifndef ACUI_BASE_TEXT_H
#define ACUI_BASE_TEXT_H

#include <acuda/base.h>

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
