/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Between who hands out the chunks of staged copies (staging.c) and who moves them (move.c). */
#ifndef ACUI_ENGINE_STAGING_H
#define ACUI_ENGINE_STAGING_H

#include "engine/engine.h"

/* Whether to go on with the copy; asked between two chunks. */
bool acui_stage_goes_on(acui_stage *stage);
/* The next chunk; `n`: how many the helper took so far. False: none, or others' turn. */
bool acui_stage_take(acui_stage *stage, int n, uint64_t *begin, uint64_t *end);

/* Take chunks and move them until there are none. Blocks. */
acu_status acui_stage_move(acui_stage *stage, unsigned helper);

static inline bool acui_stage_on_host(const acu_buffer *buffer)
{
    return buffer->kind == ACU_MEMORY_PAGEABLE || buffer->kind == ACU_MEMORY_PINNED ||
           buffer->kind == ACU_MEMORY_HOST;
}

#endif
