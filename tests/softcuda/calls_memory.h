/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Random calls on memory, pools, copies and fills. */
#ifndef TESTS_SOFTCUDA_CALLS_MEMORY_H
#define TESTS_SOFTCUDA_CALLS_MEMORY_H

#include "softcuda/calls_streams.h"

static size_t some_size(world *w)
{
    static const size_t sizes[] = {
        0, 1, 100, 512, 4096, 1 << 20, 3 << 20, SIZE_MAX, (size_t)1 << 50};
    return sizes[below(w, sizeof sizes / sizeof sizes[0])];
}

static void allocate(world *w)
{
    const unsigned n = below(w, BLOCKS);
    const size_t size = some_size(w);
    CUdeviceptr made = 0;
    if (w->blocks[n])
        return;
    ask(w, "MemAlloc b%u size %zu", n, size);
    if (told(w, w->cu->MemAlloc(&made, size)))
        w->blocks[n] = made;
}

/* An address that can be neither freed nor asked about. */
static CUdeviceptr wrong_address(world *w, unsigned *which)
{
    *which = below(w, 5);
    switch (*which) {
    case 0:
        return 0;
    case 1:
        return 0x10;
    case 2:
        return (CUdeviceptr)(uintptr_t)pageable;
    case 3:
        return w->scratch + 256;
    default:
        return (CUdeviceptr)(uintptr_t)w->pinned;
    }
}

static void free_block(world *w)
{
    const unsigned n = below(w, BLOCKS);
    unsigned which = 9;
    const bool wrong = rarely(w, 3);
    const CUdeviceptr at = wrong ? wrong_address(w, &which) : w->blocks[n];
    if (!wrong && !at)
        return;
    ask(w, "MemFree %s%u", wrong ? "wrong " : "b", wrong ? which : n);
    if (told(w, w->cu->MemFree(at)) && !wrong)
        w->blocks[n] = 0;
}

static void allocate_ordered(world *w)
{
    const unsigned n = below(w, BLOCKS), s = some_stream(w), p = below(w, POOLS);
    const size_t size = some_size(w);
    const bool from_pool = rarely(w, 3) && w->pools[p];
    CUdeviceptr made = 0;
    unsigned result;
    if (w->ordered[n] || is_capturing(w, s))
        return; /* a node that allocates is not what acuda makes */
    if (from_pool) {
        ask(w, "MemAllocFromPoolAsync o%u size %zu p%u s%u", n, size, p, s);
        result = w->cu->MemAllocFromPoolAsync(&made, size, w->pools[p], w->streams[s]);
    } else {
        ask(w, "MemAllocAsync o%u size %zu s%u", n, size, s);
        result = w->cu->MemAllocAsync(&made, size, w->streams[s]);
    }
    if (told(w, result)) {
        w->ordered[n] = made;
        gave(w, made != 0);
    }
}

static void free_ordered(world *w)
{
    const unsigned n = below(w, BLOCKS), s = some_stream(w);
    unsigned which = 9;
    const bool wrong = rarely(w, 4);
    const CUdeviceptr at = wrong ? wrong_address(w, &which) : w->ordered[n];
    if ((!wrong && !at) || is_capturing(w, s) || which == 3)
        return; /* 3: inside of what is allocated, but not in order */
    ask(w, "MemFreeAsync %s%u s%u", wrong ? "wrong " : "o", wrong ? which : n, s);
    if (told(w, w->cu->MemFreeAsync(at, w->streams[s])) && !wrong)
        w->ordered[n] = 0;
}

static void make_pool(world *w)
{
    const unsigned p = below(w, POOLS);
    acu_CUmemPoolProps props = {
        .allocType = ONE_OF(w, 1, 1, 1, 0, 7),
        .location = {.type = ONE_OF(w, 1, 1, 1, 1, 0, 9), .id = (int)ONE_OF(w, 0, 0, 0, 0, 99)}};
    if (w->pools[p])
        return;
    ask(w, "MemPoolCreate p%u type %u location %u %d", p, props.allocType, props.location.type,
        props.location.id);
    CUmemoryPool made = NULL;
    if (told(w, w->cu->MemPoolCreate(&made, &props)))
        w->pools[p] = made;
}

