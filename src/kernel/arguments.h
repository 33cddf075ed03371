/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Arguments for a compiler: a list of texts, each formatted as by snprintf. */
#ifndef ACUI_KERNEL_ARGUMENTS_H
#define ACUI_KERNEL_ARGUMENTS_H

#include "base/arena.h"

#include <acuda/base.h>

typedef struct acui_arguments {
    acui_arena arena; /* holds the texts and the list */
    const char **list;
    size_t count, room;
    bool failed; /* an argument found no memory or room; stays set */
} acui_arguments;

/* Make room for that many. In a list that is not full, NULL follows the last argument. */
void acui_arguments_begin(acui_arguments *arguments, size_t room);
ACU_PRINTF(2, 3) void acui_argument(acui_arguments *arguments, const char *format, ...);
void acui_arguments_end(acui_arguments *arguments);

#endif
