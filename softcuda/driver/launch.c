/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Launches: they are checked, and their parameters copied, at once; they execute in stream
 * order. */
#include "driver/launch.h"

#include "driver/capture.h"
#include "driver/errors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct launch_work {
    sd_work work;
    sd_function *function; /* held, and with it its module */
    unsigned grid[3], block[3];
    size_t dynamic;
    bool cooperative;           /* its blocks may wait for each other */
    bool clustered;             /* a graph node's attribute: clusters, of one block each */
    int priority;               /* a graph node's attribute; it has no effect here */
    _Alignas(16) char params[]; /* as many bytes as the kernel's parameter block has */
} launch_work;

/* ---- running ---- */

static unsigned run_launch(sd_stream *stream, sd_work *work)
{
    launch_work *launch = (launch_work *)work;
    sd_context *context = stream->object.context;
    sd_snapshot *space = sd_context_space(context);
    if (!space) {
        sd_error_say("there was no memory to start kernel %s",
                     sx_kernel_name(launch->function->kernel));
        return ACU_CUDA_ERROR_LAUNCH_FAILED;
    }
    sx_launch run = {.kernel = launch->function->kernel,
                     .dynamic_shared = launch->dynamic,
                     .params = launch->params,
                     .space = {space->regions, space->count},
                     .sm_count = context->device->sm_count,
                     .stop = &context->stop,
                     .cooperative = launch->cooperative,
                     .races = sd.races};
    memcpy(run.grid, launch->grid, sizeof run.grid);
    memcpy(run.block, launch->block, sizeof run.block);
    sx_error error = {0};
    unsigned result = sx_run(&run, &error);
    sd_snapshot_put(space);
    /* A kernel that was stopped because another one failed has nothing to report. */
    if (result && !atomic_load_explicit(&context->stop, memory_order_relaxed))
        sd_error_say("%s", error.text);
    /* A failure that is no kernel fault must not look like a call's error. */
    return result && result < ACU_CUDA_ERROR_ILLEGAL_ADDRESS ? ACU_CUDA_ERROR_LAUNCH_FAILED
                                                             : result;
}

static void drop_launch(sd_work *work)
{
    sd_object_put(&((launch_work *)work)->function->object);
}

static void tell_launch(const sd_work *work, char *text, size_t bytes)
{
    const launch_work *launch = (const launch_work *)work;
    snprintf(text, bytes, "%s<<<%ux%ux%u, %ux%ux%u>>>", sx_kernel_name(launch->function->kernel),
             launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0], launch->block[1],
             launch->block[2]);
}

static sd_work *clone_launch(const sd_work *work)
{
    const launch_work *launch = (const launch_work *)work;
    size_t bytes = sizeof *launch + launch->function->info->param_bytes;
    launch_work *clone = malloc(bytes);
    if (!clone)
        return NULL;
    memcpy(clone, launch, bytes);
    sd_object_hold(&clone->function->object);
    return &clone->work;
}

static const sd_work_kind launch_kind = {.name = "launch",
                                         .run = run_launch,
                                         .drop = drop_launch,
                                         .tell = tell_launch,
                                         .clone = clone_launch,
                                         .node_type = ACU_CU_GRAPH_NODE_TYPE_KERNEL};

const char *sd_launch_kernel(const sd_work *work)
{
    return work->kind == &launch_kind
               ? sx_kernel_name(((const launch_work *)work)->function->kernel)
               : NULL;
}

/* ---- checking ---- */

/* Whether all blocks fit at once. */
static bool has_room(const sd_function *function, const unsigned *grid, unsigned threads,
                     size_t dynamic)
{
    uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    return blocks <= (uint64_t)sd_function_blocks(function, threads, dynamic) *
                         function->object.context->device->sm_count;
}

static unsigned check_shape(const sd_function *function, const sd_request *r)
{
    const sx_kernel_info *info = function->info;
    const unsigned grid_most[3] = {0x7fffffff, 65535, 65535};
    const unsigned block_most[3] = {1024, 1024, 64};
    for (int i = 0; i < 3; i++)
        if (!r->grid[i] || r->grid[i] > grid_most[i] || !r->block[i] ||
            r->block[i] > block_most[i] ||
            (info->required[0] && r->block[i] != (info->required[i] ? info->required[i] : 1)))
            return ACU_CUDA_ERROR_INVALID_VALUE;
    unsigned threads = r->block[0] * r->block[1] * r->block[2];
    if (threads > 1024 || threads > info->max_threads)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    if (r->cooperative && !has_room(function, r->grid, threads, r->dynamic))
        return ACU_CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    int dynamic = atomic_load_explicit(&function->max_dynamic, memory_order_relaxed);
    return r->dynamic > (size_t)dynamic ? ACU_CUDA_ERROR_INVALID_VALUE : ACU_CUDA_SUCCESS;
}

