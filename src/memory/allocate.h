/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Between buffers and the pools that their memory comes from. */
#ifndef ACUI_MEMORY_ALLOCATE_H
#define ACUI_MEMORY_ALLOCATE_H

#include "memory/memory.h"

/* Allocate memory for a buffer outside of any submission. Blocks for page-locked memory that the
 * cache does not have. */
acu_status acui_buffer_allocate_now(acu_buffer *buffer);
/* Page-locked memory, which may exist only later (growth.c): never blocks. */
acu_status acui_buffer_allocate_soon(acu_buffer *buffer);

/* The last reference is gone. Also works for a buffer that has no memory, or memory that is not
 * acuda's own. */
void acui_buffer_free_memory(acu_buffer *buffer);

#endif
