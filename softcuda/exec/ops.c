/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Operations by name, and the handlers that fit this CPU. The tables are filled once, when the
 * first module is loaded.
 */
#include "exec/ops.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "exec/lanes.h"

#define BIT4(n) 1u << (n), 2u << (n), 4u << (n), 8u << (n)
const uint32_t sx_bit[SX_LANES] = {BIT4(0),  BIT4(4),  BIT4(8),  BIT4(12),
                                   BIT4(16), BIT4(20), BIT4(24), BIT4(28)};

static const char *const names[SX_OP_COUNT] = {
#define SX_X(name) [SX_OP_##name] = #name,
    SX_LANE_OPS
#undef SX_X
#define X(name) [SX_OP_##name] = #name,
        SX_OPS_OTHER(X)
#undef X
};

static const sx_handler others[SX_OP_COUNT - SX_LANE_OP_COUNT] = {
#define X(name) [SX_OP_##name - SX_LANE_OP_COUNT] = sx_op_##name,
    SX_OPS_OTHER(X)
#undef X
};

/* Open addressing, with at least twice as many slots as operations. */
#define SLOTS 2048
_Static_assert(SX_OP_COUNT * 2 < SLOTS, "the table of names is large enough");

static uint16_t slots[SLOTS]; /* operation + 1; 0: free */
static const sx_handler *lane_handlers;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint32_t hash(const char *name)
{
    uint32_t h = 2166136261u;
    for (; *name; name++)
        h = (h ^ (uint8_t)*name) * 16777619u;
    return h ^ h >> 15;
}

/* A build can be limited to an older instruction set, to test what such CPUs run: isa.h. */
#ifndef SX_ISA_HIGHEST
#define SX_ISA_HIGHEST 2
#endif

static const sx_handler *choose_handlers(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (SX_ISA_HIGHEST >= 2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2"))
        return sx_handlers_avx2;
#endif
    return sx_handlers_base;
}

static void fill(void)
{
    lane_handlers = choose_handlers();
    for (unsigned op = 0; op < SX_OP_COUNT; op++) {
        uint32_t at = hash(names[op]) % SLOTS;
        while (slots[at])
            at = (at + 1) % SLOTS;
        slots[at] = (uint16_t)(op + 1);
    }
}

unsigned sx_op_find(const char *name)
{
    pthread_once(&once, fill);
    for (uint32_t at = hash(name) % SLOTS; slots[at]; at = (at + 1) % SLOTS)
        if (strcmp(names[slots[at] - 1], name) == 0)
            return slots[at] - 1u;
    return SX_OP_COUNT;
}

sx_handler sx_op_handler(unsigned op)
{
    pthread_once(&once, fill);
    return op < SX_LANE_OP_COUNT ? lane_handlers[op] : others[op - SX_LANE_OP_COUNT];
}
