/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Names for profilers, by NVTX, which acuda neither needs to build nor links.
 *
 * A profiler that wants names sets NVTX_INJECTION64_PATH to a library of its own. acuda loads it at
 * the first open, as every user of NVTX 3 does, and reports to it ranges around the issue of
 * operations, on the thread that issues them, and the names of streams. ACUDA_NVTX=0 turns this
 * off; =1 also loads the older libnvToolsExt.so.1 if there is no such library, and any other value
 * is the path of one.
 */
#ifndef ACUI_DRIVER_NVTX_H
#define ACUI_DRIVER_NVTX_H

#include <acuda/driver.h>
#include <stdatomic.h>

extern _Atomic(bool) acui_nvtx_on; /* set once, by: */
void acui_nvtx_load(void);         /* on the first call; blocks while a library is loaded */

/* Use these; while nobody profiles they cost one look at a flag. */
void acui_nvtx_push_named(const char *name);
void acui_nvtx_push_counted(const char *name, size_t count); /* "name and 9 more" */
void acui_nvtx_pop_named(void);
void acui_nvtx_stream_named(CUstream stream, const char *name);

static inline bool acui_nvtx_asked(void)
{
    /* Acquire: a thread that sees the flag sees the functions. */
    return atomic_load_explicit(&acui_nvtx_on, memory_order_acquire);
}
static inline void acui_nvtx_push(const char *name)
{
    if (acui_nvtx_asked())
        acui_nvtx_push_named(name);
}
static inline void acui_nvtx_pop(void)
{
    if (acui_nvtx_asked())
        acui_nvtx_pop_named();
}

#endif
