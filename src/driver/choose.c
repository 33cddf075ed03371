/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The process's driver: choosing it, and starting it once. */
#include "driver/choose.h"

#include "base/error.h"
#include "base/fork.h"
#include "base/log.h"
#include "driver/names.h"
#include "driver/result.h"
#include "driver/settings.h"
#include "driver/table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OLDEST_VERSION 11040

/* Held across a whole open: one thread starts a driver while the others wait for it. Guards
 * acui_raw and `chosen` until `published` is set; both are fixed from then on. */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static acui_chosen chosen;
static pid_t opener; /* tells a child that was made without notice (_Fork, clone) from its parent */

/* Stored with release after all of the above is written; loaded with acquire. */
static _Atomic(const acu_driver_table *) published;

/* Outcome of trying one driver. */
typedef enum outcome {
    STARTED,
    NO_DEVICE, /* no GPU: the reason to try another driver, if that is allowed */
    FAILED     /* a failure to report; the thread's record is written */
} outcome;

typedef struct attempt {
    acui_library library;
    acu_driver_info info;
    char words[512]; /* why not */
} attempt;

static const char *name_of(const acui_library *library)
{
    return library->origin == ACUI_BUILT_IN ? "the software device" : library->path;
}

/* A driver is there, but a call that starts it returned an error. */
static outcome start_failed(const attempt *a, acu_driver_call call, unsigned result)
{
    const char *hint = "";
    if (result == ACU_CUDA_ERROR_STUB_LIBRARY)
        hint = ": this is a toolkit's stub for linking, not a driver; keep the toolkit's \"stubs\" "
               "folder out of the library path";
    else if (result == ACU_CUDA_ERROR_SYSTEM_DRIVER_MISMATCH)
        hint = ": the library and the kernel module are of different versions";
    const char *detail = acui_library_detail(&a->library);
    acui_fail_driver(call, result, "%s is there, but does not start%s%s%s", name_of(&a->library),
                     hint, *detail ? ": " : "", detail);
    acui_error()->status = ACU_ERR_DRIVER;
    return FAILED;
}

static outcome read_version(attempt *a, int max_version)
{
    acui_library_resolve(&a->library, OLDEST_VERSION);
    unsigned result = acui_table.DriverGetVersion(&a->info.version);
    if (result != ACU_CUDA_SUCCESS)
        return start_failed(a, ACU_CALL_DriverGetVersion, result);
    if (a->info.version < OLDEST_VERSION) {
        acui_fail(ACU_ERR_NOT_SUPPORTED,
                  "%s is a driver for CUDA %d.%d; acuda needs one for CUDA 11.4 or newer",
                  name_of(&a->library), a->info.version / 1000, a->info.version % 1000 / 10);
        return FAILED;
    }
    a->info.max_version = max_version;
    bool limited = max_version && max_version < a->info.version;
    a->info.calls = acui_library_resolve(&a->library, limited ? max_version : a->info.version);
    return STARTED;
}

/* Start the loaded library. From here on acui_raw holds its entry points. */
static outcome start(attempt *a, int max_version)
{
    outcome out = read_version(a, max_version);
    if (out != STARTED)
        return out;
    unsigned result = acui_table.Init(0);
    if (result == ACU_CUDA_SUCCESS)
        result = acui_table.DeviceGetCount(&a->info.devices);
    else if (result != ACU_CUDA_ERROR_NO_DEVICE)
        return start_failed(a, ACU_CALL_Init, result);
    if (result != ACU_CUDA_SUCCESS && result != ACU_CUDA_ERROR_NO_DEVICE)
        return start_failed(a, ACU_CALL_DeviceGetCount, result);
    if (result == ACU_CUDA_ERROR_NO_DEVICE || a->info.devices <= 0) {
        acui_text why = acui_text_start(a->words, sizeof a->words);
        acui_text_add(&why, "%s finds no device", name_of(&a->library));
        return NO_DEVICE;
    }
    a->info.software = a->library.software;
    return STARTED;
}

static outcome try_origin(attempt *a, acui_origin origin, const acui_settings *settings)
{
    *a = (attempt){.info.size = sizeof a->info};
    acui_text why = acui_text_start(a->words, sizeof a->words);
    switch (acui_library_load(&a->library, origin, settings->path, &why)) {
    case ACUI_LOADED:
        return start(a, settings->max_version);
    case ACUI_ABSENT:
        return NO_DEVICE;
    case ACUI_BROKEN:
        break;
    }
    acui_fail(ACU_ERR_DRIVER, "a CUDA driver is there, but can not be loaded: %s", a->words);
    return FAILED;
}

static void take(const attempt *a)
{
    chosen.library = a->library;
    chosen.info = a->info;
    chosen.info.path = chosen.library.path[0] ? chosen.library.path : NULL;
    chosen.failure[0] = '\0';
}

static acu_status choose_requested(attempt *a, const acui_settings *settings)
{
    switch (try_origin(a, settings->origin, settings)) {
    case STARTED:
        break;
    case NO_DEVICE:
        return acui_fail(ACU_ERR_NO_DRIVER, "%s asks for %s, which is not available: %s",
                         settings->asked_by,
                         settings->origin == ACUI_SYSTEM ? "a GPU"
                         : settings->origin == ACUI_PATH ? settings->path
                                                         : "the software device",
                         a->words);
    case FAILED:
        return acu_last_error()->status;
    }
    take(a);
    snprintf(chosen.why, sizeof chosen.why, "%s asks for it", settings->asked_by);
    return ACU_OK;
}