static void use_pool(world *w)
{
    const unsigned p = below(w, POOLS), attribute = ONE_OF(w, 1, 2, 3, 4, 5, 6, 7, 8, 99);
    uint64_t value = below(w, 4) ? 0 : 1;
    if (!w->pools[p])
        return;
    switch (below(w, 4)) {
    case 0:
        ask(w, "MemPoolSetAttribute p%u %u to %llu", p, attribute, (unsigned long long)value);
        told(w, w->cu->MemPoolSetAttribute(w->pools[p], attribute, &value));
        break;
    case 1:
        value = 0;
        ask(w, "MemPoolGetAttribute p%u %u", p, attribute);
        if (told(w, w->cu->MemPoolGetAttribute(w->pools[p], attribute, &value)) && attribute < 5)
            gave(w, value);
        break;
    case 2:
        ask(w, "MemPoolTrimTo p%u", p);
        told(w, w->cu->MemPoolTrimTo(w->pools[p], 0));
        break;
    default:
        if (w->ordered[0] || w->ordered[1] || w->ordered[2])
            break; /* of this pool, maybe */
        ask(w, "MemPoolDestroy p%u", p);
        if (told(w, w->cu->MemPoolDestroy(w->pools[p])))
            w->pools[p] = NULL;
    }
}

static void host_memory(world *w)
{
    const unsigned n = below(w, BLOCKS);
    const size_t size = ONE_OF(w, 0, 1, 4096, 100000);
    const unsigned flags = ONE_OF(w, 0, 1, 2, 3, 4, 7, 8, 16);
    unsigned got = 77;
    CUdeviceptr at = 0;
    void *made = NULL;
    if (!w->host_blocks[n]) {
        ask(w, "MemHostAlloc h%u size %zu flags %u", n, size, flags);
        if (told(w, w->cu->MemHostAlloc(&made, size, flags)))
            w->host_blocks[n] = made;
        return;
    }
    switch (below(w, 4)) {
    case 0:
        ask(w, "MemHostGetFlags h%u", n);
        if (told(w, w->cu->MemHostGetFlags(&got, w->host_blocks[n])))
            gave(w, got & ~(unsigned)ACU_CU_MEMHOSTALLOC_PORTABLE); /* all is, told or not */
        break;
    case 1:
        ask(w, "MemHostGetDevicePointer h%u flags %u", n, flags & 1);
        if (told(w, w->cu->MemHostGetDevicePointer(&at, w->host_blocks[n], flags & 1)))
            gave(w, at == (CUdeviceptr)(uintptr_t)w->host_blocks[n]);
        break;
    case 2:
        ask(w, "MemFreeHost h%u + 64", n);
        told(w, w->cu->MemFreeHost((uint8_t *)w->host_blocks[n] + 64));
        break;
    default:
        ask(w, "MemFreeHost h%u", n);
        if (told(w, w->cu->MemFreeHost(w->host_blocks[n])))
            w->host_blocks[n] = NULL;
    }
}

static void wrong_host_memory(world *w)
{
    unsigned got = 77;
    CUdeviceptr at = 0;
    switch (below(w, 4)) {
    case 0:
        ask(w, "MemHostGetFlags pageable");
        told(w, w->cu->MemHostGetFlags(&got, pageable));
        break;
    case 1:
        ask(w, "MemHostGetDevicePointer pageable");
        told(w, w->cu->MemHostGetDevicePointer(&at, pageable, 0));
        break;
    case 2:
        ask(w, "MemFreeHost pageable");
        told(w, w->cu->MemFreeHost(pageable));
        break;
    default:
        ask(w, "MemFreeHost NULL");
        told(w, w->cu->MemFreeHost(NULL));
    }
}

static void register_memory(world *w)
{
    const size_t offset = ONE_OF(w, 0, 0, 4096, 100), size = ONE_OF(w, 0, 4096, 8192, 100);
    const unsigned flags = ONE_OF(w, 0, 1, 2, 3, 16);
    if (rarely(w, 2)) {
        ask(w, "MemHostUnregister at %zu", offset);
        told(w, w->cu->MemHostUnregister(registrable + offset));
        return;
    }
    ask(w, "MemHostRegister at %zu size %zu flags %u", offset, size, flags);
    told(w, w->cu->MemHostRegister(registrable + offset, size, flags));
}

