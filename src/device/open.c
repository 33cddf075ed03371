/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The process's open devices: opening, closing, the default device. */
#include "base/callback.h"
#include "base/cache.h"
#include "base/error.h"
#include "base/log.h"
#include "base/nap.h"
#include "base/options.h"
#include "base/signals.h"
#include "base/trace.h"
#include "device/open.h"
#include "driver/nvtx.h"

/* Held while a device is opened or closed, which takes long. */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

/* The table. Its lock is held only briefly, so that a release never waits for an open. The table
 * does not hold its devices: a device is in it as long as it lives, open or not. */
static struct {
    pthread_mutex_t lock;
    acu_device *devices[ACUI_MAX_DEVICES];
    acu_device *standard; /* the default device */
    size_t opens;         /* of all devices */
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static acui_close_hooks hooks; /* set once, before there is a device */

void acui_set_close_hooks(const acui_close_hooks *set)
{
    pthread_mutex_lock(&table.lock);
    hooks = *set;
    pthread_mutex_unlock(&table.lock);
}

static acui_close_hooks first_hooks; /* in effect until `hooks` are set */

void acui_set_first_close_hooks(const acui_close_hooks *set)
{
    pthread_mutex_lock(&table.lock);
    first_hooks = *set;
    pthread_mutex_unlock(&table.lock);
}

/* The number of live devices with a runtime thread. Relaxed: a thread that has such a device's
 * handle sees it. */
static _Atomic(uint32_t) runtime_devices;

bool acui_any_runtime_thread(void)
{
    return atomic_load_explicit(&runtime_devices, memory_order_relaxed) != 0;
}

acui_close_hooks acui_close_hooks_set(void)
{
    pthread_mutex_lock(&table.lock);
    acui_close_hooks copy = hooks.drain ? hooks : first_hooks;
    pthread_mutex_unlock(&table.lock);
    return copy;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Direct access to the memory of an ordinal was access to the device that was there, and to its
 * pools; it does not extend to the next device. Lock held. */
static void forget_peer(int ordinal)
{
    for (int i = 0; i < ACUI_MAX_DEVICES; i++)
        if (table.devices[i]) {
            uint64_t others = ~(UINT64_C(1) << ordinal);
            atomic_fetch_and_explicit(&table.devices[i]->granted, others, memory_order_relaxed);
            atomic_fetch_and_explicit(&table.devices[i]->peers, others, memory_order_relaxed);
            atomic_fetch_and_explicit(&table.devices[i]->not_peers, others, memory_order_relaxed);
        }
}

static void count_open(acu_device *device)
{
    int ordinal = device->info.ordinal;
    pthread_mutex_lock(&table.lock);
    if (table.devices[ordinal] && table.devices[ordinal] != device)
        forget_peer(ordinal); /* the previous one is still being destroyed, and will not do this */
    table.devices[ordinal] = device;
    device->opens++;
    table.opens++;
    if (!table.standard)
        table.standard = device;
    pthread_mutex_unlock(&table.lock);
}

/* The default device is not open any more: the first open one takes its place. Lock held. */
static void choose_standard(void)
{
    table.standard = NULL;
    for (int i = 0; i < ACUI_MAX_DEVICES && !table.standard; i++)
        if (table.devices[i] && table.devices[i]->opens)
            table.standard = table.devices[i];
}

/* Counts a close, if the device is open; *last: nothing is open any more. */
static bool count_close(acu_device *device, bool *last)
{
    pthread_mutex_lock(&table.lock);
    bool open = device->opens > 0;
    if (open) {
        device->opens--;
        table.opens--;
    }
    if (device->opens == 0 && table.standard == device)
        choose_standard();
    *last = table.opens == 0;
    pthread_mutex_unlock(&table.lock);
    return open;
}

void acui_device_forget(acu_device *device)
{
    int ordinal = device->info.ordinal;
    pthread_mutex_lock(&table.lock);
    if (table.devices[ordinal] == device) { /* otherwise it was opened anew meanwhile */
        table.devices[ordinal] = NULL;
        forget_peer(ordinal);
    }
    if (device->runtime_thread)
        atomic_fetch_sub_explicit(&runtime_devices, 1, memory_order_relaxed);
    table.opens -= device->opens; /* opened, and released instead of closed */
    if (table.standard == device)
        choose_standard();
    pthread_mutex_unlock(&table.lock);
}

void acui_device_note_peer(acu_device *peer, _Atomic(uint64_t) *bits)
{
    int ordinal = peer->info.ordinal;
    pthread_mutex_lock(&table.lock);
    if (table.devices[ordinal] == peer)
        atomic_fetch_or_explicit(bits, UINT64_C(1) << ordinal, memory_order_relaxed);
    pthread_mutex_unlock(&table.lock);
}

acu_device *acu_device_default(void)
{
    if (acui_forked())
        return NULL;
    pthread_mutex_lock(&table.lock);
    acu_device *device = table.standard;
    pthread_mutex_unlock(&table.lock);
    return device;
}

acu_device *acui_device_find(int ordinal)
{
    if (ordinal < 0 || ordinal >= ACUI_MAX_DEVICES)
        return NULL;
    pthread_mutex_lock(&table.lock);
    acu_device *device = table.devices[ordinal];
    if (device && !acui_object_try_retain(device))
        device = NULL; /* being destroyed */
    pthread_mutex_unlock(&table.lock);
    return device;
}

/* ---- a device takes another's place (reset.c) ------------------------------------------------ */

void acui_open_lock(void)
{
    pthread_mutex_lock(&opening);
}

void acui_open_unlock(void)
{
    pthread_mutex_unlock(&opening);
}

bool acui_is_open(acu_device *device)
{
    pthread_mutex_lock(&table.lock);
    bool open = device->opens > 0;
    pthread_mutex_unlock(&table.lock);
    return open;
}

void acui_device_replace(acu_device *old, acu_device *fresh)
{
    int ordinal = old->info.ordinal;
    fresh->one_by_one = old->one_by_one;
    fresh->runtime_thread = old->runtime_thread;
    fresh->vendor.stale = old->vendor.stale |
                          atomic_load_explicit(&old->vendor.used, memory_order_acquire);
    if (fresh->runtime_thread)
        atomic_fetch_add_explicit(&runtime_devices, 1, memory_order_relaxed);
    pthread_mutex_lock(&table.lock);
    table.devices[ordinal] = fresh;
    fresh->opens = 1;
    table.opens++;
    if (table.standard == old)
        table.standard = fresh;
    forget_peer(ordinal);
    pthread_mutex_unlock(&table.lock);
}

/* ---- opening --------------------------------------------------------------------------------- */

static acu_status choose_driver(const acu_open_options *options, const acu_driver_table **cu)
{
    acu_driver_options driver;
    ACUI_TRY(
        acui_options_read(&driver, sizeof driver, options->driver, "acu_open, for the driver"));
    driver.size = sizeof driver;
    driver.allow_software |= options->allow_software;
    return acu_driver_open(&driver, cu);
}

static acu_status check_ordinal(int ordinal)
{
    int count = acu_driver_info_of()->devices;
    if (count > ACUI_MAX_DEVICES)
        count = ACUI_MAX_DEVICES;
    if (ordinal >= 0 && ordinal < count)
        return ACU_OK;
    return acui_fail(ACU_ERR_NOT_FOUND,
                     "there is no device %d: the driver has %d, counted from 0", ordinal, count);
}

/* Another reference to a live device, if the options agree. */
static acu_status open_again(acu_device *device, const acu_open_options *options)
{
    if (options->runtime_thread && !device->runtime_thread)
        return acui_fail(ACU_ERR_BUSY, "device %d is open without a runtime thread",
                         device->info.ordinal);
    if (options->one_by_one && !device->one_by_one)
        return acui_fail(ACU_ERR_BUSY, "device %d is open, and does not issue one by one",
                         device->info.ordinal);
    if (options->max_in_flight && options->max_in_flight != device->max_in_flight)
        return acui_fail(ACU_ERR_BUSY, "device %d is open for %u submissions in flight, not %u%s",
                         device->info.ordinal, device->max_in_flight, options->max_in_flight,
                         device->max_in_flight ? "" : " (0 is no bound)");
    if (options->streams == 0 || options->streams == device->policy->count)
        return acui_device_check(device);
    return acui_fail(ACU_ERR_BUSY, "device %d is open with %u streams; it can not have %u",
                     device->info.ordinal, (unsigned)device->policy->count, options->streams);
}

static acu_status open_new(const acu_driver_table *cu, const acu_open_options *options,
                           acu_device **device)
{
    unsigned streams = options->streams ? options->streams : ACUI_STREAMS;
    uint64_t from = acui_trace_from();
    ACUI_TRY(acui_device_new(cu, options->ordinal, streams, options->max_in_flight, device));
    acu_device *d = *device;
    acui_trace_slice(from, "open", "device %d (%s)", options->ordinal, d->info.name);
    ACUI_LOG(ACU_LOG_INFO, "device", options->ordinal, "%s is open, capability %d.%d",
             d->info.name, d->info.compute_major, d->info.compute_minor);
    d->one_by_one = options->one_by_one;
    if (options->runtime_thread) {
        d->runtime_thread = true;
        atomic_fetch_add_explicit(&runtime_devices, 1, memory_order_relaxed);
    }
    return ACU_OK;
}

static acu_status open_locked(const acu_open_options *options, acu_device **device)
{
    const acu_driver_table *cu;
    uint64_t from = acui_trace_from();
    ACUI_TRY(choose_driver(options, &cu));
    acui_trace_slice(from, "open", "the driver");
    acui_nvtx_load();
    ACUI_TRY(check_ordinal(options->ordinal));
    acu_device *d = acui_device_find(options->ordinal);
    acu_status st = d ? open_again(d, options) : open_new(cu, options, &d);
    if (st == ACU_OK) {
        count_open(d);
        *device = d;
    } else if (d) {
        acu_device_release(d);
    }
    return st;
}

/* The holder of the lock may wait for a callback to return (the last close does, and so does a
 * reset), so a callback must not wait for the lock. */
static acu_status lock_opening(const char *function)
{
    if (!acui_in_callback()) {
        pthread_mutex_lock(&opening);
        return ACU_OK;
    }
    return pthread_mutex_trylock(&opening) == 0 ? ACU_OK : acui_refuse_wait(function);
}

acu_status acu_open(const acu_open_options *options, acu_device **device)
{
    ACUI_REFUSE_FORK();
    if (!device)
        return acui_fail(ACU_ERR_INVALID, "acu_open: nowhere to put the device");
    acu_open_options known;
    ACUI_TRY(acui_options_read(&known, sizeof known, options, __func__));
    if (known.streams > ACUI_MAX_STREAMS)
        return acui_fail(ACU_ERR_INVALID, "acu_open: a pool of %u streams; at most %d",
                         known.streams, ACUI_MAX_STREAMS);
    ACUI_TRY(lock_opening(__func__));
    acui_signals_watch();
    acu_status st = acui_trace_from_environment();
    if (st == ACU_OK)
        st = open_locked(&known, device);
    pthread_mutex_unlock(&opening);
    return st;
}

acu_status acu_device_count_load(const acu_open_options *options, int *count)
{
    if (!count)
        return acui_fail(ACU_ERR_INVALID, "acu_device_count_load: nowhere to put the count");
    acu_open_options known;
    ACUI_TRY(acui_options_read(&known, sizeof known, options, __func__));
    const acu_driver_table *cu;
    ACUI_TRY(choose_driver(&known, &cu));
    *count = acu_driver_info_of()->devices;
    return ACU_OK;
}

/* ---- waiting and closing --------------------------------------------------------------------- */

acu_status acu_device_wait(acu_device *device, uint64_t timeout)
{
    ACUI_CHECK(device, DEVICE);
    ACUI_TRY(acui_refuse_wait(__func__));
    acui_close_hooks h = acui_close_hooks_set();
    if (h.wait)
        return h.wait(device, timeout);
    acui_nap nap = acui_nap_start(timeout);
    while (acui_in_flight(device) > 0)
        if (!acui_nap_again(&nap))
            return ACU_TIMEOUT;
    return ACU_OK;
}

static acu_status closed_already(const acu_device *device)
{
    return acui_fail(ACU_ERR_INVALID, "acu_close: device %d was closed as often as opened",
                     device->info.ordinal);
}

/* `opening` held. */
static void close_locked(acu_device *device, bool last, const acui_close_hooks *h)
{
    int ordinal = device->info.ordinal;
    uint64_t from = acui_trace_from();
    if (last) {
        if (h->stop)
            h->stop();
        acui_cache_flush();
    }
    acu_device_release(device);
    bool was = acui_error_aside();
    acui_trace_slice(from, "close", "device %d", ordinal);
    if (last)
        acui_trace_rest();
    acui_error_back(was);
}

acu_status acu_close(acu_device *device)
{
    ACUI_CHECK(device, DEVICE);
    ACUI_TRY(acui_refuse_wait(__func__));
    if (!acui_is_open(device))
        return closed_already(device);
    acui_close_hooks h = acui_close_hooks_set();
    acu_status st = h.drain ? h.drain(device) : ACU_OK;
    if (st == ACU_ERR_IN_CALLBACK)
        return st;
    bool last;
    pthread_mutex_lock(&opening);
    if (!count_close(device, &last)) { /* by another thread meanwhile */
        pthread_mutex_unlock(&opening);
        return closed_already(device);
    }
    close_locked(device, last, &h);
    pthread_mutex_unlock(&opening);
    return st;
}
