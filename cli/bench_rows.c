/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* acuda bench: what is measured, each thing by acuda and by the driver's own calls. */
#include "bench.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

extern const char bench_ptx[];

enum {
    CHAIN = 10,            /* kernels of a longer submission */
    QUEUED = 100,          /* submissions behind each other */
    SMALL = 4096,          /* bytes of a small copy */
    LARGE = 64 << 20,      /* of a large one; on the software device: */
    LARGE_SOFTWARE = 4 << 20,
    LONG_US = 200          /* what the kernel that is waited for takes, about */
};

static double now_us(void)
{
    return (double)acu_now() / 1e3;
}

static double gigabytes(size_t bytes, double us)
{
    return (double)bytes / us / 1e3;
}

/* ---- kernels ---- */

static acu_op *launch(bench *b, unsigned rounds)
{
    b->expected++;
    return acu_launch(b->kernel, ACU_GRID_BLOCK(1, 1, 1, 32, 1, 1), acu_inout(b->counter),
                      acu_u32(rounds));
}

static bool launch_raw(bench *b, unsigned rounds)
{
    CUdeviceptr counter = acu_tensor_address(b->counter);
    void *args[] = {&counter, &rounds};
    b->expected++;
    return b->cu->LaunchKernel(acu_kernel_raw(b->kernel), 1, 1, 1, 32, 1, 1, 0, b->stream, args,
                               NULL) == 0;
}

static bool wait_raw(bench *b)
{
    return b->cu->StreamSynchronize(b->stream) == 0;
}

static bool sync_op(bench *b, acu_op *op, double *us)
{
    double start = now_us();
    bool right = acu_sync(b->device, op, NULL) == ACU_OK;
    *us = now_us() - start;
    return right;
}

static bool one_acuda(bench *b, double *us)
{
    double start = now_us();
    bool right = acu_sync(b->device, launch(b, 0), NULL) == ACU_OK;
    *us = now_us() - start;
    return right;
}

static bool one_raw(bench *b, double *us)
{
    double start = now_us();
    bool right = launch_raw(b, 0) && wait_raw(b);
    *us = now_us() - start;
    return right;
}

static bool queued_acuda(bench *b, double *us)
{
    bool right = true;
    double start = now_us();
    for (int i = 0; i < QUEUED && right; i++)
        right = acu_submit(b->device, launch(b, 0), NULL, NULL) == ACU_OK;
    *us = (now_us() - start) / QUEUED;
    return right && acu_device_wait(b->device, ACU_FOREVER) == ACU_OK;
}

static bool queued_raw(bench *b, double *us)
{
    bool right = true;
    double start = now_us();
    for (int i = 0; i < QUEUED && right; i++)
        right = launch_raw(b, 0);
    *us = (now_us() - start) / QUEUED;
    return right && wait_raw(b);
}

static acu_op *chain(bench *b)
{
    acu_op *op = launch(b, 0);
    for (int i = 1; i < CHAIN; i++) {
        b->expected++;
        op = acu_launch(b->kernel, ACU_GRID_BLOCK(1, 1, 1, 32, 1, 1), acu_inout(acu_first(op)),
                        acu_u32(0));
    }
    return op;
}

static bool chain_acuda(bench *b, double *us)
{
    double start = now_us();
    bool right = acu_sync(b->device, chain(b), NULL) == ACU_OK;
    *us = now_us() - start;
    return right;
}

static bool chain_raw(bench *b, double *us)
{
    bool right = true;
    double start = now_us();
    for (int i = 0; i < CHAIN && right; i++)
        right = launch_raw(b, 0);
    right = right && wait_raw(b);
    *us = now_us() - start;
    return right;
}

static bool replay_acuda(bench *b, double *us)
{
    b->expected += CHAIN;
    return sync_op(b, acu_replay(b->graph), us);
}

static bool replay_raw(bench *b, double *us)
{
    b->expected += CHAIN;
    double start = now_us();
    bool right = b->cu->GraphLaunch(b->raw_exec, b->stream) == 0 && wait_raw(b);
    *us = now_us() - start;
    return right;
}

/* ---- waiting, for a kernel of some time ---- */