static void ask_address(world *w)
{
    const unsigned n = below(w, BLOCKS);
    unsigned which = 9;
    const bool wrong = rarely(w, 2);
    const CUdeviceptr at = wrong ? wrong_address(w, &which) : w->blocks[n];
    CUdeviceptr base = 0;
    size_t size = 0;
    if (!wrong && !at)
        return;
    if (rarely(w, 2)) {
        ask(w, "MemGetAddressRange %s%u", wrong ? "wrong " : "b", wrong ? which : n);
        if (told(w, w->cu->MemGetAddressRange(&base, &size, at))) {
            gave(w, at - base);
            gave(w, size);
        }
        return;
    }
    static const unsigned plain[] = {2, 8, 9, 12, 12, 17, 99}; /* whose values are numbers */
    const unsigned attribute = plain[below(w, 7)];
    uint64_t value = 0;
    ask(w, "PointerGetAttribute %u of %s%u", attribute, wrong ? "wrong " : "b", wrong ? which : n);
    if (told(w, w->cu->PointerGetAttribute(&value, attribute, at)))
        gave(w, attribute == 17 ? value != 0 : (unsigned long long)value);
}

/* ---- copies and fills ---- */

/* Addresses for a copy: all kinds of memory, and addresses where there is none. */
static CUdeviceptr some_end(world *w, unsigned *which)
{
    *which = below(w, 16);
    switch (*which) {
    case 0:
        return 0;
    case 1:
        return 0x10;
    case 2:
    case 3:
    case 4:
        return (CUdeviceptr)(uintptr_t)(pageable + 1024 * below(w, 32));
    case 5:
    case 6:
    case 7:
        return (CUdeviceptr)(uintptr_t)(w->pinned + 1024 * below(w, 32));
    default:
        return w->scratch + 4096 + 1024 * below(w, 32);
    }
}

static bool on_device(unsigned which)
{
    return which >= 8;
}

static void copy_plain(world *w)
{
    unsigned d, s;
    const CUdeviceptr dst = some_end(w, &d), src = some_end(w, &s);
    const unsigned n = some_stream(w);
    const size_t size = ONE_OF(w, 0, 1, 4, 100, 4096);
    CUstream stream = w->streams[n];
    unsigned kind = below(w, 8);
    if (kind < 2 && (d < 2 || s < 2))
        kind = 7; /* an address without memory counts as the host's there */
    switch (kind) {
    case 0:
        ask(w, "Memcpy kinds %u %u size %zu", d, s, size);
        told(w, w->cu->Memcpy(dst, src, size));
        break;
    case 1:
        ask(w, "MemcpyAsync kinds %u %u size %zu s%u", d, s, size, n);
        told(w, w->cu->MemcpyAsync(dst, src, size, stream));
        break;
    case 2:
        if (on_device(s) || s < 2)
            break;
        ask(w, "MemcpyHtoD kinds %u %u size %zu", d, s, size);
        told(w, w->cu->MemcpyHtoD(dst, (const void *)(uintptr_t)src, size));
        break;
    case 3:
        if (on_device(d) || d < 2)
            break;
        ask(w, "MemcpyDtoH kinds %u %u size %zu", d, s, size);
        told(w, w->cu->MemcpyDtoH((void *)(uintptr_t)dst, src, size));
        break;
    case 4:
        ask(w, "MemcpyDtoD kinds %u %u size %zu", d, s, size);
        told(w, w->cu->MemcpyDtoD(dst, src, size));
        break;
    case 5:
        if (on_device(s) || s < 2)
            break;
        ask(w, "MemcpyHtoDAsync kinds %u %u size %zu s%u", d, s, size, n);
        told(w, w->cu->MemcpyHtoDAsync(dst, (const void *)(uintptr_t)src, size, stream));
        break;
    case 6:
        if (on_device(d) || d < 2)
            break;
        ask(w, "MemcpyDtoHAsync kinds %u %u size %zu s%u", d, s, size, n);
        told(w, w->cu->MemcpyDtoHAsync((void *)(uintptr_t)dst, src, size, stream));
        break;
    default:
        ask(w, "MemcpyDtoDAsync kinds %u %u size %zu s%u", d, s, size, n);
        told(w, w->cu->MemcpyDtoDAsync(dst, src, size, stream));
    }
}

