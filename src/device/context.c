/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Making a device's context current for a while, and noticing that a device is lost. */
#include "base/error.h"
#include "base/local.h"
#include "base/log.h"
#include "device/device.h"
#include "driver/result.h"
#include "driver/table.h"

#include <stdio.h>
#include <string.h>

/* Allows the calls made here while any stream of the program is captured. Two exchanges of a
 * thread-local value: some 10 ns each. */
static unsigned relax(acui_entered *e)
{
    if (!ACUI_HAS(ThreadExchangeStreamCaptureMode))
        return ACU_CUDA_SUCCESS;
    e->mode = ACU_CU_STREAM_CAPTURE_MODE_RELAXED;
    unsigned result = e->cu->ThreadExchangeStreamCaptureMode(&e->mode);
    e->relaxed = result == ACU_CUDA_SUCCESS && e->mode != ACU_CU_STREAM_CAPTURE_MODE_RELAXED;
    return result;
}

uint64_t acui_thread_number(void)
{
    static _Atomic(uint64_t) threads; /* relaxed: the order of threads does not matter */
    static ACUI_LOCAL uint64_t mine;
    if (!mine)
        mine = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) + 1;
    return mine;
}

struct acui_holder *acui_holder_of_thread(acu_device *device)
{
    enum { OWN = ACUI_OWN_HOLDERS, SHARED = ACUI_HOLDERS - OWN };
    uint64_t n = acui_thread_number() - 1;
    return &device->holders[n < OWN ? n : OWN + n % SHARED];
}

static acu_status make_current(acu_device *device, acui_entered *entered)
{
    ACUI_TRY(ACUI_DEV(device, CtxGetCurrent, &entered->before));
    if (entered->before != device->context) {
        ACUI_TRY(ACUI_DEV(device, CtxPushCurrent, device->context));
        entered->switched = true;
    }
    return acui_device_result(device, "ThreadExchangeStreamCaptureMode", relax(entered));
}

acu_status acui_enter(acu_device *device, acui_entered *entered)
{
    *entered = (acui_entered){.cu = device->cu};
    if (!acui_hold(device, &entered->holder))
        return acui_device_check(device);
    acu_status st = make_current(device, entered);
    if (st != ACU_OK)
        acui_leave(entered);
    return st;
}

bool acui_enter_to_free(acu_device *device, acui_entered *entered)
{
    *entered = (acui_entered){.cu = device->cu};
    if (!acui_hold(device, &entered->holder))
        return false;
    unsigned result = device->cu->CtxGetCurrent(&entered->before);
    if (result != ACU_CUDA_SUCCESS || entered->before != device->context) {
        entered->switched = device->cu->CtxPushCurrent(device->context) == ACU_CUDA_SUCCESS ||
                            device->cu->CtxSetCurrent(device->context) == ACU_CUDA_SUCCESS;
    }
    relax(entered);
    return true;
}

void acui_leave(acui_entered *entered)
{
    if (entered->relaxed)
        entered->cu->ThreadExchangeStreamCaptureMode(&entered->mode);
    if (entered->switched) {
        CUcontext popped;
        if (entered->cu->CtxPopCurrent(&popped) != ACU_CUDA_SUCCESS)
            entered->cu->CtxSetCurrent(entered->before);
    }
    acui_unhold(entered->holder);
    *entered = (acui_entered){.cu = entered->cu};
}

acu_status acui_device_failed(acu_device *device, const char *call, unsigned result)
{
    if (result == ACU_CUDA_ERROR_NOT_READY)
        return ACU_NOT_READY;
    acu_status status = acui_fail_driver(acu_driver_call_find(call), result, "%s", "");
    acui_error()->device = device->info.ordinal;
    if (acu_status_scope(status) == ACU_SCOPE_DEVICE)
        acui_device_lose(device);
    return status;
}

/* Relaxed: it is set before there is work that could lose a device. */
static _Atomic(acui_blame_fn) blame;

void acui_set_blame(acui_blame_fn function)
{
    atomic_store_explicit(&blame, function, memory_order_relaxed);
}

/* If operations are issued one by one, the one at fault is known. Lock held. */
static void name_running(acu_device *device)
{
    acu_error *error = acui_error();
    size_t used = strlen(error->message);
    if (!device->running)
        return;
    snprintf(error->op, sizeof error->op, "%s", device->running_op);
    error->file = device->running_site.file;
    error->line = device->running_site.line;
    snprintf(error->message + used, sizeof error->message - used,
             "%soperations are issued one by one, and it was this one", used ? "; " : "");
}

static const acu_error *lost_record(const acu_device *device)
{
    bool blamed = atomic_load_explicit(&device->blamed, memory_order_acquire);
    return blamed ? &device->blamed_error : &device->lost_error;
}

/* The thread's record becomes one of the device's, unless the flag is set. */
static void note_lost(acu_device *device, _Atomic(bool) *flag, acu_error *record)
{
    bool first = false;
    pthread_mutex_lock(&device->lock);
    if (!atomic_load_explicit(flag, memory_order_relaxed)) {
        first = true;
        name_running(device);
        *record = *acui_error();
        /* A thread that sees the flag may read the record; seq_cst: see acui_hold. */
        atomic_store_explicit(flag, true, memory_order_seq_cst);
    }
    pthread_mutex_unlock(&device->lock);
    if (first) /* the record does not change any more; STALE: it is about to be reset */
        acui_log_record(record->status == ACU_ERR_STALE ? ACU_LOG_INFO : ACU_LOG_ERROR, "device",
                        record);
}

void acui_device_lose(acu_device *device)
{
    acui_blame_fn find = atomic_load_explicit(&blame, memory_order_relaxed);
    if (!acui_device_lost(device)) {
        if (find && !device->one_by_one)
            find(device);
        note_lost(device, &device->lost, &device->lost_error);
    }
    acui_device_blame(device); /* another thread may have noticed it first, and found nobody */
}

void acui_device_blame(acu_device *device)
{
    acui_blame_fn find = atomic_load_explicit(&blame, memory_order_relaxed);
    if (!find || device->one_by_one || lost_record(device)->op[0] ||
        device->lost_error.status != ACU_ERR_DEVICE_LOST)
        return;
    acu_error kept = *acui_error();
    acui_error_restore(&device->lost_error);
    find(device);
    if (acui_error()->op[0])
        note_lost(device, &device->blamed, &device->blamed_error);
    acui_error_restore(&kept);
}

acu_status acui_device_check(const acu_device *device)
{
    if (!acui_device_lost(device))
        return ACU_OK;
    if (!atomic_load_explicit(&device->stale, memory_order_acquire))
        return acui_error_restore(lost_record(device));
    return acui_fail_at(ACU_ERR_STALE, (acu_site){0}, "", device->info.ordinal,
                        "device %d was reset after this was made: make it anew on the device that "
                        "acu_device_reset gave",
                        device->info.ordinal);
}
