/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The chosen driver in words. */
#include "driver/choose.h"
#include "driver/names.h"

/* What acuda does if the driver lacks a call: X(call, description). */
#define WITHOUT(X)                                                                                 \
    X(MemAllocFromPoolAsync, "device memory is allocated by waiting calls, without a pool")        \
    X(FuncGetParamInfo, "parameters of kernels are known from PTX or declarations, not of cubins") \
    X(LaunchKernelEx, "no launch attributes, such as clusters")                                    \
    X(GraphInstantiateWithFlags, "no replay through graphs")                                       \
    X(StreamWriteValue32, "no memory operations of streams")                                       \
    X(ThreadExchangeStreamCaptureMode, "calls may disturb a capture in the global mode")

typedef enum absence {
    TOO_NEW_FOR_DRIVER,
    HIDDEN_BY_LIMIT,
    MISSING
} absence;

static absence absence_of(const acui_call *call, const acu_driver_info *info)
{
    if (call->since > info->version)
        return TOO_NEW_FOR_DRIVER;
    return info->max_version && call->since > info->max_version ? HIDDEN_BY_LIMIT : MISSING;
}

static void list_absent(acui_text *out, const acu_driver_info *info, absence which,
                        const char *title)
{
    bool first = true;
    for (int i = 0; i < ACU_CALL_COUNT; i++) {
        if (acu_driver_has((acu_driver_call)i) || absence_of(&acui_calls[i], info) != which)
            continue;
        acui_text_add(out, "%s%s", first ? title : ", ", acui_calls[i].symbol);
        first = false;
    }
    if (!first)
        acui_text_add(out, "\n");
}

static void list_consequences(acui_text *out)
{
#define LINE(call, words)                                                                          \
    if (!acu_driver_has(ACU_CALL_##call))                                                          \
        acui_text_add(out, "without cu" #call ": " words "\n");
    WITHOUT(LINE)
#undef LINE
}

static void describe_library(acui_text *out, const acui_library *library)
{
    if (library->origin == ACUI_BUILT_IN)
        acui_text_add(out, "driver: software CUDA device, built in\n");
    else
        acui_text_add(out, "driver: %s%s\n", library->software ? "software CUDA device in " : "",
                      library->path);
}

static void describe(const acui_chosen *chosen, bool done, void *user)
{
    acui_text *out = user;
    if (!done) {
        acui_text_add(out, "driver: none chosen%s%s\n", chosen->failure[0] ? ": " : " yet",
                      chosen->failure);
        return;
    }
    const acu_driver_info *info = &chosen->info;
    describe_library(out, &chosen->library);
    acui_text_add(out, "version: CUDA %d.%d, %d device%s\n", info->version / 1000,
                  info->version % 1000 / 10, info->devices, info->devices == 1 ? "" : "s");
    acui_text_add(out, "why: %s\n", chosen->why);
    acui_text_add(out, "entry points: %d of %d\n", info->calls, ACU_CALL_COUNT);
    if (info->max_version)
        acui_text_add(out, "limit: nothing newer than CUDA %d.%d is used\n",
                      info->max_version / 1000, info->max_version % 1000 / 10);
    list_absent(out, info, TOO_NEW_FOR_DRIVER, "newer than this driver: ");
    list_absent(out, info, HIDDEN_BY_LIMIT, "hidden by the limit: ");
    list_absent(out, info, MISSING, "missing, although drivers of this version have them: ");
    list_consequences(out);
}

size_t acu_driver_describe(char *buffer, size_t size)
{
    acui_text out = acui_text_start(buffer, size);
    acui_chosen_look(describe, &out);
    return out.length;
}
