/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The software device's implementation of a call, looked up once. */
#ifndef BENCH_CLOCKWORK_REAL_H
#define BENCH_CLOCKWORK_REAL_H

#include "driver/softcuda.h"

#include <stdatomic.h>
#include <stdint.h>

/* Declares `real`. Relaxed: whoever looks it up finds the same. */
#define CLOCKWORK_REAL(symbol, parameters) \
    static _Atomic(uintptr_t) found_before; \
    uintptr_t found_at = atomic_load_explicit(&found_before, memory_order_relaxed); \
    if (!found_at) { \
        found_at = (uintptr_t)softcuda_symbol(#symbol); \
        atomic_store_explicit(&found_before, found_at, memory_order_relaxed); \
    } \
    unsigned(*real) parameters = (unsigned(*) parameters)found_at;

#endif
