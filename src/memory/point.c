/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Points, faults, and the order lock. */
#include "base/alloc.h"
#include "base/local.h"
#include "base/lock.h"
#include "device/loader.h"
#include "memory/order.h"

/* ---- faults ---------------------------------------------------------------------------------- */

acui_fault *acui_fault_new(const acu_error *error)
{
    acui_fault *fault = ACUI_NEW(acui_fault);
    if (!fault)
        return NULL;
    atomic_store_explicit(&fault->refs, 1, memory_order_relaxed);
    fault->error = *error;
    return fault;
}

acui_fault *acui_fault_retain(acui_fault *fault)
{
    if (fault)
        atomic_fetch_add_explicit(&fault->refs, 1, memory_order_relaxed);
    return fault;
}

void acui_fault_release(acui_fault *fault)
{
    if (fault && acui_refs_drop(&fault->refs))
        acui_free(fault);
}

/* ---- the order lock -------------------------------------------------------------------------- */

static acui_lock order;
static uint64_t turn; /* how often it was taken; the lock */

static ACUI_LOCAL bool holding;
static ACUI_LOCAL acui_point *dead; /* while holding: points to be freed after */

static void point_free(acui_point *point)
{
    if (point->allocation)
        acu_stream_release(point->stream);
    acui_fault_release(point->fault);
    acui_free(point);
}

void acui_order_lock(void)
{
    acui_lock_take(&order);
    turn++;
    holding = true;
}

void acui_order_unlock(void)
{
    holding = false;
    acui_lock_give(&order);
    while (dead) {
        acui_point *point = dead;
        dead = point->next_dead;
        point_free(point);
    }
}

uint64_t acui_order_turn(void)
{
    return turn;
}

/* ---- points ---------------------------------------------------------------------------------- */

acui_point *acui_point_new(void)
{
    acui_point *point = ACUI_NEW(acui_point);
    if (point)
        atomic_store_explicit(&point->refs, 1, memory_order_relaxed);
    return point;
}

acui_point *acui_point_retain(acui_point *point)
{
    if (point)
        atomic_fetch_add_explicit(&point->refs, 1, memory_order_relaxed);
    return point;
}

void acui_point_release(acui_point *point)
{
    if (!point || !acui_refs_drop(&point->refs))
        return;
    if (!holding) {
        point_free(point);
        return;
    }
    point->next_dead = dead;
    dead = point;
}

/* ---- points of loads ------------------------------------------------------------------------- */

static acui_load_hooks hooks; /* the order lock */

void acui_set_load_hooks(const acui_load_hooks *set)
{
    acui_order_lock();
    hooks = *set;
    acui_order_unlock();
}

void acui_load_over(acui_point *point)
{
    struct acui_task *freed = NULL;
    acui_order_lock();
    point->state = ACUI_POINT_OVER;
    acui_load_hooks h = hooks;
    if (h.followers)
        freed = h.followers(point);
    acui_order_unlock();
    if (freed)
        h.run(freed);
    acui_loader_changed();
}
