/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Devices that access each other's memory directly. */
#include "base/alloc.h"
#include "base/error.h"
#include "device/open.h"

#include <string.h>

/* Peer access between contexts does not cover memory of pools: each pool grants it separately. */
acu_status acui_grant_pool(acu_device *device, acu_device *peer, CUmemoryPool pool)
{
    acu_CUmemAccessDesc access = {
        .location = {.type = ACU_CU_MEM_LOCATION_TYPE_DEVICE, .id = device->raw},
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

/* ---- whether it works: there are machines on which such copies arrive as something else ---- */

enum { TEST_WORDS = 16384 };

/* The synchronous calls use the legacy stream, which would end captures of the program's on
 * blocking streams. */
static acu_status finish(acu_device *device)
{
    return ACUI_DEV(device, StreamSynchronize, device->alloc->raw);
}

/* Device memory with the words in it; the device is entered. */
static acu_status make_words(acu_device *device, const uint32_t *words, CUdeviceptr *memory)
{
    size_t bytes = TEST_WORDS * sizeof *words;
    ACUI_TRY(ACUI_DEV(device, MemAlloc, memory, bytes));
    acu_status st = ACUI_DEV(device, MemcpyHtoDAsync, *memory, words, bytes, device->alloc->raw);
    if (st == ACU_OK)
        st = finish(device);
    if (st != ACU_OK)
        device->cu->MemFree(*memory);
    return st;
}

/* Copies the peer's words over the device's own. */
static acu_status copy_over(acu_device *device, CUdeviceptr own, acu_device *peer,
                            CUdeviceptr theirs, uint32_t *words)
{
    size_t bytes = TEST_WORDS * sizeof *words;
    ACUI_TRY(ACUI_DEV(device, MemcpyPeerAsync, own, device->context, theirs, peer->context, bytes,
                      device->alloc->raw));
    ACUI_TRY(ACUI_DEV(device, MemcpyDtoHAsync, words, own, bytes, device->alloc->raw));
    return finish(device);
}

static acu_status copy_words(acu_device *device, acu_device *peer, uint32_t *words)
{
    acui_entered entered;
    CUdeviceptr theirs = 0, own = 0;
    ACUI_TRY(acui_enter(peer, &entered));
    acu_status st = make_words(peer, words, &theirs);
    acui_leave(&entered);
    if (st != ACU_OK)
        return st;
    if ((st = acui_enter(device, &entered)) == ACU_OK) {
        memset(words, 0, TEST_WORDS * sizeof *words);
        st = make_words(device, words, &own);
        if (st == ACU_OK) {
            st = copy_over(device, own, peer, theirs, words);
            device->cu->MemFree(own);
        }
        acui_leave(&entered);
    }
    if (acui_enter_to_free(peer, &entered))
        peer->cu->MemFree(theirs);
    acui_leave(&entered);
    return st;
}

static uint32_t word_at(uint32_t i)
{
    return (i + 1) * UINT32_C(2654435761);
}

/* Copies from the peer, and compares. Blocks. */
static acu_status try_peer(acu_device *device, acu_device *peer)
{
    uint32_t *words = ACUI_NEW_ARRAY(uint32_t, TEST_WORDS), wrong = 0;
    if (!words)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory to try a copy between devices");
    for (uint32_t i = 0; i < TEST_WORDS; i++)
        words[i] = word_at(i);
    acu_status st = copy_words(device, peer, words);
    for (uint32_t i = 0; i < TEST_WORDS && st == ACU_OK; i++)
        wrong += words[i] != word_at(i);
    acui_free(words);
    if (st != ACU_OK || wrong == 0)
        return st;
    return acui_fail(
        ACU_ERR_NOT_SUPPORTED,
        "a copy from device %d (%s) to device %d (%s) arrived with %u of %d words wrong: "
        "this machine's buses do not let them talk directly; copies between them work "
        "all the same",
        peer->info.ordinal, peer->info.name, device->info.ordinal, device->info.name, wrong,
        TEST_WORDS);
}

static bool is_open(const acu_device *device, const acu_device *peer)
{
    return atomic_load_explicit(&device->peers, memory_order_relaxed) >> peer->info.ordinal & 1u;
}

static acu_status open_peer(acu_device *device, acu_device *peer)
{
    int can = 0;
    ACUI_TRY(ACUI_DEV(device, DeviceCanAccessPeer, &can, device->raw, peer->raw));
    if (!can)
        return acui_fail(ACU_ERR_NOT_SUPPORTED,
                         "device %d (%s) can not access the memory of device %d (%s) directly on "
                         "this machine; copies between them work all the same",
                         device->info.ordinal, device->info.name, peer->info.ordinal,
                         peer->info.name);
    ACUI_TRY(grant_context(device, peer));
    /* Before the list of pools is read: a thread that adds a pool later sees this, and grants
     * access to it. */
    acui_device_note_peer(peer, &device->granted);
    acui_entered entered;
    ACUI_TRY(acui_enter(peer, &entered));
    acu_status st = peer->pool ? acui_grant_pool(device, peer, peer->pool) : ACU_OK;
    if (st == ACU_OK && peer->memory.grant_pools)
        st = peer->memory.grant_pools(peer, device);
    acui_leave(&entered);
    return st == ACU_OK && !is_open(device, peer) ? try_peer(device, peer) : st;
}

acu_status acu_device_open_peer(acu_device *device, acu_device *peer)
{
    ACUI_CHECK(device, DEVICE);
    ACUI_CHECK_AS(peer, DEVICE, "peer");
    if (device == peer)
        return ACU_OK;
    ACUI_TRY(acui_device_check(device));
    ACUI_TRY(acui_device_check(peer));
    acu_status st = open_peer(device, peer);
    if (st == ACU_OK) {
        acui_device_note_peer(peer, &device->peers);
        atomic_fetch_and_explicit(&device->not_peers, ~(UINT64_C(1) << peer->info.ordinal),
                                  memory_order_relaxed);
    } else if (st == ACU_ERR_NOT_SUPPORTED) {
        acui_device_note_peer(peer, &device->not_peers);
    }
    return st;
}
