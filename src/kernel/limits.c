/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Launch configurations: their defaults, and what the kernel and the device allow. What is not
 * allowed is refused here, before the driver sees it.
 */
#include "base/error.h"
#include "base/rare.h"
#include "kernel/kernel.h"

#define THREADS 256 /* of a block, where the program does not say */
#define CLUSTER 8   /* blocks that every device with clusters can put into one */

static const char axes[] = "xyz";

/* ---- sizes ---- */

static inline bool is_within(const unsigned *size, const unsigned *most)
{
    return size[0] <= most[0] && size[1] <= most[1] && size[2] <= most[2];
}

/* Refuses a grid of blocks, or a block of threads, that has too many of them in some direction. */
ACUI_RARE static acu_status refuse_size(const acu_kernel *kernel, const char *what,
                                        const char *pieces, const unsigned *size,
                                        const unsigned *most)
{
    int i = 0;
    while (size[i] <= most[i])
        i++;
    return acui_fail(ACU_ERR_LIMIT, "%s: a %s of %u %s in %c; device %d allows %u", kernel->name,
                     what, size[i], pieces, axes[i], kernel->module->device->info.ordinal, most[i]);
}

static inline void default_size(unsigned *size)
{
    size[1] = size[1] ? size[1] : 1;
    size[2] = size[2] ? size[2] : 1;
}

static inline acu_status check_grid(const acu_kernel *kernel, acu_config *config)
{
    const acu_device_info *device = &kernel->module->device->info;
    if (config->grid[0] == 0)
        return acui_fail(
            ACU_ERR_LIMIT,
            "%s: the grid is empty: no grid was given and there is no partition to take "
            "it from, or there are no elements",
            kernel->name);
    default_size(config->grid);
    return is_within(config->grid, device->max_grid)
               ? ACU_OK
               : refuse_size(kernel, "grid", "blocks", config->grid, device->max_grid);
}

static inline void default_block(unsigned most, unsigned *block)
{
    if (block[0] == 0 && block[1] == 0 && block[2] == 0)
        block[0] = most < THREADS ? most : THREADS;
    default_size(block);
}

static inline uint64_t threads_of(const unsigned *block)
{
    return (uint64_t)block[0] * block[1] * block[2];
}

ACUI_RARE static acu_status refuse_threads(const acu_kernel *kernel, const unsigned *block)
{
    const acu_device_info *device = &kernel->module->device->info;
    unsigned long long threads = threads_of(block);
    if (threads > device->max_threads)
        return acui_fail(ACU_ERR_LIMIT,
                         "%s: a block of %u x %u x %u = %llu threads; device %d allows %u",
                         kernel->name, block[0], block[1], block[2], threads, device->ordinal,
                         device->max_threads);
    return acui_fail(ACU_ERR_LIMIT,
                     "%s: a block of %u x %u x %u = %llu threads; the kernel, with its "
                     "registers and launch bounds, allows %u",
                     kernel->name, block[0], block[1], block[2], threads,
                     kernel->info.max_threads);
}

/* Checks the block against what the device allows every kernel, and against `most` threads. */
static inline acu_status check_block(const acu_kernel *kernel, const unsigned *block,
                                     unsigned most)
{
    const acu_device_info *device = &kernel->module->device->info;
    if (block[0] == 0)
        return acui_fail(ACU_ERR_LIMIT, "%s: a block of 0 x %u x %u threads", kernel->name,
                         block[1], block[2]);
    if (!is_within(block, device->max_block))
        return refuse_size(kernel, "block", "threads", block, device->max_block);
    uint64_t threads = threads_of(block);
    return threads > device->max_threads || threads > most ? refuse_threads(kernel, block) : ACU_OK;
}

ACUI_RARE static acu_status refuse_shared(const acu_kernel *kernel, size_t dynamic)
{
    const acu_device_info *device = &kernel->module->device->info;
    return acui_fail(ACU_ERR_LIMIT,
                     "%s: %zu bytes of dynamic shared memory and %zu of its own; a block on "
                     "device %d has at most %zu",
                     kernel->name, dynamic, (size_t)kernel->info.static_shared,
                     device->ordinal, device->max_shared_optin);
}

static inline acu_status check_shared(const acu_kernel *kernel, size_t dynamic)
{
    size_t fixed = kernel->info.static_shared;
    size_t most = kernel->module->device->info.max_shared_optin;
    return fixed > most || dynamic > most - fixed ? refuse_shared(kernel, dynamic) : ACU_OK;
}

/* The block wants more shared memory than every kernel may have: allow this one all that the device
 * has, once. */
ACUI_RARE static acu_status opt_in(acu_kernel *kernel, size_t dynamic)
{
    acu_device *device = kernel->module->device;
    size_t all = device->info.max_shared_optin - kernel->info.static_shared;
    _Atomic(size_t) *allowed = &kernel->function->shared_allowed;
    if (dynamic <= atomic_load_explicit(allowed, memory_order_acquire))
        return ACU_OK;
    acui_entered entered;
    ACUI_TRY(acui_enter(device, &entered));
    acu_status st = ACUI_DEV(device, FuncSetAttribute, kernel->raw,
                             ACU_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)all);
    acui_leave(&entered);
    /* Release: whoever sees the value launches after the call. */
    if (st == ACU_OK)
        atomic_store_explicit(allowed, all, memory_order_release);
    return st;
}

/* Allows an amount that check_shared has passed. */
static inline acu_status allow_shared(acu_kernel *kernel, size_t dynamic)
{
    size_t shared = dynamic + kernel->info.static_shared;
    return shared > kernel->module->device->info.max_shared ? opt_in(kernel, dynamic) : ACU_OK;
}

