/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The public table. Each entry is a small function generated from its line in driver_calls.h. It
 * calls the driver unless fault injection says otherwise, and counts objects.
 */
#include "driver/table.h"

#include "base/rare.h"
#include "driver/watch.h"

acu_driver_table acui_raw;

/* What a success changes in the count of live objects, by effect. */
#define SUCCESS_NONE(kind)
#define SUCCESS_CREATE(kind) \
    if (acui_rc == ACU_CUDA_SUCCESS) \
        atomic_fetch_add_explicit(&acui_live[ACU_DRIVER_KIND_##kind], 1, memory_order_relaxed);
#define SUCCESS_DESTROY(kind) \
    if (acui_rc == ACU_CUDA_SUCCESS) \
        atomic_fetch_sub_explicit(&acui_live[ACU_DRIVER_KIND_##kind], 1, memory_order_relaxed);

/* What an injected failure changes: an object whose destruction failed lives on. */
#define SPARED_NONE(kind)
#define SPARED_CREATE(kind)
#define SPARED_DESTROY(kind) \
    atomic_fetch_add_explicit(&acui_spared[ACU_DRIVER_KIND_##kind], 1, memory_order_relaxed);

/* For calls that are watched or missing. */
#define SLOW(name, symbol, since, effect, kind, params, args) \
    ACUI_RARE static unsigned slow_##name params \
    { \
        unsigned acui_rc = acui_watched(ACU_CALL_##name); \
        if (acui_rc != ACUI_NOT_WATCHED) { \
            SPARED_##effect(kind) return acui_rc; \
        } \
        if (!acui_raw.name) \
            return ACU_CUDA_ERROR_NOT_SUPPORTED; \
        acui_rc = acui_raw.name args; \
        SUCCESS_##effect(kind) return acui_rc; \
    }
ACU_DRIVER_CALLS(SLOW)

#define WRAP(name, symbol, since, effect, kind, params, args) \
    static unsigned wrap_##name params \
    { \
        if (acui_is_watching() || !acui_raw.name) \
            return slow_##name args; \
        unsigned acui_rc = acui_raw.name args; \
        SUCCESS_##effect(kind) return acui_rc; \
    }
ACU_DRIVER_CALLS(WRAP)

const acu_driver_table acui_table = {
#define ENTRY(name, symbol, since, effect, kind, params, args) .name = wrap_##name,
    ACU_DRIVER_CALLS(ENTRY)
#undef ENTRY
};
