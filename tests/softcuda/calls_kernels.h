/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Random launches, and calls on functions, modules and contexts. */
#ifndef TESTS_SOFTCUDA_CALLS_KERNELS_H
#define TESTS_SOFTCUDA_CALLS_KERNELS_H

#include "softcuda/calls_world.h"

static CUfunction some_kernel(world *w, unsigned *which)
{
    const CUfunction kernels[] = {w->count, w->count, w->bounded, w->shared};
    *which = below(w, 4);
    return kernels[*which];
}

/* Mostly right; the wrong ones are wrong in one respect. */
typedef struct form {
    unsigned grid[3], block[3], shared;
} form;

static form some_form(world *w)
{
    form f = {{1 + below(w, 3), 1, 1}, {1 + below(w, 40), 1, 1}, 0};
    if (below(w, 4))
        return f;
    switch (below(w, 9)) {
    case 0:
        f.grid[below(w, 3)] = 0;
        break;
    case 1:
        f.block[below(w, 3)] = 0;
        break;
    case 2:
        f.block[0] = ONE_OF(w, 64, 65, 128, 1024, 1025);
        break;
    case 3:
        f.grid[1 + below(w, 2)] = 65536;
        break;
    case 4:
        f.block[2] = ONE_OF(w, 2, 64, 65);
        break;
    case 5:
        f.block[1] = ONE_OF(w, 2, 1024, 1025);
        break;
    case 6:
        f.shared = ONE_OF(w, 1024, 48128, 49152, 49153, 1u << 20, UINT32_MAX);
        break;
    case 7:
        f.grid[0] = 0x80000000u;
        break;
    default:
        f.grid[1 + below(w, 2)] = 2;
    }
    return f;
}

static void launch(world *w)
{
    unsigned k, c, v = 1 + below(w, 9);
    CUfunction kernel = some_kernel(w, &k);
    CUdeviceptr at = some_counter(w, &c);
    const unsigned n = some_stream(w);
    const form f = some_form(w);
    void *params[] = {&at, &v};
    if (rarely(w, 40))
        kernel = NULL;
    ask(w, "LaunchKernel k%u%s grid %u,%u,%u block %u,%u,%u shared %u s%u counter %u by %u", k,
        kernel ? "" : " (none)", f.grid[0], f.grid[1], f.grid[2], f.block[0], f.block[1],
        f.block[2], f.shared, n, c, v);
    told(w, w->cu->LaunchKernel(kernel, f.grid[0], f.grid[1], f.grid[2], f.block[0], f.block[1],
                                f.block[2], f.shared, w->streams[n], params, NULL));
}

/* Parameters as one packed buffer, or both ways, or none. */
static void launch_packed(world *w)
{
    struct {
        CUdeviceptr at;
        unsigned v;
    } packed;
    unsigned c;
    packed.at = some_counter(w, &c);
    packed.v = 1 + below(w, 9);
    size_t size = ONE_OF(w, 12, 12, 16, 8, 13);
    const unsigned n = some_stream(w), both = rarely(w, 5);
    void *params[] = {&packed.at, &packed.v};
    void *extra[] = {ACU_CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, ACU_CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &size, ACU_CU_LAUNCH_PARAM_END};
    if (size < 12 && !both)
        size = 12; /* what is missing is not defined */
    ask(w, "LaunchKernel packed, size %zu%s s%u", size, both ? " and parameters" : "", n);
    told(w, w->cu->LaunchKernel(w->count, 1, 1, 1, 1, 1, 1, 0, w->streams[n], both ? params : NULL,
                                extra));
}

static void launch_with(world *w)
{
    unsigned k, c, v = 1 + below(w, 9);
    CUfunction kernel = some_kernel(w, &k);
    CUdeviceptr at = some_counter(w, &c);
    const unsigned n = some_stream(w);
    const form f = some_form(w);
    void *params[] = {&at, &v};
    acu_CUlaunchAttribute attribute = {.id = ONE_OF(w, 0, 2, 6, 8, 77)};
    acu_CUlaunchConfig config = {f.grid[0],  f.grid[1], f.grid[2],     f.block[0], f.block[1],
                                 f.block[2], f.shared,  w->streams[n], &attribute, below(w, 2)};
    if (attribute.id == 2) { /* with too much shared memory the error may be either of two */
        attribute.value.cooperative = 1;
        config.sharedMemBytes = 0;
    }
    if (attribute.id == 8)
        attribute.value.priority = -(int)below(w, 3);
    ask(w, "LaunchKernelEx k%u grid %u,%u,%u block %u,%u,%u shared %u s%u attribute %d", k,
        f.grid[0], f.grid[1], f.grid[2], f.block[0], f.block[1], f.block[2], f.shared, n,
        config.numAttrs ? (int)attribute.id : -1);
    told(w, w->cu->LaunchKernelEx(&config, kernel, params, NULL));
}

static void launch_together(world *w)
{
    unsigned c, v = 1;
    CUdeviceptr at = some_counter(w, &c);
    const unsigned n = some_stream(w), grid = ONE_OF(w, 1, 2, 1u << 20);
    void *params[] = {&at, &v};
    ask(w, "LaunchCooperativeKernel grid %u s%u", grid, n);
    told(w,
         w->cu->LaunchCooperativeKernel(w->count, grid, 1, 1, 32, 1, 1, 0, w->streams[n], params));
}