static bool asleep_acuda(bench *b, double *us)
{
    acu_submit_options options = {.size = sizeof options, .queue = b->queue};
    acu_completion done;
    size_t count = 0;
    double start = now_us();
    if (acu_submit(b->device, launch(b, b->rounds), &options, NULL) != ACU_OK)
        return false;
    while (count == 0) {
        struct pollfd fd = {.fd = acu_queue_fd(b->queue), .events = POLLIN};
        poll(&fd, 1, -1);
        if (acu_queue_take(b->queue, &done, 1, &count) != ACU_OK)
            return false;
    }
    *us = now_us() - start;
    bool right = acu_future_poll(done.future) == ACU_OK;
    acu_future_release(done.future);
    return right;
}

static bool asleep_raw(bench *b, double *us)
{
    double start = now_us();
    bool right = launch_raw(b, b->rounds) && b->cu->EventRecord(b->event, b->stream) == 0 &&
                 b->cu->EventSynchronize(b->event) == 0;
    *us = now_us() - start;
    return right;
}

static bool busy_acuda(bench *b, double *us)
{
    acu_future *future;
    acu_status status;
    double start = now_us();
    if (acu_submit(b->device, launch(b, b->rounds), NULL, &future) != ACU_OK)
        return false;
    do
        status = acu_future_poll(future);
    while (status == ACU_NOT_READY);
    *us = now_us() - start;
    acu_future_release(future);
    return status == ACU_OK;
}

static bool busy_raw(bench *b, double *us)
{
    unsigned result;
    double start = now_us();
    if (!launch_raw(b, b->rounds) || b->cu->EventRecord(b->event, b->stream) != 0)
        return false;
    do
        result = b->cu->EventQuery(b->event);
    while (result == ACU_CUDA_ERROR_NOT_READY);
    *us = now_us() - start;
    return result == 0;
}

/* ---- copies and memory ---- */

static bool small_acuda(bench *b, double *us)
{
    return sync_op(b, acu_copy(b->small, b->small_pinned), us);
}

static bool small_raw(bench *b, double *us)
{
    double start = now_us();
    bool right = b->cu->MemcpyHtoDAsync(acu_tensor_address(b->small),
                                        acu_tensor_host(b->small_pinned), SMALL, b->stream) == 0 &&
                 wait_raw(b);
    *us = now_us() - start;
    return right;
}

static bool copy_acuda(bench *b, acu_op *op, double *rate)
{
    double us;
    bool right = sync_op(b, op, &us);
    *rate = gigabytes(b->bytes, us);
    return right;
}

static bool copy_raw(bench *b, double start, unsigned result, double *rate)
{
    bool right = result == 0 && wait_raw(b);
    *rate = gigabytes(b->bytes, now_us() - start);
    return right;
}

static bool up_acuda(bench *b, double *rate)
{
    return copy_acuda(b, acu_copy(b->x, b->pinned), rate);
}

static bool up_raw(bench *b, double *rate)
{
    double start = now_us();
    return copy_raw(b, start, b->cu->MemcpyHtoDAsync(acu_tensor_address(b->x),
                                                     acu_tensor_host(b->pinned), b->bytes,
                                                     b->stream), rate);
}

static bool down_acuda(bench *b, double *rate)
{
    return copy_acuda(b, acu_copy(b->pinned, b->x), rate);
}

static bool down_raw(bench *b, double *rate)
{
    double start = now_us();
    return copy_raw(b, start, b->cu->MemcpyDtoHAsync(acu_tensor_host(b->pinned),
                                                     acu_tensor_address(b->x), b->bytes,
                                                     b->stream), rate);
}

static bool across_acuda(bench *b, double *rate)
{
    return copy_acuda(b, acu_copy(b->y, b->x), rate);
}

static bool across_raw(bench *b, double *rate)
{
    double start = now_us();
    return copy_raw(b, start, b->cu->MemcpyDtoDAsync(acu_tensor_address(b->y),
                                                     acu_tensor_address(b->x), b->bytes,
                                                     b->stream), rate);
}

static bool write_acuda(bench *b, double *rate)
{
    double start = now_us();
    bool right = acu_write_sync(b->x, b->memory, b->bytes) == ACU_OK;
    *rate = gigabytes(b->bytes, now_us() - start);
    return right;
}

static bool write_raw(bench *b, double *rate)
{
    double start = now_us();
    bool right = b->cu->MemcpyHtoD(acu_tensor_address(b->x), b->memory, b->bytes) == 0;
    *rate = gigabytes(b->bytes, now_us() - start);
    return right;
}

