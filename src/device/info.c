/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Facts about a device. */
#include "base/error.h"
#include "device/info.h"

#include <acuda/debug.h>
#include <acuda/driver.h>

typedef struct fact {
    unsigned attribute;
    int *value;
} fact;

/* Reads attributes of the device, with one driver call each. */
static acu_status read_facts(acu_device *device, const fact *facts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ACUI_TRY(ACUI_DEV(device, DeviceGetAttribute, facts[i].value, facts[i].attribute,
                          device->raw));
    return ACU_OK;
}

acu_status acui_device_read_info(acu_device *device)
{
    acu_device_info *info = &device->info;
    info->size = sizeof *info;
    int threads = 0, block[3] = {0}, grid[3] = {0}, shared = 0, optin = 0, pools = 0, managed = 0;
    const fact facts[] = {
        {ACU_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &info->compute_major},
        {ACU_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &info->compute_minor},
        {ACU_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &info->multiprocessors},
        {ACU_CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &threads},
        {ACU_CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, &block[0]},
        {ACU_CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, &block[1]},
        {ACU_CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, &block[2]},
        {ACU_CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, &grid[0]},
        {ACU_CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, &grid[1]},
        {ACU_CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, &grid[2]},
        {ACU_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &shared},
        {ACU_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &optin},
        {ACU_CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, &pools},
        {ACU_CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, &managed},
    };
    ACUI_TRY(read_facts(device, facts, sizeof facts / sizeof *facts));
    for (int i = 0; i < 3; i++) {
        info->max_block[i] = (unsigned)block[i];
        info->max_grid[i] = (unsigned)grid[i];
    }
    info->max_threads = (unsigned)threads;
    info->max_shared = (size_t)shared;
    info->max_shared_optin = (size_t)(optin > shared ? optin : shared);
    info->memory_pools = pools && acu_driver_has(ACU_CALL_MemPoolCreate) &&
                         acu_driver_has(ACU_CALL_MemAllocFromPoolAsync);
    info->managed_memory = managed && acu_driver_has(ACU_CALL_MemAllocManaged);
    info->software = acu_driver_info_of()->software;
    ACUI_TRY(ACUI_DEV(device, DeviceGetName, info->name, (int)sizeof info->name, device->raw));
    return ACUI_DEV(device, DeviceTotalMem, &info->memory_bytes, device->raw);
}

const acu_device_info *acu_device_info_of(const acu_device *device)
{
    return acui_object_is(device, ACU_OBJECT_DEVICE) ? &device->info : NULL;
}

acu_status acu_device_memory(acu_device *device, size_t *free_bytes, size_t *total_bytes)
{
    ACUI_CHECK(device, DEVICE);
    acui_entered entered;
    ACUI_TRY(acui_enter(device, &entered));
    size_t left = 0, total = 0;
    acu_status st = ACUI_DEV(device, MemGetInfo, &left, &total);
    acui_leave(&entered);
    if (st != ACU_OK)
        return st;
    if (free_bytes)
        *free_bytes = left;
    if (total_bytes)
        *total_bytes = total;
    return ACU_OK;
}

acu_status acu_device_status(const acu_device *device, acu_error *error)
{
    ACUI_CHECK(device, DEVICE);
    if (!acui_device_lost(device))
        return ACU_OK;
    acu_error kept = *acui_error(); /* this call reports a failure, but does not fail */
    acu_status status = acui_device_check(device);
    if (error)
        *error = *acui_error();
    acui_error_restore(&kept);
    return status;
}

CUdevice acu_device_raw(const acu_device *device)
{
    return acui_object_is(device, ACU_OBJECT_DEVICE) ? device->raw : ACU_CU_DEVICE_INVALID;
}

CUcontext acu_device_context(const acu_device *device)
{
    return acui_object_is(device, ACU_OBJECT_DEVICE) ? device->context : NULL;
}
