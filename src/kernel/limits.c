/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Launch configurations: defaults, and limits of kernel and device. */
#include "base/error.h"
#include "driver/result.h"
#include "kernel/kernel.h"

#define DEFAULT_THREADS 256

static void fill_defaults(const acu_kernel *k, acu_config *c)
{
    unsigned most = k->info.max_threads;
    if (c->block[0] == 0 && c->block[1] == 0 && c->block[2] == 0)
        c->block[0] = most < DEFAULT_THREADS ? most : DEFAULT_THREADS;
    for (int d = 0; d < 3; d++) {
        c->block[d] = c->block[d] ? c->block[d] : 1;
        c->grid[d] = c->grid[d] ? c->grid[d] : 1;
    }
}

static acu_status check_extents(const acu_kernel *k, const acu_config *c)
{
    const acu_device_info *info = &k->module->device->info;
    for (int d = 0; d < 3; d++) {
        if (c->block[d] > info->max_block[d])
            return acui_fail(ACU_ERR_LIMIT, "block.%c of %s is %u, the device's limit is %u",
                             "xyz"[d], k->name, c->block[d], info->max_block[d]);
        if (c->grid[d] > info->max_grid[d])
            return acui_fail(ACU_ERR_LIMIT, "grid.%c of %s is %u, the device's limit is %u",
                             "xyz"[d], k->name, c->grid[d], info->max_grid[d]);
    }
    uint64_t threads = (uint64_t)c->block[0] * c->block[1] * c->block[2];
    if (threads > k->info.max_threads)
        return acui_fail(ACU_ERR_LIMIT, "a block of %ux%ux%u is %llu threads, %s can have %u",
                         c->block[0], c->block[1], c->block[2], (unsigned long long)threads, k->name,
                         k->info.max_threads);
    return ACU_OK;
}

/* More dynamic shared memory than blocks get unasked: allow the kernel as much, once. */
static acu_status allow_shared(acu_kernel *k, size_t bytes)
{
    acu_device *device = k->module->device;
    acui_entered entered;
    ACUI_TRY(acui_enter(device, &entered));
    acu_status status = ACUI_DEV(device, FuncSetAttribute, k->raw,
                                 ACU_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)bytes);
    acui_leave(&entered);
    if (status == ACU_OK)
        atomic_store_explicit(&k->shared_allowed, bytes, memory_order_relaxed);
    return status;
}

static acu_status check_shared(acu_kernel *k, const acu_config *c)
{
    const acu_device_info *info = &k->module->device->info;
    size_t fixed = k->info.static_shared;
    size_t most = info->max_shared_optin > info->max_shared ? info->max_shared_optin
                                                            : info->max_shared;
    if (fixed + c->shared > most || c->shared > most)
        return acui_fail(ACU_ERR_LIMIT, "%s would have %zu bytes of shared memory (%zu static and "
                         "%zu dynamic), the device's limit for a block is %zu", k->name,
                         fixed + c->shared, fixed, c->shared, most);
    size_t allowed = atomic_load_explicit(&k->shared_allowed, memory_order_relaxed);
    if (fixed + c->shared > info->max_shared && c->shared > allowed)
        return allow_shared(k, most - fixed);
    return ACU_OK;
}

acu_status acui_kernel_config(acu_kernel *kernel, acu_config *config)
{
    fill_defaults(kernel, config);
    ACUI_TRY(check_extents(kernel, config));
    return check_shared(kernel, config);
}
