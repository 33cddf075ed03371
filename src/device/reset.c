/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Resetting a device: its context is destroyed and created anew, and another handle takes its
 * place. What was made before belongs to the old handle, which counts as lost for good, so that
 * nothing of it reaches the driver any more: the mechanism is that of lost devices.
 */
#include "base/callback.h"
#include "base/error.h"
#include "base/nap.h"
#include "base/options.h"
#include "device/open.h"

#include <stdio.h>

static acu_status may_reset(acu_device *device)
{
    if (atomic_load_explicit(&device->stale, memory_order_acquire))
        return acui_device_check(device);
    if (!acui_is_open(device))
        return acui_fail(ACU_ERR_INVALID, "acu_device_reset: device %d is not open",
                         device->info.ordinal);
    return ACU_OK;
}

/* Finishes the device's work; nothing will be issued to it any more. Callbacks may run meanwhile
 * and open devices, so the lock is not held. */
static void finish_work(acu_device *device)
{
    acui_close_hooks h = acui_close_hooks_set();
    /* Relaxed: `drain` takes the order lock, and so does a thread that enters a task. One that does
     * so later sees the flag, and a task that was entered earlier is waited for. */
    atomic_store_explicit(&device->refusing, true, memory_order_relaxed);
    if (h.drain)
        h.drain(device);
}

/* After this, no thread is in a driver call on the device's context, or will be. */
static void end_generation(acu_device *device)
{
    if (!acui_device_lost(device)) {
        acui_fail_at(ACU_ERR_STALE, (acu_site){0}, "", device->info.ordinal, "device %d was reset",
                     device->info.ordinal);
        acui_device_lose(device);
    }
    for (int i = 0; i < ACUI_HOLDERS; i++) {
        acui_nap nap = acui_nap_start(ACU_FOREVER);
        /* seq_cst, after `lost`: either this thread sees the count, or the holder sees that the
         * device is lost. And acquire, paired with acui_unhold. */
        while (atomic_load_explicit(&device->holders[i].count, memory_order_seq_cst) > 0)
            acui_nap_again(&nap);
    }
}

/* The result of the reset itself does not matter: what counts is whether the context works
 * afterwards. */
static void reset_context(acu_device *device)
{
    const acu_driver_table *cu = device->cu;
    CUcontext current = NULL;
    if (cu->CtxGetCurrent(&current) == ACU_CUDA_SUCCESS && current == device->context)
        cu->CtxSetCurrent(NULL); /* set by the program; the handle is about to be dead */
    cu->DevicePrimaryCtxReset(device->raw);
    if (!device->given_back)
        cu->DevicePrimaryCtxRelease(device->raw);
    device->given_back = true;
}

/* Some work that would not return the right result in a broken context. */
static acu_status try_out(acu_device *device)
{
    enum { BYTES = 256, BYTE = 0xA5 };
    unsigned char back[BYTES] = {0};
    CUdeviceptr memory = 0;
    acui_entered entered;
    ACUI_TRY(acui_enter(device, &entered));
    acu_status st = ACUI_DEV(device, MemAlloc, &memory, BYTES);
    if (st == ACU_OK) {
        st = ACUI_DEV(device, MemsetD8Async, memory, BYTE, BYTES, device->alloc->raw);
        if (st == ACU_OK)
            st = ACUI_DEV(device, StreamSynchronize, device->alloc->raw);
        if (st == ACU_OK)
            st = ACUI_DEV(device, MemcpyDtoH, back, memory, BYTES);
        device->cu->MemFree(memory);
    }
    acui_leave(&entered);
    if (st == ACU_OK && (back[0] != BYTE || back[BYTES - 1] != BYTE))
        st = acui_fail(ACU_ERR_DRIVER, "memory was not what it was set to");
    return st;
}

/* Keeps the driver's call and result code in the thread's record. */
static acu_status not_healed(const acu_device *device)
{
    acu_error *error = acui_error();
    char why[sizeof error->message];
    snprintf(why, sizeof why, "%s", error->message);
    error->status = ACU_ERR_NOT_HEALED;
    error->device = device->info.ordinal;
    snprintf(error->message, sizeof error->message,
             "device %d was reset and does not work all the same: in this process it is lost for "
             "good, only another process can use it%s%.200s",
             device->info.ordinal, why[0] ? "; " : "", why);
    return error->status;
}

static acu_status make_anew(acu_device *old, acu_device **fresh)
{
    acu_device *device = NULL;
    unsigned streams = old->policy ? old->policy->count : ACUI_STREAMS;
    acu_status st = acui_device_new(old->cu, old->info.ordinal, streams, old->max_in_flight,
                                    &device);
    if (st == ACU_OK) {
        st = try_out(device);
        if (st != ACU_OK) {
            acu_error record = *acui_error();
            acu_device_release(device); /* it is not in the table yet */
            acui_error_restore(&record);
        }
    }
    if (st == ACU_ERR_NO_MEMORY)
        return st; /* of the host: this says nothing about the device, and the reset can be tried
                    * again */
    if (st != ACU_OK)
        return not_healed(old);
    *fresh = device;
    return ACU_OK;
}

static acu_status reset(acu_device *device, acu_device **fresh)
{
    ACUI_TRY(may_reset(device));
    acu_error kept = *acui_error(); /* a success leaves the record as it was */
    end_generation(device);
    reset_context(device);
    acu_device *made = NULL;
    ACUI_TRY(make_anew(device, &made));
    acui_device_replace(device, made);
    /* Release: from now on, using what was made before is answered with STALE, whatever was
     * wrong. */
    atomic_store_explicit(&device->stale, true, memory_order_release);
    *fresh = made;
    acui_error_restore(&kept);
    return ACU_OK;
}

acu_status acu_device_reset(acu_device *device, const acu_reset_options *options,
                            acu_device **fresh)
{
    ACUI_CHECK(device, DEVICE);
    acu_reset_options known;
    ACUI_TRY(acui_options_read(&known, sizeof known, options, __func__));
    if (!fresh)
        return acui_fail(ACU_ERR_INVALID, "acu_device_reset: nowhere to put the new device");
    ACUI_TRY(acui_refuse_wait(__func__));
    if (!known.nothing_else_in_this_process_uses_the_device)
        return acui_fail(ACU_ERR_SHARED,
                         "acu_device_reset: device %d's primary context is shared by all of the "
                         "process, and what other libraries have there would be destroyed under "
                         "them; if there are none, say so in the options "
                         "(nothing_else_in_this_process_uses_the_device)",
                         device->info.ordinal);
    ACUI_TRY(may_reset(device));
    finish_work(device);
    acui_open_lock();
    acu_status st = reset(device, fresh);
    acui_open_unlock();
    return st;
}
