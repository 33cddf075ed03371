/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Random sequences of driver calls: the objects that they work on, and the record of the answers.
 *
 * A seed decides everything about a sequence: the calls, their handles and their arguments, wrong
 * ones included. Cases that CUDA does not define are left out: destroyed handles, memory that does
 * not exist. The work only adds to counters, so its order does not change the sums at the end.
 * Whether work is ready does not count, only whether asking is allowed.
 */
#ifndef TESTS_SOFTCUDA_CALLS_WORLD_H
#define TESTS_SOFTCUDA_CALLS_WORLD_H

#include "softcuda/driver_test.h"

#include <stdatomic.h>

enum {
    STREAMS = 7, /* NULL, the legacy one's and the thread's own handle, and those that are made */
    STREAMS_GIVEN = 3,
    EVENTS = 4,
    GRAPHS = 4,
    NODES = 10, /* of a graph */
    EXECS = 3,
    BLOCKS = 3, /* of memory, of each kind */
    POOLS = 2,
    COUNTERS = 16,
    SCRATCH = 65536,
};

typedef struct known_graph {
    CUgraph graph; /* NULL: not there */
    CUgraphNode nodes[NODES];
    unsigned types[NODES];
    unsigned count;
    unsigned life; /* of the graph; an executable one remembers it */
} known_graph;

typedef struct known_exec {
    CUgraphExec exec;
    unsigned graph, life;
} known_exec;

typedef struct world {
    const acu_driver_table *cu;
    CUcontext context;
    CUmodule module;
    CUfunction count, bounded, many, shared;
    uint64_t chance;
    CUstream streams[STREAMS]; /* NULL: not there, but for the first */
    CUevent events[EVENTS];
    known_graph graphs[GRAPHS];
    known_exec execs[EXECS];
    unsigned lives;
    CUdeviceptr counters, scratch, zeros;
    uint8_t *pinned;
    CUdeviceptr blocks[BLOCKS], ordered[BLOCKS];
    void *host_blocks[BLOCKS];
    CUmemoryPool pools[POOLS];
    bool registered;
    unsigned step;
    FILE *report;
    /* What each call answered: "." success, else " " and the result; ":3,7" what it gave. */
    char answers[1 << 14];
    size_t length;
    unsigned given; /* by the last call */
} world;

static uint8_t pageable[SCRATCH];
static _Alignas(4096) uint8_t registrable[4 * 4096];
static _Atomic unsigned host_counters[COUNTERS];

static const char calls_ptx[] =
    ".version 6.3\n.target sm_60\n.address_size 64\n"
    ".visible .entry count(.param .u64 count_p, .param .u32 count_v)\n{\n"
    "    .reg .b32 %r<2>;\n    .reg .b64 %rd<3>;\n"
    "    ld.param.u64 %rd1, [count_p];\n    ld.param.u32 %r1, [count_v];\n"
    "    cvta.to.global.u64 %rd2, %rd1;\n    red.global.add.u32 [%rd2], %r1;\n    ret;\n}\n"
    ".visible .entry bounded(.param .u64 bounded_p, .param .u32 bounded_v)\n"
    ".maxntid 64, 1, 1\n{\n"
    "    .reg .b32 %r<2>;\n    .reg .b64 %rd<3>;\n"
    "    ld.param.u64 %rd1, [bounded_p];\n    ld.param.u32 %r1, [bounded_v];\n"
    "    cvta.to.global.u64 %rd2, %rd1;\n    red.global.add.u32 [%rd2], %r1;\n    ret;\n}\n"
    ".visible .entry many(.param .u8 many_a, .param .u64 many_b, .param .u32 many_c,\n"
    "    .param .align 4 .b8 many_d[12], .param .u16 many_e)\n{\n    ret;\n}\n"
    ".visible .entry shared(.param .u64 shared_p, .param .u32 shared_v)\n{\n"
    "    .shared .align 4 .b8 here[1024];\n"
    "    .reg .b32 %r<3>;\n    .reg .b64 %rd<3>;\n"
    "    ld.param.u64 %rd1, [shared_p];\n    ld.param.u32 %r1, [shared_v];\n"
    "    st.volatile.shared.u32 [here], %r1;\n    ld.volatile.shared.u32 %r2, [here];\n"
    "    cvta.to.global.u64 %rd2, %rd1;\n    red.global.add.u32 [%rd2], %r2;\n    ret;\n}\n"
    ".visible .global .align 4 .u32 numbers[3] = {5, 6, 7};\n";

/* ---- chance ---------------------------------------------------------------------------------- */

static unsigned below(world *w, unsigned end)
{
    w->chance = w->chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t x = w->chance ^ w->chance >> 31;
    return (unsigned)((x * UINT64_C(0x9e3779b97f4a7c15) >> 33) % end);
}

/* Once in so many times. */
static bool rarely(world *w, unsigned times)
{
    return below(w, times) == 0;
}

#define ONE_OF(w, ...) \
    ((const unsigned[]){__VA_ARGS__})[below( \
        w, (unsigned)(sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned)))]

/* ---- the record ------------------------------------------------------------------------------ */

__attribute__((format(printf, 2, 3))) static void ask(world *w, const char *format, ...)
{
    if (!w->report)
        return;
    va_list arguments;
    va_start(arguments, format);
    fprintf(w->report, "  %u ", w->step);
    vfprintf(w->report, format, arguments);
    fflush(w->report); /* a call may be the last one */
    va_end(arguments);
}

/* Records the result of a call. "Not ready" counts as success. */
static bool told(world *w, unsigned result)
{
    if (result == ACU_CUDA_ERROR_NOT_READY)
        result = ACU_CUDA_SUCCESS;
    if (result)
        w->length +=
            (size_t)snprintf(w->answers + w->length, sizeof w->answers - w->length, " %u", result);
    else
        w->answers[w->length++] = '.';
    if (w->report)
        fprintf(w->report, " = %u\n", result);
    w->given = 0;
    w->step++;
    return result == ACU_CUDA_SUCCESS;
}

/* Records a value that a call returned; called after told. */
static void gave(world *w, unsigned long long value)
{
    w->length += (size_t)snprintf(w->answers + w->length, sizeof w->answers - w->length, "%c%llu",
                                  w->given++ ? ',' : ':', value);
    if (w->report)
        fprintf(w->report, "      gave %llu\n", value);
}

/* ---- handles --------------------------------------------------------------------------------- */

static unsigned some_stream(world *w)
{
    for (;;) {
        unsigned n = below(w, 3) ? STREAMS_GIVEN + below(w, STREAMS - STREAMS_GIVEN)
                                 : below(w, STREAMS_GIVEN);
        if (n < STREAMS_GIVEN || w->streams[n])
            return n;
    }
}

/* A random place, which may be empty; an empty place is passed as NULL. */
static unsigned some(world *w, unsigned places)
{
    return below(w, places);
}

static CUdeviceptr some_counter(world *w, unsigned *n)
{
    *n = below(w, COUNTERS);
    return w->counters + 4 * *n;
}

#endif
