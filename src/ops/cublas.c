/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Finding and opening cuBLAS at run time; nothing of it is needed to build. One library serves the
 * whole process, and once it is open it is neither closed nor changed.
 */
#include "ops/cublas.h"

#include "base/error.h"
#include "base/fork.h"
#include "base/options.h"
#include "driver/vendor.h"

#include <acuda/ops.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    pthread_mutex_t lock;
    void *library;        /* never closed */
    char asked[PATH_MAX]; /* the path that the program named; "": what ACUDA_CUBLAS says, else the
                           * usual places */
    char path[PATH_MAX];
    char looked[160];     /* where it was looked for in vain */
    bool missing;
    int version;          /* 130002: 13.0.2 */
    acui_cublas_calls calls; /* published and read with the state of a device that has handles
                              * (release, acquire) */
} cublas = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Read for each product. Relaxed: nothing else depends on them. */
static _Atomic(bool) off, named;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *user_says; /* ACUDA_CUBLAS */
static bool user_off;

static void read_environment(void)
{
    const char *text = secure_getenv("ACUDA_CUBLAS");
    user_off = text && strcmp(text, "off") == 0;
    user_says = text && *text && !user_off ? text : NULL;
}

/* ---- what failed --------------------------------------------------------------------------- */

/* X(value, name, status, words) */
#define STATUSES(X)                                                                                \
    X(1, NOT_INITIALIZED, ACU_ERR_DRIVER, "the library could not be initialized")                  \
    X(3, ALLOC_FAILED, ACU_ERR_DEVICE_MEMORY, "no memory for what the library keeps itself")       \
    X(7, INVALID_VALUE, ACU_ERR_DRIVER, "an argument that it does not take")                       \
    X(8, ARCH_MISMATCH, ACU_ERR_NOT_SUPPORTED, "the device is none that it supports")              \
    X(11, MAPPING_ERROR, ACU_ERR_DRIVER, "memory of the device could not be reached")              \
    X(13, EXECUTION_FAILED, ACU_ERR_DRIVER, "the device failed to execute it")                     \
    X(14, INTERNAL_ERROR, ACU_ERR_DRIVER, "an operation inside the library failed")                \
    X(15, NOT_SUPPORTED, ACU_ERR_NOT_SUPPORTED, "it does not support this")                        \
    X(16, LICENSE_ERROR, ACU_ERR_DRIVER, "its licence could not be checked")

acu_status acui_cublas_fail(const char *call, int status)
{
    static const struct {
        int value;
        acu_status status;
        const char *name, *words;
    } known[] = {
#define ACU_X(value, name, status, words) {value, status, "CUBLAS_STATUS_" #name, words},
        STATUSES(ACU_X)
#undef ACU_X
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].value == status)
            return acui_fail(known[i].status, "%s answered %s: %s", call, known[i].name,
                             known[i].words);
    return acui_fail(ACU_ERR_DRIVER, "%s answered %d, a status that is not known", call, status);
}

/* ---- opening; the lock is held --------------------------------------------------------------- */