static void copy_rows(world *w)
{
    const unsigned n = some_stream(w);
    const unsigned kinds = below(w, 4);
    acu_CUDA_MEMCPY2D c = {
        .srcMemoryType = kinds & 1 ? ACU_CU_MEMORYTYPE_DEVICE : ACU_CU_MEMORYTYPE_HOST,
        .srcHost = rarely(w, 2) ? pageable : w->pinned,
        .srcDevice = w->scratch + 4096,
        .srcPitch = ONE_OF(w, 0, 64, 64, 100, 128),
        .srcXInBytes = ONE_OF(w, 0, 0, 0, 16, 60),
        .srcY = ONE_OF(w, 0, 0, 3),
        .dstMemoryType = kinds & 2 ? ACU_CU_MEMORYTYPE_DEVICE : ACU_CU_MEMORYTYPE_HOST,
        .dstHost = rarely(w, 2) ? pageable + 32768 : w->pinned + 32768,
        .dstDevice = w->scratch + 32768,
        .dstPitch = ONE_OF(w, 0, 64, 64, 100, 128),
        .WidthInBytes = ONE_OF(w, 0, 16, 48, 64, 65),
        .Height = ONE_OF(w, 0, 1, 2, 7),
    };
    if (rarely(w, 15))
        c.srcMemoryType = ONE_OF(w, 0, 9);
    const bool waits = rarely(w, 3);
    ask(w, "Memcpy2D%s kinds %u pitches %zu %zu at %zu,%zu size %zu,%zu s%u", waits ? "" : "Async",
        kinds, c.srcPitch, c.dstPitch, c.srcXInBytes, c.srcY, c.WidthInBytes, c.Height, n);
    told(w, waits ? w->cu->Memcpy2D(&c) : w->cu->Memcpy2DAsync(&c, w->streams[n]));
}

static void fill(world *w)
{
    unsigned d;
    CUdeviceptr dst = some_end(w, &d) + ONE_OF(w, 0, 0, 0, 0, 1, 2);
    const unsigned n = some_stream(w);
    const size_t count = ONE_OF(w, 0, 1, 16, 100), pitch = ONE_OF(w, 0, 64, 100, 512);
    CUstream s = w->streams[n];
    if (d >= 2 && d < 5)
        dst = w->scratch + 4096 + dst % 4; /* filling pageable memory is a device fault */
    const unsigned kind = below(w, 9);
    if (d < 2 && kind >= 3 && is_capturing(w, n))
        return; /* the address that a node fills is checked late */
    ask(w, "Memset kind %u at %u+%u count %zu pitch %zu s%u", kind, d, (unsigned)(dst % 4), count,
        pitch, n);
    switch (kind) {
    case 0:
        told(w, w->cu->MemsetD8(dst, 1, count));
        break;
    case 1:
        told(w, w->cu->MemsetD16(dst, 1, count));
        break;
    case 2:
        told(w, w->cu->MemsetD32(dst, 1, count));
        break;
    case 3:
        told(w, w->cu->MemsetD8Async(dst, 1, count, s));
        break;
    case 4:
        told(w, w->cu->MemsetD16Async(dst, 1, count, s));
        break;
    case 5:
        told(w, w->cu->MemsetD32Async(dst, 1, count, s));
        break;
    case 6:
        told(w, w->cu->MemsetD2D8Async(dst, pitch, 1, count, 3, s));
        break;
    case 7:
        told(w, w->cu->MemsetD2D16Async(dst, pitch, 1, count, 3, s));
        break;
    default:
        told(w, w->cu->MemsetD2D32Async(dst, pitch, 1, count, 3, s));
    }
}

#endif
