/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* malloc and its relatives, in front of glibc's own, which glibc also exports under other names. */
#include "heap.h"

#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include <acuda/acuda.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define WATCH 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WATCH 0
#endif
#endif
#ifndef WATCH
#define WATCH 1
#endif

static _Atomic(int64_t) calls[HEAP_WHO], bytes[HEAP_WHO];

int64_t heap_calls(heap_who who)
{
    return atomic_load_explicit(&calls[who], memory_order_relaxed);
}

int64_t heap_bytes(heap_who who)
{
    return atomic_load_explicit(&bytes[who], memory_order_relaxed);
}

#if WATCH

enum { MOST_RANGES = 64 };

typedef struct range {
    uintptr_t start, end;
    heap_who who;
} range;

static range ranges[MOST_RANGES];
static _Atomic(int) range_count; /* release: the ranges below it are written; 0: not watching */

static int add_library(struct dl_phdr_info *info, size_t size, void *user)
{
    int *count = user;
    uintptr_t acuda = (uintptr_t)&acu_open;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + p->p_vaddr;
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || *count == MOST_RANGES)
            continue;
        range r = {start, start + p->p_memsz, HEAP_OTHER};
        if (acuda >= r.start && acuda < r.end)
            r.who = HEAP_ACUDA;
        else if (strstr(info->dlpi_name, "/libcuda") || strstr(info->dlpi_name, "/libnvidia"))
            r.who = HEAP_DRIVER;
        if (r.who != HEAP_OTHER)
            ranges[(*count)++] = r;
    }
    return 0;
}

bool heap_watch(void)
{
    int count = 0;
    dl_iterate_phdr(add_library, &count);
    atomic_store_explicit(&range_count, count, memory_order_release);
    return count > 0;
}

static heap_who who_is(const void *caller, int count)
{
    for (int i = 0; i < count; i++)
        if ((uintptr_t)caller >= ranges[i].start && (uintptr_t)caller < ranges[i].end)
            return ranges[i].who;
    return HEAP_OTHER;
}

static void *took(void *memory, const void *caller)
{
    int count = atomic_load_explicit(&range_count, memory_order_acquire);
    if (memory && count > 0) {
        heap_who who = who_is(caller, count);
        atomic_fetch_add_explicit(&calls[who], 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&bytes[who], (int64_t)malloc_usable_size(memory),
                                  memory_order_relaxed);
    }
    return memory;
}

static void gives(void *memory, const void *caller)
{
    int count = atomic_load_explicit(&range_count, memory_order_acquire);
    if (memory && count > 0)
        atomic_fetch_sub_explicit(&bytes[who_is(caller, count)],
                                  (int64_t)malloc_usable_size(memory), memory_order_relaxed);
}

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t align, size_t size);
extern void __libc_free(void *memory);

#define IN_FRONT __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

IN_FRONT void *malloc(size_t size)
{
    return took(__libc_malloc(size), CALLER);
}

IN_FRONT void *calloc(size_t count, size_t size)
{
    return took(__libc_calloc(count, size), CALLER);
}

IN_FRONT void *realloc(void *memory, size_t size)
{
    gives(memory, CALLER);
    void *moved = __libc_realloc(memory, size);
    return took(moved, CALLER);
}

IN_FRONT void *memalign(size_t align, size_t size)
{
    return took(__libc_memalign(align, size), CALLER);
}

IN_FRONT void *aligned_alloc(size_t align, size_t size)
{
    return took(__libc_memalign(align, size), CALLER);
}

IN_FRONT int posix_memalign(void **memory, size_t align, size_t size)
{
    void *made = took(__libc_memalign(align, size), CALLER);
    if (made)
        *memory = made;
    return made ? 0 : ENOMEM;
}

IN_FRONT void free(void *memory)
{
    gives(memory, CALLER);
    __libc_free(memory);
}

#else

bool heap_watch(void)
{
    return false;
}

#endif
