/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Attributes of kernels, and how many blocks of them a device holds. */
#include "base/error.h"
#include "kernel/kernel.h"

static acu_status check(acu_kernel *kernel, const void *out, const char *function)
{
    ACUI_TRY(acui_object_check(kernel, ACU_OBJECT_KERNEL, function));
    if (!out)
        return acui_fail(ACU_ERR_INVALID, "%s: nowhere to put the answer", function);
    return acu_kernel_poll(kernel);
}

/* ---- attributes ---- */

/* Says which attribute the driver refused. */
static acu_status name_attribute(acu_status status, const char *function, const acu_kernel *kernel,
                                 unsigned attribute)
{
    if (status != ACU_ERR_DRIVER || acui_error()->driver_result != ACU_CUDA_ERROR_INVALID_VALUE)
        return status;
    return acui_fail(ACU_ERR_INVALID, "%s: the driver does not take attribute %u of %s, or not so",
                     function, attribute, kernel->name);
}

acu_status acu_kernel_attribute(acu_kernel *kernel, unsigned attribute, int *value)
{
    acui_entered entered;
    ACUI_TRY(check(kernel, value, __func__));
    acu_device *device = kernel->module->device;
    ACUI_TRY(acui_enter(device, &entered));
    acu_status st = ACUI_DEV(device, FuncGetAttribute, value, attribute, kernel->raw);
    acui_leave(&entered);
    return name_attribute(st, __func__, kernel, attribute);
}

static acu_status set_attribute(acu_kernel *kernel, unsigned attribute, int value,
                                const char *function)
{
    acui_entered entered;
    ACUI_TRY(check(kernel, &value, function));
    acu_device *device = kernel->module->device;
    ACUI_TRY(acui_enter(device, &entered));
    acu_status st = ACUI_DEV(device, FuncSetAttribute, kernel->raw, attribute, value);
    acui_leave(&entered);
    /* The limit that was opted into before may have become lower: launches opt in anew. */
    if (attribute == ACU_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        atomic_store_explicit(&kernel->function->shared_allowed,
                              st == ACU_OK && value > 0 ? (size_t)value : 0, memory_order_release);
    atomic_store_explicit(&kernel->function->held, 0, memory_order_relaxed);
    return name_attribute(st, function, kernel, attribute);
}

acu_status acu_kernel_set_attribute(acu_kernel *kernel, unsigned attribute, int value)
{
    return set_attribute(kernel, attribute, value, __func__);
}

acu_status acu_kernel_prefer_shared(acu_kernel *kernel, int percent)
{
    if (percent < -1 || percent > 100)
        return acui_fail(ACU_ERR_INVALID,
                         "acu_kernel_prefer_shared: %d percent; from 0 to 100, or -1", percent);
    return set_attribute(kernel, ACU_CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, percent,
                         __func__);
}

/* ---- occupancy ---- */

acu_status acu_kernel_max_blocks(acu_kernel *kernel, unsigned threads, size_t shared,
                                 unsigned *blocks)
{
    acui_entered entered;
    int held = 0;
    ACUI_TRY(check(kernel, blocks, __func__));
    if (threads == 0 || threads > kernel->info.max_threads)
        return acui_fail(ACU_ERR_LIMIT, "%s: a block of %u threads; the kernel, with its registers "
                         "and launch bounds, allows %u", kernel->name, threads,
                         kernel->info.max_threads);
    ACUI_TRY(acui_kernel_allow_shared(kernel, shared));
    acu_device *device = kernel->module->device;
    ACUI_TRY(acui_enter(device, &entered));
    acu_status st = ACUI_DEV(device, OccupancyMaxActiveBlocksPerMultiprocessor, &held, kernel->raw,
                             (int)threads, shared);
    acui_leave(&entered);
    if (st == ACU_OK)
        *blocks = (unsigned)held;
    return st;
}

acu_status acu_kernel_best_block(acu_kernel *kernel, size_t shared, unsigned *threads,
                                 unsigned *grid)
{
    acui_entered entered;
    int block = 0, blocks = 0;
    ACUI_TRY(check(kernel, threads, __func__));
    ACUI_TRY(acui_kernel_allow_shared(kernel, shared));
    acu_device *device = kernel->module->device;
    ACUI_TRY(acui_enter(device, &entered));
    acu_status st = ACUI_DEV(device, OccupancyMaxPotentialBlockSize, &blocks, &block, kernel->raw,
                             NULL, shared, 0);
    acui_leave(&entered);
    if (st != ACU_OK)
        return st;
    *threads = (unsigned)block;
    if (grid)
        *grid = (unsigned)blocks;
    return ACU_OK;
}

/* ---- clusters ---- */

static acu_status ask_clusters(acu_kernel *kernel, const acu_config *given, bool size,
                               unsigned *answer)
{
    acui_entered entered;
    acu_device *device = kernel->module->device;
    acu_config c = *given;
    acu_CUlaunchAttribute attribute = {.id = ACU_CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    int found = 0;
    if (c.grid[0] == 0)
        c.grid[0] = c.cluster[0] ? c.cluster[0] : 1;
    ACUI_TRY(acui_kernel_config(kernel, &c));
    if (device->info.software || !acu_driver_has(ACU_CALL_OccupancyMaxActiveClusters) ||
        !acu_driver_has(ACU_CALL_OccupancyMaxPotentialClusterSize))
        return acui_fail(ACU_ERR_NOT_SUPPORTED, "device %d, or its driver, has no clusters",
                         device->info.ordinal);
    attribute.value.clusterDim.x = c.cluster[0];
    attribute.value.clusterDim.y = c.cluster[1];
    attribute.value.clusterDim.z = c.cluster[2];
    const acu_CUlaunchConfig config = {.gridDimX = c.grid[0], .gridDimY = c.grid[1],
                                       .gridDimZ = c.grid[2], .blockDimX = c.block[0],
                                       .blockDimY = c.block[1], .blockDimZ = c.block[2],
                                       .sharedMemBytes = (unsigned)c.shared, .attrs = &attribute,
                                       .numAttrs = c.cluster[0] ? 1 : 0};
    ACUI_TRY(acui_enter(device, &entered));
    acu_status st =
        size ? ACUI_DEV(device, OccupancyMaxPotentialClusterSize, &found, kernel->raw, &config)
             : ACUI_DEV(device, OccupancyMaxActiveClusters, &found, kernel->raw, &config);
    acui_leave(&entered);
    if (st == ACU_OK)
        *answer = (unsigned)found;
    return st;
}

acu_status acu_kernel_max_clusters(acu_kernel *kernel, const acu_config *config, unsigned *clusters)
{
    ACUI_TRY(check(kernel, clusters, __func__));
    if (!config || config->cluster[0] == 0)
        return acui_fail(ACU_ERR_INVALID, "acu_kernel_max_clusters: the config has no cluster");
    return ask_clusters(kernel, config, false, clusters);
}

acu_status acu_kernel_max_cluster(acu_kernel *kernel, const acu_config *config, unsigned *blocks)
{
    ACUI_TRY(check(kernel, blocks, __func__));
    if (!config)
        return acui_fail(ACU_ERR_INVALID, "acu_kernel_max_cluster: the config is NULL");
    acu_config alone = *config;
    alone.cluster[0] = alone.cluster[1] = alone.cluster[2] = 0;
    return ask_clusters(kernel, &alone, true, blocks);
}
