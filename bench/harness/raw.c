/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Launches of mix by the driver's own calls (raw.h). */
#include "raw.h"

#include <stdlib.h>

CUstream raw_stream(const bench *b)
{
    CUstream stream;
    MUST_CU(b->cu->StreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING));
    return stream;
}

static CUfunction function_of(const mix *m)
{
    return acu_kernel_raw(m->ticks ? m->slow : m->fast);
}

void raw_launch(const mix *m, CUstream stream, CUfunction function, mix_args *args)
{
    MUST_CU(m->b->cu->LaunchKernel(function, MIX_N / MIX_BLOCK, 1, 1, MIX_BLOCK, 1, 1, 0, stream,
                                   args->params, NULL));
}

void raw_chain(const mix *m, CUstream stream, int y, uint32_t ticket, int count)
{
    CUfunction function = function_of(m);
    mix_args args;
    for (int i = 0; i < count; i++) {
        mix_fill(m, &args, y, ticket, i);
        raw_launch(m, stream, function, &args);
    }
}

static acu_CUDA_KERNEL_NODE_PARAMS_v1 node_of(CUfunction function, mix_args *args)
{
    return (acu_CUDA_KERNEL_NODE_PARAMS_v1){.func = function,
                                            .gridDimX = MIX_N / MIX_BLOCK,
                                            .gridDimY = 1,
                                            .gridDimZ = 1,
                                            .blockDimX = MIX_BLOCK,
                                            .blockDimY = 1,
                                            .blockDimZ = 1,
                                            .kernelParams = args->params};
}

raw_exec raw_exec_make(const mix *m, int chains, int length)
{
    raw_exec e = {.function = function_of(m), .chains = chains, .length = length};
    mix_args args;
    mix_fill(m, &args, 0, 0, 0);
    acu_CUDA_KERNEL_NODE_PARAMS_v1 params = node_of(e.function, &args);
    e.nodes = calloc((size_t)(chains * length), sizeof(CUgraphNode));
    if (!e.nodes)
        bench_die("no memory");
    MUST_CU(m->b->cu->GraphCreate(&e.graph, 0));
    for (int i = 0; i < chains * length; i++) {
        bool first = i % length == 0;
        MUST_CU(m->b->cu->GraphAddKernelNode(&e.nodes[i], e.graph, first ? NULL : &e.nodes[i - 1],
                                             first ? 0 : 1, &params));
    }
    MUST_CU(m->b->cu->GraphInstantiateWithFlags(&e.exec, e.graph, 0));
    CUstream stream = raw_stream(m->b);
    MUST_CU(m->b->cu->GraphUpload(e.exec, stream));
    MUST_CU(m->b->cu->StreamDestroy(stream));
    return e;
}

void raw_exec_set(const mix *m, const raw_exec *e, int chain, int y, uint32_t ticket)
{
    mix_args args;
    acu_CUDA_KERNEL_NODE_PARAMS_v1 params = node_of(e->function, &args);
    for (int i = 0; i < e->length; i++) {
        mix_fill(m, &args, y, ticket, i);
        MUST_CU(m->b->cu->GraphExecKernelNodeSetParams(e->exec, e->nodes[chain * e->length + i],
                                                       &params));
    }
}

void raw_exec_launch(const mix *m, const raw_exec *e, CUstream stream)
{
    MUST_CU(m->b->cu->GraphLaunch(e->exec, stream));
}

void raw_exec_destroy(const mix *m, raw_exec *e)
{
    MUST_CU(m->b->cu->GraphExecDestroy(e->exec));
    MUST_CU(m->b->cu->GraphDestroy(e->graph));
    free(e->nodes);
}
