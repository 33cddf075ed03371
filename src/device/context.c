/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Making a device's context current for a while, and learning that a device is lost. */
#include "base/error.h"
#include "device/device.h"
#include "driver/result.h"

#include <stdio.h>
#include <string.h>

/* So that calls here are allowed while any stream of the program's is captured. Two exchanges of a
 * value in the thread: some 10 ns each. */
static unsigned relax(acui_entered *e)
{
    if (!acu_driver_has(ACU_CALL_ThreadExchangeStreamCaptureMode))
        return ACU_CUDA_SUCCESS;
    e->mode = ACU_CU_STREAM_CAPTURE_MODE_RELAXED;
    unsigned result = e->cu->ThreadExchangeStreamCaptureMode(&e->mode);
    e->relaxed = result == ACU_CUDA_SUCCESS && e->mode != ACU_CU_STREAM_CAPTURE_MODE_RELAXED;
    return result;
}

acu_status acui_enter(acu_device *device, acui_entered *entered)
{
    *entered = (acui_entered){.cu = device->cu};
    ACUI_TRY(acui_device_check(device));
    ACUI_TRY(ACUI_DEV(device, CtxGetCurrent, &entered->before));
    if (entered->before != device->context) {
        ACUI_TRY(ACUI_DEV(device, CtxPushCurrent, device->context));
        entered->switched = true;
    }
    acu_status st =
        acui_device_result(device, "ThreadExchangeStreamCaptureMode", relax(entered));
    if (st != ACU_OK)
        acui_leave(entered);
    return st;
}

bool acui_enter_to_free(acu_device *device, acui_entered *entered)
{
    *entered = (acui_entered){.cu = device->cu};
    if (acui_device_lost(device))
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
    *entered = (acui_entered){.cu = entered->cu};
}

acu_status acui_device_result(acu_device *device, const char *call, unsigned result)
{
    if (result == ACU_CUDA_SUCCESS)
        return ACU_OK;
    if (result == ACU_CUDA_ERROR_NOT_READY)
        return ACU_NOT_READY;
    acu_status status = acui_fail_driver(acu_driver_call_find(call), result, "%s", "");
    acui_error()->device = device->info.ordinal;
    if (acu_status_scope(status) == ACU_SCOPE_DEVICE)
        acui_device_lose(device);
    return status;
}

/* Relaxed: it is set before there is work that could lose a device. */
static _Atomic(acui_suspect_fn) suspect;

void acui_set_suspect(acui_suspect_fn function)
{
    atomic_store_explicit(&suspect, function, memory_order_relaxed);
}

/* Who issues one by one knows. Lock held. */
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

void acui_device_lose(acu_device *device)
{
    acui_suspect_fn find = atomic_load_explicit(&suspect, memory_order_relaxed);
    if (find && !device->one_by_one && !acui_device_lost(device))
        find(device);
    pthread_mutex_lock(&device->lock);
    if (!atomic_load_explicit(&device->lost, memory_order_relaxed)) {
        name_running(device);
        device->lost_error = *acui_error();
        /* Release: who sees the flag may read the record. */
        atomic_store_explicit(&device->lost, true, memory_order_release);
    }
    pthread_mutex_unlock(&device->lock);
}

acu_status acui_device_check(acu_device *device)
{
    return acui_device_lost(device) ? acui_error_restore(&device->lost_error) : ACU_OK;
}
