/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A device's engine: made when the device is opened, torn down when it goes. */
#include "base/error.h"
#include "engine/device.h"
#include "engine/host/staging.h"
#include "engine/issue/graphs.h"
#include "engine/report/record.h"

acui_engine acui_all_engines[ACUI_ENGINES];
static _Atomic(uint32_t) made; /* how many devices ever had; relaxed: the others are all zero */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of `taken`; a leaf */

acui_engine *acui_engines_end(void)
{
    return acui_all_engines + atomic_load_explicit(&made, memory_order_relaxed);
}

/* A free one, if there is one that devices of this ordinal had. Lock held. */
static acui_engine *take(int ordinal)
{
    acui_engine *any = NULL, *end = acui_engines_end();
    for (acui_engine *engine = acui_all_engines; engine < end; engine++) {
        if (!engine->taken && engine->ordinal == ordinal)
            return engine;
        any = engine->taken ? any : engine;
    }
    if (end == acui_all_engines + ACUI_ENGINES)
        return any;
    atomic_fetch_add_explicit(&made, 1, memory_order_relaxed);
    return end;
}

/* The device is entered, or lost, and nobody else has it. */
static void drop(acu_device *device)
{
    acui_timer_drop(device);
    acui_rings_drop(device);
    acui_graphs_drop(device);
}

void acui_engine_close(acu_device *device)
{
    acui_engine *engine = device->engine;
    engine->entered[0] = engine->entered[1] = 0;
    engine->epochs = (acui_epochs){.now = 0};
    pthread_mutex_lock(&lock);
    engine->taken = false;
    pthread_mutex_unlock(&lock);
}

acu_status acui_engine_open(acu_device *device)
{
    pthread_mutex_lock(&lock);
    acui_engine *engine = take(device->info.ordinal);
    if (engine)
        engine->taken = true;
    pthread_mutex_unlock(&lock);
    if (!engine)
        return acui_fail(ACU_ERR_NO_MEMORY, "%d devices exist, with those that were reset and are "
                         "still in use: no more can be opened", ACUI_ENGINES);
    engine->ordinal = device->info.ordinal;
    engine->gate = (acui_gate){.limit = device->max_in_flight};
    device->engine = engine;
    device->drop[ACUI_DROP_ENGINE] = drop;
    device->kernel.forget = acui_graphs_forget;
    return ACU_OK;
}
