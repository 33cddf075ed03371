/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The public calls that compile for the program, and those that set how the whole process compiles.
 */
#include "base/error.h"
#include "base/options.h"
#include "device/device.h"
#include "kernel/request.h"

#include <stdio.h>
#include <stdlib.h>

#define DISK ((uint64_t)256 << 20)
#define MEMORY ((uint64_t)64 << 20)

static acu_status compile(const acu_device *device, const char *source,
                          const acu_compile_options *options, acu_code **code)
{
    acui_request request;
    acu_code *made = NULL;
    acui_error_keep_log(NULL);
    acu_status st = acui_request_begin(&request, device, "source.cu", source, options);
    if (st == ACU_OK)
        st = acui_compile(&request, &made);
    acui_request_end(&request);
    if (made && options->log && options->log_bytes)
        snprintf(options->log, options->log_bytes, "%s", made->log);
    if (st == ACU_OK)
        *code = made;
    else
        acui_code_refused(made);
    return st;
}

acu_status acu_compile(acu_device *device, const char *source, const acu_compile_options *given,
                       acu_code **code)
{
    acu_compile_options options;
    ACUI_REFUSE_FORK();
    ACUI_TRY(acui_compile_options_read(&options, given, true, __func__));
    if (device)
        ACUI_CHECK(device, DEVICE);
    if (!source || !code)
        return acui_fail(ACU_ERR_INVALID, "acu_compile: %s",
                         source ? "nowhere to put the code" : "the source is NULL");
    return compile(device, source, &options, code);
}

acu_status acu_compile_configure(const acu_compile_settings *settings)
{
    acu_compile_settings s;
    ACUI_REFUSE_FORK();
    ACUI_TRY(acui_options_read(&s, sizeof s, settings, __func__));
    ACUI_TRY(acui_nvrtc_set(s.nvrtc));
    ACUI_TRY(acui_clang_set(s.clang));
    const char *folder = s.cache_dir ? s.cache_dir : secure_getenv("ACUDA_CACHE_DIR");
    ACUI_TRY(acui_disk_set(s.no_disk ? NULL : folder, s.disk_bytes ? s.disk_bytes : DISK));
    acui_compile_set_memory(s.no_memory ? 0 : s.memory_bytes ? s.memory_bytes : MEMORY);
    return ACU_OK;
}
