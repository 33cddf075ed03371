/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fault injection and counting of driver calls. */
#include "driver/watch.h"

#include "base/error.h"
#include "base/fork.h"
#include "base/options.h"
#include "driver/names.h"

#include <pthread.h>

enum { WATCH_COUNT = 1, WATCH_FAULT = 2 };

_Atomic unsigned acui_watching;

static _Atomic uint64_t counted[ACU_CALL_COUNT]; /* relaxed: totals, read when nothing is running */

/* Guards everything below. Taken only while a fault is set, so never on the warm path of a
 * program. */
static pthread_mutex_t fault_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    acu_driver_fault want;
    bool set;
    uint64_t seen, hits;
} fault;

static unsigned fault_of_call(acu_driver_call call)
{
    unsigned result = ACUI_NOT_WATCHED;
    pthread_mutex_lock(&fault_lock);
    if (fault.set && (fault.want.call == ACU_CALL_ANY || fault.want.call == call)) {
        fault.seen++;
        if (fault.want.from_then_on ? fault.seen >= fault.want.nth
                                    : fault.seen == fault.want.nth) {
            fault.hits++;
            result = fault.want.result;
        }
    }
    pthread_mutex_unlock(&fault_lock);
    return result;
}

unsigned acui_watched(acu_driver_call call)
{
    unsigned watching = atomic_load_explicit(&acui_watching, memory_order_relaxed);
    if (watching & WATCH_COUNT)
        atomic_fetch_add_explicit(&counted[call], 1, memory_order_relaxed);
    return watching & WATCH_FAULT ? fault_of_call(call) : ACUI_NOT_WATCHED;
}

acu_status acu_driver_fail(const acu_driver_fault *given)
{
    ACUI_REFUSE_FORK();
    acu_driver_fault want;
    if (!given)
        return acui_fail(ACU_ERR_INVALID, "acu_driver_fail: the fault is NULL");
    acu_status status = acui_options_read(&want, sizeof want, given, __func__);
    if (status != ACU_OK)
        return status;
    if (want.call != ACU_CALL_ANY && !acui_call_valid(want.call))
        return acui_fail(ACU_ERR_INVALID, "acu_driver_fail: %d is no driver call", (int)want.call);
    pthread_mutex_lock(&fault_lock);
    fault.want = want;
    if (fault.want.nth == 0)
        fault.want.nth = 1;
    if (fault.want.result == ACU_CUDA_SUCCESS)
        fault.want.result = ACU_CUDA_ERROR_UNKNOWN;
    fault.set = true;
    fault.seen = fault.hits = 0;
    atomic_fetch_or_explicit(&acui_watching, WATCH_FAULT, memory_order_relaxed);
    pthread_mutex_unlock(&fault_lock);
    return ACU_OK;
}

void acu_driver_fail_clear(void)
{
    if (acui_forked())
        return;
    pthread_mutex_lock(&fault_lock);
    fault.set = false;
    atomic_fetch_and_explicit(&acui_watching, ~(unsigned)WATCH_FAULT, memory_order_relaxed);
    pthread_mutex_unlock(&fault_lock);
}

static uint64_t read_locked(const uint64_t *value)
{
    pthread_mutex_lock(&fault_lock);
    uint64_t copy = *value;
    pthread_mutex_unlock(&fault_lock);
    return copy;
}

uint64_t acu_driver_fault_hits(void)
{
    return read_locked(&fault.hits);
}

uint64_t acu_driver_fault_seen(void)
{
    return read_locked(&fault.seen);
}

void acu_driver_count_calls(bool on)
{
    if (!on) {
        atomic_fetch_and_explicit(&acui_watching, ~(unsigned)WATCH_COUNT, memory_order_relaxed);
        return;
    }
    for (int i = 0; i < ACU_CALL_COUNT; i++)
        atomic_store_explicit(&counted[i], 0, memory_order_relaxed);
    atomic_fetch_or_explicit(&acui_watching, WATCH_COUNT, memory_order_relaxed);
}

uint64_t acu_driver_calls(acu_driver_call call)
{
    if (acui_call_valid(call))
        return atomic_load_explicit(&counted[call], memory_order_relaxed);
    uint64_t sum = 0;
    for (int i = 0; call == ACU_CALL_ANY && i < ACU_CALL_COUNT; i++)
        sum += atomic_load_explicit(&counted[i], memory_order_relaxed);
    return sum;
}