/* Finds the packed buffer, and its size, among the `extra` arguments. */
static unsigned read_extra(void **extra, const void **buffer, size_t *bytes)
{
    *buffer = NULL;
    *bytes = 0;
    for (; *extra != ACU_CU_LAUNCH_PARAM_END; extra += 2) {
        if (!extra[1])
            return ACU_CUDA_ERROR_INVALID_VALUE;
        if (*extra == ACU_CU_LAUNCH_PARAM_BUFFER_POINTER)
            *buffer = extra[1];
        else if (*extra == ACU_CU_LAUNCH_PARAM_BUFFER_SIZE)
            memcpy(bytes, extra[1], sizeof *bytes);
        else
            return ACU_CUDA_ERROR_INVALID_VALUE;
    }
    return ACU_CUDA_SUCCESS;
}

static unsigned copy_params(const sx_kernel_info *info, const sd_request *r, char *to)
{
    if (r->extra) {
        const void *buffer;
        size_t bytes;
        unsigned result =
            r->params ? ACU_CUDA_ERROR_INVALID_VALUE : read_extra(r->extra, &buffer, &bytes);
        if (result)
            return result;
        size_t last = info->param_count ? info->params[info->param_count - 1].offset +
                                              info->params[info->param_count - 1].bytes
                                        : 0;
        if (bytes < last || (last && !buffer))
            return ACU_CUDA_ERROR_INVALID_VALUE;
        if (bytes > last)
            return ACU_CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
        if (last)
            memcpy(to, buffer, last);
        return ACU_CUDA_SUCCESS;
    }
    if (info->param_count && !r->params)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < info->param_count; i++) {
        if (!r->params[i])
            return ACU_CUDA_ERROR_INVALID_VALUE;
        memcpy(to + info->params[i].offset, r->params[i], info->params[i].bytes);
    }
    return ACU_CUDA_SUCCESS;
}

/* ---- attributes of a graph's nodes ---- */

/* Whether the attribute is a hint, which does not affect results. */
static bool is_hint(unsigned id)
{
    return id == ACU_CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW ||
           id == ACU_CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE ||
           id == ACU_CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP ||
           id == ACU_CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN ||
           id == ACU_CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
}

/* Whether a cluster is one block; larger ones do not exist here, where blocks run alone. */
static bool is_one_block(const acu_CUlaunchAttributeValue *value)
{
    return value->clusterDim.x == 1 && value->clusterDim.y == 1 && value->clusterDim.z == 1;
}

unsigned sd_launch_set_attribute(sd_work *work, unsigned id,
                                 const acu_CUlaunchAttributeValue *value)
{
    launch_work *launch = (launch_work *)work;
    bool known = is_hint(id);
    if (id == ACU_CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
        launch->cooperative = value->cooperative != 0;
        known = true;
    } else if (id == ACU_CU_LAUNCH_ATTRIBUTE_PRIORITY) {
        launch->priority = value->priority;
        known = true;
    } else if (id == ACU_CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
        known = is_one_block(value);
        launch->clustered |= known;
    }
    return known ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_INVALID_VALUE;
}

