/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Between buffers and the pools that their memory comes from. */
#ifndef ACUI_MEMORY_ALLOCATE_H
#define ACUI_MEMORY_ALLOCATE_H

#include "memory/memory.h"

/* Memory for a buffer outside of any submission. Page-locked memory that
 * the cache lacks: blocks. */
acu_status acui_buffer_allocate_now(acu_buffer *buffer);
/* Page-locked memory, which may be there only soon (growth.c): never blocks. */
acu_status acui_buffer_allocate_soon(acu_buffer *buffer);

/* The last reference is gone. A buffer that has no memory, or not acuda's own, is fine. */
void acui_buffer_free_memory(acu_buffer *buffer);

#endif
