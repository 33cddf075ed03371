/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * For tests: make allocations fail, and count live objects. driver.h does the same with driver
 * calls and driver objects.
 */
#ifndef ACUDA_DEBUG_H
#define ACUDA_DEBUG_H

#include <acuda/base.h>

ACU_BEGIN

/* Kinds of handles: X(identifier, word for messages). */
#define ACU_OBJECT_KINDS(X)                                                                        \
    X(DEVICE, "device") X(STREAM, "stream") X(EVENT, "event") X(POLICY, "policy")                  \
    X(BUFFER, "buffer") X(TENSOR, "tensor") X(MODULE, "module") X(KERNEL, "kernel") X(OP, "op")    \
    X(FUTURE, "future") X(QUEUE, "queue") X(GRAPH, "graph") X(GROUP, "group") X(USE, "use")        \
    X(POOL, "pool") X(CODE, "compiled code")                                                      \
    X(EXPRESSION, "expression") X(EXTERNAL, "external memory")

typedef enum acu_object_kind {
#define ACU_X(id, word) ACU_OBJECT_##id,
    ACU_OBJECT_KINDS(ACU_X)
#undef ACU_X
    ACU_OBJECT_KIND_COUNT
} acu_object_kind;

/* The number of live objects of a kind, held by the program or by work in flight. */
ACU_API size_t acu_debug_live(acu_object_kind kind);
/* Fill `text` with one line for each kind that has live objects; returns how many these are in
 * all. */
ACU_API size_t acu_debug_live_report(char *text, size_t bytes);

/*
 * Make the n-th allocation from now on (1: the next) fail, and, with `from_then_on`, all after it.
 * 0 ends it. Counts acuda's own allocations, in all threads.
 */
ACU_API void acu_debug_fail_alloc(uint64_t nth, bool from_then_on);
/* Allocations since acu_debug_fail_alloc was last called, including failed ones and those that got
 * memory which is kept for reuse. */
ACU_API uint64_t acu_debug_alloc_count(void);
/* Blocks of memory that acuda has allocated and not freed. */
ACU_API size_t acu_debug_live_blocks(void);

ACU_END
#endif
