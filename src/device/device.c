/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Creating a device: context, pool, streams; and giving all of it back with the last reference. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/rare.h"
#include "base/text.h"
#include "device/info.h"
#include "device/open.h"
#include "driver/choose.h"

#include <stdio.h>
#include <sys/resource.h>

acu_status acui_driver_pool(acu_device *device, CUmemoryPool *pool)
{
    acu_CUmemPoolProps props = {.allocType = ACU_CU_MEM_ALLOCATION_TYPE_PINNED,
                                .handleTypes = ACU_CU_MEM_HANDLE_TYPE_NONE,
                                .location = {.type = ACU_CU_MEM_LOCATION_TYPE_DEVICE,
                                             .id = device->raw}};
    CUmemoryPool made = NULL;
    ACUI_TRY(ACUI_DEV(device, MemPoolCreate, &made, &props));
    /* Keep what was freed: with the default of 0 every synchronization gives it back to the system,
     * and an allocation costs 80 us instead of 1. */
    uint64_t keep = UINT64_MAX;
    acu_status st = ACUI_DEV(device, MemPoolSetAttribute, made,
                             ACU_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep);
    /* Reusing memory that another stream has yet to free would make this stream wait for that
     * one; submissions that share nothing must not do so. Allocation allows it when memory has
     * run out. */
    int depend = 0;
    if (st == ACU_OK)
        st = ACUI_DEV(device, MemPoolSetAttribute, made,
                      ACU_CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &depend);
    if (st == ACU_OK)
        *pool = made;
    else if (!acui_device_lost(device))
        device->cu->MemPoolDestroy(made);
    return st;
}

/* The part that needs the context to be current. */
static acu_status make_inside(acu_device *device, unsigned streams)
{
    acu_device_info *info = &device->info;
    ACUI_TRY(ACUI_DEV(device, CtxGetStreamPriorityRange, &info->least_priority,
                      &info->greatest_priority));
    if (info->memory_pools)
        ACUI_TRY(acui_driver_pool(device, &device->pool));
    ACUI_TRY(acui_stream_open(device, 0, true, &device->alloc));
    return acui_policy_open(device, streams, 0, true, &device->policy);
}

/* A driver out of memory at this point mostly is out of something else. */
static acu_status no_context(const acu_device *device, acu_status status)
{
    struct rlimit limit;
    acu_error *error = acui_error();
    acui_text text = acui_text_start(error->message, sizeof error->message);
    if (status != ACU_ERR_DEVICE_MEMORY)
        return status;
    if (device->info.software)
        acui_text_add(&text, "%s", acui_driver_detail());
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        acui_text_add(&text, "%sthe process is limited to %llu MiB of addresses (ulimit -v); a "
                             "driver reserves several times the memory of its devices",
                      text.length ? "; " : "", (unsigned long long)limit.rlim_cur >> 20);
    return status;
}

static acu_status make_context(acu_device *device, unsigned streams)
{
    ACUI_TRY(ACUI_DEV(device, DeviceGet, &device->raw, device->info.ordinal));
    ACUI_TRY(acui_device_read_info(device));
    CUcontext context = NULL;
    acu_status st = ACUI_DEV(device, DevicePrimaryCtxRetain, &context, device->raw);
    if (st != ACU_OK)
        return no_context(device, st);
    device->context = context;
    acui_entered entered;
    ACUI_TRY(acui_enter(device, &entered));
    st = make_inside(device, streams);
    acui_leave(&entered);
    return st;
}

/* Also for a partly created device. If the device is lost, only the context itself can be given
 * back, which takes along what was in it. */
ACUI_RARE static void destroy(acu_device *device)
{
    const acu_driver_table *cu = device->cu;
    if (device->context) {
        acui_entered entered;
        bool works = acui_enter_to_free(device, &entered);
        for (int i = 0; i < ACUI_DROPS; i++)
            if (device->drop[i])
                device->drop[i](device);
        for (size_t i = 0; i < device->side_count; i++)
            acui_stream_destroy(device->side[i]);
        acui_posts_free(device, works);
        if (device->policy)
            acui_policy_destroy(device->policy);
        for (size_t i = 0; i < ACUI_PRIORITIES; i++)
            if (device->urgent[i])
                acui_policy_destroy(device->urgent[i]);
        if (device->alloc)
            acui_stream_destroy(device->alloc);
        acui_flags_free(device, works);
        for (size_t i = 0; works && i < device->event_count; i++)
            cu->EventDestroy(device->events[i]);
        if (works && device->pool)
            cu->MemPoolDestroy(device->pool);
        acui_leave(&entered);
        if (!device->given_back)
            cu->DevicePrimaryCtxRelease(device->raw);
    }
    if (device->engine)
        acui_engine_close(device);
    acui_free(device->events);
    pthread_mutex_destroy(&device->lock);
    pthread_mutex_destroy(&device->one_at_a_time);
    pthread_mutex_destroy(&device->memory.giving);
    acui_object_free(device);
}

acu_status acui_device_new(const acu_driver_table *cu, int ordinal, unsigned streams,
                           uint32_t max_in_flight, acu_device **device)
{
    acu_device *d = acui_object_new(ACU_OBJECT_DEVICE, sizeof *d);
    if (!d)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a device");
    acui_object_list(d); /* the list of open devices */
    d->cu = cu;
    d->info.ordinal = ordinal;
    d->max_in_flight = max_in_flight;
    pthread_mutex_init(&d->lock, NULL);
    pthread_mutex_init(&d->one_at_a_time, NULL);
    pthread_mutex_init(&d->memory.giving, NULL);
    for (int i = 0; i < ACUI_OWN_HOLDERS; i++)
        d->holders[i].own = true;
    acu_status st = acui_engine_open(d);
    if (st == ACU_OK)
        st = make_context(d, streams);
    if (st == ACU_OK)
        *device = d;
    else
        destroy(d);
    return st;
}

acu_device *acu_device_retain(acu_device *device)
{
    if (acui_object_is(device, ACU_OBJECT_DEVICE))
        acui_object_retain(device);
    return device;
}

void acu_device_release(acu_device *device)
{
    if (!acui_object_is(device, ACU_OBJECT_DEVICE) || !acui_object_drop(device))
        return;
    acui_device_forget(device);
    destroy(device);
}
