/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Counts of live driver objects, which table.c maintains. */
#include "base/text.h"
#include "driver/watch.h"

_Atomic int64_t acui_live[ACU_DRIVER_KIND_NONE];
_Atomic int64_t acui_spared[ACU_DRIVER_KIND_NONE];

static const char *const kind_names[ACU_DRIVER_KIND_NONE] = {
#define NAME(name, text) [ACU_DRIVER_KIND_##name] = text,
    ACU_DRIVER_KINDS(NAME)
#undef NAME
};

static int64_t read(const _Atomic int64_t *counts, acu_driver_kind kind)
{
    if ((unsigned)kind >= ACU_DRIVER_KIND_NONE)
        return 0;
    return atomic_load_explicit(&counts[kind], memory_order_relaxed);
}

int64_t acu_driver_live(acu_driver_kind kind)
{
    return read(acui_live, kind);
}

int64_t acu_driver_spared(acu_driver_kind kind)
{
    return read(acui_spared, kind);
}

size_t acu_driver_live_report(char *text, size_t bytes)
{
    acui_text out = acui_text_start(text, bytes);
    int64_t total = 0;
    for (int kind = 0; kind < ACU_DRIVER_KIND_NONE; kind++) {
        int64_t live = read(acui_live, (acu_driver_kind)kind);
        int64_t spared = read(acui_spared, (acu_driver_kind)kind);
        if (live == 0)
            continue;
        total += live;
        acui_text_add(&out, "%s: %lld", kind_names[kind], (long long)live);
        if (spared)
            acui_text_add(&out, " (%lld destructions were made to fail)", (long long)spared);
        acui_text_add(&out, "\n");
    }
    return total > 0 ? (size_t)total : 0;
}
