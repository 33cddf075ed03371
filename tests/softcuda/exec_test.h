/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * For the tests of the executor itself, without a driver around it: a small device memory with
 * byte-exact allocations, modules from text, launches.
 */
#ifndef TESTS_SOFTCUDA_EXEC_TEST_H
#define TESTS_SOFTCUDA_EXEC_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/exec.h"

#define MEMORY_BASE UINT64_C(0x300000000000)
#define MEMORY_BYTES ((size_t)64 << 20)

/* One region; allocations are never reused, only given up, so a stale address stays one. */
static struct {
    char *host;
    uint16_t *valid;
    size_t used, live; /* live: allocations not freed */
    sx_region region;
    sx_space space;
    bool races; /* launches look for them */
} memory;

static inline int memory_setup(void **state)
{
    (void)state;
    memory.host = aligned_alloc(4096, MEMORY_BYTES);
    memory.valid = calloc(MEMORY_BYTES / SX_GRANULE, sizeof *memory.valid);
    if (!memory.host || !memory.valid)
        return -1;
    memory.region = (sx_region){MEMORY_BASE, MEMORY_BYTES, memory.host, memory.valid, NULL};
    memory.space = (sx_space){&memory.region, 1};
    return 0;
}

static inline int memory_teardown(void **state)
{
    (void)state;
    free(memory.host);
    free(memory.valid);
    return 0;
}

static inline uint64_t memory_alloc(void *owner, size_t bytes, size_t align)
{
    (void)owner, (void)align;
    const uint64_t at = memory.used;
    if (at + bytes + SX_GRANULE > MEMORY_BYTES)
        return 0;
    for (size_t n = 0; n < bytes; n += SX_GRANULE)
        memory.valid[(at + n) / SX_GRANULE] =
            (uint16_t)(bytes - n < SX_GRANULE ? bytes - n : SX_GRANULE);
    /* an unused granule behind each allocation */
    memory.used += (bytes + 2 * SX_GRANULE - 1) / SX_GRANULE * SX_GRANULE;
    memory.live++;
    memset(memory.host + at, 0, bytes);
    return MEMORY_BASE + at;
}

static inline void memory_free(void *owner, uint64_t address)
{
    (void)owner;
    for (size_t g = (address - MEMORY_BASE) / SX_GRANULE; memory.valid[g]; g++)
        memory.valid[g] = 0;
    memory.live--;
}

static inline char *memory_host(void *owner, uint64_t address)
{
    (void)owner;
    return memory.host + (address - MEMORY_BASE);
}

/* The host address of a device address. */
static inline void *at(uint64_t address)
{
    return memory_host(NULL, address);
}

static inline uint64_t alloc(size_t bytes)
{
    uint64_t address = memory_alloc(NULL, bytes, 256);
    assert_int_not_equal(address, 0);
    return address;
}

static inline unsigned try_load(const char *ptx, sx_module **module, sx_error *error)
{
    const sx_allocator allocator = {NULL, memory_alloc, memory_free, memory_host};
    return sx_module_load(ptx, strlen(ptx), &allocator, module, error);
}

static inline sx_module *load(const char *ptx)
{
    sx_module *module = NULL;
    sx_error error;
    if (try_load(ptx, &module, &error))
        fail_msg("%s", error.text);
    return module;
}

typedef struct launch_shape {
    unsigned grid[3], block[3];
    size_t shared;
} launch_shape;
#define LINE(blocks, threads) ((launch_shape){{blocks, 1, 1}, {threads, 1, 1}, 0})

static inline unsigned try_launch(const sx_module *module, const char *name, launch_shape shape,
                                  const void *params, sx_error *error)
{
    const sx_kernel *kernel = sx_module_kernel(module, name);
    if (!kernel)
        fail_msg("no kernel %s", name);
    sx_launch launch = {.kernel = kernel,
                        .dynamic_shared = shape.shared,
                        .params = params,
                        .space = memory.space,
                        .sm_count = 4,
                        .races = memory.races};
    memcpy(launch.grid, shape.grid, sizeof launch.grid);
    memcpy(launch.block, shape.block, sizeof launch.block);
    return sx_run(&launch, error);
}

static inline void launch(const sx_module *module, const char *name, launch_shape shape,
                          const void *params)
{
    sx_error error;
    if (try_launch(module, name, shape, params, &error))
        fail_msg("%s", error.text);
}

/* A launch that must fail with this code and this sentence. */
static inline void launch_fails(const sx_module *module, const char *name, launch_shape shape,
                                const void *params, unsigned code, const char *text)
{
    sx_error error = {0};
    unsigned result = try_launch(module, name, shape, params, &error);
    assert_string_equal(error.text, text);
    assert_int_equal(result, code);
    assert_int_equal(error.code, code);
}

#endif
