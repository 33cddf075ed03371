/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a cached graph can hold, and the key of a run: its signature, that is what has to be equal
 * for one executable graph to serve two runs. Everything else (arguments, grids, addresses,
 * lengths) can be set. */
#include "base/alloc.h"
#include "base/hash.h"
#include "base/rare.h"
#include "engine/issue/graphs.h"
#include "op/call.h"
#include "op/instead.h"
#include "op/launch.h"

#include <string.h>

/* ---- what a graph can hold ---- */

/* Nodes have the attributes of launches, except programmatic dependence: in a graph that is an
 * attribute of an edge, not of a node. */
static bool launch_fits(const acui_node *node)
{
    return !acui_launch_is_special(node) ||
           (!node->u.launch.more->config.programmatic &&
            acu_driver_has(ACU_CALL_GraphKernelNodeSetAttribute));
}

bool acui_fits_graph(const acui_node *node)
{
    if (node->kind == ACUI_NODE_LAUNCH)
        return launch_fits(node);
    if (node->kind == ACUI_NODE_COPY) {
        const acu_buffer *dst = node->u.copy.dst, *src = node->u.copy.src;
        return dst->host || src->host || dst->device == src->device;
    }
    if (node->kind == ACUI_NODE_FOREIGN)
        return node->u.call.op->u.call.capturable;
    return node->kind == ACUI_NODE_FILL;
}

/* What a FOREIGN call depends on; false: that can not be told. */
static bool call_key(const acui_node *node, acui_call_key *key)
{
    const acu_op *op = node->u.call.op;
    const acui_own_call *own = op->u.call.own;
    *key = (acui_call_key){0};
    return own && own->key && own->key(op->user.data, key);
}

/* What a call enqueues is not known without calling; so it must be known when it is the same. */
static bool call_fits(const acui_node *node)
{
    acui_call_key key;
    return acu_driver_has(ACU_CALL_GraphExecChildGraphNodeSetParams) &&
           (node->kind == ACUI_NODE_LAUNCH || call_key(node, &key));
}

/* A copy by rows stays what it was made as: the driver refuses to set it to other addresses. */
bool acui_fits_cached(const acui_node *node)
{
    if (acui_is_call(node) && !call_fits(node))
        return false;
    return acui_fits_graph(node) && (node->kind != ACUI_NODE_COPY || !node->u.copy.box);
}

/* ---- keys ---- */

/* A key while it is written. */
typedef struct writer {
    uint64_t *end, hash;
} writer;

static inline void put(writer *w, uint64_t word)
{
    *w->end++ = word;
    w->hash = acui_hash_with(w->hash, word);
}

/* Attributes of a launch that can not be set once a graph is made: cooperative, and a cluster's
 * dimensions, of at most 8 blocks each. */
static uint64_t attribute_bits(const acu_config *c)
{
    return (uint64_t)c->cooperative | (uint64_t)c->cluster[0] << 4 | (uint64_t)c->cluster[1] << 8 |
           (uint64_t)c->cluster[2] << 12;
}

static inline uint64_t kind_word(const acui_node *node)
{
    uint64_t word = node->kind;
    if (node->kind == ACUI_NODE_LAUNCH)
        return acui_launch_is_special(node)
                   ? word | attribute_bits(&node->u.launch.more->config) << 8
                   : word;
    if (node->kind == ACUI_NODE_COPY)
        word |= (uint64_t)(node->u.copy.dst->host != NULL) << 8 |
                (uint64_t)(node->u.copy.src->host != NULL) << 9;
    if (node->kind == ACUI_NODE_FILL)
        word |= (uint64_t)node->u.fill.element_bytes << 8;
    return word;
}

/* Stands where the number of edges would: behind the node before it, and so behind all before. */
#define CHAINED UINT64_C(0xFFFFFFFF)

