/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Between staging.c, which hands out the chunks of staged copies, and move.c, which moves them. */
#ifndef ACUI_ENGINE_STAGING_H
#define ACUI_ENGINE_STAGING_H

#include "engine/engine.h"

/* Whether to go on with the copy; asked between two chunks. */
bool acui_stage_goes_on(acui_stage *stage);
/* Take the next chunk; `n`: how many the helper has taken so far. False: there is none, or other
 * copies have their turn. */
bool acui_stage_take(acui_stage *stage, int n, uint64_t *begin, uint64_t *end);

/* Take chunks and move them until there are none. Blocks. */
acu_status acui_stage_move(acui_stage *stage, unsigned helper);

static inline bool acui_stage_on_host(const acu_buffer *buffer)
{
    return buffer->kind == ACU_MEMORY_PAGEABLE || buffer->kind == ACU_MEMORY_PINNED ||
           buffer->kind == ACU_MEMORY_HOST;
}

/* ---- ring.c ---- */
/* The device is entered, or lost, and about to go; no helper works for it. */
void acui_rings_drop(acu_device *device);

#endif
