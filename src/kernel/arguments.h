/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Arguments for a compiler: a list of texts, each made as snprintf makes it. */
#ifndef ACUI_KERNEL_ARGUMENTS_H
#define ACUI_KERNEL_ARGUMENTS_H

#include "base/arena.h"

#include <acuda/base.h>

typedef struct acui_arguments {
    acui_arena arena; /* the texts, and the list */
    const char **list;
    size_t count, room;
    bool failed; /* for lack of memory or room; it stays so */
} acui_arguments;

/* With room for that many; the last element of a list that is not full is NULL. */
void acui_arguments_begin(acui_arguments *arguments, size_t room);
ACU_PRINTF(2, 3) void acui_argument(acui_arguments *arguments, const char *format, ...);
void acui_arguments_end(acui_arguments *arguments);

#endif
