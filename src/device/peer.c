/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Devices that use one another's memory directly. */
#include "base/error.h"
#include "device/device.h"

/* Peer access of contexts does not cover memory of pools: each says so itself. */
acu_status acui_grant_pool(acu_device *device, acu_device *peer, CUmemoryPool pool)
{
    acu_CUmemAccessDesc access = {.location = {.type = ACU_CU_MEM_LOCATION_TYPE_DEVICE,
                                               .id = device->raw},
                                  .flags = ACU_CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    return ACUI_DEV(peer, MemPoolSetAccess, pool, &access, 1);
}

static acu_status grant_context(acu_device *device, acu_device *peer)
{
    acui_entered entered;
    ACUI_TRY(acui_enter(device, &entered));
    unsigned result = device->cu->CtxEnablePeerAccess(peer->context, 0);
    if (result == ACU_CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
        result = ACU_CUDA_SUCCESS; /* by an earlier call, or by another library */
    acu_status st = acui_device_result(device, "CtxEnablePeerAccess", result);
    acui_leave(&entered);
    return st;
}

acu_status acu_device_open_peer(acu_device *device, acu_device *peer)
{
    ACUI_CHECK(device, DEVICE);
    ACUI_CHECK(peer, DEVICE);
    if (device == peer)
        return ACU_OK;
    ACUI_TRY(acui_device_check(device));
    ACUI_TRY(acui_device_check(peer));
    int can = 0;
    ACUI_TRY(ACUI_DEV(device, DeviceCanAccessPeer, &can, device->raw, peer->raw));
    if (!can)
        return acui_fail(ACU_ERR_NOT_SUPPORTED,
                         "device %d (%s) can not access the memory of device %d (%s) directly on "
                         "this machine; copies between them work all the same",
                         device->info.ordinal, device->info.name, peer->info.ordinal,
                         peer->info.name);
    ACUI_TRY(grant_context(device, peer));
    acui_entered entered;
    ACUI_TRY(acui_enter(peer, &entered));
    acu_status st = peer->pool ? acui_grant_pool(device, peer, peer->pool) : ACU_OK;
    if (st == ACU_OK && peer->grant_pools)
        st = peer->grant_pools(peer, device);
    acui_leave(&entered);
    if (st != ACU_OK)
        return st;
    atomic_fetch_or_explicit(&device->peers, UINT64_C(1) << peer->info.ordinal,
                             memory_order_relaxed);
    return ACU_OK;
}
