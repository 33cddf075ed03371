/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Host functions: code of the program that runs in stream order, on threads that do nothing else.
 * One that blocks holds up only its own stream.
 */
#include "driver/graph.h"

#include <stdlib.h>
#include <string.h>

typedef struct host_work {
    sd_work work;
    CUhostFn function;           /* or, from cuStreamAddCallback: */
    sd_stream_callback callback; /* gets the stream and the context's state */
    CUstream stream;
    void *user_data;
} host_work;

static unsigned run_host(sd_stream *stream, sd_work *work)
{
    host_work *host = (host_work *)work;
    sd_thread_in_host_function(true);
    if (host->function)
        host->function(host->user_data);
    else
        host->callback(host->stream, sd_context_state(stream->object.context), host->user_data);
    sd_thread_in_host_function(false);
    return ACU_CUDA_SUCCESS;
}

static sd_work *clone_host(const sd_work *work)
{
    host_work *clone = malloc(sizeof *clone);
    if (!clone)
        return NULL;
    memcpy(clone, work, sizeof *clone);
    return &clone->work;
}

static const sd_work_kind host_kind = {.name = "host function",
                                       .run = run_host,
                                       .clone = clone_host,
                                       .node_type = ACU_CU_GRAPH_NODE_TYPE_HOST,
                                       .on_host = true};

/* Old-style callbacks also run in a faulted context, and are told of the fault. */
static const sd_work_kind callback_kind = {
    .name = "stream callback", .run = run_host, .on_host = true, .always = true};

unsigned sd_host_make(const acu_CUDA_HOST_NODE_PARAMS *p, sd_work **work)
{
    if (!p->fn)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    host_work *host = calloc(1, sizeof *host);
    if (!host || !sd_workers_start(&sd.host_workers)) {
        free(host);
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    }
    host->work.kind = &host_kind;
    host->function = p->fn;
    host->user_data = p->userData;
    *work = &host->work;
    return ACU_CUDA_SUCCESS;
}

static unsigned issue(CUstream on, host_work what)
{
    if (!what.function && !what.callback)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    SD_STREAM(stream, on);
    host_work *work = malloc(sizeof *work);
    if (!work || !sd_workers_start(&sd.host_workers)) {
        free(work);
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    }
    *work = what;
    return sd_stream_push(stream, &work->work);
}

unsigned sd_cuLaunchHostFunc(CUstream on, CUhostFn function, void *user_data)
{
    return issue(
        on, (host_work){.work.kind = &host_kind, .function = function, .user_data = user_data});
}

/* `sync_mode` says how the driver's thread should wait; it does not change the meaning. */
unsigned sd_cuLaunchHostFunc_v2(CUstream on, CUhostFn function, void *user_data, unsigned sync_mode)
{
    if (sync_mode > 1)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    return sd_cuLaunchHostFunc(on, function, user_data);
}

unsigned sd_cuStreamAddCallback(CUstream on, sd_stream_callback callback, void *user_data,
                                unsigned flags)
{
    if (flags)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    return issue(on, (host_work){.work.kind = &callback_kind,
                                 .callback = callback,
                                 .stream = on,
                                 .user_data = user_data});
}
