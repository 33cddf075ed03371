/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Device attributes and limits. Limits are those of the GPU whose compute capability the device
 * claims. Attributes about speed, or about hardware that is not there, are 0 or a modest value.
 */
#include "driver/device.h"

#define REGISTERS 65536
#define CLOCK_KHZ 1000000

/* From each capability up to the next: KiB of shared memory on a multiprocessor, how much of it a
 * block may get (`optin`), threads, and blocks. From NVIDIA's tables. */
static const struct {
    unsigned char from, shared, optin, blocks;
    unsigned short threads;
} table[] = {
    {50, 64, 48, 32, 2048},    {52, 96, 48, 32, 2048},    {53, 64, 48, 32, 2048},
    {61, 96, 48, 32, 2048},    {62, 64, 48, 32, 2048},    {70, 96, 96, 32, 2048},
    {75, 64, 64, 16, 1024},    {80, 164, 163, 32, 2048},  {86, 100, 99, 16, 1536},
    {87, 164, 163, 16, 1536},  {88, 100, 99, 16, 1536},   {89, 100, 99, 24, 1536},
    {90, 228, 227, 32, 2048},  {101, 228, 227, 24, 1536}, {103, 228, 227, 32, 2048},
    {110, 228, 227, 24, 1536}, {120, 100, 99, 24, 1536},
};

sd_limits sd_device_limits(const sd_device *device)
{
    size_t row = sizeof table / sizeof *table - 1;
    while (row > 0 && device->sm < table[row].from)
        row--;
    return (sd_limits){.shared_static = 48 << 10,
                       .shared_optin = (unsigned)table[row].optin << 10,
                       .shared_sm = (unsigned)table[row].shared << 10,
                       .threads_sm = table[row].threads,
                       .blocks_sm = table[row].blocks,
                       .registers_sm = REGISTERS};
}

/* The attributes that depend on the device. */
static bool own_attribute(const sd_device *device, unsigned attribute, int *value)
{
    sd_limits limits = sd_device_limits(device);
    switch (attribute) {
    case ACU_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
        *value = (int)limits.shared_static;
        return true;
    case ACU_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
        *value = (int)limits.shared_optin;
        return true;
    case ACU_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
        *value = (int)limits.shared_sm;
        return true;
    case ACU_CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
        *value = (int)limits.threads_sm;
        return true;
    case ACU_CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
        *value = (int)limits.blocks_sm;
        return true;
    case ACU_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        *value = (int)device->sm_count;
        return true;
    case ACU_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *value = (int)(device->sm / 10);
        return true;
    case ACU_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        *value = (int)(device->sm % 10);
        return true;
    case ACU_CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
        *value = device->ordinal + 1;
        return true;
    case ACU_CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID:
        *value = device->ordinal;
        return true;
    default:
        return false;
    }
}

/* The attributes that are the same on each device; all others, up to the last known one, are 0. */
static const struct {
    unsigned attribute;
    int value;
} fixed[] = {
    {ACU_CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {ACU_CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {ACU_CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {ACU_CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {ACU_CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 0x7fffffff},
    {ACU_CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {ACU_CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {ACU_CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
    {ACU_CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {ACU_CU_DEVICE_ATTRIBUTE_MAX_PITCH, 0x7fffffff},
    {ACU_CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, REGISTERS},
    {ACU_CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, REGISTERS},
    {ACU_CU_DEVICE_ATTRIBUTE_CLOCK_RATE, CLOCK_KHZ},
    {ACU_CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, CLOCK_KHZ},
    {ACU_CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 64},
    {ACU_CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
    {ACU_CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32},
    {ACU_CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
    {ACU_CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {ACU_CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, ACU_CU_COMPUTEMODE_DEFAULT},
    {ACU_CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {ACU_CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 4 << 20},
    {ACU_CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
    {ACU_CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {ACU_CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    {ACU_CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
    {ACU_CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {ACU_CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
    {ACU_CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1},
    {ACU_CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1},
    {ACU_CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1},
    {ACU_CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
    {ACU_CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1, 1},
    {ACU_CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1, 1},
    {ACU_CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V1, 1},
    {ACU_CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 1},
    {ACU_CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 1},
    {ACU_CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
    {ACU_CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, 1},
    {ACU_CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
    {ACU_CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1},
    {ACU_CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    {ACU_CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT, 1},
    {ACU_CU_DEVICE_ATTRIBUTE_NUMA_ID, -1},
    {ACU_CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, -1},
};

#define SINGLE_TO_DOUBLE 87 /* CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO */
#define RESERVED_SHARED 111 /* CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK */
#define LAST_ATTRIBUTE 160  /* newer programs may ask for what this driver does not know */

bool sd_device_attribute(const sd_device *device, unsigned attribute, int *value)
{
    if (attribute < 1 || attribute > LAST_ATTRIBUTE)
        return false;
    if (own_attribute(device, attribute, value))
        return true;
    *value = 0;
    if (attribute == SINGLE_TO_DOUBLE)
        *value = 2;
    if (attribute == RESERVED_SHARED)
        *value = device->sm >= 80 ? 1024 : 0;
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        if (fixed[i].attribute == attribute)
            *value = fixed[i].value;
    return true;
}
