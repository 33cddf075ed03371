/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Copying much memory. */
#ifndef ACUI_BASE_BULK_H
#define ACUI_BASE_BULK_H

#include <stdbool.h>
#include <stddef.h>

/* memcpy. `past_cache`: what is written will not be read by this core soon, so it goes to memory
 * without being fetched into the cache first, which halves the traffic of writing. */
void acui_bulk_copy(void *dst, const void *src, size_t bytes, bool past_cache);

#endif