acu_status acui_kernel_allow_shared(acu_kernel *kernel, size_t dynamic)
{
    ACUI_TRY(check_shared(kernel, dynamic));
    return allow_shared(kernel, dynamic);
}

/* ---- attributes of launches ---- */

static acu_status refuse(const acu_kernel *kernel, const char *what, const char *why)
{
    return acui_fail(ACU_ERR_NOT_SUPPORTED, "%s: a launch %s on device %d: %s", kernel->name, what,
                     kernel->module->device->info.ordinal, why);
}

ACUI_RARE static acu_status check_extended(const acu_kernel *kernel, const char *what)
{
    const acu_device_info *device = &kernel->module->device->info;
    if (device->compute_major < 9 && !device->software)
        return refuse(kernel, what, "it needs compute capability 9");
    if (!acu_driver_has(ACU_CALL_LaunchKernelEx))
        return refuse(kernel, what, "the driver is older than CUDA 11.6");
    return ACU_OK;
}

ACUI_RARE static acu_status check_cluster(const acu_kernel *kernel, acu_config *config)
{
    unsigned *cluster = config->cluster;
    if (kernel->module->device->info.software)
        return refuse(kernel, "in clusters", "the software device has none");
    ACUI_TRY(check_extended(kernel, "in clusters"));
    default_size(cluster);
    uint64_t blocks = threads_of(cluster);
    if (blocks > CLUSTER)
        return acui_fail(ACU_ERR_LIMIT, "%s: clusters of %u x %u x %u = %llu blocks; %d at most",
                         kernel->name, cluster[0], cluster[1], cluster[2],
                         (unsigned long long)blocks, CLUSTER);
    for (int i = 0; i < 3; i++)
        if (config->grid[i] % cluster[i])
            return acui_fail(ACU_ERR_LIMIT,
                             "%s: a grid of %u blocks in %c is no multiple of %u, that "
                             "of a cluster",
                             kernel->name, config->grid[i], axes[i], cluster[i]);
    return ACU_OK;
}

/* How many blocks a multiprocessor holds. The last answer is kept: launches of one shape in a row
 * ask the driver once. */
static acu_status blocks_held(acu_kernel *kernel, unsigned threads, size_t shared, unsigned *blocks)
{
    _Atomic(uint64_t) *held = &kernel->function->held;
    uint64_t shape = (uint64_t)threads << 48 | (uint64_t)shared << 16;
    uint64_t known = atomic_load_explicit(held, memory_order_relaxed);
    if (known && (known & ~UINT64_C(0xFFFF)) == shape) {
        *blocks = (unsigned)(known & 0xFFFF);
        return ACU_OK;
    }
    ACUI_TRY(acu_kernel_max_blocks(kernel, threads, shared, blocks));
    if (shared <= UINT32_MAX)
        atomic_store_explicit(held, shape | *blocks, memory_order_relaxed);
    return ACU_OK;
}

ACUI_RARE static acu_status check_cooperative(acu_kernel *kernel, const acu_config *config)
{
    const acu_device_info *device = &kernel->module->device->info;
    unsigned blocks = 0;
    if (!acu_driver_has(ACU_CALL_LaunchCooperativeKernel))
        return refuse(kernel, "as cooperative", "the driver has no call for it");
    ACUI_TRY(blocks_held(kernel, (unsigned)threads_of(config->block), config->shared, &blocks));
    uint64_t room = (uint64_t)blocks * (uint64_t)device->multiprocessors;
    uint64_t grid = threads_of(config->grid);
    if (grid <= room)
        return ACU_OK;
    return acui_fail(ACU_ERR_LIMIT,
                     "%s: a cooperative grid of %llu blocks; device %d holds %llu of "
                     "these at a time (%u on each of %d multiprocessors)",
                     kernel->name, (unsigned long long)grid, device->ordinal,
                     (unsigned long long)room, blocks, device->multiprocessors);
}

static inline acu_status check_early(const acu_kernel *kernel, acu_config *config)
{
    const uint32_t *more = config->reserved;
    if (more[0] | more[1] | more[2] | more[3])
        return acui_fail(ACU_ERR_NOT_SUPPORTED,
                         "%s: the config sets something that this version of the library does not "
                         "know",
                         kernel->name);
    ACUI_TRY(check_grid(kernel, config));
    if (config->cluster[0])
        ACUI_TRY(check_cluster(kernel, config));
    return config->programmatic ? check_extended(kernel, "with programmatic dependence") : ACU_OK;
}

/* ---- all ---- */

static inline acu_status check_config(const acu_kernel *kernel, acu_config *config)
{
    ACUI_TRY(check_early(kernel, config));
    default_block(kernel->info.max_threads, config->block);
    ACUI_TRY(check_block(kernel, config->block, kernel->info.max_threads));
    return check_shared(kernel, config->shared);
}

acu_status acui_kernel_config_check(const acu_kernel *kernel, acu_config *config)
{
    return check_config(kernel, config);
}

acu_status acui_kernel_config(acu_kernel *kernel, acu_config *config)
{
    ACUI_TRY(check_config(kernel, config));
    ACUI_TRY(allow_shared(kernel, config->shared));
    return config->cooperative ? check_cooperative(kernel, config) : ACU_OK;
}

acu_status acui_kernel_config_early(const acu_kernel *kernel, acu_config *config)
{
    unsigned block[3] = {config->block[0], config->block[1], config->block[2]};
    ACUI_TRY(check_early(kernel, config));
    default_block(1, block); /* 1 thread: the kernel's maximum is not known yet */
    return check_block(kernel, block, UINT32_MAX);
}