/* There is no GPU; `gpu` says why. */
static acu_status choose_software(attempt *a, const acui_settings *settings, const char *gpu)
{
    if (!settings->allowed_by)
        return acui_fail(ACU_ERR_NO_DRIVER,
                         "no GPU: %s. The software device is used only where it is allowed: set "
                         "allow_software in the options, or ACUDA_ALLOW_SOFTWARE=1 in the "
                         "environment",
                         gpu);
    switch (try_origin(a, ACUI_BUILT_IN, settings)) {
    case STARTED:
        break;
    case NO_DEVICE:
        return acui_fail(ACU_ERR_NO_DRIVER, "no GPU: %s; and %s", gpu, a->words);
    case FAILED:
        return acu_last_error()->status;
    }
    take(a);
    snprintf(chosen.why, sizeof chosen.why, "no GPU (%s), and %s allows it", gpu,
             settings->allowed_by);
    return ACU_OK;
}

static acu_status choose(attempt *a, const acui_settings *settings)
{
    if (settings->explicit_request)
        return choose_requested(a, settings);
    switch (try_origin(a, ACUI_SYSTEM, settings)) {
    case STARTED:
        take(a);
        snprintf(chosen.why, sizeof chosen.why, "%s, and nothing else was asked for",
                 chosen.library.software ? "it stands where the system's driver is looked for"
                                         : "a GPU is there");
        return ACU_OK;
    case NO_DEVICE: {
        char gpu[sizeof a->words];
        memcpy(gpu, a->words, sizeof gpu);
        return choose_software(a, settings, gpu);
    }
    case FAILED:
        break;
    }
    return acu_last_error()->status;
}

static bool is_chosen_path(const char *path)
{
    char *real = realpath(path, NULL);
    bool same = real && strcmp(real, chosen.library.path) == 0;
    free(real);
    return same;
}

/* A further open: gives the same driver, unless the program explicitly asks for another one. */
static acu_status check_again(const acui_settings *settings)
{
    if (opener != getpid())
        return acui_refuse_fork("acu_driver_open");
    if (!settings->program_request)
        return ACU_OK;
    if (settings->origin == ACUI_PATH ? is_chosen_path(settings->path)
                                      : settings->origin == chosen.library.origin)
        return ACU_OK;
    return acui_fail(ACU_ERR_BUSY,
                     "the process uses %s already (%s); it can not change to %s: a process has one "
                     "driver",
                     name_of(&chosen.library), chosen.why,
                     settings->origin == ACUI_SYSTEM ? "the system's " ACUI_SYSTEM_LIBRARY
                     : settings->origin == ACUI_PATH ? settings->path
                                                     : "the software device");
}

static acu_status open_locked(const acui_settings *settings)
{
    if (atomic_load_explicit(&published, memory_order_relaxed))
        return check_again(settings);
    attempt *a = malloc(sizeof *a);
    if (!a)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory to look for a CUDA driver");
    acui_fork_watch(true);
    acu_status st = choose(a, settings);
    free(a);
    if (st != ACU_OK) {
        acui_fork_watch(false);
        acui_log_record(ACU_LOG_WARNING, "driver", acui_error());
        return st;
    }
    opener = getpid();
    bool instead = chosen.library.origin == ACUI_BUILT_IN && !settings->explicit_request;
    ACUI_LOG(instead ? ACU_LOG_WARNING : ACU_LOG_INFO, "driver", -1, "%s, CUDA %d.%d: %s",
             name_of(&chosen.library), chosen.info.version / 1000, chosen.info.version % 1000 / 10,
             chosen.why);
    atomic_store_explicit(&published, &acui_table, memory_order_release);
    return ACU_OK;
}

acu_status acu_driver_open(const acu_driver_options *options, const acu_driver_table **table)
{
    acui_settings settings;
    if (acui_forked())
        return acui_refuse_fork(__func__);
    pthread_mutex_lock(&open_lock);
    acu_status st = acui_settings_read(options, &settings);
    if (st == ACU_OK)
        st = open_locked(&settings);
    if (st != ACU_OK && !atomic_load_explicit(&published, memory_order_relaxed))
        acu_error_describe(acu_last_error(), chosen.failure, sizeof chosen.failure);
    pthread_mutex_unlock(&open_lock);
    if (st == ACU_OK && table)
        *table = &acui_table;
    return st;
}

const acu_driver_table *acu_driver(void)
{
    return atomic_load_explicit(&published, memory_order_acquire);
}

const acu_driver_info *acu_driver_info_of(void)
{
    return acu_driver() ? &chosen.info : NULL;
}

bool acu_driver_has(acu_driver_call call)
{
    void *entry = NULL;
    if (acu_driver() && acui_call_valid(call))
        memcpy(&entry, (const char *)&acui_raw + acui_calls[call].offset, sizeof entry);
    return entry != NULL;
}

const char *acui_driver_detail(void)
{
    return acu_driver() ? acui_library_detail(&chosen.library) : "";
}

void acui_chosen_look(void (*look)(const acui_chosen *chosen, bool done, void *user), void *user)
{
    bool forked = acui_forked(); /* nobody is opening then, but the lock may be held for good */
    if (!forked)
        pthread_mutex_lock(&open_lock);
    look(&chosen, atomic_load_explicit(&published, memory_order_relaxed) != NULL, user);
    if (!forked)
        pthread_mutex_unlock(&open_lock);
}
