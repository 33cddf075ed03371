/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * For tests of programs: count what lives, count driver calls, and make allocations and driver
 * calls fail. acuda.h does not include this header, and the library exports these functions under a
 * version of their own (ACUDA_DEBUG): they may change from one version to the next.
 */
#ifndef ACUDA_DEBUG_H
#define ACUDA_DEBUG_H

#include <acuda/base.h>
#include <acuda/driver.h>

ACU_BEGIN

/* ---- acuda's own objects and memory --------------------------------------------------------- */

/* Kinds of handles: X(identifier, word for messages). */
#define ACU_OBJECT_KINDS(X)                                                                        \
    X(DEVICE, "device") X(STREAM, "stream") X(EVENT, "event") X(POLICY, "policy")                  \
    X(BUFFER, "buffer") X(TENSOR, "tensor") X(MODULE, "module") X(KERNEL, "kernel") X(OP, "op")    \
    X(FUTURE, "future") X(QUEUE, "queue") X(GRAPH, "graph") X(GROUP, "group") X(USE, "use")        \
    X(POOL, "pool") X(CODE, "compiled code")                                                       \
    X(EXPRESSION, "expression") X(EXTERNAL, "external memory")                                     \
    X(PROMISE, "promise") X(FILE, "file") X(COMM, "communicator") X(MODEL, "model")

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

/* ---- counting driver objects and calls ------------------------------------------------------- */

/* Kinds of driver objects: ACU_DRIVER_KIND_STREAM, ... */
typedef enum acu_driver_kind {
#define ACU_DRIVER_KIND(name, text) ACU_DRIVER_KIND_##name,
    ACU_DRIVER_KINDS(ACU_DRIVER_KIND)
#undef ACU_DRIVER_KIND
    ACU_DRIVER_KIND_NONE /* also the number of kinds */
} acu_driver_kind;

/*
 * Objects that were created through the table and not destroyed through it: creations minus
 * successful destructions. Objects that go when their context is destroyed or reset stay counted.
 * Always on.
 */
ACU_API int64_t acu_driver_live(acu_driver_kind kind);

/* Destructions of this kind that fault injection made fail: their objects may still live. */
ACU_API int64_t acu_driver_spared(acu_driver_kind kind);

/* Fill `text` with one line for each kind that has live objects, naming those whose destruction was
 * made to fail; cut to `bytes`, terminated. Returns the number of live objects. */
ACU_API size_t acu_driver_live_report(char *text, size_t bytes);

/*
 * Count calls: true restarts from 0, false stops and keeps the counts. A test can use this to learn
 * every call that a program makes, and then make each of them fail in turn.
 */
ACU_API void acu_driver_count_calls(bool on);
/* Calls counted, including those made to fail. ACU_CALL_ANY: the total of all entry points. */
ACU_API uint64_t acu_driver_calls(acu_driver_call call);

/* ---- making driver calls fail ---------------------------------------------------------------- */

/* Zero-initialise, set `size`, change what you need. */
typedef struct acu_driver_fault {
    size_t size;          /* sizeof(acu_driver_fault) */
    acu_driver_call call; /* which call, or ACU_CALL_ANY for any */
    uint64_t nth;         /* 1: the next one; 0 counts as 1 */
    bool from_then_on;    /* the n-th call and all after it; else the n-th only */
    unsigned result;      /* the result that it returns; 0: CUDA_ERROR_UNKNOWN */
} acu_driver_fault;

/*
 * From now on, in all threads, the n-th matching call through the table is not made, but returns
 * `result`. Replaces an earlier fault and restarts the count. May be set before the driver is
 * opened. Errors: INVALID (size, or a call that does not exist).
 */
ACU_API acu_status acu_driver_fail(const acu_driver_fault *fault);
/* End fault injection; the two counts below are kept. */
ACU_API void acu_driver_fail_clear(void);
/* Counts since the last acu_driver_fail: calls that were made to fail (hits), and all calls that
 * matched the one named in the fault (seen). */
ACU_API uint64_t acu_driver_fault_hits(void);
ACU_API uint64_t acu_driver_fault_seen(void);

ACU_END
#endif
