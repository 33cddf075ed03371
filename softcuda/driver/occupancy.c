/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Occupancy: how many blocks of a function would fit on the multiprocessor that the device claims
 * to have. The executor has no such limits, but programs size their grids by these numbers.
 */
#include "driver/module.h"

#define WARP 32u
#define MOST_THREADS 1024u        /* a function that is bounded to fewer counts like any other */
#define SHARED_UNIT ((size_t)128) /* shared memory is handed out in such pieces */

static size_t round_up(size_t bytes)
{
    return (bytes + SHARED_UNIT - 1) / SHARED_UNIT * SHARED_UNIT;
}

/* The shared memory that a block takes, including what the system keeps for it. */
static size_t shared_of_block(const sd_function *function, size_t dynamic)
{
    size_t kept = function->object.context->device->sm >= 80 ? 1024 : 0;
    return round_up(function->info->static_shared + dynamic + kept);
}

/* The dynamic shared memory that the function was allowed, or that each function may have. */
static size_t most_dynamic(const sd_function *function)
{
    size_t allowed = (size_t)atomic_load_explicit(&function->max_dynamic, memory_order_relaxed);
    size_t all = sd_device_limits(function->object.context->device).shared_static;
    size_t fixed = function->info->static_shared;
    size_t anyway = fixed < all ? all - fixed : 0;
    return allowed > anyway ? allowed : anyway;
}

unsigned sd_function_blocks(const sd_function *function, unsigned threads, size_t dynamic)
{
    sd_limits limits = sd_device_limits(function->object.context->device);
    size_t shared = shared_of_block(function, dynamic);
    if (!threads || threads > MOST_THREADS || dynamic > most_dynamic(function))
        return 0;
    unsigned warps = (threads + WARP - 1) / WARP;
    unsigned blocks = limits.threads_sm / (warps * WARP);
    if (blocks > limits.blocks_sm)
        blocks = limits.blocks_sm;
    if (shared && blocks > limits.shared_sm / shared)
        blocks = (unsigned)(limits.shared_sm / shared);
    return blocks;
}

unsigned sd_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction handle,
                                                                 int block_size, size_t dynamic,
                                                                 unsigned flags)
{
    SD_FUNCTION_HERE(function, handle);
    if (!blocks || block_size <= 0 || flags & ~(unsigned)ACU_CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    *blocks = (int)sd_function_blocks(function, (unsigned)block_size, dynamic);
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle,
                                                        int block_size, size_t dynamic)
{
    return sd_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, handle, block_size,
                                                                   dynamic, 0);
}

unsigned sd_cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid_size, int *block_size,
                                                      CUfunction handle,
                                                      CUoccupancyB2DSize dynamic_of, size_t dynamic,
                                                      int limit, unsigned flags)
{
    SD_FUNCTION_HERE(function, handle);
    if (!grid_size || !block_size || limit < 0 ||
        flags & ~(unsigned)ACU_CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    unsigned most = function->info->max_threads;
    if (limit && (unsigned)limit < most)
        most = (unsigned)limit;
    unsigned best = 0, best_threads = 0, best_blocks = 0;
    /* From the largest down: among equal occupancies the largest block wins. */
    for (unsigned threads = most; threads > 0;) {
        size_t bytes = dynamic_of ? dynamic_of((int)threads) : dynamic;
        unsigned blocks = sd_function_blocks(function, threads, bytes);
        if (blocks * threads > best) {
            best = blocks * threads;
            best_threads = threads;
            best_blocks = blocks;
        }
        threads = threads > WARP ? (threads - 1) / WARP * WARP : 0;
    }
    *block_size = (int)best_threads;
    *grid_size = (int)(best_blocks * context->device->sm_count);
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuOccupancyMaxPotentialBlockSize(int *grid_size, int *block_size, CUfunction handle,
                                             CUoccupancyB2DSize dynamic_of, size_t dynamic,
                                             int limit)
{
    return sd_cuOccupancyMaxPotentialBlockSizeWithFlags(grid_size, block_size, handle, dynamic_of,
                                                        dynamic, limit, 0);
}

unsigned sd_cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamic, CUfunction handle, int blocks,
                                                    int block_size)
{
    SD_FUNCTION_HERE(function, handle);
    if (!dynamic || blocks <= 0 || block_size <= 0 ||
        sd_function_blocks(function, (unsigned)block_size, 0) < (unsigned)blocks)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    sd_limits limits = sd_device_limits(context->device);
    size_t share = limits.shared_sm / (unsigned)blocks / SHARED_UNIT * SHARED_UNIT;
    size_t fixed = round_up(function->info->static_shared); /* without what the system keeps */
    size_t most = (size_t)atomic_load_explicit(&function->max_dynamic, memory_order_relaxed);
    *dynamic = share > fixed ? share - fixed : 0;
    if (*dynamic > most)
        *dynamic = most;
    return ACU_CUDA_SUCCESS;
}

/* A cluster has one block: blocks of a larger one need each other, which the device does not
 * offer. */

unsigned sd_cuOccupancyMaxPotentialClusterSize(int *size, CUfunction handle,
                                               const acu_CUlaunchConfig *config)
{
    SD_FUNCTION_HERE(function, handle);
    if (!size || !config)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    *size = 1;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuOccupancyMaxActiveClusters(int *clusters, CUfunction handle,
                                         const acu_CUlaunchConfig *config)
{
    SD_FUNCTION_HERE(function, handle);
    if (!clusters || !config)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    unsigned threads = config->blockDimX * config->blockDimY * config->blockDimZ;
    *clusters = (int)(sd_function_blocks(function, threads, config->sharedMemBytes) *
                      context->device->sm_count);
    return ACU_CUDA_SUCCESS;
}