/* Of a wide run. What comes before its first node does not matter. */
static void put_edges(writer *w, const acui_node *node, uint32_t first)
{
    for (uint32_t i = 0; i < node->before_count; i++)
        if (acui_node_before(node)[i]->position >= first)
            put(w, acui_node_before(node)[i]->position - first);
}

static uint64_t count_inside(const acui_node *node, uint32_t first)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < node->before_count; i++)
        n += acui_node_before(node)[i]->position >= first;
    return n;
}

/* Where the parameters of a launch are, unless each takes one word: a list is laid out otherwise if
 * its room was not known yet. */
static ACUI_APART void put_offsets(writer *w, const acui_node *node)
{
    const uint32_t *offsets = acui_launch_offsets(node);
    uint64_t all = node->u.launch.bytes; /* a hash is enough: one kernel has very few layouts */
    for (uint32_t i = 1; i < node->u.launch.count; i++)
        all = acui_hash_with(all, offsets[i]);
    put(w, all);
}

static void put_bytes(writer *w, const void *from, size_t bytes)
{
    const char *at = from;
    put(w, bytes);
    for (; bytes > 0; bytes -= bytes < 8 ? bytes : 8, at += 8) {
        uint64_t word = 0;
        memcpy(&word, at, bytes < 8 ? bytes : 8);
        put(w, word);
    }
}

static void put_foreign(writer *w, const acui_node *node)
{
    acui_call_key key;
    call_key(node, &key);
    put(w, (uint64_t)key.what);
    put_bytes(w, key.data, key.bytes);
    for (size_t i = 0; key.fixed && i < node->u.call.count; i++)
        put(w, acui_call_address(node, i));
}

/* All that a call depends on, except addresses that can be set. */
static void put_call(writer *w, const acui_node *node)
{
    if (node->kind == ACUI_NODE_FOREIGN) {
        put_foreign(w, node);
        return;
    }
    const acui_instead *instead = acui_launch_instead(node);
    uint32_t from = acui_launch_at(node, instead->addresses);
    put(w, (uint64_t)(uintptr_t)instead);
    put(w, node->u.launch.more->scratch);
    put_bytes(w, acui_launch_data(node) + from, node->u.launch.bytes - from);
}

/* At most so many words are put for it. */
static size_t call_words(const acui_node *node)
{
    acui_call_key key;
    if (node->kind == ACUI_NODE_LAUNCH)
        return 4 + node->u.launch.bytes / 8;
    call_key(node, &key);
    return 3 + key.bytes / 8 + (key.fixed ? node->u.call.count : 0);
}

static inline void put_node(writer *w, const acui_run *run, const acui_node *node)
{
    uint32_t first = run->nodes[0]->position;
    put(w, kind_word(node) | (run->wide ? count_inside(node, first) : CHAINED) << 32);
    if (node->kind == ACUI_NODE_LAUNCH) {
        put(w, (uint64_t)(uintptr_t)node->u.launch.kernel->raw);
        if (node->u.launch.offsets)
            put_offsets(w, node);
    }
    if (run->calls && acui_is_call(node))
        put_call(w, node);
    if (run->wide)
        put_edges(w, node, first);
}

bool acui_key_make(acui_key *key, const acui_run *run)
{
    size_t most = 3 * (size_t)run->count;
    for (uint32_t i = 0; i < run->count && run->wide; i++)
        most += run->nodes[i]->before_count;
    for (uint32_t i = 0; i < run->count && run->calls; i++)
        most += acui_is_call(run->nodes[i]) ? call_words(run->nodes[i]) : 0;
    key->words = most <= ACUI_KEY_FEW ? key->few : ACUI_NEW_ARRAY(uint64_t, most);
    if (!key->words)
        return false;
    writer w = {.end = key->words, .hash = run->count};
    for (uint32_t i = 0; i < run->count; i++)
        put_node(&w, run, run->nodes[i]);
    key->hash = w.hash;
    key->count = (uint32_t)(w.end - key->words);
    return true;
}

void acui_key_drop(acui_key *key)
{
    if (key->words != key->few)
        acui_free(key->words);
}
