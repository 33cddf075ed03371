/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The start of the driver: reads the environment, makes the devices, and answers what is asked
 * about them. An invalid setting makes cuInit fail.
 */
#include "driver/errors.h"
#include "driver/front.h"
#include "driver/pool.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MEMORY_DEFAULT ((uint64_t)4 << 30)
#define MEMORY_LEAST ((uint64_t)16 << 20)
#define MEMORY_MOST ((uint64_t)1 << 40)
#define SM_DEFAULT 80

/* How many streams of one device, and host functions of the process, can execute at a time. */
#define DEVICE_THREADS 32
#define HOST_THREADS 64

/* A device has more addresses than memory, so that neither fragmentation nor the gaps behind
 * allocations end in "out of memory"; fewer where the process may not have so many. */
#define ADDRESSES_PER_BYTE 4

sd_driver sd = {.contexts_lock = PTHREAD_MUTEX_INITIALIZER, .next_id = 1, .space_version = 1};

static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;

/* What the environment sets: numbers in a range; K, M, G or T may follow where numbers are
 * large. */
typedef struct setting {
    const char *name;
    uint64_t value, least, most; /* the default and then the value; its bounds */
} setting;

enum { DEVICES, MEMORY, SM, RACES, EXACT, HEAL, SETTINGS };
static setting settings[SETTINGS] = {
    {"SOFTCUDA_DEVICES", 1, 1, SD_MAX_DEVICES},
    {"SOFTCUDA_MEMORY", MEMORY_DEFAULT, MEMORY_LEAST, MEMORY_MOST},
    {"SOFTCUDA_SM", SM_DEFAULT, 50, 120},
    {"SOFTCUDA_RACES", 0, 0, 1},
    {"SOFTCUDA_EXACT", 0, 0, 1},
    {"SOFTCUDA_HEAL", 0, 0, 1},
};

static bool read_number(const char *text, uint64_t most, uint64_t *value)
{
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    *value = strtoull(text, &end, 10);
    const char *units = "KMGT";
    const char *unit = *end ? strchr(units, *end & ~0x20) : NULL;
    for (const char *u = units; unit && u <= unit; u++)
        *value = *value > most ? *value : *value << 10;
    return !end[unit ? 1 : 0];
}

static unsigned read_settings(void)
{
    for (int i = 0; i < SETTINGS; i++) {
        setting *s = &settings[i];
        const char *text = secure_getenv(s->name);
        uint64_t value;
        if (!text || !*text)
            continue;
        if (!read_number(text, s->most, &value) || value < s->least || value > s->most) {
            sd_error_say("%s=%s is not a number from %llu to %llu", s->name, text,
                         (unsigned long long)s->least, (unsigned long long)s->most);
            return ACU_CUDA_ERROR_INVALID_VALUE;
        }
        s->value = value;
    }
    return ACU_CUDA_SUCCESS;
}

static void make_uuid(sd_device *device)
{
    const unsigned char start[12] = {0x73, 0x6f, 0x66, 0x74, 0x63, 0x75,
                                     0x64, 0x61, 0x40, 0x00, 0x80, 0x00};
    memcpy(device->uuid, start, sizeof start);
    device->uuid[15] = (unsigned char)(device->ordinal + 1);
}

static bool init_device(sd_device *device, int ordinal)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    device->ordinal = ordinal;
    device->sm = (unsigned)settings[SM].value;
    device->sm_count = cores < 1 ? 1 : cores > 1024 ? 1024 : (unsigned)cores;
    device->memory = settings[MEMORY].value & ~(uint64_t)0xffff;
    make_uuid(device);
    return pthread_mutex_init(&device->lock, NULL) == 0 &&
           pthread_cond_init(&device->freed, NULL) == 0 &&
           sd_workers_init(&device->workers, DEVICE_THREADS);
}

static void after_fork(void)
{
    atomic_store_explicit(&sd.forked, true, memory_order_relaxed);
}

/* With init_lock. */
static unsigned start(void)
{
    unsigned result = sd_front_init();
    if (!result)
        result = read_settings();
    if (result)
        return result;
    int count = (int)settings[DEVICES].value;
    sd.races = settings[RACES].value != 0;
    sd.exact = settings[EXACT].value != 0;
    for (int i = 0; i < count; i++)
        if (!init_device(&sd.devices[i], i))
            return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    if (!sd_workers_init(&sd.host_workers, HOST_THREADS) || !sd_thread_init() ||
        pthread_atfork(NULL, NULL, after_fork))
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    sd.heal = settings[HEAL].value != 0;
    sd.device_count = count;
    atomic_store_explicit(&sd.ready, true, memory_order_release);
    return ACU_CUDA_SUCCESS;
}

/* Of acuda's base layer, which needs nothing else of acuda; it is in the stand-in too. The device's
 * threads block all signals, like acuda's. */
void acui_signals_watch(void);

static unsigned start_once(void)
{
    acui_signals_watch();
    if (atomic_load_explicit(&sd.forked, memory_order_relaxed))
        return ACU_CUDA_ERROR_NOT_INITIALIZED;
    if (atomic_load_explicit(&sd.ready, memory_order_acquire))
        return ACU_CUDA_SUCCESS;
    pthread_mutex_lock(&init_lock);
    unsigned result = ACU_CUDA_SUCCESS;
    if (!atomic_load_explicit(&sd.ready, memory_order_acquire))
        result = start();
    pthread_mutex_unlock(&init_lock);
    return result;
}

sd_device *sd_device_at(CUdevice ordinal)
{
    return ordinal >= 0 && ordinal < sd.device_count ? &sd.devices[ordinal] : NULL;
}