unsigned sd_launch_get_attribute(const sd_work *work, unsigned id,
                                 acu_CUlaunchAttributeValue *value)
{
    const launch_work *launch = (const launch_work *)work;
    memset(value, 0, sizeof *value);
    if (id == ACU_CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
        value->cooperative = launch->cooperative;
    else if (id == ACU_CU_LAUNCH_ATTRIBUTE_PRIORITY)
        value->priority = launch->priority;
    else if (id == ACU_CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
        value->clusterDim.x = value->clusterDim.y = value->clusterDim.z = launch->clustered;
    else
        return is_hint(id) ? ACU_CUDA_ERROR_NOT_SUPPORTED : ACU_CUDA_ERROR_INVALID_VALUE;
    return ACU_CUDA_SUCCESS;
}

static const launch_work *launch_of(const sd_work *work)
{
    return work && work->kind == &launch_kind ? (const launch_work *)work : NULL;
}

void sd_launch_keep_attributes(sd_work *work, const sd_work *from)
{
    launch_work *launch = (launch_work *)work;
    if (launch_of(work) && launch_of(from)) {
        launch->cooperative = launch_of(from)->cooperative;
        launch->clustered = launch_of(from)->clustered;
        launch->priority = launch_of(from)->priority;
    }
}

bool sd_launch_is_alike(const sd_work *a, const sd_work *b, bool by_priority)
{
    const launch_work *one = launch_of(a), *other = launch_of(b);
    return !one || !other ||
           (one->cooperative == other->cooperative &&
            (!by_priority || one->priority == other->priority));
}

bool sd_launch_fits(const sd_work *work)
{
    const launch_work *launch = launch_of(work);
    return !launch || !launch->cooperative ||
           has_room(launch->function, launch->grid,
                    launch->block[0] * launch->block[1] * launch->block[2], launch->dynamic);
}

/* ---- issuing ---- */

unsigned sd_launch_make(sd_function *function, const sd_request *r, sd_work **work)
{
    unsigned result = check_shape(function, r);
    if (result)
        return result;
    const sx_kernel_info *info = function->info;
    launch_work *launch = malloc(sizeof *launch + info->param_bytes);
    if (!launch)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    memset(launch, 0, sizeof *launch + info->param_bytes);
    result = copy_params(info, r, launch->params);
    if (result) {
        free(launch);
        return result;
    }
    launch->work.kind = &launch_kind;
    launch->function = function;
    sd_object_hold(&function->object);
    memcpy(launch->grid, r->grid, sizeof launch->grid);
    memcpy(launch->block, r->block, sizeof launch->block);
    launch->dynamic = r->dynamic;
    launch->cooperative = r->cooperative;
    *work = &launch->work;
    return ACU_CUDA_SUCCESS;
}

static unsigned issue_on(sd_function *function, sd_stream *stream, const sd_request *r)
{
    if (stream->object.context != function->object.context)
        return ACU_CUDA_ERROR_INVALID_HANDLE;
    sd_work *work;
    unsigned result = sd_launch_make(function, r, &work);
    return result ? result : sd_stream_push(stream, work);
}

static unsigned issue(CUfunction handle, CUstream on, const sd_request *r)
{
    SD_STREAM(stream, on);
    __attribute__((cleanup(sd_function_leave))) sd_function *function = NULL;
    unsigned result = sd_function_find(context, handle, &function);
    return result ? result : sd_capture_told(stream, issue_on(function, stream, r));
}

unsigned sd_cuLaunchKernel(CUfunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                           unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                           CUstream on, void **params, void **extra)
{
    sd_request r = {
        {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, false, params, extra};
    return issue(handle, on, &r);
}

unsigned sd_cuLaunchCooperativeKernel(CUfunction handle, unsigned grid_x, unsigned grid_y,
                                      unsigned grid_z, unsigned block_x, unsigned block_y,
                                      unsigned block_z, unsigned shared, CUstream on, void **params)
{
    sd_request r = {
        {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, true, params, NULL};
    return issue(handle, on, &r);
}

#define LAST_ATTRIBUTE 16 /* of CUDA 13.0 */

/* Reads attributes: those that change a launch's meaning are obeyed or refused; hints are
 * ignored. */
static unsigned read_attributes(const acu_CUlaunchConfig *config, sd_request *r)
{
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const acu_CUlaunchAttribute *a = &config->attrs[i];
        if (a->id > LAST_ATTRIBUTE)
            return ACU_CUDA_ERROR_INVALID_VALUE;
        if (a->id == ACU_CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
            r->cooperative = a->value.cooperative != 0;
        if (a->id == ACU_CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION &&
            (a->value.clusterDim.x > 1 || a->value.clusterDim.y > 1 || a->value.clusterDim.z > 1))
            return ACU_CUDA_ERROR_INVALID_CLUSTER_SIZE;
        if (a->id == ACU_CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT ||
            a->id == ACU_CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
            return ACU_CUDA_ERROR_NOT_SUPPORTED;
    }
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuLaunchKernelEx(const acu_CUlaunchConfig *config, CUfunction handle, void **params,
                             void **extra)
{
    SD_ENTER();
    if (!config || (config->numAttrs && !config->attrs))
        return ACU_CUDA_ERROR_INVALID_VALUE;
    sd_request r = {{config->gridDimX, config->gridDimY, config->gridDimZ},
                    {config->blockDimX, config->blockDimY, config->blockDimZ},
                    config->sharedMemBytes,
                    false,
                    params,
                    extra};
    SD_STREAM(stream, config->hStream);
    unsigned result = read_attributes(config, &r);
    return result ? result : issue(handle, config->hStream, &r);
}
