/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The signature of a task: what its length depends on, as far as that shows. */
#include "base/hash.h"
#include "engine/flight/flight.h"
#include "op/call.h"

#include <string.h>

/* Of a library's, what is called: one line of a program may call it for many shapes. */
static uint64_t call_hash(uint64_t h, const acui_node *node)
{
    const acu_op *op = node->u.call.op;
    const acui_own_call *own = op->u.call.own;
    acui_call_key key;
    if (!own || !own->key || !own->key(op->user.data, &key)) {
        h = acui_hash_with(h, (uint64_t)(uintptr_t)node->site.file);
        return acui_hash_with(h, (uint64_t)node->site.line);
    }
    h = acui_hash_with(h, (uint64_t)key.what);
    for (size_t at = 0; at < key.bytes; at += 8) {
        uint64_t word = 0;
        memcpy(&word, (const char *)key.data + at, key.bytes - at < 8 ? key.bytes - at : 8);
        h = acui_hash_with(h, word);
    }
    return h;
}

static uint64_t node_hash(uint64_t h, const acui_node *node)
{
    const acui_dims *dims;
    h = acui_hash_with(h, node->kind);
    switch (node->kind) {
    case ACUI_NODE_LAUNCH:
        dims = &node->u.launch.dims;
        h = acui_hash_with(h, (uint64_t)(uintptr_t)node->u.launch.kernel->raw);
        h = acui_hash_with(h, (uint64_t)(uintptr_t)acui_launch_instead(node));
        h = acui_hash_with(h, (uint64_t)dims->grid[0] | (uint64_t)dims->grid[1] << 32);
        return acui_hash_with(h, (uint64_t)dims->grid[2] | (uint64_t)dims->block[0] << 32);
    case ACUI_NODE_COPY:
        return acui_hash_with(acui_hash_with(h, node->u.copy.bytes), node->u.copy.way);
    case ACUI_NODE_FILL:
        h = acui_hash_with(h, (uint64_t)(uintptr_t)node->device);
        return acui_hash_with(h, node->u.fill.elements * node->u.fill.element_bytes);
    case ACUI_NODE_REPLAY:
        return acui_hash_with(h, (uint64_t)(uintptr_t)node->u.replay.graph);
    case ACUI_NODE_FOREIGN:
        return call_hash(h, node);
    default:
        h = acui_hash_with(h, (uint64_t)(uintptr_t)node->site.file);
        return acui_hash_with(h, (uint64_t)node->site.line);
    }
}

uint64_t acui_task_signature(const acui_task *task)
{
    uint64_t h = acui_hash_with(0, task->count);
    for (size_t i = 0; i < task->count; i++)
        h = node_hash(h, task->nodes[i]);
    return h | 1; /* 0 is an empty place */
}