static void ask_function(world *w)
{
    unsigned k;
    CUfunction kernel = some_kernel(w, &k);
    if (rarely(w, 4)) {
        k = 9;
        kernel = w->many;
    }
    int value = 0;
    size_t offset = 0, size = 0;
    const char *name = NULL;
    CUmodule module = NULL;
    switch (below(w, 5)) {
    case 0: {
        const unsigned attribute = ONE_OF(w, 0, 1, 3, 8, 9, 10, 14, 16, 99);
        ask(w, "FuncGetAttribute %u of k%u", attribute, k);
        if (told(w, w->cu->FuncGetAttribute(&value, attribute, kernel)))
            gave(w, (unsigned long long)value + 10);
        break;
    }
    case 1: {
        /* Not 9: a preference for shared memory or none changes what occupancy calls say. */
        const unsigned attribute = ONE_OF(w, 8, 8, 8, 8, 0, 4, 14, 99);
        const unsigned to = ONE_OF(w, 0, 1024, 49152, 100, 101, 60000, 231424, 232448, 1u << 20);
        ask(w, "FuncSetAttribute %u of k%u to %u", attribute, k, to);
        told(w, w->cu->FuncSetAttribute(kernel, attribute, (int)to));
        break;
    }
    case 2: {
        const unsigned index = below(w, 7);
        ask(w, "FuncGetParamInfo %u of k%u", index, k);
        if (told(w, w->cu->FuncGetParamInfo(kernel, index, &offset, &size))) {
            gave(w, offset);
            gave(w, size);
        }
        break;
    }
    case 3:
        ask(w, "FuncGetName k%u", k);
        if (told(w, w->cu->FuncGetName(&name, kernel)))
            gave(w, (unsigned char)name[0]);
        break;
    default:
        ask(w, "FuncGetModule k%u", k);
        if (told(w, w->cu->FuncGetModule(&module, kernel)))
            gave(w, module == w->module);
    }
}

static void ask_occupancy(world *w)
{
    unsigned k;
    CUfunction kernel = some_kernel(w, &k);
    const int block = (int)ONE_OF(w, 32, 64, 1024, 0, 1025, 96);
    const size_t shared = ONE_OF(w, 0, 1024, 49152, 60000, 1u << 20);
    const unsigned flags = ONE_OF(w, 0, 0, 1, 8);
    int blocks = 0, grid = 0, size = 0;
    size_t room = 0;
    switch (below(w, 3)) {
    case 0:
        ask(w, "OccupancyMaxActiveBlocks k%u block %d shared %zu flags %u", k, block, shared,
            flags);
        if (told(w, w->cu->OccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
                        &blocks, kernel, block, shared, flags)))
            gave(w, (unsigned)blocks);
        break;
    case 1:
        ask(w, "OccupancyMaxPotentialBlockSize k%u shared %zu limit %d", k, shared, block);
        if (told(w,
                 w->cu->OccupancyMaxPotentialBlockSize(&grid, &size, kernel, NULL, shared, block)))
            gave(w, (unsigned)size);
        break;
    default:
        blocks = (int)below(w, 5);
        ask(w, "OccupancyAvailableDynamicSMemPerBlock k%u blocks %d block %d", k, blocks, block);
        if (told(w, w->cu->OccupancyAvailableDynamicSMemPerBlock(&room, kernel, blocks, block)))
            gave(w, room);
    }
}

static void ask_module(world *w)
{
    CUfunction function = NULL;
    CUdeviceptr at = 0;
    size_t size = 0;
    CUmodule module = NULL;
    const unsigned kind = below(w, 6);
    ask(w, "Module: kind %u", kind);
    switch (kind) {
    case 0:
        told(w, w->cu->ModuleGetFunction(&function, w->module, "none"));
        break;
    case 1:
        told(w, w->cu->ModuleGetFunction(&function, w->module, "count"));
        break;
    case 2:
        if (told(w, w->cu->ModuleGetGlobal(&at, &size, w->module, "numbers")))
            gave(w, size);
        break;
    case 3:
        told(w, w->cu->ModuleGetGlobal(&at, &size, w->module, "count"));
        break;
    case 4:
        told(w, w->cu->ModuleLoadData(&module, "not a module"));
        break;
    default:
        told(w, w->cu->ModuleGetFunction(&function, NULL, "count"));
    }
}

static void use_context(world *w)
{
    CUcontext ctx = NULL;
    CUdevice device = 77;
    unsigned flags = 77;
    size_t limit = 0;
    const unsigned kind = below(w, 8);
    ask(w, "Context: kind %u", kind);
    switch (kind) {
    case 0:
        if (told(w, w->cu->CtxPopCurrent(&ctx)))
            gave(w, ctx == w->context);
        break;
    case 1:
        told(w, w->cu->CtxPushCurrent(w->context));
        break;
    case 2:
        if (told(w, w->cu->CtxGetCurrent(&ctx)))
            gave(w, ctx ? ctx == w->context : 7);
        break;
    case 3:
        if (told(w, w->cu->CtxGetDevice(&device)))
            gave(w, (unsigned)device);
        break;
    case 4:
        told(w, w->cu->CtxSynchronize());
        break;
    case 5:
        if (told(w, w->cu->CtxGetFlags(&flags)))
            gave(w, flags & ACU_CU_CTX_SCHED_MASK); /* the rest is the driver's own business */
        break;
    case 6:
        told(w, w->cu->CtxGetLimit(&limit, ONE_OF(w, 0, 1, 2, 99)));
        break;
    default:
        told(w, w->cu->CtxSetCurrent(rarely(w, 2) ? NULL : w->context));
    }
}

#endif
