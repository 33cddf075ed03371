/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* For messages about a name that is not there: which of those that are was meant. */
#ifndef ACUI_BASE_NEAREST_H
#define ACUI_BASE_NEAREST_H

#include <stddef.h>

typedef struct acui_nearest {
    const char *wanted;
    const char *found; /* the nearest so far, borrowed; NULL: none is near */
    size_t distance;
} acui_nearest;

static inline acui_nearest acui_nearest_to(const char *wanted)
{
    return (acui_nearest){.wanted = wanted, .found = NULL, .distance = (size_t)-1};
}
/* Near is a name in which one letter of three, rounded up, was changed, added, left out or swapped
 * with its neighbour, at most; other case counts as half a letter. */
void acui_nearest_look(acui_nearest *nearest, const char *name);

#endif
