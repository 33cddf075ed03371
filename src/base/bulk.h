/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Copying large amounts of memory. */
#ifndef ACUI_BASE_BULK_H
#define ACUI_BASE_BULK_H

#include <stdbool.h>
#include <stddef.h>

/* memcpy. `past_cache`: this core will not read the destination soon, so it is written to memory
 * without being fetched into the cache first, which halves the traffic of writing. */
void acui_bulk_copy(void *dst, const void *src, size_t bytes, bool past_cache);

#endif