static bool memory_acuda(bench *b, double *us)
{
    acu_tensor *tensor;
    double start = now_us();
    if (acu_tensor_alloc(b->device, ACU_U8, ACU_SHAPE(1 << 20), &tensor) != ACU_OK)
        return false;
    acu_tensor_release(tensor);
    *us = now_us() - start;
    return true;
}

static bool memory_raw(bench *b, double *us)
{
    CUdeviceptr address;
    double start = now_us();
    bool right = b->cu->MemAllocAsync(&address, 1 << 20, b->stream) == 0 &&
                 b->cu->MemFreeAsync(address, b->stream) == 0;
    *us = now_us() - start;
    return right && wait_raw(b);
}

const bench_row bench_rows[] = {
    {"launch", "one kernel, waited for: cuLaunchKernel, cuStreamSynchronize; acu_sync", false,
     one_acuda, one_raw},
    {"submit", "the host's time for each of 100 kernels: cuLaunchKernel; acu_submit", false,
     queued_acuda, queued_raw},
    {"chain", "ten kernels, waited for: cuLaunchKernel; one op", false, chain_acuda, chain_raw},
    {"replay", "a graph of ten kernels, waited for: cuGraphLaunch; acu_replay", false,
     replay_acuda, replay_raw},
    {"wait asleep", "a longer kernel: cuEventSynchronize, blocking; poll of a queue's descriptor",
     false, asleep_acuda, asleep_raw},
    {"wait busy", "a longer kernel: cuEventQuery in a loop; acu_future_poll in a loop", false,
     busy_acuda, busy_raw},
    {"memory", "1 MiB, allocated and freed: cuMemAllocAsync; acu_tensor_alloc", false,
     memory_acuda, memory_raw},
    {"copy 4 KiB", "from page-locked memory, waited for: cuMemcpyHtoDAsync; acu_copy", false,
     small_acuda, small_raw},
    {"copy to", "a large array from page-locked memory: cuMemcpyHtoDAsync; acu_copy", true,
     up_acuda, up_raw},
    {"copy from", "the same to page-locked memory: cuMemcpyDtoHAsync; acu_copy", true, down_acuda,
     down_raw},
    {"copy inside", "the same on the device: cuMemcpyDtoDAsync; acu_copy", true, across_acuda,
     across_raw},
    {"write", "the same from any memory of the program's: cuMemcpyHtoD; acu_write_sync", true,
     write_acuda, write_raw},
};
const int bench_row_count = (int)(sizeof bench_rows / sizeof *bench_rows);

/* ---- setting up ---- */

static bool failed(const char *what)
{
    cli_fail(what);
    return false;
}

static bool failed_raw(const char *what, unsigned result)
{
    fprintf(stderr, "acuda: %s: the driver answers %u\n", what, result);
    return false;
}

static bool open_kernel(bench *b)
{
    acu_module *module;
    if (acu_module_load(b->device, ACU_PTX("bench", bench_ptx), &module) != ACU_OK)
        return failed("the kernel");
    acu_status status = acu_kernel_get(module, "bench_count", &b->kernel);
    acu_module_release(module);
    if (status == ACU_OK)
        status = acu_sync(b->device, acu_zeros(ACU_U32, ACU_SHAPE(2)), &b->counter);
    if (status == ACU_OK)
        status = acu_queue_create(NULL, &b->queue);
    if (status == ACU_OK)
        status = acu_graph_load(b->device, chain(b), NULL, &b->graph);
    b->expected = 0; /* the graph was not replayed yet */
    return status == ACU_OK || failed("the kernel");
}

static bool open_memory(bench *b)
{
    b->bytes = acu_driver_info_of()->software ? LARGE_SOFTWARE : LARGE;
    acu_shape large = ACU_SHAPE((int64_t)b->bytes), small = ACU_SHAPE(SMALL);
    b->memory = malloc(b->bytes);
    if (!b->memory)
        return failed_raw("memory", ACU_CUDA_ERROR_OUT_OF_MEMORY);
    memset(b->memory, 7, b->bytes);
    acu_status status = acu_sync(b->device, acu_zeros(ACU_U8, large), &b->x);
    if (status == ACU_OK)
        status = acu_sync(b->device, acu_zeros(ACU_U8, large), &b->y);
    if (status == ACU_OK)
        status = acu_sync(b->device, acu_zeros(ACU_U8, small), &b->small);
    if (status == ACU_OK)
        status = acu_tensor_alloc_pinned(b->device, ACU_U8, large, &b->pinned);
    if (status == ACU_OK)
        status = acu_tensor_alloc_pinned(b->device, ACU_U8, small, &b->small_pinned);
    if (status != ACU_OK)
        return failed("memory");
    memset(acu_tensor_host(b->pinned), 1, b->bytes);
    memset(acu_tensor_host(b->small_pinned), 1, SMALL);
    return true;
}