/* With init_lock. */
static bool map_memory(sd_device *device)
{
    uint64_t times = device->range.host ? 0 : ADDRESSES_PER_BYTE;
    while (times && !sd_range_map(&device->range, device->memory * times, true))
        if (!(times /= 2))
            return false;
    if (!device->heap.lowest &&
        !sd_heap_init(&device->heap, device->range.base, device->range.bytes))
        return false;
    return device->default_pool || sd_pool_create_default(device);
}

unsigned sd_device_open(sd_device *device)
{
    if (atomic_load_explicit(&device->mapped, memory_order_acquire))
        return ACU_CUDA_SUCCESS;
    unsigned result = ACU_CUDA_SUCCESS;
    pthread_mutex_lock(&init_lock);
    if (!atomic_load_explicit(&device->mapped, memory_order_relaxed)) {
        bool has_memory = map_memory(device);
        if (has_memory && sd_workers_start(&device->workers)) {
            atomic_store_explicit(&device->mapped, true, memory_order_release);
        } else {
            result = ACU_CUDA_ERROR_OUT_OF_MEMORY;
            sd_error_say(has_memory ? "no thread could be started for the software device"
                                    : "there are no addresses for the memory of the software "
                                      "device (SOFTCUDA_MEMORY)");
        }
    }
    pthread_mutex_unlock(&init_lock);
    return result;
}

/* ---- entry points ---- */

unsigned sd_cuInit(unsigned flags)
{
    return flags ? ACU_CUDA_ERROR_INVALID_VALUE : start_once();
}

unsigned sd_cuDeviceGetCount(int *count)
{
    SD_ENTER();
    if (!count)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    *count = sd.device_count;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuDeviceGet(CUdevice *device, int ordinal)
{
    SD_ENTER();
    if (!device)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    if (!sd_device_at(ordinal))
        return ACU_CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuDeviceGetName(char *name, int length, CUdevice ordinal)
{
    SD_ENTER();
    if (!name || length <= 0)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    if (!sd_device_at(ordinal))
        return ACU_CUDA_ERROR_INVALID_DEVICE;
    snprintf(name, (size_t)length, "Software CUDA device");
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuDeviceGetUuid_v2(acu_CUuuid *uuid, CUdevice ordinal)
{
    SD_ENTER();
    const sd_device *device = sd_device_at(ordinal);
    if (!uuid || !device)
        return uuid ? ACU_CUDA_ERROR_INVALID_DEVICE : ACU_CUDA_ERROR_INVALID_VALUE;
    memcpy(uuid->bytes, device->uuid, sizeof device->uuid);
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuDeviceGetUuid(acu_CUuuid *uuid, CUdevice ordinal)
{
    return sd_cuDeviceGetUuid_v2(uuid, ordinal);
}

unsigned sd_cuDeviceTotalMem_v2(size_t *bytes, CUdevice ordinal)
{
    SD_ENTER();
    const sd_device *device = sd_device_at(ordinal);
    if (!bytes || !device)
        return bytes ? ACU_CUDA_ERROR_INVALID_DEVICE : ACU_CUDA_ERROR_INVALID_VALUE;
    *bytes = device->memory;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuDeviceGetAttribute(int *value, unsigned attribute, CUdevice ordinal)
{
    SD_ENTER();
    const sd_device *device = sd_device_at(ordinal);
    if (!value || !device)
        return value ? ACU_CUDA_ERROR_INVALID_DEVICE : ACU_CUDA_ERROR_INVALID_VALUE;
    return sd_device_attribute(device, attribute, value) ? ACU_CUDA_SUCCESS
                                                         : ACU_CUDA_ERROR_INVALID_VALUE;
}

unsigned sd_cuDeviceComputeCapability(int *major, int *minor, CUdevice ordinal)
{
    SD_ENTER();
    const sd_device *device = sd_device_at(ordinal);
    if (!major || !minor || !device)
        return device ? ACU_CUDA_ERROR_INVALID_VALUE : ACU_CUDA_ERROR_INVALID_DEVICE;
    *major = (int)(device->sm / 10);
    *minor = (int)(device->sm % 10);
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuDeviceGetExecAffinitySupport(int *value, unsigned type, CUdevice ordinal)
{
    SD_ENTER();
    (void)type;
    if (!value || !sd_device_at(ordinal))
        return value ? ACU_CUDA_ERROR_INVALID_DEVICE : ACU_CUDA_ERROR_INVALID_VALUE;
    *value = 0;
    return ACU_CUDA_SUCCESS;
}

/* Invented bus addresses: one per device. */
unsigned sd_cuDeviceGetPCIBusId(char *id, int length, CUdevice ordinal)
{
    SD_ENTER();
    if (!id || length < 13)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    if (!sd_device_at(ordinal))
        return ACU_CUDA_ERROR_INVALID_DEVICE;
    snprintf(id, (size_t)length, "0000:%02X:00.0", (unsigned)ordinal + 1u);
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuDeviceGetByPCIBusId(CUdevice *device, const char *id)
{
    SD_ENTER();
    unsigned domain = 0, bus, slot, function = 0;
    if (!device || !id)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    if (sscanf(id, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3) {
        domain = 0;
        if (sscanf(id, "%x:%x.%x", &bus, &slot, &function) < 2)
            return ACU_CUDA_ERROR_INVALID_VALUE;
    }
    if (domain || slot || function || bus < 1 || bus > (unsigned)sd.device_count)
        return ACU_CUDA_ERROR_INVALID_DEVICE;
    *device = (CUdevice)bus - 1;
    return ACU_CUDA_SUCCESS;
}