static bool resolve(void *library, acui_cublas_calls *calls)
{
    const struct {
        const char *symbol;
        void *field;
    } list[] = {
#define ACU_X(field, symbol, parameters) {symbol, &calls->field},
        ACUI_CUBLAS_CALLS(ACU_X)
#undef ACU_X
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (!acui_vendor_symbol(library, list[i].symbol, list[i].field))
            return false;
    return true;
}

/* A library of a newer major version than the driver's can make no handle; what the program named
 * is tried all the same. */
static bool fits_driver(int major)
{
    const acu_driver_info *driver = acu_driver_info_of();
    return cublas.asked[0] || !driver || major <= driver->version / 1000;
}

static bool open_library(const char *name)
{
    acui_cublas_calls calls;
    int part[3] = {0};
    void *library = acui_vendor_open(name);
    if (!library)
        return false;
    bool good = resolve(library, &calls);
    for (int i = 0; i < 3 && good; i++)
        good = calls.property(i, &part[i]) == ACUI_CUBLAS_SUCCESS;
    if (!good || part[0] < 11 || !fits_driver(part[0])) {
        acui_vendor_close(library);
        return false;
    }
    cublas.library = library;
    cublas.calls = calls;
    cublas.version = part[0] * 10000 + part[1] * 100 + part[2];
    acui_vendor_path(library, cublas.path, sizeof cublas.path);
    return true;
}

static bool open_somewhere(void)
{
    static const acui_vendor vendor = {
        .words = "cuBLAS",
        .stem = "libcublas.so",
        .names = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"},
        .open = open_library,
    };
    const char *asked = cublas.asked[0] ? cublas.asked : user_says;
    return acui_vendor_find(&vendor, asked, cublas.looked, sizeof cublas.looked);
}

acu_status acui_cublas_open(void)
{
    pthread_once(&once, read_environment);
    pthread_mutex_lock(&cublas.lock);
    if (!cublas.library && !cublas.missing)
        cublas.missing = !open_somewhere();
    bool open = cublas.library != NULL;
    acu_status st = open ? ACU_OK
                         : acui_fail(ACU_ERR_NOT_FOUND, "cuBLAS is not here: looked for %s",
                                     cublas.looked);
    pthread_mutex_unlock(&cublas.lock);
    return st;
}

const acui_cublas_calls *acui_cublas(void)
{
    return &cublas.calls;
}

/* ---- settings -------------------------------------------------------------------------------- */

const char *acui_cublas_refusal(const acu_device *device)
{
    pthread_once(&once, read_environment);
    bool is_named = atomic_load_explicit(&named, memory_order_relaxed);
    if (atomic_load_explicit(&off, memory_order_relaxed))
        return "cuBLAS is switched off by acu_cublas_configure";
    if (user_off && !is_named)
        return "cuBLAS is switched off by ACUDA_CUBLAS=off";
    if (device->ops.cublas_stale)
        return "the device was reset, and cuBLAS, which was in use before, still knows the context "
               "that went";
    if (device->info.software && !is_named)
        return "cuBLAS is not looked for on the software device, where NVIDIA's can not run: name "
               "one that can with acu_cublas_configure";
    return NULL;
}

acu_status acu_cublas_configure(const acu_cublas_settings *settings)
{
    acu_cublas_settings s;
    ACUI_REFUSE_FORK();
    ACUI_TRY(acui_options_read(&s, sizeof s, settings, __func__));
    if (s.path && strlen(s.path) >= sizeof cublas.asked)
        return acui_fail(ACU_ERR_INVALID, "acu_cublas_configure: the path of cuBLAS is too long");
    acu_status st = ACU_OK;
    pthread_mutex_lock(&cublas.lock);
    if (s.path && cublas.library && strcmp(s.path, cublas.asked) != 0) {
        st = acui_fail(ACU_ERR_BUSY, "acu_cublas_configure: cuBLAS is open as %s", cublas.path);
    } else {
        if (!cublas.library)
            snprintf(cublas.asked, sizeof cublas.asked, "%s", s.path ? s.path : "");
        cublas.missing = false;
        atomic_store_explicit(&named, s.path != NULL, memory_order_relaxed);
        atomic_store_explicit(&off, s.off, memory_order_relaxed);
    }
    pthread_mutex_unlock(&cublas.lock);
    return st;
}

/* Once the library is open its version and path do not change, and are read without the lock. */
static bool is_open(void)
{
    if (acui_forked()) /* a thread of the parent may have held the lock */
        return false;
    pthread_mutex_lock(&cublas.lock);
    bool open = cublas.library != NULL;
    pthread_mutex_unlock(&cublas.lock);
    return open;
}

int acu_cublas_version(void)
{
    return is_open() ? cublas.version : 0;
}

const char *acu_cublas_path(void)
{
    return is_open() ? cublas.path : NULL;
}