static unsigned make_raw_graph(bench *b)
{
    CUdeviceptr counter = acu_tensor_address(b->counter);
    unsigned rounds = 0;
    void *args[] = {&counter, &rounds};
    acu_CUDA_KERNEL_NODE_PARAMS_v1 node = {.func = acu_kernel_raw(b->kernel),
                                           .gridDimX = 1,
                                           .gridDimY = 1,
                                           .gridDimZ = 1,
                                           .blockDimX = 32,
                                           .blockDimY = 1,
                                           .blockDimZ = 1,
                                           .kernelParams = args};
    CUgraphNode nodes[CHAIN];
    unsigned result = b->cu->GraphCreate(&b->raw_graph, 0);
    for (int i = 0; i < CHAIN && result == 0; i++)
        result = b->cu->GraphAddKernelNode(&nodes[i], b->raw_graph, i ? &nodes[i - 1] : NULL,
                                           i ? 1 : 0, &node);
    return result ? result : b->cu->GraphInstantiateWithFlags(&b->raw_exec, b->raw_graph, 0);
}

/* So many rounds that the kernel takes some time: twice as many each time, until it does. */
static bool calibrate(bench *b)
{
    double us = 0;
    for (b->rounds = 64; us < LONG_US && b->rounds < 1u << 24; b->rounds *= 2) {
        double start = now_us();
        if (!launch_raw(b, b->rounds) || !wait_raw(b))
            return failed_raw("cuLaunchKernel", ACU_CUDA_ERROR_UNKNOWN);
        us = now_us() - start;
    }
    return true;
}

static bool open_raw(bench *b)
{
    b->cu = acu_driver();
    unsigned result = b->cu->CtxSetCurrent(acu_device_context(b->device));
    if (result == 0)
        result = b->cu->StreamCreate(&b->stream, ACU_CU_STREAM_NON_BLOCKING);
    if (result == 0)
        result = b->cu->EventCreate(&b->event, ACU_CU_EVENT_DISABLE_TIMING |
                                                   ACU_CU_EVENT_BLOCKING_SYNC);
    if (result == 0)
        result = make_raw_graph(b);
    bool right = result == 0 ? calibrate(b) : failed_raw("setting up", result);
    b->cu->CtxSetCurrent(NULL);
    return right;
}

bool bench_open(bench *b, const char *driver, int ordinal)
{
    acu_open_options options = {.size = sizeof options, .ordinal = ordinal};
    if (cli_open_driver(driver) != ACU_OK)
        return failed("the driver");
    if (acu_open(&options, &b->device) != ACU_OK)
        return failed("opening the device");
    return open_kernel(b) && open_memory(b) && open_raw(b);
}

bool bench_right(bench *b)
{
    uint32_t have[2] = {0};
    if (acu_read_sync(b->counter, have, sizeof have) != ACU_OK)
        return failed("reading what the kernels did");
    if (have[0] != b->expected)
        fprintf(stderr, "acuda: kernels ran %u times, and not %u: do not trust this device\n",
                have[0], b->expected);
    return have[0] == b->expected;
}

void bench_close(bench *b)
{
    if (b->cu) {
        b->cu->CtxSetCurrent(acu_device_context(b->device));
        if (b->raw_exec)
            b->cu->GraphExecDestroy(b->raw_exec);
        if (b->raw_graph)
            b->cu->GraphDestroy(b->raw_graph);
        if (b->event)
            b->cu->EventDestroy(b->event);
        if (b->stream)
            b->cu->StreamDestroy(b->stream);
        b->cu->CtxSetCurrent(NULL);
    }
    acu_tensor *tensors[] = {b->counter, b->x, b->y, b->pinned, b->small, b->small_pinned};
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        acu_tensor_release(tensors[i]);
    acu_graph_release(b->graph);
    acu_queue_release(b->queue);
    acu_kernel_release(b->kernel);
    free(b->memory);
    if (b->device)
        acu_close(b->device);
}
